"""Hand a search's filters to our filter language as they are, and not as mem0 folds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.models import IDENTITY_FIELDS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def unfolded(_memory: object, metadata_filters: Mapping[str, Any]) -> dict[str, Any]:
    """Return what mem0's `search` adds to its filters, which are by then without their AND, OR, NOT and operators.

    mem0 makes one dict of the conditions in an AND, and joins that with the rest: of two conditions on one key the last
    one wins, and a `user_id` in an AND takes the place of the one beside it, so that a search of one user finds what
    another's memories hold. Here each condition stays where it was written. The scope is left out: mem0 has trimmed it.

    >>> unfolded(None, {"user_id": " lin ", "AND": [{"price": {"gt": 5}}, {"price": {"lt": 10}}]})
    {'AND': [{'price': {'gt': 5}}, {'price': {'lt': 10}}]}
    """
    return {key: value for key, value in metadata_filters.items() if key not in IDENTITY_FIELDS}


REPLACED: Final[Mapping[str, tuple[Callable[..., Any], bool]]] = {"_process_metadata_filters": (unfolded, False)}
"""Method of `Memory` and `AsyncMemory` -> what takes its place, and whether the method is a coroutine."""
