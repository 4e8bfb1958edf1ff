"""The REST interface: the same rules as `Study`, for programs; and its client."""

from __future__ import annotations

import io
import json
import threading
import time
from urllib.error import URLError

import pytest

import kernelbandits as kb
from kernelbandits.apps import client as lab_client
from kernelbandits.apps.client import LabClient, LabError
from kernelbandits.checks import StorageFull
from kernelbandits.storage import StorageBusy
from lab_pages import READ, open_page

ROWS = [{"Cs": i / 10, "solvent": "DMF" if i % 2 else "DMSO"} for i in range(10)]


page = pytest.fixture(open_page)


@pytest.fixture
def films(page):
    """A program, with a study of ten films."""
    program = page.program()
    body = {"name": "films", "target": "stability", "rows": ROWS}
    assert program.post("/api/studies", json=body).status_code == 201
    return program


def post(program, what, status=200, key=None, **body):
    headers = {} if key is None else {"Idempotency-Key": key}
    answer = program.post(f"/api/studies/films/{what}", json=body, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_the_whole_life_of_a_trial(page, films):
    [suggestion] = post(films, "ask", n=1, worker="robot")
    assert [one["trial"] for one in post(films, "ask", worker="robot")] == [suggestion["trial"]]
    assert post(films, "tell", trial=1, value=0.5)["accepted"]
    assert post(films, "correct", trial=1, value=0.6, reason="slip")["value"] == 0.6
    assert post(films, "withdraw", trial=1)["kind"] == "withdrawn"
    assert [one["body"]["kind"] for one in post(films, "undo", n=2)] == ["withdrawn", "corrected"]
    post(films, "tell", row=4, failed=True)
    post(films, "ask", n=2)
    assert len(post(films, "release", trials=[3, 4])) == 2
    assert post(films, "change", tolerance=0.1)["kind"] == "settings"
    status = films.get("/api/studies/films").json()
    assert (status["told"], status["failed"], status["place"]) == (1, 1, "films")
    assert films.get("/api/studies/films/trials/1/why").json()["row"] == suggestion["row"]
    assert len(films.get("/api/studies/films/estimates").json()["estimates"]) == 10
    events = films.get("/api/studies/films/events").json()
    assert films.get(f"/api/studies/films/events?after={len(events) - 1}").json() == events[-1:]


def test_a_space_with_conditions_is_played_and_its_ranges_change(page, films):
    variables = {
        "kernel": ["rbf", "linear"],
        "C": "real 0.1:100 log",
        "gamma": "real 1e-4:1 log when kernel == 'rbf'",
    }
    body = {"name": "svm", "target": "accuracy", "space": {"variables": variables}}
    created = films.post("/api/studies", json=body)
    assert created.status_code == 201, created.text

    def send(what, status=200, **body):
        answer = films.post(f"/api/studies/svm/{what}", json=body)
        assert answer.status_code == status, answer.text
        return answer.json()

    for one in send("ask", n=4):
        assert ("gamma" in one["x"]) == (one["x"]["kernel"] == "rbf")
        send("tell", trial=one["trial"], value=one["x"]["C"] / 100)
    told = send("tell", x={"kernel": "linear", "C": 2.0, "gamma": None}, value=0.5)
    assert told["x"] == {"kernel": "linear", "C": 2.0}
    event = send("change", ranges={"C": [0.1, 1000]})
    assert event["body"]["ranges"] == {"C": [0.1, 1000.0]}
    assert films.get("/api/studies/svm").json()["space"]["variables"][1]["high"] == 1000.0
    assert "low < high" in send("change", 422, ranges={"C": [5, 1]})["error"]
    assert send("undo", n=1)[0]["body"]["kind"] == "ranges"
    browser = page.browser()
    for address in ("", "/candidates", "/history"):
        assert "linear" in browser.get(f"/studies/svm{address}")
    for address in ("/figures", "/settings", "/trials/1"):
        browser.get(f"/studies/svm{address}")


def test_a_result_that_is_a_limit_comes_as_text(page, films):
    told = post(films, "tell", row=3, value="<0.5")
    assert (told["value"], told["beyond"]) == (0.5, "<")
    told = post(films, "tell-all", results=[{"row": 4, "value": ">9"}, {"row": 5, "value": 0.7}])
    assert [one["beyond"] for one in told] == [">", ""]
    assert post(films, "correct", trial=1, value="<0.4")["body"]["beyond"] == {"stability": "<"}


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("ask", {"n": 2}),
        ("tell", {"row": 3, "value": 0.5}),
        ("tell-all", {"results": [{"row": 3, "value": 0.5}, {"row": 4, "value": 0.7}]}),
        ("undo", {"n": 1}),
        ("change", {"tolerance": 0.1}),
    ],
)
def test_a_key_makes_a_request_count_once(page, films, what, body):
    post(films, "ask")
    first = post(films, what, key="run-1", **body)
    events = films.get("/api/studies/films/events").json()
    again = post(films, what, key="run-1", **body)
    assert json.dumps(again).replace('"accepted": false', '"accepted": true') == json.dumps(first)
    assert films.get("/api/studies/films/events").json() == events


