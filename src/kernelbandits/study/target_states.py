"""What is known of one target by itself, as a study of nothing else would have it."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from kernelbandits.study.events import State, Trial, add_count
from kernelbandits.study.limits import write_range
from kernelbandits.study.rules import revision_of
from kernelbandits.study.settings import AUTO, FIND, FRONT, Settings
from kernelbandits.study.targets import MINIMIZE, Target
from kernelbandits.study.units import fit_scale


def settings_of_target(settings: Settings, target: Target) -> Settings:
    """Return the settings of a study of one target alone, by the policy auto."""
    limits = settings.ranges.get(target.name)
    # An aim or limits are no direction: the model learns the values as they are.
    direction = {"direction": MINIMIZE} if target.direction == MINIMIZE else {}
    return replace(
        settings,
        targets=({"name": target.name, **direction},),
        centre=None,
        spread=None,
        policy=AUTO,
        kernel=None,
        settings={},
        goal=FIND,
        noise=None,
        rounds=None,
        tolerance=None,
        # Earlier studies predict what the policy maximises, and no other target.
        learn_from=None,
        limits=None if limits is None else write_range(limits),
        revision=revision_of(AUTO),
    )


def state_of_target(state: State, target: Target, before: State | None = None) -> State:
    """Return the results of one target, as a study of this target alone would have them.

    Every trial with a value of the target counts, whether or not the others are there: first those
    with a result, in the order of the results, then the others by their numbers. A failure counts
    where the target is searched for; of a limit it says nothing. `before` is what a
    policy has learnt of it already. The version stays if there are only new results since.
    """
    name = target.name
    made = State(
        events=state.events,
        changes=state.changes,
        settings=settings_of_target(state.settings, target),
        fits=state.target_fits.get(name, []),
    )
    searched = state.settings.goal == FRONT and not target.is_limit
    settled = {trial.number for trial in state.results}
    failed = {trial.number for trial in state.results if trial.state == "failed"}
    rest = (trial for trial in state.trials.values() if trial.number not in settled)
    for trial in chain(state.results, sorted(rest, key=lambda one: one.number)):
        if name in trial.values:
            value, sem = trial.values[name], trial.sems.get(name)
            own = Trial(trial.number, trial.row, "told", trial.asked, trial.told, value, sem)
            made.results.append(own)
            add_count(made.counts, own.row, 1)
        elif searched and trial.number in failed:
            made.results.append(Trial(trial.number, trial.row, "failed", trial.asked, trial.told))
            add_count(made.failures, trial.row, 1)
    made.trials = {trial.number: trial for trial in made.results}
    made.scaled = fit_scale(made.first_values)
    if before is not None:
        made.version = before.version + (not continues(before, made))
    return made


def continues(before: State, after: State) -> bool:
    """Tell whether a state has the results of an earlier one, in their order, and perhaps more."""
    known, now = list_results(before), list_results(after)
    same = (before.settings, before.scaled, before.table) == (
        after.settings,
        after.scaled,
        after.table,
    )
    return same and now[: len(known)] == known


def list_results(state: State) -> list[tuple[object, ...]]:
    """List all of the results that a policy learns."""
    return [(one.number, one.row, one.value, one.sem) for one in state.results]
