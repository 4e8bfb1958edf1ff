"""Play many cells, in this process or spread over others; an interrupted run can be resumed."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

import numpy as np

from kernelbandits import checks
from kernelbandits.catalogue import (
    ALL,
    WITHOUT_A_LAW,
    kernel_of,
    problem,
    read_policy,
    settings_of,
)
from kernelbandits.catalogue.lookup import check_setting
from kernelbandits.catalogue.user_policy import Constructor
from kernelbandits.checks import DataNotice, NumericsWarning, TheoryWarning
from kernelbandits.domains import TIES
from kernelbandits.experiment.blocks import (
    SeedBlock,
    block_path,
    divide_blocks,
    join_results,
    missing_blocks,
    play_and_store,
    play_block,
    stored_blocks,
)
from kernelbandits.experiment.cells import Cell, CellResult, Contender, UntrustedCell, contender
from kernelbandits.experiment.dry_run import Planner, try_policies
from kernelbandits.experiment.premises import premises
from kernelbandits.experiment.results import Results
from kernelbandits.experiment.round_files import RoundFiles
from kernelbandits.experiment.sweeps import Sweep, check_swept, read_values, sweep_contender
from kernelbandits.experiment.workers import map_as_completed, yields_as_completed
from kernelbandits.kernels import RBF, Normalised, as_kernel
from kernelbandits.problems import FunctionProblem, Problem, TableProblem
from kernelbandits.processes import Mapper
from kernelbandits.runtime import require_memory
from kernelbandits.streams import Streams
from kernelbandits.theory import GAINS

MANY = 500
"""How many arms are looked at to see whether the kernel fits their units."""
ROUND_BYTES = 20
"""What the curves keep of a round: two regrets and an arm."""

Entrant = str | Constructor | Contender
"""A policy as an experiment takes it: a name with or without settings, a class, a factory, ..."""

Engine = Literal["auto", "numba", "numpy"]

Watcher = Callable[[], None]
"""Called once for every finished cell."""


class SharedSettings(TypedDict, total=False):
    """Settings for all policies of an experiment; each policy gets those that it takes."""

    noise_scale: float | None
    norm_bound: float | None
    ridge: float | None
    delta: float | None
    gain: Literal["realised", "greedy", "analytic"] | Callable[[int], float] | None
    ties: Literal["random", "lowest"] | None


def run_experiment(
    problems: Iterable[str | Problem] | str | Problem,
    policies: Iterable[Entrant] | Entrant,
    *,
    kernel: Any = RBF(0.2),  # noqa: B008
    sweep: Sweep | None = None,
    horizon: int = 1000,
    seeds: int | Iterable[int] = 25,
    engine: Engine = "auto",
    mapper: Mapper = map,
    folder: Path | str | None = None,
    watch: Watcher | None = None,
    parquet: Path | str | None = None,
    **settings: Unpack[SharedSettings],
) -> Results:
    """Play every policy on every problem for every seed.

    All policies of one seed meet the same candidates, noise, weights and ties, so that their
    regrets can be compared seed by seed. The result does not depend on the mapper.

    Parameters
    ----------
    problems
        One or several: names with or without settings ("levy4:candidates=80"), or what `kb.problem`
        returns, for instance for a Python function.
    policies
        One or several, of any kind: names with or without settings ("simple-bernoulli:p=0.25"),
        classes derived from `kb.Policy`, factories (domain, kernel, **settings) -> policy, or
        `kb.Contender`. "all" stands for every policy of the catalogue except generic-gp, which
        needs a law; those that cannot play a problem are left out with a notice.
    kernel
        The kernel of all policies, such as `kb.RBF(0.2)` or as text "rbf:0.2"; one that fits its
        own, such as auto, does not get it. A policy may have another one among its settings,
        `kernel` or `lengthscale`: "simple-ucb:kernel=matern(0.3)", "gp-ts:lengthscale=0.1".
    sweep
        Setting -> values: each policy plays once with every combination of the values of those that
        it has. `lengthscale` and `kernel` are settings of every policy that takes a kernel. What a
        policy was given for itself stays, and one that has none of the settings plays once.
        `results.plot(path, over="lengthscale")` draws the regret over the values.
    horizon
        How many rounds are played.
    seeds
        How many independent runs, or their seeds.
    engine
        "numba" (the compiled loop), "numpy", or "auto": numba where it is installed.
    mapper
        `map`, or one that spreads the work: over processes (`process_mapper(4)`) or over the
        machines of a Dask cluster (`dask_mapper("tcp://scheduler:8786")`), both of
        `kernelbandits.experiment`. The work is divided into blocks of seeds.
    folder
        Where results are stored as they come, and found again after an interruption. A policy, and
        a problem on a box, that is defined by Python code is found again by the same process only:
        no file can tell whether the code has changed.
    watch
        A function that is called without arguments whenever a cell is complete.
    parquet
        A folder, such as "rounds.parquet", that gets the rounds of each finished block of seeds as
        a file of its own. `pandas.read_parquet` reads the folder as one table, also during the run.
        What it held of an earlier run is removed. Needs the extra `parquet`.
    settings
        noise_scale (1 unless given), norm_bound (1), gain ("realised"), ridge, delta, ties. Each
        policy gets those that it takes; a class or factory those that its signature names. So it
        does with the horizon, as `horizon` or as `rounds`, and with the goal of an experiment,
        `goal="earn"`: the regret counts, and auto plays for it unless "auto:goal=find" says
        otherwise. The Generic-GP family keeps its delta of 1/2 unless its own settings say
        otherwise.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> results = kb.run_experiment("branin", ["simple-ucb", "random"], horizon=20, seeds=2)
    >>> results["branin", "Simple-UCB"].regret.shape
    (2, 20)

    A sweep:

    >>> results = kb.run_experiment(
    ...     "branin", "simple-ucb", sweep={"lengthscale": [0.1, 0.3]}, horizon=20, seeds=2
    ... )
    >>> results.labels
    ('Simple-UCB, lengthscale=0.1', 'Simple-UCB, lengthscale=0.3')
    """
    cells = plan_experiment(
        problems,
        policies,
        kernel=kernel,
        sweep=sweep,
        horizon=horizon,
        seeds=seeds,
        engine=engine,
        **settings,
    )
    check_swept(cells, sweep)
    return play_experiment(cells, mapper, folder, watch, parquet=parquet)


def plan_experiment(
    problems: Iterable[str | Problem] | str | Problem,
    policies: Iterable[Entrant] | Entrant,
    *,
    kernel: Any = RBF(0.2),  # noqa: B008
    sweep: Sweep | None = None,
    horizon: int = 1000,
    seeds: int | Iterable[int] = 25,
    engine: Engine = "auto",
    **settings: Unpack[SharedSettings],
) -> tuple[Cell, ...]:
    """Return the cells of `run_experiment`; only for "all" a few rounds are tried.

    The parameters are those of `run_experiment`.

    >>> from kernelbandits.experiment import plan_experiment
    >>> cells = plan_experiment(["branin", "levy4"], ["greedy", "random"], horizon=50, seeds=3)
    >>> len(cells), cells[0].name, cells[3].name
    (4, ('branin', 'Greedy'), ('levy4', 'Uniform random'))
    """
    told = {"horizon": horizon, "rounds": horizon, "goal": "earn"}
    shared = {"noise_scale": 1.0, "norm_bound": 1.0, "gain": "realised", **told}
    shared |= check_shared_settings(settings)
    values = read_values(sweep)
    # A setting that a policy needs may be one that is swept.
    shared |= settings_of({name: given[0] for name, given in values.items()})
    chosen = [as_problem(item) for item in as_list(problems)]
    seeds = tuple(seeds) if isinstance(seeds, Iterable) else seeds

    def plan_cells(entrants: Iterable[Entrant]) -> tuple[Cell, ...]:
        swept = [
            one
            for entrant in map(read_entrant, entrants)
            for one in sweep_contender(enter(entrant, shared), values, entrant.settings)
        ]
        return cells_of(chosen, swept, kernel_of(kernel), horizon, seeds, engine)

    return plan_cells(choose_willing(as_list(policies), plan_cells))


def choose_willing(entrants: Sequence[Entrant], plan_cells: Planner) -> list[Entrant]:
    """Return the policies to play: in the place of "all" those that can play every problem."""
    if ALL not in [item for item in entrants if isinstance(item, str)]:
        return list(entrants)
    trial = try_policies(WITHOUT_A_LAW, plan_cells, optional=WITHOUT_A_LAW)
    for name, sentence in trial.refused.items():
        warnings.warn(f"left out {name}: {sentence}", DataNotice, stacklevel=4)
    return [one for item in entrants for one in (trial.willing if item == ALL else [item])]


def play_experiment(
    cells: Sequence[Cell],
    mapper: Mapper = map,
    folder: Path | str | None = None,
    watch: Watcher | None = None,
    seconds: Mapping[str, float] | None = None,
    parquet: Path | str | None = None,
) -> Results:
    """Play the cells that the folder does not hold; see `run_cells`.

    >>> from kernelbandits.experiment import plan_experiment, play_experiment
    >>> cells = plan_experiment("branin", ["greedy", "random"], horizon=5, seeds=2, engine="numpy")
    >>> results = play_experiment(cells[1:])
    >>> [cell.name for cell in results.cells]
    [('branin', 'Uniform random')]
    """
    for cell in {cell.problem.name: cell for cell in cells}.values():
        notice_units(cell)
    found = run_cells(
        cells, mapper=mapper, folder=folder, watch=watch, seconds=seconds, parquet=parquet
    )
    results = Results(tuple(cells), found)
    for sentence in premises(results):
        warnings.warn(sentence, TheoryWarning, stacklevel=3)
    return results


def check_shared_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings for all policies; refuse unknown ones and those out of range.

    A setting out of range is refused even if no policy takes it.
    """
    owner = "an experiment"
    checked: dict[str, Callable[[Any], object]] = {
        "noise_scale": lambda value: checks.scale(owner, "noise_scale", value),
        "norm_bound": lambda value: checks.scale(owner, "norm_bound", value),
        "ridge": lambda value: checks.positive(owner, "ridge", value),
        "delta": lambda value: checks.inside(owner, "delta", value),
        "gain": lambda value: callable(value) or checks.one_of(owner, "gain", value, GAINS),
        "ties": lambda value: checks.one_of(owner, "ties", value, TIES),
    }
    for name, value in settings.items():
        check_setting(owner, name, checked)
        if value is not None:
            checked[name](value)
    return {name: value for name, value in settings.items() if value is not None}


