"""Results of several runs as one: other policies, other problems, or further seeds.

What a run played is written beside its rounds, as values of the catalogue. So its results can be
read again, joined with others, and reported like any results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from kernelbandits import checks
from kernelbandits.catalogue import CODEC
from kernelbandits.checks import Indices
from kernelbandits.experiment.cells import ARRAYS, CURVES, Cell, CellResult, Contender
from kernelbandits.experiment.results import Results

OWNER = "merging"
PLAYED, ROUNDS = "played.json", "rounds.npz"
PER_SEED = tuple(name for name in ARRAYS if name not in CURVES)
"""The arrays with one number for each seed, which stand in played.json."""


def save_played(results: Results, folder: Path) -> None:
    """Write what was played, beside rounds.npz; nothing if it is known to this process only.

    A policy or a problem that is defined by Python code, and a table, cannot be read again.
    """
    path = folder / PLAYED
    try:
        cells = [describe_cell(cell, results.found[cell.key]) for cell in results.cells]
    except ValueError:
        path.unlink(missing_ok=True)
        return
    part = path.with_suffix(".part")
    part.write_text(json.dumps({"cells": cells}, allow_nan=False) + "\n", encoding="utf-8")
    part.replace(path)


def describe_cell(cell: Cell, result: CellResult) -> dict[str, Any]:
    """Return all of a cell and its result but the curves; an error if it cannot be read again."""
    one = cell.contender
    checks.needs(not one.is_own, OWNER, "a policy of the catalogue", one.label)
    plain: dict[str, Any] = CODEC.encode(
        {
            "problem": cell.problem,
            "label": one.label,
            "policy": one.entry.name,
            "settings": dict(one.settings),
            "swept": dict(one.swept),
            "entrant": one.entrant,
            "kernel": cell.kernel,
            "horizon": cell.horizon,
            "seeds": cell.seeds,
            "engine": cell.engine,
            "result": {name: getattr(result, name).tolist() for name in PER_SEED},
        }
    )
    return plain | {"notes": json.dumps(result.settings)}


def load_results(folder: Path | str) -> Results:
    """Return the results of a folder that a run wrote.

    Parameters
    ----------
    folder
        With rounds.npz and played.json, as `kernelbandits run` and
        `kernelbandits.report.write_run` write them.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import kernelbandits as kb
    >>> from kernelbandits.experiment import load_results
    >>> from kernelbandits.report import write_run
    >>> results = kb.run_experiment("branin", "random", horizon=5, seeds=2)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = write_run(results, Path(folder))
    ...     again = load_results(folder)
    >>> bool((again["branin", "Uniform random"].regret == results.found[
    ...     results.cells[0].key].regret).all())
    True
    """
    place = Path(folder)
    for name in (ROUNDS, PLAYED):
        needed = f"a folder with {name}, as a run of catalogue policies and problems writes it"
        checks.needs((place / name).is_file(), OWNER, needed, str(folder))
    try:
        described = json.loads((place / PLAYED).read_text(encoding="utf-8"))["cells"]
        with np.load(place / ROUNDS, allow_pickle=False) as rounds:
            pairs = [read_cell(plain, rounds) for plain in described]
    # A damaged file raises nearly any exception: of zipfile, zlib, json, numpy or the codec.
    except Exception as error:
        raise ValueError(f"{OWNER} needs whole files of a run, got {folder}: {error}") from error
    return Results(tuple(cell for cell, _ in pairs), {cell.key: found for cell, found in pairs})


def read_cell(plain: Mapping[str, Any], rounds: Mapping[str, Any]) -> tuple[Cell, CellResult]:
    """Return a cell and its result."""
    notes = json.loads(plain["notes"])
    given: Any = CODEC.decode({name: value for name, value in plain.items() if name != "notes"})
    one = Contender(
        given["label"], given["policy"], given["settings"], given["swept"], given["entrant"]
    )
    cell = Cell(
        given["problem"], one, given["kernel"], given["horizon"], given["seeds"], given["engine"]
    )
    curves = {name: rounds["/".join((*cell.name, name))] for name in CURVES}
    shape = len(cell.seeds), cell.horizon
    checks.needs(
        all(curve.shape == shape for curve in curves.values()), OWNER, f"curves {shape}", cell.name
    )
    numbers = {name: np.array(values, dtype=float) for name, values in given["result"].items()}
    return cell, CellResult(settings=notes, **curves, **numbers)


def merge_results(parts: Sequence[Results]) -> Results:
    """Return several results as one; what contradicts itself is refused.

    Parameters
    ----------
    parts
        Results of other policies, of other problems, or of further seeds of the same ones. In the
        end every policy must have played every problem, all with the same rounds and seeds.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> from kernelbandits.experiment import merge_results
    >>> game = {"horizon": 10, "noise_scale": 0.01}
    >>> first = kb.run_experiment("branin", ["simple-ucb", "random"], seeds=range(3), **game)
    >>> more = kb.run_experiment("branin", ["simple-ucb", "random"], seeds=range(3, 8), **game)
    >>> merge_results([first, more])["branin", "Simple-UCB"].regret.shape
    (8, 10)
    """
    checks.needs(len(parts) > 0, OWNER, "at least one result", list(parts))
    joined: dict[tuple[str, str], tuple[Cell, CellResult]] = {}
    for results in parts:
        for cell in results.cells:
            pair = cell, results.found[cell.key]
            known = joined.get(cell.name)
            joined[cell.name] = pair if known is None else join(known, pair)
    cells = [cell for cell, _ in joined.values()]
    check_whole(cells)
    ordered = [sort_seeds(*pair) for pair in joined.values()]
    return Results(tuple(c for c, _ in ordered), {c.key: found for c, found in ordered})


def join(one: tuple[Cell, CellResult], other: tuple[Cell, CellResult]) -> tuple[Cell, CellResult]:
    """Return both results of one policy on one problem, with the seeds of either."""
    (cell, result), (further, more) = one, other
    name = f"{cell.contender.label} on {cell.problem.name}"
    for part in ("problem", "policy", "settings", "kernel", "horizon"):
        first, second = (
            getattr(each.contender if part in ("policy", "settings") else each, part)
            for each in (cell, further)
        )
        said = f"two that differ in their {part}: {first} and {second}"
        checks.needs(first == second, OWNER, f"one kind of {name}", said)
    fresh = [place for place, seed in enumerate(further.seeds) if seed not in cell.seeds]
    for place, seed in enumerate(further.seeds):
        if seed in cell.seeds:
            known = cell.seeds.index(seed)
            same = all(
                np.array_equal(getattr(result, curve)[known], getattr(more, curve)[place])
                for curve in CURVES
            )
            checks.needs(same, OWNER, f"one result of seed {seed} of {name}", "two that differ")
    seeds = (*cell.seeds, *(further.seeds[place] for place in fresh))
    arrays: dict[str, Any] = {
        curve: np.concatenate([getattr(result, curve), getattr(more, curve)[fresh]])
        for curve in ARRAYS
    }
    notices = [*result.settings.get("notices", []), *more.settings.get("notices", [])]
    distinct = [list(pair) for pair in dict.fromkeys(tuple(pair) for pair in notices)]
    settings = {**result.settings, "notices": distinct}
    return replace(cell, seeds=seeds), CellResult(settings=settings, **arrays)


def sort_seeds(cell: Cell, result: CellResult) -> tuple[Cell, CellResult]:
    """Return a cell and its result with the seeds in order, so that policies are paired by seed."""
    order: Indices = np.argsort(cell.seeds, kind="stable")
    arrays: dict[str, Any] = {name: getattr(result, name)[order] for name in ARRAYS}
    seeds = tuple(cell.seeds[place] for place in order)
    return replace(cell, seeds=seeds), CellResult(settings=result.settings, **arrays)


def check_whole(cells: Sequence[Cell]) -> None:
    """Refuse results in which a policy has not played a problem, or played another game."""
    first = cells[0]
    played = {cell.name for cell in cells}
    for problem in dict.fromkeys(cell.problem.name for cell in cells):
        for label in dict.fromkeys(cell.contender.label for cell in cells):
            pair = problem, label
            checks.needs(pair in played, OWNER, "every policy on every problem", f"no {pair}")
    for cell in cells:
        name = f"{cell.contender.label} on {cell.problem.name}"
        rounds = f"{first.horizon} and {cell.horizon} of {name}"
        checks.needs(cell.horizon == first.horizon, OWNER, "results of as many rounds", rounds)
        same = set(cell.seeds) == set(first.seeds)
        seeds = f"{len(first.seeds)} and {len(cell.seeds)} of {name}, or others"
        checks.needs(same, OWNER, "the same seeds of every policy", seeds)
