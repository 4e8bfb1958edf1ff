"""Durable studies over spaces: points in place of rows, with the promises of studies of tables."""

from __future__ import annotations

import json
import math
import sqlite3
import time
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from conftest import run_command
from kernelbandits import storage
from kernelbandits.domains.space_files import space_from_file
from kernelbandits.domains.steps import with_steps
from kernelbandits.study.driver import build_driver
from kernelbandits.study.points import Points, find_space
from kernelbandits.study.words import describe_event

BREW = kb.MixedBox(
    {
        "heat": kb.Real(20, 90),
        "rate": kb.Real(1e-5, 0.1, log=True),
        "cups": kb.Integer(1, 8),
        "acid": kb.Category(("citric", None, "acetic")),
    }
)
SMALL = kb.MixedBox({"cups": kb.Integer(1, 3), "acid": kb.Category(("a", "b"))})
MIXTURE = kb.MixedBox({name: kb.Real(0, 1) for name in "ABC"}, constraints=["A + B + C == 1"])


def brew(x: Any) -> float:
    sour = {"citric": 0.3, None: 0.0, "acetic": -0.2}[x["acid"]]
    return float(
        sour - ((x["heat"] - 60) / 30) ** 2 - (math.log10(x["rate"]) + 3) ** 2 / 4 - x["cups"] / 40
    )


def play(study: kb.Study, rounds: int) -> list[dict[str, Any]]:
    """Ask and tell, and return the points."""
    points = []
    for _ in range(rounds):
        [one] = study.ask()
        study.tell(one.trial, brew(one.x))
        points.append(dict(one.x))
    return points


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kb.Study]:
    """A study with all that can happen to it; to be read only."""
    place = tmp_path_factory.mktemp("spaces") / "brew.db"
    study = kb.Study.create(place, BREW, target="yield", seed=3)
    play(study, 4)
    outside = {"heat": 50, "rate": 0.001, "cups": 3.0, "acid": None}
    study.tell(x=outside, value=brew(outside))
    first, second, third = study.ask(3, worker="a")
    study.tell(second.trial, brew(second.x))
    study.tell(third.trial, failed=True)
    play(study, 2)
    study.correct(2, -1.5)
    study.tell(first.trial, brew(first.x))
    study.tell(x=outside, value=brew(outside) + 0.01)
    play(study, 3)
    study.withdraw(3)
    play(study, 1)
    study.ask(2)
    yield study
    study.close()


# ---------------------------------------------------------------------- creating


def test_a_space_is_given_in_many_ways(tmp_path):
    toml = tmp_path / "space.toml"
    toml.write_text('constraints = ["a + b <= 1"]\n[variables]\na = "real 0:1"\nb = "real 0:1"\n')
    described = tmp_path / "space.json"
    described.write_text(json.dumps(BREW.to_dict()))
    assert find_space({"a": (0.0, 1.0), "b": ["x", "y"]}).variables == (
        kb.Real(0, 1),
        kb.Category(("x", "y")),
    )
    assert find_space([(0, 1), (2, 3)]) == kb.MixedBox({"x1": kb.Real(0, 1), "x2": kb.Real(2, 3)})
    assert find_space(kb.Box((0.0,), (2.0,))) == kb.MixedBox({"x1": kb.Real(0, 2)})
    assert find_space([kb.Integer(1, 3)]).names == ("x1",)
    assert [str(one) for one in find_space(toml).constraints] == ["a + b <= 1"]
    assert find_space(toml).variables == (kb.Real(0, 1, step=0.01),) * 2
    with pytest.warns(kb.DataNotice, match="without a step: heat, taken in steps of 0.5;"):
        stepped = find_space(str(described))
    assert stepped == with_steps(BREW, ["heat", "rate"]) != BREW
    assert stepped.variables[:2] == (
        kb.Real(20, 90, step=0.5),
        kb.Real(1e-5, 0.1, log=True, digits=2),
    )
    for table in ([[0.0, 1.0], [0.5, 1.0]], np.eye(3), "films.csv", [(1.0, 0.0), (0.0, 1.0)]):
        assert find_space(table) is None


def steps_of(variables, constraints=()):
    """Return what a study makes of written ranges: the step or the digits of each."""
    described = {"variables": variables, "constraints": list(constraints)}
    space = space_from_file(described, steps=True)
    return [one.step or one.digits for one in space.variables]


@pytest.mark.filterwarnings("ignore:written without a step")
def test_written_ranges_get_steps_that_a_hand_can_weigh():
    assert steps_of({"heat": "real 20:90", "mass": {"low": 0.0, "high": 0.3}}) == [0.5, 0.002]
    # A finer step, if the nearest one does not reach the end; not an endless one.
    assert steps_of({"a": "real 0:0.333", "b": "real 0:0.3333333333"}) == [0.001, 0.005]
    assert steps_of({"a": "real 1e-5:0.1 log", "b": "real 1.25:40 log"}) == [2, 3]
    assert steps_of({"a": "real 20:90 step 0.1", "b": "real 1:50 log digits 3"}) == [0.1, 3]
    assert steps_of(
        {"a": "real 20:90 step none", "b": {"low": 0.5, "high": 1, "step": "none"}}
    ) == [
        None,
        None,
    ]


@pytest.mark.filterwarnings("ignore:written without a step")
def test_the_parts_of_a_sum_get_one_step_that_meets_it():
    parts = {"A": "real 0.05:0.3", "B": "real 0:1", "C": "real 0:1"}
    assert steps_of(parts, ["A + B + C == 1"]) == [0.002] * 3
    assert steps_of({"A": "real 0:1 step 0.05", "B": "real 0:1"}, ["A + B == 1"]) == [0.05, 0.01]
    # A grid would miss these sums, or leave nothing between the bounds: any number is suggested.
    assert steps_of({"A": "real 0:1", "B": "real 0:1"}, ["A + 2.37*B == 1"]) == [None, None]
    narrow = steps_of({"A": "real 0:1", "B": "real 0:1"}, ["0.331 <= A + B", "A + B <= 0.334"])
    assert narrow == [None, None]
    assert steps_of({"a": "real 1:100 log", "b": "real 0:9"}, ["a + b <= 50"]) == [None, 0.1]


