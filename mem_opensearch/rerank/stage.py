"""Rerank a wide pool of results, and say what came of it."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from mem_opensearch import turns
from mem_opensearch.errors import ConfigError, InvalidInputError, RerankError
from mem_opensearch.rerank.blend import blended, is_constant, order_of
from mem_opensearch.rerank.calls import Caller
from mem_opensearch.rerank.results import read_result
from mem_opensearch.rerank.truncation import truncated

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.rerank.scoring import Scorer

_logger = logging.getLogger("mem_opensearch.rerank")

Result = TypeVar("Result")

CONSTANT = "constant scores: the reranker had no effect"
MOST = 10_000  # the server's own limit of one page


@dataclass(frozen=True, slots=True)
class Reranked(Generic[Result]):
    """A result in its new place.

    Attributes:
        result: as it was given.
        score: its fused score, untouched.
        rerank_score: the reranker's, on its own scale; None where it was not scored, or all were scored alike.
        details: `scorer`; `reranked`, whether the order is the reranker's; `weight`; `fused_rank` and `rank`, from 1;
            `blended_score`, None where it was not scored; `truncated`, whether the scorer saw only the beginning of
            the text.
    """

    result: Result
    score: float
    rerank_score: float | None
    details: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Reranking(Generic[Result]):
    """What reranking gave.

    Attributes:
        results: in their new order, cut to what was wanted.
        degraded: what went wrong, one sentence each, as "rerank: timeout after 800 ms"; empty where all is well.
        reranked: whether the order is the reranker's; False where the fused order stands.
    """

    results: list[Reranked[Result]]
    degraded: tuple[str, ...] = ()
    reranked: bool = True


@dataclass(frozen=True, slots=True)
class Reranker:
    """The second stage of a search, over any scorer; one object may be shared between threads.

    Attributes:
        scorer: what reads question and memory together.
        pool: how many times the wanted results it sees; 1 can only permute, not rescue.
        weight: how much its scores count beside the fused ones, from 0 to 1; see `blend.blended`.
        deadline: seconds for the whole stage, retries included.
        attempts: tries per call, of those that another try may help.
        concurrency: most calls at once, over all threads.
        strict: whether a failure raises `RerankError`, rather than leaving the fused order.

    Raises:
        ConfigError: an option is out of its range.
    """

    scorer: Scorer
    pool: int = 4
    weight: float = 1.0
    deadline: float = 3.0
    attempts: int = 2
    concurrency: int = 4
    strict: bool = False
    _caller: Caller = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name, least in (("pool", 1), ("attempts", 1), ("concurrency", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(f"'{name}' of the reranker is {value!r}, expected a whole number of at least {least}")
        if not 0.0 <= self.weight <= 1.0:
            raise ConfigError(f"'weight' of the reranker is {self.weight}, expected a number from 0 to 1")
        if not self.deadline > 0.0:
            raise ConfigError(f"'deadline' of the reranker is {self.deadline}, expected seconds above 0")
        caller = Caller(self.scorer, attempts=self.attempts, concurrency=self.concurrency)
        object.__setattr__(self, "_caller", caller)

    def pool_for(self, top_k: int) -> int:
        """Return how many results a search has to bring, so that `top_k` of them can be chosen."""
        return max(top_k, min(self.pool * top_k, MOST))

    def rerank(self, query: str, results: Sequence[Result], top_k: int) -> list[Reranked[Result]]:
        """Return the best of some results; what `run` gives, without what it says of failures."""
        return self.run(query, results, top_k).results

    def run(self, query: str, results: Sequence[Result], top_k: int) -> Reranking[Result]:
        """Return the best of some results, in their new order.

        The results are the same whatever the scorer does: where it fails, is late, or gives one score for all, the
        fused order stands.

        Args:
            query: what was asked.
            results: best first, with a score each: results of `Searcher` or mem0, or mappings with a text, see
                `results.read_result`. They are not changed. One without a text is not scored.
            top_k: how many of them are wanted, 1 or more.

        Raises:
            InvalidInputError: `top_k` is below 1, or a result has no score from 0 to 1.
            RerankError: the scorer failed, and `strict` is set.
        """
        if top_k < 1:
            raise InvalidInputError(f"top_k is {top_k}, expected 1 or more")
        if not results:
            return Reranking([], reranked=False)
        read = [read_result(result) for result in results]
        fused = [one.score for one in read]
        sent = {place: truncated(one.text, self.scorer.most_characters) for place, one in enumerate(read) if one.text}
        with turns.waiting():
            given = self._caller.score(query, list(sent.values()), deadline=self.deadline)
        scored: list[float | None] = [None] * len(read)
        for place, score in zip(sent, given.values, strict=True):
            scored[place] = score
        scores, problems = scored, list(given.problems)
        if is_constant(scores):
            problems.append(CONSTANT)
            scores = scored = [None] * len(scores)
        missing = sum(score is None for score in scores)
        if problems:
            self._tell(problems, missing, len(scores))
        order = order_of(fused, scores, weight=self.weight)
        values = blended(fused, scores, weight=self.weight)
        return Reranking(
            results=[
                Reranked(
                    result=results[place],
                    score=fused[place],
                    rerank_score=scored[place],
                    details={
                        "scorer": self.scorer.name,
                        "reranked": missing < len(scores),
                        "weight": self.weight,
                        "fused_rank": place + 1,
                        "rank": rank,
                        "blended_score": values[place],
                        "truncated": len(sent.get(place, "")) < len(read[place].text or ""),
                    },
                )
                for rank, place in enumerate(order[:top_k], start=1)
            ],
            degraded=tuple(self._sentence(problem, missing, len(scores)) for problem in problems),
            reranked=missing < len(scores),
        )

    @staticmethod
    def _sentence(problem: str, missing: int, total: int) -> str:
        some = f", {missing} of {total} not scored" if 0 < missing < total else ""
        return f"rerank: {problem}{some}"

    def _tell(self, problems: Sequence[str], missing: int, total: int) -> None:
        sentences = [self._sentence(problem, missing, total) for problem in problems]
        if self.strict:
            raise RerankError("; ".join(sentences), scorer=self.scorer.name)
        for sentence in sentences:
            _logger.warning("%s", sentence)
