"""Policies that play anywhere in a box: the point they choose, what they learn from one, and what they refuse."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.catalogue import POLICIES
from kernelbandits.policies.paths import count_normals, draw_waves

BOX = kb.Box((-1.0, 0.0), (1.0, 3.0))
MIXED = kb.MixedBox(
    {
        "heat": kb.Real(0.0, 2.0),
        "steps": kb.Integer(1, 5),
        "size": kb.Ordered(("s", "m", "l")),
        "acid": kb.Category(("a", "b", "c")),
    }
)
SEARCHING = (
    "generic-gp",
    "simple-ucb",
    "simple-bernoulli",
    "simple-gaussian",
    "simple-categorical",
    "simple-mixture",
    "rand-ucb",
    "igp-ucb",
    "gp-ts",
    "whitehouse-ucb",
    "amm-ucb",
    "gp-ucb-plus",
    "exploit-plus",
    "tgp-ucb",
    "mvr",
    "greedy",
    "random",
    "ec-gp-ucb",
    "a-gp-ucb",
    "lb-gp-ucb",
    "feature-perturbation",
    "evill",
    "pims",
    "gp-eims",
    "kernel-epsilon-greedy",
)
every_search = pytest.mark.parametrize("name", SEARCHING)


def truth(x):
    return math.sin(3 * x[0]) + math.cos(x[1])


def played(policy, rounds, seed=1, f=truth):
    for t in range(1, rounds + 1):
        choice = policy.ask(t, kb.Streams(seed))
        policy.tell(choice, f(choice.x))
    return policy


def ucb(domain=BOX, kernel=None, law=None, **settings):
    given = {"noise_scale": 0.1, "norm_bound": 1.0} | settings
    return kb.GenericGP(domain, kernel or kb.Matern((0.4, 0.8)), law or kb.PointMass(1.0), **given)


# ---------------------------------------------------------------- who searches


def test_the_policies_that_search_are_those_named_here():
    searches = {name for name, entry in POLICIES.items() if entry.constructor.plays_boxes}
    assert searches == {
        *SEARCHING,
        "gp-ucb",
        "auto",
        "expected-improvement",
        "probability-of-improvement",
    }


@every_search
def test_a_policy_that_searches_plays_anywhere_in_the_box_and_says_how(name, build):
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        policy = build(name, BOX)
        assert policy.domain is BOX
        assert policy.settings["argmax"].startswith("by search")
        assert "cover" not in policy.settings
    for t in range(1, 5):
        choice = policy.ask(t, kb.Streams(3))
        assert choice.arm is None
        assert choice.context is None
        assert ((BOX.lower <= choice.x) & (choice.x <= BOX.upper)).all()
        assert not choice.x.flags.writeable
        policy.tell(choice, 0.1 * t)
    assert policy.posterior.events == 4


@every_search
def test_asking_changes_nothing_and_equal_arguments_give_equal_choices(name, build):
    policy = played(build(name, BOX), 3)
    first, before = policy.ask(4, kb.Streams(5)), policy.posterior.log_det
    for t in (9, 4, 6):
        policy.ask(t, kb.Streams(t))
        policy.recommend()
    assert policy.ask(4, kb.Streams(5)) == first
    assert (policy.posterior.log_det, policy.posterior.events) == (before, 3)
    assert policy.ask(4, np.random.default_rng(1)) == policy.ask(4, np.random.default_rng(1))


@every_search
def test_a_mixed_box_is_played_in_its_own_words(name, build):
    policy = build(name, MIXED)
    for t in range(1, 4):
        choice = policy.ask(t, kb.Streams(2))
        assert set(choice.x) == {"heat", "steps", "size", "acid"}
        assert choice.x["steps"] in range(1, 6)
        assert choice.x["size"] in ("s", "m", "l")
        assert choice.x["acid"] in ("a", "b", "c")
        policy.tell(choice, choice.x["heat"])
        assert (policy.posterior.points == MIXED.encode(choice.x)).all(1).any()
    assert MIXED.encode(policy.recommend()).shape == (MIXED.dimension,)


# ---------------------------------------------------------------- the index and its maximiser


def test_on_the_points_of_a_finite_set_the_index_is_that_of_the_arms():
    points = np.random.default_rng(2).uniform(BOX.lower, BOX.upper, (30, 2))
    arms, anywhere = ucb(points), ucb()
    for t in range(1, 41):
        choice = arms.ask(t, kb.Streams(1))
        arms.tell(choice, truth(choice.x))
        anywhere.tell(kb.Choice(choice.x), truth(choice.x))
        for weight in (-1.0, 0.0, 1.0):
            there = anywhere.index(t + 1, weight, points=points)
            np.testing.assert_allclose(there, arms.index(t + 1, weight), atol=1e-9)
    assert anywhere.width_at(41) == pytest.approx(arms.width_at(41), abs=1e-10)


@pytest.mark.parametrize("weight", [-1.0, 0.0, 0.3, 2.0])
def test_no_point_of_a_dense_cover_has_a_greater_index_than_the_choice(weight):
    policy = played(ucb(), 25)
    policy.exploration = kb.exploration.Exploration.of(kb.PointMass(weight))
    choice = policy.ask(26, kb.Streams(1))
    dense = np.random.default_rng(4).uniform(BOX.lower, BOX.upper, (20_000, 2))
    assert choice.note["index"] >= policy.index(26, weight, points=dense).max() - 1e-9
    assert choice.note["index"] == pytest.approx(
        policy.index(26, weight, points=[choice.x])[0], abs=1e-9
    )
    assert choice.note["starts"] >= choice.note["reached"] >= 1


def test_the_note_adds_up_to_the_index():
    policy = played(ucb(law=kb.Gaussian(0.0, 1.0)), 10)
    note = policy.ask(11, kb.Streams(8)).note
    assert note["index"] == pytest.approx(
        note["mean"] + note["weight"] * note["width"] * note["sd"], abs=1e-9
    )
    assert note["weight"] == kb.Gaussian(0.0, 1.0).draw(kb.Streams(8).uniform("weight", 11))
    level = math.log(2) * 2 + policy.posterior.log_det
    assert note["width"] == pytest.approx(1.0 + 0.1 * math.sqrt(level), abs=1e-12)


def test_the_first_point_is_spread_over_the_box_by_the_tie_and_fixed_where_ties_are_not_random():
    first = np.array([ucb().ask(1, kb.Streams(seed)).x for seed in range(30)])
    assert len(np.unique(first, axis=0)) == 30
    fixed = {ucb(ties="lowest").ask(1, kb.Streams(seed)).x.tobytes() for seed in range(5)}
    assert len(fixed) == 1


def test_the_recommendation_is_the_point_of_the_greatest_estimate():
    policy = played(ucb(), 30)
    mean = policy.posterior.at([policy.recommend()])[0][0]
    dense = np.random.default_rng(4).uniform(BOX.lower, BOX.upper, (20_000, 2))
    assert mean >= policy.posterior.at(dense)[0].max() - 1e-9
    assert mean == pytest.approx(policy.posterior.at(policy.posterior.points)[0].max(), abs=0.2)


def test_a_box_is_searched_to_its_best_point():
    """Closer than the best point of a cover of 500, which is 0.003 below."""
    policy = played(
        ucb(kernel=kb.RBF((0.6, 1.5)), noise_scale=0.01, norm_bound=0.5, ridge=1e-4), 25
    )
    best = math.sin(3 * math.pi / 6) + 1
    assert truth(policy.recommend()) > best - 1e-3


def test_an_index_on_a_box_needs_points():
    with pytest.raises(ValueError, match=r"index needs points=rows on Box.*, got None"):
        ucb().index(1)
    with pytest.raises(ValueError, match="at needs points of 2 dimensions, got 3"):
        ucb().index(1, points=[[0.0, 1.0, 2.0]])
    np.testing.assert_allclose(
        ucb(np.eye(2)).index(1, points=[[0.5, 0.5]]), ucb(np.eye(2)).index(1)[:1]
    )


def test_a_band_on_a_box_is_given_at_points():
    policy = played(kb.policies.AMMUCB(BOX, kb.RBF(0.5), noise_scale=0.1, norm_bound=1.0), 5)
    low, high = policy.band(6, points=[[0.0, 1.0], [0.5, 2.0]])
    mean, sd = policy.posterior.at([[0.0, 1.0], [0.5, 2.0]])
    np.testing.assert_allclose((low + high) / 2, mean, atol=1e-12)
    np.testing.assert_allclose(high - low, 2 * policy.width_at(6) * sd, atol=1e-12)


# ---------------------------------------------------------------- telling


def test_any_point_of_the_box_may_be_told_unasked():
    policy = ucb()
    policy.tell(policy.choice([0.25, 1.5]), 1.0)
    policy.tell(kb.Choice((0.25, 1.5)), 2.0)
    policy.tell(kb.Choice(BOX.lower), 2.0)
    np.testing.assert_array_equal(policy.posterior.points, [[0.25, 1.5], [-1.0, 0.0]])
    np.testing.assert_array_equal(policy.posterior.counts, [2, 1])
    assert policy.choice([0.25, 1.5]).arm is None


NO_POINTS = (
    [2.0, 1.0],
    [0.0, -1e-9],
    [0.0],
    [0.0, 1.0, 2.0],
    [math.nan, 1.0],
    [math.inf, 1.0],
    None,
    "point",
    0.5,
    [[0.0, 1.0]],
    {"x": 1.0},
)


@pytest.mark.parametrize("x", NO_POINTS, ids=repr)
def test_a_point_outside_is_refused_and_changes_nothing(x):
    policy = played(ucb(), 2)
    before = policy.posterior.log_det
    for refuse in (lambda: policy.tell(kb.Choice(x), 1.0), lambda: policy.choice(x)):
        with pytest.raises(ValueError, match=r"needs .*, got"):
            refuse()
    assert (policy.posterior.events, policy.posterior.log_det) == (2, before)


@pytest.mark.parametrize("reward", [math.nan, math.inf, None, "1", 1e200, True], ids=repr)
def test_a_reward_that_is_no_number_is_refused_and_changes_nothing(reward):
    policy = ucb()
    with pytest.raises(ValueError, match="tell needs"):
        policy.tell(policy.choice([0.0, 1.0]), reward)
    assert policy.posterior.events == 0


@pytest.mark.parametrize(
    "extra", [{"context": [1.0]}, {"arms": [[0.0, 1.0]]}, {"context": 3}], ids=repr
)
@pytest.mark.parametrize("domain", [BOX, np.eye(2)], ids=["box", "arms"])
def test_a_domain_without_contexts_refuses_one(domain, extra):
    policies = [
        ucb(domain),
        kb.policies.UniformRandom(domain, kb.RBF()),
        kb.policies.MVR(domain, kb.RBF()),
    ]
    policies += [kb.GPTS(domain, kb.RBF(), noise_scale=0.1, norm_bound=1.0, horizon=5)]
    for policy in policies:
        with pytest.raises(
            ValueError,
            match=r"ask needs (no (context|arms) on|a list of arms by their whole numbers)",
        ):
            policy.ask(1, kb.Streams(1), **extra)
        with pytest.raises(
            ValueError,
            match=r"ask needs (no (context|arms) on|a list of arms by their whole numbers)",
        ):
            policy.recommend(**extra)


def test_an_experiment_on_arms_refuses_a_policy_on_a_box():
    instance = kb.problem("branin", candidates=20).instance(kb.Streams(1))
    with pytest.raises(
        ValueError, match=r"play needs a policy on the arms of the instance, .*, got Box"
    ):
        kb.play(ucb(), instance, 5, kb.Streams(1))


# ---------------------------------------------------------------- gains, schedules, covers


@pytest.mark.parametrize("kind", [kb.IGPUCB, kb.GPTS, kb.policies.TGPUCB])
def test_a_gain_that_needs_a_finite_set_takes_the_cover_and_says_so(kind):
    shared = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 20, "gain": "greedy"}
    policy, arms = kind(BOX, kb.RBF(0.5), **shared), kind(BOX.cover(), kb.RBF(0.5), **shared)
    assert policy.settings["gain"] == f"greedy on {BOX.cover().origin}"
    assert [policy.width(t, 0.0) for t in (1, 5, 9)] == [arms.width(t, 0.0) for t in (1, 5, 9)]
    assert kind(BOX, kb.RBF(0.5), **shared | {"gain": "realised"}).settings["gain"] == "realised"


def test_gp_ucb_on_a_box_has_the_rkhs_schedule_and_refuses_the_finite_one():
    with pytest.raises(
        ValueError, match=r"GPUCB needs a finite set for its finite schedule \(domain.cover\(n\)"
    ):
        kb.GPUCB(BOX, kb.RBF(0.5), noise_scale=0.1)
    policy = kb.GPUCB(
        BOX, kb.RBF(0.5), noise_scale=0.1, norm_bound=1.0, schedule="rkhs", gain="realised"
    )
    assert policy.ask(1, kb.Streams(1)).arm is None
    assert (
        kb.GPUCB(BOX.cover(50), kb.RBF(0.5), noise_scale=0.1).ask(1, kb.Streams(1)).arm is not None
    )


def test_the_ridge_of_a_matern_decay_needs_no_arms():
    shared = {"noise_scale": 0.1, "norm_bound": 1.0, "ridge": "matern", "horizon": 100}
    assert kb.WhitehouseUCB(BOX, kb.Matern(0.5, 1.5), **shared).posterior.ridge == pytest.approx(
        100 ** (2 / 7)
    )


def test_a_kernel_beyond_one_somewhere_in_the_box_is_noticed():
    with pytest.warns(kb.TheoryWarning, match=r"k\(x, x\) <= 1"):
        ucb(kernel=kb.Linear())


@pytest.mark.parametrize(
    "law",
    [
        kb.Decay(),
        kb.Step(kb.Bernoulli(0.9), kb.Bernoulli(0.1), 2),
        kb.Certainty(),
        lambda t: kb.Bernoulli(0.5),
    ],
)
def test_schedules_play_on_boxes(law):
    policy = played(ucb(law=law), 4)
    assert policy.ask(5, kb.Streams(1)).note["weight"] in (0.0, 1.0)


def test_certainty_on_a_box_looks_at_its_cover():
    policy, seen = played(ucb(), 5), []
    law = kb.Certainty(0.9, 0.1)
    policy.exploration = kb.exploration.Exploration.of(
        lambda t, posterior: seen.append(law(t, posterior)) or seen[-1]
    )
    policy.ask(6, kb.Streams(1))
    unknown = policy.posterior.at(BOX.cover().points)[1].max()
    assert seen[0].p == pytest.approx(0.1 + 0.8 * unknown, abs=1e-12)


def test_a_schedule_that_looks_at_the_history_sees_the_whole_posterior():
    def law(t, posterior):
        assert len(posterior.mean) == len(posterior.sd) == len(posterior.prior) == 500
        assert (posterior.events, len(posterior.points)) == (3, 3)
        return kb.Bernoulli(0.5)

    policy = played(ucb(), 3)
    policy.exploration = kb.exploration.Exploration.of(law)
    policy.ask(4, kb.Streams(1))


# ---------------------------------------------------------------- floors


@pytest.mark.thorough
def test_uniform_random_is_uniform_on_a_box():
    """The means of 3000 uniforms and of their squares are within four standard errors of 1/2 and 1/3."""
    policy, n = kb.policies.UniformRandom(BOX, kb.RBF()), 3000
    unit = (
        np.array([policy.ask(t, kb.Streams(6)).x for t in range(1, n + 1)]) - BOX.lower
    ) / np.subtract(BOX.upper, BOX.lower)
    np.testing.assert_allclose(unit.mean(0), 1 / 2, atol=4 * math.sqrt(1 / 12 / n))
    np.testing.assert_allclose((unit**2).mean(0), 1 / 3, atol=4 * math.sqrt((1 / 5 - 1 / 9) / n))
    assert abs(np.corrcoef(unit.T)[0, 1]) < 4 / math.sqrt(n)


@pytest.mark.thorough
def test_uniform_random_gives_each_value_of_a_mixed_box_the_same_chance():
    policy, n = kb.policies.UniformRandom(MIXED, kb.RBF()), 1000
    drawn = [policy.ask(t, kb.Streams(6)).x for t in range(1, n + 1)]
    for name, values in (("steps", range(1, 6)), ("size", "sml"), ("acid", "abc")):
        p = 1 / len(values)
        for value in values:
            share = sum(x[name] == value for x in drawn) / n
            assert share == pytest.approx(p, abs=4 * math.sqrt(p * (1 - p) / n))


def test_every_second_round_of_gp_ucb_plus_is_random_on_a_box():
    policy = played(kb.policies.GPUCBPlus(BOX, kb.RBF(0.5), norm_bound=1.0), 4)
    even, odd = policy.ask(6, kb.Streams(1)), policy.ask(5, kb.Streams(1))
    assert even.note["random"] == 1.0
    assert "index" not in even.note
    np.testing.assert_array_equal(
        even.x, kb.policies.UniformRandom(BOX, kb.RBF()).ask(6, kb.Streams(1)).x
    )
    assert odd.note["index"] == pytest.approx(odd.note["mean"] + odd.note["sd"], abs=1e-9)
    assert not policy.index(6, points=[[0.0, 1.0]]).any()


def test_mvr_plays_the_greatest_sd_of_the_box():
    policy = played(kb.policies.MVR(BOX, kb.RBF(0.5)), 12)
    dense = np.random.default_rng(4).uniform(BOX.lower, BOX.upper, (20_000, 2))
    note = policy.ask(13, kb.Streams(1)).note
    assert note["index"] == pytest.approx(note["sd"], abs=1e-12)
    assert note["sd"] >= policy.posterior.at(dense)[1].max() - 1e-9


# ---------------------------------------------------------------- Thompson sampling


KERNELS = (
    kb.RBF(0.4),
    kb.RBF((0.4, 1.2)),
    kb.Matern(0.5, 0.5),
    kb.Matern(0.5, 1.5),
    kb.Matern((0.5, 2.0), 2.5),
    kb.kernels.RationalQuadratic(0.5, 0.7),
    0.5 * kb.RBF(0.3) + 2.0 * kb.Matern(1.0),
    kb.RBF(0.8) * kb.Matern(0.9, 1.5),
    kb.kernels.On(kb.RBF(0.4), (0,)) * kb.kernels.On(kb.Matern(1.0), (1,)),
    kb.kernels.On(kb.RBF(0.4), (0,)) + kb.kernels.On(kb.Matern(1.0), (1,)),
    kb.kernels.Normalised(3.0 * kb.RBF(0.4) + kb.RBF(1.0)),
    kb.kernels.Periodic(0.7, (1.5, 3.0)),
    kb.kernels.Periodic(1.5, 1.0) + kb.kernels.Constant(),
    kb.kernels.AdditiveMatern((0.5, 1.0), nu=1.5),
)


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_the_frequencies_are_drawn_from_the_spectral_density_of_the_kernel(kernel):
    """Bochner: k(x, z) = sum of variance E cos(w . (x - z)); 50 000 draws of a number in [-1, 1] for each term."""
    terms, m = kernel.spectral_terms(range(2)), 50_000
    drawn = draw_waves(
        terms, 2, m, np.random.default_rng(3).standard_normal(count_normals(terms, m))
    )
    away = np.random.default_rng(5).normal(0, 0.7, (8, 2))
    variances = np.repeat([term.variance for term in terms], m) / m
    found = np.cos(away @ drawn.frequencies.T) @ variances
    error = 4 * math.sqrt(sum(term.variance**2 for term in terms) / m)
    np.testing.assert_allclose(found, kernel(away, np.zeros((1, 2)))[:, 0], atol=error)


def thompson(kernel=None, **settings):
    given = {"noise_scale": 0.3, "norm_bound": 0.5, "horizon": 50} | settings
    return kb.GPTS(BOX, kernel or kb.Matern((0.5, 1.0)), **given)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "kernel", [kb.RBF(0.6), kb.Matern((0.5, 1.0), 1.5), KERNELS[6], KERNELS[8]], ids=str
)
def test_paths_have_the_mean_and_the_covariance_of_the_inflated_posterior(kernel):
    """1000 draws: each mean and covariance within five standard errors, those of a covariance from the draws."""
    policy, rows, n = (
        thompson(kernel, features=64, horizon=1000),
        np.array([[0.0, 1.0], [0.5, 1.2], [-0.9, 2.5], [0.1, 1.0]]),
        1000,
    )
    for x, y in (([0.0, 1.0], 1.0), ([0.0, 1.0], 0.6), ([0.4, 2.0], -0.5), ([-0.5, 0.2], 0.3)):
        policy.tell(kb.Choice(x), y)
    scale = policy.width(1, policy.posterior.log_det)
    assert scale == policy.width(n, policy.posterior.log_det)
    streams = kb.Streams(7)
    draws = np.array([policy.path(t, streams).values(rows) for t in range(1, n + 1)])
    mean, cov = dense_posterior(policy, rows)
    off = draws - mean
    products = off[:, :, None] * off[:, None, :]
    np.testing.assert_array_less(abs(off.mean(0)), 5 * scale * np.sqrt(np.diag(cov) / n))
    np.testing.assert_array_less(
        abs(products.mean(0) - scale**2 * cov), 5 * products.std(0) / math.sqrt(n)
    )


def dense_posterior(policy, rows):
    posterior = policy.posterior
    x = np.repeat(posterior.points, posterior.counts, axis=0)
    y = np.repeat(posterior.sums / posterior.counts, posterior.counts)
    inverse = np.linalg.inv(posterior.kernel(x, x) + posterior.ridge * np.eye(len(x)))
    cross = posterior.kernel(rows, x)
    return cross @ inverse @ y, posterior.kernel(rows, rows) - cross @ inverse @ cross.T


@pytest.mark.parametrize("kernel", KERNELS[:2] + KERNELS[3:], ids=str)
def test_the_gradient_of_a_path_is_its_finite_difference(kernel):
    policy = played(thompson(kernel), 3)
    path, h = policy.path(4, kb.Streams(2)), 1e-6
    rows = np.random.default_rng(1).uniform(BOX.lower, BOX.upper, (5, 2))
    values, slopes = path.slopes(rows)
    np.testing.assert_allclose(values, path.values(rows), atol=1e-9)
    for j, step in enumerate(h * np.eye(2)):
        np.testing.assert_allclose(
            slopes[:, j], (path.values(rows + step) - path.values(rows - step)) / (2 * h), atol=1e-4
        )


@pytest.mark.thorough
def test_thompson_sampling_plays_the_maximiser_of_its_path():
    policy = played(thompson(), 12)
    choice, path = policy.ask(13, kb.Streams(4)), policy.path(13, kb.Streams(4))
    dense = np.random.default_rng(4).uniform(BOX.lower, BOX.upper, (20_000, 2))
    assert choice.note["sample"] >= path.values(dense).max() - 1e-9
    assert choice.note["sample"] == pytest.approx(path.values(choice.x[None])[0], abs=1e-9)
    assert choice.note["width"] == path.scale
    assert "approximate" in policy.settings["exploration"]


def test_paths_of_different_rounds_differ_and_of_one_round_do_not():
    policy = played(thompson(), 5)
    x = [policy.ask(t, kb.Streams(4)).x.tobytes() for t in (6, 7, 8, 6)]
    assert len(set(x)) == 3
    assert x[0] == x[3]


def test_a_path_has_room_for_more_points_than_streams_began_with():
    policy = thompson(features=4)
    for i, row in enumerate(BOX.cover(70).points):
        policy.tell(kb.Choice(row), float(i % 3))
    assert np.isfinite(policy.ask(71, kb.Streams(1)).note["sample"])


@pytest.mark.thorough
def test_a_path_far_from_noise_goes_through_the_rewards():
    """With many rewards at a point the path there is within a few ridge / n of their mean."""
    policy = thompson(norm_bound=0.1, noise_scale=0.01)
    for _ in range(2000):
        policy.tell(kb.Choice([0.0, 1.0]), 0.7)
    value = policy.path(1, kb.Streams(2)).values(np.array([[0.0, 1.0]]))[0]
    assert value == pytest.approx(0.7, abs=5 * 0.2 / math.sqrt(2000) + 1e-3)


def test_a_grid_makes_arms_of_the_cover_and_draws_exactly():
    policy, arms = (
        thompson(grid=40),
        kb.GPTS(BOX.cover(40), kb.Matern((0.5, 1.0)), noise_scale=0.3, norm_bound=0.5, horizon=50),
    )
    assert policy.settings["cover"] == BOX.cover(40).origin
    assert policy.settings["exploration"] == "a joint posterior draw"
    for t in (1, 2):
        assert policy.ask(t, kb.Streams(3)) == arms.ask(t, kb.Streams(3))


def test_what_thompson_sampling_on_a_box_refuses():
    with pytest.raises(
        ValueError, match=r"gp-ts needs a kernel of RBF, Matern .* \(grid=n .*, got Linear"
    ):
        thompson(kb.Linear())
    with pytest.raises(ValueError, match="gp-ts needs a kernel of RBF"):
        thompson(kb.RBF() + kb.Linear())
    with pytest.raises(ValueError, match="gp-ts needs a kernel of RBF"):
        thompson(kb.RBF() * kb.kernels.Polynomial())
    for bad in (0, -1, 2.5, "many", None):
        with pytest.raises(ValueError, match="GPTS needs a whole number features >= 1"):
            thompson(features=bad)
    for bad in (0, -1, 2.5, "many"):
        with pytest.raises(ValueError, match="GPTS needs a whole number grid >= 1"):
            thompson(grid=bad)
    with pytest.raises(ValueError, match="GPTS needs a box for its grid"):
        kb.GPTS(np.eye(2), kb.RBF(), noise_scale=0.1, norm_bound=1.0, horizon=5, grid=10)
    with pytest.raises(ValueError, match="path needs a box"):
        kb.GPTS(np.eye(2), kb.RBF(), noise_scale=0.1, norm_bound=1.0, horizon=5).path(
            1, kb.Streams(1)
        )


# ---------------------------------------------------------------- stationary parts


@given(st.integers(1, 4))
def test_lengthscales_are_the_shortest_of_each_coordinate(d):
    kernel = kb.RBF(0.5) * kb.kernels.On(kb.Matern(0.1), (d - 1,)) + 2.0 * kb.RBF(3.0)
    expected = [0.5] * (d - 1) + [0.1]
    np.testing.assert_allclose(kernel.lengthscales(d), expected)
    assert (kb.Linear() + kb.RBF()).lengthscales(d) is None
    alone = kb.kernels.On(kb.RBF(0.2), (0,)).lengthscales(d + 1)
    assert alone[0] == 0.2
    assert np.isinf(alone[1:]).all()


def test_terms_add_up_to_the_kernel():
    kernel = (0.5 * kb.RBF(0.3) + kb.Matern(1.0)) * (
        kb.kernels.On(kb.RBF(2.0), (1,)) + 3.0 * kb.RBF((0.5, 0.7))
    )
    x = np.random.default_rng(1).random((6, 2))
    total = sum(
        term.variance
        * np.prod([f.kernel(x[:, f.columns], x[:, f.columns]) for f in term.factors], axis=0)
        for term in kernel.spectral_terms(range(2))
    )
    np.testing.assert_allclose(total, kernel(x, x), atol=1e-12)
