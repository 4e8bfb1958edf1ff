"""The API keeps what its OpenAPI description says, whatever is sent."""

from __future__ import annotations

import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import CHECKS

import kernelbandits as kb
from kernelbandits.apps.web import api
from kernelbandits.apps.web.access import WRITE, Access
from kernelbandits.apps.web.app import build_app
from kernelbandits.apps.web.library import find_shelf

HOST = "127.0.0.1:8765"


def make_schema(folder):
    (folder / "studies").mkdir()
    with kb.Study.create(folder / "studies" / "films.db", [[0.0], [0.5], [1.0]]) as study:
        study.ask(2)
        study.tell(1, 0.5)
    access = Access(folder / "state")
    app = build_app(find_shelf(str(folder / "studies")), access, [HOST])
    headers = {"authorization": f"Bearer {access.token(WRITE)}", "host": HOST}
    return schemathesis.openapi.from_asgi("/api/openapi.json", app, headers=headers), headers


def test_the_api_keeps_its_description(tmp_path):
    """Every route of the API is called, and no answer is an error of ours, or is not as described."""
    schema, headers = make_schema(tmp_path)
    names = ("not_a_server_error", "status_code_conformance", "response_schema_conformance")
    checked = [CHECKS.get_one(name) for name in names]
    called = set()
    for operation in [one.ok() for one in schema.get_all_operations()]:

        @settings(
            max_examples=8, deadline=None, database=None, suppress_health_check=list(HealthCheck)
        )
        @given(case=operation.as_strategy())
        def call(case):
            if "name" in case.path_parameters:
                case.path_parameters["name"] = "films"
            case.call_and_validate(headers=headers, checks=checked)
            called.add((case.method.upper(), case.path))

        call()
    # The description itself was read first.
    assert called | {("GET", "/api/openapi.json")} == api_routes()


def api_routes():
    """Method and path of each route of the API, from the table of routes and not from its
    description."""
    found = [route for router in (api.reading, api.writing) for route in router.routes]
    return {(method, route.path) for route in found for method in route.methods}