def test_undo_names_the_event_that_was_seen(page, films):
    events = [post(films, "tell", row=row, value=row / 4)["seq"] for row in (1, 2)]
    assert [one["body"]["of"] for one in post(films, "undo", event=events[1])] == events[1:]
    refused = post(films, "undo", 409, event=events[1])
    assert f"got event {events[1]}" in refused["error"]
    assert films.get("/api/studies/films").json()["told"] == 1


def test_undo_takes_the_event_that_the_status_names(page, films):
    for row in range(6):
        post(films, "tell", row=row, value=row / 4)
    post(films, "ask")
    seen = films.get("/api/studies/films").json()["event"]
    post(films, "tell", row=8, value=0.5)
    post(films, "undo", 409, event=seen)
    undone = []
    for _ in range(3):  # The second and third time the last event is an undo itself.
        seen = films.get("/api/studies/films").json()["event"]
        undone += [one["body"]["kind"] for one in post(films, "undo", event=seen)]
        post(films, "undo", 409, event=seen)
    assert undone == ["told", "asked", "told"]


@pytest.mark.parametrize(
    ("what", "body", "other"),
    [
        ("ask", {"n": 2}, {"n": 1}),
        ("tell", {"row": 3, "value": 0.5}, {"row": 3, "value": 0.5, "note": "b"}),
        ("correct", {"trial": 1, "value": 0.6}, {"trial": 1, "value": 0.7}),
        ("withdraw", {"trial": 1}, {"trial": 2}),
        ("release", {"trials": [3]}, {"trials": [4]}),
        ("undo", {"n": 1}, {"n": 2}),
        ("permit", {"rows": [1], "allowed": False}, {"rows": [1], "allowed": True}),
        (
            "add",
            {"rows": [{"Cs": 2.0, "solvent": "DMF"}]},
            {"rows": [{"Cs": 3.0, "solvent": "DMF"}]},
        ),
        ("change", {"tolerance": 0.1}, {"tolerance": 0.2}),
    ],
)
def test_the_key_of_another_request_is_a_conflict_and_nothing_is_stored(
    page, films, what, body, other
):
    for row in (0, 1):
        post(films, "tell", row=row, value=0.5)
    post(films, "ask", n=2)
    first = post(films, what, key="run/1", **body)
    events = films.get("/api/studies/films/events").json()
    said = post(films, what, 409, key="run/1", **other)["error"]
    assert "needs a new key for a new call, got 'run/1', the key of event" in said
    assert films.get("/api/studies/films/events").json() == events
    assert post(films, what, key="run/1", **body) == first
    for key in ("run", "run/1/1", f"{what}:run/1"):
        assert post(films, "tell", row=9, value=0.5, key=key)["accepted"]


