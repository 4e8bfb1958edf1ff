"""The three constants of an exploration schedule, through which one theorem covers every law.

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
from kernelbandits.exploration import Bernoulli, Certainty, Decay, Exploration, Law
from kernelbandits.exploration.tails import USABLE
from kernelbandits.streams import PURPOSES, Streams
from kernelbandits.theory.maxima import expected_maximum, simulated_maxima
from kernelbandits.theory.rounds import Laws, Single, Table, bernoullis, tabled

METHODS = ("auto", "simulated")
NEEDED = "C1 = P(w >= 1) > 0 in every round"
MOST_ROUNDS = 10**7
"""How many rounds a schedule is asked about one by one."""
LARGEST_MEAN = 1e140
"""Up to which a tail is looked at."""
MOST_LAWS = 20_000
"""How many laws that are not discrete are integrated together; of more, the maximum is simulated."""
DRAWS, MOST_DRAWS = 2 * 10**7, 10**10
"""Weights that a simulation draws unless told otherwise, and at the most."""


@dataclass(frozen=True)
class Constants:
    """What the bounds need of an exploration schedule over T rounds."""

    c1: float
    """min_t P(w_t >= 1)"""
    c2: float
    c3: float
    c3_tight: float
    """C3' = E max_t (w_t - E w_t)^+ / C1_t, which may stand for C3 in the repaired bound: 0 for a point mass."""
    horizon: int
    error: float = 0.0
    """0 where six digits are right; else the standard error of a simulation, or what a coarse tail leaves open."""
    method: str = "exact"
    """exact | quadrature | simulated | over all histories"""

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
    """C1, C2, C3 and C3' of a law, of a schedule t -> law, or of `Certainty`, over T rounds.

    Discrete laws are summed, others integrated; what cannot be integrated to a thousandth is simulated, as is anything
    on demand. C2 and C3 are infinite where E|w| is.
    """
    rounds = checks.whole("constants", "horizon", horizon)
    checks.one_of("constants", "method", method, METHODS)
    chosen = Exploration.of(exploration)
    if isinstance(chosen.source, Certainty):
        checks.needs(
            method == "auto", "Certainty", "method 'auto', for its laws follow the history", method
        )
        return over_all_histories(chosen.source, rounds)
    laws = laws_of(chosen, rounds)
    least = optimism(chosen, laws, rounds)
    if any(np.isinf(law.mean_abs).any() for law in laws):
        return Constants(least, math.inf, math.inf, math.inf, rounds, method="quadrature")
    for law in (law for law in laws if isinstance(law, Single)):
        needed = f"E|w| <= {LARGEST_MEAN:g} of a law that is not discrete"
        checks.needs(law.mean_abs[0] <= LARGEST_MEAN, "constants", needed, law.law)
    found = computed(laws, rounds, least) if method == "auto" else None
    return found or simulated(laws, counted_laws(chosen, rounds), least, samples, seed)


def computed(laws: Laws, horizon: int, least: float) -> Constants | None:
    """By sums and integrals, with weights scaled by min C1 / C1_t <= 1; nothing where an integral is not accurate."""
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
    method = "exact" if all(isinstance(law, Table) for law in laws) else "quadrature"
    c3 = finite((raised.value + widest(laws, least)) / least, least)
    error = max(size.remark, raised.remark / least)
    return Constants(least, size.value, c3, excess.value / least, horizon, error, method)


