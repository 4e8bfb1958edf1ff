"""Who may do what on the lab page: every route, in every way in which it could be misused."""

from __future__ import annotations

import asyncio
import os
import stat

import pytest

import kernelbandits as kb
from kernelbandits.apps.web.access import READ, WRITE, Access, check_token
from kernelbandits.apps.web.guards import HEADERS, LARGEST_BODY
from kernelbandits.apps.web.serve import Configuration
from lab_pages import HOST, ORIGIN, Page

OPEN, PAGE, FORM, API, API_WRITE = "open", "page", "form", "api", "api write"
MATRIX = {
    ("GET", "/here"): OPEN,
    ("GET", "/enter"): OPEN,
    ("POST", "/enter"): OPEN,
    ("GET", "/"): PAGE,
    ("GET", "/new"): PAGE,
    ("GET", "/new/{number}"): PAGE,
    ("GET", "/studies/{name}"): PAGE,
    ("GET", "/studies/{name}/news"): PAGE,
    ("GET", "/studies/{name}/candidates"): PAGE,
    ("GET", "/studies/{name}/candidates/{row}"): PAGE,
    ("GET", "/studies/{name}/trials/{trial}"): PAGE,
    ("GET", "/studies/{name}/figures"): PAGE,
    ("GET", "/studies/{name}/figure.svg"): PAGE,
    ("GET", "/studies/{name}/marks.json"): PAGE,
    ("GET", "/studies/{name}/history"): PAGE,
    ("GET", "/studies/{name}/settings"): PAGE,
    ("GET", "/studies/{name}/share"): PAGE,
    ("GET", "/studies/{name}/sheet"): PAGE,
    ("GET", "/studies/{name}/download/{what}"): PAGE,
    ("GET", "/static/{file}"): PAGE,
    ("GET", "/help/api"): PAGE,
    ("GET", "/help/openapi.json"): PAGE,
    ("POST", "/new/table"): FORM,
    ("POST", "/new/ranges"): FORM,
    ("POST", "/new/example"): FORM,
    ("POST", "/new/{number}"): FORM,
    ("POST", "/studies/{name}/ask"): FORM,
    ("POST", "/studies/{name}/tell"): FORM,
    ("POST", "/studies/{name}/reveal"): FORM,
    ("POST", "/studies/{name}/results"): FORM,
    ("POST", "/studies/{name}/batch"): FORM,
    ("POST", "/studies/{name}/correct"): FORM,
    ("POST", "/studies/{name}/withdraw"): FORM,
    ("POST", "/studies/{name}/release"): FORM,
    ("POST", "/studies/{name}/undo"): FORM,
    ("POST", "/studies/{name}/permit"): FORM,
    ("POST", "/studies/{name}/add"): FORM,
    ("POST", "/studies/{name}/settings"): FORM,
    ("POST", "/studies/{name}/link"): FORM,
    ("POST", "/leave"): FORM,
    ("GET", "/api/openapi.json"): API,
    ("GET", "/api/studies"): API,
    ("GET", "/api/studies/{name}"): API,
    ("GET", "/api/studies/{name}/candidates"): API,
    ("GET", "/api/studies/{name}/estimates"): API,
    ("GET", "/api/studies/{name}/trials"): API,
    ("GET", "/api/studies/{name}/trials/{trial}/why"): API,
    ("GET", "/api/studies/{name}/candidates/{row}/why-not"): API,
    ("GET", "/api/studies/{name}/events"): API,
    ("GET", "/api/studies/{name}/check"): API,
    ("POST", "/api/studies"): API_WRITE,
    ("POST", "/api/studies/{name}/ask"): API_WRITE,
    ("POST", "/api/studies/{name}/tell"): API_WRITE,
    ("POST", "/api/studies/{name}/tell-all"): API_WRITE,
    ("POST", "/api/studies/{name}/correct"): API_WRITE,
    ("POST", "/api/studies/{name}/withdraw"): API_WRITE,
    ("POST", "/api/studies/{name}/release"): API_WRITE,
    ("POST", "/api/studies/{name}/undo"): API_WRITE,
    ("POST", "/api/studies/{name}/change"): API_WRITE,
    ("POST", "/api/studies/{name}/permit"): API_WRITE,
    ("POST", "/api/studies/{name}/add"): API_WRITE,
}
"""Every route, and who may use it. A route that is not here fails the tests."""
VALUES = {"name": "films", "number": "0" * 32, "trial": "1", "row": "1", "what": "trials.csv"}
VALUES |= {"file": "lab.js"}
BROKEN = b'{"n": '


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lab")
    place = folder / "studies"
    place.mkdir()
    with kb.Study.create(place / "films.db", [[0.0], [0.5], [1.0]], target="yield") as study:
        study.ask()
    kb.Study.create(folder / "secret.db", [[0.0], [1.0]]).close()
    page = Page(place, folder / "state")
    yield page
    page.close()


