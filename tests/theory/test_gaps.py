"""The regret bound that grows like a power of ln T, and the second moments that it needs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.theory import LawMoments, regret_bound

UCB = kb.PointMass(1.0)
TEN_ARMS = 5 * math.log1p(10**7)
"""gamma_T of ten orthonormal arms at T = 10^8."""
SMALL_NOISE = {"noise_scale": 0.05, "norm_bound": 1.0}


def by_gap(law, horizon=10**8, gain=TEN_ARMS, *, gap=0.5, **told):
    return regret_bound(law, horizon, gain, form="gap", gap=gap, **SMALL_NOISE | told)


@pytest.mark.parametrize(
    ("law", "second_moment", "least", "stated"),
    [(UCB, lambda c: (c + 1) ** 2, 1.0, 3809), (kb.Bernoulli(0.5), lambda c: c**2 + 2 * c + 2, 0.5, 10112)],
)  # fmt: skip
def test_the_bound_at_d_equal_to_1_by_2dt_is_that_of_a_calculation_by_hand(
    law, second_moment, least, stated
):
    """R = 0.05, D = 1, ten arms, Delta = 1/2, T = 10^8; the search over d finds a little less."""
    log_det, logarithm = 2 * TEN_ARMS, math.log(2e8)
    width = 1 + 0.05 * math.sqrt(log_det + 2 * math.log(2))
    band = math.sqrt(1 + 0.05**2 * (log_det + 2 * logarithm))
    factor = width**2 * second_moment(band / width) / (least * 0.5)
    by_hand = log_det / math.log(2) * factor + 1
    assert round(by_hand) == stated
    bound = by_gap(law)
    assert 0.995 * by_hand < bound.by_gap < by_hand
    played = regret_bound(law, 10**8, TEN_ARMS, form="as_played", **SMALL_NOISE).value
    assert played == pytest.approx({3809: 434_891, 10112: 501_523}[stated], abs=0.5)


def test_the_bound_with_the_d_that_it_states_is_its_formula_at_another_ridge():
    told = {"noise_scale": 0.2, "norm_bound": 1.5, "ridge": 0.5, "largest": 2.0, "delta": 0.3}
    law, horizon, gain = kb.Categorical((0.2, 0.3, 0.5), (-0.5, 0.4, 1.2)), 50_000, 8.0
    bound = by_gap(law, horizon, gain, gap=0.1, **told)
    spread = 0.2 / math.sqrt(0.5)
    width = 1.5 + spread * math.sqrt(2 * gain - 2 * math.log(0.3))
    band = math.hypot(1.5, spread * math.sqrt(2 * gain - 2 * math.log(bound.level)))
    values, chances = np.array([-0.5, 0.4, 1.2]), np.array([0.2, 0.3, 0.5])
    each = band / width + np.maximum(values, 0) + np.maximum(values - values @ chances, 0) / 0.5
    played = 2 * 0.5 * 4 / math.log1p(4) * gain
    whole = width**2 * (chances @ each**2) * played / (0.2 * 0.1)
    leftover = 2 * 1.5 * math.sqrt(2) * horizon * bound.level
    assert bound.threshold == 1.0
    assert bound.least_chance == pytest.approx(0.2)
    assert bound.by_gap == pytest.approx(whole + leftover, rel=1e-9)


def test_the_bound_grows_like_a_power_of_the_logarithm_where_the_other_grows_like_a_root():
    horizons = [10**power for power in (6, 8, 10)]
    gains = [math.log1p(T / 2) for T in horizons]
    found = [by_gap(UCB, T, gain).by_gap for T, gain in zip(horizons, gains, strict=True)]
    assert found[2] < 2.5 * found[0]
    plain = [
        regret_bound(UCB, T, gain, form="as_played", **SMALL_NOISE).value
        for T, gain in zip(horizons, gains, strict=True)
    ]
    assert plain[2] > 100 * plain[0]


def test_a_schedule_is_bounded_by_its_worst_round():
    """Each round has its own second moment and its own smallest probability."""
    step = kb.Step(kb.Bernoulli(0.5), kb.Bernoulli(0.1), 500)
    moments = LawMoments.of(step, 1000)
    assert moments.largest_square(1.0, 1.0) == pytest.approx((3 + 10) / 0.1)
    assert moments.least_chance == pytest.approx(0.1)
    assert LawMoments.of(kb.Bernoulli(0.9), 10).least_chance == pytest.approx(0.1)
    assert LawMoments.of(UCB, 10).largest_square(0.5, 1.0) == pytest.approx(1.5**2)
    assert LawMoments.of(kb.Bernoulli(0.5), 10).largest_square(1.0, 1.5) == math.inf


def test_a_schedule_that_looks_at_the_past_has_the_least_probability_of_all_histories():
    moments = LawMoments.of(kb.Certainty(first=0.5, floor=0.05), 1000)
    assert moments.least_chance == pytest.approx(0.05)
    assert by_gap(kb.Certainty(0.5, 0.05), 10**6, 10.0).by_gap < math.inf


@pytest.mark.parametrize("law", [kb.Gaussian(), kb.Certainty(first=1.0, floor=0.05)])
def test_a_law_whose_values_may_have_any_probability_is_refused(law):
    with pytest.raises(ValueError, match="regret_bound needs a law with finitely many values"):
        by_gap(law, 1000, 5.0)


@pytest.mark.parametrize("gap", [0.0, -1.0, math.nan, None])
def test_a_gap_that_is_not_positive_is_refused(gap):
    with pytest.raises((ValueError, TypeError), match="gap"):
        by_gap(UCB, 1000, 5.0, gap=gap)


def test_the_sentence_names_the_gap_and_what_is_assumed():
    assert (
        "worse than the best by 0.5 or more, ties are broken in a fixed order"
        in by_gap(UCB).sentence
    )
    assert by_gap(UCB, 100, 20.0).sentence.startswith("Vacuous at T = 100: the bound by the gap")
    none = by_gap(kb.Bernoulli(0.5), 1000, 5.0, noise_scale=1.0, delta=1.0)
    assert none.sentence.startswith(
        "No bound is proved at T = 1000: the played width is too narrow"
    )
    assert (none.value, none.vacuous) == (none.trivial, True)
