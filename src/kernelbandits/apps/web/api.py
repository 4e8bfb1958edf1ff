"""The REST interface: the same operations as `Study`, as JSON, for instruments and scripts.

Every route needs a bearer token. A request that writes may have the header `Idempotency-Key`: it
then counts once, and is answered in the same way each time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Annotated, Any

import pandas as pd
from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from kernelbandits import checks
from kernelbandits.apps.web.inputs import read_number_or_name
from kernelbandits.apps.web.lab import StudyRoute, find_asker, find_lab, find_study
from kernelbandits.apps.web.library import Entry
from kernelbandits.apps.web.messages import TargetRequest, describe_answer, make_message
from kernelbandits.apps.web.snapshots import Snapshot
from kernelbandits.apps.web.visitors import accepts, api_reader, api_writer, json_body
from kernelbandits.codec import to_json_value
from kernelbandits.domains.space_files import remark_pairs, remark_recipe, space_from_file
from kernelbandits.study import Study
from kernelbandits.study.dataframes import list_records
from kernelbandits.study.operations import (
    ASK,
    CANDIDATES,
    CHECK,
    COMPARE,
    CREATE,
    ESTIMATES,
    EXPLAIN,
    HISTORY,
    OPERATIONS,
    STATUS,
    TRIALS,
    WRITE,
    Operation,
)
from kernelbandits.study.targets import Target, parse_target

ERROR = {
    "type": "object",
    "properties": {"error": {"type": "string"}},
    "required": ["error"],
}
STATUS_MEANINGS = {
    401: "no token, or a wrong one",
    403: "the token may only read, or the request comes from another site",
    404: "there is no such study",
    409: "a conflict with what is stored; a second result for a trial gives trial and value",
    413: "the request is too large",
    415: "the content type is not application/json",
    422: "a wrong value; row and column say where, as far as they are known",
    503: "others hold the study, its server does not answer, or too many files are open: try again",
    507: "the disk is full: nothing was stored",
}


def describe_statuses(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """Return the errors that the OpenAPI description of a route names."""
    return {status: describe_response(STATUS_MEANINGS[status], ERROR) for status in statuses}


def describe_response(meaning: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"description": meaning, "content": {"application/json": {"schema": schema}}}


def describe_route(operation: Operation, status: int = 200) -> dict[str, Any]:
    """Return what the OpenAPI description of a route says beside its arguments."""
    response = describe_response("the answer", describe_answer(operation.answer))
    return {
        "summary": operation.summary,
        "description": operation.description,
        "responses": {status: response},
    }


reading = APIRouter(
    prefix="/api",
    dependencies=[Depends(api_reader)],
    responses=describe_statuses(401, 404, 409, 422, 503),
    route_class=StudyRoute,
)
writing = APIRouter(
    prefix="/api",
    dependencies=[Depends(api_writer)],
    responses=describe_statuses(401, 403, 404, 409, 413, 415, 422, 503, 507),
    route_class=StudyRoute,
)

STUDY = "/studies/{name}"
"""The address of a study."""
Name = Annotated[str, Path(description="The name of the study.", max_length=200)]
TrialOrName = Annotated[
    str, Path(description="The number of a trial, or the name of its row.", max_length=200)
]
NameOfRow = Annotated[
    str, Path(description="The name of a row, or its number from 0.", max_length=200)
]
Question = Callable[[Snapshot], Any]
"""What is known of a study -> the value of an answer."""
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        description="The same key again counts once.",
        min_length=1,
        max_length=150,
    ),
]


def answer(value: Any, status: int = 200) -> Response:
    """Return a value of Python as JSON; numbers that JSON lacks are null."""
    return JSONResponse(to_json_value(value), status)


# ---------------------------------------------------------------------- reading


def question(operation: Operation) -> Callable[[Question], Question]:
    """Register the route of an operation that asks about a study.

    Its answer is written once and kept until the next event.
    """

    def register(ask: Question) -> Question:
        def respond(request: Request, name: Name) -> Response:
            snapshot = find_lab(request).snapshot(name)
            key = ("api", operation.name)
            body = snapshot.once(key, lambda: answer(ask(snapshot)).body)
            return Response(body, 200, {}, "application/json")

        respond.__name__ = ask.__name__
        reading.get(f"{STUDY}{operation.address}", **describe_route(operation))(respond)
        return ask

    return register


@reading.get(
    "/openapi.json",
    summary="This description",
    responses={200: describe_response("an OpenAPI document", {"type": "object"})},
)
def describe_api(request: Request) -> Response:
    return JSONResponse(request.app.openapi())


@reading.get(
    "/studies",
    summary="All studies",
    responses={200: describe_response("the answer", describe_answer(list[Entry]))},
)
def list_studies(request: Request) -> Response:
    return answer(find_lab(request).library.entries())


@question(STATUS)
def status(snapshot: Snapshot) -> Any:
    return to_json_value(snapshot.status) | {"place": snapshot.name, "event": snapshot.number}


@question(CANDIDATES)
def candidates(snapshot: Snapshot) -> Any:
    return snapshot.study.candidates.document()


@question(ESTIMATES)
def estimates(snapshot: Snapshot) -> Any:
    frame = snapshot.estimates
    return {"estimates": list_records(frame), "caution": frame.attrs["caution"]}


@question(TRIALS)
def trials(snapshot: Snapshot) -> Any:
    return list_records(snapshot.trials)


@question(CHECK)
def check(snapshot: Snapshot) -> Any:
    return snapshot.check


@reading.get(f"{STUDY}{EXPLAIN.address}", **describe_route(EXPLAIN))
def explain(request: Request, name: Name, trial: TrialOrName) -> Response:
    return answer(find_lab(request).snapshot(name).explain(read_number_or_name(trial)))


@reading.get(f"{STUDY}{COMPARE.address}", **describe_route(COMPARE))
def compare(request: Request, name: Name, row: NameOfRow) -> Response:
    return answer(find_lab(request).snapshot(name).compare(read_number_or_name(row)))


@reading.get(f"{STUDY}{HISTORY.address}", **describe_route(HISTORY))
def events(
    request: Request,
    name: Name,
    after: Annotated[int, Query(ge=0, le=2**53, description="Only events after this number.")] = 0,
) -> Response:
    return answer(find_study(request, name).history(after=after))


# ---------------------------------------------------------------------- writing

CreateRequest = make_message(CREATE)


@writing.post(
    "/studies",
    **describe_route(CREATE, 201),
    status_code=201,
    openapi_extra=accepts(CreateRequest),
)
def create(request: Request, body: Annotated[Any, Depends(json_body(CreateRequest))]) -> Response:
    lab = find_lab(request)
    given = [one for one in (body.csv, body.rows, body.space) if one is not None]
    checks.needs(len(given) == 1, "create", "one of csv, rows and space", len(given))
    measured = [one for one in (body.target, body.targets) if one is not None]
    checks.needs(len(measured) == 1, "create", "target or targets", len(measured))
    sources = {"name", "csv", "rows", "space", "describe", "results"}
    settings = body.model_dump(exclude=sources, exclude_none=True)
    if body.targets is not None:
        settings["targets"] = [read_wanted(one) for one in body.targets]
    notices = remark_pairs(body.space)
    with ExitStack() as stack:

        def keep(text: str, name: str) -> Any:
            upload = lab.uploads.add(text.encode(), f"{name}.csv")
            stack.callback(lab.uploads.remove, upload)
            return upload.path

        if body.space is not None:
            candidates = space_from_file(body.space, steps=True)
            notices += remark_recipe(body.space, candidates)
        elif body.rows is not None:
            candidates = frame_of(body.rows)
        else:
            candidates = keep(body.csv, body.name)
        if body.describe is not None:
            settings["describe"] = {
                name: keep(table, name) if isinstance(table, str) else frame_of(table)
                for name, table in body.describe.items()
            }
        if body.results is not None:
            settings["results"] = list_lines(body.results)
        study = lab.library.create(body.name, candidates, **settings)
    return answer({"name": body.name, "notices": [*notices, *study.candidates.notices]}, 201)


def read_wanted(given: str | TargetRequest) -> Target:
    return parse_target(given) if isinstance(given, str) else Target(**given.model_dump())


def frame_of(rows: list[dict[str, Any]]) -> Any:
    """Return a table of objects, which must all have the same names."""
    names = list(rows[0])
    for i, row in enumerate(rows):
        different = set(row) ^ set(names)
        if different:
            raise ValueError(
                f"rows needs the same names in each object, got another set in row {i}, "
                f"column {sorted(different)[0]!r}"
            )
    return pd.DataFrame(rows, columns=names)


def tell_all(study: Study, results: list[dict[str, Any]], **more: Any) -> Any:
    """Record many results; a cell that is null is not there."""
    return study.tell_all(list_lines(results), **more)


def list_lines(results: Sequence[Any]) -> list[dict[str, Any]]:
    """Return results without the cells that are null."""
    plain = [one if isinstance(one, dict) else one.model_dump() for one in results]
    return [{name: cell for name, cell in one.items() if cell is not None} for one in plain]


def permit(
    study: Study,
    allowed: bool,
    rows: list[int | str] | None = None,
    labels: list[str] | None = None,
    **more: Any,
) -> Any:
    """Forbid rows, or allow them again."""
    call = study.allow if allowed else study.forbid
    return call(rows, label=labels, **more)


def add(study: Study, rows: list[dict[str, Any]], key: str | None) -> Any:
    """Add rows that are given as objects."""
    return study.add(frame_of(rows), key=key)


CALLS: dict[str, Callable[..., Any]] = {"tell-all": tell_all, "permit": permit, "add": add}
"""Operations whose requests have other arguments than the method of `Study`."""


def offer(operation: Operation) -> None:
    """Register the route of an operation: its body has the declared arguments, and it has a key."""
    model = make_message(operation)
    body_of_model = Depends(json_body(model))
    find = find_asker if operation is ASK else find_study

    def respond(
        request: Request, name: Name, body: Any = body_of_model, key: Key = None
    ) -> Response:
        study, given = find(request, name), body.model_dump(exclude_unset=True)
        given |= find_lab(request).library.find_sources(given)
        if operation.name in CALLS:
            return answer(CALLS[operation.name](study, **given, key=key))
        return answer(getattr(study, operation.method)(**given, key=key))

    respond.__name__ = operation.name.replace("-", "_")
    writing.post(
        f"{STUDY}{operation.address}",
        **describe_route(operation),
        openapi_extra=accepts(model),
    )(respond)


for operation in OPERATIONS:
    if operation.role == WRITE and operation is not CREATE:
        offer(operation)
router = APIRouter()
router.include_router(reading)
router.include_router(writing)
