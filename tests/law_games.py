"""A few rounds with an exploration law, and what is warned of meanwhile."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import kernelbandits as kb

ARMS = kb.Arms(np.random.default_rng(1).random((6, 2)))


def generic_gp(exploration: Any) -> kb.GenericGP:
    """The rule of the paper on six arms, with a law or a schedule."""
    return kb.GenericGP(ARMS, kb.RBF(0.3), exploration, noise_scale=1.0, norm_bound=1.0)


def catch_theory_warnings(act: Callable[[], object]) -> list[str]:
    """What a call warns of that the theory needs."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        act()
    return [str(w.message) for w in caught if w.category is kb.TheoryWarning]


def play_rounds(policy: kb.Policy) -> kb.Policy:
    """The policy after five rounds of reward 1."""
    for t in range(1, 6):
        policy.tell(policy.ask(t, kb.Streams(0)), 1.0)
    return policy
