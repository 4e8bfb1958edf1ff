"""The ranking: ranks with intervals, shares over all problems, and how a report shows them."""

from __future__ import annotations

import math
import re
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import kernelbandits as kb
from kernelbandits import canvas, report
from kernelbandits.analysis import ranking
from kernelbandits.analysis.ranking import (
    IntervalEstimate,
    Standing,
    mid_ranks,
    overall,
    ranking_of,
    standings,
)
from kernelbandits.catalogue import FAMILIES, POLICIES, read_problem
from kernelbandits.experiment import run_experiment
from kernelbandits.experiment.notices import merge_notices, split_notice
from kernelbandits.report import families, figures, pages, run
from kernelbandits.report.figures import ranks

MANY = [f"simple-bernoulli:p={p}" for p in (0.05, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.8, 0.9)]


def noisy(means, seeds: int, rng, shared: float = 5.0) -> dict[str, np.ndarray]:
    """Policies a, b, ... of given means over seeds that move all of them together."""
    seed_effect = shared * rng.normal(size=seeds)
    return {
        chr(97 + i): mean + seed_effect + rng.normal(size=seeds) for i, mean in enumerate(means)
    }


def by_policy(rows):
    return {row.policy: row for row in rows}


def slow_places(samples: dict[str, np.ndarray]) -> dict[str, tuple[int, int]]:
    """Rank intervals by scipy's paired t test, and Holm's procedure written out."""
    tests = sorted(
        (stats.ttest_rel(samples[a], samples[b]).pvalue, a, b) for a, b in combinations(samples, 2)
    )
    better, worse = dict.fromkeys(samples, 0), dict.fromkeys(samples, 0)
    for place, (p, a, b) in enumerate(tests):
        if p > 0.05 / (len(tests) - place):
            break
        first, second = (a, b) if samples[a].mean() < samples[b].mean() else (b, a)
        better[second] += 1
        worse[first] += 1
    return {label: (1 + better[label], len(samples) - worse[label]) for label in samples}


@pytest.mark.parametrize("seed", range(5))
def test_rank_intervals_are_those_of_paired_tests_and_holm_written_out(seed):
    samples = noisy([0, 0.3, 1, 1, 2.5, 4, 4.2], 12, np.random.default_rng(seed))
    found = {row.policy: (row.first, row.last) for row in standings(samples)}
    assert found == slow_places(samples)
    assert len(set(found.values())) > 1


@pytest.mark.parametrize("seed", range(3))
def test_means_and_differences_have_the_intervals_of_scipy(seed):
    samples = noisy([33, 31, 32], 8, np.random.default_rng(seed))
    rows = by_policy(standings(samples))
    best = min(samples, key=lambda label: samples[label].mean())
    for label, values in samples.items():
        for estimate, data in (
            (rows[label].mean, values),
            (rows[label].behind, values - samples[best]),
        ):
            half = stats.t.ppf(0.975, 7) * stats.sem(data) if np.ptp(data) else 0.0
            assert estimate == pytest.approx((data.mean(), data.mean() - half, data.mean() + half))


def test_a_constant_difference_is_sure_however_much_the_seeds_vary():
    base = np.array([1.0, 50.0, 3.0, 20.0])
    rows = standings({"worse": base + 1, "better": base})
    assert [(row.policy, row.rank, row.first, row.last) for row in rows] == [
        ("better", 1, 1, 1),
        ("worse", 2, 2, 2),
    ]
    assert rows[0].behind == (0, 0, 0)
    assert rows[1].behind == (1, 1, 1)


def test_equal_policies_share_their_places_and_none_is_surely_ahead():
    base = np.array([1.0, 5.0, 3.0])
    rows = by_policy(standings({"a": base, "b": base.copy(), "c": base + 9}))
    assert [rows[label].rank for label in "abc"] == [1.5, 1.5, 3]
    assert [(rows[label].first, rows[label].last) for label in "abc"] == [(1, 2), (1, 2), (3, 3)]


def test_rounding_decides_no_rank():
    base = np.array([100.0, 250.0, 300.0])
    rows = by_policy(standings({"a": base, "b": base * (1 + 1e-14), "c": base * (1 + 1e-6)}))
    assert [rows[label].rank for label in "abc"] == [1.5, 1.5, 3]
    sure = np.array([7.0, 3.0, 5.0])
    tiny = by_policy(standings({"a": sure, "b": sure + 1e-12, "c": sure + 1e-3}))
    assert [(tiny[label].first, tiny[label].last) for label in "abc"] == [(1, 2), (1, 2), (3, 3)]


