"""The server of these tests: `ELASTICSEARCH_URL` where that is set, else the emulator, which is no Elasticsearch.

The client is the one that is installed, of major 8 or 9; `scripts/test` runs this folder with both.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import elasticsearch
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # `emulator` beside this file

from emulator import REAL, run_emulator

if TYPE_CHECKING:
    from collections.abc import Iterator

CLIENT_MAJOR = int(elasticsearch.__versionstr__.partition(".")[0])


def pytest_report_header() -> str:
    server = REAL or "an emulator (noida-db), not a real server"
    return f"elasticsearch: client {elasticsearch.__versionstr__}, server: {server}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip on the emulator what only a real server does; the mark says why."""
    for item in items:
        mark = item.get_closest_marker("real_elasticsearch")
        if mark is not None and not REAL:
            item.add_marker(pytest.mark.skip(reason=f"needs ELASTICSEARCH_URL; the emulator {mark.args[0]}"))


@pytest.fixture(scope="session")
def elasticsearch_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """URL of the server."""
    if REAL:
        yield REAL
        return
    says = None if CLIENT_MAJOR == 8 else "9.2.0"
    with run_emulator(tmp_path_factory.mktemp("emulator"), says=says) as url:
        yield url


@pytest.fixture(scope="session")
def opensearch_url(elasticsearch_url: str) -> str:
    """What the shared fixtures make their stores on."""
    return elasticsearch_url


@pytest.fixture(autouse=True)
def _engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEM_OPENSEARCH_ENGINE", "elasticsearch")
