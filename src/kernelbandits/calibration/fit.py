"""The fit: the most probable scales given the rewards, and plausible ones about them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from scipy.special import ndtri

from kernelbandits import checks
from kernelbandits.calibration.calibration import Calibration, check_smoothness
from kernelbandits.calibration.evidence import Blocks, Evidence, EvidenceAt, PointPairs
from kernelbandits.calibration.prior import Prior
from kernelbandits.calibration.standard import Standard, Summary
from kernelbandits.checks import LARGEST_COORDINATE, Array, unchecked
from kernelbandits.domains.arms import check_blocks
from kernelbandits.domains.bfgs import projected_bfgs
from kernelbandits.domains.sobol import shift_points, sobol
from kernelbandits.runtime import single_threaded

LONG_AND_SHORT = (1.5, -1.5)
"""Starts with all lengthscales this many prior standard deviations from the mode.

The likelihood often has two maxima: rewards explained by a short lengthscale, or by noise and a
long one.
"""
# A fit need not be exact: a log density within 1e-3 of the maximum is far inside what the data can
# tell, and each evaluation costs O(m^3).
GAIN = 1e-3
"""A search ends when a step gains less log density than this, ..."""
SLOPE = 1e-2
"""... or when no derivative is steeper. Because of the prior every curvature is about 1 or more, so
less than SLOPE^2 is left to gain then."""
RISE, RISE_OF_MANY = 1e-2, 0.1
"""A search that knows the curvature ends when its next step promises less log density than half of
this; with more than EXPECTED points, where an evaluation takes up to 0.15 s, half of the second."""
LONGEST_STEP = 1.0
"""The longest step of such a search, in prior standard deviations."""
STEP = 1e-3
"""The step of the differences that give the curvature at the mode, in prior standard deviations."""
MANY, SUBSET, SHARE = 60, 50, 3
"""With more than MANY points, a fit to a third of them, but at least SUBSET, comes first. One
evaluation costs O(m^3), and its result is a start that saves most evaluations with all points."""
EXPECTED, PROBES = 400, 32
"""With more than EXPECTED points the members are drawn with the expected curvature, estimated with
so many random vectors: it costs one evaluation in place of one for each parameter. At 500 points
its variances were 0.6 to 2.5 times those of the curvature itself, 0.99 times on average."""
MIDDLE, FEW_EVALUATIONS = 0.6, 6
"""The share of more than EXPECTED points that a search between takes, and how often the likelihood
of all of them may be evaluated after it. Mostly three times are enough."""
DIFFERENCES = 200
"""Of a subset of more points, a start has the expected curvature for the same reason."""
MOST_FITTED = 1000
"""With more points the scales are fitted to so many of them, and the fit says so. A fit to 1000
points takes about half a second; one to all takes time in proportion to their cube, and tells the
scales hardly better (docs/decisions/0020)."""
LEAST_CURVATURE = 0.5
SEPARATION = 1e-6
"""By how much the curvatures of successive parameters are moved apart, so that none are equal: far
above rounding, and far below what a curvature is known to. The prior alone has many that are."""
NEARLY = 0.99
"""A component of an axis that is at least this share of the largest one counts as equal to it."""
WIDENING = 1.5
"""The variance of the members is this many times that of Laplace's approximation. With 1 the 95 %
intervals of unmeasured rows covered 92 % on the tables of docs/decisions/0012, with 1.5 94 %."""
LEAST_VARIANCE = 1e-300


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
    blocks: Blocks | None = None,
    start: Calibration | None = None,
    evaluations: int = 20,
) -> Calibration:
    """Estimate lengthscales and variances from rewards: the most probable ones.

    The result maximises ln p(z | scales) + ln prior over the logarithms of the scales, where z are
    the standardised rewards. It depends on the arguments only. The maximum may be a local one.
    `calibrate_members` draws several plausible scales instead of the most probable ones.

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
        The smoothness of the kernel: 1.5, 2.5 or infinite (RBF; without an additive part).
    blocks
        The coordinates of each column, such as ((0,), (1, 2, 3)) for a number and a category of
        three values. The coordinates of a block share a lengthscale. By default every coordinate is
        a block.
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
    fit = check_arguments(points, counts, sums, squares, prior, shared, nu, blocks, start)
    return fit.calibrate(start, checks.whole("calibrate", "evaluations", evaluations))


