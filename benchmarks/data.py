"""Make memories to any size: real sentences, repeated with other numbers, and vectors that lie near those of the text.

The sentences are those of a folder of evaluation data, or of the three sets that come with the package. From the second
time on that a sentence is used, its numbers are others (a sentence without one gets one), so that no two memories are
equal. A memory's vector is that of its sentence plus Gaussian noise, of length 1 again. Everything follows from the
seed: a block can be made anew at any time, so nobody has to keep all of them.
"""

from __future__ import annotations

import re
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from mem_opensearch.demo.load import SETS, folder_of
from mem_opensearch.errors import InvalidInputError
from mem_opensearch.evaluate.datasets import load_dataset

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from mem_opensearch.embed import Embedder

    Vectors = npt.NDArray[np.float32]

BLOCK: Final = 1000
"""Memories that are made at a time; it bounds what a load keeps in memory."""

NOISE: Final = 0.6
"""Length of the noise that is added to a vector of length 1: the cosine to the sentence's own vector is then about
0.86, which is what two sentences that say the same in other words have."""

SCOPES: Final = ("user_id", "agent_id", "run_id")
"""One collection has its memories divided three times: among so many users, so many agents, and so many runs."""

_NUMBER = re.compile(r"\d+")
_FIRST_DAY = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Block:
    """Memories that follow one another.

    Attributes:
        first: position of the first one.
        texts: their texts.
        vectors: float32, shape (len(texts), dims), each of length 1.
        payloads: `data`, `created_at`, and one key for each number of users.
    """

    first: int
    texts: list[str]
    vectors: Vectors
    payloads: list[dict[str, Any]]

    @property
    def ids(self) -> list[str]:
        """Ids, UUIDs that are their positions."""
        return [id_of(self.first + number) for number in range(len(self.texts))]


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its vector, and the memory that is known to answer it.

    Attributes:
        text: the question.
        vector: float32, shape (dims,).
        row: position of a memory that answers it.
    """

    text: str
    vector: Vectors
    row: int


def id_of(position: int) -> str:
    """Return the id of the memory at a position.

    >>> id_of(255)
    '00000000-0000-0000-0000-0000000000ff'
    """
    return str(uuid.UUID(int=position))


def varied(text: str, time: int, seed: int) -> str:
    """Return a sentence as it is used for the n-th time: as it is at first, then with other numbers.

    >>> varied("房號是 1204", 0, 1)
    '房號是 1204'
    >>> varied("房號是 1204", 1, 1) != varied("房號是 1204", 2, 1)
    True
    >>> varied("她愛喝茶", 7, 1)
    '她愛喝茶，第7次說的'
    """
    if time == 0:
        return text
    if not _NUMBER.search(text):
        return f"{text}，第{time}次說的"
    digits = np.random.default_rng([seed, time, len(text)])
    return _NUMBER.sub(lambda found: "".join(str(each) for each in digits.integers(0, 10, len(found[0]))), text)


class Memories:
    """Memories of a size, and questions about them.

    Args:
        size: how many memories, at least one.
        embedder: makes the vectors of the sentences, once each.
        users: numbers of users among whom the memories are divided, at most three.
        folder: evaluation data to take sentences and questions from; those that come with the package by default.
        seed: of noise and numbers.
        questions: how many questions, at most.
    """

    def __init__(
        self,
        size: int,
        embedder: Embedder,
        *,
        users: Sequence[int] = (100,),
        folder: Path | None = None,
        seed: int = 7,
        questions: int = 40,
    ) -> None:
        if size < 1 or not 1 <= len(users) <= len(SCOPES) or min(users) < 1:
            raise InvalidInputError(f"{size} memories of {users} users: give at least 1, and one to three numbers")
        self.size, self.users, self.seed = size, tuple(users), seed
        self.embedder = embedder
        sets = [load_dataset(folder)] if folder else [load_dataset(folder_of(name)) for name in SETS]
        self.source = folder.name if folder else " + ".join(SETS)
        memories = [memory for each in sets for memory in each.memories]
        # Spread, so that a small size is not the beginning of one set; the same order for every size.
        order = np.random.default_rng(seed).permutation(len(memories))
        memories = [memories[int(position)] for position in order][:size]
        self._texts = [memory.text for memory in memories]
        self._vectors: Vectors = np.asarray(embedder.embed_documents(self._texts), dtype=np.float32)
        self.dims = int(self._vectors.shape[1])
        rows = {memory.id: position for position, memory in enumerate(memories)}
        asked = [
            (query.text, rows[query.relevant[0]])
            for each in sets
            for query in each.queries
            if query.relevant[0] in rows
        ]
        chosen = np.random.default_rng(seed + 1).permutation(len(asked))[:questions]
        self.questions = self._with_vectors([asked[int(position)] for position in chosen])

    def _with_vectors(self, asked: list[tuple[str, int]]) -> list[Question]:
        asked = asked or [(text, row) for row, text in enumerate(self._texts[:1])]
        vectors = np.asarray(self.embedder.embed_queries([text for text, _ in asked]), dtype=np.float32)
        return [Question(text, vector, row) for (text, row), vector in zip(asked, vectors, strict=True)]

    def filter_for(self, question: Question, users: int) -> dict[str, Any]:
        """Return the filter for the memories of the user whose memory answers a question."""
        key = SCOPES[self.users.index(users)]
        return {key: self._owner(question.row, users)}

    def rows_for(self, question: Question, users: int) -> slice:
        """Return the positions of the memories that `filter_for` lets pass."""
        return slice(question.row % users, self.size, users)

    def blocks(self, size: int = BLOCK, *, first: int = 0, last: int | None = None) -> Iterator[Block]:
        """Yield memories in order.

        Args:
            size: memories of a block.
            first: position of the first memory.
            last: position after the last one; the end by default.
        """
        end = self.size if last is None else min(last, self.size)
        for start in range(first, end, size):
            yield self._block(start, min(start + size, end))

    def _block(self, start: int, end: int) -> Block:
        known = len(self._texts)
        positions = range(start, end)
        texts = [varied(self._texts[row % known], row // known, self.seed) for row in positions]
        noise = np.stack([self._noise(row) for row in positions])
        vectors = self._vectors[[row % known for row in positions]] + noise
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return Block(
            start,
            texts,
            vectors.astype(np.float32),
            [self._payload(row, text) for row, text in zip(positions, texts, strict=True)],
        )

    def _noise(self, row: int) -> Vectors:
        """Return the noise of one memory; the first use of a sentence has its own vector."""
        if row < len(self._texts):
            return np.zeros(self.dims, dtype=np.float32)
        drawn = np.random.default_rng([self.seed, row]).standard_normal(self.dims, dtype=np.float32)
        return drawn * np.float32(NOISE / np.sqrt(self.dims))

    def _payload(self, row: int, text: str) -> dict[str, Any]:
        owners = {key: self._owner(row, users) for key, users in zip(SCOPES, self.users, strict=False)}
        return {"data": text, **owners, "created_at": (_FIRST_DAY + timedelta(minutes=row)).isoformat()}

    @staticmethod
    def _owner(row: int, users: int) -> str:
        return f"u{row % users}-of-{users}"

    def facts(self) -> dict[str, Any]:
        """Return how they are made, for the report."""
        return {
            "memories": self.size,
            "users": list(self.users),
            "sentences": f"{len(self._texts)} of {self.source}, repeated with other numbers",
            "vectors": f"{self.embedder.name}, {self.dims} dimensions, of the sentences; of repeated ones with "
            f"Gaussian noise of length {NOISE}, normalised",
            "questions": len(self.questions),
            "seed": self.seed,
        }
