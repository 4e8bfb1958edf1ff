"""KernelUCB, and SupKernelUCB, which keeps separate data for each level of precision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import argmax
from kernelbandits.exploration import PointMass
from kernelbandits.kernels import as_trusted
from kernelbandits.policies.about import ELIMINATION, About
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.round import Round
from kernelbandits.posterior import PartialPosterior, Posterior
from kernelbandits.widths import Width


class KernelUCB(IndexPolicy):
    """Play the highest upper confidence bound, with a constant width.

    index(x) = mean(x) + (eta / sqrt(ridge)) sd(x).

    Parameters
    ----------
    horizon
        T, how many rounds will be played.
    eta
        By default sqrt(2 ln(2 T |X| / delta)) on |X| arms.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.KernelUCB(arms, kb.RBF(0.3), horizon=100, eta=2.0)
    >>> [policy.width_at(t) for t in (1, 10, 100)]
    [2.0, 2.0, 2.0]
    """

    about = About(
        name="kernel-ucb",
        title="KernelUCB",
        family=ELIMINATION,
        paper="Valko, Korda, Munos, Flaounas & Cristianini, Finite-time analysis of kernelised "
        "contextual bandits, 2013",
        guarantee="none for this rule: the theorem is for SupKernelUCB",
        ours="eta = sqrt(2 ln(2 T |X| / delta)) unless given, which is SupKernelUCB's; in the "
        "first round all arms tie and the declared rule settles it, where the original plays "
        "the first arm",
    )

    plays_boxes = False

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        horizon: int,
        delta: float = 0.1,
        ridge: float = 1.0,
        eta: float | None = None,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("KernelUCB", "horizon", horizon)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        chance = checks.inside("KernelUCB", "delta", delta)
        factor = (
            math.sqrt(2 * math.log(2 * rounds * len(self.domain) / chance)) if eta is None else eta
        )
        width = widths.kernel_ucb(checks.scale("KernelUCB", "eta", factor), self.posterior.ridge)
        self._set_rule(width, PointMass(1.0), delta=delta, eta=factor, gain="none")


@dataclass(frozen=True, eq=False, slots=True)
class LevelView:
    """The level at which a round stops, and what its data say of the arms that reached it."""

    level: int
    explores: bool
    """Whether some arm is wider than 2^-level; if not, none is wider than 1 / sqrt(T)."""
    alive: Indices
    """The arms that reached the level; mean, sd and width are theirs."""
    mean: Array
    sd: Array
    width: Array
    """What is added to the mean."""

    @property
    def index(self) -> Array:
        """What the round maximises over the arms alive.

        In an exploring round the width of those wider than 2^-level, otherwise mean + width.
        """
        if self.explores:
            return np.where(self.width > 2.0**-self.level, self.width, -np.inf)
        return self.mean + self.width


class PrecisionLevels(Policy[Array]):
    """Go through levels of precision, each with its own data, until an arm is worth playing.

    Every round starts at level s = 1 with all arms. With mean and width by the data of level s,
    over the arms that are left, and ucb = mean + width:

    - if no width exceeds 1 / sqrt(T), play the greatest ucb; its reward enters no level;
    - else if none exceeds 2^-s, keep the arms with ucb >= max ucb - 2^(1-s), go to level s + 1;
    - else play the widest arm; its reward enters level s.

    There are S = ceil(ln T) levels. What enters a level does not depend on the rewards in it, so
    the arms of a level are a fixed design. A subclass may say what the data of a level are
    (`_fresh_posterior`) and how wide an arm is by them (`_level_estimates`).
    """

    width: Width
    """What multiplies the sd of a level, the same in every round."""

    def _set_levels(self, rounds: int) -> None:
        self.top = max(1, math.ceil(math.log(rounds)))
        self.finest = 1 / math.sqrt(rounds)
        self.levels: dict[int, Any] = {}
        """The posterior of the data of each level, kept for the arms that reached it."""
        self.settings |= {"levels": self.top, "gain": "none"}
        self.settings["exploration"] = "the greatest width of a level, or the greatest upper bound"

    def _set_scale(self, width: Width) -> None:
        self.width = width
        self._scale = checks.number(type(self).__name__, "width", width(1, 0.0))
        self.settings["width"] = width.rule

    def climb_levels(self) -> LevelView:
        """Return the level at which the round stops, and the arms that reached it.

        It stops at level S at the latest: 2^-S <= T^(-ln 2) <= 1 / sqrt(T).
        """
        level, alive = 1, np.arange(len(self.domain))
        while True:
            mean, sd, width = self._level_estimates(level, alive)
            widest = float(width.max())
            if widest <= self.finest or widest > 2.0**-level:
                return LevelView(level, widest > self.finest, alive, mean, sd, width)
            upper = mean + width
            alive = alive[upper >= upper.max() - 2.0 ** (1 - level)]
            level += 1

    def _level_estimates(self, level: int, alive: Indices) -> tuple[Array, Array, Array]:
        """Return mean, sd and width of the arms alive by the data of one level.

        Where it has no data, mean and sd are the prior's.
        """
        if level in self.levels:
            mean, sd = self.levels[level].estimates(alive)
        else:
            mean, sd = np.zeros(len(alive)), np.sqrt(self.posterior.prior[alive])
        return mean, sd, self._scale * sd

    def choose(self, now: Round) -> Choice:
        tie, view = now.draw_tie(), self.climb_levels()
        place = argmax(view.index, self.ties, tie)
        arm = int(view.alive[place])
        note = {
            "mean": float(view.mean[place]),
            "sd": float(view.sd[place]),
            "width": self._width_in_sds(view, place),
            "level": float(view.level if view.explores else 0),
            "alive": float(len(view.alive)),
        }
        return Choice(self.domain.points[arm], arm, note)

    def _width_in_sds(self, view: LevelView, place: int) -> float:
        """Return the width of an arm as a multiple of its sd, for the note of a choice."""
        return self._scale

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        level = self._check_level(note["level"]) if "level" in note else self._level_of(arm)
        known = (self.levels.get(level) or self._new_level(level, arm)) if level else None
        self.posterior.update(arm, reward)
        if known:
            known.update(arm, reward)
            self.levels[level] = known

    def _new_level(self, level: int, arm: int) -> Any:
        """Return the posterior of a level without data, whose first reward is that of `arm`."""
        return self._fresh_posterior()

    def _check_level(self, level: float) -> int:
        known = checks.is_number(level) and level in range(self.top + 1)
        checks.needs(known, "tell", f"a note with a level in 0..{self.top}", level)
        return int(level)

    def _level_of(self, arm: int) -> int:
        """Return the level that a reward enters whose choice names none.

        That is where the arm is explored now.

        It is 0, no level, for an arm that would not be explored.
        """
        view = self.climb_levels()
        explored = view.alive[view.index > -np.inf] if view.explores else ()
        return view.level if arm in explored else 0


class SupKernelUCB(PrecisionLevels):
    """Go through levels of precision, each with its own data, until an arm is worth playing.

    Every round starts at level s = 1 with all arms. With mean and w = width sd by the data of level
    s, over the arms that are left, and ucb = mean + w:

    - if all w <= 1 / sqrt(T), play the greatest ucb; its reward enters no level;
    - else if all w <= 2^-s, keep the arms with ucb >= max ucb - 2^(1-s) and go to level s + 1;
    - else play the greatest w; its reward enters level s.

    There are S = ceil(ln T) levels, and
    width = D + (R / sqrt(ridge)) sqrt(2 ln(2 |X| T S / delta)).

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    horizon
        T, how many rounds will be played.
    eta
        A number that replaces the width by eta / sqrt(ridge), as in the original.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> settings = {"noise_scale": 0.01, "norm_bound": 0.5, "horizon": 100}
    >>> policy = kb.policies.SupKernelUCB(arms, kb.RBF(0.3), **settings)
    >>> levels = []
    >>> for t in range(1, 13):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     levels.append(int(choice.note["level"]))
    ...     policy.tell(choice, reward=choice.x[0] / 2)
    >>> levels
    [1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 2, 2]
    """

    about = About(
        name="sup-kernel-ucb",
        title="SupKernelUCB",
        family=ELIMINATION,
        paper="Valko, Korda, Munos, Flaounas & Cristianini, Finite-time analysis of kernelised "
        "contextual bandits, 2013",
        guarantee="regret O~(sqrt(d~ T)), d~ the effective dimension, with probability 1 - delta; "
        "stated for rewards in [0, 1]",
        ours="the width for R and D, derived for data chosen without their rewards (a number eta "
        "gives the original's); an exploring round plays the widest arm where the original "
        "plays any that is wide enough",
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        delta: float = 0.1,
        ridge: float = 1.0,
        eta: float | None = None,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("SupKernelUCB", "horizon", horizon)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        self._set_levels(rounds)
        claims = len(self.domain) * rounds * self.top
        if eta is None:
            width = widths.fixed_design(
                noise_scale, norm_bound, self.posterior.ridge, chance, claims
            )
        else:
            width = widths.kernel_ucb(
                checks.scale("SupKernelUCB", "eta", eta), self.posterior.ridge
            )
        self._set_scale(width)
        self.settings["eta"] = eta

    def _new_level(self, level: int, arm: int) -> Posterior | PartialPosterior:
        """Return the posterior of a level without data: of all arms for the first, else of few."""
        if level == 1:
            return self._fresh_posterior()
        view = self.climb_levels()
        alive = view.alive if view.level == level else np.array([arm])
        kernel, ridge = as_trusted(self.posterior.kernel), self.posterior.ridge
        level_posterior = PartialPosterior(kernel, self.domain.points, ridge, alive)
        # The kernel is evaluated before anything is learnt.
        level_posterior.keep(arm)
        return level_posterior
