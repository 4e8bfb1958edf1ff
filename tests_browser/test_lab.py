"""A scientist's day on the lab page, in a real browser."""

from __future__ import annotations

import math
import os
import re
import signal
import time
from contextlib import suppress
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
from axe_playwright_python.sync_playwright import Axe
from PIL import Image
from playwright.sync_api import Error as PlaywrightError

import kernelbandits as kb
from kernelbandits.apps.web.access import READ

SHOTS = os.environ.get("KERNELBANDITS_SCREENSHOTS")
"""The folder in which screenshots are kept; none are made without it."""
HOSTILE = "<img src=x onerror=\"document.title='stolen'\">"
FILMS = 94
ERROR_PAGE = "#main-frame-error"
"""What chromium shows if a server does not answer."""


def stability(row: int) -> float:
    """The true value of a film, by its row."""
    cs, fa = (row * 37 % 100) / 100, (row * 61 % 100) / 100
    return round(math.sin(3 * cs) + fa * (1.2 if row % 2 else 0.8), 3)


def films_table(measured: int = 4) -> str:
    lines = ["sample\tCs\tFA\tsolvent\tstability"]
    for row in range(FILMS):
        cs, fa = (row * 37 % 100) / 100, (row * 61 % 100) / 100
        value = stability(row) if row < measured else ""
        lines.append(f"A{row}\t{cs}\t{fa}\t{'DMF' if row % 2 else 'DMSO'}\t{value}")
    return "\n".join(lines)


def create_films(page, server) -> None:
    page.goto(f"{server.address}/new")
    page.fill("#pasted", films_table())
    send(page, "text=Look at the table")
    page.fill("[name=name]", server.name)
    page.click("text=Create the study")
    page.wait_for_selector("text=4 results of the table were told to it")


def send(page, button: str) -> None:
    """Send a form, and wait for the page that answers it."""
    with page.expect_navigation():
        page.click(button)


def suggest(page, n: int = 1) -> None:
    page.fill("#n", str(n))
    with page.expect_response("**/ask"):
        page.click("button.main")
    page.locator(".busy").wait_for(state="detached")


def tell_first(page) -> str:
    """Tell the result of the first pending trial; return what was typed."""
    card = page.locator("#pending li").first
    row = int(card.locator(".cells dd").first.inner_text().removeprefix("A"))
    typed = str(stability(row))
    card.locator("input[name=value]").fill(typed)
    card.get_by_role("button", name="Save result").click()
    page.wait_for_selector(f"text={typed} recorded")
    return typed


def stored(server):
    with kb.Study.open(server.place / f"{server.name}.db", writable=False) as study:
        return study.to_dataframe()


def keep(page, name: str, **options) -> None:
    """Keep a screenshot of a view, if they are wanted."""
    if SHOTS:
        settle(page)
        folder = Path(SHOTS)
        folder.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=folder / f"{name}.png", full_page=True, **options)


def settle(page) -> None:
    """Until the page has the answers of the model, or says that the server does not answer."""
    page.locator("body:not([data-waiting])").or_(page.locator("#connection")).first.wait_for()


def wait_for_images(page) -> None:
    """Until all images of the page are drawn, also those further down."""
    page.evaluate("() => { for (const image of document.images) image.loading = 'eager'; }")
    drawn = "() => [...document.images].every((image) => image.complete && image.naturalWidth)"
    end = time.monotonic() + 60
    while not page.evaluate(drawn):
        assert time.monotonic() < end, "the figures are not drawn"
        page.wait_for_timeout(100)


def assert_accessible(page) -> None:
    """No serious finding of axe."""
    found = Axe().run(page).response["violations"]
    serious = [
        (one["id"], [node["html"][:120] for node in one["nodes"][:3]])
        for one in found
        if one["impact"] in ("serious", "critical")
    ]
    assert serious == [], page.url


