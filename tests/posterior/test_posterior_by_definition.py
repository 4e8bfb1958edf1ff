"""Kernels, posteriors and Thompson samples are what their definitions say, also after an audit."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

import definitions
import kernelbandits as kb
from broken_engines import looped, patched
from kernelbandits.experiment.engines import Chunk, play
from kernelbandits.kernels import RBF, Matern
from kernelbandits.policies import GPTS, SimpleGaussian
from kernelbandits.posterior import (
    ArmPosterior,
    Factorisation,
    LinearPosterior,
    Posterior,
    RowPosterior,
)
from reference_bandits import (
    ENGINES,
    KERNELS,
    NOISE_SCALE,
    NORM_BOUND,
    RIDGE,
    SCALES,
    ReferenceBandit,
    reference_bandit,
)

LONG = 1200
"""More rounds than lie between two audits; after an audit the state is a new factorisation."""
FORMS = {ArmPosterior: "Matern(0.3)", RowPosterior: "RBF(0.25)", LinearPosterior: "linear"}
pytestmark = pytest.mark.usefixtures("quiet")


def check_kernels() -> None:
    points, scales = reference_bandit(0).points, np.array([0.25, 0.6])
    s = definitions.distances(points, points) / 0.3
    root = math.sqrt(3) * s
    formulas = [(kernel, formula(points, points)) for kernel, formula in KERNELS.values()]
    formulas += [
        (Matern(0.3, nu=1.5), (1 + root) * np.exp(-root)),
        (Matern(0.3, nu=0.5), np.exp(-s)),
        (RBF(scales.tolist()), definitions.rbf(1.0)(points / scales, points / scales)),
    ]
    for kernel, exact in formulas:
        np.testing.assert_allclose(kernel(points, points), exact, rtol=0, atol=1e-12)


def test_kernels_are_their_formulas():
    check_kernels()


# The state after a run


def compare(found: Posterior, exact: definitions.ExactPosterior, tolerance: float) -> None:
    np.testing.assert_allclose(found.mean, exact.mean, rtol=0, atol=tolerance)
    np.testing.assert_allclose(found.sd, exact.sd, rtol=0, atol=tolerance)
    assert found.log_det == pytest.approx(exact.log_det, abs=tolerance)


def check_state(kernel: str, ridge: float, engine: str, horizon: int = 200, arms: int = 20) -> None:
    """mean, sd and L after a run, and L as log det(I + K/ridge) = sum ln(1 + sd^2/ridge)."""
    bandit = reference_bandit(0, kernel, arms)
    policy = SimpleGaussian(
        bandit.instance.domain, bandit.kernel, ridge=ridge, ties="lowest", **SCALES
    )
    played = play(policy, bandit.instance, horizon, bandit.streams, engine).arms.tolist()
    exact = definitions.posterior(bandit.gram, played, bandit.rewards(played), ridge)
    compare(policy.posterior, exact, 1e-8)
    variances = [
        definitions.posterior_from_counts(bandit.gram, played[:t], np.zeros(t), ridge).cov[arm, arm]
        for t, arm in enumerate(played)
    ]
    total = float(np.log1p(np.array(variances) / ridge).sum())
    assert total == pytest.approx(exact.log_det, rel=1e-9)
    assert policy.posterior.log_det == pytest.approx(exact.log_det, rel=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("ridge", [0.1, 0.6, 3.0])
@pytest.mark.parametrize("kernel", KERNELS)
def test_the_state_after_a_run_is_the_posterior(kernel, ridge, engine):
    check_state(kernel, ridge, engine)


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ENGINES)
def test_the_state_after_a_run_with_an_audit_is_the_posterior(engine):
    check_state("Matern(0.3)", RIDGE, engine, LONG, arms=8)


# Every form of the posterior


def check_form(form: type[Posterior]) -> None:
    """mean, sd, L and `at` after 80 rewards; then an audit, and after 60 more."""
    bandit = reference_bandit(0, FORMS[form])
    rng, points = bandit.streams.generator(len(form.__name__)), bandit.points
    early = rng.integers(len(points) - 6, size=80).tolist()
    arms = [*early, *rng.integers(len(points), size=60).tolist()]
    posterior, rewards = form(bandit.kernel, points, RIDGE), bandit.rewards(arms)
    for told in (len(early), len(arms)):
        for number in range(posterior.events, told):
            posterior.update(arms[number], float(rewards[number]))
        exact = definitions.posterior(bandit.gram, arms[:told], rewards[:told], RIDGE)
        compare(posterior, exact, 1e-7)
        mean, sd = posterior.at(points)
        np.testing.assert_allclose(mean, exact.mean, rtol=0, atol=1e-7)
        np.testing.assert_allclose(sd, exact.sd, rtol=0, atol=1e-7)
        assert posterior.health.repairs == 0
        posterior.audit()


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_the_posterior_is_the_posterior_before_and_after_an_audit(form):
    check_form(form)


# Thompson samples


def thompson(bandit: ReferenceBandit, horizon: int) -> GPTS:
    return GPTS(
        bandit.instance.domain, bandit.kernel, horizon=horizon, delta=0.1, ties="lowest", **SCALES
    )


def check_sample_covariance(horizon: int = 200) -> None:
    """The draw is linear in its normals: its covariance follows from unit vectors, exactly."""
    bandit, half = reference_bandit(0), horizon // 2
    policy = thompson(bandit, horizon)
    np.testing.assert_allclose(policy.root @ policy.root.T, bandit.gram, rtol=0, atol=1e-12)
    arms = play(policy, bandit.instance, half, bandit.streams, "numpy").arms.tolist()
    known = definitions.posterior(bandit.gram, arms, bandit.rewards(arms), 1 + 2 / horizon)
    scale = definitions.improved(NOISE_SCALE, NORM_BOUND, delta=0.1 / 2)(known.log_det)
    units, zero = np.eye(len(known.mean)), np.zeros(len(known.mean))
    columns = [policy.sample(half + 1, unit, zero) for unit in units]
    columns += [policy.sample(half + 1, zero, unit) for unit in units]
    spread = np.array(columns) - policy.sample(half + 1, zero, zero)
    np.testing.assert_allclose(spread.T @ spread, scale**2 * known.cov, rtol=0, atol=1e-8)


def check_sampled_arms(
    engine: str, horizon: int = 200, kernel: str = "RBF(0.25)", arms: int = 20
) -> None:
    """The policy may choose the root of K; given it, every arm follows from the normals."""
    bandit = reference_bandit(0, kernel, arms)
    policy = thompson(bandit, horizon)
    played = play(policy, bandit.instance, horizon, bandit.streams, engine).arms.tolist()
    rewards, ridge = bandit.rewards(played), 1 + 2 / horizon
    scale = definitions.improved(NOISE_SCALE, NORM_BOUND, delta=0.1 / 2)
    best = []
    for t in range(1, horizon + 1):
        past, normals = played[: t - 1], bandit.streams.normal("sample", t, 2 * arms)
        known = definitions.posterior_from_counts(bandit.gram, past, rewards[: t - 1], ridge)
        prior = policy.root @ normals[:arms]
        deviation = definitions.sample_deviation(bandit.gram, past, ridge, prior, normals[arms:])
        best.append(definitions.best_arm(known.mean + scale(known.log_det) * deviation))
    assert played == best


def test_a_thompson_sample_has_the_scaled_posterior_covariance():
    check_sample_covariance()


@pytest.mark.parametrize("engine", ENGINES)
def test_thompson_sampling_plays_the_maximiser_of_its_sample(engine):
    check_sampled_arms(engine)


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ENGINES)
def test_thompson_sampling_plays_the_maximiser_of_its_sample_after_an_audit(engine):
    check_sampled_arms(engine, LONG, "Matern(0.3)", arms=8)


def test_the_sample_of_the_definitions_has_the_posterior_covariance():
    bandit, arms = reference_bandit(4), [2, 2, 5, 9, 2]
    n, root = 20, np.linalg.cholesky(bandit.gram + 1e-12 * np.eye(20))
    zero, sample = np.zeros(n), partial(definitions.sample_deviation, bandit.gram, arms, 0.5)
    columns = [sample(root[:, i], zero) for i in range(n)]
    columns += [sample(zero, unit) for unit in np.eye(n)]
    known = definitions.posterior(bandit.gram, arms, np.zeros(5), 0.5)
    assert np.array(columns).T @ np.array(columns) == pytest.approx(known.cov, abs=1e-9)


# Broken posteriors


def scaled_column(column):
    return lambda self, arm: 1.01 * column(self, arm)


def wrong_rows(find_column):
    def find(self, arm):
        column, coordinates = find_column(self, arm)
        return 1.01 * column, coordinates

    return find


def rebuilt_with_another_core(sound):
    def replace_state(self, played):
        sound(self, played)
        self._core[:, : len(played), : len(played)] *= 0.99

    return replace_state


def repeated_draws(sound):
    """After an audit the draws of the first rounds come again."""

    def cut(self, first, last):
        problem, tables, record = sound(self, first, last)
        again = sound(self, self.first, self.first + last - first)[1]
        return problem, (*tables[:2], *again[2:]), record

    return cut


half_log_det = property(lambda self: float(np.log(self.factor.diagonal()).sum()))
audited = partial(check_state, "Matern(0.3)", RIDGE, "numpy", LONG, 8)
BREAKAGES = {
    "a lengthscale off by the root of two": (
        patched(kb.RBF, "profile", lambda sound: lambda self, r2: np.exp(-r2)),
        check_kernels,
    ),
    "an audit with a wrong determinant": (
        patched(Factorisation, "log_det", lambda sound: half_log_det),
        audited,
    ),
    "a pool with a wrong column": (
        patched(RowPosterior, "_find_column", wrong_rows),
        partial(check_form, RowPosterior),
    ),
    "a linear form with a wrong column": (
        patched(LinearPosterior, "_column", scaled_column),
        partial(check_form, LinearPosterior),
    ),
    "a pool rebuilt with a wrong core": (
        patched(RowPosterior, "_replace_state", rebuilt_with_another_core),
        partial(check_form, RowPosterior),
    ),
    "a wrong determinant after a linear audit": (
        patched(
            LinearPosterior,
            "_log_det",
            lambda sound: lambda self, exact, played: sound(self, exact, played) / 2,
        ),
        partial(check_form, LinearPosterior),
    ),
    "samples of variance v": (
        patched(
            GPTS,
            "sample",
            lambda sound: (
                lambda self, t, z, e: (sound(self, t, z, e) + 3 * self.posterior.mean) / 4
            ),
        ),
        check_sample_covariance,
    ),
    "a compiled loop with samples of variance v": (
        looped("mean[i] + scale * sample[i]", "mean[i] + np.sqrt(scale) * sample[i]"),
        partial(check_sampled_arms, "numba", 100),
    ),
    "samples that repeat after an audit": (
        patched(Chunk, "cut", repeated_draws),
        partial(check_sampled_arms, "numba", LONG, "Matern(0.3)", 8),
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_check_notices(breakage, monkeypatch):
    break_engine, check = BREAKAGES[breakage]
    break_engine(monkeypatch)
    with pytest.raises(AssertionError):
        check()
