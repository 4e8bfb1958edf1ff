from __future__ import annotations

import copy
import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.policies.acquisition import PosteriorMean, StandardDeviation, Surface
from kernelbandits.posterior import PointPosterior, posterior_on
from kernelbandits.posterior.cholesky import GrowingFactor

KERNELS = {
    "rbf": kb.RBF(0.3),
    "long rbf": kb.RBF(2.0),
    "matern 1/2": kb.Matern(0.3, nu=0.5),
    "matern 3/2": kb.Matern(0.3, nu=1.5),
    "matern 5/2": kb.Matern((0.3, 0.8)),
    "rational quadratic": kb.kernels.RationalQuadratic(0.3),
    "linear": kb.Linear(),
    "polynomial": 0.1 * kb.kernels.Polynomial(3),
    "normalised": kb.kernels.Normalised(kb.kernels.Polynomial(2)),
    "sum": 0.5 * kb.RBF(0.2) + 0.5 * kb.Linear(),
    "on": kb.kernels.On(kb.RBF(0.2), (0,)) * kb.kernels.On(kb.Matern(1.0), (1,)),
    "adapted": kb.kernels.Adapted(
        lambda x, z: np.exp(-0.5 * ((x[:, None] - z[None]) ** 2).sum(-1) / 0.09)
    ),
}
RIDGES = (1e-6, 1e-3, 0.1, 1.0, 10.0)
CLOUD = np.random.default_rng(3).random((25, 2))


def gradients_of(posterior, rows):
    """Mean, sd and their gradients as a search evaluates them."""
    mean, mean_slope = Surface(posterior, PosteriorMean()).slopes(np.asarray(rows, dtype=float))
    sd, sd_slope = Surface(posterior, StandardDeviation()).slopes(np.asarray(rows, dtype=float))
    return mean, sd, mean_slope, sd_slope


def world(kernel, points, ridge, rng):
    """Rewards as the posterior believes them: f from the prior, noise of variance ridge."""
    values, vectors = np.linalg.eigh(kernel(points, points))
    f = vectors @ (np.sqrt(np.maximum(values, 0)) * rng.normal(size=len(points)))
    return lambda arm: float(f[arm] + math.sqrt(ridge) * rng.normal())


def played(kernel, ridge, rounds, seed, points=CLOUD, crowd=1.0):
    """Both posteriors after the same rounds, and what was played; the first arm is played `crowd` times as often."""
    rng = np.random.default_rng(seed)
    on_arms, on_points = (
        kb.posterior.ArmPosterior(kernel, points, ridge),
        PointPosterior(kernel, points.shape[1], ridge),
    )
    reward, chances = world(kernel, points, ridge, rng), np.r_[crowd, np.ones(len(points) - 1)]
    history = []
    for arm in rng.choice(len(points), size=rounds, p=chances / chances.sum()).tolist():
        history.append((arm, reward(arm)))
        on_arms.update(*history[-1])
        on_points.update(points[arm], history[-1][1])
    return on_arms, on_points, history


def brute_force(kernel, ridge, points, rewards, where):
    """mean, sd and log-determinant from all t plays, by numpy.linalg alone."""
    gram, cross = kernel(points, points), kernel(where, points)
    inverse = np.linalg.inv(gram + ridge * np.eye(len(points)))
    variance = kernel.diagonal(where) - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    log_det = np.linalg.slogdet(np.eye(len(points)) + gram / ridge)[1]
    return cross @ inverse @ rewards, np.sqrt(np.maximum(variance, 0)), log_det


