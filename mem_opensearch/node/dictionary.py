"""Read the user's words for IK."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


def read_words(path: Path) -> list[str]:
    """The words of a file: UTF-8, one a line; empty lines and lines that begin with ``#`` are left out.

    Raises:
        ConfigError: when the file is missing, unreadable or not UTF-8; names the file and the line.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"dictionary {path} can't be read: {error.strerror}") from error
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError(f"dictionary {path} is not UTF-8 in line {line}; save it as UTF-8") from error
    words = (line.strip() for line in text.splitlines())
    return [word for word in words if word and not word.startswith("#")]


def with_simplified(words: Iterable[str]) -> list[str]:
    """The words and, for those in traditional characters, their simplified form; each once, in order.

    Our analysers fold the text to simplified characters before IK sees it, so a traditional word alone would never
    be found.

    >>> with_simplified(["裴若谷", "專案代號"])
    ['裴若谷', '專案代號', '专案代号']
    """
    import opencc

    simplify = opencc.OpenCC("t2s").convert
    return list(dict.fromkeys(form for word in words for form in (word, simplify(word))))
