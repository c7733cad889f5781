"""What the commands share: exit codes, JSON targets, and an end that cleans up."""

from __future__ import annotations

import signal
import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import orjson
import typer

from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

CANT: Final = 2
INTERRUPTED: Final = 130
STDOUT: Final = "-"
ENDING: Final = (signal.SIGTERM, signal.SIGHUP)


def check_target(target: str | None) -> None:
    """Refuse a JSON file that can't be written before the work, not after it.

    Raises:
        ConfigError: it is a folder, or its folder does not exist.
    """
    if target is None or target == STDOUT:
        return
    path = Path(target)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise ConfigError(f"--json {target}: " + ("this is a folder" if path.is_dir() else "its folder does not exist"))


def write_json(data: object, target: str) -> None:
    """Write `data` to a file, or to standard output for ``-``.

    Raises:
        ConfigError: the file can't be written.
    """
    text = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE)
    if target == STDOUT:
        sys.stdout.buffer.write(text)
        sys.stdout.buffer.flush()
        return
    try:
        Path(target).write_bytes(text)
    except OSError as error:
        raise ConfigError(f"--json {target}: {error.strerror}") from error


def leave(message: str, error: BaseException, code: int) -> NoReturn:
    """Say on one line of stderr what is wrong, and leave with `code`."""
    notes = getattr(error, "__notes__", [])
    typer.echo(" ".join(" ".join([message, *notes]).split()), err=True)
    raise typer.Exit(code) from error


@contextmanager
def ended_like_interrupted() -> Iterator[None]:
    """Clean up as after Ctrl-C when `kill`, a closed terminal or a CI server ends the process."""

    def interrupt(*_: object) -> NoReturn:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
