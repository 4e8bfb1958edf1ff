"""A generator of the gest-api standard, for Xopt, optimas and libEnsemble.

>>> from gest_api.vocs import VOCS
>>> from kernelbandits.gest import KernelBanditGenerator
>>> vocs = VOCS(variables={"x": [-1.0, 1.0]}, objectives={"f": "MINIMIZE"})
>>> generator = KernelBanditGenerator(vocs, seed=1)
>>> for _ in range(10):
...     points = generator.suggest(1)
...     generator.ingest([{**point, "f": (point["x"] - 0.3) ** 2} for point in points])
>>> abs(generator.suggest(1)[0]["x"] - 0.3) < 0.2
True

`pip install ".[gest]"` brings gest-api.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from kernelbandits import checks, runtime

runtime.require("gest_api", extra="gest", owner="kernelbandits.gest")

from gest_api import Generator  # noqa: E402
from gest_api.vocs import (  # noqa: E402
    VOCS,
    ContextualVariable,
    ContinuousVariable,
    DiscreteVariable,
    MaximizeObjective,
    MinimizeObjective,
)

from kernelbandits.domains import MixedBox, Real  # noqa: E402
from kernelbandits.domains.entries import as_choices  # noqa: E402
from kernelbandits.domains.variables import Variable  # noqa: E402
from kernelbandits.policies import Auto, Choice  # noqa: E402

__all__ = ["KernelBanditGenerator"]

IDENTIFIER = "_id"
"""The key under which a suggestion has its number, as the standard names it."""


class KernelBanditGenerator(Generator):
    """Suggest points as `kb.Auto(goal="find")` does; take results in any order.

    Variables are ranges and sets of values (numbers in a set have an order). There is one
    objective, "MINIMIZE" or "MAXIMIZE". Constants are passed on, observables are not used.
    Constraints and contextual variables are refused. Every suggestion has an `_id`. A result with
    it belongs to that suggestion; one without it, at any point, is learnt as well. A result that is
    no finite number counts as failed.

    Parameters
    ----------
    vocs
        The variables and the objective.
    seed
        Of all random choices.
    noise
        The standard deviation of one result, if it is known.
    batch
        How many points `suggest()` returns.

    Examples
    --------
    >>> from gest_api.vocs import VOCS
    >>> from kernelbandits.gest import KernelBanditGenerator
    >>> vocs = VOCS(variables={"x": [0.0, 1.0], "n": {1, 2, 3}}, objectives={"f": "MAXIMIZE"})
    >>> generator = KernelBanditGenerator(vocs, batch=2)
    >>> points = generator.suggest()
    >>> [sorted(point) for point in points]
    [['_id', 'n', 'x'], ['_id', 'n', 'x']]
    >>> generator.ingest([{**points[0], "f": 0.4}])
    """

    returns_id = True

    def __init__(
        self, vocs: VOCS, *, seed: int = 0, noise: float | None = None, batch: int = 1
    ) -> None:
        super().__init__(vocs)
        self.vocs = vocs
        self.batch = checks.whole("KernelBanditGenerator", "batch", batch)
        (self.objective,) = vocs.objective_names
        minimised = isinstance(vocs.objectives[self.objective], MinimizeObjective)
        self.sign = -1.0 if minimised else 1.0
        self.constants = {name: one.value for name, one in vocs.constants.items()}
        space = MixedBox({name: as_variable(name, one) for name, one in vocs.variables.items()})
        self.policy = Auto(space, goal="find", noise=noise, seed=seed)
        self.pending: dict[int, Choice] = {}
        """The suggestions without a result, by their numbers."""
        self.suggested = 0
        """How many suggestions there were."""

    def _validate_vocs(self, vocs: VOCS) -> None:
        owner = "KernelBanditGenerator"
        checks.needs(len(vocs.objectives) == 1, owner, "one objective", vocs.objective_names)
        (objective,) = vocs.objectives.values()
        plain = isinstance(objective, (MinimizeObjective, MaximizeObjective))
        checks.needs(plain, owner, "an objective to minimise or maximise", objective)
        checks.needs(not vocs.constraints, owner, "no constraints", vocs.constraint_names)
        for name, variable in vocs.variables.items():
            as_variable(name, variable)

    def suggest(self, num_points: int | None = None) -> list[dict[str, Any]]:
        """Return points to evaluate, each different from those whose results are awaited."""
        number = self.batch if num_points is None else num_points
        count = checks.whole("suggest", "num_points", number)
        choices = self.policy.batch(count, pending=list(self.pending.values()))
        points = []
        for choice in choices:
            self.suggested += 1
            self.pending[self.suggested] = choice
            points.append({**choice.x, **self.constants, IDENTIFIER: self.suggested})
        return points

    def ingest(self, results: Sequence[Mapping[str, Any]]) -> None:
        """Learn results; if one of them cannot be used, none is learnt."""
        learnt, answered = [], []
        for result in results:
            number = result.get(IDENTIFIER)
            if number is not None:
                known = number in self.pending and number not in answered
                checks.needs(known, "ingest", "an _id that waits for a result", number)
                answered.append(number)
            learnt.append((self._choice(result), self._reward(result)))
        self.policy.tell_all(learnt)
        for number in answered:
            del self.pending[number]

    def _choice(self, result: Mapping[str, Any]) -> Choice:
        names = self.policy.domain.names
        missing = [name for name in names if name not in result]
        checks.needs(not missing, "ingest", f"values of {names}", dict(result))
        return self.policy.choice({name: result[name] for name in names})

    def _reward(self, result: Mapping[str, Any]) -> float | None:
        """Return the number that is maximised; None for a failure."""
        checks.needs(self.objective in result, "ingest", f"a value of {self.objective!r}", result)
        value = checks.to_number(result[self.objective])
        if value is None:
            got = checks.describe_value(result[self.objective])
            raise checks.NoNumber(f"ingest needs a number as {self.objective!r}, got {got}")
        return self.sign * value if math.isfinite(value) else None


def as_variable(name: str, variable: Any) -> Variable:
    """Return a variable of the standard as one of ours."""
    owner = "KernelBanditGenerator"
    contextual = isinstance(variable, ContextualVariable)
    checks.needs(not contextual, owner, f"{name!r} to be chosen", "a contextual variable")
    if isinstance(variable, ContinuousVariable):
        return Real(*variable.domain)
    discrete = isinstance(variable, DiscreteVariable)
    checks.needs(discrete, owner, f"a range or a set of values for {name!r}", variable)
    # A set has no order of its own: sorted, equal seeds give equal suggestions.
    return as_choices(name, sorted(variable.values, key=repr))
