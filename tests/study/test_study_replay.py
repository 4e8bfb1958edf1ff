"""A study stopped anywhere and opened again asks what it would have asked: for every policy, results out of order."""

from __future__ import annotations

from collections import deque
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.catalogue import POLICIES, policy_entry, shared_settings
from kernelbandits.policies.linear import LinearRule

SHARED = {"noise_scale": 0.5, "norm_bound": 2.0, "horizon": 40}
NAMES = tuple(POLICIES)
FIRST_OF_FAMILY = {policy_entry(name).about.family: name for name in reversed(list(POLICIES))}
"""Family -> its first policy: one of each is played in `make test`, the others take long."""
EVERY_NAME = [
    name if name in FIRST_OF_FAMILY.values() else pytest.param(name, marks=pytest.mark.thorough)
    for name in NAMES
]


def chosen(name: str) -> dict[str, Any]:
    """Policy, kernel and settings by which a study plays it."""
    if name == "auto":
        return {"policy": name}
    entry = policy_entry(name)
    settings = shared_settings(entry, SHARED)
    if name == "generic-gp":
        settings["exploration"] = kb.Categorical((0.25, 0.25, 0.5), support=(-1.0, 0.5, 1.5))
    kernel = kb.Linear() if issubclass(entry.constructor, LinearRule) else kb.RBF(0.3)
    return {"policy": name, "kernel": kernel, "settings": settings}


def measured(row: int, trial: int) -> float:
    """A hill with noise, the same for all who measure."""
    return float(np.sin(row) + 0.3 * np.cos(17.0 * trial))


def played(where: Any, cloud: np.ndarray, name: str, reopen: bool) -> list[tuple[Any, ...]]:
    """Twelve steps: asks of one to three rows, results late and out of order, failures, a correction, an undo."""
    study = kb.Study.create(where, cloud, seed=5, **chosen(name))
    seen, open_trials = [], deque[tuple[int, int]]()
    for step in range(12):
        if reopen:
            study.close()
            study = kb.Study.open(where)
        for one in study.ask(1 + step % 3):
            seen.append((one.trial, one.row, dict(one.note), one.why))
            open_trials.append((one.trial, one.row))
        open_trials.rotate(step)
        for _ in range(1 + (step > 3)):
            trial, row = open_trials.pop()
            told = {"failed": True} if step == 6 else {"value": measured(row, trial)}
            study.tell(trial, **told)
        if reopen and step % 4 == 1:
            study = kb.Study.open(where)
        if step == 4:
            settled = study.tell(row=3, value=0.4).trial
            open_trials = deque(pair for pair in open_trials if pair[0] != settled)
        if step == 7:
            study.correct(told_trial(study), 0.2)
        if step == 9:
            study.undo()
    best = study.best()
    assert best is not None
    return [*seen, (best.row, best.mean, best.low, best.probability)]


def told_trial(study: kb.Study) -> int:
    frame = study.to_dataframe()
    return int(frame[frame.state == "told"].trial.iloc[1])


@pytest.fixture(scope="module", params=EVERY_NAME)
def uninterrupted(request, cloud, tmp_path_factory) -> tuple[str, Path, list[tuple[Any, ...]]]:
    """A policy, the file of a study that played it without a stop, and what was asked."""
    place = tmp_path_factory.mktemp("uninterrupted") / "a.db"
    return request.param, place, played(place, cloud, request.param, False)


def test_a_study_opened_again_before_every_step_asks_what_an_uninterrupted_one_asks(
    uninterrupted, cloud, tmp_path
):
    name, _, seen = uninterrupted
    assert played(tmp_path / "b.db", cloud, name, True) == seen


def test_every_past_suggestion_is_recomputed_as_it_was(uninterrupted):
    """Each third one, from another start for each policy: all of them over the catalogue."""
    name, place, seen = uninterrupted
    study = kb.Study.open(place, writable=False)
    for trial, row, *_ in seen[NAMES.index(name) % 3 : -1 : 3]:
        again = study.replay(trial)
        assert (again.recomputed, again.row, again.same) == (row, row, True), again.sentence
        assert 0 <= again.explained.chance <= 1


