"""The part of the page that sets the theory beside what was played."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from threadpoolctl import threadpool_limits

from kernelbandits.experiment import Cell, Results
from kernelbandits.experiment.premises import of_noise, of_norm
from kernelbandits.report import figures, html
from kernelbandits.report.guarantees import Guarantee, Proved, guarantees
from kernelbandits.report.wording import number
from kernelbandits.streams import Streams
from kernelbandits.theory import InformationGain, constants, information_gain, regret_bound

if TYPE_CHECKING:
    import pandas as pd

THEORY = (
    "A bound is what is proved of the expected regret, for the δ a policy plays with and an upper bound γ of the "
    "information gain of the arms; 2DT is what any policy is sure of, so a bound says something only below it. The "
    "Generic-GP family has the repaired form of the paper's Theorem 1 (tightened; the form as printed has a gap in its "
    "proof), rules with a confidence band that holds in all rounds at once have the bound of that band. "
    "All numbers are means over the seeds."
)
CAPTION = (
    "Mean regret (solid) and min(bound, 2DT) (dashed, coinciding ones alternate); below, the log-determinant of the "
    "arms played (solid) and its certified ceiling 2γ (dots and dashes)."
)
AT_LEAST = (
    "At least: what a policy of the Generic-GP family loses in expectation on this problem, which was made for that "
    "(Theorem 2, the paper's constant by a proof of ours); dotted in the figure where the regret has passed it."
)
CONSTANTS = (
    "What Theorem 1 says of the laws, on the arms of the first seed: the bound as a multiple of 2DT, of which any "
    "policy is sure, as printed (its proof has a gap) and, for a policy with δ = 1/(2DT), repaired and tightened. "
    "From 1 on a bound is vacuous."
)
PREMISES = "its premises fail"
LETTERS = ("C1", "C2", "C3", "C3′")
BOUNDS = ("bound", "2DT", "bound, % of 2DT", "as printed", "L/2", "γ at most", "says something?")


def theory_section(results: Results, labels: Sequence[str], folder: Path) -> str:
    """A figure of the policies in colour, a table of all of them for each problem, and the premises that fail."""
    found, titles = (
        guarantees(results),
        {problem.name: problem.title for problem in results.problems},
    )
    failing = {name: failing_premises(results, name) for name in found}
    theory_frame(found, failing).to_csv(folder / "theory.csv", index=False)
    svg = draw_guarantees({titles[name]: rows for name, rows in found.items()}, labels, folder)
    tables = [
        html.details(titles[name], *problem_parts(rows, failing[name]), shown=True)
        for name, rows in found.items()
    ]
    return html.section("Theory", html.paragraph(THEORY), html.figure(svg, CAPTION), *tables)


def draw_guarantees(
    panels: Mapping[str, Sequence[Guarantee]], labels: Sequence[str], folder: Path
) -> str:
    """The drawing; nothing without matplotlib."""
    return (
        figures.guarantee_figure(panels, labels, folder / "theory") if figures.available() else ""
    )


def failing_premises(results: Results, problem: str) -> dict[str, list[str]]:
    """Policy -> why no bound of it applies: the R or D that it was told is not true of the problem."""
    mine = [cell for cell in results.cells if cell.problem.name == problem]
    true = mine[0].problem.noise.sub_gaussian
    norm = cache(lambda bound: list(of_norm(mine[0], bound)))
    found = {}
    for cell in mine:
        told = results.found[cell.key].settings
        scale, bound = told.get("noise_scale"), told.get("norm_bound")
        noise = [] if scale is None else of_noise(problem, true, scale, 0.0)
        found[cell.contender.label] = [*noise, *([] if bound is None else norm(bound))]
    return found


def theory_frame(
    found: Mapping[str, Sequence[Guarantee]], failing: Mapping[str, Mapping[str, Sequence[str]]]
) -> pd.DataFrame:
    """A row for each problem and policy, as in the tables but unrounded; empty where nothing is proved."""
    import pandas as pd

    rows = [
        record(name, row, failing[name][row.policy])
        for name, policies in found.items()
        for row in policies
    ]
    return pd.DataFrame(rows)


def record(problem: str, row: Guarantee, failing: Sequence[str]) -> dict[str, Any]:
    said = verdict(row.proved, bool(failing))
    why = "" if said == "yes" else said.removeprefix("no: ")
    curves = {name: getattr(row.proved, name, None) for name in ("bound", "trivial", "printed")}
    return {
        "problem": problem,
        "policy": row.policy,
        "delta": row.delta,
        "regret": float(row.regret[-1]),
        "lower_bound": row.least,
        **{name: None if curve is None else float(curve[-1]) for name, curve in curves.items()},
        "information_gain_realised": float(row.log_det[-1]) / 2,
        "information_gain_upper": float(row.gain[-1]),
        "says_something": not why,
        "why_not": "; ".join([why, *failing]) if why == PREMISES else why,
    }


def problem_parts(rows: Sequence[Guarantee], failing: Mapping[str, Sequence[str]]) -> list[str]:
    """What fails of the premises, and the table; the lower bound only where there is one."""
    sentences = dict.fromkeys(
        sentence
        for row in rows
        if isinstance(row.proved, Proved)
        for sentence in failing[row.policy]
    )
    notes = [html.note(f"{sentence}: there the bounds do not apply.") for sentence in sentences]
    lower = any(row.least is not None for row in rows)
    headings = ("policy", "δ", "regret", *(["at least"] if lower else []), *BOUNDS)
    lines = [cells(row, bool(failing[row.policy]), lower) for row in rows]
    notes += [html.paragraph(AT_LEAST)] if lower else []
    return [*notes, html.table(headings, lines, text=(0, len(headings) - 1))]


def cells(row: Guarantee, broken: bool, lower: bool = False) -> list[str]:
    """The table's row, with a cell for the lower bound where the problem has one."""
    least = [number(row.least)] if lower else []
    gains = [number(float(row.log_det[-1]) / 2), number(float(row.gain[-1]))]
    numbers = [
        number(row.delta),
        number(float(row.regret[-1])),
        *least,
        *bound_cells(row.proved),
        *gains,
    ]
    return [row.policy, *numbers, verdict(row.proved, broken)]


