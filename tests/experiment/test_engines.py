"""The compiled loop plays what asking and telling plays: same arms round by round, values to 1e-9."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kernelbandits as kb
from kernelbandits import compiled
from kernelbandits.catalogue import POLICIES
from kernelbandits.domains import argmax
from kernelbandits.experiment import Results, run_cells
from kernelbandits.experiment.paper import paper_cells
from kernelbandits.experiment.paper_settings import PaperSetting
from kernelbandits.experiment.summary import save_rounds
from kernelbandits.policies.base import valid_loop
from kernelbandits.problems import (
    GaussianNoise,
    Instance,
    RademacherNoise,
    RKHSFunction,
    UniformNoise,
)

OWN_FORM: set[str] = {"tv-gp-ucb"}
"""Those whose posterior has a form of its own."""
LOOPS = [
    name
    for name, entry in POLICIES.items()
    if valid_loop(entry.constructor) and name not in OWN_FORM
]
every_loop = pytest.mark.parametrize("name", LOOPS)

PROBLEMS = {
    "branin": kb.problem("branin", candidates=30).instance(kb.Streams(0)),
    "hartmann6": kb.problem("hartmann6", candidates=50, noise=UniformNoise(0.3)).instance(
        kb.Streams(1)
    ),
    "rkhs": RKHSFunction(kb.RBF(0.3), 1, candidates=12, noise=RademacherNoise(0.5)).instance(
        kb.Streams(2)
    ),
    "basis": Instance("basis", kb.Arms(np.eye(4)), [0.1, 0.0, 0.0, 0.1], GaussianNoise(0.0)),
}
every_problem = pytest.mark.parametrize("problem", PROBLEMS)
KERNELS = {
    "branin": kb.Matern(0.3),
    "hartmann6": kb.RBF(0.4),
    "rkhs": kb.RBF(0.3),
    "basis": kb.Linear(),
}


def same_play(make, instance: Instance, horizon: int, seed: int = 3) -> kb.Policy:
    """Play both engines and compare them round by round; the compiled policy."""
    slow, fast = make(), make()
    by_hand = kb.play(slow, instance, horizon, kb.Streams(seed), engine="numpy")
    by_loop = kb.play(fast, instance, horizon, kb.Streams(seed), engine="numba")
    assert (by_hand.engine, by_loop.engine) == ("numpy", "numba")
    np.testing.assert_array_equal(by_loop.arms, by_hand.arms)
    np.testing.assert_array_equal(by_loop.recommended, by_hand.recommended)
    left, right = slow.posterior, fast.posterior
    np.testing.assert_allclose(right.mean, left.mean, atol=1e-9)
    np.testing.assert_allclose(right.cov, left.cov, atol=1e-9)
    assert right.log_det == pytest.approx(left.log_det, abs=1e-9)
    np.testing.assert_array_equal(right.counts, left.counts)
    np.testing.assert_array_equal(right.tally.sums, left.tally.sums)
    assert (right.events, right.tally.largest) == (left.events, left.tally.largest)
    assert right.health.audits == left.health.audits
    assert right.health.repairs == left.health.repairs == 0
    return fast


@every_loop
@every_problem
@pytest.mark.parametrize("ties", ["random", "lowest"])
def test_the_compiled_loop_plays_what_asking_and_telling_plays(name, problem, ties, build):
    instance, kernel = PROBLEMS[problem], KERNELS[problem]
    same_play(lambda: build(name, instance.domain, kernel, horizon=150, ties=ties), instance, 150)


@pytest.mark.thorough
@every_loop
def test_the_engines_agree_across_audits(name, build):
    """Five arms, audits after 1000 and 2000 rewards, an odd end."""
    instance = RKHSFunction(kb.RBF(0.3), 2, candidates=5, noise=GaussianNoise(0.3)).instance(
        kb.Streams(4)
    )
    fast = same_play(
        lambda: build(name, instance.domain, kb.RBF(0.3), horizon=2500), instance, 2500
    )
    assert fast.posterior.health.audits == 2
    mean, sd = fast.posterior.at(instance.domain.points)
    np.testing.assert_allclose(fast.posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(fast.posterior.sd, sd, rtol=1e-6)


SCHEDULES = {
    "step": kb.Step(kb.Bernoulli(0.5), kb.Bernoulli(0.25), 60),
    "step between kinds": kb.Step(kb.Gaussian(), kb.Categorical((0.25,) * 4), 31),
    "decay": kb.Decay(1.0, 0.5, 0.1),
    "function": lambda t: kb.Gaussian(1 / t, 1.0),
    "function of two laws in turn": lambda t: kb.PointMass(1.0) if t % 2 else kb.Bernoulli(0.5),
    "mixture": kb.Mixture((0.3, 0.7), (kb.PointMass(1.0), kb.Gaussian(0.0, 0.5))),
}


@pytest.mark.parametrize("exploration", SCHEDULES.values(), ids=SCHEDULES)
def test_schedules_play_alike_on_both_engines(exploration):
    instance = PROBLEMS["branin"]

    def make():
        return kb.GenericGP(
            instance.domain, kb.Matern(0.3), exploration, noise_scale=0.5, norm_bound=1.0
        )

    same_play(make, instance, 120)


@pytest.mark.parametrize("gain", ["greedy", "analytic", math.log1p])
@pytest.mark.parametrize("rule", [kb.IGPUCB, kb.GPTS, kb.GPUCB])
def test_every_information_gain_plays_alike_on_both_engines(rule, gain):
    instance = PROBLEMS["basis"]
    more = {"schedule": "rkhs"} if rule is kb.GPUCB else {"horizon": 100}

    def make():
        return rule(
            instance.domain, kb.Linear(), noise_scale=0.5, norm_bound=1.0, gain=gain, **more
        )

    same_play(make, instance, 100)


@settings(max_examples=40)
@given(
    name=st.sampled_from(LOOPS),
    seed=st.integers(0, 10_000),
    n=st.integers(1, 7),
    d=st.integers(1, 3),
    horizon=st.integers(1, 40),
    kernel=st.sampled_from(
        [
            kb.RBF(0.2),
            kb.Matern(0.5, nu=0.5),
            kb.Linear(),
            kb.kernels.Normalised(kb.kernels.Polynomial(2)),
        ]
    ),
    ties=st.sampled_from(["random", "lowest"]),
    noise=st.floats(0.0, 2.0),
)
def test_random_small_instances_play_alike_on_both_engines(
    build, name, seed, n, d, horizon, kernel, ties, noise
):
    rng = np.random.default_rng(seed)
    points = rng.random((n, d)) / math.sqrt(d)
    instance = Instance("random", kb.Arms(points), rng.normal(size=n), GaussianNoise(noise))
    same_play(
        lambda: build(name, points, kernel, horizon=horizon, ties=ties), instance, horizon, seed
    )


@every_loop
def test_repeated_arms_play_alike_on_both_engines(name, build, quiet):
    points = np.repeat(np.random.default_rng(0).random((6, 2)), 2, axis=0)
    instance = Instance(
        "twins", kb.Arms(points), np.repeat(np.arange(6.0) / 6, 2), GaussianNoise(0.1)
    )
    slow, fast = (build(name, points, horizon=80) for _ in range(2))
    by_hand = kb.play(slow, instance, 80, kb.Streams(1), engine="numpy")
    by_loop = kb.play(fast, instance, 80, kb.Streams(1), engine="numba")
    np.testing.assert_array_equal(by_loop.arms, by_hand.arms)
    np.testing.assert_array_equal(by_loop.recommended // 2, by_hand.recommended // 2)


@every_loop
def test_one_engine_gives_the_same_bits_twice(name, build):
    instance = PROBLEMS["branin"]
    for engine in ("numpy", "numba"):
        first, again = (build(name, instance.domain, horizon=60) for _ in range(2))
        for policy in (first, again):
            kb.play(policy, instance, 60, kb.Streams(5), engine=engine)
        np.testing.assert_array_equal(first.posterior.cov, again.posterior.cov)
        np.testing.assert_array_equal(first.posterior.mean, again.posterior.mean)


@every_loop
def test_after_the_compiled_loop_asking_goes_on_as_if_it_had_asked_all_along(name, build):
    instance = PROBLEMS["rkhs"]
    slow, fast = (build(name, instance.domain, horizon=100) for _ in range(2))
    kb.play(slow, instance, 60, kb.Streams(6), engine="numpy")
    kb.play(fast, instance, 60, kb.Streams(6), engine="numba")
    for t in range(61, 80):
        one, other = slow.ask(t, kb.Streams(6)), fast.ask(t, kb.Streams(6))
        assert one.arm == other.arm
        assert one.note == pytest.approx(other.note, abs=1e-9)
        for policy in (slow, fast):
            policy.tell(policy.choice(one.arm), 0.5)
    assert fast.posterior.events == 79


def played_arrays(engine: str, folder: Path) -> dict[str, np.ndarray]:
    """What rounds.npz holds after the paper's policies have played with an engine."""
    problems = [kb.problem(name) for name in ("holder-table", "ackley4")]
    setting = PaperSetting(noise_scale=0.01, lengthscale=0.1, norm_bound=15.0)
    cells = paper_cells(setting, problems, 120, 2, engine)
    save_rounds(Results(cells, run_cells(cells)), folder / f"{engine}.npz")
    with np.load(folder / f"{engine}.npz") as arrays:
        return dict(arrays)