def notice_units(cell: Cell) -> None:
    """Say so where the kernel takes all arms of the user's data for alike, or no two of them."""
    if not isinstance(cell.problem, (TableProblem, FunctionProblem)):
        return
    kernel = as_kernel(cell.kernel)
    points = cell.problem.instance(Streams(cell.seeds[0])).domain.points[:MANY]
    points = points[kernel.diagonal(points) > 0]
    if len(points) < 2:
        return
    others = Normalised(kernel)(points, points)[~np.eye(len(points), dtype=bool)]
    if others.max() < 0.01:
        found = f"no two arms of {cell.problem.name} are alike, so none says anything of another"
    elif others.min() > 0.999:
        found = f"all arms of {cell.problem.name} are alike, so they cannot be told apart"
    else:
        return
    advice = "choose a lengthscale in the units of the arms, or scale their columns to [0, 1]"
    warnings.warn(f"under {cell.kernel} {found}; {advice}", DataNotice, stacklevel=3)


def as_list(items: Any) -> list[Any]:
    """Return one item, or several, as a list."""
    several = isinstance(items, Iterable) and not isinstance(items, (str, type))
    return list(items) if several else [items]


def as_problem(item: str | Problem) -> Problem:
    if callable(item) and not hasattr(item, "instance"):
        raise ValueError(
            f"an experiment needs problems or their names, got {item!r}; "
            "kb.problem(f, domain) makes a problem from a function"
        )
    found = problem(item) if isinstance(item, str) else item
    checks.needs(hasattr(found, "instance"), "an experiment", "problems or their names", found)
    return found


