"""Create the index of a collection, or check the one that is there."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from mem_opensearch.client.encoding import path_of
from mem_opensearch.client.failures import from_shape
from mem_opensearch.errors import ConfigError, IndexStateError
from mem_opensearch.index.background import read_background
from mem_opensearch.index.dictionary import (
    dictionary_difference,
    fit_to_dictionary,
    refuse_other_dictionary,
    refuse_useless_dictionary,
    unknown_sentence,
    unknown_words,
    useless_dictionary,
)
from mem_opensearch.index.live import leftover_notes, live_differences
from mem_opensearch.index.names import SCHEMA, index_name, template_name
from mem_opensearch.index.probe import probe_server
from mem_opensearch.index.templates import META_KEY, render_templates
from mem_opensearch.index.wanted import Plan, WantedIndex
from mem_opensearch.models import IndexSpec, ServerFacts
from mem_opensearch.profiles import word_field

if TYPE_CHECKING:
    from mem_opensearch.client import SearchClient

_BAD_REQUEST = 400
_NOT_FOUND = 404


def ensure_index(client: SearchClient, wanted: WantedIndex) -> IndexSpec:
    """Create the collection's index if it is missing, check it if it is there; return how it is made.

    Safe when several processes do it at once: the server makes an index once, and the others find it.

    Raises:
        IndexStateError: the index is there and is not as wanted, or its words come from other dictionaries.
        ConfigError: the server can't do what was asked for.
    """
    spec = find_index(client, wanted)
    if spec is None:
        _create(client, choose_spec(wanted, fit_to_dictionary(client, probe_server(client), wanted)))
        spec = find_index(client, wanted)  # what the server made, not what we think we sent
    if spec is not None:
        refuse_other_dictionary(spec, wanted.dictionary)
    else:
        raise IndexStateError(
            f"index '{index_name(wanted.collection)}' is there without its alias '{wanted.collection}', or is being "
            "deleted by something else; delete that index or give it the alias"
        )
    return spec


def find_index(client: SearchClient, wanted: WantedIndex) -> IndexSpec | None:
    """Return how the collection's index is made, or None when there is none; nothing is written.

    Raises:
        IndexStateError: the index is there and is not as wanted.
    """
    found = read_spec(client, wanted.collection)
    if found is None:
        return None
    spec, wrong = found
    if differences := (*wrong, *_differences(spec, wanted)):
        raise IndexStateError("; ".join(differences))
    return spec


def plan_index(client: SearchClient, wanted: WantedIndex) -> Plan:
    """Return what is there, or what would be made; nothing is written.

    Raises:
        IndexStateError: the name belongs to something that this package did not make.
        ConfigError: the server can't do what was asked for.
    """
    found = read_spec(client, wanted.collection)
    if found is None:
        facts = probe_server(client)
        spec = choose_spec(wanted, fit_to_dictionary(client, facts, wanted))
        return Plan(spec=spec, exists=False, facts=facts)
    spec, wrong = found
    differences = [*wrong, *_differences(spec, wanted)]
    if changed := dictionary_difference(spec, wanted.dictionary):
        differences.append(changed)
    if spec.profile == "ik" and wanted.dictionary and (unknown := unknown_words(client, wanted.dictionary)):
        differences.append(unknown_sentence(unknown))
    differences += template_differences(client, _to_render(spec, wanted))
    differences += live_differences(client, _to_render(spec, wanted), replicas=wanted.replicas)
    notes = tuple(leftover_notes(client, wanted.collection))
    return Plan(spec=spec, exists=True, differences=tuple(differences), notes=notes)


def apply_plan(client: SearchClient, wanted: WantedIndex) -> IndexSpec:
    """Make or check the index as `ensure_index` does, and put its templates again if they are missing or differ."""
    spec = ensure_index(client, wanted)
    if template_differences(client, _to_render(spec, wanted)):
        put_templates(client, _to_render(spec, wanted))
    return spec


def template_differences(client: SearchClient, spec: IndexSpec) -> list[str]:
    """Return what is not as wanted about a collection's templates, one sentence each.

    The templates are not used while the index stands; they are what its next generation would be made from.
    """
    templates = render_templates(spec, client.dialect)
    found = []
    name = template_name(spec.collection)
    live = client.request("GET", path_of("_index_template", name), accept=(_NOT_FOUND,))
    if live.get("status") == _NOT_FOUND:
        found.append(f"index template '{name}' is missing; run: python -m mem_opensearch.init")
    else:
        template = live["index_templates"][0]["index_template"]
        same = template.get("composed_of") == templates.index["composed_of"] and (
            template.get("template", {}).get("mappings") == templates.index["template"]["mappings"]
        )
        if not same:
            found.append(f"index template '{name}' is not as this release makes it; run: python -m mem_opensearch.init")
    component = client.request("HEAD", path_of("_component_template", templates.component_name))
    if not component["exists"]:
        found.append(f"template '{templates.component_name}' is missing; run: python -m mem_opensearch.init")
    return found


def _to_render(spec: IndexSpec, wanted: WantedIndex) -> IndexSpec:
    """Return the spec of an existing index with the shard counts that a new generation would get."""
    return replace(spec, shards=wanted.shards, replicas=wanted.replicas or 0)


def read_spec(client: SearchClient, collection: str) -> tuple[IndexSpec, tuple[str, ...]] | None:
    """Return how a collection's index is made and what is wrong with it, or None when there is none.

    Raises:
        IndexStateError: the name belongs to an index that this package did not make.
    """
    answer = client.request("GET", path_of(collection, "_mapping"), accept=(_NOT_FOUND,))
    if answer.get("status") == _NOT_FOUND and answer["error"]:
        return None
    if not answer or not all(isinstance(each, dict) and "mappings" in each for each in answer.values()):
        raise from_shape("no mapping is in it", action=f"GET {path_of(collection, '_mapping')}")
    name, mapping = max(answer.items())  # several generations share the alias during a move; the newest counts
    mappings = mapping["mappings"]
    meta = mappings.get("_meta", {}).get(META_KEY)
    if meta is None:
        raise IndexStateError(
            f"'{collection}' is an index that mem_opensearch did not make; choose another collection_name"
        )
    if name == collection:
        raise IndexStateError(
            f"'{collection}' is a bare index where an alias belongs: a write went there after the index was deleted. "
            f"Delete it with: curl -X DELETE URL/{collection}, then run: python -m mem_opensearch.init"
        )
    spec = IndexSpec(
        collection=collection,
        kind=meta["kind"],
        dims=client.dialect.dims_of(mappings.get("properties", {}).get("vector", {})),
        profile=meta["profile"],
        engine=meta["engine"],
        dictionary=meta.get("dictionary"),
        model=meta.get("model"),
        index=name,
        background=read_background(meta),
    )
    wrong = []
    if meta.get("schema") != SCHEMA:
        wrong.append(f"index '{name}' has schema version {meta.get('schema')}, this release works with {SCHEMA}")
    return spec, tuple(wrong)


def _differences(spec: IndexSpec, wanted: WantedIndex) -> list[str]:
    name = spec.collection
    found = []
    if spec.dims != wanted.dims:
        found.append(
            f"index '{name}' holds vectors of {spec.dims} dimensions, the configuration says {wanted.dims}; use the "
            f"embedder that the index was made for, or another collection_name for the new one"
        )
    if spec.model and wanted.model and spec.model != wanted.model:
        found.append(
            f"index '{name}' holds vectors of the model '{spec.model}', the configuration says '{wanted.model}': their "
            "vectors can't be compared; use that embedder, or another collection_name for the new one"
        )
    if spec.kind != wanted.kind:
        found.append(f"index '{name}' holds {spec.kind}, the configuration says {wanted.kind}; set kind={spec.kind}")
    if wanted.profile is not None and spec.profile != wanted.profile:
        found.append(
            f"index '{name}' is analysed by '{spec.profile}', the configuration says '{wanted.profile}'; "
            f"set analyzer={spec.profile} or auto"
        )
    if wanted.engine is not None and spec.engine != wanted.engine:
        found.append(
            f"index '{name}' uses the kNN engine '{spec.engine}', the configuration says '{wanted.engine}'; "
            f"set knn_engine={spec.engine} or auto"
        )
    if useless := useless_dictionary(spec, wanted.dictionary):
        found.append(useless)
    return found


def choose_spec(wanted: WantedIndex, facts: ServerFacts) -> IndexSpec:
    """Return the best index that the server can hold within what is wanted."""
    refuse_useless_dictionary(wanted)
    if wanted.profile is not None and wanted.profile not in facts.profiles:
        raise ConfigError(
            f"analyzer '{wanted.profile}' is not installed on the server, which has: {', '.join(facts.profiles)}; "
            "use one of those, or auto"
        )
    if wanted.dims > facts.max_dims:
        raise ConfigError(
            f"the server indexes vectors of up to {facts.max_dims:,} dimensions, not {wanted.dims:,}; use an embedder "
            "with shorter ones"
        )
    # lucene works on every server and takes the filter into the graph walk.
    engine = wanted.engine or ("lucene" if "lucene" in facts.engines else "faiss")
    if engine not in facts.engines:
        why = (
            "needs a native library that a node of this server lacks: the first write would kill that node"
            if facts.distribution == "opensearch"
            else f"is none of {facts.distribution}'s"
        )
        raise ConfigError(
            f"kNN engine '{engine}' {why}. It has: {', '.join(sorted(facts.engines))}; use one of those, or auto"
        )
    profile = wanted.profile or facts.profiles[0]
    return IndexSpec(
        collection=wanted.collection,
        kind=wanted.kind,
        dims=wanted.dims,
        profile=profile,
        engine=engine,
        shards=wanted.shards,
        replicas=min(1, facts.data_nodes - 1) if wanted.replicas is None else wanted.replicas,
        dictionary=word_field(profile, wanted.dictionary).fingerprint,
        model=wanted.model,
    )


def put_templates(client: SearchClient, spec: IndexSpec) -> None:
    """Send both templates of a collection; the server replaces what it has under their names."""
    templates = render_templates(spec, client.dialect)
    client.request("PUT", path_of("_component_template", templates.component_name), body=templates.component)
    client.request("PUT", path_of("_index_template", template_name(spec.collection)), body=templates.index)


def _create(client: SearchClient, spec: IndexSpec) -> None:
    put_templates(client, spec)
    answer = client.request(
        "PUT",
        path_of(index_name(spec.collection)),
        body={"aliases": {spec.collection: {"is_write_index": True}}},
        accept=(_BAD_REQUEST,),
    )
    if answer.get("status") == _BAD_REQUEST:
        kind = answer.get("error", {}).get("type")
        if kind != "resource_already_exists_exception":
            reason = answer.get("error", {}).get("reason")
            raise IndexStateError(f"index '{index_name(spec.collection)}' can't be made: {kind}: {reason}")
