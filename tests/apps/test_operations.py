"""Operations are declared once: commands, requests, the client and `Study` take what they say."""

from __future__ import annotations

import html
import inspect
import re
from dataclasses import replace

import pytest
from starlette.datastructures import FormData
from typer.main import get_command

from kernelbandits.apps.cli.arguments import spell_option
from kernelbandits.apps.cli.study import app
from kernelbandits.apps.client import RemoteStudy
from kernelbandits.apps.web import api
from kernelbandits.apps.web.inputs import read_arguments
from kernelbandits.apps.web.visitors import SubmittedForm
from kernelbandits.study import Study
from kernelbandits.study.arguments import Argument
from kernelbandits.study.operations import (
    ADD,
    ASK,
    CORRECT,
    CREATE,
    OPERATIONS,
    PERMIT,
    RELEASE,
    TELL,
    TELL_ALL,
    WITHDRAW,
    WRITE,
)
from kernelbandits.study.settings import Setting
from lab_pages import Page

WRITING = [one for one in OPERATIONS if one.role == WRITE]
SHARED = [one for one in WRITING if one not in (CREATE, PERMIT, TELL_ALL)]
SENT = [one for one in WRITING if one is not CREATE]
names = {"ids": lambda one: one.name}


@pytest.mark.parametrize("operation", [*SHARED, PERMIT], **names)
def test_a_command_has_all_that_its_operation_takes(operation):
    for name in operation.command_names:
        command = get_command(app).commands[name]
        spelled = {option for one in command.params for option in (*one.opts, one.metavar)}
        for one in operation.options:
            assert spell_option(one).split()[0].partition("/")[0] in spelled, one.name


def find_differences(operation, method):
    """The arguments that a method lacks, or takes with another default."""
    parameters = inspect.signature(method).parameters
    wrong = []
    for one in (*operation.options, *operation.fields):
        defaults = {one.default, inspect.Parameter.empty} if one.required else {one.default}
        own = parameters.get(one.name)
        if not isinstance(one, Setting) and (own is None or own.default not in defaults):
            wrong.append(one.name)
    return wrong


@pytest.mark.parametrize("operation", [one for one in SHARED if one is not ADD], **names)
def test_the_method_takes_the_arguments_with_the_same_defaults(operation):
    assert find_differences(operation, getattr(Study, operation.method)) == []


def test_an_argument_that_must_be_given_needs_no_default():
    def withdraw(self, trial, batch, *, label=None, reason="reason"): ...

    batch = Argument("batch", str, "A batch.", required=True)
    operation = replace(WITHDRAW, arguments=(*WITHDRAW.arguments, batch))
    assert {*find_differences(operation, withdraw)} == {"reason", "trial"}


@pytest.mark.parametrize("operation", SENT, **names)
def test_the_client_sends_what_a_request_takes(operation):
    function = getattr(RemoteStudy, operation.name.replace("-", "_"))
    parameters = inspect.signature(function).parameters
    open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    sent = {one.name for one in operation.fields} | {"key"}
    typed = {name for name, one in parameters.items() if one.kind is not one.VAR_KEYWORD}
    assert typed - {"self"} <= sent
    assert open_ended or sent - typed <= {"labels"}


def test_every_operation_has_a_route_for_those_who_may_do_it():
    for operation in OPERATIONS:
        router = api.writing if operation.role == WRITE else api.reading
        path = "" if operation is CREATE else f"/{{name}}{operation.address}"
        assert f"/api/studies{path}" in {route.path for route in router.routes}
    assert RELEASE.fields[0].required


def test_commands_are_those_of_the_operations_and_a_few_more():
    declared = {name for one in OPERATIONS for name in one.command_names}
    own = {"sheet", "plot", "export", "replay", "list", "doctor", "backup", "salvage"}
    assert {*get_command(app).commands} == declared | own


# ------------------------------------------------------------------ what the REST interface says


