"""Tighter confidence sets, and noise of unknown variance."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

FLYNN = "Flynn & Reeb, Tighter confidence bounds for sequential kernel regression, 2024"
DURAND = (
    "Durand, Maillard & Pineau, Streaming kernel regression with provably adaptive mean, variance, and regularization, "
    "2018"
)
SCALE = "the mixture scale is c = R^2 / ridge, ridge 1 by default"

ENTRIES = (
    PolicyEntry(
        "amm-ucb",
        "AMM-UCB",
        rules.AMMUCB,
        FLYNN,
        "f in its band in all rounds with chance 1 - delta; regret O~(gamma_T sqrt(T)), never wider than Whitehouse",
        SCALE,
    ),
    PolicyEntry(
        "dmm-ucb",
        "DMM-UCB",
        rules.DMMUCB,
        FLYNN,
        "f in its band in all rounds with chance 1 - delta; never wider than AMM-UCB",
        f"{SCALE}; alphas: ridge 8^k, k = -2..2",
    ),
    PolicyEntry(
        "cmm-ucb",
        "CMM-UCB",
        rules.CMMUCB,
        FLYNN,
        "f in its band in all rounds with chance 1 - delta; no wider than DMM-UCB while some f fits, or D sqrt(k)",
        f"{SCALE}; the exact maximum by its dual in one number instead of a conic solver",
    ),
    PolicyEntry(
        "streaming-ucb",
        "Streaming kernel UCB (Durand)",
        rules.StreamingUCB,
        DURAND,
        "noise bounds and f's band hold in all rounds with chance 1 - delta, for Gaussian noise of unknown variance",
        "delta / 4 for each of four statements (the original's split may differ); least_noise = noise_scale / 100;"
        " k(x, x) for the variances in e; with least_noise = noise_scale the variance is known and delta is not split",
    ),
)
