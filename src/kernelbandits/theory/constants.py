"""The three constants of an exploration schedule, through which one theorem covers every law.

C1_t = P(w_t >= 1)
C2_T = E max_t |w_t|
C3_T = E max_t |w_t| / C1_t + max_t E|w_t| / C1_t
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.exploration import Discrete, Exploration, Law
from kernelbandits.theory.maxima import Part, expected_maximum


@dataclass(frozen=True)
class Constants:
    """What the bounds need of an exploration schedule over T rounds."""

    c1: float
    """min_t P(w_t >= 1)"""
    c2: float
    c3: float
    c3_tight: float
    """E max_t (w_t - E w_t)^+ / C1_t, which may stand for C3 in the repaired bound: 0 for a point mass."""
    horizon: int
    error: float = 0.0
    """Standard error of C2 and C3 where they were simulated; 0 where they are exact."""


def constants(exploration: Any, horizon: int) -> Constants:
    """C1, C2, C3 of a law, or of a schedule t -> law, over T rounds; identical laws are counted, not repeated."""
    rounds = checks.whole("constants", "horizon", horizon)
    laws = counted_laws(exploration, rounds)
    worst = least_optimism(laws)
    raised = [(law, count, 1 / law.optimism) for law, count in laws.items()]
    c2 = expected_maximum([absolute(law, count) for law, count in laws.items()])
    scaled = expected_maximum([absolute(law, count, scale) for law, count, scale in raised])
    c3 = scaled + max(law.mean_abs * scale for law, _, scale in raised)
    tight = expected_maximum([excess(law, count, scale) for law, count, scale in raised])
    return Constants(worst, c2, c3, tight, rounds)


def counted_laws(exploration: Any, horizon: int) -> Counter[Law]:
    """How many of the rounds 1..T have each law."""
    chosen = Exploration.of(exploration)
    needed = "a law or a schedule t -> law (give the least favourable laws of one that looks at the history)"
    checks.needs(not chosen.uses_history, "constants", needed, exploration)
    counts: Counter[Law] = Counter()
    for law, start, stop in chosen.runs(horizon):
        counts[law] += stop - start
    return counts


def least_optimism(laws: Iterable[Law]) -> float:
    """min_t C1_t, by which the bounds divide."""
    worst = min(laws, key=lambda law: law.optimism)
    checks.needs(worst.optimism > 0, "a regret bound", "C1 = P(w >= 1) > 0 in every round", worst)
    return worst.optimism


def absolute(law: Law, count: int, scale: float = 1.0) -> Part:
    """scale |w|, for `count` rounds."""
    atoms = sorted({scale * abs(value) for value in law.atoms})
    chances = None
    if isinstance(law, Discrete):
        found: Counter[float] = Counter()
        for value, chance in zip(law.support, law.chances, strict=True):
            found[scale * abs(value)] += chance
        atoms, chances = list(found), tuple(found.values())
    return Part(count, lambda u: law.tail_abs(u / scale), tuple(atoms), chances)


def excess(law: Law, count: int, scale: float = 1.0) -> Part:
    """scale (w - E w)^+, for `count` rounds."""
    middle = law.expectation
    above = tuple(scale * max(value - middle, 0.0) for value in law.atoms)
    chances = None
    if isinstance(law, Discrete):
        found: Counter[float] = Counter()
        for value, chance in zip(law.support, law.chances, strict=True):
            found[scale * max(value - middle, 0.0)] += chance
        above, chances = tuple(found), tuple(found.values())
    return Part(count, lambda u: law.tail(middle + u / scale), above, chances)