@pytest.mark.thorough
@pytest.mark.parametrize("factor", [10, 0.1])
def test_a_slip_of_the_decimal_point_is_said_with_the_answer(page, films, factor):
    def measure(one):
        return 50 - 120 * (one["x"]["Cs"] - 0.4) ** 2

    for _ in range(9):
        [one] = post(films, "ask")
        assert post(films, "tell", trial=one["trial"], value=measure(one))["notices"] == []
    [one] = post(films, "ask")
    told = post(films, "tell", trial=one["trial"], value=factor * measure(one))
    assert told["accepted"]
    [notice] = told["notices"]
    assert f"did you mean {measure(one):g}? It counts as it is" in notice


def test_a_second_result_is_a_conflict_with_the_stored_value(page, films):
    post(films, "ask")
    post(films, "tell", trial=1, value=0.5)
    said = post(films, "tell", 409, trial=1, value=0.7)
    assert (said["trial"], said["value"], said["accepted"]) == (1, 0.5, False)


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"trial": 1},
        {"trial": 1, "value": "0.5"},
        {"trial": 1, "value": True},
        {"trial": 1, "value": 1e200},
        {"trial": 1, "value": 0.5, "failed": True},
        {"trial": 1.5, "value": 0.5},
        {"trial": 1, "row": 2, "value": 0.5},
        {"trial": 1, "value": 0.5, "unknown": 1},
        {"trial": 0, "value": 0.5},
        {"row": 10, "value": 0.5},
        {"x": {"Cs": 0.1}, "value": 0.5},
    ],
)
def test_wrong_results_are_refused_and_nothing_is_stored(page, films, body):
    post(films, "ask")
    before = films.get("/api/studies/films/events").json()
    answer = films.post("/api/studies/films/tell", json=body)
    assert answer.status_code in (409, 422)
    assert answer.json()["error"]
    assert films.get("/api/studies/films/events").json() == before


def test_limits_and_alternatives_are_named_in_words(films):
    error = post(films, "tell", 422, trial=1, value=1e300)["error"]
    assert error == "value: Input should be less than or equal to 1e+150"
    assert "constrained" not in error
    assert "column" not in post(films, "tell", 422, trial=1, value="x")["error"]


def test_a_wrong_cell_is_named_by_row_and_column(page, films):
    results = [{"row": 1, "value": 0.5}, {"row": 2, "value": "much"}]
    said = post(films, "tell-all", 422, results=results)
    assert (said["row"], said["column"]) == (1, "value")
    body = {"name": "other", "target": "y", "csv": "a,b\n1,2\n3,x\n4,5\n6,7\n"}
    said = films.post("/api/studies", json=body).json()
    assert (said["row"], said["column"]) == (3, "b")
    body = {"name": "other", "target": "y", "rows": [{"a": 1.0}, {"b": 1.0}]}
    assert films.post("/api/studies", json=body).json()["row"] == 1


@pytest.mark.parametrize(
    ("error", "status"), [(StorageFull("full"), 507), (StorageBusy("busy"), 503)]
)
def test_storage_problems_have_a_status_of_their_own(page, films, monkeypatch, error, status):
    def refuse(*_, **__):
        raise error

    monkeypatch.setattr(kb.Study, "tell", refuse)
    assert post(films, "tell", status, trial=1, value=0.5) == {"error": str(error)}


def test_passwords_and_folders_are_in_no_answer(page, films, monkeypatch):
    def refuse(*_, **__):
        raise StorageBusy("postgresql://ann:secret@lab/db does not answer")

    monkeypatch.setattr(kb.Study, "ask", refuse)
    assert "secret" not in json.dumps(post(films, "ask", 503))
    for place in ("/home/ann/lab data/films.db", r"C:\Users\ann\films.db"):

        def fill(*_, place=place, **__):
            raise StorageFull(f"no space is left for {place}; nothing was written")

        monkeypatch.setattr(kb.Study, "tell", fill)
        said = post(films, "tell", 507, trial=1, value=0.5)["error"]
        assert "ann" not in said
        assert said.endswith("films.db; nothing was written")


