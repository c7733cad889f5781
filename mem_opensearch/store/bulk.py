"""Write many rows in few requests, and account for each of them."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mem_opensearch import beside
from mem_opensearch.client.echo import cleaned
from mem_opensearch.client.encoding import encode_lines, path_of
from mem_opensearch.client.failures import from_shape, from_status, is_passing, is_write_block
from mem_opensearch.errors import (
    BackendError,
    BackendUnavailable,
    IndexStateError,
    MemOpenSearchError,
    PartialWriteError,
    PermissionDenied,
    Throttled,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from mem_opensearch.client import SearchClient
    from mem_opensearch.client.patience import Patience

_ERROR_STATUS = 300
_NOT_FOUND = 404
_IN_FLIGHT = 2  # groups: the server writes one while the next is on its way; more gain nothing on two cores
_NOT_SENT = "not sent, since the server took nothing more of the rows before it"


class Line(NamedTuple):
    """One row on its way: the id and its two lines of the bulk body."""

    id: str
    data: bytes


def to_lines(rows: Iterable[tuple[str, Mapping[str, Any]]]) -> Iterator[Line]:
    """Yield each (id, row) encoded as an `index` action: the same id twice is one document."""
    for row_id, row in rows:
        yield Line(row_id, encode_lines([{"index": {"_id": row_id}}, row]))


def chunks(lines: Iterable[Line], *, max_bytes: int, max_items: int) -> Iterator[list[Line]]:
    """Yield lines in groups, in order; a line larger than `max_bytes` travels alone."""
    group: list[Line] = []
    size = 0
    for line in lines:
        if group and (len(group) >= max_items or size + len(line.data) > max_bytes):
            yield group
            group, size = [], 0
        group.append(line)
        size += len(line.data)
    if group:
        yield group


def write_bulk(
    client: SearchClient,
    alias: str,
    groups: Iterable[Sequence[Line]],
    *,
    refresh: str = "false",
    params: Mapping[str, str] | None = None,
    landed: set[str] | None = None,
    note: Callable[[Line, Mapping[str, Any]], None] | None = None,
) -> list[str]:
    """Write all groups, two at a time; return the stored ids in the order given.

    An item that the server pushes back (429, 503, or the write block that a roll has for a moment) is sent again alone,
    with jittered backoff; its tries and those of its requests are counted together. A group whose request fails as a
    whole counts as failed. The groups after it are still tried, unless the server gave no answer or pushed back to the
    end of all tries: then no more are sent. A group that has a row of another one waits for it.

    Args:
        client: the server.
        alias: the collection.
        groups: lines, as `chunks` makes them.
        refresh: when the rows are seen by searches.
        params: URL parameters of the requests, instead of `refresh` and of those that a full cluster takes.
        landed: takes the names of the indices behind the alias that rows went to.
        note: told each line that was carried out, with what the server says of it.

    Raises:
        PartialWriteError: names the stored ids, and the failed ones with the reason.
        IndexStateError: nothing was stored, since the index is missing, closed, blocked or on a full disk.
        BackendError: nothing was stored, and one reason holds for everything.
    """
    if params is None:
        # A missing alias is an error; otherwise the server would make an index of that name with a guessed mapping.
        params = {"refresh": refresh, "require_alias": "true"}
    report = _Report()
    in_flight: deque[tuple[set[str], Callable[[], _Report]]] = deque()

    def await_first() -> None:
        part = in_flight.popleft()[1]()
        report.add(part)
        if landed is not None:
            landed.update(part.landed)
        if note is not None:
            for line, result in part.carried_out:
                note(line, result)

    groups = iter(groups)
    group = next(groups, None)
    while group is not None:
        after = next(groups, None)  # made while the server writes those before
        ids = {line.id for line in group}
        # What writes a row again has to come after what wrote it first.
        while in_flight and (
            len(in_flight) == _IN_FLIGHT or report.given_up or any(not ids.isdisjoint(them) for them, _ in in_flight)
        ):
            await_first()
        if report.given_up:
            report.failed.update({line.id: _NOT_SENT for line in group})
        else:
            write = partial(_write_group, client, alias, group, params=params)
            is_alone = after is None and not in_flight
            in_flight.append((ids, write if is_alone else beside.begin(write)))
        group = after
    while in_flight:
        await_first()
    return report.ids_in(alias)


@dataclass(slots=True)
class _Report:
    """What has become of one group, or of all so far.

    Attributes:
        landed: names of the indices that rows went to.
        carried_out: lines, with what the server says of each.
        stored: ids, in the order given.
        failed: id -> reason.
        whole: what the first group that failed as a whole failed of.
        given_up: whether the server takes no more.
    """

    landed: set[str] = field(default_factory=set)
    carried_out: list[tuple[Line, Mapping[str, Any]]] = field(default_factory=list)
    stored: list[str] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)
    whole: MemOpenSearchError | None = None
    given_up: bool = False

    def add(self, part: _Report) -> None:
        """Take over what has become of the next group."""
        self.stored += part.stored
        self.failed.update(part.failed)
        self.whole = self.whole or part.whole
        self.given_up = self.given_up or part.given_up

    def ids_in(self, alias: str) -> list[str]:
        """Return the stored ids; raise where that is not all."""
        stored, failed = self.stored, self.failed
        if self.whole is not None and not stored:
            raise self.whole
        if failed:
            row_id, reason = next(iter(failed.items()))
            raise PartialWriteError(
                f"{len(failed)} of {len(failed) + len(stored)} rows were not stored in '{alias}'; "
                f"first: '{row_id}': {reason}",
                stored=stored,
                failed=failed,
            )
        return stored


def _write_group(client: SearchClient, alias: str, group: Sequence[Line], *, params: Mapping[str, str]) -> _Report:
    report = _Report()
    try:
        _write_lines(client, alias, group, params=params, report=report)
    except (BackendError, IndexStateError) as error:
        report.whole = error
        report.given_up = isinstance(error, BackendUnavailable | Throttled | IndexStateError)
        report.failed.update({line.id: str(error) for line in group})
    return report


def _write_lines(
    client: SearchClient, alias: str, group: Sequence[Line], *, params: Mapping[str, str], report: _Report
) -> None:
    patience = client.patience()
    failed: dict[int, str] = {}  # position -> reason
    refusals: list[MemOpenSearchError] = []
    pending = list(range(len(group)))
    while pending:
        try:
            results = _send(client, alias, [group[position] for position in pending], params, patience)
        except (BackendError, IndexStateError) as error:
            if not failed:
                raise
            failed.update(dict.fromkeys(pending, str(error)))  # the others have been stored before
            report.given_up = True
            break
        again, is_blocked = [], False
        for position, (result, is_done) in zip(pending, results, strict=True):
            report.landed.add(result.get("_index", ""))
            failed.pop(position, None)
            if is_done:
                report.carried_out.append((group[position], result))
                continue
            failed[position] = _reason(result)
            item_blocked = is_write_block(result)
            is_blocked = is_blocked or item_blocked
            if item_blocked or is_passing(result["status"], result):
                again.append(position)
            else:
                refusals.append(from_status(result["status"], result, action=f"writing '{group[position].id}'"))
        pending = again
        seconds = patience.pause_for_block() if is_blocked else patience.pause() if pending else 0.0
        if seconds is None:
            report.given_up = True
            break
        time.sleep(seconds)
    if len(refusals) == len(group) and isinstance(refusals[0], IndexStateError | PermissionDenied):
        raise refusals[0]  # it holds for the index or the user, not for a row
    report.stored.extend(line.id for position, line in enumerate(group) if position not in failed)
    report.failed.update({group[position].id: failed[position] for position in sorted(failed)})


def _send(
    client: SearchClient, alias: str, lines: Sequence[Line], params: Mapping[str, str], patience: Patience
) -> list[tuple[dict[str, Any], bool]]:
    """Send lines in one request; return what `_result_of` says of each."""
    path = path_of(alias, "_bulk")
    body = b"".join(line.data for line in lines)
    answer = client.request("POST", path, params=params, body=body, patience=patience)
    items = answer["items"]
    if not isinstance(items, list) or len(items) != len(lines):
        raise from_shape(f"what became of {len(lines)} rows is missing", action=f"POST {path}")
    return [_result_of(item, line) for item, line in zip(items, lines, strict=True)]


def _result_of(item: Mapping[str, Any], line: Line) -> tuple[dict[str, Any], bool]:
    """Return what the server says of a line, without what it repeats of it, and whether the line is carried out."""
    verb, result = next(iter(item.items()))
    if result["status"] < _ERROR_STATUS or (verb == "delete" and result["status"] == _NOT_FOUND):
        return result, True
    return {**result, "error": cleaned(result.get("error"), line.data)}, False


def _reason(result: Mapping[str, Any]) -> str:
    error = result.get("error", {})
    cause = error.get("caused_by", {})
    parts = [f"{error.get('type')}: {error.get('reason')}"]
    if cause:
        parts.append(f"{cause.get('type')}: {cause.get('reason')}")
    # What follows is a piece of the row itself.
    return f"status {result['status']}: " + "; ".join(part.split(" Preview of field's value:")[0] for part in parts)
