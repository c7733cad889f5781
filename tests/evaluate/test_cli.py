"""The command prints a table or JSON, and one line when it can't."""

import json
import os
import signal

import pytest
import typer
from typer.testing import CliRunner
from werkzeug import Response

from mem_opensearch.cli.evaluate import evaluate as command
from mem_opensearch.evaluate import systems

APP = typer.Typer()
APP.command("evaluate")(command)

EMBEDDER = """
import numpy as np

class Constant:
    name = "constant"
    dims = 2

    def embed_queries(self, texts):
        return np.ones((len(texts), 2), dtype=np.float32)

    embed_documents = embed_queries
"""


@pytest.fixture
def run(tmp_path, monkeypatch, opensearch_url):
    (tmp_path / "constant_embedder.py").write_text(EMBEDDER)
    monkeypatch.syspath_prepend(tmp_path)

    def run(*args, url=opensearch_url):
        options = ["--url", url] if url else []
        return CliRunner().invoke(APP, [*map(str, args), "--embedder", "constant_embedder:Constant", *options])

    return run


def test_json_on_stdout_is_the_contract_and_nothing_else(run, tea_folder):
    result = run(tea_folder, "--system", "semantic", "--system", "bm25", "--json", "-")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert set(report) == {"results", "settings"}
    assert [row["system"] for row in report["results"]] == ["semantic", "bm25"]
    for row in report["results"]:
        assert {"dataset", "system", "embedder", "queries", "metrics", "latency_ms", "failures"} <= set(row)
        assert set(row["metrics"]) == {"hit@1", "recall@5", "recall@10", "mrr@10", "ndcg@10", "new_over_old"}
        assert set(row["latency_ms"]) == {"p50", "p95"}
        assert set(row["failures"]) == {"not_in_pool", "below_threshold", "ranked_low"}
        assert (row["dataset"], row["embedder"], row["queries"]) == ("tea", "constant", 4)
    assert {"top_k", "embedder", "server", "analyzer", "latency", "versions"} <= set(report["settings"])


@pytest.mark.parametrize(
    ("asked", "measured"),
    [
        (["--mode", "rrf"], ["rrf", "semantic", "bm25"]),
        (["--mode", "rrf", "--mode", "mem0", "--system", "bm25"], ["rrf", "mem0", "bm25"]),
        (["--mode", "union", "--system", "union"], ["union"]),
    ],
)
def test_a_mode_of_ours(run, tea_folder, asked, measured):
    result = run(tea_folder, *asked, "--json", "-")
    assert result.exit_code == 0, result.stderr
    assert [row["system"] for row in json.loads(result.stdout)["results"]] == measured


def test_an_unknown_mode_is_refused(run, tea_folder):
    result = run(tea_folder, "--mode", "bm25")
    assert result.exit_code == 2
    assert "mode 'bm25' is unknown; known are: union, rrf, mem0" in result.stderr


