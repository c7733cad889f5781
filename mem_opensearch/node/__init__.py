"""Run a real OpenSearch on this machine, without Docker and without a system Java."""

from __future__ import annotations

from mem_opensearch.node.attach import attach_or_start
from mem_opensearch.node.detached import DetachedNode, find_detached, start_detached, stop_detached
from mem_opensearch.node.local import LocalNode
from mem_opensearch.node.lockfile import known_versions

__all__ = [
    "DetachedNode",
    "LocalNode",
    "attach_or_start",
    "find_detached",
    "known_versions",
    "start_detached",
    "stop_detached",
]
