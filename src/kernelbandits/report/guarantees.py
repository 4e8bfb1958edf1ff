"""What the theory says of each policy that played: its bound beside its regret, its log-determinant below the ceiling.

All are means over the seeds, whose arms may differ: a bound holds for the arms of its seed, so the mean of the expected
regrets lies below the mean of the bounds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from kernelbandits import checks, widths
from kernelbandits.catalogue import UserPolicy
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Arms
from kernelbandits.experiment import Cell, CellResult, Results
from kernelbandits.experiment.premises import differences, misled
from kernelbandits.kernels import Kernel, Linear, as_kernel
from kernelbandits.policies import AMMUCB, IGPUCB, OFUL, GenericGP, Policy, WhitehouseUCB
from kernelbandits.policies.martingale_mixtures import ResidualBall
from kernelbandits.problems import Drifting, Instance, LowerBound
from kernelbandits.streams import Streams
from kernelbandits.theory import (
    GAINS,
    Constants,
    InformationGain,
    constants,
    growth,
    regret_bound,
    ucb_bound,
)
from kernelbandits.widths import Width

HORIZONS, ROUNDS = 7, 40
"""How many horizons have a bound, and how many rounds a log-determinant."""
ALIKE = 1.01
"""Ridges within this factor share a gamma."""
BANDED = (IGPUCB, WhitehouseUCB, AMMUCB, OFUL, ResidualBall)
"""Rules w = 1 whose band holds in all rounds at once with chance 1 - delta, for |f| <= D and R-sub-Gaussian noise."""

Gains = Sequence[InformationGain]
"""gamma at each horizon."""
Ceiling = Callable[[Arms, float], Gains]
"""(arms, ridge) -> gamma at each horizon"""


@dataclass(frozen=True)
class Proved:
    """Bounds of the regret at each horizon."""

    bound: Array
    """The least that is proved at the policy's own delta; it may exceed 2 D T."""
    trivial: Array
    """2 D T"""
    printed: Array | None
    """As the paper prints it, whose proof has a gap; for the Generic-GP family only."""

    @property
    def value(self) -> Array:
        """min(bound, 2 D T)"""
        return np.minimum(self.bound, self.trivial)

    @property
    def share(self) -> float:
        """The last bound by the last 2 D T: from 1 on it is vacuous."""
        return float(self.bound[-1] / self.trivial[-1])


@dataclass(frozen=True)
class Guarantee:
    """One policy on one problem; a bound only where one is proved."""

    policy: str
    rounds: Indices
    regret: Array
    """At these rounds."""
    log_det: Array
    """L_t = log det(I + K / ridge) of the arms played in rounds 1..t, by the kernel of the comparison."""
    horizons: Indices
    gain: Array
    """An upper bound of gamma at these horizons."""
    ridge: float
    proved: Proved | str
    """The bounds at these horizons, or why there are none."""
    delta: float | None = None
    """The chance with which the policy's band may fail; none where it has no such number."""
    least: float | None = None
    """What it loses at least, in expectation: for the Generic-GP family on the problem made for that."""


