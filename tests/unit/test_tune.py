"""Folds, choices and what they are worth, on numbers that are worked out by hand."""

import pytest

from mem_opensearch.config import StoreConfig
from mem_opensearch.errors import ConfigError, InvalidInputError
from mem_opensearch.fusion import UnionWeights
from mem_opensearch.search_options import SearchOptions
from mem_opensearch.tune.folds import folds_of
from mem_opensearch.tune.report import GAP_BOUND, warnings_for
from mem_opensearch.tune.study import Objective, best_of, choose_one, choose_together, validate
from mem_opensearch.tune.variables import Variable, fragment_of, options_of, variables_for


def test_nobody_is_in_two_folds():
    owners = [f"u{number % 7}" for number in range(40)]
    folds = folds_of(owners, most=5)
    assert sorted(place for fold in folds for place in fold) == list(range(40))
    held = [{owners[place] for place in fold} for fold in folds]
    assert len(held) == 5
    assert sum(map(len, held)) == 7  # no user is counted twice
    assert folds == folds_of(owners, most=5)


def test_what_can_not_be_split_is_refused():
    with pytest.raises(InvalidInputError, match="2 users or more"):
        folds_of(["a", "a"])
    with pytest.raises(InvalidInputError, match="1 folds"):
        folds_of(["a", "b"], most=1)


VARIABLE = Variable("weights.words", 0.7, (0.0, 1.4))


def test_a_fixed_choice_has_no_gap_and_its_validation_is_the_plain_mean():
    objective = Objective(lambda choice: [1.0, 0.5, 0.0, 0.25], [1, 1, 1, 1])
    found = validate(objective, [[0], [1, 2], [3]], lambda places: {})
    assert (found.train, found.validation, found.gap) == (0.4375, 0.4375, 0.0)


def test_small_data_sets_are_not_outvoted():
    objective = Objective(lambda choice: [1.0, 0.0, 0.0, 0.0], [1, 1 / 3, 1 / 3, 1 / 3])
    assert objective.mean({}, range(4)) == 0.5


def test_values_that_fit_each_user_alone_are_over_fit():
    """Two users, each of whom another value makes right, and the other one wrong."""

    def measure(choice):
        return {0.0: [1.0, 1.0, 0.0, 0.0], 1.4: [0.0, 0.0, 1.0, 1.0]}.get(choice.get("weights.words"), [0.5] * 4)

    objective = Objective(measure, [1] * 4)
    for choose in (
        lambda places: choose_one(VARIABLE, objective, places),
        lambda places: choose_together([VARIABLE], objective, places, trials=5),
    ):
        found = validate(objective, [[0, 1], [2, 3]], choose)
        assert (found.train, found.validation) == (1.0, 0.0)
        (few, warning) = warnings_for(
            queries=4, is_one_user=False, train=found.train, validation=found.validation, is_kept=True, p=0.1
        )
        assert "only 4 queries" in few
        assert "over-fit: training 1.000 is 1.000 above validation 0.000" in warning


def test_warnings_have_their_bounds():
    def told(**changed):
        usual = {"queries": 30, "is_one_user": False, "train": 0.8, "validation": 0.8, "is_kept": False, "p": 0.01}
        return warnings_for(**(usual | changed))

    assert told() == told(validation=0.8 - GAP_BOUND + 0.001) == []
    assert "over-fit" in told(validation=0.8 - GAP_BOUND - 0.001)[0]
    assert "only 29" in told(queries=29)[0]
    assert "single user" in told(is_one_user=True)[0]
    assert "chance" in told(p=0.2)[0]
    assert told(p=0.2, is_kept=True) == []


def test_of_equal_choices_the_one_that_changes_least_wins():
    means = {(): 0.5, ("a",): 0.703, ("a", "b"): 0.704}
    objective = Objective(lambda choice: [means[tuple(sorted(choice))]], [1])
    choices = [{}, {"a": 1, "b": 2}, {"a": 1}]
    assert best_of(choices, objective, [0]) == {"a": 1, "b": 2}
    assert best_of(choices, objective, [0], tolerance=0.005) == {"a": 1}


def test_the_joint_search_finds_what_no_variable_finds_alone_and_repeats_itself():
    one, two = Variable("a", 0, (1,)), Variable("b", 0, (1,))
    still, no_option = Variable("c", 0, (1,)), Variable("d", 0, (1,), is_option=False)

    def measure(choice):
        a, b = choice.get("a", 0), choice.get("b", 0)
        return [{(0, 0): 0.5, (1, 0): 0.4, (0, 1): 0.4, (1, 1): 0.9}[a, b] + 0.05 * choice.get("d", 0)]

    chosen = [choose_together([one, two, still, no_option], Objective(measure, [1]), [0], trials=20) for _ in range(2)]
    assert chosen == [{"a": 1, "b": 1}] * 2


def test_every_weight_and_every_closed_set_of_values_is_varied():
    found = {variable.name: variable for variable in variables_for(thorough=True, rerank=(0.5, 4))}
    weights = {f"weights.{name}" for name in UnionWeights.__dataclass_fields__} - {"weights.half_life"}
    assert weights | {"mode", "normaliser", "threshold", "pool", "rerank.weight", "rerank.pool", "supersession"} <= set(
        found
    )
    assert found["mode"].values == ("rrf", "mem0")
    for variable in found.values():
        assert variable.default not in variable.values
        for value in variable.values:
            options_of({variable.name: value})
    for turns in found["weights.context_turns"].values:  # options hold it as a float, turns are counted
        assert isinstance(UnionWeights(**options_of({"weights.context_turns": turns}).weights).context_turns, int)
    with pytest.raises(ConfigError, match="whole number of turns"):
        UnionWeights(context_turns=1.5)
    assert "pool" not in {variable.name for variable in variables_for()}
    assert {variable.name: variable for variable in variables_for()}["mode"].values == ("rrf",)


def test_the_fragment_is_what_a_store_takes():
    choice = {"weights.words": 1.05, "threshold": 0.2, "mode": "rrf", "rerank.pool": 6, "supersession": False}
    fragment = fragment_of(choice)
    assert fragment == {"weights": {"words": 1.05}, "threshold": 0.2, "mode": "rrf"}
    assert StoreConfig.build(search=fragment).search == SearchOptions(**fragment)
    assert fragment_of({}) == {}
