"""The self-normalised bound, under play that makes the noise do as much harm as it can.

For S_t = sum_s noise_s x_s and V_t = sum_s x_s x_s', with probability at least 1 - delta

    |(V_t + ridge I)^-1/2 S_t| <= R sqrt(2 ln(1/delta) + L_t)   for all t at once,

L_t = log det(I + V_t / ridge). The confidence widths of the package rest on it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.streams import Streams
from kernelbandits.verification.statements import (
    FALSE_ALARM,
    CheckedStatement,
    Effort,
    format_share,
    most_failures,
)

DIMENSION, ARMS, HORIZON = 4, 24, 100
NOISE_SCALE, RIDGE = 0.7, 0.6
DELTAS = (0.5, 0.1)
NOISES = ("Gaussian", "Rademacher")


@dataclass(frozen=True, eq=False)
class NoiseRuns:
    """Many runs with f = 0, so that every reward is noise; arrays of shape (rounds, runs)."""

    points: Array
    arms: Array
    noise: Array
    squares: Array
    """S' (V + ridge I)^-1 S after each round."""
    log_dets: Array
    """log det(I + V / ridge) after each round."""


def check_martingale(effort: Effort) -> Iterator[CheckedStatement]:
    runs = effort.runs(400, least=60)
    for number, noise in enumerate(NOISES):
        simulated = simulate_noise(noise, runs, Streams(effort.seed).generator(8, number))
        for delta in DELTAS:
            yield check_failure_rate(noise, delta, simulated)


def simulate_noise(noise: str, runs: int, rng: np.random.Generator) -> NoiseRuns:
    """Simulate runs whose rounds play the arm with the largest |x' (V + ridge I)^-1 S|.

    There the noise so far misleads the estimate most, so the bound is tested where it is weakest.
    """
    points = rng.standard_normal((ARMS, DIMENSION))
    points /= np.linalg.norm(points, axis=1)[:, None]
    if noise == "Gaussian":
        errors = NOISE_SCALE * rng.standard_normal((HORIZON, runs))
    else:
        errors = NOISE_SCALE * rng.choice((-1.0, 1.0), (HORIZON, runs))
    design = np.tile(RIDGE * np.eye(DIMENSION), (runs, 1, 1))
    sums = np.zeros((runs, DIMENSION))
    arms, squares, log_dets = [], [], []
    for error in errors:
        arm = np.abs(solve_each(design, sums) @ points.T).argmax(1)
        x = points[arm]
        design, sums = design + x[:, :, None] * x[:, None, :], sums + error[:, None] * x
        arms.append(arm)
        squares.append((sums * solve_each(design, sums)).sum(1))
        log_dets.append(np.linalg.slogdet(design / RIDGE)[1])
    return NoiseRuns(points, np.array(arms), errors, np.array(squares), np.array(log_dets))


def solve_each(matrices: Array, vectors: Array) -> Array:
    """Return (V + ridge I)^-1 S of every run."""
    return np.asarray(np.linalg.solve(matrices, vectors[..., None])[..., 0])


def radius(log_det: Array, delta: float) -> Array:
    """Return the radius R sqrt(2 ln(1/delta) + L)."""
    return np.asarray(NOISE_SCALE * np.sqrt(2 * math.log(1 / delta) + log_det))


def check_failure_rate(noise: str, delta: float, simulated: NoiseRuns) -> CheckedStatement:
    """Check that at most delta of the runs fail; at delta = 1/2 some must.

    If none did, the bound would be too wide.
    """
    bounds = radius(simulated.log_dets, delta)
    failed = np.any(simulated.squares > bounds**2, axis=0)
    count, runs = int(failed.sum()), len(failed)
    most, some_must_fail = most_failures(delta, runs), delta == 0.5
    interval = "in (0, 0.5]" if some_must_fail else f"<= {delta:g}"
    detail = f"the limit is the least k with P(Bin({runs}, {delta:g}) > k) <= {FALSE_ALARM:g}"
    return CheckedStatement(
        "|(V + ridge I)^-1/2 S| exceeds R sqrt(2 ln(1/delta) + L) in some round with probability "
        f"at most delta = {delta:g}; {noise} noise, {runs} runs",
        f"rate {interval} (up to {most} of {runs} by chance)",
        format_share(count, runs),
        holds=count <= most and not (some_must_fail and count == 0),
        detail=detail + "; no failure at delta = 1/2 would mean that the bound is too wide",
    )
