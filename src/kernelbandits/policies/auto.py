"""A policy that knows its own scale: kernel, noise, R and D are fitted to the rewards as they come."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.calibration import Calibration, Prior, Refits, Rewards, Standard, calibrate
from kernelbandits.checks import Array, NumericsWarning
from kernelbandits.domains import Arms, Category, Contextual
from kernelbandits.exploration import PointMass
from kernelbandits.kernels import RBF, Kernel, Matern
from kernelbandits.policies.base import Choice
from kernelbandits.policies.fields import Field, Listed, field_of
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.openings import opening
from kernelbandits.policies.searching import Ahead, checked_choices
from kernelbandits.posterior import PointPosterior, PoolPosterior
from kernelbandits.streams import Randomness, Streams, as_randomness
from kernelbandits.threads import single_threaded
from kernelbandits.widths import Width

WIDTHS = ("practical", "theory")
EVALUATIONS = 60
"""Of the likelihood in one fit, at the most."""
NEAR = 0.05
"""Of a lengthscale: a point of a box no farther from one played is the same."""
OWN_UNITS = ("mean", "index")


class Auto(IndexPolicy):
    """mean + w_t width_t sd with a Matern kernel, all of whose scales are fitted to the rewards: nothing to be given.

    The first choices are the middle and places far from it. Then lengthscales, signal and noise are the most probable
    ones given the rewards (`calibration`), fitted again at geometrically spaced numbers of rewards, by `tell` only.
    Inside, rewards are in signal units, (y - centre) / spread with k(x, x) = 1 and ridge R^2; notes are in the rewards'
    own units.

    width "practical": 3 t^-1/4 (`widths.falling`), chosen by benchmark; nothing is claimed of it. Nor is anything of a
    number, which multiplies the sd in every round, or of a `Width` of one's own.
    width "theory": D + sqrt(2 ln(1/delta) + L) at ridge R^2, the paper's width with fitted R and D. Its guarantee is
    conditional: it holds if the noise is R-sub-Gaussian and |f| <= D in the space of the fitted kernel.
    """

    posterior: Any

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
        first: int = 3,
        safety: float = 2.0,
        seed: int = 0,
        ties: str = "random",
    ) -> None:
        self.prior, self.shared, self.nu = Prior() if prior is None else prior, shared, nu
        checks.needs(isinstance(self.prior, Prior), "Auto", "a kb.calibration.Prior", prior)
        self.refits = Refits(first=1) if refits is None else refits
        checks.needs(isinstance(self.refits, Refits), "Auto", "a kb.calibration.Refits", refits)
        self.first = checks.whole("Auto", "first", first)
        self.safety = checks.positive("Auto", "safety", safety)
        self.mode = checked_width(width)
        self.delta = checks.inside("Auto", "delta", delta)
        self.streams = Streams(seed)
        self.rewards, self.failed = Rewards(), list[Any]()
        super().__init__(domain, Matern(1.0, 2.5), ridge=1.0, ties=ties, form=unlearnt)
        self.calibration = unfitted(self.prior, self.domain.dimension, shared, nu)
        self._set(self._width(), exploration)
        self._relearn()

    def ask(
        self,
        t: int | None = None,
        rng: Any = None,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
    ) -> Choice:
        """The choice of round t; without arguments that of the next round, with the randomness of the policy's seed."""
        turn = self.turn + len(checked_choices(pending)) if t is None else t
        randomness = as_randomness(self.streams if rng is None else rng)
        self._check_round(turn)
        if not self.rewards.events or self.rewards.events + len(checked_choices(pending)) < self.first:
            return self._first(turn, randomness, self._ahead(pending), field_of(self.domain, context, arms), pending)
        choice = super().ask(turn, randomness, pending=pending, context=context, arms=arms)
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
        return self._choice(spot, field, ahead.posterior, {**choice.note, "repeats": 1.0})

    def batch(
        self,
        n: int,
        t: int | None = None,
        rng: Any = None,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
    ) -> tuple[Choice, ...]:
        """The choices of rounds t..t + n - 1, without arguments those of the next n, each with those before pending."""
        turn = self.turn + len(checked_choices(pending)) if t is None else t
        return super().batch(n, turn, self.streams if rng is None else rng, pending=pending, context=context, arms=arms)

    @property
    def turn(self) -> int:
        """The next round: every reward and every failure was one."""
        return 1 + self.rewards.events + len(self.failed)

    def _first(self, t: int, randomness: Randomness, ahead: Ahead, field: Field, pending: Sequence[Choice]) -> Choice:
        """Before anything is known: the middle, then far from what was tried."""
        places = [*self.failed, *(self._place_of(choice) for choice in pending)]
        tried = [*self.rewards.points, *(self.domain.points[place] if self.finite else place for place in places)]
        sides = self._spans()[: field.survey.shape[1] - (0 if field.context is None else len(field.context))]
        spot = opening(field, np.array(tried), sides, t, randomness)
        note = self._choice(spot, field, ahead.posterior, {}).note
        return Choice(spot.x, spot.arm, self._own_units({**note, "first": 1.0}), field.context)

    @single_threaded
    def _learn(self, arm: Any, reward: float, note: Mapping[str, float]) -> None:
        """A reward counts at once; the scales are fitted again when that is due, or the reward is beyond them all."""
        self.rewards.add(self.domain.points[arm] if self.finite else arm, reward)
        scaled = self.units.standardise(reward)
        if self.refits.due(self.rewards.events) or abs(scaled) > checks.LARGEST_REWARD:
            self._refit()
        else:
            self.posterior.update(arm, scaled)

    def fail(self, choice: Choice) -> None:
        """The choice gave no reward. It is no observation, and nothing is fitted to it.

        Where the failures of a place outnumber its rewards, each one beyond them counts as the least mean reward so
        far; elsewhere they were bad luck and count as nothing.
        """
        checks.needs(isinstance(choice, Choice), "fail", "a kb.Choice", choice)
        before = len(self._counted_failures())
        self.failed.append(self._place_of(choice))
        if self.rewards.events and len(self._counted_failures()) > before:
            self.posterior.update(self.failed[-1], self._worst())

    def _counted_failures(self) -> list[Any]:
        """Of each place those beyond the number of its rewards."""
        rows = [self.domain.points[place] if self.finite else place for place in self.failed]
        return [self.failed[number] for number in self.rewards.unmatched(rows)]

    @property
    def units(self) -> Standard:
        """From the rewards' own units to those of the posterior."""
        return self.calibration.signal_standard

    def recommended(self, *, context: Any = None, arms: Any = None) -> Choice:
        """The choice of the greatest estimate."""
        best = self.recommend(context=context, arms=arms)
        return self.choice(best if arms is None else arms[best], context=context)

    def _own_units(self, note: Mapping[str, float]) -> dict[str, float]:
        """Estimates in the rewards' units, and the noise the fit sees."""
        told = {name: self.units.original(value) if name in OWN_UNITS else value for name, value in note.items()}
        return {**told, "sd": self.units.spread * note["sd"], "noise_scale": self.calibration.noise_scale}

    def _ahead(self, pending: Sequence[Choice]) -> Ahead:
        """A practical width claims nothing that pending rewards could break: it is not inflated."""
        if self.mode == "theory" or not checked_choices(pending):
            return super()._ahead(pending)
        imagined = self.posterior.imagined([self._place_of(choice) for choice in pending])
        return Ahead(imagined, 1.0, {"pending": float(len(pending))})

    def _refit(self) -> None:
        """The most probable scales given all rewards; a failed fit keeps the last good ones and is reported."""
        last, origin = self.calibration, self.rewards.origin
        data = (self._scaled_points(), self.rewards.counts, self.rewards.sums, self.rewards.squares)
        start = last.shifted(-origin) if last.fitted else None
        fit = calibrate(*data, prior=self.prior, shared=self.shared, nu=self.nu, start=start, evaluations=EVALUATIONS)
        self.calibration = fit.shifted(origin)
        if last.ok and not self.calibration.ok:
            warnings.warn(f"Auto: {self.calibration.message}", NumericsWarning, stacklevel=4)
        self._relearn()
        self.width = self._width()
        told = {"width": self.width.rule, "ridge": self.posterior.ridge, "calibration": self.calibration.sentence()}
        self.settings |= told

    def _relearn(self) -> None:
        """A posterior with the fitted kernel, and all rewards in its units."""
        self.posterior = unlearnt(self._kernel(), self.domain, self.calibration.signal_ridge)
        if self.rewards.events:
            self._load(self.rewards.points, self.rewards.counts, self._signal_sums())
        for place in self._counted_failures() if self.rewards.events else ():
            self.posterior.update(place, self._worst())

    def _load(self, rows: Array, counts: Array, sums: Array) -> None:
        if not self.finite:
            self.posterior.learn(rows, counts, sums)
            return
        arm_at = self._arm_at()
        arms = [arm_at[row.tobytes()] for row in rows]
        every, total = np.zeros((2, len(self.domain)))
        every[arms], total[arms] = counts, sums
        self.posterior.learn(every, total)

    def _arm_at(self) -> dict[bytes, int]:
        """The first arm at each point."""
        points = self.domain.points + 0.0
        return {points[arm].tobytes(): arm for arm in reversed(range(len(points)))}

    def _signal_sums(self) -> Array:
        """sum_i (y - centre) / spread at each point."""
        counts, units = self.rewards.counts, self.units
        sums: Array = (self.rewards.sums + counts * (self.rewards.origin - units.centre)) / units.spread
        return sums

    def _worst(self) -> float:
        """The least mean reward of a point, in signal units."""
        return float((self._signal_sums() / self.rewards.counts).min())

    def _kernel(self) -> Kernel:
        """The fitted kernel, its lengths in the units of the domain."""
        lengths = tuple((np.array(self.calibration.lengthscales) * self._spans()).tolist())
        return RBF(lengths) if math.isinf(self.nu) else Matern(lengths, self.nu)

    def _scaled_points(self) -> Array:
        """The points with rewards, seen from the first of them, in sides of the domain."""
        rows = self.rewards.points
        scaled: Array = (rows - rows[0]) / self._spans()
        return scaled

    def _spans(self) -> Array:
        """The sides of the domain, which calibration takes for 1; of a context and of changing arms as far as seen."""
        inner = self.domain.domain if isinstance(self.domain, Contextual) else self.domain
        known = np.empty(0) if checks.is_whole(inner) else sides(inner)
        seen = np.ptp(self.rewards.points[:, len(known) :], axis=0) if self.rewards.events else np.ones(0)
        unseen = np.ones(self.domain.dimension - len(known) - len(seen))
        spans = np.concatenate([known, seen, unseen])
        return np.where(spans > 0, spans, 1.0)

    def _width(self) -> Width:
        if isinstance(self.mode, Width):
            self.settings["claim"] = "none: a practical width"
            return self.mode
        bound = self._norm_bound()
        radius = self.calibration.signal_noise_scale
        text = f"conditional on fitted constants: R = {self.calibration.noise_scale:.3g}, D = {bound:.3g} signal sd"
        self.settings |= {"claim": text, "norm_bound": bound, "noise_scale": self.calibration.noise_scale}
        return widths.self_normalised(radius, bound, self.calibration.signal_ridge, self.delta)

    def _norm_bound(self) -> float:
        """D in signal units; before any reward the safety factor times the prior sd of f."""
        if not self.rewards.events:
            return self.safety
        counts = self.rewards.counts
        sums = self.rewards.sums + counts * self.rewards.origin
        return self.calibration.norm_bound(self._scaled_points(), counts, sums, self.safety)


