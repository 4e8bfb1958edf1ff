"""What a worker process has ready before its first cell: imported once, then shared by all of them."""

from kernelbandits.experiment import cells
from kernelbandits.experiment.engines import load_loops, resolve_engine

if resolve_engine("auto") == "numba":
    load_loops()

__all__ = ["cells"]
