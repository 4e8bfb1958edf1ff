"""What the parser of arguments refuses, in one sentence and with exit code 2."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from kernelbandits.apps import screen

UsageError: Any = typer.BadParameter.__mro__[1]
HELP = "NoArgsIsHelpError"
"""No mistake: the help was printed."""
WORDS = "kernelbandits.words"

INVALID = "{hint} needs {kind}, got {came}"
SENTENCES = {
    r"Missing \w+ (?P<hint>.+?)\.(?: |$)": "{command} needs {hint}, got none",
    r"Invalid value for (?P<hint>.+?): Input should be (?P<kind>.+)": INVALID,
    r"Invalid value for (?P<hint>.+?): (Value error, )?(?P<came>.+) is not (?P<kind>.+)": INVALID,
    r"Got unexpected extra argument(?:s|\(s\))? \((?P<came>.*)\)": "{command} needs no further arguments, got {came}",
    r"No such option:? '?(?P<came>[^\s']+)": "{command} needs options that it has, got {came}",
    r"No such command (?P<came>'.*?')\.": "{command} needs one of {commands}, got {came}",
    r"Option (?P<hint>'.+') requires": "{hint} needs a value, got none",
    r"Option (?P<hint>'.+') does not take": "{hint} needs no value, got one",
}
"""What the parser says -> how it is said here."""
KINDS = {
    r"a valid int.*": "a whole number",
    r"a valid (float|number).*": "a number",
    r"in the range (.*)": r"a number in the range \1",
    r"((greater|less) than .*)": r"a number \1",
}
"""What the parser wants -> how it is said here."""


class Commands(TyperGroup):
    """Commands of the package; --help is printed as ever."""

    def make_context(self, *given: Any, **more: Any) -> Any:
        parent = more.get("parent")
        with one_sentence(parent.meta[WORDS] if parent else []):
            return super().make_context(*given, **more)

    def invoke(self, ctx: Any) -> Any:
        with one_sentence(ctx.meta.setdefault(WORDS, [])):
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        found = super().resolve_command(ctx, args)
        ctx.meta[WORDS].append(found[0])
        return found


@contextmanager
def one_sentence(words: Sequence[str]) -> Iterator[None]:
    """words: the command, such as study, ask."""
    from kernelbandits.apps.studying.wording import masked

    try:
        yield
    except UsageError as error:
        if type(error).__name__ == HELP:
            raise
        told = " ".join(["kernelbandits", *words, "--help"])
        raise typer.Exit(
            screen.failed(f"{masked(sentence(error, words))} (see {told})", 2)
        ) from None


def sentence(error: Any, words: Sequence[str]) -> str:
    """What is needed, and what came."""
    said = error.format_message()
    for pattern, form in SENTENCES.items():
        found = re.match(pattern, said, re.DOTALL)
        if found:
            given = {
                "came": came(error),
                **{name: PARTS[name](text) for name, text in found.groupdict().items()},
            }
            return form.format(
                command=" ".join(words) or "kernelbandits", commands=commands(error), **given
            )
    return str(said).rstrip(".")


def first(hint: str) -> str:
    """--n of '--n' / '-n'"""
    return hint.partition(" / ")[0].strip("'[]")


def kind(wanted: str) -> str:
    text = wanted.rstrip(".").replace("'", "")
    for pattern, words in KINDS.items():
        text = re.sub(f"^{pattern}$", words, text)
    return text


PARTS: dict[str, Callable[[str], str]] = {"hint": first, "kind": kind, "came": str}


def came(error: Any) -> str:
    """The text that was given, where only the cause of the error has it."""
    details: Any = getattr(error.__cause__, "errors", list)()
    return repr(details[0]["input"]) if details else "another"


def commands(error: Any) -> str:
    command = getattr(error.ctx, "command", None)
    return ", ".join(command.list_commands(error.ctx)) if isinstance(command, TyperGroup) else ""
