"""Say in sentences how an index that exists differs from what its templates would make today."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import path_of
from mem_opensearch.errors import IndexStateError
from mem_opensearch.index.generations import list_generations
from mem_opensearch.index.templates import render_templates

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from mem_opensearch.client import SearchClient
    from mem_opensearch.index.generations import Generations
    from mem_opensearch.models import IndexSpec

_SHOWN = 60  # characters of a value in a sentence; a fold table has 60,000
_ROLL = "python -m mem_opensearch.init --collection {} --roll"


def live_differences(client: SearchClient, spec: IndexSpec, *, replicas: int | None) -> list[str]:
    """Return what is not as wanted about a collection's live index, one sentence each.

    Args:
        client: the server.
        spec: how the index was made, with what of it the templates need.
        replicas: copies per shard that the configuration asks for; None leaves it to the number of nodes.
    """
    generations = list_generations(client, spec.collection)
    try:
        index = generations.live.name
    except IndexStateError as error:
        return [str(error)]
    about = client.request("GET", path_of(index))[index]
    templates = render_templates(spec, client.dialect)
    parts = (templates.component["template"], templates.index["template"])
    wanted: dict[str, Any] = {}
    for part in parts:
        wanted |= dict(_leaves("field ", part["mappings"].get("properties", {})))
        wanted |= dict(_leaves("analysis ", part["settings"].get("analysis", {})))
    live = dict(_leaves("field ", about["mappings"].get("properties", {})))
    live |= dict(_leaves("analysis ", about["settings"]["index"].get("analysis", {})))
    found = [
        f"index '{index}': {where} is {_show(live.get(where))}, this release wants {_show(value)}"
        for where, value in wanted.items()
        if _plain(live.get(where)) != _plain(value)
    ]
    unknown = {where.split(".")[0] for where in live} - {where.split(".")[0] for where in wanted}
    found += [f"index '{index}': {where} is not one of this release's" for where in sorted(unknown)]
    if found:
        found.append(f"an index can't change these in place; run: {_ROLL.format(spec.collection)}")
    found += _replica_differences(client, index, about["settings"]["index"], replicas)
    return found + _roll_differences(generations)


def leftover_notes(client: SearchClient, collection: str) -> list[str]:
    """Return what rolls of `collection` have left on the server, one sentence each; nothing is wrong with it."""
    return [
        f"old index '{each.name}' is still there; delete it with: python -m mem_opensearch.init --collection "
        f"{collection} --drop-old"
        for each in list_generations(client, collection).old
    ]


def _roll_differences(generations: Generations) -> list[str]:
    command = _ROLL.format(generations.collection)
    unfinished = generations.unfinished
    found = []
    if unfinished is not None:
        found.append(f"a roll into '{unfinished.name}' is under way or was interrupted; to finish it run: {command}")
    if generations.live.write_blocked:
        mend = command if unfinished else f'PUT /{generations.live.name}/_settings {{"index.blocks.write": null}}'
        found.append(f"index '{generations.live.name}' refuses writes (index.blocks.write); to mend: {mend}")
    return found


def _replica_differences(
    client: SearchClient, index: str, settings: Mapping[str, Any], replicas: int | None
) -> list[str]:
    if not client.dialect.has_cluster:
        return []
    live = int(settings.get("number_of_replicas", 0))
    nodes = int(client.request("GET", path_of("_cluster", "health"))["number_of_data_nodes"])
    wanted = min(1, nodes - 1) if replicas is None else replicas
    mend = f'PUT /{index}/_settings {{"index.number_of_replicas": {wanted}}}'
    if live >= nodes:
        why = "a copy of a shard needs a node of its own, so some are never placed"
        return [f"index '{index}' has {live} replicas and the server {nodes} data nodes: {why}; add nodes, or: {mend}"]
    if live != wanted and (replicas is not None or live < wanted):
        return [f"index '{index}' has {live} replicas, {wanted} wanted ({nodes} data nodes); to mend: {mend}"]
    return []


def _leaves(prefix: str, node: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in node.items():
        # What separates fields of a field from its options is noise in a sentence.
        where = prefix if key in {"properties", "fields"} else f"{prefix}{key}"
        if isinstance(value, dict):
            yield from _leaves(where if where == prefix else f"{where}.", value)
        else:
            yield where, value


def _plain(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """Return a value as the server writes it: settings are strings, mappings are not."""
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return str(value).lower()
    return str(value)


def _show(value: Any) -> str:  # noqa: ANN401 - any JSON
    if value is None:
        return "missing"
    text = repr(_plain(value))
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}... ({len(text):,} characters)"
