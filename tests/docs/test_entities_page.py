"""The examples of docs/entities.md run as they stand, one after the other."""

from __future__ import annotations

import re
import uuid
from pathlib import Path

from mem_opensearch import OpenSearchVectorStore

PAGE = (Path(__file__).parents[2] / "docs" / "entities.md").read_text(encoding="utf-8")


def test_the_examples(opensearch_url, capsys):
    name = f"t-{uuid.uuid4().hex}"
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL))
    code = code.replace('url="local", collection_name="memories"', f"url={opensearch_url!r}, collection_name={name!r}")
    try:
        exec(compile(code, "entities.md", "exec"), {})
    finally:
        for suffix in ("_entities", ""):
            OpenSearchVectorStore(url=opensearch_url, collection_name=name + suffix).delete_col()
    taipei, two, cat, third, chief, asked, containing, spelled, names, merged = capsys.readouterr().out.splitlines()
    assert taipei.count("Entity(") == 1
    assert "name='臺北'" in taipei
    assert "memory_ids=('m1', 'm2')" in taipei
    assert two.count("Entity(") == 2
    assert "type='cat', memory_ids=('m2',)" in cat
    assert third.count("Entity(") == 2
    assert chief.count("Entity(") == 2
    assert "name='總監'" in chief
    assert "memory_ids=('m4', 'm5')" in chief
    assert "name='盛懷瑾'" in chief
    assert "aliases=('總監',)" in asked
    for found in (containing, spelled):
        assert found.count("Hit(") == 1
        assert "id='m6'" in found
    assert sorted(eval(names)) == ["北市", "臺北"]
    assert "memory_ids=('m1', 'm2', 'm3'), aliases=('北市',)" in merged


def test_every_method_in_the_table_exists():
    from mem_opensearch import EntityStore

    rows = [line for line in PAGE.splitlines() if line.startswith("| `")]
    named = [word for row in rows for word in re.findall(r"`(\w+)", row.split("|")[1])]
    assert len(named) == 14
    assert all(callable(getattr(EntityStore, name)) for name in named)
