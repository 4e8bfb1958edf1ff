"""The figures of the lab page: what stands under the pointer, and where."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from kernelbandits.report.studies.marks import MOST_MARKS
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


def test_a_map_says_names_and_values(browser):
    query = "kind=map&across=Cs&up=solvent"
    marks = browser.client.get(f"/studies/films/marks.json?{query}").json()
    texts = [text for _, _, text in marks]
    assert "measured: Cs 0, solvent water" in texts
    cells = [text for text in texts if text.startswith("its standard deviation ")]
    assert any(text.endswith("solvent DMF") for text in cells)
    assert len(marks) <= MOST_MARKS
    assert all(0 <= x <= 1 and 0 <= y <= 1 for x, y, _ in marks)


def test_too_many_cells_have_no_texts_and_the_marks_keep_theirs(browser, monkeypatch):
    monkeypatch.setattr("kernelbandits.report.studies.marks.MOST_MARKS", 20)
    query = "kind=map&across=Cs&up=FA"
    marks = browser.client.get(f"/studies/films/marks.json?{query}").json()
    assert marks
    assert not any(text.startswith("its standard deviation") for _, _, text in marks)


def test_a_figure_that_is_not_there(browser):
    for address in ("figure.svg", "marks.json"):
        answer = browser.client.get(f"/studies/films/{address}?kind=nothing")
        assert answer.status_code == 409
        assert "no figure" in answer.text