@pytest.mark.parametrize("ridge", RIDGES)
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_on_a_finite_set_it_is_the_arm_posterior(kernel, ridge):
    on_arms, on_points, _ = played(kernel, ridge, 120, seed=1)
    mean, sd = on_points.at(CLOUD)
    np.testing.assert_allclose(mean, on_arms.mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(sd, on_arms.sd, rtol=0, atol=1e-8)
    assert on_points.log_det == pytest.approx(on_arms.log_det, abs=1e-8, rel=1e-9)
    assert on_points.events == on_arms.events == on_points.counts.sum()
    assert on_points.health.repairs == 0


@pytest.mark.thorough
@pytest.mark.parametrize("ridge", [1e-6, 1.0])
@pytest.mark.parametrize("name", ["rbf", "linear", "matern 5/2"])
def test_it_stays_the_arm_posterior_over_thousands_of_repeats(name, ridge):
    on_arms, on_points, _ = played(KERNELS[name], ridge, 2000, seed=2, crowd=300.0)
    mean, sd = on_points.at(CLOUD)
    np.testing.assert_allclose(mean, on_arms.mean, rtol=0, atol=1e-8)
    np.testing.assert_allclose(sd, on_arms.sd, rtol=0, atol=1e-8)
    assert on_points.log_det == pytest.approx(on_arms.log_det, abs=1e-8, rel=1e-9)
    assert on_points.health.repairs == 0
    assert on_points.health.audits == 20


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_before_any_audit_it_is_the_formula_over_all_plays(kernel):
    ridge, where = 0.05, np.random.default_rng(9).random((11, 2))
    _, posterior, history = played(kernel, ridge, 90, seed=4)
    assert posterior.health.audits == 0
    points, rewards = (
        CLOUD[[arm for arm, _ in history]],
        np.array([reward for _, reward in history]),
    )
    mean, sd, log_det = brute_force(kernel, ridge, points, rewards, where)
    np.testing.assert_allclose(posterior.at(where)[0], mean, rtol=0, atol=1e-10)
    np.testing.assert_allclose(posterior.at(where)[1], sd, rtol=0, atol=1e-10)
    assert posterior.log_det == pytest.approx(log_det, rel=1e-11)


def test_points_counts_and_sums_are_those_of_the_plays():
    _, posterior, history = played(kb.RBF(0.3), 0.1, 200, seed=6)
    order = list(dict.fromkeys(arm for arm, _ in history))
    np.testing.assert_array_equal(posterior.points, CLOUD[order])
    assert posterior.counts.tolist() == [sum(arm == other for other, _ in history) for arm in order]
    exact = [math.fsum(reward for other, reward in history if other == arm) for arm in order]
    np.testing.assert_allclose(posterior.sums, exact, rtol=1e-15, atol=1e-15)
    np.testing.assert_array_equal(posterior.prior, np.ones(len(order)))


def test_the_order_of_plays_does_not_matter():
    rng = np.random.default_rng(7)
    plays = [(CLOUD[i], float(rng.normal())) for i in rng.integers(8, size=60)]
    forth, back = PointPosterior(kb.Matern(0.3), 2, 0.01), PointPosterior(kb.Matern(0.3), 2, 0.01)
    for point, reward in plays:
        forth.update(point, reward)
    for point, reward in reversed(plays):
        back.update(point, reward)
    for ours, theirs in zip(forth.at(CLOUD), back.at(CLOUD), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11)
    assert forth.log_det == pytest.approx(back.log_det, rel=1e-12)


def test_before_the_first_reward_there_is_the_prior():
    posterior = PointPosterior(2.0 * kb.kernels.Polynomial(2), 2)
    mean, sd, mean_slope, sd_slope = gradients_of(posterior, CLOUD)
    np.testing.assert_array_equal(mean, 0.0)
    np.testing.assert_array_equal(mean_slope, 0.0)
    np.testing.assert_allclose(sd, math.sqrt(2) * ((CLOUD**2).sum(1) + 1))
    np.testing.assert_allclose(sd_slope, math.sqrt(2) * 2 * CLOUD)
    assert posterior.log_det == 0
    assert posterior.at(CLOUD)[1].tolist() == sd.tolist()
    assert not posterior.audit()


def test_minus_zero_is_zero():
    posterior = PointPosterior(kb.RBF(0.3), 2, 0.1)
    for point in ([0.0, 0.5], [-0.0, 0.5], np.array([-0.0, 0.5])):
        posterior.update(point, 1.0)
    assert posterior.counts.tolist() == [3]
    assert posterior.points.tobytes() == np.array([[0.0, 0.5]]).tobytes()


@settings(max_examples=40)
@given(
    st.integers(0, 10**6),
    st.sampled_from(sorted(KERNELS)),
    st.floats(1e-6, 10.0),
    st.integers(1, 40),
)
def test_a_reward_never_widens_the_posterior(seed, name, ridge, rounds):
    rng = np.random.default_rng(seed)
    posterior, where = PointPosterior(KERNELS[name], 2, ridge), rng.random((6, 2))
    points = rng.random((6, 2))
    sd, gain = posterior.at(where)[1], 0.0
    for arm in rng.integers(6, size=rounds).tolist():
        before = posterior.at(points[[arm]])[1][0]
        posterior.update(points[arm], float(rng.normal()))
        after = posterior.at(points[[arm]])[1][0]
        later = posterior.at(where)[1]
        assert (later <= sd + 1e-7).all()
        assert after**2 <= ridge / posterior.counts.max() * 1.001 or after <= before + 1e-7
        assert posterior.log_det >= gain - 1e-12
        assert posterior.log_det - gain == pytest.approx(math.log1p(before**2 / ridge), abs=1e-6)
        sd, gain = later, posterior.log_det


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_gradients_are_the_limits_of_differences(kernel):
    _, posterior, _ = played(kernel, 0.05, 60, seed=8)
    where, h = np.random.default_rng(1).random((9, 2)), 1e-5
    mean, sd, mean_slope, sd_slope = gradients_of(posterior, where)
    np.testing.assert_allclose(mean, posterior.at(where)[0], rtol=0, atol=1e-13)
    np.testing.assert_allclose(sd, posterior.at(where)[1], rtol=0, atol=1e-13)
    for j, step in enumerate(h * np.eye(2)):
        up, down = posterior.at(where + step), posterior.at(where - step)
        np.testing.assert_allclose(mean_slope[:, j], (up[0] - down[0]) / (2 * h), atol=1e-5)
        np.testing.assert_allclose(sd_slope[:, j], (up[1] - down[1]) / (2 * h), atol=1e-5)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
@pytest.mark.parametrize("ridge", [1e-300, 1e-14, 1e-6])
def test_gradients_are_finite_where_nothing_is_unknown(kernel, ridge):
    posterior = PointPosterior(kernel, 2, ridge)
    for point in CLOUD[:12]:
        posterior.update(point, 1.0)
        posterior.update(point, 1.0)
    for part in gradients_of(posterior, CLOUD):
        assert np.isfinite(part).all()


def test_the_sd_of_a_point_without_prior_variance_is_flat():
    posterior = PointPosterior(kb.Linear(), 2, 1.0)
    posterior.update([0.5, 0.5], 1.0)
    _, sd, _, slope = gradients_of(posterior, np.zeros((1, 2)))
    assert sd[0] == 0
    np.testing.assert_array_equal(slope, np.zeros((1, 2)))


@pytest.mark.parametrize("ridge", [1e-16, 1e-12, 1e-9])
def test_a_tiny_ridge_never_breaks_the_factor(ridge):
    """Pivots stay at least ridge / n, so variances stay numbers, none negative and none above the prior."""
    rng = np.random.default_rng(0)
    points = np.r_[rng.random((20, 1)), rng.random((20, 1)) * 1e-9]
    posterior = PointPosterior(kb.RBF(1.0), 1, ridge)
    for arm in rng.integers(40, size=600).tolist():
        posterior.update(points[arm], 1.0)
        pivots = posterior.members[0].factor.lower.diagonal()
        assert (pivots**2 >= 0.999 * ridge / (posterior.counts + 1)).all()
    mean, sd = posterior.at(points)
    assert np.isfinite(mean).all()
    assert ((sd >= 0) & (sd <= 1)).all()
    assert math.isfinite(posterior.log_det)


def test_a_tiny_ridge_is_reported_once():
    with pytest.warns(kb.NumericsWarning, match="ridge 1e-12 is small"):
        posterior = PointPosterior(kb.RBF(0.3), 2, 1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.NumericsWarning)
        posterior.update([0.5, 0.5], 1.0)
    assert posterior.health.conditioning == pytest.approx(2.2e-16 / 1e-12, rel=0.01)


@pytest.mark.parametrize("ridge", [1e8, 1e12])
def test_a_huge_ridge_keeps_the_digits_of_small_gains(ridge):
    _, posterior, _ = played(kb.RBF(0.3), ridge, 90, seed=3)
    rows = np.repeat(posterior.points, posterior.counts, axis=0)
    values = np.linalg.eigvalsh(kb.RBF(0.3)(rows, rows))
    assert posterior.log_det == pytest.approx(np.log1p(values / ridge).sum(), rel=1e-10, abs=0)


def test_an_audit_finds_damage_and_mends_it():
    _, posterior, _ = played(kb.RBF(0.3), 0.1, 90, seed=3)
    right, log_det = posterior.at(CLOUD), posterior.log_det
    posterior.members[0].factor.lower[3, 1] += 1e-3
    posterior.members[0]._coefficients = None
    assert not np.allclose(posterior.at(CLOUD)[1], right[1], rtol=0, atol=1e-6)
    with pytest.warns(kb.NumericsWarning, match="repaired from counts after 90 rewards"):
        assert posterior.audit()
    for ours, theirs in zip(posterior.at(CLOUD), right, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)
    posterior.members[0].log_det += 0.1
    with pytest.warns(kb.NumericsWarning):
        posterior.audit()
    assert posterior.log_det == pytest.approx(log_det, rel=1e-12)
    assert not posterior.audit()
    assert posterior.health.audits == 3
    assert posterior.health.repairs == 2


@pytest.mark.parametrize("again", [True, False])
def test_a_state_that_is_no_number_is_mended_at_the_next_reward(again):
    _, posterior, _ = played(kb.RBF(0.3), 0.1, 60, seed=3)
    point = posterior.points[0] if again else np.array([0.123, 0.456])
    twin = copy.deepcopy(posterior)
    twin.update(point, 1.0)
    posterior.members[0].factor.lower[:] *= np.nan
    with pytest.warns(kb.NumericsWarning, match="repaired"):
        posterior.update(point, 1.0)
    for ours, theirs in zip(posterior.at(CLOUD), twin.at(CLOUD), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-11)


@settings(max_examples=30)
@given(st.integers(1, 30), st.integers(0, 10**6))
def test_the_factor_follows_a_falling_diagonal_entry(m, seed):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(m, m))
    matrix = root @ root.T + np.eye(m)
    entry, factor = int(rng.integers(m)), GrowingFactor(np.linalg.cholesky(matrix))
    unit = np.eye(m)[entry]
    fall = 0.5 / np.linalg.inv(matrix)[entry, entry]
    factor.lower_diagonal(math.sqrt(fall) * factor.solve(unit))
    np.testing.assert_allclose(
        factor.lower, np.linalg.cholesky(matrix - fall * np.outer(unit, unit)), atol=1e-10
    )
    assert np.array_equal(factor.lower, np.tril(factor.lower))


