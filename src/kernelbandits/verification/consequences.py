"""What follows from step 4 of the rule as played: orthonormal arms, gaps, wrong models, late news.

The steps of the proofs are checked exactly where an exact number is to be had, the regrets in runs
of the package's policies. docs/theory has the proofs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from kernelbandits import widths
from kernelbandits.checks import Array, Indices
from kernelbandits.exploration import Bernoulli, Categorical, Gaussian, Law, PointMass
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.posterior import ArmPosterior
from kernelbandits.streams import Streams
from kernelbandits.theory import regret_bound
from kernelbandits.verification.as_played import DELTA, build_policy, play_regret, played_bound
from kernelbandits.verification.regret import (
    BANDITS,
    NOISE_SCALE,
    NORM_BOUND,
    ROUNDING,
    TRAPS,
    SmallBandit,
)
from kernelbandits.verification.statements import (
    CheckedStatement,
    Effort,
    format_share,
    mean_and_error,
    most_failures,
)

LAWS: tuple[Law, ...] = (PointMass(1.0), Bernoulli(0.5), Bernoulli(0.1), Gaussian())
LARGE_DELTA = 0.99
"""At this delta the played width is narrow at first, and the best arm often underrated."""
LARGE_NOISE = 5.0
"""R at D = 1 for orthonormal arms, where a bounded law has no other useful bound."""
ERROR, DRIFT = 0.01, 0.002
GROWTH = math.log(2)
"""Batches end when L has grown by so much."""


def check_consequences(effort: Effort) -> Iterator[CheckedStatement]:
    yield from check_missed_rounds(effort)
    yield from check_supermartingale(effort)
    yield check_orthonormal_regret(effort)
    yield from check_adaptive_design(effort)
    yield from check_gap_step()
    yield check_gap_regret(effort)
    yield from check_errors_of_the_model(effort)
    yield check_misspecified_regret(effort)
    yield from check_drifting_regret(effort)
    yield from check_batches(effort)


# Orthonormal arms.


def check_missed_rounds(effort: Effort) -> Iterator[CheckedStatement]:
    """Check how many rounds play a worse arm while the best one is underrated."""
    runs, rounds = effort.runs(400, least=100), 1000
    limit = 2 * LARGE_DELTA * math.sqrt(rounds)
    for share, how in ((1.0, ""), (0.5, "; half of the width")):
        missed = count_missed_rounds(runs, rounds, effort.seed, share)
        means, errors = missed.mean(1), missed.std(1, ddof=1) / math.sqrt(runs)
        yield CheckedStatement(
            f"two orthonormal arms, T = {rounds}, delta = {LARGE_DELTA:g}: expected number of "
            f"rounds with f(x*) > mean(x*) + W sd(x*) and x_t != x* <= 2 delta sqrt(T){how}",
            f"<= {limit:.1f}",
            f"at most {means.max():.1f}",
            holds=bool((means + 3 * errors <= limit).all()),
            should_hold=share == 1,
            detail=f"R/D in 3, 10, 100 and four laws, {runs} runs each, mean + 3 standard errors",
        )


def count_missed_rounds(runs: int, rounds: int, seed: int, share: float = 1.0) -> Array:
    """Return the numbers of rounds that play a worse arm while x* is underrated, (cases, runs).

    The width is multiplied by `share`. Mean, sd and L of orthonormal arms have a closed form, so
    that all cases are played at once.
    """
    cases = [(noise, law) for noise in (3.0, 10.0, 100.0) for law in LAWS]
    rng = Streams(seed).generator(41)
    f = np.array([0.8, 0.6])
    noise = np.repeat([case[0] for case in cases], runs)
    counts, sums = np.zeros((noise.size, f.size)), np.zeros((noise.size, f.size))
    constant = 2 * math.log(1 / LARGE_DELTA)
    missed, every = np.zeros(noise.size), np.arange(noise.size)
    for _ in range(rounds):
        uniforms = rng.random((len(cases), runs))
        weights = np.concatenate(
            [np.asarray(law.draw(u)) for (_, law), u in zip(cases, uniforms, strict=True)]
        )
        mean, sd = sums / (1 + counts), 1 / np.sqrt(1 + counts)
        width = share * (1 + noise * np.sqrt(constant + np.log1p(counts).sum(1)))
        # Ties, of which the first round is one, go to a worse arm.
        index = mean + (weights * width)[:, None] * sd - 1e-12 * (f == f.max())
        arms = index.argmax(1)
        missed += (arms > 0) & (f[0] > mean[:, 0] + width * sd[:, 0])
        sums[every, arms] += f[arms] + noise * rng.standard_normal(noise.size)
        counts[every, arms] += 1
    return missed.reshape(-1, runs)


def check_supermartingale(effort: Effort) -> Iterator[CheckedStatement]:
    """Check Ville's inequality for M = exp(S^2/(2 R^2 (1 + n))) / sqrt(1 + n) on one arm."""
    runs, rounds, level = effort.runs(2000, least=1000), 2000, 0.5
    sums = Streams(effort.seed).generator(42).standard_normal((runs, rounds)).cumsum(1)
    pulls = np.arange(1, rounds + 1)
    exponent = sums**2 / (2 * (1 + pulls))
    for logs, how, should_hold in (
        (exponent - np.log1p(pulls) / 2, "", True),
        (exponent, ", without the root of 1 + n", False),
    ):
        failed = int((logs > -math.log(level)).any(1).sum())
        yield CheckedStatement(
            f"M = exp(S^2/(2 R^2 (1 + n)))/sqrt(1 + n) exceeds 1/delta in some round with "
            f"probability at most delta = {level:g}{how}",
            f"<= {level:g} (up to {most_failures(level, runs)} of {runs} by chance)",
            format_share(failed, runs),
            holds=failed <= most_failures(level, runs),
            should_hold=should_hold,
            detail=f"one arm, normal noise, {rounds} rounds",
        )