def test_two_increasing_numbers_are_said_to_be_two_choices(page):
    space = {"variables": {"heat": [20.0, 90.0], "size": [1, 8], "n": [1, 2, 4], "down": [2, 1]}}
    body = {"name": "brew", "target": "y", "space": space}
    made = page.program().post("/api/studies", json=body).json()
    assert made["notices"] == [
        "heat = [20.0, 90.0] are two choices; a range is 'real 20.0:90.0'",
        "size = [1, 8] are two choices; a range is 'integer 1:8'",
    ]


def test_studies_over_a_space(page):
    program = page.program()
    space = {"variables": {"heat": "real 20:90", "acid": "choice citric, acetic"}}
    body = {"name": "films", "target": "yield", "space": space}
    assert program.post("/api/studies", json=body).status_code == 201
    [suggestion] = post(program, "ask")
    assert set(suggestion["x"]) == {"heat", "acid"}
    post(program, "tell", x={"heat": 30, "acid": "citric"}, value=0.5)
    assert post(program, "tell", 422, x={"heat": 300, "acid": "citric"}, value=0.5)["error"]
    # What was really set, where it is not what was asked for.
    told = post(program, "tell", trial=1, x={"heat": 33.33}, value=0.6)
    assert (told["x"], told["asked"]) == ({**suggestion["x"], "heat": 33.33}, suggestion["x"])
    assert program.get("/api/studies/films/candidates").json()["space"]["variables"]


def test_the_description_names_every_operation(page):
    document = page.program(READ).get("/api/openapi.json").json()
    for path, methods in document["paths"].items():
        for method, one in methods.items():
            assert one["summary"]
            assert one["security"], path
            assert ("requestBody" in one) == (method == "post")


# ---------------------------------------------------------------------- the client


class FakeAnswer(io.BytesIO):
    def __enter__(self):
        return self


@pytest.fixture
def remote(page, films, monkeypatch):
    """A client whose requests reach the application; some of them lose their answer."""
    lost = []

    def open_url(request, timeout):
        path = request.full_url.removeprefix("http://127.0.0.1:8765")
        headers = dict(request.header_items())
        answer = page.client().request(
            request.get_method(), path, content=request.data, headers=headers
        )
        if lost:
            raise lost.pop()
        if answer.status_code >= 400:
            body = io.BytesIO(answer.content)
            raise lab_client.HTTPError(path, answer.status_code, "", None, body)
        return FakeAnswer(answer.content)

    monkeypatch.setattr(lab_client, "urlopen", open_url)
    monkeypatch.setattr(lab_client, "PAUSE", 0.0)
    client = LabClient("http://127.0.0.1:8765/", page.access.token("write"))
    client.lost = lost
    return client


@pytest.mark.thorough
def test_the_client_does_what_a_study_does(remote):
    study = remote.study("films")
    [suggestion] = study.ask(worker="robot")
    study.tell(suggestion["trial"], 0.5)
    study.tell_all([{"row": row, "value": row / 10} for row in range(5)], replicates=True)
    study.correct(suggestion["trial"], 0.6)
    study.undo()
    study.withdraw(suggestion["trial"])
    study.change(tolerance=0.1)
    [pending] = study.ask()
    study.release(pending["trial"])
    study.permit([9], allowed=False, reason="no precursor")
    study.add([{"Cs": 0.55, "solvent": "DMF"}])
    assert study.status()["told"] == 5
    assert len(study.trials()) == 7
    assert study.explain(1)["trial"] == 1
    assert len(study.estimates()) == 11
    assert study.events(after=1)[0]["seq"] == 2
    assert [one["name"] for one in remote.studies()] == ["films"]
    other = remote.create("brew", target="yield", space={"variables": {"heat": "real 20:90"}})
    assert other.status()["told"] == 0


def test_a_lost_answer_counts_once(remote):
    study = remote.study("films")
    remote.lost.extend([URLError("cut"), ConnectionResetError()])
    [suggestion] = study.ask()
    remote.lost.append(TimeoutError())
    study.tell(suggestion["trial"], 0.5)
    assert len(study.trials()) == 1
    with pytest.raises(LabError, match="already has the result") as refused:
        study.tell(suggestion["trial"], 0.7)
    assert (refused.value.status, refused.value.document["value"]) == (409, 0.5)
    remote.lost.extend([URLError("cut")] * 5)
    with pytest.raises(URLError):
        study.status()


