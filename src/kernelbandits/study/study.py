"""A durable study: candidates, a policy and an append-only log of what was asked and told."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import fields, replace
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Unpack

from kernelbandits import checks
from kernelbandits.checks import DataNotice, Direction, StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.storage import (
    Draft,
    Event,
    Log,
    StudyExists,
    check_health,
    write_backup,
)
from kernelbandits.study import asks, edits, plausibility, reconciliation, tells
from kernelbandits.study.batches import check_batch
from kernelbandits.study.calls import Call, make_call, show_key
from kernelbandits.study.events import State
from kernelbandits.study.expectations import expect_told
from kernelbandits.study.growing import list_cells, read_additions, remark_forbidden
from kernelbandits.study.names import check_name, check_reason
from kernelbandits.study.place import as_list
from kernelbandits.study.places import read_place
from kernelbandits.study.session import StudySession
from kernelbandits.study.settings import (
    LEARN_FROM,
    StudySettings,
    check_lease,
    describe_settings,
)
from kernelbandits.study.sheets import SheetNotWritten, check_sheet, read_sheet, write_sheet
from kernelbandits.study.sources import is_same_place, read_sources
from kernelbandits.study.targets import Target, read_measured
from kernelbandits.study.values import (
    Best,
    Explained,
    Replayed,
    RowComparison,
    Status,
    Suggestion,
    Told,
    Waiting,
    study_card,
)
from kernelbandits.study.words import describe_unchanged
from kernelbandits.tables.results import add_keys, list_pairs, read_results
from kernelbandits.tables.roles import LIMITS_HINT, RESULTS_HINT, Notices, propose_limits
from kernelbandits.tables.scaling import name_scales

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.domains import MixedBox
    from kernelbandits.insight import PartialDependence
    from kernelbandits.storage import Finding
    from kernelbandits.study.dependence import EstimateMap
    from kernelbandits.study.model_check import Check, ColumnRelevance
    from kernelbandits.study.place import Place


READING = ("worksheet", "header_row", "cells")
"""Arguments of `create` and `tell_all` that say how a file is read."""
MOST_SOURCES = 10
"""Other studies that one study learns from."""
MOST_ASKED = 10_000
"""Rows in one call."""


class Study:
    """A table of candidates, or a space, to measure one after the other: ask, and tell the result.

    Everything that happens is stored as an event, in a SQLite file or in PostgreSQL, and the policy
    is rebuilt from the events. Several processes may ask and tell at the same time. Threads that
    share one `Study` take turns; to work at the same time, each opens the study for itself. Rows
    are counted from 0, trials from 1. In a study over a space the point `x` takes the place of the
    row, which is None.

    Examples
    --------
    >>> import tempfile
    >>> from kernelbandits import Study
    >>> folder = tempfile.TemporaryDirectory()
    >>> candidates = [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    >>> study = Study.create(folder.name + "/films.db", candidates, target="stability")
    >>> [suggestion] = study.ask()
    >>> stored = study.tell(suggestion.trial, 0.83)
    >>> study.best().row == suggestion.row
    True
    >>> study.close()

    Over ranges, with a result at a point that nobody asked for:

    >>> space = {"heat": (20.0, 90.0), "acid": ["citric", "acetic"]}
    >>> study = Study.create(folder.name + "/brew.db", space, target="yield")
    >>> sorted(study.ask()[0].x)
    ['acid', 'heat']
    >>> study.tell(x={"heat": 35, "acid": "citric"}, value=0.7).x
    {'heat': 35.0, 'acid': 'citric'}
    >>> study.close()
    >>> folder.cleanup()
    """

    def __init__(self, log: Log) -> None:
        self._session = StudySession(log)

    @classmethod
    @describe_settings
    def create(
        cls,
        where: str | Path,
        candidates: Any,
        *,
        target: str | None = None,
        direction: Direction | None = None,
        columns: Sequence[str] | None = None,
        cost: str | None = None,
        allowed: str | None = None,
        log: str | Sequence[str] | None = None,
        linear: str | Sequence[str] | None = None,
        worksheet: str | None = None,
        label: str | None = None,
        describe: Mapping[str, Any] | None = None,
        not_used: str | Sequence[str] | None = None,
        feature: str | Sequence[str] | None = None,
        header_row: int | None = None,
        cells: Mapping[str, str] | None = None,
        or_open: bool = False,
        results: Any = None,
        **settings: Unpack[StudySettings],
    ) -> Study:
        """Create a study; with `or_open` open an existing one that was created in the same way.

        Parameters
        ----------
        where
            A file such as "films.db", or "postgresql://user@host/db?study=films".
        candidates
            A CSV file, a workbook (.xlsx), a Parquet or numpy (.npy) file, a DataFrame or an (n, d)
            array. Each row is a candidate. Or a space: a `kb.MixedBox`, a `kb.Box`, a dictionary of
            variables such as {"heat": (20.0, 90.0)}, a list of tuples [(0, 1), (0, 1)], or a space
            file, whose name ends in .toml or .json. Or `kb.Arms.from_gram(matrix, values=names)`,
            candidates that are known by their similarity. Of a space and of a similarity, the
            following arguments up to `cells` are the target and the direction only.
        target
            Name of the measured quantity ("value" unless given), also with its direction as on the
            command line: "cost:minimize".
        direction
            "maximize" ("max"), which is the default, or "minimize" ("min").
        columns
            The columns that describe a candidate. None: all that are not used otherwise.
        cost, allowed
            Columns with the cost of each row, and with yes or no: may it be measured?
        log, linear
            Columns of numbers that the model sees by their logarithms, such as concentrations from
            0.001 to 10, or by their values. A column that is in neither is taken by its logarithms
            if its values are positive, span at least a factor of 1000, and are much more evenly
            spread so; a notice then says it.
        worksheet
            The sheet of a workbook that has the table, if several sheets are filled.
        label
            The column that names the rows: text, each name once. Then `label="A7"` names a row in
            `tell`, `correct`, `withdraw` and `explain`.
        describe
            Column of text -> a file or a DataFrame with descriptors of its values, such as
            {"ligand": "descriptors.csv"}. It has a column of the values, called as the column of
            the table or the first one, and columns of numbers or text. The more alike their
            descriptors, the more alike are two values to the model. A value that is not in the file
            is compared by its name, as without descriptors. All are stored with the study.
        not_used, feature
            Columns that describe no candidate, and columns that do. A column of numbers that looks
            like a result and is no target has to be in one of them.
        header_row
            The row of a file with the names of the columns. None: it is found.
        cells
            What to read in place of some cells of a file, such as {"B7": "0.5"}. The file stays as
            it is, and a notice says it.
        results
            Results that are known already: a file, a DataFrame or a list of mappings, as `tell_all`
            takes them, or a list of pairs of a candidate and its value, such as [(17, 0.83)] by the
            rows of a table or [({"heat": 35}, 0.7)]. They are read before the study is created: all
            of them are stored with it, or nothing is. With `or_open` they are not told to a study
            that exists.
        **settings
            The following, all of which `change` takes too:

            {settings}
        """
        from kernelbandits.study.driver import build_driver
        from kernelbandits.study.rules import compare_created, make_settings

        options: dict[str, Any] = {
            "columns": columns,
            "cost": cost,
            "allowed": allowed,
            "log": log,
            "linear": linear,
            "worksheet": worksheet,
            "label": label,
            "describe": describe,
            "not_used": not_used,
            "feature": feature,
            "header_row": header_row,
            "cells": cells or None,
        }
        measured = read_measured("Study", target, direction, settings.pop("targets", None))
        place = read_place(candidates, [one.name for one in measured], options)
        aim = make_settings(targets=measured)
        if settings.get(LEARN_FROM) is not None:
            towards = aim.target, aim.direction
            with open_sources("create", settings[LEARN_FROM], where) as others:
                settings[LEARN_FROM] = read_sources("create", others, place, towards) or None
        chosen = make_settings(**settings, targets=measured)
        # Try a first choice before anything is stored: settings that the policy refuses leave no
        # file behind.
        driver = build_driver(place, chosen)
        said = tuple(driver.notices)
        driver.choose(1, (), State())
        described = {place.stored_as: place.body, "fingerprint": place.fingerprint}
        body = {"settings": chosen.body, **described}
        created = Draft(kind="created", body=body, key=uuid.uuid4().hex)
        # Of the file with the candidates, what was said of its cells and its sheet still holds.
        same = isinstance(results, (str, Path)) and str(results) == str(candidates)
        reading = {name: options[name] for name in READING} if same else {}
        told = (
            [] if results is None else rehearse_results(created, place, measured, results, reading)
        )
        try:
            study = cls(Log.create(where, created, place.stored_columns, told))
        except StudyExists:
            study = cls.open(where)
            if not or_open and study.history()[0].key != created.key:
                study.close()
                raise
            scales = name_scales(place.columns, "Study", log, linear, Notices())
            other = compare_created(body, study.history()[0].body, study.candidates, scales)
            if other:
                study.close()
                raise StudyConflict(
                    f"or_open needs a study created in the same way, got one with another "
                    f"{' and '.join(other)}"
                ) from None
            return study
        notices = [*place.notices]
        if place.space is not None:
            notices += [line for one in measured for line in propose_limits(one.name)]
        if chosen.limits is not None:
            notices = [one for one in notices if not one.endswith(LIMITS_HINT)]
        if results is not None:
            notices = [one for one in notices if not one.endswith(RESULTS_HINT)]
        learnt = [line for source in chosen.sources for line in source.describe()]
        for notice in (*notices, *learnt, *said, *driver.remark_budget()):
            warnings.warn(notice, DataNotice, stacklevel=2)
        return study

    @classmethod
    def open(
        cls, where: str | Path, *, writable: bool = True, patience: float | None = None
    ) -> Study:
        """Open the study at this place, rebuilt from its events.

        While another process holds the study, a call waits for up to `patience` seconds (a minute
        unless given), and then raises StorageBusy.
        """
        return cls(Log.open(where, writable=writable, patience=patience))

    def __repr__(self) -> str:
        results = sum(self._session.state.counts.values())
        size = self.candidates.describe_size()
        return f"Study({self.place!r}, {size}, {format_count(results, 'result')})"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: what is measured, how far it is, and what is pending.

        It is read off the events. The likely best needs a fit, which `best()` makes.
        """
        return study_card(self.place, self._session.state, self.candidates)

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._session.log.close()

    @property
    def candidates(self) -> Place:
        """What may be measured: the table and the roles of its columns, or the points of a space.

        `candidates.table` is the table, and an error in a study over a space.
        """
        return self._session.candidates

    @property
    def space(self) -> MixedBox | None:
        """The space that is measured; None in a study of a table."""
        return self.candidates.space

    def read_point(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """Read a candidate whose values are given as texts, as a command or a file has them."""
        return self.candidates.parse_point(texts)

    @property
    def place(self) -> str:
        """Where it is stored, without passwords."""
        return self._session.log.place

    @property
    def target(self) -> str:
        return self._session.state.settings.target

    @property
    def direction(self) -> str:
        return self._session.state.settings.direction

    @property
    def targets(self) -> tuple[Target, ...]:
        """What is measured: mostly one target."""
        return self._session.state.settings.wanted

    @property
    def combined(self) -> bool:
        """Whether the policy sees the desirability of the targets, and not the values of one."""
        return self._session.state.settings.combined

    @property
    def shows_targets(self) -> bool:
        """Whether answers describe each target, beside the number that the policy sees."""
        return self._session.state.settings.shows_targets

    @property
    def several(self) -> bool:
        """Whether several targets are measured, so that each value is named."""
        return self._session.state.settings.several

    @property
    def settings(self) -> Mapping[str, Any]:
        """All settings by name, as they are stored."""
        return self._session.state.settings.body

    def ask(
        self,
        n: int = 1,
        *,
        worker: str | None = None,
        lease: float | None = None,
        same: str | Sequence[str] | None = None,
        spread: bool = False,
        sheet: str | Path | None = None,
        force: bool = False,
        key: str | None = None,
    ) -> list[Suggestion]:
        """Return the n rows, or points of a space, to measure next.

        Each row is pending until its result is told or its lease ends (`lease` in seconds). A
        worker that asks again under the same name first gets its pending rows. A call repeated
        with the same `key` returns the same trials.

        With `same`, the name of a column or several, all n rows have the same value there, such as
        the temperature of their oven. The first row is the policy's choice and decides the value;
        the policy chooses the others among the rows with this value. With `spread=True` the rows
        are far apart: each is the policy's choice among the rows that are at least half as far from
        those before it as n rows can be from each other.

        With `sheet`, a file whose name ends in .xlsx, .csv or .html, the rows are also written to a
        sheet to fill in or to print; `tell_sheet` tells it back. A sheet that cannot be written is
        refused before any row is asked for. If writing fails all the same, as on a full disk, the
        rows are pending and `SheetNotWritten` says so.
        """
        if sheet is not None:
            check_sheet(sheet, force)
        size, name = checks.whole("ask", "n", n), check_name("worker", worker)
        checks.needs(size <= MOST_ASKED, "ask", f"at most {MOST_ASKED} rows at once", n)
        seconds = None if lease is None else check_lease("Study", "lease", lease)
        batch, session = check_batch(same, spread, size, self.candidates), self._session
        shared = (batch.columns if batch else ()) or None
        demand = {"n": size, "worker": name, "lease": seconds, "same": shared, "spread": spread}
        asker = asks.Asker(size, name, seconds, make_call("ask", key, demand), batch)
        events, notices = self._ask(asker)
        more = session.state.settings, tuple(notices), self._find_caution
        found = [asks.make_suggestion(event, self.candidates, *more) for event in events]
        if sheet is None:
            return found
        try:
            self.write_sheet(sheet, [one.trial for one in found], force=force)
        except (OSError, ValueError, StudyConflict) as error:
            raise SheetNotWritten(found, sheet, error) from error
        return [replace(one, sheet=str(sheet)) for one in found]

    def write_sheet(
        self, path: str | Path, trials: Iterable[int] | None = None, *, force: bool = False
    ) -> list[int]:
        """Write a sheet to fill in, .xlsx or .csv, or to print, .html; return its trials.

        Without `trials` it has all that are pending. An existing file is only replaced with
        `force`, and a study never.
        """
        check_sheet(path, force)
        with self._session.lock:
            self._session.refresh()
            state = self._session.state
            wanted = sorted(state.pending) if trials is None else list(trials)
            for number in wanted:
                if number not in state.trials:
                    raise StudyConflict(
                        f"a sheet needs trials that were asked for, got trial {number}"
                    )
            if not wanted:
                raise StudyConflict("a sheet needs at least one pending trial, got none")
            chosen = [state.trials[number] for number in wanted]
            write_sheet(path, chosen, state, self.candidates, force)
        return wanted

    def _ask(self, asker: asks.Asker) -> tuple[list[Event], list[str]]:
        """Write the asks of a call; return them, and what was said with them."""
        session = self._session
        with session.lock:
            events = session.ask(asker)
            state = session.state
            cautions = self._cautions() if asker.has_fitted(state) else []
            notices = asks.remark_asks(state, asker, events, self.candidates, cautions)
        for notice in notices:
            warnings.warn(notice, DataNotice, stacklevel=3)
        return events, notices

    def _find_caution(self, trial: int) -> str:
        """Say what makes the estimates of a trial doubtful, by what was known when it was chosen.

        An ask that was undone has no reason any more.
        """
        from kernelbandits.study.summary import find_caution

        session = self._session
        with session.lock:
            if trial not in session.state.trials:
                return ""
            return find_caution(session.state, session.places, trial, session.driver)

    def _cautions(self) -> list[str]:
        """Return what the policy, with the results that it has learnt, says of the settings."""
        from kernelbandits.study.cautions import describe_noise

        return describe_noise(self._session.driver.policy, self._session.state)

    def tell(
        self,
        trial: int | None = None,
        value: float | str | Sequence[float | str] | Mapping[str, float | str] | None = None,
        *,
        row: int | str | None = None,
        label: str | None = None,
        line: int | None = None,
        x: Mapping[str, Any] | None = None,
        failed: bool = False,
        missing: bool | str | Sequence[str] = False,
        sem: float | Mapping[str, float] | None = None,
        note: str = "",
        by: str | None = None,
        key: str | None = None,
        worker: str | None = None,
    ) -> Told:
        """Store the result of a trial, or of a `row` or point `x` that nobody asked for.

        A row is given by its number, counted from 0, or by what it is called, as it is printed:
        "A7", or "line 5" for the line in which it stood in the file of candidates; or by its
        `label` or `line` alone. A candidate `x` that is no row of the table is learnt as a
        point: its result counts for the estimates, and it is never suggested.

        With `failed=True` the measurement gave no value, which auto takes for a bad sign. With
        `missing=True` there is no value for another reason, such as a lost sample: the trial ends,
        and nothing is learnt. A trial has one result: a second one raises AlreadyTold, which holds
        the stored one. A call repeated with the same `key` counts once.

        Several values are replicates: the first is the result of the trial, and each further one
        gets a trial of its own for the same candidate. `sem` is the standard error of the value,
        by which auto weighs it. A result of which only a limit is known is `kb.Censored(0.5, "<")`
        or the text "<0.5"; "n.d." is below the lower limit of the target. `note` and `by` (who
        measured it) stand in the history.

        With several targets, value and sem are by their names, {"stability": 0.83}; a tell may
        bring some of them, and `missing` may name those that will not come.

        With a trial, `x` has the conditions that were really set, such as {"heat": 36.3} where 36.5
        was asked for; those not named are as asked for. The result is learnt at these conditions.
        The ask stays as it was.
        """
        where = self._find_row("tell", row, label, line)
        if trial is not None and x is not None:
            self._session.refresh()
            x = tells.fill_conditions(self._session.state, self.candidates, trial, x)
        name = check_name("worker", worker)
        details = tells.check_details(note, by)
        values = tells.split_replicates(self.targets, value, sem)
        which = {"trial": trial, "row": where, "x": x, "failed": failed}
        given = {"value": values[0], "sem": sem, "missing": missing}
        first = tells.check_result(self.targets, self.candidates, **which, **given)
        if len(values) > 1:
            self._session.refresh()
        results = [first, *tells.list_replicates(self._session.state, first, values[1:])]
        said = {"trial": trial, "row": where, "x": x, "failed": failed, **details, "worker": name}
        said |= {"values": [one.values for one in results], "sems": first.sems}
        call = make_call("tell", key, {**said, "missing": sorted(first.missing)})
        told = self._tell(tells.with_call(results, call, details), name, call, x=x)
        return replace(told[0], replicates=tuple(one.trial for one in told[1:]))

    def tell_all(
        self,
        source: Any,
        *,
        key: str | None = None,
        worker: str | None = None,
        corrected: bool = False,
        replicates: bool = False,
        worksheet: str | None = None,
        off_table: bool = False,
        header_row: int | None = None,
        cells: Mapping[str, str] | None = None,
    ) -> list[Told]:
        """Store all results of a file, a DataFrame or a list of mappings, or none of them.

        A file is a CSV file, a workbook (.xlsx, with `worksheet` if several sheets are filled), a
        Parquet file or a numpy file of records (.npy).

        A line names its trial, its row or the values of all columns, and has the value of the
        target (or failed). Lines of a file that were told before are skipped (accepted is False),
        so a file may grow and be told again.

        If a line has another value than the stored result of its trial or candidate, nothing is
        stored and `ResultsDiffer` lists both values. With `corrected` the new values then replace
        the stored ones; with `replicates` they are results of further measurements.

        With `off_table` a line may describe a candidate that is no row of the table: its result is
        learnt as a point, as by `tell(x=...)`. Otherwise such a line is refused, because it is
        more often mistyped.

        `header_row` and `cells` say how a file is read, as in `create`.
        """
        checks.needs(isinstance(off_table, bool), "tell", "off_table true or false", off_table)
        name, call = check_name("worker", worker), make_call("tell", key)
        repeats = reconciliation.check_repeats(corrected, replicates)
        self._session.refresh()
        names = [one.name for one in self.targets]
        results = read_results(
            source, self.candidates, names, worksheet, off_table, header_row, cells
        )
        if call.given is not None:
            results = add_keys("results", results, self.candidates)
        fresh, prefix = uuid.uuid4().hex, None if call.given is None else call.key
        return self._tell(
            [tells.with_key(one, prefix, number, fresh) for number, one in enumerate(results)],
            name,
            call,
            repeats,
        )

    def check_results(self, results: Sequence[Mapping[str, Any]]) -> dict[int, Exception]:
        """Return which of several results `tell_all` would refuse, each with its error.

        Nothing is stored. `tell_all` stops at the first error; here each result is judged alone.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> study = Study.create(folder.name + "/films.db", [[0.0], [0.5], [1.0]], target="haze")
        >>> wrong = study.check_results([{"row": 0, "haze": 0.3}, {"row": 7, "haze": 0.4}])
        >>> list(wrong)
        [1]
        >>> study.close()
        >>> folder.cleanup()
        """
        names, call = [one.name for one in self.targets], make_call("tell", None)
        found: dict[int, Exception] = {}
        with self._session.lock:
            self._session.refresh()
            state, place = self._session.state, self.candidates
            for i, one in enumerate(results):
                try:
                    lines = read_results([one], place, names)
                    keyed = [tells.with_key(line, None, 0, call.key) for line in lines]
                    tells.plan_tell(state, place, keyed, None, call, None, None)
                except (ValueError, StudyConflict) as error:
                    found[i] = error
        return found

    def tell_sheet(
        self,
        path: str | Path,
        *,
        worker: str | None = None,
        corrected: bool = False,
        replicates: bool = False,
    ) -> list[Told]:
        """Store the results that were filled in on a sheet of `ask` or `write_sheet`, or none.

        Lines without a result are left out, so a sheet can be told several times while it is
        filled in. A sheet of another study, or one that was changed where it identifies its trials,
        is refused. `corrected` and `replicates` are those of `tell_all`.
        """
        name, repeats = (
            check_name("worker", worker),
            reconciliation.check_repeats(corrected, replicates),
        )
        with self._session.lock:
            self._session.refresh()
            results, notices = read_sheet(path, self._session.state, self.candidates)
        for notice in notices:
            warnings.warn(notice, DataNotice, stacklevel=2)
        fresh = uuid.uuid4().hex
        lines = [tells.with_key(one, None, i, fresh) for i, one in enumerate(results)]
        return self._tell(lines, name, make_call("tell", None), repeats)

    def _tell(
        self,
        results: Sequence[tells.Keyed],
        worker: str | None,
        call: Call,
        repeats: str | None = None,
        x: Mapping[str, Any] | None = None,
    ) -> list[Told]:
        """Store results; `x` is the candidate of a single one, by its values."""
        session = self._session

        def decide(state: State, now: float) -> tuple[list[Draft], Any]:
            place = self.candidates
            planned = tells.plan_tell(state, place, results, worker, call, repeats, x)
            drafts, told, remarks = planned
            return drafts, (plausibility.remember_latest(state), told, remarks)

        told: list[Told]
        notices: list[str]
        with session.lock:
            _, (known, told, notices) = session.write(decide)
            state = session.state
            notices += plausibility.remark_errors(told, state)
            told = [tells.with_values(state, one) for one in told]
            expected = expect_told(session, told)
            place = self.candidates
            notices += plausibility.remark_results(known, told, state, place, expected)
        for notice in notices:
            warnings.warn(notice, DataNotice, stacklevel=3)
        told = [replace(one, notices=tuple(notices)) for one in told] if notices else told
        return [self._with_candidate(one) for one in told]

    def _with_candidate(self, told: Told) -> Told:
        """Return a stored result with the candidate that it belongs to."""
        place, row = self.candidates, told.row or 0
        known = self._session.state.trials.get(told.trial)
        elsewhere = known is not None and known.row == row != known.asked_row
        asked = place.x(known.asked_row) if known is not None and elsewhere else None
        told = replace(told, x=place.x(row), asked=asked, label=place.names(row))
        return replace(told, row=place.number(row))

    def _find_row(self, owner: str, row: Any, label: Any, line: Any) -> Any:
        """Return the row that is given by its number, its label or its line; None if none is."""
        beyond = isinstance(row, str) or (checks.is_whole(row) and row >= len(self.candidates))
        if beyond or label is not None or line is not None:
            # Somebody else may have added it.
            self._session.refresh()
        return self.candidates.resolve_row(owner, row, label, line)

    def _find_trial(self, owner: str, trial: Any, label: Any, key: str | None = None) -> int:
        """Return the trial that is given by its number, or by the label of its row.

        A call that is repeated with its key means the trial that it changed.
        """
        if label is not None:
            self._session.refresh()
            written = self._session.state.keys.get(make_call(owner, key).key)
            if trial is None and written is not None and written.trial is not None:
                row = self.candidates.resolve_row(owner, label=label)
                if written.row == row:
                    return written.trial
        return edits.find_trial(owner, self._session.state, self.candidates, trial, label)

    def add(
        self,
        candidates: Any,
        *,
        columns: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> Event:
        """Add rows to the table, at its end, so that the numbers of all rows stay.

        Parameters
        ----------
        candidates
            A file, a DataFrame or an array with the columns of the table.
        columns
            New columns that describe candidates, with the value that the old rows have:
            {"additive": "none"}.
        key
            A call repeated with the same key counts once.
        """
        from kernelbandits.study.rules import check_outcomes

        said = None if key is None else {"rows": list_cells(candidates), "columns": columns}
        call = make_call("add", key, said)
        # Checked again, the rows would be refused: the table has them already.
        if written := self._find_written(call):
            return written[0]
        self._session.refresh()
        known = self.candidates.table
        found = [read_additions(candidates, known, columns)]

        def draft(state: State) -> list[Draft]:
            place = self.candidates.table
            if place is not known:
                # Somebody changed the table meanwhile: the new rows are checked again.
                found[:] = [read_additions(candidates, place, columns)]
            # The study would have no policy any more.
            check_outcomes(state.settings, len(place) + found[0].count)
            return [edits.add(place, found[0], call.key)]

        [event] = self._write_once(call, draft)
        for notice in found[0].notices:
            warnings.warn(notice, DataNotice, stacklevel=2)
        return event

    def forbid(
        self,
        row: int | str | Sequence[int | str] | None = None,
        *,
        label: str | Sequence[str] | None = None,
        line: int | Sequence[int] | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Event:
        """Let rows no longer be suggested or recommended; their results still count.

        Rows are given by their numbers or by what they are called, as in `tell`; or by their labels
        or their lines in the file of candidates.
        """
        return self._permit("forbid", row, label, line, False, reason, key)

    def allow(
        self,
        row: int | str | Sequence[int | str] | None = None,
        *,
        label: str | Sequence[str] | None = None,
        line: int | Sequence[int] | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Event:
        """Let rows be suggested again that were forbidden, or not allowed by their column."""
        return self._permit("allow", row, label, line, True, reason, key)

    def _permit(
        self,
        owner: str,
        row: Any,
        label: Any,
        line: Any,
        permitted: bool,
        reason: str,
        key: str | None,
    ) -> Event:
        why = check_reason(reason)
        self._session.refresh()
        given = {"row": as_list(row), "label": as_list(label), "line": as_list(line)}
        rows = self.candidates.table.resolve_rows(owner, **given)
        checks.needs(bool(rows), owner, "a row, a label or a line", "none")
        said = {"rows": sorted(rows), "permitted": permitted, "reason": why}
        call = replace(make_call("permit", key, said), owner=owner)

        def draft(state: State) -> list[Draft]:
            return [edits.permit(self.candidates.table, rows, permitted, why, call.key)]

        [event] = self._write_once(call, draft)
        for notice in self.notices_of(event):
            warnings.warn(notice, DataNotice, stacklevel=3)
        return event

    def notices_of(self, event: Event) -> list[str]:
        """Say what may still be measured of rows that an event forbids."""
        if event.kind != "forbidden":
            return []
        pending = self._session.state.pending.values()
        waiting = [one.number for one in pending if one.row in event.body["rows"]]
        return [*remark_forbidden(self.candidates.table, event.body["rows"], waiting)]

    def _show_events(self, events: Iterable[Event]) -> list[Event]:
        """Return events as users know them: with the keys that they gave.

        A point of a space has no row, and stands in the body.
        """
        shown = [
            replace(one, key=show_key(one.key)) if one.key and "%" in one.key else one
            for one in events
        ]
        place = self.candidates
        return [
            one if one.row is None or one.row == place.number(one.row) else replace(one, row=None)
            for one in shown
        ]

    def correct(
        self,
        trial: int | None = None,
        value: float | str | Mapping[str, float | str] | None = None,
        *,
        label: str | None = None,
        failed: bool = False,
        sem: float | Mapping[str, float] | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Event:
        """Replace the result of a trial; the old one stays in the history.

        A label names the trial of a row that has one result. The standard error stays, unless
        `sem` gives another. If all of this is stored already, no event is written, and a notice
        says so; the event that brought it is returned. Here and in the calls that follow, a call
        repeated with the same `key` counts once.
        """
        checks.needs(sem is None or not failed, "correct", "no sem for a failure", sem)
        why = check_reason(reason)
        number = self._find_trial("correct", trial, label, key)
        given = {"value": value, "failed": failed, "sem": sem}
        call = make_call("correct", key, {"trial": number, "reason": why, **given})
        if written := self._find_written(call):
            return written[0]
        right = tells.check_result(self.targets, self.candidates, number, **given, owner="correct")
        written = self._write_once(call, lambda state: edits.correct(state, right, why, call.key))
        if written:
            return written[0]
        warnings.warn(describe_unchanged(number, value), DataNotice, stacklevel=2)
        return self._show_events([edits.find_last_result(self._session.state, number)])[0]

    def withdraw(
        self,
        trial: int | None = None,
        *,
        label: str | None = None,
        reason: str = "",
        key: str | None = None,
    ) -> Event:
        """Let the result of a trial no longer count; it stays in the history."""
        why = check_reason(reason)
        number = self._find_trial("withdraw", trial, label, key)
        call = make_call("withdraw", key, {"trial": number, "reason": why})
        if written := self._find_written(call):
            return written[0]
        return self._write_once(call, lambda state: [edits.withdraw(state, number, why, call.key)])[
            0
        ]

    def release(self, trial: int, *, key: str | None = None) -> Event:
        """Give up a pending trial: its row can be suggested again."""
        return self.release_all([checks.whole("release", "trial", trial)], key=key)[0]

    def release_all(
        self,
        trials: Iterable[int | range] | None = None,
        *,
        worker: str | None = None,
        key: str | None = None,
    ) -> list[Event]:
        """Give up several pending trials in one transaction, all of them or none.

        A range stands for the pending trials in it. Without `trials` all are released that are
        pending when this is called, or all that a worker asked for; one that gets its result
        meanwhile is left out.
        """
        session = self._session
        checks.needs(
            trials is None or worker is None, "release", "trials or a worker", (trials, worker)
        )
        spans = None if trials is None else [check_span(trial) for trial in trials]
        checks.needs(spans is None or bool(spans), "release", "at least one trial", trials)
        signed = None if spans is None else sorted(spans, key=lambda one: (one[0], one[-1]))
        call = make_call("release", key, {"trials": signed, "worker": worker})
        with session.lock:
            session.refresh()
            pending = list(session.state.pending.values())
            found = [one.number for one in pending if worker in (None, one.worker)]

            def draft(state: State) -> list[Draft]:
                left = [range(trial, trial + 1) for trial in found if trial in state.pending]
                return edits.release(state, left if spans is None else spans, call.key)

            return self._write_once(call, draft)

    def undo(self, *, event: int | None = None, key: str | None = None) -> Event:
        """Undo the last ask, result, correction, withdrawal or change of settings or table.

        What one call wrote is undone together: all rows of `ask(4)`, all lines of a file. Returned
        is the event that undid the last of them; `undo_all(1)` returns all.

        With `event`, the number of an event of the step that is meant, nothing is undone if that is
        not the last step any more: of two people who undo the same step, one undoes it.
        """
        return self.undo_all(1, event=event, key=key)[0]

    def undo_all(
        self, n: int = 1, *, event: int | None = None, key: str | None = None
    ) -> list[Event]:
        """Undo the last n steps, or none of them, and return the events that undid them.

        A step is what one call or command wrote, such as the four rows of `ask(4)`. These are the
        last ones when this is called. What others write meanwhile stays; if it needs one of the
        steps, nothing is undone. With `event` the last of the steps has to be the one of this
        event, as for `undo`.
        """
        size, session = checks.whole("undo", "n", n), self._session
        wanted = None if event is None else checks.whole("undo", "event", event)
        call = make_call("undo", key, {"n": size, "event": wanted})
        with session.lock:
            if written := self._find_written(call):
                return written
            session.refresh()
            if wanted is not None:
                edits.check_last_step(session.state, wanted)
            chosen = edits.choose_undone(session.state, size)
            return self._write_once(call, lambda state: edits.undo(state, chosen, call.key))

    def last_step(self) -> list[Event]:
        """Return the events that `undo` would take back now, the last first; [] if none is left."""
        with self._session.lock:
            self._session.refresh()
            state = self._session.state
            left = next(state.undoable(), None) is not None
            return self._show_events(edits.choose_undone(state, 1)) if left else []

    def _find_written(self, call: Call) -> list[Event]:
        """Return the events of a call that is repeated with its user's key; [] if it is new."""
        if call.digest is None:
            return []
        with self._session.lock:
            self._session.refresh()
            return self._show_events(call.find_written(self._session.state))

    def _write_once(self, call: Call, draft: Callable[[State], list[Draft]]) -> list[Event]:
        """Write the events of a call, once, and return them.

        If the connection was cut, or the call is repeated with its key, they are found again.
        """

        def decide(state: State, now: float) -> tuple[list[Draft], None]:
            return [] if call.find_written(state) else call.sign(draft(state)), None

        with self._session.lock:
            self._session.write(decide)
            return self._show_events(call.find_written(self._session.state))

    @describe_settings
    def change(
        self,
        *,
        ranges: Mapping[str, Any] | None = None,
        key: str | None = None,
        **settings: Unpack[StudySettings],
    ) -> Event:
        """Change settings, or ranges of a space. The target and the direction cannot be changed.

        If all of them have these values already, no event is written, and a notice says so; the
        event of the last change is returned.

        Parameters
        ----------
        ranges
            Of a study over a space: other ends of some ranges, {"heat": (20, 120)}. Results beyond
            a range that was made narrower stay, and are learnt; points there are no longer
            suggested or recommended. Ranges and settings are changed by calls of their own.
        key
            A call repeated with the same key counts once.
        **settings
            Those to change:

            {settings}
        """
        from kernelbandits.study.driver import build_driver
        from kernelbandits.study.rules import with_changes

        if ranges is not None:
            needed = "ranges and settings in calls of their own"
            checks.needs(not settings, "change", needed, ["ranges", *settings])
            return self._change_ranges(ranges, key)
        checks.needs(bool(settings), "change", "at least one setting", "none")
        call = make_call("change", key, settings)
        if written := self._find_written(call):
            return written[0]
        self._session.refresh()
        if settings.get(LEARN_FROM) is not None:
            aim = self.target, self.direction
            with open_sources("change", settings[LEARN_FROM], self.place) as others:
                settings[LEARN_FROM] = read_sources("change", others, self.candidates, aim) or None
        changed = with_changes(self._session.state.settings, settings)
        # The choice is tried on points of its own, so that the study has met none more.
        driver = build_driver(self.candidates.without_points(), changed)
        driver.choose(1, (), State())

        def draft(state: State) -> list[Draft]:
            return edits.change(state, with_changes(state.settings, settings), call.key)

        written = self._write_once(call, draft)
        if not written:
            named = ", ".join(settings)
            warnings.warn(f"nothing was changed: {named} as before", DataNotice, stacklevel=2)
            return self._show_events([edits.find_last_change(self._session.state)])[0]
        [event] = written
        known = len(self._session.state.results)
        notices = driver.remark_budget(known) if "rounds" in settings else []
        if LEARN_FROM in settings:
            notices += [line for source in changed.sources for line in source.describe()]
        for notice in notices:
            warnings.warn(notice, DataNotice, stacklevel=2)
        return event

    def _change_ranges(self, ranges: Mapping[str, Any], key: str | None) -> Event:
        """Give ranges of a space other ends, and say what lies beyond them."""
        from kernelbandits.study.driver import build_driver

        call = make_call("change", key, {"ranges": ranges})
        if written := self._find_written(call):
            return written[0]
        self._session.refresh()
        # A policy that refuses the space leaves it as it was.
        wanted = self.candidates.with_ranges(ranges).without_points()
        build_driver(wanted, self._session.state.settings).choose(1, (), State())
        written = self._write_once(
            call, lambda state: edits.change_ranges(self.candidates, ranges, call.key)
        )
        if not written:
            named = ", ".join(ranges)
            text = f"nothing was changed: {named} as before"
            warnings.warn(text, DataNotice, stacklevel=3)
            return self._show_events([edits.find_last_change(self._session.state)])[0]
        state = self._session.state
        pending = [(one.number, one.row) for one in state.pending.values()]
        told = [trial.row for trial in state.results]
        for notice in self.candidates.remark_ranges(pending, told):
            warnings.warn(notice, DataNotice, stacklevel=3)
        return written[0]

    def best(self) -> Best | None:
        """Return the row to recommend, with its interval and its probability of being the best.

        None before any result. It is the measured row with the best estimate. If a row that was
        never measured has a better estimate, `best.untested` says which. With fewer than five
        results `best.early` says that it is too early to call any row the best.
        """
        with self._session.lock:
            return self._session.answers().best()

    def status(self) -> Status:
        """Return counts, the likely best, whether to stop, pending trials and settings."""
        from kernelbandits.study.summary import status_of

        with self._session.lock:
            answers, now = self._session.answers(), self._session.log.now()
            notices = (*self._session.driver.notices, *self._cautions())
            return status_of(answers, self.place, now, notices)

    def waiting(self) -> list[Waiting]:
        """Return the pending trials as `status` has them, by the clock of the database.

        No model is needed for it.
        """
        from kernelbandits.study.summary import list_waiting

        with self._session.lock:
            now = self._session.refresh()
            return list_waiting(self._session.state, self.candidates, now)

    def check(self) -> Check:
        """Check whether the model can be trusted: held-out results, columns, outliers, noise.

        Each measured candidate is predicted from the results of all others. All numbers are in the
        target's units.
        """
        from kernelbandits.study.model_check import check_model

        with self._session.lock:
            return check_model(self._session.answers())

    def relevance(self) -> tuple[ColumnRelevance, ...]:
        """Return how much each column or variable matters for the estimates, the greatest first.

        `share` is the share of the variance of the estimates that a column takes part in; see
        `ColumnRelevance`. An error if there is no result yet.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> space = {"heat": (20.0, 90.0), "pH": (3.0, 9.0)}
        >>> study = Study.create(folder.name + "/brew.db", space, target="yield")
        >>> for heat in (20, 40, 60, 80):
        ...     for pH in (3, 6, 9):
        ...         _ = study.tell(x={"heat": heat, "pH": pH}, value=heat / 10 + pH / 10)
        >>> [one.column for one in study.relevance()]
        ['heat', 'pH']
        >>> curve = study.partial_dependence("heat")
        >>> curve.values[0], curve.values[-1], round(curve.mean[-1] - curve.mean[0])
        (20.0, 90.0, 7)
        >>> study.close()
        >>> folder.cleanup()
        """
        from kernelbandits.insight import fitted_model
        from kernelbandits.study.dependence import require_model
        from kernelbandits.study.model_check import rank_columns

        with self._session.lock:
            answers = self._session.answers()
            require_model(answers, "relevance")
            model = fitted_model(answers.driver.policy)
            return () if model is None else rank_columns(answers, model)

    def partial_dependence(self, column: str) -> PartialDependence:
        """Return the estimate at each value of a column or variable, averaged over the others.

        Its band, `low` to `high`, is the 95 % interval of that average. It is averaged over the
        rows of the table, or over points spread over the space that satisfy its constraints.
        `pandas.DataFrame(curve.records())` is the curve as a table. An error if there is no result.
        """
        from kernelbandits.study.dependence import compute_dependence

        with self._session.lock:
            return compute_dependence(self._session.answers(), column)

    def estimate_map(self, across: str, up: str) -> EstimateMap:
        """Return the estimate over two columns or variables, all others as at the likely best.

        An error if there is no result yet.
        """
        from kernelbandits.study.dependence import compute_map

        with self._session.lock:
            return compute_map(self._session.answers(), across, up)

    def explain(self, trial: int | None = None, *, label: str | None = None) -> Explained:
        """Explain why the row of a trial was suggested, by the results of that time.

        A label names the trial of a row that was suggested once.
        """
        from kernelbandits.study.summary import explain_trial

        with self._session.lock:
            self._session.refresh()
            number = self._find_trial("explain", trial, label)
            known = self._session.state, self._session.places, number, self._session.driver
            return explain_trial(*known)

    def compare(self, row: int | str) -> RowComparison:
        """Compare a row of the table with the likely best: why not this one?

        The row is given by its number or by what it is called, as in `tell`. The answer has its
        estimate, its probability of being the best, that of the likely best, and the reason if it
        cannot be suggested now.

        Examples
        --------
        >>> import tempfile
        >>> folder = tempfile.TemporaryDirectory()
        >>> study = Study.create(folder.name + "/films.db", [[0.0], [0.5], [1.0]], target="haze")
        >>> event = study.forbid(2, reason="no precursor")
        >>> study.compare(2).reason
        'it is forbidden (no precursor)'
        >>> study.close()
        >>> folder.cleanup()
        """
        from kernelbandits.study.summary import compare_row

        number = self.candidates.check_row(self._find_row("compare", row, None, None), "compare")
        with self._session.lock:
            return compare_row(self._session.answers(), number)

    def replay(self, trial: int) -> Replayed:
        """Recompute the suggestion of a trial from the events before it."""
        from kernelbandits.study.summary import replay_trial

        with self._session.lock:
            self._session.refresh()
            number = checks.whole("replay", "trial", trial)
            return replay_trial(self._session.state, self._session.places, number)

    def history(self, after: int = 0) -> list[Event]:
        """Return all events in their order, or those after the event of this number."""
        with self._session.lock:
            self._session.refresh()
            events = self._session.state.events
            # Events are numbered from 1 without gaps.
            return self._show_events(events[after:])

    def to_dataframe(self) -> pd.DataFrame:
        """Return a DataFrame with one row for each trial."""
        from kernelbandits.study.dataframes import trials_frame

        with self._session.lock:
            self._session.refresh()
            return trials_frame(self._session.state, self.candidates)

    def front(self) -> pd.DataFrame:
        """Return the Pareto front of what was measured as a DataFrame, the most desirable first.

        With several targets only: candidates that no other measured one exceeds in all targets.
        """
        from kernelbandits.study.dataframes import front_frame
        from kernelbandits.study.target_models import find_front_points

        if not self._session.state.settings.combined:
            raise StudyConflict(
                "front needs a study of several targets with a direction, got one of a single one"
            )
        with self._session.lock:
            self._session.refresh()
            points = find_front_points(self._session.answers())
            return front_frame(points, self.candidates, self.targets)

    def estimates(self) -> pd.DataFrame:
        """Return a DataFrame of mean, sd and 95 % interval, with a row for each candidate.

        In a study over a space: for each point that has results or is pending.

        All are in the units of the target. Rows of the table that describe the same candidate are
        one row here, with the results of all of them.

        `attrs["caution"]` of the DataFrame says why the estimates are to be taken with care: there
        are no results yet, or the model predicts no better than their mean. It is "" otherwise.
        """
        from kernelbandits.study.dataframes import estimates_frame

        with self._session.lock:
            return estimates_frame(self._session.answers())

    def export(self, path: str | Path, *, force: bool = False) -> None:
        """Write all trials to a file.

        The name decides: .csv, .parquet, or .xlsx for a workbook with sheets of the trials, the
        candidates and their estimates. An existing file is only replaced with `force`, and a study
        never.
        """
        from kernelbandits.study.exports import export_study

        export_study(self, path, force)

    def backup(self, path: str | Path, *, force: bool = False) -> None:
        """Copy the study to a new SQLite file; others may write meanwhile.

        An existing file is only replaced with `force`, and a study never.
        """
        with self._session.lock:
            # A state older than the one in memory, which somebody put there, is not copied.
            self._session.refresh()
            write_backup(self._session.log, path, force=force)

    def doctor(self) -> list[Finding]:
        """Check the file, the events, the state and the posterior; return the findings."""
        from kernelbandits.study.checkup import check_memory

        with self._session.lock:
            answers = self._session.answers()
            return [*check_health(self._session.log), *check_memory(answers.driver, answers.state)]


def check_span(trials: Any) -> range:
    """Check a trial, or a range of trials, and return it as a range."""
    if isinstance(trials, range):
        checks.needs(len(trials) > 0 and trials[0] > 0, "release", "trials from 1 on", trials)
        return trials
    number = checks.whole("release", "trial", trials)
    return range(number, number + 1)


@contextmanager
def open_sources(owner: str, given: Any, own: Any) -> Iterator[list[Study]]:
    """Open the studies to learn from: one or several, by their places, or open already.

    `own` is where the study that learns is, or will be.
    """
    listed = list(given) if isinstance(given, (list, tuple)) else [given]
    needed = "the place of a study in learn_from, such as 'old.db', or a list of them"
    checks.needs(len(listed) <= MOST_SOURCES, owner, f"at most {MOST_SOURCES} studies", len(listed))
    with ExitStack() as stack:
        studies = list[Study]()
        for one in listed:
            known = isinstance(one, (str, PathLike, Study)) and one != ""
            checks.needs(known, owner, needed, one)
            if is_same_place(one.place if isinstance(one, Study) else one, own):
                got = "got the study itself"
                raise StudyConflict(f"{owner} needs another study to learn from, {got}")
            if not isinstance(one, Study):
                one = stack.enter_context(Study.open(one, writable=False))
            studies.append(one)
        yield studies


def rehearse_results(
    created: Draft,
    place: Place,
    measured: Sequence[Target],
    results: Any,
    reading: Mapping[str, Any],
) -> list[Draft]:
    """Return the events of results that are known when a study is created.

    They are told to a study that is thrown away: whatever `tell_all` says or refuses, it says or
    refuses before anything is stored.
    """
    lines = list_pairs(results, place, measured[0].name)
    with TemporaryDirectory(prefix="kernelbandits-") as folder:
        log = Log.create(Path(folder) / "rehearsal.db", created, place.stored_columns)
        with Study(log) as study:
            study.tell_all(lines, **reading)
            _, *events = log.events()
    kept = [one.name for one in fields(Draft)]
    return [Draft(**{name: getattr(event, name) for name in kept}) for event in events]
