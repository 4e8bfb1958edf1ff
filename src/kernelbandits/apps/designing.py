"""The command `design`: the law of a family that the bound likes best, and what it does beside the paper's choices."""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich import box
from rich.markup import escape
from rich.table import Table

from kernelbandits import checks
from kernelbandits.apps import progress, screen
from kernelbandits.apps.options import Form, Format, Quiet, folder
from kernelbandits.catalogue import LAWS, spelled_kernel, spelled_noise, spelled_problem, to_plain
from kernelbandits.catalogue.plain import arguments
from kernelbandits.theory.designer import FAMILIES, FORMULAS, DesignedLaw, RatedLaw, best_law

if TYPE_CHECKING:
    from kernelbandits.experiment.designs import Comparison, Interval, PlayedLaw

HELP = f"""Find the exploration law of a family that minimises the regret bound.

Families: {", ".join(FAMILIES)}. The bound knows a law by one factor, {FORMULAS["repaired"]} (repaired),
{FORMULAS["tight"]} (tight) or {FORMULAS["printed"]} (as printed), whatever the kernel, R and D. Without a budget the
answer is UCB wherever the family has it; a budget limits E|w|, how much is explored on average.

With `--simulate` the law, UCB and the paper's choices play the same problems and seeds; `--plot` draws the factor along
the family and, if played, regret against factor. Options of the game (--problem, --seeds, --kernel, --noise-scale,
--ridge, --delta, --noise, --workers, --engine) need it beside them; --norm-bound also decides the delta to play with.

Examples:

    kernelbandits design --family gaussian --horizon 1000

    kernelbandits design --family bernoulli --budget 0.4 --objective tight

    kernelbandits design --family categorical --values 10 --budget 0.5 --format json

    kernelbandits design --family gaussian --simulate --problem hartmann6 --problem branin --plot

    kernelbandits design --family mixture --scale 0.3 --budget 0.4 --simulate --seeds 10 --noise-scale 0.1
"""
DEFAULT_PROBLEM = "hartmann6"
COLUMNS = "to the designed law: the mean difference, paired by seed, and its interval; ranks: by factor | by regret."
UNPLAYED = (
    "Nothing was played: the bound is usually vacuous at such T, above 2DT, and does not order laws by their regret "
    "(docs/theory.md); --simulate shows what they do."
)
FILES = Path("results/design")
BELOW_ONE = 0.999999
GAME = ("problem", "seeds", "kernel", "noise_scale", "ridge", "delta", "noise", "workers", "engine")
"""Options that say nothing without --simulate."""


