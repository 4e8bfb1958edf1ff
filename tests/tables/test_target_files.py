"""Sheets and exports of studies with several targets, standard errors, notes and missing values."""

from __future__ import annotations

import warnings

import pandas as pd
import pytest

import kernelbandits as kb
from commands import study as command
from kernelbandits.checks import DataNotice, StudyConflict
from sheet_files import edit, read_cells

TARGETS = {"stability": "minimize", "mean": "maximize,range=0..20"}
FILMS = pd.DataFrame(
    {
        "sample": [f"A{i}" for i in range(9)],
        "Cs": [i / 8 for i in range(9)],
        "note": ["thin", "thick", "thin"] * 3,
    }
)
"""A column called like a detail, and a target called like a column of ours."""


def create(path, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        given = {"targets": TARGETS, "label": "sample", "columns": ["Cs", "note"], "seed": 1} | more
        return kb.Study.create(path, FILMS, **given)


@pytest.fixture
def lab(tmp_path):
    return create(tmp_path / "films.db")


@pytest.mark.parametrize("end", ["csv", "xlsx"])
def test_a_sheet_has_a_column_for_each_target_and_tells_what_is_there(lab, tmp_path, end):
    path = tmp_path / f"plate.{end}"
    lab.tell(row=8, value={"stability": 1.0}, sem={"stability": 0.5}, note="n", by="AB")
    lab.ask(4, sheet=path)
    header = read_cells(path)[0]
    assert header[-6:] == ["stability", "stability sem", "mean", "failed", "note (result)", "by"]
    changes = {(1, "stability"): 1 / 3, (1, "stability sem"): 0.02, (1, "by"): "CD"}
    changes |= {(2, "stability"): 0.5, (2, "mean"): "missing", (3, "failed"): "yes"}
    edit(path, changes)
    with pytest.warns(DataNotice, match="1 of 4 trials has no result yet"):
        told = lab.tell_sheet(path)
    assert [(one.needs, one.missing) for one in told] == [
        (("mean",), False),
        ((), True),
        ((), False),
    ]
    count = len(lab.history())
    with pytest.warns(DataNotice, match="1 of 4"):
        assert not any(one.accepted for one in lab.tell_sheet(path))
    assert len(lab.history()) == count

    lab.write_sheet(path, force=True)
    known = [cells[header.index("stability")] for cells in read_cells(path)[1:]]
    assert [float(one) for one in known if one] == [1.0, 1 / 3]
    edit(path, {(2, "mean"): 12.5})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        told = lab.tell_sheet(path)
    assert [one.needs for one in told if one.accepted] == [()]
    assert lab.status().told == 1


def test_a_standard_error_may_come_after_its_value_and_another_one_is_refused(lab, tmp_path):
    rows = [{"sample": "A1", "stability": 0.3, "mean": 5.0}]
    lab.tell_all(rows)
    rows[0] |= {"stability sem": 0.1, "mean sem": 2.0}
    assert lab.tell_all(rows)[0].accepted
    assert not lab.tell_all(rows)[0].accepted
    assert lab.to_dataframe()[["stability sem", "mean (target) sem"]].iloc[0].tolist() == [0.1, 2.0]
    rows[0]["mean sem"] = 3.0
    with pytest.raises(StudyConflict, match="needs the standard error 2 of mean"):
        lab.tell_all(rows)
    assert lab.tell_all(rows, corrected=True)[0].accepted


WRONG = [
    ({(1, "stability"): 0.5, (1, "failed"): "yes"}, "needs no value"),
    ({(1, "stability sem"): 0.5}, "only beside a value"),
    ({(1, "stability"): 0.5, (1, "stability sem"): 0}, "a standard error > 0"),
    ({(1, "mean"): "lost"}, "needs a number"),
    ({(1, "mean"): "lost", (2, "stability"): "~3"}, "all 2 cells to correct: .*'lost', .*'~3'"),
]


def test_what_is_filled_in_wrongly_is_refused_and_nothing_is_stored(lab, tmp_path):
    lab.tell(row=8, value={"stability": 1.0, "mean": 2.0}, sem={"stability": 0.5})
    lab.ask(2)
    count = len(lab.history())
    for changes, complaint in WRONG:
        path = tmp_path / "plate.csv"
        lab.write_sheet(path, force=True)
        edit(path, {(2, "mean"): 3.0} | changes)
        with pytest.raises(ValueError, match=complaint):
            lab.tell_sheet(path)
    assert len(lab.history()) == count


def test_a_sheet_of_one_target_takes_errors_notes_and_missing_values(tmp_path):
    lab = create(tmp_path / "one.db", targets=None, target="stability")
    lab.tell(row=8, value=1.0, sem=0.5, note="first", by="AB")
    path = tmp_path / "plate.csv"
    lab.ask(3, sheet=path)
    changes = {(1, "stability"): 0.5, (1, "sem"): 0.1, (1, "note (result)"): "second batch"}
    edit(path, changes | {(2, "stability"): "Missing", (2, "note (result)"): "lost"})
    with pytest.warns(DataNotice, match="1 of 3"):
        told = lab.tell_sheet(path)
    assert [(one.value, one.sem, one.missing) for one in told] == [
        (0.5, 0.1, False),
        (None, None, True),
    ]
    frame = lab.to_dataframe()
    assert frame["state"].tolist() == ["told", "told", "missing", "pending"]
    assert frame["note (result)"].tolist()[:2] == ["first", "second batch"]
    assert frame["note"].isin(["thin", "thick"]).all()
    count = len(lab.history())
    with pytest.warns(DataNotice, match="1 of 3"):
        assert not any(one.accepted for one in lab.tell_sheet(path))
    assert len(lab.history()) == count


@pytest.mark.parametrize("end", ["csv", "xlsx", "parquet"])
def test_an_export_of_several_targets_comes_back(lab, tmp_path, end):
    lab.tell(row=0, value={"stability": 0.1 + 0.2, "mean": 3.0}, sem={"mean": 0.5}, note="a")
    lab.tell(row=0, value={"stability": 0.4, "mean": 4.0}, by="AB")
    lab.tell(row=1, value={"stability": 0.7})
    lab.tell(row=2, value={"stability": 0.6}, missing="mean")
    lab.tell(row=3, failed=True)
    lab.tell(row=4, value={"stability": 0.9, "mean": 1.0})
    lab.withdraw(6, reason="wrong film")
    path = tmp_path / f"out.{end}"
    lab.export(path)
    with pytest.warns(DataNotice, match="1 row has no value yet"):
        assert not any(one.accepted for one in lab.tell_all(path))

    again = create(tmp_path / "again.db")
    with pytest.warns(DataNotice, match="1 row has no value yet"):
        assert all(one.accepted for one in again.tell_all(path))
    with pytest.warns(DataNotice, match="1 row has no value yet"):
        assert not any(one.accepted for one in again.tell_all(path))
    kept = [
        "row",
        "state",
        "stability",
        "mean (target)",
        "mean (target) sem",
        "note (result)",
        "by",
    ]
    before = lab.to_dataframe().iloc[:5][kept]
    pd.testing.assert_frame_equal(again.to_dataframe()[kept], before)
    assert again.status().told == lab.status().told == 2


def test_the_commands_tell_sheets_and_exports_of_several_targets(lab, tmp_path):
    place, path, out = tmp_path / "films.db", tmp_path / "plate.csv", tmp_path / "out.xlsx"
    command("ask", place, "--n", 2, "--sheet", path)
    edit(path, {(1, "stability"): 0.5, (2, "stability"): 0.6, (2, "mean"): 11})
    done = command("tell", place, "--sheet", path, "--format", "json")
    assert [one["values"] for one in done.document] == [
        {"stability": 0.5},
        {"stability": 0.6, "mean": 11.0},
    ]
    assert command("export", place, out).code == 0
    create(tmp_path / "again.db")
    done = command("tell", tmp_path / "again.db", "--file", out, "--format", "json")
    assert [one["needs"] for one in done.document] == [["mean"], []]


@pytest.mark.parametrize("several", [True, False])
def test_lines_off_the_table_are_learnt_as_points_on_demand(tmp_path, several):
    given = {} if several else {"targets": None, "target": "stability"}
    lab, path = create(tmp_path / "a.db", **given), tmp_path / "r.csv"
    path.write_text("Cs,note,stability,mean\n0.3,thin,1,2\n0,thin,3,4\n0.3,thin,5,6\n0.4,new,7,8\n")
    count = len(lab.history())
    with pytest.raises(StudyConflict, match=r"line 2: no candidate has .*--off-table"):
        lab.tell_all(path)
    assert len(lab.history()) == count
    with pytest.warns(DataNotice, match="learnt as a point off the table"):
        told = lab.tell_all(path, off_table=True)
    assert [one.row for one in told] == [9, 0, 9, 10]
    assert (len(lab.candidates), lab.status().told, lab.status().allowed) == (11, 4, 9)
    count = len(lab.history())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        assert not any(one.accepted for one in lab.tell_all(path, off_table=True))
    assert len(lab.history()) == count
    lab.export(tmp_path / "out.csv")
    again = create(tmp_path / "again.db", **given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        assert [one.row for one in again.tell_all(tmp_path / "out.csv", off_table=True)] == [
            9,
            0,
            9,
            10,
        ]
