"""`study.check` and `kernelbandits study check`: can the model be trusted?"""

from __future__ import annotations

import itertools
import json
import math
import warnings
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import kernelbandits as kb
from kernelbandits.apps.cli import app
from kernelbandits.formatting import HALF_INTERVAL
from kernelbandits.report.studies import draw_check
from kernelbandits.report.studies.model_check import check_drawing, draw_predictions
from kernelbandits.study import Check

N = 40
_RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "T (°C)": _RNG.uniform(20, 120, N).round(1),
        "pH": _RNG.uniform(3, 9, N).round(2),
        "solvent": _RNG.choice(["DMF", "DMSO", "water"], N),
        "stirrer": _RNG.integers(1, 9, N),
    }
)
YIELD = (
    50 + 20 * np.sin(TABLE["T (°C)"] / 25) + 8 * (TABLE["solvent"] == "DMF") + 2 * (TABLE["pH"] - 6)
).to_numpy()


@pytest.fixture
def make(tmp_path):
    """make(results, table, ...): a study with results (row, value), None for a failure."""
    numbers = itertools.count()

    def make(results, table=TABLE, **settings):
        place = tmp_path / f"films{next(numbers)}.db"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            study = kb.Study.create(place, table, **({"target": "yield (%)"} | settings))
            for row, value in results:
                study.tell(row=row, value=value, failed=value is None)
        return study

    return make


def smooth(rows):
    return [(row, float(YIELD[row])) for row in rows]


def invoke(*arguments):
    return CliRunner().invoke(app, ["study", "check", *map(str, arguments)])


# ---------------------------------------------------------------------- what it says


@pytest.mark.thorough
def test_a_smooth_target_is_predicted_well_and_the_idle_column_is_named(make):
    found = make(smooth(range(25))).check()
    assert isinstance(found, Check)
    assert found.verdict == "good"
    assert found.skill > 0.9
    assert not found.outliers
    assert found.sentences[0] == (
        "The model predicts held-out results well "
        f"(it explains {100 * found.skill:.0f} % of their variance)."
    )
    assert found.columns[0].column == "T (°C)"
    assert found.columns[-1].column == "stirrer"
    assert found.columns[-1].high < 0.02
    assert "No influence is visible of stirrer." in found.sentence
    assert "no candidate was measured twice, so measure one row again" in found.sentence
    assert str(found) == found.sentence
    assert repr(found).startswith("<Check: The model predicts")


@pytest.mark.thorough
@pytest.mark.parametrize("direction", ["maximize", "minimize"])
def test_numbers_are_in_the_units_of_the_target_with_the_right_sign(make, direction):
    study = make(smooth(range(20)), direction=direction)
    found = study.check()
    assert [one.row for one in found.held_out] == list(range(20))
    for one in found.held_out:
        assert one.measured == pytest.approx(YIELD[one.row])
        assert abs(one.predicted - one.measured) < 25
        assert one.low == pytest.approx(one.predicted - HALF_INTERVAL * one.sd)
        assert one.high == pytest.approx(one.predicted + HALF_INTERVAL * one.sd)
        assert one.residual == pytest.approx((one.measured - one.predicted) / one.sd)
    errors = np.array([one.measured - one.predicted for one in found.held_out])
    values = np.array([one.measured for one in found.held_out])
    others = (values.sum() - values) / 19
    assert found.skill == pytest.approx(1 - (errors**2).sum() / ((values - others) ** 2).sum())
    inside = [one.low <= one.measured <= one.high for one in found.held_out]
    assert found.coverage == pytest.approx(np.mean(inside))


@pytest.mark.thorough
def test_both_directions_of_mirrored_results_agree(make):
    up = make(smooth(range(15))).check()
    down = make([(row, -value) for row, value in smooth(range(15))], direction="minimize").check()
    assert down.skill == pytest.approx(up.skill, rel=1e-9)
    for one, other in zip(up.held_out, down.held_out, strict=True):
        assert other.predicted == pytest.approx(-one.predicted, rel=1e-9)
        assert other.residual == pytest.approx(-one.residual, rel=1e-6, abs=1e-9)


