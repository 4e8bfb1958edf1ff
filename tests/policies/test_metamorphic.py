"""What must not change, or must change in proportion, when a problem is written in other units."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from conftest import has_index
from kernelbandits.catalogue import POLICIES

R, D, ROUNDS = 0.5, 2.0, 60
THEORY = {"noise_scale", "norm_bound"}

NO_SCALE = {"kernel-ucb", "mvr", "greedy", "random", "kernel-epsilon-greedy"}
"""They know neither R nor D."""
FIXED_GAPS = {"sup-kernel-ucb", "sup-lin-ucb", "sup-lin-rel", "ucb-revisited"}
"""They compare with gaps of their own, 2^-s."""
LOGARITHMIC = {"expected-improvement", "probability-of-improvement"}
"""Their index is a logarithm."""
BOTH = [name for name in POLICIES if name not in NO_SCALE | FIXED_GAPS | LOGARITHMIC | {"auto"}]
SCALED_KERNEL = [
    "whitehouse-ucb", "amm-ucb", "dmm-ucb", "cmm-ucb", "streaming-ucb", "bpe", "reds", "wgp-ucb", "adaptive-tree", "bkb", "ids",
]  # fmt: skip
"""Their ridge is free and nothing else fixes the unit of the kernel."""
COUNT_ARMS = {
    "gp-ucb",
    "bpe",
    "reds",
    "sup-kernel-ucb",
    "kernel-ucb",
    "tv-gp-ucb",
    "r-gp-ucb",
    "irgp-ucb",
    "lin-ucb",
    "lin-rel",
    "gp-bucb",
}
"""The number of arms enters their width."""


def rewards_of(points: np.ndarray) -> np.ndarray:
    return np.sin(4 * points.sum(1)) / 2


def arms_played(policy: kb.Policy, scale: float = 1.0) -> list[int]:
    """The arms of some rounds; noise by the round, all rewards multiplied by the scale."""
    values, streams, arms = rewards_of(policy.domain.points), kb.Streams(5), []
    for t in range(1, ROUNDS + 1):
        choice = policy.ask(t, streams)
        policy.tell(choice, scale * (values[choice.arm] + 0.3 * (-1) ** t))
        arms.append(choice.arm)
    return arms


@pytest.mark.parametrize("name", BOTH)
def test_rewards_in_another_unit_change_nothing_but_the_unit(name, build, cloud):
    """(y, R, D) times 4 at a fixed ridge: every floating-point number scales exactly, so the same arms are played."""
    fixed = {"ridge": 0.7} if "ridge" in POLICIES[name].settings else {}
    here = build(name, cloud, noise_scale=R, norm_bound=D, horizon=ROUNDS, **fixed)
    there = build(name, cloud, noise_scale=4 * R, norm_bound=4 * D, horizon=ROUNDS, **fixed)
    if here.posterior.ridge != there.posterior.ridge:
        return  # its ridge is R^2, which the unit of the rewards moves
    assert arms_played(here) == arms_played(there, 4.0)
    if has_index(type(here)) and name not in LOGARITHMIC:
        np.testing.assert_allclose(there.index(ROUNDS), 4 * here.index(ROUNDS), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::kernelbandits.TheoryWarning")
@pytest.mark.parametrize("name", SCALED_KERNEL)
def test_a_kernel_in_another_unit_changes_nothing(name, build, cloud):
    """k times 4, ridge times 4, D over 2: the same functions, the same noise, the same band."""
    one, four = {"ridge": 0.7}, {"ridge": 2.8}
    if "ridge" not in POLICIES[name].settings:
        one = four = {}
    here = build(name, cloud, kb.RBF(0.3), noise_scale=R, norm_bound=D, horizon=ROUNDS, **one)
    there = build(
        name, cloud, 4.0 * kb.RBF(0.3), noise_scale=R, norm_bound=D / 2, horizon=ROUNDS, **four
    )
    assert arms_played(here) == arms_played(there)
    np.testing.assert_allclose(there.posterior.mean, here.posterior.mean, atol=1e-12)
    np.testing.assert_allclose(there.posterior.sd, 2 * here.posterior.sd, atol=1e-12)
    if has_index(type(here)) and name not in LOGARITHMIC:
        np.testing.assert_allclose(there.index(ROUNDS), here.index(ROUNDS), rtol=1e-10)


RANKED = [name for name, entry in POLICIES.items() if has_index(entry.constructor)]
OTHERWISE = COUNT_ARMS | {"ucb1", "ucb-revisited", "pi-gp-ucb", "adaptive-tree"}
"""And those to which a second name is a second arm, or a cell of more arms."""


@pytest.mark.filterwarnings("ignore::kernelbandits.DataNotice")
@pytest.mark.parametrize("name", [name for name in RANKED if name not in OTHERWISE])
def test_writing_an_arm_twice_leaves_every_index_as_it_was(name, build, cloud):
    once, twice = build(name, cloud), build(name, np.vstack([cloud, cloud[3]]))
    for t, arm in enumerate([3, 5, 3, 0, 11, 3], start=1):
        for policy in (once, twice):
            policy.tell(policy.choice(arm), 0.1 * t)
    index = twice.index(7)
    np.testing.assert_allclose(index[:12], once.index(7), atol=1e-12)
    assert index[12] == pytest.approx(index[3], abs=1e-9)
