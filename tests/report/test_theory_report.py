"""Theory in a report: bounds where proved, log-determinants; the figures of the docs."""

from __future__ import annotations

import math
import re
import runpy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import kernelbandits as kb
from kernelbandits import report, theory
from kernelbandits.analysis.guarantees import (
    BANDED,
    Guarantee,
    ProvedBounds,
    ceiling_of,
    failing_premises,
    greatest_width,
    guarantee_frame,
    guarantees,
    law_bounds,
    log_dets,
    valid_width,
)
from kernelbandits.apps.cli import app
from kernelbandits.canvas import names_across
from kernelbandits.experiment import Contender, run_experiment
from kernelbandits.experiment.curves import log_spaced_rounds
from kernelbandits.policies import DMMUCB, GenericGP
from kernelbandits.problems import GaussianNoise
from kernelbandits.report import figures, pages, run
from kernelbandits.report.figures.theory import (
    alternating_dashes,
    draw_regrets,
    how_vacuous,
    line_handles,
)
from kernelbandits.theory.ucb_bounds import ucb_bound

ROOT = Path(__file__).parents[2]
KERNEL, HORIZON, SEEDS = kb.RBF(0.5), 120, 3
TOLD = {"noise_scale": 0.01, "norm_bound": 1.0}
POLICIES = (
    "simple-ucb:delta=0.001",
    "simple-gaussian:delta=0.001",
    "generic-gp:exploration=point-mass(0.5)",
    "igp-ucb",
    "whitehouse-ucb:ridge=0.25",
    "amm-ucb",
    "dmm-ucb",
    "gp-ts",
    "gp-ucb",
    "ucb1",
    "random",
)
BOUNDED = {
    "Simple-UCB (delta=0.001)",
    "Simple-Gaussian (delta=0.001)",
    "IGP-UCB",
    "AMM-UCB",
    "DMM-UCB",
}


@pytest.fixture(scope="module")
def world():
    return kb.problem(
        "rkhs", kernel=KERNEL, dimension=1, candidates=12, norm_bound=1.0, noise=GaussianNoise(0.01)
    )


@pytest.fixture(scope="module")
def played(world):
    return run_experiment(
        world, POLICIES, kernel=KERNEL, horizon=HORIZON, seeds=SEEDS, engine="numpy", **TOLD
    )


@pytest.fixture(scope="module")
def found(played):
    return {row.policy: row for row in guarantees(played)["rkhs1"]}


@pytest.fixture(scope="module")
def page(played, tmp_path_factory):
    folder = tmp_path_factory.mktemp("theory")
    report.write_run(played, folder, theory=True)
    return folder


def theory_part(rows, failing) -> str:
    """The part of the page on one problem."""
    problem = run.theory_values(rows, failing) | {"title": "it"}
    return pages.render("theory.html", theory={"svg": "", "problems": [problem]})


def arms_of(world, seed: int):
    return world.instance(kb.Streams(seed)).domain


def test_the_log_determinant_along_a_run_is_that_of_a_posterior_that_replays_it(
    played, found, world
):
    for label, row in found.items():
        result = played["rkhs1", label]
        replayed = []
        for seed in range(SEEDS):
            posterior = kb.posterior.ArmPosterior(KERNEL, arms_of(world, seed), row.ridge)
            path = [0.0]
            for arm in result.arms[seed]:
                posterior.update(int(arm), 0.0)
                path.append(posterior.log_det)
            replayed.append(np.array(path)[row.rounds])
        np.testing.assert_allclose(row.log_det, np.mean(replayed, axis=0), rtol=0, atol=1e-9)
        assert row.log_det[-1] == pytest.approx(result.log_det.mean(), abs=1e-8) or label == "UCB1"


