"""Read files of JSON lines that people write, and refuse what is wrong in them by its place."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING

import orjson

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.store.documents import check_id

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a file, with its place for messages."""

    path: Path
    number: int
    values: dict[str, object]

    def error(self, what: str) -> InvalidInputError:
        """Return the error that says what is wrong in this line."""
        return InvalidInputError(f"{self.path}, line {self.number}: {what}")

    def text(self, key: str) -> str:
        """Return the text of a key that must be there."""
        if key not in self.values:
            raise self.error(f"the key '{key}' is missing")
        value = self.values[key]
        if not isinstance(value, str) or not value.strip():
            raise self.error(f"'{key}' is {describe(value)}, expected a text that is not blank")
        return value

    def optional_text(self, key: str) -> str | None:
        """Return the text of a key, or None where there is none."""
        return None if self.values.get(key) is None else self.text(key)

    def optional_moment(self, key: str) -> str | None:
        """Return the text of a key that is a time in ISO 8601, or None."""
        text = self.optional_text(key)
        if text is not None:
            try:
                datetime.fromisoformat(text)
            except ValueError:
                raise self.error(f"'{key}' is no date in ISO 8601") from None
        return text

    def row_id(self) -> str:
        """Return the key `id`, which can be the id of a row."""
        try:
            return check_id(self.text("id"))
        except InvalidInputError as error:
            if str(self.path) in str(error):
                raise
            raise self.error(str(error)) from None

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts of a key's list, each once; none where there is no list."""
        value = self.values.get(key)
        if value is None:
            return ()
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise self.error(f"'{key}' is {describe(value)}, expected a list of texts that are not empty")
        return tuple(dict.fromkeys(value))


def read_lines(path: Path) -> Iterator[Line]:
    """Yield the lines that are not blank, as objects.

    Raises:
        InvalidInputError: the file can't be read, or a line is no JSON object.
    """
    for number, raw in raw_lines(path):
        try:
            values = orjson.loads(raw)
        except orjson.JSONDecodeError as error:
            raise InvalidInputError(f"{path}, line {number}: this is not JSON: {error}") from None
        if not isinstance(values, dict):
            raise InvalidInputError(f"{path}, line {number}: {describe(values)}, expected an object")
        yield Line(path, number, values)


def raw_lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield the lines that are not blank, with their numbers from 1.

    Raises:
        InvalidInputError: the file can't be read.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InvalidInputError(f"{path} can't be read: {error.strerror}") from error
    for number, raw in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), start=1):
        if raw.strip():
            yield number, raw


def describe(value: object) -> str:
    """Return what a value is, without its text: memories are personal data."""
    if isinstance(value, str):
        return "an empty text" if not value else "a blank text" if not value.strip() else "a text"
    names = {dict: "an object", list: "a list", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else names.get(type(value), type(value).__name__)
