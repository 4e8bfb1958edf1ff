"""The theory as a calculator: all that is proved for one exploration law on one domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from itertools import takewhile
from typing import Any, Literal, TypeVar

from kernelbandits import checks
from kernelbandits.codec import to_json_value
from kernelbandits.domains import Arms, Box
from kernelbandits.experiment.cells import Cell, Contender
from kernelbandits.experiment.premises import (
    check_horizon_and_kernel,
    check_lower_bound,
    check_noise,
    check_problem,
    check_rule,
)
from kernelbandits.exploration import Exploration, Law, Step
from kernelbandits.kernels import Linear, as_kernel
from kernelbandits.problems import LowerBound, Problem
from kernelbandits.theory import (
    Constants,
    HighProbabilityBound,
    InformationGain,
    LawMoments,
    PlayedBound,
    RegretBound,
    Sublinear,
    Theorem,
    growth,
    largest_useful_noise,
    regret_bound,
    sublinear,
    theorems,
)
from kernelbandits.theory.caps import is_orthonormal, largest_value, smallest_value

Found = TypeVar("Found")
LATE, LONGEST = 10**4, 10**6
"""From LATE on gamma takes seconds on a box; plots against T reach LONGEST at least."""
FAR, NEAR, FEW = 12, 6, 300
"""Decades of T in which a useful bound is searched, and the largest number of arms for that."""
GIVEN = "as given; nothing certifies it"
CARRIED = "as printed, carried over from ridge 1; see errata E1-E3"
POLICY = "generic-gp"
FAILURE = 0.05
"""The probability with which the high-probability bound may fail."""


class QueryCell(Cell):
    """A cell that is never played, so that its horizon has no limit."""

    def __post_init__(self) -> None: ...


@dataclass(frozen=True)
class Calculation:
    """A law or schedule for T rounds on a domain, and what the policy is given.

    The answers are properties, computed when first asked for.
    """

    exploration: Any
    horizon: int
    kernel: Any
    domain: Arms | Box
    place: str
    """The domain in words."""
    noise_scale: float = 1.0
    norm_bound: float = 1.0
    ridge: float = 1.0
    delta: float | None = None
    gain: float | None = None
    """gamma_T, in the place of the one that would be computed."""
    problem: Problem | None = None
    """Whose arms the domain has, with this seed."""
    seed: int = 0
    spelled: str | None = None
    """The law as a command line spells it."""
    _gains: dict[int, InformationGain] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _refusals: list[str] = field(default_factory=list, init=False, repr=False, compare=False)

    @property
    def law(self) -> str:
        return repr(Exploration.of(self.exploration).source)

    @cached_property
    def moments(self) -> LawMoments:
        return self.moments_at(self.horizon)

    def moments_at(self, horizon: int) -> LawMoments:
        """Return the moments of the law; on a box without the own proof of a schedule.

        `AdaptiveBernoulli` is proved to keep the bound of UCB on finitely many arms only.
        """
        found = LawMoments.of(self.exploration, horizon)
        return found.drop_certificate() if isinstance(self.domain, Box) else found

    @property
    def constants(self) -> Constants:
        return self.moments.constants

    @cached_property
    def information_gain(self) -> InformationGain:
        if self.gain is None:
            return self.gains([self.horizon])[0]
        given = checks.nonnegative("theory", "gain", self.gain)
        return InformationGain(given, given, GIVEN, self.horizon, self.ridge)

    def gains(self, horizons: Sequence[int]) -> list[InformationGain]:
        """Return gamma on the domain, each horizon computed once."""
        missing = [horizon for horizon in horizons if horizon not in self._gains]
        self._gains.update(
            zip(missing, growth(self.kernel, self.domain, missing, self.ridge), strict=True)
        )
        return [self._gains[horizon] for horizon in horizons]

    @property
    def bound_settings(self) -> dict[str, Any]:
        """What the bounds take besides law and gain."""
        settings = {
            name: getattr(self, name) for name in ("noise_scale", "norm_bound", "ridge", "delta")
        }
        return settings | {"largest": self.largest}

    @cached_property
    def largest(self) -> float:
        """sup k(x, x)"""
        largest = largest_value(as_kernel(self.kernel), self.domain)
        needed = (
            f"a kernel that bounds k(x, x) on {self.domain} (kb.kernels.Normalised(kernel) does, "
            "and so does a kernel with `diagonal_range`; or give arms)"
        )
        checks.needs(math.isfinite(largest), "a regret bound", needed, self.kernel)
        return largest

    @cached_property
    def bound(self) -> RegretBound:
        return regret_bound(
            self.constants,
            self.horizon,
            self.information_gain,
            form="repaired",
            **self.bound_settings,
        )

    @cached_property
    def smallest(self) -> float:
        """inf k(x, x), or 0 where it is not known"""
        return smallest_value(as_kernel(self.kernel), self.domain)

    @cached_property
    def form(self) -> Literal["as_played", "orthonormal"]:
        """The form of the bound as played: orthonormal arms have a smaller one."""
        apart = is_orthonormal(as_kernel(self.kernel), self.domain)
        return "orthonormal" if apart else "as_played"

    @cached_property
    def bound_as_played(self) -> PlayedBound:
        """For the rule as it is played: with the delta given, else 1/2 or min(1, 1/(2DT))."""
        return self.bound_as_played_with(self.moments, self.information_gain)

    @cached_property
    def high_probability(self) -> HighProbabilityBound:
        """The bound that fails with probability 0.05, for the rule as it is played."""
        given = {name: value for name, value in self.bound_settings.items() if name != "delta"}
        return regret_bound(
            self.moments,
            self.horizon,
            self.information_gain,
            form="high_probability",
            delta=FAILURE,
            played_delta=self.bound_as_played.delta,
            smallest=self.smallest,
            **given,
        )

    @property
    def least(self) -> RegretBound | PlayedBound:
        """The bound of the expected regret that is the smallest of those proved."""
        return smaller(self.bound, self.bound_as_played)

    @property
    def labels(self) -> dict[str, str]:
        """What tables and plots call the bounds here."""
        trivial = {"trivial": f"trivial, {self.bound.trivial_name}"}
        return {**self.bound.labels, **trivial, **({} if self.ridge == 1 else {"printed": CARRIED})}

    @property
    def rule(self) -> dict[str, Any]:
        """The settings of the policy of the bound, as a run would record them."""
        names = ("noise_scale", "norm_bound", "ridge")
        told = {name: getattr(self, name) for name in names}
        return {"policy": POLICY, "exploration": self.exploration, "delta": self.least.delta} | told

    def query_cell(self, problem: Problem) -> Cell:
        return QueryCell(
            problem,
            Contender("", POLICY, self.rule),
            as_kernel(self.kernel),
            self.horizon,
            (self.seed,),
        )

    @cached_property
    def premises(self) -> tuple[str, ...]:
        """What is false on the problem, or far too generous, of R, D, T, kernel and ridge."""
        return (
            ()
            if self.problem is None
            else tuple(check_problem(self.query_cell(self.problem), [self.rule]))
        )

    @property
    def broken(self) -> tuple[str, ...]:
        """The premises that fail and that the upper bounds need.

        A generous R keeps the upper bounds valid, and they do not need those of the lower bound.
        """
        spared: list[str] = []
        if self.problem is not None and self.problem.noise.sub_gaussian <= self.noise_scale * (
            1 + 1e-9
        ):
            true = self.problem.noise.sub_gaussian
            spared += check_noise(self.problem.name, true, self.noise_scale, self.noise_scale)
        if isinstance(self.problem, LowerBound):
            spared += check_lower_bound(self.query_cell(self.problem), self.problem, [self.rule])
        return tuple(text for text in self.premises if text not in spared)

    @property
    def applies(self) -> bool:
        """Whether no premise of the upper bounds is known to be false."""
        return not self.broken

    @cached_property
    def lower_bound(self) -> float | None:
        """What the rule must lose by Theorem 2; None where its premises fail or it says nothing."""
        problem = self.problem
        if not isinstance(problem, LowerBound):
            return None
        if any(
            (
                *check_horizon_and_kernel(self.query_cell(problem), problem),
                *check_rule(problem, self.rule),
            )
        ):
            return None
        return problem.regret_bound(self.exploration)

    @cached_property
    def theorems(self) -> list[tuple[Theorem, RegretBound]]:
        """The theorems of the paper that apply, with their bounds."""
        linear = self.kernel == Linear()
        found = theorems(self.exploration, self.horizon, self.domain.dimension if linear else None)
        return [
            (theorem, theorem.bound(self.horizon, self.information_gain, **self.bound_settings))
            for theorem in found
        ]

    @cached_property
    def sublinear(self) -> Sublinear | None:
        """How fast the bound grows on a box; on finitely many arms gamma_T grows like ln T."""
        whole = isinstance(self.domain, Box) and self.gain is None
        grown = partial(sublinear, self.kernel, self.domain.dimension, self.exploration)
        return self.try_answer(grown) if whole else None

    def try_answer(self, answer: Callable[[], Found]) -> Found | None:
        """Return an answer about horizons beyond T; if it is refused, None, and keep the reason."""
        try:
            return answer()
        except ValueError as refusal:
            self._refusals.append(str(refusal))
            return None

    @property
    def beyond(self) -> str | None:
        """Why nothing is said beyond T, if something was refused there."""
        _ = self.useful, self.sublinear
        return self._refusals[0] if self._refusals else None

    @cached_property
    def useful(self) -> RegretBound | PlayedBound | None:
        """The bound near the least T at which it is below 2 D T; None if none was found."""
        return None if self.why_not_searched else self.try_answer(self.search)

    @cached_property
    def useful_noise(self) -> float | None:
        """The largest R at which the bound at this T is below 2 D T; None if R = 0 is too large."""

        def bound_at(noise_scale: float) -> RegretBound | PlayedBound:
            return replace(self, noise_scale=noise_scale).bound_for(
                self.moments, self.information_gain
            )

        return largest_useful_noise(bound_at, self.noise_scale)

    @property
    def why_not_searched(self) -> str | None:
        """Why no useful T is searched, if none is."""
        if self.gain is not None:
            return "the gain is given for one T only"
        many = isinstance(self.domain, Arms) and len(self.domain) > FEW
        return f"there are more than {FEW} arms" if many else None

    def search(self) -> RegretBound | PlayedBound | None:
        """Search for the first useful T on the arms, which are few, or on a cover of the box.

        On a box the bound that is found is then certified on the box.
        """
        guide = self.domain.cover(FEW) if isinstance(self.domain, Box) else self.domain
        decade = self.first_useful(guide, [10**power for power in range(self.decades + 1)])
        near = [round(decade * 10 ** (step / 4 - 1)) for step in range(1, 5)] if decade else []
        horizon = self.first_useful(guide, sorted({max(1, rounds) for rounds in near}))
        if horizon is None or (horizon > LONGEST and guide is not self.domain):
            return None
        certified = (self.bound_with(self.gains([factor * horizon])[0]) for factor in (1, 2))
        return next((bound for bound in certified if not bound.vacuous), None)

    @property
    def searched_decades(self) -> int:
        """The power of ten up to which a useful T is searched; on a box up to 10^6 only."""
        return min(self.decades, NEAR) if isinstance(self.domain, Box) else self.decades

    @property
    def decades(self) -> int:
        """How far a useful bound is searched: less far for schedules of many laws."""
        source = Exploration.of(self.exploration).source
        return FAR if isinstance(source, (Law, Step)) else NEAR

    def first_useful(self, arms: Arms, horizons: Sequence[int]) -> int | None:
        found = (self.bound_with(gain) for gain in growth(self.kernel, arms, horizons, self.ridge))
        return next((bound.horizon for bound in found if not bound.vacuous), None)

    def bound_with(self, gain: InformationGain) -> RegretBound | PlayedBound:
        """Return the smallest proved bound at the horizon of this gain."""
        return self.bound_for(self.moments_at(gain.horizon), gain)

    def bound_for(self, moments: LawMoments, gain: InformationGain) -> RegretBound | PlayedBound:
        """Return the smallest proved bound from the moments of the law and from this gain."""
        repaired = regret_bound(moments.constants, gain.horizon, gain, **self.bound_settings)
        return smaller(repaired, self.bound_as_played_with(moments, gain))

    def bound_as_played_with(self, moments: LawMoments, gain: InformationGain) -> PlayedBound:
        """Return the smallest bound as played, at the delta given, else 1/2 or min(1, 1/(2DT))."""
        largest_gap = 2 * self.norm_bound * math.sqrt(self.largest) * gain.horizon
        deltas = (0.5, min(1.0, 1 / largest_gap)) if self.delta is None else (self.delta,)
        found = (
            regret_bound(
                moments,
                gain.horizon,
                gain,
                form=self.form,
                smallest=self.smallest,
                **self.bound_settings | {"delta": delta},
            )
            for delta in deltas
        )
        return min(found, key=lambda bound: min(bound.as_played, bound.mean_square))

    @cached_property
    def against_horizon(self) -> list[tuple[InformationGain, RegretBound, PlayedBound]]:
        """gamma and the bounds at some horizons up to T or 10^6, T among them."""
        checks.needs(
            self.gain is None, "a plot against T", "a domain rather than one gain", self.gain
        )
        horizons = drawn_horizons(self.horizon, LATE if isinstance(self.domain, Box) else LONGEST)
        known = self.known_moments(horizons)
        checks.needs(len(known) > 1, "a plot against T", "a law for more than one round", self.law)
        gains = self.gains([each.constants.horizon for each in known])
        return [
            (
                gain,
                regret_bound(each.constants, gain.horizon, gain, **self.bound_settings),
                self.bound_as_played_with(each, gain),
            )
            for each, gain in zip(known, gains, strict=True)
        ]

    def known_moments(self, horizons: Sequence[int]) -> list[LawMoments]:
        """Return the moments at these horizons, up to the first at which the law is refused."""
        asked = (self.try_answer(partial(self.moments_at, horizon)) for horizon in horizons)
        return list(takewhile(lambda found: found is not None, asked))  # type: ignore[arg-type]


def smaller(one: RegretBound, other: PlayedBound) -> RegretBound | PlayedBound:
    """Return the bound of smaller value; the repaired one if both are vacuous."""
    return other if other.value < one.value else one


def drawn_horizons(asked: int, late: int) -> list[int]:
    """Return horizons from 10 (or 1 if T is less) to the larger of T and 10^6, T among them.

    There are three for each decade, and one for each decade beyond `late`.
    """
    last, first = max(asked, LONGEST), 10 if asked >= 10 else 1
    thirds = {
        round(10 ** (step / 3)): step % 3 == 0
        for step in range(3, math.ceil(3 * math.log10(last)) + 1)
    }
    return sorted(
        {
            first,
            asked,
            last,
            *(t for t, decade in thirds.items() if t <= late or (decade and t <= last)),
        }
    )


def calculation_document(found: Calculation) -> dict[str, Any]:
    """Return all numbers as one document for JSON; what is not finite is null."""
    document = {
        "law": found.law,
        "spelled": found.spelled,
        "horizon": found.horizon,
        "kernel": repr(found.kernel),
        "domain": found.place,
        "settings": found.bound_settings,
        "constants": asdict(found.constants),
        "information_gain": asdict(found.information_gain),
        "applies": found.applies,
        "bounds": plain_bound(found.bound),
        "as_played": plain_proved(found.bound_as_played),
        "high_probability": plain_proved(found.high_probability),
        "least": {"value": found.least.value, "delta": found.least.delta},
        "lower_bound": found.lower_bound,
        "useful": None if found.useful is None else plain_useful(found.useful),
        "useful_noise_scale": found.useful_noise,
        "theorems": [plain_theorem(*pair) for pair in found.theorems],
        "sublinear": None if found.sublinear is None else plain_sublinear(found.sublinear),
        "beyond": found.beyond,
        "premises": list(found.premises),
    }
    return to_json_value(document)  # type: ignore[no-any-return]


def plain_bound(bound: RegretBound) -> dict[str, Any]:
    numbers = {
        name: getattr(bound, name) for name in ("printed", "repaired", "tight", "trivial", "delta")
    }
    return numbers | {"least": bound.value, "vacuous": bound.vacuous, "sentence": bound.sentence}


def plain_proved(bound: PlayedBound | HighProbabilityBound) -> dict[str, Any]:
    said = {"least": bound.value, "vacuous": bound.vacuous, "sentence": bound.sentence}
    return asdict(bound) | said


def plain_useful(bound: RegretBound | PlayedBound) -> dict[str, Any]:
    names = ("horizon", "delta", "trivial", "vacuous", "sentence")
    return {"least": bound.value} | {name: getattr(bound, name) for name in names}


def plain_theorem(theorem: Theorem, bound: RegretBound) -> dict[str, Any]:
    about = {"name": theorem.name, "statement": theorem.statement, "holds": theorem.holds}
    return about | {
        "constants": asdict(theorem.constants),
        "repaired": bound.repaired,
        "printed": bound.printed,
    }


def plain_sublinear(found: Sublinear) -> dict[str, Any]:
    exponents = {"gain_exponent": found.gain_exponent, "law_exponent": found.law_exponent}
    return exponents | {"holds": found.holds, "proved": found.is_proved, "sentence": found.sentence}
