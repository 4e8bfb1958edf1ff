"""The rule as it is played, at delta = 1/2: its effective level, the proof step by step, bounds.

The high-probability bounds are checked here too: their two inequalities for martingales on sums
that make them nearly exact, and the regrets of many runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.experiment.engines import play
from kernelbandits.exploration import (
    AdaptiveBernoulli,
    Bernoulli,
    Categorical,
    Certainty,
    Gaussian,
    Law,
    PointMass,
)
from kernelbandits.policies import GenericGP, Greedy
from kernelbandits.streams import Streams
from kernelbandits.theory import effective_level, regret_bound
from kernelbandits.theory.high_probability import expected_sum, realised_sum
from kernelbandits.verification.laws import SCHEDULES
from kernelbandits.verification.regret import (
    BANDITS,
    NOISE_SCALE,
    NORM_BOUND,
    ROUNDING,
    TRAPS,
    SmallBandit,
    estimate_all_rounds,
    total_regret,
)
from kernelbandits.verification.statements import (
    CheckedStatement,
    Effort,
    compare_numbers,
    format_share,
    mean_and_error,
    most_failures,
)

RARE = Bernoulli(0.001)
DELTA = 0.5
FAILURE = 0.05
"""The probability with which a high-probability bound may fail."""


def check_as_played(effort: Effort) -> Iterator[CheckedStatement]:
    yield check_identity(effort)
    yield from check_effective_level(effort)
    yield from check_steps(effort)
    yield from check_worst_functions()
    for name in SCHEDULES:
        yield check_expected_regret(name, effort)
    yield check_large_noise(effort)
    yield from check_adaptive(effort)
    yield check_greedy_exceeds()


def check_high_probability(effort: Effort) -> Iterator[CheckedStatement]:
    yield from check_deviations(effort)
    yield check_regrets(effort)
    yield check_chosen_laws(effort)


# The effective level.


@dataclass(frozen=True)
class BandRuns:
    """Runs on d orthonormal arms in which each round plays the arm with the largest error."""

    failed: Array
    """Whether f ever left the band mean -+ width sd."""
    log_dets: Array
    """L before each round, (T, runs)."""


def play_against_band(
    norm: float, runs: int, seed: int, arms: int = 4, rounds: int = 100
) -> BandRuns:
    """Play runs that test the band where it is weakest, and say in which of them it failed.

    R = 1, ridge 1, and f has norm D in a random direction. Mean, sd and L have a closed form.
    """
    rng = Streams(seed).generator(22)
    f = rng.standard_normal((runs, arms))
    f *= norm / np.linalg.norm(f, axis=1)[:, None]
    counts, sums, every = np.zeros((runs, arms)), np.zeros((runs, arms)), np.arange(runs)
    failed, log_dets = np.zeros(runs, dtype=bool), np.empty((rounds, runs))
    for t in range(rounds):
        log_dets[t] = np.log1p(counts).sum(1)
        width = np.sqrt(2 * math.log(1 / DELTA) + log_dets[t]) + norm
        error = np.abs(f - sums / (1 + counts)) * np.sqrt(1 + counts)
        failed |= (error > width[:, None]).any(1)
        played = error.argmax(1)
        sums[every, played] += f[every, played] + rng.standard_normal(runs)
        counts[every, played] += 1
    return BandRuns(failed, log_dets)


def check_identity(effort: Effort) -> CheckedStatement:
    """Check that the played width is that of Flynn and Reeb at the effective level, each round."""
    log_dets = play_against_band(0.7, 5, effort.seed).log_dets
    level = effective_level(log_dets, noise_scale=1.0, norm_bound=0.7)
    band = np.sqrt(2 * np.log(1 / level) + log_dets + 0.7**2)
    width = np.sqrt(2 * math.log(2) + log_dets) + 0.7
    return compare_numbers(
        "R sqrt(2 ln 2 + L) + D = sqrt(R^2 (2 ln(1/d) + L) + D^2), d the effective level",
        np.abs(band / width - 1),
        1e-12,
        "rounding",
    )


def check_effective_level(effort: Effort) -> Iterator[CheckedStatement]:
    """Check that f leaves the played band with at most the effective level of the first round."""
    runs = effort.runs(2000, least=1000)
    for norm, power, should_hold in ((0.3, 1, True), (1.0, 1, True), (1.0, 4, False)):
        failed = int(play_against_band(norm, runs, effort.seed).failed.sum())
        exponent = power * norm * math.sqrt(2 * math.log(2))
        level = DELTA * math.exp(-exponent)
        factor = "" if power == 1 else f"{power} "
        yield CheckedStatement(
            f"delta = 1/2, D = {norm:g} R: f leaves the played band with probability at most "
            f"(1/2) exp(-{factor}(D/R) sqrt(2 ln 2))",
            f"<= {level:.4f} (up to {most_failures(level, runs)} of {runs} by chance)",
            format_share(failed, runs),
            holds=failed <= most_failures(level, runs),
            should_hold=should_hold,
            detail="each round plays the arm with the largest error",
        )


# The steps of the proof, round by round.

STEP_LAWS: tuple[Law, ...] = (
    Bernoulli(0.1),
    Bernoulli(0.5),
    Categorical((0.25,) * 4),
    Categorical((0.4, 0.4, 0.2), support=(-0.5, 0.5, 1.5)),
)


def check_steps(effort: Effort) -> Iterator[CheckedStatement]:
    """Check the step of the proof exactly, in each round with f in the band.

    E[regret_t | past] <= E[h_t width sd(x_t) | past]

    Without (w - E w)^+ / C1 the inequality is false: in the trap a rule that mostly exploits loses
    more than its bonuses.
    """
    for excess in (True, False):
        ratio = max(
            largest_ratio(law, bandit, seed, excess)
            for law in STEP_LAWS
            for bandit in BANDITS
            for seed in effort.seeds(effort.runs(4, least=2))
        )
        formula = "1 + w^+ + (w - E w)^+/C1" if excess else "1 + w^+"
        yield CheckedStatement(
            f"delta = 1/2, f in the band: E[regret_t | past] <= E[h g(x_t) | past], h = {formula}, "
            f"in every round",
            "ratio <= 1",
            f"at most {ratio:.3f}",
            holds=ratio <= 1 + ROUNDING,
            should_hold=excess,
            detail=f"exact expectations for {len(STEP_LAWS)} discrete laws on {len(BANDITS)} "
            "bandits, 300 rounds",
        )


def largest_ratio(
    law: Law, bandit: SmallBandit, seed: int, excess: bool, rounds: int = 300
) -> float:
    """Return the largest E[regret_t | past] / E[h g(x_t) | past] of a run."""
    instance, streams = bandit.instance(seed), Streams(seed)
    policy = build_policy(law, bandit, instance.domain)
    arms = play(policy, instance, rounds, streams).arms
    rewards = instance.values[arms] + instance.noise.draw(streams.uniforms("noise", rounds))
    mean, sd, log_dets = estimate_all_rounds(bandit.gram, arms, rewards)
    width = NORM_BOUND + NOISE_SCALE * np.sqrt(2 * math.log(1 / DELTA) + log_dets[:-1])
    bonus = width[:, None] * sd
    kept = (np.abs(instance.values - mean) <= bonus + ROUNDING).all(1)
    gaps = instance.values.max() - instance.values
    masses = law.masses
    assert masses is not None, "the laws of this check are discrete"
    lost, allowed = np.zeros(rounds), np.zeros(rounds)
    for value, chance in zip(*masses, strict=True):
        played = (mean + value * bonus).argmax(1)
        more = max(value - law.expectation, 0.0) / law.optimism if excess else 0.0
        lost += chance * gaps[played]
        allowed += chance * (1 + max(value, 0.0) + more) * bonus[np.arange(rounds), played]
    return float((lost / allowed)[kept].max())


def check_worst_functions() -> Iterator[CheckedStatement]:
    """Check the same inequality for the worst f in the band, where it is nearly an equality.

    With half of h it is false, so that this check notices a width that is too small by half.
    """
    cases = [(law, 1.0) for law in (PointMass(1.0), Bernoulli(0.01), *STEP_LAWS)]
    cases.append((STEP_LAWS[-1], 1.5))
    for share in (1.0, 0.5):
        ratios = [largest_worst_ratio(law, b) / share for law, b in cases]
        holds = [ratio <= 1 + ROUNDING for ratio in ratios]
        factor = "" if share == 1 else "1/2 "
        yield CheckedStatement(
            f"the worst f in a band of b widths: E[regret_t | past] <= {factor}"
            "E[h g(x_t) | past], h = b + w^+ + (w - E w)^+/P(w >= b); two arms",
            "ratio <= 1",
            ", ".join(f"{ratio:.3f}" for ratio in ratios),
            holds=all(holds),
            should_hold=share == 1,
            detail=f"exact expectations for {len(cases)} laws; means and sds on a grid; b = 1, and "
            "1.5 for the last",
        )


def largest_worst_ratio(law: Law, band: float) -> float:
    """Return the largest E[regret] / E[h g(x)] over posteriors of two arms, width 1 and sd 1 and s.

    One arm has f at the upper end of its band, the other one at the lower end.
    """
    mean, sd = np.meshgrid(np.linspace(-2.5, 2.5, 201), np.linspace(0, 1, 41))
    means = np.stack([np.zeros(mean.size), mean.ravel()])
    sds = np.stack([np.ones(sd.size), sd.ravel()])
    masses = law.masses
    assert masses is not None, "the laws of this check are discrete"
    optimism = sum(chance for value, chance in zip(*masses, strict=True) if value >= band)
    largest = 0.0
    for best in (0, 1):
        gap = (means + band * sds)[best] - (means - band * sds)[1 - best]
        lost, allowed = np.zeros(mean.size), np.zeros(mean.size)
        for value, chance in zip(*masses, strict=True):
            index = means + value * sds
            # Of two arms with the same index the worse one is played.
            played = np.where(index[best] > index[1 - best] + ROUNDING, best, 1 - best)
            excess = max(value - law.expectation, 0.0) / optimism
            lost += chance * gap * (played != best)
            allowed += chance * (band + max(value, 0.0) + excess) * sds[played, np.arange(sd.size)]
        real = (gap >= 0) & (allowed > 0)
        largest = max(largest, float((lost[real] / allowed[real]).max()))
    return largest


def build_policy(
    exploration: Any, bandit: SmallBandit, domain: Any, noise: float = NOISE_SCALE
) -> GenericGP:
    """Build Generic-GP with the paper's delta."""
    return GenericGP(
        domain,
        bandit.kernel,
        exploration,
        noise_scale=noise,
        norm_bound=NORM_BOUND,
        delta=DELTA,
        ties="lowest",
    )