class GivenPolicy(NamedTuple):
    """What the user gave of a contender."""

    policy: str | Constructor
    settings: Mapping[str, Any]
    label: str | None


def read_entrant(item: Entrant) -> GivenPolicy:
    """Return the policy that is meant, its own settings, and its label if it has one."""
    if isinstance(item, Contender):
        return GivenPolicy(item.policy, item.settings, item.label)
    return (
        GivenPolicy(*read_policy(item), None)
        if isinstance(item, str)
        else GivenPolicy(item, {}, None)
    )


def enter(entry: GivenPolicy, shared: Mapping[str, Any]) -> Contender:
    """Return a contender with its own settings, and those shared ones that it takes."""
    return contender(entry.policy, entry.settings, shared, entry.label)


def cells_of(
    problems: Sequence[Problem],
    contenders: Sequence[Contender],
    kernel: Any,
    horizon: int,
    seeds: int | Iterable[int],
    engine: str = "auto",
) -> tuple[Cell, ...]:
    """Pair every problem with every contender; names and labels must tell them apart.

    `seeds` is a number of seeds, counted from 0, or the seeds themselves.

    >>> import kernelbandits as kb
    >>> from kernelbandits.experiment import cells_of
    >>> entrant = kb.Contender("UCB", "simple-ucb", {"noise_scale": 0.1, "norm_bound": 1.0})
    >>> problems = [kb.problem("branin"), kb.problem("levy4")]
    >>> [(cell.name, cell.seeds) for cell in cells_of(problems, [entrant], kb.RBF(0.2), 50, 2)]
    [(('branin', 'UCB'), (0, 1)), (('levy4', 'UCB'), (0, 1))]
    """
    for kind, names in (
        ("problems", [p.name for p in problems]),
        ("policies", [c.label for c in contenders]),
    ):
        checks.needs(
            len(set(names)) == len(names) > 0,
            "an experiment",
            f"distinct {kind}, at least one",
            names,
        )
    if not isinstance(seeds, Iterable):
        seeds = range(checks.whole("an experiment", "seeds", seeds))
    numbers = tuple(seeds)
    return tuple(
        Cell(p, c, c.kernel_among(kernel), horizon, numbers, engine)
        for p in problems
        for c in contenders
    )


