"""Regret bounds: as the paper prints them, and with its proof repaired (docs/errata.md).

All bounds need |f| <= D and R-sub-Gaussian noise. With g(x) = width sd(x), M = sup k / ridge and
any gamma >= gamma_T,

    sum_t sd(x_t)^2 <= ridge M / ln(1 + M) L_T,   L_T = log det(I + K / ridge) <= 2 gamma,
    width(c) = D + (R / sqrt(ridge)) sqrt(2 gamma + 2 c),   c = ln(1 / delta),

so sum_t g(x_t) <= width(c) sqrt(2 M / ln(1 + M)) sqrt(T gamma ridge). A number beyond 1.8e308 is
given as inf.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Literal, overload

from kernelbandits import checks
from kernelbandits.theory.as_played import PlayedBound, played_bound
from kernelbandits.theory.gaps import GapBound, gap_bound
from kernelbandits.theory.high_probability import HighProbabilityBound, high_probability_bound
from kernelbandits.theory.information import InformationGain
from kernelbandits.theory.law_constants import Constants, constants
from kernelbandits.theory.law_moments import LawMoments
from kernelbandits.theory.setting import TheorySetting, gain_at, multiply

LABELS: Mapping[str, str] = MappingProxyType(
    {
        "printed": "as printed; see errata E1-E3",
        "repaired": "repaired (E1)",
        "tight": "repaired and tightened (E1)",
        "trivial": "trivial, 2 D T",
    }
)
"""The names of the bounds in tables and plots."""

FORMS = (
    "repaired",
    "as_played",
    "high_probability",
    "orthonormal",
    "gap",
    "misspecified",
    "drifting",
    "delayed",
)
OWN_INPUTS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "high_probability": ("played_delta",),
        "gap": ("gap",),
        "misspecified": ("error",),
        "drifting": ("error", "block"),
        "delayed": ("pending",),
    }
)
"""The inputs that only some forms take."""
LONGEST = 10**12
"""The largest horizon that `first_useful` tries."""


@dataclass(frozen=True)
class RegretBound:
    """Upper bounds of the expected regret after T rounds, and what they were computed from.

    `regret_bound` returns it, unless another form is asked for.

    >>> import kernelbandits as kb
    >>> told = {"noise_scale": 0.1, "norm_bound": 1.0}
    >>> bound = kb.theory.regret_bound(kb.Bernoulli(0.5), 1_000_000, 20.0, **told)
    >>> round(bound.value), bound.trivial, bound.constants.c1
    (41724, 2000000.0, 0.5)
    >>> bound.sentence.split(",")[0]
    'If gamma_T <= 20 and the policy plays with delta = 5e-07'
    """

    labels: ClassVar[Mapping[str, str]] = LABELS

    printed: float
    """2 (C2 + 2 C3) g(2) sqrt(T gamma) + 2 g(2 T D^2) sqrt(T gamma) + 1,
    g(a) = D + R sqrt(2 gamma + 2 (ln a)^+).

    The paper prints it for ridge 1 and for a rule that plays with delta = 1/2; its proof has a gap.
    At another ridge g is the width there, and T gamma is multiplied by the ridge.
    """
    repaired: float
    """(1 + C2 + C3) g(1/delta) sqrt(4 T gamma) + 2 D T delta, if the rule plays with this delta."""
    tight: float
    """The same with C3' = E max (w - E w)^+ / C1 in place of C3, and 2 M / ln(1 + M) in place of 4.

    M = sup k / ridge.
    """
    trivial: float
    """2 D sqrt(sup k) T: no gap exceeds 2 D sqrt(sup k)."""
    delta: float
    """The delta with which the policy must play for the repaired bound to be proved."""
    constants: Constants
    """C1, C2 and C3 of the exploration law."""
    information_gain: float
    """The bound of gamma_T that was used."""
    largest: float = 1.0
    """sup k(x, x)"""

    @property
    def horizon(self) -> int:
        """T"""
        return self.constants.horizon

    @property
    def value(self) -> float:
        """The smallest proved bound, if gamma_T is at most the information gain."""
        return min(self.tight, self.repaired, self.trivial)

    @property
    def vacuous(self) -> bool:
        """Whether the bound is no smaller than the trivial 2 D T."""
        return self.value >= self.trivial

    @property
    def sentence(self) -> str:
        """What is proved, in words; where the bound is vacuous, the sentence says so."""
        rounds = self.constants.horizon
        limit = f"the trivial {self.trivial_name} = {self.trivial:.4g}"
        if self.vacuous:
            least = f"the repaired bound, {self.repaired:.4g} (tightened {self.tight:.4g}),"
            return f"Vacuous at T = {rounds}: {least} says no more than {limit}{self.caveat}."
        least = f"at most {self.value:.4g}, {100 * self.value / self.trivial:.3g} % of {limit}"
        premise = (
            f"If gamma_T <= {self.information_gain:.4g} "
            f"and the policy plays with delta = {self.delta:.3g}"
        )
        return f"{premise}, the expected regret after T = {rounds} rounds is {least}{self.caveat}."

    @property
    def trivial_name(self) -> str:
        return "2 D T" if self.largest == 1 else "2 D T sqrt(sup k)"

    @property
    def caveat(self) -> str:
        """What a reader must know of the constants: that they are not exact, or falsely bounded."""
        error, method = self.constants.error, self.constants.method
        how = "are simulated, with a standard error of" if method == "simulated" else "are known to"
        doubt = f"; C2 and C3 are {method}" if "false" in method else ""
        return doubt + (f"; C2 and C3 {how} {error:.2g}" if error else "")


@overload
def regret_bound(
    exploration: Any,
    horizon: int,
    information_gain: float | InformationGain,
    *,
    noise_scale: float,
    norm_bound: float,
    ridge: float = ...,
    largest: float = ...,
    delta: float | None = ...,
    form: Literal["repaired"] = ...,
) -> RegretBound: ...
@overload
def regret_bound(
    exploration: Any,
    horizon: int,
    information_gain: float | InformationGain,
    *,
    noise_scale: float,
    norm_bound: float,
    ridge: float = ...,
    largest: float = ...,
    smallest: float = ...,
    delta: float | None = ...,
    form: Literal["as_played"],
) -> PlayedBound: ...
@overload
def regret_bound(
    exploration: Any,
    horizon: int,
    information_gain: float | InformationGain,
    *,
    noise_scale: float,
    norm_bound: float,
    ridge: float = ...,
    largest: float = ...,
    smallest: float = ...,
    delta: float | None = ...,
    played_delta: float | None = ...,
    form: Literal["high_probability"],
) -> HighProbabilityBound: ...
@overload
def regret_bound(
    exploration: Any,
    horizon: int,
    information_gain: float | InformationGain,
    *,
    noise_scale: float,
    norm_bound: float,
    ridge: float = ...,
    largest: float = ...,
    smallest: float = ...,
    delta: float | None = ...,
    gap: float | None = ...,
    form: Literal["gap"],
) -> GapBound: ...
@overload
def regret_bound(
    exploration: Any,
    horizon: int,
    information_gain: float | InformationGain,
    *,
    noise_scale: float,
    norm_bound: float,
    ridge: float = ...,
    largest: float = ...,
    smallest: float = ...,
    delta: float | None = ...,
    error: float | None = ...,
    block: int | None = ...,
    pending: float | None = ...,
    form: Literal["orthonormal", "misspecified", "drifting", "delayed"],
) -> PlayedBound: ...
def regret_bound(
    exploration: Any,
    horizon: int,
    information_gain: float | InformationGain,
    *,
    noise_scale: float,
    norm_bound: float,
    ridge: float = 1.0,
    largest: float = 1.0,
    smallest: float = 0.0,
    delta: float | None = None,
    played_delta: float | None = None,
    gap: float | None = None,
    error: float | None = None,
    block: int | None = None,
    pending: float | None = None,
    form: str = "repaired",
) -> RegretBound | PlayedBound | HighProbabilityBound | GapBound:
    """Return the bounds of Theorem 1 for the regret of a Generic-GP policy.

    Parameters
    ----------
    exploration
        An exploration law, a schedule t -> law, or its `Constants`. With form "high_probability"
        also the list of the T laws that a schedule chose from the past.
    horizon
        Number of rounds T.
    information_gain
        An upper bound of gamma_T at this ridge: a number, or the result of `information_gain`.
        With form "drifting" it is that of one block, gamma_N.
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: the RKHS norm of f is at most D.
    largest
        sup k(x, x), 1 for the usual kernels.
    smallest
        inf k(x, x), where it is known: 1 for stationary kernels. If it is positive, L grows at
        least like ln t, which all forms but "repaired" can use.
    delta
        The delta with which the policy plays, by default 1/2, and min(1, 1 / (2 D T)) with form
        "repaired". With form "high_probability" it is the probability with which the bound may
        fail, by default 0.05.
    played_delta
        With form "high_probability" only: the delta with which the policy plays, by default 1/2.
    gap
        With form "gap": every arm but the best is worse by at least this much.
    error
        With form "misspecified": by how much f may differ from a function of norm D. With form
        "drifting": by how much the functions of a block may differ from one function of norm D.
    block
        With form "drifting": the rule begins anew after so many rounds.
    pending
        With form "delayed": the most that results which are not yet known add to
        log det(I + K / ridge). For batches that end when it has grown by ln(1 + C), this is
        ln(1 + C); for results that come late it is 2 I, I their information, at most 2 gamma_m for
        m results.
    form
        What is bounded, and under which assumptions. "repaired": the expected regret as printed,
        repaired and tightened, a `RegretBound`. "as_played": the expected regret of the rule as it
        is played, a `PlayedBound`. "high_probability": the regret itself, with probability
        1 - delta, a `HighProbabilityBound`. "gap": for laws with finitely many values, a
        `GapBound` that grows like a power of ln T. A `PlayedBound` too: "orthonormal", for arms
        with k(x, x') = 0, any law and any R and D; "misspecified" and "drifting", for a rule whose
        width is wider by error sqrt((t - 1) / ridge), t the round of the block; "delayed", for a
        rule that learns results late.

    Examples
    --------
    >>> import math
    >>> from kernelbandits import PointMass
    >>> from kernelbandits.theory import regret_bound
    >>> told = {"noise_scale": 0.1, "norm_bound": 1}
    >>> bound = regret_bound(PointMass(1), 10_000, 20.0, **told)
    >>> round(bound.repaired), round(bound.tight), bound.vacuous
    (6346, 2695, False)
    >>> round(regret_bound(PointMass(1), 10_000, 20.0, form="as_played", **told).value)
    2205
    >>> round(regret_bound(PointMass(1), 10_000, 20.0, form="high_probability", **told).value)
    2166
    >>> bandit = {"noise_scale": 1.0, "norm_bound": 0.1}  # R / D = 10, and ten orthonormal arms
    >>> gain = 5 * math.log1p(10**7)
    >>> for form in ("as_played", "orthonormal"):
    ...     bound = regret_bound(PointMass(1), 10**8, gain, form=form, **bandit)
    ...     print(form, f"{bound.value / bound.trivial:.3f}")
    as_played 0.640
    orthonormal 0.200
    >>> small = {"noise_scale": 0.05, "norm_bound": 1.0}
    >>> round(regret_bound(PointMass(1), 10**8, gain, form="gap", gap=0.5, **small).by_gap)
    3805
    """
    chosen = checks.one_of("regret_bound", "form", form, FORMS)
    rounds = checks.whole("regret_bound", "horizon", horizon)
    least = checks.nonnegative("regret_bound", "smallest", smallest)
    inputs = {"gap": gap, "error": error, "block": block, "pending": pending}
    own = own_inputs(chosen, {"played_delta": played_delta} | inputs)
    gain = gain_at(information_gain, own.get("block", rounds), ridge)
    played = {
        "repaired": delta,
        "high_probability": 0.5 if played_delta is None else played_delta,
    }.get(chosen, 0.5 if delta is None else delta)
    setting = TheorySetting(
        rounds,
        gain,
        noise_scale,
        norm_bound,
        ridge,
        largest,
        played,
        **{name: own[name] for name in ("error", "block", "pending") if name in own},
    )
    checks.needs(least <= largest, "regret_bound", "smallest <= largest", (smallest, largest))
    if chosen == "high_probability":
        failure = checks.inside("regret_bound", "delta", 0.05 if delta is None else delta)
        return high_probability_bound(LawMoments.of(exploration, rounds), setting, failure, least)
    if chosen != "repaired":
        return expected_bound(chosen, LawMoments.of(exploration, rounds), setting, least, gap)
    found = constants_at(exploration, rounds)
    bounds = (
        printed_bound(found, setting),
        repaired_bound(found, setting),
        tight_bound(found, setting),
    )
    return RegretBound(*bounds, setting.trivial, setting.delta, found, gain, largest)


def expected_bound(
    form: str, moments: LawMoments, setting: TheorySetting, smallest: float, gap: float | None
) -> PlayedBound | GapBound:
    """Return the bound of the expected regret for the rule as it is played, by its form."""
    checks.needs(
        not moments.realised,
        "regret_bound",
        "a law or schedule for an expected regret (a list of laws that were chosen from the "
        'past differs from run to run: form="high_probability")',
        "a list of laws",
    )
    if form == "as_played":
        return played_bound(moments, setting, smallest)
    # The own proof of an adaptive schedule is for the plain setting.
    plain = moments.drop_certificate()
    if form == "gap":
        return gap_bound(plain, setting, smallest, checks.positive("regret_bound", "gap", gap))
    premises, orthonormal = premises_of(form, setting), form == "orthonormal"
    checks.needs(
        not orthonormal or smallest in (0, setting.largest),
        "regret_bound",
        "smallest = largest (or not given) with form 'orthonormal'",
        (smallest, setting.largest),
    )
    found = played_bound(plain, setting, smallest, orthonormal=orthonormal, premises=premises)
    if not orthonormal:
        return found
    # There the own proof holds as well, and either bound may be the smaller one.
    own = played_bound(moments, setting, smallest, premises=premises)
    return min(found, own, key=lambda bound: min(bound.as_played, bound.mean_square))


def own_inputs(form: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs that this form takes besides those of all; refuse those of another one."""
    taken = OWN_INPUTS.get(form, ())
    for name, value in given.items():
        if name in taken and name != "played_delta":
            checks.needs(value is not None, "regret_bound", f"{name} with form {form!r}", value)
        elif name not in taken:
            instead = (
                "delta, not played_delta, as the delta of the rule"
                if (name == "played_delta")
                else f"no {name}"
            )
            checks.needs(value is None, "regret_bound", f"{instead} with form {form!r}", value)
    return {name: given[name] for name in taken}


def premises_of(form: str, setting: TheorySetting) -> str:
    """Say what a form assumes besides what all forms do, as part of its sentence."""
    if form == "orthonormal":
        return f", k(x, x) = {setting.largest:g} and k(x, x') = 0 for any two arms"
    if form == "delayed":
        return (
            f", the results that are not yet known add at most {setting.pending:.4g} to "
            "log det(I + K / ridge)"
        )
    widened = f"the width is wider by {setting.error:g} sqrt((t - 1)/ridge)"
    if form == "misspecified":
        return f", f is within {setting.error:g} of a function of norm D, {widened}"
    return (
        f" for N = {setting.block} rounds in place of T, the functions of each block of N rounds "
        f"are within {setting.error:g} of one of norm D, the rule begins anew with each block, "
        f"{widened}, t the round of the block,"
    )


def constants_at(exploration: Any, horizon: int) -> Constants:
    """Return C1, C2 and C3; refuse constants that were computed for another T."""
    if not isinstance(exploration, Constants):
        return constants(exploration, horizon)
    checks.needs(
        exploration.horizon == horizon,
        "regret_bound",
        f"constants at T = {horizon}",
        exploration.horizon,
    )
    numbers = exploration.c2, exploration.c3, exploration.c3_tight
    checks.needs(
        all(number >= 0 for number in numbers),
        "regret_bound",
        "constants C2, C3, C3' >= 0",
        numbers,
    )
    return exploration


def printed_bound(found: Constants, setting: TheorySetting) -> float:
    """Return the bound as the paper prints it.

    2 (C2 + 2 C3) g(2) sqrt(T gamma) + 2 g(2 T D^2) sqrt(T gamma) + 1
    """
    inside = max(0.0, math.log(2 * setting.horizon) + 2 * math.log(setting.norm_bound))
    widths = multiply(found.c2 + 2 * found.c3, setting.width(math.log(2))) + setting.width(inside)
    return multiply(2 * widths, setting.reach) + 1


def repaired_bound(found: Constants, setting: TheorySetting) -> float:
    """Return the bound with the paper's constants and without the errors of its proof.

    (1 + C2 + C3) g(1/delta) sqrt(2 max(2, M / ln(1 + M))) sqrt(T gamma ridge) + 2 D T delta
    """
    factor = math.sqrt(2 * max(2.0, setting.potential))
    return (
        multiply(1 + found.c2 + found.c3, setting.width(setting.log_inverse), factor, setting.reach)
        + setting.leftover
    )


def tight_bound(found: Constants, setting: TheorySetting) -> float:
    """Return the repaired bound with the smaller constant C3' and the smaller factor.

    (1 + C2 + C3') g(1/delta) sqrt(2 M / ln(1 + M)) sqrt(T gamma ridge) + 2 D T delta
    """
    factor, width = math.sqrt(2 * setting.potential), setting.width(setting.log_inverse)
    return multiply(1 + found.c2 + found.c3_tight, width, factor, setting.reach) + setting.leftover


def first_useful(bound_at: Callable[[int], RegretBound], limit: int = LONGEST) -> int | None:
    """Return a horizon T at which the bound is below 2 D T, and is not at T - 1.

    The search doubles T and then bisects. It finds the smallest such T if bound / (2 D T) decreases
    with T, as it does for one law in all rounds. For a schedule an earlier interval between two
    powers of two may be missed. The result is None if no T up to the limit is found.

    Examples
    --------
    >>> from kernelbandits import PointMass
    >>> from kernelbandits.theory import first_useful, linear_gain, regret_bound
    >>> def bound_at(T):
    ...     return regret_bound(PointMass(1), T, linear_gain(3, T), noise_scale=1, norm_bound=1)
    >>> first_useful(bound_at)
    1197
    """
    checks.needs(callable(bound_at), "first_useful", "a function T -> RegretBound", bound_at)
    last = checks.whole("first_useful", "limit", limit)
    low, high = 0, 1
    while is_vacuous_at(bound_at, high):
        if high >= last:
            return None
        low, high = high, min(2 * high, last)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if is_vacuous_at(bound_at, middle) else (low, middle)
    return high


def is_vacuous_at(bound_at: Callable[[Any], Any], place: float) -> bool:
    """Tell whether the bound at this T, or at this R, is vacuous."""
    bound = bound_at(place)
    checks.needs(hasattr(bound, "vacuous"), "first_useful", "a function T -> RegretBound", bound)
    return bool(bound.vacuous)


def largest_useful_noise(bound_at: Callable[[float], Any], noise_scale: float) -> float | None:
    """Return the largest R up to `noise_scale` at which the bound is below 2 D T, to 0.1 %.

    The search bisects. The bound at the R that is returned is informative; one at a larger R may be
    only if the bound does not grow with R. The result is None if no R is small enough, not even 0,
    and 0 if none above a millionth of `noise_scale` is.

    Examples
    --------
    >>> from kernelbandits import PointMass
    >>> from kernelbandits.theory import largest_useful_noise, regret_bound
    >>> def bound_at(R):
    ...     return regret_bound(PointMass(1), 1000, 20.0, noise_scale=R, norm_bound=1)
    >>> bound_at(1.0).vacuous, round(largest_useful_noise(bound_at, 1.0), 3)
    (True, 0.425)
    """
    high = checks.scale("largest_useful_noise", "noise_scale", noise_scale)
    if not is_vacuous_at(bound_at, high):
        return high
    if is_vacuous_at(bound_at, 0.0):
        return None
    low = 1e-6 * high
    if is_vacuous_at(bound_at, low):
        return 0.0
    while high > 1.001 * low:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if is_vacuous_at(bound_at, middle) else (middle, high)
    return low
