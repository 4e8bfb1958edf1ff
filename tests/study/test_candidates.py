"""Tables of candidates as people have them: right, or refused by line and column."""

from __future__ import annotations

import codecs
import csv
import io
import json
import math
import unicodedata
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from kernelbandits.checks import StudyConflict
from kernelbandits.study import candidates as module
from kernelbandits.study.candidates import Candidates, read_candidates, stored_candidates
from kernelbandits.tables import csv_files, encodings
from kernelbandits.tables.cells import canonical, parse_number, parse_numbers
from kernelbandits.tables.headers import bare, find
from kernelbandits.tables.results import read_results

FILMS = "Cs,solvent,T (°C),y\n0.25,DMF,100,\n0.5,DMSO,120,3\n0.75,DMF,140,\n1,GBL,100,4\n"


@pytest.fixture
def table(tmp_path):
    def write(content: str | bytes, name: str = "films.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def same(one: Candidates, other: Candidates) -> None:
    assert (one.rows, one.column_types, one.log) == (other.rows, other.column_types, other.log)
    assert one.fingerprint == other.fingerprint
    assert one.first_rows.tolist() == other.first_rows.tolist()
    assert one.points.tobytes() == other.points.tobytes()


def again(one: Candidates) -> Candidates:
    """Through what a log keeps: JSON."""
    return stored_candidates(
        json.loads(json.dumps(one.lists)), json.loads(json.dumps(one.body, sort_keys=True))
    )


# What is read


def test_numbers_are_scaled_text_is_a_category_and_the_target_is_no_feature(table):
    found = read_candidates(table(FILMS), target="y")
    assert found.chosen == ("Cs", "solvent", "T (°C)")
    assert found.column_types == {"Cs": "number", "solvent": "category", "T (°C)": "number"}
    half = math.sqrt(0.5)
    expected = [
        [0, half, 0, 0, 0],
        [1 / 3, 0, half, 0, 0.5],
        [2 / 3, half, 0, 0, 1],
        [1, 0, 0, half, 0],
    ]
    np.testing.assert_array_equal(found.points, expected)
    assert found.x(1) == {"Cs": 0.5, "solvent": "DMSO", "T (°C)": 120.0}
    assert found.notices == (
        "column 'y' holds 2 results; to use them, tell this file as results",
        "column 'solvent' is text with 3 different values (DMF, DMSO, GBL); any two of them are equally far apart",
    )
    assert len(found) == 4
    assert found.costs is None
    assert found.allowed_rows.tolist() == [True] * 4


def test_two_different_words_are_at_distance_one(table):
    points = read_candidates(table(FILMS), columns=["solvent"]).points
    np.testing.assert_allclose(np.linalg.norm(points[0] - points[1]), 1, rtol=1e-15)
    assert (points[0] == points[2]).all()


PEROVSKITE = codecs.BOM_UTF8 + (
    b"CsPbI,FAPbI,MAPbI,Instability index\r\n0,1,0,480185\r\n0,1,0,505657\r\n0.5,0.5,0,100000\r\n0,0,1,1755056"
)


def test_a_table_of_repeated_measurements_keeps_its_rows_and_says_so(table):
    found = read_candidates(table(PEROVSKITE), target="Instability index")
    assert tuple(found.columns) == ("CsPbI", "FAPbI", "MAPbI", "Instability index")
    assert (len(found), found.distinct) == (4, 3)
    assert "1 of 4 rows describe the same candidate as an earlier one" in found.notices
    assert (found.points[0] == found.points[1]).all()
    assert found.row_of({"CsPbI": 0, "FAPbI": 1, "MAPbI": -0.0}) == 0
    same(again(found), found)


NAMES = (
    "Cs",
    "T (°C)",
    "Größe [µm]",
    "p, abs / bar",
    "__proto__",
    "a\nb",
    "=1+1",
    "name 'x'",
    "value €",
)
WORDS = st.text("abäöüß°µ€ ,;\"'=+-@\n", max_size=6).map(lambda text: "w" + text.rstrip())
NUMBERS = st.floats(allow_nan=False, allow_infinity=False) | st.integers(-1000, 1000).map(float)


@st.composite
def frames(draw) -> pd.DataFrame:
    """Two to four columns of numbers or of words, at least one of them of numbers."""
    rows = draw(st.integers(1, 6))
    names = draw(st.lists(st.sampled_from(NAMES), min_size=2, max_size=4, unique=True))
    kinds = [NUMBERS, *(draw(st.sampled_from([NUMBERS, WORDS])) for _ in names[1:])]
    return pd.DataFrame(
        {
            name: draw(st.lists(kind, min_size=rows, max_size=rows))
            for name, kind in zip(names, kinds, strict=True)
        }
    )


@dataclass(frozen=True)
class Dialect:
    delimiter: str
    decimal: str
    encoding: str
    quoting: int
    end: str
    trailing: bool
    blank_lines: bool
    declared: bool

    def written(self, frame: pd.DataFrame) -> bytes:
        rows = [list(frame.columns), *frame.itertuples(index=False)]
        lines = [self.line([*row, ""] if self.trailing else row) for row in rows]
        head = f"sep={self.delimiter}{self.end}" if self.declared else ""
        return (head + (self.end * self.blank_lines).join(["", *lines])).encode(self.encoding)

    def line(self, cells) -> str:
        text = io.StringIO(newline="")
        writer = csv.writer(
            text, delimiter=self.delimiter, quoting=self.quoting, lineterminator="\r\n"
        )
        writer.writerow(
            [
                cell if isinstance(cell, str) else repr(cell).replace(".", self.decimal)
                for cell in cells
            ]
        )
        return text.getvalue().removesuffix("\r\n") + self.end


DIALECTS = st.builds(
    Dialect,
    delimiter=st.sampled_from([",", ";", "\t"]),
    decimal=st.sampled_from([".", ","]),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "cp1252"]),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    end=st.sampled_from(["\n", "\r\n", "\r"]),
    trailing=st.booleans(),
    blank_lines=st.integers(0, 2),
    declared=st.booleans(),
).filter(lambda dialect: dialect.delimiter != "," or dialect.decimal == ".")


