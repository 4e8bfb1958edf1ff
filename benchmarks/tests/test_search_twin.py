"""The twin of BoTorch's LogEI: posterior, fit and choice are what the formulas say."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import lognorm, multivariate_normal, norm

import kernelbandits as kb
from benchmarks import pools
from benchmarks.search import agreement, tables
from benchmarks.search.opponents import twin
from benchmarks.search.tasks import SCORED, Task
from benchmarks.tests.test_search_benchmark import made_up_table


@pytest.fixture
def game():
    rng = np.random.default_rng(0)
    rows = rng.random((9, 3))
    return rows, np.sin(5 * rows[:, 0]) + rows[:, 1] + 0.1 * rng.standard_normal(9)


def instance_of(noise=0.05):
    return pools.table_instance(made_up_table(number=40), kb.Streams(3), noise)


def test_the_marginal_likelihood_is_the_density_of_the_results_and_of_the_priors(game):
    rows, targets = game
    n, d = rows.shape
    noise, constant, lengths = 0.03, 0.2, np.array([0.4, 0.9, 2.0])
    value, _ = twin.MarginalLikelihood(rows, targets).value_and_gradient(
        np.array([noise, constant, *lengths])
    )
    kernel = [
        [math.exp(-sum((a - b) ** 2 / (2 * lengths**2))) for b in rows.tolist()]
        for a in (np.array(row) for row in rows.tolist())
    ]
    density = multivariate_normal(np.full(n, constant), np.array(kernel) + noise * np.eye(n))
    # scipy's lognorm has the scale exp(location).
    of_lengths = lognorm(math.sqrt(3), scale=math.exp(math.sqrt(2)) * math.sqrt(d))
    expected = density.logpdf(targets) + of_lengths.logpdf(lengths).sum()
    expected += lognorm(1.0, scale=math.exp(-4)).logpdf(noise)
    # The constants of the priors are numbers of single precision.
    assert value == pytest.approx(-expected / n, rel=1e-6)


def test_its_gradient_is_that_of_differences(game):
    likelihood = twin.MarginalLikelihood(*game)
    at = np.array([0.03, 0.2, 0.4, 0.9, 2.0])
    _, gradient = likelihood.value_and_gradient(at)
    step = 1e-6
    for place, slope in enumerate(gradient):
        shift = step * np.eye(len(at))[place]
        above, below = (likelihood.value_and_gradient(at + sign * shift)[0] for sign in (1, -1))
        assert slope == pytest.approx((above - below) / (2 * step), rel=1e-5, abs=1e-8)


def test_a_fit_starts_at_the_modes_and_ends_above_its_surroundings(game):
    rows, results = game
    likelihood = twin.MarginalLikelihood(rows, (results - results.mean()) / results.std(ddof=1))
    modes = [math.exp(-5), 0.0, *[math.exp(math.sqrt(2) + math.log(3) / 2 - 3)] * 3]
    assert likelihood.start == pytest.approx(modes, rel=1e-6)
    assert np.array_equal(likelihood.start, likelihood.start.astype(np.float32))
    model = twin.fit_twin(rows, results, np.random.default_rng(0))
    # The fit is seen through the posterior: its hyperparameters give the least value near them.
    noise = model.kernel(rows)
    factor = np.tril(model.factor[0])
    fitted_noise = (factor @ factor.T - noise)[0, 0]
    at = np.array([fitted_noise, model.constant, *model.lengthscales])
    least, _ = likelihood.value_and_gradient(at)
    assert least < likelihood.value_and_gradient(likelihood.start)[0]
    for place in range(len(at)):
        for factor_of in (0.9, 1.1):
            moved = at * np.where(np.arange(len(at)) == place, factor_of, 1.0)
            assert likelihood.value_and_gradient(np.maximum(moved, 1e-4))[0] >= least - 1e-6


def test_the_posterior_is_that_of_the_explicit_formula(game):
    rows, results = game
    noise, constant, lengths = 0.02, -0.3, np.array([0.5, 0.7, 1.5])
    model = twin.TwinModel(rows, results, noise, constant, lengths)
    points = np.random.default_rng(1).random((5, 3))

    def kernel(left, right):
        gaps = (left[:, None, :] - right[None, :, :]) / lengths
        return np.exp(-0.5 * (gaps**2).sum(2))

    shift, scale = results.mean(), results.std(ddof=1)
    inverse = np.linalg.inv(kernel(rows, rows) + noise * np.eye(len(rows)))
    cross = kernel(points, rows)
    mean = constant + cross @ inverse @ ((results - shift) / scale - constant)
    variance = 1 - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    found_mean, found_sd = model.predict(points)
    assert found_mean == pytest.approx(shift + scale * mean, rel=1e-9)
    assert found_sd == pytest.approx(scale * np.sqrt(variance), rel=1e-9)


@pytest.mark.parametrize("results", [[0.4], [0.4, 0.4, 0.4]])
def test_results_without_spread_are_centred_only(results):
    assert twin.standardisation(np.array(results)) == pytest.approx((0.4, 1.0))


def test_the_logarithm_of_the_expected_improvement_holds_far_below_the_best():
    u = np.array([-3.0, -0.99, 0.0, 2.0, 30.0])
    plain = np.log(norm.pdf(u) + u * norm.cdf(u))
    found = twin.log_expected_improvement(0.5 + 0.1 * u, np.full(5, 0.1), 0.5)
    assert found == pytest.approx(math.log(0.1) + plain, rel=1e-9)
    # phi(u) / u^2 (1 - 3 / u^2 + ...): the expansion of the difference for u far below 0.
    low = np.array([-1e3, -1e5, -1e7])
    far = twin.log_expected_improvement(low, np.ones(3), 0.0)
    expected = norm.logpdf(low) - 2 * np.log(-low) + np.log1p(-3 / low**2)
    assert far == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_the_unmeasured_row_of_the_largest_expected_improvement_is_measured(noise):
    instance = instance_of(noise)
    player = twin.make(instance, first=4)
    for t in range(1, 8):
        move = player.ask(t, ())
        if t > 4:
            measured = player.history.moves
            model = twin.fit_twin(
                player.history.rows, np.array(player.history.rewards), np.random.default_rng(0)
            )
            means, _ = model.predict(player.history.rows)
            best = means.max() if noise else max(player.history.rewards)
            mean, sd = model.predict(instance.domain.points)
            draws = np.random.default_rng(t).standard_normal(20_000)
            gains = np.maximum(mean + sd * draws[:, None] - best, 0).mean(0)
            gains[measured] = -1
            assert gains[move] >= gains.max() * 0.9
            assert move not in measured
        player.tell(move, instance.reward(move, t))


def test_the_first_rows_are_those_of_the_others_and_with_noise_the_best_mean_is_recommended():
    instance = instance_of()
    player = twin.make(instance, first=5)
    moves = [player.ask(t, ()) for t in range(1, 6)]
    assert moves == instance.different_arms(5)
    for t, move in enumerate(moves, 1):
        player.tell(move, instance.reward(move, t))
    means, _ = player.fit().predict(instance.domain.points[moves])
    assert player.recommend() == moves[int(means.argmax())]


def test_a_failed_fit_begins_again_from_the_priors(game, monkeypatch):
    starts = []

    def fail_once(function, start, **settings):
        starts.append(start)
        return type("Fit", (), {"status": 2 if len(starts) == 1 else 0, "x": start})

    monkeypatch.setattr(twin, "minimize", fail_once)
    model = twin.fit_twin(*game, np.random.default_rng(0))
    assert len(starts) == 2
    assert model.lengthscales.tolist() == starts[1][2:].tolist()
    assert starts[1][1] == 0.0


# The comparison with BoTorch


def test_a_twin_that_plays_against_itself_agrees_in_everything(monkeypatch):
    made = {name: made_up_table(name, seed=i) for i, name in enumerate(tables.NAMES)}
    monkeypatch.setattr(tables, "load_table", made.__getitem__)
    monkeypatch.setattr(agreement, "PAIRS", {5: (agreement.TWIN_5, agreement.TWIN_5)})
    game = agreement.compare_game(Task("snar", 0.05), 5, seed=1)
    assert (game.equal, game.tied, game.together) == (35, 0, 35)
    assert game.choices == SCORED[-1] - 5
    assert game.score == game.twin_score


def test_the_check_plays_a_hundred_games_with_1_and_5_random_rows_at_both_noises():
    games = list(agreement.list_games())
    assert len(games) == len({(*vars(task).values(), seed) for task, _, seed in games}) == 102
    for noise in agreement.NOISES:
        firsts = [first for task, first, _ in games if task.noise == noise]
        assert abs(firsts.count(1) - firsts.count(5)) <= 1


def test_a_difference_of_scores_has_the_standard_error_of_paired_games():
    rng = np.random.default_rng(0)
    pairs = rng.random((20, 2))
    games = [
        agreement.TwinGame("snar", 0.0, 5, seed, "1", 35, 33, 1, 4 + seed, a, b)
        for seed, (a, b) in enumerate(pairs)
    ]
    found = agreement.summarise(games)
    gaps = pairs[:, 1] - pairs[:, 0]
    assert found.difference == pytest.approx(gaps.mean())
    assert found.error == pytest.approx(gaps.std(ddof=1) / math.sqrt(20))
    assert (found.equal, found.equal_or_tied) == pytest.approx((33 / 35, 34 / 35))
    assert found.early == 14 / 20
    assert found.same == 0.0
