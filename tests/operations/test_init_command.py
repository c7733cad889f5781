"""What `python -m mem_opensearch.init` says of a live index, and how it rolls one."""

from __future__ import annotations

import json

import pytest
from load import DIMS, fill
from typer.testing import CliRunner

from mem_opensearch.cli import app
from mem_opensearch.client.failures import from_status
from mem_opensearch.index import list_generations, roll_index


@pytest.fixture
def run(opensearch_url, collection):
    def invoke(*arguments):
        return CliRunner().invoke(app, ["init", "--url", opensearch_url, "--collection", collection, *arguments])

    return invoke


def differences(run):
    checked = run("--dims", str(DIMS), "--check", "--json")
    return checked.exit_code, json.loads(checked.stdout)[0]


def test_roll_keep_check_drop(run, store, make_store, collection):
    fill(store, 40)
    run("--dims", str(DIMS))  # the entities too
    rolled = run("--roll")  # the dimension is the live one, not the default
    assert rolled.exit_code == 0, rolled.stderr
    assert f"{collection}: rolled from {collection}-v1-000001 to {collection}-v1-000002, 40 rows" in rolled.stdout
    assert f"{collection}_entities: rolled from" in rolled.stdout
    assert "copying" in rolled.stderr
    code, report = differences(run)
    assert (code, report["state"], report["index"]) == (0, "ok", f"{collection}-v1-000002")
    mend = f"python -m mem_opensearch.init --collection {collection} --drop-old"
    assert report["notes"] == [f"old index '{collection}-v1-000001' is still there; delete it with: {mend}"]
    dropped = run("--drop-old")
    assert dropped.exit_code == 0
    assert f"{collection}: dropped {collection}-v1-000001" in dropped.stdout
    assert "nothing, there were no old indices" in run("--drop-old").stdout
    again = run("--roll", "--drop-old", "--json")
    assert [report["dropped"] for report in json.loads(again.stdout)] == [
        [f"{collection}-v1-000002"],
        [f"{collection}_entities-v1-000002"],
    ]
    assert len(list_generations(store.client, collection).every) == 1


def test_what_it_refuses(run, store):
    fill(store, 3)
    for arguments, said in [
        (["--roll", "--check"], "--roll and --drop-old change something"),
        (["--roll", "--dims", "9"], "9 can't be made of them"),
    ]:
        refused = run(*arguments)
        assert refused.exit_code == 2
        assert said in refused.stderr
    missing = CliRunner().invoke(app, ["init", "--url", store.client.hosts[0], "--collection", "nosuch", "--roll"])
    assert missing.exit_code == 2
    assert "there is no collection 'nosuch' to roll" in missing.stderr


def test_shards_stay_unless_asked_for(run, make_store, collection):
    store = make_store(shards=2)
    fill(store, 10)
    assert run("--roll").exit_code == 0
    assert list_generations(store.client, collection).live.shards == 2


def test_check_names_what_the_live_index_lacks(run, store, collection):
    """An index that an older release made: another tokenizer, a field missing, one too many."""
    run("--dims", str(DIMS))
    index = f"/{collection}-v1-000001"
    about = store.client.request("GET", index)[f"{collection}-v1-000001"]
    settings = {"index.knn": True, "index.number_of_replicas": 0, "analysis": about["settings"]["index"]["analysis"]}
    settings["analysis"]["filter"]["code_long"]["min"] = 5
    properties = about["mappings"]["properties"]
    del properties["event_date"]
    properties["extra"] = {"type": "keyword"}
    properties["text"]["fields"]["en"]["analyzer"] = "bigrams"
    store.client.request("DELETE", index)
    store.client.request(
        "PUT",
        index.replace("000001", "000007"),
        body={
            "settings": settings,
            "aliases": {collection: {"is_write_index": True}},
            "mappings": {"_meta": about["mappings"]["_meta"], "properties": {"old": {"type": "long"}, **properties}},
        },
    )
    code, report = differences(run)
    assert code == 1
    said = "\n".join(report["differences"])
    assert "field extra is not one of this release's" in said
    assert "field old is not one of this release's" in said
    # The template has filled in what was left out; what was said otherwise stands.
    assert "field text.en.analyzer is 'bigrams', this release wants 'english'" in said
    assert "analysis filter.code_long.min is '5', this release wants '3'" in said
    assert f"run: python -m mem_opensearch.init --collection {collection} --roll" in said
    assert run("--roll").exit_code == 0
    code, report = differences(run)
    assert (code, report["differences"]) == (0, [])


def test_check_counts_replicas_against_nodes(run, store, collection):
    run("--dims", str(DIMS))
    nodes = store.client.request("GET", "/_cluster/health")["number_of_data_nodes"]
    store.client.request("PUT", f"/{collection}/_settings", body={"index.number_of_replicas": nodes})
    code, report = differences(run)
    assert code == 1
    assert f"has {nodes} replicas and the server {nodes} data nodes" in report["differences"][0]
    assert '_settings {"index.number_of_replicas": ' in report["differences"][0]


def test_check_names_an_interrupted_roll_and_a_write_block(run, store, wanted, collection):
    fill(store, 10)

    def interrupt(name, done, total):
        if name == "comparing ids":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        roll_index(store.client, wanted, progress=interrupt)
    code, report = differences(run)
    assert code == 1
    assert f"a roll into '{collection}-v1-000002' is under way or was interrupted" in report["differences"][0]
    assert run("--roll").exit_code == 0
    store.client.request("PUT", f"/{collection}-v1-000002/_block/write")
    code, report = differences(run)
    assert code == 1
    assert "refuses writes (index.blocks.write)" in report["differences"][0]


@pytest.mark.unit
def test_a_permission_that_is_lacking_is_named():
    info = {
        "error": {
            "type": "security_exception",
            "reason": "no permissions for [indices:admin/create] and User [name=amei, backend_roles=[]]",
        }
    }
    error = from_status(403, info, action="PUT /memories-v1-000001")
    assert "the credentials lack the permission indices:admin/create: give it to a role of the user" in str(error)
