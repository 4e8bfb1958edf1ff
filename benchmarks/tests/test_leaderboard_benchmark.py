"""The leaderboard: cells are those of an experiment, its page says what the rows say."""

from __future__ import annotations

import math
import re
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

import kernelbandits as kb
from benchmarks import __main__
from benchmarks.leaderboard import figure, play, scores, summary
from benchmarks.leaderboard.problems import NOISE_SCALE, PROBLEMS
from benchmarks.leaderboard.rows import OVER, PLAYED, REFUSED, BoardRow, latest, read
from kernelbandits.analysis.certificates import certify_runs
from kernelbandits.canvas import available
from kernelbandits.problems import least_norm

OWN = '''
import time
import kernelbandits as kb


class Eager(kb.SimpleUCB):
    """Simple-UCB told half of D."""

    def __init__(self, domain, kernel, *, noise_scale, norm_bound):
        super().__init__(domain, kernel, noise_scale=noise_scale, norm_bound=norm_bound / 2)


class Slow(Eager):
    def ask(self, t, rng=None, **more):
        end = time.process_time() + 0.01
        while time.process_time() < end:
            pass
        return super().ask(t, rng, **more)


class Refuses(Eager):
    def ask(self, t, rng=None, **more):
        raise ValueError("Refuses needs another | problem, got this one")
'''


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A module of a user's policies, and its file."""
    path = tmp_path / "own_bandits.py"
    path.write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield path
    sys.modules.pop("own_bandits", None)


def game(policy, horizon=20, seeds=(0, 1), problem="independent", **more):
    return play.BoardGame(problem, policy, horizon, play.version_of(policy), seeds, **more)


def row(problem, policy, regret, certified, status=PLAYED, **more):
    """A row of two seeds with regrets around a mean."""
    given = {"regret": (regret - 1, regret + 1), "early": (regret / 2,) * 2, "uniform": 100.0}
    given |= {"certified": (certified,) * 2, "seconds": 1e-3, "megabytes": 2.0}
    fields = {**(given if status == PLAYED else {}), **more}
    fields = {"version": "1", "seeds": (0, 1), "code": "code", "processor": "chip"} | fields
    return BoardRow(problem, policy, 100, status=status, **fields)


# The problems


@pytest.mark.parametrize("name", PROBLEMS)
def test_what_policies_are_told_is_true(name):
    if play.said_unavailable(name):
        return
    board = PROBLEMS[name]
    for seed in play.SEEDS:
        instance = board.build().instance(kb.Streams(seed))
        points = instance.domain.points
        # `least_norm` is a lower bound: exact for these kernels up to the rounding that it allows.
        assert least_norm(board.kernel, points, instance.values) <= board.norm_bound * (1 + 1e-9)
        assert board.kernel.diagonal(points).max() <= 1 + 1e-9
        assert instance.noise.scale == NOISE_SCALE


def test_there_are_twelve_problems_and_every_policy_of_the_catalogue():
    assert len(PROBLEMS) == 12
    assert {text.partition(":")[0] for text in play.CATALOGUE} == set(kb.catalogue.POLICIES)


# A cell


@pytest.mark.parametrize("policy", ["simple-gaussian", "gp-ts", "bpe", "random"])
def test_a_cell_is_that_of_an_experiment_with_its_certificates(policy):
    found = play.play_game(game(policy, horizon=30, problem="matern-2d"))
    board = PROBLEMS["matern-2d"]
    results = kb.run_experiment(
        board.build(),
        policy,
        kernel=board.kernel,
        horizon=30,
        seeds=[0, 1],
        noise_scale=NOISE_SCALE,
        norm_bound=1.0,
        engine="numpy",
    )
    [cell] = results.cells
    regret = results.found[cell.key].regret
    assert found.regret == pytest.approx(regret[:, -1], abs=1e-6)
    assert found.early == pytest.approx(regret[:, 2], abs=1e-6)
    instances = [board.build().instance(kb.Streams(seed)) for seed in (0, 1)]
    last = np.array([30])
    expected = certify_runs(
        cell, results.found[cell.key], instances, last, (NOISE_SCALE, board.norm_bound)
    )
    assert found.certified == pytest.approx(expected.values[:, 0], abs=1e-6)
    assert found.uniform == pytest.approx(30 * np.mean([one.gaps.mean() for one in instances]))
    assert 0 < found.seconds < 0.1
    assert 0 < found.megabytes < 100