def test_one_seed_leaves_every_place_open():
    rows = standings({"a": np.array([1.0]), "b": np.array([9.0]), "c": np.array([5.0])})
    assert [row.policy for row in rows] == ["a", "c", "b"]
    assert all((row.first, row.last) == (1, 3) for row in rows)
    assert all((row.mean.low, row.mean.high) == (0, math.inf) for row in rows)


def test_one_policy_is_first_of_one():
    (row,) = standings({"alone": np.array([1.0, 2.0])})
    assert (row.rank, row.first, row.last, row.behind) == (1, 1, 1, (0, 0, 0))


def test_the_order_in_which_policies_are_listed_does_not_matter():
    samples = noisy([0, 0.5, 2, 1], 9, np.random.default_rng(3))
    turned = dict(reversed(samples.items()))
    assert by_policy(standings(samples)) == by_policy(standings(turned))


def simulated(means, experiments: int, judge, seeds: int = 10) -> tuple[float, float]:
    """How often a statement on the standings holds, and the standard error of that."""
    rng = np.random.default_rng(11)
    held = np.array(
        [judge(by_policy(standings(noisy(means, seeds, rng)))) for _ in range(experiments)]
    )
    return float(held.mean()), float(np.sqrt(0.05 * 0.95 / experiments))


def all_ranks_covered(rows) -> bool:
    return all(
        row.first <= place <= row.last
        for place, (_, row) in enumerate(sorted(rows.items()), start=1)
    )


def nobody_ahead(rows) -> bool:
    return all((row.first, row.last) == (1, len(rows)) for row in rows.values())


@pytest.mark.thorough
def test_all_true_ranks_lie_in_their_intervals_at_once_in_95_percent():
    rate, error = simulated([0, 0.6, 1.2, 1.8, 2.4, 3.0], 300, all_ranks_covered)
    assert rate >= 0.95 - 4 * error


@pytest.mark.thorough
def test_without_holm_equal_policies_would_be_set_apart_too_often(monkeypatch):
    rate, error = simulated([0] * 8, 300, nobody_ahead)
    assert rate >= 0.95 - 4 * error
    monkeypatch.setattr(ranking, "holm_levels", lambda p_values: [0.05] * len(p_values))
    plain, _ = simulated([0] * 8, 300, nobody_ahead)
    assert plain < 0.95 - 4 * error


def test_the_mean_lies_in_its_interval_in_95_percent_and_not_in_half_of_it():
    rng = np.random.default_rng(5)
    rows = [standings({"a": rng.normal(7.0, 2.0, size=9)})[0].mean for _ in range(1000)]
    error = math.sqrt(0.05 * 0.95 / 1000)
    inside = np.mean([row.low <= 7 <= row.high for row in rows])
    halved = np.mean([abs(row.value - 7) <= (row.high - row.value) / 2 for row in rows])
    assert abs(inside - 0.95) < 4 * error
    assert halved < 0.95 - 4 * error


def test_middle_ranks_count_the_smaller_and_half_of_the_equal():
    np.testing.assert_array_equal(mid_ranks(np.array([3.0, 1.0, 3.0, 0.0, 3.0])), [4, 2, 4, 1, 4])
    rng = np.random.default_rng(0)
    table = rng.integers(0, 4, size=(20, 7)).astype(float)
    np.testing.assert_array_equal(mid_ranks(table), [stats.rankdata(row) for row in table])


TWO = {
    "p": {"a": np.array([1.0, 3.0]), "b": np.array([4.0, 4.0])},
    "q": {"a": np.array([50.0, 70.0]), "b": np.array([20.0, 40.0])},
}
LOST = {"p": np.array([10.0, 10.0]), "q": np.array([100.0, 200.0])}


def test_shares_and_mean_ranks_over_two_problems_by_hand():
    rows = overall(TWO, LOST)
    shift = 1e-3
    a = math.sqrt((0.2 + shift) * (0.4 + shift)) - shift
    b = math.sqrt((0.4 + shift) * (0.2 + shift)) - shift
    assert {row.policy: row.share.value for row in rows} == pytest.approx({"a": a, "b": b})
    assert [row.rank.value for row in rows] == [1.5, 1.5]


