"""Bounds for the rule as played, by second moments and with high probability; chances from data."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import kernelbandits as kb
from kernelbandits.catalogue import read_law
from kernelbandits.exploration.adaptive import ArmChoice, TwoChoices, signal_scale
from kernelbandits.theory import LawMoments, effective_level, regret_bound
from kernelbandits.theory import as_played as as_played_module
from kernelbandits.theory.high_probability import expected_sum, realised_sum
from kernelbandits.theory.setting import TheorySetting
from kernelbandits.verification import Effort, as_played

UCB = kb.PointMass(1.0)
PAPER_STEP = kb.Step(kb.Bernoulli(0.5), kb.Bernoulli(0.25), 500)
SMALL_NOISE = {"noise_scale": 0.01, "norm_bound": 1.0}


def played(law, horizon=1000, gain=20.0, **told):
    return regret_bound(law, horizon, gain, form="as_played", **told)


# ---------------------------------------------------------------- the bound as played


def test_where_the_noise_is_small_the_paper_s_own_width_has_the_bound_of_the_repaired_proof():
    """(1 + C2 + C3') g sqrt(2 T gamma / ln 2) + 1 with the paper's g: 512 and 1279 (and less)."""
    width = 0.01 * math.sqrt(2 * 20 + 2 * math.log(2)) + 1
    reach = math.sqrt(2 * 1000 * 20 / math.log(2))
    for law, factor, stated in ((UCB, 2, 512), (PAPER_STEP, 5, 1279)):
        whole = factor * width * reach + 1
        assert whole == pytest.approx(stated, abs=0.5)
        assert 0.95 * whole < played(law, **SMALL_NOISE).as_played < whole
    assert played(PAPER_STEP, **SMALL_NOISE).mean_square < 620


def test_the_bound_as_played_is_its_formula():
    """With the d that it states: band, width and leftover written out afresh."""
    told = {"noise_scale": 0.2, "norm_bound": 1.5, "ridge": 0.5, "largest": 2.0, "delta": 0.3}
    horizon, gain = 5000, 8.0
    for law in (UCB, kb.Bernoulli(0.3), kb.Gaussian(0.2, 1.1)):
        bound = played(law, horizon, gain, **told)
        spread, limit, c = 0.2 / math.sqrt(0.5), 4.0, kb.theory.constants(law, horizon)
        width = spread * math.sqrt(2 * math.log(1 / 0.3) + 2 * gain) + 1.5
        band = math.hypot(1.5, spread * math.sqrt(2 * math.log(1 / bound.level) + 2 * gain))
        reach = math.sqrt(2 * limit / math.log1p(limit) * horizon * gain * 0.5)
        leftover = 2 * 1.5 * math.sqrt(2.0) * horizon * bound.level
        whole = (band + (c.c2 + c.c3_tight) * width) * reach + leftover
        assert bound.threshold == 1.0
        if bound.as_played < bound.mean_square:
            assert bound.as_played == pytest.approx(whole, rel=1e-9)
        assert bound.as_played <= whole * (1 + 1e-9)
        assert bound.level >= effective_level(
            0.0, noise_scale=0.2, norm_bound=1.5, ridge=0.5, delta=0.3
        ) * (1 - 1e-9)


@given(
    st.floats(0.001, 5),
    st.floats(0.05, 5),
    st.floats(0.1, 4),
    st.floats(0.01, 0.9),
    st.floats(0, 50),
)
def test_the_played_width_is_the_band_of_its_effective_level(noise, norm, ridge, delta, log_det):
    told = {"noise_scale": noise, "norm_bound": norm, "ridge": ridge, "delta": delta}
    level = effective_level(log_det, **told)
    assert effective_level(log_det + 1, **told) <= level <= delta
    if level > 1e-290:
        spread = noise / math.sqrt(ridge)
        band = math.hypot(norm, spread * math.sqrt(2 * math.log(1 / level) + log_det))
        width = norm + spread * math.sqrt(2 * math.log(1 / delta) + log_det)
        assert band == pytest.approx(width, rel=1e-9)


def test_at_the_same_delta_the_bound_as_played_is_never_above_the_tight_one():
    for noise in (0.0, 0.01, 0.3, 3.0):
        for law in (UCB, kb.Bernoulli(0.2), kb.Gaussian(), kb.Certainty()):
            for delta in (0.5, 0.001):
                told = {"noise_scale": noise, "norm_bound": 1.0, "delta": delta}
                tight = regret_bound(law, 10**5, 12.0, **told).tight
                assert played(law, 10**5, 12.0, **told).value <= tight * (1 + 1e-12)


def test_a_law_below_the_threshold_has_no_bound_there_even_if_it_is_certain():
    """w = 1 does not reach b > 1, though its C3' is 0."""
    for law in (UCB, kb.Bernoulli(0.5), kb.Categorical((0.5, 0.5), (0.5, 1.2))):
        moments = LawMoments.of(law, 1000)
        assert moments.expected_maximum(1.0, 1.3) == moments.mean_square(1.0, 1.3) == math.inf
        assert moments.expected_maximum(1.0, 1.0) < math.inf
    bound = played(UCB, 10**6, 10.0, noise_scale=1.0, norm_bound=1.0)
    assert (bound.threshold, bound.first_rounds) == (1.0, 0)


def test_with_much_noise_first_rounds_or_a_threshold_pay_and_are_named():
    told = {"noise_scale": 1.0, "norm_bound": 1.0}
    plain, growing = (played(UCB, 10**6, 10.0, smallest=least, **told) for least in (0.0, 1.0))
    assert growing.value < plain.value / 2
    assert growing.first_rounds > 0
    assert "after the first" in growing.sentence
    heavy = played(kb.Gaussian(), 10**6, 10.0, noise_scale=3.0, norm_bound=1.0, smallest=1.0)
    assert heavy.threshold > 1
    assert f"w >= {heavy.threshold:.4g}" in heavy.sentence
    # The price stated is valid: the band at L = ln(1 + n) is at most b widths.
    least = math.log1p(heavy.first_rounds)
    band = math.hypot(1.0, 3 * math.sqrt(2 * math.log(1 / heavy.level) + least))
    assert band <= heavy.threshold * (3 * math.sqrt(2 * math.log(2) + least) + 1) * (1 + 1e-9)


# ---------------------------------------------------------------- second moments


@pytest.mark.thorough
@pytest.mark.parametrize(
    "law",
    [kb.Bernoulli(0.3), kb.Gaussian(), kb.Gaussian(-0.5, 2.0), kb.Gaussian(0.7, 0.6), stats.t(4),
     kb.Categorical((0.3, 0.3, 0.4), (-1.0, 0.5, 2.0)), kb.Mixture((0.4, 0.6), (UCB, kb.Gaussian()))],
)  # fmt: skip
@pytest.mark.parametrize("threshold", [1.0, 1.4])
def test_the_mean_square_is_that_of_drawn_weights(law, threshold):
    known = kb.exploration.as_law(law)
    moments = LawMoments.of(law, 50)
    if known.cdf(1.39) == 1:
        assert moments.mean_square(0.8, 1.4) == math.inf
        return
    u = (np.arange(2_000_000) + 0.5) / 2_000_000
    weights = np.asarray(known.draw(u))
    excess = np.maximum(weights - known.expectation, 0) / np.mean(weights >= threshold)
    drawn = np.mean((0.8 + np.maximum(weights, 0) + excess) ** 2)
    tolerance = 0.02 if isinstance(law, type(stats.t(4))) else 1e-3
    assert moments.mean_square(0.8, threshold) == pytest.approx(drawn, rel=tolerance)


def test_a_bernoulli_law_costs_one_over_p_under_the_root_and_a_schedule_the_mean_of_it():
    assert LawMoments.of(kb.Bernoulli(0.1), 100).mean_square(1.0, 1.0) == pytest.approx(13.0)
    decay = kb.Decay(1.0, 0.5, 0.0)
    mean = np.mean([3 + math.sqrt(t) for t in range(1, 101)])
    assert LawMoments.of(decay, 100).mean_square(1.0, 1.0) == pytest.approx(mean)
    chosen = [decay(t) for t in range(1, 101)]
    assert LawMoments.of(chosen, 100).mean_square(1.0, 1.0) == pytest.approx(mean)
    assert LawMoments.of(stats.t(2), 100).mean_square(1.0, 1.0) == math.inf


# ---------------------------------------------------------------- high probability


def test_high_probability_bounds_fall_with_the_failure_allowed_and_need_no_chance_for_ucb():
    told = {"form": "high_probability", "noise_scale": 0.05, "norm_bound": 1.0}
    for law in (UCB, kb.Bernoulli(0.5), kb.Gaussian(), kb.Certainty(), kb.AdaptiveBernoulli(1.0)):
        bounds = [regret_bound(law, 10**5, 10.0, delta=d, **told) for d in (0.001, 0.05, 0.5)]
        values = [bound.value for bound in bounds]
        assert values == sorted(values, reverse=True)
        assert values[0] < 2 * 10**5
        assert all(bound.mean <= bound.value for bound in bounds)
        assert "with probability at least 0.95" in bounds[1].sentence
    certain = regret_bound(UCB, 10**5, 10.0, delta=0.05, **told)
    assert certain.azuma == certain.freedman == certain.mean


def test_laws_chosen_from_the_past_pay_for_not_being_known_before():
    told = {"form": "high_probability", "noise_scale": 0.05, "norm_bound": 1.0}
    law = kb.Bernoulli(0.5)
    before = regret_bound(law, 5000, 10.0, **told)
    after = regret_bound([law] * 5000, 5000, 10.0, **told)
    assert before.value < after.value < 1.3 * before.value
    with pytest.raises(ValueError, match="needs 5000 chosen laws, got 10"):
        regret_bound([law] * 10, 5000, 10.0, **told)
    with pytest.raises(ValueError, match=r"needs P\(w >= 1\) > 0 in every round"):
        regret_bound([kb.Bernoulli(0.0)] * 5000, 5000, 10.0, **told)


def test_first_rounds_chosen_after_the_rounds_pay_the_deviation_of_all_rounds():
    """n depends on the laws that were chosen, so that Freedman's inequality must not start at n."""
    told = {"noise_scale": 1.0, "norm_bound": 1.0, "smallest": 1.0, "form": "high_probability"}
    bound = regret_bound([kb.Bernoulli(0.4)] * 10_000, 10_000, 6.0, **told)
    logarithm = math.log(4 / 0.05) + math.log(15 + 1)
    slopes = np.geomspace(1e-3, 4.0, 15)
    assert bound.first_rounds > 1000
    assert bound.mean > 2 * bound.first_rounds
    assert bound.freedman == pytest.approx(
        min(np.expm1(slopes) / slopes * bound.mean + 2 * logarithm / slopes)
    )
    assert bound.azuma == pytest.approx(bound.mean + 2 * math.sqrt(10_000 * logarithm / 2))


def test_laws_chosen_from_the_past_have_no_expected_bound():
    with pytest.raises(ValueError, match="needs a law or schedule for an expected regret"):
        regret_bound([kb.Bernoulli(0.5)] * 10, 10, 1.0, form="as_played", **SMALL_NOISE)


@pytest.mark.parametrize("form", ["as_played", "high_probability"])
def test_a_bound_that_does_not_exist_says_why(form):
    """At delta = 1 the width is D before the first reward, and no bounded weight makes up for it."""
    delta = {"as_played": {"delta": 1.0}, "high_probability": {"played_delta": 1.0}}[form]
    told = {"noise_scale": 1.0, "norm_bound": 1.0}
    bound = regret_bound(kb.Bernoulli(0.5), 1000, 5.0, form=form, **told, **delta)
    assert bound.value == bound.trivial
    assert bound.sentence.startswith("No bound is proved at T = 1000: the played width is too")
    heavy = regret_bound(stats.cauchy(), 1000, 5.0, form=form, noise_scale=0.0, norm_bound=1.0)
    assert "E w^2 of the exploration law is infinite" in heavy.sentence


def test_the_condition_speaks_of_one_round_where_one_is_counted():
    told = {"noise_scale": 5.0, "norm_bound": 1.0, "smallest": 1.0, "delta": 1.0}
    bound = regret_bound(kb.Bernoulli(0.5), 10, 5.0, form="as_played", **told)
    assert bound.first_rounds == 1
    assert "after the first round, where L >= ln(1 + n inf k/ridge)" in bound.conditions


def test_the_step_of_one_round_is_an_equality_for_the_worst_function():
    """UCB with two arms of equal index: f is at the lower end where it plays, and loses 2 g."""
    assert as_played.largest_worst_ratio(UCB, 1.0) == pytest.approx(1.0, abs=1e-12)
    assert as_played.largest_worst_ratio(kb.Bernoulli(0.1), 1.0) == pytest.approx(1.0, abs=1e-12)


@given(st.floats(0.1, 1e4), st.floats(0.01, 20))
def test_the_two_deviations_are_their_smallest_exponential_bounds(total, log):
    """Against a fine search; and they bracket the sum."""
    slopes = np.geomspace(1e-6, 20, 4000)
    up = np.min(np.expm1(slopes) / slopes * total + 2 * log / slopes)
    down = np.min((slopes * total + 2 * log) / -np.expm1(-slopes))
    assert realised_sum(total, 2.0, log) == pytest.approx(up, rel=2e-3)
    assert expected_sum(total, 2.0, log) == pytest.approx(down, rel=2e-3)
    assert min(up, down) >= total


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        ({"form": "tight"}, "form in"),
        ({"form": "as_played", "smallest": 2.0}, "smallest <= largest"),
        ({"form": "as_played", "smallest": -1.0}, "smallest >= 0"),
        ({"form": "high_probability", "delta": 0.0}, "delta"),
        ({"form": "high_probability", "played_delta": 2.0}, "delta"),
        ({"form": "as_played", "played_delta": 0.1}, "delta, not played_delta"),
        ({"form": "repaired", "played_delta": 0.1}, "delta, not played_delta"),
    ],
)
def test_a_wrong_form_or_setting_is_refused(arguments, needed):
    with pytest.raises(ValueError, match=f"regret_bound needs .*{needed}"):
        regret_bound(UCB, 100, 5.0, **SMALL_NOISE, **arguments)


