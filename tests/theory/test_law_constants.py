"""C1, C2, C3 and C3' against sums in fractions, against integrals of another kind, and against simulation."""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special, stats

import conftest
import kernelbandits as kb
from kernelbandits.exploration import Exploration
from kernelbandits.exploration.tails import UNKNOWN, area
from kernelbandits.theory import Constants, constants
from kernelbandits.theory.maxima import simulate_maxima

UCB, COIN, GAUSSIAN = kb.PointMass(1.0), kb.Bernoulli(0.5), kb.Gaussian()
QUARTERS = kb.Categorical((0.25,) * 4)
MIXTURE = kb.Mixture((0.5, 0.5), (UCB, GAUSSIAN))
EVEN_HANDED = kb.Categorical((0.2, 0.3, 0.4, 0.1), support=(-2.0, -0.5, 0.25, 1.5))


def paper(horizon: int) -> kb.Step:
    return kb.Step(kb.Bernoulli(0.5), kb.Bernoulli(0.25), horizon // 2)


# ---------------------------------------------------------------- other ways to the same numbers


def area_between(function, edges, panels=500) -> float:
    """Gauss-Legendre on equal panels between the edges, with nothing of the package."""
    x, weights = np.polynomial.legendre.leggauss(16)
    ends = np.concatenate(
        [np.linspace(a, b, panels + 1)[:-1] for a, b in pairwise(edges)] + [edges[-1:]]
    )
    half = np.diff(ends) / 2
    points = (ends[:-1] + half)[:, None] + half[:, None] * x
    return math.fsum(half * (function(points.ravel()).reshape(points.shape) @ weights))


def within_gaussian(u, mean, scale):
    """P(|N(mean, scale^2)| <= u)"""
    a, b = (u - mean) / (scale * math.sqrt(2)), (u + mean) / (scale * math.sqrt(2))
    return (special.erf(a) + special.erf(b)) / 2


def maximum_by_quantiles(upper_quantile, horizon: int) -> float:
    """E max of T variables with P(Z > q(e)) = e, as E q(1 - exp(-e^-G / T)), G a Gumbel variable: trapezoid rule."""
    g = np.linspace(-6.5, 400.0, 400_001)
    density = np.exp(-g - np.exp(-g))
    levels = np.minimum(-np.expm1(-np.exp(-g) / horizon), 1 - 1e-16)
    return float(np.trapezoid(upper_quantile(levels) * density, g))


def in_fractions(laws) -> tuple[Fraction, Fraction, Fraction]:
    """C2, C3 and C3' of discrete laws, one a round, over all outcomes."""
    tables = [
        [(Fraction(v), Fraction(p)) for v, p in zip(*law.masses, strict=True)] for law in laws
    ]
    optimism = [sum(p for v, p in table if v >= 1) for table in tables]
    means = [sum(v * p for v, p in table) for table in tables]
    sizes = [sum(abs(v) * p for v, p in table) for table in tables]
    c2 = raised = excess = Fraction(0)
    for outcome in product(*tables):
        chance = math.prod(p for _, p in outcome)
        weights = [v for v, _ in outcome]
        c2 += chance * max(map(abs, weights))
        raised += chance * max(abs(w) / c for w, c in zip(weights, optimism, strict=True))
        excess += chance * max(
            max(w - m, 0) / c for w, m, c in zip(weights, means, optimism, strict=True)
        )
    return c2, raised + max(m / c for m, c in zip(sizes, optimism, strict=True)), excess


def bernoulli_sum(chances) -> float:
    """sum_j prod_{i<j} (1 - p_(i)), p increasing, plus one."""
    none, total = 1.0, []
    for p in sorted(chances):
        total.append(none)
        none *= 1 - p
    return math.fsum(total) + 1


# ---------------------------------------------------------------- golden values


@pytest.mark.parametrize(
    ("law", "horizon", "c1", "c2", "c3"),
    [
        (UCB, 1, 1.0, 1.0, 2.0),
        (UCB, 10**6, 1.0, 1.0, 2.0),
        (kb.PointMass(2.5), 7, 1.0, 2.5, 5.0),
        (paper(10), 10, 0.25, 0.992584228515625, 4.51055908203125),
        (paper(1000), 1000, 0.25, 1.0, 5.0),
        (GAUSSIAN, 1, 0.158655, 0.797885, 10.058092),
        (GAUSSIAN, 2, 0.158655, 1.128379, 12.141191),
        (GAUSSIAN, 10, 0.158655, 1.880716, 16.883149),
        (GAUSSIAN, 1000, 0.158655, 3.435410, 26.682348),
        (QUARTERS, 1, 0.25, 0.625, 5.0),
        (QUARTERS, 2, 0.25, 0.78125, 5.625),
        (QUARTERS, 1000, 0.25, 1.0, 6.5),
        (MIXTURE, 10, 0.579328, 1.585432, 4.288376),
    ],
)
def test_the_golden_values(law, horizon, c1, c2, c3):
    found = constants(law, horizon)
    assert (found.c1, found.c2, found.c3) == pytest.approx((c1, c2, c3), abs=6e-7)
    assert (found.horizon, found.error) == (horizon, 0.0)


def test_the_tightened_constant_is_zero_for_a_point_mass_and_20_43_for_the_gaussian():
    assert constants(UCB, 1000).c3_tight == 0
    assert constants(kb.Gaussian(1.0, 0.0), 1000).c3_tight == 0
    assert constants(GAUSSIAN, 1000).c3_tight == pytest.approx(20.43, abs=5e-3)


@pytest.mark.parametrize("horizon", [2, 10, 100, 10**4, 10**6])
def test_the_papers_schedule_has_its_closed_form(horizon):
    half = horizon // 2
    found = constants(paper(horizon), horizon)
    assert found.c3 == pytest.approx(
        4 * (1 - 0.75**half) + 2 * 0.75**half * (1 - 0.5**half) + 1, rel=1e-14
    )
    assert found.c2 == pytest.approx(1 - 0.375**half, rel=1e-14)
    assert found.c3_tight == pytest.approx(
        3 * (1 - 0.75**half) + 0.75**half * (1 - 0.5**half), rel=1e-14
    )
    assert found.method == "exact"


def test_the_best_gaussian_scale_for_the_papers_bound_is_about_1_256():
    scales = np.linspace(1.0, 1.6, 61)
    factors = [
        found.c2 + 2 * found.c3 for found in (constants(kb.Gaussian(0.0, s), 1000) for s in scales)
    ]
    assert scales[int(np.argmin(factors))] == pytest.approx(1.256, abs=0.01)
    assert (min(factors), factors[0]) == pytest.approx((54.25, 56.80), abs=5e-3)


# ---------------------------------------------------------------- long horizons against other integrals


HORIZONS = (1, 7, 10**4, 10**6, 10**9)
LONG = pytest.mark.parametrize("horizon", HORIZONS)


@LONG
@pytest.mark.parametrize("scale", [0.3, 1.0, 1e6])
def test_the_maximum_of_gaussians_is_that_of_their_quantiles(horizon, scale):
    found = constants(kb.Gaussian(0.0, scale), horizon)
    size = maximum_by_quantiles(lambda e: -scale * special.ndtri(e / 2), horizon)
    excess = maximum_by_quantiles(lambda e: np.maximum(-scale * special.ndtri(e), 0), horizon)
    optimism = special.ndtr(-1 / scale)
    assert found.c2 == pytest.approx(size, rel=1e-12)
    assert found.c3 == pytest.approx((size + scale * math.sqrt(2 / math.pi)) / optimism, rel=1e-12)
    assert found.c3_tight == pytest.approx(excess / optimism, rel=1e-11 if horizon > 100 else 1e-6)
    assert found.method == "quadrature"


@LONG
@pytest.mark.parametrize("scale", [1e-6, 1e-3])
def test_a_narrow_law_keeps_the_digits_of_what_it_adds_to_its_mean(horizon, scale):
    found = constants(kb.Gaussian(2.0, scale), horizon)
    above = maximum_by_quantiles(lambda e: -special.ndtri(e), horizon)
    excess = maximum_by_quantiles(lambda e: np.maximum(-special.ndtri(e), 0), horizon)
    assert (found.c2 - 2) / scale == pytest.approx(above, abs=1e-6)
    assert found.c3_tight / scale == pytest.approx(excess, abs=1e-6)


FAMILIES = {
    "student 3": (stats.t(3), lambda e: stats.t.isf(e / 2, 3)),
    "student 1.5": (stats.t(1.5), lambda e: stats.t.isf(e / 2, 1.5)),
    "exponential": (stats.expon(scale=0.5), lambda e: -0.5 * np.log(e)),
    "lognormal": (stats.lognorm(1.0), lambda e: np.exp(-special.ndtri(e))),
    "tiny lognormal with a heavy tail": (
        stats.lognorm(2.0, scale=1e-3),
        lambda e: 1e-3 * np.exp(-2 * special.ndtri(e)),
    ),
    "uniform": (stats.uniform(0, 2), lambda e: 2 * (1 - e)),
    "uniform on [-3, 3]": (stats.uniform(-3, 6), lambda e: 3 * (1 - e)),
    "gamma near zero": (stats.gamma(0.05), lambda e: stats.gamma.isf(e, 0.05)),
    "root exponential": (
        kb.exploration.RootExponential(0.4, 2.0),
        lambda e: np.sqrt(0.4 - 2 * np.log(e)),
    ),
    "laplace": (stats.laplace(scale=3.0), lambda e: -3 * np.log(e)),
}


@conftest.pairwise(family=FAMILIES, horizon=HORIZONS)
def test_the_maximum_of_any_law_is_that_of_its_quantiles(family, horizon):
    law, quantile = FAMILIES[family]
    found = constants(law, horizon)
    assert found.c2 == pytest.approx(maximum_by_quantiles(quantile, horizon), rel=1e-10)
    assert (found.method, found.error) == ("quadrature", 0.0)


def test_exponential_and_uniform_maxima_have_their_closed_forms_at_a_million():
    million = 10**6
    harmonic = float(special.digamma(million + 1)) + np.euler_gamma
    exponential = constants(stats.expon(), million)
    assert exponential.c2 == pytest.approx(harmonic, rel=1e-12)
    assert exponential.c3 == pytest.approx((harmonic + 1) * math.e, rel=1e-12)
    assert constants(stats.uniform(0, 2), million).c2 == pytest.approx(
        2 * million / (million + 1), rel=1e-12
    )


@pytest.mark.parametrize("horizon", [10, 10**4, 10**6])
@pytest.mark.parametrize(("rho", "scale"), [(0.5, 1.0), (0.99, 0.01), (0.01, 3.0), (0.3, 0.2)])
def test_a_mixture_is_the_raw_product_with_its_jump_at_one(rho, scale, horizon):
    def exceeds(u, a):
        inside = rho * (u >= a) + (1 - rho) * special.erf(u / (a * scale * math.sqrt(2)))
        return -np.expm1(horizon * np.log(np.maximum(inside, 1e-300)))

    law = kb.Mixture((rho, 1 - rho), (UCB, kb.Gaussian(0.0, scale)))
    found, c1 = constants(law, horizon), rho + (1 - rho) * special.ndtr(-1 / scale)
    size = area_between(lambda u: exceeds(u, 1.0), sorted([0.0, 1.0, 10 * scale + 1]))
    mean_abs = rho + (1 - rho) * scale * math.sqrt(2 / math.pi)
    assert (found.c1, found.c2) == pytest.approx((c1, size), rel=1e-10)
    assert found.c3 == pytest.approx((size + mean_abs) / c1, rel=1e-10)


@pytest.mark.parametrize("horizon", [1, 5, 10**4, 10**6])
def test_a_categorical_law_is_a_sum_of_powers(horizon):
    weights, support = (0.1, 0.6, 0.299, 0.001), (0.25, 0.5, 1.0, 4.0)
    tails = np.array([0.9, 0.3, 0.001, 0.0])
    powers = np.diff(np.exp(horizon * np.log1p(-tails)), prepend=0.0)
    size, mean_abs = float(powers @ support), float(np.dot(weights, support))
    found = constants(kb.Categorical(weights, support), horizon)
    assert found.c1 == pytest.approx(0.3)
    assert (found.c2, found.c3) == pytest.approx((size, (size + mean_abs) / 0.3), rel=1e-12)
    assert found.c3_tight == pytest.approx(
        float(powers @ np.maximum(np.subtract(support, mean_abs), 0)) / 0.3, rel=1e-12
    )
    assert found.method == "exact"


@pytest.mark.thorough
@pytest.mark.parametrize(
    "laws",
    [
        (COIN, QUARTERS, EVEN_HANDED),
        (EVEN_HANDED, EVEN_HANDED, EVEN_HANDED, kb.Bernoulli(0.125)),
        (
            kb.PointMass(1.5),
            COIN,
            kb.Mixture((0.5, 0.25, 0.25), (COIN, kb.PointMass(-3.0), QUARTERS)),
        ),
        (
            kb.exploration.DiscretisedGaussian(points=5, scale=0.7, upper=1.5, top=0.1),
            COIN,
            kb.Gaussian(1.25, 0.0),
        ),
        (kb.exploration.Frozen(stats.binom(3, 0.5, loc=-1)), COIN, QUARTERS),
        (kb.Bernoulli(0.5), kb.Bernoulli(0.25), kb.Bernoulli(0.125), kb.Bernoulli(1.0)),
    ],
    ids=repr,
)
def test_discrete_schedules_are_the_sum_over_all_outcomes(laws):
    found = constants(lambda t: laws[t - 1], len(laws))
    expected = [float(value) for value in in_fractions(laws)]
    assert (found.c2, found.c3, found.c3_tight) == pytest.approx(expected, rel=1e-13)
    assert found.method == "exact"


@pytest.mark.thorough
@pytest.mark.parametrize("power", [0.05, 0.5])
@pytest.mark.parametrize("horizon", [10, 10**4, 10**6])
def test_bernoulli_schedules_are_a_sum_of_products(power, horizon):
    chances = np.arange(1, horizon + 1.0) ** -power * 0.9
    found = constants(kb.Decay(first=0.9, power=power, floor=0.0), horizon)
    assert found.c1 == pytest.approx(chances[-1])
    assert found.c2 == pytest.approx(-math.expm1(math.fsum(np.log1p(-chances))), rel=1e-13)
    assert found.c3 == pytest.approx(bernoulli_sum(chances.tolist()), rel=1e-11)


@pytest.mark.thorough
@pytest.mark.parametrize("horizon", [3, 30, 10**4, 10**6])
def test_gaussian_bernoulli_and_categorical_rounds_together_are_one_product(horizon):
    """Rounds in turn: N(0.2, 0.8^2), Ber(0.3), a categorical law with negative values, a mixture with an atom."""
    laws = (
        kb.Gaussian(0.2, 0.8),
        kb.Bernoulli(0.3),
        EVEN_HANDED,
        kb.Mixture((0.4, 0.6), (kb.PointMass(2.0), GAUSSIAN)),
    )
    counts = [len(range(j, horizon, 4)) for j in range(4)]
    c1 = [special.ndtr(-1.0), 0.3, 0.1, 0.4 + 0.6 * special.ndtr(-1.0)]

    def exceeds(u, scales):
        a, b, c, d = (u / scale for scale in scales)
        sure = [c >= value for value in (2.0, 1.5, 0.5, 0.25)]
        inside = (
            within_gaussian(a, 0.2, 0.8),
            0.7 + 0.3 * (b >= 1),
            0.2 * sure[0] + 0.1 * sure[1] + 0.3 * sure[2] + 0.4 * sure[3],
            0.4 * (d >= 2) + 0.6 * within_gaussian(d, 0.0, 1.0),
        )
        logs = sum(n * np.log(np.maximum(p, 1e-300)) for n, p in zip(counts, inside, strict=True))
        return -np.expm1(logs)

    def expected(scales):
        a, b, c, d = scales
        breaks = {0.0, b, 2 * c, 1.5 * c, 0.5 * c, 0.25 * c, 2 * d, max(9 * a, 9 * d, 3 * c)}
        return area_between(lambda u: exceeds(u, scales), sorted(breaks))

    found = constants(lambda t: laws[(t - 1) % 4], horizon)
    sizes = [kb.Gaussian(0.2, 0.8).mean_abs, 0.3, 0.8, 0.8 + 0.6 * math.sqrt(2 / math.pi)]
    widest = max(m / c for m, c, n in zip(sizes, c1, counts, strict=True) if n)
    scales = [1 / c for c in c1]
    assert found.c2 == pytest.approx(expected([1.0] * 4), rel=1e-9)
    assert found.c3 == pytest.approx(expected(scales) + widest, rel=1e-9)
    assert found.method == "quadrature"


def test_many_coins_beside_a_gaussian_are_one_product_too():
    """Half the rounds are N(0, 1), the others Ber(p_t) with ever smaller p_t."""
    horizon = 10**4
    chances = 0.9 * np.arange(2, horizon + 1, 2.0) ** -0.3
    least = min(chances.min(), special.ndtr(-1.0))
    found = constants(
        lambda t: GAUSSIAN if t % 2 else kb.Bernoulli(0.9 * float(t) ** -0.3), horizon
    )
    inverse, logs = np.sort(1 / chances), np.cumsum(np.log1p(-np.sort(chances)))

    def exceeds(u):
        above = len(inverse) - np.searchsorted(inverse, u, side="right")
        gaussian = (
            horizon
            / 2
            * np.log(np.maximum(special.erf(u * special.ndtr(-1.0) / math.sqrt(2)), 1e-300))
        )
        return -np.expm1(gaussian + np.where(above > 0, logs[above - 1], 0.0))

    edges = [0.0, *inverse, *np.linspace(inverse[-1], 60.0, 200)[1:]]
    expected = area_between(exceeds, sorted(edges), panels=2)
    assert found.c1 == pytest.approx(least)
    assert found.c3 == pytest.approx(
        expected + max(1.0, math.sqrt(2 / math.pi) / special.ndtr(-1.0)), rel=1e-9
    )


def test_laws_on_a_lattice_are_summed_far_into_their_tails():
    law, values = stats.poisson(2.0), np.arange(200)
    size = math.fsum(-np.expm1(10**6 * np.log1p(-law.sf(values[:-1]))))
    found = constants(law, 10**6)
    assert found.c2 == pytest.approx(size, rel=1e-12)
    assert (found.c1, found.method) == (pytest.approx(1 - math.exp(-2)), "exact")
    shifted = constants(stats.geom(0.5, loc=-2), 10**4)
    sizes = np.arange(0, 300)
    tails = 0.5 ** (sizes + 2.0) + 0.5 * (sizes < 1)
    assert shifted.c2 == pytest.approx(math.fsum(-np.expm1(10**4 * np.log1p(-tails))), rel=1e-12)


# ---------------------------------------------------------------- infinite, impossible and costly


@pytest.mark.parametrize(
    "law",
    [
        stats.cauchy(),
        stats.t(1),
        stats.levy(),
        stats.pareto(0.7),
        kb.Mixture((0.9, 0.1), (UCB, stats.cauchy(0, 1e-9))),
        lambda t: stats.cauchy() if t == 3 else COIN,
    ],
)
@pytest.mark.parametrize("method", ["auto", "simulated"])
def test_weights_without_a_mean_have_infinite_constants(law, method):
    found = constants(law, 10, method=method)
    assert (found.c2, found.c3, found.c3_tight) == (math.inf,) * 3
    assert found.c1 > 0


@pytest.mark.parametrize("chance", [1e-9, 1e-11, 4e-12, 1e-13, 1e-20])
@pytest.mark.parametrize("horizon", [1, 10**6])
def test_a_rare_large_weight_is_no_heavy_tail(chance, horizon):
    found = constants(kb.Mixture((1 - chance, chance), (MIXTURE, kb.PointMass(1e6))), horizon)
    usual = constants(MIXTURE, horizon)
    reached = -math.expm1(horizon * math.log1p(-chance))
    assert found.c2 == pytest.approx(1e6 * reached + (1 - reached) * usual.c2, rel=1e-9)


def test_a_law_of_chance_zero_in_a_mixture_is_no_law():
    assert constants(kb.Mixture((1.0, 0.0), (COIN, stats.cauchy())), 10) == constants(
        kb.Mixture((1.0,), (COIN,)), 10
    )


NEVER = {
    "point mass below one": (kb.PointMass(0.5), r"PointMass\(c=0.5\)$"),
    "never": (kb.Bernoulli(0.0), r"Bernoulli\(p=0.0\)$"),
    "categories below one": (kb.Categorical((0.5, 0.5), support=(-2.0, 0.9)), "Categorical"),
    "narrow": (stats.uniform(0, 0.5), r"Frozen\(uniform\(0, 0.5\)\)$"),
    "too narrow for a float": (kb.Gaussian(0.0, 0.02), r"Gaussian\(mean=0.0, scale=0.02\)$"),
    "step": (kb.Step(COIN, kb.PointMass(0.3), 4), r"PointMass\(c=0.3\) in round 5$"),
    "schedule": (lambda t: kb.Bernoulli(0.0 if t == 7 else 0.5), r"Bernoulli\(p=0.0\) in round 7$"),
    "decay to nothing": (kb.Decay(power=300.0, floor=0.0), r"Bernoulli\(p=0.0\) in round 12$"),
    "certainty without a floor": (kb.Certainty(0.5, 0.0), r"Certainty\(first=0.5, floor=0.0\)$"),
}


@pytest.mark.parametrize(("law", "name"), NEVER.values(), ids=NEVER)
def test_no_bound_without_optimism_and_the_law_and_round_are_named(law, name):
    with pytest.raises(
        ValueError, match=r"a regret bound needs C1 = P\(w >= 1\) > 0 in every round, got .*" + name
    ):
        constants(law, 20)


def test_a_tiny_optimism_is_divided_by_while_that_is_a_number():
    found = constants(kb.Gaussian(0.0, 0.03), 10)
    assert found.c1 == pytest.approx(special.ndtr(-1 / 0.03))
    assert found.c3 == pytest.approx(
        (found.c2 + 0.03 * math.sqrt(2 / math.pi)) / found.c1, rel=1e-12
    )
    with pytest.raises(
        ValueError, match=r"needs C1 = P\(w >= 1\) so large that C3 is a number, got 1e-300"
    ):
        constants(kb.Categorical((1.0, 1e-300), support=(-1e20, 1.0)), 10)


@pytest.mark.parametrize("horizon", [0, -1, 1.5, math.nan, math.inf, None, "10", True, [10]])
def test_a_horizon_is_a_whole_number(horizon):
    with pytest.raises(ValueError, match="constants needs a whole number horizon >= 1, got"):
        constants(COIN, horizon)


@pytest.mark.parametrize(
    "bad", [None, 0.5, "gaussian", kb.Bernoulli, object(), lambda t: None, lambda t: 0.5]
)
def test_what_is_no_law_is_refused_in_one_sentence(bad):
    with pytest.raises(ValueError, match="needs"):
        constants(bad, 10)


@pytest.mark.parametrize(
    "settings",
    [
        {"method": "guess"},
        {"samples": 1},
        {"samples": 1.5},
        {"samples": "a"},
        {"seed": -1},
        {"seed": None},
    ],
)
def test_bad_settings_of_a_simulation_are_refused(settings):
    with pytest.raises(ValueError, match="needs"):
        constants(COIN, 10, **{"method": "simulated"} | settings)


@pytest.mark.thorough
def test_what_would_take_for_ever_is_refused_at_once():
    with pytest.raises(
        ValueError,
        match=r"a schedule with a new law in every round needs a horizon <= 1e\+07, got 1000000000",
    ):
        constants(lambda t: COIN, 10**9)
    with pytest.raises(ValueError, match=r"needs a horizon <= 1e\+07, got"):
        constants(kb.Decay(floor=0.0), 10**9)
    with pytest.raises(ValueError, match=r"a simulation needs samples \* horizon <= 1e\+10"):
        constants(GAUSSIAN, 10**9, method="simulated")
    with pytest.raises(ValueError, match=r"a discrete law needs at most .* got zipf\(2.5\)"):
        constants(stats.zipf(2.5), 10)


def test_other_schedules_that_look_at_the_history_are_refused_with_advice():
    with pytest.raises(
        ValueError, match=r"constants needs a law, .*give the least favourable laws\), got"
    ):
        constants(lambda t, posterior: COIN, 10)


@pytest.mark.thorough
def test_a_long_horizon_costs_no_more_than_a_short_one():
    calls = {
        "one law": (lambda: constants(MIXTURE, 10**9), 0.3),
        "one law for ever": (lambda: constants(GAUSSIAN, 10**90), 0.3),
        "two laws": (lambda: constants(kb.Step(GAUSSIAN, COIN, 10**8), 10**9), 0.3),
        "a decay to its floor": (lambda: constants(kb.Decay(), 10**9), 0.3),
        "a million coins": (lambda: constants(kb.Decay(floor=0.0), 10**6), 4.0),
    }
    for name, (call, limit) in calls.items():
        start = time.process_time()
        call()
        assert time.process_time() - start < limit, name


# ---------------------------------------------------------------- grouping


def test_equal_laws_are_one_whatever_their_order_and_object():
    counts = Exploration.of(lambda t: kb.Bernoulli(0.5) if t % 3 else kb.Gaussian(0.0, 1.0)).counts(
        3000
    )
    assert counts == {kb.Bernoulli(0.5): 2000, kb.Gaussian(): 1000}
    fresh = Exploration.of(lambda t: stats.norm(0, 1 + t % 2)).counts(20)
    assert sorted(fresh.values()) == [10, 10]
    assert kb.exploration.Frozen(stats.norm(0, 1)) != kb.exploration.Frozen(
        stats.norm(0, 1), given_atoms=(0.0,)
    )
    assert kb.exploration.Frozen(stats.norm(0, 1)) != kb.exploration.Frozen(stats.t(3))


@dataclass(frozen=True)
class Relabelled(kb.exploration.Law):
    """The same law under another name, so that it is not recognised."""

    law: kb.exploration.Law
    name: int

    def cdf(self, x):
        return self.law.cdf(x)

    def draw(self, u):
        return self.law.draw(u)

    def tail(self, x):
        return self.law.tail(x)

    def below(self, x):
        return self.law.below(x)

    @property
    def optimism(self):
        return self.law.optimism

    @property
    def atoms(self):
        return self.law.atoms


MIXED = (GAUSSIAN, kb.Bernoulli(0.3), EVEN_HANDED, MIXTURE, kb.Gaussian(0.5, 0.4))


def test_grouping_changes_nothing():
    laws = MIXED * 6
    grouped = constants(lambda t: laws[t - 1], 30)
    singly = constants(lambda t: Relabelled(laws[t - 1], t), 30)
    for name in ("c1", "c2", "c3", "c3_tight"):
        assert getattr(grouped, name) == pytest.approx(getattr(singly, name), rel=1e-10)


@settings(max_examples=20)
@given(st.permutations(MIXED * 3))
def test_the_order_of_the_rounds_does_not_matter(laws):
    found, usual = constants(lambda t: laws[t - 1], 15), constants(lambda t: MIXED[t % 5], 15)
    for name in ("c1", "c2", "c3", "c3_tight"):
        assert getattr(found, name) == pytest.approx(getattr(usual, name), rel=1e-11)


def test_a_step_and_a_decay_are_what_they_are_round_by_round():
    for schedule in (
        paper(31),
        kb.Decay(first=0.8, power=0.5, floor=0.2),
        kb.Decay(first=0.7, power=0.0),
        kb.Step(GAUSSIAN, COIN, 40),
    ):
        at_once, singly = (
            constants(schedule, 31),
            constants(lambda t, schedule=schedule: schedule(t), 31),
        )
        for name in ("c1", "c2", "c3", "c3_tight"):
            assert getattr(at_once, name) == pytest.approx(getattr(singly, name), rel=1e-13)


# ---------------------------------------------------------------- histories


@pytest.mark.parametrize(
    ("first", "floor", "horizon"), [(0.5, 0.05, 1), (0.5, 0.05, 12), (1.0, 0.3, 100), (0.4, 0.4, 7)]
)
def test_certainty_is_bounded_over_all_histories(first, floor, horizon):
    found = constants(kb.Certainty(first, floor), horizon)
    none = (1 - floor) ** horizon
    assert found.method == "over all histories"
    assert (found.c1, found.error) == (floor, 0.0)
    assert found.c2 == pytest.approx(1 - (1 - first) ** horizon)
    assert found.c3 == pytest.approx((1 - none) / floor + 1)
    assert found.c3_tight == pytest.approx((1 - floor) / floor * (1 - none))
    assert found.c3 <= 1 / floor + 1


def test_no_choice_of_chances_by_the_history_does_worse_than_the_bound():
    """The best that a player can make of the maximum, by dynamic programming over what was reached and rounds to go."""
    chances = np.linspace(0.2, 0.9, 36)
    for extra, name in ((0.0, "c3"), (1.0, "c3_tight")):
        reached = np.append(0.0, np.sort(1 / chances - extra))
        value = reached.copy()
        for _ in range(6):
            raised = np.searchsorted(reached, np.maximum.outer(reached, 1 / chances - extra))
            value = (chances * value[raised] + (1 - chances) * value[:, None]).max(axis=1)
        bound = getattr(constants(kb.Certainty(0.9, 0.2), 6), name)
        assert value[0] == pytest.approx(bound - (1 if name == "c3" else 0))


# ---------------------------------------------------------------- what must always hold

CHANCE = st.floats(0.01, 1.0)
WEIGHTS = st.lists(st.floats(0.05, 1.0), min_size=1, max_size=4)
BERNOULLIS = CHANCE.map(kb.Bernoulli)
GAUSSIANS = st.builds(kb.Gaussian, st.floats(-1.0, 2.0), st.floats(0.25, 3.0))


def categorical(weights, values) -> kb.Categorical:
    support = [*values[: len(weights)], 1.0]
    shares = [*weights, 0.5]
    return kb.Categorical([share / math.fsum(shares) for share in shares], support)


CATEGORICALS = st.builds(
    categorical, WEIGHTS, st.lists(st.floats(-3.0, 3.0), min_size=4, max_size=4)
)
PLAIN = st.one_of(
    BERNOULLIS,
    GAUSSIANS,
    CATEGORICALS,
    st.builds(kb.exploration.RootExponential, st.floats(0, 2), st.floats(0.5, 3)),
)
MIXTURES = st.builds(lambda p, a, b: kb.Mixture((p, 1 - p), (a, b)), CHANCE, PLAIN, PLAIN)
LAWS = st.one_of(PLAIN, MIXTURES)
SCHEDULES = st.lists(LAWS, min_size=1, max_size=4)


@pytest.mark.thorough
@settings(max_examples=40)
@given(SCHEDULES, st.integers(1, 3000))
def test_the_constants_keep_their_order(laws, horizon):
    found, longer = (
        constants(lambda t: laws[t % len(laws)], T) for T in (horizon, 2 * horizon + 7)
    )
    used = {laws[t % len(laws)] for t in range(1, horizon + 1)}
    slack = 1 + 1e-9
    widest = max(law.mean_abs / law.optimism for law in used)
    assert found.c1 == pytest.approx(min(law.optimism for law in used))
    assert found.c2 * slack >= max(law.mean_abs for law in used)
    assert found.c3 * slack >= 2
    assert found.c3 * slack >= found.c2 + max(law.mean_abs for law in used)
    assert found.c3 * slack >= 2 * widest
    assert found.c3_tight <= found.c3 * slack
    if all(law.expectation >= 0 for law in used):
        assert found.c3_tight <= (found.c3 - widest) * slack + 1e-12
    assert longer.c2 * slack >= found.c2
    assert longer.c3 * slack >= found.c3
    assert longer.c3_tight * slack + 1e-12 >= found.c3_tight
    assert found.error == 0


@settings(max_examples=30)
@given(st.floats(0.2, 1e6), st.integers(1, 10**9))
def test_gaussian_weights_stay_below_the_maximal_inequality(scale, horizon):
    found = constants(kb.Gaussian(0.0, scale), horizon)
    assert found.c2 <= scale * math.sqrt(2 * math.log(2 * horizon))
    assert found.c2 >= scale * 0.79


@pytest.mark.thorough
@settings(max_examples=25)
@given(GAUSSIANS, CATEGORICALS, st.floats(1.0, 1e4), st.integers(1, 10**6))
def test_scaled_weights_scale_c2(gaussian, table, c, horizon):
    scaled = (
        kb.Gaussian(c * gaussian.mean, c * gaussian.scale),
        kb.Categorical(table.weights, [c * v for v in table.values]),
    )
    both = constants(lambda t: (gaussian, table)[t % 2], 50), constants(lambda t: scaled[t % 2], 50)
    assert both[1].c2 == pytest.approx(c * both[0].c2, rel=1e-10)
    for law, wider in zip((gaussian, table), scaled, strict=True):
        assert constants(wider, horizon).c2 == pytest.approx(
            c * constants(law, horizon).c2, rel=1e-10
        )


# ---------------------------------------------------------------- simulation

SIMULATED = {
    "gaussian": GAUSSIAN,
    "mixture": MIXTURE,
    "negative categories": EVEN_HANDED,
    "shifted": kb.Gaussian(-0.5, 1.5),
    "root exponential": kb.exploration.RootExponential(0.4, 2.0),
    "student": stats.t(5),
    "binomial": stats.binom(3, 0.4, loc=-1),
    "the paper's schedule": paper(12),
    "decay": kb.Decay(first=0.5, power=0.3, floor=0.1),
    "all together": lambda t: MIXED[t % 5],
}


@pytest.mark.parametrize("law", SIMULATED.values(), ids=SIMULATED)
def test_the_computed_constants_are_the_simulated_ones_within_four_standard_errors(law):
    horizon, samples = 12, 8000
    found, drawn = (
        constants(law, horizon),
        constants(law, horizon, method="simulated", samples=samples, seed=5),
    )
    laws = Exploration.of(law).counts(horizon)
    maxima = simulate_maxima(laws, found.c1, samples, kb.Streams(6).generator(0))
    errors = maxima.std(axis=1, ddof=1) / math.sqrt(samples)
    widest = max(one.mean_abs / one.optimism for one in laws)
    expected = np.array([found.c2, (found.c3 - widest) * found.c1, found.c3_tight * found.c1])
    assert (abs(maxima.mean(axis=1) - expected) <= 4 * errors + 1e-12).all()
    assert drawn.method == "simulated"
    for name in ("c2", "c3", "c3_tight"):
        assert abs(getattr(drawn, name) - getattr(found, name)) <= 4 * drawn.error + 1e-12
    assert drawn.error == pytest.approx(max(errors / [1, found.c1, found.c1]), rel=0.25)


def test_a_simulation_is_repeated_by_its_seed_and_sharper_with_more_samples():
    first, again, other = (
        constants(GAUSSIAN, 50, method="simulated", samples=500, seed=s) for s in (1, 1, 2)
    )
    assert first == again
    assert first != other
    sharper = constants(GAUSSIAN, 50, method="simulated", samples=8000)
    assert sharper.error == pytest.approx(first.error / 4, rel=0.25)
    usual = constants(UCB, 50, method="simulated")
    assert (usual.c2, usual.c3, usual.error) == (1.0, 2.0, 0.0)


class Trembling:
    """N(0, 1), whose distribution function was looked up with an error of a hundredth."""

    def cdf(self, x):
        return min(max(stats.norm.cdf(x) + 1e-2 * math.sin(1e5 * x), 0.0), 1.0)

    def ppf(self, u):
        return stats.norm.ppf(u)


class HalfKnown:
    """|N(0, 1)|, whose distribution function is not a number below zero."""

    def cdf(self, x):
        return 2 * special.ndtr(x) - 1 if x >= 0 else math.nan

    def ppf(self, u):
        return special.ndtri((1 + np.asarray(u)) / 2)[()]


class Rounded:
    """Any law, its tail rounded like 1 - cdf."""

    def __init__(self, law):
        self.cdf, self.ppf = law.cdf, law.ppf


@pytest.mark.thorough
@pytest.mark.parametrize(
    "law", [stats.t(1.05), stats.t(1.2), stats.t(1.5), stats.pareto(1.5), stats.lognorm(3.0)]
)
@pytest.mark.parametrize("horizon", [1, 1000, 10**6])
def test_a_heavy_tail_with_few_digits_says_how_far_it_may_be_off(law, horizon):
    found, right = constants(Rounded(law), horizon), constants(law, horizon)
    assert found.method == "quadrature"
    assert abs(found.c2 - right.c2) <= 6 * found.error + 1e-6 * right.c2
    assert abs(found.c3 - right.c3) <= 6 * found.error + 1e-6 * right.c3 + 1e-4 * right.c3
    assert found.error < 1e-3 * right.c3
    assert right.error == 0


@pytest.mark.parametrize("law", [Trembling(), HalfKnown()])
def test_what_cannot_be_integrated_is_simulated(law):
    found, right = constants(law, 40), constants(GAUSSIAN, 40)
    assert found.method == "simulated"
    assert abs(found.c2 - right.c2) <= 4 * found.error
    assert found.error > 0


def test_ever_new_laws_are_simulated_beyond_a_number(monkeypatch):
    monkeypatch.setattr(sys.modules["kernelbandits.theory.law_constants"], "MOST_LAWS", 9)
    few, many = (constants(lambda t: kb.Gaussian(0.0, 1 + 1 / t), horizon) for horizon in (9, 10))
    assert (few.method, many.method) == ("quadrature", "simulated")


# ---------------------------------------------------------------- laws from outside


class Logistic:
    """Only `cdf` and `ppf`, and only of numbers."""

    def cdf(self, x):
        return 1 / (1 + math.exp(-x)) if x > -700 else 0.0

    def ppf(self, u):
        return float(special.logit(u)) if np.ndim(u) == 0 else special.logit(u)


@dataclass(frozen=True)
class Laplace(kb.exploration.Law):
    """A law of the user's own: how to draw it, and its distribution function."""

    scale: float

    def draw(self, u):
        return float(stats.laplace.ppf(u, scale=self.scale))

    def cdf(self, x):
        tail = 0.5 * math.exp(-abs(x) / self.scale)
        return 1 - tail if x > 0 else tail


class Heavy:
    """Student's law with three degrees of freedom, its tail rounded like 1 - cdf."""

    def cdf(self, x):
        return stats.t.cdf(x, 3)

    def ppf(self, u):
        return stats.t.ppf(u, 3)


@pytest.mark.parametrize("horizon", [1, 1000, 10**6])
def test_a_law_with_no_more_than_cdf_and_ppf_will_do(horizon):
    for law, known, digits in (
        (Logistic(), stats.logistic(), 1e-8),
        (Laplace(0.7), stats.laplace(scale=0.7), 1e-8),
        (Heavy(), stats.t(3), 1e-6),
    ):
        found, right = constants(law, horizon), constants(known, horizon)
        assert (found.c1, found.c2, found.c3) == pytest.approx(
            (right.c1, right.c2, right.c3), rel=digits
        )
        assert found.c3_tight == pytest.approx(right.c3_tight, rel=digits)


class Lazy:
    """0 or 1 with probability 0.3 each, else uniform on [1, 2]."""

    def cdf(self, x):
        return 0.3 * (x >= 0) + 0.3 * (x >= 1) + 0.4 * min(max(x - 1, 0.0), 1.0)

    def ppf(self, u):
        return np.where(
            np.asarray(u) <= 0.3,
            0.0,
            np.where(np.asarray(u) <= 0.6, 1.0, 1 + (np.asarray(u) - 0.6) / 0.4),
        )[()]


@pytest.mark.thorough
def test_named_atoms_are_counted_exactly_and_others_are_found():
    named, unnamed = (
        constants(kb.exploration.Frozen(Lazy(), given_atoms=(0.0, 1.0)), 5),
        constants(Lazy(), 5),
    )
    size = 1 - 0.3**5 + area_between(lambda u: 1 - (0.6 + 0.4 * (u - 1)) ** 5, [1.0, 2.0])
    assert named.c1 == unnamed.c1 == pytest.approx(0.7)
    assert named.c2 == pytest.approx(size, rel=1e-12)
    assert unnamed.c2 == pytest.approx(size, rel=1e-9)


def test_a_law_that_cannot_be_hashed_is_refused_in_one_sentence():
    @dataclass
    class Loose(kb.exploration.Law):
        scale: float

    with pytest.raises(ValueError, match="constants needs laws that can be hashed, got"):
        constants(Loose(1.0), 10)


# ---------------------------------------------------------------- the integral itself


@pytest.mark.parametrize("edge", [0.5, 1.0, 0.7548776662466927, 2.0, 3.0, 1e-30, 1e30])
@pytest.mark.parametrize("breaks", [True, False])
def test_a_jump_is_found_wherever_it_is(edge, breaks):
    found = area(lambda u: np.where(u < edge, 1.0, 0.0), [edge] if breaks else [])
    assert found.value == pytest.approx(edge, rel=1e-11)
    assert found.usable
    assert found.remark == 0


@settings(max_examples=60)
@given(st.floats(-12, 12), st.floats(0.01, 0.99))
def test_two_unnamed_jumps_are_found(exponent, share):
    first, second = share * 10**exponent, 10**exponent
    found = area(lambda u: 0.5 * (u < first) + 0.5 * (u < second))
    assert found.value == pytest.approx((first + second) / 2, rel=1e-9)


def test_what_does_not_fall_has_no_integral():
    assert area(lambda u: np.where(u < 1, 0.2, np.where(u < 1e9, 0.8, 0.0))) is UNKNOWN
    assert area(lambda u: np.full_like(u, 0.5)) is UNKNOWN
    assert area(lambda u: np.full_like(u, math.nan)) is UNKNOWN
    assert area(lambda u: np.zeros_like(u)).value == 0


def test_a_power_of_one_is_infinite_and_a_power_just_above_is_not():
    assert area(lambda u: np.minimum(1.0, 1 / u)).value == math.inf
    assert area(lambda u: np.minimum(1.0, u**-1.01)).value == pytest.approx(101, rel=1e-9)
    assert area(lambda u: np.where(u < 1e9, np.minimum(1.0, 1 / u), 0.0)).value == pytest.approx(
        1 + math.log(1e9), rel=1e-9
    )


@pytest.mark.parametrize("law", [stats.uniform(0, 1), stats.beta(2, 2), stats.truncnorm(-1, 1)])
def test_a_density_that_ends_at_one_has_no_optimism(law):
    with pytest.raises(ValueError, match=r"a regret bound needs C1 = P\(w >= 1\) > 0"):
        constants(law, 10)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        (("a", 1, 2, 3, 5), r"Constants needs c1 in \(0, 1\], got 'a'"),
        ((0, 1, 2, 3, 5), r"Constants needs c1 in \(0, 1\], got 0"),
        ((0.5, -1, 2, 3, 5), "Constants needs c2 >= 0, got -1"),
        ((0.5, 1, math.nan, 3, 5), "Constants needs c3 >= 0, got nan"),
        ((0.5, 1, 2, None, 5), "Constants needs c3_tight >= 0, got None"),
        ((0.5, 1, 2, 3, 0), "Constants needs a whole number horizon >= 1, got 0"),
        ((0.5, 1, 2, 3, 5, -1.0), "Constants needs error >= 0, got -1.0"),
    ],
    ids=str,
)
def test_constants_are_numbers_that_can_be(fields, sentence):
    with pytest.raises(ValueError, match=sentence):
        Constants(*fields)
    assert Constants(0.5, math.inf, math.inf, math.inf, 5).c2 == math.inf


