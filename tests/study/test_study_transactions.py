"""One command, one transaction: asks without the lock, fits as events, undo and release of many, older states."""

from __future__ import annotations

import gc
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
import time
import warnings
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kernelbandits as kb
from conftest import run_command, with_long
from kernelbandits.calibration import Rewards
from kernelbandits.calibration.fitter import Fitter
from kernelbandits.checks import StudyConflict
from kernelbandits.policies.stored import CODEC
from kernelbandits.storage import Damaged, Draft, StorageFull, Turn
from kernelbandits.study import asks, edits, fits, plausibility, session
from kernelbandits.study.calls import make_call
from kernelbandits.study.driver import Driver
from kernelbandits.study.events import State, events_before

POINTS = np.random.default_rng(5).random((24, 2))


def truth(row: int) -> float:
    return float(np.sin(5 * POINTS[row, 0]) + POINTS[row, 1])


def play(study: kb.Study, trials: int) -> None:
    for _ in range(trials):
        (one,) = study.ask()
        study.tell(one.trial, truth(one.row))


def kinds(study: kb.Study) -> list[str]:
    return [event.kind for event in study.history()]


# An older state under an open study


@pytest.mark.parametrize("how", ["copied over", "renamed over"])
@pytest.mark.parametrize("call", ["tell", "ask", "undo", "history", "backup"])
def test_who_has_a_study_open_notices_that_a_backup_was_put_back(tmp_path, how, call):
    place, copy = tmp_path / "a.db", tmp_path / "copy.db"
    study = kb.Study.create(place, POINTS)
    play(study, 3)
    study.backup(copy)
    play(study, 2)
    if how == "copied over":
        shutil.copyfile(copy, place)
    else:
        os.replace(copy, place)
    before = place.read_bytes()
    calls = {
        "tell": lambda: study.tell(row=3, value=0.5),
        "ask": study.ask,
        "undo": study.undo,
        "history": study.history,
        "backup": lambda: study.backup(place.with_name("another.db")),
    }
    with pytest.raises(Damaged, match="was a backup put back"):
        calls[call]()
    assert place.read_bytes() == before
    assert kb.Study.open(place).status().told == 3


def test_a_server_that_lags_behind_is_noticed_by_a_writer(where):
    study, other = kb.Study.create(where, POINTS), kb.Study.open(where)
    study.tell(row=1, value=0.5)
    other.history()
    log, seq = study._session.log, len(study.history())
    for transaction in log.database.transactions():
        with transaction:
            schema = f'"{log.database.place.study}".' if where.startswith("postgres") else ""
            cursor = transaction.connection.cursor()
            cursor.execute(f"DELETE FROM {schema}events WHERE seq = {seq}")
            cursor.execute(
                f'UPDATE {schema}head SET seq = {seq - 1}, "check" = '
                f'(SELECT "check" FROM {schema}events WHERE seq = {seq - 1})'
            )
    with pytest.raises(Damaged, match=f"it ends with event {seq - 1} but had {seq} before"):
        other.tell(row=2, value=0.25)
    assert len(kb.Study.open(where).history()) == seq - 1


# Asks without the lock


def test_an_ask_names_the_event_it_was_decided_on_and_replay_folds_to_it(where):
    study, other = kb.Study.create(where, POINTS), kb.Study.open(where)
    play(study, 6)
    session, plan = study._session, asks.plan_ask

    def interleaved(state: State, *given: Any) -> Any:
        made = plan(state, *given)
        if other.status().told == 6:
            other.tell(row=20, value=3.0)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asks, "plan_ask", interleaved)
        known = len(session.log.events())
        (one,) = study.ask()
    asked = study.history()[-1]
    assert asked.kind == "asked"
    assert asked.body["decided"] == known < asked.seq - 1
    assert len(events_before(study.history(), asked)) in (known, known + 1)
    assert study.replay(one.trial).same is True


