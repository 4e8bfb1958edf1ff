"""Files of other versions are refused with one sentence, and are not touched."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import kernelbandits as kb
from commands import study
from kernelbandits.storage import Damaged, Draft, Log, OtherVersion
from kernelbandits.storage.statements import VERSION
from wire import execute, tell


@pytest.fixture
def log(where: str) -> Log:
    return Log.create(where, Draft(kind="created", body={"seed": 7}), {"Cs": [0.1, 0.2]})


def set_version(log: Log, version: int) -> None:
    """Let the tables say that they have this version."""
    check = replace(log.header, version=version).row[-1]
    execute(log, f"UPDATE {{}}study SET version = {version}, \"check\" = '{check}'")
    log.close()


def read_bytes(where: str) -> bytes:
    return Path(where).read_bytes() if where.endswith(".db") else b""


@pytest.mark.parametrize(("more", "age"), [(1, "a newer"), (5, "a newer"), (-1, "an older")])
def test_another_version_is_refused_with_both_numbers_and_not_touched(where, log, more, age):
    set_version(log, VERSION + more)
    before = read_bytes(where)
    for writable in (True, False):
        with pytest.raises(OtherVersion) as refused:
            Log.open(where, writable=writable)
        assert str(refused.value) == (
            f"{log.place} was written by {age} release: its tables have version {VERSION + more}, "
            f"and this release reads version {VERSION}; open it with {age} release of kernelbandits"
        )
    assert read_bytes(where) == before


def test_a_study_whose_version_changed_since_it_was_opened_is_not_read_nor_written(where, log):
    set_version(Log.open(where), VERSION + 1)
    with pytest.raises(OtherVersion, match="was written by a newer release"):
        tell(log)
    with pytest.raises(OtherVersion, match="was written by a newer release"):
        log.events()


def test_a_header_that_was_changed_is_damaged(where, log):
    execute(log, "UPDATE {}study SET rows = 3")
    log.close()
    with pytest.raises(Damaged):
        Log.open(where)


def test_a_command_says_the_sentence_and_ends_with_the_code_of_storage(tmp_path):
    place = str(tmp_path / "a.db")
    kb.Study.create(place, [[0.0], [1.0]]).close()
    set_version(Log.open(place), VERSION - 1)
    done = study("ask", place)
    assert (done.code, done.out) == (74, "")
    assert "was written by an older release: its tables have version" in done.err
