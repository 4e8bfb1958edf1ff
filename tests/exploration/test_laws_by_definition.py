"""Exploration laws and schedules: their probabilities and the weights drawn from them."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

import definitions
import kernelbandits as kb
from broken_engines import patched
from kernelbandits.experiment.engines import rounds
from kernelbandits.exploration import Bernoulli, Certainty, Decay, Exploration
from kernelbandits.kernels import Linear
from kernelbandits.policies import GenericGP
from kernelbandits.problems import GaussianNoise, Instance
from kernelbandits.streams import Streams
from kernelbandits.theory import regret_bound
from kernelbandits.verification import regret
from kernelbandits.verification.laws import (
    LAWS,
    SCHEDULES,
    WeightLaw,
    atoms,
    coin,
    normal,
)
from reference_bandits import RIDGE, SCALES, reference_bandit, step_schedule

DRAWS = 4000
ERRORS = 4.0
"""Standard errors by which a frequency or a mean may be off; 6e-5 of all sound ones are."""
CHANCE = 1e-4
"""Probability with which a sound sample is further from its law than `critical_distance`."""
PLACES = np.array([-2, -1, -0.5, -0.25, 0, 0.25, 0.3, 0.5, 0.6, 0.75, 1, 1.2, 1.7, 2, 3])
"""Values that some law takes, and others between them."""


# Probabilities


def check_probabilities(name: str) -> None:
    law, right = LAWS[name]
    x, u = PLACES, PLACES[PLACES >= 0]
    inside = right.at_most(u) - right.below(-u)
    for function, places, exact in (
        (law.cdf, x, right.at_most(x)),
        (law.tail, x, 1 - right.at_most(x)),
        (law.below, x, right.below(x)),
        (law.cdf_abs, u, inside),
        (law.tail_abs, u, 1 - inside),
    ):
        found = [function(float(place)) for place in places]
        np.testing.assert_allclose(found, exact, rtol=0, atol=1e-10)
    assert law.optimism == pytest.approx(right.optimism, abs=1e-10)
    assert law.mean_abs == pytest.approx(right.mean_abs, abs=1e-10)
    assert law.expectation == pytest.approx(right.mean, abs=1e-10)


@pytest.mark.parametrize("name", LAWS)
def test_the_probabilities_of_a_law_are_those_of_its_definition(name):
    check_probabilities(name)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_regret_bounds_of_the_theory_are_those_of_a_quadrature(name):
    """1e-6 is the error of the midpoint rule in tests/definitions.py."""
    schedule = SCHEDULES[name]
    scales = {"noise_scale": regret.NOISE_SCALE, "norm_bound": regret.NORM_BOUND}
    for bandit in regret.BANDITS:
        law = schedule.exploration(bandit.horizon)
        found = regret_bound(law, bandit.horizon, bandit.gain, **scales)
        exact = definitions.regret_bounds(schedule, bandit.horizon, bandit.gain, **scales)
        assert (found.repaired, found.tight) == pytest.approx(exact, rel=1e-6)


def check_certainty(last: int = 60) -> None:
    """w_t = 1 where u_t >= 1 - p_t, p_t = least + (first - least) max sd / max sqrt(k)."""
    bandit, first, least = reference_bandit(0), 0.8, 0.1
    exploration = Certainty(first, least)
    policy = GenericGP(
        bandit.instance.domain, bandit.kernel, exploration, ties="lowest", ridge=RIDGE, **SCALES
    )
    prior, arms = math.sqrt(bandit.gram.diagonal().max()), []
    for t in range(1, last + 1):
        known = definitions.posterior_from_counts(bandit.gram, arms, np.zeros(len(arms)), RIDGE)
        p = least + (first - least) * known.sd.max() / prior
        law, choice = policy.exploration.law(t, policy.posterior), policy.ask(t, bandit.streams)
        assert law.optimism == pytest.approx(p, abs=1e-9)
        assert choice.note["weight"] == float(bandit.streams.uniform("weight", t) >= 1 - p)
        arms.append(choice.arm)
        policy.tell(choice, 0.0)


def test_certainty_explores_in_proportion_to_the_largest_standard_deviation():
    check_certainty()


# Weights drawn


def two_arms(exploration: Any) -> GenericGP:
    return GenericGP(np.eye(2), Linear(), exploration, noise_scale=1.0, norm_bound=1.0)


def draw_weights(exploration: Any, streams: Streams) -> dict[str, np.ndarray]:
    """The weights in the notes of `ask`, and of another seed those for the compiled loop."""
    policy = two_arms(exploration)
    instance = Instance("two arms", policy.domain, np.zeros(2), GaussianNoise(1.0))
    noted = [now.choice.note["weight"] for now in rounds(policy, instance, DRAWS, streams)]
    table = policy.tables(DRAWS, Streams(streams.seed + 1000)).weights
    return {"ask": np.array(noted), "table": table}


def check_sample(law: WeightLaw, sample: np.ndarray) -> None:
    """P(w < 0), P(w >= 1) and E w within four standard errors, and the whole distribution."""
    n, negative = len(sample), float(law.below(np.array(0.0)))
    variance = sum(p * (m**2 + s**2) for p, m, s in law.parts) - law.mean**2
    for found, right, square in (
        (np.mean(sample < 0), negative, negative * (1 - negative)),
        (np.mean(sample >= 1), law.optimism, law.optimism * (1 - law.optimism)),
        (sample.mean(), law.mean, variance),
    ):
        assert abs(found - right) <= ERRORS * math.sqrt(square / n) + 1e-12
    assert distance(law, sample) <= critical_distance(n)


def distance(law: WeightLaw, sample: np.ndarray) -> float:
    """sup_x |F_n(x) - F(x)|, at the values drawn and just below them."""
    values, counts = np.unique(sample, return_counts=True)
    upto = np.cumsum(counts) / len(sample)
    before = upto - counts / len(sample)
    return max(np.abs(upto - law.at_most(values)).max(), np.abs(before - law.below(values)).max())


def critical_distance(draws: int) -> float:
    """P(sup |F_n - F| > d) <= 2 exp(-2 n d^2) for every law (Massart 1990)."""
    return math.sqrt(math.log(2 / CHANCE) / (2 * draws))


def check_weights(name: str) -> None:
    law, right = LAWS[name]
    for sample in draw_weights(law, Streams(list(LAWS).index(name))).values():
        check_sample(right, sample)


@pytest.mark.thorough
@pytest.mark.parametrize("name", [name for name in LAWS if name != "w = 1"])
def test_the_weights_drawn_follow_their_law(name):
    check_weights(name)


def test_the_weights_of_a_schedule_follow_the_law_of_their_half():
    schedule, law_at = step_schedule(DRAWS)
    for sample in draw_weights(schedule, Streams(0)).values():
        for half, t in zip(np.split(sample, [DRAWS // 2]), (1, DRAWS), strict=True):
            check_sample(law_at(t), half)


def check_each_weight(policy: GenericGP, law_at: Any, last: int, seeds: int) -> None:
    """Every weight, asked for or in the table, is the quantile of the law of its round."""
    for seed in range(seeds):
        streams = Streams(seed)
        table = policy.tables(last, streams).weights
        for t in range(1, last + 1):
            right = law_at(t).quantile(streams.uniform("weight", t))
            assert policy.ask(t, streams).note["weight"] == pytest.approx(right, abs=1e-12)
            assert table[t - 1] == pytest.approx(right, abs=1e-12)


def check_step() -> None:
    """With 60 seeds: a round off changes one weight in four there."""
    schedule, law_at = step_schedule(20)
    check_each_weight(two_arms(schedule), law_at, last=12, seeds=60)


def check_decay() -> None:
    """p_t = max(least, first t^-power), which reaches its least value in round 21."""
    policy = two_arms(Decay(0.9, 0.5, 0.2))
    check_each_weight(policy, lambda t: coin(max(0.2, 0.9 / math.sqrt(t))), last=60, seeds=20)


def test_a_step_changes_its_law_after_its_last_round():
    check_step()


def test_a_decay_has_the_law_of_every_round():
    check_decay()


def test_a_schedule_that_is_a_function_has_the_law_of_every_round():
    policy = two_arms(lambda t: Bernoulli(0.8 if t % 3 else 0.2))
    check_each_weight(policy, lambda t: coin(0.8 if t % 3 else 0.2), last=60, seeds=20)


@pytest.mark.parametrize("name", SCHEDULES)
def test_the_weights_of_a_schedule_by_definition_are_those_of_the_policy(name):
    law = SCHEDULES[name].exploration(500)
    expected = Exploration.of(law).weights(kb.Streams(3).uniforms("weight", 500))
    np.testing.assert_allclose(SCHEDULES[name].weights(500, 3), expected, atol=1e-12)


# Broken laws


def clipped(draw):
    return lambda *given: np.maximum(draw(*given), 0.0)


def last_law_of_the_first_round(sound):
    def runs(self, *given):
        found = sound(self, *given)
        return [*found[:-1], (Bernoulli(self.first), *found[-1][1:])]

    return runs


def certainty_by(chance):
    return patched(
        Certainty,
        "__call__",
        lambda sound: lambda self, t, posterior: Bernoulli(chance(self, posterior)),
    )


BELL, WHOLE = "a bell on 0, 0.3, ..., 1.2", "-1, 0, 1 or 2 by its pmf"
BREAKAGES = {
    "weights clipped in Gaussian.draw": (
        patched(kb.Gaussian, "draw", clipped),
        partial(check_weights, "N(0, 1)"),
    ),
    "weights clipped in Categorical.draw": (
        patched(kb.Categorical, "draw", clipped),
        partial(check_weights, "-1, 1/2 or 2"),
    ),
    "weights clipped in Mixture.draw": (
        patched(kb.Mixture, "draw", clipped),
        partial(check_weights, "0.4 at 1, else N(0, 1)"),
    ),
    "weights clipped in Frozen.draw": (
        patched(kb.exploration.Frozen, "draw", clipped),
        partial(check_weights, WHOLE),
    ),
    "weights clipped in the table": (
        patched(Exploration, "weights", clipped),
        partial(check_weights, "N(0, 1)"),
    ),
    "a step a round late": (
        patched(kb.Step, "__call__", lambda sound: lambda self, t: sound(self, t - 1)),
        check_step,
    ),
    "the late law of a decay": (
        patched(Decay, "runs", last_law_of_the_first_round),
        check_decay,
    ),
    "Certainty at its least probability": (
        certainty_by(lambda self, posterior: self.floor),
        check_certainty,
    ),
    "Certainty by the variance": (
        certainty_by(
            lambda self, posterior: (
                self.floor + (self.first - self.floor) * float(posterior.variance.max())
            )
        ),
        check_certainty,
    ),
    "probabilities of unsorted values": (
        patched(kb.Categorical, "chances", lambda sound: property(lambda self: self.weights[::-1])),
        partial(check_probabilities, "2, -1 or 1/2, unsorted"),
    ),
    "the grid of RandUCB": (
        patched(
            kb.exploration.DiscretisedGaussian,
            "chances",
            lambda sound: property(
                lambda self: (*((1 - self.top) / (self.points - 1),) * (self.points - 1), self.top)
            ),
        ),
        partial(check_probabilities, BELL),
    ),
    "a discrete law without its atom at 1": (
        patched(
            kb.exploration.Frozen,
            "optimism",
            lambda sound: property(lambda self: float(self.tail(1.0))),
        ),
        partial(check_probabilities, WHOLE),
    ),
    "a tail with its atom": (
        patched(kb.exploration.Frozen, "tail", lambda sound: lambda self, x: 1.0 - self.below(x)),
        partial(check_probabilities, WHOLE),
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_check_notices(breakage, monkeypatch):
    break_law, check = BREAKAGES[breakage]
    break_law(monkeypatch)
    with pytest.raises(AssertionError):
        check()


# The definitions themselves


@pytest.mark.parametrize("name", LAWS)
def test_the_definition_of_a_law_is_a_law(name):
    law = LAWS[name][1]
    u = (np.arange(20_000) + 0.5) / 20_000
    weights = np.array([law.quantile(value) for value in u])
    assert weights.mean() == pytest.approx(law.mean, abs=1e-3)
    assert np.abs(weights).mean() == pytest.approx(law.mean_abs, abs=1e-3)
    assert np.mean(weights >= 1) == pytest.approx(law.optimism, abs=1e-3)
    assert distance(law, weights) <= 1e-3


def test_the_normal_quantile_is_that_of_scipy():
    for u in (1e-12, 0.01, 0.3, 0.5, 0.9, 1 - 1e-9):
        exact = stats.norm(0.3, 2.0).ppf(u)
        assert normal(0.3, 2.0).quantile(u) == pytest.approx(exact, rel=1e-12)


def test_the_distance_is_that_of_kolmogorov_and_its_limit_is_rarely_exceeded():
    sample = np.random.default_rng(5).standard_normal(300)
    exact = stats.kstest(sample, "norm").statistic
    assert distance(normal(), sample) == pytest.approx(exact, abs=1e-12)
    assert 2 * math.exp(-2 * 300 * critical_distance(300) ** 2) == pytest.approx(CHANCE)
    assert stats.kstwo(300).sf(critical_distance(300)) <= CHANCE


@pytest.mark.parametrize(
    ("name", "horizon", "c2", "c3"),
    [
        ("w = 1", 1000, 1.0, 2.0),
        ("N(0, 1)", 1, 0.797885, 10.058092),
        ("N(0, 1)", 1000, 3.435410, 26.682348),
        ("i/4, i = 1..4", 2, 0.78125, 5.625),
        ("Ber(1/2), then Ber(1/4)", 10, 0.992584228515625, 4.51055908203125),
        ("1 or N(0, 1)", 10, 1.585432, 4.288376),
    ],
)
def test_the_constants_by_quadrature_are_the_golden_ones(name, horizon, c2, c3):
    found = definitions.constants(SCHEDULES[name], horizon)
    assert found[:2] == (pytest.approx(c2, abs=6e-7), pytest.approx(c3, abs=3e-6))


def test_the_tightened_constant_is_zero_for_a_point_mass_and_smaller_for_a_normal():
    assert definitions.constants(SCHEDULES["w = 1"], 1000)[2] == 0
    assert definitions.constants(SCHEDULES["N(0, 1)"], 1000)[2] == pytest.approx(20.43, abs=5e-3)


def test_the_expected_maximum_by_quadrature_is_exact_between_its_jumps():
    law = atoms((0.3, 0.7), (0.0, 1.0))
    tail = definitions.tail_of_excess(law, law.optimism)
    assert definitions.expected_maximum([(2, tail)]) == pytest.approx(
        0.3 / 0.7 * (1 - 0.3**2), rel=1e-12
    )


def test_the_repaired_bound_by_quadrature_is_the_golden_one():
    repaired, _ = definitions.regret_bounds(SCHEDULES["w = 1"], 1000, 20.0, 1.0, 1.0)
    assert repaired == pytest.approx(9538.22, abs=5e-3)
