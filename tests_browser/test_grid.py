"""A batch on the lab page, as a grid that is typed, pasted and saved as a whole, in a real browser."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from test_lab import assert_accessible, keep, settle, suggest

import kernelbandits as kb

FILMS = 200
TWO_SCREENS = 2 * 900


def create(server, n: int = 0, **options) -> list[int]:
    """Create a study of films A0, A1, ... in which n are pending; return their rows."""
    rows = np.arange(FILMS)
    solvents = np.where(rows % 2, "DMF", "DMSO")
    films = pd.DataFrame(
        {
            "sample": [f"A{row}" for row in rows],
            "Cs": rows * 37 % 100 / 100,
            "FA": rows * 61 % 97 / 97,
            "solvent": solvents,
        }
    )
    options = {"target": "stability"} | options
    with kb.Study.create(server.place / f"{server.name}.db", films, **options) as study:
        return [one.row for one in study.ask(n)] if n else []


def trials(server) -> pd.DataFrame:
    with kb.Study.open(server.place / f"{server.name}.db", writable=False) as study:
        return study.to_dataframe().set_index("trial")


def values(server) -> dict[int, float]:
    """The stored values by trial."""
    return trials(server)["value"].dropna().to_dict()


def focused(page) -> str:
    return page.evaluate("document.activeElement.id")


def paste(page, selector: str, text: str) -> None:
    """Paste a text as a spreadsheet puts it on the clipboard."""
    page.locator(selector).evaluate(
        """(field, text) => {
            field.focus();
            const data = new DataTransfer();
            data.setData("text/plain", text);
            field.dispatchEvent(new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }));
        }""",
        text,
    )


def save(page) -> None:
    with page.expect_navigation():
        page.click("text=Save all")


def test_a_batch_is_typed_by_the_keyboard_alone(server, open_page):
    page = open_page()
    create(server, 4)
    page.goto(server.study)
    page.focus("#value-1")
    # Enter and the arrow go down; a decimal comma is a decimal point.
    page.keyboard.type("0,81")
    page.keyboard.press("Enter")
    page.keyboard.type("0.82")
    page.keyboard.press("ArrowDown")
    assert focused(page) == "value-3"
    page.keyboard.press("ArrowRight")
    assert focused(page) == "failed-3"
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    page.keyboard.type("cracked")
    # Within a text the arrow moves the cursor; at its end there is nothing to the right.
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "note-3"
    page.keyboard.press("ArrowUp")
    assert focused(page) == "note-2"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert focused(page) == "value-2"
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.textContent") == "Save all"
    assert "3 of 4 lines are filled" in page.inner_text(".save")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    found = trials(server)
    assert found["value"].tolist()[:2] == [0.81, 0.82]
    assert found["state"].tolist() == ["told", "told", "failed", "pending"]
    assert found["note"][3] == "cracked"
    # One is left, and has a card.
    assert page.locator("#pending li").count() == 1
    # All of it was one step.
    page.click("text=/Undo: trial 3/")
    page.wait_for_selector(".grid")
    assert values(server) == {}


def test_a_column_of_a_spreadsheet_fills_downwards(server, open_page):
    page = open_page()
    create(server, 5)
    page.goto(server.study)
    paste(page, "#value-2", "0,5\r\n\r\n0.7\t\tdry\r\n0.8\r\n")
    typed = [page.input_value(f"#value-{trial}") for trial in range(1, 6)]
    assert typed == ["", "0,5", "", "0.7", "0.8"]
    assert page.input_value("#note-4") == "dry"
    paste(page, "#value-5", "0.9\n1.0\n1.1")
    assert "2 more pasted lines have no line here" in page.inner_text(".save")
    # A single cell is pasted as anywhere else.
    page.fill("#note-5", "")
    save(page)
    assert values(server) == {2: 0.5, 4: 0.7, 5: 0.9}
    assert page.locator("#pending tr").count() == 2


def test_wrong_cells_are_marked_all_at_once_and_nothing_is_lost(server, open_page):
    page = open_page(errors=("422",))
    create(server, 5, limits="0..1")
    page.goto(server.study)
    paste(page, "#value-1", "0.5\n0.8x\n140\n\n0.6")
    page.fill("#note-4", "later")
    page.check("#failed-5")
    save(page)
    assert "4 cells of the batch are wrong" in page.inner_text(".problem")
    wrong = page.locator("[aria-invalid]").evaluate_all("(all) => all.map((one) => one.id)")
    assert wrong == ["value-2", "value-3", "note-4", "value-5"]
    assert focused(page) == "value-2"
    assert "got '0.8x'" in page.inner_text("#wrong-value-2")
    assert "between 0 and 1, its limits, got 140" in page.inner_text("#wrong-value-3")
    typed = [page.input_value(f"#value-{trial}") for trial in range(1, 6)]
    assert typed == ["0.5", "0.8x", "140", "", "0.6"]
    assert page.is_checked("#failed-5")
    assert values(server) == {}
    keep(page, "grid-wrong")
    page.fill("#value-2", "0.8")
    page.fill("#value-3", "")
    page.fill("#note-4", "")
    page.uncheck("#failed-5")
    save(page)
    assert values(server) == {1: 0.5, 2: 0.8, 5: 0.6}


def test_two_tabs_save_the_same_line(server, open_page):
    ann, bob = open_page(), open_page(errors=("422",))
    create(server, 4)
    for page in (ann, bob):
        page.goto(server.study)
    bob.fill("#value-1", "0.1")
    bob.fill("#value-2", "0.2")
    ann.fill("#value-1", "0.9")
    ann.fill("#value-3", "0.3")
    save(ann)
    # What Bob has typed stays, and he is told; a line that he did not type is gone.
    bob.wait_for_selector("#trial-1 .problem")
    bob.wait_for_selector("#trial-3", state="detached")
    assert bob.input_value("#value-1") == "0.1"
    save(bob)
    assert "somebody was faster: it already has the result 0.9" in bob.inner_text(
        "#wrong-value-1"
    ).replace("S", "s", 1)
    assert (bob.input_value("#value-1"), bob.input_value("#value-2")) == ("0.1", "0.2")
    assert values(server) == {1: 0.9, 3: 0.3}
    bob.fill("#value-1", "")
    save(bob)
    assert values(server) == {1: 0.9, 2: 0.2, 3: 0.3}


def test_96_are_asked_while_the_page_stays(server, open_page):
    """What is typed meanwhile stays, and the batch fits on two screens."""
    page = open_page(viewport={"width": 1280, "height": 900})
    create(server, 2)
    page.goto(server.study)
    page.fill("#n", "94")
    page.fill("#value-2", "0.5")
    # The answer is held back, as if choosing took long.
    held = []
    page.route("**/ask", lambda route: held.append(route))
    page.click("button.main")
    page.wait_for_selector("text=Candidates are being chosen")
    page.focus("#value-1")
    page.keyboard.type("0.4")
    keep(page, "grid-asking")
    held[0].continue_()
    page.wait_for_selector("#trial-96")
    page.locator(".busy").wait_for(state="detached")
    assert page.locator("#pending tr").count() == 96
    assert focused(page) == "value-1"
    assert (page.input_value("#value-1"), page.input_value("#value-2")) == ("0.4", "0.5")
    page.goto(server.study)
    settle(page)
    assert page.input_value("#value-1") == "0.4"
    end = page.locator(".save").evaluate(
        "(one) => one.parentElement.getBoundingClientRect().bottom + scrollY"
    )
    height = page.evaluate("document.documentElement.scrollHeight")
    print(f"96 candidates end at {end:.0f} px of a page of {height} px")
    assert end <= TWO_SCREENS
    keep(page, "grid-96")
    paste(page, "#value-1", "\n".join(f"0,{i + 100}1" for i in range(96)))
    assert "96 of 96 lines are filled" in page.inner_text(".save")
    save(page)
    assert len(values(server)) == 96


def test_the_focus_stays_when_the_page_changes_or_is_loaded_again(server, open_page):
    page = open_page()
    create(server, 3)
    page.goto(server.study)
    page.focus("#value-2")
    with kb.Study.open(server.place / f"{server.name}.db") as study:
        study.tell(1, 0.5)
        study.ask(2)
    page.wait_for_selector("#trial-5")
    page.wait_for_selector("#trial-1", state="detached")
    assert focused(page) == "value-2"
    page.keyboard.type("0.7")
    page.reload()
    assert (focused(page), page.input_value("#value-2")) == ("value-2", "0.7")
    # Once a single candidate is pending, its card takes the place of the grid.
    page.fill("#value-2", "")
    page.evaluate("document.activeElement.blur()")
    with kb.Study.open(server.place / f"{server.name}.db") as study:
        study.release_all([2, 3, 4])
    page.wait_for_selector("#pending li")
    suggest(page)
    page.wait_for_selector(".grid #trial-5")


def test_several_targets_have_a_field_each(server, open_page):
    page = open_page()
    create(server, 2, target=None, targets=["gloss", "haze:minimize"])
    page.goto(server.study)
    paste(page, "#value-1", "70\t0.1\n80\t")
    save(page)
    page.fill("#value-1-2", "0.2") if page.locator(".grid").count() else page.fill(
        "#value-2-1", "0.2"
    )
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Nothing is pending")
    assert trials(server)["haze"].tolist() == [0.1, 0.2]


@pytest.mark.parametrize(
    ("scheme", "width"), [("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)]
)
def test_a_batch_fits_and_is_accessible(server, open_page, scheme, width):
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 900}, bypass_csp=True)
    create(server, 16)
    page.goto(server.study)
    settle(page)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert_accessible(page)
    page.fill("#value-16", "0.5")
    keep(page, f"grid-{width}-{scheme}")
    save(page)
    assert values(server) == {16: 0.5}
    for view in ("/candidates", "/candidates/3"):
        page.goto(f"{server.study}{view}")
        settle(page)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert_accessible(page)
        keep(page, f"names{view.replace('/', '-')}-{width}-{scheme}")


def test_a_phone_has_a_short_hint_and_a_wide_screen_the_answers_side_by_side(server, open_page):
    create(server, 3)
    phone = open_page(viewport={"width": 390, "height": 844}, errors=("422",))
    phone.goto(server.study)
    assert not phone.locator(".keys").is_visible()
    phone.fill("#value-1", "1")
    phone.fill("#value-1", "")
    assert phone.locator(".keys").count() == 1
    page = open_page(viewport={"width": 1280, "height": 900}, errors=("422",))
    page.goto(server.study)
    best, stop = (page.locator(card).bounding_box() for card in ("#best", "#stop"))
    assert best["y"] == stop["y"]
    assert best["x"] + best["width"] < stop["x"]
    # What is wrong with a cell can be read: it is not as narrow as the cell.
    page.fill("#value-2", "much")
    save(page)
    assert page.locator(".wrong").bounding_box()["width"] > 200
    page.click("text=Answers")
    assert page.locator("#answers").is_visible()
    # A trial that somebody else has told is said in full, also on a phone.
    phone.fill("#value-3", "0.3")
    page.fill("#value-2", "")
    page.fill("#value-3", "0.4")
    save(page)
    phone.wait_for_selector("th .problem")
    box = phone.locator("th .problem").bounding_box()
    assert box["x"] + box["width"] <= 390
