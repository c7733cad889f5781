"""A writer that keeps account of what the server acknowledged, and a reader that must always find what it knows."""

from __future__ import annotations

import random
import threading
import time

DIMS = 8


def vector_of(number):
    rng = random.Random(number)
    return [rng.uniform(-1, 1) for _ in range(DIMS)]


def payload_of(number, version=0):
    return {"data": f"第{number}条記憶 PX-{number}", "user_id": f"u{number % 7}", "n": number, "version": version}


def fill(store, count):
    numbers = range(count)
    store.insert([vector_of(n) for n in numbers], [payload_of(n) for n in numbers], [f"m{n}" for n in numbers])


def everything(store):
    return {hit.id: hit.payload for hit in store.list()[0]}


class Load:
    """A writer and a reader thread that run while something else happens.

    Rows whose number divides by ten are left alone, so the reader knows that they are always there.
    """

    def __init__(self, writer, reader, count):
        self.writer, self.reader, self.count = writer, reader, count
        self.ledger = {f"m{n}": payload_of(n) for n in range(count)}
        self.gone = set()
        self.errors = []
        self.writes = self.reads = 0
        self.longest_write = 0.0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._guard, args=(work,)) for work in (self._write, self._read)]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _guard(self, work):
        rng = random.Random(work.__name__)
        while not self._stop.is_set():
            try:
                work(rng)
                time.sleep(0.01)  # leaves the roll some of a small machine
            except Exception as error:  # noqa: BLE001 - reported by the test, from the main thread
                self.errors.append(f"{work.__name__}: {type(error).__name__}: {error}")
                return

    def _write(self, rng):
        started = time.monotonic()
        number = rng.randrange(self.count)
        number += number % 10 == 0
        row_id = f"m{number}"
        what = rng.choice(["insert", "update", "update", "delete", "bulk"])
        if what == "insert" or (what == "update" and row_id not in self.ledger):
            row_id = f"new{self.writes}" if what == "insert" else row_id
            payload = payload_of(number, self.writes)
            self.writer.insert([vector_of(number)], [payload], [row_id])
            self.ledger[row_id] = payload
            self.gone.discard(row_id)
        elif what == "update":
            payload = payload_of(number, self.writes)
            self.writer.update(row_id, payload=payload)
            self.ledger[row_id] = payload
        elif what == "delete":
            self.writer.delete(row_id)
            self.ledger.pop(row_id, None)
            self.gone.add(row_id)
        else:
            ids = [f"bulk{self.writes}-{n}" for n in range(5)]
            payloads = [payload_of(n, self.writes) for n in range(5)]
            self.writer.insert([vector_of(n) for n in range(5)], payloads, ids)
            self.ledger.update(zip(ids, payloads, strict=True))
        self.writes += 1
        self.longest_write = max(self.longest_write, time.monotonic() - started)

    def _read(self, rng):
        number = 10 * rng.randrange(self.count // 10)
        row_id = f"m{number}"
        got = self.reader.get(row_id)
        assert got is not None, f"get lost {row_id}"
        assert got.payload == payload_of(number), f"get of {row_id} is another row"
        near = [hit.id for hit in self.reader.search("", vector_of(number), top_k=20, filters={"n": number})]
        assert row_id in near, f"search lost {row_id}"
        assert len(near) == len(set(near)), f"search doubled a row: {near}"
        words = [hit.id for hit in self.reader.keyword_search(f"PX-{number}", top_k=5, filters={"n": number})]
        assert row_id in words, f"keyword_search lost {row_id}"
        assert len(words) == len(set(words)), f"keyword_search doubled a row: {words}"
        self.reads += 1

    def check(self, store):
        """Everything that was acknowledged is there, as it was acknowledged, and nothing else is."""
        assert self.errors == []
        found = everything(store)
        assert found.keys() - self.ledger.keys() == set(), "rows came back"
        assert self.ledger.keys() - found.keys() == set(), "rows were lost"
        assert found == self.ledger
        assert self.gone.isdisjoint(found)
        assert store.col_info()["count"] == len(self.ledger)
