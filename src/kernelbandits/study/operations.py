"""What can be done with a study: each operation is declared once, with its arguments.

The routes of the REST interface and their messages are built from `OPERATIONS`, and so are the
options of the commands. Where a command or a client is typed by hand, because that is easier to
read, `tests/apps/test_operations.py` compares it with the declaration.

Operations that only read have no arguments to share, and stand where they are: as commands in
`apps/cli/inspect.py`, as routes in `apps/web/api.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from kernelbandits.study.arguments import (
    API,
    COMMAND,
    SECONDS,
    Argument,
    Cell,
    Count,
    Limits,
    Number,
    Positive,
    Remark,
    Row,
    Text,
    Trial,
)
from kernelbandits.study.settings import settings_of

Rows = Annotated[list[dict[str, Cell]], Limits(least=1)]


@dataclass(frozen=True)
class Operation:
    """Something that is done with a study, and writes into it.

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
    description
        What else the page of the REST interface says of it.
    """

    name: str
    method: str
    summary: str
    arguments: tuple[Argument, ...] = ()
    command: tuple[Argument, ...] = ()
    api: tuple[Argument, ...] = ()
    description: str = ""

    @property
    def options(self) -> tuple[Argument, ...]:
        """All that the command takes."""
        return (*self.arguments, *self.command)

    @property
    def fields(self) -> tuple[Argument, ...]:
        """All that the body of a request may have; () if there are no such requests."""
        return (*self.api, *self.arguments)


REASON = Argument("reason", Remark, "A remark for the history.", "")
WORKER = Argument("worker", Text, "The worker who asked for it.")
FAILED = Argument("failed", bool, "The measurement failed: there is no value.", False)
LABEL = Argument("label", Text, "Name of the row, in place of a trial.", metavar="NAME")
NUMBERED = "Number of the trial, as `ask` printed it; none with a label."
TRIAL = Argument("trial", Trial, NUMBERED, option="TRIAL")
WORKSHEET = Argument(
    "worksheet", str, "Sheet of a workbook to read, if several are filled.", metavar="NAME"
)
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
)
"""What the columns of a table are for."""
CREATE = Operation(
    "create",
    "create",
    "Create a study",
    ROLES,
    command=(
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
        *settings_of(API),
    ),
    description="Take the candidates from a table (`csv` or `rows`) or a space. There is no key: "
    "a name can be taken once.",
)
ASK = Operation(
    "ask",
    "ask",
    "Suggest candidates",
    (
        Argument("n", Count, "Number of rows. Default: 1.", 1, option="--n -n"),
        Argument("worker", Text, "Who asks. The same name gets its pending rows again."),
        Argument("lease", Positive, "How long a row stays reserved after ask.", unit=SECONDS),
        Argument(
            "same", list[str], "Column in which the rows have the same value.", metavar="COLUMN"
        ),
    ),
    command=(
        Argument("spread", bool, "Choose rows of the batch that are far apart.", False),
        Argument(
            "sheet", Path, "Sheet to fill in (.xlsx or .csv), or to print (.html).", metavar="FILE"
        ),
        Argument("force", bool, "Replace an existing file.", False),
    ),
    description="Give a worker that asks again under the same name its pending candidates first.",
)
TELL = Operation(
    "tell",
    "tell",
    "Record a result",
    (
        Argument("trial", Trial, "Number that `ask` printed; none with a row.", option="TRIAL"),
        Argument(
            "value",
            Number | list[Number] | dict[str, Number],
            "The result: a number, a list of replicates, or a number for each of several targets.",
        ),
        Argument("row", Row, "Row of the table, counted from 0, instead of a trial."),
        LABEL,
        Argument(
            "x", dict[str, Cell], "The candidate, by the value of each column.", option="--at"
        ),
        FAILED,
        Argument("missing", bool, "There is no value, but the measurement did not fail.", False),
        Argument(
            "sem", Number | dict[str, Number], "Standard error of the value, or of each target's."
        ),
        Argument("note", Remark, "A remark about the measurement.", ""),
        Argument("by", Text, "Who measured it.", metavar="NAME"),
        WORKER,
    ),
    command=(
        Argument("line", Trial, "Line of the file of candidates, instead of a trial."),
        Argument("key", Text, "Name of this result: told again with the same key, it counts once."),
    ),
    description="Refuse a second result for a trial with 409 and the stored value.",
)
TELL_ALL = Operation(
    "tell-all",
    "tell_all",
    "Record many results, all or none",
    (
        Argument("corrected", bool, "Other values in a file replace the stored ones.", False),
        Argument("replicates", bool, "Other values in a file are further measurements.", False),
    ),
    command=(
        Argument(
            "file", Path, "CSV file, workbook or Parquet file with results.", option="--file --csv"
        ),
        Argument("sheet", Path, "Sheet of `ask --sheet` that was filled in.", metavar="FILE"),
        WORKSHEET,
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
    description="Take results that name a trial, a row, or all columns, as a line of a file does.",
)
CORRECT = Operation(
    "correct",
    "correct",
    "Replace the result of a trial",
    (
        Argument("value", Number | dict[str, Number], "The right result, or one of each target."),
        FAILED,
        REASON,
    ),
    command=(
        TRIAL,
        LABEL,
        Argument("sem", Number | dict[str, Number], "Its standard error. Default: as it was."),
    ),
    api=(replace(TRIAL, required=True),),
)
WITHDRAW = Operation(
    "withdraw",
    "withdraw",
    "Let a result no longer count",
    (REASON,),
    command=(TRIAL, LABEL),
    api=(replace(TRIAL, required=True),),
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
)
UNDO = Operation(
    "undo",
    "undo_all",
    "Take back the last steps",
    (
        Argument("n", Count, "Number of commands to undo. Default: 1.", 1, option="--n -n"),
        Argument("event", Trial, "Only if this event (see study history) is of the last command."),
    ),
    description="Answer 409 if others have written since `event`, an event of the step that is "
    "meant.",
)
FORBID = Operation(
    "forbid",
    "forbid",
    "Forbid rows",
    command=(
        Argument("label", list[str], "Name of a row.", metavar="NAME"),
        Argument("row", list[Row], "Row of the table, counted from 0.", metavar="ROW"),
        Argument("line", list[Trial], "Line of the file of candidates.", metavar="LINE"),
        REASON,
    ),
)
ALLOW = replace(FORBID, name="allow", method="allow", summary="Allow rows again")
PERMIT = Operation(
    "permit",
    "forbid",
    "Forbid rows, or allow them again",
    api=(
        Argument("rows", list[Row], "Rows of the table, counted from 0."),
        Argument("labels", list[Text], "Names of rows."),
        Argument("allowed", bool, "Whether they are allowed from now on.", required=True),
        REASON,
    ),
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
)
CHANGE = Operation(
    "change",
    "change",
    "Change settings",
    command=settings_of(COMMAND),
    api=settings_of(API),
    description="Leave the settings that are not named as they are; null takes back what was "
    "given.",
)
OPERATIONS = (
    CREATE,
    ASK,
    TELL,
    TELL_ALL,
    CORRECT,
    WITHDRAW,
    RELEASE,
    UNDO,
    FORBID,
    ALLOW,
    PERMIT,
    ADD,
    CHANGE,
)
"""All that write into a study, in the order in which they are listed."""
