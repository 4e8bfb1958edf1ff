"""Generic-GP and its members: one weight a round, drawn from an exploration law."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry
from kernelbandits.policies import Policy

GENERIC = (
    "Hu, He & Sutherland, Efficient kernelized bandit algorithms via exploration distributions"
)
FAMILY = "ridge and delta as options; the paper's are 1 and 1/2"
GAP = "its printed proof has a gap at delta = 1/2 (docs/algorithms.md)"


def family(name: str, title: str, constructor: type[Policy], rate: str) -> PolicyEntry:
    return PolicyEntry(
        name, title, constructor, GENERIC, f"expected regret {rate}; {GAP}", FAMILY, own=("delta",)
    )


ENTRIES = (
    family(
        "generic-gp", "Generic-GP", rules.GenericGP, "O((C2 + C3) gamma_T sqrt(T)) if P(w >= 1) > 0"
    ),
    family("simple-ucb", "Simple-UCB", rules.SimpleUCB, "O~(gamma_T sqrt(T))"),
    family(
        "simple-bernoulli",
        "Simple-Bernoulli",
        rules.SimpleBernoulli,
        "O~(gamma_T sqrt(T) / min p_t)",
    ),
    family("simple-gaussian", "Simple-Gaussian", rules.SimpleGaussian, "O~(gamma_T sqrt(T))"),
    family(
        "simple-categorical",
        "Simple-Categorical",
        rules.SimpleCategorical,
        "O~(gamma_T sqrt(T) / min p_K)",
    ),
    family(
        "simple-mixture", "Simple-Mixture", rules.SimpleMixture, "O~(gamma_T sqrt(T) / min rho_t)"
    ),
)
