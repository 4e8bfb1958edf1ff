"""The policies play what their definitions say: index, width, arm and recommendation of each round.

Both engines are compared with tests/definitions.py. Each check is also shown to notice an engine
that was broken on purpose.
"""

from __future__ import annotations

import math
from functools import partial

import numpy as np
import pytest

import definitions
import kernelbandits as kb
from broken_engines import (
    changed_weights,
    default,
    looped,
    patched,
    squared_everywhere,
    squared_sd,
    widened,
)
from kernelbandits import widths
from kernelbandits.experiment.engines import play, rounds
from kernelbandits.exploration import Exploration
from kernelbandits.policies import (
    IndexPolicy,
    SimpleBernoulli,
    SimpleMixture,
    WhitehouseUCB,
    confidence,
)
from kernelbandits.posterior import ArmPosterior, Posterior
from kernelbandits.theory import GreedyGain
from kernelbandits.verification import Effort, lower_bound, regret
from kernelbandits.verification.laws import SCHEDULES
from kernelbandits.verification.martingale import (
    NOISE_SCALE,
    NOISES,
    RIDGE,
    radius,
    simulate_noise,
)
from kernelbandits.widths import Width
from reference_bandits import ENGINES, policy_cases, reference_bandit

HORIZON, FEW = 200, 100
LOOKED_AT = (1, 2, 3, 10, 40)
TRIED_WEIGHTS = (1.0, 0.5, -1.0)
TITLES = tuple(policy_cases(4))
OPTIMISTS = [title for title, case in policy_cases(4).items() if case.optimist]
pytestmark = pytest.mark.usefixtures("quiet")


# The index


def check_index(title: str, horizon: int = HORIZON) -> None:
    """index = mean + w width sd for three weights, and the notes of every choice."""
    case = policy_cases(horizon)[title]
    bandit = reference_bandit(0, case.kernel)
    policy = case.policy(bandit)
    asked = {1: [policy.index(1, weight) for weight in TRIED_WEIGHTS]}
    played = []
    for now in rounds(policy, bandit.instance, horizon, bandit.streams):
        played.append(now)
        if now.t + 1 in (*LOOKED_AT, horizon):
            asked[now.t + 1] = [policy.index(now.t + 1, weight) for weight in TRIED_WEIGHTS]
    arms, rewards = [now.choice.arm for now in played], np.array([now.reward for now in played])
    uniforms = bandit.streams.uniforms("weight", horizon)
    exact = [*definitions.replay_rounds(case.rule, bandit.gram, arms, rewards, uniforms)]
    for t, indices in asked.items():
        for weight, index in zip(TRIED_WEIGHTS, indices, strict=True):
            np.testing.assert_allclose(index, exact[t - 1].index(weight), rtol=0, atol=1e-8)
    names = ("weight", "width", "mean", "sd")
    notes = [[now.choice.note[name] for name in names] for now in played]
    rights = [
        (one.weight, one.width, one.known.mean[arm], one.known.sd[arm])
        for one, arm in zip(exact, arms, strict=True)
    ]
    np.testing.assert_allclose(notes, rights, rtol=0, atol=1e-8)
    log_det = definitions.log_det(bandit.gram, arms, case.rule.ridge)
    width = case.rule.width(horizon + 1, log_det)
    assert policy.width_at(horizon + 1) == pytest.approx(width, rel=1e-8)


@pytest.mark.parametrize("title", TITLES)
def test_the_index_is_the_mean_plus_weight_times_width_times_sd(title):
    check_index(title)


@pytest.mark.parametrize("title", OPTIMISTS[:5])
def test_the_width_is_compared_where_the_log_determinant_is_large(title):
    """There the determinant instead of its root would double what stands under the root."""
    case = policy_cases(HORIZON)[title]
    bandit = reference_bandit(0, case.kernel)
    arms = play(case.policy(bandit), bandit.instance, HORIZON, bandit.streams).arms.tolist()
    assert 18 <= definitions.log_det(bandit.gram, arms, case.rule.ridge) <= 35


