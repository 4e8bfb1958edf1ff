"""Spaces of which at most some numbers are above 0."""

import json
import pickle
import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.domains import AtMost, parse_constraints

NAMES = "ABCDE"


def count_above(x, names=NAMES):
    return sum(x[name] > 0 for name in names if name in x)


def make_space(step=None, names=NAMES, more=(), most=2):
    variables = {name: kb.Real(0, 1, step=step) for name in names}
    rules = [f"{' + '.join(names)} == 1", f"at_most({most}, {', '.join(names)})", *more]
    return kb.MixedBox(variables | {"heat": kb.Real(20, 90, step=5)}, constraints=rules)


def test_the_text_is_read_and_written():
    [rule] = parse_constraints("at_most(2, A, `b c`, 'D')")
    assert rule == AtMost(2, ("A", "b c", "D"))
    assert str(rule) == "at_most(2, A, `b c`, D)"
    assert parse_constraints(str(rule)) == (rule,)
    [bare] = parse_constraints("at_most(1, Temp (C), B)", ["Temp (C)"])
    assert bare.names == ("Temp (C)", "B")


@pytest.mark.parametrize("step", [None, 0.05])
def test_every_point_keeps_the_rule_and_all_supports_come(step):
    space = make_space(step, more=["A <= 0.6"])
    points = space.sample(150, seed=1)
    for x in points:
        assert x in space
        assert count_above(x) <= 2
        assert abs(sum(x[name] for name in NAMES) - 1) < 1e-9
    found = {tuple(name for name in NAMES if x[name] > 0) for x in points}
    assert {*combinations(NAMES, 2)} <= found
    rows = np.random.default_rng(0).normal(size=(20, space.dimension))
    assert all(space.decode(row) in space for row in space.nearest(rows))
    assert pickle.loads(pickle.dumps(space)) == space
    assert kb.MixedBox.from_dict(json.loads(json.dumps(space.to_dict()))) == space


@settings(max_examples=15, deadline=None)
@given(st.integers(3, 5), st.data())
def test_a_lattice_is_listed_exactly(n, data):
    names, most = NAMES[:n], data.draw(st.integers(1, n - 1))
    mixture = f"{' + '.join(names)} == 1"
    variables = {name: kb.Real(0, 1, step=0.25) for name in names}
    space = kb.MixedBox(variables, constraints=[mixture, AtMost(most, tuple(names))])
    every = kb.MixedBox(variables, constraints=[mixture]).grid().values
    wanted = {space.write_point(x) for x in every if count_above(x, names) <= most}
    assert {space.write_point(space.decode(row)) for row in space.all_rows()} == wanted
    assert space.count == len(wanted)
    row = space.all_rows()[data.draw(st.integers(0, len(wanted) - 1))]
    near = [space.decode(one) for one in space.neighbours(row)]
    assert all(x in space for x in near)
    assert near


def test_a_search_finds_the_best_of_all_supports():
    space = make_space(names="ABCD")

    def rises(rows):
        slopes = np.zeros_like(rows)
        slopes[:, 1], slopes[:, 3] = 4 * rows[:, 3], 4 * rows[:, 1]
        slopes[:, 0], slopes[:, 2] = rows[:, 2], rows[:, 0]
        return 4 * rows[:, 1] * rows[:, 3] + rows[:, 0] * rows[:, 2], slopes

    found = kb.domains.maximise(rises, space)
    np.testing.assert_allclose(found.row[:4], [0, 0.5, 0, 0.5], atol=1e-6)
    assert abs(found.value - 1) < 1e-9


@pytest.mark.thorough
def test_auto_and_a_study_keep_the_rule(tmp_path):
    space = make_space(0.05, names="ABCD")
    found = kb.optimize(lambda x: 4 * x["B"] * x["D"] - abs(x["heat"] - 55) / 50, space, 25, seed=1)
    assert all(trial.x in space for trial in found.trials)
    assert count_above(found.x) <= 2
    with kb.Study.create(tmp_path / "mix.db", space, target="y") as study:
        for _ in range(7):
            [one] = study.ask()
            assert one.x in space
            study.tell(one.trial, one.x["A"])
        assert study.replay(7).same
        study.check()
        with pytest.raises(ValueError, match=re.escape("at_most(2, A, B, C, D)")):
            study.tell(x={"A": 0.5, "B": 0.3, "C": 0.2, "D": 0.0, "heat": 20.0}, value=1.0)


def test_ranges_without_a_sum_and_two_rules():
    variables = {name: kb.Real(0, 5) for name in "ABCD"}
    rules = ["at_most(1, A, B)", "at_most(1, C, D)"]
    for x in kb.MixedBox(variables, constraints=rules).sample(50):
        assert count_above(x, "AB") <= 1
        assert count_above(x, "CD") <= 1


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("at_most(3, A, B, C)", "fewer than the 3 that are named, got 3"),
        ("at_most(0, A, B, C)", "a whole number count >= 1, got 0"),
        ("at_most(1, A, Z)", "names among"),
        ("at_most(1.5, A, B)", "at_most(2, A, B, C): how many of which numbers"),
        ("at_most(1, A, A)", "different names"),
        ("at_most(1, A, D)", "ranges from 0 on, got 'D'"),
        ("some(1, A, B)", "at_most(2, A, B, C): how many of which numbers"),
        (["at_most(1, A, B, C)", "A + B + C == 2"], "within the ranges no point satisfies"),
    ],
)
def test_rules_that_do_not_fit_are_refused(rule, message):
    variables = {name: kb.Real(0, 1) for name in "ABC"} | {"D": kb.Real(0.5, 1)}
    with pytest.raises(ValueError, match=re.escape(message)):
        kb.MixedBox(variables, constraints=rule)