# ---------------------------------------------------------------- the consequences


def consequence(form, law=UCB, horizon=10**5, gain=10.0, **told):
    settings = {"noise_scale": 0.05, "norm_bound": 1.0} | told
    return regret_bound(law, horizon, gain, form=form, **settings)


@pytest.mark.parametrize(
    ("form", "told"),
    [
        ("misspecified", {"error": 0.0}),
        ("drifting", {"error": 0.0, "block": 10**5}),
        ("delayed", {"pending": 0.0}),
    ],
)
def test_without_an_error_a_drift_or_a_delay_the_bound_is_that_of_the_rule_as_played(form, told):
    for law in (UCB, kb.Bernoulli(0.2), kb.Gaussian()):
        for noise in (0.05, 1.0):
            same = {"noise_scale": noise, "smallest": 1.0}
            plain = consequence("as_played", law, **same)
            found = consequence(form, law, **same, **told)
            assert (found.as_played, found.mean_square) == (plain.as_played, plain.mean_square)


def by_hand(bound, gain=10.0, *, error=0.0, block=10**5, pending=0.0, horizon=10**5):
    """The bound of UCB with the d that it states: R = 0.05, D = 1, ridge 1, delta = 1/2."""
    more = error * math.sqrt(block - 1)
    width = 1 + 0.05 * math.sqrt(2 * gain + 2 * math.log(2)) + more
    band = math.hypot(1, 0.05 * math.sqrt(2 * gain - 2 * math.log(bound.level))) + more
    squares = math.ceil(horizon / block) * 2 * gain / math.log(2)
    bonuses = (band + width) * math.sqrt(math.exp(pending) * horizon * squares)
    return bonuses + 2 * error * horizon + 2 * horizon * bound.level


