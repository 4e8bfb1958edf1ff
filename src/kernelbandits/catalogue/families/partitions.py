"""Rules that divide the domain into cells."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

JANZ = "Janz, Burt & Gonzalez, Bandit optimisation of functions in the Matern kernel RKHS, 2020"
SHEKHAR = "Shekhar & Javidi, Gaussian process bandits with adaptive discretization, 2018"

ENTRIES = (
    PolicyEntry(
        "pi-gp-ucb",
        "pi-GP-UCB",
        rules.PiGPUCB,
        JANZ,
        "sublinear regret for every Matern kernel with nu > 1, with chance 1 - delta",
        "cells hold arms, a cell of one point is never split, a border belongs to the upper cell; ridge 1, the split "
        "and F = 4 (T + 1)^(d / (2 nu)) are those of the first author's thesis code; nu = 5/2 for other kernels",
        own=("ridge",),
    ),
    PolicyEntry(
        "adaptive-tree",
        "Adaptive discretisation",
        rules.AdaptiveTree,
        SHEKHAR,
        "the value of a cell bounds f on it with chance 1 - delta; the original's regret is for f ~ GP(0, k)",
        "the RKHS form: V = D max d_k over the arms of a cell, Whitehouse's width, medoids (above 2000 arms the arm "
        "nearest to the mean), no greatest depth; none of the original's constants",
    ),
)