def test_the_log_determinant_of_few_rounds_is_that_of_the_dense_matrix(cloud):
    arms, chosen = kb.Arms(cloud), np.array([3, 3, 0, 7, 3, 0])
    dense = kb.RBF(0.3)(cloud[chosen], cloud[chosen])
    expected = [np.linalg.slogdet(np.eye(t) + dense[:t, :t] / 0.2)[1] for t in (1, 3, 6)]
    np.testing.assert_allclose(
        log_dets(kb.RBF(0.3), arms, chosen, (1, 3, 6), 0.2), expected, atol=1e-12
    )


def test_no_log_determinant_exceeds_its_ceiling(found):
    for row in found.values():
        inside = np.isin(row.rounds, row.horizons)
        assert (row.log_det[inside] <= 2 * row.gain[np.isin(row.horizons, row.rounds)] + 1e-9).all()


@pytest.mark.thorough
def test_ceilings_are_means_of_certified_gains_at_the_policys_ridge(found, world):
    for label in ("IGP-UCB", "Simple-UCB (delta=0.001)", "AMM-UCB"):
        row = found[label]
        curves = [
            theory.growth(KERNEL, arms_of(world, s), row.horizons.tolist(), row.ridge)
            for s in range(SEEDS)
        ]
        np.testing.assert_allclose(
            row.gain, np.mean([[gain.upper for gain in one] for one in curves], axis=0)
        )
    assert found["IGP-UCB"].ridge == 1 + 2 / HORIZON


def test_a_ridge_hardly_above_another_takes_its_gain_which_is_an_upper_bound_still(cloud):
    horizons, arms = np.array([5, 50]), kb.Arms(cloud)
    ceiling = ceiling_of(KERNEL, horizons, [1.005, 1.0, 2.0])
    uppers = {ridge: [gain.upper for gain in ceiling(arms, ridge)] for ridge in (1.0, 1.005, 2.0)}
    for ridge, taken in ((1.0, 1.0), (1.005, 1.0), (2.0, 2.0)):
        assert uppers[ridge] == [gain.upper for gain in theory.growth(KERNEL, arms, [5, 50], taken)]
        assert all(gain.ridge == ridge for gain in ceiling(arms, ridge))


def test_only_policies_with_a_proof_have_a_bound(found):
    bounded = {label for label, row in found.items() if isinstance(row.proved, ProvedBounds)}
    assert bounded == BOUNDED | {
        label for label in found if label.startswith("GP-UCB (Whitehouse)")
    }
    assert "C1 = P(w >= 1) > 0" in next(
        row.proved for label, row in found.items() if "PointMass" in label
    )
    assert all(
        found[label].proved == "none is computed for it"
        for label in ("GP-TS", "GP-UCB (Srinivas)", "UCB1")
    )


@pytest.mark.thorough
def test_bounds_of_the_generic_family_are_those_of_the_library_at_the_policys_delta(found, world):
    for label, law in (("Simple-UCB", kb.PointMass(1.0)), ("Simple-Gaussian", kb.Gaussian(0, 1))):
        row = found[f"{label} (delta=0.001)"]
        each = [
            theory.regret_bound(law, HORIZON, theory.growth(KERNEL, arms_of(world, seed), row.horizons.tolist())[-1],
                                delta=0.001, **TOLD)
            for seed in range(SEEDS)
        ]  # fmt: skip
        played = [
            theory.regret_bound(
                law,
                HORIZON,
                bound.information_gain,
                form="as_played",
                delta=0.001,
                smallest=1.0,
                **TOLD,
            )
            for bound in each
        ]
        assert row.proved.bound[-1] == pytest.approx(
            np.mean([min(b.as_played, b.mean_square) for b in played]), rel=1e-9
        )
        assert row.proved.bound[-1] < np.mean([min(b.tight, b.repaired) for b in each])
        assert row.proved.printed[-1] == pytest.approx(np.mean([b.printed for b in each]), rel=1e-9)
        assert row.proved.trivial[-1] == 2 * HORIZON


