"""Give the address of a usable local node: one that runs, or one that is started for this process."""

from __future__ import annotations

import atexit
import logging
import os
import threading
from typing import TYPE_CHECKING, Unpack

from mem_opensearch.errors import ConfigError
from mem_opensearch.node.detached import compare, find_detached
from mem_opensearch.node.local import LocalNode
from mem_opensearch.node.options import NodeKeywords, check_options
from mem_opensearch.node.workspace import DataInUseError

if TYPE_CHECKING:
    from mem_opensearch.node.options import NodeOptions

_logger = logging.getLogger("mem_opensearch.node")
_lock = threading.Lock()
_own: tuple[int, LocalNode, NodeOptions] | None = None


def attach_or_start(**options: Unpack[NodeKeywords]) -> str:
    """The address of a local node, for the configuration value ``url="local"``.

    In this order: the node that this process has started before; the node of ``mem-opensearch node start``; the node
    that uses the given data folder; else a new one that lives as long as this process. Safe in several threads and
    processes at once.

    Args:
        **options: those of `LocalNode`. Only those given are compared with a node that runs.

    Returns:
        An address such as ``http://127.0.0.1:43211``.

    Raises:
        ConfigError: the running node is not as the options want it; says what differs.
        NodeStartError: a new node did not come up.
    """
    global _own  # noqa: PLW0603 - one node for the process is the point
    given = {name for name, value in options.items() if value is not None}
    wanted = check_options(options)
    with _lock:
        if _own is not None and _own[0] == os.getpid() and _own[1].running:
            _check_own(_own[2], wanted, given)
            return _own[1].url
        running = find_detached()
        if running is not None and running.answers():
            differences = compare(running, wanted, given)
            if differences:
                raise ConfigError(
                    f"the local node at {running.url} does not fit: {'; '.join(differences)}; run 'mem-opensearch node "
                    "stop' and then 'mem-opensearch node start' with the options wanted, or leave them out"
                )
            return running.url
        node = _make(wanted)
        try:
            node.start()
        except DataInUseError as used:
            return _attach_to(used, wanted, given)
        if "data" not in given:
            _logger.warning(
                "a local node was started at %s; what it stores is gone when this process ends "
                "('mem-opensearch node start' runs one that keeps it)",
                node.url,
            )
        _own = (os.getpid(), node, wanted)
        atexit.register(node.stop)
        return node.url


def _make(options: NodeOptions) -> LocalNode:
    return LocalNode(
        options.lock.version,
        options.data,
        options.port,
        options.heap,
        options.analysis,
        nodes=options.nodes,
        dictionary=options.dictionary,
        java=options.java,
        timeout=options.timeout,
        quiet=options.quiet,
    )


def _attach_to(used: DataInUseError, wanted: NodeOptions, given: set[str]) -> str:
    differences = []
    if "version" in given and used.version != wanted.lock.version:
        differences.append(f"its version is {used.version}, not {wanted.lock.version}")
    missing = sorted(set(wanted.analysis) - set(used.analysis))
    if "analysis" in given and missing:
        differences.append(f"it has no analysis {', '.join(missing)}")
    if differences:
        raise ConfigError(f"the node at {used.urls[0]} uses the data folder, but {'; '.join(differences)}") from used
    _logger.warning("attached to the node at %s, which another process has started and will end", used.urls[0])
    return used.urls[0]


def _check_own(own: NodeOptions, wanted: NodeOptions, given: set[str]) -> None:
    different = sorted(name for name in given - {"quiet", "timeout"} if _value(own, name) != _value(wanted, name))
    if different:
        raise ConfigError(
            f"this process has started a local node with another {', '.join(different)}; a process has one such node, "
            "use LocalNode for more"
        )


def _value(options: NodeOptions, name: str) -> object:
    return options.lock.version if name == "version" else getattr(options, name)