def test_the_bounds_of_wrong_drifting_and_delayed_models_are_their_formulas():
    """Written out afresh: the widened width, the blocks under the root, and exp(pending)."""
    for form, told in (
        ("misspecified", {"error": 0.01}),
        ("drifting", {"error": 0.002, "block": 30_000}),
        ("delayed", {"pending": math.log(3)}),
    ):
        bound = consequence(form, **told)
        assert bound.mean_square == pytest.approx(by_hand(bound, **told), rel=1e-9)
        assert bound.trivial == pytest.approx(2e5 * (1 + told.get("error", 0)))
        assert not bound.vacuous


def test_each_bound_grows_with_what_it_pays_for():
    for form, grows in (
        ("misspecified", [{"error": e} for e in (0.0, 0.001, 0.1)]),
        ("drifting", [{"error": 0.0, "block": n} for n in (10**5, 10**4, 10**3)]),
        ("delayed", [{"pending": p} for p in (0.0, 0.5, 3.0)]),
    ):
        values = [consequence(form, kb.Bernoulli(0.3), **told).mean_square for told in grows]
        assert values == sorted(values)
        assert values[0] < values[-1]


def test_late_results_delay_the_growth_of_the_width_that_first_rounds_wait_for():
    """After n rounds the rule knows of L >= ln(1 + n) all but what is pending."""
    told = {"noise_scale": 1.0, "smallest": 1.0, "horizon": 10**6}
    plain, late = consequence("as_played", **told), consequence("delayed", pending=1.0, **told)
    assert plain.first_rounds > 0
    level = effective_level(
        math.log1p(late.first_rounds) - 1.0, noise_scale=1.0, norm_bound=1.0, delta=0.5
    )
    assert late.level >= level * (1 - 1e-9)