def test_optimize_plays_on_ranges_as_they_are_and_a_study_weighs_them(tmp_path):
    written = {"heat": "real 20:90"}
    found = kb.optimize(lambda x: -((x["heat"] - 36.37) ** 2), written, 4, study=tmp_path / "a.db")
    with kb.Study.open(tmp_path / "a.db") as study:
        assert study.space == kb.MixedBox(written) == kb.MixedBox({"heat": kb.Real(20, 90)})
    assert len(found.trials) == 4
    with (
        pytest.warns(kb.DataNotice, match="taken in steps of 0.5"),
        kb.Study.create(tmp_path / "b.db", written) as study,
    ):
        asked = [one.x["heat"] for one in study.ask(5)]
    assert all((heat - 20) % 0.5 == 0 for heat in asked)


@pytest.mark.filterwarnings("ignore:written without a step")
def test_a_result_between_the_steps_is_learnt_where_it_was_measured(tmp_path):
    place, mix = tmp_path / "a.db", {"A": "real 0:1", "B": "real 0:1", "C": "real 0:1"}
    space = space_from_file({"variables": mix, "constraints": ["A + B + C == 1"]}, steps=True)
    third = {"A": 0.333, "B": 0.333, "C": 0.334}
    with kb.Study.create(place, space) as study:
        assert study.tell(x=third, value=1.0).x == third
        for one in study.ask(2):
            study.tell(one.trial, 0.5)
        with pytest.raises(ValueError, match=r"needs a point with A \+ B \+ C == 1"):
            study.tell(x={**third, "C": 0.3}, value=1.0)
        with pytest.raises(ValueError, match=r"in \[0.0, 1.0\]"):
            study.tell(x={**third, "C": 1.3}, value=1.0)
        assert study.best().x == third
        assert study.estimates().loc[0, "A"] == 0.333
        whole = study.replay(2)
    with kb.Study.open(place) as study:
        assert study.best().x == third
        assert study.replay(2) == whole
        [again] = study.ask()
        assert again.x in space


def test_points_between_the_steps_do_not_exhaust_a_space(tmp_path):
    space = kb.MixedBox({"heat": kb.Real(20, 40, step=10)})
    with kb.Study.create(tmp_path / "a.db", space, repeats=False) as study:
        study.tell(x={"heat": 33.3}, value=0.1)
        asked = [study.ask()[0] for _ in range(3)]
        assert sorted(one.x["heat"] for one in asked) == [20, 30, 40]
        with pytest.raises(kb.StudyConflict, match="all 3 points"):
            study.ask()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"target": "heat"}, "a target that is no variable"),
        ({"columns": ["heat"]}, "no columns for a space"),
        ({"cost": "heat"}, "no cost for a space"),
        ({"log": "rate"}, "no log for a space"),
        ({"policy": "ucb1", "settings": {"noise_scale": 0.1}}, "plays anywhere"),
        ({"lease": -1}, "lease"),
    ],
)
def test_what_a_space_does_not_take_is_refused_and_nothing_written(tmp_path, given, message):
    with pytest.raises(ValueError, match=message):
        kb.Study.create(tmp_path / "a.db", BREW, **given)
    assert not list(tmp_path.iterdir())


def test_opening_again_needs_the_same_space(tmp_path):
    kb.Study.create(tmp_path / "a.db", SMALL, seed=1).close()
    assert kb.Study.create(tmp_path / "a.db", SMALL, seed=1, or_open=True).space == SMALL
    with pytest.raises(kb.checks.StudyConflict, match="another space"):
        kb.Study.create(tmp_path / "a.db", MIXTURE, seed=1, or_open=True)


@pytest.mark.parametrize("goal", ["find", "earn"])
def test_auto_in_a_space_study_has_the_defaults_of_auto(tmp_path, goal):
    with kb.Study.create(tmp_path / "a.db", BREW, goal=goal) as study:
        policy: Any = study._session.driver.policy
    alone = kb.Auto(BREW, goal=goal)
    assert policy.first == alone.first
    assert policy.settings == alone.settings
    assert policy.learner.refits == alone.learner.refits
    for name in ("prior", "members", "transform", "nu", "shared"):
        assert getattr(policy.learner.fitter, name) == getattr(alone.learner.fitter, name)


def test_a_named_policy_plays_in_a_space(tmp_path):
    given = {
        "policy": "igp-ucb",
        "settings": {"noise_scale": 0.1, "norm_bound": 2.0, "horizon": 99},
    }
    with kb.Study.create(tmp_path / "a.db", {"a": (0.0, 1.0), "b": (20.0, 90.0)}, **given) as study:
        for _ in range(4):
            [one] = study.ask()
            study.tell(one.trial, one.x["a"])
        assert study.best() is not None
        assert study.replay(4).same
        assert study.status().stop.kind in ("none", "improvement")


# ---------------------------------------------------------------------- asking and telling


def test_a_suggestion_is_a_point_of_the_space_and_is_stored_exactly(played):
    for event in played.history():
        if event.kind == "asked":
            assert event.row is None
            assert event.body["x"] in played.space
            assert played.space.canonical(event.body["x"]) == event.body["x"]
    with kb.Study.open(played.place) as again:
        assert again.history() == played.history()
        pending = [one.x for one in again.status().waiting]
    assert pending == [one.x for one in played.status().waiting]
    assert len(pending) == 2


def test_every_choice_is_recomputed_to_the_last_digit(played):
    asked = [event.trial for event in played.history() if event.kind == "asked"]
    with kb.Study.open(played.place, writable=False) as fresh:
        for trial in asked:
            found = fresh.replay(trial)
            assert found.same, found.sentence
            assert found.row is None
            assert found.recomputed == found.x


def test_a_study_that_is_closed_after_every_step_asks_for_the_same_points(tmp_path):
    with kb.Study.create(tmp_path / "a.db", BREW, seed=5) as study:
        straight = play(study, 9)
    kb.Study.create(tmp_path / "b.db", BREW, seed=5).close()
    resumed = []
    for _ in range(9):
        with kb.Study.open(tmp_path / "b.db") as study:
            [one] = study.ask()
            resumed.append(dict(one.x))
        with kb.Study.open(tmp_path / "b.db") as study:
            study.tell(one.trial, brew(one.x))
    assert resumed == straight


def test_the_recommended_point_is_the_measured_one_of_the_best_estimate(played):
    best, frame = played.best(), played.estimates()
    measured = frame[frame["results"] > 0]
    assert best.row is None
    assert best.mean == pytest.approx(measured["mean"].max())
    top = measured.loc[measured["mean"].idxmax()]
    assert best.x["heat"] == top["heat"]
    if best.untested is not None:
        assert best.untested.mean > best.mean
        assert best.untested.x in played.space
        assert "never measured" in best.sentence
    assert 0 <= best.probability <= 1


