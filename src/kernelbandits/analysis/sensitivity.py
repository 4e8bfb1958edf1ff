"""How the paper's claims depend on what the paper leaves open: R, lengthscale and ridge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from kernelbandits.analysis.claims import Endings, check_settings
from kernelbandits.experiment.paper import COMPARED, FAMILY, MapEntry, PaperRun
from kernelbandits.experiment.paper_settings import NOISE_SCALES, PRESET, PaperSetting
from kernelbandits.experiment.summary import IntervalEstimate, estimate_regret, mean_columns

if TYPE_CHECKING:
    import pandas as pd

CLAIM_NAMES = {
    "best": "Bernoulli best",
    "efficient-regret": "Bernoulli halves",
    "reducing": "reducing helps",
    "gaussian": "Gaussian < GP-TS",
    "categorical": "Categorical < UCBs",
    "similar": "three similar",
    "perovskite": "three < the rest",
    "elimination": "elimination poor",
}
"""key of a claim -> its name on the map"""
RIDGE_ONE, RIDGE_NOISE = "ridge 1", "ridge R²"

ByRidge = Mapping[str, list[IntervalEstimate]]
""""ridge 1" or "ridge R²" -> the mean regret at each noise scale"""
Effects = Mapping[str, Mapping[str, ByRidge]]
"""problem title -> policy -> by ridge"""


def ridge_name(setting: PaperSetting) -> str:
    return RIDGE_NOISE if setting.ridge_is_noise else RIDGE_ONE


def verdict_map(run: PaperRun) -> dict[str, list[str]]:
    """Return name of claim and problem -> its verdict under every setting, in the map's order.

    A problem that is left out of the run has its rows too: they say that it was not tested.
    """
    titles = {p.name: p.title for p in run.plan.problems}
    rows: dict[str, list[str]] = {}
    for verdicts in check_settings(run).values():
        for verdict in verdicts:
            for name in verdict.problems:
                row = f"{CLAIM_NAMES[verdict.claim.key]} — {titles.get(name, name)}"
                rows.setdefault(row, []).append(verdict.on(name))
    return rows


def sensitivity_frame(run: PaperRun) -> pd.DataFrame:
    """Return sensitivity.csv: the regret of every problem and policy under every setting."""
    import pandas as pd

    return pd.DataFrame(
        {"problem": problem, "policy": policy}
        | entry_settings(entry, (problem, policy))
        | mean_columns("regret", estimate_regret(values))
        for entry in run.map
        for (problem, policy), values in entry.endings.items()
    )


def entry_settings(entry: MapEntry, name: tuple[str, str]) -> dict[str, Any]:
    """Return the setting of the map, and what the policy had: some have a ridge of their own."""
    used = entry.used[name]
    return {
        "R": entry.setting.noise_scale,
        "lengthscale": entry.setting.lengthscale,
        "map": ridge_name(entry.setting),
        **{key: used.get(key) for key in ("ridge", "norm_bound", "delta", "gain")},
    }


def noise_and_ridge_effects(run: PaperRun) -> Effects:
    """Return mean regrets at each noise scale and ridge, at the lengthscale of the preset."""
    endings = {
        (entry.setting.noise_scale, ridge_name(entry.setting)): entry.endings
        for entry in run.map
        if entry.setting.lengthscale == PRESET.lengthscale
    }
    # At R = 1 the ridges 1 and R² are the same, and the map has the setting once.
    endings[1.0, RIDGE_NOISE] = endings[1.0, RIDGE_ONE]
    return {
        p.title: {label: means_by_ridge(endings, p.name, label) for label in COMPARED}
        for p in run.plan.problems
    }


def means_by_ridge(
    endings: Mapping[tuple[float, str], Endings], problem: str, label: str
) -> ByRidge:
    ridges = (RIDGE_ONE, RIDGE_NOISE) if label in FAMILY else (RIDGE_ONE,)
    return {
        ridge: [estimate_regret(endings[r, ridge][problem, label]) for r in NOISE_SCALES]
        for ridge in ridges
    }
