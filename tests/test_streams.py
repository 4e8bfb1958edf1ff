from __future__ import annotations

import contextlib
import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits.streams import (
    BLOCK,
    NORMALS,
    PURPOSES,
    GeneratorRandomness,
    as_randomness,
    rows_of,
)

ROUNDS = st.integers(0, 5 * BLOCK)


@given(st.integers(0, 2**64), st.sampled_from(PURPOSES), ROUNDS)
def test_equal_arguments_give_equal_numbers(seed, purpose, t):
    first, again = kb.Streams(seed), kb.Streams(seed)
    assert first.uniform(purpose, t) == first.uniform(purpose, t) == again.uniform(purpose, t)
    np.testing.assert_array_equal(first.normal(purpose, t, 3), again.normal(purpose, t, 3))


def test_the_table_is_the_same_on_every_machine_and_in_every_release():
    streams = kb.Streams(0)
    assert [streams.uniform(purpose, 1) for purpose in PURPOSES] == [
        np.random.Generator(np.random.Philox(np.random.SeedSequence(0, spawn_key=(c, 0)))).random(
            2
        )[1]
        for c in range(5)
    ]


@given(st.permutations([1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK]))
def test_the_order_of_the_calls_does_not_matter(order):
    streams, sorted_streams = kb.Streams(3), kb.Streams(3)
    expected = {t: sorted_streams.uniform("noise", t) for t in sorted(order)}
    normals = {t: sorted_streams.normal("sample", t, 2) for t in sorted(order)}
    for t in order:
        assert streams.uniform("noise", t) == expected[t]
        np.testing.assert_array_equal(streams.normal("sample", t, 2), normals[t])


def test_asking_for_another_purpose_in_between_does_not_matter():
    plain, mixed = kb.Streams(5), kb.Streams(5)
    expected = [plain.uniform("tie", t) for t in range(1, 20)]
    got = []
    for t in range(1, 20):
        mixed.uniform("weight", t)
        mixed.normal("tie", t, 4)
        got.append(mixed.uniform("tie", t))
    assert got == expected


@pytest.mark.parametrize("horizon", [1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 7])
def test_uniforms_at_once_are_the_single_ones_across_blocks(horizon):
    streams = kb.Streams(7)
    bulk = streams.uniforms("weight", horizon)
    np.testing.assert_array_equal(
        bulk, [streams.uniform("weight", t) for t in range(1, horizon + 1)]
    )


@pytest.mark.parametrize("n", [1, 6, 200, NORMALS - 1, NORMALS, NORMALS + 1])
def test_normals_at_once_are_the_single_ones_across_blocks(n):
    streams, rows = kb.Streams(8), rows_of(n)
    first, last = max(1, 2 * rows - 2), 2 * rows + 2
    bulk = streams.normals("sample", first, last, n)
    assert bulk.shape == (last - first + 1, n)
    for t in range(first, last + 1):
        np.testing.assert_array_equal(bulk[t - first], streams.normal("sample", t, n))


def test_a_look_up_cannot_be_written_to_and_so_stays_what_it_is():
    streams = kb.Streams(9)
    before = streams.normal("sample", 4, 3).copy()
    with contextlib.suppress(ValueError):
        streams.normal("sample", 4, 3)[:] = 0.0
    np.testing.assert_array_equal(streams.normal("sample", 4, 3), before)


def correlation_in_standard_errors(a: np.ndarray, b: np.ndarray) -> float:
    return abs(np.corrcoef(a, b)[0, 1]) * np.sqrt(len(a))


N = 20_000


def test_purposes_are_independent():
    streams = kb.Streams(10)
    columns = [streams.uniforms(purpose, N) for purpose in PURPOSES]
    for a, b in itertools.combinations(columns, 2):
        assert correlation_in_standard_errors(a, b) < 4


def test_seeds_are_independent():
    columns = [kb.Streams(seed).uniforms("noise", N) for seed in (0, 1, 2, 1000, 2**32, 2**40)]
    for a, b in itertools.combinations(columns, 2):
        assert correlation_in_standard_errors(a, b) < 4


def test_uniforms_and_normals_of_one_purpose_are_unrelated():
    streams = kb.Streams(11)
    uniforms = streams.uniforms("sample", N)
    for n in (1, 2):
        normals = streams.normals("sample", 1, N, n)[:, 0]
        assert correlation_in_standard_errors(uniforms, normals) < 4
    one, two = (streams.normals("sample", 1, N, n)[:, 0] for n in (1, 2))
    assert correlation_in_standard_errors(one, two) < 4


def test_neighbouring_rounds_are_unrelated_also_across_blocks():
    column = kb.Streams(12).uniforms("noise", N)
    for lag in (1, BLOCK - 1, BLOCK):
        assert correlation_in_standard_errors(column[:-lag], column[lag:]) < 4


def test_uniforms_are_uniform_and_normals_are_normal():
    streams = kb.Streams(13)
    u, z = streams.uniforms("weight", N), streams.normals("sample", 1, N, 1)[:, 0]
    assert 0 <= u.min() <= u.max() < 1
    assert abs(u.mean() - 0.5) < 4 * np.sqrt(1 / 12 / N)
    assert abs((u**2).mean() - 1 / 3) < 4 * np.sqrt(4 / 45 / N)
    assert abs(z.mean()) < 4 / np.sqrt(N)
    assert abs(z.var() - 1) < 4 * np.sqrt(2 / N)


def test_streams_are_values():
    assert kb.Streams(1) == kb.Streams(1)
    assert kb.Streams(1) != kb.Streams(2)
    assert repr(kb.Streams(1)) == "Streams(seed=1)"
    with pytest.raises(AttributeError):
        kb.Streams(1).seed = 2


@pytest.mark.parametrize("seed", [-1, 1.5, "1", None, True])
def test_a_seed_is_a_whole_number(seed):
    with pytest.raises(ValueError, match="needs"):
        kb.Streams(seed)


def test_a_generator_is_drawn_afresh_at_each_request():
    drawn, rng = GeneratorRandomness(np.random.default_rng(0)), np.random.default_rng(0)
    assert drawn.uniform("weight", 1) == rng.random()
    assert drawn.uniform("weight", 1) == rng.random()
    np.testing.assert_array_equal(drawn.normal("sample", 1, 3), rng.standard_normal(3))


def test_randomness_is_streams_or_a_generator_and_nothing_else():
    streams = kb.Streams(0)
    assert as_randomness(streams) is streams
    assert isinstance(as_randomness(np.random.default_rng(0)), GeneratorRandomness)
    for other in (0, None, np.random.RandomState(0), "streams"):
        with pytest.raises(ValueError, match=r"needs a kb.Streams or a numpy Generator, got"):
            as_randomness(other)


def test_an_unknown_purpose_is_named():
    with pytest.raises(ValueError, match=r"needs purpose in .*got 'foo'"):
        kb.Streams(0).uniform("foo", 1)
