"""What earlier results predict, as a column of the model."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.calibration import EarlierResults
from kernelbandits.calibration.earlier import predict_from
from kernelbandits.calibration.sides import domain_blocks, domain_sides

GRID = np.linspace(0, 1, 21)[:, None]


def bumpy(x):
    return np.sin(5 * x[:, 0]) + (x[:, 1] - 0.4) ** 2


def results_on(domain, rows=40, seed=0, shared=None, scale=lambda y: y):
    rng = np.random.default_rng(seed)
    points = rng.random((rows, domain.dimension))
    return EarlierResults(points, scale(bumpy(points)), shared)


def prediction_on(domain, results):
    sides = tuple(np.where(domain_sides(domain) > 0, domain_sides(domain), 1.0).tolist())
    return predict_from(results, domain_blocks(domain), sides, 2.5)


@pytest.fixture
def box():
    return kb.Box((0.0,) * 3, (1.0,) * 3)


def test_the_prediction_is_the_posterior_mean_of_the_earlier_results_alone(box):
    results = results_on(box, shared=(0, 1))
    predict, rows = prediction_on(box, results), np.random.default_rng(1).random((7, 3))
    fit = predict.fit.calibration
    kernel = fit.whole_kernel(np.array(predict.fit.sides))
    old = results.points[:, :2]
    standardised = fit.standard.standardise(results.rewards)
    gram = kernel(old, old) + fit.noise_variance * np.eye(len(old))
    mean = kernel(rows[:, :2], old) @ np.linalg.solve(gram, standardised)
    np.testing.assert_allclose(predict(rows), mean, atol=2e-6)


def test_results_without_noise_bring_no_warning_of_a_number_that_nobody_can_change():
    """A prediction has no standard deviations that a small ridge could make inexact."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        points = np.random.default_rng(1).integers(0, 5, (40, 2)) / 4
        earlier = EarlierResults(points, points.sum(axis=1))
        prediction_on(kb.Box((0.0, 0.0), (1.0, 1.0)), earlier)


def test_coordinates_that_are_not_shared_do_not_matter(box):
    predict, rows = prediction_on(box, results_on(box, shared=(0, 1))), np.full((2, 3), 0.4)
    rows[1, 2] = 0.9
    assert predict(rows)[0] == predict(rows)[1]
    assert (predict.slopes(rows)[:, 2] == 0).all()


def test_its_gradient_is_that_of_its_values(box):
    predict, rows = prediction_on(box, results_on(box)), np.random.default_rng(1).random((5, 3))
    step = 1e-3
    for j in range(3):
        move = step * np.eye(3)[j]
        difference = (predict(rows + move) - predict(rows - move)) / (2 * step)
        np.testing.assert_allclose(predict.slopes(rows)[:, j], difference, atol=1e-3)


def test_a_row_alone_has_the_prediction_that_it_has_among_others(box):
    predict, rows = prediction_on(box, results_on(box)), np.random.default_rng(1).random((300, 3))
    alone = np.concatenate([predict(row[None]) for row in rows])
    np.testing.assert_array_equal(predict(rows), alone)


def test_the_kernel_of_a_policy_is_that_of_rows_with_their_predictions(box):
    policy = kb.Auto(box, earlier=[results_on(box)], seed=1)
    for _ in range(6):
        choice = policy.ask()
        policy.tell(choice, float(bumpy(np.array([choice.x]))[0]))
    fit, fitter = policy.learner.fit, policy.learner.fitter
    x, z = (np.random.default_rng(seed).random((4, 3)) for seed in (1, 2))
    x[0] = z[0]
    longer = [np.column_stack([rows, policy.predictions[0](rows)]) for rows in (x, z)]
    for member, kernel in zip(fit.members, fitter.stack_of(fit).kernels, strict=True):
        expected = member.whole_kernel(np.array(fit.sides))(*longer)
        np.testing.assert_allclose(kernel(x, z), expected, rtol=1e-12)
        gradient = kernel.value_and_gradient(x[1:], z)[1]
        for j in range(3):
            move = 1e-4 * np.eye(3)[j]
            difference = (kernel(x[1:] + move, z) - kernel(x[1:] - move, z)) / 2e-4
            np.testing.assert_allclose(gradient[..., j], difference, atol=2e-4)


def test_the_unit_of_the_earlier_results_does_not_matter():
    domain, asked = kb.Arms(np.random.default_rng(3).random((30, 2))), []
    for scale in (lambda y: y, lambda y: 273 + 40 * y):
        policy = kb.Auto(domain, earlier=[results_on(domain, scale=scale)], seed=1)
        for _ in range(8):
            choice = policy.ask()
            policy.tell(choice, float(bumpy(domain.points[choice.arm][None])[0]))
        asked.append([place.place for place in policy.learner.results])
    assert asked[0] == asked[1]


def test_earlier_results_are_no_rewards_of_the_policy():
    policy = kb.Auto(kb.Arms(GRID), earlier=[EarlierResults(GRID, GRID[:, 0])], seed=1)
    assert policy.n_rewards == 0
    assert policy.observations() is None
    assert policy.ask().x[0] == 1.0


