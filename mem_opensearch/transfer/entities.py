"""Move what mem0's own provider stored of entities: rows of one scope, type and name become one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from mem_opensearch.errors import InvalidInputError, PartialWriteError
from mem_opensearch.store.entity_rows import LINKS_KEY, build_entity_row
from mem_opensearch.transfer.source import read_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from mem_opensearch.store import EntityStore
    from mem_opensearch.transfer.migrate import MigrateReport
    from mem_opensearch.transfer.source import SourceIndex, SourceRow

CHUNK = 200  # rows that are looked up and written together


def move_entities(
    source: SourceIndex,
    store: EntityStore,
    report: MigrateReport,
    progress: Callable[[str, int, int], None] | None,
) -> None:
    """Add the links of every row of `source` to the entity's row in `store`, then count them there.

    Args:
        source: an index of entities in mem0's own layout.
        store: where they go.
        report: takes what became of them, where it speaks of memories: a duplicate is a further row of an entity. A
            link that the collection has lost since an earlier run comes back.
        progress: told the stage, and how many of how many rows are done in it.
    """
    seen: set[str] = set()
    broken: set[str] = set()
    dims = store.embedding_model_dims
    for stage in ("moving", "verifying"):
        rows = (row for group in read_groups(store.client, source, kind="entities", dims=dims) for row in group)
        done = 0
        while chunk := list(islice(rows, CHUNK)):
            done += len(chunk)
            if stage == "moving":
                _move(store, chunk, report, seen)
            else:
                broken |= _verify(store, chunk, report)
            if progress is not None:
                progress(stage, done, source.rows)
    report.verified = len(seen - broken)


def _good(rows: list[SourceRow], report: MigrateReport) -> Iterator[tuple[SourceRow, str, set[str]]]:
    """Yield (row, id of its entity, its links) for the rows that can be moved, and name the others in the report."""
    for row in rows:
        if row.fault:
            report.failed[row.name] = row.fault
            continue
        try:
            built = build_entity_row(row.payload)
        except InvalidInputError as error:  # such as a row that names no owner
            report.failed[row.name] = str(error)
            continue
        yield row, built["id"], set(built["memory_ids"])


def _move(store: EntityStore, rows: list[SourceRow], report: MigrateReport, seen: set[str]) -> None:
    report.rows += len(rows)
    good = list(_good(rows, report))
    stored = _links(store, [row_id for _, row_id, _ in good])
    write = []
    for row, row_id, links in good:
        there = stored.get(row_id)
        if row_id in seen:
            report.duplicates += 1
        elif there is None:
            report.moved += 1
        elif links <= there:
            report.unchanged += 1
        else:
            report.updated += 1
        seen.add(row_id)
        if there is None or not links <= there:
            write.append(row)
    try:
        store.insert([row.vector for row in write], [row.payload for row in write])
    except PartialWriteError as error:
        report.failed.update(error.failed)


def _verify(store: EntityStore, rows: list[SourceRow], report: MigrateReport) -> set[str]:
    """Return the ids of entities that lack a link of the source, and name the rows that have it."""
    good = list(_good(rows, report))
    stored = _links(store, [row_id for _, row_id, _ in good])
    broken = set()
    for row, row_id, links in good:
        if not links <= stored.get(row_id, set()):
            report.failed.setdefault(row.name, "was written and is not whole; something else may have changed it")
            broken.add(row_id)
    return broken


def _links(store: EntityStore, ids: list[str]) -> dict[str, set[str]]:
    hits = store.get_many(list(dict.fromkeys(ids)))
    return {hit.id: set(hit.payload.get(LINKS_KEY) or ()) for hit in hits if hit is not None}
