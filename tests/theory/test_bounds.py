"""Regret bounds: as printed, repaired and tightened; safe at both ends of the scale, plain where they say nothing."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.theory import Constants, InformationGain, first_useful, regret_bound
from kernelbandits.theory.bounds import LABELS
from kernelbandits.theory.setting import potential_factor

UCB = kb.PointMass(1.0)
PAPER = {"noise_scale": 1.0, "norm_bound": 1.0}


def law_constants(c2=1.0, c3=2.0, tight=0.5, horizon=1000) -> Constants:
    return Constants(1.0, c2, c3, tight, horizon)


# ---------------------------------------------------------------- the numbers


def test_the_golden_bounds_of_simple_ucb():
    bound = regret_bound(UCB, 1000, 20.0, **PAPER)
    assert bound.printed == pytest.approx(12897.46, abs=5e-3)
    assert bound.repaired == pytest.approx(9538.22, abs=5e-3)
    assert (bound.trivial, bound.delta, bound.value) == (2000.0, 1 / 2000, 2000.0)
    assert bound.vacuous


@given(
    st.integers(1, 10**6),
    st.floats(0, 1e3),
    st.floats(0, 50),
    st.floats(1e-3, 50),
    st.floats(0, 9),
    st.floats(0, 9),
)
def test_at_ridge_one_each_bound_is_its_formula(horizon, gain, r, d, c2, c3):
    """Written out afresh; the repaired one is E1 to the letter."""
    bound = regret_bound(
        law_constants(c2, c3, c3 / 3, horizon), horizon, gain, noise_scale=r, norm_bound=d
    )
    t, delta = horizon, min(1, 1 / (2 * d * horizon))
    base, half = np.sqrt(t * gain), np.sqrt(2 * r**2 * gain + 2 * r**2 * np.log(2)) + d
    last = np.sqrt(2 * r**2 * gain + 2 * r**2 * max(0, np.log(2 * t * d**2))) + d
    sure = np.sqrt(2 * r**2 * gain + 2 * r**2 * np.log(1 / delta)) + d
    assert bound.printed == pytest.approx(
        2 * (c2 + 2 * c3) * half * base + 2 * last * base + 1, rel=1e-10
    )
    assert bound.repaired == pytest.approx(
        (1 + c2 + c3) * sure * np.sqrt(4 * t * gain) + 2 * d * t * delta, rel=1e-10
    )
    sharp = np.sqrt(2 / np.log(2) * t * gain)
    assert bound.tight == pytest.approx(
        (1 + c2 + c3 / 3) * sure * sharp + 2 * d * t * delta, rel=1e-10
    )


@pytest.mark.parametrize("ridge", [0.05, 0.4, 1.0, 5.0])
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0])
def test_at_any_ridge_the_widths_played_add_up_to_no_more_than_the_bound_allows(ridge, scale):
    """sum_t g(x_t) of points really played, by dense linear algebra; points far apart leave little slack."""
    rng, kernel = np.random.default_rng(4), scale * kb.RBF(0.05)
    points = rng.random((60, 2))
    gram, r, d, delta = kernel(points, points), 0.7, 1.5, 0.01
    variances = [
        gram[t, t] - gram[t, :t] @ np.linalg.solve(gram[:t, :t] + ridge * np.eye(t), gram[:t, t])
        for t in range(60)
    ]
    log_det = np.linalg.slogdet(np.eye(60) + gram / ridge)[1]
    width = d + r / np.sqrt(ridge) * np.sqrt(2 * np.log(1 / delta) + log_det)
    bound = regret_bound(
        law_constants(0.0, 0.0, 0.0, 60),
        60,
        log_det / 2,
        noise_scale=r,
        norm_bound=d,
        ridge=ridge,
        largest=scale,
        delta=delta,
    )
    allowed = bound.tight - 2 * d * math.sqrt(scale) * 60 * delta
    assert width * np.sqrt(variances).sum() <= allowed <= bound.repaired
    assert allowed <= 1.2 * width * np.sqrt(variances).sum()


def test_at_a_small_ridge_the_factor_two_is_not_enough_and_the_repaired_bound_does_not_use_it():
    """d orthogonal arms pulled once at ridge 0.1: sum sd^2 / ridge = 10 d > 2 L = 2 d ln 11."""
    assert potential_factor(10.0) == pytest.approx(4.1703, abs=5e-5)
    ones = {"noise_scale": 0.0, "norm_bound": 1.0, "delta": 1e-9}
    bound = regret_bound(law_constants(0, 0, 0, 8), 8, 4 * math.log(11), ridge=0.1, **ones)
    assert bound.repaired == bound.tight >= 8.0
    assert 2 * math.sqrt(8 * 4 * math.log(11) * 0.1) < 8.0


@pytest.mark.parametrize(
    ("ratio", "factor"),
    [
        (0.0, 1.0),
        (1e-320, 1.0),
        (1.0, 1 / math.log(2)),
        (2.5128624172523394, 2.0),
        (math.inf, math.inf),
    ],
)
def test_the_potential_factor_is_one_at_zero_and_two_where_the_paper_stops(ratio, factor):
    assert potential_factor(ratio) == pytest.approx(factor, rel=1e-12)


@given(
    st.floats(1e-6, 1e6), st.floats(1e-6, 1e6), st.floats(1.01, 100), st.sampled_from([None, 0.01])
)
def test_units_do_not_matter(ridge, largest, factor, delta):
    """k -> s k with ridge -> s ridge and D -> D / sqrt(s) is the same problem."""
    given_at = {"noise_scale": 0.5, "delta": delta}
    left = regret_bound(
        law_constants(), 1000, 7.0, norm_bound=2.0, ridge=ridge, largest=largest, **given_at
    )
    scaled = {
        "norm_bound": 2 / math.sqrt(factor),
        "ridge": ridge * factor,
        "largest": largest * factor,
    }
    right = regret_bound(law_constants(), 1000, 7.0, **scaled, **given_at)
    for name in ("repaired", "tight", "trivial"):
        assert getattr(left, name) == pytest.approx(getattr(right, name), rel=1e-10)


def test_without_noise_the_bound_is_in_closed_form():
    bound = regret_bound(kb.Bernoulli(0.5), 400, 9.0, noise_scale=0.0, norm_bound=2.0)
    c2, c3, tight = bound.constants.c2, bound.constants.c3, bound.constants.c3_tight
    assert bound.repaired == pytest.approx((1 + c2 + c3) * 2 * 120 + 1)
    assert bound.tight == pytest.approx((1 + c2 + tight) * 2 * 60 * math.sqrt(2 / math.log(2)) + 1)
    assert bound.printed == pytest.approx(2 * (c2 + 2 * c3 + 1) * 2 * 60 + 1)


def test_without_information_only_the_leftover_remains():
    bound = regret_bound(UCB, 50, 0.0, **PAPER)
    assert (bound.printed, bound.repaired, bound.tight) == (1.0, 1.0, 1.0)
    assert not bound.vacuous


@given(st.floats(0, 30), st.floats(0.01, 9))
def test_the_tight_bound_is_never_above_the_repaired_one(gain, ridge):
    for law in (
        UCB,
        kb.Bernoulli(0.3),
        kb.Gaussian(),
        kb.Gaussian(1.0, 2.0),
        kb.Categorical((0.5, 0.5), (-1.0, 2.0)),
    ):
        bound = regret_bound(law, 30, gain, ridge=ridge, **PAPER)
        assert bound.tight <= bound.repaired * (1 + 1e-12)
        assert bound.value <= bound.trivial


def test_plain_ucb_pays_for_two_widths_and_no_more():
    """C2 = 1 and C3' = 0: the textbook 2 sum g, so no law is worse for being certain."""
    bound = regret_bound(UCB, 1000, 20.0, **PAPER)
    width = 1 + math.sqrt(2 * 20 + 2 * math.log(2000))
    assert bound.tight == pytest.approx(
        2 * width * math.sqrt(2 / math.log(2) * 1000 * 20) + 1, rel=1e-12
    )


