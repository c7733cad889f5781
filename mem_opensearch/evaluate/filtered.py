"""Search the memories whose metadata name what the question names: the remedy that is a filter of the caller's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from mem_opensearch.entities import names_in
from mem_opensearch.evaluate.own import SearcherSystem
from mem_opensearch.text import fold_name

if TYPE_CHECKING:
    from mem_opensearch.evaluate.datasets import Dataset, Query
    from mem_opensearch.evaluate.own import OwnIndex, Tick
    from mem_opensearch.evaluate.vectors import Vectors


class FilteredSystem(SearcherSystem):
    """Mode "union" behind a filter on the `entities` of the metadata.

    The filter asks for any name that both the question and the metadata of its user's memories say. A question that
    says none is searched without a filter.

    Args:
        index: what is searched.
        operator: "in" compares whole names, "contains" parts of them.
        is_as_of: as in `SearcherSystem`.
    """

    def __init__(self, index: OwnIndex, operator: Literal["in", "contains"], *, is_as_of: bool) -> None:
        super().__init__(index, "union", is_as_of=is_as_of)
        self.name = f"filter-{operator}"
        self._operator = operator
        self._names: dict[str | None, set[str]] = {}

    def index(self, dataset: Dataset, vectors: Vectors, tick: Tick) -> None:
        """Fill the shared index, and note which names there are."""
        super().index(dataset, vectors, tick)
        for memory in dataset.memories:
            self._names.setdefault(memory.user_id, set()).update(memory.entities)

    def filters_for(self, query: Query) -> dict[str, Any] | None:
        """Return the user's scope, and what the metadata have to name."""
        scope = super().filters_for(query)
        known = self._names.get(query.user_id, set())
        folded = {fold_name(query.text[start:end]) for start, end in names_in(query.text, known)}
        said = sorted(name for name in known if fold_name(name) in folded)  # as the metadata spell them
        if not said:
            return scope
        if self._operator == "in":
            return {**(scope or {}), "entities": {"in": said}}
        return {**(scope or {}), "OR": [{"entities": {"contains": name}} for name in said]}
