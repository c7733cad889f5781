"""Making and checking the indices of a collection, by library and by command."""

from __future__ import annotations

import json
import threading
from dataclasses import replace

import pytest
import requests
from typer.testing import CliRunner

from mem_opensearch import OpenSearchVectorStore
from mem_opensearch.cli import app
from mem_opensearch.errors import ConfigError, IndexStateError
from mem_opensearch.index import (
    WantedIndex,
    apply_plan,
    ensure_index,
    plan_index,
    probe_server,
    roll_index,
    template_name,
)


@pytest.fixture
def wanted(collection):
    return WantedIndex(collection=collection, kind="memory", dims=4)


@pytest.fixture
def client(store):
    return store.client


def test_the_probe_sees_what_the_server_has(client):
    facts = probe_server(client)
    assert facts.distribution == "opensearch"
    assert facts.version >= (2, 19, 0)
    assert facts.data_nodes >= 1
    assert "lucene" in facts.engines
    assert facts.profiles[0] == "ik"
    assert facts.profiles[-1] == "bigram"


def test_a_plan_writes_nothing(client, wanted):
    plan = plan_index(client, wanted)
    assert not plan.exists
    assert (plan.spec.profile, plan.spec.engine, plan.spec.replicas) == ("ik", "lucene", plan.facts.data_nodes > 1)
    assert not plan_index(client, wanted).exists


def test_ensure_is_idempotent_and_remembers(client, wanted):
    made = ensure_index(client, wanted)
    assert ensure_index(client, wanted) == made
    assert plan_index(client, wanted).differences == ()
    mapping = client.request("GET", f"/{wanted.collection}/_mapping")
    assert list(mapping) == [f"{wanted.collection}-v1-000001"]
    meta = mapping[f"{wanted.collection}-v1-000001"]["mappings"]["_meta"]["mem_opensearch"]
    assert (meta["schema"], meta["dims"], meta["profile"], meta["engine"]) == (1, 4, "ik", "lucene")


def test_another_embedding_model_of_the_same_length_is_refused(make_store, wanted):
    store = make_store(embedding_model="use")
    store.insert([[1, 0, 0, 0]], [{"data": "x"}], ["m"])
    with pytest.raises(IndexStateError, match="vectors of the model 'use', the configuration says 'e5'"):
        make_store(embedding_model="e5").search("q", [1, 0, 0, 0])
    with pytest.raises(IndexStateError, match="a roll keeps the vectors"):
        roll_index(store.client, replace(wanted, model="e5"))
    roll_index(store.client, wanted)  # which does not name it, and keeps what is known
    with pytest.raises(IndexStateError, match="vectors of the model 'use'"):
        make_store(embedding_model="e5").list()
    assert make_store(embedding_model="use").list()[0][0].id == "m"
    assert make_store().list()[0][0].id == "m"


def test_no_user_data_can_change_the_mapping(store):
    store.create_col()
    before = store.client.request("GET", f"/{store.collection_name}/_mapping")
    store.insert(
        [[1, 0, 0, 0]] * 3,
        [
            {"data": "x", "run_id": "r", "新键": {"a": 1}},
            {"data": "x", "新键": "2026-01-01"},
            {"data": "x", "新键": [True]},
        ],
    )
    assert store.client.request("GET", f"/{store.collection_name}/_mapping") == before
    assert [len(store.list(filters={"新键": value})[0]) for value in ("2026-01-01", True)] == [1, 1]


