"""Commands whose mistakes in arguments are answered by one plain sentence and exit code 2.

The argument parser is click, which newer releases of typer carry inside: its exceptions are taken
from wherever typer has them.
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from enum import Enum
from importlib import import_module
from os.path import exists
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import typer
from typer.core import TyperCommand, TyperGroup

from kernelbandits.apps.cli import screen
from kernelbandits.formatting import did_you_mean
from kernelbandits.tables.cells import parse_typed

exceptions: Any = import_module(typer.BadParameter.__module__)
HelpPrinted: Any = getattr(exceptions, "NoArgsIsHelpError", ())
"""Raised by newer parsers when a command without arguments prints its help: no mistake."""


OPTION, NUMBERS = re.compile("--?[A-Za-z]"), ("-inf", "-infinity", "-nan")
"""What is spelt like an option, and what is a number for all that."""


class App(typer.Typer):
    """A group of commands that explain a wrong argument in one sentence.

    Examples
    --------
    >>> app = App(help="Two commands.")
    >>> _ = app.command("ask")(lambda: None)
    """

    def __init__(self, *, help: str) -> None:
        super().__init__(
            cls=CommandGroup,
            help=help,
            rich_markup_mode="markdown",
            no_args_is_help=True,
            pretty_exceptions_enable=False,
            add_completion=False,
        )

    def command(self, name: str | None = None, **more: Any) -> Callable[..., Any]:
        return super().command(name, **{"cls": Command, **more})


class Command(TyperCommand):
    """A command that takes arguments and options; numbers may have a decimal comma."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with explain_mistakes(ctx):
            # The parser's own sentence about arguments that are left over is replaced below.
            allowed, ctx.allow_extra_args = ctx.allow_extra_args, True
            left: list[str] = super().parse_args(ctx, write_points(self, args))
            refuse_options(ctx, left)
            if left and not allowed:
                said = f"{spell_command(ctx)} takes no more arguments, got {' '.join(left)}"
                if any(param.name == "candidates" for param in self.params) and exists(left[0]):
                    said += "; if that is the table of candidates, write --candidates before it"
                raise exceptions.UsageError(said)
            return left


def write_points(command: Any, args: Sequence[str]) -> list[str]:
    """Return the words of a command with decimal points in the numbers of its options."""
    hints = get_type_hints(inspect.unwrap(command.callback))
    numbers = [
        one
        for one in command.params
        if float in (hints.get(one.name), *get_args(hints.get(one.name)))
    ]
    names = {name for one in numbers for name in names_of(one) if name.startswith("-")}
    written, before = list[str](), ""
    for word in args:
        name, equals, value = word.partition("=") if before not in names else ("", "", word)
        if not name or name in names:
            number = parse_typed(value)
            value = value if math.isnan(number) else repr(number)
        written.append(f"{name}{equals}{value}")
        before = word
    return written


class CommandGroup(TyperGroup):
    """A command that has commands of its own."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        with explain_mistakes(ctx):
            parsed: list[str] = super().parse_args(ctx, args)
            return parsed

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        with explain_mistakes(ctx):
            known = self.list_commands(ctx)
            if args[0] not in known:
                suggestion = did_you_mean(args[0], known, quote="")
                raise exceptions.UsageError(
                    f"{spell_command(ctx)} has no command {args[0]}.{suggestion} "
                    f"Its commands are {', '.join(known)}"
                )
            return super().resolve_command(ctx, args)


def refuse_options(ctx: Any, left: Sequence[str]) -> None:
    """Refuse an option that does not exist where the parser takes it for an argument.

    Commands that take negative numbers as arguments let the parser pass what it does not know.
    """
    taken = [ctx.params.get(one.name) for one in ctx.command.params if one.opts[0][0] != "-"]
    lists = [one if isinstance(one, (list, tuple)) else [one] for one in taken]
    for word in [word for words in lists for word in words] + [*left]:
        if isinstance(word, str) and OPTION.match(word) and word.lower() not in NUMBERS:
            raise exceptions.NoSuchOption(word.partition("=")[0], ctx=ctx)


@contextmanager
def explain_mistakes(ctx: Any) -> Iterator[None]:
    """Print what is wrong with the arguments as one sentence, and end with exit code 2."""
    from kernelbandits.formatting import mask_password

    try:
        yield
    except HelpPrinted:
        raise
    except exceptions.UsageError as error:
        asked = " ".join(["kernelbandits", *command_names(ctx), "--help"])
        sentence = f"{explain(error, ctx)} (see {asked})"
        raise typer.Exit(screen.print_error(mask_password(sentence), 2)) from None


def explain(error: Any, ctx: Any) -> str:
    """Return one sentence about a mistake in the arguments, without a full stop."""
    if isinstance(error, exceptions.NoSuchOption):
        known = [option for parameter in ctx.command.params for option in names_of(parameter)]
        suggestion = did_you_mean(error.option_name, known, quote="")
        return f"{spell_command(ctx)} has no option {error.option_name}.{suggestion}".rstrip(".")
    if isinstance(error, exceptions.MissingParameter):
        return f"{spell_command(ctx)} needs {name_of(error.param)}, got none"
    if isinstance(error, exceptions.BadParameter) and error.param is not None:
        needed = needed_value(ctx.command, error.param)
        return f"{name_of(error.param)} needs {needed}, got {given_value(error)}"
    if isinstance(error, exceptions.BadOptionUsage):
        takes_value = not any(
            getattr(parameter, "is_flag", False)
            for parameter in ctx.command.params
            if error.option_name in names_of(parameter)
        )
        wrong = "a value, got none" if takes_value else "no value, got one"
        return f"{error.option_name} needs {wrong}"
    return str(error.format_message()).rstrip(".")


def spell_command(ctx: Any) -> str:
    """Return the command as it was typed, without the name of the program: study ask."""
    return " ".join(command_names(ctx)) or "kernelbandits"


def command_names(ctx: Any) -> list[str]:
    return [*command_names(ctx.parent), str(ctx.info_name)] if ctx.parent else []


def names_of(parameter: Any) -> list[str]:
    """Return all spellings of an option, such as --map and --no-map."""
    return [*parameter.opts, *parameter.secondary_opts]


def name_of(parameter: Any) -> str:
    """Return the name of an option, --horizon, or of an argument as in the help, PLACE."""
    if parameter.param_type_name == "option":
        return str(parameter.opts[0])
    return str(parameter.metavar or parameter.name).strip("[]").upper()


def needed_value(command: Any, parameter: Any) -> str:
    """Say what an option or argument takes, by the annotation of the command's function."""
    function = inspect.unwrap(command.callback)
    annotation = get_type_hints(function, include_extras=True).get(parameter.name, str)
    limits: Any = None
    if get_origin(annotation) is Annotated:
        annotation, limits = get_args(annotation)[:2]
    kinds = [kind for kind in (*get_args(annotation), annotation) if isinstance(kind, type)]
    kind = next((kind for kind in kinds if kind is not type(None)), str)
    if issubclass(kind, Enum):
        return f"one of {', '.join(str(member.value) for member in kind)}"
    number = {int: "a whole number", float: "a number"}.get(kind, "another value")
    least, most = getattr(limits, "min", None), getattr(limits, "max", None)
    if least is None and most is None:
        return number
    return f"{number} " + (f"from {least} on" if most is None else f"from {least} to {most}")


def given_value(error: Any) -> str:
    """Return what was given: newer parsers keep it in the cause of the error, older in its text."""
    details: Any = getattr(error.__cause__, "errors", list)()
    return repr(details[0]["input"]) if details else str(error.message).rstrip(".")
