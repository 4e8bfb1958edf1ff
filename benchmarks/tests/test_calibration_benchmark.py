"""The benchmark of calibration: a perfect model is found to be calibrated, and sums are right."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from benchmarks import tables as result_tables
from benchmarks.calibration import figure, play, rows, scores, summary
from benchmarks.calibration.rows import (
    RANDOM,
    RULE,
    IntervalQuality,
    JudgedStudy,
    Look,
    Statements,
)
from benchmarks.search import tables
from benchmarks.search.tasks import Task
from kernelbandits.study.cautions import NO_BETTER


def made_up_table(name="snar", number=50, seed=0, noise_only=False):
    """Two numbers and a category, on which the value depends, or not at all."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "heat": rng.uniform(20, 90, number),
            "time": rng.integers(1, 9, number).astype(float),
            "acid": rng.choice(["a", "b", "c"], number),
        }
    )
    frame["yield"] = -((frame["heat"] - 60) ** 2) / 400 + frame["time"] + 2 * (frame["acid"] == "b")
    if noise_only:
        frame["yield"] = rng.normal(size=number)
    return tables.make_table(name, frame, "yield", "maximize")


@pytest.fixture
def short(monkeypatch):
    """Studies of made-up tables, judged after 8 and 12 results."""
    made = {name: made_up_table(name, seed=i) for i, name in enumerate(tables.NAMES)}
    monkeypatch.setattr(tables, "load_table", made.__getitem__)
    monkeypatch.setattr(play, "LOOKS", range(8, 13, 2))
    for module in (play, summary, figure):
        monkeypatch.setattr(module, "MARKS", (8, 12))
    return made


def statements(results=20, coverage=0.95, **others):
    """Statements of a study in which all is well, unless said otherwise."""
    quality = IntervalQuality(100, coverage, 0.5, 0.025, 1.0, 1.0)
    usual = {
        "results": results,
        "unmeasured": quality,
        "top": replace(quality, rows=10),
        "reference_density": 0.0,
        "skill": 0.6,
        "left_out_skill": 0.5,
        "left_out_coverage": 0.95,
        "cautions": (False, False),
        "stated_loss": 0.02,
        "loss": 0.01,
        "recommended_covered": True,
        "untested": None,
        "noise": 0.05,
    }
    return Statements(**usual | others)


def judged(table="snar", seed=0, noise=0.0, design=RULE, version="1", looks=(), **stated):
    return JudgedStudy(table, noise, design, version, seed, (statements(**stated),), looks)


def look(
    results=8, stated=0.01, loss=0.02, best=0.4, within=(0.3, 0.5, 0.8, 0.9), yes=(False,) * 4
):
    return Look(results, stated, loss, best, within, yes, False)


# Intervals


def test_coverage_of_a_perfectly_known_gaussian_model_is_95_and_50_percent():
    """f is drawn from the very Gaussian process whose posterior makes the intervals."""
    rng, functions, noise = np.random.default_rng(0), 60, 0.2
    arms = kb.Arms(rng.random((120, 2)))
    kernel = kb.Matern(0.4, 2.5)
    root = np.linalg.cholesky(kernel(arms.points, arms.points) + 1e-10 * np.eye(120))
    found = []
    for _ in range(functions):
        f = root @ rng.normal(size=120)
        posterior = kb.posterior.RowPosterior(kernel, arms, ridge=noise**2)
        for arm in range(20):
            posterior.update(arm, f[arm] + noise * rng.normal())
        found.append(play.compare_intervals(posterior.mean[20:], posterior.sd[20:], f[20:]))
    # The rows of one function depend on each other, the functions do not.
    for name, expected in (("coverage_95", 0.95), ("coverage_50", 0.5), ("above", 0.025)):
        shares = np.array([getattr(one, name) for one in found])
        standard_error = shares.std(ddof=1) / math.sqrt(functions)
        assert standard_error < 0.03
        assert abs(shares.mean() - expected) < 4 * standard_error
    squares = np.array([one.error**2 for one in found])
    assert abs(squares.mean() - 1) < 4 * squares.std(ddof=1) / math.sqrt(functions)


def test_intervals_of_half_the_width_cover_less_and_the_true_density_is_the_greatest():
    rng = np.random.default_rng(1)
    mean, sd = rng.normal(size=20_000), rng.uniform(0.5, 2.0, 20_000)
    f = mean + sd * rng.normal(size=20_000)
    right, narrow, wide = (
        play.compare_intervals(mean, factor * sd, f) for factor in (1.0, 0.5, 2.0)
    )
    assert abs(narrow.coverage_95 - math.erf(0.98 / math.sqrt(2))) < 0.01
    assert narrow.error == pytest.approx(2 * right.error)
    assert right.log_density > max(narrow.log_density, wide.log_density)
    expected = -np.log(sd * math.sqrt(2 * math.pi * math.e)).mean()
    assert abs(right.log_density - expected) < 4 * math.sqrt(0.5 / 20_000)


