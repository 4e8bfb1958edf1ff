"""The paper's claims as claims.md and as parts of the page; its D against the norms, its policies' times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelbandits.experiment.paper import PRESET
from kernelbandits.problems import Problem
from kernelbandits.report import html
from kernelbandits.report.claims import Verdict
from kernelbandits.report.reproduction import BAND_ROUNDS, BAND_SEEDS, Reproduction
from kernelbandits.report.wording import (
    METHOD,
    OPEN_SETTINGS,
    by_problem,
    difference_text,
    number,
    played_line,
    statement,
)

NORMS = (
    "The theory needs the reward's RKHS norm to be at most D. The least norm of any function through the rewards on "
    f"the arms (a certified lower bound of it, at lengthscale {PRESET.lengthscale:g}) says whether that can be true."
)


def claims_section(found: Reproduction) -> str:
    rows = [
        [html.verdict(v.verdict), v.claim.sentence, v.claim.criterion, by_problem(v)]
        for v in found.verdicts
    ]
    shown = html.table(
        ("verdict", "the paper says", "judged as", "by problem"), rows, text=(0, 1, 2, 3)
    )
    return html.section(
        "Do the paper's claims hold?",
        shown,
        html.paragraph(METHOD),
        html.note(open_settings(found)),
    )


def open_settings(found: Reproduction) -> str:
    shown = (
        " Where other values change a verdict, the sensitivity map shows it." if found.map else ""
    )
    return OPEN_SETTINGS + shown


def details_section(verdicts: Sequence[Verdict]) -> str:
    differences = [d for verdict in verdicts for d in verdict.differences]
    rows = [
        [d.comparison.problem, statement(d), difference_text(d), html.verdict(d.verdict)]
        for d in differences
    ]
    headings = ("problem", "comparison", "difference, corrected interval", "verdict")
    return html.section("Every comparison", html.table(headings, rows, text=(0, 1)))


def norms_section(found: Reproduction) -> str:
    rows = [norm_row(found, p) for p in found.plan.problems]
    headings = (
        "problem",
        "least norm, median",
        "smallest",
        "largest",
        "D given",
        "is D large enough?",
        "largest ratio",
    )
    parts = (
        html.paragraph(NORMS),
        html.table(headings, rows, text=(5,)),
        html.note(norm_verdict(found)),
    )
    return html.section(
        f"Is D = {PRESET.norm_bound:g} true?", *parts, html.paragraph(ratio_text(found))
    )


def norm_row(found: Reproduction, problem: Problem) -> list[str]:
    norms = found.norms[problem.name]
    share = float((norms <= PRESET.norm_bound).mean())
    answer = {0.0: "no", 1.0: "possibly"}.get(share, f"possibly, on {share:.0%} of the seeds")
    sizes = [number(float(value)) for value in (np.median(norms), norms.min(), norms.max())]
    return [
        problem.title,
        *sizes,
        number(PRESET.norm_bound),
        answer,
        f"{found.ratios[problem.name].max():.2f}",
    ]


def norm_verdict(found: Reproduction) -> str:
    given = f"D = {PRESET.norm_bound:g}"
    false = [
        p.title for p in found.plan.problems if np.median(found.norms[p.name]) > PRESET.norm_bound
    ]
    if not false:
        return f"{given} may be true on every problem."
    return f"{given} is false on {', '.join(false)}: the theorem does not apply there, whatever the curves show."


def ratio_text(found: Reproduction) -> str:
    worst = max(float(ratios.max()) for ratios in found.ratios.values())
    rounds, seeds = min(found.plan.horizon, BAND_ROUNDS), min(found.plan.seeds, BAND_SEEDS)
    left = "f stayed inside" if worst <= 1 else "f left"
    return (
        f"The largest ratio is max |f - estimate| / (width x sd) over all arms, the first {rounds} rounds and "
        f"{seeds} seeds of Simple-UCB. As measured, {left} the confidence band; where D is false, that is due to "
        f"the generous R = {PRESET.noise_scale:g} and not to the theorem."
    )


def times_section(found: Reproduction) -> str:
    rows = [
        [label, f"{1e6 * np.median(t):.2f}", f"{1e6 * t.min():.2f}"]
        for label, t in found.times.items()
    ]
    text = "Hartmann (d = 6), 50 arms; the policies taken in turn on each seed in one process, drawing included."
    return html.section(
        "Time per round",
        html.paragraph(text),
        html.table(("policy", "median, µs", "least, µs"), rows),
    )


def claims_text(found: Reproduction) -> str:
    """claims.md"""
    lines = [
        "# The paper's claims, judged",
        "",
        played_line(found.results),
        "",
        METHOD,
        "",
        open_settings(found),
        "",
    ]
    lines += ["| verdict | the paper says | judged as |", "|---|---|---|"]
    lines += [
        f"| **{v.verdict}** | {v.claim.sentence} | {v.claim.criterion} |" for v in found.verdicts
    ]
    lines += ["", f"Left out: {found.plan.missing}"] if found.plan.missing else []
    lines += norm_lines(found)
    return "\n".join(lines + [line for v in found.verdicts for line in claim_lines(v)]) + "\n"


def norm_lines(found: Reproduction) -> list[str]:
    head = [
        "",
        f"## Is D = {PRESET.norm_bound:g} true?",
        "",
        NORMS,
        "",
        norm_verdict(found),
        "",
        ratio_text(found),
        "",
    ]
    table = [
        "| problem | least RKHS norm, median over seeds | smallest | largest | D | enough? | ratio |",
        "|---|--:|--:|--:|--:|---|--:|",
    ]
    return head + table + [f"| {' | '.join(norm_row(found, p))} |" for p in found.plan.problems]


def claim_lines(verdict: Verdict) -> list[str]:
    head = [
        "",
        f"## {verdict.claim.sentence}",
        "",
        f"**{verdict.verdict}**: {verdict.claim.criterion}.",
        "",
    ]
    table = [
        "| problem | comparison | difference, corrected interval | verdict |",
        "|---|---|--:|---|",
    ]
    shown = [
        (d.comparison.problem, statement(d), difference_text(d), d.verdict)
        for d in verdict.differences
    ]
    return head + table + [f"| {' | '.join(cells)} |" for cells in shown]
