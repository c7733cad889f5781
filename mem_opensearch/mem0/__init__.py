"""The bridge to mem0: its provider ``opensearch`` becomes this package, and back.

>>> from mem_opensearch.mem0 import Memory  # doctest: +SKIP
>>> memory = Memory.from_config(  # doctest: +SKIP
...     {
...         "vector_store": {"provider": "opensearch", "config": {"url": "local", "embedding_model_dims": 512}},
...         "embedder": {"provider": "mem_opensearch", "config": {"model": "use", "embedding_dims": 512}},
...         "llm": {"provider": "vllm"},
...     }
... )

That `Memory` searches by every signal. mem0's own, after `register`, keeps its memories here and ranks as mem0 does;
after ``register(patch=True)`` it searches as ours does.

mem0 makes a client of a language model in its constructor even where ``add(infer=False)`` never asks one. Its default
wants an OpenAI key; ``{"provider": "vllm"}`` wants none, and sends nothing before it is asked.

mem0 itself is imported only when something here is used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from mem_opensearch.mem0.registration import is_registered, register, unregister

if TYPE_CHECKING:
    from mem_opensearch.mem0.builtin import BuiltinMemory, builtin_memory
    from mem_opensearch.mem0.config import Mem0StoreConfig
    from mem_opensearch.mem0.embedder import Mem0Embedder
    from mem_opensearch.mem0.entities import Mem0EntityStore
    from mem_opensearch.mem0.memory import AsyncMemory, Memory
    from mem_opensearch.mem0.store import Mem0VectorStore

__all__ = [
    "AsyncMemory",
    "BuiltinMemory",
    "Mem0Embedder",
    "Mem0EntityStore",
    "Mem0StoreConfig",
    "Mem0VectorStore",
    "Memory",
    "builtin_memory",
    "is_registered",
    "register",
    "unregister",
]

_HOMES = {
    "AsyncMemory": "memory",
    "BuiltinMemory": "builtin",
    "builtin_memory": "builtin",
    "Mem0Embedder": "embedder",
    "Mem0EntityStore": "entities",
    "Mem0StoreConfig": "config",
    "Mem0VectorStore": "store",
    "Memory": "memory",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{home}"), name)
