"""The bodies of requests of the API, checked by their types. What is missing is null."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e150, le=1e150)]
Trial = Annotated[int, Field(ge=1, le=2**53)]
Row = Annotated[int, Field(ge=0, le=2**31)]
Text = Annotated[str, Field(min_length=1, max_length=200)]
Cell = str | int | float | bool | None


class Message(BaseModel):
    """A request: unknown fields are refused, and a text is no number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class AskRequest(Message):
    """The number of candidates to suggest, for whom and for how long."""

    n: Annotated[int, Field(ge=1, le=1000)] = 1
    worker: Text | None = None
    lease: Annotated[float, Field(gt=0, le=1e9)] | None = None
    """Seconds for which the candidates stay reserved."""
    same: list[str] | None = None
    """Columns in which all candidates have the same value."""


class TellRequest(Message):
    """A result: of a trial, a row, a label or a point x; a value, or that there is none.

    The value is a number, a list of replicates, or a number for each of several targets.
    """

    trial: Trial | None = None
    row: Row | None = None
    label: Text | None = None
    x: dict[str, Cell] | None = None
    value: Number | list[Number] | dict[str, Number] | None = None
    failed: bool = False
    missing: bool = False
    sem: Number | dict[str, Number] | None = None
    note: Annotated[str, Field(max_length=200)] = ""
    by: Text | None = None
    worker: Text | None = None


class ResultLine(Message):
    """A result in a list of results."""

    model_config = ConfigDict(extra="allow", strict=True)

    trial: Trial | None = None
    row: Row | None = None
    value: Number | None = None
    failed: bool | None = None
    key: Text | None = None


class TellAllRequest(Message):
    """Many results, of which all are stored or none."""

    results: Annotated[list[ResultLine], Field(min_length=1, max_length=100_000)]
    corrected: bool = False
    replicates: bool = False
    worker: Text | None = None


class CorrectRequest(Message):
    """The right result of a trial."""

    trial: Trial
    value: Number | dict[str, Number] | None = None
    failed: bool = False
    reason: Annotated[str, Field(max_length=200)] = ""


class WithdrawRequest(Message):
    """The trial whose result no longer counts."""

    trial: Trial
    reason: Annotated[str, Field(max_length=200)] = ""


class ReleaseRequest(Message):
    """The pending trials to give up."""

    trials: Annotated[list[Trial], Field(min_length=1, max_length=10_000)]


class UndoRequest(Message):
    """The number of last steps to take back."""

    n: Annotated[int, Field(ge=1, le=1000)] = 1
    event: Annotated[int, Field(ge=1, le=2**53)] | None = None
    """An event of the step that is meant: if it is not the last one, nothing is undone."""


class ChangeRequest(Message):
    """The settings to change; null takes back what was given."""

    tolerance: Number | None = None
    goal: Literal["find", "earn"] | None = None
    noise: Number | None = None
    rounds: Annotated[int, Field(ge=1, le=10**9)] | None = None
    lease: Annotated[float, Field(gt=0, le=1e9)] | None = None


class PermitRequest(Message):
    """Rows to forbid or to allow, by their numbers or labels."""

    rows: list[Row] | None = None
    labels: list[Text] | None = None
    allowed: bool
    reason: Annotated[str, Field(max_length=200)] = ""


class AddRequest(Message):
    """Rows to add to the table, as a list of objects."""

    rows: Annotated[list[dict[str, Cell]], Field(min_length=1)]


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


class CreateRequest(Message):
    """A new study: a table as CSV text or as a list of rows, or a space."""

    name: Text
    target: Text | None = None
    """What is measured, also with its direction, as in "haze:minimize"."""
    targets: Annotated[list[Text | TargetRequest], Field(min_length=1, max_length=20)] | None = None
    """In place of `target`, several, or one with a value to be met: each as an object, or as the
    commands have it, such as "haze:minimize,range=0..5,weight=2,limit=4"."""
    direction: Literal["maximize", "minimize"] | None = None
    """Of `target`: maximize unless it is given."""
    csv: Annotated[str, Field(min_length=1)] | None = None
    """A table as the text of a CSV file, with a header."""
    rows: Annotated[list[dict[str, Cell]], Field(min_length=1)] | None = None
    """A table as a list of objects with the same names."""
    space: dict[str, Any] | None = None
    """Variables and constraints, as `space.to_dict()` writes them or as a space file has them."""
    columns: list[str] | None = None
    cost: str | None = None
    allowed: str | None = None
    log: list[str] | None = None
    linear: list[str] | None = None
    goal: Literal["find", "earn"] | None = None
    noise: Number | None = None
    rounds: Annotated[int, Field(ge=1, le=10**9)] | None = None
    tolerance: Number | None = None
    seed: Annotated[int, Field(ge=0, le=2**62)] | None = None
