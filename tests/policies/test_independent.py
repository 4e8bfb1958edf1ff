"""Independent arms: what is played follows from the counts and reward sums of each arm alone."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.domains import argmax

NAMES = ("ucb1", "gaussian-ts", "ucb-revisited")
every_rule = pytest.mark.parametrize("name", NAMES)


def arms(n: int) -> np.ndarray:
    return np.linspace(0, 1, n)[:, None]


def bernoulli_rounds(policy, chances, horizon, seed):
    """The arms played, rewards 0 or 1."""
    rng, streams, pulls = np.random.default_rng(seed), kb.Streams(seed), []
    for t in range(1, horizon + 1):
        choice = policy.ask(t, streams)
        policy.tell(choice, float(rng.random() < chances[choice.arm]))
        pulls.append(choice.arm)
    return pulls


# ---------------------------------------------------------------- by brute force


def brute_ucb1(rewards, t, streams, r, ties):
    n = sum(len(got) for got in rewards)
    unplayed = [arm for arm, got in enumerate(rewards) if not got]
    if unplayed:
        return unplayed[0 if ties == "lowest" else int(streams.uniform("tie", t) * len(unplayed))]
    bounds = [np.mean(got) + 2 * r * math.sqrt(2 * math.log(n) / len(got)) for got in rewards]
    return argmax(np.array(bounds), ties, streams.uniform("tie", t))


def brute_gaussian_ts(rewards, t, streams, r, ties):
    z = streams.normal("sample", t, len(rewards))
    drawn = [
        sum(got) / (len(got) + 1) + r * z[i] / math.sqrt(len(got) + 1)
        for i, got in enumerate(rewards)
    ]
    return argmax(np.array(drawn), ties, streams.uniform("tie", t))


class BruteRevisited:
    """Auer & Ortner's stages, restarted from the list of all rewards in every round."""

    def __init__(self, horizon):
        self.horizon = horizon

    def __call__(self, rewards, t, streams, r, ties):
        left = self.left(rewards, r)
        fewest = min(len(rewards[i]) for i in left)
        candidates = [i for i in left if len(rewards[i]) == fewest]
        return candidates[
            0 if ties == "lowest" else int(streams.uniform("tie", t) * len(candidates))
        ]

    def left(self, rewards, r):
        left, gap = list(range(len(rewards))), 1.0
        for _ in range(math.floor(math.log2(self.horizon / math.e) / 2) + 1):
            log = math.log(self.horizon * gap**2)
            plays = math.ceil((2 * r) ** 2 * 2 * log / gap**2)
            if len(left) == 1 or any(len(rewards[i]) < plays for i in left):
                break
            means = {i: np.mean(rewards[i][:plays]) for i in left}
            radius = 2 * r * math.sqrt(log / (2 * plays))
            best = max(mean - radius for mean in means.values())
            left = [i for i in left if means[i] + radius >= best]
            gap /= 2
        return left


@every_rule
@pytest.mark.parametrize("ties", ["random", "lowest"])
@pytest.mark.parametrize("r", [0.5, 0.1, 0.9])
def test_it_plays_what_a_slow_reading_of_the_paper_plays(name, ties, r, build):
    n, horizon = 6, 400
    brute = {
        "ucb1": brute_ucb1,
        "gaussian-ts": brute_gaussian_ts,
        "ucb-revisited": BruteRevisited(horizon),
    }[name]
    policy = build(name, arms(n), noise_scale=r, horizon=horizon, ties=ties)
    rng, streams, rewards = np.random.default_rng(1), kb.Streams(7), [[] for _ in range(n)]
    for t in range(1, horizon + 1):
        choice = policy.ask(t, streams)
        assert choice.arm == brute(rewards, t, streams, r, ties)
        rewards[choice.arm].append(float(0.15 * choice.arm + r * rng.normal()))
        policy.tell(choice, rewards[choice.arm][-1])
    if name == "ucb-revisited":
        assert policy.left.tolist() == brute.left(rewards, r)


@every_rule
def test_the_kernel_changes_nothing_of_what_is_played(name, build):
    chances = np.linspace(0.2, 0.8, 5)
    first, other = (
        bernoulli_rounds(build(name, arms(5), kernel, horizon=200), chances, 200, 3)
        for kernel in (kb.RBF(0.3), 0.1 * kb.Linear())
    )
    assert first == other


