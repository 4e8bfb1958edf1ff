"""Statistics over the seeds of an experiment, and the files that keep its results."""

from __future__ import annotations

import math
import platform
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from kernelbandits.catalogue import identify
from kernelbandits.checks import Array
from kernelbandits.codec import to_json
from kernelbandits.experiment.cells import Cell, CellResult

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.experiment.results import Results

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
PACKAGES = ("kernelbandits", "numpy", "scipy", "numba")


class IntervalEstimate(NamedTuple):
    """A number and the two ends of its 95 % interval."""

    value: float
    low: float
    high: float


def half_width(samples: Array, level: float = 0.05) -> Array:
    """Return half the width of the t interval over the first axis; infinite for one sample.

    t_{n-1, 1 - level/2} s / sqrt(n)
    """
    n = len(samples)
    if n < 2:
        return np.full(samples.shape[1:], np.inf)
    quantile = stdtrit(n - 1, 1 - level / 2)
    return np.asarray(quantile * samples.std(0, ddof=1) / np.sqrt(n), dtype=np.float64)


def estimate_mean(samples: Array) -> IntervalEstimate:
    """Return the mean and its 95 % t interval; one sample has an infinite interval."""
    mean, half = float(samples.mean()), float(half_width(samples))
    return IntervalEstimate(mean, mean - half, mean + half)


def estimate_regret(samples: Array) -> IntervalEstimate:
    """Return the mean of regrets and its 95 % t interval, cut at zero.

    A regret is never negative, so the part of a t interval below zero holds no possible mean.
    """
    value, low, high = estimate_mean(samples)
    return IntervalEstimate(value, max(low, 0.0), high)


def summary(results: Results) -> pd.DataFrame:
    """Return a row for each problem and policy: mean, 95 % interval, quantiles, time per round.

    `regret_growth` is the exponent a of a mean regret that grows like t^a (`estimate_growth`), and
    `simple_regret_above_zero` the share of seeds that end with a simple regret above 0.
    """
    import pandas as pd

    rows = []
    for cell in results.cells:
        name = {"problem": cell.problem.name, "policy": cell.contender.label}
        size = {"rounds": cell.horizon, "seeds": len(cell.seeds)}
        name |= swept_columns(cell) if any(one.contender.swept for one in results.cells) else {}
        rows.append(name | size | cell_statistics(results.found[cell.key], cell.horizon))
    return pd.DataFrame(rows)


def swept_columns(cell: Cell) -> dict[str, Any]:
    """Return what a policy was called before the sweep, and the values that it was given."""
    one = cell.contender
    return {"entrant": one.entrant or one.label, **one.swept}


def cell_statistics(result: CellResult, horizon: int) -> dict[str, Any]:
    return {
        **regret_statistics("regret", result.regret[:, -1]),
        **growth_columns(result.regret),
        **regret_statistics("simple_regret", result.simple[:, -1]),
        "simple_regret_above_zero": float(np.mean(result.simple[:, -1] > 0)),
        "microseconds_per_round": float(1e6 * result.seconds.min() / horizon),
        "information_gain_realised": float(result.log_det.mean() / 2),
        **{key: result.settings.get(key) for key in ("gain", "ridge", "engine")},
    }


def growth_columns(regret: Array) -> dict[str, float]:
    """Return the exponent with which the regret grows in the last two thirds, and its interval."""
    growth = estimate_growth(regret)
    return {
        "regret_growth": growth.value,
        "regret_growth_low": growth.low,
        "regret_growth_high": growth.high,
    }


def estimate_growth(regret: Array) -> IntervalEstimate:
    """Return the exponent a of a mean regret that grows like t^a, between T/3 and T.

    a = ln(mean R_T / mean R_s) / ln(T / s) with s the round nearest to T/3. Early rounds, in which
    everything has yet to be tried, would flatter it. The interval is the t interval of the
    linearised ratio, R_T / mean R_T - R_s / mean R_s over the seeds. Without regret at s, or with
    fewer than three rounds, there is no exponent: all are nan.
    """
    horizon = regret.shape[1]
    early = max(1, round(horizon / 3))
    before, after = regret[:, early - 1], regret[:, -1]
    if horizon < 3 or before.mean() <= 0:
        return IntervalEstimate(math.nan, math.nan, math.nan)
    stretch = math.log(horizon / early)
    value = math.log(float(after.mean() / before.mean())) / stretch
    half = float(half_width(after / after.mean() - before / before.mean())) / stretch
    return IntervalEstimate(value, value - half, value + half)


def regret_statistics(name: str, samples: Array) -> dict[str, float]:
    quantiles = {f"{name}_q{round(100 * q):02d}": float(np.quantile(samples, q)) for q in QUANTILES}
    return mean_columns(name, estimate_regret(samples)) | quantiles


def mean_columns(name: str, mean: IntervalEstimate) -> dict[str, float]:
    return {f"{name}_mean": mean.value, f"{name}_low": mean.low, f"{name}_high": mean.high}


def save_rounds(results: Results, path: Path) -> None:
    """Write all curves: `problem/policy/regret`, `/simple` and `/arms`.

    Each has a row for each seed and a column for each round. `settings` is the JSON text of what
    decides the curves, the meaning of the information gain included.
    """
    arrays: dict[str, Any] = {"settings": np.array(to_json(experiment_settings(results)))}
    for cell in results.cells:
        result = results.found[cell.key]
        for kind in ("regret", "simple", "arms"):
            arrays["/".join((*cell.name, kind))] = getattr(result, kind)
    # A reader never finds half a file: it is written under another name and then renamed.
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, **arrays)
    part.replace(path)


def save_settings(results: Results, path: Path, **more: Any) -> None:
    """Write what decides the results, and `more`, as JSON."""
    document = experiment_settings(results) | {"versions": installed_versions()} | identify(more)
    path.write_text(to_json(document) + "\n", encoding="utf-8")


def experiment_settings(results: Results) -> dict[str, Any]:
    """Return what decides the results, as a plain dictionary."""
    first = results.cells[0]
    return {
        "horizon": first.horizon,
        "seeds": list(first.seeds),
        "kernel": identify(first.kernel),
        "problems": {p.name: identify(p) for p in results.problems},
        "policies": {
            c.contender.label: dict(results[c.name].settings)
            for c in results.cells
            if c.problem == first.problem
        },
    }


def installed_versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that decide results."""
    found = {"python": platform.python_version()}
    return found | {name: installed_version(name) for name in PACKAGES}


def installed_version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
