"""Mastra's `rerank` and `rerankWithScorer`: one order from a scorer, the search's own score and the place in it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Mapping
from numbers import Real
from types import MappingProxyType
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from mem_opensearch.errors import InvalidInputError, VectorError
from mem_opensearch.rerank.mastra_results import QueryAnalysis, RerankResult, ResultT, ScoringDetails, read_result
from mem_opensearch.rerank.mastra_scores import OneByOne, TextScorer, semantic_scores

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["DEFAULT_WEIGHTS", "QueryAnalysis", "RerankResult", "ScoringDetails", "rerank", "rerank_with_scorer"]

P = ParamSpec("P")
R = TypeVar("R")

DEFAULT_WEIGHTS: Mapping[str, float] = MappingProxyType({"semantic": 0.4, "vector": 0.4, "position": 0.2})
"""Mastra's own."""

SUM_TOLERANCE = 1e-6
"""How far from 1 the weights may add up: 0.1 ten times is not 1 in binary fractions."""

DOMINANT_FEATURES = 5
"""How many of the largest components of a query's vector are named."""

_CAMEL = {"queryEmbedding": "query_embedding", "topK": "top_k"}


def _camel_aliases(function: Callable[P, R]) -> Callable[P, R]:
    """Let `function` take Mastra's names of its keywords too."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        for camel, snake in _CAMEL.items():
            if camel not in kwargs:
                continue
            if snake in kwargs:
                raise InvalidInputError(f"'{camel}' and '{snake}' are both given, and are one option; give one of them")
            kwargs[snake] = kwargs.pop(camel)
        return function(*args, **kwargs)

    return called


@_camel_aliases
def rerank_with_scorer(
    results: Iterable[ResultT],
    query: str,
    scorer: TextScorer,
    *,
    weights: Mapping[str, float] | None = None,
    query_embedding: Sequence[float] | None = None,
    top_k: int = 3,
) -> list[RerankResult[ResultT]]:
    """Return the best `top_k` results by the weighted sum of three parts, best first.

    The parts of the result at index i of n, each in [0, 1]:

    - semantic: the scorer's score of its text; 0 without a call where it has no text (none, or only blanks).
    - vector: the score that it came with.
    - position: 1 - i/n.

    A part that was not measured (the scorer gave None for the text, or the result came with the score None) is left
    out, and the weights of the others are scaled to add up to 1. Where they are all 0, the default weights take their
    place. Equal scores keep the order of `results`. Nothing that is given is changed.

    With the query's vector, scores are multiplied by 1.05 if its length is above 5, and by 1.1 more if it is above 10,
    as Mastra does, and cut at 1. It is one factor for all, and the order is made before it: a vector of the query never
    changes the order.

    Calls are not repeated and have no deadline here.

    Args:
        results: in the order of the search: Mastra's dicts ``{id, score, metadata: {text}}``, mem0's dicts ``{id,
            memory, score}``, or objects with `id`, `score` and `payload` (text under ``"data"``), as this package's
            searches return; also mixed. Scores are in [0, 1].
        query: what was asked.
        scorer: a `Scorer`, whose scores have to be in [0, 1] here.
        weights: "semantic", "vector" and "position", each >= 0; those not given are 0.4, 0.4 and 0.2. They add up to 1.
        query_embedding: the query's vector, also as ``queryEmbedding``.
        top_k: how many to return, >= 1, also as ``topK``; all where there are fewer.

    Raises:
        InvalidInputError: a blank query, weights that don't add up to 1 (it prints them), `top_k` below 1, a result of
            an unknown shape or with a score outside [0, 1], or an option given by both of its names.
        VectorError: `query_embedding` is empty or not of finite numbers.
        RerankError: nothing was scored since every call failed, or a score is NaN, outside [0, 1] or no number.
    """
    if not isinstance(scorer, TextScorer):
        raise InvalidInputError(
            f"scorer is of type {type(scorer).__name__} and has no method score(query, texts); a function of a query "
            "and one text goes to rerank()"
        )
    return _rerank(results, query, scorer, weights=weights, query_embedding=query_embedding, top_k=top_k)


@_camel_aliases
def rerank(
    results: Iterable[ResultT],
    query: str,
    model: TextScorer | Callable[[str, str], float | None],
    *,
    weights: Mapping[str, float] | None = None,
    query_embedding: Sequence[float] | None = None,
    top_k: int = 3,
) -> list[RerankResult[ResultT]]:
    """Do what `rerank_with_scorer` does, with a model for the scorer.

    Args:
        results: see `rerank_with_scorer`.
        query: see there.
        model: anything with a method `score(query, texts)`, which is asked for all texts at once; or a function
            ``model(query, text)`` that gives one score in [0, 1], or None. A function is called once for each text, by
            up to 8 threads at a time; where it raises `RerankError`, that text has no score; any other error is passed
            on.
        weights: see there.
        query_embedding: see there.
        top_k: see there.

    Raises:
        InvalidInputError: as there, or `model` is neither of these.
        VectorError: as there.
        RerankError: as there.

    >>> cat = {"id": "a", "score": 0.9, "metadata": {"text": "猫"}}
    >>> dog = {"id": "b", "score": 0.8, "metadata": {"text": "狗"}}
    >>> best = rerank([cat, dog], "狗叫什么", lambda query, text: float(text in query))
    >>> [(one.result["id"], round(one.score, 2)) for one in best]
    [('b', 0.82), ('a', 0.56)]
    """
    scorer: TextScorer
    if isinstance(model, TextScorer):
        scorer = model
    elif callable(model):
        scorer = OneByOne(model)
    else:
        raise InvalidInputError(
            f"model is of type {type(model).__name__}; expected an object with a method score(query, texts), or a "
            "function of a query and one text"
        )
    return _rerank(results, query, scorer, weights=weights, query_embedding=query_embedding, top_k=top_k)


def _rerank(
    results: Iterable[ResultT],
    query: str,
    scorer: TextScorer,
    *,
    weights: Mapping[str, float] | None,
    query_embedding: Sequence[float] | None,
    top_k: int,
) -> list[RerankResult[ResultT]]:
    _check(results, query, top_k)
    weights = _merged(weights)
    analysis = None if query_embedding is None else _analyse(query_embedding)
    given = list(results)
    read = [read_result(result, index) for index, result in enumerate(given)]
    scored = []
    for index, semantic in enumerate(semantic_scores(scorer, query, read)):
        details = ScoringDetails(semantic, read[index].score, 1 - index / len(given), analysis)
        scored.append((_fuse(details, weights), given[index], details))
    scored.sort(key=lambda one: -one[0])  # before the factor: its cut at 1 would make ties of what is none
    factor = _factor(analysis)
    return [RerankResult(result, min(1.0, fused * factor), details) for fused, result, details in scored[:top_k]]


def _check(results: object, query: object, top_k: object) -> None:
    if not isinstance(query, str) or not query.strip():
        raise InvalidInputError("query is blank or no string; expected what was asked")
    if isinstance(top_k, bool) or not isinstance(top_k, int) or top_k < 1:
        raise InvalidInputError(f"top_k is {top_k!r}, expected a whole number from 1")
    if isinstance(results, str | Mapping) or not isinstance(results, Iterable):
        raise InvalidInputError(
            f"results is of type {type(results).__name__}, expected a list of results; of what a search returns, give "
            "its 'results'"
        )


def _merged(given: Mapping[str, float] | None) -> Mapping[str, float]:
    if given is not None and not isinstance(given, Mapping):
        raise InvalidInputError(f"weights is of type {type(given).__name__}, expected a dict")
    weights = {**DEFAULT_WEIGHTS, **(given or {})}
    if unknown := [name for name in weights if name not in DEFAULT_WEIGHTS]:
        raise InvalidInputError(f"weights has the unknown key {unknown[0]!r}; known: {', '.join(DEFAULT_WEIGHTS)}")
    for name, weight in weights.items():
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0 <= weight < math.inf:
            raise InvalidInputError(f"weight '{name}' is {weight!r}, expected a number from 0")
    whole = math.fsum(weights.values())
    if abs(whole - 1) > SUM_TOLERANCE:
        listed = ", ".join(
            f"{name} {weight:g}" + ("" if name in (given or {}) else " (default)") for name, weight in weights.items()
        )
        raise InvalidInputError(f"weights add up to {whole:g}, expected 1: {listed}")
    return weights


def _fuse(details: ScoringDetails, weights: Mapping[str, float]) -> float:
    """Return the weighted mean of the parts that were measured, in [0, 1].

    >>> parts = ScoringDetails(semantic=None, vector=0.9, position=0.75)
    >>> round(_fuse(parts, DEFAULT_WEIGHTS), 6)  # (0.4 x 0.9 + 0.2 x 0.75) / (0.4 + 0.2)
    0.85
    """
    parts = {"semantic": details.semantic, "vector": details.vector, "position": details.position}
    measured = {name: part for name, part in parts.items() if part is not None}
    if not any(weights[name] for name in measured):
        weights = DEFAULT_WEIGHTS
    # fsum rounds once, so that the score never falls when a part rises.
    return math.fsum(weights[name] * part for name, part in measured.items()) / math.fsum(
        weights[name] for name in measured
    )


def _analyse(vector: object) -> QueryAnalysis:
    """Return the length of a vector and the indices of its largest components; of equal ones the earlier comes first.

    >>> _analyse([3.0, 0.0, -4.0])
    QueryAnalysis(magnitude=5.0, dominant_features=(2, 0, 1))
    """
    components = list(vector) if isinstance(vector, Iterable) else []
    if not components or not all(isinstance(one, Real) and not isinstance(one, bool) for one in components):
        raise VectorError("query_embedding is empty or not a list of numbers; give the query's vector, or None")
    magnitude = math.hypot(*components)
    if not math.isfinite(magnitude):
        raise VectorError("query_embedding holds NaN or infinity; embed the query again, or give None")
    largest = sorted(range(len(components)), key=lambda index: -abs(components[index]))
    return QueryAnalysis(magnitude, tuple(largest[:DOMINANT_FEATURES]))


def _factor(analysis: QueryAnalysis | None) -> float:
    """Return Mastra's published adjustment of all scores.

    >>> [_factor(None), _factor(_analyse([5.0])), _factor(_analyse([5.5])), round(_factor(_analyse([10.5])), 3)]
    [1.0, 1.0, 1.05, 1.155]
    """
    if analysis is None:
        return 1.0
    return (1.1 if analysis.magnitude > 10 else 1.0) * (1.05 if analysis.magnitude > 5 else 1.0)  # noqa: PLR2004 - Mastra's
