"""`theory.design` beside grids of laws, random laws, closed forms and the constants."""

from __future__ import annotations

import doctest
import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtr

import kernelbandits as kb
from conftest import pairwise
from kernelbandits.exploration import Bernoulli, Categorical, Gaussian, Mixture, PointMass, Step
from kernelbandits.theory import bound_factor, design, designer
from kernelbandits.theory.designer import FAMILIES, OBJECTIVES

UCB = {"repaired": 4.0, "tight": 2.0, "printed": 5.0}
FOLD = math.sqrt(2 / math.pi)
NODES, WEIGHTS = np.polynomial.legendre.leggauss(400)


def gaussian_factor(scale: float, horizon: int, objective: str) -> float:
    """The factor of N(0, scale^2) by one plain integral over [0, 12] standard deviations."""
    u, c1, mean = 6 * (NODES + 1), ndtr(-1 / scale), scale * FOLD
    greatest = scale * 6 * float(WEIGHTS @ (1 - (2 * ndtr(u) - 1) ** horizon))
    above = scale * 6 * float(WEIGHTS @ (1 - ndtr(u) ** horizon))
    c3 = (greatest + mean) / c1
    return {
        "repaired": 1 + greatest + c3,
        "tight": 1 + greatest + above / c1,
        "printed": greatest + 2 * c3,
    }[objective]


def bernoulli_factor(p: float, horizon: int, objective: str) -> float:
    some = 1 - (1 - p) ** horizon
    c3 = some / p + 1
    return {"repaired": 1 + some + c3, "tight": 1 + some / p, "printed": some + 2 * c3}[objective]


def test_the_golden_gaussian_of_the_printed_bound():
    answer = design(1000, family="gaussian", objective="printed")
    assert answer.law.scale == pytest.approx(1.256, abs=5e-4)
    assert answer.factor == pytest.approx(54.25, abs=5e-3)
    assert bound_factor(Gaussian(0, 1), 1000, "printed") == pytest.approx(56.80, abs=5e-3)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("horizon", [3, 50, 1000])
def test_no_scale_of_a_grid_is_better_than_the_gaussian_found(objective, horizon):
    answer = design(horizon, family="gaussian", objective=objective)
    mine = gaussian_factor(answer.law.scale, horizon, objective)
    assert answer.factor == pytest.approx(mine, rel=1e-9)
    for scale in (*np.geomspace(0.15, 8, 200), answer.law.scale - 1e-4, answer.law.scale + 1e-4):
        assert gaussian_factor(scale, horizon, objective) >= mine


@pytest.mark.parametrize("horizon", [3, 10**4, 10**6, 10**12])
def test_the_best_gaussian_scale_hardly_depends_on_the_horizon(horizon):
    for objective in OBJECTIVES:
        assert 1.1 < design(horizon, family="gaussian", objective=objective).law.scale < 1.3


def test_the_gaussian_has_the_largest_scale_of_its_budget_up_to_its_best_scale():
    best = design(1000, family="gaussian").law.scale
    for budget, scale in ((0.4, 0.4 / FOLD), (0.8, 0.8 / FOLD), (3.0, best)):
        law = design(1000, family="gaussian", budget=budget).law
        assert law.scale == pytest.approx(scale, abs=1e-9)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("family", ["any", "bernoulli", "categorical"])
@pytest.mark.parametrize("budget", [None, 1.0, 2.5])
def test_without_a_budget_below_one_the_answer_is_ucb(family, objective, budget):
    answer = design(200, family=family, objective=objective, budget=budget)
    assert answer.factor == pytest.approx(UCB[objective], abs=1e-12)
    assert (answer.mean_abs, answer.constants.c1, answer.constants.c2) == (1.0, 1.0, 1.0)
    assert "UCB (w = 1)" in answer.sentence
    assert "It is proved that no law has a smaller factor." in answer.sentence


@pairwise(
    budget=[0.001, 0.05, 0.4, 0.99],
    objective=OBJECTIVES,
    family=["any", "bernoulli"],
    horizon=[3, 1000],
)
def test_with_a_budget_below_one_the_answer_is_bernoulli(family, budget, objective, horizon):
    answer = design(horizon, family=family, objective=objective, budget=budget)
    assert answer.law == Bernoulli(budget)
    assert answer.factor == pytest.approx(bernoulli_factor(budget, horizon, objective), rel=1e-12)


@settings(max_examples=60)
@given(
    st.integers(3, 2000),
    st.lists(st.tuples(st.floats(-2, 3), st.floats(0.01, 1)), min_size=1, max_size=6),
    st.sampled_from(sorted(OBJECTIVES)),
)
def test_no_random_law_has_a_smaller_factor_than_ucb_or_the_bernoulli_law_of_its_budget(
    horizon, atoms, objective
):
    total = sum(weight for _, weight in atoms)
    law = Categorical(
        [weight / total for _, weight in atoms], support=[value for value, _ in atoms]
    )
    if law.optimism > 0:
        factor = bound_factor(law, horizon, objective)
        assert factor >= UCB[objective] - 1e-9
        if law.mean_abs < 1:
            assert factor >= design(horizon, budget=law.mean_abs, objective=objective).factor - 1e-9


def bernoulli_grid(horizon):
    return [Bernoulli(p) for p in np.linspace(0, 1, 41)[1:]]


def categorical_grid(horizon, values=4, steps=8):
    """All laws on 1/K, ..., 1 whose chances are multiples of 1/8 and whose P(w = 1) is positive."""
    cuts = itertools.product(range(steps + 1), repeat=values - 1)
    counts = [(*cut, steps - sum(cut)) for cut in cuts if sum(cut) < steps]
    return [Categorical(np.array(count) / steps) for count in counts]


