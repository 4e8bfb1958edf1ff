"""Large files as candidates: numpy, Parquet and CSV at every door, and a sentence for bad ones."""

from __future__ import annotations

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from conftest import pairwise, run_command
from kernelbandits import runtime
from kernelbandits.apps.cli import output
from kernelbandits.experiment import plan_experiment, run_cells
from kernelbandits.tables import encodings

POINTS = np.random.default_rng(3).random((40, 3)).round(4)
TARGET = (POINTS @ [1.0, -2.0, 0.5]).round(4)
TABLE = pd.DataFrame(np.column_stack([POINTS, TARGET]), columns=["x1", "x2", "x3", "x4"])


def write_table(path: Path, table: pd.DataFrame = TABLE) -> Path:
    if path.suffix == ".npy":
        np.save(path, table.to_numpy())
    elif path.suffix == ".parquet":
        table.to_parquet(path, index=False)
    else:
        table.to_csv(path, index=False)
    return path


def arms_of(path):
    return kb.Arms.from_file(path, columns=["x1", "x2", "x3"])


def problem_of(path):
    return kb.problem("csv", path=str(path), unit_columns=False)


def study_of(path):
    return kb.Study.create(path.with_suffix(".db"), str(path), target="x4")


DOORS = {"arms": arms_of, "problem": problem_of, "study": study_of}


@pytest.mark.parametrize("end", [".npy", ".parquet", ".csv"])
def test_a_pool_is_the_same_from_every_kind_of_file(tmp_path, end):
    path = write_table(tmp_path / f"pool{end}")
    np.testing.assert_array_equal(arms_of(path).points, POINTS)
    instance = problem_of(path).instance(kb.Streams(0))
    np.testing.assert_array_equal(instance.domain.points, POINTS)
    assert instance.values.argmax() == TARGET.argmax()
    with study_of(path) as study:
        columns = [study.candidates.numbers(name) for name in ("x1", "x2", "x3")]
    np.testing.assert_array_equal(np.column_stack(columns), POINTS)


def test_a_problem_from_a_numpy_file_plays_like_the_same_array(tmp_path):
    path = write_table(tmp_path / "pool.npy")
    settings = {"horizon": 10, "seeds": 2, "noise_scale": 0.1}
    results = kb.run_experiment(f"csv:path={path},unit_columns=false", "simple-ucb", **settings)
    twin = kb.run_experiment(
        problem_of(write_table(tmp_path / "pool.csv")), "simple-ucb", **settings
    )
    np.testing.assert_array_equal(
        results["pool", "Simple-UCB"].arms, twin["pool", "Simple-UCB"].arms
    )


def array_file(array, **options) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array, **options)
    return buffer.getvalue()


def parquet_file(table: pd.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.to_parquet(buffer, index=False)
    return buffer.getvalue()


def change(row: int, column: str, value: object) -> pd.DataFrame:
    table = TABLE.astype(object) if isinstance(value, str) else TABLE.copy()
    table.loc[row, column] = value
    return table.astype(str) if isinstance(value, str) else table


BAD_FILES = {
    "nan in an array": (array_file(change(7, "x2", np.nan).to_numpy()), "nan in row 7, column 1"),
    "infinity in an array": (array_file(change(7, "x2", np.inf).to_numpy()), "inf in row 7"),
    "text in an array": (
        array_file(np.array([["a", "b"]])),
        "an (n, d) array of numbers, got text",
    ),
    "objects": (array_file(np.array([[{}]]), allow_pickle=True), "Python objects"),
    "one dimension": (array_file(np.arange(5.0)), "an (n, d) array, got shape (5,)"),
    "an empty array": (array_file(np.empty((0, 4))), "n >= 1"),
    "a cut array": (array_file(TABLE.to_numpy())[:-9], "an array of numbers, got one that is dam"),
    "a missing value in Parquet": (
        parquet_file(change(7, "x2", np.nan)),
        "a value in row 7, column 'x2', got a missing one",
    ),
    "a word in Parquet": (
        parquet_file(change(7, "x2", "1,5?")),
        "in row 7, column 'x2', got '1,5?'",
    ),
    "cut Parquet": (parquet_file(TABLE)[:-9], "a Parquet file that can be read"),
    "a missing value in CSV": (
        change(7, "x2", np.nan).to_csv(index=False).encode(),
        "a value in line 9, column 'x2', got a missing one",
    ),
    "a word in CSV": (
        change(7, "x2", "1,5?").to_csv(index=False, sep=";").encode(),
        "in line 9, column 'x2', got '1,5?'",
    ),
    "a ragged row": (
        b"x1,x2,x3,x4\n1,2,3,4\n1,2,3\n",
        "4 cells in line 3, as in its header, got 3",
    ),
    "only a header": (b"x1,x2,x3,x4\n", "a header and at least one row, got 1 line of cells"),
    "nothing": (b"", "a header and at least one row"),
}


@pairwise(kind=BAD_FILES, door=DOORS)
def test_a_bad_file_is_refused_with_row_and_column_at_every_door(tmp_path, door, kind):
    content, sentence = BAD_FILES[kind]
    path = tmp_path / "pool.table"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=re.escape(sentence)) as error:
        DOORS[door](path)
    assert "pool.table needs" in str(error.value)
    assert not (tmp_path / "pool.db").exists()


