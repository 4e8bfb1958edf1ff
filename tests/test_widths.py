from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits import widths
from kernelbandits.theory.gains import gain_term

R, D, DELTA, ROUNDS = 0.5, 2.0, 0.1, range(1, 40)
LOG_DETS = (0.0, 0.3, 1.791759, 20.0, 300.0)
ARMS = kb.Arms(np.eye(3))
REALISED = gain_term("realised", kb.Linear(), ARMS, 1.0)
GIVEN = gain_term(lambda t: math.log1p(t), kb.Linear(), ARMS, 1.0)


def policies() -> dict[str, kb.Policy]:
    theory = {"noise_scale": R, "norm_bound": D}
    kernel = kb.Linear()
    return {
        "simple-ucb": kb.SimpleUCB(ARMS, kernel, **theory),
        "generic ridge .3": kb.GenericGP(
            ARMS, kernel, kb.Gaussian(), ridge=0.3, delta=0.2, **theory
        ),
        "whitehouse": kb.WhitehouseUCB(ARMS, kernel, ridge=4.0, **theory),
        "igp-ucb": kb.IGPUCB(ARMS, kernel, horizon=100, **theory),
        "igp-ucb given": kb.IGPUCB(ARMS, kernel, horizon=100, gain=math.log1p, **theory),
        "gp-ts": kb.GPTS(ARMS, kernel, horizon=100, **theory),
        "gp-ucb finite": kb.GPUCB(ARMS, kernel, noise_scale=R, beta_scale=0.2),
        "gp-ucb rkhs": kb.GPUCB(ARMS, kernel, schedule="rkhs", gain=math.log1p, **theory),
    }


def table(t: int, log_det: float) -> dict[str, float]:
    """Section 0.1: what multiplies the GP sd, written out once more."""
    share, gain = R * math.sqrt(2 * math.log(2) + log_det) + D, log_det / 2
    return {
        "simple-ucb": share,
        "generic ridge .3": R / math.sqrt(0.3) * math.sqrt(2 * math.log(5) + log_det) + D,
        "whitehouse": R / 2.0 * math.sqrt(2 * math.log(10) + log_det) + D,
        "igp-ucb": D + R * math.sqrt(2 * (gain + 1 + math.log(10))),
        "igp-ucb given": D + R * math.sqrt(2 * (math.log(t) + 1 + math.log(10))),
        "gp-ts": D + R * math.sqrt(2 * (gain + 1 + math.log(20))),
        "gp-ucb finite": math.sqrt(0.2 * 2 * math.log(3 * t**2 * math.pi**2 / (6 * DELTA))),
        "gp-ucb rkhs": math.sqrt(2 * D**2 + 300 * math.log(1 + t) * math.log(t / DELTA) ** 3),
    }


def test_every_width_is_its_row_of_the_table():
    for name, policy in policies().items():
        for t in (1, 2, 10, 100):
            for log_det in LOG_DETS:
                assert policy.width(t, log_det) == pytest.approx(
                    table(t, log_det)[name], rel=1e-13
                ), name


def test_every_ridge_is_its_row_of_the_table():
    ridges = {name: policy.posterior.ridge for name, policy in policies().items()}
    assert ridges == {
        "simple-ucb": 1.0,
        "generic ridge .3": 0.3,
        "whitehouse": 4.0,
        "igp-ucb": 1.02,
        "igp-ucb given": 1.02,
        "gp-ts": 1.02,
        "gp-ucb finite": R**2,
        "gp-ucb rkhs": R**2,
    }


