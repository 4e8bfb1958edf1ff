"""What the catalogue holds, as text for a terminal and as one JSON document for scripts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelbandits.apps.cli.output import facts
from kernelbandits.catalogue import (
    CODEC,
    FAMILIES,
    KERNELS,
    LAWS,
    NOISES,
    NOT_IMPLEMENTED,
    POLICIES,
    PROBLEMS,
    PolicyEntry,
)
from kernelbandits.catalogue.problems import FAMILIES as TEST_FAMILIES
from kernelbandits.formatting import did_you_mean

SHARED = ("noise_scale", "norm_bound", "horizon", "ridge", "delta", "gain", "ties")
"""Settings that `run` gives to every policy that takes them, unless they are the policy's own."""
HOW = (
    "A policy with settings is written name:setting=value, as in simple-bernoulli:p=0.25. "
    f"`kernelbandits run` has options for the settings {', '.join(SHARED)}, and gives them to "
    "every policy that takes them. A setting marked * has no option: write it behind the name. "
    "`kernelbandits list NAME` shows one policy in full."
)
LISTS = ("policies", "problems", "kernels", "laws", "noises")


def show(what: str | None, console: Console) -> None:
    """Print all kinds of the catalogue, one of them, or one policy in full."""
    if entry := POLICIES.get(what or ""):
        show_policy(entry, console)
        return
    shown: Mapping[str, Callable[[], None]] = {
        "policies": lambda: show_policies(console),
        "problems": lambda: show_problems(console),
        "kernels": lambda: show_names("Kernels", "--kernel", KERNELS, console),
        "laws": lambda: show_names(
            "Exploration laws", "--policy generic-gp:exploration=...", LAWS, console
        ),
        "noises": lambda: show_names("Noises", "--noise", NOISES, console),
    }
    for kind in select_lists(what):
        shown[kind]()


def list_document(what: str | None) -> Any:
    """Return what `show` prints as values for one JSON document."""
    if entry := POLICIES.get(what or ""):
        return plain_policy(entry)
    found: dict[str, Callable[[], Any]] = {
        "policies": plain_policies,
        "problems": lambda: {entry.name: entry.source for entry in PROBLEMS.values()},
        "kernels": lambda: spellings(KERNELS),
        "laws": lambda: spellings(LAWS),
        "noises": lambda: spellings(NOISES),
    }
    document = {kind: found[kind]() for kind in select_lists(what)}
    return document if what is None else document[what]


def select_lists(what: str | None) -> tuple[str, ...]:
    if what is not None and what not in LISTS:
        raise ValueError(
            f"There is nothing called {what!r} to list.{did_you_mean(what, [*LISTS, *POLICIES])} "
            f"`kernelbandits list` takes {', '.join(LISTS)}, or the name of a policy."
        )
    return LISTS if what is None else (what,)


def required_settings(entry: PolicyEntry) -> list[str]:
    return [name for name, must in entry.parameters.items() if must]


def optional_settings(entry: PolicyEntry) -> dict[str, Any]:
    """Return the default of each option, from the nearest constructor that names it."""
    classes = [cls for cls in reversed(inspect.getmro(entry.constructor)) if cls is not object]
    defaults = {
        name: parameter.default
        for cls in classes
        for name, parameter in inspect.signature(cls).parameters.items()
        if parameter.default is not parameter.empty
    }
    return {name: defaults.get(name) for name, must in entry.parameters.items() if not must}


def mark_by_name(entry: PolicyEntry, name: str) -> str:
    return f"{name}*" if name in entry.by_name_only or name not in SHARED else name


def plain_policies() -> dict[str, Any]:
    families = [
        {"title": title, "policies": [plain_policy(entry) for entry in entries]}
        for title, entries in FAMILIES.items()
    ]
    return {"families": families, "not_implemented": dict(NOT_IMPLEMENTED)}


def plain_policy(entry: PolicyEntry) -> dict[str, Any]:
    about = {key: getattr(entry, key) for key in ("name", "title", "paper", "guarantee", "ours")}
    by_name = [name for name in entry.settings if mark_by_name(entry, name) != name]
    settings = {
        "needs": required_settings(entry),
        "options": CODEC.encode(optional_settings(entry)),
        "only_by_name": by_name,
    }
    return about | settings


def show_policies(console: Console) -> None:
    console.print("[bold]Policies[/]")
    console.print(escape(HOW))
    for title, entries in FAMILIES.items():
        console.print()
        console.rule(f"[bold]{escape(title)}[/]", align="left", characters="─")
        for entry in entries:
            console.print()
            show_entry(entry, console)
    console.print()
    console.rule(
        "[bold]not implemented[/], left out rather than approximated", align="left", characters="─"
    )
    console.print(facts(NOT_IMPLEMENTED))


def show_entry(entry: PolicyEntry, console: Console) -> None:
    console.print(f"[bold cyan]{entry.name}[/]  {escape(entry.title)}")
    console.print(facts(describe_policy(entry)))


def describe_policy(entry: PolicyEntry) -> dict[str, str]:
    options = [
        f"{mark_by_name(entry, name)}={spell_option(value)}"
        for name, value in optional_settings(entry).items()
    ]
    return {
        "paper": entry.paper,
        "guarantee": entry.guarantee,
        "ours": entry.ours,
        "needs": ", ".join(mark_by_name(entry, name) for name in required_settings(entry))
        or "nothing",
        "options": ", ".join(options) or "none",
    }


def spell_option(value: Any) -> str:
    """Write a value as a command line has it."""
    if isinstance(value, tuple):
        return "/".join(spell_option(part) for part in value)
    return f"{value:g}" if isinstance(value, float) else str(value)


def show_policy(entry: PolicyEntry, console: Console) -> None:
    show_entry(entry, console)
    console.print(f"\n{escape(inspect.getdoc(entry.constructor) or '')}\n")
    own = ",".join(
        f"{name}=..." for name in required_settings(entry) if mark_by_name(entry, name) != name
    )
    spelled = f'"{entry.name}:{own}"' if own else entry.name
    console.print(
        f"kernelbandits run --problem hartmann6 --policy {spelled} --policies random",
        soft_wrap=True,
    )


def show_problems(console: Console) -> None:
    table = Table(title="Problems", title_justify="left")
    table.add_column("name")
    table.add_column("source")
    for entry in PROBLEMS.values():
        table.add_row(entry.name, escape(entry.source))
    console.print(table)
    console.print(
        f"The dimension of {', '.join(TEST_FAMILIES)} is part of their name: levy10, hartmann3."
    )


def show_names(
    title: str, option: str, names: Mapping[str, Callable[..., Any]], console: Console
) -> None:
    table = Table(title=f"{title} ({option})", title_justify="left")
    table.add_column("spelling")
    table.add_column("formula")
    for spelling, formula in spellings(names).items():
        table.add_row(escape(spelling), escape(formula))
    console.print(table)


def spellings(names: Mapping[str, Callable[..., Any]]) -> dict[str, str]:
    """Return the formula of each spelling, which is name:arguments."""
    found = {}
    for name, constructor in names.items():
        arguments = ",".join(inspect.signature(constructor).parameters)
        found[f"{name}:{arguments}" if arguments else name] = formula(constructor)
    return found


def formula(constructor: Callable[..., Any]) -> str:
    """Return the first paragraph of a docstring, with the formula that its last colon announces."""
    paragraphs = (inspect.getdoc(constructor) or "").split("\n\n")
    shown = paragraphs[: 2 if paragraphs[0].rstrip().endswith((":", ",", "others")) else 1]
    return " ".join(" ".join(shown).split())
