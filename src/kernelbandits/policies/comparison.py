"""A choice compared with the points that may be better: estimates, and functions drawn there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Contextual
from kernelbandits.policies.acquisition import posterior_mean
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.outcomes import exclude_infeasible, find_hopeful
from kernelbandits.policies.place import MIDDLE, ArmList, Place, Region, place_of
from kernelbandits.posterior.draws import draw_from_posterior
from kernelbandits.runtime import single_threaded

if TYPE_CHECKING:
    from kernelbandits.policies.base import Policy

COMPARED = 200
"""The probability of being the best is that among this many rows: the row of the highest estimate,
those of the greatest mean + 2 sd, and the choice in place of the last one if it is not there."""
OPTIMISM = 2.0
"""How many sd are added to the mean when rows that may be the best are selected."""
MARGIN = 0.1
"""On a box a point is best if none is better by more than this share of the noise scale: its
neighbours are as good."""


@dataclass(frozen=True, eq=False)
class ChoiceComparison:
    """A choice among points that may be better, under the posterior of a policy."""

    rows: Array
    """(n, d): the points compared, as kernels see them, sorted."""
    mean: Array
    """Their estimates, in the units of the posterior."""
    sd: Array
    """The standard deviations of these estimates."""
    here: int
    """The position of the choice."""
    contenders: Indices
    """The positions of those that may yet be the best (`select_contenders`), with the choice."""
    draws: Array
    """(draws, contenders): functions drawn from the posterior, in its units; minus infinity where
    an outcome that was drawn with them breaks its limits."""
    margin: float
    """By how much another point must be better to count as better, in the units of the posterior.
    """
    units: Standard
    """From the units of the rewards to those of the posterior."""

    @property
    def highest(self) -> int:
        """The position of the highest estimate."""
        return int(self.mean.argmax())

    def estimate(self, position: int) -> tuple[float, float]:
        """Return the estimate at a position and its standard deviation, in rewards' units."""
        mean, sd = self.mean[position], self.sd[position]
        return float(self.units.original(mean)), float(self.units.original_sd(mean, sd))

    def chance(self, position: int) -> float:
        """Return the probability that this contender is the best of all."""
        return float(self._shares[self._column(position)])

    def losses(self) -> Array:
        """Return max f - f(choice) in each of the functions drawn, in the rewards' units.

        Where outcomes are limited, these are the functions in which the choice is feasible.
        """
        draws = self.units.original(self.draws[self.draws[:, self._column(self.here)] > -np.inf])
        losses: Array = draws.max(1) - draws[:, self._column(self.here)]
        return losses

    @cached_property
    def _shares(self) -> Array:
        return best_shares(self.draws, self.margin)

    def _column(self, position: int) -> int:
        return int(np.flatnonzero(self.contenders == position)[0])


@single_threaded
def compare_choice(policy: Policy, choice: Choice, arms: Any = None) -> ChoiceComparison:
    """Compare a choice with what may be better, by what the policy knows now.

    Among arms these are all arms, or those of a working set; on a box the point of the highest
    estimate, a cover and the points played. Where arms come with every round, `arms` are those it
    was chosen among; without them it is compared with the points played, in its context.
    """
    policy = policy.restrict_to(arms)
    where = policy._place_of(choice)
    row = policy.domain.points[where] if policy.finite else where
    place = find_place(policy, choice, arms)
    rows = list_rivals(policy, row, place)
    mean, sd = policy.posterior.at(rows)
    here = int((rows == row).all(1).argmax())
    hopeful = np.arange(len(rows))
    if policy.outcomes:
        logs = np.sum([outcome.log_chances_at(rows) for outcome in policy.outcomes], axis=0)
        hopeful = find_hopeful(logs, here)
    position = int(np.searchsorted(hopeful, here))
    contenders = hopeful[select_contenders(mean[hopeful], sd[hopeful], position)]
    draws = draw_from_posterior(policy.posterior, rows[contenders])
    draws = exclude_infeasible(draws, policy.outcomes, rows[contenders])
    return ChoiceComparison(
        rows=rows,
        mean=mean,
        sd=sd,
        here=here,
        contenders=contenders,
        draws=draws,
        margin=MARGIN * policy._noise_scale() if isinstance(place, Region) else 0.0,
        units=policy.units,
    )


def find_place(policy: Policy, choice: Choice, arms: Any) -> Place:
    """Return where a choice was made; of arms that came with the round, those played."""
    domain = policy.domain
    changing = isinstance(domain, Contextual) and checks.is_whole(domain.domain)
    if not changing or arms is not None:
        return policy._list_compared(place_of(domain, choice.context, arms))
    points = policy.posterior.points[:, : domain.coordinates]
    return ArmList(points, domain.check_context(choice.context))


def list_rivals(policy: Policy, row: Array, place: Place) -> Array:
    """Return the row of a choice and those of what may be better, sorted."""
    others = place.survey
    if isinstance(place, Region):
        surface = posterior_mean(policy.posterior)
        location = policy._search(surface, place, "lowest", MIDDLE)
        others = np.vstack([location.row[None], others, policy._played_points(place)])
    return np.unique(np.vstack([row[None], others]), axis=0)


def select_contenders(mean: Array, sd: Array, here: int) -> Indices:
    """Return the row of the highest estimate and those of the greatest mean + 2 sd, in order.

    The last of them is row `here`, if it is not among them anyway.
    """
    hope = mean + OPTIMISM * sd
    hope[mean.argmax()] = np.inf
    ranked = np.argsort(-hope, kind="stable")[:COMPARED]
    last = ranked[-1] if here in ranked else here
    return np.append(np.sort(ranked[:-1]), last) if len(hope) > COMPARED else np.arange(len(hope))


def best_shares(draws: Array, margin: float = 0.0) -> Array:
    """Return the share of drawn functions in which each point is best.

    P(f(x_i) >= max f - margin)
    """
    highest = draws.max(1, keepdims=True)
    # Where nothing is feasible, nothing is best.
    best = (draws >= highest - margin) & (highest > -np.inf)
    return np.asarray(best.mean(0))


def recommend_measured(policy: Policy) -> Choice:
    """Return the choice to recommend where an answer has to be a point that was measured.

    On a box the greatest estimate of all is mostly at a point that nobody has measured. A policy
    that fits no scales recommends by its own rule.
    """
    observations, domain = policy.observations(), policy.domain
    anywhere = not policy.finite and not isinstance(domain, Contextual)
    if policy.fits is None or observations is None or not anywhere:
        return policy.recommend_choice()
    points = policy.select_feasible(observations.points)
    mean, _ = policy.posterior.at(points)
    return policy.choice(domain.decode(points[int(mean.argmax())]))
