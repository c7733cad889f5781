"""The examples of docs/rerank-mastra.md run, and print what the page says; its weights are those of the code."""

import re
from pathlib import Path

import pytest

from mem_opensearch.rerank.mastra import DEFAULT_WEIGHTS

pytestmark = pytest.mark.unit
PAGE = (Path(__file__).parents[2] / "docs" / "rerank-mastra.md").read_text(encoding="utf-8")


def test_the_examples(capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    exec(compile(code, "rerank-mastra.md", "exec"), {})
    (printed,) = re.findall(r"```\n(m2 .*?)```", PAGE, flags=re.DOTALL)
    assert capsys.readouterr().out == printed


def test_the_weights():
    rows = re.findall(r"^\| `(\w+)` \| .* \| ([0-9.]+) \|$", PAGE, flags=re.MULTILINE)
    assert {name: float(weight) for name, weight in rows} == DEFAULT_WEIGHTS
