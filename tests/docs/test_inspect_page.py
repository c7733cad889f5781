"""docs/inspect.md: its pictures exist, and its options and keys are those of the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from mem_opensearch.cli import app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "inspect.md").read_text(encoding="utf-8")

pytestmark = pytest.mark.unit


def test_its_pictures_are_those_that_the_script_takes():
    script = (ROOT / "scripts" / "draw-docs").read_text()
    for name in re.findall(r"!\[[^]]+\]\(inspect-([\w-]+)\.png\)", PAGE):
        assert (ROOT / "docs" / f"inspect-{name}.png").read_bytes().startswith(b"\x89PNG")
        assert f"inspect-{name}" in re.search(r"for picture in (.*); do", script)[1].split()


def test_its_options_are_those_of_the_command():
    told = re.sub(r"\s+", " ", CliRunner(env={"COLUMNS": "200"}).invoke(app, ["inspect", "--help"]).stdout)
    for option in set(re.findall(r"(?<![-|])--[a-z][a-z-]*", PAGE)):
        assert option in told, option


def test_its_keys_are_those_of_the_page():
    template = (ROOT / "mem_opensearch" / "inspect" / "templates" / "page.html").read_text(encoding="utf-8")
    keys = {key for key, _ in re.findall(r"\('([^']+)', '(\w+)'\)", template)}
    section = PAGE.partition("## Keys")[2].partition("##")[0]
    for key in keys:
        assert key in section, key
    assert set(re.findall(r"`([^`]+)`", section)) <= keys
