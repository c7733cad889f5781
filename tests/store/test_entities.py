"""Entities: one row for each scope, type and name, on a real node."""

import logging

import pytest

from mem_opensearch import Entity, EntityStore, Link, OpenSearchVectorStore
from mem_opensearch.errors import (
    ConfigError,
    InvalidInputError,
    MemoryNotFoundError,
    ScopeError,
    VectorError,
)
from mem_opensearch.store.entity_rows import check_scope, entity_id

LIN, CHEN = {"user_id": "lin"}, {"user_id": "chen"}
EAST, NORTH, NORTH_EAST = [1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0]


def links(entities, name, scope=LIN, **options):
    return {(each.type, each.memory_ids) for each in entities.find(name, scope, **options)}


def rows(entities):
    return entities.list()[0]


def test_a_link_is_made_once_however_often(entities):
    first = entities.link("小米", "m1", LIN)
    assert entities.link("小米", "m1", LIN) == first == entity_id("小米", LIN)
    entities.link("小米", "m2", LIN)
    entities.link("小米", "m1", LIN)
    assert entities.read("小米", LIN) == Entity("小米", LIN, memory_ids=("m1", "m2"))
    (row,) = rows(entities)
    assert row.id == first
    assert row.payload == {"data": "小米", "entity_type": "", "linked_memory_ids": ["m1", "m2"], "user_id": "lin"}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("臺北", "台北"),
        ("ＭＥＭ－４４１", "mem-441"),
        ("OpenSearch", "opensearch"),
        (" New  York ", "new　york"),
        ("Straße", "STRASSE"),
        ("Caf\u00e9", "Cafe\u0301"),
    ],
)
def test_spellings_that_fold_alike_are_one_entity(entities, one, other):
    entities.link(one, "m1", LIN)
    entities.link(other, "m2", LIN)
    (found,) = entities.find(other, LIN)
    assert (found.name, found.memory_ids) == (one, ("m1", "m2"))
    assert len(rows(entities)) == 1


def test_one_name_of_two_types_is_two_entities(entities):
    entities.link("小米", "about the cat", LIN, entity_type="cat")
    entities.link("小米", "about the phone", LIN, entity_type="company")
    entities.link("小米", "about something", LIN)
    assert links(entities, "小米") == {
        ("cat", ("about the cat",)),
        ("company", ("about the phone",)),
        ("", ("about something",)),
    }
    assert links(entities, "小米", entity_type="cat") == {("cat", ("about the cat",))}
    assert links(entities, "小米", entity_type="") == {("", ("about something",))}


def test_no_row_holds_the_memory_of_another(entities):
    narrow = {**LIN, "agent_id": "cook"}
    for scope, memory_id in ((LIN, "m-lin"), (CHEN, "m-chen"), (narrow, "m-cook"), ({"agent_id": "cook"}, "m-agent")):
        entities.link("陈经理", memory_id, scope)
    assert len(rows(entities)) == 4
    assert all(len(row.payload["linked_memory_ids"]) == 1 for row in rows(entities))
    assert links(entities, "陈经理", CHEN) == {("", ("m-chen",))}
    # A read of a scope takes in the narrower ones, as a search for memories does; a write is for one row.
    assert links(entities, "陈经理", LIN) == {("", ("m-lin",)), ("", ("m-cook",))}
    entities.unlink("陈经理", "m-cook", LIN)
    assert links(entities, "陈经理", narrow) == {("", ("m-cook",))}
    assert entities.read("陈经理", CHEN).memory_ids == ("m-chen",)