# The statements of a study


def test_the_statements_are_those_of_the_study_itself(short, tmp_path):
    instance = Task("snar", 0.05).instance(1)
    frame, values = instance.table.frame, instance.table.values
    with kb.Study.create(tmp_path / "s.db", frame, seed=instance.seed) as study:
        for t in range(1, 13):
            [asked] = study.ask()
            study.tell(asked.trial, instance.reward(asked.row, t))
        one = play.judge_answers(play.read_answers(study), values)
        status, estimates, check = study.status(), study.estimates(), study.check()
    fresh = estimates[estimates["results"] == 0]
    f = values[fresh["row"]]
    inside = (fresh["low"] <= f) & (f <= fresh["high"])
    assert one.results == 12
    assert one.unmeasured.rows == len(fresh)
    assert one.unmeasured.coverage_95 == pytest.approx(inside.mean())
    best = fresh["mean"].nlargest(10).index
    assert one.top.coverage_95 == pytest.approx(inside[best].mean())
    assert one.stated_loss == pytest.approx(status.stop.left)
    assert one.loss == pytest.approx(1 - values[status.best.row])
    assert (one.left_out_skill, one.left_out_coverage) == pytest.approx(
        (check.skill, check.coverage)
    )
    assert one.cautions == (status.best.caution != "", NO_BETTER in status.stop.sentence)
    errors = f - fresh["mean"]
    away = f - estimates["average"].mean()
    assert one.skill == pytest.approx(1 - (errors**2).sum() / (away**2).sum(), abs=0.05)


def test_a_game_is_judged_at_its_marks_and_looks_and_comes_out_the_same_again(short):
    game = play.StudyGame(Task("snar", 0.05), RULE, "1", 0)
    study = play.play_study(game)
    assert study.key == game.key
    assert [one.results for one in study.statements] == [8, 12]
    assert [look.results for look in study.looks] == [8, 10, 12]
    assert (study.looks[-1].stated, study.looks[-1].loss) == pytest.approx(
        (study.statements[-1].stated_loss, study.statements[-1].loss)
    )
    assert play.play_study(game) == study
    drawn = play.play_study(replace(game, design=RANDOM))
    assert [look.results for look in drawn.looks] == [8, 10, 12]
    assert drawn.statements[-1].unmeasured.rows == 50 - 12


def test_where_nothing_can_be_predicted_both_answers_say_so(short, monkeypatch):
    monkeypatch.setattr(tables, "load_table", lambda name: made_up_table(name, 60, 3, True))
    found = [
        play.play_study(play.StudyGame(Task("snar", 0.0), RANDOM, "1", seed)).statements[-1]
        for seed in range(4)
    ]
    poor = [one for one in found if scores.is_poor(one)]
    assert poor
    assert all(one.cautions == (True, True) for one in poor)
    assert all(one.cautions == (False, False) for one in found if one not in poor)


# The run


def test_a_run_that_was_stopped_goes_on_and_a_file_gives_back_what_was_written(
    short, tmp_path, monkeypatch
):
    monkeypatch.setattr(play, "MARKS", (6,))
    path, tasks = tmp_path / "rows.jsonl", [Task("snar", 0.0), Task("hplc", 0.05)]
    play.play(tasks, range(1), path=path)
    first = path.read_text()
    play.play(tasks, range(1), path=path)
    assert path.read_text() == first
    play.play(tasks, range(1), rows.DESIGNS, path=path)
    studies = rows.read(path)
    assert [(one.table, one.design) for one in studies] == [
        ("snar", RULE),
        ("hplc", RULE),
        ("snar", RANDOM),
        ("hplc", RANDOM),
    ]
    again = tmp_path / "again.jsonl"
    for one in studies:
        rows.append(again, one)
    assert again.read_text() == path.read_text()


def test_only_the_version_written_last_counts():
    old, new = judged(version="old"), judged(version="new", seed=1)
    assert rows.latest([old, new, replace(new, seed=2)]) == [new, replace(new, seed=2)]
    assert rows.latest([]) == []


# The sums