def is_utf_8(content: bytes) -> bool:
    """What is UTF-8 by chance is read as UTF-8, whatever was meant."""
    try:
        return content.decode() != ""
    except UnicodeDecodeError:
        return False


@pytest.mark.thorough
@settings(max_examples=100, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frame=frames(), dialect=DIALECTS)
def test_a_table_is_the_same_in_every_dialect_and_through_every_door(tmp_path, frame, dialect):
    columns = list(frame.columns)
    expected = read_candidates(frame, columns=columns)
    path = tmp_path / "films.csv"
    written = dialect.written(frame)
    assume(dialect.encoding != "cp1252" or written.isascii() or not is_utf_8(written))
    path.write_bytes(written)
    found = read_candidates(path, columns=columns)
    same(found, expected)
    assert again(found).body == found.body
    same(again(found), expected)
    assert (found.points >= 0).all()
    assert (found.points <= 1).all()


@pytest.mark.thorough
@settings(max_examples=100)
@given(st.lists(st.lists(NUMBERS, min_size=2, max_size=2), min_size=1, max_size=8).map(np.array))
def test_an_array_is_the_table_of_its_columns(array):
    found = read_candidates(array)
    assert found.chosen == ("x1", "x2")
    same(found, read_candidates(pd.DataFrame(array, columns=["x1", "x2"])))
    assert again(found).body == found.body
    for row in range(len(array)):
        assert list(found.x(row).values()) == array[row].tolist()
        assert found.x(found.row_of(found.x(row))) == found.x(row)


@given(NUMBERS)
def test_canonical_text_is_read_as_the_same_number(value):
    assert float(canonical(value)) == value
    assert canonical(float(canonical(value))) == canonical(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.0, "1"),
        (-0.0, "0"),
        (0.1, "0.1"),
        (1e300, "1e+300"),
        (-3.2, "-3.2"),
        (1e15, "1000000000000000.0"),
    ],
)
def test_whole_numbers_have_no_point_and_minus_zero_is_zero(value, text):
    assert canonical(value) == text


@pytest.mark.parametrize(
    "column",
    [
        [1e300, -1e300, 0.0],
        [1e-300, 2e-300, 3e-300],
        [5e-324, 0.0, 1e-323],
        [1.7e308, -1.7e308, 1e-308],
        [-0.0, 0.0, 1.0],
    ],
)
def test_scaling_neither_overflows_nor_loses_small_numbers(column):
    points = read_candidates(np.array(column)[:, None]).points[:, 0]
    exact = [Fraction(value) - Fraction(min(column)) for value in column]
    np.testing.assert_allclose(points, [float(value / max(exact)) for value in exact], rtol=1e-15)


# Dialects


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ("T, oben;Lack\n1,5;rot\n2,5;blau\n3,5;rot\n", ("T, oben", "Lack")),
        ("T, oben;Lack;\n1,5;rot;\n2,5;blau;\n3,5;rot;\n", ("T, oben", "Lack")),
        (
            "T, oben;Lack;Ton\n1,5;rot;hell\n2,5;blau;hell\n3,5;rot;matt\n",
            ("T, oben", "Lack", "Ton"),
        ),
        ("a, b;c, d\n1,5;2,5\n2,5;3,5\n", ("a, b", "c, d")),
        ("a,\tb\n1,\t2\n3,\t4\n", ("a", "b")),
        ("a;x\tb\n1,5\t2\n3,5\t4\n", ("a;x", "b")),
    ],
)
def test_marks_that_are_part_of_names_or_numbers_do_not_shift_columns(table, content, names):
    found = read_candidates(table(content))
    assert found.chosen == names
    assert len(found) == content.count("\n") - 1


def test_a_header_over_two_lines_is_one_name(table):
    found = read_candidates(table('"T\n(°C)";b\n1;2\n3;4\n'), columns=["T", "b"])
    assert found.chosen == ("T\n(°C)", "b")


def test_windows_1252_is_read_where_utf_8_fails(table):
    assert read_candidates(table("Preis (€),b\n1,2\n2,3\n".encode("cp1252"))).chosen == (
        "Preis (€)",
        "b",
    )


def test_a_first_line_of_numbers_is_noticed(table):
    notice = "the first line is read as the names of the columns: 0.25, 1"
    assert notice in read_candidates(table("0.25,1\n0.5,2\n0.75,3\n")).notices
    assert read_candidates(pd.DataFrame([[1, 2], [3, 5]])).notices == ()


def test_a_very_long_cell_of_digits_takes_no_time(table):
    with pytest.raises(ValueError, match=r"needs a number .* in line 3, column 'a'"):
        read_candidates(table(f"a,b\n1,2\n{'1' * 100_000}x,3\n"))


