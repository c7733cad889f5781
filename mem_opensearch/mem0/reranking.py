"""mem0's rerankers over our second stage: its five providers, ours beside them, and any object that a caller brings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Final

from mem_opensearch.errors import ConfigError, RerankError
from mem_opensearch.fusion.rrf import RRF_K
from mem_opensearch.rerank import Reranker
from mem_opensearch.rerank.completions import of_mem0
from mem_opensearch.rerank.configured import load_reranker
from mem_opensearch.rerank.registry import scorer_names

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.rerank.llm import Complete

_Foreign = Any  # a reranker of mem0's own, or a caller's: mem0 has no types

FOREIGN_SECONDS: Final = 30.0
"""Deadline of rerankers that are not ours; they have time-outs of their own, or none."""


class Mem0Reranker:
    """What mem0 builds for a ``reranker`` section, with our second stage inside.

    Attributes:
        provider: name in that section.
        stage: the second stage.
        top_k: most results where the caller names no number; None for all.
    """

    provider: ClassVar[str]

    def __init__(self, config: Any) -> None:  # noqa: ANN401 - options, or an object of one of mem0's config classes
        options = dict(config) if isinstance(config, Mapping) else config.model_dump(exclude_unset=True)
        self.top_k: int | None = options.get("top_k")
        self.stage = load_reranker(self.provider, options, models=_language_model)

    def rerank(
        self, query: str, documents: Sequence[Mapping[str, Any]], top_k: int | None = None
    ) -> list[dict[str, Any]]:
        """Return the best documents with their `rerank_score`, as mem0's own rerankers do.

        What was not scored has none, and keeps its place.

        Args:
            query: what is asked.
            documents: results of a search, best first.
            top_k: how many are wanted; by default those of the configuration, or all.
        """
        if not documents:
            return []
        # Another store's scores may be on any scale, or none: then the order is all there is to blend with.
        ranked = [{**one, "score": RRF_K / (RRF_K + place)} for place, one in enumerate(documents)]
        found = self.stage.rerank(query, ranked, top_k or self.top_k or len(documents))
        places = [one.details["fused_rank"] - 1 for one in found]
        return [{**documents[place], **_scored(one.rerank_score)} for place, one in zip(places, found, strict=True)]


def _scored(score: float | None) -> dict[str, float]:
    return {} if score is None else {"rerank_score": score}


def _language_model(provider: str, config: Mapping[str, Any]) -> Complete:
    from mem0.utils.factory import LlmFactory

    return of_mem0(LlmFactory.create(provider, dict(config)))


CLASSES: Final = {name: type(f"Reranker_{name}", (Mem0Reranker,), {"provider": name}) for name in scorer_names()}
"""Name in mem0's ``reranker`` section -> what mem0 builds."""

globals().update({made.__name__: made for made in CLASSES.values()})  # mem0 finds a class by its dotted name


def dotted(provider: str) -> str:
    """Return the dotted name of what mem0 builds for a provider."""
    return f"{__name__}.{CLASSES[provider].__name__}"


def stage_of(reranker: _Foreign) -> Reranker | None:
    """Return the second stage in a memory's reranker; None where it is not ours."""
    if isinstance(reranker, Reranker):
        return reranker
    return reranker.stage if isinstance(reranker, Mem0Reranker) else None


class ForeignScorer:
    """Scores the results of one search by a reranker that is not ours, which wants them whole.

    Args:
        reranker: has mem0's method `rerank(query, documents, top_k)`.
        documents: results, in the order of the texts that are to be scored.
    """

    most_texts: int | None = None
    most_characters: int | None = None

    def __init__(self, reranker: _Foreign, documents: Sequence[Mapping[str, Any]]) -> None:
        self._reranker = reranker
        self._documents = documents

    @property
    def name(self) -> str:
        """Name of its class."""
        return type(self._reranker).__name__

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return the `rerank_score` of each document, or where it gives none, how far above the last it puts it.

        Raises:
            RerankError: it gives what it was not given, or one twice.
        """
        given = [dict(document) for document in self._documents]
        places = {document["id"]: place for place, document in enumerate(self._documents)}
        ordered = list(self._reranker.rerank(query, given, len(given)))
        ids = [document.get("id") for document in ordered]
        if len(set(ids)) < len(ids) or not set(ids) <= set(places):
            raise RerankError(f"{self.name} gave results that it was not given, or one twice", scorer=self.name)
        scored = all("rerank_score" in document for document in ordered)
        scores: list[float | None] = [None] * len(texts)
        for rank, document in enumerate(ordered):
            scores[places[document["id"]]] = document["rerank_score"] if scored else float(len(ordered) - rank)
        return scores


def foreign_stage(reranker: _Foreign, documents: Sequence[Mapping[str, Any]]) -> Reranker:
    """Return a second stage for one search by a reranker that is not ours."""
    if not callable(getattr(reranker, "rerank", None)):
        raise ConfigError(f"the memory's reranker is a {type(reranker).__name__}, which has no method 'rerank'")
    return Reranker(ForeignScorer(reranker, documents), deadline=FOREIGN_SECONDS, attempts=1)
