"""Name the indices, aliases and templates of a collection."""

from __future__ import annotations

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


def template_name(collection: str) -> str:
    """Return the name of a collection's index template."""
    return f"{PREFIX}-{collection}"


def component_name(profile: str, fold: str) -> str:
    """Return the name of the common component, shared by all collections that are analysed alike."""
    return f"{PREFIX}-v{SCHEMA}-{profile}-{fold}"
