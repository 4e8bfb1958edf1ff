"""Every second round a random arm."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

KIM = (
    "Kim & Sanz-Alonso, Enhancing Gaussian process surrogates for optimization and posterior approximation via random "
    "exploration, 2024"
)
NOISE = "none with noise, where it is a heuristic"
OURS = "ridge R^2, no less than 1e-8; both queries of an iteration count as rounds"

ENTRIES = (
    PolicyEntry(
        "gp-ucb-plus",
        "GP-UCB+",
        rules.GPUCBPlus,
        KIM,
        f"without noise nearly the optimal rate of convergence, |f - mean| <= D sd always; {NOISE}",
        OURS,
    ),
    PolicyEntry(
        "exploit-plus",
        "EXPLOIT+",
        rules.ExploitPlus,
        KIM,
        f"without noise nearly the optimal rate of convergence; {NOISE}",
        OURS,
    ),
)