# The bounds of the expected regret.


def play_regret(
    exploration: Any, bandit: SmallBandit, seed: int, noise: float = NOISE_SCALE
) -> float:
    instance = bandit.instance(seed, noise)
    policy = build_policy(exploration, bandit, instance.domain, noise)
    arms = play(policy, instance, bandit.horizon, Streams(seed)).arms
    return total_regret(instance.values, np.bincount(arms, minlength=len(bandit.points)))


def played_bound(
    exploration: Any, bandit: SmallBandit, noise: float = NOISE_SCALE, **form: Any
) -> Any:
    told: dict[str, Any] = {"noise_scale": noise, "norm_bound": NORM_BOUND, "form": "as_played"}
    return regret_bound(
        exploration,
        bandit.horizon,
        bandit.gain,
        smallest=float(bandit.gram.diagonal().min()),
        largest=float(bandit.gram.diagonal().max()),
        **told | form,
    )


def check_expected_regret(name: str, effort: Effort) -> CheckedStatement:
    """Check that the mean regret + 3 standard errors is at most the bound as played."""
    seeds = effort.seeds(effort.runs(6, least=3))
    bounds, regrets = [], []
    for bandit in BANDITS:
        law = SCHEDULES[name].exploration(bandit.horizon)
        bounds.append(played_bound(law, bandit).value)
        regrets.append(mean_and_error([play_regret(law, bandit, seed) for seed in seeds]))
    return CheckedStatement(
        f"Law {name}, delta = 1/2: expected regret <= bound as played on {len(BANDITS)} bandits",
        "<= " + ", ".join(f"{bound:.0f}" for bound in bounds),
        ", ".join(f"{mean:.1f}" for mean, _ in regrets),
        holds=all(
            mean + 3 * error <= bound for (mean, error), bound in zip(regrets, bounds, strict=True)
        ),
        detail=f"{len(seeds)} runs each, mean + 3 standard errors",
    )


