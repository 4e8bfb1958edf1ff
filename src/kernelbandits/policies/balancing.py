"""A rule that does not know the lengthscale: LB-GP-UCB balances the regret of several of them."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.formatting import format_count
from kernelbandits.kernels import Kernel, as_trusted
from kernelbandits.policies.about import MISSPECIFIED, About
from kernelbandits.policies.acquisition import MemberConfidence
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice, Playable, Point
from kernelbandits.policies.round import Round
from kernelbandits.posterior import PointPosterior, RowPosterior
from kernelbandits.widths import Width


@dataclass(frozen=True)
class Candidate:
    """A lengthscale that may be right, and what was earned while it was played by."""

    steps: int
    """How often the first lengthscale was divided by e^(1/d)."""
    width: Width
    """The confidence width if f has the norm that is supposed at this lengthscale."""
    plays: int = 0
    total: float = 0.0
    """The sum of the rewards."""
    reach: float = 0.0
    """The sum of width sd where it was played: half of what the regret may have been."""

    def add_reward(self, reward: float, reach: float) -> Candidate:
        return replace(
            self, plays=self.plays + 1, total=self.total + reward, reach=self.reach + reach
        )


class LBGPUCB(Policy[Point]):
    """Play the upper confidence bound of the lengthscale whose regret bound is least so far.

    Lengthscale i is l e^(-i/d), at which f has norm at most e^(i/2) D. All learn all rewards. In
    round t the rule is played by the lengthscale of the least bound R_i(n_i + 1), n_i the rounds
    that were played by it,

    R_i(n) = e^i sqrt(n) (D sqrt(r(n)) + R r(n)),   r(n) = n^e ln(n)^q,

    r the rate of the information gain: ln(n)^(d + 1) for the RBF kernel. Its width is S(delta / 2)
    with the norm e^(i/2) D. After the round a lengthscale is dropped if

    ybar_i + sqrt(xi / n_i) + (2 / n_i) sum width sd < max over j of (ybar_j - sqrt(xi / n_j)),

    xi = 2 R^2 ln(m pi^2 t^2 / (3 delta)), as soon as each was played. ybar_i is the mean reward of
    its rounds, m the number of lengthscales so far. Then the next lengthscale is added if it is not
    below l / g(t), g(t) = max(e^(candidates / d), t^shrinkage).

    Parameters
    ----------
    kernel
        With a lengthscale that is as long as it may be.
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f for the lengthscale of the kernel, were it right.
    shrinkage
        The power of t by which the shortest lengthscale falls.
    candidates
        So many shorter lengthscales are tried from the beginning, one round after the other.
    domain, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.LBGPUCB(arms, kb.RBF(0.9), noise_scale=0.1, norm_bound=1.0)
    >>> for t in range(1, 31):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend(), [candidate.plays for candidate in policy.candidates][:3]
    (2, [18, 6, 3])
    """

    about = About(
        name="lb-gp-ucb",
        title="LB-GP-UCB",
        family=MISSPECIFIED,
        paper="Ziomek, Adachi & Osborne, Bayesian optimisation with unknown hyperparameters: "
        "regret bounds logarithmically closer to optimal, 2024",
        guarantee="with probability 1 - delta regret O(d ln g(T)) times that of GP-UCB with the "
        "right lengthscale, if f has norm at most e^(i/2) D at some of the lengthscales (RBF, "
        "Matern; paper)",
        ours="the signs of the tests for dropping and adding follow the proof and the authors' "
        "code, not the printed algorithm; R in the regret bound, which the paper gives up to a "
        "factor; the self-normalised width at ridge 1; lengthscales in "
        "units of the first one; a reward counts for the lengthscale that chose it, with the sd "
        "when it comes; ln(n)^(d + 1) for a kernel of unknown rate",
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
        noise_scale: float,
        norm_bound: float,
        shrinkage: float = 0.5,
        candidates: int = 5,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties, form=member_posterior)
        first, self._dimension = self.posterior.kernel, self.domain.dimension
        scales = self.finite or first.lengthscales(self._dimension) is not None
        space = f"a space of {format_count(self._dimension, 'coordinate')}"
        needed = f"a kernel with a lengthscale on {space}, such as kb.RBF or kb.Matern"
        checks.needs(scales, self.about.name, needed, first)
        self.delta = self._check_bounds(noise_scale, norm_bound, delta)
        self.shrinkage = checks.nonnegative("LBGPUCB", "shrinkage", shrinkage)
        self.first_candidates = checks.whole("LBGPUCB", "candidates", candidates)
        self.noise_scale, self.norm_bound = float(noise_scale), float(norm_bound)
        self._first_kernel: Kernel = first
        decay = first.eigendecay(self._dimension)
        self._rate = (
            (0.0, self._dimension + 1.0)
            if decay is None
            else (float(decay.exponent), float(decay.power + 1 - decay.exponent))
        )
        self.candidates: tuple[Candidate, ...] = (self._make_candidate(0),)
        """The lengthscales that were not dropped, in the order of the posterior's members."""
        self.added = 1
        """How many lengthscales there were so far."""
        self.settings |= {
            "width": "e^(i/2) D + (R/sqrt(ridge)) sqrt(2 ln(2/delta) + L)",
            "exploration": "the lengthscale of the least regret bound",
            "gain": "realised",
            "shrinkage": shrinkage,
            "candidates": candidates,
        }

    @property
    def current(self) -> int:
        """The number of the candidate by which the next round is played."""
        bounds = [self._regret_bound(one.steps, one.plays + 1) for one in self.candidates]
        return bounds.index(min(bounds))

    def _regret_bound(self, steps: int, rounds: int) -> float:
        """Return R_i(n) = e^i sqrt(n) (D sqrt(r(n)) + R r(n)), up to a factor."""
        exponent, power = self._rate
        gain = float(rounds**exponent * math.log(rounds) ** power)
        size = self.norm_bound * math.sqrt(gain) + self.noise_scale * gain
        return math.exp(steps) * math.sqrt(rounds) * size

    def _make_candidate(self, steps: int) -> Candidate:
        norm = self.norm_bound * math.exp(steps / 2)
        chance, ridge = self.delta / 2, self.posterior.ridge
        return Candidate(steps, widths.self_normalised(self.noise_scale, norm, ridge, chance))

    def width_at(self, t: int) -> float:
        """Return the width of the candidate by which the next round is played."""
        return self._member_width(self.current, t)

    def _member_width(self, member: int, t: int) -> float:
        return self.candidates[member].width(t, float(self.posterior.log_dets[member]))

    def acquisition(self, now: Round) -> MemberConfidence:
        member = self.current
        imagined = float(now.posterior.log_dets[member] - self.posterior.log_dets[member])
        # While rewards are pending, a width holds if it is multiplied by exp(I).
        width = self._member_width(member, now.t) * math.exp(imagined / 2)
        return MemberConfidence(member, width)

    def score_arms(self, t: int) -> Array:
        """Return the upper confidence bound of every arm by the candidate of the next round."""
        checks.needs(self.finite, "index", "a finite set of arms", self.domain)
        posterior, member = self.posterior, self.current
        sd = np.sqrt(np.maximum(posterior.variances, 0.0))
        return MemberConfidence(member, self._member_width(member, t)).score(posterior.means, sd)

    def choose(self, now: Round) -> Choice:
        choice = super().choose(now)
        steps = float(self.candidates[self.current].steps)
        return replace(choice, note={**choice.note, "candidate": steps})

    def _learn(self, place: Any, reward: float, note: Mapping[str, float]) -> None:
        t, candidates = self.posterior.events + 1, list(self.candidates)
        member = self._member_of(note)
        if member is not None:
            reach = self._member_width(member, t) * self._member_sd(member, place)
            candidates[member] = candidates[member].add_reward(reward, reach)
        kept = self._keep(candidates, t)
        added = self.added
        # The largest i with l e^(-i/d) >= l / g(t); 1e-9 for one that is whole but for rounding.
        most = max(self.first_candidates, self._dimension * self.shrinkage * math.log(t))
        if added <= most + 1e-9:
            kept.append(self._make_candidate(added))
            added += 1
        if [one.steps for one in kept] == [one.steps for one in self.candidates]:
            self.posterior.update(place, reward)
        else:
            self.posterior = self._rebuild(kept, place, reward)
        self.candidates, self.added = tuple(kept), added

    def _member_of(self, note: Mapping[str, float]) -> int | None:
        """Return which member chose; None for one that was dropped since."""
        if "candidate" not in note:
            return self.current
        steps = [one.steps for one in self.candidates]
        return steps.index(int(note["candidate"])) if note["candidate"] in steps else None

    def _member_sd(self, member: int, place: Any) -> float:
        if self.finite:
            return math.sqrt(max(float(self.posterior.variances[member, place]), 0.0))
        return float(self.posterior.members_at(place[None])[1][member, 0])

    def _keep(self, candidates: list[Candidate], t: int) -> list[Candidate]:
        """Return the candidates whose rewards are not below what their bounds allow."""
        if not all(one.plays for one in candidates):
            return candidates
        square = self.noise_scale**2
        xi = 2 * square * math.log(self.added * (math.pi * t) ** 2 / (3 * self.delta))
        noise = [math.sqrt(xi / one.plays) for one in candidates]
        best = max(one.total / one.plays - e for one, e in zip(candidates, noise, strict=True))
        return [
            one
            for one, e in zip(candidates, noise, strict=True)
            if (one.total + 2 * one.reach) / one.plays + e >= best
        ]

    def _rebuild(self, candidates: list[Candidate], place: Any, reward: float) -> Any:
        """Return the posterior of these candidates, with one more reward."""
        old = self.posterior
        steps = [math.exp(one.steps / self._dimension) for one in candidates]
        kernels = [as_trusted(self._first_kernel.shrink(step)) for step in steps]
        ridges = [old.ridge] * len(kernels)
        # The kernels may be functions of the user's, which may fail: what they are asked for comes
        # before anything changes.
        if self.finite:
            pool = RowPosterior(kernels, self.domain, ridges)
            tally = copy.deepcopy(old.tally)
            tally.add(place, reward)
            pool.learn(tally.counts, tally.sums)
            return pool
        fresh = PointPosterior(kernels, self.domain, ridges)
        known = copy.deepcopy(old)
        known.update(place, reward)
        fresh.learn(known.points, known.counts, known.sums)
        return fresh


def member_posterior(kernel: Any, domain: Any, ridge: float) -> Any:
    """Return a posterior that may have several members."""
    form = RowPosterior if isinstance(domain, Arms) else PointPosterior
    return form(kernel, domain, ridge)
