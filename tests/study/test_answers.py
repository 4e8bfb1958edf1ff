"""Answers that say how far they can be trusted: the stop rule, luck, poor models, the noise."""

from __future__ import annotations

import json
import math
import pickle
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from kernelbandits.apps.cli import app
from kernelbandits.policies.comparison import COMPARED
from kernelbandits.report.studies import draw_study
from kernelbandits.study.answers import Answers
from kernelbandits.study.cautions import NO_BETTER, NO_RESULTS
from kernelbandits.study.stopping import ENOUGH, stop
from kernelbandits.study.words import STANDS_ALONE

LINE = np.linspace(0, 1, 21)[:, None]
GRID = np.array([(a / 5, b / 4) for a in range(6) for b in range(5)])
HILL = 0.8 - ((GRID - (0.4, 0.5)) ** 2).sum(1)
LUCK = "measured once: its result may be luck; measure it again to be sure"
DEVIATE = "Candidates that resemble each other differ by about"


def tell_rows(study: kb.Study, values: Any, rows: Any = None) -> kb.Study:
    numbers = range(len(values)) if rows is None else rows
    study.tell_all(
        [{"row": int(r), "value": float(v)} for r, v in zip(numbers, values, strict=True)]
    )
    return study


def fake_losses(study: kb.Study, losses: Any) -> Answers:
    """The answers of a study, with these losses drawn in place of those of the posterior."""
    answers = study._session.answers()
    answers.draw_losses = lambda arm: np.asarray(losses)  # type: ignore[method-assign]
    return answers


def clear_study(tmp_path: Path, **settings: Any) -> kb.Study:
    """Nine results without noise on a line, which a model predicts well; the best is row 10."""
    study = kb.Study.create(tmp_path / "a.db", LINE, **settings)
    return tell_rows(study, np.exp(-(((LINE[:18:2, 0] - 0.5) / 0.3) ** 2)), range(0, 18, 2))


def poor_study(tmp_path: Path, **settings: Any) -> kb.Study:
    """Results that have nothing to do with their rows."""
    study = kb.Study.create(tmp_path / "poor.db", GRID, **settings)
    values = np.random.default_rng(4).standard_normal(14)
    return tell_rows(study, values, range(0, 28, 2))


def read_document(capsys: pytest.CaptureFixture[str], *arguments: object) -> Any:
    app(["study", *map(str, arguments), "--format", "json"], standalone_mode=False)
    return json.loads(capsys.readouterr().out)


# ---------------------------------------------------------------- the stop rule


@pytest.mark.parametrize(
    ("share", "loss", "yes"), [(0.97, 1.0, True), (0.9, 0.11, False), (ENOUGH, 9.0, True)]
)
def test_one_may_stop_if_a_loss_within_the_tolerance_is_probable(tmp_path, share, loss, yes):
    """A share of the functions loses nothing, the others so much that the mean may be anything."""
    study = clear_study(tmp_path, tolerance=0.1, noise=0.0)
    losses = np.where(np.arange(1000) < 1000 * share, 0.0, loss)
    found = stop(fake_losses(study, losses))
    assert (found.may_stop, found.probability) == (yes, pytest.approx(share))
    assert found.left == pytest.approx(loss * (1 - share))
    # The old rule, an expected loss within the tolerance, answers the contrary in two cases.
    verdict = "Yes" if yes else "Not yet"
    stated = (
        f"{verdict}: with probability {100 * share:.0f} % row 10 is within the tolerance of 0.1"
    )
    assert found.sentence.startswith(f"{stated} of the best row; if you stop with it, you lose")
    assert f"{found.left:.3g} (value) on average" in found.sentence
    assert ("A yes needs 95 %" in found.sentence) is not yes


def test_a_probability_just_below_is_not_rounded_to_enough(tmp_path):
    study = clear_study(tmp_path, tolerance=0.1, noise=0.0)
    found = stop(fake_losses(study, np.where(np.arange(1000) < 947, 0.0, 1.0)))
    assert "with probability 94 %" in found.sentence
    assert found.may_stop is False


