"""The calibrator of `Auto`: it fits kernel, noise and units to the rewards."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.calibration import (
    Calibration,
    Prior,
    Refits,
    Rewards,
    Standard,
    calibrate_members,
)
from kernelbandits.calibration.evidence import Blocks
from kernelbandits.calibration.fit import ScaleFit, check_arguments
from kernelbandits.calibration.power import log_slope
from kernelbandits.calibration.prior import LARGEST_LOG, LEAST_NOISE
from kernelbandits.calibration.rewards import Precisions, RewardsBefore
from kernelbandits.calibration.shape import FEWEST_POINTS, Totals, most_probable_shape
from kernelbandits.calibration.standard import Summary, scatters
from kernelbandits.checks import Array, Indices, NumericsWarning
from kernelbandits.domains import Arms, Contextual, MixedBox
from kernelbandits.kernels import RBF, Kernel, Matern, Scaled
from kernelbandits.policies.acquisition import LogExpectedImprovement
from kernelbandits.policies.working_set import (
    PoolFit,
    PoolKnowledge,
    WorkingSet,
    choose_working_set,
    is_large,
    predict_in_blocks,
)
from kernelbandits.posterior import (
    MixturePosterior,
    PointPosterior,
    PoolMixture,
    PoolPosterior,
)
from kernelbandits.posterior.pool_mixture import SMALL
from kernelbandits.runtime import single_threaded

EVALUATIONS, FEWEST_EVALUATIONS = 60, 20
"""The likelihood is evaluated at most this often in one fit, of up to 100 points and of many."""
REBUILT = 128
"""On arms the posterior is built again from counts and sums after every so many rewards. So many
rewards at once are counted and then learnt together, with the result of learning them in turn: an
update for each of 10^4 repeats would take seconds."""
REBUILT_SMALL = 512
"""The same on few arms, where an update takes a hundredth of the time of a new posterior."""
LARGEST_COORDINATE = 1e100
"""Of an arm or a context: beyond it distances in lengthscales overflow."""

LEAST_RIDGE_SHARE = 1e-8
"""The least ridge of a member, as a share of the prior variance of f."""
LEAST_KNOWN = 1e-200
"""The least variance of a reward with a standard error: its inverse does not overflow."""
GIVEN_NOISE_SD = 0.3
"""How well a given noise is taken to be known, as the sd of its log variance: to some 15 %."""
SURPRISING = 4.0
"""A repeat this many standard deviations from the earlier rewards of its point calls for a fit."""
CONTRADICTION = 4.0
"""A given noise is overruled where a free fit has this much more log evidence."""
ANSWER_PRIOR: Mapping[str, float] = {
    "noise": -3.5,
    "noise_sd": 2.0,
    "nugget": -3.5,
    "nugget_sd": 2.0,
}
"""The prior of the answers differs from that of the choices in these (`answer_model`)."""
ANSWER_MEMBERS = 16
"""How many sets of scales the answers average over. With eight, the interval of the recommended row
covered 82 to 93 %, depending on which eight were drawn; with 16 it covered 91 and 93 %."""
MOST_FITTED_AGAIN = 200
"""With more points measured, the fit of the choices answers: another one would take seconds."""

Reward = tuple[Any, float]
"""The place of a reward, an arm's number or a row, and the reward."""


class FailurePenalties(NamedTuple):
    """Which failures the posterior takes for rewards, and for which one."""

    numbers: list[int]
    """The places of the failures in the list of all failures."""
    value: float
    """The reward that each of them counts as, in the units of the posterior."""


NO_PENALTIES = FailurePenalties([], 0.0)


class AnswerModel(NamedTuple):
    """A posterior of the rewards, and the units in which it has them."""

    posterior: Any
    units: Standard


class Fit(NamedTuple):
    """One fit of the scales to the rewards."""

    calibration: Calibration
    """The most probable scales."""
    members: tuple[Calibration, ...]
    """Plausible scales about them, over which the posterior is averaged."""
    sides: tuple[float, ...]
    """The sides of the domain, of which lengthscales are shares."""
    noise_contradicted: bool


class CalibratorState(NamedTuple):
    """What a calibrator was before a reward came."""

    rewards: RewardsBefore | None
    calibration: Calibration
    fits: tuple[Calibration, ...]
    fitted_sides: Array
    noise_contradicted: bool
    posterior: Any
    is_built: bool
    """Whether the posterior knows all rewards (`Calibrator.posterior`)."""
    penalties: FailurePenalties
    working: WorkingSet | None


