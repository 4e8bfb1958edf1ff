"""Results from files and tables: all of them checked, each known again when it is read twice."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.study.candidates import read_candidates
from kernelbandits.tables.results import Result, read_results

FILMS = pd.DataFrame({
    "film": ["u", "v", "w", "z"],
    "Cs": [0.25, 0.5, 0.75, 0.5],
    "solvent": ["DMF", "DMSO", "DMF", "DMSO"],
    "T (°C)": [100, 120, 140, 120],
})  # fmt: skip


@pytest.fixture(scope="module")
def films():
    return read_candidates(FILMS, columns=["Cs", "solvent", "T"], target="stability")


@pytest.fixture
def read(tmp_path, films):
    def results(
        content: str | bytes, name: str = "results.csv", target: str = "stability"
    ) -> list[Result]:
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_results(path, films, [target])

    return results


def only(values):
    """Return the value of the only target; None if it has none."""
    return next(iter(values.values()), None)


def said(results: list[Result]) -> list[tuple]:
    return [(one.trial, one.row, only(one.values), one.failed, one.line) for one in results]


@pytest.fixture(autouse=True)
def loud():
    """A notice nobody expects is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataNotice)
        yield


@pytest.mark.parametrize(
    "header",
    ["trial,stability", "Trial,Stability (h)", "trial,value", "TRIAL,VALUE", " trial , stability"],
)
def test_a_trial_is_told_in_the_column_of_the_target_or_in_value(read, header):
    assert said(read(f"{header}\n3,0.5\n1,-2e3\n")) == [
        (3, None, 0.5, False, 2),
        (1, None, -2000.0, False, 3),
    ]


def test_a_row_is_told_by_its_number(read):
    assert said(read("row,value\n0,1\n3.0,2\n")) == [
        (None, 0, 1.0, False, 2),
        (None, 3, 2.0, False, 3),
    ]


@pytest.mark.parametrize(
    "content",
    [
        "Cs,solvent,T (°C),stability\n0.75,DMF,140,7\n0.50,DMSO,120.0,8\n",
        "T,Cs,solvent,stability\n140,0.75,DMF,7\n1.2e2,.5,DMSO,8\n",
        "t;cs;Solvent;Stability\n140;0,75;DMF;7\n120;0,5;DMSO;8\n",
    ],
)
def test_a_row_is_told_by_what_describes_it_and_the_first_of_equal_rows_is_meant(read, content):
    assert said(read(content)) == [(None, 2, 7.0, False, 2), (None, 1, 8.0, False, 3)]


def test_each_line_has_its_own_way_to_name_its_row(read):
    content = "trial,row,Cs,solvent,T,value\n1,,,,,5\n,2,,,,6\n,,0.25,DMF,100,7\n4,0,,,,8\n"
    assert [(one.trial, one.row) for one in read(content)] == [
        (1, None),
        (None, 2),
        (None, 0),
        (4, 0),
    ]


def test_a_number_and_a_description_that_disagree_are_refused(read):
    header = "row,Cs,solvent,T,value\n"
    assert [one.row for one in read(header + "2,0.75,DMF,140,6\n3,0.5,DMSO,120,6\n")] == [2, 3]
    for line, column, there in (
        ("0,0.75,DMF,100", "Cs", "0.25"),
        ("0,,DMSO,", "solvent", "'DMF'"),
        ("0,,,99", "T", "100.0"),
    ):
        with pytest.raises(
            StudyConflict, match=f"needs {there} in line 2, column '{column}', as row 0 has it, got"
        ):
            read(f"{header}{line},6\n")


def test_a_failure_has_no_value(read):
    content = "trial,value,failed\n1,,yes\n2,3,no\n3,4,\n4,,X\n"
    assert [(one.trial, only(one.values), one.failed) for one in read(content)] == [
        (1, None, True), (2, 3.0, False), (3, 4.0, False), (4, None, True),
    ]  # fmt: skip
    assert said(read("trial,failed\n1,1\n")) == [(1, None, None, True, 2)]


