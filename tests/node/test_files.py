"""The cache: checked, mended, resumed and shared. A repository on this machine serves the files."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socketserver
import threading
from pathlib import Path

import pytest
from werkzeug import Response

from mem_opensearch.errors import ArtifactError
from mem_opensearch.node.account import can_read, node_account
from mem_opensearch.node.artifacts import artifact_file, ensure_artifacts
from mem_opensearch.node.home import ensure_home
from mem_opensearch.node.java import find_java
from mem_opensearch.node.lockfile import Artifact, read_lock
from mem_opensearch.node.places import cache_folder

from .conftest import run_python

CONTENT = bytes(range(256)) * 4000
LOCK = read_lock("3.6.0")


@pytest.fixture
def artifact():
    digest = hashlib.sha256(CONTENT).hexdigest()
    return Artifact("org.example", "thing", "1.0", "jar", digest, len(CONTENT), ("lib",))


@pytest.fixture
def repository(httpserver, monkeypatch):
    monkeypatch.setenv("MEM_OPENSEARCH_MAVEN", httpserver.url_for("/maven"))
    return httpserver


def fetch(cache, artifact):
    return ensure_artifacts(cache, [artifact], title="test", quiet=True)


def prepare(cache):
    account = node_account()
    java = find_java(LOCK, account=account)
    return ensure_home(LOCK, (), cache=cache, java=java, account=account, quiet=True)


@pytest.mark.unit
def test_a_broken_off_download_goes_on_where_it_was(tmp_path, artifact, repository):
    def rest(request):
        begin = int(request.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        return Response(CONTENT[begin:], 206, {"Content-Range": f"bytes {begin}-{len(CONTENT) - 1}/{len(CONTENT)}"})

    repository.expect_request(f"/maven/{artifact.path}").respond_with_handler(rest)
    target = artifact_file(tmp_path, artifact)
    target.parent.mkdir(parents=True)
    part = target.with_name(f"{target.name}.part")
    part.write_bytes(CONTENT[:700_000])
    assert fetch(tmp_path, artifact) == {"thing-1.0.jar"}
    assert target.read_bytes() == CONTENT
    assert not part.exists()
    ((request, _),) = repository.log
    assert request.headers["Range"] == "bytes=700000-"


class _BreaksOff(socketserver.BaseRequestHandler):
    """Sends only 327,680 bytes of what it promises, each time it is asked."""

    def handle(self):
        lines = self.request.recv(65536).decode().split("\r\n")
        ranges = [line.partition("=")[2].rstrip("-") for line in lines if line.lower().startswith("range:")]
        begin = int(ranges[0]) if ranges else 0
        self.server.begins.append(begin)
        status = "206 Partial Content" if ranges else "200 OK"
        self.request.sendall(f"HTTP/1.1 {status}\r\nContent-Length: {len(CONTENT) - begin}\r\n\r\n".encode())
        self.request.sendall(CONTENT[begin : begin + 327_680])


@pytest.mark.unit
def test_a_connection_that_breaks_is_taken_up_again(tmp_path, artifact, monkeypatch):
    with socketserver.TCPServer(("127.0.0.1", 0), _BreaksOff) as server:
        server.begins = []
        threading.Thread(target=server.serve_forever, daemon=True).start()
        monkeypatch.setenv("MEM_OPENSEARCH_MAVEN", f"http://127.0.0.1:{server.server_address[1]}")
        fetch(tmp_path, artifact)
        server.shutdown()
    assert artifact_file(tmp_path, artifact).read_bytes() == CONTENT
    assert server.begins == [0, 327_680, 655_360, 983_040]


@pytest.mark.unit
def test_a_source_that_can_not_resume_sends_all_again(tmp_path, artifact, repository):
    repository.expect_request(f"/maven/{artifact.path}").respond_with_data(CONTENT)
    target = artifact_file(tmp_path, artifact)
    target.parent.mkdir(parents=True)
    target.with_name(f"{target.name}.part").write_bytes(b"x" * 1000)
    fetch(tmp_path, artifact)
    assert target.read_bytes() == CONTENT


@pytest.mark.unit
def test_a_wrong_part_is_thrown_away_and_fetched_anew(tmp_path, artifact, repository):
    def rest(request):
        begin = int(request.headers.get("Range", "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        return Response(CONTENT[begin:], 206 if begin else 200)

    repository.expect_request(f"/maven/{artifact.path}").respond_with_handler(rest)
    target = artifact_file(tmp_path, artifact)
    target.parent.mkdir(parents=True)
    target.with_name(f"{target.name}.part").write_bytes(b"wrong")
    fetch(tmp_path, artifact)
    assert target.read_bytes() == CONTENT


@pytest.mark.unit
def test_a_file_with_a_wrong_sum_is_never_used(tmp_path, artifact, repository, monkeypatch):
    monkeypatch.setattr("mem_opensearch.node.download.TRIES", 2)
    repository.expect_request(f"/maven/{artifact.path}").respond_with_data(CONTENT[::-1])
    with pytest.raises(ArtifactError, match=rf"thing-1.0.jar .*the lock says {artifact.sha256}"):
        fetch(tmp_path, artifact)
    assert not artifact_file(tmp_path, artifact).exists()


@pytest.mark.unit
def test_a_file_that_is_not_there_is_told_with_its_address(tmp_path, artifact, repository):
    repository.expect_request(f"/maven/{artifact.path}").respond_with_data("no", status=404)
    with pytest.raises(
        ArtifactError, match=r"thing-1.0.jar could not be fetched; http.*thing-1.0.jar: HTTP 404; .*MAVEN"
    ):
        fetch(tmp_path, artifact)
    assert len(repository.log) == 1, "a 404 is not tried again"


@pytest.mark.unit
def test_a_busy_source_is_asked_again(tmp_path, artifact, repository):
    repository.expect_ordered_request(f"/maven/{artifact.path}").respond_with_data("busy", status=503)
    repository.expect_ordered_request(f"/maven/{artifact.path}").respond_with_data(CONTENT)
    fetch(tmp_path, artifact)
    assert artifact_file(tmp_path, artifact).read_bytes() == CONTENT


@pytest.mark.unit
def test_progress_is_plain_lines_when_nobody_watches(tmp_path, artifact, repository, capsys):
    repository.expect_request(f"/maven/{artifact.path}").respond_with_data(CONTENT)
    ensure_artifacts(tmp_path, [artifact], title="OpenSearch 0", quiet=False)
    lines = capsys.readouterr()
    assert lines.err.splitlines() == ["Fetching OpenSearch 0: 1.0 MB", "Fetched OpenSearch 0: 1.0 MB in 0 s"]
    assert lines.out == ""


def test_a_cached_node_is_prepared_without_any_network(no_network):
    needed = LOCK.needed(("ik", "smartcn"))
    ensure_artifacts(cache_folder(), needed, title="OpenSearch 3.6.0", quiet=True) if not _all_there(needed) else None
    no_network.clear()
    prepare(cache_folder())
    assert no_network.log == []


def _all_there(needed):
    return all(artifact_file(cache_folder(), each).exists() for each in needed)


@pytest.fixture
def filled(shared, mirror):
    """A cache of its own, filled from the big one without the network."""
    for artifact in LOCK.needed(()):
        target = artifact_file(shared, artifact)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(artifact_file(cache_folder(), artifact), target)
    home = prepare(shared)
    assert mirror.log == []
    return shared, home


def _flip_a_bit(path: Path) -> None:
    """Change one bit and hide it: size and time stay."""
    info = path.stat()
    raw = bytearray(path.read_bytes())
    raw[len(raw) // 2] ^= 1
    path.write_bytes(raw)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def _truncate(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("damage", [_flip_a_bit, _truncate, Path.unlink])
def test_a_damaged_file_is_found_fetched_again_and_told_in_one_line(filled, mirror, caplog, damage):
    cache, home = filled
    victim = next(artifact for artifact in LOCK.artifacts if artifact.name == "lucene-core")
    damage(artifact_file(cache, victim))
    again = prepare(cache)
    assert again == home
    for path in (artifact_file(cache, victim), home / "lib" / victim.filename):
        assert hashlib.sha256(path.read_bytes()).hexdigest() == victim.sha256
    assert [request.path for request, _ in mirror.log] == [f"/maven/{victim.path}"]
    told = [record.message for record in caplog.records if record.levelname == "WARNING"]
    expected = [] if damage is Path.unlink else [f"{victim.filename} in the cache is damaged, it is fetched again"]
    assert told == expected


def test_a_damaged_unpacked_file_is_mended_without_the_network(filled, mirror, caplog):
    cache, home = filled
    jar = next((home / "plugins" / "opensearch-knn").glob("opensearch-knn-*.jar"))
    before = jar.read_bytes()
    _flip_a_bit(jar)
    prepare(cache)
    assert jar.read_bytes() == before
    assert mirror.log == []
    assert f"plugins/opensearch-knn/{jar.name} in the assembled node is damaged" in caplog.text


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's node runs as another account")
def test_a_cache_that_the_account_can_not_enter_gets_its_home_elsewhere(tmp_path, mirror, monkeypatch, shared):
    closed, elsewhere = tmp_path / "closed", shared / "elsewhere"
    monkeypatch.setattr("mem_opensearch.node.home.ROOT_CACHE", elsewhere)
    closed.mkdir(mode=0o700)
    home = prepare(closed)
    assert home.is_relative_to(elsewhere)
    account = node_account()
    assert all(can_read(path, account) for path in home.rglob("*"))


def test_two_processes_at_once_fetch_each_file_once(shared, mirror):
    code = """
from pathlib import Path
from mem_opensearch.node.account import can_read, node_account
from mem_opensearch.node.home import ensure_home
from mem_opensearch.node.java import find_java
from mem_opensearch.node.lockfile import read_lock
lock, account = read_lock("3.6.0"), node_account()
java = find_java(lock, account=account)
print(ensure_home(lock, (), cache=Path(r"%s"), java=java, account=account, quiet=True))
"""
    processes = [run_python(code % shared) for _ in range(2)]
    homes = []
    for process in processes:
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        homes.append(out.strip())
    assert homes[0] == homes[1]
    asked = sorted(request.path for request, _ in mirror.log)
    assert asked == sorted(f"/maven/{artifact.path}" for artifact in LOCK.needed(()))
    manifest = json.loads((Path(homes[0]) / "manifest.json").read_text())
    for name, digest in manifest.items():
        assert hashlib.sha256((Path(homes[0]) / name).read_bytes()).hexdigest() == digest
    assert not list(shared.rglob("*.part"))
