"""What a running node is and does. All tests share one node."""

from __future__ import annotations

import os
import pwd
from pathlib import Path

import pytest

from mem_opensearch.index.probe import knn_engines
from mem_opensearch.node.identity import ProcessId

from .conftest import ask


def test_it_is_the_version_asked_for_and_answers(node):
    answer = ask(node.url, "/")
    assert answer.body["version"]["number"] == node.version == "3.6.0"
    assert node.urls == [node.url]
    assert node.pids == [node.pid]
    assert node.running
    node.check()


def test_log_tail_is_the_end_of_its_log(node):
    lines = (node.folder / "node-1" / "logs" / "node.log").read_text().splitlines()
    assert node.log_tail(3) == lines[-3:]
    assert any("started" in line for line in node.log_tail(50))


def test_start_again_changes_nothing(node):
    before = node.pid
    assert node.start() is node
    assert node.pid == before


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's node runs as another account")
def test_roots_node_runs_as_an_ordinary_account(node):
    status = dict(
        line.split(":\t", 1) for line in Path(f"/proc/{node.pid}/status").read_text().splitlines() if ":\t" in line
    )
    uids, gids = set(status["Uid"].split()), set(status["Gid"].split())
    assert "0" not in uids | gids
    assert status["Groups"].split() in ([], [gids.pop()])
    assert pwd.getpwuid(int(uids.pop())).pw_name in {"opensearch", "nobody", "daemon"}


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="reads the sockets from /proc")
def test_it_listens_on_the_loopback_address_only(node):
    mine = {str(entry.readlink()) for entry in Path(f"/proc/{node.pid}/fd").iterdir() if entry.is_symlink()}
    listening = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{node.pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in mine:  # 0A: listens
                listening.append(fields[1].rsplit(":", 1))
    ports = {int(port, 16) for _, port in listening}
    assert len(ports) == 2, "one port for requests and one for other servers"
    assert int(node.url.rsplit(":", 1)[1]) in ports
    loopback = {"0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F"}
    assert {address for address, _ in listening} <= loopback


def test_it_says_which_knn_engines_it_has(node):
    assert knn_engines(ask(node.url, "/_nodes").body["nodes"]) == {"lucene"}
    assert knn_engines(ask(node.url, "/_nodes/plugins").body["nodes"]) == {"lucene"}


def test_knn_with_lucene_finds_the_nearest(node):
    method = {"name": "hnsw", "engine": "lucene", "space_type": "cosinesimil"}
    mapping = {"properties": {"v": {"type": "knn_vector", "dimension": 2, "method": method}}}
    ask(node.url, "/vectors", {"settings": {"index.knn": True}, "mappings": mapping}, method="PUT")
    for name, vector in {"east": [1.0, 0.1], "north": [0.1, 1.0]}.items():
        ask(node.url, f"/vectors/_doc/{name}?refresh=true", {"v": vector}, method="PUT")
    found = ask(node.url, "/vectors/_search", {"query": {"knn": {"v": {"vector": [0.0, 1.0], "k": 1}}}}).body
    assert [hit["_id"] for hit in found["hits"]["hits"]] == ["north"]


def test_modules_for_reindex_scripts_and_field_types_are_there(node):
    ask(node.url, "/from/_doc/1?refresh=true", {"n": 1}, method="PUT")
    body = {"source": {"index": "from"}, "dest": {"index": "to"}, "script": {"source": "ctx._source.n += 41"}}
    assert ask(node.url, "/_reindex?refresh=true", body).body["created"] == 1
    assert ask(node.url, "/to/_doc/1").body["_source"] == {"n": 42}
    mapping = {"mappings": {"properties": {"f": {"type": "flat_object"}, "r": {"type": "rank_feature"}}}}
    assert ask(node.url, "/typed", mapping, method="PUT").status == 200


def test_snapshots_can_be_kept_in_its_folder(node):
    ask(node.url, "/kept/_doc/1?refresh=true", {"n": 1}, method="PUT")
    location = str(node.folder / "snapshots" / "here")
    repository = {"type": "fs", "settings": {"location": location}}
    assert ask(node.url, "/_snapshot/here", repository, method="PUT").status == 200
    made = ask(node.url, "/_snapshot/here/one?wait_for_completion=true", {"indices": "kept"}, method="PUT")
    assert made.body["snapshot"]["state"] == "SUCCESS"


def test_a_full_disk_does_not_make_it_read_only(node):
    settings = ask(node.url, "/_cluster/settings?include_defaults=true&flat_settings=true").body
    values = {**settings["defaults"], **settings["persistent"]}
    assert values["cluster.routing.allocation.disk.threshold_enabled"] == "false"


def test_a_process_is_not_taken_for_another_with_its_number(node):
    real = ProcessId.of(node.pid)
    assert real.is_alive()
    assert not ProcessId(node.pid, "another boot:1").is_alive()
