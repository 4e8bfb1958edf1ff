"""The maximum information gain gamma_T = max (1/2) log det(I + K / ridge) over T points, enclosed with certificates.

On a finite set of arms the points are among them, with repeats; on a box they are anywhere in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, Context
from functools import cached_property
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import Arms, Box
from kernelbandits.kernels import Kernel, as_kernel
from kernelbandits.theory.boxes import bends, cells_for, certified, grid, peak_on
from kernelbandits.theory.caps import Block, blocks_of, cap, cap_name, largest_value
from kernelbandits.theory.relaxation import STARTS, Design, Places, greedy_counts, optimal_design

GRID = 200_000
"""Points of the grid on which a box is looked at."""
LOOK = 1.5e10
"""Numbers that looking at a grid may touch: points times the square of the places that carry mass."""
CANDIDATES = 1000
"""Points of a box that may carry mass."""
LARGEST_HORIZON = 10**12
LARGEST_RATIO = 1e15
"""Beyond this T sup k / ridge the rounding of a kernel outweighs what a design can say."""
LARGEST_SIZE = 1e302
"""Of T sup k and T sup k / ridge: beyond, sums are no numbers."""
FINENESS = 0.003
"""What the sd may rise between grid points, as a share of itself."""
SHORT = 1 - 1e-12
"""Takes a number to the safe side of its rounding."""
CROSSED = 1e-9
"""Of the upper bound, by which rounding may leave it below the lower one."""
MEMORY, TIME = 2e7, 4e9
"""Numbers that greedy rounds may hold and touch."""


@dataclass(frozen=True)
class InformationGain:
    """What is known of gamma_T."""

    lower: float
    """Reached by T points."""
    upper: float
    """Which no T points of the domain exceed."""
    certificate: str
    """Why they do not."""
    horizon: int
    ridge: float
    witness: str = ""
    """Which points reach the lower bound."""
    domain: str = ""
    """What both bounds speak of: arms, a whole box, or no more than a cover of it."""

    def __post_init__(self) -> None:
        checks.needs(
            0 <= self.lower <= self.upper,
            "InformationGain",
            "0 <= lower <= upper",
            (self.lower, self.upper),
        )


@dataclass(frozen=True, eq=False)
class Ground:
    """A kernel on a domain, and the places of it that may carry mass."""

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
    """lower <= gamma_T <= upper, on a finite set of arms or on a box, and the certificate of the upper bound."""
    return growth(kernel, domain, (horizon,), ridge)[0]


def growth(
    kernel: Any, domain: Any, horizons: Iterable[int], ridge: float = 1.0
) -> tuple[InformationGain, ...]:
    """gamma_T at several horizons, in the order given; each design is begun from the one before."""
    owner = "information_gain"
    checks.needs(isinstance(horizons, Iterable), owner, "a sequence of horizons", horizons)
    wanted = [checks.whole(owner, "horizon", horizon, least=0) for horizon in horizons]
    known = isinstance(kernel, Kernel) or (callable(kernel) and not isinstance(kernel, type))
    checks.needs(known, owner, "a kernel or a callable k(x, z)", kernel)
    share, ground = checks.positive(owner, "ridge", ridge), grounded(as_kernel(kernel), domain)
    size = max(wanted, default=0) * max(ground.largest, ground.largest / share)
    checks.needs(
        size <= LARGEST_SIZE, owner, f"T sup k and T sup k / ridge <= {LARGEST_SIZE:g}", size
    )
    found: dict[int, InformationGain] = {}
    near: Design | None = None
    for rounds in sorted(set(wanted)):
        near = designed(ground, rounds, share, near)
        found[rounds] = Enclosure(ground, rounds, share, near).gain
    return tuple(found[rounds] for rounds in wanted)


def grounded(kernel: Kernel, domain: Any) -> Ground:
    """The domain by its points: all distinct arms, a grid of a box, or its cover where no bound reaches the box."""
    if isinstance(domain, Box):
        corner = np.array([domain.lower])
        kernel(corner, corner)
        ground = domain if certified(kernel, domain) else domain.cover()
    else:
        ground = domain if isinstance(domain, Arms) else Arms(domain)
    points = (
        candidates(kernel, ground)
        if isinstance(ground, Box)
        else np.unique(ground.points + 0.0, axis=0)
    )
    largest = largest_value(kernel, ground)
    checks.needs(math.isfinite(largest), str(kernel), "finite k(x, x)", largest)
    return Ground(kernel, ground, Places(kernel, points), largest)


def candidates(kernel: Kernel, box: Box) -> Array:
    """A grid with the corners of the box; in high dimensions its cover."""
    if 2**box.dimension > CANDIDATES:
        return box.cover(CANDIDATES).points
    return grid(box, cells_for(kernel, box, 0.0, CANDIDATES))


def designed(ground: Ground, rounds: int, ridge: float, near: Design | None) -> Design | None:
    """The optimal design for T rounds, or for fewer and a larger ridge where numbers are not good enough for these."""
    if rounds == 0 or ground.largest == 0:
        return None
    fewer = min(rounds, LARGEST_HORIZON)
    return optimal_design(
        ground.places, fewer, max(ridge, fewer * ground.largest / LARGEST_RATIO), near
    )


@dataclass(frozen=True, eq=False)
class Enclosure:
    """The bounds of gamma_T for one horizon."""

    ground: Ground
    rounds: int
    ridge: float
    design: Design | None

    @property
    def gain(self) -> InformationGain:
        """The greatest of the lower and the least of the upper bounds."""
        lower, witness = max(self.witnesses())
        upper, certificate = min(self.certificates())
        checks.needs(
            lower <= upper + CROSSED * upper,
            "information_gain",
            f"lower <= upper ({certificate})",
            (lower, upper),
        )
        domain = self.ground.domain
        where = f", on {domain.origin} only" if isinstance(domain, Arms) and domain.origin else ""
        name = self.ground.name
        return InformationGain(
            lower, max(lower, upper), certificate + where, self.rounds, self.ridge, witness, name
        )

    def witnesses(self) -> Iterator[tuple[float, str]]:
        """Gains that T points reach; fewer points, or a larger ridge, have less."""
        yield (
            SHORT * float(np.log1p(self.rounds * self.ground.places.prior.max() / self.ridge)) / 2,
            "one point",
        )
        if self.design is not None:
            yield (
                self.reached(whole_rounds(self.design), self.design),
                "the optimal design in whole rounds",
            )
        if self.greedy is not None:
            yield self.greedy, "greedy points"

    @cached_property
    def fitting(self) -> Design | None:
        """The design, if it is for these rounds and this ridge."""
        found = self.design
        return found if found and (found.rounds, found.ridge) == (self.rounds, self.ridge) else None

    @cached_property
    def greedy(self) -> float | None:
        """G_T, for as many rounds as greedy steps are quick."""
        if self.fitting is None or self.rounds > STARTS:
            return None
        nothing = replace(self.fitting, masses=np.zeros(len(self.ground.places)))
        return self.reached(greedy_counts(nothing, self.rounds), self.fitting)

    def reached(self, counts: Array, design: Design) -> float:
        """(1/2) log det(I + K / ridge) of whole repeats, less its rounding."""
        played = replace(design, masses=counts)
        return max(played.gain - played.rounding(self.ground.largest), 0.0)

    def certificates(self) -> Iterator[tuple[float, str]]:
        """Upper bounds, each with its name."""
        largest = self.ground.largest
        yield self.cap(Block(math.inf, largest)), "(T/2) ln(1 + sup k/ridge)"
        yield (
            self.cap(*blocks_of(self.ground.kernel, self.ground.domain)),
            cap_name(self.ground.kernel),
        )
        if isinstance(self.ground.domain, Box):
            yield from self.on_box(self.ground.domain)
        else:
            yield (
                self.cap(Block(len(self.ground.places), largest)),
                "(n/2) ln(1 + T sup k/(n ridge)), n arms",
            )
            yield from self.on_arms()

    def cap(self, *blocks: Block) -> float:
        """From ranks and traces; no rounds, no gain."""
        return (
            cap(blocks, self.ground.largest, float(self.rounds), self.ridge) if self.rounds else 0.0
        )

    def on_arms(self) -> Iterator[tuple[float, str]]:
        """The relaxation, and the guarantee of greedy points."""
        if self.fitting is not None:
            bound = self.fitting.bound(float(self.fitting.variances.max()), self.ground.largest)
            yield (
                bound,
                f"D-optimal relaxation, duality gap {rounded_up(bound - self.fitting.gain)}",
            )
        if self.fitting is not None and self.greedy is not None:
            value = self.greedy + 2 * self.fitting.rounding(self.ground.largest)
            yield value / (1 - math.exp(-1)), "greedy / (1 - 1/e)"

    def on_box(self, box: Box) -> Iterator[tuple[float, str]]:
        """The relaxation on a grid as fine as the sd asks for and the work allows, carried over to the whole box."""
        if self.fitting is None:
            return
        kernel, limit = self.ground.kernel, min(GRID, LOOK / len(self.fitting.support) ** 2)
        sd = math.sqrt(self.ridge * float(self.fitting.used.sum()) / self.rounds)
        cells = cells_for(kernel, box, FINENESS * sd, limit)
        if (cells + 1).prod() <= limit and bends(
            kernel, box, cells
        ).sum() ** 2 <= self.ground.largest:
            bound = self.fitting.bound(peak_on(self.fitting, box, cells), self.ground.largest)
            shape = " x ".join(f"{int(count) + 1}" for count in cells)
            gap = rounded_up(bound - self.fitting.gain)
            yield (
                bound,
                f"D-optimal relaxation on the whole box by a grid of {shape}, duality gap {gap}",
            )


def rounded_up(value: float) -> str:
    """Two digits, never less than the value."""
    return f"{float(Context(prec=2, rounding=ROUND_CEILING).create_decimal_from_float(value)):g}"


def whole_rounds(design: Design) -> Array:
    """Masses rounded down, and what is left greedily; by the largest remainders where it is much."""
    counts = np.floor(design.masses * SHORT)
    rest = int(design.rounds - counts.sum())
    if (rest + np.count_nonzero(counts)) * len(counts) <= MEMORY and rest * rest * len(
        counts
    ) <= TIME:
        return greedy_counts(replace(design, masses=counts), rest)
    counts[(counts - design.masses).argsort()[:rest]] += 1
    return counts
