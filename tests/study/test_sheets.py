"""Sheets: written with an ask, filled in, told back; what was changed is refused as a whole."""

from __future__ import annotations

import csv
import errno
import os

import pandas as pd
import pytest

import kernelbandits as kb
from commands import study as command
from kernelbandits import outputs
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.study import ResultsDiffer, SheetNotWritten
from sheet_files import edit, read_cells

FILMS = pd.DataFrame(
    {
        "sample": [f"=A{i}" for i in range(12)],
        "temperature": [60.0, 80.0] * 6,
        "Cs": [i / 7 for i in range(12)],
        "failed": ["no", "maybe", "never"] * 4,
    }
)


@pytest.fixture
def study(tmp_path):
    with pytest.warns(DataNotice):
        return kb.Study.create(
            tmp_path / "films.db",
            FILMS,
            target="row",
            columns=["temperature", "Cs", "failed"],
        )


@pytest.mark.parametrize("end", ["csv", "xlsx"])
def test_a_sheet_is_told_back_as_it_is_filled_in(study, tmp_path, end):
    path = tmp_path / f"plate.{end}"
    batch = study.ask(4, same="temperature", sheet=path)
    assert {one.sheet for one in batch} == {str(path)}
    header, *rows = read_cells(path)
    assert header == [
        "study", "trial", "row", "sample", "temperature", "Cs", "failed (candidate)", "row (result)", "failed",
    ]  # fmt: skip
    assert [int(cells[1]) for cells in rows] == [one.trial for one in batch]
    edit(path, {(2, "row (result)"): 0.83, (4, "failed"): "yes"})
    with pytest.warns(DataNotice, match="2 of 4 trials have no result yet"):
        told = study.tell_sheet(path)
    assert [(one.trial, one.value, one.accepted) for one in told] == [
        (2, 0.83, True),
        (4, None, True),
    ]
    edit(path, {(1, "row (result)"): -1.5, (3, "row (result)"): 0})
    told = study.tell_sheet(path)
    assert [(one.value, one.accepted) for one in told] == [
        (-1.5, True), (0.83, False), (0.0, True), (None, False),
    ]  # fmt: skip
    edit(path, {(1, "row (result)"): -1.6})
    with pytest.raises(ResultsDiffer):
        study.tell_sheet(path)
    assert study.tell_sheet(path, corrected=True)[0].value == -1.6


CHANGED = [
    ({(2, "study"): "S-0123456789ab"}, "got 'S-0123456789ab', a sheet of another study"),
    ({(2, "study"): ""}, "the name of this study, got none"),
    ({(2, "trial"): 3}, "needs .* as trial 3 has it, got|each trial once, trial 3 too"),
    ({(2, "trial"): 99}, "got trial 99, which does not exist"),
    ({(2, "trial"): ""}, "needs a trial of this study .* got none"),
    ({(2, "row"): 11}, "column 'row', as trial 2 has it, got '11'"),
    ({(2, "sample"): "A99"}, "column 'sample', as trial 2 has it, got 'A99'"),
    ({(2, "temperature"): 60.001}, "column 'temperature', as trial 2 has it, got '60.001'"),
    ({(2, "Cs"): ""}, "column 'Cs', as trial 2 has it, got ''"),
    ({(0, "Cs"): "caesium"}, "needs the columns of the sheet as they were, 'Cs' too"),
    ({(2, "row (result)"): "0.8 V"}, "needs a number .* column 'row .result.', got '0.8 V'"),
    ({(2, "failed"): "perhaps"}, "needs yes or no .*, column 'failed', got 'perhaps'"),
    ({(2, "row (result)"): 1, (2, "failed"): "x"}, "needs no value .* the measurement failed"),
]


@pytest.mark.thorough
@pytest.mark.parametrize("end", ["csv", "xlsx"])
def test_a_sheet_that_was_changed_is_refused_and_nothing_is_stored(study, tmp_path, end):
    path = tmp_path / f"plate.{end}"
    study.ask(4, same="temperature")
    before = len(study.history())
    for change, complaint in CHANGED:
        study.write_sheet(path, force=True)
        edit(path, {(1, "row (result)"): 0.5, (3, "row (result)"): 0.7} | change)
        with pytest.raises((StudyConflict, ValueError), match=complaint):
            study.tell_sheet(path)
    assert len(study.history()) == before


def test_a_sheet_of_another_study_is_refused(study, tmp_path):
    twin = kb.Study.create(
        tmp_path / "twin.db", FILMS, target="row", columns=["temperature", "Cs", "failed"]
    )
    twin.ask(2, sheet=tmp_path / "twin.csv")
    study.ask(2)
    edit(tmp_path / "twin.csv", {(1, "row (result)"): 0.5})
    with pytest.raises(StudyConflict, match="a sheet of another study"):
        study.tell_sheet(tmp_path / "twin.csv")
    study.export(tmp_path / "out.csv")
    with pytest.raises(StudyConflict, match="needs to be a sheet that ask --sheet wrote"):
        study.tell_sheet(tmp_path / "out.csv")


