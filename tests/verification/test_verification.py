"""The topics of the theory: all verdicts are as expected, and a broken program changes them."""

from __future__ import annotations

import dataclasses
import math

import pytest
from scipy import stats

import kernelbandits as kb
from broken_engines import patched, squared_sd, widened
from conftest import with_long
from kernelbandits.posterior import ArmPosterior, Posterior
from kernelbandits.verification import (
    TOPICS,
    CheckedStatement,
    Effort,
    check_topics,
    constants,
    martingale,
    optimism,
    potential,
)
from kernelbandits.verification.run import check_topic, select_topics, slowest_first
from kernelbandits.verification.statements import (
    FALSE_ALARM,
    compare_numbers,
    format_share,
    most_failures,
    standard_error,
)

QUICK = Effort(seed=0, scale=0.05)
LONG = ("optimism", "lower-bound")
"""Topics that take long."""
CHECKED_HERE = ("constants", "potential", "optimism", "martingale")
"""The other topics have test files of their own."""
pytestmark = pytest.mark.usefixtures("quiet")


def unexpected(topic: str) -> list[str]:
    return [checked.statement for checked in TOPICS[topic](QUICK) if not checked.as_expected]


# The topics


@pytest.mark.parametrize("topic", with_long(CHECKED_HERE, LONG))
def test_every_verdict_of_a_topic_is_as_expected(topic):
    statements = check_topic(Effort(seed=1, scale=0.05), topic)
    assert [checked.statement for checked in statements if not checked.as_expected] == []
    assert {checked.topic for checked in statements} == {topic}
    assert len({checked.statement for checked in statements}) == len(statements)
    assert all(checked.detail for checked in statements)
    assert all(len(c.statement) <= 160 and len(c.observed) <= 110 for c in statements)


@pytest.mark.parametrize(
    "topic", with_long(("constants", "potential", "martingale", "lower-bound"), LONG)
)
def test_equal_seeds_give_equal_results(topic):
    assert check_topic(QUICK, topic) == check_topic(QUICK, topic)


@pytest.mark.parametrize("seed", [2, 3, 4])
def test_the_constants_are_right_for_other_seeds(seed):
    assert all(checked.holds for checked in constants.check_constants(Effort(seed)))


def test_the_factor_two_fails_at_a_small_ridge_as_expected():
    (checked,) = (c for c in potential.check_potential(QUICK) if not c.should_hold)
    assert not checked.holds
    assert checked.as_expected
    assert "ridge 0.1" in checked.statement


def test_the_self_normalised_bound_fails_about_as_often_as_in_the_specification():
    half, tenth = (
        float(checked.observed.split()[0])
        for checked in martingale.check_martingale(Effort())
        if "Gaussian noise" in checked.statement
    )
    assert half == pytest.approx(0.275, abs=4 * standard_error(0.275, 400) * math.sqrt(2))
    assert tenth == pytest.approx(0.05, abs=4 * standard_error(0.05, 400))


# Broken programs


def halved_log_det(update):
    def broken(self, arm, reward):
        before = self.log_det
        update(self, arm, reward)
        self.log_det = before + (self.log_det - before) / 2

    return broken


BREAKAGES = {
    "sd squared": ("potential", patched(Posterior, "sd", lambda sound: squared_sd)),
    "log-determinant halved": ("potential", patched(Posterior, "update", halved_log_det)),
    "covariance not updated": (
        "potential",
        patched(ArmPosterior, "_downdate", lambda sound: lambda *given: None),
    ),
    "P(w >= 1) without its atom": (
        "optimism",
        patched(kb.Bernoulli, "optimism", lambda sound: property(lambda self: 0.0)),
    ),
    "a radius half as large": (
        "martingale",
        patched(martingale, "radius", lambda sound: lambda *given: sound(*given) / 2),
    ),
    "a radius twice as large": (
        "martingale",
        patched(martingale, "radius", lambda sound: lambda *given: 2 * sound(*given)),
    ),
    "a decay that ends too early": (
        "constants",
        patched(
            kb.Decay,
            "early_rounds",
            lambda sound: lambda self, horizon: max(sound(self, horizon) - 1, 0),
        ),
    ),
}


@pytest.mark.parametrize("breakage", BREAKAGES)
def test_a_topic_notices(breakage, monkeypatch):
    topic, break_program = BREAKAGES[breakage]
    break_program(monkeypatch)
    assert any(not checked.as_expected for checked in TOPICS[topic](QUICK))


@pytest.mark.thorough
@pytest.mark.parametrize(
    "break_program",
    [widened(0, 1, 1), patched(Posterior, "sd", lambda sound: squared_sd)],
    ids=["D forgotten", "sd squared"],
)
def test_the_lemma_of_optimism_fails_for_a_wrong_index(break_program, monkeypatch):
    break_program(monkeypatch)
    half, given_bound, with_one = optimism.check_lemma("w = 1", QUICK)
    assert not half.holds
    assert not given_bound.holds
    assert not with_one.holds


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.2, 2.0])
def test_a_wrong_information_gain_is_noticed(monkeypatch, factor):
    sound = constants.information_gain

    def broken(*given):
        gain = sound(*given)
        return dataclasses.replace(gain, lower=factor * gain.lower, upper=factor * gain.upper)

    monkeypatch.setattr(constants, "information_gain", broken)
    assert len(unexpected("constants")) == 2


