"""Memories are linked to what they name, in few requests, on a real node."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mem_opensearch.entities import Extractor, closeness, factor
from mem_opensearch.errors import InvalidInputError, ScopeError
from mem_opensearch.store import EntityLinker, EntityStore, MemoryText
from mem_opensearch.store.naming import OtherNames
from mem_opensearch.text import load_dictionary

LIN, CHEN = {"user_id": "lin"}, {"user_id": "chen"}
RULES = Extractor(taggers=[])  # so that a test does not hang on which models are installed


@pytest.fixture
def linker(entities):
    return EntityLinker(entities, extractor=RULES)


def links(entities, scope=LIN):
    """Name -> memories, over all types of the name."""
    found = {}
    for row in entities.list(scope)[0]:
        found.setdefault(row.payload["data"], set()).update(row.payload["linked_memory_ids"])
    return found


def types(entities, scope=LIN):
    return sorted((row.payload["data"], row.payload["entity_type"]) for row in entities.list(scope)[0])


def memory(memory_id, text, *names, **scope):
    return MemoryText(memory_id, text, scope or LIN, names)


# -- what is linked


def test_explicit_names_mentions_and_roles(entities, linker):
    linker.link([memory("m1", "王老师让我读《围城》，代号PX-441，表弟也读。", "林小满", "《边城》")])
    assert links(entities) == {name: {"m1"} for name in ("林小满", "边城", "王老师", "围城", "PX-441", "表弟")}
    assert ("围城", "work") in types(entities)
    assert ("边城", "") in types(entities)


@pytest.mark.parametrize(
    ("told", "later", "name", "alias", "word"),
    [
        ("新来的总监叫盛怀瑾。", "总监要我周五交报告。", "盛怀瑾", "总监", "总监"),
        ("新來的總監叫盛懷瑾。", "总监要我周五交报告。", "盛懷瑾", "總監", "总监"),
        ("发小「铁蛋」大名叫单雨泽。", "铁蛋下个月来找我。", "单雨泽", "铁蛋", "铁蛋"),
        ("發小「鐵蛋」大名叫單雨澤。", "铁蛋下个月来找我。", "單雨澤", "鐵蛋", "铁蛋"),
        ("My cousin Tom moved to Leeds.", "My cousin is allergic to nuts.", "Tom", "cousin", "cousin"),
    ],
)
def test_a_name_reaches_the_memories_that_say_another_name(entities, linker, told, later, name, alias, word):
    linker.link([memory("m1", told)])
    linker.link([memory("m2", later)])
    (row,) = entities.find(name, LIN)
    assert (row.aliases, row.memory_ids) == ((alias,), ("m1",))
    (other,) = [each for each in entities.find(word, LIN) if each.name == alias]
    assert other.memory_ids == ("m1", "m2")
    question = f"{name}?"
    rows = [*entities.find_named(question, LIN), other]
    near = closeness(factor(question, [each.name for each in rows]).names, rows)
    assert near == {"m1": 1.0, "m2": 0.9}


def test_a_known_name_is_linked_where_nothing_else_finds_it(entities, linker):
    """半碗春 in plain text is a name to nobody but the user whose memories have named it so."""
    linker.link([memory("m1", "我常去的那家面馆叫「半碗春」。")])
    linker.link([memory("m2", "今天半碗春沒開門"), memory("m3", "今天半碗春没开门", **CHEN)])
    assert links(entities)["半碗春"] == {"m1", "m2"}
    assert links(entities)["面馆"] == {"m1"}
    assert links(entities, CHEN) == {}


def test_memories_of_one_call_know_each_others_names(entities, linker):
    linker.link([memory("m1", "算盘吐了一地毛"), memory("m2", "家里的猫叫「算盘」。")])
    assert links(entities)["算盘"] == {"m1", "m2"}


def test_names_given_by_hand_are_known_too(entities, linker):
    entities.link("臺北", "m1", LIN, entity_type="place")
    entities.add_aliases("臺北", ["北市"], LIN, entity_type="place")
    linker.link([memory("m2", "下周去北市开会，顺便逛台北。")])
    assert entities.read("台北", LIN, entity_type="place").memory_ids == ("m1", "m2")
    assert links(entities)["北市"] == {"m2"}


def test_short_names_are_found_in_long_memories(entities, linker):
    linker.link([memory("m1", "家里的猫叫「算盘」。")])
    linker.link(
        [memory("m2", "今天的天气很好，我们一起去公园里走了走。" * 40 + "算盘不在家" + "。后来又下起了雨。" * 40)]
    )
    assert links(entities)["算盘"] == {"m1", "m2"}


def test_a_latin_name_is_a_whole_word(entities, linker):
    linker.link([memory("m1", "x", "Ann")])
    linker.link([memory("m2", "we met ann there"), memory("m3", "an annual report")])
    assert links(entities) == {"Ann": {"m1", "m2"}}


def test_what_a_longer_role_ends_with_is_another_one(entities, linker):
    linker.link([memory("m1", "x", "教练", "面馆")])
    extractor = Extractor(taggers=[], dictionary=None)
    EntityLinker(entities, extractor=extractor).link(
        [memory("m2", "游泳教练让他学蝶泳。"), memory("m3", "面馆老板周一不营业。")]
    )
    found = links(entities)
    assert found["教练"] == {"m1"}
    assert found["面馆"] == {"m1", "m3"}
    assert found["游泳教练"] == {"m2"}


def test_a_name_inside_a_longer_name_is_not_said(entities, linker):
    linker.link([memory("m1", "x", "大安"), memory("m2", "我在「大安區公所」上班")])
    assert links(entities) == {"大安": {"m1"}, "大安區公所": {"m2"}}


def test_the_users_dictionary_names(entities, tmp_path):
    (tmp_path / "names.txt").write_text("青石坊\n", "utf-8")
    extractor = Extractor(taggers=[], dictionary=load_dictionary(tmp_path / "names.txt"))
    EntityLinker(entities, extractor=extractor).link([memory("m1", "周末去青石坊")])
    assert links(entities) == {"青石坊": {"m1"}}


def test_the_installed_extractor_is_used_when_none_is_given(entities):
    EntityLinker(entities).link([memory("m1", "我在讀《圍城》。")])
    assert links(entities)["圍城"] == {"m1"}


# -- one row for a name


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize("explicit_first", [True, False])
def test_a_name_that_is_explicit_here_and_found_there_is_one_row(entities, linker, at_once, explicit_first):
    memories = [memory("m1", "今天很累", "盛怀瑾"), memory("m2", "总监叫盛懷瑾。")]
    memories = memories if explicit_first else memories[::-1]
    for batch in [memories] if at_once else [[each] for each in memories]:
        linker.link(batch)
    (row,) = entities.find("盛怀瑾", LIN)
    assert set(row.memory_ids) == {"m1", "m2"}
    assert row.aliases == ("总监",)
    assert row.type == ("" if explicit_first and not at_once else "person")


def test_an_untold_name_joins_the_row_that_there_is(entities, linker):
    entities.link("小米", "m1", LIN, entity_type="cat")
    linker.link([memory("m2", "x", "小米"), memory("m3", "她叫它「小米」，")])
    assert entities.read("小米", LIN, entity_type="cat").memory_ids == ("m1", "m2", "m3")
    assert len(entities.find("小米", LIN)) == 1


def test_rows_that_are_told_apart_stay_apart(entities, linker):
    """mem0ai/mem0#5587: one name of two types was made one entity."""
    linker.link([memory("m1", "总监叫盛怀瑾。")])
    linker.link([memory("m2", "我在读《盛怀瑾》。")])
    linker.link([memory("m1", "总监叫盛怀瑾。"), memory("m2", "我在读《盛怀瑾》。")])
    assert {each.type: each.memory_ids for each in entities.find("盛怀瑾", LIN)} == {"person": ("m1",), "work": ("m2",)}


