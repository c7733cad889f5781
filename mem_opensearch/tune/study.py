"""Choose values on some users' queries, and see what they are worth on the others': nothing here knows of searches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from mem_opensearch.extras import require
from mem_opensearch.tune.folds import SEED

if TYPE_CHECKING:
    from mem_opensearch.tune.variables import Choice, Value, Variable

Measure = Callable[["Choice"], Sequence[float]]
"""Gives one value in [0, 1] for each query, in their order."""

JOINT_VARIABLES: Final = 6
"""How many variables are searched together: those that change most by themselves. More have too many combinations."""
TRIALS: Final = 30
TOLERANCE: Final = 0.005
"""A simpler choice wins where it is not worse by more than this in training: that much is within chance."""
_DIGITS: Final = 9  # sums of the same numbers in another order differ below that


class Objective:
    """The mean of a measure over some queries, each choice measured once.

    Args:
        measure: what is measured of a choice.
        shares: how much each query counts, > 0, so that small data sets are not outvoted by large ones.
    """

    def __init__(self, measure: Measure, shares: Sequence[float]) -> None:
        self._measure = measure
        self._shares = shares
        self._known: dict[tuple[tuple[str, Value], ...], Sequence[float]] = {}

    @property
    def evaluations(self) -> int:
        """How many choices were measured."""
        return len(self._known)

    def values(self, choice: Choice) -> Sequence[float]:
        """Return the value of each query."""
        key = tuple(sorted(choice.items()))
        if key not in self._known:
            self._known[key] = tuple(self._measure(choice))
        return self._known[key]

    def mean(self, choice: Choice, places: Sequence[int]) -> float:
        """Return the mean over the queries at `places`."""
        return self.mean_of(self.values(choice), places)

    def mean_of(self, values: Sequence[float], places: Sequence[int]) -> float:
        """Return the mean of values of all queries, over those at `places`."""
        total = sum(values[place] * self._shares[place] for place in places)
        return round(total / self.weight(places), _DIGITS)

    def weight(self, places: Sequence[int]) -> float:
        """Return how much the queries at `places` count together."""
        return sum(self._shares[place] for place in places)


@dataclass(frozen=True, slots=True)
class Validated:
    """What choosing by training was worth.

    Attributes:
        train: mean over the queries that the values were chosen by, over all folds.
        validation: mean over those that they were not chosen by; each query is there once.
        values: of each query in validation, in their order.
        chosen: by all queries together.
    """

    train: float
    validation: float
    values: Sequence[float]
    chosen: Choice

    @property
    def gap(self) -> float:
        """How much better it looks in training. A fixed choice has none, so it is all over-fit."""
        return self.train - self.validation


def validate(
    objective: Objective, folds: Sequence[Sequence[int]], choose: Callable[[Sequence[int]], Choice]
) -> Validated:
    """Choose without each fold in turn, and measure on that fold.

    Args:
        objective: what is to be large.
        folds: places of the queries of each.
        choose: returns a choice by the queries at some places.
    """
    everything = sorted(place for fold in folds for place in fold)
    values = [0.0] * len(everything)
    trained = weighed = 0.0
    for fold in folds:
        others = sorted(set(everything) - set(fold))
        choice = choose(others)
        trained += objective.mean(choice, others) * objective.weight(others)
        weighed += objective.weight(others)
        for place in fold:
            values[place] = objective.values(choice)[place]
    return Validated(
        train=round(trained / weighed, _DIGITS),
        validation=objective.mean_of(values, everything),
        values=values,
        chosen=choose(everything),
    )


def best_of(
    choices: Sequence[Choice], objective: Objective, places: Sequence[int], *, tolerance: float = 0.0
) -> Choice:
    """Return the best choice; of those within `tolerance` of it the one that changes least."""
    means = [objective.mean(choice, places) for choice in choices]
    enough = round(max(means) - tolerance, _DIGITS)
    near = [place for place, mean in enumerate(means) if mean >= enough]
    return choices[min(near, key=lambda place: (len(choices[place]), -means[place], place))]


def choose_one(variable: Variable, objective: Objective, places: Sequence[int]) -> Choice:
    """Return the best value of one variable, all others as by default."""
    return best_of(list(variable.choices()), objective, places)


def spread_of(variable: Variable, objective: Objective, places: Sequence[int]) -> float:
    """Return how far the best and the worst value of a variable lie apart."""
    means = [objective.mean(choice, places) for choice in variable.choices()]
    return round(max(means) - min(means), _DIGITS)


def choose_together(
    variables: Sequence[Variable],
    objective: Objective,
    places: Sequence[int],
    *,
    trials: int = TRIALS,
    seed: int = SEED,
    tell: Callable[[], Any] | None = None,
) -> Choice:
    """Return the best combination that a short search by optuna's TPE finds; the same each time.

    It starts from the default, the best value of each variable, and all of these together.

    Args:
        variables: of which only those that can be configured are chosen.
        objective: what is to be large.
        places: the queries that count.
        trials: combinations that are tried.
        seed: of the search.
        tell: called after each combination.

    Raises:
        MissingExtraError: optuna is not installed.
    """
    optuna = load_optuna()
    spreads = {one.name: spread_of(one, objective, places) for one in variables if one.is_option}
    moving = sorted((one for one in variables if spreads.get(one.name)), key=lambda one: -spreads[one.name])
    moving = moving[:JOINT_VARIABLES]
    if not moving:
        return {}
    singles = [choose_one(one, objective, places) for one in moving]
    together = {name: value for single in singles for name, value in single.items()}
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=seed))
    defaults = {one.name: one.default for one in moving}
    for start in ({}, *singles, together):
        study.enqueue_trial({**defaults, **start}, skip_if_exists=True)

    def mean(trial: Any) -> float:  # noqa: ANN401 - optuna's
        given = {one.name: trial.suggest_categorical(one.name, [one.default, *one.values]) for one in moving}
        if tell is not None:
            tell()
        return objective.mean(_without_defaults(given, defaults), places)

    study.optimize(mean, n_trials=trials)
    tried: list[Choice] = [_without_defaults(trial.params, defaults) for trial in study.trials]
    return best_of([{}, *singles, *tried], objective, places, tolerance=TOLERANCE)


def load_optuna() -> Any:  # noqa: ANN401 - a module
    """Return optuna, which then keeps quiet.

    Raises:
        MissingExtraError: it is not installed.
    """
    optuna: Any = require("optuna", extra="tune", purpose="tuning")
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


def _without_defaults(given: Mapping[str, Value], defaults: Mapping[str, Value]) -> dict[str, Value]:
    return {name: value for name, value in given.items() if value != defaults[name]}
