"""The paper's sentences, judged by paired differences over seeds: holds, fails, or not resolved. Never by eye.

Every comparison is a hypothesis of one family; Holm's procedure at 5 % gives each its level, and its interval is the
paired t interval at that level. A claim holds if all its comparisons hold, and fails if one of them fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtr, stdtrit

from kernelbandits.checks import Array
from kernelbandits.experiment import paper

FAMILY_LEVEL = 0.05
SIMILAR_SHARE = 0.1
"""Similar: within this share of Simple-UCB's mean regret."""
SAVING = 0.1
"""Computing time within this share is the same computing time."""

HOLDS, FAILS, OPEN, UNJUDGED = "holds", "fails", "not resolved", "not judged"


@dataclass(frozen=True)
class Comparison:
    """Two policies on one problem; the statement is that their difference, first - second, lies in `wanted`."""

    problem: str
    first: str
    second: str
    kind: str
    """lower (regret), similar (regret), faster or as fast (logarithm of the time per round)"""


@dataclass(frozen=True)
class Claim:
    key: str
    sentence: str
    """The paper's statement."""
    criterion: str
    """What it was taken to mean."""
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True)
class Difference:
    """A comparison with its paired mean difference, its corrected interval and the values that would confirm it."""

    comparison: Comparison
    mean: float
    low: float
    high: float
    wanted: tuple[float, float]
    verdict: str


@dataclass(frozen=True)
class Verdict:
    claim: Claim
    verdict: str
    differences: tuple[Difference, ...]

    def on(self, problem: str) -> str:
        return combined([d.verdict for d in self.differences if d.comparison.problem == problem])


Samples = Callable[[Comparison], tuple[Array, Array, float] | None]
"""The paired samples of a comparison and Simple-UCB's mean; None where they are missing."""


def performance_claims() -> tuple[Claim, ...]:
    """The sentences on regret."""
    return synthetic_claims() + perovskite_claims()


def synthetic_claims() -> tuple[Claim, ...]:
    others = [label for label in paper.COMPARED if label != "Simple-Bernoulli"]
    return (
        Claim(
            "best",
            "On synthetic data Simple-Bernoulli achieves the best empirical performance.",
            "lower regret than each of the other five, on each of the four functions",
            lower(paper.SYNTHETIC, ["Simple-Bernoulli"], others),
        ),
        Claim(
            "reducing",
            "This is because it enables reducing the exploration level as information is gathered.",
            "lower regret than Ber(1/2) throughout, and than Ber(3/8) throughout, which explores as often in all",
            lower(paper.SYNTHETIC, ["Simple-Bernoulli"], paper.CONTROLS),
        ),
        Claim(
            "gaussian",
            "Simple-Gaussian outperforms GP-TS.",
            "lower regret on each of the four functions",
            lower(paper.SYNTHETIC, ["Simple-Gaussian"], ["GP-TS"]),
        ),
        Claim(
            "categorical",
            "Simple-Categorical outperforms both IGP-UCB and Simple-UCB.",
            "lower regret than both on each of the four functions",
            lower(paper.SYNTHETIC, ["Simple-Categorical"], ["IGP-UCB", "Simple-UCB"]),
        ),
    )


def perovskite_claims() -> tuple[Claim, ...]:
    three = ("Simple-Gaussian", "Simple-Bernoulli", "Simple-Categorical")
    rest = ("IGP-UCB", "Simple-UCB", "GP-TS")
    return (
        Claim(
            "similar",
            "On Perovskite Simple-Gaussian, Simple-Bernoulli and Simple-Categorical perform similarly.",
            "every paired interval lies within 10 % of Simple-UCB's mean regret",
            tuple(Comparison(paper.PEROVSKITE, a, b, "similar") for a, b in combinations(three, 2)),
        ),
        Claim(
            "perovskite",
            "On Perovskite these three outperform IGP-UCB, Simple-UCB and GP-TS.",
            "each of the three has lower regret than each of the others",
            lower([paper.PEROVSKITE], three, rest),
        ),
    )


def efficiency_claims(problem: str) -> tuple[Claim, ...]:
    """The sentences on computing time, measured on one problem with the policies taken in turn."""
    others = [label for label in paper.COMPARED if label != "Simple-Bernoulli"]
    balls = ("GP-UCB (Whitehouse)", "IGP-UCB")
    return (
        Claim(
            "extremely-efficient",
            "Simple-Bernoulli is extremely efficient.",
            "a round takes no more time than a round of any of the other five, within 10 %",
            tuple(Comparison(problem, "Simple-Bernoulli", other, "as fast") for other in others),
        ),
        Claim(
            "no-balls",
            "Simple-UCB is more computationally efficient than GP-UCB (Whitehouse et al.) and IGP-UCB, "
            "as it does not need to construct the confidence balls.",
            "a round takes at least 10 % less time (the index has a closed form for all three, none constructs a ball)",
            tuple(Comparison(problem, "Simple-UCB", other, "faster") for other in balls),
        ),
        Claim(
            "one-normal",
            "Simple-Gaussian explores by a one-dimensional Gaussian, rather than sampling a multi-dimensional one.",
            "a round takes at least 10 % less time than a round of GP-TS",
            (Comparison(problem, "Simple-Gaussian", "GP-TS", "faster"),),
        ),
    )


