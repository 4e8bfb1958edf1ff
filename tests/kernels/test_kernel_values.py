from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as sk

import kernelbandits as kb
from kernelbandits.kernels import as_kernel, gram, has_adapted

RNG = np.random.default_rng(0)
X, Z = RNG.normal(size=(15, 3)), RNG.normal(size=(9, 3))
ARD = (0.3, 1.0, 2.5)

TWINS = {
    "rbf": (kb.RBF(0.7), sk.RBF(0.7)),
    "rbf ard": (kb.RBF(ARD), sk.RBF(ARD)),
    "matern 1/2": (kb.Matern(0.7, nu=0.5), sk.Matern(0.7, nu=0.5)),
    "matern 3/2": (kb.Matern(0.7, nu=1.5), sk.Matern(0.7, nu=1.5)),
    "matern 5/2": (kb.Matern(0.7), sk.Matern(0.7, nu=2.5)),
    "matern ard": (kb.Matern(ARD, nu=1.5), sk.Matern(ARD, nu=1.5)),
    "rational quadratic": (
        kb.kernels.RationalQuadratic(0.7, alpha=0.4),
        sk.RationalQuadratic(length_scale=0.7, alpha=0.4),
    ),
    "linear": (kb.Linear(), sk.DotProduct(sigma_0=0.0)),
    "polynomial": (kb.kernels.Polynomial(3, offset=0.25), sk.DotProduct(sigma_0=0.5) ** 3),
    "sum": (kb.RBF(0.7) + kb.Linear(), sk.RBF(0.7) + sk.DotProduct(sigma_0=0.0)),
    "product": (kb.RBF(0.7) * kb.Linear(), sk.RBF(0.7) * sk.DotProduct(sigma_0=0.0)),
    "scaled": (0.5 * kb.RBF(0.7), 0.5 * sk.RBF(0.7)),
    "sum of products": (
        0.3 * kb.RBF(ARD) * kb.Matern(2.0) + kb.kernels.RationalQuadratic() * 0.2,
        0.3 * sk.RBF(ARD) * sk.Matern(2.0, nu=2.5) + sk.RationalQuadratic() * 0.2,
    ),
}
OWN = {name: ours for name, (ours, _) in TWINS.items()} | {
    "normalised": kb.kernels.Normalised(kb.kernels.Polynomial(2))
}


@pytest.mark.parametrize(("ours", "theirs"), TWINS.values(), ids=TWINS)
def test_values_are_scikit_learns(ours, theirs):
    np.testing.assert_allclose(ours(X, Z), theirs(X, Z), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", OWN.values(), ids=OWN)
def test_a_kernel_is_a_value(kernel):
    assert kernel == kernel
    assert hash(kernel) == hash(kernel)
    field = next(iter(vars(kernel)), None)
    if field:
        with pytest.raises(AttributeError):
            setattr(kernel, field, 1.0)


def test_one_length_for_all_is_the_same_length_for_each():
    np.testing.assert_array_equal(kb.RBF(0.7)(X, Z), kb.RBF((0.7,) * 3)(X, Z))
    assert kb.RBF(1) == kb.RBF(1.0)
    assert kb.RBF(np.array([1, 2])) == kb.RBF((1.0, 2.0))


def test_an_irrelevant_dimension_has_no_influence():
    moved = X.copy()
    moved[:, 1] += 7.0
    kernel = kb.RBF((0.3, 1e300, 2.0))
    np.testing.assert_array_equal(kernel(X, Z), kernel(moved, Z))


def test_normalised_is_the_correlation_of_the_kernel():
    kernel = kb.kernels.Normalised(0.3 * kb.kernels.Polynomial(2, offset=0.5) + kb.Linear())
    raw = 0.3 * kb.kernels.Polynomial(2, offset=0.5) + kb.Linear()
    expected = raw(X, Z) / np.sqrt(raw(X, X).diagonal()[:, None] * raw(Z, Z).diagonal()[None, :])
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-13)
    np.testing.assert_array_equal(kernel.diagonal(X), np.ones(len(X)))


def test_normalised_needs_a_kernel_that_is_nowhere_zero():
    with pytest.raises(ValueError, match=r"needs k\(x, x\) > 0 at every point, got 0.0"):
        kb.kernels.Normalised(kb.Linear())(np.zeros((1, 2)), np.ones((1, 2)))


@pytest.mark.parametrize("kernel", [kb.RBF, kb.Matern, kb.kernels.RationalQuadratic])
def test_stationary_kernels_are_one_on_the_diagonal_and_depend_on_the_difference_only(kernel):
    matrix = kernel(0.7)(X, X)
    np.testing.assert_array_equal(matrix.diagonal(), 1.0)
    np.testing.assert_allclose(kernel(0.7)(X + 5.0, X + 5.0), matrix, atol=1e-12)


@pytest.mark.parametrize("kernel", [kb.RBF, kb.Matern, kb.kernels.RationalQuadratic])
def test_a_lengthscale_that_is_no_length_is_refused_with_its_value(kernel):
    no_lengths = [0, 0.0, -1.0, math.nan, math.inf, "1", None, True, 1j, (), (1.0, 0.0), [[1.0]]]
    for bad in no_lengths if kernel is kb.RBF else (0.0,):
        with pytest.raises(ValueError, match=f"{kernel.__name__} needs") as error:
            kernel(bad)
        assert repr(bad[-1] if isinstance(bad, tuple) and bad else bad) in str(error.value)


@pytest.mark.parametrize(
    "kernel",
    [
        kb.RBF,
        kb.kernels.RationalQuadratic,
        *(lambda length, nu=nu: kb.Matern(length, nu) for nu in (0.5, 1.5, 2.5)),
    ],
)
def test_a_tiny_length_gives_the_identity_and_a_huge_one_the_constant(kernel):
    for tiny in (1e-300, 1e-154, 1e-155):
        np.testing.assert_allclose(kernel(tiny)(X, X), np.eye(len(X)), atol=1e-100)
    np.testing.assert_array_equal(kernel(1e300)(X, X), np.ones((len(X), len(X))))


@pytest.mark.parametrize("nu", [0.0, 1.0, 3.5, -0.5, float("nan"), float("inf"), "2.5"])
def test_only_three_smoothnesses_are_offered(nu):
    with pytest.raises(ValueError, match="Matern needs nu in"):
        kb.Matern(1.0, nu=nu)


@pytest.mark.parametrize("alpha", [0.0, -1.0, float("nan")])
def test_a_rational_quadratic_needs_alpha_above_zero(alpha):
    with pytest.raises(ValueError, match="RationalQuadratic needs alpha > 0"):
        kb.kernels.RationalQuadratic(1.0, alpha=alpha)


@pytest.mark.parametrize(
    ("degree", "offset"), [(0, 1.0), (-1, 1.0), (1.5, 1.0), (2, -0.1), (2, float("nan"))]
)
def test_a_polynomial_that_is_no_kernel_is_refused(degree, offset):
    with pytest.raises(ValueError, match="Polynomial needs"):
        kb.kernels.Polynomial(degree, offset)


@pytest.mark.parametrize("factor", [0.0, -1.0, float("inf"), float("nan"), True])
def test_a_kernel_is_scaled_by_a_positive_number_only(factor):
    with pytest.raises(ValueError, match="needs"):
        factor * kb.RBF(1.0)


@pytest.mark.parametrize("kernel", [kb.RBF((1.0, 2.0)), kb.RBF((1.0,)), kb.Matern((1.0,) * 4)])
def test_the_lengths_must_be_as_many_as_the_dimensions(kernel):
    with pytest.raises(ValueError, match=r"needs points of . dimensions, got 3 and 3"):
        kernel(X, X)


@pytest.mark.parametrize("kernel", OWN.values(), ids=OWN)
def test_points_of_different_dimensions_are_refused(kernel):
    with pytest.raises(ValueError, match=r"needs points of . dimensions, got \d and \d"):
        kernel(X, Z[:, :2])


@given(st.integers(0, 10_000), st.floats(0.05, 5.0))
def test_products_and_sums_are_taken_entry_by_entry(seed, length):
    x = np.random.default_rng(seed).random((4, 2))
    left, right = kb.RBF(length), kb.kernels.Polynomial(2)
    np.testing.assert_array_equal((left + right)(x, x), left(x, x) + right(x, x))
    np.testing.assert_array_equal((left * right)(x, x), left(x, x) * right(x, x))
    np.testing.assert_array_equal((left * 3)(x, x), 3 * left(x, x))


@pytest.mark.parametrize("theirs", [twin for _, twin in TWINS.values()], ids=TWINS)
def test_a_scikit_learn_kernel_may_be_used_as_it_is(theirs):
    np.testing.assert_array_equal(gram(as_kernel(theirs), X), theirs(X))
    posterior = kb.posterior.ArmPosterior(theirs, X)
    np.testing.assert_array_equal(posterior.cov, theirs(X))


def test_any_callable_may_be_a_kernel_also_inside_a_sum():
    def cosine(x, z):
        return np.cos(x[:, :1] - z[:, :1].T)

    kernel = 0.5 * kb.RBF(1.0) + 0.5 * as_kernel(cosine)
    assert has_adapted(kernel)
    assert not has_adapted(kb.RBF(1.0) + kb.Linear())
    np.testing.assert_allclose(gram(kernel, X), 0.5 * kb.RBF(1.0)(X, X) + 0.5 * cosine(X, X))
    np.testing.assert_allclose((kb.RBF(1.0) + cosine)(X, Z), kb.RBF(1.0)(X, Z) + cosine(X, Z))


POINTS = np.array([[0.0], [1.0], [2.0], [3.0]])


def lopsided(x, z):
    return np.exp(-np.abs(x - z.T)) + 0.25 * ((x == 1.0) & (z.T == 2.0))


def indefinite(x, z):
    return (x == z.T) + 2.0 * (np.abs(x - z.T) == 3.0)


def single_precision(x, z):
    return np.exp(-np.abs(x - z.T)).astype(np.float32)


def with_a_hole(x, z):
    return np.where((x == 2.0) & (z.T == 1.0), np.nan, np.exp(-np.abs(x - z.T)))


def too_small(x, z):
    return np.ones((1, 1))


FAULTY = {
    lopsided: r"k\(x, z\) = k\(z, x\), got 0\..* and 0\..* for points 1 and 2",
    indefinite: r"no negative eigenvalue .*, got -.*; points 0 and 3",
    single_precision: "single_precision needs float64 values, got 'float32'",
    with_a_hole: "needs finite values, got nan for points 2 and 1",
    too_small: r"too_small needs an array of shape \(4, 4\), got \(1, 1\)",
}


@pytest.mark.parametrize(("function", "message"), FAULTY.items(), ids=[f.__name__ for f in FAULTY])
@pytest.mark.parametrize("form", [kb.posterior.ArmPosterior, kb.posterior.RowPosterior])
def test_a_faulty_kernel_is_refused_at_construction_with_the_offending_pair(
    function, message, form
):
    for kernel in (function, 0.5 * as_kernel(function), kb.RBF(1e9) * function):
        with pytest.raises(ValueError, match=message):
            form(kernel, POINTS)


def test_rounding_does_not_make_a_kernel_indefinite():
    x = np.linspace(0, 1, 50)[:, None]

    def smooth(x, z):
        return kb.RBF(0.3)(x, z)

    assert np.linalg.eigvalsh(smooth(x, x))[0] < 0
    gram(as_kernel(smooth), x)


@pytest.mark.parametrize("bad", [None, 1.0, "rbf", kb.RBF, np.eye(2)])
def test_what_is_no_kernel_is_refused(bad):
    with pytest.raises(ValueError, match="needs a kernel or a callable"):
        as_kernel(bad)


def test_kernels_can_be_summed_by_sum():
    x = np.random.default_rng(0).random((4, 2))
    parts = [kb.RBF(0.3), kb.Linear(), kb.Matern(0.2)]
    np.testing.assert_allclose(sum(parts)(x, x), parts[0](x, x) + parts[1](x, x) + parts[2](x, x))


def test_an_adapted_scikit_learn_kernel_knows_its_diagonal():
    from sklearn.gaussian_process import kernels as theirs

    x = np.random.default_rng(0).random((5, 2))
    adapted = kb.kernels.Adapted(theirs.ConstantKernel(0.5) * theirs.RBF(0.3))
    np.testing.assert_allclose(adapted.diagonal(x), adapted(x, x).diagonal())


