"""The judge of confidence bands: f leaves each of them no more often than its delta allows.

That alone would let a band twice too wide pass. So equalities stand beside it, on orthonormal arms, where all has a
closed form: the widths themselves, and how many games a band of delta 1/2 loses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.judges import oracle
from kernelbandits.judges.claims import CLAIMS, Claim
from kernelbandits.judges.finding import FALSE_ALARM, Effort, Finding, allowed, share, verdict
from kernelbandits.judges.orthonormal import FORMS, Form, loses
from kernelbandits.judges.worlds import CHASED, World
from kernelbandits.policies import Choice
from kernelbandits.problems import Instance, MovingInstance
from kernelbandits.streams import Streams

ROUNDING = 1e-9
LEAST, FEW = 40, 24
"""Runs in a first look, and where a claim is slow to judge."""
UNLIKE = replace(CHASED, noise_scale=0.7, norm_bound=0.4)
"""R and D that cannot be taken for each other, nor for their squares."""


def coverage(effort: Effort) -> Iterator[Finding]:
    """Every band under play at its premises, and what is known exactly of some."""
    for name, claim in CLAIMS.items():
        yield covered(name, claim, effort)
    yield closed_widths(effort)
    told = (CHASED.noise_scale, CHASED.norm_bound, 1.0, 0.5)
    yield closed_games("Simple-UCB", oracle.self_normalised(*told), effort)
    yield closed_games("AMM-UCB, delta 1/2", oracle.mixed(*told), effort)


def covered(name: str, claim: Claim, effort: Effort) -> Finding:
    """f leaves the band in a share of at most delta of the runs, in every world of the claim."""
    counts = [(world, *failures(claim, world, effort)) for world in claim.worlds]
    limits = [allowed(claim.delta, runs) for _, _, runs in counts]
    chance = dict.fromkeys(
        f"{limit} of {runs}" for limit, (_, _, runs) in zip(limits, counts, strict=True)
    )
    never = (
        "" if any(lost for _, lost, _ in counts) else "; never left: a loose band, or a mild test"
    )
    return Finding(
        "coverage",
        f"{name}: {claim.says}",
        f"left in <= {claim.delta:g} of the runs (chance allows {', '.join(chance)})",
        ", ".join(share(lost, runs, world.name) for world, lost, runs in counts),
        verdict(all(lost <= limit for (_, lost, _), limit in zip(counts, limits, strict=True))),
        detail=f"chance allows the least k with P(Bin(runs, {claim.delta:g}) > k) <= {FALSE_ALARM:g}{never}",
    )


def failures(claim: Claim, world: World, effort: Effort) -> tuple[int, int]:
    """In how many runs f ever left the band, and of how many."""
    runs = effort.runs(round(world.runs * claim.share), least=LEAST if claim.share == 1 else FEW)
    return sum(left(claim, world, seed) for seed in seeds(effort, runs)), runs


def seeds(effort: Effort, runs: int) -> range:
    """Other games for every seed of the effort."""
    return range(effort.seed * 10**6, effort.seed * 10**6 + runs)


def left(claim: Claim, world: World, seed: int) -> bool:
    """Whether f leaves the band in any round in which the claim is made."""
    game = played(claim, world, seed)
    return any(
        claim.judged(policy, t, world) and not holds(claim, policy, t, world, f)
        for policy, t, f in game
    )


def played(claim: Claim, world: World, seed: int) -> Iterator[tuple[Any, int, Array]]:
    """The policy, t and f_t before each round of a game; then the round is played."""
    streams = Streams(seed)
    instance = world.draw(world, streams)
    policy = claim.build(instance, world)
    for t in range(1, world.horizon + 1):
        f = truth(instance, t)
        yield policy, t, f
        choice = chased(policy, f) if world.chased else policy.ask(t, streams)
        policy.tell(choice, instance.pull(int(choice.arm or 0), streams.uniform("noise", t), t))


def truth(instance: Instance, t: int) -> Array:
    """f_t"""
    return instance.at(t) if isinstance(instance, MovingInstance) else instance.values


def chased(policy: Any, f: Array) -> Choice:
    """The arm of the greatest |f - mean| / sd, by a player who knows f and makes the band fail where it can."""
    choice: Choice = policy.choice(greatest_error(policy, f))
    return choice


def greatest_error(policy: Any, f: Array) -> int:
    posterior = policy.posterior
    return int((np.abs(f - posterior.mean) / posterior.sd).argmax())


def holds(claim: Claim, policy: Any, t: int, world: World, f: Array) -> bool:
    """lower <= f <= upper on all arms, and what else is said."""
    lower, upper = claim.bounds(policy, t, world)
    inside = bool(((lower - ROUNDING <= f) & (f <= upper + ROUNDING)).all())
    return inside and claim.also(policy, world, f)


def closed_widths(effort: Effort) -> Finding:
    """(upper - lower) / 2 of the policies, against the closed forms."""
    found = {name: error_of(CLAIMS[name], half, effort.seed) for name, half in FORMS.items()}
    worst = max(found, key=found.__getitem__)
    return Finding(
        "coverage",
        f"half-widths of {len(FORMS)} bands on orthonormal arms, by their formulas",
        "relative difference 0",
        f"{found[worst]:.1e} ({worst})",
        verdict(found[worst] <= ROUNDING),
        detail=f"rounding: {ROUNDING:g}; {', '.join(FORMS)}",
    )


def error_of(claim: Claim, half: Form, seed: int) -> float:
    """The greatest relative difference from the closed form, after 45 chased rounds or 7 of a first batch."""
    arms: list[int] = []
    for policy, t, f in played(claim, UNLIKE, seed):
        if t > (7 if hasattr(policy, "batch") else 45):
            break
        arms.append(greatest_error(policy, f))
    lower, upper = claim.bounds(policy, t, UNLIKE)
    return float(np.abs((upper - lower) / 2 / half(UNLIKE, arms) - 1).max())


ENOUGH = 60
"""Games of which a band that is left in a quarter of them is left in some."""


def closed_games(name: str, width: oracle.Width, effort: Effort) -> Finding:
    """The band loses the games that the closed form loses, and some of them: it is no wider than it says."""
    lost, runs = failures(replace(CLAIMS[name], share=0.5), CHASED, effort)
    expected = sum(loses(CHASED, width, seed) for seed in seeds(effort, runs))
    return Finding(
        "coverage",
        f"{name} on orthonormal arms, chased: loses as many games as its closed form, and some",
        f"{expected} of {runs}, > 0",
        f"{lost} of {runs}",
        verdict(lost == expected and (expected > 0 or runs < ENOUGH)),
    )
