"""What every policy is: a domain, a posterior, a pure `ask` and a `tell`."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, TheoryWarning
from kernelbandits.domains import TIES, Arms, argmax, as_arms
from kernelbandits.policies.fields import is_open, row_of
from kernelbandits.posterior import Posterior, posterior_on, proved
from kernelbandits.streams import as_randomness

LEAST_RIDGE = 1e-8
"""Stands for the interpolation of rewards without noise."""
SEARCH = "by search; the theory takes it for exact, as it is on a finite cover"

Form = Callable[[Any, Arms, float], Posterior]
"""(kernel, arms, ridge) -> the posterior a policy learns with."""


@dataclass(frozen=True, eq=False, slots=True)
class Choice:
    """What to play: the point, its number among the arms, and why."""

    x: Any
    arm: int | None = None
    note: Mapping[str, float] = field(default_factory=dict)
    """What `tell` and the reader will want to know, e.g. the weight drawn; an empty note is valid."""
    context: Any = None
    """What was given in the round beside the choice."""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Choice):
            return NotImplemented
        same = self.arm == other.arm and self.note == other.note and np.array_equal(self.x, other.x)
        return same and np.array_equal(self.context, other.context)

    __hash__ = None  # type: ignore[assignment]


class Policy:
    """A rule that plays one arm a round. `ask` is pure; only `tell` changes anything."""

    searches = False
    """Whether it plays anywhere in a box; a rule that does not plays on a declared cover."""
    domain: Any
    """Arms; for a rule that searches also a Box, a MixedBox or a Contextual."""

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        ridge: float,
        ties: str,
        horizon: int | None = None,
        form: Form = posterior_on,
    ) -> None:
        name = type(self).__name__
        self.domain = domain if is_open(name, domain, self.searches) else as_arms(domain)
        self.finite = isinstance(self.domain, Arms)
        self.ties = checks.one_of(name, "ties", ties, TIES)
        self.horizon = None if horizon is None else checks.whole(name, "horizon", horizon)
        self.posterior = form(kernel, self.domain, ridge)
        self.settings: dict[str, Any] = {
            "ridge": self.posterior.ridge,
            "ties": ties,
            "horizon": horizon,
        }
        if not self.finite:
            self.settings |= {"domain": repr(self.domain), "argmax": SEARCH}
        elif self.domain.origin:
            self.settings["cover"] = self.domain.origin
        self._said: set[str] = set()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, {self.posterior.events} rewards)"

    def ask(self, t: int, rng: Any) -> Choice:
        """The choice of round t (rounds count from 1), drawn from a `Streams` or a numpy Generator."""
        raise NotImplementedError

    def tell(self, choice: Choice, reward: float) -> None:
        """Learn the reward of a choice; a refused one changes nothing."""
        place = self._told(choice)
        self._learn(place, checks.reward(reward), choice.note)
        self._settle()

    def learn_all(self, pairs: Sequence[tuple[Choice, float]]) -> None:
        """Learn many rewards: the state is that of telling them one after the other, bit by bit.

        A pair that `tell` would refuse is refused in its place, in the same words; those before it are learnt.
        """
        try:
            for choice, reward in checked_pairs(pairs):
                place = self._told(choice)
                self._learn(place, checks.reward(reward), choice.note)
        finally:
            self._settle()

    def _told(self, choice: Choice) -> Any:
        """Where the reward of a choice belongs, if it is one with a note."""
        checks.needs(
            isinstance(choice, Choice), "tell", "a kb.Choice (policy.choice(arm) makes one)", choice
        )
        if type(choice.note) is not dict:
            checks.needs(
                isinstance(choice.note, Mapping), "tell", "a note of names and numbers", choice.note
            )
        return self._place_of(choice)

    def _learn(self, arm: Any, reward: float, note: Mapping[str, float]) -> None:
        """What a checked reward changes; an arm is its number, a point of a box the row that kernels see."""
        self.posterior.update(arm, reward)

    def _settle(self) -> None:
        """What follows from all that was learnt and need not be known in between."""

    def choice(self, arm: Any) -> Choice:
        """The choice of an arm nobody asked for, by its number."""
        number = checks.whole("choice", "arm", arm, least=0)
        checks.needs(number < len(self.domain), "choice", f"an arm below {len(self.domain)}", arm)
        return Choice(self.domain.points[number], number)

    @property
    def played_log_det(self) -> float:
        """log det(I + K / ridge) of all that was played: twice the realised information gain."""
        return self.posterior.log_det

    def recommend(self) -> Any:
        """The arm of the greatest estimate, the lowest on ties: the answer if the game ended now."""
        return int(self.posterior.mean.argmax())

    def _place_of(self, choice: Choice) -> Any:
        """Where the reward belongs: an arm's number, or the row of a point."""
        return (
            self._arm_of(choice) if self.finite else row_of(self.domain, choice.x, choice.context)
        )

    def _arm_of(self, choice: Choice) -> int:
        if type(choice.arm) is int and 0 <= choice.arm < len(self.domain):
            return choice.arm
        if choice.arm is not None:
            return int(self.choice(choice.arm).arm or 0)
        point = checks.points("tell", [choice.x])[0]
        checks.needs(
            len(point) == self.domain.dimension, "tell", "a choice among the arms", choice.x
        )
        matches = (self.domain.points == point).all(1).nonzero()[0]
        checks.needs(len(matches) > 0, "tell", "a choice among the arms", choice.x)
        return int(matches[0])

    def _fresh(self, points: Array | None = None) -> Posterior:
        """Another posterior of the same kernel and ridge, without data, on all arms or on these points."""
        where = self.domain if points is None else points
        return posterior_on(proved(self.posterior.kernel), where, self.posterior.ridge)

    def _why(self, arm: int) -> dict[str, float]:
        """The estimate of the arm chosen and its uncertainty, for the note."""
        return {
            "mean": float(self.posterior.mean[arm]),
            "sd": math.sqrt(max(float(self.posterior.variance[arm]), 0.0)),
        }

    def _say_once(self, text: str, subject: str | None = None) -> None:
        """Warn once of a subject, which is the text itself unless the text changes from round to round."""
        if (subject or text) not in self._said:
            self._said.add(subject or text)
            warnings.warn(f"{type(self).__name__}: {text}", TheoryWarning, stacklevel=4)

    def _check_round(self, t: int) -> None:
        if type(t) is not int or t < 1:
            checks.needs(checks.is_whole(t) and t >= 1, "ask", "a round t >= 1", t)
        if self.horizon is not None and t > self.horizon:
            self._say_once(
                f"asked beyond its horizon {self.horizon}; it goes on, its guarantee does not"
            )

    def _bounded(self, noise_scale: float, norm_bound: float, delta: float) -> float:
        """For R-sub-Gaussian noise, |f| <= D and confidence 1 - delta: checked, and written in the settings; delta."""
        self._check_theory(noise_scale, norm_bound)
        self.settings |= {"noise_scale": noise_scale, "norm_bound": norm_bound, "delta": delta}
        return checks.inside(type(self).__name__, "delta", delta)

    def _check_theory(self, noise_scale: float, norm_bound: float) -> None:
        """R, D >= 0 and k(x, x) <= 1; the policy runs without them, its guarantee does not."""
        name = type(self).__name__
        for symbol, label, value in (
            ("R", "noise_scale", noise_scale),
            ("D", "norm_bound", norm_bound),
        ):
            if checks.scale(name, label, value) == 0:
                self._say_once(f"{label} {symbol} = 0 makes its width degenerate")
        self._check_kernel()

    def _check_kernel(self) -> None:
        largest = float(self._prior_variances().max())
        if largest > 1 + 1e-9:
            hint = "scale the kernel or wrap it in kb.Normalised"
            self._say_once(f"its guarantee needs k(x, x) <= 1, got {largest:g}; {hint}")

    def _prior_variances(self) -> Array:
        """k(x, x) of all arms, of a box those of its cover, beside a context those known before it."""
        cover = getattr(self.domain, "cover", None)
        return self.posterior.kernel.diagonal(cover().points) if cover else self.posterior.prior


def checked_pairs(pairs: Any) -> Iterator[tuple[Any, Any]]:
    """The pairs one by one, each checked in its turn."""
    checks.needs(
        isinstance(pairs, Sequence), "learn_all", "a list of pairs (choice, reward)", pairs
    )
    for pair in pairs:
        checks.needs(
            isinstance(pair, tuple) and len(pair) == 2, "learn_all", "pairs (choice, reward)", pair
        )
        yield pair


class Maximiser(Policy):
    """Play the arm of the greatest index, whatever its form; ties by the declared rule."""

    def index(self, t: int) -> Array:
        """The index of every arm in round t; minus infinity for an arm that must not be played."""
        self._check_round(t)
        return self._index()

    def _index(self) -> Array:
        """By the rewards so far, whatever the round."""
        raise NotImplementedError

    def ask(self, t: int, rng: Any) -> Choice:
        self._check_round(t)
        tie = as_randomness(rng).uniform("tie", t)
        index = self._index()
        arm = argmax(index, self.ties, tie)
        return Choice(self.domain.points[arm], arm, {"index": float(index[arm]), **self._why(arm)})
