"""Check a vector before it is sent: the server's own words about a bad one mislead."""

from __future__ import annotations

import math
import numbers
from array import array
from operator import mul
from typing import Any

from mem_opensearch.errors import VectorError

Vector = Any
"""A list of floats or a one-dimensional numpy array."""

# The server multiplies 32-bit floats. It stores a vector whose squares leave their range (seen on 3.6.0 with [1e-23, 0]
# and [1.9e19, 0]), and then no search finds that row.
MAX_SQUARES = 3.4e38
MIN_SQUARES = 1.2e-38


def check_vector(vector: Vector, *, dims: int, index: str, owner: str) -> Vector:
    """Return a vector in a form that can be sent; refuse one that the server would refuse with a misleading message.

    A list is returned as it is. An array is returned as it is or, where its memory is not contiguous, as a copy.

    Args:
        vector: list, tuple or one-dimensional array of numbers.
        dims: length that the index wants.
        index: the collection's name, for the message.
        owner: whose vector it is, for the message: ``"memory 'm7'"`` or ``"the query"``.

    Raises:
        VectorError: wrong length, not finite, or all zero.
    """
    if isinstance(vector, array):
        vector = vector.tolist()
    if hasattr(vector, "__array__"):
        vector = _contiguous(vector, owner=owner)
    elif not isinstance(vector, list | tuple):
        raise VectorError(f"vector of {owner} is {type(vector).__name__}; the embedder gave no vector")
    if len(vector) != dims:
        raise VectorError(
            f"vector of {owner} has {len(vector)} dimensions, index '{index}' has {dims}; use the embedder that the "
            f"index was made for, or make an index with embedding_model_dims={len(vector)}"
        )
    squares = _sum_of_squares(vector, owner=owner)
    if not squares <= MAX_SQUARES:  # NaN is not
        raise VectorError(f"vector of {owner} holds NaN, infinity or a number too large")
    if squares < MIN_SQUARES:
        what = "all zero" if squares == 0.0 else "so small that it is zero to the server"
        raise VectorError(f"vector of {owner} is {what}, which has no direction; the text may have been empty")
    return vector


def _contiguous(vector: Vector, *, owner: str) -> Vector:
    import numpy as np

    numbers = np.ascontiguousarray(vector)
    if np.ndim(vector) != 1 or numbers.dtype.kind not in "fiu":
        raise VectorError(
            f"vector of {owner} is an array of shape {np.shape(vector)} and type {numbers.dtype}; expected one "
            "dimension of numbers"
        )
    return numbers


def _sum_of_squares(vector: Vector, *, owner: str) -> float:
    """Return one number that tells all: finite only if every item is, and zero only if every item is."""
    if hasattr(vector, "__array__"):
        wide = vector.astype("float64")
        return float(wide @ wide)
    kinds = set(map(type, vector))
    if not all(map(_is_number, kinds)):
        raise VectorError(f"vector of {owner} holds something that is not a number")
    try:
        wide = vector if kinds <= {int, float} else list(map(float, vector))
        return float(sum(map(mul, wide, wide)))
    except OverflowError:
        return math.inf


def _is_number(kind: type) -> bool:
    """Whether items of a type are real numbers that JSON has a form for: those of Python, and numpy's up to 64 bits."""
    if issubclass(kind, int | float):
        return kind is not bool
    return issubclass(kind, numbers.Real) and getattr(kind(), "nbytes", 9) <= 8  # noqa: PLR2004
