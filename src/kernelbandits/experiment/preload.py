"""What a worker process imports before its first cell.

The fork server imports this module once; all workers are forked from it and share the result.
"""

from kernelbandits.experiment import cells
from kernelbandits.experiment.engines import load_loops, resolve_engine

if resolve_engine("auto") == "numba":
    load_loops()

__all__ = ["cells"]
