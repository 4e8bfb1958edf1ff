"""Regret certificates hold for every policy, kernel and law of noise, and their checks can fail."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.problems import Instance
from kernelbandits.theory.bands import ConfidenceSet
from kernelbandits.verification import Effort, certificate

pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.thorough
def test_every_verdict_is_as_expected():
    statements = list(certificate.check_certificate(Effort(seed=2, scale=0.1)))
    assert [checked.statement for checked in statements if not checked.as_expected] == []
    assert len({checked.statement for checked in statements}) == len(statements)


def test_a_run_of_each_kernel_and_law_keeps_its_certificate():
    for seed, name in zip(range(9), 2 * certificate.POLICIES, strict=False):
        assert not certificate.policy_exceeds(name, seed)


@pytest.mark.thorough
def test_certificates_that_are_too_small_are_noticed(monkeypatch):
    whole = ConfidenceSet.bound_regret

    def narrow(self, *limits):
        return whole(replace(self, width=0.25 * self.width), *limits)

    monkeypatch.setattr(ConfidenceSet, "bound_regret", narrow)
    _, usual, _ = certificate.check_opponent(Effort(scale=0.1))
    assert not usual.holds


def test_the_opponent_plays_the_arm_that_a_copy_of_the_posterior_confirms():
    """Each arm is tried on a copy that is told f of it, and its nearness computed from there."""
    rng = np.random.default_rng(3)
    instance = Instance(
        "three", kb.Arms(rng.random((3, 2))), [0.3, 0.9, 0.1], kb.problems.GaussianNoise(1.0)
    )
    posterior = kb.posterior.ArmPosterior(kb.RBF(0.4), instance.domain, 2.0)
    for _ in range(20):
        arm = certificate.nearest_arm(posterior, instance)
        nearness = []
        for one in range(3):
            tried = kb.posterior.ArmPosterior(kb.RBF(0.4), instance.domain, 2.0)
            counts = posterior.counts + np.eye(3, dtype=int)[one]
            tried.learn(counts, posterior.tally.sums + instance.values * np.eye(3)[one])
            direction = counts.sum() * np.eye(3)[1] - counts
            error = direction @ (instance.values - tried.mean)
            sd = np.sqrt(max(direction @ tried.cov @ direction, 0.0))
            nearness.append(error / sd if sd > 1e-4 else -np.inf)
        assert arm == int(np.argmax(nearness))
        posterior.update(arm, instance.values[arm] + rng.normal())
