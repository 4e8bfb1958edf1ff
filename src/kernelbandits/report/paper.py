"""The files of the paper's reproduction: figures, tables, claims.md and the page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.analysis.claims import Difference, Verdict
from kernelbandits.analysis.guarantees import law_bounds
from kernelbandits.analysis.sensitivity import (
    Effects,
    noise_and_ridge_effects,
    ridge_name,
    sensitivity_frame,
    verdict_map,
)
from kernelbandits.experiment.paper import (
    BAND_ROUNDS,
    BAND_SEEDS,
    COMPARED,
    FAMILY,
    NOISE_SCALES,
    PRESET,
    TIMED,
    PaperRun,
    PaperSetting,
)
from kernelbandits.formatting import format_interval, format_share
from kernelbandits.report import figures, pages
from kernelbandits.report.run import draw_curves, write_tables

if TYPE_CHECKING:
    import pandas as pd

TITLE = "Exploration distributions for kernel bandits: the paper's experiments, reproduced"
MAP_FILES = ("sensitivity.csv", "sensitivity.png", "sensitivity.svg", "effects.png", "effects.svg")
METHOD = (
    "Each claim is tested by paired differences over the seeds, with t intervals at levels that "
    "are corrected for the number of comparisons (Holm's procedure, 5 % for all comparisons "
    "together). "
    "A claim holds if every interval lies where the claim says. It fails if one interval lies "
    "entirely elsewhere. Otherwise it is not resolved."
)
OPEN_SETTINGS = (
    "The paper does not state the lengthscale, R, D, delta and the information gain. This preset "
    "uses lengthscale 0.2, R = 1, D = 1, delta = 0.1 for IGP-UCB and GP-TS (the Generic-GP family "
    "has the paper's 1/2), the realised information gain, ridge 1 (IGP-UCB and GP-TS have their "
    "own ridge 1 + 2/T) and random ties."
)
MAP_SENTENCE = " The sensitivity map shows where other values change a verdict."
NORMS = (
    "The theory needs a reward function whose RKHS norm is at most D. Every function with these "
    "rewards on the arms has at least the norm shown here (a certified lower bound, at lengthscale "
    f"{PRESET.lengthscale:g}). Where this norm exceeds D, the premise is false."
)
RELATIONS = {
    "lower": "below",
    "similar": "similar to",
    "faster": "faster than",
    "as fast": "as fast as",
}


def write_paper(
    run: PaperRun,
    verdicts: Sequence[Verdict],
    folder: Path,
    drawings: Mapping[str, str] | None = None,
) -> pd.DataFrame:
    """Write all files of the paper's reproduction into a folder and return the summary.

    The files are regret and simple-regret (png, svg), summary.csv, rounds.npz, settings.json,
    claims.md and report.html; with a sensitivity map also sensitivity (png, svg, csv) and effects
    (png, svg).

    Parameters
    ----------
    verdicts
        What `analysis.check_paper` returns for the run.
    drawings
        The regret figures as `draw_curves` returns them, if they were drawn already.
    """
    folder.mkdir(parents=True, exist_ok=True)
    for name in MAP_FILES:
        (folder / name).unlink(missing_ok=True)
    curves = drawings or draw_curves(run.results, COMPARED, folder)
    table = write_tables(run.results, folder, preset=vars(PRESET), left_out=run.plan.missing)
    effects = noise_and_ridge_effects(run) if run.map else {}
    maps = write_map(run, effects, folder) if run.map else {}
    if pages.available():
        values = claim_values(run, verdicts) | pages.page_values(run.results, table)
        text = pages.render("claims.md", **values)
        (folder / "claims.md").write_text(text, encoding="utf-8")
        page = pages.render(
            "paper.html",
            title=TITLE,
            drawings={"curves": curves, "map": "", "effects": ""} | maps,
            laws=law_bounds(run.results, FAMILY),
            effects=effects,
            **values,
        )
        (folder / "report.html").write_text(page, encoding="utf-8")
    return table


def write_map(run: PaperRun, effects: Effects, folder: Path) -> dict[str, str]:
    """Write sensitivity (csv, png, svg) and effects (png, svg); return the SVGs."""
    sensitivity_frame(run).to_csv(folder / "sensitivity.csv", index=False)
    if not figures.available():
        return {}
    columns = [column_title(entry.setting) for entry in run.map]
    return {
        "map": figures.map_figure(verdict_map(run), columns, folder / "sensitivity"),
        "effects": figures.effects_figure(effects, NOISE_SCALES, folder / "effects"),
    }


def column_title(setting: PaperSetting) -> tuple[str, str]:
    ridge = ridge_name(setting)
    return f"lengthscale {setting.lengthscale:g}", f"R {setting.noise_scale:g}, {ridge}"


def claim_values(run: PaperRun, verdicts: Sequence[Verdict]) -> dict[str, Any]:
    """What claims.md and the page say about the claims and their premises."""
    return {
        "missing": run.plan.missing,
        "verdicts": verdicts,
        "method": METHOD,
        "open_settings": OPEN_SETTINGS + (MAP_SENTENCE if run.map else ""),
        "preset": PRESET,
        "norms": norm_values(run),
        "problems": run.plan.problems,
        "noise_scales": NOISE_SCALES,
        "horizon": run.plan.horizon,
        "timed": next(p for p in run.plan.problems if p.name == TIMED),
        "times": {
            label: {"median": float(np.median(seconds)), "least": float(seconds.min())}
            for label, seconds in run.times.items()
        },
        "statement": describe_comparison,
        "difference": format_difference,
    }


def norm_values(run: PaperRun) -> dict[str, Any]:
    """Whether D can be true: the least norm of the rewards, and the ratio to the band."""
    rows: list[dict[str, Any]] = [
        {
            "title": problem.title,
            "median": float(np.median(norms)),
            "least": float(norms.min()),
            "most": float(norms.max()),
            "answer": answer_norm(float((norms <= PRESET.norm_bound).mean())),
            "ratio": float(run.ratios[problem.name].max()),
        }
        for problem in run.plan.problems
        for norms in [run.norms[problem.name]]
    ]
    return {
        "method": NORMS,
        "rows": rows,
        "verdict": norm_verdict(rows),
        "band": describe_band(run, max(row["ratio"] for row in rows)),
    }


def answer_norm(share: float) -> str:
    """Whether D is large enough, from the share of seeds on which it may be."""
    whole = {0.0: "no", 1.0: "possibly"}
    return whole.get(share, f"possibly, on {format_share(share)} of the seeds")


def norm_verdict(rows: Sequence[Mapping[str, Any]]) -> str:
    given = f"D = {PRESET.norm_bound:g}"
    false = [row["title"] for row in rows if row["median"] > PRESET.norm_bound]
    if not false:
        return f"{given} may be true on every problem."
    consequence = "The theorem does not apply there, whatever the curves show."
    return f"{given} is false on {', '.join(false)}. {consequence}"


def describe_band(run: PaperRun, worst: float) -> str:
    rounds, seeds = min(run.plan.horizon, BAND_ROUNDS), min(run.plan.seeds, BAND_SEEDS)
    ratio = (
        f"The largest ratio is max |f - estimate| / (width x sd) over all arms, the first {rounds} "
        f"rounds and {seeds} seeds of Simple-UCB."
    )
    if worst > 1:
        return f"{ratio} The reward function left the confidence band."
    return (
        f"{ratio} The reward function stayed inside the confidence band. Where D is false, the "
        f"reason is the large R = {PRESET.noise_scale:g}, not the theorem."
    )


def describe_comparison(difference: Difference) -> str:
    c = difference.comparison
    return f"{c.first} {RELATIONS[c.kind]} {c.second}"


def format_difference(d: Difference) -> str:
    """The difference of regrets as it is, that of logarithms of times as a ratio."""
    if d.comparison.kind in ("faster", "as fast"):
        value, low, high = (math.exp(min(number, 700.0)) for number in (d.mean, d.low, d.high))
        return f"time × {format_interval(value, low, high)}"
    return format_interval(d.mean, d.low, d.high)
