"""The learner of `Auto`: results in order, the fits to them, and the posterior that follows.

The results are the truth. Rewards by point, the fit that counts, the working set and the posterior
are functions of them, kept until more results come. So nothing has to be taken back: if learning is
interrupted, what follows from the results is worked out again.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration import Refits, Rewards, Standard
from kernelbandits.calibration.fitter import LEAST_RIDGE_SHARE, Fit, Fitter, ridge_of
from kernelbandits.calibration.noise import NoiseEvidence
from kernelbandits.calibration.rewards import Measurement
from kernelbandits.calibration.sides import domain_blocks
from kernelbandits.censored import side_of
from kernelbandits.checks import Array, Indices, NumericsWarning
from kernelbandits.domains import Arms
from kernelbandits.policies.observations import Hyperparameters, Observations
from kernelbandits.policies.stored import CODEC
from kernelbandits.policies.success import Attempts, Features, SuccessModel, learn_success
from kernelbandits.policies.working_set import (
    PoolKnowledge,
    WorkingSet,
    choose_working_set,
    is_large,
    know_pool,
)
from kernelbandits.posterior import PointPosterior, RowPosterior
from kernelbandits.posterior.base import accept_conditioning
from kernelbandits.runtime import single_threaded

REBUILT = 128
"""On arms the posterior is built again from counts and sums after every so many rewards. So many
rewards at once are counted and then learnt together, with the result of learning them in turn: an
update for each of 10^4 repeats would take seconds."""
REBUILT_SMALL = 512
"""The same on few arms, where an update takes a hundredth of the time of a new posterior."""
SMALL = 2**18
"""There are few arms if the covariances of all members have no more numbers than this."""
SURPRISING = 4.0
"""A repeat this many standard deviations from the earlier rewards of its point calls for a fit."""


@dataclass(frozen=True)
class Observation:
    """What came of one choice: a reward, perhaps with its standard error, or a failure."""

    place: Any
    """The number of an arm, or the row of a point."""
    value: float | None
    """The reward; None for a failure."""
    sem: float | None = None
    """The standard error of the reward, where it is known."""
    side: str | None = None
    """Where the reward is, seen from the value: "<" or ">" of one that is `Censored`."""

    @classmethod
    def of(cls, place: Any, reward: float | None) -> Observation:
        """Return the observation of a reward as a policy is told it, or of a failure (None)."""
        if reward is None:
            return cls(place, None)
        sem = reward.sem if isinstance(reward, Measurement) else None
        return cls(place, float(reward), sem, side_of(reward))


class AnswerModel(NamedTuple):
    """A posterior of the rewards, and the units in which it has them."""

    posterior: Any
    units: Standard


class RewardTotals(NamedTuple):
    """Distinct points, and the counts and sums of their rewards in the units of a posterior."""

    points: Array
    counts: Array
    """(m,), or (M, m) where members weigh the rewards differently."""
    sums: Array
    weighted: bool
    """Whether counts are weights: rewards have standard errors."""


@dataclass(eq=False)
class Checkpoint:
    """What a posterior is built from: a fit, the arms that it is kept for, and totals of rewards.

    The totals are those of the rewards when it was made. They are computed when they are first
    needed, and before another reward is counted.
    """

    fit: Fit
    rewards: Rewards
    arms: Any
    events: int
    """The number of rewards."""
    totals: RewardTotals | None = None


@dataclass(eq=False)
class Knowledge:
    """All that follows from some results and the fits to them, except the posterior."""

    rewards: Rewards
    fit: Fit
    working_set: WorkingSet | None
    failed: list[Any] = field(default_factory=list)
    """The places of choices that gave no reward."""
    norm: float = 1.0
    """The RKHS norm of f as the fit estimates it, in signal units; 1 before any reward."""
    checkpoint: Checkpoint | None = None
    """What the posterior is built from; None until the results so far are all counted."""
    since: list[tuple[Any, float]] = field(default_factory=list)
    """Places and rewards since the checkpoint, by which the posterior is updated one by one."""


class PlayedArms(NamedTuple):
    """The arms at the points with rewards."""

    arms: Any
    points: Array
    """The distinct points with rewards, in the order of the first one."""
    first: Indices
    """The first arm at each of these points."""
    measured: Indices
    """All arms at one of them."""


class Built(NamedTuple):
    """A posterior, what it was built from, and how many rewards it was updated by since."""

    checkpoint: Checkpoint
    posterior: Any
    updates: int


class Learner:
    """Results in order, and what follows from them: fits, rewards by point, and the posterior.

    The scales are fitted at geometrically spaced numbers of rewards (`refits`), and at once when a
    reward is surprising. A fit depends on the rewards alone, not on earlier fits, so of many
    results at once only the last fit that is due is made. Between two fits the posterior is built
    from counts and sums at checkpoints, whose numbers follow from the results alone, and updated
    one by one after them. So it does not depend on how many results came at once.

    Of more than 100 000 arms the posterior is that of a working set (`working_set`), and its arms
    are numbered by their positions in it (`arms`). Results come by their arms in the pool.
    """

    def __init__(self, fitter: Fitter, refits: Refits, seed: int) -> None:
        self.fitter, self.refits, self.seed = fitter, refits, seed
        self.domain = fitter.domain
        self.finite = isinstance(self.domain, Arms)
        self._interval = 0
        """After how many rewards the posterior over arms is built again."""
        if self.finite:
            small = fitter.members * len(self.domain) ** 2 <= SMALL
            self._interval = REBUILT_SMALL if small else REBUILT
        self.results: list[Observation] = []
        """All rewards and failures, in order."""
        self.known_fits: dict[int, Mapping[str, Any]] = {}
        """Number of rewards -> a stored fit to them, which is read in place of making a new one."""
        self.made_fits: dict[int, Fit] = {}
        """Number of rewards -> the fit that was made to them here."""
        self._kept: Knowledge | None = None
        self._built: Built | None = None
        self._answers: tuple[Any, AnswerModel | None] | None = None
        """The last answer model, with what it was made from."""
        self._played: PlayedArms | None = None
        self._success: tuple[int, Any, SuccessModel] | None = None
        """The last model of success, with what it was made from."""

    # ------------------------------------------------------------------ learning

    def learn(self, results: Sequence[Observation]) -> None:
        """Learn results that were checked: all of them, or none if it is interrupted."""
        known = self._knowledge
        try:
            self._follow(known, results)
            self.results.extend(results)
        except BaseException:
            # Fits to results that do not count are void.
            events = sum(result.value is not None for result in self.results)
            self.made_fits = {n: fit for n, fit in self.made_fits.items() if n <= events}
            self._kept = None
            raise

    @property
    def _knowledge(self) -> Knowledge:
        """What follows from the results."""
        if self._kept is None:
            known = Knowledge(Rewards(), self.fitter.before_rewards, None)
            known.working_set = self._choose_working_set(known)
            self._follow(known, self.results)
            self._kept = known
        return self._kept

    @single_threaded
    def _follow(self, known: Knowledge, results: Sequence[Observation]) -> None:
        """Count results in order, and fit the scales where that is called for.

        Up to the last fit that is due, results are only counted: the fit replaces all before it.
        """
        last = self._find_last_fit(known.rewards.events, results)
        if last:
            self._count_all(known, results[:last])
            self._take_fit(known)
        elif known.checkpoint is None:
            self._set_checkpoint(known)
        for result in results[last:]:
            self._follow_one(known, result)

    def _find_last_fit(self, events: int, results: Sequence[Observation]) -> int:
        """Return how many of the results come up to the last fit that is due; 0 if none is."""
        rewarded = [i for i, result in enumerate(results, 1) if result.value is not None]
        due = self.last_fit(events, events + len(rewarded))
        return rewarded[due - events - 1] if due else 0

    def last_fit(self, known: int, events: int) -> int:
        """Return the last number of rewards above `known`, up to `events`, at which a fit is due.

        0 if there is none. Numbers of fits are few: they are spaced geometrically.
        """
        last, due = 0, self.refits.next_after(known)
        while due <= events:
            last, due = int(due), self.refits.next_after(int(due))
        return last

    def _count_all(self, known: Knowledge, results: Sequence[Observation]) -> None:
        """Count results whose fit follows."""
        slots: dict[int, int] = {}
        for result in results:
            if result.value is None:
                known.failed.append(result.place)
            elif not self.finite:
                known.rewards.add(result.place, result.value, result.sem, result.side)
            else:
                if result.place not in slots:
                    slots[result.place] = known.rewards.slot_of(self.domain.points[result.place])
                slot = slots[result.place]
                known.rewards.count(slot, result.value, result.sem, result.side)

    def _follow_one(self, known: Knowledge, result: Observation) -> None:
        """Count one result at which no fit is due."""
        point: Array = self.domain.points[result.place] if self.finite else result.place
        before, value = known.checkpoint, result.value
        assert before is not None
        if known.working_set is not None:
            known.working_set = known.working_set.add([result.place])
        if value is None:
            known.failed.append(result.place)
        else:
            precise = known.rewards.is_weighted or {result.sem, result.side} != {None}
            if not precise and not known.since and known.rewards.events:
                self._sum_rewards(before)
            slot = known.rewards.add(point, value, result.sem, result.side)
            if self._is_surprising(known, slot, value):
                self._take_fit(known)
                return
        grown = known.working_set is not None and known.working_set.arms is not before.arms
        events = known.rewards.events
        full = value is not None and self.finite and events % self._interval == 0
        if grown or full or (value is not None and known.rewards.is_weighted):
            self._set_checkpoint(known)
        elif value is not None:
            known.since.append((self._position(known, result.place), value))

    def _is_surprising(self, known: Knowledge, slot: int, value: float) -> bool:
        """Return whether the reward counted last calls for a fit, wherever the next one is due.

        It does if it is too large for the units of the last fit, or says something new of the
        noise: if it is the first that repeats a point, or farther from the earlier rewards of its
        point than the fitted noise allows. Waiting for the next fit would leave intervals that the
        two rewards themselves contradict.
        """
        units, rewards = self.fitter.units(known.fit), known.rewards
        standardised = units.standardise(value)
        if abs(standardised) > checks.LARGEST_REWARD:
            return True
        earlier = rewards.count_in(slot) - 1
        if earlier < 1:
            return False
        if rewards.events == len(rewards) + 1:
            return True
        gap = standardised - units.standardise(rewards.mean_before(slot, value))
        allowed = known.fit.calibration.noise_variance * (1 + 1 / earlier)
        return bool(abs(gap) > SURPRISING * math.sqrt(allowed))

    def _take_fit(self, known: Knowledge) -> None:
        """Fit the scales; if the fit fails, the prior's mode is taken, and that is reported."""
        last, number = known.fit, known.rewards.events
        if number in self.known_fits:
            fit = CODEC.decode(self.known_fits[number])
        else:
            if number not in self.made_fits:
                self.made_fits[number] = self.fitter.fit(known.rewards)
            fit = self.made_fits[number]
        known.fit = fit
        if last.calibration.ok and not fit.calibration.ok:
            warnings.warn(f"Auto: {fit.calibration.message}", NumericsWarning, stacklevel=6)
        if self.fitter.mean_known:
            known.norm = self._estimate_norm(known)
        known.working_set = self._choose_working_set(known)
        self._set_checkpoint(known)

    def _estimate_norm(self, known: Knowledge) -> float:
        """Return the norm of f as the last fit estimates it from the rewards it was made to."""
        rewards = known.rewards
        points, counts = self.fitter.scale_points(rewards), rewards.counts
        sums = rewards.sums + counts * rewards.origin
        return known.fit.calibration.norm_bound(points, counts, sums, safety=1.0)

    # ------------------------------------------------------------------ the posterior

    def _set_checkpoint(self, known: Knowledge) -> None:
        """Let the posterior be built from all results so far."""
        known.since = []
        known.checkpoint = Checkpoint(
            fit=known.fit,
            rewards=known.rewards,
            arms=self.domain if known.working_set is None else known.working_set.arms,
            events=known.rewards.events,
        )

    def _sum_rewards(self, checkpoint: Checkpoint) -> RewardTotals:
        """Return the totals of a checkpoint, computed while its rewards are the last ones."""
        if checkpoint.totals is None:
            checkpoint.totals = self._totals_under(checkpoint.fit, checkpoint.rewards)
        return checkpoint.totals

    def _totals_under(self, fit: Fit, rewards: Rewards) -> RewardTotals:
        """Return counts and sums of the rewards at each point, in the units of a fit.

        Where rewards have standard errors, every member has totals of its own: one with ridge r
        takes a reward of standard error s for r / s^2 plain rewards.
        """
        units, rewards = self.fitter.units(fit), self.fitter.replace_limits(rewards, fit)
        if not rewards.has_errors:
            return RewardTotals(rewards.points, rewards.counts, rewards.sums_in(units), False)
        totals = []
        for scales in fit.members:
            # As for the ridge: with less variance, variances lose most of their digits.
            least = LEAST_RIDGE_SHARE * scales.total_variance
            totals.append(rewards.weighted_totals(units, ridge_of(scales), least))
        counts, sums = (np.array(part) for part in zip(*totals, strict=True))
        return RewardTotals(rewards.points, counts, sums, True)

    @property
    def posterior(self) -> Any:
        """The posterior of all results under the last fit; built when it is read."""
        known, built = self._knowledge, self._built
        assert known.checkpoint is not None
        if built is None or built.checkpoint is not known.checkpoint:
            built = Built(known.checkpoint, self._build(known.checkpoint), 0)
        if built is not self._built or built.updates < len(known.since):
            # Until all updates are made there is none: an interrupt leaves it half updated.
            self._built, units = None, self.units
            for place, value in known.since[built.updates :]:
                built.posterior.update(place, units.standardise(value))
            self._built = built = built._replace(updates=len(known.since))
        return built.posterior

    @single_threaded
    def _build(self, checkpoint: Checkpoint) -> Any:
        """Return the posterior of the results at a checkpoint."""
        posterior = self._empty_posterior(checkpoint.fit, checkpoint.arms)
        if checkpoint.events:
            totals = self._sum_rewards(checkpoint)
            self._teach(posterior, checkpoint.arms, totals, checkpoint.events)
        return posterior

    def _empty_posterior(self, fit: Fit, arms: Any) -> Any:
        """Return the posterior of the members of a fit before the first reward."""
        stack = self.fitter.stack_of(fit)
        ridges = [ridge_of(scales) for scales in fit.members]
        known = None if self._built is None else self._built.posterior
        if isinstance(known, RowPosterior) and known.has_members(stack, ridges, arms):
            return accept_conditioning(known.without_rewards())
        fresh = (RowPosterior if self.finite else PointPosterior)(stack, arms, ridges)
        # The ridges are those of a fit. Rewards without noise need small ones.
        return accept_conditioning(fresh)

    def _teach(self, posterior: Any, arms: Any, totals: RewardTotals, events: int) -> None:
        """Let an empty posterior learn rewards from their totals."""
        number = events if totals.weighted else None
        counts, sums = totals.counts, totals.sums
        if not self.finite:
            posterior.learn(totals.points, counts, sums, events=number)
            return
        every = np.zeros((2, *counts.shape[:-1], len(arms)))
        every[..., arms.index.find(totals.points)] = counts, sums
        posterior.learn(every[0], every[1], events=number)

    @single_threaded
    def _posterior_under(self, fit: Fit) -> Any:
        """Return the posterior of all rewards under another fit."""
        posterior = self._empty_posterior(fit, self.arms)
        if self.rewards.events:
            totals = self._totals_under(fit, self.rewards)
            self._teach(posterior, self.arms, totals, self.rewards.events)
        return posterior

    @single_threaded
    def answer_model(self) -> AnswerModel:
        """Return the posterior from which questions are answered (`Fitter.fit_answers`).

        It is made when the first question is asked.
        """
        source = self.fit, self.rewards.events, self.working_set
        known = self._answers
        if known is None or known[0] != source:
            fit = self.fitter.fit_answers(self.rewards, self.fit)
            model = (
                None
                if fit is None
                else AnswerModel(self._posterior_under(fit), self.fitter.units(fit))
            )
            known = self._answers = source, model
        if known[1] is None:
            return AnswerModel(self.posterior, self.units)
        return known[1]

    @property
    @single_threaded
    def success(self) -> SuccessModel | None:
        """The probability that a measurement succeeds; None where none has failed.

        It is made when it is first needed. A failure says nothing of the reward, and the reward
        nothing of success.
        """
        if not self.failed:
            return None
        number, arms, known = len(self.results), self.arms, self._success
        if known is None or known[0] != number or known[1] is not arms:
            places = [result.place for result in self.results]
            rows = [self.domain.points[place] for place in places] if self.finite else places
            attempts = Attempts.of(rows, [result.value is not None for result in self.results])
            # What earlier studies predict of rewards are columns too, and say nothing of success.
            blocks = () if self.fitter.features else domain_blocks(self.domain)
            sides = self.fitter.sides(self.rewards)[: self.domain.dimension]
            features = Features(sides, blocks, self.finite)
            before = None if known is None else known[2]
            model = learn_success(attempts, features, arms, before)
            known = self._success = number, arms, model
        return known[2]

    # ------------------------------------------------------------------ what was learnt

    def observations(self) -> Observations | None:
        """Return the rewards by distinct point, in the order of their first one; None before any.

        Where rewards have standard errors, the counts are the plain rewards that they weigh.
        """
        rewards, units = self.rewards, self.units
        if not rewards.events:
            return None
        rewards = self.fitter.replace_limits(rewards, self.fit)
        if rewards.has_errors:
            # Of members with different noise, the mean of their noises weighs the rewards.
            counts, sums = rewards.weighted_totals(units, float(self.noises.mean()), 0.0)
            standardised = sums / counts
            means = np.asarray(units.original(standardised))
            return Observations(rewards.points, counts, means, standardised)
        counts = rewards.counts
        means = rewards.origin + rewards.sums / counts
        return Observations(rewards.points, counts, means, rewards.sums_in(units) / counts)

    def hyperparameters(self) -> Hyperparameters:
        """Return kernels, ridges and lengthscales of the members of the last fit."""
        lengths = None
        if not self.fitter.features:
            lengths = np.array([scales.lengthscales for scales in self.fit.members])
            lengths *= np.array(self.fit.sides)
        posterior = self.posterior
        return Hyperparameters(posterior.stack, posterior.ridges.tolist(), lengths)

    @property
    def rewards(self) -> Rewards:
        """All rewards so far, by distinct point, in their own units."""
        return self._knowledge.rewards

    @property
    def failed(self) -> list[Any]:
        """The places of choices that gave no reward."""
        return self._knowledge.failed

    @property
    def fit(self) -> Fit:
        """The last fit."""
        return self._knowledge.fit

    @property
    def units(self) -> Standard:
        """From the rewards' own units to those of the posterior."""
        return self.fitter.units(self.fit)

    @property
    def noises(self) -> Array:
        """The noise variance of each member, in the units of the posterior."""
        return np.array([scales.noise_variance for scales in self.fit.members])

    def noise_evidence(self) -> NoiseEvidence:
        """Return what the rewards so far say of their noise."""
        return NoiseEvidence(self.rewards)

    def norm_bound(self, safety: float) -> float:
        """Return D in signal units: the safety factor times the norm of f at the last fit."""
        return safety * self._knowledge.norm

    def arm_counts(self) -> Array:
        """Return how many rewards each arm has; of arms at one point the first has them all."""
        counts = np.zeros(len(self.arms))
        if self.rewards.events:
            counts[self._played_arms().first] = self.rewards.counts
        return counts

    def first_arms(self) -> Indices:
        """Return the first arm at each point with rewards, in the order of their first one."""
        return self._played_arms().first

    def measured_arms(self) -> Indices:
        """Return the arms that have rewards, or are at the same point as one that has."""
        return self._played_arms().measured if self.rewards.events else np.empty(0, dtype=np.int64)

    def _played_arms(self) -> PlayedArms:
        """Return the arms with rewards; there must be one."""
        arms, points, known = self.arms, self.rewards.points, self._played
        # Each ask needs them several times, and new points are few.
        if known is None or known.arms is not arms or known.points is not points:
            first, played = arms.index.find(points), np.zeros(len(arms), dtype=np.bool_)
            played[first] = True
            measured = np.flatnonzero(played[arms.index.first])
            self._played = known = PlayedArms(arms, points, first, measured)
        return known

    # ------------------------------------------------------------------ the working set

    @property
    def working_set(self) -> WorkingSet | None:
        """The arms that the posterior is kept for, if they are not all."""
        return self._knowledge.working_set

    @property
    def arms(self) -> Any:
        """The arms of the posterior: all, or the working set. Off a list of arms, the domain."""
        return self.domain if self.working_set is None else self.working_set.arms

    @staticmethod
    def _position(known: Knowledge, place: Any) -> Any:
        """Return the number that an arm has in the posterior; a row is itself."""
        return place if known.working_set is None else int(known.working_set.positions([place])[0])

    def _choose_working_set(
        self, known: Knowledge, allowed: Indices | None = None
    ) -> WorkingSet | None:
        """Return the working set of the last fit; None where the posterior is that of all arms.

        A width with a theory holds on all arms, and a single posterior costs an eighth. Features
        have no lengthscales.
        """
        fitter = self.fitter
        single = fitter.members == 1 or fitter.mean_known
        if not self.finite or fitter.features or single or not is_large(self.domain):
            return None
        about = PoolKnowledge(known.failed, 0)
        if known.rewards.events:
            likely = self._most_probable_posterior(known)
            lengths = self.fitter.own_lengthscales(known.fit)
            about = know_pool(self.domain, known.rewards, known.failed, likely, lengths)
        return choose_working_set(self.domain, self.seed, about, allowed)

    def _most_probable_posterior(self, known: Knowledge) -> RowPosterior:
        """Return the posterior of the points with rewards under the most probable scales alone."""
        mode = replace(known.fit, members=(known.fit.calibration,))
        stack, ridge = self.fitter.stack_of(mode), ridge_of(mode.calibration)
        posterior = RowPosterior(stack, known.rewards.points, ridge)
        totals = self._totals_under(mode, known.rewards)
        number = known.rewards.events if totals.weighted else None
        posterior.learn(np.atleast_2d(totals.counts)[0], np.atleast_2d(totals.sums)[0], number)
        return posterior

    def find_working_set(self, pending: Sequence[int], allowed: Indices | None) -> WorkingSet:
        """Return the working set of an ask with these arms of the pool pending, and allowed.

        If too few of the arms allowed are in the set, those that are have a set of their own.
        """
        chosen = self.working_set
        assert chosen is not None
        if allowed is not None and not chosen.has_enough(allowed):
            chosen = self._choose_working_set(self._knowledge, allowed)
            assert chosen is not None
        return chosen.add(pending)

    def on_working_set(self, chosen: WorkingSet) -> Learner:
        """Return a copy whose posterior is that of another working set; it must not learn."""
        other, known = copy.copy(self), replace(self._knowledge, working_set=chosen)
        other._answers = other._built = other._success = None
        other._set_checkpoint(known)
        other._kept = known
        return other
