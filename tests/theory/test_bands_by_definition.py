"""Confidence bands are as wide as their formulas say, and no wider.

Coverage alone (kernelbandits.verification.coverage) would not notice a band that is too wide. So
the bands are compared with dense formulas on random data, and with closed forms on orthonormal
arms, where mean, variance and L are sums over the arms:

    mean S / (ridge + n),   variance ridge / (ridge + n),   L = sum ln(1 + n / ridge).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

import definitions
from broken_engines import patched, squared_sd, widened
from kernelbandits.checks import Array
from kernelbandits.policies import CMMUCB, DMMUCB, martingale_mixtures
from kernelbandits.posterior import ArmPosterior, LinearPosterior, Posterior, RowPosterior
from kernelbandits.streams import Streams
from kernelbandits.theory import bands as theory_bands
from kernelbandits.theory import confidence_band, duality
from kernelbandits.verification.bands import BANDS
from kernelbandits.verification.coverage import largest_error, play_rounds, run_fails
from kernelbandits.verification.scenarios import (
    ADVERSARIAL,
    FORGETTING,
    ORTHONORMAL_ARMS,
    Scenario,
)
from kernelbandits.widths import Width
from reference_bandits import NORM_BOUND, RIDGE, ReferenceBandit, reference_bandit

pytestmark = pytest.mark.usefixtures("quiet")
DELTA, REWARDS, ARMS = 0.1, 60, 12
SMALL_NOISE, NOISE = 0.05, 0.7
"""With the small noise some arms are known not to be the best."""
FORMS = {ArmPosterior: "Matern(0.3)", RowPosterior: "RBF(0.25)", LinearPosterior: "linear"}
ELLIPSOIDS = {"whitehouse": definitions.self_normalised, "amm": definitions.mixture}


# Dense formulas


@dataclass(frozen=True, eq=False)
class PlayedData:
    """Arms played at random, and their rewards."""

    bandit: ReferenceBandit
    arms: list[int]
    rewards: Array
    noise_scale: float

    @cached_property
    def known(self) -> definitions.ExactPosterior:
        return definitions.posterior(self.bandit.gram, self.arms, self.rewards, RIDGE)

    @property
    def prior_limit(self) -> Array:
        """D sqrt(k(x, x)) >= |f(x)|."""
        return NORM_BOUND * np.sqrt(self.bandit.gram.diagonal())

    @cached_property
    def radius(self) -> float:
        """rho^2 = ridge y' (K + ridge I)^-1 y + R^2 (L + 2 ln(1/delta))."""
        paid = self.noise_scale**2 * (self.known.log_det + 2 * math.log(1 / DELTA))
        return definitions.least_loss(self.bandit.gram, self.arms, self.rewards, RIDGE) + paid

    def posterior(self, form: type[Posterior], factor: float = 1.0) -> Posterior:
        """A posterior of the package that was told the rewards, multiplied by the factor."""
        posterior = form(self.bandit.kernel, self.bandit.points, RIDGE)
        for arm, reward in zip(self.arms, self.rewards.tolist(), strict=True):
            posterior.update(arm, factor * reward)
        return posterior

    def limits(self, a: float) -> tuple[Array, Array]:
        """mean_a and sqrt((rho^2 - a y' (K + a I)^-1 y) / a + D^2) sd_a: a band for every a > 0."""
        known = definitions.posterior(self.bandit.gram, self.arms, self.rewards, a)
        left = self.radius - definitions.least_loss(self.bandit.gram, self.arms, self.rewards, a)
        return known.mean, np.sqrt(max(left / a + NORM_BOUND**2, 0.0)) * known.sd


@cache
def played_data(kernel: str, noise_scale: float) -> PlayedData:
    bandit = reference_bandit(0, kernel, ARMS)
    arms = bandit.streams.generator(31).integers(ARMS - 2, size=REWARDS).tolist()
    values = bandit.instance.values[arms]
    noise = (bandit.rewards(arms) - values) * (noise_scale / NOISE)
    return PlayedData(bandit, arms, values + noise, noise_scale)


def policy_band(constructor: Any, data: PlayedData) -> tuple[Array, Array]:
    """The band of a policy that was told the data."""
    policy = constructor(
        data.bandit.instance.domain,
        data.bandit.kernel,
        noise_scale=data.noise_scale,
        norm_bound=NORM_BOUND,
        ridge=RIDGE,
        delta=DELTA,
    )
    for arm, reward in zip(data.arms, data.rewards.tolist(), strict=True):
        policy.tell(policy.choice(arm), reward)
    return policy.band(len(data.arms) + 1)


