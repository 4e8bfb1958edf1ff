"""kb.optimize with a study: stored at once, continued after any interruption, ended as if there were none."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from kernelbandits.measuring import Attempt, SerialMeasurer
from kernelbandits.policies.optimization import Plan
from kernelbandits.study.optimization import WORKER, StudyRun
from measured_functions import dose_response, endless, training

SPACE = {"dose": kb.Real(1e-4, 1, log=True), "salt": kb.Category((True, None))}
GIVEN = {"direction": "minimize", "batch": 3, "seed": 5}


def loss(x):
    return (np.log10(x["dose"]) + 2) ** 2 + (0.5 if x["salt"] else 0.0)


def same(one, other):
    return (
        one.records() == other.records()
        and [(found.x, found.mean, found.sd, found.chance) for found in (one, other)].count(
            (one.x, one.mean, one.sd, one.chance)
        )
        == 2
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of 14 rounds without interruption."""
    return kb.optimize(loss, SPACE, 14, study=tmp_path_factory.mktemp("whole") / "a.db", **GIVEN)


@pytest.mark.thorough
def test_interrupted_runs_go_on_and_end_as_one_without_interruption(tmp_path, whole):
    calls = []

    def interrupted(x):
        calls.append(x)
        if len(calls) % 5 == 0:
            raise KeyboardInterrupt
        return loss(x)

    place = tmp_path / "a.db"
    first = kb.optimize(interrupted, SPACE, 14, study=place, **GIVEN)
    assert (first.ended, len(first.trials), first.pending) == ("interrupted", 4, 2)
    assert str(first).endswith("; ended by Ctrl-C; 2 points pending")
    with pytest.warns(kb.DataNotice, match="optimize: 2 trials of an interrupted run had no resul"):
        found = kb.optimize(interrupted, SPACE, 14, study=place, **GIVEN)
    while found.ended == "interrupted":
        found = kb.optimize(interrupted, SPACE, 14, study=place, **GIVEN)
    assert same(found, whole)
    assert len(calls) == 14 + 3
    with kb.Study.open(place) as study:
        assert all(study.replay(trial).same for trial in (1, 6, 9, 14))
        assert dict(study.best().x) == found.x


def test_a_run_that_is_done_measures_nothing_and_writes_nothing(tmp_path):
    place = tmp_path / "a.db"
    found = kb.optimize(loss, SPACE, 6, study=place, **GIVEN)
    with kb.Study.open(place) as study:
        events = len(study.history())
        again = kb.optimize(endless, SPACE, 4, study=study, **GIVEN)
        assert len(study.history()) == events
    assert same(again, found)
    assert again.study == str(place)


@pytest.mark.thorough
def test_a_longer_run_goes_on_and_counts_its_own_trials_only(tmp_path):
    place = tmp_path / "a.db"
    kb.optimize(loss, SPACE, 5, study=place, **GIVEN)
    with kb.Study.open(place) as study:
        study.tell(x={"dose": 0.3, "salt": None}, value=loss({"dose": 0.3, "salt": None}))
        study.ask()
        with pytest.warns(kb.DataNotice, match="1 pending trial of others in this study"):
            found = kb.optimize(loss, SPACE, 7, study=study, **GIVEN)
        assert study.status().pending == 1
        assert study.settings["rounds"] == 7
    assert [trial.t for trial in found.trials] == [1, 2, 3, 4, 5, 8, 9]


def test_results_that_are_known_before_are_no_rounds(tmp_path):
    results = [({"dose": 0.2, "salt": True}, 1.5), ({"dose": 0.9, "salt": None}, 1.9)]
    given = {"results": results, **GIVEN}
    alone = kb.optimize(loss, SPACE, 6, **given)
    stored = kb.optimize(loss, SPACE, 6, study=tmp_path / "a.db", **given)
    assert len(stored.trials) == len(alone.trials) == 6
    assert "6 rounds" in str(stored)
    assert [trial.t for trial in stored.trials] == [*range(3, 9)]


