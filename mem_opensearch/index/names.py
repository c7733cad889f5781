"""Name the indices, aliases and templates of a collection."""

from __future__ import annotations

import re

SCHEMA = 1
"""Version of the mappings; an index of another version is refused until it is rolled over."""

PREFIX = "mem-opensearch"
"""Every template that this package puts on a server starts with it."""


def index_pattern(collection: str) -> str:
    """Return the pattern of all concrete indices of a collection."""
    return f"{collection}-v{SCHEMA}-*"


def index_name(collection: str, generation: int = 1) -> str:
    """Return the concrete index behind the alias `collection`.

    >>> index_name("memories")
    'memories-v1-000001'
    """
    return f"{collection}-v{SCHEMA}-{generation:06d}"


def generation_number(collection: str, index: str) -> int | None:
    """Return which generation of `collection` an index is, or None when it belongs to something else.

    >>> generation_number("a", "a-v1-000012"), generation_number("a", "a-v1-b-v1-000001")
    (12, None)
    """
    found = re.fullmatch(rf"{re.escape(collection)}-v{SCHEMA}-(\d{{6,}})", index)
    return int(found[1]) if found else None


def template_name(collection: str) -> str:
    """Return the name of a collection's index template."""
    return f"{PREFIX}-{collection}"


def component_name(profile: str, fold: str) -> str:
    """Return the name of the common component, shared by all collections that are analysed alike."""
    return f"{PREFIX}-v{SCHEMA}-{profile}-{fold}"
