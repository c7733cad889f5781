"""What the tests of scorers share: no key and no mem0 home of the developer's own."""

from __future__ import annotations

import os
import tempfile

# Read once, when mem0 is imported.
os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp(prefix="mem0-home-"))
os.environ.setdefault("MEM0_TELEMETRY", "False")

import pytest

from mem_opensearch.rerank.flavours import KEY_VARIABLES


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    keys = ("COHERE_API_KEY", "CO_API_KEY", "ZERO_ENTROPY_API_KEY", "ZEROENTROPY_API_KEY", "OPENAI_API_KEY")
    for name in (*keys, *KEY_VARIABLES.values()):
        monkeypatch.delenv(name, raising=False)
