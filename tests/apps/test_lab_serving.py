"""A server that listens: TLS, a proxy, several of them at the same studies, PostgreSQL."""

from __future__ import annotations

import errno
import html
import ipaddress
import json
import os
import re
import socket
import sqlite3
import ssl
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Semaphore
from urllib.parse import quote, unquote

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

import kernelbandits as kb
from kernelbandits.apps import client as lab_client
from kernelbandits.apps.client import LabClient, LabError
from kernelbandits.apps.web import library, serve
from kernelbandits.apps.web.access import READ, WRITE
from kernelbandits.apps.web.library import Library
from kernelbandits.apps.web.turns import MOST_REQUESTS
from lab_pages import Page
from lab_servers import listening


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv(serve.STATE, str(tmp_path / "state"))
    (tmp_path / "studies").mkdir()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for this machine, signed by itself, and its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    now = datetime.now(UTC)
    found = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    folder = tmp_path_factory.mktemp("tls")
    (folder / "lab.crt").write_bytes(found.public_bytes(Encoding.PEM))
    plain = PrivateFormat.TraditionalOpenSSL, NoEncryption()
    (folder / "lab.key").write_bytes(key.private_bytes(Encoding.PEM, *plain))
    return folder / "lab.crt", folder / "lab.key"


def fetch(address, context=None, **headers):
    """Status, headers and text of an answer; redirections are not followed."""
    request = urllib.request.Request(address, headers=headers)
    opener = urllib.request.build_opener(
        NoRedirect, urllib.request.HTTPSHandler(context=context or ssl.create_default_context())
    )
    try:
        answer = opener.open(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    return answer.status, answer.headers, answer.read().decode(errors="replace")


class NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


@pytest.mark.thorough
def test_a_server_with_a_certificate(tmp_path, certificate):
    """Cookies are for https only; whoever speaks http, or does not trust the certificate, gets nothing."""
    cert, key = map(str, certificate)
    with listening(tmp_path / "studies", tls_cert=cert, tls_key=key) as (chosen, access):
        trusting = ssl.create_default_context(cafile=cert)
        link = serve.make_link(chosen, READ)
        assert link.startswith(f"https://127.0.0.1:{chosen.port}/")
        status, headers, _ = fetch(link, trusting)
        assert status == 303
        cookie = headers["set-cookie"]
        assert cookie.startswith("__Host-")
        assert "secure" in cookie.lower()
        assert "httponly" in cookie.lower()
        assert fetch(link, trusting)[0] == 401, "a link works once"
        token = {"Authorization": f"Bearer {access.token(WRITE)}"}
        assert fetch(f"{chosen.address}/api/studies", trusting, **token)[0] == 200
        with pytest.raises(urllib.error.URLError, match="CERTIFICATE_VERIFY_FAILED"):
            fetch(f"{chosen.address}/api/studies", **token)
        with socket.create_connection(("127.0.0.1", chosen.port), timeout=60) as plain:
            plain.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert b"HTTP/1.1 200" not in plain.recv(1000)


@pytest.mark.thorough
def test_behind_a_proxy_the_name_of_the_proxy_counts(tmp_path):
    options = {"behind_proxy": True, "names": ("lab.example",)}
    with listening(tmp_path / "studies", **options) as (chosen, access):
        assert chosen.address == "https://lab.example"
        address = f"http://127.0.0.1:{chosen.port}"
        link = serve.make_link(chosen).replace("https://lab.example", address)
        status, headers, _ = fetch(link, Host="lab.example")
        assert status == 303
        assert "secure" in headers["set-cookie"].lower()
        token = {"Authorization": f"Bearer {access.token(READ)}"}
        assert fetch(f"{address}/api/studies", Host="lab.example", **token)[0] == 200
        # What a proxy says of the visitor does not count: anybody could say it.
        for more in (
            {"Host": "evil.example"},
            {"Host": "evil.example", "X-Forwarded-Host": "lab.example"},
        ):
            assert fetch(f"{address}/api/studies", **more, **token)[0] == 400


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "10.1.2.3", "lab.example"])
def test_it_listens_elsewhere_only_with_tls_and_a_name(host, certificate):
    cert, key = map(str, certificate)
    with pytest.raises(ValueError, match="TLS to listen on a network"):
        serve.Configuration("studies", host=host).check()
    secure = {"tls_cert": cert, "tls_key": key, "names": ("lab.example",)}
    serve.Configuration("studies", host=host, **secure).check()
    with pytest.raises(ValueError, match="--tls-cert and --tls-key together"):
        serve.Configuration("studies", host=host, tls_cert=cert).check()
    if host in ("0.0.0.0", "::"):
        with pytest.raises(ValueError, match="the name that browsers use"):
            serve.Configuration("studies", host=host, **secure | {"names": ()}).check()


