"""One contract for every policy: the same `ask`, and answers with sensible defaults."""

from __future__ import annotations

import copy
import inspect
import math
import pkgutil
from importlib import import_module

import numpy as np
import pytest
from scipy import integrate, stats

import kernelbandits as kb
from kernelbandits.catalogue import POLICIES
from kernelbandits.experiment.engines import find_loop, play
from kernelbandits.policies import (
    ExpectedImprovement,
    IndexPolicy,
    ProbabilityOfImprovement,
    UpperConfidence,
)
from kernelbandits.policies.acquisition import (
    LogExpectedImprovement,
    LogProbabilityOfImprovement,
    StandardDeviation,
    improvement_slopes,
)
from kernelbandits.policies.base import valid_loop

POINTS = np.random.default_rng(3).random((15, 2))
VALUES = np.sin(5 * POINTS[:, 0]) + POINTS[:, 1]
BOX = kb.Box((0.0, 0.0), (1.0, 1.0))
ASK = "(self, t, rng, *, pending=(), context=None, arms=None, costs=None)"
every_policy = pytest.mark.parametrize("name", POLICIES)
ACQUISITIONS = [
    UpperConfidence(0.7, 1.9),
    UpperConfidence(0.0, 1.9),
    StandardDeviation(),
    LogExpectedImprovement(0.4),
    LogProbabilityOfImprovement(0.4),
]
every_acquisition = pytest.mark.parametrize(
    "acquisition", ACQUISITIONS, ids=lambda one: type(one).__name__
)


def told(policy, rewards=20, seed=2):
    rng = np.random.default_rng(seed)
    for arm in rng.integers(len(POINTS), size=rewards).tolist():
        policy.tell(policy.choice(arm), float(VALUES[arm] + 0.1 * rng.standard_normal()))
    return policy


# ---------------------------------------------------------------- the contract


@every_policy
def test_every_policy_has_the_same_ask(name):
    signature = inspect.signature(POLICIES[name].constructor.ask)
    bare = [p.replace(annotation=p.empty) for p in signature.parameters.values()]
    if name == "auto":  # it also knows the round and has a seed of its own
        bare = [p.replace(default=p.empty) if p.name in ("t", "rng") else p for p in bare]
    assert str(inspect.Signature(bare)) == ASK


@every_policy
def test_every_policy_takes_pending_choices_and_restricted_arms(name, build):
    policy = told(build(name, POINTS))
    pending, allowed = [policy.choice(2), policy.choice(7)], [0, 3, 5, 9, 14]
    before = policy.posterior.events
    choices = [
        policy.ask(21, kb.Streams(4), pending=pending, arms=allowed),
        policy.ask(21, kb.Streams(4), arms=np.array(allowed)),
    ]
    assert all(choice.arm in allowed for choice in choices)
    assert choices[0] == policy.ask(21, kb.Streams(4), pending=pending, arms=allowed)
    assert policy.posterior.events == before
    batch = policy.batch(3, 21, kb.Streams(4), arms=allowed)
    assert len(batch) == 3
    assert {choice.arm for choice in batch} <= set(allowed)


@every_policy
def test_a_rule_that_cannot_see_pending_choices_is_a_copy_told_its_estimates(name, build):
    policy = told(build(name, POINTS))
    if policy.imagines_pending:
        return
    twin, pending = copy.deepcopy(policy), [policy.choice(4), policy.choice(4)]
    for choice in pending:
        twin.tell(choice, float(twin.posterior.mean[4]))
    assert policy.ask(21, kb.Streams(1), pending=pending) == twin.ask(21, kb.Streams(1))


@every_policy
def test_every_policy_answers_with_sensible_defaults(name, build):
    policy = told(build(name, POINTS))
    mean, sd = policy.estimates()
    assert mean.shape == sd.shape == (15,)
    assert policy.recommend() in range(15)
    assert policy.n_rewards == 20
    assert policy.fits.next_due > 20 if policy.learns_failures else policy.fits is None
    np.testing.assert_allclose(np.sqrt(policy.covariance([3, 5]).diagonal()), sd[[3, 5]], rtol=1e-6)
    policy.fail(policy.choice(1))
    assert len(policy.failed) == 1
    if not policy.learns_failures:
        np.testing.assert_array_equal(policy.estimates()[0], mean)
    assert policy.noise_posterior().mean.shape == (15,)
    assert kb.insight.explain(policy, policy.choice(3)).compared == 15