@pytest.mark.parametrize("name", ["printed", "repaired", "tight", "trivial"])
def test_a_wrong_regret_bound_is_noticed(monkeypatch, name):
    sound = constants.regret_bound

    def broken(*given, **settings):
        bound = sound(*given, **settings)
        return dataclasses.replace(bound, **{name: 1.001 * getattr(bound, name)})

    monkeypatch.setattr(constants, "regret_bound", broken)
    (wrong,) = unexpected("constants")
    assert f"`{name}`" in wrong


def test_a_wrong_constant_is_noticed(monkeypatch):
    sound = constants.constants
    monkeypatch.setattr(
        constants, "constants", lambda *given: dataclasses.replace(sound(*given), c3=12.0)
    )
    assert len(unexpected("constants")) == 10


# Running topics


def test_an_error_of_the_program_is_a_failed_statement_and_not_a_traceback(monkeypatch):
    def broken(self, arm, reward):
        raise ZeroDivisionError("no evidence")

    monkeypatch.setattr(Posterior, "update", broken)
    (checked,) = check_topic(QUICK, "potential")
    assert checked.observed == "ZeroDivisionError: no evidence"
    assert not checked.as_expected
    assert "test_verification.py, line" in checked.detail


def test_topics_are_checked_in_the_order_given():
    found = [checked.topic for checked in check_topics(["martingale", "potential"], QUICK)]
    assert list(dict.fromkeys(found)) == ["martingale", "potential"]


def test_one_topic_may_be_given_as_a_text():
    assert list(check_topics("E7", QUICK)) == list(check_topics(["E7"], QUICK))
    assert select_topics("errata") == select_topics(["errata"])


def test_all_topics_are_the_default_and_each_is_checked_once():
    assert select_topics() == list(TOPICS)
    assert select_topics(["E1", "errata"])[0] == "E1"
    assert len(select_topics(["E1", "errata"])) == len(select_topics(["errata"])) == 11


def test_the_slowest_topics_begin_and_none_is_lost():
    few = ["E1", "regret", "coverage", "potential"]
    assert slowest_first(few) == ["coverage", "regret", "E1", "potential"]
    assert sorted(slowest_first(TOPICS)) == sorted(TOPICS)


@pytest.mark.parametrize("name", ["nobody", "", "Potential", "engine", None, 3])
def test_an_unknown_topic_is_refused_in_one_sentence(name):
    with pytest.raises(ValueError, match=r"check-theory needs topics in \(.*'potential'.*\), got"):
        list(check_topics([name], QUICK))


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"seed": -1}, "Effort needs a whole number seed >= 0, got -1"),
        ({"seed": 0.5}, "Effort needs a whole number seed >= 0, got 0.5"),
        ({"scale": 0}, "Effort needs scale > 0, got 0"),
        ({"scale": float("nan")}, "Effort needs scale > 0, got nan"),
        ({"scale": "much"}, "Effort needs scale > 0, got 'much'"),
    ],
)
def test_an_effort_needs_a_seed_and_a_scale(given, sentence):
    with pytest.raises(ValueError, match=sentence):
        Effort(**given)


def test_the_effort_scales_the_runs_but_not_below_the_least():
    assert Effort(scale=0.5).runs(400) == 200
    assert Effort(scale=0.001).runs(400, least=60) == 60
    assert not set(Effort(0).seeds(300)) & set(Effort(1).seeds(300))


# Statements


def test_a_statement_is_as_expected_if_its_verdict_is_the_expected_one():
    holds, fails = (CheckedStatement("s", "p", "o", holds=value) for value in (True, False))
    assert (holds.verdict, holds.expected_verdict, holds.as_expected) == ("holds", "holds", True)
    assert (fails.verdict, fails.expected_verdict, fails.as_expected) == ("fails", "holds", False)
    assert CheckedStatement("s", "p", "o", holds=False, should_hold=False).as_expected
    assert not CheckedStatement("s", "p", "o", holds=True, should_hold=False).as_expected


def test_a_difference_that_is_not_a_number_is_not_rounding():
    assert not compare_numbers("s", [0.0, math.nan], 1e-8).holds
    assert compare_numbers("s", [0.0, 1e-9], 1e-8).holds
    assert not compare_numbers("s", 2e-8, 1e-8).holds


@pytest.mark.parametrize("runs", [1, 15, 40, 300])
@pytest.mark.parametrize("delta", [0.05, 0.1, 0.5])
def test_the_limit_of_failures_is_the_least_that_is_exceeded_rarely_enough(delta, runs):
    most = most_failures(delta, runs)
    assert stats.binom.sf(most, runs, delta) <= FALSE_ALARM < stats.binom.sf(most - 1, runs, delta)


def test_the_limit_of_failures_is_none_at_delta_zero_and_all_at_delta_one():
    assert most_failures(0.0, 40) == 0
    assert most_failures(1.0, 40) == 40
    assert most_failures(0.1, 100_000) == pytest.approx(10_000 + 3 * math.sqrt(9_000), abs=3)
    assert format_share(3, 15) == "0.200 (3 of 15)"


def test_the_examples_of_the_docstrings_run():
    import doctest

    from kernelbandits import verification
    from kernelbandits.verification import run, statements

    for module in (verification, run, statements):
        assert doctest.testmod(module).failed == 0
        assert doctest.testmod(module).attempted > 0
