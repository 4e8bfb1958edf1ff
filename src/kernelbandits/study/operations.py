"""What can be done with a study: each operation is declared once, with its arguments.

The routes of the REST interface and their messages are built from `OPERATIONS`, the options of the
commands from the arguments that commands take. Where a command or a client is typed by hand,
because that is easier to read, `tests/study/test_operations.py` compares it with the declaration.

Operations that only read have no arguments to share, and stand where they are: as commands in
`apps/cli/inspect.py`, as routes in `apps/web/api.py`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from kernelbandits.study.arguments import (
    API,
    COMMAND,
    NUMBER,
    PAGE,
    REMARK,
    ROW,
    SECONDS,
    TEXT,
    TRIAL,
    Argument,
    Cell,
)
from kernelbandits.study.settings import SETTINGS


@dataclass(frozen=True)
class Operation:
    """Something that is done with a study, and writes into it.

    Parameters
    ----------
    name
        The command, and the last part of the address of a request.
    summary
        What it does, in a few words.
    arguments
        What it takes.
    method
        The method of `Study` that does it.
    description
        What else the page of the REST interface says of it.
    """

    name: str
    summary: str
    arguments: tuple[Argument, ...]
    method: str
    description: str = ""

    def argument(self, name: str) -> Argument:
        """Return one of the arguments."""
        return next(one for one in self.arguments if one.name == name)


REASON = Argument("reason", str, "A remark for the history.", "", **REMARK)
WORKER = Argument("worker", str, "The worker who asked for it.", **TEXT)
FAILED = Argument(
    "failed", bool, "The measurement failed: there is no value.", False, takers=(COMMAND, API, PAGE)
)
FORCE = Argument("force", bool, "Replace an existing file.", False, takers=(COMMAND,))
LABEL = Argument(
    "label", str, "Name of the row, in place of a trial.", metavar="NAME", takers=(COMMAND,)
)
OF_TRIAL = Argument(
    "trial",
    int,
    "Number of the trial, as `ask` printed it; none with a label.",
    **TRIAL,
    option="TRIAL",
    required=(API,),
)
ROLES = (
    Argument(
        "cost",
        str,
        "Column with the cost of measuring each row, above 0. The row with the largest "
        "(index - best estimate) / cost is suggested.",
    ),
    Argument("allowed", str, "Column of yes and no: which rows may be measured."),
    Argument(
        "label",
        str,
        "Column that names the rows, for --label NAME later.",
        metavar="COLUMN",
        takers=(COMMAND,),
    ),
    Argument(
        "log",
        list[str],
        "Column of positive numbers that the model sees by its logarithm.",
        metavar="COLUMN",
    ),
    Argument(
        "linear",
        list[str],
        "Column that the model sees by its values, whatever they span.",
        metavar="COLUMN",
    ),
    Argument(
        "worksheet",
        str,
        "Sheet of a workbook to read, if several are filled.",
        metavar="NAME",
        takers=(COMMAND,),
    ),
)
"""What the columns of a table are for."""
CREATE = Operation(
    "create",
    "Create a study",
    (
        Argument("name", str, "The name of the study.", **TEXT, takers=(API,), required=(API,)),
        Argument(
            "target",
            str,
            'What is measured, also with its direction, as in "haze:minimize".',
            **TEXT,
        ),
        Argument(
            "targets",
            list[Any],
            "In place of `target`, several, or one with a value to be met: each as an object, or "
            'as the commands have it, such as "haze:minimize,range=0..5,weight=2,limit=4".',
            items=(1, 20),
            takers=(API,),
        ),
        Argument(
            "direction",
            str,
            "Of `target`: maximize unless it is given.",
            choices={"maximize": "more is better", "minimize": "less is better"},
        ),
        Argument("csv", str, "A table as the text of a CSV file, with a header.", takers=(API,)),
        Argument(
            "rows",
            list[dict[str, Cell]],
            "A table as a list of objects with the same names.",
            items=(1, None),
            takers=(API,),
        ),
        Argument(
            "space",
            dict[str, Any],
            "Variables and constraints, as `space.to_dict()` writes them or as a space file has "
            "them.",
            takers=(API,),
        ),
        Argument(
            "columns",
            list[str],
            "Columns that describe a candidate. Default: all except the target.",
        ),
        *ROLES,
        *SETTINGS,
    ),
    "create",
    "Take the candidates from a table (`csv` or `rows`) or a space. There is no key: a name can "
    "be taken once.",
)
ASK = Operation(
    "ask",
    "Suggest candidates",
    (
        Argument("n", int, "Number of rows. Default: 1.", 1, least=1, most=1000, option="--n -n"),
        Argument("worker", str, "Who asks. The same name gets its pending rows again.", **TEXT),
        Argument(
            "lease",
            float,
            "How long a row stays reserved after ask.",
            unit=SECONDS,
            above=0,
            most=1e9,
        ),
        Argument(
            "same",
            list[str],
            "Column in which all rows of the batch have the same value.",
            metavar="COLUMN",
        ),
        Argument(
            "spread",
            bool,
            "Choose rows of the batch that are far apart.",
            False,
            takers=(COMMAND,),
        ),
        Argument(
            "sheet",
            Path,
            "Sheet to fill in, FILE.xlsx or FILE.csv, or to print, FILE.html.",
            metavar="FILE",
            takers=(COMMAND,),
        ),
        FORCE,
    ),
    "ask",
    "Give a worker that asks again under the same name its pending candidates first.",
)
TELL = Operation(
    "tell",
    "Record a result",
    (
        Argument(
            "trial",
            int,
            "Number that `ask` printed; leave it out with a row.",
            **TRIAL,
            option="TRIAL",
        ),
        Argument(
            "value",
            float | list[float] | dict[str, float],
            "The result: a number, a list of replicates, or a number for each of several targets.",
            **NUMBER,
            option="--value",
        ),
        Argument("row", int, "Row of the table, counted from 0, instead of a trial.", **ROW),
        Argument("label", str, "Name of the row, in place of a trial.", **TEXT),
        Argument(
            "line",
            int,
            "Line of the file of candidates, as a spreadsheet counts, instead of a trial.",
            least=1,
            takers=(COMMAND,),
        ),
        Argument(
            "x",
            dict[str, Cell],
            "The candidate by its values, one for each column or variable.",
            option="--at",
        ),
        FAILED,
        Argument("missing", bool, "There is no value, but the measurement did not fail.", False),
        Argument(
            "sem",
            float | dict[str, float],
            "Standard error of the value, in its units; one for each of several targets.",
            **NUMBER,
        ),
        Argument("note", str, "A remark about the measurement.", "", **REMARK),
        Argument("by", str, "Who measured it.", **TEXT),
        WORKER,
    ),
    "tell",
    "Refuse a second result for a trial with 409 and the stored value.",
)
TELL_ALL = Operation(
    "tell-all",
    "Record many results, all or none",
    (
        Argument(
            "results",
            list[dict[str, Any]],
            "Results, each with its trial, its row, or all columns.",
            items=(1, 100_000),
            takers=(API,),
            required=(API,),
        ),
        Argument("corrected", bool, "Other values replace the stored ones.", False, takers=(API,)),
        Argument(
            "replicates", bool, "Other values are further measurements.", False, takers=(API,)
        ),
        replace(WORKER, takers=(API,)),
    ),
    "tell_all",
    "Take results that name a trial, a row, or all columns, as a line of a file does.",
)
CORRECT = Operation(
    "correct",
    "Replace the result of a trial",
    (
        OF_TRIAL,
        Argument(
            "value",
            float | dict[str, float],
            "The right result: a number, or one for each of several targets.",
            **NUMBER,
            option="--value",
        ),
        LABEL,
        FAILED,
        Argument(
            "sem",
            float | dict[str, float],
            "Standard error of the value. Default: as it was.",
            takers=(COMMAND,),
        ),
        REASON,
    ),
    "correct",
)
WITHDRAW = Operation(
    "withdraw", "Let a result no longer count", (OF_TRIAL, LABEL, REASON), "withdraw"
)
RELEASE = Operation(
    "release",
    "Give up pending trials",
    (
        Argument(
            "trials",
            list[int],
            "The pending trials.",
            **TRIAL,
            items=(1, 10_000),
            option="TRIAL...",
            required=(API,),
        ),
        Argument(
            "worker",
            str,
            "With --all: only trials that this worker asked for.",
            takers=(COMMAND,),
        ),
    ),
    "release_all",
)
UNDO = Operation(
    "undo",
    "Take back the last steps",
    (
        Argument(
            "n",
            int,
            "Number of commands to undo, the last one first.",
            1,
            least=1,
            most=1000,
            option="--n -n",
        ),
        Argument(
            "event",
            int,
            "Only if this event (see study history) is of the last command.",
            **TRIAL,
        ),
    ),
    "undo_all",
    "Answer 409 if others have written since `event`, an event of the step that is meant.",
)
PERMITTED = (
    Argument(
        "label",
        list[str],
        "Name of a row.",
        metavar="NAME",
        takers=(COMMAND,),
    ),
    Argument(
        "row",
        list[int],
        "Row of the table, counted from 0.",
        metavar="ROW",
        **ROW,
        takers=(COMMAND,),
    ),
    Argument(
        "line",
        list[int],
        "Line of the file of candidates.",
        metavar="LINE",
        least=1,
        takers=(COMMAND,),
    ),
    REASON,
)
"""Rows that a command forbids or allows."""
PERMIT = Operation(
    "permit",
    "Forbid rows, or allow them again",
    (
        Argument("rows", list[int], "Rows of the table, counted from 0.", **ROW, takers=(API,)),
        Argument("labels", list[str], "Names of rows.", **TEXT, takers=(API,)),
        Argument(
            "allowed", bool, "Whether they are allowed from now on.", takers=(API,), required=(API,)
        ),
        replace(REASON, takers=(API,)),
    ),
    "forbid",
)
ADD = Operation(
    "add",
    "Add rows to the table",
    (
        Argument(
            "rows",
            list[dict[str, Cell]],
            "The rows to add, as a list of objects.",
            items=(1, None),
            takers=(API,),
            required=(API,),
        ),
        Argument(
            "candidates",
            Path,
            "File with a header and the new rows.",
            takers=(COMMAND,),
            required=(COMMAND,),
        ),
        Argument(
            "column",
            list[str],
            "New column that describes candidates, with the value of the old rows.",
            metavar="NAME=VALUE",
            takers=(COMMAND,),
        ),
    ),
    "add",
)
CHANGE = Operation(
    "change",
    "Change settings",
    SETTINGS,
    "change",
    "Leave the settings that are not named as they are; null takes back what was given.",
)
OPERATIONS = (
    ASK,
    TELL,
    TELL_ALL,
    CORRECT,
    WITHDRAW,
    RELEASE,
    UNDO,
    PERMIT,
    ADD,
    CHANGE,
)
"""All that write into a study that exists, in the order in which they are listed."""
