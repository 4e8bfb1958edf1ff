"""`kernelbandits design` as a person uses it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import kernelbandits as kb
from kernelbandits.apps.cli import app, exit_code
from kernelbandits.apps.designing import nested, proved_delta, spelled
from kernelbandits.catalogue import from_plain, spelled_law, spelled_policy
from kernelbandits.theory.designer import FAMILIES, best_law

SMALL = ("--simulate", "--problem", "branin", "--seeds", "2", "--horizon", "20")


def command(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-m", "kernelbandits", "design", *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )


def output(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["design", *arguments])
    assert done.exit_code == 0, done.output
    return done.stdout


def document(*arguments: str) -> dict:
    return json.loads(output(*arguments, "--format", "json"))


def test_it_prints_the_sentence_the_law_as_other_commands_take_it_and_the_table():
    text = output("--family", "gaussian", "--horizon", "1000", "--objective", "printed")
    assert (
        "the factor C2 + 2 C3 is least, 54.25, at scale = 1.256; UCB has 5, and no law has less."
        in text
    )
    assert "gaussian:0,1.25594" in text
    rows = [line.split() for line in text.splitlines()]
    assert ["best", "gaussian", "54.2483", "1.0021"] in rows
    assert ["UCB", "5.0000", "1.0000"] in rows
    assert ["paper:", "N(0,", "1)", "56.8001", "0.7979"] in rows


@pytest.mark.parametrize(("more", "delta"), [((), 0.0005), (("--norm-bound", "4"), 0.000125)])
def test_the_line_to_play_has_the_delta_for_which_the_bound_is_proved(more, delta):
    (line,) = (
        line
        for line in output("--family", "gaussian", *more).splitlines()
        if line.startswith("play")
    )
    name, settings = spelled_policy(line.split('"')[1])
    assert (name, settings["delta"]) == ("generic-gp", delta)
    assert proved_delta(0.01, 3) == 0.999999


def test_what_the_bound_is_worth_is_said_where_nothing_is_played():
    assert "does not order laws by their regret" in output("--family", "gaussian")
    assert "Nothing was played" not in output("--family", "gaussian", *SMALL)


def test_without_a_budget_it_says_that_the_answer_is_ucb():
    text = output("--family", "bernoulli")
    assert "this is UCB, w = 1" in text
    assert "bernoulli:1" in text


@pytest.mark.parametrize("family", FAMILIES)
def test_the_law_is_read_back_as_it_was_found(family):
    law = best_law(family, 100, budget=0.45).law
    for text in (spelled(law), nested(law)):
        again = spelled_law(text)
        assert type(again) is type(law)
        assert kb.theory.constants(again, 100).c3 == pytest.approx(
            kb.theory.constants(law, 100).c3, rel=1e-5
        )
    _, settings = spelled_policy(f"generic-gp:exploration={nested(law)}")
    assert settings["exploration"] == spelled_law(spelled(law))


def test_json_is_one_document_with_all_that_was_found():
    found = document("--family", "categorical", "--values", "7", "--budget", "0.4")
    law = best_law("categorical", 1000, budget=0.4, values=7)
    assert found["factor"] == law.factor
    assert found["spelled"] == "categorical:0.7/0/0/0/0/0/0.3"
    assert from_plain(found["law"]) == law.law
    assert found["constants"]["c1"] == pytest.approx(0.3)
    assert found["sentence"] == law.sentence
    assert [row["name"] for row in found["alternatives"]] == [row.name for row in law.alternatives]
    assert found["simulation"] == []


def test_the_simulation_is_shown_beside_the_factors():
    text = output("--family", "bernoulli", "--budget", "0.4", *SMALL)
    assert "Branin (d = 2): cumulative regret, best first" in text
    assert "rank correlation" in text
    assert "best bernoulli" in text


def test_the_simulation_is_in_the_document_and_does_not_depend_on_the_workers():
    given = ("--family", "mixture", "--scale", "0.3", "--budget", "0.5", *SMALL)
    one, two = document(*given), document(*given, "--workers", "2")
    assert one == two
    (played,) = one["simulation"]
    assert [row["name"] for row in played["laws"]][:2] == ["best mixture", "UCB"]
    assert set(played["laws"][0]) >= {
        "factor",
        "mean_abs",
        "regret",
        "behind",
        "rank_by_factor",
        "rank_by_regret",
    }


def test_one_seed_gives_a_document_without_infinities():
    found = document("--family", "gaussian", "--simulate", "--seeds", "1", "--horizon", "10")
    assert found["simulation"][0]["problem"] == "hartmann6"
    assert found["simulation"][0]["laws"][0]["regret"]["high"] is None


@pytest.mark.parametrize("family", FAMILIES)
def test_the_figure_is_drawn_for_every_family(family, tmp_path):
    text = output("--family", family, "--budget", "0.45", "--plot", "--output", str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"design.json", "design.png", "design.svg"}
    drawing = (tmp_path / "design.svg").read_text()
    assert "least: " in drawing
    assert "UCB: 4" in drawing
    assert "Written to" in text


def test_the_figure_of_a_simulation_has_a_panel_for_each_problem_and_names_every_law(tmp_path):
    more = ("--problem", "hartmann3", "--plot", "--output", str(tmp_path))
    output("--family", "gaussian", *SMALL, *more)
    drawing = (tmp_path / "design.svg").read_text()
    for text in (
        "Branin (d = 2): rank",
        "Hartmann (d = 3): rank",
        "best gaussian",
        "paper: N(0, 1)",
        "UCB",
    ):
        assert text in drawing


def test_quiet_prints_nothing(tmp_path):
    done = command(
        "--family", "bernoulli", "--budget", "0.4", "--quiet", "--output", str(tmp_path), *SMALL
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert json.loads((tmp_path / "design.json").read_text())["simulation"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--family", "cauchy"), "best_law needs family in"),
        (
            ("--family", "gaussian", "--horizon", "0"),
            "best_law needs a whole number horizon >= 3, got 0",
        ),
        (("--family", "gaussian", "--budget", "0"), "best_law needs budget > 0, got 0.0"),
        (("--family", "gaussian", "--budget", "-1"), "best_law needs budget > 0, got -1.0"),
        (("--family", "gaussian", "--budget", "nan"), "best_law needs budget > 0, got nan"),
        (("--family", "gaussian", "--objective", "best"), "best_law needs objective in"),
        (("--family", "bernoulli", "--scale", "1"), "the family bernoulli takes no --scale"),
        (("--family", "mixture", "--values", "3"), "the family mixture takes no --values"),
        (
            ("--family", "bernoulli", "--delta", "0.5"),
            "--delta needs --simulate beside it, got 0.5",
        ),
        (
            ("--family", "bernoulli", "--noise-scale", "2"),
            "--noise-scale needs --simulate beside it, got 2.0",
        ),
        (("--family", "bernoulli", "--seeds", "25"), "--seeds needs --simulate beside it, got 25"),
        (("--family", "bernoulli", "--norm-bound", "0"), "design needs norm_bound > 0, got 0.0"),
        (("--family", "bernoulli", "--output", __file__), "--output needs a folder"),
        (
            ("--family", "bernoulli", "--problem", "branin"),
            "--problem needs --simulate beside it, got ['branin']",
        ),
        (("--family", "bernoulli", "--simulate", "--problem", "nowhere"), "nowhere"),
        (("--family", "bernoulli", "--simulate", "--kernel", "rbf:-1"), "lengthscale > 0, got -1"),
        (("--family", "bernoulli", "--simulate", "--delta", "2"), "delta"),
    ],
)
def test_a_wrong_argument_ends_with_code_2_and_one_sentence(arguments, sentence, capsys):
    assert exit_code(lambda: app(["design", *arguments])) == 2
    said = capsys.readouterr()
    assert sentence in said.err.replace("\n", " ")
    assert said.err.startswith("error: ")
    assert said.out == ""


def test_a_missing_family_ends_with_code_2():
    done = command("--horizon", "10")
    assert done.returncode == 2
    assert "--family" in done.stderr


def test_the_help_has_examples():
    text = CliRunner().invoke(app, ["design", "--help"]).output
    assert "Examples" in text
    assert "kernelbandits design --family gaussian" in text
