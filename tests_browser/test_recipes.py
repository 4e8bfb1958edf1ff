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
    send(page, "#pending li button:text('Tell')")
    # A refused form comes back with what was typed.
    page.wait_for_selector("[role=alert]")
    assert page.locator("#pending li").first.get_by_label("heat").input_value() == "much"
    page.locator("#pending li").first.get_by_label("heat").fill("36.33")
    send(page, "#pending li button:text('Tell')")
    page.wait_for_selector(f"text=asked for: heat = {asked['heat']}")
    page.goto(f"{server.study}/trials/1")
    said = page.locator("main").inner_text()
    assert "36.33" in said
    assert re.search(rf"heat = {re.escape(asked['heat'])}\b.* suggested", said)
    keep(page, "recipes-trial")