@pytest.mark.thorough
def test_shuffled_results_are_called_unpredictable(make):
    order = np.random.default_rng(5).permutation(30)
    found = make([(row, float(YIELD[order[row]])) for row in range(30)]).check()
    assert found.verdict == "poor"
    assert "do not rely on its estimates yet" in found.sentences[0]
    assert "check whether the columns describe what matters" in found.sentences[0]
    assert "Which columns matter cannot be said" in found.sentence


@pytest.mark.thorough
def test_a_slip_of_the_decimal_point_is_named_by_its_trial_and_row(make):
    results = smooth(range(20))
    results[7] = (7, results[7][1] * 10)
    study = make(results)
    found = study.check()
    [outlier] = found.outliers
    assert (outlier.trial, outlier.row) == (8, 7)
    assert outlier.value == results[7][1]
    assert outlier.sentence in found.sentences
    assert outlier.sentence.startswith(f"Trial 8 (row 7, {results[7][1]:.6g}) is ")
    assert "check it, and correct it if it is wrong (study correct)" in outlier.sentence
    if found.verdict == "poor":
        assert "look at it first" in found.sentences[0]
    study.correct(8, YIELD[7])
    assert not study.check().outliers
    assert study.check().verdict == "good"


@pytest.mark.thorough
def test_repeats_are_one_candidate_and_say_how_the_noise_is_known(make):
    found = make([*smooth(range(10)), (3, YIELD[3] + 0.5), (4, YIELD[4] - 0.5)]).check()
    assert len(found.held_out) == 10
    assert found.held_out[3].trials == (4, 11)
    assert found.held_out[3].measured == pytest.approx(YIELD[3] + 0.25)
    assert found.replicated == 2
    assert "2 candidates measured more than once" in found.sentences[-1]
    assert 0.05 < found.noise < 5


@pytest.mark.thorough
def test_of_repeats_the_result_far_from_the_prediction_is_named(make):
    results = [*smooth(range(20)), (7, 900.0)]
    [outlier] = make(results).check().outliers
    assert (outlier.trial, outlier.row, outlier.value) == (21, 7, 900.0)


def test_intervals_that_miss_too_much_are_called_too_narrow(make):
    """A policy that was told far too little noise and far too smooth a kernel."""
    settings = {
        "policy": "simple-ucb",
        "kernel": kb.RBF(3.0),
        "settings": {"noise_scale": 0.01, "norm_bound": 1.0},
    }
    values = [(row, float(50 + 10 * (-1) ** row)) for row in range(20)]
    found = make(values, **settings).check()
    assert found.coverage < 0.7
    assert "they are too narrow" in found.sentences[1]


# ---------------------------------------------------------------------- unusual studies


@pytest.mark.parametrize("results", range(5))
def test_few_results_are_too_early(make, results):
    found = make(smooth(range(results))).check()
    assert found.verdict == "unknown"
    assert found.skill is None
    assert found.coverage is None
    assert not found.held_out
    assert not found.columns
    expected = f"(so far: {results})" if results else "There is no result yet"
    assert expected in found.sentences[0]
    assert list(found.to_dataframe().columns)[:3] == ["row", "trials", "measured"]


def test_equal_results_leave_nothing_to_predict(make):
    found = make([(row, 7.5) for row in range(8)]).check()
    assert (found.verdict, found.skill) == ("unknown", None)
    assert found.sentences[0].startswith("All results are equal")
    assert all(one.predicted == pytest.approx(7.5) for one in found.held_out)
    assert not found.outliers


def test_a_table_of_categories_alone(make):
    rows = list(itertools.product(["water", "ethanol", "DMF"], ["NaOH", "K2CO3"], ["Pd", "Ni"]))
    table = pd.DataFrame(rows, columns=["solvent", "base", "metal"])
    worth = {"water": 1.0, "ethanol": 4.0, "DMF": 9.0, "NaOH": 0.0, "K2CO3": 0.5}
    results = [(row, worth[solvent] + worth[base]) for row, (solvent, base, _) in enumerate(rows)]
    found = make(results, table).check()
    assert found.verdict == "good"
    assert found.columns[0].column == "solvent"
    assert found.columns[-1].column == "metal"
    assert all(0 < one.lengthscale < math.inf for one in found.columns)


