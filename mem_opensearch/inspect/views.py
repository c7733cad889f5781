"""Turn an order of results into what the page draws: rows, bars, a histogram of evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.fusion import parts_of
from mem_opensearch.inspect.asking import PAGE
from mem_opensearch.inspect.looks import Look
from mem_opensearch.inspect.transport import shortened, shown_body
from mem_opensearch.store.documents import TEXT_KEY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.inspect.looks import Order

SHOWN: Final = 400
"""Characters of a memory in the list; the whole text is in its details."""
BELOW: Final = 10
"""Memories below the threshold that are shown after the last result."""
BINS: Final = 50


@dataclass(frozen=True, slots=True)
class Segment:
    """One piece of a bar, in percent of its width.

    Attributes:
        signal: what it stands for.
        start: where it begins.
        width: how wide it is.
        value: what the signal added.
    """

    signal: str
    start: float
    width: float
    value: float


@dataclass(frozen=True, slots=True)
class Row:
    """One memory in the list.

    Attributes:
        place: 1 for the best; None below the threshold.
        id: the memory's id.
        text: the beginning of it.
        date: the day of `created_at`, or empty.
        score: fused; None below the threshold.
        bar: what each signal added; what was taken away of it is its last piece, "lost".
        taken: signals that took something away, with how much.
        gate: by what it passed; None where it did not.
        evidence: what is held against the threshold.
        semantic: its place by cosine among all candidates; None where it was not measured.
        fused: its place before the second stage.
        rerank_score: the reranker's.
        reranked: whether there is a second stage.
        replaces: id of what it replaces.
        superseded_by: id of what replaces it.
        other: its place in the other ranking, where two are compared.
    """

    place: int | None
    id: str
    text: str
    date: str
    score: float | None
    bar: Sequence[Segment]
    taken: Sequence[tuple[str, float]]
    gate: str | None
    evidence: float | None
    semantic: int | None
    fused: int | None
    rerank_score: float | None = None
    reranked: bool = False
    replaces: str | None = None
    superseded_by: str | None = None
    other: int | None = None


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin of the histogram of evidence.

    Attributes:
        start: left edge, in [0, 100).
        height: in [0, 100]; the root of the count, so that single memories are seen beside hundreds.
        count: memories.
        passes: whether they pass the threshold.
    """

    start: float
    height: float
    count: int
    passes: bool


@dataclass(frozen=True, slots=True)
class Listing:
    """One page of results.

    Attributes:
        look: by which the page names the search.
        rows: results of this page, then on the last page some that lie below the threshold.
        mem0: the same places in mem0's own ranking; None where it is not compared.
        shown: how many results there are, at most as many as were asked for.
        passed: how many passed the threshold.
        candidates: how many were looked at.
        page: this page, 1 for the first.
        pages: how many there are, at least 1.
        threshold: the least evidence.
        histogram: of the evidence of all candidates.
        signals: names of those that are in the bars.
        empty: why there is no result.
        degraded: what is missing.
    """

    look: str
    rows: Sequence[Row]
    mem0: Sequence[Row] | None
    shown: int
    passed: int
    candidates: int
    page: int
    pages: int
    threshold: float
    histogram: Sequence[Bar]
    signals: Sequence[str]
    empty: str | None
    degraded: Sequence[str]


