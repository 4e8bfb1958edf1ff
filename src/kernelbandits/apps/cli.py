"""The command line: paper, run, list, theory, design, check-theory, study."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelbandits import __version__, checks
from kernelbandits.apps import checking, designing, listing, progress, screen, studying, theory
from kernelbandits.apps.options import Form, Format, Quiet
from kernelbandits.apps.parsing import Commands
from kernelbandits.apps.studying.wording import masked
from kernelbandits.catalogue import POLICIES

if TYPE_CHECKING:
    from kernelbandits.experiment import Cell, Results
    from kernelbandits.experiment.trial import Trial

TRACEBACK = "KERNELBANDITS_TRACEBACK"
"""The environment variable by which a mistake of the program is shown in full."""

APP_HELP = """Kernelized bandits by exploration distributions.

Examples:

    kernelbandits paper --quick

    kernelbandits run --problem hartmann6 --policies simple-ucb,simple-bernoulli,gp-ts

    kernelbandits list policies

    kernelbandits check-theory --quick

    kernelbandits study create films.db --candidates films.csv --target stability
"""

app = typer.Typer(
    cls=Commands,
    help=APP_HELP,
    rich_markup_mode="markdown",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
)

Workers = Annotated[
    int, typer.Option(min=1, help="Processes to spread the cells over; the result is the same.")
]
Engine = Annotated[str, typer.Option(help="auto, numba or numpy.")]

PAPER_HELP = """Reproduce the paper's experiments and judge its claims.

Writes the five-panel regret figure (PNG, SVG), summary.csv, rounds.npz, claims.md and a self-contained report.html.
Interrupted, the same command goes on where it stopped.

Examples:

    kernelbandits paper

    kernelbandits paper --quick --output /tmp/look

    kernelbandits paper --no-map --seeds 50 --workers 4
"""

RUN_HELP = """Compare policies on any problem.

A policy with settings of its own is spelled name:setting=value; problems, kernels and noises likewise
(`kernelbandits list` shows what there is). With `--policies all`, those that cannot play here are left out with a note.

Writes the ranking and the regret curves (PNG, SVG), ranking.csv, ranking-overall.csv, summary.csv, rounds.npz and a
self-contained report.html. Interrupted, the same command goes on where it stopped.

Examples:

    kernelbandits run --problem hartmann6 --policies simple-ucb,simple-bernoulli,gp-ts

    kernelbandits run --problem branin --problem levy4 --policies all --kernel matern:0.3,2.5 --horizon 300 --seeds 10

    kernelbandits run --problem ackley4 --policy simple-bernoulli:p=0.25 --policy "generic-gp:exploration=decay(1)"

    kernelbandits run --problem csv:path=films.csv,target=stability --policies all --noise gaussian:0.05

    kernelbandits run --problem hartmann6 --problem perovskite --policies all --without greedy,random

    kernelbandits run --problem "rkhs:kernel=rbf(0.2),dimension=2" --policies simple-ucb,amm-ucb --theory
"""

LIST_HELP = """Show what there is: policies, problems, kernels, laws, noises, or one policy in full.

Examples:

    kernelbandits list

    kernelbandits list policies

    kernelbandits list simple-bernoulli

    kernelbandits list policies --format json
