"""The example of docs/read-path.md runs, and the page names every reason and detail that there is."""

from __future__ import annotations

import re
import uuid
from pathlib import Path
from typing import get_args

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.search import Reason

PAGE = (Path(__file__).parents[2] / "docs" / "read-path.md").read_text(encoding="utf-8")


def test_the_example(opensearch_url):
    name = f"t-{uuid.uuid4().hex}"
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    assert 'url="local", collection_name="read_path"' in code
    code = code.replace('url="local", collection_name="read_path"', f"url={opensearch_url!r}, collection_name={name!r}")
    try:
        exec(compile(code, "read-path.md", "exec"), {})
    finally:
        OpenSearchVectorStore(url=opensearch_url, collection_name=name).delete_col()


def test_every_reason_is_on_the_page():
    assert all(f"`{reason}`" in PAGE for reason in get_args(Reason))