@pytest.mark.thorough
def test_costs_failures_and_rows_that_are_not_allowed(make):
    table = TABLE.assign(hours=np.arange(N) + 1, ok=["yes"] * 30 + ["no"] * 10)
    results = [*smooth(range(12)), (13, None), (14, None), (35, float(YIELD[35]))]
    found = make(results, table, cost="hours", allowed="ok").check()
    assert {one.column for one in found.columns} == {"T (°C)", "pH", "solvent", "stirrer"}
    assert [one.row for one in found.held_out] == [*range(12), 35]


def test_one_column_that_never_changes_and_one_that_does(make):
    table = pd.DataFrame({"x": np.linspace(0, 1, 12), "same": [3.0] * 12})
    found = make([(row, math.sin(6 * row / 11)) for row in range(12)], table).check()
    assert [one.column for one in found.columns] == ["x"]
    assert found.columns[0].share == pytest.approx(1.0)
    table = pd.DataFrame({"x": [1.0] * 6})
    found = make([(row, float(row)) for row in range(6)], table).check()
    assert found.verdict == "unknown"


@pytest.mark.parametrize(
    ("policy", "settings"),
    [
        ("simple-bernoulli", {"noise_scale": 0.1, "norm_bound": 2.0}),
        ("gp-ts", {"noise_scale": 0.1, "norm_bound": 2.0, "horizon": 50}),
        ("random", {}),
        ("expected-improvement", {"noise_scale": 0.1}),
    ],
)
def test_named_policies_are_checked_by_their_kernel(make, policy, settings):
    study = make(smooth(range(15)), policy=policy, kernel=kb.RBF(0.4), settings=settings)
    found = study.check()
    assert len(found.held_out) == 15
    assert found.skill is not None
    assert all(one.lengthscale == pytest.approx(0.4) for one in found.columns)
    assert "Noise: assumed sd" in found.sentence


def test_a_policy_that_forgets_has_no_model_to_check(make):
    settings = {"noise_scale": 0.1, "norm_bound": 2.0, "forgetting": 0.9}
    study = make(smooth(range(10)), policy="wgp-ucb", kernel=kb.RBF(0.4), settings=settings)
    found = study.check()
    assert found.verdict == "unknown"
    assert "wgp-ucb has no model of all results" in found.sentence


def test_blocks_of_columns_cover_all_coordinates(make):
    candidates = make([]).candidates
    blocks = dict(zip(candidates.varying, candidates.blocks, strict=True))
    assert [*itertools.chain(*blocks.values())] == [*range(candidates.points.shape[1])]
    assert len(blocks["solvent"]) == 3


@pytest.mark.thorough
def test_checking_changes_nothing_and_needs_no_right_to_write(make):
    study = make(smooth(range(10)))
    before = study.history()
    reader = kb.Study.open(study.place, writable=False)
    assert reader.check().held_out == study.check().held_out
    assert study.history() == before


@pytest.mark.thorough
def test_the_dataframe_has_one_row_for_each_candidate(make):
    found = make(smooth(range(9))).check()
    frame = found.to_dataframe()
    assert list(frame["row"]) == list(range(9))
    np.testing.assert_array_equal(frame["predicted"], [one.predicted for one in found.held_out])


# ---------------------------------------------------------------------- figure


@pytest.mark.parametrize(
    ("suffix", "results"),
    [
        ("png", 3),
        ("svg", 0),
        ("html", 20),
        pytest.param("svg", 20, marks=pytest.mark.thorough),
        pytest.param("pdf", 20, marks=pytest.mark.thorough),
        pytest.param("html", 0, marks=pytest.mark.thorough),
    ],
)
def test_every_format_is_written(make, tmp_path, suffix, results):
    study = make(smooth(range(results)))
    path = tmp_path / f"check.{suffix}"
    assert draw_check(study, path) == path
    start = {"png": b"\x89PNG", "pdf": b"%PDF", "svg": b"<?xml", "html": b"<!doctype html>"}
    assert path.read_bytes().startswith(start[suffix])
    again = path.read_bytes()
    draw_check(study, path, force=True)
    assert path.read_bytes() == again


def draw_text(study, path):
    """All words of the figure of a study."""
    draw_check(study, path)
    return " ".join(ElementTree.parse(path).getroot().itertext())


