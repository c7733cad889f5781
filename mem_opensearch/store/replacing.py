"""Find which stored memories new ones replace, and say so in them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.client.encoding import encode_lines
from mem_opensearch.store.annotations import moment_of, scope_of, text_hash
from mem_opensearch.store.bulk import Line
from mem_opensearch.store.places import exactly, instant
from mem_opensearch.temporal import NEIGHBOURS, Statement, find_superseded

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from mem_opensearch.dialects import Dialect

MOST_LINKS: Final = 3
"""Newer memories that an old one names; the strongest, so that one is left when another is deleted."""

RETRIES: Final = 20
"""Times that the server tries an update again when it meets another one of the same row."""

_SCRIPT = """
def links = ctx._source.superseded_by == null ? new ArrayList() : ctx._source.superseded_by;
def old = new ArrayList(links);
links.removeIf(link -> link.id == params.link.id);
links.add(params.link);
links.sort((one, other) -> Double.compare(other.score, one.score));
while (links.size() > params.most) { links.remove(links.size() - 1); }
if (old == links) { ctx.op = 'none'; return; }
ctx._source.superseded_by = links;
"""


@dataclass(frozen=True, slots=True)
class Replaced:
    """An old memory that a newer one replaces.

    Attributes:
        old: its id.
        text: what it says.
        link: what is noted with it: id of the newer one, a hash of its text, what both speak about, and how sure it is.
        links: what was noted with it before.
    """

    old: str
    text: str
    link: Mapping[str, Any]
    links: Sequence[Mapping[str, Any]]

    def added_to(self, links: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Return links with this one, the surest first."""
        others = [link for link in links if link["id"] != self.link["id"]]
        return sorted([*others, self.link], key=lambda link: -link["score"])[:MOST_LINKS]

    def line(self) -> Line:
        """Return the bulk item that adds the link to those that are there."""
        script = {"lang": "painless", "source": _SCRIPT, "params": {"link": self.link, "most": MOST_LINKS}}
        action = {"update": {"_id": self.old, "retry_on_conflict": RETRIES}}
        return Line(self.old, encode_lines([action, {"script": script}]))


def links_of(replaced: Iterable[Replaced]) -> dict[str, dict[str, Any]]:
    """Return id -> fields of the old memories, where the server can't add to what is there."""
    links: dict[str, Sequence[Mapping[str, Any]]] = {}
    for each in replaced:
        links[each.old] = each.added_to(links.get(each.old, each.links))
    return {row_id: {"superseded_by": list(them)} for row_id, them in links.items()}


def older_neighbours(fields: Mapping[str, Any], *, dialect: Dialect) -> dict[str, Any]:
    """Return the body of the search for the memories of the same scope that are nearest to a row, and older."""
    clauses = [*exactly(scope_of(fields)), {"range": {"created_at": {"lt": instant(fields)}}}]
    return {
        "size": NEIGHBOURS,
        "query": dialect.knn(fields["vector"], k=max(NEIGHBOURS, 100), filters=clauses),
        "_source": ["id", "written_at", "text", "created_at", "superseded_by"],
        "track_total_hits": False,
    }


def replaced_by(
    fields: Mapping[str, Any], found: Sequence[tuple[str, Mapping[str, Any]]], *, dialect: Dialect
) -> list[Replaced]:
    """Return what a row replaces among its older neighbours."""
    said_at = moment_of(fields["created_at"])
    if said_at is None:
        return []
    neighbours, sources = [], {}
    for row_id, hit in found[:NEIGHBOURS]:
        source = hit["_source"]
        then = moment_of(source.get("created_at"))
        if row_id != fields["id"] and then is not None:
            neighbours.append((Statement(row_id, source.get("text") or "", then), dialect.cosine_of(hit["_score"])))
            sources[row_id] = source
    evidence = find_superseded(Statement(fields["id"], fields["text"], said_at), neighbours)
    return [
        Replaced(
            old=each.older,
            text=sources[each.older].get("text") or "",
            link={
                "id": fields["id"],
                "text": text_hash(fields["text"]),
                "slots": list(each.slots),
                "score": each.score,
            },
            links=sources[each.older].get("superseded_by") or (),
        )
        for each in evidence
    ]
