"""How fast the maximum information gain grows: gamma_T = O(T^e log^q T).

The domain is bounded and the ridge is fixed. With O(s^-e log^p(1/s)) eigenvalues above s
(`Kernel.eigendecay`), q = p + 1 - e.

    finite rank (linear, polynomial)               e = 0              q = 1
    analytic (RBF, rational quadratic, periodic)   e = 0              q = d + 1
    Matern                                         e = d/(2 nu + d)   q = 2 nu/(2 nu + d)

The rates follow from the decay of the eigenvalues (Vakili, Khezeli & Picheny 2021); for sums of
kernels see Krause & Ong (2011). The rates of products are ours. They are upper rates: the spectral
density of a product is the convolution of the two densities and decays like the slower one.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from kernelbandits import checks
from kernelbandits.kernels import as_kernel


class Rate(NamedTuple):
    """T^exponent log^power T; rates are compared in this order."""

    exponent: Fraction
    power: Fraction


def gain_exponent(kernel: Any, dimension: int) -> float:
    """Return e in gamma_T = O(T^e log^q T), on a bounded domain of this dimension.

    Examples
    --------
    >>> from kernelbandits import Matern
    >>> from kernelbandits.theory import gain_exponent
    >>> gain_exponent(Matern(0.2, nu=1.5), dimension=1)
    0.25
    """
    return float(gain_rate(kernel, dimension).exponent)


def rate_text(kernel: Any, dimension: int) -> str:
    """Return the rate of gamma_T as text; the parameters are those of `gain_exponent`.

    Examples
    --------
    >>> from kernelbandits import Matern
    >>> from kernelbandits.theory import rate_text
    >>> rate_text(Matern(0.2, nu=2.5), dimension=2)
    'O(T^(2/7) log^(5/7) T)'
    """
    exponent, power = gain_rate(kernel, dimension)
    growth = f"T^{format_power(exponent)} " if exponent else ""
    return f"O({growth}log{'' if power == 1 else '^' + format_power(power)} T)"


def format_power(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else f"({number})"


def gain_rate(kernel: Any, dimension: int) -> Rate:
    """Return the rate of gamma_T for a kernel on a bounded domain of d dimensions."""
    owner = "the rate of the information gain"
    d = checks.whole(owner, "dimension", dimension)
    decay = as_kernel(kernel).eigendecay(d)
    if decay is None:
        needed = (
            "a kernel of known rate (linear, polynomial, RBF, rational quadratic, periodic, "
            "Matern, their sums and products, or one that defines `eigendecay`)"
        )
        raise ValueError(f"{owner} needs {needed}, got {kernel!r}")
    return Rate(decay.exponent, decay.power + 1 - decay.exponent)
