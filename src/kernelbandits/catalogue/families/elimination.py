"""Rules that rule arms out: batches of pure exploration, and a ladder of precision levels."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

VALKO = "Valko, Korda, Munos, Flaounas & Cristianini, Finite-time analysis of kernelised contextual bandits, 2013"
LI = "Li & Scarlett, Gaussian process bandit optimization with few batches, 2022"
SALGIA = (
    "Salgia, Vakili & Zhao, Random exploration in Bayesian optimization: order-optimal regret and computational "
    "efficiency, 2024"
)
VAKILI = "Vakili, Bouziani, Jalali, Bernacchia & Shiu, Optimal order simple regret for Gaussian process bandits, 2021"

ENTRIES = (
    PolicyEntry(
        "kernel-ucb",
        "KernelUCB",
        rules.KernelUCB,
        VALKO,
        "none for this rule: the theorem is for SupKernelUCB",
        "eta = sqrt(2 ln(2 T |X| / delta)) unless given, which is SupKernelUCB's; in the first round all arms tie and "
        "the declared rule settles it, where the original plays the first arm",
    ),
    PolicyEntry(
        "sup-kernel-ucb",
        "SupKernelUCB",
        rules.SupKernelUCB,
        VALKO,
        "regret O~(sqrt(d~ T)), d~ the effective dimension, with chance 1 - delta; stated for rewards in [0, 1]",
        "the width for R and D, derived for data chosen without their rewards (a number eta gives the original's); an "
        "exploring round plays the widest arm where the original plays any that is wide enough",
    ),
    PolicyEntry(
        "bpe",
        "BPE",
        rules.BPE,
        LI,
        "regret O~(sqrt(T gamma_T)) with chance 1 - delta, in O(log log T) batches; less is proved for a fixed number",
        "the two-sided 2 in the logarithm; ridge no less than 1e-8; with a fixed number of batches each is cut at "
        "the rounds left; reuse_data has no proof",
    ),
    PolicyEntry(
        "reds",
        "REDS",
        rules.REDS,
        SALGIA,
        "regret O~(sqrt(T gamma_T)) if level sets are smooth images of a cube and the first epoch is long enough",
        "first_epoch = ceil(sqrt(T)), ridge R^2, and delta' = delta / (2 |X| n_epochs) over a finite set of arms",
    ),
    PolicyEntry(
        "mvr",
        "MVR",
        rules.MVR,
        VAKILI,
        "simple regret O~(sqrt(gamma_T / T)) of the arm of the greatest estimate; none for the regret of its plays",
        "ridge 1, and an arm may be played again, as on any finite set",
    ),
)
