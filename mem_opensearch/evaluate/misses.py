"""Say of a missed query why it was missed, and what would mend it: ids and numbers only, never a text."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.evaluate.metrics import classify_miss
from mem_opensearch.fusion import parts_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from mem_opensearch.evaluate.metrics import Candidates
    from mem_opensearch.evaluate.seen import Library, Seen

MENDS: Final[Mapping[str, str]] = {
    "no_shared_word": "no shared word: raise `pool`, add the words to the dictionary, or take another embedder",
    "low_cosine": "low cosine: raise `pool`, take another embedder, or search by words too (mode union)",
    "filtered": "filtered out: look at the filter, and at the scope that the memory was stored with",
    "expired": "expired: correct its expiration date, or search with show_expired=True",
    "not_yet": "not yet there: give the memory its date, or search without --as-of",
    "weak_evidence": "too little evidence: lower `threshold` to {evidence:.2f} or less, or take another embedder",
    "held_down": "held down by another memory: change one weight at a time, or add a reranker",
    "without_weights": "held down by '{signal}', and this mode has no weights: take mode union, another embedder, or a "
    "reranker",
    "reranked_down": "the reranker moved it down: give it a smaller weight, or take another one",
    "outside_meaning": "mode mem0 ranks only what is near in meaning: take mode union, or another embedder",
}
"""Reason -> the mend that it suggests."""

SIGNAL_MENDS: Final[Mapping[str, str]] = {
    "meaning": "low in meaning: take another embedder, raise the weight `words`, or add a reranker",
    "words": "low in words: add the question's words to the dictionary, lower the weight `words`, or add a reranker",
    "identifiers": "another memory holds the identifier: write it into the right one, or lower `identifiers`",
    "entity": "another memory is linked to the name: give the right one its `entities`, or lower the weight `entity`",
    "context": "another turn inherits from the one before it: lower the weight `context`",
    "time": "another memory is of the time asked for: give the right one its date, or lower the weight `window`",
    "slot": "another memory fills the slot asked about: lower the weight `slot`",
    "replaces": "a newer memory took over the score of an older one: look at the dates of both",
    "superseded": "a newer memory replaced it: look at the dates of both, or raise the weight `superseded`",
    "asks": "it counts as a turn that only asks: lower the weight `asks`",
    "recency": "another memory is newer: lower the weight `recency`",
}
"""What held a memory down -> the mend that it suggests."""


@dataclass(frozen=True, slots=True)
class Miss:
    """Why a query was missed, told of the relevant memory that came farthest.

    Attributes:
        failure: one of `metrics.FAILURES`.
        memory: id of that memory.
        reason: in one word, see `MENDS`.
        sentence: the reason in words.
        mend: what would mend it, in one sentence.
        cosine: of the memory and the question, in [-1, 1].
        shared_words: how many of the question's words the memory holds.
        rank: its place among all that passed the gate, 1 for the best; None where it has none, or it is not told.
        evidence: its strongest, in [0, 1]; None where the system tells none.
        threshold: what that was held against.
        signal: what held it down; None where it was not ranked, or the system tells no signals.
        beaten_by: id of the best result, where it was ranked.
    """

    failure: str
    memory: str
    reason: str
    sentence: str
    mend: str
    cosine: float
    shared_words: int
    rank: int | None = None
    evidence: float | None = None
    threshold: float | None = None
    signal: str | None = None
    beaten_by: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "class": self.failure,
            "memory": self.memory,
            "reason": self.reason,
            "sentence": self.sentence,
            "mend": self.mend,
            "cosine": round(self.cosine, 6),
            "shared_words": self.shared_words,
            "rank": self.rank,
            "evidence": None if self.evidence is None else round(self.evidence, 6),
            "threshold": self.threshold,
            "signal": self.signal,
            "beaten_by": self.beaten_by,
        }


def explain_miss(
    candidates: Candidates,
    *,
    ranking: Sequence[str],
    relevant: Sequence[str],
    library: Library,
    query_id: str,
    seen: Seen | None,
) -> Miss:
    """Return why none of the relevant memories is among the first results.

    Args:
        candidates: what the system looked at.
        ranking: what it returned, best first.
        relevant: ids of the right memories, at least one.
        library: the memories and their cosines.
        query_id: the query.
        seen: what the system says of its results and of the relevant memories; None where it says nothing.
    """
    failure = classify_miss(candidates, relevant=relevant)
    facts = {memory_id: library.facts(query_id, memory_id) for memory_id in relevant}
    farthest = min(relevant, key=lambda one: (*_distance(one, candidates, ranking, seen), -facts[one].cosine, one))
    cosine, shared, place = facts[farthest].cosine, facts[farthest].shared_words, facts[farthest].place
    known: dict[str, Any] = {"failure": failure, "memory": farthest, "cosine": cosine, "shared_words": shared}
    details = seen.details.get(farthest) if seen else None
    if failure == "not_in_pool":
        reason = seen.reasons.get(farthest, "not_in_pool") if seen else "not_in_pool"
        sentence = seen.sentences.get(farthest, "") if seen else ""
        if reason not in {"filtered", "expired", "not_yet"}:
            reason = "low_cosine" if shared else "no_shared_word"
            words = f"{shared} shared word{'s' * (shared != 1)}" if shared else "no shared word"
            sentence = f"{words}; by its cosine of {cosine:.2f} it stands at place {place} of its scope"
        return Miss(**known, reason=reason, sentence=sentence, mend=MENDS[reason])
    if failure == "below_threshold":
        evidence = _evidence(details, candidates.scores.get(farthest, cosine))
        threshold = details["threshold"] if details else candidates.threshold
        sentence = f"its best evidence, {evidence:.3f}, lies below the threshold" + (
            "" if threshold is None else f" {threshold:g}"
        )
        mend = MENDS["weak_evidence"].format(evidence=_floor(evidence))
        known |= {"evidence": evidence, "threshold": threshold}
        return Miss(**known, reason="weak_evidence", sentence=sentence, mend=mend)
    return _ranked_low(known, ranking=ranking, seen=seen)


def _ranked_low(known: dict[str, Any], *, ranking: Sequence[str], seen: Seen | None) -> Miss:
    farthest, winner = known["memory"], ranking[0] if ranking else None
    rank = ranking.index(farthest) + 1 if farthest in ranking else None
    if seen is None:
        place = f"it stands at place {rank}" if rank else "it comes after all that were asked for"
        sentence = place + (f"; the best is '{winner}'" if winner else "")
        mend = MENDS["held_down"]
        return Miss(**known, reason="held_down", sentence=sentence, mend=mend, rank=rank, beaten_by=winner)
    details, best = seen.details.get(farthest), seen.details.get(winner or "")
    if details is None:
        sentence = "only its words were found, and mode mem0 ranks what is near in meaning"
        mend = MENDS["outside_meaning"]
        return Miss(**known, reason="outside_meaning", sentence=sentence, mend=mend, beaten_by=winner)
    first_rank = seen.ranks.get(farthest)
    known |= {
        "rank": rank or first_rank,
        "evidence": _evidence(details, None),
        "threshold": details["threshold"],
        "beaten_by": winner,
    }
    signal = None if best is None else held_down_by(parts_of(details), parts_of(best))
    if seen.is_reranked and (signal is None or (first_rank or 0) < (rank or first_rank or 0)):
        sentence = f"the search gave it place {first_rank}, and the reranker " + (
            f"place {rank}" if rank else "a lower one"
        )
        return Miss(**known, reason="reranked_down", sentence=sentence, mend=MENDS["reranked_down"])
    if signal is None:
        sentence = f"it stands at place {known['rank']}, and no signal of it is less than that of '{winner}'"
        return Miss(**known, reason="held_down", sentence=sentence, mend=MENDS["held_down"])
    had, has = parts_of(details).get(signal, 0.0), parts_of(best or {}).get(signal, 0.0)
    sentence = f"it stands at place {known['rank']}; '{signal}' adds {had:.3f} to it, and {has:.3f} to '{winner}'"
    mend = SIGNAL_MENDS.get(signal, MENDS["held_down"])
    if "parts" not in details or "union_score" in details:
        mend = MENDS["without_weights"].format(signal=signal)
    return Miss(**known, reason="held_down", sentence=sentence, mend=mend, signal=signal)


def held_down_by(parts: Mapping[str, float], winner: Mapping[str, float]) -> str | None:
    """Return the signal that held a memory down: the one with the smallest share of the winner's.

    Only those are looked at whose shortfall is at least half of the largest: a small signal that is missing altogether
    explains little. What takes away from the memory counts as less than any share. Of equal shares the larger
    shortfall counts.

    Args:
        parts: signal -> what it added to the memory.
        winner: the same, of the memory that beat it.

    Returns:
        None where no signal of the memory is less.

    >>> held_down_by({"meaning": 0.6, "words": 0.1}, {"meaning": 0.7, "words": 0.7, "slot": 0.1})
    'words'
    >>> held_down_by({"meaning": 0.9, "superseded": -0.4}, {"meaning": 0.8})
    'superseded'
    """
    gaps = {
        signal: gap
        for signal in sorted({*parts, *winner})
        if (gap := winner.get(signal, 0.0) - parts.get(signal, 0.0)) > 0
    }
    if not gaps:
        return None
    large = {signal: gap for signal, gap in gaps.items() if gap >= max(gaps.values()) / 2}

    def share(signal: str) -> float:
        had, has = parts.get(signal, 0.0), winner.get(signal, 0.0)
        return had / has if has > 0 and had >= 0 else float("-inf")

    return min(large, key=lambda signal: (share(signal), -large[signal]))


def _distance(
    memory_id: str, candidates: Candidates, ranking: Sequence[str], seen: Seen | None
) -> tuple[int, float, float]:
    """Return how far a memory came, as values that sort: less is farther."""
    if memory_id not in candidates.pool:
        return (2, 0.0, 0.0)
    if memory_id in candidates.gated:
        details = seen.details.get(memory_id) if seen else None
        return (1, 0.0, -_evidence(details, candidates.scores.get(memory_id, 0.0)))
    rank = ranking.index(memory_id) + 1 if memory_id in ranking else float("inf")
    first = float(seen.ranks.get(memory_id) or len(candidates.pool)) if seen else 0.0
    return (0, rank, first)


def _evidence(details: Mapping[str, Any] | None, other: float | None) -> Any:  # noqa: ANN401 - a number, or `other`
    """Return what was held against the threshold: in mode mem0 that is the cosine."""
    if details is None:
        return other
    return details["evidence"] if "evidence" in details else details["semantic_score"]


def _floor(value: float) -> float:
    """Return a threshold of two digits that a value passes.

    >>> _floor(0.0999), _floor(-0.2)
    (0.09, 0.0)
    """
    return max(0.0, int(value * 100) / 100)
