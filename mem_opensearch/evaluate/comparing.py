"""Compare the systems of a data set with one of them, query by query."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.errors import ConfigError
from mem_opensearch.evaluate import significance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.evaluate.report import Result

USUAL_BASELINE: Final = "mem0-builtin"
COMPARED: Final = "mrr@10"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system against the baseline on one data set, by `COMPARED`.

    Attributes:
        dataset: name of the data set.
        system: name of the system.
        baseline: name of the system that it is compared with.
        difference: the system's mean less the baseline's.
        interval: of the difference, see `significance.bootstrap_interval`.
        p: of the paired permutation test.
        p_holm: the same, corrected for all comparisons of the report.
    """

    dataset: str
    system: str
    baseline: str
    difference: float
    interval: tuple[float, float]
    p: float
    p_holm: float

    def to_json(self) -> dict[str, Any]:
        """Return it as JSON values, without what the row that it stands in says already."""
        return {
            "baseline": self.baseline,
            "difference": round(self.difference, 6),
            "interval": [round(end, 6) for end in self.interval],
            "p": round(self.p, 6),
            "p_holm": round(self.p_holm, 6),
        }


def choose_baseline(systems: Sequence[str], baseline: str | None) -> str:
    """Return the system that the others are compared with: the one asked for, mem0's own, or the last.

    Raises:
        ConfigError: the one asked for is not among those that are run.

    >>> choose_baseline(["union", "mem0-builtin", "bm25"], None), choose_baseline(["union", "bm25"], None)
    ('mem0-builtin', 'bm25')
    """
    if baseline is not None and baseline not in systems:
        raise ConfigError(f"the baseline '{baseline}' is not run; the systems are: {', '.join(systems)}")
    return baseline or (USUAL_BASELINE if USUAL_BASELINE in systems else systems[-1])


def compare(results: Sequence[Result], *, baseline: str) -> list[Comparison]:
    """Return every system against the baseline of the same data set, in the order of `results`."""
    bases = {result.dataset: result for result in results if result.system == baseline}
    found = []
    for result in results:
        if result.system == baseline or result.dataset not in bases:
            continue
        base = bases[result.dataset]
        differences = {
            query: outcome.reciprocal_rank - base.outcomes[query].reciprocal_rank
            for query, outcome in result.outcomes.items()
        }
        p = significance.permutation_p(list(differences.values()))
        found.append(
            Comparison(
                dataset=result.dataset,
                system=result.system,
                baseline=baseline,
                difference=sum(differences.values()) / len(differences),
                interval=significance.bootstrap_interval(differences, result.owners),
                p=p,
                p_holm=p,
            )
        )
    adjusted = significance.holm([each.p for each in found])
    return [replace(each, p_holm=p) for each, p in zip(found, adjusted, strict=True)]