def test_numbers_that_a_spreadsheet_rounded_and_sorted_lines_are_told(study, tmp_path):
    path = tmp_path / "plate.csv"
    study.ask(4, sheet=path)
    header, *rows = read_cells(path)
    for i, cells in enumerate(rows):
        cells[header.index("Cs")] = f"{float(cells[header.index('Cs')]):.5g}".replace(".", ",")
        cells[header.index("row (result)")] = f"{i},5"
    with path.open("w", newline="", encoding="cp1252") as file:
        csv.writer(file, delimiter=";").writerows([header, *rows[::-1]])
    told = study.tell_sheet(path)
    assert {one.trial: one.value for one in told} == {1: 0.5, 2: 1.5, 3: 2.5, 4: 3.5}


@pytest.mark.parametrize("end", ["csv", "xlsx"])
def test_points_of_a_space_are_filled_in_and_told(tmp_path, end):
    space = kb.MixedBox({"heat": kb.Real(20, 90), "acid": kb.Category(("citric", None, True))})
    study = kb.Study.create(tmp_path / "a.db", space, target="y")
    path = tmp_path / f"plate.{end}"
    study.ask(3, sheet=path)
    edit(path, {(line, "y"): line / 10 for line in (1, 2, 3)})
    assert [one.value for one in study.tell_sheet(path)] == [0.1, 0.2, 0.3]


def test_a_page_to_print_has_all_trials_and_no_markup_of_the_table(tmp_path):
    table = pd.DataFrame({"film": ["<b>A</b>", "B & C"], "T": [20.0, 40.0]})
    study = kb.Study.create(tmp_path / "a.db", table, target="<y>", columns=["T"])
    study.ask(2, sheet=tmp_path / "plate.html")
    page = (tmp_path / "plate.html").read_text("utf-8")
    assert "&lt;b&gt;A&lt;/b&gt;" in page
    assert "B &amp; C" in page
    assert "<b>" not in page
    assert "<script" not in page
    with pytest.raises(ValueError, match="got a page to print"):
        study.tell_sheet(tmp_path / "plate.html")


@pytest.mark.parametrize(
    ("name", "complaint"),
    [
        ("plate.pdf", r"a sheet needs a name that ends in \.xlsx, \.csv, \.html"),
        ("absent/plate.csv", "a sheet needs a folder that exists"),
        ("there.csv", "a sheet needs a new file, got .*, which exists"),
    ],
)
def test_a_sheet_that_cannot_be_written_is_refused_before_anything_is_asked_for(
    study, tmp_path, name, complaint
):
    (tmp_path / "there.csv").write_text("mine")
    before = len(study.history())
    with pytest.raises((ValueError, StudyConflict), match=complaint):
        study.ask(2, sheet=tmp_path / name)
    assert len(study.history()) == before
    assert (tmp_path / "there.csv").read_text() == "mine"


def test_a_disk_that_is_full_leaves_the_rows_pending_and_says_so(study, tmp_path, monkeypatch):
    def refuse(*arguments):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    path = tmp_path / "plate.csv"
    with monkeypatch.context() as patch:
        patch.setattr(outputs, "write_through", refuse)
        with pytest.raises(
            SheetNotWritten, match="trials 1, 2 were asked for and are pending"
        ) as caught:
            study.ask(2, sheet=path)
        done = command("ask", tmp_path / "films.db", "--sheet", path, "--format", "json")
    assert [one.trial for one in caught.value.suggestions] == [1, 2]
    assert (done.code, '"trial": 3' in done.out, "`study sheet`" in done.err) == (74, True, True)
    assert not path.exists()
    assert study.write_sheet(path) == [1, 2, 3]
    assert len(read_cells(path)) == 4


def test_the_commands_write_and_tell_sheets(study, tmp_path):
    place, path = tmp_path / "films.db", tmp_path / "plate.xlsx"
    done = command("ask", place, "--n", 3, "--sheet", path)
    assert f"kernelbandits study tell {place} --sheet {path}" in done.out
    done = command("sheet", place, path, "--trials", "1-2", "--force", "--format", "json")
    assert done.document == {"path": str(path), "trials": [1, 2]}
    edit(path, {(1, "row (result)"): 0.5})
    done = command("tell", place, "--sheet", path, "--worker", "ann", "--format", "json")
    assert [(one["trial"], one["value"]) for one in done.document] == [(1, 0.5)]
    for wrong in (("1", "0.5"), ("--file", path), ("--key", "k"), ("--worksheet", "sheet")):
        refused = command("tell", place, "--sheet", path, *wrong)
        assert (refused.code, "--sheet and more" in refused.err or "needs" in refused.err) == (
            2,
            True,
        )
    refused = command("sheet", place, path, "--trials", "9", "--force")
    assert (refused.code, "got trial 9" in refused.err) == (1, True)