# ---------------------------------------------------------------- order and extremes

VARIED = {
    "c2": st.floats(0, 1e6),
    "c3": st.floats(0, 1e6),
    "gain": st.floats(0, 1e6),
    "noise_scale": st.floats(0, 1e6),
    "norm_bound": st.one_of(st.floats(1e-300, 1e6), st.floats(1e-6, 1.0)),
    "horizon": st.integers(1, 10**9),
}


def bound_of(c2, c3, gain, noise_scale, norm_bound, horizon, delta):
    found = law_constants(c2, c3, c3, horizon)
    return regret_bound(
        found, horizon, gain, noise_scale=noise_scale, norm_bound=norm_bound, delta=delta
    )


@pytest.mark.thorough
@settings(max_examples=400)
@given(
    st.fixed_dictionaries(VARIED),
    st.sampled_from(sorted(VARIED)),
    st.data(),
    st.sampled_from([None, 0.5, 1e-9, 1.0]),
)
def test_every_bound_grows_with_each_of_its_arguments(base, name, data, delta):
    """D and T too, though delta depends on them: the leftover is min(1, 2 D T)."""
    other = base | {name: data.draw(VARIED[name])}
    low, high = sorted((base, other), key=lambda arguments: arguments[name])
    less, more = bound_of(**low, delta=delta), bound_of(**high, delta=delta)
    for field in ("printed", "repaired", "tight", "trivial", "value"):
        assert getattr(less, field) <= getattr(more, field) * (1 + 1e-12)