def test_a_day(server, open_page):
    """Create from a table, ask, tell, correct, undo, look at figures, download."""
    page, server.name = open_page(), "films"
    keep(page, "home-empty")
    page.goto(f"{server.address}/new")
    page.fill("#pasted", films_table())
    keep(page, "new")
    page.click("text=Look at the table")
    page.wait_for_selector("text=This is what was understood")
    keep(page, "table")
    page.fill("[name=name]", server.name)
    page.click("text=Create the study")
    page.wait_for_selector("text=4 results of the table were told to it")
    for _ in range(7):
        suggest(page)
        tell_first(page)
    # A slip of the decimal point is stored with a question, corrected, and the correction undone.
    suggest(page)
    page.fill("#pending input[name=value]", "140")
    page.click("#pending >> text=Save result")
    page.wait_for_selector("text=is far from")
    keep(page, "slip")
    page.click("#recent a >> nth=0")
    page.fill("#value", "1.4")
    page.fill("#reason", "decimal point")
    page.click("text=Correct")
    page.wait_for_selector("text=now has the result 1.4")
    page.click("text=/Undo: trial 12 .*: corrected/")
    page.wait_for_selector("text=/Undone: trial 12 .*: corrected to 1.4/")
    assert stored(server)["value"].iloc[-1] == 140
    page.click("text=/Undo: trial 12 .*: result 140/")
    page.wait_for_selector("text=/Undone: trial 12 .*: result 140/")
    assert stored(server)["state"].iloc[-1] == "pending"
    tell_first(page)
    suggest(page, 3)
    assert page.locator("#pending tr").count() == 3
    page.wait_for_selector("#best >> text=interval")
    keep(page, "measure")
    for view in ("candidates", "figures", "history", "settings", "share", "sheet"):
        page.goto(f"{server.study}/{view}")
        settle(page)
        if view == "figures":
            wait_for_images(page)
            page.select_option("#across", "Cs")
            page.select_option("#up", "solvent")
            with page.expect_navigation():
                page.get_by_role("button", name="Draw").click()
            settle(page)
            wait_for_images(page)
            look_closer(page)
        keep(page, view)
    page.goto(f"{server.study}/trials/12")
    keep(page, "trial")
    page.goto(f"{server.address}/help/api")
    keep(page, "api")
    page.goto(f"{server.study}/share")
    with page.expect_download() as download:
        page.click("text=Trials")
    assert Path(download.value.path()).read_text().count("\n") == len(stored(server)) + 1
    with page.expect_download() as download:
        page.click("text=A page to send")
    assert "stability" in Path(download.value.path()).read_text()


def look_closer(page) -> None:
    """The text of a result comes under the pointer, and a figure can be made larger."""
    frame = page.locator("figure .picture").first
    frame.scroll_into_view_if_needed()
    box = frame.bounding_box()
    address = page.locator("figure[data-marks]").first.get_attribute("data-marks")
    marks = page.evaluate("async (at) => (await fetch(at)).json()", address)
    x, y, text = next(mark for mark in marks if mark[2].startswith("result: "))
    with page.expect_response("**/marks.json*"):
        page.mouse.move(box["x"] + 5, box["y"] + 5)
    for _ in range(100):
        page.mouse.move(box["x"] + x * box["width"] + 1, box["y"] + y * box["height"] + 1)
        if frame.locator(".mark-text").is_visible():
            break
        page.wait_for_timeout(20)
    assert frame.locator(".mark-text").inner_text() == text
    page.mouse.move(0, 0)
    assert not frame.locator(".mark-text").is_visible()
    before = frame.locator("img").bounding_box()["width"]
    page.get_by_role("button", name="Larger").first.click()
    assert frame.locator("img").bounding_box()["width"] == pytest.approx(1.5 * before, rel=0.01)
    page.get_by_role("button", name="Smaller").first.click()
    assert frame.locator("img").bounding_box()["width"] == pytest.approx(before, rel=0.01)


