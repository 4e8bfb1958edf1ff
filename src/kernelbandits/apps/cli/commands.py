"""The command line: paper, run, list, theory, design, check-theory, study, lab, mcp."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelbandits import __version__, checks
from kernelbandits.apps.cli import (
    assistant,
    check_theory,
    design,
    lab,
    listing,
    progress,
    screen,
    study,
    theory,
)
from kernelbandits.apps.cli.options import (
    FigureFormats,
    FigureSize,
    Form,
    Format,
    Quiet,
    Workers,
    read_figure_size,
)
from kernelbandits.apps.cli.parsing import App
from kernelbandits.catalogue import ALL, WITHOUT_A_LAW
from kernelbandits.codec import to_json
from kernelbandits.formatting import did_you_mean

if TYPE_CHECKING:
    from kernelbandits.experiment import Cell, Results
    from kernelbandits.experiment.dry_run import DryRun
    from kernelbandits.processes import Mapper

APP_HELP = """Kernelized bandits: compare policies, check the theory, and plan real experiments.

Examples:

    kernelbandits paper --quick

    kernelbandits run --problem hartmann6 --policies simple-ucb,simple-bernoulli,gp-ts

    kernelbandits list policies

    kernelbandits check-theory --quick

    kernelbandits study create films.db --candidates films.csv --target stability
"""

app = App(help=APP_HELP)

Engine = Annotated[
    str,
    typer.Option(
        help="numba (compiled, fast), numpy, or auto: numba where it is installed. Both play the "
        "same arms; the files name the engine."
    ),
]

Dask = Annotated[
    str | None,
    typer.Option(
        help="Play on a Dask cluster: the address of its scheduler, such as "
        "tcp://scheduler:8786, or local for processes of this machine (--workers of them). "
        "The results are the same."
    ),
]

Theory = Annotated[
    bool,
    typer.Option(
        "--theory",
        help="Show proved bounds and regret certificates beside the regrets, in report.html "
        "and theory.csv.",
    ),
]

MERGE_HELP = """Join the results of several runs into one: other policies, problems, or seeds.

Runs of the same policies on further seeds (`run --first-seed 25`) are joined seed by seed; runs of
other policies or problems stand beside each other. In the end every policy must have played every
problem, with the same rounds and seeds. What contradicts itself is refused. Results with a policy
or a problem from Python code, or from a table, cannot be merged.

Examples:

    kernelbandits merge results/one results/two --output results/both
"""

PAPER_HELP = """Reproduce the paper's experiments and check its claims.

The results are the regret figure with a panel for each problem (PNG, SVG), summary.csv, rounds.npz,
claims.md and report.html, which holds everything on one page. If the command is interrupted, repeat
it: it goes on where it stopped.

The paper leaves R, D, the lengthscale, the candidates of each seed and the scale of the rewards
open. Unless --no-map is given, the claims are also tested under other values, and under a fixed
list of natural readings on seeds of their own.

Examples:

    kernelbandits paper

    kernelbandits paper --quick --output /tmp/look

    kernelbandits paper --no-map --seeds 50 --workers 4

    kernelbandits paper --dask tcp://scheduler:8786
"""

RUN_HELP = """Compare policies on problems, and rank them by their regret.

Every policy plays every problem for the same seeds. A problem, policy, kernel or noise is a name,
or a name with settings: `levy4:candidates=80`, `simple-bernoulli:p=0.25`, `matern:0.3,2.5`,
`gaussian:0.05`. `kernelbandits list` shows all names and settings.

A CSV file is a problem too: `csv:path=films.csv,target=stability`. Its rows are the arms. Every
column is scaled to [0, 1], and a note says so; `unit_columns=false` keeps the units of the file.

The results are the ranking and the regret curves (PNG, SVG), ranking.csv, ranking-overall.csv,
summary.csv, rounds.npz and report.html, which holds everything on one page. If the command is
interrupted, repeat it: it goes on where it stopped. With --theory, theory.csv has for each policy
the bound of its regret, if it has one, and its certificate: what its own rewards prove that it lost
at most, with probability 0.95, if R and D are true.