def test_growth_is_the_slope_of_the_logarithms():
    one = row("independent", "random", 50.0, 60.0, early=(5.0, 5.0))
    assert one.exponent == pytest.approx(1.0)
    assert replace(one, early=(50 / math.sqrt(10),) * 2).exponent == pytest.approx(0.5)
    assert replace(one, early=(0.0, 0.0)).exponent is None


def test_a_slow_cell_stops_at_its_first_rounds_and_says_so(own):
    began = time.process_time()
    found = play.play_game(game("own_bandits:Slow", horizon=10_000, limit=5.0))
    assert time.process_time() - began < 1.5
    assert found.status == OVER
    assert re.match(r"the first \d+ of 20000 rounds promise [\d.]+ CPU minutes", found.reason)
    assert not found.regret


def test_a_cell_stops_at_the_limit_whatever_its_first_rounds_promise():
    clock = play.Clock(rounds=1000, limit=10.0)
    for _ in range(64):
        clock.add(1e-4)
    with pytest.raises(play.OverTime, match=r"the first 65 of 1000 rounds took 0\.167 CPU"):
        clock.add(10.0)


def test_the_first_rounds_do_not_count_while_they_take_little_time():
    clock = play.Clock(rounds=1000, limit=100.0)
    for seconds in (0.9, *(1e-6,) * 999):  # Taken as they are, these would promise 900 seconds.
        clock.add(seconds)
    assert clock.played == 1000


# The file of rows


def test_a_run_goes_on_where_it_stopped(tmp_path):
    path = tmp_path / "rows.jsonl"
    policies, problems = ["greedy", "random"], ["independent"]
    play.play(policies, problems, [20], minutes=0, path=path)
    assert not path.exists()
    play.play(policies[:1], problems, [20], path=path)
    first = path.read_text()
    with path.open("a") as file:
        file.write('{"problem":"indep')  # A process that was killed while it wrote.
    play.play(policies, problems, [20], path=path)
    assert path.read_text().startswith(first)
    assert [one.policy for one in read(path)] == policies
    whole = path.read_text()
    play.play(policies, problems, [20], path=path)
    assert path.read_text() == whole


def test_two_workers_find_what_one_finds(tmp_path):
    one, two = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    for path, workers in ((one, 1), (two, 2)):
        play.play(["greedy", "random"], ["independent"], [20], path=path, workers=workers)
    alone, together = (
        {found.key: (found.regret, found.certified) for found in read(path)} for path in (one, two)
    )
    assert alone == together


# A policy of one's own


def test_one_line_adds_a_policy(own, tmp_path, monkeypatch):
    path = tmp_path / "rows.jsonl"
    play.play(["simple-ucb", "random"], ["independent"], [100], path=path)
    words = ["leaderboard", "--policy", "own_bandits:Eager", "--problems", "independent"]
    words += ["--horizons", "100", "--rows", str(path)]
    monkeypatch.setattr(sys, "argv", ["benchmarks", *words])
    monkeypatch.setattr(summary, "PLACE", tmp_path)
    __main__.main()
    page = (tmp_path / "leaderboard.md").read_text()
    assert page.count("| Eager | 1 of 1 |") == 1
    assert len(read(path)) == 3
    if available():
        assert ">Eager</text>" in (tmp_path / "leaderboard.svg").read_text()


def test_a_policy_whose_file_has_changed_is_played_again(own):
    before = play.version_of("own_bandits:Eager")
    own.write_text(OWN + "\n# changed\n")
    assert play.version_of("own_bandits:Eager") != before
    old, new = row("independent", "a:B", 1, 2, version="0"), row("independent", "a:B", 3, 4)
    assert latest([old, new]) == [new]


