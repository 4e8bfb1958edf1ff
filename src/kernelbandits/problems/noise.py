"""Laws of the reward noise: mean zero, one uniform in, one noise out, and the R of their tails."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol, overload

import numpy as np
from scipy.special import betaln, gammaln, ndtri, stdtrit

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.streams import LEAST_UNIFORM

MEAN_TOLERANCE = 1e-3
"""How far from zero, in units of E|X|, a quadrature may find the mean of a custom law."""

NODES = 1 << 14


class Noise:
    """A law with E X = 0 and E exp(s X) <= exp(s^2 R^2 / 2) for all s, given by its quantiles.

    >>> from kernelbandits.problems import UniformNoise
    >>> noise = UniformNoise(0.3)
    >>> noise.draw(0.5), round(noise.draw(0.99), 3)
    (0.0, 0.294)
    >>> round(noise.sub_gaussian, 3), round(noise.moment(2), 3)
    (0.173, 0.03)
    """

    @overload
    def draw(self, u: float) -> float: ...
    @overload
    def draw(self, u: Array) -> Array: ...
    def draw(self, u: float | Array) -> float | Array:
        """Draw X = F^-1(u), for one uniform in [0, 1) or an array of them."""
        if isinstance(u, (float, int)):
            checks.needs(0 <= u < 1, type(self).__name__, "a uniform u in [0, 1)", u)
            return float(self.quantile(max(u, LEAST_UNIFORM)))
        uniforms = np.asarray(u, dtype=np.float64)
        valid = (uniforms >= 0) & (uniforms < 1)
        checks.needs(
            bool(valid.all()), type(self).__name__, "uniforms u in [0, 1)", uniforms[~valid][:1]
        )
        return np.asarray(self.quantile(np.maximum(uniforms, LEAST_UNIFORM)), dtype=np.float64)

    def quantile(self, u: Any) -> Any:
        """Return F^-1(u) for u in (0, 1)."""
        raise NotImplementedError

    @property
    def sub_gaussian(self) -> float:
        """The R for which the law is R-sub-Gaussian."""
        raise NotImplementedError

    def moment(self, order: float) -> float:
        """Return E|X|^order for an order > 0, infinite where there is none."""
        power = checks.positive(type(self).__name__, "order", order)
        try:
            return self._moment(power)
        except OverflowError:
            return math.inf

    def _moment(self, order: float) -> float:
        """Compute the moment by quadrature of the quantiles: finite even where it is not."""
        u, chances = smooth_nodes()
        return float(chances @ np.abs(self.quantile(u)) ** order)


@dataclass(frozen=True)
class GaussianNoise(Noise):
    """X ~ N(0, R^2): the law for which the sub-Gaussian inequality is an equality.

    >>> from kernelbandits.problems import GaussianNoise
    >>> noise = GaussianNoise(0.1)
    >>> noise.sub_gaussian, round(noise.draw(0.975), 3)
    (0.1, 0.196)
    """

    scale: float
    """The standard deviation R; 0 means no noise."""

    def __post_init__(self) -> None:
        checks.nonnegative("GaussianNoise", "scale", self.scale)

    def quantile(self, u: Any) -> Any:
        return self.scale * ndtri(u)

    @property
    def sub_gaussian(self) -> float:
        return float(self.scale)

    def _moment(self, order: float) -> float:
        """Return E|X|^p.

        (R sqrt(2))^p Gamma((p + 1) / 2) / sqrt(pi)
        """
        return power_times(
            self.scale * math.sqrt(2), order, gammaln((order + 1) / 2) - math.log(math.pi) / 2
        )


PAPER_NOISE = GaussianNoise(0.01)
"""The noise of the paper's experiments."""


@dataclass(frozen=True)
class RademacherNoise(Noise):
    """X = -R or +R with equal probability; cosh(z) <= exp(z^2 / 2) makes it R-sub-Gaussian.

    >>> import numpy as np
    >>> from kernelbandits.problems import RademacherNoise
    >>> RademacherNoise(0.1).draw(np.array([0.2, 0.4, 0.6, 0.8]))
    array([-0.1, -0.1,  0.1,  0.1])
    """

    scale: float
    """The size R of either value; 0 means no noise."""

    def __post_init__(self) -> None:
        checks.nonnegative("RademacherNoise", "scale", self.scale)

    def quantile(self, u: Any) -> Any:
        return np.where(np.less(u, 0.5), -self.scale, self.scale)

    @property
    def sub_gaussian(self) -> float:
        return float(self.scale)

    def _moment(self, order: float) -> float:
        return float(self.scale**order)


