"""Policies of other packages as contenders."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import integrate, stats

import kernelbandits as kb
from kernelbandits.experiment import rivals, run_experiment
from kernelbandits.experiment.rivals import FittedProcess, ScikitLearnGP, expected_improvement

ARMS = kb.Arms(np.linspace(0, 1, 9)[:, None])


def play(policy, rounds=9):
    for t in range(1, rounds + 1):
        choice = policy.ask(t, kb.Streams(2))
        policy.tell(choice, float(np.sin(5 * choice.x[0])))
    return policy


@pytest.mark.parametrize(("mean", "sd", "best"), [(0.2, 0.5, 0.4), (1.0, 0.1, 0.0), (-2, 1, 1)])
def test_expected_improvement_is_its_integral(mean, sd, best):
    law = stats.norm(mean, sd)
    integral, _ = integrate.quad(lambda f: (f - best) * law.pdf(f), best, mean + 12 * sd)
    found = expected_improvement(np.array([mean]), np.array([sd]), best)
    np.testing.assert_allclose(found, [integral], rtol=1e-6)


def test_the_fit_is_that_of_scikit_learn_without_the_white_noise_in_the_sd():
    rng = np.random.default_rng(0)
    rows = rng.random((20, 2))
    rewards = np.sin(4 * rows[:, 0]) + rng.normal(0, 0.1, 20)
    process = FittedProcess(seed=0)
    process.fit(rows, rewards)
    mean, std = process.model.predict(rows, return_std=True)
    noise = process.model.kernel_.k2.noise_level * rewards.var()
    np.testing.assert_allclose(process.index(rows, 0.0), mean)
    np.testing.assert_allclose((process.index(rows, 1.0) - mean) ** 2 + noise, std**2, rtol=1e-6)


@pytest.mark.parametrize("rule", ["improvement", "ucb"])
def test_it_plays_the_maximiser_of_its_rule_and_asking_changes_nothing(rule):
    policy = play(ScikitLearnGP(ARMS, rule=rule, first=4))
    first, again = policy.ask(10, kb.Streams(2)), policy.ask(10, kb.Streams(2))
    assert first == again
    mean, sd = policy.estimates()
    best = mean[np.flatnonzero(policy.posterior.counts)].max()
    scores = expected_improvement(mean, sd, best) if rule == "improvement" else mean + 2 * sd
    assert first.arm == scores.argmax()
    assert policy.recommend() == mean.argmax()
    assert play(ScikitLearnGP(ARMS, rule=rule, first=4)).ask(10, kb.Streams(2)) == first


def test_the_first_choices_are_random_arms_of_the_seed():
    policies = ScikitLearnGP(ARMS), kb.policies.UniformRandom(ARMS, kb.RBF(0.2))
    arms = [[policy.ask(t, kb.Streams(7)).arm for t in range(1, 6)] for policy in policies]
    assert arms[0] == arms[1]


def test_it_is_a_contender_beside_others_and_reported_with_its_package():
    entrants = [ScikitLearnGP, kb.Contender("sklearn UCB", rivals.ScikitLearnGP, {"rule": "ucb"})]
    results = run_experiment("branin", [*entrants, "random"], horizon=8, seeds=2)
    assert results.labels == ("scikit-learn GP", "sklearn UCB", "Uniform random")
    assert results["branin", "sklearn UCB"].settings["rule"] == "ucb"
    assert "GaussianProcessRegressor" in results.cells[0].contender.entry.paper
    first = [results["branin", label].arms[:, :5] for label in results.labels]
    np.testing.assert_array_equal(first[0], first[2])


def test_what_it_cannot_play_is_refused():
    with pytest.raises(ValueError, match="needs rule in"):
        ScikitLearnGP(ARMS, rule="thompson")
    policy = play(ScikitLearnGP(ARMS))
    with pytest.raises(ValueError, match="ScikitLearnGP needs no pending choices, restricted arms"):
        policy.ask(10, kb.Streams(0), pending=[policy.choice(1)])