def test_every_table_counts_the_same_in_coverage():
    studies = [
        *(judged("snar", seed, coverage=0.9) for seed in range(5)),
        judged("hplc", 0, coverage=0.7),
    ]
    found = scores.summarise_coverage(studies, 20, lambda one: one.unmeasured)
    assert found.coverage_95.value == pytest.approx(0.8)
    assert (found.least, found.greatest) == (("hplc", 0.7), ("snar", pytest.approx(0.9)))
    assert (found.coverage_95.low, found.coverage_95.high) == pytest.approx((0.7, 0.9))
    assert scores.summarise_coverage(studies, 40, lambda one: one.unmeasured) is None


def test_probabilities_that_are_right_as_often_as_stated_agree_in_every_bin():
    rng = np.random.default_rng(0)
    stated = []
    for number in range(200):
        for p in rng.random(10):
            stated.append((f"table {number}", p, float(rng.random() < p)))
    bins = scores.bin_probabilities(stated)
    assert [(one.low, one.high) for one in bins] == [
        (0.0, 0.1),
        (0.1, 0.3),
        (0.3, 0.5),
        (0.5, 0.7),
        (0.7, 0.9),
        (0.9, 1.0),
    ]
    assert sum(one.true.studies for one in bins) == 2000
    for one in bins:
        standard_error = 0.5 / math.sqrt(one.true.studies)
        assert abs(one.true.value - one.stated) < 4 * standard_error
        assert one.true.high - one.true.low < 8 * standard_error
    boastful = scores.bin_probabilities(
        [(table, math.sqrt(p), is_so) for table, p, is_so in stated]
    )
    assert not any(one.agrees for one in boastful[1:-1])
    assert scores.brier_score([("a", 0.5, 1.0), ("a", 1.0, 1.0)]) == 0.125


def test_games_of_one_table_are_one_trial_where_all_of_them_agree():
    """Ten right statements of a single table say no more of other tables than one does."""
    one = scores.bootstrap_share({"snar": [1.0] * 10})
    assert (one.value, one.low, one.high) == (1.0, pytest.approx(0.025), 1.0)
    many = scores.bootstrap_share({f"table {i}": [0.0] for i in range(30)})
    assert many.high == pytest.approx(1 - 0.025 ** (1 / 30))


def test_probabilities_are_judged_by_campaigns_and_may_be_off_by_a_tenth():
    """Ten looks of one campaign that are all right or all wrong say as much as one look."""
    rng = np.random.default_rng(0)
    alike = [(f"campaign {i}", 0.75, float(rng.random() < 0.75)) for i in range(400)]
    [once] = scores.bin_probabilities(alike)
    [ten] = scores.bin_probabilities([one for one in alike for _ in range(10)])
    assert (ten.true.value, ten.true.clusters) == (once.true.value, 400)
    assert ten.true.high - ten.true.low == pytest.approx(once.true.high - once.true.low)
    error = math.sqrt(once.true.value * (1 - once.true.value) / 399)
    assert once.true.high - once.true.value == pytest.approx(2 * error)
    assert ten.agrees
    off = scores.bin_probabilities([(name, 0.86, truth) for name, _, truth in alike])
    assert not off[0].true.holds(0.86)
    assert off[0].agrees == (0.86 - once.true.value <= scores.SLACK)
    [far] = scores.bin_probabilities([(name, 0.69, 1.0) for name, _, _ in alike])
    assert not far.agrees
    assert scores.cluster_share({"one": [1.0, 0.0]}).low == 0.0


def test_the_stop_rule_is_followed_at_the_first_yes():
    wide, every = (False, False, True, True), (False, True, True, True)
    looks = (
        look(6, None, 0.5),
        look(8, 0.01, 0.4),
        look(10, 0.04, 0.3, yes=wide),
        look(12, 0.06, 0.0),
        look(14, 0.01, 0.0, yes=every),
    )
    studies = [judged("snar", looks=looks), judged("hplc", looks=looks[:1])]
    found = scores.follow_stop_rule(studies, 0.05)
    assert (found.studies, found.results, found.stated) == (2, 10, pytest.approx(0.04))
    assert (found.loss.value, found.within.value) == (pytest.approx(0.3), 0.0)
    assert scores.follow_stop_rule(studies, 0.02).loss.value == 0.0
    assert scores.follow_stop_rule(studies, 0.01) is None


def test_a_look_is_the_answer_to_a_user_of_each_tolerance(short, tmp_path):
    instance = Task("snar", 0.05).instance(1)
    frame, values = instance.table.frame, instance.table.values
    with kb.Study.create(tmp_path / "s.db", frame, seed=instance.seed) as study:
        for t in range(1, 25):
            [asked] = study.ask()
            study.tell(asked.trial, instance.reward(asked.row, t))
        judged_now = play.judge_look(play.read_answers(study), values)
        for place, tolerance in enumerate(rows.TOLERANCES):
            study.change(tolerance=tolerance)
            stop = study.status().stop
            assert stop.may_stop is judged_now.yes[place]
            assert stop.probability == judged_now.within[place]
        assert study.status().best.probability == judged_now.best
    assert judged_now.results == 24
    assert judged_now.best <= judged_now.within[0] <= judged_now.within[-1]


