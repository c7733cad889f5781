"""Scorers behind HTTP: Cohere, ZeroEntropy, and every service that has an endpoint like theirs."""

from __future__ import annotations

import copy
import json
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar, Final, Self

from pydantic import Field, model_validator

from mem_opensearch.rerank.flavours import FLAVOURS, KEY_VARIABLES, Flavour
from mem_opensearch.rerank.options import Address, Remote
from mem_opensearch.rerank.replies import put, read_scores

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

COHERE_URL: Final = "https://api.cohere.com/v2/rerank"
ZERO_ENTROPY_URL: Final = "https://api.zeroentropy.dev/v1/models/rerank"


class _Service(Remote):
    """A scorer that sends query and texts in one request."""

    most_texts: int | None = Field(1000, ge=1)
    most_characters: int | None = Field(None, ge=1)

    def score(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Return one score per text, in the order of the texts; larger is better.

        A blank text is not sent, since services refuse a whole request for it: its score is None.

        Raises:
            RerankError: no usable answer.
        """
        scores: list[float | None] = [None] * len(texts)
        sent = [at for at, text in enumerate(texts) if text.strip()]
        if sent:
            answer = self._endpoint.post(self._body(query, [texts[at] for at in sent]))
            for at, score in zip(sent, self._scores(answer, len(sent)), strict=True):
                scores[at] = score
        return scores

    @abstractmethod
    def _body(self, query: str, texts: list[str]) -> dict[str, Any]: ...

    def _scores(self, answer: object, count: int) -> list[float | None]:
        return read_scores(answer, count, scorer=self.name, results="results")


class Cohere(_Service):
    """Cohere's rerank models, by the API's version 2 (its reference: "Rerank API (v2)").

    Attributes:
        model: a model of Cohere's; rerank-v3.5 knows more than 100 languages.
        max_tokens_per_doc: where the service cuts a text; 4,096 where it is not given.
        most_texts: 1,000, as the reference recommends; it takes no more than 10,000.
    """

    key_needed_at: ClassVar = frozenset({COHERE_URL})

    url: Address = COHERE_URL
    model: str = Field("rerank-v3.5", min_length=1)
    max_tokens_per_doc: int | None = Field(None, ge=1)

    @property
    def name(self) -> str:
        """Short name for messages and tables."""
        return "cohere"

    @classmethod
    def key_variables(cls, _options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the environment variables of the key: mem0's, and that of Cohere's own package."""
        return ("COHERE_API_KEY", "CO_API_KEY")

    def _body(self, query: str, texts: list[str]) -> dict[str, Any]:
        body: dict[str, Any] = {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}
        if self.max_tokens_per_doc is not None:
            body["max_tokens_per_doc"] = self.max_tokens_per_doc
        return body


class ZeroEntropy(_Service):
    """ZeroEntropy's rerank models (its API reference: "Rerank", and the schema in its Python package).

    Attributes:
        model: a model of ZeroEntropy's, such as zerank-1, zerank-1-small or zerank-2.
    """

    key_needed_at: ClassVar = frozenset({ZERO_ENTROPY_URL})

    url: Address = ZERO_ENTROPY_URL
    model: str = Field("zerank-1", min_length=1)

    @property
    def name(self) -> str:
        """Short name for messages and tables."""
        return "zero_entropy"

    @classmethod
    def key_variables(cls, _options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the environment variables of the key: mem0's, and that of ZeroEntropy's own package."""
        return ("ZERO_ENTROPY_API_KEY", "ZEROENTROPY_API_KEY")

    def _body(self, query: str, texts: list[str]) -> dict[str, Any]:
        return {"model": self.model, "query": query, "documents": texts, "top_n": len(texts)}


class RerankService(_Service):
    """Any service with one endpoint that takes a query and texts, and answers with indices and scores.

    Fields are named by paths: ``"input.query"`` is `query` inside `input`. A path that is None is left out.

    Attributes:
        flavour: a service whose address, fields and limits are known; what is given beside it counts more.
        url: the whole address; needed unless the flavour has one.
        model: name of the model; needed unless the flavour has one or the service knows none.
        query_field, texts_field, model_field, top_n_field: where the request has them.
        results_field: where the answer has its list; ``""`` if it is the list.
        index_field, score_field: where an item of the list says which text it is about (0 is the first), and its score.
        extra: further fields of the request, as they are.
    """

    key_needed_at: ClassVar = frozenset(FLAVOURS[name]["url"] for name in ("jina", "siliconflow", "dashscope"))

    flavour: Flavour | None = None
    model: str | None = Field(None, min_length=1)
    query_field: str = Field("query", min_length=1)
    texts_field: str = Field("documents", min_length=1)
    model_field: str | None = Field("model", min_length=1)
    top_n_field: str | None = Field("top_n", min_length=1)
    results_field: str = "results"
    index_field: str = Field("index", min_length=1)
    score_field: str = Field("relevance_score", min_length=1)
    extra: dict[str, Any] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _take_flavour(cls, given: dict[str, Any]) -> dict[str, Any]:
        """Put what is known of the flavour under what is given; `extra` is joined field by field."""
        name = given.get("flavour")
        known = FLAVOURS.get(name, {}) if isinstance(name, str) else {}
        options = {**known, **given}
        if isinstance(extra := options.get("extra"), dict):
            options["extra"] = {**known.get("extra", {}), **extra}
        return options

    @model_validator(mode="after")
    def _check_request(self) -> Self:
        try:
            json.dumps(self._body("", []), allow_nan=False)
        except (TypeError, ValueError):
            raise ValueError("'extra' is no JSON, or has a value where another field has to go") from None
        return self

    @property
    def name(self) -> str:
        """Short name for messages and tables: the flavour's."""
        return self.flavour or "service"

    @classmethod
    def key_variables(cls, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return the environment variable of the flavour's key, if it has one."""
        name = options.get("flavour")
        return (KEY_VARIABLES[name],) if isinstance(name, str) and name in KEY_VARIABLES else ()

    def _body(self, query: str, texts: list[str]) -> dict[str, Any]:
        body = copy.deepcopy(self.extra)
        fields = (
            (self.model_field, self.model),
            (self.query_field, query),
            (self.texts_field, texts),
            (self.top_n_field, len(texts)),
        )
        for path, value in fields:
            if path is not None and value is not None:
                put(body, path, value)
        return body

    def _scores(self, answer: object, count: int) -> list[float | None]:
        return read_scores(
            answer,
            count,
            scorer=self.name,
            results=self.results_field,
            index=self.index_field,
            score=self.score_field,
        )
