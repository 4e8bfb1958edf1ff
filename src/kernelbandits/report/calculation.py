"""The theory as a calculator: all that is proved for one law on one domain, at one horizon and against T."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from typing import Any

from kernelbandits import checks
from kernelbandits.domains import Arms, Box
from kernelbandits.exploration import Exploration, Law, Step
from kernelbandits.kernels import Linear, as_kernel
from kernelbandits.theory import (
    Constants,
    InformationGain,
    RegretBound,
    Sublinear,
    Theorem,
    constants,
    growth,
    regret_bound,
    sublinear,
    theorems,
)
from kernelbandits.theory.caps import largest_value

LATE, LONGEST = 10**4, 10**6
"""The horizon from which on gamma takes seconds on a box, and the one up to which at least it is drawn."""
FAR, NEAR, FEW = 9, 6, 300
"""Decades of T in which a useful bound is looked for, and on how many arms at the most."""
GIVEN = "as given; nothing certifies it"


@dataclass(frozen=True)
class Calculation:
    """A law or schedule for T rounds on a domain, and what the policy is told; the answers are properties."""

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
    premises: tuple[str, ...] = ()
    """What is known to be false of R and D on this domain, or too generous."""
    _gains: dict[int, InformationGain] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def law(self) -> str:
        return repr(Exploration.of(self.exploration).source)

    @cached_property
    def constants(self) -> Constants:
        return constants(self.exploration, self.horizon)

    @cached_property
    def information_gain(self) -> InformationGain:
        if self.gain is None:
            return self.gains([self.horizon])[0]
        given = checks.nonnegative("theory", "gain", self.gain)
        return InformationGain(given, given, GIVEN, self.horizon, self.ridge)

    def gains(self, horizons: Sequence[int]) -> list[InformationGain]:
        """gamma on the domain, each horizon computed once."""
        missing = [horizon for horizon in horizons if horizon not in self._gains]
        self._gains.update(zip(missing, growth(self.kernel, self.domain, missing, self.ridge), strict=True))
        return [self._gains[horizon] for horizon in horizons]

    @property
    def told(self) -> dict[str, Any]:
        """What the bounds take besides law and gain."""
        settings = {name: getattr(self, name) for name in ("noise_scale", "norm_bound", "ridge", "delta")}
        return settings | {"largest": self.largest}

    @cached_property
    def largest(self) -> float:
        """sup k(x, x)"""
        return largest_value(as_kernel(self.kernel), self.domain)

    @cached_property
    def bound(self) -> RegretBound:
        return regret_bound(self.constants, self.horizon, self.information_gain, **self.told)

    @cached_property
    def theorems(self) -> list[tuple[Theorem, RegretBound]]:
        """Those of the paper that apply, with their bounds; the linear one where the kernel is linear."""
        linear = isinstance(as_kernel(self.kernel), Linear)
        found = theorems(self.exploration, self.horizon, self.domain.dimension if linear else None)
        return [(theorem, theorem.bound(self.horizon, self.information_gain, **self.told)) for theorem in found]

    @cached_property
    def sublinear(self) -> Sublinear | None:
        """How fast the bound grows; asked of a whole box only, for on finitely many arms gamma_T grows like ln T."""
        whole = isinstance(self.domain, Box) and self.gain is None
        return sublinear(self.kernel, self.domain.dimension, self.exploration) if whole else None

    @cached_property
    def useful(self) -> RegretBound | None:
        """The bound near the least T at which it is below 2 D T; None where none is found cheaply.

        It is looked for on the arms, if they are few, or on a cover of the box and then certified on the box.
        """
        guide = self.domain.cover(FEW) if isinstance(self.domain, Box) else self.domain
        if self.gain is not None or len(guide) > FEW:
            return None
        decade = self.first_useful(guide, [10**power for power in range(self.decades + 1)])
        near = [round(decade * 10 ** (step / 4 - 1)) for step in range(1, 5)] if decade else []
        horizon = self.first_useful(guide, sorted({max(1, rounds) for rounds in near}))
        if horizon is None or (horizon > LONGEST and guide is not self.domain):
            return None
        certified = (self.bound_with(self.gains([factor * horizon])[0]) for factor in (1, 2))
        return next((bound for bound in certified if not bound.vacuous), None)

    @property
    def decades(self) -> int:
        """How far a useful bound is looked for: less far for schedules of many laws."""
        source = Exploration.of(self.exploration).source
        return FAR if isinstance(source, (Law, Step)) else NEAR

    def first_useful(self, arms: Arms, horizons: Sequence[int]) -> int | None:
        found = (self.bound_with(gain) for gain in growth(self.kernel, arms, horizons, self.ridge))
        return next((bound.constants.horizon for bound in found if not bound.vacuous), None)

    def bound_with(self, gain: InformationGain) -> RegretBound:
        return regret_bound(self.exploration, gain.horizon, gain, **self.told)

    @cached_property
    def against_horizon(self) -> list[tuple[InformationGain, RegretBound]]:
        """gamma and the bounds at some horizons up to T or 10^6, T among them."""
        checks.needs(self.gain is None, "a plot against T", "a domain rather than one gain", self.gain)
        horizons = drawn_horizons(self.horizon, LATE if isinstance(self.domain, Box) else LONGEST)
        return [(gain, self.bound_with(gain)) for gain in self.gains(horizons)]


def drawn_horizons(asked: int, late: int) -> list[int]:
    """From 10 to T or 10^6, T among them: three a decade, and one a decade beyond `late`."""
    last = max(asked, LONGEST)
    thirds = {round(10 ** (step / 3)): step % 3 == 0 for step in range(3, math.ceil(3 * math.log10(last)) + 1)}
    return sorted({asked, last, *(t for t, decade in thirds.items() if t <= late or (decade and t <= last))})


def plain(found: Calculation) -> dict[str, Any]:
    """All numbers as one document; what is not finite is null."""
    document = {
        "law": found.law,
        "horizon": found.horizon,
        "kernel": repr(found.kernel),
        "domain": found.place,
        "settings": found.told,
        "constants": asdict(found.constants),
        "information_gain": asdict(found.information_gain),
        "bounds": plain_bound(found.bound),
        "useful": None if found.useful is None else plain_useful(found.useful),
        "theorems": [plain_theorem(*pair) for pair in found.theorems],
        "sublinear": None if found.sublinear is None else plain_sublinear(found.sublinear),
        "premises": list(found.premises),
    }
    return finite(document)  # type: ignore[no-any-return]


def plain_bound(bound: RegretBound) -> dict[str, Any]:
    numbers = {name: getattr(bound, name) for name in ("printed", "repaired", "tight", "trivial", "delta")}
    return numbers | {"least": bound.value, "vacuous": bound.vacuous, "sentence": bound.sentence}


def plain_useful(bound: RegretBound) -> dict[str, Any]:
    return {"horizon": bound.constants.horizon} | plain_bound(bound)


def plain_theorem(theorem: Theorem, bound: RegretBound) -> dict[str, Any]:
    about = {"name": theorem.name, "statement": theorem.statement, "holds": theorem.holds}
    return about | {"constants": asdict(theorem.constants), "repaired": bound.repaired, "printed": bound.printed}


def plain_sublinear(found: Sublinear) -> dict[str, Any]:
    exponents = {"gain_exponent": found.gain_exponent, "law_exponent": found.law_exponent}
    return exponents | {"holds": found.holds, "sentence": found.sentence}


def finite(value: Any) -> Any:
    """The same with null for every number that JSON has no word for."""
    if isinstance(value, dict):
        return {key: finite(item) for key, item in value.items()}
    if isinstance(value, list):
        return [finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