KILLED = """
import os, signal, sys
import kernelbandits as kb

def loss(x):
    sys.path[:0] = {tests!r}
    from test_optimize_study import loss
    with open("calls", "a") as file:
        print(x, file=file)
    # Two workers may have written their lines before either counts them.
    if sum(1 for _ in open("calls")) >= {fatal}:
        os.kill(os.getpid() if {workers} == 1 else os.getppid(), signal.SIGKILL)
    return loss(x)

if __name__ == "__main__":
    space = {{"dose": kb.Real(1e-4, 1, log=True), "salt": kb.Category((True, None))}}
    kb.optimize(loss, space, 14, study="a.db", direction="minimize", batch=3, seed=5, workers={workers})
"""


def test_runs_that_are_killed_end_as_one_without_interruption(tmp_path, whole):
    for workers, fatal in ((1, 5), (2, 11)):
        here = Path(__file__).parent
        tests = [str(here), str(here.parent)]
        text = KILLED.format(tests=tests, workers=workers, fatal=fatal)
        (tmp_path / "script.py").write_text(text)
        done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=os.environ)
        assert done.returncode == -signal.SIGKILL
    with kb.Study.open(tmp_path / "a.db") as study:
        stored = study.status()
        assert 4 <= stored.told <= 10
        assert 1 <= stored.pending <= 3
    with pytest.warns(kb.DataNotice, match="of an interrupted run had no result; measured first"):
        found = kb.optimize(loss, SPACE, 14, study=tmp_path / "a.db", **GIVEN)
    assert same(found, whole)


@dataclass(frozen=True)
class LastFirst(SerialMeasurer):
    """Measures the points of a batch from the last to the first, as fast workers may."""

    def measure(self, supply, deadline):
        while batch := list(iter(supply, None)):
            for number, x in reversed(batch):
                yield number, self.attempt(x)


@pytest.mark.thorough
def test_results_count_in_the_order_of_trials_whichever_comes_first(tmp_path, whole):
    """Also where they set centre and spread, which the first five results do."""
    space = kb.MixedBox(SPACE)
    study = kb.Study.create(
        tmp_path / "a.db", space, target="value", direction="minimize", seed=5, rounds=14
    )
    shown = []
    with study:
        run = StudyRun(study, space, LastFirst(Attempt(loss)), float("inf"))
        for trial in run.play(Plan(14, 3)):
            shown.append(trial.t)
            # A reader that learns the results of half a batch must not learn them in that order.
            study.best()
        assert same(run.summarise(), whole)
        assert all(study.replay(trial).same for trial in (6, 9, 14))
        assert [event.trial for event in study.history() if event.kind == "told"][:3] == [3, 2, 1]
    assert shown == list(range(1, 15))


@pytest.mark.parametrize(
    ("other", "said"),
    [
        ({"direction": "maximize"}, r"the direction 'maximize' of this call \(it has 'minimize'"),
        ({"target": "accuracy"}, r"the target 'accuracy' of this call \(it has 'value'\)"),
        ({"seed": 6}, r"the seed 6 of this call \(it has 5\)"),
        (
            {"domain": {"dose": (0.0, 1.0)}},
            r"another space \(dose: 0\.0001 to 1, by its logarithm; ",
        ),
        ({"domain": np.linspace(0, 1, 9)[:, None]}, "another space"),
        ({"policy": kb.Auto(kb.MixedBox(SPACE))}, "no policy beside a study"),
        ({"study": 3}, "the place of a study"),
        ({"study": ""}, "the place of a study"),
    ],
    ids=lambda one: next(iter(one)) if isinstance(one, dict) else "",
)
def test_a_study_of_something_else_is_refused(tmp_path, other, said):
    place = tmp_path / "a.db"
    given = {"domain": SPACE, "study": place} | GIVEN
    kb.optimize(loss, rounds=3, **given)
    before = place.read_bytes()
    with pytest.raises((kb.StudyConflict, ValueError), match=f"^optimize needs .*{said}.*, got "):
        kb.optimize(endless, rounds=5, **(given | other))
    assert place.read_bytes() == before


def test_two_runs_on_one_study_are_refused_and_lose_nothing(tmp_path):
    place = tmp_path / "a.db"

    def objective(x):
        # Another run takes these trials for those of a run that was interrupted.
        with pytest.warns(kb.DataNotice, match="of an interrupted run"):
            kb.optimize(loss, SPACE, 3, study=place, **GIVEN)
        return loss(x)

    with pytest.raises(kb.StudyConflict, match="on which no other run of optimize works"):
        kb.optimize(objective, SPACE, 9, study=place, **GIVEN)
    with kb.Study.open(place) as study:
        assert (study.status().told, study.status().pending) == (3, 0)


