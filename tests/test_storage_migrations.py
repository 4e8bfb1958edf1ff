"""Studies of other versions: older ones are brought up after a backup, newer ones refused, frozen ones readable."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from kernelbandits.storage import Damaged, Draft, Log, OtherVersion, StorageError, salvage
from kernelbandits.storage.checksums import add_check
from kernelbandits.storage.log import backend_for
from kernelbandits.storage.places import find
from kernelbandits.storage.session import Session
from kernelbandits.storage.statements import VERSION, fetch
from old_tables import write_old_study
from wire import BEFORE, execute, listen, tell

FROZEN = Path(__file__).parent / "frozen"
COLUMNS, CELLS = ("Cs", "a;b"), [("0.1", "ä\n"), ("0.2", '"'), ("1", "")]
TABLE = {"Cs": ["0.1", "0.2", "1"], "a;b": ["ä\n", '"', ""]}


@pytest.fixture
def old(where: str) -> str:
    """A study with tables of version 1; its place has the name `where`."""
    return write_old_study(where, COLUMNS, CELLS)


def versions(where: str) -> tuple[int, set[str]]:
    """The version of the tables, and the columns of the candidates."""
    session = Session(backend_for(find(where), "read"))

    def look(connection: Any) -> tuple[int, set[str]]:
        cursor = connection.cursor()
        cursor.execute(session.backend.statements.candidates)
        return session.backend.version(connection), {one[0] for one in cursor.description}

    try:
        return session.read(look)
    finally:
        session.close()


def backups_of(where: str) -> list[str]:
    """The backups, each with its tables."""
    if where.endswith(".db"):
        copies = sorted(Path(where).parent.glob("films.db.v*-backup"))
        return [f"{copy.name}: {', '.join(tables_of(copy))}" for copy in copies]
    place = find(where)
    session = Session(backend_for(place, "read"))
    text = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s ORDER BY 1"
    schema = f"{place.study[:46]}_v1_backup"
    names = [name for (name,) in session.read(lambda connection: fetch(connection, text, schema))]
    session.close()
    return [f"{schema}: {', '.join(names)}"] if names else []


def tables_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        text = "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1"
        return [name for (name,) in connection.execute(text)]


def test_an_older_study_is_brought_up_and_keeps_its_first_link_and_a_backup(where, old):
    log = Log.open(where)
    assert log.columns() == TABLE
    assert log.fingerprint == old
    assert [event.value for event in log.events()[1:]] == [trial / 3 for trial in range(5)]
    assert log._header.checksum not in ("", old)
    assert [
        name.endswith("backup: candidates, events, head, spare, study")
        for name in backups_of(where)
    ] == [True]
    assert tell(log, 9).seq == 7
    assert all(finding.ok for finding in log.health())
    log.close()
    assert versions(where) == (VERSION, {"id", "segment", "column", "cells", "check"})
    assert len(Log.open(where).events()) == 7
    assert len(backups_of(where)) == 1


def test_a_changed_column_of_a_migrated_study_is_seen(where, old):
    log = Log.open(where)
    execute(log, 'UPDATE {}candidates SET cells = \'["0.1","0.2","2"]\' WHERE id = 1')
    with pytest.raises(Damaged, match="the table of candidates is not the one that was written"):
        log.columns()


def test_who_only_reads_an_older_study_reads_it_as_it_is(where, old):
    with Log.open(where, writable=False) as log:
        assert log.columns() == TABLE
        assert len(log.events()) == 6
        assert all(finding.ok for finding in log.health())
    assert backups_of(where) == []
    assert versions(where)[0] == 1


def test_an_older_study_is_backed_up_and_salvaged_in_the_new_form(where, old, tmp_path):
    with Log.open(where, writable=False) as log:
        log.backup(tmp_path / "copy.db")
        events = log.events()
    salvage(where, tmp_path / "saved.db")
    for name, more in (("copy", 0), ("saved", 1)):
        with Log.open(tmp_path / f"{name}.db") as copy:
            assert copy.columns() == TABLE
            kept = [(event.kind, event.value) for event in copy.events()]
            assert kept[: len(kept) - more] == [(event.kind, event.value) for event in events]
            assert copy._header.version == VERSION
    Log.open(where).close()
    assert salvage(where, tmp_path / "migrated.db").lost == ()
    assert Log.open(tmp_path / "migrated.db").columns() == TABLE


def killed_at(call: int, work: Callable[[], Any]) -> bool:
    """Whether the work, in a process that is killed before its n-th database call, was killed."""
    child = os.fork()
    if child == 0:
        left = iter(range(call))

        def count(*given: Any) -> None:
            if next(left, None) is None:
                os.kill(os.getpid(), signal.SIGKILL)

        listen(BEFORE, count)
        try:
            work()
        finally:
            os._exit(0)
    return os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGKILL


def test_a_migration_that_is_killed_anywhere_leaves_the_old_tables_or_the_new_ones(where, old):
    seen = set()
    for call in range(60):
        if not killed_at(call, lambda: Log.open(where).close()):
            break
        version, columns = versions(where)
        seen.add(version)
        assert ("segment" in columns) is (version == VERSION)
    assert 10 < call < 59
    assert seen == {1, VERSION}
    assert len(Log.open(where).events()) == 6
    assert len(backups_of(where)) == 1


def set_version(log: Log, version: int) -> None:
    """The tables say that they are of this version."""
    row = log._session.read(lambda connection: fetch(connection, log._backend.statements.study))[0]
    check = add_check((row[0], version, *row[2:-1]))[-1]
    execute(log, f"UPDATE {{}}study SET version = {version}, \"check\" = '{check}'")
    for transaction in log._session.transactions():
        with transaction:
            log._backend.write_mark(transaction.connection, version)
    log.close()


@pytest.fixture
def log(where: str) -> Log:
    return Log.create(where, Draft(kind="created", body={"seed": 7}), {"Cs": [0.1, 0.2]})


def test_a_newer_study_is_refused_with_both_versions_and_not_touched(where, log):
    set_version(log, 7)
    before = Path(where).read_bytes() if where.endswith(".db") else b""
    for writable in (True, False):
        with pytest.raises(OtherVersion, match="has tables of version 7, and this release knows 1"):
            Log.open(where, writable=writable)
    assert before == (Path(where).read_bytes() if where.endswith(".db") else b"")


def test_a_study_that_a_newer_release_brought_up_meanwhile_is_not_written(where, log):
    set_version(Log.open(where), 3)
    with pytest.raises(OtherVersion, match="was written by a newer release"):
        tell(log)
    with pytest.raises(OtherVersion, match="version 3"):
        log.events()


def test_a_version_that_nobody_knows_is_refused(where, log):
    set_version(log, 0)
    with pytest.raises(OtherVersion, match="version 0, and this release knows 1"):
        Log.open(where)


def test_a_file_that_disagrees_with_itself_about_its_version_is_damaged(where, log):
    log.close()
    if where.endswith(".db"):
        with closing(sqlite3.connect(where)) as connection:
            connection.execute("PRAGMA user_version = 1")
    else:
        execute(log, "UPDATE {}study SET rows = 3")
    with pytest.raises(Damaged):
        Log.open(where)


def test_a_damaged_older_study_is_not_brought_up(where, old):
    log = Log.open(where, writable=False)
    log._backend.mode = "write"
    log.close()
    execute(log, 'UPDATE {}candidates SET cells = \'["0","0"]\' WHERE "row" = 1')
    log.close()
    with pytest.raises(Damaged, match="the table of candidates is not the one that was written"):
        Log.open(where)
    execute(log, "UPDATE {}study SET release = 'x'")
    log.close()
    with pytest.raises(Damaged, match="its header is not the one that was written"):
        Log.open(where)
    assert versions(where)[0] == 1


def test_a_backup_in_postgresql_is_never_overwritten(postgres):
    where = f"{postgres}&study=kept"
    write_old_study(where, COLUMNS, CELLS)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA kept_v1_backup")
    with pytest.raises(StorageError, match="the schema kept_v1_backup exists already"):
        Log.open(where)
    assert versions(where)[0] == 1


def test_a_file_of_version_1_opens_with_the_same_events_for_ever(tmp_path):
    path = tmp_path / "study-v1.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((FROZEN / "study-v1.sql").read_text(encoding="utf-8"))
    known = json.loads((FROZEN / "study-v1.json").read_text(encoding="utf-8"))
    log = Log.open(path)
    names = ("seq", "kind", "trial", "row", "value", "key", "worker", "at", "body", "check")
    assert [{name: getattr(event, name) for name in names} for event in log.events()] == known[
        "events"
    ]
    rows = zip(*log.columns().values(), strict=True)
    assert [list(cells) for cells in rows] == known["cells"]
    assert (list(log.names), log.fingerprint) == (known["columns"], known["fingerprint"])
    assert all(finding.ok for finding in log.health())