def test_the_leftover_does_not_jump_where_delta_reaches_one():
    """At 2 D T = 1, delta leaves 1 and the leftover stays at min(1, 2 D T)."""
    norms = np.linspace(0.4, 0.6, 41) / 100
    bounds = [
        regret_bound(law_constants(horizon=100), 100, 0.0, noise_scale=1, norm_bound=float(d))
        for d in norms
    ]
    np.testing.assert_allclose([b.repaired for b in bounds], np.minimum(1, 200 * norms), rtol=1e-12)
    np.testing.assert_allclose(
        [b.delta for b in bounds], np.minimum(1, 1 / (200 * norms)), rtol=1e-12
    )


@pytest.mark.thorough
@settings(max_examples=300)
@given(
    st.sampled_from([5e-324, 1e-300, 1e-8, 1.0, 1e150]),
    st.sampled_from([0.0, 5e-324, 1.0, 1e150]),
    st.sampled_from([0.0, 5e-324, 1.0, 1e308]),
    st.sampled_from([1, 1000, 10**100]),
    st.sampled_from([5e-324, 1e-150, 1.0, 1e308]),
    st.sampled_from([5e-324, 1.0, 1e308]),
    st.sampled_from([None, 5e-324, 0.5, 1]),
    st.sampled_from([0.0, 1.0, 1e308, math.inf]),
)
def test_no_size_of_the_arguments_gives_nan_or_an_error(
    norm, noise, gain, horizon, ridge, largest, delta, c3
):
    found = law_constants(1.0, c3, c3, horizon)
    sizes = {
        "noise_scale": noise,
        "norm_bound": norm,
        "ridge": ridge,
        "largest": largest,
        "delta": delta,
    }
    bound = regret_bound(found, horizon, gain, **sizes)
    numbers = [bound.printed, bound.repaired, bound.tight, bound.trivial, bound.delta, bound.value]
    assert all(number >= 0 for number in numbers)
    assert bound.delta <= 1
    assert bound.sentence.endswith(".")


