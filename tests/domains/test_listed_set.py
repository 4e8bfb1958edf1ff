"""Spaces of which a function allows some points."""

import json
import pickle
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb

VARIABLES = {
    "a": kb.Integer(0, 9),
    "b": kb.Real(0, 1, step=0.2),
    "c": kb.Category(("x", "y", "z")),
    "r": kb.Real(1e-2, 1, log=True, digits=1),
}


def is_allowed(x):
    return x["a"] * x["b"] < 3 and (x["c"] != "y" or x["a"] % 2 == 0)


@pytest.fixture(scope="module")
def space():
    return kb.MixedBox(VARIABLES, allowed=is_allowed)


@pytest.mark.thorough
def test_the_points_are_those_that_the_function_allows(space):
    every = kb.MixedBox(VARIABLES).grid().values
    listed = {space.write_point(space.decode(row)) for row in space.all_rows()}
    assert listed == {space.write_point(x) for x in every if is_allowed(x)}
    assert space.count == len(listed)
    assert all(is_allowed(x) for x in space.sample(200, seed=1))
    outside = next(x for x in every if not is_allowed(x))
    assert outside not in space
    assert space.why_not(outside).startswith("a point with values that are allowed together, got")


def test_the_function_is_asked_once_about_each_point_and_not_kept():
    asked = []

    def remember(x):
        asked.append(x)
        return is_allowed(x)

    space = kb.MixedBox(VARIABLES, allowed=remember)
    assert len(asked) == kb.MixedBox(VARIABLES).count
    again = pickle.loads(pickle.dumps(space))
    assert again == space == kb.MixedBox.from_dict(json.loads(json.dumps(space.to_dict())))
    assert hash(again) == hash(space)
    np.testing.assert_array_equal(again.all_rows(), space.all_rows())
    assert len(asked) == kb.MixedBox(VARIABLES).count


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10_000), st.integers(0, 2**31))
def test_no_row_leaves_the_list_for_any_function(seed, chosen):
    variables = {
        "n": kb.Integer(0, 3),
        "k": kb.Category(("p", "q")),
        "m": kb.Integer(0, 4, when="k == 'p'"),
    }
    points = kb.MixedBox(variables).grid().values
    rng = np.random.default_rng(chosen)
    kept = [x for x, keep in zip(points, rng.random(len(points)) < 0.3, strict=True) if keep]
    kept = kept if len(kept) > 1 else points[:2]
    space = kb.MixedBox(variables, allowed=lambda x: x in kept)
    assert space.count == len(kept)
    assert all(x in kept for x in space.sample(10, seed))
    rows = np.random.default_rng(seed).normal(size=(5, space.dimension))
    assert all(space.decode(row) in kept for row in space.nearest(rows))
    row = space.encode(kept[0])
    neighbours = [space.decode(one) for one in space.neighbours(row)]
    assert all(x in kept for x in neighbours)
    assert neighbours


@pytest.mark.thorough
def test_a_search_and_a_study_keep_to_the_list(space, tmp_path):
    def score(x):
        return x["a"] * x["b"] + (x["c"] == "y") - abs(np.log(x["r"] / 0.05))

    found = kb.optimize(score, space, 35, seed=1)
    assert all(is_allowed(trial.x) for trial in found.trials)
    best = max(score(space.decode(row)) for row in space.all_rows())
    assert score(found.x) > best - 0.5
    assert kb.Auto.from_dict(found.policy.to_dict()).domain == space
    with kb.Study.create(tmp_path / "listed.db", space, target="y") as study:
        for _ in range(6):
            [one] = study.ask()
            study.tell(one.trial, score(one.x))
    with kb.Study.open(tmp_path / "listed.db") as study:
        assert study.space == space
        assert study.replay(6).same
        assert all(is_allowed(one.x) for one in study.ask(3, same="c"))
        with pytest.raises(ValueError, match="without a list of allowed points"):
            study.change(ranges={"a": (0, 12)})
        with pytest.raises(ValueError, match="values that are allowed together"):
            study.tell(x={"a": 9, "b": 1.0, "c": "x", "r": 0.1}, value=1.0)


def test_constraints_and_a_function_hold_together():
    space = kb.MixedBox(VARIABLES, constraints=["a <= 5"], allowed=is_allowed)
    assert all(x["a"] <= 5 and is_allowed(x) for x in space.sample(50))
    part = kb.domains.Part(space, {"c": "y"}).box
    assert all(x["a"] % 2 == 0 for x in part.sample(20))


@pytest.mark.parametrize(
    ("variables", "allowed", "message"),
    [
        (VARIABLES, lambda x: 1, "needs True or False from allowed({'a': 0"),
        (VARIABLES, lambda x: False, "needs a function that allows several points, got 0"),
        (VARIABLES, 3, "needs allowed as a function of a point"),
        (VARIABLES, "5:abc", "needs allowed as bits of 3420 points"),
        (
            {"a": (0.0, 1.0)},
            is_allowed,
            "constraints in place of the function, got any number of a",
        ),
        (
            {"a": kb.Integer(1, 1000), "b": kb.Integer(1, 1000)},
            is_allowed,
            "at most 100000 points for a function",
        ),
    ],
)
def test_what_no_list_can_be_made_of_is_refused(variables, allowed, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        kb.MixedBox(variables, allowed=allowed)
