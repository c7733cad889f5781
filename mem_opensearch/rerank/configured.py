"""Make the whole second stage from a name and options, as configurations and the command line give them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.errors import ConfigError
from mem_opensearch.rerank.registry import load_scorer
from mem_opensearch.rerank.stage import Reranker

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.rerank.registry import Models

STAGE: Final = ("pool", "weight", "deadline", "attempts", "concurrency", "strict")
"""Options of `Reranker`; all others are the scorer's."""

DEFAULTS: Final[Mapping[str, Mapping[str, Any]]] = {
    "answers": {"weight": 0.5},  # its scores mean little by themselves
    "llm_reranker": {"deadline": 30.0},
    "sentence_transformer": {"deadline": 30.0},  # the first call loads the model
    "huggingface": {"deadline": 30.0},
}
"""Options of the stage that differ from those of `Reranker`, by scorer, where they are not given."""


def load_reranker(name: str, options: Mapping[str, Any] | None = None, *, models: Models | None = None) -> Reranker:
    """Return the second stage with the scorer of a name; nothing is sent or loaded.

    Args:
        name: one of `registry.scorer_names()`.
        options: those of `Reranker`, and those of the scorer; None means not given.
        models: see `registry.load_scorer`.

    Raises:
        ConfigError: the name or an option is unknown, wrong or without effect.
        MissingExtraError: a package is not installed; names the install command.

    >>> load_reranker("answers", {"pool": 3}).weight
    0.5
    """
    given = {key: value for key, value in (options or {}).items() if value is not None}
    stage: dict[str, Any] = dict(DEFAULTS.get(name, {}))
    stage |= {key: given.pop(key) for key in STAGE if key in given}
    scorer = load_scorer(name, given, models=models)
    try:
        return Reranker(scorer, **stage)
    except TypeError as error:
        raise ConfigError(f"an option of the reranker has the wrong type: {error}") from None
