"""docs/performance.md is what the measurements give, and its pictures are there."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "performance"
PAGE = ROOT / "docs" / "performance.md"

pytestmark = pytest.mark.unit


def test_the_page_is_up_to_date():
    result = subprocess.run(
        [sys.executable, "-m", "benchmarks", "page", "--check"], cwd=ROOT, capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr


def test_its_pictures_are_there():
    named = re.findall(r"!\[[^]]+\]\(([^)]+)\)", PAGE.read_text(encoding="utf-8"))
    assert named
    for name in named:
        assert (PAGE.parent / name).read_text(encoding="utf-8").startswith("<svg")


def test_every_measurement_names_the_machine_and_five_runs_where_it_is_timed():
    files = list(FOLDER.glob("*.json"))
    assert files
    for file in files:
        result = json.loads(file.read_text(encoding="utf-8"))
        assert result["benchmark"] == file.stem
        assert result["machine"]["cores"]
        assert result.get("runs", 5) >= 5
