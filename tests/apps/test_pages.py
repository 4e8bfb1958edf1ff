"""The lab page without script: what a scientist does in a day, by forms."""

from __future__ import annotations

import errno
import html
import io
import re
import threading
import time
from threading import Event as Signal
from threading import Thread

import numpy as np
import openpyxl
import pandas as pd
import pytest

import kernelbandits as kb
from kernelbandits.apps.web.example import SHARES, VISCOSITIES
from kernelbandits.apps.web.uploads import Uploads
from lab_pages import READ, Page, find_form, open_page

TABLE = "sample;Cs;solvent;stability\n" + "\n".join(
    f"A{i};{i / 10:g};{'DMF' if i % 2 else 'DMSO'};{'0.5' if i == 3 else ''}".replace(".", ",")
    for i in range(10)
)
HOSTILE = "<img src=x onerror=alert(1)>"
TEXTS = re.compile(r"<[^>]*>")


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Pages wait for the model, however busy the machine is."""
    monkeypatch.setattr("kernelbandits.apps.web.snapshots.PATIENCE", 60.0)


page = pytest.fixture(open_page)


@pytest.fixture
def films(page):
    """A browser, and a study of ten films that has no results."""
    frame = pd.DataFrame({"Cs": [i / 10 for i in range(10)], "film": [f"A{i}" for i in range(10)]})
    page.lab.library.create("films", frame, target="stability", columns=["Cs"])
    return page.browser()


def text_of(page: str) -> str:
    return html.unescape(TEXTS.sub(" ", page))


def study_of(page, name="films"):
    return page.lab.library.study(name)


def test_a_table_becomes_a_study_with_its_results(page):
    browser = page.browser()
    answer = browser.send("/new", "/new/table", pasted=TABLE)
    preview = browser.follow(answer)
    for word in ("names the row", "describes the candidate", "Tell the study the 1 result"):
        assert word in preview
    address = answer.headers["location"]
    roles = {"role-0": "names the row", "role-1": "describes the candidate", "role-3": "result"}
    fields = {"action": "create", "name": "films", "tell-results": "on", **roles}
    fields["role-2"] = "not used"
    created = browser.send(address, address, **fields)
    shown = text_of(browser.follow(created))
    assert "1 result of the table was told to it" in shown
    study = study_of(page)
    assert study.candidates.chosen == ("Cs",)
    assert study.candidates.labels == ("sample",)
    assert study.to_dataframe()["value"].tolist() == [0.5]
    browser.get(address, 404)


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("a,b\n1,2\n3\n", "line 3"),
        ("", "empty"),
        ("a,b\n1,2\n3,x\n4,5\n", "<b>B3</b>"),
        ("PK\x03\x04 workbook", "workbook"),
    ],
)
def test_a_wrong_table_is_refused_with_its_place(page, table, said):
    browser = page.browser()
    fields = find_form(browser.get("/new"), "/new/table")
    file = {"file": ("films.csv", table.encode())}
    answer = browser.client.post("/new/table", data=fields, files=file if table else None)
    if answer.status_code == 303:
        answer = browser.client.get(answer.headers["location"])
    assert said in html.unescape(answer.text)
    assert page.lab.library.entries() == []


@pytest.mark.thorough
def test_ranges_become_a_study(page):
    browser = page.browser()
    lines = {
        "number-name": ["heat", ""],
        "number-unit": ["", ""],
        "number-kind": ["real", "real"],
        "number-low": ["20", ""],
        "number-high": ["90", ""],
        "number-step": ["", ""],
        "choice-name": "acid",
        "choice-kind": "choice",
        "choice-values": "citric, acetic",
        "constraints": "not (acid == 'acetic' and heat > 60)",
        "name": "brew",
        "target": "yield",
        "direction": "minimize",
    }
    wrong = browser.send("/new", "/new/ranges", 422, **lines | {"number-high": ["", ""]})
    assert "needs a number in the field 'to', got ''" in text_of(wrong.text)
    browser.send("/new", "/new/ranges", **lines)
    study = study_of(page, "brew")
    assert study.space.names == ("heat", "acid")
    assert study.direction == "minimize"
    browser.send("/studies/brew", "/studies/brew/ask")
    browser.send("/studies/brew", "/studies/brew/tell", value="3.5")
    point = {"x-heat": "30", "x-acid": "citric", "value": "2"}
    browser.send("/studies/brew/candidates", "/studies/brew/tell", **point)
    assert study.to_dataframe()["value"].tolist() == [3.5, 2.0]
    for path in ("", "/candidates", "/figures", "/history", "/settings", "/share", "/sheet"):
        browser.get(f"/studies/brew{path}")
    assert "heat: 20 to 90, step 0.5; acid:" in text_of(browser.get("/studies/brew/candidates"))


@pytest.mark.thorough
def test_ask_tell_correct_and_undo(page, films):
    shown = films.follow(films.send("/studies/films", "/studies/films/ask"))
    assert "initial design" in shown
    said = films.follow(films.send("/studies/films", "/studies/films/tell", value="0.83"))
    assert "0.83 recorded." in said
    assert "0.83 recorded" not in films.get("/studies/films")
    study = study_of(page)
    films.send("/studies/films/trials/1", "/studies/films/correct", value="0.38", reason="swapped")
    assert study.to_dataframe()["value"][0] == 0.38
    films.send("/studies/films", "/studies/films/undo")
    assert study.to_dataframe()["value"][0] == 0.83
    films.send("/studies/films", "/studies/films/ask")
    films.send("/studies/films", "/studies/films/tell", failed="yes", value="")
    assert study.to_dataframe()["state"].tolist() == ["told", "failed"]
    history = text_of(films.get("/studies/films/history"))
    assert ": corrected to 0.38 (swapped)" in history
    assert "(undone)" in history


@pytest.mark.thorough
def test_a_form_that_is_sent_twice_counts_once(page, films):
    films.send("/studies/films", "/studies/films/ask")
    fields = find_form(films.get("/studies/films"), "/studies/films/tell") | {"value": "0.5"}
    answers = [films.client.post("/studies/films/tell", data=fields) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [303, 303]
    asks = find_form(films.get("/studies/films"), "/studies/films/ask")
    for _ in range(2):
        films.client.post("/studies/films/ask", data=asks)
    step = find_form(films.get("/studies/films"), "/studies/films/undo")
    assert [films.client.post("/studies/films/undo", data=step).status_code for _ in "12"] == [
        303
    ] * 2
    kinds = [event.kind for event in study_of(page).history()]
    assert (kinds.count("told"), kinds.count("asked"), kinds.count("undone")) == (1, 2, 1)


def test_the_next_page_names_once_the_form_that_was_answered(page, films):
    """By it the script knows that it need not keep what was typed any longer."""
    for address, fields in (("ask", {}), ("tell", {"value": "0.5"})):
        form = find_form(films.get("/studies/films"), f"/studies/films/{address}") | fields
        answer = films.client.post(f"/studies/films/{address}", data=form)
        assert f'data-answered="{form["key"]}"' in films.follow(answer)
        assert "data-answered" not in films.get("/studies/films")
    form = find_form(films.get("/studies/films/candidates"), "/studies/films/tell")
    form |= {"row": "99", "value": "1", "key": form["key"] + '"<b>' + 3000 * "k"}
    refused = films.client.post("/studies/films/tell", data=form)
    named = re.search(r'data-answered="([^"]*)"', refused.text)[1]
    assert html.unescape(named) == form["key"][:64]


@pytest.mark.thorough
def test_a_form_that_is_sent_again_with_another_content_is_refused(page, films):
    films.send("/studies/films", "/studies/films/ask")
    films.send("/studies/films", "/studies/films/tell", value="0.5")
    fields = find_form(films.get("/studies/films/trials/1"), "/studies/films/correct")
    rows = find_form(films.get("/studies/films/candidates"), "/studies/films/permit")
    sent = [
        films.client.post("/studies/films/correct", data=fields | {"value": value})
        for value in ("0.6", "0.7")
    ]
    sent += [
        films.client.post("/studies/films/permit", data=rows | {"rows": row, "permit": "no"})
        for row in ("A1", "A2")
    ]
    assert [answer.status_code for answer in sent] == [303, 422, 303, 409]
    assert all("which said something else" in text_of(answer.text) for answer in sent[1::2])
    assert [
        event.value or event.body["rows"]
        for event in study_of(page).history()
        if event.kind in ("corrected", "forbidden")
    ] == [0.6, [1]]


def test_two_people_tell_the_same_trial(page, films):
    films.send("/studies/films", "/studies/films/ask")
    other = page.browser()
    mine = find_form(films.get("/studies/films"), "/studies/films/tell")
    theirs = find_form(other.get("/studies/films"), "/studies/films/tell")
    other.client.post("/studies/films/tell", data=theirs | {"value": "0.4"})
    late = films.client.post("/studies/films/tell", data=mine | {"value": "0.7"})
    assert late.status_code == 409
    assert "has the result 0.4" in " ".join(text_of(late.text).split())
    fields = find_form(late.text, "/studies/films/correct")
    assert films.client.post("/studies/films/correct", data=fields).status_code == 303
    assert study_of(page).to_dataframe()["value"].tolist() == [0.7]


def test_the_page_names_all_that_undo_takes_back(page, films):
    rows = {one.trial: one.row for one in study_of(page).ask(6)}
    named = "; ".join(f"trial {number} (A{rows[number]}) suggested" for number in (6, 5, 4, 3))
    assert f"Undo: {named}; 2 more" in text_of(films.get("/studies/films"))
    sent = films.send("/studies/films", "/studies/films/undo")
    assert study_of(page).to_dataframe().empty
    assert "Undone: 6 suggestions (trials 1-6)." in text_of(films.follow(sent))


def test_undo_takes_back_only_what_the_page_showed(page, films):
    films.send("/studies/films", "/studies/films/ask")
    step = find_form(films.get("/studies/films"), "/studies/films/undo")
    study_of(page).tell(1, 0.4)
    assert films.client.post("/studies/films/undo", data=step).status_code == 409
    assert study_of(page).to_dataframe()["value"].tolist() == [0.4]


def test_two_people_who_press_undo_at_once_undo_one_step(page, films, monkeypatch):
    """The other one comes after my form was read, and before it has written."""
    study, undo_all = study_of(page), kb.Study.undo_all
    for row in (1, 2, 3):
        study.tell(row=row, value=row / 4)

    def undo_after_the_other(study, *given, **more):
        undo_all(study, 1, key="the other")
        return undo_all(study, *given, **more)

    monkeypatch.setattr(kb.Study, "undo_all", undo_after_the_other)
    late = films.send("/studies/films", "/studies/films/undo", 409)
    assert "Nothing was undone" in late.text
    assert study.to_dataframe()["value"].dropna().tolist() == [0.25, 0.5]


@pytest.mark.parametrize("typed", ["1,234", "", "nan", "1e999", "0x10", "1_000", "12 %"])
def test_what_is_no_number_is_refused_and_stays_typed(page, films, typed):
    films.send("/studies/films", "/studies/films/ask")
    answer = films.send("/studies/films", "/studies/films/tell", 422, value=typed)
    assert "needs a number" in answer.text
    assert f'value="{typed}" aria-invalid="true"' in answer.text
    assert study_of(page).to_dataframe()["state"].tolist() == ["pending"]


def test_fields_take_a_decimal_comma(page, films):
    films.send("/studies/films", "/studies/films/ask")
    films.send("/studies/films", "/studies/films/tell", value="0,83", sem="0,1")
    films.send("/studies/films/trials/1", "/studies/films/correct", value="0,84")
    films.send("/studies/films/settings", "/studies/films/settings", tolerance="0,05", noise="0,02")
    study = study_of(page)
    assert study.to_dataframe()["value"].tolist() == [0.84]
    assert (study.settings["tolerance"], study.settings["noise"]) == (0.05, 0.02)


def test_a_file_of_results(page, films):
    lines = "film,stability\nA3,0.4\nA5,0.6\n"
    films.send("/studies/films", "/studies/films/results", pasted=lines)
    changed = "film,stability\nA3,0.9\n"
    refused = films.send("/studies/films", "/studies/films/results", 409, pasted=changed)
    assert "stored 0.4, now 0.9" in refused.text
    films.send("/studies/films", "/studies/films/results", pasted=changed, differing="corrected")
    assert study_of(page).to_dataframe()["value"].tolist() == [0.9, 0.6]


@pytest.mark.thorough
def test_notes_forbidden_rows_and_new_ones(page, films):
    study = study_of(page)
    films.send("/studies/films", "/studies/films/ask")
    remarks = {"value": "0.5", "note": "second batch", "by": "AB", "sem": "0.02"}
    films.send("/studies/films", "/studies/films/tell", **remarks)
    [told] = [event for event in study.history() if event.kind == "told"]
    assert (told.body["note"], told.body["by"]) == ("second batch", "AB")
    assert list(told.body["sems"].values()) == [0.02]
    rows = {"rows": "A4, A5", "permit": "no", "reason": "no precursor"}
    films.send("/studies/films/candidates", "/studies/films/permit", **rows)
    assert study.candidates.allowed_rows.sum() == 8
    assert "not allowed" in films.get("/studies/films/candidates")
    films.send("/studies/films/candidates", "/studies/films/add", pasted="Cs,film\n0.55,B1\n")
    assert len(study.candidates) == 11
    films.send("/studies/films", "/studies/films/ask")
    films.send("/studies/films", "/studies/films/tell", missing="yes")
    history = films.get("/studies/films/history")
    assert "no value" in history
    assert ": result 0.5 ± 0.02 (second batch), by AB" in text_of(history)
    assert ">AB<" in history


@pytest.mark.thorough
def test_several_targets(page):
    frame = pd.DataFrame({"Cs": [i / 10 for i in range(10)]})
    goals = {"stability": "maximize", "cost": "minimize"}
    page.lab.library.create("films", frame, targets=goals)
    browser, study = page.browser(), study_of(page)
    for i in range(6):
        browser.send("/studies/films", "/studies/films/ask")
        values = {"value": str(i / 10), "value-1": str(1 - i / 20)}
        browser.send("/studies/films", "/studies/films/tell", **values)
    assert study.to_dataframe()["stability"].tolist()[-1] == 0.5
    for path in ("", "/candidates", "/figures", "/history", "/settings", "/share", "/trials/1"):
        browser.get(f"/studies/films{path}")


def test_candidates_are_sorted_filtered_and_marked(page, films):
    study = study_of(page)
    for row in range(5):
        study.tell(row=row, value=row / 10)
    study.ask()
    shown = films.get("/studies/films/candidates?sort=Cs&order=up&show=measured")
    rows = re.findall(r"<tr[^>]*>\s*<td><a[^>]*>A(\d+)</a></td>", shown)
    assert rows == ["0", "1", "2", "3", "4"]
    assert "likely best" in shown
    assert "pending" in films.get("/studies/films/candidates?show=pending")
    assert ">A7<" in films.get("/studies/films/candidates?search=a7")
    for odd in ("sort=DROP TABLE", "sort=mean;--", "page=999999", "page=-3", "show=x"):
        films.get(f"/studies/films/candidates?{odd}")


def test_a_result_that_is_a_limit_is_typed_into_its_field(page, films):
    study = study_of(page)
    study.ask()
    said = films.follow(films.send("/studies/films", "/studies/films/tell", value="<0,5"))
    assert "&lt;0.5" in said
    assert study.to_dataframe()["beyond"].tolist() == ["<"]
    assert "&lt;0.5" in films.get("/studies/films/history")
    assert "<b>&lt;0.5</b>" in films.get("/studies/films")
    assert "&lt;0.5" in films.get("/")
    assert "<td>1</td><td>&lt;0.5</td>" in films.get("/studies/films/candidates")
    [row] = study.to_dataframe()["row"]
    assert "average &lt;0.5" in films.get(f"/studies/films/candidates/{row}")
    # What the field for a correction holds is the limit, which a correction would not lose.
    trial = films.get("/studies/films/trials/1")
    assert "<b>&lt;0.5</b>" in trial
    assert 'name="value" inputmode="decimal" autocomplete="off" size="10" value="&lt;0.5"' in trial


def test_a_limit_of_one_of_several_targets_is_shown_as_such(page):
    frame = pd.DataFrame({"Cs": [i / 10 for i in range(10)]})
    targets = ["yield", "purity"]
    study = page.lab.library.create("two", frame, targets=targets)
    study.tell(row=1, value={"yield": 5.0, "purity": "<0.5"})
    shown = page.browser().get("/studies/two/trials/1")
    assert "<b>&lt;0.5</b>" in shown
    assert shown.count('value="&lt;0.5"') == 1


@pytest.mark.thorough
def test_settings_and_downloads(page, films):
    study = study_of(page)
    for row in range(6):
        study.tell(row=row, value=row / 10)
    films.send("/studies/films/settings", "/studies/films/settings", tolerance="0.05", goal="find")
    assert study.settings["tolerance"] == 0.05
    films.send("/studies/films/settings", "/studies/films/settings", limits="0 .. 100")
    assert study.settings["limits"] == "0..100"
    shown = films.get("/studies/films/settings")
    assert 'name="limits"' in shown
    assert 'value="0..100"' in shown
    films.send("/studies/films/settings", "/studies/films/settings", limits="")
    assert study.settings["limits"] is None
    assert films.get("/studies/films/download/trials.csv").count("\n") == 7
    assert films.get("/studies/films/download/estimates.csv").count("\n") == 11
    assert "<script" not in films.get("/studies/films/download/page.html")
    book = openpyxl.load_workbook(download(films, "study.xlsx"))
    assert "trials" in book.sheetnames
    assert "kernelbandits" in films.get("/studies/films/share")
    link = films.send("/studies/films/share", "/studies/films/link", 200, role="read")
    code = re.search(r"enter\?code=([\w.-]+)", link.text)[1]
    reader = page.client(headers={"accept": "text/html"})
    assert reader.get("/enter", params={"code": code}).status_code == 303
    shown = reader.get("/studies/films").text
    assert "read only" in shown
    assert "<form" not in shown


@pytest.mark.thorough
def test_a_sheet_and_a_workbook_are_told_back(page, films):
    films.send("/studies/films", "/studies/films/ask", n="3")
    book = openpyxl.load_workbook(download(films, "sheet.xlsx"))
    sheet = book.active
    names = [cell.value for cell in sheet[1]]
    sheet.cell(2, names.index("stability") + 1).value = 0.7
    file = io.BytesIO()
    book.save(file)
    told = {"file": ("plate.xlsx", file.getvalue())}
    said = films.send("/studies/films", "/studies/films/results", files=told)
    assert "1 result recorded" in films.follow(said)
    book = openpyxl.Workbook()
    for line in (["film", "Cs"], ["B1", 0.1], ["B2", 0.4], ["B3", 0.9]):
        book.active.append(line)
    book.create_sheet("notes").append(["nothing"])
    file = io.BytesIO()
    book.save(file)
    workbook = {"file": ("films.xlsx", file.getvalue())}
    several = films.send("/new", "/new/table", 422, files=workbook)
    assert "notes" in several.text
    answer = films.send("/new", "/new/table", files=workbook, worksheet="Sheet")
    address = answer.headers["location"]
    roles = {"role-0": "names the row", "role-1": "describes the candidate"}
    number = address.partition("?")[0]
    films.send(address, number, action="create", name="more", target="stability", **roles)
    assert len(study_of(page, "more").candidates) == 3


def download(browser, what):
    answer = browser.client.get(f"/studies/films/download/{what}")
    assert answer.status_code == 200, answer.text
    return io.BytesIO(answer.content)


@pytest.mark.thorough
def test_hostile_names_are_shown_as_text(page):
    frame = pd.DataFrame(
        {HOSTILE: [0.0, 0.5, 1.0], "name": ["=1+1", HOSTILE, "javascript:alert(1)"]}
    )
    page.lab.library.create("films", frame, target=f"{HOSTILE}y", columns=[HOSTILE])
    study = study_of(page)
    for row in range(3):
        study.tell(row=row, value=float(row), worker=HOSTILE)
    study.ask(worker="</script>")
    study.correct(1, 5.0, reason=HOSTILE)
    browser = page.browser()
    for path in (
        "",
        "/candidates",
        "/history",
        "/figures",
        "/share",
        "/trials/1",
        "/sheet",
        "/settings",
    ):
        shown = browser.get(f"/studies/films{path}")
        assert "<img src=x" not in shown
        assert "&lt;img" in shown
        assert not re.search(r"<script(?! src=\"/static/lab.js\" defer>)", shown)
    assert "'=1+1" in browser.get("/studies/films/download/trials.csv")


def test_news_is_the_number_of_the_last_event(page, films):
    study = study_of(page)
    before = films.client.get("/studies/films/news?after=1").json()
    assert before == {"event": 1, "changed": False, "ready": False}
    with kb.Study.open(study.place) as other:
        other.ask()
    assert films.client.get("/studies/films/news?after=1").json()["changed"]


@pytest.mark.thorough
def test_the_page_does_not_wait_for_the_model(page, films, monkeypatch):
    """What to measure is shown at once; the likely best follows when it is computed."""
    study_of(page).ask()
    compute, shown_before = kb.Study.status, threading.Event()

    def compute_when_shown(study):
        assert shown_before.wait(60)
        return compute(study)

    monkeypatch.setattr("kernelbandits.apps.web.snapshots.PATIENCE", 0.01)
    monkeypatch.setattr(kb.Study, "status", compute_when_shown)
    shown = films.get("/studies/films")
    assert "The model is being computed" in shown
    assert "trial-1" in shown
    for path in ("candidates", "figures", "settings", "share", "trials/1"):
        assert "being computed" in films.get(f"/studies/films/{path}")
    shown_before.set()
    for what in ("status", "drawings"):
        wait_until_ready(films, what)
    assert "No results yet" in films.get("/studies/films")
    for path in ("candidates", "figures", "settings", "share", "trials/1"):
        assert "being computed" not in films.get(f"/studies/films/{path}")


def wait_until_ready(browser, what):
    """Ask for news as the script of a page does, until an answer is known."""
    end = time.monotonic() + 60
    while not browser.client.get(f"/studies/films/news?waiting={what}").json()["ready"]:
        assert time.monotonic() < end, f"{what} is not computed"
        time.sleep(0.05)


def test_an_answer_that_cannot_be_computed_is_an_error_and_no_page_that_waits(
    page, films, monkeypatch
):
    def fail(study):
        raise ValueError("the model needs more memory")

    monkeypatch.setattr(kb.Study, "status", fail)
    assert "needs more memory" in films.get("/studies/films", 422)


TWO = "sample,x,stability,haze\n" + "\n".join(
    f"S{i},{i / 5},{f'{10 * i},{i}' if i < 3 else ','}" for i in range(6)
)


@pytest.fixture
def two(page):
    """A browser, and a study of two results that a table was dropped for."""
    browser = page.browser()
    preview = browser.send("/new", "/new/table", pasted=TWO).headers["location"]
    shown = browser.get(preview)
    assert "Tell the study the 3 results in the columns stability, haze" in shown
    assert "tell this file as results" not in shown
    roles = ("names the row", "describes the candidate", "result", "result")
    fields = {f"role-{i}": role for i, role in enumerate(roles)} | {
        "name": "two",
        "action": "create",
    }
    aims = {"target": "stability", "direction": "maximize", "tell-results": "on"}
    # A second result that the form has not shown yet: its direction is asked for first.
    unseen = browser.send(preview, preview, 422, **fields, **aims)
    assert "whether more or less of haze is better" in unseen.text
    more = {"more-target": "haze", "more-direction": "minimize"}
    browser.send(preview, preview, **fields, **aims, **more)
    return browser


def test_a_table_of_two_results(page, two):
    study = study_of(page, "two")
    assert [one["name"] for one in study.settings["targets"]] == ["stability", "haze"]
    assert study.settings["targets"][1]["direction"] == "minimize"
    assert study.to_dataframe()["haze"].tolist() == [0, 1, 2]
    shown = text_of(two.get("/studies/two"))
    assert "maximize desirability of stability, haze" in " ".join(shown.split())
    methods = two.get("/studies/two/share")
    assert "the desirability of stability (maximize) and haze (minimize)" in methods
    settings = text_of(two.get("/studies/two/settings"))
    assert re.search(r"haze\s+minimize", settings)


@pytest.mark.thorough
def test_values_that_came_one_by_one_are_shown(page, two):
    two.send("/studies/two", "/studies/two/ask")
    told = two.send("/studies/two", "/studies/two/tell", value="35.25")
    assert "haze still to come" in text_of(two.follow(told))
    card = two.get("/studies/two").split('id="trial-4"')[1].split("</li>")[0]
    assert "35.25" in card
    assert 'name="value"' not in card
    assert ": result stability 35.25" in two.get("/studies/two")
    assert "35.25" in two.get("/studies/two/sheet")
    refused = two.send("/studies/two", "/studies/two/tell", 422, **{"value-1": "1,5,"})
    assert 'value="1,5,"' in refused.text
    again = two.send("/studies/two", "/studies/two/tell", 409, value="36")
    assert "<b>already has stability 35.25</b>" in again.text
    two.send("/studies/two", "/studies/two/tell", **{"value-1": "1.5"})
    fields = {"value": "34", "value-1": "1.5", "reason": "typing"}
    corrected = two.send("/studies/two/trials/4", "/studies/two/correct", **fields)
    assert "now has the result stability 34, haze 1.5" in text_of(two.follow(corrected))
    assert ": corrected to stability 34, haze 1.5 (typing)" in two.get("/studies/two/history")


def test_a_refused_result_keeps_all_that_was_typed(page, films):
    films.send("/studies/films", "/studies/films/ask")
    typed = {"value": "0,83x", "note": "edge of the film", "by": "Ann", "sem": "0.1"}
    refused = films.send("/studies/films", "/studies/films/tell", 422, **typed).text
    for text in typed.values():
        assert f'value="{text}"' in refused
    assert "The result (stability) needs a number" in text_of(refused)
    # News are asked of a page that is there, and not of the address of the form.
    assert re.search(r'data-page="([^"]*)"', refused)[1] == "/studies/films"
    listed = films.get("/studies/films/candidates?search=0.1&page=1")
    assert 'data-page="/studies/films/candidates?search=0.1&amp;page=1"' in listed


@pytest.mark.parametrize(
    ("address", "fields", "status", "said"),
    [
        ("tell", {"row": "4", "value": "0,8,3", "note": "odd"}, 422, "needs a number"),
        ("tell", {"row": "99", "value": "0.83", "by": "Ann"}, 409, "'line 99' for a line"),
        ("permit", {"rows": "A4, A99", "permit": "no", "reason": "broken"}, 409, "Did you mean"),
        ("permit", {"rows": "A4", "permit": "yes", "reason": "found"}, 409, "not allowed yet"),
        ("add", {"pasted": "film\nB1"}, 422, "needs a column"),
    ],
)
def test_a_refused_form_on_candidates_keeps_what_was_typed(
    page, films, address, fields, status, said
):
    shown = films.send(
        "/studies/films/candidates", f"/studies/films/{address}", status, **fields
    ).text
    problem = re.search(r'<p class="problem" role="alert">(.*?)</p>', shown, flags=re.DOTALL)[1]
    assert said in text_of(problem)
    for name, text in fields.items():
        if name == "pasted":
            assert f">{text}</textarea>" in shown
        elif name != "permit":
            assert f'value="{text}"' in shown
    assert 'id="table"' in shown
    assert re.search(r'data-page="([^"]*)"', shown)[1] == "/studies/films/candidates"
    assert len(study_of(page).history()) == 1


def test_a_refused_point_of_a_space_keeps_its_values(page):
    page.lab.library.create(
        "brew", {"heat": (20.0, 90.0), "acid": ["citric", "acetic"]}, target="y"
    )
    point = {"x-heat": "120", "x-acid": "citric", "value": "2"}
    shown = page.browser().send("/studies/brew/candidates", "/studies/brew/tell", 422, **point).text
    for text in point.values():
        assert f'value="{text}"' in shown


def test_a_refused_correction_keeps_what_was_typed(page, films):
    films.send("/studies/films/candidates", "/studies/films/tell", row="A4", value="0.83")
    typed = {"value": "0,38x", "reason": "digits"}
    shown = films.send("/studies/films/trials/1", "/studies/films/correct", 422, **typed).text
    for name, text in typed.items():
        assert re.search(rf'name="{name}"[^>]* value="{text}"', shown)


def test_other_refused_forms_keep_what_was_typed(page, films):
    wrong = films.send("/studies/films/settings", "/studies/films/settings", 422, tolerance="0,1,2")
    assert 'value="0,1,2"' in wrong.text
    assert "needs a number" in wrong.text
    lines = "film,stability\nZ9,0.4"
    wrong = films.send("/studies/films", "/studies/films/results", 409, pasted=lines)
    assert f">{lines}</textarea>" in wrong.text
    wrong = films.send("/studies/films", "/studies/films/ask", 422, n="many")
    assert 'value="many"' in wrong.text


def test_a_row_that_equals_a_forbidden_one_is_allowed_and_said_to_be(page, films):
    """A row is forbidden, and not what it describes: the new one may be a new sample."""
    rows = {"rows": "A4", "permit": "no", "reason": "no precursor"}
    films.send("/studies/films/candidates", "/studies/films/permit", **rows)
    added = films.send(
        "/studies/films/candidates", "/studies/films/add", pasted="Cs,film\n0.4,B1\n"
    )
    said = text_of(films.follow(added))
    assert "1 row added" in said
    assert "B1 (as A4): the same candidate as a forbidden row" in said
    again = films.send("/studies/films/candidates", "/studies/films/permit", rows="A7", permit="no")
    assert "still allowed" not in text_of(films.follow(again))
    history = text_of(films.get("/studies/films/history"))
    assert "A4 forbidden (no precursor)" in history
    assert "1 row added, from row 10 on" in history


def test_forbidding_one_of_two_equal_rows_says_that_the_other_stays(page, films):
    films.send("/studies/films/candidates", "/studies/films/add", pasted="Cs,film\n0.4,B1\n")
    said = films.send("/studies/films/candidates", "/studies/films/permit", rows="A4", permit="no")
    assert "The same candidate is still allowed as B1" in text_of(films.follow(said))


def test_candidates_that_are_added_twice_by_one_form_are_added_once(page):
    frame = pd.DataFrame({"film": ["A", "B", "C"], "Cs": [0.1, 0.2, 0.3]})
    page.lab.library.create("films", frame, target="y", columns=["Cs"], label="film")
    browser = page.browser()
    fields = find_form(browser.get("/studies/films/candidates"), "/studies/films/add")
    for _ in range(2):
        sent = browser.client.post("/studies/films/add", data=fields | {"pasted": "film,Cs\nD,0.4"})
        assert sent.status_code == 303, sent.text
    assert len(study_of(page).candidates) == 4


def test_two_results_of_ranges(page):
    browser = page.browser()
    fields = {
        **LINE,
        "name": "brew",
        "target": "yield",
        "more-target": "cost",
        "more-direction": "minimize",
    }
    browser.send("/new", "/new/ranges", **fields)
    assert [one["name"] for one in study_of(page, "brew").settings["targets"]] == ["yield", "cost"]


def test_of_a_workbook_with_several_sheets_one_is_chosen(page):
    content = io.BytesIO()
    with pd.ExcelWriter(content) as writer:
        pd.DataFrame({"note": ["x"]}).to_excel(writer, sheet_name="read me", index=False)
        frame = pd.DataFrame({"Cs": [0.1, 0.2, 0.3], "y": [1.0, None, None]})
        frame.to_excel(writer, sheet_name="films & more", index=False)
    browser = page.browser()
    files = {"file": ("lab.xlsx", content.getvalue())}
    shown = browser.send("/new", "/new/table", 422, files=files).text
    assert "lab.xlsx has several sheets. Which one has the candidates?" in text_of(shown)
    assert "--worksheet" not in shown
    [address] = [
        html.unescape(one)
        for one, name in re.findall(r'<a href="([^"]*)">([^<]*)</a>', shown)
        if html.unescape(name) == "films & more"
    ]
    assert "3 rows, 2 columns" in browser.get(address)


@pytest.mark.parametrize("kind", ["npy", "csv"])
def test_a_similarity_matrix_is_no_table_and_the_page_says_what_to_do(page, kind):
    gram = np.exp(-abs(np.arange(6)[:, None] - np.arange(6)) / 2)
    content = io.BytesIO()
    if kind == "npy":
        np.save(content, gram)
    else:
        pd.DataFrame(gram, columns=list("abcdef")).to_csv(content, index=False)
    browser = page.browser()
    files = {"file": (f"k.{kind}", content.getvalue())}
    shown = text_of(browser.send("/new", "/new/table", 422, files=files).text)
    assert f"k.{kind} is a symmetric matrix of 6 by 6 numbers" in shown
    assert f"study create NAME.db --gram k.{kind}" in shown
    if kind == "npy":
        np.save(content := io.BytesIO(), np.random.default_rng(0).random((6, 6)))
        browser.send("/new", "/new/table", files={"file": ("x.npy", content.getvalue())})


DETAILS = {
    "target": "gloss",
    "direction": "maximize",
    "low": "0",
    "high": "20",
    "limit": "5",
    "more-target": ["haze", "pH"],
    "more-direction": ["minimize", "aim"],
    "more-aim": ["", "7"],
    "more-low": ["", "5"],
    "more-high": ["", "9"],
    "more-weight": ["2", ""],
    "more-limit": ["", "1.5"],
}
WANTED = [
    {"name": "gloss", "low": 0.0, "high": 20.0, "limit": 5.0},
    {"name": "haze", "direction": "minimize", "weight": 2.0},
    {"name": "pH", "direction": "aim", "aim": 7.0, "low": 5.0, "high": 9.0, "limit": 1.5},
]
LINE = {"number-name": "heat", "number-kind": "real", "number-low": "20", "number-high": "90"}


def test_the_settings_show_the_front_from_which_one_chooses(page):
    rows = [{"x": i / 9} for i in range(10)]
    body = {"name": "two", "rows": rows, "targets": ["gloss", "haze:minimize"], "goal": "front"}
    program = page.program()
    assert program.post("/api/studies", json=body).status_code == 201
    for row in (2, 4, 8):
        told = {"row": row, "value": {"gloss": -((row - 3) ** 2), "haze": (row - 6) ** 2}}
        assert program.post("/api/studies/two/tell", json=told).status_code == 200
    program.get("/api/studies/two")
    shown = page.browser().get("/studies/two/settings")
    assert "Which of these would you take?" in shown
    assert "row 4" in shown.partition("Which of these")[2]


def test_weights_limits_and_values_to_be_met_are_entered(page):
    browser = page.browser()
    browser.send("/new", "/new/ranges", name="brew", **LINE, **DETAILS)
    study = study_of(page, "brew")
    assert study.settings["targets"] == WANTED
    browser.send("/studies/brew", "/studies/brew/ask")
    values = {"value": "10", "value-1": "1", "value-2": "7"}
    browser.send("/studies/brew", "/studies/brew/tell", **values)
    assert study.to_dataframe()["state"].tolist() == ["told"]


def test_a_table_of_two_results_takes_weights_and_limits(page):
    browser = page.browser()
    preview = browser.send("/new", "/new/table", pasted=TWO).headers["location"]
    roles = ("names the row", "describes the candidate", "result", "result")
    fields = {f"role-{i}": role for i, role in enumerate(roles)} | {
        "name": "two",
        "target": "stability",
        "limit": "5",
        "more-target": "haze",
        "more-direction": "minimize",
        "more-weight": "3",
        "tell-results": "on",
    }
    checked = browser.send(preview, preview, 200, action="check", **fields).text
    assert 'name="more-weight" value="3"' in checked
    assert 'name="limit" value="5"' in checked
    browser.send(preview, preview, action="create", **fields)
    assert study_of(page, "two").settings["targets"] == [
        {"name": "stability", "limit": 5.0},
        {"name": "haze", "direction": "minimize", "weight": 3.0},
    ]
    assert len(study_of(page, "two").to_dataframe()) == 3


PREVIEWED = {"role-0": "describes the candidate", "role-1": "result", "name": "films"}
"""What the form says of a table with the columns Cs and stability."""


def test_a_result_that_is_no_column_of_the_table_is_kept(page):
    """As `study create --target stability --target haze:minimize` keeps it: it is told later."""
    browser = page.browser()
    table = {"pasted": "Cs,stability\n0.1,4\n0.2,\n0.3,\n"}
    preview = browser.send("/new", "/new/table", **table).headers["location"]
    fields = PREVIEWED | {"target": "stability", "direction": "maximize", "tell-results": "on"}
    more = {"more-target": "haze", "more-direction": "minimize", "more-weight": "2"}
    checked = browser.send(preview, preview, 200, action="check", **fields, **more).text
    assert 'name="more-target" value="haze"' in checked
    assert "the 1 result in the column stability<" in checked
    browser.send(preview, preview, action="create", **fields, **more)
    study = study_of(page)
    assert study.settings["targets"] == [
        {"name": "stability"},
        {"name": "haze", "direction": "minimize", "weight": 2.0},
    ]
    assert study.to_dataframe()["stability"].tolist() == [4.0]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"more-target": ["haze", "haze"]}, "each target once"),
        ({"more-target": ["stability", ""]}, "each target once"),
        ({"more-target": ["Stability", ""]}, "each target once"),
        ({"more-target": ["Cs", ""]}, "'Cs' is a column whose role is 'describes the candidate'"),
        ({"target": "Cs"}, "'Cs' is a column whose role is 'describes the candidate'"),
        ({"role-1": "not used"}, "'stability' is a column whose role is 'not used'"),
        ({"target": "gloss"}, "whether more or less of stability is better"),
        ({"more-weight": ["2", ""]}, "a target needs a name"),
    ],
)
def test_no_result_that_was_typed_is_dropped_without_a_word(page, typed, said):
    browser = page.browser()
    table = {"pasted": "Cs,stability\n0.1,4\n0.2,\n0.3,\n"}
    preview = browser.send("/new", "/new/table", **table).headers["location"]
    lines = {"more-target": ["", ""], "more-direction": ["minimize", "minimize"]}
    fields = PREVIEWED | {"target": "stability", "direction": "maximize"} | lines | typed
    shown = browser.send(preview, preview, 422, action="create", **fields).text
    problem = re.search(r'<p class="problem" role="alert">(.*?)</p>', shown, flags=re.DOTALL)[1]
    assert said.casefold() in text_of(problem).casefold()
    assert page.lab.library.entries() == []


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"direction": "aim"}, "needs a value to be met"),
        ({"aim": "7"}, "needs the direction 'a value to be met'"),
        ({"low": "1"}, "both ends of its range"),
        ({"low": "9", "high": "5"}, "a range low < high"),
        ({"weight": "-1"}, "weight > 0"),
        ({"weight": "a lot"}, "the weight of 'pH' needs a number"),
        ({"direction": "aim", "aim": "7", "limit": "-1"}, "a limit > 0"),
        ({"direction": "sideways", "limit": "1"}, "direction"),
        ({"target": "pH:minimize"}, "a name without a colon"),
        ({"target": "pH:minimize", "limit": "1"}, "a name without a colon"),
    ],
)
def test_a_wrong_target_is_refused_and_stays_typed(page, wrong, said):
    fields = LINE | {"name": "brew", "target": "pH"} | wrong
    shown = page.browser().send("/new", "/new/ranges", 422, **fields).text
    problem = re.search(r'<p class="problem" role="alert">(.*?)</p>', shown, flags=re.DOTALL)[1]
    assert said.casefold() in text_of(problem).casefold()
    for name, text in wrong.items():
        if name != "direction":
            assert f'name="{name}" value="{text}"' in shown
    assert page.lab.library.entries() == []


@pytest.mark.thorough
def test_one_result_with_a_value_to_be_met(page):
    browser = page.browser()
    browser.send("/new", "/new/ranges", name="brew", target="pH", direction="aim", aim="7", **LINE)
    at, study = "/studies/brew", study_of(page, "brew")
    for value in ("6", "7.5", "6.8"):
        browser.send(at, f"{at}/ask")
        browser.send(at, f"{at}/tell", value=value)
    browser.send(f"{at}/trials/1", f"{at}/correct", value="6.5")
    assert study.to_dataframe()["pH"].tolist() == [6.5, 7.5, 6.8]
    shown = text_of(browser.get(at))
    assert "7.5" in shown
    assert "desirability" in shown
    for path in ("candidates", "figures", "history", "settings", "share", "trials/1"):
        browser.get(f"{at}/{path}")


@pytest.mark.thorough
def test_while_results_come_in_the_last_answer_is_shown(page, films, monkeypatch):
    study = study_of(page)
    study.tell(row=3, value=0.75)
    assert "0.75" in films.get("/studies/films").split('id="best"')[1].split("</div>")[0]
    going, wanted = Signal(), kb.Study.status

    def wait_for_the_test(study):
        assert going.wait(60)
        return wanted(study)

    monkeypatch.setattr(kb.Study, "status", wait_for_the_test)
    monkeypatch.setattr("kernelbandits.apps.web.snapshots.PATIENCE", 0.01)
    page.lab.snapshot("films").background._rest_until = 0.0
    study.tell(row=4, value=0.85)
    shown = films.get("/studies/films")
    assert "0.75" in shown.split('id="best"')[1].split("</div>")[0]
    assert "It is being computed again" in shown
    listed = films.get("/studies/films/candidates")
    assert "The estimates are being computed again" in listed
    assert "0.85" not in listed.split('id="table"')[1].split("</table>")[0]
    going.set()
    wait_until_ready(films, "status")
    assert "being computed" not in films.get("/studies/films/settings")


def test_a_result_is_stored_while_a_suggestion_is_computed(page, films):
    """Nor does a page wait; an ask that computes for long holds its own study only."""
    study = study_of(page)
    [first] = study.ask()
    with page.lab.library.asker("films")._session.lock:
        telling = Thread(target=study.tell, args=(first.trial, 0.5))
        telling.start()
        telling.join(60)
        assert not telling.is_alive()
        assert "0.5" in films.get("/studies/films")


def test_the_main_page_draws_nothing(page, films, monkeypatch):
    def refuse(*_):
        raise AssertionError("a figure is drawn")

    monkeypatch.setattr("kernelbandits.apps.web.snapshots.render_with_marks", refuse)
    study_of(page).tell(row=3, value=0.75)
    for path in ("", "/candidates", "/history", "/settings", "/share", "/trials/1"):
        films.get(f"/studies/films{path}")


def test_a_server_that_starts_again_knows_cookies_forms_and_uploads(page, films, tmp_path):
    films.send("/studies/films", "/studies/films/ask")
    fields = find_form(films.get("/studies/films"), "/studies/films/tell") | {"value": "0.5"}
    films.client.post("/studies/films/tell", data=fields)
    again = Page(tmp_path / "studies", tmp_path / "state")
    client = again.client(cookies=dict(films.client.cookies))
    assert client.post("/studies/films/tell", data=fields).status_code == 303
    assert len(study_of(again).to_dataframe()) == 1
    again.close()


def test_a_single_file_is_created_and_then_opened_at_once(tmp_path):
    page = Page(tmp_path / "films.db", tmp_path / "state")
    browser = page.browser()
    answer = browser.send("/new", "/new/table", files={"file": ("x.csv", TABLE.encode())})
    address = answer.headers["location"]
    fields = {f"role-{i}": role for i, role in enumerate(["not used", "describes the candidate"])}
    browser.send(address, address, action="create", name="films", target="y", **fields)
    assert browser.client.get("/").headers["location"] == "/studies/films"
    browser.send("/new", "/new/table", files={"file": ("x.csv", TABLE.encode())})
    page.close()


def test_a_reader_sees_the_page_of_a_study_without_forms(page, films):
    reader = page.browser(READ)
    assert "read only" in reader.get("/studies/films")
    assert reader.client.get("/new").status_code == 200


def test_uploads_that_nobody_used_are_removed(tmp_path, monkeypatch):
    uploads = Uploads(tmp_path / "uploads")
    old = uploads.add(b"a\n1\n", "../../x.csv")
    assert old.path.parent.parent == tmp_path / "uploads"
    monkeypatch.setattr("kernelbandits.apps.web.uploads.KEPT", -1.0)
    uploads.add(b"a\n1\n", "y.csv")
    assert not old.path.exists()


@pytest.mark.thorough
def test_a_full_disk_is_said_and_no_half_of_a_table_stays(page, films, monkeypatch):
    def refuse(path, content):
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr("pathlib.Path.write_bytes", refuse)
    for form, address in (
        ("/new", "/new/table"),
        ("/studies/films", "/studies/films/results"),
        ("/studies/films/candidates", "/studies/films/add"),
    ):
        said = films.send(form, address, 507, pasted="Cs,film,stability\n0.15,B1,1\n").text
        assert "No space is left on the disk of the server; nothing was written" in said
    assert [*page.lab.uploads.folder.iterdir()] == []
    assert "No space is left" in films.get("/studies/films/download/page.html", 507)
    assert len(study_of(page).history()) == 1


def test_a_single_result_that_is_to_meet_a_value_is_told_with_its_standard_error(page):
    browser = page.browser()
    page.lab.library.create("brew", {"x": (0.0, 1.0)}, target="pH:aim=7")
    [one] = study_of(page, "brew").ask()
    at = "/studies/brew"
    sent = browser.send(at, f"{at}/tell", value="6.6", sem="0.1")
    assert "pH 6.6 recorded" in text_of(browser.follow(sent))
    assert study_of(page, "brew").history()[-1].body["sems"] == {"pH": 0.1}
    fields = {"trial": one.trial, "value": "6.8"}
    browser.send(at, f"{at}/ask")
    refused = browser.send(at, f"{at}/tell", 409, **fields).text
    assert "already has the result 6.6" in " ".join(text_of(refused).split())
    assert "Mine is right: correct it to 6.8" in refused


@pytest.mark.parametrize("button", ["failed", "missing"])
def test_a_typed_result_is_not_dropped_beside_the_words_that_there_is_none(films, page, button):
    at = "/studies/films"
    films.send(at, f"{at}/ask")
    count = len(study_of(page).history())
    for typed in ({"value": "0.5"}, {"sem": "0.1"}):
        refused = films.send(at, f"{at}/tell", 422, **{button: "yes"}, **typed)
        assert 'role="alert"' in refused.text
    assert len(study_of(page).history()) == count


def test_a_trial_is_overdue_by_the_clock_of_the_database(films, page, monkeypatch):
    study = study_of(page)
    study.ask(2, lease=60.0)
    study.ask(1, lease=1e6)
    late = study._session.log.now() + 3600
    refresh = study._session.refresh

    def read_an_hour_later() -> float:
        refresh()
        return late

    assert films.get("/studies/films").count(">overdue<") == 0
    monkeypatch.setattr(study._session, "refresh", read_an_hour_later)
    assert films.get("/studies/films").count(">overdue<") == 2


def test_a_late_result_is_answered_with_what_is_stored_and_what_was_said(films, page):
    at = "/studies/films"
    films.send(at, f"{at}/ask")
    study_of(page).tell(1, failed=True)
    films.send(at, f"{at}/ask")
    refused = text_of(films.send(at, f"{at}/tell", 409, trial=1, value="0.5").text)
    assert "this trial is already stored as failed . You typed 0.5" in " ".join(refused.split())
    shown = films.send(at, f"{at}/tell", 409, trial=1, failed="yes").text
    assert "You said that it failed; that is not stored." in shown
    assert "Mine is right" not in shown


def test_a_trial_that_nobody_asked_for_waits_for_its_other_value(page, two):
    study_of(page, "two").tell(row=4, value={"stability": 0.5})
    card = two.get("/studies/two").split('id="trial-4"')[1].split("</li>")[0]
    assert "S4" in card
    assert "0.5" in card


def test_a_correction_to_what_is_stored_changes_nothing(page, films):
    study = study_of(page)
    study.tell(row=1, value=0.5)
    count = len(study.history())
    answer = films.send("/studies/films/trials/1", "/studies/films/correct", value="0.5")
    said = text_of(films.follow(answer))
    assert "Nothing was changed: trial 1 already has the result 0.5." in said
    assert len(study.history()) == count


def test_the_first_page_answers_in_headlines(page, films):
    study = study_of(page)
    study.tell_all([{"row": row, "value": 0.1 * row} for row in range(6)])
    films.get("/studies/films")
    status = study.status()
    wait_until_ready(films, "status")
    text = films.get("/studies/films")
    assert f'<p class="best-name">{status.best.name}</p>' in text
    assert status.best.certainty[1:] in text
    assert status.stop.headline.rstrip(".") in text
    assert f'class="light {status.stop.light.replace(" ", "-")}' in text
    assert text.count("<circle cx=") == 6 + 1, "the results, and the light"


def test_an_empty_folder_offers_an_example_to_play_with(page):
    browser = page.browser()
    browser.send("/", "/new/example")
    study = study_of(page, "example")
    assert (len(study.candidates), study.candidates.labels) == (88, ("sample",))
    assert "/new/example" not in browser.get("/")
    at = "/studies/example"
    for number in range(1, 4):
        browser.send(at, f"{at}/ask")
        assert "Show the measured value" in browser.get(at)
        reveal(browser, at, number, 303)
    told = study.to_dataframe()
    share, heat, value = told.loc[0, ["ethanol (%)", "temperature (°C)", "value"]]
    assert VISCOSITIES[int(heat)][SHARES.index(int(share))] == value
    assert told["note"].tolist() == ["from the table of the example"] * 3
    reveal(browser, at, 1, 422)
    fields = find_form(browser.get(at), f"{at}/ask")
    assert browser.client.post("/new/example", data=fields).status_code == 303
    assert "example-2" in page.lab.library.shelf.names()


def test_no_other_study_shows_measured_values(page, films):
    films.send("/studies/films", "/studies/films/ask")
    assert "Show the measured value" not in films.get("/studies/films")
    reveal(films, "/studies/films", 1, 422)


def reveal(browser, at, trial, status):
    """Press the button of a card, which sends its form elsewhere."""
    fields = find_form(browser.get(at), f"{at}/ask") | {"trial": str(trial)}
    assert browser.client.post(f"{at}/reveal", data=fields).status_code == status


def test_a_row_of_the_table_leads_to_a_page_where_it_is_told_and_forbidden(page, films):
    shown = films.get("/studies/films/candidates")
    assert '<a class="whole" href="/studies/films/candidates/7">A7</a>' in shown
    assert "<h2>A7</h2>" in films.get("/studies/films/candidates/7")
    here = "/studies/films/candidates/7"
    told = films.send(here, "/studies/films/tell", value="0,75", note="odd")
    assert "Trial 1, A7 (Cs 0.7): 0.75 recorded" in text_of(films.follow(told))
    assert re.search(r"Trial 1\s*: 0.75", text_of(films.get(here)))
    refused = films.send(here, "/studies/films/tell", 422, value="much", by="Ann").text
    assert "needs a number" in refused
    assert "<h2>A7</h2>" in refused
    assert 'value="Ann"' in refused
    films.send(here, "/studies/films/permit", permit="no", reason="no precursor")
    assert "A7 forbidden (no precursor)" in text_of(films.get("/studies/films/history"))
    assert "It is not suggested now: it is forbidden (no precursor)" in text_of(films.get(here))
    assert "not allowed" in text_of(films.get(here))
    films.send(here, "/studies/films/permit", permit="yes")
    assert study_of(page).candidates.allowed_rows.all()
    films.get("/studies/films/candidates/10", 404)


def test_a_page_calls_a_row_by_its_line_if_it_has_no_name(page, tmp_path):
    (tmp_path / "cs.csv").write_text("Cs,FA\n0.1,1\n0.2,2\n0.3,5\n0.4,1\n")
    page.lab.library.create("cs", tmp_path / "cs.csv", target="y")
    browser = page.browser()
    browser.send("/studies/cs", "/studies/cs/ask", n="2")
    shown = text_of(browser.get("/studies/cs/candidates"))
    assert re.search(r"line\s+state\s+Cs\s+FA", shown)
    assert 'placeholder="line 2"' in browser.get("/studies/cs/candidates")
    told = browser.send("/studies/cs/candidates", "/studies/cs/tell", row="3", value="0.5")
    assert ", line 3 (Cs 0.2, FA 2): 0.5 recorded" in text_of(browser.follow(told))
    for place in ("", "/sheet", "/history", "/candidates"):
        assert not re.search(r"\brow \d", text_of(browser.get(f"/studies/cs{place}")))


# ------------------------------------------------------------------ a batch


BATCH = "/studies/films/batch"


def test_a_batch_is_saved_as_one_step_and_counts_once(page, films):
    shown = films.follow(films.send("/studies/films", "/studies/films/ask", n="4"))
    fields = find_form(shown, BATCH) | {"value-1": "0,5", "value-3": "0", "note-3": "black"}
    fields |= {"note-1": "", "note-2": "", "note-4": "", "failed-4": "yes"}
    said = [text_of(films.follow(films.client.post(BATCH, data=fields))) for _ in range(2)]
    assert "3 results recorded" in said[0]
    assert "0 results recorded, 3 already stored" in said[1]
    found = study_of(page).to_dataframe()
    assert found["state"].tolist() == ["told", "pending", "told", "failed"]
    assert found["value"].tolist()[:3:2] == [0.5, 0.0]
    assert found["note"][2] == "black"
    films.send("/studies/films", "/studies/films/undo")
    assert set(study_of(page).to_dataframe()["state"]) == {"pending"}


def test_a_wrong_batch_stores_nothing_and_marks_each_wrong_cell(page, films):
    study = study_of(page)
    study.ask(6)
    study.change(limits="0..1")
    fields = {"value-1": "0.5", "value-2": "much", "value-3": "7", "note-4": "later"}
    fields |= {"value-5": "0.5", "failed-5": "yes", "value-6": "0.6"}
    fields |= {f"note-{trial}": fields.get(f"note-{trial}", "") for trial in range(1, 7)}
    hidden = find_form(films.get("/studies/films"), BATCH)
    study.tell(6, 0.9)
    before = len(study.history())
    answer = films.client.post(BATCH, data=hidden | fields)
    assert (answer.status_code, len(study.history())) == (422, before)
    said = text_of(answer.text)
    assert "5 cells of the batch are wrong" in said
    wrong = re.findall(r'<input id="([^"]*)"[^>]*aria-invalid="true"', answer.text)
    assert wrong == ["value-2", "value-3", "note-4", "value-5", "value-6"]
    for sentence in (
        "needs a number, got 'much'",
        "between 0 and 1, its limits, got 7;",
        "A note needs a result beside it",
        "that failed has no result",
        "Somebody was faster: it already has the result 0.9",
    ):
        assert sentence in said
    assert all(f'value="{fields[name]}"' in answer.text for name in ("value-1", *wrong))
    nothing = films.client.post(BATCH, data=hidden | {"note-1": "", "key": "k2"})
    assert "needs at least one result in the batch" in text_of(nothing.text)
    assert len(study.history()) == before


def test_results_are_checked_without_being_stored(page, films):
    study = study_of(page)
    study.ask(2)
    lines = [{"trial": 1, "stability": 0.5}, {"trial": 9, "stability": 0.5}, {"row": "A99"}]
    lines += [{"trial": 2, "failed": "yes", "stability": 0.5}]
    wrong = study.check_results(lines)
    assert [*wrong] == [1, 2, 3]
    assert "asked for, got trial 9" in str(wrong[1])
    assert study.check_results([]) == {}
    assert len(study.history()) == 3


def test_the_map_of_two_shares_of_a_mixture_is_ternary(page):
    shares = [[0.26, 0.37, 0.36], [0.3, 0.39, 0.32], [1, 0, 0], [0, 1, 0], [0, 0, 1], [0.5, 0.5, 0]]
    table = pd.DataFrame(shares, columns=["Cs", "FA", "MA"]).assign(T=[20.0, 30, 40, 50, 60, 70])
    study = page.lab.library.create("mix", table, target="y")
    for row in range(6):
        study.tell(row=row, value=row / 7)
    browser, at = page.browser(), "/studies/mix/figures"
    said = "which sum to 1 (rounded: 0.99 to 1.01)"
    assert said in text_of(wait_for(browser, f"{at}?across=Cs&up=FA"))
    assert said not in text_of(browser.get(f"{at}?across=Cs&up=T"))
    assert "<svg" in browser.get("/studies/mix/figure.svg?kind=map&across=Cs&up=FA")


def wait_for(browser, address):
    """Return a page once its figures are computed."""
    end = time.monotonic() + 60
    while "Map of two columns" not in (shown := browser.get(address)):
        assert time.monotonic() < end
        time.sleep(0.2)
    return shown


def test_the_list_of_studies_says_what_each_is_for_and_how_far_it_is(page, films):
    assert "maximize stability" in text_of(films.get("/"))
    study = study_of(page)
    study.tell_all([{"row": row, "value": 0.1 * row} for row in (2, 7, 5)])
    study.ask(2)
    text = " ".join(text_of(films.get("/")).split())
    assert "best result A7: 0.7 results 3 pending 2" in text
    assert re.search(r"last entry: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC: trial 5 .* suggested", text)


def test_captions_of_figures_are_folded(page, films):
    study_of(page).tell_all([{"row": row, "value": 0.1 * row} for row in range(6)])
    films.get("/studies/films/figures")
    wait_until_ready(films, "drawings")
    shown = films.get("/studies/films/figures")
    captions = re.findall(r"<figcaption>(.*?)</figcaption>", shown, flags=re.DOTALL)
    assert captions
    assert all(one.startswith('<details class="more"><summary>') for one in captions)


def test_targets_are_changed_under_settings_and_their_trade_off_is_drawn(page):
    frame = pd.DataFrame({"Cs": [i / 10 for i in range(10)], "film": [f"A{i}" for i in range(10)]})
    wanted = {"gain": "maximize", "cost": "minimize,weight=2", "pH": "aim=7,range=4..10"}
    page.lab.library.create("films", frame, targets=wanted, columns=["Cs"])
    study, films, at = study_of(page), page.browser(), "/studies/films/settings"
    study.tell_all([{"row": i, "gain": i, "cost": i * i, "pH": 5 + i / 2} for i in range(6)])
    shown = films.get(at)
    assert shown.count('name="more-target"') == 3
    assert "kind=targets&amp;place=1" in shown
    fields = find_form(shown, at)
    lines = {
        "more-target": ["gain", "cost", "pH"],
        "more-direction": ["maximize", "minimize", "aim"],
        "more-aim": ["", "", "6,5"],
        "more-low": ["0", "", "4"],
        "more-high": ["5", "", "10"],
        "more-weight": ["3", "2", "1"],
        "more-limit": ["1", "", ""],
    }
    answer = films.client.post(at, data=fields | lines)
    assert answer.headers["location"] == at
    gain, cost, acid = study.targets
    assert (gain.low, gain.high, gain.weight, gain.limit) == (0.0, 5.0, 3.0, 1.0)
    assert (cost.weight, cost.low) == (2.0, None)
    assert acid.aim == 6.5
    assert [one.body.get("settings") for one in study.history()][-1]
    assert "Pareto front" in films.get("/studies/films/figure.svg?kind=targets&place=1")
    fields = find_form(films.get(at), at)
    refused = films.client.post(at, data=fields | lines | {"more-high": ["", "", "10"]})
    assert refused.status_code == 422
    assert "needs both ends of its range, or none" in text_of(refused.text)
    assert study.targets == (gain, cost, acid)


def test_a_study_of_ranges_learns_from_another_that_is_named(page):
    known = [({"heat": 20.0 + 5 * i}, float(i % 7)) for i in range(8)]
    space = {"heat": (20.0, 90.0)}
    page.lab.library.create("old", space, target="yield", results=known)
    browser = page.browser()
    fields = {**LINE, "name": "next", "target": "yield"}
    refused = browser.send("/new", "/new/ranges", 422, **fields | {"learn_from": "older"})
    assert "needs names of studies that are here, got 'older'" in text_of(refused.text)
    browser.send("/new", "/new/ranges", **fields | {"learn_from": "old"})
    assert len(study_of(page, "next").settings["learn_from"]) == 1
    for view in ("", "/settings"):
        shown = text_of(browser.get(f"/studies/next{view}"))
        assert "learns from" in shown.lower()
        assert "old.db: 8 results for yield, by heat" in shown


def test_what_was_not_detected_is_typed_into_a_batch_and_a_percent_sign_is_refused(page, films):
    study = study_of(page)
    study.ask(3)
    study.change(limits="0..100")
    hidden = find_form(films.get("/studies/films"), BATCH)
    notes = {f"note-{trial}": "" for trial in (1, 2, 3)}
    wrong = films.client.post(BATCH, data=hidden | notes | {"value-1": "n.d.", "value-2": "45 %"})
    assert wrong.status_code == 422
    assert "The result needs a number, got '45 %'; write 45, or 0.45 if 1 is 100 %" in text_of(
        wrong.text
    )
    # Sentences have room: the lines are not divided in two halves.
    assert 'class="sheets"' in wrong.text
    again = find_form(wrong.text, BATCH) | notes | {"value-1": "n.d.", "value-2": "45"}
    assert "2 results recorded" in text_of(films.follow(films.client.post(BATCH, data=again)))
    assert study.to_dataframe()["value"].tolist()[:2] == [0.0, 45.0]
    assert study.to_dataframe()["beyond"].tolist()[0] == "<"


def test_the_page_of_a_row_is_found_by_its_name_too(page, films):
    assert "<h2>A7</h2>" in films.get("/studies/films/candidates/A7")
    assert "Did you mean 'A7'? " in text_of(films.get("/studies/films/candidates/A77", 404))


def test_the_list_of_studies_shows_what_somebody_did_last(page, films):
    study = study_of(page)
    for row, value in enumerate((76000.0, 81000.0, 79000.0)):
        study.tell(row=row, value=value)
    # The units of the model follow from the results, and nobody did that.
    assert study.history()[-1].body["auto"]
    shown = text_of(films.get("/"))
    assert "A1: 81\xa0000" in shown
    assert "units of the model" not in shown
    assert "trial 3 (A2): result 79000" in shown


def test_a_preview_asks_in_the_words_of_the_page(page):
    browser = page.browser()

    def look_at(table):
        return browser.get(browser.send("/new", "/new/table", pasted=table).headers["location"])

    shown = look_at("sample,Cs,yield (%)\nA,0.1,<0.5\nB,0.2,n.d.\nC,0.3,\n")
    assert "the limits 0..100, under More settings" in text_of(shown)
    assert "--limits" not in shown
    # A column with limits is a result.
    assert "Tell the study the 2 results in the column yield (%)" in text_of(shown)
    asked = text_of(look_at("sample,Cs,yield,purity\nA,0.1,5,\nB,0.2,,1\nC,0.3,,2\n"))
    assert "The column purity looks like a result: choose below what it is for." in asked


def test_a_trial_that_was_really_set_otherwise_names_the_sample_that_was_suggested(page, films):
    study = study_of(page)
    [one] = study.ask()
    films.send("/studies/films", "/studies/films/tell", value="0.5", **{"x-Cs": "0,33"})
    assert study.to_dataframe()["value"].tolist() == [0.5]
    shown = text_of(films.get("/studies/films/trials/1"))
    assert f"A{one.row} was suggested. The conditions above are those that were really set" in shown
    study.tell(study.ask()[0].trial, 0.6)
    assert "was suggested. The" not in text_of(films.get("/studies/films/trials/2"))


def test_wrong_results_of_a_table_have_fields_beside_those_of_other_cells(page):
    browser = page.browser()
    table = "sample,Cs,yield,ee\nA,0.1,~5,90\nB,much,6,91\nC,0.3,,92\nD,0.4,,\nE,0.5,,\n"
    at = browser.send("/new", "/new/table", pasted=table).headers["location"]
    shown = text_of(browser.get(at))
    # What a column is for is asked, and all wrong cells are named, at once.
    assert "The column yield looks like a result" in shown
    assert "B3 Cs: needs a number such as 12.5, got 'much'" in " ".join(shown.split())
    roles = ("names the row", "describes the candidate", "result", "not used")
    fields = {f"role-{i}": role for i, role in enumerate(roles)} | {"name": "two"}
    fields |= {"target": "yield", "direction": "maximize", "tell-results": "on", "action": "create"}
    answer = browser.send(at, at, 422, **fields)
    shown = " ".join(text_of(answer.text).split())
    assert "2 cells need another value" in shown
    assert "C2 yield: needs a number such as 12.5, got '~5'" in shown
    assert "B3 Cs: needs a number" in shown
    mended = {"cell-name": ["C2", "B3"], "cell-text": ["-", "0.2"]}
    browser.follow(browser.send(at, at, **fields, **mended))
    assert study_of(page, "two").to_dataframe()["value"].tolist() == [6.0]


def test_a_limit_on_an_outcome_is_entered_shown_and_changed(page):
    browser = page.browser()
    limit = {"more-target": "haze", "more-direction": "within", "more-high": "0,25"}
    fields = LINE | {"target": "gloss", "direction": "maximize"} | limit
    browser.send("/new", "/new/ranges", name="films", **fields)
    study = study_of(page)
    assert study.settings["targets"][1] == {"name": "haze", "direction": "within", "high": 0.25}
    study.tell_all([{"heat": 20 + 10 * i, "gloss": i, "haze": i * i / 36} for i in range(7)])
    wait_until_ready(browser, "status")
    shown = text_of(browser.get("/studies/films"))
    assert ", haze at most 0.25" in shown
    assert "at most 0.25 with probability" in shown
    at = "/studies/films/settings"
    form = find_form(browser.get(at), at)
    lines = {
        "more-target": ["gloss", "haze"],
        "more-direction": ["maximize", "within"],
        "more-aim": ["", ""],
        "more-low": ["", "0,1"],
        "more-high": ["", "0,5"],
        "more-weight": ["1", ""],
        "more-limit": ["", ""],
    }
    assert browser.client.post(at, data=form | lines).headers["location"] == at
    assert study.targets[1].sentence == "at least 0.1 and at most 0.5"
    refused = browser.client.post(
        at, data=form | lines | {"more-low": ["", ""], "more-high": ["", ""]}
    )
    assert refused.status_code == 422
    assert "the least or the greatest value allowed" in text_of(refused.text)
    assert "at least 0.1 and at most 0.5" in text_of(browser.get(at))
