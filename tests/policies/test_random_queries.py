"""GP-UCB+ and EXPLOIT+: a rule in the odd rounds, chance in the even ones."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from scipy import stats

import kernelbandits as kb
from kernelbandits.domains import tied_arms
from kernelbandits.problems import GaussianNoise, Instance, RKHSFunction

CLOUD = np.random.default_rng(12).random((12, 2))
KERNEL = kb.Matern(0.3)
quietly = pytest.mark.filterwarnings("ignore::kernelbandits.TheoryWarning")


def value(x: np.ndarray) -> float:
    return float(np.sin(4 * x.sum()))


def fill_distance(points: np.ndarray, played: list[int]) -> float:
    """max over x of the distance to the nearest point played."""
    return float(np.linalg.norm(points[:, None] - points[played], axis=2).min(1).max())


# ---------------------------------------------------------------- odd rounds


@quietly
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_odd_rounds_of_exploit_plus_are_greedy(noise):
    plus = kb.policies.ExploitPlus(CLOUD, KERNEL, noise_scale=noise)
    greedy = kb.policies.Greedy(CLOUD, KERNEL, ridge=plus.posterior.ridge)
    never = kb.GenericGP(
        CLOUD, KERNEL, kb.Bernoulli(0.0), noise_scale=1, norm_bound=1, ridge=plus.posterior.ridge
    )
    for t in range(1, 41):
        choice = plus.ask(t, kb.Streams(7))
        if t % 2:
            assert choice.arm == greedy.ask(t, kb.Streams(7)).arm == never.ask(t, kb.Streams(7)).arm
            assert choice.arm in tied_arms(plus.posterior.mean)
            assert choice.note["weight"] == 0.0
        for policy in (plus, greedy, never):
            policy.tell(policy.choice(choice.arm), value(choice.x) + noise * (-1) ** t)


@quietly
@pytest.mark.parametrize("noise", [0.0, 0.3])
def test_the_odd_rounds_of_gp_ucb_plus_maximise_the_mean_plus_d_times_the_sd(noise):
    plus = kb.policies.GPUCBPlus(CLOUD, KERNEL, noise_scale=noise, norm_bound=1.7)
    classic = kb.GenericGP(
        CLOUD,
        KERNEL,
        kb.PointMass(1.0),
        noise_scale=0.0,
        norm_bound=1.7,
        ridge=plus.posterior.ridge,
    )
    for t in range(1, 41):
        choice = plus.ask(t, kb.Streams(7))
        if t % 2:
            p = plus.posterior
            np.testing.assert_array_equal(plus.index(t), p.mean + 1.7 * p.sd)
            assert choice.arm == classic.ask(t, kb.Streams(7)).arm
        for policy in (plus, classic):
            policy.tell(policy.choice(choice.arm), value(choice.x) + noise * (-1) ** t)


# ---------------------------------------------------------------- even rounds

BOTH = {
    "gp-ucb-plus": lambda **more: kb.policies.GPUCBPlus(CLOUD, KERNEL, norm_bound=1.0, **more),
    "exploit-plus": lambda **more: kb.policies.ExploitPlus(CLOUD, KERNEL, **more),
}
each = pytest.mark.parametrize("make", BOTH.values(), ids=BOTH)


@pytest.mark.thorough
@each
def test_every_arm_has_the_same_chance_in_an_even_round(make):
    """Pearson's statistic of 6000 draws stays below its quantile of chance 1e-4, and above that of too even ones."""
    policy = make()
    arms = [policy.ask(2 * i, kb.Streams(5)).arm for i in range(1, 6001)]
    statistic = ((np.bincount(arms, minlength=12) - 500) ** 2 / 500).sum()
    assert stats.chi2.ppf(1e-4, 11) < statistic < stats.chi2.ppf(1 - 1e-4, 11)


@each
def test_the_even_rounds_see_neither_the_rewards_nor_the_rule_for_ties(make):
    informed, ignorant, lowest = make(), make(), make(ties="lowest")
    for t in range(1, 60):
        choice = informed.ask(t, kb.Streams(3))
        if t % 2 == 0:
            assert (
                choice.arm == ignorant.ask(t, kb.Streams(3)).arm == lowest.ask(t, kb.Streams(3)).arm
            )
            assert choice.note["random"] == 1.0
            assert choice.note["mean"] == informed.posterior.mean[choice.arm]
            assert not informed.index(t).any()
        informed.tell(choice, value(choice.x))


@each
def test_an_even_round_draws_one_number_from_a_generator(make):
    rng = np.random.default_rng(1)
    arm = make().ask(2, rng).arm
    again = np.random.default_rng(1)
    assert arm == int(again.random() * 12)
    assert rng.random() == again.random()


@pytest.mark.filterwarnings("ignore::kernelbandits.NumericsWarning")
@each
def test_the_fill_distance_falls_to_zero_where_greed_alone_leaves_gaps(make):
    plus = make()
    greedy = kb.policies.Greedy(CLOUD, KERNEL, ridge=plus.posterior.ridge)
    distances = {}
    for policy in (plus, greedy):
        played: list[int] = []
        history = []
        for t in range(1, 201):
            choice = policy.ask(t, kb.Streams(2))
            policy.tell(choice, value(choice.x))
            played.append(choice.arm)
            history.append(fill_distance(CLOUD, played))
        assert (np.diff(history) <= 0).all()
        distances[policy] = history
    assert distances[plus][-1] == 0 < distances[greedy][-1]