def walk(routes):
    """All routes of an application, also those of routers inside it."""
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from walk(inner.routes)
        else:
            yield from ((method, route.path) for method in route.methods if method != "HEAD")


def routes_of(*kinds, methods=("GET", "POST")):
    found = [
        (method, path.format(**VALUES))
        for (method, path), kind in MATRIX.items()
        if kind in kinds and method in methods
    ]
    return pytest.mark.parametrize(("method", "path"), found)


def count_events(page):
    return len(page.lab.library.study("films").history())


def test_the_matrix_names_every_route(page):
    assert sorted(walk(page.app.routes)) == sorted(MATRIX)


@routes_of(OPEN, PAGE, FORM, API, API_WRITE)
def test_without_a_token_nothing_is_shown(page, method, path):
    client = page.client()
    answers = [
        client.request(method, path),
        client.request(method, path, content=BROKEN, headers={"content-type": "application/json"}),
        client.request(method, path, headers={"authorization": "Bearer " + "A" * 43}),
        client.request(
            method, path, headers={"cookie": "kernelbandits-8765=write.9.x." + "A" * 43}
        ),
        client.request(
            method, path, headers={"authorization": f"Bearer {page.access.token(WRITE).lower()}"}
        ),
    ]
    assert [answer.status_code for answer in answers] == [401] * len(answers)
    assert "films" not in "".join(answer.text for answer in answers)


@routes_of(OPEN, PAGE, FORM, API, API_WRITE)
def test_another_host_is_refused_everywhere(page, method, path):
    client, token = page.client(), {"authorization": f"Bearer {page.access.token(WRITE)}"}
    for host in ("evil.example", "evil.example:8765", f"{HOST}/?x", "127.0.0.1"):
        answer = client.request(method, path, headers=token | {"host": host})
        assert answer.status_code == 400, host


@routes_of(OPEN, FORM, API_WRITE, methods=("POST",))
def test_requests_of_another_site_are_refused(page, method, path):
    token = {"authorization": f"Bearer {page.access.token(WRITE)}"}
    browser, before = page.browser().client, count_events(page)
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site", "origin": ORIGIN},
    ):
        answer = browser.request(method, path, headers=headers | token)
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    assert count_events(page) == before


@routes_of(PAGE, FORM)
def test_pages_take_no_token(page, method, path):
    answer = page.program().request(method, path)
    assert answer.status_code == 401


@routes_of(API, API_WRITE)
def test_the_api_takes_no_cookie(page, method, path):
    assert page.browser().client.request(method, path).status_code == 401


@routes_of(FORM)
def test_forms_need_their_type_and_their_field(page, method, path):
    browser, before = page.browser().client, count_events(page)
    for kind in ("application/json", "text/plain", "", "multipart/mixed"):
        answer = browser.request(method, path, content=b"{}", headers={"content-type": kind})
        assert answer.status_code == 415
    for fields in ({}, {"csrf": ""}, {"csrf": "A" * 43}):
        assert browser.request(method, path, data={"n": "1", **fields}).status_code == 403
    other = page.browser().client
    taken = page.access.form_token(page.access.find_cookie(other.cookies["kernelbandits-8765"]))
    assert browser.request(method, path, data={"csrf": taken}).status_code == 403
    assert count_events(page) == before


@routes_of(API_WRITE)
def test_the_api_needs_json(page, method, path):
    program, before = page.program(), count_events(page)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        answer = program.request(method, path, content=b'{"n": 1}', headers={"content-type": kind})
        assert answer.status_code == 415
    headers = {"content-type": "application/json"}
    for body in (BROKEN, b'{"n": NaN}', b'{"n": 1, "n": 2}', b"[" * 100_000, b"9" * 10_000):
        assert program.request(method, path, content=body, headers=headers).status_code == 422
    assert count_events(page) == before


@routes_of(FORM)
def test_a_reader_cannot_send_forms(page, method, path):
    reader = page.browser(READ).client
    field = page.access.form_token(page.access.find_cookie(reader.cookies["kernelbandits-8765"]))
    assert reader.request(method, path, data={"csrf": field}).status_code == 403


@routes_of(API_WRITE)
def test_a_reader_cannot_write_by_the_api(page, method, path):
    assert page.program(READ).request(method, path, json={"n": 1}).status_code == 403


