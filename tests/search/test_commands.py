"""The commands `add`, `search` and `why`."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from mem_opensearch import EntityStore, OpenSearchVectorStore
from mem_opensearch.cli import app


@pytest.fixture
def run(opensearch_url, collection):
    """Run a command on the test's collection; return exit code, stdout and stderr."""

    def command(*words, stdin=None):
        where = ["--url", opensearch_url, "--collection", collection]
        result = CliRunner().invoke(app, [*map(str, words), *where], input=stdin)
        return result.exit_code, result.stdout, result.stderr

    yield command
    OpenSearchVectorStore(url=opensearch_url, collection_name=f"{collection}_entities").delete_col()


def test_add_and_search(run):
    code, out, _ = run("add", "專案代號 PX-441 延到十月", "專案代號 PX-882 已經上線", "--user", "lin")
    first, _ = out.split()
    assert code == 0
    code, out, _ = run("search", "px441 的狀況？", "--user", "lin", "--json")
    answer = json.loads(out)
    assert code == 0
    assert answer["results"][0]["id"] == first
    assert answer["results"][0]["payload"]["user_id"] == "lin"
    assert answer["results"][0]["details"] is None


@pytest.mark.parametrize("mode", ["union", "rrf", "mem0"])
def test_explain_draws_what_each_signal_added(run, mode):
    run("add", "專案代號 PX-441 延到十月", "--user", "lin")
    code, out, _ = run("search", "px441 的狀況？", "--user", "lin", "--explain", "--mode", mode)
    assert code == 0
    assert "專案代號 PX-441 延到十月" in out
    assert "█" in out
    assert "meaning +" in out
    assert "passed by" in out
    assert "words of the question: px 441" in out


def test_a_second_stage(run):
    run("add", "我們組了一個羽毛球小組", "小組裡有八個人左右", "--user", "lin")
    asked = ["search", "羽毛球小組有多少人？", "--user", "lin"]
    code, out, _ = run(*asked, "--rerank", "answers", "--rerank-options", '{"pool": 3}', "--explain")
    assert code == 0
    assert out.index("八個人") < out.index("羽毛球")
    assert "answers moved it from place 2 to 1" in out
    assert "→" in out
    found = json.loads(run(*asked, "--rerank", "answers", "--json")[1])["results"]
    assert found[0]["rerank_score"] > found[1]["rerank_score"]
    assert json.loads(run(*asked, "--json")[1])["results"][0]["rerank_score"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--rerank", "nobody"], "no reranker is called 'nobody'"),
        (["--rerank-options", "{}", "--rerank", "answers", "--rerank-options", "[]"], "--rerank-options is a list"),
        (["--rerank-options", '{"pool": 3}'], "no effect without --rerank"),
        (["--rerank", "answers", "--rerank-options", '{"colour": 3}'], "option 'colour' is unknown"),
    ],
)
def test_a_second_stage_that_can_not_be(run, options, said):
    code, _, err = run("search", "茶", "--user", "lin", *options)
    assert code == 2
    assert said in err


def test_a_newer_fact(run):
    old = run("add", "使用者住在里斯本", "--user", "lin", "--created-at", "2025-03-01")[1].strip()
    new = run("add", "使用者搬到柏林了", "--user", "lin", "--created-at", "2026-08-01T10:00:00+08:00")[1].strip()
    _, out, _ = run("search", "使用者住在哪裡？", "--user", "lin", "--explain")
    assert out.index(new) < out.index(old)
    assert f"superseded by {new}" in out
    _, out, _ = run("search", "使用者住在哪裡？", "--user", "lin", "--as-of", "2025-12-01")
    assert new not in out


def test_texts_from_stdin_and_metadata(run):
    code, out, _ = run(
        "add", "-", "--user", "lin", "--metadata", '{"topic": "茶"}', "--json", stdin="我喝綠茶\n\n我喝紅茶\n"
    )
    assert code == 0
    assert [each["memory"] for each in json.loads(out)] == ["我喝綠茶", "我喝紅茶"]
    where = ["--user", "lin", "--filter", '{"topic": "咖啡"}']
    assert run("search", "喝什麼", *where)[0] == 1


def test_nothing_is_told_apart(run):
    run("add", "我喝綠茶", "--user", "lin")
    code, out, _ = run("search", "茶", "--user", "nobody")
    assert (code, out.strip()) == (1, "nothing that matches is stored in this scope")
    code, out, _ = run("search", "薛定谔方程的推导", "--user", "lin", "--threshold", "0.9")
    assert code == 1
    assert "1 candidate below the threshold 0.9, best" in out


def test_why(run):
    added = run("add", "我喝綠茶", "--user", "lin")[1].strip()
    code, out, _ = run("why", "喝什麼茶", added, "--user", "lin")
    assert code == 0
    assert f"{added}: found: it is result 1" in out
    code, out, _ = run("why", "喝什麼茶", added, "--user", "chen", "--json")
    assert code == 1
    assert json.loads(out)["reason"] == "filtered"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["search", "茶", "--as-of", "gestern", "--user", "lin"], "'gestern' is no time"),
        (["search", "茶", "--filter", "{"], "--filter is not JSON"),
        (["search", "茶", "--filter", "[]"], "--filter is a list"),
        (["search", "茶", "--mode", "magic", "--user", "lin"], "known are: union, rrf, mem0"),
        (["search", "茶", "--embedder", "bert"], "unknown embedder 'bert'"),
        (["search", " ", "--user", "lin"], "blank"),
        (["add", "茶"], "whose memory is it?"),
        (["add", " ", "--user", "lin"], "no text to store"),
        (["search", "茶"], "whose memory is it?"),
        (["why", "茶", "m1"], "whose memory is it?"),
        (["search", "茶", "--user", "*"], "--user '*' is nobody in particular"),
        (
            ["search", "茶", "--user", "lin", "--filter", '{"user_id": "bo"}'],
            "--filter has the key 'user_id': give --user",
        ),
    ],
)
def test_what_is_wrong_is_said_on_one_line(run, words, says):
    code, _, err = run(*words)
    assert code == 2
    assert says in err
    assert len(err.splitlines()) == 1