def test_the_factor_grows_beyond_its_buffer():
    root = np.random.default_rng(0).normal(size=(70, 70))
    lower = np.linalg.cholesky(root @ root.T + np.eye(70))
    factor = GrowingFactor()
    for row in range(70):
        factor.append(lower[row, :row], lower[row, row])
    np.testing.assert_array_equal(factor.lower, lower)
    right = np.random.default_rng(1).normal(size=(70, 3))
    np.testing.assert_allclose(lower @ factor.solve(right), right, atol=1e-10)
    np.testing.assert_allclose(lower.T @ factor.solve(right, transposed=True), right, atol=1e-10)


def test_imagined_plays_lower_the_variances_and_leave_the_estimate():
    _, posterior, history = played(kb.Matern(0.3), 0.05, 80, seed=5)
    pending = np.vstack([CLOUD[history[0][0]], CLOUD[history[0][0]], [[0.31, 0.77], [0.31, 0.77]]])
    before = (
        posterior.at(CLOUD),
        posterior.log_det,
        posterior.counts.copy(),
        posterior.points.copy(),
    )
    other = posterior.with_pending(pending)
    np.testing.assert_allclose(other.at(CLOUD)[0], posterior.at(CLOUD)[0], rtol=0, atol=1e-11)
    rows = np.vstack([np.repeat(posterior.points, posterior.counts, axis=0), pending])
    _, sd, log_det = brute_force(kb.Matern(0.3), 0.05, rows, np.zeros(len(rows)), CLOUD)
    np.testing.assert_allclose(other.at(CLOUD)[1], sd, rtol=0, atol=1e-10)
    assert other.log_det == pytest.approx(log_det, rel=1e-11)
    np.testing.assert_array_equal(posterior.at(CLOUD), before[0])
    assert posterior.log_det == before[1]
    np.testing.assert_array_equal(posterior.counts, before[2])
    np.testing.assert_array_equal(posterior.points, before[3])
    other.update([0.9, 0.1], 5.0)
    np.testing.assert_array_equal(posterior.at(CLOUD), before[0])
    posterior.update([0.31, 0.77], 3.0)
    assert posterior.counts[-1] == 1
    assert other.counts.sum() == posterior.counts.sum() + 4


