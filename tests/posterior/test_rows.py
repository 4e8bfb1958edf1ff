"""Pools: rows for distinct arms, the compiled loop, the short list, memory and GP-TS.

Everything is compared with the n x n form, or with the definition.
"""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from conftest import pairwise
from kernelbandits import runtime
from kernelbandits.experiment import engines
from kernelbandits.policies.paths import count_normals, draw_waves
from kernelbandits.posterior import (
    ArmPosterior,
    PartialPosterior,
    RowPosterior,
    ShortList,
    rows,
    short_list,
)
from kernelbandits.problems import GaussianNoise, Instance, UniformNoise

KERNELS = {
    "rbf": kb.RBF(0.25),
    "matern": kb.Matern((0.2, 0.6), nu=1.5),
    "sum": 0.5 * kb.Matern(0.3) + kb.kernels.Constant(),
    "linear": kb.Linear(),
    "function": lambda x, z: np.exp(-np.abs(x[:, None] - z[None]).sum(-1)),
}
LAWS = {
    "ucb": kb.PointMass(1.0),
    "bernoulli": kb.Bernoulli(0.4),
    "gaussian": kb.Gaussian(0.3, 1.0),
    "step": kb.Step(kb.Bernoulli(0.5), kb.Gaussian(), 70),
    "schedule": lambda t: kb.Gaussian(1 / t, 1.0),
}
POINTS = {
    "scattered": np.random.default_rng(0).random((230, 2)) / 2,
    "grid": np.stack(np.meshgrid(np.arange(16), np.arange(14)), -1).reshape(-1, 2) / 16,
    "twins": np.repeat(np.random.default_rng(1).random((105, 2)) / 2, 2, axis=0),
}


def make_instance(points: np.ndarray, noise: float = 0.3) -> Instance:
    values = np.sin(7 * points[:, 0]) + np.cos(5 * points[:, 1])
    return Instance("pool", kb.Arms(points), values, GaussianNoise(noise))


def rule(instance: Instance, kernel, law, ties="random", ridge=1.0, form=None):
    """Generic-GP, with a given form of the posterior."""
    policy = kb.GenericGP(
        instance.domain, kernel, law, noise_scale=0.3, norm_bound=1.0, ridge=ridge, ties=ties
    )
    if form is not None:
        policy.posterior = form(policy.posterior.kernel, instance.domain, ridge)
    return policy


def play(policy, instance, horizon, engine="numba", seed=3):
    return kb.play(policy, instance, horizon, kb.Streams(seed), engine=engine)


def demand_equal(left, right) -> None:
    """Two posteriors agree, and were audited as often."""
    np.testing.assert_allclose(right.mean, left.mean, atol=1e-9)
    np.testing.assert_allclose(right.variance, left.variance, atol=1e-9)
    assert right.log_det == pytest.approx(left.log_det, abs=1e-8)
    np.testing.assert_array_equal(right.counts, left.counts)
    np.testing.assert_array_equal(right.tally.sums, left.tally.sums)
    assert (right.events, right.tally.largest) == (left.events, left.tally.largest)


