"""Workbooks of labs on the page: each becomes a study, after what is asked was answered there."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from lab_workbooks import SINS, save_sin


def upload(page, server, path, sheet=""):
    page.goto(f"{server.address}/new")
    page.set_input_files("#file", path)
    page.fill("#worksheet", sheet)
    page.click("text=Look at the table")
    page.wait_for_selector("h1:text('films.xlsx')")


def create(page, server, results=2):
    page.fill("[name=name]", server.name)
    page.click("text=Create the study")
    page.wait_for_selector(f"text={results} results of the table were told to it")


@pytest.mark.parametrize("name", SINS)
def test_a_workbook_of_a_lab_becomes_a_study(server, open_page, tmp_path, name):
    page, sin = open_page(), SINS[name]
    sheet = "Films" if "--worksheet" in sin.options else ""
    upload(page, server, save_sin(name, tmp_path / "films.xlsx"), sheet)
    for option, text in zip(sin.options[::2], sin.options[1::2], strict=True):
        if option == "--cell":
            cell, typed = text.split("=")
            label = page.locator("label", has=page.locator(f"b:text-is('{cell}')"))
            label.locator("[name=cell-text]").fill(typed)
        elif option == "--not-used":
            page.get_by_label(f"what {text} is for").select_option("not used")
        elif option == "--limits":
            page.click("text=More settings")
            page.fill("[name=limits]", text)
    if sin.options:
        with page.expect_navigation():
            page.get_by_role("button", name="Check again").first.click()
    assert page.locator("[role=alert]").count() == 0
    create(page, server, len(sin.told))


def test_a_row_is_chosen_as_the_header_by_a_click(server, open_page, tmp_path):
    page = open_page()
    path = tmp_path / "films.xlsx"
    save_sin("title rows", path)
    upload(page, server, path)
    page.wait_for_selector("text=The names of the columns are read in row 4")
    page.get_by_role("button", name="row 5 has the names").click()
    page.wait_for_selector("text=The names of the columns are read in row 5")
    page.get_by_role("button", name="row 4 has the names").click()
    page.wait_for_selector("text=The names of the columns are read in row 4")
    create(page, server)
