"""The parts of the page that any comparison has: ranking, curves, summary, policies, notes, settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from kernelbandits.experiment import Results
from kernelbandits.experiment.premises import premises
from kernelbandits.report import html
from kernelbandits.report.families import families, look_of, played_families
from kernelbandits.report.ranking import Overall, Ranking, Standing
from kernelbandits.report.wording import (
    OVERALL,
    PAIRED,
    RANKS,
    SIMPLE_REGRET,
    by_text,
    decimals,
    interval,
    number,
    percent,
    places,
    who_and_what,
)

if TYPE_CHECKING:
    import pandas as pd

RULE = ("exploration", "width")
SETTINGS = ("ridge", "noise_scale", "norm_bound", "horizon", "delta", "gain", "ties", "engine")
LISTED = 3
"""Values of a long list that are shown."""
HIDDEN = ("policy", "notices")
"""Keys of a result's settings that are shown elsewhere."""
LONG, MANY_ROWS = 12, 40
"""Rows from which the table of a problem, and the summary, is folded away."""


def ranking_section(results: Results, ranking: Ranking, svg: str) -> str:
    several = len(results.problems) > 1
    return html.section(
        "Ranking",
        html.paragraph(RANKS),
        *([html.paragraph(OVERALL), overall_table(results, ranking)] if several else []),
        html.figure(
            svg, "Mean cumulative regret and its 95 % interval, best first; at the right the ranks."
        ),
        *(standings_table(results, ranking, name) for name in ranking.standings["regret"]),
    )


def overall_table(results: Results, ranking: Ranking) -> str:
    simple = {row.policy: row for row in ranking.overall["simple"]}
    rows = [
        [
            str(place),
            named(results, row.policy),
            *overall_cells(row),
            *overall_cells(simple[row.policy]),
        ]
        for place, row in enumerate(ranking.overall["regret"], start=1)
    ]
    headings = ("", "policy", "share, %", "mean rank", "share, %", "mean rank")
    groups = (("", 2), ("cumulative regret", 2), ("simple regret", 2))
    return html.table(headings, rows, text=(1,), groups=groups)


def overall_cells(row: Overall) -> list[str]:
    return [percent(*row.share), interval(*row.rank, digits=1)]


def standings_table(results: Results, ranking: Ranking, problem: str) -> str:
    regret, simple = (ranking.standings[kind][problem] for kind in ("regret", "simple"))
    digits = [decimals([row.mean.value for row in rows]) for rows in (regret, simple)]
    beside = {row.policy: standing_cells(row, digits[1]) for row in simple}
    rows = [
        [named(results, row.policy), *standing_cells(row, digits[0]), *beside[row.policy]]
        for row in regret
    ]
    title = next(p.title for p in results.problems if p.name == problem)
    headings = ("policy", *("ranks", "mean", "behind the best") * 2)
    shown = html.table(
        headings, rows, text=(0,), groups=(("", 1), ("cumulative regret", 3), ("simple regret", 3))
    )
    return html.details(title, shown, shown=len(rows) < LONG or len(results.problems) == 1)


def standing_cells(row: Standing, digits: int) -> list[str]:
    behind = interval(*row.behind, digits=digits) if row.behind != (0, 0, 0) else "–"
    return [places(row.first, row.last), interval(*row.mean, digits=digits), behind]


def named(results: Results, label: str) -> html.Markup:
    """The policy behind the colour of its family."""
    return html.dot(look_of(families(results)[label]).colour, label)


def curve_sections(drawings: Mapping[str, str], others: int = 0) -> list[str]:
    """Regret and simple regret, so many policies in grey; nothing where nothing was drawn."""
    captions = {
        "regret": (
            "Regret",
            f"Cumulative regret against the best candidate of each round. {PAIRED}{coloured(others)}",
        ),
        "simple": ("Simple regret", f"{SIMPLE_REGRET}{coloured(others)}"),
    }
    return [
        html.section(captions[kind][0], html.figure(svg, captions[kind][1]))
        for kind, svg in drawings.items()
    ]


def coloured(others: int) -> str:
    least = " In colour the policies of least cumulative regret over all problems and uniform random, best first; "
    return f"{least}in grey the means of the other {others}." if others else ""


