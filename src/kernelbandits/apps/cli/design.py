"""The command `design`: the exploration law that minimises the regret bound."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.markup import escape

from kernelbandits import checks
from kernelbandits.apps.cli import screen
from kernelbandits.apps.cli.options import Form, Format
from kernelbandits.catalogue import CODEC, LAWS
from kernelbandits.catalogue.lookup import parameters_of
from kernelbandits.codec import to_json
from kernelbandits.theory.designer import FAMILIES, FORMULAS, DesignedLaw
from kernelbandits.theory.designer import design as design_law

HELP = f"""Print the exploration law that minimises the regret bound.

The bound depends on the law through one factor: {FORMULAS["repaired"]} (repaired),
{FORMULAS["tight"]} (tight) or {FORMULAS["printed"]} (as printed in the paper), whatever the kernel,
R and D.
Without a budget the answer is UCB: it is proved that no law has a smaller factor.
With `--budget b` below 1, the largest E|w| allowed, the answer is the Bernoulli law Ber(b).

A smaller bound does not mean a smaller regret; docs/theory compares both on three problems.
`kernelbandits run` plays any law: pass the policy that this command prints.

Examples:

    kernelbandits design --horizon 1000

    kernelbandits design --budget 0.4

    kernelbandits design --family categorical --values 10 --budget 0.5 --format json

    kernelbandits design --family gaussian --objective tight
"""
LARGEST_DELTA = 0.999999
"""A policy needs delta below 1."""


def design(
    family: Annotated[
        str, typer.Option(help=f"The laws to choose from: {', '.join(FAMILIES)}.")
    ] = "any",
    horizon: Annotated[int, typer.Option(help="Number of rounds T, at least 3.")] = 1000,
    objective: Annotated[
        str, typer.Option(help="The bound to minimise: repaired, tight or printed.")
    ] = "repaired",
    budget: Annotated[
        float | None, typer.Option(help="The largest E|w| allowed. Default: no limit.")
    ] = None,
    values: Annotated[
        int | None,
        typer.Option(help="K of the family categorical, with weights 1/K, ..., 1. Default: 4."),
    ] = None,
    norm_bound: Annotated[
        float, typer.Option(help="D, the bound of the RKHS norm, from which delta follows.")
    ] = 1.0,
    form: Form = Format.text,
) -> None:
    if values is not None and family != "categorical":
        raise ValueError(f"--values needs --family categorical, got --family {family}")
    options = {} if values is None else {"values": values}
    answer = design_law(horizon, budget=budget, family=family, objective=objective, **options)
    delta = proved_delta(norm_bound, horizon)
    if form is Format.json:
        typer.echo(answer_json(answer, delta))
    else:
        print_design(answer, delta)


def proved_delta(norm_bound: float, horizon: int) -> float:
    """Return 1 / (2 D T), the delta for which the repaired bound is proved."""
    size = 2 * checks.positive("design", "norm_bound", norm_bound) * horizon
    return min(1 / size, LARGEST_DELTA)


def print_design(answer: DesignedLaw, delta: float) -> None:
    console = screen.out()
    found = answer.constants
    rows = (
        ("law", spell_law(answer.law)),
        ("play", f'--policy "{spell_policy(answer.law, delta)}"'),
        ("E|w|", f"{answer.mean_abs:.6f}"),
        (
            "constants",
            f"C1 {found.c1:.6f}   C2 {found.c2:.6f}   C3 {found.c3:.6f}   C3' {found.c3_tight:.6f}",
        ),
    )
    console.print(escape(answer.sentence), soft_wrap=True, highlight=False)
    console.print()
    for name, text in rows:
        console.print(f"{name:<11}{escape(text)}", soft_wrap=True, highlight=False)


def answer_json(answer: DesignedLaw, delta: float) -> str:
    names = ("family", "horizon", "objective", "budget", "factor", "mean_abs", "reason", "sentence")
    document = {name: getattr(answer, name) for name in names} | {
        "law": CODEC.encode(answer.law),
        "spelled": spell_law(answer.law),
        "policy": spell_policy(answer.law, delta),
        "constants": vars(answer.constants),
    }
    return to_json(document)


def spell_policy(law: Any, delta: float) -> str:
    """Write Generic-GP with this law as `run --policy` takes it."""
    name, values = spell_parts(law)
    return f"generic-gp:exploration={name}({values}),delta={delta:.7g}"


def spell_law(law: Any) -> str:
    """Write a law as other commands take it: gaussian:0,1.198053."""
    return ":".join(spell_parts(law))


def spell_parts(law: Any) -> tuple[str, str]:
    """Return the name of a law in the catalogue, and its arguments."""
    (name,) = (name for name, constructor in LAWS.items() if constructor is type(law))
    names = (argument for argument in parameters_of(LAWS[name]) if argument != "support")
    return name, ",".join(spell_number(getattr(law, argument)) for argument in names)


def spell_number(value: Any) -> str:
    """Write a number with seven digits.

    The probabilities of a categorical law, which must sum to one, have ten.
    """
    if isinstance(value, tuple):
        return "/".join(f"{chance:.10g}" for chance in value)
    return f"{value:.7g}"
