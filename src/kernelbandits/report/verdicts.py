"""The paper's claims as claims.md and as parts of the page; its D against the norms, its policies' times."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.experiment.paper import PRESET
from kernelbandits.report import html
from kernelbandits.report.claims import Verdict
from kernelbandits.report.reproduction import Reproduction
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


def claims_section(verdicts: Sequence[Verdict]) -> str:
    rows = [[html.verdict(v.verdict), v.claim.sentence, v.claim.criterion, by_problem(v)] for v in verdicts]
    shown = html.table(("verdict", "the paper says", "judged as", "by problem"), rows, text=(0, 1, 2, 3))
    return html.section("Do the paper's claims hold?", shown, html.paragraph(METHOD), html.note(OPEN_SETTINGS))


def details_section(verdicts: Sequence[Verdict]) -> str:
    differences = [d for verdict in verdicts for d in verdict.differences]
    rows = [[d.comparison.problem, statement(d), difference_text(d), html.verdict(d.verdict)] for d in differences]
    headings = ("problem", "comparison", "difference, corrected interval", "verdict")
    return html.section("Every comparison", html.table(headings, rows, text=(0, 1)))


def norms_section(found: Reproduction) -> str:
    rows = [norm_row(p.title, found.norms[p.name]) for p in found.plan.problems]
    headings = ("problem", "least norm (median over seeds)", "smallest", "largest", "D given", "is D large enough?")
    parts = html.paragraph(NORMS), html.table(headings, rows, text=(5,)), html.note(norm_verdict(found))
    return html.section(f"Is D = {PRESET.norm_bound:g} true?", *parts)


def norm_row(title: str, norms: Array) -> list[str]:
    share = float((norms <= PRESET.norm_bound).mean())
    answer = {0.0: "no", 1.0: "possibly"}.get(share, f"possibly, on {share:.0%} of the seeds")
    sizes = [number(float(value)) for value in (np.median(norms), norms.min(), norms.max())]
    return [title, *sizes, number(PRESET.norm_bound), answer]


def norm_verdict(found: Reproduction) -> str:
    given = f"D = {PRESET.norm_bound:g}"
    false = [p.title for p in found.plan.problems if np.median(found.norms[p.name]) > PRESET.norm_bound]
    if not false:
        return f"{given} may be true on every problem."
    return f"{given} is false on {', '.join(false)}: there no confidence width of the theory is a valid one."


def times_section(found: Reproduction) -> str:
    rows = [[label, f"{1e6 * np.median(t):.2f}", f"{1e6 * t.min():.2f}"] for label, t in found.times.items()]
    text = "Hartmann (d = 6), 50 arms; the policies taken in turn on each seed in one process, drawing included."
    return html.section("Time per round", html.paragraph(text), html.table(("policy", "median, µs", "least, µs"), rows))


def claims_text(found: Reproduction) -> str:
    """claims.md"""
    lines = ["# The paper's claims, judged", "", played_line(found.results), "", METHOD, "", OPEN_SETTINGS, ""]
    lines += ["| verdict | the paper says | judged as |", "|---|---|---|"]
    lines += [f"| **{v.verdict}** | {v.claim.sentence} | {v.claim.criterion} |" for v in found.verdicts]
    lines += ["", f"Left out: {found.plan.missing}"] if found.plan.missing else []
    lines += norm_lines(found)
    return "\n".join(lines + [line for v in found.verdicts for line in claim_lines(v)]) + "\n"


def norm_lines(found: Reproduction) -> list[str]:
    medians = [(p.title, number(float(np.median(found.norms[p.name])))) for p in found.plan.problems]
    head = ["", f"## Is D = {PRESET.norm_bound:g} true?", "", NORMS, "", norm_verdict(found), ""]
    table = ["| problem | least RKHS norm, median over seeds | D |", "|---|--:|--:|"]
    return head + table + [f"| {title} | {norm} | {PRESET.norm_bound:g} |" for title, norm in medians]


def claim_lines(verdict: Verdict) -> list[str]:
    head = ["", f"## {verdict.claim.sentence}", "", f"**{verdict.verdict}**: {verdict.claim.criterion}.", ""]
    table = ["| problem | comparison | difference, corrected interval | verdict |", "|---|---|--:|---|"]
    shown = [(d.comparison.problem, statement(d), difference_text(d), d.verdict) for d in verdict.differences]
    return head + table + [f"| {' | '.join(cells)} |" for cells in shown]
