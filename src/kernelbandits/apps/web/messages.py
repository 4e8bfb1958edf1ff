"""The bodies of requests of the API, checked by their types. What is missing is null.

They are built from the declared arguments of operations (`study/operations.py`). Typed here are
only the parts of two lists: a result of many, and one of several targets.
"""

from __future__ import annotations

from functools import reduce
from operator import or_
from types import UnionType
from typing import Annotated, Any, Literal, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, create_model

from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.study.arguments import API, Argument, taken_by
from kernelbandits.study.operations import Operation
from kernelbandits.study.settings import Setting

Number = Annotated[float, Field(allow_inf_nan=False, ge=-LARGEST_REWARD, le=LARGEST_REWARD)]
Trial = Annotated[int, Field(ge=1, le=2**53)]
Row = Annotated[int, Field(ge=0, le=2**31)]
Text = Annotated[str, Field(min_length=1, max_length=200)]


class Message(BaseModel):
    """A request: unknown fields are refused, and a text is no number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ResultLine(Message):
    """A result in a list of results."""

    model_config = ConfigDict(extra="allow", strict=True)

    trial: Trial | None = None
    row: Row | None = None
    value: Number | None = None
    failed: bool | None = None
    key: Text | None = None


class TargetRequest(Message):
    """One of several targets, and how desirable its values are: as `Target` in Python has it."""

    name: Text
    direction: Literal["maximize", "minimize", "aim"] = "maximize"
    low: Number | None = None
    high: Number | None = None
    """The range over which the desirability rises or falls; null: that of the results so far."""
    aim: Number | None = None
    """The value to be met."""
    weight: Annotated[float, Field(gt=0, le=1e9, allow_inf_nan=False)] = 1.0
    limit: Number | None = None
    """Beyond it a candidate cannot be used."""


PARTS: dict[str, Any] = {"results": ResultLine, "targets": Text | TargetRequest}
"""The types of the items of two lists."""


def make_message(operation: Operation) -> type[Message]:
    """Return the type of the body of a request: all that the API takes of an operation."""
    name = "".join(part.capitalize() for part in operation.name.split("-"))
    fields: Any = {one.name: make_field(one) for one in taken_by(API, operation.arguments)}
    return create_model(f"{name}Request", __base__=Message, __doc__=operation.summary, **fields)


def make_field(argument: Argument) -> tuple[Any, Any]:
    """Return the type of a field of a message, and its default with what it means."""
    part = PARTS.get(argument.name)
    kind = limit_type(argument.type, argument) if part is None else list[part]  # type: ignore[valid-type]
    if argument.items is not None:
        least, most = argument.items
        kind = Annotated[kind, Field(min_length=least, max_length=most)]
    # A setting that is not given stays as it is: its default is that of a new study.
    default = None if isinstance(argument, Setting) else argument.default
    if API in argument.required:
        return kind, Field(description=argument.description)
    kind = kind | None if default is None else kind
    return kind, Field(default, description=argument.description)


def limit_type(kind: Any, argument: Argument) -> Any:
    """Return a type with the limits of an argument for each number and each text in it."""
    parts = get_args(kind)
    if get_origin(kind) is UnionType:
        return reduce(or_, [limit_type(part, argument) for part in parts])
    if get_origin(kind) is list:
        return list[limit_type(parts[0], argument)]  # type: ignore[misc]
    if get_origin(kind) is dict:
        return dict[str, limit_type(parts[1], argument)]  # type: ignore[misc]
    if argument.choices:
        return Literal[tuple(argument.choices)]
    if kind is str and argument.longest is not None:
        return Annotated[str, Field(min_length=argument.shortest, max_length=argument.longest)]
    if kind not in (int, float) or argument.most is None:
        return kind
    limits = {"ge": argument.least, "gt": argument.above, "le": argument.most}
    finite = {"allow_inf_nan": False} if kind is float else {}
    given: Any = {name: limit for name, limit in limits.items() if limit is not None} | finite
    return Annotated[kind, Field(**given)]