def check_orthonormal_regret(effort: Effort) -> CheckedStatement:
    """Check the expected regret at R = 5 D, for laws that never exceed 1 among others."""
    seeds = effort.seeds(effort.runs(4, least=2))
    found, played = [], []
    for law in (PointMass(1.0), Bernoulli(0.5), Bernoulli(0.25)):
        for trap in TRAPS:
            bound = played_bound(law, trap, LARGE_NOISE, form="orthonormal")
            regrets = [play_regret(law, trap, seed, LARGE_NOISE) for seed in seeds]
            found.append((bound, *mean_and_error(regrets)))
            played.append(played_bound(law, trap, LARGE_NOISE).value)
    return CheckedStatement(
        "two orthonormal arms, R = 5 D, delta = 1/2, three laws: expected regret <= the bound "
        "for orthonormal arms, which is informative",
        "<= " + ", ".join(f"{bound.value:.0f}" for bound, _, _ in found),
        ", ".join(f"{mean:.0f}" for _, mean, _ in found),
        holds=all(m + 3 * e <= bound.value and not bound.vacuous for bound, m, e in found),
        detail=f"T = {TRAPS[0].horizon}, {len(seeds)} runs each, mean + 3 standard errors; "
        "by the form as_played: " + ", ".join(f"{value:.0f}" for value in played),
    )


def check_adaptive_design(effort: Effort) -> Iterator[CheckedStatement]:
    """Check that a design in two dimensions breaks the played radius far more often than 1/t."""
    runs, times = effort.runs(20_000, least=5000), (100, 1000)
    failed = count_adaptive_failures(times, runs, effort.seed)
    shares = ", ".join(f"{count / runs:.4f}" for count in failed)
    detail = f"{runs} runs of the design of Lai and Wei in R^2, R = 1, f = 0"
    text = "the played radius, delta = 1/2, D small: it fails in round t with probability "
    yield CheckedStatement(
        f"{text}at most 1/t; t = 100, 1000; one adaptive design",
        "<= " + ", ".join(f"{1 / t:g}" for t in times),
        shares,
        holds=all(
            count <= most_failures(1 / t, runs) for count, t in zip(failed, times, strict=True)
        ),
        should_hold=False,
        detail=detail,
    )
    limits = [count / runs * math.log(t) for count, t in zip(failed, times, strict=True)]
    yield CheckedStatement(
        f"{text}of the order 1/ln t; t = 100, 1000; one adaptive design",
        "probability times ln t in (0.06, 0.11)",
        ", ".join(f"{limit:.3f}" for limit in limits),
        holds=all(0.06 < limit < 0.11 for limit in limits),
        detail=detail,
    )