# Orthonormal arms


def test_on_orthonormal_arms_large_noise_costs_only_the_rounds_that_are_missed():
    """R = 10 D, ten arms, UCB: the bound and its leftover 2 D (2 delta sqrt T) written out."""
    horizon, gain = 10**8, 5 * math.log1p(10**7)
    told = {"noise_scale": 1.0, "norm_bound": 0.1, "horizon": horizon, "gain": gain}
    plain, bound = consequence("as_played", **told), consequence("orthonormal", **told)
    width = 0.1 + math.sqrt(2 * gain + 2 * math.log(2))
    band = math.hypot(0.1, math.sqrt(2 * gain - 2 * math.log(bound.level)))
    bonuses = (band + width) * math.sqrt(2 * horizon * gain / math.log(2))
    whole = bonuses + 0.2 * (horizon * bound.level + as_played_module.missed_rounds(TEN))
    assert bound.mean_square == pytest.approx(whole, rel=1e-9)
    assert bound.value < plain.value / 3
    assert as_played_module.missed_rounds(TEN) == pytest.approx(
        2 * 0.5 * math.sqrt(horizon), rel=1e-3
    )
    assert "of the rounds in which f(x*) exceeds mean + width sd" in bound.sentence


TEN = TheorySetting(10**8, 1.0, 1.0, 0.1, 1.0, 1.0, 0.5)


