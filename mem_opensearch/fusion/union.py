"""Fuse all signals of the union of what each of them found: the mode "union"."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, NamedTuple

from mem_opensearch.errors import InvalidInputError
from mem_opensearch.fusion.calibration import EDGE, WORDS_FULL, Background
from mem_opensearch.fusion.normalisers import scale_of
from mem_opensearch.fusion.signals import Candidate, Question, check_candidates
from mem_opensearch.fusion.weights import UnionWeights

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from mem_opensearch.search_options import Normaliser

Gate = Literal["meaning", "words", "identifier", "entity", "context", "time", "slot", "replaces"]
"""What a memory passed the gate by: its strongest evidence."""

DEFAULT_THRESHOLD = 0.1
"""Least evidence: that of a cosine one deviation above the embedder\'s background, see `calibration.EDGE`."""

_BELOW = 0.99
"""Of its answer's score, what a question is lowered to that would stand above it."""

_EARLIEST = datetime.min.replace(tzinfo=UTC)


class Scored(NamedTuple):
    """A memory with its score, and where it comes from.

    Attributes:
        candidate: the signals as they were measured.
        score: in [0, 1]: `raw` divided by `most`.
        raw: the sum of `parts`, after supersession.
        most: the largest sum that the signals of this search allow.
        parts: signal -> what it added; those that were not measured are missing.
        words_share: BM25 on the normaliser's scale, in [0, 1]; 0 where words were not searched.
        evidence: the strongest evidence, in [0, 1], which the threshold is held against.
        gate: what that evidence is; None where it lies below the threshold.
        follows: id of the earlier turn that `parts["context"]` comes from.
        replaces: id of the older memory whose score it took over.
        superseded_by: id of the newer memory that pushed it down.
    """

    candidate: Candidate
    score: float
    raw: float
    most: float
    parts: Mapping[str, float]
    words_share: float
    evidence: float
    gate: Gate | None
    follows: str | None = None
    replaces: str | None = None
    superseded_by: str | None = None

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.candidate.id


@dataclass(frozen=True, slots=True)
class _Scales:
    """What puts the matches of this search on a scale from 0 to 1."""

    words: Callable[[float], float]
    most_identifiers: float

    def identifiers(self, count: float) -> float:
        return count / self.most_identifiers


@dataclass(slots=True)
class _Sum:
    """A score while it is added up."""

    candidate: Candidate
    parts: dict[str, float] = field(default_factory=dict)
    evidence: dict[Gate, float] = field(default_factory=dict)
    raw: float = 0.0
    follows: str | None = None
    replaces: str | None = None
    superseded_by: str | None = None


def fuse(
    candidates: Sequence[Candidate],
    *,
    question: Question | None = None,
    weights: UnionWeights | None = None,
    background: Background | None = None,
    threshold: float = DEFAULT_THRESHOLD,
    normaliser: Normaliser = "share",
) -> list[Scored]:
    """Score all candidates, best first; those without enough evidence come last, with `gate` None.

    A score depends on the memory, the question, the best match of words, and the turns just before it; so it is the
    same however many results are asked for, as long as the pools hold the best hits of each signal.

    Args:
        candidates: the union of what each signal found, each id once.
        question: what the question says beside its words.
        weights: how much each signal counts.
        background: what the embedder gives for unrelated texts.
        threshold: least evidence, in [0, 1].
        normaliser: what puts BM25 on a scale from 0 to 1, see `normalisers.scale_of`. With "zscore", a score depends on
            all candidates.

    Raises:
        InvalidInputError: an id stands there twice, the threshold is out of its range, or the normaliser is unknown.
    """
    check_candidates(candidates)
    if not 0.0 <= threshold <= 1.0:
        raise InvalidInputError(f"the threshold is {threshold}, expected a number from 0 to 1")
    question, weights, background = question or Question(), weights or UnionWeights(), background or Background()
    scales = _Scales(
        words=scale_of(normaliser, [candidate.words for candidate in candidates]),
        most_identifiers=max([1.0, *(candidate.identifiers or 0.0 for candidate in candidates)]),
    )
    ordered = sorted(candidates, key=lambda candidate: candidate.id)  # ties must not depend on who came first
    sums = {candidate.id: _own(candidate, scales, weights, background, question.asked_at) for candidate in ordered}
    _add_context(sums, scales, weights)
    for total in sums.values():
        total.raw = sum(total.parts.values())
    _prefer_answers(sums)
    if not question.about_the_past:
        _supersede(sums, question, weights)
    most = _most(candidates, question, weights)
    scored = [_scored(total, scales, most, threshold) for total in sums.values()]
    return sorted(scored, key=_rank)


def _own(
    candidate: Candidate, scales: _Scales, weights: UnionWeights, background: Background, asked_at: datetime | None
) -> _Sum:
    """Add up what a memory has by itself."""
    total = _Sum(candidate)
    kept = 1.0 - weights.asks * candidate.asks
    if candidate.cosine is not None:
        total.parts["meaning"] = kept * background.scaled(candidate.cosine)
        total.evidence["meaning"] = background.evidence(candidate.cosine)
    if candidate.words is not None:
        total.parts["words"] = kept * weights.words * scales.words(candidate.words)
        total.evidence["words"] = min(1.0, candidate.words / WORDS_FULL)
    if candidate.identifiers:
        total.parts["identifiers"] = kept * weights.identifiers * scales.identifiers(candidate.identifiers)
        total.evidence["identifier"] = 1.0
    if candidate.entity:
        total.parts["entity"] = kept * weights.entity * candidate.entity
        total.evidence["entity"] = candidate.entity
    if candidate.same_slot:
        total.parts["slot"] = kept * weights.slot
        total.evidence["slot"] = EDGE
    if candidate.in_window:
        total.parts["time"] = weights.window * candidate.in_window
        total.evidence["time"] = 1.0
    if weights.recency and asked_at and candidate.created_at:
        days = max(0.0, (asked_at - candidate.created_at).total_seconds() / 86_400)
        total.parts["recency"] = weights.recency * 0.5 ** (days / weights.half_life)
    return total


