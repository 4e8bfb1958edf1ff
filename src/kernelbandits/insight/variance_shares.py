"""Which columns the estimates depend on: shares of the variance of the posterior mean."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.insight.model import FittedModel, fitted_model, require_model
from kernelbandits.insight.slices import list_variables, select_rows
from kernelbandits.policies import Policy
from kernelbandits.runtime import single_threaded

VALUES = 16
"""How many values of a column are tried; all of them, if there are no more."""
ROUNDING = 1e-12

Means = Callable[[Array], Array]
"""Rows of points -> the posterior mean of each member there, (members, rows)."""


@dataclass(frozen=True)
class Relevance:
    """How much of the variance of the posterior mean over the table is due to one column.

    The variance is that over values v of the column and rows r of the table, independent of each
    other, of m(r, v): the posterior mean of row r with v in place of its own value.

    `relevance` returns one for each column.

    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> points = np.array([[a, b] for a in (0.0, 0.5, 1.0) for b in (0.0, 0.5, 1.0)])
    >>> policy = kb.policies.Greedy(kb.Arms(points), kb.RBF(0.5), ridge=0.01)
    >>> for arm, (a, b) in enumerate(points):
    ...     policy.tell(policy.choice(arm), a)
    >>> found = kb.insight.relevance(policy)
    >>> [(name, round(column.alone, 2), round(column.share, 2)) for name, column in found.items()]
    [('x1', 1.0, 1.0), ('x2', 0.0, 0.0)]
    """

    alone: float
    """Var_v(mean_r m) / Var(m): the share that the column explains by itself."""
    share: float
    """mean_r(Var_v m) / Var(m): the share that the column takes part in, alone or together with
    others. 0 for a column without influence, 1 if no other column has any."""
    low: float
    """The least `share` among the fitted models that are averaged."""
    high: float
    """The greatest one."""

    def __post_init__(self) -> None:
        ordered = 0 <= self.alone <= self.share <= 1 and self.low <= self.share <= self.high
        given = (self.alone, self.share, self.low, self.high)
        checks.needs(ordered, "Relevance", "0 <= alone <= share <= 1, low <= share <= high", given)


def relevance(policy: Policy) -> dict[str, Relevance]:
    """Return how much each variable matters for the estimates of a policy, by its name.

    Variables without names are called x1, x2, ... The shares of the variance are taken over the
    arms, or over points spread over the space.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> auto = kb.Auto(kb.MixedBox({"heat": kb.Real(20, 90), "pH": kb.Real(3, 9)}))
    >>> for heat in (20, 40, 60, 80):
    ...     for pH in (3, 6, 9):
    ...         auto.tell(kb.Choice({"heat": heat, "pH": pH}), np.sin(heat / 20))
    >>> shares = kb.insight.relevance(auto)
    >>> shares["heat"].share > 0.9, shares["pH"].share < 0.1
    (True, True)
    """
    model = require_model("relevance", policy, fitted_model(policy))
    variables, domain = list_variables(policy.domain), policy.domain
    rows = domain.points if policy.finite else domain.cover().points
    shares = share_variance(model, rows, [variable.block for variable in variables])
    return {variable.name: share for variable, share in zip(variables, shares, strict=True)}


@single_threaded
def share_variance(
    model: FittedModel, rows: Array, blocks: Sequence[Sequence[int]] | None = None
) -> tuple[Relevance, ...]:
    """Return how much each column of a table matters for the posterior mean.

    Parameters
    ----------
    model
        The model whose posterior mean it is.
    rows
        The points of the candidates.
    blocks
        The coordinates of each column; by default every coordinate is a column.
    """
    means = model.posterior.member_means
    chosen = [(j,) for j in range(rows.shape[1])] if blocks is None else blocks
    return tuple(column_relevance(means, rows, block) for block in chosen)


def column_relevance(means: Means, rows: Array, block: Sequence[int]) -> Relevance:
    """Return the relevance of one column, whose coordinates are those in `block`.

    Shares of several models are ratios of averages over them: a model that explains nothing does
    not count. No random numbers are drawn: the same table and model give the same shares.
    """
    coordinates = list(block)
    values, weights = select_values(rows[:, coordinates])
    others = rows[select_rows(len(rows))]
    grid = np.repeat(others, len(values), axis=0)
    grid[:, coordinates] = np.tile(values, (len(others), 1))
    found = means(grid).reshape(-1, len(others), len(values))
    centred = found - (found.mean(1) @ weights)[:, None, None]
    alone = (centred.mean(1) ** 2) @ weights
    within = centred - (centred @ weights)[:, :, None]
    together = ((within**2) @ weights).mean(1)
    whole = ((centred**2) @ weights).mean(1)
    # What rounding alone makes of a constant is no variance.
    rounding = (ROUNDING * np.abs(found).max(initial=0.0)) ** 2
    if not together.mean() > rounding:
        return Relevance(0.0, 0.0, 0.0, 0.0)
    share = float(min(together.mean() / whole.mean(), 1.0))
    single = np.divide(together, whole, out=np.zeros_like(whole), where=whole > 0)
    return Relevance(
        alone=float(min(alone.mean() / whole.mean(), share)),
        share=share,
        low=float(min(single.min(), share)),
        high=float(min(max(single.max(), share), 1.0)),
    )


def select_values(cells: Array) -> tuple[Array, Array]:
    """Return values of a column and their weights: all of them, or those of evenly spaced ranks."""
    values, counts = np.unique(cells, axis=0, return_counts=True)
    if len(values) <= VALUES:
        return values, counts / counts.sum()
    ranked = cells[np.lexsort(cells.T[::-1])]
    middles = ((np.arange(VALUES) + 0.5) / VALUES * len(cells)).astype(int)
    return ranked[middles], np.full(VALUES, 1 / VALUES)
