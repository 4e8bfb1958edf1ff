"""Variables that are there only when others have certain values."""

import json
import pickle
import re
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.domains.conditions import Activity
from kernelbandits.domains.constraints import parse_conditions

SVM = {
    "gamma": kb.Real(1e-4, 1, log=True, when={"kernel": ["rbf", "poly"]}),
    "kernel": kb.Category(("rbf", "poly", "linear")),
    "degree": kb.Integer(2, 5, when="kernel == 'poly'"),
    "coef": kb.Real(0, 1, step=0.5, when="degree >= 4"),
    "C": kb.Real(0.1, 10),
}


def is_active(space: kb.MixedBox, x: dict, name: str) -> bool:
    """Tell by definition whether a variable is there: its conditions hold, of variables there."""
    variable = dict(zip(space.names, space.variables, strict=True))[name]
    for condition in parse_conditions(variable.when) if variable.when else ():
        parent = condition.names[0]
        if not is_active(space, x, parent):
            return False
        value = x[parent]
        if hasattr(condition, "values"):
            if not condition.holds(value):
                return False
        else:
            ((_, factor),) = condition.coefficients
            compared = f"{factor * value!r} {condition.relation} {condition.bound!r}"
            if not eval(compared):
                return False
    return True


@st.composite
def random_spaces(draw, finite=False):
    """Draw a space in which each variable may depend on some of the discrete ones before it."""
    variables, names = {}, draw(st.permutations("abcdef"))
    for i, name in enumerate(names[: draw(st.integers(2, 4 if finite else 6))]):
        parents = [one for one in list(variables)[:i] if not isinstance(variables[one], kb.Real)]
        when = {}
        for parent in parents:
            if draw(st.integers(0, 2)) == 0:
                values = variables[parent].grid_values(None)
                chosen = draw(st.lists(st.sampled_from(values), min_size=1, unique=True))
                if isinstance(variables[parent], kb.Integer):
                    when[parent] = f">= {min(chosen)}"
                else:
                    when[parent] = chosen
        kind = draw(st.integers(0, 2 if finite else 3))
        variables[name] = (
            kb.Integer(0, 3, when=when or None),
            kb.Category(("p", "q", "r"), when=when or None),
            kb.Ordered((1, 2, 4), when=when or None),
            kb.Real(0.1, 1, log=draw(st.booleans()), when=when or None),
        )[kind]
    order = draw(st.permutations(list(variables)))
    return kb.MixedBox({name: variables[name] for name in order})


@settings(max_examples=25, deadline=None)
@given(random_spaces(), st.integers(0, 1000))
def test_a_point_has_the_variables_whose_conditions_hold_and_comes_back_from_row_and_text(
    space, seed
):
    for x in space.sample(20, seed):
        assert x in space
        assert space.canonical(x) == x
        full = {name: x.get(name) for name in space.names}
        assert set(x) == {name for name in space.names if is_active(space, full, name)}
        assert space.decode(space.encode(x)) == x
        assert space.read_point(space.write_point(x)) == x
        row = space.encode(x)
        np.testing.assert_array_equal(space.neutralise(row[None])[0], row)


@settings(max_examples=25, deadline=None)
@given(random_spaces(), st.integers(0, 1000))
def test_inactive_values_never_matter(space, seed):
    rng = np.random.default_rng(seed)
    free = space.unconditional
    for x in space.sample(5, seed):
        other = free.decode(free.from_unit(rng.random((1, space.sides)))[0]) | x
        assert space.encode(other).tolist() == space.encode(x).tolist()
        assert space.write_point(other) == space.write_point(x)
        blank = dict.fromkeys(space.names) | x
        assert space.canonical(blank) == x


@settings(max_examples=25, deadline=None)
@given(random_spaces(finite=True))
def test_a_finite_space_lists_and_counts_each_point_once(space):
    every = {
        space.write_point(dict(zip(space.names, values, strict=True)))
        for values in product(*(one.grid_values(None) for one in space.variables))
    }
    rows = space.all_rows()
    assert space.count == len(rows) == len(every)
    assert {space.write_point(space.decode(row)) for row in rows} == every
    table = space.grid()
    assert {space.write_point(x) for x in table.values} == every
    assert len(table) == len(every)


