"""Every confidence band of the package: its formula, its error probability, where it is checked.

A new band is one line in `BANDS`. A policy without a band of its own is one line in `NO_BAND`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernelbandits import widths
from kernelbandits.catalogue import policy, policy_entry, shared_settings
from kernelbandits.checks import Array
from kernelbandits.problems import Instance
from kernelbandits.theory import confidence_band
from kernelbandits.verification.scenarios import (
    ADVERSARIAL,
    BOUNDED_NOISE,
    CIRCLE,
    DRIFT_RATE,
    DRIFTING,
    FORGETTING,
    HEAVY_TAILS,
    JUMPING,
    LARGE_NORM,
    NO_NOISE,
    NOISE_HALF,
    NOISE_KNOWN,
    NORM_ONLY,
    OWN_ARMS,
    OWN_DESIGN,
    PRIOR,
    RESTART_PERIOD,
    Scenario,
)

Limits = tuple[Array, Array]
"""Lower and upper limits of f on all arms."""


@dataclass(frozen=True)
class StatedBand:
    """With probability 1 - delta, f lies between the limits in all checked rounds at once."""

    policy: str
    """Name of the policy in the catalogue."""
    limits: Callable[[Any, int, Scenario], Limits]
    """(policy, t, scenario) -> the limits before round t."""
    formula: str
    delta: float = 0.1
    scenarios: tuple[Scenario, ...] = (ADVERSARIAL, OWN_ARMS, NORM_ONLY)
    settings: Mapping[str, Any] = field(default_factory=dict)
    checked_in: Callable[[Any, int, Scenario], bool] = lambda policy, t, scenario: True
    """(policy, t, scenario) -> whether the theory states the band for round t."""
    also: Callable[[Any, Scenario, Array], bool] = lambda policy, scenario, f: True
    """(policy, scenario, f) -> whether the other statements hold that come with the band."""
    share: float = 1.0
    """Share of the scenario's runs that is simulated, less than 1 for a band that is slow."""

    def build(self, instance: Instance, scenario: Scenario) -> Any:
        """Build the policy with the scenario's R, D and T."""
        entry = policy_entry(self.policy)
        given = {
            "noise_scale": scenario.noise_scale,
            "norm_bound": scenario.norm_bound,
            "horizon": scenario.horizon,
            "delta": self.delta,
        }
        chosen = shared_settings(entry, given) | dict(self.settings)
        return policy(self.policy, instance.domain, scenario.kernel, **chosen)


# Limits: how to read a band off a policy.


def around_mean(posterior: Any, width: float) -> Limits:
    """Return the limits mean -+ width sd."""
    return posterior.mean - width * posterior.sd, posterior.mean + width * posterior.sd


def index_limits(policy: Any, t: int, scenario: Scenario) -> Limits:
    """Return mean -+ width sd: the index with w = -1 and with w = 1."""
    return policy.index(t, -1.0), policy.index(t, 1.0)


def method_limits(policy: Any, t: int, scenario: Scenario) -> Limits:
    """Return the limits of the policy's own method `band`."""
    lower, upper = policy.band(t)
    return lower, upper


def upper_limit(policy: Any, t: int, scenario: Scenario) -> Limits:
    """Return the index as an upper limit; there is no lower one."""
    upper: Array = policy.index(t)
    return np.full_like(upper, -math.inf), upper


def no_limits(policy: Any, t: int, scenario: Scenario) -> Limits:
    """Return infinite limits: the statement is the one in `also`."""
    upper = np.full(len(policy.domain), math.inf)
    return -upper, upper


def leaf_limits(policy: Any, t: int, scenario: Scenario) -> Limits:
    """Return the value of each leaf as an upper limit for every arm of its cell."""
    index, upper = policy.index(t), np.empty(len(policy.domain))
    for centre, cell in policy.leaves.items():
        upper[cell.arms] = index[centre]
    return np.full_like(upper, -math.inf), upper


def sample_limits(policy: Any, t: int, scenario: Scenario) -> Limits:
    """Return limits at the scale v_t of a Thompson sample, right with probability 1 - delta/2."""
    return around_mean(policy.posterior, policy.width(t, policy.posterior.log_det))