def test_bounds_of_banded_rules_follow_from_their_width(found, world):
    row = found["AMM-UCB"]
    expected = []
    for seed in range(SEEDS):
        gain = theory.growth(KERNEL, arms_of(world, seed), row.horizons.tolist())[-1].upper
        width = math.sqrt(0.01**2 * (2 * math.log(10) + 2 * gain) + 1)
        expected.append(2 * width * math.sqrt(HORIZON * 2 * gain / math.log(2)) + 2 * HORIZON * 0.1)
    assert row.proved.bound[-1] == pytest.approx(np.mean(expected), rel=1e-9)
    np.testing.assert_allclose(found["DMM-UCB"].proved.bound, row.proved.bound, rtol=1e-12)
    assert row.proved.printed is None


def test_regret_on_functions_of_known_norm_stays_below_the_bounds(found):
    for row in found.values():
        if isinstance(row.proved, ProvedBounds):
            at = np.isin(row.rounds, row.horizons)
            assert (row.regret[at] <= row.proved.value[np.isin(row.horizons, row.rounds)]).all()


def test_the_ucb_bound_of_a_point_mass_is_the_tightened_bound_of_the_library():
    told = {"norm_bound": 1.5, "ridge": 0.4, "delta": 0.03, "largest": 0.8}
    whole = theory.regret_bound(kb.PointMass(1.0), 500, 7.0, noise_scale=0.6, **told)
    width = 1.5 + 0.6 / math.sqrt(0.4) * math.sqrt(2 * 7 + 2 * math.log(1 / 0.03))
    found = ucb_bound(width, 500, 7.0, **told)
    assert found.regret == pytest.approx(whole.tight, rel=1e-12)
    assert found.trivial == whole.trivial
    assert found.value == min(found.regret, found.trivial)
    assert found.vacuous == (found.regret >= found.trivial)


def test_the_ucb_bound_says_what_it_needs():
    good = {"width": 1.0, "horizon": 10, "information_gain": 2.0, "norm_bound": 1.0}
    wrong = {
        "width": (-1.0, math.nan, "1", None),
        "horizon": (0, 1.5, "10", None),
        "information_gain": (-1.0, math.inf, "2", None),
        "norm_bound": (0.0, math.nan, None),
        "ridge": (0.0, -1.0, math.inf),
        "largest": (0.0, math.nan),
        "delta": (0.0, 1.0, math.nan, None),
    }
    for name, values in wrong.items():
        for value in values:
            with pytest.raises(ValueError, match=r"needs .*, got "):
                ucb_bound(**good | {name: value})
    with pytest.raises(ValueError, match="a gain at T = 10"):
        ucb_bound(1.0, 10, theory.information_gain(KERNEL, np.eye(2), 20), norm_bound=1.0)


def test_the_greatest_width_is_that_of_the_round_in_which_it_is_greatest(cloud):
    arms, gain = kb.Arms(cloud), theory.information_gain(KERNEL, cloud, 40, 1 + 2 / 40)
    for how in ("realised", "greedy"):
        rule = kb.IGPUCB(arms, KERNEL, horizon=40, gain=how, **TOLD)
        slow = max(rule.width(t, 2 * gain.upper) for t in range(1, 41))
        assert greatest_width(rule.width, gain) == pytest.approx(slow, rel=1e-12)


def test_the_band_of_dmm_lies_within_the_width_that_its_bound_is_made_of(cloud):
    rule = DMMUCB(kb.Arms(cloud), KERNEL, noise_scale=0.3, norm_bound=2.0, ridge=0.5, delta=0.05)
    streams = kb.Streams(4)
    for t in range(1, 31):
        choice = rule.ask(t, streams)
        rule.tell(choice, float(np.sin(5 * choice.x[0])) + 0.1 * streams.uniform("noise", t))
    low, high = rule.band(31)
    reach = valid_width(rule)(31, rule.posterior.log_det) * rule.posterior.sd
    assert (high <= rule.posterior.mean + reach + 1e-9).all()
    assert (low >= rule.posterior.mean - reach - 1e-9).all()


