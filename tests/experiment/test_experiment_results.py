"""Results of experiments as a DataFrame, LaTeX and figures; intervals of regret above zero."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from scipy import stats
from typer.testing import CliRunner

import kernelbandits as kb
from kernelbandits.apps.cli import app
from kernelbandits.experiment import run_experiment
from kernelbandits.experiment.curves import (
    draw_regret,
    draw_seeds_above_zero,
    draw_simple,
    value_range,
)
from kernelbandits.experiment.results import escape_latex
from kernelbandits.experiment.summary import estimate_growth, estimate_mean, estimate_regret

HORIZON, SEEDS = 25, 3


@pytest.fixture(scope="module")
def results():
    return run_experiment(
        ["branin", "ackley4"],
        ["simple-ucb", kb.Contender("A & B_1", "random")],
        horizon=HORIZON,
        seeds=SEEDS,
    )


@pytest.mark.filterwarnings("ignore")
def test_the_frame_has_a_row_for_each_problem_policy_seed_and_round(results):
    frame = results.to_dataframe()
    columns = ["problem", "policy", "seed", "round", "arm", "regret", "simple_regret"]
    assert list(frame.columns) == columns
    assert len(frame) == 2 * 2 * SEEDS * HORIZON
    assert not frame.duplicated(["problem", "policy", "seed", "round"]).any()
    for (problem, policy), rows in frame.groupby(["problem", "policy"]):
        cell = results[problem, policy]
        for name, curve in (
            ("regret", cell.regret),
            ("simple_regret", cell.simple),
            ("arm", cell.arms),
        ):
            wide = rows.pivot_table(index="seed", columns="round", values=name)
            np.testing.assert_array_equal(wide.to_numpy(), curve)


@pytest.mark.parametrize(
    ("every", "rounds"), [(10, [10, 20, 25]), (5, [5, 10, 15, 20, 25]), (99, [25])]
)
def test_rounds_may_be_thinned_and_the_last_one_stays(results, every, rounds):
    assert sorted(results.to_dataframe(every=every)["round"].unique()) == rounds


@pytest.mark.parametrize("every", [0, -1, 1.5, "2", None])
def test_thinning_needs_a_whole_number(results, every):
    with pytest.raises(ValueError, match=r"to_dataframe needs a whole number every >= 1, got"):
        results.to_dataframe(every=every)


def test_the_latex_table_has_the_means_intervals_and_the_best_in_bold(results):
    text = results.to_latex()
    lines = text.splitlines()
    assert lines[0] == r"\begin{tabular}{lrr}"
    assert [lines[1], lines[3], lines[-2]] == [r"\toprule", r"\midrule", r"\bottomrule"]
    assert r"A \& B\_1 & " in text
    table = results.summary().set_index(["problem", "policy"])
    for label, line in zip(results.labels, lines[4:-2], strict=True):
        cells = line.removesuffix(r" \\").split(" & ", 2)[-2:]
        for problem, cell in zip(("branin", "ackley4"), cells, strict=True):
            row = table.loc[problem, label]
            numbers = [float(number) for number in re.findall(r"\d+\.\d+", cell)]
            expected = [row["regret_mean"], row["regret_low"], row["regret_high"]]
            assert numbers == pytest.approx(expected, abs=0.06)
            best = row["regret_mean"] == table.loc[problem]["regret_mean"].min()
            assert cell.startswith(r"\textbf{") == best


def test_the_latex_table_may_be_of_simple_regret_and_of_some_policies(results):
    text = results.to_latex(kind="simple", policies=["Simple-UCB"])
    assert "Simple-UCB" in text
    assert "B_1" not in text
    with pytest.raises(ValueError, match="to_latex needs kind in"):
        results.to_latex(kind="both")
    with pytest.raises(ValueError, match="to_latex needs policies in"):
        results.to_latex(policies=["nobody"])
    with pytest.raises(ValueError, match="at least one policy"):
        results.to_latex(policies=[])


def test_the_latex_table_of_simple_regret_says_how_many_seeds_failed(results):
    text = results.to_latex(kind="simple")
    for problem, policy in [cell.name for cell in results.cells]:
        above = np.count_nonzero(results[problem, policy].simple[:, -1] > 0)
        assert f"] ({above}/{SEEDS})" in text


def test_a_dagger_marks_what_is_worse_by_paired_tests_at_five_percent_of_the_table():
    results = run_experiment(
        ["branin", "hartmann6"], ["simple-ucb", "gp-ts", "random"], horizon=60, seeds=6
    )
    text = results.to_latex(marks=True)
    tests = {}
    for problem in ("branin", "hartmann6"):
        ends = {label: results[problem, label].regret[:, -1] for label in results.labels}
        best = min(ends, key=lambda label: ends[label].mean())
        for label in set(ends) - {best}:
            tests[problem, label] = stats.ttest_rel(ends[label], ends[best]).pvalue
    ranked = sorted(tests, key=tests.get)
    worse = set()
    for place, pair in enumerate(ranked):
        if tests[pair] > 0.05 / (len(ranked) - place):
            break
        worse.add(pair)
    assert len(worse) > 0
    lines = {line.split(" & ")[0]: line.split(" & ") for line in text.splitlines() if " & " in line}
    for label in results.labels:
        for problem, cell in zip(("branin", "hartmann6"), lines[label][1:], strict=True):
            assert ("dagger" in cell) == ((problem, label) in worse)
    assert text.splitlines()[-1].startswith("% $^{\\dagger}$ worse than the least mean: paired t")
    assert "dagger" not in results.to_latex()


def test_the_growth_exponent_is_that_of_a_power_and_its_interval_covers_it():
    rounds = np.arange(1, 301)
    exact = np.outer([1.0, 2.0, 4.0], rounds**0.5)
    growth = estimate_growth(exact)
    assert (growth.value, growth.low, growth.high) == pytest.approx((0.5, 0.5, 0.5))
    generator = np.random.default_rng(1)
    covered = 0
    for _ in range(400):
        steps = generator.gamma(2.0, 1.0, (10, 300)) * rounds**-0.5
        found = estimate_growth(np.cumsum(steps, axis=1))
        sums = np.cumsum(rounds**-0.5)
        covered += found.low <= np.log(sums[-1] / sums[99]) / np.log(3) <= found.high
    # 400 intervals of 95 %: the standard error of the share is 0.011.
    assert covered / 400 == pytest.approx(0.95, abs=0.035)


def test_there_is_no_growth_exponent_without_regret_or_with_few_rounds(results):
    assert np.isnan(estimate_growth(np.zeros((3, 30)))).all()
    assert np.isnan(estimate_growth(np.ones((3, 2)))).all()
    table = results.summary()
    assert (table["regret_growth_low"] <= table["regret_growth"]).all()


def test_letters_that_latex_reads_as_commands_are_escaped():
    assert escape_latex(r"50 % of {x}_1 ~ \y^2") == (
        r"50 \% of \{x\}\_1 \textasciitilde{} \textbackslash{}y\textasciicircum{}2"
    )


def test_one_seed_has_no_interval_in_the_latex_table():
    single = run_experiment("branin", "random", horizon=5, seeds=1)
    assert re.search(r"\\textbf\{\d\.\d\d\} -- \\\\", single.to_latex())


@pytest.mark.thorough
@pytest.mark.parametrize("kind", ["regret", "simple"])
@pytest.mark.parametrize("suffix", ["pdf", "png", "svg"])
def test_a_figure_is_drawn_in_the_format_of_its_name(results, tmp_path, kind, suffix):
    path = tmp_path / f"figure.{suffix}"
    results.plot(path, kind=kind, size=(6.3, 4))
    start = {"pdf": b"%PDF", "png": b"\x89PNG", "svg": b"<?xml"}[suffix]
    assert path.read_bytes().startswith(start)
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


@pytest.mark.thorough
def test_a_figure_has_the_size_asked_for_and_is_the_same_file_twice(results, tmp_path):
    for name in ("one.svg", "two.svg"):
        results.plot(tmp_path / name, size=(6.3, 4))
    text = (tmp_path / "one.svg").read_text()
    assert 'width="453.6pt" height="288pt"' in text
    assert text == (tmp_path / "two.svg").read_text()
    results.plot(str(tmp_path / "one.pdf"))
    first = (tmp_path / "one.pdf").read_bytes()
    results.plot(str(tmp_path / "one.pdf"))
    assert first == (tmp_path / "one.pdf").read_bytes()


@pytest.mark.parametrize(
    ("path", "options", "message"),
    [
        ("figure", {}, "plot needs a file that ends in .png, .svg, .pdf, got"),
        ("figure.gif", {}, "plot needs a file that ends in"),
        ("figure.pdf", {"kind": "both"}, "a figure needs kind in"),
        ("figure.pdf", {"size": (1, 1)}, "a figure needs a size of at least 3.6 x 1.4 inches"),
        ("figure.pdf", {"size": (6, float("nan"))}, "a figure needs a size of two numbers"),
        ("figure.pdf", {"size": (6,)}, "a figure needs a size of two numbers"),
        ("figure.pdf", {"policies": ["nobody"]}, "plot needs policies in"),
    ],
)
def test_a_figure_that_cannot_be_drawn_says_what_it_needs(
    results, tmp_path, path, options, message
):
    with pytest.raises(ValueError, match=re.escape(message)):
        results.plot(tmp_path / path, **options)
    assert not list(tmp_path.iterdir())


def test_a_policy_that_fails_on_some_seeds_is_not_drawn_at_zero():
    """8 of 20 seeds end at 0.5: the median is 0, the mean 0.2 with the interval of 20 numbers."""
    ends = np.repeat([0.5, 0.0], [8, 12])
    curve = np.column_stack([np.full(20, 0.5), ends, ends])
    axis = Figure().subplots()
    draw_simple(axis, {"a": curve}, [], scale=1.0)
    (line,) = axis.lines
    np.testing.assert_allclose(line.get_ydata(), [0.5, 0.2, 0.2])
    (band,) = axis.collections
    heights = band.get_paths()[0].vertices[:, 1]
    half = stats.t.ppf(0.975, 19) * ends.std(ddof=1) / np.sqrt(20)
    assert heights.max() == pytest.approx(0.2 + half)
    assert heights.min() == pytest.approx(0.2 - half)
    draw_seeds_above_zero(axis, {"a": curve}, letters=8.5)
    assert [text.get_text() for text in axis.get_legend().get_texts()] == ["8/20"]


def test_an_interval_of_simple_regret_that_reaches_zero_ends_in_the_strip():
    curve = np.array([[0.5, 0.0], [0.4, 0.0], [0.5, 0.3]])
    axis = Figure().subplots()
    draw_simple(axis, {"a": curve}, [], scale=1.0)
    assert "0" in [tick.get_text() for tick in axis.get_yticklabels()]
    assert axis.lines[0].get_ydata()[-1] == pytest.approx(0.1)
    bottom = axis.get_ylim()[0]
    assert axis.collections[0].get_paths()[0].vertices[:, 1].min() == pytest.approx(bottom)


def test_the_figure_and_the_summary_say_how_many_seeds_end_above_zero(results, tmp_path):
    results.plot(tmp_path / "simple.svg", kind="simple")
    text = (tmp_path / "simple.svg").read_text()
    shares = results.summary().set_index(["problem", "policy"])["simple_regret_above_zero"]
    assert text.count(">seeds &gt; 0<") == len(results.problems)
    for cell in results.cells:
        above = np.count_nonzero(results[cell.name].simple[:, -1] > 0)
        assert shares[cell.name] == pytest.approx(above / len(cell.seeds))
        assert f">{above}/{len(cell.seeds)}<" in text


@pytest.mark.parametrize("kind", ["regret", "simple"])
@pytest.mark.parametrize("size", [None, (6.3, 5.0), "least"])
def test_four_panels_fill_the_figure_and_their_legend_stands_above(tmp_path, kind, size):
    names = ["branin", "ackley4", "hartmann6", "holder-table"]
    four = run_experiment(names, ["random", "simple-ucb"], horizon=3, seeds=2)
    if size == "least":
        with pytest.raises(ValueError, match="a size of at least") as refused:
            four.plot(tmp_path / "none.svg", kind=kind, size=(1.0, 1.0))
        words = re.search(r"at least (\S+) x (\S+) inches", str(refused.value))
        size = float(words[1]), float(words[2])
    drawn = []

    def measure(figure, path, formats):
        figure.canvas.draw()
        drawn.extend(axis.get_title() for axis in figure.axes if axis.axison)
        assert len(figure.axes) == 4
        (legend,) = figure.legends
        box, whole = legend.get_window_extent(), figure.bbox.padded(1)
        assert [text.get_text() for text in legend.get_texts()] == list(four.labels)
        assert box.y0 >= max(axis.title.get_window_extent().y1 for axis in figure.axes) - 1
        assert whole.x0 <= box.x0
        assert box.x1 <= whole.x1
        assert box.y1 <= whole.y1

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelbandits.experiment.results.save", measure)
        four.plot(tmp_path / "four.svg", kind=kind, size=size)
    assert len(drawn) == 4


@pytest.mark.thorough
@pytest.mark.parametrize("size", [None, (6.3, 4), "least"])
@pytest.mark.parametrize("policies", [12, 30])
def test_the_seeds_above_zero_of_many_policies_fit_beside_their_panels(tmp_path, size, policies):
    """Neither the columns nor the legend leave the figure, and no column covers its panel."""
    named = [kb.Contender(f"policy {number}", "random") for number in range(policies)]
    many = run_experiment(["branin", "ackley4"], named, horizon=5, seeds=3)
    if size == "least":
        with pytest.raises(ValueError, match="a size of at least") as refused:
            many.plot(tmp_path / "none.svg", kind="simple", size=(3.6, 1.2))
        words = re.search(r"at least (\S+) x (\S+) inches", str(refused.value))
        size = float(words[1]), float(words[2])
    drawn = {}

    def measure(figure, path, formats):
        figure.canvas.draw()
        whole = figure.bbox.padded(1)
        for axis in figure.axes:
            box = axis.get_legend().get_window_extent()
            drawn[axis.get_title()] = len(axis.get_legend().get_texts())
            assert whole.y0 <= box.y0
            assert box.y1 <= whole.y1
            assert not axis.get_title() or box.x0 >= axis.bbox.x1 - 1
        return ""

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("kernelbandits.experiment.results.save", measure)
        many.plot(tmp_path / "simple.svg", kind="simple", size=size)
    assert list(drawn.values()) == [policies] * 3


def test_a_figure_without_matplotlib_names_the_extra(results, tmp_path, monkeypatch):
    monkeypatch.setattr("kernelbandits.runtime.is_installed", lambda package: False)
    with pytest.raises(ImportError, match=r"^a figure needs matplotlib, .*\[experiments\]"):
        results.plot(tmp_path / "figure.pdf")
    assert not list(tmp_path.iterdir())


def test_zeros_of_simple_regret_have_a_height_of_their_own_for_each_policy():
    curves = {
        label: np.repeat(np.array([[0.5, 0.02, 0.0, 0.0]]), 5, axis=0) for label in ("a", "b", "c")
    }
    axis = Figure().subplots()
    draw_simple(axis, curves, [np.zeros((5, 4))], scale=1.0)
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    ends = [line.get_ydata()[-1] for line in axis.lines]
    assert len(set(ends)) == 4
    assert all(end < 0.01 for end in ends)
    labels = [tick.get_text() for tick in axis.get_yticklabels()]
    assert "0" in labels
    assert "0.1" in labels


def test_simple_regret_without_zeros_has_no_strip():
    axis = Figure().subplots()
    draw_simple(axis, {"a": np.full((3, 6), 0.3)}, [], scale=1.0)
    assert "0" not in [tick.get_text() for tick in axis.get_yticklabels()]
    assert axis.get_ylim() == (0.1, 1.0)


@pytest.mark.parametrize(
    ("values", "ends", "expected"),
    [
        ([0.02, 0.5, 0.0], [0.9], (0.01, 1.0)),
        ([0.02, 0.5, 0.0], [1.2], (0.01, 10.0)),
        ([0.02, 0.5, 0.0], [-np.inf, np.inf], (0.01, 1.0)),
        ([0.02, 0.5, 0.0], [-0.1, 0.005, 0.9], (0.001, 1.0)),
        ([0.02, 0.5, 0.0], [0.0001, 0.9], (0.01, 1.0)),
        ([0.0, 0.0], [0.0], (0.1, 1.0)),
        ([1.0, 1.0], [1.0], (1.0, 10.0)),
    ],
)
def test_the_axis_of_simple_regret_covers_whole_decades(values, ends, expected):
    assert value_range(np.array(values), np.array(ends)) == pytest.approx(expected)


def test_bands_of_cumulative_regret_stay_above_zero():
    curve = np.cumsum(np.array([[0.0, 0.0, 9.0], [0.1, 0.0, 0.0], [0.0, 0.2, 0.0]]), axis=1)
    axis = Figure().subplots()
    draw_regret(axis, {"a": curve}, [], scale=1.0)
    (band,) = axis.collections
    assert band.get_paths()[0].vertices[:, 1].min() == 0


def test_intervals_of_regret_are_cut_at_zero_and_those_of_differences_are_not():
    skewed = np.array([0.0, 0.0, 0.0, 8.0])
    assert estimate_mean(skewed).low < 0
    assert estimate_regret(skewed) == estimate_mean(skewed)._replace(low=0.0)
    sure = np.array([5.0, 5.1, 4.9])
    assert estimate_regret(sure) == estimate_mean(sure)


def test_no_interval_of_the_summary_goes_below_zero(results):
    table = results.summary()
    assert (table[["regret_low", "simple_regret_low"]] >= 0).all(axis=None)


def command(*words, output):
    game = ["--problem", "branin", "--policies", "simple-ucb,random", "--horizon", "6"]
    size = ["--seeds", "2", "--workers", "1", "--engine", "numpy", "--output", str(output)]
    return CliRunner().invoke(app, ["run", *game, *size, *words])


@pytest.mark.thorough
def test_the_command_writes_a_format_and_a_size_besides_the_usual_files(tmp_path):
    done = command("--figure-format", "pdf", "--figure-size", "6.3x4", output=tmp_path)
    assert done.exit_code == 0, done.output or done.exception
    for name in ("regret", "simple-regret"):
        for suffix in ("png", "svg", "pdf"):
            assert (tmp_path / f"{name}.{suffix}").stat().st_size > 1000
    assert 'width="453.6pt" height="288pt"' in (tmp_path / "regret.svg").read_text()
    assert pd.read_csv(tmp_path / "summary.csv").shape[0] == 2


@pytest.mark.parametrize("text", ["6.3", "6x", "axb", "6x4x2", ""])
def test_a_size_that_cannot_be_read_is_refused_before_anything_is_played(tmp_path, text):
    done = command("--figure-size", text, output=tmp_path / "out")
    assert done.exit_code != 0
    assert "--figure-size needs width x height in inches" in str(done.exception)
    assert not (tmp_path / "out").exists()
