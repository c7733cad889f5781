"""Know what cosines an embedder gives for nothing: measured once for each index, and kept with it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from mem_opensearch.errors import MemOpenSearchError
from mem_opensearch.fusion import PROBES, Background, background_of
from mem_opensearch.index.background import keep_background

if TYPE_CHECKING:
    from mem_opensearch.client import SearchClient
    from mem_opensearch.embed import Embedder
    from mem_opensearch.models import IndexSpec

_logger = logging.getLogger("mem_opensearch.search")


def background_for(client: SearchClient, spec: IndexSpec, embedder: Embedder | None) -> Background | None:
    """Return the background of an index; the first search with an embedder measures it.

    What can't be measured or kept is no reason to answer nothing: it is told in a warning, and the next process tries
    again. What is measured counts in this process, whether it can be kept or not.

    Returns:
        None where it is not known, and there is nothing to measure it with: then the reference embedder's is assumed.
    """
    try:
        if spec.background is not None:
            return Background(*spec.background)
        if embedder is None:
            return None
        measured = background_of([[float(number) for number in vector] for vector in embedder.embed_documents(PROBES)])
    except Exception as error:  # noqa: BLE001 - any embedder's own, as when it takes fewer texts at once
        reason = error if isinstance(error, MemOpenSearchError) else type(error).__name__
        _logger.warning("the background of '%s' is not known: %s", spec.collection, reason)
        return None
    try:
        keep_background(client, spec.index, mean=measured.mean, deviation=measured.deviation)
    except MemOpenSearchError as error:  # as for one who may only read
        _logger.warning("the background of '%s' is measured and not kept: %s", spec.collection, error)
    return measured
