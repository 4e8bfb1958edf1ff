"""The tables of release 0.1, of version 1, for tests of their migration."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from kernelbandits.storage import Draft, statements
from kernelbandits.storage.checksums import DIGITS, add_check, build_row, fingerprint
from kernelbandits.storage.log import backend_for
from kernelbandits.storage.places import find
from kernelbandits.storage.session import Session

TABLES = (
    """CREATE TABLE {s}study (id {whole} PRIMARY KEY, version {whole} NOT NULL,
        rows {whole} NOT NULL, columns TEXT NOT NULL, fingerprint TEXT NOT NULL,
        header TEXT NOT NULL, release TEXT NOT NULL, "check" TEXT NOT NULL){strict}""",
    """CREATE TABLE {s}head (id {whole} PRIMARY KEY, seq {whole} NOT NULL,
        "check" TEXT NOT NULL){strict}""",
    """CREATE TABLE {s}candidates ("row" {whole} PRIMARY KEY, cells TEXT NOT NULL,
        "check" TEXT NOT NULL){strict}""",
    """CREATE TABLE {s}events (seq {whole} PRIMARY KEY, kind TEXT NOT NULL, trial {whole},
        "row" {whole}, value {real}, "key" TEXT, worker TEXT, "at" {real} NOT NULL,
        body TEXT NOT NULL, before TEXT NOT NULL, "check" TEXT NOT NULL){strict}""",
    """CREATE TABLE {s}spare ("row" {whole} PRIMARY KEY, cells TEXT NOT NULL,
        "check" TEXT NOT NULL){strict}""",
)


def restore(where: str, inserts: Sequence[str]) -> None:
    """Create the tables at a new place and fill them by SQL statements."""
    session = Session(backend_for(find(where), "create"))
    backend = session.backend
    server = getattr(backend, "place", None)
    form = {"s": "", "whole": "INTEGER", "real": "REAL", "strict": " STRICT"}
    if server:
        form = {"s": f'"{server.study}".', "whole": "bigint", "real": "float8", "strict": ""}
    for transaction in session.transactions():
        with transaction:
            connection = transaction.connection
            backend.create_schema(connection)
            if server:
                statements.send(connection, f'SET LOCAL search_path TO "{server.study}"')
            for text in (*(table.format(**form) for table in TABLES), *inserts):
                statements.send(connection, text)
            backend.write_mark(connection, 1)
    session.close()


def write_old_study(where: str, columns: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """A study of version 1 with six events; returns the fingerprint of its table."""
    lines = [json.dumps(list(row), separators=(",", ":")) for row in (columns, *cells)]
    found = fingerprint(lines)
    names, header = lines[0], json.dumps({"seed": 7}, separators=(",", ":"))
    study = add_check((1, 1, len(cells), names, found, header, "0.1.0"))
    candidates = [add_check((row, line)) for row, line in enumerate(lines, -1)]
    events: list[Any] = [build_row(Draft(kind="created", body={"seed": 7}), 1, 1.5, found[:DIGITS])]
    for trial in range(5):
        draft = Draft(kind="told", trial=trial, row=1, value=trial / 3)
        events.append(build_row(draft, trial + 2, 2.5, events[-1][-1]))
    rows = {
        "study": [study],
        "head": [(1, 6, events[-1][-1])],
        "candidates": candidates,
        "spare": candidates,
        "events": events,
    }
    restore(
        where,
        [
            f"INSERT INTO {table} VALUES ({', '.join(map(literal, row))})"
            for table, listed in rows.items()
            for row in listed
        ],
    )
    return found


def literal(value: Any) -> str:
    if value is None:
        return "NULL"
    return repr(value) if isinstance(value, (int, float)) else "'" + value.replace("'", "''") + "'"
