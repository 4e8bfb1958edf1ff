"""Generic-GP and most of its rivals: play the maximiser of mean + w_t width_t sd."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.exploration import Exploration, Law, PointMass
from kernelbandits.policies.acquisition import Surface, UpperConfidence
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Point
from kernelbandits.policies.round import Round
from kernelbandits.streams import Streams
from kernelbandits.widths import Width


@dataclass(frozen=True)
class IndexTables:
    """The widths, weights and ties of successive rounds, as arrays for a compiled loop."""

    widths: Array
    """(rounds, 3): a_t, b_t, c_t"""
    weights: Array
    ties: Array


class LocalPosterior:
    """A posterior seen only where a round may be played, for schedules that look at the history.

    `mean`, `sd` and `prior` are those of the arms of the round, or of the cover of a box; all else
    is the posterior's.
    """

    def __init__(self, posterior: Any, rows: Array) -> None:
        self._posterior = posterior
        self.mean, self.sd = posterior.at(rows)
        self.prior = posterior.kernel.diagonal(rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self._posterior, name)


class IndexPolicy(Policy[Point]):
    """Play the greatest index, the estimate plus a random multiple of its uncertainty.

    index_t(x) = mean(x) + w_t (a_t + sqrt(b_t + c_t L)) sd(x).

    A rule of this form is three values: a ridge, a width (a_t, b_t, c_t) and an exploration law
    from which the weight w_t is drawn. L = log det(I + K / ridge) of what was played.

    Parameters
    ----------
    domain, kernel, ridge, ties, horizon
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.SimpleUCB(kb.Arms([[0.0], [1.0]]), kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    >>> policy.tell(policy.choice(0), 0.9)
    >>> round(policy.width_at(2), 3)
    1.144
    >>> policy.index(2, weight=1.0).round(2), policy.index(2, weight=0.0).round(2)
    (array([1.26, 1.15]), array([0.45, 0.  ]))
    """

    plays_boxes = True
    restricts_arms = True
    imagines_pending = True
    weighs_costs = True
    compiled_loop = "index"

    width: Width
    exploration: Exploration

    def _set_rule(self, width: Width, exploration: Any, **settings: Any) -> None:
        """Set what the rule plays by, and record it with further settings."""
        self.width = width
        self.exploration = Exploration.of(exploration)
        source = repr(self.exploration.source)
        self.settings |= {"width": width.rule, "exploration": source, **settings}
        if self.exploration.arguments == 0:
            self._check_optimism(self.exploration.source)

    def _set_self_normalised(
        self, noise_scale: float, norm_bound: float, delta: float, exploration: Any
    ) -> None:
        """Play by the width D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L)."""
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        ridge = self.posterior.ridge
        width = widths.self_normalised(noise_scale, norm_bound, ridge, chance)
        self._set_rule(width, exploration, gain="realised")

    def acquisition(self, now: Round) -> UpperConfidence:
        """Draw w_t, and return the index mean + w_t width_t sd: Algorithm 1, lines 3-4."""
        width = self.width_at(now.t)
        return UpperConfidence(self._draw_weight(now, width), width * now.inflation)

    def index(self, t: int, weight: float = 1.0, points: Any = None) -> Array:
        """Return mean + weight * width_t * sd over all arms; on a box at the rows (x, context)."""
        self._check_round(t)
        acquisition = UpperConfidence(checks.number("index", "weight", weight), self.width_at(t))
        if self.finite and points is None:
            return acquisition.score_mixture(self.posterior.mean, self.posterior.sd)
        checks.needs(points is not None, "index", f"points=rows on {self.domain}", points)
        return Surface(self.posterior, acquisition, exact=True).values(points)

    def width_at(self, t: int) -> float:
        """Return a_t + sqrt(b_t + c_t L), L of what was learnt so far."""
        return self.width(t, self.posterior.log_det)

    def _draw_weight(self, now: Round, width: float) -> float:
        """Draw w_t from its law, which may depend on the posterior where the round is played."""
        exploration = self.exploration
        seen = None
        if exploration.uses_history:
            here = now.posterior
            seen = here if self.finite else LocalPosterior(here, now.place.survey)
        law = exploration.law(now.t, seen, width)
        if exploration.arguments:
            self._check_optimism(law)
        weight = law.draw(now.draw_weight())
        if not math.isfinite(weight):
            raise ValueError(f"{law} needs a finite weight, got {weight!r}")
        return weight

    def tables(self, horizon: int, streams: Streams, first: int = 1) -> IndexTables:
        """Return the numbers `ask` would use in rounds first..horizon."""
        if type(self.exploration.source) is PointMass:
            # The weight is the same for every uniform, and to draw them takes longer than all else.
            uniforms = np.zeros(horizon + 1 - first)
        else:
            uniforms = streams.uniforms("weight", horizon, first)
        weights = self.exploration.weights(uniforms, first)
        finite = bool(abs(weights).max(initial=0.0) < math.inf)
        checks.needs(finite, "exploration", "finite weights", weights)
        if self.exploration.arguments:
            for law, _, _ in self.exploration.runs(horizon, first):
                self._check_optimism(law)
        ties = streams.uniforms("tie", horizon, first)
        return IndexTables(self.width.table(horizon, first), weights, ties)

    def _check_optimism(self, law: Law) -> None:
        if law.optimism <= 0:
            condition = f"the optimism condition P(w >= 1) > 0 fails for {law}"
            self._warn_once(f"{condition}: no regret guarantee holds", "optimism")
