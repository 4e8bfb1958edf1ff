"""Tables as people have them: read rightly, refused with what to do, or read with a notice."""

from __future__ import annotations

import codecs
import io
import zipfile

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from commands import study_with_warnings as command
from conftest import pairwise
from kernelbandits.study.candidates import read_candidates
from kernelbandits.tables import read_results


def column(*cells: str) -> str:
    return "a,b\n" + "".join(f'"{cell}",{i}\n' for i, cell in enumerate(cells))


def archive() -> bytes:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_STORED) as file:
        file.writestr("a.csv", "a,b\n1,2\n" * 2000)
    return content.getvalue()


@pytest.fixture
def write(tmp_path):
    def written(content: str | bytes, name: str = "t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


MEANT = {
    "−5": "write -5",
    "–5": "write -5",
    "- 5": "write -5",
    "5-": "write -5",
    "$5.00": "write 5.00 and put $ in the header",
    "-$5": "write -5 and put $ in the header",
    "5 €": "write 5 and put € in the header",
    "EUR 5": "write 5 and put EUR in the header",
    "(5)": "write -5",
    "5 %": "write 5 and put % in the header",
    "5‰": "write 5 and put ‰ in the header",
    "1\u00a0000": "write 1000",
    "1 000": "write 1000",
    "1'000": "write 1000",
    "1,000": "write 1000 or 1.000",
    "1,234,567": "write 1234567",
    "1.234,56": "write 1234.56",
    "1,234.56": "write 1234.56",
    "1.234.567,8 €": "write 1234567.8 and put € in the header",
    "1,5": "write 1.5",
    "١٢": "write 12",
    "1x10^5": "write 1e5",
    "5*": "write 5",
    "'5": "write 5",
    "5±1": "",
    "<0.1": "",
    "0x10": "",
    "1_000": "",
    "inf": "",
    "1e400": "",
    "５": "write 5",
}


@pairwise(cell=MEANT, share=(1, 2, 3, 4))
def test_what_may_be_a_number_is_refused_with_its_place_and_its_text(write, cell, share):
    """Whether one cell is written so, or some, or most, or all of them."""
    content = column(*[cell] * share, *["7"] * (4 - share), *[cell] * (share - 1))
    with pytest.raises(ValueError, match="in line 2, column 'a'") as caught:
        read_candidates(write(content))
    assert repr(cell) in str(caught.value)
    assert MEANT[cell] in str(caught.value)
    assert "correct it, remove the row, or name only the columns to use" in str(caught.value)


@pytest.mark.parametrize("cell", ["−5", "$5.00", "(5)", "5 %"])
def test_a_dataframe_is_refused_in_the_same_way(cell):
    with pytest.raises(ValueError, match="in row 1, column 'a'") as caught:
        read_candidates(pd.DataFrame({"a": ["1", cell, cell, cell], "b": range(4)}))
    assert MEANT[cell] in str(caught.value)


@pytest.mark.parametrize("cell", ["−5", "$5.00", "(5)", "5 %"])
def test_the_command_refuses_it_and_makes_no_study(write, cell):
    path = write(column(cell, cell, "1", cell))
    place = path.with_name("a.db")
    done = command("create", place, "--candidates", path, "--target", "y")
    assert (done.code, place.exists()) == (2, False)
    assert f"in line 2, column 'a', got {cell!r}; {MEANT[cell]}" in done.err


@pytest.mark.parametrize("cell", ["−5", "$5.00", "(5)", "5 %"])
def test_a_result_is_refused_in_the_same_way(write, cell):
    candidates = read_candidates(np.eye(3))
    with pytest.raises(ValueError, match="in line 3, column 'y'") as caught:
        read_results(write(f"row,y\n0,1\n1,{cell}\n"), candidates, ["y"])
    assert MEANT[cell] in str(caught.value)


@pytest.mark.parametrize(
    ("cells", "notice"),
    [
        (("DMF", "DMSO", "DMF"), "is text with 2 different values (DMF, DMSO); any two of them"),
        (("True", "False", "True"), "is text with 2 different values (True, False)"),
        (("2021-01-01", "2021-02-01", "2021-01-01"), "has dates or times and is left out"),
        (("12:30", "12:45", "12:30"), "has dates or times and is left out"),
        (("5 mM", "6 mM", "5 mM"), "has the unit mM in every cell and is read as numbers"),
        (("5mM", "6mM", "5mM"), "are numbers with a unit, write the unit in the header"),
        (("20 °C", "30 °C", "20 °C"), "has the unit °C in every cell"),
        (("DMF", "dmf", "DMF"), "has 'DMF' and 'dmf', which are read as different"),
        (("DMF", "\u200bDMF", "DMF"), r"has 'DMF' and '\u200bDMF', which are read as different"),
        (("007", "008", "009"), "has numbers with leading zeros, such as '007'"),
        (("A1", "A2", "A3"), "only names the rows and is left out"),
        (("", "", ""), "is empty and is left out"),
        (("1", "1", "1"), "has the same value in every row"),
    ],
)
def test_what_becomes_text_or_a_label_or_nothing_is_said(write, cells, notice):
    path = write(column(*cells))
    assert any(notice in one for one in read_candidates(path).notices)
    done = command("create", path.with_name("a.db"), "--candidates", path, "--target", "y")
    assert done.code == 0
    assert notice in done.err


def test_a_label_beside_named_columns_is_said(write):
    found = read_candidates(write("film,a\nu,1\nv,2\n"), columns=["a"])
    assert found.notices == ("column 'film' names the rows: results can be told by it",)


REFUSED = {
    "HTML": ("<!DOCTYPE html>\n<html><table><tr><td>1</td></tr></table></html>", "an HTML or XML"),
    "a table of HTML": ("\n <table>\n<tr><td>1</td></tr>\n</table>\n", "an HTML or XML page"),
    "XML": ("<?xml version='1.0'?>\n<a/>", "an HTML or XML page; save it as CSV"),
    "JSON": ('[{"a": 1}, {"a": 2}]', "got JSON; save the table as CSV"),
    "blanks": ("a b c\n1 2 3\n4 5 6\n", "got blanks: 'a b c'; save the table as CSV"),
    "aligned": ("   a    b\n 1.0  2.0\n 3.0  4.0\n", "got blanks: 'a    b'"),
    "words and numbers": ("solvent T\nDMF 20\nDMSO 30\n", "got blanks"),
    "bars": ("a|b\n1|2\n3|4\n", "got vertical bars"),
    "Markdown": ("| a | b |\n|---|---|\n| 1 | 2 |\n", "got vertical bars"),
    "colons": ("a:b\n1:2\n3:4\n", "got colons"),
    "workbook": (b"PK\x03\x04\x14\0[Content_Types].xml", "a workbook; save the sheet as CSV"),
    "old workbook": (b"\xd0\xcf\x11\xe0\xa1\xb1", "an old workbook (.xls)"),
    "zip": (archive(), "a zip archive; unpack it first"),
    "gzip": (b"\x1f\x8b\x08\0", "a compressed file; unpack it first"),
    "image": (b"\x89PNG\r\n\x1a\n", "got an image"),
    "PDF": (b"%PDF-1.4\n", "a PDF document"),
    "Parquet": (b"PAR1....", "a Parquet file"),
    "SQLite": (b"SQLite format 3\0....", "an SQLite database, such as a study"),
    "UTF-16": ("a,b\n1,2\n".encode("utf-16-le"), "NUL character in line 1; save it as UTF-8"),
    "NUL": ("a,b\n1,\0002\n", "a NUL character in line 2"),
    "header of two rows": ("x,,y,z\na,b,c,d\n1,2,3,4\n", "a name for every column"),
    "duplicate": ("a,a\n1,2\n", "distinct column names in line 1 (B1), got 'a' 2 times"),
    "ragged": ("a,b\n1,2,3\n", "needs 2 cells in line 2"),
    "spreadsheet error": (column("x", "x", "#REF!", "y"), "a missing one ('#REF!')"),
    "mixed decimal marks": (
        "a;b\n1,5;1.5\n2,5;2.5\n",
        "needs a number such as 12,5 in line 2, column 'b'",
    ),
    "thousands and decimals": ("a;b\n1.234,5;1\n2.345,6;2\n", "in line 2, column 'a'"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_table_is_refused_with_what_it_looks_like(write, kind):
    content, complaint = REFUSED[kind]
    path = write(content)
    with pytest.raises(ValueError, match=r"t\.csv needs") as caught:
        read_candidates(path)
    assert complaint in str(caught.value)
    place = path.with_name("a.db")
    done = command("create", place, "--candidates", path, "--target", "y")
    assert (done.code, place.exists()) == (2, False)
    assert complaint in done.err


@pytest.mark.parametrize(
    ("content", "first"),
    [
        (codecs.BOM_UTF8 + b"a,b\n1,2\n3,4\n", {"a": 1.0, "b": 2.0}),
        ("a,b\n1,2\n3,4\n".encode("utf-16"), {"a": 1.0, "b": 2.0}),
        ("a,b\n1,2\n3,4\n".encode("utf-32"), {"a": 1.0, "b": 2.0}),
        ("a\tb\n1\t2\n3\t5\n", {"a": 1.0, "b": 2.0}),
        ('"a\nb",c\n1,2\n3,4\n', {"a\nb": 1.0, "c": 2.0}),
        ("a,b\n+1e-5,.5\n-2.,3E2\n", {"a": 1e-5, "b": 0.5}),
        ("a;b\n1,5;2\n3,25;4\n", {"a": 1.5, "b": 2.0}),
        (column("\u00a05", "6\u00a0", "7"), {"a": 5.0, "b": 0.0}),
        ("compound name\nacetic acid\nformic acid\n", {"compound name": "acetic acid"}),
        ("Sample name\nSample 1\nSample 2\n", {"Sample name": "Sample 1"}),
        ("start time\n12:30\n12:45\n12:30\n", {"start time": "12:30"}),
    ],
)
def test_what_can_be_read_is_read_rightly(write, content, first):
    assert read_candidates(write(content)).x(0) == first


def test_guesses_about_a_file_are_said(write):
    found = read_candidates(write("Größe,b\n1,2\n3,4\n".encode("cp1252")))
    assert any("is read as Windows-1252" in notice for notice in found.notices)
    found = read_candidates(write("a;b,c\n1;2,3\n4;5,6\n"))
    assert any("commas would cut all lines" in notice for notice in found.notices)
    found = read_candidates(write("name,a\nx,1\ny,2\nTotal:,3\n"))
    assert len(found) == 2
    assert any("line 4 begins with 'Total:' and is left out" in one for one in found.notices)
    with pytest.warns(kb.DataNotice, match="is read as Windows-1252"):
        read_results(write("row,y,Größe\n0,1,2\n".encode("cp1252")), found, ["y"])


# Candidates that look alike to the model


CLOSE = [
    [[-1e20], [1.0], [2.0], [3.0]],
    [[0.3], [0.1 + 0.2], [1.0], [2.0]],
    [[1e300], [1e300 * (1 + 1e-15)], [0.0], [5.0]],
]


@pytest.mark.parametrize("points", CLOSE)
def test_a_result_is_recorded_for_its_own_row_though_others_look_alike(tmp_path, points):
    study = kb.Study.create(tmp_path / "a.db", points, target="y")
    assert study.candidates.first_rows.tolist() == [0, 1, 2, 3]
    for row, [x] in enumerate(points):
        told = study.tell_all([{"x1": x, "y": float(row)}])
        assert told[0].row == row
    assert study.to_dataframe().row.tolist() == [0, 1, 2, 3]
    assert study.estimates().results.tolist() == [1, 1, 1, 1]
    assert study.status().measured == 4
    study.close()


@pytest.mark.parametrize("points", CLOSE)
@pytest.mark.parametrize("policy", ["auto", "simple-ucb"])
def test_rows_that_look_alike_are_asked_for_and_told_one_by_one(tmp_path, points, policy):
    more = {} if policy == "auto" else {"settings": {"noise_scale": 0.1, "norm_bound": 1.0}}
    kernel = {} if policy == "auto" else {"kernel": kb.RBF(0.3)}
    study = kb.Study.create(
        tmp_path / "a.db", points, target="y", policy=policy, repeats=False, **more, **kernel
    )
    asked = [study.ask()[0] for _ in range(4)]
    assert sorted(one.row for one in asked) == [0, 1, 2, 3]
    for one in asked:
        assert study.tell(one.trial, float(one.row)).row == one.row
        assert one.x == {"x1": points[one.row][0]}
    assert study.best().row in range(4)
    study.close()


def test_values_that_the_model_cannot_tell_apart_are_said(tmp_path):
    with pytest.warns(kb.DataNotice, match="only 2 of its 4 different values differ for the model"):
        kb.Study.create(tmp_path / "a.db", CLOSE[0]).close()


def test_rows_with_equal_values_stay_the_same_candidate(write):
    found = read_candidates(write("a,b\n0.5,x\n0.50,x\n5e-1,x\n.5,y\n-0,x\n0.0,x\n"))
    assert found.first_rows.tolist() == [0, 0, 0, 3, 4, 4]
    assert found.distinct == 3


# Estimates and exports


def test_estimates_list_each_candidate_once_with_all_its_results(tmp_path):
    table = pd.DataFrame({"x": [0.0, 0.5, 0.0, 1.0, 0.0], "ok": ["no", "yes", "yes", "yes", "yes"]})
    study = kb.Study.create(tmp_path / "a.db", table, target="y", columns=["x"], allowed="ok")
    study.tell(row=0, value=1.0)
    study.tell(row=4, value=3.0)
    study.tell(row=1, value=5.0)
    frame = study.estimates()
    assert frame.row.tolist() == [2, 1, 3]
    assert frame.results.tolist() == [2, 1, 0]
    assert frame.average.tolist()[:2] == [2.0, 5.0]
    done = command("estimates", tmp_path / "a.db", "--format", "json")
    assert done.out.count('"results": 0') == 1
    study.close()


@pytest.mark.parametrize(
    ("name", "target"),
    [
        (name, target)
        for name in ("trial", "mean", "row", "value", "state", "sd", "worker")
        for target in ("y", "mean", "state", "weight")
        if name != target
    ],
)
def test_an_export_can_be_told_back_whatever_the_columns_are_called(tmp_path, name, target):
    table = pd.DataFrame({name: [0.25, 0.5, 0.75], "sd (candidate)": [1.0, 2.0, 2.0]})
    options = {"target": target, "columns": list(table)}
    study = kb.Study.create(tmp_path / "a.db", table, **options)
    for one, value in zip(study.ask(3), (0.5, None, 0.25), strict=True):
        study.tell(one.trial, value, failed=value is None)
    study.tell(row=2, value=7.0)
    study.withdraw(4)
    study.backup(tmp_path / "b.db")
    before = study.to_dataframe()
    assert len(set(before.columns)) == len(before.columns)
    study.export(tmp_path / "out.csv")
    told = study.tell_all(tmp_path / "out.csv")
    assert [one.accepted for one in told] == [False] * 3
    assert [one.value for one in told] == [0.5, None, 0.25]
    assert study.to_dataframe().equals(before)
    study.close()


def test_an_export_tells_results_to_a_study_that_has_the_trials(tmp_path):
    table = pd.DataFrame({"mean": [0.25, 0.5, 0.75]})
    study = kb.Study.create(tmp_path / "a.db", table, target="trial", columns=["mean"])
    asked = study.ask(2)
    study.backup(tmp_path / "b.db")
    study.tell(asked[0].trial, 0.5)
    study.tell(asked[1].trial, failed=True)
    study.export(tmp_path / "out.csv")
    done = command("tell", tmp_path / "b.db", "--csv", tmp_path / "out.csv")
    assert (done.code, done.out) == (0, "2 results recorded.\n")
    with kb.Study.open(tmp_path / "b.db") as other:
        assert other.to_dataframe().state.tolist() == ["told", "failed"]
    study.close()


# The target


def test_the_command_needs_a_target(write):
    path = write("a,Y Offset\n1,2\n2,3\n")
    place = path.with_name("a.db")
    done = command("create", place, "--candidates", path)
    assert (done.code, place.exists()) == (2, False)
    assert "create needs --target NAME, the column of results" in done.err
    done = command("create", place, "--candidates", path, "--target", "a", "--target", "a:min")
    assert (done.code, place.exists()) == (2, False)
    assert "Study needs each target once, got 'a'" in done.err
    done = command("create", place, "--candidates", path, "--target", "y")
    assert done.code == 0
    assert (
        "the table has no column 'y', so its results come later; all 2 columns describe "
        "candidates: a, Y Offset"
    ) in done.err


def test_a_target_that_is_spelt_almost_like_a_column_is_asked_about(write):
    path = write("a,yield (%)\n1,2\n2,3\n")
    done = command("create", path.with_name("a.db"), "--candidates", path, "--target", "yeild")
    assert done.code == 2
    assert "'yield (%)' is called as results are" in done.err
    path = write("a,stabilty (%)\n1,2\n2,3\n")
    done = command("create", path.with_name("a.db"), "--candidates", path, "--target", "stability")
    assert done.code == 0
    assert "If 'stabilty (%)' is meant, create the study with that target" in done.err
    assert "is meant" not in "".join(read_candidates(path, target="strength").notices)


def test_cells_of_the_target_that_are_no_results_are_counted_apart(write):
    found = read_candidates(write("a,y\n1,0.5\n2,?\n3,\n4,n.d.\n5,NA\n6,<0.2\n"), target="y")
    assert "column 'y' holds 3 results; to use them, tell this file as results" in found.notices
    assert any("2 cells that are no result, such as '?' in line 3" in one for one in found.notices)


def test_numbers_that_lose_digits_are_said_and_long_ones_are_not_shown_in_full(write):
    content = "a,b\n12345678901234567890,1\n12345678901234567891,2\n"
    notices = read_candidates(write(content)).notices
    assert any("'12345678901234567890', which are rounded" in one for one in notices)
    assert read_candidates(write("a,b\n9007199254740992,1\n2,2\n")).notices == ()
    with pytest.raises(ValueError, match=f"got '{'9' * 60}\\.\\.\\.'"):
        read_candidates(write(f"a,b\n{'9' * 400},1\n2,2\n"))


def test_decimal_commas_are_kept_where_the_file_has_them(write):
    with pytest.raises(ValueError, match=r"got '1\.234,56'; write 1234,56; "):
        read_candidates(write("a;b\n1,5;1\n1.234,56;2\n2,5;3\n"))


def test_a_title_above_the_header_is_left_out_and_headers_are_printed_as_they_are(write):
    found = read_candidates(write("My data\na,b\n1,2\n"))
    assert found.x(0) == {"a": 1.0, "b": 2.0}
    assert found.notices[0] == (
        "the names of the columns are read in line 2; 1 row ('My data') above the header left out"
    )
    path = write("a:b:y\n1:2:3\n2:3:4\n")
    done = command("create", path.with_name("a.db"), "--candidates", path, "--target", "y")
    assert "got colons: 'a:b:y'; save the table as CSV" in done.err


def test_python_says_which_columns_describe_candidates_if_no_target_is_there(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0], "glow (%)": [3.0, 4.0]})
    with pytest.warns(kb.DataNotice, match="all 2 columns describe candidates: a, glow"):
        kb.Study.create(tmp_path / "a.db", frame).close()