@pytest.mark.thorough
def test_a_whole_run_of_either_engine_differs_in_nothing_but_the_name_of_the_engine(tmp_path):
    slow, fast = (played_arrays(engine, tmp_path) for engine in ("numpy", "numba"))
    texts = [str(arrays.pop("settings")) for arrays in (slow, fast)]
    assert texts[0] != texts[1]
    # The elimination rules have no compiled loop and play in numpy either way.
    unnamed = [text.replace('"numpy"', "-").replace('"numba"', "-") for text in texts]
    assert unnamed[0] == unnamed[1]
    assert slow.keys() == fast.keys()
    for name, values in slow.items():
        assert values.tobytes() == fast[name].tobytes(), name


OTHER_ROUNDING = """
import numpy as np
import kernelbandits as kb

for seed in range(3):
    instance = kb.problem("hartmann6").instance(kb.Streams(seed))
    slow, fast = (
        kb.SimpleGaussian(instance.domain, kb.RBF(0.2), noise_scale=0.01, norm_bound=1.0)
        for _ in range(2)
    )
    one = kb.play(slow, instance, 300, kb.Streams(seed), "numpy")
    other = kb.play(fast, instance, 300, kb.Streams(seed), "numba")
    assert np.array_equal(one.arms, other.arms)
    assert np.array_equal(one.recommended, other.recommended)
    np.testing.assert_allclose(slow.posterior.mean, fast.posterior.mean, atol=1e-9)
"""


