"""A collection in a file: everything comes back, bad lines are named, memory stays flat."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from load import DIMS, everything, fill, payload_of, vector_of
from typer.testing import CliRunner

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.cli import app
from mem_opensearch.errors import ConfigError, IndexStateError, InvalidInputError, LineError
from mem_opensearch.transfer import export_collection, export_rows, import_collection

ODD = {
    "data": "全型ＰＸ－４４１，臺北 𠮷😂\n\t\"'\\\u2028",
    "big": 2**63 - 1,
    "small": -(2**63),
    "float": 1.0,
    "tiny": 5e-324,
    "none": None,
    "flag": True,
    "nested": {"键": [1, [2, [3]], {"a.b": {"": "空"}}], "空": {}},
    "created_at": "2026-08-01T10:00:00.123456+08:00",
    "not a date": "2026-99-99",
    "user_id": "u1",
}


def rows_of(store):
    return {row["id"]: row for row in export_rows(store)}


def check_equal(rows, others):
    assert rows.keys() == others.keys()
    for row_id, row in rows.items():
        assert row["payload"] == others[row_id]["payload"]
        assert np.array_equal(np.float32(row["vector"]), np.float32(others[row_id]["vector"]))


@pytest.fixture
def other(opensearch_url, collection):
    """Name of the collection that a test imports into."""
    name = f"{collection}-copy"
    yield name
    OpenSearchVectorStore(url=opensearch_url, collection_name=name).delete_col()


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.jsonl.gz"])
def test_round_trip(store, tmp_path, name, other):
    fill(store, 1100)
    odd_ids = ["a/b", "..", "a b", "ü?x=1&y", "记忆-1", "𠮷"]
    store.insert([vector_of(n) for n in range(len(odd_ids))], [ODD | {"id": row_id} for row_id in odd_ids], odd_ids)
    file = str(tmp_path / name)
    report = export_collection(store, file)
    assert (report.rows, report.dims) == (1106, DIMS)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    imported = import_collection(file, url=store.client.hosts[0], collection_name=other)
    assert (imported.rows, imported.dims, imported.made, imported.count) == (1106, DIMS, True, 1106)
    copy = OpenSearchVectorStore(url=store.client.hosts[0], collection_name=other, embedding_model_dims=DIMS)
    check_equal(rows_of(store), rows_of(copy))
    assert type(copy.get("a/b").payload["float"]) is float
    assert copy.get("a/b").payload == ODD | {"id": "a/b"}
    assert copy.search("", vector_of(7), top_k=1)[0].id == "m7"
    assert "m7" in [hit.id for hit in copy.keyword_search("PX-7")]
    assert [hit.id for hit in copy.list(filters={"n": 7})[0]] == ["m7"]
    again = import_collection(file, url=store.client.hosts[0], collection_name=other)
    assert (again.made, again.count) == (False, 1106)
    check_equal(rows_of(store), rows_of(copy))


def test_it_is_the_state_of_one_moment(store):
    fill(store, 2500)
    rows = export_rows(store)
    first = next(rows)
    store.delete("m1")
    store.update("m2", payload={"data": "later"})
    store.insert([vector_of(1)], [payload_of(1)], ["later"])
    seen = {row["id"]: row["payload"] for row in [first, *rows]}
    assert seen == {f"m{n}": payload_of(n) for n in range(2500)}


def test_memory_is_flat(store, opensearch_url, tmp_path, other):
    """20,000 rows need no more memory than 2,000: the peak is that of a page, not of the collection."""
    file, peaks = str(tmp_path / "rows.jsonl"), []
    for count in (2_000, 20_000):
        for start in range(len(everything(store)) if count > 2_000 else 0, count, 2_000):
            numbers = range(start, start + 2_000)
            store.insert([vector_of(n) for n in numbers], [payload_of(n) for n in numbers], [f"m{n}" for n in numbers])
        sizes = []
        for work in (
            lambda: export_collection(store, file),
            lambda: import_collection(file, url=opensearch_url, collection_name=other),
        ):
            tracemalloc.start()
            report = work()
            sizes.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
            assert report.rows == count
        peaks.append(sizes)
    print(f"\npeaks in bytes, export and import: {peaks[0]} for 2,000 rows, {peaks[1]} for 20,000")
    for small, large in zip(*peaks, strict=True):
        assert large < 1.5 * small + 1_000_000


def line_of(number, **changes):
    return json.dumps({"id": f"m{number}", "payload": payload_of(number), "vector": vector_of(number)} | changes)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("{broken", "not JSON"),
        ("[1]", "list, expected an object with the keys: id, payload, vector"),
        ('{"id": "x", "vector": [1]}', "has 0 unknown keys and lacks payload"),
        (line_of(1, 记忆="x"), "has 1 unknown keys and lacks none"),
        (line_of(1, id=7), "'id' is int, expected a string"),
        (line_of(1, id=""), "a memory id is a non-empty string"),
        (line_of(1, payload="x"), "'payload' is str, expected an object"),
        (line_of(1, payload={"user_id": 7}), "'user_id' is int, expected a string"),
        (line_of(1, vector="x"), "'vector' is str, expected a list of numbers"),
        (line_of(1, vector=[1.0]), f"has 1 dimensions, index '.*' has {DIMS}"),
        (line_of(1, vector=[0] * DIMS), "is all zero"),
        (line_of(1, vector=["x"] * DIMS), "not a number"),
    ],
)
def test_a_bad_line_is_named_and_what_is_stored_is_said(store, collection, tmp_path, bad, said):
    file = tmp_path / "rows.jsonl"
    lines = [line_of(n) for n in range(700)]
    lines[600:600] = ["", bad]
    file.write_text("\n".join(lines))
    with pytest.raises(LineError, match=said) as caught:
        import_collection(str(file), url=store.client.hosts[0], collection_name=collection)
    assert (caught.value.file, caught.value.line, caught.value.stored) == (str(file), 602, 600)
    assert "rows.jsonl, line 602: " in str(caught.value)
    assert "记忆" not in str(caught.value)
    assert everything(store) == {f"m{n}": payload_of(n) for n in range(600)}
    file.write_text("\n".join(lines[:601] + lines[602:]))
    assert import_collection(str(file), url=store.client.hosts[0], collection_name=collection).count == 700


def test_a_bad_first_line_stores_nothing(opensearch_url, collection, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(line_of(1, vector=[]))
    with pytest.raises(ConfigError, match="'m1'.* has an empty vector"):
        import_collection(str(file), url=opensearch_url, collection_name=collection)
    file.write_text(line_of(1, vector=[0, 0]))
    with pytest.raises(LineError, match="all zero"):
        import_collection(str(file), url=opensearch_url, collection_name=collection)
    store = OpenSearchVectorStore(url=opensearch_url, collection_name=collection)
    assert store.col_info()["exists"] is False


def test_files_that_are_none(store, opensearch_url, collection, tmp_path):
    options = {"url": opensearch_url, "collection_name": collection}
    with pytest.raises(IndexStateError, match="there is no collection"):
        export_collection(store, str(tmp_path / "x.jsonl"))
    assert list(tmp_path.iterdir()) == []
    fill(store, 600)
    with pytest.raises(ConfigError, match="can't be written: No such file"):
        export_collection(store, str(tmp_path / "no" / "x.jsonl"))
    with pytest.raises(ConfigError, match="can't be read: No such file"):
        import_collection(str(tmp_path / "x.jsonl"), **options)
    (tmp_path / "plain.gz").write_text("{}")
    with pytest.raises(ConfigError, match="can't be read: Not a gzipped file"):
        import_collection(str(tmp_path / "plain.gz"), **options)
    export_collection(store, str(tmp_path / "x.jsonl.gz"))
    whole = (tmp_path / "x.jsonl.gz").read_bytes()
    assert gzip.decompress(whole).count(b"\n") == 600
    (tmp_path / "cut.jsonl.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(LineError, match="compressed data that was cut off"):
        import_collection(str(tmp_path / "cut.jsonl.gz"), **options)
    (tmp_path / "empty.jsonl").write_text("")
    assert import_collection(str(tmp_path / "empty.jsonl"), **options).rows == 0
    with pytest.raises((IndexStateError, InvalidInputError), match="dimensions"):
        import_collection(str(tmp_path / "x.jsonl.gz"), **options, embedding_model_dims=9)


def test_an_interrupted_export_leaves_the_file_that_was_there(store, tmp_path):
    fill(store, 1500)
    file = tmp_path / "rows.jsonl"
    file.write_text("before")

    def interrupt(*_):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        export_collection(store, str(file), progress=interrupt)
    assert file.read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


def test_the_commands(store, collection, tmp_path, other):
    fill(store, 30)
    file = str(tmp_path / "rows.jsonl.gz")
    url = ["--url", store.client.hosts[0]]
    out = CliRunner().invoke(app, ["export", file, "--collection", collection, *url])
    assert (out.exit_code, out.stdout) == (0, f"{collection}: 30 rows written to {file}\n")
    back = CliRunner().invoke(app, ["import", file, "--collection", other, *url])
    assert (back.exit_code, back.stdout) == (0, f"{other} (made): 30 rows stored from {file}; it has 30 now\n")
    report = json.loads(CliRunner().invoke(app, ["import", file, "--collection", other, *url, "--json"]).stdout)
    assert (report["rows"], report["made"], report["dims"]) == (30, False, DIMS)
    (tmp_path / "bad.jsonl").write_text("nothing")
    bad = CliRunner().invoke(app, ["import", str(tmp_path / "bad.jsonl"), "--collection", other, *url])
    assert bad.exit_code == 2
    assert "bad.jsonl, line 1: not JSON" in bad.stderr
    none = CliRunner().invoke(app, ["export", file, "--collection", "nosuch", *url])
    assert none.exit_code == 2
    assert "there is no collection 'nosuch'" in none.stderr


def test_through_a_pipe(store, opensearch_url, collection, other):
    fill(store, 30)
    command = [sys.executable, "-m", "mem_opensearch"]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "MEM_OPENSEARCH_URL": opensearch_url}
    out = subprocess.run([*command, "export", "-", "--collection", collection], capture_output=True, env=environment)
    assert out.returncode == 0, out.stderr
    assert [json.loads(line)["id"] for line in out.stdout.splitlines()] == sorted(f"m{n}" for n in range(30))
    back = subprocess.run(
        [*command, "import", "-", "--collection", other], input=out.stdout, capture_output=True, env=environment
    )
    assert back.returncode == 0, back.stderr
    copy = OpenSearchVectorStore(url=opensearch_url, collection_name=other, embedding_model_dims=DIMS)
    check_equal(rows_of(store), rows_of(copy))


def test_on_opensearch_2(old_server, tmp_path):
    store, copy = (
        OpenSearchVectorStore(url=old_server, collection_name=name, embedding_model_dims=DIMS) for name in ("e", "e2")
    )
    fill(store, 1200)
    store.insert([vector_of(1)], [ODD], ["odd"])
    file = str(tmp_path / "rows.jsonl")
    export_collection(store, file)
    report = import_collection(file, url=old_server, collection_name="e2")
    assert (report.rows, report.count) == (1201, 1201)
    check_equal(rows_of(store), rows_of(copy))
