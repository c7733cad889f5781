"""A question in two parts, and how close memories are to its names."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_opensearch.entities import Factored, closeness, factor, names_in, possible_names
from mem_opensearch.entities.closeness import ALIAS, BESIDE, same_role
from mem_opensearch.errors import InvalidInputError
from mem_opensearch.text import fold_name


@dataclass(frozen=True)
class Row:
    name: str
    memory_ids: tuple[str, ...]
    aliases: tuple[str, ...] = ()


@pytest.mark.parametrize(
    ("query", "known", "names", "rest"),
    [
        ("裴若谷建议我什么时候拔智齿？", ["裴若谷", "智齿"], ("裴若谷",), " 建议我什么时候拔智齿？"),
        ("算盘要吃多久处方粮？", ["算盘", "处方粮"], ("算盘",), " 要吃多久处方粮？"),
        ("安禾診所星期日看病嗎？", ["安禾诊所", "诊所"], ("安禾診所",), " 星期日看病嗎？"),
        ("表弟在哪裡上學？", ["表弟"], ("表弟",), "表弟在哪裡上學？"),
        ("昨天晚上吃了什么？", [], (), "昨天晚上吃了什么？"),
        ("盛怀瑾呢？", ["盛怀瑾"], ("盛怀瑾",), "盛怀瑾呢？"),
        ("Where does Leonor live?", ["leonor"], ("Leonor",), "Where does   live?"),
        ("", [], (), ""),
    ],
)
def test_factored(query, known, names, rest):
    assert factor(query, known) == Factored(names, rest)


def test_a_name_that_nothing_is_linked_to_stays_in_the_rest():
    assert factor("盛怀瑾喜欢什么？") == Factored(("盛怀瑾",), "盛怀瑾喜欢什么？")


def test_a_latin_name_is_a_whole_word():
    assert names_in("Tommy and Tom", ["tom"]) == [(10, 13)]


@given(st.text(), st.lists(st.text(), max_size=4))
def test_any_text_and_any_names(text, names):
    assert all(0 <= start < end <= len(text) for start, end in names_in(text, names))
    assert factor(text, names, mentions=[]).rest.strip() == text.strip() or names_in(text, names)
    assert len(possible_names(text)) <= 400


def test_possible_names_hold_what_a_tagger_does_not_know():
    names = possible_names("残卷阁收连环画一本给多少钱？Leonor Silva 呢")
    assert {"残卷阁", "连环画", "leonor", "leonor silva"} <= set(names)
    assert all(name == fold_name(name) for name in names)
    assert not {"多少", "今天"} & set(possible_names("今天多少"))


def test_what_is_no_text_has_no_names():
    with pytest.raises(InvalidInputError):
        possible_names(None)


class TestCloseness:
    def test_directly_by_alias_and_over_one_entity(self):
        rows = [
            Row("贺兰英", ("m22",), ("房东",)),
            Row("房东", ("m22", "m23")),
            Row("中学", ("m22", "m30", "m31")),
            Row("邻居", ("m11",)),
        ]
        close = closeness(["賀蘭英"], rows)
        assert close == pytest.approx({"m22": 1.0, "m23": ALIAS, "m30": BESIDE / 1.2, "m31": BESIDE / 1.2})

    def test_one_hop_and_no_more(self):
        rows = [Row("a", ("m1",)), Row("b", ("m1", "m2")), Row("c", ("m2", "m3"))]
        assert closeness(["a"], rows) == pytest.approx({"m1": 1.0, "m2": BESIDE / 1.1})

    def test_an_alias_that_two_have_is_shared(self):
        rows = [Row("湛美鳳", ("m4",), ("鄰居",)), Row("老王", ("m9",), ("邻居",)), Row("鄰居", ("m4", "m21"))]
        assert closeness(["湛美凤"], rows)["m21"] == pytest.approx(ALIAS / 2)

    def test_the_question_may_say_the_alias(self):
        rows = [Row("覃小川", ("m1",), ("表弟",)), Row("表弟", ("m1", "m2"))]
        assert closeness(["表弟"], rows) == {"m1": 1.0, "m2": 1.0}
        assert closeness(["表弟"], rows[:1]) == {"m1": ALIAS}

    def test_another_trainer_is_another_trainer(self):
        rows = [Row("纪沉", ("m11",), ("健身教练",)), Row("教练", ("m22",)), Row("游泳教练", ("m16",))]
        assert closeness(["纪沉"], rows) == {"m11": 1.0, "m22": ALIAS}

    def test_nothing_asked_or_nothing_known(self):
        assert closeness([], [Row("a", ("m1",))]) == {}
        assert closeness(["", " "], [Row("a", ("m1",))]) == {}
        assert closeness(["x"], [Row("a", ("m1",))]) == {}

    @given(
        st.lists(st.sampled_from("abcd"), max_size=3),
        st.lists(
            st.builds(
                Row,
                st.sampled_from("abcd"),
                st.lists(st.sampled_from(["m1", "m2", "m3"]), unique=True).map(tuple),
                st.lists(st.sampled_from("abcd"), max_size=2).map(tuple),
            ),
            max_size=5,
        ),
    )
    def test_always_in_the_unit_interval_and_whatever_the_order(self, names, rows):
        close = closeness(names, rows)
        assert all(0 < value <= 1 for value in close.values())
        assert close == pytest.approx(closeness(names, rows[::-1]))


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        ("班主任", "班主任", 1.0),
        ("老师", "插花老师", 1.0),
        ("书法老师", "插花老师", 0.0),
        ("表弟", "表哥", 0.0),
        ("", "x", 0.0),
    ],
)
def test_roles(one, other, value):
    assert same_role(one, other) == value
