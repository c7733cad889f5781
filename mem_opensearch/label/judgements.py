"""Keep what a judge has said in a file to which lines are only ever added: an end in the middle loses nothing."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Final, Literal, get_args

import orjson

from mem_opensearch.errors import ConfigError, InvalidInputError
from mem_opensearch.evaluate.lines import Line, raw_lines
from mem_opensearch.label.questions import Question

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

FILE: Final = "judgements.jsonl"

Mark = Literal["not", "relevant", "unsure", "outdated"]
"""What a memory is to a question: "outdated" was a right answer once and is none any more."""

MARKS: Final[tuple[Mark, ...]] = get_args(Mark)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What one judge has said of one question.

    Attributes:
        question: the question.
        marks: of each memory that was shown, by its id.
        judge: who said it.
        at: when, ISO 8601.
    """

    question: Question
    marks: Mapping[str, Mark]
    judge: str
    at: str


def append(path: Path, judgement: Judgement) -> None:
    """Add a judgement to the file, on the disk when this returns.

    Raises:
        ConfigError: the file can't be written.
    """
    line = orjson.dumps({**asdict(judgement), "marks": dict(judgement.marks)}, option=orjson.OPT_APPEND_NEWLINE)
    try:
        with path.open("ab") as file:
            if file.tell() and not _ends_whole(path):
                file.write(b"\n")  # what was cut off stays a line of its own
            file.write(line)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise ConfigError(f"{path} can't be written: {error.strerror}") from error


def read(path: Path) -> tuple[dict[str, Judgement], int]:
    """Return the last judgement of each question by its id, and how many lines were cut off in the middle.

    A line that is no whole JSON is one that the machine or the disk cut off; it is left out, and its question comes
    again.

    Raises:
        InvalidInputError: the file can't be read, or a line says what no judgement says.
    """
    found: dict[str, Judgement] = {}
    cut_off = 0
    for number, raw in raw_lines(path):
        try:
            values = orjson.loads(raw)
        except orjson.JSONDecodeError:
            cut_off += 1
            continue
        judgement = _judgement_of(Line(path, number, values if isinstance(values, dict) else {}))
        found.pop(judgement.question.id, None)  # the order is that of the last word
        found[judgement.question.id] = judgement
    return found, cut_off


def _judgement_of(line: Line) -> Judgement:
    asked, marks = line.values.get("question"), line.values.get("marks")
    if not isinstance(asked, dict) or not isinstance(marks, dict) or not set(marks.values()) <= set(MARKS):
        raise line.error(f"expected a 'question' and the 'marks' of memories, each of them one of {', '.join(MARKS)}")
    question = Line(line.path, line.number, asked)
    return Judgement(
        Question(
            question.row_id(), question.text("text"), question.text("user_id"), question.optional_moment("asked_at")
        ),
        marks,
        line.text("judge"),
        line.text("at"),
    )


def _ends_whole(path: Path) -> bool:
    with path.open("rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def check_same(path: Path, before: Mapping[str, Judgement], questions: Iterable[Question]) -> None:
    """Refuse questions whose ids stood for other ones before.

    Raises:
        InvalidInputError: there is one; `path` is the file that has it.
    """
    for question in questions:
        if question.id in before and before[question.id].question != question:
            raise InvalidInputError(f"{path}: the id '{question.id}' stands for two questions; give another --out")


def check_judge(path: Path, before: Mapping[str, Judgement], judge: str) -> None:
    """Refuse to go on with the file of another judge.

    Raises:
        InvalidInputError: somebody else has judged in it.
    """
    others = {each.judge for each in before.values()} - {judge}
    if others:
        raise InvalidInputError(
            f"{path} holds what {min(others)!r} has said, and you are {judge!r}: give another --out"
        )
