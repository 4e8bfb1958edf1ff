"""The three constants of an exploration schedule, by which one theorem covers every law.

C1_t = P(w_t >= 1)
C2_T = E max_t |w_t|
C3_T = E max_t |w_t| / C1_t + max_t E|w_t| / C1_t
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.exploration import Bernoulli, Decay, Exploration, Law, chance_range
from kernelbandits.exploration.tails import USABLE
from kernelbandits.streams import PURPOSES, Streams
from kernelbandits.theory.maxima import expected_maximum, simulate_maxima
from kernelbandits.theory.rounds import Laws, LawTable, Single, bernoulli_table, tabulate_laws

METHODS = ("auto", "simulated")
NEEDED = "C1 = P(w >= 1) > 0 in every round"
MOST_ROUNDS = 10**7
"""A schedule that is a plain function is asked about at most this many rounds."""
LARGEST_MEAN = 1e140
"""Tails are integrated up to this value."""
MOST_LAWS = 20_000
"""At most this many laws that are not discrete are integrated; more are simulated."""
DRAWS, MOST_DRAWS = 2 * 10**7, 10**10
"""The number of weights that a simulation draws by default, and the largest number allowed."""


@dataclass(frozen=True)
class Constants:
    """What the regret bounds need to know of an exploration schedule over T rounds.

    `constants` computes them.

    >>> import kernelbandits as kb
    >>> found = kb.theory.constants(kb.Gaussian(), horizon=1000)
    >>> [round(number, 3) for number in (found.c1, found.c2, found.c3, found.c3_tight)]
    [0.159, 3.435, 26.682, 20.431]
    >>> found.method
    'quadrature'
    """

    c1: float
    """min_t P(w_t >= 1)"""
    c2: float
    """E max_t |w_t|"""
    c3: float
    """E max_t |w_t| / C1_t + max_t E|w_t| / C1_t"""
    c3_tight: float
    """C3' = E max_t (w_t - E w_t)^+ / C1_t, which may replace C3 in the repaired bound.

    It is 0 for a point mass.
    """
    horizon: int
    """T, the number of rounds."""
    error: float = 0.0
    """0 where six digits are right; else the standard error of a simulation or the error of an
    integral."""
    method: str = "exact"
    """"exact", "quadrature", "simulated" or "over all histories"."""

    def __post_init__(self) -> None:
        checks.needs(
            checks.is_number(self.c1) and 0 < self.c1 <= 1, "Constants", "c1 in (0, 1]", self.c1
        )
        for name in ("c2", "c3", "c3_tight", "error"):
            value = getattr(self, name)
            sized = value == math.inf or (checks.is_number(value) and value >= 0)
            checks.needs(sized, "Constants", f"{name} >= 0", value)
        checks.whole("Constants", "horizon", self.horizon)


def constants(
    exploration: Any,
    horizon: int,
    *,
    method: str = "auto",
    samples: int | None = None,
    seed: int = 0,
) -> Constants:
    """Return C1, C2, C3 and C3' of an exploration law or schedule over T rounds.

    For discrete laws they are finite sums, for other laws integrals. An integral that is not
    accurate to a thousandth is replaced by a simulation. C2 and C3 are infinite if E|w| is.

    Parameters
    ----------
    exploration
        A law, a schedule t -> law, or a schedule with a `chance_range`, such as `kb.Certainty`.
    horizon
        Number of rounds T.
    method
        "auto" or "simulated".
    samples, seed
        For a simulation: the number of simulated schedules, and the seed.

    Examples
    --------
    >>> from kernelbandits import Bernoulli
    >>> from kernelbandits.theory import constants
    >>> found = constants(Bernoulli(0.5), horizon=1000)
    >>> found.c1, found.c2, found.c3, found.c3_tight
    (0.5, 1.0, 3.0, 1.0)
    """
    rounds = checks.whole("constants", "horizon", horizon)
    checks.one_of("constants", "method", method, METHODS)
    chosen = Exploration.of(exploration)
    limits = chance_range(chosen.source)
    if limits is not None:
        owner = type(chosen.source).__name__
        checks.needs(
            method == "auto", owner, "method 'auto', for its laws follow the history", method
        )
        checks.needs(limits[0] > 0, "a regret bound", NEEDED, chosen.source)
        return bound_over_histories(*limits, rounds)
    laws = laws_of(chosen, rounds)
    least = optimism(chosen, laws, rounds)
    if any(np.isinf(law.mean_abs).any() for law in laws):
        return Constants(least, math.inf, math.inf, math.inf, rounds, method="quadrature")
    for law in (law for law in laws if isinstance(law, Single)):
        needed = f"E|w| <= {LARGEST_MEAN:g} of a law that is not discrete"
        checks.needs(law.mean_abs[0] <= LARGEST_MEAN, "constants", needed, law.law)
    found = compute_constants(laws, rounds, least) if method == "auto" else None
    return found or simulate_constants(laws, count_laws(chosen, rounds), least, samples, seed)


def compute_constants(laws: Laws, horizon: int, least: float) -> Constants | None:
    """Compute the constants by sums and integrals; None where an integral is not accurate.

    Weights are scaled by min C1 / C1_t <= 1 rather than by 1 / C1_t, which may overflow.
    """
    if sum(isinstance(law, Single) for law in laws) > MOST_LAWS:
        return None
    scales = [least / law.optimism for law in laws]
    size = expected_maximum(
        [law.absolute(np.ones_like(scale)) for law, scale in zip(laws, scales, strict=True)]
    )
    raised = expected_maximum(
        [law.absolute(scale) for law, scale in zip(laws, scales, strict=True)]
    )
    excess = expected_maximum([law.excess(scale) for law, scale in zip(laws, scales, strict=True)])
    if not (size.usable and raised.usable and excess.error <= USABLE * raised.value):
        return None
    method = "exact" if all(isinstance(law, LawTable) for law in laws) else "quadrature"
    c3 = check_c3((raised.value + largest_mean_ratio(laws, least)) / least, least)
    error = max(size.remark, raised.remark / least)
    return Constants(least, size.value, c3, excess.value / least, horizon, error, method)


def simulate_constants(
    laws: Laws, counts: Counter[Law], least: float, samples: int | None, seed: int
) -> Constants:
    """Estimate the constants by simulated schedules, with weights drawn as a policy draws them.

    C1 and E|w_t| are computed from the laws.
    """
    horizon = counts.total()
    usual = min(max(DRAWS // horizon, 100), 10_000)
    many = usual if samples is None else checks.whole("constants", "samples", samples, least=2)
    checks.needs(
        many * horizon <= MOST_DRAWS,
        "a simulation",
        f"samples * horizon <= {MOST_DRAWS:g}",
        many * horizon,
    )
    found = simulate_maxima(counts, least, many, Streams(seed).generator(len(PURPOSES)))
    size, raised, excess = found.mean(axis=1).tolist()
    errors = found.std(axis=1, ddof=1) / math.sqrt(many) / [1.0, least, least]
    c3 = check_c3((raised + largest_mean_ratio(laws, least)) / least, least)
    return Constants(least, size, c3, excess / least, horizon, float(errors.max()), "simulated")


def bound_over_histories(least: float, most: float, horizon: int) -> Constants:
    """Return the largest constants over all histories, for Ber(p_t) with p_t in [least, most].

    C2 is at most that of Ber(most), because P(w_1 = ... = w_T = 0) >= (1 - most)^T. C3 and C3' are
    at most those of Ber(least). Let m <= 1/least be the maximum so far. A round of probability p
    raises it to 1/p (for C3': 1/p - 1) with probability p, if that is more. So on average it
    becomes max(m, 1 + (1 - p) m) (for C3': max(m, (1 - p)(1 + m))). Both are largest at p = least,
    where they are linear in m; by induction p = least is the worst case in every round.
    E|w_t| / C1_t is 1.
    """
    seldom = constants(Bernoulli(least), horizon)
    return replace(seldom, c2=constants(Bernoulli(most), horizon).c2, method="over all histories")


def laws_of(chosen: Exploration, horizon: int) -> Laws:
    """Return the laws of the rounds 1..T; those of a decay are computed as one array."""
    if not isinstance(chosen.source, Decay):
        return tabulate_laws(count_laws(chosen, horizon))
    early = check_rounds(chosen.source.early_rounds(horizon))
    late: dict[Law, int] = {chosen.source(horizon): horizon - early} if early < horizon else {}
    return [
        *([bernoulli_table(chosen.source.chances(early))] if early else []),
        *tabulate_laws(late),
    ]


def count_laws(exploration: Any, horizon: int) -> Counter[Law]:
    """Count how many of the rounds 1..T have each law."""
    chosen = Exploration.of(exploration)
    needed = (
        "a law, or a schedule t -> law (if the law depends on the history, "
        "give the least favourable laws)"
    )
    checks.needs(not chosen.uses_history, "constants", needed, chosen.source)
    if chosen.arguments and not hasattr(chosen.source, "runs"):
        check_rounds(horizon)
    try:
        return chosen.counts(horizon)
    except TypeError as wrong:
        checks.needs(
            "unhashable" not in str(wrong), "constants", "laws that can be hashed", str(wrong)
        )
        raise ValueError(
            f"constants needs a schedule t -> law, got {chosen.source!r}: {wrong}"
        ) from wrong


def check_rounds(rounds: int) -> int:
    """Return the number of rounds, if a schedule may be asked about each of them."""
    checks.needs(
        rounds <= MOST_ROUNDS,
        "a schedule with a new law in every round",
        f"a horizon <= {MOST_ROUNDS:g}",
        rounds,
    )
    return rounds


def optimism(chosen: Exploration, laws: Laws, horizon: int) -> float:
    """Return min_t C1_t, by which the regret bounds divide."""
    least = float(np.concatenate([law.optimism for law in laws]).min())
    if not least > 0:
        raise ValueError(
            f"a regret bound needs {NEEDED}, got {describe_law_without_optimism(chosen, horizon)}"
        )
    return least


def describe_law_without_optimism(chosen: Exploration, horizon: int) -> str:
    """Name the first law with P(w >= 1) = 0, and its round if it is part of a schedule."""
    law, start = next(
        (law, start) for law, start, _ in chosen.runs(horizon) if not law.optimism > 0
    )
    return f"{law!r} in round {start + 1}" if chosen.arguments else repr(law)


def least_optimism(laws: Iterable[Law]) -> float:
    """Return min C1 of some laws, by which the regret bounds divide."""
    worst = min(laws, key=lambda law: law.optimism)
    checks.needs(worst.optimism > 0, "a regret bound", NEEDED, worst)
    return worst.optimism


def largest_mean_ratio(laws: Laws, least: float) -> float:
    """Return the largest E|w_t| / C1_t, in units of 1 / min C1.

    min_t C1_t max_t E|w_t| / C1_t
    """
    return max(float((law.mean_abs * (least / law.optimism)).max()) for law in laws)


def check_c3(c3: float, least: float) -> float:
    """Return C3, if it is finite: it overflows where C1 is close to the smallest float."""
    checks.needs(
        math.isfinite(c3), "a regret bound", "C1 = P(w >= 1) so large that C3 is a number", least
    )
    return c3
