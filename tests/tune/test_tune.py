"""Tuning on the real node: what it finds is what searches with the chosen options then give."""

import json
import os
import subprocess
import sys
import uuid
from pathlib import Path

import numpy as np
import pytest

from mem_opensearch.errors import ConfigError, InvalidInputError
from mem_opensearch.evaluate import evaluate, load_dataset
from mem_opensearch.evaluate.own import OwnIndex, SearcherSystem
from mem_opensearch.evaluate.vectors import CachingEmbedder
from mem_opensearch.search import Searcher
from mem_opensearch.search_options import SearchOptions
from mem_opensearch.store import OpenSearchVectorStore
from mem_opensearch.tune import runner, tune
from mem_opensearch.tune.looking import Question, Rankings
from mem_opensearch.tune.variables import options_of, variables_for


class AngleEmbedder:
    """Put a text at the angle (degrees) that it ends with, others at 0."""

    name = "angle"
    dims = 2

    def embed_queries(self, texts):
        ends = [text.rsplit(maxsplit=1)[-1] for text in texts]
        angles = np.radians([float(end) if end.isdecimal() else 0.0 for end in ends])
        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)

    embed_documents = embed_queries


WORDS = ["茶叶", "雨伞", "钢琴", "邮票", "帐篷"]


def write(folder, users):
    """Give each user one query a word: right is the memory of the same word, or any of the same meaning.

    By default meaning wins: five memories with cosine 1 stand above the one that shares the word.
    """
    memories, queries = [], []
    for user, right in users.items():
        for number, word in enumerate(WORDS):
            said, meant = f"{user}-{number}-said", f"{user}-{number}-meant"
            memories += [
                {"id": said, "user_id": user, "text": f"{word} 85"},
                {"id": meant, "user_id": user, "text": f"别的东西{number} 0"},
            ]
            relevant = [said] if right == "words" else [f"{user}-{each}-meant" for each in range(len(WORDS))]
            queries.append({"id": f"{user}-q{number}", "user_id": user, "query": word, "relevant": relevant})
    folder.mkdir()
    for name, rows in (("memories", memories), ("queries", queries)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    return folder


@pytest.fixture
def run(opensearch_url):
    def run(*folders, **options):
        given = {"embedder": AngleEmbedder(), "url": opensearch_url, "tagger": "none", "trials": 12}
        return tune(folders, **(given | options))

    return run


@pytest.fixture
def left_behind(opensearch_url, monkeypatch):
    """Name the indices on the server that belong to the collections of this test."""
    made = []

    def noting(**options):
        made.append(options["collection"])
        return OwnIndex(**options)

    monkeypatch.setattr(runner, "OwnIndex", noting)
    store = OpenSearchVectorStore(url=opensearch_url, collection_name="unused", embedding_model_dims=2)

    def find():
        assert made
        return [index for name in made for index in store.client.request("GET", f"/{name}*/_settings")]

    yield find
    store.close()


def test_what_is_chosen_holds_when_it_is_searched(run, tmp_path, opensearch_url, left_behind):
    folder = write(tmp_path / "words", dict.fromkeys("abcdef", "words"))
    report = run(folder)
    assert report.validation > report.default
    assert not report.is_kept
    assert not report.warnings
    assert left_behind() == []
    mrr = []
    for options in ({}, report.fragment):
        (result,) = evaluate(
            [folder],
            systems=[options.get("mode", "union")],
            embedder=AngleEmbedder(),
            url=opensearch_url,
            tagger="none",
            search_options=SearchOptions(**options),
        ).results
        mrr.append(result.metrics["mrr@10"])
    assert mrr == pytest.approx([report.default, 1.0])
    for row in report.variables:
        assert row.gap == pytest.approx(row.train - row.validation)
    assert report.grid["x"] != report.grid["y"]
    assert len(report.grid["cells"]) >= 4
    assert report.settings["searches"] == 30  # one for each query, whatever was tried
    assert report == run(folder)  # the same data and seed


def test_users_who_want_opposite_things_are_over_fit_and_the_default_stays(run, tmp_path):
    report = run(write(tmp_path / "split", {"a": "words", "b": "meaning"}))
    assert report.is_kept
    assert report.fragment == {}
    assert report.validation <= report.default
    assert any("over-fit" in warning for warning in report.warnings)
    assert any("only 10 queries" in warning for warning in report.warnings)
    assert "the default is kept" in report.sentences()[1]


def test_a_single_user_is_said(run, tmp_path):
    report = run(write(tmp_path / "one", {"a": "words"}))
    assert any("single user" in warning for warning in report.warnings)
    assert report.settings["folds_by"] == "query"


def test_every_ranking_from_cached_signals_equals_a_new_search(tmp_path, opensearch_url):
    """Each option that is varied without a new search gives what a search with that option gives."""
    folder = write(tmp_path / "mix", {"a": "words", "b": "meaning"})
    with (folder / "memories.jsonl").open("a") as file:
        for number, text in enumerate(("你喜欢喝什么茶叶？ 40", "普洱 70", "下雨要带雨伞 50", "好的 80")):
            row = {"id": f"talk-{number}", "user_id": "a", "text": text, "created_at": f"2024-05-01T09:0{number}:00Z"}
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    dataset = load_dataset(folder)
    embedder = CachingEmbedder(AngleEmbedder())
    index = OwnIndex(url=opensearch_url, collection=f"tune-test-{os.getpid()}", embedder=embedder, annotate=True)
    try:
        vectors = embedder.embed_documents([memory.text for memory in dataset.memories])
        asked = embedder.embed_queries([query.text for query in dataset.queries])
        index.fill(dataset, vectors, lambda done, total: None)
        questions = [Question("mix", *pair, index) for pair in zip(dataset.queries, asked, strict=True)]
        rankings = Rankings(questions, embedder=embedder, depth=10, is_as_of=False)
        for variable in variables_for(thorough=True):
            for choice in variable.choices():
                if not variable.is_option:
                    continue
                index.searcher = Searcher(
                    index.store, embedder=embedder, entities=index.entities, options=options_of(choice)
                )
                system = SearcherSystem(index, options_of(choice).mode, is_as_of=False)
                direct = [system.search(question.query, question.vector, top_k=10) for question in questions]
                assert rankings.ids(choice) == direct, choice
    finally:
        index.drop()


def test_the_command_writes_a_fragment_and_json(tmp_path, opensearch_url):
    folder = write(tmp_path / "words", dict.fromkeys("abcdef", "words"))
    (tmp_path / "angles.py").write_text(
        "import sys; sys.path.insert(0, " + repr(os.fspath(tmp_path)) + ")\n"
        "import numpy as np\n"
        "class Angles:\n"
        "    name, dims = 'angle', 2\n"
        "    def embed_queries(self, texts):\n"
        "        ends = [text.rsplit(maxsplit=1)[-1] for text in texts]\n"
        "        angles = np.radians([float(end) if end.isdecimal() else 0.0 for end in ends])\n"
        "        return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)\n"
        "    embed_documents = embed_queries\n"
    )
    command = [sys.executable, "-m", "mem_opensearch", "tune", folder, "--url", opensearch_url, "--tagger", "none"]
    command += ["--embedder", "angles:Angles", "--trials", "8", "--rerank", "answers"]
    files = ["--out", tmp_path / "search.json", "--json", tmp_path / "report.json"]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{Path.cwd()}"}
    done = subprocess.run([*map(str, command + files)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    assert "chosen: " in done.stdout
    report = json.loads((tmp_path / "report.json").read_text())
    assert SearchOptions(**json.loads((tmp_path / "search.json").read_text())) == SearchOptions(**report["search"])
    assert {"metric", "default", "validation", "variables", "grid", "warnings", "settings"} <= set(report)
    assert {"rerank.weight", "rerank.pool"} <= {row["name"] for row in report["variables"]}


def test_parameters_of_bm25_are_measured_and_put_back(tmp_path, opensearch_url):
    """A long memory is scored higher where its length counts less; afterwards all is as it was."""
    folder = tmp_path / "lengths"
    folder.mkdir()
    texts = {"short": "茶叶 85", "long": f"茶叶{'和别的许多东西' * 20}茶叶 85", "other": "雨伞 85"}
    rows = [json.dumps({"id": row_id, "user_id": "a", "text": text}) for row_id, text in texts.items()]
    (folder / "memories.jsonl").write_text("\n".join(rows))
    (folder / "queries.jsonl").write_text(
        json.dumps({"id": "q", "user_id": "a", "query": "茶叶", "relevant": ["long"]})
    )
    dataset = load_dataset(folder)
    embedder = CachingEmbedder(AngleEmbedder())
    index = OwnIndex(url=opensearch_url, collection=f"tune-{uuid.uuid4().hex[:12]}", embedder=embedder, annotate=True)
    try:
        index.fill(dataset, embedder.embed_documents(list(texts.values())), lambda *_: None)

        def scores():
            return {hit.id: hit.score for hit in index.store.keyword_search("茶叶", filters={"user_id": "a"})}

        before = scores()
        (query,) = dataset.queries
        question = Question("lengths", query, embedder.embed_queries([query.text])[0], index)
        rankings = Rankings([question], embedder=embedder, depth=3, is_as_of=False)
        rankings.ids({})
        rankings.ids({"similarity.b": 0.0})
        assert rankings.searches == 2
        assert scores() == before
        assert before["long"] < before["short"]
        index.score_words_by(b=0.0)
        assert scores()["long"] > scores()["short"]
        index.score_words_by(k1=0.0)
        assert scores()["long"] == pytest.approx(scores()["short"])
        index.score_words_by()
        assert scores() == before
    finally:
        index.drop()


def test_a_thorough_search_varies_bm25_and_chooses_none_of_it(run, tmp_path):
    report = run(write(tmp_path / "words", dict.fromkeys("ab", "words")), thorough=True, trials=4)
    rows = {row.name: row for row in report.variables}
    assert {rows["similarity.k1"].default, rows["similarity.b"].default} == {1.6, 0.5}
    assert not rows["similarity.k1"].is_option
    assert "similarity" not in str(report.fragment)


def test_an_interrupt_leaves_nothing_behind(run, tmp_path, left_behind, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(runner, "choose_together", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(write(tmp_path / "words", dict.fromkeys("ab", "words")))
    assert left_behind() == []


def test_what_is_wrong_is_said_before_anything_is_sent(run, tmp_path):
    folder = write(tmp_path / "words", {"a": "words"})
    for options, error, words in (
        ({"metric": "f1"}, ConfigError, "known are: hit@1"),
        ({"trials": 0}, ConfigError, "1 or more"),
        ({"folds": 1}, InvalidInputError, "2 or more"),
        ({"as_of": "now"}, ConfigError, "asked_at"),
    ):
        with pytest.raises(error, match=words):
            run(folder, **({"url": "http://127.0.0.1:9"} | options))
