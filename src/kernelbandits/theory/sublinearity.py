"""Whether the regret bound grows more slowly than T.

The bound is of the order (C2 + C3) gamma_T sqrt(T). If gamma_T = O(T^e log^p T), it is sublinear if
C2 + C3 = o(T^(1/2 - e) / log^p T): the logarithm counts (E8). If C2 + C3 = O(T^q) up to logarithms,
the bound grows like T^(1/2 + e + q), up to logarithms, and it is sublinear if e + q < 1/2. A Matern
kernel has e = d/(2 nu + d) and p = 1 - e. For nu <= d/2 the bound is not sublinear for any law at a
fixed ridge, even if C2 and C3 do not grow (E8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.exploration import (
    Decay,
    Discrete,
    Exploration,
    Gaussian,
    Law,
    Mixture,
    RootExponential,
    Step,
    chance_range,
)
from kernelbandits.kernels import Kernel, as_kernel
from kernelbandits.theory.law_constants import constants, least_optimism
from kernelbandits.theory.rates import gain_exponent, gain_rate

MEASURED = "measured"
FROM, TO, TO_OF_SCHEDULE = 10**3, 10**6, 10**5
"""The horizons between which growth is measured; a schedule, which is asked about each round, gets
the shorter one."""


@dataclass(frozen=True)
class Sublinear:
    """How fast the bound grows with T, up to logarithms.

    `sublinear` returns it.

    >>> import kernelbandits as kb
    >>> answer = kb.theory.sublinear(kb.RBF(0.2), 2, kb.Bernoulli(0.5))
    >>> answer.holds, answer.is_proved, answer.margin
    (True, True, 0.5)
    >>> answer.largest_growth
    'T^0.5 / log^3 T'
    """

    kernel: Kernel
    """The kernel of f."""
    dimension: int
    """d, the dimension of the domain."""
    gain_exponent: float
    """e"""
    law_exponent: float
    """q"""
    source: str
    """How q is known."""

    @property
    def margin(self) -> float:
        """1/2 - e - q: the bound is sublinear if this is positive."""
        return 0.5 - self.gain_exponent - self.law_exponent

    @property
    def is_proved(self) -> bool:
        """Whether the answer is proved: q is not measured, or no q could change the answer."""
        return self.gain_exponent >= 0.5 or not self.source.startswith(MEASURED)

    @property
    def holds(self) -> bool:
        """Whether the bound grows more slowly than T; a measured q does not prove it."""
        return self.margin > 0

    @property
    def largest_growth(self) -> str:
        """T^(1/2 - e) / log^p T, below which C2 + C3 has to stay."""
        power = float(gain_rate(self.kernel, self.dimension).power)
        logarithm = "log T" if power == 1 else f"log^{power:.3g} T"
        return f"T^{0.5 - self.gain_exponent:.3g} / {logarithm}"

    @property
    def sentence(self) -> str:
        """The answer and its reason, in words."""
        if self.gain_exponent >= 0.5:
            return f"Not sublinear for any law: {self.obstacle}."
        needed = (
            f"{self.kernel} in dimension {self.dimension} needs C2 + C3 = o({self.largest_growth})"
        )
        if not self.is_proved:
            return self._measured_sentence(needed)
        size = (
            f"T^{self.law_exponent:.3g} up to logarithms"
            if self.law_exponent
            else "a power of log T at most"
        )
        found = f"C2 + C3 grows like {size} ({self.source})"
        start = "Sublinear" if self.holds else "Not sublinear"
        return (
            f"{start}: {needed}, and here {found}; "
            f"the bound grows like T^{1 - self.margin:.3g}, up to logarithms."
        )

    def _measured_sentence(self, needed: str) -> str:
        seen = f"C2 + C3 grew like T^{self.law_exponent:.3g} ({self.source})"
        so = "would be" if self.holds else "would not be"
        return (
            f"Measured, not proved: {needed}, and here {seen}; "
            f"if this growth continues, the bound {so} sublinear."
        )

    @property
    def obstacle(self) -> str:
        """Why no law makes the bound sublinear."""
        nu = self.dimension * (1 / self.gain_exponent - 1) / 2
        return f"at a fixed ridge nu > d/2 = {self.dimension / 2:g} is needed, got nu = {nu:g} (E8)"


def sublinear(kernel: Any, dimension: int, exploration: Any) -> Sublinear:
    """Return how fast the regret bound grows for a kernel on a bounded domain of R^d and a law.

    Examples
    --------
    >>> from kernelbandits import Matern, PointMass
    >>> from kernelbandits.theory import sublinear
    >>> answer = sublinear(Matern(0.2, nu=2.5), 2, PointMass(1))
    >>> answer.holds, round(1 - answer.margin, 3)
    (True, 0.786)
    >>> print(sublinear(Matern(0.2, nu=0.5), 2, PointMass(1)).sentence)
    Not sublinear for any law: at a fixed ridge nu > d/2 = 1 is needed, got nu = 0.5 (E8).
    """
    chosen = as_kernel(kernel)
    gain = gain_exponent(chosen, dimension)
    return Sublinear(chosen, dimension, gain, *law_exponent(exploration))


def law_exponent(exploration: Any) -> tuple[float, str]:
    """Return q in C2 + C3 = O~(T^q), and say how it is known."""
    source = Exploration.of(exploration).source
    limits = chance_range(source)
    if (limits and limits[0] > 0) or (isinstance(source, Decay) and source.floor > 0):
        return 0.0, "C1 has a positive lower limit"
    if isinstance(source, Decay):
        least_optimism([source(1)])
        return min(source.power, 1.0), "C3 grows like 1/C1, and never faster than T"
    laws = fixed_laws(source)
    if laws and all(map(has_light_tails, laws)):
        least_optimism(laws)
        return 0.0, "finitely many laws, all with light tails"
    last = TO if isinstance(source, Law) else TO_OF_SCHEDULE
    return measure_exponent(exploration, last), f"{MEASURED} between T = {FROM:.0e} and {last:.0e}"


def fixed_laws(source: Any) -> list[Law]:
    """Return the laws of a schedule with finitely many for all T; none where that is unknown."""
    if isinstance(source, Step):
        return [source.first, source.second] if source.last else [source.second]
    return [source] if isinstance(source, Law) else []


def has_light_tails(law: Law) -> bool:
    """Tell whether E max_t |w_t| is known to grow no faster than a power of log T."""
    if isinstance(law, Mixture):
        return all(
            has_light_tails(part)
            for chance, part in zip(law.weights, law.laws, strict=True)
            if chance > 0
        )
    return isinstance(law, (Discrete, Gaussian, RootExponential))


def measure_exponent(exploration: Any, last: int) -> float:
    """Return the slope of log(C2 + C3) against log T."""
    low, high = sum_of_constants(exploration, FROM), sum_of_constants(exploration, last)
    return max(0.0, math.log(high / low) / math.log(last / FROM))


def sum_of_constants(exploration: Any, horizon: int) -> float:
    """Return C2 + C3, if it is finite."""
    found = constants(exploration, horizon)
    checks.needs(
        math.isfinite(found.c2 + found.c3), "sublinear", "a law with E|w| < inf", exploration
    )
    return found.c2 + found.c3
