"""Experiments: every policy on every problem for every seed, and the regret curves of them."""

from kernelbandits.experiment.blocks import SeedBlock
from kernelbandits.experiment.cells import Cell, CellResult, Contender, contender, play_cell
from kernelbandits.experiment.cluster import dask_mapper
from kernelbandits.experiment.engines import RoundRecord, RunRecord, play, rounds
from kernelbandits.experiment.merging import load_results, merge_results
from kernelbandits.experiment.results import Results
from kernelbandits.experiment.runner import (
    cells_of,
    forget_cells,
    plan_experiment,
    play_experiment,
    run_cells,
    run_experiment,
)
from kernelbandits.experiment.workers import process_mapper

__all__ = [
    "Cell",
    "CellResult",
    "Contender",
    "Results",
    "RoundRecord",
    "RunRecord",
    "SeedBlock",
    "cells_of",
    "contender",
    "dask_mapper",
    "forget_cells",
    "load_results",
    "merge_results",
    "plan_experiment",
    "play",
    "play_cell",
    "play_experiment",
    "process_mapper",
    "rounds",
    "run_cells",
    "run_experiment",
]
