"""What a search is asked for, checked before anything is sent."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final, Self, get_args

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.search import request
from mem_opensearch.search_options import Mode
from mem_opensearch.store.reading import check_query, check_top_k

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.models import Clause
    from mem_opensearch.search_options import SearchOptions

MODES: Final[tuple[Mode, ...]] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Asking:
    """What one search is asked for, checked.

    Attributes:
        question: what is asked.
        vector: of the question; None where the embedder makes it.
        filters: which memories, as they were given.
        top_k: most results.
        threshold: least evidence; in mode "mem0" the least cosine.
        mode: how signals become one ranking.
        as_of: the moment whose memories are searched; None searches those of now.
        asked_at: what dates in the question are relative to.
        show_expired: whether expired memories may be results.
        explain: whether each result says where its score comes from.
    """

    question: str
    vector: Any
    filters: Mapping[str, Any] | None
    top_k: int
    threshold: float
    mode: Mode
    as_of: datetime | None
    asked_at: datetime
    show_expired: bool
    explain: bool

    @classmethod
    def of(
        cls,
        query: str,
        options: SearchOptions,
        *,
        vector: Any = None,  # noqa: ANN401 - list or array
        filters: Mapping[str, Any] | None = None,
        top_k: int = 10,
        threshold: float | None = None,
        mode: Mode | None = None,
        as_of: datetime | None = None,
        asked_at: datetime | None = None,
        show_expired: bool = False,
        explain: bool = False,
    ) -> Self:
        """Return what `Searcher.search` was given, with what the options say where it was not given.

        Raises:
            InvalidInputError: says which argument is wrong, and what it can be.
        """
        check_query(query)
        if not query.strip():
            raise InvalidInputError("the question is blank; say what to look for")
        check_top_k(top_k)
        threshold = options.threshold if threshold is None else threshold
        _check_threshold(threshold)
        mode = mode or options.mode
        if mode not in MODES:
            raise InvalidInputError(f"mode {mode!r} is unknown; known are: {', '.join(MODES)}")
        for name, moment in (("as_of", as_of), ("asked_at", asked_at)):
            _check_moment(name, moment)
        return cls(
            question=query.strip(),
            vector=vector,
            filters=filters,
            top_k=top_k,
            threshold=float(threshold),
            mode=mode,
            as_of=as_of,
            asked_at=asked_at or as_of or datetime.now(UTC),
            show_expired=show_expired,
            explain=explain,
        )

    @property
    def day(self) -> str:
        """The day in UTC on which a memory has to be valid."""
        return (self.as_of or datetime.now(UTC)).astimezone(UTC).date().isoformat()

    def clauses(self) -> list[Clause]:
        """Return what time demands of a candidate."""
        found: list[Clause] = []
        if not self.show_expired:
            found.append(request.unexpired(self.day))
        if self.as_of is not None:
            found.append({"range": {"created_at": {"lte": self.as_of.isoformat()}}})
        return found


def _check_threshold(threshold: object) -> None:
    is_number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not is_number or not 0.0 <= threshold <= 1.0:  # type: ignore[operator] # it is a number
        raise InvalidInputError(f"the threshold is {threshold!r}, expected a number from 0 to 1")


def _check_moment(name: str, moment: object) -> None:
    if moment is not None and (not isinstance(moment, datetime) or moment.tzinfo is None):
        raise InvalidInputError(f"'{name}' is no datetime with a time zone; give one, as datetime.now(UTC) is")
