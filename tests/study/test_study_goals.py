"""Studies that find or earn: goal, noise and budget, why, repeats, and answers to bad input."""

from __future__ import annotations

import io
import json
import math
import warnings
from collections import Counter
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import kernelbandits as kb
from kernelbandits.apps.cli import app, exit_code
from kernelbandits.formatting import format_share
from kernelbandits.insight import LeaveOneOut
from kernelbandits.study.answers import Answers
from kernelbandits.study.candidates import read_candidates
from kernelbandits.study.cautions import NO_BETTER
from kernelbandits.study.plausibility import (
    Expected,
    expect_result,
    intended_value,
    is_unusual,
    undo_slip,
)

GRID = np.array([(a / 5, b / 4) for a in range(6) for b in range(5)])
NAMED = {"policy": "simple-ucb", "settings": {"noise_scale": 0.1, "norm_bound": 1.0}}


def height(point: Any) -> float:
    """One smooth top at (0.4, 0.5), of height 0.8."""
    return 0.8 - float(np.sum((np.asarray(point) - (0.4, 0.5)) ** 2))


TRUTH = np.array([height(point) for point in GRID])


def play(study: kb.Study, rounds: int, noise: float = 0.0, seed: int = 0) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(rounds):
        [one] = study.ask()
        study.tell(one.trial, TRUTH[one.row] + noise * rng.standard_normal())


class Done(NamedTuple):
    """What a command wrote, and how it ended."""

    exit_code: int
    stdout: str
    stderr: str


