"""Keep one node of the user running between programs: the one that ``mem-opensearch node start`` starts."""

from __future__ import annotations

import json
import signal
import time
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Unpack
from urllib.parse import urlsplit

from mem_opensearch.errors import ConfigError, NodeError
from mem_opensearch.extras import require
from mem_opensearch.node.identity import ProcessId
from mem_opensearch.node.launch import Launch
from mem_opensearch.node.options import NodeKeywords, check_options
from mem_opensearch.node.places import detached_data_folder, state_folder
from mem_opensearch.node.server import GRACE, get_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from mem_opensearch.node.options import NodeOptions

STATE_FILE = "detached.json"


@dataclass(frozen=True, slots=True)
class DetachedNode:
    """The node that runs on its own.

    Attributes:
        urls: where its servers answer, the first one first.
        processes: the servers' processes, in the same order.
        version: version of OpenSearch.
        analysis: analysis options, sorted.
        heap: heap of each server.
        data: its data folder.
        logs: log of each server.
        since: when it was started, seconds since 1970.
    """

    urls: tuple[str, ...]
    processes: tuple[ProcessId, ...]
    version: str
    analysis: tuple[str, ...]
    heap: str
    data: str
    logs: tuple[str, ...]
    since: float

    @property
    def url(self) -> str:
        """Where the first server answers."""
        return self.urls[0]

    @property
    def pids(self) -> tuple[int, ...]:
        """Process number of each server."""
        return tuple(process.pid for process in self.processes)

    @property
    def alive(self) -> tuple[ProcessId, ...]:
        """The servers that still run."""
        return tuple(process for process in self.processes if process.is_alive())

    def answers(self) -> bool:
        """Whether the first living server answers a request."""
        for url, process in zip(self.urls, self.processes, strict=True):
            if process.is_alive():
                return get_json(urlsplit(url).port or 0, "/") is not None
        return False


def find_detached() -> DetachedNode | None:
    """The detached node as it was started, or None when there is none or all of it is gone."""
    node = _read_state()
    return node if node is not None and node.alive else None


def last_detached() -> DetachedNode | None:
    """The detached node that was started last, whether it runs or not."""
    return _read_state()


def start_detached(**options: Unpack[NodeKeywords]) -> tuple[DetachedNode, bool]:
    """Start a node that keeps running when this process ends, unless it runs.

    Args:
        **options: those of `LocalNode`; `data` is a folder of the user when it is not given.

    Returns:
        The node, and whether it was started now (False: it ran).

    Raises:
        ConfigError: it runs and is of another version, analysis or place; says what differs.
        NodeStartError: it did not come up.
    """
    given = {name for name, value in options.items() if value is not None}
    checked = check_options({**options, "data": options.get("data") or detached_data_folder()})
    with _state_lock():
        running = find_detached()
        if running is not None:
            differences = compare(running, checked, given)
            if differences:
                raise ConfigError(
                    f"a node runs at {running.url}, but {'; '.join(differences)}; "
                    "run 'mem-opensearch node stop' first, or leave the option out"
                )
            return running, False
        launch = Launch(checked)  # until all is well it ends with this process
        node = DetachedNode(
            urls=tuple(member.url for member in launch.members),
            processes=tuple(server.identity for server in launch.servers),
            version=checked.lock.version,
            analysis=checked.analysis,
            heap=checked.heap,
            data=str(launch.workspace.folder),
            logs=tuple(str(server.log) for server in launch.servers),
            since=time.time(),
        )
        for server in launch.servers:
            server.let_go()
        _write_state(node)
        return node, True


def stop_detached() -> DetachedNode | None:
    """End the detached node: by request, then by force. Never touches another process that got the same number.

    Returns:
        The node that was ended, or None when none ran.

    Raises:
        NodeError: it can't be ended, such as when it belongs to another user.
    """
    with _state_lock():
        node = find_detached()
        if node is None:
            return None
        try:
            for process in node.alive:
                process.send(signal.SIGTERM)
            for process in node.processes:
                if not process.wait(GRACE):
                    process.send(signal.SIGKILL)
                    process.wait(GRACE)
        except PermissionError as error:
            raise NodeError(
                f"the node at {node.url} belongs to another user; stop it as the user who started it"
            ) from error
        if node.alive:
            raise NodeError(f"process {node.alive[0].pid} of the node at {node.url} does not end")
        return node


def compare(running: DetachedNode, wanted: NodeOptions, given: set[str]) -> list[str]:
    """What a running node has other than the given options want; options that were not given don't count."""
    facts = {
        "version": (running.version, wanted.lock.version),
        "heap": (running.heap, wanted.heap),
        "nodes": (len(running.urls), wanted.nodes),
        "data": (running.data, str(wanted.data)),
    }
    found = [
        f"its {name} is {has}, not {wants}" for name, (has, wants) in facts.items() if name in given and has != wants
    ]
    missing = sorted(set(wanted.analysis) - set(running.analysis))
    if "analysis" in given and missing:
        found.append(f"it has no analysis {', '.join(missing)}")
    if "port" in given and wanted.port and wanted.port != urlsplit(running.url).port:
        found.append(f"its port is {urlsplit(running.url).port}, not {wanted.port}")
    return found


@contextmanager
def _state_lock() -> Iterator[None]:
    portalocker = require("portalocker", extra="local", purpose="the local node")
    folder = state_folder()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        stream = (folder / "detached.lock").open("a")
    except OSError as error:
        raise NodeError(
            f"folder {folder} can't be written: {error.strerror}; name another in MEM_OPENSEARCH_STATE"
        ) from error
    with stream:
        portalocker.lock(stream, portalocker.LockFlags.EXCLUSIVE)
        try:
            yield
        finally:
            portalocker.unlock(stream)


def _read_state() -> DetachedNode | None:
    try:
        data = json.loads((state_folder() / STATE_FILE).read_text(encoding="utf-8"))
        data["processes"] = tuple(ProcessId(**process) for process in data["processes"])
        for name in ("urls", "analysis", "logs"):
            data[name] = tuple(data[name])
        return DetachedNode(**data)
    except (OSError, ValueError, TypeError, KeyError):
        return None  # none was started, or by a release that wrote another form


def _write_state(node: DetachedNode) -> None:
    folder = state_folder()
    fresh = folder / f"{STATE_FILE}.new"
    fresh.write_text(json.dumps(asdict(node), indent=1) + "\n", encoding="utf-8")
    fresh.replace(folder / STATE_FILE)