@every_policy
def test_costs_are_weighed_or_refused(name, build):
    policy = told(build(name, POINTS))
    costs = np.full(15, 2.0)
    if policy.weighs_costs:
        assert policy.ask(21, kb.Streams(0), costs=costs).note["cost"] == 2.0
        return
    with pytest.raises(ValueError, match=r"ask needs no costs for \w+ on Arms"):
        policy.ask(21, kb.Streams(0), costs=costs)


def test_no_class_of_the_package_is_more_than_three_deep():
    deep = {}
    for module in pkgutil.walk_packages(kb.__path__, "kernelbandits."):
        if module.name.endswith("__main__"):
            continue
        for item in vars(import_module(module.name)).values():
            if isinstance(item, type) and item.__module__.startswith("kernelbandits"):
                deep[item] = depth_of(item)
    assert {item.__name__: depth for item, depth in deep.items() if depth > 3} == {}


def depth_of(cls):
    parents = [base for base in cls.__bases__ if base.__module__.startswith("kernelbandits")]
    return 1 + max((depth_of(base) for base in parents), default=0)


# ---------------------------------------------------------------- whole runs


class Contrary(kb.SimpleUCB):
    """It plays the least index."""

    def acquisition(self, now):
        return UpperConfidence(-1.0, self.width_at(now.t))


class Quiet(kb.SimpleUCB):
    """It changes nothing but its name."""


def test_a_subclass_that_changes_a_method_is_played_and_not_its_parent():
    instance = kb.problem("branin", candidates=20).instance(kb.Streams(0))
    build = {"noise_scale": 0.1, "norm_bound": 1.0}
    runs = {}
    for rule in (kb.SimpleUCB, Quiet, Contrary):
        policy = rule(instance.domain, kb.RBF(0.2), **build)
        assert (find_loop(policy, instance) is None) == (rule is Contrary)
        runs[rule] = play(policy, instance, 30, kb.Streams(1)).arms.tolist()
    assert runs[kb.SimpleUCB] == runs[Quiet] != runs[Contrary]


@pytest.mark.parametrize("method", ["width_at", "_learn", "tell", "choose", "acquisition"])
def test_any_method_of_its_own_takes_a_subclass_from_the_compiled_loop(method):
    parent = getattr(IndexPolicy, method)
    methods = {method: lambda self, *given: parent(self, *given)}
    assert valid_loop(kb.SimpleUCB) == valid_loop(Quiet) == "index"
    assert valid_loop(type("Mine", (kb.SimpleUCB,), methods)) is None
    mixin = type("Mixin", (), methods)
    assert valid_loop(type("Mixed", (mixin, kb.SimpleUCB), {})) is None
    late = type("Late", (kb.SimpleUCB,), {})
    setattr(late, method, methods[method])
    assert valid_loop(late) is None
    policy = kb.SimpleUCB(POINTS, kb.RBF(0.2), noise_scale=0.1, norm_bound=1.0)
    assert valid_loop(type(policy), vars(policy)) == "index"
    vars(policy)[method] = methods[method]
    assert valid_loop(type(policy), vars(policy)) is None
    declared = type("Mine", (kb.SimpleUCB,), methods | {"compiled_loop": "index"})
    assert valid_loop(declared) == "index"


@pytest.mark.parametrize("method", ["index", "score_arms"])
def test_an_override_that_nothing_would_call_is_refused(method):
    with pytest.raises(TypeError, match=r"Mine overrides .*override acquisition"):
        type("Mine", (kb.SimpleUCB,), {method: lambda self, t: np.zeros(3)})


class NoAcquisition(kb.Policy):
    def __init__(self, domain, kernel):
        super().__init__(domain, kernel, ridge=1.0)

    def acquisition(self, now):
        return np.zeros(3)


class NoChoice(NoAcquisition):
    def choose(self, now):
        return 3


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (NoAcquisition, "NoAcquisition needs an acquisition from acquisition(now)"),
        (NoChoice, "NoChoice needs a kb.Choice from choose(now)"),
    ],
)
def test_what_a_rule_of_ones_own_returns_is_checked_in_its_name(rule, words):
    with pytest.raises(ValueError) as error:
        rule(kb.Arms(np.eye(3)), kb.Linear()).ask(1, kb.Streams(0))
    assert words in str(error.value)