def check_ellipsoid(method: str, form: type[Posterior]) -> int:
    """mean +- width sd within +-D sqrt(k), and the regrets and candidates; their number."""
    data = played_data(FORMS[form], SMALL_NOISE)
    known, posterior = data.known, data.posterior(form)
    found = confidence_band(posterior, SMALL_NOISE, NORM_BOUND, DELTA, method)
    width = ELLIPSOIDS[method](SMALL_NOISE, NORM_BOUND, RIDGE, DELTA)(known.log_det)
    lower = np.maximum(known.mean - width * known.sd, -data.prior_limit)
    upper = np.minimum(known.mean + width * known.sd, data.prior_limit)
    # f(j) - f(i) <= mean_j - mean_i + width times the sd of the difference
    variance = known.sd**2
    sd_of_difference = np.sqrt(np.maximum(variance[:, None] + variance - 2 * known.cov, 0.0))
    gaps = known.mean - known.mean[:, None] + width * sd_of_difference
    gaps = np.minimum(gaps, upper - lower[:, None])
    np.fill_diagonal(gaps, 0.0)
    # An arm may be best if no other arm is better for certain; only such arms count as rivals.
    candidates = np.flatnonzero((upper >= lower.max()) & (gaps >= 0).all(0))
    np.testing.assert_allclose(found.lower, lower, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.upper, upper, rtol=0, atol=1e-7)
    np.testing.assert_allclose(found.regrets, gaps[:, candidates].max(1), rtol=0, atol=1e-7)
    assert found.candidates.tolist() == candidates.tolist()
    assert not found.contradiction
    return len(candidates)


@cache
def best_over_all_ridges(kernel: str, noise_scale: float) -> tuple[Array, Array]:
    """The smallest upper and the largest lower limit over all a: a grid, then a search in ln a."""
    data, grid = played_data(kernel, noise_scale), np.geomspace(1e-6, 1e6, 241)
    means, reaches = (np.array(rows) for rows in zip(*map(data.limits, grid), strict=True))

    def smallest(sign: float) -> Array:
        table = sign * means + reaches
        found = table.min(0)
        for arm, row in enumerate(table.argmin(0).tolist()):
            near = np.log(grid[[max(row - 1, 0), min(row + 1, len(grid) - 1)]])

            def upper(log_a: float, arm: int = arm) -> float:
                mean, reach = data.limits(math.exp(log_a))
                return float(sign * mean[arm] + reach[arm])

            search = minimize_scalar(upper, bounds=tuple(near), options={"xatol": 1e-6})
            found[arm] = min(found[arm], float(search.fun))
        return found

    lower, upper = -smallest(-1.0), smallest(1.0)
    return np.maximum(lower, -data.prior_limit), np.minimum(upper, data.prior_limit)


def check_best_ridge(form: type[Posterior]) -> None:
    """1e-6, because the package stops its search after three steps."""
    data = played_data(FORMS[form], SMALL_NOISE)
    found = confidence_band(data.posterior(form), SMALL_NOISE, NORM_BOUND, DELTA, "cmm")
    exact = best_over_all_ridges(FORMS[form], SMALL_NOISE)
    np.testing.assert_allclose((found.lower, found.upper), exact, rtol=0, atol=1e-6)


def check_cmm_policy() -> None:
    found = policy_band(CMMUCB, played_data("RBF(0.25)", NOISE))
    exact = best_over_all_ridges("RBF(0.25)", NOISE)
    np.testing.assert_allclose(found, exact, rtol=0, atol=1e-6)


def check_dmm_policy() -> None:
    """The best band over a = ridge 8^k, k = -2..2."""
    data = played_data("RBF(0.25)", NOISE)
    pairs = [data.limits(RIDGE * 8.0**k) for k in range(-2, 3)]
    lower = np.max([mean - reach for mean, reach in pairs], axis=0)
    upper = np.min([mean + reach for mean, reach in pairs], axis=0)
    np.testing.assert_allclose(policy_band(DMMUCB, data), (lower, upper), rtol=0, atol=1e-7)


