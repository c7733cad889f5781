"""How far judges agree, beyond what chance would give."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import permutations
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


_TWO = 2  # judges, of whom Cohen's kappa speaks


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far judges agree.

    Attributes:
        pairs: how many questions with a memory were judged by two or more.
        equal: how many of these were judged alike by all who judged them.
        kappa: Cohen's kappa, of two judges; None with more of them, or where it has no value.
        alpha: Krippendorff's alpha for names, of any number of judges; None where it has no value.
    """

    pairs: int
    equal: int
    kappa: float | None
    alpha: float | None


def agreement(units: Sequence[Mapping[str, bool]]) -> Agreement:
    """Return how far judges agree.

    Args:
        units: for each question with a memory, what each judge said who said anything.
    """
    shared = [unit for unit in units if len(unit) > 1]
    judges = sorted({judge for unit in shared for judge in unit})
    return Agreement(
        pairs=len(shared),
        equal=sum(len(set(unit.values())) == 1 for unit in shared),
        kappa=cohens_kappa([(unit[judges[0]], unit[judges[1]]) for unit in shared]) if len(judges) == _TWO else None,
        alpha=krippendorffs_alpha([tuple(unit.values()) for unit in shared]),
    )


def cohens_kappa(pairs: Sequence[tuple[bool, ...]]) -> float | None:
    """Return the agreement of two judges: 1 is full, 0 is chance, below it is worse; None if all is of one kind.

    Source: J. Cohen, A coefficient of agreement for nominal scales, 1960.

    >>> both, neither, first, second = (True, True), (False, False), (True, False), (False, True)
    >>> round(cohens_kappa([both] * 20 + [neither] * 15 + [first] * 5 + [second] * 10), 3)
    0.4
    """
    if not pairs:
        return None
    total = len(pairs)
    observed = sum(one == other for one, other in pairs) / total
    yes = [sum(pair[place] for pair in pairs) / total for place in (0, 1)]
    expected = yes[0] * yes[1] + (1 - yes[0]) * (1 - yes[1])
    return None if expected == 1 else (observed - expected) / (1 - expected)


def krippendorffs_alpha(units: Sequence[tuple[bool, ...]]) -> float | None:
    """Return the agreement of any number of judges, of whom not all need to have judged all.

    Source: K. Krippendorff, Computing Krippendorff's alpha-reliability, 2011, for nominal data.

    Args:
        units: for each thing, what was said of it; those of which one judge spoke don't count.

    Returns:
        1 is full agreement, 0 is chance, below it is worse; None if all is of one kind.

    >>> units = [(True, True), (True, False)] + [(False, True)] * 3 + [(False, False)] * 5
    >>> round(krippendorffs_alpha(units), 3)
    0.095
    """
    coincidences: Counter[tuple[bool, bool]] = Counter()
    for unit in units:
        for pair in permutations(unit, 2):
            coincidences[pair] += 1 / (len(unit) - 1)  # type: ignore[assignment] # a share of a count
    of_each = {value: sum(share for (one, _), share in coincidences.items() if one == value) for value in (True, False)}
    total = sum(of_each.values())
    by_chance = of_each[True] * of_each[False]
    if not by_chance:
        return None
    apart = coincidences[True, False]
    return 1 - (total - 1) * apart / by_chance
