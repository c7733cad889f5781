"""Switch mem0's provider ``opensearch`` to this package and back."""

from __future__ import annotations

from mem_opensearch import forks
from mem_opensearch.mem0 import internals

_lock = forks.Lock()
_active: internals.Patches | None = None
_reads = False  # whether mem0's own searches are ours


def register(*, patch: bool = False) -> None:
    """Make mem0's provider ``opensearch`` build this package's store.

    After it, ``mem0.Memory.from_config({"vector_store": {"provider": "opensearch", "config": {...}}, ...})`` takes
    mem0's own keys and those of `mem_opensearch.config.StoreConfig`, and the embedder provider ``mem_opensearch``
    exists. Memories that mem0 built earlier keep the store that they have.

    Calling it again changes nothing, but for `patch` if it was not given before. It is thread-safe against itself; call
    it before other threads build memories, for mem0's config classes are recompiled (about a millisecond).

    Args:
        patch: whether `search` of mem0's own `Memory` and `AsyncMemory` is ours as well, where their store is ours:
            with every signal, and the keywords of `mem_opensearch.mem0.Memory`.

    Raises:
        MissingExtraError: mem0 is not installed.
        ConfigError: this mem0 lacks something that the bridge plugs into; nothing was changed.
    """
    global _active, _reads  # noqa: PLW0603 - whether mem0 is switched is a fact of the process
    with _lock:
        if _active is None:
            patches = internals.Patches()
            internals.warn_if_untested()
            from mem_opensearch.mem0.config import Mem0StoreConfig

            patches.apply(Mem0StoreConfig)
            _active, _reads = patches, False
        if patch and not _reads:
            _active.apply_reading()
            _reads = True


def unregister() -> None:
    """Put mem0 back as it was before `register`; without effect when it is not registered."""
    global _active  # noqa: PLW0603 - see `register`
    with _lock:
        if _active is not None:
            _active.revert()
            _active = None


def is_registered() -> bool:
    """Whether mem0's provider ``opensearch`` is this package's."""
    return _active is not None