def count_adaptive_failures(
    times: Sequence[int], runs: int, seed: int, slope: float = 0.5
) -> list[int]:
    """Count the runs in which the played radius fails after t rounds of the design of Lai and Wei.

    |(V + I)^-1/2 S| > R sqrt(2 ln 2 + L),   x_{n+1} = (1, mean of z + slope mean of the noise)

    z is the second coordinate of the points so far. f = 0, R = 1 and D is negligible. Lai and Wei
    (1982) show that least squares does not converge on this design, although its smallest
    eigenvalue grows like ln n.

    >>> count_adaptive_failures((10, 100), runs=1000, seed=0)
    [35, 19]
    """
    rng, found = Streams(seed).generator(43), []
    place, place_square, noise, product = np.zeros((4, runs))
    for t in range(1, max(times) + 1):
        point = (place + slope * noise) / max(t - 1, 1)
        error = rng.standard_normal(runs)
        place, place_square = place + point, place_square + point**2
        noise, product = noise + error, product + point * error
        if t in times:
            det = (1 + t) * (1 + place_square) - place**2
            square = (1 + place_square) * noise**2 - 2 * place * noise * product
            square = (square + (1 + t) * product**2) / det
            found.append(int((square > 2 * math.log(2) + np.log(det)).sum()))
    return found


# The smallest gap.

GAP_LAWS: tuple[Law, ...] = (
    PointMass(1.0),
    Bernoulli(0.1),
    Bernoulli(0.5),
    Categorical((0.25,) * 4),
    Categorical((0.4, 0.4, 0.2), support=(-0.5, 0.5, 1.5)),
)


def check_gap_step() -> Iterator[CheckedStatement]:
    """Check the step with the gap for the worst f in the band; for UCB it is an equality."""
    for share in (1.0, 0.5):
        ratios = [largest_gap_ratio(law) / share for law in GAP_LAWS]
        factor = "" if share == 1 else "1/2 "
        yield CheckedStatement(
            f"the worst f in the band: E[regret_t | past] <= {factor}width^2 E[h^2 | past] "
            "E[sd(x_t)^2 | past]/(q Delta); two arms",
            "ratio <= 1",
            ", ".join(f"{ratio:.3f}" for ratio in ratios),
            holds=all(ratio <= 1 + ROUNDING for ratio in ratios),
            should_hold=share == 1,
            detail=f"exact expectations for {len(GAP_LAWS)} laws; means and sds on a grid",
        )


def largest_gap_ratio(law: Law) -> float:
    """Return the largest E[regret] q Delta / (E[h^2] E[sd^2]) over posteriors of two arms.

    The width is 1, the sds are 1 and s, and f is at the ends of the band.
    """
    mean, sd = np.meshgrid(np.linspace(-2.5, 2.5, 201), np.linspace(0, 1, 41))
    means = np.stack([np.zeros(mean.size), mean.ravel()])
    sds = np.stack([np.ones(sd.size), sd.ravel()])
    masses = law.masses
    assert masses is not None, "the laws of this check are discrete"
    least = min(float(chance) for chance in masses[1] if chance > 0)
    pairs = list(zip(*masses, strict=True))
    excess = [max(value - law.expectation, 0.0) / law.optimism for value, _ in pairs]
    square = sum(
        chance * (1 + max(value, 0.0) + more) ** 2
        for (value, chance), more in zip(pairs, excess, strict=True)
    )
    largest = 0.0
    for best in (0, 1):
        gap = (means + sds)[best] - (means - sds)[1 - best]
        lost, variance = np.zeros(mean.size), np.zeros(mean.size)
        for value, chance in pairs:
            index = means + value * sds
            # Of two arms with the same index the worse one is played.
            played = np.where(index[best] > index[1 - best] + ROUNDING, best, 1 - best)
            lost += chance * gap * (played != best)
            variance += chance * sds[played, np.arange(sd.size)] ** 2
        real = (gap > 0) & (variance > 0)
        ratio = lost[real] * least * gap[real] / (square * variance[real])
        largest = max(largest, float(ratio.max()))
    return largest