@given(st.integers(1, 3000), st.floats(0.05, 1), st.floats(0.05, 5), st.floats(0.1, 3))
def test_the_missed_rounds_are_at_least_the_sum_of_their_probabilities(T, delta, ridge, largest):
    """sum_{N < T} delta / sqrt(1 + N k / ridge), and little more."""
    setting = TheorySetting(T, 1.0, 1.0, 1.0, ridge, largest, delta)
    total = float((delta / np.sqrt(1 + np.arange(T) * largest / ridge)).sum())
    found = as_played_module.missed_rounds(setting)
    assert total <= found * (1 + 1e-12)
    assert found <= total + delta


def test_on_orthonormal_arms_the_bound_is_never_above_that_of_other_arms():
    for law in (UCB, kb.Bernoulli(0.2), kb.Gaussian(), kb.Certainty()):
        for noise in (0.01, 0.3, 3.0):
            told = {"noise_scale": noise, "smallest": 1.0}
            assert (
                consequence("orthonormal", law, **told).value
                <= consequence("as_played", law, **told).value
            )


@pytest.mark.parametrize(
    ("form", "told", "needed"),
    [
        ("misspecified", {}, "error with form 'misspecified', got None"),
        ("misspecified", {"error": -0.1}, "error >= 0"),
        ("misspecified", {"error": 0.1, "block": 10}, "no block with form 'misspecified'"),
        ("drifting", {"error": 0.1}, "block with form 'drifting', got None"),
        ("drifting", {"error": 0.1, "block": 0}, "block >= 1"),
        ("drifting", {"error": 0.1, "block": 10**6}, "block <= T = 100000"),
        ("delayed", {}, "pending with form 'delayed', got None"),
        ("delayed", {"pending": -1.0}, "pending >= 0"),
        ("delayed", {"pending": 1e4}, "pending <= 1000"),
        ("as_played", {"pending": 1.0}, "no pending with form 'as_played'"),
        ("orthonormal", {"gap": 1.0}, "no gap with form 'orthonormal'"),
        ("orthonormal", {"smallest": 0.5}, "smallest = largest"),
    ],
)
def test_an_input_of_another_form_or_of_a_wrong_size_is_refused(form, told, needed):
    with pytest.raises(ValueError, match=re.escape(needed)):
        consequence(form, **told)