def _add_context(sums: Mapping[str, _Sum], scales: _Scales, weights: UnionWeights) -> None:
    """Let a turn have a share of what the turns before it match: they raise what it answers."""
    turns = {
        (candidate.conversation, candidate.seq): total
        for total in sums.values()
        if (candidate := total.candidate).conversation is not None and candidate.seq is not None
    }
    shares = [weights.context * weights.context_decay**back for back in range(weights.context_turns)]
    for total in sums.values():
        conversation, seq = total.candidate.conversation, total.candidate.seq
        if conversation is None or seq is None:
            continue
        for back, share in enumerate(shares, start=1):
            earlier = turns.get((conversation, seq - back))
            if earlier is None:
                continue
            words, identifiers = earlier.candidate.words or 0.0, earlier.candidate.identifiers or 0.0
            if not words and not identifiers:
                continue
            room = max(0.0, weights.words_limit - total.parts.get("words", 0.0))
            found = min(room, share * weights.words * scales.words(words))
            found += share * weights.identifiers * scales.identifiers(identifiers)
            if found > total.parts.get("context", 0.0):
                total.parts["context"] = found
                strength = 1.0 if identifiers else words / WORDS_FULL
                total.evidence["context"] = min(1.0, share * strength)
                total.follows = earlier.candidate.id


def _prefer_answers(sums: Mapping[str, _Sum]) -> None:
    """Let a turn that is nothing but a question not stand above the next one, which takes its matches over."""
    for answer in sums.values():
        asked = sums.get(answer.follows or "")
        if asked is None or not asked.candidate.only_asks or answer.candidate.only_asks:
            continue
        if (asked.candidate.seq or 0) + 1 == answer.candidate.seq and asked.raw >= answer.raw:
            lowered = _BELOW * answer.raw
            asked.parts["asks"] = lowered - asked.raw
            asked.raw = lowered


def _supersede(sums: Mapping[str, _Sum], question: Question, weights: UnionWeights) -> None:
    """Let a newer memory have the score of the one that it replaced, and push that one below it.

    The newer one often says less of what is asked: "sold the scooter, now I take line 3" for "how do I get to work?"
    """
    replaced = [total for total in sums.values() if total.candidate.superseded_by is not None]
    links = [
        (old, sums[link.id])
        for old in sorted(replaced, key=lambda total: total.candidate.created_at or _EARLIEST)
        if (link := old.candidate.superseded_by) is not None
        and link.id in sums
        and link.id != old.candidate.id
        and (not link.slots or not question.slots or link.slots & question.slots)
    ]
    for old, new in links:
        if old.raw > new.raw:
            new.parts["replaces"] = new.parts.get("replaces", 0.0) + old.raw - new.raw
            new.raw = old.raw
            new.replaces = old.candidate.id
        new.evidence["replaces"] = max(new.evidence.get("replaces", 0.0), *old.evidence.values(), 0.0)
    for old, new in links:
        lowered = min(old.raw, new.raw) * weights.superseded
        old.parts["superseded"] = old.parts.get("superseded", 0.0) + lowered - old.raw
        old.raw = lowered
        old.superseded_by = new.candidate.id


def _most(candidates: Sequence[Candidate], question: Question, weights: UnionWeights) -> float:
    """Return the largest sum that is possible with the signals that any candidate has, as mem0's divisor does."""
    most = weights.slot * any(candidate.same_slot for candidate in candidates)
    most += any(candidate.cosine is not None for candidate in candidates)
    inherits = bool(weights.context_turns) and any(candidate.conversation is not None for candidate in candidates)
    if any(candidate.words is not None for candidate in candidates):
        inherited = weights.context * weights.words * inherits
        most += max(weights.words, min(weights.words + inherited, weights.words_limit))
    if any(candidate.identifiers for candidate in candidates):
        most += weights.identifiers * (1.0 + weights.context * inherits)
    if any(candidate.entity for candidate in candidates):
        most += weights.entity
    if any(candidate.in_window is not None for candidate in candidates):
        most += weights.window
    if question.asked_at:
        most += weights.recency
    return most


def _scored(total: _Sum, scales: _Scales, most: float, threshold: float) -> Scored:
    gate: Gate | None = None
    evidence = 0.0
    for kind, strength in total.evidence.items():
        if gate is None or strength > evidence:
            gate, evidence = kind, strength
    return Scored(
        candidate=total.candidate,
        score=min(1.0, max(0.0, total.raw / most)) if most else 0.0,
        raw=total.raw,
        most=most,
        parts=dict(total.parts),
        words_share=scales.words(total.candidate.words or 0.0),
        evidence=evidence,
        gate=gate if evidence >= threshold else None,
        follows=total.follows,
        replaces=total.replaces,
        superseded_by=total.superseded_by,
    )


def _rank(scored: Scored) -> tuple[bool, float, bool, float, str]:
    created_at = scored.candidate.created_at
    return (
        scored.gate is None,
        -scored.raw,
        scored.superseded_by is not None,
        -created_at.timestamp() if created_at else float("inf"),
        scored.id,
    )


def passed(scored: Sequence[Scored], *, limit: int) -> list[Scored]:
    """Return at most `limit` of those that passed the gate, in their order."""
    return [one for one in scored if one.gate is not None][:limit]
