"""Choose the index that a roll fills: a new one, or the one that an interrupted roll has begun."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mem_opensearch.client.encoding import encode, path_of
from mem_opensearch.errors import ConfigError, IndexStateError
from mem_opensearch.index import copying
from mem_opensearch.index.bootstrap import choose_spec, put_templates, read_spec
from mem_opensearch.index.dictionary import fit_to_dictionary
from mem_opensearch.index.generations import ROLL_KEY, Generations, list_generations, remove_write_block
from mem_opensearch.index.lease import Lease, wait_until_dead
from mem_opensearch.index.probe import probe_server
from mem_opensearch.index.templates import META_KEY, meta_of, render_templates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from mem_opensearch.client import SearchClient
    from mem_opensearch.dialects import Dialect
    from mem_opensearch.index.wanted import WantedIndex
    from mem_opensearch.models import IndexSpec

_BAD_REQUEST, _NOT_FOUND = 400, 404


@dataclass(slots=True)
class Claim:
    """An index that this process, and no other, may fill.

    Attributes:
        client: the server.
        spec: how the index is made.
        live: name of the index that the collection is in.
        lease: keeps other processes away.
        mark: how far the copy has come: every row whose last write has a sequence number up to ``done`` is there, the
            next round goes up to ``upto``, and the one after that begins at ``low``.
        resumed: whether an interrupted roll began it.
    """

    client: SearchClient
    spec: IndexSpec
    live: str
    lease: Lease
    mark: dict[str, Any]
    resumed: bool

    @property
    def index(self) -> str:
        """Name of the index to fill."""
        return self.lease.index

    def save(self, **values: int) -> None:
        """Note in the index how far the copy has come."""
        self.mark.update(values)
        self._write(meta_of(self.spec) | {ROLL_KEY: self.mark})

    def erase_mark(self) -> None:
        """Make the index one like any other."""
        self._write(meta_of(self.spec))

    def _write(self, meta: Mapping[str, Any]) -> None:
        self.client.request("PUT", path_of(self.index, "_mapping"), body={"_meta": {META_KEY: meta}})


def claim_next(client: SearchClient, wanted: WantedIndex) -> Claim:
    """Return the index to fill, made if it has to be.

    Raises:
        IndexStateError: there is no such collection, another process rolls it, or the dimension differs.
        ConfigError: the server can't hold what is wanted, or copies no index.
    """
    if not client.dialect.has_cluster:
        raise ConfigError(
            f"{client.dialect.title} copies no index, so a collection can't be rolled there; export it, make a new "
            "collection with what is wanted, and import into that: mem-opensearch export, then import"
        )
    spec = _spec_of_next(client, wanted)
    copying.refuse_where_unsearchable(client, spec.collection)
    generations = list_generations(client, wanted.collection)
    digest = _digest(spec, client.dialect)
    found = _resume(client, generations, spec, digest)
    if found is not None:
        return found
    return _begin(client, list_generations(client, wanted.collection), spec, digest)


def _spec_of_next(client: SearchClient, wanted: WantedIndex) -> IndexSpec:
    """Return how the next generation is to be made."""
    found = read_spec(client, wanted.collection)
    if found is None:
        raise IndexStateError(
            f"there is no collection '{wanted.collection}' to roll; make it with: python -m mem_opensearch.init "
            f"--collection {wanted.collection} --dims {wanted.dims}"
        )
    spec, _ = found
    if spec.dims != wanted.dims:
        raise IndexStateError(
            f"collection '{wanted.collection}' holds vectors of {spec.dims} dimensions, and a roll keeps the vectors: "
            f"{wanted.dims} can't be made of them. For another embedder make a new collection (python -m "
            f"mem_opensearch.init --collection NEW --dims {wanted.dims}) and add the memories to it again"
        )
    if spec.model and wanted.model and spec.model != wanted.model:
        raise IndexStateError(
            f"collection '{wanted.collection}' holds vectors of the model '{spec.model}', and a roll keeps the "
            f"vectors; for '{wanted.model}' make a new collection and add the memories to it again"
        )
    if spec.kind != wanted.kind:
        raise IndexStateError(f"collection '{wanted.collection}' holds {spec.kind}, not {wanted.kind}")
    facts = probe_server(client)
    profile = wanted.profile or (spec.profile if spec.profile in facts.profiles else None)
    engine = wanted.engine or (spec.engine if spec.engine in facts.engines else None)
    wanted = replace(wanted, profile=profile, engine=engine, model=wanted.model or spec.model)
    return choose_spec(wanted, fit_to_dictionary(client, facts, wanted))


def _resume(client: SearchClient, generations: Generations, spec: IndexSpec, digest: str) -> Claim | None:
    """Take over an unfinished generation; one that can't be gone on with is removed."""
    live, unfinished = generations.live, generations.unfinished
    if unfinished is None:
        return None
    lease = Lease(client, spec.collection, unfinished.name)
    lease.take_over(wait_until_dead(client, spec.collection, unfinished.name))
    copying.wait_until_idle(client, unfinished.name, cancel=True)
    if live.write_blocked:
        remove_write_block(client, live.name)
    mark = dict(unfinished.mark or {})
    if (mark.get("source"), mark.get("digest")) == (live.uuid, digest):
        return Claim(client, spec, live.name, lease, mark, resumed=True)
    # It was begun from another index, or for other templates.
    client.request("DELETE", path_of(unfinished.name), accept=(_NOT_FOUND,))
    return None


def _begin(client: SearchClient, generations: Generations, spec: IndexSpec, digest: str) -> Claim:
    """Make the next generation."""
    live = generations.live
    put_templates(client, spec)
    lease = Lease(client, spec.collection, generations.next_name)
    start = copying.read_checkpoint(client, live.name)
    mark = {"source": live.uuid, "digest": digest, "done": -1, "upto": start.high, "low": start.low}
    answer = client.request(
        "PUT",
        path_of(lease.index),
        body={"aliases": {lease.alias: {}}, "mappings": {"_meta": {META_KEY: meta_of(spec) | {ROLL_KEY: mark}}}},
        accept=(_BAD_REQUEST,),
    )
    if answer.get("status") == _BAD_REQUEST and not lease.is_held():
        error = answer.get("error", {})
        if error.get("type") == "resource_already_exists_exception":
            raise IndexStateError(
                f"another process has just begun to roll into '{lease.index}', so this one does nothing; wait until "
                "that one is done"
            )
        raise IndexStateError(f"index '{lease.index}' can't be made: {error.get('type')}: {error.get('reason')}")
    return Claim(client, spec, live.name, lease, mark, resumed=False)


def _digest(spec: IndexSpec, dialect: Dialect) -> str:
    """Return a short name of everything that the new index is made from."""
    templates = render_templates(spec, dialect)
    return hashlib.sha256(encode([templates.component, templates.index])).hexdigest()[:16]
