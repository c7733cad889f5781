"""The floor under every client: the same bytes, sent by http.client over one kept connection, decoded by orjson."""

from __future__ import annotations

import http.client
import threading
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import orjson

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import BackendError
from mem_opensearch.store.annotations import own_annotations

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from benchmarks.data import Block, Memories
    from benchmarks.wire import Request

_HEADERS = {"Content-Type": "application/json"}
_BULK_HEADERS = {"Content-Type": "application/x-ndjson"}
_ERROR_STATUS = 300


class RawClient:
    """One connection to a server; not to be shared between threads."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 9200, timeout=3600)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def send(self, method: str, path: str, body: bytes = b"", headers: dict[str, str] = _HEADERS) -> dict[str, Any]:
        """Send one request; return the decoded answer.

        Raises:
            BackendError: the server answers with an error.
        """
        self._connection.request(method, path, body=body or None, headers=headers)
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= _ERROR_STATUS:
            raise BackendError(f"{method} {path} gave status {answer.status}", status=answer.status)
        decoded: dict[str, Any] = orjson.loads(content)
        return decoded

    def replay(self, requests: Sequence[Request]) -> list[dict[str, Any]]:
        """Send what was noted, one after the other, with the bodies as they were."""
        return [self.send(each.method, each.path, each.body) for each in requests]

    def remove(self, *indices: str) -> None:
        """Delete indices; those that are not there are no error."""
        self._connection.close()  # an interrupt may have left an answer unread
        self.send("DELETE", f"{path_of(','.join(indices))}?ignore_unavailable=true")

    def merge(self, index: str) -> None:
        """Merge an index into one segment and make its writes searchable: how it was loaded is then no matter."""
        self.send("POST", path_of(index, "_forcemerge") + "?max_num_segments=1")
        self.send("POST", path_of(index, "_refresh"))

    def write(self, index: str, body: bytes) -> None:
        """Send one bulk body; a row that is refused is an error."""
        if self.send("POST", path_of(index, "_bulk"), body, _BULK_HEADERS)["errors"]:
            raise BackendError(f"'{index}' refused rows of a bulk request")


def our_row(row_id: str, vector: Any, payload: dict[str, Any]) -> dict[str, Any]:  # noqa: ANN401 - a numpy row
    """Return a memory as this package stores it, without the notes; written by hand."""
    scope = {key: value for key, value in payload.items() if key.endswith("_id")}
    said = payload["created_at"]
    day = said.replace("+00:00", ".000Z")
    return {
        "id": row_id,
        "text": payload["data"],
        **scope,
        "created_at": day,
        "facts": [{"k": "created_at", "s": said, "d": day}],
        "payload": payload,
        "vector": vector,
    }


def bulk_body(rows: Iterable[tuple[str, dict[str, Any]]], *, with_ids: bool = True) -> bytes:
    """Return rows as the lines of a bulk request."""
    option = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE
    lines = []
    for row_id, row in rows:
        lines.append(orjson.dumps({"index": {"_id": row_id} if with_ids else {}}, option=option))
        lines.append(orjson.dumps(row, option=option))
    return b"".join(lines)


def rows_of(block: Block, *, noted: bool = False) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield (id, row as this package stores it), with the notes that it makes of a text alone where they are wanted."""
    for row_id, vector, payload in zip(block.ids, block.vectors, block.payloads, strict=True):
        row = our_row(row_id, vector, payload)
        yield row_id, row | own_annotations(row) if noted else row


def load(
    url: str, index: str, blocks: Iterable[Block], *, threads: int = 2, rows: int = 500, noted: bool = False
) -> None:
    """Write memories by hand: so many threads, each with a connection of its own, take what comes next.

    Args:
        url: the server.
        index: where to, an index of this package.
        blocks: the memories.
        threads: writers.
        rows: of one request.
        noted: whether rows have the notes that searches read.
    """
    lock, stop = threading.Lock(), threading.Event()
    remaining = iter(blocks)

    def write(_: int) -> None:
        with RawClient(url) as client:
            while not stop.is_set():
                with lock:
                    block = next(remaining, None)
                if block is None:
                    return
                every = list(rows_of(block, noted=noted))
                for start in range(0, len(every), rows):
                    client.write(index, bulk_body(every[start : start + rows]))

    with ThreadPoolExecutor(threads) as pool:
        writers = [pool.submit(write, number) for number in range(threads)]
        try:
            wait(writers, return_when=FIRST_EXCEPTION)
        finally:  # after a failure or an interrupt; the collection may be removed only when nobody writes any more
            stop.set()
    for writer in writers:
        writer.result()


def all_blocks(memories: Memories, tick: Any) -> Iterator[Block]:  # noqa: ANN401 - a progress bar
    """Yield the blocks of all memories, and tell how many were taken."""
    for block in memories.blocks():
        yield block
        tick(block.first + len(block.texts), memories.size)
