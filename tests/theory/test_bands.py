"""Confidence bands: valid for any policy's data at any time, nested, and strong enough to stop by."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import kernelbandits as kb
from kernelbandits.catalogue import POLICIES
from kernelbandits.posterior import DriftingPosterior, RefitPosterior
from kernelbandits.problems import GaussianNoise, RademacherNoise, RKHSFunction
from kernelbandits.theory import Band, bands, confidence_band

METHODS = ("whitehouse", "amm", "cmm")
POINTS = np.random.default_rng(0).random((9, 2))
every_method = pytest.mark.parametrize("method", METHODS)
pytestmark = pytest.mark.usefixtures("quiet")


def learnt(posterior, pulls, rewards):
    for arm, reward in zip(pulls, rewards, strict=True):
        posterior.update(int(arm), float(reward))
    return posterior


def history(seed, rounds, points=POINTS, kernel=None, noise=0.3, norm=1.0):
    """f of the given norm on the arms, arms at random and their rewards."""
    rng, kernel = np.random.default_rng(seed), kernel or kb.RBF(0.3)
    k = kernel(points, points)
    coefficients = rng.normal(size=len(points))
    coefficients *= norm / math.sqrt(coefficients @ k @ coefficients)
    pulls = rng.integers(len(points), size=rounds)
    return k @ coefficients, pulls, (k @ coefficients)[pulls] + noise * rng.normal(size=rounds)


def fitted(
    seed=0,
    rounds=30,
    kernel=None,
    ridge=0.5,
    noise=0.3,
    form=kb.posterior.ArmPosterior,
    points=POINTS,
):
    kernel = kernel or kb.RBF(0.3)
    _, pulls, rewards = history(seed, rounds, points, kernel, noise)
    return learnt(form(kernel, points, ridge), pulls, rewards)


def same(one: Band, other: Band, atol=1e-9):
    for name in ("lower", "upper", "regrets"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-8, atol=atol)
    np.testing.assert_array_equal(one.candidates, other.candidates)


# ---------------------------------------------------------------- the set itself, written with t x t matrices


class Truth:
    """S_t = { f : |y - f(x)| <= radius, ||f|| <= D }, f = root g on the arms, ||f|| = |g|; nothing of the package."""

    def __init__(self, kernel, pulls, rewards, noise, norm, ridge, delta=0.1):
        self.k = kernel(POINTS, POINTS)
        self.root = np.linalg.cholesky(self.k + 1e-12 * np.eye(len(self.k)))
        self.rows, self.y, self.norm, self.ridge = (
            self.root[pulls],
            np.asarray(rewards),
            norm,
            ridge,
        )
        self.cross = self.k[:, pulls]
        big = np.eye(len(self.y)) + self.k[np.ix_(pulls, pulls)] / ridge
        self.noise = noise**2 * (np.linalg.slogdet(big)[1] + 2 * math.log(1 / delta))
        self.radius = self.y @ np.linalg.solve(big, self.y) + self.noise
        self.inverse = np.linalg.inv(big) / ridge

    def width(self, method):
        share = math.sqrt(self.noise / self.ridge)
        return self.norm + share if method == "whitehouse" else math.sqrt(self.norm**2 + share**2)

    def mean(self):
        return self.cross @ self.inverse @ self.y

    def covariance(self):
        return self.k - self.cross @ self.inverse @ self.cross.T

    def holds(self, g):
        return ((self.y - self.rows @ g) ** 2).sum() <= self.radius and g @ g <= self.norm**2

    def members(self, rng, count):
        """Functions on the border of the set: from its middle in random directions as far as they may go."""
        middle = np.linalg.solve(
            self.rows.T @ self.rows + self.ridge * np.eye(len(self.k)), self.rows.T @ self.y
        )
        middle *= min(1.0, 0.99 * self.norm / np.linalg.norm(middle))
        assert self.holds(middle)
        for _ in range(count):
            step = rng.normal(size=len(middle)) * rng.random(len(middle)) ** 4
            far = max(s for s in 2.0 ** np.arange(-40, 10, 0.25) if self.holds(middle + s * step))
            yield self.root @ (middle + far * step)

    def greatest(self, direction):
        """max <direction, f> over the set, by sequential quadratic programming."""
        goal, y, rows = self.root.T @ direction, self.y, self.rows
        balls = [
            {
                "type": "ineq",
                "fun": lambda g: self.radius - ((y - rows @ g) ** 2).sum(),
                "jac": lambda g: 2 * rows.T @ (y - rows @ g),
            },
            {"type": "ineq", "fun": lambda g: self.norm**2 - g @ g, "jac": lambda g: -2 * g},
        ]
        found = minimize(
            lambda g: -goal @ g,
            np.zeros(len(goal)),
            jac=lambda g: -goal,
            constraints=balls,
            method="SLSQP",
            options={"ftol": 1e-12, "maxiter": 500},
        )
        return -found.fun


def drawn(seed):
    """A truth and the posterior of the same data."""
    rng = np.random.default_rng(seed)
    kernel = (kb.Matern(0.4, nu=0.5), kb.Matern(0.3), kb.RBF(0.15))[seed % 3]
    noise, norm, ridge = 10.0 ** rng.uniform((-1, -0.5, -1.5), (0.3, 0.5, 0.7))
    _, pulls, rewards = history(
        seed, int(rng.integers(1, 60)), kernel=kernel, noise=noise, norm=0.8 * norm
    )
    posterior = learnt(kb.posterior.ArmPosterior(kernel, POINTS, ridge), pulls, rewards)
    return Truth(kernel, pulls, rewards, noise, norm, ridge), posterior, noise, norm


@pytest.mark.thorough
@every_method
@pytest.mark.parametrize("seed", range(12))
def test_every_function_of_the_set_keeps_what_the_band_says(seed, method):
    truth, posterior, noise, norm = drawn(seed)
    band = confidence_band(posterior, noise, norm, method=method)
    for f in truth.members(np.random.default_rng(seed), 60):
        assert band.covers(f)
        assert (f.max() - f <= band.regrets + 1e-6 * norm).all()
        assert f.argmax() in band.candidates


@pytest.mark.parametrize("method", ["whitehouse", "amm"])
@pytest.mark.parametrize("seed", range(6))
def test_the_closed_forms_are_those_of_dense_matrices(seed, method):
    truth, posterior, noise, norm = drawn(seed)
    band = confidence_band(posterior, noise, norm, method=method)
    mean, cov, width = truth.mean(), truth.covariance(), truth.width(method)
    sd, sure = np.sqrt(cov.diagonal()), norm * np.sqrt(truth.k.diagonal())
    lower, upper = np.maximum(mean - width * sd, -sure), np.minimum(mean + width * sd, sure)
    np.testing.assert_allclose(band.lower, lower, atol=1e-8)
    np.testing.assert_allclose(band.upper, upper, atol=1e-8)
    gaps = np.zeros_like(cov)
    for i in range(len(mean)):
        for j in range(len(mean)):
            spread = math.sqrt(max(cov[i, i] + cov[j, j] - 2 * cov[i, j], 0.0))
            gaps[i, j] = (
                min(mean[j] - mean[i] + width * spread, upper[j] - lower[i]) if i != j else 0.0
            )
    candidates = (gaps.min(0) >= 0).nonzero()[0]
    np.testing.assert_array_equal(band.candidates, candidates)
    np.testing.assert_allclose(band.regrets, gaps[:, candidates].max(1), atol=1e-7)


@pytest.mark.parametrize("seed", range(6))
def test_the_exact_regret_of_the_recommended_arm_is_the_greatest_difference_in_the_set(seed):
    truth, posterior, noise, norm = drawn(seed)
    band = confidence_band(posterior, noise, norm, method="cmm")
    arm, unit = band.recommended_arm, np.eye(len(POINTS))
    differences = [truth.greatest(unit[j] - unit[arm]) for j in range(len(POINTS)) if j != arm]
    assert band.simple_regret(arm) == pytest.approx(max(0.0, *differences), abs=2e-4 * norm)
    for j in range(len(POINTS)):
        assert band.upper[j] == pytest.approx(truth.greatest(unit[j]), abs=2e-4 * norm)


# ---------------------------------------------------------------- the policies' own bands, and nesting


@pytest.mark.parametrize("ridge", [0.05, 1.0])
def test_the_band_is_that_of_the_policy_which_plays_by_it(ridge):
    _, pulls, rewards = history(1, 25)
    sure, told = 1.5, {"noise_scale": 0.3, "norm_bound": 1.5, "ridge": ridge}
    rules = {"amm": kb.policies.AMMUCB, "cmm": kb.policies.CMMUCB, "whitehouse": kb.WhitehouseUCB}
    for method, rule in rules.items():
        policy = rule(POINTS, kb.RBF(0.3), **told)
        for arm, reward in zip(pulls, rewards, strict=True):
            policy.tell(policy.choice(int(arm)), float(reward))
        own = (
            (policy.index(26, -1.0), policy.index(26))
            if method == "whitehouse"
            else policy.band(26)
        )
        band = confidence_band(policy.posterior, 0.3, 1.5, method=method)
        np.testing.assert_allclose(band.lower, np.maximum(own[0], -sure), atol=1e-9)
        np.testing.assert_allclose(band.upper, np.minimum(own[1], sure), atol=1e-9)
        assert (band.method, band.delta, band.noise_scale, band.norm_bound) == (
            method,
            0.1,
            0.3,
            1.5,
        )


def powers(least, most):
    return st.floats(least, most).map(lambda exponent: 10**exponent)


@settings(max_examples=40)
@given(
    st.integers(0, 10_000),
    st.integers(0, 50),
    powers(-2, 0.5),
    powers(-0.5, 0.7),
    powers(-2, 1),
    powers(-6, -0.1),
)
def test_cmm_lies_in_amm_lies_in_whitehouse_lies_in_the_ball(
    seed, rounds, noise, norm, ridge, delta
):
    _, pulls, rewards = history(seed, rounds, noise=noise, norm=0.9 * norm)
    posterior = learnt(kb.posterior.ArmPosterior(kb.RBF(0.3), POINTS, ridge), pulls, rewards)
    whitehouse, amm, cmm = (
        confidence_band(posterior, noise, norm, delta, method) for method in METHODS
    )
    room = 1e-8 * norm
    assert not cmm.contradiction
    for wide, narrow in ((whitehouse, amm), (amm, cmm)):
        assert (wide.lower <= narrow.lower + room).all()
        assert (narrow.upper <= wide.upper + room).all()
        assert (narrow.regrets <= wide.regrets + room).all()
        assert set(narrow.candidates) <= set(wide.candidates)
    assert (np.abs((whitehouse.lower, whitehouse.upper)) <= norm * (1 + 1e-12)).all()
    assert (cmm.lower <= cmm.upper).all()
    assert cmm.recommended_arm == int(cmm.regrets.argmin())


@every_method
def test_comparing_pairs_says_more_than_two_intervals(method):
    """Of arms close to one another the difference is known far better than either value."""
    points = np.linspace(0, 1, 30)[:, None]
    posterior = kb.posterior.ArmPosterior(kb.RBF(0.3), points, 0.05)
    rng = np.random.default_rng(0)
    for arm in rng.integers(30, size=200):
        posterior.update(int(arm), float(math.sin(5 * points[arm, 0]) / 2 + 0.1 * rng.normal()))
    band = confidence_band(posterior, 0.1, 2.0, method=method)
    by_intervals = [max(0.0, np.delete(band.upper, i).max() - band.lower[i]) for i in range(30)]
    assert (band.regrets <= np.array(by_intervals) + 1e-12).all()
    assert band.regrets.min() < 0.5 * min(by_intervals)
    survivors = (band.upper >= band.lower.max()).nonzero()[0]
    assert set(band.candidates) < set(survivors)


@every_method
def test_where_pairs_are_too_many_the_leaders_are_compared_and_the_rest_by_intervals(
    method, monkeypatch
):
    truth, posterior, noise, norm = drawn(7)
    full = confidence_band(posterior, noise, norm, method=method)
    monkeypatch.setattr(bands, "PAIRS", 20)
    part = confidence_band(posterior, noise, norm, method=method)
    np.testing.assert_array_equal(part.upper, full.upper)
    assert (part.regrets >= full.regrets - 1e-12).all()
    assert set(full.candidates) <= set(part.candidates)
    for f in truth.members(np.random.default_rng(0), 50):
        assert (f.max() - f <= part.regrets + 1e-6 * norm).all()
        assert f.argmax() in part.candidates


# ---------------------------------------------------------------- other posteriors, limits, symmetries


@every_method
@pytest.mark.parametrize("rounds", [0, 1, 40])
def test_a_pool_says_the_same_as_its_arms(method, rounds):
    one, other = (
        fitted(3, rounds, form=form)
        for form in (kb.posterior.ArmPosterior, kb.posterior.RowPosterior)
    )
    same(
        confidence_band(one, 0.3, 1.5, method=method),
        confidence_band(other, 0.3, 1.5, method=method),
        atol=1e-6,
    )


@every_method
@pytest.mark.parametrize("rounds", [0, 1, 40])
def test_the_linear_form_says_the_same_as_the_linear_kernel(method, rounds):
    one, other = (
        fitted(4, rounds, kb.Linear(), form=form)
        for form in (kb.posterior.ArmPosterior, kb.posterior.LinearPosterior)
    )
    same(
        confidence_band(one, 0.3, 1.5, method=method),
        confidence_band(other, 0.3, 1.5, method=method),
        atol=1e-6,
    )


@every_method
def test_before_the_first_reward_only_the_norm_is_known(method):
    kernel = 0.25 * kb.RBF(0.3)
    band = confidence_band(kb.posterior.ArmPosterior(kernel, POINTS, 0.5), 0.3, 2.0, method=method)
    np.testing.assert_allclose(band.upper, 1.0, rtol=1e-12)
    np.testing.assert_allclose(band.lower, -1.0, rtol=1e-12)
    np.testing.assert_array_equal(band.candidates, np.arange(9))
    assert (band.regrets <= 2.0 + 1e-12).all()
    if method == "cmm":
        distances = np.sqrt(0.5 - 2 * kernel(POINTS, POINTS[[band.recommended_arm]])[:, 0] + 1e-15)
        assert band.regrets.min() == pytest.approx(2.0 * distances.max(), rel=1e-6)


@every_method
@pytest.mark.parametrize("form", [kb.posterior.ArmPosterior, kb.posterior.RowPosterior])
def test_one_arm_has_nothing_to_lose(method, form):
    posterior = learnt(form(0.7 * kb.RBF(0.3), [[0.5]], 0.3), [0, 0, 0], [0.2, 0.4, 0.1])
    band = confidence_band(posterior, 0.3, 1.0, method=method)
    assert band.candidates.tolist() == [0]
    assert band.simple_regret(0) == 0.0
    assert band.may_stop(0.0)


@every_method
def test_without_noise_the_band_closes_on_what_was_measured(method):
    truth, pulls, _ = history(5, 40)
    posterior = learnt(kb.posterior.ArmPosterior(kb.RBF(0.3), POINTS, 1e-6), pulls, truth[pulls])
    band = confidence_band(posterior, 0.0, 1.2, method=method)
    assert band.covers(truth)
    assert (band.upper - band.lower)[pulls].max() < 0.01
    assert band.recommended_arm == truth.argmax()


@every_method
@pytest.mark.parametrize(
    ("noise", "norm"), [(0.0, 1.0), (0.5, 0.0), (0.0, 0.0), (1e-9, 1e3), (1e3, 1e-9)]
)
def test_degenerate_scales_leave_numbers(method, noise, norm):
    band = confidence_band(fitted(9), noise, norm, method=method)
    assert np.isfinite((band.lower, band.upper, band.regrets)).all()
    assert (band.lower <= band.upper).all()
    assert (band.regrets >= 0).all()
    assert len(band.candidates)


@every_method
@pytest.mark.parametrize("scale", [1e-150, 3e149])
def test_extreme_rewards_leave_numbers(method, scale):
    _, pulls, rewards = history(3, 30)
    posterior = learnt(kb.posterior.ArmPosterior(kb.RBF(0.3), POINTS, 0.5), pulls, scale * rewards)
    band = confidence_band(posterior, 0.3 * scale, 1.5 * scale, method=method)
    assert np.isfinite((band.lower, band.upper, band.regrets)).all()
    assert (band.upper <= 1.5 * scale * (1 + 1e-12)).all()
    assert not band.contradiction


@every_method
@pytest.mark.parametrize("form", [kb.posterior.ArmPosterior, kb.posterior.RowPosterior])
def test_the_order_of_the_arms_does_not_matter(method, form):
    order = np.random.default_rng(0).permutation(9)
    _, pulls, rewards = history(6, 30)
    plain = confidence_band(
        learnt(form(kb.RBF(0.3), POINTS, 0.5), pulls, rewards), 0.3, 1.5, method=method
    )
    places = np.argsort(order)[pulls]
    moved = confidence_band(
        learnt(form(kb.RBF(0.3), POINTS[order], 0.5), places, rewards), 0.3, 1.5, method=method
    )
    np.testing.assert_allclose(moved.upper, plain.upper[order], atol=1e-9)
    np.testing.assert_allclose(moved.lower, plain.lower[order], atol=1e-9)
    np.testing.assert_allclose(moved.regrets, plain.regrets[order], atol=1e-7)
    assert {int(order[arm]) for arm in moved.candidates} == set(plain.candidates.tolist())
    assert order[moved.recommended_arm] == plain.recommended_arm


@every_method
@pytest.mark.parametrize("factor", [0.01, 7.0, 1e60])
def test_rewards_noise_and_norm_scaled_together_scale_the_band(method, factor):
    _, pulls, rewards = history(7, 30)
    plain, scaled = (
        confidence_band(
            learnt(kb.posterior.ArmPosterior(kb.RBF(0.3), POINTS, 0.5), pulls, c * rewards),
            0.3 * c,
            1.5 * c,
            method=method,
        )
        for c in (1.0, factor)
    )
    for name in ("lower", "upper", "regrets"):
        np.testing.assert_allclose(
            getattr(scaled, name) / factor, getattr(plain, name), rtol=1e-7, atol=1e-7
        )
    np.testing.assert_array_equal(scaled.candidates, plain.candidates)


@every_method
@pytest.mark.parametrize(
    ("name", "least", "most"), [("noise", 0.2, 0.4), ("norm", 1.0, 2.0), ("delta", 0.3, 0.03)]
)
def test_more_noise_more_norm_or_more_confidence_widen_the_band(method, name, least, most):
    told = {"noise": 0.3, "norm": 1.5, "delta": 0.1}
    posterior = fitted(8)
    small, large = (
        confidence_band(posterior, *({**told, name: value}).values(), method=method)
        for value in (least, most)
    )
    assert (large.lower <= small.lower + 1e-9).all()
    assert (small.upper <= large.upper + 1e-9).all()
    assert (large.upper - large.lower).sum() > (small.upper - small.lower).sum() + 1e-3
    assert set(small.candidates) <= set(large.candidates)


def test_auto_is_exact_where_that_is_affordable_and_says_which_it_took(monkeypatch):
    posterior = fitted(2)
    assert confidence_band(posterior, 0.3, 1.5).method == "cmm"
    monkeypatch.setattr(bands, "LARGEST_EXACT", 9 * len(posterior.support) - 1)
    chosen = confidence_band(posterior, 0.3, 1.5)
    assert chosen.method == "amm"
    same(chosen, confidence_band(posterior, 0.3, 1.5, method="amm"))


def test_a_band_looks_and_does_not_touch():
    posterior = fitted(2)
    before = [posterior.mean.copy(), posterior.cov.copy(), posterior.log_det]
    band = confidence_band(posterior, 0.3, 1.5)
    upper = band.upper.copy()
    posterior_after = [posterior.mean, posterior.cov, posterior.log_det]
    for one, other in zip(before, posterior_after, strict=True):
        np.testing.assert_array_equal(one, other)
    posterior.update(0, 5.0)
    np.testing.assert_array_equal(band.upper, upper)


# ---------------------------------------------------------------- what is refused, and what is said


@pytest.mark.parametrize(
    "posterior",
    [
        RefitPosterior(kb.RBF(0.3), POINTS, forgetting=0.9),
        RefitPosterior(kb.RBF(0.3), POINTS),
        DriftingPosterior(kb.RBF(0.3), POINTS, rate=0.1),
        kb.SimpleUCB(POINTS, kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0),
        None,
        "posterior",
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_the_statement_is_not_proved_for_is_refused(posterior):
    name = type(posterior).__name__
    with pytest.raises(
        ValueError, match=rf"confidence_band needs a posterior of all rewards, .*, got '{name}'"
    ):
        confidence_band(posterior, 0.3, 1.5)


def test_a_world_that_does_not_move_is_no_drift():
    drifting = fitted(1, form=lambda *given: DriftingPosterior(*given, rate=0.0))
    same(confidence_band(drifting, 0.3, 1.5), confidence_band(fitted(1), 0.3, 1.5))


BAD = [math.nan, math.inf, -1.0, "1", None, True]


@pytest.mark.parametrize("bad", [*BAD, 1e200], ids=repr)
@pytest.mark.parametrize(("place", "name"), [(1, "noise_scale"), (2, "norm_bound")])
def test_a_scale_that_is_none_is_refused(place, name, bad):
    given = [kb.posterior.ArmPosterior(kb.RBF(0.3), POINTS), 0.3, 1.5]
    given[place] = bad
    with pytest.raises(ValueError, match=rf"confidence_band needs {name} (>=|<=) .*, got"):
        confidence_band(*given)


@pytest.mark.parametrize("bad", [*BAD, 0.0, 1.0], ids=repr)
def test_a_chance_that_is_none_is_refused(bad):
    with pytest.raises(ValueError, match=r"confidence_band needs delta in \(0, 1\), got"):
        confidence_band(kb.posterior.ArmPosterior(kb.RBF(0.3), POINTS), 0.3, 1.5, bad)


@pytest.mark.parametrize("bad", ["dmm", "", None, 3], ids=repr)
def test_an_unknown_method_is_refused(bad):
    with pytest.raises(ValueError, match=r"confidence_band needs method in \('auto', .*, got"):
        confidence_band(kb.posterior.ArmPosterior(kb.RBF(0.3), POINTS), 0.3, 1.5, method=bad)


def test_questions_a_band_cannot_answer_are_refused():
    band = confidence_band(fitted(1), 0.3, 1.5)
    for bad in (-1, 9, 1.5, "a", None, True):
        with pytest.raises(ValueError, match="simple_regret needs"):
            band.simple_regret(bad)
    for bad in BAD:
        with pytest.raises(ValueError, match="may_stop needs tolerance >= 0, got"):
            band.may_stop(bad)
    for bad in ([0.0] * 8, [math.nan] * 9, None, "x", np.zeros((9, 9))):
        with pytest.raises(ValueError, match="covers needs"):
            band.covers(bad)
    for bad in (["a"] * 8, "abcdefghi", 9):
        with pytest.raises(ValueError, match="sentence needs 9 names, got"):
            band.sentence(bad)


REFUSED = {
    "bkb",
    "streaming-ucb",
    "wgp-ucb",
    "tv-gp-ucb",
    "tgp-ucb",
    "ata-gp-ucb",
    "r-gp-ucb",
    "lb-gp-ucb",
    "va-gp-ucb",
    "va-mvr",
    "va-pe",
}
"""Whose posterior has not learnt every reward as it came, with one weight, one kernel, one ridge."""


FIXED_KERNEL = [name for name, entry in POLICIES.items() if entry.takes_kernel]
"""Without `auto`, whose posterior has a kernel and units that were fitted to the rewards."""


@pytest.mark.parametrize("name", FIXED_KERNEL)
def test_the_posterior_of_every_policy_has_all_rewards_or_is_refused(name, build, cloud):
    policy, rng, streams = build(name, cloud), np.random.default_rng(0), kb.Streams(1)
    told = []
    for t in range(1, 41):
        choice, reward = policy.ask(t, streams), float(3 * rng.standard_t(1.5))
        policy.tell(choice, reward)
        told.append((choice.arm, reward))
    own = kb.posterior.ArmPosterior(policy.posterior.kernel, cloud, policy.posterior.ridge)
    for arm, reward in told:
        own.update(arm, reward)
    if name in REFUSED:
        with pytest.raises(ValueError, match="confidence_band needs a posterior of all rewards"):
            confidence_band(policy.posterior, 0.5, 100.0, method="amm")
    else:
        band, exact = (
            confidence_band(p, 0.5, 100.0, method="amm") for p in (policy.posterior, own)
        )
        np.testing.assert_allclose(band.upper, exact.upper, atol=1e-6)


@every_method
def test_rewards_that_contradict_the_scales_are_called_so(method):
    posterior = learnt(
        kb.posterior.ArmPosterior(kb.RBF(0.3), POINTS, 0.1), range(9), [5.0, -5.0, 5.0] * 3
    )
    with pytest.warns(
        kb.TheoryWarning,
        match=r"The rewards contradict noise_scale 0.01 or norm_bound 0.5: no function",
    ):
        band = confidence_band(posterior, 0.01, 0.5, method=method)
    assert band.contradiction
    np.testing.assert_allclose(band.upper, 0.5)
    np.testing.assert_allclose(band.lower, -0.5)
    np.testing.assert_array_equal(band.candidates, np.arange(9))
    assert not band.may_stop(100.0)
    assert "Only |f| <= D sqrt(k) remains" in band.sentence()


def test_the_exact_set_sees_a_contradiction_that_the_closed_form_misses():
    """Nine orthonormal arms of 0.6 each need the norm 1.8; no single arm exceeds the norm 1."""
    posterior = learnt(
        kb.posterior.ArmPosterior(kb.Linear(), np.eye(9)), np.repeat(range(9), 20), [0.6] * 180
    )
    assert not confidence_band(posterior, 0.3, 1.0, method="amm").contradiction
    assert confidence_band(posterior, 0.3, 1.0, method="cmm").contradiction
    assert not confidence_band(posterior, 0.3, 1.8, method="cmm").contradiction


def test_if_each_arm_is_beaten_by_another_no_function_is_left():
    class Cycle:
        def band(self):
            return -np.ones(3), np.ones(3)

        def gaps(self, arms, rivals):
            return np.where((arms[:, None] + 1) % 3 == rivals, -0.1, 1.0)

        def exact_gaps(self, arm, rivals):
            return np.full(3, math.inf)

    assert bands.derive_bounds(Cycle(), np.ones(3)) is None


@every_method
def test_rewards_that_fit_are_not_called_a_contradiction(method):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for seed in range(10):
            assert not confidence_band(fitted(seed, 60), 0.3, 1.0, method=method).contradiction


# ---------------------------------------------------------------- the regret of all rounds


@every_method
@pytest.mark.parametrize("seed", range(8))
def test_the_certificate_is_the_largest_regret_in_the_set(seed, method):
    """By t x t matrices, with the covariance of the whole functional."""
    truth, posterior, noise, norm = drawn(seed)
    band = confidence_band(posterior, noise, norm, method=method)
    rounds, n = posterior.events, len(POINTS)
    directions = rounds * np.eye(n)[band.candidates] - posterior.counts
    variances = np.einsum("ij,jk,ik->i", directions, truth.covariance(), directions)
    most = directions @ truth.mean() + truth.width(method if method != "cmm" else "amm") * np.sqrt(
        np.maximum(variances, 0.0)
    )
    apart = rounds * band.upper[band.candidates] - posterior.counts @ band.lower
    most = np.minimum(most, apart)
    if method == "cmm":
        exact = np.array([truth.greatest(direction) for direction in directions])
        assert (exact <= most + 1e-4 * rounds * norm).all()
        most = np.minimum(most, exact)
    expected = min(most.max(), posterior.counts @ band.regrets)
    assert band.regret_certificate == pytest.approx(expected, rel=1e-4, abs=1e-6 * rounds * norm)
    if method != "cmm":
        assert band.regret_certificate == pytest.approx(expected, rel=1e-7, abs=1e-7 * norm)


@pytest.mark.thorough
@every_method
@pytest.mark.parametrize("seed", range(8))
def test_no_function_of_the_set_has_a_larger_regret(seed, method):
    truth, posterior, noise, norm = drawn(seed)
    certificate = confidence_band(posterior, noise, norm, method=method).regret_certificate
    for f in truth.members(np.random.default_rng(seed), 60):
        assert posterior.counts @ (f.max() - f) <= certificate + 1e-6 * norm * posterior.events


@every_method
def test_certificates_are_nested_and_never_above_what_holds_without_data(method):
    for seed in range(12):
        _, posterior, noise, norm = drawn(seed)
        found = [confidence_band(posterior, noise, norm, method=each) for each in METHODS]
        values = [band.regret_certificate for band in found]
        assert values[2] <= values[1] * (1 + 1e-9) <= values[0] * (1 + 2e-9)
        limit = norm * np.sqrt(posterior.prior)
        assert values[2] >= 0
        assert values[0] <= posterior.counts @ (limit + limit.max()) * (1 + 1e-9)


def test_all_forms_of_the_posterior_have_the_same_certificate():
    kernel, points = kb.Linear(), POINTS
    rows, arms, linear = (
        fitted(3, 40, kernel, form=form)
        for form in (
            kb.posterior.RowPosterior,
            kb.posterior.ArmPosterior,
            kb.posterior.LinearPosterior,
        )
    )
    counts = arms.counts.astype(float)
    expected = arms.covariance(points) @ counts
    for posterior in (rows, arms, linear):
        np.testing.assert_allclose(posterior.history_covariance(), expected, atol=1e-10)
        band = confidence_band(posterior, 0.3, 1.0, method="amm")
        same_band = confidence_band(arms, 0.3, 1.0, method="amm")
        assert band.regret_certificate == pytest.approx(same_band.regret_certificate, rel=1e-9)


def test_the_certificate_is_nothing_before_the_first_reward_and_where_one_arm_is_all_there_is():
    assert (
        confidence_band(kb.posterior.ArmPosterior(kb.RBF(), POINTS), 1, 1).regret_certificate == 0
    )
    alone = kb.posterior.ArmPosterior(kb.RBF(), [[0.0]])
    for reward in (0.3, -0.2):
        alone.update(0, reward)
    for method in METHODS:
        assert confidence_band(alone, 1.0, 1.0, method=method).regret_certificate <= 1e-6


def test_a_posterior_on_a_box_is_refused_with_what_to_do():
    posterior = kb.posterior.PointPosterior(kb.RBF(0.5), kb.Box((0.0,), (1.0,)), 0.1)
    posterior.update([0.5], 0.3)
    with pytest.raises(ValueError, match=r"not one over the box; tell the rewards to a kb\."):
        confidence_band(posterior, 0.1, 1.0)


def test_a_contradiction_leaves_only_what_holds_without_data():
    posterior = learnt(kb.posterior.ArmPosterior(kb.Linear(), np.eye(9), 0.01), range(9), [0.6] * 9)
    with pytest.warns(kb.checks.TheoryWarning):
        band = confidence_band(posterior, 0.01, 1.0, method="cmm")
    assert band.contradiction
    assert band.regret_certificate == pytest.approx(2 * 9)


def test_a_million_rounds_told_at_once_have_the_certificate_of_their_own_covariance():
    posterior = kb.posterior.RowPosterior(kb.RBF(0.3), POINTS, ridge=0.1)
    counts = np.array([10**6, 3, 40, 0, 0, 7, 1, 10**4, 2])
    f = kb.RBF(0.3)(POINTS, POINTS[:1])[:, 0]
    posterior.learn(counts, counts * f)
    cov = posterior.covariance(POINTS)
    np.testing.assert_allclose(posterior.history_covariance(), cov @ counts, rtol=1e-5, atol=1e-7)
    regret = counts @ (f.max() - f)
    assert regret <= confidence_band(posterior, 0.1, 1.1).regret_certificate <= 1.1 * regret


def band_of(candidates, regrets, delta=0.1, n=50, **more):
    full = np.full(n, 1.0)
    full[: len(regrets)] = regrets
    told = 0.0, "amm", delta, 0.1, 1.0
    return Band(-np.ones(n), np.ones(n), full, np.array(candidates), *told, **more)


def test_the_sentence_says_which_arms_may_be_best_and_what_one_of_them_loses():
    band = band_of([3, 7, 12, 31], [1, 1, 1, 1, 1, 1, 1, 0.12])
    assert band.sentence() == (
        "With probability at least 0.9: the best arm is among 4 of 50 (3, 7, 12, 31); playing arm 7 loses at most 0.12."
    )
    names = [f"film {i}" for i in range(50)]
    assert "(film 3, film 7, film 12, film 31); playing film 7 loses" in band.sentence(names)
    assert band_of([7], [0.0]).sentence() == (
        "With probability at least 0.9: the best arm is 7; playing arm 0 loses at most 0."
    )
    assert "the best arm is among 11 of 50; playing" in band_of(range(11), [0.5]).sentence()
    assert "any of the 50 arms may be the best" in band_of(range(50), [0.5]).sentence()
    assert "probability at least 1 - 1e-09:" in band_of([7], [0.5], delta=1e-9).sentence()


def test_a_loss_is_rounded_upwards():
    assert band_of([1], [0.12341]).sentence().endswith("loses at most 0.124.")
    assert band_of([1], [0.124]).sentence().endswith("loses at most 0.124.")
    assert band_of([1], [9.991e-7]).sentence().endswith("loses at most 1e-06.")


def test_one_may_stop_when_the_recommended_arm_loses_no_more_than_allowed():
    band = band_of([0, 1], [0.3, 0.2])
    assert band.recommended_arm == 1
    assert band.may_stop(0.2)
    assert not band.may_stop(0.199)
    assert not band_of([0, 1], [0.3, 0.2], contradiction=True).may_stop(1.0)


# ---------------------------------------------------------------- by simulation


def chased(seed, rounds, noise_scale, norm=1.0, ridge=1.0):
    """f of norm D on three arms, played by somebody who knows f and drives the estimate away from it."""
    rng, kernel = np.random.default_rng(seed), kb.Matern(0.5)
    points = np.array([[0.0], [0.4], [1.0]])
    k = kernel(points, points)
    g = rng.normal(size=3)
    f, posterior = (
        k @ g * (norm * 0.5 / math.sqrt(g @ k @ g)),
        kb.posterior.ArmPosterior(kernel, points, ridge),
    )
    for t in range(rounds):
        arm = int(np.abs((posterior.mean - f) / posterior.sd).argmax())
        noise = rng.normal() if seed % 2 else rng.choice((-1.0, 1.0))
        posterior.update(arm, float(f[arm] + noise_scale * noise))
        if t % 4 == 3:
            yield f, posterior


def failures(stated, delta, runs=100, rounds=40):
    """How often f leaves each band in some round."""
    left = np.zeros((runs, 3), dtype=bool)
    for seed in range(runs):
        for f, posterior in chased(seed, rounds, 1.0):
            found = [confidence_band(posterior, stated, 1.0, delta, method) for method in METHODS]
            left[seed] |= [band.contradiction or not band.covers(f) for band in found]
    return left.mean(0)


@pytest.mark.thorough
@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_f_leaves_a_band_no_more_often_than_stated_however_the_arms_are_chosen(delta):
    rates = failures(1.0, delta)
    assert (rates <= delta + 4 * math.sqrt(delta * (1 - delta) / 100)).all()
    assert rates[0] <= rates[1] <= rates[2]
    assert delta < 0.5 or rates[2] > 0


@pytest.mark.thorough
def test_bands_for_half_the_noise_are_caught():
    """The same simulation with R understated fails: it is able to."""
    assert failures(0.5, 0.1, runs=40)[2] > 0.1 + 4 * math.sqrt(0.09 / 40)


def stopped(policy, instance, streams, horizon, tolerance, method, told, every):
    """The round of stopping and the true loss of the arm recommended then; a loss of 0 where nobody stops."""
    for t, _, _ in kb.experiment.rounds(policy, instance, horizon, streams):
        band = confidence_band(policy.posterior, **told, method=method) if t % every == 0 else None
        if band is not None and band.may_stop(tolerance):
            return t, float(instance.values.max() - instance.values[band.recommended_arm])
    return horizon, 0.0


@pytest.mark.thorough
@pytest.mark.parametrize(("method", "every"), [("amm", 2), ("cmm", 10)])
def test_who_stops_by_the_band_loses_no_more_than_the_tolerance_with_the_chance_stated(
    method, every
):
    """Random functions of norm exactly D, noise R, played by AMM-UCB: 100 runs."""
    tolerance, horizon, told = 0.2, 300, {"noise_scale": 0.2, "norm_bound": 1.0, "delta": 0.1}
    ends, losses = [], []
    for seed in range(100):
        noise, streams = (GaussianNoise, RademacherNoise)[seed % 2](0.2), kb.Streams(seed)
        instance = RKHSFunction(
            kb.Matern(0.3), 1, candidates=12, norm_bound=1.0, noise=noise
        ).instance(streams)
        policy = kb.policies.AMMUCB(instance.domain, kb.Matern(0.3), ridge=0.1, **told)
        end, loss = stopped(policy, instance, streams, horizon, tolerance, method, told, every)
        ends.append(end)
        losses.append(loss)
    assert np.mean(np.array(losses) > tolerance) <= 0.1 + 3 * math.sqrt(0.09 / 100)
    assert np.mean(np.array(ends) < horizon) > 0.9
    assert np.median(ends) < 100


def opposed(stated, runs=200, theta=0.2, delta=0.05):
    """f(x) = -theta x on the arms 1 and -1, whose gap is just above the tolerance: the share of wrong stops.

    All that is played tells of one number, so no room is lost to other directions.
    """
    wrong = 0
    for seed in range(runs):
        rng, posterior = (
            np.random.default_rng(seed),
            kb.posterior.ArmPosterior(kb.Linear(), [[1.0], [-1.0]], 0.3),
        )
        for t in range(300):
            noise = rng.normal() if seed % 2 else rng.choice((-1.0, 1.0))
            posterior.update(t % 2, float((-theta, theta)[t % 2] + noise))
            band = confidence_band(posterior, stated, 0.3, delta, method="amm")
            if band.may_stop(1.99 * theta):
                wrong += band.recommended_arm == 0
                break
    return wrong / runs


@pytest.mark.thorough
def test_the_stopping_rule_holds_on_a_hard_pair_and_half_the_width_breaks_it():
    allowed = 0.05 + 3 * math.sqrt(0.05 * 0.95 / 200)
    assert opposed(1.0) <= allowed
    assert opposed(0.5) > allowed


@pytest.mark.parametrize("method", ["cmm", "amm", "whitehouse"])
@pytest.mark.parametrize("factor", [1e-300, 1e-160, 1e149])
def test_a_band_is_in_the_units_of_the_rewards_however_small_or_large(method, factor):
    """R, D and all rewards multiplied by c: the band is multiplied by c, and says nothing that it did not say."""
    points, rng = np.random.default_rng(0).random((12, 2)), np.random.default_rng(1)
    arms = rng.integers(12, size=60).tolist()
    rewards = np.sin(3 * points[arms, 0]) + 0.1 * rng.standard_normal(60)
    one, other = (kb.posterior.ArmPosterior(kb.RBF(0.3), points, 0.5) for _ in range(2))
    for arm, reward in zip(arms, rewards.tolist(), strict=True):
        one.update(arm, reward)
        other.update(arm, factor * reward)
    right = confidence_band(one, 0.1, 2.0, 0.1, method)
    found = confidence_band(other, 0.1 * factor, 2.0 * factor, 0.1, method)
    assert not right.contradiction
    assert not found.contradiction
    assert found.candidates.tolist() == right.candidates.tolist()
    for name in ("lower", "upper", "regrets"):
        assert getattr(found, name) / factor == pytest.approx(getattr(right, name), abs=1e-9)


@pytest.mark.parametrize("noise_scale", [5e149, 1e150])
def test_noise_of_any_size_leaves_no_arm_out(noise_scale):
    posterior = kb.posterior.ArmPosterior(kb.RBF(0.3), np.random.default_rng(0).random((5, 2)), 0.5)
    posterior.update(1, 1.0)
    found = confidence_band(posterior, noise_scale, 1.0, 0.1, "cmm")
    assert found.candidates.tolist() == [0, 1, 2, 3, 4]
    assert np.isfinite([found.lower, found.upper, found.regrets]).all()
    assert not found.contradiction
