"""The README: its example runs as it stands, its commands exist, its links lead somewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mem_opensearch.cli import app

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_example_runs_on_a_node_of_its_own(tmp_path):
    (example,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert len(example.strip().splitlines()) <= 15
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MEM_OPENSEARCH_URL")}
    environment |= {"MEM0_DIR": str(tmp_path), "MEM0_TELEMETRY": "False"}
    done = subprocess.run(
        [sys.executable, "-c", example], capture_output=True, text=True, env=environment, cwd=tmp_path, timeout=300
    )
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.strip().splitlines()
    assert first.startswith("px441 是什么？ -> 印表機的專案代號是ＰＸ－４４１ (")
    assert second.startswith("我住在台北哪里？ -> 我住在臺北的大安區 (")


@pytest.mark.unit
def test_every_command_in_it_exists():
    help_text = CliRunner().invoke(app, ["--help"]).stdout
    for command in re.findall(r"`mem-opensearch (\w+)", README):
        assert re.search(rf"\b{command}\b", help_text), command
    node_help = CliRunner().invoke(app, ["node", "--help"]).stdout
    for command in ("start", "stop", "status", "logs"):
        assert command in node_help


@pytest.mark.unit
def test_its_scripts_extras_links_and_picture_exist():
    for name in re.findall(r"^(scripts/\w+) ", README, flags=re.MULTILINE):
        assert os.access(ROOT / name, os.X_OK), name
    for target in re.findall(r"\]\((?!http)([^)#]+)\)", README):
        assert (ROOT / target).is_file(), target
    assert ET.parse(ROOT / "docs" / "flow.svg").getroot().tag.endswith("svg")
    extras = set(re.search(r"mem-opensearch\[([\w,]+)\]", README).group(1).split(","))
    assert extras <= set(re.findall(r"^(\w+) = \[", (ROOT / "pyproject.toml").read_text(), flags=re.MULTILINE))
