"""A durable study: candidates, a policy and an append-only log of what was asked and told."""

from __future__ import annotations

import uuid
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from kernelbandits import checks
from kernelbandits.checks import DataNotice, Direction, StudyConflict
from kernelbandits.formatting import format_count
from kernelbandits.markup import html_card, html_pairs, html_paragraphs, html_table
from kernelbandits.outputs import check_output
from kernelbandits.storage import Draft, Event, Log, StudyExists
from kernelbandits.study import decisions, plausibility, reconciliation
from kernelbandits.study.events import State
from kernelbandits.study.names import check_name, check_reason
from kernelbandits.study.session import StudySession
from kernelbandits.study.settings import (
    FIRST_RELEASE,
    REVISIONS,
    Settings,
    StudySettings,
    check_lease,
)
from kernelbandits.study.values import (
    Best,
    Explained,
    Replayed,
    Status,
    Suggestion,
    Told,
    describe_row,
)
from kernelbandits.tables.candidates import Candidates, read_candidates
from kernelbandits.tables.export import write_csv
from kernelbandits.tables.results import read_results
from kernelbandits.tables.roles import Notices
from kernelbandits.tables.scaling import differing_scales, name_scales

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.domains import MixedBox
    from kernelbandits.policies import PartialDependence, Policy
    from kernelbandits.storage import Finding
    from kernelbandits.study.dependence import EstimateMap
    from kernelbandits.study.model_check import Check, ColumnRelevance
    from kernelbandits.study.places import Place