@pytest.mark.thorough
def test_bootstrap_intervals_are_those_of_seeds_drawn_one_by_one():
    rng = np.random.default_rng(8)
    samples = {"p": noisy([9, 11, 12], 6, rng, 1.0), "q": noisy([30, 25, 28], 6, rng, 1.0)}
    lost = {"p": 20 + rng.random(6), "q": 50 + rng.random(6)}
    rows = by_policy(overall(samples, lost))
    shares, places = [], []
    for weights in ranking.seed_weights(6)[1:]:
        drawn = np.repeat(np.arange(6), np.round(6 * weights).astype(int))
        assert len(drawn) == 6
        means = {
            name: np.array([values[drawn].mean() for values in mine.values()])
            for name, mine in samples.items()
        }
        logs = [np.log(means[name] / lost[name][drawn].mean() + 1e-3) for name in samples]
        shares.append(np.exp(sum(logs) / 2) - 1e-3)
        places.append(sum(stats.rankdata(mean) for mean in means.values()) / 2)
    for column, label in enumerate("abc"):
        for found, slow in ((rows[label].share, shares), (rows[label].rank, places)):
            ends = np.quantile([row[column] for row in slow], (0.025, 0.975))
            assert (found.low, found.high) == pytest.approx(tuple(ends))


def test_a_regret_of_zero_stays_finite_and_first():
    samples = {
        "p": {"zero": np.zeros(3), "some": np.ones(3)},
        "q": {"zero": np.full(3, 2.0), "some": np.full(3, 2.5)},
    }
    rows = overall(samples, {"p": np.full(3, 10.0), "q": np.full(3, 10.0)})
    assert rows[0].policy == "zero"
    assert 0 < rows[0].share.value < rows[1].share.value < 1
    nothing = overall({"p": {"a": np.zeros(2), "b": np.zeros(2)}}, {"p": np.zeros(2)})
    assert [(row.share.value, row.rank.value) for row in nothing] == [(pytest.approx(0), 1.5)] * 2


def test_over_all_problems_one_seed_gives_no_interval():
    (row,) = overall({"p": {"a": np.array([3.0])}}, {"p": np.array([10.0])})
    assert row.share == pytest.approx((0.3, 0, math.inf))
    assert (row.rank.low, row.rank.high) == (0, math.inf)


def test_a_share_does_not_depend_on_who_else_plays():
    samples = {"p": noisy([9, 11, 12], 6, np.random.default_rng(2), 1.0)}
    lost = {"p": np.full(6, 20.0)}
    alone = overall({"p": {"b": samples["p"]["b"]}}, lost)[0].share
    assert by_policy(overall(samples, lost))["b"].share == pytest.approx(alone)


@pytest.mark.thorough
def test_shares_lie_in_their_intervals_about_as_often_as_they_say_and_not_in_half_of_them():
    rng = np.random.default_rng(4)
    found = [
        overall({"p": {"a": rng.normal(30, 6, size=25)}}, {"p": np.full(25, 100.0)})[0].share
        for _ in range(300)
    ]
    error = math.sqrt(0.05 * 0.95 / 300)
    inside = np.mean([row.low <= 0.3 <= row.high for row in found])
    halved = np.mean([abs(row.value - 0.3) <= (row.high - row.low) / 4 for row in found])
    assert inside >= 0.93 - 4 * error
    assert halved < 0.93 - 4 * error


@pytest.fixture(scope="module")
def played():
    return run_experiment(
        ["branin", "ackley4"],
        [*MANY, "simple-ucb", "random", "greedy"],
        horizon=25,
        seeds=4,
        noise_scale=0.5,
    )


