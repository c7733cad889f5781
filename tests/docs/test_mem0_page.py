"""The examples of docs/mem0.md run, one after another."""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from pathlib import Path

import pytest

# Read once, when mem0 is imported; a developer's own mem0 home is not for tests.
os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp(prefix="mem0-home-"))
os.environ.setdefault("MEM0_TELEMETRY", "False")

import mem_opensearch
from mem_opensearch import OpenSearchVectorStore

PAGE = (Path(__file__).parents[2] / "docs" / "mem0.md").read_text(encoding="utf-8")


@pytest.fixture
def collection(opensearch_url):
    name = f"t-{uuid.uuid4().hex}"
    yield name
    mem_opensearch.unregister()
    for used in (name, f"{name}_entities"):
        OpenSearchVectorStore(url=opensearch_url, collection_name=used).delete_col()


def test_the_examples(opensearch_url, collection):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    here = '"url": "local", "collection_name": "mem0_page"'
    assert here in code
    code = code.replace(here, f'"url": {opensearch_url!r}, "collection_name": {collection!r}')
    names = {}
    exec(compile(code, "mem0.md", "exec"), names)
    names["memory"].close()
