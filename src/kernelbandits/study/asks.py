"""Asks: from the state of a study to the rows that are suggested next.

Rows are chosen here and written by the session; nothing is written here. A call that is repeated
because its connection was cut finds its events by their keys.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

from kernelbandits.checks import Indices, StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.storage import Draft, Event
from kernelbandits.study.batches import BATCH, Batch
from kernelbandits.study.calls import Call
from kernelbandits.study.events import OFFERS, REVISED, State, Trial
from kernelbandits.study.settings import Settings
from kernelbandits.study.units import Scale
from kernelbandits.study.values import Suggestion, plain

if TYPE_CHECKING:
    from kernelbandits.study.driver import Driver
    from kernelbandits.study.place import Place

ESTIMATES = ("mean", "sample")
LENGTHS = ("sd", "noise_scale")
GAINS = ("improvement", "gain")
"""Numbers of a note that are values, and differences, in the units of the target."""


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

    def has_fitted(self, state: State) -> bool:
        """Tell whether this call has fitted the scales anew.

        What a fit says of the settings is said with the ask that made it, not with all.
        """
        return any((event.key or "").startswith(f"{self.key}/fitted/") for event in state.fits)

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
    note = {name: float(value) for name, value in choice.note.items()}
    reasons, shared = reasons_of(driver, state), batch.sentence if batch else ""
    return row, {
        "note": {name: plain(value) for name, value in note.items()},
        "why": " ".join(filter(None, (reasons.sentence(row, note), shared))),
        "greedy": reasons.greedy,
        "scale": [state.scale.centre, state.scale.spread],
        "revision": driver.policy.revision,
        "round": number,
        **({BATCH: batch.body} if batch else {}),
    }


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
    rows = [trial.row for number, trial in state.pending.items() if number not in gone]
    once = state.settings.repeats is False or state.settings.repeats_last
    pending = set(first_rows[rows].tolist())
    measured = set(first_rows[[*state.counts]].tolist()) if once else set[int]()
    kept: list[PlannedAsk] = []
    for one in plan.asks:
        kind, again = int(first_rows[one.row]), one.body.get("again")
        lost = again is not None and again not in state.abandoned and again not in gone
        if lost or (one.free and kind in pending) or (one.fresh and kind in measured):
            break
        kept.append(one)
    return replace(plan, asks=kept)


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
    known = [*state.fits, *chain.from_iterable(state.target_fits.values())]
    stored = {name_fit(event.body) for event in known}
    return [
        replace(fit, key=f"{asker.key}/fitted/{number}")
        for number, fit in enumerate(plan.fits, 1)
        if name_fit(fit.body) not in stored
    ]


def name_fit(body: Mapping[str, Any]) -> tuple[Any, ...]:
    """Return what a fit is known by: its target, if it has one, its results and their digest."""
    return body.get("target"), body["results"], body["digest"]


def remark_asks(
    state: State, asker: Asker, events: Sequence[Event], place: Place, cautions: Sequence[str]
) -> list[str]:
    """Return what is to be said with the asks of a call; `cautions` are those of a new fit."""
    revised = state.keys.get(asker.settings_key)
    return [
        *([] if revised is None else [revision_notice(revised)]),
        *cautions,
        *count_notices([event.row or 0 for event in events], place),
        *place.describe_exhaustion(state.counts),
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


def make_suggestion(
    event: Event,
    candidates: Place,
    settings: Settings,
    notices: tuple[str, ...],
    find_caution: Callable[[int], str],
) -> Suggestion:
    """Return an ask as a suggestion, with the units of that time.

    `find_caution` says what makes the estimates of a trial doubtful; it is called if anybody reads
    the reason.
    """
    trial = Trial(event.trial or 0, event.row or 0, "pending", asked=event)
    x, body, scale = candidates.x(trial.row), event.body, trial.scale(settings)
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
        candidates.names(trial.row),
        trial.revision,
        notices,
    )


def convert_note(name: str, value: float, scale: Scale) -> float:
    if name == "index":
        return float(scale.outward(value))
    if name in ESTIMATES:
        return float(scale.estimate(value))
    if name in GAINS:
        return float(scale.gain(value))
    return float(scale.length(value)) if name in LENGTHS else value