@every_rule
def test_the_recommendation_is_the_common_posteriors(name, build):
    policy = build(name, arms(5), kb.RBF(0.5), horizon=100, ridge=0.3)
    other = kb.SimpleUCB(arms(5), kb.RBF(0.5), noise_scale=0.5, norm_bound=1.0, ridge=0.3)
    rng, streams = np.random.default_rng(4), kb.Streams(4)
    for t in range(1, 101):
        choice, reward = policy.ask(t, streams), float(rng.normal())
        policy.tell(choice, reward)
        other.tell(choice, reward)
        assert policy.recommend() == other.recommend()
    np.testing.assert_allclose(policy.posterior.mean, other.posterior.mean, atol=1e-12)


@every_rule
def test_no_noise_is_allowed_with_a_warning(name, build):
    with pytest.warns(kb.TheoryWarning, match="noise_scale R = 0 says that"):
        policy = build(name, arms(4), noise_scale=0.0, horizon=60)
    rounds = bernoulli_rounds(policy, [0.0, 1.0, 0.0, 0.0], 60, 0)
    assert rounds.count(1) >= 40


@every_rule
def test_scaling_rewards_and_noise_leaves_the_first_two_rules_as_they_are(name, build):
    """UCB revisited guesses gaps of 1, 1/2, ... in the units of the rewards and so does see the scale."""
    pulls = []
    for scale in (1.0, 8.0):
        policy, rng, streams = (
            build(name, arms(4), noise_scale=0.3 * scale, horizon=200),
            np.random.default_rng(5),
            [],
        )
        for t in range(1, 201):
            choice = policy.ask(t, kb.Streams(5))
            streams.append(choice.arm)
            policy.tell(choice, scale * float(0.3 * choice.arm + 0.3 * rng.normal()))
        pulls.append(streams)
    assert (pulls[0] == pulls[1]) == (name != "ucb-revisited")


# ---------------------------------------------------------------- UCB1


def ucb1(n, noise_scale=0.5, **more):
    return kb.policies.UCB1(arms(n), kb.RBF(0.3), noise_scale=noise_scale, **more)


def test_at_one_half_the_index_is_the_original():
    """ybar + sqrt(2 ln n / n_i): two, one and one rewards of three arms."""
    policy = ucb1(3)
    for arm, reward in ((0, 0.75), (1, 0.5), (0, 0.25), (2, 1.0)):
        policy.tell(policy.choice(arm), reward)
    bonus = math.sqrt(2 * 1.3862943611198906)
    np.testing.assert_allclose(
        policy.index(5), [0.5 + bonus / math.sqrt(2), 0.5 + bonus, 1.0 + bonus], rtol=1e-14
    )
    twice = ucb1(3, noise_scale=1.0)
    for arm, reward in ((0, 0.75), (1, 0.5), (0, 0.25), (2, 1.0)):
        twice.tell(twice.choice(arm), reward)
    means = np.array([0.5, 0.5, 1.0])
    np.testing.assert_allclose(twice.index(5) - means, 2 * (policy.index(5) - means), rtol=1e-13)


def test_every_arm_is_played_once_first_in_the_order_of_the_ties():
    assert bernoulli_rounds(ucb1(7, ties="lowest"), [0.9] * 7, 7, 0) == list(range(7))
    orders = {tuple(bernoulli_rounds(ucb1(7), [0.9] * 7, 7, seed)) for seed in range(5)}
    assert len(orders) == 5
    assert all(sorted(order) == list(range(7)) for order in orders)


def test_while_arms_are_unplayed_the_others_must_not_be_played():
    policy = ucb1(3)
    policy.tell(policy.choice(1), 100.0)
    np.testing.assert_array_equal(policy.index(2), [0.0, -math.inf, 0.0])


def test_the_clock_is_the_number_of_rewards_and_not_the_round():
    policy = ucb1(2)
    for arm in (0, 1, 1):
        policy.tell(policy.choice(arm), 0.5)
    np.testing.assert_array_equal(policy.index(4), policy.index(4000))


@pytest.mark.thorough
def test_the_pulls_of_a_worse_arm_are_within_the_bound_of_the_paper():
    """E n_i <= 8 ln(n) / gap^2 + 1 + pi^2 / 3, within four standard errors; and the best arm is played most."""
    chances, horizon, runs = np.array([0.9, 0.5, 0.2]), 400, 40
    counts = np.array(
        [
            np.bincount(bernoulli_rounds(ucb1(3), chances, horizon, seed), minlength=3)
            for seed in range(runs)
        ]
    )
    bound = 8 * math.log(horizon) / (0.9 - chances[1:]) ** 2 + 1 + math.pi**2 / 3
    error = 4 * counts[:, 1:].std(0) / math.sqrt(runs)
    assert (counts[:, 1:].mean(0) <= bound + error).all()
    assert counts[:, 0].mean() > 0.6 * horizon
    assert counts[:, 1].mean() > counts[:, 2].mean() > math.log(horizon)


# ---------------------------------------------------------------- Gaussian Thompson sampling


