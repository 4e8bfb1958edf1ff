"""The regret certificate: no regret exceeds it in any round, more often than delta allows.

Policies that know nothing of f are far below it. So an opponent plays too, who knows f: each round
takes the arm after which the regret is expected nearest to the certificate. At delta = 1/2 it must
succeed now and then, or the check could not fail.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelbandits.catalogue import policy, policy_entry, shared_settings
from kernelbandits.checks import Array
from kernelbandits.domains import Arms
from kernelbandits.kernels import RBF, Kernel, Linear, Matern
from kernelbandits.posterior import ArmPosterior
from kernelbandits.problems import (
    GaussianNoise,
    Instance,
    Noise,
    RademacherNoise,
    UniformNoise,
)
from kernelbandits.problems.base import problem_generator
from kernelbandits.streams import Streams
from kernelbandits.theory import confidence_band
from kernelbandits.theory.bands import ConfidenceSet, narrow_ridge
from kernelbandits.verification.scenarios import function_of_norm
from kernelbandits.verification.statements import (
    FALSE_ALARM,
    CheckedStatement,
    Effort,
    format_share,
    most_failures,
)

POLICIES = ("amm-ucb", "simple-gaussian", "gp-ts", "pims", "random")
KERNELS: tuple[Kernel, ...] = (RBF(0.3), Matern(0.3, nu=1.5), Linear())
NOISES: tuple[Callable[[float], Noise], ...] = (
    GaussianNoise,
    RademacherNoise,
    lambda scale: UniformNoise(scale * math.sqrt(3)),
)
"""R -> a law whose R is this number."""
DELTA, WIDE_DELTA = 0.1, 0.5
NORM_BOUND, ARMS = 1.0, 12
ROUNDS, EVERY, OPPONENT_ROUNDS = 100, 5, 60
QUIET, LOUD = 0.2, 1.0
"""R, for policies and for the opponent."""
PAIR = Arms(np.eye(2))
METHODS = ("whitehouse", "amm", "cmm")
ROUNDING = 1e-9


def check_certificate(effort: Effort) -> Iterator[CheckedStatement]:
    for name in POLICIES:
        yield check_policy(name, effort)
    yield from check_opponent(effort)


@dataclass(frozen=True)
class CertificateCase:
    """What a certificate is told."""

    noise_scale: float
    delta: float
    norm_bound: float = NORM_BOUND

    def is_exceeded(self, posterior: Any, instance: Instance, methods: tuple[str, ...]) -> bool:
        """Tell whether the regret of what was played exceeds one of these certificates."""
        regret = float(posterior.counts @ instance.gaps)
        told = self.noise_scale, self.norm_bound, self.delta
        bands = (confidence_band(posterior, *told, method) for method in methods)
        return any(regret > (1 + ROUNDING) * band.regret_certificate + ROUNDING for band in bands)


def check_policy(name: str, effort: Effort) -> CheckedStatement:
    """Check the certificate of a policy under all kernels and laws of noise."""
    runs = effort.runs(54, least=27)
    exceeded = sum(policy_exceeds(name, seed) for seed in effort.seeds(runs))
    return state_rate(f"The regret of {name} is below its certificate", DELTA, exceeded, runs)


def policy_exceeds(name: str, seed: int) -> bool:
    """Play a run, and tell whether the regret exceeds a certificate in one of the rounds."""
    streams = Streams(seed)
    kernel, law = KERNELS[seed % 3], NOISES[seed // 3 % 3]
    instance = draw_instance(kernel, law(QUIET), streams)
    scales = {"noise_scale": QUIET, "norm_bound": NORM_BOUND, "horizon": ROUNDS}
    settings = shared_settings(policy_entry(name), scales)
    rule = policy(name, instance.domain, kernel, **settings)
    ridge = narrow_ridge(QUIET, NORM_BOUND, ARMS)
    posterior = ArmPosterior(kernel, instance.domain, ridge)
    told, exceeded = CertificateCase(QUIET, DELTA), False
    for t in range(1, ROUNDS + 1):
        choice = rule.ask(t, streams)
        arm = int(choice.arm or 0)
        reward = instance.pull(arm, streams.uniform("noise", t), t)
        rule.tell(choice, reward)
        posterior.update(arm, reward)
        if t % EVERY == 0:
            exceeded |= told.is_exceeded(posterior, instance, ("amm",))
    return exceeded or told.is_exceeded(posterior, instance, METHODS)


def draw_instance(kernel: Kernel, noise: Noise, streams: Streams) -> Instance:
    """Return arms on the unit circle and an f of norm D."""
    rng = problem_generator(streams)
    angles = 2 * np.pi * rng.random(2 * ARMS)
    points = np.column_stack((np.cos(angles), np.sin(angles)))
    arms, centres = points[:ARMS], points[ARMS:]
    values = function_of_norm(NORM_BOUND, kernel, arms, centres, rng.standard_normal(ARMS))
    return Instance("certificate", Arms(arms), values, noise)


def check_opponent(effort: Effort) -> Iterator[CheckedStatement]:
    """Check certificates against an opponent; that of a fourth of the radius should fail."""
    runs = effort.runs(200, least=100)
    exceeded = np.sum([opponent_exceeds(seed) for seed in effort.seeds(runs)], axis=0)
    statement = "The regret is below the certificate when an opponent chooses who knows f"
    yield state_rate(statement, WIDE_DELTA, int(exceeded[0]), runs)
    yield state_rate(statement, DELTA, int(exceeded[1]), runs)
    false = "The regret is below a certificate with a fourth of the radius, against the opponent"
    yield state_rate(false, DELTA, int(exceeded[2]), runs, should_hold=False)


def opponent_exceeds(seed: int) -> list[bool]:
    """Play a run against three certificates, and tell which of them the regret ever exceeds."""
    streams = Streams(seed)
    noise, rng = NOISES[seed % 3](LOUD), problem_generator(streams)
    direction = rng.standard_normal(2)
    instance = Instance("opponent", PAIR, NORM_BOUND * direction / np.linalg.norm(direction), noise)
    posterior = ArmPosterior(Linear(), PAIR, narrow_ridge(LOUD, NORM_BOUND, len(PAIR)))
    wide, usual = CertificateCase(LOUD, WIDE_DELTA), CertificateCase(LOUD, DELTA)
    exceeded = [False] * 3
    for t in range(1, OPPONENT_ROUNDS + 1):
        arm = nearest_arm(posterior, instance)
        posterior.update(arm, instance.pull(arm, streams.uniform("noise", t), t))
        exceeded[0] |= wide.is_exceeded(posterior, instance, ("amm",))
        exceeded[1] |= usual.is_exceeded(posterior, instance, ("amm",))
        exceeded[2] |= float(posterior.counts @ instance.gaps) > fourth_of_radius(posterior)
    return exceeded


def fourth_of_radius(posterior: ArmPosterior) -> float:
    """Return the certificate of the opponent's game with a fourth of its radius, which is false."""
    whole = ConfidenceSet.of(posterior, LOUD, NORM_BOUND, DELTA, "amm")
    limit = NORM_BOUND * np.sqrt(posterior.prior)
    narrow = replace(whole, width=whole.width / 4)
    return narrow.bound_regret(-limit, limit, 2 * limit, np.arange(len(limit)))