def check_gap_regret(effort: Effort) -> CheckedStatement:
    """Check the expected regret on two arms whose gap is known."""
    seeds = effort.seeds(effort.runs(6, least=3))
    bounds, plain, regrets = [], [], []
    for law in (PointMass(1.0), Bernoulli(0.5), Categorical((0.25,) * 4)):
        for trap in TRAPS:
            values = np.sort(trap.values(0))
            gap = float(values[-1] - values[-2])
            bounds.append(played_bound(law, trap, form="gap", gap=gap).value)
            plain.append(played_bound(law, trap).value)
            regrets.append(mean_and_error([play_regret(law, trap, seed) for seed in seeds]))
    return CheckedStatement(
        "delta = 1/2, three laws on two traps: expected regret <= the bound by the gap",
        "<= " + ", ".join(f"{bound:.0f}" for bound in bounds),
        ", ".join(f"{mean:.1f}" for mean, _ in regrets),
        holds=all(m + 3 * e <= bound for (m, e), bound in zip(regrets, bounds, strict=True)),
        detail=f"T = {TRAPS[0].horizon}, {len(seeds)} runs each, mean + 3 standard errors; "
        "by the form as_played: " + ", ".join(f"{bound:.0f}" for bound in plain),
    )


# A model with an error, and functions that drift.


class WidenedGP(IndexPolicy):
    """Generic-GP with the width of EC-GP-UCB, D + (R / sqrt(ridge)) s + eps sqrt((t - 1)/ridge)."""

    def __init__(self, domain: Any, kernel: Any, exploration: Any, error: float) -> None:
        super().__init__(domain, kernel, ridge=1.0, ties="lowest")
        width = widths.bogunovic_krause(NOISE_SCALE, NORM_BOUND, 1.0, DELTA, error)
        self._set_rule(width, exploration, error=error, gain="realised")


def check_errors_of_the_model(effort: Effort) -> Iterator[CheckedStatement]:
    """Check what the worst errors of eps in all rewards do to the mean, against sd."""
    ratios: dict[bool, float] = {True: 0.0, False: 0.0}
    rounds = 60
    for bandit in BANDITS:
        arms = Streams(effort.seed).generator(44).integers(len(bandit.points), size=rounds)
        # The longest repetition of one arm is where the inequality is nearly an equality.
        for played in (arms, np.zeros(rounds, dtype=int)):
            for t in (2, 10, rounds):
                at, sd = weights_and_sds(bandit, played[: t - 1])
                shift = np.abs(at).sum(1)
                for root, ratio in ((True, math.sqrt(t - 1)), (False, 1.0)):
                    ratios[root] = max(ratios[root], float((shift / (ratio * sd)).max()))
    for root, ratio in ratios.items():
        limit = "eps sqrt((t - 1)/ridge) sd" if root else "eps sd/sqrt(ridge)"
        yield CheckedStatement(
            f"errors of at most eps in t - 1 rewards change the mean by at most {limit}",
            "ratio <= 1",
            f"at most {ratio:.3f}",
            holds=ratio <= 1 + ROUNDING,
            should_hold=root,
            detail=f"the worst errors, on {len(BANDITS)} bandits; ridge 1",
        )


def weights_and_sds(bandit: SmallBandit, played: Indices) -> tuple[Array, Array]:
    """Return the weights of the rewards in the mean of each arm, and its sd, by definition."""
    cross = bandit.gram[:, played]
    weights = np.linalg.solve(bandit.gram[np.ix_(played, played)] + np.eye(len(played)), cross.T).T
    variance = bandit.gram.diagonal() - (weights * cross).sum(1)
    return np.asarray(weights), np.sqrt(np.maximum(variance, 0.0))


