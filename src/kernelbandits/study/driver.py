"""The policy of a study: rebuilt from the results, and asked for rows."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from kernelbandits import checks
from kernelbandits.calibration import EarlierResults, Measurement
from kernelbandits.censored import Censored
from kernelbandits.checks import (
    Array,
    DataNotice,
    Indices,
    NumericsWarning,
    StudyConflict,
    TheoryWarning,
)
from kernelbandits.domains import Arms, MixedBox, Part
from kernelbandits.formatting import format_count
from kernelbandits.insight import LeaveOneOut, leave_one_out
from kernelbandits.policies import Auto, Choice, LimitedOutcome, Policy
from kernelbandits.policies.comparison import OPTIMISM
from kernelbandits.storage import Draft
from kernelbandits.streams import Streams
from kernelbandits.study import fits
from kernelbandits.study.batches import Batch
from kernelbandits.study.events import State, Trial
from kernelbandits.study.rules import build_policy, check_front, check_outcomes
from kernelbandits.study.settings import FRONT, Settings
from kernelbandits.study.target_states import settings_of_target, state_of_target
from kernelbandits.study.targets import Target
from kernelbandits.study.units import Scale

if TYPE_CHECKING:
    from kernelbandits.study.place import Place
    from kernelbandits.study.points import Points

Mask = npt.NDArray[np.bool_]

MOST_LISTED = 4096
"""Points of a finite space that are listed to find a free one."""
INTERRUPTED = -1
"""The version of a policy that was interrupted while learning: it is built again."""


class Driver:
    """A policy that knows the results of a study, in their order, and nothing else.

    A target that has a policy of its own has a driver of its own too (`parts`): that of a study of
    this target alone, whose results, units and fits it has. The policy that chooses heeds what they
    have learnt (`_join`). With the goal front these policies choose together, and the policy of the
    study answers by the desirability.

    A policy that can choose among some of its arms gets all rows as arms, and chooses among those
    that are free. Other policies get the allowed rows only. Failures are passed on to policies that
    learn from them, such as auto. For all others, a candidate that failed more often than it gave
    results is not suggested while there are other candidates.
    """

    policy: Policy
    """What answers: it has learnt the target, or the desirability of several."""
    chooser: Policy
    """What is asked: the same policy, or that of the front."""

    def __init__(
        self,
        place: Place,
        settings: Settings,
        spread: float | None = None,
        domain: Arms | MixedBox | None = None,
    ) -> None:
        self.candidates = place
        if domain is not None:
            self._domain = domain
        self.notices: list[str] = []
        self.parts: dict[str, Driver] = {}
        """Target -> the driver of the policy that learns it alone."""
        self._states: dict[str, State] = {}
        """Target -> what its driver has learnt."""
        self._begin(settings, spread or settings.spread or 1.0)

    @property
    def first_rows(self) -> Indices:
        """For each row the first row of the same candidate."""
        return self.candidates.first_rows

    @property
    def rows(self) -> Indices:
        """The row of each arm."""
        return self._rows

    def _begin(self, settings: Settings, spread: float) -> None:
        self.settings, self.version, self.learnt = settings, INTERRUPTED, 0
        self._begun_with: tuple[Settings, float] | None = None
        self._left_out: tuple[Policy, LeaveOneOut | None] | None = None
        self.reasons: Any = None
        """What `explaining.reasons_of` keeps until the policy learns more."""
        self._fits_seen = 0
        self._choices: dict[int, tuple[Trial, Choice]] = {}
        self._waiting: tuple[list[Trial], list[Choice]] = [], []
        """The last round of a choice among free arms: its number, what was pending, these arms."""
        self.streams = Streams(settings.seed)
        with self._listening():
            self._build(settings, spread)
            self._build_parts(settings)
        self._join()
        self._begun_with = settings, spread

    def _build(self, settings: Settings, spread: float) -> None:
        """Build a policy that knows nothing."""
        place = self.candidates
        self.policy = build_policy(settings, self._domain, spread, self._place_earlier(settings))
        self._rows = np.arange(len(place))
        if not self.policy.restricts_arms and not place.allowed_rows.all():
            self._rows = place.allowed_rows.nonzero()[0]
            self.policy = build_policy(settings, place.domain(self.rows), spread)
        self._arm = np.full(len(place), -1)
        self._arm[self.rows] = np.arange(len(self.rows))
        check_outcomes(settings, len(place))
        check_front(settings, len(place))
        if place.costs is not None and not self.policy.weighs_costs:
            needed = "a policy that weighs costs, such as auto or any policy with an index"
            raise ValueError(f"a cost column needs {needed}, got {settings.policy!r}")

    def _place_earlier(self, settings: Settings) -> list[EarlierResults]:
        """Return the results of other studies in the coordinates of this one."""
        return [source.place_in(self.candidates) for source in settings.sources]

    def _build_parts(self, settings: Settings) -> None:
        """Have a driver for each target that has a policy of its own; one that is there stays."""
        known, self.parts = self.parts, {}
        for one in settings.learnt_alone:
            own = settings_of_target(settings, one)
            part = known.get(one.name) or type(self)(self.candidates, own, domain=self._domain)
            part.notices = self.notices
            self.parts[one.name] = part

    def _join(self) -> None:
        """Let the policy heed what the policies of the other targets have learnt.

        Here, and nowhere else, policies are joined: by limits on outcomes, and for the front.
        """
        wanted = [self._limited_outcome(one) for one in self.settings.outcomes]
        same = [(one.policy, one.low, one.high) for one in self.policy.outcomes]
        if wanted and [(one.policy, one.low, one.high) for one in wanted] != same:
            assert isinstance(self.policy, Auto)
            self.policy, self.reasons = self.policy.limited_by(*wanted), None
        self.chooser = self.policy
        if self.settings.goal == FRONT:
            first, *others = self._list_objectives()
            front = first.trading_off(*others, reference=self._find_reference())
            self.chooser = front.limited_by(*wanted) if wanted else front

    def _list_objectives(self) -> list[Auto[Any]]:
        """Return the policies of the targets that have a direction; all of them maximise."""
        policies = (self.parts[one.name].policy for one in self.settings.objectives)
        return [one for one in policies if isinstance(one, Auto)]

    def _find_reference(self) -> list[float] | None:
        """Return the worthless ends of the ranges, in the units of the policies.

        None if a target has no range that was given: then the worst result measured is worthless.
        """
        found = []
        for one in self.settings.objectives:
            state = self._states.get(one.name)
            if one.worthless is None or state is None:
                return None
            found.append(state.scale.inward(one.worthless))
        return found

    def _limited_outcome(self, target: Target) -> LimitedOutcome:
        """Return a target within limits as a policy heeds it, in the units of its own policy."""
        known = self._states.get(target.name)
        scale = Scale() if known is None else known.scale
        ends = [None if one is None else scale.inward(one) for one in (target.low, target.high)]
        return LimitedOutcome(self.parts[target.name].policy, *ends)

    @cached_property
    def _domain(self) -> Arms | MixedBox:
        """All candidates; a policy that is built again has the same, which are long to sort."""
        return self.candidates.domain()

    def follow(self, state: State) -> None:
        """Learn the new results, or all results again if anything else changed."""
        self._follow_results(state)
        for name, own in self.part_states(state).items():
            self._states[name] = own
            if not self.parts[name].has_learnt(own):
                self.reasons = None
                self.parts[name].follow(own)
        self._join()

    def part_states(self, state: State) -> dict[str, State]:
        """Return what a state says of each target that has a driver of its own.

        After a change of the goal it has one once the driver follows the state.
        """
        return {
            one.name: state_of_target(state, one, self._states.get(one.name))
            for one in state.settings.learnt_alone
            if one.name in self.parts
        }

    def _follow_results(self, state: State) -> None:
        """Learn the results of the policy that chooses."""
        setting = state.settings, state.scale.spread
        # A policy that has learnt nothing yet may have been built just so.
        if state.version != self.version and self._begun_with != setting:
            self._begin(*setting)
        fresh = state.results[self.learnt :]
        if fresh:
            # Interrupted from here on, it has fits that may be void when it goes on.
            self.version, self._begun_with = INTERRUPTED, None
            self._adopt_fits(state)
            self._learn(fresh, state.scale)
        self.version, self.learnt = state.version, len(state.results)

    def has_learnt(self, state: State) -> bool:
        """Tell whether it knows all results of the state, and nothing else."""
        own = self.version == state.version and self.learnt == len(state.results)
        return own and all(
            self.parts[name].has_learnt(one) for name, one in self.part_states(state).items()
        )

    def follow_without_fits(self, state: State, number: int) -> None:
        """Learn all results up to the n-th value, and fit to them whatever is stored."""
        self._begin(state.settings, state.scale.spread)
        values = [place for place, one in enumerate(state.results) if one.value is not None]
        self._learn(state.results[: values[number - 1] + 1], state.scale)

    def _adopt_fits(self, state: State) -> None:
        """Give the stored fits that still count to the policy, which then makes none of its own."""
        own = self.policy.fits
        if own is not None and len(state.fits) != self._fits_seen:
            known = fits.find_valid(
                state, self.policy.revision, self.candidates, above=self.policy.n_rewards
            )
            own.adopt(known)
            self._fits_seen = len(state.fits)

    def find_fitter(self, state: State, since: float) -> str | None:
        """Return the worker whose result made a fit due that is not stored yet.

        None if no fit is due, or if that result came before `since`: then whoever told it makes no
        fit.
        """
        parts = self.part_states(state).items()
        found = (self.parts[name].find_fitter(one, since) for name, one in parts)
        return self._find_own_fitter(state, since) or next(filter(None, found), None)

    def _find_own_fitter(self, state: State, since: float) -> str | None:
        """Return the same for the policy that chooses."""
        due = self._find_own_due_fit(state)
        if not due:
            return None
        values = sum(state.counts.values())
        # Fits are due at numbers of values, and failures stand among the results.
        later = (trial for trial in reversed(state.results) if trial.value is not None)
        told = next(islice(later, values - due, None)).told
        return told.worker if told is not None and told.at > since else None

    def find_due_fit(self, state: State) -> int:
        """Return the number of values at which a fit is due and not stored yet; 0 if none is."""
        parts = self.part_states(state).items()
        due = (self.parts[name].find_due_fit(one) for name, one in parts)
        return self._find_own_due_fit(state) or next(filter(None, due), 0)

    def _find_own_due_fit(self, state: State) -> int:
        """Return the same for the policy that chooses."""
        own = self.policy.fits
        if own is None or not state.results:
            return 0
        known = self.policy.n_rewards if state.version == self.version else 0
        due = own.last_due(known, sum(state.counts.values()))
        stored = due and any(event.body["results"] == due for event in state.fits)
        return 0 if stored else due

    def draft_fits(self, state: State) -> list[Draft]:
        """Return the fits that were made here and are not stored yet, as events.

        A fit of a policy that learns one target alone names it.
        """
        drafts = self._draft_own_fits(state)
        for name, one in self.part_states(state).items():
            drafts += [
                replace(draft, body={"target": name, **draft.body})
                for draft in self.parts[name].draft_fits(one)
            ]
        return drafts

    def _draft_own_fits(self, state: State) -> list[Draft]:
        """Return the same of the policy that chooses."""
        own = self.policy.fits
        if own is None or not own.made:
            return []
        made, revision = own.made, self.policy.revision
        digests = fits.digest_results(state, revision, self.candidates, made.keys())
        stored = {event.body["digest"] for event in state.fits}
        return [
            fits.draft_fit(number, digests[number], revision, fit)
            for number, fit in made.items()
            if number in digests and digests[number] not in stored
        ]

    def _learn(self, fresh: Sequence[Trial], scale: Scale) -> None:
        self._begun_with = self._left_out = self.reasons = None
        with self._listening():
            self.policy.tell_in_blocks([*self.pairs(fresh, scale)])

    def pairs(self, trials: Iterable[Trial], scale: Scale) -> Iterable[tuple[Choice, float | None]]:
        """Yield some results as the policy learns them.

        A failure is None, and is left out if the policy does not learn from failures.
        """
        for trial in trials:
            if trial.value is not None and self.knows(trial.row):
                reward = scale.inward(trial.value)
                if isinstance(trial.value, Censored) and self.policy.learns_limits:
                    side = trial.value.side if scale.sign > 0 else trial.value.turned().side
                    reward = Censored(reward, side)
                if trial.sem is not None and self.policy.learns_errors:
                    reward = Measurement(reward, scale.inward_sem(trial.sem))
                yield self.choice(trial), reward
            elif trial.value is None and self.policy.learns_failures:
                yield self.choice(trial), None

    def knows(self, row: int) -> bool:
        """Tell whether a row is an arm of the policy."""
        return bool(self._arm[row] >= 0)

    def arm(self, row: int) -> int:
        return int(self._arm[row])

    def choice(self, trial: Trial) -> Choice:
        """Return the choice that the policy made, or would have to make, for this trial."""
        # The same object for the same trial: by it the policy knows what was pending before.
        known = self._choices.get(id(trial))
        if known is None or known[0] is not trial:
            known = trial, self._make_choice(trial)
            self._choices[id(trial)] = known
        return known[1]

    def _choices_of(self, pending: Sequence[Trial]) -> list[Choice]:
        """Return the choices of pending trials; a batch adds one to those of the ask before."""
        known, choices = self._waiting
        if len(known) > len(pending) or not all(map(operator.is_, known, pending)):
            known, choices = [], []
        fresh = pending[len(known) :]
        choices = choices + [self.choice(trial) for trial in fresh if self.knows(trial.row)]
        self._waiting = [*pending], choices
        return choices

    def _make_choice(self, trial: Trial) -> Choice:
        arm = self.arm(trial.row)
        return Choice(self.policy.domain.points[arm], arm, trial.note)

    def choose(
        self,
        t: int,
        pending: Sequence[Trial],
        state: State,
        batch: Batch | None = None,
    ) -> tuple[int, Choice]:
        """Return row and choice of round t, with these results pending.

        Of a batch that shares a value only rows with this value are chosen, and of one that is
        spread only rows that are far from those before.
        """
        free = self._free_arms(pending, state)
        if batch is not None:
            there = [trial.row for trial in pending]
            free = batch.find_arms(free, self.rows[free], self.candidates, there)
        with self._listening():
            choice = self._restate(self._ask(t, self._choices_of(pending), free))
        assert choice.arm is not None
        return int(self.rows[choice.arm]), choice

    def _restate(self, choice: Choice) -> Choice:
        """Return a choice with the estimate of the study's policy, and not of one target."""
        if self.chooser is self.policy:
            return choice
        place = self.policy._place_of(choice)
        if self.policy.finite:
            posterior = self.policy.posterior
            mean, sd = float(posterior.mean[place]), float(posterior.sd[place])
        else:
            mean, sd = (float(one[0]) for one in self.policy.posterior.at(place[None]))
        note = {**choice.note, **self.policy.note_estimate(mean, sd)}
        return replace(choice, note=note)

    def _free_arms(self, pending: Sequence[Trial], state: State) -> Indices:
        """Return the arms that may be suggested.

        They are allowed and, while there are others, neither pending nor failing.
        """
        busy = self._alike_arms([trial.row for trial in pending])
        open_ = self._open_arms(state, busy)
        idle = open_ & ~busy
        if not idle.any() and self.settings.repeats is False:
            raise StudyConflict(
                "ask needs a row that has no result and is not pending, got none (repeats are off)"
            )
        if not idle.any():
            return np.flatnonzero(self._least_pending(open_, pending))
        sound = idle if self.policy.learns_failures else idle & ~self._failing_arms(state)
        return np.flatnonzero(sound if sound.any() else idle)

    def _least_pending(self, allowed: Mask, pending: Sequence[Trial]) -> Mask:
        """Tell which of some arms have the candidates that are pending least often.

        More rows were asked for than there are: they are spread, not given to one row.
        """
        first_rows, times = np.unique(
            self.first_rows[[trial.row for trial in pending]], return_counts=True
        )
        every = np.zeros(int(self.first_rows.max()) + 1, dtype=np.intp)
        every[first_rows] = times
        here = every[self.first_rows[self.rows]]
        fewest = here[allowed].min() if allowed.any() else 0
        return np.asarray(allowed & (here == fewest))

    def _open_arms(self, state: State, busy: Mask) -> Mask:
        """Tell which arms are allowed, and without a value where rows are not repeated now."""
        allowed = self.candidates.allowed_rows[self.rows]
        if self.settings.repeats is not False and not self.settings.repeats_last:
            return allowed
        fresh = allowed & ~self._alike_arms(list(state.counts))
        if self.settings.repeats is False:
            return fresh
        # A row that always fails never gets a value. It is not asked for while untried rows are
        # left, and does not keep the study from repeating others when none is left.
        untried = fresh & ~self._failing_arms(state)
        return untried if (untried & ~busy).any() else allowed

    def _failing_arms(self, state: State) -> Mask:
        """Tell which arms are of candidates that failed more often than they gave values."""
        balance = dict[int, int]()
        for row, count in (
            *state.failures.items(),
            *((row, -count) for row, count in state.counts.items()),
        ):
            balance[int(self.first_rows[row])] = balance.get(int(self.first_rows[row]), 0) + count
        return np.isin(
            self.first_rows[self.rows], [kind for kind, surplus in balance.items() if surplus > 0]
        )

    def _alike_arms(self, rows: list[int]) -> Mask:
        """Tell which arms are the same candidate as one of these rows."""
        named = np.zeros(len(self.first_rows), dtype=np.bool_)
        named[self.first_rows[rows]] = True
        return named[self.first_rows[self.rows]]

    def may_offer(
        self,
        trial: Trial,
        pending: Sequence[Trial],
        state: State,
        batch: Batch | None = None,
    ) -> bool:
        """Tell whether the row of a trial that was abandoned may be suggested again."""
        arm = self.arm(trial.row)
        busy = self._alike_arms([one.row for one in pending])
        if arm < 0 or busy[arm] or not self._open_arms(state, busy)[arm]:
            return False
        if batch is None:
            return True
        free = self._free_arms(pending, state)
        there = [one.row for one in pending]
        return arm in batch.find_arms(free, self.rows[free], self.candidates, there)

    def is_free_and_fresh(
        self, row: int, pending: Sequence[Trial], state: State
    ) -> tuple[bool, bool]:
        """Tell whether the candidate of a row is not pending, and whether it has no value."""
        kind = self.first_rows[row]
        busy = self.first_rows[[trial.row for trial in pending]] == kind if pending else np.False_
        measured = self.first_rows[list(state.counts)] == kind if state.counts else np.False_
        return not busy.any(), not measured.any()

    def _ask(self, t: int, waiting: list[Choice], free: Indices) -> Choice:
        """Ask the policy for one of the free arms."""
        policy, given = self.chooser, dict[str, Any]()
        # A rule that forgets would forget a real reward for each imagined one: it sees only which
        # arms are free. A rule that can do neither is asked as a copy, by `Policy.ask` itself.
        if waiting and (policy.imagines_pending or not policy.restricts_arms):
            given["pending"] = waiting
        if len(free) < len(self.rows):
            given["arms"] = free
        if self.candidates.costs is not None:
            given["costs"] = self.candidates.costs
        return policy.ask(t, self.streams, **given)

    def remark_budget(self, results: int = 0) -> list[str]:
        """Say so if the budget ends before the policy can choose by any of the results known."""
        rounds, size = self.settings.rounds, self.policy.initial_size
        if rounds is None or max(rounds, results) > size:
            return []
        return [
            f"{format_count(rounds, 'measurement')} planned, and the initial design has {size}: "
            "none of them will be chosen by the results of others"
        ]

    def estimates(self) -> tuple[Array, Array]:
        """Return mean and sd of every arm, in the policy's units."""
        return self.policy.estimates()

    def compared_estimates(self) -> tuple[Any, ...]:
        """Return mean and sd of the arms that the policy compares.

        Before them come the numbers of these arms, if they are few of a very large table: the
        estimates of all its arms take a while, and follow from these.
        """
        chosen = self.policy.working_set
        if chosen is None:
            return self.estimates()
        return chosen.numbers, self.policy.posterior.mean, self.policy.posterior.sd

    def coordinates(self, row: int) -> Array:
        """Return the point of a row as the policy sees it."""
        point: Array = self.policy.domain.points[self.arm(row)]
        return point

    def all_points(self) -> Array:
        """Return the points of all arms; of a space, points spread over it."""
        points: Array = self.policy.domain.points
        return points

    def covariance(self, arms: Indices) -> Array:
        """Return the covariance of f at some arms, in the policy's units squared."""
        return self.policy.covariance(arms)

    def leave_one_out(self, policy: Policy | None = None) -> LeaveOneOut | None:
        """Predict each result from the others; computed once after each result.

        A policy on another working set (`Auto.restrict_to`) has a posterior of its own.
        """
        policy = policy or self.policy
        if self._left_out is None or self._left_out[0] is not policy:
            self._left_out = policy, leave_one_out(policy)
        return self._left_out[1]

    def _listening(self) -> Any:
        return Listening(self.notices)