# -- whose


def test_names_of_a_users_other_scopes_are_known_and_links_are_the_memorys_own(entities, linker):
    first, second = LIN | {"run_id": "r1"}, LIN | {"run_id": "r2"}
    linker.link([memory("m1", "家里的猫叫「算盘」。", **first)])
    linker.link(
        [memory("m2", "算盘吐了", **second), memory("m3", "算盘吐了", **CHEN), memory("m4", "算盘吐了", run_id="r1")]
    )
    assert {tuple(each.scope.items()): each.memory_ids for each in entities.find("算盘", LIN)} == {
        tuple(first.items()): ("m1",),
        tuple(second.items()): ("m2",),
    }
    assert entities.find("算盘", CHEN) == []
    assert [each.memory_ids for each in entities.find("算盘", {"run_id": "r1"})] == [("m1",)]


def test_what_users_call_things_is_not_for_an_agents_own_memories(entities, linker):
    linker.link([memory("m1", "家里的猫叫「算盘」。", user_id="lin", agent_id="cook")])
    linker.link([memory("m2", "算盘不在家", agent_id="cook"), memory("m3", "x", "灶台", agent_id="cook")])
    linker.link([memory("m4", "灶台很烫", agent_id="cook")])
    assert [each.memory_ids for each in entities.find("算盘", {"agent_id": "cook"})] == [("m1",)]
    assert [each.memory_ids for each in entities.find("灶台", {"agent_id": "cook"})] == [("m3", "m4")]


