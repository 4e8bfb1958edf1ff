"""Every confidence band of the package: what it says, how often it may be wrong, and where that is put to the test."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelbandits import widths
from kernelbandits.catalogue import policy, policy_entry, shared_settings
from kernelbandits.checks import Array
from kernelbandits.judges.worlds import (
    BOUNDED,
    CHASED,
    DESIGNED,
    DRIFTING,
    FORGETTING,
    HEAVY,
    JUMPING,
    KNOWN,
    LARGE,
    OWN,
    PERIOD,
    PLANE,
    PRIOR,
    RATE,
    SILENT,
    SPIKE,
    UNKNOWN,
    World,
)
from kernelbandits.problems import Instance
from kernelbandits.theory import confidence_band

Bounds = tuple[Array, Array]
"""Lower and upper bounds of f on all arms."""
Judged = Callable[[Any, int, World], bool]
"""(policy, round, world) -> whether the claim is made in this round."""


@dataclass(frozen=True)
class Claim:
    """f lies between `bounds` in all the rounds `judged` at once, with chance 1 - delta."""

    policy: str
    """Its name in the catalogue."""
    bounds: Callable[[Any, int, World], Bounds]
    says: str
    delta: float = 0.1
    worlds: tuple[World, ...] = (CHASED, OWN, SPIKE)
    settings: Mapping[str, Any] = field(default_factory=dict)
    judged: Judged = lambda policy, t, world: True
    also: Callable[[Any, World, Array], bool] = lambda policy, world, f: True
    """What else is said on the same event."""
    share: float = 1.0
    """Of the runs of a world, for a band that is dear."""

    def build(self, instance: Instance, world: World) -> Any:
        """The policy, told the world's R, D and T."""
        entry = policy_entry(self.policy)
        told = {"noise_scale": world.noise_scale, "norm_bound": world.norm_bound}
        shared = shared_settings(entry, told | {"horizon": world.horizon, "delta": self.delta})
        return policy(self.policy, instance.domain, world.kernel, **shared | dict(self.settings))


def around(policy: Any, t: int, world: World) -> Bounds:
    """mean -+ width sd: the index at w = -1 and at w = 1."""
    return policy.index(t, -1.0), policy.index(t, 1.0)


def band(policy: Any, t: int, world: World) -> Bounds:
    lower, upper = policy.band(t)
    return lower, upper


def above(policy: Any, t: int, world: World) -> Bounds:
    """An upper bound only."""
    upper: Array = policy.index(t)
    return np.full_like(upper, -math.inf), upper


def leaves(policy: Any, t: int, world: World) -> Bounds:
    """The value of a leaf, for every arm of its cell."""
    index, upper = policy.index(t), np.empty(len(policy.domain))
    for centre, cell in policy.leaves.items():
        upper[cell.arms] = index[centre]
    return np.full_like(upper, -math.inf), upper


def reaching(posterior: Any, width: float) -> Bounds:
    """mean -+ width sd."""
    return posterior.mean - width * posterior.sd, posterior.mean + width * posterior.sd


def sampled(policy: Any, t: int, world: World) -> Bounds:
    """The scale of the draw, which bounds f with chance 1 - delta/2."""
    return reaching(policy.posterior, policy.width(t, policy.posterior.log_det))


def linear_sampled(policy: Any, t: int, world: World) -> Bounds:
    """v_t / 3 = R sqrt(d ln(t/delta)) bounds the noise for d >= 2: L <= d ln(t), 2 ln(1/delta) <= d ln(1/delta)."""
    return reaching(policy.posterior, policy.width_at(t) / 3 + world.norm_bound)


def batch(policy: Any, t: int, world: World) -> Bounds:
    """By the rewards of the batch alone."""
    return reaching(policy.batch, policy.width(t, 0.0))


def nothing(policy: Any, t: int, world: World) -> Bounds:
    """No bounds: the claim is another one."""
    upper = np.full(len(policy.domain), math.inf)
    return -upper, upper


def levels(policy: Any, t: int, world: World) -> Bounds:
    """What all levels of the ladder say together."""
    found = [reaching(level, policy.width(t, 0.0)) for level in policy.levels.values()]
    found.append(nothing(policy, t, world))
    return np.max([low for low, _ in found], axis=0), np.min([high for _, high in found], axis=0)


