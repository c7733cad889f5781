"""A round of questions, by keys: no server is needed for it."""

from __future__ import annotations

import pytest

from mem_opensearch.errors import InvalidInputError, ScopeError
from mem_opensearch.label import Candidate, Judging, Question, judgements, read_questions
from mem_opensearch.label.judging import PAGE

QUESTIONS = [Question(f"q{number}", f"問題{number}", "lin") for number in range(3)]


class Screen:
    def __init__(self):
        self.pages, self.said = [], []

    def show(self, page):
        self.pages.append((page.question.id, [each.id for each in page.candidates], dict(page.marks)))
        self.said.append(page.said)


@pytest.fixture
def judge():
    """Press keys; return the round, its screen and what was recorded."""

    def press(keys, *, found=3, questions=QUESTIONS):
        recorded, screen = [], Screen()
        candidates = [Candidate(f"m{number}", f"text {number}") for number in range(found)]
        judging = Judging(lambda _: candidates, screen, recorded.append, "wei")
        return judging.run(questions, keys), screen, recorded

    return press


def test_digits_mark_and_enter_goes_on(judge):
    judged, screen, recorded = judge("1\n\n22\n")
    first = screen.pages[0][1][0]
    assert judged == 3
    assert [each.question.id for each in recorded] == ["q0", "q1", "q2"]
    assert {key for key, mark in recorded[0].marks.items() if mark == "relevant"} == {first}
    assert set(recorded[1].marks.values()) == {"not"}
    assert sorted(recorded[2].marks.values()) == ["not", "not", "unsure"]
    assert {each.judge for each in recorded} == {"wei"}


def test_a_digit_goes_through_all_marks(judge):
    _, screen, _ = judge("1111")
    first = screen.pages[0][1][0]
    assert [marks[first] for _, _, marks in screen.pages] == ["not", "relevant", "unsure", "outdated", "not"]


def test_back_replaces_what_was_said(judge):
    judged, screen, recorded = judge("1\nu2\nq")
    assert judged == 1
    assert [each.question.id for each in recorded] == ["q0", "q0"]
    assert [question for question, _, _ in screen.pages] == ["q0", "q0", "q1", "q0", "q0", "q1"]
    assert judge("uuq")[0] == 0, "there is nothing before the first"


def test_what_is_left_for_later_comes_once_more(judge):
    judged, screen, _ = judge("s\n\ns")
    assert judged == 2
    asked = [question for question, _, _ in screen.pages]
    assert asked == ["q0", "q1", "q2", "q0"]


def test_the_end_of_the_keys_is_the_end(judge):
    judged, _, recorded = judge("1\n1")
    assert (judged, len(recorded)) == (1, 1)


def test_more_pages_keep_the_marks(judge):
    _, screen, recorded = judge("1m2m\n", found=PAGE + 2)
    pages = {tuple(shown) for _, shown, _ in screen.pages if _}
    assert {len(shown) for shown in pages} == {PAGE, 2}
    assert len(recorded[0].marks) == PAGE + 2
    assert sum(mark == "relevant" for mark in recorded[0].marks.values()) == 2
    assert any("first ones again" in said for said in screen.said)


def test_what_was_not_shown_is_not_judged(judge):
    _, _, recorded = judge("\n", found=PAGE + 2)
    assert set(recorded[0].marks) == {f"m{number}" for number in range(PAGE)}


def test_the_order_tells_nothing_of_the_rank_and_is_the_same_again(judge):
    orders = [tuple(shown) for _, shown, _ in judge("\n\n\n", found=PAGE)[1].pages]
    assert orders == [tuple(shown) for _, shown, _ in judge("\n\n\n", found=PAGE)[1].pages]
    assert len(set(orders)) == 3


def test_other_keys_are_said_to_be_none(judge):
    _, screen, recorded = judge("x94\n", found=3)
    assert [said for said in screen.said if said] == ["no key: 'x'", "no key: '9'", "no key: '4'"]
    assert set(recorded[0].marks.values()) == {"not"}


