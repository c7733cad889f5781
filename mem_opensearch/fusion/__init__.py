"""Make one ranking of several signals: pure functions of plain values."""

from mem_opensearch.fusion.calibration import PROBES, Background, background_of
from mem_opensearch.fusion.explain import parts_of, score_details, why_empty
from mem_opensearch.fusion.rrf import Ranked, rrf
from mem_opensearch.fusion.signals import Candidate, Question, Replacement
from mem_opensearch.fusion.union import DEFAULT_THRESHOLD, Gate, Scored, fuse, passed
from mem_opensearch.fusion.weights import UnionWeights

__all__ = [
    "DEFAULT_THRESHOLD",
    "PROBES",
    "Background",
    "Candidate",
    "Gate",
    "Question",
    "Ranked",
    "Replacement",
    "Scored",
    "UnionWeights",
    "background_of",
    "fuse",
    "parts_of",
    "passed",
    "rrf",
    "score_details",
    "why_empty",
]