@pytest.mark.thorough
def test_the_reason_of_a_failure_is_stored_and_an_error_leaves_the_trial_pending(tmp_path):
    place = tmp_path / "a.db"

    def fragile(x):
        if x["salt"]:
            raise RuntimeError("the pump stopped")
        return loss(x)

    found = kb.optimize(fragile, SPACE, 8, study=place, catch=RuntimeError, **GIVEN)
    again = kb.optimize(fragile, SPACE, 8, study=place, catch=RuntimeError, **GIVEN)
    assert found.failures > 0
    assert same(found, again)
    assert {trial.failure for trial in again.trials} == {"", "RuntimeError: the pump stopped"}
    other = tmp_path / "b.db"
    with pytest.raises(RuntimeError, match="the pump stopped"):
        kb.optimize(fragile, SPACE, 8, study=other, **GIVEN)
    with kb.Study.open(other) as study:
        assert {one.worker for one in study.status().waiting} == {WORKER}
    with pytest.warns(kb.DataNotice, match="of an interrupted run"):
        assert same(kb.optimize(fragile, SPACE, 8, study=other, catch=RuntimeError, **GIVEN), found)


@pytest.mark.thorough
def test_a_timeout_and_a_tolerance_end_a_stored_run(tmp_path):
    place = tmp_path / "a.db"
    with pytest.raises(ValueError, match="got 0 failures; ended by the timeout"):
        kb.optimize(endless, SPACE, 6, study=place, workers=2, timeout=0.5)
    with pytest.warns(kb.DataNotice, match="2 trials of an interrupted run"):
        found = kb.optimize(dose_response, SPACE, 60, study=place, batch=2, tolerance=0.2)
    assert found.ended == "tolerance"
    assert 5 <= len(found.trials) < 60
    with kb.Study.open(place) as study:
        assert study.status().stop.may_stop
    again = kb.optimize(endless, SPACE, 60, study=place, batch=2, tolerance=0.2)
    assert again.ended == "tolerance"
    assert same(again, found)


@pytest.mark.thorough
def test_patience_counts_the_trials_of_earlier_calls(tmp_path):
    series = iter((3.0, 2.0, 4.0, 2.5, 2.0, 1.0))
    given = GIVEN | {"batch": 1, "patience": 3, "study": tmp_path / "a.db"}
    begun = kb.optimize(lambda x: next(series), SPACE, 9, each=lambda trial: trial.t == 4, **given)
    assert (begun.ended, len(begun.trials)) == ("callback", 4)
    ended = kb.optimize(lambda x: next(series), SPACE, 9, **given)
    assert (ended.ended, len(ended.trials)) == ("patience", 5)
    again = kb.optimize(endless, SPACE, 9, **given)
    assert again.ended == "patience"
    assert same(again, ended)


@pytest.mark.thorough
def test_what_the_objective_gets_is_the_same_with_and_without_a_study(tmp_path):
    table = pd.DataFrame({"heat": [20, 40, 60, 80, 90], "acid": list("abbaa"), "y": np.nan})
    domains = {
        "box": [(0, 1), (2, 3)],
        "tuple": kb.MixedBox((kb.Real(0, 1), kb.Category(("a", "b")))),
        "dict": SPACE,
        "array": np.linspace(0, 1, 9)[:, None],
        "grid": kb.MixedBox({"x": kb.Real(0, 1), "s": kb.Category(("a", "b"))}).grid(5),
        "table": table,
    }
    for name, domain in domains.items():
        target = "y" if name == "table" else None
        seen = []

        def objective(x, seen=seen):
            seen.append(x)
            return float(len(seen) % 3)

        with pytest.warns(kb.DataNotice) if name == "table" else pytest.MonkeyPatch.context():
            plain = kb.optimize(objective, domain, 4, target=target)
            stored = kb.optimize(objective, domain, 4, study=tmp_path / name, target=target or "z")
        assert {type(x) for x in (*seen, plain.x, stored.x)} == {type(seen[0])}
        assert repr(plain.trials[0].x) == repr(stored.trials[0].x)
        assert (stored.arm is None) == (plain.arm is None)
    with pytest.raises(ValueError, match="optimize needs a study or a DataFrame for a target"):
        kb.optimize(loss, SPACE, 3, target="y")


