"""Is the randomness of a game what the proofs assume: each purpose and each round its own, fair and independent?"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.judges import oracle
from kernelbandits.judges.finding import Effort, Finding, counted, identity, verdict
from kernelbandits.judges.stage import NOISE_SCALE, NORM_BOUND, RIDGE, SHARED, Stage, stage
from kernelbandits.policies import GPTS, Choice, SimpleMixture
from kernelbandits.streams import Streams

NAME = "randomness"
PURPOSES = ("problem", "noise", "weight", "tie", "sample")
ROUNDS, NORMALS = 5000, 6
"""More rounds than are drawn at once."""
ERRORS = 6.0
"""How many standard errors a correlation may be off: 2e-9 of all sound ones are."""
CHANCE = 1e-8
"""With which a sound column is further from its law than is allowed."""
GAMES, SHORT = 12, 8
TOLD: dict[str, Any] = {"noise_scale": NOISE_SCALE, "norm_bound": NORM_BOUND}


def randomness(effort: Effort) -> Iterator[Finding]:
    """The table of uniforms and normals, and a generator in its place."""
    streams, other = Streams(effort.seed), Streams(effort.seed + 1)
    columns = {purpose: streams.uniforms(purpose, ROUNDS) for purpose in PURPOSES}
    normals = streams.normals("sample", 1, ROUNDS, NORMALS)
    yield distinct(
        "uniforms",
        np.concatenate([*columns.values(), *(other.uniforms(p, ROUNDS) for p in PURPOSES)]),
    )
    yield distinct(
        "normals",
        np.concatenate([normals.ravel(), other.normals("sample", 1, ROUNDS, NORMALS).ravel()]),
    )
    yield uncorrelated([*columns.values(), *normals.T])
    yield fair([*columns.values(), *(oracle.normal_cdf(column) for column in normals.T)])
    yield looked_up(streams, columns, normals)
    yield weighed(effort)
    yield sampled(effort)


def distinct(what: str, numbers: Array) -> Finding:
    """Two equal ones among n sound ones have a chance below n^2 / 2^54."""
    detail = f"by chance two are equal in {len(numbers) ** 2 / 2**54:.0e} of all tables"
    seen = {"different": len(np.unique(numbers))}
    return counted(
        NAME,
        f"no two {what} alike: all purposes, rounds, two seeds",
        {"different": len(numbers)},
        seen,
        detail,
    )


def uncorrelated(columns: list[Array]) -> Finding:
    """Between any two columns in the same round, and in a column between rounds that follow each other."""
    pairs = [*combinations(columns, 2), *((column[1:], column[:-1]) for column in columns)]
    greatest, limit = (
        float(np.max([abs(correlation(*pair)) for pair in pairs])),
        ERRORS / math.sqrt(ROUNDS - 1),
    )
    return Finding(
        NAME,
        "correlation of purposes within a round, and of rounds within a purpose",
        f"0, up to 6 s.e. = {limit:.3f}",
        f"at most {greatest:.3f}, {len(pairs)} pairs",
        verdict(greatest <= limit),
        detail=f"6 s.e., n = {ROUNDS}",
    )


def correlation(x: Array, y: Array) -> float:
    return float(np.corrcoef(x, y)[0, 1])


def fair(columns: list[Array]) -> Finding:
    """sup |F_n(u) - u| <= sqrt(ln(2 / chance) / (2 n)), of uniforms and of Phi of normals."""
    limit = math.sqrt(math.log(2 / CHANCE) / (2 * ROUNDS))
    steps = np.arange(ROUNDS + 1) / ROUNDS
    far = max(
        float(np.abs([np.sort(u) - steps[1:], np.sort(u) - steps[:-1]]).max()) for u in columns
    )
    detail = f"passed with a chance of {CHANCE:g} by a sound column (Massart); {len(columns)} columns, n = {ROUNDS}"
    statement = "uniforms are uniform and normals normal: sup |F_n - F| of each column"
    return Finding(
        NAME, statement, f"<= {limit:.4f}", f"{far:.4f}", verdict(far <= limit), detail=detail
    )


def looked_up(streams: Streams, columns: dict[str, Array], normals: Array) -> Finding:
    """One number at a time, in any order, is the number of the table."""
    order = streams.generator(21).permutation(ROUNDS)[:300].tolist()
    apart = [
        streams.uniform(purpose, t + 1) - column[t]
        for purpose, column in columns.items()
        for t in order
    ]
    drawn = [np.abs(streams.normal("sample", t + 1, NORMALS) - normals[t]).max() for t in order]
    return identity(
        NAME,
        "a number asked for alone is that of the table, in any order",
        np.abs([*apart, *drawn]),
        0.0,
    )


def weighed(effort: Effort) -> Finding:
    """With a numpy Generator: w_t is the quantile of its next uniform, and the uniform after settles ties."""
    where, right, width = (
        stage(effort.seed),
        0,
        oracle.self_normalised(NOISE_SCALE, NORM_BOUND, RIDGE, 0.5),
    )
    for rng, same in generators(where, 20):
        policy = SimpleMixture(
            where.instance.domain, where.kernel, rho=0.4, ridge=RIDGE, ties="random", **TOLD
        )
        for arms, choice in game(policy, where, rng):
            known = oracle.collapsed(where.gram, arms, where.instance.values[arms], RIDGE)
            weight, tie = SHARED.quantile(same.random()), same.random()
            arm = oracle.best(oracle.Moment(known, weight, width(known.log_det)).index(), tie)
            right += choice.arm == arm and abs(choice.note["weight"] - weight) <= 1e-12
    return replayed("weight and arm follow from its uniforms, in that order", right)


def sampled(effort: Effort) -> Finding:
    """GP-TS with a numpy Generator: a uniform for ties, then 2 n normals."""
    where, right, ridge = stage(effort.seed), 0, 1 + 2 / SHORT
    scale_at, n = oracle.improved(NOISE_SCALE, NORM_BOUND, delta=0.1 / 2), len(where.gram)
    for rng, same in generators(where, 22):
        policy = GPTS(
            where.instance.domain, where.kernel, horizon=SHORT, delta=0.1, ties="random", **TOLD
        )
        for arms, choice in game(policy, where, rng):
            known = oracle.collapsed(where.gram, arms, where.instance.values[arms], ridge)
            tie, normals = same.random(), same.standard_normal(2 * n)
            draw = oracle.deviation(where.gram, arms, ridge, policy.root @ normals[:n], normals[n:])
            right += choice.arm == oracle.best(known.mean + scale_at(known.log_det) * draw, tie)
    return replayed("the draw of GP-TS follows from its normals", right)


def generators(where: Stage, key: int) -> Iterator[tuple[Any, Any]]:
    """Two generators of the same numbers for each game, one to play and one to judge."""
    for number in range(GAMES):
        yield where.streams.generator(key, number), where.streams.generator(key, number)


def game(policy: Any, where: Stage, rng: Any) -> Iterator[tuple[list[int], Choice]]:
    """The arms so far and the choice of each round, rewards without noise."""
    arms: list[int] = []
    for t in range(1, SHORT + 1):
        choice = policy.ask(t, rng)
        yield arms, choice
        arms.append(int(choice.arm or 0))
        policy.tell(choice, float(where.instance.values[arms[-1]]))


def replayed(says: str, right: int) -> Finding:
    wanted, detail = {"rounds": GAMES * SHORT}, f"exact; {GAMES} games, ties random"
    return counted(NAME, f"a numpy Generator: {says}", wanted, {"rounds": right}, detail)
