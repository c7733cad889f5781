"""Move a collection to a new index made from the current templates, while it is read and written.

The rows are copied on the server, vectors and all, in ranges of sequence numbers: what is written during one copy is
the next one's range, until little is left. Then writes are blocked for a moment (the client waits that out), the rest
is copied, counts and sampled rows are compared, and the alias moves in one step. Reads never notice. How far it came
stands in the new index's `_meta`, so an interrupted roll goes on where it was.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import IndexStateError, MemOpenSearchError
from mem_opensearch.index import comparing, copying
from mem_opensearch.index.claim import Claim, claim_next
from mem_opensearch.index.generations import list_generations, remove_write_block, set_write_block
from mem_opensearch.profiles import rewrite_words, word_field

if TYPE_CHECKING:
    from collections.abc import Callable

    from mem_opensearch.client import SearchClient
    from mem_opensearch.index.wanted import WantedIndex
    from mem_opensearch.profiles import WordField

    Progress = Callable[[str, int, int], None]
    """Told the stage, and how many of how many rows are done in it."""

SMALL = 500  # rows that may be left to copy when writes are blocked: a fraction of a second
MOST_ROUNDS = 10  # then writes are blocked anyway: they come faster than they can be copied
SAMPLE = 100
GREEN_SECONDS = 30  # wait for the new index's replicas, before writes are blocked
DROP_PAUSE, DROP_SECONDS = 1.0, 130.0  # a point in time of our own listing is kept for two minutes
_BAD_REQUEST, _NOT_FOUND, _TIMED_OUT = 400, 404, 408


@dataclass(slots=True)
class RollReport:
    """What a roll did.

    Attributes:
        collection: the collection.
        old_index: where it was.
        new_index: where it is.
        rows: rows in the new index, equal to those in the old one when the alias moved.
        copied: rows written by the copies, those that were written again included.
        deleted: rows that were deleted from the collection during the copy, and so from its copy.
        conflicts: rows that something else wrote to the new index meanwhile; 0 unless somebody interfered.
        sampled: rows that were compared field by field.
        resumed: whether it went on with an interrupted roll.
        blocked_seconds: how long writers had to wait.
        seconds: how long all took.
        replicas_ready: whether all copies of the new index's shards were started when the alias moved.
        dropped: old indices that were deleted.
        kept: old indices that are still there.
    """

    collection: str
    old_index: str
    new_index: str
    rows: int = 0
    copied: int = 0
    deleted: int = 0
    conflicts: int = 0
    sampled: int = 0
    resumed: bool = False
    blocked_seconds: float = 0.0
    seconds: float = 0.0
    replicas_ready: bool = True
    dropped: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


def roll_index(
    client: SearchClient,
    wanted: WantedIndex,
    *,
    drop_old: bool = False,
    progress: Progress | None = None,
    rewrite: copying.Rewrite | None = None,
) -> RollReport:
    """Move a collection to a new generation of its index.

    Args:
        client: the server.
        wanted: what the new index is to be. A profile or engine that is None stays as it is; the dimension can't
            change, since vectors can't be converted.
        drop_old: delete the old generations afterwards, when no search reads them any more.
        progress: told the stage and how many of how many rows are done in it. What it raises interrupts the roll: the
            collection is then as it was, and the next roll goes on.
        rewrite: makes the row to be stored of the one that is; the rows then travel through this process. Without it
            they do so only if the new index has words that the client makes, and else are copied on the server.

    Raises:
        IndexStateError: there is no such collection, another process rolls it, the dimension differs, or the copy is
            not like the original; the collection is as it was.
        ConfigError: the server can't hold what is wanted.
    """
    started = time.monotonic()
    claim = claim_next(client, wanted)
    report = RollReport(wanted.collection, claim.live, claim.index, resumed=claim.resumed)
    if rewrite is None:
        rewrite = _words_made_here(word_field(claim.spec.profile, wanted.dictionary))
    with claim.lease:
        _Roll(client, claim, report, progress or _say_nothing, rewrite).run()
    claim.erase_mark()
    if drop_old:
        report.dropped = drop_old_generations(client, wanted.collection)
    report.kept = tuple(each.name for each in list_generations(client, wanted.collection).old)
    report.seconds = time.monotonic() - started
    return report


def drop_old_generations(client: SearchClient, collection: str) -> tuple[str, ...]:
    """Delete the indices that rolls of `collection` have left, when no search reads them any more; return their names.

    A listing that began before the roll reads the old index to its end; it is waited for, at most two minutes.

    Raises:
        IndexStateError: the alias does not stand for exactly one index, so it is not certain which are old.
    """
    generations = list_generations(client, collection)
    live = generations.live
    names = tuple(each.name for each in generations.old if each.number < live.number)
    if names:
        time.sleep(DROP_PAUSE)  # for a search that has asked where the alias points, and not begun to read
    end = time.monotonic() + DROP_SECONDS
    for name in names:
        while _is_read(client, name) and time.monotonic() < end:
            time.sleep(0.2)
        client.request("DELETE", path_of(name), accept=(_NOT_FOUND,))
    return names


def _words_made_here(words: WordField) -> copying.Rewrite | None:
    """Return what gives a row the words that only the client can make, or None where the server makes them."""
    if not words.client_side:
        return None
    return lambda row: rewrite_words(row, words)


def _is_read(client: SearchClient, index: str) -> bool:
    stats = client.request("GET", path_of(index, "_stats", "search"), accept=(_NOT_FOUND,))
    return bool(stats.get("_all", {}).get("total", {}).get("search", {}).get("open_contexts"))


class _Roll:
    """One run of a roll, with the lease held."""

    def __init__(
        self,
        client: SearchClient,
        claim: Claim,
        report: RollReport,
        progress: Progress,
        rewrite: copying.Rewrite | None,
    ) -> None:
        self._rewrite = rewrite
        self._client = client
        self._claim = claim
        self._old = claim.live
        self._new = claim.index
        self._report = report
        self._progress = progress
        self._rounds = 0

    def run(self) -> None:
        while self._copy_round() > SMALL and self._rounds < MOST_ROUNDS:
            pass
        self._progress("comparing ids", 0, 1)
        copying.refresh(self._client, self._new)
        # Here most of the deletions are found, so that few are left to look for while writes are blocked.
        self._report.deleted += comparing.delete_what_is_gone(self._client, self._old, self._new)
        self._report.replicas_ready = self._wait_for_replicas()
        self._progress("comparing ids", 1, 1)
        self._claim.lease.check()
        blocked = time.monotonic()
        try:
            set_write_block(self._client, self._old)
            self._copy_last()
            self._verify()
            self._progress("moving the alias", 0, 1)
            self._move_alias()
        except BaseException as error:
            self._take_block_off(error)
            raise
        finally:
            self._report.blocked_seconds = time.monotonic() - blocked
        # The old index stays blocked: a write that had looked up the alias just before it moved is refused there, and
        # finds the new index when the client sends it again. Unblocked, the old index would swallow it.
        self._progress("moving the alias", 1, 1)

    def _copy_round(self) -> int:
        """Copy what was written since the last round; return how many rows were written meanwhile."""
        copying.refresh(self._client, self._old)
        stage = "copying" if self._rounds == 0 else "catching up"
        total = copying.count_rows(self._client, self._old, after=self._claim.mark["done"])
        self._progress(stage, 0, total)

        def note_step(upto: int, copied: copying.Copied) -> None:
            self._claim.lease.check()
            self._claim.save(done=upto)
            self._progress(stage, min(copied.rows, total), total)

        mark = self._claim.mark
        self._count(
            copying.copy_between(
                self._client,
                self._old,
                self._new,
                after=mark["done"],
                upto=mark["upto"],
                on_step=note_step,
                rewrite=self._rewrite,
            )
        )
        self._rounds += 1
        now = copying.read_checkpoint(self._client, self._old)
        self._claim.save(done=self._claim.mark["low"], upto=now.high, low=now.low)
        copying.refresh(self._client, self._old)
        return copying.count_rows(self._client, self._old, after=self._claim.mark["done"])

    def _copy_last(self) -> None:
        copying.refresh(self._client, self._old)
        total = copying.count_rows(self._client, self._old, after=self._claim.mark["done"])
        self._progress("last rows", 0, total)
        last = copying.read_checkpoint(self._client, self._old).last
        self._count(
            copying.copy_between(
                self._client,
                self._old,
                self._new,
                after=self._claim.mark["done"],
                upto=last,
                on_step=lambda _, copied: self._progress("last rows", copied.rows, total),
                rewrite=self._rewrite,
            )
        )
        copying.refresh(self._client, self._new)

    def _verify(self) -> None:
        old, new = self._old, self._new
        self._progress("verifying", 0, SAMPLE)
        rows, copies = (copying.count_rows(self._client, index) for index in (old, new))
        if rows != copies:  # each row of the old one is in the new one, so equal counts mean equal ids
            self._report.deleted += comparing.delete_what_is_gone(self._client, old, new)
            copies = copying.count_rows(self._client, new)
        if rows != copies:
            raise IndexStateError(
                f"'{old}' has {rows} rows and its copy '{new}' has {copies}; the collection is as it was. Roll again; "
                f"if it says so again, delete '{new}' and report it"
            )
        self._report.rows = rows
        self._report.sampled = comparing.compare_sample(self._client, old, new, size=SAMPLE, rewrite=self._rewrite)
        self._progress("verifying", SAMPLE, SAMPLE)

    def _move_alias(self) -> None:
        alias = self._claim.spec.collection
        self._claim.lease.end()
        self._claim.lease.check()
        actions = [
            {"remove": {"index": self._old, "alias": alias, "must_exist": True}},
            {"add": {"index": self._new, "alias": alias, "is_write_index": True}},
            self._claim.lease.give_up_action(),  # if another process took over, all of this fails together
        ]
        try:
            self._client.request("POST", "/_aliases", body={"actions": actions})
        except MemOpenSearchError:
            if list_generations(self._client, alias).live.name != self._new:  # an answer can be lost on its way
                raise

    def _take_block_off(self, error: BaseException) -> None:
        try:
            # Not if another process has taken over and needs the block now; nor if the alias did move.
            if (
                self._claim.lease.is_held()
                and list_generations(self._client, self._claim.spec.collection).live.name == self._old
            ):
                remove_write_block(self._client, self._old)
        except MemOpenSearchError as other:
            error.add_note(f"The write block may still be on '{self._old}' ({other}); roll again to take it off")

    def _wait_for_replicas(self) -> bool:
        answer = self._client.request(
            "GET",
            path_of("_cluster", "health", self._new),
            params={"wait_for_status": "green", "timeout": f"{GREEN_SECONDS}s"},
            timeout=GREEN_SECONDS + 10,
            accept=(_TIMED_OUT,),
        )
        return not answer.get("timed_out", False)

    def _count(self, copied: copying.Copied) -> None:
        self._report.copied += copied.rows
        self._report.conflicts += copied.conflicts


def _say_nothing(_stage: str, _done: int, _total: int) -> None:
    pass