def check_misspecified_regret(effort: Effort) -> CheckedStatement:
    """Check the expected regret where the best arm pays eps less than h and the others eps more."""
    seeds = effort.seeds(effort.runs(3, least=2))
    bandits = [replace(bandit, horizon=4000) for bandit in BANDITS]
    bounds, regrets = [], []
    for law in (PointMass(1.0), Bernoulli(0.5)):
        for bandit in bandits:
            bounds.append(played_bound(law, bandit, form="misspecified", error=ERROR))
            every = [play_with_errors(law, bandit, seed) for seed in seeds]
            regrets.append(mean_and_error(every))
    return CheckedStatement(
        f"f within eps = {ERROR:g} of a function of norm D, delta = 1/2, two laws: expected regret "
        "<= the bound for a misspecified model",
        "<= " + ", ".join(f"{bound.value:.0f}" for bound in bounds),
        ", ".join(f"{mean:.0f}" for mean, _ in regrets),
        holds=all(
            m + 3 * e <= bound.value and not bound.vacuous
            for (m, e), bound in zip(regrets, bounds, strict=True)
        ),
        detail=f"{len(bandits)} bandits, T = 4000, {len(seeds)} runs each, mean + 3 standard "
        "errors",
    )


def play_with_errors(law: Any, bandit: SmallBandit, seed: int) -> float:
    """Return the regret in f, which is h - eps at the best arm and h + eps at the others."""
    values = bandit.values(seed)
    moved = values + ERROR * np.where(values == values.max(), -1.0, 1.0)
    policy = WidenedGP(bandit.instance(seed).domain, bandit.kernel, law, ERROR)
    return play_rounds(policy, np.broadcast_to(moved, (bandit.horizon, len(moved))), seed)


def play_rounds(policy: Any, values: Array, seed: int, first: int = 0) -> float:
    """Let a policy play rows of values, a row a round, and return its regret."""
    streams, lost = Streams(seed), 0.0
    noise = NOISE_SCALE * streams.generator(45, first).standard_normal(len(values))
    for t, (f, error) in enumerate(zip(values, noise, strict=True), start=1):
        choice = policy.ask(t, streams)
        arm = int(choice.arm or 0)
        lost += float(f.max() - f[arm])
        policy.tell(choice, float(f[arm] + error))
    return lost


def check_drifting_regret(effort: Effort) -> Iterator[CheckedStatement]:
    """Check the dynamic regret of a rule that begins anew with each block; another rule fails.

    Between blocks the best arm loses all it pays; a rule that remembers takes long to see it.
    """
    trap, block, seeds = TRAPS[0], 10_000, effort.seeds(effort.runs(2, least=2))
    ends = np.array([[0.9, 0.4], [0.0, 0.4], [0.9, 0.4], [0.0, 0.4]])
    drift = DRIFT * np.linspace(-1, 1, block)[:, None]
    blocks = [row + drift * np.array([1.0, -1.0]) for row in ends]
    rounds = block * len(ends)
    bound = regret_bound(
        PointMass(1.0),
        rounds,
        math.log1p(block / 2),
        noise_scale=NOISE_SCALE,
        norm_bound=NORM_BOUND,
        smallest=1.0,
        form="drifting",
        error=DRIFT,
        block=block,
    )
    for anew in (True, False):
        regrets = [play_blocks(trap, blocks, seed, anew) for seed in seeds]
        mean, error = mean_and_error(regrets)
        how = "begins anew with each block" if anew else "keeps the results of all blocks"
        yield CheckedStatement(
            f"{len(ends)} blocks, drift eps = {DRIFT:g} within each, w = 1: a rule that {how} has "
            "expected dynamic regret <= the bound for drifting functions",
            f"<= {bound.value:.0f}",
            f"{mean:.0f}",
            holds=mean + 3 * error <= bound.value and not bound.vacuous,
            should_hold=anew,
            detail=f"two arms, N = {block}, T = {rounds}, {len(seeds)} runs, mean + 3 standard "
            f"errors; the trivial bound is {bound.trivial:.0f}",
        )


def play_blocks(bandit: SmallBandit, blocks: Sequence[Array], seed: int, anew: bool) -> float:
    def begin() -> WidenedGP:
        return WidenedGP(bandit.instance(seed).domain, bandit.kernel, PointMass(1.0), DRIFT)

    if not anew:
        return play_rounds(begin(), np.concatenate(blocks), seed)
    return sum(play_rounds(begin(), f, seed, number) for number, f in enumerate(blocks))