# ---------------------------------------------------------------- acquisitions


@every_acquisition
def test_derivatives_are_those_of_the_score(acquisition):
    rng = np.random.default_rng(1)
    mean, sd, step = rng.normal(size=(1, 200)), rng.uniform(0.05, 2.0, (1, 200)), 1e-6
    value, by_mean, by_sd = acquisition.derivatives(mean, sd)
    np.testing.assert_allclose(value, acquisition.score(mean, sd), atol=1e-12)
    up, down = acquisition.score(mean + step, sd), acquisition.score(mean - step, sd)
    np.testing.assert_allclose((up - down) / (2 * step), by_mean[0], rtol=2e-5, atol=1e-6)
    up, down = acquisition.score(mean, sd + step), acquisition.score(mean, sd - step)
    np.testing.assert_allclose((up - down) / (2 * step), by_sd[0], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize(("mean", "sd"), [(0.5, 0.3), (0.0, 0.2), (-1.0, 0.5), (2.0, 1.0)])
def test_expected_improvement_is_the_integral_of_the_improvement(mean, sd):
    best = 0.3
    density = stats.norm(mean, sd).pdf
    integral, _ = integrate.quad(
        lambda f: (f - best) * density(f), best, max(best, mean) + 12 * sd, epsabs=1e-14
    )
    score = LogExpectedImprovement(best).score(np.array([[mean]]), np.array([[sd]]))
    assert math.exp(score[0]) == pytest.approx(integral, rel=1e-8)


@pytest.mark.parametrize("z", [-1e4, -701.0, -699.0, -30.0, -1.0, 0.0, 2.0, 29.9, 30.1, 1e3])
def test_the_slopes_of_the_improvement_are_those_of_differences_of_its_logarithm(z):
    """h' = Phi and h - z Phi = phi, so d ln h / dz = Phi / h and 1 - z Phi / h = phi / h."""
    step = 1e-4 * max(1.0, abs(z))
    (below, above), _, _ = improvement_slopes(np.array([z - step, z + step]))
    _, by_mean, by_sd = improvement_slopes(np.array([z]))
    assert by_mean[0] == pytest.approx((above - below) / (2 * step), rel=1e-6)
    assert by_sd[0] == pytest.approx(1 - z * by_mean[0], rel=1e-4, abs=1e-9)


def test_the_logarithm_of_the_improvement_is_finite_and_falls_far_below_the_best():
    """Where the improvement itself is zero as a float: z from -30 to -1e100."""
    mean = -np.logspace(1.5, 100, 500)
    score = LogExpectedImprovement(0.0).score(mean[None], np.ones((1, 500)))
    assert np.isfinite(score).all()
    assert (np.diff(score) < 0).all()
    z = np.array([-5.0, -20.0, -600.0, -699.9, -700.1, -2000.0])
    exact = [-15.0, -205.911983, -180013.716, -244944.025, -245084.0]
    found = LogExpectedImprovement(0.0).score(z[None], np.ones((1, 6)))
    asymptotic = -(z**2) / 2 - 0.5 * np.log(2 * np.pi) - 2 * np.log(-z) + np.log1p(-3 / z**2)
    np.testing.assert_allclose(found[2:], asymptotic[2:], atol=1e-8)
    assert found[0] == pytest.approx(math.log(5.346e-8), abs=1e-3)
    assert len(exact) == 5


@pytest.mark.parametrize("acquisition", ACQUISITIONS[3:], ids=lambda one: type(one).__name__)
def test_a_point_without_uncertainty_is_played_last_unless_it_is_better(acquisition):
    mean, sd = np.array([0.3, 0.4, -1e5, 0.5, -50.0]), np.array([0.0, 0.0, 1e-160, 0.0, 1.0])
    value, (by_mean,), (by_sd,) = acquisition.derivatives(mean[None], sd[None])
    assert np.isfinite([value, by_mean, by_sd]).all()
    assert value.argmax() == 3
    assert value[4] > max(value[0], value[1], value[2])
    np.testing.assert_array_equal(by_mean[[0, 1, 3]], 0.0)


def test_probability_of_improvement_explores():
    """Without a margin no other arm is more likely to improve than the best one itself."""
    played = {}
    for margin in (0.0, None):
        policy = ProbabilityOfImprovement(POINTS, kb.RBF(0.2), noise_scale=0.1, margin=margin)
        for t in range(1, 31):
            choice = policy.ask(t, kb.Streams(3))
            policy.tell(choice, float(VALUES[choice.arm]))
        played[margin] = int((policy.posterior.counts > 0).sum())
    assert played[0.0] < 3 < played[None]


@pytest.mark.parametrize("bad", [kb.Choice(POINTS[0], 99), kb.Choice([9.0, 9.0]), kb.Choice([0.5])])
def test_a_pending_choice_that_is_none_of_the_arms_is_refused_in_a_sentence(bad):
    policy = kb.policy("ucb1", POINTS, kb.RBF(0.3), noise_scale=0.1)
    with pytest.raises(ValueError, match=r"needs"):
        policy.ask(2, kb.Streams(0), pending=[bad])
    assert policy.ask(2, kb.Streams(0), pending=[kb.Choice(POINTS[3])]).arm is not None


def test_probability_of_improvement_is_that_of_a_normal():
    mean, sd = np.array([0.0, 0.5, 1.0]), np.array([0.1, 0.2, 0.3])
    score = LogProbabilityOfImprovement(0.4).score_mixture(mean, sd)
    np.testing.assert_allclose(np.exp(score), stats.norm.sf(0.4, mean, sd), rtol=1e-12)


@pytest.mark.parametrize("rule", [ExpectedImprovement, ProbabilityOfImprovement])
def test_improvement_is_over_the_highest_estimate_of_what_was_played(rule):
    exactly = {"margin": 0.0} if rule is ProbabilityOfImprovement else {}
    policy = told(rule(POINTS, kb.RBF(0.4), noise_scale=0.1, **exactly), rewards=8)
    played = policy.posterior.counts > 0
    best = policy.posterior.mean[played].max()
    assert policy.acquisition().best == pytest.approx(best, abs=1e-12)
    assert rule(POINTS, kb.RBF(0.4), noise_scale=0.1, **exactly).acquisition().best == 0.0
    choice = policy.ask(9, kb.Streams(0))
    assert choice.arm == int(policy.index(9).argmax())
    assert score_of(choice) == pytest.approx(policy.index(9).max(), rel=1e-12)


@pytest.mark.parametrize("rule", [ExpectedImprovement, ProbabilityOfImprovement])
def test_on_a_box_the_search_finds_what_a_fine_grid_finds(rule):
    policy = rule(BOX, kb.Matern(0.4), noise_scale=0.05)
    rng = np.random.default_rng(5)
    for x in rng.random((12, 2)):
        policy.tell(policy.choice(x), float(np.sin(5 * x[0]) * x[1]))
    choice = policy.ask(13, kb.Streams(1))
    grid = np.stack(np.meshgrid(*[np.linspace(0, 1, 201)] * 2), -1).reshape(-1, 2)
    scores = policy.acquisition().score(*policy.posterior.members_at(grid))
    assert score_of(choice) >= scores.max() - 1e-6


def score_of(choice):
    """The score by which a choice was made, from its note."""
    note = choice.note
    return note["index"] if "index" in note else math.log(note["improvement"])


def test_expected_improvement_finds_the_best_arm_of_a_smooth_function_sooner_than_chance():
    """The rank of the best arm found after 8 plays: 4 standard errors below that of random play."""
    ranks = {"expected-improvement": [], "random": []}
    for seed in range(40):
        points = np.random.default_rng(seed).random((60, 2))
        values = np.sin(4 * points[:, 0]) * np.cos(3 * points[:, 1] + seed)
        settings = {"noise_scale": 0.01}
        for name, settings in (("expected-improvement", {"noise_scale": 0.01}), ("random", {})):
            policy = kb.policy(name, points, kb.RBF(0.4), **settings)
            played = []
            for t in range(1, 9):
                choice = policy.ask(t, kb.Streams(seed))
                policy.tell(choice, float(values[choice.arm]))
                played.append(choice.arm)
            ranks[name].append(int((values > values[played].max()).sum()))
    one, other = (np.array(found) for found in ranks.values())
    difference = other - one
    assert difference.mean() > 4 * difference.std(ddof=1) / math.sqrt(40)
