"""The random numbers of a run are what the proofs assume: fair, and independent of each other."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations
from typing import Any

import numpy as np
import pytest

import definitions
from broken_engines import patched
from kernelbandits import streams
from kernelbandits.policies import GPTS, SimpleMixture
from kernelbandits.streams import GeneratorRandomness, Streams
from kernelbandits.verification.laws import LAWS, normal_cdf
from reference_bandits import NOISE_SCALE, NORM_BOUND, RIDGE, SCALES, reference_bandit

PURPOSES = ("problem", "noise", "weight", "tie", "sample")
ROUNDS, NORMALS = 5000, 6
"""More rounds than a block of the table holds."""
SEEDS = range(3)
RUNS, SHORT = 12, 8


def table(seed: int) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """All uniforms by purpose, and the normals."""
    source = Streams(seed)
    uniforms = {purpose: source.uniforms(purpose, ROUNDS) for purpose in PURPOSES}
    return uniforms, source.normals("sample", 1, ROUNDS, NORMALS)


def check_distinct(seed: int = 0) -> None:
    """Two equal numbers among n sound ones have a probability below n^2 / 2^54."""
    (uniforms, normals), (others, other_normals) = table(seed), table(seed + 1)
    all_uniforms = np.concatenate([*uniforms.values(), *others.values()])
    all_normals = np.concatenate([normals.ravel(), other_normals.ravel()])
    assert len(np.unique(all_uniforms)) == len(all_uniforms)
    assert len(np.unique(all_normals)) == len(all_normals)


def check_uncorrelated(seed: int = 0) -> None:
    """Any two columns in the same round, and each column with the round before.

    Six standard errors are exceeded by 2e-9 of all sound pairs.
    """
    uniforms, normals = table(seed)
    columns = [*uniforms.values(), *normals.T]
    pairs = [*combinations(columns, 2), *((column[1:], column[:-1]) for column in columns)]
    largest = max(abs(np.corrcoef(*pair)[0, 1]) for pair in pairs)
    assert largest <= 6 / math.sqrt(ROUNDS - 1)


def check_fair(seed: int = 0) -> None:
    """sup |F_n(u) - u| <= sqrt(ln(2 / chance) / (2 n)), chance 1e-8 (Massart 1990)."""
    uniforms, normals = table(seed)
    limit = math.sqrt(math.log(2 / 1e-8) / (2 * ROUNDS))
    steps = np.arange(ROUNDS + 1) / ROUNDS
    for column in (*uniforms.values(), *(normal_cdf(column) for column in normals.T)):
        ordered = np.sort(column)
        assert np.abs([ordered - steps[1:], ordered - steps[:-1]]).max() <= limit


def check_single_numbers(seed: int = 0) -> None:
    source, (uniforms, normals) = Streams(seed), table(seed)
    for t in source.generator(21).permutation(ROUNDS)[:300].tolist():
        for purpose, column in uniforms.items():
            assert source.uniform(purpose, t + 1) == column[t]
        np.testing.assert_array_equal(source.normal("sample", t + 1, NORMALS), normals[t])


def play_with_generator(policy: Any, key: int, number: int) -> Iterator[tuple[Any, list, Any]]:
    """(generator of the same numbers, arms so far, choice) of each round, without noise."""
    bandit = reference_bandit(0)
    used, same = (bandit.streams.generator(key, number) for _ in range(2))
    arms: list[int] = []
    for t in range(1, SHORT + 1):
        choice = policy.ask(t, used)
        yield same, arms, choice
        arms.append(choice.arm)
        policy.tell(choice, float(bandit.instance.values[choice.arm]))


def check_generator_weights() -> None:
    """The weight is the quantile of the next uniform, and the uniform after it settles ties."""
    bandit, law = reference_bandit(0), LAWS["0.4 at 1, else N(0, 1)"][1]
    width = definitions.self_normalised(NOISE_SCALE, NORM_BOUND, RIDGE, 0.5)
    for number in range(RUNS):
        policy = SimpleMixture(
            bandit.instance.domain, bandit.kernel, rho=0.4, ridge=RIDGE, ties="random", **SCALES
        )
        for same, arms, choice in play_with_generator(policy, 20, number):
            rewards = bandit.instance.values[arms]
            known = definitions.posterior_from_counts(bandit.gram, arms, rewards, RIDGE)
            weight, tie = law.quantile(same.random()), same.random()
            exact = definitions.ExactRound(known, weight, width(known.log_det))
            assert choice.note["weight"] == pytest.approx(weight, abs=1e-12)
            assert choice.arm == definitions.best_arm(exact.index(), tie)


def check_generator_samples() -> None:
    """GP-TS draws a uniform for ties, then 2 n normals."""
    bandit, ridge = reference_bandit(0), 1 + 2 / SHORT
    n, scale = len(bandit.gram), definitions.improved(NOISE_SCALE, NORM_BOUND, delta=0.1 / 2)
    for number in range(RUNS):
        policy = GPTS(
            bandit.instance.domain, bandit.kernel, horizon=SHORT, delta=0.1, ties="random", **SCALES
        )
        for same, arms, choice in play_with_generator(policy, 22, number):
            rewards = bandit.instance.values[arms]
            known = definitions.posterior_from_counts(bandit.gram, arms, rewards, ridge)
            tie, normals = same.random(), same.standard_normal(2 * n)
            deviation = definitions.sample_deviation(
                bandit.gram, arms, ridge, policy.root @ normals[:n], normals[n:]
            )
            sample = known.mean + scale(known.log_det) * deviation
            assert choice.arm == definitions.best_arm(sample, tie)


@pytest.mark.parametrize("seed", SEEDS)
def test_no_two_numbers_are_equal_over_all_purposes_rounds_and_two_seeds(seed):
    check_distinct(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_purposes_and_rounds_are_uncorrelated(seed):
    check_uncorrelated(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_uniforms_are_uniform_and_normals_are_normal(seed):
    check_fair(seed)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_number_asked_for_alone_is_that_of_the_table_in_any_order(seed):
    check_single_numbers(seed)


def test_with_a_numpy_generator_weight_and_arm_follow_from_its_uniforms():
    check_generator_weights()


def test_with_a_numpy_generator_the_sample_of_thompson_follows_from_its_normals():
    check_generator_samples()


# Broken randomness


def shared_column(first: str, second: str):
    return lambda monkeypatch: monkeypatch.setitem(streams.COLUMN, second, streams.COLUMN[first])


BREAKAGES = {
    "weights and ties of the same uniforms": (shared_column("weight", "tie"), check_distinct),
    "noise and weights of the same uniforms": (
        shared_column("noise", "weight"),
        check_uncorrelated,
    ),
    "samples of the uniforms of the problem": (shared_column("problem", "sample"), check_distinct),
    "uniforms that repeat every 1024 rounds": (
        patched(
            Streams,
            "_uniform_block",
            lambda sound: lambda self, purpose, block: sound(self, purpose, 0),
        ),
        check_distinct,
    ),
    "normals that repeat in every block": (
        patched(
            Streams,
            "_normal_block",
            lambda sound: lambda self, purpose, block, n: sound(self, purpose, 0, n),
        ),
        check_distinct,
    ),
    "uniforms that are not uniform": (
        patched(
            Streams,
            "_uniform_block",
            lambda sound: lambda self, p, block: sound(self, p, block) ** 1.2,
        ),
        check_fair,
    ),
    "the same normals for all seeds": (
        patched(
            Streams,
            "_normal_block",
            lambda sound: lambda self, p, block, n: sound(Streams(0), p, block, n),
        ),
        check_distinct,
    ),
    "a look-up one round off": (
        patched(
            Streams, "uniform", lambda sound: lambda self, purpose, t: sound(self, purpose, t + 1)
        ),
        check_single_numbers,
    ),
    "a generator that is not asked": (
        patched(GeneratorRandomness, "uniform", lambda sound: lambda self, purpose, t: 0.5),
        check_generator_weights,
    ),
    "a generator read from the other end": (
        patched(
            GeneratorRandomness,
            "uniform",
            lambda sound: lambda self, purpose, t: 1 - sound(self, purpose, t),
        ),
        check_generator_weights,
    ),
    "normals of a generator doubled": (
        patched(
            GeneratorRandomness,
            "normal",
            lambda sound: lambda self, purpose, t, n: 2 * sound(self, purpose, t, n),
        ),
        check_generator_samples,
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_check_notices(breakage, monkeypatch):
    break_streams, check = BREAKAGES[breakage]
    break_streams(monkeypatch)
    with pytest.raises(AssertionError):
        check()
