"""Kernels of a contender's own, sweeps of settings and their figure, and "all"."""

from __future__ import annotations

import re
from unittest import mock

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import kernelbandits as kb
from kernelbandits.analysis import guarantees
from kernelbandits.apps.cli import app
from kernelbandits.checks import DataNotice
from kernelbandits.experiment import plan_experiment, run_experiment
from kernelbandits.experiment.dry_run import DryRun
from kernelbandits.experiment.premises import premises
from kernelbandits.report.figures.theory import draw_log_dets

GAME = {"horizon": 12, "seeds": 3, "noise_scale": 0.01}


@pytest.fixture(scope="module")
def swept():
    return run_experiment(
        "branin", ["simple-ucb", "auto"], sweep={"lengthscale": [0.05, 0.4]}, **GAME
    )


@pytest.mark.parametrize(
    "entrant",
    [
        "simple-ucb:kernel=matern(0.3,1.5)",
        kb.Contender("rough", "simple-ucb", {"kernel": kb.Matern(0.3, 1.5)}),
        kb.Contender("rough", kb.SimpleUCB, {"kernel": "matern:0.3,1.5"}),
        kb.Contender("rough", "simple-ucb", {"kernel": kb.Matern(1.0, 1.5), "lengthscale": 0.3}),
    ],
)
def test_a_contender_with_a_kernel_plays_as_in_an_experiment_with_that_kernel(entrant):
    results = run_experiment("branin", [entrant, "random"], **GAME)
    alone = run_experiment("branin", "simple-ucb", kernel=kb.Matern(0.3, 1.5), **GAME)
    one, other = results.cells[0], alone.cells[0]
    assert one.key == other.key
    np.testing.assert_array_equal(results.found[one.key].arms, alone.found[other.key].arms)
    assert results.cells[1].kernel == kb.RBF(0.2)


def test_a_lengthscale_changes_only_that_of_the_kernel_of_the_experiment():
    (cell,) = plan_experiment("branin", "gp-ts:lengthscale=0.1", kernel=2.0 * kb.Matern(0.5, 1.5))
    assert cell.kernel == 2.0 * kb.Matern(0.1, 1.5)
    with pytest.raises(ValueError, match="needs a kernel with one setting lengthscale, got Sum"):
        plan_experiment("branin", "gp-ts:lengthscale=0.1", kernel="rbf:0.1+linear")
    with pytest.raises(ValueError, match="auto has no setting 'lengthscale'"):
        plan_experiment("branin", "auto:lengthscale=0.1")


def test_a_lengthscale_that_is_a_setting_of_the_policy_is_left_to_it():
    def own(domain, kernel, *, lengthscale):
        return kb.SimpleUCB(domain, kb.RBF(lengthscale), noise_scale=0.01, norm_bound=1)

    (cell,) = plan_experiment("branin", kb.Contender("own", own, {"lengthscale": 0.1}))
    assert cell.kernel == kb.RBF(0.2)
    assert cell.contender.build(cell.problem.instance(kb.Streams(0)), None).posterior.kernel == (
        kb.RBF(0.1)
    )


def test_a_sweep_plays_every_value_and_a_policy_without_the_setting_once(swept):
    first, second, third = swept.cells
    assert [first.kernel, second.kernel] == [kb.RBF(0.05), kb.RBF(0.4)]
    assert swept.labels == ("Simple-UCB, lengthscale=0.05", "Simple-UCB, lengthscale=0.4", "Auto")
    alone = plan_experiment("branin", "simple-ucb", kernel="rbf:0.4", **GAME)
    assert second.key == alone[0].key
    table = swept.summary()
    assert table["entrant"].tolist() == ["Simple-UCB", "Simple-UCB", "Auto"]
    assert table["lengthscale"].tolist()[:2] == [0.05, 0.4]
    assert np.isnan(table["lengthscale"][2])
    assert third.contender.swept == {}


