"""Rules for rewards with heavy tails."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

RAY_CHOWDHURY = "Ray Chowdhury & Gopalan, Bayesian optimization under heavy-tailed payoffs, 2019"

ENTRIES = (
    PolicyEntry(
        "tgp-ucb",
        "TGP-UCB",
        rules.TGPUCB,
        RAY_CHOWDHURY,
        "regret O~(gamma_T T^((2 + a) / (2 (1 + a)))) with chance 1 - delta, if E|Y|^(1 + a) <= v",
        "the constant 3 is re-derived; moment_bound v = (D^2 + R^2)^((1 + a) / 2) unless given, R the noise's standard "
        "deviation; gain: realised L/2 by default",
    ),
)