def check_contradictions() -> None:
    """Rewards of a true f contradict nothing; no f explains rewards 50 times as large."""
    data = played_data("RBF(0.25)", SMALL_NOISE)
    for factor, contradicted in ((1.0, False), (50.0, True)):
        posterior = data.posterior(ArmPosterior, factor)
        for method in (*ELLIPSOIDS, "cmm"):
            band = confidence_band(posterior, SMALL_NOISE, NORM_BOUND, DELTA, method)
            assert bool(band.contradiction) == contradicted


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("method", ELLIPSOIDS)
def test_limits_regrets_and_candidates_of_a_band_are_those_of_dense_formulas(method, form):
    check_ellipsoid(method, form)


def test_some_arms_are_known_not_to_be_the_best_in_these_data():
    assert min(check_ellipsoid(method, form) for method in ELLIPSOIDS for form in FORMS) < ARMS


@pytest.mark.parametrize("form", FORMS)
def test_the_band_cmm_is_the_best_over_all_ridges(form):
    check_best_ridge(form)


def test_the_band_of_cmm_ucb_is_the_best_over_all_ridges():
    check_cmm_policy()


def test_the_band_of_dmm_ucb_is_the_best_over_five_ridges():
    check_dmm_policy()


def test_rewards_contradict_the_scales_where_no_function_fits_and_only_there():
    check_contradictions()


# Closed forms on orthonormal arms

HalfWidth = Callable[[Scenario, Sequence[int]], Array]
"""(scenario, arms played, in order) -> width sd of all arms."""
N = len(ORTHONORMAL_ARMS)
UNEQUAL = Scenario(
    "adversarial arms",
    ADVERSARIAL.draw,
    ADVERSARIAL.horizon,
    1,
    noise_scale=0.7,
    norm_bound=0.4,
    adversarial=True,
)
"""R and D that cannot be mistaken for each other, nor for their squares."""


def half_width(ridge: float, width: definitions.WidthFormula, counts: Array) -> Array:
    """width(L) sqrt(ridge / (ridge + n)), L = sum ln(1 + n / ridge)."""
    return width(float(np.log1p(counts / ridge).sum())) * np.sqrt(ridge / (ridge + counts))


def formula(ridge: Callable[[Scenario], float], width: Any) -> HalfWidth:
    """A band with a fixed ridge; `width` takes (scenario, t) and gives a function of L."""

    def half(scenario: Scenario, arms: Sequence[int]) -> Array:
        counts = np.bincount(arms, minlength=N).astype(float)
        return half_width(ridge(scenario), width(scenario, len(arms) + 1), counts)

    return half


def self_normalised(delta: float) -> HalfWidth:
    return formula(
        lambda s: 1.0,
        lambda s, t: definitions.self_normalised(s.noise_scale, s.norm_bound, 1.0, delta),
    )


def improved(delta: float) -> HalfWidth:
    return formula(
        lambda s: 1 + 2 / s.horizon,
        lambda s, t: definitions.improved(s.noise_scale, s.norm_bound, delta),
    )


def fixed_design(claims: int) -> HalfWidth:
    """D + (R / sqrt(ridge)) sqrt(2 ln(2 claims / delta)) at ridge 0.1."""

    def width(scenario: Scenario, t: int) -> definitions.WidthFormula:
        noise = scenario.noise_scale * math.sqrt(2 / 0.1 * math.log(2 * claims / 0.1))
        return lambda log_det: scenario.norm_bound + noise

    return formula(lambda s: 0.1, width)


def finite_arms(scenario: Scenario, t: int) -> definitions.WidthFormula:
    return partial(definitions.finite_arms(N, 0.1), t)


def agnostic(scenario: Scenario, t: int) -> definitions.WidthFormula:
    """gamma_t is bounded from the t plays that are spread evenly over the orthonormal arms."""
    even = [int(arm) for arm in np.arange(t) % N]
    gain = definitions.bound_from_points(np.eye(N), even, scenario.noise_scale**2)
    square = 2 * scenario.norm_bound**2 + 300 * gain * math.log(t / 0.1) ** 3
    return lambda log_det: math.sqrt(square)


