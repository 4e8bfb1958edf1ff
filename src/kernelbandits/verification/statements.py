"""A checked statement: what the theory predicts, what was observed, and whether the two agree."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import bdtrc

from kernelbandits import checks

HOLDS, FAILS = "holds", "fails"
FALSE_ALARM = 0.00135
"""Probability with which a correct rate is called too high.

It is the probability that a normal variable exceeds its mean by three standard deviations.
"""


@dataclass(frozen=True)
class CheckedStatement:
    """One statement of the theory together with the result of checking it.

    >>> from kernelbandits.verification import CheckedStatement
    >>> checked = CheckedStatement(
    ...     statement="C1 of Ber(1/2) is 1/2", predicted="0.5", observed="0.4997", holds=True
    ... )
    >>> checked.verdict, checked.as_expected
    ('holds', True)
    """

    statement: str
    """The inequality or equation, and the case for which it was checked."""
    predicted: str
    """What the theory says."""
    observed: str
    """What the computation or the simulation gave."""
    holds: bool
    """Whether the observation agrees with the statement."""
    should_hold: bool = True
    """False for a statement that is known to be wrong, such as a misprint of the paper."""
    detail: str = ""
    """The tolerance and its reason, the number of runs, and other circumstances."""
    topic: str = ""
    """The name of the topic, as in `check-theory --only`; `check_topics` fills it in."""

    def __post_init__(self) -> None:
        # A comparison of numpy numbers gives numpy's own bool, which JSON does not know.
        object.__setattr__(self, "holds", bool(self.holds))

    @property
    def verdict(self) -> str:
        return HOLDS if self.holds else FAILS

    @property
    def expected_verdict(self) -> str:
        """The verdict that a correct program gives."""
        return HOLDS if self.should_hold else FAILS

    @property
    def as_expected(self) -> bool:
        return self.holds == self.should_hold


@dataclass(frozen=True)
class Effort:
    """How much to simulate, and from which seed.

    Parameters
    ----------
    seed
        All random numbers follow from it: equal seeds give equal observations.
    scale
        Number of runs relative to the documented one; 0.1 is a tenth of the runs.

    Examples
    --------
    >>> from kernelbandits.verification import Effort
    >>> Effort(scale=0.1).runs(400)
    40
    """

    seed: int = 0
    scale: float = 1.0

    def __post_init__(self) -> None:
        checks.whole("Effort", "seed", self.seed, least=0)
        checks.positive("Effort", "scale", self.scale)

    def runs(self, usual: int, least: int = 20) -> int:
        """Return the usual number of runs times the scale, but at least `least`."""
        return max(least, round(usual * self.scale))

    def seeds(self, runs: int) -> range:
        """Return one seed for each run; the seeds of two efforts do not overlap."""
        return range(self.seed * 10**6, self.seed * 10**6 + runs)


Topic = Callable[[Effort], Iterator[CheckedStatement]]
"""A function that checks all statements of one topic."""


def compare_numbers(
    statement: str, differences: Any, tolerance: float, detail: str = ""
) -> CheckedStatement:
    """State that two computations agree: no difference exceeds the tolerance, and none is NaN."""
    largest = float(np.max(differences))
    return CheckedStatement(
        statement,
        f"difference <= {tolerance:.0e}",
        f"difference {largest:.1e}",
        holds=largest <= tolerance,
        detail=detail,
    )


def standard_error(probability: float, runs: int) -> float:
    """Return the standard error of a relative frequency.

    sqrt(p (1 - p) / n)
    """
    return math.sqrt(max(probability * (1 - probability), 0.0) / runs)


def mean_and_error(values: Any) -> tuple[float, float]:
    """Return the mean of the values and its standard error."""
    return float(np.mean(values)), float(np.std(values, ddof=1) / math.sqrt(len(values)))


def most_failures(delta: float, runs: int) -> int:
    """Return the least k with P(Bin(runs, delta) > k) <= 0.00135.

    More failures contradict the rate.
    """
    return int((bdtrc(np.arange(runs + 1), runs, delta) <= FALSE_ALARM).argmax())


def format_share(count: int, runs: int, *remarks: str) -> str:
    """Write a relative frequency with its counts, such as `0.200 (3 of 15)`."""
    return f"{count / runs:.3f} ({', '.join((f'{count} of {runs}', *remarks))})"
