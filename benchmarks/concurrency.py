"""How many searches a second several threads get: this package's Memory beside mem0's own provider."""

from __future__ import annotations

import statistics
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any

from benchmarks import machine
from benchmarks.contenders import OurCollection, OurSearcher
from benchmarks.measure import rotated
from benchmarks.peers import Mem0Builtin, Mem0Enough, OurMemory
from benchmarks.raw import all_blocks
from benchmarks.search import TOP_K

if TYPE_CHECKING:
    from collections.abc import Sequence

    from benchmarks.contenders import Tick
    from benchmarks.data import Memories, Question
    from benchmarks.measure import Contender


def run(
    url: str, memories: Memories, *, threads: Sequence[int], searches: int, rounds: int, tick: Tick
) -> dict[str, Any]:
    """Measure.

    Args:
        url: the server.
        memories: what is searched, and the questions.
        threads: numbers of threads, each measured in turn with each system.
        searches: of one measurement.
        rounds: how often each is measured; the median counts.
        tick: told what is done.
    """
    name = f"bench-{uuid.uuid4().hex[:8]}"
    about = machine.facts(url)
    with ExitStack() as stack:
        ours = stack.enter_context(OurCollection(url, name, memories))
        builtin = stack.enter_context(Mem0Builtin(url, f"{name}-mem0", memories))
        ours.fill(tick)
        for block in all_blocks(memories, partial(tick, "loading the other")):
            builtin.take(block)
        builtin.ready()
        memory = OurMemory(ours, "union")
        stack.callback(memory.close)
        every: list[Contender] = [OurSearcher(ours, "union"), memory, builtin, Mem0Enough(builtin)]
        contenders = {each.name: each for each in every}
        alone = {each: _Alone(contender, memories) for each, contender in contenders.items()}
        rates: dict[str, dict[int, list[float]]] = {each: {number: [] for number in threads} for each in contenders}
        wrong = dict.fromkeys(contenders, 0)
        errors: dict[str, list[str]] = {each: [] for each in contenders}
        for turn in range(rounds):
            for number in threads:
                for each in rotated(list(contenders), turn):
                    rate, differ, failed = alone[each].together(number, searches)
                    rates[each][number].append(rate)
                    wrong[each] += differ
                    errors[each] += failed
            tick("searching", turn + 1, rounds)
        medians = {
            each: {number: statistics.median(found) for number, found in one.items()} for each, one in rates.items()
        }
        return {
            "benchmark": "concurrency",
            "ratios": {
                f"ours_over_{peer}_at_{number}": round(medians["ours_memory"][number] / medians[peer][number], 2)
                for peer in (Mem0Builtin.name, Mem0Enough.name)
                for number in threads
            },
            "results_per_search": {each: round(one.results(), 2) for each, one in alone.items()},
            "searches_per_second": {
                each: {str(number): round(rate, 1) for number, rate in one.items()} for each, one in medians.items()
            },
            "medians_ms": {
                each: {str(number): round(1000 * number / rate, 2) for number, rate in one.items()}
                for each, one in medians.items()
            },
            "errors": {each: len(found) for each, found in errors.items()},
            "first_errors": {each: found[0] for each, found in errors.items() if found},
            "answers_unlike_those_of_one_thread": wrong,
            "searches": searches,
            "runs": rounds,
            "memory": {"client": machine.client_memory(), "node": machine.node_memory(url)},
            "data": memories.facts(),
            "machine": about,
        }


class _Alone:
    """One system, and what it answers when it is asked by one thread."""

    def __init__(self, contender: Contender, memories: Memories) -> None:
        self._contender, self._memories = contender, memories
        self._right = [self._ask(question) for question in memories.questions]

    def results(self) -> float:
        """Return how many results a search gives, on the average."""
        return statistics.mean(len(ids) for ids in self._right)

    def _ask(self, question: Question) -> list[str]:
        filters = self._memories.filter_for(question, self._memories.users[0])
        return self._contender.search(question, filters, TOP_K)

    def together(self, threads: int, searches: int) -> tuple[float, int, list[str]]:
        """Search with so many threads; return searches a second, answers that differ, and errors."""
        questions = self._memories.questions
        errors: list[str] = []

        def ask(number: int) -> bool:
            position = number % len(questions)
            try:
                return self._ask(questions[position]) != self._right[position]
            except Exception as error:  # noqa: BLE001 - counted
                errors.append(type(error).__name__)
                return False

        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(ask, range(threads)))  # every thread is there, and its connection open
            start = time.perf_counter()
            differ = sum(pool.map(ask, range(searches)))
            seconds = time.perf_counter() - start
        return searches / seconds, differ, errors