def test_a_gain_that_nobody_certifies_gives_no_bound(world):
    rule = Contender("own gain", "igp-ucb", {"gain": lambda t: 1.0})
    results = run_experiment(
        world, rule, kernel=KERNEL, horizon=10, seeds=1, engine="numpy", **TOLD
    )
    (row,) = guarantees(results)["rkhs1"]
    assert row.proved.startswith("a regret bound needs a gain in")


def test_a_linear_rule_has_a_bound_under_the_linear_kernel_only():
    world = kb.problem("rkhs", kernel=kb.Linear(), dimension=2, candidates=8)
    for kernel, bounded in ((kb.Linear(), True), (kb.RBF(0.5), False)):
        results = run_experiment(
            world, "oful", kernel=kernel, horizon=20, seeds=2, engine="numpy", **TOLD
        )
        (row,) = guarantees(results)["rkhs2"]
        assert isinstance(row.proved, ProvedBounds) == bounded
    assert (
        row.proved == "the bound of a linear rule needs the linear kernel, got RBF(lengthscale=0.5)"
    )


def test_a_changing_problem_has_no_bounds():
    results = run_experiment(
        "drifting:problem=branin,motion=jumps(5)", "simple-ucb", horizon=12, seeds=1, engine="numpy"
    )
    (row,) = guarantees(results)[results.problems[0].name]
    assert row.proved == "the problem changes from round to round"


@pytest.mark.thorough
def test_the_section_holds_figure_table_and_numbers(page, found):
    text = (page / "report.html").read_text()
    part = text[text.index("<h2>Theory</h2>") : text.index("<h2>Summary</h2>")]
    assert "<svg" in part
    assert {"theory.png", "theory.svg", "theory.csv"} <= {path.name for path in page.iterdir()}
    rows = [
        re.findall(r"<td[^>]*>(.*?)</td>", line)
        for line in part.splitlines()
        if line.startswith("<tr><td")
    ]
    assert len(rows) == len(found)
    by_name = {row[0]: row for row in rows}
    ucb = found["Simple-UCB (delta=0.001)"]
    shown = by_name["Simple-UCB (delta=0.001)"]
    assert float(shown[1]) == 0.001
    assert float(shown[2]) == pytest.approx(ucb.regret[-1], rel=1e-3)
    assert float(shown[3]) == pytest.approx(ucb.proved.bound[-1], rel=1e-3)
    assert float(shown[4]) == 2 * HORIZON
    assert float(shown[5]) == pytest.approx(100 * ucb.proved.share, abs=0.5)
    assert float(shown[7]) == pytest.approx(ucb.log_det[-1] / 2, rel=1e-3)
    assert float(shown[8]) == pytest.approx(ucb.gain[-1], rel=1e-3)
    assert "at least" not in part
    verdicts = {name: row[-1] for name, row in by_name.items()}
    for label in BOUNDED:
        needed = found[label].proved.needed
        expected = f"no: vacuous, above 2DT; {needed}" if needed else "yes"
        assert verdicts[label] == expected
        assert bool(needed) == (found[label].proved.share >= 1)
    assert "yes" in verdicts.values()
    assert any("would do" in verdict for verdict in verdicts.values())
    assert verdicts["GP-TS"] == "no bound: none is computed for it"
    assert by_name["GP-TS"][3:7] == ["–"] * 4


def test_the_csv_holds_the_same_numbers_unrounded(page, found):
    table = pd.read_csv(page / "theory.csv").set_index("policy")
    assert list(table.index) == list(found)
    assert set(table.problem) == {"rkhs1"}
    for label, row in found.items():
        line = table.loc[label]
        assert line.regret == pytest.approx(row.regret[-1], rel=1e-12)
        assert line.information_gain_realised == pytest.approx(row.log_det[-1] / 2, rel=1e-12)
        assert line.information_gain_upper == pytest.approx(row.gain[-1], rel=1e-12)
        assert math.isnan(line.lower_bound)
        if isinstance(row.proved, ProvedBounds):
            expected = [row.proved.bound[-1], row.proved.trivial[-1], row.delta]
            assert line[["bound", "trivial", "delta"]].tolist() == pytest.approx(
                expected, rel=1e-12
            )
            assert math.isnan(line.printed) == (row.proved.printed is None)
            assert line.says_something == (row.proved.share < 1)
        else:
            assert math.isnan(line.bound)
            assert line.why_not == f"no bound: {row.proved}"