@settings(max_examples=25, deadline=None)
@given(random_spaces())
def test_a_space_with_conditions_comes_back_from_json_and_pickle(space):
    again = kb.MixedBox.from_dict(json.loads(json.dumps(space.to_dict())))
    assert again == space
    assert again.to_dict() == space.to_dict()
    assert pickle.loads(pickle.dumps(space)) == space
    assert hash(again) == hash(space)


@settings(max_examples=15, deadline=None)
@given(random_spaces(), st.integers(0, 1000))
def test_neighbours_and_nearest_rows_are_rows_of_points(space, seed):
    row = space.from_unit(np.random.default_rng(seed).random((1, space.sides)))[0]
    raw = np.random.default_rng(seed).normal(size=(5, space.dimension))
    for one in [*space.neighbours(row), *space.nearest(raw)]:
        np.testing.assert_allclose(space.encode(space.decode(one)), one, atol=1e-9)


@pytest.mark.parametrize(
    "constraints",
    [
        ["gamma <= C"],
        ["not (degree == 3 and C > 5)", "gamma + C <= 8"],
        ["coef + degree <= 5", "not (gamma > 0.5 and kernel == 'rbf')"],
    ],
)
def test_a_constraint_holds_where_all_its_variables_are_there(constraints):
    space = kb.MixedBox(SVM, constraints=constraints)
    points = space.sample(100, seed=1)
    for x in points:
        assert x in space
        assert space.decode(space.encode(x)) == x
        if {"gamma", "C"} <= {*x} and constraints[0] == "gamma <= C":
            assert x["gamma"] <= x["C"]
        if "coef" in x and constraints[0].startswith("coef"):
            assert x["coef"] + x["degree"] <= 5
    assert {x["kernel"] for x in points} == {"rbf", "poly", "linear"}
    # The neutral gamma, 0.01, would break gamma + C <= 8 with no C: it is not there.
    linear = {"kernel": "linear", "C": 10.0}
    assert linear in space


def test_a_finite_space_with_constraints_and_conditions_is_listed():
    space = kb.MixedBox(
        {
            "coef": kb.Real(0, 1, step=0.5, when="degree >= 4"),
            "kernel": ["rbf", "poly"],
            "degree": kb.Integer(2, 5, when="kernel == 'poly'"),
            "width": kb.Ordered((1, 2, 3), when="kernel == 'rbf'"),
        },
        constraints=["coef + degree <= 5", "not (width == 2 and kernel == 'rbf')"],
    )
    assert space.count == 2 + 2 + 3 + 1
    assert all(space.decode(row) in space for row in space.all_rows())


def test_auto_finds_the_best_of_a_branch():
    def score(x):
        assert ("gamma" in x) == (x["kernel"] != "linear")
        if x["kernel"] == "linear":
            return -2.0
        return -((np.log10(x["gamma"]) + 2) ** 2) + (x.get("degree") == 4)

    names = ("gamma", "kernel", "degree")
    space = kb.MixedBox({name: SVM[name] for name in names})
    found = kb.optimize(score, space, 25, seed=1)
    assert found.x["kernel"] == "poly"
    assert found.x["degree"] == 4
    assert abs(np.log10(found.x["gamma"]) + 2) < 0.3
    again = kb.Auto.from_dict(found.policy.to_dict())
    assert again.domain == space
    assert again.ask().x == found.policy.ask().x


def test_a_search_does_not_move_what_is_inactive():
    space = kb.MixedBox({name: SVM[name] for name in ("gamma", "kernel", "C")})
    column = space.dimension - 1

    def rises_everywhere(rows):
        return rows[:, 0] + rows[:, column] - 100 * rows[:, 1], np.ones_like(rows)

    row = kb.domains.maximise(rises_everywhere, space).row
    np.testing.assert_array_equal(space.neutralise(row[None])[0], row)


