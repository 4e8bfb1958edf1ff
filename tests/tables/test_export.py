"""Exports: the whole file or the old one, and no cell that a spreadsheet would run."""

from __future__ import annotations

import csv
import errno
import os
import signal
import stat
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelbandits import outputs
from kernelbandits.outputs import DRAFT
from kernelbandits.storage import StorageError, StorageFull, StorageReadOnly
from kernelbandits.study.candidates import read_candidates
from kernelbandits.tables.cells import plain
from kernelbandits.tables.csv_files import read_csv
from kernelbandits.tables.export import write_csv
from kernelbandits.tables.results import read_results

TEXT = st.text(
    st.sampled_from("ab=+-@'\"\t\r\n,;1.\\ éλ")
    | st.characters(codec="utf-8", exclude_characters="\0"),
    max_size=8,
)


def cells(path: Path) -> list[list[str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


@pytest.mark.parametrize(
    "text",
    ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\tx", "\rx", "\nx", "\0x", "-", "=", "'=x"],
)
def test_text_that_looks_like_a_formula_gets_an_apostrophe(tmp_path, text):
    write_csv(tmp_path / "t.csv", ["a", text], [[text, 1]], force=True)
    assert cells(tmp_path / "t.csv") == [["a", "'" + text], ["'" + text, "1"]]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (-3.2, "-3.2"), (np.float64(-3.2), "-3.2"), (-4, "-4"), (np.int64(-4), "-4"), ("-3.2", "-3.2"),
        ("+1e5", "+1e5"), (1e300, "1e+300"), (0.1 + 0.2, "0.30000000000000004"), (True, "True"), (-np.inf, "-inf"),
        (None, ""), (np.nan, ""), (pd.NA, ""), (pd.NaT, ""), ("'", "'"), ("'a", "'a"), ("a=b", "a=b"),
    ],
)  # fmt: skip
def test_numbers_are_written_plainly_and_gaps_are_blank(tmp_path, value, text):
    write_csv(tmp_path / "t.csv", ["a", "b"], [[value, 1]], force=True)
    assert cells(tmp_path / "t.csv")[1] == [text, "1"]


@pytest.mark.thorough
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(TEXT.map(plain), min_size=1, max_size=5))
def test_text_that_was_exported_is_read_back_as_it_was(tmp_path, words):
    write_csv(tmp_path / "t.csv", ["n", "word"], enumerate(words), force=True)
    assert read_csv(tmp_path / "t.csv")["word"].tolist() == words


@pytest.mark.parametrize("word", ["\tx", "'\tx", "''=x", "=\r\n1", "@", "'-1", "a\rb"])
def test_the_apostrophe_is_taken_off_again_exactly_once(tmp_path, word):
    write_csv(tmp_path / "t.csv", ["n", "word"], [[1, word]], force=True)
    assert read_csv(tmp_path / "t.csv")["word"].tolist() == [word]


def test_candidates_and_results_come_back_from_an_export(tmp_path):
    names = ["-x (nm)", "=ligand"]
    rows = [[-1.5, "=A"], [2.0, "-B"], [0.1, "=A"]]
    candidates = read_candidates(pd.DataFrame(rows, columns=names))
    write_csv(tmp_path / "films.csv", names, rows, force=True)
    found = read_candidates(tmp_path / "films.csv")
    assert (found.fingerprint, found.chosen) == (candidates.fingerprint, ("-x (nm)", "=ligand"))
    write_csv(
        tmp_path / "results.csv",
        [*names, "value"],
        [[*row, -i] for i, row in enumerate(rows)],
        force=True,
    )
    results = read_results(tmp_path / "results.csv", candidates, ["y"])
    assert [(one.row, one.values["y"]) for one in results] == [(0, 0.0), (1, -1.0), (2, -2.0)]


def test_every_row_has_a_cell_for_each_column(tmp_path):
    with pytest.raises(ValueError, match="an export needs 2 cells in each row, got"):
        write_csv(tmp_path / "t.csv", ["a", "b"], [[1, 2], [1]], force=True)
    assert list(tmp_path.iterdir()) == []


def test_a_cell_that_no_file_can_hold_leaves_the_old_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("old")
    for value in ("\ud800", [1], b"x"):
        with pytest.raises(ValueError):
            write_csv(path, ["a"], [[value]], force=True)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_replaced_and_keeps_its_mode_and_its_link(tmp_path):
    path, link = tmp_path / "t.csv", tmp_path / "link.csv"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_csv(link, ["a"], [[1]], force=True)
    assert path.read_text() == "a\n1\n"
    assert link.is_symlink()
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert sorted(tmp_path.iterdir()) == [link, path]


