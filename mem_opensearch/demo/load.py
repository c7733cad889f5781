"""Read the three data sets that come with the package."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

SETS: Final = ("temporal_zh", "keyword_zh", "entity_zh")


@dataclass(frozen=True, slots=True)
class Memory:
    """One memory as its data set gives it.

    Attributes:
        id: unique over all sets.
        user_id: whose it is; a user has memories in one set only.
        text: what was said.
        created_at: ISO 8601 with zone.
        role: who said it.
        dataset: name of the set.
    """

    id: str
    user_id: str
    text: str
    created_at: str
    role: str
    dataset: str

    def payload(self) -> dict[str, str]:
        """Return scope and date as mem0's ``add(infer=False)`` would write them beside the text."""
        return {"user_id": self.user_id, "role": self.role, "created_at": self.created_at}


def folder_of(dataset: str) -> Path:
    """Return the folder of a data set, which `mem-opensearch evaluate` reads as well."""
    return Path(__file__).parent / "data" / dataset


def load_memories() -> tuple[Memory, ...]:
    """Return all memories, set by set, in the order of the files."""
    return tuple(
        Memory(**{name: row[name] for name in ("id", "user_id", "text", "created_at", "role")}, dataset=name_of_set)
        for name_of_set in SETS
        for row in _read_lines(name_of_set, "memories.jsonl")
    )


def load_queries() -> tuple[dict[str, Any], ...]:
    """Return all queries of the sets as their README files describe them, in the order of the files."""
    return tuple(row for name in SETS for row in _read_lines(name, "queries.jsonl"))


def _read_lines(dataset: str, name: str) -> Iterator[dict[str, Any]]:
    for line in (folder_of(dataset) / name).read_bytes().splitlines():
        yield orjson.loads(line)
