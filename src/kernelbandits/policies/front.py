"""The search for the front of several objectives, each learnt by a policy of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array, Indices
from kernelbandits.policies.acquisition import (
    KEY_DIGITS,
    LEAST_SD,
    NO_CHANCE,
    Acquisition,
    Feasibility,
    improvement_slopes,
    log_mean_exp,
    per_log_cost,
    reward_step,
    reward_step_slope,
    row_keys,
    standard_gaps,
)
from kernelbandits.policies.arm_scores import NOISELESS
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.hypervolume import (
    add_to_front,
    choose_reference,
    cut_above,
    find_front,
    hypervolume,
    hypervolume_share,
)
from kernelbandits.policies.outcomes import find_feasible, log_feasibility
from kernelbandits.policies.round import Round
from kernelbandits.posterior import SearchForm

if TYPE_CHECKING:
    from kernelbandits.policies.auto import Auto

MOST_OBJECTIVES = 4
"""A front of more objectives has too many places to choose from."""
ARMS_AT_ONCE = 2048
"""So many arms are scored at a time, which limits the memory."""

Moments = Sequence[tuple[Array, Array]]
"""Means and standard deviations of the members of each objective's posterior, (M, n) arrays."""


@dataclass(frozen=True, eq=False)
class Front:
    """The measured places among whose estimates none is better in all objectives.

    `Auto.front` returns it. Values are in the units of the rewards, a column for each objective.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> choices = kb.Choice(None, 4), kb.Choice(None, 7)
    >>> means, sds = np.array([[3.0, 1.0], [2.0, 2.0]]), np.full((2, 2), 0.1)
    >>> front = kb.policies.Front(choices, means, sds, reference=np.zeros(2))
    >>> [choice.arm for choice in front.choices], round(front.share, 3)
    ([4, 7], 0.833)
    """

    choices: tuple[Choice, ...]
    """The places, the best in the first objective first."""
    means: Array
    """(n, k): the estimates there."""
    sds: Array
    """(n, k): the standard deviations of these estimates."""
    reference: Array
    """(k,): what is worth nothing; unless given, the worst estimates less a tenth of the range."""

    @property
    def share(self) -> float:
        """The hypervolume as a share of the box between the reference and the best of each."""
        if not len(self.means) or (self.means.max(0) <= self.reference).any():
            return 0.0
        return hypervolume_share(self.means, self.reference, self.means.max(0))


class Pairs(NamedTuple):
    """The ends of the cells along one objective, each pair of ends once."""

    levels: Array
    """The finite ends, in order."""
    lower: Indices
    """(p,): the position of the lower end of each pair among the levels, ..."""
    upper: Indices
    """... and that of the upper end; the number of levels for infinity."""
    of_cell: Indices
    """(c,): which pair each cell has."""

    @classmethod
    def of(cls, lower: Array, upper: Array) -> Pairs:
        """Return the pairs of these cells."""
        ends, of_cell = np.unique(np.column_stack([lower, upper]), axis=0, return_inverse=True)
        levels = np.unique(ends[np.isfinite(ends)])
        low, high = np.searchsorted(levels, ends).T
        return cls(levels, low, high, of_cell.reshape(-1))