@pytest.mark.thorough
def test_the_same_steps_give_the_same_rows_on_either_back_end(where, cloud, tmp_path):
    assert played(where, cloud, "simple-bernoulli", True) == played(
        tmp_path / "a.db", cloud, "simple-bernoulli", False
    )


def test_another_seed_plays_otherwise(cloud, tmp_path):
    settings = chosen("simple-bernoulli")
    rows = []
    for seed in range(6):
        study = kb.Study.create(tmp_path / f"{seed}.db", cloud, seed=seed, **settings)
        rows.append([one.row for one in study.ask(8)])
    assert len({tuple(row) for row in rows}) > 1


@pytest.mark.thorough
def test_the_log_alone_decides_and_not_which_process_asks(where, cloud):
    first = kb.Study.create(where, cloud, seed=1)
    second = kb.Study.open(where)
    rows = []
    for step in range(8):
        study = (first, second)[step % 2]
        [one] = study.ask()
        rows.append(one.row)
        (second, first)[step % 2].tell(one.trial, measured(one.row, one.trial))
    alone = kb.Study.create(
        f"{where}-alone" if "://" not in str(where) else f"{where}_alone", cloud, seed=1
    )
    for row in rows:
        [one] = alone.ask()
        assert one.row == row
        alone.tell(one.trial, measured(one.row, one.trial))


@pytest.mark.parametrize("name", EVERY_NAME)
def test_a_study_in_the_policys_own_units_is_the_policy(name, cloud, tmp_path):
    """Notes included: what a choice noted comes back with its result."""
    given = chosen(name)
    study = kb.Study.create(
        tmp_path / "a.db", cloud, seed=7, centre=0.0, spread=1.0, repeats=True, **given
    )
    points = kb.Arms(study.candidates.points)
    if name == "auto":
        policy: Any = kb.Auto(points, goal="find")
    else:
        policy = kb.policy(name, points, given["kernel"], **given["settings"])
    for t in range(1, 17):
        choice = policy.ask(t, kb.Streams(7))
        [one] = study.ask()
        assert (one.row, one.note) == (choice.arm, choice.note)
        policy.tell(choice, measured(one.row, t))
        study.tell(one.trial, measured(one.row, t))


def test_asks_and_results_whose_acknowledgement_was_lost_count_once(where, cloud, monkeypatch):
    study = kb.Study.create(where, cloud)
    log = study._session.log
    turns = log.turns

    def twice() -> Any:
        yield from turns()
        yield from turns()

    monkeypatch.setattr(log, "turns", twice)
    asked = study.ask(3)
    assert [one.trial for one in asked] == [1, 2, 3]
    study.tell(2, 0.5)
    study.tell(row=4, value=0.25)
    told = study.tell_all([{"row": 5, "value": 0.1}, {"row": 5, "value": 0.1}])
    assert [one.accepted for one in told] == [True, True]
    mine = study.ask(1, worker="w")
    assert [one.trial for one in study.ask(3, worker="w")] == [
        mine[0].trial,
        mine[0].trial + 1,
        mine[0].trial + 2,
    ]
    frame = kb.Study.open(where).to_dataframe()
    assert frame.state.tolist().count("told") == 4
    assert len(frame) == 9
    study.correct(2, 0.6)
    study.withdraw(2)
    study.undo()
    study.release(mine[0].trial)
    study.change(tolerance=0.5)
    kinds = [event.kind for event in study.history()]
    assert [kinds.count(kind) for kind in ("corrected", "withdrawn", "undone", "released")] == [
        1,
        1,
        1,
        1,
    ]
    assert (
        sum(event.kind == "settings" and "auto" not in event.body for event in study.history()) == 1
    )
    assert len(study.history()) == len(kb.Study.open(where).history())
