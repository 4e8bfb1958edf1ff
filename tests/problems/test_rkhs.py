from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from kernelbandits.problems import GaussianNoise, RKHSFunction, least_norm
from kernelbandits.streams import Streams


def rbf(x, z):
    return np.exp(-((x[:, None] - z[None]) ** 2).sum(-1) / (2 * 0.3**2))


def linear(x, z):
    return x @ z.T


PROBLEM = RKHSFunction(rbf, 2, norm_bound=2.5)


@pytest.mark.parametrize("seed", range(5))
def test_every_function_drawn_has_exactly_the_stated_norm(seed):
    f = PROBLEM.function(Streams(seed))
    square = f.coefficients @ rbf(f.centres, f.centres) @ f.coefficients
    assert math.isclose(math.sqrt(square), 2.5, rel_tol=1e-12)
    assert math.isclose(f.norm, 2.5, rel_tol=1e-12)


def test_the_values_are_those_of_the_function_and_not_rescaled():
    instance, f = PROBLEM.instance(Streams(1)), PROBLEM.function(Streams(1))
    x = instance.domain.points
    expected = [
        sum(a * rbf(p[None], z[None])[0, 0] for a, z in zip(f.coefficients, f.centres, strict=True))
        for p in x
    ]
    np.testing.assert_allclose(instance.values, expected, atol=1e-12)
    assert x.shape == (50, 2)
    assert f.centres.shape == (20, 2)
    assert not np.isin(x, f.centres).any()


@pytest.mark.parametrize("seed", range(5))
def test_no_value_exceeds_the_norm_times_the_root_of_the_kernel(seed):
    assert np.abs(PROBLEM.instance(Streams(seed)).values).max() <= 2.5


@pytest.mark.parametrize(("dimension", "candidates"), [(1, 300), (2, 400), (4, 50)])
def test_the_least_norm_of_drawn_values_stays_below_their_norm_and_reaches_it_on_dense_arms(
    dimension, candidates
):
    problem = RKHSFunction(rbf, dimension, candidates=candidates, norm_bound=2.5)
    for seed in range(3):
        instance = problem.instance(Streams(seed))
        least = least_norm(rbf, instance.domain.points, instance.values)
        assert least <= 2.5 * (1 + 1e-6)
        assert dimension > 2 or least > 2.5 * 0.95


def test_on_orthonormal_arms_the_least_norm_is_the_length_of_the_values():
    y = np.random.default_rng(0).normal(size=7)
    assert math.isclose(least_norm(linear, np.eye(7), y), np.linalg.norm(y), rel_tol=1e-12)


def test_the_least_norm_of_a_linear_function_is_the_length_of_its_gradient():
    rng = np.random.default_rng(1)
    x, theta = rng.normal(size=(30, 3)), np.array([1.0, -2.0, 0.5])
    assert math.isclose(least_norm(linear, x, x @ theta), np.linalg.norm(theta), rel_tol=1e-9)


def test_the_least_norm_through_one_point_is_its_value_over_the_root_of_the_kernel():
    assert math.isclose(least_norm(linear, [[3.0, 4.0]], [-10.0]), 2.0, rel_tol=1e-12)


def test_the_least_norm_grows_with_every_further_point():
    rng = np.random.default_rng(2)
    x, y = rng.random((12, 2)), rng.normal(size=12)
    norms = [least_norm(rbf, x[:n], y[:n]) for n in range(1, 13)]
    assert (np.diff(norms) > -1e-9).all()
    assert norms[-1] > 2 * norms[0]


def test_conflicting_values_at_one_point_need_a_huge_norm_and_a_vanishing_kernel_an_infinite_one():
    assert least_norm(rbf, [[0.5], [0.5]], [0.0, 1.0]) > 1e6
    assert least_norm(linear, [[0.0]], [1.0]) == math.inf
    assert least_norm(linear, [[0.0]], [0.0]) == 0.0


@pytest.mark.parametrize(
    ("kernel", "needed"),
    [
        (lambda x, z: -rbf(x, z), "no negative eigenvalue on the arms"),
        (lambda x, z: 1 - rbf(x, z), "no negative eigenvalue on the arms"),
        (lambda x, z: x[:, :1] - z[:, 0], r"k\(x, z\) = k\(z, x\)"),
        (lambda x, z: rbf(x, z)[0], r"an array of shape \(3, 3\)"),
        (lambda x, z: rbf(x, z) * math.nan, "finite values"),
    ],
)
def test_a_function_that_is_no_kernel_is_refused(kernel, needed):
    with pytest.raises(ValueError, match=f"needs {needed}, got"):
        least_norm(kernel, [[0.0], [0.4], [1.0]], [1.0, 2.0, 3.0])


@pytest.mark.parametrize("values", [[1.0], [[1.0, 2.0]], [1.0, math.nan]])
def test_values_that_do_not_fit_the_points_are_refused(values):
    with pytest.raises(ValueError, match=r"least_norm needs .*, got"):
        least_norm(rbf, [[0.0], [1.0]], values)


def test_another_norm_bound_stretches_the_same_function():
    wider = replace(PROBLEM, norm_bound=5.0)
    np.testing.assert_allclose(
        wider.instance(Streams(0)).values, 2 * PROBLEM.instance(Streams(0)).values
    )
    assert not replace(PROBLEM, norm_bound=0.0).instance(Streams(0)).values.any()


@pytest.mark.parametrize(
    "change",
    [
        {"kernel": None},
        {"dimension": 0},
        {"candidates": 0},
        {"centres": 1.5},
        {"norm_bound": -1.0},
        {"norm_bound": math.nan},
        {"noise": 0.1},
    ],
)
def test_a_bad_field_is_refused(change):
    with pytest.raises(ValueError, match=r"RKHSFunction needs .*, got"):
        replace(PROBLEM, **change)


def test_a_kernel_that_vanishes_has_no_function_of_positive_norm():
    with pytest.raises(ValueError, match="RKHSFunction needs a kernel under which"):
        RKHSFunction(lambda x, z: np.zeros((len(x), len(z))), 1).instance(Streams(0))


def test_one_candidate_and_one_centre_are_enough():
    problem = RKHSFunction(rbf, 3, candidates=1, centres=1, noise=GaussianNoise(0.0))
    assert 0 < abs(problem.instance(Streams(0)).optimum) <= 1
    assert (problem.name, problem.title) == ("rkhs3", "RKHS ball (d = 3)")
