"""Errata of single lines: a lost factor, what sub-linearity needs, a difference that is none."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from kernelbandits.exploration import Bernoulli, Decay
from kernelbandits.kernels import RBF, Linear, Matern
from kernelbandits.policies import SimpleUCB
from kernelbandits.streams import Streams
from kernelbandits.theory import constants, information_gain
from kernelbandits.theory.rates import gain_rate
from kernelbandits.theory.sublinearity import sum_of_constants
from kernelbandits.verification.statements import CheckedStatement, Effort


def check_lost_factor(effort: Effort) -> Iterator[CheckedStatement]:
    """Check E7: |V^-1/2 f| <= |V^-1/2 h| |f| is false; |h' V^-1 f| <= |V^-1/2 h| |f| is meant."""
    pulls = 99
    root = np.array([1 / math.sqrt(1 + pulls), 1.0])  # the diagonal of V^-1/2
    h, f = np.eye(2)
    right = np.linalg.norm(root * h) * np.linalg.norm(f)
    for formula, left, should_hold in (
        ("as printed: |V^-1/2 f|", np.linalg.norm(root * f), False),
        ("meant: |h' V^-1 f|", abs(h @ (root**2 * f)), True),
    ):
        yield CheckedStatement(
            f"{formula} <= |V^-1/2 h| |f|; h = e1 played {pulls} times, f = e2",
            f"<= {right:.2f}",
            f"{left:.2f}",
            holds=bool(left <= right),
            should_hold=should_hold,
        )


def check_matern_smoothness(effort: Effort) -> Iterator[CheckedStatement]:
    """Check E8: at a fixed ridge gamma sqrt(T) is sub-linear for Matern only if nu > d/2."""
    for nu, d in ((0.5, 2), (1.5, 4), (2.5, 2)):
        power = 0.5 + d / (2 * nu + d)
        yield CheckedStatement(
            "constants of order one give a sub-linear bound for every kernel; "
            f"Matern nu = {nu:g}, d = {d}",
            "a power of T below 1",
            f"gamma_T sqrt(T) ~ T^{power:.3g}",
            holds=power < 1,
            should_hold=nu > d / 2,
            detail="gamma_T = O~(T^(d/(2 nu + d)))",
        )


def check_same_bound(effort: Effort) -> Iterator[CheckedStatement]:
    """Check E8: at ridge 1 the bound of Simple-UCB has a larger power of T than Whitehouse et al.

    At ridge T^a gamma_T is T^((1 - a) e), and the bound the larger of T^((1 + a + (1 - a) e)/2) and
    T^(1/2 + (1 - a) e). The smallest is found by search.
    """
    shares = np.linspace(0, 1, 100_001)
    for nu, d in ((0.5, 2), (2.5, 2)):
        e = float(gain_rate(Matern(0.2, nu=nu), d).exponent)
        powers = np.maximum((1 + shares + (1 - shares) * e) / 2, 0.5 + (1 - shares) * e)
        yield CheckedStatement(
            "as printed: Simple-UCB at ridge 1 achieves the same regret bound as GP-UCB of "
            f"Whitehouse et al., which tunes the ridge; Matern nu = {nu:g}, d = {d}",
            f"T^{powers.min():.3f} = T^(1/2 + d/(2 nu + 2d))",
            f"T^{powers[0]:.3f}",
            holds=abs(powers[0] - powers.min()) < 1e-3,
            should_hold=False,
            detail=f"ridge T^{shares[powers.argmin()]:.3f}; up to logarithms",
        )


def check_matern_condition(effort: Effort) -> Iterator[CheckedStatement]:
    """Check E8: with gamma_T = T^e log^p T, C2 + C3 has to be o(T^(1/2 - e) / log^p T).

    Ber(q) with q = T^(e - 1/2) log^a T has C2 + C3 = T^(1/2 - e) / log^a T + 2. It meets the
    printed condition for every a > 0, and the corrected one for a > p.
    """
    nu, d, horizons = 2.5, 1, (1e8, 1e16)
    rate = gain_rate(Matern(0.2, nu=nu), d)
    e, p = float(rate.exponent), float(rate.power)
    for name, condition, a, should_hold in (
        ("as printed", "o(T^(1/2 - e))", p / 2, False),
        ("corrected", "o(T^(1/2 - e) / log^(1 - e) T)", 3 * p / 2, True),
    ):
        logs = [math.log(horizon) for horizon in horizons]
        sums = [
            sum_of_constants(Bernoulli(horizon ** (e - 0.5) * log**a), int(horizon))
            for horizon, log in zip(horizons, logs, strict=True)
        ]
        room = [found * T ** (e - 0.5) for found, T in zip(sums, horizons, strict=True)]
        bound = [share * log**p for share, log in zip(room, logs, strict=True)]
        yield CheckedStatement(
            f"{name}: C2 + C3 = {condition} gives a sub-linear bound; Matern nu = {nu:g}, d = {d}, "
            f"e = d/(2 nu + d), w ~ Ber(T^(e - 1/2) log^{a:.3g} T)",
            "(C2 + C3) gamma_T sqrt(T) / T falls",
            f"from {bound[0]:.3g} to {bound[1]:.3g}; (C2 + C3) / T^(1/2 - e) from {room[0]:.3g} "
            f"to {room[1]:.3g}",
            holds=bound[1] < bound[0],
            should_hold=should_hold,
            detail="from T = 10^8 to 10^16, with gamma_T = T^e log^(1 - e) T, the known rate",
        )