def check_width_table(title: str, horizon: int = HORIZON) -> None:
    """a_t + sqrt(b_t + c_t L), with the three numbers that the compiled loop is given."""
    case = policy_cases(horizon)[title]
    bandit = reference_bandit(0, case.kernel)
    a, b, c = case.policy(bandit).tables(horizon, bandit.streams).widths.T
    for log_det in (0.0, 2.0, 20.0):
        exact = [case.rule.width(t, log_det) for t in range(1, horizon + 1)]
        np.testing.assert_allclose(a + np.sqrt(b + c * log_det), exact, rtol=1e-12)


@pytest.mark.parametrize("title", TITLES)
def test_the_width_table_of_the_compiled_loop_has_the_width_of_every_round(title):
    check_width_table(title)


# The arm


def check_arms(title: str, engine: str, horizon: int = FEW) -> None:
    """Each round plays the maximiser after its own history, hence the whole run is right."""
    case = policy_cases(horizon)[title]
    bandit = reference_bandit(0, case.kernel)
    streams = bandit.streams
    arms = play(case.policy(bandit), bandit.instance, horizon, streams, engine).arms.tolist()
    uniforms, ties = streams.uniforms("weight", horizon), streams.uniforms("tie", horizon)
    rewards = bandit.rewards(arms)
    exact = definitions.replay_rounds(case.rule, bandit.gram, arms, rewards, uniforms)
    random_ties = case.ties == "random"
    best = [
        definitions.best_arm(one.index(), tie if random_ties else None)
        for one, tie in zip(exact, ties, strict=True)
    ]
    assert arms == best


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("title", TITLES)
def test_each_round_plays_the_maximiser_of_the_index(title, engine):
    check_arms(title, engine, HORIZON)


@pytest.mark.parametrize(
    "title",
    [
        "Simple-Gaussian",
        "Simple-Mixture",
        "Simple-Mixture by default",
        "Generic-GP, w = -1, 1/2 or 2",
        "Generic-GP, N(0.2, 0.8^2) by its ppf",
    ],
)
def test_negative_weights_are_among_those_compared(title):
    """With w < 0 the rule plays the arm with the largest lower confidence bound."""
    uniforms = reference_bandit(0).streams.uniforms("weight", HORIZON)
    law = policy_cases(HORIZON)[title].rule.law(1)
    assert sum(law.quantile(float(u)) < 0 for u in uniforms) >= 20


@pytest.mark.parametrize("engine", ENGINES)
def test_the_arm_with_the_highest_estimate_is_recommended_after_each_round(engine):
    bandit, case = reference_bandit(0), policy_cases(HORIZON)["Simple-UCB"]
    played = play(case.policy(bandit), bandit.instance, HORIZON, bandit.streams, engine)
    arms, rewards = played.arms.tolist(), bandit.rewards(played.arms)
    for t, recommended in enumerate(played.recommended.tolist(), start=1):
        known = definitions.posterior_from_counts(
            bandit.gram, arms[:t], rewards[:t], case.rule.ridge
        )
        assert recommended == definitions.best_arm(known.mean)


# The runs of kernelbandits.verification


def check_maximiser(name: str, bandit: regret.SmallBandit, engine: str) -> None:
    """x_t maximises mean + w_t width_t sd, with w_t, mean, width and sd by definition."""
    run = regret.follow_run(name, bandit, 0, engine)
    weights = SCHEDULES[name].weights(len(run.arms), 0)
    index = run.mean + np.array(weights)[:, None] * run.bonus
    played = index[np.arange(len(run.arms)), run.arms]
    assert (played >= index.max(1) - 1e-9).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bandit", regret.BANDITS, ids=lambda bandit: bandit.name)
