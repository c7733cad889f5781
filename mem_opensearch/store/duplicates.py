"""Recognise a text that a scope already holds, however its characters are written."""

from __future__ import annotations

import hashlib
import uuid
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import orjson

from mem_opensearch import forks
from mem_opensearch.models import IDENTITY_FIELDS
from mem_opensearch.store.documents import TEXT_KEY
from mem_opensearch.text import fold

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from mem_opensearch.models import Clause

# A fact of its own, so no mapping is needed for it. A filter can't name it: keys that begin with "$" are operators.
KEY_FACT = "$content"
_NAMES = uuid.UUID("5b0c5a0e-3c57-4b7e-9d2c-5f0f4f6f7a51")  # at random once; part of every id that is made of a text
# One lock for each part of the keys: two threads that store the same text wait for each other, others hardly do.
_LOCKS = [forks.Lock() for _ in range(64)]


def content_key(payload: Mapping[str, Any]) -> str | None:
    """Return the same 32 hex digits for the same text of the same user, agent and run; None where there is no text.

    Simplified and traditional, full and half width, and blanks around the text make no difference; case does.

    >>> content_key({"data": "臺北 ＰＸ－４４１"}) == content_key({"data": "台北 PX-441 "})
    True
    >>> content_key({"data": "台北", "user_id": "u1"}) == content_key({"data": "台北", "user_id": "u2"})
    False
    """
    text = payload.get(TEXT_KEY)
    if not isinstance(text, str) or not (folded := fold(text).strip()):
        return None
    parts = [*(payload.get(name) for name in IDENTITY_FIELDS), folded]
    return hashlib.sha256(orjson.dumps(parts)).hexdigest()[:32]


def id_of_key(key: str) -> str:
    """Return the id of a row that was given none: the same text gets the same id in every process."""
    return str(uuid.uuid5(_NAMES, key))


def having_keys(keys: Sequence[str]) -> Clause:
    """Return the clause for rows that were stored with one of `keys`."""
    inside = [{"term": {"facts.k": KEY_FACT}}, {"terms": {"facts.s": list(keys)}}]
    return {"nested": {"path": "facts", "query": {"bool": {"filter": inside}}}}


@contextmanager
def alone_with(keys: Iterable[str]) -> Iterator[None]:
    """Let no other thread of this process into such a block with one of `keys`."""
    with ExitStack() as held:
        for number in sorted({int(key[:8], 16) % len(_LOCKS) for key in keys}):  # in one order: no deadlock
            held.enter_context(_LOCKS[number])
        yield
