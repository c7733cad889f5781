"""Take out of a server's words what it repeats of the request: a memory's text, or a header that says who asks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterator

LEFT_OUT: Final = "..."
_NAMES: Final = frozenset(
    {"_id", "_index", "index", "field", "fields", "path", "lang", "tokenizer", "analyzer", "format", "type", "name"}
)
_KEPT: Final = frozenset({"_id", "_index", "index", "index_uuid", "node", "type", "resource.id", "resource.type"})
_LONG_ENOUGH: Final = 8  # letters in a row; two texts in European languages share fewer than that only by being one
_LONG_ENOUGH_IN_CHINESE: Final = 3
_LOOKED_AT: Final = 200_000  # characters of the request; a server quotes one value, and most often the first
_SAID: Final = 600  # characters of one reason; messages show fewer
_CREDENTIALS: Final = re.compile(r"(?i)((?:authorization|x-amz-security-token)\b['\"]?\s*[:=]\s*['\"]?)[^'\"\n,}<]+")
"""Headers on a proxy's page that shows the request."""
_QUOTED: Final = re.compile(r"""(?<=[\['"(])[^\]'"()\[]{2,80}(?=[\]'")])""")


def cleaned(info: object, sent: bytes | None) -> object:
    """Return a decoded error answer, its reasons `without_echo` and without credentials.

    Args:
        info: the answer, or one item of a bulk answer.
        sent: the body of the request, or that item's part of it.
    """
    if isinstance(info, str):
        return _CREDENTIALS.sub(rf"\1{LEFT_OUT}", without_echo(info[:_SAID], sent))
    if isinstance(info, dict):
        return {key: inner if key in _KEPT else cleaned(inner, sent) for key, inner in info.items()}
    if isinstance(info, list):
        return [cleaned(inner, sent) for inner in info]
    return info


def without_echo(said: str, sent: bytes | None) -> str:
    """Return what a server said, without the pieces that come from values in the request.

    Names of fields and ids stay. A piece is taken out when it is a whole value in quotes or brackets, or 8 letters of a
    value in a row (3, if one of them is not ASCII).

    Args:
        said: the server's words.
        sent: the body of the request: JSON, or lines of it.

    >>> without_echo("bad date [我住在臺北] of [created]", '{"created": "我住在臺北"}'.encode())
    'bad date [...] of [created]'
    """
    if not sent or not said:
        return said
    values = list(_values(sent))
    whole = set(values)
    said = _QUOTED.sub(lambda found: LEFT_OUT if found[0] in whole else found[0], said)
    text = "\n".join(values)[:_LOOKED_AT]
    echoed = [False] * len(said)
    for start in range(len(said)):
        for length in (_LONG_ENOUGH_IN_CHINESE, _LONG_ENOUGH):
            piece = said[start : start + length]
            if len(piece) == length and (length == _LONG_ENOUGH or not piece.isascii()) and piece in text:
                echoed[start : start + length] = [True] * length
    return "".join(_kept(said, echoed))


def _kept(said: str, echoed: list[bool]) -> Iterator[str]:
    before = False
    for character, taken in zip(said, echoed, strict=True):
        if not taken:
            yield character
        elif not before:
            yield LEFT_OUT
        before = taken


def _values(sent: bytes) -> Iterator[str]:
    """Yield the strings of the request that are no names."""
    try:
        yield from _strings(orjson.loads(sent))
    except orjson.JSONDecodeError:
        for line in sent.splitlines():
            try:
                yield from _strings(orjson.loads(line))
            except orjson.JSONDecodeError:
                yield line.decode(errors="replace")


def _strings(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            if isinstance(key, str) and not key.isascii():  # of the user's metadata
                yield key
            if key not in _NAMES:
                yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)
