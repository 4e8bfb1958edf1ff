"""Where the table stands in a file: titles, units, notes, totals, and what is asked about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import study_with_warnings as command
from kernelbandits.study.candidates import read_candidates
from kernelbandits.tables.roles import UndecidedColumns
from kernelbandits.tables.table import WrongCells
from lab_workbooks import SINS, save_sin


@pytest.fixture
def write(tmp_path):
    def written(text):
        path = tmp_path / "films.csv"
        path.write_text(text, "utf-8")
        return path

    return written


@pytest.mark.parametrize("name", SINS)
def test_a_workbook_of_a_lab_becomes_a_study_or_says_what_it_needs(name, tmp_path):
    sin, path = SINS[name], save_sin(name, tmp_path / "films.xlsx")
    words = ("create", tmp_path / "a.db", "--candidates", path, "--target", "stability")
    if sin.refused:
        done = command(*words)
        assert (done.code, (tmp_path / "a.db").exists()) == (2, False)
        assert len(done.err.splitlines()) == 1
        for part in sin.refused:
            assert part in done.err
    done = command(*words, *sin.options)
    assert done.code == 0, done.err
    for part in sin.said:
        assert part in done.err
    with kb.Study.open(tmp_path / "a.db") as study:
        found = study.candidates
        assert found.chosen == sin.columns
        assert found.columns[sin.columns[0]].tolist() == [0.1, 0.2, 0.3, 0.4, 0.5]
        assert found.columns[sin.columns[1]].tolist()[:2] == [100, 120]
        told = study.tell_all(
            path,
            worksheet="Films",
            cells=dict(text.split("=") for text in sin.options if "=" in text),
        )
        assert [(one.row, one.value) for one in told] == [*enumerate(sin.told)]


def test_the_header_is_the_first_row_that_names_what_is_filled_below_it(write):
    table = "film,Cs,T\nA1,0.1,5\nA2,0.2,6\n"
    for above in ("Films of May\n", "Films,\n\nKim,\n", ",,\nFilms,,\n"):
        found = read_candidates(write(above + table), target="y")
        assert found.chosen == ("Cs", "T")
    assert read_candidates(write(table)).chosen == ("Cs", "T")
    # Two of three names may be a header that lacks one: nobody guesses.
    with pytest.raises(ValueError, match=r"got none above cell B2; say which row .* --header-row"):
        read_candidates(write("film,,T\n" + table))
    found = read_candidates(write("film,,T\n" + table), header_row=2)
    assert (found.chosen, found.reading) == (("Cs", "T"), {"header_row": 2})
    with pytest.raises(ValueError, match="needs a header_row with names and a row below it, got 9"):
        read_candidates(write(table), header_row=9)
    # A row of numbers below others is no header.
    with pytest.raises(ValueError, match="needs a name for every column"):
        read_candidates(write("a\n1,2,3\n4,5,6\n7,8,9\n".replace("a\n", "a,,\n")))


def test_a_semicolon_file_with_a_title_is_cut_at_semicolons(write):
    found = read_candidates(write("Films, May\n\nCs;T\n0,1;5\n0,2;6\n0,3;7\n"))
    assert found.columns["Cs"].tolist() == [0.1, 0.2, 0.3]


def test_a_row_with_a_number_or_a_word_for_missing_is_no_row_of_units(write):
    for line in ("mM,5", "NA,°C", "mM,"):
        text = f"Cs,T\n{line}\n1,2\n3,4\n"
        if line == "mM,":
            assert read_candidates(write(text)).chosen == ("Cs (mM)", "T")
        else:
            with pytest.raises(ValueError, match="in line 2, column 'Cs'"):
                read_candidates(write(text))


def test_a_row_that_was_begun_is_no_note(write):
    with pytest.raises(WrongCells) as caught:
        read_candidates(write("film,Cs,T\nA1,1,2\nA2,3,4\nA3,,\n"))
    assert [one.cell for one in caught.value.cells] == ["B4", "C4"]


def test_all_wrong_cells_of_the_columns_in_use_are_named_at_once(write):
    path = write("a,b,c,free\n1,x,2,?\n2,5,oops,\n,6,3,1 000\n")
    with pytest.raises(
        WrongCells, match=r"all 3 cells to correct: A4 .*, B2 .*, C3 \(c\)"
    ) as caught:
        read_candidates(path, not_used="free")
    assert [one.cell for one in caught.value.cells] == ["A4", "B2", "C3"]
    mended = {"B2": "4", "c3": "2,5".replace(",", "."), "A4": "3"}
    found = read_candidates(path, not_used="free", cells=mended)
    assert found.columns["b"].tolist() == [4, 5, 6]
    assert "cell B2 is read as '4' in place of 'x'" in found.notices
    assert found.reading == {"cells": mended}
    for wrong, said in (({"7B": "1"}, "names of cells such as B7"), ({"B9": "1"}, "of the table")):
        with pytest.raises(ValueError, match=said):
            read_candidates(path, cells=wrong)


def test_typed_cells_are_kept_with_the_study_and_read_again_when_it_is_saved(write, tmp_path):
    path = write("Films\na,b\n1,x\n2,5\n3,6\n")
    study = kb.Study.create(tmp_path / "a.db", path, target="y", cells={"B3": "4"}, header_row=2)
    created = study.history()[0].body["candidates"]
    assert created["reading"] == {"header_row": 2, "cells": {"B3": "4"}}
    assert any("cell B3 is read as '4'" in one for one in created["notices"])
    study.close()
    with kb.Study.open(tmp_path / "a.db") as again:
        assert again.candidates.columns["b"].tolist() == [4, 5, 6]
        assert again.candidates.reading == created["reading"]


@pytest.mark.parametrize(
    ("column", "why"),
    [
        (("purity", [90, None, None, None]), "is blank where 'y' is"),
        (("Yield (%)", [1, 2, 3, 4]), "is called as results are"),
        (("haze", [1, None, None, None]), "is blank where 'y' is"),
    ],
)
def test_a_column_that_may_be_a_result_is_asked_about(column, why):
    name, cells = column
    frame = pd.DataFrame({"a": [1.0, 2, 3, 4], name: cells, "y": [0.5, np.nan, np.nan, np.nan]})
    with pytest.raises(UndecidedColumns, match=why) as caught:
        read_candidates(frame, target="y")
    assert caught.value.columns == (name,)
    assert read_candidates(frame, target="y", not_used=name).chosen == ("a",)
    assert read_candidates(frame, target=["y", name]).chosen == ("a",)
    if None not in cells:
        assert read_candidates(frame, target="y", feature=[name]).chosen == ("a", name)
    assert read_candidates(frame, target="y", columns=["a"]).chosen == ("a",)
    with pytest.raises(ValueError, match="needs one use for column"):
        read_candidates(frame, target="y", feature=name, not_used=name)


def test_a_column_that_is_left_out_is_used_when_it_is_named():
    frame = pd.DataFrame({"a": [1, 2, 3], "operator": ["KL", "MB", "KL"]})
    assert read_candidates(frame, target="y").chosen == ("a",)
    assert read_candidates(frame, target="y", feature="operator").chosen == ("a", "operator")