@pytest.mark.thorough
def test_the_figure_names_outliers_columns_and_target(make, tmp_path):
    text = draw_text(make(smooth(range(20))), tmp_path / "good.svg")
    assert "measured yield (%)" in text
    for column in TABLE.columns:
        assert column in text
    results = smooth(range(20))
    results[7] = (7, results[7][1] * 10)
    study = make(results)
    text = draw_text(study, tmp_path / "slip.svg")
    assert "check row 7" in text
    assert study.check().outliers[0].sentence.split(":")[0] in " ".join(text.split())
    # The text says that the columns cannot be ranked, so the figure does not rank them.
    assert study.check().verdict == "poor"
    assert "Which columns matter cannot be said" in text
    assert "stirrer" not in text


@pytest.mark.thorough
def test_the_intervals_of_the_figure_are_those_of_the_check(make):
    """Results of which few are large are transformed: their intervals are longer above."""
    from matplotlib.figure import Figure

    found = make([(row, float(np.exp(YIELD[row] / 8))) for row in range(25)]).check()
    skewed = [
        one for one in found.held_out if one.high - one.predicted > 1.2 * (one.predicted - one.low)
    ]
    assert len(skewed) > 5
    axis = Figure().subplots()
    draw_predictions(found, axis)
    drawn = [line for bars in axis.collections for line in bars.get_segments()]
    ends = {(round(float(low), 6), round(float(high), 6)) for (_, low), (_, high) in drawn}
    assert ends == {(round(one.low, 6), round(one.high, 6)) for one in found.held_out}


def test_equal_results_have_no_figure_no_intervals_and_no_noise(make, tmp_path):
    study = make([(row, 5.0) for row in range(8)])
    found = study.check()
    assert (found.skill, found.coverage, found.noise) == (None, None, None)
    assert found.sentences[0].startswith("All results are equal")
    assert "Noise: not known yet; measure one row twice to know it." in found.sentences
    text = draw_text(study, tmp_path / "equal.svg")
    assert "All results are equal" in text
    assert "predicted from the others" not in text


@pytest.mark.thorough
def test_the_page_escapes_names_of_the_table(make, tmp_path):
    evil = "<script>alert(1)</script>"
    table = TABLE.rename(columns={"pH": evil})
    study = make(smooth(range(8)), table, target="<b>yield</b>")
    draw_check(study, tmp_path / "check.html")
    page = (tmp_path / "check.html").read_text()
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;" in page


@pytest.mark.thorough
def test_many_columns_and_long_names_fit(make):
    names = [f"a very long name of a column, number {j}, in mol per litre" for j in range(20)]
    table = pd.DataFrame(np.random.default_rng(0).random((12, 20)), columns=names)
    drawing = check_drawing(make([(row, float(row)) for row in range(8)], table).check())
    assert drawing.height > 5


@pytest.mark.parametrize(
    ("name", "needed"), [("check.gif", "a name in .png"), ("no/check.png", "a folder that exists")]
)
def test_a_file_that_cannot_be_written_is_refused(make, tmp_path, name, needed):
    with pytest.raises(ValueError, match=needed):
        draw_check(make(smooth(range(6))), tmp_path / name)


# ---------------------------------------------------------------------- command line


@pytest.mark.thorough
def test_the_command_says_what_python_says(make):
    results = smooth(range(20))
    results[7] = (7, results[7][1] * 10)
    study = make(results)
    found = study.check()
    shown = invoke(study.place)
    assert shown.exit_code == 0
    for sentence in found.sentences:
        assert sentence in shown.output
    assert f"kernelbandits study correct {study.place} 8 VALUE" in shown.output


@pytest.mark.thorough
def test_the_json_document_has_all_numbers(make):
    study = make(smooth(range(12)))
    found = study.check()
    document = json.loads(invoke(study.place, "--format", "json").stdout)
    assert document["verdict"] == found.verdict
    assert document["skill"] == pytest.approx(found.skill)
    assert document["sentences"] == list(found.sentences)
    assert [one["row"] for one in document["held_out"]] == [one.row for one in found.held_out]
    assert document["held_out"][0]["predicted"] == pytest.approx(found.held_out[0].predicted)
    assert [one["column"] for one in document["columns"]] == [one.column for one in found.columns]
    assert document["plot"] is None