@routes_of(PAGE)
def test_a_reader_sees_every_page_and_no_token_that_writes(page, method, path):
    answer = page.browser(READ).client.request(method, path)
    # A figure has to be named, and is a conflict otherwise.
    unnamed = path.endswith(("/figure.svg", "/marks.json"))
    assert answer.status_code == (404 if path.startswith("/new/") else 409 if unnamed else 200)
    assert page.access.token(WRITE) not in answer.text
    for name, value in HEADERS.items():
        if name not in ("content-security-policy", "cache-control"):
            assert answer.headers[name] == value
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'self'" in policy or "sandbox" in policy
    assert "unsafe" not in policy or "sandbox" in policy


@routes_of(API)
def test_a_token_that_reads_reads_all(page, method, path):
    answer = page.program(READ).request(method, path)
    assert answer.status_code == 200 or "check" in path
    assert str(page.lab.library.shelf.folder) not in answer.text


def test_a_link_works_once_and_gives_a_strict_cookie(page):
    code = page.access.make_link(WRITE)
    first, second = (page.client().get("/enter", params={"code": code}) for _ in range(2))
    assert (first.status_code, second.status_code) == (303, 401)
    cookie = first.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert code not in first.headers["location"]
    assert first.headers["referrer-policy"] == "no-referrer"


def test_a_link_in_a_mail_waits_for_the_button(page):
    """A SameSite=Strict cookie is not sent after a redirect that began on another site."""
    code, client = page.access.make_link(READ), page.client()
    mail = {"sec-fetch-site": "cross-site"}
    shown = client.get("/enter", params={"code": code}, headers=mail)
    assert shown.status_code == 200
    assert "set-cookie" not in shown.headers
    assert client.post("/enter", data={"code": code}).status_code == 303
    assert client.get("/enter", params={"code": code}, headers=mail).status_code == 401


def test_a_new_secret_ends_tokens_cookies_and_links(tmp_path):
    access = Access(tmp_path / "state")
    old = access.token(WRITE), access.make_cookie(WRITE), access.make_link(WRITE)
    same = Access(tmp_path / "state")
    assert same.find_token(old[0])
    assert same.find_cookie(old[1])
    Access(tmp_path / "state").renew()
    for one in (access, same):
        assert one.find_token(old[0]) is None
        assert one.find_cookie(old[1]) is None
        assert one.use_link(old[2]) is None
    assert stat.S_IMODE(os.stat(tmp_path / "state" / "secret").st_mode) == 0o600


@pytest.mark.parametrize("new_file", [True, False], ids=["new file", "same file"])
def test_every_renewal_ends_the_old_token_in_all_workers(tmp_path, new_file):
    """A file system may give a new secret the number and the time of the old one, so a file with
    new content is the same to a server as a new file."""
    state = tmp_path / "state"
    workers = [Access(state), Access(state)]
    for _ in range(50):
        old = workers[0].token(WRITE)
        if new_file:
            Access(state).renew()
        else:
            (state / "secret").write_bytes(os.urandom(32))
        new = Access(state).token(WRITE)
        for worker in workers:
            assert worker.find_token(old) is None
            assert worker.find_token(new).may_write


@pytest.mark.parametrize(
    "path", ["..%2fsecret", "%2e%2e", "%252e%252e%252fsecret", "films.db", "C:", "%00"]
)
def test_names_are_no_paths(page, path):
    for answer in (
        page.browser().client.get(f"/studies/{path}"),
        page.program().get(f"/api/studies/{path}"),
        page.browser().client.get(f"/static/{path}"),
    ):
        assert answer.status_code == 404


@pytest.mark.parametrize(
    "name", ["../x", "a/b", "a\\b", ".hidden", "", "a" * 64, "x\0y", "con", "ä", "a b", "x.db"]
)
def test_a_new_study_needs_a_plain_name(page, name):
    folder = page.lab.library.shelf.folder
    before = sorted(folder.iterdir())
    body = {"name": name, "target": "y", "rows": [{"a": 1.0}, {"a": 2.0}]}
    assert page.program().post("/api/studies", json=body).status_code == 422
    assert sorted(folder.iterdir()) == before