def test_the_first_choices_are_the_best_prediction_and_others_of_the_best_tenth():
    points = np.random.default_rng(5).random((200, 2))
    domain = kb.Arms(points)
    policy = kb.Auto(domain, earlier=[EarlierResults(points, points[:, 0])], seed=1)
    ranked = np.argsort(-policy.predictions[0](points))
    chosen = []
    for _ in range(3):
        choice = policy.ask()
        policy.tell(choice, 0.1 * len(chosen))
        chosen.append(choice.arm)
    assert chosen[0] == ranked[0]
    assert {*chosen} <= {*ranked[:20].tolist()}
    assert len({*chosen}) == 3
    assert policy.ask().note.get("earlier") is None


def test_several_earlier_studies_take_turns():
    other = EarlierResults(GRID, -GRID[:, 0])
    policy = kb.Auto(kb.Arms(GRID), earlier=[EarlierResults(GRID, GRID[:, 0]), other], seed=1)
    first = policy.ask()
    policy.tell(first, 0.5)
    second = policy.ask()
    assert first.x[0] == 1.0
    assert second.x[0] < 0.5


def test_earlier_results_that_predict_the_same_everywhere_leave_the_usual_first_choice():
    flat = EarlierResults(GRID, np.zeros(len(GRID)))
    arms = [kb.Auto(kb.Arms(GRID), earlier=earlier, seed=1).ask().arm for earlier in ([flat], ())]
    assert arms[0] == arms[1]


def test_a_policy_that_is_written_and_read_asks_the_same():
    policy = kb.Auto(kb.Arms(GRID), earlier=[EarlierResults(GRID, np.sin(4 * GRID[:, 0]))], seed=1)
    for arm in (3, 9, 15, 20):
        policy.tell(policy.choice(arm), float(np.cos(arm)))
    again = kb.Auto.from_dict(json.loads(json.dumps(policy.to_dict())))
    assert again.ask() == policy.ask()


def test_learning_at_once_equals_learning_one_by_one():
    domain = kb.Arms(np.random.default_rng(3).random((30, 2)))
    policies = [kb.Auto(domain, earlier=[results_on(domain)], seed=1) for _ in range(2)]
    pairs = [(policies[0].choice(arm), float(np.sin(arm))) for arm in range(15)]
    for pair in pairs:
        policies[0].tell(*pair)
    policies[1].tell_all(pairs)
    assert policies[0].ask() == policies[1].ask()


def test_a_mixed_space_with_constraints_learns_too():
    space = kb.MixedBox(
        {"heat": kb.Real(20, 90), "n": kb.Integer(1, 5), "acid": kb.Category(("a", "b"))},
        constraints=["heat + 10 * n <= 100"],
    )
    xs = [{"heat": 20.0 + i, "n": 1 + i % 4, "acid": "ab"[i % 2]} for i in range(30)]
    old = EarlierResults(
        [space.encode(x) for x in xs], [x["heat"] + 9 * (x["acid"] == "b") for x in xs]
    )
    policy = kb.Auto(space, earlier=[old], seed=1)
    for t in range(6):
        choice = policy.ask()
        assert choice.x in space
        policy.tell(choice, choice.x["heat"] if t else 1.0)
    assert policy.recommend()["heat"] > 60


@pytest.mark.parametrize(
    ("domain", "more", "needed"),
    [
        (kb.Contextual(kb.Box((0.0,), (1.0,)), 1), {}, "without contexts"),
        (kb.Arms.from_gram(np.eye(3)), {}, "a table or a space"),
        (kb.Box((0.0,), (1.0,)), {"width": "theory", "goal": "earn"}, "width"),
        (kb.Box((0.0,) * 2, (1.0,) * 2), {}, "earlier points of 2 coordinates"),
    ],
)
def test_a_domain_that_cannot_learn_from_earlier_results_is_refused(domain, more, needed):
    with pytest.raises(ValueError, match=needed):
        kb.Auto(domain, earlier=[EarlierResults(GRID, GRID[:, 0])], **more)


@pytest.mark.parametrize(
    ("points", "rewards", "shared", "needed"),
    [
        (GRID, [1.0], None, "a reward for each point"),
        (GRID, [float("nan")] * 21, None, "finite"),
        (GRID, GRID[:, 0], [1], "coordinates below 1"),
        (GRID, GRID[:, 0], [0, 0], "different coordinates"),
        (GRID, GRID[:, 0], [], "different coordinates"),
    ],
)
def test_wrong_earlier_results_are_refused(points, rewards, shared, needed):
    with pytest.raises(ValueError, match=needed):
        EarlierResults(points, rewards, shared)


def test_a_column_that_is_shared_in_part_only_is_refused():
    arms = kb.Arms([[0.7, 0.0], [0.0, 0.7]], blocks=((0, 1),))
    with pytest.raises(ValueError, match="share a column"):
        kb.Auto(arms, earlier=[EarlierResults(np.eye(2), [1.0, 2.0], [0])])