def test_nothing_imagined_is_a_copy():
    _, posterior, _ = played(kb.RBF(0.3), 0.05, 30, seed=5)
    for other in (posterior.with_pending([]), posterior.with_pending(np.empty((0, 2)))):
        assert other is not posterior
        np.testing.assert_array_equal(other.at(CLOUD), posterior.at(CLOUD))


@pytest.mark.parametrize(
    "form", [kb.posterior.ArmPosterior, kb.posterior.RowPosterior, kb.posterior.LinearPosterior]
)
def test_arms_may_be_imagined_as_played_too(form):
    rng = np.random.default_rng(2)
    posterior, points = form(kb.Linear(), CLOUD, 0.1), PointPosterior(kb.Linear(), 2, 0.1)
    for arm in rng.integers(25, size=40).tolist():
        reward = float(rng.normal())
        posterior.update(arm, reward)
        points.update(CLOUD[arm], reward)
    mean, sd, log_det = posterior.mean.copy(), posterior.sd, posterior.log_det
    other, theirs = posterior.with_pending((3, 3, 7)), points.with_pending(CLOUD[[3, 3, 7]])
    assert type(other) is form
    np.testing.assert_allclose(other.mean, mean, rtol=0, atol=1e-12)
    np.testing.assert_allclose(other.sd, theirs.at(CLOUD)[1], rtol=0, atol=1e-10)
    assert other.log_det == pytest.approx(theirs.log_det, rel=1e-11)
    np.testing.assert_array_equal(posterior.mean, mean)
    np.testing.assert_array_equal(posterior.sd, sd)
    assert posterior.log_det == log_det
    assert posterior.events == 40
    for bad in (25, -1, 1.5, None):
        with pytest.raises(ValueError, match="update needs an arm below 25"):
            posterior.with_pending((bad,))


