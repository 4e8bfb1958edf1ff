from __future__ import annotations

import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

import kernelbandits as kb
from kernelbandits.posterior import LARGEST_COVARIANCE, Factorisation, posterior_on

FORMS = [kb.posterior.ArmPosterior, kb.posterior.RowPosterior]
every_form = pytest.mark.parametrize("form", FORMS)
LINE = np.linspace(0, 1, 50)[:, None]


def history(seed: int, n: int, rewards: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Random points, pulls with many repeats, and rewards."""
    rng = np.random.default_rng(seed)
    return (
        rng.random((n, 2)),
        (n * rng.random(rewards) ** 2).astype(int),
        rng.normal(1.0, 2.0, rewards),
    )


def played(form, kernel, points, ridge, pulls, rewards):
    return told(form(kernel, points, ridge), pulls, rewards)


def told(posterior, pulls, rewards):
    for arm, reward in zip(pulls, rewards, strict=True):
        posterior.update(int(arm), float(reward))
    return posterior


def direct(kernel, points, ridge, pulls, rewards):
    """The slow, obvious formula: mean, covariance and log-determinant by one solve."""
    k = kernel(points, points)
    noisy = k[np.ix_(pulls, pulls)] + ridge * np.eye(len(pulls))
    mean = k[:, pulls] @ np.linalg.solve(noisy, rewards)
    cov = k - k[:, pulls] @ np.linalg.solve(noisy, k[pulls, :])
    return mean, cov, np.linalg.slogdet(noisy / ridge)[1]


KERNELS = [
    kb.RBF(0.3),
    kb.Matern((0.3, 0.6), nu=1.5),
    kb.Linear(),
    0.5 * kb.RBF(0.2) + kb.kernels.Polynomial(2),
]


@every_form
@pytest.mark.parametrize("kernel", KERNELS, ids=str)
@pytest.mark.parametrize("ridge", [1.0, 0.1, 7.0])
def test_updates_one_by_one_equal_conditioning_on_all_rewards_at_once(form, kernel, ridge):
    points, pulls, rewards = history(0, 20, 80)
    posterior = played(form, kernel, points, ridge, pulls, rewards)
    mean, cov, log_det = direct(kernel, points, ridge, pulls, rewards)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.variance, cov.diagonal(), atol=1e-9)
    np.testing.assert_allclose(posterior.sd, np.sqrt(np.maximum(cov.diagonal(), 0.0)), atol=1e-8)
    assert posterior.log_det == pytest.approx(log_det, abs=1e-9)
    if form is kb.posterior.ArmPosterior:
        np.testing.assert_allclose(posterior.cov, cov, atol=1e-9)
    assert posterior.events == 80
    np.testing.assert_array_equal(posterior.counts, np.bincount(pulls, minlength=20))


@every_form
def test_it_is_scikit_learns_regressor_with_alpha_the_ridge(form):
    points, pulls, rewards = history(1, 15, 60)
    posterior = played(form, kb.RBF(0.3), points, 0.5, pulls, rewards)
    theirs = GaussianProcessRegressor(sk.RBF(0.3), alpha=0.5, optimizer=None).fit(
        points[pulls], rewards
    )
    elsewhere = np.random.default_rng(5).random((7, 2))
    mean, sd = theirs.predict(np.vstack([points, elsewhere]), return_std=True)
    np.testing.assert_allclose(posterior.mean, mean[:15], atol=1e-8)
    np.testing.assert_allclose(posterior.sd, sd[:15], atol=1e-8)
    np.testing.assert_allclose(posterior.at(elsewhere)[0], mean[15:], atol=1e-8)
    np.testing.assert_allclose(posterior.at(elsewhere)[1], sd[15:], atol=1e-8)


@given(st.integers(0, 10_000), st.integers(1, 8), st.integers(0, 25), st.floats(0.05, 20.0))
def test_both_forms_equal_the_direct_solve_on_random_small_histories(seed, n, rewards, ridge):
    points, pulls, y = history(seed, n, rewards)
    mean, cov, log_det = direct(kb.RBF(0.3), points, ridge, pulls, y)
    for form in FORMS:
        posterior = played(form, kb.RBF(0.3), points, ridge, pulls, y)
        np.testing.assert_allclose(posterior.mean, mean, atol=1e-8)
        np.testing.assert_allclose(posterior.variance, cov.diagonal(), atol=1e-9)
        assert posterior.log_det == pytest.approx(log_det, abs=1e-8)


@every_form
def test_before_any_reward_it_is_the_prior(form):
    kernel, points = 0.5 * kb.kernels.Polynomial(2), history(2, 6, 0)[0]
    posterior = form(kernel, points)
    np.testing.assert_array_equal(posterior.mean, 0.0)
    np.testing.assert_allclose(posterior.sd**2, kernel.diagonal(points), rtol=1e-14)
    np.testing.assert_array_equal(posterior.prior, posterior.variance)
    assert posterior.log_det == 0.0
    assert not posterior.audit()
    mean, sd = posterior.at(points)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_allclose(sd, posterior.sd, rtol=1e-14)


@every_form
def test_the_log_determinant_is_the_sum_of_the_variances_before_each_pull(form):
    """L = sum_s ln(1 + sd_{s-1}(x_s)^2 / ridge): the variance before the reward, not after."""
    points, pulls, rewards = history(3, 10, 100)
    posterior, total = form(kb.RBF(0.3), points, 0.25), 0.0
    for arm, reward in zip(pulls, rewards, strict=True):
        total += math.log1p(posterior.variance[arm] / 0.25)
        posterior.update(int(arm), float(reward))
        assert posterior.log_det == pytest.approx(total, abs=1e-10)


@every_form
def test_the_elliptical_potential_obeys_its_general_constant_and_not_the_factor_two(form):
    ridge, posterior, potential = 0.1, form(kb.Linear(), np.eye(10), 0.1), 0.0
    for arm in range(10):
        potential += posterior.variance[arm] / ridge
        posterior.update(arm, 0.0)
    largest = 1 / ridge
    assert potential <= largest / math.log(1 + largest) * posterior.log_det * (1 + 1e-12)
    assert potential > 2 * posterior.log_det


@every_form
def test_at_the_arms_it_says_what_the_arms_say(form):
    points, pulls, rewards = history(4, 12, 50)
    posterior = played(form, kb.Matern(0.4), points, 1.0, pulls, rewards)
    mean, sd = posterior.at(points)
    np.testing.assert_allclose(mean, posterior.mean, atol=1e-10)
    np.testing.assert_allclose(sd, posterior.sd, atol=1e-8)


@every_form
@pytest.mark.parametrize("kernel", [kb.RBF(0.3), kb.Linear()], ids=str)
def test_at_needs_points_of_the_arms_dimension(form, kernel):
    fresh, told = (
        played(form, kernel, history(4, 12, 0)[0], 1.0, pulls, pulls) for pulls in ([], [0])
    )
    for bad in ([[1.0, 2.0, 3.0]], [[1.0]], [1.0, 2.0], [[math.nan, 1.0]]):
        for posterior in (fresh, told):
            with pytest.raises(ValueError, match="needs"):
                posterior.at(bad)


@every_form
def test_repeated_pulls_collapse_to_counts_and_average_rewards(form):
    """(K + ridge N^-1)^-1 ybar and log det(I + N^1/2 K N^1/2 / ridge) over the distinct arms."""
    points, pulls, rewards = history(5, 6, 200)
    posterior, ridge, kernel = (
        played(form, kb.RBF(0.3), points, 0.3, pulls, rewards),
        0.3,
        kb.RBF(0.3),
    )
    n = np.bincount(pulls, minlength=6)
    ybar = np.bincount(pulls, weights=rewards, minlength=6) / n
    k, root = kernel(points, points), np.sqrt(n)
    np.testing.assert_allclose(
        posterior.mean, k @ np.linalg.solve(k + np.diag(ridge / n), ybar), atol=1e-9
    )
    expected = np.linalg.slogdet(np.eye(6) + root[:, None] * k * root / ridge)[1]
    assert posterior.log_det == pytest.approx(expected, abs=1e-9)
    exact = Factorisation.of(k, n, posterior.tally.sums, ridge)
    assert exact.log_det == pytest.approx(expected, abs=1e-10)
    left = k.diagonal() - (exact.explained_root(k) ** 2).sum(0)
    np.testing.assert_allclose(
        exact.played_variance(k.diagonal(), left), posterior.variance, rtol=1e-9
    )
    np.testing.assert_allclose(exact.mean(k), posterior.mean, atol=1e-9)
    explained = exact.explained_root(k)
    np.testing.assert_allclose(k.diagonal() - (explained**2).sum(0), posterior.variance, atol=1e-12)


@every_form
def test_rewards_are_never_centred_so_the_mean_is_linear_in_them(form):
    points, pulls, rewards = history(6, 10, 40)

    def mean(y):
        return played(form, kb.RBF(0.3), points, 1.0, pulls, y).mean

    ones = mean(np.ones(40))
    assert ones.max() < 1 - 1e-3
    np.testing.assert_allclose(mean(rewards + 1000.0), mean(rewards) + 1000.0 * ones, rtol=1e-10)
    np.testing.assert_allclose(mean(-3.0 * rewards), -3.0 * mean(rewards), atol=1e-12)


@every_form
def test_the_order_of_the_rewards_does_not_matter(form):
    points, pulls, rewards = history(7, 10, 60)
    order = np.random.default_rng(0).permutation(60)
    one = played(form, kb.RBF(0.3), points, 1.0, pulls, rewards)
    other = played(form, kb.RBF(0.3), points, 1.0, pulls[order], rewards[order])
    np.testing.assert_allclose(one.mean, other.mean, atol=1e-12)
    np.testing.assert_allclose(one.variance, other.variance, atol=1e-13)
    assert one.log_det == pytest.approx(other.log_det, abs=1e-11)


@every_form
def test_the_basis_arms_have_a_closed_form(form):
    """mean_i = S_i / (ridge + n_i), sd_i^2 = ridge / (ridge + n_i), L = sum ln(1 + n_i / ridge)."""
    posterior = played(form, kb.Linear(), np.eye(3), 0.5, [0, 1, 0, 0], [1.0, -0.5, 2.0, 0.25])
    n = np.array([3, 1, 0])
    np.testing.assert_allclose(posterior.mean, np.array([3.25, -0.5, 0.0]) / (0.5 + n), rtol=1e-14)
    np.testing.assert_allclose(posterior.sd, np.sqrt(0.5 / (0.5 + n)), rtol=1e-14)
    assert posterior.log_det == pytest.approx(np.log1p(n / 0.5).sum(), rel=1e-14)


# ---------------------------------------------------------------- long runs and rounding


@pytest.mark.thorough
@every_form
def test_a_hundred_thousand_pulls_of_one_arm_are_exact(form):
    """var = ridge k / (ridge + n k), mean = k S / (ridge + n k); memory does not grow."""
    n, k, ridge = 100_000, 0.8, 0.5
    posterior = form(k * kb.RBF(1.0), [[0.0], [0.5]], ridge)
    for i in range(n):
        posterior.update(0, 1.0 + (-1) ** i)
    assert posterior.counts.tolist() == [n, 0]
    assert posterior.variance[0] == pytest.approx(ridge * k / (ridge + n * k), rel=1e-9)
    assert posterior.mean[0] == pytest.approx(k * n / (ridge + n * k), rel=1e-10)
    assert posterior.log_det == pytest.approx(math.log1p(n * k / ridge), abs=1e-9)
    assert posterior.health.repairs == 0


def exact_mean_and_variance(k, counts, sums, ridge):
    """The posterior in rational arithmetic, the stored doubles taken as exact; Gauss-Jordan on K + ridge N^-1."""
    n = len(counts)
    matrix = [[Fraction(float(k[i, j])) for j in range(n)] for i in range(n)]
    left = [[*row] for row in matrix]
    for i in range(n):
        left[i][i] += Fraction(ridge) / int(counts[i])
    right = [[sums[i] / int(counts[i])] + [matrix[i][j] for j in range(n)] for i in range(n)]
    for p in range(n):
        pivot = left[p][p]
        left[p], right[p] = [v / pivot for v in left[p]], [v / pivot for v in right[p]]
        for q in range(n):
            if q != p:
                f = left[q][p]
                left[q] = [a - f * b for a, b in zip(left[q], left[p], strict=True)]
                right[q] = [a - f * b for a, b in zip(right[q], right[p], strict=True)]
    mean = [float(sum(matrix[i][j] * right[j][0] for j in range(n))) for i in range(n)]
    variance = [
        float(matrix[i][i] - sum(matrix[i][j] * right[j][1 + i] for j in range(n)))
        for i in range(n)
    ]
    return np.array(mean), np.array(variance)


@every_form
@pytest.mark.parametrize("ridge", [1.0, 0.01])
def test_a_long_run_agrees_with_rational_arithmetic(form, ridge):
    """Four close points (condition number 1e9), 5000 rounds: errors far below what a decision could notice."""
    points, rng = np.array([[0.0], [0.02], [0.04], [1.0]]), np.random.default_rng(8)
    posterior, sums = form(kb.RBF(0.3), points, ridge), [Fraction(0)] * 4
    for _ in range(5000):
        arm, reward = int(rng.integers(4)), float(rng.normal(3.0))
        posterior.update(arm, reward)
        sums[arm] += Fraction(reward)
    mean, variance = exact_mean_and_variance(
        kb.RBF(0.3)(points, points), posterior.counts, sums, ridge
    )
    np.testing.assert_allclose(posterior.variance, variance, rtol=1e-9)
    assert np.abs((posterior.mean - mean) / np.sqrt(variance)).max() < 1e-8
    np.testing.assert_array_equal(posterior.tally.sums, [float(total) for total in sums])


@every_form
@pytest.mark.parametrize("ridge", [1.0, 1e-2, 1e-4, 1e-6, 1e-8, 1e-10])
def test_a_near_singular_kernel_gives_neither_nan_nor_negative_sd(form, ridge, quiet):
    """50 points, lengthscale 0.3: condition number 1e16, and the stored K is indefinite by 1e-15."""
    rng, posterior = np.random.default_rng(9), form(kb.RBF(0.3), LINE, ridge)
    assert np.linalg.eigvalsh(kb.RBF(0.3)(LINE, LINE))[0] < 0
    for _ in range(1500):
        posterior.update(int(np.clip(rng.normal(30, 3), 0, 49)), float(rng.normal()))
    for mean, sd in ((posterior.mean, posterior.sd), posterior.at(LINE)):
        assert np.isfinite(mean).all()
        assert np.isfinite(sd).all()
        assert (sd >= 0).all()
    assert (posterior.sd <= 1 + 1e-9).all()
    assert math.isfinite(posterior.log_det)
    if ridge >= 1e-4:
        np.testing.assert_allclose(posterior.variance, posterior.at(LINE)[1] ** 2, rtol=1e-3)


@every_form
def test_very_many_pulls_of_a_near_singular_kernel_can_still_be_audited(form, quiet):
    """B = I + N^1/2 K N^1/2 / ridge is itself indefinite here: 1e-15 * 1e6 / 1e-10 = 10."""
    posterior = form(kb.RBF(0.3), LINE, 1e-10)
    for arm in range(50):
        posterior.update(arm, 1.0)
    posterior.tally.counts[:] = 1_000_000
    posterior.tally._sums = [1e6] * 50
    posterior.audit()
    assert np.isfinite(posterior.mean).all()
    assert (posterior.sd >= 0).all()
    assert math.isfinite(posterior.log_det)
    np.testing.assert_allclose(posterior.mean, 1.0, atol=1e-2)


@every_form
def test_a_small_ridge_is_reported_once_with_the_digits_left(form):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        posterior = form(kb.RBF(0.3), LINE, 1e-10)
        for i in range(2500):
            posterior.update(i % 50, 1.0)
    texts = [str(w.message) for w in said if "good to" in str(w.message)]
    assert len(texts) == 1
    assert "ridge 1e-10 is small" in texts[0]
    assert posterior.health.conditioning == pytest.approx(np.finfo(float).eps * 50 / 1e-10)


@every_form
def test_equal_points_have_equal_posteriors(form, quiet):
    points = np.vstack([LINE[::5], LINE[::5]])
    posterior = played(
        form, kb.RBF(0.3), points, 0.1, [0, 3, 13, 3, 19], [1.0, 2.0, -1.0, 0.5, 3.0]
    )
    np.testing.assert_allclose(posterior.mean[:10], posterior.mean[10:], atol=1e-14)
    np.testing.assert_allclose(posterior.variance[:10], posterior.variance[10:], atol=1e-14)
    merged = played(form, kb.RBF(0.3), LINE[::5], 0.1, [0, 3, 3, 3, 9], [1.0, 2.0, -1.0, 0.5, 3.0])
    np.testing.assert_allclose(posterior.mean[:10], merged.mean, atol=1e-13)


@every_form
def test_one_arm_is_enough(form):
    posterior = played(form, kb.RBF(0.3), [[0.5]], 1.0, [0, 0], [1.0, 2.0])
    assert posterior.mean[0] == pytest.approx(1.0)
    assert posterior.variance[0] == pytest.approx(1 / 3)


@every_form
def test_an_arm_at_the_origin_of_a_linear_kernel_is_known_from_the_start(form):
    posterior = played(form, kb.Linear(), [[0.0, 0.0], [1.0, 0.0]], 1.0, [0, 1] * 600, [1.0] * 1200)
    assert (posterior.mean[0], posterior.sd[0]) == (0.0, 0.0)
    assert posterior.health.repairs == 0


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf, "1", None, True])
@every_form
def test_the_ridge_is_a_positive_number(form, bad):
    with pytest.raises(ValueError, match="needs ridge > 0"):
        form(kb.RBF(1.0), LINE, bad)


@every_form
def test_as_many_lengths_as_dimensions_are_needed_at_construction(form):
    with pytest.raises(ValueError, match="needs points of 3 dimensions, got 2 and 2"):
        form(kb.RBF((1.0, 1.0, 1.0)), np.zeros((1, 2)))


def test_a_pool_never_holds_an_n_by_n_matrix():
    points = np.random.default_rng(0).random((LARGEST_COVARIANCE + 1, 2))
    assert isinstance(posterior_on(kb.RBF(0.3), kb.Arms(points), 1.0), kb.posterior.RowPosterior)
    assert isinstance(
        posterior_on(kb.RBF(0.3), kb.Arms(points[:50]), 1.0), kb.posterior.ArmPosterior
    )
    large = np.random.default_rng(0).random((200_000, 2))
    posterior = played(
        kb.posterior.RowPosterior, kb.RBF(0.3), large, 1.0, [3, 3, 70_000], [1.0, 2.0, 3.0]
    )
    held = sum(item.nbytes for item in vars(posterior).values() if isinstance(item, np.ndarray))
    assert held < 50 * 8 * 200_000
    few = played(
        kb.posterior.ArmPosterior,
        kb.RBF(0.3),
        large[[3, 70_000, 5]],
        1.0,
        [0, 0, 1],
        [1.0, 2.0, 3.0],
    )
    np.testing.assert_allclose(posterior.mean[[3, 70_000, 5]], few.mean, atol=1e-12)
    np.testing.assert_allclose(posterior.sd[[3, 70_000, 5]], few.sd, atol=1e-12)


# ---------------------------------------------------------------- audits


def audited_events(posterior, pulls, rewards) -> list[int]:
    events, audit = [], posterior.audit
    posterior.audit = lambda: (events.append(posterior.events), audit())[1]
    for arm, reward in zip(pulls, rewards, strict=True):
        posterior.update(int(arm), float(reward))
    return events


@every_form
@pytest.mark.parametrize(("n", "expected"), [(5, [1000, 2000, 3000]), (60, [1200, 2400])])
def test_audits_happen_at_fixed_event_numbers(form, n, expected):
    points, pulls, rewards = history(10, n, 3400)
    pulls[:n] = np.arange(n)
    assert audited_events(form(kb.RBF(0.1), points), pulls, rewards) == expected


@pytest.mark.thorough
@every_form
def test_an_audit_of_a_sound_state_repairs_nothing(form):
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.NumericsWarning)
        for seed, kernel, ridge in (
            (11, kb.RBF(0.3), 1.0),
            (12, kb.Matern(0.2), 0.01),
            (13, kb.Linear(), 1.0),
        ):
            points, pulls, rewards = history(seed, 40, 4000)
            posterior = played(form, kernel, points, ridge, pulls, rewards)
            assert not posterior.audit()
            assert posterior.health.audits == 5
            assert posterior.health.repairs == 0


@pytest.mark.thorough
@every_form
def test_long_concentrated_play_is_no_reason_for_a_repair(form):
    rng, posterior = np.random.default_rng(14), form(kb.RBF(0.3), LINE)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.NumericsWarning)
        for _ in range(12_000):
            posterior.update(int(np.clip(rng.normal(30, 3), 0, 49)), float(rng.normal()))
    assert posterior.health.repairs == 0


@every_form
def test_rewards_that_cancel_are_no_reason_for_a_repair(form):
    """The sum of +-1.3 is exactly zero, the mean of the working state is so up to rounding only."""
    posterior = form(kb.RBF(0.3), LINE[::5])
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.NumericsWarning)
        for i in range(2000):
            posterior.update(7, 1.3 * (-1) ** i)
    assert posterior.health.repairs == 0


def flip_covariance(posterior):
    if isinstance(posterior, kb.posterior.ArmPosterior):
        posterior.cov[3, 8] += 1e-3
    else:
        posterior._core[0, 1] += 1e-3


def flip_variance(posterior):
    posterior.variance[4] += 1e-3


def flip_mean(posterior):
    posterior.mean[2] += 1e-3


def lose_a_number(posterior):
    posterior.mean[5] = math.nan


FLIPS = [flip_covariance, flip_variance, flip_mean, lose_a_number]


@every_form
@pytest.mark.parametrize("flip", FLIPS, ids=lambda flip: flip.__name__)
def test_an_audit_finds_a_flipped_bit_repairs_it_and_says_so(form, flip):
    points, pulls, rewards = history(15, 12, 1300)
    posterior = played(form, kb.RBF(0.3), points, 1.0, pulls[:500], rewards[:500])
    flip(posterior)
    with pytest.warns(kb.NumericsWarning, match="repaired from counts after 1000 rewards"):
        told(posterior, pulls[500:1000], rewards[500:1000])
    assert posterior.health.repairs == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        told(posterior, pulls[1000:], rewards[1000:])
    mean, cov, log_det = direct(kb.RBF(0.3), points, 1.0, pulls, rewards)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.variance, cov.diagonal(), rtol=1e-8)
    assert posterior.log_det == pytest.approx(log_det, abs=1e-8)


@every_form
def test_without_an_audit_the_flipped_bit_would_stay(form):
    """What the audit is for: nothing heals itself."""
    points, pulls, rewards = history(15, 12, 900)
    posterior = played(form, kb.RBF(0.3), points, 1.0, pulls[:500], rewards[:500])
    flip_mean(posterior)
    told(posterior, pulls[500:], rewards[500:])
    mean, _, _ = direct(kb.RBF(0.3), points, 1.0, pulls, rewards)
    assert np.abs(posterior.mean - mean).max() > 1e-5


@every_form
@pytest.mark.parametrize("wrong", [0.5, -0.5])
def test_an_impossible_variance_calls_the_audit_at_once(form, wrong):
    """Above ridge / n or below zero: no exact variance is; the next audit was due 700 rewards later."""
    points, pulls, rewards = history(16, 12, 300)
    posterior = played(form, kb.RBF(0.3), points, 1.0, pulls, rewards)
    if form is kb.posterior.ArmPosterior:
        posterior.cov[0, 0] = wrong
    else:
        posterior._core[0, 0] -= wrong * 10
    with pytest.warns(kb.NumericsWarning, match="repaired from counts after 301 rewards"):
        posterior.update(0, 0.0)
    assert posterior.health.clamps == (wrong < 0)
    mean, cov, _ = direct(kb.RBF(0.3), points, 1.0, [*pulls, 0], [*rewards, 0.0])
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(posterior.variance, cov.diagonal(), rtol=1e-8)


def test_a_repair_replaces_the_whole_covariance():
    points, pulls, rewards = history(17, 12, 300)
    posterior = played(kb.posterior.ArmPosterior, kb.RBF(0.3), points, 1.0, pulls, rewards)
    posterior.cov[2, 9] += 1e-3
    with pytest.warns(kb.NumericsWarning):
        assert posterior.audit()
    np.testing.assert_allclose(
        posterior.cov, direct(kb.RBF(0.3), points, 1.0, pulls, rewards)[1], atol=1e-10
    )
    np.testing.assert_allclose(posterior.cov, posterior.cov.T, atol=1e-15)


# ---------------------------------------------------------------- joint samples


@pytest.mark.parametrize("kernel", [kb.RBF(0.3), kb.Linear(), kb.Matern(0.2, nu=0.5)], ids=str)
@pytest.mark.parametrize("ridge", [1.0, 0.01])
def test_a_posterior_draw_has_exactly_the_posterior_covariance(kernel, ridge):
    """Matheron's rule is linear in 2 n independent normals: A A' = cov, column by column, without sampling."""
    points, pulls, rewards = history(18, 8, 30)
    posterior = played(kb.posterior.ArmPosterior, kernel, points, ridge, pulls, rewards)
    zero, unit = np.zeros(8), np.eye(8)
    columns = [posterior.deviation(posterior.root() @ unit[i], zero) for i in range(8)]
    columns += [posterior.deviation(zero, unit[i]) for i in range(8)]
    linear_map = np.column_stack(columns)
    np.testing.assert_allclose(linear_map @ linear_map.T, posterior.cov, atol=1e-11 / ridge)
    np.testing.assert_array_equal(posterior.deviation(zero, zero), zero)


def test_the_root_of_a_near_singular_kernel_is_a_root():
    root = kb.posterior.ArmPosterior(kb.RBF(0.3), LINE).root()
    np.testing.assert_allclose(root @ root.T, kb.RBF(0.3)(LINE, LINE), atol=1e-13)


def test_posterior_draws_have_the_moments_of_the_posterior():
    points, pulls, rewards = history(19, 4, 10)
    posterior = played(kb.posterior.ArmPosterior, kb.RBF(0.5), points, 1.0, pulls, rewards)
    rng, root, n = np.random.default_rng(20), posterior.root(), 20_000
    draws = np.array(
        [posterior.deviation(root @ rng.normal(size=4), rng.normal(size=4)) for _ in range(n)]
    )
    sd, cov = posterior.sd, posterior.cov
    assert np.abs(draws.mean(0) / sd).max() < 4 / math.sqrt(n)
    error = np.sqrt((np.outer(sd**2, sd**2) + cov**2) / n)
    assert np.abs((draws.T @ draws / n - cov) / error).max() < 4


def test_an_impossible_variance_is_audited_at_once(quiet):
    posterior = kb.posterior.ArmPosterior(kb.RBF(0.3), np.random.default_rng(0).random((20, 2)))
    for arm in range(5):
        posterior.update(arm, 0.5)
    posterior.cov[7, 7] = -1.0
    posterior.update(7, 0.5)
    assert posterior.health.repairs == 1
    mean, sd = posterior.at(posterior.points)
    np.testing.assert_allclose(posterior.sd, sd, atol=1e-9)
    np.testing.assert_allclose(posterior.mean, mean, atol=1e-9)


def test_a_nan_in_the_covariance_is_repaired_when_its_arm_is_played_and_named_when_asked(quiet):
    policy = kb.SimpleUCB(
        np.random.default_rng(0).random((20, 2)), kb.RBF(0.3), noise_scale=1.0, norm_bound=1.0
    )
    policy.tell(policy.choice(3), 0.5)
    policy.posterior.cov[7, 7] = np.nan
    with pytest.raises(ValueError, match="needs finite indices, got nan"):
        policy.ask(2, kb.Streams(0))
    policy.tell(policy.choice(7), 0.5)
    assert policy.ask(3, kb.Streams(0)).arm is not None
    assert policy.posterior.health.repairs == 1


def test_suspicion_an_audit_did_not_confirm_is_not_heard_in_every_round(quiet):
    posterior = kb.posterior.ArmPosterior(kb.RBF(0.3), np.linspace(0, 1, 50)[:, None], 1e-12)
    for t in range(400):
        posterior.update(t % 50, 0.0)
    assert posterior.health.audits <= 40


@every_form
@pytest.mark.parametrize("ridge", [1e6, 1e9, 1e12])
def test_a_large_ridge_is_no_reason_for_repairs(form, ridge):
    posterior, rng = form(kb.RBF(0.3), LINE, ridge), np.random.default_rng(0)
    for arm in rng.integers(50, size=3100):
        posterior.update(int(arm), float(rng.normal()))
    assert posterior.health.audits == 3
    assert posterior.health.repairs == 0


def test_a_variance_that_is_not_positive_teaches_nothing_and_no_number_runs_away(quiet):
    rng = np.random.default_rng(0)
    points = np.column_stack(
        [rng.uniform(300, 900, 40), rng.uniform(1, 100, 40), rng.uniform(0, 1, 40)]
    )
    policy = kb.GPUCB(points, kb.kernels.Polynomial(3), noise_scale=1.0)
    for t in range(1, 301):
        choice = policy.ask(t, kb.Streams(0))
        policy.tell(choice, float(rng.normal()))
    assert np.abs(policy.posterior.mean).max() < 1e5
    assert (policy.posterior.sd >= 0).all()
    assert policy.posterior.health.conditioning > 1e-3


BAD_ARMS = (-1, 50, 1.5, "a", None, True)
BAD_UPDATES = [*((arm, 1.0) for arm in BAD_ARMS), (0, math.nan), (0, 1e200), (0, "1")]


@every_form
@pytest.mark.parametrize(("arm", "reward"), BAD_UPDATES)
def test_a_posterior_refuses_what_it_cannot_learn_from(form, arm, reward):
    posterior = form(kb.RBF(0.3), LINE)
    with pytest.raises(ValueError, match="needs"):
        posterior.update(arm, reward)
    assert posterior.events == 0
    assert not posterior.mean.any()