def test_many_programs_at_once_lose_nothing(page, films):
    """Threads of one server and another process of the same study."""
    study = page.lab.library.study("films")
    wrong = []

    def work(number):
        program = page.program()
        for turn in range(4):
            body = {"row": (number + turn) % 10, "value": number + turn / 10}
            key = {"Idempotency-Key": f"{number}-{turn}"}
            for _ in range(2):
                answer = program.post("/api/studies/films/tell", json=body, headers=key)
                if answer.status_code != 200:
                    wrong.append(answer.text)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    with kb.Study.open(study.place) as other:
        for turn in range(4):
            other.tell(row=turn, value=100.0 + turn)
            time.sleep(0.01)
    for thread in threads:
        thread.join()
    assert wrong == []
    values = sorted(study.to_dataframe()["value"])
    assert values == sorted(
        [n + t / 10 for n in range(6) for t in range(4)] + [100.0, 101.0, 102.0, 103.0]
    )


def test_a_study_of_several_targets(page):
    program = page.program()
    rows = [{"x": i / 4} for i in range(5)]
    body = {"name": "two", "rows": rows, "targets": ["gloss", "haze:minimize"]}
    assert program.post("/api/studies", json=body).status_code == 201
    told = {"row": 1, "value": {"gloss": 2.5}}
    assert program.post("/api/studies/two/tell", json=told).status_code == 200
    trial = program.get("/api/studies/two/trials").json()[0]["trial"]
    second = {"trial": trial, "value": {"gloss": 3.5}}
    refused = program.post("/api/studies/two/tell", json=second)
    assert refused.status_code == 409
    assert refused.json()["value"] == {"gloss": 2.5}
    for wrong in ({"target": "y"}, {"targets": None}):
        answer = program.post("/api/studies", json=body | wrong | {"name": "other"})
        assert answer.status_code == 422
        assert "target or targets" in answer.json()["error"]


def test_a_study_of_the_front(page):
    program = page.program()
    rows = [{"x": i / 9} for i in range(10)]
    body = {"name": "two", "rows": rows, "targets": ["gloss", "haze:minimize"], "goal": "front"}
    assert program.post("/api/studies", json=body).status_code == 201
    for row in range(10):
        told = {"row": row, "value": {"gloss": -((row - 3) ** 2), "haze": (row - 6) ** 2}}
        assert program.post("/api/studies/two/tell", json=told).status_code == 200
    status = program.get("/api/studies/two").json()
    assert status["goal"] == "front"
    assert sorted(one["row"] for one in status["front"]) == [3, 4, 5, 6]
    assert {*status["front"][0]["intervals"]} == {"gloss", "haze"}
    single = {**body, "name": "one", "targets": ["gloss"]}
    refused = program.post("/api/studies", json=single)
    assert refused.status_code == 422
    assert "2 to 4 targets to maximize or minimize" in refused.json()["error"]


def test_a_single_target_is_spelled_as_on_the_command_line(page):
    program = page.program()
    body = {"name": "one", "rows": [{"x": i / 4} for i in range(5)], "target": "cost:minimize"}
    refused = program.post("/api/studies", json=body | {"direction": "maximize"})
    assert refused.status_code == 422
    assert "one direction, and 'cost:minimize' has its own" in refused.json()["error"]
    assert program.post("/api/studies", json=body).status_code == 201
    status = program.get("/api/studies/one").json()
    assert (status["target"], status["direction"]) == ("cost", "minimize")
    several = body | {"name": "two", "target": None, "targets": ["a", "b"], "direction": "minimize"}
    refused = program.post("/api/studies", json=several)
    assert (refused.status_code, "with each of them" in refused.json()["error"]) == (422, True)
    for wrong in (
        {"target": "cost:foo"},
        {"target": "cost:foo", "direction": "minimize"},
        {"target": None, "targets": ["cost:foo", "gloss"]},
        {"target": None, "targets": [{"name": "cost:foo"}, "gloss"]},
    ):
        refused = program.post("/api/studies", json=body | {"name": "three"} | wrong)
        assert (refused.status_code, "colon" in refused.json()["error"]) == (422, True)


