"""The maximum information gain, gamma_T = max (1/2) log det(I + K / ridge) over T points.

It is enclosed between a lower bound that some T points reach and an upper bound with a certificate.
On a finite set of arms the points are arms, and may repeat; on a box they are anywhere in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Box
from kernelbandits.formatting import format_rounded
from kernelbandits.kernels import Block, Kernel, as_kernel
from kernelbandits.theory.boxes import bends, bound_peak, count_cells, grid, is_certifiable
from kernelbandits.theory.caps import bound_by_traces, extent_of, largest_value
from kernelbandits.theory.relaxation import STARTS, Design, Places, greedy_counts, optimal_design

GRID = 200_000
"""The largest number of grid points on which a bound for a box is evaluated."""
LOOK = 1.5e10
"""The largest work for a grid: its points times the square of the number of places with mass."""
CANDIDATES = 1000
"""The number of points of a box that may carry mass."""
LARGEST_HORIZON = 10**12
LARGEST_RATIO = 1e15
"""Beyond this T sup k / ridge the rounding error of the kernel is larger than the duality gap."""
LARGEST_SIZE = 1e302
"""The limit of T sup k and T sup k / ridge; beyond it sums would overflow."""
FINENESS = 0.003
"""How much the sd may grow between grid points, as a share of itself."""
SHORT = 1 - 1e-12
"""A factor just below 1 that turns a rounded number into a lower bound."""
CROSSED = 1e-9
"""By rounding, the upper bound may be smaller than the lower bound by this share of itself."""
MEMORY, TIME = 2e7, 4e9
"""How many numbers greedy rounds may store, and how many operations they may take."""


@dataclass(frozen=True)
class InformationGain:
    """Bounds of the information gain, lower <= gamma_T <= upper; `information_gain` computes them.

    >>> import kernelbandits as kb
    >>> gain = kb.theory.information_gain(kb.RBF(0.2), kb.Arms([[0.0], [0.5], [1.0]]), horizon=30)
    >>> round(gain.lower, 3), round(gain.upper, 3), gain.horizon, gain.ridge
    (3.595, 3.595, 30, 1.0)
    >>> gain.certificate.split(",")[0]
    'D-optimal relaxation'
    """

    lower: float
    """The gain of some T points."""
    upper: float
    """No T points of the domain have a larger gain."""
    certificate: str
    """Why no T points have a larger gain."""
    horizon: int
    """T, the number of points."""
    ridge: float
    """The ridge for which it was computed."""
    witness: str = ""
    """Which points have the gain `lower`."""
    domain: str = ""
    """The set for which both bounds hold: arms, a whole box, or only a finite cover of it."""

    def __post_init__(self) -> None:
        checks.needs(
            0 <= self.lower <= self.upper,
            "InformationGain",
            "0 <= lower <= upper",
            (self.lower, self.upper),
        )


@dataclass(frozen=True, eq=False)
class DesignSpace:
    """A kernel on a domain, and the places of the domain that may carry mass."""

    kernel: Kernel
    domain: Arms | Box
    places: Places
    largest: float
    """sup k(x, x)"""

    @property
    def name(self) -> str:
        if isinstance(self.domain, Box):
            return f"the whole {self.domain}"
        return self.domain.origin or f"{len(self.domain)} arm{'s' * (len(self.domain) > 1)}"


def information_gain(kernel: Any, domain: Any, horizon: int, ridge: float = 1.0) -> InformationGain:
    """Return lower and upper bounds of gamma_T, and the certificate of the upper bound.

    Parameters
    ----------
    kernel
        A kernel, or a function k(x, z).
    domain
        Arms, an (n, d) array, or a `kb.Box`.
    horizon
        Number of rounds T.
    ridge
        That of the policy: the variance of the noise, in the units of the kernel.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> from kernelbandits.theory import information_gain
    >>> gain = information_gain(kb.RBF(0.2), kb.Arms([[0.0], [0.5], [1.0]]), horizon=100)
    >>> print(f"{gain.lower:.3f} <= gamma <= {gain.upper:.3f}, on {gain.domain}")
    5.302 <= gamma <= 5.302, on 3 arms
    """
    return growth(kernel, domain, (horizon,), ridge)[0]


def growth(
    kernel: Any, domain: Any, horizons: Iterable[int], ridge: float = 1.0
) -> tuple[InformationGain, ...]:
    """Return the information gain at several horizons, in the order given.

    This is faster than a call for each: every design starts from that of the previous horizon. The
    other parameters are those of `information_gain`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> from kernelbandits.theory import growth
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> [round(gain.upper, 2) for gain in growth(kb.RBF(0.2), arms, (1, 10, 100))]
    [0.35, 2.2, 5.3]
    """
    owner = "information_gain"
    checks.needs(isinstance(horizons, Iterable), owner, "a sequence of horizons", horizons)
    wanted = [checks.whole(owner, "horizon", horizon, least=0) for horizon in horizons]
    chosen = as_kernel(kernel, owner)
    share = checks.positive(owner, "ridge", ridge)
    space = build_design_space(chosen, domain)
    size = max(wanted, default=0) * max(space.largest, space.largest / share)
    checks.needs(
        size <= LARGEST_SIZE, owner, f"T sup k and T sup k / ridge <= {LARGEST_SIZE:g}", size
    )
    found: dict[int, InformationGain] = {}
    near: Design | None = None
    for rounds in sorted(set(wanted)):
        near = find_design(space, rounds, share, near)
        found[rounds] = Enclosure(space, rounds, share, near).gain
    return tuple(found[rounds] for rounds in wanted)


def build_design_space(kernel: Kernel, domain: Any) -> DesignSpace:
    """Return the places of a domain: all distinct arms, or a grid of a box.

    Where no bound can be extended to the whole box, its finite cover takes the place of the box.
    """
    if isinstance(domain, Box):
        corner = np.array([domain.lower])
        kernel(corner, corner)
        region = domain if is_certifiable(kernel, domain) else domain.cover()
    else:
        region = domain if isinstance(domain, Arms) else Arms(domain)
    points = (
        candidates(kernel, region)
        if isinstance(region, Box)
        else np.unique(region.points + 0.0, axis=0)
    )
    largest = largest_value(kernel, region)
    checks.needs(math.isfinite(largest), str(kernel), "finite k(x, x)", largest)
    return DesignSpace(kernel, region, Places(kernel, points), largest)


def candidates(kernel: Kernel, box: Box) -> Array:
    """Return a grid that contains the corners of the box; in high dimensions its cover."""
    if 2**box.dimension > CANDIDATES:
        return box.cover(CANDIDATES).points
    return grid(box, count_cells(kernel, box, 0.0, CANDIDATES))


def find_design(
    space: DesignSpace, rounds: int, ridge: float, near: Design | None
) -> Design | None:
    """Return the optimal design for T rounds, None if there is nothing to gain.

    Where floating-point numbers are not accurate enough, the design is for fewer rounds and a
    larger ridge.
    """
    if rounds == 0 or space.largest == 0:
        return None
    fewer = min(rounds, LARGEST_HORIZON)
    return optimal_design(
        space.places, fewer, max(ridge, fewer * space.largest / LARGEST_RATIO), near
    )


@dataclass(frozen=True, eq=False)
class Enclosure:
    """The bounds of gamma_T for one horizon."""

    space: DesignSpace
    rounds: int
    ridge: float
    design: Design | None

    @property
    def gain(self) -> InformationGain:
        """The largest lower bound and the smallest upper bound."""
        lower, witness = max(self.witnesses())
        upper, certificate = min(self.certificates())
        checks.needs(
            lower <= upper + CROSSED * upper,
            "information_gain",
            f"lower <= upper ({certificate})",
            (lower, upper),
        )
        domain = self.space.domain
        where = f", on {domain.origin} only" if isinstance(domain, Arms) and domain.origin else ""
        name = self.space.name
        return InformationGain(
            lower, max(lower, upper), certificate + where, self.rounds, self.ridge, witness, name
        )

    def witnesses(self) -> Iterator[tuple[float, str]]:
        """Yield lower bounds: gains of T points, of fewer points, or at a larger ridge."""
        yield (
            SHORT * float(np.log1p(self.rounds * self.space.places.prior.max() / self.ridge)) / 2,
            "one point",
        )
        if self.design is not None:
            yield (
                self.gain_of_counts(whole_rounds(self.design), self.design),
                "the optimal design in whole rounds",
            )
        if self.greedy is not None:
            yield self.greedy, "greedy points"

    @cached_property
    def exact_design(self) -> Design | None:
        """The design, if it is for exactly these rounds and this ridge; else None."""
        found = self.design
        return found if found and (found.rounds, found.ridge) == (self.rounds, self.ridge) else None

    @cached_property
    def greedy(self) -> float | None:
        """G_T, the gain of greedy points; None where greedy steps would take too long."""
        if self.exact_design is None or self.rounds > STARTS:
            return None
        nothing = replace(self.exact_design, masses=np.zeros(len(self.space.places)))
        return self.gain_of_counts(greedy_counts(nothing, self.rounds), self.exact_design)

    def gain_of_counts(self, counts: Array, design: Design) -> float:
        """Return the gain of these counts, minus its rounding error.

        (1/2) log det(I + K / ridge)
        """
        played = replace(design, masses=counts)
        return max(played.gain - played.rounding_allowance(self.space.largest), 0.0)

    def certificates(self) -> Iterator[tuple[float, str]]:
        """Yield upper bounds, each with its name."""
        largest = self.space.largest
        yield self.bound_by_traces(Block(math.inf, largest)), "(T/2) ln(1 + sup k/ridge)"
        kernel = self.space.kernel
        blocks = kernel.rank_blocks(extent_of(self.space.domain))
        yield self.bound_by_traces(*blocks), kernel.rank_argument
        if isinstance(self.space.domain, Box):
            yield from self.bounds_on_box(self.space.domain)
        else:
            yield (
                self.bound_by_traces(Block(len(self.space.places), largest)),
                "(n/2) ln(1 + T sup k/(n ridge)), n arms",
            )
            yield from self.bounds_on_arms()

    def bound_by_traces(self, *blocks: Block) -> float:
        """Return the upper bound from ranks and traces; 0 if there are no rounds."""
        return (
            bound_by_traces(blocks, self.space.largest, float(self.rounds), self.ridge)
            if self.rounds
            else 0.0
        )

    def bounds_on_arms(self) -> Iterator[tuple[float, str]]:
        """Yield the relaxation on the arms, and the bound from greedy points."""
        if self.exact_design is not None:
            bound = self.exact_design.bound(
                float(self.exact_design.variances.max()), self.space.largest
            )
            yield (
                bound,
                f"D-optimal relaxation, duality gap {format_gap(bound - self.exact_design.gain)}",
            )
        if self.exact_design is not None and self.greedy is not None:
            value = self.greedy + 2 * self.exact_design.rounding_allowance(self.space.largest)
            yield value / (1 - math.exp(-1)), "greedy / (1 - 1/e)"

    def bounds_on_box(self, box: Box) -> Iterator[tuple[float, str]]:
        """Yield the relaxation on a grid, extended to the whole box.

        The grid is as fine as the sd requires; nothing is yielded if that takes too much work.
        """
        if self.exact_design is None:
            return
        kernel, limit = self.space.kernel, min(GRID, LOOK / len(self.exact_design.support) ** 2)
        sd = math.sqrt(self.ridge * float(self.exact_design.leverages.sum()) / self.rounds)
        cells = count_cells(kernel, box, FINENESS * sd, limit)
        if (cells + 1).prod() <= limit and bends(
            kernel, box, cells
        ).sum() ** 2 <= self.space.largest:
            bound = self.exact_design.bound(
                bound_peak(self.exact_design, box, cells), self.space.largest
            )
            shape = " x ".join(f"{int(count) + 1}" for count in cells)
            gap = format_gap(bound - self.exact_design.gain)
            yield (
                bound,
                f"D-optimal relaxation on the whole box by a grid of {shape}, duality gap {gap}",
            )


def format_gap(value: float) -> str:
    """Write the gap with two digits, rounded up."""
    return format_rounded(value, 2, ROUND_CEILING)


def whole_rounds(design: Design) -> Array:
    """Turn real-valued masses into whole numbers of rounds.

    Masses are rounded down, and the remaining rounds are chosen greedily. Where too many remain,
    the largest remainders get them.
    """
    counts = np.floor(design.masses * SHORT)
    rest = int(design.rounds - counts.sum())
    stored = (rest + np.count_nonzero(counts)) * len(counts)
    operations = rest * rest * len(counts)
    if stored <= MEMORY and operations <= TIME:
        return greedy_counts(replace(design, masses=counts), rest)
    counts[(counts - design.masses).argsort()[:rest]] += 1
    return counts
