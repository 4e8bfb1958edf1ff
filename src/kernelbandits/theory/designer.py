"""The exploration law that minimises the regret bound.

A regret bound depends on the exploration law through one factor:

    1 + C2 + C3    repaired bound
    1 + C2 + C3'   tight bound
    C2 + 2 C3      bound as printed in the paper

Everything else in the bound is made of gamma_T, R, D and T. The law with the smallest factor is
therefore the best one for the bound, whatever the kernel and the reward function are.

The answer is known in closed form. Let c = C1 = P(w >= 1). Then E max_t |w_t| >= 1 - (1 - c)^T and
E|w| >= c, hence

    1 + C2 + C3 >= 2 + (1 - (1 - c)^T) (1 + 1/c),

which decreases in c from three rounds on and equals 4 at c = 1. So no law has a smaller factor than
w = 1, which is UCB. Under a budget E|w| <= b < 1 we have c <= b, and no law has a smaller factor
than Ber(b), for which all these inequalities are equalities. docs/theory proves the same for the
other two factors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.exploration import Bernoulli, Categorical, Gaussian, Law, PointMass
from kernelbandits.theory.law_constants import Constants, constants

OBJECTIVES: Mapping[str, Callable[[Constants], float]] = {
    "repaired": lambda c: 1 + c.c2 + c.c3,
    "tight": lambda c: 1 + c.c2 + c.c3_tight,
    "printed": lambda c: c.c2 + 2 * c.c3,
}
FORMULAS = {"repaired": "1 + C2 + C3", "tight": "1 + C2 + C3'", "printed": "C2 + 2 C3"}
FAMILIES = ("any", "bernoulli", "categorical", "gaussian")

# With one or two rounds the lower bound above is not monotone in c, and the claim is not proved.
FEWEST_ROUNDS = 3
MOST_VALUES = 10_000
MEAN_ABS_NORMAL = math.sqrt(2 / math.pi)
"""E|N(0, 1)|"""
UCB_IS_BEST = "It is proved that no law has a smaller factor."
SCALES = (1.0, 1.5)
"""The best scale of N(0, scale^2) lies between 1.1 and 1.3 for 3 to 10^12 rounds."""


@dataclass(frozen=True)
class DesignedLaw:
    """The exploration law of a family that minimises the factor of a regret bound.

    `design` returns it.

    >>> import kernelbandits as kb
    >>> designed = kb.theory.design(1000, budget=0.5)
    >>> designed.name, round(designed.factor, 2), designed.mean_abs
    ('Ber(0.5)', 5.0, 0.5)
    >>> designed.law, designed.constants.c1
    (Bernoulli(p=0.5), 0.5)
    """

    law: Law
    """The law itself, to be given to a policy."""
    name: str
    """The law as formulas write it: Ber(0.4), N(0, 1.2^2)."""
    family: str
    """The laws among which it is the best."""
    horizon: int
    """Number of rounds T."""
    objective: str
    """Which factor is minimised: "repaired", "tight" or "printed"."""
    budget: float | None
    """Upper limit of E|w|, or None."""
    constants: Constants
    """C1, C2, C3 and C3' of the law over the horizon."""
    reason: str
    """Why no other law of the family is better."""

    @property
    def factor(self) -> float:
        """The minimised factor of the bound."""
        return OBJECTIVES[self.objective](self.constants)

    @property
    def mean_abs(self) -> float:
        """E|w|: how much the law explores on average."""
        return self.law.mean_abs

    @property
    def sentence(self) -> str:
        """What is minimised, by which law, and why no other law is better."""
        laws = "all laws" if self.family == "any" else f"the {self.family} laws"
        limit = "" if self.budget is None else f" with E|w| <= {self.budget:g}"
        return (
            f"Among {laws}{limit}, {self.name} minimises the factor {FORMULAS[self.objective]} "
            f"of the {self.objective} bound over {self.horizon} rounds: {self.factor:.4g}. "
            f"{self.reason}"
        )


