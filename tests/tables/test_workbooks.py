"""Workbooks, Parquet and numpy files: what they hold is read, said or refused with its place."""

from __future__ import annotations

import datetime as dt
import time
import zipfile
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kernelbandits as kb
from commands import study as command
from kernelbandits import runtime
from kernelbandits.study.candidates import read_candidates
from kernelbandits.tables import workbook_parts
from kernelbandits.tables.results import read_results
from kernelbandits.tables.workbooks import Sheet, write_workbook

FILMS = [
    ["film", "Cs", "solvent", "day"],
    ["A1", 0.1, "DMF", dt.datetime(2026, 5, 4)],
    ["A2", 0.2, "DMSO", dt.datetime(2026, 5, 5, 10, 30)],
    ["A3", 0.3, "DMF", dt.datetime(2026, 5, 4)],
]
SHEET = "xl/worksheets/sheet1.xml"
MAIN = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
TWO_ROWS = (
    '<row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'
    '<row r="2"><c r="A2"><v>1</v></c></row></sheetData>'
)


@pytest.fixture
def save(tmp_path):
    """Save a workbook of films after a change; return its path."""

    def write(change=lambda book, sheet: None, rows=FILMS):
        book = openpyxl.Workbook()
        sheet = book.active
        sheet.title = "Films"
        for row in rows:
            sheet.append(row)
        change(book, sheet)
        path = tmp_path / "films.xlsx"
        book.save(path)
        return path

    return write


def set_cell(place, value=None, number_format=None):
    def change(book, sheet):
        if value is not None:
            sheet[place] = value
        if number_format is not None:
            sheet[place].number_format = number_format

    return change


def add_notes(book, sheet, state="visible"):
    notes = book.create_sheet("Notes")
    notes.append(["nothing to measure"])
    notes.sheet_state = state


def test_a_sheet_is_read_as_the_same_table_in_a_csv_file_is(save, tmp_path):
    (tmp_path / "films.csv").write_text(
        "film,Cs,solvent,day\nA1,0.1,DMF,2026-05-04\nA2,0.2,DMSO,2026-05-05 10:30:00\n"
        "A3,0.3,DMF,2026-05-04\n"
    )
    book, csv = read_candidates(save()), read_candidates(tmp_path / "films.csv")
    assert book.fingerprint == csv.fingerprint
    assert book.notices == csv.notices
    assert any("'day' has dates or times and is left out" in one for one in book.notices)


def hide(book, sheet):
    sheet.row_dimensions[3].hidden = True
    sheet.column_dimensions["C"].hidden = True


def in_percent(book, sheet):
    for row in (2, 3, 4):
        sheet.cell(row, 2).number_format = "0.0 %"