def test_blanks_before_quotes_do_not_split_a_cell(table):
    found = read_candidates(
        table('a, "solvent, dry"\n1, "DMF, dry"\n2, "DMF, dry"\n3, "DMF, wet"\n')
    )
    assert found.x(0) == {"a": 1.0, "solvent, dry": "DMF, dry"}


def test_rows_of_delimiters_at_the_end_of_a_sheet_are_no_candidates(table):
    assert len(read_candidates(table("a;b\n1;2\n3;4\n;\n;\n"))) == 2


@pytest.mark.parametrize("first", ["sep=;\n", "sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
def test_a_declared_delimiter_counts_as_a_line(table, first):
    with pytest.raises(ValueError, match="in line 4, column 'b', got 'x'"):
        read_candidates(table(first + "a;b\n1;2\n3;x\n4;5\n"), columns=["a", "b"])


def test_other_columns_keep_their_text_but_get_a_decimal_point(table):
    found = read_candidates(table("a;batch;y\n1,5;007;2,5\n2,5;008;\n"), columns=["a"])
    assert tuple(found.rows) == (("1.5", "007", "2.5"), ("2.5", "008", ""))


def test_commas_that_may_separate_thousands_are_noticed(table):
    found = read_candidates(table("a\tb\n1,234\t1\n2,345\t2\n"))
    assert found.x(0) == {"a": 1.234, "b": 1.0}
    assert "commas are read as decimal marks: '1,234' is 1.234" in found.notices
    assert read_candidates(table("a\tb\n1,25\t1\n2,345\t2\n")).notices == ()


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "films.csv needs a header and at least one row, got 0"),
        ("a,b\n", "films.csv needs a header and at least one row, got 1"),
        ("a,b\n1,2,3\n", "films.csv needs 2 cells in line 2, as in its header, got 3"),
        ("a,b\n1,2\n1\n", "films.csv needs 2 cells in line 3, as in its header, got 1"),
        ("x\n1,5\n2,5\n", "films.csv needs 1 cell in line 2, as in its header, got 2$"),
        ("a,b,a\n1,2,3\n", "films.csv needs distinct column names in line 1 .C1., got 'a' 2 times"),
        (
            "größe," + unicodedata.normalize("NFD", "größe") + "\n1,2\n",
            "needs distinct column names in line 1 .B1., got 'größe' 2 times",
        ),
        ("a,,b\n1,2,3\n", "films.csv needs a name for every column in line 1, .* above cell B2"),
        ("a,b\n1,\x002\n", "films.csv needs text, got a NUL character in line 2"),
        ("a,b\r1,2\r3,\x004\r", "films.csv needs text, got a NUL character in line 3"),
        ("a,b\n1,2\n".encode("utf-16-le"), "films.csv needs text, got a NUL character in line 1"),
        (
            codecs.BOM_UTF8 + b"a,b\n1,\xff\n",
            "films.csv needs text in the encoding that its byte-order mark names",
        ),
        (
            codecs.BOM_UTF16_LE + b"a\0,\0b",
            "films.csv needs text in the encoding that its byte-order mark names",
        ),
        ('a,b\n1,"2\n', "films.csv needs well-formed cells, got .* in line 2"),
        (
            b"PK\x03\x04 and more",
            "films.csv needs to be text, got a workbook; save the sheet as CSV",
        ),
        ("a," * 20000 + "b\n" + "1," * 20000 + "2\n", "films.csv needs at most 16384 columns"),
        ("y\n1\n", "films.csv needs at least one column that describes a candidate, got"),
        ("id,y\n1,2\n", "films.csv needs at least one column that describes a candidate, got"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(table, content, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        read_candidates(table(content), target="y")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"No such file: .*absent\.csv"):
        read_candidates(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match=r"a table needs a file, got .*, which is a folder"):
        read_candidates(tmp_path)


def test_files_and_tables_that_are_too_large_are_refused_before_they_are_read(table, monkeypatch):
    monkeypatch.setattr(encodings, "MOST_BYTES", 10)
    with pytest.raises(ValueError, match="a table needs at most 10 bytes"):
        read_candidates(table(FILMS))
    monkeypatch.undo()
    monkeypatch.setattr(csv_files, "MOST_ROWS", 3)
    with pytest.raises(ValueError, match="needs at most 3 rows, got 'more'"):
        read_candidates(table(FILMS))


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("a,b\n1,2\n" + "\n" * 101, "needs at most 100 lines, got 103"),
        ("\r\n" * 101, "needs at most 100 lines, got 101"),
        ("," * 301, "needs lines of at most 300 characters, got 301"),
        ('a,b\n"' + "x" * 301, "needs lines of at most 300 characters, got 302"),
        ("a,b\n1,2\n" + "," * 100 + "\n", "needs at most 50 columns in line 3, got 101"),
        ("sep=|\na|b\n1|2\n" + "|" * 100, "needs at most 50 columns in line 4, got 101"),
        ("a,b\n" + "1,2\n" * 90, "needs at most 80 cells, got 91"),
    ],
)
def test_a_file_of_too_many_lines_or_cells_is_refused_before_it_is_cut(
    table, monkeypatch, content, complaint
):
    monkeypatch.setattr(encodings, "MOST_LINES", 100)
    monkeypatch.setattr(encodings, "LONGEST_LINE", 300)
    monkeypatch.setattr(csv_files, "MOST_COLUMNS", 50)
    monkeypatch.setattr(csv_files, "MOST_CELLS", 80 if "cells" in complaint else 1000)
    monkeypatch.setattr(csv_files, "open_reader", None)
    with pytest.raises(ValueError, match=complaint):
        read_candidates(table(content))


