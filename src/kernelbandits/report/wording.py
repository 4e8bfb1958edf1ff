"""Numbers and verdicts as sentences, shared by claims.md and the page."""

from __future__ import annotations

import math
import platform
from importlib import metadata
from typing import Any

from kernelbandits.experiment import Results
from kernelbandits.report.claims import Difference, Verdict

SIMPLE_REGRET = "Simple regret: the gap of the arm with the greatest estimate after the round."
PAIRED = "All policies of one seed meet the same candidates, noise, weights and ties."
METHOD = (
    "Each claim is judged by paired differences over seeds, with t intervals at levels corrected for the number of "
    "comparisons (Holm, 5 % for the whole family): it holds if every interval lies where the claim puts it, "
    "fails if one lies wholly elsewhere, and is not resolved otherwise."
)
OPEN_SETTINGS = (
    "The paper leaves lengthscale, R, D, delta and the information gain open. This preset fills them in: "
    "lengthscale 0.2, R = 1, D = 1, delta = 0.1 (IGP-UCB and GP-TS; the Generic-GP family has the paper's 1/2), "
    "realised gain, ridge 1 (IGP-UCB and GP-TS keep their own 1 + 2/T), random ties."
)


def number(value: Any) -> str:
    """Four significant digits, no exponent where it can be read without."""
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        return "–" if value is None else str(value)
    if not math.isfinite(value):
        return "–"
    return f"{value:.4g}" if abs(value) < 10_000 else f"{value:,.0f}"


def interval(mean: float, low: float, high: float) -> str:
    return f"{number(mean)} [{number(low)}, {number(high)}]"


def statement(difference: Difference) -> str:
    c = difference.comparison
    words = {"lower": "below", "similar": "similar to", "faster": "faster than", "as fast": "as fast as"}
    return f"{c.first} {words[c.kind]} {c.second}"


def difference_text(d: Difference) -> str:
    """Regret as it is; the logarithm of a time as a ratio."""
    values = (d.mean, d.low, d.high)
    if d.comparison.kind in ("faster", "as fast"):
        return "time × " + interval(*(math.exp(min(value, 700.0)) for value in values))
    return interval(*values)


def by_problem(verdict: Verdict) -> str:
    """The verdict on each problem."""
    names = list({d.comparison.problem: None for d in verdict.differences})
    return "; ".join(f"{name}: {verdict.on(name)}" for name in names)


def versions() -> dict[str, str]:
    names = ("kernelbandits", "numpy", "scipy", "numba")
    return {"python": platform.python_version()} | {name: version(name) for name in names}


def version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def played_line(results: Results) -> str:
    cell = results.cells[0]
    made = ", ".join(f"{name} {text}" for name, text in versions().items())
    return f"{cell.horizon} rounds, {len(cell.seeds)} seeds, kernel {cell.kernel}. {made}."
