"""Close relatives of Generic-GP: one random multiplier a round, from another law."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

VASWANI = "Vaswani, Mehrabian, Durand & Kveton, Old dog learns new tricks: randomized UCB for bandit problems, 2020"
TAKENO = (
    "Takeno, Inatsu & Karasuyama, Randomized Gaussian process upper confidence bound with tighter Bayesian regret "
    "bounds, 2023"
)

ENTRIES = (
    PolicyEntry(
        "rand-ucb",
        "RandUCB",
        rules.RandUCB,
        VASWANI,
        "regret O~(d sqrt(T)) for linear rewards; for a kernel that of Generic-GP, whose constants grow like 1 / top",
        "the kernel form, with Whitehouse's width; 20 points and scale 1/8 are the authors' code's, whose top is 9e-8",
    ),
    PolicyEntry(
        "irgp-ucb",
        "IRGP-UCB",
        rules.IRGPUCB,
        TAKENO,
        "expected regret O(sqrt(T gamma_T ln|X|)) for f ~ GP(0, k) and Gaussian noise of variance R^2",
        "shift zero where 2 ln(|X|/2) is negative (one arm)",
    ),
)