@pytest.mark.thorough
def test_a_row_that_somebody_else_got_meanwhile_is_chosen_again(where):
    study, other = kb.Study.create(where, POINTS), kb.Study.open(where)
    play(study, 5)
    plan, stolen = asks.plan_ask, []

    def late(state: State, *given: Any) -> Any:
        made = plan(state, *given)
        if len(stolen) < 2:
            stolen.append(None)
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(asks, "plan_ask", plan)
                stolen[-1] = other.ask()[0].row
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asks, "plan_ask", late)
        asked = study.ask(3)
    rows = [one.row for one in asked] + stolen
    assert len(set(rows)) == 5
    assert [study.replay(one.trial).same for one in asked] == [True] * 3
    assert all(study.replay(trial).same for trial in study._session.state.pending)


def robbed_ask(study: Any, other: Any, **given: Any) -> tuple[Any, Any, int]:
    """An ask whose row somebody else gets first; their ask, and how many plans were made."""
    plan, plans, theirs = asks.plan_ask, [], []

    def late(state: State, *rest: Any) -> Any:
        plans.append(plan(state, *rest))
        if len(plans) == 1:
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(asks, "plan_ask", plan)
                theirs.extend(other.ask())
        return plans[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asks, "plan_ask", late)
        (mine,) = study.ask(**given)
    assert theirs[0].row == plans[0].asks[0].row
    return mine, theirs[0], len(plans)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"repeats": False},
        {
            "policy": "gp-ts",
            "kernel": "rbf:0.2",
            "settings": {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 99},
        },
        {"policy": "random", "kernel": "rbf:0.2"},
    ],
)
def test_a_single_row_that_somebody_else_got_is_chosen_once_more(where, settings):
    study, other = kb.Study.create(where, POINTS, **settings), kb.Study.open(where)
    play(study, 8)
    mine, theirs, plans = robbed_ask(study, other)
    asked = study.history()[-1]
    assert (plans, asked.body["decided"]) == (2, asked.seq - 1)
    assert mine.row != theirs.row
    assert study.replay(mine.trial).same is True


def test_the_last_free_row_that_somebody_else_got_is_not_given_twice(tmp_path):
    place, points = tmp_path / "a.db", np.linspace(0, 1, 5)[:, None]
    study, other = kb.Study.create(place, points, repeats=False), kb.Study.open(place)
    play(study, 4)
    with pytest.raises(StudyConflict, match="got none"):
        robbed_ask(study, other)
    assert study.status().pending == 1


def test_an_ended_lease_that_gets_its_result_after_a_conflict(tmp_path):
    study, other = kb.Study.create(tmp_path / "a.db", POINTS), kb.Study.open(tmp_path / "a.db")
    (ended,) = study.ask(lease=1e-6)
    while study._session.log.now() <= ended.until:
        pass
    write, calls = study._session._write_plan, count()

    def robbed(asker: Any, made: Any, with_lock: bool) -> Any:
        """Somebody takes the second row before this is written, and tells the first after it."""
        first = next(calls) == 0
        if first:
            row, body = made.asks[1].row, dict(made.asks[1].body)
            draft = Draft(kind="asked", trial=2, row=row, key="other/1", body=body)
            other._session.write(lambda state, now: ([draft], None))
        kept, complete = write(asker, made, with_lock)
        if first:
            assert [trial.number for trial in kept.overdue] == [ended.trial]
            other.tell(ended.trial, 0.5)
        return kept, complete

    study._session._write_plan = robbed
    asked = study.ask(3)
    assert len({one.row for one in asked} | {ended.row}) == 4
    assert all(study.replay(one.trial).same for one in asked)
    assert "released" not in kinds(study)


def test_a_change_of_the_policy_meanwhile_counts_for_the_ask(tmp_path):
    study, other = kb.Study.create(tmp_path / "a.db", POINTS), kb.Study.open(tmp_path / "a.db")
    plan = asks.plan_ask

    def late(state: State, *given: Any) -> Any:
        made = plan(state, *given)
        if "settings" not in kinds(other):
            other.change(policy="random", kernel="rbf:0.2")
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asks, "plan_ask", late)
        (one,) = study.ask()
    assert kinds(study) == ["created", "settings", "asked"]
    assert one.revision == study.settings["revision"] == 1
    assert study.replay(one.trial).same is True


