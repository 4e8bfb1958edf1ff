"""A durable study: candidates, a policy and an append-only log of what was asked and told."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.checks import DataNotice, StudyConflict
from kernelbandits.storage import Draft, Event, Log, StudyExists
from kernelbandits.study import asking, telling
from kernelbandits.study.book import Book
from kernelbandits.study.candidates import Candidates, read_candidates
from kernelbandits.study.editing import Editor
from kernelbandits.study.exporting import write_csv
from kernelbandits.study.names import checked_name, checked_reason
from kernelbandits.study.pen import Pen
from kernelbandits.study.player import Player
from kernelbandits.study.reporting import replayed, status_of
from kernelbandits.study.results import read_results
from kernelbandits.study.settings import FIRST_RELEASE, REVISIONS, Settings, checked_lease, made
from kernelbandits.study.state import State
from kernelbandits.study.values import Best, Explained, Replayed, Status, Suggestion, Told

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.storage import Finding


MOST_ASKED = 10_000
"""Rows in one call: others wait meanwhile."""


class Study:
    """Which row next? A table of candidates, noisy results as they come, and nothing lost.

        study = kb.Study.create("films.db", "films.csv", columns=["Cs", "FA", "MA"], target="stability")
        [suggestion] = study.ask()
        study.tell(suggestion.trial, 0.83)
        study.best()

    All that happens is an event of the log, in a SQLite file or in PostgreSQL; the policy is rebuilt from them. Any
    number of processes may ask and tell at the same time. Rows count from 0, trials from 1.
    """

    def __init__(self, log: Log) -> None:
        self._book = Book(log)

    @classmethod
    def create(
        cls,
        where: str | Path,
        candidates: Any,
        *,
        target: str = "value",
        direction: str = "maximize",
        columns: Sequence[str] | None = None,
        cost: str | None = None,
        allowed: str | None = None,
        or_open: bool = False,
        **settings: Any,
    ) -> Study:
        """A new study; with `or_open` the one that is there, if it was created just so.

        candidates: a CSV file, a DataFrame or an (n, d) array. Further settings: policy="auto" or a
        name of the catalogue, kernel, settings (the policy's own), seed, lease (seconds), repeats,
        centre and spread, tolerance, delta. direction is "maximize" ("max") or "minimize" ("min").

        With repeats=None auto measures a row again only when every allowed row has a result or is
        pending, and a named policy whenever its rule wants to. True lets auto repeat rows at any
        time; False forbids all repeats.
        """
        table = read_candidates(
            candidates, columns=columns, target=target, cost=cost, allowed=allowed
        )
        chosen = made(target=target, direction=direction, **settings)
        Player(table, chosen).choose(1, (), State())
        body = {"settings": chosen.body, "candidates": table.body, "fingerprint": table.fingerprint}
        created = Draft(kind="created", body=body, key=uuid.uuid4().hex)
        try:
            study = cls(Log.create(where, created, table.columns, table.cells))
        except StudyExists:
            study = cls.open(where)
            if not or_open and study.history()[0].key != created.key:
                study.close()
                raise
            return study._if_created(body)
        for notice in (*table.notices, *study._book.player.notices):
            warnings.warn(notice, DataNotice, stacklevel=2)
        return study

    @classmethod
    def open(cls, where: str | Path, *, writable: bool = True) -> Study:
        """The study at this place, rebuilt from its events."""
        return cls(Log.open(where, writable=writable))

    def _if_created(self, body: Mapping[str, Any]) -> Study:
        """Itself, unless it was created with another table or other settings.

        The revision is that of the release which created it, and no difference. Where repeats were
        not given, a study of 0.1 has the default of 0.1.
        """
        there = self._book.state.events[0].body
        found, wanted = Settings.of(there["settings"]).body, dict(body["settings"])
        if "revision" not in there["settings"] and wanted["repeats"] is None:
            wanted["repeats"] = FIRST_RELEASE["repeats"]
        other = [name for name in wanted if name not in REVISIONS and wanted[name] != found[name]]
        other += ["candidates"] if body["fingerprint"] != there["fingerprint"] else []
        other += ["columns"] if body["candidates"] != there["candidates"] else []
        if other:
            self.close()
            raise StudyConflict(
                f"or_open needs a study created in the same way, got one with another "
                f"{' and '.join(other)}"
            )
        return self

    def __repr__(self) -> str:
        return f"Study({self.place!r}, {len(self.candidates)} rows, {sum(self._book.state.counts.values())} results)"

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._book.log.close()

    @property
    def candidates(self) -> Candidates:
        """The table, and which of its columns count."""
        return self._book.candidates

    @property
    def place(self) -> str:
        """Where it is stored, without passwords."""
        return self._book.log.place

    @property
    def target(self) -> str:
        return self._book.state.settings.target

    @property
    def direction(self) -> str:
        return self._book.state.settings.direction

    @property
    def settings(self) -> Mapping[str, Any]:
        return self._book.state.settings.body

    def ask(
        self, n: int = 1, *, worker: str | None = None, lease: float | None = None
    ) -> list[Suggestion]:
        """The rows to measure next, n of them, each pending until it is told or its lease has run out.

        A worker that comes back under its name gets the rows that it has not told yet.
        """
        size, name = checks.whole("ask", "n", n), checked_name("worker", worker)
        checks.needs(size <= MOST_ASKED, "ask", f"at most {MOST_ASKED} rows at once", n)
        seconds = None if lease is None else checked_lease(lease)
        asker, book = asking.Asker(size, name, seconds, uuid.uuid4().hex), self._book
        with book.lock:
            events = book.decide(lambda pen, player: asking.ask(pen, book.state, player, asker))
            revised, sign = book.state.keys.get(asker.settings_key), book.state.settings.sign
        notices = () if revised is None else (asking.revision_notice(revised),)
        for notice in notices:
            warnings.warn(notice, DataNotice, stacklevel=2)
        return [asking.suggestion(event, self.candidates, sign, notices) for event in events]

    def tell(
        self,
        trial: int | None = None,
        value: float | None = None,
        *,
        row: int | None = None,
        failed: bool = False,
        key: str | None = None,
        worker: str | None = None,
    ) -> Told:
        """The result of a trial, or of a row that nobody asked for; `failed=True` where there is none.

        A trial has one result: whoever comes second gets AlreadyTold with the stored one. The same key again is the
        same call again, and counts once.
        """
        result = telling.checked(trial, value, row, failed, len(self.candidates))
        name, again = checked_name("worker", worker), checked_name("key", key)
        return self._tell(
            [telling.Keyed(result, again or uuid.uuid4().hex, again is not None)], name
        )[0]

    def tell_all(
        self, source: Any, *, key: str | None = None, worker: str | None = None
    ) -> list[Told]:
        """All results of a CSV file, a DataFrame or a list of mappings, or none if one is refused.

        A line says its trial, its row or the values of all columns, and the value of the target (or failed). Lines of a
        file that were told before are left alone (accepted is False), so that a file that grows may be told again.
        """
        name, prefix = checked_name("worker", worker), checked_name("key", key)
        results = read_results(source, self.candidates, self.target)
        fresh = uuid.uuid4().hex
        return self._tell(
            [telling.keyed(one, prefix, number, fresh) for number, one in enumerate(results)], name
        )

    def _tell(self, results: Sequence[telling.Keyed], worker: str | None) -> list[Told]:
        book = self._book
        with book.lock:
            notices = telling.unusual(book.state, results)
            told = book.write(
                lambda pen: telling.tell(pen, book.state, book.player.kinds, results, worker)
            )
        for notice in notices:
            warnings.warn(notice, DataNotice, stacklevel=3)
        return told

    def correct(
        self, trial: int, value: float | None = None, *, failed: bool = False, reason: str = ""
    ) -> Event:
        """Another value for a trial, or that it failed; what was told stays in the history."""
        given = telling.checked(trial, value, None, failed, len(self.candidates))
        return self._change(
            lambda turn: turn.correct(given.trial, given.value, checked_reason(reason))
        )

    def withdraw(self, trial: int, *, reason: str = "") -> Event:
        """The result of a trial no longer counts; it stays in the history."""
        number = checks.whole("withdraw", "trial", trial)
        return self._change(lambda turn: turn.withdraw(number, checked_reason(reason)))

    def release(self, trial: int) -> Event:
        """Nobody will measure this trial: its row is free again."""
        number = checks.whole("release", "trial", trial)
        return self._change(lambda turn: turn.release(number))

    def undo(self) -> Event:
        """Take back the last ask, result, correction, withdrawal or change of settings that stands."""
        return self._change(lambda turn: turn.undo())

    def undo_all(self, n: int) -> list[Event]:
        """Undo the last n, or none of them if there are fewer."""
        size = checks.whole("undo", "n", n)
        with self._book.lock:
            self._book.refresh()
            there = self._book.state.undoable
            if 0 < there < size:
                raise StudyConflict(
                    f"undo needs at most {there} events, because no more can be undone, got {size}"
                )
            return [self.undo() for _ in range(size)]

    def change(self, **settings: Any) -> Event:
        """Other settings from now on: all that `create` takes but the table, target and direction."""
        checks.needs(bool(settings), "change", "at least one setting", "none")
        self._book.refresh()
        Player(self.candidates, self._book.state.settings.changed(settings)).choose(1, (), State())
        return self._change(lambda turn: turn.change(settings))

    def _change(self, decide: Callable[[Editor], Event]) -> Event:
        """Once, however often the connection is cut while it is written: the event is found by its key."""
        key = uuid.uuid4().hex

        def work(pen: Pen) -> Event:
            event = self._book.state.keys.get(key) or decide(Editor(pen, self._book.state, key))
            telling.rescale(pen, self._book.state)
            return event

        return self._book.write(work)

    def best(self) -> Best | None:
        """The row to recommend, with its interval and its probability of being the best.

        None before any result. It is the row of the best estimate among those that were measured. If a
        row that was never measured has a better estimate, `best.untested` says which.
        """
        with self._book.lock:
            return self._book.answers().best()

    def status(self) -> Status:
        """Progress, the likely best, whether one may stop, units, who waits."""
        with self._book.lock:
            answers, now = self._book.answers(), self._book.log.now()
            return status_of(answers, self.place, now, tuple(self._book.player.notices))

    def explain(self, trial: int) -> Explained:
        """Why the row of a trial was suggested, by what was known then."""
        return self._replayed("explain", trial).explained

    def replay(self, trial: int) -> Replayed:
        """The suggestion of a trial, recomputed from the events before it."""
        return self._replayed("replay", trial)

    def _replayed(self, owner: str, trial: int) -> Replayed:
        with self._book.lock:
            self._book.refresh()
            return replayed(
                self._book.state, self.candidates, checks.whole(owner, "trial", trial), owner
            )

    def history(self) -> list[Event]:
        """All events, in their order."""
        with self._book.lock:
            self._book.refresh()
            return list(self._book.state.events)

    def to_dataframe(self) -> pd.DataFrame:
        """One row for each trial."""
        from kernelbandits.study.dataframes import trials_frame

        with self._book.lock:
            self._book.refresh()
            return trials_frame(self._book.state, self.candidates)

    def estimates(self) -> pd.DataFrame:
        """One row for each candidate, with mean, sd and 95 % interval in the target's units."""
        from kernelbandits.study.dataframes import estimates_frame

        with self._book.lock:
            return estimates_frame(self._book.answers())

    def export(self, path: str | Path) -> None:
        """All trials as a CSV file."""
        frame = self.to_dataframe()
        write_csv(path, list(frame.columns), frame.itertuples(index=False))

    def backup(self, path: str | Path) -> None:
        """A copy of all of it as a SQLite study, consistent however busy this one is."""
        self._book.log.backup(Path(path))

    def doctor(self) -> list[Finding]:
        """What was checked of the store, of the state and of the posterior, and what was found."""
        from kernelbandits.study.checkup import checkup

        with self._book.lock:
            answers = self._book.answers()
            return [*self._book.log.health(), *checkup(answers.player, answers.state)]
