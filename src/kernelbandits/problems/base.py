"""Instances, n arms with known mean rewards, and problems, which make an instance from a seed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD, Array
from kernelbandits.domains import Arms, Box, Contextual
from kernelbandits.problems.noise import Noise
from kernelbandits.streams import COLUMN, Streams

PROBLEM_BLOCK = 2**32 - 1
"""A block of the column "problem" that no round reaches."""


@dataclass(frozen=True, eq=False)
class Instance:
    """What is played in one seed: n arms, their mean rewards f(x_i), and the law of the noise.

    A pull of arm i gives the reward Y = f(x_i) + noise; rewards are to be maximised.

    Examples
    --------
    >>> from kernelbandits.domains import Arms
    >>> from kernelbandits.problems import GaussianNoise, Instance
    >>> two = Instance("two", Arms([[0.0], [1.0]]), [0.2, 0.7], GaussianNoise(0.1))
    >>> two.best, two.optimum
    (1, 0.7)
    """

    name: str
    """That of the problem."""
    domain: Any
    """What may be played: arms; of some problems a box, or arms beside a context."""
    values: Array = field(repr=False)
    """f(x_i), the mean reward of each arm."""
    noise: Noise
    """The law of the noise; with replicates, that of all residuals, whose R covers every arm."""
    replicates: tuple[tuple[float, ...], ...] | None = field(default=None, repr=False)
    """The measured rewards of each arm: a pull returns one of them; their mean is its value."""
    noise_shares: Array | None = field(default=None, repr=False, kw_only=True)
    """By how much the noise of each arm is smaller than `noise`, in [0, 1]; None if by nothing."""
    reference: float | None = field(default=None, kw_only=True, repr=False)
    """What regret is measured against; None for the greatest mean reward of the arms."""
    delay: int = field(default=0, kw_only=True, repr=False)
    """After how many further rounds a reward is known."""

    def __post_init__(self) -> None:
        arms = self.domain.domain if isinstance(self.domain, Contextual) else self.domain
        known = isinstance(arms, Arms if self.finite else (Arms, Box))
        checks.needs(known, "Instance", "Arms as domain", self.domain)
        checks.needs(isinstance(self.noise, Noise), "Instance", "a noise law", self.noise)
        count = len(arms) if isinstance(arms, Arms) else len(np.asarray(self.values))
        object.__setattr__(self, "values", freeze_values(self.values, count))
        if self.reference is not None:
            reached = self.reference >= float(self.values.max())
            needed = "a reference of at least the greatest value"
            checks.needs(reached, "Instance", needed, self.reference)
        if self.replicates is not None:
            check_replicates(self.replicates, self.values)
        if self.noise_shares is not None:
            shares = freeze_values(self.noise_shares, count)
            within = bool(((shares >= 0) & (shares <= 1)).all())
            checks.needs(within, "Instance", "noise_shares in [0, 1]", self.noise_shares)
            object.__setattr__(self, "noise_shares", shares)

    @property
    def finite(self) -> bool:
        """Whether a list of arms is all there is to play, in every round the same."""
        return True

    @property
    def outside_theory(self) -> str:
        """Why no regret bound is computed; "" where one may be."""
        if self.delay:
            return "its rewards come late"
        return "its regret is against more than the best arm" if self.reference is not None else ""

    @property
    def optimum(self) -> float:
        """f* = max_i f(x_i), or the reference of the regret."""
        return float(self.values.max()) if self.reference is None else self.reference

    @property
    def best(self) -> int:
        """The arm that attains f*; the lowest one on ties."""
        return int(self.values.argmax())

    @property
    def gaps(self) -> Array:
        """f* - f(x_i), the regret of one pull of each arm."""
        return self.optimum - self.values

    def regrets(self, arms: Any) -> Array:
        """Return what each pull of rounds 1, 2, ... lost against the best arm of its round."""
        return self.gaps[np.asarray(arms, dtype=np.intp)]

    def context(self, t: int) -> Array | None:
        """Return what is given in round t beside the choice, if anything is."""
        return None

    def number(self, choice: Any) -> int:
        """Return the number by which `pull` and `regrets` know a choice: that of its arm."""
        return int(choice.arm or 0)

    def recommended(self, policy: Any, t: int) -> int:
        """Return the number of what a policy recommends after round t."""
        return int(policy.recommend())

    def mean_losses(self, horizon: int) -> Array:
        """Return what an arm drawn uniformly loses on average, in each of the rounds 1..T."""
        return np.full(horizon, self.gaps.mean())

    def pull(self, arm: int, u: float, t: int = 1) -> float:
        """Draw a reward: with noise, or the replicate number floor(u * count) of that arm.

        Y = f(x_arm) + F^-1(u)

        The round t does not matter here; it does where the rewards change with time.
        """
        known = checks.is_whole(arm) and 0 <= arm < len(self.values)
        checks.needs(known, "pull", f"an arm in 0..{len(self.values) - 1}", arm)
        if self.replicates is None:
            share = 1.0 if self.noise_shares is None else float(self.noise_shares[arm])
            return float(self.values[arm]) + share * self.noise.draw(u)
        checks.needs(0 <= u < 1, "pull", "a uniform u in [0, 1)", u)
        return self.replicates[arm][int(u * len(self.replicates[arm]))]


class Problem(Protocol):
    """What an experiment is about: it makes an `Instance` for every seed.

    All that is random in an instance comes from the column "problem" of the streams.

    >>> import kernelbandits as kb
    >>> problem = kb.problem("branin", candidates=20)
    >>> problem.title, problem.dimension, problem.noise.sub_gaussian
    ('Branin (d = 2)', 2, 0.01)
    >>> [len(problem.instance(kb.Streams(seed)).domain) for seed in (0, 1)]
    [20, 20]
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str:
        """The name in plots, e.g. "Hartmann (d = 6)"."""
        ...

    @property
    def description(self) -> str:
        """What the arms and rewards are, in a sentence for a report."""
        ...

    @property
    def dimension(self) -> int: ...
    @property
    def noise(self) -> Noise: ...
    def instance(self, streams: Streams) -> Instance: ...


