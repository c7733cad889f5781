"""Known ranks on a real node give known numbers, and nothing is left on it."""

from math import log2
from types import SimpleNamespace

import pytest

from mem_opensearch.errors import BackendError, BackendUnavailable, ConfigError
from mem_opensearch.evaluate import evaluate, runner, systems
from mem_opensearch.rerank import Reranker
from mem_opensearch.rerank.configured import load_reranker
from mem_opensearch.search import SearchOptions


def test_semantic_gives_the_numbers_of_the_known_ranking(tea_folder, run_evaluation):
    report = run_evaluation([tea_folder], systems=["semantic"])
    (result,) = report.results
    assert result.outcomes["q1"].ranking == tuple(f"m{n}" for n in range(10))
    assert (result.dataset, result.system, result.embedder, result.queries) == ("tea", "semantic", "angle", 4)
    # q1: rank 3; q2: ranks 1 and 7; q3: rank 6, stale at 2; q4: rank 2, stale at 4 and 12
    assert result.metrics == pytest.approx(
        {
            "hit@1": 1 / 4,
            "recall@5": (1 + 1 / 2 + 0 + 1) / 4,
            "recall@10": 1.0,
            "mrr@10": (1 / 3 + 1 + 1 / 6 + 1 / 2) / 4,
            "ndcg@10": (1 / log2(4) + (1 + 1 / log2(8)) / (1 + 1 / log2(3)) + 1 / log2(7) + 1 / log2(3)) / 4,
            "new_over_old": 1 / 2,
        }
    )
    assert result.failures == {"not_in_pool": 0, "below_threshold": 0, "ranked_low": 0}
    assert result.requests_per_query == 1.0
    assert 0 < result.latency_ms["p50"] <= result.latency_ms["p95"]


def test_top_k_decides_what_is_missed_and_not_how_deep_is_measured(tea_folder, run_evaluation):
    report = run_evaluation([tea_folder], systems=["semantic"], top_k=2)
    (result,) = report.results
    assert result.metrics["recall@10"] == 1.0
    assert result.failures == {"not_in_pool": 0, "below_threshold": 0, "ranked_low": 2}  # q1 at 3 and q3 at 6
    assert [key for key, outcome in result.outcomes.items() if outcome.failure] == ["q1", "q3"]
    assert (report.settings["top_k"], report.settings["rows_asked_for"]) == (2, 10)


def test_bm25_finds_words_and_says_what_was_out_of_reach(make_folder, run_evaluation):
    folder = make_folder(
        [{"id": "a", "text": "买了龙井茶 0"}, {"id": "b", "text": "修了自行车 10"}, {"id": "c", "text": "看了电影 20"}],
        [
            {"id": "q1", "query": "自行車 0", "relevant": ["b"]},  # traditional, the memory is simplified
            {"id": "q2", "query": "乒乓 0", "relevant": ["c"]},  # shares no word
        ],
        file="passages.jsonl",
    )
    report = run_evaluation([folder], systems=["bm25"])
    (result,) = report.results
    assert result.outcomes["q1"].ranking[0] == "b"
    assert "new_over_old" not in result.metrics
    assert result.metrics["hit@1"] == 1 / 2
    assert result.failures["not_in_pool"] == 1


def test_rows_beyond_the_pool_are_told_from_rows_ranked_low(make_folder, run_evaluation):
    folder = make_folder(
        [{"id": f"m{n}", "text": f"茶 {n}"} for n in range(80)],
        [
            {"id": "near", "query": "问 0", "relevant": ["m30"]},
            {"id": "far", "query": "问 0", "relevant": ["m75"]},
        ],
    )
    (result,) = run_evaluation([folder], systems=["semantic"]).results
    assert result.outcomes["near"].failure == "ranked_low"
    assert result.outcomes["far"].failure == "not_in_pool"


@pytest.mark.parametrize("system", ["union", "rrf", "mem0", "semantic", "bm25", "mem0-builtin"])
def test_a_user_s_query_is_searched_in_that_user_s_memories(make_folder, run_evaluation, system):
    folder = make_folder(
        [{"id": f"{user}-{n}", "text": f"喝茶 {n}", "user_id": user} for user in ("u1", "u2") for n in range(3)],
        [
            {"id": "one", "query": "喝茶 0", "user_id": "u2", "relevant": ["u2-0"]},
            {"id": "all", "query": "喝茶 0", "relevant": ["u1-0", "u2-0"]},
        ],
    )
    (result,) = run_evaluation([folder], systems=[system]).results
    assert set(result.outcomes["one"].ranking) == {"u2-0", "u2-1", "u2-2"}
    assert len(result.outcomes["all"].ranking) == 6


