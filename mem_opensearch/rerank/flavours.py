"""The endpoints of services that are known by name: address, field names and limits, each from its own document."""

from __future__ import annotations

from typing import Any, Final, Literal

Flavour = Literal["jina", "tei", "vllm", "siliconflow", "dashscope"]

FLAVOURS: Final[dict[str, dict[str, Any]]] = {
    # Jina AI, "Reranker API": POST /v1/rerank. The documents come back unless they are not wanted.
    "jina": {
        "url": "https://api.jina.ai/v1/rerank",
        "model": "jina-reranker-v3",
        "extra": {"return_documents": False},
        "most_texts": 1000,
    },
    # Hugging Face, text-embeddings-inference, docs/openapi.json: POST /rerank takes `texts`, knows no model and answers
    # with a bare list. 32 texts is what --max-client-batch-size is unless the server was started with another.
    "tei": {
        "texts_field": "texts",
        "model_field": None,
        "top_n_field": None,
        "results_field": "",
        "score_field": "score",
        "extra": {"truncate": True, "raw_scores": False, "return_text": False},
        "most_texts": 32,
    },
    # vLLM, "OpenAI-Compatible Server", Re-rank API: POST /v1/rerank, "compatible with Jina's and Cohere's".
    # truncate_prompt_tokens -1 cuts at the model's length, where it would refuse the whole request otherwise.
    "vllm": {"extra": {"truncate_prompt_tokens": -1}, "most_texts": 1000},
    # SiliconFlow, "Create rerank": POST /v1/rerank.
    "siliconflow": {
        "url": "https://api.siliconflow.cn/v1/rerank",
        "model": "BAAI/bge-reranker-v2-m3",
        "extra": {"return_documents": False},
        "most_texts": 500,
    },
    # Alibaba Cloud Model Studio (DashScope), "Text rerank": POST /api/v1/services/rerank/text-rerank/text-rerank. 500
    # documents a request, and no more than 30,000 tokens in which the query counts once for every document: 50 memories
    # of 500 characters each.
    "dashscope": {
        "url": "https://dashscope.aliyuncs.com/api/v1/services/rerank/text-rerank/text-rerank",
        "model": "qwen3-rerank",
        "query_field": "input.query",
        "texts_field": "input.documents",
        "top_n_field": "parameters.top_n",
        "results_field": "output.results",
        "extra": {"parameters": {"return_documents": False}},
        "most_texts": 50,
    },
}
"""Options of `RerankService`, by name of the service."""

KEY_VARIABLES: Final = {
    "jina": "JINA_API_KEY",
    "vllm": "VLLM_API_KEY",
    "siliconflow": "SILICONFLOW_API_KEY",
    "dashscope": "DASHSCOPE_API_KEY",
}
"""Environment variables that hold the keys, by name of the service."""