def test_what_is_not_measured_yet_is_left_out_with_a_notice(read):
    with pytest.warns(DataNotice, match=r"results.csv: 2 rows have no value yet and are left out"):
        found = read("trial,value,failed\n1,,\n2,5,\n3,,no\n")
    assert said(found) == [(2, None, 5.0, False, 3)]


def test_other_columns_are_ignored_with_a_notice_but_those_of_the_candidates_in_silence(read):
    assert len(read("trial,film,Cs,value\n1,u,0.25,5\n")) == 1
    with pytest.warns(DataNotice, match=r"results.csv: columns \['operator', 'day'\] are ignored"):
        read("trial,operator,value,day\n1,ann,5,monday\n")


@pytest.mark.parametrize(
    "cell",
    [
        "abc",
        '"1,5"',
        "nan",
        "NaN",
        "inf",
        "-inf",
        "1e999",
        "1e151",
        "1_000",
        "١٢",
        "0x10",
        "True",
        "NA",
    ],
)
def test_a_value_that_is_no_number_is_refused_by_line_and_column(read, cell):
    with pytest.raises(
        ValueError, match=r"results\.csv needs a .* in line 3, column 'value', got .*failed"
    ):
        read(f"trial,value\n1,2\n2,{cell}\n3,4\n")


@pytest.mark.parametrize(
    ("content", "kind", "complaint"),
    [
        ("trial,Cs\n1,2\n", ValueError, "needs a column 'stability' or 'value', got"),
        (
            "name,value\nu,2\n",
            ValueError,
            "needs a column 'trial', a column 'row', a column 'film' or all of Cs, solvent, T",
        ),
        (
            "Cs,solvent,value\n0.5,DMSO,2\n",
            ValueError,
            "needs a column 'trial', a column 'row', a column 'film' or all",
        ),
        (
            "film,value\nx,2\n",
            StudyConflict,
            "results.csv needs a label of a candidate in line 2, column 'film', got 'x'",
        ),
        (
            "film,value\nu,2\n,3\n",
            ValueError,
            "needs a trial, 'film' or a row in line 3, got neither",
        ),
        (
            "film,row,value\nu,0,2\nv,2,3\n",
            StudyConflict,
            "needs 'w' in line 3, column 'film', as row 2 has it, got 'v'",
        ),
        (
            "film,Cs,value\nu,0.25,2\nv,0.3,3\n",
            StudyConflict,
            "needs 0.5 in line 3, column 'Cs', as row 1 has it, got '0.3'",
        ),
        (
            "trial,value\n0,2\n",
            ValueError,
            "needs a whole number >= 1 in line 2, column 'trial', got 0",
        ),
        (
            "trial,value\n1.5,2\n",
            ValueError,
            "needs a whole number >= 1 in line 2, column 'trial', got 1.5",
        ),
        (
            "trial,value\none,2\n",
            ValueError,
            "needs a number .* in line 2, column 'trial', got 'one'",
        ),
        (
            "row,value\n-1,2\n",
            ValueError,
            "needs a whole number >= 0 in line 2, column 'row', got -1",
        ),
        ("row,value\n4,2\n", StudyConflict, "needs a row below 4 in line 2, column 'row', got 4"),
        ("trial,row,value\n,,2\n", ValueError, "needs a trial or a row in line 2, got neither"),
        ("trial,Cs,value\n,0.5,2\n", ValueError, "needs a trial or a row in line 2, got neither"),
        (
            "trial,value,failed\n1,2,yes\n",
            ValueError,
            "needs no value in line 2, column 'value', where the measurement",
        ),
        (
            "trial,value,failed\n1,2,perhaps\n",
            ValueError,
            "needs yes or no in line 2, column 'failed', got 'perhaps'",
        ),
        (
            "Cs,solvent,T,value\n0.3,DMF,100,2\n",
            StudyConflict,
            "results.csv, line 2: no candidate has",
        ),
        (
            "Cs,solvent,T,value\n0.25,DMF,,2\n",
            ValueError,
            "needs a value in line 2, column 'T', got a missing one",
        ),
        (
            "trial,value,key\n1,2,k\n2,2,k\n",
            ValueError,
            "needs another key in line 3, got 'k' of line 2 again",
        ),
    ],
)
def test_a_line_that_cannot_be_told_is_refused_in_one_sentence(read, content, kind, complaint):
    with pytest.raises(kind, match=complaint) as caught:
        read(content)
    assert "\n" not in str(caught.value)
    assert type(caught.value) is kind


