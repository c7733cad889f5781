"""Short waits for the tests, and the helper module beside them."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from mem_opensearch import LocalNode
from mem_opensearch.errors import JavaError
from mem_opensearch.index import WantedIndex, lease

sys.path.insert(0, str(Path(__file__).parent))

BEAT, PATIENCE = 0.4, 3.0


@pytest.fixture(autouse=True)
def _short_patience(monkeypatch):
    monkeypatch.setattr(lease, "BEAT_SECONDS", BEAT)
    monkeypatch.setattr(lease, "PATIENCE_SECONDS", PATIENCE)


@pytest.fixture
def wanted(store):
    return WantedIndex.of(store.config)


@pytest.fixture
def make_store(make_store):
    """Stores of the dimension that the helper module's vectors have."""
    from load import DIMS

    return lambda **options: make_store(**({"embedding_model_dims": DIMS} | options))


@pytest.fixture
def store(make_store):
    return make_store()


@pytest.fixture(scope="session")
def old_server():
    """URL of an OpenSearch 2.19.1."""
    node = LocalNode(version="2.19.1")
    try:
        node.start()
    except JavaError as error:
        pytest.skip(f"OpenSearch 2.19 needs a Java 17 to 21, and none is here: {error}")
    yield node.url
    node.stop()