@pytest.mark.parametrize("name", SCHEDULES)
def test_the_runs_for_the_regret_bound_maximise_the_index(name, bandit, engine):
    check_maximiser(name, bandit, engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_steps_of_the_regret_proof_hold_on_both_engines(engine):
    assert all(checked.holds for checked in regret.check_each_run(Effort(scale=0.1), engine))


@pytest.mark.parametrize("bandit", [regret.BANDITS[0], *regret.TRAPS], ids=lambda one: one.name)
@pytest.mark.parametrize("name", ["w = 1", "N(0, 1)"])
def test_the_log_determinant_of_a_long_run_is_that_of_the_arms_played(name, bandit):
    """1e-8 for the rounding of up to 100 000 updates."""
    instance = bandit.instance(0)
    policy = regret.build_policy(name, bandit, instance, bandit.horizon, regret.NOISE_SCALE)
    arms = play(policy, instance, bandit.horizon, kb.Streams(0)).arms
    exact = definitions.posterior_from_counts(bandit.gram, arms, np.zeros(len(arms)), 1.0).log_det
    assert policy.played_log_det == pytest.approx(exact, rel=1e-8)


GOLDEN_PULLS = (1062, 469, 469)
"""Pulls with w = 1 for d = 3, T = 2000, R = D = 1, ties to the lowest arm; regret 80.58045."""


def check_golden_pulls(engine: str) -> None:
    assert tuple(lower_bound.count_pulls("w = 1", 3, 2000, 0, engine)) == GOLDEN_PULLS


def check_pulls(name: str, engine: str, seed: int = 0) -> None:
    """Equal weights give equal pulls."""
    weights = SCHEDULES[name].weights(2000, seed)
    exact = definitions.lower_bound_pulls(weights, 3, lower_bound.gap(3, 2000))
    np.testing.assert_array_equal(lower_bound.count_pulls(name, 3, 2000, seed, engine), exact)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_pulls_on_the_instance_of_theorem_2_are_the_golden_ones(engine):
    check_golden_pulls(engine)
    assert lower_bound.gap(3, 2000) * (2000 - 1062) == pytest.approx(80.58045, abs=5e-6)
    exact = definitions.lower_bound_pulls([1.0] * 2000, 3, lower_bound.gap(3, 2000))
    assert tuple(exact) == GOLDEN_PULLS


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["w = 1", *lower_bound.RANDOM_LAWS])
def test_the_pulls_on_the_instance_of_theorem_2_are_those_of_the_closed_form(name, engine):
    check_pulls(name, engine)
    check_pulls(name, engine, seed=1)


@pytest.mark.thorough
@pytest.mark.parametrize("engine", ENGINES)
def test_the_pathwise_step_of_the_lower_bound_holds_on_both_engines(engine):
    assert lower_bound.check_every_run(Effort(scale=0.05), engine).holds


# The radius of the self-normalised bound


def told_policy(points, delta: float = 0.5) -> WhitehouseUCB:
    return WhitehouseUCB(
        points, kb.Linear(), noise_scale=NOISE_SCALE, norm_bound=1.3, ridge=RIDGE, delta=delta
    )


def check_radius(delta: float, noise: str = "Gaussian", runs: int = 5) -> None:
    """sqrt(ridge) (width - D) of Whitehouse's rule is R sqrt(2 ln(1/delta) + L) each round."""
    simulated = simulate_noise(noise, runs, kb.Streams(0).generator(8, NOISES.index(noise)))
    exact = radius(simulated.log_dets, delta)
    for run in range(runs):
        policy = told_policy(simulated.points, delta)
        for t, arm in enumerate(simulated.arms[:, run].tolist()):
            policy.tell(policy.choice(arm), float(simulated.noise[t, run]))
            found = math.sqrt(RIDGE) * (policy.width_at(t + 2) - 1.3)
            assert found == pytest.approx(exact[t, run], abs=1e-9)


