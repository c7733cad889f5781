"""The command `mem-opensearch add`: memories without mem0, from the command line or a file."""

from __future__ import annotations

import sys
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path  # noqa: TC003 - typer reads the annotation when it runs
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mem_opensearch.cli.output import STDOUT, write_json
from mem_opensearch.cli.search import (
    SCOPE_OPTIONS,
    Agent,
    Collection,
    EmbedderName,
    Run,
    Url,
    User,
    cli_errors,
    load,
    make_searcher,
    moment_of,
    object_of,
    scope_of,
)
from mem_opensearch.errors import InvalidInputError
from mem_opensearch.progress import StageBar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.embed import Embedder
    from mem_opensearch.evaluate.lines import Line
    from mem_opensearch.search import Searcher

BATCH = 250  # memories that are embedded, stored and linked at once


@dataclass(frozen=True, slots=True)
class _Row:
    id: str
    payload: dict[str, Any]

    @property
    def text(self) -> str:
        return str(self.payload["data"])


def add(  # noqa: PLR0917 - the options of a command
    texts: Annotated[
        list[str] | None, typer.Argument(metavar="TEXT...", help="What to remember; - reads lines from stdin.")
    ] = None,
    user: User = None,
    agent: Agent = None,
    run: Run = None,
    file: Annotated[
        Path | None,
        typer.Option(metavar="FILE.jsonl", help="Store its lines, objects with 'text'; see docs/evaluation.md."),
    ] = None,
    metadata: Annotated[str | None, typer.Option(metavar="JSON", help="Metadata of each, an object.")] = None,
    created_at: Annotated[str | None, typer.Option(metavar="TIME", help="When it was said. Default: now.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,  # noqa: FBT002 - a flag
    collection: Collection = "mem0",
    url: Url = None,
    embedder: EmbedderName = "use",
) -> None:
    """Store memories as they are, with the links to what they name; print their ids.

    Texts of one call belong together, as turns of one talk. A line of a file may have its own id, user_id and times; a
    memory whose id is stored is replaced, so a file may be added again.
    """
    with cli_errors():
        moment = moment_of(created_at) or datetime.now(UTC)
        common = {**object_of(metadata, "--metadata"), "created_at": moment.isoformat()}
        scope = (user, agent, run)
        if file is not None and texts:
            raise InvalidInputError("give either texts or --file, not both")
        rows = _read(file, scope, common) if file is not None else _typed(texts or [], scope, common)
        if not rows:
            raise InvalidInputError(f"there is no text to store{'' if file is None else f' in {file}'}")
        with make_searcher(url, collection, embedder) as searcher, StageBar(collection, quiet=file is None) as bar:
            model = load(embedder)
            for start in range(0, len(rows), BATCH):
                batch = rows[start : start + BATCH]
                _store(searcher, model, batch, may_be_there=file is not None)
                bar("storing", start + len(batch), len(rows))
    added = [{"id": row.id, "memory": row.text} for row in rows]
    write_json(added, STDOUT) if as_json else typer.echo("\n".join(each["id"] for each in added))


def _typed(texts: list[str], scope: tuple[str | None, ...], common: dict[str, Any]) -> list[_Row]:
    whose = scope_of(*scope)
    lines = [line for text in texts for line in (sys.stdin.read().splitlines() if text == STDOUT else [text])]
    dates = {"updated_at": common["created_at"]}
    return [_Row(str(uuid.uuid4()), {**common, **whose, **dates, "data": line}) for line in lines if line.strip()]


def _read(file: Path, scope: tuple[str | None, ...], common: dict[str, Any]) -> list[_Row]:
    """Return the memories of a file; all of it is read before any is stored."""
    from mem_opensearch.evaluate.lines import read_lines

    whose = scope_of(*scope) if any(scope) else {}
    rows: dict[str, _Row] = {}
    for line in read_lines(file):
        row = _row_of(line, whose, common)
        if row.id in rows:
            raise line.error(f"the id '{row.id}' is taken already by a line before it")
        rows[row.id] = row
    return list(rows.values())


def _row_of(line: Line, whose: dict[str, str], common: dict[str, Any]) -> _Row:
    """Return one line as a memory; keys that mean nothing here are metadata."""
    payload = {**common, **whose, **line.values}
    row_id = line.row_id() if payload.pop("id", None) is not None else str(uuid.uuid4())
    payload["data"] = line.text("text")
    del payload["text"]
    for key in ("created_at", "expiration_date"):
        if line.values.get(key) is not None:
            payload[key] = line.optional_moment(key)
    payload.setdefault("updated_at", payload["created_at"])
    if line.values.get("entities") is not None:
        payload["entities"] = list(line.texts("entities"))
    named = {key: line.optional_text(key) for key in SCOPE_OPTIONS}
    if not whose and not any(named.values()):
        raise line.error(f"whose memory is it? give {', '.join(SCOPE_OPTIONS)} in the line, or --user, --agent, --run")
    return _Row(row_id, payload)


def _store(searcher: Searcher, embedder: Embedder, rows: Sequence[_Row], *, may_be_there: bool) -> None:
    from mem_opensearch.store import EntityLinker, MemoryText

    vectors = list(embedder.embed_documents([row.text for row in rows]))
    searcher.store.insert(vectors, [row.payload for row in rows], [row.id for row in rows])
    if searcher.store.client.dialect.has_scripts:
        if may_be_there:  # with another text, which may name others
            searcher.entities.unlink_memories(row.id for row in rows)
        linked = (MemoryText.of(row.id, row.payload) for row in rows)
        EntityLinker(searcher.entities, embed=embedder.embed_documents).link(linked)
