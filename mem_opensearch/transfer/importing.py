"""Read a collection from a file of JSON lines, as an export writes them."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any

import orjson

from mem_opensearch.errors import ConfigError, InvalidInputError, LineError, PartialWriteError
from mem_opensearch.index import read_spec
from mem_opensearch.store import OpenSearchVectorStore, documents
from mem_opensearch.store.vectors import check_vector
from mem_opensearch.transfer.lines import count_lines, open_to_read

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK = 500  # lines; the store cuts them further by bytes
MOST_USERS = 1000  # whose memories are annotated afterwards; of more, or of rows without a user, all are
KEYS: dict[str, type] = {"id": str, "payload": dict, "vector": list}
KINDS: dict[type, str] = {str: "a string", dict: "an object", list: "a list of numbers"}


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What was imported.

    Attributes:
        collection: the collection.
        file: where it came from, ``-`` for standard input.
        rows: lines that were stored; of two with one id the later counts.
        dims: length of their vectors; 0 when the file is empty.
        made: whether the collection was made by this.
        count: rows in the collection afterwards.
    """

    collection: str
    file: str
    rows: int
    dims: int
    made: bool
    count: int


@dataclass(slots=True)
class _Line:
    number: int
    id: str
    payload: dict[str, Any]
    vector: list[Any] = field(default_factory=list)


def import_collection(
    file: str,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,  # noqa: ANN401 - checked by pydantic
) -> ImportReport:
    """Store all rows of `file`, one ``{"id", "payload", "vector"}`` a line.

    A row whose id is stored is replaced, so the same file may be imported again: after an interruption, that ends it.
    With the option `annotate`, the memories of its users are annotated at the end.
    Memory use does not grow with the number of rows.

    Args:
        file: ``.gz`` is decompressed, ``-`` is standard input.
        progress: told the stage, and how many of how many lines are stored; of 0 where that is not known.
        options: options of `StoreConfig`. Without `embedding_model_dims` it is that of the collection, or, where a new
            one is made, the length of the first vector.

    Raises:
        LineError: a line is not such a row. Names the file and the line; the rows before it are stored.
        PartialWriteError: the server refused rows; names their ids and lines.
        ConfigError: the file or an option is wrong.
    """
    total = count_lines(file) if progress is not None else 0
    store: OpenSearchVectorStore | None = None
    made, stored = False, 0
    users: set[Any] = set()
    with open_to_read(file) as opened:
        for lines, bad in _chunks(opened, file):
            if lines:
                if store is None:
                    store, made = _open_store(options, lines[0])
                stored = _store_lines(store, lines, file, stored)
            if bad is not None:
                raise LineError(file, bad[0], bad[1], stored=stored)
            if progress is not None:
                progress("importing", stored, total)
            users |= {line.payload.get("user_id") for line in lines}
    if store is None:  # an empty file
        store = OpenSearchVectorStore(**options)
        return ImportReport(store.collection_name, file, 0, 0, made=False, count=store.col_info()["count"] or 0)
    if OpenSearchVectorStore(**options).config.annotate:
        _annotate(store, users, progress)
    count = store.col_info()["count"]
    return ImportReport(store.collection_name, file, stored, store.embedding_model_dims, made, count)


def _open_store(options: dict[str, Any], first: _Line) -> tuple[OpenSearchVectorStore, bool]:
    """Return the store to write to, and whether its collection has to be made."""
    store = OpenSearchVectorStore(**options)
    found = read_spec(store.client, store.collection_name)
    if "embedding_model_dims" not in store.config.model_fields_set:
        dims = found[0].dims if found is not None else len(first.vector)
        if dims == 0:
            raise ConfigError(f"the first row ('{first.id}') has an empty vector; give the dimension")
        options = options | {"embedding_model_dims": dims}
    store.close()
    return OpenSearchVectorStore(**(options | {"annotate": False})), found is None


def _annotate(store: OpenSearchVectorStore, users: set[Any], progress: Callable[[str, int, int], None] | None) -> None:
    """Annotate what was imported, when all of it is there: the lines of a file are in no order of time."""
    filters = {"user_id": {"in": sorted(users)}} if len(users) <= MOST_USERS and None not in users else None
    store.annotate(filters, progress=progress and (lambda done, total: progress("annotating", done, total)))


def _store_lines(store: OpenSearchVectorStore, lines: list[_Line], file: str, stored: int) -> int:
    """Store a chunk; return how many rows are stored in all."""
    try:
        _insert(store, lines)
    except PartialWriteError as error:
        numbers = {line.id: line.number for line in lines}
        first, reason = next(iter(error.failed.items()))
        raise PartialWriteError(
            f"{file}, line {numbers[first]:,}: row '{first}' was refused: {reason}. {len(error.failed)} rows of the "
            f"lines {lines[0].number:,} to {lines[-1].number:,} are not stored, {stored + len(error.stored):,} before "
            "and between them are, none after; mend them and import the file again: rows are replaced by id",
            stored=error.stored,
            failed={row_id: f"line {numbers[row_id]}: {why}" for row_id, why in error.failed.items()},
        ) from error
    except InvalidInputError:  # one of them can't be stored, and none was sent: find it
        good: list[_Line] = []
        for line in lines:
            if reason := _fault_of(store, line):
                if good:
                    _insert(store, good)
                raise LineError(file, line.number, reason, stored=stored + len(good)) from None
            good.append(line)
        raise
    return stored + len(lines)


def _insert(store: OpenSearchVectorStore, lines: list[_Line]) -> None:
    store.insert([line.vector for line in lines], [line.payload for line in lines], [line.id for line in lines])


def _fault_of(store: OpenSearchVectorStore, line: _Line) -> str:
    try:
        documents.check_id(line.id)
        check_vector(line.vector, dims=store.embedding_model_dims, index=store.collection_name, owner=f"'{line.id}'")
        documents.build_row(line.payload, kind=store.config.collection_kind, row_id=line.id)
    except InvalidInputError as error:
        return str(error)
    return ""


def _chunks(opened: IO[bytes], file: str) -> Iterator[tuple[list[_Line], tuple[int, str] | None]]:
    """Yield lines in groups; with the last group before a bad line comes its number and what is wrong with it."""
    chunk: list[_Line] = []
    number = 0
    try:
        for number, raw in enumerate(opened, 1):
            if not raw.strip():
                continue
            parsed = _parse(number, raw)
            if isinstance(parsed, str):
                yield chunk, (number, parsed)
                return
            chunk.append(parsed)
            if len(chunk) >= CHUNK:
                yield chunk, None
                chunk = []
    except (EOFError, zlib.error):
        yield chunk, (number + 1, f"{file} holds compressed data that was cut off or is damaged")
        return
    if chunk:
        yield chunk, None


def _parse(number: int, raw: bytes) -> _Line | str:
    """Return a line's row, or what is wrong with it, without quoting it."""
    try:
        row = orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        return f"not JSON ({error.msg} at column {error.colno})"
    if not isinstance(row, dict):
        return f"{type(row).__name__}, expected an object with the keys: {', '.join(KEYS)}"
    if row.keys() != KEYS.keys():
        lacks = ", ".join(sorted(KEYS.keys() - row.keys())) or "none"
        return f"has {len(row.keys() - KEYS.keys())} unknown keys and lacks {lacks}; the keys are: {', '.join(KEYS)}"
    for key, kind in KEYS.items():
        if not isinstance(row[key], kind):
            return f"'{key}' is {type(row[key]).__name__}, expected {KINDS[kind]}"
    return _Line(number, row["id"], row["payload"], row["vector"])