def test_targets_are_objects_or_texts(page):
    program = page.program()
    body = {"name": "two", "rows": [{"x": i / 4} for i in range(5)]}
    haze = {"name": "haze", "direction": "minimize", "weight": 2.0, "low": 0, "high": 5}
    targets = [haze, "pH:aim=7,limit=1.5"]
    made = program.post("/api/studies", json=body | {"targets": targets})
    assert made.status_code == 201, made.text
    assert page.lab.library.study("two").settings["targets"] == [
        {"name": "haze", "direction": "minimize", "weight": 2.0, "low": 0.0, "high": 5.0},
        {"name": "pH", "direction": "aim", "aim": 7.0, "limit": 1.5},
    ]
    one = program.post("/api/studies", json=body | {"name": "one", "targets": ["pH:aim=7"]})
    assert one.status_code == 201, one.text
    for wrong in ({"weight": 0}, {"high": None}, {"direction": "up"}, {"aim": 3}, {"odd": 1}):
        refused = program.post(
            "/api/studies", json=body | {"name": "other", "targets": [haze | wrong]}
        )
        assert refused.status_code == 422, refused.text


def test_a_result_by_label_is_stored_for_its_own_sample(page):
    program = page.program()
    conditions = {"P07": 0.1, "P08": 0.2, "P09": 0.2, "P10": 0.3}
    rows = [{"sample": name, "Cs": cs} for name, cs in conditions.items()]
    body = {"name": "films", "target": "y", "rows": rows}
    assert program.post("/api/studies", json=body).status_code == 201
    [asked] = [one for one in post(program, "ask", n=3) if one["x"]["Cs"] == 0.2]
    mine = asked["label"]["sample"]
    other = {"P08": "P09", "P09": "P08"}[mine]
    told = post(program, "tell", label=other, value=0.81)
    assert (told["label"]["sample"], told["waiting"]) == (other, [asked["trial"]])
    more = [{"sample": other, "value": 0.5}, {"sample": mine, "value": 0.83}]
    told = post(program, "tell-all", results=more, replicates=True)
    assert [one["label"]["sample"] for one in told] == [other, mine]
    assert told[1]["settles"] == asked["trial"]


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"name": "a", "goal": "max"}, "targets.0.goal: Extra inputs are not permitted"),
        ({"name": "a", "low": "x"}, "targets.0.low: Input should be a valid number"),
        (
            3,
            "targets.0: Input should be a valid string; "
            "targets.0: Input should be a valid dictionary",
        ),
    ],
)
def test_of_two_spellings_of_a_target_the_error_names_the_one_that_was_used(page, wanted, said):
    body = {"name": "two", "rows": ROWS, "targets": [wanted]}
    answer = page.program().post("/api/studies", json=body)
    assert (answer.status_code, answer.json()["error"]) == (422, said)


def test_a_lease_of_null_is_the_default(page, films):
    post(films, "change", lease=60.0)
    assert post(films, "change", lease=None)["body"]["settings"]["lease"] == 7 * 24 * 3600


def test_an_error_names_the_operation(page, films):
    post(films, "tell", row=1, value=0.5)
    error = post(films, "correct", 422, trial=1, failed=True, value=1)["error"]
    assert error.startswith("correct needs no value for a measurement that failed")
    assert post(films, "correct", 422, trial=1)["error"].startswith("correct needs a value")