@pytest.mark.thorough
def test_minimising_finds_the_smallest_value(tmp_path):
    with kb.Study.create(tmp_path / "a.db", {"a": (0.0, 1.0)}, direction="min", noise=0.0) as study:
        for _ in range(9):
            [one] = study.ask()
            study.tell(one.trial, (one.x["a"] - 0.3) ** 2)
        assert study.best().x["a"] == pytest.approx(0.3, abs=0.03)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        ({"A": 2.0, "B": 0, "C": -1}, r"tell needs a number in \[0.0, 1.0\] for 'A', got 2.0"),
        ({"A": 0.5, "B": 0.5, "C": 0.5}, r"tell needs a point with A \+ B \+ C == 1"),
        ({"A": 1.0}, "a value for each of"),
        ({"A": math.nan, "B": 0.5, "C": 0.5}, "for 'A'"),
        (3, "a value for each of"),
    ],
)
def test_results_outside_the_space_are_refused_and_nothing_is_stored(tmp_path, x, message):
    with kb.Study.create(tmp_path / "a.db", MIXTURE) as study:
        with pytest.raises(ValueError, match=message):
            study.tell(x=x, value=1.0)
        with pytest.raises(ValueError, match="a point"):
            study.tell(row=0, value=1.0)
        assert len(study.history()) == 1


def test_a_point_told_by_the_digits_shown_is_the_one_suggested(tmp_path):
    """Six digits of each component, which no longer sum to one to the last digit."""
    study = kb.Study.create(tmp_path / "mix.db", MIXTURE, target="strength", seed=2)
    first, second = study.ask(2)
    shown = {name: float(f"{value:.6g}") for name, value in first.x.items()}
    assert shown != dict(first.x)
    with pytest.warns(kb.DataNotice, match="is shown with these digits"):
        told = study.tell(x=shown, value=1.5)
    assert (told.trial, told.x) == (first.trial, first.x)
    shown = {name: f"{value:.6g}" for name, value in second.x.items()}
    with pytest.warns(kb.DataNotice, match="is shown with these digits"):
        [told] = study.tell_all([{**shown, "strength": 2.5}])
    assert told.trial == second.trial
    # A point that is given with more digits is another one.
    more = {"A": 0.1234567, "B": 0.5, "C": 0.3765433}
    assert study.tell(x=more, value=0.5).trial == 3


def test_a_point_of_a_table_is_its_row(tmp_path):
    with kb.Study.create(tmp_path / "a.db", [[0.0], [1.0]]) as study:
        assert study.space is None
        assert study.tell(x={"x1": 1.0}, value=1.0).row == 1


def test_the_result_of_a_point_settles_a_pending_trial_that_nobody_has(tmp_path):
    with kb.Study.create(tmp_path / "a.db", BREW) as study:
        [one] = study.ask()
        told = study.tell(x=one.x, value=0.4)
        assert (told.trial, told.settles, told.row, told.x) == (one.trial, one.trial, None, one.x)
        [held] = study.ask(worker="w")
        told = study.tell(x=held.x, value=0.4)
        assert told.trial != held.trial
        assert told.waiting == (held.trial,)


def test_constraints_hold_in_batches(tmp_path):
    with kb.Study.create(tmp_path / "a.db", MIXTURE) as study:
        for _ in range(3):
            found = study.ask(3)
            assert all(one.x in MIXTURE for one in found)
            assert len({tuple(one.x.values()) for one in found}) == 3
            for one in found:
                study.tell(one.trial, one.x["A"])


# ---------------------------------------------------------------------- several workers


@pytest.mark.thorough
def test_workers_get_points_of_their_own_and_a_trial_has_one_winner(where):
    kb.Study.create(where, BREW, seed=2).close()
    with kb.Study.open(where) as one, kb.Study.open(where) as other:
        play(one, 7)
        [mine], [yours] = one.ask(worker="me"), other.ask(worker="you")
        assert mine.x != yours.x
        assert yours.note["pending"] == 1
        assert one.ask(worker="me")[0].x == mine.x
        other.tell(mine.trial, 0.5)
        with pytest.raises(kb.AlreadyTold):
            one.tell(mine.trial, 0.6)
        assert one.replay(yours.trial).same
        assert one.doctor()[0].ok


def test_a_point_whose_lease_has_ended_is_offered_again(tmp_path):
    with kb.Study.create(tmp_path / "a.db", BREW) as study:
        [lost] = study.ask(worker="gone", lease=0.001)
        time.sleep(0.005)
        [again] = study.ask(worker="here")
        assert (again.x, again.again) == (lost.x, lost.trial)
        assert study.replay(again.trial).same
        assert study.tell(lost.trial, 0.2).accepted


def test_a_point_that_was_taken_meanwhile_is_chosen_again(tmp_path, monkeypatch):
    kb.Study.create(tmp_path / "a.db", SMALL, seed=1).close()
    with kb.Study.open(tmp_path / "a.db") as one, kb.Study.open(tmp_path / "a.db") as other:
        write, rivals = one._session._write_plan, []

        def write_late(asker, plan, quick):
            if not rivals:
                rivals.extend(other.ask(worker="fast"))
            return write(asker, plan, quick)

        monkeypatch.setattr(one._session, "_write_plan", write_late)
        [mine] = one.ask(worker="slow")
        assert mine.x != rivals[0].x
        assert one.replay(mine.trial).same


def test_an_exhausted_space_says_so(tmp_path):
    with kb.Study.create(tmp_path / "a.db", SMALL, repeats=False) as study:
        points = []
        for _ in range(4):
            [one] = study.ask()
            study.tell(one.trial, float(one.x["cups"]))
            points.append(one.x)
        points += [one.x for one in study.ask(2)]
        assert len({tuple(x.items()) for x in points}) == 6
        with pytest.raises(kb.checks.StudyConflict, match="all 6 points of the space are measured"):
            study.ask()
        assert study.status().different == 6


def test_an_exhausted_space_with_repeats_says_that_points_come_again(tmp_path):
    with kb.Study.create(tmp_path / "a.db", {"lamp": [True, False]}) as study:
        for lamp in (True, False):
            study.tell(x={"lamp": lamp}, value=float(lamp))
        with pytest.warns(kb.checks.DataNotice, match="all 2 points of the space are measured"):
            assert study.ask()[0].x["lamp"] in (True, False)