@single_threaded
def calibrate_members(
    points: Any,
    counts: Any,
    sums: Any,
    squares: Any,
    *,
    members: int = 8,
    prior: Prior | None = None,
    shared: bool = False,
    nu: float = 2.5,
    blocks: Blocks | None = None,
    start: Calibration | None = None,
    evaluations: int = 60,
    features: bool = False,
) -> tuple[Calibration, tuple[Calibration, ...]]:
    """Estimate the most probable scales, and draw plausible ones about them.

    With ten results the most probable scales are one of many that explain them. The members are
    drawn from a normal law about the mode, in the logarithms of the scales: its precision is the
    curvature of the log density there (Laplace's approximation), divided by 1.5, since the density
    has heavier tails than the normal law. The draws are those of a fixed point set, so the result
    depends on the arguments only. With one member it is the mode itself. A `start` near the mode,
    the fit of similar rewards, is searched first and alone if the search from it converges.
    With `features` the kernel is the inner product of two points, and only variances are fitted.
    The other parameters are those of `calibrate`.

    Examples
    --------
    >>> import numpy as np
    >>> from kernelbandits.calibration import calibrate_members
    >>> x = np.linspace(0, 1, 8)[:, None]
    >>> y = np.sin(6 * x[:, 0])
    >>> mode, members = calibrate_members(x, np.ones(8), y, y**2, members=4)
    >>> len(members), members[0].lengthscales != members[1].lengthscales
    (4, True)
    """
    model = prior, shared, nu, blocks, start, features
    fit = check_arguments(points, counts, sums, squares, *model)
    number = checks.whole("calibrate_members", "members", members)
    limit = checks.whole("calibrate_members", "evaluations", evaluations)
    return fit.calibrate_members(number, start, limit)


def check_arguments(
    points: Any,
    counts: Any,
    sums: Any,
    squares: Any,
    prior: Prior | None,
    shared: bool,
    nu: float,
    blocks: Blocks | None = None,
    start: Calibration | None = None,
    features: bool = False,
) -> ScaleFit:
    """Return what is to be fitted, with every argument checked.

    The points are coordinates, or features whose inner products are the kernel.
    """
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
    prior = Prior() if prior is None else prior
    checks.needs(isinstance(prior, Prior), "calibrate", "a Prior", prior)
    checks.needs(isinstance(shared, bool), "calibrate", "shared True or False", shared)
    check_smoothness("calibrate", nu)
    rough = prior.additive is None or math.isfinite(nu)
    checks.needs(rough, "calibrate", "nu = 1.5 or 2.5 with an additive part", nu)
    if features:
        given: Blocks = ()
        checks.needs(prior.additive is None, "calibrate", "no additive part of features", prior)
    else:
        given = check_blocks("calibrate", blocks or (), x.shape[1])
    checks.needs(
        start is None or isinstance(start, Calibration),
        "calibrate",
        "a Calibration as start",
        start,
    )
    same = start is None or features or start.dimension == x.shape[1]
    checks.needs(same, "calibrate", f"a start of {x.shape[1]} dimensions", start)
    pairs = PointPairs(x, given)
    return ScaleFit(x, summary, prior, shared, float(nu), given, pairs, Standard())