def test_the_information_gain_of_a_drifting_problem_is_that_of_a_block():
    arms = np.eye(3)
    block, whole = (kb.theory.information_gain(kb.Linear(), arms, T) for T in (500, 10**5))
    told = {"error": 0.0, "block": 500}
    assert consequence("drifting", gain=block, **told).information_gain == block.upper
    with pytest.raises(ValueError, match="a gain at T = 500"):
        consequence("drifting", gain=whole, **told)


def test_the_sentence_of_a_consequence_says_what_it_assumes():
    assert (
        "f is within 0.001 of a function of norm D"
        in consequence("misspecified", error=0.001).sentence
    )
    assert (
        "add at most 0.5 to log det(I + K / ridge)" in consequence("delayed", pending=0.5).sentence
    )
    assert "begins anew with each block" in consequence("drifting", error=0.0, block=10**4).sentence
    assert "k(x, x') = 0 for any two arms" in consequence("orthonormal", noise_scale=0.1).sentence


# ---------------------------------------------------------------- chances from the data

POSITIVE = st.floats(0.01, 5)


@pytest.mark.thorough
@settings(max_examples=200)
@given(POSITIVE, POSITIVE, POSITIVE, st.floats(0, 1), st.floats(0, 1), st.floats(0, 3))
def test_chances_are_the_best_and_the_least_by_search(width, sd, gap, share, below, slack):
    """The optimistic arm has the larger sd and the larger index, the greedy one the larger mean."""
    optimistic = ArmChoice(0.0, sd, 0.5 * math.log1p(sd**2))
    greedy_sd = share * sd
    mean = below * width * (sd - greedy_sd)
    greedy = ArmChoice(mean, greedy_sd, 0.5 * math.log1p(greedy_sd**2))
    pair = TwoChoices.of(optimistic, greedy, width * sd, width)
    p = np.linspace(0, 1, 2001)
    loss = p * pair.loss + (1 - p) * pair.greedy_loss
    information = p * pair.information + (1 - p) * pair.greedy_information
    ratio = loss**2 / np.maximum(information, 1e-300)
    limit = (1 + slack) ** 2 * 8 * width**2 * sd**2 / math.log1p(sd**2)
    best, least = pair.best_chance(), pair.least_chance(limit)
    at = lambda q: (q * pair.loss + (1 - q) * pair.greedy_loss) ** 2  # noqa: E731
    inside = lambda q: q * pair.information + (1 - q) * pair.greedy_information  # noqa: E731
    if pair.information > pair.greedy_information and inside(best) > 0:
        assert at(best) / inside(best) <= ratio.min() * (1 + 1e-6) + 1e-12
    assert at(least) <= limit * inside(least) * (1 + 1e-6) + 1e-9
    assert (ratio[p >= least] <= limit * (1 + 1e-6)).all()
    if least > 1e-3:
        earlier = 0.99 * least
        assert at(earlier) > limit * inside(earlier) * (1 - 1e-6)