def test_a_batch_larger_than_a_finite_space_says_that_points_repeat(tmp_path):
    with kb.Study.create(tmp_path / "a.db", SMALL) as study:
        with pytest.warns(kb.checks.DataNotice, match="8 points were asked for, but only 6"):
            found = study.ask(8)
        assert len({tuple(one.x.items()) for one in found}) == 6


# ---------------------------------------------------------------------- corrections and tables


@pytest.mark.thorough
def test_undo_correct_withdraw_and_release(tmp_path):
    with kb.Study.create(tmp_path / "a.db", BREW) as study:
        play(study, 6)
        before = study.best()
        study.correct(1, 9.0)
        assert study.best().results == 1
        assert study.best().mean > before.mean
        assert study.undo().body["kind"] == "corrected"
        assert study.best() == before
        [one] = study.ask()
        study.release(one.trial)
        assert study.status().pending == 0
        study.withdraw(2)
        assert study.status().told == 5


def test_trials_and_estimates_as_tables(played, tmp_path):
    frame = played.to_dataframe()
    assert list(frame.columns)[:6] == ["trial", "heat", "rate", "cups", "acid", "state"]
    assert frame["cups"].dtype.kind == "i"
    assert set(frame["acid"]) <= {"citric", None, "acetic"}
    estimates = played.estimates()
    assert estimates["results"].sum() == played.status().told
    assert (estimates["low"] <= estimates["mean"]).all()
    played.export(tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text().startswith("trial,heat,rate,cups,acid,state,value")


def test_a_file_of_results_is_told_once(tmp_path):
    results = tmp_path / "results.csv"
    results.write_text("heat,rate,cups,acid,yield\n30,0.01,2,none,0.5\n40,0.001,3,citric,0.6\n")
    kb.Study.create(tmp_path / "a.db", BREW, target="yield").close()
    with kb.Study.open(tmp_path / "a.db") as study:
        told = study.tell_all(results)
        assert [one.x for one in told] == [
            {"heat": 30.0, "rate": 0.01, "cups": 2, "acid": None},
            {"heat": 40.0, "rate": 0.001, "cups": 3, "acid": "citric"},
        ]
    with results.open("a") as file:
        file.write("50,0.001,3,acetic,0.7\n")
    with kb.Study.open(tmp_path / "a.db") as study:
        assert [one.accepted for one in study.tell_all(results)] == [False, False, True]
        results.write_text("heat,rate,cups,acid,yield\n95,0.01,2,citric,0.5\n")
        with pytest.raises(ValueError, match=r"results.csv, line 2: .* \[20.0, 90.0\] for 'heat'"):
            study.tell_all(results)
        assert study.status().told == 3


@pytest.mark.thorough
def test_trials_that_are_exported_are_told_to_another_study_as_the_same_points(tmp_path):
    """Whatever the choices are: None, truth values, numbers, and texts that differ in case only."""
    space = {
        "rate": kb.Real(1e-5, 0.1, log=True),
        "base": kb.Category((None, True, 2.5, "a", "A", "é")),
        "grade": kb.Ordered((1, 2, 3)),
    }
    with kb.Study.create(tmp_path / "a.db", space) as study:
        for base in (None, True, 2.5, "a", "A", "é"):
            study.tell(x={"rate": 0.1 / 3, "base": base, "grade": 2}, value=1.0)
        for _ in range(6):
            [one] = study.ask()
            study.tell(one.trial, one.x["grade"])
        study.export(tmp_path / "out.csv")
        points = [one.x for one in map(study.explain, range(7, 13))]
    lines = (tmp_path / "out.csv").read_text().splitlines()
    (tmp_path / "in.csv").write_text("\n".join(line.partition(",")[2] for line in lines) + "\n")
    with kb.Study.create(tmp_path / "b.db", space) as study:
        told = study.tell_all(tmp_path / "in.csv")
        bases = [None, True, 2.5, "a", "A", "é"]
        assert [one.x["base"] for one in told[:6]] == bases
        assert [type(one.x["base"]) for one in told[:6]] == [type(base) for base in bases]
        assert [one.x for one in told[6:]] == points


@pytest.mark.parametrize("values", [(1, "1"), (None, "None"), (None, ""), ("a", " a")], ids=repr)
def test_choices_that_a_file_cannot_tell_apart_are_refused(tmp_path, values):
    with pytest.raises(ValueError, match="a study needs values of 'base' that differ as text"):
        kb.Study.create(tmp_path / "a.db", {"rate": (0.0, 1.0), "base": kb.Category(values)})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("noise", "results"), [(None, 1), (None, 6), (0.0, 2)])
def test_points_that_were_never_met_are_left_to_find_in_a_space(tmp_path, noise, results):
    study = kb.Study.create(tmp_path / "a.db", {"heat": kb.Real(0.0, 1.0)}, noise=noise)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", kb.DataNotice)
        for trial in range(results):
            study.tell(x={"heat": 0.1 * trial}, value=5.0)
    found = study.status().stop
    assert (found.may_stop, found.sentence[:3]) == (False, "No:")