@pytest.mark.parametrize(
    ("change", "notice"),
    [
        (hide, "hidden rows of the sheet are read too: 3"),
        (hide, "hidden columns of the sheet are read too: 'solvent'"),
        (in_percent, "numbers in percent are read as they are stored, 12 % as 0.12: column 'Cs'"),
        (
            lambda book, sheet: add_notes(book, sheet, "hidden"),
            "sheet 'Films' is read; left out: 'Notes'",
        ),
        (lambda book, sheet: sheet.insert_rows(4), "row 4 of the sheet is blank; the rows below"),
    ],
)
def test_what_a_sheet_does_not_show_is_read_and_said(save, change, notice):
    found = read_candidates(save(change))
    assert found.columns["Cs"].tolist() == [0.1, 0.2, 0.3]
    assert any(notice in one for one in found.notices), found.notices


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (
            set_cell("B3", "=B2*2"),
            r"films\.xlsx needs a value in sheet 'Films', row 3, column 'Cs' \(B3\), got the "
            r"formula '=B2\*2', whose value was not saved",
        ),
        (
            lambda book, sheet: sheet.merge_cells("A2:B2"),
            r"in sheet 'Films', row 2, column 'Cs' \(B2\), got the merged cells A2:B2",
        ),
        (
            set_cell("B2", number_format="0%"),
            r"needs all numbers of a column in percent or none in sheet 'Films', row 2, column 'Cs' "
            r"\(B2\), got 0\.1, which is shown in percent, beside 0\.2 in row 3",
        ),
        (
            set_cell("B3", dt.datetime(2026, 2, 1)),
            "needs a number .* in sheet 'Films', row 3, column 'Cs', got '2026-02-01'",
        ),
        (set_cell("B4", "#DIV/0!"), "in sheet 'Films', row 4, column 'Cs', got a missing one"),
        (add_notes, "needs one sheet to read, got 2: 'Films', 'Notes'; say which with --worksheet"),
        (set_cell("C1", "Cs"), r"distinct column names in sheet 'Films', row 1 \(C1\), got 'Cs' 2"),
        (
            lambda book, sheet: sheet.delete_rows(2, 9),
            "needs a header and at least one row in sheet 'Films', got 1 row",
        ),
        (
            lambda book, sheet: sheet.delete_rows(1, 9),
            "needs a visible sheet that is not empty, got none",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_sheet_row_and_column(save, change, complaint):
    path = save(change)
    with pytest.raises(ValueError, match=complaint) as caught:
        read_candidates(path)
    assert "\n" not in str(caught.value)
    done = command("create", path.with_name("a.db"), "--candidates", path, "--target", "y")
    assert (done.code, path.with_name("a.db").exists()) == (2, False)


def test_formulas_have_the_values_that_were_saved_with_them(save, tmp_path):
    """openpyxl saves no values of formulas, so they are put in as a spreadsheet program does."""
    path = save(set_cell("B3", "=B2*2"))
    values = b"<f>B2*2</f><v>0.2</v>"
    replace_part(path, SHEET, lambda part: part.replace(b"<f>B2*2</f><v />", values))
    found = read_candidates(path)
    assert found.columns["Cs"].tolist() == [0.1, 0.2, 0.3]
    assert any("formulas in 1 cell of sheet 'Films'" in notice for notice in found.notices)


def replace_part(path: Path, name: str, change) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {part: archive.read(part) for part in archive.namelist()}
    parts[name] = change(parts.get(name, b""))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for part, content in parts.items():
            archive.writestr(part, content)


WHOLE = "A1:XFD1048576"
FILLED = f"{MAIN}{TWO_ROWS}"
SHARED = (
    '<Relationship Id="rId9" Target="sharedStrings.xml" Type="http://schemas.openxmlformats.org/'
    'officeDocument/2006/relationships/sharedStrings"/></Relationships>'
)


def merge(tag: str) -> str:
    return f"{FILLED}<mergeCells>{tag}</mergeCells></worksheet>"


def style(xml: str) -> str:
    return f"<styleSheet>{xml}</styleSheet>"


LIMITS = {"elements": ("MOST_ELEMENTS", 50), "cells": ("MOST_CELLS", 50), "rows": ("MOST_ROWS", 50)}
"""Limits that are lowered for the test, so that it takes no time to exceed them."""
OWN_CELL = "needs a value in each cell of its own .*, got the merged cells"
BOMBS = {
    "unpacked": (SHEET, " " * 2**28, "bytes when unpacked"),
    "ratio": (SHEET, " " * 2**25, "needs to unpack to at most 100 times its size"),
    "cells": (SHEET, f"{MAIN}<row>{'<c/>' * 100}</row>", "at most 50 cells"),
    "columns": (SHEET, f"{MAIN}<row>{'<c/>' * 20_000}</row>", "got one that is damaged"),
    "rows": (SHEET, MAIN + '<row ht="15"/>' * 100, "got one that is damaged"),
    "merged": (SHEET, merge(f'<mergeCell ref="{WHOLE}"/>'), OWN_CELL),
    "merged with blanks": (SHEET, merge(f'<mergeCell ref = "{WHOLE}"/>'), OWN_CELL),
    "merged by entity": (SHEET, merge('<mergeCell ref="A1&#58;XFD1048576"/>'), OWN_CELL),
    "merged in small letters": (SHEET, merge('<mergeCell ref="a1:xfd1048576"/>'), OWN_CELL),
    "merged often": (SHEET, merge('<mergeCell ref="H1:I9"/>' * 70_000), "65536 merged ranges"),
    "styles": (
        "xl/styles.xml",
        style(f"<cellXfs>{'<xf/>' * 70_000}</cellXfs>"),
        "at most 65536 styles",
    ),
    "formats": (
        "xl/styles.xml",
        style(f'<numFmt numFmtId="200" formatCode="{"[" * 300}"/>'),
        "formats of at most 255 letters",
    ),
    "long tag": (SHEET, f'<worksheet a="{"x" * 2**23}">', "tags of at most 4194304 bytes"),
    "deep": (SHEET, MAIN + "<a>" * 200, "at most 100 in each other"),
    "elements": (SHEET, f"{MAIN}<row>{'<a/>' * 100}</row>", "at most 50 elements"),
    "sheets": (
        "xl/workbook.xml",
        "<workbook>" + '<sheet name="a" r:id="rId1"/>' * 1100 + "</workbook>",
        "at most 1024 sheets",
    ),
    "entities": (
        SHEET,
        f'<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaa">]>{MAIN}',
        "needs XML as spreadsheet programs write it, got definitions",
    ),
    "cut off": (SHEET, MAIN, "got one that is damaged"),
    "no sheet": ("xl/workbook.xml", "<workbook/>", "needs "),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", BOMBS)
def test_an_archive_that_would_fill_the_memory_is_refused_before_it_is_unpacked(
    save, kind, monkeypatch
):
    part, content, complaint = BOMBS[kind]
    if kind in LIMITS:
        monkeypatch.setattr(workbook_parts, *LIMITS[kind])
    path = save()
    replace_part(path, part, lambda _: content.encode())
    with pytest.raises(ValueError, match=complaint):
        read_candidates(path)


def test_a_sheet_of_another_name_is_checked_like_any_other(save):
    path = save()
    bomb = merge(f'<mergeCell ref="{WHOLE}"/>').encode()
    replace_part(path, "xl/worksheets/films.bin", lambda _: bomb)
    rename = "xl/_rels/workbook.xml.rels"
    replace_part(path, rename, lambda part: part.replace(b"sheet1.xml", b"films.bin"))
    with pytest.raises(ValueError, match=OWN_CELL):
        read_candidates(path)


def test_one_long_text_in_many_cells_is_counted_as_often_as_it_stands_there(save):
    path = save()
    cells = "".join(f'<row><c t="s"><v>{int(i > 0)}</v></c></row>' for i in range(1000))
    replace_part(path, SHEET, lambda _: f"{MAIN}{cells}</sheetData></worksheet>".encode())
    rename = "xl/_rels/workbook.xml.rels"
    replace_part(
        path, rename, lambda part: part.decode().replace("</Relationships>", SHARED).encode()
    )
    for size in (100, 20_000):
        texts = f"<sst><si><t>word</t></si><si><t>{'é' * size}</t></si></sst>"
        replace_part(path, "xl/sharedStrings.xml", lambda _, texts=texts: texts.encode())
        if size == 100:
            assert len(read_candidates(path)) == 999
        else:
            with pytest.raises(ValueError, match="at most 67108864 bytes of text, got more"):
                read_candidates(path)


def test_parts_that_no_table_needs_are_not_read(save):
    """A link over all cells, formats by condition and names are nothing to a table."""
    path = save()
    more = (
        f'<hyperlinks><hyperlink ref="{WHOLE}" location="a"/></hyperlinks><conditionalFormatting '
        f'sqref="{WHOLE}"><cfRule type="none"><formula>1</formula></cfRule></conditionalFormatting>'
    )
    replace_part(path, SHEET, lambda _: f"{FILLED}{more}</worksheet>".encode())
    replace_part(path, "xl/charts/chart1.xml", lambda _: b"<a>" * 1000)
    assert read_candidates(path).x(0) == {"a": 1.0}


@pytest.mark.parametrize("damage", ["directory", "compression"])
def test_an_archive_that_could_hide_its_size_is_refused(save, damage, monkeypatch):
    path = save()
    if damage == "directory":
        monkeypatch.setattr(workbook_parts, "LARGEST_DIRECTORY", 100)
        complaint = "got a workbook; save the sheet as CSV"
    else:
        with zipfile.ZipFile(path) as archive:
            parts = {part: archive.read(part) for part in archive.namelist()}
        with zipfile.ZipFile(path, "w", zipfile.ZIP_BZIP2) as archive:
            for part, content in parts.items():
                archive.writestr(part, content)
        complaint = "got another compression of"
    with pytest.raises(ValueError, match=complaint):
        read_candidates(path)


def test_text_that_looks_like_a_formula_is_text_and_comes_back_as_it_was(tmp_path):
    words = ["=1+1", "'=x", "-A", "@SUM(A1)", "#N/A!", "_x0041_", "a\x07b", "a\rb", "é\n\t1"]
    numbers = [-1.5, 0.1 + 0.2, 1 / 3, 1e300, 2**60, 7, True, None, 0.0]
    path = tmp_path / "out.xlsx"
    write_workbook(path, [Sheet("t", ["word", "=n"], [*zip(words, numbers, strict=True)])])
    with zipfile.ZipFile(path) as archive:
        assert b"<f>" not in archive.read(SHEET)
    found = read_candidates(path, columns=["word"])
    assert list(found.columns["word"]) == words
    texts = ["-1.5", "0.30000000000000004", repr(1 / 3), "1e+300", str(2**60), "7", "True", "", "0"]
    assert list(found.columns["=n"]) == texts
    with pytest.raises(ValueError, match="text of at most 32767 letters"):
        write_workbook(path, [Sheet("t", ["a"], [["x" * 40_000]])], force=True)


def test_results_are_read_from_a_named_sheet_and_told_once(save, tmp_path):
    def add_results(book, sheet):
        for name, value in (("May", 0.5), ("June", 0.7)):
            month = book.create_sheet(name)
            month.append(["film", "yield"])
            month.append(["A2", value])
            month.append(["A3", None])

    path = save(add_results)
    place = tmp_path / "a.db"
    done = command(
        "create", place, "--candidates", path, "--worksheet", "films", "--target", "yield"
    )
    assert done.code == 0
    refused = command("tell", place, "--file", path)
    assert (refused.code, "3: 'Films', 'May', 'June'" in refused.err) == (2, True)
    for accepted in (True, False):
        done = command("tell", place, "--file", path, "--worksheet", "June", "--format", "json")
        assert [(one["row"], one["value"]) for one in done.document] == [(1, 0.7)]
        assert [one["accepted"] for one in done.document] == [accepted]
    wrong = command("tell", place, "--file", path, "--worksheet", "July")
    assert "needs a worksheet among 'Films', 'May', 'June', got 'July'" in wrong.err
    wrong = command("tell", place, "1", "0.5", "--worksheet", "June")
    assert (wrong.code, "needs --file FILE with" in wrong.err) == (2, True)


def test_parquet_and_numpy_files_are_tables(tmp_path):
    frame = pd.DataFrame(FILMS[1:], columns=FILMS[0]).set_index("film")
    frame.to_parquet(tmp_path / "films.parquet")
    found = read_candidates(tmp_path / "films.parquet", columns=["Cs"])
    assert (found.labels, found.label(1)) == (("film",), {"film": "A2"})
    np.save(tmp_path / "films.npy", np.arange(6.0).reshape(3, 2))
    assert read_candidates(tmp_path / "films.npy").x(1) == {"x1": 2.0, "x2": 3.0}
    assert read_candidates(tmp_path / "films.npy", columns=["a", "b"]).chosen == ("a", "b")
    np.save(tmp_path / "results.npy", np.array([(1, 0.5)], dtype=[("row", int), ("y", float)]))
    [result] = read_results(tmp_path / "results.npy", found, ["y"])
    assert (result.row, result.values, result.key is not None) == (1, {"y": 0.5}, True)


class Dangerous:
    def __reduce__(self):
        return (Path.touch, (Path("was_run"),))


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("a.parquet", b"PAR1 and no more", "needs to be a Parquet file that can be read, got one"),
        ("a.npy", b"\x93NUMPY and no more", "needs to be an array of numbers, got one that is dam"),
    ],
)
def test_a_damaged_file_is_refused_in_one_sentence(tmp_path, name, content, complaint):
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=complaint):
        read_candidates(tmp_path / name)