@pytest.mark.parametrize("name", ["absent/t.csv", "."])
def test_a_place_that_is_none_is_refused_in_one_sentence(tmp_path, name):
    with pytest.raises(
        ValueError, match=r"an export needs a (folder that exists|path of a file), got"
    ):
        write_csv(tmp_path / name, ["a"], [[1]], force=True)


def test_a_device_is_not_replaced_by_a_file():
    with pytest.raises(ValueError, match="an export needs a path of a file, got '/dev/null'"):
        write_csv("/dev/null", ["a"], [[1]], force=True)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@pytest.mark.parametrize(
    ("code", "kind", "sentence"),
    [
        (errno.ENOSPC, StorageFull, "an export needs space, got none left for"),
        (errno.EDQUOT, StorageFull, "an export needs space, got none left for"),
        (errno.EACCES, StorageReadOnly, "an export needs a place that can be written, got"),
        (errno.EROFS, StorageReadOnly, "an export needs a place that can be written, got"),
        (errno.EIO, StorageError, "an export needs a place that can be written, got .*: "),
    ],
)
@pytest.mark.parametrize("call", ["open", "fsync", "replace"])
def test_a_disk_that_refuses_leaves_the_old_file_and_no_draft(
    tmp_path, monkeypatch, code, kind, sentence, call
):
    def refuse(*args, **kwargs):
        raise OSError(code, os.strerror(code))

    path = tmp_path / "t.csv"
    path.write_text("old")
    monkeypatch.setattr(outputs.os, call, refuse)
    with pytest.raises(kind, match=sentence) as caught:
        write_csv(path, ["a"], [[1]], force=True)
    monkeypatch.undo()
    assert type(caught.value) is kind
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_may_not_be_written_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "t.csv"
    path.write_text("old")
    monkeypatch.setattr(outputs.os, "access", lambda *args: False)
    with pytest.raises(StorageReadOnly, match="an export needs a place that can be written, got"):
        write_csv(path, ["a"], [[1]], force=True)
    assert path.read_text() == "old"


def test_content_is_on_the_disk_before_the_name_and_the_name_before_the_return(
    tmp_path, monkeypatch
):
    done = []
    for call in ("fsync", "link", "replace"):
        real = getattr(os, call)

        def watched(*args, call=call, real=real):
            folder = call == "fsync" and stat.S_ISDIR(os.fstat(args[0]).st_mode)
            done.append("folder" if folder else call)
            return real(*args)

        monkeypatch.setattr(outputs.os, call, watched)
    write_csv(tmp_path / "t.csv", ["a"], [[1]], force=True)
    assert done == ["fsync", "link", "folder"]
    write_csv(tmp_path / "t.csv", ["a"], [[2]], force=True)
    assert done[3:] == ["fsync", "replace", "folder"]


def killed_at(call: str, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process of its own writes the file and is killed when it reaches this call."""
    child = os.fork()
    if child == 0:
        target = f"kernelbandits.outputs.{call}"
        monkeypatch.setattr(target, lambda *args: os.kill(os.getpid(), signal.SIGKILL))
        write_csv(path, ["a"], [["new"]] * 1000, force=True)
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


@pytest.mark.parametrize(
    ("call", "new"),
    [
        ("sweep", False),
        ("write_through", False),
        ("sync_folder", True),
        ("os.fsync", False),
        ("os.replace", False),
    ],
)
def test_a_writer_that_is_killed_leaves_the_old_file_or_the_new_one(
    tmp_path, monkeypatch, call, new
):
    path = tmp_path / "t.csv"
    write_csv(path, ["a"], [["old"]], force=True)
    killed_at(call, path, monkeypatch)
    assert cells(path) == ([["a"], *[["new"]] * 1000] if new else [["a"], ["old"]])
    write_csv(path, ["a"], [["later"]], force=True)
    assert cells(path) == [["a"], ["later"]]


def test_a_writer_that_is_killed_at_any_moment_leaves_a_whole_table(tmp_path):
    path = tmp_path / "t.csv"
    write_csv(path, ["a"], [["0"]] * 1000, force=True)
    for attempt in range(20):
        child = os.fork()
        while child == 0:
            write_csv(path, ["a"], [[str(attempt)]] * 1000, force=True)
        time.sleep(0.005 + 0.0013 * attempt)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        rows = cells(path)
        assert len(rows) == 1001
        assert len({row[0] for row in rows[1:]}) == 1


def test_drafts_of_writers_that_were_stopped_are_swept_away_but_not_those_being_written(tmp_path):
    stale, fresh = tmp_path / DRAFT.format("stale"), tmp_path / DRAFT.format("fresh")
    for draft in (stale, fresh):
        draft.write_text("half")
    os.utime(stale, (time.time() - 7200,) * 2)
    write_csv(tmp_path / "t.csv", ["a"], [[1]], force=True)
    assert sorted(tmp_path.iterdir()) == [fresh, tmp_path / "t.csv"]