def test_one_may_stop_when_all_points_of_a_finite_space_are_measured_without_noise(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", {"turns": kb.Integer(1, 3)}, noise=0.0)
    for turns, allowed in ((1, False), (2, False), (3, True)):
        study.tell(x={"turns": turns}, value=float(turns))
        assert study.status().stop.may_stop is allowed
    assert "every allowed candidate was measured" in study.status().stop.sentence


def test_the_model_of_a_space_is_checked(played):
    found = played.check()
    assert {one.column for one in found.columns} == {"heat", "rate", "cups", "acid"}
    assert all(one.row is None for one in found.held_out)


def test_lengthscales_are_shares_of_the_ranges(played):
    """Of a range of 70 and of four powers of ten, not in degrees and logarithms."""
    lengths = {one.column: one.lengthscale for one in played.check().columns}
    assert 0.05 < lengths["heat"] < 20
    model = kb.insight.fitted_model(played._session.driver.policy)
    typical = float(np.exp(np.log(model.block_lengthscales((0,))).mean()))
    assert lengths["heat"] == pytest.approx(typical / 70)


# ---------------------------------------------------------------------- storage


def test_a_backup_and_a_salvaged_copy_choose_the_same_point(tmp_path):
    with kb.Study.create(tmp_path / "a.db", BREW, seed=4) as study:
        play(study, 3)
        study.backup(tmp_path / "b.db")
        [mine] = study.ask()
    with kb.Study.open(tmp_path / "b.db") as copy:
        assert copy.ask()[0].x == mine.x
        assert all(one.ok for one in copy.doctor())
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("PRAGMA writable_schema = on")
    lost = connection.execute("SELECT seq FROM events WHERE kind = 'asked'").fetchone()[0]
    connection.execute("DELETE FROM events WHERE seq = ?", (lost,))
    connection.commit()
    connection.close()
    storage.salvage(tmp_path / "a.db", tmp_path / "c.db")
    with kb.Study.open(tmp_path / "c.db") as saved:
        # The ask is lost, and its result still has its point.
        assert saved.status().told == 3
        assert len(saved.estimates()) == 4


def test_points_are_the_same_if_their_values_are():
    points = Points(BREW)
    first = points.add({"heat": 30, "rate": 0.01, "cups": 3.0, "acid": None})
    again = points.add({"acid": None, "cups": np.int64(3), "rate": 0.01, "heat": np.float64(30)})
    assert first == again
    assert points.x(first) == {"heat": 30.0, "rate": 0.01, "cups": 3, "acid": None}
    assert points.parse("acid", "None") is None
    assert points.parse("acid", "") is None
    assert points.parse("acid", "CITRIC") == "citric"


def test_a_driver_learns_the_same_whenever_it_is_asked(played):
    session = played._session
    session.refresh()
    fresh = build_driver(session.candidates, session.state.settings)
    fresh.follow(session.state)
    rows = BREW.cover(50).points
    for mine, other in zip(
        session.updated_driver().policy.posterior.at(rows),
        fresh.policy.posterior.at(rows),
        strict=True,
    ):
        np.testing.assert_array_equal(mine, other)


# ---------------------------------------------------------------------- the command line


def study(*words: Any) -> Any:
    return run_command("study", *map(str, words))


def document(*words: Any) -> Any:
    done = study(*words, "--format", "json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


OPTIONS = (
    "--real", "temperature=20:90", "--real", "rate=1e-5:1e-1 log", "--integer", "cups=1:8",
    "--choice", "solvent=DMF,DMSO,water", "--target", "yield",
)  # fmt: skip


@pytest.mark.thorough
def test_a_day_with_a_space_on_the_command_line(tmp_path):
    place = tmp_path / "brew.db"
    created = document("create", place, *OPTIONS, "--constraint", "temperature <= 80")
    assert created["space"]["constraints"] == ["temperature <= 80"]
    assert [one["name"] for one in created["space"]["variables"]] == [
        "temperature", "rate", "cups", "solvent",
    ]  # fmt: skip
    [asked] = document("ask", place)
    assert asked["row"] is None
    assert asked["x"]["solvent"] in ("DMF", "DMSO", "water")
    assert document("tell", place, asked["trial"], 0.4)["x"] == asked["x"]
    point = ("--at", "temperature=30", "--at", "rate=0.01", "--at", "cups=3", "--at", "solvent=DMF")
    told = document("tell", place, *point, "0.83", "--key", "k1")
    assert told["x"] == {"temperature": 30.0, "rate": 0.01, "cups": 3, "solvent": "DMF"}
    assert document("tell", place, *point, "0.83", "--key", "k1")["seq"] == told["seq"]
    status = document("status", place)
    assert status["best"]["x"] == told["x"]
    assert status["space"] == created["space"]
    assert (status["rows"], status["told"]) == (None, 2)
    replayed = document("replay", place, "--at", 1)
    assert replayed["same"] is True
    assert replayed["recomputed"] == asked["x"]
    assert document("explain", place, 1)["x"] == asked["x"]
    assert {one["solvent"] for one in document("estimates", place)} <= {"DMF", "DMSO", "water"}
    assert [one["body"].get("x") for one in document("history", place)][1] == asked["x"]
    assert document("undo", place)["body"]["kind"] == "told"
    assert study("export", place, tmp_path / "out.csv").returncode == 0
    for words, said in [
        (
            ("status", place, "--details"),
            "temperature: 20 to 90, step 0.5; rate: 1e-05 to 0.1, by its logarithm, 2 digits",
        ),
        (("history", place), "solvent"),
        (("estimates", place), "1 of 1 point"),
        (("ask", place), "Reserved"),
        (("release", place, 3), "its candidate can be suggested again"),
        (("check", place), "Too early"),
    ]:
        done = study(*words)
        assert done.returncode == 0, done.stderr
        assert said in " ".join(done.stdout.split())
        assert "row" not in done.stdout.replace("from the results", "").split("\n", 1)[1] or (
            words[0] in ("history", "check")
        )


def test_a_space_file_on_the_command_line(tmp_path):
    (tmp_path / "space.toml").write_text('[variables]\nrate = "real 1e-5:0.1 log"\n')
    place = tmp_path / "tune.db"
    done = study("create", place, "--space", tmp_path / "space.toml", "--target", "accuracy")
    assert done.returncode == 0, done.stderr
    assert "rate: 1e-05 to 0.1, by its logarithm" in done.stdout
    assert 1e-5 <= document("ask", place)[0]["x"]["rate"] <= 0.1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--target", "y"), "one of --candidates FILE, --space FILE, variables"),
        (("--real", "a=0:1", "--candidates", "a.csv", "--target", "y"), "got more than one"),
        (("--real", "a=1:0", "--target", "y"), "variable 'a': Real needs low <= high"),
        (("--real", "a=0:1 log", "--target", "y"), "log"),
        (("--real", "a=0:1 step 2", "--target", "y"), "step"),
        (("--choice", "a=", "--target", "y"), "variable 'a'"),
        (("--real", "a=0:1", "--integer", "a=0:2", "--target", "y"), "a name of its own"),
        (("--real", "a=0:1", "--target", "a"), "no variable of the space"),
        (("--real", "a=0:1", "--constraint", "a >= 2", "--target", "y"), "a >= 2"),
        (("--real", "a=0:1", "--constraint", "import os", "--target", "y"), "import os"),
        (("--space", "nofile.toml", "--target", "y"), "No such file: nofile.toml"),
        (("--candidates", "space.toml", "--target", "y"), "--space for a space file"),
        (("--real", "a", "--target", "y"), "rate=0:1"),
    ],
)
def test_wrong_spaces_are_refused_in_one_sentence_and_nothing_is_written(tmp_path, words, message):
    done = study("create", tmp_path / "a.db", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--at", "cups=9", "--at", "acid=a", "1"), "cups"),
        (("--at", "cups=2", "1"), "a value for each of"),
        (("--at", "cups=2", "--at", "cups=3", "1"), "once for each name"),
        (("--at", "cups=two", "--at", "acid=a", "1"), "'cups', got 'two'"),
        (("--at", "cups=0_2", "--at", "acid=a", "1"), "'cups', got '0_2'"),
        (("--at", "pots=2", "1"), "values of cups, acid"),
        (("--at", "cups", "1"), "--at NAME=VALUE"),
        (("--row", "1", "1"), "--at in a command"),
        (("--row", "1", "--at", "cups=2", "1"), "--row 1 --at cups=2"),
    ],
)
def test_wrong_points_are_refused_in_one_sentence(tmp_path, words, message):
    kb.Study.create(tmp_path / "a.db", SMALL).close()
    done = study("tell", tmp_path / "a.db", *words)
    assert done.returncode == 2
    assert message in done.stderr