@pytest.mark.parametrize("door", DOORS)
def test_a_path_that_is_no_file_is_named(tmp_path, door):
    with pytest.raises(ValueError, match=r"No such file: .*missing\.npy"):
        DOORS[door](tmp_path / "missing.npy")
    (tmp_path / "folder.npy").mkdir()
    with pytest.raises(ValueError, match="which is a folder"):
        DOORS[door](tmp_path / "folder.npy")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("end", [".npy", ".parquet", ".csv"])
def test_a_file_that_is_too_large_is_refused_before_it_is_read(tmp_path, monkeypatch, door, end):
    path = write_table(tmp_path / f"pool{end}")
    monkeypatch.setattr(encodings, "MOST_BYTES", 100)
    with pytest.raises(ValueError, match=rf"a table needs at most 100 bytes, got .*pool\{end}"):
        DOORS[door](path)


@pytest.mark.parametrize("door", DOORS)
def test_text_that_does_not_fit_into_memory_is_refused_before_it_is_split(
    tmp_path, monkeypatch, door
):
    path = write_table(tmp_path / "pool.csv")
    monkeypatch.setattr(runtime, "available_memory", lambda: 1000)
    with pytest.raises(ValueError, match=r"pool.csv needs .* GB of memory, got 1e-06 GB"):
        DOORS[door](path)


def test_an_experiment_that_does_not_fit_into_memory_is_refused_before_a_round(monkeypatch):
    plan = plan_experiment("branin", ["random", "greedy"], horizon=1000, seeds=10)
    monkeypatch.setattr(runtime, "available_memory", lambda: 20 * 20_000 - 1)

    def no_work(work, blocks):
        raise AssertionError("nothing is played")

    message = "an experiment of 2e[+]04 rounds needs 0.0004 GB of memory.*; fewer rounds, seeds or"
    with pytest.raises(ValueError, match=message):
        run_cells(plan, mapper=no_work)
    # Only the last round of each seed is kept.
    with pytest.raises(AssertionError, match="nothing is played"):
        run_cells(plan, mapper=no_work, endings=True)


def test_the_free_memory_is_known_on_linux_and_unknown_without_its_files(monkeypatch):
    free = runtime.available_memory()
    assert free is None or 2**20 < free < 2**50
    monkeypatch.setattr(runtime, "Path", lambda name: Path("/nowhere") / name[1:])
    assert runtime.available_memory() is None


def test_commands_say_what_they_compute_where_a_table_is_large(tmp_path, monkeypatch):
    path = study_of(write_table(tmp_path / "pool.npy")).place
    for words in (["ask"], ["status"], ["estimates"], ["explain"]):
        monkeypatch.setattr(output, "MANY_ROWS", 40)
        done = run_command("study", *words, path)
        assert "note: computing the model of 40 rows" in done.stderr, words
        monkeypatch.setattr(output, "MANY_ROWS", 41)
        assert "computing" not in run_command("study", *words, path).stderr