def test_a_row_below_many_blank_lines_is_read(table, monkeypatch):
    monkeypatch.setattr(csv_files, "MOST_ROWS", 3)
    blank = "\n" * 10
    found = read_candidates(table(f"a,b\n1,2\n{blank}3,4\n \n{blank}5,6\n{blank}"))
    assert found.columns["a"].tolist() == [1.0, 3.0, 5.0]
    with pytest.raises(ValueError, match="needs at most 3 rows, got 'more'"):
        read_candidates(table(f"a,b\n1,2\n{blank}3,4\n5,6\n{blank}7,8\n"))


def test_millions_of_blank_lines_are_refused_by_their_number(table):
    with pytest.raises(ValueError, match="needs at most 2097152 lines, got 4000002"):
        read_candidates(table("a,b\n1,2\n" + "\n" * 4_000_000))


@pytest.mark.thorough
def test_a_million_names_without_features_are_refused_before_memory_is_taken(monkeypatch):
    allocate = lambda *given: pytest.fail("allocated")  # noqa: E731
    monkeypatch.setattr(module.Candidates, "_place_levels", allocate)
    with pytest.raises(
        ValueError,
        match="candidates needs at most 134217728 coordinates in memory, got '20000 rows of 20000'",
    ):
        read_candidates(pd.DataFrame({"name": [f"w{i}" for i in range(20000)]}))


# Names of columns


@pytest.mark.parametrize("name", ["T (°C)", "T", "t", "t (°c)", " T "])
def test_a_column_is_named_by_its_header_or_without_its_unit_in_any_case(table, name):
    found = read_candidates(table(FILMS), columns=[name, "Cs"])
    assert found.chosen == ("T (°C)", "Cs")
    noticed = any("column 'T (°C)' is used as" in notice for notice in found.notices)
    assert noticed == (name.strip() not in ("T (°C)", "T"))


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("T (°C)", "T"),
        ("Cs [%]", "Cs"),
        ("pressure / bar", "pressure"),
        ("A/B", "A/B"),
        ("(x)", "(x)"),
        ("f(x) [m]", "f(x)"),
    ],
)
def test_units_stand_in_brackets_or_behind_a_slash(header, name):
    assert bare(header) == name


def test_a_name_that_may_mean_two_columns_is_refused():
    assert find(("T (°C)", "T (K)"), "T") is None
    assert find(("a", "A"), "A") == "A"
    assert find(("AB", "Ab"), "ab") is None
    assert find(("T", "T (K)"), "T") == "T"


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"columns": ["z"]}, r"columns among Cs, .*, got 'z'"),
        ({"columns": []}, "at least one column that describes a candidate"),
        ({"columns": "Cs"}, "a sequence of column names, got 'Cs'"),
        ({"columns": ["Cs", "cs"]}, "distinct columns"),
        (
            {"columns": ["Cs"], "target": "Cs"},
            "a target that is not one of the columns that describe a candidate, got 'Cs'",
        ),
        ({"cost": "z"}, "a column for cost among"),
        ({"allowed": "z"}, "a column for allowed among"),
    ],
)
def test_a_bad_argument_is_refused_by_name(table, arguments, complaint):
    with pytest.raises(ValueError, match=f"films.csv needs {complaint}"):
        read_candidates(table(FILMS), **arguments)


def test_a_target_of_other_case_leaves_a_column_that_was_chosen(table):
    content = "t,a\n1,2\n2,3\n"
    assert read_candidates(table(content), columns=["t"], target="T").chosen == ("t",)
    found = read_candidates(table(content), target="T")
    assert found.chosen == ("a",)
    assert "column 't' is used as 'T'" in found.notices


@pytest.mark.parametrize("name", ["", "Unnamed: 0", "id", "ID", "index", "row", "Nr."])
def test_row_numbers_are_no_feature_unless_they_are_asked_for(table, name):
    content = f"{name},a\n0,5\n1,7\n2,5\n"
    found = read_candidates(table(content))
    assert found.chosen == ("a",)
    assert "only names the rows and is left out" in found.notices[0]
    assert read_candidates(table(content), columns=[name or "Unnamed: 0", "a"]).chosen == (
        name or "Unnamed: 0",
        "a",
    )


def test_text_that_is_never_the_same_twice_is_a_label(table):
    found = read_candidates(table("film,note,a\nu,,0\nv,poor,1\nw,,2\n"))
    assert found.chosen == ("a",)
    assert [notice.split(" and ")[0] for notice in found.notices] == [
        "column 'film' only names the rows",
        "column 'note' has remarks",
    ]
    assert read_candidates(table("film,a\nu,0\nv,1\n"), columns=["film"]).column_types == {
        "film": "category"
    }


def test_a_table_of_nothing_but_names_has_its_names_as_candidates(table):
    found = read_candidates(table("catalyst,y\nPd,\nPt,\nNi,\n"), target="y")
    assert found.column_types == {"catalyst": "category"}
    assert found.points.shape == (3, 3)


def test_empty_columns_are_left_out_with_a_notice(table):
    found = read_candidates(table("a,b,c\n1,,2\n2,,3\n"))
    assert found.chosen == ("a", "c")
    assert "column 'b' is empty and is left out" in found.notices[0]


# Numbers, text and gaps


@pytest.mark.parametrize("cell", ["1e5 ", " 1e5", "+1e5", "100000.", "1E+5"])
def test_blanks_and_signs_do_not_make_a_number_text(table, cell):
    assert read_candidates(table(f"a,b\n{cell},1\n2,2\n")).x(0)["a"] == 1e5


