"""Arguments and options of the study commands, and how their text is read."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.tables.cells import parse_number, rewrite_number

PLACE = "A file, postgresql://user@host/db?study=name, or env:NAME."
Place = Annotated[str, typer.Argument(metavar="PLACE", help=PLACE)]
Trial = Annotated[
    str, typer.Argument(metavar="TRIAL", help="Number of the trial, as `ask` printed it.")
]
OptionalTrial = Annotated[
    str | None,
    typer.Argument(
        metavar="TRIAL", help="Number of the trial, as `ask` printed it; none with --label."
    ),
]
Label = Annotated[
    str | None, typer.Option(metavar="NAME", help="Name of the row, in place of a trial.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no notes on standard error.")]
Force = Annotated[bool, typer.Option("--force", help="Replace an existing file.")]
Worksheet = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Sheet of a workbook to read, if several are filled."),
]
Reason = Annotated[str, typer.Option(help="A remark for the history.")]
Policy = Annotated[
    str | None,
    typer.Option(help="auto, or a policy with its settings, e.g. simple-bernoulli:p=0.25."),
]
Kernel = Annotated[
    str | None,
    typer.Option(help="Kernel on columns scaled to [0, 1], e.g. rbf:0.2; auto fits its own."),
]
NoiseScale = Annotated[
    float | None, typer.Option(help="R, the noise that the policy assumes, in units of the spread.")
]
NormBound = Annotated[
    float | None,
    typer.Option(help="D, the bound on the target's RKHS norm, in units of the spread."),
]
Horizon = Annotated[
    int | None, typer.Option(help="Number of measurements planned, for policies that need it.")
]
Ridge = Annotated[
    float | None,
    typer.Option(help="Regularisation of the posterior (lambda), if the policy has it."),
]
Delta = Annotated[
    float | None, typer.Option(help="Allowed probability that a confidence statement is wrong.")
]
Seed = Annotated[int | None, typer.Option(help="Seed of all random choices.")]
Lease = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="How long a row stays reserved after ask: 90s, 2h, 7d."),
]
Repeats = Annotated[
    bool | None,
    typer.Option(
        "--repeats/--no-repeats",
        help="Whether rows that have a result may be suggested again. Default: auto repeats a row "
        "when that is expected to gain more than another row (with --goal earn only when every row "
        "has a result), other policies whenever their rule chooses it.",
    ),
]
Goal = Annotated[
    str | None,
    typer.Option(
        help="find: the best row in the end (default). earn: good results while measuring. Only "
        "for the policy auto."
    ),
]
Noise = Annotated[
    float | None,
    typer.Option(
        help="Standard deviation of one result in units of the target, 0 if there is none. Only "
        "for the policy auto."
    ),
]
Rounds = Annotated[
    int | None,
    typer.Option(help="Number of measurements planned. Only for the policy auto."),
]
Centre = Annotated[
    float | None, typer.Option(help="Typical value of the target; give --spread too.")
]
Spread = Annotated[
    float | None, typer.Option(help="Typical variation of the target; give --centre too.")
]
Tolerance = Annotated[
    float | None,
    typer.Option(help="How much you are willing to lose: `status` then says when to stop."),
]

SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]*)?) ?([smhd]?)")
NEGATIVE = {"ignore_unknown_options": True}
"""Lets -0.5 pass as an argument; what is no number is then refused by `refuse_options`."""


def read_duration(option: str, text: str | None) -> float | None:
    """Read a duration such as 90s, 15m, 2h, 7d or 3600 as seconds."""
    if text is None:
        return None
    found = DURATION.fullmatch(text.strip())
    wanted = "a duration such as 90s, 15m, 2h, 7d or plain seconds"
    if found is None or float(found[1]) == 0:
        raise ValueError(f"{option} needs {wanted}, got {text!r}")
    return float(found[1]) * SECONDS[found[2]]


def read_value(owner: str, text: str) -> float:
    """Read a measured value, with a decimal point.

    Forms that only Python takes for numbers, such as 1_000, are refused.
    """
    wanted = f"a number of size at most {LARGEST_REWARD:g} with a decimal point as VALUE"
    number = parse_number(text)
    if not abs(number) <= LARGEST_REWARD:
        numbers, _ = rewrite_number(text)
        hint = f" (write {' or '.join(numbers)})" if numbers else ""
        raise ValueError(f"{owner} needs {wanted}, got {text!r}{hint}")
    return number


def read_assignments(owner: str, option: str, texts: Iterable[str]) -> dict[str, str]:
    """Read NAME=VALUE, each name once."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, value = (part.strip() for part in text.partition("="))
        checks.needs(bool(equals and name), owner, f"{option} NAME=VALUE", text)
        checks.needs(name not in found, owner, f"{option} once for each name", name)
        found[name] = value
    return found


def read_whole_number(name: str, text: str, least: int) -> int:
    """Read the number of a trial or a row."""
    whole = re.fullmatch(r"[0-9]{1,18}", text) is not None and int(text) >= least
    digits = " with at most 18 digits" if re.fullmatch(r"[0-9]{19,}", text) else ""
    checks.needs(whole, name, f"a whole number from {least} on{digits}", text)
    return int(text)


def read_names(option: str, text: str | None) -> list[str] | None:
    """Read names of columns separated by commas; quote a name that holds a comma."""
    if text is None:
        return None
    found = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    checks.needs(
        bool(found) and all(found), option, "names of columns with commas between them", text
    )
    return found


def policy_settings(policy: str | None, **given: Any) -> dict[str, Any]:
    """Return the policy and its settings: those written with its name, and those of options."""
    from kernelbandits.catalogue import policy_entry
    from kernelbandits.catalogue.spelling import keywords, split

    settings = drop_missing(given)
    if policy is None:
        return {"settings": settings} if settings else {}
    name, own = split(policy)
    if name != "auto":
        policy_entry(name)  # An unknown name is refused before the place is opened.
    return {"policy": name, "settings": settings | keywords(own)}


def drop_missing(given: dict[str, Any]) -> dict[str, Any]:
    """Return only the settings that were given."""
    return {name: value for name, value in given.items() if value is not None}
