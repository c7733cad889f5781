"""Read a folder of evaluation data, and refuse whatever is wrong in it.

A folder holds ``memories.jsonl`` or ``passages.jsonl`` (`id`, `text`; optionally `user_id`, `created_at`,
`expiration_date`, `entities`) and ``queries.jsonl`` (`id`, `query`, `relevant`; optionally `user_id`, `asked_at`,
`stale`, `type`, `variant`). Names may also be read from `entities_resolved`. Other keys are left alone: data sets carry
answers and notes of their own.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeVar, get_args

from mem_opensearch.errors import ConfigError, InvalidInputError
from mem_opensearch.evaluate.lines import read_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mem_opensearch.evaluate.lines import Line

EntitiesField = Literal["entities", "entities_resolved", "none"]
"""The key of a memory that holds the names it is said to name; with "none" no names are given."""

ENTITIES_FIELDS: Final[tuple[EntitiesField, ...]] = get_args(EntitiesField)

MEMORY_FILES = ("memories.jsonl", "passages.jsonl")
QUERY_FILE = "queries.jsonl"


@dataclass(frozen=True, slots=True)
class Memory:
    """One text that can be found.

    Attributes:
        id: unique in its data set.
        text: what is indexed.
        user_id: whose it is; None in a set that belongs to nobody.
        created_at: ISO 8601, or None.
        expiration_date: ISO 8601, or None; from then on it is not found.
        entities: names that the data set gives for this text, from the field that was asked for.
    """

    id: str
    text: str
    user_id: str | None = None
    created_at: str | None = None
    expiration_date: str | None = None
    entities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Query:
    """One question with its right answers.

    Attributes:
        id: unique in its data set.
        text: the question, without white space around it.
        relevant: ids of the right memories, at least one.
        user_id: search only this user's memories; None searches all.
        asked_at: ISO 8601, or None.
        stale: ids of memories that were right once and are not any more.
        type: the data set's own word for the kind of question.
        variant: its word for the way the question is written.
    """

    id: str
    text: str
    relevant: tuple[str, ...]
    user_id: str | None = None
    asked_at: str | None = None
    stale: tuple[str, ...] = ()
    type: str | None = None
    variant: str | None = None


@dataclass(frozen=True, slots=True)
class Dataset:
    """Memories and the queries over them.

    Attributes:
        name: short name for tables, by default the folder's.
        memories: at least one, in the file's order.
        queries: at least one, in the file's order.
    """

    name: str
    memories: tuple[Memory, ...]
    queries: tuple[Query, ...]


_Row = TypeVar("_Row", Memory, Query)


def load_datasets(folders: Sequence[Path | str], *, entities_field: EntitiesField = "entities") -> list[Dataset]:
    """Return the data sets of `folders`, in that order; all are read before any is returned.

    A set is called as its folder, or by the whole path where two folders have the same name.

    Args:
        folders: at least one, each once.
        entities_field: see `EntitiesField`.

    Raises:
        ConfigError: no folder, or one given twice, or an unknown field.
        InvalidInputError: see `load_dataset`.
    """
    if not folders:
        raise ConfigError("no data folder was given")
    if entities_field not in ENTITIES_FIELDS:
        raise ConfigError(f"entities field '{entities_field}' is unknown; known are: {', '.join(ENTITIES_FIELDS)}")
    paths = [Path(folder) for folder in folders]
    places = Counter(path.resolve() for path in paths)
    twice = [str(path) for path in paths if places[path.resolve()] > 1]
    if twice:
        raise ConfigError(f"the folder {twice[0]} is given more than once")
    names = Counter(path.resolve().name for path in paths)
    return [
        load_dataset(
            path,
            name=path.resolve().name if names[path.resolve().name] == 1 else str(path),
            entities_field=entities_field,
        )
        for path in paths
    ]


def load_dataset(folder: Path | str, *, name: str | None = None, entities_field: EntitiesField = "entities") -> Dataset:
    """Return the data set of one folder.

    Args:
        folder: see the head of this file.
        name: what to call it; the folder's name when not given.
        entities_field: see `EntitiesField`.

    Raises:
        InvalidInputError: a file is missing, empty or broken: names the file, the line and what is wrong with it.
    """
    folder = Path(folder)
    if not folder.is_dir():
        raise InvalidInputError(f"{folder} is no folder")
    there = [folder / file for file in MEMORY_FILES if (folder / file).is_file()]
    if not there:
        raise InvalidInputError(f"{folder} holds neither {' nor '.join(MEMORY_FILES)}")
    if len(there) > 1:
        raise InvalidInputError(f"{folder} holds both {' and '.join(MEMORY_FILES)}: which one is meant?")
    if not (folder / QUERY_FILE).is_file():
        raise InvalidInputError(f"{folder} holds no {QUERY_FILE}")
    memories = _read_rows(there[0], lambda line: _memory_of(line, entities_field))
    by_id = {memory.id: memory for memory in memories}
    queries = _read_rows(folder / QUERY_FILE, lambda line: _query_of(line, by_id, there[0].name))
    return Dataset(name=name or folder.resolve().name, memories=memories, queries=queries)


def _read_rows(path: Path, build: Callable[[Line], _Row]) -> tuple[_Row, ...]:
    rows: dict[str, _Row] = {}
    lines: dict[str, int] = {}
    for line in read_lines(path):
        row = build(line)
        if row.id in rows:
            raise line.error(f"the id '{row.id}' is taken already, by line {lines[row.id]}")
        rows[row.id] = row
        lines[row.id] = line.number
    if not rows:
        raise InvalidInputError(f"{path} is empty")
    return tuple(rows.values())


def _memory_of(line: Line, entities_field: EntitiesField) -> Memory:
    return Memory(
        id=line.row_id(),
        text=line.text("text"),
        user_id=line.optional_text("user_id"),
        created_at=line.optional_text("created_at"),
        expiration_date=line.optional_moment("expiration_date"),
        entities=() if entities_field == "none" else line.texts(entities_field),
    )


def _query_of(line: Line, memories: dict[str, Memory], memory_file: str) -> Query:
    query = Query(
        id=line.row_id(),
        text=line.text("query").strip(),
        relevant=line.texts("relevant"),
        user_id=line.optional_text("user_id"),
        asked_at=line.optional_moment("asked_at"),
        stale=line.texts("stale"),
        type=line.optional_text("type"),
        variant=line.optional_text("variant"),
    )
    if "relevant" not in line.values:
        raise line.error("the key 'relevant' is missing")
    if not query.relevant:
        raise line.error("'relevant' is empty: a query without a right answer can't be scored")
    for key, ids in (("relevant", query.relevant), ("stale", query.stale)):
        for memory_id in ids:
            if memory_id not in memories:
                raise line.error(f"'{key}' names '{memory_id}', which is not in {memory_file}")
            owner = memories[memory_id].user_id
            if query.user_id is not None and owner != query.user_id:
                raise line.error(
                    f"'{key}' names '{memory_id}' of user {owner!r}, out of reach for user {query.user_id!r}"
                )
    both = set(query.relevant) & set(query.stale)
    if both:
        raise line.error(f"'{min(both)}' is both in 'relevant' and in 'stale'")
    return query