@pytest.mark.parametrize(
    "cell",
    [
        "1_000",
        "١٢",
        "0x10",
        "inf",
        "-Infinity",
        "1 000",
        "1.000.000",
        "1,5",
        "1'000",
        "<0.1",
        "5 %",
        "1e999",
        "0b1",
    ],
)
@pytest.mark.parametrize("all_alike", [True, False])
def test_what_was_meant_as_a_number_is_refused_by_line_and_column(table, cell, all_alike):
    others = [f'"{cell}"'] * 3 if all_alike else ["1", "2.5", "3"]
    content = "a,b\n" + "".join(f"{other},1\n" for other in others) + f'"{cell}",2\n'
    line = 2 if all_alike else 5
    with pytest.raises(
        ValueError, match=rf"films\.csv needs a number .* in line {line}, column 'a', got"
    ) as caught:
        read_candidates(table(content))
    assert repr(cell) in str(caught.value)


@pytest.mark.parametrize("cell", ["", "NA", "nan", "NaN", "N/A", "null"])
@pytest.mark.parametrize("others", [("1", "2"), ("red", "red")])
def test_a_gap_is_refused_by_line_and_column_and_with_a_way_on(table, cell, others):
    content = f"a,b\n{others[0]},1\n{others[1]},2\n{cell},3\n"
    with pytest.raises(
        ValueError,
        match=r"needs a value in line 4, column 'a', got a missing one .*; correct it, remove",
    ):
        read_candidates(table(content), columns=["a", "b"])


def test_sodium_and_none_are_words(table):
    found = read_candidates(table("salt,additive\nNa,none\nK,None\nNa,none\n"))
    assert found.x(0) == {"salt": "Na", "additive": "none"}


def test_words_in_composed_and_decomposed_form_are_one_value(table):
    word = "grün"
    found = read_candidates(
        table(f"a,b\n{word},1\n{unicodedata.normalize('NFD', word)},2\nrot,3\n")
    )
    assert found.points.shape == (3, 3)
    assert found.row_of({"a": unicodedata.normalize("NFD", word), "b": 2}) == 1


def test_a_few_strings_in_a_column_of_numbers_are_refused(table):
    with pytest.raises(ValueError, match="in line 4, column 'a', got 'broken'"):
        read_candidates(table("a,b\n1,1\n2,2\nbroken,3\n"))


def test_numbers_in_a_column_of_text_are_noticed(table):
    found = read_candidates(table("a,b\nred,1\nblue,2\n7,3\nred,4\n"))
    assert found.column_types["a"] == "category"
    assert (
        "column 'a' is read as text, because only 1 of its 3 different values are numbers"
        in found.notices
    )


def test_a_unit_that_every_cell_has_moves_into_the_header(table):
    found = read_candidates(table("a,b,T [°C]\n10 mM,1,20°C\n2.5 mM,2,30 °C\n10 mM,3,20 °C\n"))
    assert found.column_types == {"a (mM)": "number", "b": "number", "T [°C]": "number"}
    assert found.numbers("a (mM)").tolist() == [10.0, 2.5, 10.0]
    assert any("has the unit mM in every cell and is read as numbers" in n for n in found.notices)


@pytest.mark.parametrize(
    "cells", [("10 mM", "20 µM"), ("13C", "12C"), ("10 mM", "20"), ("1 x 2", "3 x 4")]
)
def test_cells_without_one_common_unit_stay_text(table, cells):
    found = read_candidates(table("a,b\n{},1\n{},2\n{},3\n".format(*cells, cells[0])))
    assert found.column_types.get("a") != "number"


def test_results_in_another_unit_than_that_of_the_study_are_refused(table):
    found = read_candidates(table("a,y\n10 mM,\n20 mM,\n"), target="y")
    [told] = read_results(table("a,y\n20 mM,0.5\n"), found, ["y"])
    assert (told.row, told.values) == (1, {"y": 0.5})
    with pytest.raises(ValueError, match=r"in the unit of the study, got 'a \(µM\)'; convert"):
        read_results(table("a,y\n20 µM,0.5\n"), found, ["y"])


def test_very_many_words_are_noticed():
    frame = pd.DataFrame({"a": [f"w{i % 60}" for i in range(90)], "b": range(90)})
    assert any(
        "column 'a' is text with 60 different values" in notice
        for notice in read_candidates(frame).notices
    )


def test_constant_columns_make_no_difference_and_are_noticed(table):
    found = read_candidates(table("a,b,c\n1,7,red\n2,7,red\n"))
    assert found.chosen == ("a", "b", "c")
    np.testing.assert_array_equal(found.points, [[0], [1]])
    assert found.notices[:2] == tuple(
        f"column {name!r} has the same value in every row and has no effect" for name in "bc"
    )


@pytest.mark.parametrize("content", ["a,b\n1,red\n", "a,b\n1,red\n1,red\n"])
def test_one_candidate_and_two_equal_ones_are_points_at_zero(table, content):
    found = read_candidates(table(content), columns=["a", "b"])
    np.testing.assert_array_equal(found.points, np.zeros((len(found), 1)))
    assert found.row_of({"a": 1, "b": "red"}) == 0


# Costs and allowed rows