def write_arrow(path: Path, column) -> None:
    pq.write_table(pa.table({"a": column}), path, compression="zstd")


PACKED = {
    "one text in every row": lambda: pa.DictionaryArray.from_arrays(
        pa.array(np.zeros(2**20, dtype=np.int32)), pa.array(["x" * 1000])
    ),
    "one text in a large column": lambda: pa.array(["x" * 1000] * 2**17, type=pa.large_string()),
    "long text": lambda: pa.array(["x" * 2**26]),
}


@pytest.mark.thorough
@pytest.mark.parametrize("kind", PACKED)
def test_a_parquet_file_that_would_fill_the_memory_is_refused(tmp_path, kind):
    path = tmp_path / "a.parquet"
    write_arrow(path, PACKED[kind]())
    assert path.stat().st_size < 2**17
    with pytest.raises(ValueError, match=r"a\.parquet needs to unpack to at most 67108864 bytes"):
        read_candidates(path)


@pytest.mark.parametrize(
    ("values", "kind"), [([[1, 2]], "list"), ([{"b": 1}], "struct"), ([b"x"], "binary")]
)
def test_a_parquet_column_of_lists_records_or_bytes_is_refused_before_it_is_read(
    tmp_path, values, kind, monkeypatch
):
    write_arrow(tmp_path / "a.parquet", pa.array(values))
    monkeypatch.setattr(pq.ParquetFile, "read", None)
    with pytest.raises(ValueError, match=f"needs numbers or text in column 'a', got {kind}"):
        read_candidates(tmp_path / "a.parquet")


