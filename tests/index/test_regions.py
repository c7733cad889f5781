"""Regional words: 软件 finds 軟體, both ways, on 60 pairs of our own."""

from __future__ import annotations

from pathlib import Path

import pytest

from mem_opensearch import queries
from mem_opensearch.text import fold, regional_variants

PAIRS = [
    line.split("\t") for line in (Path(__file__).parents[1] / "data/regional_pairs.tsv").read_text("utf-8").splitlines()
]
EAST = [1, 0, 0, 0]


@pytest.mark.unit
def test_both_scripts_of_a_query_have_the_same_variants():
    for taiwan, mainland in PAIRS:
        assert regional_variants(taiwan) == regional_variants(fold(taiwan))
        assert regional_variants(mainland) == regional_variants(fold(mainland))
    assert regional_variants("我喜欢喝茶") == ()


def found_first(store, stored, asked):
    store.insert([EAST] * len(stored), [{"data": f"上週處理了{word}的問題，已經記下。"} for word in stored], stored)
    return sum(
        store.keyword_search(f"{word}的问题记在哪里？")[0].id == right
        for word, right in zip(asked, stored, strict=True)
    )


@pytest.mark.parametrize("direction", [0, 1], ids=["mainland asks Taiwan", "Taiwan asks mainland"])
def test_most_pairs_find_each_other(store, monkeypatch, direction):
    stored = [pair[direction] for pair in PAIRS]
    asked = [pair[1 - direction] for pair in PAIRS]
    with_variants = found_first(store, stored, asked)
    monkeypatch.setattr(queries, "MAX_REGIONAL", 0)
    without = found_first(store, stored, asked)
    assert with_variants >= 48
    assert with_variants >= without + 12