@pytest.mark.thorough
def test_the_engines_play_the_same_arms_where_blas_rounds_differently():
    """An older kernel of OpenBLAS has no fused products; other libraries ignore the variable."""
    environment = os.environ | {"OPENBLAS_CORETYPE": "Nehalem"}
    done = subprocess.run(
        [sys.executable, "-c", OTHER_ROUNDING], env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("exploration", [kb.Certainty(), lambda t, posterior: kb.Bernoulli(0.5)])
def test_a_schedule_that_looks_at_the_history_plays_on_the_python_engine(exploration):
    instance = PROBLEMS["branin"]
    policy = kb.GenericGP(
        instance.domain, kb.RBF(0.3), exploration, noise_scale=0.5, norm_bound=1.0
    )
    assert kb.play(policy, instance, 20, kb.Streams(0)).engine == "numpy"


@every_loop
def test_rounds_are_the_rounds_that_play_plays(name, build):
    instance = PROBLEMS["hartmann6"]
    played = kb.play(build(name, instance.domain), instance, 30, kb.Streams(7))
    rounds = list(kb.experiment.rounds(build(name, instance.domain), instance, 30, kb.Streams(7)))
    assert [row.t for row in rounds] == list(range(1, 31))
    assert [row.choice.arm for row in rounds] == played.arms.tolist()
    noise = instance.noise.draw(kb.Streams(7).uniforms("noise", 30))
    np.testing.assert_array_equal(
        [row.reward for row in rounds], instance.values[played.arms] + noise
    )


@pytest.mark.parametrize("engine", ["numpy", "numba"])
@pytest.mark.parametrize("name", ["igp-ucb", "gp-ts"])
def test_both_engines_say_once_that_the_horizon_is_passed(name, engine, build):
    instance = PROBLEMS["branin"]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        kb.play(
            build(name, instance.domain, horizon=10), instance, 20, kb.Streams(0), engine=engine
        )
    assert ["beyond its horizon 10" in str(w.message) for w in said] == [True]


@pytest.mark.parametrize("name", ["simple-ucb", "gp-ts"])
def test_the_compiled_loop_stops_for_the_audit_that_finds_a_flipped_bit(name, build):
    instance = PROBLEMS["rkhs"]
    policy = build(name, instance.domain, horizon=2000)
    kb.play(policy, instance, 500, kb.Streams(8), engine="numba")
    policy.posterior.cov[1, 2] += 1e-3
    with pytest.warns(kb.NumericsWarning, match="repaired from counts after 1000 rewards"):
        kb.play(policy, instance, 700, kb.Streams(8), engine="numba")
    mean, sd = policy.posterior.at(instance.domain.points)
    np.testing.assert_allclose(policy.posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(policy.posterior.sd, sd, atol=1e-7)
    assert policy.posterior.health.repairs == 1


def test_the_compiled_loop_stops_at_once_at_an_impossible_variance(build):
    instance = PROBLEMS["basis"]
    policy = build("simple-ucb", instance.domain, kb.Linear(), horizon=2000)
    kb.play(policy, instance, 300, kb.Streams(8), engine="numba")
    np.fill_diagonal(policy.posterior.cov, -0.5)
    with pytest.warns(kb.NumericsWarning, match="repaired from counts after 301 rewards"):
        kb.play(policy, instance, 5, kb.Streams(8), engine="numba")
    assert (policy.posterior.variance > 0).all()
    assert policy.posterior.events == 305


@pytest.mark.parametrize("engine", ["cuda", "", None])
def test_an_unknown_engine_is_refused(engine, build):
    with pytest.raises(ValueError, match="play needs engine in"):
        kb.play(build("greedy", np.eye(2)), PROBLEMS["basis"], 5, kb.Streams(0), engine=engine)


# ---------------------------------------------------------------- the equations one by one


@given(st.integers(0, 1000), st.booleans(), st.floats(0, 1, exclude_max=True))
def test_both_engines_break_ties_alike(seed, lowest, u):
    rng = np.random.default_rng(seed)
    scale = 10.0 ** rng.integers(-3, 7)
    index = scale * rng.integers(-2, 2, size=8) + 1e-12 * max(1, scale) * rng.choice(
        [0, 0.4, -0.4, 1.7, -1.7], size=8
    )
    assert compiled.best_arm(index, lowest, u) == argmax(index, "lowest" if lowest else "random", u)


def test_one_compiled_update_is_one_update(cloud):
    posterior, twin = (kb.posterior.ArmPosterior(kb.RBF(0.3), cloud, 0.5) for _ in range(2))
    record = np.empty(3, dtype=np.int32), np.empty(3, dtype=np.int32)
    for t, (arm, reward) in enumerate(((3, 1.0), (4, -2.0), (3, 0.5))):
        twin.update(arm, reward)
        state, world = posterior.lend(), (np.zeros(12), np.full(3, reward))
        assert compiled.play_arm(state, world, record, np.empty(12), t, arm, 0.5)
        assert (record[0][t], record[1][t]) == (arm, twin.mean.argmax())
        posterior.take_back(state, suspicious=False)
        np.testing.assert_allclose(posterior.cov, twin.cov, atol=1e-15)
        np.testing.assert_allclose(posterior.mean, twin.mean, atol=1e-15)
        assert posterior.log_det == pytest.approx(twin.log_det, abs=1e-15)
    np.testing.assert_array_equal(posterior.sd, np.sqrt(posterior.cov.diagonal()))


@pytest.mark.parametrize("rounds", [1, 7, 8, 9, 30])
def test_rows_that_wait_give_the_bits_of_an_update_in_every_round(cloud, rounds):
    posterior, twin = (kb.posterior.ArmPosterior(kb.RBF(0.3), cloud, 0.5) for _ in range(2))
    rng, record = np.random.default_rng(rounds), np.empty((4, rounds), dtype=np.int32)
    world = rng.normal(size=12), rng.normal(size=rounds)
    tables = np.ones((rounds, 3)), rng.normal(size=rounds), rng.random(rounds)
    state, other = posterior.lend(), twin.lend()
    played = compiled.play_index(
        state, world, tables, (record[0], record[1]), 0.5, False, 1, rounds
    )
    assert played == (rounds, True)
    for t, arm in enumerate(record[0]):
        compiled.play_arm(other, world, (record[2], record[3]), np.empty(12), t, arm, 0.5)
    for ours, theirs in zip((*state, record[:2]), (*other, record[2:]), strict=True):
        assert ours.tobytes() == theirs.tobytes()


def test_the_compiled_draw_is_the_draw(cloud, build):
    policy, rng = build("gp-ts", cloud), np.random.default_rng(0)
    for arm in (0, 1, 1, 7):
        policy.tell(policy.choice(arm), 1.0)
    z, e, sample = rng.normal(size=12), rng.normal(size=12), np.empty(12)
    p = policy.posterior
    scale = policy.width(5, p.log_det)
    compiled.fill_sample(sample, p.mean, p.cov.T, p.counts, p.ridge, scale, policy.root @ z, e)
    np.testing.assert_allclose(sample, policy.sample(5, z, e), atol=1e-13)


def test_gp_ts_on_orthonormal_arms_draws_independent_normals_of_known_mean_and_variance(build):
    """N(S_i / (ridge + n_i), v^2 ridge / (ridge + n_i)), within four standard errors of 50 000 compiled draws."""
    policy, n = build("gp-ts", np.eye(3), kb.Linear(), horizon=100), 50_000
    for arm, reward in ((0, 0.75), (1, -0.5), (0, 0.25)):
        policy.tell(policy.choice(arm), reward)
    normals, p = kb.Streams(9).normals("sample", 1, n, 6), policy.posterior
    v, draws = policy.width(4, p.log_det), np.empty((n, 3))
    for row, (g, e) in enumerate(zip(normals[:, :3] @ policy.root.T, normals[:, 3:], strict=True)):
        compiled.fill_sample(draws[row], p.mean, p.cov.T, p.counts, p.ridge, v, g, e)
    counts, sums, ridge = np.array([2, 1, 0]), np.array([1.0, -0.5, 0.0]), 1.02
    mean, variance = sums / (ridge + counts), v**2 * ridge / (ridge + counts)
    assert (np.abs(draws.mean(0) - mean) < 4 * np.sqrt(variance / n)).all()
    cov = np.cov(draws.T, bias=True)
    error = np.sqrt((np.outer(variance, variance) + np.diag(variance**2)) / n)
    assert (np.abs(cov - np.diag(variance)) < 4 * error).all()


@pytest.mark.parametrize("law", [kb.PointMass(1.0), kb.PointMass(0.5), kb.Bernoulli(0.3)])
def test_the_weights_of_a_run_are_those_of_its_law(law):
    """Those of a point mass are not drawn."""
    arms, streams = kb.Arms([[0.0], [0.5], [1.0]]), kb.Streams(4)
    policy = kb.GenericGP(arms, kb.RBF(0.3), law, noise_scale=0.1, norm_bound=1.0)
    weights = policy.tables(2000, streams, first=3).weights
    expected = [law.draw(streams.uniform("weight", t)) for t in range(3, 2001)]
    assert weights.tolist() == expected
