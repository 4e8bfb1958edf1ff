"""Rules that forget, for rewards that change from round to round."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

BOGUNOVIC = "Bogunovic, Scarlett & Cevher, Time-varying Gaussian process bandit optimization, 2016"

ENTRIES = (
    PolicyEntry(
        "r-gp-ucb",
        "R-GP-UCB",
        rules.RGPUCB,
        BOGUNOVIC,
        "for f_t a Markov chain of GPs, regret against the best of each round: linear in T, its slope falls with rate",
        "rate (0.01); beta_t by the round, not by the block; period 12 rate^(-1/4) and beta_t are as remembered",
    ),
    PolicyEntry(
        "tv-gp-ucb",
        "TV-GP-UCB",
        rules.TVGPUCB,
        BOGUNOVIC,
        "for f_t a Markov chain of GPs, regret against the best of each round: linear in T, its slope falls with rate",
        "rate (0.01); finite sets of at most 2000 arms; a round is a reward told; beta_t is as remembered",
    ),
    PolicyEntry(
        "wgp-ucb",
        "WGP-UCB",
        rules.WGPUCB,
        (
            "Deng, Zhou, Kim, Tewari, Gupta & Shroff, Weighted Gaussian process bandits for non-stationary "
            "environments, 2022"
        ),
        "sublinear dynamic regret at a forgetting tuned to the drift; a still f is in the band of a round (1 - delta)",
        "forgetting 0.99 by default (the original tunes it to drift and horizon); the width's constants, derived here",
    ),
)
