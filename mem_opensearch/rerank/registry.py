"""Make a scorer from a name and its options, as mem0's `reranker` section and the command line give them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Self

from pydantic import Field, model_validator

from mem_opensearch.addresses import Token
from mem_opensearch.errors import ConfigError
from mem_opensearch.rerank.answers import AnswerScorer
from mem_opensearch.rerank.completions import ChatCompletions
from mem_opensearch.rerank.flavours import FLAVOURS
from mem_opensearch.rerank.llm import Complete, LLMScorer
from mem_opensearch.rerank.models import HuggingFace, SentenceTransformer
from mem_opensearch.rerank.options import Options
from mem_opensearch.rerank.services import Cohere, RerankService, ZeroEntropy

if TYPE_CHECKING:
    from mem_opensearch.rerank.scoring import Scorer

Models = Callable[[str, Mapping[str, Any]], Complete]
"""Gives a way to ask a language model, for a provider's name and a configuration, both as mem0 has them."""

STAGE_OPTIONS: Final = frozenset({"top_k"})
"""Keys of mem0's configurations that are for the second stage: `load_scorer` passes them over."""

ANSWER_TOKENS: Final = 2000
"""Least room for a language model's answer: 100 scores of some 15 tokens each. mem0's default, 100, is for one."""

_LLM: Final = "llm_reranker"
_ENDPOINT: Final = frozenset({"url", "timeout", "ca_certs", "allow_insecure", "structured", "extra"})


class LLMReranker(Options):
    """Options of "llm_reranker": mem0's, those of `LLMScorer`, and with `url` those of `ChatCompletions`."""

    provider: str = "openai"
    model: str = "gpt-5-mini"  # as in mem0
    api_key: Token | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1)
    llm: dict[str, Any] = Field(default_factory=dict, repr=False)  # may hold a key

    criteria: str = ""
    most_texts: int = Field(100, ge=1)
    most_characters: int = Field(2000, ge=1)

    url: str | None = None
    timeout: float | None = None
    ca_certs: str | None = None
    allow_insecure: bool = False
    structured: str | None = None
    extra: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _refuse_prompt(cls, given: dict[str, Any]) -> dict[str, Any]:
        if "scoring_prompt" in given:
            raise ValueError(
                "option 'scoring_prompt' asks for one number for one memory, and here one call scores all of them in a "
                "form of its own: say what makes a memory good in 'criteria' instead"
            )
        return given

    @model_validator(mode="after")
    def _refuse_idle(self) -> Self:
        idle = {"llm", "provider"} if self.url is not None else _ENDPOINT
        if found := sorted(idle & self.model_fields_set):
            where = "beside" if self.url is not None else "without"
            raise ValueError(f"option {', '.join(repr(key) for key in found)} has no effect {where} 'url'")
        return self

    def endpoint(self) -> ChatCompletions:
        """Return the endpoint at `url`."""
        given = self.model_dump(include={*_ENDPOINT, "api_key"} & self.model_fields_set)
        extra = dict(self.extra)
        if self.temperature is not None:
            extra["temperature"] = self.temperature
        if self.max_tokens is not None:
            extra["max_tokens"] = max(self.max_tokens, ANSWER_TOKENS)
        return ChatCompletions(**{**given, "model": self.model, "extra": extra})

    def mem0_model(self) -> tuple[str, dict[str, Any]]:
        """Return provider and configuration of the model, put together as mem0 does it, with room for the answer."""
        config = {"model": self.model, "temperature": self.temperature or 0.0, **(self.llm.get("config") or {})}
        if self.api_key is not None:
            config.setdefault("api_key", self.api_key.get_secret_value())
        rooms = (config.get("max_tokens"), self.max_tokens, ANSWER_TOKENS)
        config["max_tokens"] = max(room for room in rooms if isinstance(room, int))
        return self.llm.get("provider") or self.provider, config


def load_scorer(name: str, config: Mapping[str, Any] | None = None, *, models: Models | None = None) -> Scorer:
    """Return the scorer of a name, with its options checked; nothing is sent or loaded.

    Args:
        name: one of `scorer_names()`.
        config: its options. mem0's keys are all known; None means not given. What can have no effect is an error.
        models: for "llm_reranker" without `url`: gives a way to ask mem0's language models.

    Raises:
        ConfigError: the name or an option is unknown, wrong or without effect; says which, and what there is.
        MissingExtraError: a package is not installed; names the install command.
    """
    if name not in scorer_names():
        raise ConfigError(f"no reranker is called '{name}'; known are: {', '.join(scorer_names())}")
    given = config or {}
    options = {key: value for key, value in given.items() if value is not None and key not in STAGE_OPTIONS}
    if name == _LLM:
        return _load_llm(options, models)
    for key in ("provider", "flavour"):  # a configuration of mem0's repeats its provider
        if key in options and not (name == "service" and key == "flavour") and options.pop(key) != name:
            raise ConfigError(f"{name}: option '{key}' is '{given[key]}': that is another reranker")
    if name == "cohere":
        _check_cohere(options)
    return _MAKERS[name](options)


def scorer_names() -> list[str]:
    """Return the names that `load_scorer` knows, sorted.

    >>> "cohere" in scorer_names(), "jina" in scorer_names()
    (True, True)
    """
    return sorted({*_MAKERS, _LLM})


def _flavour(name: str) -> Callable[[Mapping[str, Any]], Scorer]:
    return lambda options: RerankService(**{"flavour": name, **options})


def _answers(options: Mapping[str, Any]) -> AnswerScorer:
    if unknown := sorted(options.keys() - {"type_weight", "aspect_weight"}):
        raise ConfigError(f"answers: option '{unknown[0]}' is unknown; known are: aspect_weight, type_weight")
    return AnswerScorer(**options)


_MAKERS: Final[dict[str, Callable[[Mapping[str, Any]], Scorer]]] = {
    "answers": _answers,
    "cohere": lambda options: Cohere(**options),
    "zero_entropy": lambda options: ZeroEntropy(**options),
    "sentence_transformer": lambda options: SentenceTransformer(**options),
    "huggingface": lambda options: HuggingFace(**options),
    "service": lambda options: RerankService(**options),
    **{name: _flavour(name) for name in FLAVOURS},
}


def _check_cohere(options: dict[str, Any]) -> None:
    """Take out or refuse what mem0's key meant in version 1 of the API."""
    if options.pop("return_documents", False):
        raise ConfigError(
            "cohere: option 'return_documents' has no effect any more: scores alone come back, and results keep the "
            "memories that they have; leave it out"
        )
    if "max_chunks_per_doc" in options:
        raise ConfigError(
            "cohere: option 'max_chunks_per_doc' is gone from the API's version 2: give 'max_tokens_per_doc', the "
            "tokens after which a text is cut (4,096 where it is not given)"
        )


def _load_llm(options: Mapping[str, Any], models: Models | None) -> LLMScorer:
    chosen = LLMReranker(**options)
    if chosen.url is not None:
        complete: Complete = chosen.endpoint()
    elif models is not None:
        complete = models(*chosen.mem0_model())
    else:
        raise ConfigError(
            f"{_LLM} needs a language model: give 'url', the address of an endpoint like OpenAI's "
            "(https://host/v1/chat/completions); mem0's own providers are there in the configuration of mem0 alone"
        )
    return LLMScorer(
        complete,
        criteria=chosen.criteria,
        most_texts=chosen.most_texts,
        most_characters=chosen.most_characters,
    )