def test_mem0_builtin_ranks_by_its_own_path(tea_folder, run_evaluation, angle_embedder, collections, left_behind):
    embedder = angle_embedder(seconds_per_call=0.2)
    report = run_evaluation([tea_folder], systems=["semantic", "mem0-builtin"], embedder=embedder)
    ours, mem0 = report.results
    assert mem0.outcomes["q1"].ranking[:3] == ("m0", "m1", "m2")
    assert mem0.metrics["recall@10"] == ours.metrics["recall@10"]
    assert mem0.requests_per_query == 2.0  # mem0 searches by meaning and by words apart
    assert mem0.latency_ms["p95"] < 200  # one embedding alone would take that
    assert len(embedder.calls) == 2  # documents once, queries once, for both systems
    assert left_behind(collections[0]) == []


def test_mem0_builtin_says_what_its_threshold_removed(make_folder, run_evaluation):
    folder = make_folder(
        [{"id": "near", "text": "茶 0"}, {"id": "opposite", "text": "酒 180"}],  # mem0 scores (1 + cosine) / 2
        [{"id": "q", "query": "问 0", "relevant": ["opposite"]}],
    )
    (result,) = run_evaluation([folder], systems=["mem0-builtin"]).results
    assert result.outcomes["q"].ranking == ("near",)
    assert result.failures == {"not_in_pool": 0, "below_threshold": 1, "ranked_low": 0}


def test_folders_and_systems_come_in_the_order_asked_for(
    tea_folder, make_folder, run_evaluation, collections, left_behind
):
    other = make_folder([{"id": "m", "text": "茶 0"}], [{"id": "q", "query": "茶 0", "relevant": ["m"]}], name="one")
    steps = []
    report = run_evaluation(
        [tea_folder, other],
        systems=["bm25", "semantic", "bm25"],
        progress=lambda label, done, total: steps.append((label, done, total)),
    )
    assert [(result.dataset, result.system) for result in report.results] == [
        ("tea", "bm25"),
        ("tea", "semantic"),
        ("one", "bm25"),
        ("one", "semantic"),
    ]
    assert ("tea: embed memories", 12, 12) in steps
    assert ("tea: index for bm25", 12, 12) in steps
    assert ("one: ask semantic", 1, 1) in steps
    assert len(collections) == 2
    for collection in collections:
        assert left_behind(collection) == []


class Failing:
    """A system that indexes like the store's own and then fails at the second query."""

    name = "failing"
    requests = 0

    def __init__(self, bench, error, drop_error=None):
        self.inner = systems.SemanticSystem(bench.own)
        self.error = error
        self.drop_error = drop_error

    def index(self, dataset, vectors, tick):
        self.inner.index(dataset, vectors, tick)

    def search(self, query, vector, *, top_k):
        if query.id == "q2":
            raise self.error
        return self.inner.search(query, vector, top_k=top_k)

    def drop(self):
        self.inner.drop()
        if self.drop_error is not None:
            raise self.drop_error


@pytest.mark.parametrize("error", [BackendError("broke"), KeyboardInterrupt(), ValueError("a bug")])
def test_collections_are_removed_whatever_happens(tea_folder, run_evaluation, collections, left_behind, error):
    found_while_running = []

    def failing(bench):
        found_while_running.extend(left_behind(bench.collection))
        return Failing(bench, error)

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(systems.SYSTEMS, "failing", failing)
        with pytest.raises(type(error)):
            run_evaluation([tea_folder], systems=["semantic", "failing"])
    assert found_while_running != []  # the look does see collections
    assert left_behind(collections[0]) == []


def test_an_interrupt_while_mem0_makes_its_index_leaves_nothing(
    tea_folder, run_evaluation, monkeypatch, collections, left_behind
):
    from mem0.vector_stores import opensearch as provider

    def interrupted(_seconds):
        assert left_behind(collections[0]) == [f"{collections[0]}-mem0"]
        raise KeyboardInterrupt

    monkeypatch.setattr(provider, "time", SimpleNamespace(sleep=interrupted))
    with pytest.raises(KeyboardInterrupt):
        run_evaluation([tea_folder], systems=["mem0-builtin"])
    assert left_behind(collections[0]) == []


