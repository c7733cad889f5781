"""What a scorer is: the one seam between the second stage and whatever reads question and memory together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from collections.abc import Sequence


@runtime_checkable
class Scorer(Protocol):
    """Scores texts against a query.

    A scorer does one thing: it does not sort, cut, retry or fall back. `Reranker` does all of that for every scorer.

    Attributes:
        name: short name for messages and tables, such as "cohere".
        most_texts: how many texts one call may hold; None for any number.
        most_characters: how long one text may be; None for any length. What is longer is cut before the call.
    """

    @property
    def name(self) -> str:
        """Short name for messages and tables."""

    @property
    def most_texts(self) -> int | None:
        """How many texts one call may hold; None for any number."""

    @property
    def most_characters(self) -> int | None:
        """How long one text may be; None for any length."""

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return one score per text, in the order of the texts: larger is better, on any scale.

        None stands for a text that was not scored; it is never a made-up 0 or 0.5. It may be called by several threads
        at once.

        Raises:
            RerankError: nothing was scored. Its message holds no text of a memory, no query and no secret.
        """