def test_a_posterior_is_chosen_by_the_domain():
    assert type(posterior_on(kb.RBF(0.3), kb.Arms(CLOUD), 1.0)) is kb.posterior.ArmPosterior
    assert type(posterior_on(kb.RBF(0.3), CLOUD, 1.0)) is kb.posterior.ArmPosterior
    posterior = posterior_on(kb.RBF(0.3), kb.Box((0.0, 0.0, 0.0), (1.0, 1.0, 2.0)), 0.5)
    assert type(posterior) is PointPosterior
    assert posterior.dimension == 3
    assert posterior.ridge == 0.5
    assert posterior.complete


def test_the_prior_of_a_box_is_that_of_its_corners_until_a_point_is_played():
    posterior = PointPosterior(kb.Linear(), kb.Box((-1.0, 0.0), (1.0, 3.0)))
    assert posterior.prior.max() == 10.0
    posterior.update([0.5, 0.5], 0.0)
    assert posterior.prior.tolist() == [0.5]


BAD_POINTS = [
    None,
    "ab",
    1.0,
    [0.5],
    [0.1, 0.2, 0.3],
    [0.5, float("nan")],
    [float("inf"), 0.0],
    [[0.1, 0.2]],
    [1j, 0],
    [],
]


@pytest.mark.parametrize("point", BAD_POINTS, ids=str)
def test_a_point_that_is_none_is_refused_and_changes_nothing(point):
    posterior = PointPosterior(kb.RBF(0.3), 2)
    for call in (
        lambda: posterior.update(point, 1.0),
        lambda: posterior.at([point]),
    ):
        with pytest.raises(ValueError, match=r"needs .*, got"):
            call()
    assert posterior.events == len(posterior.points) == 0