@pytest.mark.thorough
def test_the_draws_are_independent_normals_of_known_mean_and_variance():
    """N(S_i / (n_i + 1), R^2 / (n_i + 1)), within four standard errors of 1e5 draws."""
    policy, n = kb.policies.GaussianTS(np.eye(3), kb.RBF(0.3), noise_scale=0.7), 100_000
    for arm, reward in ((0, 0.75), (1, -0.5), (0, 0.25)):
        policy.tell(policy.choice(arm), reward)
    draws = np.array([policy.sample(z) for z in kb.Streams(8).normals("sample", 1, n, 3)])
    mean, variance = np.array([1 / 3, -0.25, 0.0]), 0.49 / np.array([3, 2, 1])
    assert (np.abs(draws.mean(0) - mean) < 4 * np.sqrt(variance / n)).all()
    error = np.sqrt((np.outer(variance, variance) + np.diag(variance**2)) / n)
    assert (np.abs(np.cov(draws.T, bias=True) - np.diag(variance)) < 4 * error).all()


def test_it_is_lin_ts_on_the_basis_arms_with_the_same_scale():
    """B = I + diag(n) on orthonormal arms: N(S_i / (1 + n_i), v^2 / (1 + n_i))."""
    rule = kb.policies.GaussianTS(np.eye(4), kb.Linear(), noise_scale=0.5)
    linear = kb.policies.LinTS(np.eye(4), kb.Linear(), noise_scale=0.5)
    rng = np.random.default_rng(9)
    for arm in rng.integers(4, size=20):
        reward = float(rng.normal())
        rule.tell(rule.choice(int(arm)), reward)
        linear.tell(linear.choice(int(arm)), reward)
    z, scale = rng.normal(size=4), linear.width_at(21) / 0.5
    np.testing.assert_allclose(rule.sample(scale * z), linear.sample(21, z), atol=1e-12)


def test_gaussian_thompson_sampling_leaves_the_worse_arms():
    chances = np.array([0.9, 0.5, 0.2])
    counts = [
        np.bincount(
            bernoulli_rounds(
                kb.policies.GaussianTS(arms(3), kb.RBF(0.3), noise_scale=1.0), chances, 400, seed
            )
        )
        for seed in range(10)
    ]
    assert np.mean(counts, axis=0)[0] > 0.7 * 400


# ---------------------------------------------------------------- UCB revisited


def revisited(n, horizon, noise_scale=0.5, **more):
    return kb.policies.UCBRevisited(
        arms(n), kb.RBF(0.3), noise_scale=noise_scale, horizon=horizon, **more
    )


def test_at_one_half_the_stages_are_the_original_ones():
    """ceil(2 ln(T g^2) / g^2) plays and radius sqrt(ln(T g^2) / (2 n_m)) for T = 1000: stages 0..4."""
    policy = revisited(2, 1000)
    assert policy.stages == 5
    assert [policy.plays(m) for m in range(5)] == [14, 45, 133, 352, 698]
    for m, plays in enumerate([14, 45, 133, 352, 698]):
        assert policy.radius(m) == pytest.approx(
            math.sqrt(math.log(1000 * 4.0**-m) / (2 * plays)), rel=1e-14
        )
        assert policy.radius(m) <= 2.0**-m / 2
    louder = revisited(2, 1000, noise_scale=1.0)
    assert [louder.plays(m) for m in range(3)] == [56, 177, 530]
    assert louder.radius(0) == pytest.approx(math.sqrt(2 * math.log(1000) / 56), rel=1e-14)


@pytest.mark.parametrize(
    ("horizon", "stages"), [(1, 0), (2, 0), (3, 1), (10, 1), (11, 2), (43, 2), (44, 3), (10**9, 15)]
)
def test_the_number_of_stages_is_one_more_than_half_the_logarithm_of_the_horizon(horizon, stages):
    policy = revisited(3, horizon)
    assert policy.stages == max(0, 1 + math.floor(math.log2(horizon / math.e) / 2)) == stages
    assert all(policy.plays(m) >= 1 for m in range(stages))


def test_a_short_horizon_plays_all_arms_evenly():
    for horizon in (1, 2):
        policy = revisited(3, horizon)
        with pytest.warns(kb.TheoryWarning, match="beyond its horizon"):
            bernoulli_rounds(policy, [0.0, 1.0, 0.0], 30, 0)
        assert policy.posterior.counts.tolist() == [10, 10, 10]


def test_a_horizon_of_a_hundred_digits_is_a_horizon():
    assert revisited(2, 10**100).stages == 166
    assert revisited(2, 10**100).plays(0) == 461


