"""The page of a study: what was asked, where it stands, figures, tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.experiment.summary import installed_version
from kernelbandits.formatting import format_interval, format_number, format_times
from kernelbandits.report.studies import html
from kernelbandits.report.studies.ranked import TOP
from kernelbandits.report.studies.rounds import INTERVAL
from kernelbandits.report.studies.sheets import Drawing, alone
from kernelbandits.report.studies.view import View

if TYPE_CHECKING:
    from kernelbandits.study import Best
    from kernelbandits.study.values import Waiting

OPEN, LISTED = 60, 5000
"""Trials up to which their table is unfolded, and of which at most so many are listed."""


def question(view: View) -> str:
    return f"{view.name}: which candidate has {sought(view)}?"


def sought(view: View) -> str:
    return f"the {'highest' if view.sign > 0 else 'lowest'} {view.target}"


def study_page(view: View, drawings: Sequence[Drawing]) -> str:
    parts = [
        status_section(view),
        *(
            [html.section(f"Trial {view.marked.trial}", html.paragraph(view.marked.sentence))]
            if view.marked
            else []
        ),
        *(html.section(one.title, html.figure(alone(one), one.caption)) for one in drawings),
        candidates_section(view),
        trials_section(view),
        settings_section(view),
    ]
    return html.page(question(view), asked(view), parts)


def asked(view: View) -> str:
    """One line on what the study is."""
    status, chosen = view.status, view.candidates.chosen
    rows = (
        f"{status.rows} rows, {len(view.beliefs)} of them different"
        if len(view.beliefs) < status.rows
        else f"{status.rows} rows"
    )
    table = f"A table of {rows}, described by {', '.join(chosen)}."
    return f"As of {moment(view.as_of)} UTC. {table} kernelbandits {installed_version('kernelbandits')}."


def status_section(view: View) -> str:
    status = view.status
    rows = [
        ["results", progress_line(view)],
        ["likely best", best_line(view)],
        ["may I stop?", status.stop.sentence],
    ]
    if status.waiting:
        rows.append(["pending", pending_line(view)])
    notes = [html.note(text) for text in status.notices]
    return html.section(
        "Where it stands", html.table(("sought", sought(view)), rows, text=(0, 1)), *notes
    )


def progress_line(view: View) -> str:
    s = view.status
    return (
        f"{s.told} results of {s.measured} rows; {s.pending} pending, {s.failed} failed, {s.withdrawn} withdrawn "
        f"({len(view.trials)} trials)"
    )


def best_line(view: View) -> str:
    best = view.status.best
    if best is None:
        return "not known yet"
    x = ", ".join(f"{name} = {exact(value)}" for name, value in best.x.items())
    sure = f"best with probability {best.probability:.2g}"
    estimate = format_interval(best.mean, best.low, best.high)
    found = f"{named_row(view, best.row)} ({x}): {view.target} {estimate}, {sure}"
    known = f"{found}; measured {format_times(best.results)}{with_alike(view, best)}"
    return f"{known}. {best.untested.sentence}" if best.untested else known


def named_row(view: View, row: int) -> str:
    """By its labels, where it has any, and its number."""
    called = view.called(row)
    return f"{called}, row {row}" if called else f"row {row}"


def with_alike(view: View, best: Best) -> str:
    together = int(view.beliefs.results[view.beliefs.member[best.row]])
    return (
        f", {format_times(together)} with the rows that are alike"
        if together > best.results
        else ""
    )


def pending_line(view: View) -> str:
    waiting = view.status.waiting
    shown = "; ".join(waiting_line(view, one) for one in waiting[:TOP])
    return f"{shown}; ... and {len(waiting) - TOP} more" if len(waiting) > TOP else shown


def waiting_line(view: View, one: Waiting) -> str:
    who = f" with {one.worker}" if one.worker else ""
    return (
        f"trial {one.trial}, {named_row(view, one.row)}{who}{' (overdue)' if one.overdue else ''}"
    )


def candidates_section(view: View) -> str:
    known = f"{view.target}: estimate, 95 % interval"
    headings = (
        "row",
        *view.candidates.labels,
        *view.candidates.chosen,
        known,
        "sd",
        "results",
        "their average",
    )
    rows = [candidate_row(view, int(place)) for place in view.ranked[:TOP]]
    said = f"Rows that are alike count once. The interval is {INTERVAL}."
    shown = html.table(headings, rows, text=text_columns(view, 1))
    return html.section("Best candidates, in numbers", shown, html.paragraph(said))


def candidate_row(view: View, i: int) -> list[str]:
    held = view.beliefs
    known = [format_interval(held.mean[i], held.low[i], held.high[i]), brief_number(held.sd[i])]
    return [
        str(held.row[i]),
        *cells(view, int(held.row[i])),
        *known,
        str(held.results[i]),
        exact(held.average[i]),
    ]


def cells(view: View, row: int) -> list[str]:
    """What a row is called and what describes it."""
    return [*view.candidates.label(row).values(), *map(exact, view.candidates.x(row).values())]


def exact(value: float | str) -> str:
    """Eight digits of a number, text as it is."""
    return format_number(value, 8, thousands=False)


def brief_number(value: float) -> str:
    return format_number(value, thousands=False)


def text_columns(view: View, before: int) -> list[int]:
    labels, kinds = view.candidates.labels, view.candidates.kinds
    names = (*labels, *view.candidates.chosen)
    return [
        before + i for i, name in enumerate(names) if name in labels or kinds[name] == "category"
    ]


def trials_section(view: View) -> str:
    count = len(view.trials)
    if not count:
        return html.section("Trials", html.paragraph("None yet."))
    noted = ("estimate when asked", "sd", "weight", "asked (UTC)", "told (UTC)", "worker")
    known = (*view.candidates.labels, *view.candidates.chosen)
    headings = ("trial", "row", *known, "state", view.target, *noted)
    rows = [trial_row(view, i) for i in range(max(0, count - LISTED), count)]
    text = [*text_columns(view, 2), 2 + len(known), len(headings) - 1]
    some = f"The last {LISTED} of {count} trials (study export writes all)"
    title = f"All {count} trials" if count <= LISTED else some
    return html.section(
        "Trials", html.details(title, html.table(headings, rows, text=text), shown=count <= OPEN)
    )


def trial_row(view: View, i: int) -> list[str]:
    trials = view.trials
    row = int(trials.row[i])
    numbers = [
        exact(trials.value[i]),
        *(brief_number(one[i]) for one in (trials.mean, trials.sd, trials.weight)),
    ]
    when = [moment(trials.asked_at[i]), moment(trials.told_at[i])]
    return [
        str(trials.number[i]),
        str(row),
        *cells(view, row),
        str(trials.state[i]),
        *numbers,
        *when,
        trials.worker[i],
    ]


def moment(seconds: float) -> str:
    return (
        f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}" if np.isfinite(seconds) else "–"
    )


def settings_section(view: View) -> str:
    status = view.status
    said = {
        "policy": status.policy,
        "what is claimed": status.claim,
        "units": status.units,
        "rows are repeated": status.repeats,
    }
    given = {
        name: plain(value)
        for name, value in view.settings.items()
        if value is not None and name != "repeats"
    }
    rows = [*said.items(), *given.items()]
    rows.append(("table", f"sha256 {view.candidates.fingerprint}"))
    return html.section("Settings", html.table(("setting", "value"), rows, text=(0, 1)))


def plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} = {plain(one)}" for name, one in value.items()) or "–"
    return listed(value) if isinstance(value, (list, tuple)) else str(value)


def listed(values: Iterable[Any]) -> str:
    return "[" + ", ".join(plain(one) for one in values) + "]"
