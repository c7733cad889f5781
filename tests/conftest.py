"""What all tests share: one real OpenSearch node for the session, and a fresh collection for each test.

The server is `OPENSEARCH_URL` when that is set, else the local node. There is no third way and no skip: a test that
needs a server and has none fails.
"""

from __future__ import annotations

import os
import shutil
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mem_opensearch import OpenSearchVectorStore

TESTS = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything under tests/unit is a unit test: it needs no node and no network."""
    for item in items:
        if (TESTS / "unit") in item.path.parents:
            item.add_marker("unit")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """Say what did not run, and why: skips have their reasons above, deselected tests have theirs here."""
    deselected = len(terminalreporter.stats.get("deselected", []))
    if deselected:
        terminalreporter.write_line(
            f"{deselected} tests did not run: deselected by -m or -k (those without the mark 'unit' need a node)"
        )


@pytest.fixture(scope="session")
def opensearch_url() -> Iterator[str]:
    """URL of a real OpenSearch with the k-NN and IK plugins."""
    if url := os.environ.get("OPENSEARCH_URL"):
        yield url
        return
    from mem_opensearch.node import LocalNode

    with LocalNode(heap="1g") as node:
        yield node.url


@pytest.fixture(scope="session")
def node_of() -> Iterator[Callable[[str], str]]:
    """Return the URL of a local node of a version, with all analysis plugins; started when first asked for."""
    from mem_opensearch.errors import JavaError
    from mem_opensearch.node import LocalNode

    nodes: dict[str, LocalNode] = {}

    def url_of(version: str) -> str:
        if version not in nodes:
            node = LocalNode(version=version, analysis=("ik", "smartcn"))
            try:
                node.start()
            except JavaError as error:
                if version != "2.19.1":
                    raise
                pytest.skip(f"OpenSearch 2.19 needs a Java 17 to 21, and none is here: {error}")
            nodes[version] = node
        return nodes[version].url

    yield url_of
    for node in nodes.values():
        node.stop()


@pytest.fixture
def collection(opensearch_url: str) -> Iterator[str]:
    """A collection name of this test's own; what it made under that name is removed afterwards."""
    from mem_opensearch import OpenSearchVectorStore

    name = f"test-{uuid.uuid4().hex[:12]}"
    yield name
    for suffix in ("", "_entities"):
        OpenSearchVectorStore(url=opensearch_url, collection_name=name + suffix).delete_col()


@pytest.fixture
def make_store(opensearch_url: str, collection: str) -> Iterator[Callable[..., OpenSearchVectorStore]]:
    """Make stores on the test's collection, of 4 dimensions unless told otherwise."""
    from mem_opensearch import OpenSearchVectorStore

    made = []

    def make(**options: Any) -> OpenSearchVectorStore:
        defaults = {"url": opensearch_url, "collection_name": collection, "embedding_model_dims": 4}
        made.append(OpenSearchVectorStore(**(defaults | options)))
        return made[-1]

    yield make
    for store in made:
        store.close()


@pytest.fixture
def store(make_store: Callable[..., OpenSearchVectorStore]) -> OpenSearchVectorStore:
    """A store on the test's collection."""
    return make_store()


@pytest.fixture(scope="session")
def browser_programs() -> list[str]:
    """Paths of Chromium and its driver. Without them the tests fail where CI runs, and are skipped elsewhere."""
    found = [shutil.which(name) for name in ("chromium", "chromedriver")]
    if not all(found):
        said = "nothing was tested in a browser: apt-get install chromium chromium-driver fonts-noto-cjk"
        if os.environ.get("CI"):
            pytest.fail(said)
        pytest.skip(said)
    return found


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    """Folder for pictures that a test takes: MEM_OPENSEARCH_SCREENSHOTS if it is set, and they stay."""
    folder = Path(os.environ.get("MEM_OPENSEARCH_SCREENSHOTS") or tmp_path / "screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder
