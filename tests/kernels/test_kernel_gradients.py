from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.gaussian_process import kernels as sk

import kernelbandits as kb
from kernelbandits.catalogue import CODEC, read_kernel
from kernelbandits.kernels import MATERN_SMOOTHNESS, Product, Scaled, Sum, has_adapted

RNG = np.random.default_rng(5)
X, Z = RNG.normal(size=(7, 3)), RNG.normal(size=(5, 3))
ARD = (0.3, 1.0, 2.5)

OWN = {
    "rbf": kb.RBF(0.7),
    "rbf ard": kb.RBF(ARD),
    "matern 1/2": kb.Matern(0.7, nu=0.5),
    "matern 3/2": kb.Matern(0.7, nu=1.5),
    "matern 5/2": kb.Matern(0.7),
    "matern ard": kb.Matern(ARD),
    "rational quadratic": kb.kernels.RationalQuadratic(ARD, alpha=0.4),
    "linear": kb.Linear(),
    "polynomial": kb.kernels.Polynomial(3, offset=0.25),
    "straight polynomial": kb.kernels.Polynomial(1),
    "sum": kb.RBF(0.7) + kb.Linear(),
    "product": kb.RBF(0.7) * kb.kernels.Polynomial(2),
    "scaled": 0.3 * kb.kernels.Polynomial(2),
    "normalised": kb.kernels.Normalised(kb.kernels.Polynomial(2)),
    "normalised sum": kb.kernels.Normalised(kb.RBF(ARD) + 0.5 * kb.Linear()),
    "on": kb.kernels.On(kb.RBF((0.2, 3.0)), (2, 0)),
    "on linear": kb.kernels.On(kb.kernels.Polynomial(2), (1,)),
    "arms x context": kb.kernels.On(kb.RBF(0.5), (0, 1)) * kb.kernels.On(kb.Matern(1.0), 2),
}
STATIONARY = {
    name: OWN[name]
    for name in ("rbf", "matern 1/2", "matern 3/2", "matern 5/2", "rational quadratic")
}


def shifted(kernel, x, z, j, h):
    step = np.zeros(x.shape[1])
    step[j] = h
    return kernel(x + step, z)


def five_point(kernel, x, z):
    """(8 (f(h) - f(-h)) - (f(2h) - f(-2h))) / 12 h in every coordinate."""
    h = 1e-3
    near = [shifted(kernel, x, z, j, h) - shifted(kernel, x, z, j, -h) for j in range(x.shape[1])]
    far = [
        shifted(kernel, x, z, j, 2 * h) - shifted(kernel, x, z, j, -2 * h)
        for j in range(x.shape[1])
    ]
    return (8 * np.stack(near, axis=-1) - np.stack(far, axis=-1)) / (12 * h)


