"""What tuning found: as JSON, as tables, and as a fragment of a configuration."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.tune.variables import fragment_of, rerank_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.console import RenderableType

    from mem_opensearch.tune.variables import Choice, Value

GAP_BOUND: Final = 0.05
"""A larger gap between training and validation is called over-fit."""
MIN_QUERIES: Final = 30
"""With fewer queries, one more or less that is right moves the mean by more than most variables do."""


@dataclass(frozen=True, slots=True)
class Row:
    """One variable by itself, all others as by default.

    Attributes:
        name: dotted, as in `variables.Choice`.
        default: what a search does without being told.
        best: the best value over all queries; the default where none is better.
        train: mean over the queries that its value was chosen by, over all folds.
        validation: mean over those that it was not chosen by.
        gap: `train` less `validation`.
        change: `validation` less that of the default.
        is_option: whether a configuration can hold it; if not it is measured and never chosen.
        values: (value, mean over all queries), the default first.
    """

    name: str
    default: Value
    best: Value
    train: float
    validation: float
    gap: float
    change: float
    is_option: bool
    values: tuple[tuple[Value, float], ...]

    @property
    def spread(self) -> float:
        """How far the best and the worst value lie apart; 0 for a variable without effect."""
        means = [mean for _, mean in self.values]
        return max(means) - min(means)


@dataclass(frozen=True, slots=True)
class SetRow:
    """One data set.

    Attributes:
        dataset: its name.
        queries: how many.
        users: owners of them.
        default: mean over its queries with the default.
        tuned: mean in validation, each query by what was chosen without its user.
    """

    dataset: str
    queries: int
    users: int
    default: float
    tuned: float


@dataclass(frozen=True, slots=True)
class TuneReport:
    """The whole outcome.

    Attributes:
        metric: what was made large.
        default: its mean with the default, over all queries; the same in training and validation.
        train: mean of the joint search over the queries that it chose by.
        validation: mean over those that it did not choose by.
        p: two-sided p that `validation` differs from `default` by chance, by query.
        is_kept: whether the default is kept, because validation is not better.
        chosen: what differs from the default; empty where that is kept.
        proposed: what the joint search would choose by all queries, kept or not.
        datasets: each data set.
        variables: each variable, those that change most first.
        warnings: one sentence each.
        grid: two variables against each other: `x` and `y`, their names, and `cells`, [x, y, mean] over all queries.
        settings: how it was done.
    """

    metric: str
    default: float
    train: float
    validation: float
    p: float
    is_kept: bool
    chosen: Choice
    proposed: Choice
    datasets: tuple[SetRow, ...]
    variables: tuple[Row, ...]
    warnings: tuple[str, ...]
    grid: Mapping[str, Any]
    settings: Mapping[str, Any]

    @property
    def gap(self) -> float:
        """How much better the joint search looks in training than in validation."""
        return self.train - self.validation

    @property
    def fragment(self) -> dict[str, Any]:
        """What was chosen, as the value of `StoreConfig.search`; empty where the default is kept."""
        return fragment_of(self.chosen)

    @property
    def rerank_options(self) -> dict[str, Any]:
        """What was chosen for the second stage, as `--rerank-options` takes it."""
        return rerank_of(self.chosen)

    def to_json(self) -> dict[str, Any]:
        """Return everything as plain values."""
        found = {name: getattr(self, name) for name in ("metric", "default", "train", "validation", "gap", "p")}
        return {
            **found,
            "default_kept": self.is_kept,
            "chosen": dict(self.chosen),
            "proposed": dict(self.proposed),
            "search": self.fragment,
            "rerank": self.rerank_options,
            "datasets": [asdict(row) for row in self.datasets],
            "variables": [{**asdict(row), "values": [list(pair) for pair in row.values]} for row in self.variables],
            "warnings": list(self.warnings),
            "grid": dict(self.grid),
            "settings": dict(self.settings),
        }

    def to_tables(self) -> list[RenderableType]:
        """Return a table of data sets and one of variables; variables without any effect are named in its caption."""
        from rich.table import Table

        sets = Table("data set", "queries", "users", "default", "tuned, validation", title=f"{self.metric}, tuned")
        for one in self.datasets:
            sets.add_row(one.dataset, str(one.queries), str(one.users), f"{one.default:.3f}", f"{one.tuned:.3f}")
        still = [row.name for row in self.variables if not row.spread]
        rows = Table("variable", "default", "best", "train", "validation", "gap", "change", title="one at a time")
        rows.caption = f"without effect on these queries: {', '.join(still)}" if still else None
        for row in self.variables:
            if row.spread:
                name = row.name if row.is_option else f"{row.name} (no option)"
                numbers = (f"{row.train:.3f}", f"{row.validation:.3f}", f"{row.gap:+.3f}", f"{row.change:+.3f}")
                rows.add_row(name, _shown(row.default), _shown(row.best), *numbers)
        for table in (sets, rows):
            for column in table.columns[1:]:
                column.justify = "right"
        return [sets, rows]

    def sentences(self) -> list[str]:
        """Return what came out, one sentence a line; warnings are not among them."""
        first = (
            f"{self.metric}: default {self.default:.3f}; tuned {self.validation:.3f} in validation, "
            f"{self.train:.3f} in training (gap {self.gap:+.3f}, p = {self.p:.3f})"
        )
        if self.is_kept:
            return [first, "the default is kept: what was tuned is not better in validation"]
        chosen = ", ".join(f"{name} = {_shown(value)}" for name, value in self.chosen.items())
        return [first, f"chosen: {chosen}"]


def warnings_for(
    *, queries: int, is_one_user: bool, train: float, validation: float, is_kept: bool, p: float
) -> list[str]:
    """Return what has to be known before the chosen values are used.

    >>> warnings_for(queries=60, is_one_user=False, train=0.8, validation=0.79, is_kept=False, p=0.01)
    []
    """
    found = []
    if queries < MIN_QUERIES:
        found.append(f"only {queries} queries: with fewer than {MIN_QUERIES}, single ones decide; label more")
    if is_one_user:
        found.append("all queries are of a single user: folds are by query, and say nothing about other users")
    if train - validation > GAP_BOUND:
        found.append(
            f"over-fit: training {train:.3f} is {train - validation:.3f} above validation {validation:.3f}, more than "
            f"{GAP_BOUND:g}; the values fit these queries, and not those of other users"
        )
    if not is_kept and p > 0.05:  # noqa: PLR2004 - the usual level
        found.append(f"the gain may be chance: p = {p:.2f} by query; label more before you rely on it")
    return found


def _shown(value: Value) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return f"{value:g}" if isinstance(value, float) else str(value)