def design(
    context: typer.Context,
    family: Annotated[str, typer.Option(help=f"One of {', '.join(FAMILIES)}.")],
    horizon: Annotated[int, typer.Option(help="Rounds T, at least 3.")] = 1000,
    objective: Annotated[str, typer.Option(help="repaired, tight or printed.")] = "repaired",
    budget: Annotated[
        float | None, typer.Option(help="The most that E|w| may be. Default: no limit.")
    ] = None,
    values: Annotated[
        int | None, typer.Option(help="K of the categorical family, on 1/K, ..., 1. Default: 4.")
    ] = None,
    scale: Annotated[
        float | None, typer.Option(help="Scale of the mixture's normal law. Default: free.")
    ] = None,
    last: Annotated[
        int | None, typer.Option(help="Last round of a step's first law. Default: T/2.")
    ] = None,
    simulate: Annotated[
        bool, typer.Option("--simulate", help="Play the laws against each other.")
    ] = False,
    problem: Annotated[
        list[str] | None, typer.Option(help=f"May be repeated. Default: {DEFAULT_PROBLEM}.")
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Independent runs.")] = 25,
    kernel: Annotated[str, typer.Option(help="E.g. rbf:0.2, matern:0.3,1.5.")] = "rbf:0.2",
    noise_scale: Annotated[
        float, typer.Option(help="R, what the policies are told of the noise.")
    ] = 1.0,
    norm_bound: Annotated[
        float, typer.Option(help="D, what they are told of the reward's RKHS norm.")
    ] = 1.0,
    ridge: Annotated[float, typer.Option(help="Ridge of the posterior.")] = 1.0,
    delta: Annotated[
        float, typer.Option(help="The paper plays 1/2; the repaired bound holds at 1/(2DT).")
    ] = 0.5,
    noise: Annotated[
        str | None, typer.Option(help="Noise of the rewards, e.g. gaussian:0.1.")
    ] = None,
    plot: Annotated[bool, typer.Option("--plot", help="Draw design.png and design.svg.")] = False,
    form: Form = Format.text,
    output: Annotated[
        Path | None, typer.Option(help=f"Folder for the files. Default with --plot: {FILES}.")
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Processes; the result is the same.")] = 1,
    engine: Annotated[str, typer.Option(help="auto, numba or numpy.")] = "auto",
    quiet: Quiet = False,
) -> None:
    if not simulate:
        only_for_games(context)
    screen.listen(quiet)
    files = folder(output or (FILES if plot else None))
    given = {"values": values, "scale": scale, "last": last}
    options = {name: value for name, value in given.items() if value is not None}
    taken(family, options)
    proved = proved_delta(norm_bound, horizon)
    with progress.waiting("designing", quiet):
        found = best_law(family, horizon, objective=objective, budget=budget, **options)
    told = {"noise_scale": noise_scale, "norm_bound": norm_bound, "ridge": ridge, "delta": delta}
    settings = told | {
        "kernel": spelled_kernel(kernel),
        "horizon": horizon,
        "seeds": seeds,
        "engine": engine,
    }
    law = spelled_noise(noise) if noise else None
    named = (
        [spelled_problem(text, noise=law) for text in problem or [DEFAULT_PROBLEM]]
        if simulate
        else []
    )
    played = simulated(found, named, workers, quiet, settings) if simulate else ()
    if files:
        write(found, played, files, plot, quiet)
    if form is Format.json:
        typer.echo(as_json(found, played))
    elif not quiet:
        show(found, played, files, proved)


def only_for_games(context: typer.Context) -> None:
    """Refuse options of a game that is not played."""
    for name in GAME:
        source = context.get_parameter_source(name)
        typed = source is not None and source.name == "COMMANDLINE"
        checks.needs(
            not typed, f"--{name.replace('_', '-')}", "--simulate beside it", context.params[name]
        )


def taken(family: str, options: Iterable[str]) -> None:
    """Refuse options of other families."""
    known = inspect.signature(FAMILIES[family]).parameters if family in FAMILIES else options
    for name in options:
        if name not in known:
            raise ValueError(f"the family {family} takes no --{name}")


def proved_delta(norm_bound: float, horizon: int) -> float:
    """1 / (2 D T), for which the repaired bound is proved; a policy needs less than 1."""
    size = 2 * checks.positive("design", "norm_bound", norm_bound) * horizon
    return 1 / size if size * BELOW_ONE > 1 else BELOW_ONE


def simulated(
    found: DesignedLaw, problems: list[Any], workers: int, quiet: bool, settings: dict[str, Any]
) -> tuple[Comparison, ...]:
    """The designed law and its rivals on every problem."""
    from kernelbandits.experiment import process_mapper
    from kernelbandits.experiment.designs import compare

    laws = (found.rated, *found.rivals)
    screen.engine_notice(settings["engine"], quiet)
    with (
        screen.grouped_notes(quiet),
        progress.counted("playing", len(laws) * len(problems), quiet) as watch,
        process_mapper(workers) as mapper,
    ):
        return compare(laws, problems, mapper=mapper, watch=watch, **settings)


def write(
    found: DesignedLaw, played: tuple[Comparison, ...], files: Path, plot: bool, quiet: bool
) -> None:
    """design.json, and the figure."""
    from kernelbandits.report import figures
    from kernelbandits.report.figures.design import design_figure

    files.mkdir(parents=True, exist_ok=True)
    (files / "design.json").write_text(as_json(found, played) + "\n", encoding="utf-8")
    if plot and figures.available():
        with progress.waiting("drawing", quiet):
            design_figure(found, played, files / "design")


def as_json(found: DesignedLaw, played: tuple[Comparison, ...]) -> str:
    names = (
        "family",
        "horizon",
        "objective",
        "budget",
        "parameter",
        "value",
        "factor",
        "mean_abs",
        "sentence",
    )
    document = {name: getattr(found, name) for name in names} | {
        "law": to_plain(found.law),
        "spelled": spelled(found.law),
        "constants": vars(found.constants),
        "alternatives": [plain_law(row) for row in found.alternatives],
        "simulation": [plain_comparison(item) for item in played],
    }
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False)


def plain_law(row: RatedLaw) -> dict[str, Any]:
    return {
        "name": row.name,
        "spelled": spelled(row.law),
        "factor": row.factor,
        "mean_abs": row.mean_abs,
    }


def plain_comparison(item: Comparison) -> dict[str, Any]:
    agreement = {"correlation": item.correlation, "with_mean_abs": item.with_mean_abs}
    laws = [
        plain_law(law.rated)
        | {"regret": plain_interval(law.regret), "behind": plain_interval(law.behind)}
        | {"rank_by_factor": law.rank_by_factor, "rank_by_regret": law.rank_by_regret}
        for law in item.laws
    ]
    seeds = {"correlation_by_seed": plain_interval(item.by_seed)}
    return {"problem": item.problem, "laws": laws} | agreement | seeds | {"sentence": item.sentence}


def plain_interval(interval: Interval) -> dict[str, float | None]:
    return {
        name: value if math.isfinite(value) else None for name, value in interval._asdict().items()
    }


def show(
    found: DesignedLaw, played: tuple[Comparison, ...], files: Path | None, proved: float
) -> None:
    console = screen.out()
    console.print(escape(found.sentence), soft_wrap=True)
    console.print(f"\nlaw     {escape(spelled(found.law))}", soft_wrap=True, highlight=False)
    policy = f"generic-gp:exploration={nested(found.law)},delta={proved:.7g}"
    console.print(f'play    --policy "{escape(policy)}"', soft_wrap=True, highlight=False)
    c = found.constants
    console.print(
        f"has     C1 {c.c1:.6f}   C2 {c.c2:.6f}   C3 {c.c3:.6f}   C3' {c.c3_tight:.6f}\n",
        highlight=False,
    )
    shown = table(
        f"The factor {FORMULAS[found.objective]}, T = {found.horizon}", ("factor", "E|w|")
    )
    for row in (found.rated, *found.rivals):
        shown.add_row(escape(row.name), f"{row.factor:.4f}", f"{row.mean_abs:.4f}")
    console.print(shown)
    for item in played:
        show_comparison(item)
    if played:
        console.print(escape(COLUMNS), style="dim")
    else:
        console.print(escape(UNPLAYED), soft_wrap=True)
    if files:
        console.print(f"Written to {escape(str(files))}", soft_wrap=True)


def show_comparison(item: Comparison) -> None:
    """Best first by regret; the differences are paired by seed, the ranks by factor and by regret."""
    headings = ("factor", "E|w|", "regret", "95 % interval", "to the designed law", "ranks")
    shown = table(f"{item.title}: cumulative regret, best first", headings)
    for law in sorted(item.laws, key=lambda law: law.rank_by_regret):
        shown.add_row(*(escape(text) for text in comparison_cells(law)))
    screen.out().print(shown)
    screen.out().print(escape(item.sentence), soft_wrap=True)


def comparison_cells(law: PlayedLaw) -> list[str]:
    numbers = [
        law.rated.name,
        f"{law.rated.factor:.2f}",
        f"{law.rated.mean_abs:.3f}",
        f"{law.regret.mean:.1f}",
    ]
    behind = f"{law.behind.mean:+.1f} {screen.brackets(law.behind.low, law.behind.high)}"
    ranks = f"{law.rank_by_factor:g} | {law.rank_by_regret:g}"
    return [*numbers, screen.brackets(law.regret.low, law.regret.high), behind, ranks]


def table(title: str, headings: tuple[str, ...]) -> Table:
    shown = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("law", overflow="fold")
    for name in headings:
        shown.add_column(name, justify="right", no_wrap=True)
    return shown


def spelled(law: Any) -> str:
    """As the other commands take it: gaussian:0,1.198053."""
    name, _, inner = nested(law).partition("(")
    return f"{name}:{inner.removesuffix(')')}"


def nested(law: Any) -> str:
    """The same inside another value: gaussian(0,1.198053)."""
    (name,) = (name for name, constructor in LAWS.items() if constructor is type(law))
    given = [getattr(law, argument) for argument in arguments(LAWS[name]) if argument != "support"]
    return f"{name}({','.join(map(spelled_value, given))})"


def spelled_value(value: Any) -> str:
    """Seven digits; ten for chances, which must sum to one."""
    if isinstance(value, tuple):
        return "/".join(
            f"{item:.10g}" if checks.is_number(item) else nested(item) for item in value
        )
    if checks.is_whole(value):
        return str(value)
    return f"{value:.7g}" if checks.is_number(value) else nested(value)
