"""Kernel epsilon-greedy: the highest estimate, and now and then a random arm."""

from __future__ import annotations

from typing import Any

from kernelbandits import checks
from kernelbandits.policies.about import RANDOM_QUERIES, About
from kernelbandits.policies.acquisition import UpperConfidence
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice, Playable, Point
from kernelbandits.policies.round import Round


class KernelEpsilonGreedy(Policy[Point]):
    """Play a random arm with probability epsilon_t, and the highest estimate otherwise.

    epsilon_t = min(1, first t^-power); the estimate is kernel ridge regression.

    Parameters
    ----------
    first
        epsilon_1, the probability of a random arm in round 1.
    power
        How fast the probability falls; 0 keeps it constant.
    ridge
        The regularisation of the estimate.
    domain, kernel, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.KernelEpsilonGreedy(arms, kb.RBF(0.3), power=0.5)
    >>> [policy.chance(t) for t in (1, 4, 100)]
    [1.0, 0.5, 0.1]
    """

    about = About(
        name="kernel-epsilon-greedy",
        title="Kernel epsilon-greedy",
        family=RANDOM_QUERIES,
        paper="Arya & Sriperumbudur, Kernel epsilon-greedy for contextual bandits, 2023",
        guarantee="none in this form; the paper's is for one function of a random context for each "
        "of a few arms",
        ours="one function of all arms, hence no inverse propensity weights; "
        "epsilon_t = min(1, t^(-1/3)) and ridge 1 unless given",
    )
    plays_boxes = True
    restricts_arms = True
    imagines_pending = True
    weighs_costs = True

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        first: float = 1.0,
        power: float = 1 / 3,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self.first = checks.nonnegative("KernelEpsilonGreedy", "first", first)
        self.power = checks.nonnegative("KernelEpsilonGreedy", "power", power)
        rule = "a random arm with probability min(1, first t^-power)"
        self.settings |= {"first": first, "power": power, "exploration": rule, "gain": "none"}

    def chance(self, t: int) -> float:
        """Return epsilon_t, the probability of a random arm in round t."""
        return min(1.0, float(self.first * t**-self.power))

    def acquisition(self, now: Round) -> UpperConfidence:
        """Return the acquisition of the highest estimate."""
        return UpperConfidence(weight=0.0, width=0.0)

    def choose(self, now: Round) -> Choice:
        if now.draw_weight() >= self.chance(now.t):
            return super().choose(now)
        location = now.place.draw(now.randomness, now.t)
        return self._choice_at(location, now, {"random": 1.0})
