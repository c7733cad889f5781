"""An authority of the tests' own, and gateways with TLS and passwords in front of the node."""

from __future__ import annotations

import os
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the modules beside this file; pytest's importlib mode adds nothing

from certificates import Authority, server_context, valid
from gateway import PASSWORD, USER, Gateway, Users

from mem_opensearch import OpenSearchVectorStore


@pytest.fixture(autouse=True)
def _no_options_from_outside(monkeypatch):
    for name in os.environ:
        if name.startswith(("MEM_OPENSEARCH_", "AWS_")) and name != "MEM_OPENSEARCH_CACHE":
            monkeypatch.delenv(name)


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch):
    monkeypatch.setattr("mem_opensearch.client.patience.BACKOFF_SECONDS", 0.001)


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def open_gateway():
    """Start gateways that end with the test."""
    with ExitStack() as stack:
        yield lambda *arguments, **options: stack.enter_context(Gateway(*arguments, **options))


@pytest.fixture
def users():
    known = Users(readers=frozenset({"leserin"}))
    known.add(USER, PASSWORD)
    known.add("leserin", PASSWORD)
    known.accepted["ApiKey geheimer-schluessel"] = "key"
    known.accepted["Bearer geheimes.token"] = "token"
    return known


@pytest.fixture
def secured(opensearch_url, authority, users, open_gateway):
    """The node behind TLS and passwords."""
    return open_gateway(opensearch_url, check=users, context=server_context(*valid(authority)))


@pytest.fixture
def store_at(collection):
    """Make stores of 4 dimensions on the test's collection at a URL."""
    made = []

    def make(url, **options):
        made.append(
            OpenSearchVectorStore(url=url, **({"collection_name": collection, "embedding_model_dims": 4} | options))
        )
        return made[-1]

    yield make
    for store in made:
        store.close()