def test_the_scale_of_f_is_that_of_the_mean_rewards_in_units_of_the_prior():
    posterior = kb.posterior.ArmPosterior(4.0 * kb.RBF(0.3), np.eye(5), ridge=0.2)
    for arm, reward in [(0, 1.0), (1, 2.0), (1, 4.0)]:
        posterior.update(arm, reward)
    assert signal_scale(posterior) == math.inf
    posterior.update(2, 8.0)
    assert signal_scale(posterior) == pytest.approx(np.std([1, 3, 8], ddof=1) / 2)


def test_adaptive_laws_play_on_arms_and_boxes_and_are_read_from_text():
    for law in (kb.AdaptiveBernoulli(), kb.InformationDirected(floor=0.05)):
        for domain in (kb.Arms(np.eye(3)), kb.Box((0.0, 0.0), (1.0, 1.0))):
            policy = kb.GenericGP(domain, kb.RBF(0.3), law, noise_scale=0.1, norm_bound=1.0)
            for t in range(1, 6):
                choice = policy.ask(t, kb.Streams(0))
                assert choice == policy.ask(t, kb.Streams(0))
                policy.tell(choice, 0.3 * t)
    assert read_law("adaptive-bernoulli(0.5)") == kb.AdaptiveBernoulli(0.5)
    assert read_law("information-directed:0.1") == kb.InformationDirected(0.1)


def test_the_bound_of_an_adaptive_law_is_a_multiple_of_that_of_ucb():
    told = {"noise_scale": 0.05, "norm_bound": 1.0}
    width = 0.05 * math.sqrt(2 * math.log(2) + 40) + 1
    reach = math.sqrt(2 / math.log(2) * 10**5 * 20)
    for law, factor in ((kb.InformationDirected(), 2), (kb.AdaptiveBernoulli(0.5), 3)):
        bound = played(law, 10**5, 20.0, **told)
        assert bound.mean_square == pytest.approx(factor * width * reach, rel=1e-3)


# ---------------------------------------------------------------- the checks can fail


def verdicts(statements) -> list[bool]:
    return [checked.as_expected for checked in statements]


@pytest.mark.thorough
def test_the_statements_hold_and_notice_a_broken_bound(monkeypatch):
    quick = Effort(scale=0.05)
    assert all(verdicts(as_played.check_effective_level(quick)))
    assert all(verdicts(as_played.check_steps(quick)))
    assert all(verdicts(as_played.check_deviations(quick)))
    assert all(verdicts(as_played.check_worst_functions()))
    monkeypatch.setattr(as_played, "effective_level", lambda *args, **told: np.full(1, 0.01))
    assert not as_played.check_identity(quick).as_expected
    monkeypatch.setattr(as_played, "realised_sum", lambda mean, most, log: mean + log)
    assert not all(verdicts(as_played.check_deviations(quick)))