def run(*arguments: object) -> Done:
    """A command of the command line, with its notes."""
    out, err = io.StringIO(), io.StringIO()
    with warnings.catch_warnings(), redirect_stdout(out), redirect_stderr(err):
        warnings.simplefilter("always")
        try:
            code = exit_code(lambda: app(["study", *map(str, arguments)], standalone_mode=True))
        except SystemExit as end:
            code = int(end.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def document(*arguments: object) -> Any:
    done = run(*arguments, "--format", "json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """A table of 30 rows as a file."""
    path = tmp_path / "films.csv"
    pd.DataFrame(GRID, columns=["Cs", "FA"]).to_csv(path, index=False)
    return path


# ---------------------------------------------------------------- settings


def test_a_study_finds_unless_it_is_told_otherwise(tmp_path):
    found = kb.Study.create(tmp_path / "a.db", GRID)
    assert [found.settings[name] for name in ("goal", "noise", "rounds")] == ["find", None, None]
    assert found._session.driver.policy.goal == "find"
    earned = kb.Study.create(tmp_path / "b.db", GRID, goal="earn", noise=0, rounds=12)
    assert [earned.settings[name] for name in ("goal", "noise", "rounds")] == ["earn", 0, 12]
    policy = earned._session.driver.policy
    assert (policy.goal, policy.noise, policy.rounds) == ("earn", 0, 12)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"goal": "find"}, "no goal with the policy simple-ucb: its own rule plays, repeats"),
        ({"noise": 0.1}, "no noise with the policy simple-ucb: only auto takes the noise"),
        ({"rounds": 9}, "no rounds with the policy simple-ucb: only auto takes a budget"),
    ],
)
def test_a_named_policy_plays_its_own_rule(tmp_path, given, sentence):
    with pytest.raises(ValueError, match=f"^Study needs {sentence}"):
        kb.Study.create(tmp_path / "a.db", GRID, **NAMED, **given)
    study = kb.Study.create(tmp_path / "a.db", GRID, **NAMED)
    assert study.settings["goal"] is None
    assert study.status().repeats == "whenever the policy chooses a row again"
    with pytest.raises(ValueError, match=sentence):
        study.change(**given)


@pytest.mark.parametrize(
    ("given", "needed"),
    [
        ({"goal": "both"}, 'the goal "find", "earn" or "front", got \'both\''),
        ({"noise": -0.1}, "noise >= 0"),
        ({"noise": math.nan}, "noise >= 0"),
        ({"noise": 1e200}, r"a noise of at most 1e\+150"),
        ({"rounds": 0}, "rounds"),
        ({"rounds": 2.5}, "rounds"),
    ],
)
def test_goal_noise_and_rounds_are_checked(tmp_path, given, needed):
    with pytest.raises(ValueError, match=needed):
        kb.Study.create(tmp_path / "a.db", GRID, **given)
    assert not (tmp_path / "a.db").exists()


def test_a_goal_may_stand_with_the_name_of_the_policy(tmp_path):
    study = kb.Study.create(
        tmp_path / "a.db", GRID, policy="auto:goal=earn,nu=1.5", settings={"noise": 0.5}
    )
    assert [study.settings[name] for name in ("goal", "noise")] == ["earn", 0.5]
    assert study.settings["settings"] == {"nu": 1.5}


def test_a_width_belongs_to_the_goal_earn(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID, policy="auto:width=theory")
    assert study.settings["goal"] == "earn"
    assert "Conditional guarantee" in study.status().purpose
    with pytest.raises(ValueError, match='no width with the goal "find"'):
        study.change(goal="find")


def test_a_change_of_policy_brings_and_takes_the_goal(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID, goal="earn", noise=0.1, rounds=20)
    study.change(**NAMED)
    assert [study.settings[name] for name in ("goal", "noise", "rounds")] == [None] * 3
    study.change(policy="auto", noise=0.2)
    assert [study.settings[name] for name in ("goal", "noise")] == ["find", 0.2]
    study.change(goal="earn")
    study.change(goal=None, noise=None)
    assert [study.settings[name] for name in ("goal", "noise")] == ["find", None]


def test_the_noise_is_handed_over_in_the_units_of_the_policy(tmp_path):
    """The policy sees (y - centre) / spread, whose spread changes with each of the first results."""
    study = kb.Study.create(tmp_path / "a.db", GRID, noise=3.0)
    for row, value in enumerate((100.0, 140.0, 90.0, 170.0, 120.0, 110.0)):
        study.tell(row=row * 4, value=value)
        study.best()
        spread = study.status().spread
        assert study._session.driver.policy.noise == pytest.approx(3.0 / spread)
    given = kb.Study.create(tmp_path / "b.db", GRID, noise=3.0, centre=100.0, spread=6.0)
    assert given._session.driver.policy.noise == 0.5


def test_each_column_of_text_is_one_block_of_coordinates(tmp_path):
    films = pd.DataFrame(
        {"Cs": [0.0, 0.5, 1.0, 0.2], "solvent": ["DMF", "DMSO", "NMP", "DMF"], "T": [100] * 4}
    )
    assert read_candidates(films).blocks == ((0,), (1, 2, 3))
    assert read_candidates(films[["T"]]).blocks == ((0,),)
    study = kb.Study.create(tmp_path / "a.db", films)
    assert study._session.driver.policy.domain.blocks == ((0,), (1, 2, 3))


def test_the_command_line_takes_goal_noise_and_rounds(tmp_path, table):
    place = tmp_path / "a.db"
    made = document(
        *("create", place, "--candidates", table, "--target", "value"),
        *("--goal", "earn", "--noise", "0.02", "--rounds", 40),
    )
    assert (made["goal"], made["noise"], made["rounds"]) == ("earn", 0.02, 40)
    text = " ".join(run("status", place).stdout.split())
    assert "goal earn good results while measuring. No guarantee:" in text
    assert "0 of 40 results so far" in text
    run("change", place, "--goal", "find", "--noise", 0, "--rounds", 30)
    status = document("status", place)
    assert (status["goal"], status["noise"], status["rounds"]) == ("find", 0.0, 30)
    assert "find the best row. Nothing is claimed about the results on the way." in " ".join(
        run("status", place).stdout.split()
    )
    text = run("create", tmp_path / "b.db", "--candidates", table, "--target", "value").stdout
    assert "Goal: find the best row." in text


def test_the_command_line_refuses_a_goal_of_a_named_policy(tmp_path, table):
    named = ("--policy", "simple-ucb", "--noise-scale", 0.1, "--norm-bound", 1)
    done = run(
        "create",
        tmp_path / "a.db",
        "--candidates",
        table,
        "--target",
        "value",
        *named,
        "--goal",
        "find",
    )
    assert done.exit_code == 2
    assert "no goal with the policy simple-ucb" in done.stderr
    assert (
        run(
            "create", tmp_path / "a.db", "--candidates", table, "--target", "value", "--goal", "x"
        ).exit_code
        == 2
    )


# ---------------------------------------------------------------- why, repeats, status


def test_why_says_the_improvement_that_is_expected(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID)
    play(study, 6)
    best = study.best()
    [one] = study.ask()
    note = one.note
    assert one.why == (
        f"Estimate {note['mean']:.4g} ± {note['sd']:.2g}: measuring it is expected to improve on "
        f"the best so far (row {best.row}) by {note['improvement']:.2g}. It was drawn by lot, in "
        "which a row has the better chances the more it promises; its chance was "
        f"{format_share(note['draw_chance'])}."
    )
    why = study.explain(one.trial)
    assert why.improvement == pytest.approx(note["improvement"])
    assert (why.weight, why.width, why.bonus, why.index) == (None, None, None, None)
    assert why.sentence.startswith(one.why)
    assert study.replay(one.trial).same


def test_the_improvement_is_in_the_units_of_the_target(tmp_path):
    """The same study in other units, and turned upside down, expects the same improvements."""
    notes = []
    for scale, direction in ((1.0, "max"), (1000.0, "max"), (-1000.0, "min")):
        study = kb.Study.create(tmp_path / f"{scale}.db", GRID, direction=direction)
        for row in (0, 7, 13, 22, 28, 3):
            study.tell(row=row, value=5 + scale * TRUTH[row])
        notes.append(study.ask()[0].note["improvement"] / abs(scale))
    assert notes == pytest.approx([notes[0]] * 3, rel=1e-6)


def test_the_command_line_shows_the_improvement(tmp_path):
    place = tmp_path / "a.db"
    with kb.Study.create(place, GRID) as study:
        play(study, 6)
    [asked] = document("ask", place)
    explained = document("explain", place, asked["trial"])
    assert explained["improvement"] == pytest.approx(asked["note"]["improvement"])
    assert "expected improvement" in run("explain", place, asked["trial"]).stdout


def test_where_nothing_is_left_to_gain_why_says_so(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", np.linspace(0, 1, 6)[:, None], noise=0)
    for row in range(6):
        study.tell(row=row, value=float(row))
    assert (
        "no row is expected to improve noticeably on the best so far (row 5)" in study.ask()[0].why
    )


def test_a_noisy_row_is_measured_again_where_that_gains_most_and_why_says_so(tmp_path):
    """Two rows stand out, and only repeats can tell which of them is better."""
    study = kb.Study.create(tmp_path / "a.db", np.eye(6), noise=0.3)
    for row, value in enumerate((0.0, 0.1, -0.1, 0.05, 3.0, 3.1)):
        study.tell(row=row, value=value)
    assert study.settings["repeats"] is None
    [one] = study.ask()
    assert one.row in (4, 5)
    assert one.why.startswith(f"Row {one.row} was measured once before; estimate ")
    assert "measuring it again is expected to improve the row recommended in the end by" in one.why
    assert study.status().repeats.startswith("when one more measurement of a row is expected")

    study.release(one.trial)
    study.change(repeats=True)
    assert study.ask()[0].row in (4, 5)
    never = kb.Study.create(tmp_path / "b.db", np.eye(6), noise=0.3, repeats=False)
    never.tell_all([{"row": row, "value": float(row)} for row in range(4)])
    assert sorted(one.row for one in never.ask(2)) == [4, 5]
    with pytest.raises(kb.StudyConflict, match="repeats are off"):
        never.ask()


@pytest.mark.thorough
def test_without_noise_no_row_is_measured_twice_while_others_are_left(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID, noise=0)
    play(study, 20)
    rows = [event.row for event in study.history() if event.kind == "asked"]
    assert len(set(rows)) == 20
    assert TRUTH[study.best().row] == max(TRUTH[rows]) == TRUTH.max()


def test_status_says_the_goal_and_what_is_claimed(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID, rounds=30)
    play(study, 5)
    status = study.status()
    assert status.goal == "find"
    assert status.purpose == (
        "find the best row. Nothing is claimed about the results on the way. "
        "5 of 30 results so far."
    )
    assert "(goal: find)" in str(status)
    study.change(goal="earn", rounds=None)
    assert study.status().purpose == (
        "earn good results while measuring. No guarantee: the rule looks ahead by fitted scales, "
        "without a confidence width."
    )


@pytest.mark.thorough
def test_dear_rows_are_suggested_less_often_when_finding(tmp_path):
    table = pd.DataFrame(GRID, columns=["Cs", "FA"])
    table["price"] = np.where(np.arange(30) % 2, 50.0, 1.0)
    spent = []
    for cost in (None, "price"):
        study = kb.Study.create(tmp_path / f"{cost}.db", table, cost=cost, columns=["Cs", "FA"])
        play(study, 12)
        asked = [event.row for event in study.history() if event.kind == "asked"]
        # The initial design takes cheap rows by itself.
        spent.append(table.price[asked[4:]].sum())
    assert spent[1] < 0.5 * spent[0]


# ---------------------------------------------------------------- noise given wrong, poor models


def told_twice(place: Path, noise: float, given: float | None, seed: int) -> kb.Study:
    """A study in which every third row was measured twice."""
    rng = np.random.default_rng(seed)
    study = kb.Study.create(place, GRID, noise=given)
    rows = [*range(0, 30, 3)] * 2
    study.tell_all([{"row": r, "value": TRUTH[r] + noise * rng.standard_normal()} for r in rows])
    return study


@pytest.mark.parametrize(("noise", "given"), [(0.1, 0.001), (0.01, 1.0)])
def test_a_noise_wrong_by_a_factor_of_100_is_overruled_and_said(tmp_path, noise, given):
    study = told_twice(tmp_path / "a.db", noise, given, seed=1)
    [said] = [one for one in study.status().notices if "You gave a noise" in one]
    fitted = (
        kb.insight.fitted_model(study._session.driver.policy).noise_scale * study.status().spread
    )
    assert said == (
        f"You gave a noise of {given:g}, but the results look as if it were about {fitted:.2g}; "
        "the fitted noise is used."
    )
    assert noise / 3 < fitted < 3 * noise
    with pytest.warns(kb.DataNotice, match="You gave a noise"):
        [one] = study.ask()
    assert said in one.notices
    # It was said of this fit; another process does not say it again before there is another one.
    assert "You gave a noise" not in run("ask", tmp_path / "a.db").stderr
    again = told_twice(tmp_path / "b.db", noise, given, seed=1)
    shown = run("ask", again.place)
    assert f"note: You gave a noise of {given:g}" in shown.stderr
    assert said in document("status", tmp_path / "a.db")["notices"]


@pytest.mark.parametrize(
    ("noise", "given"),
    [
        (0.01, 0.0001),
        pytest.param(0.01, 1.0, marks=pytest.mark.thorough),
        pytest.param(0.0, 1.0, marks=pytest.mark.thorough),
    ],
)
def test_a_noise_wrong_by_a_factor_of_100_still_finds(tmp_path, noise, given):
    """Better than the best result of 15 random rows out of 30, on average over 2000 draws."""
    lost = []
    for seed in range(4):
        study = kb.Study.create(tmp_path / f"{seed}.db", GRID, noise=given, seed=seed)
        play(study, 15, noise, seed)
        lost.append(TRUTH.max() - TRUTH[study.best().row])
    rng, random = np.random.default_rng(0), []
    for _ in range(2000):
        rows = rng.permutation(30)[:15]
        luckiest = rows[np.argmax(TRUTH[rows] + noise * rng.standard_normal(15))]
        random.append(TRUTH.max() - TRUTH[luckiest])
    assert np.mean(lost) < np.mean(random)


def test_results_of_one_row_that_contradict_the_noise_are_named_by_tell(tmp_path, table):
    study = kb.Study.create(tmp_path / "a.db", GRID, noise=0.01)
    study.tell(row=3, value=0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        study.tell(row=3, value=0.52)
    sentence = r"you gave a noise of 0.01, but row 3 gave 0.52 \(trial 2\) and 0.9 \(trial 3\)"
    with pytest.warns(kb.DataNotice, match=sentence):
        study.tell(row=3, value=0.9)
    shown = run("tell", tmp_path / "a.db", "--row", 3, 0.1)
    assert "note: you gave a noise of 0.01, but row 3 gave 0.9" in shown.stderr


def test_a_right_noise_is_not_contradicted(tmp_path):
    for noise in (0.0, 0.05):
        study = told_twice(tmp_path / f"{noise}.db", noise, noise, seed=2)
        assert study.status().notices == ()


@pytest.mark.thorough
def test_a_model_no_better_than_the_mean_is_said_with_every_answer(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID)
    values = np.random.default_rng(4).standard_normal(14)
    study.tell_all([{"row": 2 * i, "value": value} for i, value in enumerate(values)])
    assert kb.insight.leave_one_out(study._session.updated_driver().policy).skill <= 0
    assert study.best().caution == NO_BETTER
    assert NO_BETTER in str(study.best())
    assert NO_BETTER in study.status().stop.sentence
    assert NO_BETTER in str(study.status())
    status = document("status", tmp_path / "a.db")
    assert status["best"]["caution"] == NO_BETTER
    assert NO_BETTER in status["stop"]["sentence"]
    assert NO_BETTER in " ".join(run("status", tmp_path / "a.db").stdout.split())

    good = kb.Study.create(tmp_path / "b.db", GRID)
    good.tell_all([{"row": row, "value": TRUTH[row]} for row in range(0, 30, 2)])
    assert good.best().caution == ""
    assert NO_BETTER not in str(good.status())


def test_without_a_model_that_predicts_rows_without_a_result_count_as_drawn_from_a_hat(
    tmp_path, monkeypatch
):
    """In every function: P(lead > x) = m exp(-x/s) / (n + m exp(-x/s)), each row equally often."""
    study = kb.Study.create(tmp_path / "a.db", GRID)
    values = np.random.default_rng(4).standard_normal(14)
    study.tell_all([{"row": 2 * i, "value": value} for i, value in enumerate(values)])
    monkeypatch.setattr(LeaveOneOut, "trust", 0.0)
    answers = study._session.answers()
    kept, draws = answers.draw_functions_near(answers.recommended_arm)
    unmeasured = ~answers.measured_rows[kept]
    n, m, scale = 14, len(GRID) - 14, answers.left_out.upper_spread
    assert answers.unmeasured_count == m
    assert unmeasured.sum() == m
    leads = draws[:, unmeasured].max(1) - draws[:, ~unmeasured].max(1)
    for lead in (0.0, 0.5 * scale, 2 * scale):
        tail = m * math.exp(-lead / scale)
        # The functions are spread evenly, so the share is nearer than that of random draws.
        assert (leads > lead).mean() == pytest.approx(tail / (n + tail), abs=0.01)
    leaders = draws[leads > 0][:, unmeasured].argmax(1)
    shares = np.bincount(leaders, minlength=m) / len(leaders)
    assert np.abs(shares - 1 / m).max() < 0.02
    study.change(tolerance=float(answers.scale.length(0.5 * scale)))
    assert not study.status().stop.may_stop
    # A model that is trusted for certain leaves the functions as they are.
    monkeypatch.setattr(LeaveOneOut, "trust", 1.0)
    fresh = kb.Study.open(tmp_path / "a.db")._session.answers()
    monkeypatch.setattr(Answers, "left_out", None)
    plain = kb.Study.open(tmp_path / "a.db")._session.answers()
    arm = fresh.recommended_arm
    np.testing.assert_array_equal(
        fresh.draw_functions_near(arm)[1], plain.draw_functions_near(arm)[1]
    )


def test_named_policies_are_judged_by_their_predictions_too(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID, **NAMED)
    values = np.random.default_rng(4).standard_normal(14)
    study.tell_all([{"row": 2 * i, "value": value} for i, value in enumerate(values)])
    assert study.best().caution == NO_BETTER


@pytest.mark.thorough
def test_with_a_noise_of_0_rows_that_share_the_best_result_are_measured_once(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID, noise=0.0)
    rows = []
    for _ in range(len(GRID)):
        [one] = study.ask()
        rows.append(one.row)
        study.tell(one.trial, min(TRUTH[one.row], 0.75))
    assert sorted(rows) == list(range(len(GRID)))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("value", [0.5, 0.0, -3.0])
def test_while_all_results_are_equal_new_rows_are_asked_for(tmp_path, value):
    study = kb.Study.create(tmp_path / "a.db", GRID)
    said, rows = [], []
    for _ in range(12):
        [one] = study.ask()
        rows.append(one.row)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            study.tell(one.trial, value)
        said += [str(notice.message) for notice in caught]
    assert len(set(rows)) == 12
    assert said == [
        f"all 5 results are {value:g}, so the spread of value is unknown. Estimates and intervals "
        "mean little until a result differs"
    ]
    assert study.status().stop.may_stop is False
    assert "all results are equal" in study.status().stop.sentence


def test_when_the_first_results_are_equal_and_others_differ_the_study_goes_on(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID)
    for number in range(18):
        [one] = study.ask()
        study.tell(one.trial, 0.5 if number < 5 else TRUTH[one.row])
    rows = [event.row for event in study.history() if event.kind == "asked"]
    assert len(set(rows)) >= 15
    assert study.status().stop.left is not None
    assert TRUTH.max() in TRUTH[rows]


def test_the_command_line_says_once_that_all_results_are_equal(tmp_path, table):
    place = tmp_path / "a.db"
    run("create", place, "--candidates", table, "--target", "value")
    notes = [run("tell", place, "--row", 3 * row, 7).stderr for row in range(7)]
    assert [bool(note) for note in notes] == [False] * 4 + [True] + [False] * 2
    assert notes[4].startswith("note: all 5 results are 7, so the spread of value is unknown")
    assert "all results are equal" in document("status", place)["stop"]["sentence"]


@pytest.mark.parametrize(
    ("value", "meant"), [(83.0, 0.83), (8.3, 0.83), (830.0, 0.83), (0.083, 0.83), (0.0081, 0.81)]
)
def test_a_slip_of_the_decimal_point_is_named_with_the_fourth_result(tmp_path, value, meant):
    study = kb.Study.create(tmp_path / "a.db", GRID)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        for row, right in enumerate((0.80, 0.84, 0.81)):
            study.tell(row=row, value=right)
    with pytest.warns(kb.DataNotice) as caught:
        study.tell(row=12, value=value)
    assert [str(one.message) for one in caught] == [
        f"trial 4 (row 12): {value:g} is far from the other results (0.8 to 0.84); did you mean "
        f"{meant:g}? It counts as it is. If it was mistyped, correct it: study.correct(4, "
        f"{meant:g}), or kernelbandits study correct PLACE 4 {meant:g}"
    ]
    study.correct(4, meant)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        study.tell(row=5, value=0.79)


def test_a_slip_among_the_first_results_is_named_as_soon_as_it_can_be_seen(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        for row, value in enumerate((0.80, 82.0, 0.81)):
            study.tell(row=row, value=value)
    with pytest.warns(kb.DataNotice, match=r"trial 2 \(row 1\): 82 .* did you mean 0.82\?"):
        study.tell(row=7, value=0.84)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        study.tell(row=8, value=0.83)


def test_a_slip_in_a_file_of_results_is_named(tmp_path, table):
    place, results = tmp_path / "a.db", tmp_path / "results.csv"
    run("create", place, "--candidates", table, "--target", "value")
    results.write_text("row,value\n0,0.80\n1,0.82\n2,83\n3,0.79\n4,0.81\n")
    done = run("tell", place, "--csv", results)
    assert done.exit_code == 0
    assert done.stderr.count("note:") == 1
    assert "trial 3 (line 4): 83 is far from the other results" in done.stderr
    assert "kernelbandits study correct PLACE 3 0.83" in done.stderr
    run("correct", place, 3, 0.83)
    assert run("tell", place, "--row", 9, 0.78).stderr == ""


YIELDS = 100 * TRUTH - 20
"""From -1 to 60: a slip of a good result downwards lies among the others."""


def play_yields(place: Path, sign: float = 1.0, **settings: Any) -> tuple[kb.Study, kb.Suggestion]:
    """Twelve honest results, of which none is remarked, and the next suggestion."""
    study = kb.Study.create(place, GRID, seed=2, **settings)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        for _ in range(12):
            [one] = study.ask()
            study.tell(one.trial, sign * YIELDS[one.row])
    return study, study.ask()[0]


@pytest.mark.parametrize("factor", [10.0, 0.1, 100.0, 0.01])
@pytest.mark.parametrize(("sign", "direction"), [(1.0, "maximize"), (-1.0, "minimize")])
def test_a_slip_is_named_by_what_was_expected_of_the_row(tmp_path, factor, sign, direction):
    study, one = play_yields(tmp_path / "a.db", sign, direction=direction)
    right = sign * round(YIELDS[one.row], 3)
    with pytest.warns(kb.DataNotice) as caught:
        told = study.tell(one.trial, factor * right)
    [notice] = [str(one.message) for one in caught]
    assert f"trial 13 (row {one.row}): {factor * right:g} is far from" in notice
    assert f"did you mean {right:g}? It counts as it is" in notice
    assert f"kernelbandits study correct PLACE 13 {right:g}" in notice
    assert (told.value, told.notices) == (factor * right, (notice,))


@pytest.mark.thorough
def test_a_slip_is_named_on_the_command_line_and_changes_nothing_else(tmp_path):
    study, one = play_yields(tmp_path / "a.db")
    slip = round(YIELDS[one.row] / 10, 3)
    done = run("tell", study.place, one.trial, slip, "--key", "k")
    assert done.exit_code == 0
    assert "is far from what the other results predicted for it" in " ".join(done.stderr.split())
    assert study.best() is not None
    assert study.history()[-1].value == slip


def test_nothing_is_expected_of_rows_that_nobody_asked_for_or_that_began_the_study(tmp_path):
    study, one = play_yields(tmp_path / "a.db")
    state = study._session.state
    assert expect_result(state.trials[1], study._session.state.settings) is None
    expected = expect_result(state.trials[13], study._session.state.settings)
    assert expected is not None
    assert expected.mean == pytest.approx(one.note["mean"])
    assert expected.sd == pytest.approx(np.hypot(one.note["sd"], one.note["noise_scale"]))
    told = study.tell(row=next(row for row in range(30) if row != one.row), value=7.0)
    assert expect_result(state.trials[told.trial], study._session.state.settings) is None
    named = kb.Study.create(tmp_path / "b.db", GRID, **NAMED)
    named.tell(row=3, value=0.5)
    named.ask()
    assert expect_result(named._session.state.trials[2], named._session.state.settings) is None


@pytest.mark.parametrize("value", [0.0, 1e150, -1e150, 5e-324])
def test_any_value_can_be_compared_with_what_was_expected(value):
    for expected in (Expected(1.0, 1e-300), Expected(1e150, 0.5), Expected(1.0, 0.0)):
        assert undo_slip(value, expected) != value


@pytest.mark.thorough
def test_a_slip_is_much_more_probable_with_its_point_moved():
    """By ln p of the normal law: 15 for a value that is too large, 2 for one that is too small."""
    for value, limit, moves in ((100.0, 15.0, (0.1, 0.01, 0.001)), (1.0, 2.0, (10.0, 1e2, 1e3))):
        for mean in np.linspace(-20, 120, 29):
            for sd in (1.0, 3.0, 8.0, 12.0, 20.0, 50.0):
                law = norm(mean, sd)
                gains = [law.logpdf(move * value) - law.logpdf(value) for move in moves]
                meant = undo_slip(value, Expected(mean, sd))
                one_way = meant is not None and (meant < value) == (moves[0] < 1)
                assert one_way == (max(gains) > limit)


def test_what_is_unusual_and_what_is_not():
    near = [0.80, 0.84, 0.81]
    assert not is_unusual(83.0, near[:2])
    assert not is_unusual(0.5, near)
    assert not is_unusual(1.2, near)
    assert is_unusual(5.0, near)
    assert is_unusual(-5.0, near)
    # Nor is a value just below the least of results that crowd about the best rows.
    crowded = [0.0, 0.5, *np.linspace(0.97, 1.03, 20)]
    assert not is_unusual(-0.04, crowded)
    assert is_unusual(-1.5, crowded)
    # Among values of several sizes a factor of ten is nothing unusual.
    assert intended_value(83.0, [0.01, 0.2, 3.0, 11.0]) is None
    assert intended_value(-83.0, [-0.8, -0.82, -0.79]) == -0.83
    assert intended_value(0.0, near) is None
    assert not is_unusual(0.8, [0.8, 0.8, 0.8])
    assert intended_value(8.0, [0.8, 0.8, 0.8]) == 0.8


def test_of_normal_results_hardly_any_is_called_unusual():
    """Of 2000 studies with ten normal results, at mean 3 and sd 1, fewer than one in a hundred."""
    rng = np.random.default_rng(5)
    alarms = 0
    for _ in range(2000):
        values = (3 + rng.standard_normal(10)).tolist()
        alarms += any(is_unusual(values[n], values[:n]) for n in range(3, 10))
    assert alarms < 20


def test_a_budget_smaller_than_the_initial_design_is_said_and_played(tmp_path, table):
    with pytest.warns(kb.DataNotice, match="1 measurement planned, and the initial design has 3"):
        study = kb.Study.create(tmp_path / "a.db", GRID, rounds=1)
    play(study, 3)
    assert study.best() is not None
    assert "3 results so far; 1 was planned." in study.status().purpose
    done = run(
        "create", tmp_path / "b.db", "--candidates", table, "--target", "value", "--rounds", 1
    )
    assert done.exit_code == 0
    assert "1 measurement planned" in done.stderr
    other = kb.Study.create(tmp_path / "c.db", GRID)
    with pytest.warns(kb.DataNotice, match="2 measurements planned"):
        other.change(rounds=2)


def test_fewer_rows_than_asked_for_are_repeated_and_said(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID[:3])
    with pytest.warns(kb.DataNotice, match="only 3 different candidates could be suggested"):
        asked = study.ask(5)
    # The surplus is spread: no row comes a third time before every row has come twice.
    assert sorted(Counter(one.row for one in asked).values()) == [1, 2, 2]
    assert "5 rows were asked for" in asked[0].notices[0]
    shown = run("ask", tmp_path / "a.db", "--n", 4)
    assert "note: 4 rows were asked for, but only" in shown.stderr
    single = kb.Study.create(tmp_path / "b.db", GRID[:1])
    for _ in range(6):
        [one] = single.ask()
        single.tell(one.trial, 0.5)
    assert single.best().results == 6


@pytest.mark.thorough
def test_a_category_with_one_row_each_is_searched(tmp_path):
    names = pd.DataFrame({"catalyst": [f"C{n}" for n in range(12)]})
    study = kb.Study.create(tmp_path / "a.db", names, columns=["catalyst"], noise=0)
    rows = []
    for _ in range(12):
        [one] = study.ask()
        rows.append(one.row)
        study.tell(one.trial, math.sin(3 * one.row))
    assert sorted(rows) == [*range(12)]
    assert study.best().row == int(np.argmax(np.sin(3 * np.arange(12))))
    path = tmp_path / "names.csv"
    names.to_csv(path, index=False)
    place = tmp_path / "b.db"
    run("create", place, "--candidates", path, "--target", "value", "--columns", "catalyst")
    assert len({one["row"] for one in document("ask", place, "--n", 12)}) == 12


def test_more_results_than_planned_are_said(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", GRID, rounds=10)
    for row in range(6):
        study.tell(row=row, value=float(row))
    with warnings.catch_warnings():
        # The budget ends, but the rows were not all spread over the table.
        warnings.simplefilter("error")
        study.change(rounds=3)
    assert study.status().purpose.endswith("6 results so far; 3 were planned.")
