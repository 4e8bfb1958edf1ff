"""The paper's preset, its reproduction and the report."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from kernelbandits import analysis, report
from kernelbandits.analysis.readings import reading_map
from kernelbandits.analysis.sensitivity import verdict_map
from kernelbandits.experiment import paper, process_mapper, run_cells
from kernelbandits.experiment.paper import (
    contenders,
    least_norms,
    paper_cells,
    plan_paper,
    read_problems,
    run_paper,
)
from kernelbandits.experiment.paper_settings import (
    FIRST_FRESH_SEED,
    FIXED,
    PRESET,
    PRESET_READING,
    PROPOSED_READING,
    RAW,
    STANDARD,
    PaperReading,
    natural_readings,
    sensitivity_settings,
)
from kernelbandits.exploration import Bernoulli, Step
from kernelbandits.problems import DataUnavailable
from kernelbandits.report import pages

DRAWN = ("regret", "simple-regret", "sensitivity", "effects", "readings")
FEW_READINGS = (PRESET_READING, PROPOSED_READING, PaperReading(PRESET, rewards=RAW))
"""All of them would take as long as the rest of this file."""
TABLES = (
    "summary.csv",
    "rounds.npz",
    "settings.json",
    "claims.md",
    "report.html",
    "sensitivity.csv",
    "readings.csv",
)
FILES = (*TABLES, *(f"{name}.{kind}" for name in DRAWN for kind in ("png", "svg")))


def unavailable(name, **settings):
    if name == "perovskite":
        raise DataUnavailable("the perovskite data need a file or a network, got neither")
    return kb.problem(name, **settings)


@pytest.fixture
def without_perovskite(monkeypatch):
    monkeypatch.setattr(paper, "problem", unavailable)


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paper")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paper, "problem", unavailable)
        patch.setattr(paper, "natural_readings", lambda: FEW_READINGS)
        found = run_paper(plan_paper(horizon=30, seeds=3))
    write(found, folder)
    return found, folder


def write(found, folder):
    return report.write_paper(found, analysis.check_paper(found), folder)


def test_the_preset_is_the_papers_with_its_open_settings_filled_in():
    assert vars(PRESET) == {
        "noise_scale": 1.0,
        "lengthscale": 0.2,
        "ridge": 1.0,
        "norm_bound": 1.0,
        "delta": 0.1,
        "gain": "realised",
    }
    entered = {c.label: c.settings for c in contenders(PRESET, 1001)}
    assert entered["Simple-Bernoulli"]["p"] == Step(Bernoulli(0.5), Bernoulli(0.25), 500)
    assert "delta" not in entered["Simple-UCB"]
    assert entered["IGP-UCB"]["delta"] == entered["GP-TS"]["delta"] == 0.1


@pytest.mark.thorough
def test_the_papers_order_holds_on_hartmann_under_the_preset():
    cells = paper_cells(PRESET, [kb.problem("hartmann6")], 1000, 25, "auto", figure_only=True)
    found = run_cells(cells, endings=True)
    regret = {cell.contender.label: found[cell.key].regret.mean() for cell in cells}
    order = ("Simple-Bernoulli", "Simple-Gaussian", "Simple-Categorical", "Simple-UCB", "GP-TS")
    assert list(order) == sorted(order, key=regret.__getitem__)
    trial = {
        "Simple-Bernoulli": 331,
        "Simple-Gaussian": 387,
        "Simple-Categorical": 668,
        "Simple-UCB": 806,
        "GP-TS": 836,
    }
    for label, mean in trial.items():
        error = (
            found[next(c.key for c in cells if c.contender.label == label)].regret.std(ddof=1) / 5
        )
        assert abs(regret[label] - mean) < 4 * np.sqrt(2) * error


def test_the_map_covers_r_lengthscale_and_both_ridges_once():
    settings = sensitivity_settings()
    assert len(settings) == len(set(settings)) == 15
    assert {s.ridge for s in settings if s.noise_scale == 0.1} == {1.0, 0.1**2}
    assert PRESET in settings


def test_rivals_with_a_ridge_of_their_own_are_played_once_for_both_ridges(without_perovskite):
    plan = plan_paper(horizon=10, seeds=1)
    varied = [cell for cells in plan.map.values() for cell in cells]
    own = (*paper.RIVALS, *paper.ELIMINATION)
    rivals = [cell for cell in varied if cell.contender.label in own]
    assert len({cell.key for cell in rivals}) == 4 * 9 * 5
    assert len(rivals) == 4 * 15 * 5


def test_d_equal_one_is_false_where_the_least_norm_says_so():
    norms = least_norms([kb.problem("holder-table"), kb.problem("cross-in-tray")], kb.RBF(0.2), 25)
    assert np.median(norms["holder-table"]) > 20
    assert np.median(norms["cross-in-tray"]) > 50


def test_every_file_of_the_report_is_written(written):
    _, folder = written
    assert all((folder / name).stat().st_size > 0 for name in FILES)


def test_the_page_stands_alone_and_holds_claims_figures_settings_and_map(written):
    _, folder = written
    page = (folder / "report.html").read_text()
    assert page.count("<svg") == 5
    assert not re.search(r"<script|<link|<img|src=|url\(http", page)
    for text in (
        "claims hold",
        "Where does each claim hold",
        "Settings",
        "Is D = 1 true?",
        "realised",
    ):
        assert text in page


def test_what_is_missing_is_said_once_at_the_top(written):
    _, folder = written
    for name, heading in (("report.html", "<h2>"), ("claims.md", "## ")):
        text = (folder / name).read_text()
        for sentence in ("Perovskite is left out", "the perovskite data need a file or a network"):
            assert text.count(sentence) == 1
            assert text.index(sentence) < text.index(heading)
    assert report.paper.describe_missing(None) == ""


def test_the_summary_names_gain_and_quantiles_for_every_cell(written):
    found, folder = written
    table = pd.read_csv(folder / "summary.csv")
    assert len(table) == len(found.plan.cells) == 4 * 11
    wanted = {
        "regret_mean",
        "regret_low",
        "regret_high",
        "regret_q05",
        "regret_q95",
        "simple_regret_mean",
    }
    assert wanted | {"microseconds_per_round", "gain", "ridge"} <= set(table.columns)
    elimination = table["policy"].isin(paper.ELIMINATION)
    assert set(table["gain"][~elimination]) == {"realised"}
    assert set(table["gain"][elimination]) == {"none"}


def test_the_rounds_hold_every_curve_and_need_no_pickle(written):
    found, folder = written
    with np.load(folder / "rounds.npz", allow_pickle=False) as rounds:
        assert len(rounds.files) == 1 + 3 * len(found.plan.cells)
        assert json.loads(str(rounds["settings"]))["policies"]["GP-TS"]["gain"] == "realised"
        curve = rounds["hartmann6/Simple-UCB/regret"]
        np.testing.assert_array_equal(curve, found.results["hartmann6", "Simple-UCB"].regret)


def test_the_settings_file_says_what_decides_the_result(written):
    _, folder = written
    settings = json.loads((folder / "settings.json").read_text())
    assert settings["horizon"] == 30
    assert settings["policies"]["IGP-UCB"]["gain"] == "realised"
    assert settings["policies"]["IGP-UCB"]["ridge"] == pytest.approx(1 + 2 / 30)
    assert settings["left_out"]


def test_the_map_file_says_the_ridge_and_delta_each_policy_really_had(written):
    _, folder = written
    rows = pd.read_csv(folder / "sensitivity.csv")
    rivals = rows[rows["policy"].isin(paper.RIVALS)]
    assert (rivals["ridge"] == 1 + 2 / 30).all()
    assert set(rows[rows["policy"] == "Simple-UCB"]["ridge"].round(12)) == {1.0, 0.01, 0.0001}
    assert set(rows[rows["policy"] == "Simple-UCB"]["delta"]) == {0.5}
    assert set(rivals["delta"]) == {0.1}


def test_the_page_says_what_the_arms_and_rewards_are(written):
    _, folder = written
    assert "50 candidates a seed, uniform in the unit cube" in (folder / "report.html").read_text()


def test_the_band_is_measured_beside_d(written):
    found, _ = written
    for name, ratios in found.ratios.items():
        assert (ratios > 0).all(), name
        assert (ratios < 1).all(), name


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
def test_files_of_a_map_do_not_outlive_it(written, without_perovskite, tmp_path):
    for name in ("sensitivity.csv", "effects.png"):
        (tmp_path / name).write_text("old")
    write(run_paper(plan_paper(horizon=5, seeds=2, with_map=False)), tmp_path)
    assert not (tmp_path / "sensitivity.csv").exists()
    assert not (tmp_path / "effects.png").exists()
    assert not (tmp_path / "readings.csv").exists()
    assert "sensitivity map" not in (tmp_path / "claims.md").read_text()


def test_claims_md_judges_every_claim_and_shows_the_norms(written):
    found, folder = written
    text = (folder / "claims.md").read_text()
    assert all(v.claim.sentence in text for v in analysis.check_paper(found))
    assert "None" not in text
    assert "least RKHS norm" in text
    assert "is false on" in text
    assert "ln(2/delta)" in (folder / "settings.json").read_text()


@pytest.mark.usefixtures("blank_figures")
def test_the_rounds_file_is_bitwise_the_same_for_two_workers(written, without_perovskite, tmp_path):
    _, folder = written
    with process_mapper(2) as mapper:
        plan = plan_paper(horizon=30, seeds=3, with_map=False)
        found = run_paper(plan, mapper, tmp_path / "cells")
    write(found, tmp_path)
    assert (tmp_path / "rounds.npz").read_bytes() == (folder / "rounds.npz").read_bytes()


@pytest.mark.thorough
def test_the_report_is_written_without_figures_where_matplotlib_is_missing(
    written, monkeypatch, tmp_path
):
    found, _ = written
    monkeypatch.setattr("kernelbandits.canvas.is_installed", lambda name: False)
    write(found, tmp_path)
    assert not (tmp_path / "regret.png").exists()
    assert "<svg" not in (tmp_path / "report.html").read_text()


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
def test_the_tables_are_written_without_a_page_where_jinja2_is_missing(
    written, monkeypatch, tmp_path
):
    found, _ = written
    monkeypatch.setattr(pages, "is_installed", lambda name: False)
    for name in ("report.html", "claims.md"):
        (tmp_path / name).write_text("of an earlier run")
    write(found, tmp_path)
    assert (tmp_path / "summary.csv").exists()
    assert not (tmp_path / "report.html").exists()
    assert not (tmp_path / "claims.md").exists()


def test_curves_are_handed_over_while_times_are_measured(without_perovskite):
    seen = []
    found = run_paper(plan_paper(horizon=5, seeds=2, with_map=False), meanwhile=seen.append)
    assert seen == [found.results]


def test_names_are_shown_as_text_on_the_page():
    page = pages.render("page.html", title="<script>alert(1)</script>", lead="x & <img>")
    assert not re.search("<script>|<img>|x & ", page)


def test_the_page_is_readable_in_light_and_dark_and_on_a_phone(written):
    _, folder = written
    page = (folder / "report.html").read_text()
    assert "prefers-color-scheme: dark" in page
    assert 'name="viewport" content="width=device-width' in page
    assert page.count("<table>") == page.count('<div class="wide"><table>')


def test_the_four_functions_are_those_of_the_paper():
    assert [kb.problem(name).title for name in paper.SYNTHETIC] == [
        "Holder Table (d = 2)",
        "Cross-in-Tray (d = 2)",
        "Ackley (d = 4)",
        "Hartmann (d = 6)",
    ]


@pytest.mark.thorough
def test_the_readings_are_a_fixed_list_on_seeds_of_their_own(without_perovskite):
    readings = natural_readings()
    assert len(readings) == len(set(readings)) == 32
    assert {PRESET_READING, PROPOSED_READING} < {*readings}
    plan = plan_paper(horizon=30, seeds=3)
    assert tuple(plan.readings) == readings
    seeds = {seed for cells in plan.readings.values() for cell in cells for seed in cell.seeds}
    assert seeds == {1000, 1001, 1002}
    keys = {cell.key for cells in plan.readings.values() for cell in cells}
    # IGP-UCB and GP-TS, as all others, are given another R, D, lengthscale or problem each time.
    assert len(keys) == 32 * 4 * 11
    assert not plan_paper(horizon=30, seeds=3, with_map=False).readings


def test_a_reading_changes_the_candidates_or_the_rewards_as_it_says():
    plain = (kb.problem("ackley4"),)
    (fixed,) = read_problems(PaperReading(PRESET, candidates=FIXED), plain)
    one, other = (fixed.instance(kb.Streams(seed)) for seed in (3, 4))
    np.testing.assert_array_equal(one.domain.points, other.domain.points)
    drawn = plain[0].instance(kb.Streams(FIRST_FRESH_SEED))
    np.testing.assert_array_equal(one.values, drawn.values)
    (raw,) = read_problems(PaperReading(PRESET, rewards=RAW), plain)
    played = raw.instance(kb.Streams(3))
    np.testing.assert_allclose(played.values, plain[0].reward(played.domain.points))
    (standard,) = read_problems(PaperReading(PRESET, rewards=STANDARD), plain)
    values, own = standard.instance(kb.Streams(3)).values, played.values
    np.testing.assert_allclose(values, (own - own.mean()) / own.std(), atol=1e-12)
    assert {one.name for one in (fixed, raw, standard)} == {"ackley4"}


def test_the_report_says_how_many_readings_were_tried_and_what_they_support(written):
    found, folder = written
    summary = analysis.summarise_readings(found)
    assert summary.count == 3
    assert report.sum_up_readings(found).startswith("3 readings of what the paper leaves open: ")
    for claim in (*summary.claims[:5], summary.claims[-1]):
        assert len(claim.holds) + len(claim.fails) + len(claim.open) == 3
        by_hand = analysis.check_readings(found)[PROPOSED_READING]
        (own,) = [one for one in by_hand if one.claim.sentence == claim.sentence]
        assert claim.proposed == own.verdict
    for claim in summary.claims[5:7]:
        assert (claim.proposed, len(claim.untested)) == ("not tested", 3)
    for name in ("report.html", "claims.md"):
        text = (folder / name).read_text()
        assert "3 readings were tried, and all of them are shown" in text
        assert "R = 0.01, D = 15, lengthscale 0.1" in text
        assert "about 40 settings had been looked at on other seeds" in text
    table = pd.read_csv(folder / "readings.csv")
    assert len(table) == 3 * (5 * 4 + 2 + 5)
    untested = table["problem"] == "perovskite"
    assert set(table["verdict"][~untested]) <= {"holds", "fails", "not resolved"}
    assert set(table["verdict"][untested]) == {"not tested"}


LEVELS = {
    "Simple-Bernoulli": 10,
    "Simple-Gaussian": 11,
    "Simple-Categorical": 12,
    "GP-TS": 50,
    "BPE": 80,
    "REDS": 80,
    "SupKernelUCB": 80,
    "IGP-UCB": 60,
    "Simple-UCB": 70,
    paper.CONSTANT_HALF: 40,
    paper.CONSTANT_MEAN: 40,
}
"""Regrets under which every claim of the paper holds."""


def supporting_endings(problems):
    rng = np.random.default_rng(0)
    return {
        (p, label): level + rng.random(3) / 100 for p in problems for label, level in LEVELS.items()
    }


def read_with(found, endings):
    return replace(found, readings=dict.fromkeys(FEW_READINGS, endings))


def test_claims_that_were_not_tested_support_no_reading(written):
    found, _ = written
    read = read_with(found, supporting_endings(paper.SYNTHETIC))
    summary = analysis.summarise_readings(read)
    assert (summary.all_hold, summary.most, summary.tested_count) == ((), 6, 6)
    sentence = report.sum_up_readings(read)
    assert "2 of the 8 claims were not tested" in sentence
    assert "Of the 6 that were tested, the most that hold together are 6, under" in sentence
    assert "No tested claim fails under" in sentence
    assert "All" not in sentence
    where = {row["name"]: row["where"] for row in report.paper.reading_values(summary)["rows"]}
    assert where["three similar"] == where["three < the rest"] == "not tested"
    assert where["Bernoulli best"] == "under all"
    once = {name: regret[:1] for name, regret in supporting_endings(paper.SYNTHETIC).items()}
    assert "none holds under any reading" in report.sum_up_readings(read_with(found, once))


def test_a_reading_supports_all_claims_only_if_all_were_tested_and_hold(written):
    found, _ = written
    read = read_with(found, supporting_endings((*paper.SYNTHETIC, paper.PEROVSKITE)))
    sentence = report.sum_up_readings(read)
    assert sentence.endswith(
        f"All 8 claims hold under {(listed := 'R = 1, D = 1, lengthscale 0.2, new candidates; R = 0.01, D = 15, lengthscale 0.1, new candidates; R = 1, D = 1, lengthscale 0.2, rewards as they are')}. No claim fails under {listed}."
    )


@pytest.mark.thorough
def test_what_was_not_tested_is_said_in_every_table_and_map(written):
    found, folder = written
    verdicts = analysis.check_paper(found)
    assert [v.verdict for v in verdicts].count("not tested") == 2
    maps = (verdict_map(found), reading_map(found))
    for rows in maps:
        untested = {name for name, row in rows.items() if set(row) == {"not tested"}}
        assert {name.partition(" — ")[0] for name in untested} == {
            "three similar",
            "three < the rest",
        } | ({"elimination poor"} if rows is maps[0] else set())
    claims = (folder / "claims.md").read_text()
    assert "| 0 | 0 | 0 | 3 | not tested |" in claims
    assert "perovskite: not tested" in (folder / "report.html").read_text()


def test_verdicts_on_regret_do_not_depend_on_how_long_the_rounds_took(written):
    found, _ = written
    slow = {label: 1 + np.arange(3.0) * place for place, label in enumerate(found.times)}
    first, again = analysis.check_paper(found), analysis.check_paper(replace(found, times=slow))
    assert first[:8] == again[:8]
    assert first[8:] != again[8:]


def test_a_list_of_readings_is_counted_where_it_is_long():
    readings = natural_readings()
    assert report.paper.describe_readings((), 32) == "under none"
    assert report.paper.describe_readings(readings, 32) == "under all"
    few = report.paper.describe_readings(readings[:1], 32)
    assert few == "R = 1, D = 1, lengthscale 0.1, new candidates"
    many = report.paper.describe_readings(readings[4:12], 32)
    assert many == "4 readings with new candidates, 4 with one candidate set"