def test_costs_are_numbers_and_no_feature(table):
    found = read_candidates(table("a;hours\n1;0,5\n2;3\n"), cost="Hours")
    np.testing.assert_array_equal(found.costs, [0.5, 3])
    assert (found.chosen, found.cost) == (("a",), "hours")
    np.testing.assert_array_equal(again(found).costs, [0.5, 3])


@pytest.mark.parametrize("cell", ["0", "-1", "", "free", "1e-200", "1e200", "nan", "inf"])
def test_a_cost_that_is_not_positive_is_refused_by_line_and_column(table, cell):
    with pytest.raises(ValueError, match="in line 3, column 'hours', got"):
        read_candidates(table(f"a,hours\n1,2\n2,{cell}\n"), cost="hours")


def test_allowed_rows_are_marked_by_a_few_words(table):
    words = ["yes", "NO", "True", "false", "1", "0", "x", "", "Ja", "nein", "1.0", "X", "y", "n"]
    found = read_candidates(
        table("a,ok\n" + "".join(f"{i},{word}\n" for i, word in enumerate(words))), allowed="ok"
    )
    assert found.allowed_rows.tolist() == [
        word.casefold() in ("yes", "true", "1", "x", "ja", "1.0", "y") for word in words
    ]
    assert found.chosen == ("a",)
    assert again(found).allowed_rows.tolist() == found.allowed_rows.tolist()


@pytest.mark.parametrize("cell", ["maybe", "2", "-", "NA"])
def test_a_word_that_is_neither_yes_nor_no_is_refused_by_line_and_column(table, cell):
    with pytest.raises(
        ValueError, match=f"films.csv needs yes or no in line 3, column 'ok', got '{cell}'"
    ):
        read_candidates(table(f"a,ok\n1,yes\n2,{cell}\n"), allowed="ok")


def test_at_least_one_row_is_allowed(table):
    with pytest.raises(
        ValueError, match="needs at least one allowed row in column 'ok', got 'none'"
    ):
        read_candidates(table("a,ok\n1,no\n2,\n"), allowed="ok")


# Tables in memory


def test_every_kind_of_column_of_a_dataframe_is_read():
    frame = pd.DataFrame({
        "int": np.array([3, 1, 2], dtype=np.int8),
        "float": np.array([0.1, 0.2, 0.3], dtype=np.float32),
        "nullable": pd.array([1, 2, 3], dtype="Int64"),
        "bool": [True, False, True],
        "category": pd.Categorical(["b", "a", "b"]),
        "string": pd.array(["u", "v", "u"], dtype="string"),
        "object": ["p", "q", "q"],
        "decimal": [Decimal("1.50"), Decimal(2), Decimal("1E+2")],
        "text": ["1", " 2", "3.0"],
        7: [1, 2, 3],
    })  # fmt: skip
    found = read_candidates(frame, columns=[str(name) for name in frame.columns])
    kinds = dict.fromkeys(["int", "float", "nullable", "decimal", "text", "7"], "number")
    assert found.column_types == kinds | dict.fromkeys(
        ["bool", "category", "string", "object"], "category"
    )
    assert found.x(2) == {
        "int": 2.0, "float": float(np.float32(0.3)), "nullable": 3.0, "bool": "True", "category": "b",
        "string": "u", "object": "q", "decimal": 100.0, "text": 3.0, "7": 3.0,
    }  # fmt: skip
    same(again(found), found)


@pytest.mark.parametrize(
    "column",
    [
        [1.0, np.nan, 2.0],
        pd.array([1, None, 3], dtype="Int64"),
        pd.array(["a", pd.NA, "a"], dtype="string"),
        pd.Categorical(["a", None, "a"]),
        ["a", None, "a"],
        pd.array([True, None, True], dtype="boolean"),
    ],
)
def test_a_gap_in_a_dataframe_is_refused_by_row_and_column(column):
    with pytest.raises(
        ValueError, match="the DataFrame needs a value in row 1, column 'a', got a missing one"
    ):
        read_candidates(pd.DataFrame({"a": column}), columns=["a"])


@pytest.mark.parametrize("value", [[1], {}, b"x", 1j, "a\0b", "\ud800"])
def test_what_no_store_can_hold_is_refused_by_row_and_column(value):
    with pytest.raises(ValueError, match=r"a cell needs .* in row 1, column 'a'"):
        read_candidates(pd.DataFrame({"a": pd.Series(["x", value, "x"], dtype=object)}))


def test_a_number_beyond_all_floats_is_no_number_in_any_company():
    for cells in (["1", "1e999"], ["1", "-1e999", "word"]):
        assert parse_numbers(cells)[0] == 1.0
        assert np.isnan(parse_numbers(cells)[1:]).all()
    assert math.isnan(parse_number("1e999"))


@pytest.mark.parametrize("value", [math.inf, -math.inf, 10**400])
def test_infinite_numbers_of_a_dataframe_are_refused(value):
    with pytest.raises(ValueError, match=r"needs a number .* in row 1, column 'a', got"):
        read_candidates(pd.DataFrame({"a": pd.Series([1, value, 2], dtype=object)}))