@each
def test_both_queries_are_rounds_and_both_are_learnt_by_the_python_engine(make):
    instance = Instance("cloud", kb.Arms(CLOUD), [value(x) for x in CLOUD], GaussianNoise(0.0))
    policy = make()
    played = kb.play(policy, instance, 30, kb.Streams(1))
    assert played.engine == "numpy"
    assert policy.posterior.events == 30
    random = [int(kb.Streams(1).uniform("tie", t) * 12) for t in range(2, 31, 2)]
    np.testing.assert_array_equal(played.arms[1::2], random)


# ---------------------------------------------------------------- without noise, and with


@pytest.mark.filterwarnings("ignore::kernelbandits.NumericsWarning")
@pytest.mark.parametrize("kernel", [kb.Matern(0.3), kb.Matern(0.2, nu=0.5), kb.RBF(0.1)], ids=str)
def test_without_noise_f_is_never_further_from_the_mean_than_d_sds(kernel):
    for seed in range(8):
        instance = RKHSFunction(
            kernel, 2, candidates=25, norm_bound=2.0, noise=GaussianNoise(0.0)
        ).instance(kb.Streams(seed))
        policy = kb.policies.GPUCBPlus(instance.domain, kernel, norm_bound=2.0)
        for t in range(1, 41):
            p = policy.posterior
            assert (np.abs(instance.values - p.mean) <= 2.0 * p.sd + 1e-6).all()
            choice = policy.ask(t, kb.Streams(seed))
            policy.tell(choice, float(instance.values[choice.arm]))


def test_the_bound_of_d_sds_is_reached_so_a_smaller_one_would_be_wrong():
    """f = D k(., x_0) has norm D and stands D sd above the mean at x_0 before any reward."""
    policy = kb.policies.GPUCBPlus(CLOUD, KERNEL, norm_bound=2.0)
    f = 2.0 * KERNEL(CLOUD, CLOUD[:1])[:, 0]
    assert policy.index(1)[0] == pytest.approx(f[0], rel=1e-12)


@each
def test_without_noise_the_estimate_passes_through_the_rewards(make):
    policy = make()
    assert policy.posterior.ridge == 1e-8
    for t in range(1, 31):
        choice = policy.ask(t, kb.Streams(4))
        policy.tell(choice, value(choice.x))
    played = policy.posterior.tally.played_arms
    np.testing.assert_allclose(
        policy.posterior.mean[played], [value(x) for x in CLOUD[played]], atol=1e-5
    )


@quietly
@each
@pytest.mark.parametrize(
    ("noise", "ridge"), [(0.0, 1e-8), (1e-200, 1e-8), (1e-6, 1e-8), (0.5, 0.25), (3.0, 9.0)]
)
def test_the_ridge_is_the_variance_of_the_noise_and_no_less_than_1e_8(make, noise, ridge):
    policy = make(noise_scale=noise)
    assert policy.posterior.ridge == policy.settings["ridge"] == pytest.approx(ridge)


@each
def test_with_noise_it_says_that_it_is_a_heuristic_and_without_it_says_nothing(make):
    with pytest.warns(
        kb.TheoryWarning, match=r"for rewards without noise; with R = 0\.5 it is a heuristic"
    ):
        make(noise_scale=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        make()


def test_a_norm_of_zero_is_allowed_with_a_warning_and_needed_by_gp_ucb_plus_alone():
    with pytest.warns(kb.TheoryWarning, match="norm_bound D = 0 says that"):
        kb.policies.GPUCBPlus(CLOUD, KERNEL, norm_bound=0.0)
    with pytest.raises(TypeError, match="norm_bound"):
        kb.policies.GPUCBPlus(CLOUD, KERNEL)
    with pytest.raises(ValueError, match="gp-ucb-plus needs norm_bound, got no settings"):
        kb.policy("gp-ucb-plus", CLOUD, KERNEL)
    kb.policy("exploit-plus", CLOUD, KERNEL)


@each
@pytest.mark.parametrize("bad", [-1.0, math.nan, None, True, "1"])
def test_a_noise_that_is_no_size_is_refused_by_name(make, bad):
    with pytest.raises(ValueError, match=f"Plus needs noise_scale >= 0, got {bad!r}"):
        make(noise_scale=bad)


@pytest.mark.parametrize(
    ("scale", "ridge"), [(0.0, 1e-8), (1e-5, 1e-8), (1e-4, 1e-8), (2e-4, 4e-8), (0.5, 0.25)]
)
def test_the_ridge_is_the_greater_of_the_noise_variance_and_the_least_one(scale, ridge):
    policy = kb.policies.ExploitPlus(np.eye(2), kb.Linear(), noise_scale=scale)
    assert policy.posterior.ridge == pytest.approx(ridge, rel=1e-14)