def run_cells(
    cells: Iterable[Cell],
    *,
    mapper: Mapper = map,
    folder: Path | str | None = None,
    watch: Watcher | None = None,
    endings: bool = False,
    seconds: Mapping[str, float] | None = None,
    parquet: Path | str | None = None,
) -> dict[str, CellResult]:
    """Return the results of cells, by the keys of the cells.

    Results in the folder are read, if they are those of these very cells. The other seeds are
    played in blocks, whose results are stored at once. Cells of one key are played once; `endings`
    keeps the last round only.

    Parameters
    ----------
    mapper, folder
        As for `run_experiment`.
    watch
        A function that is called without arguments whenever a cell is complete.
    seconds
        Key of a cell -> how long it is expected to take, by which it is divided into blocks.
    parquet
        A folder for the rounds of every finished block (`RoundFiles`).

    Examples
    --------
    >>> from kernelbandits.experiment import plan_experiment, run_cells
    >>> cells = plan_experiment("branin", ["greedy"], horizon=5, seeds=2, engine="numpy")
    >>> found = run_cells(cells, endings=True)
    >>> found[cells[0].key].regret.shape
    (2, 1)
    """
    planned = tuple(cells)
    unique = {cell.key: cell for cell in planned}
    check_memory(tuple(unique.values()), endings)
    files = RoundFiles(parquet, planned) if parquet else None
    parts: dict[str, list[tuple[SeedBlock, CellResult]]] = {key: [] for key in unique}
    found: dict[str, CellResult] = {}

    def list_gaps(key: str) -> list[SeedBlock]:
        return missing_blocks(unique[key], [block for block, _ in parts[key]])

    def take(block: SeedBlock, result: CellResult) -> None:
        """Keep the result of a block; the last one of a cell completes it."""
        key = block.cell.key
        if files:
            files.write(block, result)
        parts[key].append((block, result))
        if not list_gaps(key):
            found[key] = join_results(parts.pop(key))
            tick(watch)

    for cell in unique.values():
        for block, result in load_blocks(cell, folder, endings):
            take(block, result)
    gaps = [gap for key in parts for gap in list_gaps(key)]
    # One process that knows no times gains nothing from small blocks.
    blocks = gaps if mapper is map and seconds is None else divide_blocks(gaps, seconds)
    for block, result in play_blocks(blocks, mapper, folder, endings):
        take(block, result)
    repeat_notices(found[key] for key in unique)
    return {key: found[key] for key in unique}