def check_large_noise(effort: Effort) -> CheckedStatement:
    """Check the bound at R = D, where the played width is too small in the first rounds.

    The bound then has n > 0 or b > 1.
    """
    bandit, noise = TRAPS[1], NORM_BOUND
    bound = played_bound(Gaussian(), bandit, noise)
    seeds = effort.seeds(effort.runs(6, least=3))
    mean, error = mean_and_error([play_regret(Gaussian(), bandit, seed, noise) for seed in seeds])
    return CheckedStatement(
        "N(0, 1), delta = 1/2, R = D: expected regret <= the bound as played",
        f"<= {min(bound.as_played, bound.mean_square):.0f}, with n = {bound.first_rounds} and "
        f"b = {bound.threshold:.3f}",
        f"{mean:.0f}",
        holds=mean + 3 * error <= bound.value and not bound.vacuous,
        detail=f"{len(seeds)} runs, mean + 3 standard errors; 2DT = {bound.trivial:.0f}",
    )


def check_adaptive(effort: Effort) -> Iterator[CheckedStatement]:
    """Check chances chosen from the data: the step of the proof in every round, and the bound.

    Ber(0.001) in every round, which nothing keeps within the bound, breaks the step.
    """
    seeds = effort.seeds(effort.runs(4, least=2))
    adaptive = AdaptiveBernoulli(slack=0.0)
    for schedule, should_hold in ((adaptive, True), (lambda t, posterior, width: RARE, False)):
        ratio = max(largest_share(schedule, bandit, seed) for bandit in BANDITS for seed in seeds)
        name = repr(schedule) if should_hold else repr(RARE)
        yield CheckedStatement(
            f"{name}, f in the band: E[regret_t | past]^2 <= "
            "8 width^2 ridge M/ln(1 + M) E[information | past] in every round",
            "ratio <= 1",
            f"at most {ratio:.3f}",
            holds=ratio <= 1 + ROUNDING,
            should_hold=should_hold,
            detail=f"{len(BANDITS)} bandits, 300 rounds, {len(seeds)} runs each",
        )
    short = [replace(bandit, horizon=2000) for bandit in BANDITS]
    bounds = [played_bound(adaptive, bandit).mean_square for bandit in short]
    regrets = [mean_and_error([play_regret(adaptive, one, s) for s in seeds]) for one in short]
    yield CheckedStatement(
        f"{adaptive!r}, delta = 1/2, T = 2000: expected regret <= the bound of UCB",
        "<= " + ", ".join(f"{bound:.0f}" for bound in bounds),
        ", ".join(f"{mean:.1f}" for mean, _ in regrets),
        holds=all(m + 3 * e <= bound for (m, e), bound in zip(regrets, bounds, strict=True)),
        detail=f"{len(seeds)} runs each, mean + 3 standard errors",
    )