def test_table_and_json_file(run, tea_folder, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    result = run(tea_folder, "--system", "bm25", "--json", tmp_path / "out.json")
    assert result.exit_code == 0, result.stderr
    (row,) = json.loads((tmp_path / "out.json").read_text())["results"]
    (line,) = [line for line in result.stdout.splitlines() if "bm25" in line]
    cells = line.split()
    assert cells[:3] == ["tea", "bm25", "4"]
    assert cells[3:8] == [
        f"{row['metrics'][name]:.3f}" for name in ("hit@1", "recall@5", "recall@10", "mrr@10", "ndcg@10")
    ]
    assert cells[-3:] == ["1.0", "1", str(sum(row["failures"].values()))]  # requests, the most of one, missed
    assert "…" not in result.stdout  # nothing is cut, however narrow the terminal


def test_vectors_are_kept_for_the_next_run(run, tea_folder, tmp_path):
    said = [run(tea_folder, "--system", "semantic", "--cache", tmp_path / "kept", "--json", "-") for _ in range(2)]
    first, second = (json.loads(result.stdout)["results"][0]["metrics"] for result in said)
    assert first == second
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["constant_embedder-Constant-2.sqlite"]


def test_options_of_the_search(run, tea_folder):
    options = ["--search-options", '{"weights": {"words": 0}, "normaliser": "log"}']
    result = run(tea_folder, "--system", "union", *options, "--json", "-")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert report["settings"]["search_options"] == {"weights": {"words": 0.0}, "normaliser": "log"}
    wrong = run(tea_folder, "--search-options", '{"normaliser": "minmax"}')
    assert wrong.exit_code == 2
    assert "normaliser" in wrong.stderr


def test_rerankers(run, tea_folder):
    options = ["--rerank", "answers", "--rerank-options", '{"answers": {"pool": 2}}']
    result = run(tea_folder, "--system", "union", *options, "--json", "-")
    assert result.exit_code == 0, result.stderr
    report = json.loads(result.stdout)
    assert [row["system"] for row in report["results"]] == ["union", "union+answers"]
    assert report["settings"]["rerankers"]["answers"]["pool"] == 2
    for wrong in (
        ["--rerank", "nobody"],
        ["--rerank-options", '{"cohere": {}}'],
        [*options[:3], '{"answers": {"a": 1}}'],
    ):
        result = run(tea_folder, *wrong)
        assert result.exit_code == 2
        assert result.stderr.startswith("error: ")


def longest_first(name):
    """Return what answers as a service does, or as a language model: the longest text is the best."""

    def answer(request):
        body = request.get_json()
        if name == "llm_reranker":
            scores = json.dumps({"scores": [{"id": 1, "score": 0}, {"id": 2, "score": 10}]})
            choice = {"finish_reason": "stop", "message": {"content": scores}}
            return Response(json.dumps({"choices": [choice]}), content_type="application/json")
        texts = body.get("texts") or body.get("input", body)["documents"]
        ranks = [{"index": at, "relevance_score": len(text) / 100} for at, text in enumerate(texts)]
        if name == "tei":
            shape = [{"index": rank["index"], "score": rank["relevance_score"]} for rank in ranks]
        else:
            shape = {"output": {"results": ranks}} if name == "dashscope" else {"results": ranks}
        return Response(json.dumps(shape), content_type="application/json")

    return answer


@pytest.mark.parametrize(
    "name",
    ["cohere", "zero_entropy", "jina", "siliconflow", "dashscope", "tei", "vllm", "service", "llm_reranker"],
)
def test_every_reranker_that_is_asked_over_a_network(run, make_folder, httpserver, name):
    """Against stand-ins that answer as the services' documents say."""
    folder = make_folder(
        [{"id": "short", "text": "龙井茶"}, {"id": "long", "text": "春天的龙井茶最好喝，要用八十度的水"}],
        [{"id": "q", "query": "龙井茶", "relevant": ["long"]}],
    )
    httpserver.expect_request("/rerank", method="POST").respond_with_handler(longest_first(name))
    options = {"url": httpserver.url_for("/rerank"), "deadline": 60}
    options |= {} if name == "tei" else {"api_key": "k", "model": "m"}
    given = ["--rerank", name, "--rerank-options", json.dumps({name: options})]
    result = run(folder, "--system", "union", *given, "--json", "-")
    assert result.exit_code == 0, result.stderr
    plain, reranked = json.loads(result.stdout)["results"]
    assert (plain["system"], reranked["system"]) == ("union", f"union+{name}")
    assert (plain["metrics"]["hit@1"], reranked["metrics"]["hit@1"]) == (0.0, 1.0)
    assert httpserver.log


def test_url_from_the_environment(run, tea_folder, monkeypatch, opensearch_url):
    monkeypatch.setenv("MEM_OPENSEARCH_URL", opensearch_url)
    assert run(tea_folder, "--system", "bm25", url=None).exit_code == 0


@pytest.mark.parametrize("analyzer", ["ik", "jieba", "bigram"])
def test_the_analyzer_can_be_chosen(run, tea_folder, analyzer):
    result = run(tea_folder, "--system", "bm25", "--analyzer", analyzer, "--json", "-")
    assert result.exit_code == 0, result.stderr
    assert json.loads(result.stdout)["settings"]["analyzer"] == analyzer


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (["--analyzer", "hanlp"], "option 'analyzer'"),
        (["--system", "bm52"], "system 'bm52' is unknown; known are: union, rrf, mem0, semantic, bm25, mem0-builtin"),
        (["--baseline", "rrf"], "the baseline 'rrf' is not run; the systems are: union, mem0, semantic, bm25"),
        (["--as-of", "2024-05-01"], "as_of is '2024-05-01'; give 'asked_at', or nothing"),
        (
            ["--entities-field", "names"],
            "entities field 'names' is unknown; known are: entities, entities_resolved",
        ),
        (["--tagger", "zh_core_web_none"], "tagger 'zh_core_web_none' is neither one of auto, lac, rules, none"),
        (["--top-k", "0"], "top_k is 0"),
        (["--json", "/absent/out.json"], "--json /absent/out.json: its folder does not exist"),
        (["--json", "/"], "--json /: this is a folder"),
    ],
)
def test_what_is_wrong_is_said_on_one_line(run, tea_folder, options, reason):
    result = run(tea_folder, *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert line.startswith("error: ")
    assert reason in line


def test_bad_data_is_said_on_one_line(run, make_folder):
    result = run(make_folder(["{"], ["{}"]), "--json", "-")
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert "memories.jsonl, line 1: this is not JSON" in line


@pytest.mark.parametrize("kind", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_cleans_up(run, tea_folder, collections, left_behind, kind):
    def interrupted(self, query, vector, *, top_k):
        assert left_behind(collections[0]) != []
        os.kill(os.getpid(), kind)

    # A program that a script starts in the background ignores Ctrl-C, as this one may.
    found = signal.signal(kind, signal.default_int_handler if kind == signal.SIGINT else signal.SIG_DFL)
    try:
        before = signal.getsignal(kind)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(systems.SemanticSystem, "search", interrupted)
            result = run(tea_folder, "--system", "semantic", "--json", "-")
        assert (result.exit_code, result.stdout) == (130, "")
        assert result.stderr.splitlines()[-1].startswith("interrupted")
        assert left_behind(collections[0]) == []
        assert signal.getsignal(kind) == before
    finally:
        signal.signal(kind, found)
