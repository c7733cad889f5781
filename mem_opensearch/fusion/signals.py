"""What is known of a memory and of a question before they are fused: typed, and None where it was not measured."""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from mem_opensearch.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

_ANY = float("inf")
_MARGIN = 1e-6  # a cosine is computed in single precision
_ONE = 1.0 + _MARGIN


class Candidate(NamedTuple):
    """A memory that may be an answer, with its signals as the server gave them.

    Attributes:
        id: the memory's id.
        cosine: of its vector and the question's, in [-1, 1]; None where no vector was compared.
        words: raw BM25, summed over the fields of words with their boosts, >= 0; None where words were not searched.
            Without identifiers, which have a signal of their own. Where names of the question are looked up as
            entities and one was found, without the names' words too (see docs/ranking.md).
        identifiers: how many identifiers of the question it holds whole, >= 0; None where they were not searched.
        entity: how closely it is linked to a name of the question, in [0, 1]; None where no entity was looked up, or
            none was found.
        conversation: which talk it is a turn of; None for a lone fact.
        seq: its place there; the turn before has `seq - 1`.
        asks: whether it ends by asking and the talk goes on after it, so that the answer stands in a later turn.
        only_asks: whether it is one question and nothing else, so that it is no answer where the next turn is one.
        in_window: how well it meets a time that the question names, in [0, 1]; None where the question names none.
        same_slot: whether it fills a slot that the question asks about.
        superseded_by: the newer memory that replaced it, by the strongest evidence; None for what still holds.
        created_at: when it was said; later ones stand first among equals. None counts as the earliest.
        per_field: BM25 by field, for explanations only.
    """

    id: str
    cosine: float | None = None
    words: float | None = None
    identifiers: float | None = None
    entity: float | None = None
    conversation: str | None = None
    seq: int | None = None
    asks: bool = False
    only_asks: bool = False
    in_window: float | None = None
    same_slot: bool = False
    superseded_by: Replacement | None = None
    created_at: datetime | None = None
    per_field: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Replacement:
    """A newer memory that replaced an older one.

    Attributes:
        id: the newer memory.
        slots: what both speak about; empty where it was told by names alone.
    """

    id: str
    slots: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Question:
    """What a question says beside its words.

    Attributes:
        slots: what it asks about; see `mem_opensearch.temporal.slots_of`.
        about_the_past: whether it wants what was, so that nothing newer pushes it aside.
        asked_at: when it was asked, for the recency of memories; None leaves recency out.
    """

    slots: frozenset[str] = frozenset()
    about_the_past: bool = False
    asked_at: datetime | None = None


def check_candidates(candidates: Sequence[Candidate]) -> None:
    """Refuse a candidate that stands there twice: each of its signals would count twice; and a signal out of its range.

    Raises:
        InvalidInputError: names the id, and the signal.
    """
    seen: set[str] = set()
    for candidate in candidates:
        memory_id, cosine, words, identifiers, entity = candidate[:5]
        if memory_id in seen:
            raise InvalidInputError(f"memory '{memory_id}' is among the candidates twice; merge its signals first")
        seen.add(memory_id)
        # A NaN compares false, so it is refused as well.
        if (
            (cosine is not None and not -_ONE <= cosine <= _ONE)
            or (words is not None and not 0.0 <= words <= _ANY)
            or (identifiers is not None and not 0.0 <= identifiers <= _ANY)
            or (entity is not None and not 0.0 <= entity <= 1.0)
            or (candidate.in_window is not None and not 0.0 <= candidate.in_window <= 1.0)
        ):
            raise _out_of_range(candidate)


def _out_of_range(candidate: Candidate) -> InvalidInputError:
    ranges = {"cosine": (-1, 1), "words": (0, _ANY), "identifiers": (0, _ANY), "entity": (0, 1), "in_window": (0, 1)}
    wrong = [
        f"'{name}' of memory '{candidate.id}' is {value}, expected {least:g} to {most:g}"
        for name, (least, most) in ranges.items()
        if (value := getattr(candidate, name)) is not None and not least - _MARGIN <= value <= most + _MARGIN
    ]
    return InvalidInputError("; ".join(wrong))