def guarantees(results: Results) -> dict[str, list[Guarantee]]:
    """Problem -> the guarantees of its policies; those that learn with no ridge, or a moving one, are left out."""
    with threadpool_limits(limits=1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {problem.name: on_problem(results, problem.name) for problem in results.problems}


def on_problem(results: Results, problem: str) -> list[Guarantee]:
    mine = [cell for cell in results.cells if cell.problem.name == problem]
    first = mine[0]
    instances = [first.problem.instance(Streams(seed)) for seed in first.seeds]
    played = [(cell, results.found[cell.key]) for cell in mine if ridge_of(results.found[cell.key])]
    ceiling = ceiling_of(
        first.kernel, spread(first.horizon, HORIZONS), [ridge_of(result) for _, result in played]
    )
    return [guarantee(cell, result, instances, ceiling) for cell, result in played]


def ridge_of(result: CellResult) -> float:
    """The ridge with which a policy learns; 0 where it is none, or one that moves."""
    ridge: Any = result.settings.get("ridge")
    return float(ridge) if checks.is_number(ridge) else 0.0


def delta_of(result: CellResult) -> float | None:
    delta: Any = result.settings.get("delta")
    return float(delta) if checks.is_number(delta) else None


def spread(horizon: int, count: int) -> Indices:
    """Rounds from 1 to T, evenly spread on a logarithmic axis."""
    return np.unique(np.geomspace(1, horizon, count).round().astype(np.int64))


def ceiling_of(kernel: Any, horizons: Indices, ridges: Sequence[float]) -> Ceiling:
    """gamma at the horizons, once for each set of arms and ridge; for a ridge hardly above another, that of the other.

    gamma falls as the ridge grows, so this is an upper bound still.
    """

    @cache
    def found(points: bytes, columns: int, ridge: float) -> Gains:
        return growth(kernel, np.frombuffer(points).reshape(-1, columns), horizons.tolist(), ridge)

    def ceiling(arms: Arms, ridge: float) -> Gains:
        least = min(other for other in ridges if ridge / ALIKE <= other <= ridge)
        return [
            replace(gain, ridge=ridge)
            for gain in found(arms.points.tobytes(), arms.dimension, least)
        ]

    return ceiling


def guarantee(
    cell: Cell, result: CellResult, instances: Sequence[Instance], ceiling: Ceiling
) -> Guarantee:
    rounds, ridge = spread(cell.horizon, ROUNDS), ridge_of(result)
    gains = [ceiling(instance.domain, ridge) for instance in instances]
    played = zip(instances, result.arms, strict=True)
    return Guarantee(
        cell.contender.label,
        rounds,
        result.regret.mean(0)[rounds - 1],
        np.mean(
            [log_dets(cell.kernel, one.domain, arms, rounds, ridge) for one, arms in played], axis=0
        ),
        np.array([gain.horizon for gain in gains[0]]),
        np.mean([[gain.upper for gain in row] for row in gains], axis=0),
        ridge,
        proved(cell, instances, gains),
        delta_of(result),
        least_regret(cell, result, instances[0]),
    )


def least_regret(cell: Cell, result: CellResult, instance: Instance) -> float | None:
    """The lower bound of the paper's Theorem 2 where its premises hold, else none."""
    problem = cell.problem
    if not isinstance(problem, LowerBound) or any(differences(cell, problem)):
        return None
    if cell.contender.is_own:
        return None
    rule = cell.contender.build(instance, cell.kernel)
    if not isinstance(rule, GenericGP) or any(misled(problem, dict(result.settings))):
        return None
    return problem.regret_bound(rule.exploration)


def log_dets(kernel: Any, domain: Arms, arms: Any, rounds: Iterable[int], ridge: float) -> Array:
    """L_t = log det(I + N^1/2 K N^1/2 / ridge), K of the distinct arms played in rounds 1..t, N their counts."""
    distinct, order = np.unique(np.asarray(arms), return_inverse=True)
    matrix = as_kernel(kernel)(domain.points[distinct], domain.points[distinct])
    return np.array(
        [log_det(matrix, np.bincount(order[:t], minlength=len(distinct)), ridge) for t in rounds]
    )


def log_det(matrix: Array, counts: Indices, ridge: float) -> float:
    played = counts > 0
    root = np.sqrt(counts[played])
    scaled = root[:, None] * matrix[np.ix_(played, played)] * root / ridge
    return float(np.linalg.slogdet(np.eye(len(root)) + scaled)[1])


def proved(cell: Cell, instances: Sequence[Instance], gains: Sequence[Gains]) -> Proved | str:
    """What is proved, or why nothing is."""
    if isinstance(cell.problem, Drifting):
        return "the problem changes from round to round"
    entry = cell.contender.entry
    if isinstance(entry, UserPolicy) or not issubclass(entry.constructor, (GenericGP, *BANDED)):
        return "none is computed for it"
    try:
        rules = [cell.contender.build(instance, cell.kernel) for instance in instances]
        check_kernel(rules[0], as_kernel(cell.kernel))
        laws = constants_of(rules[0], gains[0])
        found = [list(bounds(rule, row, laws)) for rule, row in zip(rules, gains, strict=True)]
    except ValueError as error:
        return str(error)
    bound, trivial, printed = np.mean(found, axis=0).T
    return Proved(bound, trivial, printed if laws else None)


def check_kernel(rule: Policy, kernel: Kernel) -> None:
    """OFUL learns with the linear kernel whatever the others do; gamma is that of the comparison's."""
    linear = isinstance(kernel, Linear) or not isinstance(rule, OFUL)
    checks.needs(linear, "the bound of a linear rule", "the linear kernel", kernel)


def constants_of(rule: Policy, gains: Gains) -> list[Constants]:
    """C1, C2, C3 at each horizon; none for a rule without a law."""
    return (
        [constants(rule.exploration, gain.horizon) for gain in gains]
        if isinstance(rule, GenericGP)
        else []
    )


def bounds(
    rule: Policy, gains: Gains, laws: Sequence[Constants]
) -> Iterator[tuple[float, float, float]]:
    """At each horizon: the least bound proved at the policy's own delta, 2 D T, and the bound as printed."""
    told = {name: rule.settings[name] for name in ("norm_bound", "ridge", "delta")}
    told["largest"] = float(rule.posterior.prior.max())
    if isinstance(rule, GenericGP):
        noise = rule.settings["noise_scale"]
        for law, gain in zip(laws, gains, strict=True):
            found = regret_bound(law, gain.horizon, gain, noise_scale=noise, **told)
            yield min(found.tight, found.repaired), found.trivial, found.printed
        return
    width = valid_width(rule)
    for gain in gains:
        ucb = ucb_bound(greatest(width, gain), gain.horizon, gain, **told)
        yield ucb.regret, ucb.trivial, np.nan


def valid_width(rule: Any) -> Width:
    """The width of a band that holds in all rounds at once; CMM's and DMM's lie within that of AMM."""
    gain = rule.settings.get("gain")
    checks.needs(gain in GAINS, "a regret bound", f"a gain in {GAINS}", gain)
    if isinstance(rule, ResidualBall):
        return widths.mixture(rule.noise_scale, rule.norm_bound, rule.posterior.ridge, rule.delta)
    return rule.width  # type: ignore[no-any-return]


def greatest(width: Width, gain: InformationGain) -> float:
    """max over the rounds of a_t + sqrt(b_t + c_t L), L <= 2 gamma."""
    a, b, c = width.table(gain.horizon).T
    return float((a + np.sqrt(b + c * 2 * gain.upper)).max())
