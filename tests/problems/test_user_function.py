"""Problems from a plain Python function: candidates, values, and what is refused."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.catalogue import fingerprint, identify
from kernelbandits.experiment import process_mapper
from kernelbandits.problems import Drifting, FunctionProblem, GaussianNoise

BOX = kb.Box((20.0, 1.0), (80.0, 14.0))
POINTS = np.array([[0.0, 1.0], [0.5, 0.2], [1.0, 0.0]])
RNG = np.random.default_rng(0)
MIXED = kb.MixedBox(
    {"heat": kb.Real(0.0, 10.0), "acid": kb.Category(("HCl", "HBr")), "n": kb.Integer(1, 3)}
)


def peak(x):
    return 5.0 - ((x[0] - 40.0) / 20.0) ** 2 - ((x[1] - 7.0) / 5.0) ** 2


def test_arms_are_all_candidates_and_the_function_gets_their_rows():
    seen = []

    def total(x):
        seen.append(tuple(x))
        return x.sum()

    problem = kb.problem(total, POINTS, scale=False)
    instance = problem.instance(kb.Streams(3))
    np.testing.assert_array_equal(instance.domain.points, POINTS)
    np.testing.assert_array_equal(instance.values, POINTS.sum(1))
    assert set(seen) == set(map(tuple, POINTS))
    assert (problem.name, problem.title, problem.dimension) == ("total", "total (d = 2)", 2)
    assert kb.problem(total, kb.Arms(POINTS)).instance(kb.Streams(0)).best == 0


def test_a_box_is_sampled_for_each_seed_and_kernels_see_the_unit_cube():
    problem = kb.problem(peak, BOX, candidates=30, scale=False)
    first, second = (problem.instance(kb.Streams(seed)) for seed in (0, 1))
    assert first.domain.points.shape == (30, 2)
    assert not np.array_equal(first.domain.points, second.domain.points)
    assert first.domain.points.min() >= 0
    assert first.domain.points.max() <= 1
    natural = np.array([20.0, 1.0]) + first.domain.points * np.array([60.0, 13.0])
    np.testing.assert_allclose(first.values, [peak(x) for x in natural])
    assert first.optimum == first.values.max()


def test_the_candidates_of_a_box_are_those_of_a_test_function_of_the_same_seed():
    ours = kb.problem(peak, BOX, candidates=20).instance(kb.Streams(4)).domain.points
    theirs = kb.problem("branin", candidates=20).instance(kb.Streams(4)).domain.points
    np.testing.assert_allclose(ours, theirs, atol=1e-12)


def test_the_function_of_a_mixed_box_gets_a_dict():
    def yield_of(x):
        assert set(x) == {"heat", "acid", "n"}
        return x["heat"] * (x["acid"] == "HBr") + x["n"]

    problem = kb.problem(yield_of, MIXED, candidates=40, scale=False)
    points = problem.instance(kb.Streams(0)).domain.points
    assert points.shape == (40, 4)
    assert set(points[:, 3]) == {0.0, 0.5, 1.0}
    assert set(points[:, 1].round(9)) == {0.0, round(np.sqrt(0.5), 9)}
    assert len(np.unique(points, axis=0)) == 40


def test_a_finite_mixed_box_is_played_whole_or_without_repeats():
    small = kb.MixedBox({"a": kb.Ordered(("low", "high")), "b": kb.Integer(1, 40)})
    every = kb.problem(lambda x: x["b"], small, candidates=80)
    some = kb.problem(lambda x: x["b"], small, candidates=79)
    assert len(every.instance(kb.Streams(0)).domain) == 80
    points = some.instance(kb.Streams(0)).domain.points
    assert len(np.unique(points, axis=0)) == len(points) == 79


def test_the_rewards_are_scaled_in_the_direction_asked_for():
    greatest = kb.problem(lambda x: x[0], POINTS).instance(kb.Streams(0))
    least = kb.problem(lambda x: x[0], POINTS, direction="min").instance(kb.Streams(0))
    np.testing.assert_array_equal(greatest.values, [0, 0.5, 1])
    np.testing.assert_array_equal(least.values, [1, 0.5, 0])


def test_the_function_is_evaluated_once_for_a_seed_whatever_plays():
    calls = []

    def counted(x):
        calls.append(1)
        return float(x[0])

    problem = kb.problem(counted, BOX, candidates=10)
    kb.run_experiment(problem, ["random", "simple-ucb", "greedy"], horizon=5, seeds=2)
    assert len(calls) == 2 * (10 + 1), "ten candidates and one repetition for each of two seeds"


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (lambda x: None, "needs to return a finite number, got None at [0.0, 1.0]"),
        (lambda x: float("nan"), "needs to return a finite number, got nan at [0.0, 1.0]"),
        (lambda x: np.inf, "needs to return a finite number, got inf at [0.0, 1.0]"),
        (lambda x: "3", "needs to return a finite number, got '3' at [0.0, 1.0]"),
        (lambda x: x, "needs to return a finite number, got array([0., 1.]) at [0.0, 1.0]"),
        (lambda x: 1 / x[0] if x[0] else 1 // 0, "failed at [0.0, 1.0]: ZeroDivisionError:"),
        (lambda x: x["heat"], "failed at [0.0, 1.0]: IndexError"),
        (lambda x: RNG.random(), "the same number for the same point, got "),
    ],
)  # fmt: skip
def test_a_value_that_cannot_be_used_gets_one_sentence_with_the_point(function, sentence):
    with pytest.raises(ValueError) as caught:
        kb.problem(function, POINTS, name="mine").instance(kb.Streams(0))
    text = str(caught.value)
    assert text.startswith("mine ")
    assert sentence in text
    assert "\n" not in text


def test_the_point_of_a_mixed_box_is_named_as_the_function_got_it():
    with pytest.raises(ValueError, match=r"function failed at \{'heat': .*, 'acid': 'H.*KeyError"):
        kb.problem(lambda x: x["heath"], MIXED).instance(kb.Streams(0))


@pytest.mark.parametrize(
    ("arguments", "settings", "sentence"),
    [
        ((peak,), {}, "kb.problem(f, domain) needs a domain: kb.Box(lower, upper)"),
        ((3, BOX), {}, "kb.problem(f, domain) needs a function of one point, got 3"),
        ((peak, BOX), {"candidates": 0}, "a whole number candidates >= 1, got 0"),
        ((peak, BOX), {"noise": 0.1}, "kb.problem(f, domain) needs a noise law, got 0.1"),
        ((peak, BOX), {"direction": "up"}, "needs direction maximize or minimize, got 'up'"),
        ((peak, BOX), {"candidate": 3}, "has no setting 'candidate'. Did you mean 'candidates'?"),
        (("branin", BOX), {}, "kb.problem('branin', ...) needs no domain"),
        ((peak, "box"), {}, "Arms needs an (n, d) array"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_refused_in_one_sentence(arguments, settings, sentence):
    with pytest.raises(ValueError) as caught:
        kb.problem(*arguments, **settings)
    assert sentence in str(caught.value)


@pytest.mark.thorough
def test_it_plays_wherever_a_named_problem_plays(tmp_path):
    from kernelbandits import report

    problem = kb.problem(peak, BOX, candidates=12, noise="gaussian:0.05")
    assert isinstance(problem, FunctionProblem)
    assert problem.noise == GaussianNoise(0.05)
    results = kb.run_experiment([problem, "branin"], ["simple-ucb", "random"], horizon=8, seeds=2)
    assert results["peak", "Simple-UCB"].regret.shape == (2, 8)
    report.write_run(results, tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert "peak (d = 2)" in page
    assert "12 candidates a seed, uniform in Box" in page
    instance = problem.instance(kb.Streams(0))
    policy = kb.SimpleUCB(instance.domain, kb.RBF(0.2), noise_scale=0.1, norm_bound=1.0)
    assert kb.play(policy, instance, 5, kb.Streams(0)).arms.shape == (5,)
    moving = Drifting(problem)
    assert kb.run_experiment(moving, "random", horizon=5, seeds=1).problems[0] is moving


@pytest.mark.thorough
def test_several_processes_give_bitwise_the_result_of_one():
    problem = kb.problem(peak, BOX, candidates=12)
    alone = kb.run_experiment(problem, ["simple-ucb", "random"], horizon=8, seeds=2)
    with process_mapper(2) as mapper:
        spread = kb.run_experiment(
            problem, ["simple-ucb", "random"], horizon=8, seeds=2, mapper=mapper
        )
    for cell in alone.cells:
        np.testing.assert_array_equal(alone[cell.name].arms, spread[cell.name].arms)


@pytest.mark.thorough
def test_on_arms_it_is_known_by_its_values_and_on_a_box_by_this_process_only():
    def other(x):
        return float(x[0] == 0.5)

    def print_of(function, domain):
        return fingerprint(identify(kb.problem(function, domain, name="mine")))

    assert print_of(lambda x: x[0], POINTS) == print_of(lambda x: 1.0 * x[0], POINTS)
    assert print_of(lambda x: x[0], POINTS) != print_of(other, POINTS)
    assert print_of(peak, BOX) != print_of(peak, kb.Box((0.0, 0.0), (1.0, 1.0)))
    assert "known_to" in identify(kb.problem(peak, BOX))
    script = (
        "import sys, kernelbandits as kb; from kernelbandits.catalogue import *;"
        "print(fingerprint(identify(kb.problem(lambda x: x[0], [[0., 1.], [.5, .2], [1., 0.]],"
        " name='mine'))))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.strip() == print_of(lambda x: x[0], POINTS), done.stderr


def test_arms_in_units_that_the_kernel_does_not_fit_are_noticed():
    with pytest.warns(kb.DataNotice, match="no two arms of far are alike"):
        kb.run_experiment(
            kb.problem(lambda x: x[0], 100 * POINTS, name="far"), "random", horizon=3, seeds=1
        )
