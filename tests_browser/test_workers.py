"""A server of several processes: what one of them knows, all of them know."""

from __future__ import annotations

import signal
from concurrent.futures import ThreadPoolExecutor
from urllib.error import HTTPError
from urllib.request import HTTPCookieProcessor, build_opener

import pytest

import kernelbandits as kb
from conftest import Server
from kernelbandits.apps.client import LabClient, LabError
from kernelbandits.apps.web.access import READ, WRITE


def test_four_workers_count_every_request_once(tmp_path):
    server = Server(tmp_path, "--workers", "4")
    path = server.place / "films.db"
    kb.Study.create(path, [[i / 40] for i in range(40)]).close()
    server.start()
    token = server.access.token(WRITE)

    def measure(number):
        """Every request is sent twice, as after a lost answer; other workers may get the second."""
        study = LabClient(server.address, token).study("films")
        asked = [study.ask(key=f"ask-{number}") for _ in range(2)]
        assert asked[0] == asked[1]
        trial = asked[0][0]["trial"]
        told = [study.tell(trial, number / 10, key=f"tell-{number}") for _ in range(2)]
        assert told[0]["trial"] == told[1]["trial"] == trial
        with pytest.raises(LabError) as refused:
            study.tell(trial, -1.0)
        assert refused.value.status == 409
        return trial

    with ThreadPoolExecutor(8) as pool:
        trials = list(pool.map(measure, range(16)))
    assert sorted(trials) == list(range(1, 17))
    code = server.access.make_link(READ)
    statuses = [enter(f"{server.address}/enter?code={code}") for _ in range(6)]
    assert sorted(statuses) == [200] + 5 * [401], "a link works once, whichever worker gets it"
    server.kill(signal.SIGTERM)
    with kb.Study.open(path, writable=False) as study:
        assert sorted(study.to_dataframe()["value"]) == [number / 10 for number in range(16)]
    # The tokens last over a restart.
    server.start()
    try:
        assert len(LabClient(server.address, token).study("films").trials()) == 16
    finally:
        server.kill(signal.SIGTERM)


def enter(address: str) -> int:
    """The status of the page that a link leads to, in a browser of its own."""
    try:
        return build_opener(HTTPCookieProcessor()).open(address, timeout=60).status
    except HTTPError as error:
        return error.status
