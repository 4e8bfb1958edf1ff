"""How much the rewards of a run prove that it has lost at most: regret certificates, seed by seed.

A certificate needs no theorem about the policy. So every policy has one, and all of a comparison
have the same R, D, ridge and delta where they are told the same R and D: certificates differ by
what was played. Arms are stored and noise follows from the seed, so that rewards are computed
again, at a few rounds only.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices, Numbers
from kernelbandits.experiment import Cell, CellResult, Results
from kernelbandits.posterior import RowPosterior
from kernelbandits.problems import Instance
from kernelbandits.streams import Streams
from kernelbandits.theory import confidence_band
from kernelbandits.theory.bands import narrow_ridge

DELTA = 0.05
"""The probability with which a certificate may fail in some round."""
ROUNDING = 1e-9
"""A certificate exceeded by less than this share of it is not."""


NO_SCALES = "it is told no R and D, and no other policies are told the same ones"


@dataclass(frozen=True)
class Certificates:
    """Upper bounds of the regret, which hold in all rounds at once with probability 1 - delta."""

    values: Array
    """(seeds, rounds)"""
    regrets: Array
    """What was lost up to these rounds, (seeds, rounds)."""
    delta: float = DELTA

    @property
    def exceeded(self) -> int:
        """In how many seeds the regret exceeds its certificate in one of the rounds."""
        slack = ROUNDING * (1 + self.values)
        return int((self.regrets > self.values + slack).any(1).sum())


def told_scales(results: Results, problem: str) -> dict[str, tuple[float, float] | None]:
    """Return policy -> the R and D for which its certificate is stated.

    Those are what the policy is told. What it is not told is taken from the others, if they are all
    told the same; else there are none.
    """
    given = {
        cell.contender.label: results.found[cell.key].settings
        for cell in results.cells
        if cell.problem.name == problem
    }
    common = {name: shared_number(given, name) for name in ("noise_scale", "norm_bound")}
    scales: dict[str, tuple[float, float] | None] = {}
    for label, settings in given.items():
        own = [number_of(settings, name) or common[name] for name in common]
        scales[label] = (own[0], own[1]) if own[0] and own[1] else None
    return scales


def shared_number(given: Mapping[str, Mapping[str, Any]], name: str) -> float | None:
    """Return the number that all policies are told which are told one."""
    numbers = {number_of(settings, name) for settings in given.values()} - {None}
    return numbers.pop() if len(numbers) == 1 else None


def number_of(settings: Mapping[str, Any], name: str) -> float | None:
    """Return a setting if it is a positive number."""
    value: Any = settings.get(name)
    return float(value) if checks.is_number(value) and value > 0 else None


def certify_runs(
    cell: Cell,
    result: CellResult,
    instances: Sequence[Instance],
    rounds: Indices,
    scales: tuple[float, float] | None,
) -> Certificates | str:
    """Return the certificates of all seeds after some rounds, or say why there are none."""
    if instances[0].outside_theory:
        return instances[0].outside_theory
    if scales is None:
        return NO_SCALES
    values = []
    for seed, instance, arms in zip(cell.seeds, instances, result.arms, strict=True):
        rewards = replay_rewards(instance, arms, seed)
        values.append(certify_run(cell.kernel, instance, arms, rewards, rounds, *scales))
    return Certificates(np.array(values), result.regret[:, rounds - 1])


def replay_rewards(instance: Instance, arms: Numbers, seed: int) -> Array:
    """Return the rewards of a run, from the arms played and the noise of its seed."""
    uniforms = Streams(seed).uniforms("noise", len(arms))
    if instance.replicates is not None:
        pulls = zip(arms.tolist(), uniforms.tolist(), strict=True)
        return np.array([instance.pull(arm, u) for arm, u in pulls])
    shares = 1.0 if instance.noise_shares is None else instance.noise_shares[arms]
    return np.asarray(instance.values[arms] + shares * np.asarray(instance.noise.draw(uniforms)))


def certify_run(
    kernel: Any,
    instance: Instance,
    arms: Numbers,
    rewards: Array,
    rounds: Indices,
    noise_scale: float,
    norm_bound: float,
) -> list[float]:
    """Return the certificate after each of these rounds."""
    n = len(instance.domain)
    ridge = narrow_ridge(noise_scale, norm_bound, n)
    posterior = RowPosterior(kernel, instance.domain, ridge)
    values = []
    for t in rounds:
        counts = np.bincount(arms[:t], minlength=n)
        posterior.learn(counts, np.bincount(arms[:t], rewards[:t], minlength=n))
        band = confidence_band(posterior, noise_scale, norm_bound, DELTA)
        values.append(band.regret_certificate)
    return values
