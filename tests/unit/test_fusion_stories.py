"""Three questions that one signal alone can't answer, from words to ranking, in both scripts and in English."""

from datetime import UTC, datetime

import pytest

from mem_opensearch.fusion import Candidate, Question, Replacement, fuse, passed
from mem_opensearch.temporal import Statement, asks_about_the_past, find_superseded, slots_of

pytestmark = pytest.mark.unit


def test_the_project_of_that_number_comes_first():
    # The three memories are one sentence with another number: their meanings and most of their words are the same.
    scored = fuse(
        [
            Candidate("PX-882", cosine=0.82, words=3.1, identifiers=0),
            Candidate("PX-441", cosine=0.80, words=3.4, identifiers=1),
            Candidate("PX-103", cosine=0.83, words=3.1, identifiers=0),
        ]
    )
    assert scored[0].id == "PX-441"
    assert scored[0].gate == "identifier"


def test_what_was_linked_to_a_name_is_found_though_it_does_not_say_it():
    scored = fuse(
        [
            Candidate("she recommended the noodle shop", cosine=0.12, words=0.0, entity=0.73),
            Candidate("Alice is a colleague", cosine=0.55, words=0.0, entity=1.0),
            Candidate("the dentist is closed on Monday", cosine=0.14, words=0.0, entity=0.0),
        ]
    )
    results = passed(scored, limit=5)
    assert [one.id for one in results] == ["Alice is a colleague", "she recommended the noodle shop"]
    assert results[1].gate == "entity"


@pytest.mark.parametrize(
    ("lisbon", "berlin", "question"),
    [
        ("使用者住在里斯本", "使用者住在柏林", "使用者住在哪裡？"),
        ("用户住在里斯本", "用户已经搬到柏林", "用户住在哪里？"),
        ("The user lives in Lisbon", "The user moved to Berlin", "Where does the user live?"),
    ],
)
def test_the_city_that_holds_comes_first_and_the_other_is_marked(lisbon, berlin, question):
    old = Statement("lisbon", lisbon, datetime(2025, 3, 1, tzinfo=UTC))
    new = Statement("berlin", berlin, datetime(2026, 8, 1, tzinfo=UTC))
    (evidence,) = find_superseded(new, [(old, 0.6)])
    assert evidence.older == "lisbon"
    scored = fuse(
        [
            Candidate(
                "lisbon",
                cosine=0.7,
                words=4.0,
                created_at=old.created_at,
                superseded_by=Replacement("berlin", frozenset(evidence.slots)),
            ),
            Candidate("berlin", cosine=0.6, words=3.0, created_at=new.created_at),
        ],
        question=Question(slots_of(question), asks_about_the_past(question)),
    )
    assert [one.id for one in scored] == ["berlin", "lisbon"]
    assert scored[1].superseded_by == "berlin"
    assert scored[1].gate is not None
