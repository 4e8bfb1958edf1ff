"""Each of several targets by itself: a model of its own, and the front of what was measured."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits.policies.hypervolume import find_front
from kernelbandits.study.answers import Answers, answers_of
from kernelbandits.study.driver import build_driver
from kernelbandits.study.events import Trial
from kernelbandits.study.settings import FRONT
from kernelbandits.study.target_states import state_of_target
from kernelbandits.study.targets import Range, Target
from kernelbandits.study.values import FrontPoint, TargetStatus


@dataclass(frozen=True)
class TargetModels:
    """The models of all targets of a study, fitted to the results of a state."""

    targets: tuple[Target, ...]
    answers: tuple[Answers, ...]
    """Answers about each target."""

    @classmethod
    def of(cls, answers: Answers) -> TargetModels:
        wanted = answers.state.settings.wanted
        return cls(wanted, tuple(answer_target(answers, one) for one in wanted))

    def __iter__(self) -> Iterator[tuple[Target, Answers]]:
        return iter(zip(self.targets, self.answers, strict=True))


def answer_target(answers: Answers, target: Target) -> Answers:
    """Return answers about one target, by a model of its own.

    A policy may have it: that of the study, if no other target has a direction, or that which
    learns the target alone.
    """
    state, parts = answers.state, answers.driver.parts
    if not state.settings.combined and not target.is_limit:
        return answers
    if target.name in parts:
        return answers_of(parts[target.name], answers.driver.part_states(state)[target.name])
    alone = state_of_target(state, target)
    driver = build_driver(answers.candidates, alone.settings)
    driver.follow(alone)
    return answers_of(driver, alone)


def describe_targets(answers: Answers) -> tuple[TargetStatus, ...]:
    """Describe each target: its results, its range, and its estimate at the row recommended."""
    state, best = answers.state, answers.recommended_arm
    found = []
    for target, own in TargetModels.of(answers):
        known = [trial for trial in state.trials.values() if target.name in trial.values]
        estimate: tuple[float | None, ...] = (None, None, None)
        chance = None
        if best is not None and known:
            arm = own.driver.arm(answers.row(best))
            estimate = (own.mean(arm), *own.interval(arm))
            if target.is_limit:
                chance = answers.feasibility_of(target.name, best)
        if target.is_limit:
            found.append(describe_limit(target, known, estimate, chance))
        else:
            span = state.ranges.get(target.name)
            found.append(describe_target(target, span, known, estimate))
    return tuple(found)


def describe_limit(
    target: Target, trials: list[Trial], estimate: tuple[Any, ...], chance: float | None
) -> TargetStatus:
    """Describe a target that only has limits; `chance` is that the likely best meets them."""
    values = [trial.values[target.name] for trial in trials]
    return TargetStatus(
        name=target.name,
        wanted=target.sentence,
        results=len(trials),
        low=target.low,
        high=target.high,
        range_given=True,
        best_trial=None,
        best_value=None,
        mean=estimate[0],
        mean_low=estimate[1],
        mean_high=estimate[2],
        within=sum(not target.breaks_limit(value) for value in values),
        feasibility=chance,
    )


def describe_target(
    target: Target, span: Range | None, trials: list[Trial], estimate: tuple[Any, ...]
) -> TargetStatus:
    """Describe a target with a direction; without a span it is no part of a desirability."""
    best = max(
        trials, key=lambda trial: float(target.quality(trial.values[target.name])), default=None
    )
    return TargetStatus(
        name=target.name,
        wanted=target.sentence,
        results=len(trials),
        low=None if span is None else span[0],
        high=None if span is None else span[1],
        range_given=target.range is not None,
        range_known=target.range is not None
        or len({trial.values[target.name] for trial in trials}) > (target.aim is None),
        best_trial=None if best is None else best.number,
        best_value=None if best is None else best.values[target.name],
        mean=estimate[0],
        mean_low=estimate[1],
        mean_high=estimate[2],
    )


def find_front_points(answers: Answers) -> tuple[FrontPoint, ...]:
    """Return the Pareto front of what was measured.

    These are the candidates that no other one exceeds in all targets with a direction, among those
    that meet the limits on outcomes. A candidate that was measured several times has the means of
    its values. The most desirable one comes first. With the goal front each has the 95 % intervals
    of its targets, by the models that choose.
    """
    state, place = answers.state, answers.candidates
    targets, first_rows = state.settings.objectives, place.first_rows
    groups: dict[int, list[Trial]] = {}
    for trial in state.results:
        if trial.value is not None:
            groups.setdefault(int(first_rows[trial.row]), []).append(trial)
    means = [
        {
            one.name: float(np.mean([trial.values[one.name] for trial in group]))
            for one in state.settings.wanted
        }
        for group in groups.values()
    ]
    feasible = [i for i, mean in enumerate(means) if state.settings.meets_limits(mean)]
    means, every = [means[i] for i in feasible], [*groups.values()]
    measured = [every[i] for i in feasible]
    rows = [group[0].row for group in measured]
    if not rows:
        return ()
    qualities = np.array([[one.quality(mean[one.name]) for one in targets] for mean in means])
    desirable = [float(np.mean([trial.value or 0.0 for trial in g])) for g in measured]
    front = sorted(find_front(qualities), key=lambda i: -desirable[i])
    models = TargetModels.of(answers) if state.settings.goal == FRONT else ()
    return tuple(
        FrontPoint(
            row=place.number(rows[i]),
            x=place.x(rows[i]),
            label=place.names(rows[i]),
            values=means[i],
            desirability=desirable[i],
            intervals={
                target.name: own.interval(own.driver.arm(rows[i])) for target, own in models
            },
        )
        for i in front
    )
