"""The examples of docs/time.md run, and print what the page says."""

import re
from pathlib import Path

import pytest

pytestmark = pytest.mark.unit
PAGE = (Path(__file__).parents[2] / "docs" / "time.md").read_text(encoding="utf-8")


def test_the_examples(capsys):
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    exec(compile(code, "time.md", "exec"), {})
    (printed,) = re.findall(r"```\n(- .*?)```", PAGE, flags=re.DOTALL)
    assert capsys.readouterr().out == printed
