"""The status of a study in words, and past choices recomputed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from kernelbandits.catalogue import policy_entry
from kernelbandits.checks import StudyConflict
from kernelbandits.formatting import format_count, format_names, join_reasons
from kernelbandits.study.answers import Answers
from kernelbandits.study.batches import Batch
from kernelbandits.study.driver import Driver, build_driver
from kernelbandits.study.earlier import list_sources
from kernelbandits.study.events import State, Trial, events_before
from kernelbandits.study.explaining import Reasons, reasons_of, stored_explanation
from kernelbandits.study.premises import broken_premises, broken_regret_premises
from kernelbandits.study.rules import revision_of
from kernelbandits.study.settings import AUTO, EARN, FRONT
from kernelbandits.study.stopping import stop
from kernelbandits.study.target_models import describe_targets, find_front_points
from kernelbandits.study.target_states import list_results, state_of_target
from kernelbandits.study.values import Explained, Replayed, RowComparison, Status, Waiting

if TYPE_CHECKING:
    from kernelbandits.study.place import Place
    from kernelbandits.study.places import PlaceHistory

STATES = ("told", "pending", "failed", "missing", "withdrawn")
"""States of trials that are counted."""
NEVER_LEARNT = ("asked", "released", "fitted")
"""Kinds of events that change nothing of what a policy has learnt."""
AUTO_CLAIMS = {"none": "No guarantee", "conditional": "Conditional guarantee"}


def status_of(answers: Answers, place: str, now: float, notices: tuple[str, ...]) -> Status:
    state, candidates = answers.state, answers.candidates
    states = [trial.state for trial in state.trials.values()]
    counts = {name: states.count(name) for name in STATES}
    first_rows = answers.driver.first_rows
    waiting = tuple(list_waiting(state, candidates, now))
    return Status(
        place=place,
        target=state.settings.target,
        direction=state.settings.direction,
        **counts,
        **candidates.count_candidates(),
        measured=len({first_rows[row] for row in state.counts}),
        best=answers.best(),
        stop=stop(answers),
        centre=answers.scale.centre,
        spread=answers.scale.spread,
        units=units_sentence(answers),
        policy=policy_sentence(answers),
        claim=claim_sentence(answers),
        waiting=waiting,
        notices=notices,
        events=len(state.events),
        repeats=candidates.describe_repeats(state.settings),
        goal=state.settings.goal,
        noise=state.settings.noise,
        rounds=state.settings.rounds,
        purpose=purpose_sentence(answers),
        log=candidates.log,
        scales=candidates.describe(),
        space=candidates.summarise().get("space"),
        targets=describe_targets(answers) if state.settings.shows_targets else (),
        front=find_front_points(answers) if state.settings.combined else (),
        regret=answers.describe_regret("so far"),
        regret_certificate=answers.regret_certificate,
        limits=answers.limits,
        sources=list_sources(answers),
    )


def purpose_sentence(answers: Answers) -> str:
    """Say what auto plays for, and what is claimed of it; "" for a named policy."""
    settings = answers.state.settings
    if settings.goal is None:
        return ""
    noun = answers.candidates.noun
    purpose = f"find the best {noun}. Nothing is claimed about the results on the way."
    if settings.goal == FRONT:
        purpose = f"find the {noun}s that no other one exceeds in all targets."
    if settings.goal == EARN:
        purpose = f"earn good results while measuring. {claim_sentence(answers)}"
    if settings.rounds is None:
        return purpose
    told = sum(answers.state.counts.values())
    if told > settings.rounds:
        planned = "1 was" if settings.rounds == 1 else f"{settings.rounds} were"
        return f"{purpose} {format_count(told, 'result')} so far; {planned} planned."
    return f"{purpose} {told} of {settings.rounds} results so far."


def list_waiting(state: State, candidates: Place, now: float) -> list[Waiting]:
    """Return all pending trials as the status has them, at a time of the database."""
    return [waiting_of(trial, candidates, now) for trial in state.pending.values()]


def waiting_of(trial: Trial, candidates: Place, now: float) -> Waiting:
    """Return a pending trial as the status has it."""
    since = max(0.0, now - trial.asked.at) if trial.asked else 0.0
    row, x = candidates.number(trial.row), candidates.x(trial.row)
    late, values = trial.is_overdue(now), dict(trial.values)
    drawn = "drawn" in trial.note
    return Waiting(trial.number, row, x, trial.worker, since, late, values, drawn)


def units_sentence(answers: Answers) -> str:
    """Say how results are scaled before the policy gets them."""
    scale, settings = answers.scale, answers.state.settings
    sign = "-" if scale.sign < 0 else ""
    scaled = f"{sign}({settings.target} - {scale.centre:.6g}) / {scale.spread:.6g}"
    formula = f"the policy works with {scaled}"
    if settings.centre is not None:
        return f"{formula}; both numbers were given"
    known = len(answers.state.first_values)
    if not known:
        return f"{formula} until there are results"
    return f"{formula}: mean and sd of the first {format_count(known, 'result')}"


def policy_sentence(answers: Answers) -> str:
    settings, policy = answers.state.settings, answers.driver.policy
    if settings.policy == AUTO:
        if settings.goal == FRONT:
            names = format_names(one.name for one in settings.objectives)
            calibrations = (
                f"{name}: {part.policy.settings['calibration']}"
                for name, part in answers.driver.parts.items()
            )
            rule = f"growth of the hypervolume of {names}, averaged over fits"
            return f"auto ({rule}); {'; '.join(calibrations)}"
        rule = policy.settings["width" if settings.goal == EARN else "exploration"]
        return f"auto ({rule}); {policy.settings['calibration']}"
    return f"{settings.policy}: {policy_entry(settings.policy).title}"


def claim_sentence(answers: Answers) -> str:
    """Say what theory guarantees for this study, and under which conditions."""
    settings = answers.state.settings
    if settings.policy == AUTO:
        kind, _, reason = str(answers.driver.policy.settings["claim"]).partition(": ")
        return f"{AUTO_CLAIMS[kind]}: {reason}."
    entry = policy_entry(settings.policy)
    reasons = [*broken_premises(answers), *broken_regret_premises(answers)]
    if not reasons:
        return entry.guarantee
    return (
        f"No guarantee for this study, because {join_reasons(reasons)}. "
        f"Without that: {entry.guarantee}"
    )


def explain_trial(state: State, places: PlaceHistory, number: int, driver: Driver) -> Explained:
    """Explain a choice by the events before it, with the table of that time.

    A driver that has learnt all results of the state explains the last choice too, if no result
    came since. Any other choice needs a policy that learns the results of its time again.
    """
    trial = find_asked_trial(state, number, "explain")
    assert trial.asked is not None
    before = State.of(events_before(state.events, trial.asked))
    candidates = places.at(before.changes)
    if trial.revision != revision_of(before.settings.policy):
        return stored_replay(trial, before, candidates).explained
    if not driver.has_learnt(state) or policy_inputs(before) != policy_inputs(state):
        driver = build_driver(candidates, before.settings)
        driver.follow(before)
    explained = Reasons(driver, before).explain(trial, len(before.pending))
    return with_restrictions(explained, trial.asked.body)


def compare_row(answers: Answers, row: int) -> RowComparison:
    """Compare a row with the likely best, and say why it is not suggested now."""
    place, best = answers.candidates, answers.best()
    arm = answers.driver.arm(row)
    answers.view.include(arm)
    low, high = answers.interval(arm)
    allowed = bool(place.allowed_rows[row])
    return RowComparison(
        row=row,
        x=place.x(row),
        mean=answers.mean(arm),
        low=low,
        high=high,
        # A row that is not allowed is no candidate, whatever its estimate.
        probability=answers.chances(arm, arm)[0] if allowed else None,
        results=answers.count_results(arm),
        label=place.names(row),
        best=best,
        reason=find_hindrance(answers, row),
        caution=answers.caution,
        limits=answers.limits,
        feasibility=answers.feasibility(arm),
    )


def find_hindrance(answers: Answers, row: int) -> str:
    """Say why a row cannot be suggested now; "" if it can."""
    place, state = answers.candidates.table, answers.state
    if row in place.off_table:
        return "it is a point off the table, which is never suggested"
    if not place.allowed_rows[row]:
        changes = (one for one in reversed(state.changes) if one.kind == "forbidden")
        last = next((one for one in changes if row in one.body["rows"]), None)
        why = last.body["reason"] if last and row in place.overrides else ""
        return f"it is forbidden ({why})" if why else "it is forbidden"
    first = place.first_rows
    for trial in state.pending.values():
        if first[trial.row] == first[row]:
            return f"it is pending as trial {trial.number}"
    measured = answers.measured_rows[row] and state.settings.repeats is False
    return "it was measured, and rows are not measured again" if measured else ""


def find_caution(state: State, places: PlaceHistory, number: int, driver: Driver) -> str:
    """Say what makes the estimates of a choice doubtful, by the events before it.

    Whoever sends an ask again with its key gets the same words, whatever has come since.
    """
    since = state.events[state.trials[number].decision_event :]
    if driver.has_learnt(state) and all(event.kind in NEVER_LEARNT for event in since):
        return reasons_of(driver, state).answers.caution
    return explain_trial(state, places, number, driver).caution


def with_restrictions(explained: Explained, body: Mapping[str, Any]) -> Explained:
    """Return the explanation with what restricted the choice: its batch."""
    batch = Batch.of(body)
    return (
        replace(explained, sentence=f"{explained.sentence} {batch.sentence}")
        if batch
        else explained
    )


def policy_inputs(state: State) -> tuple[Any, ...]:
    """Return all that the policy of a study depends on."""
    results = [(trial.number, trial.row, trial.value, trial.sem) for trial in state.results]
    apart = [list_results(state_of_target(state, one)) for one in state.settings.learnt_alone]
    return state.settings, state.scale, state.table, results, apart


def replay_trial(state: State, places: PlaceHistory, number: int) -> Replayed:
    """Choose again from the events before the ask, and compare.

    A choice of another revision of the policy is shown as stored.
    """
    trial = find_asked_trial(state, number, "replay")
    assert trial.asked is not None
    before = State.of(events_before(state.events, trial.asked))
    candidates = places.at(before.changes)
    if trial.revision != revision_of(before.settings.policy):
        return stored_replay(trial, before, candidates)
    driver = build_driver(candidates, before.settings)
    driver.follow(before)
    waiting = list(before.pending.values())
    body, row = trial.asked.body, trial.row
    if trial.again is None:
        row = driver.choose(body["round"], waiting, before, Batch.of(body))[0]
    explained = with_restrictions(Reasons(driver, before).explain(trial, len(waiting)), body)
    same = (
        f"the same {candidates.noun}"
        if row == trial.row
        else f"{candidates.name(row)} (another release or machine may round differently)"
    )
    text = (
        f"Trial {number} was {candidates.name(trial.row)}. Recomputed from the "
        f"{format_count(trial.decision_event, 'event')} known then: {same}."
    )
    return Replayed(
        trial=number,
        row=candidates.number(trial.row),
        recomputed=candidates.reference(row),
        same=row == trial.row,
        explained=explained,
        sentence=text,
        revision=trial.revision,
        x=candidates.point(trial.row),
    )


def stored_replay(trial: Trial, before: State, candidates: Place) -> Replayed:
    """Return a choice of a revision that this release does not have, as it was stored."""
    policy = before.settings.policy
    why = (
        f"Revision {trial.revision} of {policy} chose this {candidates.noun}; this release has "
        f"revision {revision_of(policy)}, so the choice is shown as it was stored and not "
        "recomputed."
    )
    return Replayed(
        trial=trial.number,
        row=candidates.number(trial.row),
        recomputed=None,
        same=None,
        explained=stored_explanation(trial, before, candidates, why),
        sentence=f"Trial {trial.number} was {candidates.name(trial.row)}. {why}",
        revision=trial.revision,
        x=candidates.point(trial.row),
    )


def find_asked_trial(state: State, number: int, owner: str) -> Trial:
    """Return the trial as it was asked for, even if the ask was undone later."""
    for event in state.events:
        if event.kind == "asked" and event.trial == number:
            return Trial(number, event.row or 0, "pending", asked=event)
    there = "which nobody asked for" if number in state.trials else "which does not exist"
    raise StudyConflict(f"{owner} needs a trial that was asked for, got trial {number}, {there}")
