"""Arguments and options of the study commands, and how their text is read."""

from __future__ import annotations

import csv
import re
from typing import Annotated, Any

import typer

from kernelbandits import checks
from kernelbandits.checks import LARGEST_REWARD
from kernelbandits.problems.sheet import NUMBER

PLACE = "A file, postgresql://user@host/db?study=name, or env:NAME."
Place = Annotated[str, typer.Argument(metavar="PLACE", help=PLACE)]
Trial = Annotated[
    str, typer.Argument(metavar="TRIAL", help="The number that ask printed, from 1 on.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No notes on standard error.")]
Reason = Annotated[str, typer.Option(help="Kept in the history.")]
Policy = Annotated[
    str | None, typer.Option(help="auto, or a policy as `run` takes it: simple-bernoulli:p=0.25.")
]
Kernel = Annotated[
    str | None, typer.Option(help="On columns scaled to [0, 1], e.g. rbf:0.2; auto fits its own.")
]
NoiseScale = Annotated[
    float | None, typer.Option(help="R, what the policy is told of the noise, in scaled units.")
]
NormBound = Annotated[
    float | None, typer.Option(help="D, what it is told of the target's RKHS norm, scaled.")
]
Horizon = Annotated[
    int | None, typer.Option(help="Measurements planned, for policies that must know.")
]
Ridge = Annotated[
    float | None, typer.Option(help="Ridge of the posterior, for policies that take one.")
]
Delta = Annotated[
    float | None, typer.Option(help="Chance that a confidence statement may be wrong.")
]
Seed = Annotated[int | None, typer.Option(help="All randomness comes from it.")]
Lease = Annotated[
    str | None,
    typer.Option(metavar="DURATION", help="How long an asker may keep a row: 90s, 2h, 7d."),
]
Repeats = Annotated[
    bool | None,
    typer.Option(
        "--repeats/--no-repeats",
        help="Measure rows again whenever the policy wants to, or never. "
        "Default: auto only when no row without a result is left, others whenever they want to.",
    ),
]
Centre = Annotated[
    float | None, typer.Option(help="Centre of the target's scale, given with --spread.")
]
Spread = Annotated[
    float | None, typer.Option(help="Spread of the target's scale, given with --centre.")
]
Tolerance = Annotated[
    float | None, typer.Option(help="What the likely best may lose for `status` to say: stop.")
]

SECONDS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
DURATION = re.compile(r"([0-9]{1,12}(?:\.[0-9]*)?) ?([smhd]?)")
NEGATIVE = {"ignore_unknown_options": True}
"""Lets -0.5 pass as an argument; what is no number is then refused by `no_option`."""


def duration(option: str, text: str | None) -> float | None:
    """Seconds in 90s, 15m, 2h, 7d or 3600."""
    if text is None:
        return None
    found = DURATION.fullmatch(text.strip())
    wanted = "a duration such as 90s, 15m, 2h, 7d or plain seconds"
    if found is None or float(found[1]) == 0:
        raise ValueError(f"{option} needs {wanted}, got {text!r}")
    return float(found[1]) * SECONDS[found[2]]


def measured(owner: str, text: str) -> float:
    """A measured value as it is typed, with a decimal point and nothing that Python alone calls a number."""
    no_option(text)
    wanted = f"a number of size at most {LARGEST_REWARD:g} with a decimal point as VALUE"
    if NUMBER.fullmatch(text) is None or abs(float(text)) > LARGEST_REWARD:
        raise ValueError(f"{owner} needs {wanted}, got {text!r}{with_a_point(text)}")
    return float(text)


def with_a_point(text: str) -> str:
    """How a number with a decimal comma is written here."""
    point = text.replace(",", ".")
    return f" (write {point})" if text.count(",") == 1 and NUMBER.fullmatch(point) else ""


def counted(name: str, text: str, least: int) -> int:
    """A trial, a row or an event."""
    no_option(text)
    whole = re.fullmatch(r"[0-9]{1,18}", text) is not None and int(text) >= least
    checks.needs(whole, name, f"a whole number from {least} on", text)
    return int(text)


def no_option(text: str) -> None:
    if re.match("--?[A-Za-z]", text) and text.lower() not in ("-inf", "-nan", "-infinity"):
        raise ValueError(f"there is no option {text}; --help shows those there are")


def names(option: str, text: str | None) -> list[str] | None:
    """Columns with commas between them; one with a comma in its name stands in quotation marks."""
    if text is None:
        return None
    found = [name.strip() for name in next(csv.reader([text], skipinitialspace=True), [])]
    checks.needs(
        bool(found) and all(found), option, "names of columns with commas between them", text
    )
    return found


def policy_settings(policy: str | None, **given: Any) -> dict[str, Any]:
    """policy and settings of a study: those spelled with the policy, and those given by options of their own."""
    from kernelbandits.catalogue import POLICIES
    from kernelbandits.catalogue.spelling import keywords, split

    settings = present(given)
    if policy is None:
        return {"settings": settings} if settings else {}
    name, own = split(policy)
    checks.needs(
        name == "auto" or name in POLICIES,
        "--policy",
        f"auto or one of {', '.join(POLICIES)}",
        name,
    )
    return {"policy": name, "settings": settings | keywords(own)}


def present(given: dict[str, Any]) -> dict[str, Any]:
    """What was given at all."""
    return {name: value for name, value in given.items() if value is not None}
