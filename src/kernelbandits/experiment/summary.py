"""Curves into a table: means with 95 % intervals, quantiles, time per round."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import stdtrit

from kernelbandits.catalogue import to_plain
from kernelbandits.checks import Array
from kernelbandits.experiment.cells import CellResult

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.experiment.runner import Results

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)


def half_width(samples: Array, level: float = 0.05) -> Array:
    """t_{n-1, 1 - level/2} s / sqrt(n), over the first axis; infinite for one sample."""
    n = len(samples)
    if n < 2:
        return np.full(samples.shape[1:], np.inf)
    return stdtrit(n - 1, 1 - level / 2) * samples.std(0, ddof=1) / np.sqrt(n)  # type: ignore[no-any-return]


def statistics(name: str, samples: Array) -> dict[str, float]:
    mean, half = float(samples.mean()), float(half_width(samples))
    row = {f"{name}_mean": mean, f"{name}_low": mean - half, f"{name}_high": mean + half}
    return row | {
        f"{name}_q{round(100 * q):02d}": float(np.quantile(samples, q)) for q in QUANTILES
    }


def cell_row(result: CellResult, horizon: int) -> dict[str, Any]:
    timing = {"microseconds_per_round": float(1e6 * result.seconds.min() / horizon)}
    regret = statistics("regret", result.regret[:, -1])
    simple = statistics("simple_regret", result.simple[:, -1])
    gain = {"information_gain_realised": float(result.log_det.mean() / 2)}
    return (
        regret
        | simple
        | timing
        | gain
        | {key: result.settings.get(key) for key in ("gain", "ridge", "engine")}
    )


def summary(results: Results) -> pd.DataFrame:
    """A row for each problem and policy."""
    import pandas as pd

    rows = []
    for cell in results.cells:
        name = {"problem": cell.problem.name, "policy": cell.contender.label}
        size = {"rounds": cell.horizon, "seeds": len(cell.seeds)}
        rows.append(name | size | cell_row(results.found[cell.key], cell.horizon))
    return pd.DataFrame(rows)


def save_rounds(results: Results, path: Path) -> None:
    """All curves: `problem/policy/regret`, `/simple` and `/arms`, a row for each seed, a column for each round.

    `settings` is the JSON text of what decides them, the meaning of the information gain included.
    """
    arrays: dict[str, Any] = {"settings": np.array(json.dumps(experiment_settings(results)))}
    for cell in results.cells:
        result = results.found[cell.key]
        prefix = "/".join(cell.name)
        arrays |= {
            f"{prefix}/{kind}": getattr(result, kind) for kind in ("regret", "simple", "arms")
        }
    part = path.with_suffix(".part")
    with part.open("wb") as file:
        np.savez(file, **arrays)
    part.replace(path)


def experiment_settings(results: Results) -> dict[str, Any]:
    """What decides the results, as a plain dictionary."""
    first = results.cells[0]
    return {
        "horizon": first.horizon,
        "seeds": list(first.seeds),
        "kernel": to_plain(first.kernel),
        "problems": {p.name: to_plain(p) for p in results.problems},
        "policies": {
            c.contender.label: dict(results[c.name].settings)
            for c in results.cells
            if c.problem == first.problem
        },
    }


def save_settings(results: Results, path: Path, **more: Any) -> None:
    path.write_text(json.dumps(experiment_settings(results) | to_plain(more), indent=2) + "\n")