# ---------------------------------------------------------------- several targets


TARGETS = {"yield": "maximize", "cost": "minimize"}
DOSES = {"dose": kb.Real(0, 1)}


def yield_and_cost(x):
    return {"yield": np.float32(x["dose"]), "cost": np.array([x["dose"] ** 2])}


def test_the_values_of_a_dictionary_go_to_the_targets_of_a_study(tmp_path):
    with kb.Study.create(tmp_path / "a.db", DOSES, targets=TARGETS) as study:
        found = kb.optimize(yield_and_cost, DOSES, 6, study=study, batch=2)
        frame = study.to_dataframe()
    assert (found.failures, len(found.trials)) == (0, 6)
    assert list(frame["yield"]) == [float(np.float32(trial.x["dose"])) for trial in found.trials]
    assert list(frame["cost"]) == [trial.x["dose"] ** 2 for trial in found.trials]
    assert [trial.reward for trial in found.trials] == list(frame["value"])
    again = kb.optimize(yield_and_cost, DOSES, 6, study=tmp_path / "a.db")
    assert same(again, found)


@pytest.mark.thorough
def test_results_of_several_targets_are_the_same_with_any_number_of_workers(tmp_path):
    one, other = (
        kb.Study.create(tmp_path / f"{name}.db", DOSES, targets=TARGETS)
        for name in ("one", "other")
    )
    with one, other:
        single = kb.optimize(yield_and_cost, DOSES, 8, study=one, batch=3)
        mapped = kb.optimize(
            yield_and_cost, DOSES, 8, study=other, batch=3, mapper=lambda f, xs: [f(x) for x in xs]
        )
    assert single.records() == mapped.records()


def test_a_target_that_is_not_finite_fails_the_trial(tmp_path):
    def objective(x):
        return {**yield_and_cost(x), "cost": np.nan if x["dose"] > 0.5 else 1.0}

    with kb.Study.create(tmp_path / "a.db", DOSES, targets=TARGETS) as study:
        found = kb.optimize(objective, DOSES, 5, study=study)
    failed = [trial for trial in found.trials if trial.reward is None]
    assert [trial.x["dose"] > 0.5 for trial in found.trials].count(True) == len(failed) > 0
    assert all(trial.failure.startswith("no finite number: {") for trial in failed)


@pytest.mark.parametrize(
    ("given", "got"),
    [
        (0.5, "0.5 (float)"),
        ({}, "{} (dict)"),
        ({"yield": 0.5}, "values of ['yield']"),
        ({"yield": 0.5, "cost": 1.0, "tar": 2.0}, "values of ['yield', 'cost', 'tar']"),
    ],
    ids=str,
)
def test_without_a_value_of_each_target_nothing_is_stored_and_the_error_names_them(
    tmp_path, given, got
):
    with kb.Study.create(tmp_path / "a.db", DOSES, targets=TARGETS) as study:
        with pytest.raises(TypeError) as refusal:
            kb.optimize(lambda x: given, DOSES, 5, study=study)
        assert study.to_dataframe()["state"].tolist() == ["pending"]
    needed = "a dictionary with a number for each of the targets ['yield', 'cost'], got "
    assert str(refusal.value).endswith(needed + got)


def test_a_table_with_columns_of_several_targets_is_the_table_of_the_study(tmp_path):
    table = pd.DataFrame({"dose": [0.1, 0.4, 0.8], "yield": [np.nan] * 3, "cost": [np.nan] * 3})
    with kb.Study.create(tmp_path / "a.db", table, targets=TARGETS) as study:
        found = kb.optimize(yield_and_cost, table, 3, study=study)
    assert found.failures == 0


def test_what_is_no_number_leaves_its_trial_pending_for_the_mended_objective(tmp_path):
    place = tmp_path / "a.db"
    with pytest.raises(TypeError, match=r"got None \(NoneType\)$"):
        kb.optimize(lambda x: None, DOSES, 3, study=place)
    with pytest.warns(kb.DataNotice, match="1 trial of an interrupted run"):
        found = kb.optimize(lambda x: x["dose"], DOSES, 3, study=place)
    assert (len(found.trials), found.failures) == (3, 0)


