"""How fast the maximum information gain grows: gamma_T = O(T^e log^q T).

The domain is bounded and the ridge is fixed.

    finite rank (linear, polynomial)    e = 0              q = 1
    analytic (RBF, rational quadratic)  e = 0              q = d + 1
    Matern                              e = d/(2 nu + d)   q = 2 nu/(2 nu + d)

The rates follow from the decay of the eigenvalues (Vakili, Khezeli & Picheny 2021); for sums of
kernels see Krause & Ong (2011). The rates of products are ours. They are upper rates: the spectral
density of a product is the convolution of the two densities and decays like the slower one.
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
    """Return e in gamma_T = O(T^e log^q T).

    Examples
    --------
    >>> from kernelbandits import Matern
    >>> gain_exponent(Matern(0.2, nu=1.5), dimension=1)
    0.25
    """
    return float(gain_rate(kernel, dimension).exponent)


def rate_text(kernel: Any, dimension: int) -> str:
    """Return the rate as text.

    Examples
    --------
    >>> from kernelbandits import Matern
    >>> rate_text(Matern(0.2, nu=2.5), dimension=2)
    'O(T^(2/7) log^(5/7) T)'
    """
    exponent, power = gain_rate(kernel, dimension)
    growth = f"T^{format_power(exponent)} " if exponent else ""
    return f"O({growth}log{'' if power == 1 else '^' + format_power(power)} T)"


def format_power(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"({number})"


def gain_rate(kernel: Any, dimension: int) -> Rate:
    """The known rate of gamma_T for a kernel on a bounded domain of d dimensions."""
    d = checks.whole("the rate of the information gain", "dimension", dimension)
    return rate_of(as_kernel(kernel), d)


@singledispatch
def rate_of(kernel: Kernel, d: int) -> Rate:
    known = (
        "a kernel of known rate (linear, polynomial, RBF, rational quadratic, Matern, "
        "their sums and products)"
    )
    raise ValueError(f"the rate of the information gain needs {known}, got {kernel!r}")


@rate_of.register(Linear)
@rate_of.register(Polynomial)
def rate_of_finite_rank(kernel: Linear | Polynomial, d: int) -> Rate:
    """(r / 2) ln(1 + T sup k / (r ridge)), r the rank."""
    return Rate(Fraction(0), Fraction(1))


@rate_of.register(RBF)
@rate_of.register(RationalQuadratic)
def rate_of_analytic(kernel: RBF | RationalQuadratic, d: int) -> Rate:
    """The m-th eigenvalue is below exp(-c m^(1/d)): log^d T of them count, each for log T."""
    return Rate(Fraction(0), Fraction(d + 1))


@rate_of.register
def rate_of_matern(kernel: Matern, d: int) -> Rate:
    """The m-th eigenvalue is below c m^-(2 nu + d)/d."""
    smooth = 2 * Fraction(kernel.nu)
    return Rate(d / (smooth + d), smooth / (smooth + d))


@rate_of.register(Scaled)
@rate_of.register(Normalised)
def rate_of_rescaled(kernel: Scaled | Normalised, d: int) -> Rate:
    return rate_of(kernel.kernel, d)


@rate_of.register
def rate_of_sum(kernel: Sum, d: int) -> Rate:
    """The larger rate, because det(I + A + B) <= det(I + A) det(I + B)."""
    return max(rate_of(kernel.left, d), rate_of(kernel.right, d))


@rate_of.register
def rate_of_product(kernel: Product, d: int) -> Rate:
    """The rate of the rougher factor; a smooth factor beside it adds log^(q - 1) T, its rank."""
    smooth, rough = sorted((rate_of(kernel.left, d), rate_of(kernel.right, d)))
    if smooth.exponent == 0 < rough.exponent:
        return Rate(rough.exponent, rough.power + smooth.power - 1)
    return rough
