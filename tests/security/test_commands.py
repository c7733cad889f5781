"""Every command that talks to a server reaches one behind TLS and passwords, by environment variables alone.

`demo` and `evaluate` are left out: they bring a local node of their own.
"""

import json
import os
import subprocess
import sys

import pytest
from gateway import PASSWORD, USER
from typer.testing import CliRunner

from mem_opensearch.cli import app

VECTOR = [1.0, 0.0, 0.0, 0.0]


@pytest.fixture
def environment(secured, authority, monkeypatch):
    variables = {
        "MEM_OPENSEARCH_URL": secured.url,
        "MEM_OPENSEARCH_CA_CERTS": authority.file,
        "MEM_OPENSEARCH_USER": USER,
        "MEM_OPENSEARCH_PASSWORD": PASSWORD,
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    return variables


@pytest.fixture
def run(environment, secured):
    def call(*arguments, code=0):
        secured.requests.clear()
        result = CliRunner().invoke(app, [str(each) for each in arguments])
        assert result.exit_code == code, result.output
        assert secured.requests, "it went somewhere else"
        assert PASSWORD not in result.output
        return result.output

    return call


@pytest.fixture
def other(collection, store_at, secured, authority):
    """The name of a second collection, which is removed too."""
    yield f"{collection}-other"
    for suffix in ("", "_entities"):
        store_at(
            secured.url,
            ca_certs=authority.file,
            user=USER,
            password=PASSWORD,
            collection_name=f"{collection}-other{suffix}",
        ).delete_col()


def test_init(run, collection):
    wanted = ("init", "--collection", collection, "--dims", 4)
    assert "missing" in run(*wanted, "--check", code=1)
    assert "would_send" in run(*wanted, "--dry-run", "--json")
    assert "made" in run(*wanted)
    assert "ok" in run(*wanted, "--check")
    assert "rolled" in run(*wanted, "--roll")
    assert "dropped" in run(*wanted, "--drop-old")


def test_init_as_a_process(environment, collection):
    command = [sys.executable, "-m", "mem_opensearch.init", "--collection", collection, "--dims", "4", "--json"]
    variables = os.environ | environment | {"PYTHONPATH": os.pathsep.join(sys.path)}
    result = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stderr
    assert [report["state"] for report in json.loads(result.stdout)] == ["made", "made"]


def test_analyze(run):
    assert "px441" in run("analyze", "ＰＸ－４４１", "--json")


def test_export_and_import(run, collection, other, store_at, secured, authority, tmp_path):
    store = store_at(secured.url, ca_certs=authority.file, user=USER, password=PASSWORD)
    store.insert([VECTOR], [{"data": "臺北"}], ["1"])
    file = tmp_path / "rows.jsonl"
    assert "1 rows written" in run("export", file, "--collection", collection)
    assert "1 rows stored" in run("import", file, "--collection", other)


def test_migrate(run, collection, other, opensearch_url, store_at, secured):
    plain = store_at(opensearch_url).client
    source = f"{other}-source"
    # The engine must be named: by default it is faiss, for which this node lacks the native library.
    vector = {"type": "knn_vector", "dimension": 4, "method": {"name": "hnsw", "engine": "lucene"}}
    body = {"settings": {"index": {"knn": True}}, "mappings": {"properties": {"vector_field": vector}}}
    plain.request("PUT", f"/{source}", body=body)
    try:
        row = {"vector_field": VECTOR, "id": "1", "payload": {"data": "臺北", "user_id": "u"}}
        plain.request("PUT", f"/{source}/_doc/a", params={"refresh": "true"}, body=row)
        assert "1 memories moved" in run("migrate", "--from", source, "--collection", other)
    finally:
        plain.request("DELETE", f"/{source}")


COMMANDS = [
    ("init", "--check"),
    ("analyze", "x"),
    ("export", "-", "--collection", "c"),
    ("import", "FILE", "--collection", "c", "--dims", "4"),
    ("migrate", "--from", "i", "--collection", "c"),
]


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_a_wrong_password_is_said_in_one_line(arguments, environment, monkeypatch, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"id": "1", "vector": VECTOR, "payload": {"data": "a"}}) + "\n")
    monkeypatch.setenv("MEM_OPENSEARCH_PASSWORD", "falsches-Passwort")
    result = CliRunner().invoke(app, [str(file) if each == "FILE" else each for each in arguments])
    assert result.exit_code == 2, result.output
    assert "check the credentials" in result.output
    assert "falsches" not in result.output


@pytest.mark.parametrize("arguments", COMMANDS, ids=lambda arguments: arguments[0])
def test_an_unknown_authority_is_said_in_one_line(arguments, environment, monkeypatch, tmp_path):
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({"id": "1", "vector": VECTOR, "payload": {"data": "a"}}) + "\n")
    monkeypatch.delenv("MEM_OPENSEARCH_CA_CERTS")
    result = CliRunner().invoke(app, [str(file) if each == "FILE" else each for each in arguments])
    assert result.exit_code == 2, result.output
    assert "in 'ca_certs'" in " ".join(result.output.split())
