import numpy as np
import pytest
from scipy.stats import truncnorm

from kernelbandits.calibration.censoring import propagate

AT = np.zeros(1, dtype=np.int64)
NOTHING = np.zeros(1)


def moments(limit: float, side: float, noise: float) -> tuple[float, float]:
    """Mean and variance of f ~ N(0, 1), given that f + noise is beyond a limit, by sampling."""
    rng = np.random.default_rng(0)
    f = rng.standard_normal(2_000_000)
    y = f + np.sqrt(noise) * rng.standard_normal(len(f))
    kept = f[(y < limit) if side < 0 else (y > limit)]
    return float(kept.mean()), float(kept.var())


@pytest.mark.parametrize("limit", [-1.5, 0.0, 1.0])
@pytest.mark.parametrize("side", [-1.0, 1.0])
def test_of_one_limit_mean_and_variance_are_those_of_the_truncated_normal(limit, side):
    noise = 0.2
    values, variances = propagate(
        np.eye(1), NOTHING, NOTHING, AT, np.array([side]), np.array([limit]), noise
    )
    precision = 1 + 1 / variances[0]
    mean, variance = values[0] / variances[0] / precision, 1 / precision
    wanted, spread = moments(limit, side, noise)
    # Standard errors of at least 10^5 draws.
    assert mean == pytest.approx(wanted, abs=5 / np.sqrt(1e5))
    assert variance == pytest.approx(spread, rel=0.03)


def test_without_noise_it_is_the_exact_truncated_normal():
    values, variances = propagate(
        np.eye(1), NOTHING, NOTHING, AT, np.array([-1.0]), np.array([-0.7]), 1e-8
    )
    precision = 1 + 1 / variances[0]
    exact = truncnorm(-np.inf, -0.7)
    assert values[0] / variances[0] / precision == pytest.approx(exact.mean(), abs=1e-4)
    assert 1 / precision == pytest.approx(exact.var(), abs=1e-4)


def test_a_limit_far_away_says_nothing_and_one_that_is_exceeded_says_where_it_is():
    far = propagate(np.eye(1), NOTHING, NOTHING, AT, np.array([-1.0]), np.array([9.0]), 0.01)
    assert far[1][0] >= 1e3
    near = propagate(np.eye(1), NOTHING, NOTHING, AT, np.array([-1.0]), np.array([-9.0]), 0.01)
    assert near[0][0] == pytest.approx(-9.2, abs=0.3)


def test_turned_upside_down_all_numbers_are_the_same():
    x = np.linspace(0, 1, 6)
    prior = np.exp(-((x[:, None] - x) ** 2) / 0.1)
    known, right = np.array([50.0, 0, 0, 50, 0, 0]), np.array([20.0, 0, 0, -30, 0, 0])
    slots, sides = np.array([1, 2, 5]), np.array([-1.0, -1.0, 1.0])
    limits = np.array([-0.2, -0.5, 0.4])
    one = propagate(prior, known, right, slots, sides, limits, 0.02)
    other = propagate(prior, known, -right, slots, -sides, -limits, 0.02)
    np.testing.assert_allclose(one[0], -other[0], rtol=1e-9)
    np.testing.assert_allclose(one[1], other[1], rtol=1e-9)
