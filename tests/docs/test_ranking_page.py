"""The example of docs/ranking.md runs, and its weights are those of the code."""

import re
from pathlib import Path

import pytest

from mem_opensearch.fusion import UnionWeights

pytestmark = pytest.mark.unit
PAGE = (Path(__file__).parents[2] / "docs" / "ranking.md").read_text(encoding="utf-8")


def test_the_example():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(compile(code, "ranking.md", "exec"), {})


def test_the_weights():
    weights = UnionWeights()
    adds = dict(re.findall(r"^\| ([a-z]+) \| ([0-9.]+) \|", PAGE, flags=re.MULTILINE))
    assert {name: float(value) for name, value in adds.items()} == {
        "meaning": 1.0,
        "words": weights.words,
        "identifiers": weights.identifiers,
        "context": pytest.approx(weights.context * weights.words),
        "entity": weights.entity,
        "time": weights.window,
        "slot": weights.slot,
        "recency": weights.recency,
    }


def test_the_table_of_how_flat_has_the_defaults():
    weights = UnionWeights()
    row = "\n".join(line for line in PAGE.splitlines() if re.match(r"\| [a-z_]+ \([0-9.]+\)", line))
    named = re.findall(r"([a-z_]+) \(([0-9.]+)\)", row)
    assert len(named) == 11
    assert all(getattr(weights, name) == float(value) for name, value in named)