@pytest.mark.parametrize(
    "scope", [None, {}, {"user_id": ""}, {"user_id": "*"}, {"user_id": None}, {"user_id": 7}, {"role": "x"}, "lin", []]
)
def test_a_scope_is_required_everywhere(entities, scope):
    calls = [
        lambda: entities.link("甲", "m", scope),
        lambda: entities.unlink("甲", "m", scope),
        lambda: entities.read("甲", scope),
        lambda: entities.find("甲", scope),
        lambda: entities.find_by_memory("m", scope),
        lambda: entities.find_similar(EAST, scope),
        lambda: entities.aliases("甲", scope),
        lambda: entities.add_aliases("甲", ["乙"], scope),
        lambda: entities.remove_aliases("甲", ["乙"], scope),
        lambda: entities.merge(Entity("甲", scope), Entity("乙", LIN)),
    ]
    for call in calls:
        with pytest.raises(ScopeError):
            call()


def test_an_insert_without_scope_is_refused(entities):
    with pytest.raises(ScopeError, match="belongs to a scope"):
        entities.insert([EAST], [{"data": "甲", "linked_memory_ids": ["m"]}])
    assert entities.col_info()["exists"] is False


@pytest.mark.parametrize("name", ["", " 　", None, 7, "很" * 8001, "\ud800"])
def test_a_name_is_refused_without_quoting_it(entities, name):
    with pytest.raises(InvalidInputError) as refused:
        entities.link(name, "m", LIN)
    assert "很很" not in str(refused.value)


@pytest.mark.parametrize("memory_id", ["", None, 7, "x" * 513])
def test_a_memory_id_is_checked(entities, memory_id):
    with pytest.raises(InvalidInputError, match="memory id"):
        entities.link("甲", memory_id, LIN)
    with pytest.raises(InvalidInputError, match="memory id"):
        entities.unlink("甲", memory_id, LIN)


def test_bad_arguments_are_refused_before_anything_is_sent(entities):
    with pytest.raises(InvalidInputError, match="type of an entity"):
        entities.link("甲", "m", LIN, entity_type=3)
    with pytest.raises(VectorError, match="3 dimensions"):
        entities.link("甲", "m", LIN, vector=[1, 2, 3])
    with pytest.raises(InvalidInputError, match="list of names"):
        entities.add_aliases("甲", "乙", LIN)
    with pytest.raises(InvalidInputError, match="list of ids"):
        entities.unlink_memories("m1")
    with pytest.raises(InvalidInputError, match="list of ids"):
        entities.insert([None], [{"data": "甲", "linked_memory_ids": "m1", **LIN}])
    with pytest.raises(InvalidInputError, match="payload with each"):
        entities.insert([EAST])
    with pytest.raises(InvalidInputError, match="top_k"):
        entities.find_similar(EAST, LIN, top_k=0)
    assert entities.col_info()["exists"] is False


def test_a_collection_of_memories_is_no_entity_collection(opensearch_url):
    with pytest.raises(ConfigError, match="'notes_entities'"):
        EntityStore(url=opensearch_url, collection_name="notes")


def test_the_store_beside_a_collection(store, collection):
    entities = EntityStore.beside(store)
    entities.link("甲", "m1", LIN)
    assert entities.collection_name == f"{collection}_entities"
    assert store.col_info(f"{collection}_entities")["kind"] == "entities"
    assert store.col_info()["exists"] is False
    entities.close()


def test_reads_of_a_missing_collection_find_nothing_and_make_nothing(entities):
    assert entities.read("甲", LIN) is None
    assert entities.find("甲", LIN) == entities.find_by_memory("m", LIN) == entities.find_similar(EAST, LIN) == []
    assert entities.aliases("甲", LIN) == ()
    entities.unlink("甲", "m", LIN)
    entities.unlink_memories(["m"])
    assert entities.col_info()["exists"] is False


def test_a_row_without_links_goes(entities):
    entities.link_many([Link("甲", "m1", LIN), Link("甲", "m2", LIN)])
    entities.unlink("甲", "m1", LIN)
    entities.unlink("甲", "never linked", LIN)
    assert entities.read("甲", LIN).memory_ids == ("m2",)
    entities.unlink("甲", "m2", LIN)
    entities.unlink("甲", "m2", LIN)
    assert entities.read("甲", LIN) is None
    assert rows(entities) == []
    entities.link("甲", "m3", LIN)
    assert entities.read("甲", LIN).memory_ids == ("m3",)


