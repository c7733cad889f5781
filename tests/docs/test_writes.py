"""The code of docs/writes.md runs."""

from __future__ import annotations

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "writes.md").read_text(encoding="utf-8")


def test_the_code_of_the_page_runs(opensearch_url, collection):
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL)
    exec(code, {"URL": opensearch_url, "NAME": collection})