def test_a_function_that_is_no_schedule_is_refused_in_one_sentence():
    with pytest.raises(
        ValueError, match="constants needs a schedule t -> law, got <built-in function len>: "
    ):
        constants(len, 5)


def test_certainty_is_computed_over_all_histories_and_not_simulated():
    with pytest.raises(
        ValueError,
        match="Certainty needs method 'auto', for its laws follow the history, got 'simul",
    ):
        constants(kb.Certainty(0.5, 0.1), 100, method="simulated")


@pytest.mark.parametrize("law", [kb.Gaussian(0.0, 1e150), kb.Gaussian(1e200, 1.0)], ids=str)
def test_weights_beyond_all_measure_are_refused_at_once(law):
    with pytest.raises(
        ValueError,
        match=r"constants needs E\|w\| <= 1e\+140 of a law that is not discrete, got Gauss",
    ):
        constants(law, 10**6)
    assert constants(kb.Gaussian(0.0, 1e139), 10).method == "quadrature"


@pytest.mark.parametrize("atoms", [("a",), (math.nan,), 1.0, "1", None])
def test_the_atoms_of_a_foreign_law_are_numbers(atoms):
    with pytest.raises(ValueError, match="Frozen needs atoms that are finite numbers, got"):
        kb.exploration.Frozen(stats.norm(), atoms)


def test_a_coin_needs_no_row_for_its_zero():
    """Three coins by trying all outcomes: C2 = P(any), C3 = E max w/p + 1."""
    p = [0.5, 0.3, 0.2]
    outcomes = [
        (w, math.prod(q if one else 1 - q for one, q in zip(w, p, strict=True)))
        for w in product((0, 1), repeat=3)
    ]
    found = constants(lambda t: kb.Bernoulli(p[t - 1]), 3)
    raised = sum(
        chance * max(one / q for one, q in zip(w, p, strict=True)) for w, chance in outcomes
    )
    excess = sum(
        chance * max(max(one - q, 0) / q for one, q in zip(w, p, strict=True))
        for w, chance in outcomes
    )
    assert (found.c1, found.c2) == pytest.approx((0.2, 1 - 0.5 * 0.7 * 0.8))
    assert (found.c3, found.c3_tight) == pytest.approx((1 + raised, excess))
