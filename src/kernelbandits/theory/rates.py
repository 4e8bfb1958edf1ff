"""How fast the maximum information gain grows: gamma_T = O(T^e log^q T) on a bounded domain, the ridge fixed.

    finite rank (linear, polynomial)    e = 0              q = 1
    analytic (RBF, rational quadratic)  e = 0              q = d + 1
    Matern                              e = d/(2 nu + d)   q = 2 nu/(2 nu + d)

After Vakili, Khezeli & Picheny (2021) from the decay of the eigenvalues; sums after Krause & Ong (2011). Products are
ours: upper rates, for the spectral density of a product is the convolution of the two and decays like the slower one.
"""

from __future__ import annotations

from fractions import Fraction
from functools import singledispatch
from typing import Any, NamedTuple

from kernelbandits import checks
from kernelbandits.kernels import (
    RBF,
    Kernel,
    Linear,
    Matern,
    Normalised,
    Polynomial,
    Product,
    RationalQuadratic,
    Scaled,
    Sum,
    as_kernel,
)


class Rate(NamedTuple):
    """T^exponent log^power T; rates are compared in this order."""

    exponent: Fraction
    power: Fraction


def gain_exponent(kernel: Any, dimension: int) -> float:
    """e in gamma_T = O(T^e log^q T)."""
    return float(gain_rate(kernel, dimension).exponent)


def rate_text(kernel: Any, dimension: int) -> str:
    """The rate in words of T, such as `O(T^(2/7) log^(5/7) T)`."""
    exponent, power = gain_rate(kernel, dimension)
    growth = f"T^{written(exponent)} " if exponent else ""
    return f"O({growth}log{'' if power == 1 else '^' + written(power)} T)"


def written(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"({number})"


def gain_rate(kernel: Any, dimension: int) -> Rate:
    """The known rate of gamma_T for a kernel on a bounded domain of d dimensions."""
    return rate_of(
        as_kernel(kernel), checks.whole("the rate of the information gain", "dimension", dimension)
    )


@singledispatch
def rate_of(kernel: Kernel, d: int) -> Rate:
    known = "a kernel of known rate (linear, polynomial, RBF, rational quadratic, Matern, their sums and products)"
    raise ValueError(f"the rate of the information gain needs {known}, got {kernel!r}")


@rate_of.register(Linear)
@rate_of.register(Polynomial)
def finite_rank(kernel: Linear | Polynomial, d: int) -> Rate:
    """(r / 2) ln(1 + T sup k / (r ridge)), r the rank."""
    return Rate(Fraction(0), Fraction(1))


@rate_of.register(RBF)
@rate_of.register(RationalQuadratic)
def analytic(kernel: RBF | RationalQuadratic, d: int) -> Rate:
    """Eigenvalues below exp(-c m^(1/d)): log^d T of them matter, each for log T."""
    return Rate(Fraction(0), Fraction(d + 1))


@rate_of.register
def matern(kernel: Matern, d: int) -> Rate:
    """Eigenvalues below c m^-(2 nu + d)/d."""
    smooth = 2 * Fraction(kernel.nu)
    return Rate(d / (smooth + d), smooth / (smooth + d))


@rate_of.register(Scaled)
@rate_of.register(Normalised)
def rescaled(kernel: Scaled | Normalised, d: int) -> Rate:
    return rate_of(kernel.kernel, d)


@rate_of.register
def added(kernel: Sum, d: int) -> Rate:
    """det(I + A + B) <= det(I + A) det(I + B): gamma of a sum is at most the sum of the gammas."""
    return max(rate_of(kernel.left, d), rate_of(kernel.right, d))


@rate_of.register
def multiplied(kernel: Product, d: int) -> Rate:
    """The rougher factor's; next to a rough one, a smooth factor counts by its rank, log^(q - 1) T."""
    smooth, rough = sorted((rate_of(kernel.left, d), rate_of(kernel.right, d)))
    if smooth.exponent == 0 < rough.exponent:
        return Rate(rough.exponent, rough.power + smooth.power - 1)
    return rough