class FrontImprovement(Acquisition):
    r"""ln of the expected growth of the hypervolume that one reward of each objective brings,

    sum over cells (l, u) of prod_i (psi_i(l_i) - psi_i(u_i)),

    psi_i(a) = s_i h((mean_i - a) / s_i),   h(z) = phi(z) + z Phi(z),   s = v / sqrt(v + noise).

    The cells fill what lies above the reference and no place of the front dominates (`cut_above`).
    The objectives are independent, so that each cell is a product, and each factor is averaged over
    the members of its posterior. Differences and sums are those of logarithms: the score keeps its
    digits where the growth is too small for a float.
    """

    def __init__(self, values: Array, noises: Sequence[Array], reference: Array) -> None:
        self.reference, self.noises = reference, noises
        self.cells = cut_above(values, reference)
        self.volume = hypervolume(values, reference)
        ends = zip(self.cells.lower.T, self.cells.upper.T, strict=True)
        self._pairs = [Pairs.of(*both) for both in ends]

    @classmethod
    def over(
        cls,
        values: Array,
        noises: Sequence[Array],
        wide: bool = True,
        reference: Array | None = None,
    ) -> FrontImprovement:
        """Return the growth over the front of these values, above the reference.

        Without one it is the worst of all values, or of the front (`choose_reference`).
        """
        chosen = choose_reference(values, wide) if reference is None else reference
        return cls(values, noises, chosen)

    def log_growth(self, moments: Moments) -> Array:
        """Return the score at points with these means and sds of f."""
        return self.log_growth_by_steps(
            [
                (means, reward_step(sds**2, noise[:, None]))
                for (means, sds), noise in zip(moments, self.noises, strict=True)
            ]
        )

    def log_growth_by_steps(self, moments: Moments) -> Array:
        """Return the score where one reward changes the estimates by these sds."""
        total: Any = 0.0
        for pairs, (means, steps) in zip(self._pairs, moments, strict=True):
            logs = np.maximum(log_mean_exp(log_integrals(pairs, means, steps)[0]), NO_CHANCE)
            total = total + logs[pairs.of_cell]
        return np.maximum(log_sum_exp(total), NO_CHANCE)

    def derivatives_by_moments(self, moments: Moments) -> tuple[Array, list[tuple[Array, Array]]]:
        """Return the score, and for each objective its derivatives by means and sds of f."""
        total: Any = 0.0
        kept = []
        for pairs, (means, sds), noise in zip(self._pairs, moments, self.noises, strict=True):
            steps = reward_step(sds**2, noise[:, None])
            logs, by_mean, by_step = log_integrals(pairs, means, steps)
            mean_logs = np.maximum(log_mean_exp(logs), NO_CHANCE)
            shares = np.exp(np.minimum(logs - mean_logs, 700.0)) / len(logs)
            by_sd = by_step * reward_step_slope(sds, noise[:, None])[:, None]
            kept.append((shares * by_mean, shares * by_sd))
            total = total + mean_logs[pairs.of_cell]
        value = log_sum_exp(total)
        weights = np.exp(total - value)
        slopes = []
        for pairs, (by_mean, by_sd) in zip(self._pairs, kept, strict=True):
            of_pair = np.zeros((len(pairs.lower), weights.shape[1]))
            np.add.at(of_pair, pairs.of_cell, weights)
            slopes.append(((of_pair * by_mean).sum(1), (of_pair * by_sd).sum(1)))
        return np.maximum(value, NO_CHANCE), slopes

    def worth(self, scores: Array, mean: Array, costs: Array) -> Array:
        """Return ln of the growth for its cost; the cheapest arm costs 1."""
        return per_log_cost(scores, costs)

    def note(self, score: float, mean: float, units: Standard) -> dict[str, float]:
        """Return by what share of itself the hypervolume is expected to grow."""
        return {"growth": float(np.exp(min(score, 700.0)) / self.volume) if self.volume else 0.0}


def log_integrals(pairs: Pairs, means: Array, steps: Array) -> tuple[Array, Array, Array]:
    """Return ln(psi(l) - psi(u)) of every pair, and its derivatives by mean and step, (M, p, n)."""
    z, spread = standard_gaps(means[:, None], steps[:, None], pairs.levels[:, None])
    log_h, by_mean, by_step = improvement_slopes(z)
    certain = steps[:, None] <= LEAST_SD
    if certain.any():
        above = means[:, None] - pairs.levels[:, None]
        known = np.where(above > 0, np.log(np.where(above > 0, above, 1.0)), NO_CHANCE)
        log_h = np.where(certain, known, log_h + np.log(spread))
        by_mean, by_step = (np.where(certain, 0.0, one) for one in (by_mean, by_step))
    else:
        log_h = log_h + np.log(spread)
    last = np.full_like(log_h[:, :1], NO_CHANCE)
    log_h = np.concatenate([log_h, last], axis=1)
    none = np.zeros_like(last)
    by_mean, by_step = (np.concatenate([one, none], axis=1) for one in (by_mean, by_step))
    low, high = log_h[:, pairs.lower], log_h[:, pairs.upper]
    # Where both are NO_CHANCE, or a cell is too thin for a float, the logarithm is minus infinity.
    with np.errstate(divide="ignore"):
        gap = np.minimum(high - low, 0.0)
        logs = np.maximum(low + np.log(-np.expm1(gap)), NO_CHANCE)
    first, second = np.exp(np.minimum(low - logs, 700.0)), np.exp(np.minimum(high - logs, 700.0))
    slopes = (
        (first * one[:, pairs.lower] - second * one[:, pairs.upper]) / spread
        for one in (by_mean, by_step)
    )
    by_mean, by_step = (np.where(logs > NO_CHANCE, one, 0.0) for one in slopes)
    return logs, by_mean, by_step


def log_sum_exp(logs: Array) -> Array:
    """Return ln of the sum of exp(logs) over the rows."""
    return np.asarray(log_mean_exp(logs) + np.log(len(logs)))


