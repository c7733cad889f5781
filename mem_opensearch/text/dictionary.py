"""Read the user's words: names and products that no general dictionary has."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mem_opensearch.errors import ConfigError
from mem_opensearch.text.fold import fold

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Sequence

MAX_WORD = 50  # characters; a longer entry is a sentence that somebody pasted, and it would slow down every look-up


@dataclass(frozen=True, slots=True)
class UserDictionary:
    """The user's words as the analysis sees them. Made by `load_dictionary`.

    Attributes:
        words: folded, in lower case, each once, sorted.
        fingerprint: changes when, and only when, a word comes or goes; the order and the script of the source don't
            matter.
    """

    words: tuple[str, ...] = field(compare=False)
    fingerprint: str

    def __repr__(self) -> str:
        return f"UserDictionary({len(self.words)} words, {self.fingerprint})"


def load_dictionary(source: str | os.PathLike[str] | Sequence[str]) -> UserDictionary:
    """Return the words of a file or of a list.

    Args:
        source: path of a UTF-8 file, one word a line, where empty lines and those that begin with ``#`` are left out;
            or the words themselves.

    Raises:
        ConfigError: names the file and the line, or the position in the list, and what is wrong there.

    >>> load_dictionary(["裴若谷", "專案代號", "专案代号"]).words
    ('专案代号', '裴若谷')
    """
    if isinstance(source, list | tuple):
        name = "dictionary"
        entries = [(f"word {number}", word) for number, word in enumerate(source, start=1)]
    else:
        path = Path(source).expanduser()  # type: ignore[arg-type]  # lists are handled above
        name = f"dictionary {path}"
        entries = [(f"line {number}", word) for number, word in read_lines(path)]
    if not entries:
        raise ConfigError(f"{name} holds no word; write one a line, or leave the option out")
    words = tuple(sorted({_checked(word, where=f"{name}, {place}") for place, word in entries}))
    return UserDictionary(words, fingerprint_of(words))


def fingerprint_of(parts: Iterable[str]) -> str:
    """Return a short hash of `parts`, in their order."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:12]


def read_lines(path: Path) -> list[tuple[int, str]]:
    """Return the words of a file with their line numbers, as they are written there.

    Raises:
        ConfigError: the file is missing, unreadable or not UTF-8; names the file and the line.
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
    lines = ((number, line.strip()) for number, line in enumerate(text.splitlines(), start=1))
    return [(number, line) for number, line in lines if line and not line.startswith("#")]


def _checked(word: object, *, where: str) -> str:
    if not isinstance(word, str):
        raise ConfigError(f"{where}: {type(word).__name__} is no word; give strings")
    folded = fold(word).strip().lower()
    if not any(character.isalnum() for character in folded):
        raise ConfigError(f"{where}: this holds no letter, digit or ideograph; write a word or remove it")
    if len(folded.split()) > 1:
        raise ConfigError(f"{where}: a word holds no blank; write one word a line, without frequency or tag")
    if len(folded) > MAX_WORD:
        raise ConfigError(f"{where}: {len(folded)} characters are more than the {MAX_WORD} that a word may have")
    if not folded.isprintable():
        raise ConfigError(f"{where}: this holds a control character; remove it")
    return folded