def check_square(noise: str = "Gaussian", runs: int = 20) -> None:
    """S' (V + ridge)^-1 S = e' K (K + ridge)^-1 e = e' mean of the policy, for f = 0."""
    simulated = simulate_noise(noise, runs, kb.Streams(0).generator(8, NOISES.index(noise)))
    gram = simulated.points @ simulated.points.T
    for run in range(runs):
        arms, errors = simulated.arms[:, run].tolist(), simulated.noise[:, run]
        policy = told_policy(simulated.points)
        for arm, error in zip(arms, errors.tolist(), strict=True):
            policy.tell(policy.choice(arm), error)
        primal = float(simulated.squares[-1, run])
        kernel = definitions.self_normalised_square(gram, arms, errors, RIDGE)
        assert kernel == pytest.approx(primal, rel=1e-9, abs=1e-9)
        dual = float(errors @ policy.posterior.mean[arms])
        assert dual == pytest.approx(primal, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_the_width_of_whitehouse_is_the_radius_of_the_self_normalised_bound(delta, noise):
    check_radius(delta, noise)


@pytest.mark.parametrize("noise", NOISES)
def test_the_self_normalised_square_has_three_equal_forms(noise):
    check_square(noise)


# Broken engines


def log_det_of_this_round(width):
    """The log-determinant of t instead of t - 1: one more pull of a fresh arm."""
    return lambda self, t, log_det: width(self, t, log_det + math.log(2))


def every_other_reward(update):
    return lambda self, arm, reward: update(self, arm, reward if self.events % 2 else 0.0)


def halved_log_det(update):
    def broken(self, arm, reward):
        before = self.log_det
        update(self, arm, reward)
        self.log_det = before + (self.log_det - before) / 2

    return broken


def clipped(draw):
    return lambda *given: np.maximum(draw(*given), 0.0)


index_of = {title: partial(check_index, title, FEW) for title in TITLES}
compiled = {title: partial(check_arms, title, "numba") for title in TITLES}
half_radius = partial(check_radius, 0.5)
GAUSSIAN, UCB = "Simple-Gaussian", "Simple-UCB"
BREAKAGES = {
    "det instead of its root": (widened(1, 1, 2), index_of[UCB], half_radius),
    "no determinant": (widened(1, 1, 0), index_of[UCB], half_radius),
    "R forgotten beside ln(1/delta)": (widened(1, 1 / 0.49, 1), index_of[UCB]),
    "D forgotten": (widened(0, 1, 1), index_of[UCB]),
    "delta 1 instead of 1/2": (widened(1, 0, 1), index_of[UCB], half_radius),
    "ridge forgotten": (
        patched(
            widths,
            "self_normalised",
            lambda sound: lambda r, d, ridge, delta: sound(r, d, 1.0, delta),
        ),
        index_of[UCB],
        half_radius,
    ),
    "1 forgotten in IGP-UCB": (
        patched(
            widths,
            "chowdhury_gopalan",
            lambda sound: (
                lambda r, d, delta, gain, chance=1: sound(r, d, delta * math.e, gain, chance)
            ),
        ),
        index_of["IGP-UCB"],
    ),
    "D outside the root in AMM-UCB": (
        patched(widths, "mixture", lambda sound: widths.self_normalised),
        index_of["AMM-UCB"],
    ),
    "log-determinant of round t": (
        patched(Width, "__call__", log_det_of_this_round),
        index_of[UCB],
    ),
    "sd squared": (patched(Posterior, "sd", lambda sound: squared_sd), index_of[UCB]),
    "log-determinant halved": (
        patched(Posterior, "update", halved_log_det),
        index_of[UCB],
        half_radius,
    ),
    "rewards lost": (patched(Posterior, "update", every_other_reward), index_of[UCB], check_square),
    "covariance not updated": (
        patched(ArmPosterior, "_downdate", lambda sound: lambda *given: None),
        index_of[UCB],
    ),
    "weights clipped in Gaussian.draw": (patched(kb.Gaussian, "draw", clipped), index_of[GAUSSIAN]),
    "size of the weight": (
        patched(kb.Gaussian, "draw", lambda sound: lambda self, u: abs(sound(self, u))),
        index_of[GAUSSIAN],
    ),
    "weights clipped in the table": (patched(Exploration, "weights", clipped), compiled[GAUSSIAN]),
    "weights clipped in index": (
        patched(
            IndexPolicy,
            "index",
            lambda sound: lambda self, t, weight=1.0: sound(self, t, max(weight, 0.0)),
        ),
        index_of[UCB],
    ),
    "loop: weights clipped": (
        looped("weights[t] * width)", "max(weights[t], 0.0) * width)"),
        compiled[GAUSSIAN],
    ),
    "loop: variance for sd": (
        looped("np.sqrt(max(variance[i], 0.0))", "max(variance[i], 0.0)"),
        compiled[UCB],
    ),
    "loop: det instead of its root": (
        looped(
            "widths[t, 2] * totals[0])\n        fill", "widths[t, 2] * 2 * totals[0])\n        fill"
        ),
        compiled[UCB],
    ),
    "loop: log-determinant halved": (
        looped("np.log1p(variance[arm] / ridge)", "np.log1p(variance[arm] / ridge) / 2"),
        compiled[UCB],
    ),
    "loop: ridge 1": (
        looped("evidence = variance[arm] + ridge", "evidence = variance[arm] + 1.0"),
        compiled[UCB],
    ),
    "loop: noise of the round before": (
        looped("problem[1][t]", "problem[1][max(t - 1, 0)]"),
        compiled[UCB],
    ),
    "loop: ties to the last": (
        looped("wanted = 0 if lowest", "wanted = count - 1 if lowest"),
        compiled[UCB],
    ),
    "default p of Simple-Bernoulli": (
        default(SimpleBernoulli, "p", 0.25),
        index_of["Simple-Bernoulli by default"],
    ),
    "default rho of Simple-Mixture": (
        default(SimpleMixture, "rho", 0.25),
        index_of["Simple-Mixture by default"],
    ),
    "default delta of Whitehouse": (
        default(WhitehouseUCB, "delta", 0.05),
        index_of["Whitehouse by default"],
    ),
    "the ridge of a Matern kernel": (
        patched(
            confidence,
            "matern_ridge",
            lambda sound: lambda kernel, domain, horizon: horizon ** (2 / 7),
        ),
        index_of["Whitehouse, ridge T^(d/(2 nu + 2 d))"],
    ),
    "the table of widths a round late": (
        patched(
            Width,
            "table",
            lambda sound: lambda self, horizon, first=1: sound(self, horizon + 1, first + 1),
        ),
        partial(check_width_table, "GP-UCB, finite"),
    ),
    "a greedy gain without 1 - 1/e": (
        patched(GreedyGain, "bound", lambda sound: lambda self, t: self.value(t)),
        index_of["IGP-UCB, greedy gain"],
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_check_notices_an_engine_with(breakage, monkeypatch):
    break_engine, *checks = BREAKAGES[breakage]
    break_engine(monkeypatch)
    for check in checks:
        with pytest.raises(AssertionError):
            check()


BROKEN_ON_BOTH_ENGINES = {
    "det for its root": (widened(1, 1, 2), "w = 1"),
    "half the log-determinant": (widened(1, 1, 0.5), "w = 1"),
    "D forgotten": (widened(0, 1, 1), "w = 1"),
    "width halved": (widened(0.5, 0.25, 0.25), "w = 1"),
    "weights clipped": (changed_weights(lambda w: np.maximum(w, 0.0)), "N(0, 1)"),
    "size of the weights": (changed_weights(np.abs), "N(0, 1)"),
    "no exploration": (changed_weights(lambda w: 0.0 * w), "w = 1"),
    "sd squared": (squared_everywhere, "w = 1"),
}


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("breakage", BROKEN_ON_BOTH_ENGINES)
def test_the_arms_of_a_broken_engine_do_not_maximise_the_index(breakage, engine, monkeypatch):
    break_engine, name = BROKEN_ON_BOTH_ENGINES[breakage]
    break_engine(monkeypatch)
    with pytest.raises(AssertionError):
        check_maximiser(name, regret.BANDITS[0], engine)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "breakage",
    ["det for its root", "half the log-determinant", "D forgotten", "width halved", "sd squared"],
)
def test_the_pulls_of_a_broken_engine_are_not_the_golden_ones(breakage, engine, monkeypatch):
    BROKEN_ON_BOTH_ENGINES[breakage][0](monkeypatch)
    with pytest.raises(AssertionError):
        check_golden_pulls(engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_the_pulls_of_an_engine_with_unsigned_weights_are_not_those_of_the_closed_form(
    engine, monkeypatch
):
    BROKEN_ON_BOTH_ENGINES["size of the weights"][0](monkeypatch)
    with pytest.raises(AssertionError):
        check_pulls("N(0, 1)", engine)


def test_a_loop_that_counts_twice_raises_an_error_and_ends(monkeypatch):
    looped("counts[arm] += 1", "counts[arm] += 2")(monkeypatch)
    with pytest.raises(ValueError, match="the compiled loop needs to learn"):
        compiled[UCB]()


# The definitions themselves


def test_the_definitions_agree_with_the_golden_instance():
    gram, arms, rewards = np.eye(3), [0, 0, 1], np.array([0.4, 0.6, -0.5])
    known = definitions.posterior(gram, arms, rewards, 1.0)
    width = definitions.self_normalised(0.5, 2.0, 1.0, 0.5)(known.log_det)
    exact = definitions.ExactRound(known, 0.5, width)
    assert width == pytest.approx(2.891355, abs=1e-6)
    assert exact.index(1.0) == pytest.approx([2.002658, 1.794497, 2.891355], abs=1e-6)
    assert exact.index() == pytest.approx([1.167996, 0.772248, 1.445677], abs=1e-6)
    whitehouse = definitions.self_normalised(0.5, 2.0, 1.0, 0.1)
    assert whitehouse(known.log_det) == pytest.approx(3.264608, abs=1e-6)
    later = definitions.posterior(gram, arms, rewards, 1.02)
    for delta, right in ((0.1, 3.446886), (0.05, 3.562067)):
        assert definitions.improved(0.5, 2.0, delta)(later.log_det) == pytest.approx(
            right, abs=1e-6
        )


def test_the_posterior_from_rounds_is_that_from_counts():
    bandit, arms = reference_bandit(3), [3, 1, 3, 3, 7, 1, 0, 19]
    rewards = bandit.rewards(arms)
    one = definitions.posterior(bandit.gram, arms, rewards, 0.3)
    other = definitions.posterior_from_counts(bandit.gram, arms, rewards, 0.3)
    assert one.mean == pytest.approx(other.mean, abs=1e-12)
    assert one.cov == pytest.approx(other.cov, abs=1e-12)
    assert one.log_det == pytest.approx(other.log_det, abs=1e-12)


def test_kernel_and_primal_form_of_the_self_normalised_square_agree():
    points = np.random.default_rng(1).standard_normal((6, 3))
    arms, noise = [0, 3, 3, 5, 1], np.array([0.3, -1.0, 0.4, 2.0, 0.1])
    x = points[arms]
    sums = x.T @ noise
    primal = sums @ np.linalg.solve(x.T @ x + 0.4 * np.eye(3), sums)
    kernel = definitions.self_normalised_square(points @ points.T, arms, noise, 0.4)
    assert kernel == pytest.approx(primal, rel=1e-12)
