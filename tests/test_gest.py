"""The generator of the gest-api standard: its rules."""

from __future__ import annotations

import math

import numpy as np
import pytest
from gest_api.vocs import VOCS

from kernelbandits.gest import KernelBanditGenerator

VARIABLES = {"x": [0.0, 1.0], "level": {1, 2, 4}, "acid": {"citric", "acetic"}}


def make_generator(**settings):
    vocs = VOCS(
        variables=dict(VARIABLES),
        objectives={"loss": "MINIMIZE"},
        constants={"bath": 3},
        observables={"colour"},
    )
    return KernelBanditGenerator(vocs, **settings)


def evaluate(point):
    loss = (point["x"] - 0.3) ** 2 + abs(point["level"] - 2) + (point["acid"] == "citric")
    return {**point, "loss": loss, "colour": "red"}


@pytest.mark.thorough
def test_it_minimises_with_results_in_any_order():
    generator = make_generator(seed=1)
    seen = []
    for _ in range(8):
        points = generator.suggest(3)
        assert all(point["bath"] == 3 for point in points)
        results = [evaluate(point) for point in reversed(points)]
        generator.ingest(results)
        seen += results
    best = min(seen, key=lambda result: result["loss"])
    assert (best["level"], best["acid"]) == (2, "acetic")
    assert abs(best["x"] - 0.3) < 0.15
    generator.finalize()


def test_as_many_points_are_suggested_as_are_asked_for_and_all_differ():
    generator = make_generator(seed=1, batch=2)
    assert len(generator.suggest(None)) == 2
    points = generator.suggest(4) + generator.suggest()
    keys = {(point["x"], point["level"], point["acid"]) for point in points}
    assert len(keys) == 6
    assert len({point["_id"] for point in points}) == 6
    with pytest.raises(ValueError, match="num_points"):
        generator.suggest(0)


def test_a_refused_result_changes_nothing():
    generator = make_generator(seed=1)
    (point,) = generator.suggest(1)
    good = evaluate(point)
    for bad, words in (
        ({**good, "_id": 99}, "_id"),
        ({**evaluate(point), "x": 7.0}, "x"),
        ({name: value for name, value in good.items() if name != "loss"}, "loss"),
        ({name: value for name, value in good.items() if name != "level"}, "level"),
    ):
        with pytest.raises(ValueError, match=words):
            generator.ingest([bad])
    # A good result beside a bad one is not learnt either.
    with pytest.raises(ValueError, match="_id"):
        generator.ingest([good, {**good, "_id": 99}])
    assert generator.policy.n_rewards == 0
    assert list(generator.pending) == [point["_id"]]


def test_a_result_is_a_number_of_any_type_and_no_text():
    generator = make_generator(seed=1)
    [point] = generator.suggest(1)
    with pytest.raises(TypeError, match=r"^ingest needs a number as 'loss', got '0.5' \(str\)$"):
        generator.ingest([{**point, "loss": "0.5"}])
    generator.ingest([{**point, "loss": np.array([0.5])}])
    assert generator.policy.n_rewards == 1


def test_foreign_points_and_failures_are_learnt():
    generator = make_generator(seed=1)
    foreign = {"x": 0.5, "level": 4, "acid": "citric", "bath": 3, "loss": 2.0, "colour": "red"}
    generator.ingest([foreign, {**foreign, "x": 0.6, "loss": math.nan}])
    assert generator.policy.n_rewards == 1
    assert len(generator.policy.failed) == 1


@pytest.mark.parametrize(
    "parts",
    [
        {"objectives": {"a": "MINIMIZE", "b": "MAXIMIZE"}},
        {"objectives": {"a": "EXPLORE"}},
        {"objectives": {"a": "MINIMIZE"}, "constraints": {"c": ["LESS_THAN", 0.0]}},
        {"objectives": {"a": "MINIMIZE"}, "variables": {"x": "CONTEXTUAL"}},
    ],
)
def test_what_it_has_no_model_of_is_refused(parts):
    with pytest.raises(ValueError, match="KernelBanditGenerator needs"):
        KernelBanditGenerator(VOCS(**{"variables": {"x": [0.0, 1.0]}, **parts}))
