"""The table of docs/reliability.md has the rows that the tests have counted; in order of names this file is last."""

from __future__ import annotations

from pathlib import Path

from .ledger import Ledger, ends_of, read_page, render

COUNTS = slice(2, 5)  # lost, duplicated, back


def ran_whole(session):
    """Whether every test of this folder is in this run."""
    files = {path.name for path in Path(__file__).parent.glob("test_*.py")}
    chosen = {item.path.name for item in session.items if item.path.parent == Path(__file__).parent}
    return files <= chosen and not session.config.option.keyword and not session.testsfailed


def test_its_rows_are_those_that_were_counted(request, ledger):
    page = read_page()
    faults = set(page) - {"**all**"}
    assert set(ledger.rows) <= faults, "run scripts/reliability"
    if ran_whole(request.session):
        assert set(ledger.rows) == faults, "run scripts/reliability"
        for fault, row in ledger.rows.items():
            if "kill -9" not in fault:  # how many writes are refused there, and how, is chance
                assert page[fault][-1] == ends_of(row), fault


def test_nothing_was_lost_doubled_or_back():
    page = read_page()
    assert len(page) > 40
    assert {count.strip("*") for cells in page.values() for count in cells[COUNTS]} == {"0"}
    assert int(page["**all**"][1].strip("*").replace(",", "")) > 1000


def test_a_ledger_adds_up():
    ledger = Ledger()
    ledger.note("503", ends="success", acknowledged=1200)
    ledger.note("503", ends="Throttled", tried=2, lost=1)
    assert render(ledger.rows).splitlines()[2:] == [
        "| 503 | 3 | 1,200 | 1 | 0 | 0 | success, Throttled |",
        "| **all** | **3** | **1,200** | **1** | **0** | **0** | |",
    ]
