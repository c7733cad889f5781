"""Read text and score off a result, whoever made it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mem_opensearch.errors import InvalidInputError

_TEXT_KEYS = ("memory", "text", "content", "data")


@dataclass(frozen=True, slots=True)
class Read:
    """What the second stage needs of a result.

    Attributes:
        text: of the memory; None where it has none.
        score: what it was ranked by before, in [0, 1].
    """

    text: str | None
    score: float


def read_result(result: Any) -> Read:  # noqa: ANN401 - a result of ours, of mem0, or anybody's mapping
    """Return text and score of a result.

    Taken are: a result of `Searcher`, with its text in `payload["data"]`; a result of mem0, with `memory`; and any
    mapping with `text`, `content` or `data`, or `metadata` that has one of them. The score is in `score`.

    Raises:
        InvalidInputError: the score is no number from 0 to 1.

    >>> read_result({"memory": "我喜歡茶", "score": 0.5})
    Read(text='我喜歡茶', score=0.5)
    """
    if isinstance(result, Mapping):
        places, score, name = [result, result.get("metadata") or {}], result.get("score"), result.get("id")
    else:
        places, score, name = (
            [getattr(result, "payload", {})],
            getattr(result, "score", None),
            getattr(result, "id", None),
        )
    text = next((place[key] for place in places for key in _TEXT_KEYS if isinstance(place.get(key), str)), None)
    if isinstance(score, bool) or not isinstance(score, int | float) or not 0.0 <= score <= 1.0:
        raise InvalidInputError(f"result '{name}' has the score {score!r}, expected a number from 0 to 1")
    return Read(text or None, float(score))
