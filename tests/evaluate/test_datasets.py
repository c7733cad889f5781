"""Good data is read as it is; bad data is refused with file, line and reason."""

import pytest

from mem_opensearch.errors import ConfigError, InvalidInputError
from mem_opensearch.evaluate import evaluate, load_dataset, load_datasets

pytestmark = pytest.mark.unit

MEMORIES = [
    {"id": "m1", "text": "龙井", "user_id": "u1", "created_at": "2024-05-01", "entities": ["龙井"], "source": "x"},
    {"id": "m2", "text": "普洱", "user_id": "u2"},
]
QUERY = {
    "id": "q1", "query": " 什么茶？ ", "relevant": ["m1"], "user_id": "u1", "asked_at": "2024-06-01", "type": "fact",
}  # fmt: skip
NOWHERE = "http://127.0.0.1:9"


def test_reads_every_key_of_the_format(make_folder):
    dataset = load_dataset(make_folder(MEMORIES, [QUERY]))
    first, second = dataset.memories
    assert (first.id, first.text, first.user_id, first.created_at, first.entities) == (
        "m1", "龙井", "u1", "2024-05-01", ("龙井",),
    )  # fmt: skip
    assert (second.user_id, second.created_at, second.entities) == ("u2", None, ())
    (query,) = dataset.queries
    assert (query.text, query.relevant, query.user_id, query.asked_at, query.stale, query.type) == (
        "什么茶？", ("m1",), "u1", "2024-06-01", (), "fact",
    )  # fmt: skip
    assert dataset.name == "tea"


def test_passages_blank_lines_and_a_byte_order_mark_are_fine(make_folder):
    query = QUERY | {"user_id": None, "relevant": ["p1"]}
    folder = make_folder(['\ufeff{"id": "p1", "text": "茶"}', "", "  "], [query], file="passages.jsonl")
    assert [memory.id for memory in load_dataset(folder).memories] == ["p1"]


BAD_MEMORIES = {
    "no text": ([MEMORIES[0], {"id": "m2"}], "line 2: the key 'text' is missing"),
    "no id": ([{"text": "茶"}], "line 1: the key 'id' is missing"),
    "blank text": ([MEMORIES[0], "", {"id": "m2", "text": " "}], "line 3: 'text' is a blank text"),
    "id is a number": ([{"id": 7, "text": "茶"}], "line 1: 'id' is a number"),
    "id too long": ([{"id": "x" * 600, "text": "茶"}], "line 1: memory id"),
    "same id": ([MEMORIES[0], MEMORIES[1], MEMORIES[0]], "line 3: the id 'm1' is taken already, by line 1"),
    "broken JSON": ([MEMORIES[0], '{"id": "m2", '], "line 2: this is not JSON"),
    "not UTF-8 JSON": ([MEMORIES[0], "[1, 2]"], "line 2: a list, expected an object"),
    "entities": ([{"id": "m1", "text": "茶", "entities": "龙井"}], "line 1: 'entities' is a text, expected a list"),
    "empty": ([], "memories.jsonl is empty"),
}
BAD_QUERIES = {
    "no query": ([{"id": "q1", "relevant": ["m1"]}], "line 1: the key 'query' is missing"),
    "no relevant": ([{"id": "q1", "query": "茶"}], "line 1: the key 'relevant' is missing"),
    "empty relevant": ([QUERY | {"relevant": []}], "line 1: 'relevant' is empty"),
    "relevant is a text": ([QUERY | {"relevant": "m1"}], "line 1: 'relevant' is a text, expected a list"),
    "unknown relevant": ([QUERY, QUERY | {"id": "q2", "relevant": ["m9"]}], "line 2: 'relevant' names 'm9'"),
    "unknown stale": ([QUERY | {"stale": ["m9"]}], "line 1: 'stale' names 'm9'"),
    "another user's": ([QUERY | {"relevant": ["m2"]}], "line 1: 'relevant' names 'm2' of user 'u2'"),
    "both": ([QUERY | {"stale": ["m1"]}], "line 1: 'm1' is both in 'relevant' and in 'stale'"),
    "same id": ([QUERY, QUERY], "line 2: the id 'q1' is taken already, by line 1"),
    "empty": ([""], "queries.jsonl is empty"),
    "missing file": (None, "holds no queries.jsonl"),
}