def listing_of(look: Look, *, threshold: float, page: int = 1) -> Listing:
    """Return a page of a search at a threshold; the last one where there are fewer pages."""
    order = look.order(threshold)
    other = look.order_as_mem0(threshold)
    longest = max(len(order.placed), len(other.placed) if other else 0)
    pages = max(1, -(-longest // PAGE))
    page = min(page, pages)
    ours = {each.id: place for place, each in enumerate(order.placed, start=1)}
    theirs = {each.id: place for place, each in enumerate(other.placed, start=1)} if other else {}
    rows = _rows(look, order, page, last=page == pages, other=theirs)
    mem0 = None
    if other is not None and look.mem0 is not None:
        mem0 = _rows(Look(look.body, *look.mem0), other, page, last=page == pages, other=ours)
    return Listing(
        look=look.key,
        rows=rows,
        mem0=mem0,
        shown=len(order.placed),
        passed=order.passed,
        candidates=len(look.looked.rows),
        page=page,
        pages=pages,
        threshold=threshold,
        histogram=histogram_of(list(order.evidence.values()), threshold),
        signals=list(dict.fromkeys(piece.signal for row in [*rows, *(mem0 or ())] for piece in row.bar)),
        empty=order.empty,
        degraded=order.degraded,
    )


def _rows(look: Look, order: Order, page: int, *, last: bool, other: Mapping[str, int]) -> list[Row]:
    sources = {row.id: row for row in look.looked.rows}
    by_meaning = sorted(
        (row for row in look.looked.rows if row.cosine is not None), key=lambda row: (-(row.cosine or 0.0), row.id)
    )
    semantic = {row.id: place for place, row in enumerate(by_meaning, start=1)}

    def row_of(memory_id: str, **places: Any) -> Row:  # noqa: ANN401 - the fields of `Row` that are places and scores
        details, source = order.details.get(memory_id, {}), sources[memory_id]
        text = source.payload.get(TEXT_KEY)
        text = text if isinstance(text, str) else ""
        parts = parts_of(details)
        return Row(
            id=memory_id,
            text=text[:SHOWN] + ("…" if len(text) > SHOWN else ""),
            date=str(source.payload.get("created_at") or "")[:10],
            bar=segments_of(parts, details.get("max_possible_score") or 1.0),
            taken=[(name, value) for name, value in parts.items() if value < 0],
            evidence=order.evidence.get(memory_id),
            semantic=semantic.get(memory_id),
            replaces=details.get("replaces"),
            superseded_by=details.get("superseded_by"),
            other=other.get(memory_id),
            **places,
        )

    first = (page - 1) * PAGE
    rows = [
        row_of(
            each.id,
            place=place,
            score=each.score,
            gate=order.details.get(each.id, {}).get("gate"),
            fused=each.fused,
            rerank_score=each.rerank_score,
            reranked=look.reranker is not None,
        )
        for place, each in enumerate(order.placed[first : first + PAGE], start=first + 1)
    ]
    if last:
        rows += [row_of(one, place=None, score=None, gate=None, fused=None) for one, _ in order.below[:BELOW]]
    return rows


def segments_of(parts: Mapping[str, float], most: float) -> list[Segment]:
    """Return what was added as pieces of a bar of 100, for a sum of at most `most`; what was taken lies over its end.

    >>> [(one.signal, one.start, one.width) for one in segments_of({"meaning": 0.5, "words": 0.5, "asks": -0.1}, 2)]
    [('meaning', 0.0, 25.0), ('words', 25.0, 25.0), ('lost', 45.0, 5.0)]
    """
    segments: list[Segment] = []
    start = 0.0
    lost = -sum(value for value in parts.values() if value < 0)
    for signal, value in parts.items():
        if value > 0:
            width = min(round(100 * value / most, 2), round(100 - start, 2))
            segments.append(Segment(signal, round(start, 2), width, value))
            start += width
    if lost > 0:
        width = round(min(start, 100 * lost / most), 2)
        segments.append(Segment("lost", round(start - width, 2), width, -lost))
    return segments


def histogram_of(evidence: Sequence[float], threshold: float) -> list[Bar]:
    """Return how many memories have how much evidence, in `BINS` bins from 0 to 1."""
    counts = [0] * BINS
    for value in evidence:
        counts[min(BINS - 1, int(value * BINS))] += 1
    most = max([1, *counts])
    return [
        Bar(100 * place / BINS, round(100 * (count / most) ** 0.5, 2), count, (place + 0.5) / BINS >= threshold)
        for place, count in enumerate(counts)
    ]


def exchanges_of(look: Look, memory_id: str) -> list[dict[str, str]]:
    """Return the requests of a search as they went out, with what was answered of one memory, as indented JSON."""
    import orjson

    shown = []
    for each in look.exchanges:
        if each.sent is None:  # a look at the index, which the first search of a process takes
            continue
        try:
            answer: Any = orjson.loads(each.got)
            hits = answer["hits"]["hits"]
            answer["hits"]["hits"] = [
                hit for hit in hits if memory_id in {hit.get("_id"), (hit.get("_source") or {}).get("id")}
            ]
            answer["hits"]["left_out"] = len(hits) - len(answer["hits"]["hits"])
            got = orjson.dumps(shortened(answer), option=orjson.OPT_INDENT_2).decode()
        except (KeyError, TypeError, orjson.JSONDecodeError):
            got = shown_body(each.got)
        shown.append(
            {
                "line": f"{each.method} {each.path}",
                "status": str(each.status),
                "sent": shown_body(each.sent),
                "got": got,
            }
        )
    return shown