Examples:

    kernelbandits run --problem hartmann6 --policies simple-ucb,simple-bernoulli,gp-ts

    kernelbandits run --problem branin --problem levy4 --policies all --kernel matern:0.3,2.5

    kernelbandits run --problem ackley4 --policy simple-bernoulli:p=0.25 --policies simple-ucb

    kernelbandits run --problem ackley4 --policy "generic-gp:exploration=decay(1)" --seeds 10

    kernelbandits run --problem csv:path=films.csv,target=stability --policies simple-ucb,gp-ts

    kernelbandits run --problem csv:path=films.csv,target=defects,direction=min --policies all

    kernelbandits run --problem hartmann6 --policies all --without greedy,random --horizon 300

    kernelbandits run --problem "rkhs:kernel=rbf(0.2),dimension=2" --policies simple-ucb --theory

    kernelbandits run --problem hartmann6 --policies all --dask tcp://scheduler:8786 --parquet
"""

LIST_HELP = """Show all policies, problems, kernels, laws and noises, or one policy in full.

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
        bool, typer.Option("--quick", help="A first look: 100 rounds and 3 seeds.")
    ] = False,
    horizon: Annotated[
        int | None, typer.Option(min=1, help="How many rounds are played. If not given: 1000.")
    ] = None,
    seeds: Annotated[
        int | None, typer.Option(min=1, help="How many independent runs. If not given: 25.")
    ] = None,
    sensitivity: Annotated[
        bool, typer.Option("--map/--no-map", help="Whether other settings and readings are played.")
    ] = True,
    output: Annotated[Path, typer.Option(help="The folder for the results.")] = Path(
        "results/paper"
    ),
    workers: Workers = 2,
    dask: Dask = None,
    engine: Engine = "auto",
    figure_format: FigureFormats = None,
    figure_size: FigureSize = None,
    quiet: Quiet = False,
) -> None:
    from kernelbandits import report
    from kernelbandits.analysis import check_paper
    from kernelbandits.experiment import forget_cells
    from kernelbandits.experiment.paper import COMPARED, plan_paper, run_paper

    size = read_figure_size(figure_size)
    rounds, runs = horizon or (100 if quick else 1000), seeds or (3 if quick else 25)
    screen.listen(quiet)
    screen.engine_notice(engine, quiet)
    screen.page_notice(quiet, "report.html or claims.md")
    screen.prefetch("pandas", "matplotlib.backends.backend_svg")
    plan = plan_paper(rounds, runs, sensitivity, engine)
    if plan.missing:
        screen.notice(plan.missing, quiet)
    drawings: dict[str, str] = {}

    def draw(results: Results) -> None:
        drawings.update(
            report.draw_curves(
                results, COMPARED, output, figure_format=figure_format, figure_size=size
            )
        )

    with (
        progress.count_cells("playing", len(plan.keys), quiet) as watch,
        choose_mapper(workers, dask) as mapper,
    ):
        found = screen.run_resumable(
            output, lambda folder: run_paper(plan, mapper, folder, watch, draw)
        )
    verdicts = check_paper(found)
    with progress.show_task("drawing", quiet):
        table = report.write_paper(found, verdicts, output, drawings)
    forget_cells(plan.keys, output / screen.CELLS)
    if not quiet:
        screen.show_summary(table)
        screen.show_verdicts(verdicts)
        if found.readings:
            screen.show_sentence(report.sum_up_readings(found))
        screen.show_folder(output)


