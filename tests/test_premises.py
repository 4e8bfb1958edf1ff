"""A comparison says which of its premises do not hold."""

from __future__ import annotations

import warnings

import pytest

import kernelbandits as kb
from kernelbandits.experiment import run_experiment
from kernelbandits.experiment.premises import premises
from kernelbandits.problems import Drifting, GaussianNoise, Jumps, ParetoNoise, RKHSFunction

HONEST = RKHSFunction(kb.RBF(0.2), 2, candidates=12, norm_bound=2.0, noise=GaussianNoise(0.3))


def said(problem, policies=("simple-ucb", "igp-ucb"), **settings):
    given = {"noise_scale": 0.3, "norm_bound": 2.0} | settings
    return premises(run_experiment(problem, list(policies), horizon=5, seeds=2, **given))


def test_where_all_premises_hold_nothing_is_said():
    assert said(HONEST) == []


def test_a_noise_beyond_what_the_policies_are_told_is_said():
    (sentence,) = said(HONEST, noise_scale=0.2)
    assert sentence == "the noise of rkhs2 needs R >= 0.3, policies are told 0.2, so their guarantees do not hold"


def test_a_noise_without_sub_gaussian_tails_is_said():
    problem = RKHSFunction(kb.RBF(0.2), 2, candidates=12, norm_bound=2.0, noise=ParetoNoise(0.05, 2.5))
    (sentence,) = said(problem)
    assert sentence == "the noise of rkhs2 is not sub-Gaussian, so no guarantee that needs an R holds on it"


@pytest.mark.parametrize(("told", "words"), [(2.9, []), (3.0, ["10 times"]), (30.0, ["100 times"])])
def test_a_noise_scale_told_ten_times_too_large_is_said(told, words):
    found = said(HONEST, noise_scale=told)
    assert len(found) == len(words)
    assert all(word in sentence for word, sentence in zip(words, found, strict=True))


def test_a_norm_bound_that_no_function_through_the_rewards_has_is_said():
    (sentence,) = said(HONEST, norm_bound=0.5)
    assert sentence.startswith("no function of norm <= 0.5 has the rewards of rkhs2 (the least has ")
    assert said(HONEST, norm_bound=1.99) in ([], [sentence.replace("0.5", "1.99")])


def test_a_world_that_changes_is_said():
    (sentence,) = said(Drifting(HONEST, Jumps(3)))
    assert sentence.startswith("rkhs2-jumps-3 changes from round to round")


def test_two_meanings_of_the_information_gain_are_said_and_one_is_not():
    (sentence,) = said(HONEST, gain="greedy")
    assert "greedy for IGP-UCB" in sentence
    assert "realised for Simple-UCB" in sentence
    assert said(HONEST, ["igp-ucb", "gp-ts"], gain="greedy") == []
    assert said(HONEST, ["igp-ucb", "random"], gain="greedy") == []


def test_an_experiment_warns_of_its_premises_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said(HONEST, noise_scale=0.2)
    assert sum("needs R >= 0.3" in str(w.message) for w in caught) == 1
