"""What can be done with a study: each operation is declared once, with its arguments.

The routes of the REST interface, their messages and answers are built from `OPERATIONS`, and so are
the list of commands, their options, and the fields of the forms. Where a command or a client is
typed by hand, because that is easier to read, `tests/apps/test_operations.py` compares it with the
declaration.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, TypedDict

from kernelbandits.storage import Event
from kernelbandits.study.arguments import (
    API,
    COMMAND,
    SECONDS,
    Argument,
    Cell,
    Count,
    Limits,
    NamedRow,
    Number,
    Positive,
    Remark,
    Row,
    Text,
    Trial,
)
from kernelbandits.study.settings import settings_of
from kernelbandits.study.values import Explained, RowComparison, Status, Suggestion, Told

READ, WRITE = "read", "write"
"""Who may do it: everybody with access, or who may write."""
Rows = Annotated[list[dict[str, Cell]], Limits(least=1)]


class NewStudy(TypedDict):
    """A study that was created."""

    name: str
    notices: list[str]


class EstimateTable(TypedDict):
    """The estimates of all candidates, and why to take them with care; "" if not."""

    estimates: list[dict[str, Any]]
    caution: str


class PlaceDocument(TypedDict, total=False):
    """The columns that describe a candidate, those that name it, all cells, and the descriptors of
    values by column; or a space."""

    columns: list[str]
    labels: list[str]
    table: dict[str, list[Any]]
    describe: dict[str, Any]
    space: dict[str, Any]


@dataclass(frozen=True)
class Operation:
    """Something that is done with a study, or asked of it.

    Parameters
    ----------
    name
        The command, and the last part of the address of a request.
    method
        The method of `Study` that does it.
    summary
        What it does, in a few words.
    arguments
        What commands and requests both take.
    command, api
        What only commands take, and only requests.
    role
        Who may do it: READ or WRITE.
    answer
        The type of the answer. A text names a class of `kernelbandits.study`, whose module commands
        need not import.
    description
        What else the page of the REST interface says of it.
    body
        What a request says, as a sentence.
    path
        The end of the address of a request, if that is not the name.
    commands
        The commands that do it, if that is not one with its name.
    """

    name: str
    method: str
    summary: str
    arguments: tuple[Argument, ...] = ()
    command: tuple[Argument, ...] = ()
    api: tuple[Argument, ...] = ()
    role: str = WRITE
    answer: Any = Event
    description: str = ""
    body: str = ""
    path: str | None = None
    commands: tuple[str, ...] | None = None

    @property
    def options(self) -> tuple[Argument, ...]:
        """All that the command takes."""
        return (*self.arguments, *self.command)

    @property
    def fields(self) -> tuple[Argument, ...]:
        """All that the body of a request may have."""
        return (*self.api, *self.arguments)

    @property
    def address(self) -> str:
        """The end of the address of a request."""
        return f"/{self.name}" if self.path is None else self.path

    @property
    def command_names(self) -> tuple[str, ...]:
        """The commands that do it."""
        return (self.name,) if self.commands is None else self.commands


REASON = Argument("reason", Remark, "A remark for the history.", "", label="Reason")
WORKER = Argument("worker", Text, "The worker who asked for it.", label="Worker")
FAILED = Argument(
    "failed", bool, "The measurement failed: there is no value.", False, label="Failed"
)
LABEL = Argument("label", Text, "Name of the row, in place of a trial.", metavar="NAME")
NUMBERED = "Number of the trial, as `ask` printed it; none with a label."
TRIAL = Argument("trial", Trial, NUMBERED, option="TRIAL", label="Trial")
WORKSHEET = Argument(
    "worksheet", str, "Sheet of a workbook to read, if several are filled.", metavar="NAME"
)
READING = (
    Argument("header_row", Trial, "Row of the file with the names of the columns.", metavar="N"),
    Argument(
        "cells",
        dict[str, str],
        "What to read in place of a cell of the file, such as B7=0.5.",
        option="--cell",
        metavar="CELL=TEXT",
    ),
)
"""How a file of cells is read, where that is not found in it."""
ROLES = (
    Argument(
        "cost",
        str,
        "Column with the cost of measuring each row, above 0. The row with the largest "
        "(index - best estimate) / cost is suggested.",
    ),
    Argument("allowed", str, "Column of yes and no: which rows may be measured."),
    Argument("log", list[str], "Column that the model sees by its logarithms.", metavar="COLUMN"),
    Argument("linear", list[str], "Column that the model sees by its values.", metavar="COLUMN"),
    Argument("not_used", list[str], "Column that describes no candidate.", metavar="COLUMN"),
    Argument(
        "feature",
        list[str],
        "Column that describes the candidates, though it looks like a result or a remark.",
        metavar="COLUMN",
    ),
)
"""What the columns of a table are for."""
DESCRIBE = Argument(
    "describe",
    dict[str, Any],
    "Descriptors of the values of a column of text, by which the model compares them: a table with "
    "a column of the values, and columns of numbers or text. Values that it lacks are compared by "
    "name.",
    metavar="COLUMN=FILE",
)
CREATE = Operation(
    "create",
    "create",
    "Create a study",
    (*ROLES, *READING),
    command=(
        DESCRIBE,
        Argument("label", str, "Column that names the rows, for --label NAME.", metavar="COLUMN"),
        WORKSHEET,
        *settings_of(COMMAND),
    ),
    api=(
        Argument("name", Text, "The name of the study.", required=True),
        Argument("target", Text, 'What is measured, and its direction: "haze:minimize".'),
        Argument(
            "targets",
            Annotated[list[Any], Limits(1, 20)],
            "In place of `target`, several, or one with a value to be met: each as an object, or "
            'as the commands have it, such as "haze:minimize,range=0..5,weight=2,limit=4".',
        ),
        Argument(
            "direction",
            str,
            "Of `target`: maximize unless it is given.",
            choices={"maximize": "more is better", "minimize": "less is better"},
        ),
        Argument("csv", str, "A table as the text of a CSV file, with a header."),
        Argument("rows", Rows, "A table as a list of objects with the same names."),
        Argument(
            "space",
            dict[str, Any],
            "Variables and constraints, as a space file has them or `space.to_dict()` writes them.",
        ),
        Argument("columns", list[str], "Columns that describe a candidate. Default: all others."),
        replace(
            DESCRIBE,
            type=dict[str, str | Rows],
            help=f"{DESCRIBE.help} For each column, as the text of a CSV file or as a list of "
            "objects.",
        ),
        Argument(
            "results",
            list[Any],
            "Results that are known already, as `tell` takes a list of them: all are stored with "
            "the study, or nothing is created.",
        ),
        *settings_of(API),
    ),
    answer=NewStudy,
    description="Take the candidates from a table (`csv` or `rows`) or a space. There is no key: "
    "a name can be taken once.",
    body="A new study: a table as CSV text or as a list of rows, or a space.",
)
ASK = Operation(
    "ask",
    "ask",
    "Suggest candidates",
    (
        Argument(
            "n",
            Count,
            "Number of rows. Default: 1.",
            1,
            option="--n -n",
            label="how many candidates",
        ),
        Argument(
            "worker", Text, "Who asks. The same name gets its pending rows again.", label="Worker"
        ),
        Argument("lease", Positive, "How long a row stays reserved after ask.", unit=SECONDS),
        Argument(
            "same",
            list[str],
            "Column in which the rows have the same value.",
            metavar="COLUMN",
            label="of the same",
        ),
    ),
    command=(
        Argument("spread", bool, "Choose rows of the batch that are far apart.", False),
        Argument(
            "sheet", Path, "Sheet to fill in (.xlsx or .csv), or to print (.html).", metavar="FILE"
        ),
        Argument("force", bool, "Replace an existing file.", False),
    ),
    answer=list[Suggestion],
    description="Give a worker that asks again under the same name its pending candidates first.",
    body="How many candidates to suggest, for whom and for how long.",
)
TELL = Operation(
    "tell",
    "tell",
    "Record a result",
    (
        replace(TRIAL, help="Number that `ask` printed; none with a row."),
        Argument(
            "value",
            Number | Text | list[Number | Text] | dict[str, Number | Text],
            "The result: a number, a list of replicates, or a number for each of several targets. "
            'A result of which only a limit is known is the text "<0.5", ">99" or "n.d.".',
            metavar="[NAME=]NUMBER",
        ),
        Argument(
            "row",
            NamedRow,
            "Row of the table, instead of a trial: its name, such as A7, or its number, counted "
            "from 0.",
            metavar="ROW",
            label="Sample",
        ),
        LABEL,
        Argument(
            "x",
            dict[str, Cell],
            "The candidate, by the value of each column or variable. With a trial: what was really "
            "set, where that is not what was asked for.",
            option="--at",
            metavar="NAME=VALUE",
        ),
        FAILED,
        Argument(
            "missing",
            bool,
            "There is no value, but the measurement did not fail.",
            False,
            label="No value (sample lost)",
        ),
        Argument(
            "sem",
            Number | dict[str, Number],
            "Standard error of the value, or of each target's.",
            metavar="[NAME=]NUMBER",
            label="Standard error",
        ),
        Argument("note", Remark, "A remark about the measurement.", "", label="Note"),
        Argument("by", Text, "Who measured it.", metavar="NAME", label="Who"),
        WORKER,
    ),
    command=(
        Argument(
            "line",
            Trial,
            "Line of the file of candidates, as a spreadsheet counts, instead of a trial.",
            metavar="LINE",
        ),
        Argument("key", Text, "Name of this result: told again with the same key, it counts once."),
    ),
    answer=Told,
    description="Refuse a second result for a trial with 409 and the stored value.",
    body="A result: of a trial, a row, a label or a point x; a value, or that there is none.",
)
TELL_ALL = Operation(
    "tell-all",
    "tell_all",
    "Record many results, all or none",
    (
        Argument(
            "corrected", bool, "In a file or list: other values replace the stored ones.", False
        ),
        Argument(
            "replicates", bool, "In a file or list: other values are further measurements.", False
        ),
    ),
    command=(
        Argument(
            "file", Path, "CSV file, workbook or Parquet file with results.", option="--file --csv"
        ),
        Argument("sheet", Path, "Sheet of `ask --sheet` that was filled in.", metavar="FILE"),
        WORKSHEET,
        *READING,
        Argument(
            "off_table", bool, "Learn candidates of a file that are no rows as points.", False
        ),
    ),
    api=(
        Argument(
            "results",
            Annotated[list[Any], Limits(1, 100_000)],
            "Results, each with its trial, its row, or all columns.",
            required=True,
        ),
        WORKER,
    ),
    answer=list[Told],
    description="Take results that name a trial, a row, or all columns, as a line of a file does.",
    body="Many results, of which all are stored or none.",
    commands=(),
)
CORRECT = Operation(
    "correct",
    "correct",
    "Replace the result of a trial",
    (
        Argument(
            "value",
            Number | Text | dict[str, Number | Text],
            "The right result, or one of each target.",
            metavar="NAME=NUMBER",
        ),
        FAILED,
        REASON,
    ),
    command=(
        TRIAL,
        LABEL,
        Argument(
            "sem",
            Number | dict[str, Number],
            "Its standard error, or of each target's. Default: as it was.",
            metavar="[NAME=]NUMBER",
        ),
    ),
    api=(replace(TRIAL, required=True),),
    body="The right result of a trial.",
)
WITHDRAW = Operation(
    "withdraw",
    "withdraw",
    "Let a result no longer count",
    (REASON,),
    command=(TRIAL, LABEL),
    api=(replace(TRIAL, required=True),),
    body="The trial whose result no longer counts.",
)
RELEASE = Operation(
    "release",
    "release_all",
    "Give up pending trials",
    command=(Argument("worker", Text, "With --all: only trials that this worker asked for."),),
    api=(
        Argument(
            "trials", Annotated[list[Trial], Limits(1, 10_000)], "Their numbers.", required=True
        ),
    ),
    answer=list[Event],
    body="The pending trials to give up.",
)
UNDO = Operation(
    "undo",
    "undo_all",
    "Take back the last steps",
    (
        Argument("n", Count, "Number of commands to undo. Default: 1.", 1, option="--n -n"),
        Argument(
            "event",
            Trial,
            "Only if this event (see study history) is of the last command.",
            label="Step",
        ),
    ),
    answer=list[Event],
    description="Answer 409 if others have written since `event`, an event of the step that is "
    "meant.",
    body="How many of the last steps to take back.",
)
PERMIT = Operation(
    "permit",
    "forbid",
    "Forbid rows, or allow them again",
    (REASON,),
    command=(
        Argument("label", list[str], "Name of a row.", metavar="NAME"),
        Argument(
            "row",
            list[NamedRow],
            "Row of the table: its name or number, as in tell.",
            metavar="ROW",
        ),
        Argument("line", list[Trial], "Line of the file of candidates.", metavar="LINE"),
    ),
    api=(
        Argument(
            "rows",
            list[NamedRow],
            "Rows of the table: their names, or their numbers, counted from 0.",
            label="Samples",
        ),
        Argument("labels", list[Text], "Names of rows."),
        Argument("allowed", bool, "Whether they are allowed from now on.", required=True),
    ),
    body="Rows to forbid or to allow, by their numbers or labels.",
    commands=("forbid", "allow"),
)
ADD = Operation(
    "add",
    "add",
    "Add rows to the table",
    command=(
        Argument("candidates", Path, "File with a header and the new rows.", required=True),
        Argument(
            "column",
            list[str],
            "New column that describes candidates, with the value of the old rows.",
            metavar="NAME=VALUE",
        ),
    ),
    api=(Argument("rows", Rows, "The rows, as a list of objects.", required=True),),
    body="Rows to add to the table, as a list of objects.",
)
CHANGE = Operation(
    "change",
    "change",
    "Change settings, or ranges of a space",
    command=settings_of(COMMAND),
    api=(
        *settings_of(API),
        Argument(
            "ranges",
            dict[str, list[Number]],
            "Other ends [low, high] of ranges of a space, by name, without other settings.",
        ),
    ),
    description="Leave the settings that are not named as they are; null takes back what was "
    "given.",
    body="The settings to change; null takes back what was given. Or ranges of a space.",
)
STATUS = Operation(
    "status",
    "status",
    "Status: results, the likely best, may I stop?",
    role=READ,
    answer=Status,
    path="",
)
CANDIDATES = Operation(
    "candidates",
    "candidates",
    "The table of candidates, or the space",
    role=READ,
    answer=PlaceDocument,
    commands=(),
)
ESTIMATES = Operation(
    "estimates", "estimates", "The estimate of each candidate", role=READ, answer=EstimateTable
)
TRIALS = Operation(
    "trials", "to_dataframe", "All trials", role=READ, answer=list[dict[str, Any]], commands=()
)
CHECK = Operation("check", "check", "Can the model be trusted?", role=READ, answer="Check")
EXPLAIN = Operation(
    "explain",
    "explain",
    "Why a candidate was suggested",
    command=(TRIAL, LABEL),
    api=(
        replace(
            TRIAL,
            type=Trial | Text,
            help="Number of the trial, or the name of a row that was suggested once.",
            required=True,
        ),
    ),
    role=READ,
    answer=Explained,
    path="/trials/{trial}/why",
)
COMPARE = Operation(
    "compare",
    "compare",
    "Why not this one? A row beside the likely best",
    (
        Argument(
            "row",
            NamedRow,
            "Row of the table: its name, such as A7, or its number, counted from 0.",
            required=True,
            option="ROW",
        ),
    ),
    role=READ,
    answer=RowComparison,
    path="/candidates/{row}/why-not",
)
HISTORY = Operation(
    "history",
    "history",
    "What happened, in order",
    api=(Argument("after", Row, "Only events after this number.", 0),),
    role=READ,
    answer=list[Event],
    path="/events",
)
OPERATIONS = (
    CREATE,
    ASK,
    TELL,
    TELL_ALL,
    STATUS,
    CANDIDATES,
    ESTIMATES,
    TRIALS,
    CHECK,
    EXPLAIN,
    COMPARE,
    HISTORY,
    CORRECT,
    WITHDRAW,
    RELEASE,
    UNDO,
    ADD,
    PERMIT,
    CHANGE,
)
"""All, in the order in which commands are listed."""