"""


@app.callback(invoke_without_command=True)
def version(
    show: Annotated[bool, typer.Option("--version", help="Print the version and stop.")] = False,
) -> None:
    if show:
        typer.echo(f"kernelbandits {__version__}")
        raise typer.Exit()


@app.command(help=PAPER_HELP)
def paper(
    quick: Annotated[
        bool, typer.Option("--quick", help="T = 100 and 3 seeds, for a first look.")
    ] = False,
    horizon: Annotated[int | None, typer.Option(min=1, help="Rounds T. Default: 1000.")] = None,
    seeds: Annotated[int | None, typer.Option(min=1, help="Independent runs. Default: 25.")] = None,
    sensitivity: Annotated[
        bool, typer.Option("--map/--no-map", help="With or without the sensitivity map.")
    ] = True,
    output: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("results/paper"),
    workers: Workers = 2,
    engine: Engine = "auto",
    quiet: Quiet = False,
) -> None:
    from kernelbandits import report
    from kernelbandits.experiment import forget_cells, process_mapper

    rounds, runs = horizon or (100 if quick else 1000), seeds or (3 if quick else 25)
    screen.listen(quiet)
    screen.engine_notice(engine, quiet)
    screen.prefetch("pandas", "matplotlib.backends.backend_svg")
    chosen = report.plan(rounds, runs, sensitivity, engine)
    if chosen.missing:
        screen.notice(chosen.missing, quiet)
    with (
        progress.counted("playing", chosen.size, quiet) as watch,
        process_mapper(workers) as mapper,
    ):
        found = screen.resumable(
            output,
            lambda folder: report.reproduce(
                chosen,
                mapper,
                folder,
                watch,
                lambda results: report.draw_curves(results, report.COMPARED, output),
            ),
        )
    with progress.waiting("drawing", quiet):
        table = report.write_reproduction(found, output)
    forget_cells(chosen.keys, output / screen.CELLS)
    if not quiet:
        screen.show_summary(table)
        screen.show_verdicts(found.verdicts)
        screen.show_folder(output)


@app.command(help=RUN_HELP)
def run(
    problem: Annotated[
        list[str], typer.Option(help="A problem, name or name:setting=value; may be repeated.")
    ],
    policies: Annotated[
        str, typer.Option(help="Names with commas between them, or all (but generic-gp).")
    ] = "",
    without: Annotated[
        str, typer.Option(help="Names to leave out of them, with commas between.")
    ] = "",
    policy: Annotated[
        list[str] | None, typer.Option(help="One policy with settings; may be repeated.")
    ] = None,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds T.")] = 1000,
    seeds: Annotated[int, typer.Option(min=1, help="Independent runs.")] = 25,
    kernel: Annotated[
        str, typer.Option(help="E.g. rbf:0.2, matern:0.3,1.5, `0.5*rbf:0.2+0.5*linear`.")
    ] = "rbf:0.2",
    noise_scale: Annotated[
        float, typer.Option(help="R, what the policies are told of the noise.")
    ] = 1.0,
    norm_bound: Annotated[
        float, typer.Option(help="D, what they are told of the reward's RKHS norm.")
    ] = 1.0,
    ridge: Annotated[
        float | None, typer.Option(help="Ridge of the policies that take one. Default: theirs.")
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="Confidence of the rivals; the Generic-GP family keeps 1/2 unless set by name."
        ),
    ] = None,
    gain: Annotated[
        str, typer.Option(help="Information gain: realised, greedy or analytic.")
    ] = "realised",
    ties: Annotated[str, typer.Option(help="random or lowest.")] = "random",
    candidates: Annotated[
        int | None, typer.Option(min=1, help="Arms drawn on a test function. Default: 50.")
    ] = None,
    noise: Annotated[
        str | None, typer.Option(help="Noise of the rewards, e.g. gaussian:0.01, student:0.05,3.")
    ] = None,
    with_theory: Annotated[
        bool, typer.Option("--theory", help="Bounds beside the regrets in report.html.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option(help="Folder for the results. Default: one of its own.")
    ] = None,
    workers: Workers = 2,
    engine: Engine = "auto",
    quiet: Quiet = False,
) -> None:
    from kernelbandits import report
    from kernelbandits.catalogue import spelled_kernel, spelled_noise, spelled_problem
    from kernelbandits.experiment import forget_cells, plan_experiment
    from kernelbandits.experiment.trial import tried

    screen.listen(quiet)
    screen.engine_notice(engine, quiet)
    law = spelled_noise(noise) if noise else None
    chosen = [spelled_problem(text, candidates=candidates, noise=law) for text in problem]
    planned = partial(
        plan_experiment,
        chosen,
        kernel=spelled_kernel(kernel),
        horizon=horizon,
        seeds=seeds,
        engine=engine,
        noise_scale=noise_scale,
        norm_bound=norm_bound,
        ridge=ridge,
        delta=delta,
        gain=gain,
        ties=ties,
    )
    named = remaining(names(policies), names(without))
    with progress.waiting("looking", quiet):
        trial = tried(
            [*named, *(policy or [])], planned, optional=named if is_all(policies) else ()
        )
    for name, sentence in trial.refused.items():
        screen.notice(f"left out {name}: {sentence}", quiet)
    plan = planned(trial.willing)
    folder = output or Path("results") / screen.folder_name(plan)
    screen.going_on(plan, folder, quiet)
    screen.prefetch("pandas", "matplotlib.backends.backend_svg")
    results = played(plan, trial, folder, workers, quiet)
    with progress.waiting("drawing", quiet):
        ranking = report.ranking_of(results)
        table = report.write_run(
            results, folder, ranking=ranking, left_out=trial.refused, theory=with_theory
        )
    forget_cells(results.found, folder / screen.CELLS)
    if not quiet:
        screen.show_ranking(results, ranking, table)
        screen.show_folder(folder)


def played(
    plan: tuple[Cell, ...], trial: Trial, folder: Path, workers: int, quiet: bool
) -> Results:
    """The slow cells first; the results are in the order of the plan whatever came first."""
    from kernelbandits.experiment import Results, play_experiment, process_mapper

    with (
        screen.grouped_notes(quiet),
        progress.weighed("playing", trial.seconds, quiet) as cells,
        process_mapper(workers) as mapper,
    ):
        ordered, watched = trial.slow_first(plan), cells.watched(mapper)
        found = screen.resumable(
            folder, lambda stored: play_experiment(ordered, watched, stored, cells.ready).found
        )
    return Results(plan, found)


@app.command("list", help=LIST_HELP)
def list_(
    what: Annotated[
        str | None, typer.Argument(help="policies, problems, kernels, laws, noises, or a policy.")
    ] = None,
    form: Form = Format.text,
) -> None:
    if form is Format.json:
        typer.echo(listing.as_json(what))
    else:
        listing.show(what, screen.out())


app.command("theory", help=theory.HELP)(theory.theory)
app.command("design", help=designing.HELP)(designing.design)
app.command("check-theory", help=checking.HELP)(checking.check_theory)
app.add_typer(studying.app, name="study")


def is_all(policies: str) -> bool:
    return policies.strip() == "all"


def names(policies: str) -> list[str]:
    """The policies of a comma-separated list; "all" is every one that needs no law of its own."""
    if is_all(policies):
        return [name for name in POLICIES if name != "generic-gp"]
    return [name.strip() for name in policies.split(",") if name.strip()]


def remaining(chosen: list[str], without: list[str]) -> list[str]:
    for name in without:
        checks.needs(
            name in chosen,
            "--without",
            f"names among the policies chosen ({', '.join(chosen)})",
            name,
        )
    return [name for name in chosen if name not in without]


def main(argv: list[str] | None = None) -> None:
    """Exit codes: 0 done, 1 refused, 2 wrong argument, 70 a mistake in here, 74 storage, 130 interrupted, 143 ended."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    sys.exit(exit_code(lambda: app(argv, standalone_mode=True)))


def exit_code(work: Callable[[], Any]) -> int:
    try:
        work()
    except checks.StudyConflict as error:
        return screen.failed(masked(str(error)), 1)
    except ValueError as error:
        return screen.failed(masked(str(error)), 2)
    except OSError as error:
        return screen.failed(masked(str(error)), 74)
    except MemoryError:
        return screen.failed(
            "this needs more memory than there is; fewer rounds, seeds, workers or rows need less",
            74,
        )
    except ModuleNotFoundError as error:
        return screen.failed(
            f"{error.name} is needed for this and is not installed; pip install {error.name}", 74
        )
    except Exception as error:
        return mistaken(error)
    return 0


def mistaken(error: Exception) -> int:
    """What nobody foresaw is a mistake of this program, and is said in one sentence as well."""
    if os.environ.get(TRACEBACK):
        raise error
    what = f"{type(error).__name__}: {masked(str(error))}"
    return screen.failed(
        f"a mistake in kernelbandits itself, please report it ({TRACEBACK}=1 shows where): {what}",
        70,
    )
