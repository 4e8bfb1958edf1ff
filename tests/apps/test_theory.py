"""`kernelbandits theory`: the library's numbers, plain words for vacuous ones, a sentence where there are none."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import kernelbandits as kb
from kernelbandits import theory
from kernelbandits.analysis import calculation
from kernelbandits.analysis.calculation import (
    LATE,
    LONGEST,
    Calculation,
    calculation_document,
    drawn_horizons,
)
from kernelbandits.apps.cli import app, exit_code
from kernelbandits.apps.cli.options import folder
from kernelbandits.apps.cli.theory import (
    choose_domain,
    compare_with_trivial,
    describe_box,
    read_box,
)
from kernelbandits.catalogue import read_law, read_policy
from kernelbandits.formatting import format_number

ROOT = Path(__file__).parents[2]
ARMS = ("--problem", "hartmann6")
LAWS = {
    "bernoulli:0.5": kb.Bernoulli(0.5),
    "gaussian:0,1": kb.Gaussian(0, 1),
    "point-mass:1": kb.PointMass(1),
    "categorical:0.25/0.25/0.25/0.25": kb.Categorical((0.25,) * 4),
    "mixture:0.5/0.5,point-mass(1)/gaussian(0,1)": kb.Mixture(
        (0.5, 0.5), (kb.PointMass(1), kb.Gaussian(0, 1))
    ),
    "step:bernoulli(0.5),bernoulli(0.25),100": kb.Step(kb.Bernoulli(0.5), kb.Bernoulli(0.25), 100),
    "decay:1": kb.Decay(1.0),
}


def said(*arguments: str) -> str:
    done = CliRunner().invoke(app, ["theory", *arguments], env={"COLUMNS": "160"})
    assert done.exit_code == 0, done.output or done.exception
    return done.output


def document(*arguments: str) -> dict:
    return json.loads(said(*arguments, "--format", "json"))


def refused(capsys: pytest.CaptureFixture, *arguments: str) -> str:
    """The one sentence of an error, which ends with code 2."""
    assert exit_code(lambda: app(["theory", *arguments], standalone_mode=False)) == 2
    heard = capsys.readouterr()
    assert heard.out == ""
    assert heard.err.startswith("error: ")
    assert len(heard.err.strip().splitlines()) == 1
    return heard.err.removeprefix("error: ").strip()


@pytest.fixture(scope="module")
def bare() -> str:
    """The command of the first example, as it is."""
    return said("--law", "bernoulli:0.5", "--horizon", "1000")


@pytest.mark.thorough
def test_the_bare_command_states_its_domain_and_what_the_policy_is_told(bare):
    assert "Bernoulli(p=0.5) for T = 1000 rounds; R = 1, D = 1, ridge 1, delta 0.0005" in bare
    assert "RBF(lengthscale=0.2) on the unit square" in bare


@pytest.mark.thorough
def test_the_bare_command_prints_constants_gain_and_bounds_of_the_library(bare):
    square = kb.Box((0, 0), (1, 1))
    gain = theory.information_gain(kb.RBF(0.2), square, 1000)
    bound = theory.regret_bound(kb.Bernoulli(0.5), 1000, gain, noise_scale=1, norm_bound=1)
    for letter, value in (("C1", "0.5"), ("C2", "1"), ("C3", "3"), ("C3'", "1")):
        assert re.search(rf"^ {letter} +{value} ", bare, re.M)
    assert f"{gain.lower:.5g} to {gain.upper:.5g}" in bare
    assert re.sub(r"\s+", " ", gain.certificate) in re.sub(r"\s+", " ", bare)
    for name, label in bound.labels.items():
        value = getattr(bound, name)
        line = next(one for one in bare.splitlines() if one.startswith(f" {label}"))
        row = re.split(" +", line.strip())
        assert row[-2] == format_number(value)
        assert float(row[-1].replace("\xa0", "")) == pytest.approx(100 * value / 2000, rel=1e-3)
    assert re.search(r"known: the least that is proved +2000 +100 *$", bare, re.M)


@pytest.mark.thorough
def test_the_bare_command_says_plainly_that_the_bound_is_vacuous_and_where_it_is_not(bare):
    assert "\nVacuous at T = 1000: " in bare
    found = re.search(
        r"^Near T = ([\d\xa0]+) the bound is informative\. If .* plays with delta", bare, re.M
    )
    assert found
    horizon = int(found[1].replace("\xa0", ""))
    gain = theory.information_gain(kb.RBF(0.2), kb.Box((0, 0), (1, 1)), horizon)
    told = {"noise_scale": 1, "norm_bound": 1, "delta": 1 / (2 * horizon)}
    assert not theory.regret_bound(
        kb.Bernoulli(0.5), horizon, gain, form="as_played", **told
    ).vacuous
    assert "\nSublinear: " in bare


@pytest.mark.parametrize("spelling", LAWS)
def test_the_document_has_the_numbers_of_the_library_for_any_law_or_schedule(spelling):
    found = document(
        "--law", spelling, "--horizon", "300", *ARMS, "--noise-scale", "0.1", "--norm-bound", "2"
    )
    arms = kb.problem("hartmann6").instance(kb.Streams(0)).domain
    gain = theory.information_gain(kb.RBF(0.2), arms, 300)
    bound = theory.regret_bound(LAWS[spelling], 300, gain, noise_scale=0.1, norm_bound=2)
    assert (
        found["horizon"]
        == found["constants"]["horizon"]
        == found["information_gain"]["horizon"]
        == 300
    )
    for name in ("c1", "c2", "c3", "c3_tight", "error", "method"):
        assert found["constants"][name] == getattr(bound.constants, name)
    for name in ("lower", "upper", "certificate", "ridge"):
        assert found["information_gain"][name] == getattr(gain, name)
    for name in ("printed", "repaired", "tight", "trivial", "delta", "vacuous"):
        assert found["bounds"][name] == getattr(bound, name)
    assert (
        found["bounds"]["least"] == bound.value == min(bound.repaired, bound.tight, bound.trivial)
    )
    assert found["bounds"]["trivial"] == 1200
    named = {item.name: item.constants.c3 for item in theory.theorems(LAWS[spelling], 300)}
    assert {item["name"]: item["constants"]["c3"] for item in found["theorems"]} == named


def test_golden_bounds_of_the_specification_come_out_of_a_given_gain():
    found = document("--law", "point-mass:1", "--horizon", "1000", "--gain", "20")
    assert found["bounds"]["printed"] == pytest.approx(12897.46, abs=0.005)
    assert found["bounds"]["repaired"] == pytest.approx(9538.22, abs=0.005)
    assert found["bounds"]["delta"] == 1 / 2000
    assert found["information_gain"]["certificate"] == calculation.GIVEN
    assert found["sublinear"] is found["useful"] is None


def test_options_reach_the_bounds():
    told = {"noise_scale": 0.3, "norm_bound": 2.5, "ridge": 0.5, "delta": 0.01}
    options = [
        text for name, value in told.items() for text in (f"--{name.replace('_', '-')}", str(value))
    ]
    found = document(
        "--law", "gaussian:0,1", "--horizon", "50", "--box", "0,2", "--kernel", "linear", *options
    )
    gain = theory.information_gain(kb.Linear(), kb.Box((0,), (2,)), 50, 0.5)
    bound = theory.regret_bound(kb.Gaussian(0, 1), 50, gain, largest=4.0, **told)
    assert found["settings"] == told | {"largest": 4.0}
    assert found["bounds"]["tight"] == bound.tight
    assert found["bounds"]["trivial"] == pytest.approx(2 * 2.5 * 2 * 50)
    assert [item["name"] for item in found["theorems"]][:2] == ["generic", "linear"]


@pytest.mark.thorough
def test_a_bound_that_says_something_is_stated_with_what_it_says():
    arguments = (
        "--law",
        "point-mass:1",
        "--horizon",
        "10000",
        "--dimension",
        "1",
        "--noise-scale",
        "0.01",
    )
    text, found = said(*arguments), document(*arguments)
    played = found["as_played"]
    assert not played["vacuous"]
    assert played["least"] == found["least"]["value"] < found["bounds"]["least"]
    assert played["least"] <= found["high_probability"]["least"] + 1 < found["bounds"]["trivial"]
    assert "Vacuous" not in text
    assert f"the expected regret after T = 10000 rounds is at most {played['least']:.4g}" in text
    assert played["conditions"] in text
    assert "the bound is informative" not in text


def test_a_law_without_optimism_is_refused_in_one_sentence(capsys):
    for law in ("point-mass:0.5", "bernoulli:0", "step:bernoulli(0.5),bernoulli(0),100"):
        assert "C1 = P(w >= 1) > 0 in every round" in refused(capsys, "--law", law, "--gain", "20")


def test_a_schedule_that_looks_at_the_history_is_answered_over_all_histories():
    found = document("--law", "certainty:0.5,0.1", "--gain", "20")
    assert found["constants"]["c1"] == 0.1
    assert found["constants"]["method"] == "over all histories"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--law", "bernouli:0.5"), "exploration law"),
        (("--law", "bernoulli:2"), "Bernoulli needs a probability p"),
        (("--law", "bernoulli"), "bernoulli needs p"),
        (("--law", "bernoulli:0.5", "--kernel", "rbff:1"), "kernel"),
        (("--law", "bernoulli:0.5", "--problem", "hartman6"), "problem"),
        (
            ("--law", "bernoulli:0.5", "--box", "0,1x2"),
            "--box needs low,high of each side, as in 0,1x-5,10, got '0,1x2'",
        ),
        (("--law", "bernoulli:0.5", "--box", "0,1,2"), "--box needs"),
        (("--law", "bernoulli:0.5", "--box", ""), "--box needs"),
        (("--law", "bernoulli:0.5", "--box", "1,0"), "Box needs lower < upper"),
        (("--law", "bernoulli:0.5", "--box", "0,nan"), "Box needs"),
        (("--law", "bernoulli:0.5", "--box", "0,1", "--dimension", "2"), "theory needs one domain"),
        (("--law", "bernoulli:0.5", "--gain", "-1"), "needs gain >= 0, got -1.0"),
        (("--law", "bernoulli:0.5", "--gain", "nan"), "needs gain >= 0"),
        (("--law", "bernoulli:0.5", "--gain", "2", "--ridge", "0"), "ridge > 0"),
        (("--law", "bernoulli:0.5", "--gain", "2", "--norm-bound", "0"), "norm_bound > 0"),
        (("--law", "bernoulli:0.5", "--gain", "2", "--noise-scale", "-1"), "noise_scale >= 0"),
        (("--law", "bernoulli:0.5", "--gain", "2", "--delta", "0"), "delta > 0"),
        (("--law", "bernoulli:0.5", "--gain", "2", "--delta", "1.5"), "delta in [0, 1]"),
        (("--law", "bernoulli:0.5", "--gain", "2", "--plot"), "a plot against T needs a domain"),
        (
            ("--law", "bernoulli:0.5", "--kernel", "rbf:0.2/0.3", "--dimension", "3"),
            "needs points of 2 dimensions, got 3",
        ),
    ],
)
def test_wrong_arguments_are_refused_in_one_sentence(arguments, sentence, capsys):
    assert sentence in refused(capsys, *arguments)


@pytest.mark.thorough
def test_from_a_shell_a_refusal_ends_with_code_two_and_nothing_on_standard_output():
    arguments = ["theory", "--law", "point-mass:0.5", "--gain", "20"]
    done = subprocess.run(
        [sys.executable, "-m", "kernelbandits", *arguments],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("error: a regret bound needs C1 = P(w >= 1) > 0")


@pytest.mark.thorough
def test_the_arms_of_a_problem_are_those_of_its_seed_and_its_premises_are_said():
    first, second = (
        document("--law", "point-mass:1", *ARMS, "--seed", seed) for seed in ("0", "1")
    )
    arms = kb.problem("hartmann6").instance(kb.Streams(1)).domain
    assert (
        second["information_gain"]["upper"]
        == theory.information_gain(kb.RBF(0.2), arms, 1000).upper
    )
    assert first["information_gain"]["upper"] != second["information_gain"]["upper"]
    assert any(
        "no function of norm <= 1 has the rewards of hartmann6" in text
        for text in first["premises"]
    )
    text = said("--law", "point-mass:1", *ARMS)
    assert "the 50 arms of Hartmann (d = 6), seed 0" in text
    assert "\nDoes not apply here: no function of norm <= 1 has the rewards of hartmann6" in text
    honest = document("--law", "point-mass:1", *ARMS, "--noise-scale", "0.01", "--norm-bound", "3")
    assert honest["premises"] == []
    assert honest["applies"] is True
    assert first["applies"] is False
    assert text.index("Does not apply here") < text.index("Vacuous at T")


def test_candidates_make_a_finite_set_of_a_box_or_of_a_problem():
    box = choose_domain(None, "0,1x-5,10", None, 40, 0)
    assert len(box.domain) == 40
    assert (box.domain.points == kb.Box((0, -5), (1, 10)).cover(40).points).all()
    assert box.words == "40 points spread over [0, 1] x [-5, 10]"
    assert len(choose_domain("branin", None, None, 20, 0).domain) == 20
    assert choose_domain(None, None, 3, None, 0).domain == kb.Box((0, 0, 0), (1, 1, 1))
    assert choose_domain(None, None, None, None, 0).words == "the unit square"


def test_boxes_are_spelled_by_their_sides():
    assert read_box("0,1x-5,10") == kb.Box((0, -5), (1, 10))
    assert read_box("1e-3,2") == kb.Box((0.001,), (2,))
    assert describe_box(read_box("0,1")) == "the unit interval"
    assert describe_box(read_box("0,1x0,1x0,1")) == "the unit cube of 3 dimensions"


def test_an_adaptive_law_keeps_the_bound_of_ucb_on_arms_and_not_on_a_box():
    """On a box its two choices are searched on a cover, so that only p >= floor is used there."""
    law, square = kb.AdaptiveBernoulli(floor=0.05), kb.Box((0, 0), (1, 1))
    told = {"noise_scale": 0.05, "gain": 10.0}
    on_box, on_arms, least_chance = (
        Calculation(one, 1000, kb.RBF(0.2), where, "here", **told).bound_as_played.mean_square
        for one, where in ((law, square), (law, square.cover(20)), (kb.Bernoulli(0.05), square))
    )
    assert on_box == pytest.approx(least_chance)
    assert on_arms < on_box / 2


def test_a_vacuous_bound_says_which_noise_would_make_it_informative():
    """R/D by bisection on the same formula: informative there, and not at a little more."""
    arguments = ("--law", "bernoulli:0.5", "--horizon", "1000", "--gain", "20", "--norm-bound", "2")
    text, found = said(*arguments), document(*arguments)
    ratio = float(re.search(r"informative if R/D <= ([\d.e-]+); here R/D = 0.5", text)[1])
    least = found["useful_noise_scale"]
    assert ratio <= least / 2 < 1.01 * ratio
    for factor, vacuous in ((1.0, False), (1.002, True)):
        told = document(*arguments, "--noise-scale", str(least * factor))
        assert (told["bounds"]["vacuous"] and told["as_played"]["vacuous"]) == vacuous
    few = ("--law", "gaussian:0,1", "--horizon", "50", "--gain", "20")
    assert "At T = 50 and with the gain given no R is small enough" in said(*few)
    assert document(*few)["useful_noise_scale"] is None


def test_orthonormal_arms_have_their_own_bound():
    arguments = ("--law", "point-mass:1", "--problem", "lower-bound:d=3,horizon=2000")
    found = document(*arguments, "--kernel", "linear", "--horizon", "100000", "--noise-scale", "5")
    assert found["as_played"]["premises"] == ", k(x, x) = 1 and k(x, x') = 0 for any two arms"
    told = {"noise_scale": 5.0, "norm_bound": 1.0, "smallest": 1.0}
    gain = found["information_gain"]["upper"]
    plain = theory.regret_bound(kb.PointMass(1), 10**5, gain, form="as_played", **told)
    assert found["least"]["value"] < 0.8 * plain.value


@pytest.mark.thorough
def test_a_useful_horizon_is_useful_and_none_is_named_where_none_was_found():
    arms = kb.problem("hartmann6").instance(kb.Streams(0)).domain
    found = Calculation(kb.Bernoulli(0.5), 1000, kb.RBF(0.2), arms, "arms")
    assert found.bound.vacuous
    assert found.useful is not None
    assert not found.useful.vacuous
    earlier = round(found.useful.horizon * 10**-0.25)
    assert found.bound_with(theory.information_gain(kb.RBF(0.2), arms, earlier)).vacuous
    rough = Calculation(kb.PointMass(1), 100, kb.Matern(0.1, 0.5), kb.Box((0, 0), (1, 1)), "square")
    assert rough.useful is None
    assert not rough.sublinear.holds


def test_a_schedule_of_ever_new_laws_is_looked_at_as_far_as_it_can_be(monkeypatch):
    arms = kb.Arms([[0.0], [0.5], [1.0]])
    assert Calculation(kb.Decay(1.0), 100, kb.RBF(0.2), arms, "arms").decades == 6
    assert (
        Calculation(
            kb.Step(kb.Bernoulli(1), kb.Bernoulli(0.5), 9), 100, kb.RBF(0.2), arms, "arms"
        ).decades
        == 12
    )
    monkeypatch.setattr(calculation, "NEAR", 4)
    found = Calculation(kb.Decay(0.1, 1.0, 0.0), 100, kb.RBF(0.2), arms, "arms")
    assert found.bound.vacuous
    assert found.useful is None


@pytest.mark.thorough
def test_a_horizon_that_is_useful_on_a_cover_only_is_not_named(monkeypatch):
    asked, whole = [], theory.growth

    def doubtful(kernel, domain, horizons, ridge):
        asked.append(type(domain))
        found = whole(
            kernel, domain.cover(50) if isinstance(domain, kb.Box) else domain, horizons, ridge
        )
        return (
            [replace(gain, upper=100 * gain.upper) for gain in found]
            if isinstance(domain, kb.Box)
            else found
        )

    monkeypatch.setattr(calculation, "growth", doubtful)
    interval = Calculation(kb.PointMass(1), 100, kb.RBF(0.2), kb.Box((0,), (1,)), "interval")
    assert interval.useful is None
    assert kb.Box in asked
    monkeypatch.setattr(calculation, "growth", whole)
    honest = Calculation(kb.PointMass(1), 100, kb.RBF(0.2), kb.Box((0,), (1,)), "interval")
    assert honest.useful is not None
    assert not honest.useful.vacuous


@pytest.mark.thorough
def test_every_gain_of_a_calculation_is_computed_once(monkeypatch):
    asked: list[int] = []
    arms = kb.Arms([[0.0], [0.5], [1.0]])
    whole = theory.growth

    def counting(kernel, domain, horizons, ridge):
        asked.extend(horizons)
        return whole(kernel, domain, horizons, ridge)

    monkeypatch.setattr(calculation, "growth", counting)
    found = Calculation(kb.PointMass(1), 1000, kb.RBF(0.2), arms, "arms")
    assert found.information_gain is found.information_gain
    assert [gain.horizon for gain, *_ in found.against_horizon] == drawn_horizons(1000, LONGEST)
    assert len(asked) == len(set(asked))


def test_drawn_horizons_are_three_a_decade_and_one_where_they_are_dear():
    assert drawn_horizons(1000, LONGEST) == [
        10, 22, 46, 100, 215, 464, 1000, 2154, 4642, 10_000, 21_544, 46_416, 100_000, 215_443, 464_159, 1_000_000
    ]  # fmt: skip
    assert drawn_horizons(777, LATE)[-4:] == [4642, 10_000, 100_000, 1_000_000]
    assert 777 in drawn_horizons(777, LATE)
    assert drawn_horizons(3 * 10**7, LATE)[-2:] == [10**7, 3 * 10**7]


@pytest.mark.thorough
def test_plot_writes_the_pictures_and_the_document(tmp_path):
    text = said("--law", "gaussian:0,1", *ARMS, "--plot", "--output", str(tmp_path))
    assert f"Written to {tmp_path}" in text.replace("\n", "")
    assert {path.name for path in tmp_path.iterdir()} == {"theory.json", "theory.png", "theory.svg"}
    stored = json.loads((tmp_path / "theory.json").read_text())
    assert stored == document("--law", "gaussian:0,1", *ARMS)
    svg = (tmp_path / "theory.svg").read_text()
    for words in (
        "as printed; see errata",
        "T asked",
        "upper bound (certified)",
        "lower bound (reached)",
        "repaired and tightened",
        "trivial",
        "vacuous where grey",
        "C3′",
        "horizon T",
    ):
        assert words in svg
    assert (tmp_path / "theory.png").read_bytes().startswith(b"\x89PNG")


def test_quiet_prints_nothing_and_still_writes(tmp_path):
    assert said("--law", "point-mass:1", "--gain", "20", "--quiet", "--output", str(tmp_path)) == ""
    assert json.loads((tmp_path / "theory.json").read_text())["law"] == "PointMass(c=1)"


def test_numbers_beyond_all_measure_are_null_in_the_document_and_words_in_the_text():
    found = Calculation(
        kb.PointMass(1),
        10,
        kb.RBF(0.2),
        kb.Box((0,), (1,)),
        "interval",
        noise_scale=1e150,
        gain=1e300,
    )
    assert math.isinf(found.bound.printed)
    assert calculation_document(found)["bounds"]["printed"] is None
    json.dumps(calculation_document(found), allow_nan=False)
    assert compare_with_trivial(math.inf, 10.0) == ("∞", "∞")


def test_every_spelling_of_the_help_is_understood():
    text = CliRunner().invoke(app, ["theory", "--help"], env={"COLUMNS": "200"}).output
    assert "Examples" in text
    for law in re.findall(r'--law "?([a-z][^ "]*)', text):
        if ":" in law:
            read_law(law)


LOWER = ("--law", "point-mass:1", "--problem", "lower-bound:d=3,horizon=2000")


@pytest.mark.thorough
def test_the_lower_bound_stands_beside_the_upper_ones_where_it_holds():
    arguments = (*LOWER, "--horizon", "2000", "--kernel", "linear")
    found, text = document(*arguments), said(*arguments)
    assert found["premises"] == []
    assert found["lower_bound"] == kb.problem("lower-bound", d=3, horizon=2000).regret_bound(
        kb.PointMass(1)
    )
    assert re.search(rf"lower bound \(Theorem 2\) +{format_number(found['lower_bound'])} ", text)
    assert document("--law", "point-mass:1", *ARMS)["lower_bound"] is None
    seldom = document(
        "--law", "certainty:0.5,0.1", *LOWER[2:], "--horizon", "2000", "--kernel", "linear"
    )
    assert seldom["lower_bound"] == pytest.approx(0.1 * found["lower_bound"])


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (("--horizon", "500", "--kernel", "linear"), "T = 2000 rounds, played are 500"),
        (("--horizon", "2000"), "the linear kernel"),
        (("--horizon", "2000", "--kernel", "linear", "--ridge", "2"), "ridge 1, played is 2"),
        (
            ("--horizon", "2000", "--kernel", "linear", "--noise-scale", "0.1"),
            "policies are told 0.1 and 1",
        ),
    ],
)
def test_a_lower_bound_whose_premises_are_false_is_none_and_leaves_the_upper_ones_alone(
    arguments, needed
):
    found = document(*LOWER, *arguments)
    assert found["lower_bound"] is None
    assert any(needed in text for text in found["premises"])
    assert found["applies"] is True
    assert re.search(r"lower bound \(Theorem 2\) +does not hold", said(*LOWER, *arguments))


def test_a_lower_bound_of_fewer_rounds_and_a_horizon_that_nobody_plays_are_answered():
    found = document(*LOWER, "--horizon", "1000000000", "--kernel", "linear")
    assert found["lower_bound"] > 0
    assert found["premises"] == [
        "the lower bound of lower-bound-3 is one of the first 2000 of 1000000000 rounds"
    ]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("domain", "law"),
    [
        (("--dimension", "1"), ("step:bernoulli(0.5),bernoulli(0),5000", "--horizon", "1000")),
        (("--problem", "branin"), ("decay:1,400,0", "--horizon", "3")),
    ],
)
def test_a_law_that_is_refused_beyond_the_horizon_is_answered_up_to_it(law, domain, tmp_path):
    arguments = ("--law", *law, *domain)
    text = said(*arguments, "--plot", "--output", str(tmp_path))
    found = json.loads((tmp_path / "theory.json").read_text())
    assert found["useful"] is None
    assert f"For more than T rounds nothing is proved: {found['beyond']}." in text
    assert "C1 = P(w >= 1) > 0 in every round" in found["beyond"]
    assert "No T up to" not in text
    assert (tmp_path / "theory.png").exists()


@pytest.mark.thorough
def test_a_law_of_one_round_is_not_drawn(capsys, tmp_path):
    arguments = (
        "--law",
        "step:bernoulli(0.5),bernoulli(0),1",
        "--horizon",
        "1",
        "--plot",
        "--output",
        str(tmp_path),
    )
    assert "a plot against T needs a law for more than one round" in refused(capsys, *arguments)


def test_bounds_are_named_by_what_they_are_at_this_kernel_and_ridge():
    text = said(
        "--law",
        "point-mass:1",
        "--horizon",
        "50",
        "--box",
        "0,2",
        "--kernel",
        "linear",
        "--ridge",
        "0.5",
    )
    assert "trivial, 2 D T sqrt(sup k) " in text
    assert "% of 2 D T sqrt(sup k)" in text
    assert "as printed, carried over from ridge 1; see errata E1-E3" in text


def test_an_output_that_is_a_file_is_refused_before_anything_is_computed(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setattr(calculation, "growth", None)
    file = tmp_path / "afile"
    file.touch()
    for output in (file, file / "below"):
        sentence = refused(capsys, "--law", "point-mass:1", "--output", str(output))
        assert sentence.replace("\n", "") == f"--output needs a folder, got {str(file)!r}"
    assert folder(None) is None
    assert folder(tmp_path / "new" / "one") == tmp_path / "new" / "one"


@pytest.mark.thorough
def test_that_no_useful_horizon_was_found_or_sought_is_said():
    rough = (
        "--law",
        "point-mass:1",
        "--horizon",
        "100",
        "--kernel",
        "matern:0.1,0.5",
        "--dimension",
        "1",
    )
    assert "No T up to 10^6 with an informative bound was found." in said(*rough)
    given = said("--law", "point-mass:1", "--gain", "200")
    assert "was not searched: the gain is given for one T only." in given
    assert "known: the least that is proved if gamma_T <= the gain given" in given
    many = said("--law", "point-mass:1", "--problem", "branin", "--candidates", "301")
    assert "was not searched: there are more than 300 arms." in many


@pytest.mark.parametrize("spelling", [*LAWS, "gaussian", "bernoulli(p=0.5)"])
def test_the_line_to_play_spells_the_policy_of_the_bound(spelling):
    arguments = ("--law", spelling, "--horizon", "300", "--gain", "20", "--noise-scale", "0.1")
    text, found = said(*arguments), document(*arguments)
    line = re.search(r'^play    --policy "(.*)"$', text, re.M)
    assert line
    name, settings = read_policy(line[1])
    assert name == "generic-gp"
    assert settings["exploration"] == read_law(spelling) == read_law(found["spelled"])
    assert settings["delta"] == pytest.approx(found["least"]["delta"], rel=1e-6)
    assert settings["noise_scale"] == 0.1
    assert f"\nlaw     {found['spelled']}\n" in text
