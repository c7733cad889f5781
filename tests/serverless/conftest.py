"""A server of the serverless shape in front of the real node."""

from __future__ import annotations

import sys
import uuid
from pathlib import Path

import pytest
import requests

sys.path.insert(0, str(Path(__file__).parent))  # `aoss_rules` beside `aoss_server`

from aoss_server import ServerlessServer


@pytest.fixture
def serverless(opensearch_url):
    """The server; one for each test, so that what one turns is no other's."""
    server = ServerlessServer(opensearch_url)
    yield server
    server.close()


@pytest.fixture
def collection(opensearch_url):
    """A collection name of this test's own; what was made under it is removed behind the server's back."""
    name = f"test-{uuid.uuid4().hex[:12]}"
    yield name
    requests.delete(f"{opensearch_url}/{name}*", timeout=60)
    for each in (name, f"{name}_entities"):
        requests.delete(f"{opensearch_url}/_index_template/mem-opensearch-{each}", timeout=60)