def test_within_a_stage_the_arms_left_are_played_evenly_and_dropped_ones_never_come_back():
    policy, streams, rng = revisited(5, 3000, 0.3), kb.Streams(1), np.random.default_rng(1)
    left = [set(range(5))]
    for t in range(1, 3001):
        choice = policy.ask(t, streams)
        assert choice.arm in left[-1]
        policy.tell(choice, float([0.0, 0.3, 0.9, 1.0, 1.0][choice.arm] + 0.3 * rng.normal()))
        counts = policy.posterior.counts[policy.left]
        assert counts.max() - counts.min() <= 1
        if set(policy.left.tolist()) != left[-1]:
            left.append(set(policy.left.tolist()))
    assert len(left) > 2
    assert all(after < before for before, after in itertools.pairwise(left))
    assert {3, 4} <= left[-1]


def test_the_only_arm_left_is_played_for_ever():
    policy = revisited(2, 500)
    pulls = bernoulli_rounds(policy, [1.0, 0.0], 500, 2)
    assert policy.left.tolist() == [0]
    assert (policy.stage, pulls.count(1)) == (1, 13)
    assert set(pulls[26:]) == {0}


def test_without_noise_an_arm_goes_in_the_first_stage_whose_two_radii_are_below_its_gap(quiet):
    for gap in (0.9, 0.4, 0.15):
        policy, streams = revisited(2, 2000), kb.Streams(3)
        while len(policy.left) > 1:
            choice = policy.ask(1, streams)
            policy.tell(choice, -gap * choice.arm)
        expected = next(m for m in range(9) if gap > 2 * policy.radius(m))
        assert policy.stage == expected + 1
        assert policy.posterior.counts[1] == policy.plays(expected)


def test_rewards_nobody_asked_for_move_the_stages_too():
    policy = revisited(2, 100)
    for _ in range(policy.plays(1)):
        policy.tell(policy.choice(0), 0.0)
    assert policy.stage == 0
    for _ in range(policy.plays(1)):
        policy.tell(policy.choice(1), 0.0)
    assert policy.stage == 2
    assert policy.left.tolist() == [0, 1]


def test_stages_of_equally_many_plays_end_together():
    """R = 0.01 and T = 1000: n_0 = n_1 = n_2 = 1, n_3 = ceil(0.0512 ln(15.6)) = 1, n_4 = ceil(0.2048 ln(3.9)) = 1."""
    policy = revisited(2, 1000, noise_scale=0.01)
    policy.tell(policy.choice(0), 0.0)
    assert policy.stage == 0
    policy.tell(policy.choice(1), 0.0)
    assert policy.stage == policy.stages == 5


def lost(policy_of, runs):
    """How often the better of two arms, ahead by a hair, is dropped in the first two stages."""
    dropped = 0
    for seed in range(runs):
        policy, rng = policy_of(), np.random.default_rng(seed)
        plays = policy.plays(1)
        rewards = 0.5 * rng.normal(size=(2, plays)) + [[1e-3], [0.0]]
        for pull in range(plays):
            for arm in (0, 1):
                policy.tell(policy.choice(arm), float(rewards[arm, pull]))
        dropped += 0 not in policy.left
    return dropped / runs


class Rash(kb.policies.UCBRevisited):
    def radius(self, stage):
        return super().radius(stage) / 4


@pytest.mark.thorough
def test_the_best_arm_survives_with_the_chance_of_the_proof():
    """It is lost in stages 0 and 1 with probability 2 (1 + 4) / T at most; a quarter of the radius is caught."""
    horizon, runs = 500, 300
    bound = 2 * (1 + 4) / horizon
    allowed = bound + 4 * math.sqrt(bound * (1 - bound) / runs)
    assert lost(lambda: revisited(2, horizon), runs) <= allowed
    assert (
        lost(lambda: Rash(arms(2), kb.RBF(0.3), noise_scale=0.5, horizon=horizon), runs) > allowed
    )


@pytest.mark.thorough
def test_the_regret_is_within_the_bound_of_the_paper():
    """sum_i gap + 32 ln(T gap^2) / gap + 96 / gap, within four standard errors; and far below playing evenly."""
    chances, horizon, runs = np.array([1.0, 0.1, 0.2]), 1500, 12
    gaps, worse = 1.0 - chances, 1.0 - chances[1:]
    regrets = [
        gaps[bernoulli_rounds(revisited(3, horizon), chances, horizon, seed)].sum()
        for seed in range(runs)
    ]
    bound = (worse + 32 * np.log(horizon * worse**2) / worse + 96 / worse).sum()
    assert np.mean(regrets) <= bound + 4 * np.std(regrets) / math.sqrt(runs)
    assert np.mean(regrets) < 0.1 * horizon * gaps.mean()
