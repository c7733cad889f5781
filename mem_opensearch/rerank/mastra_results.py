"""The results that Mastra's rerank functions take and give."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from numbers import Real
from typing import Any, Generic, TypeVar

from mem_opensearch.errors import InvalidInputError

ResultT = TypeVar("ResultT")

ROUNDING = 1e-6
"""How far outside [0, 1] a number may be and still be taken as the bound: cosines in float32 pass 1 by less."""


@dataclass(frozen=True, slots=True)
class QueryAnalysis:
    """What is known of the query's vector.

    Attributes:
        magnitude: its Euclidean length, >= 0.
        dominant_features: indices of its largest components by absolute value, largest first, 5 at most.
    """

    magnitude: float
    dominant_features: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class ScoringDetails:
    """What a score is made of.

    Attributes:
        semantic: the scorer's score in [0, 1]; 0 for a result without a text, None for one that was not scored.
        vector: the score that the result came with, in [0, 1]; None where it came with None.
        position: 1 - i/n for the result at index i of n.
        query_analysis: None where no vector of the query was given.
    """

    semantic: float | None
    vector: float | None
    position: float
    query_analysis: QueryAnalysis | None = None


@dataclass(frozen=True, slots=True)
class RerankResult(Generic[ResultT]):
    """One reranked result.

    Attributes:
        result: the very object that was given.
        score: in [0, 1]; larger is better.
        details: what the score is made of.
    """

    result: ResultT
    score: float
    details: ScoringDetails

    def as_dict(self, *, camel: bool = False) -> dict[str, Any]:
        """Return plain data.

        A result that was given as a dict stays that dict; one that was given as an object becomes Mastra's
        ``{id, score, metadata}``, with its payload as the metadata and its text as ``metadata["text"]``. The analysis
        of the query is left out where there is none.

        Args:
            camel: name the keys as Mastra does, ``queryAnalysis`` and ``dominantFeatures``.
        """
        details: dict[str, Any] = {
            "semantic": self.details.semantic,
            "vector": self.details.vector,
            "position": self.details.position,
        }
        if (analysis := self.details.query_analysis) is not None:
            details["queryAnalysis" if camel else "query_analysis"] = {
                "magnitude": analysis.magnitude,
                "dominantFeatures" if camel else "dominant_features": list(analysis.dominant_features),
            }
        return {"result": _as_data(self.result), "score": self.score, "details": details}


@dataclass(frozen=True, slots=True)
class Scorable:
    """What of a result counts, whatever its shape.

    Attributes:
        where: its place and id, for messages.
        text: what it says; None where it has no text.
        score: in [0, 1]; None where the search did not measure it.
    """

    where: str
    text: str | None
    score: float | None


def read_result(result: object, index: int) -> Scorable:
    """Return what counts of the result at `index`; the result itself is left as it is.

    Three shapes are known: Mastra's dict ``{id, score, metadata: {text}}``, mem0's dict ``{id, memory, score}``, and an
    object with `id`, `score` and `payload` (text under ``"data"``), as this package's searches give.

    Raises:
        InvalidInputError: another shape, a text that is no string, or a score that is no number from 0 to 1.

    >>> read_result({"id": "m1", "memory": "我住在台北", "score": 0.7}, 0)
    Scorable(where="results[0] (id 'm1')", text='我住在台北', score=0.7)
    """
    where = f"results[{index}]"
    if isinstance(result, Mapping) and "score" in result:
        where = _with_id(where, result.get("id"))
        if "memory" in result:
            text = result["memory"]
        else:
            text = _mapping(result.get("metadata") or {}, "metadata", where).get("text")
        return Scorable(where, _text(text, where), _score(result["score"], where))
    if hasattr(result, "payload") and hasattr(result, "score"):
        where = _with_id(where, getattr(result, "id", None))
        payload = _mapping(result.payload, "payload", where)
        return Scorable(where, _text(payload.get("data"), where), _score(result.score, where))
    found = "a dict without 'score'" if isinstance(result, Mapping) else f"of type {type(result).__name__}"
    raise InvalidInputError(
        f"{where} is {found}; expected Mastra's {{id, score, metadata: {{text}}}}, mem0's {{id, memory, score}}, or an "
        "object with id, score and payload"
    )


def to_unit(value: object) -> float | None:
    """Return a number from 0 to 1 as a float, and None for anything else.

    >>> to_unit(0), to_unit(1.0000001), to_unit(1.1), to_unit(float("nan")), to_unit("0.5"), to_unit(True)
    (0.0, 1.0, None, None, None, None)
    """
    if isinstance(value, bool) or not isinstance(value, Real):
        return None
    if value < -ROUNDING or not value <= 1 + ROUNDING:  # the second refuses NaN as well
        return None
    return min(1.0, max(0.0, float(value)))


def _with_id(where: str, id: object) -> str:  # noqa: A002 - the field's own name
    return where if id is None else f"{where} (id {id!r})"


def _mapping(value: object, name: str, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidInputError(f"{where} has a {name} of type {type(value).__name__}, expected a dict")
    return value


def _text(value: object, where: str) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str):
        raise InvalidInputError(f"{where} has a text of type {type(value).__name__}, expected a string")
    return value if value.strip() else None


def _score(value: object, where: str) -> float | None:
    if value is None:
        return None
    score = to_unit(value)
    if score is None:
        shown = value if isinstance(value, Real) else f"of type {type(value).__name__}"
        raise InvalidInputError(
            f"{where} has the score {shown}, expected a number from 0 to 1, or None where nothing was measured; bring "
            "other scales into that range first"
        )
    return score


def _as_data(result: object) -> object:
    if isinstance(result, Mapping):
        return result
    payload = _mapping(getattr(result, "payload", None), "payload", "a result")
    metadata = {key: value for key, value in payload.items() if key != "data"}
    if "data" in payload:
        metadata["text"] = payload["data"]
    return {"id": getattr(result, "id", None), "score": getattr(result, "score", None), "metadata": metadata}
