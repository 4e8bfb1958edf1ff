"""Columns over powers of ten: scaled by their logarithms where named or plain, and stored so."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import study_with_warnings
from kernelbandits.report.studies.columns import MOST_TICKS, log_ticks
from kernelbandits.report.studies.drawing import select_drawings
from kernelbandits.report.studies.page import study_page
from kernelbandits.report.studies.sheets import blank_figure
from kernelbandits.report.studies.view import read_view
from kernelbandits.study.candidates import Candidates, read_candidates, stored_candidates
from kernelbandits.tables.scaling import (
    count_decades,
    has_zero_among_decades,
    is_crowded,
    prefers_logarithms,
)

DOSES = pd.DataFrame(
    [(10.0**power, 20.0 * step) for power in range(-3, 2) for step in range(1, 5)],
    columns=["dose (mM)", "T"],
)
SAID = (
    "column 'dose (mM)' goes from 0.001 to 10, and its logarithms are more evenly spread than its "
    "values, so the model uses log10(dose (mM)); to use the values themselves, create a new study "
    "with linear=['dose (mM)'] (--linear 'dose (mM)')"
)
ADVISED = (
    "column 'dose' goes from 0.1 to 80, and more than half of its values lie in the lowest 10 % of "
    "this range, where rows look almost alike to the model; if ratios matter more than "
    "differences, create a new study with log=['dose'] (--log dose)"
)
CROWDED = pd.DataFrame({"dose": [0.1, 0.2, 0.5, 1.0, 2.0, 3.0, 80.0], "T": [1, 5, 3, 2, 7, 6, 4]})


def height(x: Any) -> float:
    """One smooth top at 0.01 mM and 60 degrees."""
    return -((np.log10(x["dose (mM)"]) + 2) ** 2) - ((x["T"] - 60) / 40) ** 2


def play(study: kb.Study, rounds: int) -> list[int]:
    """Ask and tell without noise, and return the rows."""
    rows = []
    for _ in range(rounds):
        [one] = study.ask()
        study.tell(one.trial, float(height(one.x)))
        rows.append(one.row)
    return rows


def document(*arguments: object) -> Any:
    done = study_with_warnings(*arguments, "--format", "json")
    assert done.code == 0, done.err
    return json.loads(done.out)


@pytest.fixture
def doses(tmp_path: Path) -> Path:
    """The table as a file."""
    path = tmp_path / "doses.csv"
    DOSES.to_csv(path, index=False)
    return path


# ---------------------------------------------------------------- coordinates


@pytest.mark.parametrize("log", ["dose (mM)", ["dose"], ("dose", "T"), "DOSE"])
def test_a_named_column_is_scaled_by_its_logarithms(log):
    found = read_candidates(DOSES, log=log)
    assert found.log == (("dose (mM)", "T") if len(log) == 2 else ("dose (mM)",))
    np.testing.assert_allclose(np.unique(found.points[:, 0]), [0, 0.25, 0.5, 0.75, 1])
    by_ratio = np.log([20, 40, 60, 80])
    expected = (by_ratio - by_ratio[0]) / np.ptp(by_ratio) if "T" in log else np.arange(4) / 3
    np.testing.assert_allclose(found.points[:4, 1], expected, atol=1e-15)


@pytest.mark.thorough
def test_the_logarithm_of_a_column_is_a_table_of_logarithms(tmp_path):
    """A study over x with log=x chooses the rows of one over log10(x)."""
    logs = DOSES.assign(**{"dose (mM)": np.log10(DOSES["dose (mM)"])})
    asked = []
    for name, table, given in (("a", DOSES, {"log": "dose"}), ("b", logs, {})):
        study = kb.Study.create(tmp_path / f"{name}.db", table, seed=3, **given)
        asked.append([])
        for _ in range(9):
            [one] = study.ask()
            study.tell(one.trial, float(height(DOSES.iloc[one.row])))
            asked[-1].append(one.row)
    assert asked[0] == asked[1]


def test_equal_numbers_have_equal_coordinates_wherever_they_stand():
    values = np.random.default_rng(0).uniform(1e-4, 1e4, size=37)
    points = read_candidates(np.tile(values, 5)[:, None], log="x1").points.reshape(5, 37)
    assert (points == points[0]).all()


@pytest.mark.parametrize("column", [[5e-324, 1.0, 1.7e308], [1e-300, 1e-299, 1e-298, 2e-298]])
def test_logarithms_of_any_size_are_scaled(column):
    points = read_candidates(np.array(column)[:, None], log="x1").points
    assert (points.min(), points.max()) == (0.0, 1.0)
    assert np.isfinite(points).all()


def test_a_text_column_keeps_its_coordinates_beside_a_logarithm():
    table = DOSES.assign(solvent=["DMF", "DMSO"] * 10)
    found = read_candidates(table, log="dose")
    assert found.blocks == ((0,), (1,), (2, 3))
    assert (found.points[:, 2:] == read_candidates(table, linear="dose").points[:, 2:]).all()


# ---------------------------------------------------------------- the default


@pytest.mark.parametrize(
    ("values", "taken"),
    [
        ([0.001, 0.01, 0.1, 1, 10], True),
        ([0.0007, 0.007, 0.07, 0.7], True),
        ([1, 30, 1000], True),
        ([0.1, 1, 2, 5, 10, 20, 50, 100, 200], True),
        (np.repeat([1.0, 10.0, 100.0, 1000.0], [20, 1, 1, 1]), True),
        (10.0 ** np.random.default_rng(0).normal(size=100), True),
        ([0.001, 0.01, 0.1, 0.99], False),
        ([0, 0.001, 0.01, 0.1, 1, 10], False),
        ([-1000, 1, 10, 100, 1000], False),
        ([1, 1000], False),
        ([1, 2, 3, 4, 5, 5000], False),
        ([1e-16, 0.1, 0.2, 0.3, 0.4, 0.5], False),
        (np.arange(1, 2001), False),
        (np.random.default_rng(0).random(5000), False),
        (np.random.default_rng(0).random(5000) ** 2, False),
        (np.random.default_rng(0).exponential(size=5000), False),
    ],
    ids=lambda value: "" if isinstance(value, bool) else None,
)
def test_logarithms_are_the_default_where_ratios_are_plain(values, taken):
    """Positive, at least a factor of 1000, and much more even so than by the values."""
    assert prefers_logarithms(np.array(values, dtype=float)) is taken


def test_rounding_of_the_logarithms_takes_no_power_of_ten_away():
    """log10 of 0.09 less that of 9e-5 is a little below 3."""
    for power in range(-6, 3):
        for digit in range(1, 10):
            column = np.array([float(f"{digit}e{power + step}") for step in range(4)])
            assert count_decades(column) >= 3
            assert prefers_logarithms(column)
            assert count_decades(column[:3]) == pytest.approx(2, abs=1e-8)


def test_the_default_is_said_in_one_sentence(tmp_path):
    with pytest.warns(kb.DataNotice) as said:
        study = kb.Study.create(tmp_path / "a.db", DOSES, columns=list(DOSES))
    assert [str(one.message) for one in said] == [SAID] == list(study.candidates.notices)
    assert study.candidates.log == study.status().log == ("dose (mM)",)
    assert study.status().scales == (
        "each column of numbers is scaled to [0, 1], after taking log10 of dose (mM)"
    )


@pytest.mark.parametrize("given", [{"linear": "dose"}, {"linear": ["dose (mM)"]}, {"log": "dose"}])
def test_what_the_user_says_needs_no_notice(tmp_path, given):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        study = kb.Study.create(tmp_path / "a.db", DOSES, columns=list(DOSES), **given)
    assert study.candidates.log == (("dose (mM)",) if "log" in given else ())
    if "linear" in given:
        assert study.status().scales == "each column of numbers is scaled to [0, 1]"
        np.testing.assert_allclose(study.candidates.points[4, 0], 0.009 / 9.999)


def test_the_default_leaves_evenly_spread_columns_alone(tmp_path):
    doses = np.repeat(10.0 ** np.arange(-6, 1), 4)
    even = np.random.default_rng(0).uniform(1e-6, 1.0, size=len(doses))
    with pytest.warns(kb.DataNotice, match=r"'x1' goes from 1e-06 to 1,.*log10\(x1\)") as said:
        study = kb.Study.create(tmp_path / "a.db", np.column_stack([doses, even]))
    assert (len(said), study.candidates.log) == (1, ("x1",))


def test_a_column_of_fewer_powers_of_ten_is_only_named(tmp_path):
    with pytest.warns(kb.DataNotice) as said:
        study = kb.Study.create(tmp_path / "a.db", CROWDED, columns=list(CROWDED))
    assert [str(one.message) for one in said] == [ADVISED]
    assert study.candidates.log == ()
    assert read_candidates(CROWDED, linear="dose").notices == ()
    assert read_candidates(CROWDED, log="dose").notices == ()


@pytest.mark.parametrize(
    ("values", "crowded"),
    [
        ([1, 2, 3, 100], True),
        ([0.07, 0.1, 0.2, 7], True),
        ([1, 2, 3, 99], False),
        ([1, 50, 60, 100], False),
        ([0, 1, 2, 1000], False),
        ([1, 2, 3, 4, 5, 5000], True),
    ],
)
def test_a_column_that_crowds_over_a_factor_of_a_hundred_is_advised(values, crowded):
    assert is_crowded(np.array(values, dtype=float)) is crowded


def test_a_zero_among_powers_of_ten_is_advised_in_both_interfaces(tmp_path):
    table = pd.DataFrame({"dose": [0.0, 0.001, 0.01, 0.1, 1.0, 10.0], "T": range(6)})
    said = (
        "column 'dose' goes from 0 to 10, and its values other than 0 (from 0.001) differ by "
        "factors, but 0 has no logarithm; if ratios matter more than differences, write a small "
        "amount in place of 0, such as 0.0001, and create a new study with log=['dose'] (--log dose)"
    )
    with pytest.warns(kb.DataNotice, match="0 has no logarithm") as caught:
        kb.Study.create(tmp_path / "a.db", table)
    assert said in [str(one.message) for one in caught]
    path = tmp_path / "table.csv"
    table.assign(y="").to_csv(path, index=False)
    done = study_with_warnings("create", tmp_path / "b.db", "--candidates", path, "--target", "y")
    assert said in done.err.replace("\n", " ")
    followed = table.replace({"dose": {0.0: 0.0001}})
    assert kb.Study.create(tmp_path / "c.db", followed, log=["dose"]).candidates.log == ("dose",)


@pytest.mark.parametrize("values", [[0, 1, 2, 3], [0, 5, 5, 5], [-1, 0.001, 1, 100], [0, 0, 0, 7]])
def test_a_zero_is_nothing_to_remark_elsewhere(values):
    assert not has_zero_among_decades(np.array(values, dtype=float))


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            {"log": "solvent"},
            r"doses\.csv needs a column of numbers that describes a candidate for log, got "
            r"'solvent', which is read as text",
        ),
        ({"linear": "solvent"}, "for linear, got 'solvent', which is read as text"),
        ({"log": "hours", "cost": "hours"}, "got 'hours', which does not describe a candidate"),
        ({"log": "y"}, "got 'y', which does not describe a candidate"),
        ({"log": "dose,T"}, r"needs a column for log among dose, .*, got 'dose,T'"),
        ({"linear": ["x"]}, r"needs a column for linear among dose, .*, got 'x'"),
        ({"log": "dose", "linear": "Dose"}, "each column in log or in linear, got 'dose' in both"),
        (
            {"log": "zero"},
            "needs values > 0 to take their logarithms, got 0 in line 3, column 'zero'; leave the "
            "column out of log, or write a small amount in place of 0",
        ),
        (
            {"log": "minus"},
            "got -0.5 in line 4, column 'minus'; leave the column out of log$",
        ),
        (
            {"log": "same"},
            "needs different values to take their logarithms, got 7 in every row of column 'same'",
        ),
        ({"log": 3}, "needs log as the name of a column or a list of names, got 3"),
        ({"linear": [3]}, r"needs linear as the name of a column or a list of names, got \[3\]"),
    ],
)
def test_a_scale_that_a_column_cannot_have_is_refused(tmp_path, given, complaint):
    table = tmp_path / "doses.csv"
    table.write_text(
        "dose,solvent,hours,zero,minus,same,y\n"
        "0.1,DMF,1,1,3,7,\n0.2,DMSO,2,0,2,7,\n0.4,DMF,3,2,-0.5,7,\n"
    )
    with pytest.raises(ValueError, match=complaint):
        kb.Study.create(tmp_path / "a.db", table, target="y", **given)
    assert not (tmp_path / "a.db").exists()


def test_a_value_without_a_logarithm_is_named_by_its_row_in_a_dataframe():
    with pytest.raises(ValueError, match="got 0 in row 1, column 'dose'"):
        read_candidates(pd.DataFrame({"dose": [1.0, 0.0, 2.0]}), log="dose")


def test_numbers_whose_logarithms_are_equal_are_refused():
    """They differ only in a digit that the logarithm does not have."""
    with pytest.raises(ValueError, match=r"needs different values .* got 1e\+300 in every row"):
        read_candidates(np.array([[1e300], [np.nextafter(1e300, 2e300)]]), log="x1")


def test_only_columns_of_numbers_have_logarithms():
    fields = {"columns": {"a": np.ones(1), "b": ("u",)}, "chosen": ("a",)}
    for change in ({"log": ("b",)}, {"log": ("b",), "chosen": ("a", "b")}):
        with pytest.raises(ValueError, match="candidates needs chosen columns of numbers for log"):
            Candidates(**(fields | change))


def test_the_scale_is_settled_at_creation(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", DOSES, linear="dose")
    with pytest.raises(ValueError, match="change needs settings among"):
        study.change(log=["dose"])


# ---------------------------------------------------------------- storage


@pytest.mark.thorough
def test_the_scale_is_stored_and_the_study_replays_after_closing(tmp_path):
    place = tmp_path / "a.db"
    with kb.Study.create(place, DOSES, log=["dose"], seed=1) as study:
        rows, points = play(study, 8), study.candidates.points
    with kb.Study.open(place) as study:
        assert study.history()[0].body["candidates"]["log"] == ["dose (mM)"]
        assert (study.candidates.points == points).all()
        assert [study.replay(trial).recomputed for trial in range(1, 9)] == rows
        [suggestion] = study.ask()
        study.undo()
        study.undo()
        assert all(finding.ok for finding in study.doctor())
        study.backup(tmp_path / "copy.db")
    with kb.Study.open(tmp_path / "copy.db") as copy:
        assert copy.candidates.log == ("dose (mM)",)
        copy.tell(8, float(height(copy.candidates.x(rows[-1]))))
        # The trial has another number, and so another draw from the same model.
        assert copy.ask()[0].note["noise_scale"] == suggestion.note["noise_scale"]


@pytest.mark.thorough
@pytest.mark.parametrize("taken", [True, False])
def test_another_criterion_changes_no_study_that_exists(tmp_path, monkeypatch, taken):
    """A later release may decide otherwise: what was decided at creation stays."""
    place, criterion = tmp_path / "a.db", "kernelbandits.tables.scaling.prefers_logarithms"
    with monkeypatch.context() as patch:
        patch.setattr(criterion, lambda values: taken)
        with kb.Study.create(place, DOSES) as study:
            play(study, 7)
            stored = study.candidates.log
    assert stored == (("dose (mM)", "T") if taken else ())
    with kb.Study.open(place) as study:
        assert study.candidates.log == stored
        assert all(study.replay(trial).same for trial in range(1, 8))
    with kb.Study.create(place, DOSES, or_open=True) as study:
        assert study.candidates.log == stored
        study.ask()


def test_or_open_compares_the_scales_that_were_named(tmp_path):
    place = tmp_path / "a.db"
    kb.Study.create(place, DOSES).close()
    for same in ({}, {"log": "dose"}, {"linear": "T"}):
        kb.Study.create(place, DOSES, or_open=True, **same).close()
    for other, name in (({"linear": "dose"}, r"dose \(mM\)"), ({"log": "T"}, "T")):
        with pytest.raises(
            kb.StudyConflict, match=f"got one with another scale of column '{name}'"
        ):
            kb.Study.create(place, DOSES, or_open=True, **other)


def test_the_scale_comes_back_from_a_log_and_leaves_the_fingerprint_alone():
    found = read_candidates(DOSES, log="dose")
    again = stored_candidates(found.columns, json.loads(json.dumps(found.body)))
    assert (again.log, again.fingerprint) == (found.log, found.fingerprint)
    assert read_candidates(DOSES, linear="dose").fingerprint == found.fingerprint


# ---------------------------------------------------------------- units


@pytest.mark.thorough
def test_everything_is_said_in_the_units_of_the_table(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", DOSES, log="dose", seed=1)
    play(study, 8)
    dose = "dose (mM)"
    assert set(study.estimates()[dose]) == set(study.to_dataframe()[dose]) | set(DOSES[dose])
    best = study.best()
    assert best.x[dose] == DOSES[dose][best.row] == 0.01
    assert "dose (mM) 0.01" in best.sentence
    assert study.explain(8).x[dose] == DOSES[dose][study.explain(8).row]
    told = study.tell_all([{dose: 0.1, "T": 20.0, "value": -2.0}])
    assert told[0].row == 8
    shown = {one.column: one for one in study.check().columns}
    assert (shown[dose].log, shown["T"].log) == (True, False)
    assert shown[dose].share > shown["T"].share


# ---------------------------------------------------------------- figures


def axes_of(view: Any, what: str) -> dict[str, tuple[str, list[str]]]:
    """Name below a panel -> kind of its axis, and the texts of its ticks."""
    found = {}
    for one in select_drawings(view, what):
        with blank_figure(one.height) as figure:
            one.place(figure)
            figure.canvas.draw()
            for axis in figure.axes:
                for side, scale in (
                    (axis.xaxis, axis.get_xscale()),
                    (axis.yaxis, axis.get_yscale()),
                ):
                    texts = [label.get_text() for label in side.get_ticklabels()]
                    name = side.get_label_text().removesuffix(" (log scale)")
                    found[name] = (scale, texts)
    return found


@pytest.mark.thorough
def test_the_axis_of_a_logarithm_is_logarithmic_with_plain_numbers(tmp_path):
    powers = ["0.001", "0.01", "0.1", "1", "10"]
    line = DOSES[["dose (mM)"]].drop_duplicates(ignore_index=True)
    wide = pd.concat([DOSES.assign(n=1 + row % 5) for row in range(3)], ignore_index=True)
    for number, (table, what) in enumerate(
        ((line, "posterior"), (DOSES, "posterior"), (wide, "dependence"))
    ):
        study = kb.Study.create(tmp_path / f"{number}.db", table, log="dose", target="gain")
        for row in range(5):
            study.tell(row=row, value=float(row % 3))
        axes = axes_of(read_view(study), what)
        assert axes["dose (mM)"] == ("log", powers)
        assert axes.get("T", ("linear",))[0] == "linear"
    turned = kb.Study.create(tmp_path / "t.db", DOSES[["T", "dose (mM)"]], log=["dose", "T"])
    turned.tell_all([{"row": 0, "value": 1.0}, {"row": 7, "value": 2.0}])
    axes = axes_of(read_view(turned), "posterior")
    assert (axes["dose (mM)"], axes["T"]) == (("log", powers), ("log", ["20", "50"]))


def test_the_page_names_the_logarithm(tmp_path):
    view = read_view(kb.Study.create(tmp_path / "a.db", DOSES, log="dose"))
    assert "after taking log10 of dose (mM)" in study_page(view, [])


@pytest.mark.parametrize(
    ("low", "high", "ticks"),
    [
        (0.001, 10, [0.001, 0.01, 0.1, 1, 10]),
        (1e-6, 100, [1e-6, 1e-4, 0.01, 1, 100]),
        (1, 10, [1, 2, 5, 10]),
        (1, 20, [1, 3, 10]),
        (0.11, 9.9, [0.3, 1, 3]),
        (3, 3.4, [3, 3.4]),
        (1e308, 1.7e308, [1e308, 1.7e308]),
    ],
)
def test_ticks_of_a_logarithmic_axis_are_few_and_round(low, high, ticks):
    assert log_ticks(low, high) == ticks


def test_there_are_never_many_ticks_or_less_than_two():
    rng = np.random.default_rng(0)
    for _ in range(300):
        low, high = np.sort(10.0 ** (rng.uniform(-1, 1) + rng.exponential(5, size=2)))
        ticks = log_ticks(low, high)
        assert 2 <= len(ticks) <= MOST_TICKS
        assert all(low <= tick <= high for tick in ticks)


# ---------------------------------------------------------------- the command line


BOTH = ("--columns", "dose (mM),T", "--target", "gain")


def test_the_command_says_that_a_logarithm_is_used_and_how_to_refuse(doses):
    done = study_with_warnings(
        "create", doses.with_name("a.db"), "--candidates", doses, "--target", "gain"
    )
    assert done.code == 0
    assert "\nThe model uses log10 of dose (mM).\n" in done.out
    assert f"note: {SAID}\n" in done.err
    linear = study_with_warnings(
        "create", doses.with_name("b.db"), "--candidates", doses, "--linear", "dose (mM)", *BOTH
    )
    assert (linear.code, linear.err) == (0, "")
    assert "log" not in linear.out
    found = document("create", doses.with_name("c.db"), "--candidates", doses, "--quiet", *BOTH)
    assert (found["log"], found["notices"]) == (["dose (mM)"], [SAID])


def test_the_options_may_be_repeated(doses):
    place = doses.with_name("a.db")
    found = document("create", place, "--candidates", doses, "--log", "dose", "--log", "T", *BOTH)
    assert (found["log"], found["notices"]) == (["dose (mM)", "T"], [])
    other = doses.with_name("b.db")
    found = document(
        "create", other, "--candidates", doses, "--linear", "dose", "--linear", "T", *BOTH
    )
    assert (found["log"], found["notices"]) == ([], [])


@pytest.mark.thorough
def test_status_history_and_check_show_the_logarithm(doses):
    place = doses.with_name("a.db")
    study_with_warnings(
        "create", place, "--candidates", doses, "--target", "value", "--log", "dose", "--seed", "1"
    )
    with kb.Study.open(place) as study:
        play(study, 8)
    details = " ".join(study_with_warnings("status", place, "--details").out.split())
    assert "columns each column of numbers is scaled to [0, 1], after taking log10 of" in details
    assert "log10" not in study_with_warnings("status", place).out
    assert document("status", place)["log"] == ["dose (mM)"]
    assert "policy auto, log10 of dose (mM)" in " ".join(
        study_with_warnings("history", place).out.split()
    )
    checked = study_with_warnings("check", place).out
    lines = [line for line in checked.splitlines() if line.startswith("dose (mM)")]
    assert any(line.rstrip().endswith("(log)") for line in lines)
    assert {one["column"]: one["log"] for one in document("check", place)["columns"]} == {
        "dose (mM)": True,
        "T": False,
    }
    asked = document("ask", place)[0]
    assert asked["x"]["dose (mM)"] == DOSES["dose (mM)"][asked["row"]]
    assert document("replay", place, "--at", "8")["same"]
    assert study_with_warnings("undo", place).code == 0
    assert document("replay", place, "--at", "8")["same"]


def test_the_command_refuses_in_one_sentence(doses):
    place = doses.with_name("a.db")
    refused = study_with_warnings(
        "create", place, "--candidates", doses, "--target", "value", "--log", "T", "--linear", "T"
    )
    assert refused.code == 2
    assert (
        refused.err == "error: doses.csv needs each column in log or in linear, got 'T' in both\n"
    )
    assert not place.exists()
    study_with_warnings("create", place, "--candidates", doses, "--target", "value")
    other = study_with_warnings(
        "create", place, "--candidates", doses, "--target", "value", "--or-open", "--linear", "dose"
    )
    assert (other.code, "another scale of column 'dose (mM)'" in other.err) == (1, True)
    assert (
        study_with_warnings(
            "create",
            place,
            "--candidates",
            doses,
            "--target",
            "value",
            "--or-open",
            "--log",
            "dose",
        ).code
        == 0
    )
