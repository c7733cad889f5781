"""Take deleted memories out of the entities that link them, however many rows that is."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import IndexStateError
from mem_opensearch.store import by_query
from mem_opensearch.store.entity_rows import links_change

if TYPE_CHECKING:
    from collections.abc import Iterable

    from mem_opensearch.client import SearchClient

ENTITIES_SUFFIX = "_entities"
"""What the name of an entity collection adds to that of its memories."""

IDS = 10_000  # of one request; the server takes 65,536 terms
PAGE = 100  # rows that the server holds at once: one may have many thousand links


def unlink_memories(client: SearchClient, entity_alias: str, ids: Iterable[str]) -> None:
    """Remove memories from every entity that links them; an entity with no other link goes.

    One update-by-query for up to 10,000 ids. A refresh precedes it, so that a link is found which another process made
    a moment ago; where there is no such collection, that is all that is sent.

    Args:
        client: the server.
        entity_alias: the entity collection.
        ids: ids of memories; those that nothing links are no error.

    Raises:
        BackendError: the server failed, or rows changed faster than they could be written; what was removed is
            removed, and a second call removes the rest.
    """
    if not client.dialect.has_update_by_query:  # `EntityCollection` refuses such a server, so there are no rows
        return
    remaining = iter(dict.fromkeys(ids))
    while chunk := list(islice(remaining, IDS)):
        body = {"query": {"terms": {"memory_ids": chunk}}, "script": links_change(remove=chunk, many=True)}
        try:
            client.request("POST", path_of(entity_alias, "_refresh"))
            by_query.settle(
                client,
                entity_alias,
                "_update_by_query",
                body,
                size=PAGE,
                is_done=lambda answer: not answer["version_conflicts"] and not answer["timed_out"],
            )
        except IndexStateError:  # there is no such collection; another process may make one, so it is not remembered
            return