WIDTHS = {
    "self-normalised": widths.self_normalised(R, D, 0.3, DELTA),
    "improved": widths.chowdhury_gopalan(R, D, DELTA, REALISED),
    "improved given": widths.chowdhury_gopalan(R, D, DELTA, GIVEN),
    "finite": widths.srinivas_finite(7, DELTA, 0.2),
    "rkhs": widths.srinivas_rkhs(D, DELTA, GIVEN, 1.0),
    "rkhs realised": widths.srinivas_rkhs(D, DELTA, REALISED, 0.5),
}


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_the_table_for_the_compiled_loop_holds_the_widths_of_each_round(width):
    rows = width.table(len(ROUNDS))
    assert rows.shape == (len(ROUNDS), 3)
    for t, (a, b, c) in zip(ROUNDS, rows, strict=True):
        for log_det in LOG_DETS:
            assert a + math.sqrt(b + c * log_det) == pytest.approx(width(t, log_det), rel=1e-15)


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_a_width_is_a_positive_float_that_never_falls_with_what_was_learnt(width):
    for t in (1, 2, 30):
        values = [width(t, log_det) for log_det in LOG_DETS]
        assert all(type(value) is float for value in values)
        assert values == sorted(values)
        assert values[0] > 0


@pytest.mark.parametrize("width", WIDTHS.values(), ids=WIDTHS)
def test_a_width_says_where_it_comes_from(width):
    assert "sqrt" in width.rule


def test_the_square_root_of_the_determinant_enters_and_not_the_determinant():
    """Invisible at small L; at L = 20 the width would be 40 % too wide."""
    width = widths.self_normalised(1.0, 0.0, 1.0, 0.5)
    assert width(1, 20.0) == pytest.approx(math.sqrt(2 * math.log(2) + 20.0), rel=1e-14)
    improved = widths.chowdhury_gopalan(1.0, 0.0, 0.5, REALISED)
    assert improved(1, 20.0) == pytest.approx(math.sqrt(20.0 + 2 + 2 * math.log(2)), rel=1e-14)


def test_gamma_of_the_round_before_for_igp_ucb_and_of_the_round_itself_for_srinivas():
    seen: list[int] = []
    term = gain_term(lambda t: seen.append(int(t)) or float(t), kb.Linear(), ARMS, 1.0)
    widths.chowdhury_gopalan(R, D, DELTA, term)(5, 0.0)
    widths.srinivas_rkhs(D, DELTA, term, 1.0)(5, 0.0)
    assert seen == [4, 5]


@given(st.floats(0, 100), st.floats(0.01, 10), st.floats(0, 10), st.floats(0.01, 0.99))
def test_scaling_noise_and_norm_scales_the_width(log_det, noise, norm, delta):
    for factor in (0.1, 7.0):
        plain = widths.self_normalised(noise, norm, 0.7, delta)(1, log_det)
        scaled = widths.self_normalised(factor * noise, factor * norm, 0.7, delta)(1, log_det)
        assert scaled == pytest.approx(factor * plain, rel=1e-12)
        plain, scaled = (
            widths.chowdhury_gopalan(f * noise, f * norm, delta, REALISED)(3, log_det)
            for f in (1, factor)
        )
        assert scaled == pytest.approx(factor * plain, rel=1e-12)


def test_igp_ucb_exceeds_simple_ucb_by_what_its_horizon_and_confidence_cost():
    """As T grows: R [sqrt(L + 2 + 2 ln(1/delta)) - sqrt(L + 2 ln 2)] > 0 for delta < e/2."""
    for log_det in LOG_DETS:
        gap = widths.chowdhury_gopalan(R, D, DELTA, REALISED)(1, log_det) - widths.self_normalised(
            R, D, 1.0, 0.5
        )(1, log_det)
        expected = math.sqrt(log_det + 2 + 2 * math.log(10)) - math.sqrt(log_det + 2 * math.log(2))
        assert gap == pytest.approx(R * expected, rel=1e-10)


def test_without_noise_only_the_norm_bound_is_left():
    for log_det in LOG_DETS:
        assert widths.self_normalised(0.0, 1.5, 0.3, 0.5)(1, log_det) == 1.5
        assert widths.chowdhury_gopalan(0.0, 1.5, 0.1, REALISED)(1, log_det) == 1.5
