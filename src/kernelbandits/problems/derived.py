"""Any problem with one thing changed: its function, its noise, its arms or its units."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.problems.base import Instance, Problem, span
from kernelbandits.problems.functions import SampledFunction
from kernelbandits.problems.noise import Noise
from kernelbandits.streams import Streams

SIGNS, RANKS = 41, 42
"""The streams of the deviations, and of the noise shares."""
PLACES = ("high", "low", "random")


@dataclass(frozen=True)
class DerivedProblem:
    """A problem that is made from another one, and is called as it unless it says otherwise."""

    problem: Problem

    changes_rewards: ClassVar[bool] = True
    """Whether what is made of the problem has other rewards or other arms."""

    def __post_init__(self) -> None:
        plain = not getattr(self.problem, "is_outermost", False)
        needed = "a problem that may be changed; write its changes inside"
        checks.needs(plain or not self.changes_rewards, type(self).__name__, needed, self.problem)
        at_rest = hasattr(self.problem, "instance") and not hasattr(self.problem, "motion")
        checks.needs(at_rest, type(self).__name__, "a problem at rest", self.problem)

    @property
    def name(self) -> str:
        return self.problem.name

    @property
    def title(self) -> str:
        return self.problem.title

    @property
    def dimension(self) -> int:
        return self.problem.dimension

    @property
    def noise(self) -> Noise:
        return self.problem.noise


@dataclass(frozen=True)
class Delayed(DerivedProblem):
    """Any problem whose rewards are known some rounds later.

    The reward of round t is told after the choice of round t + delay; until then the choice is
    pending, and policies are asked with it (`ask(..., pending=)`).

    >>> import kernelbandits as kb
    >>> late = kb.problem("delayed", problem="branin", delay=5)
    >>> late.title, late.instance(kb.Streams(0)).delay
    ('Branin (d = 2), rewards 5 rounds late', 5)
    """

    delay: int = 1

    is_outermost: ClassVar[bool] = True
    changes_rewards: ClassVar[bool] = False

    def __post_init__(self) -> None:
        playable = hasattr(self.problem, "instance") and not isinstance(self.problem, Delayed)
        checks.needs(playable, "Delayed", "a problem without a delay", self.problem)
        checks.whole("Delayed", "delay", self.delay)

    @property
    def name(self) -> str:
        return f"{self.problem.name}-delay-{self.delay}"

    @property
    def title(self) -> str:
        late = f"rewards {self.delay} round{'s' if self.delay > 1 else ''} late"
        return f"{self.problem.title}, {late}"

    @property
    def description(self) -> str:
        return f"{self.problem.description}; a reward is known {self.delay} rounds later"

    def instance(self, streams: Streams) -> Instance:
        return replace(self.problem.instance(streams), name=self.name, delay=self.delay)


@dataclass(frozen=True)
class TrueOptimum(DerivedProblem):
    """A test function on candidates, with the regret against the maximum on its whole box.

    The best candidate then has a regret, too: what the candidates cost. Rewards are the same.

    >>> import kernelbandits as kb
    >>> plain = kb.problem("branin").instance(kb.Streams(0))
    >>> true = kb.problem("true-optimum", problem="branin").instance(kb.Streams(0))
    >>> bool((plain.values == true.values).all())
    True
    >>> float(plain.gaps.min()), float(true.gaps.min().round(4))
    (0.0, 0.0381)
    """

    is_outermost: ClassVar[bool] = True

    def __post_init__(self) -> None:
        super().__post_init__()
        known = isinstance(self.problem, SampledFunction)
        needed = "a test function, such as branin or hartmann6"
        checks.needs(known, "TrueOptimum", needed, self.problem)

    @property
    def name(self) -> str:
        return f"{self.problem.name}-true-optimum"

    @property
    def title(self) -> str:
        return f"{self.problem.title}, true optimum"

    @property
    def description(self) -> str:
        return f"{self.problem.description}; regret against the maximum on the whole box"

    def instance(self, streams: Streams) -> Instance:
        plain = self.problem.instance(streams)
        problem = self.problem
        assert isinstance(problem, SampledFunction)
        low, spread = span(problem.reward(plain.domain.points)) if problem.scale else (0.0, 1.0)
        best = max((problem.optimum - low) / spread, plain.optimum)
        return replace(plain, name=self.name, reference=best)


@dataclass(frozen=True)
class Misspecified(DerivedProblem):
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

    error: float = 0.1
    """The size of the deviations, in the units of the rewards."""

    def __post_init__(self) -> None:
        super().__post_init__()
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
class Heteroscedastic(DerivedProblem):
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

    ratio: float = 10.0
    """The largest by the smallest standard deviation."""
    where: str = "high"
    """Which arms have the most noise: "high" or "low", by their values, or "random"."""

    def __post_init__(self) -> None:
        super().__post_init__()
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


@dataclass(frozen=True)
class FixedArms(DerivedProblem):
    """The arms and mean rewards of one seed, whatever the seed that plays them.

    >>> import kernelbandits as kb
    >>> from kernelbandits.problems import FixedArms
    >>> fixed = FixedArms(kb.problem("branin"), seed=7)
    >>> one, other = (fixed.instance(kb.Streams(seed)) for seed in (0, 1))
    >>> bool((one.values == other.values).all())
    True
    """

    seed: int = 0
    """The seed whose arms are played."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.whole("FixedArms", "seed", self.seed, 0)

    @property
    def description(self) -> str:
        return f"{self.problem.description}; the arms of seed {self.seed} in every run"

    def instance(self, streams: Streams) -> Instance:
        return self.problem.instance(Streams(self.seed))


@dataclass(frozen=True)
class Standardised(DerivedProblem):
    """Any problem with its rewards standardised, (f - mean) / sd over the arms. The noise stays.

    >>> import kernelbandits as kb
    >>> from kernelbandits.problems import Standardised
    >>> values = Standardised(kb.problem("branin")).instance(kb.Streams(0)).values
    >>> bool(abs(values.mean()) < 1e-9), float(values.std().round(9))
    (True, 1.0)
    """

    @property
    def description(self) -> str:
        return f"{self.problem.description}; rewards with mean 0 and sd 1 over the arms"

    def instance(self, streams: Streams) -> Instance:
        plain = self.problem.instance(streams)
        needed = "a problem without replicates"
        checks.needs(plain.replicates is None, "Standardised", needed, plain.name)
        spread = float(plain.values.std()) or 1.0
        return replace(plain, values=(plain.values - plain.values.mean()) / spread)
