"""Problems outside the model: misspecified values, noise that differs, and bumps."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.catalogue import CODEC, read_problem
from kernelbandits.problems import Bump, Heteroscedastic, Misspecified


def test_a_misspecified_problem_is_off_by_its_error_and_knows_its_optimum():
    still = kb.problem("hartmann6").instance(kb.Streams(3))
    problem = read_problem("misspecified:problem=hartmann6,error=0.1")
    moved = problem.instance(kb.Streams(3))
    np.testing.assert_array_equal(moved.domain.points, still.domain.points)
    np.testing.assert_allclose(np.abs(moved.values - still.values), 0.1)
    assert moved.optimum == moved.values.max()
    assert {-1, 1} == set(np.sign(moved.values - still.values))
    assert (
        CODEC.decode(CODEC.encode(problem)) == problem == Misspecified(kb.problem("hartmann6"), 0.1)
    )


@pytest.mark.parametrize("where", ["high", "low", "random"])
def test_the_noise_of_an_arm_is_its_share_in_both_engines(where):
    problem = Heteroscedastic(kb.problem("branin", noise="gaussian(0.5)"), 5.0, where)
    instance = problem.instance(kb.Streams(1))
    shares = instance.noise_shares
    assert (shares.min(), shares.max()) == (0.2, 1.0)
    if where != "random":
        worst = instance.values.argmax() if where == "high" else instance.values.argmin()
        assert shares[worst] == 1.0
    u = np.random.default_rng(0).random(4000)
    for arm in (0, 7):
        rewards = np.array([instance.pull(arm, float(x)) for x in u])
        assert rewards.std() == pytest.approx(0.5 * shares[arm], rel=0.05)
    policy = kb.SimpleUCB(instance.domain, kb.RBF(0.2), noise_scale=0.5, norm_bound=1.0)
    assert kb.play(policy, instance, 20, kb.Streams(0), engine="auto").engine == "numpy"


def test_a_bump_has_its_norm_and_is_anywhere_equally_often():
    problem = Bump(per_side=3, horizon=300, noise_scale=0.2)
    share = 1 - 1 / 9
    assert problem.gap == pytest.approx(share * 0.2 * math.sqrt(9 / 300))
    assert problem.least_regret == pytest.approx(share**2 * 0.2 * math.sqrt(9 * 300) / 2)
    instances = [problem.instance(kb.Streams(seed)) for seed in range(600)]
    best = np.bincount([one.best for one in instances], minlength=9)
    assert abs(best - 600 / 9).max() < 4 * math.sqrt(600 / 9)
    least = kb.problems.least_norm(kb.RBF(0.1), instances[0].domain.points, instances[0].values)
    assert least <= problem.norm * (1 + 1e-9)
    assert problem.norm < 1


@pytest.mark.parametrize(
    ("build", "needed"),
    [
        (lambda: Bump(per_side=1), "per_side >= 2"),
        (lambda: Bump(horizon=3), "horizon >= 16"),
        (lambda: Bump(kernel=kb.RBF(2.0)), "a bump of norm <= D = 1"),
        (lambda: Bump(noise_scale=0.0), "noise_scale > 0"),
        (lambda: Misspecified(kb.problem("branin"), -1.0), "error >= 0"),
        (lambda: Misspecified("branin"), "a problem at rest"),
        (lambda: Heteroscedastic(kb.problem("branin"), 0.5), "ratio >= 1"),
        (lambda: Heteroscedastic(kb.problem("branin"), where="up"), "where in"),
    ],
)
def test_a_wrong_setting_is_refused(build, needed):
    with pytest.raises(ValueError, match=f"needs .*{needed}"):
        build()


@pytest.mark.parametrize("name", ["tv-gp-ucb", "r-gp-ucb", "wgp-ucb"])
def test_rules_for_drift_take_any_law_and_play_as_before_without_one(name):
    problem = kb.problem("drifting", problem="branin")
    told = {"noise_scale": 0.1} | ({"horizon": 60} if name == "r-gp-ucb" else {})
    told |= {"norm_bound": 1.0} if name == "wgp-ucb" else {}

    def arms(**given):
        instance = problem.instance(kb.Streams(0))
        policy = kb.policy(name, instance.domain, kb.RBF(0.2), **told, **given)
        return kb.play(policy, instance, 60, kb.Streams(0)).arms.tolist()

    usual = arms()
    assert arms(exploration=kb.PointMass(1.0)) == usual
    for law in (kb.Bernoulli(0.2), kb.Gaussian(), kb.Decay(), kb.AdaptiveBernoulli(1.0)):
        assert arms(exploration=law) != usual