def test_a_failed_removal_does_not_hide_the_error(tea_folder, run_evaluation, monkeypatch):
    def failing(bench):
        return Failing(bench, BackendError("broke"), drop_error=BackendError("DELETE failed"))

    monkeypatch.setitem(systems.SYSTEMS, "failing", failing)
    with pytest.raises(BackendError, match="broke") as caught:
        run_evaluation([tea_folder], systems=["failing"])
    assert any("could not be removed: DELETE failed" in note for note in caught.value.__notes__)


def test_mem0_s_errors_become_this_package_s(make_folder, run_evaluation):
    folder = make_folder(
        [{"id": "m", "text": "茶 0", "user_id": "u 1"}],  # mem0 refuses white space in ids
        [{"id": "q", "query": "茶 0", "user_id": "u 1", "relevant": ["m"]}],
    )
    with pytest.raises(BackendError, match="mem0's own OpenSearch provider, query 'q', failed: ValueError"):
        run_evaluation([folder], systems=["mem0-builtin"])


@pytest.mark.unit
def test_no_server_is_found_out_before_embedding(tea_folder, angle_embedder, monkeypatch):
    monkeypatch.setattr("mem_opensearch.client.patience.BACKOFF_SECONDS", 0.0)
    embedder = angle_embedder()
    with pytest.raises(BackendUnavailable):
        evaluate([tea_folder], embedder=embedder, url="http://127.0.0.1:9")
    assert embedder.calls == []


def test_the_url_comes_from_the_environment(tea_folder, angle_embedder, opensearch_url, monkeypatch):
    monkeypatch.setenv(runner.URL_VARIABLE, opensearch_url)
    report = evaluate([tea_folder], systems=["bm25"], embedder=angle_embedder())
    assert report.settings["server"].startswith("opensearch ")
    assert opensearch_url not in str(report.settings)


@pytest.fixture
def moves_folder(make_folder):
    """One user who moved: what is known at each time differs, and so does what is said in other words."""
    return make_folder(
        [
            {"id": "old", "text": "我住在里斯本 20", "user_id": "u", "created_at": "2025-03-01T09:00:00+00:00"},
            {"id": "link", "text": "表弟叫覃小川 80", "user_id": "u", "created_at": "2025-03-02T09:00:00+00:00"},
            {
                "id": "cousin",
                "text": "他考上了大学 85",
                "user_id": "u",
                "created_at": "2025-03-03T09:00:00+00:00",
                "entities": ["那人"],
                "entities_resolved": ["覃小川"],
            },
            {"id": "new", "text": "我现在住在柏林 21", "user_id": "u", "created_at": "2026-08-01T09:00:00+00:00"},
        ],
        [
            {
                "id": "before",
                "query": "我现在住在哪里 20",
                "relevant": ["old"],
                "user_id": "u",
                "asked_at": "2025-06-01T09:00:00+00:00",
            },
            {
                "id": "now",
                "query": "我现在住在哪里 20",
                "relevant": ["new"],
                "stale": ["old"],
                "user_id": "u",
                "asked_at": "2026-09-01T09:00:00+00:00",
            },
            {
                "id": "name",
                "query": "覃小川最近怎么样 70",
                "relevant": ["cousin"],
                "user_id": "u",
                "asked_at": "2026-09-01T09:00:00+00:00",
            },
        ],
    )


def test_every_signal_is_used_by_the_modes_of_the_searcher(moves_folder, run_evaluation, collections, left_behind):
    report = run_evaluation([moves_folder], systems=["union", "rrf", "mem0", "semantic"])
    by_system = {result.system: result for result in report.results}
    assert set(by_system) == {"union", "rrf", "mem0", "semantic"}
    assert by_system["union"].outcomes["now"].ranking[0] == "new"
    assert by_system["semantic"].outcomes["now"].ranking[0] == "old"
    assert by_system["union"].metrics["new_over_old"] == 1.0
    assert by_system["union"].requests_max == 2
    assert report.settings["baseline"] == "semantic"
    assert [each.system for each in report.comparisons] == ["union", "rrf", "mem0"]
    assert left_behind(collections[0]) == []


def test_as_of_searches_what_was_there_when_the_query_was_asked(moves_folder, run_evaluation):
    (now,) = run_evaluation([moves_folder], systems=["union"]).results
    (then,) = run_evaluation([moves_folder], systems=["union"], as_of="asked_at").results
    assert "new" in now.outcomes["before"].ranking
    assert "new" not in then.outcomes["before"].ranking
    assert then.outcomes["before"].ranking[0] == "old"


