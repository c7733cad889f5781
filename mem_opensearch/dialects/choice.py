"""Tell a server's dialect by what it says of itself."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from mem_opensearch.dialects.aoss import ServerlessDialect
from mem_opensearch.dialects.elasticsearch import ElasticsearchDialect
from mem_opensearch.dialects.opensearch import OpenSearchDialect
from mem_opensearch.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.dialects.base import Dialect
    from mem_opensearch.models import Engine, Version

_BY_NAME: Mapping[str, type[Dialect]] = {
    each.name: each for each in (OpenSearchDialect, ElasticsearchDialect, ServerlessDialect)
}
_UNKNOWN_VERSION: Mapping[str, Version] = {"opensearch": (3, 0, 0), "elasticsearch": (9, 0, 0), "aoss": (3, 0, 0)}
"""What a server is taken for that does not say its version."""

SUPPORTED = (
    " or ".join(f"{each.title} {each.oldest[0]}.{each.oldest[1]}" for each in (OpenSearchDialect, ElasticsearchDialect))
    + f" and later, and with {ServerlessDialect.title}"
)
"""The servers that this release works with, for sentences."""


def choose_dialect(about: Mapping[str, Any], *, engine: Engine | None = None) -> Dialect:
    """Return the dialect of a server.

    Args:
        about: its answer to ``GET /``; empty where it does not answer that.
        engine: what the configuration says that it is; None when it says nothing. A server that does not tell is then
            taken for OpenSearch.

    Raises:
        ConfigError: it is another than the configuration says, or none that is known here.

    >>> choose_dialect({"version": {"number": "8.15.3"}}).name
    'elasticsearch'
    """
    said = about.get("version")
    if not isinstance(said, dict) or "number" not in said:
        name = engine or "opensearch"
        return _BY_NAME[name](_UNKNOWN_VERSION[name])
    distribution, number = str(said.get("distribution", "elasticsearch")), str(said["number"])
    if (engine, distribution) == ("aoss", "opensearch"):
        return ServerlessDialect(version_of(number))  # which is OpenSearch, and may say so
    if distribution not in _BY_NAME:
        raise ConfigError(f"the server is {distribution} {number}; this release works with {SUPPORTED}")
    if engine is not None and engine != distribution:
        raise ConfigError(
            f"engine is '{engine}', but the server is {distribution} {number}; set engine={distribution} or auto, or "
            "give the 'url' of another server"
        )
    return _BY_NAME[distribution](version_of(number))


def version_of(number: str) -> Version:
    """Return major, minor and patch of a version in writing.

    >>> version_of("9.2-SNAPSHOT")
    (9, 2, 0)
    """
    parts = [int(part) for part in re.findall(r"\d+", number)[:3]]
    return (*parts, 0, 0, 0)[:3]  # type: ignore[return-value]  # three items by construction
