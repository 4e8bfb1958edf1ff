"""Cells of a study on PostgreSQL are changed behind its back, by SQL.

Each change is seen, or changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs, urlsplit

import numpy as np
import psycopg
from psycopg import sql

from benchmarks.durability.looks import digest
from kernelbandits.storage import StorageError
from kernelbandits.study import Study

DELETED = "row deleted"
CHANGED = "cell changed"


@dataclass(frozen=True)
class Cell:
    """Of a table in the schema of a study."""

    schema: str
    table: str
    column: str
    place: str
    """The row's ctid."""
    value: Any


def connected(place: str) -> tuple[Any, str]:
    """A connection of our own, and the schema that the study lives in."""
    parts = urlsplit(place)
    given: dict[str, Any] = {name: values[0] for name, values in parse_qs(parts.query).items()}
    name = given.pop("study")
    connection = psycopg.connect(f"{parts.scheme}://{parts.netloc}{parts.path}", **given)
    return connection, name


def drawn(connection: Any, schema: str, generator: np.random.Generator) -> Cell:
    """A table by its number of rows, then a row, then a column."""
    query = (
        "SELECT relname FROM pg_class "
        "WHERE relkind = 'r' AND relnamespace = %s::regnamespace ORDER BY 1"
    )
    tables = [name for (name,) in connection.execute(query, (f'"{schema}"',))]
    rows = {name: list(connection.execute(select(schema, name))) for name in tables}
    weights = np.array([math.sqrt(len(rows[name])) for name in tables])
    table = tables[generator.choice(len(tables), p=weights / weights.sum())]
    titles = [one.name for one in connection.execute(select(schema, table)).description][1:]
    row, column = generator.integers(len(rows[table])), int(generator.integers(len(titles)))
    return Cell(schema, table, titles[column], rows[table][row][0], rows[table][row][1 + column])


def select(schema: str, table: str) -> Any:
    return sql.SQL("SELECT ctid::text AS place, * FROM {}").format(sql.Identifier(schema, table))


def other(value: Any, generator: np.random.Generator) -> Any:
    """A value next to this one: one bit, one character, one unit."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value ^ (1 << int(generator.integers(4)))
    if isinstance(value, float):
        return float(np.nextafter(value, math.inf))
    if value:
        place = int(generator.integers(len(value)))
        return value[:place] + chr(ord(value[place]) ^ 1) + value[place + 1 :]
    return "x"


@contextmanager
def damaged(
    connection: Any, cell: Cell, generator: np.random.Generator, kind: str
) -> Iterator[bool]:
    """The damage, for a while: what was there is put back. False where the server refuses it."""
    table = sql.Identifier(cell.schema, cell.table)
    try:
        connection.execute(sql.SQL("CREATE TEMP TABLE kept AS SELECT * FROM {}").format(table))
        change(connection, cell, generator, kind)
        connection.commit()
    except psycopg.Error:
        connection.rollback()
        yield False
        return
    try:
        yield True
    finally:
        connection.execute(sql.SQL("DELETE FROM {}").format(table))
        connection.execute(sql.SQL("INSERT INTO {} SELECT * FROM kept").format(table))
        connection.execute("DROP TABLE kept")
        connection.commit()


def change(connection: Any, cell: Cell, generator: np.random.Generator, kind: str) -> None:
    table, here = sql.Identifier(cell.schema, cell.table), (cell.place,)
    if kind == DELETED:
        connection.execute(sql.SQL("DELETE FROM {} WHERE ctid = %s::tid").format(table), here)
        return
    query = sql.SQL("UPDATE {} SET {} = %s WHERE ctid = %s::tid").format(
        table, sql.Identifier(cell.column)
    )
    connection.execute(query, (other(cell.value, generator), cell.place))


def seen(place: str) -> tuple[Any, ...]:
    """Events, estimates and the table, as a process that opens the study now sees them."""
    with Study.open(place, writable=False) as study:
        return (
            digest(study.history()),
            study.estimates().to_csv(),
            study.candidates.rows,
            study.place,
        )


def looked(place: str, true: tuple[Any, ...]) -> str:
    try:
        return "harmless" if seen(place) == true else "silently different"
    except StorageError:
        return "detected"
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def run(place: str, changes: int, seed: int, tick: Any) -> dict[str, dict[str, int]]:
    """So many cells changed, and a tenth as many rows deleted; counts of what came of them."""
    generator, true = np.random.default_rng(seed), seen(place)
    connection, schema = connected(place)
    found: dict[str, dict[str, int]] = {CHANGED: {}, DELETED: {}}
    with connection:
        for kind in [CHANGED] * changes + [DELETED] * (changes // 10):
            what = "refused"
            while what == "refused":
                cell = drawn(connection, schema, generator)
                with damaged(connection, cell, generator, kind) as done:
                    what = looked(place, true) if done else "refused"
            label = what if what == "detected" else f"{what} ({cell.table})"
            found[kind][label] = found[kind].get(label, 0) + 1
            tick(1)
    return found