def test_ranges(server, open_page):
    page, server.name = open_page(errors=("422",)), "brew"
    page.goto(f"{server.address}/new")
    for part, text in (("name", "heat"), ("low", "20"), ("high", "90")):
        page.locator(f"[name=number-{part}]").first.fill(text)
    page.locator("[name=choice-name]").first.fill("acid")
    page.locator("[name=choice-values]").first.fill("citric, acetic")
    page.fill("#constraints", "not (acid == 'acetic' and heat > 60")
    form = page.locator("form[action='/new/ranges']")
    form.locator("[name=name]").fill(server.name)
    form.locator("[name=target]").fill("yield")
    form.get_by_text("Create the study").click()
    page.wait_for_selector("section .problem")
    keep(page, "ranges-problem")
    page.fill("#constraints", "not (acid == 'acetic' and heat > 60)")
    page.get_by_text("Create the study").last.click()
    page.wait_for_selector("text=The study was created")
    for value in ("0.3", "0.5", "0.4"):
        suggest(page)
        page.fill("#pending input[name=value]", value)
        page.click("#pending >> text=Save result")
        page.wait_for_selector(f"text={value} recorded")
    assert stored(server)["value"].tolist() == [0.3, 0.5, 0.4]
    keep(page, "space")
    page.goto(server.address)
    keep(page, "home")


def test_several_results_and_a_refused_one(server, open_page):
    """Weights and limits are typed; a result that is refused stays in its field, which is found."""
    page, server.name = open_page(errors=("422",)), "coating"
    page.goto(f"{server.address}/new")
    rows = [
        f"{i / 10}\t{i * 3 % 7 + 1}\t{10 + i if i < 6 else ''}\t{9 - i if i < 6 else ''}"
        for i in range(12)
    ]
    page.fill("#pasted", "\n".join(["binder\tpigment\tgloss\thaze", *rows]))
    send(page, "text=Look at the table")
    page.select_option("[name=more-direction] >> nth=0", "minimize")
    for one in page.locator("details.more summary").all():
        one.click()
    page.locator("[name=more-weight]").first.fill("2")
    page.locator("[name=limit]").fill("11")
    page.locator("[name=name]").fill(server.name)
    keep(page, "targets")
    page.click("text=Create the study")
    page.wait_for_selector("text=6 results of the table were told to it")
    page.goto(f"{server.study}/candidates")
    page.fill("#row", "7")
    page.fill("#value-any", "1,234")
    page.get_by_role("button", name="Save result").click()
    page.wait_for_selector("text=write 1234 or 1.234")
    assert page.input_value("#value-any") == "1,234"
    assert page.input_value("#row") == "7"
    assert page.evaluate("document.activeElement.id") == "value-any"
    keep(page, "refused")
    page.goto(f"{server.study}/figures")
    page.wait_for_selector("text=Each target over time")
    wait_for_images(page)
    keep(page, "several")


def test_two_people(server, open_page):
    """Each sees what the other does within two seconds; for one trial there is one result."""
    ann, bob = open_page(errors=("409",)), open_page(errors=("409",))
    create_films(ann, server)
    bob.goto(server.study)
    start = time.monotonic()
    suggest(ann)
    bob.wait_for_selector("#trial-5")
    assert time.monotonic() - start < 2.0 + 2.0, "two seconds, and two for a busy machine"
    bob.fill("#value-5", "0.77")
    tell_first(ann)
    # What Bob has typed stays, and he is told that somebody was faster.
    bob.wait_for_selector("#trial-5 .problem")
    assert bob.input_value("#value-5") == "0.77"
    keep(bob, "faster")
    bob.click("#trial-5 >> text=Save result")
    bob.wait_for_selector("text=Somebody was faster")
    keep(bob, "conflict")
    assert (stored(server)["trial"] == 5).sum() == 1
    bob.click("text=Mine is right")
    bob.wait_for_selector("text=now has the result 0.77")
    ann.wait_for_selector("#recent >> text=0.77")
    assert stored(server)["value"].iloc[-1] == 0.77


