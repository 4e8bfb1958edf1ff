"""Problems x policies x seeds: played, stored cell by cell, and handed out as curves."""

from kernelbandits.experiment.cells import Cell, CellResult, Contender, contender, play_cell
from kernelbandits.experiment.engines import Played, Round, play, rounds
from kernelbandits.experiment.runner import Results, cells_of, forget_cells, process_mapper, run_cells, run_experiment

__all__ = [
    "Cell",
    "CellResult",
    "Contender",
    "Played",
    "Results",
    "Round",
    "cells_of",
    "contender",
    "forget_cells",
    "play",
    "play_cell",
    "process_mapper",
    "rounds",
    "run_cells",
    "run_experiment",
]