def test_aliases_of_an_entity_that_has_gone_make_no_row(entities):
    entities.link("单雨泽", "m1", LIN)
    names = [OtherNames("单雨泽", ["铁蛋"], LIN), OtherNames("覃小川", ["表弟"], LIN)]
    entities.add_aliases_many([*names, OtherNames("單雨澤", ["鐵蛋", "阿泽"], LIN)])
    assert entities.aliases("单雨泽", LIN) == ("铁蛋", "阿泽")
    assert links(entities) == {"单雨泽": {"m1"}}


def test_aliases_of_one_user_are_not_anothers(entities, linker):
    linker.link([memory("m1", "表弟覃小川来了。", "覃小川"), memory("m2", "x", "覃小川", **CHEN)])
    assert entities.aliases("覃小川", CHEN) == ()


# -- again, and undone


def test_once_more_changes_nothing(entities, linker):
    batch = [
        memory("m1", "新来的总监叫盛怀瑾。", "盛怀瑾"),
        memory("m2", "总监姓盛，盛怀瑾。"),
        memory("m3", "My cousin Tom"),
    ]
    linker.link(batch)
    before = sorted((row.id, str(row.payload)) for row in entities.list()[0])
    linker.link(batch)
    linker.link(batch[::-1])
    assert sorted((row.id, str(row.payload)) for row in entities.list()[0]) == before


def test_deleting_a_memory_removes_its_links(make_store, entities):
    store = make_store()
    beside = EntityStore.beside(store)
    linker = EntityLinker(beside, extractor=RULES)
    texts = {"m1": "新来的總監叫盛懷瑾。", "m2": "总监很忙。", "m3": "My landlord is Tom."}
    store.insert([[1, 0, 0, 0]] * 3, [{"data": text, **LIN} for text in texts.values()], list(texts))
    linker.link(memory(each, text) for each, text in texts.items())
    store.delete("m1")
    assert links(beside) == {"總監": {"m2"}, "landlord": {"m3"}, "Tom": {"m3"}}
    store.delete("m3")
    assert links(beside) == {"總監": {"m2"}}


def test_a_changed_text_is_linked_anew_after_unlinking(entities, linker):
    linker.link([memory("m1", "我在读《围城》。"), memory("m2", "我在读《围城》。")])
    entities.unlink_memories(["m1"])
    linker.link([memory("m1", "我在读《边城》。")])
    assert links(entities) == {"围城": {"m2"}, "边城": {"m1"}}


# -- requests


def test_three_requests_for_many_memories_of_many_scopes(entities, linker):
    linker.link([memory("m0", "总监叫盛怀瑾。")])  # makes the collection
    entities.list(LIN, top_k=1)  # shows it
    batch = [
        memory(f"m{user}-{number}", f"新來的總監叫盛懷瑾，他見了王老師，读《第{number}本》。", user_id=f"u{user}")
        for user in range(10)
        for number in range(10)
    ]
    before = entities.client.requests
    linker.link(batch)
    assert entities.client.requests - before == 3
    assert len(entities.find("盛怀瑾", {"user_id": "u3"})[0].memory_ids) == 10


def test_nothing_to_link_asks_nothing_and_makes_no_collection(entities, linker):
    linker.link([])
    linker.link([memory("m1", "嗯。")])
    assert entities.client.requests == 0
    linker.link([memory("m1", "下雨了。")])
    made = entities.client.request("GET", "/_alias")
    assert not [index for index in made if index.startswith(entities.collection_name)]


# -- many writers