@pytest.mark.thorough
def test_the_command_draws_and_says_where(make, tmp_path):
    study, path = make(smooth(range(8))), tmp_path / "check.png"
    shown = invoke(study.place, "--plot", path)
    assert path.read_bytes().startswith(b"\x89PNG")
    assert "Written to" in shown.output
    again = tmp_path / "again.png"
    document = json.loads(invoke(study.place, "--plot", again, "--format", "json").stdout)
    assert document["plot"] == str(again)


@pytest.mark.parametrize("results", [0, 2])
def test_the_command_works_before_there_is_anything_to_check(make, results):
    study = make(smooth(range(results)))
    assert invoke(study.place).exit_code == 0
    document = json.loads(invoke(study.place, "--format", "json").stdout)
    assert document["skill"] is None
    assert document["verdict"] == "unknown"


def test_help_has_examples():
    shown = CliRunner().invoke(app, ["study", "check", "--help"])
    assert "kernelbandits study check films.db --plot check.png" in shown.output


def test_a_slip_among_repeated_measurements_is_named(tmp_path):
    """Its row was measured again: the slip is then taken for noise, and no prediction shows it."""
    points = np.random.default_rng(0).random((10, 2))
    with kb.Study.create(tmp_path / "a.db", points) as study:
        for row, (x, _) in enumerate(points):
            study.tell(row=row, value=30 + 5 * float(x))
        with pytest.warns(kb.DataNotice, match="trial 11"):
            study.tell(row=3, value=310.0)
        check = study.check()
        assert any("Trial 11 (row 3, 310) is far from" in text for text in check.sentences)
        assert "look at it first" in check.sentences[0]
        study.correct(11, 31.0)
        assert not any("far from all other results" in text for text in study.check().sentences)


def test_noise_of_two_rows_measured_again_does_not_ask_to_measure_again(tmp_path):
    with kb.Study.create(tmp_path / "a.db", [[0.0], [1.0]]) as study:
        for trial in range(6):
            study.tell(row=trial % 2, value=trial % 2 + 0.1 * trial)
        assert study.check().sentences[-1] == "Noise: not known yet."


@pytest.mark.thorough
def test_a_noise_given_is_called_unchecked_until_a_row_is_measured_twice(make):
    study = make(smooth(range(8)), noise=0.5)
    given = "Noise: you gave an sd of 0.5 for one result"
    assert (
        f"{given}; no candidate was measured twice, so measure one row again to check that."
        in study.check().sentences
    )
    study.tell(row=0, value=float(YIELD[0]) + 0.3)
    assert f"{given}, and no result contradicts it." in study.check().sentences


# ---------------------------------------------------------------- failures


def failing_study(tmp_path, fails, rows=20):
    table = np.random.default_rng(2).random((30, 2))
    study = kb.Study.create(tmp_path / "failed.db", table, target="y", seed=1)
    for row in range(rows):
        if fails(table[row], row):
            study.tell(row=row, failed=True)
        else:
            study.tell(row=row, value=float(np.sin(4 * table[row, 0])))
    return study


def test_failures_that_depend_on_a_column_can_be_predicted(tmp_path):
    with failing_study(tmp_path, lambda x, row: x[1] > 0.6) as study:
        check, model = study.check(), study._session.updated_driver().policy.success
        found = check.success
        worked = model.attempts.succeeded
        assert (found.failed, found.measurements) == (int((~worked).sum()), 20)
        happened = np.where(worked, model.left_out, 1 - model.left_out)
        assert found.log_score == pytest.approx(np.log(happened).mean())
        assert found.predicts
        assert found.log_score > found.log_score_of_share
        assert check.sentences[-1] == found.sentence
        assert f"{found.failed} of 20 measurements failed. Which ones fail can be" in found.sentence
        (ask,) = study.ask()
        assert "Its measurement succeeds with probability" in ask.why


def test_bad_luck_cannot_be_predicted(tmp_path):
    with failing_study(tmp_path, lambda x, row: row % 5 == 3) as study:
        found = study.check().success
        assert not found.predicts
        assert "cannot be predicted so far" in found.sentence


def test_without_failures_nothing_is_said_of_success(tmp_path):
    with failing_study(tmp_path, lambda x, row: False) as study:
        check = study.check()
        assert check.success is None
        assert not any("failed" in sentence for sentence in check.sentences)
        assert "succeeds" not in study.ask()[0].why