@pytest.mark.parametrize("script", [True, False])
def test_a_large_study_shows_its_pages_at_once(server, open_page, script):
    """Candidates and figures of a large study come by themselves when the model is computed."""
    rows = [{"Cs": i % 100 / 100, "FA": i // 100 / 100} for i in range(5000)]
    name = f"large-{script}".lower()
    with kb.Study.create(server.place / f"{name}.db", pd.DataFrame(rows), target="y") as study:
        study.tell_all(
            [{"row": 37 * i % 5000, "value": math.sin(i / 9) + i % 7 / 9} for i in range(60)]
        )
    page = open_page(java_script_enabled=script)
    at = f"{server.address}/studies/{name}"
    page.goto(f"{at}/figures")
    assert page.locator("h1").inner_text() == name
    page.locator("#figures img").first.wait_for(timeout=60_000)
    page.goto(f"{at}/candidates")
    page.locator("table.candidates").wait_for(timeout=60_000)
    assert "Page 1 of 50".casefold() in page.inner_text("#table").casefold()


def test_a_reader(server, open_page):
    page = open_page()
    create_films(page, server)
    page.goto(f"{server.study}/share")
    send(page, "text=Link to read")
    assert "/enter?code=read." in page.inner_text("code >> nth=0")
    reader = open_page(READ)
    reader.goto(server.study)
    assert reader.locator("form").count() == 0
    keep(reader, "reader")
    page.goto(server.study)
    suggest(page)
    reader.wait_for_selector("#trial-5")


def test_hostile_table(server, open_page):
    page = open_page()
    page.goto(f"{server.address}/new")
    table = f"{HOSTILE}\tname\ty\n" + "\n".join(
        f"{i}\t{HOSTILE}{i}\t{i if i < 5 else ''}" for i in range(9)
    )
    page.fill("#pasted", table)
    page.click("text=Look at the table")
    page.wait_for_selector("text=This is what was understood")
    page.fill("[name=name]", server.name)
    page.click("text=Create the study")
    page.wait_for_selector("text=5 results of the table")
    suggest(page, 2)
    for view in (
        "",
        "/candidates",
        "/figures",
        "/history",
        "/settings",
        "/share",
        "/sheet",
        "/trials/6",
    ):
        page.goto(f"{server.study}{view}")
        page.wait_for_timeout(100)
        assert "stolen" not in page.title()
        assert page.locator("main img[src=x]").count() == 0
    page.goto(server.study)
    assert "<img" in page.inner_text("#pending")
    keep(page, "hostile")


def test_reload_and_back(server, open_page):
    page = open_page()
    create_films(page, server)
    suggest(page)
    page.reload()
    tell_first(page)
    page.reload()
    page.go_back()
    page.go_forward()
    assert len(stored(server)) == 5


@pytest.mark.parametrize("stopped", [True, False])
def test_the_server_is_killed_in_the_middle_of_a_tell(own_server, open_page, stopped):
    """Killed before it has read the request, or at any moment after; it counts once."""
    server, page = own_server, open_page()
    create_films(page, server)
    suggest(page)
    form = page.locator("#pending form").first
    fields = {
        one: form.locator(f"[name={one}]").first.input_value() for one in ("csrf", "key", "trial")
    }
    page.fill("#pending input[name=value]", "0.5")
    if stopped:
        server.process.send_signal(signal.SIGSTOP)
    # Sent at once: the script would first ask whether the server answers.
    form.evaluate("(form) => { setTimeout(() => form.submit()); }")
    page.wait_for_timeout(5)
    server.kill()
    server.start()
    # The browser sends the same form again, as its reload would.
    address = f"{server.study}/tell"
    for _ in range(2):
        answer = page.request.post(
            address, form=fields | {"value": "0.5"}, headers={"origin": server.address}
        )
        assert answer.ok, answer.text()
    page.goto(server.study)
    page.wait_for_selector("#recent >> text=0.5")
    assert stored(server)["value"].tolist()[-1] == 0.5
    assert len(stored(server)) == 5


def suggest_and_type(page, server, typed: str) -> None:
    """Create the films, ask for trial 5 and type its result."""
    create_films(page, server)
    suggest(page)
    page.fill("#value-5", typed)


def go_back(page, selector: str) -> None:
    """Go back from an error page, which loads itself again from time to time."""
    end = time.monotonic() + 30
    while not page.locator(selector).count():
        assert time.monotonic() < end, page.url
        with suppress(PlaywrightError):
            page.go_back()


def test_what_is_typed_survives_a_restart(own_server, open_page):
    """Sent while the server is away, by two presses; then sent again: it is stored once."""
    server, page = own_server, open_page()
    suggest_and_type(page, server, "0.66")
    server.kill()
    page.wait_for_selector("text=The server does not answer. What you type stays here.")
    for _ in range(2):
        page.press("#value-5", "Enter")
    page.wait_for_selector("#trial-5 >> text=What you typed is still here")
    keep(page, "restart")
    assert page.url == server.study
    assert page.input_value("#value-5") == "0.66"
    page.press("#value-5", "Enter")
    page.wait_for_timeout(200)
    assert page.input_value("#value-5") == "0.66"
    server.start()
    page.press("#value-5", "Enter")
    page.wait_for_selector("text=0.66 recorded")
    assert stored(server)["value"].tolist().count(0.66) == 1
    # Once it is acknowledged, it is typed nowhere any more.
    page.click("text=/Undo: trial 5 .*: result 0.66/")
    page.wait_for_selector("#value-5")
    assert page.input_value("#value-5") == ""


def test_what_is_typed_survives_a_server_that_hangs(own_server, open_page):
    server, page = own_server, open_page()
    suggest_and_type(page, server, "0.66")
    server.process.send_signal(signal.SIGSTOP)
    page.press("#value-5", "Enter")
    page.wait_for_selector("#trial-5 >> text=What you typed is still here")
    server.process.send_signal(signal.SIGCONT)
    page.press("#value-5", "Enter")
    page.wait_for_selector("text=0.66 recorded")


def test_what_is_typed_survives_an_error_page(own_server, open_page):
    """The values of all forms, and of fields that are folded, come back with the page."""
    server, page = own_server, open_page()
    suggest_and_type(page, server, "0.8125")
    page.click("#trial-5 summary:has-text('Note')")
    page.fill("#note-5", "warm day")
    page.fill("#n", "3")
    page.select_option("#same", "solvent")
    page.click("text=Results from a file")
    page.fill("#pasted", "row,value\n7,0.5")
    page.check("[name=differing][value=replicates]")
    server.kill()
    with pytest.raises(PlaywrightError):
        page.goto(f"{server.study}/history")
    page.wait_for_selector(ERROR_PAGE, state="attached")
    server.start()
    go_back(page, "#value-5")
    page.reload()
    assert page.input_value("#value-5") == "0.8125"
    assert page.locator("#note-5").is_visible()
    assert page.input_value("#note-5") == "warm day"
    assert page.input_value("#n") == "3"
    assert page.input_value("#same") == "solvent"
    assert page.input_value("#pasted") == "row,value\n7,0.5"
    assert page.is_checked("[name=differing][value=replicates]")
    page.press("#value-5", "Enter")
    page.wait_for_selector("text=0.8125 recorded")
    assert stored(server)["value"].tolist().count(0.8125) == 1
    assert page.input_value("#n") == "3", "only what was sent is done with"


def test_a_result_whose_answer_was_lost_counts_once(server, open_page):
    """Sent again after the error page, it has the key of the first time."""
    page = open_page()
    create_films(page, server)
    page.goto(f"{server.study}/candidates")
    page.fill("#row", "A7")
    page.fill("#value-any", "0.8125")

    def lose_answer(route):
        route.fetch(max_redirects=0)
        page.context.clear_cookies(name=re.compile("-said$"))
        route.abort("connectionreset")

    page.route("**/tell", lose_answer)
    page.press("#value-any", "Enter")
    page.wait_for_selector(ERROR_PAGE, state="attached")
    assert stored(server)["value"].tolist().count(0.8125) == 1
    page.unroute("**/tell")
    go_back(page, "#row")
    assert page.input_value("#row") == "A7"
    page.press("#value-any", "Enter")
    page.wait_for_selector("text=0.8125")
    assert stored(server)["value"].tolist().count(0.8125) == 1
    page.goto(f"{server.study}/candidates")
    assert page.input_value("#row") == ""


def test_keyboard_only(server, open_page):
    page = open_page()
    create_films(page, server)
    page.goto(server.study)

    def tab_to(selector: str) -> None:
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("(s) => document.activeElement.matches(s)", selector):
                return
        raise AssertionError(f"{selector} cannot be reached by the keyboard")

    tab_to(".skip")
    page.keyboard.press("Enter")
    tab_to("button.main")
    page.keyboard.press("Enter")
    page.wait_for_selector("#trial-5")
    tab_to("#value-5")
    page.keyboard.type("0.71")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=0.71 recorded")
    tab_to("#recent a")
    page.keyboard.press("Enter")
    page.wait_for_selector("text=Why this one?")


def test_without_script(server, open_page):
    page = open_page(java_script_enabled=False)
    create_films(page, server)
    suggest(page)
    tell_first(page)
    page.get_by_role("link", name="Candidates", exact=True).click()
    page.get_by_role("link", name="Cs", exact=True).click()
    assert page.locator("tbody tr").count() == FILMS
    page.fill("#search", "A17")
    page.click("text=Filter")
    assert page.locator("tbody tr").count() == 1


VIEWS = ("", "/candidates", "/figures", "/history", "/settings", "/share", "/sheet", "/trials/5")


@pytest.fixture(scope="module")
def views(shared_server, tmp_path_factory):
    """The addresses of all pages, for a study that has results and pending trials."""
    table = tmp_path_factory.mktemp("table") / "films.csv"
    table.write_text(films_table())
    with kb.Study.create(
        shared_server.place / "views.db",
        table,
        target="stability",
        columns=["Cs", "FA", "solvent"],
    ) as study:
        study.tell_all(table)
        for one in study.ask(3)[:2]:
            study.tell(one.trial, stability(one.row))
    return ["/", "/new", "/help/api", *(f"/studies/views{view}" for view in VIEWS)]


@pytest.mark.parametrize(("scheme", "width"), [("dark", 1100), ("light", 360)])
def test_every_view_is_accessible_and_fits(server, views, open_page, scheme, width):
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800}, bypass_csp=True)
    for address in views:
        page.goto(f"{server.address}{address}")
        settle(page)
        assert_accessible(page)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= width, f"{address} is {wide} wide"
        if address.endswith("/figures"):
            wait_for_images(page)
        name = address.strip("/").replace("studies/views", "measure").rpartition("/")[2]
        keep(page, f"{'narrow' if width == 360 else 'dark'}-{name or 'home'}")


