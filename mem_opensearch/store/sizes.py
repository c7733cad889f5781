"""Refuse a row that is larger than the server takes, before anything is sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mem_opensearch.client.encoding import encode
from mem_opensearch.errors import InvalidInputError

MAX_STRING = 50_000_000  # characters of one JSON string, the server's own limit
_ENVELOPE = 2000  # bytes around a row: the action with its id, or the script of an update


def check_size(fields: Mapping[str, Any], *, dims: int, most: int, row_id: str) -> None:
    """Refuse a row, as `documents.build_row` made it, that would not fit into one request.

    Args:
        fields: what is indexed, without the vector.
        dims: length of the vector.
        most: bytes of the largest request.
        row_id: whose row it is, for the message.

    Raises:
        InvalidInputError: it is too large, or holds a string that is.
    """
    payload = len(encode(fields["payload"]))
    if payload > MAX_STRING and longest_string(fields["payload"]) > MAX_STRING:
        raise InvalidInputError(
            f"payload of '{row_id}' holds a string of more than {MAX_STRING:,} characters, which the server's JSON "
            "parser refuses"
        )
    words = 2 * len(fields["text"].encode())  # those that the client makes are not twice the text
    facts = sum(len(fact["k"]) + len(fact.get("s", "")) for fact in fields["facts"])
    # What it takes at most, without encoding all of it: six bytes for a character, 32 for a number.
    if 4 * payload + words + 6 * facts + 32 * dims + _ENVELOPE <= most:
        return
    size = len(encode(fields)) + words + 32 * dims + _ENVELOPE
    if size > most:
        raise InvalidInputError(
            f"'{row_id}' takes {size:,} bytes with its payload and indexed values; the server takes {most:,} in one "
            "request (max_request_bytes, which is the server's http.max_content_length)"
        )


def longest_string(value: object) -> int:
    """Return the length of the longest string in a JSON value.

    >>> longest_string({"a": ["bc", {"d": "efg"}], "h": 4})
    3
    """
    if isinstance(value, str):
        return len(value)
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return max(map(longest_string, items), default=0)
