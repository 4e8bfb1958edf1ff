"""The REST interface: the same operations as `Study`, as JSON, for instruments and scripts.

Every route needs a bearer token. A request that writes may have the header `Idempotency-Key`: it
then counts once, and is answered in the same way each time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import pandas as pd
from fastapi import APIRouter, Depends, Header, Path, Query, Request, Response
from fastapi.responses import JSONResponse

from kernelbandits import checks
from kernelbandits.apps.web.lab import find_asker, find_lab, find_study
from kernelbandits.apps.web.messages import (
    AddRequest,
    AskRequest,
    ChangeRequest,
    CorrectRequest,
    CreateRequest,
    PermitRequest,
    ReleaseRequest,
    TellAllRequest,
    TellRequest,
    UndoRequest,
    WithdrawRequest,
)
from kernelbandits.apps.web.snapshots import Snapshot
from kernelbandits.apps.web.visitors import accepts, api_reader, api_writer, json_body
from kernelbandits.domains.space_files import space_from_file
from kernelbandits.formatting import to_json_value
from kernelbandits.study import Study

ERROR = {
    "type": "object",
    "properties": {"error": {"type": "string"}},
    "required": ["error"],
}
SAID = {
    401: "no token, or a wrong one",
    403: "the token may only read, or the request comes from another site",
    404: "there is no such study",
    409: "a conflict with what is stored; a second result for a trial gives trial and value",
    413: "the request is too large",
    415: "the content type is not application/json",
    422: "a wrong value; row and column say where, as far as they are known",
    503: "others hold the study, or its server does not answer: try again",
    507: "the disk is full: nothing was stored",
}


def say(*statuses: int) -> dict[int | str, dict[str, Any]]:
    """The errors that the OpenAPI description of a route names."""
    content = {"application/json": {"schema": ERROR}}
    return {status: {"description": SAID[status], "content": content} for status in statuses}


reading = APIRouter(
    prefix="/api", dependencies=[Depends(api_reader)], responses=say(401, 404, 409, 422, 503)
)
writing = APIRouter(
    prefix="/api",
    dependencies=[Depends(api_writer)],
    responses=say(401, 403, 404, 409, 413, 415, 422, 503, 507),
)

Name = Annotated[str, Path(description="The name of the study.", max_length=200)]
Trial = Annotated[int, Path(description="The number of a trial.", ge=1, le=2**53)]
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
    """A value of Python as JSON; numbers that JSON lacks are null."""
    return JSONResponse(to_json_value(value), status)


def answer_known(snapshot: Snapshot, what: str, compute: Callable[[], Any]) -> Response:
    """The answer to a question about a study, written once and kept until its next event."""
    return Response(
        snapshot.once(("json", what), lambda: answer(compute()).body), 200, {}, "application/json"
    )


def records(frame: pd.DataFrame) -> list[Any]:
    """One object for each row; times as text, what is missing as null."""
    columns = []
    for name in frame.columns:
        cells, there = frame[name].tolist(), frame[name].notna().tolist()
        if isinstance(frame[name].dtype, pd.DatetimeTZDtype):
            cells = [at.isoformat() for at in cells]
        pairs = zip(cells, there, strict=True)
        columns.append([cell if known else None for cell, known in pairs])
    names = [str(name) for name in frame.columns]
    return [dict(zip(names, line, strict=True)) for line in zip(*columns, strict=True)]


# ---------------------------------------------------------------------- reading


@reading.get("/openapi.json", summary="This description")
def describe_api(request: Request) -> Response:
    return JSONResponse(request.app.openapi())


@reading.get("/studies", summary="All studies")
def list_studies(request: Request) -> Response:
    return answer(find_lab(request).library.entries())


@reading.get("/studies/{name}", summary="Status: results, the likely best, may I stop?")
def status(request: Request, name: Name) -> Response:
    snapshot = find_lab(request).snapshot(name)
    more = {"place": name, "event": snapshot.number}
    return answer_known(snapshot, "status", lambda: to_json_value(snapshot.status) | more)


@reading.get("/studies/{name}/candidates", summary="The table of candidates, or the space")
def candidates(request: Request, name: Name) -> Response:
    study = find_study(request, name)
    if study.space is not None:
        return answer({"space": study.space.to_dict()})
    table = study.candidates
    return answer({"columns": table.chosen, "labels": table.labels, "table": table.lists})


@reading.get("/studies/{name}/estimates", summary="The estimate of each candidate")
def estimates(request: Request, name: Name) -> Response:
    snapshot = find_lab(request).snapshot(name)

    def compute() -> Any:
        frame = snapshot.estimates
        return {"estimates": records(frame), "caution": frame.attrs["caution"]}

    return answer_known(snapshot, "estimates", compute)


@reading.get("/studies/{name}/trials", summary="All trials")
def trials(request: Request, name: Name) -> Response:
    snapshot = find_lab(request).snapshot(name)
    return answer_known(snapshot, "trials", lambda: records(snapshot.trials))


@reading.get("/studies/{name}/trials/{trial}/why", summary="Why a candidate was suggested")
def explain(request: Request, name: Name, trial: Trial) -> Response:
    return answer(find_lab(request).snapshot(name).explain(trial))


@reading.get("/studies/{name}/events", summary="What happened, in order")
def events(
    request: Request,
    name: Name,
    after: Annotated[int, Query(ge=0, le=2**53, description="Only events after this number.")] = 0,
) -> Response:
    return answer(find_study(request, name).history(after=after))


@reading.get("/studies/{name}/check", summary="Can the model be trusted?")
def check(request: Request, name: Name) -> Response:
    snapshot = find_lab(request).snapshot(name)
    return answer_known(snapshot, "check", lambda: snapshot.check)


# ---------------------------------------------------------------------- writing


def body_of(model: Any) -> Any:
    return Depends(json_body(model))


@writing.post(
    "/studies",
    summary="Create a study",
    status_code=201,
    openapi_extra=accepts(CreateRequest),
)
def create(request: Request, body: Annotated[CreateRequest, body_of(CreateRequest)]) -> Response:
    """From a table (`csv` or `rows`) or a space. There is no key: a name can be taken once."""
    lab = find_lab(request)
    given = [one for one in (body.csv, body.rows, body.space) if one is not None]
    checks.needs(len(given) == 1, "create", "one of csv, rows and space", len(given))
    names = ("target", "direction", "goal", "noise", "rounds", "tolerance", "seed")
    roles = ("columns", "cost", "allowed", "log", "linear")
    settings = {one: getattr(body, one) for one in (*names, *roles)}
    settings = {one: value for one, value in settings.items() if value is not None}
    if body.space is not None:
        study = lab.library.create(body.name, space_from_file(body.space), **settings)
    elif body.rows is not None:
        study = lab.library.create(body.name, frame_of(body.rows), **settings)
    else:
        upload = lab.uploads.add((body.csv or "").encode(), f"{body.name}.csv")
        try:
            study = lab.library.create(body.name, upload.path, **settings)
        finally:
            lab.uploads.remove(upload)
    notices = () if study.space is not None else study.candidates.notices
    return answer({"name": body.name, "notices": notices}, 201)


def frame_of(rows: list[dict[str, Any]]) -> Any:
    """A table of objects that all have the same names."""
    names = list(rows[0])
    for i, row in enumerate(rows):
        different = set(row) ^ set(names)
        if different:
            raise ValueError(
                f"rows needs the same names in each object, got another set in row {i}, "
                f"column {sorted(different)[0]!r}"
            )
    return pd.DataFrame(rows, columns=names)


@writing.post(
    "/studies/{name}/ask", summary="Suggest candidates", openapi_extra=accepts(AskRequest)
)
def ask(
    request: Request,
    name: Name,
    body: Annotated[AskRequest, body_of(AskRequest)],
    key: Key = None,
) -> Response:
    """A worker that asks again under the same name first gets its pending candidates."""
    study = find_asker(request, name)
    return answer(study.ask(**body.model_dump(), key=key))


@writing.post("/studies/{name}/tell", summary="Record a result", openapi_extra=accepts(TellRequest))
def tell(
    request: Request,
    name: Name,
    body: Annotated[TellRequest, body_of(TellRequest)],
    key: Key = None,
) -> Response:
    """A second result for a trial is refused with 409, which has the stored value."""
    study = find_study(request, name)
    return answer(study.tell(**body.model_dump(), key=key))


@writing.post(
    "/studies/{name}/tell-all",
    summary="Record many results, all or none",
    openapi_extra=accepts(TellAllRequest),
)
def tell_all(
    request: Request,
    name: Name,
    body: Annotated[TellAllRequest, body_of(TellAllRequest)],
    key: Key = None,
) -> Response:
    """Each result names its trial, its row, or all its columns, as a line of a file does."""
    lines = [one.model_dump(exclude_none=True) for one in body.results]
    told = find_study(request, name).tell_all(
        lines,
        key=key,
        worker=body.worker,
        corrected=body.corrected,
        replicates=body.replicates,
    )
    return answer(told)


@writing.post(
    "/studies/{name}/correct",
    summary="Replace the result of a trial",
    openapi_extra=accepts(CorrectRequest),
)
def correct(
    request: Request,
    name: Name,
    body: Annotated[CorrectRequest, body_of(CorrectRequest)],
    key: Key = None,
) -> Response:
    study = find_study(request, name)
    return answer(
        study.correct(body.trial, body.value, failed=body.failed, reason=body.reason, key=key)
    )


@writing.post(
    "/studies/{name}/withdraw",
    summary="Let a result no longer count",
    openapi_extra=accepts(WithdrawRequest),
)
def withdraw(
    request: Request,
    name: Name,
    body: Annotated[WithdrawRequest, body_of(WithdrawRequest)],
    key: Key = None,
) -> Response:
    return answer(find_study(request, name).withdraw(body.trial, reason=body.reason, key=key))


@writing.post(
    "/studies/{name}/release",
    summary="Give up pending trials",
    openapi_extra=accepts(ReleaseRequest),
)
def release(
    request: Request,
    name: Name,
    body: Annotated[ReleaseRequest, body_of(ReleaseRequest)],
    key: Key = None,
) -> Response:
    return answer(find_study(request, name).release_all(body.trials, key=key))


@writing.post(
    "/studies/{name}/undo",
    summary="Take back the last steps",
    openapi_extra=accepts(UndoRequest),
)
def undo(
    request: Request,
    name: Name,
    body: Annotated[UndoRequest, body_of(UndoRequest)],
    key: Key = None,
) -> Response:
    return answer(find_study(request, name).undo_all(body.n, key=key))


@writing.post(
    "/studies/{name}/permit",
    summary="Forbid rows, or allow them again",
    openapi_extra=accepts(PermitRequest),
)
def permit(
    request: Request,
    name: Name,
    body: Annotated[PermitRequest, body_of(PermitRequest)],
    key: Key = None,
) -> Response:
    study = find_study(request, name)
    call = study.allow if body.allowed else study.forbid
    return answer(call(body.rows, label=body.labels, reason=body.reason, key=key))


@writing.post(
    "/studies/{name}/add",
    summary="Add rows to the table",
    openapi_extra=accepts(AddRequest),
)
def add(
    request: Request,
    name: Name,
    body: Annotated[AddRequest, body_of(AddRequest)],
    key: Key = None,
) -> Response:
    return answer(find_study(request, name).add(frame_of(body.rows), key=key))


@writing.post(
    "/studies/{name}/change",
    summary="Change settings",
    openapi_extra=accepts(ChangeRequest),
)
def change(
    request: Request,
    name: Name,
    body: Annotated[ChangeRequest, body_of(ChangeRequest)],
    key: Key = None,
) -> Response:
    """Only the settings that are named change."""
    study: Study = find_study(request, name)
    return answer(study.change(key=key, **body.model_dump(exclude_unset=True)))


router = APIRouter()
router.include_router(reading)
router.include_router(writing)
