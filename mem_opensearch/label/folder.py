"""Write judgements as a folder of evaluation data, see `evaluate.datasets`."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import orjson

from mem_opensearch.evaluate.datasets import QUERY_FILE
from mem_opensearch.transfer.lines import open_to_write

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from mem_opensearch.label.judgements import Mark
    from mem_opensearch.label.questions import Question

MEMORY_FILE = "memories.jsonl"


@dataclass(frozen=True, slots=True)
class Written:
    """What was written.

    Attributes:
        queries: questions with a right answer.
        without: ids of questions that have none among what was shown; a measure can't count them.
        memories: how many.
    """

    queries: int
    without: tuple[str, ...]
    memories: int


def write_folder(
    folder: Path, judged: Iterable[tuple[Question, Mapping[str, Mark]]], memories: Iterable[Mapping[str, Any]]
) -> Written:
    """Write `queries.jsonl` and `memories.jsonl`; both get their names when both are whole.

    Memories that were judged and are no longer there are left out of the answers.

    Args:
        folder: is there already.
        judged: each question with the marks of memories.
        memories: all that can be found: objects with `id`, `text`, `user_id` and what else `evaluate` reads.

    Raises:
        ConfigError: a file can't be written.
    """
    there: set[str] = set()
    without: list[str] = []
    queries = 0
    with ExitStack() as files:
        memory_file = files.enter_context(open_to_write(str(folder / MEMORY_FILE)))
        for memory in memories:
            there.add(memory["id"])
            memory_file.write(orjson.dumps(memory, option=orjson.OPT_APPEND_NEWLINE))
        query_file = files.enter_context(open_to_write(str(folder / QUERY_FILE)))
        for question, marks in judged:
            relevant, stale = (
                [row_id for row_id, mark in marks.items() if mark == wanted and row_id in there]
                for wanted in ("relevant", "outdated")
            )
            if not relevant:
                without.append(question.id)
                continue
            row = {"id": question.id, "query": question.text, "user_id": question.user_id, "relevant": relevant}
            row |= {"asked_at": question.asked_at} if question.asked_at else {}
            row |= {"stale": stale} if stale else {}
            query_file.write(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE))
            queries += 1
    return Written(queries, tuple(without), len(there))
