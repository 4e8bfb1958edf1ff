"""A policy that knows its own scale: kernel, noise, R and D are fitted to the rewards as they come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.calibration import Prior, Refits, Rewards
from kernelbandits.checks import Array
from kernelbandits.exploration import PointMass
from kernelbandits.kernels import Matern
from kernelbandits.policies.base import Choice
from kernelbandits.policies.calibrated import Calibrated, checked_size, unfitted, unlearnt
from kernelbandits.policies.fields import Field, Listed, among, field_of
from kernelbandits.policies.offer import Offer
from kernelbandits.policies.openings import OPENINGS, opening
from kernelbandits.policies.searching import Ahead, Circumstances, checked_choices
from kernelbandits.streams import Randomness, Streams
from kernelbandits.widths import Width

WIDTHS = ("practical", "theory")
NEAR = 0.05
"""Of a lengthscale: a point of a box no farther from one played is the same."""
OWN_UNITS = ("mean", "index")


class Auto(Calibrated):
    """mean + w_t width_t sd with a Matern kernel, all of whose scales are fitted to the rewards: nothing to be given.

    The first choices are about the middle (with `opening="random"` anywhere) and far from those tried. Then
    lengthscales, signal and noise are the most probable ones given the rewards (`calibration`), fitted again at
    geometrically spaced numbers of rewards, by `tell` only. Inside, rewards are in signal units, (y - centre) / spread
    with k(x, x) = 1 and ridge R^2; notes are in the rewards' own units.

    width "practical": 5 t^-1/3 (`widths.falling`), chosen by benchmark; nothing is claimed of it. Nor is anything of a
    number, which multiplies the sd in every round, or of a `Width` of one's own.
    width "theory": D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L), Whitehouse's, at the ridge that is the fitted noise
    variance; R and D are `safety` times the fitted ones, so R / sqrt(ridge) = safety. That f lies within the width in
    all rounds with chance 1 - delta would hold had kernel, centre, R and D been fixed beforehand, with |f| <= D and
    R-sub-Gaussian noise. They are not: they are fitted to the same rewards.
    """

    def __init__(
        self,
        domain: Any,
        *,
        exploration: Any = PointMass(1.0),  # noqa: B008
        width: str | float | Width = "practical",
        delta: float = 0.1,
        prior: Prior | None = None,
        shared: bool = False,
        nu: float = 2.5,
        refits: Refits | None = None,
        first: int = 5,
        opening: str = "middle",
        safety: float = 2.0,
        seed: int = 0,
        ties: str = "random",
    ) -> None:
        table = not isinstance(domain, (list, tuple))
        checks.needs(
            table,
            "Auto",
            "a kb.Box(lower, upper), a MixedBox, kb.Arms(table) or an (n, d) array",
            domain,
        )
        self.prior, self.shared, self.nu = Prior() if prior is None else prior, shared, nu
        checks.needs(isinstance(self.prior, Prior), "Auto", "a kb.calibration.Prior", prior)
        self.refits = Refits(first=1) if refits is None else refits
        checks.needs(isinstance(self.refits, Refits), "Auto", "a kb.calibration.Refits", refits)
        self.first = checks.whole("Auto", "first", first)
        self.opening = checks.one_of("Auto", "opening", opening, OPENINGS)
        self.safety = checks.positive("Auto", "safety", safety)
        self.mode = checked_width(width)
        self.delta = checks.inside("Auto", "delta", delta)
        self.streams = Streams(seed)
        self.rewards, self.failed = Rewards(), list[Any]()
        super().__init__(domain, Matern(1.0, 2.5), ridge=1.0, ties=ties, form=unlearnt)
        self.calibration = unfitted(self.prior, self.domain.dimension, shared, nu)
        self._set(self._width(), exploration)
        self._relearn(self._kernel())
        self._state()

    def ask(
        self,
        t: int | None = None,
        rng: Any = None,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
        costs: Any = None,
    ) -> Choice:
        """The choice of round t; without arguments that of the next round, with the randomness of the policy's seed.

        With `costs` the first choices are among the arms that cost no more than the median of those allowed.
        """
        turn = self.turn + len(checked_choices(pending)) if t is None else t
        streams = self.streams if rng is None else rng
        return super().ask(turn, streams, pending=pending, context=context, arms=arms, costs=costs)

    def _ask(self, t: int, randomness: Randomness, given: Circumstances) -> Choice:
        field = field_of(self.domain, given.context, given.arms)
        if not self.finite:
            checked_size(field.context, given.arms)
        if (
            not self.rewards.events
            or self.rewards.events + len(checked_choices(given.pending)) < self.first
        ):
            return self._first(
                t, randomness, field, given.pending, self._offer(given.arms, given.costs)
            )
        choice = super()._ask(t, randomness, given)
        return replace(choice, note=self._own_units(choice.note))

    def _search(self, t: int, randomness: Randomness, ahead: Ahead, field: Field) -> Choice:
        """The maximiser; where it all but is a point played before, that point: repeats tell noise from roughness."""
        choice = super()._search(t, randomness, ahead, field)
        if isinstance(field, Listed) or ahead.note:
            return choice
        played, here = self._played(field), self._place_of(choice)
        squares = (((played - here) / self.posterior.kernel.lengthscale) ** 2).sum(1)
        nearest = int(squares.argmin())
        if not 0 < squares[nearest] < NEAR**2:
            return choice
        spot = field.spot(played[nearest, : field.box.dimension])
        note = self._choice(spot, field, ahead.posterior, {**choice.note, "repeats": 1.0}).note
        index = note["mean"] + note["weight"] * note["width"] * note["sd"]
        return Choice(spot.x, spot.arm, {**note, "index": index}, field.context)

    def batch(
        self,
        n: int,
        t: int | None = None,
        rng: Any = None,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
        costs: Any = None,
    ) -> tuple[Choice, ...]:
        """The choices of rounds t..t + n - 1, without arguments those of the next n, each with those before pending."""
        turn = self.turn + len(checked_choices(pending)) if t is None else t
        streams = self.streams if rng is None else rng
        return super().batch(
            n, turn, streams, pending=pending, context=context, arms=arms, costs=costs
        )

    @property
    def turn(self) -> int:
        """The next round: every reward and every failure was one."""
        return 1 + self.rewards.events + len(self.failed)

    def _first(
        self,
        t: int,
        randomness: Randomness,
        field: Field,
        pending: Sequence[Choice],
        offer: Offer | None,
    ) -> Choice:
        """Before anything is known: about the middle, then far from what was tried; of what costs little."""
        field = among(self.domain, offer.cheaper) if offer else field
        places = [*self.failed, *(self._place_of(choice) for choice in pending)]
        tried = [
            *self.rewards.points,
            *(self.domain.points[place] if self.finite else place for place in places),
        ]
        sides = self._spans()[
            : field.survey.shape[1] - (0 if field.context is None else len(field.context))
        ]
        spot = opening(field, np.array(tried), sides, t, randomness, self.opening)
        cost = offer.cost(spot.arm) if offer else {}
        note = self._choice(spot, field, self._ahead(pending).posterior, cost).note
        return Choice(spot.x, spot.arm, self._own_units({**note, "first": 1.0}), field.context)

    def recommended(self, *, context: Any = None, arms: Any = None) -> Choice:
        """The choice of the greatest estimate, which its note has."""
        best = self.recommend(context=context, arms=arms)
        choice = self.choice(best if self.finite or arms is None else arms[best], context=context)
        place = self._place_of(choice)
        mean, sd = self.posterior.at((self.domain.points[place] if self.finite else place)[None])
        return replace(choice, note=self._own_units({"mean": float(mean[0]), "sd": float(sd[0])}))

    def estimates(self) -> tuple[Array, Array]:
        """Mean and sd of f on all arms, in the rewards' own units."""
        checks.needs(
            self.finite, "estimates", "arms (posterior.at(rows) and units elsewhere)", self.domain
        )
        return self.units.original(self.posterior.mean), self.units.spread * self.posterior.sd

    def index(self, t: int, weight: float = 1.0, points: Any = None) -> Array:
        """mean + weight * width_t * sd, in the rewards' own units."""
        return np.asarray(self.units.original(super().index(t, weight, points)))

    def _own_units(self, note: Mapping[str, float]) -> dict[str, float]:
        """Estimates in the rewards' units, and the noise the fit sees."""
        told = {
            name: self.units.original(value) if name in OWN_UNITS else value
            for name, value in note.items()
        }
        return {
            **told,
            "sd": self.units.spread * note["sd"],
            "noise_scale": self.calibration.noise_scale,
        }

    def _ahead(self, pending: Sequence[Choice]) -> Ahead:
        """A practical width claims nothing that pending rewards could break: it is not inflated."""
        if self.mode == "theory" or not checked_choices(pending):
            return super()._ahead(pending)
        imagined = self.posterior.imagined([self._place_of(choice) for choice in pending])
        return Ahead(imagined, 1.0, {"pending": float(len(pending))})

    def _width(self) -> Width:
        if isinstance(self.mode, Width):
            self.settings["claim"] = "none: a practical width"
            return self.mode
        bound, noise = self._norm_bound(), self.safety * self.calibration.noise_scale
        constants = f"R = {noise:.3g} (units of the rewards) and D = {bound:.3g} (signal sd)"
        failed = f" and {len(self.failed)} choices not failed" if self.failed else ""
        text = f"conditional: it would hold had kernel, centre, {constants} been fixed beforehand{failed}"
        self.settings |= {"claim": text, "norm_bound": bound, "noise_scale": noise}
        self.settings |= {"delta": self.delta, "safety": self.safety}
        radius = self.safety * self.calibration.signal_noise_scale
        return widths.self_normalised(radius, bound, self.calibration.signal_ridge, self.delta)

    def _noise_scale(self) -> float:
        """R as fitted, in signal units."""
        return self.calibration.signal_noise_scale

    def _norm_bound(self) -> float:
        """D in signal units; before any reward the safety factor times the prior sd of f."""
        if not self.rewards.events:
            return self.safety
        counts = self.rewards.counts
        sums = self.rewards.sums + counts * self.rewards.origin
        return self.calibration.norm_bound(self._scaled_points(), counts, sums, self.safety)


def checked_width(width: Any) -> Width | str:
    """A width of which nothing is claimed, or the word for that of the theory."""
    if isinstance(width, Width):
        return width
    if checks.is_number(width):
        return widths.constant(checks.nonnegative("Auto", "width", width))
    return (
        widths.falling()
        if checks.one_of("Auto", "width", width, WIDTHS) == "practical"
        else "theory"
    )
