"""Whether the regret bound grows slower than T: with gamma_T = O~(T^e) and C2 + C3 = O~(T^q) it is O~(T^(1/2 + e + q)).

So a kernel leaves room for C2 + C3 = o(T^(1/2 - e)), up to logarithms. A Matern kernel has e = d/(2 nu + d), and for
nu <= d/2 there is no room for any law: at a fixed ridge the bound is not sublinear even for C's that do not grow (E8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.exploration import (
    Certainty,
    Decay,
    Discrete,
    Exploration,
    Gaussian,
    Law,
    Mixture,
    RootExponential,
    Step,
)
from kernelbandits.kernels import Kernel, Matern, as_kernel
from kernelbandits.theory.law_constants import constants, least_optimism
from kernelbandits.theory.rates import gain_exponent

MEASURED = "measured"
FROM, TO, TO_OF_SCHEDULE = 10**3, 10**6, 10**5
"""The horizons between which growth is measured; a schedule is asked round by round, and not so long."""


@dataclass(frozen=True)
class Sublinear:
    """How fast the bound grows with T, up to logarithms."""

    kernel: Kernel
    dimension: int
    gain_exponent: float
    """e"""
    law_exponent: float
    """q"""
    source: str
    """Where q comes from."""

    @property
    def room(self) -> float:
        """1/2 - e - q"""
        return 0.5 - self.gain_exponent - self.law_exponent

    @property
    def proved(self) -> bool:
        """Whether q is known and not measured, or does not matter for no law can help."""
        return self.gain_exponent >= 0.5 or not self.source.startswith(MEASURED)

    @property
    def holds(self) -> bool:
        """Whether the bound grows slower than T; a measured q does not prove it."""
        return self.room > 0

    @property
    def sentence(self) -> str:
        if self.gain_exponent >= 0.5:
            return f"Not sublinear: no law can help, {self.obstacle}."
        needed = f"{self.kernel} in dimension {self.dimension} needs C2 + C3 = o(T^{0.5 - self.gain_exponent:.3g})"
        if not self.proved:
            return self._guess(needed)
        size = (
            f"T^{self.law_exponent:.3g} up to logarithms"
            if self.law_exponent
            else "a power of log T at most"
        )
        found = f"C2 + C3 grows like {size} ({self.source})"
        start = "Sublinear" if self.holds else "Not sublinear"
        return f"{start}: {needed}, and here {found}; the bound grows like T^{1 - self.room:.3g}, up to logarithms."

    def _guess(self, needed: str) -> str:
        seen = f"C2 + C3 grew like T^{self.law_exponent:.3g} ({self.source})"
        so = "would be" if self.holds else "would not be"
        return f"Measured, not proved: {needed}, and here {seen}; growing on like that, the bound {so} sublinear."

    @property
    def obstacle(self) -> str:
        """Why there is no room."""
        if isinstance(self.kernel, Matern):
            return f"at a fixed ridge nu > d/2 = {self.dimension / 2:g} is needed, got nu = {self.kernel.nu:g} (E8)"
        return (
            f"at a fixed ridge gamma_T = o(T^(1/2)) is needed, got T^{self.gain_exponent:.3g} (E8)"
        )


def sublinear(kernel: Any, dimension: int, exploration: Any) -> Sublinear:
    """The exponents of gamma_T and of C2 + C3, for a law or schedule and a kernel on a bounded domain of R^d."""
    chosen = as_kernel(kernel)
    gain = gain_exponent(chosen, dimension)
    return Sublinear(chosen, dimension, gain, *law_exponent(exploration))


def law_exponent(exploration: Any) -> tuple[float, str]:
    """q in C2 + C3 = O~(T^q), and where it comes from."""
    source = Exploration.of(exploration).source
    if isinstance(source, (Decay, Certainty)) and source.floor > 0:
        return 0.0, "C1 never falls below a floor"
    if isinstance(source, Decay):
        least_optimism([source(1)])
        return min(source.power, 1.0), "C3 follows 1/C1, and never grows faster than T"
    laws = fixed_laws(source)
    if laws and all(map(light, laws)):
        least_optimism(laws)
        return 0.0, "finitely many laws, none of heavy tails"
    last = TO if isinstance(source, Law) else TO_OF_SCHEDULE
    return measured_exponent(exploration, last), f"{MEASURED} between T = {FROM:.0e} and {last:.0e}"


def fixed_laws(source: Any) -> list[Law]:
    """The laws of a source that has finitely many, whatever T; none where that is not known."""
    if isinstance(source, Step):
        return [source.first, source.second] if source.last else [source.second]
    return [source] if isinstance(source, Law) else []


def light(law: Law) -> bool:
    """Whether E max_t |w_t| is known to grow no faster than a power of log T."""
    if isinstance(law, Mixture):
        return all(
            light(part) for chance, part in zip(law.weights, law.laws, strict=True) if chance > 0
        )
    return isinstance(law, (Discrete, Gaussian, RootExponential))


def measured_exponent(exploration: Any, last: int) -> float:
    """The slope of log(C2 + C3) against log T."""
    low, high = growing(exploration, FROM), growing(exploration, last)
    return max(0.0, math.log(high / low) / math.log(last / FROM))


def growing(exploration: Any, horizon: int) -> float:
    """C2 + C3"""
    found = constants(exploration, horizon)
    checks.needs(
        math.isfinite(found.c2 + found.c3), "sublinear", "a law with E|w| < inf", exploration
    )
    return found.c2 + found.c3
