"""The benchmark of regret: its pools are what they are said to be, runs go on where they stopped, sums are right."""

from __future__ import annotations

import argparse
import json
import math
import sys
from dataclasses import replace
from itertools import product
from types import ModuleType

import numpy as np
import pytest

import kernelbandits as kb
from benchmarks import pools, regret, regret_figure, regret_summary, tables
from benchmarks.opponents import CONTESTANTS, OURS, Contestant, source_hash
from benchmarks.opponents.history import History
from benchmarks.regret_growth import HORIZONS, growth_of, regrets_at
from benchmarks.regret_pairs import common, games_of, mean_and_error, pair
from benchmarks.regret_rows import LONG, MARKS, Played, append, latest, read
from benchmarks.rows import Goal
from benchmarks.search import tables as real_tables
from kernelbandits.problems.base import Instance

FREE = tuple(pool for pool in pools.POOLS if pool not in real_tables.NAMES)
"""Those that need no file."""
SAMPLED = tuple(pool for pool in FREE if not pool.endswith(pools.BOX))
BOXES = tuple(pool for pool in FREE if pool.endswith(pools.BOX))


def row(contestant, pool, seed, last, version="1", seconds=(0.001, 0.002), later=()):
    regret = (last / 4, last / 3, last / 2, last, *later)
    return Played(contestant, version, pool, seed, regret, last / 100, seconds)


# The pools


def test_the_pools_are_six_functions_their_boxes_and_the_real_tables():
    names = ("holder-table", "cross-in-tray", "ackley4", "hartmann6", "branin", "levy4")
    free = ["perovskite", *names, *(f"{name}-box" for name in names)]
    assert list(pools.DEVELOPMENT[:13]) == free
    assert {*pools.DEVELOPMENT[13:], "perovskite"} == {*real_tables.DEVELOPMENT}
    assert not {*pools.DEVELOPMENT} & {*pools.HELD_OUT}
    assert (*pools.HELD_OUT, *pools.DEVELOPMENT) == pools.POOLS


@pytest.mark.parametrize("pool", SAMPLED)
def test_a_sampled_pool_is_500_even_draws_of_the_unit_cube_with_rewards_from_0_to_1(pool):
    instance = pools.build_instance(pool, 3)
    points = instance.domain.points
    values = np.array([instance.value(arm) for arm in range(len(points))])
    assert points.shape[0] == 500
    assert abs(points.mean() - 0.5) < 4 * math.sqrt(1 / 12 / points.size)
    assert points.min() >= 0
    assert points.max() <= 1
    assert (values.min(), values.max(), instance.optimum) == (0, 1, 1)
    assert instance.regret(int(values.argmax())) == 0