def test_many_links_at_once(entities):
    given = [Link(f"名{n % 7}", f"m{n}", LIN, "thing") for n in range(1000)]
    before = entities.client.requests
    entities.create_col()
    made = entities.client.requests
    ids = entities.link_many(given)
    assert entities.client.requests == made + 1 > before
    assert ids == [entity_id(link.entity, LIN, "thing") for link in given]
    for n in range(7):
        found = entities.read(f"名{n}", LIN, entity_type="thing")
        assert found.memory_ids == tuple(f"m{m}" for m in range(n, 1000, 7))
    assert entities.link_many([]) == []


def test_find_by_memory(entities):
    entities.link_many([Link("甲", "m1", LIN), Link("乙", "m1", LIN), Link("丙", "m2", LIN), Link("甲", "m1", CHEN)])
    assert {each.name for each in entities.find_by_memory("m1", LIN)} == {"甲", "乙"}
    assert entities.find_by_memory("m2", CHEN) == []


def test_find_similar(entities):
    entities.link("东", "m1", LIN, vector=EAST, entity_type="direction")
    entities.link("北", "m2", LIN, vector=NORTH)
    entities.link("东", "m3", CHEN, vector=EAST)
    entities.link("无", "m4", LIN)
    found = entities.find_similar(NORTH_EAST, LIN)
    assert [each.name for each in entities.find_similar([3, 1, 0, 0], LIN)] == ["东", "北"]
    assert {each.name: each.score for each in found} == pytest.approx({"东": 0.7071068, "北": 0.7071068}, abs=1e-6)
    assert [each.name for each in entities.find_similar(EAST, LIN, entity_type="direction")] == ["东"]


def test_the_vector_stays_and_a_missing_one_is_filled_in(entities):
    entities.link("甲", "m1", LIN)
    assert entities.find_similar(EAST, LIN) == []
    entities.link("甲", "m1", LIN, vector=EAST)  # the link is there already; the vector is not
    entities.link("甲", "m2", LIN, vector=NORTH)
    entities.link("甲", "m3", LIN)
    entities.unlink("甲", "m3", LIN)
    entities.unlink_memories(["m2"])
    (found,) = entities.find_similar(EAST, LIN)
    assert found.memory_ids == ("m1",)
    assert found.score == pytest.approx(1.0)


def test_names_are_embedded_together(make_entities):
    asked = []

    def embed(names):
        asked.append(list(names))
        return [EAST if name == "东" else NORTH for name in names]

    entities = make_entities(embed=embed)
    entities.link_many(
        [Link("东", "m1", LIN), Link("北", "m2", LIN), Link("东", "m3", LIN), Link("外", "m", LIN, vector=EAST)]
    )
    assert asked == [["东", "北"]]
    assert entities.find_similar(NORTH, LIN)[0].name == "北"


def test_aliases(entities):
    entities.link("臺灣大學", "m1", LIN, entity_type="school")
    school = {"entity_type": "school"}
    entities.add_aliases(
        "台湾大学", ["臺大", "NTU", "台大", "臺灣大學"], LIN, **school
    )  # 臺大 = 台大; its own name adds none
    entities.add_aliases("台湾大学", ["ntu"], LIN, **school)
    assert entities.aliases("臺灣大學", LIN, **school) == ("臺大", "NTU")
    for name in ("台大", "ＮＴＵ", "台湾大学"):
        assert [each.name for each in entities.find(name, LIN)] == ["臺灣大學"]
    assert entities.find("台大", CHEN) == []
    assert entities.find("台大", LIN, entity_type="person") == []
    entities.remove_aliases("臺灣大學", ["台大", "never given"], LIN, **school)
    assert entities.aliases("臺灣大學", LIN, **school) == ("NTU",)
    assert entities.find("臺大", LIN) == []
    entities.link("臺灣大學", "m2", LIN, **school)
    found = entities.read("臺灣大學", LIN, **school)
    assert (found.memory_ids, found.aliases) == (("m1", "m2"), ("NTU",))


