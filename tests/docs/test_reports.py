"""Each test that docs/reports.md names is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reports.md").read_text(encoding="utf-8")


def test_every_row_names_tests_that_are_there():
    rows = [line for line in PAGE.splitlines() if "#" in line and line.startswith("| ")]
    assert len(rows) >= 38
    for row in rows:
        named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", row)
        assert named, row
        for path, name in named:
            tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
            assert name in {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}, (path, name)