def test_a_filter_does_not_leave_the_scope(run):
    run("add", "我喝綠茶", "--user", "bo")
    mine = run("add", "我喝綠茶", "--user", "lin")[1].strip()
    where = ["--user", "lin", "--filter", '{"OR": [{"user_id": "bo"}, {"user_id": "lin"}]}']
    answer = json.loads(run("search", "茶", *where, "--json")[1])
    assert [each["id"] for each in answer["results"]] == [mine]


def test_a_stored_text_does_not_steer_the_terminal(run):
    run("add", "我住在\x1b[2J里斯本", "--user", "lin")
    out = run("search", "里斯本", "--user", "lin", "--explain")[1]
    assert "里斯本" in out
    assert "\x1b" not in out


def test_explain_says_that_a_named_time_was_met(run):
    run("add", "我們去了植物園", "--user", "lin", "--created-at", "2026-04-27T12:00:00+00:00")
    run("add", "我們去了動物園", "--user", "lin", "--created-at", "2026-05-27T12:00:00+00:00")
    out = run("search", "4月27日去了哪裡？", "--user", "lin", "--explain", "--as-of", "2026-06-01")[1]
    assert out.count("in the time that the question names") == 1


def write_lines(path, *lines):
    path.write_text("\n".join(json.dumps(line, ensure_ascii=False) for line in lines) + "\n", "utf-8")
    return path


def test_a_file_of_memories(run, tmp_path):
    file = write_lines(
        tmp_path / "memories.jsonl",
        {"id": "old", "text": "使用者住在里斯本", "user_id": "lin", "created_at": "2025-03-01", "topic": "家"},
        {"text": "周晓梅住在柏林", "created_at": "2026-08-01", "entities": ["周晓梅"]},
        {"id": "wus", "text": "我喝綠茶", "user_id": "wu", "expiration_date": "2020-01-01"},
    )
    code, out, shown = run("add", "--file", file, "--user", "lin")
    assert code == 0, shown
    assert "storing" in shown
    first, second, third = out.split()
    assert (first, third) == ("old", "wus")
    found = json.loads(run("search", "住在哪里", "--user", "lin", "--json")[1])["results"]
    assert {one["id"] for one in found} == {first, second}
    (old,) = [one["payload"] for one in found if one["id"] == "old"]
    assert (old["topic"], old["created_at"], old["data"]) == ("家", "2025-03-01", "使用者住在里斯本")
    asked = ["search", "喝茶", "--user", "wu", "--json"]
    assert json.loads(run(*asked)[1])["results"] == []
    assert [one["id"] for one in json.loads(run(*asked, "--show-expired")[1])["results"]] == ["wus"]


def test_a_file_that_is_added_again_replaces_and_links_anew(run, tmp_path, opensearch_url, collection):
    file = write_lines(
        tmp_path / "memories.jsonl", {"id": "m", "text": "去看戲", "user_id": "lin", "entities": ["林小满"]}
    )
    assert run("add", "--file", file)[0] == 0
    write_lines(file, {"id": "m", "text": "去看戲", "user_id": "lin", "entities": ["周晓梅"]})
    assert run("add", "--file", file)[0] == 0
    entities = EntityStore(url=opensearch_url, collection_name=f"{collection}_entities", embedding_model_dims=512)
    assert [one.name for one in entities.find_by_memory("m", {"user_id": "lin"})] == ["周晓梅"]
    entities.close()
    assert len(json.loads(run("search", "看戲", "--user", "lin", "--json")[1])["results"]) == 1


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ({"text": "茶"}, "line 2: whose memory is it?"),
        ({"user_id": "lin"}, "line 2: the key 'text' is missing"),
        ({"text": " ", "user_id": "lin"}, "line 2: 'text' is a blank text"),
        ({"text": "茶", "user_id": "lin", "created_at": "gestern"}, "line 2: 'created_at' is no date"),
        ({"text": "茶", "user_id": "lin", "id": "good"}, "line 2: the id 'good' is taken"),
        ({"text": "茶", "user_id": "lin", "entities": "茶"}, "line 2: 'entities' is a text"),
        ({"text": "茶", "user_id": 7}, "line 2: 'user_id' is a number"),
    ],
)
def test_a_file_with_a_bad_line_stores_nothing(run, tmp_path, line, said):
    file = write_lines(tmp_path / "memories.jsonl", {"id": "good", "text": "我喝綠茶", "user_id": "lin"}, line)
    code, out, shown = run("add", "--file", file)
    assert (code, out) == (2, "")
    assert said in shown
    assert run("search", "綠茶", "--user", "lin")[0] == 1


def test_a_file_or_texts(run, tmp_path):
    code, _, shown = run("add", "茶", "--file", write_lines(tmp_path / "m.jsonl"), "--user", "lin")
    assert (code, "not both" in shown) == (2, True)
    code, _, shown = run("add", "--file", tmp_path / "m.jsonl", "--user", "lin")
    assert (code, "no text to store in" in shown) == (2, True)
    code, _, shown = run("add", "--file", tmp_path / "none.jsonl", "--user", "lin")
    assert (code, "can't be read" in shown) == (2, True)
