"""The goal front: studies of two to four targets, of which none is traded off beforehand."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import document, said, study
from kernelbandits.checks import DataNotice
from kernelbandits.policies.hypervolume import find_front

TABLE = pd.DataFrame(
    {
        "sample": [f"A{i}" for i in range(48)],
        "heat": np.tile(np.linspace(0.0, 1.0, 8), 6),
        "acid": np.repeat(np.linspace(0.0, 1.0, 6), 8),
    }
)
SPACE = {"heat": kb.Real(0, 1), "acid": kb.Real(0, 1)}
TARGETS = {"gain": "maximize", "waste": "minimize"}


def measure(x) -> dict[str, float]:
    return {"gain": x["heat"] - 0.3 * x["acid"], "waste": x["heat"] ** 2 + x["acid"]}


def make(where, domain=TABLE, **more) -> kb.Study:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        given = {"targets": TARGETS, "goal": "front", "seed": 1, **more}
        return kb.Study.create(where, domain, **given)


def play(lab: kb.Study, rounds: int, failing: tuple[int, ...] = ()) -> list[int]:
    rows = []
    for _ in range(rounds):
        [one] = lab.ask()
        rows.append(one.row)
        if one.trial in failing:
            lab.tell(one.trial, failed=True)
        else:
            lab.tell(one.trial, measure(one.x))
    return rows


def test_the_front_of_a_table_is_found_with_the_intervals_of_its_targets(where):
    lab = make(where)
    play(lab, 14)
    front = lab.front()
    # Without acid every heat is on the front; other rows are not.
    assert (front["acid"] == 0).sum() >= 6
    for name in TARGETS:
        assert (front[f"{name} low"] < front[f"{name} high"]).all()
    status = lab.status()
    assert [one.row for one in status.front] == front["row"].tolist()
    assert "[" in status.front[0].sentence
    assert status.goal == "front"
    assert "a front is never known to be complete" in status.stop.sentence
    lab.close()


def test_a_space_is_searched_and_failures_are_avoided(where):
    lab = make(where, SPACE)
    play(lab, 10, failing=(3, 7))
    trials = lab.to_dataframe()
    assert trials["front"].sum() >= 4
    points = trials[["heat", "acid"]].to_numpy()
    assert len(np.unique(points.round(6), axis=0)) == 10
    lab.close()


def test_every_ask_is_computed_again_from_the_events(where):
    lab = make(where)
    play(lab, 9, failing=(5,))
    for trial in (4, 6, 9):
        assert lab.replay(trial).same
    assert all(one.ok for one in lab.doctor())
    rows = lab.ask(2)
    lab.close()
    again = kb.Study.open(where)
    lab = again
    assert [one.trial for one in lab.waiting()] == [one.trial for one in rows]
    why = lab.explain(rows[0].trial).sentence
    assert "raise the front" in why
    lab.close()


def test_a_limit_keeps_the_front_where_it_is_met(where):
    lab = make(where, targets={**TARGETS, "smell": "<=0.5"})
    for _ in range(12):
        [one] = lab.ask()
        lab.tell(one.trial, {**measure(one.x), "smell": one.x["heat"]})
    last = lab.to_dataframe().tail(5)
    assert (last["smell"] <= 0.6).mean() >= 0.6
    lab.close()


def test_the_goal_can_be_changed_to_the_front_and_back(where):
    lab = make(where, goal="find")
    play(lab, 6)
    lab.change(goal="front")
    play(lab, 4)
    assert lab.status().goal == "front"
    lab.change(goal="find")
    assert lab.ask()[0].trial == 11
    lab.close()


def test_optimize_measures_for_a_study_of_the_front(where):
    lab = make(where, SPACE)
    kb.optimize(measure, SPACE, 8, study=lab)
    assert len(lab.front()) >= 3
    lab.close()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"targets": {"gain": "maximize"}}, "2 to 4 targets to maximize or minimize"),
        ({"targets": {"gain": "maximize", "pH": "aim=7"}}, "an aim of pH"),
        ({"targets": dict.fromkeys("abcde", "maximize")}, "2 to 4 targets"),
        ({"tolerance": 0.1}, "no tolerance, which is a number of a single target"),
        ({"noise": 0.1}, "no noise, which is a number of a single target"),
    ],
)
def test_what_has_no_front_is_refused(where, given, message):
    with pytest.raises(ValueError, match=message):
        make(where, **given)


def test_a_named_policy_has_no_front(where):
    with pytest.raises(ValueError, match="goal"):
        make(where, policy="gp-ucb")


def test_the_command_line_looks_for_the_front(tmp_path):
    table, place = tmp_path / "t.csv", tmp_path / "s.db"
    TABLE.to_csv(table, index=False)
    wanted = [part for name, how in TARGETS.items() for part in ("--target", f"{name}:{how}")]
    made = said("create", place, "--candidates", table, *wanted, "--goal", "front")
    assert "find the rows that no other one exceeds in all targets" in made
    with kb.Study.open(place) as lab:
        play(lab, 7)
    assert "gain" in said("status", place)
    assert document("status", place)["front"][0]["intervals"]["waste"]
    why = said("ask", place)
    assert "raise the front (its hypervolume) by" in why
    picture = tmp_path / "front.svg"
    said("plot", place, picture, "--what", "hypervolume")
    assert "<svg" in picture.read_text()
    done = study("change", place, "--tolerance", "0.1")
    assert done.code != 0
    assert "no tolerance" in done.err


def test_the_front_that_is_shown_is_the_front_of_what_was_measured(where):
    lab = make(where)
    play(lab, 8)
    trials = lab.to_dataframe()
    values = np.column_stack([trials["gain"], -trials["waste"]])
    assert sorted(find_front(values)) == np.flatnonzero(trials["front"]).tolist()
    lab.close()


def test_ranges_say_what_is_worth_nothing(where, tmp_path):
    ranged = {"gain": "maximize,range=0.2..1", "waste": "minimize,range=0..0.8"}
    with make(where, targets=ranged) as lab:
        play(lab, 6)
        driver = lab._session.answers().driver
        scale = driver._states["waste"].scale
        assert driver.chooser.reference[1] == pytest.approx(scale.inward(0.8))
        assert scale.inward(0.8) < scale.inward(0.1)
    with make(tmp_path / "plain.db") as lab:
        play(lab, 6)
        assert lab._session.answers().driver.chooser.reference is None