@dataclass(frozen=True)
class ScaleFit:
    """Rewards and a prior, to which scales are fitted."""

    points: Array
    summary: Summary
    prior: Prior
    shared: bool
    nu: float
    blocks: Blocks
    pairs: PointPairs
    """The pairs of these points."""
    units: Standard
    """How rewards became those that are fitted to."""

    @cached_property
    def standard(self) -> Standard:
        """How rewards, before they became those that are fitted to, are standardised."""
        return self.units.then(self.summary.standard)

    @property
    def dimension(self) -> int:
        return int(self.points.shape[1])

    @property
    def lengths(self) -> int:
        """The number of lengthscales to fit."""
        return min(1, len(self.blocks)) if self.shared else len(self.blocks)

    @property
    def mode(self) -> Array:
        """The parameters at the mode of the prior."""
        return self.prior.mode(max(1, len(self.blocks)), self.lengths)

    @property
    def hides_noise(self) -> bool:
        """Whether the rewards tell the sum of nugget and noise only: no point has two of them."""
        return self.prior.nugget is not None and self.summary.rewards == len(self.points)

    def of_rewards(
        self,
        counts: Array,
        sums: Array,
        squares: Array,
        prior: Prior,
        variances: Array | None,
        units: Standard,
    ) -> ScaleFit:
        """Return the fit of other rewards at the same points, for `variances` see `Summary`."""
        summary = Summary.of("calibrate", counts, sums, squares, variances)
        return replace(self, summary=summary, prior=prior, units=units)

    def calibrate(self, start: Calibration | None, limit: int) -> Calibration:
        """Return the most probable scales (`calibrate`)."""
        if self.summary.constant:
            return self.keep_previous(start, "the rewards are all equal", 0)
        if len(self.points) > MOST_FITTED:
            return self.label_sample(self.choose_subset(MOST_FITTED).calibrate(start, limit))
        return self.run(start, limit)

    def calibrate_members(
        self, number: int, start: Calibration | None, limit: int
    ) -> tuple[Calibration, tuple[Calibration, ...]]:
        """Return the most probable scales and plausible ones (`calibrate_members`)."""
        if self.summary.constant:
            message = "the rewards are all equal, so the usual scales are taken"
            return self.prior_scales(number, message=message)
        if len(self.points) > MOST_FITTED:
            sample = self.choose_subset(MOST_FITTED)
            mode, members = sample.calibrate_members(number, start, limit)
            return self.label_sample(mode), tuple(self.label_sample(one) for one in members)
        mode = self.run_near(start, limit) if start is not None else self.run(None, limit)
        if number == 1 or not mode.ok:
            return mode, (mode,)
        return mode, tuple(self.members_about(mode, number))

    def label_sample(self, fitted: Calibration) -> Calibration:
        """Return a fit to some of the points as one that says to how many of all."""
        rewards, points = self.summary.rewards, len(self.points)
        return replace(fitted, sample=fitted.points, rewards=rewards, points=points)

    def evidence_under(self, scales: Calibration) -> Callable[[Array], float]:
        """Return ln p of one reward at each of these points under the scales of a fit.

        The function takes the rewards in any units: they are standardised. The covariance matrix is
        the same for all of them, and is factorised once.
        """
        single = replace(self, summary=Summary(np.ones(len(self.points)), self.summary.means, 0.0))
        evidence, parameters = single.search().evidence, self.parameters(scales)
        factor = evidence.factor(parameters)

        def log_evidence(rewards: Array) -> float:
            if factor is None:
                return -math.inf
            of_rewards = evidence.of_rewards(Summary(single.summary.counts, rewards, 0.0))
            return of_rewards.value_of(factor.of_rewards(of_rewards.means), parameters)

        return log_evidence

    def run(self, start: Calibration | None, limit: int) -> Calibration:
        """Return the best parameters found, or the previous fit if none has a likelihood."""
        search = self.search()
        if len(self.points) <= MANY:
            return self._finish(search, search.run(self.starts(start), limit), start)
        return self._finish(search, self.climb(search, self.starts(start), limit), start)

    def run_near(self, start: Calibration, limit: int) -> Calibration:
        """Return the best parameters found from a start alone, or from all if that fails."""
        search, near = self.search(), self.parameters(start)
        if len(self.points) <= MANY:
            message = search.run([near], limit)
        else:
            message = self.refine(search, near, self.choose_subset(), limit)
        if message == "converged" or (len(self.points) > MANY and math.isfinite(search.least)):
            return self._finish(search, message, start)
        return self.run(start, limit)

    def climb(self, search: DensitySearch, starts: list[Array], limit: int) -> str:
        """Search with some of the points, then with all of them; return how it ended."""
        part = self.choose_subset()
        below = part.search()
        if len(part.points) > MANY:
            part.climb(below, starts, limit)
        else:
            below.run(starts, limit)
        ends = below.ends
        if len(ends) > 1:
            values = [search.value(search.standardise(end)) for end in ends]
            ends = [ends[int(np.argmin(values))]]
        for end in ends:
            message = self.refine(search, end, part, max(1, limit - search.evaluations))
            if math.isfinite(search.least):
                return message
        return search.run(starts, limit)

    def refine(self, search: DensitySearch, start: Array, part: ScaleFit, limit: int) -> str:
        """Search from where a search with part of the points ended; return how it ended.

        With many points a search with MIDDLE of them comes between. An evaluation of it costs a
        fifth, and it ends where two or three with all points are enough.
        """
        if len(self.points) > EXPECTED:
            middle = self.choose_subset(int(MIDDLE * len(self.points)))
            between = middle.search()
            middle.ascend(between, start, part, limit)
            if math.isfinite(between.least):
                start, part = between.best, middle
            limit = min(limit, FEW_EVALUATIONS)
        return self.ascend(search, start, part, limit)

    def ascend(self, search: DensitySearch, start: Array, part: ScaleFit, limit: int) -> str:
        """Search from a start with the curvature that some of the points have there.

        The curvature of the log likelihood grows about in proportion to the number of points.
        """
        below, place = part.search(), search.standardise(start)
        few = len(part.points) <= DIFFERENCES
        curvature = below.curvature(place) if few else below.expected_curvature(place)
        grown = grow_curvature(curvature, len(self.points) / len(part.points))
        least = RISE_OF_MANY if len(self.points) > EXPECTED else RISE
        return search.ascend(place, grown, least, limit)

    def choose_part(self) -> ScaleFit:
        """Return the fit to some of the points if they are many, else to all."""
        return self.choose_subset() if len(self.points) > MANY else self

    def choose_subset(self, size: int | None = None) -> ScaleFit:
        """Return the fit to some of the points, evenly spread over the order of their rewards.

        They are a third, at least SUBSET, unless their number is given. The choice depends on the
        points and their rewards, not on the order in which they came.
        """
        summary = self.summary
        order = np.lexsort((*self.points.T, summary.means))
        size = max(SUBSET, len(order) // SHARE) if size is None else size
        chosen = order[np.arange(size) * len(order) // size]
        counts, points = summary.counts[chosen], self.points[chosen]
        # Only the sum of the scatters is known: the subset has its share of the repeats.
        repeats = max(1, summary.rewards - len(self.points))
        share = (float(counts.sum()) - len(counts)) / repeats
        known = None if summary.variances is None else summary.variances[chosen]
        part = Summary(counts, summary.means[chosen], share * summary.scatter, known)
        pairs = PointPairs(points, self.blocks)
        return replace(self, points=points, summary=part, pairs=pairs)

    def _finish(
        self, search: DensitySearch, message: str, start: Calibration | None
    ) -> Calibration:
        """Return the best parameters of a search, or the previous fit if none has a likelihood."""
        if not math.isfinite(search.least):
            return self.keep_previous(
                start, "the scales cannot be fitted to these rewards", search.evaluations
            )
        found = {"mean": search.mean, "evidence": search.log_evidence}
        known: Any = {"evaluations": search.evaluations, "message": message, "ok": True}
        return self.calibration(search.best, **found, **known)

    def members_about(self, mode: Calibration, number: int) -> Iterator[Calibration]:
        """Draw scales from the normal law about the mode (`calibrate_members`)."""
        search = self.search()
        centre = search.standardise(self.parameters(mode))
        many = len(self.points) > EXPECTED
        curvature = self.expected_curvature(centre) if many else search.curvature(centre)
        noises = NoiseCoordinates.of(search, centre) if many and self.hides_noise else None
        if noises is not None:
            curvature = noises.jacobian.T @ curvature @ noises.jacobian
        curvatures, axes = principal_axes(curvature)
        # The prior alone has curvature 1 in every direction. Less is an error of the differences,
        # or a place that is no maximum.
        sds = np.sqrt(WIDENING / np.maximum(curvatures, LEAST_CURVATURE))
        steps = (spread_normals(number, len(centre)) * sds) @ axes.T
        for step in steps:
            moved = centre + step if noises is None else noises.move(step)
            v = search.clip(moved)
            parameters = search.parameters(v)
            if many:
                # ln p by the same approximation: to factorise C for a number that nothing is
                # computed from would take a quarter of the time of a fit.
                away = v - centre if noises is None else step
                fall = float(away @ curvature @ away - v @ v + centre @ centre) / 2
                found = {"mean": mode.mean, "evidence": mode.evidence - fall}
                yield self.calibration(parameters, message="drawn", ok=True, **found)
                continue
            factor = search.evidence.factor(parameters)
            if factor is not None:
                evidence = search.evidence.value_of(factor, parameters)
                found = {"mean": factor.mean, "evidence": evidence}
                yield self.calibration(parameters, message="drawn", ok=True, **found)
            else:
                yield mode

    def expected_curvature(self, v: Array) -> Array:
        """Return the expected curvature at v, estimated with MIDDLE of the points."""
        part = self.choose_subset(int(MIDDLE * len(self.points)))
        curvature = part.search().expected_curvature(v)
        return grow_curvature(curvature, len(self.points) / len(part.points))

    def prior_scales(
        self, number: int, **found: Any
    ) -> tuple[Calibration, tuple[Calibration, ...]]:
        """Return the mode of the prior, and scales drawn from it."""
        normals = spread_normals(number, len(self.mode))
        drawn = self.mode + normals * self.prior.sds(self.lengths)
        mode, *members = (
            self.calibration(parameters, mean=0.0, **found) for parameters in (self.mode, *drawn)
        )
        return mode, tuple(members)

    def keep_previous(
        self, start: Calibration | None, message: str, evaluations: int
    ) -> Calibration:
        """Return the last good fit or the prior's mode, with a message about what went wrong."""
        if start is None:
            text = f"{message}, so the usual scales are taken"
            return self.calibration(self.mode, mean=0.0, message=text, evaluations=evaluations)
        text = f"{message}, so the scales of the last fit are kept"
        return replace(start, message=text, ok=False, evaluations=evaluations)

    def calibration(self, parameters: Array, **found: Any) -> Calibration:
        """Return the fit with these parameters."""
        of_blocks = np.broadcast_to(np.exp(parameters[: self.lengths]), (len(self.blocks),))
        lengths = np.empty(self.dimension if self.blocks else 0)
        for block, length in zip(self.blocks, of_blocks, strict=True):
            lengths[list(block)] = length
        variances = dict(
            zip(self.prior.variances, np.exp(parameters[self.lengths :]).tolist(), strict=True)
        )
        # A search stays where all scales are finite and positive (`Prior.reach`).
        return unchecked(
            Calibration,
            {
                "lengthscales": tuple(lengths.tolist()),
                "signal_variance": variances["signal"],
                "additive_variance": variances.get("additive", 0.0),
                "nugget_variance": variances.get("nugget", 0.0),
                "noise_variance": variances["noise"],
                "standard": self.standard,
                "nu": self.nu,
                "blocks": self.blocks,
                "features": not self.blocks,
                "rewards": self.summary.rewards,
                "points": len(self.points),
            }
            | found,
        )

    def search(self) -> DensitySearch:
        """Return the function to minimise."""
        evidence = Evidence.of(
            self.points,
            self.summary,
            self.shared,
            self.nu,
            self.blocks,
            has_additive=self.prior.additive is not None,
            has_nugget=self.prior.nugget is not None,
            pairs=self.pairs,
        )
        return DensitySearch(
            evidence, self.mode, self.prior.sds(self.lengths), *self.prior.reach(self.lengths)
        )

    def starts(self, start: Calibration | None) -> list[Array]:
        """Return the parameters to start from.

        They are the last fit, the prior's mode, and the mode with all lengthscales long or short.
        """
        if not self.lengths:
            return [self.mode] if start is None else [self.parameters(start), self.mode]
        steps = np.zeros((3, len(self.mode)))
        steps[1:, : self.lengths] = np.reshape(LONG_AND_SHORT, (2, 1))
        given = [] if start is None else [self.parameters(start)]
        return [*given, *(self.mode + steps * self.prior.sds(self.lengths))]

    def parameters(self, start: Calibration) -> Array:
        """Return the logarithms of the scales of a fit.

        If one lengthscale is shared, it is the geometric mean of those of the fit.
        """
        lengths = np.log([start.lengthscales[block[0]] for block in self.blocks])
        shared = [lengths.mean()] if self.shared and self.lengths else lengths
        variances = (getattr(start, f"{part}_variance") for part in self.prior.variances)
        return np.array([*shared, *np.log(np.maximum([*variances], LEAST_VARIANCE))])


@dataclass(frozen=True)
class NoiseCoordinates:
    """Steps in which ln nugget and ln noise, the last parameters, are ln total and ln ratio.

    total = nugget + noise,   ratio = noise / nugget.

    Without repeats the rewards tell the total alone. A step of ln noise that seems small at the
    mode, because the noise is a small part there, can multiply the total by three: of eight members
    fitted to 450 rewards one or two had a log density 25 to 60 below the mode, where five are
    expected. In these coordinates a step of the ratio keeps the total.
    """

    centre: Array
    """v at the mode, in prior standard deviations."""
    logs: Array
    """ln nugget and ln noise at the mode."""
    sds: Array
    """Their prior standard deviations; the last one is the unit of both steps."""

    @classmethod
    def of(cls, search: DensitySearch, centre: Array) -> NoiseCoordinates:
        return cls(centre, search.parameters(centre)[-2:], search.sds[-2:])

    @property
    def share(self) -> float:
        """noise / total"""
        nugget, noise = self.logs.tolist()
        return 1 / (1 + math.exp(nugget - noise))

    @property
    def jacobian(self) -> Array:
        """The derivatives of v by the steps: ln nugget = ln total - ln(1 + ratio), and so on."""
        matrix = np.eye(len(self.centre))
        by_steps = np.array([[1.0, -self.share], [1.0, 1 - self.share]])
        matrix[-2:, -2:] = by_steps * self.sds[-1] / self.sds[:, None]
        return matrix

    def move(self, step: Array) -> Array:
        """Return v after a step."""
        wider, other = step[-2:] * self.sds[-1]
        nugget, noise = self.logs.tolist()
        total, ratio = np.logaddexp(nugget, noise) + wider, noise - nugget + other
        logs = np.array([total - np.logaddexp(0, ratio), total - np.logaddexp(0, -ratio)])
        moved: Array = self.centre + step
        moved[-2:] = self.centre[-2:] + (logs - self.logs) / self.sds
        return moved


@lru_cache(maxsize=64)
def spread_normals(number: int, dimension: int) -> Array:
    """Return a fixed set of evenly spread points of the standard normal law."""
    power = max(1, math.ceil(math.log2(number)))
    # Any shift would do; without one the first point is the same in every coordinate.
    points = shift_points(sobol(power, dimension), 0.37)[:number]
    normals: Array = ndtri(np.clip(points, 1e-6, 1 - 1e-6))
    normals.flags.writeable = False
    return normals


def principal_axes(curvature: Array) -> tuple[Array, Array]:
    """Return the curvatures in ascending order, and their axes as columns, alike on every machine.

    The axes of equal curvatures and the sign of every axis are arbitrary: rounding decides them,
    and it differs between processors. So the parameters are given an order, and of the largest
    components of an axis the first is positive.

    >>> import numpy as np
    >>> principal_axes(np.eye(2))[1]
    array([[1., 0.],
           [0., 1.]])
    """
    order = np.diag(SEPARATION * np.arange(len(curvature)))
    curvatures, axes = np.linalg.eigh(curvature + order)
    sizes = np.abs(axes)
    largest = (sizes >= NEARLY * sizes.max(0)).argmax(0)
    return curvatures, axes * np.sign(axes[largest, np.arange(len(axes))])


def random_signs(size: int) -> Array:
    """Return PROBES vectors of random signs as columns, always the same."""
    signs = np.random.Generator(np.random.Philox(0)).integers(2, size=(size, PROBES))
    return np.asarray(2.0 * signs - 1.0)


def grow_curvature(curvature: Array, ratio: float) -> Array:
    """Return the curvature with `ratio` times the number of points.

    The prior, of curvature 1, does not change. Curvatures below it are errors of the differences,
    or the place is no maximum.
    """
    values, axes = np.linalg.eigh(curvature)
    grown: Array = (axes * (1 + ratio * (np.maximum(values, 1.0) - 1))) @ axes.T
    return grown


class DensitySearch:
    """Minus the log posterior density of v = (parameters - mode) / sd, and the best v so far.

    In v the prior is standard normal. So all directions have similar curvature and few steps are
    enough. The best point of all searches is kept here.
    """

    def __init__(
        self, evidence: Evidence, mode: Array, sds: Array, below: Array, above: Array
    ) -> None:
        self.evidence, self.mode, self.sds = evidence, mode, sds
        self.below, self.above = below, above
        self.best, self.least, self.evaluations = mode, math.inf, 0
        self.mean, self.log_evidence = 0.0, -math.inf
        """The constant mean and ln p at the best parameters."""
        self.ends: list[Array] = []
        """The parameters at which the search from each start ended."""

    def standardise(self, parameters: Array) -> Array:
        """Return v = (parameters - mode) / sd, as far as a search may go."""
        return self.clip((parameters - self.mode) / self.sds)

    def parameters(self, v: Array) -> Array:
        """Return the parameters of v."""
        moved: Array = self.mode + self.sds * v
        return moved

    def clip(self, v: Array) -> Array:
        """Return v, moved to where a search may go."""
        return np.clip(v, -self.below, self.above)

    def run(self, starts: list[Array], limit: int) -> str:
        """Search from the starts in the order of their density, and return why it ended.

        The next start is searched while less than half of the limit is spent.
        """
        inside = [self.standardise(start) for start in starts]
        values = [self.value(v) for v in inside]
        ended: list[bool] = []
        for place in np.argsort(values, kind="stable"):
            if math.isfinite(values[place]) and (not ended or self.evaluations < limit / 2):
                ended.append(
                    self.descend(inside[place], values[place], max(1, limit - self.evaluations))
                )
        return "converged" if any(ended) else f"stopped after {self.evaluations} evaluations"

    def curvature(self, v: Array) -> Array:
        """Return the matrix of second derivatives at v, by differences of the gradient."""
        gradient = self.value_and_gradient(v)[1]
        steps = STEP * np.eye(len(v))
        rows = [self.value_and_gradient(v + step)[1] - gradient for step in steps]
        matrix: Array = np.array(rows) / STEP
        symmetric: Array = (matrix + matrix.T) / 2
        return symmetric

    def expected_curvature(self, v: Array) -> Array:
        """Return what the curvature at v is expected to be: that of the prior and the information.

        Where the likelihood cannot be computed it is that of the prior.
        """
        parameters = self.parameters(v)
        probes = random_signs(self.evidence.pairs.size)
        information = self.evidence.information(parameters, probes)
        prior = np.eye(len(v))
        if information is None:
            return prior
        expected: Array = prior + information * np.outer(self.sds, self.sds)
        return expected

    def ascend(self, v: Array, curvature: Array, least: float, limit: int) -> str:
        """Run BFGS from v, where the function is known to have about this curvature.

        It ends when a step promises less log density than half of `least`.
        """

        def log_density(rows: Array) -> tuple[Array, Array]:
            value, gradient = self.value_and_gradient(rows[0])
            return np.array([-value]), -gradient[None]

        # A step is at most two of these scales long: far from the mode the expected curvature of
        # the noise is too small by orders of magnitude.
        bounds = -self.below, self.above, np.full(len(v), LONGEST_STEP / 2)
        inverse: Array = np.asarray(np.linalg.inv(curvature), dtype=np.float64)
        found = projected_bfgs(
            log_density, v[None], *bounds, inverse_hessian=inverse, least=least, steps=limit - 1
        )
        self.ends.append(self.parameters(found.rows[0]))
        number = found.evaluations
        return "converged" if number < limit else f"stopped after {number} evaluations"

    def descend(self, v: Array, value: float, limit: int) -> bool:
        """Run L-BFGS-B from v, where the function has this value; return whether it converged."""
        # Imported here because it is slow to import, and only a fit needs it.
        from scipy.optimize import minimize

        bounds = list(zip((-self.below).tolist(), self.above.tolist(), strict=True))
        options: Any = {"maxfun": limit, "ftol": GAIN / max(1.0, abs(value)), "gtol": SLOPE}
        found = minimize(
            self.value_and_gradient,
            v,
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options=options,
        )
        self.ends.append(self.parameters(found.x))
        return bool(found.success)

    def value(self, v: Array) -> float:
        """Return -ln p(z | parameters) + |v|^2 / 2."""
        parameters = self.parameters(v)
        return self._record(parameters, v, self.evidence.at(parameters, with_gradient=False))

    def value_and_gradient(self, v: Array) -> tuple[float, Array]:
        """Return the value and its gradient in v."""
        parameters = self.parameters(v)
        found = self.evidence.at(parameters)
        return self._record(parameters, v, found), v - self.sds * found.gradient

    def _record(self, parameters: Array, v: Array, found: EvidenceAt) -> float:
        """Count the evaluation, keep the best, and return the value, infinity for NaN."""
        self.evaluations += 1
        value = -found.value + 0.5 * float(v @ v)
        if value < self.least:
            self.best, self.least = parameters, value
            self.mean, self.log_evidence = found.mean, found.value
        return value if value == value else math.inf