def largest_share(schedule: Any, bandit: SmallBandit, seed: int, rounds: int = 300) -> float:
    """Return the largest ratio of the two sides of the inequality for a schedule, in a run.

    E[regret | past]^2 / (8 width^2 ridge M/ln(1 + M) E[information | past])
    """
    instance, streams, largest = bandit.instance(seed), Streams(seed), 0.0
    policy = build_policy(schedule, bandit, instance.domain)
    gaps, top = instance.values.max() - instance.values, float(bandit.gram.diagonal().max())
    for t in range(1, rounds + 1):
        posterior, width = policy.posterior, policy.width_at(t)
        law = policy.exploration.law(t, posterior, width)
        chosen = [int((posterior.mean + w * width * posterior.sd).argmax()) for w in (1.0, 0.0)]
        chances = np.array([law.optimism, 1 - law.optimism])
        information = 0.5 * np.log1p(posterior.sd[chosen] ** 2)
        if (np.abs(instance.values - posterior.mean) <= width * posterior.sd + ROUNDING).all():
            limit = 8 * width**2 * top / math.log1p(top) * (chances @ information)
            largest = max(largest, float((chances @ gaps[chosen]) ** 2 / limit))
        choice = policy.ask(t, streams)
        policy.tell(choice, instance.pull(int(choice.arm or 0), streams.uniform("noise", t), t))
    return largest


def check_greedy_exceeds() -> CheckedStatement:
    """Check that a rule that never explores exceeds the bound of each law."""
    trap = TRAPS[0]
    instance = trap.instance(0)
    arms = play(
        Greedy(instance.domain, trap.kernel, ties="lowest"), instance, trap.horizon, Streams(0)
    ).arms
    regret = total_regret(instance.values, np.bincount(arms, minlength=2))
    largest = max(
        played_bound(SCHEDULES[name].exploration(trap.horizon), trap).value for name in SCHEDULES
    )
    return CheckedStatement(
        f"Greedy, which never explores, satisfies the largest bound as played on the {trap.name}",
        f"<= {largest:.0f}",
        f"{regret:.0f}",
        holds=regret <= largest,
        should_hold=False,
    )


# High probability.