def designed(policy: Any, t: int, world: World) -> Bounds:
    posterior, n = policy.posterior, len(policy.domain)
    width = widths.fixed_design(world.noise_scale, world.norm_bound, posterior.ridge, 0.1, n)
    return reaching(posterior, width(t, 0.0))


def stated(method: str, policy: Any, world: World) -> Any:
    return confidence_band(policy.posterior, world.noise_scale, world.norm_bound, 0.1, method)


def at_last(policy: Any, t: int, world: World) -> bool:
    return t == world.horizon


def at_ends(policy: Any, t: int, world: World) -> bool:
    """Before the last reward of a batch: as many claims as batches."""
    return bool(t == policy.batch_end)


def at_odd(policy: Any, t: int, world: World) -> bool:
    """When it plays its index; even rounds are random."""
    return t % 2 == 1


def sometimes(policy: Any, t: int, world: World) -> bool:
    return t % 6 == 1


def noise_between(policy: Any, world: World, f: Array) -> bool:
    """s_- <= sigma <= s_+."""
    least, most = policy.noise_bounds
    return bool(least <= world.noise(0).sub_gaussian <= most)


def best_survives(policy: Any, world: World, f: Array) -> bool:
    """No batch drops the best arm."""
    return int(f.argmax()) in policy.survivors


def band_claim(method: str, says: str, share: float) -> Claim:
    """confidence_band of what Simple-Gaussian has learnt; the regrets and the candidates it names hold on its event."""

    def bounds(policy: Any, t: int, world: World) -> Bounds:
        found = stated(method, policy, world)
        return found.lower, found.upper

    def also(policy: Any, world: World, f: Array) -> bool:
        found = stated(method, policy, world)
        best = int(f.argmax()) in found.candidates
        return best and bool((f.max() - f <= found.regrets + 1e-9).all())

    return Claim(
        "simple-gaussian",
        bounds,
        says,
        0.1,
        (LARGE, OWN, SPIKE),
        judged=sometimes,
        also=also,
        share=share,
    )


def within(width: str) -> str:
    return f"|f - mean| <= ({width}) sd"


SELF_NORMALISED = within("D + (R/sqrt(ridge)) sqrt(2 ln(1/delta) + L)")
HALF = within("D + R sqrt(2 ln 2 + L)")
MIXTURE = within("sqrt((R^2/ridge) (2 ln(1/delta) + L) + D^2)")
FINITE = within("sqrt(2 ln(n t^2 pi^2 / (6 delta)))")
IMPROVED = within("D + R sqrt(2 (L/2 + 1 + ln(1/delta)))")
AGNOSTIC = within("sqrt(2 D^2 + 300 gamma_t ln^3(t/delta))")
FADED = within("D + (R/sqrt(ridge)) sqrt(2 ln(1/delta) + Lbar)")
UNKNOWN_NOISE = within("D (1 + sqrt(2 ln(4/delta) + L_-))")
HEAVY_TAILED = within("D + 3 b_{t-1} sqrt(L/2 + 1 + ln(1/delta))")
FIXED = within("D + (R/sqrt(ridge)) sqrt(2 ln(2 m/delta))")
FINE = {"ridge": 0.1}
"""Where the noise of a mean is nearly R sd / sqrt(ridge), as the proof for a fixed design takes it."""
HEAVY_MOMENT = (HEAVY.norm_bound + HEAVY.noise(0).moment(1.5) ** (1 / 1.5)) ** 1.5
"""v >= E|Y|^(3/2), by Minkowski's inequality."""

