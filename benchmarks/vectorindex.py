"""An index of vectors alone, with a mapping of one's own: for what parameters and quantisation cost and give."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import orjson

from benchmarks.data import SCOPES
from benchmarks.raw import RawClient, bulk_body
from mem_opensearch.client.encoding import path_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from benchmarks.data import Block, Vectors
    from mem_opensearch.errors import BackendError

_BYTE = 127  # the largest component of a byte vector


@dataclass(frozen=True, slots=True)
class Kind:
    """How vectors are kept.

    Attributes:
        name: as in the report.
        mapping: keys of the field beside type, dimension and method.
        parameters: of HNSW.
        as_bytes: whether the client sends bytes.
        why_not: why it is not measured here; empty where it is.
    """

    name: str
    mapping: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    as_bytes: bool = False
    why_not: str = ""


_NATIVE = "only the engine faiss has it, whose native library a local node lacks"
_NATIVE_SEARCH = "lucene takes it, and a search of it ends a node that lacks the native library (3.6.0)"
_SQ = {"name": "sq", "parameters": {"bits": 7}}
KINDS = (
    Kind("as this package makes it"),
    Kind("m=8", parameters={"m": 8}),
    Kind("m=32", parameters={"m": 32}),
    Kind("ef_construction=200", parameters={"ef_construction": 200}),
    Kind("m=32, ef_construction=400", parameters={"m": 32, "ef_construction": 400}),
    Kind("7 bits by the server (lucene sq)", parameters={"encoder": _SQ}),
    Kind("bytes by the client", mapping={"data_type": "byte"}, as_bytes=True),
    Kind("on disk, 4x", mapping={"mode": "on_disk", "compression_level": "4x"}),
    Kind(
        "on disk, 32x",
        why_not="accepted with lucene by 3.6, but a search of it calls a native library and ends the node",
    ),
    Kind("fp16 (faiss sq)", why_not=_NATIVE),
    Kind("binary (faiss)", why_not=_NATIVE),
)


class VectorIndex:
    """One index of vectors and scopes; removed at the end of the with statement.

    Args:
        url: the server.
        name: of the index.
        dims: length of the vectors.
        kind: how they are kept.

    Raises:
        BackendError: from `__enter__`: the server refuses that kind.
    """

    def __init__(self, url: str, name: str, dims: int, kind: Kind) -> None:
        self._client, self._name, self._dims, self._kind = RawClient(url), name, dims, kind

    def __enter__(self) -> Self:
        method: dict[str, Any] = {"name": "hnsw", "space_type": "cosinesimil", "engine": "lucene"}
        if self._kind.parameters:
            method["parameters"] = dict(self._kind.parameters)
        vector = {"type": "knn_vector", "dimension": self._dims, "method": method, **self._kind.mapping}
        body = {
            "settings": {"index.knn": True, "number_of_shards": 1, "number_of_replicas": 0, "refresh_interval": "-1"},
            "mappings": {
                "dynamic": False,
                "properties": {"vector": vector, **{scope: {"type": "keyword"} for scope in SCOPES}},
            },
        }
        try:
            self._client.send("PUT", path_of(self._name), orjson.dumps(body))
        except BaseException:  # an interrupt may come between the request and its answer
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._client.remove(self._name)
        finally:
            self._client.__exit__()

    def fill(self, blocks: Iterable[Block]) -> float:
        """Write memories and merge them into one segment; return the seconds that it took."""
        start = time.perf_counter()
        for block in blocks:
            vectors = self._sent(block.vectors)
            rows = (
                (row_id, {"vector": vector, **{scope: payload[scope] for scope in SCOPES if scope in payload}})
                for row_id, vector, payload in zip(block.ids, vectors, block.payloads, strict=True)
            )
            self._client.write(self._name, bulk_body(rows))
        self._client.merge(self._name)
        return time.perf_counter() - start

    def size_mb(self) -> float:
        """Return what the index takes on the disk, in megabytes."""
        stats = self._client.send("GET", path_of(self._name, "_stats", "store"))
        return round(int(stats["_all"]["primaries"]["store"]["size_in_bytes"]) / 2**20, 1)

    def nearest(
        self, vector: Vectors, filters: Mapping[str, str], k: int, *, ef_search: int | None = None
    ) -> list[str]:
        """Return the ids of the k nearest, as this package asks for them."""
        inner: dict[str, Any] = {"vector": self._sent(vector), "k": k}
        if filters:
            inner["filter"] = {"bool": {"filter": [{"term": dict(filters)}]}}
        if ef_search is not None:
            inner["method_parameters"] = {"ef_search": ef_search}
        body = {"size": k, "query": {"knn": {"vector": inner}}, "_source": False, "track_total_hits": False}
        answer = self._client.send(
            "POST", path_of(self._name, "_search"), orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        )
        return [hit["_id"] for hit in answer["hits"]["hits"]]

    def _sent(self, vectors: Vectors) -> Any:  # noqa: ANN401 - an array
        if not self._kind.as_bytes:
            return vectors
        largest = np.abs(vectors).max(axis=-1, keepdims=True)  # cosines don't change with length
        return np.round(vectors / largest * _BYTE).astype(np.int8)


def reason_of(error: BackendError) -> str:
    """Return why a server has refused."""
    return f"the server refuses it: status {error.status}"
