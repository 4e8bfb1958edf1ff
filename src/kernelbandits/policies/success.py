"""Whether a measurement succeeds, as a function of what describes its place.

A measurement succeeds if g(x) + noise > 0, where g has the prior of a Gaussian process and the
noise variance is 1. So a result says that g + noise is above 0 and a failure that it is below:
both are limits, and are learnt as limits of a reward are (`calibration.censoring`).

What failures hang on is not known before: nothing, one column, or all columns together. So there
are several priors of g, each with scales that are fixed, which count by their evidence. Nothing is
fitted: the model is a function of the results alone.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from kernelbandits.calibration import Prior, Refits
from kernelbandits.calibration.censoring import find_cavities, log_evidence, propagate
from kernelbandits.calibration.evidence import Blocks
from kernelbandits.checks import Array, Indices
from kernelbandits.kernels import Constant, KernelParts, KernelStack, Linear, SamePoint, Scaled
from kernelbandits.policies.acquisition import LogProbabilityInside, LogWorthOfTrying, Surface
from kernelbandits.policies.outcomes import OutcomeModel
from kernelbandits.posterior import PointPosterior, RowPosterior

Mask = npt.NDArray[np.bool_]

NOISE = 1.0
"""The variance of the noise: it is the unit of g."""
VARIANCES = (4.0, 100.0, 10_000.0)
"""The variances of g: failures that features explain in part, and without exception from a sharp
border on. With less than the last a search on a box measures the same border again and again."""
LEVEL_SHARE = 0.25
"""The variance of the constant part of g beside that of the others; it is at least 1."""
NUGGET = 0.3
"""On a list of arms, the variance of what is different at every point."""
LOCAL = 0.1
"""The prior of failures that hang on no column has so short a lengthscale, beside the usual one:
a place where measurements fail again and again says something of this place alone."""
LONG = 2.0
"""One of the priors of all columns together has lengthscales so much longer."""
FAR = 100.0
"""The lengthscale of a column without influence, in sides of the domain."""
KEPT, KEPT_ON_BOXES = 3, 2
"""So many priors, those of the greatest evidence, are kept. On a box every one of them is
evaluated at each step of a search."""
CHOSEN_AT = Refits(growth=1.3, first=1)
"""After how many results since the first failure the priors are weighed again."""
MOST_WEIGHED = 100
"""The evidence is that of at most so many results, failures first: it costs their number cubed for
each prior."""
FEW = 300
"""After more attempts than this only the prior of the greatest evidence is kept."""
UNLIKELY = 0.6
"""A place is unlikely to give a result if its probability is less than this share of the greatest
one at a place that was tried. A search leaves it for later."""
DAMPING, SETTLED = 0.5, 0.03
"""How fast and how exactly the limits are learnt (`censoring.propagate`). Under variances of 100
all at once overshoot with more; probabilities are then exact to about 0.003."""


class Attempts(NamedTuple):
    """What was measured where, and whether it succeeded."""

    points: Array
    """(m, d): the distinct points, in the order of their first attempt."""
    slots: Indices
    """The point of each attempt."""
    succeeded: Mask
    """Whether each attempt gave a result."""

    @property
    def sides(self) -> Array:
        """On which side of 0 each attempt shows g: 1 above, -1 below."""
        return np.where(self.succeeded, 1.0, -1.0)

    @classmethod
    def of(cls, rows: Sequence[Array], succeeded: Sequence[bool]) -> Attempts:
        """Return the attempts at some rows, in order."""
        known: dict[bytes, int] = {}
        slots = [known.setdefault((row + 0.0).tobytes(), len(known)) for row in rows]
        first = np.unique(slots, return_index=True)[1]
        points = np.array(rows)[first]
        return cls(points, np.array(slots, dtype=np.int64), np.array(succeeded, dtype=np.bool_))

    def select(self, numbers: Indices) -> Attempts:
        """Return some of the attempts."""
        kept, slots = np.unique(self.slots[numbers], return_inverse=True)
        return Attempts(self.points[kept], slots, self.succeeded[numbers])

    @property
    def last_weighed(self) -> int:
        """How many of the attempts there were when the priors were weighed last."""
        before = int(self.succeeded.argmin())
        number = int(CHOSEN_AT.next_after(0))
        while (after := int(CHOSEN_AT.next_after(number))) <= len(self.succeeded) - before:
            number = after
        return before + number

    def select_weighed(self) -> Attempts:
        """Return the attempts by which the priors are weighed: failures and results, spread."""
        end = self.last_weighed
        failures = np.flatnonzero(~self.succeeded)
        failed, worked = failures[failures < end], np.flatnonzero(self.succeeded[:end])
        failed = spread_over(failed, max(MOST_WEIGHED // 2, MOST_WEIGHED - len(worked)))
        worked = spread_over(worked, MOST_WEIGHED - len(failed))
        return self.select(np.sort(np.concatenate([failed, worked])))


def spread_over(numbers: Indices, most: int) -> Indices:
    """Return at most so many of some numbers, evenly over all of them."""
    if len(numbers) <= most:
        return numbers
    return numbers[np.linspace(0, len(numbers) - 1, most).astype(np.int64)]


class Learnt(NamedTuple):
    """What attempts say of g under several priors: the measurements that they count as."""

    prior: Array
    """(M, m, m): the covariance of g at the points under each prior."""
    values: Array
    """(M, attempts)"""
    variances: Array

    @classmethod
    def of(cls, prior: Array, attempts: Attempts) -> Learnt:
        none, limits = np.zeros(len(attempts.points)), np.zeros(len(attempts.slots))
        given = none, none, attempts.slots, attempts.sides, limits
        return cls(prior, *propagate(prior, *given, NOISE, DAMPING, SETTLED))

    def log_evidence(self, attempts: Attempts) -> Array:
        """Return ln p(the attempts) under each prior."""
        given = attempts.slots, attempts.sides, np.zeros(len(attempts.slots))
        return log_evidence(self.prior, *given, self.values, self.variances, NOISE)

    def leave_out(self, attempts: Attempts) -> Array:
        """Return the probability that each attempt succeeds, by all others, under each prior."""
        none, tau = np.zeros(len(attempts.points)), 1 / self.variances
        sites = attempts.slots, tau, tau * self.values
        mean, variance = find_cavities(self.prior, none, none, *sites)
        return np.asarray(ndtr(mean / np.sqrt(variance + NOISE)))

    def totals(self, attempts: Attempts) -> tuple[Array, Array]:
        """Return counts and sums, (M, m), of as many plain measurements of noise `NOISE`."""
        at_slots = attempts.slots[:, None] == np.arange(len(attempts.points))
        counts = NOISE / self.variances @ at_slots
        return counts, NOISE * self.values / self.variances @ at_slots


@dataclass(frozen=True, eq=False)
class Features:
    """What the priors of g need to know of a domain."""

    sides: Array
    """Its extent in each coordinate."""
    blocks: Blocks
    """The coordinates of each column; none where points are features."""
    finite: bool

    def equals(self, other: Features) -> bool:
        """Tell whether the priors of g are the same."""
        same = self.blocks == other.blocks and self.finite == other.finite
        return same and np.array_equal(self.sides, other.sides)

    def stack_of(self, attempts: Attempts) -> tuple[KernelStack, Array]:
        """Return the kernels of the priors that count most by these attempts, and their shares."""
        most = KEPT if self.finite else KEPT_ON_BOXES
        most = 1 if attempts.last_weighed > FEW else most
        attempts = attempts.select_weighed()
        prior = self._stack(None)(attempts.points, attempts.points)
        logs = Learnt.of(prior, attempts).log_evidence(attempts)
        logs += np.log([weight for _, weight in self.parts])
        kept = np.argsort(-logs, kind="stable")[:most]
        shares = np.exp(logs[kept] - logs[kept[0]])
        return self._stack(kept), shares / shares.sum()

    def _stack(self, kept: Indices | None) -> KernelStack:
        parts = [part for part, _ in self.parts]
        parts = parts if kept is None else [parts[number] for number in kept]
        if self.blocks:
            return KernelStack.of_parts(parts)
        return KernelStack([compose_features(part) for part in parts])

    @cached_property
    def parts(self) -> list[tuple[KernelParts, float]]:
        """The parts of the kernel of each prior, and what it counts for.

        No column, all columns with usual and with long lengthscales, the sum of functions of one
        column each, and one column alone: each counts the same, as far as there are any of it.
        """
        columns = len(self.blocks)
        usual = np.full(len(self.sides), math.exp(Prior().mode(max(1, columns), 1)[0]))
        found = [self._part(LOCAL * usual, NOISE, 1.0)]
        for variance in VARIANCES:
            share = 1 / len(VARIANCES)
            found.append(self._part(usual, variance, share))
            if not columns:
                continue
            found.append(self._part(LONG * usual, variance, share))
            if self.finite and columns > 1:
                found.append(self._part(usual, variance / 2, share, variance / 2))
            for block in self.blocks if columns > 1 else ():
                lengths = np.full(len(self.sides), FAR)
                lengths[list(block)] = math.exp(Prior().mode(1, 1)[0])
                found.append(self._part(lengths, variance, share / columns))
        return found

    def _part(
        self, lengths: Array, signal: float, weight: float, additive: float = 0.0
    ) -> tuple[KernelParts, float]:
        scaled = tuple((lengths * self.sides).tolist())
        level = max(1.0, LEVEL_SHARE * (signal + additive))
        nugget = NUGGET if self.finite else 0.0
        blocks = tuple(tuple(block) for block in self.blocks) if self.finite else ()
        return KernelParts(scaled, 2.5, signal, level, additive, nugget, blocks), weight


@dataclass(frozen=True, eq=False)
class SuccessModel(OutcomeModel):
    """The probability that a measurement succeeds, learnt from results and failures.

    `Auto` makes it when a measurement has failed (`Auto.success`).

    Examples
    --------
    >>> import kernelbandits as kb
    >>> auto = kb.Auto(kb.Arms([[arm / 10] for arm in range(11)]))
    >>> for arm in (0, 2, 4, 6, 8, 10):
    ...     if arm < 7:
    ...         auto.tell(auto.choice(arm), 1.0 + arm)
    ...     else:
    ...         auto.fail(auto.choice(arm))
    >>> model = auto.success
    >>> model.attempts.succeeded.tolist()
    [True, True, True, True, False, False]
    >>> auto.success_chance(auto.choice(1)) > 0.8 > 0.3 > auto.success_chance(auto.choice(9))
    True
    """

    attempts: Attempts
    """The measurements that it was learnt from."""
    features: Features
    """What is known of the domain."""
    shares: Array
    """What each member counts for."""
    learnt: Learnt
    """What the attempts say under the prior of each member."""
    known: Any
    """The posterior of g."""

    @property
    def finite(self) -> bool:
        return isinstance(self.known, RowPosterior)

    @cached_property
    def acquisition(self) -> LogProbabilityInside:
        return LogProbabilityInside(0.0, math.inf, NOISE, self.shares)

    def posterior(self, pending: Sequence[Any] = ()) -> Any:
        """Return the posterior of g.

        Nobody knows whether a pending measurement succeeds: it says nothing.
        """
        return self.known

    @cached_property
    def worth(self) -> LogWorthOfTrying:
        """What a place counts for in a search: ln P, and far less where P is small.

        Small is less than 0.6 of the greatest P at a place that was tried.
        """

        return LogWorthOfTrying(0.0, math.inf, NOISE, self.shares, UNLIKELY * self._greatest)

    @cached_property
    def _greatest(self) -> float:
        """The greatest probability of success at a point that was tried."""
        logs = self.acquisition.score(*self.known.members_at(self.attempts.points))
        return math.exp(logs.max())

    @property
    def failed_points(self) -> Array:
        """The distinct points where an attempt has failed."""
        return self.attempts.points[np.unique(self.attempts.slots[~self.attempts.succeeded])]

    def worth_surface(self, exact: bool = False) -> Surface:
        """Return the same as a function of the point of a box."""
        return Surface(self.known, self.worth, exact)

    def chances(self, places: Any) -> Array:
        """Return the probabilities of success at places: numbers of arms, or rows."""
        return np.asarray(np.exp(self.log_chances(places)))

    @cached_property
    def left_out(self) -> Array:
        """The probability that each attempt succeeds, by all the others."""
        return np.asarray(self.shares @ self.learnt.leave_out(self.attempts))

    @property
    def log_score(self) -> float:
        """The mean of ln P(what happened), of each attempt by all the others; at most 0."""
        return score_chances(self.left_out, self.attempts.succeeded)

    @property
    def log_score_of_share(self) -> float:
        """The same of the plain share of successes among the others, (s + 1) / (n + 2)."""
        worked = self.attempts.succeeded
        others = len(worked) - 1
        return score_chances((worked.sum() - worked + 1) / (others + 2), worked)


def score_chances(chances: Array, succeeded: Mask) -> float:
    """Return the mean of ln P(what happened)."""
    return float(np.log(np.where(succeeded, chances, 1 - chances)).mean())


def compose_features(part: KernelParts) -> Any:
    """Return the kernel of points that are features: their inner product in place of a distance."""
    kernel = Scaled(Linear(), part.signal) + Scaled(Constant(), part.level)
    return kernel + Scaled(SamePoint(), part.nugget)


def learn_success(
    attempts: Attempts, features: Features, arms: Any, before: SuccessModel | None = None
) -> SuccessModel:
    """Learn where measurements succeed from attempts, of which one at least has failed.

    arms: those that the posterior is kept for; on a box the box. before: a model of the first of
    these attempts, whose priors are taken if they were weighed by the same attempts.
    """
    made = RowPosterior if features.finite else PointPosterior
    posterior: Any = None
    if before is not None and before.features.equals(features):
        features = before.features
        if before.attempts.last_weighed == attempts.last_weighed:
            posterior, shares = before.known, before.shares
    if posterior is None:
        stack, shares = features.stack_of(attempts)
    else:
        stack = posterior.stack
    ridges = [NOISE] * len(shares)
    if isinstance(posterior, RowPosterior) and posterior.has_members(stack, ridges, arms):
        # Its kernels of the points are known.
        posterior = posterior.without_rewards()
    else:
        posterior = made(stack, arms, ridges)
    learnt = Learnt.of(stack(attempts.points, attempts.points), attempts)
    counts, sums = learnt.totals(attempts)
    number = len(attempts.slots)
    if features.finite:
        every = np.zeros((2, len(shares), len(arms)))
        every[..., arms.index.find(attempts.points)] = counts, sums
        posterior.learn(every[0], every[1], events=number)
    else:
        posterior.learn(attempts.points, counts, sums, events=number)
    return SuccessModel(attempts, features, shares, learnt, posterior)