def lower(
    problems: Iterable[str], firsts: Sequence[str], seconds: Sequence[str]
) -> tuple[Comparison, ...]:
    return tuple(Comparison(p, a, b, "lower") for p in problems for a in firsts for b in seconds)


def wanted_values(kind: str, reference: float) -> tuple[float, float]:
    """Where the difference must lie for the comparison to hold."""
    margin = SIMILAR_SHARE * reference
    return {
        "lower": (-math.inf, 0.0),
        "similar": (-margin, margin),
        "faster": (-math.inf, math.log(1 - SAVING)),
        "as fast": (-math.inf, math.log(1 + SAVING)),
    }[kind]


@dataclass(frozen=True)
class Paired:
    """n paired differences, by their mean and its standard error."""

    comparison: Comparison
    mean: float
    error: float
    n: int
    wanted: tuple[float, float]

    def p_value(self) -> float:
        """Two-sided, against the nearest bound of the wanted values."""
        gap = min(abs(self.mean - bound) for bound in self.wanted if math.isfinite(bound))
        if self.n < 2:
            return 1.0
        if self.error == 0:
            return float(gap == 0)
        return float(2 * stdtr(self.n - 1, -gap / self.error))

    def difference(self, level: float) -> Difference:
        half = self.error * float(stdtrit(self.n - 1, 1 - level / 2)) if self.n > 1 else math.inf
        low, high = self.mean - half, self.mean + half
        return Difference(
            self.comparison, self.mean, low, high, self.wanted, verdict_of(low, high, self.wanted)
        )


def verdict_of(low: float, high: float, wanted: tuple[float, float]) -> str:
    """Holds with the whole interval inside the wanted values, fails with all of it outside."""
    least, most = wanted
    if least < low and high < most:
        return HOLDS
    return FAILS if high <= least or low >= most else OPEN


def paired(comparison: Comparison, samples: tuple[Array, Array, float]) -> Paired:
    first, second, reference = samples
    gaps = first - second
    error = float(gaps.std(ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else math.inf
    return Paired(
        comparison, float(gaps.mean()), error, len(gaps), wanted_values(comparison.kind, reference)
    )


def holm_levels(p_values: Sequence[float], level: float = FAMILY_LEVEL) -> list[float]:
    """The level at which each hypothesis is judged: level / (m - rank), ranks by p, stopping at the first one kept."""
    order = np.argsort(p_values, kind="stable")
    levels, current, stopped = [0.0] * len(p_values), 0.0, False
    for rank, which in enumerate(order):
        if not stopped:
            current = level / (len(p_values) - rank)
            stopped = p_values[which] > current
        levels[which] = current
    return levels


def judge(claims: Sequence[Claim], samples: Samples) -> tuple[Verdict, ...]:
    """All claims as one family."""
    found = {c: samples(c) for claim in claims for c in claim.comparisons}
    tests = {c: paired(c, data) for c, data in found.items() if data is not None}
    levels = holm_levels([test.p_value() for test in tests.values()])
    differences = {
        c: test.difference(level) for (c, test), level in zip(tests.items(), levels, strict=True)
    }
    return tuple(judged(claim, differences) for claim in claims)


def judged(claim: Claim, differences: Mapping[Comparison, Difference]) -> Verdict:
    mine = tuple(differences[c] for c in claim.comparisons if c in differences)
    return Verdict(claim, combined([d.verdict for d in mine]), mine)


def combined(verdicts: Sequence[str]) -> str:
    if not verdicts:
        return UNJUDGED
    if FAILS in verdicts:
        return FAILS
    return OPEN if OPEN in verdicts else HOLDS


def regret_samples(endings: Mapping[tuple[str, str], Array]) -> Samples:
    """Final regrets by (problem, policy), paired by seed."""

    def samples(c: Comparison) -> tuple[Array, Array, float] | None:
        names = (c.problem, c.first), (c.problem, c.second), (c.problem, "Simple-UCB")
        if any(name not in endings for name in names):
            return None
        return endings[names[0]], endings[names[1]], float(endings[names[2]].mean())

    return samples


def with_times(regrets: Samples, times: Mapping[str, Array]) -> Samples:
    """Regrets, and for the comparisons of speed the logarithms of the times."""

    def samples(c: Comparison) -> tuple[Array, Array, float] | None:
        if c.kind not in ("faster", "as fast"):
            return regrets(c)
        return np.log(times[c.first]), np.log(times[c.second]), 0.0

    return samples