def simulated(
    laws: Laws, counts: Counter[Law], least: float, samples: int | None, seed: int
) -> Constants:
    """By many schedules of weights, drawn as a policy draws them; C1 and the means are those of the laws."""
    horizon = counts.total()
    usual = min(max(DRAWS // horizon, 100), 10_000)
    many = usual if samples is None else checks.whole("constants", "samples", samples, least=2)
    checks.needs(
        many * horizon <= MOST_DRAWS,
        "a simulation",
        f"samples * horizon <= {MOST_DRAWS:g}",
        many * horizon,
    )
    found = simulated_maxima(counts, least, many, Streams(seed).generator(len(PURPOSES)))
    size, raised, excess = found.mean(axis=1).tolist()
    errors = found.std(axis=1, ddof=1) / math.sqrt(many) / [1.0, least, least]
    c3 = finite((raised + widest(laws, least)) / least, least)
    return Constants(least, size, c3, excess / least, horizon, float(errors.max()), "simulated")


def over_all_histories(schedule: Certainty, horizon: int) -> Constants:
    """The worst that p_t in [floor, first] can do, whatever the history: Ber(first) for C2, Ber(floor) for the rest.

    C2: P(w_1 = ... = w_T = 0) >= (1 - first)^T. C3 and C3': with chance p a round raises the maximum m so far to 1/p
    (C3': 1/p - 1), which makes 1 + (1 - p) m, or (1 - p)(1 + m), on average: greatest at p = floor whatever m, and
    linear in m, so that by induction p = floor is the worst in every round. E|w_t| / C1_t is 1.
    """
    checks.needs(schedule.floor > 0, "a regret bound", NEEDED, schedule)
    seldom = constants(Bernoulli(schedule.floor), horizon)
    return replace(
        seldom, c2=constants(Bernoulli(schedule.first), horizon).c2, method="over all histories"
    )


def laws_of(chosen: Exploration, horizon: int) -> Laws:
    """The laws of rounds 1..T; a decay gives its chances at once."""
    if not isinstance(chosen.source, Decay):
        return tabled(counted_laws(chosen, horizon))
    early = asked(chosen.source.early_rounds(horizon))
    late: dict[Law, int] = {chosen.source(horizon): horizon - early} if early < horizon else {}
    return [*([bernoullis(chosen.source.chances(early))] if early else []), *tabled(late)]


def counted_laws(exploration: Any, horizon: int) -> Counter[Law]:
    """How many of the rounds 1..T have each law."""
    chosen = Exploration.of(exploration)
    needed = "a law, or a schedule t -> law (for those that look at the history give the least favourable laws)"
    checks.needs(not chosen.uses_history, "constants", needed, chosen.source)
    if chosen.arguments and not hasattr(chosen.source, "runs"):
        asked(horizon)
    try:
        return chosen.counts(horizon)
    except TypeError as wrong:
        checks.needs(
            "unhashable" not in str(wrong), "constants", "laws that can be hashed", str(wrong)
        )
        raise ValueError(
            f"constants needs a schedule t -> law, got {chosen.source!r}: {wrong}"
        ) from wrong


def asked(rounds: int) -> int:
    """A number of rounds that a schedule may be asked about one by one."""
    checks.needs(
        rounds <= MOST_ROUNDS,
        "a schedule of ever new laws",
        f"a horizon <= {MOST_ROUNDS:g}",
        rounds,
    )
    return rounds


def optimism(chosen: Exploration, laws: Laws, horizon: int) -> float:
    """min_t C1_t, by which the bounds divide."""
    least = float(np.concatenate([law.optimism for law in laws]).min())
    if not least > 0:
        raise ValueError(f"a regret bound needs {NEEDED}, got {pessimist(chosen, horizon)}")
    return least


def pessimist(chosen: Exploration, horizon: int) -> str:
    """The first law that never reaches one, and its round if it is a schedule's."""
    law, start = next(
        (law, start) for law, start, _ in chosen.runs(horizon) if not law.optimism > 0
    )
    return f"{law!r} in round {start + 1}" if chosen.arguments else repr(law)


def least_optimism(laws: Iterable[Law]) -> float:
    """min C1 of some laws, by which the bounds divide."""
    worst = min(laws, key=lambda law: law.optimism)
    checks.needs(worst.optimism > 0, "a regret bound", NEEDED, worst)
    return worst.optimism


def widest(laws: Laws, least: float) -> float:
    """min_t C1_t max_t E|w_t| / C1_t"""
    return max(float((law.mean_abs * (least / law.optimism)).max()) for law in laws)


def finite(c3: float, least: float) -> float:
    checks.needs(
        math.isfinite(c3), "a regret bound", "C1 = P(w >= 1) so large that C3 is a number", least
    )
    return c3
