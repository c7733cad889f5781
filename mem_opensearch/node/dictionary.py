"""Give the user's words to IK."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from mem_opensearch.errors import ConfigError
from mem_opensearch.node.places import cache_folder
from mem_opensearch.text import fold
from mem_opensearch.text.dictionary import read_lines

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from mem_opensearch.text import UserDictionary


def read_words(path: Path) -> list[str]:
    """The words of a file: UTF-8, one a line; empty lines and lines that begin with ``#`` are left out.

    Raises:
        ConfigError: when the file is missing, unreadable or not UTF-8; names the file and the line.
    """
    return [word for _, word in read_lines(path)]


def with_folded(words: Iterable[str]) -> list[str]:
    """The words and, where it differs, their folded form; each once, in order.

    Our analysers fold the text before IK sees it, so a word in traditional or full-width characters alone would never
    be found; other users of the node may not fold.

    >>> with_folded(["裴若谷", "專案代號"])
    ['裴若谷', '專案代號', '专案代号']
    """
    return list(dict.fromkeys(form for word in words for form in (word, fold(word))))


def keep_words(dictionary: UserDictionary) -> Path:
    """Write a list of words to a file of the cache folder, named by its content; return the file.

    Raises:
        ConfigError: it can't be written.
    """
    file = cache_folder() / "dictionaries" / f"{dictionary.fingerprint}.txt"
    fresh = file.with_suffix(f".{os.getpid()}.new")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh.write_text("".join(f"{word}\n" for word in dictionary.words), encoding="utf-8")
        fresh.replace(file)
    except OSError as error:
        raise ConfigError(
            f"dictionary: its words can't be written to {file} for the local node: {error.strerror}; give a file"
        ) from error
    return file
