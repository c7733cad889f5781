"""The command `mem-opensearch demo`."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, NoReturn

import orjson
import typer

from mem_opensearch.errors import ConfigError, MemOpenSearchError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rich.console import Console

    from mem_opensearch.demo.results import DemoResult

CANT: Final = 2
INTERRUPTED: Final = 130
STDOUT: Final = "-"
ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


def demo(
    *,
    url: Annotated[str, typer.Option(help="The server, or 'local' for the local node.")] = "local",
    json: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write everything here as JSON, too; '-' is stdout, without text."),
    ] = None,
) -> None:
    """Store 1,572 Chinese memories, ask ten questions, and show every score beside mem0's own provider.

    The demo makes collections of its own and removes them again.
    """
    from rich.console import Console

    out = Console(highlight=False, markup=False, emoji=False, quiet=json == STDOUT)
    err = Console(stderr=True, highlight=False, markup=False, emoji=False)
    try:
        _check_target(json)
        with _ended_like_interrupted():
            result = _run(url, out, err)
        _write(result, json, out)
    except MemOpenSearchError as error:
        typer.echo(f"error: {error}", err=True)
        raise typer.Exit(CANT) from error
    except KeyboardInterrupt as error:
        typer.echo("interrupted: what was stored for the demo is removed again", err=True)
        raise typer.Exit(INTERRUPTED) from error


def _run(url: str, out: Console, err: Console) -> DemoResult:
    from mem_opensearch.demo.draw import page
    from mem_opensearch.demo.progress import ConsoleWatcher
    from mem_opensearch.demo.run import run_demo

    result = run_demo(url=url, watcher=ConsoleWatcher(out, err))
    out.print()
    for part in page(result, out.width):
        out.print(part)
    return result


def _check_target(target: str | None) -> None:
    """Refuse a file that can't be written before the work, not after it."""
    if target is None or target == STDOUT:
        return
    path = Path(target)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"--json {target}: " + ("this is a folder" if path.is_dir() else "its folder does not exist"))


def _write(result: DemoResult, target: str | None, out: Console) -> None:
    if target is None:
        return
    data = orjson.dumps(result.as_data(), option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if target == STDOUT:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        Path(target).write_bytes(data)
    except OSError as error:
        raise ConfigError(f"--json {target}: {error.strerror}") from error
    out.print(f"Everything as data: {target}", soft_wrap=True)


@contextmanager
def _ended_like_interrupted() -> Iterator[None]:
    """Clean up as after Ctrl-C when `kill` or a closed terminal ends the process."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
