"""A profile's mapping, rows and query are about the same field."""

import pytest

from mem_opensearch.dialects import OpenSearchDialect
from mem_opensearch.index import render_templates
from mem_opensearch.models import PROFILES, IndexSpec
from mem_opensearch.profiles import CLIENT_WEIGHT, rewrite_words, word_field
from mem_opensearch.queries import FIELD_BOOSTS, keyword_clauses
from mem_opensearch.text import load_dictionary

DIALECT = OpenSearchDialect((3, 6, 0))


@pytest.mark.parametrize("profile", PROFILES)
def test_mapping_row_and_query_agree(profile):
    words = word_field(profile)
    component = render_templates(IndexSpec("c", "memory", 4, profile, "lucene"), DIALECT).component["template"]
    properties = component["mappings"]["properties"]
    mapped = properties[words.field]
    assert mapped["analyzer"] == "words"
    assert mapped.get("index", True)
    assert component["settings"]["analysis"]["tokenizer"]["words"]["type"] == words.tokenizer
    row = words.row("专案代号")
    assert row["text"] == "专案代号"  # the other fields and a later move to another profile need it
    assert set(row) <= set(properties)
    asked = [clause["match"] for clause in keyword_clauses("专案代号", words=words)]
    match, *regional = [match[words.field] for match in asked if words.field in match]
    assert {each["_name"] for each in regional} <= {"text.regional"}
    weight = CLIENT_WEIGHT if words.client_side else 1
    assert match == {"query": row[words.field], "boost": FIELD_BOOSTS["text"] * weight, "_name": "text"}


def test_the_other_fields_are_the_same_in_every_profile():
    found = []
    for profile in PROFILES:
        component = render_templates(IndexSpec("c", "memory", 4, profile, "lucene"), DIALECT).component["template"]
        analyzers = component["settings"]["analysis"]["analyzer"]
        found.append((component["mappings"]["properties"]["text"]["fields"], {**analyzers, "words": None}))
    assert all(each == found[0] for each in found)


def test_words_of_the_client_are_cut_alike_on_both_sides():
    words = word_field("jieba")
    assert words.row("台北的专案")["words"] == words.row("臺北的專案")["words"] == "台北 的 专案"
    assert words.clause("臺北的專案", boost=2)["match"]["words"]["query"] == "台北 的 专案"


def test_a_stored_row_moves_to_any_profile():
    row = {"id": "m1", "text": "裴若谷在臺北", "vector": [1.0], "payload": {"data": "裴若谷在臺北"}}
    plain, more = word_field("jieba"), word_field("jieba", load_dictionary(["裴若谷"]))
    first = rewrite_words(row, plain)
    assert first == row | {"words": "裴 若 谷 在 台北"}
    assert rewrite_words(first, more) == row | {"words": "裴若谷 在 台北"}
    assert rewrite_words(first, word_field("ik")) == row


def test_meta_remembers_dictionaries_only_where_there_are_some():
    def meta(profile, dictionary=None):
        spec = IndexSpec("c", "memory", 4, profile, "lucene", dictionary=dictionary)
        return render_templates(spec, DIALECT).index["template"]["mappings"]["_meta"]["mem_opensearch"]

    assert "dictionary" not in meta("ik")
    assert meta("jieba", "abc")["dictionary"] == "abc"
