"""Let one process at a time fill a new generation, and notice when that process is gone.

The lease is an alias on the new index whose name holds the owner's token and a counter. `_aliases` changes are atomic,
and `must_exist` makes one fail as a whole when another was faster, so taking over is a compare-and-set. A live owner
counts on; one that does not count while another watches is taken for dead. No clocks are compared, and nothing is left
on the server: the alias goes with the last step of the roll.
"""

from __future__ import annotations

import threading
import time
import uuid
from typing import TYPE_CHECKING, Any, Self

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import IndexStateError, MemOpenSearchError
from mem_opensearch.index.names import PREFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.client import SearchClient

BEAT_SECONDS = 2.0
PATIENCE_SECONDS = 10.0
"""How long an owner may stand still before it is taken for dead: five beats."""


LEASE_PREFIX = f"{PREFIX}-roll-"
"""How every alias begins that is a lease, and no collection."""


def lease_prefix(collection: str) -> str:
    """Return how the lease aliases of a collection's rolls begin."""
    return f"{LEASE_PREFIX}{collection}-"


class Lease:
    """The right to fill one index, kept alive by a thread.

    Use it in a with statement: the thread runs inside it. The alias stays on the index at the end, unless the roll's
    last step removed it, and is taken over by the next one.
    """

    def __init__(self, client: SearchClient, collection: str, index: str) -> None:
        self._client = client
        self._prefix = f"{lease_prefix(collection)}{uuid.uuid4().hex[:12]}-"
        self._count = 0
        self.index = index
        self._stop = threading.Event()
        self._lost = False
        self._thread = threading.Thread(target=self._beat, name="mem-opensearch-roll-lease", daemon=True)

    @property
    def alias(self) -> str:
        """The alias that says whose the index is."""
        return f"{self._prefix}{self._count:06d}"

    def take_over(self, before: Sequence[str]) -> None:
        """Take the lease from an owner that is gone.

        Args:
            before: its lease aliases, as they were seen; none if it had none.

        Raises:
            IndexStateError: another process was faster.
        """
        actions: list[dict[str, Any]] = [_remove(self.index, alias) for alias in before]
        try:
            self._client.request(
                "POST", "/_aliases", body={"actions": [*actions, {"add": {"index": self.index, "alias": self.alias}}]}
            )
        except MemOpenSearchError:
            if not self.is_held():
                raise IndexStateError(_under_way(self.index)) from None

    def give_up_action(self) -> dict[str, Any]:
        """Return the `_aliases` action that ends the lease, and fails when it is no longer held."""
        return _remove(self.index, self.alias)

    def check(self) -> None:
        """Return if the lease is held.

        Raises:
            IndexStateError: another process took it, since this one stood still too long.
        """
        if self._lost:
            raise IndexStateError(
                f"another process took over the roll into '{self.index}', since this one did not move for "
                f"{PATIENCE_SECONDS:.0f} s; leave the rest to that one"
            )

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        """Stop counting; the alias keeps its name from here on."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join()

    def _beat(self) -> None:
        while not self._stop.wait(BEAT_SECONDS):
            before = self.alias
            self._count += 1
            body = {"actions": [_remove(self.index, before), {"add": {"index": self.index, "alias": self.alias}}]}
            try:
                self._client.request("POST", "/_aliases", body=body)
            except MemOpenSearchError:
                if not self._recover():
                    return

    def _recover(self) -> bool:
        """Find out after a failed beat whether the lease is still held; a server that can't say will be asked again."""
        try:
            held = _leases_of(self._client, self.index)
        except MemOpenSearchError:
            self._count -= 1
            return True
        mine = [alias for alias in held if alias.startswith(self._prefix)]
        if not mine:
            self._lost = True
            return False
        self._count = int(mine[0].removeprefix(self._prefix))
        return True

    def is_held(self) -> bool:
        """Ask the server whether the lease is this one's."""
        # By its beginning: the thread may be counting on at this moment.
        return any(alias.startswith(self._prefix) for alias in _leases_of(self._client, self.index))


def wait_until_dead(client: SearchClient, collection: str, index: str) -> list[str]:
    """Watch the lease of `index`; return its aliases when its owner is gone.

    One beat is no sign of life: the owner may have sent it and died, and the server carries it out afterwards.

    Raises:
        IndexStateError: the owner is alive, or has just finished.
    """
    prefix = lease_prefix(collection)
    seen = _leases_of(client, index)
    beats = 0
    end = time.monotonic() + PATIENCE_SECONDS
    while seen and time.monotonic() < end:
        time.sleep(min(0.5, PATIENCE_SECONDS))
        now = _leases_of(client, index)
        if now == seen:
            continue
        beats += 1
        if beats > 1 or not any(alias.startswith(prefix) for alias in now):
            raise IndexStateError(_under_way(index))
        seen = now
        end = time.monotonic() + PATIENCE_SECONDS
    return [alias for alias in seen if alias.startswith(prefix)]


def _under_way(index: str) -> str:
    return f"another process is rolling into '{index}' now, so this one does nothing; wait until that one is done"


def _remove(index: str, alias: str) -> dict[str, Any]:
    return {"remove": {"index": index, "alias": alias, "must_exist": True}}


def _leases_of(client: SearchClient, index: str) -> list[str]:
    answer = client.request("GET", path_of(index, "_alias"), accept=(404,))
    return sorted(answer.get(index, {}).get("aliases", {}))
