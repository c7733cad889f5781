"""The Dockerfile: its versions, what it copies, and what it builds the plugin from."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from mem_opensearch.node.lockfile import DEFAULT_VERSION

from .conftest import DOCKER, ROOT

pytestmark = pytest.mark.unit


def test_the_default_version_is_the_local_nodes(instructions):
    assert ("ARG", f"OPENSEARCH_VERSION={DEFAULT_VERSION}") in instructions
    bases = [rest.split()[0] for name, rest in instructions if name == "FROM"]
    assert bases.count("opensearchproject/opensearch:${OPENSEARCH_VERSION}") == 1
    assert all(":" in base or base == "official" for base in bases)  # nothing floats on :latest


def test_what_it_copies_exists_and_is_not_ignored(instructions):
    ignored = (DOCKER / "opensearch.Dockerfile.dockerignore").read_text().splitlines()
    copied = [
        source
        for name, rest in instructions
        if name == "COPY" and "--from" not in rest
        for source in [word for word in rest.split() if not word.startswith("--")][:-1]
    ]
    assert "mem_opensearch/" in copied
    for source in copied:
        assert (ROOT / source).exists(), source
        assert f"!{source.rstrip('/')}" in ignored, source


def test_the_plugin_goes_in_by_the_servers_own_tool(instructions):
    assert any(
        name == "RUN" and "bin/opensearch-plugin install --batch file:///tmp/analysis-ik.zip" in rest
        for name, rest in instructions
    )


def test_it_runs_as_the_images_unprivileged_user(instructions):
    assert not any(name == "USER" for name, _ in instructions)  # the official image's own is the last word


def test_no_address_is_written_into_what_is_built():
    for path in DOCKER.rglob("*"):
        if path.is_file():
            for host in re.findall(r"https?://([\w.:-]+)", path.read_text(encoding="utf-8")):
                assert host.split(":")[0] == "localhost", f"{path}: {host}"


def test_the_builds_packages_are_pinned_within_the_projects_ranges():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    ranges = [Requirement(line) for line in (*project["dependencies"], *project["optional-dependencies"]["local"])]
    wanted = {requirement.name: requirement.specifier for requirement in ranges}
    lines = (DOCKER / "build-requirements.txt").read_text().splitlines()
    pinned = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert set(pinned) == {"tenacity", *(Requirement(x).name for x in project["optional-dependencies"]["local"])}
    for name, version in pinned.items():
        assert version in wanted[name], name


def test_hadolint_finds_nothing():
    beside = Path(sys.executable).with_name("hadolint")
    program = str(beside) if beside.exists() else shutil.which("hadolint")
    if program is None:
        pytest.skip("no hadolint here: its package has no wheel for this platform")
    done = subprocess.run([program, str(DOCKER / "opensearch.Dockerfile")], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "")
