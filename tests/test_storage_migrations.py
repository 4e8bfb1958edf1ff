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
import sqlalchemy as sa

from kernelbandits.storage import Damaged, Draft, Log, OtherVersion, StorageError, migrations
from kernelbandits.storage.checksums import add_check
from kernelbandits.storage.engines import engine_for
from kernelbandits.storage.places import find
from kernelbandits.storage.session import Session
from kernelbandits.storage.tables import VERSION
from wire import BEFORE, listen

FROZEN = Path(__file__).parent / "frozen"
CREATED = Draft(kind="created", body={"seed": 7})
COLUMNS, CELLS = ("Cs", "FA"), [("0.1", "0.9"), ("0.2", "0.8")]

STEPS = {
    0: (
        "ALTER TABLE happenings RENAME TO events",
        'ALTER TABLE head RENAME COLUMN digest TO "check"',
        "UPDATE events SET worker = NULL WHERE worker = 'nobody'",
    )
}
"""From version 0, which never was, to version 1."""


@pytest.fixture
def log(where: str) -> Log:
    log = Log.create(where, CREATED, COLUMNS, CELLS)
    for trial in range(5):
        log.write(
            lambda turn, trial=trial: turn.append(
                Draft(kind="told", trial=trial, row=1, value=trial / 3)
            )
        )
    return log


def run(log: Log, *statements: str) -> None:
    """Statements that name no schema."""

    def work(connection: sa.Connection) -> None:
        if log._engine.tables.schema:
            connection.exec_driver_sql(f"SET LOCAL search_path TO {log._engine.tables.schema}")
        for statement in statements:
            connection.exec_driver_sql(statement)

    log._session.write(work)
    log.close()


def set_version(log: Log, version: int) -> None:
    """The tables say that they are of this version."""
    study = log._engine.tables.study

    def work(connection: sa.Connection) -> None:
        row = tuple(connection.execute(sa.select(study)).one())
        new = add_check((row[0], version, *row[2:-1]))
        connection.execute(sa.update(study).values(version=version, check=new[-1]))
        log._engine.write_mark(connection, version)

    log._session.write(work)
    log.close()


def make_old(log: Log) -> None:
    run(
        log,
        "ALTER TABLE events RENAME TO happenings",
        'ALTER TABLE head RENAME COLUMN "check" TO digest',
    )
    run(log, "UPDATE happenings SET worker = 'nobody'")
    set_version(log, 0)


def upgrade_tables(where: str) -> None:
    session = Session(engine_for(find(where), "write"))
    migrations.upgrade_tables(session, STEPS)
    session.close()


def backups_of(where: str, log: Log) -> list[str]:
    """The tables of each backup."""
    if where.endswith(".db"):
        copies = sorted(Path(where).parent.glob("films.db.v*-backup"))
        return [f"{copy.name}: {', '.join(tables_of(copy))}" for copy in copies]
    schema = f"{log._engine.tables.schema[:46]}_v0_backup"
    names = log._session.read(
        lambda connection: sa.inspect(connection).get_table_names(schema=schema)
    )
    return [f"{schema}: {', '.join(sorted(names))}"] if names else []


def tables_of(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as connection:
        return [
            name
            for (name,) in connection.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' ORDER BY 1"
            )
        ]


def test_an_older_study_is_brought_up_and_keeps_a_backup(where, log):
    events, cells = log.events(), log.cells()
    make_old(log)
    upgrade_tables(where)
    again = Log.open(where)
    assert again.events() == events
    assert again.cells() == cells
    assert [
        name.endswith("backup: candidates, happenings, head, spare, study")
        for name in backups_of(where, log)
    ] == [True]
    assert again.write(lambda turn: turn.append(Draft(kind="told", trial=9))).seq == 7
    assert again.health()[0].ok


def test_what_is_of_this_version_is_left_alone(where, log):
    log.close()
    upgrade_tables(where)
    assert backups_of(where, log) == []
    assert len(log.events()) == 6


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


