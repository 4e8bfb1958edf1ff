"""`kernelbandits design` as a person uses it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

from kernelbandits.apps.cli import app, exit_code
from kernelbandits.apps.cli.design import proved_delta, spell_law, spell_policy
from kernelbandits.catalogue import CODEC, read_law, read_policy
from kernelbandits.theory import constants, design
from kernelbandits.theory.designer import FAMILIES


def output(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["design", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def lines(*arguments: str) -> dict[str, str]:
    """The rows below the sentence, by their first word."""
    rows = (line.split(maxsplit=1) for line in output(*arguments).splitlines()[1:] if line)
    return {name: text.strip() for name, text in rows}


def test_it_prints_what_is_minimised_the_law_its_constants_and_what_is_proved():
    text = output("--budget", "0.4", "--objective", "tight")
    assert (
        "Among all laws with E|w| <= 0.4, Ber(0.4) minimises the factor 1 + C2 + C3' of the "
        "tight bound over 1000 rounds: 3.5. It is proved that no law with this budget"
    ) in text
    assert lines("--budget", "0.4") == {
        "law": "bernoulli:0.4",
        "play": '--policy "generic-gp:exploration=bernoulli(0.4),delta=0.0005"',
        "E|w|": "0.400000",
        "constants": "C1 0.400000   C2 1.000000   C3 3.500000   C3' 1.500000",
    }


def test_without_a_budget_the_answer_is_ucb():
    assert "UCB (w = 1) minimises" in output()
    assert lines()["law"] == "point-mass:1"
    assert lines("--family", "bernoulli")["law"] == "bernoulli:1"


def test_the_gaussian_family_gives_its_best_scale():
    text = output("--family", "gaussian", "--objective", "printed")
    assert "N(0, 1.256^2) minimises the factor C2 + 2 C3" in text
    assert "54.25" in text
    assert "gaussian:0,1.25594" in text


@pytest.mark.parametrize(("more", "delta"), [((), 0.0005), (("--norm-bound", "4"), 0.000125)])
def test_the_policy_to_play_has_the_delta_for_which_the_bound_is_proved(more, delta):
    name, settings = read_policy(lines("--family", "gaussian", *more)["play"].split('"')[1])
    assert (name, settings["delta"]) == ("generic-gp", delta)
    assert proved_delta(0.01, 3) == 0.999999


@pytest.mark.parametrize("family", FAMILIES)
def test_other_commands_read_the_law_as_it_was_printed(family):
    law = design(100, family=family, budget=0.45).law
    again = read_law(spell_law(law))
    assert type(again) is type(law)
    assert constants(again, 100).c3 == pytest.approx(constants(law, 100).c3, rel=1e-5)
    _, settings = read_policy(spell_policy(law, 0.1))
    assert settings["exploration"] == again


def test_json_is_one_document_with_the_whole_answer():
    words = ("--family", "categorical", "--values", "7", "--budget", "0.4", "--format", "json")
    document = json.loads(output(*words))
    answer = design(1000, family="categorical", budget=0.4, values=7)
    assert CODEC.decode(document["law"]) == answer.law
    assert document["factor"] == answer.factor
    assert document["spelled"] == "categorical:0.7/0/0/0/0/0/0.3"
    assert document["constants"]["c1"] == pytest.approx(0.3)
    assert document["sentence"] == answer.sentence
    assert document["reason"] == answer.reason


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--family", "cauchy"), "design needs family in"),
        (("--horizon", "0"), "design needs a whole number horizon >= 3, got 0"),
        (("--budget", "0"), "design needs budget > 0, got 0.0"),
        (("--budget", "-1"), "design needs budget > 0, got -1.0"),
        (("--budget", "nan"), "design needs budget > 0, got nan"),
        (("--objective", "best"), "design needs objective in"),
        (("--family", "bernoulli", "--values", "3"), "--values needs --family categorical"),
        (("--norm-bound", "0"), "design needs norm_bound > 0, got 0.0"),
    ],
)
def test_a_wrong_argument_ends_with_code_2_and_one_sentence(arguments, sentence, capsys):
    assert exit_code(lambda: app(["design", *arguments])) == 2
    said = capsys.readouterr()
    assert sentence in said.err.replace("\n", " ")
    assert said.err.startswith("error: ")
    assert said.out == ""


def test_the_help_has_examples():
    text = CliRunner().invoke(app, ["design", "--help"]).output
    assert "Examples" in text
    assert "kernelbandits design --budget 0.4" in text
