"""What can be proved: the constants of an exploration law, the information gain, regret bounds, confidence bands."""

from kernelbandits.theory.bands import Band, confidence_band
from kernelbandits.theory.bounds import RegretBound, first_useful, regret_bound
from kernelbandits.theory.constants import Constants, constants
from kernelbandits.theory.designer import DesignedLaw, RatedLaw, best_law
from kernelbandits.theory.gains import GAINS, GreedyGain, analytic_gain, gain_term
from kernelbandits.theory.information import InformationGain, growth, information_gain
from kernelbandits.theory.rates import gain_exponent, rate_text
from kernelbandits.theory.sublinearity import Sublinear, sublinear
from kernelbandits.theory.theorems import Theorem, linear_gain, theorems
from kernelbandits.theory.ucb_bound import UCBBound, ucb_bound

__all__ = [
    "GAINS",
    "Band",
    "Constants",
    "DesignedLaw",
    "GreedyGain",
    "InformationGain",
    "RatedLaw",
    "RegretBound",
    "Sublinear",
    "Theorem",
    "UCBBound",
    "analytic_gain",
    "best_law",
    "confidence_band",
    "constants",
    "first_useful",
    "gain_exponent",
    "gain_term",
    "growth",
    "information_gain",
    "linear_gain",
    "rate_text",
    "regret_bound",
    "sublinear",
    "theorems",
    "ucb_bound",
]