def test_others_were_always_faster_and_the_rows_are_chosen_with_the_lock(tmp_path):
    place = tmp_path / "a.db"
    study, other = kb.Study.create(place, POINTS), kb.Study.open(place)
    play(study, 4)
    plan, held = asks.plan_ask, []

    def beaten(state: State, *given: Any) -> Any:
        made = plan(state, *given)
        try:
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(asks, "plan_ask", plan)
                inner.setattr("kernelbandits.storage.database.BUSY_SECONDS", 0.05)
                other.ask()
        except kb.storage.StorageBusy:
            held.append(True)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asks, "plan_ask", beaten)
        (one,) = study.ask()
    assert held == [True]
    assert study.replay(one.trial).same is True
    assert len({trial.row for trial in study._session.state.pending.values()}) == 3


@pytest.mark.thorough
def test_a_batch_is_one_commit_and_replays(where):
    study = kb.Study.create(where, POINTS)
    play(study, 5)
    before = len(study.history())
    commits, turns = [], study._session.log.turns

    def counted() -> Any:
        commits.append(1)
        yield from turns()

    study._session.log.turns = counted
    asked = study.ask(20)
    assert commits == [1]
    assert [event.body["round"] for event in study.history()[before:] if event.kind == "asked"] == [
        one.trial for one in asked
    ]
    assert all(study.replay(one.trial).same for one in asked)
    assert len({one.row for one in asked}) == 20 - max(0, 20 - len(POINTS))


@pytest.mark.thorough
def test_a_teller_does_not_wait_for_somebody_who_asks_for_many_rows(tmp_path):
    place = tmp_path / "a.db"
    study, teller = kb.Study.create(place, POINTS), kb.Study.open(place)
    play(study, 4)
    (mine,) = study.ask()
    asking, waits, plan = threading.Event(), [], asks.plan_ask

    def slow(*given: Any) -> Any:
        made = plan(*given)
        asking.set()
        time.sleep(0.4)
        return made

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(asks, "plan_ask", slow)
        thread = threading.Thread(target=study.ask, args=(10,))
        thread.start()
        assert asking.wait(20)
        start = time.monotonic()
        teller.tell(mine.trial, 0.5)
        waits.append(time.monotonic() - start)
        still = thread.is_alive()
        thread.join()
    assert still
    assert waits[0] < 0.35


def test_asking_for_more_than_can_be_measured_says_so(tmp_path):
    (tmp_path / "c.csv").write_text("a\n" + "\n".join(map(str, range(8))))
    done = run_command(
        "study", "create", "a.db", "--candidates", "c.csv", "--target", "y", cwd=tmp_path
    )
    assert done.returncode == 0
    done = run_command("study", "ask", "a.db", "--n", 20, cwd=tmp_path)
    assert "20 rows were asked for, but only 8 different candidates could be suggested" in (
        done.stderr
    )
    with (
        kb.Study.open(tmp_path / "a.db") as study,
        pytest.warns(kb.DataNotice, match="9 rows were asked for, but only"),
    ):
        study.ask(9)