@pytest.mark.parametrize(
    "reward", [None, "1", float("nan"), float("inf"), 1e200, True, 1j, [1.0]], ids=str
)
def test_a_reward_that_is_none_is_refused_and_changes_nothing(reward):
    posterior = PointPosterior(kb.RBF(0.3), 2)
    with pytest.raises(ValueError, match=r"tell needs .*, got"):
        posterior.update([0.5, 0.5], reward)
    assert posterior.events == len(posterior.points) == posterior.log_det == 0


@pytest.mark.parametrize(
    "dimension", [0, -1, 1.5, None, "2", True, float("nan"), (0.0, 1.0)], ids=str
)
def test_a_dimension_that_is_none_is_refused(dimension):
    with pytest.raises(ValueError, match=r"needs a whole number dimension >= 1, got"):
        PointPosterior(kb.RBF(0.3), dimension)


@pytest.mark.parametrize("ridge", [0, -1.0, float("nan"), float("inf"), None, "1"], ids=str)
def test_a_ridge_that_is_none_is_refused(ridge):
    with pytest.raises(ValueError, match="a posterior needs ridge > 0, got"):
        PointPosterior(kb.RBF(0.3), 2, ridge)


def test_a_kernel_of_other_dimensions_is_refused_at_once():
    with pytest.raises(ValueError, match="RBF needs points of 3 dimensions, got 2 and 2"):
        PointPosterior(kb.RBF((0.1, 0.2, 0.3)), 2)
    with pytest.raises(ValueError, match="needs a kernel or a callable"):
        PointPosterior("rbf", 2)


def test_a_faulty_kernel_is_refused():
    def indefinite(x, z):
        return np.cos(3 * (x[:, :1] + z[:, :1].T))

    def with_a_hole(x, z):
        return np.where(
            (x[:, :1] == 0.25) | (z[:, :1].T == 0.25),
            np.nan,
            np.exp(-np.abs(x[:, :1] - z[:, :1].T)),
        )

    with pytest.raises(ValueError, match="negative eigenvalue"):
        PointPosterior(indefinite, kb.Box((0.0,), (1.0,)))
    posterior = PointPosterior(with_a_hole, 1)
    posterior.update([0.5], 1.0)
    with pytest.raises(ValueError, match="needs finite values"):
        posterior.update([0.25], 1.0)
    assert posterior.events == len(posterior.points) == 1

    def vanishing(x, z):
        return 2.0 - 3.0 * (np.abs(x[:, :1] - z[:, :1].T) < 1e-3) * (
            np.minimum(x[:, :1], z[:, :1].T) < 0.5
        )

    posterior = PointPosterior(vanishing, 1)
    posterior.update([0.9], 1.0)
    with pytest.raises(ValueError, match="no negative eigenvalue"):
        posterior.update([0.1], 1.0)
    assert posterior.events == len(posterior.points) == 1
