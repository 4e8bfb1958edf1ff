"""The state of a study, computed from its events."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import Any

from kernelbandits.censored import join_sides
from kernelbandits.storage import Damaged, Event
from kernelbandits.study.settings import Settings
from kernelbandits.study.targets import Range, combine, combine_errors, find_ranges
from kernelbandits.study.units import (
    FIRST,
    UNSCALED,
    Scale,
    are_equal,
    first_results,
    fit_scale,
)

RESULTS = ("told", "failed")
CHANGES = ("added", "forbidden", "allowed")
"""Kinds of events that change the table of candidates."""
UNDOABLE = (*RESULTS, "missing", "corrected", "withdrawn", "asked", "settings", *CHANGES)
REVISED = "revised_from"
"""In the body of a settings event that changes nothing but the revision: the one until then."""
IN_ORDER = "in_order"
"""In the body of a result that counts in the order of the trials, and not in that of their results.
"""
ASKED = ("note", "why", "greedy", "scale", "revision", "decided", "lease")
"""What the body of every ask has."""
OFFERS = 3
"""How often a row is suggested without a result before the policy must choose it again."""


@dataclass(eq=False, slots=True)
class Trial:
    """One measurement, from its ask to its result."""

    number: int
    row: int
    state: str
    """pending, told, failed, missing, withdrawn or released"""
    asked: Event | None = None
    """None where a result came that nobody had asked for."""
    told: Event | None = None
    value: float | None = None
    """What the policy learns, once all targets are measured: the value of one target, or the
    desirability."""
    sem: float | None = None
    """The standard error of the value, where it is known."""
    values: Mapping[str, float] = field(default_factory=dict)
    """Target -> its value, of those that were measured."""
    sems: Mapping[str, float] = field(default_factory=dict)
    missing: Set[str] = frozenset()
    """Targets whose values will not come."""
    offers: int = 1
    """How many askers in a row were offered the same row."""
    released: bool = False
    """Whether it was given up once; a late result may have come since."""

    @property
    def note(self) -> dict[str, float]:
        """What the policy noted with its choice; tell needs it."""
        given: Mapping[str, Any] = self.asked.body["note"] if self.asked else {}
        return {name: float(value) for name, value in given.items()}

    def scale(self, settings: Settings) -> Scale:
        """Return the units of its note."""
        centre, spread = self.asked.body["scale"] if self.asked else UNSCALED
        return Scale(centre, spread, settings.sign, settings.limits_seen)

    def has_units(self, settings: Settings) -> bool:
        """Tell whether the units of its note are known: by results, or because they were given."""
        if self.asked is None or self.asked.body["greedy"] is not None:
            return True
        bare = [*UNSCALED]
        return self.asked.body["scale"] != bare or [settings.centre, settings.spread] == bare

    @property
    def asked_row(self) -> int:
        """The row that was asked for; `row` is another one if a hand set other conditions."""
        return self.row if self.asked is None else self.asked.row or 0

    @property
    def worker(self) -> str | None:
        return self.asked.worker if self.asked else None

    @property
    def until(self) -> float:
        """When its lease runs out."""
        return self.asked.at + self.asked.body["lease"] if self.asked else 0.0

    def is_overdue(self, now: float) -> bool:
        """Tell whether its lease has run out; not where some of its values have come."""
        return self.until < now and not self.values

    @property
    def is_crowded(self) -> bool:
        """Whether results of others were pending when it was asked for."""
        return bool(self.asked and self.asked.body.get("crowd"))

    @property
    def again(self) -> int | None:
        return self.asked.body.get("again") if self.asked else None

    @property
    def decision_event(self) -> int:
        """The number of the last event that was known when its row was chosen."""
        return int(self.asked.body["decided"]) if self.asked else 0

    @property
    def revision(self) -> int:
        """The revision of the policy that chose its row; 0 where nobody had asked for it."""
        return int(self.asked.body["revision"]) if self.asked else 0


@dataclass
class State:
    """What all events together say: trials, results, pending rows, settings."""

    events: list[Event] = field(default_factory=list)
    trials: dict[int, Trial] = field(default_factory=dict)
    results: list[Trial] = field(default_factory=list)
    """Trials with a valid result, values and failures, in the order they were told."""
    counts: dict[int, int] = field(default_factory=dict)
    """Row -> how many values it has; rows that have none are not there."""
    failures: dict[int, int] = field(default_factory=dict)
    """Row -> how often it failed."""
    pending: dict[int, Trial] = field(default_factory=dict)
    abandoned: dict[int, Trial] = field(default_factory=dict)
    """Whose lease ran out, and whose row nobody was offered since."""
    keys: dict[str, Event] = field(default_factory=dict)
    standing: list[Event] = field(default_factory=list)
    """Events that can be undone, the last first to go."""
    fits: list[Event] = field(default_factory=list)
    """Fits of the scales, whether or not the results that they were made to still stand."""
    target_fits: dict[str, list[Event]] = field(default_factory=dict)
    """The same of the policies that learn one target alone, by target."""
    ranges: dict[str, Range] = field(default_factory=dict)
    """Of several targets: the range of each, given or measured so far."""
    changes: list[Event] = field(default_factory=list)
    """Events that changed the table of candidates."""
    settings: Settings = field(default_factory=Settings)
    last_trial: int = 0
    version: int = 0
    """Grows whenever anything but a new result changes: the policy must be built again."""
    first_result: int | None = None
    """The number of the first result that ever came, whatever became of it."""
    taken_back: bool = False
    """Whether a result was withdrawn, or undone."""
    settings_changed: bool = False
    """Whether settings were changed when there were results already."""
    salvaged: bool = False
    """Whether the log was salvaged, and events are missing."""
    scaled: tuple[float, float] = UNSCALED
    """Centre and spread as stored."""
    settled_version: int | None = None
    """The version at which centre and spread were last found to be settled."""

    @classmethod
    def of(cls, events: Iterable[Event]) -> State:
        state = cls()
        state.extend(events)
        return state

    @property
    def last(self) -> Event | None:
        return self.events[-1] if self.events else None

    @property
    def table(self) -> tuple[int, ...]:
        """The numbers of the events that changed the table: equal for equal tables."""
        return tuple(event.seq for event in self.changes)

    @property
    def scale(self) -> Scale:
        centre, spread = self.settings.centre, self.settings.spread
        given = (centre, spread) if centre is not None and spread is not None else self.scaled
        return Scale(*given, sign=self.settings.sign, limits=self.settings.limits_seen)

    @property
    def due_scale(self) -> tuple[float, float]:
        """Centre and spread as they should be by the results that stand; those given stay."""
        return self.scaled if self.settings.centre is not None else fit_scale(self.first_values)

    @property
    def first_values(self) -> list[float]:
        """The results that stand and set centre and spread."""
        return first_results(trial.value for trial in self.results if trial.value is not None)

    @property
    def scale_settled(self) -> bool:
        """Whether later results leave centre and spread as they are."""
        # Once they do, only what is no new result can change that.
        if self.salvaged or self.settled_version != self.version:
            first = self.first_values
            if len(first) < FIRST or are_equal(first) or self.due_scale != self.scaled:
                return False
            self.settled_version = self.version
        return True

    def precedes_first_values(self, event: Event) -> bool:
        """Tell whether a new result takes its place among those that set centre and spread."""
        if not event.body.get(IN_ORDER):
            return False
        values = [trial for trial in self.results if trial.value is not None]
        first = values[: len(self.first_values)]
        return any((event.trial or 0) < trial.number for trial in first)

    def undoable(self) -> Iterator[Event]:
        """Yield the events that can be undone one after the other, the last first.

        An ask can be undone when the results of its trial have been, unless the trial was released:
        then it is not pending, also if a late result came and was undone.
        """
        for event in reversed(self.standing):
            if event.kind != "asked" or not self.trials[event.trial or 0].released:
                yield event

    def extend(self, events: Iterable[Event]) -> None:
        """Apply later events; one that was undone makes a new fold of all the others."""
        fresh = list(events)
        self.events.extend(fresh)
        if self.first_result is None:
            self.first_result = next((event.seq for event in fresh if event.kind in RESULTS), None)
        if any(event.kind == "undone" for event in fresh):
            self._refold()
        else:
            for event in fresh:
                self._apply(event)
            self._combine()

    def _combine(self) -> None:
        """Compute the desirability of all trials with the values of all targets.

        It depends on all results where a target has no range of its own, and is never stored.
        """
        if not self.settings.combined:
            return
        targets = self.settings.objectives
        self.ranges = find_ranges(targets, (trial.values for trial in self.trials.values()))
        for trial in self.results:
            if trial.value is None:
                continue
            value = combine(targets, trial.values, self.ranges)
            error = combine_errors(targets, trial.values, trial.sems, self.ranges)
            # A policy that has learnt another number has to learn all results again.
            known = not math.isnan(trial.value)
            self.version += known and (value, error) != (trial.value, trial.sem)
            trial.value, trial.sem = value, error

    def _refold(self) -> None:
        """Fold all events anew, without those that were undone.

        The event that undid an ask has the number of its trial, so no number comes twice.
        """
        undone = {event.body["of"] for event in self.events if event.kind == "undone"}
        folded = State(version=self.version + 1, first_result=self.first_result)
        for event in self.events:
            if event.seq not in undone:
                folded._apply(event)
        folded._combine()
        folded.events = self.events
        vars(self).update(vars(folded))

    def _apply(self, event: Event) -> None:
        try:
            getattr(self, f"_apply_{event.kind}")(event)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise Damaged(
                f"a study needs events that fit together, "
                f"got {event.kind!r} as event {event.seq}: {error}"
            ) from None
        if event.key is not None:
            self.keys[event.key] = event
        if event.kind in UNDOABLE and not is_automatic(event):
            self.standing.append(event)
        self.last_trial = max(self.last_trial, event.trial or 0)

    def _apply_created(self, event: Event) -> None:
        self.settings = Settings.of(event.body["settings"])

    def _apply_settings(self, event: Event) -> None:
        if event.body.get("auto"):
            self.scaled = (event.body["centre"], event.body["spread"])
        elif REVISED in event.body:
            self._revise(event.body["settings"])
        else:
            before, self.settings = self.settings, Settings.of(event.body["settings"])
            known = self.first_result is not None and self.first_result < event.seq
            self.settings_changed |= known and not self.settings.claims_as(before)
        self.version += 1

    def _revise(self, body: Mapping[str, Any]) -> None:
        """Take the revision only: the rest may come from a change that was undone later."""
        if self.settings.policy == body["policy"]:
            self.settings = replace(self.settings, revision=body["revision"])

    def _apply_asked(self, event: Event) -> None:
        lacking = [name for name in ASKED if name not in event.body]
        if lacking:
            raise ValueError(f"it lacks {', '.join(lacking)}")
        trial = Trial(*trial_and_row(event), "pending", asked=event)
        self.trials[trial.number] = self.pending[trial.number] = trial
        if trial.again is not None:
            trial.offers = self._find_trial(trial.again, trial.row).offers + 1
            self.abandoned.pop(trial.again, None)

    def _apply_told(self, event: Event) -> None:
        number, row = trial_and_row(event)
        # A result that nobody had asked for makes a trial of its own.
        trial = self.trials.setdefault(number, Trial(number, row, "pending"))
        if trial.state in RESULTS and not self.salvaged:
            raise ValueError(f"trial {number} has a result already")
        if trial.row != row:
            # It was measured elsewhere than asked; the policy may know it as pending there.
            trial.row = row
            self.version += 1
        self._take_result(trial, event)

    _apply_failed = _apply_missing = _apply_told

    def _take_result(self, trial: Trial, event: Event) -> None:
        """Take a failure, or some values: the trial has a result when all targets are there."""
        body, names = event.body, {one.name for one in self.settings.wanted}
        if "values" not in body:
            self._settle(trial, event)
            self._count(trial, "failed", None)
            return
        trial.values = {**trial.values, **join_sides(body["values"], body.get("beyond", {}))}
        trial.sems = {**trial.sems, **body.get("sems", {})}
        trial.missing = (trial.missing | {*body.get("missing", ())}) - {*trial.values}
        if names <= {*trial.values}:
            self._settle(trial, event)
            if self.settings.combined:
                # Its desirability is computed when all events are applied.
                self._count(trial, "told", math.nan)
            else:
                name = self.settings.target
                self._count(trial, "told", trial.values[name], trial.sems.get(name))
        elif names <= {*trial.values, *trial.missing}:
            # Without a value and without a failure: its row may be asked for again.
            self._end(trial)
            trial.told, trial.state = trial.told or event, "missing"
        elif trial.state not in RESULTS:
            trial.told, trial.state = trial.told or event, "pending"
            self.pending[trial.number] = trial

    def _end(self, trial: Trial) -> None:
        """Let a trial be pending, or abandoned, no longer."""
        self.pending.pop(trial.number, None)
        self.abandoned.pop(trial.number, None)

    def _settle(self, trial: Trial, event: Event) -> None:
        """Insert a trial among the results; its place is that of its first result."""
        self._end(trial)
        if trial.state in RESULTS:
            return
        trial.told = event
        after = self._count_after(trial.number) if event.body.get(IN_ORDER) else 0
        self.results.insert(len(self.results) - after, trial)
        # The policy may have learnt the later ones already, and has to learn them after this one.
        self.version += after > 0

    def _count_after(self, number: int) -> int:
        """Count the last results that stand in the order of trials and come after this trial."""
        count = 0
        for trial in reversed(self.results):
            ordered = trial.told is not None and trial.told.body.get(IN_ORDER)
            if not ordered or trial.number < number:
                break
            count += 1
        return count

    def _apply_corrected(self, event: Event) -> None:
        trial = self._find_trial(*trial_and_row(event))
        if "values" not in event.body:
            trial.values, trial.sems, trial.missing = {}, {}, frozenset()
        self._take_result(trial, event)
        self.version += 1

    def _apply_withdrawn(self, event: Event) -> None:
        trial = self._find_trial(*trial_and_row(event))
        trial.values, trial.sems, trial.missing = {}, {}, frozenset()
        self._count(trial, "withdrawn", None)
        self.taken_back = True
        self.results = [one for one in self.results if one is not trial]
        self.version += 1

    def _count(
        self, trial: Trial, state: str, value: float | None, sem: float | None = None
    ) -> None:
        add_count(self.counts, trial.row, (value is not None) - (trial.value is not None))
        add_count(self.failures, trial.row, (state == "failed") - (trial.state == "failed"))
        trial.state, trial.value, trial.sem = state, value, None if value is None else sem

    def _apply_released(self, event: Event) -> None:
        trial = self._find_trial(*trial_and_row(event))
        if trial.state in RESULTS:
            return
        self.pending.pop(trial.number, None)
        trial.state, trial.released = "released", True
        if event.body.get("overdue") and trial.offers < OFFERS:
            self.abandoned[trial.number] = trial

    def _apply_undone(self, event: Event) -> None:
        """Note that a result was taken back; what was undone is left out of the fold."""
        self.taken_back |= event.body["kind"] == "told"

    def _apply_added(self, event: Event) -> None:
        self.changes.append(event)
        self.version += 1

    _apply_forbidden = _apply_allowed = _apply_added

    def _apply_fitted(self, event: Event) -> None:
        """Keep a fit, which changes no result; whether it counts is decided where it is used."""
        target = event.body.get("target")
        (self.fits if target is None else self.target_fits.setdefault(target, [])).append(event)

    def _apply_noted(self, event: Event) -> None:
        """Note that the log was salvaged: a remark changes nothing, but events may be missing."""
        self.salvaged = True

    def _find_trial(self, number: int, row: int) -> Trial:
        """Return a trial; in a log that was salvaged it may appear here for the first time."""
        if self.salvaged:
            return self.trials.setdefault(number, Trial(number, row, "released"))
        return self.trials[number]


def is_automatic(event: Event) -> bool:
    """Tell whether the study wrote this by itself, settings or a point: nobody can undo it."""
    body = event.body
    return bool(body.get("auto") or body.get("off_table")) or REVISED in body


def events_before(events: Sequence[Event], asked: Event) -> list[Event]:
    """Return what was known when an ask was decided.

    These are all events up to the one that it names, and the earlier events of the same call: asks
    are decided together, without the lock, and written in one transaction.
    """
    decided, call = asked.body["decided"], f"{(asked.key or '').rpartition('/')[0]}/"
    own = [event for event in events[decided : asked.seq - 1] if (event.key or "").startswith(call)]
    return [*events[:decided], *own]


def add_count(counts: dict[int, int], row: int, more: int) -> None:
    """Add to the count of a row, or subtract from it; a row with none is left out."""
    if not more:
        return
    found = counts.get(row, 0) + more
    counts[row] = found
    if not found:
        del counts[row]


def trial_and_row(event: Event) -> tuple[int, int]:
    """Return trial and row of an ask or a result."""
    if event.trial is None or event.row is None:
        raise ValueError("it has no trial or no row")
    return event.trial, event.row
