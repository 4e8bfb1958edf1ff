"""Independent arms: floors for what shares information between arms."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

AUER = "Auer, Cesa-Bianchi & Fischer, Finite-time analysis of the multiarmed bandit problem, 2002"
AGRAWAL = "Agrawal & Goyal, Further optimal regret bounds for Thompson sampling, 2013"
ORTNER = "Auer & Ortner, UCB revisited: improved regret bounds for the stochastic multi-armed bandit problem, 2010"
COMMON = "the kernel serves the recommendation only"

ENTRIES = (
    PolicyEntry(
        "ucb1",
        "UCB1",
        rules.UCB1,
        AUER,
        "expected regret O(sum_i ln(T) / gap_i), for rewards in [0, 1]",
        f"R sqrt(8 ln(n) / n_i) for R-sub-Gaussian noise, the original's at R = 1/2; {COMMON}",
    ),
    PolicyEntry(
        "gaussian-ts",
        "Gaussian TS",
        rules.GaussianTS,
        AGRAWAL,
        "expected regret O(sqrt(n T ln n)) on n arms, for rewards in [0, 1]",
        f"the variance R^2 / (n_i + 1), the original's at R = 1: R must cover the size of the rewards too; {COMMON}",
    ),
    PolicyEntry(
        "ucb-revisited",
        "UCB revisited",
        rules.UCBRevisited,
        ORTNER,
        "expected regret O(sum_i ln(T gap_i^2) / gap_i), for rewards in [0, 1]",
        f"8 R^2 for 2 in n_m, the original's at R = 1/2; arms left after the last stage are played evenly; {COMMON}",
    ),
)
