"""What the fault tests share: the ledger of what they have seen, proxies, and a cluster of three servers."""

from __future__ import annotations

import os

import pytest

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.node import LocalNode

from .ledger import Ledger
from .proxy import FaultProxy


@pytest.fixture(scope="session")
def ledger():
    """Rows of the table in docs/reliability.md; written to the file named in FAULTS_JSON at the end."""
    ledger = Ledger()
    yield ledger
    if path := os.environ.get("FAULTS_JSON"):
        ledger.save(path)


@pytest.fixture
def proxy(opensearch_url):
    with FaultProxy(opensearch_url) as proxy:
        yield proxy


@pytest.fixture(scope="session")
def cluster():
    """Three servers that the tests may kill and set up as they like."""
    with LocalNode(nodes=3, heap="512m", analysis=(), timeout=400, quiet=True) as cluster:
        yield cluster


@pytest.fixture
def make_clustered(cluster):
    """Make stores on the cluster; every server is started again before the next test."""
    made = []

    def make(**options):
        defaults = {"url": cluster.urls, "collection_name": "faults", "embedding_model_dims": 4, "timeout": 60}
        made.append(OpenSearchVectorStore(**(defaults | options)))
        return made[-1]

    yield make
    if not cluster.running:
        cluster.restart()
    for store in made:
        store.delete_col()
        store.close()