@pytest.mark.parametrize("levels", [2, 7, 1000])
def test_an_additive_kernel_is_the_same_whether_columns_have_few_values_or_many(levels):
    """With few values it is computed once for each pair of them; the digits do not change."""
    rng = np.random.default_rng(levels)
    x, z = (rng.integers(levels, size=(n, 3)) / levels for n in (60, 25))
    lengths, blocks = (0.3, 0.5, 0.5), ((0,), (1, 2))
    found = kb.kernels.AdditiveMatern(lengths, blocks)(x, z)
    parts = [
        kb.Matern(tuple(lengths[j] for j in block))(x[:, list(block)], z[:, list(block)])
        for block in blocks
    ]
    np.testing.assert_array_equal(found, sum(parts) / 2)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
def test_a_matern_profile_is_its_formula_and_leaves_its_argument(nu):
    squares = np.array([[0.0, 1e-300, 0.3], [2.0, 1e6, 1e300]])
    before = squares.copy()
    s = np.minimum(np.sqrt(2 * nu) * np.sqrt(before), 800)
    powers = {0.5: 1.0, 1.5: 1 + s, 2.5: 1 + s + s**2 / 3}
    values = kb.Matern(0.3, nu).profile(squares)
    np.testing.assert_allclose(values, powers[nu] * np.exp(-s), rtol=1e-13)
    assert (squares == before).all()
    assert float(kb.Matern(0.3, nu).profile(np.array(0.3))) == values[0, 2]


# Periodic


def test_a_periodic_kernel_is_scikit_learns_in_one_dimension_and_a_product_in_more():
    twin = sk.ExpSineSquared(length_scale=0.7, periodicity=1.3)
    np.testing.assert_allclose(
        kb.kernels.Periodic(0.7, 1.3)(X[:, :1], Z[:, :1]), twin(X[:, :1], Z[:, :1]), rtol=1e-12
    )
    kernel, each = kb.kernels.Periodic(ARD, (1.0, 2.0, 3.0)), 1.0
    for j, (length, period) in enumerate(zip(ARD, (1.0, 2.0, 3.0), strict=True)):
        each = each * kb.kernels.Periodic(length, period)(X[:, [j]], Z[:, [j]])
    np.testing.assert_allclose(kernel(X, Z), each, rtol=1e-12, atol=1e-300)


def test_a_periodic_kernel_repeats_after_each_period():
    kernel = kb.kernels.Periodic(0.7, (0.5, 1.0, 7.0))
    moved = X + np.array([1.5, -2.0, 7.0])
    np.testing.assert_allclose(kernel(moved, Z), kernel(X, Z), atol=1e-12)
    np.testing.assert_allclose(kernel.gradient(moved, Z), kernel.gradient(X, Z), atol=1e-11)


@pytest.mark.parametrize("length", [0.05, 0.001, 0.0009, 1e-5])
def test_the_harmonics_of_a_periodic_kernel_have_the_variance_of_its_curvature(length):
    """k''(0) = -(2 pi / (p l))^2 = -E w^2; 20 000 draws."""
    normals = np.random.default_rng(4).standard_normal((2, 20_000))
    drawn = kb.kernels.Periodic(length, 0.4).frequencies(normals)
    assert np.sqrt(np.mean(drawn**2)) == pytest.approx(2 * np.pi / (0.4 * length), rel=0.03)
    harmonics = drawn * 0.4 / (2 * np.pi)
    np.testing.assert_allclose(harmonics, np.rint(harmonics), rtol=1e-12, atol=1e-12)


def test_a_periodic_kernel_of_tiny_lengths_is_the_identity_without_warnings():
    kernel = kb.kernels.Periodic(1e-300, 0.37)
    np.testing.assert_array_equal(kernel(X, X), np.eye(len(X)))
    np.testing.assert_array_equal(kernel.gradient(X, Z), np.zeros((len(X), len(Z), 3)))


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        ({"lengthscale": 0.0}, "Periodic needs lengthscale > 0, got 0.0"),
        ({"period": -1}, "Periodic needs period > 0, got -1"),
        ({"period": (1.0, 0.0)}, r"Periodic needs period\[1\] > 0, got 0.0"),
        ({"lengthscale": (1.0, 1.0), "period": (1.0,) * 3}, "as many lengthscales as periods"),
    ],
)
def test_a_periodic_kernel_is_checked_at_the_door(given, needed):
    with pytest.raises(ValueError, match=needed):
        kb.kernels.Periodic(**given)
    with pytest.raises(ValueError, match="Periodic needs points of 2 dimensions, got 3 and 3"):
        kb.kernels.Periodic(period=(1.0, 2.0))(X, Z)
