"""What can be proved: the constants of an exploration law, the information gain, regret bounds, confidence bands."""

from kernelbandits.theory.bounds import RegretBound, regret_bound
from kernelbandits.theory.constants import Constants, constants
from kernelbandits.theory.gains import GAINS, GreedyGain, analytic_gain, gain_term
from kernelbandits.theory.information import InformationGain, information_gain

__all__ = [
    "GAINS",
    "Constants",
    "GreedyGain",
    "InformationGain",
    "RegretBound",
    "analytic_gain",
    "constants",
    "gain_term",
    "information_gain",
    "regret_bound",
]
