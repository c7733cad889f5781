"""Threads that take turns: one computes at a time, no two wait for each other, and a child starts anew."""

from __future__ import annotations

import os
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest

from mem_opensearch import forks, turns
from mem_opensearch.embed import UniversalSentenceEncoder

SECONDS = 30
"""How long a test waits for what comes at once, unless threads wait for each other."""


def in_thread(work):
    """Return what `work` returns in a thread of its own; a thread that waits for ever fails the test."""
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(work).result(SECONDS)


def is_free():
    """Whether another thread could have the turn now."""

    def attempt():
        got = turns._turn.acquire(blocking=False)
        if got:
            turns._turn.release()
        return got

    return in_thread(attempt)


class Count:
    """Counts the threads that are within it at once; each stays for a while."""

    def __init__(self):
        self._lock = threading.Lock()
        self._now = self.most = 0

    def __call__(self):
        with self._lock:
            self._now += 1
            self.most = max(self.most, self._now)
        time.sleep(0.001)
        with self._lock:
            self._now -= 1


def test_one_thread_computes_at_a_time_and_all_wait_at_once():
    computing, together = Count(), threading.Barrier(8)

    def work():
        with turns.taken():
            for _ in range(10):
                computing()
                with turns.waiting():
                    together.wait(SECONDS)
                computing()

    with ThreadPoolExecutor(8) as threads:
        for done in [threads.submit(work) for _ in range(8)]:
            done.result(SECONDS)
    assert computing.most == 1
    assert is_free()


def test_the_turn_is_held_and_given_up_in_any_order():
    with turns.taken():
        assert not is_free()
        with turns.taken(), turns.computing():
            assert not is_free()
        assert not is_free()
        with turns.waiting():
            assert is_free()
            with turns.waiting():
                assert is_free()
            with turns.computing():
                assert not is_free()
                with turns.waiting():
                    assert is_free()
            assert is_free()
        assert not is_free()
    assert is_free()


def test_a_thread_that_does_not_go_by_turns_is_not_kept_waiting():
    def work():
        with turns.waiting(), turns.computing():
            return turns.as_here(lambda: "done")()

    with turns.taken():
        assert in_thread(work) == "done"
    assert work() == "done"


def test_after_its_turns_a_thread_goes_by_none():
    def work():
        with turns.taken():
            pass
        with turns.computing():
            return is_free()

    assert in_thread(work)


@pytest.mark.parametrize("part", [turns.taken, turns.waiting, turns.computing])
def test_an_error_leaves_everything_as_it_was(part):
    with turns.taken():
        with pytest.raises(KeyError), part():
            raise KeyError
        assert not is_free()
    assert is_free()


def test_a_helper_goes_by_turns_as_the_thread_that_asks_it():
    def held():
        return turns._mine.holds

    assert not in_thread(turns.as_here(held))
    with turns.taken():
        by_turns = turns.as_here(held)
        with turns.waiting():
            assert in_thread(by_turns)
            assert in_thread(turns.as_here(held))
            assert not in_thread(held)


@pytest.mark.parametrize("kind", [forks.Lock, forks.RLock])
def test_who_waits_for_a_lock_gives_the_turn_up_to_its_holder(kind):
    """As in a search: one measures something under a lock, asks the server meanwhile, and others want the same."""
    lock, has_lock, wants_lock = kind(), threading.Event(), threading.Event()

    def hold():
        with turns.taken(), lock:
            with turns.waiting():
                has_lock.set()
                wants_lock.wait(SECONDS)  # for the server
            return "held"

    def want():
        with turns.waiting():
            has_lock.wait(SECONDS)
        wants_lock.set()
        with lock:
            return not is_free()

    with ThreadPoolExecutor(1) as threads:
        holder = threads.submit(hold)
        with turns.taken():
            assert want()
        assert holder.result(SECONDS) == "held"
    assert is_free()


def test_the_offline_embedder_computes_by_turns(monkeypatch):
    held = []

    class Model:
        def encode(self, texts):
            import numpy as np

            held.append(turns._mine.holds)
            return np.eye(512, dtype=np.float32)[: len(texts)]

    monkeypatch.setattr("mem_opensearch.embed._model", Model())
    with turns.taken(), turns.waiting():
        UniversalSentenceEncoder().embed_queries(["甲"])
    UniversalSentenceEncoder().embed_queries(["甲"])
    assert held == [True, False]


def exit_code_of_child(work):
    """Return 0 if `work` returns true in a forked child; a child that waits for ever is ended by the alarm."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(SECONDS)
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def test_a_child_does_not_wait_for_the_parents_other_threads():
    def take():
        with turns.taken():
            return True

    held, over = threading.Event(), threading.Event()

    def hold():
        with turns.taken():
            held.set()
            over.wait(SECONDS)

    with ThreadPoolExecutor(1) as threads:
        holder = threads.submit(hold)
        held.wait(SECONDS)
        assert exit_code_of_child(take) == 0
        over.set()
        holder.result(SECONDS)


@pytest.mark.parametrize("part", [turns.taken, turns.waiting, turns.computing])
def test_a_thread_that_forks_goes_on_in_the_child_as_in_the_parent(part):
    within = ExitStack()
    within.enter_context(turns.taken())
    within.enter_context(part())
    holds = turns._mine.holds

    def goes_on():
        as_before = turns._mine.holds is holds and is_free() is not holds
        within.close()
        return as_before and is_free()

    try:
        assert exit_code_of_child(goes_on) == 0
    finally:
        within.close()
    assert is_free()