def test_16_threads_lose_no_link_and_no_alias(make_entities):
    shared = make_entities()

    def work(worker):
        linker = EntityLinker(shared if worker % 2 else make_entities(), extractor=RULES)
        for number in range(5):
            told = ("新来的总监叫盛怀瑾。", "新來的總監叫盛懷瑾。")[worker % 2]
            linker.link(
                [memory(f"m{worker}-{number}", told), memory(f"n{worker}-{number}", "总监和铁蛋去青石坊", "铁蛋")]
            )

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(work, range(16)))
    wanted = {f"{kind}{worker}-{number}" for kind in "mn" for worker in range(16) for number in range(5)}
    (named,) = shared.find("盛怀瑾", LIN)
    assert set(named.memory_ids) == {each for each in wanted if each[0] == "m"}
    assert len(named.aliases) == 1
    assert set().union(*(each.memory_ids for each in shared.find("总监", LIN) if each.name != named.name)) == wanted
    (nick,) = shared.find("铁蛋", LIN)
    assert set(nick.memory_ids) == {each for each in wanted if each[0] == "n"}


# -- vectors


def test_names_get_the_vectors_of_the_linkers_embedder(entities):
    calls = []

    def embed(names):
        calls.append(list(names))
        return [[1, 0, 0, 0] if name == "围城" else [0, 1, 0, 0] for name in names]

    EntityLinker(entities, extractor=RULES, embed=embed).link(
        [memory("m1", "我在读《围城》。", "林小满"), memory("m2", "《围城》")]
    )
    assert calls == [["林小满", "围城"]]
    assert [each.name for each in entities.find_similar([1, 0, 0, 0], LIN, top_k=1)] == ["围城"]


# -- bad input


@pytest.mark.parametrize(
    ("wrong", "error", "message"),
    [
        (MemoryText("", "x", LIN), InvalidInputError, "memory id"),
        (MemoryText("m1", "x", {}), ScopeError, "scope"),
        (MemoryText("m1", "x", {"user_id": "*"}), ScopeError, "wildcard"),
        (MemoryText("m1", None, LIN), InvalidInputError, "NoneType is no text"),
        (MemoryText("m1", "x", LIN, "林小满"), InvalidInputError, "'m1' are a string; give a list"),
        (MemoryText("m1", "x", LIN, ["《 》"]), InvalidInputError, "a name of memory 'm1' is blank"),
        (MemoryText("m1", "x", LIN, [7]), InvalidInputError, "a name of memory 'm1' is int"),
        (MemoryText("m1", "x", LIN, ["名" * 9000]), InvalidInputError, "9000 characters"),
    ],
)
def test_what_is_no_memory_is_refused_before_anything_is_sent(entities, linker, wrong, error, message):
    with pytest.raises(error, match=message):
        linker.link([memory("m0", "我在读《围城》。"), wrong])
    assert entities.client.requests == 0


def test_a_page_in_quotes_is_no_entity(entities, linker):
    linker.link([memory("m1", f"他说「{'很长的话' * 3000}」，又读了《围城》。")])
    assert links(entities) == {"围城": {"m1"}}


# -- find_named


def test_find_named_is_one_request(entities):
    entities.link_many([])
    for name, scope in [("林小满", LIN), ("台北", LIN), ("Tom", LIN), ("林小满", CHEN), ("茶", LIN)]:
        entities.link(name, f"about {name}", scope)
    entities.add_aliases("林小满", ["小滿"], LIN)
    entities.list(LIN, top_k=1)  # shows what was written
    before = entities.client.requests
    found = entities.find_named("小满在臺北和tom見面了嗎？", LIN)
    assert entities.client.requests - before == 1
    assert sorted(each.name for each in found) == ["Tom", "台北", "林小满"]
    assert all(each.scope == LIN and each.memory_ids for each in found)


def test_find_named_of_nothing(make_entities, entities):
    assert entities.find_named("林小满在哪里？", LIN) == []  # no collection
    entities.link("林小满", "m1", LIN)
    assert entities.find_named("？！", LIN) == []
    assert entities.find_named("谁？", LIN) == []
    with pytest.raises(ScopeError):
        entities.find_named("林小满", {})
    with pytest.raises(InvalidInputError, match="NoneType is no text"):
        entities.find_named(None, LIN)


def test_find_named_finds_a_short_name_in_a_long_question(entities):
    entities.link("算盘", "m1", LIN)
    question = (
        "我上个星期在公园里遇到的那位邻居跟我聊了很久关于他们家的事情以及天气还有他最近在看的电视剧里面的情节安排" * 3
    )
    assert [each.name for each in entities.find_named(question + "算盘呢？", LIN)] == ["算盘"]
