"""Numbers and verdicts as sentences, shared by claims.md and the page."""

from __future__ import annotations

import math
import platform
import re
from collections.abc import Iterable, Sequence
from importlib import metadata
from typing import Any

from kernelbandits.experiment import Results
from kernelbandits.report.claims import Difference, Verdict

NUMERAL = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e[-+]?\d+)?(?![\w.]*\w)")
SIMPLE_REGRET = "Simple regret: the gap of the arm with the greatest estimate after the round."
PAIRED = "All policies of one seed meet the same candidates, noise, weights and ties."
METHOD = (
    "Each claim is judged by paired differences over seeds, with t intervals at levels corrected for the number of "
    "comparisons (Holm, 5 % for the whole family): it holds if every interval lies where the claim puts it, "
    "fails if one lies wholly elsewhere, and is not resolved otherwise."
)
RANKS = (
    "Brackets are 95 % t intervals over the seeds, and the difference to the best is paired by seed; the ranks are the "
    "places a policy may hold after paired t tests of all pairs of policies on a problem (Holm, 5 %), so that in 95 % "
    "of such experiments every true rank of a problem lies in its interval. All policies of one seed meet the same "
    "candidates, noise, weights and ties, which is why their differences are surer than their means look."
)
OVERALL = (
    "The share is the regret relative to what arms drawn uniformly lose in expectation, as a geometric mean over the "
    "problems (a thousandth is added before the logarithm and taken off after, so that a regret of zero stays finite); "
    "the rank is the mean over the problems. Their brackets are 95 % bootstrap intervals over the seeds, which are "
    "resampled for all policies alike: they say what other seeds would change, not what other problems would."
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


def interval(mean: float, low: float, high: float, digits: int | None = None) -> str:
    """In four significant digits, or with so many decimals."""
    shown = [
        number(v) if digits is None or not math.isfinite(v) else f"{v:.{digits}f}"
        for v in (mean, low, high)
    ]
    return f"{shown[0]} [{shown[1]}, {shown[2]}]"


def decimals(values: Sequence[float]) -> int:
    """So many that three digits of the largest are shown, and at least one."""
    largest = max(values)
    return max(1, 2 - math.floor(math.log10(largest))) if largest > 0 else 1


def percent(value: float, low: float, high: float) -> str:
    """A share and its interval in percent."""
    return interval(100 * value, 100 * low, 100 * high, digits=1)


def places(first: int, last: int) -> str:
    return f"{first}–{last}" if first < last else f"{first}"


def who_and_what(notice: str) -> tuple[str, str]:
    """A policy's warning, "Who: what", in two; other texts concern nobody in particular."""
    who, colon, what = notice.partition(": ")
    return (who, what) if colon and who.isidentifier() else ("", notice)


def by_text(notices: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """(who, text) -> text -> all whom it concerns; texts that differ in their numbers only become one with ranges."""
    groups: dict[str, list[tuple[str, str]]] = {}
    for who, text in notices:
        groups.setdefault(NUMERAL.sub("#", text), []).append((who, text))
    return {merged([text for _, text in group]): list(dict(group)) for group in groups.values()}


def merged(texts: Sequence[str]) -> str:
    """One text for several with the same words: "got 2" and "got 5" give "got 2 to 5"."""
    rows = list(dict.fromkeys(tuple(NUMERAL.findall(text)) for text in texts))
    ranges = iter([spread(column) for column in zip(*rows, strict=True)])
    return NUMERAL.sub(lambda found: next(ranges), texts[0])


def spread(numerals: Sequence[str]) -> str:
    ordered = sorted(numerals, key=float)
    return (
        ordered[0] if float(ordered[0]) == float(ordered[-1]) else f"{ordered[0]} to {ordered[-1]}"
    )


def statement(difference: Difference) -> str:
    c = difference.comparison
    words = {
        "lower": "below",
        "similar": "similar to",
        "faster": "faster than",
        "as fast": "as fast as",
    }
    return f"{c.first} {words[c.kind]} {c.second}"


def difference_text(d: Difference) -> str:
    """Regret as it is; the logarithm of a time as a ratio."""
    if d.comparison.kind in ("faster", "as fast"):
        mean, low, high = (math.exp(min(value, 700.0)) for value in (d.mean, d.low, d.high))
        return f"time × {interval(mean, low, high)}"
    return interval(d.mean, d.low, d.high)


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
