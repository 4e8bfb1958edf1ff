"""What a judge says: a statement of the theory, what it predicts, what was seen, and whether that is as it must be."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc

from kernelbandits import checks

HOLDS, FAILS = "holds", "fails"
FALSE_ALARM = 0.00135
"""How often chance alone may break a bound on a share: as often as a normal law is three sd above its mean."""


@dataclass(frozen=True)
class Finding:
    """One statement, checked once."""

    judge: str
    """The judge's short name, as in `check-theory --only`."""
    statement: str
    """The formula or sentence, and for what it was checked."""
    predicted: str
    observed: str
    verdict: str
    """holds | fails: of the statement."""
    expected: str = HOLDS
    """What the verdict must be; `fails` for a statement known to be false."""
    detail: str = ""
    """The tolerance and where it comes from."""

    def __post_init__(self) -> None:
        checks.one_of("Finding", "verdict", self.verdict, (HOLDS, FAILS))
        checks.one_of("Finding", "expected", self.expected, (HOLDS, FAILS))

    @property
    def right(self) -> bool:
        """Whether the verdict is the expected one."""
        return self.verdict == self.expected


def verdict(holds: bool) -> str:
    return HOLDS if holds else FAILS


def identity(
    judge: str, statement: str, differences: Any, tolerance: float, detail: str = ""
) -> Finding:
    """Two ways to the same numbers: the greatest difference is rounding, and none is NaN."""
    difference = float(np.max(differences))
    seen, allowed = f"difference {difference:.1e}", f"difference <= {tolerance:.0e}"
    return Finding(judge, statement, allowed, seen, verdict(difference <= tolerance), detail=detail)


def counted(
    judge: str, statement: str, wanted: Mapping[str, int], right: Mapping[str, int], detail: str
) -> Finding:
    """Rounds that must be right, and those that are, by engine."""
    predicted, seen = (
        ", ".join(f"{name} {count}" for name, count in counts.items()) for counts in (wanted, right)
    )
    return Finding(judge, statement, predicted, seen, verdict(wanted == right), detail=detail)


def standard_error(chance: float, runs: int) -> float:
    """sqrt(p (1 - p) / n) of a share."""
    return math.sqrt(max(chance * (1 - chance), 0.0) / runs)


def allowed(delta: float, runs: int) -> int:
    """The least k with P(Bin(runs, delta) > k) <= 0.00135: as many failures as chance explains."""
    return int((bdtrc(np.arange(runs + 1), runs, delta) <= FALSE_ALARM).argmax())


def share(count: int, runs: int, *more: str) -> str:
    """0.200 (3 of 15)"""
    return f"{count / runs:.3f} ({', '.join((f'{count} of {runs}', *more))})"


@dataclass(frozen=True)
class Effort:
    """How much a judge may simulate: `scale` 1 as documented, less for a first look; the seed gives all randomness."""

    seed: int = 0
    scale: float = 1.0

    def __post_init__(self) -> None:
        checks.whole("Effort", "seed", self.seed, least=0)
        checks.positive("Effort", "scale", self.scale)

    def runs(self, usual: int, least: int = 20) -> int:
        """The usual number of runs, scaled."""
        return max(least, round(usual * self.scale))


Judge = Callable[[Effort], Iterator[Finding]]
