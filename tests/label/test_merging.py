"""Folders of several judges become one."""

from __future__ import annotations

import json

import pytest

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.evaluate import load_datasets
from mem_opensearch.label import Question, agreement, judgements, merge
from mem_opensearch.label.folder import MEMORY_FILE, write_folder

MEMORIES = [{"id": f"m{number}", "text": f"记忆{number}", "user_id": "lin"} for number in range(4)]
ASKED = Question("q", "哪一个？", "lin", "2026-08-01")


@pytest.fixture
def folder_of(tmp_path):
    """Make a judge's folder."""

    def make(judge, marks, *, question=ASKED, memories=MEMORIES):
        folder = tmp_path / f"{judge}-{question.id}"
        folder.mkdir(exist_ok=True)
        judgements.append(folder / judgements.FILE, judgements.Judgement(question, marks, judge, "2026-08-02"))
        write_folder(folder, [(question, marks)], memories)
        return folder

    return make


@pytest.fixture
def out(tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    return folder


def test_most_of_them_decide(folder_of, out):
    folders = [
        folder_of("a", {"m0": "relevant", "m1": "relevant", "m2": "not", "m3": "outdated"}),
        folder_of("b", {"m0": "relevant", "m1": "not", "m2": "unsure", "m3": "outdated"}),
        folder_of("c", {"m0": "not", "m1": "not", "m3": "relevant"}),
    ]
    merged = merge(folders, out)
    (dataset,) = load_datasets([out])
    (query,) = dataset.queries
    assert (query.relevant, query.stale, query.asked_at) == (("m0",), ("m3",), "2026-08-01")
    assert len(dataset.memories) == 4
    assert merged.judges == ("a", "b", "c")
    assert merged.conflicts == ()
    assert merged.agreement.kappa is None
    assert (merged.agreement.pairs, merged.agreement.equal) == (3, 0)


def test_a_tie_is_no_answer_and_a_conflict(folder_of, out):
    folders = [
        folder_of("a", {"m0": "relevant", "m1": "relevant"}),
        folder_of("b", {"m0": "relevant", "m1": "not"}),
    ]
    merged = merge(folders, out)
    assert merged.conflicts == (("q", "m1"),)
    assert json.loads((out / "queries.jsonl").read_text())["relevant"] == ["m0"]
    assert (merged.agreement.pairs, merged.agreement.equal) == (2, 1)


def test_a_question_without_an_answer_is_said_and_left_out(folder_of, out):
    merged = merge([folder_of("a", {"m0": "not"}), folder_of("b", {"m0": "not"})], out)
    assert (merged.written.queries, merged.written.without) == (0, ("q",))
    assert (merged.agreement.kappa, merged.agreement.alpha) == (None, None)


def test_an_answer_that_is_gone_is_left_out(folder_of, out):
    folders = [folder_of(judge, {"m0": "relevant", "gone": "relevant"}) for judge in "ab"]
    merge(folders, out)
    assert load_datasets([out])[0].queries[0].relevant == ("m0",)


def test_what_can_not_be_merged_is_refused(folder_of, out, tmp_path):
    first = folder_of("a", {"m0": "relevant"})
    with pytest.raises(InvalidInputError, match="two judges or more"):
        merge([first], out)
    with pytest.raises(InvalidInputError, match="'a' is the judge of another folder too"):
        merge([first, folder_of("a", {"m0": "not"}, question=Question("q2", "x", "lin"))], out)
    with pytest.raises(InvalidInputError, match="one of the folders to merge"):
        merge([first, folder_of("b", {"m0": "not"})], first)
    with pytest.raises(InvalidInputError, match="can't be read"):
        merge([first, tmp_path / "none"], out)
    other = folder_of("c", {"m0": "not"}, memories=[{**MEMORIES[0], "text": "別的"}])
    with pytest.raises(InvalidInputError, match=f"{MEMORY_FILE}, line 1: the memory 'm0' is another one") as refused:
        merge([first, other], out)
    assert "別的" not in str(refused.value)
    changed = tmp_path / "changed"
    changed.mkdir()
    asked = Question("q", "另一個？", "lin")
    judgements.append(changed / judgements.FILE, judgements.Judgement(asked, {}, "d", "2026-08-02"))
    with pytest.raises(InvalidInputError, match="the id 'q' stands for two questions"):
        merge([first, changed], out)
    assert not list(out.iterdir())


def test_agreement_of_judges_who_have_not_judged_the_same():
    units = [{"a": True, "b": True}, {"a": True, "b": True, "c": False}, {"c": True}]
    found = agreement.agreement(units)
    assert (found.pairs, found.equal, found.kappa) == (2, 1, None)
    # By hand: coincidences TT 2 + 1, TF 1, FT 1 (each pair of the second counts half), total 5; T 4, F 1.
    assert found.alpha == pytest.approx(1 - (5 - 1) * 1 / (4 * 1))
