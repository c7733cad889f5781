"""Compare an index with its copy: the ids of both, and rows field by field."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import encode_lines, path_of
from mem_opensearch.errors import BackendError, IndexStateError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.index.copying import Rewrite

ID_PAGE = 10_000  # the server's own limit of one page
VECTOR_TOLERANCE = 1e-6  # float32 has seven digits


def delete_what_is_gone(client: SearchClient, source: str, target: str) -> int:
    """Delete the rows of `target` that `source` no longer has; return how many.

    Both are read in pages of ids; a page of the target is compared row by row only where the counts differ.
    """
    gone = 0
    before: str | None = None
    for page in _pages_of_ids(client, target):
        bounds = {"lte": page[-1]} | ({} if before is None else {"gt": before})
        within = {"range": {"id": bounds}}
        held = client.request("POST", path_of(source, "_count"), body={"query": within})["count"]
        if held != len(page):
            kept = {row_id for ids in _pages_of_ids(client, source, within) for row_id in ids}
            extra = [row_id for row_id in page if row_id not in kept]
            _delete_rows(client, target, extra)
            gone += len(extra)
        before = page[-1]
    return gone


def _pages_of_ids(client: SearchClient, index: str, query: dict[str, Any] | None = None) -> Iterator[list[str]]:
    body: dict[str, Any] = {
        "size": ID_PAGE,
        "query": query or {"match_all": {}},
        "sort": [{"id": "asc"}],
        "_source": False,
        "track_total_hits": False,
    }
    while True:
        hits = client.request("POST", path_of(index, "_search"), body=body)["hits"]["hits"]
        if not hits:
            return
        yield [hit["_id"] for hit in hits]
        if len(hits) < ID_PAGE:
            return
        body["search_after"] = hits[-1]["sort"]


def _delete_rows(client: SearchClient, index: str, ids: Sequence[str]) -> None:
    if ids:
        body = encode_lines({"delete": {"_id": row_id}} for row_id in ids)
        answer = client.request("POST", path_of(index, "_bulk"), params={"refresh": "true"}, body=body)
        left = [item["delete"]["_id"] for item in answer["items"] if item["delete"]["status"] not in {200, 404}]
        if left:
            raise BackendError(f"{len(left)} rows could not be deleted from '{index}'; first: '{left[0]}'")


def compare_sample(client: SearchClient, source: str, target: str, *, size: int, rewrite: Rewrite | None = None) -> int:
    """Compare rows of both indices field by field: random ones, and those that were written last.

    Returns:
        How many were compared.

    Raises:
        IndexStateError: one differs; names it and the field.
    """
    bodies = [
        {"size": size, "query": {"function_score": {"query": {"match_all": {}}, "random_score": {}}}},
        {"size": size, "sort": [{"_seq_no": "desc"}]},
    ]
    rows = {}
    for body in bodies:
        hits = client.request("POST", path_of(source, "_search"), body=body)["hits"]["hits"]
        rows.update({hit["_id"]: rewrite(hit["_source"]) if rewrite else hit["_source"] for hit in hits})
    if not rows:
        return 0
    answer = client.request("POST", path_of(target, "_mget"), body={"ids": list(rows)})
    for copy in answer["docs"]:
        row_id = copy["_id"]
        fields = _fields_that_differ(rows[row_id], copy.get("_source") or {})
        if fields:
            raise IndexStateError(
                f"row '{row_id}' differs between '{source}' and '{target}' in: {', '.join(fields)}. The collection is "
                f"as it was; roll again, and if it says so again, report it"
            )
    return len(rows)


def _fields_that_differ(row: dict[str, Any], copy: dict[str, Any]) -> list[str]:
    names = sorted(row.keys() | copy.keys())
    return [name for name in names if not _is_same(row.get(name), copy.get(name), is_vector=name == "vector")]


def _is_same(one: Any, other: Any, *, is_vector: bool) -> bool:  # noqa: ANN401 - any JSON
    if not (is_vector and isinstance(one, list) and isinstance(other, list)):
        return bool(one == other)
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=VECTOR_TOLERANCE, abs_tol=1e-9) for a, b in zip(one, other, strict=True)
    )
