"""Start all servers of a node and wait until they can be used."""

from __future__ import annotations

import logging
import os
import shlex
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from mem_opensearch.errors import NodeStartError
from mem_opensearch.node.account import node_account
from mem_opensearch.node.failures import explain_failure, port_was_taken
from mem_opensearch.node.home import ensure_home
from mem_opensearch.node.java import find_java
from mem_opensearch.node.places import CACHE_VARIABLE, OPTIONS_VARIABLE, cache_folder
from mem_opensearch.node.server import Server
from mem_opensearch.node.settings import LOOPBACK, Member, build_command, heap_bytes
from mem_opensearch.node.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mem_opensearch.node.account import Account
    from mem_opensearch.node.java import Java
    from mem_opensearch.node.options import NodeOptions

PORT_TRIES = 3  # a free port can be taken by somebody else before the server has it
MOST_OF_MEMORY = 0.9
SETTLE = 10.0  # seconds without any shard on its way after which a cluster will not become greener
_logger = logging.getLogger("mem_opensearch.node")


class Launch:
    """The servers of one node, started.

    Attributes:
        options: what was asked for.
        workspace: the folder that they write.
        members: name, ports and folder of each.
        servers: the running servers, in the same order.
    """

    def __init__(self, options: NodeOptions) -> None:
        """Start the servers; returns when they can be used. They end with this process, unless they are let go.

        Args:
            options: what to start.

        Raises:
            ArtifactError: a file of the node can't be had.
            JavaError: no Java that runs this version.
            NodeStartError: they did not come up; nothing of them is left.
        """
        self.options = options
        self._account = node_account()
        _tell_account(self._account)
        _check_memory(options)
        _check_port(options.port)
        self._java: Java = find_java(options.lock, home=options.java, account=self._account)
        self.workspace = Workspace.open(options.data, self._account)
        try:
            with self.workspace.starting(options):
                self._words = self.workspace.user_words(options)
                self._home = ensure_home(
                    options.lock,
                    options.analysis,
                    cache=cache_folder(),
                    java=self._java,
                    account=self._account,
                    quiet=options.quiet,
                )
                self.members: Sequence[Member] = ()
                self.servers: list[Server] = []
                self._start_with_free_ports()
        except BaseException as error:
            self.workspace.remove()
            if isinstance(error, OSError):
                raise NodeStartError(
                    f"{error.filename or 'a file'} can't be read or written: {error.strerror}; mend that, or choose "
                    f"another folder with data= (for the files of the node itself: with {CACHE_VARIABLE})"
                ) from error
            raise

    def end(self) -> None:
        """End all servers, and remove a temporary folder."""
        for server in self.servers:
            server.request_end()  # all at once: each would wait for the others otherwise
        for server in self.servers:
            server.end()
        self.workspace.note(self.options, [])
        self.workspace.remove()

    def kill(self, indices: Sequence[int]) -> None:
        """End servers at once and together; all when none is named."""
        servers = [self.servers[index] for index in indices] or self.servers
        for server in servers:
            server.send_kill()
        for server in servers:
            server.kill()

    def restart(self, indices: Sequence[int]) -> None:
        """Start servers again with their data and ports, all when none is named, and wait until the cluster is whole.

        Raises:
            NodeStartError: one did not come up.
        """
        chosen = list(indices) or list(range(len(self.servers)))
        for index in chosen:
            self.servers[index].end()
        deadline = time.monotonic() + self.options.timeout
        for index in chosen:
            self.servers[index] = self._spawn(self.members[index])
        fresh = [self.servers[index] for index in chosen]
        try:
            self._note()
            self._wait(fresh, deadline)
            for server in fresh:
                server.watch()
        except NodeStartError as error:
            raise self._failure(error, fresh) from None

    def _start_with_free_ports(self) -> None:
        for last in (False,) * (PORT_TRIES - 1) + (True,):
            self.members = _plan(self.options, self.workspace.folder)
            self.servers = []
            try:
                for member in self.members:
                    self.servers.append(self._spawn(member))
                self._note()
                self._wait(self.servers, time.monotonic() + self.options.timeout)
            except NodeStartError as error:
                failure = self._failure(error, self.servers)
                self._give_up()
                if last or self.options.port or not port_was_taken("\n".join(failure.log_tail)):
                    raise failure from None
            except BaseException:
                self._give_up()
                raise
            else:
                for server in self.servers:
                    server.watch()
                return

    def _spawn(self, member: Member) -> Server:
        self.workspace.prepare(member, self.members, self._words)
        options = self.options
        command = build_command(
            member,
            home=self._home,
            lock=options.lock,
            java=self._java,
            heap=options.heap,
            extra=shlex.split(os.environ.get(OPTIONS_VARIABLE, "")),
        )
        server = Server(member, command, account=self._account)
        try:
            server.guard(self.workspace.folder if self.workspace.temporary else None)
        except BaseException:
            server.end(grace=1.0)  # nobody else knows of it yet
            raise
        return server

    def _note(self) -> None:
        self.workspace.note(self.options, [(server.identity, server.member.url) for server in self.servers])

    def _give_up(self) -> None:
        for server in self.servers:
            server.request_end()
        for server in self.servers:
            server.end(grace=5.0)
        self.workspace.note(self.options, [])

    def _wait(self, servers: Sequence[Server], deadline: float) -> None:
        for server in servers:
            server.wait_until_up(deadline)
        wanted = "green" if self.options.nodes > 1 else "yellow"
        path = f"/_cluster/health?wait_for_nodes={self.options.nodes}&wait_for_status={wanted}&timeout=1s"
        quiet_since: float | None = None
        while True:
            for server in servers:
                if server.exit_code is not None:
                    server.wait_until_up(deadline)  # raises what ended it
            health = servers[0].answers(path, timeout=10.0)
            if health is not None:
                return
            state = servers[0].answers("/_cluster/health", timeout=10.0) or {}
            moving = state.get("initializing_shards", 1) or state.get("relocating_shards", 1)
            whole = state.get("number_of_nodes") == self.options.nodes
            now = time.monotonic()
            quiet_since = None if moving or not whole else quiet_since or now
            if quiet_since is not None and now - quiet_since > SETTLE:
                # An index that wants more copies than there are servers never gets green; that is no failed start.
                _logger.warning("the node is up and stays %s, not %s", state.get("status"), wanted)
                return
            if now >= deadline:
                count = state.get("number_of_nodes", 0)
                raise NodeStartError(
                    f"{count} of {self.options.nodes} servers found each other and the state is "
                    f"{state.get('status', 'unknown')} after the time allowed; give more with timeout="
                )

    def _failure(self, error: NodeStartError, servers: Sequence[Server]) -> NodeStartError:
        culprit = next((server for server in servers if server.exit_code is not None), servers[0])
        lines = culprit.both_tails()
        reason = explain_failure(
            "\n".join(lines),
            ports=(culprit.member.http, culprit.member.transport),
            folder=self.workspace.folder,
            heap=self.options.heap,
        )
        what = f"OpenSearch {self.options.lock.version} ({culprit.member.name}) did not start: {error.args[0]}"
        return NodeStartError(f"{what}: {reason}" if reason else what, log_tail=lines)


