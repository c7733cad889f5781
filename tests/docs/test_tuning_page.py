"""docs/tuning-measured.md is what the numbers give, and no set is worse for tuning on other users."""

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_measured_page_is_what_the_numbers_give():
    script = ROOT / "scripts" / "measure-tune"
    done = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_no_set_is_worse_for_it():
    sets = json.loads((ROOT / "docs" / "tuning.json").read_text())["sets"]
    assert len(sets) >= 8
    for name, row in sets.items():
        assert row["is_kept"] == (row["validation"] <= row["default"] or not row["search"]), name
        assert bool(row["search"]) != row["is_kept"], name