# Fits as events


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The numbers of rewards to which fits are made."""
    found: list[int] = []
    make = Fitter.fit

    def counted(fitter: Fitter, rewards: Rewards) -> Any:
        found.append(rewards.events)
        return make(fitter, rewards)

    monkeypatch.setattr(Fitter, "fit", counted)
    return found


@pytest.mark.thorough
def test_a_fit_is_stored_with_the_ask_that_needed_it_and_nobody_makes_it_again(where, made):
    study = kb.Study.create(where, POINTS)
    play(study, 14)
    stored = [event for event in study.history() if event.kind == "fitted"]
    assert [event.body["results"] for event in stored] == made
    assert {event.body["revision"] for event in stored} == {kb.Auto.revision}
    made.clear()
    for _ in range(2):
        with kb.Study.open(where) as again:
            again.ask()
            again.best()
    assert made == []
    assert study.replay(12).same is True
    assert made == []
    np.testing.assert_array_equal(
        study.estimates()["mean"], kb.Study.open(where).estimates()["mean"]
    )


def test_a_fit_made_for_rows_that_somebody_else_got_is_stored_all_the_same(tmp_path, made):
    study, other = kb.Study.create(tmp_path / "a.db", POINTS), kb.Study.open(tmp_path / "a.db")
    study.tell_all([{"row": row, "value": truth(row)} for row in range(12)])
    write = study._session._write_plan

    def robbed(asker: Any, plan: Any, quick: bool) -> Any:
        study._session._write_plan = write
        row, body = plan.asks[0].row, dict(plan.asks[0].body)
        draft = Draft(kind="asked", trial=13, row=row, key="other/1", body=body)
        other._session.write(lambda state, now: ([draft], None))
        return write(asker, plan, quick)

    study._session._write_plan = robbed
    (one,) = study.ask()
    assert kinds(study)[-3:] == ["asked", "fitted", "asked"]
    made.clear()
    assert study.replay(one.trial).same is True
    kb.Study.open(tmp_path / "a.db").ask()
    assert made == []


def test_a_fit_that_is_due_is_left_to_the_worker_whose_result_made_it_due(where, made, monkeypatch):
    """The other one asks meanwhile, and finds the fit when it looks again."""
    study, other = kb.Study.create(where, POINTS), kb.Study.open(where)
    play(study, 3)
    study.tell(row=20, value=truth(20), worker="a")
    made.clear()
    waits: list[float] = []

    def wait(seconds: float) -> None:
        waits.append(seconds)
        study.ask(worker="a")

    monkeypatch.setattr(other._session.lock, "wait", wait)
    (one,) = other.ask(worker="b")
    assert (made, len(waits)) == ([4], 1)
    assert study.replay(one.trial).same is True
    assert made == [4]


def test_who_waits_for_a_fit_lets_in_the_worker_who_makes_it(tmp_path, monkeypatch):
    """Both are threads of one process, as the requests that come to one server are."""
    study = kb.Study.create(tmp_path / "a.db", POINTS)
    play(study, 3)
    study.tell(row=20, value=truth(20), worker="a")
    looks, fitters = threading.Event(), list[str]()
    find, draft = Driver.find_fitter, Driver.draft_fits

    def find_and_say(driver: Driver, *given: Any) -> Any:
        looks.set()
        return find(driver, *given)

    def note_fitter(driver: Driver, *given: Any) -> Any:
        fitters.append(threading.current_thread().name)
        return draft(driver, *given)

    monkeypatch.setattr(session, "FIT_PATIENCE", 20.0)
    monkeypatch.setattr(Driver, "find_fitter", find_and_say)
    monkeypatch.setattr(Driver, "draft_fits", note_fitter)
    waiting = threading.Thread(target=study.ask, kwargs={"worker": "b"}, name="b")
    waiting.start()
    assert looks.wait(60)
    study.ask(worker="a")
    waiting.join()
    assert fitters[-1] == "b"
    assert fitters[0] == threading.current_thread().name, "the fit was made by another worker"
    assert kinds(study)[-3:] == ["fitted", "asked", "asked"]


def test_nobody_waits_long_for_a_fit_that_does_not_come(tmp_path, made, monkeypatch):
    study, other = kb.Study.create(tmp_path / "a.db", POINTS), kb.Study.open(tmp_path / "a.db")
    play(study, 3)
    monkeypatch.setattr(session, "FIT_PATIENCE", 0.02)
    study.tell(row=20, value=truth(20), worker="killed")
    made.clear()
    other.ask(worker="b")
    assert made == [4]
    # Nor where nobody is named, as on the command line: who asks may be who told.
    monkeypatch.setattr(other._session.lock, "wait", None)
    monkeypatch.setattr(session, "FIT_PATIENCE", 60.0)
    study.tell(row=21, value=truth(21), worker="killed")
    other.ask()
    assert made == [4, 5]


def test_a_fit_comes_back_to_the_last_bit(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", POINTS, noise=0.1)
    play(study, 9)
    study.ask()
    learner = study._session.updated_driver().policy.learner
    for fit in learner.made_fits.values():
        assert CODEC.decode(json.loads(json.dumps(CODEC.encode(fit)))) == fit
    event = [one for one in study.history() if one.kind == "fitted"][-1]
    assert CODEC.decode(event.body["fit"]) == learner.fit


@pytest.mark.thorough
@pytest.mark.parametrize("change", ["correct", "withdraw", "undo", "change"])
def test_a_fit_counts_until_one_of_its_results_changes(tmp_path, made, change):
    study = kb.Study.create(tmp_path / "a.db", POINTS, centre=0.0, spread=1.0)
    play(study, 13)
    driver = study._session.updated_driver()

    def valid() -> set[int]:
        found = fits.find_valid(study._session.state, kb.Auto.revision, driver.candidates)
        return set(found)

    all_of_them = valid()
    assert max(all_of_them) >= 11
    if change == "correct":
        study.correct(8, 0.25)
        assert valid() == {number for number in all_of_them if number < 8}
        study.undo()
        assert valid() == all_of_them
        study.correct(13, 0.25)
        assert valid() == {number for number in all_of_them if number < 13}
    elif change == "withdraw":
        study.withdraw(5)
        assert valid() == {number for number in all_of_them if number < 5}
    elif change == "undo":
        study.undo_all(2)
        assert valid() == {number for number in all_of_them if number < 13}
    else:
        study.change(noise=0.3)
        assert valid() == set()
        study.undo()
        study.change(lease=60.0, tolerance=0.5)
        assert valid() == all_of_them
    made.clear()
    (one,) = study.ask()
    assert study.replay(one.trial).same is True
    assert all(finding.ok for finding in study.doctor())


def test_the_doctor_makes_the_last_fit_again(tmp_path, made, monkeypatch):
    study = kb.Study.create(tmp_path / "a.db", POINTS)
    play(study, 8)
    study.ask()
    made.clear()
    (found,) = [one for one in study.doctor() if one.what == "fit"]
    last = [event for event in study.history() if event.kind == "fitted"][-1]
    assert found.ok
    assert made == [last.body["results"]]
    assert found.sentence.endswith("was made again: all numbers are the same")
    make = Fitter.fit

    def other(fitter: Fitter, rewards: Rewards) -> Any:
        fit = make(fitter, rewards)
        scaled = kb.calibration.Calibration(
            **{**vars(fit.calibration), "noise_variance": 1.01 * fit.calibration.noise_variance}
        )
        return replace(fit, calibration=scaled)

    monkeypatch.setattr(Fitter, "fit", other)
    (found,) = [one for one in study.doctor() if one.what == "fit"]
    assert found.sentence.endswith("scales differ by up to 0.01 of their size")

    def fewer(fitter: Fitter, rewards: Rewards) -> Any:
        fit = make(fitter, rewards)
        return replace(fit, members=fit.members[:1])

    monkeypatch.setattr(Fitter, "fit", fewer)
    (found,) = [one for one in study.doctor() if one.what == "fit"]
    assert "1 sets of scales now, and" in found.sentence


# Undo and release of many


def test_undo_of_many_after_a_late_result_undoes_all_or_nothing(where):
    study = kb.Study.create(where, POINTS)
    first, second = study.ask(2, lease=0.05)
    time.sleep(0.1)
    (third,) = study.ask()
    study.tell(first.trial, 0.5)
    before = kinds(study)
    # The ask of a trial that was released cannot be undone, also when its late result has been.
    possible = 2
    with pytest.raises(kb.StudyConflict, match=f"undo needs at most {possible} steps"):
        study.undo_all(possible + 1)
    assert kinds(study) == before
    undone = study.undo_all(possible)
    assert [event.body["kind"] for event in undone] == ["told", "asked"]
    assert undone[1].trial == third.trial
    assert study.status().told == 0
    assert second.trial not in study._session.state.pending


def test_undo_takes_back_all_that_one_command_wrote(where):
    study = kb.Study.create(where, POINTS)
    study.tell(row=3, value=1.0)
    study.ask(4)
    undone = study.undo_all(1)
    assert [event.body["kind"] for event in undone] == ["asked"] * 4
    assert study.status().pending == 0
    study.tell_all([{"row": row, "value": truth(row)} for row in range(10, 15)])
    study.tell(row=7, value=[1.0, 2.0, 3.0])
    assert study.undo().body["value"] == 3.0
    assert study.status().told == 6
    study.tell(row=8, value=1.5, key="plate/1")
    study.tell(row=9, value=2.5, key="plate/2")
    assert study.undo().body["value"] == 2.5
    assert len(study.undo_all(3)) == 1 + 5 + 1
    with pytest.raises(kb.StudyConflict, match="nothing is left to undo"):
        study.undo()
    study.ask(2)
    with pytest.raises(kb.StudyConflict, match="at most 1 step, because no more can be undone"):
        study.undo_all(2)


def test_undo_leaves_what_others_write_meanwhile(where):
    study, other = kb.Study.create(where, POINTS), kb.Study.open(where)
    play(study, 3)
    choose = edits.choose_undone

    def slow(state: State, n: int) -> Any:
        chosen = choose(state, n)
        other.tell(row=20, value=9.0)
        return chosen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "choose_undone", slow)
        undone = study.undo_all(2)
    assert [event.body["kind"] for event in undone] == ["told", "asked"]
    assert 9.0 in [trial.value for trial in study._session.state.results]
    assert study.status().told == 3


def test_undo_of_what_somebody_uses_meanwhile_is_refused_as_a_whole(where):
    study, other = kb.Study.create(where, POINTS), kb.Study.open(where)
    study.tell(row=1, value=0.25)
    (one,) = study.ask()
    choose = edits.choose_undone

    def slow(state: State, n: int) -> Any:
        chosen = choose(state, n)
        other.tell(one.trial, 0.75)
        return chosen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "choose_undone", slow)
        with pytest.raises(kb.StudyConflict, match=r"nobody changed meanwhile.*Nothing was undone"):
            study.undo_all(2)
    assert "undone" not in kinds(other)
    assert study.status().told == 2


@pytest.mark.parametrize("before", [True, False])
def test_of_two_people_who_undo_the_same_step_one_undoes_it(where, before):
    """Whether the other one was faster by far, or by the moment in which the step is looked up."""
    study, other = kb.Study.create(where, POINTS), kb.Study.open(where)
    told = [study.tell(row=row, value=0.25 * row) for row in (1, 2, 3)]
    seen = told[-1].seq
    choose = edits.choose_undone

    def slow(state: State, n: int) -> Any:
        chosen = choose(state, n)
        patch.undo()
        other.undo(event=seen)
        return chosen

    with pytest.MonkeyPatch.context() as patch:
        if before:
            other.undo(event=seen)
        else:
            patch.setattr(edits, "choose_undone", slow)
        with pytest.raises(kb.StudyConflict, match=f"got event {seen}.*Nothing was undone"):
            study.undo(event=seen)
    assert [trial.value for trial in study._session.state.results] == [0.25, 0.5]
    assert study.undo_all(2, event=told[1].seq)[0].body["of"] == told[1].seq


def test_a_step_is_named_by_any_of_its_events(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", POINTS)
    study.ask(3)
    first = study.history()[-3].seq
    assert study.history()[-3].kind == "asked"
    assert len(study.undo_all(1, event=first)) == 3
    with pytest.raises(ValueError, match="event"):
        study.undo(event=0)


@pytest.mark.parametrize("asked", [True, False])
def test_undo_of_a_result_that_somebody_corrects_meanwhile_is_refused(tmp_path, asked):
    study, other = kb.Study.create(tmp_path / "a.db", POINTS), kb.Study.open(tmp_path / "a.db")
    if asked:
        study.ask()
    told = study.tell(1, 0.25) if asked else study.tell(row=1, value=0.25)
    choose = edits.choose_undone

    def slow(state: State, n: int) -> Any:
        chosen = choose(state, n)
        other.correct(told.trial, 0.5)
        return chosen

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(edits, "choose_undone", slow)
        with pytest.raises(kb.StudyConflict, match=r"nobody changed meanwhile.*Nothing was undone"):
            study.undo()
    assert "undone" not in kinds(other)
    assert [trial.value for trial in study._session.state.results] == [0.5]


def test_release_of_many_beside_a_teller(where):
    study, other = kb.Study.create(where, POINTS), kb.Study.open(where)
    asked = study.ask(4, worker="w")
    study.ask(1, worker="v")
    turns = study._session.log.turns

    def late() -> Any:
        other.tell(asked[1].trial, 0.5)
        study._session.log.turns = turns
        yield from turns()

    study._session.log.turns = late
    released = study.release_all(worker="w")
    assert [event.trial for event in released] == [asked[i].trial for i in (0, 2, 3)]
    assert other.status().told == 1
    before = kinds(other)
    with pytest.raises(kb.StudyConflict, match=r"got trial 2\. Nothing was released"):
        study.release_all([5, 2])
    with pytest.raises(ValueError, match="release needs trials or a worker"):
        study.release_all([5], worker="w")
    assert kinds(other) == before
    assert [event.trial for event in study.release_all([range(1, 99)])] == [5]


def test_the_command_line_undoes_and_releases_in_one_transaction(tmp_path):
    place = tmp_path / "a.db"
    with kb.Study.create(place, POINTS) as study:
        study.ask(5)
    done = run_command("study", "release", place, "1", "9", "3")
    assert done.returncode == 1
    assert "Nothing was released" in done.stderr
    done = run_command("study", "release", place, "--all", "--format", "json")
    assert [event["trial"] for event in json.loads(done.stdout)] == [1, 2, 3, 4, 5]
    done = run_command("study", "undo", place, "--n", 3)
    assert done.returncode == 1
    with kb.Study.open(place) as study:
        play(study, 2)
        before = len(study.history())
    assert run_command("study", "undo", place, "--n", 4).returncode == 0
    with kb.Study.open(place) as study:
        assert (study.status().told, study.status().pending) == (0, 0)
        assert kinds(study)[before:].count("undone") == 4


# Limits and small numbers


def test_a_limit_of_the_size_of_files_is_no_disk_error(tmp_path):
    place = tmp_path / "a.db"
    study = kb.Study.create(place, POINTS)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (place.stat().st_size + 4096, limits[1]))
    told: list[Any] = []
    try:
        with pytest.raises(StorageFull, match=r"ulimit -f"):
            told.extend(study.tell(row=i % 24, value=0.5, key=f"{i}-" + "x" * 150) for i in count())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert study.status().told == len(study.history()) - 1 - kinds(study).count("settings")
    study.tell(row=2, value=0.75)
    assert all(finding.ok for finding in study.doctor())


@pytest.mark.parametrize("policy", ["auto", "simple-ucb:noise_scale=0.1,norm_bound=1"])
def test_the_smallest_numbers_are_no_fault(tmp_path, policy):
    study = kb.Study.create(tmp_path / "a.db", POINTS, policy=policy)
    for row in range(7):
        study.tell(row=row, value=5e-324)
        assert [one for one in study.doctor() if not one.ok] == []
    study.ask()
    assert [one for one in study.doctor() if not one.ok] == []


# What a command imports


COMMAND = """
import sys
from kernelbandits.apps.cli import main
try:
    main(["study", *sys.argv[1:]])
