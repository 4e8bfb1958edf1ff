"""What a round offers: some of the arms only, and what they cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import argmax


@dataclass(frozen=True)
class Offer:
    """The arms among which a round is played, and what each of them costs, if that counts."""

    arms: Indices
    """Their numbers in the domain, in order."""
    costs: Array | None

    @classmethod
    def of(cls, n: int, arms: Any, costs: Any) -> Offer:
        """Of n arms those named, or all of them; with one cost for each of the n."""
        numbers = np.arange(n) if arms is None else numbers_of(arms, n)
        return cls(numbers, None if costs is None else costs_of(costs, n)[numbers])

    def best(self, index: Array, mean: Array, ties: str, u: float) -> int:
        """The number of the arm of the greatest index, or of the greatest value per cost where there are costs."""
        here = index[self.arms]
        values = here if self.costs is None else per_cost(here, mean[self.arms], self.costs)
        return int(self.arms[argmax(values, ties, u)])

    def cost(self, arm: Any) -> dict[str, float]:
        """What an arm of the offer costs, for the note."""
        return (
            {} if self.costs is None else {"cost": float(self.costs[self.arms.searchsorted(arm)])}
        )

    @property
    def cheaper(self) -> Indices:
        """The arms that cost no more than their median; all of them without costs."""
        return self.arms if self.costs is None else self.arms[self.costs <= np.median(self.costs)]


def per_cost(index: Array, mean: Array, costs: Array) -> Array:
    """(index - max mean) / cost where that is positive for some arm, else the index; the cheapest arm costs 1.

    It is what an arm may gain over the greatest estimate, for its price. Under a weight >= 0 no index is below its
    mean, so the greedy arm has a numerator >= 0; if there is nothing to gain anywhere, and under a negative weight, the
    index alone decides. No paper's rule, and nothing is claimed of it.
    """
    gain = index - mean.max()
    return gain * (costs.min() / costs) if gain.max() > 0 else index


def numbers_of(arms: Any, n: int) -> Indices:
    """Numbers of arms below n, at least one, none twice; in order."""
    given = whole_numbers(arms)
    bad = given[(given < 0) | (given >= n)]
    checks.needs(not len(bad), "ask", f"arms in 0..{n - 1}", next(iter(bad.tolist()), None))
    numbers = np.sort(given.astype(np.int64))
    twice = numbers[1:][numbers[1:] == numbers[:-1]]
    checks.needs(
        not len(twice), "ask", "arms that differ", f"{next(iter(twice.tolist()), None)} twice"
    )
    return numbers


def whole_numbers(arms: Any) -> Any:
    """A flat array of whole numbers, at least one; truth values are none."""
    if isinstance(arms, np.ndarray):
        whole = arms.dtype.kind in "iu" and arms.ndim == 1
    else:
        listed = isinstance(arms, Sequence) and not isinstance(arms, (str, bytes))
        whole = listed and all(type(arm) is int or checks.is_whole(arm) for arm in arms)
    checks.needs(
        whole and len(arms) > 0, "ask", "a list of arms by their whole numbers, at least one", arms
    )
    return np.asarray(arms)


def costs_of(costs: Any, n: int) -> Array:
    """One positive finite cost for each of n arms."""
    try:
        given = np.asarray(costs)
    except ValueError:
        given = np.empty(0)
    flat = given.shape == (n,) and given.dtype.kind in "fiu"
    checks.needs(flat, "ask", f"one cost for each of {n} arms, all numbers", costs)
    bad = given[~((given > 0) & np.isfinite(given))]
    checks.needs(not len(bad), "ask", "costs > 0, all finite", next(iter(bad.tolist()), None))
    return given.astype(np.float64)
