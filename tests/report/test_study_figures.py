"""A study as figures and as a page: right numbers, readable labels, text that stays text, whole files."""

from __future__ import annotations

import math
import os
import re
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest

import kernelbandits as kb
from conftest import run_command, with_long
from kernelbandits.checks import StudyConflict
from kernelbandits.report.studies import draw_study
from kernelbandits.report.studies.columns import category_groups
from kernelbandits.report.studies.curves import best_average, gaps
from kernelbandits.report.studies.drawing import select_drawings
from kernelbandits.report.studies.figures import STUDY_FIGURES
from kernelbandits.report.studies.methods import describe_methods
from kernelbandits.report.studies.page import study_page
from kernelbandits.report.studies.posterior import label_of
from kernelbandits.report.studies.sheets import (
    Drawing,
    blank_figure,
    render_svg,
    render_with_marks,
    shorten,
)
from kernelbandits.report.studies.targets import best_so_far
from kernelbandits.report.studies.ternary import triangles_between
from kernelbandits.report.studies.truth import read_truth
from kernelbandits.report.studies.view import read_view, study_name
from kernelbandits.study.mixtures import find_shares

DOCS = Path(__file__).parents[2] / "docs" / "studies" / "results.md"
GRID = pd.DataFrame(
    [(float(a), float(b)) for a in range(4) for b in range(3)], columns=["T (°C)", "p [bar]"]
)
LINE = pd.DataFrame({"T (°C)": np.linspace(20.0, 80.0, 15)})
SOLVENTS = pd.DataFrame(
    [
        (solvent, base)
        for solvent in ("water", "ethanol", "dimethylformamide")
        for base in ("NaOH", "K2CO3", "DBU")
    ],
    columns=["solvent", "base"],
)
MIXED = pd.DataFrame(
    [(float(t), float(p), s) for t in range(3) for p in range(3) for s in ("water", "DMF")],
    columns=["T", "p", "solvent"],
)
DECADES = pd.DataFrame(
    [(10.0**a, 2.0**b, c) for a in range(-5, 1) for b in range(3) for c in (0.5, 0.9)],
    columns=["dose", "equivalents", "pressure"],
)
SIMPLEX = pd.DataFrame(
    [(a / 4, b / 4, 1 - (a + b) / 4) for a in range(5) for b in range(5 - a)],
    columns=["Cs", "FA", "MA"],
)
CLOUD = pd.DataFrame(np.random.default_rng(0).random((60, 8)), columns=list("abcdefgh"))
EVIL = "<img src=x onerror=alert(1)> & $x_1$ \"quoted\" 'too'" + " and very long" * 6
SCRIPT = "--></svg><script>alert(2)</script> (mol · L⁻¹)"
RULE = {"policy": "simple-bernoulli", "settings": {"noise_scale": 0.5, "norm_bound": 2.0}}


@pytest.fixture
def made(tmp_path):
    """made(table, results, ...): a study with these results, (row, value) or (row, None) for a failure, and asks."""

    def made(table, results=(), asks=0, name="films", target="yield (%)", **settings):
        study = kb.Study.create(tmp_path / f"{name}.db", table, target=target, **settings)
        for row, value in results:
            study.tell(row=row, value=value, failed=value is None)
        if asks:
            study.ask(asks, worker="anna")
        return study

    return made


def played(study, worth, rounds=6):
    """Ask and tell without noise."""
    for _ in range(rounds):
        [suggestion] = study.ask()
        study.tell(suggestion.trial, float(worth[suggestion.row]))
    return study