def test_several_settings_are_combined_and_what_a_policy_was_given_for_itself_stays():
    sweep = {"p": (0.1, 0.5), "noise_scale": [0.01, 1]}
    cells = plan_experiment("branin", ["simple-bernoulli", "simple-ucb:noise_scale=2"], sweep=sweep)
    assert [cell.contender.label for cell in cells] == [
        "Simple-Bernoulli, p=0.1, noise_scale=0.01",
        "Simple-Bernoulli, p=0.1, noise_scale=1",
        "Simple-Bernoulli, p=0.5, noise_scale=0.01",
        "Simple-Bernoulli, p=0.5, noise_scale=1",
        "Simple-UCB (noise_scale=2)",
    ]
    assert [cell.contender.settings["noise_scale"] for cell in cells] == [0.01, 1, 0.01, 1, 2]


def test_a_setting_that_a_policy_needs_may_come_from_the_sweep():
    laws = ["bernoulli:0.5", kb.Gaussian()]
    cells = plan_experiment("branin", "generic-gp", sweep={"exploration": laws})
    played = [cell.contender.settings["exploration"] for cell in cells]
    assert played == [kb.Bernoulli(0.5), kb.Gaussian()]


@pytest.mark.parametrize(
    ("sweep", "message"),
    [
        ({"lengthscal": [0.1]}, "a sweep has no setting 'lengthscal'. Did you mean 'lengthscale'?"),
        ({"ridge": [0.1]}, "a sweep needs a policy that has ridge and none of its own, got"),
        ({"horizon": [5]}, "a sweep needs settings other than the number of rounds, got 'horizon'"),
        ({"lengthscale": "0.1"}, "a sweep needs a list of values of lengthscale, got '0.1'"),
        ({"lengthscale": []}, "a sweep needs at least one value of lengthscale, got []"),
        ({"lengthscale": [0.1, 0.1]}, "a sweep needs each value of lengthscale once, got [0.1]"),
        ([0.1], "a sweep needs a dict of settings and their values"),
    ],
)
def test_a_wrong_sweep_is_refused(sweep, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        run_experiment("branin", "simple-ucb:ridge=1", sweep=sweep, **GAME)


def test_the_figure_of_a_sweep_has_means_over_the_values_and_level_lines(swept, tmp_path):
    figure = swept.plot(tmp_path / "sweep.svg", over="lengthscale")
    axis = figure.axes[0]
    lines = {line.get_label(): line for line in axis.get_lines()}
    assert list(lines) == ["Simple-UCB", "Auto"]
    means = [swept["branin", label].regret[:, -1].mean() for label in swept.labels]
    np.testing.assert_allclose(lines["Simple-UCB"].get_xdata(), [0.05, 0.4])
    np.testing.assert_allclose(lines["Simple-UCB"].get_ydata(), means[:2])
    np.testing.assert_allclose(lines["Auto"].get_ydata(), [means[2]] * 2)
    assert axis.get_xscale() == "log"
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["0.05", "0.4"]
    with pytest.raises(ValueError, match="plot needs over in"):
        swept.plot(over="ridge")


def test_values_that_are_no_numbers_stand_one_by_one():
    kernels = [kb.RBF(0.1), kb.Matern(0.1)]
    results = run_experiment("branin", "simple-ucb", sweep={"kernel": kernels}, **GAME)
    axis = results.plot(over="kernel").axes[0]
    assert axis.get_lines()[0].get_xdata().tolist() == [0, 1]
    assert [tick.get_text() for tick in axis.get_xticklabels()] == [str(one) for one in kernels]


def test_a_value_may_be_a_list():
    weights = [[0.25, 0.75], [0.5, 0.5]]
    results = run_experiment("branin", "simple-categorical", sweep={"weights": weights}, **GAME)
    axis = results.plot(over="weights").axes[0]
    assert [tick.get_text() for tick in axis.get_xticklabels()] == ["(0.25, 0.75)", "(0.5, 0.5)"]


@pytest.mark.parametrize("legend", ["above", "below", "right", "none", "auto"])
@pytest.mark.parametrize("grid", [{"rows": 1}, {"columns": 2}, {"rows": 2, "columns": 2}, {}])
def test_rows_columns_and_legend_are_as_chosen_and_nothing_leaves_the_figure(legend, grid):
    names = ["branin", "ackley4", "hartmann6"]
    results = run_experiment(names, ["random", "simple-ucb"], horizon=3, seeds=2)
    figure = results.plot(size=(7.5, 5.5), legend=legend, **grid)
    figure.canvas.draw()
    panels = [axis for axis in figure.axes if axis.axison]
    assert len(panels) == 3
    rows = len({round(axis.get_position().y0, 6) for axis in panels})
    columns = len({round(axis.get_position().x0, 6) for axis in panels})
    if grid:
        assert (rows, columns) == ((1, 3) if grid == {"rows": 1} else (2, 2))
    if legend in ("above", "below", "right"):
        (drawn,) = figure.legends
        box, whole = drawn.get_window_extent(), figure.bbox.padded(1)
        boxes = [axis.get_tightbbox() for axis in panels]
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1
        assert not any(box.overlaps(one) for one in boxes)
    elif legend == "none":
        assert not figure.legends
        assert len([axis for axis in figure.axes if axis.get_legend()]) == 0


@pytest.mark.parametrize(
    ("size", "options"),
    [((6.5, 5.0), {"legend": "right"}), ((9.0, 7.0), {"kind": "simple"}), (None, {})],
)
def test_long_titles_meet_no_other_title_and_stay_inside_the_figure(size, options):
    late = "delayed:problem=contextual(problem=hartmann6,size=2),delay=2"
    drifting = "delayed:problem=drifting(problem=gp,motion=markov(0.01)),delay=2"
    results = run_experiment(["branin", late, drifting], "random", horizon=3, seeds=2)
    figure = results.plot(size=size, columns=3, **options)
    figure.canvas.draw()
    panels = [axis for axis in figure.axes if axis.axison]
    titles = [axis.title.get_window_extent() for axis in panels]
    whole = figure.bbox.padded(1)
    for place, box in enumerate(titles):
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1
        assert not any(box.overlaps(other) for other in titles[place + 1 :])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows": 1, "columns": 1}, "a figure needs rows x columns >= 2, got '1 x 1'"),
        ({"rows": 0}, "a figure needs a whole number rows >= 1, got 0"),
        ({"legend": "inside"}, "a figure needs legend in"),
    ],
)
def test_a_grid_that_is_too_small_is_refused(options, message):
    results = run_experiment(["branin", "ackley4"], "random", horizon=3, seeds=2)
    with pytest.raises(ValueError, match=re.escape(message)):
        results.plot(**options)