def test_a_premise_that_fails_stands_in_the_csv():
    proved = ProvedBounds(np.array([1.0]), np.array([2.0]), None, np.ones((1, 1)), 0.05)
    one = np.array([1.0])
    row = Guarantee("it", np.array([1]), one, one, np.array([1]), one, 1.0, proved)
    frame = guarantee_frame({"p": [row]}, {"p": {"it": ["R is false"]}})
    assert frame.why_not.tolist() == ["its premises fail; R is false"]
    assert not frame.says_something.any()


@pytest.fixture(scope="module")
def losing():
    """The instance of the lower bound: rules it speaks of, two told other things, one of another kind."""
    policies = (
        "simple-ucb",
        "simple-gaussian:delta=0.001",
        "simple-ucb:ridge=2",
        "simple-ucb:norm_bound=0.1",
        "amm-ucb",
    )
    told = {"noise_scale": 1.0, "norm_bound": 1.0, "engine": "numpy"}
    world = kb.problem("lower-bound", d=3, horizon=200)
    return run_experiment(world, policies, kernel=kb.Linear(), horizon=200, seeds=2, **told)


@pytest.mark.thorough
def test_the_lower_bound_stands_where_it_holds(losing):
    (world,) = losing.problems
    rows = guarantees(losing)[world.name]
    laws = (kb.PointMass(1.0), kb.Gaussian(0, 1))
    assert [row.least for row in rows] == [
        *(world.regret_bound(law) for law in laws),
        None,
        None,
        None,
    ]
    assert all(0 < row.least <= row.regret[-1] for row in rows[:2])
    text = theory_part(rows, failing_premises(losing, world.name))
    assert "<th>at least</th>" in text
    lines = [
        re.findall(r"<td[^>]*>(.*?)</td>", line)
        for line in text.splitlines()
        if line.startswith("<tr><td")
    ]
    assert [line[3] == "–" for line in lines] == [False, False, True, True, True]
    assert float(lines[0][3]) == pytest.approx(rows[0].least, rel=1e-3)


def test_no_lower_bound_where_the_instance_was_made_for_more_rounds():
    world = kb.problem("lower-bound", d=3, horizon=200)
    results = run_experiment(
        world, "simple-ucb", kernel=kb.Linear(), horizon=50, seeds=1, engine="numpy"
    )
    assert guarantees(results)[world.name][0].least is None


@pytest.mark.thorough
def test_only_bounds_are_not_solid(losing):
    rows = guarantees(losing)[losing.problems[0].name]
    axis = Figure().subplots()
    draw_regrets(axis, rows, losing.labels)
    regrets = [line for line in axis.lines if line.get_marker() != "None"]
    assert len(regrets) == len(rows)
    assert {line.get_linestyle() for line in regrets} == {"-"}
    assert len({(line.get_color(), line.get_marker()) for line in regrets}) == len(rows)
    level = [line for line in axis.lines if rows[0].least in line.get_ydata()]
    assert [line.get_color() for line in level] == [regrets[0].get_color()]


def test_names_of_the_legend_have_room():
    assert names_across(["short"] * 9, 4.4, 9.5) == 3
    assert names_across(["x" * 80], 4.4, 9.5) == 1
    assert all(0.75 + 0.08 * len(line.get_label()) <= 4.5 for line in line_handles(lower=True))


@pytest.mark.usefixtures("blank_figures")
def test_a_report_has_no_theory_unless_asked(played, tmp_path):
    report.write_run(played, tmp_path)
    assert "<h2>Theory</h2>" not in (tmp_path / "report.html").read_text()
    assert not (tmp_path / "theory.svg").exists()


