"""The form of Generic-GP and most of its rivals: play the maximiser of mean + w_t width_t sd, w_t drawn each round."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.domains import argmax
from kernelbandits.exploration import Exploration, Law
from kernelbandits.policies.base import Choice, Policy
from kernelbandits.streams import Streams, as_randomness
from kernelbandits.widths import Width


@dataclass(frozen=True)
class Tables:
    """All that an index policy draws or looks up in rounds 1..T, as arrays for the compiled loop."""

    widths: Array
    """(T, 3): a_t, b_t, c_t"""
    weights: Array
    ties: Array


class IndexPolicy(Policy):
    """index_t(x) = mean(x) + w_t (a_t + sqrt(b_t + c_t L)) sd(x): a value (ridge, width, exploration) plays it."""

    width: Width
    exploration: Exploration

    def _set(self, width: Width, exploration: Any, **settings: Any) -> None:
        self.width = width
        self.exploration = Exploration.of(exploration)
        self.settings |= {"width": width.rule, "exploration": repr(self.exploration.source), **settings}
        if self.exploration.arguments == 0:
            self._check_optimism(self.exploration.source)

    def index(self, t: int, weight: float = 1.0) -> Array:
        """mean + weight * width_t * sd, over all arms."""
        self._check_round(t)
        checks.number("index", "weight", weight)
        return self.posterior.mean + (weight * self.width_at(t)) * self.posterior.sd

    def width_at(self, t: int) -> float:
        """a_t + sqrt(b_t + c_t L), L of what was learnt so far."""
        return self.width(t, self.posterior.log_det)

    def ask(self, t: int, rng: Any) -> Choice:
        """Algorithm 1, lines 3-5: draw w_t, play the maximiser of the index."""
        self._check_round(t)
        randomness = as_randomness(rng)
        law = self.exploration.law(t, self.posterior)
        if self.exploration.arguments:
            self._check_optimism(law)
        weight = law.draw(randomness.uniform("weight", t))
        if not math.isfinite(weight):
            raise ValueError(f"{law} needs a finite weight, got {weight!r}")
        tie = randomness.uniform("tie", t)
        posterior = self.posterior
        width, sd = self.width_at(t), posterior.sd
        arm = argmax(posterior.mean + (weight * width) * sd, self.ties, tie)
        note = {"weight": weight, "width": width, "mean": float(posterior.mean[arm]), "sd": float(sd[arm])}
        return Choice(self.domain.points[arm], arm, note)

    def tables(self, horizon: int, streams: Streams) -> Tables:
        """The numbers `ask` would use in rounds 1..horizon."""
        weights = self.exploration.weights(streams.uniforms("weight", horizon))
        checks.needs(bool(abs(weights).max(initial=0.0) < math.inf), "exploration", "finite weights", weights)
        for law, _, _ in self.exploration.runs(horizon):
            self._check_optimism(law)
        return Tables(self.width.table(horizon), weights, streams.uniforms("tie", horizon))

    def _check_optimism(self, law: Law) -> None:
        if law.optimism <= 0:
            text = f"the optimism condition P(w >= 1) > 0 fails for {law}: no regret guarantee holds"
            self._say_once(text, "optimism")
