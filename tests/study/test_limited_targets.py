"""Limits on outcomes in studies: targets without a direction, each learnt by a policy of its own."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import document, said, study
from kernelbandits.checks import DataNotice
from kernelbandits.study.target_states import continues, state_of_target
from kernelbandits.study.targets import Target, parse_target
from kernelbandits.study.words import describe_event

TABLE = pd.DataFrame(
    {
        "sample": [f"A{i}" for i in range(48)],
        "heat": np.tile(np.linspace(0.0, 1.0, 8), 6),
        "acid": np.repeat(np.linspace(0.0, 1.0, 6), 8),
    }
)
TARGETS = {"yield": "maximize", "haze": "<=0.25"}


def measure(x) -> dict[str, float]:
    return {"yield": x["heat"] + x["acid"], "haze": (x["heat"] ** 2 + x["acid"] ** 2) / 2}


def make(where, **more) -> kb.Study:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        return kb.Study.create(where, TABLE, **{"targets": TARGETS, "seed": 1, **more})


@pytest.fixture
def lab(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        made = make(tmp_path / "f.db")
        yield made
    made.close()


def play(lab: kb.Study, rounds: int) -> None:
    for _ in range(rounds):
        [one] = lab.ask()
        lab.tell(one.trial, measure(one.x))


def test_a_target_with_limits_and_no_direction_is_read_from_text():
    assert parse_target("haze:<=0.25") == Target("haze", "within", high=0.25)
    assert parse_target("pH: ≥ 6, ≤ 8") == Target("pH", "within", low=6.0, high=8.0)
    both = Target("pH", "within", low=6.0, high=8.0)
    assert [both.breaks_limit(y) for y in (5.9, 6.0, 8.0, 8.1)] == [True, False, False, True]
    assert both.sentence == "at least 6 and at most 8"
    assert Target(**both.body) == both


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("haze<=0.25", "write haze:<=0.25"),
        ("haze:<0.25", "a limit as <=NUMBER"),
        ("haze:minimize,<=1", "limits alone"),
        ("haze:<=1,<=2", "limits alone"),
        ("haze:<=1,weight=2", "limits alone"),
        ("haze:<=many", "a limit as <=NUMBER"),
        ("haze:>=3,<=2", "low < high"),
    ],
)
def test_wrong_limits_are_refused_with_what_is_needed(text, wanted):
    with pytest.raises(ValueError, match=wanted):
        parse_target(text)


@pytest.mark.parametrize(
    ("settings", "wanted"),
    [
        ({"targets": {"haze": "<=0.25"}}, "a target with a direction"),
        ({"policy": "amm-ucb"}, "needs the policy auto"),
        ({"goal": "earn"}, 'needs the goal "find"'),
    ],
)
def test_what_cannot_meet_limits_is_refused_before_anything_is_stored(tmp_path, settings, wanted):
    with pytest.raises(ValueError, match=wanted):
        make(tmp_path / "f.db", **settings)
    assert not (tmp_path / "f.db").exists()


def test_a_search_with_a_limit_finds_the_best_feasible_row(lab):
    play(lab, 20)
    best = lab.best()
    assert best is not None
    assert best.x is not None
    here = measure(best.x)
    every = [measure(row) for row in TABLE.to_dict("records")]
    assert here["haze"] <= 0.25
    assert here["yield"] == max(one["yield"] for one in every if one["haze"] <= 0.25)


def test_the_policy_of_an_outcome_is_that_of_a_study_of_this_outcome_alone(lab, tmp_path):
    play(lab, 9)
    with make(tmp_path / "alone.db", targets=["haze"]) as alone:
        for trial in lab._session.state.trials.values():
            alone.tell(row=trial.row, value=trial.values["haze"])
        lab.ask()
        alone.ask()
        own = lab._session.updated_driver().parts["haze"]
        other = alone._session.updated_driver()
        assert np.array_equal(own.estimates(), other.estimates())
        fits = [event.body for event in lab.history() if event.body.get("target") == "haze"]
        single = [event.body for event in alone.history() if event.kind == "fitted"]
        # The last fit that was due is the same, to the last digit.
        assert single[-1]["fit"] == fits[-1]["fit"]


def test_fits_of_both_policies_are_stored_and_taken_by_whoever_opens_the_study(lab):
    play(lab, 7)
    lab.ask()
    stored = {
        (event.body.get("target"), event.body["results"])
        for event in lab.history()
        if event.kind == "fitted"
    }
    assert {(None, 5), ("haze", 5)} <= stored
    with kb.Study.open(lab.place) as other:
        driver = other._session.updated_driver()
        own = driver.parts["haze"].policy.fits
        assert own is not None
        assert not own.made
        assert driver.policy.fits is not None
        assert not driver.policy.fits.made


def walk(where, reopen: bool) -> list[object]:
    """Asks of several rows, values one by one and out of order, a failure, corrections, an undo, a change."""
    study, seen, waiting = make(where), [], []
    for step in range(14):
        if reopen:
            study.close()
            study = kb.Study.open(where)
        for one in study.ask(1 + step % 3):
            seen.append((one.trial, one.row, dict(one.note), one.why))
            waiting.append(one)
        waiting = waiting[step % 2 :] + waiting[: step % 2]
        first = waiting.pop()
        if step == 5:
            study.tell(first.trial, failed=True)
        elif step % 3 == 1:
            study.tell(first.trial, {"haze": measure(first.x)["haze"]})
            if step == 7:
                study.tell(first.trial, missing=["yield"])
            else:
                waiting.insert(0, first)
        else:
            known = study._session.state.trials[first.trial].values
            left = {name: y for name, y in measure(first.x).items() if name not in known}
            study.tell(first.trial, left)
        if step == 8:
            told = next(one for one in study.history() if one.kind == "told")
            study.correct(told.trial, {"haze": 0.4})
        if step == 9:
            study.change(targets={"haze": "<=0.3"})
        if step == 11:
            study.undo()
    best = study.best()
    assert best is not None
    for number in [one[0] for one in seen]:
        if any(event.trial == number and event.kind == "asked" for event in study.history()):
            assert study.replay(number).same
    assert all(finding.ok for finding in study.doctor())
    study.close()
    return [*seen, (best.row, best.mean, best.probability)]


@pytest.mark.thorough
def test_a_study_opened_again_before_every_step_asks_what_an_uninterrupted_one_asks(
    where, tmp_path
):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        assert walk(where, reopen=False) == walk(tmp_path / "again.db", reopen=True)


def test_a_value_that_comes_first_is_learnt_at_once(lab):
    play(lab, 5)
    [one] = lab.ask()
    lab.tell(one.trial, {"haze": 0.1})
    driver = lab._session.updated_driver()
    assert driver.parts["haze"].policy.n_rewards == 6
    assert driver.policy.n_rewards == 5


def test_a_correction_is_learnt_anew_and_a_further_value_is_only_added(lab):
    play(lab, 4)
    haze, state = lab.targets[1], lab._session.state
    before = state_of_target(state, haze)
    play(lab, 1)
    after = state_of_target(lab._session.state, haze, before)
    assert continues(before, after) is (before.scaled == after.scaled)
    lab.correct(1, {"haze": 0.9})
    assert not continues(after, state_of_target(lab._session.state, haze))


def test_limits_are_changed_and_a_limit_stays_one(lab):
    play(lab, 16)
    strict = lab.best()
    lab.change(targets={"haze": "<=0.6"})
    assert lab.targets[1].high == 0.6
    play(lab, 6)
    loose = lab.best()
    assert strict is not None
    assert loose is not None
    assert loose.mean > strict.mean
    for wrong in ({"haze": "minimize"}, {"yield": "<=3"}):
        with pytest.raises(ValueError, match="change needs"):
            lab.change(targets=wrong)


def test_limits_are_met_in_a_study_over_a_space_too(tmp_path):
    space = {"heat": (0.0, 1.0), "acid": (0.0, 1.0)}
    with kb.Study.create(tmp_path / "s.db", space, targets=TARGETS, seed=1) as study:
        play(study, 16)
        best = study.best()
        assert best is not None
        assert best.x is not None
        assert measure(best.x)["haze"] <= 0.26
        assert measure(best.x)["yield"] > 0.9
        assert all(study.replay(number).same for number in (6, 11, 16))


def test_answers_say_what_is_measured_what_is_feasible_and_how_probably(lab):
    play(lab, 14)
    status, best = lab.status(), lab.best()
    assert best is not None
    assert best.limits == status.limits == "haze at most 0.25"
    assert best.feasibility is not None
    assert best.feasibility >= 0.9
    assert "meets haze at most 0.25 with probability" in best.sentence
    within = sum(one.values["haze"] <= 0.25 for one in lab._session.state.results)
    assert [one.name for one in status.targets] == ["yield", "haze"]
    assert status.targets[1].within == within
    assert status.targets[1].sentence.startswith(f"at most 0.25: {within} of 14 values within")
    assert status.front == ()
    trials, estimates = lab.to_dataframe(), lab.estimates()
    assert trials["feasible"].tolist() == (trials["haze"] <= 0.25).tolist()
    assert "yield mean" not in estimates
    assert estimates["feasible"].between(0, 1).all()
    recommended = estimates[estimates["row"] == best.row]
    assert recommended["feasible"].item() == pytest.approx(best.feasibility)
    check = lab.check()
    assert [one.target for one in check.outcomes] == ["haze"]
    assert any(text.startswith("haze: The model") for text in check.sentences)
    assert "It meets haze at most 0.25 with probability" in lab.explain(14).sentence
    assert "meets haze at most 0.25 with probability" in lab.compare(47).sentence
    assert "model of haze fitted to" in describe_event(
        next(one for one in lab.history() if one.body.get("target") == "haze")
    )


def test_the_probability_of_being_the_best_counts_feasible_candidates_only(lab):
    play(lab, 14)
    answers = lab._session.answers()
    best = answers.recommended_arm
    kept, draws = answers.draw_functions_near(best)
    broken = [arm for arm in kept if measure(lab.candidates.x(int(arm)))["haze"] > 0.3]
    known = [arm for arm in broken if answers.counts.get(int(arm))]
    assert all(answers.chances(best, arm)[1] == 0 for arm in known)
    assert (draws[:, kept == best] > -np.inf).mean() == pytest.approx(
        answers.feasibility(best), abs=0.03
    )


def test_where_nothing_feasible_is_known_the_answers_say_so(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        with make(
            tmp_path / "f.db", targets={"yield": "maximize", "haze": ">=2"}, tolerance=0.5
        ) as lab:
            play(lab, 7)
            best, stop = lab.best(), lab.status().stop
            assert best is not None
            assert not best.is_feasible
            assert "nothing measured is known to meet haze at least 2" in best.sentence
            assert stop.may_stop is False
            assert "no measured row is known to meet haze at least 2" in stop.sentence
            assert stop.headline == "Go on: nothing measured is known to meet haze at least 2."
            why = lab.ask()[0].why
            assert "Nothing measured is known to do so" in why
            assert "highest estimate" not in why


def test_several_directions_and_a_limit_give_a_desirability_of_what_is_feasible(tmp_path):
    wanted = {"yield": "maximize", "cost": "minimize", "haze": "<=0.25"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        with make(tmp_path / "f.db", targets=wanted) as lab:
            for _ in range(9):
                [one] = lab.ask()
                lab.tell(one.trial, {**measure(one.x), "cost": one.x["heat"]})
            assert lab.status().target == "desirability"
            front = lab.front()
            assert len(front) > 0
            assert (front["haze"] <= 0.25).all()
            assert lab.replay(9).same
            assert lab.estimates().columns[-1] == "feasible"


def test_an_export_is_told_to_a_new_study(lab, tmp_path):
    play(lab, 6)
    [one] = lab.ask()
    lab.tell(one.trial, {"haze": 0.2})
    lab.export(tmp_path / "out.csv")
    with make(tmp_path / "again.db") as again:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DataNotice)
            again.tell_all(tmp_path / "out.csv")
        first, second = lab.to_dataframe(), again.to_dataframe()
        for name in ("yield", "haze"):
            assert first[name].dropna().tolist() == second[name].dropna().tolist()


def test_a_value_far_from_the_limit_is_not_judged_by_the_estimate_of_the_other_target(lab):
    play(lab, 12)
    [one] = lab.ask()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lab.tell(one.trial, measure(one.x))
    assert not [str(one.message) for one in caught if "predicted" in str(one.message)]


def test_limits_on_the_command_line(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "240")
    TABLE.to_csv("films.csv", index=False)
    given = ("--candidates", "films.csv", "--label", "sample", "--target", "yield")
    text = said("create", "f.db", *given, "--target", "haze:<=0.25")
    assert "maximize yield, haze at most 0.25" in text
    for row in range(0, 48, 6):
        values = measure(TABLE.iloc[row])
        both = (f"yield={values['yield']}", f"haze={values['haze']}")
        told = said("tell", "f.db", "--row", str(row), "--value", both[0], "--value", both[1])
        broken = "not feasible: haze at most 0.25 is not met" in told
        assert broken == (values["haze"] > 0.25)
    assert "values within" in said("status", "f.db")
    found = document("status", "f.db")
    assert found["best"]["feasibility"] >= 0.9
    assert found["targets"][1]["high"] == 0.25
    assert "feasible" in said("estimates", "f.db")
    assert "haze: The model" in said("check", "f.db")
    assert "haze (at most 0.4)" in said("change", "f.db", "--target", "haze:<=0.4")
    assert document("status", "f.db")["targets"][1]["high"] == 0.4
    said("undo", "f.db")
    assert document("status", "f.db")["targets"][1]["high"] == 0.25
    before = document("history", "f.db")
    for wrong in (
        ("create", "g.db", *given[:4], "--target", "haze:<=0.25"),
        ("create", "g.db", *given, "--target", "haze<=0.25"),
        ("create", "g.db", *given, "--target", "haze:<=0.25", "--goal", "earn"),
        ("change", "f.db", "--target", "haze:minimize"),
        ("change", "f.db", "--policy", "amm-ucb"),
    ):
        refused = study(*wrong)
        assert (refused.code in (1, 2), refused.err.count("\n")) == (True, 1), refused
    assert document("history", "f.db") == before


def test_a_table_that_is_too_large_for_limits_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("kernelbandits.study.rules.LARGEST_POOL", 50)
    with pytest.raises(ValueError, match="at most 50 rows, got 96"):
        kb.Study.create(tmp_path / "g.db", [[i] for i in range(96)], targets=TARGETS)
    with make(tmp_path / "f.db") as lab:
        with pytest.raises(ValueError, match="at most 50 rows, got 51"):
            lab.add(pd.DataFrame({"sample": ["B", "C", "D"], "heat": 0.5, "acid": [0.1, 0.3, 0.5]}))
        assert len(lab.history()) == 1


@pytest.mark.thorough
def test_figures_and_the_paragraph_for_a_paper_name_the_limits(lab, tmp_path):
    from kernelbandits.report.studies import draw_study
    from kernelbandits.report.studies.methods import describe_methods

    play(lab, 8)
    text = describe_methods(lab, lab.status())
    assert text.startswith("Experiments to maximize yield with haze at most 0.25 ")
    draw_study(lab, tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "the highest yield with haze at most 0.25" in page
    assert "Dashes are limits that the answer has to meet" in page