def truncated(scenario: Scenario, t: int) -> definitions.WidthFormula:
    """D + 3 b_{t-1} sqrt(L/2 + 1 + ln(1/delta)), b_n = v^(2/3) n^(1/3)."""
    level = BANDS["TGP-UCB"].settings["moment_bound"] ** (2 / 3) * (t - 1) ** (1 / 3)
    norm_bound = scenario.norm_bound
    return lambda log_det: norm_bound + 3 * level * math.sqrt(log_det / 2 + 1 + math.log(10))


def discounted(scenario: Scenario, arms: Sequence[int]) -> Array:
    """Weights eta^(t-1-s) in the variance, and their squares in Lbar."""
    ages = len(arms) - 1 - np.arange(len(arms))
    once, twice = (np.bincount(arms, eta**ages, N) for eta in (FORGETTING, FORGETTING**2))
    width = definitions.self_normalised(scenario.noise_scale, scenario.norm_bound, 1.0, 0.1)
    return width(float(np.log1p(twice).sum())) * np.sqrt(1 / (1 + once))


CLOSED_FORMS: dict[str, HalfWidth] = {
    "Simple-UCB": self_normalised(0.5),
    "Simple-Gaussian": self_normalised(0.5),
    "RandUCB": self_normalised(0.1),
    "Whitehouse": self_normalised(0.1),
    "OFUL": self_normalised(0.1),
    "IGP-UCB": improved(0.1),
    "GP-TS": improved(0.05),
    "AMM-UCB": formula(
        lambda s: 1.0, lambda s, t: definitions.mixture(s.noise_scale, s.norm_bound, 1.0, 0.1)
    ),
    "GP-UCB finite": formula(lambda s: s.noise_scale**2, finite_arms),
    "GP-UCB rkhs": formula(lambda s: s.noise_scale**2, agnostic),
    "BPE": fixed_design(3 * N),
    "REDS": fixed_design(4 * N),
    "MVR": fixed_design(N),
    "TGP-UCB": formula(lambda s: 1 + 2 / s.horizon, truncated),
    "WGP-UCB": discounted,
}
"""T = 60 makes 3 batches of BPE (8, 22, 30) and 4 epochs of REDS (8, 16, 32, 4)."""


def check_half_width(name: str) -> None:
    """After 45 adversarial rounds, or after 7 rounds of a first batch."""
    arms: list[int] = []
    for policy, t, f in play_rounds(BANDS[name], UNEQUAL, 0):
        if t > (7 if hasattr(policy, "batch") else 45):
            break
        arms.append(largest_error(policy, f))
    lower, upper = BANDS[name].limits(policy, t, UNEQUAL)
    np.testing.assert_allclose((upper - lower) / 2, CLOSED_FORMS[name](UNEQUAL, arms), rtol=1e-9)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_the_half_width_of_a_band_is_its_closed_form_on_orthonormal_arms(name):
    check_half_width(name)


def closed_form_fails(width: definitions.WidthFormula, seed: int) -> bool:
    """Whether f leaves mean -+ width(L) sd at ridge 1 in the adversarial run of this seed."""
    streams = Streams(seed)
    instance = ADVERSARIAL.instance(streams)
    f, counts, sums = instance.values, np.zeros(N), np.zeros(N)
    for noise in instance.noise.draw(streams.uniforms("noise", ADVERSARIAL.horizon)):
        errors = np.abs(f - sums / (1 + counts)) * np.sqrt(1 + counts)
        arm = int(errors.argmax())
        if errors[arm] > width(float(np.log1p(counts).sum())):
            return True
        counts[arm] += 1
        sums[arm] += f[arm] + noise
    return False


def check_failed_runs(name: str, runs: int = 60) -> None:
    """A band at delta = 1/2 fails in the runs in which its closed form fails, and in some."""
    width = {"Simple-UCB": definitions.self_normalised, "AMM-UCB, delta 1/2": definitions.mixture}
    exact = width[name](ADVERSARIAL.noise_scale, ADVERSARIAL.norm_bound, 1.0, 0.5)
    failed = [closed_form_fails(exact, seed) for seed in range(runs)]
    assert [run_fails(BANDS[name], ADVERSARIAL, seed) for seed in range(runs)] == failed
    assert 0 < sum(failed) < runs


@pytest.mark.parametrize("name", ["Simple-UCB", "AMM-UCB, delta 1/2"])
def test_a_band_at_delta_one_half_fails_in_the_runs_of_its_closed_form_and_in_some(name):
    check_failed_runs(name)


