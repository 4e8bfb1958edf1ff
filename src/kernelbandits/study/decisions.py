"""Decisions: from the state of a study to the events that a command writes.

Each function checks a command against the state and returns drafts of events; nothing is written
here. A command that is repeated because its connection was cut finds its events by their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD, Indices, StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.storage import Draft, Event
from kernelbandits.study.batches import BATCH, Batch
from kernelbandits.study.calls import Call, escape_key, key_conflict, show_key
from kernelbandits.study.candidates import Candidates
from kernelbandits.study.events import OFFERS, RESULTS, REVISED, State, Trial
from kernelbandits.study.growing import check_permission, draft_point, grow_candidates
from kernelbandits.study.names import check_name
from kernelbandits.study.reconciliation import TellStep, check_candidate
from kernelbandits.study.settings import Settings
from kernelbandits.study.units import Scale
from kernelbandits.study.values import AlreadyTold, Suggestion, Told, plain
from kernelbandits.study.words import describe_point
from kernelbandits.tables.export import DETAILS
from kernelbandits.tables.results import MADE, Result

if TYPE_CHECKING:
    from kernelbandits.policies import Choice
    from kernelbandits.study.driver import Driver
    from kernelbandits.study.place import Place

TAKEN = "taken"
"""In the body of an ask: rows that others took after it was decided, and before it was written."""
LONGEST_NOTE = 2000
OWN_UNITS = ("mean", "index", "sample")
LENGTHS = ("sd", "noise_scale", "improvement", "gain")
"""Numbers of a note that are values, and differences, in the units of the target."""

# ---------------------------------------------------------------------- ask


@dataclass(frozen=True)
class Asker:
    """Who asks, for how many rows and for how long."""

    n: int
    worker: str | None
    lease: float | None
    """Seconds; those of the study unless given."""
    call: Call
    """By which it finds its events if the connection was cut in between."""
    batch: Batch | None = None
    """What is demanded of the rows of the call."""

    @property
    def key(self) -> str:
        """What the keys of its events begin with."""
        return self.call.key

    def names(self) -> Iterator[str]:
        return (f"{self.key}/{number}" for number in range(1, self.n + 1))

    @property
    def settings_key(self) -> str:
        """Of the settings event that this call wrote, if the policy had a new revision."""
        return f"{self.key}/settings"

    def find_held(self, state: State, now: float) -> list[Event]:
        """Return the asks that the worker still has, from earlier calls."""
        if self.worker is None:
            return []
        trials = [trial for trial in state.pending.values() if trial.worker == self.worker]
        asks = [trial.asked for trial in trials if trial.asked and not trial.is_overdue(now)]
        return [event for event in asks if not (event.key or "").startswith(f"{self.key}/")]

    def find_written(self, state: State) -> list[Event]:
        """Return the asks that this call has written already."""
        return self.call.find_written(state, self.n)


@dataclass(frozen=True)
class PlannedAsk:
    """A row that was chosen and not written yet."""

    row: int
    body: Mapping[str, Any]
    free: bool
    """Whether no trial of the same candidate was pending when it was chosen."""
    fresh: bool
    """Whether the candidate had no value when it was chosen."""


@dataclass
class AskPlan:
    """The rows of one call, decided without the lock."""

    held: list[Event]
    overdue: list[Trial]
    """Trials whose lease has ended."""
    settings: Settings
    """Those of the study when the rows were chosen."""
    table: tuple[int, ...] = ()
    """The changes of the table of candidates that were known then."""
    asks: list[PlannedAsk] = field(default_factory=list)
    fits: list[Draft] = field(default_factory=list)
    """Fits that were made for it."""
    revision: int | None = None
    """The revision of the policy that chose, if it chose any."""


def plan_ask(
    state: State, driver: Driver, asker: Asker, now: float, before: AskPlan | None = None
) -> AskPlan:
    """Choose the rows of a call: pending ones of the worker, abandoned rows, new choices.

    `before` is what `keep_plan` left, on this state, of a plan of the same call.
    """
    if before is None:
        overdue = [trial for trial in state.pending.values() if trial.is_overdue(now)]
        before = AskPlan(asker.find_held(state, now), overdue, state.settings, state.table)
    overdue = [state.pending[number] for number in sorted(one.number for one in before.overdue)]
    plan = replace(before, overdue=overdue, asks=[*before.asks])
    waiting, abandoned = list_waiting(state, plan), list_abandoned(state, plan)
    while len(plan.held) + len(plan.asks) < asker.n:
        number = state.last_trial + len(plan.asks) + 1
        batch = asker.batch and asker.batch.after(
            [event.row or 0 for event in plan.held],
            [one.row for one in plan.asks],
            driver.candidates,
        )
        try:
            row, body = reoffer_row(driver, state, waiting, abandoned, asker, batch) or choose_row(
                driver, state, waiting, number, batch
            )
        except StudyConflict:
            if batch is not None and before.asks:
                # Others took rows with the value that the batch had: it begins with another one.
                return plan_ask(state, driver, asker, now, replace(before, asks=[]))
            found = len(plan.held) + len(plan.asks)
            if batch is not None or not found:
                raise
            noun = driver.candidates.noun
            raise StudyConflict(
                f"ask needs {asker.n} {noun}s that have no result and are not pending, got {found} "
                f"(repeats are off). No {noun} was asked for"
            ) from None
        if "again" not in body:
            plan.revision = driver.policy.revision
        body["decided"], body["lease"] = len(state.events), asker.lease or state.settings.lease
        body |= {"crowd": len(waiting)} if waiting else {}
        plan.asks.append(PlannedAsk(row, body, *driver.is_free_and_fresh(row, waiting, state)))
        waiting.append(imagine_trial(number, plan.asks[-1]))
    # Rows of `before` were chosen with its fits, so these are stored too, even if void by now.
    plan.fits = [*before.fits, *(fit for fit in driver.draft_fits(state) if fit not in before.fits)]
    return plan


def list_waiting(state: State, plan: AskPlan) -> list[Trial]:
    """List the trials that are pending once the ended leases and the asks of a plan are written."""
    gone = {trial.number for trial in plan.overdue}
    return [
        *(trial for number, trial in state.pending.items() if number not in gone),
        *(imagine_trial(state.last_trial + i, one) for i, one in enumerate(plan.asks, 1)),
    ]


def list_abandoned(state: State, plan: AskPlan) -> list[Trial]:
    """List the trials whose rows may be offered again, without those that the plan offers."""
    ended = (trial for trial in plan.overdue if trial.offers < OFFERS)
    offered = {one.body.get("again") for one in plan.asks}
    return [one for one in (*state.abandoned.values(), *ended) if one.number not in offered]


def imagine_trial(number: int, planned: PlannedAsk) -> Trial:
    """Return the pending trial that a planned ask will be, whatever its number."""
    event = Event(
        kind="asked", trial=number, row=planned.row, body=planned.body, seq=0, at=0.0, check=""
    )
    return Trial(number, planned.row, "pending", asked=event)


def reoffer_row(
    driver: Driver,
    state: State,
    waiting: list[Trial],
    abandoned: list[Trial],
    asker: Asker,
    batch: Batch | None = None,
) -> tuple[int, dict[str, Any]] | None:
    """Return an abandoned row, with what was noted and said of it; None if none may be offered.

    The asker's own rows come first.
    """
    abandoned.sort(key=lambda trial: (trial.worker != asker.worker, trial.number))
    while abandoned:
        trial = abandoned.pop(0)
        if trial.asked and driver.may_offer(trial, waiting, state, batch):
            before = {name: trial.asked.body[name] for name in ("note", "scale", "greedy")}
            why = (
                f"Suggested again, because trial {trial.number} got no result in time. "
                f"{trial.asked.body['why']}"
            )
            return trial.row, {
                **before,
                "why": why,
                "revision": trial.revision,
                "again": trial.number,
            }
    return None


def choose_row(
    driver: Driver,
    state: State,
    waiting: list[Trial],
    number: int,
    batch: Batch | None = None,
) -> tuple[int, dict[str, Any]]:
    """Let the policy choose a row; return it, and what its event says of it in the units of now."""
    from kernelbandits.study.explaining import reasons_of

    row, choice = driver.choose(number, waiting, state, batch)
    return row, {
        **describe_choice(driver, state, row, choice, batch.sentence if batch else ""),
        "greedy": reasons_of(driver, state).greedy,
        "scale": [state.scale.centre, state.scale.spread],
        "revision": driver.policy.revision,
        "round": number,
        **({BATCH: batch.body} if batch else {}),
    }


def describe_choice(
    driver: Driver, state: State, row: int, choice: Choice, more: str
) -> dict[str, Any]:
    """Return what the event of an ask says of a choice: its note, and why it was made."""
    from kernelbandits.study.explaining import reasons_of

    note = {name: float(value) for name, value in choice.note.items()}
    why = " ".join(filter(None, (reasons_of(driver, state).sentence(row, note), more)))
    return {"note": {name: plain(value) for name, value in note.items()}, "why": why}


def keep_plan(
    state: State, plan: AskPlan, asker: Asker, first_rows: Indices, now: float
) -> AskPlan | None:
    """Return what still holds of a plan on a newer state: the asks before the first conflict.

    Each row must still be free, as it was when it was chosen. None if nothing is left of the plan,
    because the settings, the table, the pending rows of the worker, or the ended leases are others
    now.
    """
    if (state.settings, state.table) != (plan.settings, plan.table):
        return None
    if asker.find_held(state, now)[: asker.n] != plan.held[: asker.n]:
        return None
    if any(trial.number not in state.pending for trial in plan.overdue):
        return None
    gone = {trial.number for trial in plan.overdue}
    pending, measured = find_taken(state, plan, first_rows)
    kept: list[PlannedAsk] = []
    for one in plan.asks:
        kind, again = int(first_rows[one.row]), one.body.get("again")
        lost = again is not None and again not in state.abandoned and again not in gone
        if lost or (one.free and kind in pending) or (one.fresh and kind in measured):
            break
        kept.append(one)
    return replace(plan, asks=kept)


def find_taken(state: State, plan: AskPlan, first_rows: Indices) -> tuple[set[int], set[int]]:
    """Return the candidates that are pending, and those with values where rows are not repeated."""
    gone = {trial.number for trial in plan.overdue}
    rows = [trial.row for number, trial in state.pending.items() if number not in gone]
    once = state.settings.repeats is False or state.settings.repeats_last
    return set(first_rows[rows].tolist()), set(first_rows[[*state.counts]].tolist() if once else ())


def choose_instead(state: State, plan: AskPlan, driver: Driver) -> AskPlan | None:
    """Replace the row of a plan that somebody else took by the best of the rows still free.

    The policy has learnt nothing since the plan was made: the choice is decided on the same event
    as the one before, among fewer rows. The rows that it was not among are stored with it, and
    replay leaves them out too. None if the rows have to be chosen on the newer state.
    """
    one = plan.asks[0]
    if len(plan.asks) > 1 or "again" in one.body or BATCH in one.body:
        return None
    pending, measured = find_taken(state, plan, driver.first_rows)
    found = driver.choose_without(
        (pending if one.free else set()) | (measured if one.fresh else set())
    )
    if found is None:
        return None
    row, choice, taken = found
    said = describe_choice(driver, state, row, choice, describe_taken(taken))
    return replace(plan, asks=[replace(one, row=row, body={**one.body, **said, TAKEN: taken})])


def describe_taken(rows: Sequence[int]) -> str:
    """Say that a row was chosen without some rows that others took; "" if there are none."""
    if not rows:
        return ""
    left = (
        "was left out, because others took it"
        if len(rows) == 1
        else ("were left out, because others took them")
    )
    return f"{format_count(len(rows), 'row')} {left} meanwhile."


def draft_asks(state: State, plan: AskPlan, asker: Asker) -> list[Draft]:
    """Return the events of a plan: ended leases, fits, a new revision of the policy, asks."""
    drafts = [
        Draft(
            kind="released",
            trial=trial.number,
            row=trial.row,
            key=f"{asker.key}/released/{trial.number}",
            body={"overdue": True},
        )
        for trial in plan.overdue
    ]
    drafts += draft_new_fits(state, plan, asker)
    before = state.settings
    if plan.revision is not None and before.revision != plan.revision:
        body = {"settings": replace(before, revision=plan.revision).body, REVISED: before.revision}
        drafts.append(Draft(kind="settings", key=asker.settings_key, body=body))
    trials = range(state.last_trial + 1, state.last_trial + 1 + len(plan.asks))
    for trial, key, one in zip(trials, asker.names(), plan.asks, strict=False):
        drafts.append(
            Draft(
                kind="asked", trial=trial, row=one.row, worker=asker.worker, key=key, body=one.body
            )
        )
    return asker.call.sign(drafts)


def draft_new_fits(state: State, plan: AskPlan, asker: Asker) -> list[Draft]:
    """Return the events of the fits of a plan that nobody else has stored."""
    if not plan.fits:
        return []
    stored = {(event.body["results"], event.body["digest"]) for event in state.fits}
    return [
        replace(fit, key=f"{asker.key}/fitted/{number}")
        for number, fit in enumerate(plan.fits, 1)
        if (fit.body["results"], fit.body["digest"]) not in stored
    ]


def revision_notice(event: Event) -> str:
    """Say what the settings event of a new revision means."""
    policy, now = (event.body["settings"][name] for name in ("policy", "revision"))
    return (
        f"this release has revision {now} of {policy}, and the rows so far were chosen by revision "
        f"{event.body[REVISED]}; from now on revision {now} chooses, with the settings of this "
        f"study (event {event.seq})"
    )


def count_notices(rows: Sequence[int], place: Place) -> list[str]:
    """Say so if there were not enough different candidates for all rows asked for."""
    different = len({int(place.first_rows[row]) for row in rows})
    if different == len(rows):
        return []
    available = f"only {format_count(different, 'different candidate')} could be suggested"
    return [f"{len(rows)} {place.noun}s were asked for, but {available}; some come more than once"]


def exhaustion_notices(state: State, place: Place) -> list[str]:
    """Say so if every point of a finite space has a result, and points are repeated."""
    return place.describe_exhaustion(len(state.counts))


def make_suggestion(
    event: Event,
    candidates: Place,
    sign: float,
    notices: tuple[str, ...],
    find_caution: Callable[[int], str],
) -> Suggestion:
    """Return an ask as a suggestion, with the units of that time.

    `find_caution` says what makes the estimates of a trial doubtful; it is called if anybody reads
    the reason.
    """
    trial = Trial(event.trial or 0, event.row or 0, "pending", asked=event)
    x, body, scale = candidates.x(trial.row), event.body, trial.scale(sign)
    told = {name: convert_note(name, value, scale) for name, value in trial.note.items()}
    return Suggestion(
        trial.number,
        candidates.number(trial.row),
        x,
        told,
        body["greedy"],
        trial.until,
        lambda: " ".join(filter(None, (body["why"], find_caution(trial.number)))),
        event.worker,
        trial.again,
        candidates.label(trial.row),
        trial.revision,
        notices,
    )


def convert_note(name: str, value: float, scale: Scale) -> float:
    if name in OWN_UNITS:
        return float(scale.outward(value))
    return float(scale.length(value)) if name in LENGTHS else value


# ---------------------------------------------------------------------- tell


@dataclass(frozen=True)
class Keyed:
    """A result with the key of the call that brings it."""

    result: Result
    key: str
    given: bool
    """Whether the key came with it; otherwise it only serves to find the event again."""
    table: str | None = None
    """The call, if it brings a table: a line that is already stored is skipped, not refused."""
    named: bool = False
    """Whether the user gave the key of this line, so that a new key is a new result."""
    call: str | None = None
    """The key that the user gave to the call: its lines are compared with those told under it."""
    remark: Mapping[str, Any] = field(default_factory=dict)
    """What else the event says, such as why a measurement failed."""

    @property
    def given_key(self) -> str | None:
        """The key as the user wrote it; None if it was made here."""
        return show_key(self.key) if self.given else None


def check_result(
    trial: Any, value: Any, row: Any, failed: Any, place: Place, x: Any = None
) -> Result:
    """Check and return one result: a trial, a row or a point, and a value or that it failed."""
    where = None if row is None else place.check_row(row, "tell")
    given = row if x is None else x
    checks.needs(
        (trial is None) != (given is None),
        "tell",
        f"a trial or {place.argument}=, one of them",
        (trial, given),
    )
    checks.needs(isinstance(failed, bool), "tell", "failed true or false", failed)
    if failed:
        checks.needs(value is None, "tell", "no value for a measurement that failed", value)
    else:
        checks.needs(value is not None, "tell", "a value, or failed=True", value)
    number = None if trial is None else checks.whole("tell", "trial", trial)
    needed = "one number as value; several are replicates of a new result"
    single = value is None or checks.is_number(value) or not isinstance(value, Sequence)
    checks.needs(single, "tell", needed, value)
    reward = None if failed else checks.reward(value) + 0.0
    if x is not None:
        where = place.check_point(x)
    return Result(trial=number, row=where, value=reward, failed=failed, key=None, line=0)


def check_details(sem: Any, note: Any, by: Any, values: int = 1) -> dict[str, Any]:
    """Check and return what else an event says of a result: its standard error, a note, by whom."""
    details: dict[str, Any] = {}
    if sem is not None:
        checks.needs(values == 1, "tell", "sem with one value, not with replicates", sem)
        details["sem"] = checks.positive("tell", "sem", sem)
        checks.needs(details["sem"] <= LARGEST_REWARD, "tell", "a smaller sem", sem)
    if note:
        right = isinstance(note, str) and len(note) <= LONGEST_NOTE and note.isprintable()
        checks.needs(right, "tell", f"a note of one line, at most {LONGEST_NOTE} letters", note)
        details["note"] = note
    name = check_name("name of who measured it", by)
    return details | ({} if name is None else {"by": name})


def find_pending_trial(state: State, samples: Indices, trial: int | None, row: int | None) -> Trial:
    """Return the pending trial that ends without a value: by its number, or the oldest of a row."""
    for one in state.pending.values():
        if one.number == trial or (row is not None and samples[one.row] == samples[row]):
            return one
    got = f"trial {trial}" if row is None else f"row {row}"
    raise StudyConflict(f"missing needs a trial that is pending, got {got}")


def with_key(result: Result, call: str | None, number: int, fresh: str) -> Keyed:
    """Give a line of a table its key: its own, behind that of the call if it has one, or a new one.

    The number of a line is no part of it. It changes when a gap before the line is filled in.
    """
    sem, note, by = (result.details.get(name) for name in DETAILS)
    # Values of several targets were checked when they were read.
    values = {name: part for name, part in result.details.items() if name not in DETAILS}
    details = check_details(sem, note, by) | values
    if result.key is not None:
        named = not result.key.startswith(MADE)
        own = escape_key(result.key) if named else result.key
        key = own if call is None else f"{call}/{own}"
        return Keyed(result, key, True, fresh, named=named, call=call, remark=details)
    return Keyed(result, f"{fresh}/{number}", False, fresh, remark=details)


def tell(
    state: State,
    place: Place,
    steps: Sequence[TellStep],
    worker: str | None,
    before: Sequence[Draft] = (),
) -> tuple[list[Draft], list[Told]]:
    """Turn all results into events, or raise an error for the first that cannot be stored.

    before: events that are written first, such as a point off the table.
    """
    teller = Teller(state, place, worker, before)
    told = [teller.take(step) for step in steps]
    return teller.drafts, told


class Teller:
    """Checks several results of one transaction; each one sees those before it."""

    def __init__(
        self, state: State, place: Place, worker: str | None, before: Sequence[Draft] = ()
    ) -> None:
        self.state, self.place, self.worker = state, place, worker
        self.first_rows, self.samples = place.first_rows, place.samples
        """Equal for rows of the same candidate, and for rows of the same sample of it."""
        self.drafts: list[Draft] = [*before]
        self.next = state.last_trial
        self.keys: dict[str, Event] = {}
        self.trials: dict[int, Event] = {}

    def take(self, step: TellStep) -> Told:
        """Tell a line, correct a stored result by it, or leave it out."""
        if step.stored is None:
            return self.tell(step.line)
        return (
            self._correct(step.line, step.stored) if step.corrects else repeat_stored(step.stored)
        )

    def _correct(self, line: Keyed, trial: Trial) -> Told:
        # The key of an earlier value of the same line is taken.
        key = line.key if line.key not in self.state.keys else f"{line.key}/{line.table}"
        reason, value = f"corrected in {line.result.place}", line.result.value
        body = {**line.remark, "was": trial.value, "reason": reason, "table": line.table}
        event = self._add(
            kind="corrected", trial=trial.number, row=trial.row, value=value, key=key, body=body
        )
        shown = show_key(key)
        return Told(
            trial.number, trial.row, value, True, shown, event.seq, corrected=True, was=trial.value
        )

    def _add(self, **fields: Any) -> Event:
        """Add an event; return it as it will be stored, without time and checksum."""
        self.drafts.append(Draft(**fields, worker=self.worker))
        seq = len(self.state.events) + len(self.drafts)
        return Event(**fields, worker=self.worker, seq=seq, at=0.0, check="")

    def tell(self, line: Keyed) -> Told:
        before = self.keys.get(line.key) or self.state.keys.get(line.key)
        if before is not None:
            return self._answer_repeated(before, line)
        trial, row = self._place(line.result)
        stored = self._stored_result(trial)
        if stored is not None:
            return self._repeat_or_refuse(line, stored)
        missing = bool(line.remark.get("missing"))
        kind = "missing" if missing else "failed" if line.result.failed else "told"
        value = line.result.value
        body = {**line.remark, **({"table": line.table} if line.table else {})}
        event = self._add(kind=kind, trial=trial, row=row, value=value, key=line.key, body=body)
        self.keys[line.key] = self.trials[trial] = event
        said = (trial, row, value, True, line.given_key, event.seq)
        concerned = self._pending_trials_of(line.result, trial)
        error = None if value is None else body.get("sem")
        return Told(*said, *concerned, sem=error, missing=missing)

    def _place(self, result: Result) -> tuple[int, int]:
        """Return trial and row of a result; an unasked row makes a trial of its own."""
        if result.trial is None:
            assert result.row is not None
            return self._find_open_trial(result) or self._new_trial(result.row)
        known = self.state.trials.get(result.trial)
        if known is None:
            raise StudyConflict(
                f"tell needs a trial that was asked for, got trial {result.trial}"
                f"{describe_source(result)}. To store a result of a {self.place.noun} that nobody "
                f"asked for, tell the {self.place.noun} instead of a trial."
            )
        check_candidate(result, known, self.place)
        if known.state == "withdrawn":
            raise StudyConflict(
                f"tell needs a trial that was not withdrawn, got trial {known.number}. "
                f"To store a new result of its {self.place.noun}, tell the {self.place.noun} "
                "instead of the trial."
            )
        return known.number, known.row

    def _may_mean(self, result: Result, row: int | None) -> bool:
        """Tell whether a result may belong to a row.

        The row must be of its sample or, if it names no sample, of its candidate.
        """
        alike = self.first_rows if result.any_sample else self.samples
        return bool(alike[result.row or 0] == alike[row or 0])

    def _find_open_trial(self, result: Result) -> tuple[int, int] | None:
        """Return the oldest pending trial without a worker to which the result of a row belongs.

        The result is taken as the result of that trial.
        """
        for trial in self.state.pending.values():
            free = trial.worker is None and trial.number not in self.trials
            if free and self._may_mean(result, trial.row):
                return trial.number, trial.row
        return None

    def _new_trial(self, row: int) -> tuple[int, int]:
        self.next += 1
        return self.next, row

    def _pending_trials_of(self, result: Result, trial: int) -> tuple[int | None, tuple[int, ...]]:
        """Return the pending trial that the result of a row settles, and those that stay pending.

        Of a result that names its trial there is nothing to say.
        """
        if result.row is None or result.trial is not None:
            return None, ()
        known = self.state.trials.get(trial)
        waiting = tuple(
            one.number
            for one in self.state.pending.values()
            if one.number not in self.trials
            and self.first_rows[one.row] == self.first_rows[result.row]
        )
        return (trial if known and known.asked else None), waiting

    def _stored_result(self, trial: int) -> Event | None:
        """Return the result that a trial has; None if it has none."""
        known = self.state.trials.get(trial)
        return self.trials.get(trial) or (
            known.told if known and known.state in ("told", "failed") else None
        )

    def _repeat_or_refuse(self, line: Keyed, stored: Event) -> Told:
        """Take a second result that is the same and came with a table as no news; refuse others."""
        trial = self.state.trials.get(stored.trial or 0)
        value = trial.value if trial and trial.told is stored else stored.value
        if line.table and value == line.result.value:
            return Told(stored.trial or 0, stored.row or 0, value, False, None, stored.seq)
        raise AlreadyTold(stored.trial or 0, value, describe_source(line.result))

    def _answer_repeated(self, event: Event, line: Keyed) -> Told:
        """Answer a repeated call, which counts once; refuse its key for something else."""
        result = line.result
        same = (
            event.kind in ("told", "failed", "corrected")
            and event.value == result.value
            and result.trial in (None, event.trial)
        )
        if not same or not (result.row is None or self._may_mean(result, event.row)):
            raise key_conflict("tell", line.given_key, event, describe_source(result))
        accepted = line.table is None or event.body.get("table") == line.table
        corrected = accepted and event.kind == "corrected"
        return Told(
            event.trial or 0,
            event.row or 0,
            event.value,
            accepted,
            line.given_key,
            event.seq,
            *self._pending_trials_of(result, event.trial or 0),
            corrected=corrected,
            was=event.body["was"] if corrected else None,
        )


def repeat_stored(trial: Trial) -> Told:
    """Return the stored result of a trial, which a line of a table says again."""
    seq = trial.told.seq if trial.told else 0
    return Told(trial.number, trial.row, trial.value, False, None, seq)


def describe_source(result: Result) -> str:
    return f" ({result.place})" if result.place else ""


def rescale(state: State, written: Sequence[Event]) -> list[Draft]:
    """Return the event of a new centre and spread, if events that were written change them.

    The first results and corrections of them do; later results do not, unless all before them
    were equal.
    """
    changing = [event for event in written if event.kind in CHANGING]
    later = all(one.kind in RESULTS and not state.precedes_first_values(one) for one in changing)
    if not changing or (state.scale_settled and later):
        return []
    after = State.of([*state.events, *written])
    if after.due_scale == after.scaled:
        return []
    centre, spread = after.due_scale
    return [Draft(kind="settings", body={"auto": True, "centre": centre, "spread": spread})]


CHANGING = (*RESULTS, "corrected", "withdrawn", "undone", "settings")
"""Events that may change centre and spread."""


# ---------------------------------------------------------------------- the table


def add_point(
    place: Candidates, x: Mapping[str, Any], key: str
) -> tuple[Candidates, int, list[Draft], list[str]]:
    """Return the table with a candidate, its row, the event of a point off the table, and notices.

    There is no event if a row of the table is this candidate.
    """
    row = place.find_row(x)
    if row is not None:
        return place, row, [], []
    point = draft_point(place, x)
    draft = Draft(kind="added", key=f"{key}/point", body=point.body)
    row = len(place)
    draft = replace(draft, body={**draft.body, "first": row})
    told = (
        f"no row of the table has {describe_point(place.parse_point(x))}: its result is "
        f"learnt as a point off the table (row {row}), which is never suggested"
    )
    return grow_candidates(place, point.body), row, [draft], [told, *point.notices]


def permit(place: Candidates, rows: Sequence[int], permitted: bool, reason: str, key: str) -> Draft:
    """Forbid rows, or allow them again."""
    check_permission(place, rows, permitted)
    body = {"rows": list(rows), "reason": reason}
    return Draft(kind="allowed" if permitted else "forbidden", key=key, body=body)


def check_unused(state: State, added: Event, undone: Collection[int]) -> None:
    """Refuse to undo an addition whose rows are used, or that is not the last one."""
    event = find_use(state, added, undone)
    if event is not None:
        raise StudyConflict(
            f"undo needs rows that nobody used since they were added, got event {added.seq} "
            f"(added), whose rows event {event.seq} ({event.kind}) needs. Nothing was undone; "
            "forbid the rows if they are not to be measured"
        )


def find_use(state: State, added: Event, undone: Collection[int]) -> Event | None:
    """Return the first event that needs the rows of an addition once some events are undone."""
    gone = {event.body["of"] for event in state.events if event.kind == "undone"} | {*undone}
    for event in state.events[added.seq :]:
        if event.seq in gone or event.kind in ("fitted", "settings", "undone"):
            continue
        used = event.row is not None and event.row >= added.body["first"]
        listed = any(row >= added.body["first"] for row in event.body.get("rows", ()))
        if used or listed or event.kind == "added":
            return event
    return None


def find_unused_points(state: State, undone: Collection[int]) -> list[Event]:
    """Return the points off the table that no result needs when some events are undone.

    The last one comes first. A point was added with its result, so it goes with the result. A point
    before rows that stay has to stay too, because it would change their numbers.
    """
    found: list[Event] = []
    for event in reversed([one for one in state.changes if one.kind == "added"]):
        if event.seq in undone:
            continue
        gone = {*undone, *(point.seq for point in found)}
        if not event.body.get("off_table") or find_use(state, event, gone) is not None:
            break
        found.append(event)
    return found


# ---------------------------------------------------------------------- correct, release, undo


def correct(
    state: State,
    trial: int,
    value: float | None,
    reason: str,
    key: str,
    details: Mapping[str, Any] | None = None,
) -> Draft:
    """Replace the result of a trial by another value, or by a failure (None)."""
    known = trial_with_result("correct", state, trial)
    body = {"was": known.value, "reason": reason, **(details or {})}
    return Draft(kind="corrected", trial=trial, row=known.row, value=value, key=key, body=body)


def withdraw(state: State, trial: int, reason: str, key: str) -> Draft:
    """Let the result of a trial no longer count."""
    known = trial_with_result("withdraw", state, trial)
    body = {"was": known.value, "reason": reason}
    return Draft(kind="withdrawn", trial=trial, row=known.row, key=key, body=body)


def trial_with_result(owner: str, state: State, trial: int) -> Trial:
    known = state.trials.get(trial)
    if known is None or known.state not in RESULTS:
        there = "which does not exist" if known is None else f"which is {known.state}"
        raise StudyConflict(f"{owner} needs a trial with a result, got trial {trial}, {there}")
    return known


def find_trial_of_row(owner: str, state: State, row: int, label: str) -> int:
    """Return the trial that is meant by the label of its row.

    It is the only one that was asked for, if it is to be explained, or the only one with a result.
    """
    asked, needed = owner == "explain", "a result"
    if asked:
        needed = "an ask"
    found = [
        trial.number
        for trial in state.trials.values()
        if trial.row == row and (trial.asked is not None if asked else trial.state in RESULTS)
    ]
    if len(found) != 1:
        there = "which has none" if not found else f"which has trials {', '.join(map(str, found))}"
        more = "" if not found else "; give the number of the trial"
        raise StudyConflict(
            f"{owner} needs the label of a row with {needed}, got {label!r} (row {row}), "
            f"{there}{more}"
        )
    return found[0]


def release(state: State, spans: Iterable[range], key: str) -> list[Draft]:
    """Give up the pending trials in some ranges of numbers, all of them or none.

    A range without any pending trial is refused.
    """
    trials: set[int] = set()
    for span in spans:
        found = [trial for trial in state.pending if trial in span]
        if not found:
            raise StudyConflict(
                f"release needs trials that are pending, got trial {span[0]}. Nothing was released"
            )
        trials.update(found)
    return [
        Draft(kind="released", trial=trial, row=state.pending[trial].row, key=f"{key}/{number}")
        for number, trial in enumerate(sorted(trials))
    ]


def choose_undone(state: State, n: int) -> list[Event]:
    """Return the events of the last n steps that can be undone, the last first.

    A step is what one command wrote: all rows of an ask, all lines of a file.
    """
    steps: list[list[Event]] = []
    last: str | None = None
    for event in state.undoable():
        command = command_of(event)
        if steps and command is not None and command == last:
            steps[-1].append(event)
        else:
            steps.append([event])
        last = command
        if len(steps) > n:
            break
    if not steps:
        raise StudyConflict(
            "undo needs an event that can be undone, got none: nothing is left to undo"
        )
    if len(steps) < n:
        raise StudyConflict(
            f"undo needs at most {format_count(len(steps), 'step')}, because no more can be "
            f"undone, got {n}"
        )
    return [event for step in steps[:n] for event in step]


def check_last_step(state: State, event: int) -> None:
    """Refuse to undo another step than the last one that somebody saw.

    It is named by one of its events, or by a later event of that moment, such as the number of the
    last event in `status`. If a step was undone since then, another one is the last now.
    """
    last = choose_undone(state, 1)
    step = [one.seq for one in last]
    unchanged = all(one.kind != "undone" for one in state.events[event:])
    seen = max(step) <= event <= len(state.events) and unchanged
    if event not in step and not seen:
        trial = "" if last[0].trial is None else f", trial {last[0].trial}"
        raise StudyConflict(
            f"undo needs the last step, got event {event}; the last step is now event "
            f"{last[0].seq} ({last[0].kind}{trial}). Nothing was undone"
        )


def command_of(event: Event) -> str | None:
    """Return what all events of one command, and no others, have in common; None if nothing."""
    if event.key is None or "table" in event.body:
        return event.body.get("table")
    return event.key.partition("/")[0]


def undo(state: State, chosen: Sequence[Event], key: str) -> list[Draft]:
    """Undo some events, all of them or none.

    They were chosen on an earlier state. Others may have written since, and their events stay: if
    one of them needs an event that is to be undone, nothing is. Points off the table that have no
    result then are undone too.
    """
    numbers = {event.seq for event in chosen}
    points = find_unused_points(state, numbers)
    gone = numbers | {point.seq for point in points}
    standing = {event.seq: event.trial for event in state.undoable()}
    latest: dict[int | None, int] = {}
    for seq, trial in standing.items():
        if trial is not None and seq not in numbers:
            latest[trial] = max(seq, latest.get(trial, 0))
    for event in chosen:
        if event.kind == "added":
            check_unused(state, event, gone)
        # A later event of the same trial that stays, such as a correction, needs the earlier ones.
        if event.seq not in standing or latest.get(event.trial, 0) > event.seq:
            raise StudyConflict(
                f"undo needs events that nobody changed meanwhile, got event {event.seq} "
                f"({event.kind}, trial {event.trial}). Nothing was undone"
            )
    return [
        Draft(
            kind="undone",
            trial=event.trial,
            row=event.row,
            key=f"{key}/{number}",
            body={"of": event.seq, "kind": event.kind, "value": event.value},
        )
        for number, event in enumerate([*chosen, *points])
    ]


def change(body: Mapping[str, Any], key: str) -> Draft:
    """Replace the settings."""
    return Draft(kind="settings", key=key, body={"settings": dict(body)})
