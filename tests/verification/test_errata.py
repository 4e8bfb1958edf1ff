"""The errata: what is printed fails, what replaces it holds, and docs/errata.md quotes both."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from kernelbandits.theory.rates import Rate
from kernelbandits.verification import Effort
from kernelbandits.verification.errata import ERRATA, constants, lemmas, proof

PAGE = (Path(__file__).parents[2] / "docs" / "errata.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def statements():
    return {name: tuple(check(Effort())) for name, check in ERRATA.items()}


@pytest.mark.thorough
@pytest.mark.parametrize("name", ERRATA)
def test_every_erratum_is_shown_in_numbers(statements, name):
    assert statements[name]
    assert all(checked.as_expected for checked in statements[name])
    assert name in ("E4", "E9") or any(not checked.should_hold for checked in statements[name])


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["E1", "E3", "E4", "E5", "E6", "E7", "E8"])
def test_what_replaces_an_erratum_holds(statements, name):
    assert any(checked.should_hold and checked.holds for checked in statements[name])


@pytest.mark.thorough
@pytest.mark.parametrize("name", ERRATA)
def test_the_page_quotes_every_statement(statements, name):
    for checked in statements[name]:
        for text in (checked.statement, checked.predicted, checked.observed):
            assert text.replace("|", "\\|") in PAGE, text


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("name", ["E1", "E2", "E9"])
def test_no_erratum_depends_on_the_seed(name, seed):
    assert all(checked.as_expected for checked in ERRATA[name](Effort(seed, scale=0.3)))


def test_the_golden_values_of_the_ghost_sample():
    assert proof.excess_of_index(0.05) == pytest.approx(0.170, abs=5e-4)
    assert 2 * 0.05 * proof.width(5) == pytest.approx(0.114, abs=5e-4)
    assert proof.excess_of_index(1.0) == pytest.approx(0.149, abs=5e-4)


def test_a_true_statement_would_not_be_called_an_erratum(monkeypatch):
    """With a large width the printed inequality of E1 holds, and the check says so."""
    monkeypatch.setattr(proof, "width", lambda pulls, inverse=2.0: 10.0)
    first = next(iter(proof.check_ghost_sample(Effort(scale=0.05))))
    assert first.holds
    assert not first.as_expected


def test_the_matern_sentence_would_be_right_if_the_gain_had_no_logarithm(monkeypatch):
    rate = Rate(Fraction(1, 6), Fraction(0))
    monkeypatch.setattr(lemmas, "gain_rate", lambda kernel, dimension: rate)
    printed, corrected = lemmas.check_matern_condition(Effort())
    assert (printed.holds, printed.as_expected) == (True, False)
    assert corrected.holds


@pytest.mark.thorough
def test_the_printed_bound_of_e10_fails_for_another_seed(monkeypatch):
    monkeypatch.setattr(constants, "RUNS", 1)
    (checked,) = constants.check_conditional_optimism(Effort(seed=7))
    assert not checked.holds


@pytest.mark.thorough
def test_a_rule_that_explores_whatever_the_first_reward_keeps_the_bound_of_e10(monkeypatch):
    law = constants.Bernoulli(0.5)
    monkeypatch.setattr(constants, "explore_by_first_reward", lambda t, posterior: law)
    monkeypatch.setattr(constants, "RUNS", 1)
    (checked,) = constants.check_conditional_optimism(Effort())
    assert checked.holds