def bound_cells(found: Proved | str) -> list[str]:
    if isinstance(found, str):
        return ["–"] * 4
    printed = "–" if found.printed is None else number(float(found.printed[-1]))
    return [
        number(float(found.bound[-1])),
        number(float(found.trivial[-1])),
        f"{100 * found.share:,.0f}",
        printed,
    ]


def verdict(found: Proved | str, broken: bool) -> str:
    if isinstance(found, str):
        return f"no bound: {found}"
    if found.share >= 1:
        return "no: vacuous, above 2DT"
    return f"no: {PREMISES}" if broken else "yes"


def constants_section(results: Results, labels: Sequence[str]) -> str:
    """C1, C2, C3 of policies of the Generic-GP family, and their bounds on each problem as multiples of 2 D T."""
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = [
            [label, *law_cells([cell for cell in results.cells if cell.contender.label == label])]
            for label in labels
        ]
    columns = [f"{problem.title}, printed; repaired" for problem in results.problems]
    return html.section(
        "Theory",
        html.paragraph(CONSTANTS),
        html.table(("policy", *LETTERS, *columns), rows, text=(0,)),
    )


def law_cells(cells: Sequence[Cell]) -> list[str]:
    """The constants of one policy, and its bounds on the first instance of each problem."""
    instances = [cell.problem.instance(Streams(cell.seeds[0])) for cell in cells]
    rules: list[Any] = [
        cell.contender.build(one, cell.kernel) for cell, one in zip(cells, instances, strict=True)
    ]
    horizon = cells[0].horizon
    law = constants(rules[0].exploration, horizon)
    bounds = [regret_bound(law, horizon, gain_of(rule, horizon), **told(rule)) for rule in rules]
    multiples = [f"{number(b.printed / b.trivial)}; {number(b.tight / b.trivial)}" for b in bounds]
    return [*(number(value) for value in (law.c1, law.c2, law.c3, law.c3_tight)), *multiples]


def gain_of(rule: Any, horizon: int) -> InformationGain:
    return information_gain(rule.posterior.kernel, rule.domain, horizon, rule.posterior.ridge)


def told(rule: Any) -> dict[str, float]:
    settings = {name: rule.settings[name] for name in ("noise_scale", "norm_bound", "ridge")}
    return settings | {"largest": float(rule.posterior.prior.max())}
