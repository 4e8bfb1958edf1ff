"""Upper-confidence rules and Thompson sampling on the kernel posterior."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

CHOWDHURY = "Chowdhury & Gopalan, On kernelized multi-armed bandits, 2017"
SRINIVAS = (
    "Srinivas, Krause, Kakade & Seeger, Gaussian process optimization in the bandit setting: no regret and "
    "experimental design, 2010"
)
WHITEHOUSE = "Whitehouse, Ramdas & Wu, On the sublinear regret of GP-UCB, 2023"

ENTRIES = (
    PolicyEntry(
        "igp-ucb",
        "IGP-UCB",
        rules.IGPUCB,
        CHOWDHURY,
        "regret O(sqrt(T) (D sqrt(gamma_T) + gamma_T)) with chance 1 - delta",
        "gain: realised L/2 by default, which the underlying inequality allows",
    ),
    PolicyEntry(
        "gp-ts",
        "GP-TS",
        rules.GPTS,
        CHOWDHURY,
        "regret O~(gamma_T sqrt(d T)) with chance 1 - delta",
        "gain: realised L/2 by default; all arms are the discretisation, at most 2000",
    ),
    PolicyEntry(
        "gp-ucb",
        "GP-UCB (Srinivas)",
        rules.GPUCB,
        SRINIVAS,
        "regret O~(sqrt(T gamma_T)) for f ~ GP (finite), O~(gamma_T sqrt(T)) for |f| <= D (rkhs)",
        "beta_scale (1; the authors' experiments use 1/5); gain realised is ours for the rkhs schedule",
    ),
    PolicyEntry(
        "whitehouse-ucb",
        "GP-UCB (Whitehouse)",
        rules.WhitehouseUCB,
        WHITEHOUSE,
        "regret O~(gamma_T(ridge) sqrt(T)) with chance 1 - delta, sublinear for Matern at the tuned ridge",
        "the constant 1 before T^(d / (2 nu + 2 d)) in the ridge 'matern'",
    ),
)