def test_three_failures_of_a_stored_run_are_said_at_once(tmp_path):
    with (
        pytest.warns(kb.DataNotice, match="the first 3 measurements of this call have failed"),
        pytest.raises(ValueError, match="4 failures"),
    ):
        kb.optimize(lambda x: np.nan, DOSES, 4, study=tmp_path / "a.db")


# ---------------------------------------------------------------- asynchronous


@dataclass(frozen=True)
class NewestFirst(SerialMeasurer):
    """Begins all points that there are, and measures the last one first."""

    def measure(self, supply, deadline):
        begun = []
        while begun := [*begun, *iter(supply, None)]:
            number, x = begun.pop()
            yield number, self.attempt(x)


FREE = Plan(12, 3, asynchronous=True)


@pytest.fixture
def study(tmp_path):
    space = kb.MixedBox(SPACE)
    given = {"target": "value", "direction": "minimize", "seed": 5, "rounds": 12}
    with kb.Study.create(tmp_path / "free.db", space, **given) as opened:
        yield opened


def test_every_ask_of_an_asynchronous_run_is_replayed_from_the_log(study):
    run = StudyRun(study, kb.MixedBox(SPACE), NewestFirst(Attempt(loss)), float("inf"))
    trials = [trial.t for trial in run.play(FREE)]
    assert trials == [*range(3, 13), 2, 1]
    assert all(study.replay(trial).same for trial in range(1, 13))
    told = [event for event in study.history() if event.kind == "told"]
    assert [event.trial for event in told] == trials
    found = run.summarise()
    assert found.asynchronous
    assert [trial.t for trial in found.trials] == list(range(1, 13))


def test_a_run_does_not_give_up_what_it_is_measuring_when_its_lease_ends(study):
    study.change(lease=1e-6)
    run = StudyRun(study, kb.MixedBox(SPACE), NewestFirst(Attempt(loss)), float("inf"))
    assert len({trial.t for trial in run.play(FREE)}) == 12
    kinds = [event.kind for event in study.history()]
    assert "released" not in kinds
    assert kinds.count("asked") == kinds.count("told") == 12


def test_an_interrupted_asynchronous_run_finishes_what_was_begun_and_goes_on_in_either_form(study):
    place = kb.MixedBox(SPACE)
    run = StudyRun(study, place, NewestFirst(Attempt(loss)), float("inf"))
    for trial in run.play(FREE):
        if trial.t == 6:
            break
    assert [trial.number for trial in run.find_pending()] == [1, 2]
    again = StudyRun(study, place, SerialMeasurer(Attempt(loss)), float("inf"))
    with pytest.warns(kb.DataNotice, match="2 trials of an interrupted run had no result"):
        assert [trial.t for trial in again.play(Plan(9, 3))] == [1, 2, 7, 8, 9]
    last = StudyRun(study, place, NewestFirst(Attempt(loss)), float("inf"))
    assert len(list(last.play(FREE))) == 3
    assert all(study.replay(trial).same for trial in range(1, 13))


@pytest.mark.thorough
def test_an_asynchronous_run_that_is_killed_goes_on(tmp_path):
    here = Path(__file__).parent
    text = KILLED.format(tests=[str(here), str(here.parent)], workers=2, fatal=8)
    (tmp_path / "script.py").write_text(text.replace("batch=3", "asynchronous=True"))
    done = subprocess.run([sys.executable, "script.py"], cwd=tmp_path, env=os.environ)
    assert done.returncode == -signal.SIGKILL
    with kb.Study.open(tmp_path / "a.db") as study:
        assert 1 <= study.status().pending <= 2
    with pytest.warns(kb.DataNotice, match="of an interrupted run had no result; measured first"):
        found = kb.optimize(loss, SPACE, 14, study=tmp_path / "a.db", **GIVEN)
    assert [trial.t for trial in found.trials] == list(range(1, 15))
    with kb.Study.open(tmp_path / "a.db") as study:
        assert all(study.replay(trial).same for trial in range(1, 15))


def test_another_run_on_the_same_study_is_seen(study):
    place = kb.MixedBox(SPACE)
    run = StudyRun(study, place, NewestFirst(Attempt(loss)), float("inf"))
    trials = run.play(FREE)
    next(trials)
    study.ask(3, worker=WORKER)
    with pytest.raises(kb.StudyConflict, match="on which no other run of optimize works"):
        list(trials)


# ---------------------------------------------------------------- measurements that stop early