class FrontSurface:
    """The expected growth of the hypervolume as a function of the point of a box."""

    sketch = None

    def __init__(self, posteriors: Sequence[Any], acquisition: FrontImprovement) -> None:
        self.forms = [SearchForm(posterior) for posterior in posteriors]
        self.acquisition = acquisition

    def values(self, rows: Array) -> Array:
        """Return the score at the rows."""
        return self.acquisition.log_growth([form.at(rows) for form in self.forms])

    def slopes(self, rows: Array) -> tuple[Array, Array]:
        """Return the score and its gradient, the sum of those through each posterior."""
        gradients: Array = np.zeros(rows.shape)

        def follow(known: Moments) -> tuple[Array, list[tuple[Array, Array]]]:
            """Evaluate the posteriors one inside the other: the score needs the moments of all."""
            if len(known) == len(self.forms):
                return self.acquisition.derivatives_by_moments(known)
            found: list[tuple[Array, list[tuple[Array, Array]]]] = []

            def score(means: Array, sds: Array) -> tuple[Array, Array, Array]:
                found.append(follow([*known, (means, sds)]))
                value, slopes = found[0]
                return value, *slopes[len(known)]

            gradients[:] += self.forms[len(known)].slopes(rows, score)[1]
            return found[0]

        return follow([])[0], gradients


class ObjectiveMoments(NamedTuple):
    """Means and variances of f under the members of one posterior, (M, n), and their noises."""

    means: Array
    variances: Array
    noises: Array


def score_growth(
    objectives: Sequence[ObjectiveMoments],
    seen: Indices,
    among: Indices,
    wide: bool = True,
    reference: Array | None = None,
) -> tuple[Array, FrontImprovement]:
    """Return ln of the growth that measuring an arm is expected to bring, and what is meant by it.

    The front is that of the arms `among` those seen. For an arm that was seen it is the growth over
    the front of the others, less what the arm adds to that front already: its estimates may rise or
    fall. Without noise another reward changes nothing.
    """
    values = round_estimates([one.means for one in objectives])
    noises = [one.noises for one in objectives]
    whole = FrontImprovement.over(values[among], noises, wide, reference)
    moments = []
    for one in objectives:
        steps = reward_step(np.maximum(one.variances, 0.0), one.noises[:, None])
        steps[np.ix_(one.noises <= NOISELESS, seen)] = 0.0
        moments.append((one.means, steps))
    blocks = [slice(at, at + ARMS_AT_ONCE) for at in range(0, len(values), ARMS_AT_ONCE)]
    scores = np.concatenate(
        [whole.log_growth_by_steps([(m[:, at], s[:, at]) for m, s in moments]) for at in blocks]
    )
    unsettled = [bool((steps[:, seen] > LEAST_SD).any()) for _, steps in moments]
    if not any(unsettled):
        scores[seen] = NO_CHANCE
        return scores, whole
    for position in find_front(values[among]):
        arm = among[position]
        others = FrontImprovement(values[np.delete(among, position)], noises, whole.reference)
        here = [(m[:, [arm]], s[:, [arm]]) for m, s in moments]
        growth = np.exp(others.log_growth_by_steps(here)[0])
        gain = growth - add_to_front(values[arm], others.cells)
        scores[arm] = np.log(gain) if gain > 0 else NO_CHANCE
    return scores, whole


def round_estimates(means: Sequence[Array]) -> Array:
    """Return the estimates of the mixtures, (n, k), without the digits that are rounding.

    Otherwise places that are equal in one objective would dominate each other by rounding.
    """
    return np.round(np.column_stack([one.mean(0) for one in means]), KEY_DIGITS)


# ---------------------------------------------------------------- the policies


def view_posteriors(policy: Auto[Any], now: Round) -> list[Any]:
    """Return the posteriors of all objectives, with the rewards of pending places imagined."""
    pending = now.pending_places
    others = (one.posterior for one in policy.objectives)
    return [
        now.posterior,
        *(other.with_pending(pending) if pending else other for other in others),
    ]


def list_noises(policy: Auto[Any]) -> list[Array]:
    """Return the noise variances of the members of each objective's posterior."""
    return [one.learner.noises for one in (policy, *policy.objectives)]


def standardise_reference(policy: Auto[Any]) -> Array | None:
    """Return the reference that was given, in the units of the posteriors."""
    if policy.reference is None:
        return None
    every = zip((policy, *policy.objectives), policy.reference, strict=True)
    return np.array([float(one.units.standardise(value)) for one, value in every])