def linear_sample_limits(policy: Any, t: int, scenario: Scenario) -> Limits:
    """Return limits of width v_t / 3 + D, where v_t / 3 = R sqrt(d ln(t/delta)).

    For d >= 2 the first part bounds the noise, and D bounds the rest.

    The reason: L <= d ln(t) and 2 ln(1/delta) <= d ln(1/delta).
    """
    return around_mean(policy.posterior, policy.width_at(t) / 3 + scenario.norm_bound)


def batch_limits(policy: Any, t: int, scenario: Scenario) -> Limits:
    """Return the band from the rewards of the current batch alone."""
    return around_mean(policy.batch_posterior, policy.width(t, 0.0))


def level_limits(policy: Any, t: int, scenario: Scenario) -> Limits:
    """Return the bands of all levels of SupKernelUCB together."""
    limits = [around_mean(level, policy.width(t, 0.0)) for level in policy.levels.values()]
    limits.append(no_limits(policy, t, scenario))
    return np.max([low for low, _ in limits], axis=0), np.min([high for _, high in limits], axis=0)


def fixed_design_limits(policy: Any, t: int, scenario: Scenario) -> Limits:
    """Return the band for arms that were chosen without looking at the rewards."""
    posterior, arms = policy.posterior, len(policy.domain)
    noise_scale, norm_bound = scenario.noise_scale, scenario.norm_bound
    width = widths.fixed_design(noise_scale, norm_bound, posterior.ridge, 0.1, arms)
    return around_mean(posterior, width(t, 0.0))


# Rounds in which a band is stated, where that is not every round.


def last_round(policy: Any, t: int, scenario: Scenario) -> bool:
    return t == scenario.horizon


def last_round_of_batch(policy: Any, t: int, scenario: Scenario) -> bool:
    """Tell whether a batch ends with this round: the union bound counts one statement a batch."""
    return bool(t == policy.batch_end)


def odd_round(policy: Any, t: int, scenario: Scenario) -> bool:
    """Tell whether GP-UCB+ plays its index: in odd rounds it does, in even ones a random arm."""
    return t % 2 == 1


def every_sixth_round(policy: Any, t: int, scenario: Scenario) -> bool:
    """Tell whether to check this round, to save time: a band that holds in all holds in these."""
    return t % 6 == 1


# Statements that come with a band.


def noise_enclosed(policy: Any, scenario: Scenario, f: Array) -> bool:
    """Tell whether s_- <= sigma <= s_+."""
    least, most = policy.noise_bounds
    return bool(least <= scenario.noise(0).sub_gaussian <= most)


def best_arm_survives(policy: Any, scenario: Scenario, f: Array) -> bool:
    """Tell whether no batch has eliminated the best arm."""
    return int(f.argmax()) in policy.survivors


