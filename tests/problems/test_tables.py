from __future__ import annotations

import codecs
import math
import unicodedata
import warnings

import numpy as np
import pytest

from kernelbandits.checks import DataNotice
from kernelbandits.problems import GaussianNoise, RademacherNoise, read_table
from kernelbandits.problems.noise import EmpiricalNoise
from kernelbandits.streams import Streams

PLAIN = "a,b,y\n0,1,10\n1,0,30\n0,1,20\n2,0.5,20\n"


@pytest.fixture
def table(tmp_path):
    def write(content: str | bytes):
        path = tmp_path / "films.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_distinct_rows_are_the_arms_and_repeats_are_averaged(table):
    problem = read_table(table(PLAIN), scale=False, unit_columns=False)
    instance = problem.instance(Streams(0))
    np.testing.assert_array_equal(instance.domain.points, [[0, 1], [1, 0], [2, 0.5]])
    np.testing.assert_array_equal(instance.values, [15, 30, 20])
    assert (problem.name, problem.title, problem.dimension) == ("films", "films (d = 2)", 2)
    assert (problem.columns, problem.target, problem.noise) == (
        ("a", "b"),
        "y",
        GaussianNoise(0.01),
    )


def test_the_instance_does_not_depend_on_the_seed(table):
    problem = read_table(table(PLAIN))
    assert problem.instance(Streams(0)) is problem.instance(Streams(1))


def test_rewards_are_scaled_over_the_arms_in_the_direction_asked_for(table):
    greatest = read_table(table(PLAIN)).table
    least = read_table(table(PLAIN), direction="minimize").table
    np.testing.assert_allclose(greatest.values, [0, 1, 1 / 3], atol=1e-15)
    np.testing.assert_allclose(least.values, [1, 0, 2 / 3], atol=1e-15)
    assert (greatest.best, least.best) == (1, 0)
    np.testing.assert_array_equal(
        read_table(table(PLAIN), direction="minimize", scale=False).table.values, [-15, -30, -20]
    )


def test_replicates_are_kept_and_scaled_with_the_constants_of_the_means(table):
    problem = read_table(table(PLAIN), repeats="replicates")
    np.testing.assert_allclose(problem.table.replicates[0], [-1 / 3, 1 / 3], atol=1e-15)
    assert problem.table.replicates[1] == (1.0,)
    assert math.isclose(problem.table.pull(0, 0.9), 1 / 3)
    np.testing.assert_allclose(problem.table.values, [0, 1, 1 / 3], atol=1e-15)


def test_the_noise_of_replicates_covers_the_residuals_of_every_arm(table):
    noise = read_table(table(PLAIN), repeats="replicates", scale=False).noise
    assert noise == EmpiricalNoise((-5.0, 0.0, 0.0, 5.0))
    assert noise.sub_gaussian == 5.0


@pytest.mark.parametrize("scale", [True, False])
def test_identical_replicates_and_a_huge_offset_are_no_obstacle(table, scale):
    rows = "".join(
        f"{x},{1e12 + y}\n" for x, y in [(0, 0.1), (0, 0.1), (0, 0.1), (1, 0.7), (1, 0.9), (2, 0.3)]
    )
    instance = read_table(table("x,y\n" + rows), repeats="replicates", scale=scale).table
    assert instance.best == 1
    assert instance.noise.sub_gaussian < 1


def test_replicates_take_no_other_noise(table):
    with pytest.raises(
        ValueError, match="repeats=replicates needs no noise besides the replicates, got"
    ):
        read_table(table(PLAIN), repeats="replicates", noise=GaussianNoise(0.1))


def test_noise_is_the_one_given(table):
    problem = read_table(table(PLAIN), noise=RademacherNoise(0.5))
    assert problem.table.pull(1, 0.1) == 0.5


def test_columns_and_target_are_those_asked_for_in_that_order(table):
    chosen = {"columns": ["y", "a"], "target": "b"}
    problem = read_table(table(PLAIN), scale=False, unit_columns=False, **chosen)
    np.testing.assert_array_equal(problem.table.domain.points[1], [30, 1])
    np.testing.assert_array_equal(problem.table.values, [1, 0, 1, 0.5])


def test_text_columns_are_left_out_with_a_notice(table):
    with pytest.warns(DataNotice, match="column 'film' holds no number"):
        problem = read_table(table("film,a,y\nu,0,1\nv,1,2\n"))
    assert problem.columns == ("a",)


