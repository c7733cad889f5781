"""What the tests of scorers share: no key of the developer's own."""

from __future__ import annotations

import pytest

from mem_opensearch.rerank.flavours import KEY_VARIABLES


@pytest.fixture(autouse=True)
def no_keys(monkeypatch):
    keys = ("COHERE_API_KEY", "CO_API_KEY", "ZERO_ENTROPY_API_KEY", "ZEROENTROPY_API_KEY", "OPENAI_API_KEY")
    for name in (*keys, *KEY_VARIABLES.values()):
        monkeypatch.delenv(name, raising=False)
