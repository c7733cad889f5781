"""Put cosines of any embedder, and BM25 of any collection, on one scale."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean, pstdev
from typing import TYPE_CHECKING

from mem_opensearch.errors import ConfigError, InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROBES = (
    "今天下午要去牙科洗牙",
    "昨晚的足球賽踢成了平局",
    "媽媽種的番茄紅了",
    "这台打印机又卡纸了",
    "机票改签到下周五",
    "他在学吉他的第三个和弦",
    "The bridge was painted green last spring",
    "My sister collects old stamps",
    "Please renew the parking permit",
    "The soup needs more salt",
    "Rain delayed the train by an hour",
    "She reads history books at night",
)
"""Sentences that have nothing to do with each other. Their mutual cosines are what an embedder gives for nothing, and
don't depend on what a collection is about, as those of its own memories would: dialogues about one city are alike."""

REFERENCE = 0.13
"""Background of the embedder that the weights were chosen with (Universal Sentence Encoder, over `PROBES`)."""
REFERENCE_DEVIATION = 0.08

EDGE = 0.1
"""Evidence of a cosine one deviation above the background. Pairs of a question and a memory from different sets stay
below it in 95 of 100 cases with the reference, in 94 with multilingual-e5."""

WORDS_FLOOR = 1.0
"""Least BM25 that counts as a whole match of words, in units of `queries.FIELD_BOOSTS`: about one word of which few
memories have another. Below it, the best of nothing but particles would be as good as a real hit."""

WORDS_FULL = 5.0
"""BM25 from which the words alone are all the evidence that one can want. A threshold of 0.1 thus asks for half a rare
word, or for several common ones."""


@dataclass(frozen=True, slots=True)
class Background:
    """What cosines unrelated texts have, by embedder; the default is the reference.

    Attributes:
        mean: in [-1, 1). multilingual-e5 has about 0.8, where others have 0.1.
        deviation: their standard deviation, > 0; one of it above the mean still has to lie below 1.
    """

    mean: float = REFERENCE
    deviation: float = REFERENCE_DEVIATION

    def __post_init__(self) -> None:
        if not -1.0 <= self.mean < 1.0:
            raise ConfigError(f"the background cosine is {self.mean}, expected a number from -1 to below 1")
        if not 0.0 < self.deviation < 1.0 - self.mean:
            raise ConfigError(
                f"the deviation of the background is {self.deviation}, expected a number above 0 and below "
                f"{1.0 - self.mean:g}, which is what the mean leaves"
            )

    def evidence(self, cosine: float) -> float:
        """Return how far a cosine lies above the background, in [0, 1].

        It is 0 up to the mean, `EDGE` one deviation above it, and 1 where the two vectors are the same.

        >>> background = Background(0.8, 0.1)
        >>> [background.evidence(cosine) for cosine in (0.7, 0.85, 0.9, 0.95, 1.0)]
        [0.0, 0.05, 0.1, 0.55, 1.0]
        """
        edge = self.mean + self.deviation
        if cosine <= edge:
            return max(0.0, round(EDGE * (cosine - self.mean) / self.deviation, 9))
        return min(1.0, round(EDGE + (1.0 - EDGE) * (cosine - edge) / (1.0 - edge), 9))

    def scaled(self, cosine: float) -> float:
        """Return the cosine that the reference embedder would give, in [0, 1].

        >>> Background().scaled(0.5), round(Background(0.8).scaled(0.9), 3)
        (0.5, 0.565)
        """
        share = (cosine - self.mean) / (1.0 - self.mean)
        return min(1.0, max(0.0, round(REFERENCE + (1.0 - REFERENCE) * share, 9)))


def background_of(vectors: Sequence[Sequence[float]]) -> Background:
    """Return the background of an embedder from its vectors of `PROBES`, or of any texts that are unrelated.

    Raises:
        InvalidInputError: fewer than three vectors, one without direction, or all the same.
    """
    if len(vectors) < 3:  # noqa: PLR2004 - a single pair has no deviation
        raise InvalidInputError(f"{len(vectors)} vectors were given, at least 3 are needed")
    norms = [sum(x * x for x in vector) ** 0.5 for vector in vectors]
    if not all(norms):
        raise InvalidInputError(f"vector {norms.index(0.0)} is all zero; the embedder is broken")
    cosines = [
        sum(x * y for x, y in zip(vectors[i], vectors[j], strict=True)) / (norms[i] * norms[j])
        for i in range(len(vectors))
        for j in range(i)
    ]
    mean, deviation = fmean(cosines), pstdev(cosines)
    if not 0 < deviation < 1 - mean:
        raise InvalidInputError(
            f"the {len(vectors)} vectors have cosines of {mean:.3f} with a deviation of {deviation:.3f}; "
            "an embedder that tells texts apart does not do that: is it the right one, and are the texts different?"
        )
    return Background(mean, deviation)


def best_words(raws: Iterable[float | None]) -> float:
    """Return the BM25 that counts as 1: the best of all candidates, but at least `WORDS_FLOOR`.

    The best hit by words is in every pool, however small, so the scale does not depend on how many are asked for.

    >>> best_words([2.5, None, 4.0]), best_words([0.2])
    (4.0, 1.0)
    """
    return max([WORDS_FLOOR, *(raw for raw in raws if raw is not None)])
