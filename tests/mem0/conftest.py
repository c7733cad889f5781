"""mem0 without its telemetry, in a home of its own, over a real node."""

import json
import os
import tempfile
import uuid
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

# Read once, when mem0 is imported; a developer's own mem0 home is not for tests.
os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp(prefix="mem0-home-"))
os.environ.setdefault("MEM0_TELEMETRY", "False")

from werkzeug import Request, Response

import mem_opensearch.mem0 as bridge
from mem_opensearch.embed import UniversalSentenceEncoder
from mem_opensearch.store import OpenSearchVectorStore

DIMS = 512
# Nothing listens on the discard port: mem0 wants a language model in its constructor, and these tests never ask it.
NO_LLM = {"provider": "vllm", "config": {"vllm_base_url": "http://127.0.0.1:9/v1"}}


@pytest.fixture
def registered() -> Iterator[None]:
    bridge.register()
    yield
    bridge.unregister()


@pytest.fixture
def patched(registered: None) -> Iterator[None]:
    """mem0's own classes, with our searches."""
    bridge.register(patch=True)
    yield
    bridge.unregister()


@pytest.fixture
def collection(opensearch_url: str) -> Iterator[str]:
    """A name of its own for every test, and no index left after it."""
    name = f"t-{uuid.uuid4().hex}"
    yield name
    for used in (name, f"{name}_entities"):
        OpenSearchVectorStore(url=opensearch_url, collection_name=used, embedding_model_dims=DIMS).delete_col()


@pytest.fixture
def config(registered: None, opensearch_url: str, collection: str) -> dict[str, Any]:
    """What a user gives to `Memory.from_config`."""
    return {
        "vector_store": {
            "provider": "opensearch",
            "config": {"url": opensearch_url, "collection_name": collection, "embedding_model_dims": DIMS},
        },
        "embedder": {"provider": "mem_opensearch", "config": {"model": "use", "embedding_dims": DIMS}},
        "llm": NO_LLM,
        "history_db_path": ":memory:",
    }


@pytest.fixture
def memory(config: dict[str, Any]) -> Iterator[Any]:
    """`mem0.Memory`, as mem0 has it, over this package's store."""
    from mem0 import Memory

    memory = Memory.from_config(config)
    yield memory
    memory.close()


@pytest.fixture(scope="session")
def encoder() -> UniversalSentenceEncoder:
    return UniversalSentenceEncoder()


class ChatModel:
    """A chat-completions endpoint on a real socket that answers with the facts it was told to find."""

    def __init__(self) -> None:
        self.facts: list[str] = []
        self.seen: list[dict[str, Any]] = []

    def finds(self, *facts: str) -> None:
        self.facts = list(facts)

    def answer(self, request: Request) -> Response:
        self.seen.append(request.get_json())
        # The shape that the extraction prompt of mem0 2.0.20 - 2.2.1 asks for.
        content = {
            "memory": [
                {"id": str(number), "text": fact, "attributed_to": "user", "linked_memory_ids": []}
                for number, fact in enumerate(self.facts)
            ]
        }
        completion = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1700000000,
            "model": "stub",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop",
                    "message": {"role": "assistant", "content": json.dumps(content, ensure_ascii=False)},
                }
            ],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2},
        }
        return Response(json.dumps(completion), content_type="application/json")

    @property
    def last_prompt(self) -> str:
        return "\n".join(message["content"] for message in self.seen[-1]["messages"])


@pytest.fixture
def chat_model(httpserver: Any, config: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> ChatModel:
    """The language model of `memory`; ask for it before `memory`."""
    monkeypatch.delenv("OPENROUTER_API_KEY", raising=False)  # mem0's openai provider would go there instead
    model = ChatModel()
    httpserver.expect_request("/v1/chat/completions", method="POST").respond_with_handler(model.answer)
    config["llm"] = {
        "provider": "openai",
        "config": {"api_key": "no-key", "openai_base_url": httpserver.url_for("/v1"), "model": "stub"},
    }
    return model


@pytest.fixture
def add_texts(memory: Any) -> Callable[..., list[str]]:
    """Add texts word for word, and return their ids in order."""

    def add(user: str, texts: Sequence[str], **options: Any) -> list[str]:
        messages = [{"role": "user", "content": text} for text in texts]
        added = memory.add(messages, user_id=user, infer=False, **options)["results"]
        return [item["id"] for item in added]

    return add