def score_arms(policy: Auto[Any], now: Round, seen: Indices, feasible: Indices) -> Any:
    """Return the scores of all arms, and the acquisition whose scores they are."""
    posteriors, noises = view_posteriors(policy, now), list_noises(policy)
    known = [
        ObjectiveMoments(one.means, one.variances, noise)
        for one, noise in zip(posteriors, noises, strict=True)
    ]
    return score_growth(known, seen, feasible, is_wide(now), standardise_reference(policy))


def score_rows(policy: Auto[Any], now: Round, rows: Array, seen: Indices, feasible: Indices) -> Any:
    """Return the scores of the rows of a space that is listed, and their acquisition."""
    known = []
    for one, noise in zip(view_posteriors(policy, now), list_noises(policy), strict=True):
        means, sds = one.members_at(rows)
        known.append(ObjectiveMoments(means, sds**2, noise))
    return score_growth(known, seen, feasible, is_wide(now), standardise_reference(policy))


def improve_front(policy: Auto[Any], now: Round) -> Acquisition:
    """Return the growth over the front of a box; where nothing is feasible, feasibility alone."""
    pending = now.pending_places
    rows = np.array([*measured_rows(policy), *pending])
    feasible = find_feasible(log_feasibility(policy.outcomes, rows, pending))
    if not len(feasible):
        return Feasibility()
    values = estimate_rows(view_posteriors(policy, now), rows[feasible])
    reference = standardise_reference(policy)
    return FrontImprovement.over(values, list_noises(policy), is_wide(now), reference)


def is_wide(now: Round) -> bool:
    """Tell whether a round looks at all that is dominated, and not between the ends of the front.

    Every second round does. Above the worst of all places much is to gain by places that are good
    in one objective and very bad in another: with three objectives a search that saw nothing else
    found little of the middle of the front. Above the worst of the front alone, one good place puts
    the ends of the front below the reference, and nobody looks for them.
    """
    return now.t % 2 == 0


def sort_points(policy: Auto[Any]) -> Array:
    """Return the points of a box that were measured, those of the front first."""
    rows = policy.rewards.points
    values = estimate_rows([one.posterior for one in (policy, *policy.objectives)], rows)
    front = find_front(values)
    return np.vstack([rows[front], np.delete(rows, front, axis=0)])


def estimate_rows(posteriors: Sequence[Any], rows: Array) -> Array:
    """Return the estimates of all objectives at some rows, (n, k)."""
    return round_estimates([one.members_at(rows)[0] for one in posteriors])


def measured_arms(policy: Auto[Any]) -> Indices:
    """Return the arms that have a reward of every objective, in order."""
    each = (one.learner.measured_arms() for one in (policy, *policy.objectives))
    return np.asarray(reduce(np.intersect1d, each), dtype=np.intp)


def measured_rows(policy: Auto[Any]) -> Array:
    """Return the points of a box that have a reward of every objective."""
    points = policy.rewards.points
    others = [{*row_keys(one.rewards.points)} for one in policy.objectives]
    keys = row_keys(points)
    return points[[all(key in some for some in others) for key in keys]]


def find_best_front(policy: Auto[Any]) -> Front:
    """Return the front of the estimates at the measured places that meet all limits."""
    finite = policy.finite
    places = measured_arms(policy) if finite else measured_rows(policy)
    every, given = (policy, *policy.objectives), policy.reference
    if not len(places):
        none = np.empty((0, len(every)))
        return Front((), none, none, np.array(given or np.zeros(len(every))))
    places = policy.select_feasible(places)
    posteriors = [one.posterior for one in every]
    if finite:
        moments = [(one.mean[places], one.sd[places]) for one in posteriors]
    else:
        moments = [one.at(places) for one in posteriors]
    values = np.round(np.column_stack([mean for mean, _ in moments]), KEY_DIGITS)
    front = find_front(values)
    front = front[np.argsort(-values[front, 0], kind="stable")]
    units = [one.units for one in every]
    pairs = list(zip(units, moments, strict=True))
    means = np.column_stack([unit.original(one) for unit, one in zip(units, values.T, strict=True)])
    sds = np.column_stack([unit.original_sd(mean, sd) for unit, (mean, sd) in pairs])
    chosen = places[front]
    named = chosen.tolist() if finite else [policy.domain.decode(row) for row in chosen]
    choices = tuple(policy.choice(one) for one in named)
    reference = choose_reference(means) if given is None else np.array(given)
    return Front(choices, means[front], sds[front], reference)