def theory_band(method: str, formula: str, share: float) -> StatedBand:
    """State `confidence_band` of the results of Simple-Gaussian, its regrets and its candidates."""

    def compute_band(policy: Any, scenario: Scenario) -> Any:
        noise_scale, norm_bound = scenario.noise_scale, scenario.norm_bound
        return confidence_band(policy.posterior, noise_scale, norm_bound, 0.1, method)

    def limits(policy: Any, t: int, scenario: Scenario) -> Limits:
        band = compute_band(policy, scenario)
        return band.lower, band.upper

    def regrets_and_candidates(policy: Any, scenario: Scenario, f: Array) -> bool:
        band = compute_band(policy, scenario)
        is_candidate = int(f.argmax()) in band.candidates
        return is_candidate and bool((f.max() - f <= band.regrets + 1e-9).all())

    return StatedBand(
        "simple-gaussian",
        limits,
        formula,
        scenarios=(LARGE_NORM, OWN_ARMS, NORM_ONLY),
        checked_in=every_sixth_round,
        also=regrets_and_candidates,
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
DISCOUNTED = within("D + (R/sqrt(ridge)) sqrt(2 ln(1/delta) + Lbar)")
UNKNOWN_NOISE = within("D (1 + sqrt(2 ln(4/delta) + L_-))")
HEAVY_TAILED = within("D + 3 b_{t-1} sqrt(L/2 + 1 + ln(1/delta))")
FIXED_DESIGN = within("D + (R/sqrt(ridge)) sqrt(2 ln(2 m/delta))")
SMALL_RIDGE = {"ridge": 0.1}
# At a small ridge the noise of a mean is nearly R sd / sqrt(ridge), the value that the proof for a
# fixed design uses; at ridge 1 the band would be too wide to be tested.
HEAVY_MOMENT = (HEAVY_TAILS.norm_bound + HEAVY_TAILS.noise(0).moment(1.5) ** (1 / 1.5)) ** 1.5
"""An upper bound of E|Y|^(3/2), by Minkowski's inequality."""

BANDS: Mapping[str, StatedBand] = {
    "Simple-UCB": StatedBand("simple-ucb", index_limits, HALF, 0.5),
    "Simple-Bernoulli": StatedBand("simple-bernoulli", index_limits, HALF, 0.5, (OWN_ARMS,)),
    "Simple-Gaussian": StatedBand("simple-gaussian", index_limits, HALF, 0.5, (OWN_ARMS,)),
    "Simple-Categorical": StatedBand("simple-categorical", index_limits, HALF, 0.5, (OWN_ARMS,)),
    "Simple-Mixture": StatedBand("simple-mixture", index_limits, HALF, 0.5, (OWN_ARMS,)),
    "RandUCB": StatedBand("rand-ucb", index_limits, SELF_NORMALISED, 0.1, (OWN_ARMS,)),
    "Whitehouse": StatedBand("whitehouse-ucb", index_limits, SELF_NORMALISED),
    "IGP-UCB": StatedBand("igp-ucb", index_limits, IMPROVED),
    "GP-TS": StatedBand(
        "gp-ts", sample_limits, within("v_t") + ", v_t at 2 delta", 0.05, settings={"delta": 0.1}
    ),
    "GP-UCB finite": StatedBand("gp-ucb", index_limits, FINITE, 0.1, (PRIOR,)),
    "GP-UCB rkhs": StatedBand(
        "gp-ucb", index_limits, AGNOSTIC, 0.1, (BOUNDED_NOISE,), {"schedule": "rkhs"}
    ),
    "AMM-UCB": StatedBand("amm-ucb", method_limits, MIXTURE),
    "AMM-UCB, delta 1/2": StatedBand("amm-ucb", method_limits, MIXTURE, 0.5, (ADVERSARIAL,)),
    "DMM-UCB": StatedBand(
        "dmm-ucb", method_limits, "f lies in the band, the smallest over five alphas", share=0.5
    ),
    "CMM-UCB": StatedBand(
        "cmm-ucb", method_limits, "f lies in the band, the smallest over all alphas", share=0.25
    ),
    "Streaming": StatedBand(
        "streaming-ucb",
        index_limits,
        f"s_- <= sigma <= s_+ and {UNKNOWN_NOISE}",
        scenarios=(NOISE_KNOWN, NOISE_HALF),
        settings={"least_noise": 0.25},
        also=noise_enclosed,
    ),
    "SupKernelUCB": StatedBand(
        "sup-kernel-ucb",
        level_limits,
        f"{FIXED_DESIGN}, m = n T S",
        0.1,
        (OWN_DESIGN,),
        SMALL_RIDGE,
        share=0.5,
    ),
    "BPE": StatedBand(
        "bpe",
        batch_limits,
        f"{FIXED_DESIGN}, m = n batches",
        0.1,
        (OWN_DESIGN,),
        SMALL_RIDGE,
        last_round_of_batch,
    ),
    "REDS": StatedBand(
        "reds",
        batch_limits,
        f"{FIXED_DESIGN}, m = n epochs",
        0.1,
        (OWN_DESIGN,),
        SMALL_RIDGE,
        last_round_of_batch,
    ),
    "BPE, elimination": StatedBand(
        "bpe",
        no_limits,
        "no batch eliminates the best arm",
        0.1,
        (OWN_DESIGN,),
        SMALL_RIDGE,
        also=best_arm_survives,
        share=0.5,
    ),
    "REDS, elimination": StatedBand(
        "reds",
        no_limits,
        "no batch eliminates the best arm",
        0.1,
        (OWN_DESIGN,),
        SMALL_RIDGE,
        also=best_arm_survives,
        share=0.5,
    ),
    "MVR": StatedBand(
        "mvr",
        fixed_design_limits,
        f"{FIXED_DESIGN}, m = n, after T rounds",
        0.1,
        (OWN_DESIGN,),
        SMALL_RIDGE,
        last_round,
    ),
    "pi-GP-UCB": StatedBand(
        "pi-gp-ucb", upper_limit, "f is at most the index of its cell", 0.1, (OWN_ARMS,)
    ),
    "Adaptive tree": StatedBand(
        "adaptive-tree", leaf_limits, "f on a cell is at most the value of its leaf"
    ),
    "GP-UCB+": StatedBand(
        "gp-ucb-plus",
        index_limits,
        within("D") + ", always",
        0.0,
        (NO_NOISE,),
        checked_in=odd_round,
    ),
    "TV-GP-UCB": StatedBand(
        "tv-gp-ucb", index_limits, FINITE, 0.1, (DRIFTING,), {"rate": DRIFT_RATE}
    ),
    "R-GP-UCB": StatedBand(
        "r-gp-ucb", index_limits, FINITE, 0.1, (JUMPING,), {"period": RESTART_PERIOD}
    ),
    "WGP-UCB": StatedBand(
        "wgp-ucb",
        index_limits,
        f"{DISCOUNTED} in round T",
        0.1,
        (ADVERSARIAL,),
        {"forgetting": FORGETTING},
        last_round,
        share=0.5,
    ),
    "TGP-UCB": StatedBand(
        "tgp-ucb",
        index_limits,
        HEAVY_TAILED,
        0.1,
        (HEAVY_TAILS,),
        {"excess": 0.5, "moment_bound": HEAVY_MOMENT},
    ),
    "OFUL": StatedBand("oful", index_limits, SELF_NORMALISED, 0.1, (CIRCLE, NORM_ONLY)),
    "Rarely switching OFUL": StatedBand(
        "rarely-switching-oful",
        upper_limit,
        "f is at most the index of the last switch",
        0.1,
        (CIRCLE,),
    ),
    "LinTS": StatedBand("lin-ts", linear_sample_limits, within("v_t / 3 + D"), 0.1, (CIRCLE,)),
    "BKB": StatedBand(
        "bkb",
        index_limits,
        within("D (1 + sqrt(e/ridge)) + (R/sqrt(ridge)) sqrt(2 ln(1/delta) + L + e/ridge)"),
        0.1,
        settings={"budget": 1.0},
        share=0.5,
    ),
    "confidence_band, whitehouse": theory_band("whitehouse", SELF_NORMALISED, 1.0),
    "confidence_band, amm": theory_band("amm", MIXTURE, 1.0),
    "confidence_band, cmm": theory_band(
        "cmm", "f, its regrets and its best arm agree with the band", 0.3
    ),
}

NO_BAND: Mapping[str, str] = {
    "generic-gp": "Simple-UCB's band, whatever the law",
    "irgp-ucb": "bounds the expected maximum, not f",
    "ids": "Whitehouse's band",
    "evill": "Whitehouse's band at its default scale",
    "ec-gp-ucb": "Whitehouse's band and an allowance for the error of the model",
    "a-gp-ucb": "Whitehouse's band at a shorter lengthscale with a larger norm",
    "gp-bucb": "GP-UCB's band as of the last batch",
    "lin-ucb": "a heuristic: its theorem is SupLinUCB's",
    "sup-lin-ucb": "SupKernelUCB's band with the linear kernel",
    "lin-rel": "a heuristic: its theorem is SupLinRel's",
    "sup-lin-rel": "a band of each level for a fixed design, as SupKernelUCB's",
    "kernel-epsilon-greedy": "nothing is proved",
    "maillard-sampling": "bounds the regret, not f",
    "pims": "bounds the expected maximum, not f",
    "va-gp-ucb": "Whitehouse's band, every noise divided by its scale",
    "va-mvr": "MVR's band, every noise divided by its scale",
    "ata-gp-ucb": "the constants of its experiments, for which nothing is proved",
    "bpe-delay": "BPE's band of each batch",
    "va-pe": "a band of each batch for a fixed design, as BPE's",
    "gp-eims": "bounds the expected maximum, not f",
    "feature-perturbation": "Whitehouse's band at delta / (4 T)",
    "lb-gp-ucb": "Whitehouse's band at one lengthscale, with the norm of that lengthscale",
    "kernel-ucb": "a heuristic: its theorem is SupKernelUCB's",
    "exploit-plus": "plays the mean",
    "ucb1": "bounds the regret, not f",
    "gaussian-ts": "bounds the regret, not f",
    "ucb-revisited": "bounds the regret, not f",
    "expected-improvement": "nothing is proved",
    "probability-of-improvement": "nothing is proved",
    "auto": "its kernel and units are fitted to the rewards",
    "greedy": "nothing is proved",
    "random": "nothing is proved",
}
"""Policies of the catalogue without a band of their own, and why."""
