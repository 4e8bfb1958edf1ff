"""Operations are declared once: commands, requests, the client and `Study` take what they say."""

from __future__ import annotations

import inspect

import pytest
from typer.main import get_command

from kernelbandits.apps.cli.arguments import spell_option
from kernelbandits.apps.cli.study import app
from kernelbandits.apps.client import RemoteStudy
from kernelbandits.apps.web import api
from kernelbandits.study import Study
from kernelbandits.study.operations import ADD, CREATE, OPERATIONS, PERMIT, RELEASE, TELL_ALL
from kernelbandits.study.settings import Setting

SHARED = [one for one in OPERATIONS if one not in (CREATE, PERMIT, TELL_ALL)]
SENT = [one for one in OPERATIONS if one.fields and one is not CREATE]
names = {"ids": lambda one: one.name}


@pytest.mark.parametrize("operation", SHARED, **names)
def test_a_command_has_all_that_its_operation_takes(operation):
    command = get_command(app).commands[operation.name]
    spelled = {option for one in command.params for option in (*one.opts, one.metavar)}
    for one in operation.options:
        assert spell_option(one).split()[0].partition("/")[0] in spelled, one.name


@pytest.mark.parametrize("operation", [one for one in SHARED if one is not ADD], **names)
def test_the_method_takes_the_arguments_with_the_same_defaults(operation):
    parameters = inspect.signature(getattr(Study, operation.method)).parameters
    for one in (*operation.options, *operation.fields):
        if not isinstance(one, Setting):
            assert parameters[one.name].default == one.default, one.name


@pytest.mark.parametrize("operation", SENT, **names)
def test_the_client_sends_what_a_request_takes(operation):
    function = getattr(RemoteStudy, operation.name.replace("-", "_"))
    parameters = inspect.signature(function).parameters
    open_ended = any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    sent = {one.name for one in operation.fields} | {"key"}
    typed = {name for name, one in parameters.items() if one.kind is not one.VAR_KEYWORD}
    assert typed - {"self"} <= sent
    assert open_ended or sent - typed <= {"labels"}


def test_every_operation_that_is_sent_has_a_route():
    paths = {route.path for route in api.writing.routes}
    assert {f"/api/studies/{{name}}/{one.name}" for one in SENT} < paths
    assert RELEASE.fields[0].required
