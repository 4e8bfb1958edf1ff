"""Test functions on all of their box and beside a context, late rewards, and the true optimum."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.analysis import guarantees, ranking_of
from kernelbandits.experiment import rounds, run_experiment
from kernelbandits.problems import Delayed, TrueOptimum, WholeBox, WithContext
from kernelbandits.report import write_run

BRANIN = kb.problem("branin")


def test_the_maximisers_of_a_box_lose_nothing_and_rewards_are_scaled_to_one():
    instance = WholeBox(BRANIN).instance(kb.Streams(0))
    best = [instance.number(kb.Choice(x)) for x in BRANIN.maximisers]
    np.testing.assert_allclose(instance.regrets(best), 0, atol=1e-6)
    assert (instance.regrets(best) >= 0).all()
    assert instance.optimum == pytest.approx(1)
    assert instance.values.min() == pytest.approx(0, abs=0.05)
    raw = WholeBox(kb.problem("branin", scale=False)).instance(kb.Streams(0))
    assert raw.optimum == BRANIN.optimum


def test_a_point_keeps_its_number_and_a_pull_adds_the_noise():
    instance = WholeBox(BRANIN).instance(kb.Streams(0))
    first, second, again = (instance.number(kb.Choice(x)) for x in ([0, 0], [0.5, 1], [0, 0]))
    assert (first, second, again) == (0, 1, 0)
    value = instance.optimum - instance.regrets([1])[0]
    assert instance.pull(1, 0.9) == pytest.approx(value + instance.noise.draw(0.9))
    with pytest.raises(ValueError, match=r"pull needs a point met, 0\.\.1, got 2"):
        instance.pull(2, 0.5)


def test_policies_play_a_box_and_rules_that_cannot_play_a_cover_of_it():
    results = run_experiment(
        "box:problem=branin", ["auto", "simple-ucb", "bpe"], horizon=6, seeds=2, noise_scale=0.01
    )
    for cell in results.cells:
        found = results.found[cell.key]
        instance = cell.problem.instance(kb.Streams(0))
        policy = cell.contender.build(instance, cell.kernel)
        played = [one.choice for one in rounds(policy, instance, 6, kb.Streams(0))]
        regret = instance.regrets([instance.number(choice) for choice in played]).cumsum()
        np.testing.assert_array_equal(found.regret[0], regret)
        assert policy.finite == (cell.contender.label == "BPE")
        assert found.settings["engine"] == "numpy"


def test_the_best_arm_depends_on_the_context_and_regret_is_against_it():
    problem = WithContext(kb.problem("hartmann6", candidates=30), size=2)
    instance = problem.instance(kb.Streams(3))
    contexts = [instance.context(t) for t in (1, 2, 3)]
    inner = problem.problem
    points = instance.domain.domain.points
    assert points.shape == (30, 4)
    for t, context in enumerate(contexts, 1):
        raw = inner.reward(np.hstack([points, np.tile(context, (30, 1))]))
        np.testing.assert_array_equal(np.argsort(raw), np.argsort(instance.at(t)))
    again = problem.instance(kb.Streams(3))
    np.testing.assert_array_equal(again.context(3), contexts[2])
    arms = [4, 4, 4]
    best = np.array([instance.at(t).max() - instance.at(t)[4] for t in (1, 2, 3)])
    np.testing.assert_array_equal(instance.regrets(arms), best)


def test_policies_are_asked_with_the_context_of_the_round():
    instance = kb.problem("contextual", problem="hartmann6", size=2).instance(kb.Streams(1))
    policy = kb.SimpleUCB(instance.domain, kb.RBF(0.5), noise_scale=0.1, norm_bound=1.0)
    for t, choice, _ in rounds(policy, instance, 5, kb.Streams(1)):
        np.testing.assert_array_equal(choice.context, instance.context(t))


@pytest.mark.parametrize("delay", [1, 4])
def test_a_reward_is_told_after_the_delay_and_its_choice_is_pending_until_then(delay):
    instance = Delayed(BRANIN, delay).instance(kb.Streams(0))
    seen = []

    class Watched(kb.SimpleUCB):
        def ask(self, t, rng, **given):
            seen.append((t, self.n_rewards, len(given.get("pending", ()))))
            return super().ask(t, rng, **given)

    policy = Watched(instance.domain, kb.RBF(0.2), noise_scale=0.1, norm_bound=1.0)
    played = list(rounds(policy, instance, 9, kb.Streams(0)))
    assert seen == [(t, max(0, t - 1 - delay), min(t - 1, delay)) for t in range(1, 10)]
    assert policy.n_rewards == 9 - delay
    still = BRANIN.instance(kb.Streams(0))
    streams = kb.Streams(0)
    for t, choice, reward in played:
        assert reward == still.pull(choice.arm, streams.uniform("noise", t))


def test_delays_drift_and_boxes_are_played_together():
    moving = kb.problem("delayed:problem=drifting(problem=branin,motion=jumps(3)),delay=2")
    boxed = kb.problem("delayed:problem=box(problem=branin),delay=2")
    results = run_experiment([moving, boxed], ["auto", "random"], horizon=8, seeds=2)
    assert [problem.title for problem in results.problems] == [
        "Branin (d = 2), new every 3 rounds, rewards 2 rounds late",
        "Branin (d = 2) on its box, rewards 2 rounds late",
    ]
    assert all((found.regret >= 0).all() for found in results.found.values())


def test_the_true_optimum_adds_what_the_candidates_cost_in_every_round():
    results = run_experiment([BRANIN, TrueOptimum(BRANIN)], "simple-ucb", horizon=10, seeds=3)
    plain, true = (results.found[cell.key] for cell in results.cells)
    np.testing.assert_array_equal(plain.arms, true.arms)
    extra = (true.regret - plain.regret) / np.arange(1, 11)
    np.testing.assert_allclose(extra, np.repeat(extra[:, :1], 10, 1))
    assert (extra > 0).all()
    instance = BRANIN.instance(kb.Streams(0))
    low, high = (BRANIN.reward(instance.domain.points).min(), BRANIN.optimum)
    spread = BRANIN.reward(instance.domain.points).max() - low
    assert extra[0, 0] == pytest.approx((high - low) / spread - 1)


def test_what_no_bound_is_computed_for_says_why_and_is_ranked_all_the_same(tmp_path):
    names = ["true-optimum:problem=branin", "delayed:problem=branin,delay=2", "box:problem=branin"]
    names += ["contextual:problem=branin,size=1"]
    results = run_experiment(names, ["simple-ucb", "random"], horizon=6, seeds=2)
    reasons = [rows[0].certificates for rows in guarantees(results).values()]
    assert reasons == [
        "its regret is against more than the best arm",
        "its rewards come late",
        "it is played on a box, and gains are computed for arms",
        "its best arm depends on the context of the round",
    ]
    assert len(ranking_of(results).best) == 2
    write_run(results, tmp_path, theory=True)
    assert "its rewards come late" in (tmp_path / "theory.csv").read_text()


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: WholeBox(kb.problem("gp")), "WholeBox needs a test function, such as branin"),
        (lambda: TrueOptimum(kb.problem("gp")), "TrueOptimum needs a test function, such as"),
        (lambda: WithContext(BRANIN, 2), "WithContext needs size < 2, got 2"),
        (lambda: Delayed(BRANIN, 0), "Delayed needs a whole number delay >= 1, got 0"),
        (lambda: Delayed(Delayed(BRANIN)), "Delayed needs a problem without a delay, got"),
        (
            lambda: kb.problems.Misspecified(TrueOptimum(BRANIN)),
            "Misspecified needs a problem that may be changed; write its changes inside, got",
        ),
        (
            lambda: kb.problems.Drifting(WholeBox(BRANIN)),
            "Drifting needs a problem that may be changed; write its changes inside, got",
        ),
    ],
)
def test_what_cannot_be_made_is_refused(build, message):
    with pytest.raises(ValueError, match=message):
        build()
