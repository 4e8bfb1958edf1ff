"""Play many cells, in this process or spread over others; interrupted and resumed, the result is the same."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.catalogue import spelled_policy, spelled_problem
from kernelbandits.checks import DataNotice, NumericsWarning, TheoryWarning
from kernelbandits.domains import TIES
from kernelbandits.experiment.cells import (
    Cell,
    CellResult,
    Contender,
    contender,
    play_stored,
    stored_at,
)
from kernelbandits.experiment.premises import premises
from kernelbandits.experiment.summary import summary
from kernelbandits.experiment.workers import Mapper
from kernelbandits.kernels import RBF, Normalised, as_kernel
from kernelbandits.problems import Problem, TableProblem
from kernelbandits.theory import GAINS

if TYPE_CHECKING:
    import pandas as pd

MANY = 500
"""So many arms of a table show whether the kernel fits its units."""

Watcher = Callable[[], None]
"""Called once for every cell that is ready."""


@dataclass(frozen=True)
class Results:
    """What was played: the cells, and the result of each by its key; look one up by (problem, label)."""

    cells: tuple[Cell, ...]
    found: Mapping[str, CellResult]

    def __getitem__(self, name: tuple[str, str]) -> CellResult:
        for cell in self.cells:
            if cell.name == name:
                return self.found[cell.key]
        raise KeyError(f"results need one of {[cell.name for cell in self.cells]}, got {name}")

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple({cell.problem.name: cell.problem for cell in self.cells}.values())

    @property
    def labels(self) -> tuple[str, ...]:
        return tuple({cell.contender.label: None for cell in self.cells})

    def summary(self) -> pd.DataFrame:
        """A row for each problem and policy: mean, 95 % interval, quantiles, time per round."""
        return summary(self)


def run_experiment(
    problems: Iterable[str | Problem] | str | Problem,
    policies: Iterable[str | Contender] | str | Contender,
    *,
    kernel: Any = RBF(0.2),  # noqa: B008
    horizon: int = 1000,
    seeds: int | Iterable[int] = 25,
    engine: str = "auto",
    mapper: Mapper = map,
    folder: Path | str | None = None,
    watch: Watcher | None = None,
    **settings: Any,
) -> Results:
    """Play every policy on every problem for every seed.

    `settings` (noise_scale, norm_bound, delta, gain, ridge, ties) go to each policy that takes them (the Generic-GP
    family keeps its delta 1/2 unless given one by name); a policy with settings of its own is spelled
    "simple-bernoulli:p=0.25" or given as a Contender. All policies of one seed meet the same candidates, noise,
    weights and ties, and the result does not depend on the mapper.
    """
    cells = plan_experiment(
        problems, policies, kernel=kernel, horizon=horizon, seeds=seeds, engine=engine, **settings
    )
    return play_experiment(cells, mapper, folder, watch)


def plan_experiment(
    problems: Iterable[str | Problem] | str | Problem,
    policies: Iterable[str | Contender] | str | Contender,
    *,
    kernel: Any = RBF(0.2),  # noqa: B008
    horizon: int = 1000,
    seeds: int | Iterable[int] = 25,
    engine: str = "auto",
    **settings: Any,
) -> tuple[Cell, ...]:
    """The cells of `run_experiment`, nothing played yet."""
    shared = {"noise_scale": 1.0, "norm_bound": 1.0, "gain": "realised"} | checked_settings(
        settings
    )
    entered = [entrant(item, shared | {"horizon": horizon}) for item in listed(policies)]
    chosen = [spelled_problem(item) if isinstance(item, str) else item for item in listed(problems)]
    for item in chosen:
        checks.needs(hasattr(item, "instance"), "an experiment", "problems or their names", item)
    return cells_of(chosen, entered, kernel, horizon, seeds, engine)


def play_experiment(
    cells: Sequence[Cell],
    mapper: Mapper = map,
    folder: Path | str | None = None,
    watch: Watcher | None = None,
) -> Results:
    """Play the cells that the folder does not hold."""
    for table in {
        cell.problem.name: cell for cell in cells if isinstance(cell.problem, TableProblem)
    }.values():
        notice_units(table.problem, table.kernel)
    results = Results(tuple(cells), run_cells(cells, mapper=mapper, folder=folder, watch=watch))
    for sentence in premises(results):
        warnings.warn(sentence, TheoryWarning, stacklevel=3)
    return results


def checked_settings(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings shared by all policies: known ones only, and in range even if no policy here takes them."""
    owner = "an experiment"
    doors: dict[str, Callable[[Any], object]] = {
        "noise_scale": lambda value: checks.scale(owner, "noise_scale", value),
        "norm_bound": lambda value: checks.scale(owner, "norm_bound", value),
        "ridge": lambda value: checks.positive(owner, "ridge", value),
        "delta": lambda value: checks.inside(owner, "delta", value),
        "gain": lambda value: callable(value) or checks.one_of(owner, "gain", value, GAINS),
        "ties": lambda value: checks.one_of(owner, "ties", value, TIES),
    }
    for name, value in settings.items():
        checks.needs(name in doors, owner, f"settings among {', '.join(doors)}", name)
        if value is not None:
            doors[name](value)
    return {name: value for name, value in settings.items() if value is not None}