@pytest.mark.thorough
def test_two_servers_share_tokens_links_and_keys(tmp_path):
    """As the workers of one server do, also after a restart; --renew ends them for both."""
    place = tmp_path / "studies"
    kb.Study.create(place / "films.db", [[0.0], [0.5], [1.0]]).close()
    with listening(place) as (one, access), listening(place) as (other, _):
        studies = [
            LabClient(f"http://127.0.0.1:{each.port}", access.token(WRITE)).study("films")
            for each in (one, other)
        ]
        asked = [study.ask(key="run-1") for study in studies]
        assert asked[0] == asked[1]
        trial = asked[0][0]["trial"]
        told = [study.tell(trial, 0.5, key="run-1") for study in studies]
        assert told[0]["trial"] == told[1]["trial"]
        with pytest.raises(LabError, match=r"0\.5") as refused:
            studies[1].tell(trial, 0.7)
        assert refused.value.status == 409
        code = access.make_link(READ)
        statuses = [
            fetch(f"http://127.0.0.1:{each.port}/enter?code={code}")[0]
            for each in (one, other, one)
        ]
        assert statuses == [303, 401, 401]
        access.renew()
        for study in studies:
            with pytest.raises(LabError) as ended:
                study.status()
            assert ended.value.status == 401
    with kb.Study.open(place / "films.db") as study:
        assert study.to_dataframe()["value"].tolist() == [0.5]


NAMES = ("a%41", "aA", "Röhre 1", "фильм", 'ü%41?b#c"&d;', "x%2Fy", "%")
LINK = re.compile(r'(?:href|src|action|formaction|data-\w+)="(/studies/[^"]*)"')


@pytest.mark.thorough
def test_a_study_is_found_by_its_name_whatever_its_letters(tmp_path):
    """Every link of its pages leads to it, and no name is read twice."""
    place = tmp_path / "studies"
    for name in NAMES:
        with kb.Study.create(place / f"{name}.db", [[0.0], [0.5], [1.0]], target=name) as study:
            study.tell(row=1, value=0.5)
            study.ask()
    # A name that is no text hides no other study.
    os.link(place / "aA.db", os.fsencode(place) + b"/\xff.db")
    names = {*NAMES, "\\xff"}
    with listening(place) as (chosen, access):
        client = LabClient(chosen.address, access.token(READ))
        assert {one["name"] for one in client.studies()} == names
        _, headers, _ = fetch(serve.make_link(chosen))
        cookie = {"Cookie": headers["set-cookie"].partition(";")[0], "Accept": "text/html"}
        entries = {unquote(link) for link in find_links(fetch(f"{chosen.address}/", **cookie)[2])}
        assert entries == {f"/studies/{name}" for name in names}
        for name in NAMES:
            assert client.study(name).status()["target"] == name
            at = f"/studies/{quote(name, safe='')}"
            file = f"{at}/download/trials.csv"
            left, pages = [at, file], {}
            while left:
                address = left.pop()
                status, headers, text = fetch(f"{chosen.address}{address}", **cookie)
                assert status == 200, address
                pages[address] = headers["content-disposition"]
                found = find_links(text) - {f"{at}/{what}" for what in FORMS}
                assert all(one == at or one.startswith(f"{at}/") for one in found), address
                if "?" in name:
                    # All pages of the study with the worst name.
                    left += found - {*pages, *left}
            _, _, coded = pages[file].partition("filename*=UTF-8''")
            assert unquote(coded) in ("", f"{name}-trials.csv")
            assert pages[file].isascii()
    assert coded, "% is no letter of a plain name"


def find_links(text):
    """The addresses of studies in a page."""
    return {html.unescape(one) for one in LINK.findall(text)}


FORMS = (
    "ask",
    "tell",
    "results",
    "correct",
    "withdraw",
    "release",
    "undo",
    "permit",
    "add",
    "link",
)
"""What forms are sent to, and cannot be opened."""


@pytest.fixture
def held(tmp_path):
    """A place with the studies a and b; somebody holds a until the connection is closed."""
    place = tmp_path / "studies"
    for name in ("a", "b"):
        kb.Study.create(place / f"{name}.db", [[0.0], [0.5], [1.0]]).close()
    with closing(sqlite3.connect(place / "a.db", isolation_level=None)) as holder:
        holder.execute("BEGIN EXCLUSIVE")
        yield place, holder


@pytest.mark.thorough
@pytest.mark.parametrize("opened", [False, True], ids=["not open", "open"])
def test_a_study_that_somebody_holds_keeps_no_other_waiting(held, monkeypatch, opened):
    """Its requests, of which there are more than threads, wait until it is free."""
    place, holder = held
    entered, use = Semaphore(0), Library.use
    monkeypatch.setattr(lab_client, "ATTEMPTS", 1)

    @contextmanager
    def use_and_say(library, name):
        with use(library, name):
            if name == "a":
                entered.release()
            yield

    with listening(place, patience=60.0) as (chosen, access), ThreadPoolExecutor(60) as pool:
        client = LabClient(chosen.address, access.token(WRITE), timeout=40.0)
        if opened:
            holder.execute("ROLLBACK")
            assert client.study("a").trials() == []
            holder.execute("BEGIN EXCLUSIVE")
        monkeypatch.setattr(Library, "use", use_and_say)
        waiting = [pool.submit(client.study("a").trials) for _ in range(60)]
        for _ in range(MOST_REQUESTS):
            assert entered.acquire(timeout=60)
        client.study("b").tell(row=1, value=0.5)
        assert client.study("b").status()["told"] == 1
        problems = {one["name"]: one["problem"] for one in client.studies()}
        assert "held by others" in problems["a"]
        assert problems["b"] == ""
        assert not any(one.done() for one in waiting)
        holder.execute("ROLLBACK")
        assert [one.result() for one in waiting] == [[]] * 60


