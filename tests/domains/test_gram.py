"""Candidates that are known by a Gram matrix: the posterior is that of the matrix."""

from __future__ import annotations

import json

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.calibration import Prior
from kernelbandits.calibration.fit import check_arguments


def random_gram(size=12, rank=12, seed=0):
    """A matrix of a kernel whose diagonal is not constant."""
    features = np.random.default_rng(seed).normal(size=(size, rank))
    return features @ features.T / rank


def test_the_posterior_is_the_one_of_the_matrix():
    """Compared with the formula: s K + 1 + t I for f and its mean, noise v, standardised rewards."""
    gram, rng = random_gram(), np.random.default_rng(1)
    auto = kb.Auto(kb.Arms.from_gram(gram), members=1, transform=False, seed=1)
    played = [0, 3, 5, 7, 8, 3, 0, 10]
    rewards = rng.normal(size=len(played)) + gram[played, 3]
    for arm, reward in zip(played, rewards, strict=True):
        auto.tell(auto.choice(arm), reward)
    fit = auto.calibration
    kernel = fit.signal_variance * gram / gram.diagonal().mean() + 1
    kernel += fit.nugget_variance * np.eye(len(gram))
    inner = kernel[np.ix_(played, played)] + fit.noise_variance * np.eye(len(played))
    weights = np.linalg.solve(inner, kernel[played])
    mean = auto.units.standardise(rewards) @ weights
    variance = kernel.diagonal() - (kernel[played] * weights).sum(0)
    np.testing.assert_allclose(auto.posterior.mean, mean, atol=1e-8)
    np.testing.assert_allclose(auto.posterior.sd**2, variance, atol=1e-8)


def test_the_gradient_of_the_evidence_is_that_of_differences():
    points = np.linalg.cholesky(random_gram())
    rng = np.random.default_rng(2)
    counts = rng.integers(1, 4, size=12).astype(float)
    sums = counts * rng.normal(size=12)
    squares = sums**2 / counts + rng.random(12) * (counts > 1)
    prior = Prior(additive=None)
    fit = check_arguments(points, counts, sums, squares, prior, False, 2.5, features=True)
    evidence = fit.search().evidence
    at = np.array([-0.3, -2.0, -1.0])
    _, slopes = evidence.value_and_gradient(at)
    steps = 1e-5 * np.eye(3)
    expected = [(evidence.value(at + e) - evidence.value(at - e)) / 2e-5 for e in steps]
    np.testing.assert_allclose(slopes, expected, rtol=1e-5, atol=1e-7)


def test_a_policy_over_a_matrix_is_written_and_read():
    arms = kb.Arms.from_gram(random_gram(), values=[f"node {k}" for k in range(12)])
    auto = kb.Auto(arms, goal="find", seed=1)
    for _ in range(5):
        choice = auto.ask()
        auto.tell(choice, float(choice.arm))
    again = kb.Auto.from_dict(json.loads(json.dumps(auto.to_dict())))
    assert again.ask() == auto.ask()
    assert "kernel as given" in auto.settings["calibration"]


def test_equal_rows_of_a_matrix_are_the_same_candidate():
    gram = random_gram(4)[np.ix_([0, 1, 1, 2], [0, 1, 1, 2])]
    with pytest.warns(kb.DataNotice, match="1 of 4 points repeat another"):
        arms = kb.Arms.from_gram(gram)
    np.testing.assert_allclose(
        arms.points @ arms.points.T, gram / gram.diagonal().mean(), atol=1e-12
    )


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        ([[1.0, 2.0], [2.0, 1.0]], "without negative eigenvalues"),
        ([[1.0, 0.5]], r"an \(n, n\) matrix"),
        ([[1.0, np.nan], [np.nan, 1.0]], "finite"),
        ([[0.0, 0.0], [0.0, 0.0]], "with themselves > 0"),
    ],
)
def test_what_is_no_kernel_is_refused(matrix, words):
    with pytest.raises(ValueError, match=words):
        kb.Arms.from_gram(matrix)


def test_a_theory_width_needs_coordinates():
    with pytest.raises(ValueError, match="coordinates"):
        kb.Auto(kb.Arms.from_gram(random_gram()), width="theory")


def test_the_graph_kernel_is_the_inverse_power_of_the_laplacian():
    weights = np.array([[0, 1, 0, 0], [1, 0, 2, 0], [0, 2, 0, 0], [0, 0, 0, 0]], dtype=float)
    degrees = np.array([1.0, 3.0, 2.0, 1.0])
    laplacian = np.diag([1.0, 1.0, 1.0, 0.0]) - weights / np.sqrt(np.outer(degrees, degrees))
    expected = np.linalg.inv((2 * 2.0 / 3.0**2) * np.eye(4) + laplacian)
    expected = expected @ expected
    expected /= expected.diagonal().mean()
    np.testing.assert_allclose(kb.kernels.graph_matern(weights, 3.0, 2.0), expected, atol=1e-12)