def test_what_was_not_swept_and_what_was_not_tested_is_said():
    results = run_experiment("branin", ["random", "simple-ucb"], horizon=3, seeds=1)
    with pytest.raises(ValueError, match="plot needs results of a sweep"):
        results.plot(over="lengthscale")
    assert "no marks: a paired t test needs at least two seeds" in results.to_latex(marks=True)


def test_proved_bounds_are_drawn_above_the_regret_of_their_policies():
    known = {"noise_scale": 0.0001, "norm_bound": 3, "ridge": 0.001}
    results = run_experiment("branin", ["simple-ucb", "random"], horizon=60, seeds=2, **known)
    found = guarantees(results)
    axis = results.plot(bounds=found).axes[0]
    bound = found["branin"][0]
    drawn = [line for line in axis.get_lines() if len(line.get_xdata()) == len(bound.horizons)]
    (line,) = [line for line in drawn if np.array_equal(line.get_ydata(), bound.proved.value)]
    assert line.get_color() == axis.get_lines()[0].get_color()
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    assert axis.get_ylim()[1] > bound.proved.value.max()
    assert "proved bound" in [text.get_text() for text in results_legend(axis.figure)]
    with pytest.raises(ValueError, match="a figure needs a policy whose regret bound is proved"):
        results.plot(bounds=found, policies=["Uniform random"])
    with pytest.raises(ValueError, match='a figure needs kind "regret" for bounds'):
        results.plot(bounds=found, kind="simple")