def test_cautions_are_counted_where_they_belong():
    poor = {"left_out_skill": -0.1}
    studies = [
        judged(seed=0, **poor, cautions=(True, True), skill=-0.2),
        judged(seed=1, **poor, cautions=(True, False)),
        judged(seed=2, cautions=(False, True)),
        judged(seed=3, skill=-0.5),
        judged(seed=4, left_out_skill=None),
    ]
    found = scores.count_cautions(studies, 20)
    assert (found.studies, found.poor, found.said, found.wrongly_said) == (5, 2, 1, 1)
    assert (found.truly_poor, found.truly_poor_said) == (2, 1)


# The page


def test_goals_say_what_is_missed():
    studies = [
        judged(
            table,
            seed,
            coverage=coverage,
            looks=(look(loss=0.3, best=0.95, yes=(False, False, False, True)),),
            left_out_skill=-0.5,
        )
        for table, coverage in (("snar", 0.8), ("hplc", 0.86))
        for seed in range(20)
    ]
    goals = {goal.what: goal for goal in summary.list_goals(studies)}
    covered = goals["coverage of 95 % intervals, noise 0, 20 results, all tables"]
    assert (covered.value, covered.verdict) == (pytest.approx(83), "NO")
    assert "least: snar, 80 %" in covered.note
    best = goals["bins of probability that are off: the recommended row is the best"]
    assert (best.value, best.note) == (1.0, "of 1: 95 % stated, 0 % right")
    right = goals["first yeses that were right, tolerance 0.1, all tables"]
    assert (right.value, right.verdict, right.note) == (0.0, "NO", "0 to 0 %; 40 of 40")
    assert goals["mean loss after stopping with tolerance 0.05"].note == "no study says yes"
    silent = goals["poor models (leave-one-out) of which an answer does not say so"]
    assert (silent.value, silent.verdict) == (40.0, "NO")
    few = [replace(one, seed=0) for one in studies]
    goals = {goal.what: goal for goal in summary.list_goals(few)}
    best = goals["bins of probability that are off: the recommended row is the best"]
    assert (best.verdict, best.note) == ("-", "no bin has looks from enough campaigns")


@pytest.mark.parametrize(
    ("left_out", "skill", "cause"),
    [(0.7, 0.5, "the model: 70 %"), (0.95, 0.1, "the rows that were measured"), (0.95, 0.5, "not")],
)
def test_a_table_with_narrow_intervals_is_named_with_its_cause(left_out, skill, cause):
    narrow = judged("P3HT", coverage=0.7, left_out_coverage=left_out, skill=skill)
    _, line = summary.narrow_cells([narrow, judged("snar", coverage=0.86)])
    assert line[0] == "P3HT"
    assert line[-1].startswith(cause)


def test_the_page_the_numbers_and_the_figure_are_written(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(result_tables, "RESULTS", tmp_path)
    path = tmp_path / "rows.jsonl"
    looks = (look(6, 0.3, 0.2), look(8, 0.01, 0.02, yes=(False, True, True, True)))
    summary.write(path)
    assert "No study has been judged yet" in capsys.readouterr().out
    for table in ("snar", "hplc"):
        for seed in range(2):
            rows.append(path, judged(table, seed, looks=looks))
            rows.append(
                path, judged(table, seed, noise=0.05, results=40, untested=(0.7, True, True))
            )
            rows.append(path, judged(table, seed, design=RANDOM, coverage=0.5))
    summary.write(path)
    page = (tmp_path / "calibration.md").read_text()
    for part in (
        "4 studies with rows drawn at random (2 tables, noise 0, 2 seeds)",
        "| 0 | 20 | 50.0 % (50 to 50 %) | NO |",
        "### The unmeasured row of a higher estimate is better",
        "| 0.02 | 0 | 4 of 4 | 8 | 0.0100 | 0.0200 (0.0200 to 0.0200) | 100 %",
    ):
        assert part in page
    numbers = json.loads((tmp_path / "calibration.json").read_text())
    assert {one["design"] for one in numbers["coverage"]} == {RULE, RANDOM}
    assert numbers["losses"][0]["true"]["studies"] == 8
    if figure.canvas.available():
        drawing = (tmp_path / "calibration.svg").read_text()
        assert "noise 0.05, 40 results" in drawing
        assert "liquid_water" not in drawing
