"""Baselines: what any policy should beat."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelbandits import widths
from kernelbandits.exploration import Law, PointMass
from kernelbandits.policies.about import BASELINES, About
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice, Playable, Point
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.round import PendingView, Round


class Greedy(IndexPolicy[Point]):
    """Play the highest estimate and never explore: w = 0 in every round.

    Parameters
    ----------
    domain, kernel, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.policies.Greedy(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.1))
    >>> policy.tell(policy.choice(1), 0.2)
    >>> [policy.ask(t, kb.Streams(0)).arm for t in (2, 3, 4)]
    [1, 1, 1]
    """

    about = About(
        name="greedy",
        title="Greedy",
        family=BASELINES,
        paper="baseline",
        guarantee="none",
        ours="a baseline: always the highest estimate",
    )
    compiled_loop = "index"

    def __init__(
        self, domain: Playable[Point], kernel: Any, *, ridge: float = 1.0, ties: str = "random"
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_rule(widths.self_normalised(0.0, 1.0, ridge, 0.5), PointMass(0.0), gain="none")

    def _check_optimism(self, law: Law) -> None:
        """Do nothing: a baseline claims nothing, so it does not warn that nothing holds."""


class UniformRandom(Policy[Point]):
    """Play any arm with the same probability, whatever the rewards are.

    An arm is chosen by the uniform number "tie" of the round, a point of a box by its normal
    numbers "sample".

    Parameters
    ----------
    domain, kernel, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.policies.UniformRandom(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.3))
    >>> [policy.ask(t, kb.Streams(0)).arm for t in range(1, 11)]
    [0, 2, 0, 2, 2, 1, 0, 2, 1, 1]
    """

    about = About(
        name="random",
        title="Uniform random",
        family=BASELINES,
        paper="baseline",
        guarantee="none",
        ours="a baseline: every arm with the same probability",
    )
    plays_boxes = True
    restricts_arms = True
    imagines_pending = True

    def __init__(
        self, domain: Playable[Point], kernel: Any, *, ridge: float = 1.0, ties: str = "random"
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        over = "arms" if self.finite else "domain"
        self.settings |= {"exploration": f"uniform over the {over}", "gain": "none"}

    def _view_pending(self, pending: Sequence[Choice]) -> PendingView:
        """Return what is known now: what is pending does not matter."""
        return PendingView(self.posterior, 1.0, {}, [])

    def choose(self, now: Round) -> Choice:
        location = now.place.draw(now.randomness, now.t)
        return Choice(location.x, location.arm, {}, now.place.context)
