"""A comparison says which of its premises do not hold."""

from __future__ import annotations

import warnings

import pytest

import kernelbandits as kb
from kernelbandits.experiment import run_experiment
from kernelbandits.experiment.premises import premises
from kernelbandits.problems import (
    Drifting,
    GaussianNoise,
    Jumps,
    LowerBound,
    ParetoNoise,
    RKHSFunction,
)

HONEST = RKHSFunction(kb.RBF(0.2), 2, candidates=12, norm_bound=2.0, noise=GaussianNoise(0.3))


def said(problem, policies=("simple-ucb", "igp-ucb"), **settings):
    given = {"noise_scale": 0.3, "norm_bound": 2.0} | settings
    return premises(run_experiment(problem, list(policies), horizon=5, seeds=2, **given))


def test_where_all_premises_hold_nothing_is_said():
    assert said(HONEST) == []


def test_a_noise_beyond_what_the_policies_are_told_is_said():
    (sentence,) = said(HONEST, noise_scale=0.2)
    assert (
        sentence
        == "the noise of rkhs2 needs R >= 0.3, policies are told 0.2, so their guarantees do not hold;"
        " give noise_scale 0.3"
    )


def test_a_noise_without_sub_gaussian_tails_is_said():
    problem = RKHSFunction(
        kb.RBF(0.2), 2, candidates=12, norm_bound=2.0, noise=ParetoNoise(0.05, 2.5)
    )
    (sentence,) = said(problem)
    assert (
        sentence
        == "the noise of rkhs2 is not sub-Gaussian, so no guarantee that needs an R holds on it"
    )


@pytest.mark.parametrize(("told", "words"), [(2.9, []), (3.0, ["10 times"]), (30.0, ["100 times"])])
def test_a_noise_scale_told_ten_times_too_large_is_said(told, words):
    found = said(HONEST, noise_scale=told)
    assert len(found) == len(words)
    assert all(word in sentence for word, sentence in zip(words, found, strict=True))
    assert all(sentence.endswith("; give noise_scale 0.3") for sentence in found)


def test_a_norm_bound_that_no_function_through_the_rewards_has_is_said():
    (sentence,) = said(HONEST, norm_bound=0.5)
    assert sentence.startswith(
        "no function of norm <= 0.5 has the rewards of rkhs2 (the least has "
    )
    assert sentence.endswith("; give a larger norm_bound (D)")
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


LOSING = LowerBound(2, 180)


def said_of_losing(policies=("simple-ucb", "simple-gaussian"), **settings):
    given = {
        "kernel": kb.Linear(),
        "horizon": 180,
        "noise_scale": 1.0,
        "norm_bound": 1.0,
    } | settings
    return premises(run_experiment(LOSING, list(policies), seeds=1, **given))


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"noise_scale": 2.0},
        {"norm_bound": 3.0},
        {"delta": 0.1},
        {"noise_scale": 0.9, "norm_bound": 1.1},
    ],
)
def test_where_the_lower_bound_holds_nothing_is_said(settings):
    assert said_of_losing(**settings) == []


@pytest.mark.parametrize(
    ("settings", "needed"),
    [
        ({"horizon": 179}, "T = 180 rounds, played are 179"),
        ({"kernel": kb.RBF(0.2)}, "the linear kernel, played is RBF(lengthscale=0.2)"),
        ({"noise_scale": 0.5}, "R = 1 and D = 1, policies are told 0.5 and 1"),
        ({"norm_bound": 0.9}, "R = 1 and D = 1, policies are told 1 and 0.9"),
        ({"ridge": 0.5}, "ridge 1, played is 0.5"),
        ({"horizon": 20, "ridge": 2.0}, "T = 180 rounds, played are 20; ridge 1, played is 2"),
    ],
)
def test_where_the_lower_bound_does_not_hold_it_is_said_why(settings, needed):
    (sentence,) = said_of_losing(**settings)
    assert sentence == f"the lower bound of lower-bound-2 does not hold here: it needs {needed}"


def test_a_longer_run_has_the_lower_bound_of_its_first_rounds():
    (sentence,) = said_of_losing(horizon=200)
    assert sentence == "the lower bound of lower-bound-2 is one of the first 180 of 200 rounds"


def test_of_rules_the_lower_bound_does_not_speak_of_nothing_is_said():
    assert said_of_losing(["igp-ucb", "random"], noise_scale=0.5) == []


def test_an_experiment_warns_of_its_premises_once():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        said(HONEST, noise_scale=0.2)
    assert sum("needs R >= 0.3" in str(w.message) for w in caught) == 1


def test_the_first_experiment_of_a_new_user_warns_once_of_each_number_and_says_what_to_give():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        run_experiment("hartmann6", ["simple-ucb", "simple-bernoulli:p=0.25"], horizon=5, seeds=3)
    texts = [str(one.message) for one in caught if issubclass(one.category, kb.TheoryWarning)]
    assert len(texts) == 2
    assert texts[0].endswith("; give noise_scale 0.01")
    assert texts[1].endswith("; give a larger norm_bound (D)")
    assert all(len(text) < 120 for text in texts)