def test_wherever_a_row_is_taken_its_name_is_taken(page):
    program = page.program()
    rows = [{"film": f"A{i}", "Cs": i / 10} for i in range(10)]
    program.post("/api/studies", json={"name": "films", "target": "y", "rows": rows})
    asked = post(program, "ask")[0]
    told = post(program, "tell", row="A5", value=0.5)
    assert (told["row"], told["label"]) == (5, {"film": "A5"})
    refused = post(program, "tell", 409, row="A55", value=0.5)
    assert refused["error"].endswith("got 'A55'. Did you mean 'A5'?")
    assert post(program, "permit", rows=["A2", 3], allowed=False)["body"]["rows"] == [2, 3]
    lines = [{"row": "A7", "value": 0.7}, {"row": 8, "value": 0.8}]
    assert [one["row"] for one in post(program, "tell-all", results=lines)] == [7, 8]
    why = program.get(f"/api/studies/films/trials/{asked['label']['film']}/why")
    assert why.json()["trial"] == asked["trial"]
    assert program.get("/api/studies/films/trials/A55/why").status_code == 409
    beside = program.get("/api/studies/films/candidates/A2/why-not").json()
    assert (beside["row"], beside["reason"]) == (2, "it is forbidden")
    assert program.get("/api/studies/films/candidates/3/why-not").json()["row"] == 3


def test_a_new_study_begins_with_results_and_learns_from_another_of_the_lab(page, films):
    known = [{"row": row, "value": row / 10} for row in range(6)]
    post(films, "tell-all", results=known)
    body = {"name": "next", "target": "gloss", "rows": ROWS, "learn_from": ["films"]}
    made = films.post("/api/studies", json=body | {"results": [{"row": 9, "value": 0.9}]})
    assert made.status_code == 201, made.text
    status = films.get("/api/studies/next").json()
    assert status["told"] == 1
    assert [one["name"] for one in status["sources"]] == ["films.db"]
    assert status["sources"][0]["columns"] == ["Cs", "solvent"]
    changed = films.post("/api/studies/next/change", json={"learn_from": None})
    assert changed.json()["body"]["changed"] == ["learn_from"]
    assert films.get("/api/studies/next").json()["sources"] == []


@pytest.mark.parametrize("name", ["missing", "../films", "/etc/passwd", "films.db"])
def test_a_study_learns_only_from_studies_of_the_lab(page, films, name):
    body = {"name": "next", "target": "gloss", "rows": ROWS, "learn_from": [name]}
    refused = films.post("/api/studies", json=body)
    assert refused.status_code == 422
    assert "learn_from needs names of studies that are here" in refused.text
    assert films.get("/api/studies/next").status_code == 404


def test_one_wrong_result_of_a_new_study_creates_nothing(page, films):
    body = {"name": "next", "target": "gloss", "rows": ROWS}
    results = [{"row": 1, "value": 0.4}, {"row": 99, "value": 0.4}]
    refused = films.post("/api/studies", json=body | {"results": results})
    assert refused.status_code == 409, refused.text
    assert films.get("/api/studies/next").status_code == 404


def test_a_target_with_limits_alone_is_a_text_or_an_object(page):
    program = page.program()
    body = {"name": "one", "rows": [{"x": i / 8} for i in range(9)]}
    haze = {"name": "haze", "direction": "within", "high": 0.25}
    for name, limit in (("one", haze), ("two", "haze:<=0.25")):
        given = body | {"name": name, "targets": ["gloss", limit]}
        assert program.post("/api/studies", json=given).status_code == 201
        assert page.lab.library.study(name).settings["targets"] == [{"name": "gloss"}, haze]
    for row in range(0, 9, 2):
        told = {"row": row, "value": {"gloss": row, "haze": row**2 / 64}}
        answer = program.post("/api/studies/one/tell", json=told)
        assert answer.json()["broken"] == (["haze at most 0.25"] if row > 4 else [])
    status = program.get("/api/studies/one").json()
    assert (status["limits"], status["best"]["limits"]) == ("haze at most 0.25",) * 2
    assert 0 <= status["best"]["feasibility"] <= 1
    assert status["targets"][1]["within"] == 3
    refused = program.post("/api/studies", json=body | {"name": "three", "targets": [haze]})
    assert (refused.status_code, "with a direction" in refused.json()["error"]) == (422, True)
