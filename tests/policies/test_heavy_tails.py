"""TGP-UCB: rewards beyond b_n are learnt as zero, and the width pays for it."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.problems import Instance, Noise, ParetoNoise, StudentNoise

POINTS = np.random.default_rng(3).random((8, 2))
KERNEL = kb.RBF(0.4)
THEORY = {"noise_scale": 0.7, "norm_bound": 1.5, "horizon": 50}


def tgp(**more) -> kb.policies.TGPUCB:
    return kb.policies.TGPUCB(POINTS, KERNEL, **(THEORY | more))


def told(policy: kb.Policy, pulls, rewards) -> kb.Policy:
    for arm, reward in zip(pulls, rewards, strict=True):
        policy.tell(policy.choice(int(arm)), float(reward))
    return policy


def history(seed: int, n: int):
    rng = np.random.default_rng(seed)
    return rng.integers(8, size=n), rng.standard_t(1.5, size=n)


def level(n: int, v: float, a: float) -> float:
    return (v * math.sqrt(n)) ** (1 / (1 + a))


# ---------------------------------------------------------------- the rule


def test_the_golden_numbers_of_instance_g():
    policy = kb.policies.TGPUCB(
        np.eye(3),
        kb.Linear(),
        noise_scale=0.5,
        norm_bound=2.0,
        horizon=100,
        moment_bound=1.5,
        excess=0.5,
    )
    told(policy, [0, 1, 0], [0.75, -0.5, 0.25])
    assert policy.level(3) == pytest.approx(1.889882, abs=5e-7)
    assert policy.width_at(4) == pytest.approx(13.601262, abs=5e-7)
    np.testing.assert_allclose(policy.posterior.mean, [1 / 3.02, -0.5 / 2.02, 0.0], atol=1e-12)
    sd = np.sqrt([1.02 / 3.02, 1.02 / 2.02, 1.0])
    np.testing.assert_allclose(policy.index(4), policy.posterior.mean + 13.601262 * sd, atol=1e-6)


def test_the_first_width_is_the_norm_bound():
    assert tgp().width_at(1) == 1.5
    assert tgp(gain="greedy").width_at(1) == 1.5


@pytest.mark.parametrize("gain", ["realised", "greedy", math.log1p])
def test_the_width_by_hand(gain):
    policy = told(tgp(gain=gain, moment_bound=2.0, excess=0.3, delta=0.05), *history(1, 9))
    l_det = policy.posterior.log_det
    greedy = kb.theory.GreedyGain(KERNEL, kb.Arms(POINTS), 1.04).bound(9)
    gamma = {"realised": l_det / 2, "greedy": greedy}.get(gain, math.log(10))
    expected = 1.5 + 3 * level(9, 2.0, 0.3) * math.sqrt(gamma + 1 + math.log(20))
    assert policy.width_at(10) == pytest.approx(expected, rel=1e-12)
    assert policy.posterior.ridge == 1 + 2 / 50


def test_a_reward_beyond_its_level_is_learnt_as_zero_and_not_cut_down_to_it():
    v, a = 2.0, 0.5
    pulls, rewards = history(2, 60)
    policy = told(tgp(moment_bound=v, excess=a), pulls, rewards)
    kept = [y if abs(y) <= level(n, v, a) else 0.0 for n, y in enumerate(rewards, 1)]
    expected = told(kb.IGPUCB(POINTS, KERNEL, **THEORY), pulls, kept)
    np.testing.assert_array_equal(policy.posterior.mean, expected.posterior.mean)
    assert np.count_nonzero(np.array(kept) != rewards) > 3
    np.testing.assert_array_equal(policy.posterior.counts, np.bincount(pulls, minlength=8))


def test_the_level_counts_rewards_from_one_and_keeps_what_equals_it():
    for n, size, lost in (
        (1, 1.0, 0),
        (1, 1.0 + 1e-12, 1),
        (4, 4**0.25, 0),
        (4, 4**0.25 + 1e-12, 1),
    ):
        policy = told(tgp(moment_bound=1.0), [0] * n, [0.0] * (n - 1) + [-size])
        assert (policy.posterior.mean[0] == 0) == bool(lost)


def test_the_level_belongs_to_the_reward_and_not_to_the_round_asked_for():
    policy = tgp(moment_bound=1.0)
    policy.tell(policy.ask(40, kb.Streams(0)), 1.5)
    assert (policy.posterior.mean == 0).all()


@pytest.mark.parametrize("settings", [{"moment_bound": 1e200}, {"noise_scale": 1e6}])
def test_without_truncation_it_learns_what_igp_ucb_learns(settings):
    pulls, rewards = history(3, 60)
    policy = told(tgp(**settings), pulls, rewards)
    np.testing.assert_array_equal(
        policy.posterior.mean,
        told(kb.IGPUCB(POINTS, KERNEL, **THEORY), pulls, rewards).posterior.mean,
    )


def test_rewards_within_the_first_level_are_never_truncated():
    pulls, rewards = history(4, 60)
    bounded = np.clip(rewards, -2.0, 2.0)
    policy = told(tgp(moment_bound=2.0**1.4, excess=0.4), pulls, bounded)
    expected = told(kb.IGPUCB(POINTS, KERNEL, **THEORY), pulls, bounded)
    np.testing.assert_array_equal(policy.posterior.mean, expected.posterior.mean)


@pytest.mark.parametrize("factor", [0.01, 3.0, 200.0])
@pytest.mark.parametrize("given", [True, False])
def test_scaling_rewards_norm_and_moment_scales_the_index(factor, given):
    """v -> c^(1 + a) v; the default v follows D and R by itself."""
    pulls, rewards = history(5, 40)
    moment = {"moment_bound": 2.0} if given else {}
    scaled = {"moment_bound": 2.0 * factor**1.6} if given else {}
    bounds = {"noise_scale": 0.7 * factor, "norm_bound": 1.5 * factor}
    left = told(tgp(excess=0.6, **moment), pulls, rewards)
    right = told(tgp(excess=0.6, **bounds, **scaled), pulls, factor * rewards)
    for weight in (1.0, -0.5):
        np.testing.assert_allclose(
            right.index(41, weight), factor * left.index(41, weight), rtol=1e-10
        )


@pytest.mark.parametrize("excess", [0.25, 1.0])
def test_the_default_moment_holds_for_noise_of_the_stated_variance(excess):
    policy = tgp(excess=excess)
    assert policy.settings["moment_bound"] == pytest.approx((1.5**2 + 0.7**2) ** ((1 + excess) / 2))
    assert policy.level(1) == pytest.approx(math.sqrt(1.5**2 + 0.7**2))
    noise = StudentNoise(0.7 * math.sqrt(0.5 / 2.5), 2.5)
    assert noise.moment(2) == pytest.approx(0.49)
    rewards = 1.5 + noise.draw((np.arange(200_000) + 0.5) / 200_000)
    assert (np.abs(rewards) ** (1 + excess)).mean() <= policy.settings["moment_bound"]


def test_a_refused_reward_is_not_counted():
    policy = tgp()
    for bad in (math.inf, 1e200, "1"):
        with pytest.raises(ValueError, match="tell needs"):
            policy.tell(policy.choice(0), bad)
    assert policy.posterior.events == 0
    policy.tell(policy.choice(0), 1e150)
    assert policy.posterior.events == 1


@pytest.mark.parametrize(
    ("setting", "bad"),
    [
        ("excess", 0.0),
        ("excess", 1.1),
        ("excess", -0.5),
        ("excess", math.nan),
        ("excess", "1"),
        ("excess", True),
        ("moment_bound", 0.0),
        ("moment_bound", -1.0),
        ("moment_bound", math.inf),
        ("moment_bound", "2"),
    ],
)
def test_the_settings_are_checked(setting, bad):
    with pytest.raises(ValueError, match=rf"TGPUCB needs .*{setting}.*, got {bad!r}"):
        tgp(**{setting: bad})


def test_a_moment_whose_square_is_no_number_is_refused():
    with pytest.raises(ValueError, match=r"moment_bound\^\(1 / \(1 \+ excess\)\) <= 1e\+150, got"):
        tgp(moment_bound=1e300, excess=0.1)


# ---------------------------------------------------------------- what is promised, by simulation


def leaves_its_band(
    policy: kb.Policy, instance: Instance, seed: int, horizon: int, factor: float
) -> bool:
    """Whether f leaves mean +- (D + factor (beta_t - D)) sd at any arm in any round."""
    streams = kb.Streams(seed)
    for t in range(1, horizon + 1):
        band = (1.5 + factor * (policy.width_at(t) - 1.5)) * policy.posterior.sd
        if (np.abs(instance.values - policy.posterior.mean) > band).any():
            return True
        choice = policy.ask(t, streams)
        policy.tell(choice, instance.pull(choice.arm, streams.uniform("noise", t)))
    return False


def failures(make, noise: Noise, factor: float = 1.0, runs: int = 100, horizon: int = 60) -> float:
    """The rate over functions f = K alpha of norm D = 1.5."""
    count = 0
    for seed in range(runs):
        alpha = np.random.default_rng(seed).normal(size=8)
        f = KERNEL(POINTS, POINTS) @ alpha
        instance = Instance("f", kb.Arms(POINTS), 1.5 * f / math.sqrt(alpha @ f), noise)
        count += leaves_its_band(make(), instance, seed, horizon, factor)
    return count / runs


STUDENT = StudentNoise(0.7 * math.sqrt(0.5 / 2.5), 2.5)
PARETO = ParetoNoise(0.7, 1.6)


MINKOWSKI = {
    "moment_bound": (1.5 + PARETO.moment(1.5) ** (1 / 1.5)) ** 1.5,
    "excess": 0.5,
    "horizon": 60,
}
"""Pareto's variance is infinite: a = 1/2 and v = (D + (E|X|^(1 + a))^(1 / (1 + a)))^(1 + a)."""
ALLOWED = 0.1 + 4 * math.sqrt(0.1 * 0.9 / 100)
"""delta + 4 standard errors of 100 runs"""


