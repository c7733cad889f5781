"""Ways to ask a language model: an object of mem0's, or an endpoint that speaks OpenAI's chat completions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final, Literal, Protocol

from pydantic import Field

from mem_opensearch.errors import RerankError
from mem_opensearch.rerank.options import Address, Remote
from mem_opensearch.rerank.prompts import SCHEMA, Message
from mem_opensearch.rerank.replies import find

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.rerank.llm import Complete

OPENAI_URL: Final = "https://api.openai.com/v1/chat/completions"


class Mem0LLM(Protocol):
    """The one method of mem0's language models that is used here."""

    def generate_response(self, messages: list[Message], *, response_format: dict[str, str]) -> Any:  # noqa: ANN401 - mem0 gives text, but where tools are used
        """Return the text of the answer."""


def of_mem0(llm: Mem0LLM) -> Complete:
    """Return a `Complete` that asks one of mem0's language models, in its JSON mode where it has one."""

    def complete(messages: list[Message]) -> str:
        answer = llm.generate_response(messages=messages, response_format={"type": "json_object"})
        return answer if isinstance(answer, str) else ""

    return complete


class ChatCompletions(Remote):
    """A `Complete` that asks an endpoint like OpenAI's: ``POST .../v1/chat/completions``.

    vLLM, Ollama, SiliconFlow, DashScope (``/compatible-mode/v1/chat/completions``), DeepSeek and others have one.

    Attributes:
        url: the whole address.
        api_key: the key; from OPENAI_API_KEY for OpenAI's own address, and for no other.
        model: name of the model.
        structured: how the form of the answer is asked for: "json_schema", "json_object" where the server knows no
            schemas, or "none".
        extra: further fields of the request, such as ``{"temperature": 0}``.
    """

    key_needed_at: ClassVar = frozenset({OPENAI_URL})

    url: Address = OPENAI_URL
    model: str = Field(min_length=1)
    timeout: float = Field(60.0, gt=0, le=3600)
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    extra: dict[str, Any] = Field(default_factory=dict)

    @property
    def name(self) -> str:
        """Short name for messages."""
        return "llm_reranker"

    @classmethod
    def key_variables(cls, options: Mapping[str, Any]) -> tuple[str, ...]:
        """Return OPENAI_API_KEY, unless the key would go to somebody else."""
        return ("OPENAI_API_KEY",) if options.get("url", OPENAI_URL) == OPENAI_URL else ()

    def __call__(self, messages: list[Message]) -> str:
        """Return the text of the answer to `messages`.

        Raises:
            RerankError: no answer, one that was cut, or a refusal.
        """
        answer = self._endpoint.post(self._body(messages))
        choices = find(answer, "choices")
        choice = choices[0] if isinstance(choices, list) and choices else None
        finished, text = find(choice, "finish_reason"), find(choice, "message.content")
        if finished == "length":
            raise self._error("the answer was cut: raise 'max_tokens' in 'extra', or lower 'most_texts'")
        if finished == "content_filter" or find(choice, "message.refusal"):
            raise self._error("the model refuses to answer", retryable=True)
        if not isinstance(text, str):
            raise self._error("the answer holds no text; check that 'url' ends in /chat/completions")
        return text

    def _body(self, messages: list[Message]) -> dict[str, Any]:
        body: dict[str, Any] = {**self.extra, "model": self.model, "messages": messages}
        if self.structured == "json_object":
            body["response_format"] = {"type": "json_object"}
        elif self.structured == "json_schema":
            schema = {"name": "scores", "strict": True, "schema": SCHEMA}
            body["response_format"] = {"type": "json_schema", "json_schema": schema}
        return body

    def _error(self, what: str, *, retryable: bool = False) -> RerankError:
        return RerankError(f"{self.name} at {self.url}: {what}", scorer=self.name, retryable=retryable)
