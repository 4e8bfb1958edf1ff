"""Speed measured side by side: `python -m benchmarks speed`.

BLAS is held to one thread here, before numpy is imported.
"""

import os

for threads in ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR", "VECLIB_MAXIMUM"):
    os.environ[f"{threads}_NUM_THREADS"] = "1"