def test_a_policy_that_nobody_knows_is_refused():
    with pytest.raises(ValueError, match="Did you mean 'simple-ucb'"):
        play.read_entrant("simple-ucd")
    with pytest.raises(ValueError, match="mymodule:MyPolicy needs to be a policy"):
        play.read_entrant("mymodule:MyPolicy")
    with pytest.raises(ValueError, match="has no setting 'q'"):
        play.check_policies(["simple-bernoulli:q=0.25"])
    play.check_policies(play.CATALOGUE)


def test_a_refusal_is_a_row_with_its_reason(own):
    found = play.play_game(game("own_bandits:Refuses"))
    assert (found.status, found.regret) == (REFUSED, ())
    page = summary.document([found], scores.make_boards([found]))
    line = (
        "| Refuses | independent | 20 | refused | Refuses needs another \\| problem, got this one |"
    )
    assert line in page


# The standings


def test_the_standings_are_shares_and_ranks():
    rows = [
        row("rbf-1d", "greedy", 20.0, 80.0),
        row("rbf-1d", "random", 100.0, 120.0),
        row("rbf-1d", "pims", 10.0, 90.0),
        row("rbf-2d", "greedy", 40.0, 50.0),
        row("rbf-2d", "random", 100.0, 140.0),
        row("rbf-2d", "pims", 55.0, 60.0),
    ]
    [board] = scores.make_boards(rows)
    greedy, second, last = board.standings
    assert (greedy.policy, second.policy) == ("greedy", "pims")
    assert (greedy.regret, greedy.certified) == pytest.approx((0.30, 0.65))
    # The seeds lie 1/100 below and above: sd 0.0141 of two values, over sqrt(2).
    assert greedy.error == pytest.approx(0.01)
    assert (greedy.regret_rank, greedy.certified_rank) == (1.5, 1.0)
    assert (last.policy, last.regret_rank, last.certified_rank) == ("random", 3.0, 3.0)
    assert greedy.exponent == pytest.approx(math.log10(2))
    assert (greedy.milliseconds, greedy.megabytes) == pytest.approx((1.0, 2.0))


def test_a_problem_counts_when_all_policies_have_a_row_on_it():
    rows = [
        row("rbf-1d", "greedy", 20.0, 80.0),
        row("rbf-1d", "random", 0, 0, OVER, reason="the first 64 rounds promise 20 CPU minutes"),
        row("rbf-2d", "greedy", 40.0, 50.0),
    ]
    boards = scores.make_boards(rows)
    assert boards[0].problems == ("rbf-1d",)
    assert [one.policy for one in boards[0].complete] == ["greedy"]
    page = summary.document(rows, boards)
    assert "| Uniform random | over 10 CPU minutes |  | not run yet |  |" in page
    assert "| Uniform random | rbf-1d | 100 | over 10 CPU minutes | the first 64 rounds" in page
    assert "T = 1000: 732 of 732 cells not run yet" in page


def test_the_figure_shows_the_longest_horizon_without_a_gap():
    short = [row(problem, "greedy", 1.0, 2.0) for problem in ("rbf-1d", "rbf-2d")]
    middle = [replace(one, horizon=1000) for one in short]
    long = [replace(short[0], horizon=10_000)]
    boards = scores.make_boards([*long, *short, *middle])
    assert [board.horizon for board in boards] == [100, 1000, 10_000]
    assert scores.longest_complete(boards) is boards[1]
    assert scores.longest_complete([]) is None
    # One's own policy that was played on a single problem leaves no gap.
    assert scores.longest_complete(
        scores.make_boards([*short, *middle, row("rbf-1d", "a:B", 1, 2)])
    )


def test_no_label_of_the_figure_covers_another():
    spots = [(100.0, 100.0), (104.0, 100.0), (101.0, 103.0), (99.0, 97.0)]
    page = figure.Rectangle(0, 0, 300, 300)
    names = ["Simple-UCB", "IGP-UCB", "BKB", "GP-BUCB"]
    placed = figure.place_labels(names, spots, page)
    assert all(page.holds(place) for place in placed)
    for number, place in enumerate(placed):
        assert not any(place.meets(other) for other in placed[:number])


def test_the_stored_page_is_that_of_the_stored_rows():
    rows = latest(read(play.ROWS))
    page = (play.ROWS.parent / "leaderboard.md").read_text()
    assert page == summary.document(rows, scores.make_boards(rows))
