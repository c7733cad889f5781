"""The contract of `tests/store`, on the oldest OpenSearch and on a cluster of three nodes."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from mem_opensearch.node import LocalNode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_spec = importlib.util.spec_from_file_location(
    "store_contract", Path(__file__).parents[1] / "store" / "test_contract.py"
)
_contract = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(_contract)
globals().update({name: value for name, value in vars(_contract).items() if not name.startswith("__")})


@pytest.fixture(scope="module", params=["2.19.1", "three nodes"])
def opensearch_url(request: pytest.FixtureRequest, node_of: Callable[[str], str]) -> Iterator[str]:
    """URL of the server that the shared fixtures make their stores on."""
    if request.param != "three nodes":
        yield node_of(request.param)
        return
    with LocalNode(nodes=3, heap="512m") as cluster:
        yield cluster.url
