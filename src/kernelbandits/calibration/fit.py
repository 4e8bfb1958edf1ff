"""The fit: the most probable scales given the rewards, by L-BFGS-B from a few starts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.calibration import Calibration, check_smoothness
from kernelbandits.calibration.evidence import Evidence
from kernelbandits.calibration.prior import Prior
from kernelbandits.calibration.standard import Summary
from kernelbandits.checks import Array
from kernelbandits.runtime import single_threaded

LONG_AND_SHORT = (1.5, -1.5)
"""Starts with all lengthscales this many prior standard deviations from the mode.

The likelihood often has two maxima: rewards explained by a short lengthscale, or by noise and a
long one.
"""
LARGEST_COORDINATE = 1e6
"""Points with a larger coordinate are certainly not scaled to the unit cube."""
# A fit need not be exact: a log density within 1e-3 of the maximum is far inside what the data can
# tell, and each evaluation costs O(m^3).
GAIN = 1e-3
"""A search ends when a step gains less log density than this, ..."""
SLOPE = 1e-2
"""... or when no derivative is steeper. Because of the prior every curvature is about 1 or more, so
less than SLOPE^2 is left to gain then."""


@single_threaded
def calibrate(
    points: Any,
    counts: Any,
    sums: Any,
    squares: Any,
    *,
    prior: Prior | None = None,
    shared: bool = False,
    nu: float = 2.5,
    start: Calibration | None = None,
    evaluations: int = 20,
) -> Calibration:
    """Estimate lengthscales, signal variance and noise variance from rewards.

    The result maximises ln p(z | l, signal, noise) + ln prior over (ln l, ln signal, ln noise),
    where z are the standardised rewards. It depends on the arguments only. The maximum may be a
    local one.

    Parameters
    ----------
    points
        The distinct points measured, scaled to about the unit cube.
    counts, sums, squares
        For each point the number, the sum and the sum of squares of its rewards. If rewards are
        large compared with their spread, subtract one of them from all first, because a square
        keeps only 16 digits.
    prior
        The prior of the scales; see `Prior`.
    shared
        Whether all dimensions share one lengthscale.
    nu
        The smoothness of the kernel: 1.5, 2.5 or infinite (RBF).
    start
        The last good fit. It is one of the starts, and it is returned with ok = False and a message
        if the fit fails. Without it a failed fit returns the mode of the prior.
    evaluations
        About how often the likelihood may be computed. Starts are searched in the order of their
        density, the next one while less than half of this number is spent.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbandits.calibration import calibrate
    >>> x = np.linspace(0, 1, 20)[:, None]
    >>> y = np.sin(6 * x[:, 0])
    >>> fit = calibrate(x, np.ones(20), y, y**2)
    >>> fit.ok, fit.rewards, fit.kernel.nu
    (True, 20, 2.5)
    >>> bool(fit.noise_scale < 0.1)
    True
    """
    fit = check_arguments(
        points, counts, sums, squares, Prior() if prior is None else prior, shared, nu
    )
    checks.needs(
        start is None or isinstance(start, Calibration),
        "calibrate",
        "a Calibration as start",
        start,
    )
    same = start is None or start.dimension == fit.dimension
    checks.needs(same, "calibrate", f"a start of {fit.dimension} dimensions", start)
    limit = checks.whole("calibrate", "evaluations", evaluations)
    if fit.summary.constant:
        return fit.keep_previous(start, "the rewards are all equal", 0)
    return fit.run(start, limit)


def check_arguments(
    points: Any, counts: Any, sums: Any, squares: Any, prior: Prior, shared: bool, nu: float
) -> ScaleFit:
    """Return what is to be fitted, with every argument checked."""
    x = checks.points("calibrate", points)
    largest = float(np.abs(x).max())
    checks.needs(
        largest <= LARGEST_COORDINATE, "calibrate", "points scaled to about the unit cube", largest
    )
    summary = Summary.of("calibrate", counts, sums, squares)
    checks.needs(
        len(summary.counts) == len(x),
        "calibrate",
        f"{len(x)} counts, one a point",
        len(summary.counts),
    )
    checks.needs(isinstance(prior, Prior), "calibrate", "a Prior", prior)
    checks.needs(isinstance(shared, bool), "calibrate", "shared True or False", shared)
    check_smoothness("calibrate", nu)
    return ScaleFit(x, summary, prior, shared, float(nu))


@dataclass(frozen=True)
class ScaleFit:
    """Rewards and a prior, to which scales are fitted."""

    points: Array
    summary: Summary
    prior: Prior
    shared: bool
    nu: float

    @property
    def dimension(self) -> int:
        return int(self.points.shape[1])

    @property
    def lengths(self) -> int:
        """The number of lengthscales to fit."""
        return 1 if self.shared else self.dimension

    @property
    def mode(self) -> Array:
        """The parameters at the mode of the prior."""
        return self.prior.mode(self.dimension, self.lengths)

    def run(self, start: Calibration | None, limit: int) -> Calibration:
        """Return the best parameters found, or the previous fit if none has a likelihood."""
        search = self.search()
        message = search.run(self.starts(start), limit)
        factor = search.evidence.factor(search.best)
        if factor is None or not math.isfinite(search.least):
            return self.keep_previous(start, "no likelihood could be computed", search.evaluations)
        evidence = search.evidence.value_of(factor, search.best)
        found = {"mean": factor.mean, "evidence": evidence, "evaluations": search.evaluations}
        return self.calibration(search.best, message=message, ok=True, **found)

    def keep_previous(
        self, start: Calibration | None, message: str, evaluations: int
    ) -> Calibration:
        """Return the last good fit or the prior's mode, with a message about what went wrong."""
        if start is None:
            kept, name = self.calibration(self.mode, mean=0.0), "the prior mode"
        else:
            kept, name = start, "the last fit"
        text = f"{message}, so {name} is kept"
        return replace(kept, message=text, ok=False, evaluations=evaluations)

    def calibration(self, parameters: Array, **found: Any) -> Calibration:
        """Return the fit with these parameters."""
        lengths = np.broadcast_to(np.exp(parameters[:-2]), (self.dimension,))
        return Calibration(
            lengthscales=tuple(lengths.tolist()),
            signal_variance=math.exp(parameters[-2]),
            noise_variance=math.exp(parameters[-1]),
            standard=self.summary.standard,
            nu=self.nu,
            rewards=self.summary.rewards,
            points=len(self.points),
            **found,
        )

    def search(self) -> DensitySearch:
        """Return the function to minimise."""
        evidence = Evidence.of(self.points, self.summary, self.shared, self.nu)
        return DensitySearch(
            evidence, self.mode, self.prior.sds(self.lengths), self.prior.reach(self.lengths)
        )

    def starts(self, start: Calibration | None) -> list[Array]:
        """Return the parameters to start from.

        They are the last fit, the prior's mode, and the mode with all lengthscales long or short.
        """
        steps = np.zeros((3, self.lengths + 2))
        steps[1:, :-2] = np.reshape(LONG_AND_SHORT, (2, 1))
        given = [] if start is None else [self.parameters(start)]
        return [*given, *(self.mode + steps * self.prior.sds(self.lengths))]

    def parameters(self, start: Calibration) -> Array:
        """Return the logarithms of the scales of a fit.

        If one lengthscale is shared, it is the geometric mean of those of the fit.
        """
        lengths = np.log(start.lengthscales)
        shared = [lengths.mean()] if self.shared else lengths
        return np.array([*shared, math.log(start.signal_variance), math.log(start.noise_variance)])