def find_misfits(value, schema, where="answer"):
    """Where a value is not as a schema says."""
    if "anyOf" in schema:
        found = [find_misfits(value, one, where) for one in schema["anyOf"]]
        return min(found, key=len)
    wanted = schema.get("type", [])
    wanted = [wanted] if isinstance(wanted, str) else wanted
    kinds = {dict: "object", list: "array", str: "string", bool: "boolean", type(None): "null"}
    kinds |= {int: "integer", float: "number"}
    kind = kinds[type(value)]
    if wanted and kind not in wanted and not (kind == "integer" and "number" in wanted):
        return [f"{where} is {kind}, and not {wanted}"]
    if kind == "array":
        items = schema.get("items", {})
        return [
            line
            for i, one in enumerate(value)
            for line in find_misfits(one, items, f"{where}[{i}]")
        ]
    if kind != "object":
        return []
    wrong = [f"{where} lacks {name}" for name in schema.get("required", ()) if name not in value]
    for name, one in value.items():
        part = schema.get("properties", {}).get(name, schema.get("additionalProperties", {}))
        wrong += find_misfits(one, part, f"{where}.{name}")
    return wrong


def test_answers_are_as_the_description_of_the_interface_says(tmp_path):
    (tmp_path / "lab").mkdir()
    page = Page(tmp_path / "lab", tmp_path / "state")
    program, paths = page.program(), page.app.openapi()["paths"]
    rows = [{"label": f"A{i}", "Cs": i / 10} for i in range(6)]
    space = {"variables": {"heat": "real 20:90"}}
    calls = [("post", "", {"name": "t", "target": "y", "rows": rows})]
    calls += [("post", "", {"name": "s", "target": "y", "space": space})]
    calls += [("post", "", {"name": "m", "targets": ["y", "z:minimize,range=0..1"], "rows": rows})]
    for name in ("t", "s", "m"):
        value = {"y": 1.0, "z": 0.5} if name == "m" else 1.0
        calls += [("post", f"/{name}/ask", {"n": 4})]
        calls += [("post", f"/{name}/tell", {"trial": 1, "value": value})]
        calls += [("post", f"/{name}/tell-all", {"results": [{"trial": 2, "failed": True}]})]
        calls += [("post", f"/{name}/release", {"trials": [4]})]
        calls += [("get", f"/{name}{part}", None) for part in ("", "/candidates", "/estimates")]
        calls += [("get", f"/{name}{part}", None) for part in ("/trials", "/check", "/events")]
        calls += [("get", f"/{name}/trials/1/why", None)]
        calls += [] if name == "s" else [("get", f"/{name}/candidates/1/why-not", None)]
        calls += [("post", f"/{name}/correct", {"trial": 1, "value": value})]
        calls += [("post", f"/{name}/withdraw", {"trial": 1}), ("post", f"/{name}/undo", {"n": 2})]
        calls += [("post", f"/{name}/change", {"tolerance": 0.1})]
    calls += [("post", "/t/permit", {"rows": [5], "allowed": False})]
    calls += [("post", "/t/add", {"rows": [{"label": "B", "Cs": 0.9}]}), ("get", "", None)]
    described = set()
    for method, path, body in calls:
        sent = {} if body is None else {"json": body}
        answer = getattr(program, method)(f"/api/studies{path}", **sent)
        assert answer.is_success, answer.text
        template = "/".join(
            "{name}" if part in ("t", "s", "m") else part for part in path.split("/")
        )
        template = template.replace("trials/1/why", "trials/{trial}/why")
        template = template.replace("candidates/1/why-not", "candidates/{row}/why-not")
        said = paths[f"/api/studies{template}"][method]["responses"][str(answer.status_code)]
        schema = said["content"]["application/json"]["schema"]
        assert find_misfits(answer.json(), schema) == [], path
        described.add((method, template))
    assert len(described) == sum(map(len, paths.values())) - 1
    page.close()


