"""Every weight can be given in the configuration, and a search works with it."""

from __future__ import annotations

from dataclasses import fields

import pytest

from mem_opensearch.errors import ConfigError
from mem_opensearch.fusion import UnionWeights
from mem_opensearch.search import Searcher, SearchOptions

USER = {"user_id": "u1"}
TALK = [
    ("asks", "我們組了一個羽毛球小組", {"created_at": "2026-08-01T10:00:00+00:00"}),
    ("answers", "八個人左右", {"created_at": "2026-08-01T10:01:00+00:00"}),
]


@pytest.mark.parametrize("weight", [option.name for option in fields(UnionWeights)])
def test_each_weight_by_configuration(remember, weight):
    searcher = remember(TALK, options=SearchOptions(weights={weight: 1}))
    assert searcher.search("羽毛球小組有多少人？", filters=USER).results[0].id


def test_context_turns_has_an_effect(remember):
    for turns, follows in ((0, None), (1, "asks")):
        searcher = remember(TALK, options=SearchOptions(weights={"context_turns": turns}))
        found = searcher.search("羽毛球小組有多少人？", filters=USER, explain=True, threshold=0.0).results
        details = next(one.details for one in found if one.id == "answers")
        assert (details["follows"] or {}).get("id") == follows


def test_half_a_turn_is_refused(remember):
    store = remember(TALK).store
    with pytest.raises(ConfigError, match="'context_turns' is 1.5, expected a whole number"):
        Searcher(store, options=SearchOptions(weights={"context_turns": 1.5}))
