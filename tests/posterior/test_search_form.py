"""The form of a posterior that a search on a box evaluates, and who searches with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.kernels import AdditiveMatern, Constant
from kernelbandits.policies.acquisition import (
    LogExpectedImprovement,
    StandardDeviation,
    Surface,
    UpperConfidence,
)
from kernelbandits.posterior import PointPosterior, SearchForm
from kernelbandits.posterior.search_form import OwnKernels, ProductKernels

LOWER, UPPER = (0.0, -2.0, 1000.0), (1.0, 3.0, 1100.0)
BOX = kb.Box(LOWER, UPPER)
SCALES = (0.3, 1.5, 20.0)
BOUNDS: dict[str, Any] = {"noise_scale": 0.1, "norm_bound": 1.0}

KERNELS = {
    "rbf": kb.RBF(SCALES),
    "matern32": kb.Matern(SCALES, nu=1.5),
    "matern52": kb.Matern(SCALES),
    "one scale": kb.Matern(0.7),
    "scaled with a level": 2.5 * kb.Matern(SCALES) + 0.7 * Constant(),
    "scaled rbf": 0.4 * kb.RBF(SCALES),
}
ACQUISITIONS = [
    UpperConfidence(1.0, 2.0),
    UpperConfidence(-0.5, 3.0),
    StandardDeviation(),
    LogExpectedImprovement(np.array([0.8])),
]


def sample_rows(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).uniform(LOWER, UPPER, (count, 3))


def learn_posterior(kernel: Any, count: int = 40, ridge: float = 0.01) -> PointPosterior:
    """Random points and rewards; every seventh point is played twice."""
    posterior = PointPosterior(kernel, BOX, ridge)
    rng = np.random.default_rng(count)
    for number, row in enumerate(sample_rows(count, 1)):
        for _ in range(1 + (number % 7 == 0)):
            posterior.update(row, float(rng.normal()))
    return posterior


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("count", [1, 40, 400])
def test_mean_and_sd_are_those_of_the_posterior(name: str, count: int) -> None:
    # One lengthscale for all coordinates loses digits: the last side is 140 of them long.
    tolerance = 1e-6 if name == "one scale" else 1e-9
    posterior = learn_posterior(KERNELS[name], count)
    form = SearchForm(posterior)
    assert isinstance(form.kernels, ProductKernels)
    rows = np.vstack([sample_rows(700, 2), posterior.points])
    for found, truth in zip(form.at(rows), posterior.members_at(rows), strict=True):
        np.testing.assert_allclose(found, truth, rtol=0, atol=tolerance)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("acquisition", ACQUISITIONS, ids=repr)
def test_scores_and_gradients_are_those_of_the_posterior(name: str, acquisition: Any) -> None:
    posterior, rows = learn_posterior(KERNELS[name]), sample_rows(60, 3)
    fast, plain = Surface(posterior, acquisition), Surface(posterior, acquisition)
    plain.form.kernels = OwnKernels(posterior)
    exact = Surface(posterior, acquisition, exact=True)
    np.testing.assert_allclose(fast.values(rows), exact.values(rows), rtol=1e-8, atol=1e-8)
    (value, slopes), (true_value, true_slopes) = fast.slopes(rows), plain.slopes(rows)
    np.testing.assert_allclose(value, true_value, rtol=1e-8, atol=1e-8)
    size = np.abs(true_slopes).max(0)
    np.testing.assert_allclose(slopes / size, true_slopes / size, rtol=0, atol=1e-6)


def test_where_nothing_is_uncertain_the_sd_has_no_slope() -> None:
    with pytest.warns(kb.NumericsWarning):
        posterior = PointPosterior(kb.RBF(SCALES), BOX, 1e-30)
    posterior.update(sample_rows(1, 4)[0], 0.5)
    value, slopes = Surface(posterior, StandardDeviation()).slopes(posterior.points)
    assert value.tolist() == [0.0]
    assert slopes.tolist() == [[0.0, 0.0, 0.0]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("scale", [1e-310, 1e-160, 1e-50, 1e-3])
@pytest.mark.parametrize("kernel", [kb.RBF, kb.Matern])
def test_far_from_the_only_point_played_nothing_is_known(kernel: Any, scale: float) -> None:
    # The squares of distances in lengthscales overflow in the first two cases.
    surface = Surface(learn_posterior(kernel(scale), 1), StandardDeviation())
    rows = sample_rows(20, 5)
    assert surface.values(rows).tolist() == [1.0] * 20
    assert not surface.slopes(rows)[1].any()
    policy = kb.SimpleUCB(kb.Box((0.0,), (1.0,)), kernel(scale), **BOUNDS)
    first = policy.ask(1, kb.Streams(0))
    policy.tell(first, -1.0)
    assert policy.ask(2, kb.Streams(0)).x != first.x, "every other point has a greater index"


@pytest.mark.parametrize(
    "kernel",
    [
        kb.Matern(SCALES, nu=0.5),
        kb.Linear(),
        kb.kernels.RationalQuadratic(1.0),
        kb.Matern(SCALES) + AdditiveMatern(SCALES, ((0,), (1,), (2,))),
        kb.Matern((0.3, 1.5, 0.01)),
    ],
    ids=str,
)
def test_other_kernels_and_lengthscales_that_lose_digits_are_no_products(kernel: Any) -> None:
    posterior, rows = learn_posterior(kernel, 5), sample_rows(20, 6)
    form = SearchForm(posterior)
    assert isinstance(form.kernels, OwnKernels)
    for found, truth in zip(form.at(rows), posterior.members_at(rows), strict=True):
        np.testing.assert_allclose(found, truth, rtol=1e-6, atol=1e-6)


def test_before_the_first_reward_the_form_is_that_of_the_prior() -> None:
    posterior, rows = PointPosterior(2.0 * kb.RBF(SCALES), BOX, 0.1), sample_rows(5, 7)
    value, slopes = Surface(posterior, UpperConfidence(1.0, 3.0)).slopes(rows)
    np.testing.assert_allclose(value, 3 * np.sqrt(2.0))
    assert not slopes.any()


def play_policy(policy: kb.Policy, rounds: int) -> list[Any]:
    choices = []
    for t in range(1, rounds + 1):
        choice = policy.ask(t, kb.Streams(2))
        policy.tell(choice, float(np.sin(4 * choice.x[0]) + np.cos(choice.x[1])))
        choices.append(choice)
    return choices


@pytest.mark.parametrize("kernel", [kb.Matern(SCALES), kb.RBF(SCALES) + Constant()], ids=str)
def test_a_policy_notes_the_index_of_the_point_that_it_plays(kernel: Any) -> None:
    policy = kb.SimpleUCB(BOX, kernel, **BOUNDS)
    for t in range(1, 16):
        choice = policy.ask(t, kb.Streams(2))
        index = policy.index(t, points=choice.x[None])
        assert choice.note["index"] == pytest.approx(index[0], abs=1e-9)
        policy.tell(choice, float(np.sin(4 * choice.x[0]) + np.cos(choice.x[1])))


def test_asks_after_a_repeated_point_and_with_pending_ones_are_those_of_a_fresh_policy() -> None:
    """L^-1 is kept from one ask to the next; the choice depends on the rewards alone."""
    kept = kb.SimpleUCB(BOX, kb.Matern(SCALES), **BOUNDS)
    choices = play_policy(kept, 8)
    kept.tell(choices[3], 0.3)
    pending = [kept.ask(20, kb.Streams(5))]
    fresh = kb.SimpleUCB(BOX, kb.Matern(SCALES), **BOUNDS)
    for choice in choices:
        fresh.tell(choice, float(np.sin(4 * choice.x[0]) + np.cos(choice.x[1])))
    fresh.tell(choices[3], 0.3)
    for waiting in ([], pending):
        one = kept.ask(21, kb.Streams(5), pending=waiting)
        other = fresh.ask(21, kb.Streams(5), pending=waiting)
        np.testing.assert_array_equal(one.x, other.x)


@pytest.mark.parametrize("kernel", [kb.RBF(0.4), kb.Matern(0.4)], ids=str)
def test_arms_beside_a_context_are_scored_by_the_posterior_itself(kernel: Any) -> None:
    rng = np.random.default_rng(6)
    points = rng.random((50, 2))
    policy = kb.SimpleUCB(kb.Contextual(kb.Arms(points), 1), kernel, **BOUNDS)
    for t in range(1, 13):
        context = rng.random(1)
        choice = policy.ask(t, kb.Streams(0), context=context)
        rows = np.hstack([points, np.broadcast_to(context, (50, 1))])
        acquisition = UpperConfidence(choice.note["weight"], choice.note["width"])
        scores = acquisition.score(*policy.posterior.members_at(rows))
        assert choice.note["index"] == scores[choice.arm] == scores.max()
        policy.tell(choice, float(np.sin(9 * points[choice.arm]).sum()))
