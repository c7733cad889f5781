"""Put together what was measured: a row for each variable, the grid of two, the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mem_opensearch.evaluate.significance import permutation_p
from mem_opensearch.tune.report import Row, SetRow, TuneReport, warnings_for
from mem_opensearch.tune.study import Objective, Validated, choose_one, spread_of, validate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from mem_opensearch.tune.looking import Question
    from mem_opensearch.tune.variables import Variable


def row_of(variable: Variable, objective: Objective, split: Sequence[Sequence[int]]) -> Row:
    """Return what varying one variable gives, all others as by default."""
    everything = sorted(place for fold in split for place in fold)
    found = validate(objective, split, lambda places: choose_one(variable, objective, places))
    values = [choice.get(variable.name, variable.default) for choice in variable.choices()]
    means = [objective.mean(choice, everything) for choice in variable.choices()]
    return Row(
        name=variable.name,
        default=variable.default,
        best=found.chosen.get(variable.name, variable.default),
        train=found.train,
        validation=found.validation,
        gap=found.gap,
        change=found.validation - means[0],
        is_option=variable.is_option,
        values=tuple(zip(values, means, strict=True)),
    )


def grid_of(variables: Sequence[Variable], objective: Objective) -> dict[str, Any]:
    """Return the means over the values of the two numbers that change most; empty where fewer than two do."""
    everything = range(len(objective.values({})))
    numbers = [one for one in variables if one.is_option and not isinstance(one.default, str | bool)]
    spreads = {one.name: spread_of(one, objective, everything) for one in numbers}
    moving = sorted((one for one in numbers if spreads[one.name]), key=lambda one: -spreads[one.name])
    if len(moving) < 2:  # noqa: PLR2004 - two axes
        return {"x": None, "y": None, "cells": []}
    x, y = moving[:2]
    cells = []
    for right in x.choices():
        for up in y.choices():
            value = objective.mean({**right, **up}, everything)
            cells.append([right.get(x.name, x.default), up.get(y.name, y.default), value])
    return {"x": x.name, "y": y.name, "cells": sorted(cells)}


def report_of(
    metric: str,
    questions: Sequence[Question],
    objective: Objective,
    tuned: Validated,
    *,
    rows: Sequence[Row],
    grid: dict[str, Any],
    settings: dict[str, Any],
    is_one_user: bool,
) -> TuneReport:
    """Return the report: the default is kept where choosing did not beat it in validation."""
    everything = range(len(questions))
    defaults = objective.values({})
    default = objective.mean({}, everything)
    is_kept = tuned.validation <= default or not tuned.chosen
    p = permutation_p([after - before for after, before in zip(tuned.values, defaults, strict=True)])
    datasets = []
    for name in dict.fromkeys(question.dataset for question in questions):
        places = [place for place in everything if questions[place].dataset == name]
        datasets.append(
            SetRow(
                dataset=name,
                queries=len(places),
                users=len({questions[place].owner for place in places}),
                default=objective.mean({}, places),
                tuned=objective.mean_of(tuned.values, places),
            )
        )
    return TuneReport(
        metric=metric,
        default=default,
        train=tuned.train,
        validation=tuned.validation,
        p=p,
        is_kept=is_kept,
        chosen={} if is_kept else tuned.chosen,
        proposed=tuned.chosen,
        datasets=tuple(datasets),
        variables=tuple(sorted(rows, key=lambda row: -row.spread)),
        warnings=tuple(
            warnings_for(
                queries=len(questions),
                is_one_user=is_one_user,
                train=tuned.train,
                validation=tuned.validation,
                is_kept=is_kept,
                p=p,
            )
        ),
        grid=grid,
        settings=settings,
    )