@pytest.mark.parametrize(("memories", "reason"), BAD_MEMORIES.values(), ids=BAD_MEMORIES)
def test_bad_memories_are_refused(make_folder, memories, reason):
    folder = make_folder(memories, [QUERY])
    with pytest.raises(InvalidInputError) as caught:
        load_dataset(folder)
    assert reason in str(caught.value)
    assert str(folder / "memories.jsonl") in str(caught.value)


@pytest.mark.parametrize(("queries", "reason"), BAD_QUERIES.values(), ids=BAD_QUERIES)
def test_bad_queries_are_refused(make_folder, queries, reason):
    folder = make_folder(MEMORIES, queries)
    with pytest.raises(InvalidInputError) as caught:
        load_dataset(folder)
    assert reason in str(caught.value)
    assert str(folder) in str(caught.value)


def test_messages_never_hold_memory_text(make_folder):
    folder = make_folder([{"id": "m1", "text": "茶", "entities": "秘密"}], [QUERY])
    with pytest.raises(InvalidInputError) as caught:
        load_dataset(folder)
    assert "秘密" not in str(caught.value)


def test_bytes_that_are_not_utf8_are_refused(make_folder):
    folder = make_folder(MEMORIES, [QUERY])
    (folder / "memories.jsonl").write_bytes('{"id": "m1", "text": "茶"}'.encode("gb18030"))
    with pytest.raises(InvalidInputError, match="line 1: this is not JSON"):
        load_dataset(folder)


def test_folders_that_are_no_data_sets_are_refused(make_folder, tmp_path):
    with pytest.raises(InvalidInputError, match="is no folder"):
        load_dataset(tmp_path / "absent")
    with pytest.raises(InvalidInputError, match="holds neither memories"):
        load_dataset(make_folder(None, [QUERY], name="no-memories"))
    make_folder(MEMORIES, [QUERY], name="two")
    with pytest.raises(InvalidInputError, match="holds both"):
        load_dataset(make_folder(MEMORIES, [QUERY], name="two", file="passages.jsonl"))


def test_names_are_unique(make_folder):
    folders = [make_folder(MEMORIES, [QUERY], name=name) for name in ("a/dev", "b/dev", "tea")]
    assert [dataset.name for dataset in load_datasets(folders)] == [str(folders[0]), str(folders[1]), "tea"]
    with pytest.raises(ConfigError, match="more than once"):
        load_datasets([folders[0], folders[1], folders[0] / ".." / "dev"])


def test_everything_is_checked_before_anything_is_sent(make_folder, angle_embedder):
    good = make_folder(MEMORIES, [QUERY], name="good")
    bad = make_folder(MEMORIES, [QUERY | {"relevant": ["m9"]}], name="bad")
    embedder = angle_embedder()
    with pytest.raises(InvalidInputError, match="'m9'"):
        evaluate([good, bad], embedder=embedder, url=NOWHERE)
    with pytest.raises(ConfigError, match="system 'rrrf' is unknown; known are: union, rrf, mem0, semantic, bm25"):
        evaluate([good], systems=["rrrf"], embedder=embedder, url=NOWHERE)
    with pytest.raises(ConfigError, match="top_k is 0"):
        evaluate([good], top_k=0, embedder=embedder, url=NOWHERE)
    with pytest.raises(ConfigError, match="unknown embedder 'usee'"):
        evaluate([good], embedder="usee", url=NOWHERE)
    with pytest.raises(ConfigError, match="no data folder"):
        evaluate([], embedder=embedder, url=NOWHERE)
    assert embedder.calls == []
