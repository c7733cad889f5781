"""One thing beside another: what it returns and raises, threads that are kept, turns, and a child's own threads."""

from __future__ import annotations

import os
import signal
import threading

import pytest

from mem_opensearch import turns
from mem_opensearch.beside import Beside

SECONDS = 30


def test_it_runs_beside_and_its_end_is_waited_for():
    go_on = threading.Event()
    end = Beside(1).begin(lambda: go_on.wait(SECONDS) and threading.current_thread())
    go_on.set()
    assert end() is not threading.current_thread()


def test_what_it_raises_is_raised_at_its_end():
    end = Beside(1).begin(lambda: {}["missing"])
    with pytest.raises(KeyError, match="missing"):
        end()


def test_its_threads_are_kept_and_end_with_it():
    beside = Beside(2)
    used = {beside.begin(threading.current_thread)() for _ in range(10)}
    assert len(used) <= 2
    del beside
    for thread in used:
        thread.join(SECONDS)
        assert not thread.is_alive()


def test_it_goes_by_turns_as_its_caller_does_who_waits_for_it():
    beside = Beside(1)

    def holds():
        return turns._mine.holds

    with turns.taken():
        assert beside.begin(holds)()
    assert not beside.begin(holds)()


def test_a_child_has_threads_of_its_own():
    beside = Beside(1)
    assert beside.begin(os.getpid)() == os.getpid()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            signal.alarm(SECONDS)
            code = 0 if beside.begin(os.getpid)() == os.getpid() else 2
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert beside.begin(os.getpid)() == os.getpid()