class Calibrator:
    """Kernel, noise and units fitted to rewards, and the posterior of the rewards under the fit.

    `rewards` and `failed` are all that it has learnt, in the rewards' own units; `calibration` (the
    most probable scales), `fits` (the members of the mixture) and `posterior` follow from them.
    Inside, rewards are standardised, (y - centre) / spread, and transformed by a power where they
    are skewed (`transform`).

    The scales are fitted at geometrically spaced numbers of rewards (`refits`), and at once when a
    reward is too large for the units of the last fit. Any other reward is one update of the
    posterior. A fit depends on the rewards alone, not on earlier fits, so many rewards at once cost
    one fit.

    Parameters
    ----------
    members
        How many plausible scales the posterior averages over; 1 for the most probable ones alone.
    mean_known
        Whether the fitted mean is taken for known. The theory of a confidence width needs it; else
        the mean stays uncertain.
    noise
        The standard deviation of one reward as the user knows it, or None. Rewards that contradict
        it overrule it, and `noise_contradicted` says so.
    transform
        Whether skewed rewards are transformed by a power (`calibration.power`) if that makes the
        model more probable.
    seed
        Of the random arms in working sets.

    Of more than 100 000 arms the posterior is that of a working set (`working_set`), and its arms
    are numbered by their seats in it (`seat_of`, `arms`). Rewards and failures come by their arms
    in the pool.
    """

    calibration: Calibration
    fits: tuple[Calibration, ...]
    fitted_sides: Array
    """The sides of the domain at the last fit; the range of contexts seen may have grown since."""

    def __init__(
        self,
        domain: Any,
        *,
        prior: Prior,
        shared: bool,
        nu: float,
        refits: Refits,
        members: int = 1,
        mean_known: bool = False,
        noise: float | None = None,
        transform: bool = False,
        seed: int = 0,
    ) -> None:
        inner = domain.domain if isinstance(domain, Contextual) else domain
        if isinstance(inner, Arms):
            check_coordinates(inner.points)
        self.domain = domain
        self.finite = isinstance(domain, Arms)
        self.prior = prior if self.finite else replace(prior, nugget=None)
        self.features = self.finite and domain.features
        """Whether the points are features: then the kernel is their inner product."""
        if self.features:
            self.prior = replace(self.prior, additive=None)
        self.shared = shared
        self.nu = nu
        self.refits = refits
        self.members = members
        self.mean_known = mean_known
        self.noise = noise
        self.transform = transform
        self.seed = seed
        self.noise_contradicted = False
        """Whether the last fit found the rewards to contradict the noise that was given."""
        self.blocks = domain_blocks(domain)
        self.known_fits: dict[int, Fit] = {}
        """Number of rewards -> a fit to them that was made before, taken in place of a new one."""
        self.made_fits: dict[int, Fit] = {}
        """Number of rewards -> the fit that was made to them here."""
        self.rewards = Rewards()
        self.failed: list[Any] = []
        """The places of choices that gave no reward."""
        self.penalties = NO_PENALTIES
        self._played: tuple[Any, Any, list[int]] = None, None, []
        """Arms, points with rewards, and the first arm at each of these points."""
        self._answers: tuple[Any, AnswerModel] | None = None
        """The last answer model, with what it was made from."""
        self._forget_fit()
        self._posterior: Any = None
        self._is_built = False
        """Whether `_posterior` knows all rewards; if not, it is built when it is first read."""
        self.working = self._choose_working_set()
        """The arms that the posterior is kept for, if they are not all."""
        self.relearn()

    @property
    def posterior(self) -> Any:
        """The posterior of all rewards under the last fit.

        On a working set it is built when it is first read. When a study is opened, a fit, arms told
        outside its set and others pending change the set three times before one arm is chosen.
        """
        if not self._is_built:
            posterior = self._build_posterior()
            for number in self.penalties.numbers:
                posterior.update(self.seat_of(self.failed[number]), self.penalties.value)
            self._posterior, self._is_built = posterior, True
        return self._posterior

    @property
    def ridge(self) -> float:
        """The ridge of the first member."""
        return self._member(self.fits[0])[1]

    @property
    def units(self) -> Standard:
        """From the rewards' own units to those of the posterior."""
        standard = self.calibration.standard
        if not self.mean_known:
            return standard
        return Standard(standard.original(self.calibration.mean), standard.spread)

    @property
    def lengthscales(self) -> Array:
        """The most probable lengthscale of each coordinate, in the units of the domain."""
        return np.array(self.calibration.lengthscales) * self.fitted_sides

    @property
    def next_fit(self) -> float:
        """After how many rewards the scales are fitted again."""
        return self.refits.next_after(self.rewards.events)

    def last_fit(self, known: int, events: int) -> int:
        """The last number of rewards above `known` and up to `events` at which a fit is due, or 0.

        Numbers of fits are few: they are spaced geometrically.
        """
        last, due = 0, self.refits.next_after(known)
        while due <= events:
            last, due = int(due), self.refits.next_after(int(due))
        return last

    # ------------------------------------------------------------------ rewards

    def count_reward(self, place: Any, reward: float) -> CalibratorState:
        """Add one reward to the data, and return the state before it, which `restore` takes.

        The posterior does not know the reward yet (`learn_counted`).
        """
        self._build_before_update([place])
        before = self.state(self.rewards.add(self._point(place), reward))
        self.admit_arms([place])
        return before

    def _build_before_update(self, places: Sequence[Any]) -> None:
        """Build the posterior now if rewards or failures at these places will only update it.

        So what they give does not depend on whether anybody has read the posterior before.
        """
        if self._is_built or self._rebuilds_always:
            return
        if self.working is None or (self.working.seats(places) >= 0).all():
            _ = self.posterior

    def state(self, before: RewardsBefore | None = None) -> CalibratorState:
        """The fit and the posterior as they are; `before` is what the last reward changed."""
        return CalibratorState(
            before,
            self.calibration,
            self.fits,
            self.fitted_sides,
            self.noise_contradicted,
            self._posterior,
            self._is_built,
            self.penalties,
            self.working,
        )

    def learn_counted(self, place: Any, reward: float) -> bool:
        """Learn the reward counted last; return whether the scales were fitted again."""
        if self.calls_for_fit(place, reward):
            self.refit()
            return True
        changed = self.failed and self._count_penalties() != self.penalties
        rebuilt = self.finite and self.rewards.events % self._rebuild_interval == 0
        if changed or rebuilt or self._rebuilds_always:
            self.relearn()
        else:
            self.posterior.update(self.seat_of(place), self.units.standardise(reward))
        return False

    @property
    def _rebuilds_always(self) -> bool:
        """Whether each reward builds the posterior again: it is then the same in any order.

        An arm that was added to a working set has no row in the posterior yet.
        """
        return self.rewards.has_errors or self._has_grown

    def rebuilds_after(self, place: Any) -> bool:
        """Whether a reward or a failure at a place builds the posterior again, and each after it.

        A fit ends that, unless rewards have standard errors.
        """
        outside = self.working is not None and self.seat_of(place) < 0
        return self._rebuilds_always or outside

    @property
    def _has_grown(self) -> bool:
        """Whether arms were added to the working set since the last fit."""
        return self.working is not None and self.working.grown

    def calls_for_fit(self, place: Any, reward: float) -> bool:
        """Whether the scales are fitted again after the reward counted last."""
        return self.refits.is_due(self.rewards.events) or self.is_surprising(place, reward)

    def is_surprising(self, place: Any, reward: float) -> bool:
        """Whether the reward counted last calls for a fit wherever the next one is due."""
        return self.exceeds_units(reward) or self.changes_noise(place, reward)

    def last_rebuild(self, known: int, more: int) -> int:
        """After how many of some more rewards the posterior is built again last; 0 for never."""
        if not self.finite:
            return 0
        last = (known + more) // self._rebuild_interval * self._rebuild_interval
        return max(0, last - known)

    @property
    def _rebuild_interval(self) -> int:
        """After how many rewards the posterior is built again."""
        small = self.members * len(self.domain) ** 2 <= SMALL
        return REBUILT_SMALL if small else REBUILT

    def take_back(self, state: CalibratorState, rewards: Rewards) -> None:
        """Return to a state before rewards that were counted and not learnt."""
        self.rewards, self.penalties, self.working = rewards, state.penalties, state.working
        self._posterior, self._is_built = state.posterior, state.is_built
        self.calibration, self.fits = state.calibration, state.fits
        self.fitted_sides = state.fitted_sides
        self.noise_contradicted = state.noise_contradicted

    def restore(self, state: CalibratorState) -> None:
        """Undo the last reward and its fit; the estimates are the same up to rounding."""
        assert state.rewards is not None
        self.rewards.restore(state.rewards)
        self.calibration, self.fits = state.calibration, state.fits
        self.fitted_sides = state.fitted_sides
        self.noise_contradicted = state.noise_contradicted
        self.penalties, self.working = state.penalties, state.working
        self._posterior, self._is_built = state.posterior, state.is_built
        # An update changes the posterior in place, so it is built again from the rewards.
        self.relearn()

    def count_rewards(self, rewards: Sequence[Reward]) -> None:
        """Count rewards without learning them: the fit that follows learns all at once."""
        self._build_before_update([place for place, _ in rewards])
        if not self.finite:
            for row, reward in rewards:
                self.rewards.add(row, reward)
            return
        slots: dict[int, int] = {}
        for arm, reward in rewards:
            if arm not in slots:
                slots[arm] = self.rewards.slot_of(self.domain.points[arm])
            self.rewards.count(slots[arm], reward)
        self.admit_arms([*slots])

    def learn_updates(self, rewards: Sequence[Reward]) -> int:
        """Learn plain rewards that only update the posterior, and return how many these are.

        The first that calls for a fit, or whose arm the posterior does not know, ends them and is
        not counted. No fit is due at their numbers, nor is the posterior built again. If it is
        interrupted, those that were counted are learnt.
        """
        if not rewards or self.rebuilds_after(rewards[0][0]):
            return 0
        # Built before any of them is counted, or it would know them already.
        update, units = self.posterior.update, self.units
        try:
            number = self._count_updates(rewards)
            for place, reward in rewards[:number]:
                update(self.seat_of(place), units.standardise(reward))
        except BaseException:
            self.relearn()
            raise
        return number

    def _count_updates(self, rewards: Sequence[Reward]) -> int:
        """Count the rewards of `learn_updates`; return how many they are."""
        for number, (place, reward) in enumerate(rewards):
            if self.rebuilds_after(place):
                return number
            before = self.rewards.add(self._point(place), reward)
            if self.is_surprising(place, reward):
                self.rewards.restore(before)
                return number
        return len(rewards)

    def changes_noise(self, place: Any, reward: float) -> bool:
        """Whether a reward that was just counted says something new of the noise.

        It does if it is the first that repeats a point, and if it is farther from the earlier
        rewards of its point than the fitted noise allows. Waiting for the next fit would leave
        intervals that the two rewards themselves contradict.
        """
        slot = self.rewards.slot_of(self._point(place))
        earlier = self.rewards.count_in(slot) - 1
        if earlier < 1:
            return False
        if self.rewards.events == len(self.rewards) + 1:
            return True
        before = self.rewards.mean_before(slot, reward)
        gap = self.units.standardise(reward) - self.units.standardise(before)
        allowed = self.calibration.noise_variance * (1 + 1 / earlier)
        return bool(abs(gap) > SURPRISING * math.sqrt(allowed))

    def exceeds_units(self, reward: float) -> bool:
        """Whether the units of the last fit are too small for a reward."""
        return bool(abs(self.units.standardise(reward)) > checks.LARGEST_REWARD)

    # ------------------------------------------------------------------ failures

    def fail(self, place: Any) -> None:
        """Count a failure; where failures outnumber rewards it counts as the least mean reward."""
        self._build_before_update([place])
        self.failed.append(place)
        self.admit_arms([place])
        penalties = self._count_penalties() if self.rewards.events else self.penalties
        if self._has_grown:
            self.relearn()
        elif penalties != self.penalties:
            # A failure does not change which earlier ones count, so one update is enough.
            self.penalties = penalties
            self.posterior.update(self.seat_of(place), penalties.value)

    def _count_penalties(self) -> FailurePenalties:
        """Which failures are learnt, and as which reward."""
        if not self.rewards.events or not self.failed:
            return NO_PENALTIES
        if self.finite:
            numbers = self.rewards.unmatched_rows([self.domain.points[arm] for arm in self.failed])
        else:
            categories = [block for block in self.blocks if len(block) > 1]
            numbers = self.rewards.unmatched_rows_near(self.failed, self.lengthscales, categories)
        if not numbers:
            return NO_PENALTIES
        return FailurePenalties(numbers, float((self.unit_sums() / self.rewards.counts).min()))

    def observed_posterior(self) -> Any:
        """The posterior of the rewards alone, no failure counted as one."""
        return self._build_posterior() if self.penalties.numbers else self.posterior

    @single_threaded
    def answer_model(self) -> AnswerModel:
        """The posterior from which questions are answered: noise or nugget, either may be large.

        As long as no point is measured twice, rewards tell only the sum of the two variances: a
        reward that stands out was luck, or its point is good. The prior of the choices prefers the
        second, which pays in a search. An answer must not: under noise, 95 % intervals of the
        recommended row then covered 84 and 89 %, and with this prior 93 and 91 % (decision 12). So
        the scales are fitted once more, with the same wide prior for noise and nugget, when the
        first question is asked. Where the noise is known there is nothing to tell apart.
        """
        mixed = self.prior.nugget is not None and self.members > 1
        known = self.noise is not None and not self.noise_contradicted
        usable = 0 < len(self.rewards) <= MOST_FITTED_AGAIN and self.calibration.ok
        if not mixed or known or not usable or self.repeats_are_equal():
            return AnswerModel(self.observed_posterior(), self.units)
        totals = [self.rewards.counts, self.rewards.sums, self.rewards.squares]
        if self.rewards.has_errors:
            totals += self._precisions_of_differences()
        # A failure outside the working set makes it larger, and changes no total.
        arms = b"" if self.working is None else self.working.numbers.tobytes()
        source = self.calibration, arms, *(total.tobytes() for total in totals)
        if self._answers is None or self._answers[0] != source:
            self._answers = source, self._fit_answers()
        return self._answers[1]

    def _fit_answers(self) -> AnswerModel:
        shape = self.calibration.standard.shape
        prior = replace(self.prior, **ANSWER_PRIOR)
        scale_fit, start = self._scale_fit(), self.calibration
        mode, fits = self._fit(scale_fit, prior, shape, start, ANSWER_MEMBERS)
        if not mode.ok:
            return AnswerModel(self.observed_posterior(), self.units)
        shifted = [fit.shift_rewards(self.rewards.origin) for fit in fits]
        units = shifted[0].standard
        return AnswerModel(self._posterior_under(shifted, units), units)

    # ------------------------------------------------------------------ fitting

    def refit(self) -> None:
        """Fit the scales; if the fit fails, the prior's mode is taken, and that is reported."""
        last, number = self.calibration, self.rewards.events
        fit = self.known_fits.get(number)
        if fit is None:
            fit = self.made_fits[number] = self._make_fit()
        self.calibration, self.fits = fit.calibration, fit.members
        self.fitted_sides = np.array(fit.sides)
        self.noise_contradicted = fit.noise_contradicted
        if last.ok and not self.calibration.ok:
            warnings.warn(f"Auto: {self.calibration.message}", NumericsWarning, stacklevel=5)
        self.working = self._choose_working_set()
        self.relearn()

    def _make_fit(self) -> Fit:
        """Fit the scales to all rewards; the result depends on nothing else."""
        origin = self.rewards.origin
        scale_fit = self._scale_fit()
        shape, start = self._choose_shape(scale_fit)
        mode, fits = self._fit(scale_fit, self._fitted_prior(shape), shape, start)
        contradicted = False
        if self.noise is not None:
            mode, fits, contradicted = self._check_noise(scale_fit, mode, fits, shape, start)
        return Fit(
            calibration=mode.shift_rewards(origin),
            members=tuple(fit.shift_rewards(origin) for fit in fits),
            sides=tuple(self.sides().tolist()),
            noise_contradicted=contradicted,
        )

    def _scale_fit(self) -> ScaleFit:
        """The points with rewards, to which scales are fitted."""
        prior, model = self._free_prior(), self._model
        points, totals = self.scaled_points(), self._noise_evidence()
        fit = check_arguments(points, *totals, prior, *model, features=self.features)
        if not self.rewards.has_errors:
            return fit
        return fit.of_rewards(*totals, prior, self._mean_variances(1.0))

    def _fit(
        self,
        scale_fit: ScaleFit,
        prior: Prior,
        shape: float,
        start: Calibration | None,
        members: int | None = None,
    ) -> tuple[Calibration, tuple[Calibration, ...]]:
        """The most probable scales under a prior, and the members drawn about them."""
        totals = self._noise_evidence() if shape == 1.0 else self._shaped_evidence(shape)
        number = self.members if members is None else members
        known = self._mean_variances(shape) if self.rewards.has_errors else None
        mode, fits = scale_fit.of_rewards(*totals, prior, known).calibrate_members(
            number, start, self._evaluations
        )
        if shape == 1.0:
            return mode, fits
        if not mode.ok:
            # What is kept then are scales of untransformed rewards.
            return self._fit(scale_fit, prior, 1.0, None, members)
        linear = Standard.of(*self._noise_evidence())
        return mode.with_shape(linear, shape), tuple(fit.with_shape(linear, shape) for fit in fits)

    @property
    def _evaluations(self) -> int:
        """How often a fit may evaluate the likelihood.

        One evaluation costs O(m^3) for m points. Many points leave one sharp maximum, for which a
        single search of few steps is enough.
        """
        return max(FEWEST_EVALUATIONS, min(EVALUATIONS, 100 * EVALUATIONS // len(self.rewards)))

    @property
    def _model(self) -> tuple[bool, float, Blocks]:
        """The parts of the model that are not fitted: shared lengths, smoothness, blocks."""
        return self.shared, self.nu, self.blocks

    def _choose_shape(self, scale_fit: ScaleFit) -> tuple[float, Calibration | None]:
        """The power by which rewards are transformed, and the linear fit that it was chosen by.

        The shape and the scales could be fitted together. In turn it is a comparison of nine
        numbers, and no search has one more dimension. With many points the linear fit is one to
        some of them; the evidence is that of all.
        """
        if not self.transform or len(self.rewards) < FEWEST_POINTS:
            return 1.0, None
        linear = scale_fit.choose_part().calibrate(None, self._evaluations)
        if not linear.ok:
            return 1.0, None
        evidence_of = scale_fit.evidence_under(linear)
        counts, sums, squares = self._noise_evidence()
        means = Standard.of(counts, sums, squares).standardise(sums / counts)
        return most_probable_shape(means, self._shaped_evidence, evidence_of), linear

    def _fitted_prior(self, shape: float) -> Prior:
        """The prior, with what is known of the noise: given by the user, or shown by repeats."""
        if self.noise is not None:
            noise = self._log_noise(self.noise, shape)
            return replace(self.prior, noise=noise, noise_sd=GIVEN_NOISE_SD)
        return self._free_prior()

    def _free_prior(self) -> Prior:
        """The prior, with what repeats show of the noise, whatever the user gave."""
        if self.repeats_are_equal():
            # Rewards that repeat to the last digit have no noise: a law with a density, such as the
            # prior, gives that no probability, however often it happens.
            return replace(self.prior, noise=LEAST_NOISE, noise_sd=GIVEN_NOISE_SD)
        return self.prior

    def _log_noise(self, noise: float, shape: float) -> float:
        """The log noise variance in standardised units, as far as a fit reaches.

        A transformation multiplies small deviations by its slope, which differs from point to
        point; its mean square over the points is taken.
        """
        counts, sums, squares = self._noise_evidence()
        linear = Standard.of(counts, sums, squares)
        share = noise / linear.spread
        if shape != 1.0:
            slopes = log_slope(linear.standardise(sums / counts), shape)
            stretch = Standard.of(*self._shaped_evidence(shape)).spread
            share *= math.sqrt(float(np.exp(2 * slopes).mean())) / stretch
        share = max(share, math.exp(LEAST_NOISE / 2))
        return min(2 * math.log(share), LARGEST_LOG)

    def _check_noise(
        self,
        scale_fit: ScaleFit,
        mode: Calibration,
        fits: tuple[Calibration, ...],
        shape: float,
        start: Calibration | None,
    ) -> tuple[Calibration, tuple[Calibration, ...], bool]:
        """The fit at the noise given, or the free fit if that explains the rewards far better.

        The last value says whether the rewards contradict the noise given.
        """
        free_mode, free_fits = self._fit(scale_fit, self._free_prior(), shape, start)
        gain = free_mode.evidence - mode.evidence
        contradicted = bool(free_mode.ok and gain > CONTRADICTION)
        return (free_mode, free_fits, True) if contradicted else (mode, fits, False)

    def repeats_are_equal(self) -> bool:
        """Whether points were measured again, always with the same reward, not at a limit."""
        counts, sums, squares = self._noise_evidence()
        summary = Summary.of("Auto", counts, sums, squares)
        return summary.rewards > len(counts) and summary.scatter == 0

    def _noise_evidence(self) -> Totals:
        """Counts, sums and squares of the rewards, as far as their repeats say how noisy they are.

        Equal repeats at the least or the greatest reward seen say nothing: a detection limit or a
        rounded scale repeats as well. They count as one reward, until an unequal one comes.
        """
        rewards = self.rewards
        counts, sums, squares = rewards.counts, rewards.sums, rewards.squares
        limit = self._limit_points()
        if not limit.any() and not rewards.has_errors:
            return counts, sums, squares
        means = sums / counts
        if rewards.has_errors:
            known = self._error_points()
            means = np.where(known, self._weighted_means(), means)
            limit = limit | known
        one = np.where(limit, 1.0, counts)
        return one, np.where(limit, means, sums), np.where(limit, means**2, squares)

    def _shaped_evidence(self, shape: float) -> Totals:
        """The same of the rewards after they were standardised and transformed by a power."""
        counts, sums, squares = self._noise_evidence()
        standard = replace(Standard.of(counts, sums, squares), shape=shape)
        shaped_sums, shaped_squares = self.rewards.transformed_totals(standard.standardise)
        limit = self._limit_points()
        if self.rewards.has_errors:
            limit = limit | self._error_points()
        if limit.any():
            means = standard.standardise(sums / counts)
            shaped_sums = np.where(limit, means, shaped_sums)
            shaped_squares = np.where(limit, means**2, shaped_squares)
        return counts, shaped_sums, shaped_squares

    def _error_points(self) -> npt.NDArray[np.bool_]:
        """Which points have rewards with standard errors only.

        Their mean has a known variance. At a point that has plain rewards too, all of them count
        as plain ones in a fit: that widens the variance of the precise ones, and the posterior
        weighs them exactly.
        """
        known = self._precisions_of_differences()
        return np.asarray((known.counts == 0) & (known.precisions > 0))

    def _weighted_means(self) -> Array:
        """The means of the rewards with standard errors, as differences from the origin."""
        known = self._precisions_of_differences()
        return np.divide(
            known.weighted,
            known.precisions,
            out=np.zeros(len(self.rewards)),
            where=known.precisions > 0,
        )

    def _precisions_of_differences(self) -> Precisions:
        return self.rewards.precisions(lambda y: y, LEAST_KNOWN)

    def _mean_variances(self, shape: float) -> Array:
        """The variance of the mean reward of points with errors only, 0 elsewhere.

        They are in the units of `_noise_evidence`, or of `_shaped_evidence` for another shape.
        """
        known, points = self._precisions_of_differences(), self._error_points()
        variances: Array = np.where(points, 1 / np.where(points, known.precisions, 1.0), 0.0)
        if shape == 1.0:
            return variances
        counts, sums, squares = self._noise_evidence()
        linear = Standard.of(counts, sums, squares)
        slopes = log_slope(linear.standardise(sums / counts), shape)
        return np.asarray(variances / linear.spread**2 * np.exp(2 * slopes))

    def _limit_points(self) -> npt.NDArray[np.bool_]:
        """Which points have equal repeats at the least or the greatest reward seen."""
        equal = self.equal_points()
        if not equal.any():
            return equal
        means = self.rewards.sums / self.rewards.counts
        return np.asarray(equal & ((means == means.min()) | (means == means.max())))

    def equal_points(self) -> npt.NDArray[np.bool_]:
        """Which points have several rewards, all of them equal."""
        rewards = self.rewards
        again = rewards.counts > 1
        if not again.any():
            return again
        scatter = scatters("Auto", rewards.counts, rewards.sums, rewards.squares)
        return np.asarray(again & (scatter == 0))

    def _forget_fit(self) -> None:
        """What is assumed before the first reward: the prior."""
        points = np.zeros((1, self.domain.dimension))
        mode, fits = calibrate_members(
            points,
            [1],
            [0.0],
            [0.0],
            members=self.members,
            prior=self.prior,
            shared=self.shared,
            nu=self.nu,
            blocks=self.blocks,
            features=self.features,
        )
        self.fitted_sides = self.sides()
        self.calibration = mode.without_rewards()
        self.fits = tuple(fit.without_rewards() for fit in fits)

    def relearn(self) -> None:
        """Build the posterior again from all rewards, under the last fit."""
        self.penalties, self._is_built = self._count_penalties(), False
        if self.working is None:
            _ = self.posterior

    def _build_posterior(self) -> Any:
        """The posterior of all rewards under the last fit."""
        return self._posterior_under(self.fits, self.units)

    def _posterior_under(self, fits: Sequence[Calibration], units: Standard) -> Any:
        """The posterior of all rewards, in some units, averaged over some fits."""
        if self.rewards.has_errors:
            return self._weighted_posterior(fits, units)
        posterior = self._empty_posterior(fits)
        if self.rewards.events:
            posterior.learn(*self._totals(units))
        return posterior

    def _weighted_posterior(self, fits: Sequence[Calibration], units: Standard) -> Any:
        """The posterior of rewards some of which have standard errors, each with its precision.

        A member with ridge r takes a reward of standard error s for r / s^2 plain rewards, so
        every member has counts of its own.
        """
        members = []
        for fit in fits:
            kernel, ridge = self._member(fit)
            posterior = empty_posterior(kernel, self.arms, ridge)
            # As for the ridge: with less variance, variances lose most of their digits.
            least = LEAST_RIDGE_SHARE * fit.total_variance
            totals = self.weighted_totals(ridge, units, least)
            posterior.learn(*self._by_place(*totals), events=self.rewards.events)
            members.append(posterior)
        return members[0] if len(members) == 1 else MixturePosterior(members)

    def weighted_totals(
        self, ridge: float, units: Standard, least: float = 0.0
    ) -> tuple[Array, Array]:
        """Counts and sums, in some units, of as many plain rewards as say the same at a ridge."""
        standard = units.shift(-self.rewards.origin)
        known = self.rewards.precisions(standard.standardise, max(least, LEAST_KNOWN))
        return known.totals(ridge)

    def _empty_posterior(self, fits: Sequence[Calibration]) -> Any:
        kernels, ridges = zip(*(self._member(fit) for fit in fits), strict=True)
        known = self._posterior
        if isinstance(known, PoolMixture) and known.has_members(kernels, ridges, self.arms):
            return known.without_rewards()
        if len(kernels) > 1 and self.finite and PoolMixture.can_stack(kernels):
            return PoolMixture(kernels, ridges, self.arms, self._first_arms)
        members = [
            empty_posterior(kernel, self.arms, ridge)
            for kernel, ridge in zip(kernels, ridges, strict=True)
        ]
        return members[0] if len(members) == 1 else MixturePosterior(members)

    def _member(self, fit: Calibration) -> tuple[Kernel, float]:
        """Kernel and ridge of one fit."""
        if self.mean_known:
            lengths = tuple((np.array(fit.lengthscales) * self.fitted_sides).tolist())
            smooth = RBF(lengths) if math.isinf(self.nu) else Matern(lengths, self.nu)
            kernel: Kernel = Scaled(smooth, fit.signal_variance)
        else:
            kernel = fit.whole_kernel(self.fitted_sides)
        # Rewards without noise still need a ridge: with less, variances lose most of their digits.
        return kernel, max(fit.noise_variance, LEAST_RIDGE_SHARE * fit.total_variance)

    def _totals(self, units: Standard) -> tuple[Array, ...]:
        """Count and sum of the rewards of each arm, or of each point played, with the points."""
        return self._by_place(self.rewards.counts, self.unit_sums(units))

    def _by_place(self, counts: Array, sums: Array) -> tuple[Array, ...]:
        """Totals of the points played as a posterior learns them: of every arm, or with points."""
        if not self.finite:
            return self.rewards.points, counts, sums
        every = np.zeros((2, len(self.arms)))
        every[:, self.first_arms_played()] = counts, sums
        return every[0], every[1]

    def arm_counts(self) -> Array:
        """How many rewards each arm has; of arms at one point the first has them all."""
        counts = np.zeros(len(self.arms))
        if self.rewards.events:
            counts[self.first_arms_played()] = self.rewards.counts
        return counts

    def first_arms_played(self) -> list[int]:
        """The first arm at each point that has rewards, in the order of the points."""
        arms, points = self.arms, self.rewards.points
        # Each ask needs them several times, and new points are few.
        if self._played[0] is not arms or self._played[1] is not points:
            self._played = arms, points, arms.index.find(points).tolist()
        return self._played[2]

    def measured_arms(self) -> Indices:
        """The arms that have rewards, or are at the same point as one that has."""
        return np.flatnonzero(self.arm_counts()[self._first_arms] > 0)

    @property
    def _first_arms(self) -> Indices:
        """The first arm at the point of each arm."""
        first: Indices = self.arms.index.first
        return first

    # ------------------------------------------------------------------ the working set

    @property
    def arms(self) -> Any:
        """The arms of the posterior: all, or the working set. Off a list of arms, the domain."""
        return self.domain if self.working is None else self.working.arms

    def seat_of(self, place: Any) -> Any:
        """The number that an arm has in the posterior; a row is itself."""
        return place if self.working is None else int(self.working.seats([place])[0])

    def admit_arms(self, arms: Sequence[int]) -> None:
        """Add arms to the working set; the posterior does not know them yet."""
        if self.working is not None:
            self.working = self.working.add(arms)

    def _choose_working_set(self, allowed: Indices | None = None) -> WorkingSet | None:
        """The working set of the last fit; None where the posterior is that of all arms.

        A width with a theory holds on all arms, and a single posterior costs an eighth. Features
        have no lengthscales.
        """
        single = self.members == 1 or self.mean_known
        if not self.finite or self.features or single or not is_large(self.domain):
            return None
        return choose_working_set(self.domain, self.seed, self._pool_knowledge(), allowed)

    def _pool_knowledge(self) -> PoolKnowledge:
        """What a working set is chosen by."""
        if not self.rewards.events:
            return PoolKnowledge(self.failed, 0)
        points, likely = self.rewards.points, self._most_probable_posterior()
        improvement = LogExpectedImprovement(float(likely.mean.max()))
        return PoolKnowledge(
            tried=[*self.domain.index.find(points).tolist(), *self.failed],
            events=self.rewards.events,
            fit=PoolFit(
                best=points[np.argsort(-likely.mean, kind="stable")],
                lengthscales=self.lengthscales,
                promise=lambda rows: improvement.score(*predict_in_blocks(likely, rows)),
            ),
        )

    def _most_probable_posterior(self) -> PoolPosterior:
        """The posterior of the points with rewards under the most probable scales alone."""
        kernel, ridge = self._member(self.calibration)
        posterior = PoolPosterior(kernel, self.rewards.points, ridge)
        counts, sums = self.rewards.counts, self.unit_sums()
        if self.rewards.has_errors:
            least = LEAST_RIDGE_SHARE * self.calibration.total_variance
            counts, sums = self.weighted_totals(ridge, self.units, least)
        posterior.learn(counts, sums, events=self.rewards.events)
        return posterior

    def find_working_set(self, pending: Sequence[int], allowed: Indices | None) -> WorkingSet:
        """The working set of an ask with these arms of the pool pending, and allowed.

        If too few of the arms allowed are in the set, those that are have a set of their own.
        """
        working = self.working
        assert working is not None
        if allowed is not None and not working.has_enough(allowed):
            working = self._choose_working_set(allowed)
            assert working is not None
        return working.add(pending)

    def on_working_set(self, working: WorkingSet) -> Calibrator:
        """A copy whose posterior is that of another working set."""
        other = copy.copy(self)
        other.working, other._answers = working, None
        other.relearn()
        return other

    def unit_sums(self, units: Standard | None = None) -> Array:
        """The sum of the rewards at each point, in some units; by default the posterior's."""
        counts, units = self.rewards.counts, self.units if units is None else units
        if not units.is_linear:
            standard = units.shift(-self.rewards.origin)
            return self.rewards.transformed_totals(standard.standardise)[0]
        sums = self.rewards.sums + counts * (self.rewards.origin - units.centre)
        return np.asarray(sums / units.spread)

    def norm_bound(self, safety: float) -> float:
        """D in signal units; before any reward the safety factor times the prior sd of f."""
        if not self.rewards.events:
            return safety
        counts = self.rewards.counts
        sums = self.rewards.sums + counts * self.rewards.origin
        return self.calibration.norm_bound(self.scaled_points(), counts, sums, safety)

    def scaled_points(self) -> Array:
        """The points with rewards, relative to the first of them, in sides of the domain."""
        rows = self.rewards.points
        # An inner product changes if its points are moved.
        return rows if self.features else np.asarray((rows - rows[0]) / self.sides())

    def sides(self) -> Array:
        """The sides of the domain, which calibration takes for 1.

        Of a context and of arms that come with the round, they are the range seen so far.
        """
        if self.features:
            return np.ones(self.domain.dimension)
        known = self._domain_sides
        seen = np.ones(0)
        if self.rewards.events:
            seen = np.ptp(self.rewards.points[:, len(known) :], axis=0)
        unseen = np.ones(self.domain.dimension - len(known) - len(seen))
        sides = np.concatenate([known, seen, unseen])
        return np.where(sides > 0, sides, 1.0)

    @cached_property
    def _domain_sides(self) -> Array:
        """The sides of the domain without the context; none if its arms come with the round."""
        inner = self.domain.domain if isinstance(self.domain, Contextual) else self.domain
        return np.empty(0) if checks.is_whole(inner) else domain_sides(inner)

    def _point(self, place: Any) -> Array:
        """The point of an arm's number, or the row itself."""
        point: Array = self.domain.points[place] if self.finite else place
        return point


def check_coordinates(*places: Any) -> Any:
    """Check that the numbers of some rows are small enough for distances; return the first row."""
    given = [place for place in places if place is not None]
    # A NaN is none of the two, and refused where numbers are checked.
    ends = (
        max(place.max(initial=0.0), -place.min(initial=0.0)) for place in map(np.asarray, given)
    )
    largest = max(map(float, ends), default=0.0)
    needed = f"coordinates of size at most {LARGEST_COORDINATE:g}"
    checks.needs(largest <= LARGEST_COORDINATE, "Auto", needed, largest)
    return places[0]


def empty_posterior(kernel: Any, domain: Any, ridge: float) -> Any:
    """The posterior that is cheap to build again: by the arms played, or by the points played."""
    form = PoolPosterior if isinstance(domain, Arms) else PointPosterior
    return form(kernel, domain, ridge)


def domain_sides(domain: Any) -> Array:
    """The extent of a domain in each coordinate.

    Two values of an unordered category are one side apart.
    """
    if isinstance(domain, Arms):
        # By columns: numpy goes through the rows of a long and narrow matrix one by one.
        ranges = (float(np.ptp(column)) for column in domain.points.T)
        sides: Array = np.array(domain.sides or tuple(ranges))
    else:
        sides = np.subtract(domain.upper, domain.lower)
    for block in domain_blocks(domain):
        if len(block) > 1:
            # A category has the coordinate 1/sqrt(2) at its value: two values are at distance 1.
            sides[list(block)] = math.sqrt(2) * sides[list(block)].max()
    return sides


def domain_blocks(domain: Any) -> Blocks:
    """The coordinates of each column of a domain: several for an unordered category."""
    inner = domain.domain if isinstance(domain, Contextual) else domain
    known: Blocks
    if isinstance(inner, Arms):
        known = inner.blocks
    elif isinstance(inner, MixedBox):
        places = (range(*place.indices(inner.dimension)) for _, place in inner.blocks)
        # A variable with a single value has no coordinate.
        known = tuple(tuple(place) for place in places if place)
    else:
        known = tuple((j,) for j in range(inner if checks.is_whole(inner) else inner.dimension))
    covered = sum(len(block) for block in known)
    return (*known, *((j,) for j in range(covered, domain.dimension)))