# ---------------------------------------------------------------------- what was really set


STEPPED = {"heat": kb.Real(20, 90, step=0.5), "acid": kb.Category(("citric", "acetic"))}


def test_the_conditions_that_were_really_set_are_learnt_and_the_ask_stays(tmp_path):
    place = tmp_path / "a.db"
    with kb.Study.create(place, kb.MixedBox(STEPPED), target="y") as study:
        for one in study.ask(3):
            study.tell(one.trial, one.x["heat"] / 100)
        [asked] = study.ask()
        heat = 36.3 if asked.x["heat"] != 36.5 else 41.7
        told = study.tell(asked.trial, 5.0, x={"heat": heat}, key="k")
        assert (told.trial, told.x) == (asked.trial, {**asked.x, "heat": heat})
        assert told.asked == asked.x
        assert f"heat = {heat}" in told.sentence
        assert f"(asked for: heat = {asked.x['heat']:g}" in told.sentence
        assert study.tell(asked.trial, 5.0, x={"heat": heat}, key="k").seq == told.seq
        assert study.best().x["heat"] == heat
        assert study.to_dataframe()["heat"].tolist()[3] == heat
        assert asked.x["heat"] not in study.estimates()["heat"].tolist()[3:]
        events = study.history()
        assert (
            next(one for one in events if one.trial == 4 and one.kind == "asked").body["x"]
            == asked.x
        )
        assert study.explain(asked.trial).x == asked.x
        assert study.replay(asked.trial).same
        with pytest.raises(kb.StudyConflict, match="has the result 5"):
            study.tell(asked.trial, 5.0, x={"heat": heat})
        [later] = study.ask()
        answers = study.best(), study.estimates().to_csv(), later.x
    with kb.Study.open(place) as study:
        assert (study.best(), study.estimates().to_csv(), study.ask(worker="w")[0].x)[
            :2
        ] == answers[:2]
        assert study.replay(later.trial).same
        study.undo_all(3)
        assert study.waiting()[0].x == asked.x


def test_conditions_that_were_really_set_are_checked(tmp_path):
    parts = {name: kb.Real(0, 1, step=0.01) for name in "ABC"}
    space = kb.MixedBox(parts, constraints=["A + B + C == 1"])
    with kb.Study.create(tmp_path / "a.db", space) as study:
        asked, other = study.ask(2)
        before = len(study.history())
        for x, said in [
            ({"D": 1}, "values of A, B, C"),
            ({"A": 1.5}, "number in"),
            ({"A": "much"}, "number in"),
            ({}, "conditions by their names"),
        ]:
            with pytest.raises(ValueError, match=said):
                study.tell(asked.trial, 0.5, x=x)
        with pytest.raises(kb.StudyConflict, match="asked for, got trial 9"):
            study.tell(9, 0.5, x={"A": 0.2})
        with pytest.raises(ValueError, match="missing"):
            study.tell(asked.trial, missing=True, x={"A": 0.2})
        assert len(study.history()) == before
        weighed = {name: value + 0.002 for name, value in asked.x.items()}
        with pytest.warns(kb.DataNotice, match=r"trial 1 miss A \+ B \+ C == 1; they are learnt"):
            told = study.tell(asked.trial, [0.5, 0.6], x=weighed)
        assert told.x == pytest.approx(weighed)
        assert study.to_dataframe().loc[told.replicates[0] - 1, "A"] == told.x["A"]
        # The conditions that were asked for are no others.
        assert study.tell(other.trial, 0.4, x=dict(other.x)).asked is None
        assert study.ask()[0].x in space


@pytest.mark.parametrize("step", [None, 0.5])
def test_a_hand_may_miss_the_end_of_a_range(tmp_path, step):
    parts = {"heat": kb.Real(20, 90, step=step), "rate": kb.Real(1e-3, 0.1, log=True)}
    with kb.Study.create(tmp_path / "a.db", kb.MixedBox(parts)) as study:
        for heat, rate in [(90.4, 0.1), (19.7, 9.5e-4), (91.0, 0.101), (60.0, 0.01), (88.0, 0.108)]:
            [one] = study.ask()
            assert one.x in study.space
            really = {"heat": heat, "rate": rate}
            assert study.tell(one.trial, heat, x=really).x == pytest.approx(really)
        assert study.best().x["heat"] in (90.4, 91.0)
        [one] = study.ask()
        assert one.x in study.space
        for x in ({"heat": 99}, {"rate": 1e-5}, {"rate": 0}):
            with pytest.raises(ValueError, match="number"):
                study.tell(one.trial, 1.0, x=x)
        # What nobody asked for is a mistake rather than a slip of the hand.
        with pytest.raises(ValueError, match=r"\[20.0, 90.0\]"):
            study.tell(x={"heat": 90.4, "rate": 0.05}, value=1.0)
        found = study.to_dataframe()
        study.export(tmp_path / "a.csv")
        assert not any(one.accepted for one in study.tell_all(tmp_path / "a.csv"))
    with kb.Study.create(tmp_path / "b.db", kb.MixedBox(parts)) as copy:
        # An export has what was measured, wherever that was.
        assert len(copy.tell_all(tmp_path / "a.csv")) == 5
        assert copy.to_dataframe()["heat"].tolist() == found["heat"].tolist()[:5]
    with kb.Study.open(tmp_path / "a.db") as study:
        pd.testing.assert_frame_equal(study.to_dataframe(), found)
        assert all(study.replay(number).same for number in (3, 6))