def mixture_grid(horizon):
    return [
        Mixture((rho, 1 - rho), (PointMass(1.0), Gaussian(0.0, scale)))
        for rho in np.linspace(0.05, 1, 6)
        for scale in (0.0, 0.1, 0.5, 1.0, 2.0)
    ]


def step_grid(horizon):
    chances = np.linspace(0.1, 1, 7)
    return [
        Step(Bernoulli(first), Bernoulli(second), last)
        for first, second in itertools.product(chances, chances)
        for last in sorted({1, horizon // 2, horizon - 1})
    ]


def normal_grid(horizon):
    """N(mean, scale^2), with and without a mean of zero."""
    means, scales = (-0.5, 0.0, 0.3, 0.7, 0.9, 1.0, 1.3), (0.1, 0.3, 0.6, 1.0, 1.25, 2.0)
    return [Gaussian(mean, scale) for mean in means for scale in scales]


def mean_exploration(exploration, horizon):
    """E|w|, averaged over the rounds."""
    if isinstance(exploration, Step):
        first, second = exploration.first.mean_abs, exploration.second.mean_abs
        return (exploration.last * first + (horizon - exploration.last) * second) / horizon
    return exploration.mean_abs


@pairwise(
    searched=[
        (bernoulli_grid, "bernoulli"),
        (categorical_grid, "categorical"),
        (categorical_grid, "any"),
        (mixture_grid, "any"),
        (step_grid, "any"),
        (normal_grid, "any"),
    ],
    horizon=[3, 1000],
    objective=OBJECTIVES,
)
def test_no_law_of_a_grid_within_the_budget_is_better(searched, horizon, objective):
    grid, family = searched
    rated = [
        (mean_exploration(law, horizon), bound_factor(law, horizon, objective), law)
        for law in grid(horizon)
    ]
    for budget in (0.35, 0.45, 0.5, 0.75, 0.9, None):
        answer = design(horizon, family=family, objective=objective, budget=budget)
        assert answer.mean_abs <= (budget or 1.0) + 1e-12
        within = [row for row in rated if budget is None or row[0] <= budget]
        assert within
        for _, factor, law in within:
            assert factor >= answer.factor * (1 - 1e-12), law


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_answer_keeps_the_budget_and_its_parts_agree(family, objective):
    answer = design(30, family=family, objective=objective, budget=0.45)
    assert answer.mean_abs <= 0.45 + 1e-12
    assert answer.factor == bound_factor(answer.law, 30, objective)
    assert answer.constants == kb.theory.constants(answer.law, 30)
    assert (answer.family, answer.horizon, answer.objective, answer.budget) == (
        family,
        30,
        objective,
        0.45,
    )
    assert answer == design(30, family=family, objective=objective, budget=0.45)
    for part in ("with E|w| <= 0.45", answer.name, answer.reason, f"{answer.factor:.4g}"):
        assert part in answer.sentence


def test_the_categorical_law_has_the_rest_of_its_chance_on_the_smallest_value():
    assert design(12, family="categorical", budget=0.6).law.weights == pytest.approx(
        (8 / 15, 0, 0, 7 / 15)
    )
    assert design(12, family="categorical", budget=0.4, values=7).law.weights == pytest.approx(
        (0.7, 0, 0, 0, 0, 0, 0.3)
    )


def test_the_law_that_minimises_the_factor_minimises_the_bound_whatever_the_rest_is():
    better = design(1000, family="gaussian", objective="tight").law
    for gain, noise, norm_bound in itertools.product((0.5, 40.0), (0.0, 2.0), (0.1, 9.0)):
        told = {"noise_scale": noise, "norm_bound": norm_bound}
        bounds = [
            kb.theory.regret_bound(law, 1000, gain, **told).tight
            for law in (better, Gaussian(0.0, 1.0))
        ]
        assert bounds[0] < bounds[1]


BAD = [
    ((10,), {"family": "cauchy"}, "design needs family in"),
    ((10,), {"family": None}, "design needs family in"),
    ((0,), {}, "design needs a whole number horizon >= 3, got 0"),
    ((2,), {}, "horizon >= 3"),
    ((10.5,), {}, "horizon >= 3"),
    ((True,), {}, "horizon >= 3"),
    (("10",), {}, "horizon >= 3"),
    ((10,), {"objective": "loose"}, "design needs objective in"),
    ((10,), {"budget": 0}, "design needs budget > 0, got 0"),
    ((10,), {"budget": -1.0}, "design needs budget > 0"),
    ((10,), {"budget": math.nan}, "design needs budget > 0, got nan"),
    ((10,), {"budget": math.inf}, "design needs budget > 0, got inf"),
    ((10,), {"budget": "much"}, "design needs budget > 0"),
    ((10,), {"family": "gaussian", "budget": 1e-3}, "a regret bound needs C1"),
    ((10,), {"family": "categorical", "budget": 0.25}, "design needs budget > 1/4"),
    ((10,), {"family": "categorical", "values": 1}, "design needs a whole number values >= 2"),
    ((10,), {"family": "categorical", "values": 2.5}, "design needs a whole number values >= 2"),
    ((10,), {"family": "categorical", "values": 10**6}, "design needs values <= 10000"),
]


@pytest.mark.parametrize(("given", "more", "sentence"), BAD)
def test_a_wrong_argument_is_refused_in_one_sentence(given, more, sentence):
    with pytest.raises(ValueError, match=sentence):
        design(*given, **more)


def test_the_examples_of_the_docstrings_run():
    assert doctest.testmod(designer).failed == 0
