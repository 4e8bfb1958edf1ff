from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import qmc

from kernelbandits import problems
from kernelbandits.problems import GaussianNoise, SampledFunction
from kernelbandits.streams import Streams

PUBLISHED = {
    "holder-table": (problems.holder_table(), -19.2085, 4),
    "cross-in-tray": (problems.cross_in_tray(), -2.06261, 4),
    "ackley4": (problems.ackley(), 0.0, 1),
    "ackley1": (problems.ackley(1), 0.0, 1),
    "hartmann3": (problems.hartmann(3), -3.86278, 1),
    "hartmann6": (problems.hartmann(), -3.32237, 1),
    "branin": (problems.branin(), 0.397887, 3),
    "six-hump-camel": (problems.six_hump_camel(), -1.0316, 2),
    "levy1": (problems.levy(1), 0.0, 1),
    "levy4": (problems.levy(4), 0.0, 1),
    "rosenbrock2": (problems.rosenbrock(), 0.0, 1),
    "rosenbrock5": (problems.rosenbrock(5), 0.0, 1),
}
FUNCTIONS = [function for function, _, _ in PUBLISHED.values()]


@pytest.mark.parametrize(("name", "entry"), PUBLISHED.items())
def test_the_minimum_is_the_published_one_and_attained_at_every_minimiser(name, entry):
    function, minimum, count = entry
    assert function.name == name
    assert abs(function.minimum - minimum) < 6e-5
    assert len(set(function.minimisers)) == count
    np.testing.assert_allclose(function(function.minimisers), function.minimum, atol=1e-12)
    assert function.optimum == -function.minimum
    assert function.maximisers == function.minimisers


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_a_search_from_many_points_finds_nothing_lower(function):
    starts = function.natural(qmc.Sobol(function.dimension, seed=0).random(4096))
    best = starts[np.argsort(function(starts))[:12]]
    bounds = list(zip(function.lower, function.upper, strict=True))
    found = [minimize(lambda x: function(x[None])[0], x, bounds=bounds).fun for x in best]
    assert min(found) > function.minimum - 1e-9
    if function.name not in ("ackley4", "rosenbrock5"):
        assert min(found) < function.minimum + 1e-3


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_no_step_from_a_minimiser_leads_lower(function):
    steps = np.random.default_rng(0).normal(size=(2000, function.dimension))
    steps *= 10.0 ** np.random.default_rng(1).uniform(-7, -1, size=(2000, 1))
    for x in function.minimisers:
        assert function(np.array(x) + steps).min() >= function.minimum - 1e-12


@pytest.mark.parametrize(
    ("function", "x", "value"),
    [
        (problems.branin(), [0.0, 0.0], 36 + 10 * (1 - 1 / (8 * math.pi)) + 10),
        (problems.six_hump_camel(), [1.0, 1.0], 4 - 2.1 + 1 / 3 + 1 + 0),
        (problems.rosenbrock(3), [0.0, 1.0, 2.0], 100 + 1 + 100 + 0),
        (problems.levy(2), [-3.0, 5.0], 0 + 1 * (1 + 10 * math.sin(1) ** 2) + 1),
        (problems.ackley(2), [1.0, 1.0], 20 - 20 * math.exp(-0.2)),
        (problems.holder_table(), [math.pi / 2, 0.0], -math.exp(0.5)),
        (problems.cross_in_tray(), [0.0, 3.0], -1e-4),
    ],
)
def test_the_formula_gives_the_value_worked_out_by_hand(function, x, value):
    np.testing.assert_allclose(function([x]), [value], rtol=1e-12)


def test_boxes_are_those_of_the_library():
    assert (problems.ackley().lower, problems.ackley().upper) == ((-32.768,) * 4, (32.768,) * 4)
    assert (problems.branin().lower, problems.branin().upper) == ((-5.0, 0.0), (10.0, 15.0))
    assert (problems.six_hump_camel().lower, problems.six_hump_camel().upper) == (
        (-3.0, -2.0),
        (3.0, 2.0),
    )
    assert (problems.rosenbrock(3).lower, problems.rosenbrock(3).upper) == (
        (-5.0,) * 3,
        (10.0,) * 3,
    )