def check_deviations(effort: Effort) -> Iterator[CheckedStatement]:
    """Check the two inequalities for sums of Y_t in {0, 1} with P(Y_t = 1 | past) = q.

    Each is broken on purpose once: with a quarter of the logarithm it fails too often. A is the
    same in all runs, so that s depends on chance in neither.
    """
    runs, rounds, chance, delta = effort.runs(20_000, least=4000), 400, 0.05, 0.1
    sums = Streams(effort.seed).generator(23).binomial(rounds, chance, runs)
    mean = rounds * chance
    cases: tuple[tuple[str, Callable[[float], Any]], ...] = (
        (
            "sum Y <= min_s (e^s - 1)/s A + ln(1/delta)/s",
            lambda log: sums > realised_sum(mean, 1.0, log),
        ),
        (
            "A <= min_s (s sum Y + ln(1/delta))/(1 - e^-s)",
            lambda log: np.array([mean > expected_sum(float(n), 1.0, log) for n in range(rounds)])[
                sums
            ],
        ),
    )
    for formula, exceeds in cases:
        for share, should_hold in ((1.0, True), (1 / 4, False)):
            failed = int(exceeds(share * math.log(1 / delta)).sum())
            how = "" if share == 1 else ", with a quarter of the logarithm"
            yield CheckedStatement(
                f"{formula} with probability 1 - delta, A = sum E[Y | past]{how}",
                f"fails in at most {delta:g} of the runs",
                format_share(failed, runs),
                holds=failed <= most_failures(delta, runs),
                should_hold=should_hold,
                detail=f"Y = 1 with probability {chance:g}, {rounds} rounds",
            )


def check_regrets(effort: Effort) -> CheckedStatement:
    """Check that in all but a share delta of the runs the regret is at most the bound."""
    laws: dict[str, Any] = {
        "w = 1": SCHEDULES["w = 1"].exploration(1),
        "Ber(1/2)": Bernoulli(0.5),
        "Ber(0.05)": Bernoulli(0.05),
        "N(0, 1)": Gaussian(),
    }
    seeds = effort.seeds(effort.runs(5, least=3))
    ratios = {}
    for name, law in laws.items():
        bounds = {
            bandit: played_bound(law, bandit, form="high_probability", delta=FAILURE).value
            for bandit in BANDITS
        }
        ratios[name] = [
            play_regret(law, bandit, seed) / bound
            for bandit, bound in bounds.items()
            for seed in seeds
        ]
    failed = sum(ratio > 1 for each in ratios.values() for ratio in each)
    runs = sum(map(len, ratios.values()))
    return CheckedStatement(
        f"delta = 1/2: the regret exceeds its bound of level {FAILURE:g} in at most this share of "
        f"the runs; {len(laws)} laws on {len(BANDITS)} bandits",
        f"<= {FAILURE:g} (up to {most_failures(FAILURE, runs)} of {runs} by chance)",
        format_share(failed, runs),
        holds=failed <= most_failures(FAILURE, runs),
        detail="the largest share of a bound: "
        + ", ".join(f"{name} {max(each):.4f}" for name, each in ratios.items()),
    )


def check_chosen_laws(effort: Effort) -> CheckedStatement:
    """Check the bound from the laws that a schedule chose, by looking at the history."""
    trap, rounds = TRAPS[1], 20_000
    schedule, chosen = Certainty(0.5, 0.05), []

    def record(t: int, posterior: Any) -> Law:
        chosen.append(schedule(t, posterior))
        return chosen[-1]

    instance = trap.instance(effort.seed)
    policy = build_policy(record, trap, instance.domain)
    arms = play(policy, instance, rounds, Streams(effort.seed)).arms
    regret = total_regret(instance.values, np.bincount(arms, minlength=2))
    told = {"noise_scale": NOISE_SCALE, "norm_bound": NORM_BOUND, "smallest": 1.0}
    gain = math.log1p(rounds / 2)
    bounds = [
        regret_bound(given, rounds, gain, form="high_probability", **told).value
        for given in (chosen, schedule)
    ]
    return CheckedStatement(
        "Laws chosen from the past: the regret is at most the bound from the laws chosen, and at "
        "most that over all histories",
        f"<= {bounds[0]:.0f} and <= {bounds[1]:.0f}",
        f"{regret:.1f}",
        holds=regret <= min(bounds) and min(bounds) < 2 * NORM_BOUND * rounds,
        detail=f"{schedule} on the {trap.name}, T = {rounds}",
    )
