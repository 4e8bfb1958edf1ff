"""pi-GP-UCB: a small posterior for each cell of a partition, refined as rewards come in."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels import Kernel
from kernelbandits.policies.about import PARTITIONS, About
from kernelbandits.policies.base import Policy
from kernelbandits.policies.cubes import Cube, unit_cube
from kernelbandits.posterior import Posterior

USUAL_NU = 2.5
"""The smoothness taken for a kernel that states none."""


def thesis(n: int, side: float, nu: float, dimension: int) -> bool:
    """Tell whether n > side^(-2 nu)."""
    return bool(n * side ** (2 * nu) > 1)


def aistats(n: int, side: float, nu: float, dimension: int) -> bool:
    """Tell whether n + 1 > side^(-1/b), b = (d + 1) / (d + 2 nu)."""
    return bool((n + 1) * side ** ((dimension + 2 * nu) / (dimension + 1)) > 1)


def never(n: int, side: float, nu: float, dimension: int) -> bool:
    """Return False: one cell holds all arms."""
    return False


SPLITS: Mapping[str, Callable[[int, float, float, int], bool]] = {
    "thesis": thesis,
    "aistats": aistats,
    "never": never,
}
"""Rule of splitting -> whether a cell with n rewards is divided."""


@dataclass(eq=False)
class PartitionCell:
    """A cube of arms, and the posterior of the rewards since it was made."""

    cube: Cube
    posterior: Posterior | None = None
    """None before the first reward."""


class PiGPUCB(Policy[Array]):
    """Play the highest upper confidence bound, where each cell of a partition learns by itself.

    index(x) = mean_A(x) + beta_A sd_A(x) for an arm x in cell A, by the rewards of that cell, with

    beta_A = D + R sqrt(2 (gamma_A + 1 + ln(F/delta))), gamma_A = L_A / 2,

    and F = 4 (T + 1)^(d / (2 nu)). The cells are cubes of the unit cube.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    horizon
        T, how many rounds will be played.
    nu
        The smoothness of f; by default that of the kernel, and 5/2 where it is infinite or unknown.
    split
        When a cell of side s is halved in every coordinate: "thesis" once it has more than
        s^(-2 nu) rewards, "aistats" by the rule of the conference paper, or "never".
    inherit_data
        Whether the parts of a divided cell keep its rewards.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.25], [0.5], [0.75], [1.0]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 100}
    >>> policy = kb.policies.PiGPUCB(arms, kb.Matern(0.2, 1.5), **settings)
    >>> for t in range(1, 13):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=choice.x[0])
    >>> [cell.cube.arms.tolist() for cell in policy.cells]
    [[0, 1], [2], [3, 4]]
    """

    about = About(
        name="pi-gp-ucb",
        title="pi-GP-UCB",
        family=PARTITIONS,
        paper="Janz, Burt & Gonzalez, Bandit optimisation of functions in the Matern kernel RKHS, "
        "2020",
        guarantee="sublinear regret for every Matern kernel with nu > 1, with probability 1 - "
        "delta",
        ours="cells hold arms, a cell of one point is never split, a border belongs to the upper "
        "cell; ridge 1, the split and F = 4 (T + 1)^(d / (2 nu)) are those of the first "
        "author's thesis code; nu = 5/2 for kernels of infinite or unknown smoothness",
        by_name_only=("ridge",),
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        delta: float = 0.1,
        ridge: float = 1.0,
        nu: float | None = None,
        split: str = "thesis",
        inherit_data: bool = False,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("PiGPUCB", "horizon", horizon)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=rounds)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        if ridge < 1:
            self._warn_once(f"its guarantee needs a ridge of at least 1, got {ridge:g}")
        self.split = SPLITS[checks.one_of("PiGPUCB", "split", split, SPLITS)]
        given = isinstance(inherit_data, bool)
        checks.needs(given, "PiGPUCB", "inherit_data True or False", inherit_data)
        if nu is None:
            self.nu = smoothness(self.posterior.kernel, self.domain.dimension)
        else:
            self.nu = checks.positive("PiGPUCB", "nu", nu)
        self.noise_scale = noise_scale
        self.norm_bound = norm_bound
        self.inherit_data = inherit_data
        claims = log_cells(rounds, self.domain.dimension, self.nu)
        self.paid = 1 + claims - math.log(chance)
        self.unit, root, geometry = unit_cube(self.domain.points)
        self.cells = [PartitionCell(root)]
        self._home = np.zeros(len(self.domain), dtype=np.int64)
        """The place of each arm's cell in `cells`."""
        # Each reward changes one cell, so the index of all arms is kept and updated by cell.
        self._mean, self._sd, self._width = np.empty((3, len(self.domain)))
        self._show(self.cells[0])
        self.settings |= {
            "nu": self.nu,
            "split": split,
            "inherit_data": inherit_data,
            "cells": geometry,
            "gain": "realised",
        }
        self.settings |= {
            "width": "D + R sqrt(2 (L_A/2 + 1 + ln(F/delta)))",
            "exploration": "PointMass(c=1.0)",
        }

    def width(self, log_det: float) -> float:
        """Return beta_A = D + R sqrt(2 (L_A / 2 + 1 + ln(F/delta)))."""
        return self.norm_bound + self.noise_scale * math.sqrt(2 * (log_det / 2 + self.paid))

    def score_arms(self, t: int) -> Array:
        return self._mean + self._width * self._sd

    def cell_of(self, arm: int) -> PartitionCell:
        """Return the cell that an arm lies in."""
        return self.cells[int(self._home[arm])]

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        cell = self.cell_of(arm)
        posterior = self._cell_posterior(cell)
        super()._learn(arm, reward, note)
        posterior.update(int(cell.cube.arms.searchsorted(arm)), reward)
        self._show(cell)
        full = self.split(posterior.events, cell.cube.side, self.nu, self.domain.dimension)
        if full and cell.cube.divides(self.unit):
            self._divide(cell)

    def _cell_posterior(self, cell: PartitionCell) -> Posterior:
        """Return the posterior of the cell, made when it is first wanted."""
        if cell.posterior is None:
            cell.posterior = self._fresh_posterior(self.domain.points[cell.cube.arms])
        return cell.posterior

    def _show(self, cell: PartitionCell) -> None:
        """Write what the cell knows of its arms into the vectors over all arms."""
        arms, known = cell.cube.arms, cell.posterior
        self._mean[arms] = 0.0 if known is None else known.mean
        self._sd[arms] = np.sqrt(self.posterior.prior[arms]) if known is None else known.sd
        self._width[arms] = self.width(0.0 if known is None else known.log_det)

    def _divide(self, parent: PartitionCell) -> None:
        """Put the children in the parent's place."""
        place = int(self._home[parent.cube.arms[0]])
        children = [PartitionCell(cube) for cube in parent.cube.halves(self.unit)]
        places = (place, *range(len(self.cells), len(self.cells) + len(children) - 1))
        self.cells[place], self.cells[len(self.cells) :] = children[0], children[1:]
        for where, child in zip(places, children, strict=True):
            self._home[child.cube.arms] = where
            if self.inherit_data:
                self._inherit(parent, child)
            self._show(child)

    def _inherit(self, parent: PartitionCell, child: PartitionCell) -> None:
        """Give the child the parent's rewards of its arms.

        The mean reward of an arm is told once for each of its rewards: counts and sums are all
        that a posterior needs.
        """
        assert parent.posterior is not None
        counts, sums = parent.posterior.counts, parent.posterior.tally.sums
        for row in parent.cube.arms.searchsorted(child.cube.arms):
            place = int(child.cube.arms.searchsorted(parent.cube.arms[row]))
            for _ in range(counts[row]):
                self._cell_posterior(child).update(place, float(sums[row] / counts[row]))

    def _note_arm(self, arm: int, sd: Array) -> dict[str, float]:
        """Return what the cell of the arm knows of it, and the side of the cell."""
        known = {
            "mean": float(self._mean[arm]),
            "sd": float(self._sd[arm]),
            "width": float(self._width[arm]),
        }
        return known | {"side": self.cell_of(arm).cube.side}


def log_cells(horizon: int, dimension: int, nu: float) -> float:
    """Return ln F, F = 4 (T + 1)^(d / (2 nu)) the number of cells there may ever be."""
    return math.log(4) + dimension / (2 * nu) * math.log(horizon + 1)


def smoothness(kernel: Kernel, dimension: int) -> float:
    """Return nu of the kernel, and 5/2 where it is infinite or unknown."""
    decay = kernel.eigendecay(dimension)
    nu = math.inf if decay is None else decay.smoothness(dimension)
    return nu if math.isfinite(nu) else USUAL_NU