def unlearnt(kernel: Any, domain: Any, ridge: float) -> Any:
    """The posterior that is cheap to start anew: by the arms played on arms, by the points played elsewhere."""
    return (PoolPosterior if isinstance(domain, Arms) else PointPosterior)(kernel, domain, ridge)


def unfitted(prior: Prior, dimension: int, shared: bool, nu: float) -> Calibration:
    """What is believed before the first reward: a fit to one reward is none."""
    return calibrate(np.zeros((1, dimension)), [1], [0.0], [0.0], prior=prior, shared=shared, nu=nu)


def checked_width(width: Any) -> Width | str:
    """A width of which nothing is claimed, or the word for that of the theory."""
    if isinstance(width, Width):
        return width
    if checks.is_number(width):
        return widths.constant(checks.nonnegative("Auto", "width", width))
    return widths.falling() if checks.one_of("Auto", "width", width, WIDTHS) == "practical" else "theory"


def sides(domain: Any) -> Array:
    """The extent of a domain in each coordinate; two values of an unordered category are half a side apart."""
    if isinstance(domain, Arms):
        return np.asarray(np.ptp(domain.points, axis=0))
    extent: Array = np.subtract(domain.upper, domain.lower)
    for variable, place in getattr(domain, "blocks", ()):
        if isinstance(variable, Category):
            extent[place] = 2.0
    return extent
