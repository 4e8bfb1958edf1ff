"""Do the weights drawn follow their law, negative ones included?"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.experiment.engines import rounds
from kernelbandits.exploration import Bernoulli, Decay
from kernelbandits.judges.finding import Effort, Finding, identity, standard_error, verdict
from kernelbandits.judges.oracle import Weights, atoms
from kernelbandits.judges.stage import LAWS, step
from kernelbandits.kernels import Linear
from kernelbandits.policies import GenericGP
from kernelbandits.problems import GaussianNoise, Instance
from kernelbandits.streams import Streams

NAME = "engine"
ERRORS = 4.0
"""How many standard errors a share or a mean may be off: 6e-5 of all sound ones are."""
CHANCE = 1e-4
"""With which a sound sample is further from its law than `critical_distance`."""


def weight_findings(effort: Effort) -> Iterator[Finding]:
    draws = effort.runs(4000, least=1000)
    for number, (title, (law, right)) in enumerate(LAWS.items()):
        if right.variance:
            streams = Streams(effort.seed + number)
            yield law_finding(
                f"weights {title}, {draws} rounds", right, *drawn(law, draws, streams)
            )
    schedule, law_at = step(draws)
    noted, table = (
        np.split(sample, [draws // 2]) for sample in drawn(schedule, draws, Streams(effort.seed))
    )
    for half, t in enumerate((1, draws)):
        statement = f"weights Ber(1/2) then Ber(1/4), {('first', 'second')[half]} half"
        yield law_finding(statement, law_at(t), noted[half], table[half])
    yield change_finding(effort)
    yield schedule_finding(effort)


def change_finding(effort: Effort, last: int = 10, seeds: int = 60) -> Finding:
    """The law of a schedule changes after its last round: a round off changes one weight in four there."""
    (schedule, law_at), around = step(2 * last), range(last - 1, last + 3)
    tables = map(Streams, range(effort.seed, effort.seed + seeds))
    apart = [off_weight(two_arms(schedule), around, law_at, streams) for streams in tables]
    statement = (
        f"weights Ber(1/2) up to round {last}, then Ber(1/4): rounds {around[0]} to {around[-1]}"
    )
    return identity(NAME, statement, apart, 1e-12, f"exact, by ask and in the table, {seeds} seeds")


def schedule_finding(effort: Effort, last: int = 60, seeds: int = 20) -> Finding:
    """Decay: p_t = max(floor, first t^-power), its floor from round 21 on; and a schedule that is a function."""
    schedules = (
        (two_arms(Decay(0.9, 0.5, 0.2)), lambda t: coin(max(0.2, 0.9 / math.sqrt(t)))),
        (
            two_arms(lambda t: Bernoulli(0.8 if t % 3 else 0.2)),
            lambda t: coin(0.8 if t % 3 else 0.2),
        ),
    )
    tables, rounds = (
        [Streams(seed) for seed in range(effort.seed, effort.seed + seeds)],
        range(1, last + 1),
    )
    apart = [
        off_weight(policy, rounds, law, streams) for policy, law in schedules for streams in tables
    ]
    statement = f"weights Ber(max(0.2, 0.9/sqrt(t))), and Ber(0.8), Ber(0.8), Ber(0.2) in turn: rounds 1 to {last}"
    return identity(NAME, statement, apart, 1e-12, f"exact, by ask and in the table, {seeds} seeds")


def coin(p: float) -> Weights:
    return atoms((1 - p, p), (0.0, 1.0))


def off_weight(
    policy: GenericGP, rounds: range, law_at: Callable[[int], Weights], streams: Streams
) -> float:
    """The greatest difference of a weight, asked for or in the table, from the quantile of its law."""
    table = policy.tables(rounds[-1], streams).weights
    pairs = [(policy.ask(t, streams).note["weight"], float(table[t - 1])) for t in rounds]
    rights = [law_at(t).quantile(streams.uniform("weight", t)) for t in rounds]
    return max(
        abs(weight - right) for both, right in zip(pairs, rights, strict=True) for weight in both
    )


def two_arms(exploration: Any) -> GenericGP:
    return GenericGP(np.eye(2), Linear(), exploration, noise_scale=1.0, norm_bound=1.0)


def drawn(exploration: Any, draws: int, streams: Streams) -> tuple[Array, Array]:
    """The weights in the notes of `ask`, and of another seed those that the compiled loop is given."""
    policy = two_arms(exploration)
    instance = Instance("two arms", policy.domain, np.zeros(2), GaussianNoise(1.0))
    noted = [now.choice.note["weight"] for now in rounds(policy, instance, draws, streams)]
    return np.array(noted), policy.tables(draws, Streams(streams.seed + 1000)).weights


def law_finding(statement: str, law: Weights, noted: Array, table: Array) -> Finding:
    """P(w < 0), E w and P(w >= 1) within four standard errors, and the distribution function everywhere."""
    samples = {"ask": noted, "table": table}
    limit = critical_distance(len(noted))
    fits = all(
        likely(law, sample) and distance(law, sample) <= limit for sample in samples.values()
    )
    predicted = f"P(w<0) {law.negative:.3f}, Ew {law.mean:.3f}, P(w>=1) {law.optimism:.3f}"
    seen = [
        f"{name} {share(x < 0):.3f}, {x.mean():.3f}, {share(x >= 1):.3f}"
        for name, x in samples.items()
    ]
    far = max(distance(law, sample) for sample in samples.values())
    detail = f"4 s.e. each; sup |F_n - F| = {far:.4f} <= {limit:.4f} = sqrt(ln(2 / 1e-4) / (2 n)) (Massart)"
    return Finding(NAME, statement, predicted, "; ".join(seen), verdict(fits), detail=detail)


def likely(law: Weights, sample: Array) -> bool:
    n = len(sample)
    means = (
        (share(sample < 0), law.negative, standard_error(law.negative, n)),
        (share(sample >= 1), law.optimism, standard_error(law.optimism, n)),
        (float(sample.mean()), law.mean, math.sqrt(law.variance / n)),
    )
    return all(abs(seen - right) <= ERRORS * error + 1e-12 for seen, right, error in means)


def share(condition: Any) -> float:
    return float(np.mean(condition))


def distance(law: Weights, sample: Array) -> float:
    """sup_x |F_n(x) - F(x)|, at the values drawn and just below them."""
    values, counts = np.unique(sample, return_counts=True)
    upto = np.cumsum(counts) / len(sample)
    before = upto - counts / len(sample)
    return float(
        max(np.abs(upto - law.at_most(values)).max(), np.abs(before - law.below(values)).max())
    )


def critical_distance(draws: int) -> float:
    """P(sup |F_n - F| > d) <= 2 exp(-2 n d^2) for every law: Dvoretzky, Kiefer & Wolfowitz; Massart (1990)."""
    return math.sqrt(math.log(2 / CHANCE) / (2 * draws))
