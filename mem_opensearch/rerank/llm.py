"""A language model as the scorer: one call for all memories, one JSON object back, of which only what fits is used."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from mem_opensearch.errors import ConfigError, MemOpenSearchError, RerankError
from mem_opensearch.rerank.prompts import BEST, Message, build_messages
from mem_opensearch.rerank.replies import is_number

Complete = Callable[[list[Message]], str]
"""Sends messages to a model, and returns the text of its answer."""

_NAME: Final = "llm_reranker"
_THOUGHTS: Final = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)  # Qwen3, DeepSeek-R1 behind a plain server
_FENCED: Final = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL)
_PASSING: Final = frozenset({408, 409, 425, 429})
_SERVER_FAILURE: Final = 500


@dataclass(frozen=True, slots=True)
class LLMScorer:
    """Asks a language model to score memories, all in one call.

    A memory's text is data and can't change the shape of the answer: what is not one JSON object of scores is refused,
    and of the scores only those count that are for a memory that was sent, once, and between 0 and 10.

    Attributes:
        complete: sends messages, returns the text of the answer; see `mem_opensearch.rerank.completions`. It may be
            called by several threads at once.
        criteria: what else makes a memory good, in plain words, beside answering the query.
        most_texts: memories in one call. Long lists are judged worse.
        most_characters: length of one memory.

    Raises:
        ConfigError: `complete` can't be called, or a limit is below 1.
    """

    complete: Complete
    criteria: str = ""
    most_texts: int | None = 100
    most_characters: int | None = 2000

    def __post_init__(self) -> None:
        if not callable(self.complete):
            raise ConfigError(f"{_NAME}: 'complete' is a {type(self.complete).__name__}: give what takes messages")
        for limit in ("most_texts", "most_characters"):
            value = getattr(self, limit)
            if value is not None and value < 1:
                raise ConfigError(f"{_NAME}: option '{limit}' is {value}: give at least 1, or None for no limit")

    @property
    def name(self) -> str:
        """Short name for messages and tables."""
        return _NAME

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return one score per text, in the order of the texts, from 0 to 1; None for those that the model left out.

        Raises:
            RerankError: the model can't be asked, refuses, answers in another form, or scores nothing.
        """
        if not texts:
            return []
        messages = build_messages(query, texts, criteria=self.criteria)
        try:
            answer = self.complete(messages)
        except MemOpenSearchError:
            raise
        except Exception as error:  # noqa: BLE001 - whatever the model's own package raises
            # Its message may quote the memories that were sent.
            raise RerankError(
                f"{_NAME}: the model gave no answer ({type(error).__name__})",
                scorer=_NAME,
                retryable=_is_passing(error),
            ) from None
        return read(answer, len(texts))


def _is_passing(error: Exception) -> bool:
    """Whether another try may help: by the HTTP status where the error has one, else by what it is called."""
    status = getattr(error, "status_code", None)
    if isinstance(status, int):
        return status in _PASSING or status >= _SERVER_FAILURE
    named = type(error).__name__.lower()
    return isinstance(error, ConnectionError | TimeoutError) or any(word in named for word in ("timeout", "connect"))


def read(answer: object, count: int) -> list[float | None]:
    """Return the scores in a model's answer, from 0 to 1, in the order of the texts; None for those without one.

    Args:
        answer: the text of the answer: one JSON object, which may stand in one code fence or after ``<think>`` ...
        count: how many texts were sent; their ids are 1 to `count`.

    Raises:
        RerankError: it is anything else, or scores nothing. Another try may help: models don't say the same twice.

    >>> read('{"scores": [{"id": 2, "score": 10}, {"id": 1, "score": 0}, {"id": 4, "score": 9}]}', 3)
    [0.0, 1.0, None]
    >>> read('Sure! {"scores": []}', 3)
    Traceback (most recent call last):
    ...
    mem_opensearch.errors.RerankError: llm_reranker: the answer is no JSON object alone
    """
    if not isinstance(answer, str) or not answer.strip():
        raise _unusable("the model answered nothing, which may be a refusal")
    text = _THOUGHTS.sub("", answer)
    fenced = _FENCED.fullmatch(text)
    try:
        found = json.loads(fenced[1] if fenced else text, object_pairs_hook=_without_repetition)
    except (ValueError, RecursionError):
        raise _unusable("the answer is no JSON object alone") from None
    items = found.get("scores") if isinstance(found, dict) else None
    if not isinstance(items, list):
        raise _unusable("the answer has no list 'scores'")
    named = [item for item in items if isinstance(item, dict) and _is_id(item.get("id"), count)]
    times = Counter(item["id"] for item in named)
    scores: list[float | None] = [None] * count
    for item in named:
        score: object = item.get("score")
        if times[item["id"]] == 1 and is_number(score) and 0 <= score <= BEST:
            scores[item["id"] - 1] = score / BEST
    if all(score is None for score in scores):
        raise _unusable(f"none of the {count} memories has a usable score in the answer")
    return scores


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a field twice: which of the two is meant would be a guess."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError
    return found


def _is_id(value: object, count: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= count


def _unusable(what: str) -> RerankError:
    return RerankError(f"{_NAME}: {what}", scorer=_NAME, retryable=True)