def test_a_pool_is_drawn_anew_in_each_seed_and_is_the_same_in_the_same():
    first, again, other = (pools.build_instance("branin", seed).domain.points for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_rewards_of_a_pool_are_minus_the_function_scaled_over_its_candidates():
    instance = pools.build_instance("branin", 1)
    x, y = instance.domain.points.T * [[15], [15]] + [[-5], [0]]
    by_hand = (y - 5.1 / (4 * math.pi**2) * x**2 + 5 / math.pi * x - 6) ** 2
    by_hand = by_hand + 10 * (1 - 1 / (8 * math.pi)) * np.cos(x) + 10
    expected = (by_hand.max() - by_hand) / np.ptp(by_hand)
    assert np.allclose([instance.value(arm) for arm in range(500)], expected, atol=1e-12)


@pytest.mark.parametrize("pool", BOXES)
def test_a_box_is_scaled_by_its_known_optimum_and_the_worst_of_the_sobol_points(pool):
    instance = pools.build_instance(pool, 0)
    function = pools.named_function(pool.removesuffix(pools.BOX))
    assert (instance.domain.lower, instance.domain.upper) == (function.lower, function.upper)
    assert all(abs(instance.regret(np.array(best))) < 1e-9 for best in function.minimisers)
    grid = np.array(list(product((0.0, 0.5), repeat=function.dimension)))
    values = [instance.value(point) for point in function.natural(grid)]
    assert min(values) >= 0
    spread = pools.worst(function.name) - function.minimum
    assert np.allclose(np.diff(values), -np.diff(function(function.natural(grid))) / spread)


@pytest.fixture
def films(monkeypatch):
    """94 made-up compositions in the place of the file."""
    rng = np.random.default_rng(0)
    points, values = rng.dirichlet(np.ones(3), 94), rng.normal(size=94)
    instance = Instance("perovskite", kb.Arms(points), values, kb.problem("branin").noise)
    named = kb.problem
    made = argparse.Namespace(instance=lambda streams: instance)
    monkeypatch.setattr(
        kb, "problem", lambda name, **given: made if name == "perovskite" else named(name, **given)
    )
    return instance


def test_the_films_have_features_and_rewards_scaled_to_the_unit_cube(films):
    instance = pools.build_instance("perovskite", 0)
    points = instance.domain.points
    assert np.array_equal((points.min(0), points.max(0)), [[0] * 3, [1] * 3])
    assert np.allclose(
        np.ptp(films.domain.points, axis=0) * points,
        films.domain.points - films.domain.points.min(0),
    )
    values = [instance.value(arm) for arm in range(94)]
    assert np.allclose(values, (films.values - films.values.min()) / np.ptp(films.values))


def test_films_that_are_not_to_be_had_are_left_out_and_said_to_be(monkeypatch, capsys, tmp_path):
    def absent(name, **given):
        raise FileNotFoundError("the perovskite data need a file")

    monkeypatch.setattr(kb, "problem", absent)
    regret.play([0], ["perovskite", "branin-box"], ["random"], path=tmp_path / "rows.jsonl")
    assert "perovskite is left out: the perovskite data need a file" in capsys.readouterr().err
    assert [one.pool for one in read(tmp_path / "rows.jsonl")] == ["branin-box"]


def test_the_noise_belongs_to_the_round_and_not_to_the_move():
    instance = pools.build_instance("ackley4", 2)
    noise = np.array(
        [[instance.reward(arm, t) - instance.value(arm) for t in range(1, 2001)] for arm in (0, 7)]
    )
    assert np.allclose(noise[0], noise[1], atol=1e-12)
    assert abs(noise[0].std() / 0.05 - 1) < 4 / math.sqrt(2 * 2000)
    assert abs(noise[0].mean()) < 4 * 0.05 / math.sqrt(2000)


def test_pools_and_seeds_have_noise_of_their_own():
    first, other, later = (
        pools.build_instance(*which).streams.seed
        for which in (("levy4", 0), ("levy4-box", 0), ("levy4", 1))
    )
    assert len({first, other, later}) == 3


def test_random_moves_are_the_same_for_everyone_and_lie_inside():
    instance = pools.build_instance("branin-box", 0)
    moves = np.array(instance.random_moves(200))
    assert np.array_equal(
        moves[:5], np.array(pools.build_instance("branin-box", 0).random_moves(5))
    )
    low, high = instance.sides
    assert ((low <= moves) & (moves <= high)).all()
    assert np.abs((moves.mean(0) - (low + high) / 2) / (high - low)).max() < 4 * math.sqrt(
        1 / 12 / 200
    )


# The contestants


@pytest.mark.parametrize("name", CONTESTANTS)
@pytest.mark.parametrize("pool", ["cross-in-tray", "cross-in-tray-box"])
def test_a_contestant_plays_the_same_game_twice_or_says_what_it_misses(name, pool):
    contestant = CONTESTANTS[name]
    if contestant.missing:
        assert name == OURS or contestant.missing.split()[0] in (
            contestant.package,
            *contestant.needs,
        )
        return
    if not contestant.plays(not pool.endswith(pools.BOX)):
        assert name.startswith("optuna")
        return
    # BoTorch is slow and chooses by its model after five rounds; others do after ten.
    rounds = 7 if name.startswith("botorch") else 11
    first, again = (regret.game(contestant, "1", pool, 0, rounds=rounds) for _ in range(2))
    assert (first.regret, first.simple) == (again.regret, again.simple)
    assert all(0 <= lost <= 10 for lost in first.regret)
    assert 0 <= first.simple <= 1


def test_regret_is_summed_over_the_rounds_and_simple_regret_is_of_the_recommendation(monkeypatch):
    class Stubborn:
        def __init__(self, instance):
            self.instance = instance

        def ask(self, t):
            return 4

        def tell(self, move, reward):
            assert move == 4

        def recommend(self):
            return 9

    module = ModuleType("benchmarks.opponents.stubborn")
    module.make = Stubborn
    monkeypatch.setitem(sys.modules, module.__name__, module)
    instance = pools.build_instance("branin", 5)
    played = regret.game(Contestant("stubborn", "", "numpy", "stubborn", {}, ""), "1", "branin", 5)
    gap = 1 - instance.value(4)
    assert played.regret == pytest.approx([gap * mark for mark in MARKS[:4]], abs=1e-5)
    assert played.rounds == 100
    assert played.simple == pytest.approx(1 - instance.value(9), abs=1e-6)


def test_the_best_mean_counts_repeats_of_a_move():
    history = History(pools.build_instance("branin", 0))
    for move, reward in ((1, 0.9), (2, 0.8), (1, 0.1), (3, 0.7)):
        history.add(move, reward)
    assert history.best_mean() == 2


def test_a_missing_package_is_left_out_and_said_to_be(monkeypatch, capsys, tmp_path):
    absent = replace(CONTESTANTS["skopt"], package="no-such-package")
    monkeypatch.setitem(CONTESTANTS, "skopt", absent)
    regret.play([0], ["branin"], ["random", "skopt"], path=tmp_path / "rows.jsonl")
    assert (
        "scikit-optimize is left out: no-such-package is not installed" in capsys.readouterr().err
    )
    games = games_of(read(tmp_path / "rows.jsonl"))
    assert set(games) == {"random"}
    assert (
        "- scikit-optimize is left out: no-such-package is not installed"
        in regret_summary.document(games, {}, [])
    )


# The rows


def test_a_run_that_was_stopped_goes_on_and_ends_with_the_same_rows(tmp_path):
    whole, parts = tmp_path / "whole.jsonl", tmp_path / "parts.jsonl"
    chosen = (["branin", "levy4-box"], ["random"])
    regret.play(range(3), *chosen, path=whole)
    regret.play(range(1), *chosen, path=parts)
    regret.play(range(3), *chosen, path=parts)
    regret.play(range(3), *chosen, path=parts)
    timeless = [[replace(one, seconds=(0.0, 0.0)) for one in read(path)] for path in (whole, parts)]
    assert timeless[0] == timeless[1]
    assert len(timeless[0]) == 6


def test_a_long_game_goes_on_from_a_short_one_and_is_a_row_of_its_own(tmp_path):
    """The rounds of one seed are the same, so that a long game says what a short one would."""
    path = tmp_path / "rows.jsonl"
    for rounds in (100, 1000, 1000):
        regret.play(range(2), ["branin"], ["random"], path=path, rounds=rounds)
    rows = read(path)
    assert [one.rounds for one in rows] == [100, 100, 1000, 1000]
    assert all(len(one.regret) == len(MARKS) for one in rows[2:])
    for short, long in zip(rows[:2], rows[2:], strict=True):
        assert long.regret[:4] == short.regret
        assert short.regret[-1] < long.regret[4] < long.regret[5]
    assert {one.rounds for one in games_of(rows)["random"]["branin"].values()} == {100}
    assert {one.rounds for one in games_of(rows, 1000)["random"]["branin"].values()} == {1000}


def test_in_long_games_ours_plays_alone_unless_others_are_named(monkeypatch, tmp_path):
    played = []
    monkeypatch.setattr(regret, "game", lambda who, *given: played.append((who.name, given[-1])))
    monkeypatch.setattr(regret, "append", lambda path, one: None)
    monkeypatch.setattr(regret, "tell_progress", lambda one: None)
    regret.play([0], ["branin"], path=tmp_path / "rows.jsonl", rounds=1000)
    assert played == [(OURS, 1000)]
    regret.play([0], ["branin"], ["random"], path=tmp_path / "rows.jsonl", rounds=1000)
    assert played[1:] == [("random", 1000)]
    regret.play([0], ["branin"], path=tmp_path / "rows.jsonl")
    assert {OURS, "random"} <= {name for name, rounds in played[2:] if rounds == 100}


def test_no_minutes_play_no_game(tmp_path):
    regret.play(range(3), ["branin"], ["random"], minutes=0, path=tmp_path / "rows.jsonl")
    assert read(tmp_path / "rows.jsonl") == []


def test_seeds_come_first_so_that_what_is_finished_is_paired():
    order = [
        (seed, pool, who.name)
        for seed, pool, who in regret.schedule([0, 1], ["branin", "branin-box"], CONTESTANTS)
    ]
    assert [seed for seed, _, _ in order] == sorted(seed for seed, _, _ in order)
    assert (0, "branin-box", "optuna-gp") in order
    assert (0, "branin", "optuna-gp") not in order


def test_rows_are_read_as_they_were_written_and_a_torn_line_is_passed_over(tmp_path):
    path = tmp_path / "rows.jsonl"
    first, second = row("auto", "branin", 0, 3.25), row("random", "branin", 0, 7.5)
    append(path, first)
    with path.open("a") as file:
        file.write(second.line[:40])
    assert read(path) == [first]
    append(path, second)
    assert read(path) == [first, second]
    assert all(len(line) < 250 for line in path.read_text().splitlines())


def test_of_each_contestant_the_version_written_last_counts():
    old, new = row("auto", "branin", 0, 9.0, "old"), row("auto", "branin", 0, 3.0, "new")
    other = row("random", "branin", 0, 5.0, "old")
    assert latest([old, other, new]) == [other, new]
    assert latest([new, other, old]) == [other, old]
    long = row("auto", "branin", 0, 9.0, "old", later=(20.0, 30.0))
    assert latest([old, new, long]) == [new, long]


def test_our_version_is_a_label_or_follows_the_source():
    ours = CONTESTANTS[OURS]
    assert regret.version_of(ours, "by hand") == "by hand"
    assert regret.version_of(ours) == f"{kb.__version__}+{source_hash()}"
    assert regret.version_of(CONTESTANTS["random"], "by hand") == np.__version__


@pytest.mark.parametrize(
    ("text", "seeds"), [("3", [0, 1, 2]), ("10-12", [10, 11, 12]), ("4-4", [4])]
)
def test_seeds_are_a_number_or_a_span(text, seeds):
    assert list(regret.seeds_of(text)) == seeds


# The summary


def random_games(rng):
    return [
        row(name, pool, seed, float(rng.lognormal(2, 0.4)), seconds=(0.001, scale))
        for pool in ("branin", "levy4", "branin-box")
        for name, scale in (
            ("auto", 0.004),
            ("skopt", 0.4),
            ("optuna-tpe", 0.002),
            ("random", 1e-6),
        )
        for seed in range(6)
        if name != "optuna-tpe" or pool.endswith("box")
    ]


def test_a_pair_is_compared_on_the_seeds_both_have_played():
    rows = [row("auto", "branin", seed, 2.0 + seed) for seed in range(5)]
    rows += [row("skopt", "branin", seed, 10.0) for seed in (1, 3, 8)] + [
        row("skopt", "levy4", 0, 1.0)
    ]
    found = pair(games_of(rows), "auto", "skopt")
    assert found.seeds == {"branin": 2}
    assert found.ratio.value == pytest.approx((3 + 5) / 2 / 10)
    assert pair(games_of(rows[:5]) | {"random": {}}, "auto", "random") is None


def test_the_ratio_is_of_geometric_means_over_pools_of_means_over_seeds():
    rows = random_games(np.random.default_rng(0))
    found = pair(games_of(rows), "auto", "skopt")
    means = {
        name: [
            np.mean([r.regret[-1] for r in rows if (r.contestant, r.pool) == (name, pool)])
            for pool in found.seeds
        ]
        for name in ("auto", "skopt")
    }
    ours, theirs = (np.prod(means[name]) ** (1 / 3) for name in ("auto", "skopt"))
    assert found.ours == pytest.approx(ours)
    assert found.theirs == pytest.approx(theirs)
    assert found.ratio.value == pytest.approx(ours / theirs)
    quotients = dict(zip(found.seeds, np.divide(*means.values()), strict=True))
    assert {pool: one.value for pool, one in found.by_pool.items()} == pytest.approx(quotients)
    assert found.worst[0] == max(quotients, key=quotients.get)


def test_an_interval_is_that_of_pairs_resampled_together():
    ours = np.array([1.0, 2.0, 4.0, 8.0])
    rows = [row("auto", "branin", seed, y) for seed, y in enumerate(ours)]
    rows += [row("skopt", "branin", seed, 2 * y) for seed, y in enumerate(ours)]
    found = pair(games_of(rows), "auto", "skopt")
    assert (found.ratio.low, found.ratio.value, found.ratio.high) == pytest.approx((0.5, 0.5, 0.5))


def test_an_interval_covers_what_the_delta_method_covers():
    rng = np.random.default_rng(1)
    both = rng.lognormal(1, 0.3, (2, 400))
    rows = [
        row(name, "branin", seed, y)
        for name, ys in zip(("auto", "skopt"), both, strict=True)
        for seed, y in enumerate(ys)
    ]
    found = pair(games_of(rows), "auto", "skopt").ratio
    log_error = math.sqrt(sum((y.std() / y.mean()) ** 2 / 400 for y in both))
    assert math.log(found.high / found.value) == pytest.approx(1.96 * log_error, rel=0.15)
    assert math.log(found.value / found.low) == pytest.approx(1.96 * log_error, rel=0.15)


def test_common_has_ours_above_theirs_in_the_order_of_seeds():
    rows = [row("auto", "branin", seed, float(seed)) for seed in (4, 2)]
    rows += [row("skopt", "branin", seed, 10.0 * seed) for seed in (2, 4)]
    assert common(games_of(rows), "auto", "skopt", "branin").tolist() == [[2, 4], [20, 40]]


def test_a_standard_error_is_that_of_the_mean():
    assert mean_and_error([1.0, 3.0]) == (2.0, pytest.approx(1.0))
    assert math.isnan(mean_and_error([1.0])[1])
    assert regret_summary.regret_cell({0: row("auto", "branin", 0, 1.5)}) == "1.50 (1)"


def test_the_goals_name_the_hardest_rival_the_worst_pool_and_the_quickest_rival():
    games = games_of(random_games(np.random.default_rng(2)))
    overall, worst, quick, share = regret_summary.goals(games)
    assert "problems of the choice" in overall.what
    against = [pair(games, "auto", rival) for rival in ("skopt", "optuna-tpe")]
    assert overall.value == max(one.ratio.value for one in against)
    assert worst.value == max(one.worst[1].value for one in against)
    assert quick.value == pytest.approx(4.0)
    assert share.value == pytest.approx(2.0)
    assert share.note.startswith("missed by 100 %; Optuna TPESampler")
    assert (quick.verdict, share.verdict) == ("yes", "NO")


def test_a_goal_that_is_reached_is_not_said_to_be_missed():
    assert regret_summary.goal_row("what", 0.7, "x", Goal("<=", 0.8), "why").note == "why"
    assert (
        regret_summary.goal_row("what", 0.88, "x", Goal("<=", 0.8), "why").note
        == "missed by 10 %; why"
    )


def test_without_games_of_ours_nothing_is_claimed():
    rows = [one for one in random_games(np.random.default_rng(3)) if one.contestant != "auto"]
    (only,) = regret_summary.goals(games_of(rows))
    assert (only.value, only.note) == (None, "no game of both yet")


def long_games(power, spread=0.0, seeds=5, pools=("branin", "levy4"), scale=2.0):
    """Regrets that grow like a power of the number of rounds, times a factor of each seed."""
    rng = np.random.default_rng(7)
    rows = []
    for pool in pools:
        for seed in range(seeds):
            size = scale * math.exp(spread * rng.normal())
            early, *later = (size * rounds**power for rounds in HORIZONS)
            rows.append(row(OURS, pool, seed, early, later=tuple(later)))
    return rows


@pytest.mark.parametrize("power", [0.0, 0.5, 1.0])
def test_the_growth_exponent_is_the_power_of_the_number_of_rounds(power):
    games = games_of(long_games(power, spread=0.4), LONG)
    growth = growth_of(games[OURS])
    assert growth.exponent == pytest.approx(power)
    assert (growth.low, growth.high) == pytest.approx((power, power))
    assert growth.seeds == {"branin": 5, "levy4": 5}


def test_the_growth_exponent_of_a_group_is_the_mean_over_its_problems_of_slopes_of_means():
    rows = [row(OURS, "branin", 0, 1.0, later=(3.0, 10.0))]
    rows += [row(OURS, "branin", 1, 1.0, later=(5.0, 6.0))]
    rows += [row(OURS, "levy4", 0, 1.0, later=(2.0, 2.0))]
    growth = growth_of(games_of(rows, LONG)[OURS])
    assert growth.exponent == pytest.approx((math.log(16 / 8) / math.log(10 / 3) + 0) / 2)
    assert regrets_at(games_of(rows, LONG)[OURS]["branin"]).tolist() == [[1, 1], [3, 5], [10, 6]]


def test_the_interval_of_an_exponent_is_that_of_the_delta_method():
    rng = np.random.default_rng(3)
    middle, added = rng.lognormal(2, 0.3, 400), rng.lognormal(2, 0.5, 400)
    rows = [
        row(OURS, "branin", seed, 0.1, later=(m, m + a))
        for seed, (m, a) in enumerate(zip(middle, added, strict=True))
    ]
    growth = growth_of(games_of(rows, LONG)[OURS])
    late = middle + added
    error = np.std(late / late.mean() - middle / middle.mean()) / math.sqrt(400)
    error /= math.log(1000 / 300)
    assert growth.high - growth.exponent == pytest.approx(1.96 * error, rel=0.15)
    assert growth.exponent - growth.low == pytest.approx(1.96 * error, rel=0.15)


@pytest.mark.parametrize(("power", "verdict"), [(0.85, "yes"), (0.95, "NO")])
def test_a_regret_that_grows_nearly_with_every_round_fails_the_goal(power, verdict):
    (goal,) = regret_summary.growth_goals(games_of(long_games(power), LONG))
    assert "growth exponent, rounds 300 to 1000, functions, problems of the choice" in goal.what
    assert (goal.value, goal.verdict) == (pytest.approx(power), verdict)
    assert goal.note.endswith("2 pools, 5 seeds")
    assert regret_summary.growth_goals(games_of([])) == []


def test_the_table_the_numbers_and_the_figure_are_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(tables, "RESULTS", tmp_path)
    path = tmp_path / "rows.jsonl"
    for one in [*random_games(np.random.default_rng(4)), *long_games(0.5, pools=["levy4"])]:
        append(path, one)
    parser = argparse.ArgumentParser()
    regret.arguments(parser)
    regret.run(parser.parse_args(["--minutes", "0", "--rows", str(path)]))
    content = json.loads((tmp_path / "regret.json").read_text())
    assert content["contestants"]["skopt"]["pools"]["branin"]["seeds"] == 6
    assert "left out" in content["contestants"]["botorch-ucb"]
    text = (tmp_path / "regret.md").read_text()
    assert "| Optuna TPESampler | 1 pool, 6 seeds |" in text
    cells = "20.00 ± 0.00 | 34.64 ± 0.00 | 63.25 ± 0.00 | 0.50 | 0.50 to 0.50 | 5 |"
    assert f"| kb.Auto (1) | levy4 | {cells}" in text
    assert content["growth"]["auto"]["pools"]["levy4"]["exponent"] == pytest.approx(0.5)
    assert "kb.Auto is better" in (tmp_path / "regret.svg").read_text()
    assert "regret.svg is drawn" in capsys.readouterr().out


def test_the_figure_shows_one_over_the_ratio_with_its_interval():
    found = pair(games_of(random_games(np.random.default_rng(5))), "auto", "skopt").ratio
    below, above = regret_figure.reach(found)
    assert 1 / found.value - below == pytest.approx(1 / found.high)
    assert 1 / found.value + above == pytest.approx(1 / found.low)
