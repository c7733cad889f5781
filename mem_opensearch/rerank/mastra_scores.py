"""Ask a scorer for scores from 0 to 1, in as many calls as it wants."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from mem_opensearch.errors import RerankError
from mem_opensearch.rerank.mastra_results import to_unit
from mem_opensearch.rerank.truncation import truncated

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mem_opensearch.rerank.mastra_results import Scorable

_logger = logging.getLogger("mem_opensearch.rerank")

CALLS_AT_ONCE = 8
"""Most calls of one scorer at one time; what takes one text a call would else take a pool's worth of round trips."""


@runtime_checkable
class TextScorer(Protocol):
    """The one method of a `Scorer` that is needed here; its `name` and limits are used where it has them."""

    def score(self, query: str, texts: Sequence[str]) -> Sequence[float | None]:
        """Return one score in [0, 1] per text, in the order of the texts; None for a text that was not scored."""


@dataclass(frozen=True, slots=True)
class OneByOne:
    """A function of a query and one text, as a scorer.

    Attributes:
        function: gives a score in [0, 1], or None. It is called by several threads at once.
    """

    function: Callable[[str, str], float | None]
    most_texts: ClassVar[int] = 1

    @property
    def name(self) -> str:
        """The function's own name."""
        return getattr(self.function, "__name__", type(self.function).__name__)

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return one score per text."""
        return [self.function(query, text) for text in texts]


def semantic_scores(scorer: TextScorer, query: str, results: Sequence[Scorable]) -> list[float | None]:
    """Return one score per result: 0 where it has no text, None where the scorer gave none.

    Texts go in one call, or in as many as the scorer's `most_texts` makes, at most 8 at once. What is longer than its
    `most_characters` is cut at the end of a sentence. A call that fails leaves its texts without a score; calls are
    not repeated.

    Raises:
        RerankError: every call failed, or an answer is not one score from 0 to 1, or None, per text.
    """
    scores: list[float | None] = [0.0] * len(results)
    texts = [(index, one.text) for index, one in enumerate(results) if one.text is not None]
    if len(texts) < len(results):
        first = next(one.where for one in results if one.text is None)
        _logger.warning(
            "%d of %d results have no text, and so a semantic score of 0; the first is %s. A text is expected as "
            "metadata['text'] in Mastra's dicts, 'memory' in mem0's, payload['data'] in objects",
            len(results) - len(texts),
            len(results),
            first,
        )
    if not texts:
        return scores
    answers = _ask(scorer, query, [text for _, text in texts])
    for (index, _), answer in zip(texts, answers, strict=True):
        scores[index] = None if answer is None else _checked(answer, scorer, results[index])
    return scores


def _ask(scorer: TextScorer, query: str, texts: Sequence[str]) -> list[object]:
    length: int | None = getattr(scorer, "most_characters", None)
    size: int = getattr(scorer, "most_texts", None) or len(texts)
    cut = [truncated(text, length) for text in texts]
    batches = [cut[start : start + size] for start in range(0, len(cut), size)]

    def call(batch: Sequence[str]) -> object:
        try:
            return scorer.score(query, batch)
        except RerankError as error:
            return error

    if len(batches) == 1:
        answers = [call(batches[0])]
    else:
        with ThreadPoolExecutor(min(CALLS_AT_ONCE, len(batches))) as pool:
            answers = list(pool.map(call, batches))
    failures = [answer for answer in answers if isinstance(answer, RerankError)]
    if len(failures) == len(answers):
        raise failures[0]
    if failures:
        _logger.warning(
            "%d of %d calls of scorer '%s' failed, and their texts have no score; the first: %s",
            len(failures),
            len(answers),
            _name(scorer),
            failures[0],
        )
    return [
        score
        for batch, answer in zip(batches, answers, strict=True)
        for score in ([None] * len(batch) if isinstance(answer, RerankError) else _listed(answer, len(batch), scorer))
    ]


def _listed(answer: object, expected: int, scorer: TextScorer) -> list[object]:
    if not isinstance(answer, Iterable):
        message = f"scorer '{_name(scorer)}' gave a {type(answer).__name__}, expected a list of scores"
        raise RerankError(message, scorer=_name(scorer))
    scores = list(answer)
    if len(scores) != expected:
        message = f"scorer '{_name(scorer)}' gave {len(scores)} scores for {expected} texts, expected one for each"
        raise RerankError(message, scorer=_name(scorer))
    return scores


def _checked(answer: object, scorer: TextScorer, result: Scorable) -> float:
    score = to_unit(answer)
    if score is None:
        shown = repr(answer) if isinstance(answer, int | float) else f"a {type(answer).__name__}"
        raise RerankError(
            f"scorer '{_name(scorer)}' gave {shown} for {result.where}, expected a number from 0 to 1, or None for a "
            "text that was not scored; raw logits go through a sigmoid first",
            scorer=_name(scorer),
        )
    return score


def _name(scorer: TextScorer) -> str:
    return str(getattr(scorer, "name", type(scorer).__name__))
