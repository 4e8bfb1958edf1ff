"""The bodies of requests of the API, checked by their types, and the schemas of its answers.

What is missing is null. Bodies are built from the declared arguments of operations
(`study/operations.py`). Typed here are only the parts of two lists: a result of many, and one of
several targets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import is_dataclass
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import BaseModel, ConfigDict, Field, create_model

from kernelbandits import study
from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.study.arguments import Argument, Limits, split_type
from kernelbandits.study.operations import Operation
from kernelbandits.study.settings import Setting
from kernelbandits.study.values import LazyText

Number = Annotated[float, Field(allow_inf_nan=False, ge=-LARGEST_REWARD, le=LARGEST_REWARD)]
Text = Annotated[str, Field(min_length=1, max_length=200)]


class Message(BaseModel):
    """A request: unknown fields are refused, and a text is no number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResultLine(Message):
    """A result in a list of results."""

    model_config = ConfigDict(extra="allow", strict=True)

    trial: Annotated[int, Field(ge=1, le=2**53)] | None = None
    row: Annotated[int, Field(ge=0, le=2**31)] | Text | None = None
    value: Number | Text | None = None
    failed: bool | None = None
    key: Text | None = None


class TargetRequest(Message):
    """One of several targets, and how desirable its values are: as `Target` in Python has it."""

    name: Text
    direction: Literal["maximize", "minimize", "aim", "within"] = "maximize"
    low: Number | None = None
    high: Number | None = None
    """The range over which the desirability rises or falls; null: that of the results so far. Of
    "within" the least and the greatest value allowed, one of which may be null."""
    aim: Number | None = None
    """The value to be met."""
    weight: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] = 1.0
    limit: Number | None = None
    """Beyond it a candidate cannot be used."""


PARTS: dict[str, Any] = {
    "results": Annotated[list[ResultLine], Field(min_length=1, max_length=100_000)],
    "targets": Annotated[list[Text | TargetRequest], Field(min_length=1, max_length=20)],
}
"""The types of two lists."""


def make_message(operation: Operation) -> type[Message]:
    """Return the type of the body of a request: all that the API takes of an operation."""
    name = "".join(part.capitalize() for part in operation.name.split("-"))
    fields: Any = {one.name: make_field(one) for one in operation.fields}
    return create_model(f"{name}Request", __base__=Message, __doc__=operation.body, **fields)


def make_field(argument: Argument) -> tuple[Any, Any]:
    """Return the type of a field of a message, and its default with what it means."""
    kind = PARTS.get(argument.name) or limit_type(argument.type)
    if argument.choices:
        kind = Literal[tuple(argument.choices)]
    if argument.required:
        return kind, Field(description=argument.description)
    # A setting that is not given stays as it is: its default is that of a new study.
    default = None if isinstance(argument, Setting) else argument.default
    kind = kind | None if default is None else kind
    return kind, Field(default, description=argument.description)


def limit_type(declared: Any) -> Any:
    """Return a type whose limits, and those of its parts, are fields of pydantic."""
    bare, limits = split_type(declared)
    parts = [limit_type(part) for part in get_args(bare)]
    if get_origin(bare) in (Union, UnionType):
        bare = reduce(or_, parts)
    elif parts:
        bare = get_origin(bare)[tuple(parts)]
    if limits == Limits():
        return bare
    if get_origin(bare) is list or bare is str:
        given: Any = {"min_length": limits.least, "max_length": limits.most}
    else:
        given = {"ge": limits.least, "gt": limits.above, "le": limits.most}
        given |= {"allow_inf_nan": False} if bare is float else {}
    return Annotated[bare, Field(**given)]


# ---------------------------------------------------------------------- answers

NAMES = {str: "string", bool: "boolean", int: "integer", float: "number", NoneType: "null"}
"""What JSON Schema calls the simple types."""


def describe_answer(answer: Any) -> dict[str, Any]:
    """Return the schema of an answer as `codec.to_json_value` writes it: objects by their fields.

    >>> describe_answer(list[int] | None)
    {'anyOf': [{'type': 'array', 'items': {'type': 'integer'}}, {'type': 'null'}]}
    """
    made = getattr(study, answer) if isinstance(answer, str) else answer
    bare, parts = get_origin(made) or made, get_args(made)
    if bare in (Union, UnionType):
        return {"anyOf": [describe_answer(part) for part in parts]}
    if is_dataclass(bare) or is_typeddict(bare):
        return describe_object(bare)
    if bare in NAMES:
        # Numbers that JSON lacks, such as an infinite count, are null.
        return {"type": ["number", "null"] if bare is float else NAMES[bare]}
    if isinstance(bare, type) and issubclass(bare, Mapping):
        return {"type": "object", "additionalProperties": describe_answer(parts[-1])}
    if isinstance(bare, type) and issubclass(bare, Sequence):
        return {"type": "array", "items": describe_answer(parts[0])}
    return {"type": "string"} if bare is LazyText else {}


def describe_object(made: Any) -> dict[str, Any]:
    """Return the schema of a dataclass or a typed dictionary; all its fields are there."""
    hints = get_type_hints(made)
    properties = {name: describe_answer(one) for name, one in hints.items()}
    required = sorted(made.__required_keys__ if is_typeddict(made) else hints)
    meaning = " ".join((made.__doc__ or "").partition("\n\n")[0].split())
    return {
        "type": "object",
        "title": made.__name__,
        "description": meaning,
        "properties": properties,
        "required": required,
    }