except SystemExit as end:
    assert not end.code, end.code
ours = {name.split(".")[1] for name in sys.modules if name.startswith("kernelbandits.")}
print(*sorted(ours), *({"scipy"} & set(sys.modules)), file=sys.stderr)
"""


LESS_USED = ("correct a.db 2 0.5", "undo a.db", "release a.db --all")


@pytest.mark.thorough
@pytest.mark.parametrize(
    "words",
    [
        *("tell a.db 1 0.5", "history a.db"),
        *with_long(LESS_USED, LESS_USED),
    ],
)
def test_these_commands_import_no_policy(tmp_path, words):
    with kb.Study.create(tmp_path / "a.db", POINTS) as study:
        study.ask(2)
        study.tell(2, 0.25)
    command = [sys.executable, "-c", COMMAND, *words.split()]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert set(done.stderr.split("\n")[-2].split()) == {
        "apps",
        "censored",
        "checks",
        "codec",
        "formatting",
        "markup",
        "outputs",
        "report",  # The names of the figures, for the help of `plot`.
        "row_index",
        "runtime",
        "storage",
        "study",
        "tables",
    }


def test_telling_builds_no_policy(tmp_path, monkeypatch):
    place = tmp_path / "a.db"
    with kb.Study.create(place, POINTS) as study:
        study.ask(3)
    monkeypatch.setattr("kernelbandits.study.driver.Driver.__init__", None)
    with kb.Study.open(place) as study, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study.tell(1, 0.5)
        study.tell_all([{"trial": 2, "value": 0.25}])
        study.correct(1, 0.75)
        study.withdraw(2)
        study.undo_all(2)
        study.release(3)
        study.history()
        study.to_dataframe()
        study.export(Path(tmp_path) / "out.csv")


def test_no_fit_is_made_while_others_wait_for_the_lock(tmp_path):
    place = tmp_path / "films.db"
    with kb.Study.create(place, np.linspace(0, 1, 30)[:, None], seed=1) as study:
        session, asker = study._session, asks.Asker(1, None, None, make_call("ask", "one", {}))
        study.tell(row=3, value=0.4)
        assert session.driver.find_due_fit(session.state) == 1
        robbed = asks.AskPlan([], [], replace(session.state.settings, lease=1.0))
        assert session._write_plan(asker, robbed, True) == (None, False)
        assert not session.state.fits
        session.updated_driver()
        assert session._write_plan(asker, robbed, True)[1]
        assert session.state.events[-1].kind == "asked"
        assert [event.body["results"] for event in session.state.fits] == [1]


def test_no_garbage_is_collected_while_others_wait_for_the_lock(tmp_path, monkeypatch):
    collects, append = [], Turn.append

    def watched(turn: Turn, drafts: Any) -> Any:
        collects.append(gc.isenabled())
        return append(turn, drafts)

    with kb.Study.create(tmp_path / "films.db", POINTS, seed=1) as study:
        monkeypatch.setattr(Turn, "append", watched)
        play(study, 2)
    assert collects
    assert not any(collects)
    assert gc.isenabled()


@pytest.mark.parametrize("back", ["withdraw", "undo"])
def test_units_that_were_settled_are_set_again_when_too_few_results_are_left(tmp_path, back):
    with kb.Study.create(tmp_path / "films.db", POINTS, seed=1) as study:
        state = study._session.state
        for row in range(7):
            study.tell(row=row, value=float(row))
        assert state.scale_settled
        for trial in range(7, 3, -1):
            study.withdraw(trial) if back == "withdraw" else study.undo()
        assert not state.scale_settled
        study.tell(row=20, value=100.0)
        study.tell(row=21, value=300.0)
        assert state.scale_settled
        assert state.scaled == state.due_scale == State.of(state.events).due_scale
        assert state.scaled[0] > 50


def test_what_a_tell_compares_with_are_the_values_before_it(tmp_path):
    with kb.Study.create(tmp_path / "films.db", POINTS, seed=1) as study:
        study.tell(row=0, value=1.0)
        study.tell(row=1, failed=True)
        latest = plausibility.remember_latest(study._session.state)
        study.correct(1, 5.0)
        assert plausibility.list_values(latest, "value") == [(1, 0, 1.0)]
        assert plausibility.latest_values(study._session.state) == [(1, 0, 5.0)]


def test_equal_calls_said_in_two_ways_are_one_call(tmp_path):
    with kb.Study.create(tmp_path / "a.db", [[float(i)] for i in range(9)], target="y") as study:
        study.ask(3)
        first = study.forbid({1, 2}, key="gone")
        assert study.forbid([2, 1], key="gone") == first
        assert study.forbid(np.array([1, 2]), key="gone") == first
        assert study.tell(1, 0.5, key="run").seq == study.tell(1, {"y": 0.5}, key="run").seq
        told = study.tell(2, {"y": 1}, sem={"y": 0.1}, key="next")
        assert study.tell(2, 1.0, sem=0.1, key="next").seq == told.seq
        with pytest.raises(StudyConflict, match="needs a new key for a new call"):
            study.forbid([1, 3], key="gone")
        with pytest.raises(StudyConflict, match="needs a new key for a new call"):
            study.tell(1, {"y": 0.6}, key="run")