@pytest.mark.thorough
@pytest.mark.usefixtures("blank_figures")
def test_a_report_without_theory_removes_that_of_an_earlier_run(played, tmp_path):
    report.write_run(played, tmp_path, theory=True)
    report.write_run(played, tmp_path)
    assert not list(tmp_path.glob("theory.*"))


@pytest.mark.usefixtures("blank_figures")
def test_a_report_leaves_the_drawing_of_the_command_theory_alone(played, tmp_path):
    (tmp_path / "theory.svg").write_text("of the command theory")
    report.write_run(played, tmp_path)
    assert (tmp_path / "theory.svg").exists()


@pytest.mark.thorough
def test_the_command_run_sets_bounds_beside_regrets_on_demand(tmp_path):
    world = "rkhs:kernel=rbf(0.5),dimension=1,candidates=10"
    told = [
        "--kernel",
        "rbf:0.5",
        "--noise-scale",
        "0.01",
        "--horizon",
        "30",
        "--seeds",
        "2",
        "--workers",
        "1",
    ]
    chosen = [
        "run",
        "--problem",
        world,
        "--policies",
        "simple-ucb,random",
        *told,
        "--engine",
        "numpy",
        "--theory",
    ]
    done = CliRunner().invoke(app, [*chosen, "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output or done.exception
    assert (tmp_path / "theory.svg").exists()
    assert "informative?" in (tmp_path / "report.html").read_text()


@pytest.mark.thorough
def test_without_matplotlib_the_table_remains(played, tmp_path, monkeypatch):
    monkeypatch.setattr(figures, "available", lambda: False)
    report.write_run(played, tmp_path, theory=True)
    text = (tmp_path / "report.html").read_text()
    assert "<h2>Theory</h2>" in text
    assert "informative?" in text
    assert not (tmp_path / "theory.svg").exists()


def test_where_r_or_d_is_false_the_bounds_are_said_not_to_apply():
    policies = ("simple-ucb:delta=0.001", "simple-ucb:delta=0.001,norm_bound=50,noise_scale=0.01")
    world = kb.problem("branin", candidates=10, noise=GaussianNoise(0.01))
    results = run_experiment(
        world,
        policies,
        kernel=KERNEL,
        horizon=200,
        seeds=1,
        engine="numpy",
        noise_scale=0.001,
        norm_bound=0.1,
    )
    low, high = results.labels
    failing = failing_premises(results, "branin")
    assert [
        "needs R >= 0.01" in failing[low][0],
        "no function of norm <= 0.1" in failing[low][1],
    ] == [True, True]
    assert failing[high] == []
    rows = guarantees(results)["branin"]
    text = theory_part(rows, failing)
    assert text.count("the bounds do not apply here") == 2
    assert (
        rows[0]
        .answer(premises_fail=True)
        .startswith(("no: its premises fail", "no: vacuous, above 2DT"))
    )
    small = ProvedBounds(np.array([1.0]), np.array([2.0]), None, np.ones((1, 1)), 0.05)
    informative = replace(rows[0], proved=small)
    assert informative.answer(premises_fail=True) == "no: its premises fail"
    assert informative.answer(premises_fail=False) == "yes"


def test_rounds_are_spread_from_the_first_to_the_last():
    assert log_spaced_rounds(1, 40).tolist() == [1]
    drawn = log_spaced_rounds(1000, 40)
    assert (drawn[0], drawn[-1]) == (1, 1000)
    assert (np.diff(drawn) > 0).all()


def test_lines_at_the_same_place_alternate():
    assert alternating_dashes(["a", "b", "c"], "b") == (4.0, (4.0, 8.0))
    assert alternating_dashes(["a"], "a") == (0.0, (4.0, 4.0))
    assert how_vacuous([6.44, 78.2]).endswith("6.4 to 78 times 2DT")
    assert how_vacuous([2.0, 2.01]).endswith("\n2 times 2DT")


@pytest.mark.thorough
def test_a_far_bound_is_drawn_on_a_logarithmic_axis(found, tmp_path):
    rows = [row for row in found.values() if row.policy in BOUNDED]
    svg = figures.guarantee_figure({"one": rows, "two": rows}, sorted(BOUNDED), tmp_path / "theory")
    assert "cumulative regret" in svg
    assert "below: 2γ, which no policy exceeds" in svg
    assert "all bounds are vacuous" not in svg


def test_constants_of_the_paper_stand_in_its_report(world):
    results = run_experiment(
        world, ["simple-ucb", "simple-gaussian"], kernel=KERNEL, horizon=60, seeds=2, engine="numpy"
    )
    ucb, gaussian = law_bounds(results, ["Simple-UCB", "Simple-Gaussian"])
    gain = theory.information_gain(KERNEL, arms_of(world, 0), 60)
    bound = theory.regret_bound(kb.Gaussian(0, 1), 60, gain, noise_scale=1, norm_bound=1)
    found = ucb.constants
    assert (ucb.policy, found.c1, found.c2, found.c3, found.c3_tight) == ("Simple-UCB", 1, 1, 2, 0)
    assert gaussian.constants.c1 == pytest.approx(0.158655, abs=1e-4)
    played = theory.regret_bound(
        kb.Gaussian(0, 1), 60, gain, form="as_played", noise_scale=1, norm_bound=1, smallest=1.0
    )
    assert gaussian.multiples == ((bound.printed / 120, played.mean_square / 120, "more rounds"),)
    ((_, multiple, needed),) = ucb.multiples
    assert multiple > 1
    ratio = float(needed.removeprefix("R/D ≤ "))
    for noise, vacuous in ((ratio, False), (1.02 * ratio, True)):
        told = {"noise_scale": noise, "norm_bound": 1.0, "smallest": 1.0}
        assert (
            theory.regret_bound(kb.PointMass(1.0), 60, gain, form="as_played", **told).vacuous
            == vacuous
        )


def test_a_vacuous_bound_names_the_noise_or_the_rounds_that_it_needs(world):
    """A run of the policy with R/D as named has an informative bound, one with more has not."""

    def needs(policy, horizon, **told):
        results = run_experiment(
            world, [policy], kernel=KERNEL, horizon=horizon, seeds=1, engine="numpy", **told
        )
        (row,) = guarantees(results)["rkhs1"]
        return row.proved

    for policy in ("simple-ucb", "whitehouse-ucb:delta=0.001"):
        vacuous = needs(policy, 60)
        ratio = float(re.fullmatch(r"R/D ≤ ([\d.e-]+) would do", vacuous.needed)[1])
        assert vacuous.share >= 1
        assert needs(policy, 60, noise_scale=ratio).share < 1
        assert needs(policy, 60, noise_scale=1.02 * ratio).share >= 1
    few = needs("simple-gaussian", 20, noise_scale=0.1)
    assert re.fullmatch(r"no R is small enough, T = [\d\xa0]+ would do", few.needed)


def test_every_rule_with_a_valid_band_is_one_of_the_catalogue():
    constructors = {entry.constructor for entry in kb.catalogue.POLICIES.values()}
    assert all(
        any(issubclass(each, rule) for each in constructors) for rule in (*BANDED, GenericGP)
    )


@pytest.mark.thorough
def test_the_figures_of_the_docs_are_drawn_by_their_script(tmp_path):
    script = ROOT / "docs" / "figures" / "draw.py"
    runpy.run_path(str(script))["main"](tmp_path)
    drawn = {path.name for path in tmp_path.iterdir()}
    assert drawn == {path.name for path in script.parent.glob("*.svg")}
    for path in tmp_path.iterdir():
        text = path.read_text()
        assert text.startswith("<?xml")
        assert "<text" not in text
        assert len(text) < 500_000
