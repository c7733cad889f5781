"""Time several systems in turn, so that whatever else the machine does falls on all of them."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

from benchmarks.wire import watching

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from benchmarks.data import Question

    Call = Callable[[], Sequence[str]]

ROUND_SECONDS: Final = 4.0
"""A system gets as many questions in a round as it answers in this time, and one at least."""

TRIED: Final = 3  # first calls, which say how slow a system is


class Contender(Protocol):
    """One system that answers questions.

    Attributes:
        name: as in the report.
    """

    name: str

    def search(self, question: Question, filters: Mapping[str, Any], top_k: int) -> list[str]:
        """Return ids, best first."""


@dataclass(slots=True)
class Times:
    """What the calls of one system took.

    Attributes:
        seconds: of each call, by round.
        cpu: seconds of this process's processor time, of each call.
        found: how many results each call gave.
    """

    seconds: list[list[float]] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    found: list[int] = field(default_factory=list)

    def add(self, seconds: float, cpu: float, found: int) -> None:
        """Note a call of the round that is under way."""
        self.seconds[-1].append(seconds)
        self.cpu.append(cpu)
        self.found.append(found)

    @property
    def every(self) -> list[float]:
        """Seconds of all calls."""
        return [second for each in self.seconds for second in each]

    def p50_ms(self) -> float:
        """Return the median of all calls, in milliseconds."""
        return round(statistics.median(self.every) * 1000, 3)

    def p95_ms(self) -> float:
        """Return what 95 of 100 calls did not exceed."""
        ordered = sorted(self.every)
        return round(ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))] * 1000, 3)

    def cpu_ms(self) -> float:
        """Return the median of the processor time."""
        return round(statistics.median(self.cpu) * 1000, 3)

    def of_rounds_ms(self) -> list[float]:
        """Return the median of each round."""
        return [round(statistics.median(each) * 1000, 3) for each in self.seconds]


def rotated(names: Sequence[str], number: int) -> list[str]:
    """Return the order of a turn: another one begins each time, and every second turn goes backwards.

    >>> [rotated("ABC", number) for number in range(3)]
    [['A', 'B', 'C'], ['A', 'C', 'B'], ['C', 'A', 'B']]
    """
    shift = number % len(names)
    order = [*names[shift:], *names[:shift]]
    return order[::-1] if number % 2 else order


def interleave(
    calls: Mapping[str, Sequence[Call]],
    *,
    rounds: int,
    tick: Callable[[int, int], None] = lambda done, total: None,  # noqa: ARG005 - told nothing
) -> dict[str, Times]:
    """Time the calls of several systems, in turn and in another order each time, after a round that does not count.

    Args:
        calls: name -> what one system is to do in a round.
        rounds: rounds that count.
        tick: told how many rounds are done, of how many.
    """
    shares = {}
    for name, todo in calls.items():
        median = statistics.median(_taken(call)[0] for call in todo[:TRIED])
        shares[name] = min(len(todo), max(1, int(ROUND_SECONDS / median)))
        if shares[name] == len(todo):
            for call in todo[TRIED:]:
                call()
    times = {name: Times() for name in calls}
    names = list(calls)
    for number in range(rounds):
        for each in times.values():
            each.seconds.append([])
        for turn in range(max(shares.values())):
            for name in rotated(names, number + turn):
                if turn < shares[name]:
                    todo = calls[name]  # of a slow system, other questions in each round
                    times[name].add(*_taken(todo[(number * shares[name] + turn) % len(todo)]))
        tick(number + 1, rounds)
    return times


def _taken(call: Call) -> tuple[float, float, int]:
    """Return the seconds of a call, its seconds of processor time, and how many results it gave."""
    cpu, start = time.process_time(), time.perf_counter()
    found = call()
    return time.perf_counter() - start, time.process_time() - cpu, len(found)


def ratio(numerator: Times, denominator: Times) -> float:
    """Return how many times as long the median call of one takes as that of the other."""
    return round(statistics.median(numerator.every) / statistics.median(denominator.every), 2)


def on_the_wire(calls: Mapping[str, Sequence[Call]]) -> dict[str, dict[str, float]]:
    """Return requests and bytes per call of each system, from one more run of its calls that is not timed."""
    found = {}
    for name, todo in calls.items():
        some = todo[:20]
        with watching() as wire:
            for call in some:
                call()
        found[name] = wire.per_call(len(some))
    return found
