"""Any problem with its arms fixed for all seeds, or with its rewards standardised."""

from __future__ import annotations

from dataclasses import dataclass, replace

from kernelbandits import checks
from kernelbandits.problems.base import Instance, Problem
from kernelbandits.problems.noise import Noise
from kernelbandits.problems.perturbed import check_problem
from kernelbandits.streams import Streams


@dataclass(frozen=True)
class PreparedProblem:
    """A problem that is called as the one it is made from."""

    problem: Problem

    def __post_init__(self) -> None:
        check_problem(type(self).__name__, self.problem)

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
class FixedArms(PreparedProblem):
    """The arms and mean rewards of one seed, whatever the seed that plays them.

    >>> import kernelbandits as kb
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
class Standardised(PreparedProblem):
    """(f - mean) / sd over the arms. The noise stays as it is.

    >>> import kernelbandits as kb
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
