"""What is known of a query beside its ranking: the signals of what was found, and the memories themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from mem_opensearch.extras import require
from mem_opensearch.text import fold, segmenter, without_question_words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.evaluate.datasets import Dataset, Query
    from mem_opensearch.evaluate.vectors import Vectors


@dataclass(frozen=True, slots=True)
class Seen:
    """What a system says of the memories that it looked at for one query.

    Attributes:
        details: memory id -> where its score comes from, see `Searcher.search`; those not looked at are missing. In
            mode "mem0" only the results and the relevant memories have some.
        ranks: memory id -> place among all that passed the gate, before any reranker.
        reasons: relevant memory that is no result -> why, as `search.Reason`.
        sentences: the same in words.
        is_reranked: whether the results are in a reranker's order.
    """

    details: Mapping[str, Mapping[str, Any]]
    ranks: Mapping[str, int]
    reasons: Mapping[str, str] = field(default_factory=dict)
    sentences: Mapping[str, str] = field(default_factory=dict)
    is_reranked: bool = False


@runtime_checkable
class Explaining(Protocol):
    """A system that can say where its scores come from."""

    def explain(self, query: Query, vector: Any, *, top_k: int) -> Seen:  # noqa: ANN401 - a row of an array
        """Return what it says of a query; not timed."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What question and memory have in common, whatever a system thinks of it.

    Attributes:
        cosine: of both, in [-1, 1].
        place: how many memories of the scope are as near in meaning, itself included; 1 for the nearest.
        shared_words: how many words of the question the memory holds.
    """

    cosine: float
    place: int
    shared_words: int


class Library:
    """The memories of a data set with the cosines of its queries.

    Args:
        dataset: the texts.
        vectors: of the memories, in order.
        query_vectors: of the queries, in order.
    """

    def __init__(self, dataset: Dataset, vectors: Vectors, query_vectors: Vectors) -> None:
        self._memories = {memory.id: place for place, memory in enumerate(dataset.memories)}
        self._queries = {query.id: place for place, query in enumerate(dataset.queries)}
        self._dataset = dataset
        self._vectors = _normalised(vectors)
        self._query_vectors = _normalised(query_vectors)

    def facts(self, query_id: str, memory_id: str) -> Facts:
        """Return what a query and a memory have in common."""
        query = self._dataset.queries[self._queries[query_id]]
        place = self._memories[memory_id]
        cosines = self._vectors @ self._query_vectors[self._queries[query_id]]
        cosine = float(cosines[place])
        nearer = [
            True
            for other, memory in zip(cosines, self._dataset.memories, strict=True)
            if other >= cosine and query.user_id in {None, memory.user_id}
        ]
        shared = shared_words(query.text, self._dataset.memories[place].text)
        return Facts(max(-1.0, min(1.0, cosine)), len(nearer), len(shared))


def shared_words(question: str, text: str) -> list[str]:
    """Return the words of a question that a text holds, in the question's order and either script.

    >>> shared_words("龍井茶多少钱？", "买了龙井茶")
    ['龙井茶']
    """
    words = dict.fromkeys(segmenter().segment(without_question_words(question)))
    folded, held = fold(text).lower(), set(segmenter().segment(text))
    return [  # Chinese words are also found inside longer ones; 0 is not in 80
        word
        for word in words
        if any(map(str.isalnum, word)) and (word in held or (not word.isascii() and word in folded))
    ]


def _normalised(vectors: Vectors) -> Vectors:
    numpy = require("numpy", extra="eval", purpose="the evaluation")
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / numpy.where(lengths == 0, 1.0, lengths)  # type: ignore[no-any-return] # an array
