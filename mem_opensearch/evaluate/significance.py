"""Say whether a difference between two systems could be chance: pure functions of numbers.

Systems are compared query by query, by a paired permutation test (Smucker, Allan and Carterette 2007). Many comparisons
are held together by Holm's correction (1979). Intervals are by bootstrap over users: queries of one user share their
memories, so that they are no independent draws.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

PERMUTATIONS: Final = 10_000
RESAMPLES: Final = 1_000
CONFIDENCE: Final = 0.95
SEED: Final = 20_240_501
"""Every draw starts here, so that the same rankings give the same numbers."""

_BLOCK = 500  # permutations that are made at once, which bounds the memory of a set with many queries
_ROUNDING = 1e-12  # sums of the same numbers in another order differ by that much


def permutation_p(differences: Sequence[float]) -> float:
    """Return the two-sided p of a paired permutation test on the mean difference.

    The null hypothesis is that each difference might as well have the other sign. Where few queries differ, all
    assignments of signs are counted; else `PERMUTATIONS` are drawn, and the given one counts as one more.

    Args:
        differences: one system's value less the other's, for each query.

    Returns:
        p in (0, 1]; 1 where nothing differs.

    >>> permutation_p([1, 1, 1, 1, 1])  # two of the 32 assignments are as extreme
    0.0625
    >>> permutation_p([0.5, -0.5]), permutation_p([0, 0])
    (1.0, 1.0)
    """
    numpy = _numpy()
    values = numpy.asarray([value for value in differences if value], dtype=float)
    if not values.size:
        return 1.0
    least = abs(float(values.sum())) - _ROUNDING
    if 2**values.size <= PERMUTATIONS:
        bits = numpy.arange(2**values.size)[:, None] >> numpy.arange(values.size) & 1
        return float((abs((2 * bits - 1) @ values) >= least).mean())
    draw = numpy.random.default_rng(SEED)
    extreme = 0
    for start in range(0, PERMUTATIONS, _BLOCK):
        rows = min(_BLOCK, PERMUTATIONS - start)
        signs = 2 * draw.integers(0, 2, size=(rows, values.size)) - 1
        extreme += int((abs(signs @ values) >= least).sum())
    return (extreme + 1) / (PERMUTATIONS + 1)


def holm(p_values: Sequence[float]) -> list[float]:
    """Return the p of each of several tests as it is when all are made, in the order given.

    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    order = sorted(range(len(p_values)), key=lambda place: p_values[place])
    adjusted = [0.0] * len(p_values)
    least = 0.0
    for rank, place in enumerate(order):
        least = max(least, min(1.0, p_values[place] * (len(p_values) - rank)))
        adjusted[place] = least
    return adjusted


def bootstrap_interval(values: Mapping[str, float], owners: Mapping[str, str | None]) -> tuple[float, float]:
    """Return the interval that holds the mean of `values` with probability `CONFIDENCE`, by percentiles.

    Users are drawn with replacement, each with all of their queries. A query that is nobody's is drawn by itself.

    Args:
        values: query -> value; at least one.
        owners: query -> its user.

    >>> bootstrap_interval({"q1": 0.5, "q2": 0.5}, {"q1": "u", "q2": None})
    (0.5, 0.5)
    """
    numpy = _numpy()
    totals: dict[tuple[str, str], list[float]] = {}
    for query, value in values.items():
        owner = owners.get(query)
        total = totals.setdefault(("query", query) if owner is None else ("user", owner), [0.0, 0.0])
        total[0] += value
        total[1] += 1
    sums, counts = numpy.asarray(list(totals.values())).T
    draw = numpy.random.default_rng(SEED)
    drawn = draw.integers(0, len(sums), size=(RESAMPLES, len(sums)))
    means = sums[drawn].sum(axis=1) / counts[drawn].sum(axis=1)
    outside = (1 - CONFIDENCE) / 2
    low, high = numpy.quantile(means, [outside, 1 - outside])
    return float(low), float(high)


def _numpy() -> Any:  # noqa: ANN401 - a module
    return require("numpy", extra="eval", purpose="the evaluation")
