"""Dependencies of the routers: who may come in, and how a request has to look.

Pages are opened by the cookie and never by a token; the API is used with a bearer token and never
with a cookie. Bodies are read here too, after these checks.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Annotated, Any, TypeVar

from fastapi import Depends, HTTPException, Request
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, UploadFile

from kernelbandits.apps.web.access import Visitor
from kernelbandits.apps.web.lab import find_lab

Model = TypeVar("Model", bound=BaseModel)

FORMS = ("application/x-www-form-urlencoded", "multipart/form-data")
MOST_FIELDS = 20_000
"""Fields of a form: some for each column of a wide table."""
LARGEST_FIELD = 16 * 2**20
"""Bytes of a table that is pasted."""
LONGEST_KEY = 64
"""Letters of the key of a form that the next page names; those of our own forms have 16."""
LARGEST_JSON = 16 * 2**20
bearer = HTTPBearer(auto_error=False, description="The token that `kernelbandits lab` prints.")


# ---------------------------------------------------------------------- pages


def page_visitor(request: Request) -> Visitor:
    """Return the visitor who has a cookie of this server; refuse others."""
    lab = find_lab(request)
    found = lab.access.find_cookie(request.cookies.get(lab.cookie, ""))
    if found is None:
        raise HTTPException(401, "this page needs the link that `kernelbandits lab` prints")
    return found


PageVisitor = Annotated[Visitor, Depends(page_visitor)]


def page_writer(visitor: PageVisitor) -> Visitor:
    if not visitor.may_write:
        raise HTTPException(403, "this link only lets you read")
    return visitor


class SubmittedForm:
    """The fields of a form that was sent."""

    def __init__(self, data: FormData) -> None:
        self._data = data

    def text(self, name: str, default: str = "") -> str:
        """Return the text of a field without blanks around it."""
        found = self._data.get(name, default)
        return found.strip() if isinstance(found, str) else default

    def texts(self, name: str) -> list[str]:
        """Return all texts of a field that comes several times."""
        return [one.strip() for one in self._data.getlist(name) if isinstance(one, str)]

    def all_texts(self) -> dict[str, str]:
        """Return every field as it was typed, to show the form again."""
        return {name: text for name, text in self._data.items() if isinstance(text, str)}

    def raw(self, name: str) -> str:
        """Return the text of a field as it was sent: blanks at the end may be empty cells."""
        found = self._data.get(name, "")
        return found if isinstance(found, str) else ""

    def optional(self, name: str) -> str | None:
        return self.text(name) or None

    def file(self, name: str) -> UploadFile | None:
        found = self._data.get(name)
        return found if isinstance(found, UploadFile) and found.filename else None

    def has(self, name: str) -> bool:
        return name in self._data

    def starting_with(self, prefix: str) -> dict[str, str]:
        """Return the fields whose names begin so, by the rest of their names."""
        return {
            name.removeprefix(prefix): self.text(name)
            for name in self._data
            if name.startswith(prefix)
        }


async def read_form(
    request: Request, visitor: Annotated[Visitor, Depends(page_writer)]
) -> SubmittedForm:
    """Read the form that one of our own pages sent; it has the CSRF field of the visitor."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in FORMS:
        raise HTTPException(415, f"a form needs the content type {FORMS[0]} or {FORMS[1]}")
    data = await request.form(max_files=1, max_fields=MOST_FIELDS, max_part_size=LARGEST_FIELD)
    form = SubmittedForm(data)
    if not find_lab(request).access.is_form_token(visitor, form.text("csrf")):
        raise HTTPException(403, "this form is too old: load the page again")
    request.state.form_key = form.text("key")[:LONGEST_KEY]
    return form


SentForm = Annotated[SubmittedForm, Depends(read_form)]


# ---------------------------------------------------------------------- the API


def api_reader(
    request: Request, shown: Annotated[HTTPAuthorizationCredentials | None, Depends(bearer)]
) -> Visitor:
    """Return the visitor who shows a token of this server; refuse others."""
    found = None if shown is None else find_lab(request).access.find_token(shown.credentials)
    if found is None:
        raise HTTPException(
            401, "the API needs Authorization: Bearer TOKEN", {"WWW-Authenticate": "Bearer"}
        )
    return found


def api_writer(visitor: Annotated[Visitor, Depends(api_reader)]) -> Visitor:
    if not visitor.may_write:
        raise HTTPException(403, "this token only lets you read")
    return visitor


def json_body(model: type[Model]) -> Callable[..., Any]:
    """Return a dependency that reads the body of a request as a value of this model."""

    async def read(request: Request, _: Annotated[Visitor, Depends(api_writer)]) -> Model:
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/json":
            raise HTTPException(415, "the API needs the content type application/json")
        try:
            return model.model_validate(parse_json(await request.body()))
        except ValidationError as error:
            raise RequestValidationError(error.errors()) from None

    return read


def parse_json(body: bytes) -> Any:
    """Read JSON as its standard has it: no NaN, no Infinity, no name twice in an object."""
    if len(body) > LARGEST_JSON:
        raise HTTPException(413, f"the API needs at most {LARGEST_JSON >> 20} MB, got more")

    def refuse(text: str) -> Any:
        raise ValueError(f"JSON has no number {text}")

    def read_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("a name stands twice in an object")
        return found

    try:
        return json.loads(body, parse_constant=refuse, object_pairs_hook=read_object)
    except UnicodeDecodeError:
        raise HTTPException(
            422, "the API needs a JSON document in UTF-8, got other bytes"
        ) from None
    except RecursionError:
        raise HTTPException(422, "the API needs a JSON document that is less deep") from None
    except ValueError as error:
        # Python says how its limit of digits can be changed, which does not concern programs.
        said = str(error).partition("; use sys.")[0][:200]
        raise HTTPException(422, f"the API needs a JSON document, got {said}") from None


def accepts(model: type[BaseModel]) -> dict[str, Any]:
    """Return what the OpenAPI description says of the body that `json_body` reads."""
    schema = {"schema": model.model_json_schema()}
    return {"requestBody": {"required": True, "content": {"application/json": schema}}}
