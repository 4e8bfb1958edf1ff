"""The working set: the arms of a very large pool among which `Auto` chooses until its next fit.

A mixture of eight posteriors over a million arms needs eight kernel values of each arm for every
distinct arm played. Above `LARGEST_POOL` arms the mixture is therefore kept for a working set of at
most `LARGEST_SET` arms, which is chosen again at each fit:

- every arm that was measured or has failed;
- 2/5 of the set: the most promising arms, by the expected improvement under the most probable
  scales, of a large random sample and of the neighbours, in fitted lengthscales, of the best arms
  measured and of the most promising arms of the sample;
- 1/5: the nearest of these neighbours, whatever they promise;
- the rest: random arms.

With more than 40 distinct arms measured the sample is smaller, with more than 30 the set: what a
fit costs is then the same.

It depends on the pool, the rewards, the fit and the seed alone, so a study is replayed exactly
(docs/decisions/0019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from kernelbandits.calibration import Rewards
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Arms
from kernelbandits.policies.acquisition import log_expected_improvement
from kernelbandits.streams import Streams

LARGEST_POOL = 100_000
"""Up to so many arms the posterior is kept for all of them."""
LARGEST_SET, SMALLEST_SET = 20_000, 4_000
"""How many arms a working set has, beside those added later."""
SAMPLE = 100_000
"""At most so many random arms are scored to find promising ones."""
KEPT, SCORED = 600_000, 4_000_000
"""The sizes of the set and of the sample times the number of distinct arms measured are at most
this: so many kernel values are computed of each member, and of the most probable one."""
CENTRES = 4
"""Neighbours are taken of so many measured arms, and of as many promising ones."""
NEIGHBOURS = 1_000
"""How many neighbours of each of them are scored."""
APART = 0.5
"""The least distance between two such centres, in lengthscales."""
FEWEST_SHARE = 0.25
"""An ask that may play less than this share of the set has a working set of its own."""
BLOCK = 2_000
"""So many points are predicted at a time: their kernel values stay in the cache."""
KEY = tuple(map(ord, "working set"))
"""What tells the random numbers of working sets from all others of a seed."""


@dataclass(frozen=True, eq=False)
class WorkingSet:
    """Some arms of a pool, at different points.

    >>> import kernelbandits as kb
    >>> pool = kb.Arms([[0.0], [0.2], [0.4], [0.6]])
    >>> few = WorkingSet(pool, np.array([1, 3]))
    >>> few.arms.points.tolist(), few.positions([3, 0]).tolist()
    ([[0.2], [0.6]], [1, -1])
    >>> few.add([0]).numbers.tolist()
    [1, 3, 0]
    """

    pool: Arms
    numbers: Indices
    """The numbers of its arms in the pool, in increasing order; then those added, in turn."""
    grown: bool = False
    """Whether arms were added since it was chosen."""

    def __len__(self) -> int:
        return len(self.numbers)

    @cached_property
    def arms(self) -> Arms:
        """The arms of the set, numbered by their positions 0, 1, ..."""
        return Arms(self.pool.points[self.numbers], blocks=self.pool.blocks)

    @cached_property
    def _order(self) -> tuple[Indices, Indices]:
        """The positions in the order of their points, and the first arms at these points."""
        first = self.pool.index.first[self.numbers]
        order = np.argsort(first, kind="stable")
        return order, first[order]

    def positions(self, arms: Sequence[int] | Indices) -> Indices:
        """Return the position of each arm of the pool, or of one at its point; -1 if none."""
        order, known = self._order
        wanted = self.pool.index.first[np.asarray(arms, dtype=np.intp)]
        place = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
        return np.where(known[place] == wanted, order[place], -1)

    def add(self, arms: Sequence[int]) -> WorkingSet:
        """Return the set with these arms, in turn; itself if it has them all."""
        outside = np.asarray(arms, dtype=np.intp)[self.positions(arms) < 0]
        if not len(outside):
            return self
        firsts = self.pool.index.first[outside]
        _, places = np.unique(firsts, return_index=True)
        return replace(self, numbers=np.append(self.numbers, outside[np.sort(places)]), grown=True)

    def allowed_positions(self, allowed: Indices) -> Indices:
        """Return the positions of those of its arms that are allowed, in order."""
        named = np.zeros(len(self.pool), dtype=np.bool_)
        named[allowed] = True
        return np.flatnonzero(named[self.numbers])

    def has_enough(self, allowed: Indices) -> bool:
        """Tell whether an ask that may play these arms of the pool finds enough of them here."""
        here = len(self.allowed_positions(allowed))
        enough = here >= FEWEST_SHARE * len(self)
        return enough or here == len(distinct_arms(self.pool, allowed))


def is_large(pool: Arms) -> bool:
    """Tell whether a pool needs a working set."""
    return len(pool) > LARGEST_POOL


class PoolFit(NamedTuple):
    """What the most probable scales say of a pool."""

    best: Array
    """The points measured, the best estimate first."""
    lengthscales: Array
    """One for each coordinate."""
    promise: Callable[[Array], Array]
    """(points) -> how promising they are."""


class PoolKnowledge(NamedTuple):
    """What is known of a pool when a working set is chosen."""

    tried: Sequence[int]
    """The arms that were measured or have failed."""
    events: int
    """The number of rewards."""
    fit: PoolFit | None = None
    """None before the first reward."""


def know_pool(
    pool: Arms, rewards: Rewards, failed: Sequence[int], likely: Any, lengthscales: Array
) -> PoolKnowledge:
    """Return what is known of a pool with rewards.

    `likely` is the posterior of the points with rewards under the most probable scales alone.
    """
    points, best = rewards.points, float(likely.mean.max())

    def promise(rows: Array) -> Array:
        return log_expected_improvement(*predict_in_blocks(likely, rows), best)

    return PoolKnowledge(
        tried=[*pool.index.find(points).tolist(), *failed],
        events=rewards.events,
        fit=PoolFit(points[np.argsort(-likely.mean, kind="stable")], lengthscales, promise),
    )


def choose_working_set(
    pool: Arms, seed: int, known: PoolKnowledge, allowed: Indices | None = None
) -> WorkingSet:
    """Choose the working set of a pool, or of those arms that are allowed.

    Random arms are those with the least random numbers, of which each arm of the pool has one: the
    set changes little if few arms are allowed no longer.
    """
    uniforms = Streams(seed).generator(*KEY, known.events).random(len(pool))
    offered = distinct_arms(pool, allowed)
    chosen = np.zeros(len(pool), dtype=np.bool_)
    # Only the first offered arm at a point counts: the arms of a set are at different points.
    chosen[offered_at(pool, offered, known.tried)] = True
    size = set_size(0 if known.fit is None else len(known.fit.best))
    if len(offered) <= size:
        chosen[offered] = True
        return WorkingSet(pool, np.flatnonzero(chosen))
    if known.fit is not None:
        few = min(SAMPLE, max(SMALLEST_SET, SCORED // len(known.fit.best)))
        sample = offered[least_places(uniforms[offered], few)]
        chosen[promising_arms(pool, offered, sample, known.fit, size)] = True
    rest = offered[~chosen[offered]]
    missing = max(0, size - int(chosen.sum()))
    chosen[rest[least_places(uniforms[rest], missing)]] = True
    return WorkingSet(pool, np.flatnonzero(chosen))


def set_size(measured: int) -> int:
    """Return how many arms a working set has once so many distinct arms were measured."""
    return min(LARGEST_SET, max(SMALLEST_SET, 2 * measured, KEPT // max(1, measured)))


def promising_arms(
    pool: Arms, offered: Indices, sample: Indices, fit: PoolFit, size: int
) -> Indices:
    """Return the arms of a set of some size that its fit chooses: about 3/5 of it."""
    promise = fit.promise(pool.points[sample])
    ranked = pool.points[sample[np.argsort(-promise, kind="stable")[: LARGEST_SET // 5]]]
    centres = np.vstack([choose_centres(rows, fit.lengthscales) for rows in (fit.best, ranked)])
    near = nearest_arms(pool, offered, centres, fit.lengthscales)
    fresh = np.setdiff1d(near, sample)
    scored = np.append(sample, fresh)
    if len(fresh):
        promise = np.append(promise, fit.promise(pool.points[fresh]))
    best = scored[np.argsort(-promise, kind="stable")[: 2 * size // 5]]
    nearest = near[:, : size // (5 * len(centres))]
    return np.union1d(best, nearest)


def choose_centres(rows: Array, lengthscales: Array) -> Array:
    """Return the first of some points that are not close to those chosen before, at most `CENTRES`.

    The best points are often neighbours of each other, and so would be all centres.
    """
    scaled, chosen = rows / lengthscales, [0]
    distances = np.full(len(rows), np.inf)
    while len(chosen) < CENTRES:
        apart = np.square(scaled - scaled[chosen[-1]]).sum(1)
        distances = np.minimum(distances, apart)
        far = np.flatnonzero(distances > APART**2)
        if not len(far):
            break
        chosen.append(int(far[0]))
    return np.asarray(rows[chosen])


def distinct_arms(pool: Arms, allowed: Indices | None) -> Indices:
    """Return the first at each point, in order, of all arms or of those allowed."""
    numbers = np.arange(len(pool)) if allowed is None else np.asarray(allowed, dtype=np.intp)
    if pool.index.distinct == len(pool):
        return numbers
    _, places = np.unique(pool.index.first[numbers], return_index=True)
    return numbers[np.sort(places)]


def offered_at(pool: Arms, offered: Indices, arms: Sequence[int]) -> Indices:
    """Return for each of some arms the one offered at its point, or the first at its point."""
    wanted = pool.index.first[np.asarray(arms, dtype=np.intp)]
    found = np.arange(len(pool))
    found[pool.index.first[offered]] = offered
    return found[wanted]


def nearest_arms(pool: Arms, offered: Indices, centres: Array, lengthscales: Array) -> Indices:
    """Return the arms nearest to each of some points in lengthscales, a row each, nearest first."""
    # |x - c|^2 without |c|^2, which is the same for all arms. Differences from one of the centres
    # lose no digits where the coordinates are large numbers.
    origin = centres[0]
    places = (centres - origin) / lengthscales
    distances = np.empty((len(centres), len(offered)))
    for start in range(0, len(offered), BLOCK):
        some = slice(start, start + BLOCK)
        rows = (pool.points[offered[some]] - origin) / lengthscales
        distances[:, some] = np.einsum("ij,ij->i", rows, rows) - 2 * (places @ rows.T)
    near = []
    for one in distances:
        few = least_places(one, NEIGHBOURS)
        near.append(offered[few[np.argsort(one[few], kind="stable")]])
    return np.array(near)


def least_places(values: Array, number: int) -> Indices:
    """Return the places of the least values, in no order."""
    if number >= len(values):
        return np.arange(len(values))
    return np.argpartition(values, number)[:number] if number else np.empty(0, dtype=np.intp)


def predict_in_blocks(posterior: Any, points: Array) -> tuple[Array, Array]:
    """Return mean and sd at many points, of which some thousand are predicted at a time."""
    parts = [posterior.at(points[i : i + BLOCK]) for i in range(0, len(points), BLOCK)]
    mean, sd = (np.concatenate(part) for part in zip(*parts, strict=True))
    return mean, sd