# Results that come in batches.


def check_batches(effort: Effort) -> Iterator[CheckedStatement]:
    """Check sds that are kept during a batch, the number of batches, and the regret."""
    seeds = effort.seeds(effort.runs(3, least=2))
    bandits = [replace(bandit, horizon=2000) for bandit in (BANDITS[0], *TRAPS)]
    ratios, counts, bounds, regrets = [], [], [], []
    for law in (PointMass(1.0), Bernoulli(0.5)):
        for bandit in bandits:
            runs = [play_batches(law, bandit, seed) for seed in seeds]
            ratios += [run.pop("ratios") for run in runs]
            counts += [run["batches"] - 1 - run["log_det"] / GROWTH for run in runs]
            bounds.append(played_bound(law, bandit, form="delayed", pending=GROWTH))
            regrets.append(mean_and_error([run["regret"] for run in runs]))
    for power, should_hold in ((1, True), (2, False)):
        largest = max(float(pair[power - 1]) for pair in ratios)
        formula = "exp(L_t - L_batch)" if power == 1 else "exp((L_t - L_batch)/2)"
        yield CheckedStatement(
            f"batches that end when L has grown by ln 2: sd_batch^2 <= {formula} sd_t^2 on all "
            "arms, in every round",
            "ratio <= 1",
            f"at most {largest:.4f}",
            holds=largest <= 1 + 1e-7,
            should_hold=should_hold,
            detail=f"{len(bandits)} bandits, two laws, {len(seeds)} runs each",
        )
    yield CheckedStatement(
        "batches that end when L has grown by ln 2: there are at most 1 + L_T/ln 2 of them",
        "difference <= 0",
        f"at most {max(counts):.2f}",
        holds=max(counts) <= 1e-7,
        detail=f"{len(bandits)} bandits, two laws, {len(seeds)} runs each",
    )
    yield CheckedStatement(
        "batches that end when L has grown by ln 2, delta = 1/2: expected regret <= the bound for "
        "late results",
        "<= " + ", ".join(f"{bound.value:.0f}" for bound in bounds),
        ", ".join(f"{mean:.0f}" for mean, _ in regrets),
        holds=all(
            m + 3 * e <= bound.value and not bound.vacuous
            for (m, e), bound in zip(regrets, bounds, strict=True)
        ),
        detail=f"T = 2000, {len(seeds)} runs each, mean + 3 standard errors",
    )


def play_batches(law: Any, bandit: SmallBandit, seed: int) -> dict[str, Any]:
    """Play a rule that sees its rewards at the end of a batch.

    The ratios are the largest of sd_batch^2 / sd_t^2 by exp(L_t - L_batch), and by its root.
    """
    instance, streams = bandit.instance(seed), Streams(seed)
    policy = build_policy(law, bandit, instance.domain)
    current = ArmPosterior(bandit.kernel, instance.domain, ridge=1.0)
    waiting: list[tuple[Any, float]] = []
    gaps, lost, batches = instance.values.max() - instance.values, 0.0, 1
    ratios = np.zeros(2)
    for t in range(1, bandit.horizon + 1):
        if current.log_det - policy.posterior.log_det >= GROWTH:
            for told, reward in waiting:
                policy.tell(told, reward)
            waiting, batches = [], batches + 1
        grown = current.log_det - policy.posterior.log_det
        # Variances of nearly zero are all rounding.
        real = current.sd > 1e-4
        ratio = float(((policy.posterior.sd[real] / current.sd[real]) ** 2).max())
        ratios = np.maximum(ratios, ratio / np.exp([grown, grown / 2]))
        choice = policy.ask(t, streams)
        arm = int(choice.arm or 0)
        lost += float(gaps[arm])
        waiting.append((choice, instance.pull(arm, streams.uniform("noise", t), t)))
        current.update(arm, 0.0)
    return {"ratios": ratios, "batches": batches, "log_det": current.log_det, "regret": lost}
