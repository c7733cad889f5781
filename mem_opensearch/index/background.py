"""Keep with an index what its embedder gives for unrelated texts, so that it is measured once."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import path_of
from mem_opensearch.index.templates import META_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.client import SearchClient

_KEY = "background"


def read_background(meta: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return mean and deviation as an index's `_meta` has them; None where it has none, or nothing that makes sense."""
    found = meta.get(_KEY)
    if not isinstance(found, dict):
        return None
    mean, deviation = found.get("mean"), found.get("deviation")
    if not all(isinstance(each, int | float) and math.isfinite(each) for each in (mean, deviation)):
        return None
    return float(mean), float(deviation)  # type: ignore[arg-type] # checked above


def keep_background(client: SearchClient, index: str, *, mean: float, deviation: float) -> None:
    """Write mean and deviation into the `_meta` of an index, beside what it has.

    Two processes that do so at once write the same numbers.

    Raises:
        BackendError: the server failed.
    """
    path = path_of(index, "_mapping")
    (about,) = client.request("GET", path).values()
    meta = about["mappings"].get("_meta", {})
    ours = meta.get(META_KEY, {}) | {_KEY: {"mean": mean, "deviation": deviation}}
    client.request("PUT", path, body={"_meta": meta | {META_KEY: ours}})