def test_keys_are_distinct_and_a_file_that_has_grown_keeps_those_of_its_first_lines(read):
    first = read("row,value\n1,5\n1,5\n2,5\n1,6\n")
    grown = read("row,value\n1,5\n1,5\n2,5\n1,6\n1,5\n")
    assert len({one.key for one in grown}) == 5
    assert [one.key for one in grown[:4]] == [one.key for one in first]
    assert [one.key for one in read("row,value\n1,5\n1,5\n2,5\n1,6\n", name="other.csv")] != [
        one.key for one in first
    ]


def test_keys_do_not_depend_on_how_a_line_is_written_or_sorted(read):
    first = read("row,value\n1,0.50\n2,-7\n")
    again = read("value;T (°C);Cs;solvent;row\n-7,0;140;0,75;DMF;2\n0,5;120;0,5;DMSO;1\n")
    assert {one.key for one in first} == {one.key for one in again}


def test_a_failure_and_a_value_have_different_keys(read):
    keys = {one.key for one in read("row,value,failed\n1,,yes\n1,0,no\n1,,yes\n")}
    assert len(keys) == 3
    assert read("row,value,failed\n1,0,\n")[0].key != read("row,value,failed\n1,,yes\n")[0].key


def test_keys_of_the_file_are_kept_and_blank_ones_are_made(read):
    found = read("trial,value,key\n1,2,batch-7\n2,3,\n1,2,batch-7\n")
    assert (found[0].key, found[2].key) == ("batch-7", "batch-7")
    assert found[1].key.startswith("csv:")


@pytest.mark.thorough
@settings(max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=12),
    cut=st.integers(0, 12),
)
def test_every_line_counts_once_however_often_the_growing_file_is_read(read, lines, cut):
    def keys(part):
        return [
            one.key
            for one in read("row,value\n" + "".join(f"{row},{value}\n" for row, value in part))
        ]

    assert len(set(keys(lines))) == len(lines)
    part = lines[: max(1, cut)]
    assert keys(part) == keys(lines)[: len(part)]


# Tables in memory


def test_a_dataframe_and_a_list_tell_without_keys(films):
    frame = pd.DataFrame({"trial": [1, 2], "stability": [0.5, -1]})
    items = [{"trial": 1, "stability": 0.5}, {"trial": np.int64(2), "stability": np.float32(-1)}]
    for source in (frame, items, iter(items)):
        assert read_results(source, films, ["stability"]) == [
            Result(trial=1, values={"stability": 0.5}, line=0),
            Result(trial=2, values={"stability": -1.0}, line=1),
        ]


def test_a_list_may_mix_what_its_mappings_have(films):
    items = [
        {"row": 1, "value": 2},
        {"trial": 4, "failed": True},
        {"Cs": 0.25, "solvent": "DMF", "T": 100, "value": 3, "key": "k"},
    ]
    found = read_results(items, films, ["stability"])
    assert [(one.trial, one.row, only(one.values), one.failed, one.key) for one in found] == [
        (None, 1, 2.0, False, None), (4, None, None, True, None), (None, 0, 3.0, False, "k"),
    ]  # fmt: skip