def check_definitions(effort: Effort) -> Iterator[CheckedStatement]:
    """Check E8: C2 and C3 are definitions, so all laws "satisfy" them: Ber(1/t) does."""
    found = [constants(Decay(first=1.0, power=1.0, floor=0.0), T).c3 for T in (10**3, 10**5)]
    power = math.log(found[1] / found[0]) / math.log(100)
    yield CheckedStatement(
        "as said of the conditions: laws with C1 > 0 and finite C2, C3 give a sub-linear bound; "
        "Ber(1/t), one arm",
        "a power of T below 1",
        f"C3 ~ T^{power:.3g}, so that the bound grows like T^{0.5 + power:.3g}",
        holds=0.5 + power < 1,
        should_hold=False,
        detail="between T = 10^3 and 10^5",
    )


def check_matern_and_definitions(effort: Effort) -> Iterator[CheckedStatement]:
    """Check E8: what a sub-linear bound needs of the kernel, and of the law."""
    yield from check_definitions(effort)
    yield from check_matern_condition(effort)
    yield from check_matern_smoothness(effort)
    yield from check_same_bound(effort)


def check_dropped_logarithm(effort: Effort) -> Iterator[CheckedStatement]:
    """Check E12: R sqrt(ln(TD)) is of the order of R sqrt(gamma_T) if sup k is not too small.

    One arm played T times shows gamma_T >= (1/2) ln(1 + T sup k).
    """
    horizon = 1000
    for largest, should_hold in ((1.0, True), (1e-4, False)):
        kernel = largest * RBF(0.2)
        gain = information_gain(kernel, np.array([[0.3]]), horizon).lower
        yield CheckedStatement(
            f"as dropped: ln(TD) <= 2 gamma_T; one arm, sup k = {largest:g}, D = 1, T = {horizon}",
            f"gamma_T >= {math.log(horizon) / 2:.3f}",
            f"{gain:.3f}",
            holds=math.log(horizon) <= 2 * gain,
            should_hold=should_hold,
        )


def check_same_index(effort: Effort) -> Iterator[CheckedStatement]:
    """Check E9: Simple-UCB's index is the largest f(x) over the ball of Whitehouse et al.

    The ball is {f : |V^1/2 (f - mean)| <= U}, U = R sqrt(2 ln(2 sqrt(det V))) + D. In the plane
    with the linear kernel its boundary is searched: f = mean + U V^-1/2 u for many directions u.
    """
    generator = Streams(effort.seed).generator(9)
    points = generator.uniform(-0.7, 0.7, (20, 2))
    policy = SimpleUCB(points, Linear(), noise_scale=1.0, norm_bound=1.0)
    arms, rewards = generator.integers(20, size=30), generator.standard_normal(30)
    for arm, reward in zip(arms.tolist(), rewards.tolist(), strict=True):
        policy.tell(policy.choice(arm), reward)
    x = points[arms]
    matrix = np.eye(2) + x.T @ x
    radius = math.sqrt(2 * math.log(2) + math.log(float(np.linalg.det(matrix)))) + 1
    angles = np.linspace(0, 2 * math.pi, 100_001)
    values, vectors = np.linalg.eigh(matrix)
    boundary = (vectors / np.sqrt(values)) @ np.array([np.cos(angles), np.sin(angles)])
    mean = points @ np.linalg.solve(matrix, x.T @ rewards)
    largest = mean + radius * (points @ boundary).max(1)
    difference = float(np.abs(largest - policy.index(31)).max())
    yield CheckedStatement(
        "the largest f(x) over the confidence ball of GP-UCB (Whitehouse et al.) "
        "is the index of Simple-UCB; 20 arms",
        "difference <= 1e-08",
        f"difference {difference:.0e}",
        holds=difference <= 1e-8,
        detail="100 000 directions, an error of (pi / 100 000)^2 / 2 of the radius",
    )