class Page(HTMLParser):
    """Tags, attributes and text of a page."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str]] = []
        self.text = ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += [(name, value or "") for name, value in attrs]

    def handle_data(self, data):
        self.text += data


def plot_help() -> str:
    """What `kernelbandits study plot --help` says, on one line."""
    return " ".join(run_command("study", "plot", "--help").stdout.split())


def titles(study, what="posterior", **more):
    return [one.title for one in select_drawings(read_view(study, **more), what)]


def texts_of(one: Drawing, narrow=False):
    """The texts that a drawing draws, their boxes and whether they are turned, and the box of the figure."""
    from matplotlib.text import Text

    drawn, draw = [], Text.draw

    def recorded(text, renderer, *more, **others):
        if text.get_visible() and text.get_text().strip():
            turned = text.get_rotation() % 90 != 0
            drawn.append((text.get_text(), text.get_window_extent(renderer), turned))
        return draw(text, renderer, *more, **others)

    with blank_figure(one.height) as figure, pytest.MonkeyPatch.context() as patch:
        (one.place_narrow if narrow else one.place)(figure)
        patch.setattr(Text, "draw", recorded)
        figure.draw_without_rendering()
        return drawn, figure.bbox.padded(1)


def assert_readable(drawings, narrow=False):
    for one in drawings:
        boxes, figure = texts_of(one, narrow)
        for text, box, _ in boxes:
            inside = (
                figure.x0 <= box.x0
                and box.x1 <= figure.x1
                and figure.y0 <= box.y0
                and box.y1 <= figure.y1
            )
            assert inside, f"{one.title}: {text!r} leaves the figure"
        for (first, a), (second, b) in combinations(
            [(text, box) for text, box, turned in boxes if not turned], 2
        ):
            assert not a.padded(-1).overlaps(b.padded(-1)), (
                f"{one.title}: {first!r} lies on {second!r}"
            )


@pytest.mark.parametrize("name", ["films.jpg", "films", "films.html.gz"])
def test_another_suffix_is_refused_before_anything_is_read(tmp_path, name):
    with pytest.raises(ValueError, match=r"^plot needs \.png, \.svg, \.pdf or \.html, got"):
        draw_study(None, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r"^plot needs a folder that exists, got"):
        draw_study(None, tmp_path / "nowhere" / "films.png")


def test_an_unknown_kind_is_refused_and_the_known_ones_are_named(made, tmp_path):
    with pytest.raises(
        ValueError,
        match=r"^plot needs what in \('next', 'progress', 'targets', 'hypervolume', 'regret', 'check', 'depe",
    ):
        draw_study(made(LINE, [(0, 1.0)]), tmp_path / "films.png", what="everything")


def test_the_table_of_the_docs_is_the_declaration():
    lines = [f"| `{one.name}` | {one.help} |" for one in STUDY_FIGURES]
    wanted = "\n".join(["| what | shows |", "|---|---|", *lines, "| `all` | all that apply |"])
    assert wanted in DOCS.read_text("utf-8"), f"docs/studies needs this table:\n\n{wanted}"


@pytest.mark.parametrize("name", [one.name for one in STUDY_FIGURES])
def test_every_figure_is_described_and_drawn_or_refused_in_words(made, name):
    [one] = (one for one in STUDY_FIGURES if one.name == name)
    assert f"{name}: {one.help}" in plot_help()
    study = played(made(LINE, **RULE), np.arange(15.0), 9)
    view = read_view(study, truth=range(15))
    if one.has_data(view):
        found = [drawing.title for drawing in one.draw(view)]
        assert found
        assert set(found) <= set(titles(study, "all", truth=range(15)))
    else:
        with suppress(StudyConflict):
            assert one.draw(view)


def test_without_matplotlib_one_sentence_says_what_to_install(made, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ValueError, match=re.escape('pip install ".[experiments]"')):
        draw_study(made(LINE, [(0, 1.0)]), tmp_path / "films.html")


def test_only_a_page_needs_jinja2(made, tmp_path, monkeypatch):
    study = made(LINE, [(0, 1.0)])
    monkeypatch.setitem(sys.modules, "jinja2", None)
    assert draw_study(study, tmp_path / "films.svg", "progress").exists()
    with pytest.raises(ValueError, match=re.escape('pip install ".[experiments]"')):
        draw_study(study, tmp_path / "films.html")
    assert not (tmp_path / "films.html").exists()


@pytest.mark.thorough
def test_importing_the_module_imports_neither_matplotlib_nor_jinja2():
    code = (
        "import sys, kernelbandits.report.studies; "
        "sys.exit(bool({'matplotlib', 'jinja2'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.thorough
def test_the_suffix_says_what_is_written_and_its_path_comes_back(made, tmp_path):
    study = made(LINE, [(0, 1.0), (5, 2.0)])
    png, svg, page, pdf = (
        draw_study(study, tmp_path / f"films.{kind}") for kind in ("PNG", "svg", "html", "pdf")
    )
    assert pdf.read_bytes().startswith(b"%PDF")
    assert png == tmp_path / "films.PNG"
    assert png.read_bytes().startswith(b"\x89PNG\r\n")
    assert ElementTree.parse(svg).getroot().tag.endswith("svg")
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.thorough
def test_the_same_study_gives_the_same_bytes(made, tmp_path):
    study = made(GRID, [(0, 1.0), (5, 2.0)], asks=1)
    for kind in ("svg", "png"):
        first, second = (
            draw_study(study, tmp_path / f"{name}.{kind}", "progress").read_bytes() for name in "ab"
        )
        assert first == second


def test_an_old_file_stays_whole_when_writing_fails(made, tmp_path, monkeypatch):
    study, path = made(LINE, [(0, 1.0)]), tmp_path / "films.svg"
    path.write_text("old")

    def full(handle):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(kb.storage.StorageError, match="space"):
        draw_study(study, path, "progress", force=True)
    assert path.read_text() == "old"
    assert {one.name for one in tmp_path.iterdir()} - {"films.db-journal"} == {
        "films.db",
        "films.svg",
    }


@pytest.mark.thorough
def test_the_settings_of_the_caller_s_matplotlib_stay(made, tmp_path):
    import matplotlib as mpl

    with mpl.rc_context({"font.size": 23.0, "axes.grid": False}):
        before = dict(mpl.rcParams)
        draw_study(made(LINE, [(0, 1.0)]), tmp_path / "films.png")
        assert dict(mpl.rcParams) == before


@pytest.mark.thorough
def test_all_text_of_a_study_stays_text_on_the_page(made, tmp_path):
    table = SIMPLEX.rename(columns={"Cs": EVIL, "FA": "a\nb‮c"})
    table["solvent"] = ["<b>wet</b>", "dry", "javascript:alert(3)"] * 5
    study = made(table, [(0, 1.0), (3, 2.0)], asks=1, target=SCRIPT)
    page = Page(draw_study(study, tmp_path / "films.html", trial=3))
    assert not {"script", "img", "b", "a", "iframe", "link", "object"} & set(page.tags)
    assert not [name for name, _ in page.attributes if name.startswith("on")]
    for text in (EVIL.strip(), SCRIPT, "<b>wet</b>"):
        assert text in page.text


@pytest.mark.thorough
def test_the_page_fetches_nothing(made, tmp_path):
    """Also where marks are many enough to be an image inside."""
    table = pd.DataFrame(
        [(float(a), float(b)) for a in range(50) for b in range(50)], columns=["a", "b"]
    )
    study = made(table, [(0, 1.0), (30, 2.0)], **RULE)
    page = Page(draw_study(study, tmp_path / "films.html"))
    links = [
        value
        for name, value in page.attributes
        if name in ("src", "href", "xlink:href", "srcset", "data")
    ]
    assert any(value.startswith("data:image/png;base64,") for value in links)
    assert all(value.startswith(("#", "data:image/png;base64,")) for value in links)
    assert not re.findall(r"url\((?!#)", (tmp_path / "films.html").read_text(encoding="utf-8"))
    assert "@import" not in (tmp_path / "films.html").read_text(encoding="utf-8")


def test_dollars_in_a_name_are_dollars(made, tmp_path):
    study = made(LINE, [(0, 1.0), (3, 2.0)], target="$x_1$ in $^2$")
    text = draw_study(study, tmp_path / "films.svg", "progress").read_text(encoding="utf-8")
    assert ">$x_1$ in $^2$</text>" in text


def test_neither_folders_nor_servers_nor_passwords_are_on_the_page(made, tmp_path):
    assert study_name("/home/anna/secret/films.db") == "films"
    assert study_name("sqlite:////home/anna/secret/films.db") == "films"
    assert study_name("postgresql://anna:***@host/lab?study=films&host=/run/x") == "films"
    assert study_name("postgresql://anna@host/lab") == "lab"
    page = Page(draw_study(made(LINE, [(0, 1.0)]), tmp_path / "films.html"))
    assert str(tmp_path) not in page.text


@pytest.mark.thorough
def test_the_page_answers_what_one_asks_of_a_study(made, tmp_path):
    results = [(0, 1.0), (7, 5.0), (7, 5.5), (3, 2.0), (5, 4.0), (9, None)]
    study = made(LINE, results, asks=1, direction="minimize", tolerance=0.5)
    status = study.status()
    text = Page(draw_study(study, tmp_path / "films.html")).text
    for sentence in (
        "films: which candidate has the lowest yield (%)?",
        "5 results of 4 rows; 1 pending, 1 failed, 0 withdrawn (7 trials)",
        f"row {status.best.row} (T (°C) ",
        status.best.sentence,
        status.stop.sentence,
        status.claim,
        status.units,
        status.policy,
        study.candidates.fingerprint,
        "95 % interval of the estimate, not of a new measurement",
        "All 7 trials",
        "asked for by anna",
    ):
        assert sentence in text, sentence


@pytest.mark.thorough
def test_the_page_of_a_study_with_few_results_says_that_it_is_too_early(made, tmp_path):
    study = made(LINE, [(0, 1.0), (7, 5.0)])
    text = Page(draw_study(study, tmp_path / "films.html")).text
    assert f"too early to say: {study.best().early}. Best estimate so far: row " in text
    assert "best with probability" not in text


@pytest.mark.thorough
def test_every_trial_is_in_the_table_with_its_value(made, tmp_path):
    results = [(row, 1000000.5 + row) for row in range(8)]
    text = Page(draw_study(made(LINE, results), tmp_path / "films.html")).text
    for _, value in results:
        assert f"{value:.8g}" in text


@pytest.mark.thorough
def test_a_trial_asked_about_is_marked_and_explained(made, tmp_path):
    study = played(made(GRID, **RULE), np.arange(12.0))
    page = Page(draw_study(study, tmp_path / "films.html", trial=4))
    assert study.explain(4).sentence in page.text
    assert "Trial 4" in page.text
    kinds = ("progress", "dependence", "posterior", "weights")
    marked = [one for kind in kinds for one in select_drawings(read_view(study), kind)]
    assert page.text.count("trial 4") >= len(marked)


def test_a_trial_that_nobody_asked_for_is_refused(made, tmp_path):
    with pytest.raises(kb.StudyConflict, match="trial 9"):
        draw_study(made(LINE, [(0, 1.0)]), tmp_path / "films.png", trial=9)
    assert not (tmp_path / "films.png").exists()


def test_regret_without_the_truth_is_refused_in_a_sentence(made, tmp_path):
    with pytest.raises(
        ValueError,
        match=r"^plot needs the true values \(truth\) for \"regret\", got None",
    ):
        draw_study(made(LINE, [(0, 1.0)]), tmp_path / "films.png", what="regret")


def test_the_truth_may_come_as_mapping_list_column_frame_or_file(made, tmp_path):
    worth = [3.0, 1.0, 2.0]
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0], "yield": worth})
    study, none = made(table, target="yield"), np.array([], dtype=np.int64)
    file, numbered = tmp_path / "truth.csv", tmp_path / "numbered.csv"
    file.write_text("\ufeffx;yield\n1;3,0\n2;1,0\n3;2,0\n", encoding="utf-8")
    numbered.write_text("row,yield\n2,2\n0,3\n1,1\n")
    for truth in (
        {0: 3.0, 1: 1.0, 2: 2.0},
        worth,
        np.array(worth),
        pd.Series(worth),
        table,
        pd.DataFrame({"row": [1, 0, 2], "yield": [1.0, 3.0, 2.0]}),
        "yield",
        file,
        str(numbered),
    ):
        assert read_truth(study, truth, none).tolist() == worth


@pytest.mark.parametrize(
    ("truth", "sentence"),
    [
        ({0: 1.0, 1: 2.0}, "a value for every row that is allowed or measured, got none for row 2"),
        ({0: 1.0, 1: 2.0, 3: 1.0}, "truth needs rows from 0 to 2, got 3"),
        ([1.0, 2.0], "one value for each of the 3 rows, got '2 values'"),
        ([1.0, math.nan, 2.0], "got none for row 1"),
        ([1.0, math.inf, 2.0], "truth needs a finite number for row 1, got inf"),
        ([1.0, "2", 2.0], "truth needs a finite number for row 1, got '2'"),
        ("nowhere.csv", "truth needs the true values as row -> value"),
        (3.0, "truth needs the true values as row -> value"),
        (pd.DataFrame({"other": [1.0, 2.0, 3.0]}), "truth needs a column 'yield (%)', got 'other'"),
        ("words", "truth needs numbers, got 'b' in row 1"),
    ],
    ids=lambda item: item if isinstance(item, str) else type(item).__name__,
)
def test_a_truth_that_does_not_fit_is_refused_with_its_place(made, truth, sentence):
    study = made(pd.DataFrame({"x": [1.0, 2.0, 3.0], "words": ["1", "b", "c"]}), columns=["x"])
    with pytest.raises(ValueError, match=re.escape(sentence)):
        read_truth(study, truth, np.array([], dtype=np.int64))


def test_the_truth_of_a_row_not_allowed_may_be_missing_until_it_is_measured(made):
    study = made(pd.DataFrame({"x": [1.0, 2.0, 3.0], "ok": [1, 1, 0]}), allowed="ok")
    assert math.isnan(read_truth(study, {0: 1.0, 1: 2.0}, np.array([0]))[2])
    with pytest.raises(ValueError, match="got none for row 2"):
        read_truth(study, {0: 1.0, 1: 2.0}, np.array([2]))


@pytest.mark.parametrize(
    ("direction", "lost"), [("maximize", [4.0, 0.0, 3.0]), ("minimize", [0.0, 4.0, 1.0])]
)
def test_a_gap_is_what_a_row_loses_against_the_best_one_allowed(made, direction, lost):
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0, 5.0], "ok": [1, 1, 1, 0, 0]})
    study = made(table, direction=direction, allowed="ok")
    assert gaps(read_view(study, truth=[1.0, 5.0, 2.0, 99.0, -99.0]))[:3].tolist() == lost


def test_the_regret_drawn_is_the_sum_of_the_gaps_and_the_gap_of_the_best_estimate(made):
    worth = np.array([1.0, 5.0, 2.0, 4.0])
    study = played(made(pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]}), **RULE), worth, 5)
    view = read_view(study, truth=worth)
    [one] = select_drawings(view, "regret")
    with blank_figure(one.height) as figure:
        one.place(figure)
        left, right = (axis.lines for axis in figure.axes)
        rows, greedy = (
            view.trials.row,
            [event.body["greedy"] for event in study.history() if event.kind == "asked"],
        )
        assert left[0].get_ydata().tolist() == np.cumsum(5.0 - worth[rows]).tolist()
        assert greedy[0] is None
        assert right[0].get_ydata().tolist() == (5.0 - worth[greedy[1:]]).tolist()
        assert right[0].get_xdata().tolist() == [2, 3, 4, 5]
        assert right[1].get_ydata() == 5.0 - worth[study.best().row]


@pytest.mark.parametrize(
    ("sign", "expected"), [(1, [4.0, 6.0, 6.0, 5.0, 4.5]), (-1, [-4.0, -6.0, -6.0, -5.0, -4.5])]
)
def test_the_best_average_is_over_the_results_of_alike_rows(made, sign, expected):
    """Rows 1 and 2 are one candidate: 6, then (6 + 4) / 2, then (6 + 4 + 3.5) / 3."""
    table = pd.DataFrame({"x": [1.0, 2.0, 2.0]})
    results = [(0, 4.0), (1, 6.0), (0, 4.0), (2, 4.0), (1, 3.5)]
    direction = "maximize" if sign > 0 else "minimize"
    view = read_view(
        made(table, [(row, sign * value) for row, value in results], direction=direction)
    )
    assert best_average(view) == pytest.approx(expected)
    assert view.estimates.results.tolist() == [2, 3]
    assert view.estimates.average == pytest.approx([sign * 4.0, sign * 4.5])


def test_withdrawn_and_failed_trials_do_not_count_and_corrected_ones_count_anew(made):
    study = made(LINE, [(0, 1.0), (1, 9.0), (2, None), (3, 2.0)])
    study.withdraw(2)
    study.correct(4, 3.0)
    view = read_view(study)
    assert view.trials.state.tolist() == ["told", "withdrawn", "failed", "told"]
    assert best_average(view).tolist() == [1.0, 3.0]


def test_the_ranking_is_that_of_the_estimates_allowed_each_candidate_once(made):
    table = pd.DataFrame({"x": [0.0, 0.5, 1.0, 1.0, 0.5], "ok": [1, 0, 1, 1, 1]})
    study = made(table, [(0, 1.0), (1, 9.0), (2, 2.0), (3, 2.2)], allowed="ok", **RULE)
    view, frame = read_view(study), study.estimates()
    order = [0, 4, 2]
    assert sorted(view.estimates.row[view.ranking].tolist()) == sorted(order)
    means = view.estimates.mean[view.ranking]
    assert (np.diff(means) <= 0).all()
    rows = view.estimates.row[view.ranking]
    assert means.tolist() == frame.set_index("row")["mean"].loc[rows].tolist()
    assert view.estimates.row[view.best] == study.best().row


def test_a_minimum_is_ranked_from_below(made):
    view = read_view(made(LINE, [(0, 1.0), (14, 5.0)], direction="minimize", **RULE))
    assert (np.diff(view.estimates.mean[view.ranking]) >= 0).all()
    assert view.ranking[0] == view.best


def test_intervals_drawn_are_those_of_the_estimates(made):
    study = made(LINE, [(0, 1.0), (7, 5.0), (9, 4.0)], **RULE)
    view, frame = read_view(study), study.estimates()
    one = next(one for one in select_drawings(view, "posterior") if one.title == "Posterior")
    with blank_figure(one.height) as figure:
        one.place(figure)
        band = figure.axes[0].collections[0].get_paths()[0].vertices
        assert band[:, 1].min() == pytest.approx(frame["low"].min())
        assert band[:, 1].max() == pytest.approx(frame["high"].max())
        assert figure.axes[0].lines[0].get_ydata() == pytest.approx(frame["mean"].to_numpy())


def test_the_bonus_drawn_is_the_one_explained(made):
    study = played(made(GRID, centre=5.0, spread=2.0, **RULE), np.arange(12.0))
    [one] = select_drawings(read_view(study), "weights")
    explained = [study.explain(trial) for trial in range(1, 7)]
    with blank_figure(one.height) as figure:
        one.place(figure)
        left, right = (np.asarray(axis.collections[-1].get_offsets())[:, 1] for axis in figure.axes)
        assert left.tolist() == [one.weight for one in explained]
        assert right[1:] == pytest.approx([one.bonus for one in explained[1:]])


def test_weights_are_refused_where_the_rule_draws_none(made, tmp_path):
    study = made(LINE, [(0, 1.0)])
    with pytest.raises(
        kb.StudyConflict,
        match="the exploration weights need trials that were asked of a rule that draws them",
    ):
        draw_study(study, tmp_path / "films.png", what="weights")
    assert "Exploration weights" not in titles(study, "all")


def test_all_is_all_that_applies(made):
    def named(study, **more):
        drawn = titles(study, "all", **more)
        return [title for title in drawn if title in {*first, "Regret", *usual}]

    study = played(made(LINE, **RULE), np.arange(15.0), 3)
    first, usual = ["What to measure next", "Results over time"], ["Predicted against measured"]
    usual += ["Posterior", "Best candidates", "Exploration weights"]
    assert named(study) == [*first, *usual]
    assert named(study, truth=range(15)) == [*first, "Regret", *usual]
    study = played(study, np.arange(15.0), 6)
    usual[:1] = ["Predicted against measured, and which columns matter", "Partial dependence"]
    assert named(study) == [*first, *usual]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (LINE, ["Posterior"]),
        (GRID, ["Map of the estimate"]),
        (SOLVENTS, ["Map of the estimate"]),
        (SOLVENTS[["base"]].drop_duplicates(), []),
        (MIXED.drop(columns="p").drop_duplicates(), ["Posterior"]),
        (MIXED, ["Map of the estimate"]),
        (SIMPLEX, ["Map of the estimate"]),
        (CLOUD, ["Map of the estimate"]),
        (LINE[:1], []),
    ],
    ids=[
        "1-d",
        "2-d",
        "two categories",
        "one category",
        "number and category",
        "mixed",
        "3-d",
        "8-d",
        "one candidate",
    ],
)
def test_the_posterior_is_drawn_as_the_columns_allow(made, table, expected):
    results = [(0, 1.0), (1, 2.0)][: len(table)]
    study = made(table.reset_index(drop=True), results, asks=1)
    assert titles(study) == [*expected, "Best candidates"]
    *_, last = select_drawings(read_view(study), "posterior")
    assert "the 95 % interval of the estimate, not of a new measurement" in last.caption


def test_a_line_is_drawn_for_each_combination_of_categories(made):
    view = read_view(made(MIXED.drop(columns="p").drop_duplicates().reset_index(drop=True)))
    assert {name: len(places) for name, places in category_groups(view).items()} == {
        "water": 3,
        "DMF": 3,
    }


@pytest.mark.thorough
def test_rows_are_called_by_their_labels(made, tmp_path):
    names = [f"Probe {row:03d}" for row in range(1, 16)]
    table = LINE.assign(**{"Nr.": range(1, 16), "sample": names})
    study = made(table, [(4, 2.0), (5, 1.0)], asks=1)
    view = read_view(study)
    best, waiting = study.status().best, study.status().waiting[0]
    assert label_of(view, 4) == "Probe 005 (37.1429)"
    text = Page(draw_study(study, tmp_path / "films.html")).text
    assert f"{names[best.row]} (Nr. {best.row + 1}, T (°C) " in text
    row = f"{names[waiting.row]} (Nr. {waiting.row + 1}, T (°C) "
    assert f"trial 3, {row}" in text
    markup = study_page(view, [])
    assert markup.count('<th class="text">Nr.</th><th class="text">sample</th>') == 3
    assert '<td>1</td><td>4</td><td class="text">5</td><td class="text">Probe 005</td>' in markup
    assert '<td class="text">told</td><td>2</td>' in markup
    assert_readable(select_drawings(view, "all"))


def test_long_labels_leave_room_for_what_describes_the_row(made):
    table = LINE.assign(
        sample=[f"a sample with a very long name, number {row}" for row in range(15)]
    )
    view = read_view(made(table, [(4, 2.0)]))
    assert label_of(view, 4) == "a sample with a ver… (37.1429)"
    assert_readable(select_drawings(view, "posterior"))


def test_the_page_says_as_of_when_it_is_by_the_newest_event(made, tmp_path):
    study = made(LINE, [(0, 1.0)])
    study.withdraw(1)
    newest = datetime.fromtimestamp(study.history()[-1].at, UTC)
    assert (
        f"As of {newest:%Y-%m-%d %H:%M:%S} UTC. A table of"
        in Page(draw_study(study, tmp_path / "films.html")).text
    )


@pytest.mark.parametrize(("asks", "ending"), [(20, ""), (23, "; ... and 3 more")])
def test_a_long_list_of_pending_trials_says_how_many_more(made, asks, ending):
    table = pd.DataFrame({"a": np.arange(30.0)})
    text = study_page(read_view(made(table, asks=asks)), [])
    line = re.search('<td class="text">pending</td><td class="text">(.*?)</td>', text)[1]
    assert line.count("trial ") == 20
    assert line.endswith(f"asked for by anna just now{ending}")


LONG = {name: f"{name} {EVIL}" for name in (*GRID, *SIMPLEX, *MIXED, *SOLVENTS)}
STATES = {
    "nothing": ((), 0),
    "asked": ((), 1),
    "one result": (((0, 2.5),), 0),
    "all failed": (((0, None), (1, None)), 0),
    "some": (((0, 480185.0), (1, 1596214.0), (2, None), (0, 505657.0)), 2),
}
TABLES = {
    "one candidate": LINE[:1],
    "two candidates": LINE[:2],
    "line": LINE,
    "grid": GRID.rename(columns=LONG),
    "simplex": SIMPLEX.rename(columns=LONG),
    "mixed": MIXED.rename(columns=LONG),
    "decades": DECADES[["dose"]].drop_duplicates(ignore_index=True),
    "decades and ratios": DECADES,
    "categories": SOLVENTS.rename(columns=LONG),
    "many categories": pd.DataFrame(
        {"molecule": [f"a molecule with a long name, number {i}" for i in range(30)]}
    ),
}


@pytest.mark.thorough
@pytest.mark.parametrize("table", with_long(TABLES, [*TABLES][1::2]))
def test_no_label_lies_on_another_or_leaves_the_figure(made, table):
    results, asks = STATES["some"]
    last = len(TABLES[table]) - 1
    study = made(
        TABLES[table],
        [(min(row, last), value) for row, value in results],
        asks,
        target=f"gain {EVIL}",
        **RULE,
    )
    assert_readable(select_drawings(read_view(study, truth=np.arange(last + 1)), "all"))


@pytest.mark.parametrize("state", [name for name in STATES if name != "some"])
def test_a_study_that_knows_little_is_drawn_and_readable(made, state):
    results, asks = STATES[state]
    view = read_view(made(MIXED, results, asks), truth=np.arange(18))
    assert_readable(select_drawings(view, "all"))
    assert study_page(view, select_drawings(view, "progress")).count("<figure>") == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    "values", [(1e150, -1e150), (1e-300, 2e-300), (1e12 + 1, 1e12 + 2), (7.0, 7.0)], ids=str
)
def test_results_of_any_size_are_drawn(made, values):
    view = read_view(made(LINE, list(enumerate(values)), asks=1))
    assert_readable(select_drawings(view, "all"))
    assert all(f"{value:.8g}" in study_page(view, []) for value in values)


@pytest.mark.thorough
def test_ten_thousand_candidates_and_many_trials_stay_small(made, tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).random((10_000, 2)), columns=["a", "b"])
    study = made(table, [(row, float(row % 7)) for row in range(60)], **RULE)
    path = draw_study(study, tmp_path / "films.svg", what="posterior")
    assert path.stat().st_size < 1_000_000


def test_many_trials_are_folded_and_the_oldest_left_out_of_the_page(made, monkeypatch):
    from kernelbandits.report.studies import page

    monkeypatch.setattr(page, "OPEN", 2)
    monkeypatch.setattr(page, "LISTED", 3)
    text = study_page(read_view(made(LINE, [(row, 1000.125 + row) for row in range(5)])), [])
    assert "<details><summary>The last 3 of 5 trials" in text
    table = text[text.index("<details><summary>The last") :]
    assert "1002.125" in table
    assert "1001.125" not in table


def test_letters_that_steer_are_taken_from_labels():
    assert shorten("a\nb\x00c‮d  e") == "a b c d e"
    assert shorten("x" * 50, 10) == "x" * 9 + "…"


@pytest.mark.thorough
def test_letters_without_a_font_are_no_reason_to_complain(made, tmp_path, recwarn):
    study = made(LINE.rename(columns={"T (°C)": "温度"}), [(0, 1.0)], target="収率 𓀀")
    recwarn.clear()
    text = draw_study(study, tmp_path / "films.svg").read_text(encoding="utf-8")
    draw_study(study, tmp_path / "films.png")
    assert "温度" in text
    assert not [one for one in recwarn if "Glyph" in str(one.message)]


def test_a_drawing_of_its_own_is_an_svg(made):
    [one] = select_drawings(read_view(made(LINE, [(0, 1.0)])), "progress")
    assert ElementTree.fromstring(render_svg(one).encode()).tag.endswith("svg")


# ---------------------------------------------------------------------- spaces

BREW = kb.MixedBox(
    {
        "heat (°C)": kb.Real(20, 90),
        "rate": kb.Real(1e-5, 0.1, log=True),
        "cups": kb.Integer(1, 8),
        "acid": kb.Category(("citric", "acetic", None)),
    },
    constraints=["not (acid == 'acetic' and cups > 6)"],
)
MIXTURE = kb.MixedBox({name: kb.Real(0, 1) for name in "ABC"}, constraints=["A + B + C == 1"])
SPACES = {
    "mixed": BREW,
    "mixture": MIXTURE,
    "one variable": kb.MixedBox({"x": kb.Real(1, 1000, log=True)}),
    "choices": kb.MixedBox({"a": kb.Category(("x", "y")), "b": kb.Ordered(("low", "high"))}),
    "hostile": kb.MixedBox({EVIL: kb.Real(0, 1), SCRIPT: kb.Category(("<b>wet</b>", "dry"))}),
}


def measured(path, space, results, pending=1, target="yield (%)"):
    """A study over a space, with a value for each point that depends on its first number."""
    study = kb.Study.create(path, space, target=target)
    for number in range(results):
        [suggestion] = study.ask()
        row = space.encode(suggestion.x)
        study.tell(suggestion.trial, None if number == 2 else float(row[0]), failed=number == 2)
    if pending:
        study.ask(pending)
    return study


@pytest.mark.thorough
@pytest.mark.parametrize("name", with_long(SPACES, [name for name in SPACES if name != "mixed"]))
def test_figures_of_a_space_are_readable_from_the_first_result_on(tmp_path, name):
    for results in (0, 1, 9) if name == "mixed" else (9,):
        study = measured(tmp_path / f"{results}.db", SPACES[name], results, int(results > 0))
        view = read_view(study)
        drawings = select_drawings(view, "all")
        assert_readable(drawings)
        known = [one.title for one in drawings]
        assert known[0] == "What to measure next"
        assert ("Partial dependence" in known) == (view.check.skill is not None)
        assert "Map of the estimate" not in known or results == 9


@pytest.mark.thorough
def test_the_page_of_a_space_shows_points_and_no_rows(tmp_path):
    study = measured(tmp_path / "brew.db", SPACES["hostile"], 9, target=f"{SCRIPT} 2")
    path = draw_study(study, tmp_path / "brew.html", trial=3)
    page, waiting = Page(path), study.status().waiting[0]
    assert not {"script", "img", "b", "a", "iframe", "link", "object"} & set(page.tags)
    assert "which point has the highest" in page.text
    assert study.explain(3).sentence in page.text
    assert f"{waiting.x[EVIL]:.6g}" in page.text
    reason = next(event.body["why"] for event in study.history() if event.trial == waiting.trial)
    assert page.text.index(reason) < page.text.index("Results over time")
    assert "<th>row</th>" not in path.read_text(encoding="utf-8")


@pytest.mark.thorough
def test_curves_and_map_of_a_space_are_those_of_the_study(tmp_path):
    study = measured(tmp_path / "brew.db", BREW, 9)
    view = read_view(study)
    [one] = select_drawings(view, "dependence")
    with blank_figure(one.height) as figure:
        one.place(figure)
        shown = {axis.get_xlabel(): axis for axis in figure.axes if axis.get_xlabel()}
        assert set(shown) == {"heat (°C)", "rate (log scale)", "cups", "acid"}
        assert shown["rate (log scale)"].get_xscale() == "log"
        curve = study.partial_dependence("heat (°C)")
        assert shown["heat (°C)"].lines[0].get_ydata() == pytest.approx(curve.mean)
        assert len(shown["acid"].patches) == 3
    first, second = (one.column for one in study.relevance()[:2])
    assert {view.map.across, view.map.up} == {first, second}


def test_the_regret_of_a_space_is_refused_in_words(tmp_path):
    study = measured(tmp_path / "mix.db", MIXTURE, 3)
    with pytest.raises(StudyConflict, match="needs a study of a table of candidates"):
        draw_study(study, tmp_path / "mix.png", truth=[1.0])


@pytest.mark.thorough
def test_the_likely_best_does_not_hide_its_own_interval(made):
    """Its mark is flat over time, and hollow elsewhere."""
    study = made(GRID, [(row, float(row)) for row in range(8)])
    for one in select_drawings(read_view(study), "all"):
        with blank_figure(one.height) as figure:
            one.place(figure)
            for line in (line for axis in figure.axes for line in axis.lines):
                if "likely best" in str(line.get_label()) and line.get_marker() != "None":
                    assert line.get_marker() == "_" or line.get_markerfacecolor() == "none"


# ---------------------------------------------------------------------- several targets, mixtures


@pytest.mark.thorough
def test_several_targets_are_drawn_with_their_front(tmp_path):
    table = pd.DataFrame({"film": [f"A{i} {EVIL}" for i in range(6)], "Cs": np.arange(6.0)})
    wanted = {"stability": "minimize", f"gain {EVIL}": "maximize", "pH": "aim=7"}
    study = kb.Study.create(tmp_path / "a.db", table, targets=wanted, label="film")
    assert_readable(select_drawings(read_view(study), "all"))
    names = list(wanted)
    for row, values in enumerate([(1, 1, 7), (2, 3, 6), (3, 2, 5), (1, None, 9)]):
        told = {name: y for name, y in zip(names, values, strict=True) if y is not None}
        study.tell(row=row, value=told)
    view = read_view(study)
    drawings = select_drawings(view, "targets")
    assert [one.title for one in drawings] == ["Each target over time", "Trade-off of the targets"]
    assert_readable(drawings)
    with blank_figure(drawings[1].height) as figure:
        drawings[1].place(figure)
        [first, *_] = figure.axes
        [front] = [line for line in first.lines if line.get_label() == "Pareto front"]
        assert sorted(zip(*front.get_data(), strict=True)) == [(1, 1), (2, 3)]
    assert best_so_far(np.array([9.0, 6.0, 6.5, 4.0]), view.targets[2]).tolist() == [9, 6, 6.5, 6.5]
    page = Page(draw_study(study, tmp_path / "a.html"))
    assert "minimize; 4 values; best 1" in page.text
    assert "img" not in page.tags


def test_a_figure_of_targets_is_refused_for_one_target(made, tmp_path):
    with pytest.raises(StudyConflict, match="needs several of them, got one"):
        draw_study(made(LINE, [(0, 1.0)]), tmp_path / "a.png", what="targets")


@pytest.mark.thorough
def test_three_shares_of_a_mixture_are_a_ternary_map(made, tmp_path):
    """The estimates drawn are those of the study, also for a table in percent beside another column."""
    percent = (100 * SIMPLEX).assign(T=[20.0, 60.0, 90.0] * 5)
    study = made(percent, [(row, row / 7) for row in range(0, 15, 2)])
    found = study.estimate_map("Cs", "MA")
    assert (found.total, found.shared, list(found.fixed)) == (100, ("FA",), ["T"])
    across, up = np.meshgrid(found.across_values, found.up_values)
    assert np.array_equal(np.isfinite(found.mean), across + up <= 100 + 1e-9)
    rows = percent.index[percent["T"] == found.fixed["T"]]
    estimates = study.estimates().set_index("row")["mean"]
    for row in rows:
        cell = np.isclose(across, percent["Cs"][row]) & np.isclose(up, percent["MA"][row])
        assert found.mean[cell] == pytest.approx(estimates[row], rel=1e-6)
    view = read_view(measured(tmp_path / "mix.db", MIXTURE, 9))
    assert view.map.total == 1
    [drawing, _] = select_drawings(view, "posterior")
    assert "over the shares of A, B and C, which sum to 1" in drawing.caption


@pytest.mark.thorough
def test_shares_with_few_decimals_are_a_mixture_and_this_is_said(made, tmp_path):
    shares = [[0.26, 0.37, 0.36], [0.3, 0.39, 0.32], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]]
    table = pd.DataFrame(shares, columns=["Cs", "FA", "MA"])
    study = made(table, [(row, row / 7) for row in range(6)])
    [said] = [one for one in study.candidates.notices if "mixture" in one]
    assert said.startswith("Cs, FA, MA sum to 1 up to rounding (rounded: 0.99 to 1.01): they")
    assert study.candidates.x(0) == {"Cs": 0.26, "FA": 0.37, "MA": 0.36}
    view = read_view(study)
    assert (view.map.total, view.map.sums) == (1, (0.99, 1.01))
    [drawing, _] = select_drawings(view, "posterior")
    assert "Cs, FA and MA, which sum to 1 (rounded: 0.99 to 1.01)" in drawing.caption
    assert_readable([drawing])


@pytest.mark.parametrize(
    ("shares", "sums"),
    [
        ([[0.26, 0.37, 0.36], [1, 0, 0], [0, 1, 0]], (0.99, 1)),
        ([[33, 33, 33], [100, 0, 0], [0, 50, 50]], (99, 100)),
        ([[0.25, 0.25, 0.5], [1, 0, 0], [0, 1, 0]], None),
        # Further from the total than two, three or no decimals allow.
        ([[0.26, 0.37, 0.35], [1, 0, 0], [0, 1, 0]], ()),
        ([[0.26, 0.372, 0.36], [0.123, 0.456, 0.421], [0, 1, 0]], ()),
        ([[0.3, 0.3, 0.3], [1, 0, 0], [0, 1, 0]], ()),
        ([[0, 0, 1], [0, 0, 0], [0, 1, 0]], ()),
    ],
)
def test_how_far_a_sum_may_be_from_the_total_follows_from_the_decimals(shares, sums):
    found = find_shares(dict(zip("abc", np.array(shares, dtype=float).T, strict=True)))
    assert (() if found is None else found.sums) == sums


def test_a_grid_has_triangles_where_all_three_corners_have_values():
    inside = np.array([[True, True, True], [True, True, False], [True, False, False]])
    assert triangles_between(inside).tolist() == [[0, 1, 3], [1, 2, 4], [3, 4, 5], [1, 4, 3]]


# ---------------------------------------------------------------- the paragraph for a paper


def tell_suggestions(study, count):
    for number in range(count):
        [suggestion] = study.ask()
        study.tell(suggestion.trial, math.sin(3.0 * number + suggestion.trial))


def test_the_methods_paragraph_counts_by_how_each_trial_was_chosen(tmp_path):
    points = np.random.default_rng(0).random((30, 2))
    study = kb.Study.create(str(tmp_path / "a.db"), points, target="yield")
    assert "measurement" not in describe_methods(study, study.status())
    study.tell(row=4, value=0.3)
    alone = describe_methods(study, study.status())
    assert "were chosen by hand, and their results were described by" in alone
    assert "expected improvement" not in alone
    tell_suggestions(study, 7)
    study.tell(row=4, value=0.35)
    study.tell(row=6, failed=True)
    asked = [event.body["note"] for event in study.history() if event.kind == "asked"]
    initial, drawn = (sum(word in note for note in asked) for word in ("first", "draw_chance"))
    assert 0 < initial < 7
    assert initial + drawn == 7
    told = study.to_dataframe()
    repeated = int((told["state"] == "told").sum()) - told["row"][told["state"] == "told"].nunique()
    text = describe_methods(study, study.status())
    assert "10 measurements were made, of which 1 failed" in text
    assert f"{repeated} repeated a candidate that had a result" in text
    assert f"{initial} belonged to an initial design" in text
    assert f"{drawn} were drawn with a probability in proportion to the 20th power" in text
    assert "3 came from choices by hand" in text


def test_the_methods_paragraph_names_the_rule_that_chose(tmp_path):
    points = np.random.default_rng(0).random((30, 2))
    study = kb.Study.create(str(tmp_path / "a.db"), points, goal="earn")
    tell_suggestions(study, 7)
    earned = describe_methods(study, study.status())
    assert "came from the online knowledge gradient" in earned
    assert "expected improvement" not in earned
    study.change(policy="simple-ucb", settings={"noise_scale": 0.1, "norm_bound": 1.0})
    tell_suggestions(study, 2)
    both = describe_methods(study, study.status())
    by = "by Bayesian optimisation with a Gaussian process model and the policy simple-ucb ("
    assert by in both
    assert "2 came from the policy simple-ucb" in both
    assert "came from the online knowledge gradient" in both


def test_the_methods_paragraph_says_only_what_was_done(tmp_path):
    table = pd.DataFrame(np.random.default_rng(0).random((20, 2)), columns=["a", "b"])
    study = kb.Study.create(str(tmp_path / "a.db"), table, target="yield")
    planned = describe_methods(study, study.status())
    assert "are planned; nothing has been measured yet" in planned
    assert "settings" not in planned
    tell_suggestions(study, 2)
    designed = describe_methods(study, study.status())
    assert "were chosen from an initial design, and their results" in designed
    assert "optimisation" not in designed
    study.tell(row=3, value=0.2)
    both = describe_methods(study, study.status())
    assert "were chosen by hand and from an initial design" in both
    tell_suggestions(study, 4)
    study.change(policy="simple-ucb", settings={"noise_scale": 0.1, "norm_bound": 1.0})
    study.change(policy="auto")
    study.add(pd.DataFrame({"a": [0.5], "b": [0.5]}))
    study.forbid(row=[18, 19])
    mixed = describe_methods(study, study.status())
    assert "were selected in part by Bayesian optimisation with a Gaussian process model (" in mixed
    assert "simple-ucb" not in mixed, "it has chosen nothing"
    assert "1 of the rows was added during the study; 2 rows were not allowed at the end" in mixed


def test_the_methods_paragraph_of_a_space_counts_its_initial_design(tmp_path):
    space = {"a": kb.Real(0, 1), "b": kb.Integer(1, 5)}
    study = kb.Study.create(str(tmp_path / "a.db"), space, noise=0)
    tell_suggestions(study, 5)
    text = describe_methods(study, study.status())
    assert "5 measurements were made" in text
    assert "4 belonged to an initial design; 1 had the largest expected improvement" in text


def test_a_single_target_with_an_aim_has_no_trade_off(tmp_path):
    place = tmp_path / "acid.db"
    with kb.Study.create(place, CLOUD, targets=["pH:aim=7,range=4..10"]) as study:
        study.tell(row=3, value=6.5)
        draw_study(study, tmp_path / "acid.svg")
        with pytest.raises(kb.StudyConflict, match="needs several of them, got one"):
            draw_study(study, tmp_path / "trade.svg", what="targets")


def grown(made):
    """A study whose likely best was added outside the first ranges; one solvent is forbidden."""
    table = pd.DataFrame(
        [(float(t), 10.0**c, s) for t in (20, 40, 60) for c in (-3, -2) for s in ("DMF", "water")],
        columns=["T", "dose", "solvent"],
    )
    results = [(row, float(row % 5) + t) for row, t in zip(range(0, 12, 2), range(6), strict=True)]
    study = made(table, results, seed=1, log=["dose"])
    study.add(pd.DataFrame({"T": [100.0, 130.0], "dose": [0.5, 0.5], "solvent": ["DMF", "EtOH"]}))
    study.forbid(row=list(range(1, 12, 2)), reason="water is wet")
    study.tell(row=13, value=30.0)
    return study


def points_of(axis):
    """All points of marks and lines that are drawn in the units of a panel."""
    lines = [line for line in axis.lines if line.get_transform() == axis.transData]
    upright = [line for line in axis.lines if line.get_transform() == axis.get_xaxis_transform()]
    drawn = [np.asarray(line.get_xydata(), dtype=float) for line in (*lines, *upright)]
    return np.concatenate(drawn) if drawn else np.zeros((0, 2))


def axes_of(one: Drawing):
    with blank_figure(one.height) as figure:
        one.place(figure)
        figure.draw_without_rendering()
        return [axis for axis in figure.axes if axis.get_xlabel()]


@pytest.mark.parametrize("what", ["dependence", "posterior"])
def test_rows_that_were_added_are_drawn_inside_the_axes(made, what):
    study = grown(made)
    assert study.status().best.row == 13
    panels = [axis for one in select_drawings(read_view(study), what) for axis in axes_of(one)]
    assert panels
    for axis in panels:
        low, high = sorted(axis.get_xlim())
        across = points_of(axis)[:, 0]
        across = across[np.isfinite(across)]
        assert ((low <= across) & (across <= high)).all(), axis.get_xlabel()
    if what == "dependence":
        marked = [
            line for axis in panels for line in axis.lines if line.get_label() == "likely best"
        ]
        assert len(marked) == len(panels)


def test_values_that_are_forbidden_are_not_drawn(made):
    study = grown(made)
    view = read_view(study)
    assert view.levels("solvent") == ["DMF", "EtOH"]
    [curve] = [one for one in study.check().dependence if one.name == "solvent"]
    assert curve.values == ("DMF", "EtOH")
    study.forbid(row=12, reason="broken")
    study.forbid(row=13, reason="used up")
    # It was measured, so its mark stays; no curve goes there.
    assert read_view(study).span("T") == (20.0, 130.0)
    assert study.candidates.span("T") == (20.0, 60.0)
    curves = {one.name: one.values for one in study.check().dependence}
    assert max(curves["T"]) == 60.0
    assert_readable(select_drawings(read_view(study), "all"))


def test_pairs_that_are_forbidden_are_blank_on_the_map(made):
    study = made(SOLVENTS, [(row, float(row)) for row in range(0, 9, 2)], seed=1)
    study.forbid(label=None, row=[1], reason="water destroys it")
    found = study.estimate_map("solvent", "base")
    blank = {
        (found.across_values[j], found.up_values[i])
        for i, j in zip(*np.nonzero(np.isnan(found.mean)), strict=True)
    }
    assert blank == {("water", "K2CO3")}
    study.forbid(row=[0, 2], reason="water destroys it")
    assert study.estimate_map("solvent", "base").across_values == ("ethanol", "dimethylformamide")
    assert_readable(select_drawings(read_view(study), "posterior"))


@pytest.mark.parametrize("table", with_long(TABLES, [*TABLES][::2]))
def test_figures_for_a_phone_are_readable(made, table):
    known = range(0, min(9, len(TABLES[table])), 2)
    study = made(TABLES[table], [(row, float(row)) for row in known], asks=1, seed=1)
    lab = [one for one in STUDY_FIGURES if one.on_lab_page]
    view = read_view(study)
    drawings = [drawing for one in lab if one.has_data(view) for drawing in one.draw(view)]
    assert_readable(drawings, narrow=True)


def test_an_svg_follows_the_colour_scheme_of_the_reader():
    drawing = Drawing("Line", "", 3.0, lambda part, grid: grid[0, 0].plot([0, 1], color="#0072B2"))
    svg = render_with_marks(drawing)[0]
    assert "@media (prefers-color-scheme: dark)" in svg
    # White and black are the page and its text; blue stays blue, and becomes light.
    assert '[style*="fill: #ffffff"]{fill:#14181d!important}' in svg
    assert '[style*="stroke: #000000"]{stroke:#e3e8ee!important}' in svg
    assert '[style*="stroke: #0072b2"]' in svg
    assert ElementTree.fromstring(svg).tag.endswith("svg")


@pytest.mark.parametrize(
    ("direction", "colours"), [("maximize", "viridis"), ("minimize", "viridis_r")]
)
def test_bright_is_good_on_a_map(made, direction, colours):
    study = made(GRID, [(row, float(row)) for row in range(0, 12, 3)], direction=direction, seed=1)
    [drawing] = [
        one for one in select_drawings(read_view(study), "posterior") if "Map" in one.title
    ]
    with blank_figure(drawing.height) as figure:
        drawing.place(figure)
        meshes = [mesh for axis in figure.axes for mesh in axis.collections if axis.get_xlabel()]
        assert meshes[0].get_cmap().name == colours
    assert "Bright is good" in drawing.caption
