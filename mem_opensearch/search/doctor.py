"""Look for what makes searches bad without an error: vectors that say nothing, memories without notes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.fusion import PROBES, background_of
from mem_opensearch.index import read_spec
from mem_opensearch.models import IDENTITY_FIELDS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.embed import Embedder
    from mem_opensearch.models import Clause
    from mem_opensearch.store import OpenSearchVectorStore

SAMPLE = 200
"""Vectors that are looked at; a broken embedder breaks all of them."""

_ALIKE = 0.9999
"""Cosine from which two vectors of different texts are the same: float32 leaves 1e-6."""
_OTHER_EMBEDDER = 0.05
"""How far the background may lie from the one that is kept; the same model measures the same to 1e-6."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found.

    Attributes:
        check: its name.
        ok: whether nothing is wrong.
        sentence: what was found, and where something is wrong, how to mend it.
    """

    check: str
    ok: bool
    sentence: str


def _right(check: str, sentence: str) -> Finding:
    return Finding(check, ok=True, sentence=sentence)


def _wrong(check: str, sentence: str) -> Finding:
    return Finding(check, ok=False, sentence=sentence)


def examine(store: OpenSearchVectorStore, embedder: Embedder | None = None) -> list[Finding]:
    """Examine a collection of memories, and the embedder that its searches use; nothing is written.

    Args:
        store: the collection.
        embedder: what embeds questions and memories; its checks are left out where it is not given.

    Raises:
        BackendError, IndexStateError: the server failed, or the index is not as wanted.
    """
    found = [] if embedder is None else [_check_embedder(store, embedder)]
    if store.spec() is None:
        return [*found, _right("collection", f"'{store.collection_name}' does not exist yet: nothing is stored")]
    return [*found, _check_vectors(store), _check_notes(store)]


def _check_embedder(store: OpenSearchVectorStore, embedder: Embedder) -> Finding:
    vectors = [[float(number) for number in vector] for vector in embedder.embed_documents(PROBES)]
    name = f"embedder '{embedder.name}'"
    if len(vectors[0]) != store.embedding_model_dims:
        mend = (
            f"'{store.collection_name}' holds vectors of {store.embedding_model_dims}: use the model it was filled with"
        )
        return _wrong("embedder", f"{name} makes vectors of {len(vectors[0])} dimensions; {mend}")
    try:
        background = background_of(vectors)
    except InvalidInputError as error:
        return _wrong("embedder", f"{name} makes zero or constant vectors: {error}")
    there = read_spec(store.client, store.collection_name)  # what the index says now, not when it was first asked
    spec = there[0] if there else None
    if spec and spec.background and abs(spec.background[0] - background.mean) > _OTHER_EMBEDDER:
        return _wrong(
            "embedder",
            f"{name} gives unrelated texts a cosine of {background.mean:.2f}, and the one that "
            f"'{store.collection_name}' was searched with first gave {spec.background[0]:.2f}: they are two models; "
            "use that one, or store anew",
        )
    return _right("embedder", f"{name} tells texts apart: {background.mean:.2f} for unrelated ones")


def _check_vectors(store: OpenSearchVectorStore) -> Finding:
    rows = store.sample_vectors(SAMPLE)
    empty = [row_id for row_id, vector in rows if vector is not None and not any(vector)]
    without = [row_id for row_id, vector in rows if vector is None]
    if broken := empty or without:
        what = "zero vectors" if empty else "no vectors"
        return _wrong(
            "vectors",
            f"{len(broken)} of {len(rows)} memories have {what}, '{broken[0]}' among them; embed and store them again",
        )
    if len(rows) > 2 and _all_alike([vector for _, vector in rows if vector is not None]):  # noqa: PLR2004 - two may be
        mend = "the embedder is broken; check it with this command, then store them again"
        return _wrong("vectors", f"all of {len(rows)} memories have the same vector: {mend}")
    return _right("vectors", f"{len(rows)} vectors looked at: none is zero, and they differ")


def _all_alike(vectors: Sequence[Sequence[float]]) -> bool:
    first = vectors[0]
    length = math.hypot(*first)
    return all(
        sum(a * b for a, b in zip(first, other, strict=True)) >= _ALIKE * length * math.hypot(*other)
        for other in vectors[1:]
    )


def _check_notes(store: OpenSearchVectorStore) -> Finding:
    """Count the memories that have a scope and a date, and no place in a talk: nothing was noted of them."""
    owned: list[dict[str, Any]] = [{"exists": {"field": name}} for name in IDENTITY_FIELDS]
    clauses: list[Clause] = [
        {"exists": {"field": "created_at"}},
        {"bool": {"should": owned, "minimum_should_match": 1}},
        {"bool": {"must_not": [{"exists": {"field": "conversation"}}]}},
    ]
    missing = store.count_clauses([*store.clauses_of(None), *clauses])
    if missing:
        mend = f"run: mem-opensearch annotate --collection {store.collection_name}"
        return _wrong("notes", f"of {missing} memories no talk and no time are noted; {mend}")
    return _right("notes", "every memory with an owner and a date is annotated")
