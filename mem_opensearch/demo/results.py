"""What a run of the demo found out, as plain values."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mem_opensearch.demo.questions import Question

SIGNALS = ("semantic", "bm25", "entity", "final")
"""Names of the scores of a hit, in the order in which they are shown."""


@dataclass(frozen=True, slots=True)
class Versions:
    """What took part.

    Attributes:
        server: distribution and version of the server, such as ``"opensearch 3.6.0"``.
        url: where it is.
        mem_opensearch: version of this package.
        mem0: version of mem0.
        embedder: name of the embedder and length of its vectors.
        analyzer: how the server makes words of Chinese text in our index.
    """

    server: str
    url: str
    mem_opensearch: str
    mem0: str
    embedder: str
    analyzer: str


@dataclass(frozen=True, slots=True)
class Stored:
    """How the memories came into one system.

    Attributes:
        system: key of the system.
        memories: how many are searchable afterwards, as the server counts them.
        seconds: from the first write until all can be found; making the index is left out.
        requests: HTTP requests sent for it.
    """

    system: str
    memories: int
    seconds: float
    requests: int


@dataclass(frozen=True, slots=True)
class ScoredHit:
    """A memory that `search` returned, with the parts of its score as ``score_details`` has them.

    Attributes:
        id: the memory's id.
        text: the memory.
        semantic: score of the vector search: here the cosine, in mem0's own provider (1 + cosine) / 2.
        bm25: BM25 on a scale from 0 to 1: here the share of the best match's, in mem0 by its sigmoid.
        entity: what a link to a name of the question added, [0, 0.5].
        final: the score that ranks.
    """

    id: str
    text: str
    semantic: float
    bm25: float
    entity: float
    final: float


@dataclass(frozen=True, slots=True)
class Answer:
    """What one system returned for one question.

    Attributes:
        system: key of the system.
        hits: best first.
        rank: place of the right memory among them, from 1; None when it is not there.
        milliseconds: one figure per search, in the order in which they ran; embedding the question is left out.
        requests: HTTP requests per search.
    """

    system: str
    hits: tuple[ScoredHit, ...]
    rank: int | None
    milliseconds: tuple[float, ...]
    requests: float


@dataclass(frozen=True, slots=True)
class Asked:
    """One question with every system's answer.

    Attributes:
        question: the question.
        right_text: text of the memory that answers it.
        meaning_rank: place of that memory among all of the user's when only the exact cosine counts, from 1.
        embed_milliseconds: time to embed the question once; no search below includes it.
        answers: one per system, in the order in which they are shown.
    """

    question: Question
    right_text: str
    meaning_rank: int
    embed_milliseconds: float
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of the table at the end; what was not measured is None.

    Attributes:
        system: key of the system, ``"cosine"`` for meaning alone.
        first: questions with the right memory at rank 1.
        top3: questions with the right memory among the first three.
        milliseconds: median of one search, without embedding the question.
        requests: HTTP requests per search.
        seconds: time to store all memories.
    """

    system: str
    first: int
    top3: int
    milliseconds: float | None
    requests: float | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class DemoResult:
    """Everything that a run found out.

    Attributes:
        versions: what took part.
        collection: what the names of its collections began with; they are gone.
        memories: how many were stored.
        users: how many users they belong to.
        stored: one per system.
        asked: one per question.
        summary: one per system, and one for meaning alone.
    """

    versions: Versions
    collection: str
    memories: int
    users: int
    stored: tuple[Stored, ...]
    asked: tuple[Asked, ...]
    summary: tuple[Summary, ...]

    def as_data(self) -> dict[str, Any]:
        """Return everything as JSON values."""
        return asdict(self)