def test_a_gap_in_a_dataframe_is_not_measured_yet(films):
    frame = pd.DataFrame({"row": [0, 1, None], "value": [0.5, np.nan, None]})
    with pytest.warns(DataNotice, match="the DataFrame: 2 rows have no value yet"):
        assert said(read_results(frame, films, ["y"])) == [(None, 0, 0.5, False, 0)]


@pytest.mark.parametrize("value", [math.nan, math.inf, True, "1,5", 1j, "abc", 1e200, [1]])
def test_a_value_of_a_list_that_is_no_number_is_refused(films, value):
    with pytest.raises(ValueError, match=r"needs a (number|value)") as caught:
        read_results([{"row": 0, "value": 1}, {"row": 0, "value": value}], films, ["y"])
    assert "item 1" in str(caught.value)


@pytest.mark.parametrize("source", [[1, 2], 3, None, [("row", 1)], {"row": 1}])
def test_what_is_no_list_of_mappings_is_refused(films, source):
    with pytest.raises(ValueError, match="results needs"):
        read_results(source, films, ["y"])


def test_a_table_without_rows_tells_nothing(films):
    assert read_results([], films, ["y"]) == read_results(pd.DataFrame(), films, ["y"]) == []


def test_a_column_of_the_candidates_called_row_is_not_a_row_number(tmp_path):
    plate = read_candidates(pd.DataFrame({"row": [1, 2], "col": [1, 1]}), columns=["row", "col"])
    found = read_results([{"row": 2, "col": 1, "value": 5}], plate, ["value"])
    assert found[0].row == 1
    with pytest.raises(ValueError, match="needs a column 'trial', a column 'row' or all of"):
        read_results([{"row": 1, "value": 5}], plate, ["value"])


def test_a_target_of_other_case_is_not_taken_for_a_column_of_the_candidates(films):
    items = [{"T (°C)": 140, "Cs": 0.75, "solvent": "DMF", "value": 3.5}]
    assert said(read_results(items, films, ["t"])) == [(None, 2, 3.5, False, 0)]
    assert said(read_results([{"row": 2, "T": 140, "VALUE": 3.5}], films, ["value"])) == [
        (None, 2, 3.5, False, 0)
    ]


def test_the_table_of_candidates_tells_what_it_holds(tmp_path):
    path = tmp_path / "films.csv"
    path.write_text("film;Cs;stability\nu;0,25;1,5\nv;0,5;\nw;0,25;2\n")
    candidates = read_candidates(path, target="stability")
    with pytest.warns(DataNotice, match="1 row has no value yet"):
        found = read_results(path, candidates, ["stability"])
    assert said(found) == [(None, 0, 1.5, False, 2), (None, 2, 2.0, False, 4)]


# Labels


def test_a_row_is_told_by_its_label_even_where_others_are_described_alike(read):
    assert said(read("film,value\nz,2\nv,3\n")) == [
        (None, 3, 2.0, False, 2),
        (None, 1, 3.0, False, 3),
    ]
    assert said(read("Film,Cs,solvent,T,value\nz,0.5,DMSO,120,2\n")) == [(None, 3, 2.0, False, 2)]


def test_a_trial_goes_before_a_row_a_row_before_a_label_and_a_label_before_a_description(read):
    content = "trial,row,film,Cs,solvent,T,value\n7,,u,,,,1\n,3,z,,,,1\n,3,,,,,1\n,,z,0.5,,,1\n,,,0.5,DMSO,120,1\n"
    assert [(one.trial, one.row) for one in read(content)] == [
        (7, 0),
        (None, 3),
        (None, 3),
        (None, 3),
        (None, 1),
    ]


@pytest.fixture(scope="module")
def numbered():
    table = pd.DataFrame(
        {"Nr.": ["001", "002", "010"], "Probe": ["P1", "P2", "P10"], "a": [1, 1, 2]}
    )
    return read_candidates(table, target="y")