@pytest.fixture(scope="module")
def written(played, tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    report.write_run(played, folder, left_out={"gp-ts": "GPTS needs fewer arms, got many"})
    return folder


@pytest.mark.thorough
def test_uniform_draws_lose_what_they_are_expected_to(played):
    found = ranking_of(played)
    cell = played.cells[0]
    gaps = np.array([cell.problem.instance(kb.Streams(seed)).gaps.mean() for seed in cell.seeds])
    losses = ranking.uniform_losses(cell)
    np.testing.assert_allclose(losses["regret"], 25 * gaps)
    np.testing.assert_allclose(losses["simple"], gaps)
    assert 0.7 < by_policy(found.overall["regret"])["Uniform random"].share.value < 1.3
    simple = {p.name: played[p.name, "Greedy"].simple[:, -1].mean() for p in played.problems}
    lost = {c.problem.name: ranking.uniform_losses(c)["simple"].mean() for c in played.cells}
    direct = math.sqrt(math.prod(simple[name] / lost[name] + 1e-3 for name in simple)) - 1e-3
    assert by_policy(found.overall["simple"])["Greedy"].share.value == pytest.approx(direct)


def test_in_a_changing_world_uniform_draws_lose_what_each_round_asks():
    moving = read_problem("drifting:problem=branin,motion=markov(0.2)")
    results = run_experiment(moving, "random", horizon=40, seeds=2)
    losses = ranking.uniform_losses(results.cells[0])
    for place, seed in enumerate(results.cells[0].seeds):
        instance = moving.instance(kb.Streams(seed))
        every = [instance.regrets([arm] * 40) for arm in range(len(instance.domain))]
        assert losses["regret"][place] == pytest.approx(np.mean(every, axis=0).sum())
        assert losses["simple"][place] == pytest.approx(np.mean(every, axis=0)[-1])


def test_the_ranking_file_has_every_problem_and_policy_with_all_intervals(played, written):
    table = pd.read_csv(written / "ranking.csv")
    assert set(zip(table["problem"], table["policy"], strict=True)) == {
        cell.name for cell in played.cells
    }
    for problem, rows in table.groupby("problem", sort=False):
        assert rows["regret_mean"].is_monotonic_increasing, problem
        assert (rows["regret_rank_first"] <= rows["regret_rank"]).all()
        assert (rows["regret_rank"] <= rows["regret_rank_last"]).all()
        assert rows["regret_behind"].iloc[0] == 0
    one = table.iloc[3]
    final = played[one["problem"], one["policy"]].simple[:, -1]
    assert one["simple_regret_mean"] == pytest.approx(final.mean())


def test_the_overall_file_has_every_policy_by_its_share(played, written):
    table = pd.read_csv(written / "ranking-overall.csv")
    assert list(table["policy"]) == list(ranking_of(played).best)
    assert table["regret_share"].is_monotonic_increasing
    assert (
        (table["regret_share_low"] <= table["regret_share"]) | np.isclose(table["regret_share"], 0)
    ).all()


def test_the_ranking_is_the_same_when_it_is_made_again(played):
    assert ranking_of(played) == ranking_of(played)


def test_the_page_opens_with_the_ranking_and_tells_papers_notes_and_settings(played, written):
    page = (written / "report.html").read_text()
    heads = re.findall(r"<h2>(.*?)</h2>", page)
    assert heads == [
        "Ranking",
        "Regret",
        "Simple regret",
        "Summary",
        "Policies",
        "Notes",
        "Settings",
    ]
    assert page.count("<svg") == 3
    for text in (
        "Holm, 5 %",
        "candidates, noise, weights and ties",
        "bootstrap",
        "uniformly",
        "Hu, He &amp; Sutherland",
    ):
        assert text in page
    assert "Left out: GPTS needs fewer arms, got many" in page
    assert not re.search(r"<script|<link|<img|src=|url\(http", page)


@pytest.mark.parametrize("name", ["ranking", "regret", "simple-regret"])
def test_every_figure_is_written_twice(written, name):
    assert (written / f"{name}.png").stat().st_size > 5000
    assert (written / f"{name}.svg").read_text().startswith("<?xml")


def test_of_many_policies_the_best_eight_and_uniform_random_are_in_colour(played, written):
    order = ranking_of(played).best
    wanted = {*order[:8], "Uniform random"}
    assert set(run.labels_in_colour(played, ranking_of(played))) == wanted
    others = len(played.labels) - len(wanted)
    for name in ("regret.svg", "simple-regret.svg"):
        text = (written / name).read_text()
        assert f"the other {others}" in text
        assert {label for label in played.labels if f">{label}<" in text} == wanted
    page = (written / "report.html").read_text()
    assert f"In grey: the other {others}" in page


@pytest.mark.thorough
def test_ten_policies_are_all_in_colour(tmp_path):
    few = run_experiment("branin", [*MANY, "simple-ucb"], horizon=5, seeds=2)
    report.write_run(few, tmp_path)
    text = (tmp_path / "regret.svg").read_text()
    assert "the other" not in text
    assert all(f">{label}<" in text for label in few.labels)
    assert "In grey" not in (tmp_path / "report.html").read_text()


def test_the_ranking_figure_names_every_policy_its_family_and_the_level_of_uniform_random(
    played, written
):
    text = (written / "ranking.svg").read_text()
    assert all(text.count(f">{label}<") == 2 for label in played.labels)
    assert all(f">{title}<" in text for title in set(families.families(played).values()))
    assert "level of Uniform random" in text


@pytest.mark.thorough
def test_without_uniform_random_there_is_no_level(tmp_path):
    few = run_experiment("branin", ["simple-ucb", "greedy"], horizon=5, seeds=2)
    report.write_run(few, tmp_path)
    assert "level of" not in (tmp_path / "ranking.svg").read_text()


def test_a_run_without_matplotlib_still_has_its_ranking(played, monkeypatch, tmp_path):
    monkeypatch.setattr("kernelbandits.canvas.is_installed", lambda name: False)
    report.write_run(played, tmp_path)
    assert not list(tmp_path.glob("*.png"))
    assert (tmp_path / "ranking.csv").exists()
    assert "<h2>Ranking</h2>" in (tmp_path / "report.html").read_text()


def scale_of(*means: float) -> str:
    panel = [
        Standing(str(mean), 1, 1, 1, IntervalEstimate(mean, mean, mean), IntervalEstimate(0, 0, 0))
        for mean in means
    ]
    with canvas.draw_panels(1, 1, (4.0, 3.0)) as (_, grid):
        low, high = ranks.set_scale(grid[0, 0], panel)
        assert low <= min(mean for mean in means if mean > 0 or low == 0)
        assert high > max(means)
        return grid[0, 0].get_xscale()


def test_means_far_apart_are_drawn_on_a_logarithmic_axis():
    assert scale_of(10, 190) == "linear"
    assert scale_of(10, 210) == "log"
    assert scale_of(0, 10, 210) == "log"
    assert scale_of(0, 0) == "linear"


def test_intervals_below_zero_and_of_one_seed_are_drawn_within_the_panel(tmp_path):
    wild = [
        IntervalEstimate(1.0, -50.0, 52.0),
        IntervalEstimate(900.0, -math.inf, math.inf),
        IntervalEstimate(0.0, 0.0, 0.0),
    ]
    rows = [Standing(f"x{i}", 1, 1, 3, mean, mean) for i, mean in enumerate(wild)]
    look = families.FamilyStyle("#000000", "o")
    figures.ranking_figure(
        {"p": rows}, {row.policy: ("f", look) for row in rows}, tmp_path / "wild"
    )
    assert (tmp_path / "wild.png").stat().st_size > 1000


def test_ten_curves_and_every_family_can_be_told_apart():
    labels = [str(i) for i in range(10)]
    looks = {
        (*canvas.style_of(labels, label).values(), canvas.marker_of(labels, label))
        for label in labels
    }
    assert len(looks) == 10
    assert len(set(canvas.PALETTE)) == len(canvas.PALETTE)
    assert len({families.look_of(title) for title in FAMILIES}) == len(FAMILIES)
    assert all(
        name in {entry.name for entry in FAMILIES[families.family_of(name)]} for name in POLICIES
    )


def test_notes_that_say_the_same_are_one_and_numbers_become_a_range():
    notices = [
        ("A: needs k <= 1, got 2.5"),
        ("B: needs k <= 1, got 1.25"),
        ("A: needs k <= 1, got 2.5"),
        ("C: other"),
    ]
    found = merge_notices(split_notice(text) for text in notices)
    assert found == {"needs k <= 1, got 1.25 to 2.5": ["A", "B"], "other": ["C"]}
    assert merge_notices([split_notice("no colon here")]) == {"no colon here": [""]}
    assert merge_notices([("a", "got -5"), ("a", "got -2e3")]) == {"got -2e3 to -5": ["a"]}
    assert merge_notices([("a", "got 10"), ("b", "got 9"), ("c", "got 9.0")]) == {
        "got 9 to 10": ["a", "b", "c"]
    }


def test_settings_common_to_all_are_said_once_and_long_lists_are_short():
    used = [
        {"ridge": 1.0, "ties": "random", "delta": 0.1},
        {"ridge": 2.0, "ties": "random", "delta": None},
    ]
    assert pages.shared_settings(used) == {"ties": "random"}
    assert (
        pages.other_settings(
            {"ridge": 1.0, "width": "w", "policy": "x", "eta": 4.79912, "none": None}
        )
        == "eta = 4.799"
    )
    assert (
        pages.other_settings({"lengths": list(range(100))}) == "lengths = [0, 1, 2, … 100 values]"
    )
