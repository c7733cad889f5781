"""What can be tuned: every option of a search, with the few values that are tried, read off the options themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Final, Literal, get_args, get_origin

from mem_opensearch.errors import ConfigError
from mem_opensearch.fusion import UnionWeights
from mem_opensearch.queries import BM25_B, BM25_K1, FIELD_BOOSTS
from mem_opensearch.search.asking import Asking
from mem_opensearch.search.ranking import Looked
from mem_opensearch.search.request import IDENTIFIER_FIELDS
from mem_opensearch.search_options import SearchOptions

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Value = bool | int | float | str
Choice = Mapping[str, Value]
"""Dotted name of a variable -> its value, for those that differ from the default: ``{"weights.words": 1.05}``."""

WEIGHT: Final = "weights."
RERANK: Final = "rerank."
BOOST: Final = "boost."
SUPERSESSION: Final = "supersession"
SIMILARITY: Final = "similarity."

FACTORS: Final = (0.0, 0.5, 0.75, 1.25, 1.5, 2.0)
"""A weight is tried at these multiples of its default: docs/ranking.md shows that finer steps change little."""
FROM_NOTHING: Final = (0.1, 0.25, 0.5)
"""What is tried of a weight whose default is 0."""
THRESHOLDS: Final = (0.0, 0.05, 0.15, 0.2, 0.3)
BOOST_FACTORS: Final = (0.0, 0.5, 2.0)
WORD_FIELDS: Final = tuple(name for name in FIELD_BOOSTS if name not in IDENTIFIER_FIELDS)
K1S: Final = (0.9, 1.2, 2.0)
BS: Final = (0.25, 0.75, 0.9)
POOLS: Final = (30, 120, 240)
RERANK_WEIGHTS: Final = (0.0, 0.25, 0.5, 0.75, 1.0)
RERANK_POOLS: Final = (1, 2, 3, 4, 6, 8)


@dataclass(frozen=True, slots=True)
class Variable:
    """One thing that is varied.

    Attributes:
        name: dotted, as in `Choice`.
        default: what a search does without being told.
        values: what is tried beside the default, at least one.
        is_option: whether a configuration can hold it; what can't is measured, and never chosen.
    """

    name: str
    default: Value
    values: tuple[Value, ...]
    is_option: bool = True

    def choices(self) -> Iterator[dict[str, Value]]:
        """Yield a choice for each value, the default first."""
        yield {}
        for value in self.values:
            yield {self.name: value}


def variables_for(
    *, thorough: bool = False, rerank: tuple[float, int] | None = None, similarity: Sequence[str] = ("k1", "b")
) -> tuple[Variable, ...]:
    """Return all that can be varied.

    Args:
        thorough: also what the signals of one search can't tell, and a new search has to: pool, mode "mem0", and the
            parameters of BM25, for which each collection is closed and opened again.
        similarity: those of these parameters that the server can change.
        rerank: weight and pool of the second stage; None where there is none.

    >>> names = {variable.name for variable in variables_for()}
    >>> sorted({"mode", "threshold", "weights.words", "supersession", "pool"} - names)
    ['pool']
    """
    found = [*_options(thorough=thorough), *_weights()]
    if rerank is not None:
        for name, default, values in (("weight", rerank[0], RERANK_WEIGHTS), ("pool", rerank[1], RERANK_POOLS)):
            found.append(Variable(RERANK + name, default, tuple(value for value in values if value != default)))
    found.append(Variable(SUPERSESSION, default=True, values=(False,), is_option=False))
    if thorough:
        values_of = {"k1": (BM25_K1["text"], K1S), "b": (BM25_B, BS)}
        found += [Variable(SIMILARITY + name, *values_of[name], is_option=False) for name in similarity]
    found += [Variable(BOOST + name, 1.0, BOOST_FACTORS, is_option=False) for name in WORD_FIELDS]
    return tuple(found)


def needs_search(name: str) -> bool:
    """Return whether an option of a search takes effect in the request, and not in the ranking of what was found.

    >>> needs_search("pool"), needs_search("threshold")
    (True, False)
    """
    return name in SearchOptions.model_fields.keys() - set(_field_names(Asking)) - set(_field_names(Looked))


def options_of(choice: Choice) -> SearchOptions:
    """Return the options of a search that a choice makes; what is no such option is left out.

    >>> options_of({"weights.words": 1.0, "threshold": 0.2}).weights
    {'words': 1.0}
    """
    return SearchOptions(**fragment_of(choice))


def fragment_of(choice: Choice) -> dict[str, Any]:
    """Return a choice as the value of `StoreConfig.search`, with nothing in it that is as by default.

    >>> fragment_of({"weights.words": 1.0, "mode": "rrf", "rerank.pool": 8})
    {'mode': 'rrf', 'weights': {'words': 1.0}}
    """
    fragment: dict[str, Any] = {name: value for name, value in choice.items() if name in SearchOptions.model_fields}
    if weights := weights_of(choice):
        fragment["weights"] = weights
    return fragment


def similarity_of(choice: Choice) -> dict[str, float]:
    """Return the parameters of BM25 that a choice names.

    >>> similarity_of({"similarity.b": 0.75, "threshold": 0.2})
    {'b': 0.75}
    """
    return {
        name.removeprefix(SIMILARITY): float(value) for name, value in choice.items() if name.startswith(SIMILARITY)
    }


def weights_of(choice: Choice) -> dict[str, Any]:
    """Return the weights of the fusion that a choice names."""
    return {name.removeprefix(WEIGHT): value for name, value in choice.items() if name.startswith(WEIGHT)}


def rerank_of(choice: Choice) -> dict[str, Any]:
    """Return the options of the second stage that a choice names, as `--rerank-options` takes them."""
    return {name.removeprefix(RERANK): value for name, value in choice.items() if name.startswith(RERANK)}


def _options(*, thorough: bool) -> Iterator[Variable]:
    """Yield the options of a search; a new one with a fixed set of values is found by itself."""
    for name, option in SearchOptions.model_fields.items():
        values: tuple[Value, ...] = {"threshold": THRESHOLDS, "pool": POOLS}.get(name, ())
        if get_origin(option.annotation) is Literal:
            values = get_args(option.annotation)
            if name == "mode" and not thorough:
                values = tuple(value for value in values if value != "mem0")  # it asks the server for other things
        values = tuple(value for value in values if value != option.default)
        if values and (thorough or not needs_search(name)):
            yield Variable(name, option.default, values)


def _weights() -> Iterator[Variable]:
    defaults = UnionWeights()
    for name in _field_names(UnionWeights):
        default = getattr(defaults, name)
        if name == "half_life" and not defaults.recency:
            continue  # of a signal that is off
        if isinstance(default, int):
            tried: list[Value] = list(range(default + 2))
        elif default:
            tried = [round(default * factor, 4) for factor in FACTORS]
        else:
            tried = list(FROM_NOTHING)
        values = tuple(value for value in tried if value != default and _is_allowed(name, value))
        yield Variable(WEIGHT + name, default, values)


def _is_allowed(name: str, value: Any) -> bool:  # noqa: ANN401 - the class says what is allowed
    try:
        UnionWeights(**{name: value})
    except ConfigError:
        return False
    return True


def _field_names(of: type) -> tuple[str, ...]:
    return tuple(field.name for field in fields(of))
