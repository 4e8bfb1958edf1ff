"""Problems that break an assumption: a function outside the model, and noise that differs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.problems.base import Instance, Problem
from kernelbandits.problems.noise import Noise
from kernelbandits.streams import Streams

SIGNS, RANKS = 41, 42
"""The streams of the deviations, and of the noise shares."""
PLACES = ("high", "low", "random")


@dataclass(frozen=True)
class Misspecified:
    """Any problem whose values are off by +-error, arm by arm, at random.

    f = g + h, where g is the function of the problem and |h| = error. No kernel fits h, so that
    the norm of f is large or infinite: the setting of EC-GP-UCB (Bogunovic & Krause 2021). The best
    arm is the best by f.

    >>> import kernelbandits as kb
    >>> still = kb.problem("branin").instance(kb.Streams(0))
    >>> moved = kb.problem("misspecified", problem="branin", error=0.05).instance(kb.Streams(0))
    >>> float(abs(moved.values - still.values).max().round(6))
    0.05
    """

    problem: Problem
    error: float = 0.1
    """The size of the deviations, in the units of the rewards."""

    def __post_init__(self) -> None:
        check_problem("Misspecified", self.problem)
        checks.nonnegative("Misspecified", "error", self.error)

    @property
    def name(self) -> str:
        return f"{self.problem.name}-off-{self.error:g}"

    @property
    def title(self) -> str:
        return f"{self.problem.title}, off by {self.error:g}"

    @property
    def description(self) -> str:
        return f"{self.problem.description}; each value is off by +-{self.error:g} at random"

    @property
    def dimension(self) -> int:
        return self.problem.dimension

    @property
    def noise(self) -> Noise:
        return self.problem.noise

    def instance(self, streams: Streams) -> Instance:
        still = self.problem.instance(streams)
        signs = streams.generator(SIGNS).choice((-1.0, 1.0), len(still.domain))
        shift = self.error * signs
        replicates = still.replicates and tuple(
            tuple(reward + move for reward in rewards)
            for rewards, move in zip(still.replicates, shift.tolist(), strict=True)
        )
        return replace(still, name=self.name, values=still.values + shift, replicates=replicates)


@dataclass(frozen=True)
class Heteroscedastic:
    """Any problem with more noise at some arms than at others.

    The noise of an arm is that of the problem times a share between 1/ratio and 1, evenly spaced
    over the ranks of the arms. So the R of the problem's noise holds for all arms, and is larger
    than needed for most.

    >>> import kernelbandits as kb
    >>> problem = kb.problem("heteroscedastic", problem="branin", ratio=4)
    >>> shares = problem.instance(kb.Streams(0)).noise_shares
    >>> float(shares.min()), float(shares.max())
    (0.25, 1.0)
    """

    problem: Problem
    ratio: float = 10.0
    """The largest by the smallest standard deviation."""
    where: str = "high"
    """Which arms have the most noise: "high" or "low", by their values, or "random"."""

    def __post_init__(self) -> None:
        check_problem("Heteroscedastic", self.problem)
        checks.needs(
            checks.positive("Heteroscedastic", "ratio", self.ratio) >= 1,
            "Heteroscedastic",
            "ratio >= 1",
            self.ratio,
        )
        checks.one_of("Heteroscedastic", "where", self.where, PLACES)

    @property
    def name(self) -> str:
        return f"{self.problem.name}-noise-{self.where}-{self.ratio:g}"

    @property
    def title(self) -> str:
        return f"{self.problem.title}, noise 1:{self.ratio:g} ({self.where})"

    @property
    def description(self) -> str:
        most = {"high": "the best arms", "low": "the worst arms", "random": "random arms"}
        return (
            f"{self.problem.description}; the noise falls to 1/{self.ratio:g}, "
            f"and is largest at {most[self.where]}"
        )

    @property
    def dimension(self) -> int:
        return self.problem.dimension

    @property
    def noise(self) -> Noise:
        return self.problem.noise

    def instance(self, streams: Streams) -> Instance:
        still = self.problem.instance(streams)
        checks.needs(
            still.replicates is None,
            "Heteroscedastic",
            "a problem without replicates, whose noise is a law",
            self.problem.name,
        )
        return replace(still, name=self.name, noise_shares=self._shares(still, streams))

    def _shares(self, still: Instance, streams: Streams) -> Array:
        n = len(still.domain)
        keys = {
            "high": still.values,
            "low": -still.values,
            "random": streams.generator(RANKS).random(n),
        }[self.where]
        ranks = np.argsort(np.argsort(keys, kind="stable"), kind="stable")
        return np.asarray(1 / self.ratio + (1 - 1 / self.ratio) * ranks / max(1, n - 1))


def check_problem(owner: str, problem: Problem) -> None:
    still = hasattr(problem, "instance") and not hasattr(problem, "motion")
    checks.needs(still, owner, "a problem at rest", problem)