def notice_units(problem: Any, kernel: Any) -> None:
    """Say so where the kernel finds all arms of a table alike, or no two of them."""
    chosen, points = as_kernel(kernel), problem.table.domain.points[:MANY]
    points = points[chosen.diagonal(points) > 0]
    if len(points) < 2:
        return
    others = Normalised(chosen)(points, points)[~np.eye(len(points), dtype=bool)]
    if others.max() < 0.01 or others.min() > 0.999:
        found = "no two arms" if others.max() < 0.01 else "all arms"
        hint = "give the lengthscale in the units of the columns, or read the table with unit_columns=true"
        warnings.warn(
            f"{kernel} finds {found} of {problem.name} alike; {hint}", DataNotice, stacklevel=3
        )


def listed(items: Any) -> list[Any]:
    return (
        [items]
        if isinstance(items, (str, Contender)) or not isinstance(items, Iterable)
        else list(items)
    )


def entrant(item: str | Contender, shared: Mapping[str, Any]) -> Contender:
    if isinstance(item, Contender):
        return contender(item.policy, item.settings, shared, item.label)
    checks.needs(isinstance(item, str), "an experiment", "policies by name, or Contenders", item)
    name, given = spelled_policy(item)
    return contender(name, given, shared)


def cells_of(
    problems: Sequence[Problem],
    contenders: Sequence[Contender],
    kernel: Any,
    horizon: int,
    seeds: int | Iterable[int],
    engine: str = "auto",
) -> tuple[Cell, ...]:
    """Every problem with every contender; names and labels must tell them apart."""
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
    drawn = (
        tuple(seeds)
        if isinstance(seeds, Iterable)
        else tuple(range(checks.whole("an experiment", "seeds", seeds)))
    )
    return tuple(Cell(p, c, kernel, horizon, drawn, engine) for p in problems for c in contenders)


def run_cells(
    cells: Iterable[Cell],
    *,
    mapper: Mapper = map,
    folder: Path | str | None = None,
    watch: Watcher | None = None,
    endings: bool = False,
) -> dict[str, CellResult]:
    """The results by key: read where the folder holds them, else played and stored as they come.

    Cells of one key are played once; `endings` keeps the last round only.
    """
    unique = {cell.key: cell for cell in cells}
    found = {key: stored for key in unique if (stored := load(key, folder, endings)) is not None}
    missing = [cell for key, cell in unique.items() if key not in found]
    for _ in found:
        tick(watch)
    for cell, result in zip(
        missing, mapper(partial(play_stored, folder, endings), missing), strict=True
    ):
        if folder and not stored_at(cell.key, folder, endings).exists():
            result.save(stored_at(cell.key, folder, endings))
        found[cell.key] = result
        tick(watch)
    repeat_notices(found.values())
    return found


def repeat_notices(results: Iterable[CellResult]) -> None:
    """What the policies warned of while they played, each text once, wherever they played."""
    for name, text in dict.fromkeys(
        tuple(pair) for result in results for pair in result.settings.get("notices", [])
    ):
        category = {c.__name__: c for c in (TheoryWarning, NumericsWarning, DataNotice)}.get(
            name, UserWarning
        )
        warnings.warn(text, category, stacklevel=3)


def forget_cells(keys: Iterable[str], folder: Path | str) -> None:
    """Remove these stored cells, and the folder if nothing else is in it."""
    for key, endings in product(keys, (False, True)):
        stored_at(key, folder, endings).unlink(missing_ok=True)
    with suppress(OSError):
        Path(folder).rmdir()


def tick(watch: Watcher | None) -> None:
    if watch:
        watch()


def load(key: str, folder: Path | str | None, endings: bool) -> CellResult | None:
    if folder is None:
        return None
    Path(folder).mkdir(parents=True, exist_ok=True)
    return CellResult.load(stored_at(key, folder, endings))