def test_a_named_index_is_a_label_and_row_numbers_are_not_a_column():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["u", "v"], name="film"))
    found = read_candidates(frame)
    assert (tuple(found.columns), found.chosen) == (("film", "a"), ("a",))
    assert read_candidates(frame, columns=["film"]).x(1) == {"film": "v"}
    assert read_candidates(frame.set_index(pd.Index([7, 9], name="batch"))).chosen == ("a",)
    assert tuple(read_candidates(frame.reset_index(drop=True)).columns) == ("a",)
    assert tuple(read_candidates(frame.rename_axis(index=None)).columns) == ("a",)
    assert tuple(read_candidates(frame.set_index("a", drop=False)).columns) == ("a",)
    assert tuple(
        read_candidates(frame[frame.a > 1].reset_index(drop=True).rename_axis("n")).columns
    ) == ("a",)


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (pd.DataFrame({"a": []}), "the DataFrame needs at least one row, got 0"),
        (pd.DataFrame(), "the DataFrame needs at least one row, got 0"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "the DataFrame needs distinct columns"),
        (pd.DataFrame([[1, 2]], columns=[1, "1"]), "the DataFrame needs distinct columns"),
        (pd.DataFrame(index=[0, 1]), "needs at least one column that describes a candidate"),
        (np.zeros((0, 2)), "candidates needs an .* array with n >= 1"),
        (np.zeros(3), "candidates needs an .* array, got shape"),
        (np.array([[1, np.nan]]), "candidates needs finite points, got nan in row 0, column 1"),
        (np.array([["a"]]), "candidates needs an .* array of numbers"),
        (None, "candidates needs an .* array"),
        (SimpleNamespace(columns=["a"]), r"candidates needs a pandas DataFrame \(to_pandas"),
        (3, "candidates needs an .* array"),
    ],
)
def test_what_is_no_table_is_refused_in_one_sentence(source, complaint):
    with pytest.raises(ValueError, match=complaint):
        read_candidates(source)


def test_the_columns_of_an_array_may_be_named():
    assert read_candidates([[1, 2], [3, 4]], columns=["Cs", "FA"]).x(1) == {"Cs": 3.0, "FA": 4.0}
    with pytest.raises(ValueError, match="candidates needs 2 names of columns, got"):
        read_candidates([[1, 2], [3, 4]], columns=["Cs"])


# Candidates by what describes them


def test_a_candidate_is_found_by_numbers_or_by_their_text(table):
    found = read_candidates(table(FILMS), target="y")
    assert found.row_of({"Cs": "0.50", "solvent": " DMSO", "T": 120}) == 1
    assert found.row_of({"Cs": np.float64(1), "solvent": "GBL", "T (°C)": Fraction(100)}) == 3


@pytest.mark.parametrize(
    ("x", "kind", "complaint"),
    [
        ({"Cs": 0.3, "solvent": "DMF", "T": 100}, StudyConflict, "no candidate has"),
        ({"Cs": 0.25, "solvent": "DMF"}, ValueError, "a candidate needs values of"),
        (
            {"Cs": 0.25, "solvent": "DMF", "T": 1, "p": 1},
            ValueError,
            "a candidate needs a column among .*, got 'p'",
        ),
        (
            {"Cs": "1,250", "solvent": "DMF", "T": 1},
            ValueError,
            "a candidate needs a number for 'Cs', got '1,250'",
        ),
        (
            {"Cs": True, "solvent": "DMF", "T": 1},
            ValueError,
            "a candidate needs a number for 'Cs', got True",
        ),
    ],
)
def test_a_candidate_that_is_not_there_is_refused(table, x, kind, complaint):
    with pytest.raises(kind, match=complaint):
        read_candidates(table(FILMS), target="y").row_of(x)


@pytest.mark.parametrize("row", [-1, 4, 1.0, True, "1", None])
def test_a_row_that_is_not_there_is_refused(table, row):
    with pytest.raises(
        ValueError, match=r"candidates needs a (row below 4|whole number row >= 0), got"
    ):
        read_candidates(table(FILMS), target="y").x(row)


def test_the_fingerprint_knows_every_cell_and_every_task(table):
    plain = read_candidates(table("a,b,c\n1,2,3\n2,3,4\n"))
    others = [
        read_candidates(table("a,b,c\n1,2,3\n2,3,5\n")),
        read_candidates(table("a,b,d\n1,2,3\n2,3,4\n")),
        read_candidates(table("a,b,c\n2,3,4\n1,2,3\n")),
        read_candidates(table("a,b,c\n1,2,3\n2,3,4\n"), columns=["a", "b"]),
        read_candidates(table("a,b,c\n1,2,3\n2,3,4\n"), cost="c"),
    ]
    assert len({one.fingerprint for one in (plain, *others)}) == 6
    assert read_candidates(table("a;b;c\r\n1,0;2;3\r\n2;3;4\r\n")).fingerprint == plain.fingerprint


def test_points_cannot_be_changed_behind_the_back(table):
    with pytest.raises(ValueError, match="read-only"):
        read_candidates(table(FILMS), target="y").points[0, 0] = 7


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"columns": {"a": np.zeros(0), "b": ()}}, "at least one row"),
        ({"columns": {"a": np.zeros(2), "b": ("1",)}}, "as many cells in each column"),
        ({"log": ("b",)}, "chosen columns of numbers for log"),
        ({"chosen": ("c",)}, "columns among"),
        ({"chosen": ()}, "at least one chosen column"),
        ({"cost": "c"}, "columns among"),
    ],
)
def test_candidates_are_checked_at_construction(change, complaint):
    fields = {"columns": {"a": np.ones(1), "b": ("2",)}, "chosen": ("a",)}
    with pytest.raises(ValueError, match=f"candidates needs {complaint}"):
        Candidates(**(fields | change))


# Labels


