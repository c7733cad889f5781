"""``mem-opensearch analyze``: every field's tokens, from the server, and nothing left behind."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from mem_opensearch.cli import app
from mem_opensearch.errors import ConfigError
from mem_opensearch.index import analyse_text, probe_server
from mem_opensearch.queries import FIELD_BOOSTS

TEXT = "印表機的專案代號是ＰＸ－４４１"


@pytest.fixture
def run(opensearch_url):
    def invoke(*arguments, url=opensearch_url):
        return CliRunner().invoke(app, ["analyze", *arguments, "--url", url])

    return invoke


@pytest.fixture
def indices(store):
    """Return the names of what this command may have left on the server."""

    def names():
        made = store.client.request("GET", "/_mapping")
        templates = store.client.request("GET", "/_index_template")["index_templates"]
        return [name for name in [*made, *(each["name"] for each in templates)] if "analyze" in name]

    return names


@pytest.mark.parametrize("profile", [None, "ik", "jieba", "bigram"])
def test_every_searched_field_is_shown(store, indices, profile):
    analysis = analyse_text(store.client, TEXT, profile=profile)
    assert analysis.profile == profile or (
        profile is None and analysis.profile == probe_server(store.client).profiles[0]
    )
    word_field = "words" if profile == "jieba" else "text"
    assert [each.field for each in analysis.fields] == [word_field, *list(FIELD_BOOSTS)[1:]]
    tokens = {each.field: each.tokens for each in analysis.fields}
    assert tokens["text.code"] == ("px-441", "px", "441")
    assert tokens["text.joined"] == ("px441",)
    assert {"专案", "代号"} <= set(tokens[word_field])
    assert set(analysis.identifiers) == {"px-441", "441", "px441"}
    assert indices() == []


def test_a_collection_is_asked_for_its_own_analysis(store, make_store, run):
    name = store.collection_name
    make_store(analyzer="jieba", dictionary=["專案代號是"]).create_col()
    answer = run(TEXT, "--collection", name, "--json")
    assert answer.exit_code == 0, answer.stderr
    report = json.loads(answer.stdout)
    assert (report["collection"], report["analyzer"], report["text"]) == (name, "jieba", TEXT)
    assert report["fields"][0]["made_by"] == "jieba"
    assert report["fields"][0]["tokens"][:5] == ["印表机", "的", "专案", "代号", "是"]
    assert "made with another dictionary" in report["warnings"][0]
    shown = run(TEXT, "--collection", name)
    assert shown.exit_code == 0
    assert "warning: index " in shown.stderr


def test_the_table_shows_tokens_apart(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "100")
    shown = run(TEXT, "--analyzer", "jieba")
    assert shown.exit_code == 0, shown.stderr
    lines = {line.split()[0]: line for line in shown.stdout.splitlines() if line.strip()}
    assert "印表机 │ 的 │ 专案 │ 代号 │ 是 │ px-441 │ px │ 441" in lines["words"]
    assert "px-441 │ px │ 441" in lines["text.code"]
    assert lines["text.joined"].split()[-1] == "px441"


def test_identifiers_stand_out_on_a_terminal(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    shown = run("型号PX-441", "--analyzer", "bigram").stdout
    assert "\x1b[1;36mpx-441\x1b[0m" in shown
    assert "\x1b[1;36m型号" not in shown


def test_a_dictionary_of_the_users(run, tmp_path):
    path = tmp_path / "words.txt"
    path.write_text("裴若谷\n", encoding="utf-8")
    answer = json.loads(run("裴若谷", "--dictionary", str(path), "--json").stdout)
    assert answer["analyzer"] == "jieba"  # the server's IK has never heard of it
    assert answer["fields"][0]["tokens"] == ["裴若谷"]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--collection", "absent"], "collection 'absent' does not exist"),
        (["--analyzer", "hanlp"], "option 'analyzer'"),
        (["--collection", "a", "--analyzer", "ik"], "--collection has its own analyzer"),
        (["--dictionary", "/absent.txt"], "dictionary /absent.txt can't be read"),
    ],
)
def test_what_is_wrong_is_said_on_one_line(run, indices, arguments, reason):
    answer = run("x", *arguments)
    assert (answer.exit_code, answer.stdout) == (2, "")
    (line,) = answer.stderr.splitlines()
    assert line.startswith("error: ")
    assert reason in line
    assert indices() == []


def test_no_server(run):
    answer = run("x", url="http://127.0.0.1:9")
    assert answer.exit_code == 2
    assert "no answer from http://127.0.0.1:9" in answer.stderr


def test_an_error_leaves_nothing_behind(store, indices, monkeypatch):
    request = type(store.client).request

    def failing(self, method, path, **options):
        if path.endswith("/_analyze") and "field" in options["body"]:
            raise ConfigError("as if the server had failed")
        return request(self, method, path, **options)

    monkeypatch.setattr(type(store.client), "request", failing)
    with pytest.raises(ConfigError, match="as if"):
        analyse_text(store.client, "x", profile="bigram")
    assert indices() == []