class SpaceDriver(Driver):
    """The policy of a study over a space; the points met so far take the place of rows.

    A choice that is pending, or that has a result where points are not repeated, is replaced by the
    most promising other point. This happens in finite spaces, where points can be equal.
    """

    candidates: Points

    @property
    def rows(self) -> Indices:
        return self.candidates.first_rows

    def _build(self, settings: Settings, spread: float) -> None:
        self.policy = build_policy(settings, self._domain, spread, self._place_earlier(settings))
        if self.policy.finite:
            raise ValueError(
                f"a study over a space needs a policy that plays anywhere in it, such as auto or "
                f"gp-ucb, got {settings.policy!r}, which plays on a list of candidates"
            )

    def knows(self, row: int) -> bool:
        return True

    def arm(self, row: int) -> int:
        return row

    def _make_choice(self, trial: Trial) -> Choice:
        return Choice(self.candidates.learnt_point(trial.row), None, trial.note)

    def choose(
        self,
        t: int,
        pending: Sequence[Trial],
        state: State,
        batch: Batch | None = None,
    ) -> tuple[int, Choice]:
        """Return point and choice of round t, with these results pending."""
        used = {trial.row for trial in pending}
        used |= set(state.counts) if self.settings.repeats is False else set()
        used = self.candidates.on_grid(used)
        part = None
        if batch is not None and batch.values is not None:
            needed = "a policy that can be held to a part of the space, such as auto, for same"
            checks.needs(self.policy.restricts_arms, "ask", needed, self.settings.policy)
            part = Part(self.candidates.space, batch.values)
        self._check_free(used, part)
        waiting = self._choices_of(pending)
        with self._listening():
            choice = self._restate(self.chooser.ask(t, self.streams, pending=waiting, arms=part))
        row = self.candidates.add(choice.x)
        if row in used:
            choice = self._choose_instead(used, choice, part)
            row = self.candidates.add(choice.x)
        return row, choice

    def _check_free(self, used: set[int], part: Part | None) -> None:
        """Raise an error if points are not repeated and none is left."""
        space = self.candidates.space if part is None else part.box
        taken = used if part is None else {row for row in used if self.candidates.x(row) in part}
        if self.settings.repeats is False and len(taken) >= space.count:
            count = format_count(int(space.count), "point")
            raise StudyConflict(
                "ask needs a point that has no result and is not pending, got none: all "
                f"{count} of the space are measured or pending (repeats are off)"
            )

    def _choose_instead(self, used: set[int], choice: Choice, part: Part | None) -> Choice:
        """Return the most promising point that is free; the choice itself if none is."""
        whole, taken = self.candidates.space, [self.candidates.points[row] for row in used]
        space = whole if part is None else part.box
        rows = space.all_rows() if space.count <= MOST_LISTED else space.cover().points
        rows = rows if part is None else part.expand(rows)
        free = rows[~(rows[:, None] == np.array(taken)[None]).all(2).any(1)]
        if not len(free):
            return choice
        free = self.policy.select_feasible(free)
        mean, sd = self.policy.posterior.at(free)
        best = int((mean + OPTIMISM * sd).argmax())
        estimate = self.policy.note_estimate(float(mean[best]), float(sd[best]))
        note = {**estimate, "instead": 1.0}
        first = {"first": 1.0} if choice.note.get("first") else {}
        return Choice(whole.decode(free[best]), None, {**note, **first})

    def may_offer(
        self,
        trial: Trial,
        pending: Sequence[Trial],
        state: State,
        batch: Batch | None = None,
    ) -> bool:
        measured = self.settings.repeats is False and trial.row in state.counts
        if batch is not None and batch.values is not None:
            here = self.candidates.values(trial.row, batch.columns)
            measured |= here != batch.values
        return not measured and trial.row not in {one.row for one in pending}

    def coordinates(self, row: int) -> Array:
        point: Array = self.candidates.points[row]
        return point

    def all_points(self) -> Array:
        return self.candidates.space.cover().points

    def estimates(self) -> tuple[Array, Array]:
        """Return mean and sd of every point met so far, in the policy's units."""
        mean, sd = self.policy.posterior.at(self.candidates.points)
        return self.policy.units.original(mean), self.policy.units.original_sd(mean, sd)


def build_driver(place: Place, settings: Settings, spread: float | None = None) -> Driver:
    """Build the driver of a table or of a space, for results of this spread if there are any."""
    made = Driver if place.lists_all else SpaceDriver
    return made(place, settings, spread)


class Listening(warnings.catch_warnings):
    """What a policy warns of is kept as notices of the study, each once."""

    def __init__(self, notices: list[str]) -> None:
        super().__init__(record=True)
        self._notices = notices

    def __enter__(self) -> Any:
        self._caught = super().__enter__()
        warnings.simplefilter("always")
        return self._caught

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)
        for one in self._caught or ():
            if not issubclass(one.category, (TheoryWarning, NumericsWarning, DataNotice)):
                warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
            elif one.category is not DataNotice and str(one.message) not in self._notices:
                self._notices.append(str(one.message))