def test_constant_columns_are_dropped_with_a_notice(table):
    with pytest.warns(DataNotice, match="column 'b' is constant"):
        problem = read_table(table("a,b,y\n0,7,1\n1,7,2\n"))
    assert problem.columns == ("a",)
    assert problem.table.domain.points.shape == (2, 1)


def test_one_arm_keeps_its_columns_and_has_value_zero(table):
    problem = read_table(table("a,b,y\n0,7,1\n0,7,2\n"))
    assert problem.columns == ("a", "b")
    assert problem.table.values.tolist() == [0.0]


def test_constant_targets_give_zeros(table):
    assert read_table(table("a,y\n0,7\n1,7\n")).table.values.tolist() == [0.0, 0.0]


def test_minus_zero_and_zero_are_one_arm(table):
    assert len(read_table(table("a,y\n0,1\n-0.0,2\n1,3\n")).table.domain) == 2


@pytest.mark.parametrize(
    "content",
    [
        codecs.BOM_UTF8 + PLAIN.encode(),
        PLAIN.encode("utf-16"),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r").encode(),
        PLAIN.replace(",", ";").encode(),
        PLAIN.replace(",", "\t").encode(),
        PLAIN.replace(",", ";").replace("0.5", "0,5").encode(),
        PLAIN.replace(",", "\t").replace("0.5", "0,5").encode(),
        PLAIN.replace(",", " , ").encode(),
        PLAIN.replace("a,b,y", '"a","b","y"').encode(),
        PLAIN.replace("a,b,y", '"a","b","y"').replace(",", ";").encode(),
        PLAIN.replace("\n", ",\n").encode(),
        b"\n\n" + PLAIN.replace("\n", "\n\n  \n").encode(),
        PLAIN.rstrip().encode(),
        PLAIN.replace("10", "1e1").replace("30", "+30.").replace("0.5", ".5").encode(),
    ],
)
def test_every_dialect_of_the_same_table_gives_the_same_problem(table, content):
    problem = read_table(table(content), scale=False, unit_columns=False)
    assert (problem.columns, problem.target) == (("a", "b"), "y")
    np.testing.assert_array_equal(problem.table.domain.points, [[0, 1], [1, 0], [2, 0.5]])
    np.testing.assert_array_equal(problem.table.values, [15, 30, 20])


def test_latin_1_is_read_where_utf_8_fails(table):
    assert read_table(table("größe,y\n0,1\n1,2\n".encode("latin-1"))).columns == ("größe",)


def test_names_are_compared_in_composed_form(table):
    decomposed = unicodedata.normalize("NFD", "größe")
    assert read_table(table(f"{decomposed} ,y\n0,1\n1,2\n"), columns=[decomposed]).columns == (
        "größe",
    )
    with pytest.raises(ValueError, match=r"names in line 1 \(B1\), got 'größe' 2 times"):
        read_table(table(f"größe,{decomposed},y\n0,1,2\n"))


@pytest.mark.parametrize(
    "cell", ["1_000", "0x10", "inf", "-inf", "١٢", "1e999", "1e151", "abc", "1,5", "True", "1 000"]
)
@pytest.mark.parametrize("column", ["a", "y"])
def test_what_is_no_number_is_refused_by_line_and_column(table, cell, column):
    quoted = f'"{cell}"'
    row = f"{quoted},1" if column == "a" else f"1,{quoted}"
    with pytest.raises(
        ValueError, match=f"films.csv needs a number .* in line 4, column '{column}', got '{cell}'"
    ):
        read_table(table(f"a,y\n0,1\n\n{row}\n"))


@pytest.mark.parametrize("cell", ["", " ", "NaN", "NA", "null"])
def test_a_missing_value_is_refused_by_line_and_column(table, cell):
    with pytest.raises(
        ValueError, match=r"films\.csv needs a value in line 3, column 'b', got a missing one"
    ):
        read_table(table(f"a,b,y\n0,1,2\n1,{cell},3\n"))


def test_lines_are_counted_through_quoted_line_breaks(table):
    with pytest.raises(ValueError, match="in line 5, column 'b', got 'x'"):
        read_table(table('a,b,note,y\n0,1,"two\nlines",1\n1,0,z,2\n1,x,z,2\n'), columns=["a", "b"])


def test_points_are_refused_where_commas_mark_decimals(table):
    with pytest.raises(
        ValueError, match=r"such as 12,5 in line 3, column 'y', got '1\.234'; write 1234 or 1,234"
    ):
        read_table(table("a;y\n0,5;1\n1;1.234\n"))