def test_a_part_of_a_space_keeps_conditions():
    space = kb.MixedBox({name: SVM[name] for name in ("gamma", "kernel", "C")})
    part = kb.domains.Part(space, {"kernel": "linear"})
    assert all(set(x) == {"kernel", "C"} for x in part.box.sample(5))
    rows = part.expand(part.box.from_unit(np.random.default_rng(0).random((5, 3))))
    np.testing.assert_array_equal(space.neutralise(rows), rows)
    other = kb.domains.Part(space, {"kernel": "rbf"})
    assert all("gamma" in x for x in other.box.sample(5))


def test_a_tuple_has_none_for_what_is_inactive():
    space = kb.MixedBox((kb.Category(("a", "b")), kb.Real(0, 1, when="x1 == 'a'")))
    assert space.canonical(("b", 0.3)) == ("b", None)
    assert ("b", None) in space
    assert ("a", None) not in space


def test_names_with_blanks_are_kept_between_backticks():
    space = kb.MixedBox(
        {"Bath (oil)": ["yes", "no"], "heat": kb.Real(20, 90, when="Bath (oil) == 'yes'")}
    )
    assert space.variables[1].when == "`Bath (oil)` == 'yes'"
    assert kb.MixedBox.from_dict(space.to_dict()) == space


@pytest.mark.parametrize("entry", ["real 0:1 when k == 'a'", {"low": 0.0, "high": 1.0}])
def test_files_and_texts_have_the_same_word(entry):
    written = entry if isinstance(entry, str) else {**entry, "when": "k == 'a'"}
    space = kb.MixedBox({"k": ["a", "b"], "x": written})
    assert space == kb.MixedBox({"k": ["a", "b"], "x": kb.Real(0, 1, when={"k": "a"})})


@pytest.mark.parametrize(
    ("variables", "sentence"),
    [
        (
            {"a": kb.Integer(0, 3, when="b == 1"), "b": kb.Integer(0, 3, when="a == 1")},
            "conditions that do not lead back to their own variable, got",
        ),
        ({"a": kb.Integer(0, 3, when="a == 1")}, "lead back"),
        ({"b": ["x"], "a": kb.Real(0, 1, when="c == 'x'")}, "names among b, a, got 'c'"),
        ({"b": ["x", "y"], "a": kb.Real(0, 1, when="b == 'z'")}, "one of x, y for 'b'"),
        ({"b": ["x", "y"], "a": kb.Real(0, 1, when="b > 3")}, "== or in for the choice 'b'"),
        ({"b": kb.Integer(1, 3), "a": kb.Real(0, 1, when="b > 3")}, "a condition that can hold"),
        ({"b": kb.Real(1, 3), "a": kb.Real(0, 1, when="b > 2")}, "choices or whole numbers"),
        ({"b": kb.Integer(1, 9999), "a": kb.Real(0, 1, when="b > 2")}, "at most 1000 values"),
        ({"b": ["x", "y"], "a": kb.Real(0, 1, when="b")}, "a comparison such as x <= 1, got 'b'"),
        (
            {"b": kb.Integer(1, 3), "c": kb.Integer(1, 3), "a": kb.Real(0, 1, when="b + c > 3")},
            "one variable in each comparison",
        ),
    ],
)
def test_a_condition_that_cannot_be_met_exactly_is_refused(variables, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        kb.MixedBox(variables)


@pytest.mark.parametrize("when", ["", 3, []])
def test_when_is_a_text_or_a_mapping(when):
    with pytest.raises(ValueError, match="Real needs when as a text"):
        kb.Real(0, 1, when=when)


def test_an_equality_of_conditional_variables_is_refused():
    with pytest.raises(ValueError, match="no == between variables that are there only under"):
        kb.MixedBox(SVM, constraints=["gamma + C == 1"])


def test_a_missing_value_says_why_it_is_needed():
    space = kb.MixedBox(SVM)
    reason = space.why_not({"kernel": "rbf", "C": 1.0})
    assert reason.endswith("for 'gamma', because kernel in ('rbf', 'poly'), got nothing")
    assert space.why_not({"kernel": "linear"}).startswith("values of gamma, kernel")


def test_a_box_without_conditions_has_no_activity():
    assert Activity.of((kb.Real(0, 1),), ("a",)) is None