@app.command(help=RUN_HELP)
def run(
    problem: Annotated[
        list[str],
        typer.Option(
            help="The problem to play, such as branin or levy4:candidates=80. "
            "Repeat the option for several problems."
        ),
    ],
    policies: Annotated[
        str,
        typer.Option(
            help="The policies to compare, with commas between their names. all means every policy "
            "except generic-gp; those that cannot play the problem are left out with a note."
        ),
    ] = "",
    without: Annotated[
        str,
        typer.Option(help="Policies to leave out of --policies, with commas between their names."),
    ] = "",
    policy: Annotated[
        list[str] | None,
        typer.Option(
            help="One more policy, with settings: simple-bernoulli:p=0.25. "
            "Repeat the option for several."
        ),
    ] = None,
    sweep: Annotated[
        list[str] | None,
        typer.Option(
            help="Play each policy with each of several values of a setting that it has: "
            "lengthscale=0.05,0.1,0.2. kernel and lengthscale are settings of every policy that "
            "takes a kernel. Repeat the option for all combinations."
        ),
    ] = None,
    horizon: Annotated[int, typer.Option(min=1, help="How many rounds are played (T).")] = 1000,
    seeds: Annotated[
        int, typer.Option(min=1, help="How many independent runs each policy plays.")
    ] = 25,
    first_seed: Annotated[
        int, typer.Option(min=0, help="The first of the seeds, for runs that are merged later.")
    ] = 0,
    kernel: Annotated[
        str,
        typer.Option(
            help="The kernel of all policies: rbf:0.2 (lengthscale 0.2), matern:0.3,1.5 "
            "(lengthscale 0.3, smoothness 1.5), or a sum such as `0.5*rbf:0.2+0.5*linear`."
        ),
    ] = "rbf:0.2",
    noise_scale: Annotated[
        float,
        typer.Option(
            help="The noise that policies expect (R): about its standard deviation. Policies that "
            "need no noise scale ignore it."
        ),
    ] = 1.0,
    norm_bound: Annotated[
        float,
        typer.Option(
            help="The bound on the RKHS norm of the reward function that policies assume (D). "
            "Policies that need no bound ignore it."
        ),
    ] = 1.0,
    ridge: Annotated[
        float | None,
        typer.Option(
            help="The regularisation of the posterior (lambda), for every policy that has this "
            "setting. If it is not given, each policy uses its own default."
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="The probability that a confidence bound may fail, for every policy that has this "
            "setting, except the Generic-GP family: its members keep 1/2, unless their own "
            "settings say otherwise (simple-ucb:delta=0.1)."
        ),
    ] = None,
    gain: Annotated[
        str,
        typer.Option(
            help="How policies get the information gain: realised (from the arms played), greedy "
            "(from a greedy design) or analytic (a bound by formula)."
        ),
    ] = "realised",
    ties: Annotated[
        str,
        typer.Option(
            help="Which of several best arms is played: random, or lowest (the first one)."
        ),
    ] = "random",
    candidates: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="How many arms each seed draws on a test function. If it is not given: 50.",
        ),
    ] = None,
    noise: Annotated[
        str | None,
        typer.Option(
            help="The noise that the rewards really have: gaussian:0.05, student:0.05,3. If it is "
            "not given, each problem has its own, for most of them gaussian:0.01."
        ),
    ] = None,
    with_theory: Theory = False,
    output: Annotated[
        Path | None,
        typer.Option(
            help="The folder for the results. If it is not given, a new folder in results/, which "
            "the same command finds again."
        ),
    ] = None,
    workers: Workers = 2,
    dask: Dask = None,
    parquet: Annotated[
        bool,
        typer.Option(
            "--parquet",
            help="Write all rounds to rounds.parquet in the folder of the results, as they are "
            "played. pandas.read_parquet reads it, also during the run.",
        ),
    ] = False,
    engine: Engine = "auto",
    figure_format: FigureFormats = None,
    figure_size: FigureSize = None,
    quiet: Quiet = False,
) -> None:
    from kernelbandits import report
    from kernelbandits.analysis import ranking_of
    from kernelbandits.catalogue import read_kernel, read_noise, read_problem, read_sweep
    from kernelbandits.experiment import forget_cells, plan_experiment
    from kernelbandits.experiment.sweeps import check_swept

    size = read_figure_size(figure_size)
    screen.listen(quiet)
    screen.engine_notice(engine, quiet)
    screen.page_notice(quiet)
    law = read_noise(noise) if noise else None
    chosen = [read_problem(text, candidates=candidates, noise=law) for text in problem]
    values = read_sweep(sweep or ())
    # Checked by plan_experiment, whose sentences name what there is.
    shared: Any = {
        "kernel": read_kernel(kernel),
        "sweep": values,
        "horizon": horizon,
        "seeds": range(first_seed, first_seed + seeds),
        "engine": engine,
        "noise_scale": noise_scale,
        "norm_bound": norm_bound,
        "ridge": ridge,
        "delta": delta,
        "gain": gain,
        "ties": ties,
    }

    def plan_cells(policies: Iterable[str]) -> tuple[Cell, ...]:
        return plan_experiment(chosen, policies, **shared)

    named = leave_out(policy_names(policies), policy_names(without))
    optional = named if is_all(policies) else []
    trial = try_out([*named, *(policy or [])], optional, plan_cells, quiet)
    plan = plan_cells(trial.willing)
    check_swept(plan, values)
    folder = output or Path("results") / screen.folder_name(plan)
    screen.announce_continuation(plan, folder, quiet)
    screen.prefetch("pandas", "matplotlib.backends.backend_svg")
    results = play_plan(plan, trial, folder, choose_mapper(workers, dask), parquet, quiet)
    with progress.show_task("drawing", quiet):
        ranking = ranking_of(results)
        table = report.write_run(
            results,
            folder,
            ranking=ranking,
            left_out=trial.refused,
            theory=with_theory,
            figure_format=figure_format,
            figure_size=size,
        )
    forget_cells(results.found, folder / screen.CELLS)
    if not quiet:
        screen.show_ranking(results, ranking, table)
        screen.show_folder(folder)