@pytest.mark.parametrize("text", ["010", "10", "10.0", "10,0", "0010", 10, 10.0])
def test_a_number_of_a_row_is_found_as_a_spreadsheet_writes_it(numbered, text):
    assert read_results([{"nr.": text, "y": 5}], numbered, ["y"])[0].row == 2


def test_numbers_that_differ_by_zeros_only_are_found_as_they_stand():
    table = read_candidates(pd.DataFrame({"id": ["1", "01", "3"], "a": [1, 2, 3]}), target="y")
    assert [
        one.row for one in read_results([{"id": "01", "y": 5}, {"id": "1", "y": 5}], table, ["y"])
    ] == [1, 0]
    with pytest.raises(
        StudyConflict,
        match="results needs a label of a candidate in item 0, column 'id', got '001'",
    ):
        read_results([{"id": "001", "y": 5}], table, ["y"])


def test_all_labels_of_a_line_agree(numbered):
    both = [{"Nr.": "2", "Probe": "P2", "y": 5}, {"Probe": "P10", "y": 6}]
    assert [one.row for one in read_results(both, numbered, ["y"])] == [1, 2]
    with pytest.raises(
        StudyConflict, match="needs 'P2' in item 0, column 'Probe', as row 1 has it, got 'P10'"
    ):
        read_results([{"Nr.": "2", "Probe": "P10", "y": 5}], numbered, ["y"])


def test_a_column_without_a_name_in_results_numbers_the_results(tmp_path):
    path = tmp_path / "films.csv"
    pd.DataFrame({"a": [5, 6, 7]}).to_csv(path)
    candidates = read_candidates(path, target="y")
    pd.DataFrame({"a": [7, 5], "y": [1, 2]}).to_csv(path)
    assert [one.row for one in read_results(path, candidates, ["y"])] == [2, 0]


def test_every_result_knows_where_it_stands(read, films):
    content = 'sep=;\n\ntrial;value;film\n1;;\n"2";1;"\n"\n\n\n3;2;\n'
    with pytest.warns(DataNotice, match="1 row has no value yet"):
        found = read(content)
    assert [(one.trial, one.line, one.place) for one in found] == [
        (2, 5, "results.csv, line 5"),
        (3, 9, "results.csv, line 9"),
    ]
    frame = pd.DataFrame({"trial": [1, 2], "value": [None, 5.0]}, index=[8, 9])
    with pytest.warns(DataNotice, match="1 row has no value yet"):
        assert [(one.line, one.place) for one in read_results(frame, films, ["y"])] == [
            (1, "the DataFrame, row 1")
        ]
    assert read_results([{"trial": 1, "value": 5}], films, ["y"])[0].place == "results, item 0"


def test_all_results_that_cannot_be_read_are_named_at_once():
    candidates = read_candidates(pd.DataFrame({"heat": [20, 50, 90]}), target="yield")
    measured = [{"row": 0, "yield": "-"}, {"row": 1, "yield": "<0.5"}, {"row": 2, "yield": "~4"}]
    with pytest.raises(ValueError, match=r"needs a number such as 12\.5") as caught:
        read_results(measured, candidates, ["yield"])
    assert "got '-'; blank is not measured yet" in str(caught.value)
    assert "all 2 cells to correct: in item 0, column 'yield' '-', in item 2" in str(caught.value)


def test_a_result_that_was_not_detected_is_told_like_any_other(tmp_path):
    films = pd.DataFrame({"heat": [20, 50, 90]})
    with pytest.warns(DataNotice, match="its results come later"):
        study = kb.Study.create(tmp_path / "a.db", films, target="yield (%)", limits="0..100")
    with study:
        study.tell_all([{"row": 0, "yield (%)": kb.Censored(float("-inf"), "<")}])
        assert study.to_dataframe()["value"].tolist() == [0.0]
