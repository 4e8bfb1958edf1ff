"""The 12 problems of the leaderboard, and what every policy is told of each.

Every policy is told the kernel, R and D of the problem. They are true: D bounds the norm of every
function that is played, so a certified regret means what it says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

import kernelbandits as kb
from kernelbandits.kernels import Kernel
from kernelbandits.problems import GaussianNoise, Instance, Noise, Problem, RKHSFunction
from kernelbandits.problems.base import problem_generator

NOISE_SCALE = 0.1
NOISE = GaussianNoise(NOISE_SCALE)
SMOOTH, ROUGH = "smooth functions", "rough functions"
INDEPENDENT, KNOWN = "linear functions and independent arms", "test functions and films"
GROUPS = (SMOOTH, ROUGH, INDEPENDENT, KNOWN)


@dataclass(frozen=True)
class LinearFunction:
    """f = x . theta with |theta| = 1, on arms of length 1.

    `candidates` arms are drawn for each seed, with coordinates >= 0; 0 stands for the unit vectors,
    which are independent arms.
    """

    dimension: int
    candidates: int
    noise: Noise = NOISE

    @property
    def name(self) -> str:
        return f"linear{self.dimension}" if self.candidates else f"independent{self.dimension}"

    @property
    def title(self) -> str:
        return f"Linear (d = {self.dimension})"

    @property
    def description(self) -> str:
        arms = f"{self.candidates} arms of length 1" if self.candidates else "the unit vectors"
        return f"{arms}; a linear function of norm 1"

    def instance(self, streams: kb.Streams) -> Instance:
        rng = problem_generator(streams)
        drawn = np.abs(rng.standard_normal((self.candidates, self.dimension)))
        lengths = np.linalg.norm(drawn, axis=1, keepdims=True)
        points = drawn / lengths if self.candidates else np.eye(self.dimension)
        theta = rng.standard_normal(self.dimension)
        return Instance(
            self.name, kb.Arms(points), points @ (theta / np.linalg.norm(theta)), self.noise
        )


@dataclass(frozen=True)
class BoardProblem:
    """A problem, its group in the tables, and what policies are told of it."""

    group: str
    build: Callable[[], Problem]
    kernel: Kernel
    about: str
    norm_bound: float = 1.0
    """D, at least the least norm of a function that has the values of the arms, in every seed."""


def draw_rkhs(kernel: Kernel, dimension: int, candidates: int, group: str) -> BoardProblem:
    """Return functions of norm 1 on uniformly drawn points of the unit cube."""
    problem = RKHSFunction(kernel, dimension, candidates, noise=NOISE)
    about = f"functions of norm 1 on {candidates} points of the unit cube, d = {dimension}"
    return BoardProblem(group, lambda: problem, kernel, about)


def take_function(name: str, norm_bound: float) -> BoardProblem:
    """Return a test function of the paper on 50 candidates."""
    about = (
        f"the function of the paper on 50 points of its box, scaled to [0, 1], D = {norm_bound:g}"
    )
    build = partial(kb.problem, name, candidates=50, noise=NOISE)
    return BoardProblem(KNOWN, build, kb.Matern(0.2, nu=1.5), about, norm_bound)


PROBLEMS: Mapping[str, BoardProblem] = {
    "rbf-1d": draw_rkhs(kb.RBF(0.2), 1, 50, SMOOTH),
    "rbf-2d": draw_rkhs(kb.RBF(0.2), 2, 200, SMOOTH),
    "rbf-4d": draw_rkhs(kb.RBF(0.5), 4, 200, SMOOTH),
    "matern-1d": draw_rkhs(kb.Matern(0.2, nu=1.5), 1, 200, ROUGH),
    "matern-2d": draw_rkhs(kb.Matern(0.2, nu=1.5), 2, 50, ROUGH),
    "matern-4d": draw_rkhs(kb.Matern(0.5, nu=1.5), 4, 50, ROUGH),
    "linear-5d": BoardProblem(
        INDEPENDENT,
        lambda: LinearFunction(5, 50),
        kb.Linear(),
        "linear functions of norm 1 on 50 points of length 1, d = 5",
    ),
    "independent": BoardProblem(
        INDEPENDENT,
        lambda: LinearFunction(20, 0),
        kb.Linear(),
        "20 independent arms, whose means have the norm 1 together",
    ),
    "holder-table": take_function("holder-table", 4.0),
    "cross-in-tray": take_function("cross-in-tray", 5.0),
    "ackley4": take_function("ackley4", 2.0),
    "perovskite": BoardProblem(
        KNOWN,
        partial(kb.problem, "perovskite", noise=NOISE),
        kb.Matern(0.2, nu=0.5),
        "94 measured films, scaled to [0, 1], D = 3",
        3.0,
    ),
}
