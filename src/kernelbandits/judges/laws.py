"""Are the laws, schedules and their constants what they are defined to be? By counting, formulas and trying all."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np

from kernelbandits.exploration import Certainty, Decay
from kernelbandits.judges import oracle
from kernelbandits.judges.finding import Effort, Finding, identity
from kernelbandits.judges.oracle import Weights
from kernelbandits.judges.stage import LAWS, NOISE_SCALE, NORM_BOUND, RIDGE, stage
from kernelbandits.policies import GenericGP
from kernelbandits.theory import Constants, constants

NAME = "laws"
PLACES = (-2.0, -1.0, -0.5, -0.25, 0.0, 0.25, 0.3, 0.5, 0.6, 0.75, 1.0, 1.2, 1.7, 2.0, 3.0)
"""Values that some law takes, and others between them."""
ROUNDS = 4
FIRST, FLOOR = 0.8, 0.1
TOLD = {"noise_scale": NOISE_SCALE, "norm_bound": NORM_BOUND, "ridge": RIDGE}


def laws(effort: Effort) -> Iterator[Finding]:
    for title, (law, right) in LAWS.items():
        yield chances(title, law, right)
    for title, (law, right) in LAWS.items():
        if not any(scale for _, _, scale in right.parts):
            yield tried_all(title, law, right)
    yield decaying()
    yield certain()
    yield asked(effort)


def chances(title: str, law: Any, right: Weights) -> Finding:
    """P(w <= x), P(w > x), P(w < x), P(|w| <= u), P(|w| > u), C1, E|w| and E w."""
    x = np.array(PLACES)
    u = x[x >= 0]
    upto, before, within = right.at_most(x), right.below(x), right.at_most(u) - right.below(-u)
    asked = ((law.cdf, x, upto), (law.tail, x, 1 - upto), (law.below, x, before))
    sizes = ((law.cdf_abs, u, within), (law.tail_abs, u, 1 - within))
    numbers = [
        law.optimism - right.optimism,
        law.mean_abs - right.mean_abs,
        law.expectation - right.mean,
    ]
    apart = [
        of(float(place)) - chance
        for of, where, chances in (*asked, *sizes)
        for place, chance in zip(where, chances, strict=True)
    ]
    statement = f"P(w <= x), P(w < x), P(|w| <= u), C1, E|w|, E w of {title}"
    return identity(
        NAME,
        statement,
        np.abs([*apart, *numbers]),
        1e-10,
        f"rounding and quadrature, at {len(x)} places",
    )


def tried_all(title: str, law: Any, right: Weights) -> Finding:
    """C2 = E max|w|, C3 = E max|w|/C1 + E|w|/C1, C3' = E max(w - E w)^+/C1 over all outcomes of four rounds."""
    values, shares = [m for _, m, _ in right.parts], [p for p, _, _ in right.parts]
    plays = [np.array(play) for play in product(values, repeat=ROUNDS)]
    odds = [math.prod(play) for play in product(shares, repeat=ROUNDS)]
    size = sum(p * np.abs(play).max() for p, play in zip(odds, plays, strict=True))
    excess = sum(
        p * np.maximum(play - right.mean, 0).max() for p, play in zip(odds, plays, strict=True)
    )
    c1 = right.optimism
    wanted = c1, float(size), float(size + right.mean_abs) / c1, float(excess) / c1
    return against(
        f"C1, C2, C3, C3' of {title} over {ROUNDS} rounds, all outcomes tried",
        wanted,
        constants(law, ROUNDS),
    )


def decaying() -> Finding:
    """Ber(p_t), p_1 >= p_2 >= ...: the last w_t = 1 has the greatest 1/C1, so C3 = 1 + sum_t prod_{s>t} (1 - p_s)."""
    chances = [max(FLOOR, FIRST / math.sqrt(t)) for t in range(1, 101)]
    later = [math.prod(1 - p for p in chances[t:]) for t in range(1, 101)]
    c2, raised = 1 - math.prod(1 - p for p in chances), sum(later)
    excess = sum((1 - p) * none for p, none in zip(chances, later, strict=True))
    found = constants(Decay(FIRST, 0.5, FLOOR), 100)
    return against(
        "C1, C2, C3, C3' of Ber(max(0.1, 0.8/sqrt(t))) over 100 rounds",
        (FLOOR, c2, 1 + raised, excess),
        found,
    )


def certain() -> Finding:
    """C2 = 1 - (1 - first)^T, C3 = 1 + (1 - (1 - floor)^T)/floor, C3' = (1/floor - 1)(1 - (1 - floor)^T)."""
    ever = 1 - (1 - FLOOR) ** 30
    wanted = FLOOR, 1 - (1 - FIRST) ** 30, 1 + ever / FLOOR, (1 / FLOOR - 1) * ever
    return against(
        "C1, C2, C3, C3' of Certainty(0.8, 0.1) over 30 rounds",
        wanted,
        constants(Certainty(FIRST, FLOOR), 30),
    )


def against(statement: str, wanted: tuple[float, ...], found: Constants) -> Finding:
    seen = found.c1, found.c2, found.c3, found.c3_tight
    return identity(NAME, statement, np.abs(np.array(seen) - wanted), 1e-10, "rounding")


def asked(effort: Effort, rounds: int = 60) -> Finding:
    """Certainty: w_t = 1 where u_t >= 1 - p_t, p_t = floor + (first - floor) max sd / max sqrt(k)."""
    where = stage(effort.seed)
    policy = GenericGP(
        where.instance.domain, where.kernel, Certainty(FIRST, FLOOR), ties="lowest", **TOLD
    )
    arms: list[int] = []
    apart = []
    for t in range(1, rounds + 1):
        known = oracle.collapsed(where.gram, arms, np.zeros(len(arms)), RIDGE)
        p = FLOOR + (FIRST - FLOOR) * known.sd.max() / math.sqrt(where.gram.diagonal().max())
        law = policy.exploration.law(t, policy.posterior)
        choice = policy.ask(t, where.streams)
        apart += [
            abs(law.optimism - p),
            abs(choice.note["weight"] - float(where.streams.uniform("weight", t) >= 1 - p)),
        ]
        arms.append(int(choice.arm or 0))
        policy.tell(choice, 0.0)
    statement = f"Certainty: p_t = floor + (first - floor) max sd/max sqrt(k), and w_t, rounds 1 to {rounds}"
    return identity(NAME, statement, apart, 1e-9, "rounding under a root")
