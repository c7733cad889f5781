"""Embed each text once in a run, and know how long it took.

Systems are timed without the embedding of the query: it costs the same for all, and far more than the rest. A system
that embeds by itself, as mem0 does, gets this embedder, finds its query's vector ready, and is credited the time of
whatever it embeds beyond.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from mem_opensearch.errors import MemOpenSearchError, VectorError
from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    import numpy.typing as npt

    from mem_opensearch.embed import Embedder

    Vectors = npt.NDArray[np.float32]

BATCH_TEXTS = 64  # small enough for a progress bar that moves


class CachingEmbedder:
    """An `Embedder` over another one that keeps every vector for as long as it lives. Not thread-safe.

    Attributes:
        name: the inner embedder's.
        dims: the inner embedder's.
        seconds: time spent in the inner embedder so far.
    """

    def __init__(self, inner: Embedder) -> None:
        self.name = inner.name
        self.dims = inner.dims
        self.seconds = 0.0
        self._inner = inner
        self._queries: dict[str, Vectors] = {}
        self._documents: dict[str, Vectors] = {}

    def embed_queries(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text, float32, shape ``(len(texts), dims)``."""
        return self._look_up(texts, self._queries, self._inner.embed_queries, None)

    def embed_documents(self, texts: Sequence[str], tick: Callable[[int, int], None] | None = None) -> Vectors:
        """Return one row per text, float32, shape ``(len(texts), dims)``.

        Args:
            texts: any number of texts.
            tick: called after each batch with the number of new texts embedded, and of all new texts.

        Raises:
            VectorError: the embedder returned another shape.
            MemOpenSearchError: the embedder failed.
        """
        return self._look_up(texts, self._documents, self._inner.embed_documents, tick)

    def _look_up(
        self,
        texts: Sequence[str],
        known: dict[str, Vectors],
        embed: Callable[[Sequence[str]], Vectors],
        tick: Callable[[int, int], None] | None,
    ) -> Vectors:
        numpy = require("numpy", extra="eval", purpose="the evaluation")
        new = [text for text in dict.fromkeys(texts) if text not in known]
        for start in range(0, len(new), BATCH_TEXTS):
            batch = new[start : start + BATCH_TEXTS]
            begun = time.perf_counter()
            try:
                vectors = numpy.asarray(embed(batch), dtype=numpy.float32)
            except MemOpenSearchError:
                raise
            except Exception as error:  # an embedder may be anybody's code, and behind it any service
                raise MemOpenSearchError(f"embedder '{self.name}' failed: {type(error).__name__}: {error}") from error
            self.seconds += time.perf_counter() - begun
            if vectors.shape != (len(batch), self.dims):
                raise VectorError(
                    f"embedder '{self.name}' returned an array of shape {vectors.shape} for {len(batch)} texts, "
                    f"expected ({len(batch)}, {self.dims})"
                )
            known.update(zip(batch, vectors, strict=True))
            if tick is not None:
                tick(start + len(batch), len(new))
        rows: Vectors = (
            numpy.stack([known[text] for text in texts]) if texts else numpy.empty((0, self.dims), "float32")
        )
        return rows