class DensitySearch:
    """Minus the log posterior density of v = (parameters - mode) / sd, and the best v so far.

    In v the prior is standard normal. So all directions have similar curvature and few steps are
    enough. The best point of all searches is kept here.
    """

    def __init__(self, evidence: Evidence, mode: Array, sds: Array, reach: Array) -> None:
        self.evidence, self.mode, self.sds, self.reach = evidence, mode, sds, reach
        self.best, self.least, self.evaluations = mode, math.inf, 0

    def run(self, starts: list[Array], limit: int) -> str:
        """Search from the starts in the order of their density, and return why it ended.

        The next start is searched while less than half of the limit is spent.
        """
        inside = [
            np.clip((start - self.mode) / self.sds, -self.reach, self.reach) for start in starts
        ]
        values = [self.value(v) for v in inside]
        ended: list[bool] = []
        for place in np.argsort(values, kind="stable"):
            if math.isfinite(values[place]) and (not ended or self.evaluations < limit / 2):
                ended.append(
                    self.descend(inside[place], values[place], max(1, limit - self.evaluations))
                )
        return "converged" if any(ended) else f"stopped after {self.evaluations} evaluations"

    def descend(self, v: Array, value: float, limit: int) -> bool:
        """Run L-BFGS-B from v, where the function has this value; return whether it converged."""
        # Imported here because it is slow to import, and only a fit needs it.
        from scipy.optimize import minimize

        bounds = list(zip((-self.reach).tolist(), self.reach.tolist(), strict=True))
        options: Any = {"maxfun": limit, "ftol": GAIN / max(1.0, abs(value)), "gtol": SLOPE}
        return bool(
            minimize(
                self.value_and_gradient,
                v,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options=options,
            ).success
        )

    def value(self, v: Array) -> float:
        """Return -ln p(z | parameters) + |v|^2 / 2."""
        parameters = self.mode + self.sds * v
        return self._record(parameters, -self.evidence.value(parameters) + 0.5 * float(v @ v))

    def value_and_gradient(self, v: Array) -> tuple[float, Array]:
        """Return the value and its gradient in v."""
        parameters = self.mode + self.sds * v
        value, gradient = self.evidence.value_and_gradient(parameters)
        return self._record(parameters, -value + 0.5 * float(v @ v)), v - self.sds * gradient

    def _record(self, parameters: Array, value: float) -> float:
        """Count the evaluation, keep the best, and return infinity for NaN."""
        self.evaluations += 1
        if value < self.least:
            self.best, self.least = parameters, value
        return value if value == value else math.inf