def test_a_trial_of_a_table_is_learnt_off_the_table_where_it_was_really_measured(tmp_path):
    table = pd.DataFrame({"film": list("abcdef"), "T": [20.0, 30, 40, 50, 60, 70]})
    with kb.Study.create(tmp_path / "a.db", table, target="y", label="film") as study:
        [one] = study.ask()
        with pytest.warns(kb.DataNotice, match="learnt as a point off the table"):
            told = study.tell(one.trial, 1.0, x={"T": 44.4})
        assert (told.x, told.row, told.asked) == ({"T": 44.4}, 6, one.x)
        again = study.tell(study.ask()[0].trial, 0.5, x={"T": 70})
        assert again.row == 5
        assert 44.4 in study.estimates()["T"].tolist()
        assert [event.row for event in study.history() if event.trial == 1] == [one.row, 6]
        study.undo_all(3)
        assert study.waiting()[0].row == one.row


def test_several_targets_have_the_conditions_of_the_first_value(tmp_path):
    with kb.Study.create(tmp_path / "a.db", kb.MixedBox(STEPPED), targets=["u", "v"]) as study:
        [one] = study.ask()
        assert study.tell(one.trial, {"u": 1.0}, x={"heat": 33.3}).x["heat"] == 33.3
        assert study.waiting()[0].x["heat"] == 33.3
        with pytest.raises(kb.StudyConflict, match="with its first value"):
            study.tell(one.trial, {"v": 2.0}, x={"heat": 44.4})
        assert study.tell(one.trial, {"v": 2.0}).x["heat"] == 33.3
        assert study.ask()[0].x in study.space


@pytest.mark.thorough
def test_what_was_really_set_is_told_on_the_command_line(tmp_path):
    place = tmp_path / "brew.db"
    document(
        "create", place, "--real", "heat=20:90", "--real", "rate=1e-5:0.1 log", "--target", "y"
    )
    [asked] = document("ask", place)
    told = document("tell", place, asked["trial"], "0.5", "--at", "heat=33.33")
    assert told["x"] == {**asked["x"], "heat": 33.33}
    assert told["asked"] == asked["x"]
    [asked] = document("ask", place)
    told = document("tell", place, asked["trial"], "--failed", "--at", "heat=33.34")
    assert (told["x"]["heat"], told["failed"]) == (33.34, True)


CONDITIONAL = kb.MixedBox(
    {
        "kernel": kb.Category(("rbf", "poly", "linear")),
        "C": kb.Real(0.1, 100, log=True),
        "gamma": kb.Real(1e-4, 1, log=True, when={"kernel": ["rbf", "poly"]}),
        "degree": kb.Integer(2, 5, when="kernel == 'poly'"),
        "base": kb.Category((None, "NaH"), when="degree >= 3"),
    }
)


def fit(x: Any) -> float:
    gap = 0.0 if "gamma" not in x else math.log10(x["gamma"]) + 2
    return -(gap**2) - math.log10(x["C"]) ** 2 - (x["kernel"] == "linear")


def test_results_need_no_columns_of_variables_that_are_not_there(tmp_path):
    """A point is told as it was suggested, also where none of them has such a variable."""
    lines = [{"kernel": "linear", "C": C, "accuracy": C / 10} for C in (1.0, 2.0)]
    with kb.Study.create(
        tmp_path / "svm.db", CONDITIONAL, target="accuracy", results=lines
    ) as study:
        assert [trial["C"] for trial in study.to_dataframe().to_dict("records")] == [1.0, 2.0]
        with pytest.raises(ValueError, match="a value for 'gamma', which is there when"):
            study.tell_all([{"kernel": "rbf", "C": 1.0, "accuracy": 0.4}])
        with pytest.raises(ValueError, match="a column 'trial' or all of kernel, C, got"):
            study.tell_all([{"kernel": "linear", "accuracy": 0.4}])
        assert study.status().told == 2
    pairs = [({"kernel": "linear", "C": 1.0}, 0.1)]
    assert len(kb.optimize(fit, CONDITIONAL, 2, results=pairs).trials) == 2


def test_a_study_of_conditional_variables_is_exported_told_again_and_replayed(tmp_path):
    study = kb.Study.create(tmp_path / "svm.db", CONDITIONAL, target="accuracy", seed=1)
    for _ in range(8):
        [one] = study.ask()
        assert ("gamma" in one.x) == (one.x["kernel"] != "linear")
        assert ("degree" in one.x) == (one.x["kernel"] == "poly")
        assert ("base" in one.x) == (one.x.get("degree", 0) >= 3)
        study.tell(one.trial, fit(one.x))
    assert all(study.replay(trial).same for trial in range(1, 9))
    frame = study.to_dataframe()
    linear = frame["kernel"] == "linear"
    assert frame.loc[linear, "gamma"].isna().all()
    assert frame.loc[~linear, "gamma"].notna().all()
    for name in ("out.csv", "out.xlsx"):
        study.export(tmp_path / name)
        other = kb.Study.create(tmp_path / f"{name}.db", CONDITIONAL, target="accuracy")
        assert len(other.tell_all(tmp_path / name)) == 8
        shown = [*CONDITIONAL.names, "value"]
        pd.testing.assert_frame_equal(other.to_dataframe()[shown], frame[shown])


def test_inactive_values_of_a_result_are_left_out_and_named(tmp_path):
    study = kb.Study.create(tmp_path / "svm.db", CONDITIONAL, target="accuracy")
    with pytest.warns(kb.checks.DataNotice, match="gamma is there only when"):
        told = study.tell(x={"kernel": "linear", "C": 2.0, "gamma": 0.1}, value=0.5)
    assert told.x == {"kernel": "linear", "C": 2.0}
    again = study.tell(x={"kernel": "linear", "C": 2.0, "gamma": None, "degree": None}, value=0.6)
    assert again.x == told.x
    assert len(study.estimates()) == 1
    with pytest.raises(ValueError, match="needs a value for 'gamma', which is there when"):
        study.tell(x={"kernel": "rbf", "C": 2.0}, value=0.5)
    with pytest.raises(ValueError, match="variables in same that are always there"):
        study.ask(2, same="gamma")
    batch = study.ask(3, same="kernel")
    assert len({one.x["kernel"] for one in batch}) == 1


