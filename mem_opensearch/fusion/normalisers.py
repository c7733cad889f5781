"""Put the BM25 of one search on a scale from 0 to 1."""

from __future__ import annotations

import math
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Final, get_args

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.fusion.calibration import best_words
from mem_opensearch.fusion.mem0 import normalise_bm25
from mem_opensearch.search_options import Normaliser

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    Scale = Callable[[float], float]

NORMALISERS: Final[tuple[Normaliser, ...]] = get_args(Normaliser)

SIGMOID_MIDPOINT, SIGMOID_STEEPNESS = 2.0, 0.7
"""mem0's sigmoid for short questions, its midpoint moved from 5 to where half a match lies in this index: mem0 adds up
one field, and the fields of `queries.FIELD_BOOSTS` have smaller weights."""

HALF: Final = 4.0
"""BM25 that "saturation" takes for half a match."""


def scale_of(normaliser: Normaliser, raws: Iterable[float | None]) -> Scale:
    """Return the function that puts a raw BM25 of this search on a scale from 0 to 1; of 0 it is 0.

    - "share": of the best candidate's. The best hit by words is in every pool, so it depends on no pool.
    - "log": the same of logarithms, so that a half match comes nearer to a whole one.
    - "zscore": standard deviations above the mean of the candidates that match at all, through a sigmoid. It depends on
      which candidates there are, and so on `SearchOptions.pool` and `size`.
    - "sigmoid": mem0's, with the same midpoint for all questions. It depends on nothing else, and a long question
      scores higher than a short one.
    - "saturation": b / (b + 4), as BM25 itself saturates a term's frequency. As above.

    Args:
        normaliser: which of them.
        raws: the raw BM25 of all candidates, in units of `queries.FIELD_BOOSTS`; None where it was not measured.

    Raises:
        InvalidInputError: the normaliser is unknown; lists the known ones.

    >>> raws = [4.0, 2.0, None, 0.0]
    >>> {name: round(scale_of(name, raws)(2.0), 3) for name in NORMALISERS}
    {'share': 0.5, 'log': 0.683, 'zscore': 0.269, 'sigmoid': 0.5, 'saturation': 0.333}
    """
    known = [raw for raw in raws if raw is not None]
    makers: Mapping[str, Callable[[list[float]], Scale]] = {
        "share": _share,
        "log": _log,
        "zscore": _zscore,
        "sigmoid": lambda _: _of_match(
            lambda raw: normalise_bm25(raw, midpoint=SIGMOID_MIDPOINT, steepness=SIGMOID_STEEPNESS)
        ),
        "saturation": lambda _: lambda raw: raw / (raw + HALF),
    }
    if normaliser not in makers:
        raise InvalidInputError(f"normaliser {normaliser!r} is unknown; known are: {', '.join(makers)}")
    return makers[normaliser](known)


def _share(raws: list[float]) -> Scale:
    best = best_words(raws)
    return lambda raw: raw / best


def _log(raws: list[float]) -> Scale:
    best = math.log1p(best_words(raws))
    return lambda raw: math.log1p(raw) / best


def _zscore(raws: list[float]) -> Scale:
    matches = [raw for raw in raws if raw > 0]
    mean = fmean(matches) if matches else 0.0
    deviation = pstdev(matches) if matches else 0.0
    # Without a deviation all matches are alike, and each is as good as half a match.
    return _of_match(lambda raw: normalise_bm25(raw, midpoint=mean, steepness=1.0 / deviation if deviation else 0.0))


def _of_match(scale: Scale) -> Scale:
    """Let what does not match at all have 0, where a curve would give it more."""
    return lambda raw: scale(raw) if raw > 0 else 0.0
