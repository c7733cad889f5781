"""Show on stderr how much of the node has been fetched."""

from __future__ import annotations

import sys
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from mem_opensearch.extras import require

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

LINE_EVERY = 5.0  # seconds between two lines when nobody watches a bar
MEGA = 1_000_000


@contextmanager
def show_bytes(title: str, total: int, *, quiet: bool) -> Iterator[Callable[[int], None]]:
    """Yield a function, safe in threads, that is told of new bytes.

    A terminal gets a bar with amount and time left; anything else gets plain lines; `quiet` gets nothing.

    Args:
        title: what is fetched, such as ``"OpenSearch 3.6.0"``.
        total: bytes.
        quiet: show nothing.
    """
    if quiet:
        yield lambda _count: None
    elif sys.stderr.isatty():
        with _bar(title, total) as advance:
            yield advance
    else:
        with _lines(title, total) as advance:
            yield advance


@contextmanager
def _bar(title: str, total: int) -> Iterator[Callable[[int], None]]:
    rich_progress = require("rich.progress", extra="local", purpose="the progress bar")
    rich_console = require("rich.console", extra="local", purpose="the progress bar")
    columns = (
        rich_progress.TextColumn("{task.description}"),
        rich_progress.BarColumn(),
        rich_progress.DownloadColumn(),
        rich_progress.TransferSpeedColumn(),
        rich_progress.TimeRemainingColumn(),
    )
    with rich_progress.Progress(*columns, console=rich_console.Console(stderr=True)) as bar:
        task = bar.add_task(f"Fetching {title}", total=total)
        yield lambda count: bar.advance(task, count)


@contextmanager
def _lines(title: str, total: int) -> Iterator[Callable[[int], None]]:
    lock = threading.Lock()
    begin = time.monotonic()
    done = 0
    told = begin

    def say(text: str) -> None:
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - this is the progress display

    def advance(count: int) -> None:
        nonlocal done, told
        with lock:
            done += count
            now = time.monotonic()
            if now - told >= LINE_EVERY and 0 < done < total:
                told = now
                left = (total - done) * (now - begin) / done
                say(f"Fetching {title}: {done / MEGA:.0f} of {total / MEGA:.0f} MB, about {left:.0f} s left")

    say(f"Fetching {title}: {total / MEGA:.1f} MB")
    yield advance
    say(f"Fetched {title}: {done / MEGA:.1f} MB in {time.monotonic() - begin:.0f} s")
