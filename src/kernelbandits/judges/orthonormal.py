"""Confidence bands on orthonormal arms, where mean, variance and log-determinant are sums over the arms.

mean S / (ridge + n),   variance ridge / (ridge + n),   L = sum ln(1 + n / ridge)
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.judges import oracle
from kernelbandits.judges.claims import CLAIMS
from kernelbandits.judges.worlds import BASIS, FORGETTING, World
from kernelbandits.streams import Streams

Form = Callable[[World, Sequence[int]], Array]
"""(world, arms played, in order) -> width sd of all arms."""


def orthonormal(ridge: float, width: oracle.Width, counts: Array) -> Array:
    """width(L) sqrt(ridge / (ridge + n)), L = sum ln(1 + n / ridge)."""
    return width(float(np.log1p(counts / ridge).sum())) * np.sqrt(ridge / (ridge + counts))


def form(ridge: Callable[[World], float], width: Callable[[World, int], oracle.Width]) -> Form:
    """A band of fixed ridge whose width is told by R, D, T, the round and L."""

    def half(world: World, arms: Sequence[int]) -> Array:
        counts = np.bincount(arms, minlength=len(BASIS)).astype(float)
        return orthonormal(ridge(world), width(world, len(arms) + 1), counts)

    return half


def self_normalised(delta: float) -> Form:
    return form(
        lambda w: 1.0, lambda w, t: oracle.self_normalised(w.noise_scale, w.norm_bound, 1.0, delta)
    )


def improved(delta: float) -> Form:
    """At ridge 1 + 2/T."""
    return form(
        lambda w: 1 + 2 / w.horizon,
        lambda w, t: oracle.improved(w.noise_scale, w.norm_bound, delta),
    )


def fixed_design(ridge: float, claims: int) -> Form:
    """D + (R / sqrt(ridge)) sqrt(2 ln(2 claims / delta))."""
    return form(lambda w: ridge, lambda w, t: lambda log_det: fixed_width(w, ridge, claims))


def fixed_width(world: World, ridge: float, claims: int) -> float:
    return world.norm_bound + world.noise_scale * math.sqrt(2 / ridge * math.log(2 * claims / 0.1))


def finite(world: World, t: int) -> oracle.Width:
    """sqrt(2 ln(n t^2 pi^2 / (6 delta)))."""
    return lambda log_det: math.sqrt(2 * math.log(len(BASIS) * t**2 * math.pi**2 / 0.6))


def agnostic(world: World, t: int) -> oracle.Width:
    """sqrt(2 D^2 + 300 gamma_t ln^3(t/delta)), gamma_t = e/(e-1) times the gain of t even plays."""
    even = np.bincount(np.arange(t) % len(BASIS), minlength=len(BASIS))
    gain = float(np.log1p(even / world.noise_scale**2).sum()) / 2 / (1 - math.exp(-1))
    return lambda log_det: math.sqrt(2 * world.norm_bound**2 + 300 * gain * math.log(t / 0.1) ** 3)


def truncated(world: World, t: int) -> oracle.Width:
    """D + 3 b_{t-1} sqrt(L/2 + 1 + ln(1/delta)), b_n = v^(2/3) n^(1/3)."""
    level = CLAIMS["TGP-UCB"].settings["moment_bound"] ** (2 / 3) * (t - 1) ** (1 / 3)
    return lambda log_det: world.norm_bound + 3 * level * math.sqrt(log_det / 2 + 1 + math.log(10))


def faded(world: World, arms: Sequence[int]) -> Array:
    """Weights eta^(t-1-s) in the variance, their squares in Lbar."""
    ages = len(arms) - 1 - np.arange(len(arms))
    once, twice = (
        np.bincount(arms, power**ages, len(BASIS)) for power in (FORGETTING, FORGETTING**2)
    )
    width = oracle.self_normalised(world.noise_scale, world.norm_bound, 1.0, 0.1)
    return width(float(np.log1p(twice).sum())) * np.sqrt(1 / (1 + once))


FORMS: Mapping[str, Form] = {
    "Simple-UCB": self_normalised(0.5),
    "Simple-Gaussian": self_normalised(0.5),
    "RandUCB": self_normalised(0.1),
    "Whitehouse": self_normalised(0.1),
    "OFUL": self_normalised(0.1),
    "IGP-UCB": improved(0.1),
    "GP-TS": improved(0.05),
    "AMM-UCB": form(
        lambda w: 1.0, lambda w, t: oracle.mixed(w.noise_scale, w.norm_bound, 1.0, 0.1)
    ),
    "GP-UCB finite": form(lambda w: w.noise_scale**2, finite),
    "GP-UCB rkhs": form(lambda w: w.noise_scale**2, agnostic),
    "BPE": fixed_design(0.1, 3 * len(BASIS)),
    "REDS": fixed_design(0.1, 4 * len(BASIS)),
    "MVR": fixed_design(0.1, len(BASIS)),
    "TGP-UCB": form(lambda w: 1 + 2 / w.horizon, truncated),
    "WGP-UCB": faded,
}
"""Bands with a closed form on orthonormal arms; T = 60 makes 3 batches (8, 22, 30) and 4 epochs (8, 16, 32, 4)."""


def loses(world: World, width: oracle.Width, seed: int) -> bool:
    """Whether f leaves mean -+ width(L) sd at ridge 1 in the game of this seed, its errors chased."""
    streams = Streams(seed)
    instance = world.draw(world, streams)
    f, counts, sums = instance.values, np.zeros(len(BASIS)), np.zeros(len(BASIS))
    for noise in instance.noise.draw(streams.uniforms("noise", world.horizon)):
        errors = np.abs(f - sums / (1 + counts)) * np.sqrt(1 + counts)
        arm = int(errors.argmax())
        if errors[arm] > width(float(np.log1p(counts).sum())):
            return True
        counts[arm] += 1
        sums[arm] += f[arm] + noise
    return False