def test_large_bodies_are_refused(page):
    program = page.program()
    huge = {"content-length": str(LARGEST_BODY + 1), "content-type": "application/json"}
    assert program.post("/api/studies/films/ask", content=b"", headers=huge).status_code == 413

    def chunks():
        for _ in range(LARGEST_BODY // 2**20 + 1):
            yield b" " * 2**20

    kind = {"content-type": "application/json"}
    assert program.post("/api/studies/films/ask", content=chunks(), headers=kind).status_code == 413


def test_a_browser_sees_a_page_where_a_request_is_refused(page):
    browser = page.browser()
    headers = {"content-length": str(50 * 2**20), "content-type": "multipart/form-data"}
    answer = browser.client.post("/new/table", content=b"", headers=headers)
    assert answer.status_code == 413
    assert answer.headers["content-type"].startswith("text/html")
    assert "at most 32 MB" in answer.text
    hostile = browser.client.get("/", headers={"host": "<img src=x>"})
    assert hostile.status_code == 400
    assert "<img" not in hostile.text


def test_an_unknown_address_and_a_mistake_show_nothing_of_the_inside(page, monkeypatch):
    assert page.browser().client.get("/nothing").status_code == 404
    monkeypatch.setattr(kb.Study, "ask", lambda *_, **__: 1 / 0)
    answer = page.program().post("/api/studies/films/ask", json={"n": 1})
    assert answer.status_code == 500
    assert "Zero" not in answer.text
    assert "Traceback" not in answer.text


@pytest.mark.parametrize("token", ["", "a", "x" * 100, "abc def " * 4, "kurz-aber-gut"])
def test_weak_tokens_are_refused(token):
    with pytest.raises(ValueError, match="token"):
        check_token(token)


@pytest.mark.parametrize(
    "options",
    [
        {"host": "0.0.0.0"},
        {"host": "::"},
        {"host": "192.0.2.7"},
        {"host": "0.0.0.0", "names": ("lab.example",)},
        {"host": "0.0.0.0", "tls_cert": "a", "tls_key": "b"},
        {"host": "0.0.0.0", "tls_cert": "a", "names": ("lab.example",)},
        {"host": "lab.example"},
    ],
)
def test_a_server_on_a_network_needs_tls_and_a_name(options):
    with pytest.raises(ValueError, match="lab needs"):
        Configuration("films.db", **options).check()


def test_a_server_with_tls_has_a_cookie_for_https_only(tmp_path):
    configuration = Configuration(
        "films.db", host="0.0.0.0", names=("lab.example",), behind_proxy=True
    )
    configuration.check()
    assert configuration.address == "https://lab.example"
    assert "lab.example" in configuration.hosts
    from kernelbandits.apps.web.app import build_app
    from kernelbandits.apps.web.library import find_shelf

    app = build_app(find_shelf(str(tmp_path)), Access(tmp_path / "s"), ["x"], secure=True)
    assert app.app.state.lab.cookie.startswith("__Host-")
    assert app.origins == {"https://x"}


def send_parts(page, body: list[dict], **headers: str) -> list[dict]:
    """What the application sends when the body of a form arrives in these parts."""
    cookie = f"{page.lab.cookie}={page.access.make_cookie(WRITE)}"
    given = {"host": HOST, "cookie": cookie, **headers}
    sent, parts = [], iter(body)

    async def receive():
        return next(parts)

    async def send(message):
        sent.append(message)

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/new/table",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }
    asyncio.run(page.guard(scope, receive, send))
    return sent


def test_a_browser_that_goes_away_leaves_no_traceback(page, capfd, caplog):
    parts = [{"type": "http.request", "body": b"csrf=a", "more_body": True}]
    form = {"content-type": "application/x-www-form-urlencoded", "content-length": "1000"}
    sent = send_parts(page, [*parts, {"type": "http.disconnect"}], **form)
    assert sent[0]["status"] == 400
    assert "Traceback" not in capfd.readouterr().err + caplog.text


def test_a_body_without_end_is_refused(page, monkeypatch):
    """No Content-Length, and more and more of it; what is too much is not kept."""
    monkeypatch.setattr("kernelbandits.apps.web.guards.LARGEST_BODY", 1000)
    part = {"type": "http.request", "body": b"a" * 300, "more_body": True}
    sent = send_parts(page, [part] * 50, **{"content-type": "application/x-www-form-urlencoded"})
    assert sent[0]["status"] == 413


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"[" * 100_000, "less deep"),
        (b'{"n": ' + b"9" * 5000 + b"}", "4300 digits"),
        (b"\x1f\x8b\x08\x00", "UTF-8"),
        (b'{"n": 1, "n": 2}', "twice"),
        (b'{"n": NaN}', "no number NaN"),
    ],
)
def test_json_that_no_program_should_send(page, body, said):
    headers = {"content-type": "application/json"}
    answer = page.program().post("/api/studies/films/ask", content=body, headers=headers)
    assert answer.status_code == 422
    assert said in answer.json()["error"]
    assert "sys." not in answer.json()["error"]


def test_an_address_that_is_too_long_is_said_to_be(page):
    answer = page.program().get("/api/studies/" + "a" * 5000)
    assert answer.status_code == 414
    assert "at most 4096 letters" in answer.json()["error"]