def test_a_tiny_norm_bound_takes_no_root_of_a_negative_number():
    """Printed: ln(2 T D^2) < 0 for D < 1 / sqrt(2 T) (E3)."""
    bound = regret_bound(UCB, 1000, 0.0, noise_scale=1.0, norm_bound=1e-300)
    assert bound.repaired == bound.trivial == 2e-297
    assert bound.delta == 1.0
    assert bound.vacuous
    small = regret_bound(UCB, 1000, 20.0, noise_scale=1.0, norm_bound=1e-300)
    width = math.sqrt(40 + 2 * math.log(2))
    assert small.printed == pytest.approx(2 * (5 * width + math.sqrt(40)) * math.sqrt(20000) + 1)


def test_one_round_is_enough_for_a_bound():
    bound = regret_bound(UCB, 1, math.log(2) / 2, **PAPER)
    assert bound.vacuous
    assert bound.value == 2.0


# ---------------------------------------------------------------- what is refused

BAD = [math.nan, math.inf, -1.0, "1", None, True, [1.0]]


@pytest.mark.parametrize("name", ["noise_scale", "norm_bound", "ridge", "largest", "delta"])
@pytest.mark.parametrize("bad", BAD)
def test_a_setting_that_is_no_size_is_refused_by_name(name, bad):
    if (name, bad) == ("delta", None):
        return
    with pytest.raises(ValueError, match=f"regret_bound needs .*{name}.*, got"):
        regret_bound(UCB, 1000, 20.0, **(PAPER | {name: bad}))


@pytest.mark.parametrize("name", ["norm_bound", "ridge", "largest", "delta"])
def test_zero_is_refused_where_a_bound_divides_by_it(name):
    with pytest.raises(ValueError, match=f"regret_bound needs {name} > 0, got 0"):
        regret_bound(UCB, 1000, 20.0, **(PAPER | {name: 0}))


@pytest.mark.parametrize("bad", [1e151, 1e308])
@pytest.mark.parametrize("name", ["noise_scale", "norm_bound"])
def test_a_size_whose_square_overflows_is_refused(name, bad):
    with pytest.raises(ValueError, match=f"regret_bound needs {name} <= 1e"):
        regret_bound(UCB, 1000, 20.0, **(PAPER | {name: bad}))


@pytest.mark.parametrize("bad", [1.5, 2.0])
def test_a_delta_above_one_is_refused(bad):
    with pytest.raises(ValueError, match="a probability delta"):
        regret_bound(UCB, 1000, 20.0, delta=bad, **PAPER)


@pytest.mark.parametrize("bad", [*BAD, 0, 1.5])
def test_a_horizon_that_counts_no_rounds_is_refused(bad):
    with pytest.raises(ValueError, match="regret_bound needs a whole number horizon >= 1, got"):
        regret_bound(UCB, bad, 20.0, **PAPER)


@pytest.mark.parametrize("bad", BAD)
def test_a_gain_that_is_no_number_is_refused(bad):
    with pytest.raises(ValueError, match="regret_bound needs information_gain >= 0, got"):
        regret_bound(UCB, 1000, bad, **PAPER)


@pytest.mark.parametrize(
    "law", [kb.PointMass(0.5), kb.Bernoulli(0.0), kb.Categorical((1.0,), support=(0.9,))]
)
def test_a_law_that_is_never_optimistic_has_no_bound(law):
    with pytest.raises(ValueError, match="C1 = P"):
        regret_bound(law, 1000, 20.0, **PAPER)


@pytest.mark.parametrize("other", [999, 1001])
def test_constants_of_another_horizon_are_refused(other):
    with pytest.raises(ValueError, match=f"regret_bound needs constants at T = 1000, got {other}"):
        regret_bound(kb.theory.constants(UCB, other), 1000, 20.0, **PAPER)


@pytest.mark.parametrize("field", ["c2", "c3", "c3_tight"])
@pytest.mark.parametrize("bad", [-1.0, math.nan])
def test_constants_that_are_none_are_refused(field, bad):
    with pytest.raises(ValueError, match="needs"):
        regret_bound(dataclasses.replace(law_constants(), **{field: bad}), 1000, 20.0, **PAPER)


