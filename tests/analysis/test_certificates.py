"""Regret certificates of runs: the rewards are those of the game, and every policy has one."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from matplotlib.figure import Figure

import kernelbandits as kb
from kernelbandits.analysis import certificates
from kernelbandits.analysis.guarantees import failing_premises, guarantee_frame, guarantees
from kernelbandits.experiment import run_experiment
from kernelbandits.problems import GaussianNoise, Instance, RademacherNoise
from kernelbandits.report import pages
from kernelbandits.report.figures.theory import draw_log_dets
from kernelbandits.report.run import theory_values

KERNEL, HORIZON, SEEDS = kb.RBF(0.4), 60, 3
TOLD = {"noise_scale": 0.1, "norm_bound": 1.0, "engine": "numpy"}
POLICIES = ("simple-ucb:delta=0.001", "amm-ucb", "gp-ts", "ucb1", "random", "auto")


class Recording(kb.SimpleUCB):
    """Simple-UCB, which writes down what it is told."""

    told: ClassVar[list[tuple[int, float]]] = []

    def tell(self, choice, reward):
        self.told.append((choice.arm, reward))
        super().tell(choice, reward)


@pytest.fixture(scope="module")
def played():
    world = kb.problem(
        "rkhs", kernel=KERNEL, dimension=1, candidates=12, norm_bound=1.0, noise=GaussianNoise(0.1)
    )
    return run_experiment(world, POLICIES, kernel=KERNEL, horizon=HORIZON, seeds=SEEDS, **TOLD)


@pytest.fixture(scope="module")
def found(played):
    return {row.policy: row for row in guarantees(played)["rkhs1"]}


def instances():
    arms = kb.Arms(np.random.default_rng(0).random((4, 2)))
    values = np.array([0.1, 0.5, 0.3, 0.2])
    noise = RademacherNoise(0.2)
    yield Instance("plain", arms, values, noise)
    yield Instance("shares", arms, values, noise, noise_shares=np.array([1.0, 0.5, 0.0, 0.2]))
    yield Instance("measured", arms, values, noise, ((0.0, 0.2), (0.5,), (0.2, 0.3, 0.4), (0.2,)))


@pytest.mark.parametrize("instance", list(instances()), ids=lambda instance: instance.name)
def test_rewards_are_computed_again_as_they_were_told(instance):
    Recording.told = []
    rule = Recording(instance.domain, KERNEL, noise_scale=0.2, norm_bound=1.0)
    streams = kb.Streams(5)
    arms = kb.play(rule, instance, 40, streams, engine="numpy").arms
    rewards = certificates.replay_rewards(instance, arms, 5)
    assert Recording.told == list(zip(arms.tolist(), rewards.tolist(), strict=True))


def test_the_certificate_of_a_run_is_that_of_a_band_of_its_rewards(played, found):
    row, cell = found["GP-TS"], played.cells[2]
    result = played["rkhs1", "GP-TS"]
    for seed in range(SEEDS):
        instance = cell.problem.instance(kb.Streams(seed))
        posterior = kb.posterior.ArmPosterior(KERNEL, instance.domain, 10 * 0.1**2)
        rewards = certificates.replay_rewards(instance, result.arms[seed], seed)
        after = []
        for arm, reward in zip(result.arms[seed], rewards, strict=True):
            posterior.update(int(arm), float(reward))
            after.append(kb.theory.confidence_band(posterior, 0.1, 1.0, 0.05).regret_certificate)
        expected = np.array(after)[row.horizons - 1]
        np.testing.assert_allclose(row.certificates.values[seed], expected, rtol=1e-6)


def test_every_policy_has_a_certificate_and_no_seed_exceeds_it(found):
    """The laws of chance allow a few; with these seeds there is none."""
    assert len(found) == len(POLICIES)
    for row in found.values():
        assert row.certificates.exceeded == 0
        assert (row.certificates.values <= 2 * row.horizons * (1 + 1e-9)).all()
        assert (row.certified[0] <= row.certificate + 1e-12).all()


def test_a_regret_above_its_certificate_is_counted_once_for_a_seed():
    values, regrets = np.array([[1.0, 2.0]] * 3), np.array([[1.0, 2.0], [1.1, 2.2], [0.0, 2.1]])
    assert certificates.Certificates(values, regrets).exceeded == 2


def test_the_certified_regret_says_with_which_probability_both_bounds_hold(found):
    expected = {"Simple-UCB (delta=0.001)": 0.9, "AMM-UCB": 0.85, "GP-TS": 0.95}
    for label, probability in expected.items():
        assert found[label].certified[1] == pytest.approx(probability)
    row = found["Simple-UCB (delta=0.001)"]
    least = np.minimum(row.certificates.values, row.proved.likely).mean(0)
    np.testing.assert_allclose(row.certified[0], least)


@pytest.mark.parametrize("told", ["simple-ucb", "amm-ucb"])
def test_a_bound_of_the_regret_itself_is_that_of_the_library_for_the_arms_of_the_seed(told):
    world = kb.problem("rkhs", kernel=KERNEL, dimension=1, candidates=8)
    results = run_experiment(world, told, kernel=KERNEL, horizon=2000, seeds=1, **TOLD)
    (row,) = guarantees(results)["rkhs1"]
    arms = world.instance(kb.Streams(0)).domain
    horizons = row.horizons.tolist()
    gain = kb.theory.growth(KERNEL, arms, horizons)[-1]
    if told == "simple-ucb":
        played = {"form": "high_probability", "delta": 0.05, "smallest": 1.0}
        scales = {"noise_scale": 0.1, "norm_bound": 1.0}
        law = kb.PointMass(1.0)
        expected = kb.theory.regret_bound(law, 2000, gain, **played, **scales).value
    else:
        width = np.sqrt(0.1**2 * (2 * np.log(10) + 2 * gain.upper) + 1)
        expected = 2 * width * np.sqrt(2 * 2000 * gain.upper / np.log(2))
    assert row.proved.likely[0, -1] == pytest.approx(min(expected, 4000), rel=1e-9)


def test_r_and_d_of_a_policy_that_is_not_told_them_are_those_of_all_others(played):
    assert set(certificates.told_scales(played, "rkhs1").values()) == {(0.1, 1.0)}
    world = played.problems[0]
    policies = ("simple-ucb", "simple-ucb:noise_scale=0.2", "random")
    different = run_experiment(world, policies, kernel=KERNEL, horizon=5, seeds=1, **TOLD)
    scales = certificates.told_scales(different, "rkhs1")
    assert list(scales.values()) == [(0.1, 1.0), (0.2, 1.0), None]
    rows = guarantees(different)["rkhs1"]
    assert rows[2].certificates == certificates.NO_SCALES
    frame = guarantee_frame({"rkhs1": rows}, {"rkhs1": failing_premises(different, "rkhs1")})
    assert frame.certificate.notna().tolist() == [True, True, False]
    assert frame.why_not_certified[2] == rows[2].certificates


def test_a_policy_without_a_ridge_has_a_certificate_and_no_log_determinant(played):
    key = played.cells[0].key
    settings = dict(played.found[key].settings) | {"ridge": "changes"}
    changed = replace(played.found[key], settings=settings)
    results = replace(played, cells=played.cells[:1], found={key: changed})
    (row,) = guarantees(results)["rkhs1"]
    assert not row.ridge
    assert np.isnan(row.log_det).all()
    assert row.certificate is not None
    axis = Figure().subplots()
    draw_log_dets(axis, [row], results.labels)
    assert not axis.lines
    problem = theory_values([row], {row.policy: []}) | {"title": "it"}
    assert "nan" not in pages.render("theory.html", theory={"svg": "", "problems": [problem]})


def test_a_false_premise_stands_beside_the_certificate_of_every_policy():
    world = kb.problem("rkhs", kernel=KERNEL, dimension=1, noise=GaussianNoise(0.5))
    results = run_experiment(
        world, ("simple-ucb", "random"), kernel=KERNEL, horizon=5, seeds=1, **TOLD
    )
    failing = failing_premises(results, "rkhs1")
    frame = guarantee_frame({"rkhs1": guarantees(results)["rkhs1"]}, {"rkhs1": failing})
    assert all("needs R >= 0.5" in text for text in frame.why_not_certified)


def test_a_changing_problem_has_no_certificate():
    results = run_experiment(
        "drifting:problem=branin,motion=jumps(5)", "simple-ucb", horizon=12, seeds=1, engine="numpy"
    )
    (row,) = guarantees(results)[results.problems[0].name]
    assert row.certificates == "the problem changes from round to round"
    assert row.certified is None
