"""What a worker process has ready before its first cell: imported once, then shared by all of them."""

from kernelbandits.experiment import cells
from kernelbandits.experiment.engines import chosen_engine, ready

if chosen_engine("auto") == "numba":
    ready()

__all__ = ["cells"]