def test_a_body_is_described_by_a_sentence_of_its_own(tmp_path):
    """Its description is not once more the summary of the operation."""
    page = Page(tmp_path, tmp_path / "state")
    for methods in page.app.openapi()["paths"].values():
        for one in methods.values():
            if "requestBody" in one:
                schema = one["requestBody"]["content"]["application/json"]["schema"]
                assert schema["description"].endswith(".")
                assert schema["description"].rstrip(".") != one["summary"]
    page.close()


# ------------------------------------------------------------------ what the help of commands says


def help_of(command, option):
    [found] = [one for one in get_command(app).commands[command].params if option in one.opts]
    return found.metavar, found.help


def test_the_help_says_how_values_are_written_and_what_may_be_repeated():
    assert help_of("tell", "--at")[0] == "NAME=VALUE"
    assert help_of("tell", "--at")[1].endswith("Once for each name.")
    assert help_of("tell", "--sem")[0] == "[NAME=]NUMBER"
    assert "repeated" not in help_of("tell", "--sem")[1]
    assert help_of("tell", "--value")[0] == "[NAME=]NUMBER"
    assert help_of("tell", "--value")[1].endswith("May be repeated.")
    assert help_of("correct", "--value") == (
        "NAME=NUMBER",
        "The right result, or one of each target. Once for each name.",
    )
    assert help_of("tell", "--line")[0] == "LINE"
    assert help_of("forbid", "--row")[1].endswith("May be repeated.")


# ------------------------------------------------------------------ what the forms of the page say


def fields_of(text):
    """The attributes of the fields of a page, by their names."""
    found = [
        dict(re.findall(r'([a-z]+)="([^"]*)"', one)) for one in re.findall("<input[^>]*>", text)
    ]
    return {one["name"]: one for one in found if "title" in one}


def test_the_fields_of_forms_have_limits_and_meaning_of_the_declaration(tmp_path):
    (tmp_path / "lab").mkdir()
    page = Page(tmp_path / "lab", tmp_path / "state")
    program, browser = page.program(), page.browser()
    rows = [{"Cs": i / 10, "heat": i % 3} for i in range(6)]
    program.post("/api/studies", json={"name": "films", "target": "y", "rows": rows})
    program.post("/api/studies/films/ask", json={"n": 2})
    program.post("/api/studies/films/tell", json={"trial": 1, "value": 0.5})
    shown = {"": (ASK, TELL), "/trials/1": (CORRECT,), "/candidates": (TELL, PERMIT)}
    compared = set()
    for path, operations in shown.items():
        fields = fields_of(browser.get(f"/studies/films{path}"))
        for operation in operations:
            for one in operation.fields:
                if one.name in fields:
                    field = fields[one.name]
                    assert html.unescape(field["title"]) == one.description
                    assert field.get("maxlength") == (
                        f"{one.limits.most}" if one.kind is str else None
                    )
                    compared.add(one.name)
    assert compared == {"n", "note", "by", "sem", "reason", "row", "rows"}
    page.close()


def test_a_form_is_read_by_the_declaration():
    form = SubmittedForm(
        FormData([("trial", "3"), ("failed", "yes"), ("note", " wet "), ("by", "")])
    )
    assert read_arguments(TELL, form) == {"trial": 3, "failed": True, "note": "wet"}
    named = SubmittedForm(FormData([("rows", 'A4, line 7, "B, dry"')]))
    assert read_arguments(PERMIT, named) == {"rows": ["A4", "line 7", "B, dry"]}
    with pytest.raises(ValueError, match="the field 'Trial' needs a whole number from 1 to"):
        read_arguments(WITHDRAW, SubmittedForm(FormData([])))
    with pytest.raises(ValueError, match=r"the field 'how many candidates' needs .* to 1000, got"):
        read_arguments(ASK, SubmittedForm(FormData([("n", "1001")])))
