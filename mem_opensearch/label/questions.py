"""Read a log of questions."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mem_opensearch.errors import InvalidInputError, ScopeError
from mem_opensearch.evaluate.lines import raw_lines, read_lines

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_ID_DIGITS = 12


@dataclass(frozen=True, slots=True)
class Question:
    """One question that was asked.

    Attributes:
        id: the log's, or one made of the other three, so that the same question has the same id for every judge.
        text: without white space around it.
        user_id: whose memories it was asked of.
        asked_at: ISO 8601, or None.
    """

    id: str
    text: str
    user_id: str
    asked_at: str | None = None


def read_questions(path: Path, *, user_id: str | None = None) -> tuple[Question, ...]:
    """Return the questions of a log, each once, in the order in which they first came.

    Args:
        path: JSON lines with `query` and optionally `id`, `user_id`, `asked_at`; or a question on each line. It is the
            first line that tells: JSON begins with a brace.
        user_id: whose memories are asked where a line does not say so.

    Raises:
        InvalidInputError: the file is empty or broken, or an id stands for two questions: with the line.
        ScopeError: nobody's memories are named, or it is not a user's id.
    """
    _check_user(user_id, "--user")
    questions: dict[str, Question] = {}
    for number, question in _questions(path, user_id):
        before = questions.setdefault(question.id, question)
        if before != question:
            raise InvalidInputError(
                f"{path}, line {number}: the id '{question.id}' is that of another question already"
            )
    if not questions:
        raise InvalidInputError(f"{path} is empty")
    return tuple(questions.values())


def _questions(path: Path, user_id: str | None) -> Iterator[tuple[int, Question]]:
    first = next((raw for _, raw in raw_lines(path)), b"")
    if first.lstrip().startswith(b"{"):
        for line in read_lines(path):
            owner = line.optional_text("user_id") or user_id
            _check_user(owner, f"{path}, line {line.number}: user_id")
            row_id = line.row_id() if "id" in line.values else None
            yield line.number, _question(line.text("query"), owner, line.optional_moment("asked_at"), row_id, path)
        return
    for number, raw in raw_lines(path):
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            raise InvalidInputError(f"{path}, line {number}: this is not UTF-8") from None
        yield number, _question(text, user_id, None, None, path)


def _question(text: str, user_id: str | None, asked_at: str | None, row_id: str | None, path: Path) -> Question:
    if user_id is None:
        raise ScopeError(f"whose memories are the questions of {path} about? give --user, or 'user_id' in each line")
    text = text.strip()
    if row_id is None:
        of = "\n".join((user_id, asked_at or "", text))
        row_id = f"q-{hashlib.sha256(of.encode()).hexdigest()[:_ID_DIGITS]}"
    return Question(row_id, text, user_id, asked_at)


def _check_user(user_id: str | None, where: str) -> None:
    if user_id is not None and (not user_id.strip() or user_id == "*"):
        raise ScopeError(f"{where} {user_id!r} is nobody in particular; give an id")
