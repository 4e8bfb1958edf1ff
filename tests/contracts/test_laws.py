"""One suite for every exploration law and schedule of the catalogue: a new one is tested without being asked."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

import kernelbandits as kb
from kernelbandits import catalogue
from kernelbandits.exploration import as_law
from law_games import catch_theory_warnings, generic_gp, play_rounds

CHOSEN = {
    "ucb": kb.PointMass(1.0),
    "lcb": kb.PointMass(-0.7),
    "greedy": kb.PointMass(0.0),
    "bernoulli 1/2": kb.Bernoulli(0.5),
    "bernoulli 1/10": kb.Bernoulli(0.1),
    "bernoulli 0": kb.Bernoulli(0.0),
    "bernoulli 1": kb.Bernoulli(1.0),
    "categorical": kb.Categorical((0.1, 0.2, 0.3, 0.4)),
    "categorical with support": kb.Categorical(
        (0.25, 0.5, 0.125, 0.125), support=(2.0, -1.0, 1.0, 0.5)
    ),
    "gaussian": kb.Gaussian(),
    "shifted gaussian": kb.Gaussian(0.7, 0.5),
    "degenerate gaussian": kb.Gaussian(1.0, 0.0),
    "discretised gaussian": kb.exploration.DiscretisedGaussian(
        points=5, scale=0.7, upper=1.5, top=0.1
    ),
    "root exponential": kb.exploration.RootExponential(shift=0.4, mean=2.0),
    "rayleigh": kb.exploration.RootExponential(),
    "mixture": kb.Mixture((0.3, 0.7), (kb.PointMass(1.0), kb.Gaussian(0.0, 0.5))),
    "mixture of three": kb.Mixture(
        (0.2, 0.3, 0.5), (kb.Gaussian(), kb.Bernoulli(0.4), kb.Categorical((0.5, 0.5)))
    ),
    "scipy normal": as_law(stats.norm(0.2, 0.9)),
    "scipy uniform": as_law(stats.uniform(-0.5, 2.0)),
    "scipy bernoulli": as_law(stats.bernoulli(0.3)),
    "scipy binomial": as_law(stats.binom(3, 0.4)),
}
"""Laws whose settings matter, or that have no defaults."""
SCHEDULED = {"step": kb.Step(kb.Bernoulli(0.5), kb.Gaussian(), 3)}
"""Schedules that have no defaults."""
CATALOGUE_LAWS = {
    name: cls for name, cls in catalogue.LAWS.items() if issubclass(cls, kb.exploration.Law)
}
LAWS = CHOSEN | {
    name: cls()
    for name, cls in CATALOGUE_LAWS.items()
    if cls not in {type(law) for law in CHOSEN.values()}
}
OWN = {name: law for name, law in LAWS.items() if type(law) in CATALOGUE_LAWS.values()}
SCHEDULES = {
    name: SCHEDULED.get(name) or cls()
    for name, cls in catalogue.LAWS.items()
    if name not in CATALOGUE_LAWS
}
every_law = pytest.mark.parametrize("law", LAWS.values(), ids=LAWS)
every_schedule = pytest.mark.parametrize("schedule", SCHEDULES.values(), ids=SCHEDULES)
N = 20_000
U = np.random.default_rng(0).random(N)


def test_the_suite_covers_the_catalogue():
    assert {type(law) for law in [*OWN.values(), *SCHEDULES.values()]} == {*catalogue.LAWS.values()}


def within_four_standard_errors(frequency: float, chance: float) -> bool:
    return abs(frequency - chance) <= 4 * math.sqrt(max(chance * (1 - chance), 0.0) / N) + 1e-12


@every_law
def test_weights_are_drawn_as_often_as_the_distribution_function_says(law):
    weights = law.draw(U)
    for x in (-2.0, -1.0, -0.7, -0.25, 0.0, 0.25, 0.5, 0.75, 1 - 1e-9, 1.0, 1.5, 2.0):
        assert within_four_standard_errors((weights <= x).mean(), law.cdf(x)), x


@every_law
def test_optimism_is_the_chance_that_the_weight_reaches_one_atoms_included(law):
    assert 0 <= law.optimism <= 1
    assert within_four_standard_errors((law.draw(U) >= 1).mean(), law.optimism)


@every_law
def test_mean_abs_is_the_mean_of_the_absolute_weight(law):
    sizes = np.abs(law.draw(U))
    assert abs(sizes.mean() - law.mean_abs) <= 4 * sizes.std() / math.sqrt(N) + 1e-12
    assert law.mean_abs == pytest.approx(
        quad(lambda u: abs(law.draw(u)), 0, 1, limit=400)[0], abs=2e-3
    )


@every_law
def test_cdf_abs_is_the_chance_of_a_small_absolute_weight(law):
    sizes = np.abs(law.draw(U))
    for u in (-1.0, 0.0, 0.3, 0.5, 0.7, 1.0, 1.7):
        assert within_four_standard_errors((sizes <= u).mean(), law.cdf_abs(u)), u


@every_law
def test_tails_are_the_chances_of_large_weights_of_numbers_and_of_arrays(law):
    weights, points = law.draw(U), np.array([-2.0, -1.0, -0.7, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0])
    for x, tail, below, tail_abs in zip(
        points, law.tail(points), law.below(points), law.tail_abs(points), strict=True
    ):
        assert within_four_standard_errors((weights > x).mean(), tail)
        assert within_four_standard_errors((weights < x).mean(), below)
        assert within_four_standard_errors((np.abs(weights) > x).mean(), tail_abs)
        x = float(x)
        assert (law.tail(x), law.below(x), law.tail_abs(x)) == pytest.approx(
            (tail, below, tail_abs), rel=1e-14
        )
        assert (law.tail(x), law.tail_abs(x)) == pytest.approx(
            (1 - law.cdf(x), 1 - law.cdf_abs(x)), abs=1e-14
        )
        assert type(law.tail(x)) is type(law.tail_abs(x)) is float


@every_law
def test_the_expectation_is_the_mean_of_the_weights(law):
    weights = law.draw(U)
    assert abs(weights.mean() - law.expectation) <= 4 * weights.std() / math.sqrt(N) + 1e-12
    assert kb.exploration.Law.expectation.fget(law) == pytest.approx(law.expectation, abs=1e-9)
    assert kb.exploration.Law.mean_abs.fget(law) == pytest.approx(law.mean_abs, rel=1e-9, abs=1e-12)


@pytest.mark.thorough
@every_law
def test_the_masses_are_all_the_values_with_their_chances(law):
    if law.masses is None:
        assert law.tail(0.9) != law.tail(1.1) or law.tail(0.1) != law.tail(0.9)
        return
    values, chances = law.masses
    assert sum(chances) == pytest.approx(1)
    for value, chance in zip(values, chances, strict=True):
        shared = sum(p for v, p in zip(values, chances, strict=True) if v == value)
        assert chance <= shared
        assert shared == pytest.approx(law.cdf(value) - law.below(value), abs=1e-12)


@every_law
def test_the_atoms_are_the_values_drawn_more_than_once(law):
    values, counts = np.unique(law.draw(U), return_counts=True)
    np.testing.assert_allclose(values[counts > 1], law.atoms)


@every_law
def test_drawing_many_is_drawing_each(law):
    u = np.concatenate([U[:500], [0.0, 0.5, 0.25, 1 - 2.0**-53]])
    np.testing.assert_array_equal(law.draw(u), [law.draw(float(item)) for item in u])
    assert type(law.draw(0.5)) is float


@every_law
def test_the_first_and_the_last_uniform_give_finite_weights(law):
    for u in (0.0, 2.0**-53, 1 - 2.0**-53):
        assert math.isfinite(law.draw(u))


@every_law
def test_a_sample_is_the_draw_of_the_next_uniform(law):
    assert law.sample(np.random.default_rng(4)) == law.draw(np.random.default_rng(4).random())


MONOTONE = {name: law for name, law in LAWS.items() if "mixture" not in name}


@pytest.mark.parametrize("law", MONOTONE.values(), ids=MONOTONE)
@given(u=st.floats(0, 1, exclude_max=True))
def test_a_draw_is_the_quantile_function(law, u):
    """P(w <= draw(u)) >= u, and nothing smaller will do."""
    weight = law.draw(u)
    assert law.cdf(weight) >= u - 1e-9
    assert law.cdf(weight - 1e-6 * max(1, abs(weight))) <= u + 1e-5


@every_law
def test_a_law_warns_if_and_only_if_it_has_no_optimism(law):
    assert len(catch_theory_warnings(lambda: play_rounds(generic_gp(law)))) == (law.optimism == 0)


# ---------------------------------------------------------------- values and schedules


@pytest.mark.parametrize("law", [*OWN.values(), *SCHEDULES.values()], ids=[*OWN, *SCHEDULES])
def test_a_law_is_a_value_that_json_keeps(law):
    plain = catalogue.CODEC.encode(law)
    assert catalogue.CODEC.decode(json.loads(json.dumps(plain))) == law
    assert hash(law) == hash(catalogue.CODEC.decode(plain))


@every_schedule
def test_a_schedule_plays_every_round_by_a_law_and_chance_range_holds_them(schedule):
    policy, seen = generic_gp(schedule), []
    least, most = kb.exploration.chance_range(schedule) or (0.0, 1.0)
    for t in range(1, 9):
        choice = policy.ask(t, kb.Streams(0))
        law = policy.exploration.law(t, policy.posterior, policy.width_at(t))
        assert choice.note["weight"] == law.draw(kb.Streams(0).uniform("weight", t))
        seen.append(law.optimism)
        policy.tell(choice, float(np.sin(5 * choice.x.sum())))
    assert least <= min(seen)
    assert max(seen) <= most