def nearest_arm(posterior: ArmPosterior, instance: Instance) -> int:
    """Return the arm after which the regret is expected nearest to its certificate.

    The nearness is <g, f - mean> / sd(g), where <g, f> = T f(x*) - sum_i n_i f(x_i), if the next
    reward is f(x).
    """
    f, best = instance.values, instance.best
    nearness = np.full(len(f), -math.inf)
    for arm in range(len(f)):
        column = posterior.cov[:, arm]
        evidence = column[arm] + posterior.ridge
        mean = posterior.mean + column * (f[arm] - posterior.mean[arm]) / evidence
        cov = posterior.cov - np.outer(column, column) / evidence
        weights: Array = -posterior.counts.astype(float)
        weights[arm] -= 1
        weights[best] += posterior.events + 1
        variance = float(weights @ cov @ weights)
        # No regret and nothing unknown: the best arm was played alone.
        if variance > ROUNDING:
            nearness[arm] = weights @ (f - mean) / math.sqrt(variance)
    return int(nearness.argmax())


def state_rate(
    statement: str, delta: float, exceeded: int, runs: int, should_hold: bool = True
) -> CheckedStatement:
    """State that the certificates fail at most at the rate delta, and do fail at delta = 1/2."""
    most, least = most_failures(delta, runs), int(delta == WIDE_DELTA)
    span = f"rate in (0, {delta:g}]" if least else f"rate <= {delta:g}"
    return CheckedStatement(
        f"{statement}, in all rounds at once; delta = {delta:g}, {runs} runs",
        f"{span} (up to {most} of {runs} by chance)",
        format_share(exceeded, runs),
        holds=least <= exceeded <= most,
        should_hold=should_hold,
        detail=f"the limit is the least k with P(Bin(runs, {delta:g}) > k) <= {FALSE_ALARM:g}",
    )
