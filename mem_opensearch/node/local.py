"""Offer a local OpenSearch node as an object of the running program."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

from mem_opensearch.errors import NodeError
from mem_opensearch.node.launch import Launch
from mem_opensearch.node.lockfile import DEFAULT_VERSION
from mem_opensearch.node.options import DEFAULT_ANALYSIS, DEFAULT_HEAP, DEFAULT_TIMEOUT, check_options

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from types import TracebackType
    from typing import Self

    from mem_opensearch.node.options import NodeKeywords


class LocalNode:
    """A real OpenSearch on this machine that lives as long as this process.

    It is made from published files (about 90 MB, fetched once), needs neither Docker nor a system Java, and listens on
    the loopback address only, without passwords. When this process ends, by whatever way, so does the node.

        with LocalNode() as node:
            client = OpenSearch(node.url)

    The constructor only checks the options. One object may be started and stopped many times, from any thread.

    Args:
        version: version of OpenSearch that has a lock file: 3.6.0, 2.19.1.
        data: folder to keep the data in; without it they are temporary and removed by `stop`. Words in
            ``<data>/ik/user.dic`` are known to IK. Snapshot repositories can be in ``<data>/snapshots``.
        port: port for requests, 0 for any free one. With several nodes the first one's.
        heap: heap of each server, such as ``512m`` or ``1g``.
        analysis: plugins for Chinese: ``ik`` (tokenizers and analyzers ``ik_smart``, ``ik_max_word``) and ``smartcn``
            (tokenizer ``smartcn_tokenizer``, analyzer ``smartcn``); ``()`` for none.
        nodes: number of servers; more than one make a real cluster.
        dictionary: UTF-8 file of words, one a line, that IK keeps whole.
        java: folder of the Java to use; without it one is looked for.
        timeout: seconds that a start may take, once the files are there.
        quiet: show no progress while files are fetched.

    Raises:
        ConfigError: an option can't be meant.
    """

    def __init__(
        self,
        version: str = DEFAULT_VERSION,
        data: str | os.PathLike[str] | None = None,
        port: int = 0,
        heap: str = DEFAULT_HEAP,
        analysis: Iterable[str] = DEFAULT_ANALYSIS,
        *,
        nodes: int = 1,
        dictionary: str | os.PathLike[str] | None = None,
        java: str | os.PathLike[str] | None = None,
        timeout: float = DEFAULT_TIMEOUT,
        quiet: bool = False,
    ) -> None:
        keywords: NodeKeywords = {
            "version": version,
            "data": data,
            "port": port,
            "heap": heap,
            "analysis": analysis,
            "nodes": nodes,
            "dictionary": dictionary,
            "java": java,
            "timeout": timeout,
            "quiet": quiet,
        }
        self._options = check_options(keywords)
        self._launch: Launch | None = None
        self._lock = threading.RLock()
        self._owner = 0

    def start(self) -> Self:
        """Start it and return when it can be used; does nothing when it is started.

        Fetches what is not yet in the cache. A cluster is green when this returns.

        Raises:
            ArtifactError: a file can't be fetched or has a wrong sum.
            JavaError: no Java that runs this version is here; says what is, and what to install.
            NodeStartError: it did not come up; has the reason and the last log lines.
        """
        with self._lock:
            if self._launch is None or self._owner != os.getpid():
                self._launch = Launch(self._options)
                self._owner = os.getpid()
        return self

    def stop(self) -> None:
        """End it and wait until it is gone; does nothing when it is not started, or was started by a parent process."""
        with self._lock:
            launch, self._launch = self._launch, None
            if launch is not None and self._owner == os.getpid():
                launch.end()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.stop()

    @property
    def running(self) -> bool:
        """Whether it is started and all its servers run."""
        launch = self._launch
        return launch is not None and all(server.exit_code is None for server in launch.servers)

    @property
    def version(self) -> str:
        """Version of OpenSearch."""
        return self._options.lock.version

    @property
    def analysis(self) -> tuple[str, ...]:
        """Analysis options, sorted."""
        return self._options.analysis

    @property
    def url(self) -> str:
        """Where the first server answers."""
        return self.urls[0]

    @property
    def urls(self) -> list[str]:
        """Where each server answers."""
        return [member.url for member in self._started().members]

    @property
    def pid(self) -> int:
        """Process number of the first server."""
        return self.pids[0]

    @property
    def pids(self) -> list[int]:
        """Process number of each server."""
        return [server.pid for server in self._started().servers]

    @property
    def folder(self) -> Path:
        """Folder that holds data, logs and snapshots."""
        return self._started().workspace.folder

    def check(self) -> None:
        """Return if every server runs.

        Raises:
            NodeDiedError: one is gone; says how it ended and its last log lines.
        """
        for server in self._started().servers:
            server.check()

    def log_tail(self, lines: int = 20, *, index: int = 0) -> list[str]:
        """The last lines of a server's log, oldest first."""
        return self._started().servers[index].log_tail(lines)

    def kill(self, *indices: int) -> None:
        """End servers at once and together, as a crash would; all when none is named. For tests of what follows."""
        self._started().kill(indices)

    def restart(self, *indices: int) -> None:
        """Start servers again with their data and ports, all when none is named; returns when the cluster is whole.

        Raises:
            NodeStartError: one did not come up.
        """
        with self._lock:
            self._started().restart(indices)

    def _started(self) -> Launch:
        if self._launch is None:
            raise NodeError("the local node is not started; call start(), or use it in a with statement")
        return self._launch
