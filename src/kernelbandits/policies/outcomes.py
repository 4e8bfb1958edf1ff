"""Outcomes beside the reward that must lie within limits, each learnt by a policy of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.policies.acquisition import LogProbabilityInside, Surface
from kernelbandits.policies.base import Policy
from kernelbandits.posterior.draws import draw_from_posterior

Mask = npt.NDArray[np.bool_]

STREAMS_EACH = 1000
"""How many streams of random numbers the members of one posterior may take."""
HOPELESS = math.log(0.01)
"""A place that meets all limits with a smaller probability than 0.01, whose logarithm this is, is
not compared with the best."""
LIKELY = 0.9
"""From this probability of meeting all limits on, a place that was measured counts as feasible."""


@dataclass(frozen=True, eq=False)
class LimitedOutcome:
    """An outcome that must lie within limits: the policy that learns it, and the limits.

    Parameters
    ----------
    policy
        A `kb.Auto` on the same domain. It is told the values of this outcome, in any direction, and
        no failures: a measurement that failed says nothing of it.
    low, high
        The least and the greatest value allowed, in the units of the outcome; None for no limit on
        this side.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[arm / 10] for arm in range(11)])
    >>> score, haze = kb.Auto(arms), kb.Auto(arms)
    >>> for arm in (0, 3, 6, 9):
    ...     score.tell(score.choice(arm), arm / 10)
    ...     haze.tell(haze.choice(arm), (arm / 10) ** 2)
    >>> policy = score.limited_by(kb.policies.LimitedOutcome(haze, high=0.5))
    >>> score.recommend(), policy.recommend()
    (9, 6)
    """

    policy: Policy
    low: float | None = None
    high: float | None = None

    def __post_init__(self) -> None:
        checks.needs(isinstance(self.policy, Policy), "LimitedOutcome", "a policy", self.policy)
        check_limits("LimitedOutcome", self.low, self.high)

    @property
    def acquisition(self) -> LogProbabilityInside:
        """The logarithm of the probability that the outcome meets its limits."""
        units = self.policy.units
        low = -math.inf if self.low is None else float(units.standardise(self.low))
        high = math.inf if self.high is None else float(units.standardise(self.high))
        return LogProbabilityInside(low, high)

    def posterior(self, pending: Sequence[Any] = ()) -> Any:
        """Return the posterior of the outcome, with the values of these places imagined."""
        known = self.policy.noise_posterior()
        return known.with_pending(list(pending)) if pending else known

    def surface(self, pending: Sequence[Any] = ()) -> Surface:
        """Return the logarithm of the probability as a function of the point of a box."""
        return Surface(self.posterior(pending), self.acquisition)

    def log_chances(self, places: Any, pending: Sequence[Any] = ()) -> Array:
        """Return the logarithms of the probabilities at places: numbers of arms, or rows."""
        posterior = self.posterior(pending)
        if not self.policy.finite:
            return self.acquisition.score(*posterior.members_at(places))
        sds = np.sqrt(np.maximum(posterior.variances[:, places], 0.0))
        return self.acquisition.score(posterior.means[:, places], sds)

    def log_chances_at(self, rows: Array) -> Array:
        """Return the same at rows of coordinates, also where the domain is a list of arms."""
        return self.acquisition.score(*self.posterior().members_at(rows))

    def draw_met(self, rows: Array, streams: int) -> Mask:
        """Return whether the limits are met at some rows, in functions drawn, (about 2000, n).

        The draws have numbers of their own from this stream on.
        """
        draws, inside = draw_from_posterior(self.posterior(), rows, streams), self.acquisition
        return np.asarray((draws >= inside.low) & (draws <= inside.high))


def check_limits(owner: str, low: Any, high: Any) -> None:
    """Check that there is a limit, and that values between the two are possible."""
    given = [checks.number(owner, "a limit", one) for one in (low, high) if one is not None]
    checks.needs(bool(given), owner, "a limit, low or high or both", None)
    ordered = given == sorted(given)
    checks.needs(ordered, owner, "limits low <= high", (low, high))


def log_feasibility(
    outcomes: Sequence[LimitedOutcome], places: Any, pending: Sequence[Any] = ()
) -> Array:
    """Return the logarithms of the probabilities that all limits are met at some places.

    Models of different outcomes are independent: the logarithms add.
    """
    total: Array = np.zeros(len(places))
    for outcome in outcomes:
        total = total + outcome.log_chances(places, pending)
    return total


def exclude_infeasible(draws: Array, outcomes: Sequence[LimitedOutcome], rows: Array) -> Array:
    """Return functions drawn at some rows with minus infinity where they are not feasible.

    Each outcome is drawn with them, from its own posterior.
    """
    for number, outcome in enumerate(outcomes, 1):
        met = outcome.draw_met(rows, number * STREAMS_EACH)
        size = min(len(draws), len(met))
        draws = np.where(met[:size], draws[:size], -np.inf)
    return draws


def find_hopeful(logs: Array, here: int) -> Indices:
    """Return the positions of the places that may be feasible, and of the one at `here`."""
    hopeful = logs >= HOPELESS
    hopeful[here] = True
    return np.flatnonzero(hopeful)


def find_feasible(logs: Array) -> Indices:
    """Return the positions of the places that count as feasible."""
    return np.flatnonzero(logs >= math.log(LIKELY))