def _plan(options: NodeOptions, folder: Path) -> list[Member]:
    """Names, ports and folders. The sockets are held until all ports are known, so that no port comes twice."""
    with _Ports() as free:
        return [
            Member(
                name=f"node-{number}",
                http=options.port if options.port and number == 1 else free.next(),
                transport=free.next(),
                folder=folder / f"node-{number}",
            )
            for number in range(1, options.nodes + 1)
        ]


class _Ports:
    """Free ports of the loopback address."""

    def __enter__(self) -> Self:
        self._held: list[socket.socket] = []
        return self

    def __exit__(self, *_: object) -> None:
        for held in self._held:
            held.close()

    def next(self) -> int:
        held = socket.socket()
        self._held.append(held)
        held.bind((LOOPBACK, 0))
        return int(held.getsockname()[1])


def _check_port(port: int) -> None:
    if not port:
        return
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as the server does: a closed port is free at once
        try:
            probe.bind((LOOPBACK, port))
        except OSError as error:
            raise NodeStartError(
                f"port {port} of {LOOPBACK} can't be had: {error.strerror}; "
                "choose another with port=, or port=0 for a free one"
            ) from error


def _check_memory(options: NodeOptions) -> None:
    memory = _memory_bytes()
    wanted = heap_bytes(options.heap) * options.nodes
    if memory is not None and wanted > memory * MOST_OF_MEMORY:
        servers = (
            f"{options.nodes} servers with heap {options.heap!r}" if options.nodes > 1 else f"heap {options.heap!r}"
        )
        raise NodeStartError(
            f"{servers} is too large: this machine has {memory >> 20} MB of memory; give a smaller heap="
        )


def _memory_bytes() -> int | None:
    """Memory of the machine, or of the container if that is less."""
    sizes = []
    try:
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError):
        return None
    try:
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        sizes.append(int(limit))
    except (OSError, ValueError):
        pass  # no limit
    return min(sizes)


def _once(function: Callable[[Account], None]) -> Callable[[Account | None], None]:
    told: set[str] = set()

    def wrapper(account: Account | None) -> None:
        if account is not None and account.name not in told:
            told.add(account.name)
            function(account)

    return wrapper


@_once
def _tell_account(account: Account) -> None:
    _logger.warning("OpenSearch does not run as root: it is run as account %r", account.name)