def design(
    horizon: int,
    *,
    budget: float | None = None,
    family: str = "any",
    objective: str = "repaired",
    values: int = 4,
) -> DesignedLaw:
    """Return the exploration law that minimises the regret bound.

    Without a budget the answer is UCB, the point mass at 1: the bound never prefers a random
    weight. A budget limits how much is explored on average, E|w|; then the answer is a Bernoulli
    law. For the normal laws, which contain neither, the best scale is found numerically.

    A smaller bound does not mean a smaller regret: docs/theory compares both on three problems.

    Parameters
    ----------
    horizon
        Number of rounds T, at least 3.
    budget
        Largest E|w| that is allowed. None means no limit.
    family
        The laws to choose from. "any": all laws; "bernoulli": Ber(p); "categorical": laws on 1/K,
        2/K, ..., 1, with K from `values`; "gaussian": N(0, scale^2).
    objective
        Which bound is minimised: "repaired", "tight" or "printed". The answer depends on it in the
        family "gaussian" only.
    values
        K of the family "categorical".

    Examples
    --------
    >>> from kernelbandits.theory import design
    >>> design(1000).law
    PointMass(c=1.0)
    >>> answer = design(1000, budget=0.4)
    >>> answer.law, round(answer.factor, 6)
    (Bernoulli(p=0.4), 5.5)
    >>> design(1000, budget=0.4, family="categorical").name
    'the law P(w = 1) = 0.2, P(w = 1/4) = 0.8'
    """
    rounds = checks.whole("design", "horizon", horizon, least=FEWEST_ROUNDS)
    checks.one_of("design", "family", family, FAMILIES)
    checks.one_of("design", "objective", objective, OBJECTIVES)
    if budget is not None:
        budget = checks.positive("design", "budget", budget)
    limit = math.inf if budget is None else budget
    if family == "gaussian":
        law, name, reason = best_gaussian(limit, rounds, objective)
    elif family == "categorical":
        law, name, reason = best_categorical(limit, values)
    else:
        law, name, reason = best_of_all(limit, family)
    found = constants(law, rounds)
    return DesignedLaw(law, name, family, rounds, objective, budget, found, reason)


def bound_factor(exploration: Any, horizon: int, objective: str = "repaired") -> float:
    """Return the factor by which a law or a schedule of laws enters a regret bound.

    `horizon` is the number of rounds, and `objective` the bound, as for `design`.

    Examples
    --------
    >>> from kernelbandits import Bernoulli
    >>> from kernelbandits.theory import bound_factor
    >>> bound_factor(Bernoulli(0.5), 1000)
    5.0
    """
    checks.one_of("bound_factor", "objective", objective, OBJECTIVES)
    return OBJECTIVES[objective](constants(exploration, horizon))


def best_of_all(budget: float, family: str) -> tuple[Law, str, str]:
    """Return UCB, or Ber(b) under a budget b < 1. The Bernoulli laws contain both."""
    if budget >= 1:
        ucb: Law = PointMass(1.0) if family == "any" else Bernoulli(1.0)
        return ucb, "UCB (w = 1)", UCB_IS_BEST
    return (
        Bernoulli(budget),
        f"Ber({budget:g})",
        "It is proved that no law with this budget has a smaller factor: "
        "P(w >= 1) is at most E|w|, and the smallest possible factor decreases in P(w >= 1).",
    )


def best_categorical(budget: float, values: int) -> tuple[Law, str, str]:
    """Put all probability on 1 and, under a budget b < 1, on the smallest value 1/K.

    The factor decreases in P(w = 1). Of all laws on 1/K, ..., 1 with E|w| <= b, P(w = 1) is largest
    if the rest of the probability lies on 1/K: then P(w = 1) = (b - 1/K) / (1 - 1/K).
    """
    count = checks.whole("design", "values", values, least=2)
    checks.needs(count <= MOST_VALUES, "design", f"values <= {MOST_VALUES}", values)
    smallest = 1 / count
    needed = f"budget > 1/{count}, the smallest weight of the categorical laws"
    checks.needs(budget > smallest, "design", needed, budget)
    top = min((budget - smallest) / (1 - smallest), 1.0)
    law = Categorical((1 - top, *(0.0,) * (count - 2), top))
    if top == 1.0:
        return law, "UCB (w = 1)", UCB_IS_BEST
    return (
        law,
        f"the law P(w = 1) = {top:.6g}, P(w = 1/{count}) = {1 - top:.6g}",
        f"The factor decreases in P(w = 1), which is largest if the rest lies on 1/{count}. "
        f"Of all laws with this budget Ber({budget:g}) has the smallest factor.",
    )


def best_gaussian(budget: float, horizon: int, objective: str) -> tuple[Law, str, str]:
    """Return N(0, scale^2) at its best scale, or at the largest scale that E|w| <= b allows.

    E|w| = scale sqrt(2 / pi). The factor decreases in the scale up to the best scale and increases
    beyond it; the best scale has no closed form.
    """
    # Imported here because scipy.optimize takes half as long to import as all the rest of scipy.
    from scipy.optimize import minimize_scalar

    search = minimize_scalar(
        lambda scale: bound_factor(Gaussian(0.0, scale), horizon, objective),
        bounds=SCALES,
        method="bounded",
        options={"xatol": 1e-8},
    )
    best, largest = float(search.x), budget / MEAN_ABS_NORMAL
    scale = min(best, largest)
    how = "found numerically" if best <= largest else "the largest that the budget allows"
    _, winner, _ = best_of_all(budget, "any")
    laws = "no law" if budget == math.inf else "no law within the budget"
    return (
        Gaussian(0.0, scale),
        f"N(0, {scale:.4g}^2)",
        f"The scale is {how}. Outside this family {winner} has a smaller factor, "
        f"and it is proved that {laws} has a smaller one.",
    )
