"""The figures of the lab page: what stands under the pointer, and where."""

from __future__ import annotations

import base64
import io
import re
from itertools import permutations
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from kernelbandits.apps.web.figures import DrawnFigure, RecentFigures
from kernelbandits.formatting import format_number
from kernelbandits.report.studies.curves import draw_dots
from kernelbandits.report.studies.marks import MOST_MARKS
from kernelbandits.report.studies.sheets import Drawing, render_with_marks
from lab_pages import Page

USE = "{http://www.w3.org/2000/svg}use"


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    (folder / "studies").mkdir()
    page = Page(folder / "studies", folder / "state")
    yield page
    page.close()


@pytest.fixture(scope="module")
def browser(page):
    rows = [(x / 4, y / 3) for x in range(5) for y in range(4)]
    table = "Cs,FA,solvent\n" + "".join(
        f"{x},{y},{'DMF' if i % 2 else 'water'}\n" for i, (x, y) in enumerate(rows)
    )
    browser = page.browser()
    preview = browser.send("/new", "/new/table", pasted=table).headers["location"]
    browser.send(preview, preview, name="films", action="create", target="y", **ROLES)
    study = page.lab.library.study("films")
    study.tell_all([{"row": 2 * i, "value": float(i % 4) + i / 10} for i in range(8)])
    return browser


ROLES = {f"role-{i}": "describes the candidate" for i in range(3)}


def drawn_points(svg: str) -> np.ndarray:
    """Places of all marks of a figure, as shares of its width and height."""
    root = ElementTree.fromstring(svg)
    _, _, width, height = map(float, root.get("viewBox").split())
    found = [(float(one.get("x")), float(one.get("y"))) for one in root.iter(USE) if one.get("x")]
    return np.array(found) / (width, height)


@pytest.mark.thorough
def test_the_text_of_a_result_stands_where_it_is_drawn(browser):
    query = "kind=progress&place=0"
    points = drawn_points(browser.get(f"/studies/films/figure.svg?{query}"))
    marks = browser.client.get(f"/studies/films/marks.json?{query}").json()
    results = [mark for mark in marks if mark[2].startswith("result: ")]
    assert [text for _, _, text in results] == [
        f"result: trial {i + 1}, y {float(i % 4) + i / 10:.4g}" for i in range(8)
    ]
    assert marks[: len(results)] == results, "before the curve that passes through them"
    for x, y, _ in results:
        assert np.abs(points - (x, y)).max(axis=1).min() < 1e-3
    assert any(re.fullmatch(r"likely best now, 95 % interval: y [\d.]+", mark[2]) for mark in marks)


@pytest.mark.thorough
def test_a_map_says_names_and_values(browser):
    query = "kind=map&across=Cs&up=solvent"
    marks = browser.client.get(f"/studies/films/marks.json?{query}").json()
    texts = [text for _, _, text in marks]
    assert "measured: Cs 0, solvent water" in texts
    cells = [text for text in texts if text.startswith("its uncertainty (±) ")]
    assert any(text.endswith("solvent DMF") for text in cells)
    assert len(marks) <= MOST_MARKS
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y, _ in marks)


@pytest.mark.thorough
def test_too_many_cells_have_no_texts_and_the_marks_keep_theirs(browser, monkeypatch):
    monkeypatch.setattr("kernelbandits.report.studies.marks.MOST_MARKS", 20)
    query = "kind=map&across=Cs&up=FA"
    marks = browser.client.get(f"/studies/films/marks.json?{query}").json()
    assert marks
    assert not any(text.startswith("its uncertainty (±)") for _, _, text in marks)


@pytest.mark.thorough
def test_a_figure_of_ten_thousand_marks_is_light_and_has_all_their_texts():
    """The marks are one image, sharp at the largest size of the page; each has its text."""
    heights = np.random.default_rng(0).random(10_000)

    def draw(part, grid):
        axis = grid[0, 0]
        axis.set_xlabel("trial")
        axis.set_ylabel("y")
        draw_dots(axis, np.arange(1.0, 10_001.0), heights, "result", "C0")

    svg, marks = render_with_marks(Drawing("Results", "", 3.0, draw))
    assert svg.count("<image") == 1
    assert len(svg) < 1_000_000
    [pixels] = re.findall(r"data:image/png;base64,([^\"]+)", svg)
    with Image.open(io.BytesIO(base64.b64decode(pixels))) as image:
        # The widest image of the page: 3.5 times 850 pixels for 9.6 inches, less the margins.
        assert image.width > 0.75 * 3.5 * 850
    assert len(marks) == 10_000
    assert marks[0].text == f"result: trial 1, y {format_number(heights[0])}"


@pytest.fixture
def remember(page, monkeypatch):
    """A function that sets what the server keeps of figures; it has none so far."""

    def set_bounds(**bounds):
        monkeypatch.setattr(page.lab.snapshots, "_found", {})
        monkeypatch.setattr(page.lab.snapshots, "_recent", RecentFigures(**bounds))
        return page.lab.snapshots._recent

    return set_bounds


def test_a_figure_has_one_name_and_is_drawn_once(browser, remember, monkeypatch):
    drawn, _ = [], remember()

    def render(drawing, narrow):
        drawn.append((drawing, narrow))
        return "<svg/>", []

    monkeypatch.setattr("kernelbandits.apps.web.snapshots.render_with_marks", render)
    for place in range(5):
        browser.get(f"/studies/films/figure.svg?kind=map&place={place}&across=Cs&up=FA")
        browser.get(f"/studies/films/figure.svg?kind=progress&across=x{place}")
    assert len(drawn) == 2
    browser.get("/studies/films/figure.svg?kind=progress&narrow=true")
    assert [narrow for _, narrow in drawn] == [False, False, True]


@pytest.mark.parametrize(
    "bounds", [{"most": 3}, pytest.param({"most_bytes": 150_000}, marks=pytest.mark.thorough)]
)
def test_maps_that_readers_ask_for_do_not_fill_the_memory(browser, remember, bounds):
    kept = remember(**bounds)
    for across, up in permutations(("Cs", "FA", "solvent"), 2):
        svg = browser.get(f"/studies/films/figure.svg?kind=map&across={across}&up={up}")
        assert "</svg>" in svg
    values = [value for value, _ in kept._kept.values()]
    assert 0 < len(values) < 2 * 6, "of the six maps and their drawings some are forgotten"
    assert len(values) <= kept.most
    assert sum(one.size for one in values if isinstance(one, DrawnFigure)) <= kept.most_bytes
    assert isinstance(values[-1], DrawnFigure), "the last one is kept"


def test_a_figure_that_is_not_there(browser):
    for address in ("figure.svg", "marks.json"):
        answer = browser.client.get(f"/studies/films/{address}?kind=nothing")
        assert answer.status_code == 409
        assert "no figure" in answer.text
