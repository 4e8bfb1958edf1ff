"""Play studies of real tables, and compare what they state with what is true.

A study is created with nothing given but the table, and stored in a temporary file. It is asked
for rows and told their results. All statements come from the code that answers a user:
`Answers.best`, `stop`, the estimates and the functions drawn from the posterior.
"""

from __future__ import annotations

import copy
import math
import sys
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.special import ndtri

import kernelbandits as kb
from benchmarks import machine
from benchmarks.calibration.rows import (
    RANDOM,
    RULE,
    TOLERANCES,
    IntervalQuality,
    JudgedStudy,
    Look,
    Statements,
    append,
    read,
)
from benchmarks.opponents import OURS, version_of
from benchmarks.pools import PoolInstance
from benchmarks.search.contestants import CONTESTANTS
from benchmarks.search.play import play_games, said_unavailable
from benchmarks.search.tables import Array
from benchmarks.search.tasks import Task
from kernelbandits.checks import Indices
from kernelbandits.formatting import HALF_INTERVAL
from kernelbandits.study.answers import Answers
from kernelbandits.study.cautions import NO_BETTER
from kernelbandits.study.dataframes import row_estimates
from kernelbandits.study.driver import Driver
from kernelbandits.study.events import State
from kernelbandits.study.stopping import stop

SEEDS = range(3)
ROWS = Path(__file__).parents[1] / "results" / "calibration.jsonl"
MARKS = (20, 40)
"""The numbers of results after which all statements are judged."""
LOOKS = range(8, MARKS[-1] + 1, 2)
"""The numbers of results after which the user asks how good the recommended row is, and whether to
stop."""
TOP = 10
"""Unmeasured rows of the highest estimate that are judged apart."""
HALF_QUARTILES = float(ndtri(0.75))
"""Half of the 50 % interval of a normal law, in standard deviations."""
EQUAL = 1e-9
"""A row that is worse than the best by no more than rounding is a best row too."""


@dataclass(frozen=True)
class StudyGame:
    """One study to play and judge."""

    task: Task
    design: str
    version: str
    seed: int

    @property
    def key(self) -> tuple[Any, ...]:
        return self.task.name, self.task.noise, self.design, self.version, self.seed


def play_study(game: StudyGame) -> JudgedStudy:
    """Measure rows of a table until the last mark, and judge what the study states on the way."""
    with machine.threads.threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        instance = game.task.instance(game.seed)
        statements, looks = judge_study(instance, game.design)
    task = game.task
    return JudgedStudy(
        task.name, task.noise, game.design, game.version, game.seed, statements, looks
    )


def judge_study(
    instance: PoolInstance, design: str = RULE
) -> tuple[tuple[Statements, ...], tuple[Look, ...]]:
    """Return the statements at the marks, and the answers of the stop rule at each look.

    At least ten rows stay unmeasured.
    """
    assert instance.table is not None
    frame, values = instance.table.frame, instance.table.values
    budget = min(MARKS[-1], len(values) - TOP)
    at_random = instance.different_arms(budget) if design == RANDOM else None
    statements, looks = [], []
    with TemporaryDirectory() as folder:
        place = Path(folder) / "study.db"
        columns = list(frame.columns)
        with kb.Study.create(place, frame, columns=columns, seed=instance.seed) as study:
            for t in range(1, budget + 1):
                if at_random is None:
                    [asked] = study.ask()
                    study.tell(asked.trial, instance.reward(asked.row, t))
                else:
                    row = at_random[t - 1]
                    study.tell(row=row, value=instance.reward(row, t))
                if t in LOOKS:
                    looks.append(judge_look(study._session.answers(), values))
                if t in MARKS:
                    statements.append(judge_answers(read_answers(study), values))
    return tuple(statements), tuple(looks)


def read_answers(study: kb.Study) -> Answers:
    """Return what all answers of a study are made from, rebuilt from its events."""
    state = State.of(study.history())
    driver = Driver(study.candidates, state.settings)
    driver.follow(state)
    return Answers(driver, state)


def judge_look(answers: Answers, values: Array) -> Look:
    """Ask a study whether to stop, as users of each tolerance would, and compare with the truth."""
    # The study itself stays without a tolerance: a copy of its state has one after the other.
    state = copy.copy(answers.state)
    asked = Answers(answers.driver, state, answers.view)
    arm, found = asked.recommended_arm, []
    assert arm is not None
    for tolerance in TOLERANCES:
        state.settings = replace(state.settings, tolerance=tolerance)
        found.append(stop(asked))
    best = asked.best()
    assert best is not None
    return Look(
        results=sum(state.counts.values()),
        stated=found[0].left,
        loss=float(values.max() - values[answers.row(arm)]),
        best=best.probability,
        within=tuple(asked.probability_within(arm, tolerance) for tolerance in TOLERANCES),
        yes=tuple(bool(one.may_stop) for one in found),
        is_luck=answers.may_be_luck(arm),
    )


