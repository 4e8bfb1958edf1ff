"""Studies as tools of an assistant, asked by the official client of the protocol."""

from __future__ import annotations

import json
import os
import sys

import anyio
import pytest
from mcp import Client, StdioServerParameters

import kernelbandits as kb
from kernelbandits.apps.assistant import Assistant, build_server
from kernelbandits.apps.client import LabClient
from kernelbandits.apps.web import serve
from kernelbandits.apps.web.access import READ, WRITE
from lab_servers import listening

WRITING = {"ask", "tell", "undo"}
READING = {"list", "status", "compare", "explain", "check"}


@pytest.fixture
def lab(tmp_path, monkeypatch):
    monkeypatch.setenv(serve.STATE, str(tmp_path / "state"))
    (tmp_path / "studies").mkdir()
    with kb.Study.create(tmp_path / "studies" / "films.db", [[0.1], [0.5], [0.9]], seed=1):
        pass
    with listening(tmp_path / "studies") as (chosen, access):
        yield chosen.address, access


def converse(lab, steps, role=WRITE, writes=True):
    """Play steps, coroutines of a client, against a server for assistants."""
    address, access = lab
    server = build_server(Assistant(LabClient(address, access.token(role)), writes))

    async def run():
        async with Client(server) as client:
            return await steps(client)

    return anyio.run(run)


async def call(client, tool, **arguments):
    answer = await client.call_tool(tool, arguments)
    assert json.loads(answer.content[0].text) == answer.structured_content
    return answer.is_error, answer.structured_content


def test_an_assistant_asks_and_tells(lab):
    async def steps(client):
        _, listed = await call(client, "list")
        assert [one["name"] for one in listed["studies"]] == ["films"]
        _, asked = await call(client, "ask", study="films", key="monday, first")
        [suggestion] = asked["answer"]
        trial = suggestion["trial"]
        _, why = await call(client, "explain", study="films", trial=trial)
        assert why["answer"]["trial"] == trial
        _, told = await call(client, "tell", study="films", trial=trial, value=0.7, key="result")
        assert (told["answer"]["trial"], told["answer"]["value"]) == (trial, 0.7)
        _, status = await call(client, "status", study="films")
        return status["answer"]["told"]

    assert converse(lab, steps) == 1


def test_a_step_that_is_repeated_counts_once(lab):
    async def steps(client):
        asked = [await call(client, "ask", study="films", key="once") for _ in range(2)]
        assert asked[0] == asked[1]
        trial = asked[0][1]["answer"][0]["trial"]
        told = [
            await call(client, "tell", study="films", trial=trial, value=0.7, key="result")
            for _ in range(2)
        ]
        assert told[0] == told[1]
        # A result of a row could be a replicate: only the key tells a repeated call from it.
        for _ in range(2):
            await call(client, "tell", study="films", row=2, value=0.1, key="row 2")
        _, status = await call(client, "status", study="films")
        return status["answer"]["told"], status["answer"]["pending"]

    assert converse(lab, steps) == (2, 0)


def test_every_change_is_answered_with_what_takes_it_back(lab):
    async def steps(client):
        counts = []
        for tool, given in (("ask", {}), ("tell", {"row": 0, "value": 0.3})):
            _, done = await call(client, tool, study="films", key=tool, **given)
            undo = done["undo"]
            await call(client, undo["tool"], study="films", key=f"undo {tool}", **undo["arguments"])
            _, status = await call(client, "status", study="films")
            counts.append((status["answer"]["told"], status["answer"]["pending"]))
        return counts

    assert converse(lab, steps) == [(0, 0), (0, 0)]


def test_undo_takes_back_no_step_of_another(lab, tmp_path):
    async def steps(client):
        _, done = await call(client, "tell", study="films", row=0, value=0.3, key="mine")
        with kb.Study.open(tmp_path / "studies" / "films.db") as study:
            study.tell(row=1, value=0.4)
        event = done["undo"]["arguments"]["event"]
        failed, said = await call(client, "undo", study="films", event=event, key="undo")
        _, status = await call(client, "status", study="films")
        return failed, "undo" in said["error"], status["answer"]["told"]

    assert converse(lab, steps) == (True, True, 2)


def test_an_assistant_only_reads_unless_it_is_let(lab):
    async def steps(client):
        offered = {tool.name for tool in (await client.list_tools()).tools}
        failed, said = await call(client, "ask", study="films", key="a")
        return offered, failed, said["error"]

    offered, failed, said = converse(lab, steps, writes=False)
    assert (offered, failed) == (READING, True)
    assert said.endswith("the server was started without --write")


def test_a_token_that_reads_changes_nothing_whatever_is_offered(lab, tmp_path):
    async def steps(client):
        tools = (await client.list_tools()).tools
        assert {tool.name for tool in tools} == READING | WRITING
        assert {tool.name for tool in tools if tool.annotations.read_only_hint} == READING
        given = {"ask": {}, "tell": {"row": 0, "value": 1.0}, "undo": {}}
        return [await call(client, name, study="films", key="a", **given[name]) for name in given]

    with kb.Study.open(tmp_path / "studies" / "films.db") as study:
        before = study.history()
    refused = converse(lab, steps, role=READ)
    assert all(failed and "read" in said["error"] for failed, said in refused)
    with kb.Study.open(tmp_path / "studies" / "films.db") as study:
        assert study.history() == before


@pytest.mark.parametrize(
    ("tool", "given", "said"),
    [
        ("ask", {"study": "films"}, "ask needs key"),
        ("status", {}, "status needs study"),
        ("explain", {"study": "films"}, "explain needs trial"),
        ("status", {"study": "nosuch"}, "nosuch"),
        ("tell", {"study": "films", "key": "a", "row": 0, "value": "high"}, "value"),
        ("ask", {"study": "films", "key": "a", "colour": "red"}, "colour"),
        ("explain", {"study": "films", "trial": "A99"}, "A99"),
        ("create", {"study": "films"}, "list, status"),
        ("list", {"study": "films"}, "no arguments"),
        ("status", {"study": "films", "trial": 1}, "status needs its own arguments (study)"),
        ("status", {"study": ["films"]}, "the name of a study as text"),
        ("ask", {"study": "films", "key": ["a"]}, "a key of letters"),
        ("ask", {"study": "films", "key": "5 €"}, "a key of letters"),
        ("ask", {"study": "films", "key": "a\nb"}, "a key of letters"),
        ("ask", {"study": "films", "key": "   "}, "a key of letters"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(lab, tool, given, said):
    async def steps(client):
        return await call(client, tool, **given)

    failed, answer = converse(lab, steps)
    assert failed
    assert said in answer["error"]
    assert "Traceback" not in answer["error"]


def test_an_absent_lab_is_said():
    async def steps(client):
        return await call(client, "list")

    class Token:
        def token(self, role):
            return "t" * 40

    failed, answer = converse(("http://127.0.0.1:9", Token()), steps)
    assert failed
    assert answer["error"].startswith("no lab answers")


def test_the_command_speaks_by_its_standard_output(lab):
    address, access = lab
    command = StdioServerParameters(
        command=sys.executable,
        args=["-m", "kernelbandits", "mcp", address],
        env={**os.environ, "KERNELBANDITS_TOKEN": access.token(READ)},
    )

    async def run():
        async with Client(command) as client:
            return {tool.name for tool in (await client.list_tools()).tools}, await call(
                client, "status", study="films"
            )

    offered, (failed, status) = anyio.run(run)
    assert offered == READING
    assert (failed, status["answer"]["told"]) == (False, 0)
