"""Outcomes with limits beside the reward: what is played, what is recommended, what is refused."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

import kernelbandits as kb
from kernelbandits.policies import LimitedOutcome
from kernelbandits.policies.acquisition import (
    LogExpectedImprovement,
    LogProbabilityInside,
    SummedSurface,
    Surface,
)
from kernelbandits.policies.arm_scores import score_improvement
from kernelbandits.policies.comparison import compare_choice, recommend_measured

BOX = kb.Box((0.0, 0.0), (1.0, 1.0))
TABLE = np.random.default_rng(5).random((200, 3))


def branin(x):
    """Return -f and the square of the distance from the middle of a disc of radius sqrt(50)."""
    a, b = 15 * x[0] - 5, 15 * x[1]
    square = (b - 5.1 / (4 * math.pi**2) * a**2 + 5 / math.pi * a - 6) ** 2
    value = square + 10 * (1 - 1 / (8 * math.pi)) * math.cos(a) + 10
    return -value, (a - 2.5) ** 2 + (b - 7.5) ** 2


def bump(x):
    return float(np.sin(5 * x[0]) + x[1]), float(1.2 * x[0] + x[1] ** 2)


def build(domain, limit, seed=1, **settings):
    """Return a limited policy and the policy of its outcome."""
    outcome = kb.Auto(domain, seed=seed)
    auto = kb.Auto(domain, seed=seed, **settings)
    return auto.limited_by(LimitedOutcome(outcome, high=limit)), outcome


def play(policy, outcome, function, rounds):
    found = []
    for _ in range(rounds):
        choice = policy.ask()
        reward, value = function(choice.x)
        policy.tell(choice, reward)
        outcome.tell(choice, value)
        found.append((choice, reward, value))
    return found


# ---------------------------------------------------------------- the acquisition


@pytest.mark.parametrize(("low", "high"), [(-math.inf, 0.3), (0.3, math.inf), (-0.2, 0.3)])
def test_the_probability_of_meeting_limits_is_that_of_normal_laws(low, high):
    rng = np.random.default_rng(1)
    means, sds = rng.normal(size=(3, 40)), rng.uniform(0.1, 2, (3, 40))
    inside = stats.norm.cdf(high, means, sds) - stats.norm.cdf(low, means, sds)
    scores = LogProbabilityInside(low, high).score(means, sds)
    np.testing.assert_allclose(np.exp(scores), inside.mean(0), rtol=1e-9)


@pytest.mark.parametrize("far", [-5000.0, -40.0, 40.0, 5000.0])
def test_far_from_the_limits_the_logarithm_keeps_its_digits(far):
    scores = LogProbabilityInside(-0.5, 0.5).score(np.array([[far]]), np.array([[1.0]]))
    z = abs(far) - 0.5  # P is about phi(z) / z there.
    near = -0.5 * z**2 - math.log(z) - 0.5 * math.log(2 * math.pi)
    assert scores[0] == pytest.approx(near, rel=1e-3)


@pytest.mark.parametrize(("low", "high"), [(-math.inf, 0.3), (0.3, math.inf), (-0.2, 0.3)])
def test_its_derivatives_are_those_of_differences(low, high):
    rng = np.random.default_rng(2)
    means, sds = rng.normal(size=(2, 30)), rng.uniform(0.2, 2, (2, 30))
    score = LogProbabilityInside(low, high)
    _, by_mean, by_sd = score.derivatives(means, sds)
    for member in range(2):
        step = np.zeros(means.shape)
        step[member] = 1e-6
        slope = (score.score(means + step, sds) - score.score(means - step, sds)) / 2e-6
        np.testing.assert_allclose(by_mean[member], slope, rtol=1e-5, atol=1e-8)
        slope = (score.score(means, sds + step) - score.score(means, sds - step)) / 2e-6
        np.testing.assert_allclose(by_sd[member], slope, rtol=1e-5, atol=1e-8)


def test_the_surface_is_the_sum_of_improvement_and_feasibility_with_its_gradient():
    policy, outcome = build(BOX, 50.0)
    play(policy, outcome, branin, 10)
    gain = Surface(policy.posterior, LogExpectedImprovement(np.zeros(4)))
    limit = policy.outcomes[0].surface()
    rows = np.random.default_rng(3).random((20, 2))
    both = SummedSurface([gain, limit])
    np.testing.assert_allclose(both.values(rows), gain.values(rows) + limit.values(rows))
    values, slopes = both.slopes(rows)
    np.testing.assert_allclose(values, both.values(rows), rtol=1e-6)
    for j in range(2):
        step = np.zeros(2)
        step[j] = 1e-6
        expected = (both.values(rows + step) - both.values(rows - step)) / 2e-6
        np.testing.assert_allclose(slopes[:, j], expected, rtol=1e-3, atol=1e-3)


def test_the_score_of_an_arm_is_the_improvement_over_the_best_feasible_times_the_probability():
    policy, outcome = build(kb.Arms(TABLE), 0.6)
    play(policy, outcome, bump, 12)
    policy.ask()
    scores = policy._scored[2]
    arms, measured = np.arange(len(TABLE)), policy.learner.measured_arms()
    logs = policy.outcomes[0].log_chances(arms)
    feasible = measured[np.exp(logs[measured]) >= 0.9]
    assert 0 < len(feasible) < len(measured)
    posterior, noises = policy.posterior, policy.learner.noises
    gain = score_improvement(posterior.means, posterior.variances, noises, measured, feasible)
    np.testing.assert_allclose(scores.scores, gain + logs)
    fresh = np.setdiff1d(arms, measured)
    best = posterior.means[:, feasible].max(1, keepdims=True)
    steps = posterior.variances / np.sqrt(posterior.variances + noises[:, None])
    z = (posterior.means - best) / steps
    expected = (steps * (stats.norm.pdf(z) + z * stats.norm.cdf(z))).mean(0)
    np.testing.assert_allclose(np.exp(gain[fresh]), expected[fresh], rtol=1e-6, atol=1e-12)


def test_the_note_of_a_choice_states_the_probability_of_being_feasible():
    policy, outcome = build(BOX, 50.0)
    play(policy, outcome, branin, 8)
    choice = policy.ask()
    assert choice.note["feasible"] == pytest.approx(policy.feasibility(choice))


# ---------------------------------------------------------------- what is found


@pytest.mark.thorough
@pytest.mark.parametrize(("domain", "function", "limit"), [(BOX, branin, 50.0), (None, bump, 0.5)])
def test_the_best_feasible_place_is_found_where_ignoring_the_limit_and_chance_do_not(
    domain, function, limit
):
    place = kb.Arms(TABLE) if domain is None else domain
    points = TABLE if domain is None else np.random.default_rng(0).random((20000, 2))
    values = np.array([function(x) for x in points])
    best = values[values[:, 1] <= limit, 0].max()
    unit = values[:, 0].std()
    losses = {"limited": [], "ignored": [], "random": []}
    for seed in range(4):
        policy, outcome = build(place, limit, seed, rounds=25)
        limited = play(policy, outcome, function, 25)
        ignored = play(kb.Auto(place, seed=seed, rounds=25), kb.Auto(place), function, 25)
        drawn = np.random.default_rng(seed).permutation(len(points))[:25]
        random = [(None, *values[number]) for number in drawn]
        for name, game in (("limited", limited), ("ignored", ignored), ("random", random)):
            met = [reward for _, reward, value in game if value <= limit]
            losses[name].append((best - max(met, default=values[:, 0].min())) / unit)
        choice = recommend_measured(policy)
        assert function(choice.x)[1] <= limit
        assert policy.feasibility(choice) >= 0.9
    assert np.mean(losses["limited"]) < 0.05
    assert np.mean(losses["limited"]) < 0.5 * min(
        map(np.mean, (losses["ignored"], losses["random"]))
    )


def test_it_looks_for_a_feasible_place_while_none_is_known():
    arms = kb.Arms(np.linspace(0, 1, 41)[:, None])
    policy, outcome = build(arms, 0.05)
    # The reward grows to the right, and the limit is met at the left end only.
    for arm in (20, 26, 32, 38):
        policy.tell(policy.choice(arm), arm / 40)
        outcome.tell(outcome.choice(arm), arm / 40)
    choice = policy.ask()
    chances = np.exp(policy.outcomes[0].log_chances(np.arange(41)))
    assert choice.arm < 10
    assert "improvement" not in choice.note
    assert choice.note["feasible"] >= 0.5 * chances.max()
    recommended = policy.recommend()
    assert recommended == 20  # nothing is feasible: the one that is so most probably
    assert policy.feasibility(policy.choice(recommended)) < 0.9


def test_a_batch_spreads_while_no_feasible_place_is_known():
    policy, outcome = build(BOX, 0.02, first=4)
    play(policy, outcome, lambda x: (x[0], 1 + x[0] + x[1]), 6)
    batch = policy.batch(4)
    points = np.array([choice.x for choice in batch])
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2)[np.triu_indices(4, 1)]
    assert gaps.min() > 1e-3


def test_two_sided_limits_and_several_outcomes_count_together():
    arms = kb.Arms(np.linspace(0, 1, 21)[:, None])
    gain, ph, price = (kb.Auto(arms) for _ in range(3))
    policy = gain.limited_by(LimitedOutcome(ph, 0.3, 0.62), LimitedOutcome(price, high=-0.45))
    for arm in range(0, 21, 2):
        x = arm / 20
        for one, value in ((gain, x), (ph, x), (price, -x)):
            one.tell(one.choice(arm), value)
    assert policy.recommend() == 12
    assert policy.feasibility(policy.choice(12)) > 0.9 > policy.feasibility(policy.choice(8))


def test_the_probability_of_being_best_counts_what_is_feasible_only():
    arms = kb.Arms(np.linspace(0, 1, 11)[:, None])
    policy, outcome = build(arms, 0.55, noise=0.01)
    for arm in range(11):
        policy.tell(policy.choice(arm), arm / 10)
        outcome.tell(outcome.choice(arm), arm / 10)
    compared = compare_choice(policy, policy.choice(5))
    assert compared.chance(compared.here) > 0.8
    unlimited = compare_choice(without_limits(policy), policy.choice(5))
    assert unlimited.chance(unlimited.here) < 0.05


def without_limits(policy):
    """Return a policy with the same results and no limits."""
    twin = kb.Auto(policy.domain, noise=policy.noise)
    for one in policy.learner.results:
        twin.tell(twin.choice(one.place), one.value)
    return twin


def test_equal_seeds_play_equal_games():
    games = [
        [choice.x.tolist() for choice, *_ in play(*build(BOX, 50.0), branin, 12)] for _ in range(2)
    ]
    assert games[0] == games[1]


# ---------------------------------------------------------------- what is refused


def test_what_has_no_limits_is_refused():
    auto, other, elsewhere = kb.Auto(BOX), kb.Auto(BOX), kb.Auto(kb.Box((0.0,), (1.0,)))
    with pytest.raises(ValueError, match="a limit, low or high or both"):
        LimitedOutcome(other)
    with pytest.raises(ValueError, match="limits low <= high"):
        LimitedOutcome(other, 1.0, 0.0)
    with pytest.raises(ValueError, match="at least one"):
        auto.limited_by()
    with pytest.raises(ValueError, match='the goal "find"'):
        kb.Auto(BOX, goal="earn").limited_by(LimitedOutcome(other, high=1.0))
    with pytest.raises(ValueError, match="outcomes on"):
        auto.limited_by(LimitedOutcome(elsewhere, high=1.0))
    beside = kb.Auto(kb.Contextual(BOX, 1))
    with pytest.raises(ValueError, match="a domain without contexts"):
        beside.limited_by(LimitedOutcome(other, high=1.0))
    limited = auto.limited_by(LimitedOutcome(other, high=1.0))
    with pytest.raises(ValueError, match="without limited outcomes"):
        limited.to_dict()


def test_until_every_outcome_has_a_value_the_initial_design_goes_on():
    policy, outcome = build(BOX, 50.0, first=2)
    for _ in range(5):
        choice = policy.ask()
        assert choice.note.get("first") == 1.0
        policy.tell(choice, branin(choice.x)[0])
    outcome.tell(choice, branin(choice.x)[1])
    assert "first" not in policy.ask().note


def test_a_place_that_may_be_feasible_is_left_after_three_results_while_nothing_is_known_to_be():
    arms = kb.Arms([[x, y] for x in np.linspace(0, 1, 6) for y in np.linspace(0, 1, 4)])
    score, haze = kb.Auto(arms, seed=1), kb.Auto(arms)
    policy = score.limited_by(kb.policies.LimitedOutcome(haze, high=0.25))
    # Equal results lower no noise: the probability at the third arm stays below 0.9 for long.
    for arm, value in ((22, 0.72), (17, 0.56), (20, 0.5)):
        policy.tell(policy.choice(arm), 1.0 + value)
        haze.tell(haze.choice(arm), value)
    asked = []
    for _ in range(6):
        asked.append(int(policy.ask().arm or 0))
        policy.tell(policy.choice(6), 0.9)
        haze.tell(haze.choice(6), 0.242)
    assert policy.feasibility(policy.choice(6)) < 0.9
    assert 6 not in asked[3:]


def test_a_choice_is_compared_with_what_may_be_feasible_only():
    arms = kb.Arms(np.linspace(0, 1, 400)[:, None])
    score, haze = kb.Auto(arms, seed=1), kb.Auto(arms)
    policy = score.limited_by(kb.policies.LimitedOutcome(haze, high=0.25))
    for arm in (0, 60, 120, 180, 199, 240, 300, 399):
        policy.tell(policy.choice(arm), arm / 400)
        haze.tell(haze.choice(arm), (arm / 400) ** 2)
    choice = policy.recommend_choice()
    compared = compare_choice(policy, choice)
    places = compared.contenders[compared.contenders != compared.here]
    rows = compared.rows[places]
    numbers = arms.index.find(rows)
    assert len(numbers) > 10
    assert (np.exp(policy.outcomes[0].log_chances(numbers)) >= 0.01).all()
    assert 0 < compared.chance(compared.here) < 1


@pytest.mark.parametrize("domain", [kb.Box((0.0,), (1.0,)), kb.Arms([[0.0], [1.0]])])
def test_before_the_first_reward_the_recommendation_is_that_without_limits(domain):
    alone = kb.Auto(domain, goal="find")
    policy = alone.limited_by(LimitedOutcome(kb.Auto(domain, goal="find"), high=1.0))
    assert policy.recommend() == alone.recommend()