@pytest.mark.thorough
def test_a_study_that_is_held_for_too_long_says_so_and_is_free_afterwards(held, monkeypatch):
    place, holder = held
    monkeypatch.setattr(library, "SAME_HOLD", 0.0)
    monkeypatch.setattr(lab_client, "ATTEMPTS", 1)
    with listening(place, patience=0.2) as (chosen, access):
        study = LabClient(chosen.address, access.token(WRITE)).study("a")
        for call in (study.trials, study.ask, lambda: study.tell(row=1, value=0.5)):
            with pytest.raises(LabError, match=r"a\.db was held by others for 0\.2 s") as refused:
                call()
            assert refused.value.status == 503
        holder.execute("ROLLBACK")
        assert study.tell(row=1, value=0.5)["accepted"]
        # Readers go on while somebody is about to write.
        holder.execute("BEGIN IMMEDIATE")
        assert len(study.trials()) == 1
        with pytest.raises(LabError, match="held by others"):
            study.tell(row=2, value=0.5)


def test_studies_not_used_for_longest_are_closed_and_none_that_is_used(tmp_path):
    place = tmp_path / "studies"
    for number in range(6):
        kb.Study.create(place / f"s{number}.db", [[0.0], [1.0]], target=f"y{number}").close()
    page = Page(place, tmp_path / "state")
    kept, program = page.lab.library, page.program()
    kept.most = 3
    descriptors = Path("/proc/self/fd")
    with kept.use("s0"):
        first, before = kept.study("s0"), 0
        for turn in range(2):
            for number in range(6):
                path = f"/api/studies/s{number}"
                assert program.post(f"{path}/tell", json={"row": turn, "value": 0.5}).is_success
                assert program.get(path).json()["target"] == f"y{number}"
                assert len(kept._open) <= 3
            if turn == 0:
                before = len(list(descriptors.iterdir()))
        assert kept.study("s0") is first
        assert len(page.lab.snapshots._found) <= 3
        assert len(list(descriptors.iterdir())) <= before
    assert list(kept._open) == ["s4", "s5", "s0"]
    page.close()
    assert kept._open == {}


def test_a_server_without_a_free_descriptor_says_so_and_closes_studies(tmp_path, monkeypatch):
    place = tmp_path / "studies"
    kb.Study.create(place / "a.db", [[0.0], [1.0]]).close()
    page = Page(place, tmp_path / "state")
    program = page.program()
    assert program.get("/api/studies/a/trials").is_success

    def open_none(*_given, **_more):
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    with monkeypatch.context() as patch:
        patch.setattr("kernelbandits.apps.web.app.has_free_descriptor", lambda: False)
        patch.setattr(kb.Study, "history", open_none)
        answer = program.get("/api/studies/a/trials")
        assert answer.status_code == 503
        assert answer.json()["error"].startswith("the server has as many files open as it may")
        assert answer.headers["retry-after"]
        assert list(page.lab.library._open) == []
        patch.setattr("kernelbandits.apps.web.access.read_secret", open_none)
        assert program.get("/api/studies/a/trials").status_code == 503
        assert program.get("/api/studies").status_code == 503
    assert program.get("/api/studies/a/trials").is_success
    page.close()


@pytest.mark.thorough
def test_studies_of_a_database(database, tmp_path):
    """Created, asked, told and listed; no answer has the address of the database."""
    page = Page(database, tmp_path / "state")
    browser, program = page.browser(), page.program()
    body = {"name": "films", "target": "y", "rows": [{"x": i / 4} for i in range(5)]}
    assert program.post("/api/studies", json=body).status_code == 201
    key = {"Idempotency-Key": "first"}
    asked = [program.post("/api/studies/films/ask", json={}, headers=key).json() for _ in range(2)]
    assert asked[0] == asked[1]
    told = {"trial": asked[0][0]["trial"], "value": 0.5}
    assert program.post("/api/studies/films/tell", json=told).status_code == 200
    assert program.post("/api/studies/films/tell", json=told | {"value": 0.6}).status_code == 409
    browser.send("/studies/films", "/studies/films/ask", n="2")
    assert browser.get("/studies/films").count('<tr id="trial-') == 2
    assert "films" in browser.get("/")
    again = program.post("/api/studies", json=body)
    assert again.status_code == 409
    for text in (again.text, browser.get("/"), json.dumps(program.get("/api/studies").json())):
        assert "postgresql" not in text
    page.close()
