"""Add up what the fault tests have seen, and write it as the table of docs/reliability.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "reliability.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
_HEAD = ("fault", "tried", "writes acknowledged", "lost", "duplicated", "back after a delete", "ends in")


class Ledger:
    """One row per kind of fault, in the order in which they were first noted."""

    def __init__(self):
        self.rows = {}

    def note(self, fault, *, ends, tried=1, acknowledged=0, lost=0, duplicated=0, back=0):
        """Add to a row.

        Args:
            fault: name of the row.
            ends: what the caller got: ``"success"``, or the name of an error.
            tried: how often the fault was made to happen.
            acknowledged: writes that the caller was told are done.
            lost: those of them that are not there.
            duplicated: rows that are there twice.
            back: rows that are there though their deletion was acknowledged.
        """
        counts = {"tried": tried, "acknowledged": acknowledged, "lost": lost, "duplicated": duplicated, "back": back}
        row = self.rows.setdefault(fault, dict.fromkeys(counts, 0) | {"ends": []})
        for name, count in counts.items():
            row[name] += count
        if ends not in row["ends"]:
            row["ends"].append(ends)

    def save(self, path):
        """Write the rows as JSON."""
        Path(path).write_text(json.dumps(self.rows, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def add_up(parts):
    """Return the rows of several runs, each of some of the tests, as one."""
    ledger = Ledger()
    for rows in parts:
        for fault, row in rows.items():
            counts = {name: count for name, count in row.items() if name != "ends"}
            for end in row["ends"]:
                ledger.note(fault, ends=end, **counts)
                counts = dict.fromkeys(counts, 0)  # once
    return ledger.rows


def ends_of(row):
    """Return how the fault ends, success first."""
    return ", ".join(sorted(row["ends"], key=lambda end: (end != "success", end)))


def render(rows):
    """Return the rows as a Markdown table, with their sum."""
    names = ("tried", "acknowledged", "lost", "duplicated", "back")
    lines = [f"| {' | '.join(_HEAD)} |", f"|---|{'---:|' * len(names)}---|"]
    for fault, row in sorted(rows.items()):
        counts = " | ".join(f"{row[name]:,}" for name in names)
        lines.append(f"| {fault} | {counts} | {ends_of(row)} |")
    sums = " | ".join(f"**{sum(row[name] for row in rows.values()):,}**" for name in names)
    return "\n".join([*lines, f"| **all** | {sums} | |"])


def read_page():
    """Return the rows of the page's table: fault -> its other cells."""
    table = PAGE.read_text(encoding="utf-8").split(BEGIN)[1].split(END)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.strip().splitlines()[2:]]
    return {cells[0]: cells[1:] for cells in rows}


def write_page(rows):
    """Put the table of `rows` into the page."""
    text = PAGE.read_text(encoding="utf-8")
    head, rest = text.split(BEGIN)
    tail = rest.split(END)[1]
    PAGE.write_text(f"{head}{BEGIN}\n{render(rows)}\n{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    write_page(add_up(json.loads(Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:]))
