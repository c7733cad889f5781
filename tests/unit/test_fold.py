"""The fold: one character to one character, idempotent, both scripts to one text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mem_opensearch.text import fold, fold_rules, fold_version
from mem_opensearch.text.fold import fold_table


@pytest.mark.parametrize(
    ("given_text", "folded"),
    [
        ("臺北", "台北"),
        ("台北", "台北"),  # U+F9FB.. compatibility forms are folded by NFKC
        ("專案代號", "专案代号"),
        ("電子機械潛水", "电子机械潜水"),
        ("ＰＸ－４４１", "PX-441"),
        ("５Ｇ　ｏｋ！", "5G ok!"),
        ("神", "神"),  # a compatibility ideograph
        ("⾦", "金"),  # a Kangxi radical
        ("𠮷野😂", "𠮷野😂"),
        ("plain text, 简体", "plain text, 简体"),
    ],
)
def test_known_texts(given_text, folded):
    assert fold(given_text) == folded


@given(st.text())
def test_length_is_kept_and_folding_twice_changes_nothing(text):
    once = fold(text)
    assert len(once) == len(text)
    assert fold(once) == once


def test_no_folded_character_is_itself_folded():
    table = fold_table()
    assert not [chr(point) for point, after in table.items() if ord(after) in table]
    assert all(len(after) == 1 for after in table.values())


def test_every_rule_reads_back_as_the_table():
    def unescape(side):
        units = b"".join(bytes.fromhex(part) for part in side.split("\\u")[1:]) if side.startswith("\\u") else None
        return side if units is None else units.decode("utf-16-be")

    read = {}
    for rule in fold_rules():
        left, _, right = rule.partition("=>")
        read[ord(unescape(left))] = unescape(right)
    assert read == dict(fold_table())


def test_version_names_the_table():
    assert len(fold_version()) == 12
    assert len(fold_rules()) > 4000