def test_the_first_page_is_light(server, open_page):
    """Under 500 kB for 94 candidates, and painted within a second."""
    page = open_page()
    create_films(page, server)
    suggest(page)
    sizes = []
    page.on("response", lambda answer: sizes.append(len(answer.body())))
    page.goto(server.study, wait_until="load")
    assert sum(sizes) < 500_000
    paints = "() => performance.getEntriesByType('paint').map((entry) => entry.startTime)"
    end = time.monotonic() + 10
    while not page.evaluate(paints) and time.monotonic() < end:
        page.wait_for_timeout(50)
    first = min(page.evaluate(paints))
    print(f"first page: {sum(sizes)} bytes, painted after {first:.0f} ms")
    assert first < 1000


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_figures_and_badges_fit_a_phone(server, views, open_page, scheme):
    """Nothing of a figure is outside the screen; its background is that of the page."""
    page = open_page(color_scheme=scheme, viewport={"width": 390, "height": 800})
    page.goto(f"{server.address}/studies/views/figures")
    settle(page)
    wait_for_images(page)
    for image in page.locator("figure img").all():
        box = image.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        with Image.open(BytesIO(image.screenshot())) as shown:
            corner = shown.convert("RGB").getpixel((3, shown.height - 4))
        assert max(corner) < 60 if scheme == "dark" else min(corner) > 240
    page.goto(f"{server.address}/studies/views/candidates")
    settle(page)
    badge = page.locator(".tag", has_text="likely best").bounding_box()
    assert badge["x"] + badge["width"] <= 390