@pytest.mark.parametrize("kernel", OWN.values(), ids=OWN)
def test_the_gradient_is_the_limit_of_differences(kernel):
    found = kernel.gradient(X, Z)
    assert found.shape == (7, 5, 3)
    np.testing.assert_allclose(found, five_point(kernel, X, Z), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("kernel", OWN.values(), ids=OWN)
def test_the_gradient_of_the_diagonal_moves_both_points(kernel):
    def diagonal(x, _):
        return kernel.diagonal(x)

    found = kernel.diagonal_gradient(X)
    assert found.shape == X.shape
    np.testing.assert_allclose(found, five_point(diagonal, X, None), rtol=1e-8, atol=1e-9)
    if kernel not in (OWN["matern 1/2"],):
        both = 2 * np.einsum("iij->ij", kernel.gradient(X, X))
        np.testing.assert_allclose(found, both, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kernel", OWN.values(), ids=OWN)
def test_the_gradient_on_whole_numbers_of_points_is_the_same_one_by_one(kernel):
    single = [[kernel.gradient(x[None], z[None])[0, 0] for z in Z] for x in X]
    np.testing.assert_allclose(kernel.gradient(X, Z), single, rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize("kernel", STATIONARY.values(), ids=STATIONARY)
def test_a_stationary_kernel_is_flat_at_its_peak(kernel):
    at_home = np.einsum("iij->ij", kernel.gradient(X, X))
    np.testing.assert_array_equal(at_home, np.zeros_like(X))
    np.testing.assert_array_equal(kernel.diagonal_gradient(X), np.zeros_like(X))


@pytest.mark.parametrize("gap", [1e-320, 1e-170, 1e-150, 1e-100, 1e-8])
def test_a_matern_half_is_steep_beside_its_peak_and_never_infinite(gap):
    slope = kb.Matern(0.5, nu=0.5).gradient(np.array([[gap, 0.0]]), np.zeros((1, 2)))[0, 0]
    assert slope[1] == 0
    assert slope[0] == pytest.approx(-2.0 if gap > 1e-161 else 0.0, rel=1e-6)


@pytest.mark.parametrize("kernel", STATIONARY.values(), ids=STATIONARY)
@pytest.mark.parametrize("far", [1e3, 1e100, 1e154, 1e155, 1e200, 1.7e308])
def test_very_distant_points_have_nothing_in_common(kernel, far):
    x, z = np.array([[far, 0.0, 0.0], [0.0, 0.0, 0.0]]), np.array([[-far, 0.0, 0.0]])
    with np.errstate(all="raise", under="ignore"):
        value, slope = kernel(x, z), kernel.gradient(x, z)
    least = 1e-2 if isinstance(kernel, kb.kernels.RationalQuadratic) else 0.0
    assert ((value >= 0) & (value <= least)).all()
    assert np.isfinite(slope).all()
    assert np.abs(slope).max() <= least


@pytest.mark.parametrize("nu", MATERN_SMOOTHNESS)
def test_a_matern_matrix_of_points_1e200_apart_is_the_identity(nu):
    x = np.array([[0.0], [1e200], [-1e200]])
    np.testing.assert_array_equal(kb.Matern(1.0, nu=nu)(x, x), np.eye(3))


@pytest.mark.parametrize("nu", MATERN_SMOOTHNESS)
def test_a_matern_kernel_does_not_hide_what_is_no_number(nu):
    assert np.isnan(kb.Matern(1.0, nu=nu).profile(np.array([np.nan]))).all()


def test_a_kernel_from_outside_has_central_differences():
    twins = {kb.RBF(0.7): sk.RBF(0.7), kb.Matern(0.7, nu=1.5): sk.Matern(0.7, nu=1.5)}
    for ours, theirs in twins.items():
        np.testing.assert_allclose(
            kb.kernels.Adapted(theirs).gradient(X, Z), ours.gradient(X, Z), atol=1e-8
        )
        mixed, own = 0.5 * kb.Linear() * kb.kernels.Adapted(theirs), 0.5 * kb.Linear() * ours
        np.testing.assert_allclose(mixed.gradient(X, Z), own.gradient(X, Z), atol=1e-8)
        np.testing.assert_allclose(mixed.diagonal_gradient(X), own.diagonal_gradient(X), atol=1e-8)


def test_central_differences_keep_their_digits_far_from_the_origin():
    def cubic(x, z):
        return (x @ z.T / 1e8) ** 3

    x, z = np.array([[1e8, 3e8]]), np.array([[1.0, 2.0]])
    exact = 3 * 7.0**2 * z / 1e8
    np.testing.assert_allclose(kb.kernels.Adapted(cubic).gradient(x, z)[0], exact, rtol=1e-8)


@pytest.mark.parametrize("kernel", OWN.values(), ids=OWN)
def test_gradients_between_points_of_different_dimensions_are_refused(kernel):
    with pytest.raises(ValueError, match=r"needs points of . dimensions, got \d and \d"):
        kernel.gradient(X, Z[:, :2])


@given(st.integers(0, 10_000), st.floats(0.05, 5.0), st.sampled_from(sorted(STATIONARY)))
def test_moving_both_points_alike_changes_nothing(seed, length, name):
    rng = np.random.default_rng(seed)
    x, z = rng.random((4, 3)), rng.random((3, 3))
    kernel = STATIONARY[name]
    forth, back = kernel.gradient(x, z), kernel.gradient(z, x)
    np.testing.assert_allclose(forth, -np.swapaxes(back, 0, 1), rtol=1e-12, atol=1e-14)


@given(st.integers(0, 10_000))
def test_gradients_follow_the_rules_of_sums_and_products(seed):
    rng = np.random.default_rng(seed)
    x, z = rng.random((4, 3)), rng.random((3, 3))
    f, g = kb.RBF(0.4), kb.kernels.Polynomial(2)
    np.testing.assert_allclose(Sum(f, g).gradient(x, z), f.gradient(x, z) + g.gradient(x, z))
    np.testing.assert_allclose(Scaled(f, 3.0).gradient(x, z), 3 * f.gradient(x, z))
    expected = f.gradient(x, z) * g(x, z)[..., None] + f(x, z)[..., None] * g.gradient(x, z)
    np.testing.assert_allclose(Product(f, g).gradient(x, z), expected)


def test_a_kernel_on_columns_sees_only_them():
    kernel = kb.kernels.On(kb.RBF((0.2, 3.0)), (2, 0))
    np.testing.assert_array_equal(kernel(X, Z), kb.RBF((0.2, 3.0))(X[:, [2, 0]], Z[:, [2, 0]]))
    np.testing.assert_array_equal(kernel.gradient(X, Z)[:, :, 1], 0.0)
    np.testing.assert_array_equal(
        kb.kernels.On(kb.Linear(), (0, 2)).diagonal(X), (X[:, [0, 2]] ** 2).sum(1)
    )
    moved = X + np.array([0.0, 5.0, 0.0])
    np.testing.assert_array_equal(kernel(moved, Z), kernel(X, Z))


def test_columns_may_be_a_number_a_list_a_range_or_a_slice():
    kernel = kb.RBF(0.3)
    assert (
        kb.kernels.On(kernel, (0, 1))
        == kb.kernels.On(kernel, [0, 1])
        == kb.kernels.On(kernel, slice(2))
        == kb.kernels.On(kernel, np.arange(2))
    )
    assert kb.kernels.On(kernel, slice(1, 6, 2)) == kb.kernels.On(kernel, range(1, 6, 2))
    assert kb.kernels.On(kernel, 3) == kb.kernels.On(kernel, (3,))
    assert hash(kb.kernels.On(kernel, [0, 1])) == hash(kb.kernels.On(kernel, (0, 1)))


@pytest.mark.parametrize(
    "columns",
    [
        (),
        "01",
        None,
        1.5,
        (0, 0),
        (-1,),
        (0, 1.0),
        (True,),
        slice(1, None),
        slice(2, 1),
        float("nan"),
        {},
    ],
)
def test_columns_that_name_no_coordinates_are_refused(columns):
    with pytest.raises(ValueError, match=r"^On needs .*, got"):
        kb.kernels.On(kb.RBF(0.3), columns)


@pytest.mark.parametrize("ends", [("a", 3), (0, "b"), (0.5, 3), (0, 3, 0), (0, 3, -1), (-2, 3)])
def test_a_slice_that_names_no_coordinates_is_refused(ends):
    with pytest.raises(ValueError, match=r"^On needs .*, got"):
        kb.kernels.On(kb.RBF(0.3), slice(*ends))


def test_a_kernel_on_columns_that_are_not_there_is_refused():
    for call in (lambda k: k(X, Z), lambda k: k.diagonal(X), lambda k: k.gradient(X, Z)):
        with pytest.raises(ValueError, match="On needs points of at least 4 dimensions, got 3"):
            call(kb.kernels.On(kb.RBF(0.3), (0, 3)))


@pytest.mark.parametrize("bad", [None, 1.0, "rbf", kb.RBF])
def test_what_is_no_kernel_has_no_columns(bad):
    with pytest.raises(ValueError, match="needs a kernel or a callable"):
        kb.kernels.On(bad, (0,))


def test_a_callable_on_columns_still_has_to_prove_itself():
    assert has_adapted(kb.kernels.On(lambda x, z: np.minimum(x, z.T), (0,)))
    assert not has_adapted(kb.kernels.On(kb.RBF(0.3), (0,)))


def test_a_kernel_on_columns_has_a_plain_form_and_a_spelling():
    kernel = kb.kernels.On(kb.RBF((0.2, 0.5)), (0, 1)) * kb.kernels.On(kb.Matern(1.0, nu=1.5), (2,))
    assert CODEC.decode(CODEC.encode(kernel)) == kernel
    assert read_kernel("on(rbf(0.2),0/1)*on(matern(1.0,1.5),2)") == kb.kernels.On(
        kb.RBF(0.2), (0, 1)
    ) * kb.kernels.On(kb.Matern(1.0, nu=1.5), (2,))