MOST_ASKED = 10_000
"""Rows in one call."""
MOST_SHOWN = 10
"""Pending trials that a notebook lists."""


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
    >>> folder = tempfile.TemporaryDirectory()
    >>> candidates = [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    >>> study = Study.create(folder.name + "/films.db", candidates, target="stability")
    >>> [suggestion] = study.ask()
    >>> stored = study.tell(suggestion.trial, 0.83)
    >>> study.best().row == suggestion.row
    True
    >>> study.close()

    Over ranges, with a result at a point that nobody asked for:

    >>> space = {"heat": (20, 90), "acid": ["citric", "acetic"]}
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
    def create(
        cls,
        where: str | Path,
        candidates: Any,
        *,
        target: str = "value",
        direction: Direction = "maximize",
        columns: Sequence[str] | None = None,
        cost: str | None = None,
        allowed: str | None = None,
        log: str | Sequence[str] | None = None,
        linear: str | Sequence[str] | None = None,
        or_open: bool = False,
        **settings: Unpack[StudySettings],
    ) -> Study:
        """Create a study; with `or_open` open an existing one that was created in the same way.

        Parameters
        ----------
        where
            A file such as "films.db", or "postgresql://user@host/db?study=films".
        candidates
            A CSV file, a DataFrame or an (n, d) array. Each row is a candidate. Or a space: a
            `kb.MixedBox`, a `kb.Box`, a dictionary of variables such as {"heat": (20, 90)}, a list
            of tuples [(0, 1), (0, 1)], or a space file, whose name ends in .toml or .json. Of a
            space, the following arguments up to `linear` are the target and the direction only.
        target
            Name of the measured quantity.
        direction
            "maximize" ("max") or "minimize" ("min").
        columns
            The columns that describe a candidate. None: all that are not used otherwise.
        cost, allowed
            Columns with the cost of each row, and with yes or no: may it be measured?
        log, linear
            Columns of numbers that the model sees by their logarithms, such as concentrations from
            0.001 to 10, or by their values. A column that is in neither is taken by its logarithms
            if its values are positive, span at least a factor of 1000, and are much more evenly
            spread so; a notice then says it.
        policy, kernel, settings
            "auto" or a name of the catalogue, its kernel (`kb.RBF(0.2)` or "rbf:0.2"), and a
            mapping of its own settings.
        seed
            Seed of all random choices.
        lease
            Seconds for which a row stays reserved after `ask`.
        goal
            Of auto: "find" the best row in the end (the default), or "earn" while measuring, which
            is the paper's regret. A named policy plays its own rule and takes no goal.
        noise
            Of auto: the standard deviation of one result in the units of the target, if it is
            known; 0 if a measurement always gives the same result. Results that contradict it
            overrule it, and `status` says so.
        rounds
            Of auto: how many measurements there will be, if that is known.
        repeats
            Whether rows with a result may be suggested again. None: with the goal "find" auto
            repeats a row when that is expected to gain more than another row, with the goal "earn"
            only when every allowed row has a result or is pending; a named policy repeats rows
            whenever its rule does.
        centre, spread
            A typical value of the target and its variation. None: those of the first results.
        tolerance
            How much you are willing to lose, in units of the target, for `status` to say stop.
        delta
            Allowed probability that a confidence statement is wrong.
        """
        from kernelbandits.study.driver import build_driver
        from kernelbandits.study.points import Points, find_space
        from kernelbandits.study.rules import make_settings

        place: Place
        options: dict[str, Any] = {
            "columns": columns,
            "cost": cost,
            "allowed": allowed,
            "log": log,
            "linear": linear,
        }
        space = find_space(candidates)
        if space is None:
            place = read_candidates(candidates, target=target, **options)
        else:
            refuse_options(options)
            refuse_target(target, space.names)
            place = Points(space)
        chosen = make_settings(target=target, direction=direction, **settings)
        # Try a first choice before anything is stored: settings that the policy refuses leave no
        # file behind.
        build_driver(place, chosen).choose(1, (), State())
        kind = "space" if isinstance(place, Points) else "candidates"
        body = {"settings": chosen.body, kind: place.body, "fingerprint": place.fingerprint}
        created = Draft(kind="created", body=body, key=uuid.uuid4().hex)
        lists = {} if isinstance(place, Points) else place.lists
        try:
            study = cls(Log.create(where, created, lists))
        except StudyExists:
            study = cls.open(where)
            if not or_open and study.history()[0].key != created.key:
                study.close()
                raise
            scales = (
                name_scales(place.columns, "Study", log, linear, Notices())
                if isinstance(place, Candidates)
                else {}
            )
            return study._if_created(body, scales, goal_given=settings.get("goal") is not None)
        planned = budget_notices(chosen, study._session.driver.policy)
        for notice in (*place.notices, *study._session.driver.notices, *planned):
            warnings.warn(notice, DataNotice, stacklevel=2)
        return study

    @classmethod
    def open(cls, where: str | Path, *, writable: bool = True) -> Study:
        """The study at this place, rebuilt from its events."""
        return cls(Log.open(where, writable=writable))

    def _if_created(
        self, body: Mapping[str, Any], scales: Mapping[str, str], goal_given: bool
    ) -> Study:
        """Itself, unless it was created with another table or other settings.

        The revision is that of the release which created it, and no difference. Where repeats or
        the goal were not given, a study of 0.1 has the default of 0.1. Columns that are not among
        the named `scales` keep the scale that they have.
        """
        there = self._session.state.events[0].body
        found, wanted = Settings.of(there["settings"]).body, dict(body["settings"])
        if "revision" not in there["settings"] and wanted["repeats"] is None:
            wanted["repeats"] = FIRST_RELEASE["repeats"]
        if "goal" not in there["settings"] and not goal_given:
            wanted["goal"] = found["goal"]
        other = [name for name in wanted if name not in REVISIONS and wanted[name] != found[name]]
        kind = "space" if "space" in body else "candidates"
        other += [kind] if body["fingerprint"] != there["fingerprint"] else []
        other += ["columns"] if tasks_of(body) != tasks_of(there) else []
        for name in differing_scales(scales, self._place.log):
            other.append(f"scale of column {name!r}")
        if other:
            self.close()
            raise StudyConflict(
                f"or_open needs a study created in the same way, got one with another "
                f"{' and '.join(other)}"
            )
        return self

    def __repr__(self) -> str:
        results = sum(self._session.state.counts.values())
        size = f"{len(self._place)} rows" if self.space is None else "a space"
        return f"Study({self.place!r}, {size}, {results} results)"

    def _repr_html_(self) -> str:
        """What a notebook shows: what is measured, how far it is, and what is pending.

        It is read off the events. The likely best needs a fit, which `best()` makes.
        """
        state, place = self._session.state, self._place
        states = [trial.state for trial in state.trials.values()]
        counts = {name: states.count(name) for name in ("told", "failed", "pending")}
        where = format_count(len(place), "row") if place.space is None else place.describe()
        known = [
            ("target", f"{self.target}, {self.direction}"),
            ("candidates" if place.space is None else "space", where),
            ("results", counts["told"]),
            ("failed", counts["failed"]),
            ("pending", counts["pending"]),
        ]
        pending = list(state.pending.values())[:MOST_SHOWN]
        waiting = [(one.number, describe_trial(place, one.row)) for one in pending]
        more = counts["pending"] - len(pending)
        return html_card(
            f"Study {self.place}",
            html_pairs(known),
            html_table(("pending trial", place.noun), waiting) if waiting else "",
            html_paragraphs(f"... and {more} more pending" if more > 0 else ""),
        )

    def __enter__(self) -> Study:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._session.log.close()

    @property
    def candidates(self) -> Candidates:
        """The table, and which of its columns count; an error in a study over a space."""
        if isinstance(self._place, Candidates):
            return self._place
        raise StudyConflict(
            "this needs a study of a table of candidates, got one over a space, which has no table"
        )

    @property
    def space(self) -> MixedBox | None:
        """The space that is measured; None in a study of a table."""
        return self._place.space

    def read_point(self, texts: Mapping[str, str]) -> dict[str, Any]:
        """A point of the space whose values are given as texts, as a command or a file has them."""
        place = self._place
        if isinstance(place, Candidates):
            raise StudyConflict(
                "a point needs a study over a space, got one of a table; tell the row instead"
            )
        return place.parse_point(texts)

    @property
    def _place(self) -> Place:
        return self._session.candidates

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
    def settings(self) -> Mapping[str, Any]:
        return self._session.state.settings.body

    def ask(
        self, n: int = 1, *, worker: str | None = None, lease: float | None = None
    ) -> list[Suggestion]:
        """Return the n rows, or points of a space, to measure next.

        Each row is pending until its result is told or its lease ends (`lease` in seconds). A
        worker that asks again under the same name first gets its pending rows.
        """
        size, name = checks.whole("ask", "n", n), check_name("worker", worker)
        checks.needs(size <= MOST_ASKED, "ask", f"at most {MOST_ASKED} rows at once", n)
        seconds = None if lease is None else check_lease(lease)
        asker, session = decisions.Asker(size, name, seconds, uuid.uuid4().hex), self._session
        with session.lock:
            events = session.ask(asker)
            state = session.state
            revised = state.keys.get(asker.settings_key)
            notices = [] if revised is None else [decisions.revision_notice(revised)]
            if any((event.key or "").startswith(f"{asker.key}/fitted/") for event in state.fits):
                # What a fit says of the settings is said with the ask that made it, not with all.
                notices += self._cautions()
        notices += decisions.count_notices([event.row or 0 for event in events], self._place)
        notices += decisions.exhaustion_notices(state, self._place)
        for notice in notices:
            warnings.warn(notice, DataNotice, stacklevel=2)
        sign, said = state.settings.sign, tuple(notices)
        return [decisions.suggestion(event, self._place, sign, said) for event in events]

    def _cautions(self) -> list[str]:
        """What the policy, with the results that it has learnt, says of the settings."""
        from kernelbandits.study.cautions import describe_noise

        return describe_noise(self._session.driver.policy, self._session.state)

    def tell(
        self,
        trial: int | None = None,
        value: float | None = None,
        *,
        row: int | None = None,
        x: Mapping[str, Any] | None = None,
        failed: bool = False,
        key: str | None = None,
        worker: str | None = None,
    ) -> Told:
        """Store the result of a trial, or of a `row` or point `x` that nobody asked for.

        With `failed=True` the measurement gave no value. A trial has one result: a second one
        raises AlreadyTold, which holds the stored one. A call repeated with the same `key` counts
        once.
        """
        result = decisions.check_result(trial, value, row, failed, self._place, x)
        name, again = check_name("worker", worker), check_name("key", key)
        return self._tell(
            [decisions.Keyed(result, again or uuid.uuid4().hex, again is not None)], name
        )[0]

    def tell_all(
        self,
        source: Any,
        *,
        key: str | None = None,
        worker: str | None = None,
        corrected: bool = False,
        replicates: bool = False,
    ) -> list[Told]:
        """Store all results of a CSV file, a DataFrame or a list of mappings, or none of them.

        A line names its trial, its row or the values of all columns, and has the value of the
        target (or failed). Lines of a file that were told before are skipped (accepted is False),
        so a file may grow and be told again.

        If a line has another value than the stored result of its trial or candidate, nothing is
        stored and `ResultsDiffer` lists both values. With `corrected` the new values then replace
        the stored ones; with `replicates` they are results of further measurements.
        """
        name, prefix = check_name("worker", worker), check_name("key", key)
        repeats = reconciliation.check_repeats(corrected, replicates)
        results = read_results(source, self._place, self.target)
        fresh = uuid.uuid4().hex
        return self._tell(
            [decisions.with_key(one, prefix, number, fresh) for number, one in enumerate(results)],
            name,
            repeats,
        )

    def _tell(
        self, results: Sequence[decisions.Keyed], worker: str | None, repeats: str | None = None
    ) -> list[Told]:
        session = self._session
        steps: list[reconciliation.Step] = []

        def decide(state: State, now: float) -> tuple[list[Draft], Any]:
            steps[:] = reconciliation.reconcile(state, self._place, results, repeats)
            drafts, told = decisions.tell(state, self._place, steps, worker)
            return drafts, (plausibility.latest_values(state), told)

        told: list[Told]
        with session.lock:
            _, (known, told) = session.write(decide)
            notices = reconciliation.remark_stored(steps)
            notices += plausibility.remark_results(known, told, session.state.settings, self._place)
        for notice in notices:
            warnings.warn(notice, DataNotice, stacklevel=3)
        if self.space is None:
            return told
        return [replace(one, row=None, x=self._place.x(one.row or 0)) for one in told]

    def _shown(self, events: Iterable[Event]) -> list[Event]:
        """Events as they are stored: a point of a space has no row, and stands in the body."""
        if self.space is None:
            return list(events)
        return [event if event.row is None else replace(event, row=None) for event in events]

    def correct(
        self, trial: int, value: float | None = None, *, failed: bool = False, reason: str = ""
    ) -> Event:
        """Replace the result of a trial; the old one stays in the history."""
        given = decisions.check_result(trial, value, None, failed, self._place)
        number, why = given.trial or 0, check_reason(reason)
        return self._write_one(
            lambda state, key: decisions.correct(state, number, given.value, why, key)
        )

    def withdraw(self, trial: int, *, reason: str = "") -> Event:
        """Let the result of a trial no longer count; it stays in the history."""
        number, why = checks.whole("withdraw", "trial", trial), check_reason(reason)
        return self._write_one(lambda state, key: decisions.withdraw(state, number, why, key))

    def release(self, trial: int) -> Event:
        """Give up a pending trial: its row can be suggested again."""
        return self.release_all([checks.whole("release", "trial", trial)])[0]

    def release_all(
        self, trials: Iterable[int | range] | None = None, *, worker: str | None = None
    ) -> list[Event]:
        """Give up several pending trials in one transaction, all of them or none.

        A range stands for the pending trials in it. Without `trials` all are released that are
        pending when this is called, or all that a worker asked for; one that gets its result
        meanwhile is left out.
        """
        session, key = self._session, uuid.uuid4().hex
        checks.needs(
            trials is None or worker is None, "release", "trials or a worker", (trials, worker)
        )
        spans = None if trials is None else [check_span(trial) for trial in trials]
        with session.lock:
            session.refresh()
            pending = list(session.state.pending.values())
            found = [one.number for one in pending if worker in (None, one.worker)]

            def decide(state: State, now: float) -> tuple[list[Draft], None]:
                if f"{key}/0" in state.keys:
                    return [], None
                left = [range(trial, trial + 1) for trial in found if trial in state.pending]
                return decisions.release(state, left if spans is None else spans, key), None

            session.write(decide)
            return self._events_of(key)

    def undo(self) -> Event:
        """Undo the last ask, result, correction, withdrawal or change of settings."""
        return self.undo_all(1)[0]

    def undo_all(self, n: int) -> list[Event]:
        """Undo the last n steps, or none of them.

        These are the last ones when this is called. What others write meanwhile stays; if it needs
        one of the steps, nothing is undone.
        """
        size, session, key = checks.whole("undo", "n", n), self._session, uuid.uuid4().hex
        with session.lock:
            session.refresh()
            chosen = decisions.choose_undone(session.state, size)

            def decide(state: State, now: float) -> tuple[list[Draft], None]:
                done = f"{key}/0" in state.keys
                return [] if done else decisions.undo(state, chosen, key), None

            session.write(decide)
            return self._events_of(key)

    def _events_of(self, key: str) -> list[Event]:
        """The events that a call wrote, in their order."""
        own = [
            event
            for event in reversed(self._session.state.events)
            if (event.key or "").startswith(f"{key}/")
        ]
        return self._shown(own[::-1])

    def change(self, **settings: Unpack[StudySettings]) -> Event:
        """Change settings: all that `create` takes, except table, target and direction."""
        from kernelbandits.study.driver import build_driver
        from kernelbandits.study.rules import with_changes

        checks.needs(bool(settings), "change", "at least one setting", "none")
        self._session.refresh()
        before = self._session.state.settings
        changed = with_changes(before, settings)
        driver = build_driver(self._place, changed)
        driver.choose(1, (), State())
        event = self._write_one(
            lambda state, key: decisions.change(with_changes(state.settings, settings).body, key)
        )
        known = len(self._session.state.results)
        notices = budget_notices(changed, driver.policy, known) if "rounds" in settings else []
        if changed.policy == before.policy and changed.defaults != before.defaults:
            notices.append(defaults_notice(before, changed))
        for notice in notices:
            warnings.warn(notice, DataNotice, stacklevel=2)
        return event

    def _write_one(self, draft: Callable[[State, str], Draft]) -> Event:
        """Write one event, once, even if the connection is cut: it is found again by its key."""
        key = uuid.uuid4().hex

        def decide(state: State, now: float) -> tuple[list[Draft], None]:
            return [] if key in state.keys else [draft(state, key)], None

        with self._session.lock:
            self._session.write(decide)
            return self._shown([self._session.state.keys[key]])[0]

    def best(self) -> Best | None:
        """The row to recommend, with its interval and its probability of being the best.

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
        >>> space = {"heat": (20, 90), "pH": (3, 9)}
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
        from kernelbandits.study.dependence import require_model
        from kernelbandits.study.model_check import rank_columns

        with self._session.lock:
            answers = self._session.answers()
            require_model(answers, "relevance")
            model = answers.driver.policy.fitted_model()
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

    def explain(self, trial: int) -> Explained:
        """Explain why the row of a trial was suggested, by the results of that time."""
        from kernelbandits.study.summary import explain_trial

        with self._session.lock:
            self._session.refresh()
            number = checks.whole("explain", "trial", trial)
            known = self._session.state, self._place, number, self._session.driver
            return explain_trial(*known)

    def replay(self, trial: int) -> Replayed:
        """Recompute the suggestion of a trial from the events before it."""
        from kernelbandits.study.summary import replay_trial

        with self._session.lock:
            self._session.refresh()
            number = checks.whole("replay", "trial", trial)
            return replay_trial(self._session.state, self._place, number)

    def history(self) -> list[Event]:
        """All events, in their order."""
        with self._session.lock:
            self._session.refresh()
            return self._shown(self._session.state.events)

    def to_dataframe(self) -> pd.DataFrame:
        """One row for each trial."""
        from kernelbandits.study.dataframes import trials_frame

        with self._session.lock:
            self._session.refresh()
            return trials_frame(self._session.state, self._place)

    def estimates(self) -> pd.DataFrame:
        """One row for each different candidate, with mean, sd and 95 % interval.

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
        """Write all trials to a CSV file.

        An existing file is only replaced with `force`, and a study never.
        """
        check_output("an export", path, force)
        frame = self.to_dataframe()
        write_csv(path, list(frame.columns), frame.itertuples(index=False), force=force)

    def backup(self, path: str | Path, *, force: bool = False) -> None:
        """Copy the study to a new SQLite file; others may write meanwhile.

        An existing file is only replaced with `force`, and a study never.
        """
        with self._session.lock:
            # A state older than the one in memory, which somebody put there, is not copied.
            self._session.refresh()
            self._session.log.backup(Path(path), force=force)

    def doctor(self) -> list[Finding]:
        """Check the file, the events, the state and the posterior; return the findings."""
        from kernelbandits.study.checkup import check_memory

        with self._session.lock:
            answers = self._session.answers()
            return [*self._session.log.health(), *check_memory(answers.driver, answers.state)]


def describe_trial(place: Place, row: int) -> str:
    """The candidate of a trial, in words."""
    return describe_row(place.number(row), place.label(row), place.x(row))


def check_span(trials: Any) -> range:
    """A trial, or a range of trials, as a range."""
    if isinstance(trials, range):
        checks.needs(len(trials) > 0 and trials[0] > 0, "release", "trials from 1 on", trials)
        return trials
    number = checks.whole("release", "trial", trials)
    return range(number, number + 1)


def refuse_options(options: Mapping[str, Any]) -> None:
    """A space has no columns: refuse what belongs to a table."""
    for name, given in options.items():
        needed = f"no {name} for a space, whose variables say it themselves"
        checks.needs(given is None, "Study", needed, given)


def refuse_target(target: str, names: Sequence[str]) -> None:
    checks.needs(target not in names, "Study", "a target that is no variable of the space", target)


def tasks_of(created: Mapping[str, Any]) -> dict[str, Any]:
    """What the columns of a study are for; their scales and the notices are left out."""
    tasks = created.get("candidates", {}).items()
    return {name: value for name, value in tasks if name not in ("log", "ranges", "notices")}


def budget_notices(settings: Settings, policy: Policy, known: int = 0) -> list[str]:
    """Say so if the budget ends before the policy can choose by any of the results known."""
    from kernelbandits.policies import Auto

    if settings.rounds is None or not isinstance(policy, Auto):
        return []
    if max(settings.rounds, known) > policy.first:
        return []
    design = f"the initial design has {policy.first}"
    return [
        f"{format_count(settings.rounds, 'measurement')} planned, and {design}: all of them will "
        "be spread out, and none is chosen by the results of others"
    ]


def defaults_notice(before: Settings, changed: Settings) -> str:
    """Say that a goal which an older revision did not have brings the defaults of another one."""
    return (
        f"revision {before.defaults} of {changed.policy}, with which this study was created, did "
        f"not have the goal {changed.goal!r}: settings that were not given are now those of "
        f"revision {changed.defaults}"
    )