def judge_answers(answers: Answers, values: Array) -> Statements:
    """Compare what a study states now with the true values of all rows of its table."""
    best, may_stop, arm = answers.best(), stop(answers), answers.recommended_arm
    assert best is not None
    assert arm is not None
    mean, sd, low, high = row_estimates(answers)

    def judge_rows(rows: Indices) -> IntervalQuality:
        return compare_intervals(mean[rows], sd[rows], values[rows], (low[rows], high[rows]))

    unmeasured = np.flatnonzero(~answers.measured_rows)
    top = unmeasured[np.argsort(-mean[unmeasured], kind="stable")[:TOP]]
    results = np.array([trial.value for trial in answers.state.results])
    errors = values[unmeasured] - mean[unmeasured]
    away = values[unmeasured] - results.mean()
    left_out = kb.insight.leave_one_out(answers.driver.policy)
    known = left_out is not None and not math.isnan(left_out.skill)
    model = kb.insight.fitted_model(answers.driver.policy)
    return Statements(
        results=len(results),
        unmeasured=judge_rows(unmeasured),
        top=judge_rows(top),
        reference_density=mean_log_density(
            np.full(len(unmeasured), results.mean()),
            np.full(len(unmeasured), results.std(ddof=1)),
            values[unmeasured],
        ),
        skill=1 - float(errors @ errors) / max(float(away @ away), 1e-300),
        left_out_skill=float(left_out.skill) if left_out is not None and known else None,
        left_out_coverage=None if left_out is None else left_out.coverage,
        cautions=(best.caution != "", NO_BETTER in may_stop.sentence),
        stated_loss=may_stop.left,
        loss=float(values.max() - values[best.row]),
        recommended_covered=bool(best.low <= values[best.row] <= best.high),
        untested=judge_untested(answers, arm, values),
        noise=float(answers.scale.length(model.noise_scale)) if model else math.nan,
    )


def judge_untested(answers: Answers, arm: int, values: Array) -> tuple[float, bool, bool] | None:
    """Judge the functions that the study draws at the unmeasured row of the highest estimate.

    Return the share in which it is better than an arm, with the truth (`Statements.untested`).
    """
    found = answers.find_untested()
    if found is None:
        return None
    kept, draws = answers.draw_functions_near(arm)
    better = draws[:, column_of(kept, answers.greedy)] > draws[:, column_of(kept, arm)]
    is_better = bool(values[found.row] > values[answers.row(arm)])
    covered = bool(found.low <= values[found.row] <= found.high)
    return float(better.mean()), is_better, covered


def column_of(kept: Indices, arm: int) -> int:
    return int(np.flatnonzero(kept == arm)[0])


def compare_intervals(
    mean: Array, sd: Array, values: Array, ends: tuple[Array, Array] | None = None
) -> IntervalQuality:
    """Say how well N(mean, sd^2) at each row agrees with the true values.

    `ends` are those of the 95 % intervals as stated; by default mean -+ 1.96 sd.

    Examples
    --------
    >>> import numpy as np
    >>> quality = compare_intervals(np.zeros(4), np.ones(4), np.array([0.1, -0.5, 1.0, 2.5]))
    >>> quality.coverage_95, quality.coverage_50, quality.above
    (0.75, 0.5, 0.25)
    """
    residuals = (values - mean) / sd
    low, high = (mean - HALF_INTERVAL * sd, mean + HALF_INTERVAL * sd) if ends is None else ends
    return IntervalQuality(
        rows=len(values),
        coverage_95=float(((low <= values) & (values <= high)).mean()),
        coverage_50=float((np.abs(residuals) <= HALF_QUARTILES).mean()),
        above=float((values > high).mean()),
        log_density=mean_log_density(mean, sd, values),
        error=float(np.sqrt((residuals**2).mean())),
    )


def mean_log_density(mean: Array, sd: Array, values: Array) -> float:
    """The mean of ln N(f; mean, sd^2)."""
    widths = np.maximum(sd, 1e-12)
    densities = -0.5 * ((values - mean) / widths) ** 2 - np.log(widths * math.sqrt(2 * math.pi))
    return float(densities.mean())


# The run


def schedule(
    seeds: Sequence[int], tasks: Sequence[Task], designs: Sequence[str], version: str
) -> Iterator[StudyGame]:
    """Seed by seed over all tables, so that what is finished is a fair part of the whole."""
    for seed in seeds:
        for design in designs:
            for task in tasks:
                yield StudyGame(task, design, version, seed)


def play(
    tasks: Sequence[Task],
    seeds: Sequence[int] = SEEDS,
    designs: Sequence[str] = (RULE,),
    minutes: float | None = None,
    path: Path = ROWS,
    workers: int = 1,
) -> None:
    """Play and judge what the file does not hold yet for this version of the source."""
    until = float("inf") if minutes is None else time.monotonic() + 60 * minutes
    absent = [name for name in dict.fromkeys(task.name for task in tasks) if said_unavailable(name)]
    there = [task for task in tasks if task.name not in absent]
    version = version_of(CONTESTANTS[OURS])
    done = {study.key for study in read(path)}
    games = [game for game in schedule(seeds, there, designs, version) if game.key not in done]
    print(f"{len(games)} studies to judge", file=sys.stderr, flush=True)
    for number, study in enumerate(play_games(games, until, workers, play_study), 1):
        append(path, study)
        tell_progress(study, number, len(games))


def tell_progress(study: JudgedStudy, number: int, games: int) -> None:
    place = f"noise {study.noise:<4g} {study.table:18} {study.design:6}"
    found = [
        f"{one.unmeasured.coverage_95:.2f} of intervals, loss {one.loss:.3f}"
        for one in study.statements
    ]
    print(f"{number}/{games} seed {study.seed} {place} {'; '.join(found)}", file=sys.stderr)