def test_aliases_of_an_entity_that_is_not_stored(entities):
    with pytest.raises(MemoryNotFoundError, match=entity_id("甲", LIN)):
        entities.add_aliases("甲", ["乙"], LIN)
    entities.link("丙", "m", LIN)
    with pytest.raises(MemoryNotFoundError, match="link it first"):
        entities.remove_aliases("甲", ["乙"], LIN)


def test_merge(entities):
    entities.link_many([Link("林小满", "m1", LIN, "person"), Link("小林", "m2", LIN), Link("小林", "m1", LIN)])
    entities.add_aliases("小林", ["林林"], LIN)
    (lin,), (nick,) = entities.find("林小满", LIN), entities.find("小林", LIN)
    merged = entities.merge(lin, nick)
    assert merged == Entity("林小满", LIN, "person", ("m1", "m2"), ("小林", "林林"))
    assert entities.find("小林", LIN) == entities.find("林林", LIN) == [merged]
    assert len(rows(entities)) == 1
    assert entities.merge(lin, nick) == merged  # once more changes nothing


def test_merge_into_one_that_is_not_stored_renames(entities):
    entities.link("小林", "m1", LIN)
    renamed = entities.merge(Entity("林小满", LIN, "person"), Entity("小林", LIN))
    assert renamed == Entity("林小满", LIN, "person", ("m1",), ("小林",))
    assert [each.name for each in entities.find("小林", LIN)] == ["林小满"]


def test_merge_refuses_what_can_not_be_merged(entities):
    entities.link("甲", "m1", LIN)
    entities.link("甲", "m2", CHEN)
    with pytest.raises(ScopeError, match="two scopes"):
        entities.merge(Entity("甲", LIN), Entity("甲", CHEN))
    with pytest.raises(InvalidInputError, match="with itself"):
        entities.merge(Entity("甲", LIN), Entity("甲", LIN))
    with pytest.raises(MemoryNotFoundError):
        entities.merge(Entity("乙", LIN), Entity("丙", LIN))
    assert entities.merge(Entity("甲", LIN), Entity("丙", LIN)).memory_ids == ("m1",)


