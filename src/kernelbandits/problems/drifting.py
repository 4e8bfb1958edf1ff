"""Rewards that change with time: a function f_t for every round, from any problem."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.kernels import Kernel, as_kernel
from kernelbandits.posterior import LARGEST_JOINT
from kernelbandits.problems.base import Instance, freeze_values
from kernelbandits.problems.derived import DerivedProblem
from kernelbandits.problems.prior import KERNEL, GPFunction, prior_root
from kernelbandits.streams import Streams

Fresh = Callable[[int], Array]
"""t -> s g_t, g_t ~ GP(0, k) on the arms, drawn anew for every round t."""


@dataclass(frozen=True, eq=False)
class MovingInstance(Instance):
    """n arms whose mean rewards f_t change with the round.

    `values`, `optimum`, `best` and `gaps` are those of round 1.

    >>> import kernelbandits as kb
    >>> problem = kb.problem("drifting", problem="branin", motion=kb.problems.Jumps(10))
    >>> moving = problem.instance(kb.Streams(0))
    >>> [int(moving.at(t).argmax()) for t in (1, 10, 11, 21)]
    [26, 26, 2, 24]
    >>> moving.regrets([moving.best] * 12).round(2)[[0, 9, 10]]
    array([0.  , 0.  , 0.42])
    """

    path: Iterator[Array] = field(kw_only=True, repr=False)
    """f_2, f_3, ...; each is asked for once and kept."""
    _reached: list[Array] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._reached.append(self.values)

    def at(self, t: int) -> Array:
        """Return f_t over the arms."""
        checks.whole("MovingInstance", "round", t)
        while len(self._reached) < t:
            following = next(self.path, None)
            checks.needs(
                following is not None,
                "MovingInstance",
                f"f_t up to round {t}",
                f"{len(self._reached)} rounds",
            )
            self._reached.append(freeze_values(following, len(self.values)))
        return self._reached[t - 1]

    def pull(self, arm: int, u: float, t: int = 1) -> float:
        """Draw a reward of round t, with the noise, or the replicates, of round 1.

        Y_t = Y_1 + f_t(x_arm) - f_1(x_arm)
        """
        return super().pull(arm, u) + float(self.at(t)[arm] - self.values[arm])

    def regrets(self, arms: Any) -> Array:
        """Return max_x f_t(x) - f_t(x_t) for the arms of rounds t = 1, 2, ..."""
        return np.array(
            [float(f.max() - f[arm]) for f, arm in zip(self.rounds(len(arms)), arms, strict=True)]
        )

    @property
    def outside_theory(self) -> str:
        return "the problem changes from round to round"

    def mean_losses(self, horizon: int) -> Array:
        return np.array([f.max() - f.mean() for f in self.rounds(horizon)])

    def rounds(self, horizon: int) -> list[Array]:
        """Return f_1..f_T."""
        return [self.at(t) for t in range(1, horizon + 1)]


class Motion(Protocol):
    """How the rewards of a problem change from round to round, from f_1 on.

    >>> import kernelbandits as kb
    >>> motions = [kb.problems.Markov(0.01), kb.problems.Turning(1000), kb.problems.Jumps(100)]
    >>> [motion.name for motion in motions]
    ['markov-0.01', 'turning-1000', 'jumps-100']
    """

    @property
    def kernel(self) -> Kernel: ...
    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str: ...
    @property
    def description(self) -> str: ...
    def path(self, first: Array, centre: float, fresh: Fresh) -> Iterator[Array]:
        """Yield f_2, f_3, ..., given f_1."""
        ...


@dataclass(frozen=True)
class Markov:
    """f_{t+1} = c + sqrt(1 - rate) (f_t - c) + sqrt(rate) s g_{t+1}, g iid GP(0, k).

    This is the model of TV-GP-UCB: a share `rate` of the variance is renewed in every round.

    >>> from itertools import islice
    >>> import numpy as np
    >>> from kernelbandits.problems import Markov
    >>> path = Markov(rate=0.19).path(np.array([1.0, 2.0]), 0.0, lambda t: np.zeros(2))
    >>> [f.round(3).tolist() for f in islice(path, 3)]
    [[0.9, 1.8], [0.81, 1.62], [0.729, 1.458]]
    """

    rate: float = 0.01
    kernel: Kernel = KERNEL
    """k, from which the new functions g are drawn."""

    def __post_init__(self) -> None:
        checks.chance("Markov", "rate", self.rate)
        as_kernel(self.kernel)

    @property
    def name(self) -> str:
        return f"markov-{self.rate:g}"

    @property
    def title(self) -> str:
        return f"drifting at rate {self.rate:g}"

    @property
    def description(self) -> str:
        return f"a share {self.rate:g} of its variance renewed each round"

    def path(self, first: Array, centre: float, fresh: Fresh) -> Iterator[Array]:
        lost, new, f = math.sqrt(1 - self.rate) - 1, math.sqrt(self.rate), first
        for t in count(2):
            f = f + (lost * (f - centre) + new * fresh(t))
            yield f


MARKOV = Markov()


@dataclass(frozen=True)
class Turning:
    """f_t = c + cos(a_t) (f_1 - c) + sin(a_t) s g, a_t = 2 pi (t - 1) / period, g ~ GP(0, k).

    The function turns smoothly into another one and back, once in `period` rounds.

    >>> from itertools import islice
    >>> import numpy as np
    >>> from kernelbandits.problems import Turning
    >>> path = Turning(period=4).path(np.array([1.0, 2.0]), 0.0, lambda t: np.array([5.0, 5.0]))
    >>> [f.round(3).tolist() for f in islice(path, 4)]
    [[5.0, 5.0], [-1.0, -2.0], [-5.0, -5.0], [1.0, 2.0]]
    """

    period: float = 1000.0
    kernel: Kernel = KERNEL
    """k, from which the new functions g are drawn."""

    def __post_init__(self) -> None:
        checks.positive("Turning", "period", self.period)
        as_kernel(self.kernel)

    @property
    def name(self) -> str:
        return f"turning-{self.period:g}"

    @property
    def title(self) -> str:
        return f"turning in {self.period:g} rounds"

    @property
    def description(self) -> str:
        return f"turned into another function and back in {self.period:g} rounds"

    def path(self, first: Array, centre: float, fresh: Fresh) -> Iterator[Array]:
        other = fresh(1)
        for t in count(2):
            angle = 2 * math.pi * (t - 1) / self.period
            yield first + ((math.cos(angle) - 1) * (first - centre) + math.sin(angle) * other)


@dataclass(frozen=True)
class Jumps:
    """f_t = c + s g_j in block j of `period` rounds, g_j iid GP(0, k); f_1 in the first block.

    The function is replaced by a new one every `period` rounds, as policies with restarts expect.

    >>> from itertools import islice
    >>> import numpy as np
    >>> from kernelbandits.problems import Jumps
    >>> path = Jumps(period=2).path(np.array([0.5]), 0.0, lambda t: np.array([float(t)]))
    >>> [f.tolist() for f in islice(path, 5)]
    [[0.5], [3.0], [3.0], [5.0], [5.0]]
    """

    period: int = 100
    kernel: Kernel = KERNEL
    """k, from which the new functions g are drawn."""

    def __post_init__(self) -> None:
        checks.whole("Jumps", "period", self.period)
        as_kernel(self.kernel)

    @property
    def name(self) -> str:
        return f"jumps-{self.period}"

    @property
    def title(self) -> str:
        return f"new every {self.period} rounds"

    @property
    def description(self) -> str:
        return f"another function every {self.period} rounds"

    def path(self, first: Array, centre: float, fresh: Fresh) -> Iterator[Array]:
        f = first
        for t in count(2):
            if (t - 1) % self.period == 0:
                f = centre + fresh(t)
            yield f


@dataclass(frozen=True)
class Drifting(DerivedProblem):
    """Any problem with rewards that change with time.

    f_1 is the function of the problem; c and s are its mean and standard deviation over the arms.

    A Gaussian process moves in its own units, c = 0 and s = 1: with its kernel and a Markov motion
    it is the model for which TV-GP-UCB is proved. Rewards have the noise of the problem, and regret
    is against max_x f_t(x). All that is random comes from the column "problem" of the streams,
    round by round, so a longer game begins like a shorter one.

    >>> import kernelbandits as kb
    >>> problem = kb.problem("drifting", problem="branin", motion=kb.problems.Markov(0.05))
    >>> problem.title
    'Branin (d = 2), drifting at rate 0.05'
    >>> moving = problem.instance(kb.Streams(0))
    >>> bool((moving.at(1) == moving.values).all()), bool((moving.at(2) == moving.values).all())
    (True, False)
    """

    motion: Motion = MARKOV
    """How it changes: `Markov`, `Turning`, `Jumps` or a `Motion` of your own."""

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.needs(hasattr(self.motion, "path"), "Drifting", "a motion", self.motion)

    @property
    def name(self) -> str:
        return f"{self.problem.name}-{self.motion.name}"

    @property
    def title(self) -> str:
        return f"{self.problem.title}, {self.motion.title}"

    @property
    def description(self) -> str:
        motion = f"{self.motion.description}, regret against the best of each round"
        return f"{self.problem.description}; {motion}"

    def instance(self, streams: Streams) -> MovingInstance:
        still = self.problem.instance(streams)
        centre, spread = self._units(still)
        path = self.motion.path(still.values, centre, self._fresh(still, spread, streams))
        return MovingInstance(
            self.name,
            still.domain,
            still.values,
            still.noise,
            still.replicates,
            noise_shares=still.noise_shares,
            path=path,
        )

    def _units(self, still: Instance) -> tuple[float, float]:
        """Return c and s."""
        if isinstance(self.problem, GPFunction):
            return 0.0, 1.0
        return float(still.values.mean()), float(still.values.std())

    def _fresh(self, still: Instance, spread: float, streams: Streams) -> Fresh:
        n = len(still.domain)
        checks.needs(n <= LARGEST_JOINT, "Drifting", f"at most {LARGEST_JOINT} arms", f"{n} arms")
        root = spread * prior_root(self.motion.kernel, still.domain)
        return lambda t: root @ streams.normal("problem", t, n)
