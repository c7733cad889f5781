"""Move what mem0's own OpenSearch provider stored into a collection of this package."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import ConfigError, IndexStateError, PartialWriteError
from mem_opensearch.index import read_spec
from mem_opensearch.store import EntityStore, OpenSearchVectorStore
from mem_opensearch.transfer.entities import move_entities
from mem_opensearch.transfer.source import SourceIndex, SourceRow, changed_at, open_source, read_groups

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mem_opensearch.client import SearchClient

CHUNK = 200  # memories that are looked up and written together
ENTITIES = "_entities"
_TOLERANCE = 1e-6  # float32 has seven digits


@dataclass(slots=True)
class MigrateReport:
    """What became of every row of one source index.

    Attributes:
        source: the index that was read.
        collection: where its rows went.
        rows: rows that were read.
        moved: memories that were written, not stored before.
        updated: memories that were stored in an older form and were replaced.
        unchanged: memories that were stored already as they are.
        kept: memories that are stored in a newer form, which was left.
        duplicates: rows that a newer row of the same memory replaces.
        failed: name of the row -> why it can't be moved.
        verified: memories of the source that were counted in the collection at the end.
        expected: how many that must be.
    """

    source: str
    collection: str
    rows: int = 0
    moved: int = 0
    updated: int = 0
    unchanged: int = 0
    kept: int = 0
    duplicates: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    verified: int = 0

    @property
    def expected(self) -> int:
        """How many memories of the source must be in the collection."""
        return self.moved + self.updated + self.unchanged + self.kept

    @property
    def is_whole(self) -> bool:
        """Whether every row was moved, and counted."""
        return not self.failed and self.verified == self.expected


def migrate_index(
    source: str,
    collection: str,
    *,
    progress: Callable[[str, int, int], None] | None = None,
    **options: Any,  # noqa: ANN401 - checked by pydantic
) -> list[MigrateReport]:
    """Move the memories of `source` into `collection`, and its entities, where there are any.

    The source is only read. A memory that the collection already has is replaced only by a newer one, so a second run
    goes on where the first was interrupted and changes nothing twice.

    Args:
        source: an index of mem0's own OpenSearch provider.
        collection: a collection of this package; made when it is missing.
        progress: told the stage, and how many of how many rows are done in it.
        options: options of `StoreConfig` for the server; without `embedding_model_dims` the dimension is the source's.

    Returns:
        One report for the memories, and one for the entities if there are any. A row that can't be moved is named in
        it, and no other is missing.

    Raises:
        IndexStateError: there is no such source, or it is none; or the collection is of another dimension.
        ConfigError: an option is wrong.
    """
    if source == collection:
        raise ConfigError(
            f"a collection can't have the name of the index that is read ('{source}'): it would have to be deleted "
            "first; choose another, and give it to mem0 as collection_name"
        )
    store = OpenSearchVectorStore(collection_name=collection, **options)
    if not store.client.dialect.takes_ids:
        raise ConfigError(
            f"{store.client.dialect.title} takes no ids, by which rows are moved; migrate to a full cluster, then "
            "export from there and import here: mem-opensearch migrate, export, import"
        )
    try:
        found = open_source(store.client, source)
        if found is None:
            raise IndexStateError(f"there is no index '{source}' on the server")
        reports = [_migrate_one(found, _with_dims(store, found, options), progress)]
        entities = open_source(store.client, source + ENTITIES) if not source.endswith(ENTITIES) else None
        if entities is not None:
            target = OpenSearchVectorStore(collection_name=collection + ENTITIES, **options)
            reports.append(_migrate_entities(entities, _with_dims(target, entities, options), progress))
    finally:
        store.close()
    return reports


def _with_dims(store: OpenSearchVectorStore, source: SourceIndex, options: dict[str, Any]) -> OpenSearchVectorStore:
    """Return the target with the dimension of its source."""
    wanted = store.config.embedding_model_dims
    if "embedding_model_dims" in store.config.model_fields_set:
        if source.dims not in {0, wanted}:
            raise IndexStateError(
                f"index '{source.name}' holds vectors of {source.dims} dimensions, not {wanted}; vectors can't be "
                "converted: leave the dimension out"
            )
        return store
    found = read_spec(store.client, store.collection_name)
    dims = source.dims or (found[0].dims if found is not None else 0)
    if not dims:
        raise ConfigError(f"index '{source.name}' does not say how long its vectors are; give the dimension")
    return OpenSearchVectorStore(collection_name=store.collection_name, **(options | {"embedding_model_dims": dims}))


def _migrate_one(
    source: SourceIndex, store: OpenSearchVectorStore, progress: Callable[[str, int, int], None] | None
) -> MigrateReport:
    report = MigrateReport(source.name, store.collection_name)
    store.create_col()
    kind, dims = store.config.collection_kind, store.embedding_model_dims
    for stage, treat in (("moving", _move), ("verifying", _verify)):
        done = 0
        chunk: list[SourceRow] = []
        for group in read_groups(store.client, source, kind=kind, dims=dims):
            done += len(group)
            best = _newest(group, report if treat is _move else MigrateReport("", ""))
            if best is not None:
                chunk.append(best)
            if len(chunk) >= CHUNK:
                treat(store, chunk, report)
                chunk = []
                if progress is not None:
                    progress(stage, done, source.rows)
        if chunk:
            treat(store, chunk, report)
        if progress is not None:
            progress(stage, done, source.rows)
    if store.config.annotate and report.moved + report.updated:  # rows of the source are in no order of time
        store.annotate(progress=progress and (lambda done, total: progress("annotating", done, total)))
    store.client.request("POST", path_of(store.collection_name, "_refresh"))  # for the searches that come next
    return report


def _migrate_entities(
    source: SourceIndex, target: OpenSearchVectorStore, progress: Callable[[str, int, int], None] | None
) -> MigrateReport:
    report = MigrateReport(source.name, target.collection_name)
    store = EntityStore(target.config)
    store.create_col()
    move_entities(source, store, report, progress)
    store.client.request("POST", path_of(store.collection_name, "_refresh"))  # for the searches that come next
    store.close()
    return report


def _newest(group: Sequence[SourceRow], report: MigrateReport) -> SourceRow | None:
    """Return the newest row of one memory that can be moved, and account for the others."""
    report.rows += len(group)
    good = [row for row in group if not row.fault]
    for row in group:
        if row.fault:
            # A memory may have good rows and bad ones: the place tells them apart.
            name = row.name if row.name not in report.failed and not good else f"{row.name} (_id {row.place})"
            report.failed[name] = row.fault
    if not good:
        return None
    report.duplicates += len(good) - 1
    return max(good, key=lambda row: row.changed)


def _move(store: OpenSearchVectorStore, rows: Sequence[SourceRow], report: MigrateReport) -> None:
    """Write what the collection does not have, or has in an older form."""
    stored = _fetch(store.client, store.collection_name, [row.id for row in rows])
    new, newer = [], []
    for row in rows:
        there = stored.get(row.id)
        if there is None:
            new.append(row)
        elif there.get("payload") == row.payload and _is_same_vector(there.get("vector"), row.vector):
            report.unchanged += 1
        elif row.changed > changed_at(there.get("payload")):
            newer.append(row)
        else:
            report.kept += 1
    refused = _write(store, [*new, *newer])
    report.failed.update(refused)
    report.moved += sum(row.id not in refused for row in new)
    report.updated += sum(row.id not in refused for row in newer)


def _write(store: OpenSearchVectorStore, rows: Sequence[SourceRow]) -> dict[str, str]:
    """Store rows; return those that the server refused, with its reason."""
    if not rows:
        return {}
    try:
        store.insert([row.vector for row in rows], [row.payload for row in rows], [row.id for row in rows])
    except PartialWriteError as error:
        return error.failed
    return {}


def _verify(store: OpenSearchVectorStore, rows: Sequence[SourceRow], report: MigrateReport) -> None:
    """Count the memories that are in the collection, by what a get finds."""
    ids = [row.id for row in rows]
    body = {"docs": [{"_id": row_id, "_source": False} for row_id in ids]}
    answer = store.client.request("POST", path_of(store.collection_name, "_mget"), body=body)
    found = {copy["_id"] for copy in answer["docs"] if copy.get("found")}
    report.verified += len(found)
    for row_id in ids:
        if row_id not in found and row_id not in report.failed:
            report.failed[row_id] = "was written and is not in the collection; something else may have deleted it"


def _fetch(client: SearchClient, collection: str, ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    body = {"docs": [{"_id": row_id, "_source": ["payload", "vector"]} for row_id in ids]}
    answer = client.request("POST", path_of(collection, "_mget"), body=body)
    return {copy["_id"]: copy["_source"] for copy in answer["docs"] if copy.get("found")}


def _is_same_vector(one: object, other: object) -> bool:
    if not (isinstance(one, list) and isinstance(other, list) and len(one) == len(other)):
        return False
    return all(math.isclose(a, b, rel_tol=_TOLERANCE, abs_tol=1e-9) for a, b in zip(one, other, strict=True))