CLEAN = {"dose": kb.Real(0, 1), "salt": kb.Real(0, 1)}


def train(x, trial):
    return training([x["dose"], x["salt"]], trial)


def test_stopped_measurements_are_stored_and_an_interrupted_run_ends_as_a_whole_one(tmp_path):
    given = {"direction": "minimize", "batch": 3, "seed": 1}
    whole = kb.optimize(train, CLEAN, 18, **given, study=tmp_path / "whole.db")
    assert whole.stopped >= 1
    calls = []

    def interrupted(x, trial):
        calls.append(x)
        if len(calls) % 7 == 0:
            raise KeyboardInterrupt
        return train(x, trial)

    place = tmp_path / "parts.db"
    found = kb.optimize(interrupted, CLEAN, 18, **given, study=place)
    while found.ended == "interrupted":
        with pytest.warns(kb.DataNotice, match="of an interrupted run"):
            found = kb.optimize(interrupted, CLEAN, 18, **given, study=place)
    assert same(found, whole)
    assert [one.reports for one in found.trials] == [one.reports for one in whole.trials]
    with kb.Study.open(place) as study:
        assert all(study.replay(trial).same for trial in range(1, 19))
        stopped = [trial for trial in found.trials if trial.stopped is not None]
        [first, *_] = [one for one in study.history() if one.trial == stopped[0].t][1:]
        assert first.value == stopped[0].reward
        assert study._session.state.trials[stopped[0].t].sem == stopped[0].reward.sem
        assert dict(study.best().x) == found.x
        assert found.x not in [trial.x for trial in stopped]


def test_stops_and_predictions_do_not_depend_on_which_result_of_a_batch_comes_first(tmp_path):
    def learn(x, trial):
        for epoch in range(1, 10):
            value = ((x["dose"] - 0.3) ** 2 + (x["salt"] - 0.7) ** 2) * (1 + 5 / epoch)
            trial.report(value, epoch)
            if trial.should_stop():
                break
        return value

    space, found = kb.MixedBox(CLEAN), []
    for measurer in (SerialMeasurer, LastFirst):
        given = {"target": "value", "direction": "minimize", "seed": 1, "rounds": 18}
        with kb.Study.create(tmp_path / f"{measurer.__name__}.db", space, **given) as study:
            attempt = Attempt(learn, sign=-1.0, watched=True)
            run = StudyRun(study, space, measurer(attempt), float("inf"))
            trials = list(run.play(Plan(18, 6)))
            found.append([(trial.record(), trial.reward) for trial in trials])
    assert found[0] == found[1]
    assert sum(row["stopped"] is not None for row, _ in found[0]) >= 1


def test_a_stopped_measurement_is_not_the_best_until_its_value_is_corrected(tmp_path):
    calls = []

    def curve(x, trial):
        calls.append(x)
        value = -1.0 if len(calls) == 6 else x["a"]
        for step in range(1, 4):
            trial.report(value, step)
            if trial.should_stop():
                break
        return value

    rows = pd.DataFrame({"a": np.linspace(0, 1, 8)})
    with kb.Study.create(tmp_path / "a.db", rows, target="y", seed=2) as study:
        found = kb.optimize(curve, rows, 6, study=study, target="y")
        assert [trial.t for trial in found.trials if trial.stopped is not None] == [6]
        for number in range(1, 6):
            study.correct(number, -100.0 - number)
        # The prediction, about -1, is now the greatest value of all.
        assert study.best().x["a"] != found.trials[-1].x["a"]
        study.correct(6, 9.0)
        assert study.best().x["a"] == found.trials[-1].x["a"]


def test_an_objective_with_a_trial_needs_a_study_of_one_target(tmp_path):
    with (
        kb.Study.create(
            tmp_path / "a.db", kb.MixedBox(CLEAN), targets=["gloss", "cost:minimize"]
        ) as study,
        pytest.raises(ValueError, match="needs one target for an objective that takes a trial"),
    ):
        kb.optimize(train, CLEAN, 3, study=study)
    for place in (None, tmp_path / "b.db"):
        with pytest.raises(ValueError, match="needs one target for an objective that takes a tri"):
            kb.optimize(train, CLEAN, 3, study=place, targets={"gloss": "maximize", "haze": "<=1"})
    assert not (tmp_path / "b.db").exists()