@pytest.mark.parametrize("step", ["link_many", "_change_aliases", "_delete_version"])
def test_an_interrupted_merge_is_finished_by_the_same_call(entities, monkeypatch, step):
    entities.link_many([Link("甲", "m1", LIN), Link("乙", "m2", LIN)])
    one, other = Entity("甲", LIN), Entity("乙", LIN)

    def killed(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(entities, step, killed)
        with pytest.raises(KeyboardInterrupt):
            entities.merge(one, other)
    assert {link for each in rows(entities) for link in each.payload["linked_memory_ids"]} == {"m1", "m2"}
    merged = entities.merge(one, other)
    assert set(merged.memory_ids) == {"m1", "m2"}
    assert merged.aliases == ("乙",)
    assert len(rows(entities)) == 1


def test_a_link_made_during_a_merge_goes_along(entities, monkeypatch):
    entities.link_many([Link("甲", "m1", LIN), Link("乙", "m2", LIN)])
    delete, met = entities._delete_version, []

    def late(row_id, version):
        if not met:
            entities.link("乙", "m3", LIN)
        met.append(delete(row_id, version))
        return met[-1]

    monkeypatch.setattr(entities, "_delete_version", late)
    merged = entities.merge(Entity("甲", LIN), Entity("乙", LIN))
    assert met == [False, True]
    assert merged.memory_ids == ("m1", "m2", "m3")
    assert entities.read("乙", LIN) is None


def test_as_a_vector_store(entities):
    payload = {"data": "甲", "entity_type": "person", "linked_memory_ids": ["m2", "m1", "m2"], **LIN}
    (first,) = entities.insert([EAST], [payload], ["11111111-1111-4111-8111-111111111111"])
    (again,) = entities.insert([NORTH], [payload | {"linked_memory_ids": ["m3"]}])
    assert first.id == again.id == entity_id("甲", LIN, "person")
    assert entities.get(first.id).payload["linked_memory_ids"] == ["m2", "m1", "m3"]
    entities.update(first.id, payload={"linked_memory_ids": ["m9"]})
    assert entities.read("甲", LIN, entity_type="person").memory_ids == ("m9",)
    entities.update(first.id, vector=NORTH)
    assert entities.find_similar(NORTH, LIN)[0].score == pytest.approx(1.0)
    entities.update(first.id, payload={"linked_memory_ids": []})
    assert entities.get(first.id) is None
    with pytest.raises(MemoryNotFoundError):
        entities.update(first.id, payload={"linked_memory_ids": ["m1"]})


def test_rows_of_one_insert_that_are_one_entity_are_put_together(entities):
    payloads = [{"data": name, "linked_memory_ids": [name], **LIN} for name in ("臺北", "台北")]
    first, second = entities.insert([None, EAST], payloads)
    assert first.id == second.id
    (found,) = entities.find_similar(EAST, LIN)
    assert (found.name, found.memory_ids) == ("臺北", ("臺北", "台北"))


def test_words_of_names_are_found(make_entities):
    entities = make_entities(analyzer="jieba")
    entities.link("国立臺灣大学", "m1", LIN)
    assert [hit.payload["data"] for hit in entities.keyword_search("台湾大学")] == ["国立臺灣大学"]


def test_names_are_in_no_message_and_no_log(entities, caplog):
    caplog.set_level(logging.DEBUG)
    said = []
    entities.link("秘密姓名", "m1", LIN, vector=EAST)
    for call in (
        lambda: entities.add_aliases("秘密姓名二", ["秘密别名"], LIN),
        lambda: entities.merge(Entity("秘密姓名二", LIN), Entity("秘密姓名三", LIN)),
        lambda: entities.link("秘密姓名", "m", LIN, vector=[0, 0, 0, 0]),
        lambda: entities.link("秘密姓名\ud800", "m", LIN),
    ):
        with pytest.raises((MemoryNotFoundError, InvalidInputError)) as refused:
            call()
        said.append(str(refused.value))
    assert len(said) == 4
    assert "秘密" not in "".join([*said, caplog.text])


def test_on_the_older_server(node_of, collection):
    url = node_of("2.19.1")
    memories = OpenSearchVectorStore(url=url, collection_name=collection, embedding_model_dims=4)
    entities = EntityStore.beside(memories)
    try:
        memories.insert([EAST, EAST], [{"data": "x", **LIN}] * 2, ["m1", "m2"])
        entities.link_many(
            [Link("臺北", "m1", LIN, "place", EAST), Link("台北", "m2", LIN, "place"), Link("甲", "m1", LIN)]
        )
        entities.link("台北", "m2", LIN, entity_type="place")
        entities.add_aliases("台北", ["北市"], LIN, entity_type="place")
        assert entities.find("北市", LIN) == [Entity("臺北", LIN, "place", ("m1", "m2"), ("北市",))]
        memories.delete("m1")
        assert {each.name for each in entities.find_by_memory("m2", LIN)} == {"臺北"}
        assert entities.find("甲", LIN) == []
        (similar,) = entities.find_similar(EAST, LIN)
        assert (similar.memory_ids, similar.score) == (("m2",), pytest.approx(1.0))
        entities.link("台北市", "m3", LIN)
        merged = entities.merge(similar, Entity("台北市", LIN))
        assert (merged.memory_ids, merged.aliases) == (("m2", "m3"), ("北市", "台北市"))
    finally:
        entities.delete_col()
        memories.delete_col()


def test_the_scope_of_a_row_is_put_in_order():
    assert list(check_scope({"run_id": "r", "user_id": "u"})) == ["user_id", "run_id"]
    assert entity_id("甲", {"run_id": "r", "user_id": "u"}) == entity_id("甲", {"user_id": "u", "run_id": "r"})
    assert entity_id("甲", {"user_id": "x"}) != entity_id("甲", {"agent_id": "x"})