def summary_section(table: pd.DataFrame) -> str:
    headings = (
        "problem",
        "policy",
        "regret, 95 % interval",
        "5 %",
        "median",
        "95 %",
        "simple regret",
        "µs a round",
    )
    rows = [summary_row(row) for row in table.to_dict("records")]
    note = f"{SIMPLE_REGRET} 5 %, median and 95 % are quantiles of the regret over seeds."
    shown = html.table(headings, rows, text=(0, 1))
    folded = html.details(f"All {len(rows)} rows", shown) if len(rows) > MANY_ROWS else shown
    return html.section("Summary", folded, html.paragraph(note))


def summary_row(row: Mapping[Any, Any]) -> list[str]:
    regret = interval(row["regret_mean"], row["regret_low"], row["regret_high"])
    quantiles = [number(row[f"regret_q{q}"]) for q in ("05", "50", "95")]
    last = [number(row["simple_regret_mean"]), f"{row['microseconds_per_round']:.2f}"]
    return [str(row["problem"]), str(row["policy"]), regret, *quantiles, *last]


def policies_section(results: Results) -> str:
    """What the catalogue says of the policies that played, family by family."""
    rows: list[list[str]] = []
    for family, entries in played_families(results).items():
        colour = look_of(family).colour
        rows.append([html.dot(colour, family)])
        rows += [
            [html.dot(colour, entry.title), entry.paper, entry.guarantee, entry.ours]
            for entry in entries
        ]
    return html.section(
        "Policies", html.table(("policy", "paper", "guarantee", "ours"), rows, text=range(4))
    )


def notes_section(results: Results, left_out: Mapping[str, str]) -> list[str]:
    """Premises that do not hold, what the policies warned of and whom it concerns, who was left out; or nothing."""
    said = by_text(
        (cell.contender.label, who_and_what(text)[1])
        for cell in results.cells
        for _, text in results.found[cell.key].settings.get("notices", [])
    )
    rows = [[sentence, "all"] for sentence in premises(results)]
    rows += [[text, ", ".join(labels)] for text, labels in said.items()]
    rows += [[f"left out: {sentence}", name] for name, sentence in left_out.items()]
    return (
        [html.section("Notes", html.table(("note", "policies"), rows, text=(0, 1)))] if rows else []
    )


def settings_section(results: Results) -> str:
    first = results.problems[0].name
    mine = [cell for cell in results.cells if cell.problem.name == first]
    used = {cell.contender.label: results.found[cell.key].settings for cell in mine}
    alike = common(list(used.values()))
    columns = [
        key for key in SETTINGS if key not in alike and any(key in own for own in used.values())
    ]
    rows = [
        [label, rule(own), *(number(own.get(key)) for key in columns), more(own)]
        for label, own in used.items()
    ]
    problems = [[p.title, p.name, p.description, str(p.noise)] for p in results.problems]
    return html.section(
        "Settings",
        *([html.paragraph(f"The same for all that have it: {spelled(alike)}.")] if alike else []),
        html.table(
            ("policy", "exploration and width", *columns, "its own"),
            rows,
            text=range(len(columns) + 3),
        ),
        html.table(
            ("problem", "name", "arms and rewards", "noise of the rewards"),
            problems,
            text=(1, 2, 3),
        ),
    )


def rule(settings: Mapping[str, Any]) -> str:
    return "; ".join(str(settings[key]) for key in RULE if settings.get(key) is not None) or "–"


def common(used: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The settings of the table with one value only, if there is more than one policy to have them."""
    values = {
        key: [settings[key] for settings in used if settings.get(key) is not None]
        for key in SETTINGS
    }
    return {
        key: found[0]
        for key, found in values.items()
        if len(found) > 1 and all(v == found[0] for v in found)
    }


def more(settings: Mapping[str, Any]) -> str:
    """The settings that have no column."""
    return spelled(
        {key: value for key, value in settings.items() if key not in (*RULE, *SETTINGS, *HIDDEN)}
    )


def spelled(settings: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{key} = {short(value)}" for key, value in settings.items() if value is not None
    )


def short(value: Any) -> str:
    """A long list by its first values and their number."""
    if isinstance(value, list) and len(value) > LONG:
        return f"[{', '.join(map(number, value[:LISTED]))}, … {len(value)} values]"
    return number(value)