def test_names_come_from_the_field_that_is_asked_for(moves_folder, run_evaluation):
    place = {}
    for field in ("entities", "entities_resolved", "none"):
        (result,) = run_evaluation([moves_folder], systems=["filter-in"], entities_field=field).results
        place[field] = result.outcomes["name"].ranking
    assert place["entities_resolved"] == ("cousin",)  # the only one whose metadata say so
    assert "link" in place["none"]  # no metadata, no filter


def test_without_a_tagger_nothing_is_linked(moves_folder, run_evaluation, monkeypatch):
    from mem_opensearch.store import EntityLinker

    linked = []
    monkeypatch.setattr(EntityLinker, "link", lambda self, memories: linked.extend(memories))
    run_evaluation([moves_folder], systems=["union"], tagger="none")
    assert linked == []
    run_evaluation([moves_folder], systems=["semantic"])  # needs no links
    assert linked == []
    run_evaluation([moves_folder], systems=["union"], tagger="rules")
    assert [(each.id, each.scope, each.names) for each in linked][2] == ("cousin", {"user_id": "u"}, ("那人",))


def test_failure_classes_are_what_the_search_says_itself(make_folder, run_evaluation):
    folder = make_folder(
        [{"id": "near", "text": "买了龙井茶 0"}, {"id": "far", "text": "看了电影 120"}],
        [{"id": "q", "query": "龙井茶 0", "relevant": ["far"]}],
    )
    (result,) = run_evaluation([folder], systems=["union"]).results
    assert result.outcomes["q"].failure == "below_threshold"


def test_a_search_that_lost_a_signal_is_no_measurement(moves_folder, run_evaluation, monkeypatch):
    from mem_opensearch.search import searcher

    def failing(*_args, **_options):
        raise BackendError("entities are gone")

    monkeypatch.setattr(searcher, "look_up", failing)
    with pytest.raises(BackendError, match="was answered without a signal: names and dates were not looked up"):
        run_evaluation([moves_folder], systems=["union"])


@pytest.fixture
def team_folder(make_folder):
    """One that repeats the question is nearer in meaning and words than the one that answers it."""
    return make_folder(
        [
            {"id": "repeats", "text": "我们组了个小组 0", "user_id": "u"},
            {"id": "answers", "text": "小组里有八个人左右 10", "user_id": "u"},
        ],
        [{"id": "q", "query": "小组有多少人？ 0", "relevant": ["answers"], "user_id": "u"}],
    )


def test_systems_are_measured_with_and_without_a_reranker(team_folder, run_evaluation):
    stage = load_reranker("answers", {"pool": 3})
    report = run_evaluation([team_folder], systems=["union", "semantic"], rerankers=[stage])
    by_system = {result.system: result for result in report.results}
    assert list(by_system) == ["union", "union+answers", "semantic"]
    assert by_system["union"].outcomes["q"].ranking == ("repeats", "answers")
    assert by_system["union+answers"].outcomes["q"].ranking == ("answers", "repeats")
    assert by_system["union+answers"].requests_max == by_system["union"].requests_max
    assert report.settings["rerankers"] == {"answers": {"pool": 3, "weight": 0.5, "deadline_s": 3.0}}


def test_a_search_takes_its_options(team_folder, run_evaluation):
    options = SearchOptions(threshold=1.0)
    (result,) = run_evaluation([team_folder], systems=["union"], search_options=options).results
    assert result.outcomes["q"].ranking == ("repeats",)
    assert result.outcomes["q"].failure == "below_threshold"


def test_only_the_systems_that_are_named_with_a_reranker(team_folder, run_evaluation):
    report = run_evaluation([team_folder], systems=["mem0", "union+answers"], rerankers=[load_reranker("answers")])
    assert [result.system for result in report.results] == ["mem0", "union+answers"]


@pytest.mark.parametrize(
    ("systems", "rerankers", "said"),
    [
        (["semantic"], [load_reranker("answers")], "nothing to rerank"),
        (["union+answers"], [], "system 'union\\+answers' is unknown"),
        (["semantic+answers"], [load_reranker("answers")], "known are: .*union\\+answers"),
    ],
)
def test_a_reranker_without_a_system(team_folder, run_evaluation, systems, rerankers, said):
    with pytest.raises(ConfigError, match=said):
        run_evaluation([team_folder], systems=systems, rerankers=rerankers)


def test_a_reranker_that_fails_is_no_measurement(team_folder, run_evaluation):
    class Broken:
        name, most_texts, most_characters = "broken", None, None

        def score(self, query, texts):
            raise ValueError

    with pytest.raises(BackendError, match="rerank: broken failed: ValueError"):
        run_evaluation([team_folder], systems=["union"], rerankers=[Reranker(Broken())])