@pytest.mark.thorough
def test_conditional_variables_on_the_command_line(tmp_path):
    place = tmp_path / "svm.db"
    gamma = "gamma=1e-4:1 log step none when kernel == 'rbf'"
    options = "--choice", "kernel=rbf,linear", "--real", gamma, "--target", "accuracy"
    created = run_command("study", "create", place, *options).stdout
    assert "gamma: 0.0001 to 1, by its logarithm, only when kernel == 'rbf'" in created
    run_command("study", "tell", place, "--at", "kernel=linear", "0.5")
    run_command("study", "tell", place, "--at", "kernel=rbf", "--at", "gamma=0.1", "0.7")
    assert "–" in run_command("study", "estimates", place).stdout
    figure = tmp_path / "svm.html"
    run_command("study", "plot", place, figure)
    assert "kernel" in figure.read_text(encoding="utf-8")


def test_ranges_are_changed_by_an_event_and_back_by_undo(tmp_path):
    study = kb.Study.create(tmp_path / "brew.db", BREW, target="yield", seed=2)
    play(study, 6)
    [early] = study.ask()
    event = study.change(ranges={"heat": (20, 120), "cups": (1, 12)})
    assert event.kind == "ranges"
    assert describe_event(event) == (
        "ranges changed: heat 20 to 120 (before: 20 to 90), cups 1 to 12 (before: 1 to 8)"
    )
    assert (study.space.variables[0].high, study.space.variables[2].high) == (120.0, 12)
    beyond = {"heat": 115.0, "rate": 0.001, "cups": 12, "acid": None}
    told = study.tell(x=beyond, value=0.9)
    with pytest.warns(kb.DataNotice, match="1 result lies beyond the new ranges: still learnt"):
        study.change(ranges={"heat": (20, 90), "cups": (1, 8)})
    later = study.ask(3)
    assert all(one.x in BREW for one in later)
    assert study.best().x != beyond
    frame = study.estimates()
    there = frame[frame["heat"] == 115.0]
    assert abs(there["mean"].item() - 0.9) < 0.5
    assert all(study.replay(one.trial).same for one in [early, *later])
    for _ in range(2):
        study.undo()
    assert study.space.variables[0].high == 120.0
    assert study.best().x == told.x
    with kb.Study.open(tmp_path / "brew.db") as again:
        assert again.space == study.space
        assert again.best() == study.best()
        assert again.to_dataframe().equals(study.to_dataframe())
        assert all(one.ok for one in again.doctor())


def test_pending_points_beyond_a_narrowed_range_are_named(tmp_path):
    study = kb.Study.create(tmp_path / "small.db", {"heat": kb.Real(20, 90)}, seed=1)
    [one] = study.ask()
    ends = one.x["heat"] + 1, 95
    with pytest.warns(kb.DataNotice, match="pending beyond the new ranges: trial 1; a result th"):
        study.change(ranges={"heat": ends})
    assert study.tell(one.trial, 0.5).x == one.x
    assert study.best() is None
    study.status()
    study.export(tmp_path / "out.csv")
    assert all(asked.x["heat"] >= ends[0] for asked in study.ask(3))


def test_a_study_whose_ranges_change_is_the_same_as_one_that_had_them_from_the_start(tmp_path):
    wide = kb.Study.create(tmp_path / "wide.db", {"heat": kb.Real(20, 120)}, target="y", seed=4)
    grown = kb.Study.create(tmp_path / "grown.db", {"heat": kb.Real(20, 90)}, target="y", seed=4)
    for heat in (25.0, 40.0, 60.0, 80.0, 88.0, 90.0):
        for study in (wide, grown):
            study.tell(x={"heat": heat}, value=math.sin(heat / 20))
    grown.change(ranges={"heat": (20, 120)})
    for study in (wide, grown):
        assert len(study.ask(2)) == 2
    columns = ["heat", "mean", "sd"]
    pd.testing.assert_frame_equal(wide.to_dataframe()[columns], grown.to_dataframe()[columns])


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ({"heat": (20.2, 90)}, "change needs a low end of 'heat' in steps of 0.5 from 20"),
        ({"heat": (90, 20)}, "change needs low < high for 'heat', got"),
        ({"heat": 20}, r"change needs two ends \(low, high\) for 'heat', got 20"),
        ({"kernel": (1, 2)}, "a range of numbers, and no list or single value, got 'kernel'"),
        ({"layers": (1, 9)}, "a range on which no condition of another variable depends"),
        ({"beat": (1, 9)}, "change needs names among heat, kernel, layers, width, got 'beat'"),
        ({"heat": (100, 110)}, "within the ranges no point satisfies 'heat <= 80'"),
        ({}, "change needs ranges by name"),
    ],
)
def test_ranges_that_do_not_fit_are_refused_and_nothing_is_written(tmp_path, ranges, message):
    space = kb.MixedBox(
        {
            "heat": kb.Real(20, 90, step=0.5),
            "kernel": kb.Category(("a", "b")),
            "layers": kb.Integer(1, 4),
            "width": kb.Integer(1, 64, when="layers >= 2"),
        },
        constraints=["heat <= 80"],
    )
    study = kb.Study.create(tmp_path / "svm.db", space)
    with pytest.raises(ValueError, match=message):
        study.change(ranges=ranges)
    with pytest.raises(ValueError, match="ranges and settings in calls of their own"):
        study.change(ranges={"heat": (20, 80)}, lease=60)
    with pytest.warns(kb.DataNotice, match="nothing was changed: heat as before"):
        study.change(ranges={"heat": (20, 90)})
    assert len(study.history()) == 1


def test_ranges_on_the_command_line_and_over_a_table(tmp_path):
    place = tmp_path / "brew.db"
    document("create", place, *OPTIONS)
    event = document("change", place, "--range", "temperature=20:120", "--range", "cups=1:4")
    assert event["body"]["ranges"] == {"temperature": [20.0, 120.0], "cups": [1, 4]}
    assert document("status", place)["space"]["variables"][0]["high"] == 120.0
    refused = run_command("study", "change", place, "--range", "temperature=20")
    assert refused.returncode == 2
    assert "change needs --range temperature=LOW:HIGH" in refused.stderr
    study = kb.Study.create(tmp_path / "table.db", [[1.0], [2.0]])
    with pytest.raises(kb.checks.StudyConflict, match="over a space for ranges"):
        study.change(ranges={"x1": (0, 3)})