def try_out(
    policies: list[str],
    optional: list[str],
    plan_cells: Callable[[Iterable[str]], tuple[Cell, ...]],
    quiet: bool,
) -> DryRun:
    """Play a few rounds with each policy; optional ones that refuse are left out with a note."""
    from kernelbandits.experiment.dry_run import try_policies

    with progress.show_task("looking", quiet):
        trial = try_policies(policies, plan_cells, optional=optional)
    for name, sentence in trial.refused.items():
        screen.notice(f"left out {name}: {sentence}", quiet)
    return trial


def choose_mapper(workers: int, dask: str | None) -> AbstractContextManager[Mapper]:
    """Return what plays the cells: processes of this machine, or a Dask cluster."""
    from kernelbandits.experiment import dask_mapper, process_mapper

    return process_mapper(workers) if dask is None else dask_mapper(dask, workers)


def play_plan(
    plan: tuple[Cell, ...],
    trial: DryRun,
    folder: Path,
    mappers: AbstractContextManager[Mapper],
    parquet: bool,
    quiet: bool,
) -> Results:
    """Play the slow cells first, so that no worker is left with one at the end.

    The results are in the order of the plan all the same.
    """
    from kernelbandits.experiment import Results, play_experiment

    def play(stored: Path) -> Results:
        return play_experiment(
            trial.slow_first(plan),
            cells.watch(mapper),
            stored,
            cells.ready,
            trial.seconds,
            folder / screen.ROUNDS if parquet else None,
        )

    with (
        screen.group_notes(quiet),
        progress.weigh_cells("playing", trial.seconds, quiet) as cells,
        mappers as mapper,
    ):
        return Results(plan, screen.run_resumable(folder, play).found)


@app.command(help=MERGE_HELP)
def merge(
    folders: Annotated[list[Path], typer.Argument(help="The folders of the runs, two or more.")],
    output: Annotated[Path, typer.Option(help="The folder for the merged results.")],
    with_theory: Theory = False,
    figure_format: FigureFormats = None,
    figure_size: FigureSize = None,
    quiet: Quiet = False,
) -> None:
    from kernelbandits import report
    from kernelbandits.analysis import ranking_of
    from kernelbandits.experiment import load_results, merge_results

    # The figures of a run that is merged must stay: it is read again when another one is added.
    apart = output.resolve() not in [folder.resolve() for folder in folders]
    checks.needs(apart, "merge", "a folder for --output that is none of the runs", str(output))
    size = read_figure_size(figure_size)
    screen.listen(quiet)
    screen.page_notice(quiet)
    results = merge_results([load_results(folder) for folder in folders])
    with progress.show_task("drawing", quiet):
        ranking = ranking_of(results)
        table = report.write_run(
            results,
            output,
            ranking=ranking,
            theory=with_theory,
            figure_format=figure_format,
            figure_size=size,
        )
    if not quiet:
        screen.show_ranking(results, ranking, table)
        screen.show_folder(output)


@app.command("list", help=LIST_HELP)
def list_(
    what: Annotated[
        str | None, typer.Argument(help="policies, problems, kernels, laws, noises, or a policy.")
    ] = None,
    form: Form = Format.text,
) -> None:
    if form is Format.json:
        typer.echo(to_json(listing.list_document(what)))
    else:
        listing.show(what, screen.out())


app.command("theory", help=theory.HELP)(theory.theory)
app.command("design", help=design.HELP)(design.design)
app.command("check-theory", help=check_theory.HELP)(check_theory.check_theory)
app.add_typer(study.app, name="study")
app.command("lab", help=lab.LAB)(lab.lab)
app.command("mcp", help=assistant.HELP)(assistant.mcp)


def is_all(policies: str) -> bool:
    return policies.strip() == ALL


def policy_names(policies: str) -> list[str]:
    """Return the policies of a comma-separated list; "all" leaves out those that need a law."""
    if is_all(policies):
        return list(WITHOUT_A_LAW)
    return [name.strip() for name in policies.split(",") if name.strip()]


def leave_out(chosen: list[str], without: list[str]) -> list[str]:
    for name in without:
        if name not in chosen:
            raise ValueError(
                f"--without needs names that --policies has, got {name!r}."
                f"{did_you_mean(name, chosen)}"
            )
    return [name for name in chosen if name not in without]