def test_ten_at_once_make_one_index(make_store, wanted):
    clients = [make_store().client for _ in range(10)]
    specs, errors = [], []
    gate = threading.Barrier(10)

    def work(client):
        gate.wait()
        try:
            specs.append(ensure_index(client, wanted))
        except Exception as error:  # noqa: BLE001 - reported below, from the main thread
            errors.append(error)

    threads = [threading.Thread(target=work, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(specs) == 10
    assert len(set(specs)) == 1


@pytest.mark.parametrize("profile", ["ik", "bigram"])
def test_the_chosen_analysis_is_kept(client, wanted, profile):
    wanted = replace(wanted, profile=profile)
    assert ensure_index(client, wanted).profile == profile
    assert ensure_index(client, replace(wanted, profile=None)).profile == profile
    other = "bigram" if profile == "ik" else "ik"
    with pytest.raises(IndexStateError, match=f"analysed by '{profile}', the configuration says '{other}'"):
        ensure_index(client, replace(wanted, profile=other))


def test_what_the_server_lacks_is_refused_before_anything_is_made(client, wanted):
    facts = probe_server(client)
    if "smartcn" not in facts.profiles:
        with pytest.raises(ConfigError, match="'smartcn' is not installed on the server, which has: ik"):
            ensure_index(client, replace(wanted, profile="smartcn"))
    if "faiss" not in facts.engines:
        with pytest.raises(ConfigError, match="the first write would kill that node"):
            ensure_index(client, replace(wanted, engine="faiss"))
    assert not plan_index(client, wanted).exists


def test_a_missing_or_changed_template_is_noticed_and_mended(client, wanted):
    apply_plan(client, wanted)
    name = template_name(wanted.collection)
    client.request("DELETE", f"/_index_template/{name}")
    assert plan_index(client, wanted).differences == (
        f"index template '{name}' is missing; run: python -m mem_opensearch.init",
    )
    apply_plan(client, wanted)
    assert plan_index(client, wanted).differences == ()
    live = client.request("GET", f"/_index_template/{name}")["index_templates"][0]["index_template"]
    live["template"]["mappings"]["properties"]["vector"]["dimension"] = 9
    client.request("PUT", f"/_index_template/{name}", body=live)
    assert "not as this release makes it" in plan_index(client, wanted).differences[0]
    apply_plan(client, wanted)
    assert plan_index(client, wanted).differences == ()


def test_a_write_to_a_vanished_collection_makes_no_index_with_a_guessed_mapping(store, opensearch_url):
    store.create_col()
    store.client.request("DELETE", f"/{store.collection_name}-v1-000001")
    with pytest.raises(Exception, match="require_alias|no such index"):
        store.insert([[1, 0, 0, 0]], [{"data": "x"}])
    assert requests.head(f"{opensearch_url}/{store.collection_name}", timeout=30).status_code == 404


@pytest.mark.parametrize(
    ("about", "said"),
    [
        (
            {"number": "2.18.0", "distribution": "opensearch"},
            "opensearch 2.18.0; this release works with OpenSearch 2.19",
        ),
        ({"number": "8.14.3"}, "elasticsearch 8.14.3; this release works with OpenSearch 2.19 or Elasticsearch 8.15"),
        (
            {"number": "1.7.0", "distribution": "easysearch"},
            "easysearch 1.7.0; this release works with OpenSearch",
        ),
    ],
)
@pytest.mark.unit
def test_a_server_that_is_not_supported_is_refused_by_name(httpserver, about, said):
    """No such server can be had here: this one only says that it is one."""
    httpserver.expect_request("/mem0/_mapping").respond_with_json({"error": "none"}, status=404)
    httpserver.expect_request("/").respond_with_json({"version": about})
    with pytest.raises(ConfigError, match=said):
        OpenSearchVectorStore(url=httpserver.url_for(""), embedding_model_dims=2).create_col()


class TestCommand:
    """``python -m mem_opensearch.init``, which is ``mem-opensearch init``."""

    @pytest.fixture
    def run(self, opensearch_url, collection):
        def invoke(*arguments):
            return CliRunner().invoke(app, ["init", "--url", opensearch_url, "--collection", collection, *arguments])

        return invoke

    def test_check_make_check(self, run):
        assert run("--dims", "4", "--check").exit_code == 1
        made = run("--dims", "4")
        assert made.exit_code == 0
        assert made.stdout.count("made") == 2
        assert "server: opensearch" in made.stdout
        again = run("--dims", "4")
        assert again.exit_code == 0
        assert again.stdout.count(": ok (") == 2
        assert run("--dims", "4", "--check").exit_code == 0

    def test_another_dimension(self, run):
        run("--dims", "4")
        checked = run("--dims", "5", "--check", "--json")
        assert checked.exit_code == 1
        assert "holds vectors of 4 dimensions" in json.loads(checked.stdout)[0]["differences"][0]
        done = run("--dims", "5")
        assert done.exit_code == 2
        assert "holds vectors of 4 dimensions" in done.stderr

    def test_dry_run_shows_and_makes_nothing(self, run):
        dry = run("--dims", "4", "--dry-run", "--json")
        assert dry.exit_code == 0
        report = json.loads(dry.stdout)
        assert report[0]["would_send"]["index"]["template"]["mappings"]["properties"]["vector"]["dimension"] == 4
        assert (
            "臺=>台"
            in report[0]["would_send"]["component"]["template"]["settings"]["analysis"]["char_filter"]["fold"][
                "mappings"
            ]
        )
        assert run("--dims", "4", "--check").exit_code == 1

    def test_what_cant_be_done_is_said(self, run):
        nothing = CliRunner().invoke(app, ["init", "--url", "http://127.0.0.1:9", "--dims", "4"])
        assert nothing.exit_code == 2
        assert "got no answer from http://127.0.0.1:9" in nothing.stderr
        wrong = run("--analyzer", "hanlp")
        assert wrong.exit_code == 2
        assert "option 'analyzer'" in wrong.stderr