@dataclass(frozen=True)
class UniformNoise(Noise):
    """X ~ uniform on [-a, a], strictly sub-Gaussian: R = a / sqrt(3), its standard deviation.

    E exp(s X) = sinh(z) / z = sum z^2k / (2k + 1)! <= sum z^2k / (6^k k!) = exp(z^2 / 6), z = a s,
    term by term; no R below the standard deviation is ever possible, so this one is sharp.

    >>> import numpy as np
    >>> from kernelbandits.problems import UniformNoise
    >>> UniformNoise(0.3).draw(np.array([0.25, 0.5, 0.75])).round(3)
    array([-0.15,  0.  ,  0.15])
    """

    scale: float
    """The half-width a; 0 means no noise."""

    def __post_init__(self) -> None:
        checks.nonnegative("UniformNoise", "scale", self.scale)

    def quantile(self, u: Any) -> Any:
        return self.scale * (2 * u - 1)

    @property
    def sub_gaussian(self) -> float:
        return self.scale / math.sqrt(3)

    def _moment(self, order: float) -> float:
        """Return E|X|^p = a^p / (p + 1)."""
        return float(self.scale**order / (order + 1))


@dataclass(frozen=True)
class StudentNoise(Noise):
    """X = scale * t_df, heavy-tailed: E exp(s X) is infinite for every s > 0, so R = inf.

    >>> from kernelbandits.problems import StudentNoise
    >>> noise = StudentNoise(0.1, df=3)
    >>> noise.sub_gaussian, round(noise.moment(2), 3), noise.moment(3)
    (inf, 0.03, inf)
    """

    scale: float
    """The factor of the Student variable; 0 means no noise."""
    df: float
    """Degrees of freedom, more than 1: with fewer there is no mean."""

    def __post_init__(self) -> None:
        checks.nonnegative("StudentNoise", "scale", self.scale)
        checks.needs(checks.is_number(self.df) and self.df > 1, "StudentNoise", "df > 1", self.df)

    def quantile(self, u: Any) -> Any:
        return self.scale * stdtrit(self.df, u)

    @property
    def sub_gaussian(self) -> float:
        return math.inf if self.scale > 0 else 0.0

    def _moment(self, order: float) -> float:
        """Return E|X|^p, p < df.

        (scale sqrt(df))^p B((p + 1) / 2, (df - p) / 2) / B(1 / 2, df / 2)
        """
        if order >= self.df:
            return self.sub_gaussian
        logs = betaln((order + 1) / 2, (self.df - order) / 2) - betaln(0.5, self.df / 2)
        return power_times(self.scale * math.sqrt(self.df), order, logs)


@dataclass(frozen=True)
class ParetoNoise(Noise):
    """P(|X| > x) = (1 + x / scale)^-tail, either sign alike: power tails, so R = inf.

    This is a symmetric Lomax law.

    >>> from kernelbandits.problems import ParetoNoise
    >>> noise = ParetoNoise(0.1, tail=1.5)
    >>> round(noise.draw(0.999), 2), round(noise.moment(1), 3), noise.moment(1.5)
    (6.2, 0.2, inf)
    """

    scale: float
    """The length of the shoulder before the power law sets in; 0 means no noise."""
    tail: float
    """The exponent, more than 1: with less there is no mean. E|X|^p is finite for p < tail only."""

    def __post_init__(self) -> None:
        checks.nonnegative("ParetoNoise", "scale", self.scale)
        checks.needs(
            checks.is_number(self.tail) and self.tail > 1, "ParetoNoise", "tail > 1", self.tail
        )

    def quantile(self, u: Any) -> Any:
        """Return F^-1(u), negative for u < 1/2.

        -+ scale ((2 min(u, 1 - u))^(-1 / tail) - 1)
        """
        size = (2 * np.minimum(u, 1 - u)) ** (-1 / self.tail) - 1
        return self.scale * np.where(np.less(u, 0.5), -size, size)

    @property
    def sub_gaussian(self) -> float:
        return math.inf if self.scale > 0 else 0.0

    def _moment(self, order: float) -> float:
        """Return E|X|^p, p < tail.

        scale^p tail B(p + 1, tail - p)
        """
        if order >= self.tail:
            return self.sub_gaussian
        return power_times(
            self.scale, order, math.log(self.tail) + betaln(order + 1, self.tail - order)
        )