def test_columns_that_identify_a_row_are_its_labels(table):
    content = "Nr.;Probe;Cs;note\n01;P a;0,5;\n02;P b;0,5;poor\n04;P c;0,75;\n"
    for columns in (None, ["Cs"]):
        found = read_candidates(table(content), columns=columns)
        assert (found.chosen, found.labels) == (("Cs",), ("Nr.", "Probe"))
        assert found.label(2) == {"Nr.": "04", "Probe": "P c"}
    assert read_candidates(table(content), columns=["Cs", "Probe"]).labels == ("Nr.",)
    assert read_candidates(table("Nr.,Probe\n1,a\n2,b\n")).labels == ("Nr.",)


@pytest.mark.parametrize("cells", ["1,1,2", "1,,2", "u,v,u", "u,,v", "u,NA,v", ",,"])
@pytest.mark.parametrize("columns", [None, ["a"]])
def test_what_two_rows_share_or_one_lacks_is_no_label(table, cells, columns):
    lines = "".join(f"{cell},{row % 2}\n" for row, cell in enumerate(cells.split(",")))
    assert read_candidates(table(f"Nr.,a\n{lines}"), columns=columns).labels == ()


def test_numbers_without_a_name_and_columns_with_another_task_are_no_labels(table):
    assert read_candidates(table(",a\n0,5\n1,7\n")).labels == ()
    assert read_candidates(table(",a\nu,5\nv,7\n")).labels == ("Unnamed: 0",)
    assert (
        read_candidates(
            table("id,no,y,a\n1,1,u,5\n2,0,v,7\n"), target="y", cost="id", allowed="no"
        ).labels
        == ()
    )
    for name in ("row", "Trial", "key", "value", "failed"):
        assert read_candidates(table(f"{name},a\nu,5\nv,7\n")).labels == ()
    assert read_candidates(np.eye(3)).labels == ()


def test_a_named_index_labels_the_rows_if_it_is_never_the_same_twice():
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index([7, 9], name="batch"))
    assert read_candidates(frame).label(1) == {"batch": "9"}
    assert read_candidates(frame.set_index(pd.Index([7, 7], name="batch"))).labels == ()


def test_labels_come_back_from_a_log(table):
    found = read_candidates(table("Nr.,film,a\n1,u,5\n2,v,7\n"))
    assert again(found).body == found.body
    assert again(found).label(1) == {"Nr.": "2", "film": "v"}


@pytest.mark.parametrize("row", [-1, 2, 0.5, None])
def test_the_label_of_a_row_that_is_not_there_is_refused(table, row):
    with pytest.raises(ValueError, match=r"candidates needs a (row below 2|whole number row >= 0)"):
        read_candidates(table("film,a\nu,5\nv,7\n")).label(row)


# A target that is mistyped


@pytest.mark.parametrize(
    ("target", "header"),
    [
        ("instability", "Instability index"),
        ("stability", "Instability index"),
        ("Instability index (h)", "Instability index"),
        ("yield", "final Yield"),
        ("Yield Stress", "yield"),
    ],
)
@pytest.mark.parametrize("cells", [["1", "2", "3"], ["", "", ""]])
def test_a_target_that_is_a_part_of_a_header_or_the_other_way_round_is_refused(
    table, target, header, cells
):
    content = f"Cs,{header}\n" + "".join(f"{i},{cell}\n" for i, cell in enumerate(cells))
    with pytest.raises(
        ValueError, match=r"films.csv needs a column .* write the target in full, or name the"
    ) as caught:
        read_candidates(table(content), target=target)
    assert f"got {header!r}; " in str(caught.value)
    assert read_candidates(table(content), target=target, columns=["Cs"]).notices == ()
    assert read_candidates(table(content), target=header).chosen == ("Cs",)


@pytest.mark.parametrize(
    ("target", "header"),
    [
        ("stability", "T"),
        ("y", "density"),
        ("lifetime", "time"),
        ("pH", "phase"),
        ("y", "Y Offset"),
        ("y", "y (start)2"),
        ("pH", "end pH (after 1 h)"),
    ],
)
def test_a_table_without_results_is_noticed(table, target, header):
    content = f"Cs,{header}\n0,1\n1,2\n"
    notice = (
        f"the table has no column {target!r}, so its results come later; "
        f"all 2 columns describe candidates: Cs, {header}"
    )
    assert read_candidates(table(content), target=target).notices == (notice,)
    assert read_candidates(table(content), target=target, columns=["Cs", header]).notices == ()
    assert read_candidates(np.eye(3), target=target).notices == ()


def test_the_notice_counts_the_columns_that_describe_candidates(table):
    found = read_candidates(table("film,a,b,eur\nu,1,2,3\nv,2,3,4\n"), target="y", cost="eur")
    notice = (
        "the table has no column 'y', so its results come later; "
        "2 of its 4 columns describe candidates: a, b"
    )
    assert notice in found.notices


@pytest.mark.parametrize(
    "roles",
    [
        {"cost": "price", "allowed": "price"},
        {"columns": ["a", "free"], "allowed": "free"},
        {"columns": ["a", "free"], "allowed": "free", "cost": "price"},
    ],
)
def test_whether_a_row_is_allowed_needs_a_column_of_its_own(roles):
    table = pd.DataFrame({"a": [0.1, 0.2, 0.3], "price": [1, 1, 1], "free": [1, 0, 1]})
    with pytest.raises(ValueError, match=r"needs a column of its own for allowed, got '\w+'"):
        read_candidates(table, target="y", **roles)
    assert read_candidates(table, cost="price", allowed="free").allowed_rows.tolist() == [
        True,
        False,
        True,
    ]
