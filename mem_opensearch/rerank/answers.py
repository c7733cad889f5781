"""Score memories by whether they hold the answer: a reranker that needs no model, no network and no vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from mem_opensearch.errors import ConfigError
from mem_opensearch.rerank.answer_types import asked_for, holds
from mem_opensearch.rerank.blend import is_constant
from mem_opensearch.rerank.question import answering_side, asking_clause, aspect_words, is_exchange, share_of

if TYPE_CHECKING:
    from collections.abc import Sequence

TYPE_WEIGHT: Final = 0.4
ASPECT_WEIGHT: Final = 0.3
"""Chosen on the development sets; docs/rerank.md has the ablation and the cross-validation by user."""


@dataclass(frozen=True, slots=True)
class AnswerScorer:
    """Prefers memories that hold an answer of the asked type, and exchanges that say what is asked of a named thing.

    A search finds what is about the same thing as the question. Of those, the one that only repeats the question is
    often nearest in words and meaning, and the answer a little farther. Two kinds of evidence tell them apart:

    - the question asks for a type (how long, which book, what number), and the memory holds such a thing, on the side
      of the talk that the question is about ("you recommended" is the assistant's);
    - the question names a thing and asks one side of it (its rating, its address). In a talk the name falls once, and
      later turns say more of it: so the words beside the name decide among exchanges.

    A score lies in (0, 1] and multiplies the fused one, so that what is unrelated stays below. Where a question asks
    for no type and names nothing, or all memories are alike in this, nothing is scored, and the order stays.

    Attributes:
        type_weight: what the right type of answer adds, as a share of the score; 0 or more.
        aspect_weight: what the words beside the name add.

    Raises:
        ConfigError: a weight is negative.
    """

    type_weight: float = TYPE_WEIGHT
    aspect_weight: float = ASPECT_WEIGHT

    def __post_init__(self) -> None:
        for name in ("type_weight", "aspect_weight"):
            if not getattr(self, name) >= 0:
                raise ConfigError(f"'{name}' of the reranker 'answers' is {getattr(self, name)}, expected 0 or more")

    @property
    def name(self) -> str:
        """Short name for messages and tables."""
        return "answers"

    @property
    def most_texts(self) -> int | None:
        """Any number of texts."""
        return None

    @property
    def most_characters(self) -> int | None:
        """Texts of any length."""
        return None

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return one score in (0, 1] per text, or None for each where nothing tells the texts apart."""
        clause = asking_clause(query)
        kind = asked_for(clause) or asked_for(query)
        aspects = aspect_words(query)
        if kind is None and not aspects:
            return [None] * len(texts)
        most = 1.0 + self.type_weight + self.aspect_weight
        scores: list[float | None] = []
        for text in texts:
            found = 1.0
            if kind is not None and holds(answering_side(query, text), kind):
                found += self.type_weight
            if is_exchange(text):
                found += self.aspect_weight * share_of(aspects, text)
            scores.append(found / most)
        return [None] * len(texts) if is_constant(scores) else scores
