"""Data folders made on the spot, an embedder whose cosines are known, and a look at what is left on the server."""

import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# Read once, when mem0 is imported; a developer's own mem0 home is not for tests.
os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp(prefix="mem0-home-"))
os.environ.setdefault("MEM0_TELEMETRY", "False")

from mem_opensearch.evaluate import Report, evaluate, systems
from mem_opensearch.store import OpenSearchVectorStore


class AngleEmbedder:
    """Put a text at the angle (degrees) that it ends with: ``"茶 30"`` has cosine cos(30°) with ``"问 0"``.

    Names of entities, and sentences without an angle, are at 0.
    """

    name = "angle"
    dims = 2

    def __init__(self, seconds_per_call: float = 0.0) -> None:
        self.seconds_per_call = seconds_per_call
        self.calls: list[list[str]] = []

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return self.embed_documents(texts)

    def embed_documents(self, texts: Sequence[str]) -> np.ndarray:
        self.calls.append(list(texts))
        time.sleep(self.seconds_per_call)
        ends = [text.rsplit(maxsplit=1)[-1] for text in texts]
        angles = np.radians([float(end) if end.isdecimal() else 0.0 for end in ends])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


@pytest.fixture
def angle_embedder() -> Callable[..., AngleEmbedder]:
    return AngleEmbedder


@pytest.fixture
def run_evaluation(opensearch_url: str) -> Callable[..., Report]:
    """`evaluate` on the real node, with a fresh `AngleEmbedder` unless another one is given."""

    def run(folders: Sequence[Path], **options: Any) -> Report:
        return evaluate(folders, **({"embedder": AngleEmbedder(), "url": opensearch_url} | options))

    return run


@pytest.fixture(autouse=True)
def _no_url_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MEM_OPENSEARCH_URL", raising=False)


@pytest.fixture
def make_folder(tmp_path: Path) -> Callable[..., Path]:
    """Write a data folder; lines may be values or raw text."""

    def make(
        memories: Sequence[Any] | None,
        queries: Sequence[Any] | None,
        *,
        name: str = "tea",
        file: str = "memories.jsonl",
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        for target, lines in ((file, memories), ("queries.jsonl", queries)):
            if lines is not None:
                rows = [line if isinstance(line, str) else json.dumps(line, ensure_ascii=False) for line in lines]
                (folder / target).write_text("".join(row + "\n" for row in rows), encoding="utf-8")
        return folder

    return make


@pytest.fixture
def tea_folder(make_folder: Callable[..., Path]) -> Path:
    """Twelve memories 5 degrees apart, and queries at 0 degrees: the ranking by cosine is m0, m1, ... m11."""
    return make_folder(
        [{"id": f"m{n}", "text": f"第{n}种茶叶 {5 * n}", "created_at": "2024-05-01T09:00:00+08:00"} for n in range(12)],
        [
            {"id": "q1", "query": "甲 0", "relevant": ["m2"]},
            {"id": "q2", "query": "乙 0", "relevant": ["m0", "m6"]},
            {"id": "q3", "query": "丙 0", "relevant": ["m5"], "stale": ["m1"]},
            {"id": "q4", "query": "丁 0", "relevant": ["m1"], "stale": ["m3", "m11"]},
        ],
    )


@pytest.fixture
def collections(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Prefix of the collections of every data set that is run, in order."""
    seen: list[str] = []
    for name, factory in list(systems.SYSTEMS.items()):

        def noting(bench: systems.Bench, factory: Any = factory) -> systems.System:
            if bench.collection not in seen:
                seen.append(bench.collection)
            return factory(bench)

        monkeypatch.setitem(systems.SYSTEMS, name, noting)
    return seen


@pytest.fixture
def left_behind(opensearch_url: str) -> Iterator[Callable[[str], list[str]]]:
    """Name every index and template on the server that starts with a prefix."""
    store = OpenSearchVectorStore(url=opensearch_url, collection_name="unused", embedding_model_dims=2)

    def find(prefix: str) -> list[str]:
        indices = store.client.request("GET", f"/{prefix}*/_settings")
        templates = store.client.request("GET", "/_index_template")["index_templates"]
        return [*indices, *(item["name"] for item in templates if prefix in item["name"])]

    yield find
    store.close()