def results_legend(figure):
    legends = [*figure.legends, *(axis.get_legend() for axis in figure.axes if axis.get_legend())]
    return legends[0].get_texts()


def test_a_bound_and_a_premise_are_those_of_the_kernel_that_was_played():
    sweep = {"lengthscale": [0.1, 0.5]}
    results = run_experiment("branin", "simple-ucb", sweep=sweep, **GAME)
    both = guarantees(results)["branin"]
    for length, found in zip(sweep["lengthscale"], both, strict=True):
        alone = run_experiment("branin", "simple-ucb", kernel=kb.RBF(length), **GAME)
        (one,) = guarantees(alone)["branin"]
        np.testing.assert_array_equal(found.gain, one.gain)
        np.testing.assert_array_equal(found.proved.bound, one.proved.bound)
    sentences = " ".join(premises(results))
    assert "under RBF(lengthscale=0.1)" in sentences
    assert "under RBF(lengthscale=0.5)" in sentences


def test_the_figure_of_the_theory_has_the_ceiling_of_every_kernel():
    sweep = {"lengthscale": [0.1, 0.5]}
    results = run_experiment("branin", ["simple-ucb", "random"], sweep=sweep, **GAME)
    axis = Figure().subplots()
    found = guarantees(results)["branin"]
    draw_log_dets(axis, found, results.labels)
    drawn = [line for line in axis.get_lines() if len(line.get_xdata()) == len(found[0].horizons)]
    ceilings = {tuple(line.get_ydata()) for line in drawn}
    assert ceilings == {tuple(2 * item.gain) for item in found}
    assert len(drawn) == 2


def test_all_stands_for_the_catalogue_and_names_those_that_cannot_play():
    trial = DryRun(["simple-ucb", "random"], {}, {"oful": "OFUL needs a linear kernel"})
    with (
        mock.patch("kernelbandits.experiment.runner.try_policies", return_value=trial) as tried,
        pytest.warns(DataNotice, match="left out oful: OFUL needs a linear kernel"),
    ):
        cells = plan_experiment("branin", ["ucb1", "all"], horizon=5, seeds=2)
    assert [cell.contender.label for cell in cells] == ["UCB1", "Simple-UCB", "Uniform random"]
    names, optional = tried.call_args.args[0], tried.call_args.kwargs["optional"]
    assert names == optional
    assert "generic-gp" not in names
    assert "auto" in names


def test_the_command_sweeps_and_writes_the_figure(tmp_path):
    game = [
        "--problem",
        "branin",
        "--policies",
        "simple-ucb,ucb1",
        "--horizon",
        "6",
        "--seeds",
        "2",
    ]
    sweep = ["--sweep", "lengthscale=0.05,0.4", "--sweep", "kernel=rbf(0.2),matern(0.2,1.5)"]
    words = ["run", *game, *sweep, "--workers", "1", "--engine", "numpy"]
    done = CliRunner().invoke(app, [*words, "--output", str(tmp_path)])
    assert done.exit_code == 0, done.output or done.exception
    assert (tmp_path / "sweep-lengthscale.png").exists()
    assert (tmp_path / "sweep-kernel.svg").exists()
    assert "Sweep of lengthscale" in (tmp_path / "report.html").read_text()
    table = (tmp_path / "summary.csv").read_text()
    assert "lengthscale=0.4, kernel=Matern(lengthscale=0.2, nu=1.5)" in table.replace("\\", "")