CLAIMS: Mapping[str, Claim] = {
    "Simple-UCB": Claim("simple-ucb", around, HALF, 0.5),
    "Simple-Bernoulli": Claim("simple-bernoulli", around, HALF, 0.5, (OWN,)),
    "Simple-Gaussian": Claim("simple-gaussian", around, HALF, 0.5, (OWN,)),
    "Simple-Categorical": Claim("simple-categorical", around, HALF, 0.5, (OWN,)),
    "Simple-Mixture": Claim("simple-mixture", around, HALF, 0.5, (OWN,)),
    "RandUCB": Claim("rand-ucb", around, SELF_NORMALISED, 0.1, (OWN,)),
    "Whitehouse": Claim("whitehouse-ucb", around, SELF_NORMALISED),
    "IGP-UCB": Claim("igp-ucb", around, IMPROVED),
    "GP-TS": Claim(
        "gp-ts", sampled, within("v_t") + ", v_t at 2 delta", 0.05, settings={"delta": 0.1}
    ),
    "GP-UCB finite": Claim("gp-ucb", around, FINITE, 0.1, (PRIOR,)),
    "GP-UCB rkhs": Claim("gp-ucb", around, AGNOSTIC, 0.1, (BOUNDED,), {"schedule": "rkhs"}),
    "AMM-UCB": Claim("amm-ucb", band, MIXTURE),
    "AMM-UCB, delta 1/2": Claim("amm-ucb", band, MIXTURE, 0.5, (CHASED,)),
    "DMM-UCB": Claim("dmm-ucb", band, "f in the band, the least over five alphas", share=0.5),
    "CMM-UCB": Claim("cmm-ucb", band, "f in the band, the least over all alpha", share=0.25),
    "Streaming": Claim(
        "streaming-ucb",
        around,
        f"s_- <= sigma <= s_+ and {UNKNOWN_NOISE}",
        worlds=(KNOWN, UNKNOWN),
        settings={"least_noise": 0.25},
        also=noise_between,
    ),
    "SupKernelUCB": Claim(
        "sup-kernel-ucb", levels, f"{FIXED}, m = n T S", 0.1, (DESIGNED,), FINE, share=0.5
    ),
    "BPE": Claim("bpe", batch, f"{FIXED}, m = n batches", 0.1, (DESIGNED,), FINE, at_ends),
    "REDS": Claim("reds", batch, f"{FIXED}, m = n epochs", 0.1, (DESIGNED,), FINE, at_ends),
    "BPE, the best arm": Claim(
        "bpe", nothing, "survives", 0.1, (DESIGNED,), FINE, also=best_survives, share=0.5
    ),
    "REDS, the best arm": Claim(
        "reds", nothing, "survives", 0.1, (DESIGNED,), FINE, also=best_survives, share=0.5
    ),
    "MVR": Claim(
        "mvr", designed, f"{FIXED}, m = n, after T rounds", 0.1, (DESIGNED,), FINE, at_last
    ),
    "pi-GP-UCB": Claim("pi-gp-ucb", above, "f below the index of its cell", 0.1, (OWN,)),
    "Adaptive tree": Claim("adaptive-tree", leaves, "f on a cell below the value of its leaf"),
    "GP-UCB+": Claim(
        "gp-ucb-plus", around, within("D") + ", always", 0.0, (SILENT,), judged=at_odd
    ),
    "TV-GP-UCB": Claim("tv-gp-ucb", around, FINITE, 0.1, (DRIFTING,), {"rate": RATE}),
    "R-GP-UCB": Claim("r-gp-ucb", around, FINITE, 0.1, (JUMPING,), {"period": PERIOD}),
    "WGP-UCB": Claim(
        "wgp-ucb",
        around,
        f"{FADED} in round T",
        0.1,
        (CHASED,),
        {"forgetting": FORGETTING},
        at_last,
        share=0.5,
    ),
    "TGP-UCB": Claim(
        "tgp-ucb",
        around,
        HEAVY_TAILED,
        0.1,
        (HEAVY,),
        {"excess": 0.5, "moment_bound": HEAVY_MOMENT},
    ),
    "OFUL": Claim("oful", around, SELF_NORMALISED, 0.1, (PLANE, SPIKE)),
    "Rarely switching OFUL": Claim(
        "rarely-switching-oful", above, "f below the index held", 0.1, (PLANE,)
    ),
    "LinTS": Claim("lin-ts", linear_sampled, within("v_t / 3 + D"), 0.1, (PLANE,)),
    "confidence_band, whitehouse": band_claim("whitehouse", SELF_NORMALISED, 1.0),
    "confidence_band, amm": band_claim("amm", MIXTURE, 1.0),
    "confidence_band, cmm": band_claim(
        "cmm", "f in the band, as its regrets and candidates say", 0.3
    ),
}

NO_BAND: Mapping[str, str] = {
    "generic-gp": "Simple-UCB's band, whatever the law",
    "irgp-ucb": "bounds the expected maximum, not f",
    "kernel-ucb": "a heuristic: its theorem is SupKernelUCB's",
    "exploit-plus": "plays the mean",
    "ucb1": "bounds the regret, not f",
    "gaussian-ts": "bounds the regret, not f",
    "ucb-revisited": "bounds the regret, not f",
    "greedy": "nothing is proved",
    "random": "nothing is proved",
}
"""Policies of the catalogue that claim no band of their own, and why."""
