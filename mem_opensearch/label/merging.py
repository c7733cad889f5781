"""Make one folder of what several judges have said."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.evaluate.lines import read_lines
from mem_opensearch.label.agreement import Agreement, agreement
from mem_opensearch.label.folder import MEMORY_FILE, Written, write_folder
from mem_opensearch.label.judgements import FILE, check_same, read

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from mem_opensearch.label.judgements import Judgement, Mark
    from mem_opensearch.label.questions import Question


@dataclass(frozen=True, slots=True)
class Merged:
    """What became of several judges' folders.

    Attributes:
        judges: their names, sorted.
        agreement: how far they agree on what is a right answer.
        conflicts: question id and memory id where as many said so as said otherwise.
        written: the folder.
    """

    judges: tuple[str, ...]
    agreement: Agreement
    conflicts: tuple[tuple[str, str], ...]
    written: Written


def merge(folders: Sequence[Path], out: Path) -> Merged:
    """Merge the folders of several judges: a memory is what most of them say.

    Of equally many, it is no right answer, and it is listed as a conflict. "unsure" is no word for or against.

    Args:
        folders: at least two, each of another judge, with the same collection behind them.
        out: where the merged folder goes; is there already.

    Raises:
        InvalidInputError: a folder lacks a file, two are of one judge, or an id stands for two questions or memories.
        ConfigError: a file can't be written.
    """
    if len(folders) < 2:  # noqa: PLR2004 - that is what merging means
        raise InvalidInputError("merging takes the folders of two judges or more")
    if out.resolve() in {folder.resolve() for folder in folders}:
        raise InvalidInputError(f"{out} is one of the folders to merge; give another --out")
    judged = _of_judges(folders)
    questions: dict[str, Question] = {}
    said: dict[tuple[str, str], dict[str, Mark]] = defaultdict(dict)
    for each in judged:
        questions.setdefault(each.question.id, each.question)
        for memory_id, mark in each.marks.items():
            if mark != "unsure":
                said[each.question.id, memory_id][each.judge] = mark
    marks: dict[str, dict[str, Mark]] = defaultdict(dict)
    conflicts = []
    for (question_id, memory_id), by_judge in said.items():
        marks[question_id][memory_id], is_tied = _decide(list(by_judge.values()))
        if is_tied:
            conflicts.append((question_id, memory_id))
    written = write_folder(out, [(each, marks[each.id]) for each in questions.values()], _memories(folders))
    units = [{judge: mark == "relevant" for judge, mark in by_judge.items()} for by_judge in said.values()]
    judges = sorted({each.judge for each in judged})
    return Merged(tuple(judges), agreement(units), tuple(conflicts), written)


def _decide(votes: Sequence[Mark]) -> tuple[Mark, bool]:
    """Return what most say, and whether as many say that it is a right answer as say that it is none."""
    count = Counter(votes)
    right = count["relevant"]
    if 2 * right > len(votes):
        return "relevant", False
    wrong: Mark = "outdated" if count["outdated"] > count["not"] else "not"
    return wrong, 2 * right == len(votes)


def _of_judges(folders: Sequence[Path]) -> list[Judgement]:
    """Return what all have said, each folder's of another judge, and all of the same questions."""
    judged: list[Judgement] = []
    for folder in folders:
        found, _ = read(folder / FILE)
        if not found:
            raise InvalidInputError(f"{folder / FILE} is empty")
        check_same(
            folder / FILE, {each.question.id: each for each in judged}, [each.question for each in found.values()]
        )
        twice = {each.judge for each in judged} & {each.judge for each in found.values()}
        if twice:
            raise InvalidInputError(f"{folder / FILE}: {min(twice)!r} is the judge of another folder too")
        judged += found.values()
    return judged


def _memories(folders: Sequence[Path]) -> list[dict[str, Any]]:
    memories: dict[str, dict[str, Any]] = {}
    for folder in folders:
        for line in read_lines(folder / MEMORY_FILE):
            row = dict(line.values)
            if memories.setdefault(line.row_id(), row) != row:
                raise line.error(
                    f"the memory '{row['id']}' is another one in another folder: label the same state of it"
                )
    return list(memories.values())
