"""Studies as tools of an assistant: a server of the Model Context Protocol over the REST interface.

An assistant starts this program and talks to it by standard input and output. Each tool is an
operation of `study/operations.py`, whose arguments are those of the request, and is sent to a
running lab with a token. What the token may not do, the lab refuses.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.error import URLError
from urllib.parse import quote

import anyio
import mcp_types
from anyio import to_thread
from mcp.server import Server
from mcp.server.stdio import stdio_server

from kernelbandits import __version__, checks
from kernelbandits.apps.client import LabClient, LabError
from kernelbandits.apps.web.messages import make_message
from kernelbandits.study.operations import (
    ASK,
    CHECK,
    COMPARE,
    EXPLAIN,
    READ,
    STATUS,
    TELL,
    UNDO,
    Operation,
)

STUDIES = "list"
OFFERED = (STATUS, EXPLAIN, COMPARE, CHECK, ASK, TELL, UNDO)
"""The operations that are tools. Settings, tables and corrections are left to people."""
STUDY = {"type": "string", "description": "The name of the study, as `list` has it."}
KEY = {
    "type": "string",
    "minLength": 1,
    "maxLength": 150,
    "description": "A name for this step, new for each: the date, the time and what is done. Call "
    "again with the same key and the same arguments if no answer came: the step then counts once.",
}
INSTRUCTIONS = """\
Experiments that suggest what to measure next. `list` names the studies. `status` says what is known
and whether one may stop, `explain` why a candidate was suggested, `compare` why another one is not,
`check` whether the estimates can be trusted. {writing} Say the warnings of an answer to the person
you help. A measurement comes from the person or the instrument: never tell a value that nobody
measured."""
WRITING = (
    "`ask` suggests the next candidates, `tell` records a result, `undo` takes back the last step."
)
READING = "This server only reads."


@dataclass(frozen=True)
class Assistant:
    """The tools of an assistant, and the lab that answers them.

    client: where the lab is, and the token for it. writes: whether the tools that change a study
    are offered.
    """

    client: LabClient
    writes: bool = False

    @property
    def operations(self) -> tuple[Operation, ...]:
        return tuple(one for one in OFFERED if self.writes or one.role == READ)

    def list_tools(self) -> list[mcp_types.Tool]:
        listing = mcp_types.Tool(
            name=STUDIES,
            description="All studies of the lab, with their target and the number of results.",
            input_schema={"type": "object", "properties": {}, "additionalProperties": False},
            annotations=mcp_types.ToolAnnotations(read_only_hint=True),
        )
        return [listing, *map(describe_tool, self.operations)]

    def call(self, name: str, arguments: Mapping[str, Any]) -> Any:
        """Do what a tool does, and return what is answered, as JSON has it."""
        if name == STUDIES:
            check_given(name, (), arguments)
            return {"studies": self.client.studies()}
        offered = {one.name: one for one in self.operations}
        if name not in offered:
            known = ", ".join([STUDIES, *offered])
            hint = "" if self.writes else "; the server was started without --write"
            raise ValueError(f"a call needs one of the tools {known}, got {name!r}{hint}")
        operation, given = offered[name], dict(arguments)
        needed = required_of(operation)
        if missing := [one for one in needed if given.get(one) in (None, "")]:
            raise ValueError(f"{name} needs {' and '.join(missing)}, got none")
        check_given(name, [*needed, *(one.name for one in operation.fields)], given)
        place = f"/api/studies/{quote(str(given.pop('study')), safe='')}"
        if operation.role == READ:
            if operation is EXPLAIN and not isinstance(given["trial"], str):
                given["trial"] = checks.whole(name, "trial", given["trial"], least=1)
            quoted = {name: quote(str(value), safe="") for name, value in given.items()}
            address = operation.address.format_map(quoted)
            return {"answer": self.client.request("GET", place + address)}
        answer = self.client.request("POST", place + operation.address, given, given.pop("key"))
        return {"answer": answer, "undo": self._offer_undo(place, operation, answer)}

    def _offer_undo(self, place: str, operation: Operation, answer: Any) -> dict[str, Any] | None:
        """Return with what `undo` takes back this step and nothing else, if there is one."""
        event = None
        if operation is TELL and answer["accepted"]:
            event = answer["seq"]
        elif operation is ASK:
            trials = {one["trial"] for one in answer}
            events = self.client.request("GET", f"{place}/events")
            asked = (e["seq"] for e in events if e["kind"] == "asked" and e["trial"] in trials)
            event = min(asked, default=None)
        return None if event is None else {"tool": UNDO.name, "arguments": {"event": event}}


def check_given(tool: str, taken: Iterable[str], given: Mapping[str, Any]) -> None:
    """Refuse arguments that a tool does not take, and a name of a study that is no text."""
    names = ", ".join(dict.fromkeys(taken)) or "no arguments"
    unknown = ", ".join(one for one in given if one not in names.split(", "))
    checks.needs(not unknown, tool, f"its own arguments ({names})", unknown)
    study = given.get("study", "")
    checks.needs(isinstance(study, str), tool, "the name of a study as text", study)


def required_of(operation: Operation) -> list[str]:
    """Return the arguments that a tool must have. A repeated step counts once by its key."""
    own = [one.name for one in operation.fields if one.required]
    return ["study", *own, *(["key"] if operation.role != READ else [])]


def describe_tool(operation: Operation) -> mcp_types.Tool:
    """Return a tool for an operation, whose arguments are those of the request."""
    schema = make_message(operation).model_json_schema()
    properties = {"study": STUDY} | schema.get("properties", {})
    if operation.role != READ:
        properties["key"] = KEY
    return mcp_types.Tool(
        name=operation.name,
        description=". ".join(filter(None, (operation.summary, operation.description))),
        input_schema={
            "type": "object",
            "properties": properties,
            "required": required_of(operation),
            "additionalProperties": False,
        }
        | ({"$defs": schema["$defs"]} if "$defs" in schema else {}),
        annotations=mcp_types.ToolAnnotations(
            read_only_hint=operation.role == READ,
            destructive_hint=operation is UNDO,
            idempotent_hint=True,
        ),
    )


def build_server(assistant: Assistant) -> Server[Any]:
    """Return the server of an assistant; the lab is asked in a thread, so that it never blocks."""

    async def list_tools(context: Any, params: Any) -> mcp_types.ListToolsResult:
        return mcp_types.ListToolsResult(tools=assistant.list_tools())

    async def call_tool(
        context: Any, params: mcp_types.CallToolRequestParams
    ) -> mcp_types.CallToolResult:
        try:
            found = await to_thread.run_sync(assistant.call, params.name, params.arguments or {})
        except (LabError, ValueError) as error:
            return write_answer({"error": str(error)}, failed=True)
        except (URLError, TimeoutError, ConnectionError) as error:
            said = f"no lab answers ({error}); start `kernelbandits lab`, then call again"
            return write_answer({"error": said}, failed=True)
        return write_answer(found)

    return Server(
        "kernelbandits",
        version=__version__,
        instructions=INSTRUCTIONS.format(writing=WRITING if assistant.writes else READING),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def write_answer(found: Any, failed: bool = False) -> mcp_types.CallToolResult:
    text = mcp_types.TextContent(text=json.dumps(found, ensure_ascii=False))
    return mcp_types.CallToolResult(content=[text], structured_content=found, is_error=failed)


def serve(assistant: Assistant) -> None:
    """Answer an assistant by standard input and output until it closes them."""

    async def run() -> None:
        server = build_server(assistant)
        async with stdio_server() as (heard, said):
            await server.run(heard, said, server.create_initialization_options())

    anyio.run(run)