class Credulous(kb.policies.TGPUCB):
    """Learns every reward as it is."""

    _learn = kb.Policy._learn


@pytest.mark.thorough
@pytest.mark.parametrize(("noise", "settings"), [(STUDENT, {"horizon": 60}), (PARETO, MINKOWSKI)])
def test_under_heavy_tails_the_band_holds_with_chance_1_minus_delta(noise, settings):
    """A band that pays for the norm and not for the noise is caught."""
    assert failures(lambda: tgp(**settings), noise) <= ALLOWED
    assert failures(lambda: tgp(**settings), noise, factor=0.0) > ALLOWED


@pytest.mark.thorough
def test_truncation_is_what_makes_it_hold():
    """At a twentieth of the noise's share (the constants are generous) the band still holds, without truncation not."""
    settings = THEORY | MINKOWSKI
    assert (
        failures(lambda: kb.policies.TGPUCB(POINTS, KERNEL, **settings), PARETO, factor=0.05)
        <= ALLOWED
    )
    assert failures(lambda: Credulous(POINTS, KERNEL, **settings), PARETO, factor=0.05) > ALLOWED


@pytest.mark.thorough
def test_a_band_made_for_light_tails_does_not_hold_under_heavy_ones():
    assert (
        failures(lambda: kb.IGPUCB(POINTS, KERNEL, **(THEORY | {"horizon": 60})), PARETO) > ALLOWED
    )
