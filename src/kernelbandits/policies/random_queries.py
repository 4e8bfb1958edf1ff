"""Rules that play a random arm in every second round."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.exploration import Law, PointMass
from kernelbandits.policies.about import RANDOM_QUERIES, About
from kernelbandits.policies.base import IF_ZERO, noise_ridge
from kernelbandits.policies.choice import Choice, Playable, Point
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.round import Round
from kernelbandits.widths import Width


def play_random(policy: IndexPolicy[Any], now: Round) -> Choice:
    """Play any allowed arm or point with the same probability; what arms cost does not count."""
    location = now.place.draw(now.randomness, now.t)
    return policy._choice_at(location, now, {"random": 1.0, "weight": 0.0})


def warn_of_noise(policy: IndexPolicy[Any], noise_scale: float) -> None:
    if noise_scale:
        guarantee = "its guarantee is for rewards without noise"
        policy._warn_once(f"{guarantee}; with R = {noise_scale:g} it is a heuristic")


class GPUCBPlus(IndexPolicy[Point]):
    """Play the highest upper bound mean + D sd in odd rounds, and a random arm in even rounds.

    It is made for rewards without noise, where |f - mean| <= D sd always. D (`norm_bound`) bounds
    the norm of f in the space of the kernel. The ridge is R^2 (`noise_scale`), at least 1e-8.

    Parameters
    ----------
    domain, kernel, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.policies.GPUCBPlus(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.2), norm_bound=2.0)
    >>> policy.tell(policy.choice(1), 0.8)
    >>> policy.index(3).round(2)
    array([2.03, 0.8 , 2.03])
    >>> policy.index(4)
    array([0., 0., 0.])
    """

    about = About(
        name="gp-ucb-plus",
        title="GP-UCB+",
        family=RANDOM_QUERIES,
        paper="Kim & Sanz-Alonso, Enhancing Gaussian process surrogates for optimization and "
        "posterior approximation via random exploration, 2024",
        guarantee="without noise nearly the optimal rate of convergence, |f - mean| <= D sd "
        "always; none with noise, where it is a heuristic",
        ours="ridge R^2, no less than 1e-8; both queries of an iteration count as rounds",
    )

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        norm_bound: float,
        noise_scale: float = 0.0,
        ties: str = "random",
    ) -> None:
        super().__init__(
            domain, kernel, ridge=noise_ridge(type(self).__name__, noise_scale), ties=ties
        )
        warn_of_noise(self, noise_scale)
        if checks.scale("GPUCBPlus", "norm_bound", norm_bound) == 0:
            self._warn_once(IF_ZERO["norm_bound"])
        width = Width("D", lambda t: (norm_bound, 0.0, 0.0))
        self._set_rule(
            width, PointMass(1.0), noise_scale=noise_scale, norm_bound=norm_bound, gain="none"
        )

    def choose(self, now: Round) -> Choice:
        return super().choose(now) if now.t % 2 else play_random(self, now)

    def index(self, t: int, weight: float = 1.0, points: Any = None) -> Array:
        """Return mean + weight width sd in odd rounds; in even rounds all arms score zero."""
        index = super().index(t, weight, points)
        return index if t % 2 else np.zeros_like(index)


class ExploitPlus(IndexPolicy[Point]):
    """Play the highest estimate in odd rounds, and a random arm in even rounds.

    It is made for rewards without noise. The ridge is R^2 (`noise_scale`) and no less than 1e-8.

    Parameters
    ----------
    domain, kernel, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.policies.ExploitPlus(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.2))
    >>> policy.tell(policy.choice(1), 0.8)
    >>> [policy.ask(t, kb.Streams(0)).arm for t in range(3, 13)]
    [1, 2, 1, 1, 1, 2, 1, 1, 1, 2]
    """

    about = About(
        name="exploit-plus",
        title="EXPLOIT+",
        family=RANDOM_QUERIES,
        paper="Kim & Sanz-Alonso, Enhancing Gaussian process surrogates for optimization and "
        "posterior approximation via random exploration, 2024",
        guarantee="without noise nearly the optimal rate of convergence; none with noise, where it "
        "is a heuristic",
        ours="ridge R^2, no less than 1e-8; both queries of an iteration count as rounds",
    )

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float = 0.0,
        ties: str = "random",
    ) -> None:
        super().__init__(
            domain, kernel, ridge=noise_ridge(type(self).__name__, noise_scale), ties=ties
        )
        warn_of_noise(self, noise_scale)
        self._set_rule(
            Width("none", lambda t: (1.0, 0.0, 0.0)),
            PointMass(0.0),
            noise_scale=noise_scale,
            gain="none",
        )

    def _check_optimism(self, law: Law) -> None:
        """Do nothing: its exploration is the random rounds, not the weight."""

    def choose(self, now: Round) -> Choice:
        return super().choose(now) if now.t % 2 else play_random(self, now)

    def index(self, t: int, weight: float = 1.0, points: Any = None) -> Array:
        """Return mean + weight width sd in odd rounds; in even rounds all arms score zero."""
        index = super().index(t, weight, points)
        return index if t % 2 else np.zeros_like(index)
