"""The page of a study: its status, figures, best candidates, trials and settings.

This module computes the texts and cells; `templates/study.html` is the page itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from kernelbandits.experiment.summary import installed_version
from kernelbandits.formatting import (
    format_cell,
    format_fixed,
    format_interval,
    format_number,
    format_time,
)
from kernelbandits.insight.dependence import BAND
from kernelbandits.report.pages import render
from kernelbandits.report.studies.curves import INTERVAL
from kernelbandits.report.studies.posterior import TOP
from kernelbandits.report.studies.sheets import Drawing, render_svg
from kernelbandits.report.studies.view import View
from kernelbandits.study.words import describe_waiting, format_result, spell_setting

if TYPE_CHECKING:
    from kernelbandits.insight import PartialDependence
    from kernelbandits.study import Check
    from kernelbandits.study.values import Waiting

OPEN, LISTED = 60, 5000
"""The table of trials is unfolded up to OPEN trials, and shows at most the last LISTED."""


def study_page(view: View, drawings: Sequence[Drawing]) -> str:
    """Return the page of a study as HTML, with these drawings as its figures."""
    return render(
        "study.html",
        title=question(view),
        lead=describe_study(view),
        pending=pending_table(view),
        nothing_pending=f"Nothing is pending: ask the study for the next {view.noun}.",
        status=status_table(view),
        notices=view.status.notices,
        explanation=view.explanation,
        drawings=[(one.title, render_svg(one), one.full_caption) for one in drawings],
        interval_meaning=INTERVAL,
        noun=view.noun,
        column_noun=view.column_noun,
        relevance=columns_table(view.check),
        curves=[curve_table(one) for one in view.check.dependence],
        band_meaning=BAND,
        candidates=candidates_table(view),
        trials=trials_table(view),
        trials_title=trials_title(len(view.trials)),
        trials_open=len(view.trials) <= OPEN,
        settings=settings_table(view),
    )


def table(
    headings: Sequence[str], rows: Iterable[Sequence[str]], text: Sequence[int]
) -> dict[str, Any]:
    """Return a table for the template; the columns whose numbers are in `text` hold text."""
    return {"headings": headings, "rows": list(rows), "text": text}


def question(view: View) -> str:
    return f"{view.name}: which {view.noun} has {describe_goal(view)}?"


def describe_goal(view: View) -> str:
    limits = f" with {view.status.limits}" if view.status.limits else ""
    return f"the {'highest' if view.sign > 0 else 'lowest'} {view.target}{limits}"


def describe_study(view: View) -> str:
    """Say when the page was true, and what the table of the study is."""
    version = installed_version("kernelbandits")
    what = view.candidates.introduce()
    return f"As of {format_time(view.as_of, utc=True)}. {what} kernelbandits {version}."


def pending_table(view: View) -> dict[str, Any]:
    """Return what was suggested and has no result yet, with the reasons."""
    shown = view.candidates.shown_columns
    headings = ("trial", *shown, f"{view.target}: estimate, 95 % interval", "why")
    rows = [pending_cells(view, one) for one in view.status.waiting[:TOP]]
    return table(headings, rows, text=[*text_columns(view, 1), len(headings) - 1])


def pending_cells(view: View, one: Waiting) -> list[str]:
    place, estimates = view.place_of(one.row, one.x), view.estimates
    known = estimates.mean[place], estimates.low[place], estimates.high[place]
    row = int(estimates.row[place]) if one.row is None else one.row
    return [
        str(one.trial),
        *row_cells(view, row),
        format_interval(*known) if estimates.results.any() else "–",
        view.reasons.get(one.trial, ""),
    ]


def columns_table(check: Check) -> dict[str, Any]:
    """Return how much each column matters; empty if that is unknown."""
    rows = [
        (
            one.column,
            format_fixed(100 * one.share, 0),
            f"{format_fixed(100 * one.low, 0)} to {format_fixed(100 * one.high, 0)}",
            format_fixed(100 * one.alone, 0),
            format_number(one.lengthscale, 2) + (" (log)" if one.log else ""),
        )
        for one in check.columns
    ]
    headings = (check.noun, "share (%)", "among the fits (%)", "alone (%)", "lengthscale")
    return table(headings, rows, text=(0,))


def curve_table(curve: PartialDependence) -> dict[str, Any]:
    """Return the partial dependence on a column as a table."""
    rows = [
        (format_cell(value), format_interval(mean, low, high))
        for value, mean, low, high in zip(
            curve.values, curve.mean, curve.low, curve.high, strict=True
        )
    ]
    text = () if curve.is_number else (0,)
    return table((curve.name, "average estimate, 95 % interval"), rows, text=text)


def status_table(view: View) -> dict[str, Any]:
    best, light = view.status.best, view.status.stop.headline
    rows = [
        ("in short", f"{best.headline}. {light}" if best else light),
        ("results", describe_progress(view)),
        ("likely best", view.status.best.sentence if view.status.best else "not known yet"),
        ("may I stop?", view.status.stop.sentence),
    ]
    rows += [("regret so far", view.status.regret)] if view.status.regret else []
    rows += [(one.name, one.sentence) for one in view.status.targets]
    if view.status.waiting:
        rows.append(("pending", describe_pending(view)))
    return table(("goal", describe_goal(view)), rows, text=(0, 1))


def describe_progress(view: View) -> str:
    status = view.status
    return (
        f"{status.told} results of {status.measured} {view.candidates.noun}s; "
        f"{status.pending} pending, {status.failed} failed, {status.withdrawn} withdrawn "
        f"({len(view.trials)} trials)"
    )


def describe_pending(view: View) -> str:
    waiting = view.status.waiting
    shown = "; ".join(describe_waiting(one, view.label(one.row)) for one in waiting[:TOP])
    return f"{shown}; ... and {len(waiting) - TOP} more" if len(waiting) > TOP else shown


def candidates_table(view: View) -> dict[str, Any]:
    """Return the best candidates with their estimates."""
    headings = (
        *view.candidates.shown_columns,
        f"{view.target}: estimate, 95 % interval",
        "sd",
        "results",
        "average of results",
    )
    rows = [candidate_cells(view, int(place)) for place in view.ranking[:TOP]]
    return table(headings, rows, text=text_columns(view, 0))


def candidate_cells(view: View, i: int) -> list[str]:
    estimates = view.estimates
    row = int(estimates.row[i])
    return [
        *row_cells(view, row),
        format_interval(estimates.mean[i], estimates.low[i], estimates.high[i]),
        format_brief(estimates.sd[i]),
        str(estimates.results[i]),
        format_result(estimates.average[i]),
    ]


def row_cells(view: View, row: int) -> list[str]:
    """Return what stands of a candidate below `shown_columns`, as text."""
    return [*map(format_cell, view.candidates.shown_cells(row))]


def text_columns(view: View, before: int) -> list[int]:
    """Return which of the columns of `row_cells` are text, after `before` other columns."""
    place = view.candidates
    text = {*place.labels, *place.categories}
    return [before + i for i, name in enumerate(place.shown_columns) if name in text]


def trials_title(count: int) -> str:
    if count <= LISTED:
        return f"All {count} trials"
    return f"The last {LISTED} of {count} trials (study export writes all)"


def trials_table(view: View) -> dict[str, Any]:
    """Return the newest trials, at most LISTED."""
    columns = view.candidates.shown_columns
    headings = (
        "trial",
        *columns,
        "state",
        view.target,
        *(one.name for one in view.others),
        "estimate when asked",
        "sd",
        "weight",
        "asked",
        "told",
        "worker",
    )
    count = len(view.trials)
    rows = [trial_cells(view, i) for i in range(max(0, count - LISTED), count)]
    state, worker = 1 + len(columns), len(headings) - 1
    return table(headings, rows, text=[*text_columns(view, 1), state, worker])


def trial_cells(view: View, i: int) -> list[str]:
    trials = view.trials
    row = int(trials.row[i])
    return [
        str(trials.number[i]),
        *row_cells(view, row),
        str(trials.state[i]),
        format_result(trials.value[i]),
        *(format_result(one.values[i]) for one in view.others),
        format_brief(trials.mean[i]),
        format_brief(trials.sd[i]),
        format_brief(trials.weight[i]),
        format_time(trials.asked_at[i], utc=True),
        format_time(trials.told_at[i], utc=True),
        trials.worker[i],
    ]


def settings_table(view: View) -> dict[str, Any]:
    status = view.status
    described = {
        "policy": status.policy,
        "guarantee": status.claim,
        view.candidates.heading: status.scales,
        "units": status.units,
        "repeats": status.repeats,
    }
    # The status describes the policy and the repeats in words: their settings would stand twice.
    given = {
        name: spell_setting(name, value)
        for name, value in view.settings.items()
        if value is not None and name not in described
    }
    rows = [*described.items(), *given.items()]
    rows.append(("fingerprint", f"sha256 {view.candidates.fingerprint}"))
    return table(("setting", "value"), rows, text=(0, 1))


def format_brief(value: float) -> str:
    return format_number(value, thousands=False)
