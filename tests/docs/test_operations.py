"""Every command of docs/operations.md runs, in order, on a node of its own; and a snapshot brings everything back."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from mem_opensearch import LocalNode, OpenSearchVectorStore
from mem_opensearch.client.encoding import encode_lines

PAGE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text(encoding="utf-8")
DIMS = 512
SHELL = """
set -euo pipefail
python() { "$PYTHON" "$@"; }
mem-opensearch() { "$PYTHON" -m mem_opensearch "$@"; }
"""


def vector_of(number):
    rng = random.Random(number)
    return [rng.uniform(-1, 1) for _ in range(DIMS)]


def blocks():
    """The commands under each heading, the address of the server left out."""
    found = {}
    for part in PAGE.split("\n## ")[1:]:
        found[part.splitlines()[0]] = re.findall(r"```sh\n(.*?)```", part, flags=re.DOTALL)
    return found


@pytest.fixture(scope="module")
def node():
    with LocalNode(heap="1g") as node:
        yield node


@pytest.fixture(scope="module")
def run(node, tmp_path_factory):
    folder = tmp_path_factory.mktemp("operations")
    environment = os.environ | {
        "MEM_OPENSEARCH_URL": node.url,
        "PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(sys.path),
    }

    def invoke(commands):
        done = subprocess.run(
            ["bash", "-c", SHELL + commands], capture_output=True, text=True, env=environment, cwd=folder, timeout=300
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return invoke


def store_of(node, name="memories"):
    return OpenSearchVectorStore(url=node.url, collection_name=name, embedding_model_dims=DIMS)


def test_the_page_from_top_to_bottom(node, run):
    assert shutil.which("curl"), "curl is what the page uses for snapshots: install it"
    (make,), (roll, drop), (migrate,), (transfer,), (annotate,), (snapshot, restore) = (
        commands for heading, commands in blocks().items() if commands
    )
    store = store_of(node)
    run(make)
    payloads = [{"data": f"第{n}条 PX-{n}", "user_id": "u", "n": n, "big": 2**63 - 1} for n in range(300)]
    store.insert([vector_of(n) for n in range(300)], payloads, [f"m{n}" for n in range(300)])
    entities = store_of(node, "memories_entities")
    entities.insert([vector_of(1)], [{"data": "包裹", "linked_memory_ids": ["m1"]}], ["e1"])
    assert "memories: rolled from memories-v1-000001 to memories-v1-000002, 300 rows" in run(roll)
    assert "dropped memories-v1-000001" in run(drop)

    field = {"type": "knn_vector", "dimension": DIMS}
    field["method"] = {"engine": "lucene", "name": "hnsw", "space_type": "cosinesimil"}
    properties = {"vector_field": field, "payload": {"type": "object"}, "id": {"type": "keyword"}}
    body = {"settings": {"index.knn": True}, "mappings": {"properties": properties}}
    store.client.request("PUT", "/mem0", body=body)
    row = {"id": "from mem0", "vector_field": vector_of(1000), "payload": {"data": "臺北", "user_id": "u"}}
    store.client.request("POST", "/mem0/_bulk", params={"refresh": "true"}, body=encode_lines([{"index": {}}, row]))
    assert "1 of 1 memories counted in memories" in run(migrate)

    assert "restored (made): 301 rows stored" in run(transfer)
    assert run(annotate) == "memories: 301 memories annotated\n"

    everything = {hit.id: hit.payload for hit in store.list()[0]}
    assert len(everything) == 301
    run(snapshot)
    assert (node.folder / "snapshots" / "backups").is_dir()
    store.delete("m5")
    store.insert([vector_of(1)], [{"data": "later"}], ["later"])
    run(restore)
    assert {hit.id: hit.payload for hit in store.list()[0]} == everything
    assert store.search("", vector_of(7), top_k=1)[0].id == "m7"
    assert store.search("", vector_of(7), top_k=1)[0].score == pytest.approx(1.0, abs=1e-5)
    assert store.keyword_search("px7", top_k=1)[0].id == "m7"
    assert entities.get("e1").payload == {"data": "包裹", "linked_memory_ids": ["m1"]}
    store.update("m7", payload={"data": "新"})
    store.insert([vector_of(1)], [{"data": "x"}], ["after"])
    assert len(store.list()[0]) == 302
    assert "memories: rolled from memories-v1-000002" in run(roll)


@pytest.mark.unit
def test_its_functions_exist():
    import importlib

    for module, names in re.findall(r"`(mem_opensearch\.\w+)\.(\w+)`", PAGE):
        assert hasattr(importlib.import_module(module), names)
