"""Open files of JSON lines, plain or compressed, to be read or written one line at a time."""

from __future__ import annotations

import gzip
import sys
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

STANDARD = "-"
"""The name that means standard input or standard output."""


@contextmanager
def open_to_read(file: str) -> Iterator[IO[bytes]]:
    """Open a file of lines; one that ends in ``.gz`` is decompressed, ``-`` is standard input.

    Raises:
        ConfigError: it can't be read, or is no gzip file though its name says so.
    """
    if file == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        with _open(Path(file), "rb") as opened:
            yield opened
    except (OSError, EOFError) as error:  # gzip.BadGzipFile is an OSError
        raise ConfigError(f"{file} can't be read: {getattr(error, 'strerror', None) or error}") from error


@contextmanager
def open_to_write(file: str) -> Iterator[IO[bytes]]:
    """Open a file for lines; ``.gz`` is compressed, ``-`` is standard output.

    The file gets its name when all is written: a file of that name is whole, and one that was there before stays until
    then.

    Raises:
        ConfigError: it can't be written.
    """
    if file == STANDARD:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(file)
    part = path.with_name(f".{path.name}.part")
    try:
        with _open(part, "wb", compressed=path.suffix == ".gz") as opened:
            yield opened
        part.replace(path)
    except OSError as error:
        raise ConfigError(f"{file} can't be written: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)


def count_lines(file: str) -> int:
    """Return how many lines a file has; 0 where that is not known before it is read, as of standard input."""
    if file == STANDARD:
        return 0
    try:
        with open_to_read(file) as opened:
            return sum(1 for _ in opened)
    except (ConfigError, zlib.error):  # whoever reads it line by line says where the fault is
        return 0


def _open(path: Path, mode: str, *, compressed: bool | None = None) -> IO[bytes]:
    if compressed or (compressed is None and path.suffix == ".gz"):
        return cast("IO[bytes]", gzip.open(path, mode))
    return cast("IO[bytes]", path.open(mode))
