"""Where each claim holds: the map over R, lengthscale and ridge, and the effects of R and of the ridge apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from kernelbandits.checks import Array
from kernelbandits.experiment.paper import COMPARED, FAMILY, NOISE_SCALES, PRESET, Setting
from kernelbandits.experiment.summary import half_width
from kernelbandits.report import figures, html
from kernelbandits.report.reproduction import MapEntry, Reproduction
from kernelbandits.report.wording import number

SHORT = {
    "best": "Bernoulli best",
    "reducing": "reducing helps",
    "gaussian": "Gaussian < GP-TS",
    "categorical": "Categorical < UCBs",
    "similar": "three similar",
    "perovskite": "three < the rest",
}
ONE, NOISE = "ridge 1", "ridge R²"
CAPTION = "R, lengthscale and ridge are what the policies are told; the noise of the rewards stays the same."
RIDGES = "The ridge is that of the Generic-GP family; IGP-UCB and GP-TS keep their own 1 + 2/T in every column."

Endings = Mapping[tuple[str, str], Array]


def map_sections(found: Reproduction, folder: Path) -> list[str]:
    """sensitivity.csv, and the parts of the page; figures where they can be drawn."""
    write_map(found.map, folder / "sensitivity.csv")
    effects = effects_of(found)
    map_svg, effects_svg = "", ""
    if figures.available():
        columns = [column_title(entry.setting) for entry in found.map]
        map_svg = figures.map_figure(map_rows(found), columns, folder / "sensitivity")
        effects_svg = figures.effects_figure(effects, NOISE_SCALES, folder / "effects")
    ended = f"Mean regret and 95 % interval after {found.plan.horizon} rounds at lengthscale {PRESET.lengthscale:g}."
    return [
        html.section(
            "Where does each claim hold?", html.figure(map_svg, CAPTION), html.paragraph(RIDGES)
        ),
        html.section(
            "The effect of R, and of the ridge",
            html.figure(effects_svg, ended),
            effects_table(effects),
        ),
    ]


def column_title(setting: Setting) -> tuple[str, str]:
    return (
        f"lengthscale {setting.lengthscale:g}",
        f"R {setting.noise_scale:g}, {ridge_name(setting)}",
    )


def ridge_name(setting: Setting) -> str:
    return NOISE if setting.ridge_is_noise else ONE


def map_rows(found: Reproduction) -> dict[str, list[str]]:
    """claim and problem -> its verdict in every setting."""
    titles = {p.name: p.title for p in found.plan.problems}
    rows: dict[str, list[str]] = {}
    for entry in found.map:
        for verdict in entry.verdicts:
            for name in {d.comparison.problem: None for d in verdict.differences}:
                rows.setdefault(f"{SHORT[verdict.claim.key]} — {titles[name]}", []).append(
                    verdict.on(name)
                )
    return rows


def write_map(entries: Sequence[MapEntry], path: Path) -> None:
    import pandas as pd

    rows = [
        {
            "problem": problem,
            "policy": policy,
            **told(entry, (problem, policy)),
            **regret_of(values),
        }
        for entry in entries
        for (problem, policy), values in entry.endings.items()
    ]
    pd.DataFrame(rows).to_csv(path, index=False)


def told(entry: MapEntry, name: tuple[str, str]) -> dict[str, Any]:
    """The setting of the map, and what this policy made of it: a rival's ridge is its own."""
    used = entry.used[name]
    where = {
        "R": entry.setting.noise_scale,
        "lengthscale": entry.setting.lengthscale,
        "map": ridge_name(entry.setting),
    }
    return where | {key: used.get(key) for key in ("ridge", "norm_bound", "delta", "gain")}


def regret_of(values: Array) -> dict[str, float]:
    mean, half = mean_and_half(values)
    return {"regret_mean": mean, "regret_low": mean - half, "regret_high": mean + half}


def effects_of(found: Reproduction) -> figures.Effects:
    """Mean regret at each R and ridge, at the preset's lengthscale; at R = 1 the two ridges are one."""
    mine = [entry for entry in found.map if entry.setting.lengthscale == PRESET.lengthscale]
    endings = {
        (entry.setting.noise_scale, ridge_name(entry.setting)): entry.endings for entry in mine
    }
    endings[1.0, NOISE] = endings[1.0, ONE]
    return {
        p.title: {label: means_of(endings, p.name, label) for label in COMPARED}
        for p in found.plan.problems
    }


def means_of(
    endings: Mapping[tuple[float, str], Endings], problem: str, label: str
) -> figures.ByRidge:
    ridges = (ONE, NOISE) if label in FAMILY else (ONE,)
    return {
        ridge: [mean_and_half(endings[r, ridge][problem, label]) for r in NOISE_SCALES]
        for ridge in ridges
    }


def mean_and_half(values: Array) -> tuple[float, float]:
    return float(values.mean()), float(half_width(values))


def spread(pair: tuple[float, float]) -> str:
    return f"{number(pair[0])} ± {number(pair[1])}"


def effects_table(effects: figures.Effects) -> str:
    rows = [
        [
            title,
            label,
            *(spread(pair) for pair in reversed(ridges[ONE])),
            spread(ridges[NOISE][0]) if NOISE in ridges else "–",
        ]
        for title, policies in effects.items()
        for label, ridges in policies.items()
    ]
    scales = [f"R = {r:g}, {ONE}" for r in reversed(NOISE_SCALES)]
    return html.table(
        ("problem", "policy", *scales, f"R = {NOISE_SCALES[0]:g}, {NOISE}"), rows, text=(1,)
    )
