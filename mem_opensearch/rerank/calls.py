"""Call a scorer for a whole pool: in batches, some at once, with retries, until a deadline."""

from __future__ import annotations

import contextvars
import math
import threading
import time
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import TYPE_CHECKING, Any

from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt, wait_random_exponential

from mem_opensearch.errors import RerankError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.rerank.scoring import Scorer

_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0  # seconds between tries


@dataclass(slots=True)
class Scores:
    """What a scorer gave for a pool.

    Attributes:
        values: one per text, None for what was not scored.
        problems: why something was not scored, each reason once.
    """

    values: list[float | None]
    problems: list[str] = field(default_factory=list)


class Caller:
    """Calls one scorer; one object may be shared between threads.

    A call that outlives its deadline can't be ended from outside. Its thread goes on until the scorer's own timeout,
    holds one of the places meanwhile, and does not keep the process from ending.

    Args:
        scorer: what scores.
        attempts: tries per batch, of those that another try may help.
        concurrency: most calls at once, over all threads.
    """

    def __init__(self, scorer: Scorer, *, attempts: int, concurrency: int) -> None:
        self._scorer = scorer
        self._attempts = attempts
        self._concurrency = concurrency
        self._places = threading.BoundedSemaphore(concurrency)

    def score(self, query: str, texts: Sequence[str], *, deadline: float) -> Scores:
        """Return the scores of all texts that came in time.

        Args:
            query: what is asked.
            texts: any number of them.
            deadline: seconds for all of it.
        """
        size = self._scorer.most_texts or len(texts) or 1
        starts: SimpleQueue[int] = SimpleQueue()
        for start in range(0, len(texts), size):
            starts.put(start)
        batches = -(-len(texts) // size)
        done: SimpleQueue[tuple[int, list[float | None] | RerankError]] = SimpleQueue()
        until = time.monotonic() + deadline

        def work() -> None:
            while True:
                try:
                    start = starts.get_nowait()
                except Empty:
                    return
                if not self._places.acquire(timeout=max(0.0, until - time.monotonic())):
                    return  # calls that hang have all places: the deadline says so
                try:
                    done.put((start, self._called(query, texts[start : start + size], until)))
                finally:
                    self._places.release()

        for _ in range(min(batches, self._concurrency)):
            context = contextvars.copy_context()  # of the caller, as a scorer without threads has it
            threading.Thread(target=context.run, args=(work,), daemon=True, name=f"rerank-{self._scorer.name}").start()
        scores = Scores([None] * len(texts))
        for _ in range(batches):
            try:
                start, given = done.get(timeout=max(0.0, until - time.monotonic()))
            except Empty:
                self._add(scores, f"timeout after {deadline * 1000:.0f} ms")
                break
            if isinstance(given, RerankError):
                self._add(scores, str(given))
            else:
                scores.values[start : start + len(given)] = given
        return scores

    def _called(self, query: str, texts: Sequence[str], until: float) -> list[float | None] | RerankError:
        """Return the scores of one batch, or why there are none."""
        retrying = Retrying(
            retry=retry_if_exception(lambda error: isinstance(error, RerankError) and error.retryable),
            stop=lambda state: stop_after_attempt(self._attempts)(state) or time.monotonic() + _wait(state) >= until,
            wait=_wait,
            reraise=True,
        )
        try:
            return retrying(self._checked, query, texts)
        except RerankError as error:
            return error
        except Exception as error:  # noqa: BLE001 - a scorer may be anybody's, and there are results
            # Its message may quote a memory.
            return RerankError(f"{self._scorer.name} failed: {type(error).__name__}", scorer=self._scorer.name)

    def _checked(self, query: str, texts: Sequence[str]) -> list[float | None]:
        given: Any = self._scorer.score(query, texts)
        name = self._scorer.name
        if not isinstance(given, list) or len(given) != len(texts):
            shown = f"{len(given)} scores" if isinstance(given, list) else type(given).__name__
            raise RerankError(f"{name} gave {shown} for {len(texts)} texts", scorer=name)
        return [self._number(score) for score in given]

    def _number(self, score: object) -> float | None:
        if score is None:
            return None
        try:
            number = float(score)  # type: ignore[arg-type] # numpy's too; what is none raises
        except (TypeError, ValueError):
            number = math.nan
        if isinstance(score, bool | str) or not math.isfinite(number):
            raise RerankError(f"{self._scorer.name} gave a score that is no number", scorer=self._scorer.name)
        return number

    @staticmethod
    def _add(scores: Scores, problem: str) -> None:
        if problem not in scores.problems:
            scores.problems.append(problem)


_backoff = wait_random_exponential(multiplier=_FIRST_WAIT, max=_LONGEST_WAIT)


def _wait(state: RetryCallState) -> float:
    """Return the seconds until the next try: what the service asks for, or a growing time."""
    error = state.outcome.exception() if state.outcome else None
    if isinstance(error, RerankError) and error.retry_after is not None:
        return error.retry_after
    return _backoff(state)
