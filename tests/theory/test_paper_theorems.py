"""The theorems one by one: what each says of the constants is no less than the truth, but for one known slip."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import kernelbandits as kb
from kernelbandits.exploration import Certainty, Decay, RootExponential, Step
from kernelbandits.theory import constants, linear_gain, sublinear, theorems
from kernelbandits.theory.paper_theorems import lower_tail, share_and_scale, sub_gaussian_scale
from kernelbandits.theory.sublinearity import law_exponent, measure_exponent

UCB = kb.PointMass(1.0)
NORMAL = kb.Gaussian()
WORLD = {"noise_scale": 1.0, "norm_bound": 1.0}
SPARSE = kb.Mixture((0.99, 0.01), (UCB, kb.Gaussian(0.0, 0.01)))
"""The law on which the printed mixture theorem fails (E5)."""

chances = st.floats(0.01, 1.0)
horizons = st.integers(1, 3000)


def named(exploration, horizon=1000, dimension=None):
    return {theorem.name: theorem for theorem in theorems(exploration, horizon, dimension)}


def expected_method(theorem, exact):
    """Exact, or bounded by the theorem, and that what is printed is false."""
    if theorem.name == "generic":
        return exact.method
    return "bounded by the theorem" + ("" if theorem.holds else ", which is false (E5)")


def check_dominates(exploration, horizon, names):
    """Each theorem named applies, and its C1 is below, its C2 and C3 above the exact ones."""
    found, exact = named(exploration, horizon), constants(exploration, horizon)
    assert set(names) <= set(found)
    for theorem in found.values():
        told = theorem.constants
        assert told.horizon == horizon
        assert told.method == expected_method(theorem, exact)
        if theorem.holds:
            assert told.c1 <= exact.c1 * (1 + 1e-12)
            assert told.c2 >= exact.c2 * (1 - 1e-12)
            assert told.c3 >= exact.c3 * (1 - 1e-12)
            assert told.c3_tight >= exact.c3_tight * (1 - 1e-12)


# ---------------------------------------------------------------- domination


@given(st.lists(st.floats(0.01, 0.99), min_size=1, max_size=4), horizons)
def test_what_is_said_of_bernoulli_schedules_is_no_less_than_the_truth(odds, horizon):
    laws = [kb.Bernoulli(p) for p in odds]
    check_dominates(lambda t: laws[t % len(laws)], horizon, ["generic", "Simple-Bernoulli"])


@pytest.mark.thorough
@given(st.floats(0.2, 5.0), st.floats(0.2, 5.0), horizons)
def test_what_is_said_of_gaussian_laws_is_no_less_than_the_truth(first, second, horizon):
    names = ["generic", "sub-Gaussian", "Simple-Gaussian"]
    check_dominates(
        Step(kb.Gaussian(0.0, first), kb.Gaussian(0.0, second), horizon // 2), horizon, names
    )


@given(st.lists(st.floats(0.05, 1.0), min_size=1, max_size=6), horizons)
def test_what_is_said_of_categorical_laws_is_no_less_than_the_truth(odds, horizon):
    law = kb.Categorical(np.array(odds) / sum(odds))
    check_dominates(law, horizon, ["generic", "Simple-Categorical"])


@given(st.floats(1.0, 9.0), st.floats(0.2, 9.0), horizons)
def test_what_is_said_of_bounded_laws_of_mean_zero_is_no_less_than_the_truth(above, below, horizon):
    law = kb.Categorical(
        (below / (above + below), above / (above + below)), support=(above, -below)
    )
    check_dominates(law, horizon, ["generic", "sub-Gaussian"])
    assert sub_gaussian_scale(law) == pytest.approx((above + below) / 2)


@pytest.mark.thorough
@settings(max_examples=50)
@given(chances, st.floats(0.01, 4.0), chances, st.floats(0.01, 4.0), st.integers(1, 500))
def test_what_is_said_of_mixtures_is_no_less_than_the_truth(rho, sigma, other, second, horizon):
    laws = [
        kb.Mixture((p, 1 - p), (UCB, kb.Gaussian(0.0, s)))
        for p, s in ((rho, sigma), (other, second))
    ]
    check_dominates(
        Step(*laws, horizon // 2), horizon, ["generic", "mixture", "mixture, as printed"]
    )


def test_what_is_said_of_mixed_schedules_is_no_less_than_the_truth():
    check_dominates(Step(UCB, kb.Bernoulli(0.3), 10), 50, ["Simple-Bernoulli"])
    check_dominates(Step(SPARSE, kb.Bernoulli(0.3), 10), 50, ["mixture"])
    check_dominates(Step(NORMAL, kb.Categorical((0.5, 0.5), (-2.0, 2.0)), 10), 50, ["sub-Gaussian"])


# ---------------------------------------------------------------- the numbers


def test_the_printed_mixture_theorem_is_false_and_the_corrected_one_is_not():
    """E5: rho = 0.99, sigma = 0.01, T = 1000."""
    exact, found = constants(SPARSE, 1000), named(SPARSE)
    assert exact.c3 == pytest.approx(2.0102, abs=5e-5)
    printed, right = found["mixture, as printed"], found["mixture"]
    assert printed.constants.c3 == pytest.approx(1.0614, abs=5e-5)
    assert not printed.holds
    assert "E5" in printed.statement
    assert right.holds
    assert exact.c3 <= right.constants.c3 <= 1.02 * exact.c3
    assert (
        right.constants.c2
        == printed.constants.c2
        == pytest.approx(1 + 0.01 * math.sqrt(2 * math.log(2000)))
    )


def test_the_corrected_mixture_is_written_out():
    law = kb.Mixture((0.25, 0.75), (UCB, kb.Gaussian(0.0, 2.0)))
    told = named(law, 100)["mixture"].constants
    most = 1 + 2 * math.sqrt(2 * math.log(200))
    assert told.c1 == 0.25
    assert told.c3 == pytest.approx(
        4 * most + (0.25 + 0.75 * 2 * math.sqrt(2 * math.log(2))) / 0.25
    )


def test_simple_gaussian_is_the_sub_gaussian_theorem_with_the_papers_lower_bound_of_c1():
    found = named(NORMAL)
    exact, paper = found["sub-Gaussian"].constants, found["Simple-Gaussian"].constants
    assert (exact.c1, paper.c1) == (
        pytest.approx(0.158655, abs=5e-7),
        pytest.approx(0.120985, abs=5e-7),
    )
    roots = math.sqrt(2 * math.log(2000)), math.sqrt(2 * math.log(2))
    assert exact.c2 == paper.c2 == pytest.approx(roots[0])
    assert exact.c3 == pytest.approx(sum(roots) / exact.c1)
    assert paper.c3 == pytest.approx(sum(roots) / paper.c1)


def test_the_theorems_of_the_simple_rules_are_the_papers():
    told = named(UCB)["Simple-UCB"].constants
    assert (told.c1, told.c2, told.c3) == (1, 1, 2)
    told = named(Step(kb.Bernoulli(0.5), kb.Bernoulli(0.25), 500))["Simple-Bernoulli"].constants
    assert (told.c1, told.c2, told.c3) == (0.25, 1, 5)
    told = named(kb.Categorical((0.25,) * 4))["Simple-Categorical"].constants
    assert (told.c1, told.c2, told.c3) == (0.25, 1, 8)


@given(st.floats(0.05, 30.0))
def test_the_lower_tail_is_one(z):
    assert 0 < lower_tail(z) <= 0.5 * math.erfc(z / math.sqrt(2))


def test_the_linear_theorem_brings_its_own_gain():
    theorem = named(UCB, 1000, 3)["linear"]
    bound = theorem.bound(1000, 77.0, **WORLD)
    assert (
        bound.information_gain
        == theorem.bound(1000, **WORLD).information_gain
        == 1.5 * math.log1p(1000 / 3)
    )
    assert bound.constants == constants(UCB, 1000)
    scaled = theorem.bound(1000, ridge=0.5, largest=4.0, **WORLD)
    assert scaled.information_gain == 1.5 * math.log1p(8000 / 3)


@given(st.integers(1, 5), st.integers(1, 60), st.floats(0.05, 5.0), st.integers(0, 999))
def test_no_points_of_the_ball_have_more_than_the_linear_gain(d, horizon, ridge, seed):
    rng = np.random.default_rng(seed)
    points = rng.standard_normal((horizon, d))
    points *= (1.5 * rng.random(horizon) ** 0.1 / np.linalg.norm(points, axis=1))[:, None]
    gain = np.linalg.slogdet(np.eye(d) + points.T @ points / ridge)[1] / 2
    assert gain <= linear_gain(d, horizon, ridge, 1.5**2) * (1 + 1e-12)


def test_the_linear_gain_is_reached_on_an_even_basis():
    gain = 3 / 2 * math.log1p(4 / 0.7)
    assert linear_gain(3, 12, 0.7) == pytest.approx(gain, rel=1e-14)


def test_a_theorem_feeds_its_constants_to_the_generic_bound():
    theorem = named(NORMAL)["Simple-Gaussian"]
    bound = theorem.bound(1000, 20.0, delta=0.01, ridge=2.0, largest=3.0, **WORLD)
    again = kb.theory.regret_bound(
        theorem.constants, 1000, 20.0, delta=0.01, ridge=2.0, largest=3.0, **WORLD
    )
    assert bound == again
    assert (
        bound.repaired
        > named(NORMAL)["generic"]
        .bound(1000, 20.0, delta=0.01, ridge=2.0, largest=3.0, **WORLD)
        .repaired
    )


# ---------------------------------------------------------------- which apply

GENERIC = {"generic"}


@pytest.mark.parametrize(
    ("exploration", "names"),
    [
        (UCB, {"Simple-UCB"}),
        (kb.Bernoulli(1.0), {"Simple-UCB"}),
        (kb.PointMass(2.0), set()),
        (kb.Bernoulli(0.5), {"Simple-Bernoulli"}),
        (NORMAL, {"sub-Gaussian", "Simple-Gaussian"}),
        (kb.Gaussian(0.1, 1.0), set()),
        (kb.Categorical((0.25,) * 4), {"Simple-Categorical"}),
        (kb.Categorical((0.0, 0.5, 0.5)), set()),
        (kb.Categorical((0.5, 0.5), support=(0.4, 1.0)), set()),
        (kb.Categorical((0.5, 0.5), support=(-1.0, 1.0)), {"sub-Gaussian"}),
        (RootExponential(), set()),
        (SPARSE, {"mixture", "mixture, as printed"}),
        (kb.Mixture((0.5, 0.5), (NORMAL, kb.Gaussian(0.0, 2.0))), {"sub-Gaussian"}),
        (kb.Mixture((0.5, 0.5), (UCB, kb.Gaussian(1.0, 2.0))), set()),
        (
            kb.Mixture((0.5, 0.5, 0.0), (UCB, NORMAL, RootExponential())),
            {"mixture", "mixture, as printed"},
        ),
        (Step(UCB, NORMAL, 3), set()),
        (Certainty(0.5, 0.1), set()),
        (Step(NORMAL, SPARSE, 3), set()),
    ],
    ids=lambda value: (
        " and ".join(sorted(value)) or "none" if isinstance(value, set) else str(value)
    ),
)
def test_those_theorems_are_given_that_apply_in_every_round(exploration, names):
    assert set(named(exploration)) == GENERIC | names
    assert set(named(exploration, dimension=2)) == GENERIC | {"linear"} | names


def test_a_mixture_of_mixtures_is_taken_apart():
    inner = kb.Mixture((0.5, 0.5), (UCB, kb.Gaussian(0.0, 3.0)))
    assert share_and_scale(kb.Mixture((0.4, 0.6), (inner, kb.Bernoulli(0.5)))) == (
        pytest.approx(0.5),
        3.0,
    )
    assert share_and_scale(kb.Mixture((1.0, 0.0), (UCB, RootExponential()))) == (1.0, 0.0)


@pytest.mark.parametrize("law", [kb.PointMass(0.9), kb.Bernoulli(0.0), kb.Gaussian(0.0, 0.0)])
def test_a_law_that_is_never_optimistic_has_no_theorem(law):
    with pytest.raises(ValueError, match="C1 = P"):
        theorems(law, 10)


def test_what_no_theorem_speaks_of_is_refused():
    for bad in (0, 1.5, "9", None):
        with pytest.raises(ValueError, match="theorems needs a whole number horizon >= 1, got"):
            theorems(UCB, bad)
    with pytest.raises(ValueError, match="theorems needs a whole number dimension >= 1, got 0"):
        theorems(UCB, 10, 0)
    with pytest.raises(ValueError, match="history"):
        theorems(lambda t, posterior: UCB, 10)
    with pytest.raises(ValueError, match="theorem generic needs an information gain, got None"):
        theorems(UCB, 10)[0].bound(10, **WORLD)
    with pytest.raises(ValueError, match="regret_bound needs constants at T = 11, got 10"):
        theorems(UCB, 10)[0].bound(11, 5.0, **WORLD)
    for bad in (0, -1.0, math.nan, "1"):
        with pytest.raises(ValueError, match="linear_gain needs ridge > 0, got"):
            linear_gain(3, 10, bad)


# ---------------------------------------------------------------- sublinearity


@pytest.mark.parametrize("d", [1, 2, 3, 5, 7])
@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_a_matern_kernel_leaves_room_exactly_where_nu_exceeds_half_the_dimension(d, nu):
    found = sublinear(kb.Matern(0.2, nu), d, UCB)
    assert found.holds == (nu > d / 2)
    assert found.margin == pytest.approx(0.5 - d / (2 * nu + d))
    assert ("Not sublinear for any law: at a fixed ridge nu > d/2" in found.sentence) == (
        nu <= d / 2
    )


def test_a_bound_from_constants_that_are_false_says_so():
    printed = named(SPARSE, 1000)["mixture, as printed"].bound(
        1000, 20.0, noise_scale=1, norm_bound=1
    )
    assert "C2 and C3 are bounded by the theorem, which is false (E5)" in printed.sentence


def test_the_condition_is_said_in_a_sentence():
    assert sublinear(kb.Matern(0.2, 2.5), 2, NORMAL).sentence == (
        "Sublinear: Matern(lengthscale=0.2, nu=2.5) in dimension 2 needs C2 + C3 = o(T^0.214 / log^0.714 T), "
        "and here C2 + C3 grows "
        "like a power of log T at most (finitely many laws, all with light tails); the bound grows like T^0.786, "
        "up to logarithms."
    )
    assert sublinear(kb.Matern(0.2, 0.5), 2, UCB).sentence == (
        "Not sublinear for any law: at a fixed ridge nu > d/2 = 1 is needed, got nu = 0.5 (E8)."
    )
    slow = sublinear(kb.RBF(0.2), 2, Decay(1.0, 0.5, 0.0))
    assert not slow.holds
    assert slow.sentence.startswith(
        "Not sublinear: RBF(lengthscale=0.2) in dimension 2 needs C2 + C3 = o(T^0.5 / log^3 T), and"
    )
    rough = sublinear(kb.Matern(0.2, 0.5) + kb.Linear(), 3, UCB)
    assert "nu > d/2 = 1.5 is needed, got nu = 0.5 (E8)" in rough.sentence


@pytest.mark.parametrize(
    ("exploration", "exponent"),
    [
        (UCB, 0.0),
        (NORMAL, 0.0),
        (RootExponential(), 0.0),
        (SPARSE, 0.0),
        (Step(kb.Bernoulli(0.5), kb.Bernoulli(0.25), 500), 0.0),
        (Step(kb.Bernoulli(0.0), kb.Bernoulli(0.25), 0), 0.0),
        (Decay(1.0, 0.5, 0.05), 0.0),
        (Decay(1.0, 0.3, 0.0), 0.3),
        (Decay(1.0, 2.0, 0.0), 1.0),
        (Certainty(0.5, 0.05), 0.0),
    ],
    ids=str,
)
def test_the_exponent_of_a_known_law_is_known(exploration, exponent):
    found, source = law_exponent(exploration)
    assert found == exponent
    assert "measured" not in source


@pytest.mark.parametrize("power", [0.2, 0.5, 0.8, 1.0, 1.5])
def test_a_decay_without_floor_grows_as_it_is_said_to(power):
    """C3 by its own formula, sum_j prod_{i < j} (1 - p_i) + 1 over falling 1/p: the last rounds come first."""
    growth = []
    for horizon in (10**5, 10**6):
        p = np.arange(1, horizon + 1, dtype=float)[::-1] ** -power
        growth.append(1 + np.exp(np.append(0.0, np.cumsum(np.log1p(-p[:-1])))).sum())
    assert math.log10(growth[1] / growth[0]) == pytest.approx(
        law_exponent(Decay(1.0, power, 0.0))[0], abs=0.04
    )


def test_a_schedule_of_unknown_growth_is_measured_and_labelled_so(monkeypatch):
    monkeypatch.setattr("kernelbandits.theory.sublinearity.TO_OF_SCHEDULE", 10**4)
    exponent, source = law_exponent(lambda t: kb.Bernoulli(t**-0.4))
    assert source == "measured between T = 1e+03 and 1e+04"
    assert exponent == pytest.approx(0.4, abs=0.05), "terms of lower order bend the slope"
    assert measure_exponent(lambda t: kb.Bernoulli(0.5), 10**4) == 0.0


@pytest.mark.parametrize(
    "law", [stats.t(3), stats.weibull_min(0.5)], ids=["t(3)", "weibull_min(0.5)"]
)
def test_a_measured_exponent_proves_nothing_and_the_sentence_says_so(law):
    found = sublinear(kb.RBF(0.2), 2, law)
    assert not found.is_proved
    assert found.sentence.startswith("Measured, not proved: ")
    assert sublinear(kb.RBF(0.2), 2, NORMAL).is_proved
    assert sublinear(kb.Matern(0.2, 0.5), 2, law).is_proved, "no law can help"


@pytest.mark.thorough
def test_heavy_tails_are_measured():
    """P(|w| > u) = u^-3 from 1 on: E max grows like T^(1/3)."""

    class Pareto:
        def cdf(self, x):
            return 1 - x**-3.0 if x > 1 else 0.0

        def sf(self, x):
            return x**-3.0 if x > 1 else 1.0

        def ppf(self, u):
            return (1 - u) ** (-1 / 3)

    exponent, source = law_exponent(Pareto())
    assert source.startswith("measured")
    assert exponent == pytest.approx(1 / 3, abs=0.02)


def test_what_has_no_condition_is_refused():
    with pytest.raises(ValueError, match="C1 = P"):
        sublinear(kb.RBF(0.2), 2, kb.Bernoulli(0.0))
    with pytest.raises(ValueError, match="C1 = P"):
        sublinear(kb.RBF(0.2), 2, Decay(0.0, 0.5, 0.0))
    with pytest.raises(ValueError, match="C1 = P"):
        sublinear(kb.RBF(0.2), 2, Step(UCB, kb.PointMass(0.0), 10))
    with pytest.raises(ValueError, match="C1 = P"):
        sublinear(kb.RBF(0.2), 2, Certainty(0.5, 0.0))
    with pytest.raises(ValueError, match="history"):
        sublinear(kb.RBF(0.2), 2, lambda t, posterior: UCB)
    with pytest.raises(ValueError, match="a kernel"):
        sublinear("rbf", 2, UCB)
    with pytest.raises(ValueError, match="a whole number dimension"):
        sublinear(kb.RBF(0.2), 0, UCB)