def test_titles_name_the_dimension():
    assert [f.title for f in FUNCTIONS if f.dimension in (4, 6)] == [
        "Ackley (d = 4)",
        "Hartmann (d = 6)",
        "Levy (d = 4)",
    ]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_the_unit_cube_and_the_box_are_mapped_onto_each_other(function):
    corners = np.array([np.zeros(function.dimension), np.ones(function.dimension)])
    np.testing.assert_array_equal(function.natural(corners), [function.lower, function.upper])
    points = np.random.default_rng(0).random((20, function.dimension))
    np.testing.assert_allclose(function.unit(function.natural(points)), points, atol=1e-14)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.name)
def test_candidates_live_in_the_unit_cube_and_their_rewards_fill_the_unit_interval(function):
    instance = SampledFunction(function).instance(Streams(2))
    assert instance.domain.points.shape == (50, function.dimension)
    assert ((instance.domain.points >= 0) & (instance.domain.points < 1)).all()
    assert (instance.values.min(), instance.optimum) == (0.0, 1.0)


def test_the_best_arm_is_the_candidate_of_least_function_value():
    problem = SampledFunction(problems.branin(), candidates=200)
    instance = problem.instance(Streams(1))
    assert (
        instance.best == problem.function(problem.function.natural(instance.domain.points)).argmin()
    )


def test_unscaled_rewards_are_minus_the_function():
    problem = SampledFunction(
        problems.hartmann(3), candidates=30, scale=False, noise=GaussianNoise(0.2)
    )
    instance = problem.instance(Streams(1))
    np.testing.assert_array_equal(instance.values, problem.reward(instance.domain.points))
    assert 0 <= instance.values.min() < instance.optimum < 3.8627798
    assert instance.noise == problem.noise == GaussianNoise(0.2)


def test_one_candidate_has_value_zero():
    assert SampledFunction(problems.branin(), candidates=1).instance(
        Streams(0)
    ).values.tolist() == [0.0]


@pytest.mark.parametrize("candidates", [0, -1, 2.0, True, None])
def test_a_bad_number_of_candidates_is_refused(candidates):
    with pytest.raises(
        ValueError, match="SampledFunction needs a whole number candidates >= 1, got"
    ):
        SampledFunction(problems.branin(), candidates=candidates)


@pytest.mark.parametrize(
    "points",
    [[[0.5]], [[0.5, 0.5, 0.5]], [0.5, 0.5], [[0.5, math.nan]], [[0.5, 1.01]], [[-0.1, 0.5]]],
)
def test_points_outside_the_unit_cube_or_of_another_dimension_are_refused(points):
    with pytest.raises(ValueError, match=r"Branin \(d = 2\) needs .*, got"):
        SampledFunction(problems.branin()).reward(points)


@pytest.mark.parametrize(
    "build",
    [
        lambda: problems.hartmann(4),
        lambda: problems.ackley(0),
        lambda: problems.levy(1.5),
        lambda: problems.rosenbrock(1),
        lambda: SampledFunction("branin"),
        lambda: SampledFunction(problems.branin(), noise=0.01),
    ],
)
def test_what_cannot_be_built_is_refused(build):
    with pytest.raises(ValueError, match=r"needs .*, got"):
        build()


@pytest.mark.parametrize(
    ("lower", "upper", "minimisers", "minimum"),
    [
        ((-1.0,), (-1.0,), ((-1.0,),), 1.0),
        ((-1.0,), (1.0, 2.0), ((0.0,),), 0.0),
        ((-1.0,), (1.0,), ((0.0, 0.0),), 0.0),
        ((-1.0,), (1.0,), ((2.0,),), 4.0),
        ((-1.0,), (1.0,), ((0.0,),), 1e-6),
        ((-1.0,), (1.0,), (), 0.0),
        ((), (), ((),), 0.0),
    ],
)
def test_a_function_that_does_not_know_its_minimum_is_refused(lower, upper, minimisers, minimum):
    with pytest.raises(ValueError, match=r"TestFunction needs .*, got"):
        problems.TestFunction(
            "square", "Square", lambda x: (x**2).sum(1), lower, upper, minimisers, minimum
        )