def test_nothing_found_can_be_judged(judge):
    _, _, recorded = judge("1\n", found=0)
    assert recorded[0].marks == {}


def test_the_file_is_read_as_it_was_written(judge, tmp_path):
    path = tmp_path / judgements.FILE
    for each in judge("1\nu\n2\n\n")[2]:
        judgements.append(path, each)
    found, cut_off = judgements.read(path)
    assert cut_off == 0
    assert list(found) == ["q0", "q1", "q2"]
    assert set(found["q0"].marks.values()) == {"not"}, "the last word counts"


@pytest.mark.parametrize("cut", [1, 20, -2])
def test_a_line_that_was_cut_off_costs_that_line(judge, tmp_path, cut):
    path = tmp_path / judgements.FILE
    first, second, third = judge("1\n2\n3\n")[2]
    judgements.append(path, first)
    whole = path.read_bytes()
    judgements.append(path, second)
    path.write_bytes(whole + path.read_bytes()[len(whole) :][:cut])
    judgements.append(path, third)
    found, cut_off = judgements.read(path)
    assert (list(found), cut_off) == (["q0", "q2"], 1)


@pytest.mark.parametrize("line", ['{"judge": "x"}', "[]", '{"question": {}, "marks": {"m": "perhaps"}}'])
def test_what_no_judge_can_have_said_is_refused(tmp_path, line):
    path = tmp_path / judgements.FILE
    path.write_text(line + "\n")
    with pytest.raises(InvalidInputError, match="line 1: expected a 'question'"):
        judgements.read(path)


def test_a_log_of_lines(tmp_path):
    path = tmp_path / "log"
    path.write_text("\ufeff我住在哪裡？\n\n  where do I live? \r\n我住在哪裡？\n", encoding="utf-8")
    first, second = read_questions(path, user_id="lin")
    assert (first.text, second.text) == ("我住在哪裡？", "where do I live?")
    assert first.id != second.id
    assert read_questions(path, user_id="lin")[0].id == first.id
    assert read_questions(path, user_id="wu")[0].id != first.id


def test_a_log_of_objects(tmp_path):
    path = tmp_path / "log"
    path.write_text(
        '{"query": "a", "user_id": "wu", "asked_at": "2026-08-01", "more": 1}\n{"query": "b", "id": "x"}\n', "utf-8"
    )
    first, second = read_questions(path, user_id="lin")
    assert (first.user_id, first.asked_at) == ("wu", "2026-08-01")
    assert (second.id, second.user_id, second.asked_at) == ("x", "lin", None)


@pytest.mark.parametrize(
    ("text", "user", "error", "said"),
    [
        ("", "lin", InvalidInputError, "is empty"),
        ("a", None, ScopeError, "give --user"),
        ("a", "*", ScopeError, "nobody in particular"),
        ('{"query": "a", "user_id": "*"}', None, ScopeError, "line 1: user_id '\\*' is nobody"),
        ('{"query": " "}', "lin", InvalidInputError, "line 1: 'query' is a blank text"),
        ('{"query": "a"}\nb', "lin", InvalidInputError, "line 2: this is not JSON"),
        ('{"query": "a", "asked_at": "soon"}', "lin", InvalidInputError, "no date"),
        ('{"query": "a", "id": "x"}\n{"query": "b", "id": "x"}', "lin", InvalidInputError, "line 2: the id 'x'"),
    ],
)
def test_a_broken_log_is_refused_by_its_line(tmp_path, text, user, error, said):
    path = tmp_path / "log"
    path.write_text(text)
    with pytest.raises(error, match=said):
        read_questions(path, user_id=user)


def test_a_log_that_is_no_text(tmp_path):
    path = tmp_path / "log"
    path.write_bytes("我".encode("gb18030"))
    with pytest.raises(InvalidInputError, match="line 1: this is not UTF-8"):
        read_questions(path, user_id="lin")
    with pytest.raises(InvalidInputError, match="can't be read"):
        read_questions(tmp_path / "none", user_id="lin")
