"""Real nodes for the tests of the local node, and a repository that serves the cached files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

import pytest

from mem_opensearch.node import LocalNode
from mem_opensearch.node.artifacts import artifact_file, ensure_artifacts
from mem_opensearch.node.lockfile import read_lock
from mem_opensearch.node.places import cache_folder

USER_WORDS = "# words of the tests\n裴若谷\nA型血\n專案代號甲\nＰＸ９０型\n"


@dataclass(frozen=True)
class Answer:
    status: int
    body: dict


def ask(url: str, path: str, body: object = None, *, method: str | None = None) -> Answer:
    """One request with a JSON body; an error status is an answer too."""
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(
        url + path, data, {"content-type": "application/json"}, method=method or ("POST" if data else "GET")
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as response:
            return Answer(response.status, json.load(response))
    except urllib.error.HTTPError as error:
        return Answer(error.code, json.load(error))


def tokens(url: str, text: str, **how: object) -> list[tuple[str, int, int]]:
    """What the server makes of a text: (token, start, end)."""
    answer = ask(url, "/_analyze", {"text": text, **how})
    assert answer.status == 200, answer.body
    return [(token["token"], token["start_offset"], token["end_offset"]) for token in answer.body["tokens"]]


def run_python(code: str, *, env: dict[str, str] | None = None, **how: object) -> subprocess.Popen:
    """Another Python process that runs `code`; its output can be read."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **(env or {})},
        **how,
    )


@pytest.fixture(scope="session", autouse=True)
def _own_state(tmp_path_factory):
    """No test meets the detached node of the person who runs the tests."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MEM_OPENSEARCH_JAVA_OPTS", "-XX:TieredStopAtLevel=1")  # half the work of a start
        patch.setenv("MEM_OPENSEARCH_STATE", str(open_folder(tmp_path_factory.mktemp("state"))))
        yield


def open_folder(folder: Path) -> Path:
    """Let every account enter a folder of pytest, which are closed: root's node runs as another one."""
    for each in (folder, *folder.parents):
        if os.geteuid() != 0 or each == Path("/tmp") or each.parent == each:
            break
        each.chmod(each.stat().st_mode | 0o011)
    return folder


@pytest.fixture
def shared(tmp_path):
    return open_folder(tmp_path)


@pytest.fixture(scope="session")
def dictionary(tmp_path_factory):
    path = tmp_path_factory.mktemp("words") / "user.dic"
    path.write_text(USER_WORDS, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def node(dictionary):
    """A node with everything, for tests that only ask."""
    with LocalNode(analysis=("smartcn", "ik"), dictionary=dictionary) as running:
        yield running


@pytest.fixture
def mirror(httpserver, monkeypatch):
    """A Maven repository on this machine that serves the files of version 3.6.0 without analysis."""
    needed = read_lock("3.6.0").needed(())
    ensure_artifacts(cache_folder(), needed, title="OpenSearch 3.6.0", quiet=True)
    for artifact in needed:
        content = artifact_file(cache_folder(), artifact).read_bytes()
        httpserver.expect_request(f"/maven/{artifact.path}").respond_with_data(content)
    monkeypatch.setenv("MEM_OPENSEARCH_MAVEN", httpserver.url_for("/maven"))
    return httpserver


@pytest.fixture
def no_network(httpserver, monkeypatch):
    """A repository that has nothing: whoever asks it is found out."""
    monkeypatch.setenv("MEM_OPENSEARCH_MAVEN", httpserver.url_for("/nothing"))
    return httpserver