@dataclass(frozen=True)
class EmpiricalNoise(Noise):
    """X = one of the given residuals, equally likely; R = (max - min) / 2 (Hoeffding's lemma).

    >>> from kernelbandits.problems import EmpiricalNoise
    >>> noise = EmpiricalNoise((-0.2, -0.1, 0.3))
    >>> [noise.draw(u) for u in (0.1, 0.5, 0.9)], noise.sub_gaussian
    ([-0.2, -0.1, 0.3], 0.25)
    """

    residuals: tuple[float, ...]
    """Measured minus mean, in any order; their own mean is zero."""

    def __post_init__(self) -> None:
        checks.needs(
            len(self.residuals) > 0, "EmpiricalNoise", "at least one residual", self.residuals
        )
        for residual in self.residuals:
            checks.number("EmpiricalNoise", "in every residual", residual)
        mean, size = math.fsum(self.residuals) / len(self.residuals), max(map(abs, self.residuals))
        checks.needs(abs(mean) <= 1e-9 * size, "EmpiricalNoise", "residuals of mean zero", mean)
        object.__setattr__(self, "residuals", tuple(sorted(map(float, self.residuals))))

    def quantile(self, u: Any) -> Any:
        return np.take(self.residuals, (np.asarray(u) * len(self.residuals)).astype(int))

    @property
    def sub_gaussian(self) -> float:
        return (self.residuals[-1] - self.residuals[0]) / 2

    def _moment(self, order: float) -> float:
        return math.fsum(abs(residual) ** order for residual in self.residuals) / len(
            self.residuals
        )


class Quantiles(Protocol):
    """What a custom law must offer, as the frozen laws of scipy.stats do."""

    def ppf(self, u: Any) -> Any: ...


@dataclass(frozen=True)
class CustomNoise(Noise):
    """X = F^-1(u) of any law with `ppf`: finite, reproducible, |E X| <= 1e-3 E|X|, Var X <= R^2.

    >>> from scipy.stats import laplace
    >>> from kernelbandits.problems import CustomNoise
    >>> noise = CustomNoise(laplace(scale=0.1))
    >>> round(noise.draw(0.9), 3), noise.sub_gaussian
    (0.161, inf)
    """

    law: Quantiles
    """For instance a frozen law of scipy.stats."""
    sub_gaussian: float = math.inf
    """The R that the user states; of what it claims only Var X <= R^2 is checked."""

    def __post_init__(self) -> None:
        known = self.sub_gaussian == math.inf or checks.is_number(self.sub_gaussian)
        checks.needs(
            known and self.sub_gaussian >= 0, "CustomNoise", "sub_gaussian >= 0", self.sub_gaussian
        )
        checks.needs(
            callable(getattr(self.law, "ppf", None)), "CustomNoise", "a law with ppf", self.law
        )
        u, chances = smooth_nodes()
        quantiles = self.quantile(u)
        checks.needs(
            bool((quantiles == self.quantile(u)).all()),
            "CustomNoise",
            "a reproducible ppf",
            self.law,
        )
        mean, size = float(chances @ quantiles), float(chances @ np.abs(quantiles))
        checks.needs(abs(mean) <= MEAN_TOLERANCE * size, "CustomNoise", "a law of mean zero", mean)
        sd, most = math.sqrt(chances @ quantiles**2), self.sub_gaussian * (1 + MEAN_TOLERANCE)
        checks.needs(
            sd <= most,
            "CustomNoise",
            f"sub_gaussian >= the standard deviation {sd:.6g}",
            self.sub_gaussian,
        )

    def quantile(self, u: Any) -> Any:
        try:
            quantiles = np.asarray(self.law.ppf(u), dtype=np.float64)
        except TypeError:
            raise ValueError(
                f"CustomNoise needs a ppf that takes an array, got {self.law!r}"
            ) from None
        checks.needs(
            quantiles.shape == np.shape(u),
            "CustomNoise",
            f"ppf of shape {np.shape(u)}",
            quantiles.shape,
        )
        checks.needs(
            bool(np.isfinite(quantiles).all()),
            "CustomNoise",
            "a finite ppf inside (0, 1)",
            self.law,
        )
        return quantiles


def power_times(base: float, order: float, logarithm: Any) -> float:
    """Return base^order exp(logarithm), without overflow on the way."""
    return math.exp(order * math.log(base) + logarithm) if base else 0.0


def smooth_nodes() -> tuple[Array, Array]:
    """Return nodes u = 3 v^2 - 2 v^3, v midpoints of [0, 1], with weights du/dv / n.

    The weights vanish at both ends, so that quantiles may be infinite there.
    """
    v = (np.arange(NODES) + 0.5) / NODES
    chances = 6 * v * (1 - v)
    return v**2 * (3 - 2 * v), chances / chances.sum()
