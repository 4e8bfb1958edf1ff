"""The form of Generic-GP and most of its rivals: play the maximiser of mean + w_t width_t sd, w_t drawn each round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import argmax
from kernelbandits.exploration import Exploration, Law
from kernelbandits.policies.base import Choice
from kernelbandits.policies.fields import Field, Index, field_of, index_of
from kernelbandits.policies.searching import Ahead, Circumstances, Searching, Surveyed
from kernelbandits.streams import Randomness, Streams
from kernelbandits.widths import Width


@dataclass(frozen=True)
class Tables:
    """All that an index policy draws or looks up in rounds 1..T, as arrays for the compiled loop."""

    widths: Array
    """(T, 3): a_t, b_t, c_t"""
    weights: Array
    ties: Array


class IndexPolicy(Searching):
    """index_t(x) = mean(x) + w_t (a_t + sqrt(b_t + c_t L)) sd(x): a value (ridge, width, exploration) plays it."""

    width: Width
    exploration: Exploration
    weighs_costs = True

    def _set(self, width: Width, exploration: Any, **settings: Any) -> None:
        self.width = width
        self.exploration = Exploration.of(exploration)
        self.settings |= {
            "width": width.rule,
            "exploration": repr(self.exploration.source),
            **settings,
        }
        if self.exploration.arguments == 0:
            self._check_optimism(self.exploration.source)

    def index(self, t: int, weight: float = 1.0, points: Any = None) -> Array:
        """mean + weight * width_t * sd, over all arms; on a box at rows (x, context) that are given."""
        self._check_round(t)
        reach = checks.number("index", "weight", weight) * self.width_at(t)
        if self.finite and points is None:
            return self.posterior.mean + reach * self.posterior.sd
        checks.needs(points is not None, "index", f"points=rows on {self.domain}", points)
        return Index(self.posterior, reach).values(points)

    def width_at(self, t: int) -> float:
        """a_t + sqrt(b_t + c_t L), L of what was learnt so far."""
        return self.width(t, self.posterior.log_det)

    def _ask(self, t: int, randomness: Randomness, given: Circumstances) -> Choice:
        """Algorithm 1, lines 3-5: draw w_t, play the maximiser of the index over the arms that the round offers."""
        pending, context, arms, costs = given
        posterior = self.posterior
        ahead = None if type(pending) is tuple and not pending else self._ahead(pending)
        offer = None if arms is None and costs is None else self._offer(arms, costs)
        if not self.finite or context is not None:
            return self._search(
                t, randomness, ahead or self._ahead(()), field_of(self.domain, context, arms)
            )
        weight = self._weight(t, randomness, ahead.posterior if ahead else posterior)
        tie = randomness.uniform("tie", t)
        width, sd = self.width_at(t), (ahead.posterior if ahead else posterior).sd
        if ahead:
            width *= ahead.inflation
        index = posterior.mean + (weight * width) * sd
        arm = (
            offer.best(index, posterior.mean, self.ties, tie)
            if offer
            else argmax(index, self.ties, tie)
        )
        note = {
            "weight": weight,
            "width": width,
            "mean": posterior.mean.item(arm),
            "sd": sd.item(arm),
        }
        if offer:
            note |= offer.cost(arm)
        return Choice(self.domain.points[arm], arm, note | ahead.note if ahead else note)

    def _search(self, t: int, randomness: Randomness, ahead: Ahead, field: Field) -> Choice:
        """The same in a field without a list of arms that lasts."""
        history = self.exploration.uses_history
        weight = self._weight(
            t, randomness, Surveyed(ahead.posterior, field.survey) if history else None
        )
        tie, width = randomness.uniform("tie", t), self.width_at(t) * ahead.inflation
        spot = self._best(index_of(ahead.posterior, weight * width), field, self.ties, tie)
        return self._choice(
            spot, field, ahead.posterior, {"weight": weight, "width": width} | ahead.note
        )

    def _weight(self, t: int, randomness: Randomness, posterior: Any) -> float:
        """w_t from its law, which may look at the posterior."""
        law = self.exploration.law(t, posterior)
        if self.exploration.arguments:
            self._check_optimism(law)
        weight = law.draw(randomness.uniform("weight", t))
        if not math.isfinite(weight):
            raise ValueError(f"{law} needs a finite weight, got {weight!r}")
        return weight

    def tables(self, horizon: int, streams: Streams) -> Tables:
        """The numbers `ask` would use in rounds 1..horizon."""
        weights = self.exploration.weights(streams.uniforms("weight", horizon))
        checks.needs(
            bool(abs(weights).max(initial=0.0) < math.inf), "exploration", "finite weights", weights
        )
        for law, _, _ in self.exploration.runs(horizon):
            self._check_optimism(law)
        return Tables(self.width.table(horizon), weights, streams.uniforms("tie", horizon))

    def _check_optimism(self, law: Law) -> None:
        if law.optimism <= 0:
            text = (
                f"the optimism condition P(w >= 1) > 0 fails for {law}: no regret guarantee holds"
            )
            self._say_once(text, "optimism")
