"""Check what a caller wants of a local node, before anything is done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, cast

from mem_opensearch.errors import ConfigError
from mem_opensearch.node.lockfile import DEFAULT_VERSION, Lock, check_analysis, read_lock
from mem_opensearch.node.settings import heap_bytes

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable


class NodeKeywords(TypedDict, total=False):
    """The options of `LocalNode` as keywords; see there. None is the same as not given."""

    version: str | None
    data: str | os.PathLike[str] | None
    port: int | None
    heap: str | None
    analysis: Iterable[str] | None
    nodes: int | None
    dictionary: str | os.PathLike[str] | None
    java: str | os.PathLike[str] | None
    timeout: float | None
    quiet: bool | None


MOST_NODES = 9
HIGHEST_PORT = 65535
DEFAULT_HEAP = "512m"
DEFAULT_ANALYSIS = ("ik",)
DEFAULT_TIMEOUT = 120.0
DEFAULTS: NodeKeywords = {
    "version": DEFAULT_VERSION,
    "data": None,
    "port": 0,
    "heap": DEFAULT_HEAP,
    "analysis": DEFAULT_ANALYSIS,
    "nodes": 1,
    "dictionary": None,
    "java": None,
    "timeout": DEFAULT_TIMEOUT,
    "quiet": False,
}


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """What a local node shall be. Made by `check_options`.

    Attributes:
        lock: the version.
        data: folder that is kept, or None for a temporary one.
        port: port for requests of the first server, 0 for any free one.
        heap: heap of each server, such as ``512m``.
        analysis: analysis options, sorted.
        nodes: number of servers.
        dictionary: file of user words for IK, or None.
        java: Java folder to use, or None to look for one.
        timeout: seconds that a start may take once the files are there.
        quiet: show no progress.
    """

    lock: Lock
    data: Path | None
    port: int
    heap: str
    analysis: tuple[str, ...]
    nodes: int
    dictionary: Path | None
    java: Path | None
    timeout: float
    quiet: bool


def check_options(options: NodeKeywords) -> NodeOptions:
    """Turn the options of a local node into checked values; reads nothing but the lock files of this package.

    Raises:
        ConfigError: for a name that is not known or a value that can't be meant; it names those that can.
    """
    unknown = sorted(set(options) - set(NodeKeywords.__annotations__))
    if unknown:
        known = ", ".join(NodeKeywords.__annotations__)
        raise ConfigError(f"option {unknown[0]!r} of the local node is not known; known are: {known}")
    given = cast("NodeKeywords", {name: value for name, value in options.items() if value is not None})
    wanted: NodeKeywords = {**DEFAULTS, **given}
    analysis, heap, port = check_analysis(wanted["analysis"] or ()), str(wanted["heap"]), wanted["port"] or 0
    nodes, timeout = wanted["nodes"] or 0, wanted["timeout"] or 0.0
    heap_bytes(heap)
    if not 0 <= port <= HIGHEST_PORT:
        raise ConfigError(f"port {port} does not exist; give 1 to {HIGHEST_PORT}, or 0 for a free one")
    if not 1 <= nodes <= MOST_NODES:
        raise ConfigError(f"nodes={nodes} is not possible; give 1 to {MOST_NODES}")
    if timeout <= 0:
        raise ConfigError(f"timeout={timeout} leaves no time to start; give seconds above 0")
    if wanted["dictionary"] is not None and "ik" not in analysis:
        raise ConfigError("dictionary has an effect only with analysis 'ik'; add it, or leave the dictionary out")
    return NodeOptions(
        lock=read_lock(str(wanted["version"])),
        data=_path(wanted["data"]),
        port=port,
        heap=heap.lower(),
        analysis=analysis,
        nodes=nodes,
        dictionary=_path(wanted["dictionary"]),
        java=_path(wanted["java"]),
        timeout=timeout,
        quiet=bool(wanted["quiet"]),
    )


def _path(value: str | os.PathLike[str] | None) -> Path | None:
    return None if value is None else Path(value).expanduser().absolute()
