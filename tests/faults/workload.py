"""Write from several threads while servers die, and know afterwards what the server owes."""

from __future__ import annotations

import contextlib
import random
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

from mem_opensearch.errors import MemOpenSearchError, PartialWriteError

DIMS = 4
PACE = 0.1  # seconds between two writes of a thread
SLOW_PACE = 1.0  # while a server starts again: it needs the processor too
SCOPE = {"user_id": "u"}
ENTITIES = [f"实体{number}" for number in range(5)]
GONE = -1  # the version of a row whose deletion was acknowledged


def vector_of(number):
    rng = random.Random(number)
    return [rng.uniform(0.1, 1.0) for _ in range(DIMS)]


@dataclass
class Account:
    """What one writer was told, row by row.

    Attributes:
        owed: id -> version of the last acknowledged write; `GONE` for a delete.
        links: (entity, id) of the links that were.
        unsure: ids of rows whose last write ended in an error: it may have been carried out or not.
        acknowledged: operation -> writes that were.
        refused: name of an error -> how often it was raised.
    """

    owed: dict[str, int] = field(default_factory=dict)
    links: set[tuple[str, str]] = field(default_factory=set)
    unsure: set[str] = field(default_factory=set)
    acknowledged: Counter = field(default_factory=Counter)
    refused: Counter = field(default_factory=Counter)


class Writers:
    """Threads that insert, update and delete rows of their own and link them to entities that all of them share.

    A row's payload holds its number (`row`) and its version; an id is written by one thread only, so what each
    thread was told is the whole truth about it.
    """

    def __init__(self, store, entities, *, threads=8):
        self.store = store
        self.entities = entities
        self.accounts = [Account() for _ in range(threads)]
        self.unexpected = []
        self._pace = PACE
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(number,)) for number in range(threads)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join(180)
        assert not any(thread.is_alive() for thread in self._threads), "a writer hangs"

    @contextlib.contextmanager
    def slowly(self):
        """Let them write once a second meanwhile."""
        self._pace = SLOW_PACE
        yield
        self._pace = PACE

    @property
    def acknowledged(self):
        """Writes acknowledged so far, by all threads."""
        return sum(account.acknowledged.total() for account in self.accounts)

    def wait_for(self, more, *, seconds=400):
        """Return when `more` further writes have been acknowledged by each thread."""
        wanted = [account.acknowledged.total() + more for account in self.accounts]
        end = time.monotonic() + seconds
        while any(account.acknowledged.total() < want for account, want in zip(self.accounts, wanted, strict=True)):
            assert not self.unexpected, self.unexpected
            assert time.monotonic() < end, "the writers get nothing acknowledged any more"
            time.sleep(0.05)

    def _run(self, writer):
        rng = random.Random(writer)
        account, serial = self.accounts[writer], 0
        try:
            while not self._stop.wait(self._pace):
                kind = rng.choices(("insert", "update", "delete", "link"), (5, 4, 1, 2))[0]
                alive = [each for each, version in account.owed.items() if version != GONE]
                alive = [each for each in alive if each not in account.unsure]
                if kind == "insert" or not alive:
                    ids = [f"w{writer}-{serial + n}" for n in range(rng.randint(1, 4))]
                    serial += len(ids)
                    self._insert(account, ids)
                elif kind == "link":
                    self._link(account, rng.choice(ENTITIES), rng.choice(alive))
                else:
                    self._change(account, rng.choice(alive), kind)
        except Exception as error:  # anything but a typed error is a fault of ours
            self.unexpected.append(repr(error))
            raise

    def _insert(self, account, ids):
        try:
            self.store.insert([vector_of(each) for each in ids], [payload_of(each, 0) for each in ids], ids)
        except PartialWriteError as error:
            account.refused["PartialWriteError"] += 1
            account.unsure.update(error.failed)
            ids = error.stored
        except MemOpenSearchError as error:
            account.refused[type(error).__name__] += 1
            account.unsure.update(ids)
            return
        account.owed.update(dict.fromkeys(ids, 0))
        account.acknowledged["insert"] += len(ids)

    def _change(self, account, row_id, kind):
        version = account.owed[row_id] + 1
        try:
            if kind == "update":
                self.store.update(row_id, payload=payload_of(row_id, version))
            else:
                self.store.delete(row_id)
        except MemOpenSearchError as error:
            account.refused[type(error).__name__] += 1
            account.unsure.add(row_id)
            return
        account.owed[row_id] = version if kind == "update" else GONE
        account.acknowledged[kind] += 1

    def _link(self, account, entity, row_id):
        try:
            self.entities.link(entity, row_id, SCOPE, vector=vector_of(0))
        except MemOpenSearchError as error:
            account.refused[type(error).__name__] += 1
            return
        account.links.add((entity, row_id))
        account.acknowledged["link"] += 1

    def compare(self, rows, entities):
        """Hold what was acknowledged against the rows that are there.

        Args:
            rows: (id, payload) of every row that the writers may have written, read from the server itself.
            entities: name of an entity -> ids of the memories that it is linked to.

        Returns:
            ``{"acknowledged", "lost", "duplicated", "back"}``: a count and three lists; `lost` are acknowledged rows
            that are missing or older than acknowledged and links that are missing, `back` are rows whose deletion was
            acknowledged.
        """
        found = {row_id: payload["version"] for row_id, payload in rows}
        copies = Counter(payload["row"] for _, payload in rows)
        lost, back = [], []
        for account in self.accounts:
            for row_id, version in account.owed.items():
                if row_id in account.unsure:  # its last write may have been carried out: the one before is owed
                    continue
                if version == GONE:
                    back += [row_id] * (row_id in found)
                elif found.get(row_id, GONE) != version:
                    lost.append((row_id, version, found.get(row_id)))
            settled = {row_id for row_id, version in account.owed.items() if version != GONE} - account.unsure
            lost += [(name, row_id) for name, row_id in account.links if row_id in settled - entities.get(name, set())]
        known = {each for account in self.accounts for each in (*account.owed, *account.unsure)}
        duplicated = [each for each, count in copies.items() if count > 1]
        assert found.keys() <= known, "there are rows that nobody wrote"
        return {"acknowledged": self.acknowledged, "lost": lost, "duplicated": duplicated, "back": back}


def payload_of(row_id, version):
    return {"data": f"{row_id} 的第{version}版，住在臺北", "user_id": "u", "row": row_id, "version": version}
