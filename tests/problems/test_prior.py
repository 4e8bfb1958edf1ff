"""Functions drawn from the prior, still and in motion."""

from __future__ import annotations

import math

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.catalogue import CODEC, read_problem
from kernelbandits.problems import Drifting, GaussianNoise, GPFunction, Markov, SampledFunction


def test_the_values_have_the_covariance_of_the_kernel():
    """Whitened by the kernel on their own arms the values are standard normal: chi-square over 400 draws of 8."""
    problem = GPFunction(0.5 * kb.RBF(0.3), candidates=8)
    squares = 0.0
    for seed in range(400):
        instance = problem.instance(kb.Streams(seed))
        matrix = problem.kernel(instance.domain.points, instance.domain.points)
        squares += float(
            instance.values @ np.linalg.solve(matrix + 1e-12 * np.eye(8), instance.values)
        )
    assert abs(squares - 3200) < 4 * math.sqrt(2 * 3200)


@pytest.mark.thorough
def test_in_motion_it_moves_in_the_units_of_its_prior():
    """Over 300 worlds the mean square of f_40 is k(x, x) = 1; a function about its own mean would have less."""
    world = Drifting(GPFunction(candidates=15), Markov(0.2))
    squares = np.array(
        [float((world.instance(kb.Streams(seed)).at(40) ** 2).mean()) for seed in range(300)]
    )
    assert abs(squares.mean() - 1) < 4 * squares.std() / math.sqrt(300)
    means = np.array([float(world.instance(kb.Streams(seed)).at(40).mean()) for seed in range(300)])
    assert abs(means.mean()) < 4 * means.std() / math.sqrt(300)


def test_other_problems_move_about_their_own_mean():
    still = SampledFunction(kb.problem("branin").function, candidates=15)
    means = [
        Drifting(still, Markov(0.2)).instance(kb.Streams(seed)).at(200).mean() for seed in range(50)
    ]
    assert np.mean(means) > 0.5


def test_it_is_known_by_name_and_as_a_plain_dictionary():
    problem = read_problem("gp:kernel=rbf(0.3),dimension=4,candidates=7")
    assert problem == GPFunction(kb.RBF(0.3), 4, 7)
    assert CODEC.decode(CODEC.encode(problem)) == problem
    assert (problem.name, problem.dimension) == ("gp4", 4)
    assert problem.noise == GaussianNoise(0.1)


@pytest.mark.parametrize(
    "bad",
    [{"dimension": 0}, {"candidates": 0}, {"candidates": 2001}, {"noise": 0.1}, {"kernel": 1}],
)
def test_what_is_no_draw_from_a_prior_is_refused(bad):
    with pytest.raises(ValueError, match="needs"):
        GPFunction(**bad)
