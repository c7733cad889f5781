"""Memory search for AI agents that works in Chinese: an OpenSearch backend for mem0.

Names are imported on first use, so that importing the package costs next to nothing and needs no optional package.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from mem_opensearch._version import __version__

if TYPE_CHECKING:
    from mem_opensearch.config import StoreConfig
    from mem_opensearch.errors import MemOpenSearchError
    from mem_opensearch.mem0 import register, unregister
    from mem_opensearch.models import Hit
    from mem_opensearch.node import LocalNode
    from mem_opensearch.search import Searcher
    from mem_opensearch.store import Entity, EntityLinker, EntityStore, Link, MemoryText, OpenSearchVectorStore

_HOMES = {
    "Entity": "mem_opensearch.store",
    "EntityLinker": "mem_opensearch.store",
    "EntityStore": "mem_opensearch.store",
    "Hit": "mem_opensearch.models",
    "Link": "mem_opensearch.store",
    "LocalNode": "mem_opensearch.node",
    "MemOpenSearchError": "mem_opensearch.errors",
    "MemoryText": "mem_opensearch.store",
    "OpenSearchVectorStore": "mem_opensearch.store",
    "Searcher": "mem_opensearch.search",
    "StoreConfig": "mem_opensearch.config",
    "register": "mem_opensearch.mem0",
    "unregister": "mem_opensearch.mem0",
}

__all__ = [
    "Entity",
    "EntityLinker",
    "EntityStore",
    "Hit",
    "Link",
    "LocalNode",
    "MemOpenSearchError",
    "MemoryText",
    "OpenSearchVectorStore",
    "Searcher",
    "StoreConfig",
    "__version__",
    "register",
    "unregister",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401 - the type is that of the name asked for
    if name not in _HOMES:
        raise AttributeError(f"module 'mem_opensearch' has no attribute '{name}'")
    return getattr(importlib.import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted(__all__)
