"""Split queries so that nobody is in training and validation at once."""

from __future__ import annotations

import random
from collections import Counter
from typing import TYPE_CHECKING, Final

from mem_opensearch.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Sequence

SEED: Final = 20_240_501
"""Every draw starts here, so that the same data give the same folds."""


def folds_of(owners: Sequence[str], *, most: int = 5, seed: int = SEED) -> list[list[int]]:
    """Return the places of the queries of each fold; folds are about as large as each other.

    Args:
        owners: whose each query is; all queries of one owner are in one fold.
        most: most folds, 2 or more; there are no more than owners.
        seed: of the order in which owners of as many queries are dealt out.

    Raises:
        InvalidInputError: there is only one owner, or `most` is below 2.

    >>> folds_of(["a", "a", "b", "c"], most=2)
    [[0, 1], [2, 3]]
    """
    sizes = Counter(owners)
    if most < 2:  # noqa: PLR2004 - one fold leaves nothing to train on
        raise InvalidInputError(f"{most} folds were asked for, expected 2 or more")
    if len(sizes) < 2:  # noqa: PLR2004 - as above
        raise InvalidInputError(f"{len(sizes)} owner of queries can't be split; give queries of 2 users or more")
    order = sorted(sizes)
    random.Random(seed).shuffle(order)  # noqa: S311 - no secret
    order.sort(key=lambda owner: -sizes[owner])
    held: list[set[str]] = [set() for _ in range(min(most, len(sizes)))]
    for owner in order:
        min(held, key=lambda fold: (sum(sizes[one] for one in fold), len(fold))).add(owner)
    return [[place for place, owner in enumerate(owners) if owner in fold] for fold in held]
