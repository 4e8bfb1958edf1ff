"""The program: one command, and the exit code of what became of it."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from kernelbandits import checks
from kernelbandits.apps.cli import screen
from kernelbandits.apps.cli.output import print_line
from kernelbandits.apps.cli.parsing import App
from kernelbandits.formatting import mask_password

TRACEBACK = "KERNELBANDITS_TRACEBACK"
"""The environment variable that shows the traceback of an unexpected error."""
START = """Choose what to measure next. Begin with one of these:

    kernelbandits study    a study: from candidates to the next measurement, command by command
    kernelbandits lab      the same in a browser; nothing has to be typed here any more
    kernelbandits run      policies compared on problems, your own ones too
    kernelbandits paper    the experiments of the paper that the policies come from

Each of them with --help says more, and kernelbandits --help lists all commands."""
"""What the program says if it is called alone."""
DISTRIBUTIONS = {"sklearn": "scikit-learn", "multipart": "python-multipart"}
"""Packages that pip knows by another name than the one under which they are imported."""
WRONG_CLOCK = (
    "the clock of this computer needs to show a year before 2262, got a later one; set it right"
)


def main(argv: list[str] | None = None) -> None:
    """Run a command, and end the process with its exit code.

    0 done, 1 refused, 2 wrong argument, 70 a mistake in kernelbandits, 74 storage, 130 interrupted,
    143 ended from outside.
    """
    # By default SIGTERM ends a process at once. As an exception it lets workers be stopped and
    # open studies be closed first.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(exit_code(lambda: run_command(argv)))


def run_command(argv: list[str] | None) -> None:
    """Run the command that some words of a command line name."""
    words = sys.argv[1:] if argv is None else argv
    if not words:
        print_line(screen.out(), START)
        return
    refuse_empty_output(words)
    find_app(argv)(argv, standalone_mode=True)


def refuse_empty_output(words: list[str]) -> None:
    """Refuse an --output without a name, which a path would take for the current folder."""
    for word, following in zip(words, [*words[1:], "."], strict=True):
        name = following if word == "--output" else word.removeprefix("--output=")
        if word == "--output" or word.startswith("--output="):
            checks.needs(bool(name.strip()), "--output", "the name of a file or folder", name)


def find_app(argv: list[str] | None) -> App:
    """Return all commands, or only those of studies or of the lab page if one of them is called.

    The other commands import all policies, which takes longer than most commands of a study.
    """
    words = sys.argv[1:] if argv is None else argv
    if words[:1] == ["lab"]:
        from kernelbandits.apps.cli.lab import LAB, lab

        page = App(help="")
        page.callback()(lambda: None)
        page.command("lab", help=LAB)(lab)
        return page
    if words[:1] != ["study"]:
        from kernelbandits.apps.cli.commands import app

        return app
    from kernelbandits.apps.cli.study import app as studies

    root = App(help="")
    root.add_typer(studies, name="study")
    return root


def exit_code(work: Callable[[], Any]) -> int:
    try:
        work()
    except checks.StudyConflict as error:
        return screen.print_error(mask_password(str(error)), 1)
    except ValueError as error:
        return screen.print_error(mask_password(str(error)), 2)
    except OSError as error:
        return screen.print_error(mask_password(str(error)), 74)
    except MemoryError:
        return screen.print_error(
            "this needs more memory than there is; fewer rounds, seeds, workers or rows need less",
            74,
        )
    except ModuleNotFoundError as error:
        return screen.print_error(
            f"{error.name} is needed for this and is not installed; "
            f"pip install {distribution_of(error.name or '')}",
            74,
        )
    except Exception as error:
        if isinstance(error, OverflowError) and "timestamp" in str(error):
            return screen.print_error(WRONG_CLOCK, 74)
        if follows_interrupt(error):
            raise KeyboardInterrupt from error
        return report_mistake(error)
    return 0


def distribution_of(module: str) -> str:
    """Return the name under which pip knows a module.

    >>> distribution_of("sklearn.gaussian_process"), distribution_of("gest_api")
    ('scikit-learn', 'gest-api')
    """
    package = module.partition(".")[0]
    return DISTRIBUTIONS.get(package, package.replace("_", "-"))


def follows_interrupt(error: BaseException) -> bool:
    """Tell whether an error came of an interrupt, for instance of a module imported by halves."""
    before = error.__cause__ or error.__context__
    return before is not None and (
        isinstance(before, KeyboardInterrupt) or follows_interrupt(before)
    )


def report_mistake(error: Exception) -> int:
    """Report an unexpected error in one sentence; it is a mistake in this program."""
    if os.environ.get(TRACEBACK):
        raise error
    what = f"{type(error).__name__}: {mask_password(str(error))}"
    return screen.print_error(
        f"a mistake in kernelbandits itself, please report it ({TRACEBACK}=1 shows where): {what}",
        70,
    )
