"""Recipes on the lab page, in a real browser: ranges, steps, and what was really set."""

from __future__ import annotations

import re

import pytest
from test_lab import assert_accessible, keep, send, suggest

import kernelbandits as kb


def create_brew(server) -> None:
    """Create a study over ranges, as `study create` does."""
    space = {"heat": "real 20:90", "rate": "real 1e-5:0.1 log", "acid": ["citric", "acetic"]}
    with pytest.warns(kb.DataNotice, match="without a step"):
        kb.Study.create(server.place / f"{server.name}.db", space, target="yield").close()


def test_what_was_really_set_is_typed_on_the_card(server, open_page):
    page, server.name = open_page(errors=("422",)), "set-by-hand"
    create_brew(server)
    page.goto(server.study)
    suggest(page)
    card = page.locator("#pending li").first
    names, values = (card.locator(tag).all_inner_texts() for tag in ("dt", "dd"))
    asked = dict(zip(names, values, strict=True))
    card.get_by_text("What I really set").click()
    assert card.get_by_label("heat").get_attribute("placeholder") == asked["heat"]
    card.get_by_label("heat").fill("much")
    card.locator("input[name=value]").fill("0.7")
    keep(page, "recipes-really-set")
    assert_accessible(page)
    send(page, "#pending li button:text('Save result')")
    # A refused form comes back with what was typed.
    page.wait_for_selector("[role=alert]")
    assert page.locator("#pending li").first.get_by_label("heat").input_value() == "much"
    page.locator("#pending li").first.get_by_label("heat").fill("36.33")
    send(page, "#pending li button:text('Save result')")
    page.wait_for_selector(f"text=asked for: heat = {asked['heat']}")
    page.goto(f"{server.study}/trials/1")
    said = page.locator("main").inner_text()
    assert "36.33" in said
    assert re.search(rf"heat = {re.escape(asked['heat'])}\b.* suggested", said)
    keep(page, "recipes-trial")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_a_recipe_is_entered_as_a_form(server, open_page, scheme, width):
    page = open_page(errors=("422",), color_scheme=scheme, viewport={"width": width, "height": 900})
    server.name = f"recipe-{scheme}-{width}"
    page.goto(f"{server.address}/new")
    for i, line in enumerate(
        [("A", "%", "0", "60"), ("B", "%", "0", "100"), ("C", "%", "0", "100")]
    ):
        fill_number(page, i, *line)
        page.locator(f"[name=part-{i}]").check()
    fill_number(page, 3, "Temp", "°C", "20,5", "90.5")
    for i, (name, values) in enumerate([("solvent", "DMF, DMSO, water"), ("base", "NaH, KOH")]):
        page.locator("[name=choice-name]").nth(i).fill(name)
        page.locator("[name=choice-values]").nth(i).fill(values)
    page.locator("[name=pair-one]").first.select_option("solvent = water")
    page.locator("[name=pair-other]").first.select_option("base = NaH")
    page.fill("#constraints", "Temp (°C) + 2*A (%) <= 180\nTemp (°C) +")
    form = page.locator("form[action='/new/ranges']")
    form.locator("[name=name]").fill(server.name)
    form.locator("[name=target]").fill("yield")
    form.get_by_text("Create the study").click()
    page.wait_for_selector("section .problem")
    # What was typed, ticked and chosen comes back.
    assert page.locator("[name=part-2]").is_checked()
    assert page.locator("[name=pair-one]").first.input_value() == "solvent = water"
    assert page.locator("[name=number-low]").nth(3).input_value() == "20,5"
    wide = page.evaluate("document.documentElement.scrollWidth")
    assert wide <= width
    keep(page, f"recipe-{scheme}-{width}")
    assert_accessible(page)
    page.fill("#constraints", "Temp (°C) + 2*A (%) <= 180")
    form.get_by_text("Create the study").click()
    page.wait_for_selector("text=The study was created")
    page.wait_for_selector("text=A (%), B (%), C (%), Temp (°C), taken in steps of 0.5")
    with kb.Study.open(server.place / f"{server.name}.db", writable=False) as study:
        space = study.space
    assert space.names == ("A (%)", "B (%)", "C (%)", "Temp (°C)", "solvent", "base")
    assert space.variables[3] == kb.Real(20.5, 90.5, step=0.5)
    assert [str(one) for one in space.constraints] == [
        "`A (%)` + `B (%)` + `C (%)` == 100",
        "`Temp (°C)` + 2*`A (%)` <= 180",
        "not (solvent == 'water' and base == 'NaH')",
    ]
    keep(page, f"recipe-created-{scheme}-{width}")


def fill_number(page, line: int, name: str, unit: str, low: str, high: str) -> None:
    for part, text in (("name", name), ("unit", unit), ("low", low), ("high", high)):
        page.locator(f"[name=number-{part}]").nth(line).fill(text)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_an_empty_folder_offers_an_example(own_server, open_page, scheme, width):
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 520})
    page.goto(own_server.address)
    keep(page, f"start-{scheme}-{width}")
    assert_accessible(page)
    send(page, "text=Open the example")
    for _ in range(3):
        suggest(page)
        send(page, "text=Show the measured value")
        page.wait_for_selector("text=recorded")
    suggest(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    keep(page, f"example-{scheme}-{width}")
    assert_accessible(page)
