"""The maximum information gain gamma_T = max (1/2) log det(I + K / ridge) over T points, enclosed with certificates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.domains import Arms
from kernelbandits.kernels import Kernel, Linear, as_kernel
from kernelbandits.theory.gains import GreedyGain, analytic_gain
from kernelbandits.theory.relaxation import optimal_design

LARGEST_DESIGN = 2000
"""Beyond so many arms no design is computed; the greedy certificate remains."""


@dataclass(frozen=True)
class InformationGain:
    """What is known of gamma_T."""

    lower: float
    """G_T, reached by the greedy points."""
    upper: float
    """Which no T points exceed."""
    certificate: str
    """Why they do not."""
    horizon: int
    ridge: float


def information_gain(kernel: Any, arms: Any, horizon: int, ridge: float = 1.0) -> InformationGain:
    """G_T <= gamma_T <= the least of its certificates, on a finite set of arms."""
    rounds = checks.whole("information_gain", "horizon", horizon, least=0)
    chosen, places = as_kernel(kernel), arms if isinstance(arms, Arms) else Arms(arms)
    greedy = GreedyGain(chosen, places, checks.positive("information_gain", "ridge", ridge))
    upper, certificate = min(
        [(greedy.bound(rounds), "greedy / (1 - 1/e)"), *certificates(chosen, places, rounds, ridge)]
    )
    lower = greedy.value(rounds)
    return InformationGain(lower, max(upper, lower), certificate, rounds, ridge)


def certificates(kernel: Kernel, arms: Arms, rounds: int, ridge: float) -> Iterator[tuple[float, str]]:
    """Upper bounds of gamma_T besides the greedy one, each with its name."""
    if rounds > 0 and len(arms) <= LARGEST_DESIGN:
        design = optimal_design(kernel(arms.points, arms.points), rounds, ridge)
        yield design.bound, f"D-optimal relaxation, duality gap {design.gap:.2g}"
    if isinstance(kernel, Linear) and kernel.diagonal(arms.points).max() <= 1:
        yield analytic_gain(kernel, arms.points, ridge, rounds), "(d/2) ln(1 + T/(d ridge))"
