"""The bound of the regret without noise, beside sequences of plays and games."""

from __future__ import annotations

import math

import numpy as np
import pytest

import definitions
import kernelbandits as kb
from kernelbandits.theory import noise_free_bound

POINTS = np.random.default_rng(5).random((14, 2))
KERNELS = {
    "RBF": (kb.RBF(0.3), definitions.rbf(0.3)),
    "Matern": (kb.Matern(0.3), definitions.matern(0.3)),
}
every_kernel = pytest.mark.parametrize("name", KERNELS)


def sds_of(gram, arms, ridge):
    """The sd of each play given those before it."""
    plays = range(len(arms))
    known = [definitions.posterior(gram, arms[:t], np.zeros(t), ridge) for t in plays]
    return [one.sd[arm] for one, arm in zip(known, arms, strict=True)]


def widest_arms(gram, rounds, ridge):
    """Arms of the largest sd, one after the other: hardly any sequence has larger sds."""
    arms = []
    for t in range(rounds):
        arms.append(int(definitions.posterior(gram, arms, np.zeros(t), ridge).sd.argmax()))
    return arms


@every_kernel
@pytest.mark.parametrize("ridge", [1e-6, 0.05])
def test_no_sequence_of_plays_has_larger_sds(name, ridge):
    kernel, formula = KERNELS[name]
    gram, rng, rounds = formula(POINTS, POINTS), np.random.default_rng(0), 24
    bound = noise_free_bound(kernel, POINTS, rounds, norm_bound=1.5, ridge=ridge).largest_sds
    sequences = [rng.integers(14, size=rounds).tolist() for _ in range(5)]
    sequences.append([*rng.permutation(14).tolist(), *range(10)])
    sequences.append(widest_arms(gram, rounds, ridge))
    for arms in sequences:
        ordered = np.sort(sds_of(gram, arms, ridge))[::-1]
        assert (ordered <= bound * (1 + 1e-6)).all()
    # The last sequence comes near: a bound half as large would not hold.
    assert (ordered > bound / 2).any()


@every_kernel
def test_the_regret_of_a_game_without_noise_is_below_it(name, quiet):
    kernel, formula = KERNELS[name]
    rng, norm, rounds = np.random.default_rng(0), 1.5, 40
    values = definitions.function_of_norm(norm, formula, POINTS, POINTS[:6], rng.normal(size=6))
    policy = kb.WhitehouseUCB(POINTS, kernel, noise_scale=0.0, norm_bound=norm, ridge=1e-6)
    regret, sds = 0.0, 0.0
    for t in range(1, rounds + 1):
        choice = policy.ask(t, kb.Streams(0))
        regret += float(values.max() - values[choice.arm])
        sds += choice.note["sd"]
        policy.tell(choice, float(values[choice.arm]))
    bound = noise_free_bound(kernel, POINTS, rounds, norm_bound=norm, ridge=1e-6)
    assert regret <= 2 * norm * sds <= bound.regret < bound.trivial
    assert bound.value == bound.regret
    assert bound.regret == pytest.approx(2 * norm * bound.largest_sds.sum())


def test_for_orthonormal_arms_every_arm_counts_once():
    """The N-th largest sd is 1 for N <= n, and at most the root of the ridge beyond."""
    bound = noise_free_bound(kb.Linear(), np.eye(4), 10, norm_bound=2.0, ridge=1e-4)
    np.testing.assert_allclose(bound.largest_sds, [1.0] * 4 + [0.01] * 6, rtol=1e-9)
    assert bound.trivial == 40.0
    assert bound.regret == pytest.approx(2 * 2 * (4 + 6 * 0.01))


def test_what_it_cannot_take_is_refused():
    for bad in ({"horizon": 0}, {"norm_bound": -1.0}, {"ridge": 0.0}):
        given = {"horizon": 5, "norm_bound": 1.0} | bad
        with pytest.raises(ValueError, match=f"noise_free_bound needs .*{next(iter(bad))}"):
            noise_free_bound(kb.RBF(0.3), POINTS, **given)
    assert math.isclose(
        noise_free_bound(kb.RBF(0.3), POINTS[:1], 1, norm_bound=1.0).value, 2.0, rel_tol=1e-6
    )
