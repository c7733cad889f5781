"""The plugin of the image is the plugin of the local node, byte for byte, so both cut a text into the same tokens."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import zipfile

import pytest

from mem_opensearch.node.account import node_account
from mem_opensearch.node.home import ensure_home
from mem_opensearch.node.java import find_java
from mem_opensearch.node.lockfile import DEFAULT_VERSION, read_lock
from mem_opensearch.node.places import cache_folder

from .conftest import DOCKER, ROOT


@pytest.fixture(scope="module")
def home():
    lock = read_lock(DEFAULT_VERSION)
    return ensure_home(lock, ("ik",), cache=cache_folder(), java=find_java(lock), account=node_account(), quiet=True)


def test_the_build_gives_the_local_nodes_plugin(home, tmp_path):
    target = tmp_path / "analysis-ik.zip"
    command = [sys.executable, str(DOCKER / "build_plugin.py"), DEFAULT_VERSION]
    done = subprocess.run(
        [*command, "--library", str(home / "lib"), "--target", str(target)],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(target) as archive:
        packed = {name: archive.read(name) for name in archive.namelist()}
    local = {path.name: path.read_bytes() for path in (home / "plugins" / "analysis-ik").iterdir()}
    assert packed.keys() == local.keys()
    assert packed == local

    brought = [artifact for artifact in read_lock(DEFAULT_VERSION).artifacts if "plugins/analysis-ik" in artifact.into]
    assert {artifact.name for artifact in brought} == {"ik-analyzer", "slf4j-api"}
    for artifact in brought:
        assert hashlib.sha256(packed[artifact.filename]).hexdigest() == artifact.sha256


def test_a_version_without_a_lock_is_refused(tmp_path):
    command = [sys.executable, str(DOCKER / "build_plugin.py"), "1.0.0", "--library", str(tmp_path)]
    done = subprocess.run(
        [*command, "--target", str(tmp_path / "out.zip")],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        timeout=60,
    )
    assert done.returncode != 0
    assert DEFAULT_VERSION in done.stderr
    assert not (tmp_path / "out.zip").exists()
