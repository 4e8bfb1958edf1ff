"""RandUCB and IRGP-UCB: their laws in closed form, and what they are special cases of."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

import kernelbandits as kb
from kernelbandits.catalogue import CODEC, read_law

POINTS = np.random.default_rng(0).random((10, 2))
RULES = {"noise_scale": 0.7, "norm_bound": 1.5}
R, D = 0.5, 2.0


def same_play(left: kb.Policy, right: kb.Policy) -> None:
    """Thirty rounds with the same streams: equal arms, equal indices to 1e-10."""
    for t in range(1, 31):
        np.testing.assert_allclose(left.index(t), right.index(t), atol=1e-10)
        first, second = left.ask(t, kb.Streams(3)), right.ask(t, kb.Streams(3))
        assert first.arm == second.arm
        reward = float(np.sin(5 * first.x.sum()) + 0.3 * (-1) ** t)
        left.tell(first, reward)
        right.tell(second, reward)


def told(policy: kb.Policy) -> kb.Policy:
    """Instance G: basis arms, n = (2, 1, 0), S = (1, -0.5, 0)."""
    for arm, reward in ((0, 0.75), (1, -0.5), (0, 0.25)):
        policy.tell(policy.choice(arm), reward)
    return policy


# ---------------------------------------------------------------- the discretised Gaussian


def test_the_grid_is_equally_spaced_from_zero_to_the_greatest_weight():
    law = kb.exploration.DiscretisedGaussian(points=6, upper=2.0)
    np.testing.assert_allclose(law.support, [0.0, 0.4, 0.8, 1.2, 1.6, 2.0], rtol=1e-15)
    assert law.support[-1] == 2.0


@given(st.integers(2, 40), st.floats(0.02, 5), st.floats(0.1, 5), st.floats(0, 1))
def test_the_greatest_weight_has_its_chance_and_the_others_share_the_rest_like_a_gaussian(
    points, scale, upper, top
):
    law = kb.exploration.DiscretisedGaussian(points, scale, upper, top)
    density = np.array([stats.norm.pdf(z, scale=scale) for z in law.support[:-1]])
    np.testing.assert_allclose(
        law.chances[:-1], (1 - top) * density / density.sum(), rtol=1e-9, atol=1e-300
    )
    assert law.chances[-1] == top
    assert math.fsum(law.chances) == pytest.approx(1, abs=1e-12)


def test_the_defaults_are_the_law_of_the_authors_experiments():
    """Twenty points of a density of scale 1/8, the last replaced by 1e-6 before all are divided by their sum."""
    density = stats.norm.pdf(np.linspace(0, 1, 20), scale=0.125)
    density[-1] = 1e-6
    authors = density / density.sum()
    assert authors[-1] == pytest.approx(9.0e-8, rel=0.01)
    np.testing.assert_allclose(
        kb.exploration.DiscretisedGaussian().chances[:-1], authors[:-1], rtol=1e-7
    )
    np.testing.assert_allclose(
        kb.exploration.DiscretisedGaussian(top=authors[-1]).chances, authors, rtol=1e-12
    )


def test_the_optimism_of_the_default_law_is_the_chance_of_its_greatest_weight():
    assert kb.exploration.DiscretisedGaussian().optimism == 1e-7
    assert kb.exploration.DiscretisedGaussian(upper=0.99).optimism == 0.0
    law = kb.exploration.DiscretisedGaussian(points=3, upper=2.0, scale=1.0, top=0.2)
    assert law.optimism == pytest.approx(0.2 + 0.8 * math.exp(-0.5) / (1 + math.exp(-0.5)))
    assert law.mean_abs == pytest.approx(0.8 * math.exp(-0.5) / (1 + math.exp(-0.5)) + 0.4)


def test_a_narrow_law_is_nearly_greedy_and_a_wide_one_even():
    assert kb.exploration.DiscretisedGaussian(points=4, scale=1e-300, top=0.25).chances == (
        0.75,
        0.0,
        0.0,
        0.25,
    )
    np.testing.assert_allclose(
        kb.exploration.DiscretisedGaussian(points=4, scale=1e6, top=0.25).chances, 0.25, rtol=1e-9
    )


@pytest.mark.parametrize(
    ("setting", "bad"),
    [
        *(("points", bad) for bad in (1, 2.0, True)),
        *(("scale", bad) for bad in (0.0, -1.0, math.nan)),
        *(("upper", bad) for bad in (0.0, math.inf)),
        *(("top", bad) for bad in (-0.1, 1.1, "much")),
    ],
)
def test_a_discretised_gaussian_that_is_none_is_refused(setting, bad):
    with pytest.raises(ValueError, match=f"DiscretisedGaussian needs .*{setting}.*, got {bad!r}"):
        kb.exploration.DiscretisedGaussian(**{setting: bad})
    with pytest.raises(ValueError, match=f"needs .*{setting}.*, got {bad!r}"):
        kb.policies.RandUCB(POINTS, kb.RBF(0.3), **RULES, **{setting: bad})


# ---------------------------------------------------------------- the root of a shifted exponential


@given(st.floats(0, 20), st.floats(0.05, 10))
def test_the_square_of_the_weight_is_a_shifted_exponential(shift, mean):
    law, square = kb.exploration.RootExponential(shift, mean), stats.expon(loc=shift, scale=mean)
    for u in (0.0, 0.1, 0.5, 0.99, 1 - 2.0**-53):
        assert law.draw(u) ** 2 == pytest.approx(square.ppf(u), rel=1e-12)
    for x in (-3.0, 0.0, 0.5, 1.0, 2.0, 5.0):
        assert law.cdf(x) == pytest.approx(square.cdf(x * x) if x > 0 else 0.0, abs=1e-13)
    assert law.optimism == pytest.approx(square.sf(1), rel=1e-12)


@given(st.floats(0, 50), st.floats(0.05, 10))
def test_the_mean_of_the_root_is_its_integral(shift, mean):
    weighted = quad(
        lambda v: math.sqrt(shift + mean * v * v) * 2 * v * math.exp(-v * v), 0, 8, limit=200
    )[0]
    assert kb.exploration.RootExponential(shift, mean).mean_abs == pytest.approx(weighted, rel=1e-8)


def test_without_a_shift_the_root_is_rayleighs_law():
    law, rayleigh = kb.exploration.RootExponential(0.0, 2.0), stats.rayleigh()
    assert law.mean_abs == pytest.approx(rayleigh.mean(), rel=1e-14)
    assert law.optimism == pytest.approx(math.exp(-0.5), rel=1e-14)
    np.testing.assert_allclose(law.draw(np.array([0.1, 0.9])), rayleigh.ppf([0.1, 0.9]), rtol=1e-13)


def test_a_large_shift_overflows_nothing():
    law = kb.exploration.RootExponential(1e6, 1e-3)
    assert law.mean_abs == pytest.approx(1000.0, rel=1e-9)
    assert (law.cdf(999.0), law.optimism, law.cdf(1e200)) == (0.0, 1.0, 1.0)


@pytest.mark.parametrize(
    ("setting", "bad"), [("shift", -0.1), ("shift", math.inf), ("mean", 0.0), ("mean", "2")]
)
def test_a_root_exponential_that_is_none_is_refused(setting, bad):
    with pytest.raises(ValueError, match=f"RootExponential needs .*{setting}.*, got {bad!r}"):
        kb.exploration.RootExponential(**{setting: bad})


@pytest.mark.parametrize(
    "law",
    [
        kb.exploration.DiscretisedGaussian(7, 0.3, 1.2, 0.01),
        kb.exploration.RootExponential(0.5, 3.0),
    ],
    ids=str,
)
def test_a_law_survives_the_way_through_a_file(law):
    assert CODEC.decode(json.loads(json.dumps(CODEC.encode(law)))) == law


def test_the_laws_can_be_spelled_on_a_command_line():
    assert read_law("discretised-gaussian") == kb.exploration.DiscretisedGaussian()
    assert read_law(
        "discretised-gaussian:10,scale=0.5,top=0.1"
    ) == kb.exploration.DiscretisedGaussian(10, 0.5, top=0.1)
    assert read_law("root-exponential(1,mean=2)") == kb.exploration.RootExponential(1, 2)


# ---------------------------------------------------------------- RandUCB


def test_rand_ucb_is_generic_gp_with_its_law_at_whitehouses_confidence():
    law = kb.exploration.DiscretisedGaussian(8, 0.5, 1.3, 0.05)
    rand = kb.policies.RandUCB(
        POINTS, kb.RBF(0.3), points=8, scale=0.5, upper=1.3, top=0.05, ridge=0.6, **RULES
    )
    same_play(rand, kb.GenericGP(POINTS, kb.RBF(0.3), law, ridge=0.6, delta=0.1, **RULES))


def test_rand_ucb_that_always_draws_its_greatest_weight_is_whitehouse_ucb():
    same_play(
        kb.policies.RandUCB(POINTS, kb.RBF(0.3), top=1.0, **RULES),
        kb.WhitehouseUCB(POINTS, kb.RBF(0.3), **RULES),
    )


def test_the_golden_index_of_rand_ucb_is_whitehouses_in_units_of_the_width():
    policy = told(kb.policies.RandUCB(np.eye(3), kb.Linear(), noise_scale=R, norm_bound=D))
    assert policy.width_at(4) == pytest.approx(3.264608, abs=5e-7)
    np.testing.assert_allclose(policy.index(4), [2.218155, 2.058426, 3.264608], atol=5e-7)
    mean = np.array([1 / 3, -1 / 4, 0.0])
    np.testing.assert_allclose(
        policy.index(4, 0.25), mean + 0.25 * (policy.index(4) - mean), atol=1e-12
    )


def test_rand_ucb_draws_one_weight_of_its_grid_a_round():
    policy = kb.policies.RandUCB(POINTS, kb.RBF(0.3), **RULES)
    weights = {policy.ask(t, kb.Streams(1)).note["weight"] for t in range(1, 300)}
    assert weights <= set(kb.exploration.DiscretisedGaussian().support)
    assert 5 <= len(weights) <= 12


def test_rand_ucb_below_one_width_has_no_guarantee_and_says_so():
    with pytest.warns(kb.TheoryWarning, match=r"P\(w >= 1\) > 0 fails"):
        kb.policies.RandUCB(POINTS, kb.RBF(0.3), upper=0.9, **RULES)


# ---------------------------------------------------------------- IRGP-UCB


def test_the_confidence_of_irgp_ucb_is_shifted_by_twice_the_logarithm_of_half_the_arms():
    policy = kb.policies.IRGPUCB(POINTS, kb.RBF(0.3), noise_scale=0.4)
    assert policy.exploration.source == kb.exploration.RootExponential(2 * math.log(5), 2.0)
    assert policy.posterior.ridge == pytest.approx(0.16)
    u = kb.Streams(2).uniforms("weight", 40_000)
    zeta = policy.exploration.weights(u) ** 2
    assert zeta.min() >= 2 * math.log(5) - 1e-12
    assert abs(zeta.mean() - (2 * math.log(5) + 2)) < 4 * 2 / math.sqrt(len(u))


@pytest.mark.parametrize("arms", [1, 2])
def test_one_or_two_arms_have_no_shift(arms):
    assert kb.policies.IRGPUCB(
        POINTS[:arms], kb.RBF(0.3), noise_scale=0.4
    ).exploration.source == kb.exploration.RootExponential(0.0, 2.0)


def test_the_golden_index_of_irgp_ucb():
    """Basis arms at ridge r = 1/4: mean_i = S_i / (r + n_i), sd_i^2 = r / (r + n_i); zeta = 2 ln(3/2) - 2 ln(1 - u)."""
    policy = told(kb.policies.IRGPUCB(np.eye(3), kb.Linear(), noise_scale=R))
    weight = policy.ask(4, kb.Streams(9)).note["weight"]
    u = kb.Streams(9).uniform("weight", 4)
    assert weight == pytest.approx(math.sqrt(2 * math.log(1.5) - 2 * math.log(1 - u)), rel=1e-12)
    expected = np.array([1 / 2.25, -0.5 / 1.25, 0.0]) + weight * np.sqrt(
        0.25 / np.array([2.25, 1.25, 0.25])
    )
    np.testing.assert_allclose(policy.index(4, weight), expected, atol=1e-12)


def test_irgp_ucb_at_a_given_confidence_is_gp_ucb_with_that_beta():
    irgp, fixed = (
        told(kb.policies.IRGPUCB(np.eye(3), kb.Linear(), noise_scale=R)),
        told(kb.GPUCB(np.eye(3), kb.Linear(), noise_scale=R)),
    )
    np.testing.assert_allclose(irgp.index(4, fixed.width_at(4)), fixed.index(4), atol=1e-12)


def test_the_greatest_index_of_irgp_ucb_exceeds_the_greatest_value_in_expectation():
    """E max f <= E max (mean + sqrt(zeta) sd) for f ~ GP given the data; without the shift it would not be so."""
    points = np.random.default_rng(3).random((40, 2))
    policy = kb.policies.IRGPUCB(points, kb.RBF(0.05), noise_scale=0.3)
    for arm in (0, 7, 7, 20):
        policy.tell(policy.choice(arm), 0.5)
    p, draws = policy.posterior, 4000
    rng = np.random.default_rng(4)
    best = (p.mean + rng.multivariate_normal(np.zeros(40), p.cov, draws)).max(1)

    def greatest_index(law):
        return np.array([(p.mean + law.draw(u) * p.sd).max() for u in rng.random(draws)])

    four_errors = 4 * math.hypot(best.std(), 1.0) / math.sqrt(draws)
    assert greatest_index(policy.exploration.source).mean() >= best.mean() - four_errors
    assert (
        greatest_index(kb.exploration.RootExponential(0.0, 2.0)).mean() < best.mean() - four_errors
    )


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, None, 1e200])
def test_irgp_ucb_needs_noise(bad):
    with pytest.raises(ValueError, match=f"IRGPUCB needs noise_scale .*got {re.escape(repr(bad))}"):
        kb.policies.IRGPUCB(POINTS, kb.RBF(0.3), noise_scale=bad)