def play_blocks(
    blocks: Sequence[SeedBlock], mapper: Mapper, folder: Path | str | None, endings: bool
) -> Iterator[tuple[SeedBlock, CellResult]]:
    """Play blocks by a mapper, and yield each with its result once that is stored."""
    if folder and not yields_as_completed(mapper):
        # This mapper may hand over all results at its end, so whoever plays a block stores it.
        work: Callable[[SeedBlock], CellResult] = partial(play_and_store, folder, endings)
    else:
        work = partial(play_block, endings)
    for block, result in map_as_completed(mapper, work, blocks):
        # A mapper may work on another machine, whose files are not ours.
        if folder and not block_path(block, folder, endings).exists():
            result.save(block_path(block, folder, endings), block.key)
        yield block, result


def check_memory(cells: Sequence[Cell], endings: bool) -> None:
    """Refuse an experiment whose curves do not fit into memory, before a round is played."""
    rounds = sum(len(cell.seeds) * (1 if endings else cell.horizon) for cell in cells)
    owner = f"an experiment of {rounds:.3g} rounds"
    require_memory(owner, ROUND_BYTES * rounds, "fewer rounds, seeds or policies need less")


def repeat_notices(results: Iterable[CellResult]) -> None:
    """Repeat the warnings of the policies here, each text once.

    They were given while the cells were played, perhaps in another process or in an earlier run.
    """
    for name, text in dict.fromkeys(
        tuple(pair) for result in results for pair in result.settings.get("notices", [])
    ):
        category = {c.__name__: c for c in (TheoryWarning, NumericsWarning, DataNotice)}.get(
            name, UserWarning
        )
        warnings.warn(text, category, stacklevel=3)


def forget_cells(keys: Iterable[str], folder: Path | str) -> None:
    """Remove these stored cells, and the folder if nothing else is in it.

    `keys` are those of the cells (`Cell.key`).

    >>> from pathlib import Path
    >>> from kernelbandits.experiment import forget_cells, plan_experiment, run_cells
    >>> cells = plan_experiment("branin", ["greedy"], horizon=5, seeds=2, engine="numpy")
    >>> found = run_cells(cells, folder="cells")
    >>> len(list(Path("cells").glob("*.npz")))
    1
    >>> forget_cells(found, "cells")
    >>> Path("cells").exists()
    False
    """
    for key in keys:
        for path in Path(folder).glob(f"{key}*.npz"):
            path.unlink(missing_ok=True)
    with suppress(OSError):
        Path(folder).rmdir()


def tick(watch: Watcher | None) -> None:
    if watch:
        watch()


def load_blocks(
    cell: Cell, folder: Path | str | None, endings: bool
) -> list[tuple[SeedBlock, CellResult]]:
    """Load the stored blocks of a cell with their results.

    A file that is not the result of its block is named in a notice, and its seeds are played.
    """
    if folder is None:
        return []
    Path(folder).mkdir(parents=True, exist_ok=True)
    found = []
    for block in stored_blocks(cell, folder, endings):
        path = block_path(block, folder, endings)
        try:
            found.append((block, CellResult.load(path, block.key, block.shapes(endings))))
        except UntrustedCell as error:
            # A later result must not find this file in its place.
            path.unlink(missing_ok=True)
            warnings.warn(
                f"the stored result of {block.name} is played again: {path.name} {error}",
                DataNotice,
                stacklevel=4,
            )
    return found