def problem_generator(streams: Streams) -> np.random.Generator:
    """Return a fresh generator of the instance's own numbers: equal seeds, equal instances."""
    return streams.generator(COLUMN["problem"], PROBLEM_BLOCK)


def scale_to_unit(values: Any) -> Array:
    """Scale values to [0, 1]; constant values give zeros.

    (f - min f) / (max f - min f)

    >>> from kernelbandits.problems import scale_to_unit
    >>> scale_to_unit([2.0, 3.0, 6.0])
    array([0.  , 0.25, 1.  ])
    """
    array = check_rewards("scale_to_unit", values)
    low, spread = span(array)
    return (array - low) / spread


def span(values: Array) -> tuple[float, float]:
    """Return min f and max f - min f; a spread of zero is taken as one."""
    low, high = float(values.min()), float(values.max())
    return low, (high - low) or 1.0


def check_rewards(owner: str, values: Any) -> Array:
    """Return a copy of n >= 1 mean rewards, each finite and of size at most 1e150."""
    array = np.array(values, dtype=np.float64)
    checks.needs(
        array.ndim == 1 and array.size > 0, owner, "an array of n >= 1 values", array.shape
    )
    bad = np.flatnonzero(~(np.abs(array) <= LARGEST_REWARD))
    if len(bad):
        raise ValueError(
            f"{owner} needs finite values up to {LARGEST_REWARD:g}, "
            f"got {array[bad[0]]} at arm {bad[0]}"
        )
    return array


def freeze_values(values: Any, n: int) -> Array:
    array = check_rewards("Instance", values)
    checks.needs(len(array) == n, "Instance", f"one value for each of {n} arms", len(array))
    array.flags.writeable = False
    return array


def check_replicates(replicates: tuple[tuple[float, ...], ...], values: Array) -> None:
    """Check that each arm has replicates whose mean is its value.

    They agree to nine digits of the largest replicate.
    """
    checks.needs(
        len(replicates) == len(values),
        "Instance",
        f"replicates of {len(values)} arms",
        len(replicates),
    )
    for arm, (measured, value) in enumerate(zip(replicates, values, strict=True)):
        largest = float(np.abs(check_rewards(f"Instance, arm {arm},", measured)).max())
        mean = math.fsum(measured) / len(measured)
        checks.needs(
            abs(mean - value) <= 1e-9 * largest,
            "Instance",
            f"mean {value} of arm {arm}'s replicates",
            mean,
        )