def test_the_closed_form_agrees_with_the_golden_instance():
    width = definitions.self_normalised(0.5, 2.0, 1.0, 0.5)
    half = half_width(1.0, width, np.array([2.0, 1.0, 0.0]))
    index = np.add(half, (1 / 3, -0.25, 0.0))
    np.testing.assert_allclose(index, [2.002658, 1.794497, 2.891355], atol=5e-7)


# Broken bands


def slack_without(part: Callable) -> Any:
    """The dual bound with a part of its slack left out."""
    return patched(
        duality.Dual,
        "_slack",
        lambda sound: lambda self, a, fit: sound(self, a, fit) - part(self, a, fit),
    )


def never_contradicted(sound):
    def derive_bounds(known, sure):
        return sound(known, sure) or (-sure, sure, sure, np.arange(len(sure)))

    return derive_bounds


def doubled_losses(sound):
    def learn(self, arm, reward, note):
        before = self.losses.copy()
        sound(self, arm, reward, note)
        self.losses += self.losses - before

    return learn


def larger_radius(owner: Any) -> Any:
    return patched(owner, "noise_radius", lambda sound: lambda *given: 1.1 * sound(*given))


best_ridge = partial(check_best_ridge, ArmPosterior)
pool_ellipsoid = partial(check_ellipsoid, "amm", RowPosterior)
ucb_width = partial(check_half_width, "Simple-UCB")
few_runs = partial(check_failed_runs, "Simple-UCB", 30)
BREAKAGES = {
    "half of the noise in a slack": (
        slack_without(lambda dual, a, fit: dual.noise_radius**2 / a / 2),
        best_ridge,
    ),
    "no residuals in a slack": (
        slack_without(lambda dual, a, fit: (dual.ridge / a - 1) * fit),
        best_ridge,
    ),
    "losses of DMM-UCB doubled": (patched(DMMUCB, "_learn", doubled_losses), check_dmm_policy),
    "a band a tenth too wide": (larger_radius(theory_bands), best_ridge),
    "policies with a radius too wide": (larger_radius(martingale_mixtures), check_cmm_policy),
    "the covariance of a pair with the wrong sign": (
        patched(Posterior, "arm_covariance", lambda sound: lambda *given: -sound(*given)),
        pool_ellipsoid,
    ),
    "no contradiction": (
        patched(theory_bands, "derive_bounds", never_contradicted),
        check_contradictions,
    ),
    "det for its root": (widened(1, 1, 2), ucb_width, few_runs),
    "half the log-determinant": (widened(1, 1, 0.5), ucb_width, few_runs),
    "D forgotten": (widened(0, 1, 1), ucb_width),
    "width halved": (widened(0.5, 0.25, 0.25), ucb_width, few_runs),
    "width doubled": (widened(2, 4, 4), ucb_width, few_runs),
    "sd squared": (patched(Posterior, "sd", lambda sound: squared_sd), ucb_width, few_runs),
}
FORGOTTEN_CONFIDENCE = {
    "chowdhury_gopalan": (
        lambda r, d, delta, gain, chance=1: Width("", lambda t: (0.0, 0.0, r**2)),
        "IGP-UCB",
    ),
    "mixture": (lambda r, d, ridge, delta: Width("", lambda t: (0.0, 0.0, r**2)), "AMM-UCB"),
    "srinivas_finite": (
        lambda n, delta, scale: Width("", lambda t: (2.0, 0.0, 0.0)),
        "GP-UCB finite",
    ),
    "fixed_design": (
        lambda r, d, ridge, delta, m: Width("", lambda t: (d + r * 5, 0.0, 0.0)),
        "BPE",
    ),
    "truncated_rewards": (
        lambda level, d, delta, gain: Width("", lambda t: (d + 2.0, 0.0, 0.0)),
        "TGP-UCB",
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_check_notices(breakage, monkeypatch):
    break_band, *checks = BREAKAGES[breakage]
    break_band(monkeypatch)
    for check in checks:
        with pytest.raises(AssertionError):
            check()


@pytest.mark.parametrize("rule", FORGOTTEN_CONFIDENCE)
def test_the_closed_form_notices_a_width_without_its_delta(rule, monkeypatch):
    broken, name = FORGOTTEN_CONFIDENCE[rule]
    monkeypatch.setattr(f"kernelbandits.widths.{rule}", broken)
    with pytest.raises(AssertionError):
        check_half_width(name)
