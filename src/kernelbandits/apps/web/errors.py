"""Errors as answers: a status and one sentence, for pages and for the API."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

from fastapi import HTTPException
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException as RoutingError

from kernelbandits.apps.web.guards import Refusal
from kernelbandits.checks import StorageError, StorageFull, StorageReadOnly, StudyConflict
from kernelbandits.formatting import mask_password
from kernelbandits.storage import NoStudy, StorageBusy
from kernelbandits.study import AlreadyTold

LINE = re.compile(r"\b(?:line|row|item) (\d+)")
COLUMN = re.compile(r"\bcolumn (?:'((?:[^'\\]|\\.)*)'|\"([^\"]*)\")")
FOLDERS = re.compile(r"(?<![\w:/\\])(?:[A-Za-z]:)?[/\\](?:[^\s/\\;,]+[/\\])+")
"""The folders before the name of a file: a visitor need not know them."""
BRANCH = re.compile(r"constrained-\w+|\w+Request|(?:list|dict)\[.*\]")
"""What pydantic calls one of several types that a field may have."""
INSTANCE = re.compile(r" or instance of \w+Request")
LONG_NUMBER = re.compile(r"\d{7,}(?:\.\d+)?")
MISTAKE = "a mistake in kernelbandits itself; the terminal of the server shows more"


def describe_error(error: Exception) -> tuple[int, dict[str, Any]]:
    """Return the status of an error, and what is said of it.

    `error` is a sentence. A second result for a trial has `trial` and the stored `value`; a wrong
    cell of a table has `row` and `column`, as far as they are known.
    """
    if isinstance(error, (Refusal, HTTPException, RoutingError)):
        status = error.status if isinstance(error, Refusal) else error.status_code
        return status, {"error": error.sentence if isinstance(error, Refusal) else error.detail}
    if isinstance(error, RequestValidationError):
        return 422, describe_fields(error.errors())
    said = {"error": mask_password(str(error))}
    if isinstance(error, StorageError):
        said = {"error": FOLDERS.sub("", said["error"])}
    if isinstance(error, AlreadyTold):
        return 409, said | {"trial": error.trial, "value": error.stored, "accepted": False}
    for kind, status in STATUSES.items():
        if isinstance(error, kind):
            return status, said | (find_cell(said["error"]) if status == 422 else {})
    return 500, {"error": MISTAKE}


STATUSES: dict[type[Exception], int] = {
    StudyConflict: 409,
    NoStudy: 404,
    StorageFull: 507,
    StorageReadOnly: 403,
    StorageBusy: 503,
    StorageError: 500,
    ValueError: 422,
    MemoryError: 507,
}
"""The first class that fits decides."""


def find_cell(sentence: str) -> dict[str, Any]:
    """Return line and column that a sentence about a table names."""
    line, column = LINE.search(sentence), COLUMN.search(sentence)
    found: dict[str, Any] = {"row": int(line[1])} if line else {}
    return found | ({"column": column[1] or column[2]} if column else {})


def describe_fields(errors: Sequence[Any]) -> dict[str, Any]:
    """Say in one sentence what is wrong with the fields of a request; name row and column."""
    errors, texts = choose_branches(errors), []
    for one in errors[:5]:
        where = [str(part) for part in one["loc"] if part not in ("body", "query", "path")]
        where = [part for part in where if not BRANCH.fullmatch(part)]
        said = LONG_NUMBER.sub(lambda number: f"{float(number[0]):g}", one["msg"])
        said = INSTANCE.sub("", said)
        texts.append(f"{'.'.join(where) or 'the request'}: {said}")
    path = [part for part in errors[0]["loc"] if part != "body"]
    path = [part for part in path if not BRANCH.fullmatch(str(part))]
    rows = [part for part in path if isinstance(part, int)]
    names = [part for part in path if isinstance(part, str)]
    found: dict[str, Any] = {"error": "; ".join(texts)}
    found |= {"row": rows[0]} if rows else {}
    return found | ({"column": names[-1]} if names else {})


def choose_branches(errors: Sequence[Any]) -> list[Any]:
    """Leave out the types of a field that its value has not, if it has another of them."""
    fields = [find_field(one["loc"]) for one in errors]
    fitting = {field for one, field in zip(errors, fields, strict=True) if not is_misfit(one)}
    pairs = zip(errors, fields, strict=True)
    return [one for one, field in pairs if not (is_misfit(one) and field in fitting)]


def find_field(path: Sequence[Any]) -> tuple[Any, ...]:
    """Return the path to the field of which an error names one of several types."""
    parts = takewhile(lambda part: not BRANCH.fullmatch(str(part)), path)
    return tuple(parts)


def is_misfit(error: Any) -> bool:
    """Tell whether a value has not the type that an error names."""
    return bool(BRANCH.fullmatch(str(error["loc"][-1]))) and error["type"].endswith("_type")
