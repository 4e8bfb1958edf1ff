"""Rules that play on finitely many arms or anywhere in a box, in a context if there is one, with rewards pending."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array
from kernelbandits.domains import Box, Contextual, MixedBox
from kernelbandits.policies.base import Choice, Policy
from kernelbandits.policies.explanation import Explanation, chances, contenders
from kernelbandits.policies.fields import (
    MIDDLE,
    Field,
    Listed,
    Region,
    Spot,
    Surface,
    field_of,
    index_of,
    picked,
)
from kernelbandits.policies.offer import Offer
from kernelbandits.policies.stationary import lengthscales_of
from kernelbandits.streams import Randomness, as_randomness
from kernelbandits.theory.gains import Term, gain_name, gain_term
from kernelbandits.threads import single_threaded

FINITE_GAINS = ("greedy", "analytic")
MOST_INFORMATION = 700
"""Its exponential is a number still."""
INCUMBENTS = 500
"""A search starts from so many of the points played at the most."""


MARGIN = 0.1
"""On a box a point is the best if none is better by more than so much of the noise: its neighbours are as good."""


class Circumstances(NamedTuple):
    """Of a round: rewards that are still missing, its context, the arms that may be played and what all arms cost."""

    pending: Sequence[Choice]
    context: Any
    arms: Any
    costs: Any


class Ahead(NamedTuple):
    """What is known with the rewards of some choices pending."""

    posterior: Any
    """The same estimate, with the variances as if the pending rewards were there."""
    inflation: float
    """exp(I), I the information of the pending points given the rest: sd <= exp(I) (sd with them)."""
    note: dict[str, float]


class Surveyed:
    """A posterior of points looked at where a round may be played, for schedules that look at the history.

    `mean`, `sd` and `prior` are those of the arms of the round, or of the cover of a box; all else is the posterior's.
    """

    def __init__(self, posterior: Any, rows: Array) -> None:
        self._posterior = posterior
        self.mean, self.sd = posterior.at(rows)
        self.prior = posterior.kernel.diagonal(rows)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"{type(self).__name__} has no {name}")
        return getattr(self._posterior, name)


class Searching(Policy):
    """On a box the maximiser is searched for; beside a context only the arm or point is chosen.

    Choices whose rewards are `pending` take the variance down and leave the estimate (GP-BUCB, Desautels et al. 2014);
    the width is multiplied by exp(I), so that it holds as before.
    """

    searches = True
    foresees = True
    """Whether rewards may be pending; a rule that forgets cannot imagine one without forgetting another."""
    weighs_costs = False
    """Whether it takes what arms cost."""

    def ask(
        self,
        t: int,
        rng: Any,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
        costs: Any = None,
    ) -> Choice:
        """The choice of round t, beside a context and among the arms of the round where the domain has them.

        On a finite domain `arms` are the numbers of the arms that may be played in this round, in any order, and the
        choice is the maximiser of the same index over them. A choice keeps its number in the whole domain. Where a
        band holds on all arms in all rounds at once and the rule plays its upper end, the proof of its regret is one
        round at a time: it stands against the best arm allowed in each round, if what is allowed does not depend on
        rewards to come. Bounds of rules that draw a weight or a function, eliminate arms or reduce variance are stated
        for all arms only, and nothing is claimed of them here.

        `costs` has one cost > 0 for each arm of the domain: what may be gained over the greatest estimate is divided
        by it (`offer.per_cost`; no guarantee). Rules that do not take them (`weighs_costs`) refuse them.
        """
        self._check_round(t)
        return self._ask(t, as_randomness(rng), Circumstances(pending, context, arms, costs))

    def _ask(self, t: int, randomness: Randomness, given: Circumstances) -> Choice:
        raise NotImplementedError

    def batch(
        self,
        n: int,
        t: int,
        rng: Any,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
        costs: Any = None,
    ) -> tuple[Choice, ...]:
        """The choices of rounds t..t + n - 1, each with those before it pending.

        All have the same context, arms and costs. A batch may have an arm or a point more than once: under noise a
        repeat is a measurement like any other.
        """
        self._check_round(t)
        size = checks.whole("batch", "n", n)
        chosen = [*checked_choices(pending)]
        for number in range(size):
            chosen.append(
                self.ask(t + number, rng, pending=chosen, context=context, arms=arms, costs=costs)
            )
        return tuple(chosen[-size:])

    def choice(self, arm: Any, *, context: Any = None) -> Choice:
        """The choice of an arm nobody asked for, by its number, or of a point x of a box."""
        if isinstance(self.domain, Contextual):
            return Choice(*picked(self.domain.domain, arm), {}, self.domain.context(context))
        checks.needs(context is None, "choice", f"no context on {self.domain}", context)
        return Choice(*picked(self.domain, arm))

    def recommend(self, *, context: Any = None, arms: Any = None) -> Any:
        """The arm of the greatest estimate, the lowest on ties, or the point of a box: the answer if the game ended.

        On a finite domain `arms` are the numbers of those to choose among.
        """
        field = field_of(self.domain, context, arms)
        if self.finite and isinstance(field, Listed):
            return field.greatest(self.posterior.mean)
        spot = self._best(index_of(self.posterior, 0.0), field, "lowest", MIDDLE)
        return spot.x if spot.arm is None else spot.arm

    @property
    def units(self) -> Standard:
        """From the rewards' own units to those of the posterior, which are the same but for a policy that scales."""
        return Standard()

    @single_threaded
    def explain(self, choice: Choice, *, arms: Any = None) -> Explanation:
        """Why a choice: its estimate and the greedy one's by what is known now, and the chance of either to be best.

        Where arms come with every round, `arms` are those it was chosen among; without them it is compared with what
        was played, as that would be in its context.
        """
        checks.needs(isinstance(choice, Choice), "explain", "a kb.Choice", choice)
        place = (
            self.domain.points[self._place_of(choice)] if self.finite else self._place_of(choice)
        )
        field = self._field_of(choice, arms)
        rows = self._compared(place, field)
        mean, sd = self.posterior.at(rows)
        here, best = int((rows == place).all(1).argmax()), int(mean.argmax())
        kept = contenders(mean, sd, here)
        margin = MARGIN * self._noise_scale() if isinstance(field, Region) else 0.0
        shares = chances(mean[kept], self.posterior.covariance(rows[kept]), margin)
        share = dict(zip(kept.tolist(), shares.tolist(), strict=True))
        estimates = zip(
            self.units.original(mean[[here, best]]),
            self.units.spread * sd[[here, best]],
            strict=True,
        )
        (mean_here, sd_here), (mean_best, sd_best) = ((float(m), float(s)) for m, s in estimates)
        note = choice.note
        told = mean_here, sd_here, note.get("weight"), note.get("width")
        then = (
            bool(note.get("first")),
            int(note.get("pending", 0)),
            note.get("sd") if note.get("pending") else None,
        )
        greedy = self._shown(rows[best])
        return Explanation(
            choice.x, *told, greedy, mean_best, sd_best, share[here], share[best], len(kept), *then
        )

    def _noise_scale(self) -> float:
        """R in the units of the posterior, as the policy was given it; without it sqrt(ridge)."""
        given: Any = self.settings.get("noise_scale")
        return float(given) if checks.is_number(given) else math.sqrt(self.posterior.ridge)

    def _field_of(self, choice: Choice, arms: Any) -> Field:
        """Where the choice was made; of arms that nobody remembers, those played."""
        changing = isinstance(self.domain, Contextual) and checks.is_whole(self.domain.domain)
        if not changing or arms is not None:
            return field_of(self.domain, choice.context, arms)
        return Listed(
            self.posterior.points[:, : self.domain.coordinates], self.domain.context(choice.context)
        )

    def _compared(self, here: Array, field: Field) -> Array:
        """The choice and what may be better: arms, or the greedy point, a cover and the points played; sorted."""
        others = field.survey
        if isinstance(field, Region):
            spot = self._best(index_of(self.posterior, 0.0), field, "lowest", MIDDLE)
            others = np.vstack([spot.row[None], others, self._played(field)])
        return np.unique(np.vstack([here[None], others]), axis=0)

    def _shown(self, row: Array) -> Any:
        """The point of a row that kernels see."""
        if self.finite:
            return row
        if not isinstance(self.domain, Contextual):
            return self.domain.decode(row)
        inner, chosen = self.domain.domain, row[: self.domain.coordinates]
        return inner.decode(chosen) if isinstance(inner, (Box, MixedBox)) else chosen

    def _ahead(self, pending: Sequence[Choice]) -> Ahead:
        """The pending choices imagined."""
        if not checked_choices(pending):
            return Ahead(self.posterior, 1.0, {})
        checks.needs(
            self.foresees,
            "ask",
            f"nothing pending for {type(self).__name__}, which forgets",
            len(pending),
        )
        imagined = self.posterior.imagined([self._place_of(choice) for choice in pending])
        information = (imagined.log_det - self.posterior.log_det) / 2
        bound = f"pending points of information at most {MOST_INFORMATION}"
        checks.needs(information <= MOST_INFORMATION, "ask", bound, information)
        inflation = math.exp(information)
        return Ahead(imagined, inflation, {"pending": float(len(pending)), "inflation": inflation})

    def _offer(self, arms: Any, costs: Any) -> Offer | None:
        """What the round offers of a finite domain, where anything is said of it."""
        if arms is None and costs is None:
            return None
        self._check_costs(costs)
        return Offer.of(len(self.domain), arms, costs) if self.finite else None

    def _check_costs(self, costs: Any) -> None:
        if costs is not None:
            taken = self.weighs_costs and self.finite
            checks.needs(
                taken, "ask", f"no costs for {type(self).__name__} on {self.domain}", costs
            )

    @single_threaded
    def _best(self, surface: Surface, field: Field, ties: str, u: float) -> Spot:
        """The maximiser, searched for from the points played as well, those of the greatest estimate first."""
        scale = lengthscales_of(self.posterior.kernel, self.domain.dimension)
        return field.best(surface, ties, u, self._played(field), scale)

    def _played(self, field: Field) -> Array:
        """The points played as they would be in the context of the round, the best estimates first."""
        here: Array = self.posterior.points.copy()
        if field.context is not None:
            here[:, here.shape[1] - len(field.context) :] = field.context
        mean = index_of(self.posterior, 0.0).values(here)
        return here[np.argsort(-mean, kind="stable")][:INCUMBENTS]

    def _choice(self, spot: Spot, field: Field, posterior: Any, note: dict[str, float]) -> Choice:
        """The choice of a place, with the estimate there in its note."""
        if self.finite:
            told = {
                "mean": float(self.posterior.mean[spot.arm]),
                "sd": float(posterior.sd[spot.arm]),
            }
        else:
            mean, sd = posterior.at(spot.row[None])
            told = {"mean": float(mean[0]), "sd": float(sd[0])}
        return Choice(spot.x, spot.arm, note | told | spot.found, field.context)

    def _gain(self, gain: Any) -> tuple[Term, str]:
        """The information gain and its name; kinds that need a finite set take the cover of a box and say so."""
        name = gain_name(gain)
        if self.finite or gain not in FINITE_GAINS:
            return gain_term(gain, self.posterior.kernel, self.domain, self.posterior.ridge), name
        owner = type(self).__name__
        known = not isinstance(self.domain, Contextual)
        checks.needs(known, owner, 'gain "realised" or a function of t beside a context', gain)
        cover = self.domain.cover()
        return gain_term(
            gain, self.posterior.kernel, cover, self.posterior.ridge
        ), f"{name} on {cover.origin}"


def checked_choices(pending: Any) -> Sequence[Choice]:
    """A list or tuple of choices."""
    given = isinstance(pending, (list, tuple)) and all(
        isinstance(choice, Choice) for choice in pending
    )
    checks.needs(given, "ask", "a list of the choices pending", pending)
    choices: Sequence[Choice] = pending
    return choices
