"""Write JSON bodies and URL paths."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import quote

import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable


def encode(body: object) -> bytes:
    """Return `body` as JSON; numpy vectors are written without a copy to lists.

    Raises:
        TypeError: the body holds something that JSON has no form for.
    """
    return orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)


def encode_lines(bodies: Iterable[object]) -> bytes:
    """Return `bodies` as newline-delimited JSON, as `_bulk` and `_msearch` want it."""
    return b"".join(
        orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE) for body in bodies
    )


def path_of(*parts: str) -> str:
    """Return a URL path of escaped parts: ids and names are only ever data.

    >>> path_of("memories", "_doc", "a/b?c")
    '/memories/_doc/a%2Fb%3Fc'
    """
    return "/" + "/".join(quote(part, safe="") for part in parts)
