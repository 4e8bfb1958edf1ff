"""Earlier results on some of the coordinates: what they predict is one more column of every row.

The results of an earlier study have scales, noise and a unit of their own. A model of them alone
predicts each row, and the kernel of the study sees the row with its predictions. So the fit decides
how much an earlier study counts as it does for any column: one that tells nothing gets a long
lengthscale.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.completion import Completion
from kernelbandits.calibration.evidence import Blocks
from kernelbandits.calibration.fitter import Fit, Fitter, positive_sides
from kernelbandits.calibration.prior import Prior
from kernelbandits.calibration.rewards import Rewards
from kernelbandits.calibration.sides import domain_blocks, domain_sides
from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.posterior import PointPosterior, SearchForm
from kernelbandits.posterior.base import accept_conditioning
from kernelbandits.runtime import single_threaded

DIGITS = 9
"""Predictions are rounded to so many digits behind the point, in spreads of the earlier results. A
row that is computed with others differs in its last bits from the same row computed alone."""


@dataclass(frozen=True, eq=False)
class EarlierResults:
    """Results of an earlier study, in the coordinates that it shares with a domain.

    `kb.Auto(domain, earlier=[...])` learns from them: what they predict becomes a column of its
    model. They do not count as rewards of the policy. A study makes them from `learn_from`.

    Parameters
    ----------
    points
        The rows of the earlier results in the coordinates of the domain, an (m, d) array. What
        stands in a coordinate that is not shared does not matter.
    rewards
        The m results, in units of their own. More must be better, as for every policy.
    shared
        The coordinates of the domain that the earlier results have; by default all.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> old = kb.calibration.EarlierResults([[0.0], [0.4], [0.6], [1.0]], [10, 30, 40, 20])
    >>> policy = kb.Auto(kb.Arms(np.linspace(0, 1, 11)[:, None]), earlier=[old], seed=1)
    >>> policy.ask().x.round(1)
    array([0.6])
    """

    points: Array
    rewards: Array
    shared: tuple[int, ...]

    def __init__(self, points: Any, rewards: Any, shared: Sequence[int] | None = None) -> None:
        owner = "EarlierResults"
        rows = checks.points(owner, points)
        values = np.array([checks.reward(value) for value in np.ravel(rewards)], dtype=np.float64)
        checks.needs(len(rows) == len(values), owner, "a reward for each point", len(values))
        given = range(rows.shape[1]) if shared is None else shared
        numbers = tuple(checks.whole(owner, "in every coordinate", j, least=0) for j in given)
        inside = 0 < len(set(numbers)) == len(numbers) and max(numbers) < rows.shape[1]
        checks.needs(inside, owner, f"different coordinates below {rows.shape[1]}", shared)
        for name, value in (("points", rows), ("rewards", values), ("shared", numbers)):
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @cached_property
    def digest(self) -> str:
        """The sha256 of points, rewards and shared coordinates."""
        parts = self.points.tobytes(), self.rewards.tobytes(), repr(self.shared).encode()
        return hashlib.sha256(b"".join(parts)).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EarlierResults) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)


class Prediction:
    """What earlier results predict at any row: the posterior mean under the most probable scales.

    It is in standardised units of the earlier results, transformed by a power if they are skewed.
    """

    def __init__(self, results: EarlierResults, blocks: Blocks, fitter: Fitter, fit: Fit) -> None:
        self.results, self.fit = results, fit
        self.columns = [j for block in blocks for j in block]
        """The coordinates of a row that it needs."""
        rewards = count_results(results, self.columns)
        made = PointPosterior(
            fitter.stack_of(fit, (fit.calibration,)),
            len(self.columns),
            [fit.calibration.noise_variance],
        )
        posterior = accept_conditioning(made)
        posterior.learn(rewards.points, rewards.counts, rewards.sums_in(fitter.units(fit)))
        self._form = SearchForm(posterior)
        known = np.ptp(self._form.at(rewards.points, sds=False)[0])
        self.side = float(known) if known > 10**-DIGITS else 1.0
        """How far the predictions of the earlier points lie apart, of which a lengthscale is a
        share."""
        self.is_flat = not known > 10**-DIGITS
        """Whether all predictions are about the same."""

    @single_threaded
    def __call__(self, rows: Array) -> Array:
        """Return what is predicted at each row."""
        means = self._form.at(rows[:, self.columns], sds=False)[0]
        return np.asarray(np.round(means[0], DIGITS) + 0.0)

    @single_threaded
    def slopes(self, rows: Array) -> Array:
        """Return the gradient of the prediction at each row, an (n, d) array."""
        gradients = np.zeros(rows.shape)

        def score(means: Array, sds: Array) -> tuple[Array, Array, Array]:
            return means[0], np.ones(means.shape), np.zeros(means.shape)

        found = self._form.slopes(rows[:, self.columns], score, sds=False)[1]
        gradients[:, self.columns] = found
        return gradients


def count_results(results: EarlierResults, columns: Sequence[int]) -> Rewards:
    """Return earlier results by distinct point in the shared coordinates."""
    rewards = Rewards()
    for row, value in zip(results.points[:, columns], results.rewards.tolist(), strict=True):
        rewards.add(row, value)
    return rewards


@lru_cache(maxsize=32)
@single_threaded
def predict_from(
    results: EarlierResults, blocks: Blocks, sides: tuple[float, ...], nu: float
) -> Prediction:
    """Return what earlier results predict, by a model of the columns that are shared completely.

    A process fits it once: a study builds its policy again after every change of a setting.
    """
    whole = [block for block in blocks if {*block} <= {*results.shared}]
    needed = "earlier results that share a column with the domain"
    checks.needs(bool(whole), "Auto", needed, results.shared)
    columns = [j for block in whole for j in block]
    places = {j: place for place, j in enumerate(columns)}
    own = tuple(tuple(places[j] for j in block) for block in whole)
    rewards = count_results(results, columns)
    # A domain states the sides of a category as they are, and `domain_sides` makes them longer.
    size = {j: len(block) for block in whole for j in block}
    own_sides = tuple(sides[j] / (math.sqrt(2) if size[j] > 1 else 1.0) for j in columns)
    domain = Arms(rewards.points, blocks=own, sides=own_sides)
    fitter = Fitter(domain, prior=Prior(), shared=False, nu=nu, transform=True)
    return Prediction(results, tuple(whole), fitter, fitter.fit(rewards))


def complete_rows(earlier: Sequence[EarlierResults], domain: Any, nu: float) -> Completion | None:
    """Return what makes rows of a domain longer by the predictions of earlier studies.

    None where there are none.
    """
    if not earlier:
        return None
    blocks, sides = domain_blocks(domain), positive_sides(domain_sides(domain))
    return Completion([predict_from(one, blocks, tuple(sides.tolist()), nu) for one in earlier])