def test_a_gain_of_another_horizon_or_ridge_is_refused_and_a_fitting_one_counts_from_above():
    gain = InformationGain(5.0, 6.0, "because", 1000, 0.5)
    assert regret_bound(UCB, 1000, gain, ridge=0.5, **PAPER).information_gain == 6.0
    for horizon, ridge in ((999, 0.5), (1000, 1.0)):
        with pytest.raises(ValueError, match=f"a gain at T = {horizon} and ridge {ridge}, got"):
            regret_bound(UCB, horizon, gain, ridge=ridge, **PAPER)


# ---------------------------------------------------------------- what is said


def test_a_vacuous_bound_says_so():
    sentence = regret_bound(UCB, 1000, 20.0, **PAPER).sentence
    start = "Vacuous at T = 1000: the repaired bound, 9538 (tightened 4051), says no more than the trivial 2 D T = 2000."
    assert sentence == start


def test_a_bound_that_says_something_says_for_whom():
    bound = regret_bound(UCB, 10**6, 20.0, **PAPER)
    assert bound.sentence == (
        "If gamma_T <= 20 and the policy plays with delta = 5e-07, the expected regret after T = 1000000 rounds is "
        "at most 1.414e+05, "
        "7.07 % of the trivial 2 D T = 2e+06."
    )


def test_what_is_left_out_of_the_usual_sentence_is_said():
    simulated = dataclasses.replace(law_constants(), error=0.03, method="simulated")
    assert (
        "simulated, with a standard error of 0.03."
        in regret_bound(simulated, 1000, 20.0, **PAPER).sentence
    )
    assert (
        "2 D T sqrt(sup k) = 4000." in regret_bound(UCB, 1000, 20.0, largest=4.0, **PAPER).sentence
    )


def test_every_bound_has_one_label():
    bound = regret_bound(UCB, 1000, 20.0, **PAPER)
    assert bound.labels is LABELS
    assert list(LABELS) == ["printed", "repaired", "tight", "trivial"]
    assert all(isinstance(getattr(bound, name), float) for name in LABELS)
    assert LABELS["printed"] == "as printed; see errata E1-E3"


def linear_bound(law, d, horizon):
    return regret_bound(law, horizon, d / 2 * math.log1p(horizon / d), **PAPER)


@pytest.mark.thorough
@pytest.mark.parametrize("law", [UCB, kb.Bernoulli(0.5)])
def test_the_first_useful_horizon_is_the_first(law):
    found = first_useful(lambda horizon: linear_bound(law, 2, horizon))
    assert found is not None
    assert not linear_bound(law, 2, found).vacuous
    assert all(linear_bound(law, 2, horizon).vacuous for horizon in range(1, found))


def test_a_bound_that_is_never_useful_has_no_first_horizon():
    assert first_useful(lambda horizon: regret_bound(UCB, horizon, horizon / 2, **PAPER)) is None
    found = first_useful(lambda horizon: linear_bound(UCB, 2, horizon))
    assert first_useful(lambda horizon: linear_bound(UCB, 2, horizon), limit=found) == found
    assert first_useful(lambda horizon: linear_bound(UCB, 2, horizon), limit=found - 1) is None
    assert first_useful(lambda horizon: regret_bound(UCB, horizon, 0.0, **PAPER)) == 1


@pytest.mark.parametrize("bad", [0, -1, 1.5, "x", None])
def test_a_limit_that_counts_no_rounds_is_refused(bad):
    with pytest.raises(ValueError, match="first_useful needs a whole number limit >= 1, got"):
        first_useful(lambda horizon: linear_bound(UCB, 2, horizon), limit=bad)


@pytest.mark.parametrize("bound_at", [None, "x", 3, lambda T: 3.0, kb.Gaussian()])
def test_the_first_useful_horizon_needs_a_function_that_gives_bounds(bound_at):
    with pytest.raises(ValueError, match="first_useful needs a function T -> RegretBound, got"):
        first_useful(bound_at)