def test_many_cells_in_a_small_parquet_file_are_refused(tmp_path):
    table = pa.table({f"a{i}": np.zeros(2**19) for i in range(20)})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"needs to unpack to at most 67108864 bytes, as a file"):
        read_candidates(tmp_path / "a.parquet")


def test_a_numpy_header_longer_than_numpy_takes_is_not_read(tmp_path, monkeypatch):
    start = b"\x93NUMPY\x02\x00" + (10**8).to_bytes(4, "little")
    (tmp_path / "a.npy").write_bytes(start + b"(" * 1000)
    monkeypatch.setattr(np, "load", None)
    with pytest.raises(ValueError, match="needs to be an array of numbers, got one that is damag"):
        read_candidates(tmp_path / "a.npy")


def test_a_numpy_file_never_runs_code(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("a.npy", np.array([[Dangerous()]], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match=r"a\.npy needs .*, got Python objects, which are not"):
        read_candidates("a.npy")
    assert not Path("was_run").exists()


@pytest.mark.parametrize(("name", "extra"), [("t.xlsx", "excel"), ("t.parquet", "parquet")])
def test_a_missing_package_is_named_with_its_extra(tmp_path, monkeypatch, name, extra):
    study = kb.Study.create(tmp_path / "a.db", [[0.0], [1.0]])
    study.export(tmp_path / name)
    monkeypatch.setattr(runtime, "is_installed", lambda package: False)
    for work in (
        lambda: read_candidates(tmp_path / name),
        lambda: study.export(tmp_path / f"2{name}"),
    ):
        with pytest.raises(ValueError, match=rf"which is not installed: pip install .*\[{extra}\]"):
            work()
    assert not (tmp_path / f"2{name}").exists()


AWKWARD = pd.DataFrame(
    {
        "film": [f"=A{i}" for i in range(9)],
        "trial": np.linspace(0, 1, 9) / 3,
        "state": ["told", "failed", "pending"] * 3,
        "value": range(9),
    }
)


@pytest.mark.parametrize("end", ["csv", "xlsx", "parquet"])
def test_an_export_is_told_to_a_new_study_whatever_its_columns_are_called(tmp_path, end):
    settings = {"target": "row", "columns": ["trial", "state", "value"]}
    study = kb.Study.create(tmp_path / "a.db", AWKWARD, **settings)
    for value in (1.0, None, 3.0, None):
        [suggestion] = study.ask()
        study.tell(suggestion.trial, value, failed=value is None)
    study.tell(row=8, value=0.1 + 0.2)
    study.withdraw(3)
    study.ask()
    path = tmp_path / f"out.{end}"
    study.export(path)
    assert not any(one.accepted for one in study.tell_all(path))
    results = {(row, value) for row, value in measured(study)}
    # The rows have other numbers, and a trial 1 of its own is pending there.
    other = kb.Study.create(tmp_path / "b.db", AWKWARD[::-1].reset_index(drop=True), **settings)
    other.ask()
    other.tell_all(path)
    assert {(8 - row, value) for row, value in measured(other)} == results
    assert (other.status().told, other.status().failed) == (2, 2)
    assert not any(one.accepted for one in other.tell_all(path))


def measured(study):
    frame = study.to_dataframe()
    frame = frame[frame["state"].isin(["told", "failed"])]
    return list(
        zip(
            frame["row"],
            frame["value"].astype(object).where(frame["value"].notna(), None),
            strict=True,
        )
    )


@pytest.mark.parametrize("end", ["csv", "xlsx", "parquet"])
def test_an_export_of_a_space_is_told_to_itself_and_to_a_new_study(tmp_path, end):
    space = kb.MixedBox({"heat": kb.Real(20, 90), "acid": kb.Category(("citric", None, True))})
    study = kb.Study.create(tmp_path / "a.db", space, target="y")
    for number in range(4):
        [suggestion] = study.ask()
        study.tell(suggestion.trial, number / 3 if number else None, failed=number == 0)
    path = tmp_path / f"out.{end}"
    study.export(path)
    assert not any(one.accepted for one in study.tell_all(path))
    other = kb.Study.create(tmp_path / "b.db", space, target="z", seed=5)
    other.ask()
    other.tell_all(path)
    assert (other.status().told, other.status().failed) == (3, 1)
    assert other.to_dataframe()["heat"].tolist()[1:] == study.to_dataframe()["heat"].tolist()


def test_a_workbook_has_trials_candidates_and_estimates_and_makes_the_study_again(tmp_path):
    study = kb.Study.create(tmp_path / "a.db", AWKWARD, target="y", columns=["trial", "state"])
    for value in (1.0, 2.0):
        study.tell(study.ask()[0].trial, value)
    done = command("export", tmp_path / "a.db", tmp_path / "out.xlsx", "--format", "json")
    assert done.document["trials"] == 2
    book = openpyxl.load_workbook(tmp_path / "out.xlsx")
    assert book.sheetnames == ["trials", "candidates", "estimates", "about"]
    assert isinstance(book["trials"]["H2"].value, dt.datetime)
    again = kb.Study.create(
        tmp_path / "b.db", tmp_path / "out.xlsx", target="y", columns=["trial", "state"]
    )
    assert again.candidates.fingerprint == study.candidates.fingerprint
    assert [one.value for one in again.tell_all(tmp_path / "out.xlsx")] == [1.0, 2.0]


@pytest.mark.parametrize("name", ["out.xls", "out.ods", "out.json"])
def test_an_export_is_what_its_name_says(tmp_path, name):
    study = kb.Study.create(tmp_path / "a.db", [[0.0], [1.0]])
    with pytest.raises(ValueError, match=r"needs a name that ends in \.csv, \.xlsx or \.parquet"):
        study.export(tmp_path / name)
    assert not (tmp_path / name).exists()


@pytest.mark.parametrize("year", [1969, 1979, 2108])
def test_a_clock_that_a_workbook_cannot_store_is_said(tmp_path, monkeypatch, year):
    moment = time.struct_time((year, 6, 15, 12, 0, 0, 0, 166, 0))
    monkeypatch.setattr("kernelbandits.tables.workbooks.time.gmtime", lambda: moment)
    with pytest.raises(ValueError, match=f"a workbook needs a clock .* 1980 to 2107 .*got {year}"):
        write_workbook(tmp_path / "t.xlsx", [Sheet("t", ["a"], [["x"]])])
    assert list(tmp_path.iterdir()) == []