def test_a_first_column_without_a_name_numbers_the_rows_as_in_a_study(table):
    with pytest.warns(DataNotice, match="column 'Unnamed: 0' only names the rows and is left out"):
        problem = read_table(table(",a,y\n0,1,2\n1,2,3\n"))
    assert problem.columns == ("a",)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ("", "needs a header and at least one row, got 0"),
        ("a,b,y\n", "needs a header and at least one row, got 1"),
        ("a,b,y\n1,2\n", "needs 3 cells in line 2, as in its header, got 2"),
        ("a,b,y\n1,2,3\n1,2,3,\n", "needs 3 cells in line 3, as in its header, got 4"),
        ("a,a,y\n1,2,3\n", "needs distinct column names in line 1 .B1., got 'a' 2 times"),
        ("a,,y\n1,2,3\n", "needs a name for every column in line 1, .* above cell B2"),
        ("a,y\n1,\x003\n", "needs text, got a NUL character in line 2"),
        ('a,y\n1,"3\n', "needs well-formed cells, got .* in line 2"),
        ("y\n1\n", "needs a numeric column besides the target 'y', got"),
    ],
)
def test_a_broken_file_is_refused_in_one_sentence(table, content, complaint):
    with pytest.raises(ValueError, match=complaint) as caught:
        read_table(table(content))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ({"target": "z"}, r"target among a, b, y, got 'z'"),
        ({"columns": ["a", "z"]}, r"columns among a, b, y, got 'z'"),
        ({"columns": ["a", "y"]}, "a target that is not among the columns, got 'y'"),
        ({"columns": ["a", "a"]}, "distinct columns, got"),
        ({"columns": []}, "at least one column that describes a candidate"),
        ({"columns": "ab"}, "a sequence of column names, got 'ab'"),
        ({"direction": "up"}, "direction maximize or minimize, got 'up'"),
        ({"unit_columns": "no"}, "unit_columns true or false, got 'no'"),
        ({"repeats": "first"}, "repeats in .*, got 'first'"),
    ],
)
def test_a_bad_argument_is_refused_by_name(table, arguments, complaint):
    """The message begins with the file, or with "a table": no user knows a read_table."""
    path = table(PLAIN)
    with pytest.raises(ValueError, match=f"^(a table|{path.name}) needs {complaint}"):
        read_table(path, **arguments)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(ValueError, match=r"No such file: .*absent\.csv"):
        read_table(tmp_path / "absent.csv")
    with pytest.raises(ValueError, match=r"a table needs a file, got .*, which is a folder"):
        read_table(tmp_path)


@pytest.mark.parametrize(
    ("word", "meant"),
    [("min", "minimize"), ("minimise", "minimize"), ("Max", "maximize"), ("maximise", "maximize")],
)
def test_a_direction_may_be_written_in_several_ways(table, word, meant):
    given = read_table(table(PLAIN), direction=word).table
    np.testing.assert_array_equal(
        given.values, read_table(table(PLAIN), direction=meant).table.values
    )


def test_columns_are_scaled_to_the_unit_cube_and_a_notice_says_so(table):
    with pytest.warns(
        DataNotice, match=r"each column is scaled to \[0, 1\] \(a from 0 to 2, b from"
    ):
        problem = read_table(table(PLAIN))
    np.testing.assert_array_equal(problem.table.domain.points, [[0, 1], [0.5, 0], [1, 0.5]])
    assert problem.ranges == ((0.0, 2.0), (0.0, 1.0))
    assert "a, b scaled to [0, 1] (a from 0 to 2, b from 0 to 1)" in problem.description


def test_columns_that_span_the_unit_cube_already_are_left_alone_without_a_word(table):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem = read_table(table("a,b,y\n0,1,10\n1,0,30\n0.3,0.7,20\n"))
        raw = read_table(table(PLAIN), unit_columns=False)
    np.testing.assert_array_equal(problem.table.domain.points, [[0, 1], [1, 0], [0.3, 0.7]])
    assert problem.ranges == raw.ranges == ()
    assert "scaled" not in problem.description


def test_of_many_columns_the_notice_names_the_first_ones(table):
    names = [f"c{i}" for i in range(12)]
    rows = "\n".join(",".join(str(r * k) for k in range(1, 14)) for r in range(3))
    with pytest.warns(DataNotice, match="c7 from 0 to 16, and 4 more"):
        read_table(table(f"{','.join(names)},y\n{rows}\n"))
