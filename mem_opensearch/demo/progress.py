"""Tell on the terminal how far the demo is."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mem_opensearch.demo.draw import stored_line, versions_line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

    from mem_opensearch.demo.results import Stored, Versions


class ConsoleWatcher:
    """A watcher that prints facts to `out` and progress to `err`.

    A terminal gets bars with amount and time left, which vanish when they are full. Anything else gets plain lines.

    Args:
        out: where results go.
        err: where progress goes.
    """

    def __init__(self, out: Console, err: Console) -> None:
        self._out = out
        self._err = err

    def found(self, versions: Versions) -> None:
        """Print the line of versions."""
        self._out.print(versions_line(versions))

    @contextmanager
    def counting(self, what: str, total: int) -> Iterator[Callable[[int], None]]:
        """Show a bar, or a line before and one after."""
        if self._err.is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

            columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            with Progress(*columns, console=self._err, transient=True) as progress:
                task = progress.add_task(what, total=total)
                yield lambda count: progress.advance(task, count)
            return
        self._err.print(f"{what}: {total:,} to do")
        begin = time.perf_counter()
        yield lambda _count: None
        self._err.print(f"{what}: done in {time.perf_counter() - begin:.1f} s")

    def stored(self, stored: Stored) -> None:
        """Print how long storing took."""
        self._out.print(stored_line(stored))