def test_a_migration_that_is_killed_anywhere_leaves_the_old_tables_or_the_new_ones(where, log):
    events = log.events()
    make_old(log)
    for call in range(60):
        if not killed_at(call, lambda: upgrade_tables(where)):
            break
        assert log._session.read(log._engine.version) in (0, VERSION)
        old = log._session.read(
            lambda connection: sa.inspect(connection).has_table("events", log._engine.tables.schema)
        )
        assert old is (log._session.read(log._engine.version) == VERSION)
        log.close()
    assert 10 < call < 59
    assert Log.open(where).events() == events
    assert len(backups_of(where, log)) == 1


def test_who_only_reads_does_not_migrate(where, log, monkeypatch):
    make_old(log)
    monkeypatch.setattr(migrations, "STEPS", STEPS)
    session = Session(engine_for(find(where), "read"))
    with pytest.raises(OtherVersion, match="has tables of version 0; open it once for writing"):
        migrations.upgrade_tables(session, STEPS)
    assert backups_of(where, log) == []


def test_a_newer_study_is_refused_with_both_versions_and_not_touched(where, log):
    set_version(log, 7)
    before = Path(where).read_bytes() if where.endswith(".db") else b""
    for writable in (True, False):
        with pytest.raises(OtherVersion, match="has tables of version 7, and this release knows 1"):
            Log.open(where, writable=writable)
    assert before == (Path(where).read_bytes() if where.endswith(".db") else b"")


def test_a_study_that_a_newer_release_brought_up_meanwhile_is_not_written(where, log):
    other = Log.open(where)
    set_version(other, 2)
    with pytest.raises(OtherVersion, match="was written by a newer release"):
        log.write(lambda turn: turn.append(Draft(kind="told", trial=1)))
    with pytest.raises(OtherVersion, match="version 2"):
        log.events()


def test_a_version_that_nobody_knows_is_refused(where, log):
    set_version(log, 0)
    with pytest.raises(OtherVersion, match="version 0, and this release knows 1"):
        Log.open(where)


def test_a_file_that_disagrees_with_itself_about_its_version_is_damaged(where, log):
    if where.endswith(".db"):
        run(log, "PRAGMA user_version = 0")
    else:
        run(log, "UPDATE study SET version = 1, rows = 3")
    with pytest.raises(Damaged):
        Log.open(where)


def test_a_header_that_was_changed_is_not_brought_up(where, log):
    make_old(log)
    run(log, "UPDATE study SET release = 'x'")
    with pytest.raises(Damaged, match="its header is not the one that was written"):
        upgrade_tables(where)
    assert log._session.read(log._engine.version) == 0


def test_a_backup_in_postgresql_is_never_overwritten(postgres):
    where = f"{postgres}&study=kept"
    log = Log.create(where, CREATED, COLUMNS, CELLS)
    make_old(log)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE SCHEMA kept_v0_backup")
    with pytest.raises(StorageError, match="the schema kept_v0_backup exists already"):
        upgrade_tables(where)
    assert log._session.read(log._engine.version) == 0


@pytest.fixture
def frozen(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, dict[str, Any]]:
    version = request.param
    path = tmp_path / f"study-v{version}.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((FROZEN / f"study-v{version}.sql").read_text(encoding="utf-8"))
    return path, json.loads((FROZEN / f"study-v{version}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("frozen", range(1, VERSION + 1), indirect=True)
def test_a_study_of_every_released_version_opens_with_the_same_events_for_ever(frozen):
    path, known = frozen
    log = Log.open(path)
    names = ("seq", "kind", "trial", "row", "value", "key", "worker", "at", "body", "check")
    assert [{name: getattr(event, name) for name in names} for event in log.events()] == known[
        "events"
    ]
    assert [list(cells) for cells in log.cells()] == known["cells"]
    assert (list(log.columns), log.fingerprint) == (known["columns"], known["fingerprint"])
    assert all(finding.ok for finding in log.health())