@pairwise(kernel=KERNELS, law=LAWS, points=POINTS, ties=("random", "lowest"), ridge=(1.0, 0.02))
@pytest.mark.filterwarnings("ignore")
def test_the_compiled_pool_plays_what_the_covariance_plays(kernel, law, points, ties, ridge):
    """Round by round, on both engines and in both forms; twins may exchange their numbers."""
    instance = make_instance(POINTS[points])
    made = {
        form: [rule(instance, KERNELS[kernel], LAWS[law], ties, ridge, form) for _ in range(2)]
        for form in (ArmPosterior, RowPosterior)
    }
    runs = {
        form: [
            play(policy, instance, 140, engine)
            for policy, engine in zip(two, ("numpy", "numba"), strict=True)
        ]
        for form, two in made.items()
    }
    assert [run.engine for run in runs[RowPosterior]] == ["numpy", "numba"]
    reference = runs[ArmPosterior][0]
    share = 2 if points == "twins" else 1
    for run in (*runs[ArmPosterior], *runs[RowPosterior]):
        np.testing.assert_array_equal(run.arms, reference.arms)
        np.testing.assert_array_equal(run.recommended // share, reference.recommended // share)
    for policy in made[RowPosterior]:
        demand_equal(made[ArmPosterior][0].posterior, policy.posterior)


@pytest.mark.thorough
def test_the_engines_agree_on_a_pool_across_audits_and_chunks(monkeypatch):
    monkeypatch.setattr(engines, "TABLE_ROUNDS", 512)
    instance = make_instance(POINTS["scattered"][:40], noise=0.5)
    slow, fast = (rule(instance, kb.RBF(0.1), LAWS["step"], form=RowPosterior) for _ in range(2))
    by_hand, by_loop = play(slow, instance, 2300, "numpy"), play(fast, instance, 2300)
    np.testing.assert_array_equal(by_loop.arms, by_hand.arms)
    np.testing.assert_array_equal(by_loop.recommended, by_hand.recommended)
    demand_equal(slow.posterior, fast.posterior)
    assert fast.posterior.health.audits == slow.posterior.health.audits == 2
    assert fast.posterior.health.repairs == 0
    mean, sd = fast.posterior.at(instance.domain.points)
    np.testing.assert_allclose(fast.posterior.mean, mean, atol=1e-9)
    np.testing.assert_allclose(fast.posterior.sd, sd, rtol=1e-6)


def test_after_the_pool_loop_asking_goes_on_as_if_it_had_asked_all_along():
    instance = make_instance(POINTS["scattered"])
    slow, fast = (rule(instance, kb.Matern(0.2), LAWS["ucb"]) for _ in range(2))
    play(slow, instance, 60, "numpy")
    play(fast, instance, 60)
    for t in range(61, 90):
        one, other = slow.ask(t, kb.Streams(3)), fast.ask(t, kb.Streams(3))
        assert one.arm == other.arm
        assert one.note == pytest.approx(other.note, abs=1e-9)
        for policy in (slow, fast):
            policy.tell(policy.choice(one.arm), 0.5)


def test_a_damaged_pool_is_repaired_by_the_audit_that_the_loop_stops_for():
    instance = make_instance(POINTS["scattered"])
    policy = rule(instance, kb.RBF(0.3), LAWS["ucb"])
    play(policy, instance, 500)
    policy.posterior.variance[7] += 1e-3
    with pytest.warns(kb.NumericsWarning, match="repaired from counts after 1000 rewards"):
        play(policy, instance, 600)
    assert policy.posterior.health.repairs == 1
    policy.posterior.variance[:] = -0.5
    with pytest.warns(kb.NumericsWarning, match="repaired from counts after 1101 rewards"):
        play(policy, instance, 3)
    assert (policy.posterior.variance > 0).all()
    assert policy.posterior.events == 1103


def test_one_pass_serves_a_first_play_and_none_a_repeat_in_succession():
    """The definition: cov(., arm) from counts, whatever the way it was computed."""
    points = POINTS["scattered"]
    posterior = RowPosterior(kb.RBF(0.3), points, 0.05)
    exact = ArmPosterior(kb.RBF(0.3), points, 0.05)
    for arm in (3, 3, 3, 8, 3, 8, 8, 200, 3):
        np.testing.assert_allclose(
            posterior._find_column(arm)[0][0] if arm in posterior._slot else exact.cov[:, arm],
            exact.cov[:, arm],
            atol=1e-12,
        )
        for form in (posterior, exact):
            form.update(arm, 0.7)
    np.testing.assert_allclose(posterior.variance, exact.variance, atol=1e-12)
    np.testing.assert_allclose(posterior.mean, exact.mean, atol=1e-12)


@pytest.mark.thorough
def test_the_loop_combines_the_rows_of_many_arms_in_long_pieces_and_plays_the_same(monkeypatch):
    """66 000 arms, the last block of 464, on all arms; the numpy form plays the same."""
    monkeypatch.setattr(engines, "LEAST_POOL", 10**9)
    instance = make_instance(np.random.default_rng(2).random((66_000, 2)), noise=0.1)
    assert len(instance.domain) >= engines.load_loops().MANY_ARMS
    slow, fast = (rule(instance, kb.RBF(0.2), LAWS["bernoulli"], ridge=0.1) for _ in range(2))
    by_hand, by_loop = play(slow, instance, 45, "numpy"), play(fast, instance, 45)
    assert 8 < slow.posterior.distinct < 45
    np.testing.assert_array_equal(by_loop.arms, by_hand.arms)
    np.testing.assert_array_equal(by_loop.recommended, by_hand.recommended)
    demand_equal(slow.posterior, fast.posterior)
    np.testing.assert_allclose(fast.posterior._rows[0, :9], slow.posterior._rows[0, :9], atol=1e-12)


def test_after_repeats_in_succession_the_loop_leaves_the_matrix_of_one_by_one():
    """S is added to once for many plays of one arm; the numpy form adds for each of them."""
    instance = make_instance(POINTS["scattered"], noise=0.05)
    slow, fast = (rule(instance, kb.RBF(0.3), LAWS["bernoulli"], ridge=0.05) for _ in range(2))
    by_hand = play(slow, instance, 400, "numpy").arms
    play(fast, instance, 400)
    assert (np.diff(by_hand) == 0).sum() > 100
    np.testing.assert_allclose(fast.posterior._core, slow.posterior._core, atol=1e-9)


def test_after_an_error_of_the_kernel_the_pool_knows_all_rewards():
    """The kernel fails at the eighth new arm: what was played before is learnt."""
    columns = []

    def kernel(x, z):
        columns.append(len(x) == 1 and len(z) == 230)
        if sum(columns) == 8:
            raise RuntimeError("the kernel fails")
        return kb.RBF(0.15)(x, z)

    instance = make_instance(POINTS["scattered"])
    policy = rule(instance, kernel, LAWS["ucb"], ridge=0.1)
    with pytest.raises(RuntimeError, match="the kernel fails"):
        play(policy, instance, 600)
    exact = ArmPosterior(kb.RBF(0.15), instance.domain, 0.1)
    exact.learn(policy.posterior.counts, policy.posterior.tally.sums)
    assert policy.posterior.distinct == 7 <= policy.posterior.events
    np.testing.assert_allclose(policy.posterior.mean, exact.mean, atol=1e-9)
    np.testing.assert_allclose(policy.posterior.variance, exact.variance, atol=1e-9)


def test_rewards_beyond_the_largest_are_refused_before_a_pool_is_played():
    points = POINTS["scattered"]
    instance = Instance("pool", kb.Arms(points), np.full(230, 9e149), UniformNoise(9e149))
    with pytest.raises(ValueError, match="reward"):
        play(rule(instance, kb.RBF(0.3), LAWS["ucb"]), instance, 5)


# ---------------------------------------------------------------- the short list


@pairwise(
    kernel=("rbf", "matern", "sum"),
    law=LAWS,
    points=("scattered", "grid"),
    ties=("random", "lowest"),
    horizon=(150, 700),
)
@pytest.mark.filterwarnings("ignore")
def test_a_short_list_plays_what_the_whole_pool_plays(
    kernel, law, points, ties, horizon, monkeypatch
):
    """Lists of about 30 of 230 arms, tried at once; every arm and every recommended arm."""
    instance = make_instance(POINTS[points], noise=0.1)
    whole, short = (rule(instance, KERNELS[kernel], LAWS[law], ties, 0.1) for _ in range(2))
    expected = play(whole, instance, horizon)
    served = use_lists(monkeypatch)
    found = play(short, instance, horizon)
    np.testing.assert_array_equal(found.arms, expected.arms)
    np.testing.assert_array_equal(found.recommended, expected.recommended)
    demand_equal(whole.posterior, short.posterior)
    assert sum(served) > 0


def test_after_an_error_on_a_short_list_the_pool_knows_all_rewards(monkeypatch):
    """A kernel that fails at the eighth new arm of lists: what was played before is learnt."""
    on_lists = []

    def kernel(x, z):
        on_lists.append(len(x) == 1 and 1 < len(z) < 200)
        if on_lists[-1] and sum(on_lists) == 8:
            raise RuntimeError("the kernel fails")
        return kb.RBF(0.15)(x, z)

    served = use_lists(monkeypatch)
    instance = make_instance(POINTS["scattered"])
    policy = rule(instance, kernel, LAWS["ucb"], ridge=0.1)
    with pytest.raises(RuntimeError, match="the kernel fails"):
        play(policy, instance, 600)
    assert sum(served) > 0
    exact = ArmPosterior(kb.RBF(0.15), instance.domain, 0.1)
    exact.learn(policy.posterior.counts, policy.posterior.tally.sums)
    assert policy.posterior.events > 20
    np.testing.assert_allclose(policy.posterior.mean, exact.mean, atol=1e-9)
    np.testing.assert_allclose(policy.posterior.variance, exact.variance, atol=1e-9)


def use_lists(monkeypatch) -> list[int]:
    """Let every pool be played on short lists; return the rounds that each of them served."""
    served: list[int] = []
    absorb = ShortList.absorb

    def note(self):
        served.append(self.rounds)
        absorb(self)

    monkeypatch.setattr(engines, "LEAST_POOL", 2)
    monkeypatch.setattr(engines, "FIRST_LIST", 0)
    monkeypatch.setattr(engines, "LONGEST_WAIT", 4)
    monkeypatch.setattr(short_list, "LEAST_LIST", 30)
    monkeypatch.setattr(ShortList, "absorb", note)
    return served


# ---------------------------------------------------------------- GP-TS on more than 2000 arms


def large_thompson(features: int = 40, horizon: int = 30, kernel=None) -> kb.GPTS:
    points = np.random.default_rng(5).random((2100, 2))
    kernel = kernel or 0.5 * kb.Matern(0.3) + kb.RBF((0.2, 0.7))
    return kb.GPTS(
        points, kernel, noise_scale=0.1, norm_bound=1.0, horizon=horizon, features=features
    )


def waves_by_definition(policy: kb.GPTS, streams: kb.Streams, t: int) -> np.ndarray:
    """g_t on all arms: a sum over terms and features of a cosine and a sine."""
    draws, count = policy.draws, count_normals(policy.terms, policy.features)
    normals = streams.normal("sample", t // draws.rounds, 4 * (count // 4) + 3)
    frequencies = draw_waves(policy.terms, 2, policy.features, normals).frequencies
    number = len(frequencies)
    weights = streams.normal("sample", t, 2 * number)
    g = np.zeros(len(policy.domain))
    for j, frequency in enumerate(frequencies):
        size = np.sqrt(policy.terms[j // policy.features].variance / policy.features)
        angle = policy.domain.points @ frequency
        g += size * (weights[j] * np.cos(angle) + weights[number + j] * np.sin(angle))
    return g


def test_a_draw_over_a_large_pool_is_a_wave_conditioned_on_what_was_played():
    """f = mean + v [g - k (K + ridge N^-1)^-1 (g(played) + sqrt(ridge / n) e)], by dense matrices."""
    policy, streams = large_thompson(), kb.Streams(11)
    for arm in (5, 9, 5, 1200, 1200, 1200, 77):
        policy.tell(policy.choice(arm), 0.3)
    played, counts = np.array([5, 9, 1200, 77]), np.array([2, 1, 3, 1])
    posterior, points = policy.posterior, policy.domain.points
    for t in (8, 9):
        g = waves_by_definition(policy, streams, t)
        e = streams.normal("sample", t, 65)[:4]
        noisy = g[played] + np.sqrt(posterior.ridge / counts) * e
        gram = posterior.kernel(points[played], points[played]) + np.diag(posterior.ridge / counts)
        cross = posterior.kernel(points, points[played])
        deviation = g - cross @ np.linalg.solve(gram, noisy)
        sample = posterior.mean + policy.width(t, posterior.log_det) * deviation
        choice = policy.ask(t, streams)
        assert choice.arm == sample.argmax()
        assert choice.note["sample"] == pytest.approx(sample.max(), rel=1e-9)
        assert choice == policy.ask(t, kb.Streams(11))


def test_the_waves_of_many_rounds_have_the_covariance_of_the_kernel():
    """4000 draws of 12 arms: entries within five standard errors, frequencies of 16 blocks."""
    policy, arms = large_thompson(features=64, horizon=4096), np.arange(0, 2100, 175)
    draws, streams = policy.draws, kb.Streams(2)
    few = type(draws)(policy.terms, policy.domain.points[arms], 64, 4096)
    drawn = np.array([few.draw(streams, t) for t in range(1, 4001)])
    exact = policy.posterior.kernel(policy.domain.points[arms], policy.domain.points[arms])
    variance = exact.diagonal()
    # Weights: (k_ij^2 + k_ii k_jj) / draws. Frequencies: at most k_ii k_jj / (2 m) for each block.
    blocks = 4000 / few.rounds
    error = np.sqrt(2 * np.outer(variance, variance) * (1 / 4000 + 1 / (128 * blocks)))
    assert (np.abs(drawn.T @ drawn / 4000 - exact) < 5 * error).all()


def test_gp_ts_plays_a_large_pool_with_pending_choices_and_a_generator():
    policy = large_thompson()
    pending = [policy.ask(1, kb.Streams(0))]
    pending.append(policy.ask(2, kb.Streams(0), pending=pending))
    policy.tell(pending[0], 1.0)
    assert 0 <= policy.ask(3, np.random.default_rng(0), pending=pending[1:]).arm < 2100
    instance = make_instance(policy.domain.points)
    assert play(large_thompson(), instance, 25, "auto").engine == "numpy"


def test_gp_ts_on_a_large_pool_needs_a_kernel_with_frequencies():
    with pytest.raises(ValueError, match=r"gp-ts needs a kernel of RBF.*over more than 2000 arms"):
        large_thompson(kernel=kb.Linear())


# ---------------------------------------------------------------- memory


def test_a_run_that_does_not_fit_is_refused_with_its_memory(monkeypatch):
    instance = make_instance(POINTS["scattered"])
    monkeypatch.setattr(runtime, "available_memory", lambda: 100_000)
    needed = r"play on 230 arms, .* first 64 that are played, needs .* GB of memory"
    with pytest.raises(ValueError, match=needed):
        play(rule(instance, kb.RBF(0.3), LAWS["ucb"]), instance, 100)


def test_a_run_that_may_not_fit_is_played_with_a_notice(monkeypatch):
    instance = make_instance(POINTS["scattered"])
    monkeypatch.setattr(engines, "available_memory", lambda: 300_000)
    with pytest.warns(kb.DataNotice, match=r"100 rounds on 230 arms need up to 0\.0 GB if every"):
        play(rule(instance, kb.RBF(0.3), LAWS["ucb"]), instance, 100)


def test_rows_that_do_not_fit_are_refused_before_they_are_asked_for(monkeypatch):
    monkeypatch.setattr(rows, "CHUNK_NUMBERS", 32)
    posterior = RowPosterior(kb.RBF(0.3), POINTS["scattered"], 1.0)
    posterior.update(0, 1.0)
    monkeypatch.setattr(runtime, "available_memory", lambda: 1000)
    with pytest.raises(
        ValueError, match=r"a pool with the rows of 2 of 230 arms needs .* GB of memory"
    ):
        posterior.update(1, 1.0)
    monkeypatch.undo()
    posterior.update(1, 1.0)
    assert posterior.events == 2


def test_rows_grow_by_chunks_and_hold_what_was_learnt(monkeypatch):
    monkeypatch.setattr(rows, "CHUNK_NUMBERS", 3 * 230)
    posterior = RowPosterior(kb.RBF(0.3), POINTS["scattered"], 0.1)
    exact = ArmPosterior(kb.RBF(0.3), POINTS["scattered"], 0.1)
    for arm in range(0, 200, 9):
        for form in (posterior, exact):
            form.update(arm, np.sin(arm))
    assert posterior._rows.shape[1] - posterior.distinct <= 3
    np.testing.assert_allclose(posterior.mean, exact.mean, atol=1e-10)
    np.testing.assert_allclose(posterior.variance, exact.variance, atol=1e-10)
    posterior.audit()
    np.testing.assert_allclose(posterior.mean, exact.mean, atol=1e-10)


# ---------------------------------------------------------------- some arms only


def test_a_partial_posterior_is_the_posterior_of_its_arms_and_of_all_others():
    points = POINTS["scattered"]
    part = PartialPosterior(kb.RBF(0.3), points, 0.1, arms=[4, 90, 7])
    whole = ArmPosterior(kb.RBF(0.3), points, 0.1)
    for arm in (4, 90, 4, 33, 200, 33):
        for form in (part, whole):
            form.update(arm, np.cos(arm))
    assert part.arms.tolist() == [4, 7, 33, 90, 200]
    assert (part.events, part.counts.tolist()) == (6, whole.counts.tolist())
    wanted = np.array([7, 200, 5, 4])
    for found, expected in zip(part.estimates(wanted), (whole.mean, whole.sd), strict=True):
        np.testing.assert_allclose(found, expected[wanted], atol=1e-9)
    np.testing.assert_allclose(part.mean, whole.mean, atol=1e-9)
    np.testing.assert_allclose(part.sd, whole.sd, atol=1e-7)


@pytest.mark.parametrize("rule", [kb.policies.BPE, kb.policies.SupKernelUCB])
def test_rules_that_drop_arms_choose_as_with_all_of_them(rule, monkeypatch):
    """The same arms with posteriors over all arms, which is what the rules are defined by."""
    instance = make_instance(POINTS["scattered"], noise=0.02)
    settings = {"noise_scale": 0.02, "norm_bound": 0.2, "horizon": 160, "ridge": 0.02}
    few = rule(instance.domain, kb.RBF(0.5), **settings)
    found = play(few, instance, 160, "auto")
    every_arm = np.arange(len(POINTS["scattered"]))
    create = PartialPosterior.__init__
    monkeypatch.setattr(
        PartialPosterior, "__init__", lambda self, *given: create(self, *given[:3], every_arm)
    )
    every = rule(instance.domain, kb.RBF(0.5), **settings)
    expected = play(every, instance, 160, "auto")
    np.testing.assert_array_equal(found.arms, expected.arms)
    np.testing.assert_array_equal(found.recommended, expected.recommended)
    kept = few.levels.values() if rule is kb.policies.SupKernelUCB else [few.batch_posterior]
    assert any(isinstance(posterior, PartialPosterior) for posterior in kept)