@pytest.mark.parametrize(
    ("rows", "noise", "values", "reason"),
    [
        (1, None, [3.0], "there is no other allowed candidate"),
        (3, None, [3.0, 3.0, 3.0], "every allowed candidate was measured, with the same result"),
        (3, 0.0, [1.0, 2.0, 3.0], "you said that results have no noise"),
    ],
)
def test_where_nothing_is_left_to_find_one_may_stop(tmp_path, capsys, rows, noise, values, reason):
    study = kb.Study.create(tmp_path / "a.db", [[0.1 * row] for row in range(rows)], noise=noise)
    tell_rows(study, values[:-1])
    assert study.status().stop.may_stop is False
    study.tell(row=rows - 1, value=values[-1])
    stated = read_document(capsys, "status", tmp_path / "a.db")["stop"]
    assert (stated["may_stop"], stated["left"]) == (True, 0.0)
    assert reason in stated["sentence"]


def test_with_noise_equal_results_of_all_candidates_do_not_end_a_study(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", LINE[:3], noise=0.1)
    assert tell_rows(study, [3.0, 3.0, 3.0]).status().stop.may_stop is False


def test_unmeasured_rows_exceed_what_is_known_by_less_than_drawn(tmp_path, monkeypatch):
    # Without predictions no function is drawn as from a hat.
    monkeypatch.setattr(Answers, "left_out", None)
    answers = clear_study(tmp_path)._session.answers()
    arm, measured = answers.recommended_arm, answers.measured_rows
    drawn = answers.view.draw(np.arange(21))
    kept, draws = answers.draw_functions_near(arm)
    np.testing.assert_array_equal(kept, np.arange(21))
    np.testing.assert_array_equal(draws[:, measured], drawn[:, measured])
    best = drawn[:, measured].max(1, keepdims=True)
    np.testing.assert_array_equal((draws > best).any(1), (drawn > best).any(1))
    known = np.maximum(best, answers.view.mean[None])[:, ~measured]
    before, after = drawn[:, ~measured], draws[:, ~measured]
    np.testing.assert_array_equal(after[before <= known], before[before <= known])
    most = np.ptp(answers.view.mean[measured])
    limited = known + most * np.tanh(0.2 * (before - known) / most)
    np.testing.assert_allclose(after[before > known], limited[before > known], rtol=1e-12)
    assert (before > known).any()


def test_without_a_tolerance_there_is_no_probability_and_the_loss_is_stated(tmp_path, capsys):
    found = clear_study(tmp_path).status().stop
    assert (found.may_stop, found.probability) == (None, None)
    assert f"you lose {found.left:.3g} (value) on average" in found.sentence
    kb.Study.open(tmp_path / "a.db").change(tolerance=10.0)
    stated = read_document(capsys, "status", tmp_path / "a.db")["stop"]
    assert 0.9 < stated["probability"] <= 1.0
    assert stated["may_stop"] is True


def test_the_probability_is_the_share_of_functions_within_the_tolerance(tmp_path):
    study = tell_rows(
        kb.Study.create(tmp_path / "a.db", GRID),
        HILL[::3] + 0.02 * np.cos(range(10)),
        range(0, 30, 3),
    )
    answers = study._session.answers()
    arm = answers.recommended_arm
    kept, draws = answers.draw_functions_near(arm)
    losses = draws.max(1) - draws[:, list(kept).index(arm)]
    tolerance = float(answers.scale.length(np.quantile(losses, 0.7)))
    assert answers.probability_within(arm, tolerance) == pytest.approx(0.7, abs=0.01)


def test_the_functions_are_drawn_once_for_a_status(tmp_path, monkeypatch):
    study, drawn = clear_study(tmp_path, tolerance=0.1), []
    answers = study._session.answers()
    draw = answers.view.draw
    object.__setattr__(answers.view, "draw", lambda arms: drawn.append(len(arms)) or draw(arms))
    assert answers.best() is not None
    assert stop(answers).probability is not None
    # Once for the best of all, and once for the best of those measured.
    assert len(drawn) <= 2


# ---------------------------------------------------------------- luck


def noisy_study(place: Path, lead: float, **settings: Any) -> kb.Study:
    """Rows 0 to 8 measured twice with a noise of 0.1 about 0, and row 12 once, higher by `lead`."""
    study = kb.Study.create(place, LINE, **settings)
    rng = np.random.default_rng(1)
    rows = [*range(9), *range(9)]
    tell_rows(study, 0.1 * rng.standard_normal(18), rows)
    study.tell(row=12, value=lead)
    return study


@pytest.mark.thorough
def test_a_single_result_that_leads_by_less_than_the_noise_may_be_luck(tmp_path):
    study = noisy_study(tmp_path / "a.db", 0.06, tolerance=0.05)
    answers, best = study._session.answers(), study.best()
    assert (best.row, best.results, best.may_be_luck) == (12, 1, True)
    assert answers.probability_of_luck(12) >= 1 / 3
    assert f"{LUCK}. " in f"{best}. "
    page = draw_study(study, tmp_path / "a.html").read_text()
    assert LUCK in page

    study.tell(row=12, value=0.3)
    assert (study.best().row, study.best().results, study.best().may_be_luck) == (12, 2, False)
    assert "luck" not in str(study.best())


def test_the_probability_to_stop_counts_that_a_lead_may_be_luck(tmp_path):
    """All rows are measured: nothing but the noise of the results can make another row better."""
    study = kb.Study.create(tmp_path / "a.db", LINE[:9], tolerance=0.01)
    values = 0.1 * np.random.default_rng(1).standard_normal((2, 9))
    tell_rows(study, values.ravel(), [*range(9), *range(9)])
    answers = study._session.answers()
    assert answers.all_measured
    luck = answers.probability_of_luck(answers.recommended_arm)
    found = stop(answers)
    assert luck > 0.3
    assert found.may_stop is False
    assert found.probability < 1 - luck / 2


def test_a_lead_far_beyond_the_noise_is_no_luck(tmp_path):
    study = noisy_study(tmp_path / "a.db", 0.4, tolerance=0.05)
    assert (study.best().row, study.best().may_be_luck) == (12, False)


@pytest.mark.parametrize("lead", [0.8, 30.0])
def test_a_row_that_leads_by_a_single_result_is_said_and_keeps_from_stopping(tmp_path, lead):
    study = noisy_study(tmp_path / "a.db", lead, tolerance=0.05)
    best = study.best()
    assert (best.row, best.stands_alone) == (12, True)
    assert f"measured once: {STANDS_ALONE}" in best.sentence
    assert f"Row 12 has the best estimate, but {STANDS_ALONE}." in study.check().sentences
    answer = stop(fake_losses(study, np.zeros(100)))
    assert answer.may_stop is False
    assert "It leads by a single result" in answer.sentence
    # A second result confirms it.
    study.tell(row=12, value=0.9 * lead)
    assert not study.best().stands_alone
    assert "leads by a single result" not in " ".join(study.check().sentences)


def test_a_row_whose_other_results_contradict_its_best_one_is_not_recommended(tmp_path):
    study = noisy_study(tmp_path / "a.db", 30.0, direction="maximize")
    for _ in range(2):
        study.tell(row=12, value=0.0)
    answers = study._session.answers()
    assert answers._greatest(answers.allowed_arms) == 12
    assert study.best().row != 12
    # Where no other row was measured there is none to recommend in its place.
    study.change(tolerance=0.05)
    assert study.status().best.row == study.best().row


def test_a_yes_needs_a_model_that_predicts_or_all_rows_measured(tmp_path):
    answers = fake_losses(poor_study(tmp_path, tolerance=0.5), np.zeros(100))
    found = stop(answers)
    assert (found.may_stop, found.probability, answers.predicts) == (False, 1.0, False)
    assert "A yes needs a model that predicts held-out results" in found.sentence
    every = kb.Study.create(tmp_path / "every.db", GRID[:28:2], tolerance=0.5)
    tell_rows(every, np.random.default_rng(4).standard_normal(14))
    assert stop(fake_losses(every, np.zeros(100))).may_stop is True


def test_a_yes_beside_a_mean_loss_above_the_tolerance_says_why(tmp_path):
    study = clear_study(tmp_path, tolerance=0.05)
    losses = np.append(np.zeros(95), np.full(5, 10.0))
    answer = stop(fake_losses(study, losses))
    assert answer.may_stop is True
    assert "nothing in most cases, and much in a few" in answer.sentence


def test_without_noise_no_result_is_luck(tmp_path):
    """Two rows of the same value: no lead is smaller."""
    values = [0.1, 0.3, 0.5, 0.5, 0.2, 0.0]
    given = tell_rows(kb.Study.create(tmp_path / "a.db", LINE, noise=0.0), values)
    assert not given.best().may_be_luck
    fitted = tell_rows(kb.Study.create(tmp_path / "b.db", LINE), values)
    assert fitted.best().may_be_luck
    # Results that repeat to the last digit show that there is no noise.
    tell_rows(fitted, values[:2] * 2, [0, 1, 0, 1])
    assert not fitted.best().may_be_luck


def test_a_named_policy_takes_the_noise_that_it_was_given(tmp_path):
    for noise, luck in ((0.7, True), (1e-4, False)):
        study = kb.Study.create(
            tmp_path / f"{noise}.db",
            LINE,
            policy="simple-ucb",
            kernel=kb.RBF(0.2),
            settings={"noise_scale": noise, "norm_bound": 1.0},
        )
        tell_rows(study, [0.5, 0.1, 0.5, 0.0, 0.5, 0.51], range(0, 21, 4))
        assert study.best().may_be_luck is luck


def test_without_repeats_measured_rows_keep_wide_intervals(tmp_path):
    """No result tells noise from deviations of single rows; the choices assume the second."""
    values = HILL[::2] + 0.1 * np.random.default_rng(1).standard_normal(15)
    study = tell_rows(kb.Study.create(tmp_path / "a.db", GRID), values, range(0, 30, 2))
    policy, answers = study._session.updated_driver().policy, study._session.answers()
    chosen_by = policy.units.original_sd(policy.posterior.mean, policy.posterior.sd)
    assert (answers.view.sd[::2] > 1.3 * chosen_by[::2]).all()
    # Equal repeats show that there is no noise: then both are the same.
    for row in (4, 8):
        study.tell(row=row, value=float(values[row // 2]))
    policy = study._session.answers().driver.policy
    assert policy.answer_model()[0] is policy.posterior


# ---------------------------------------------------------------- the regret so far


SURE = {
    "policy": "simple-ucb",
    "kernel": kb.RBF(0.3),
    "settings": {"noise_scale": 0.1, "norm_bound": 2.0},
}


def test_status_and_explain_say_what_all_results_lost_at_most(tmp_path, capsys):
    """Whoever chose the rows, in the units of the target, as a posterior of the results says."""
    hill = -10.0 - 4.0 * np.sin(3 * GRID[:, 0])
    given = {**SURE, "centre": -10.0, "spread": 4.0, "direction": "min", "delta": 0.05}
    study = kb.Study.create(tmp_path / "a.db", GRID, **given)
    posterior = kb.posterior.ArmPosterior(kb.RBF(0.3), GRID, ridge=10 * (0.1 / 2.0) ** 2)
    lost = []
    for row in (3, 17, 3, 28):
        study.tell(row=row, value=float(hill[row]))
        posterior.update(row, float(-(hill[row] + 10.0) / 4.0))
        band = kb.theory.confidence_band(posterior, 0.1, 2.0, 0.05)
        lost.append(4.0 * band.regret_certificate)
    study.ask(2)
    status = study.status()
    assert status.regret_certificate == pytest.approx(lost[-1], rel=1e-7)
    assert status.regret_certificate >= 3 * np.mean(hill[[3, 17, 28]] - hill.min())
    assert status.regret.startswith("With probability at least 0.95 the 4 results so far lost at ")
    assert status.regret in status.sentence
    assert read_document(capsys, "status", tmp_path / "a.db")["regret_certificate"] == (
        status.regret_certificate
    )
    app(["study", "status", str(tmp_path / "a.db")], standalone_mode=False)
    shown = " ".join(capsys.readouterr().out.split())
    assert "regret so far With probability at least 0.95 the 4 results so far lost" in shown
    trial = study.status().waiting[0].trial
    study.tell(row=8, value=float(hill[8]))
    assert "the 4 results before it lost at most" in study.explain(trial).sentence
    assert "the 5 results so far" in study.status().regret


@pytest.mark.parametrize(
    "changed",
    [
        {"centre": None, "spread": None},
        {"policy": "auto", "kernel": None, "settings": {}},
        {"policy": "gp-ucb", "settings": {"noise_scale": 0.1}},
    ],
)
def test_nothing_is_said_of_the_regret_where_nothing_is_proved(tmp_path, changed):
    given = {**SURE, "centre": 0.0, "spread": 1.0, **changed}
    kept = {name: value for name, value in given.items() if value is not None}
    study = tell_rows(kb.Study.create(tmp_path / "a.db", GRID, **kept), HILL[:6])
    [one] = study.ask()
    status = study.status()
    assert (status.regret, status.regret_certificate) == ("", None)
    assert "lost at most" not in status.sentence + study.explain(one.trial).sentence


def test_failures_and_results_that_no_function_fits_prove_nothing_of_the_regret(tmp_path):
    given = {**SURE, "centre": 0.0, "spread": 1.0}
    study = kb.Study.create(tmp_path / "a.db", GRID, **given)
    assert study.status().regret == ""
    tell_rows(study, [50.0, -50.0, 50.0, -50.0, 50.0], range(5))
    assert study.status().regret_certificate is None
    failed = tell_rows(kb.Study.create(tmp_path / "b.db", GRID, **given), HILL[:6])
    assert failed.status().regret_certificate is not None
    failed.tell(row=9, failed=True)
    assert failed.status().regret_certificate is None


# ---------------------------------------------------------------- poor models


@pytest.mark.thorough
def test_a_poor_model_is_said_by_ask_explain_estimates_and_page(tmp_path, capsys):
    study = poor_study(tmp_path)
    [one] = study.ask()
    assert one.why.endswith(NO_BETTER)
    explained = study.explain(one.trial)
    assert explained.caution == NO_BETTER
    assert explained.sentence.count(NO_BETTER) == 1
    assert explained.sentence.endswith(NO_BETTER)
    assert study.estimates().attrs["caution"] == NO_BETTER
    page = draw_study(study, tmp_path / "poor.html").read_text()
    likely = page[page.index("likely best") : page.index("may I stop?")]
    assert NO_BETTER in likely
    place = tmp_path / "poor.db"
    assert {row["caution"] for row in read_document(capsys, "estimates", place)} == {NO_BETTER}
    app(["study", "estimates", str(place)], standalone_mode=False)
    assert f"note: {NO_BETTER}" in " ".join(capsys.readouterr().err.split())


@pytest.mark.thorough
def test_a_good_model_is_not_called_poor(tmp_path, capsys):
    study = tell_rows(kb.Study.create(tmp_path / "a.db", GRID), HILL[::2], range(0, 30, 2))
    [one] = study.ask()
    assert NO_BETTER not in one.why
    assert study.explain(one.trial).caution == ""
    assert study.estimates().attrs["caution"] == ""
    assert read_document(capsys, "estimates", tmp_path / "a.db")[0]["caution"] == ""
    assert NO_BETTER not in draw_study(study, tmp_path / "a.html").read_text()


def test_predictions_are_computed_once_after_each_result_if_anybody_reads_them(
    tmp_path, monkeypatch
):
    # The tell of a first file predicts its results too, to notice slips.
    poor_study(tmp_path).close()
    study, computed = kb.Study.open(tmp_path / "poor.db"), []
    compute = kb.insight.leave_one_out
    monkeypatch.setattr(
        "kernelbandits.study.driver.leave_one_out",
        lambda policy: computed.append(1) or compute(policy),
    )
    study.ask(6)
    assert len(computed) == 0
    study.best()
    study.status()
    study.estimates()
    assert len(computed) == 1
    study.tell(row=1, value=0.3)
    found = study.ask(2)
    assert len(computed) == 1
    assert [one.why.count(NO_BETTER) for one in found * 2] == [1] * 4
    assert len(computed) == 2


def test_a_reason_that_is_read_late_is_that_of_its_time(tmp_path):
    study = poor_study(tmp_path)
    late, sent, undone = (study.ask()[0] for _ in range(3))
    there = pickle.loads(pickle.dumps(sent))
    study.undo()
    trials = study.to_dataframe()
    for one in trials[trials.state == "told"].itertuples():
        study.correct(one.trial, float(HILL[one.row]))
    assert NO_BETTER not in study.ask()[0].why
    assert late.why.endswith(NO_BETTER)
    assert late.why in late.sentence
    assert there == sent
    assert there.why.endswith(NO_BETTER)
    assert NO_BETTER not in undone.why
    stored = [event.body["why"] for event in study.history() if event.kind == "asked"]
    assert not any(NO_BETTER in why for why in stored)
    assert late.why == f"{stored[0]} {NO_BETTER}"


@pytest.mark.thorough
def test_an_ask_that_is_sent_again_with_its_key_is_answered_with_the_same_reason(tmp_path):
    """Whoever answers it, and whatever has become known since."""
    study = poor_study(tmp_path)
    [first] = study.ask(key="once")
    trials = study.to_dataframe()
    for one in trials[trials.state == "told"].itertuples():
        study.correct(one.trial, float(HILL[one.row]))
    assert NO_BETTER not in study.ask()[0].why
    assert first.why.endswith(NO_BETTER)
    for other in (study, kb.Study.open(tmp_path / "poor.db")):
        assert other.ask(key="once") == [first]


def test_a_reason_on_the_screen_and_in_json_has_its_caution(tmp_path, capsys):
    poor_study(tmp_path)
    place = tmp_path / "poor.db"
    [one] = read_document(capsys, "ask", place)
    assert one["why"].endswith(NO_BETTER)
    app(["study", "ask", str(place)], standalone_mode=False)
    assert NO_BETTER in " ".join(capsys.readouterr().out.split())


# ---------------------------------------------------------------- a noise given far too small


def study_with_noise(place: Path, noise: float, given: float, results: int = 30) -> kb.Study:
    """Different rows of a table, each measured once."""
    rng = np.random.default_rng(3)
    points = rng.random((60, 2))
    study = kb.Study.create(place, points, noise=given)
    values = np.sin(3 * points[:, 0]) + points[:, 1] + noise * rng.standard_normal(60)
    return tell_rows(study, values[:results])


def test_a_noise_far_too_small_without_repeats_is_said_once_for_each_fit(tmp_path):
    study = study_with_noise(tmp_path / "a.db", 0.05, 0.0005)
    [said] = study.status().notices
    assert said.startswith(DEVIATE)
    assert "much more than the noise of 0.0005 that you gave" in said
    assert 0.02 < float(said.removeprefix(DEVIATE).split(",")[0]) < 0.15
    with pytest.warns(kb.DataNotice, match=DEVIATE):
        [one] = study.ask()
    assert one.notices == (said,)
    with warnings.catch_warnings():
        warnings.simplefilter("error", kb.DataNotice)
        assert kb.Study.open(tmp_path / "a.db").ask()[0].notices == ()
    assert study.status().notices == (said,)


@pytest.mark.thorough
def test_notices_of_the_noise_come_again_with_the_next_fit(tmp_path):
    study = study_with_noise(tmp_path / "a.db", 0.05, 0.0005)
    rng, said = np.random.default_rng(0), []
    for row in range(30, 60):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            study.ask()
        said.append(sum(DEVIATE in str(one.message) for one in caught))
        x = study.candidates.points[row]
        study.tell(row=row, value=np.sin(3 * x[0]) + x[1] + 0.05 * rng.standard_normal())
    assert 2 <= sum(said) <= 8


@pytest.mark.parametrize(("noise", "given"), [(0.0005, 0.0005), (0.05, 0.05), (0.05, 0.0)])
def test_a_noise_that_is_right_or_given_as_none_is_not_questioned(tmp_path, noise, given):
    study = study_with_noise(tmp_path / "a.db", noise, given)
    assert not [one for one in study.status().notices if DEVIATE in one]


def test_deviations_of_few_results_are_not_named(tmp_path):
    """By chance the model may take anything for the shape of f, or for deviations from it."""
    study = study_with_noise(tmp_path / "a.db", 0.5, 0.0005, results=7)
    assert study.status().notices == ()


def test_the_nugget_has_evidence_only_where_points_deviate(tmp_path):
    smooth = study_with_noise(tmp_path / "a.db", 0.0, 0.0005)._session.updated_driver().policy
    noisy = study_with_noise(tmp_path / "b.db", 0.05, 0.0005)._session.updated_driver().policy
    assert smooth.fits.nugget_evidence() < 0 < 4 < noisy.fits.nugget_evidence()
    assert kb.Auto(LINE).fits.nugget_evidence() == 0.0


# ---------------------------------------------------------------- many candidates, no results


@pytest.mark.thorough
def test_best_says_that_only_the_most_promising_were_compared(tmp_path):
    some = f"(of the {COMPARED} most promising)"
    for rows, is_said in ((COMPARED + 50, True), (COMPARED, False)):
        table = np.linspace(0, 1, rows)[:, None]
        study = tell_rows(
            kb.Study.create(tmp_path / f"{rows}.db", table), [0.1, 0.2, 0.4, 0.3, 0.2]
        )
        assert (some in str(study.best())) is is_said
        page = draw_study(study, tmp_path / f"{rows}.html").read_text()
        assert page.count(some) == 2 * is_said


def test_estimates_without_results_are_those_of_the_prior_and_say_so(tmp_path, capsys):
    study = kb.Study.create(tmp_path / "a.db", LINE)
    found = study.estimates()
    assert found.attrs["caution"] == NO_RESULTS
    assert found["mean"].nunique() == found["sd"].nunique() == 1
    assert (found["results"] == 0).all()
    app(["study", "estimates", str(tmp_path / "a.db")], standalone_mode=False)
    shown = capsys.readouterr()
    assert f"note: {NO_RESULTS}" in " ".join(shown.err.split())
    assert "20 of 21 candidates" in shown.out
    study.tell(row=0, value=1.0)
    assert study.estimates().attrs["caution"] == ""


# ---------------------------------------------------------------- explanations


def test_the_index_of_transformed_results_is_the_one_that_was_played(tmp_path):
    study = kb.Study.create(
        tmp_path / "a.db", LINE, goal="earn", settings={"transform": True, "width": "practical"}
    )
    tell_rows(study, np.exp(4 * np.sin(np.arange(0, 21, 2) / 3)), range(0, 21, 2))
    [one] = study.ask()
    policy, scale = study._session.driver.policy, study._session.state.scale
    assert not policy.units.is_linear
    found = study.explain(one.trial)
    [index] = policy.index(one.trial, found.weight)[[one.row]]
    assert found.index == pytest.approx(float(scale.outward(index)), rel=1e-9)
    assert found.index == pytest.approx(found.mean + found.bonus, rel=1e-12)
    assert "all of the transformed results" in one.why


def test_the_last_suggestion_is_explained_without_learning_all_results_again(tmp_path, monkeypatch):
    study = clear_study(tmp_path)
    [one] = study.ask()
    again = kb.Study.open(tmp_path / "a.db").explain(one.trial)
    with monkeypatch.context() as patched:
        patched.setattr(kb.Auto, "tell_all", lambda *_: pytest.fail("learns all results again"))
        assert study.explain(one.trial) == again
    # A result that came since may not take part.
    study.tell(one.trial, 9.0)
    assert study.explain(one.trial) == again


def test_the_stop_light_follows_one_rule(tmp_path):
    points = pd.DataFrame({"a": np.linspace(0.0, 1.0, 12), "sample": [f"S{i}" for i in range(12)]})
    study = kb.Study.create(
        tmp_path / "a.db", points, target="y", columns=["a"], label="sample", noise=0.01
    )
    assert study.status().stop.headline == "Go on: there is no result yet."
    study.tell_all([{"row": i, "value": math.sin(3 * i / 11)} for i in range(0, 6, 2)])
    early = study.status()
    assert early.stop.light == "go on"
    assert "3 results so far" in early.stop.headline
    assert "too early to say, measured once" in early.best.headline
    study.tell_all([{"row": i, "value": math.sin(3 * i / 11)} for i in (1, 3, 5, 7, 9, 11)])
    study.change(tolerance=1.0)
    done = study.status()
    assert done.stop.may_stop
    assert (done.stop.light, done.stop.headline) == ("enough", "Enough: stop with S5.")
    assert done.best.headline.startswith("S5: ")
    study.tell(row=8, value=30.0)
    slip = study.status()
    assert slip.stop.light == "look"
    assert slip.stop.headline == "Look: S8 leads by a single result, measure it again."
    assert slip.best.again
    assert slip.best.headline.endswith("; measure it again")


def test_without_a_tolerance_a_gain_below_the_noise_asks_to_look(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", [[0.0], [0.3], [0.6], [1.0]], target="y", noise=0.5)
    draw = np.random.default_rng(0).normal
    for row in range(4):
        study.tell(row=row, value=[row + 0.5 * draw() for _ in range(12)])
    stop = study.status().stop
    assert (stop.light, stop.may_stop) == ("look", None)
    assert "below the noise of one result" in stop.headline
