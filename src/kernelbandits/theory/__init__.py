"""What can be proved: the information gain of a kernel on its arms."""

from kernelbandits.theory.gains import GAINS, GreedyGain, InformationGain, analytic_gain, gain_term, information_gain

__all__ = ["GAINS", "GreedyGain", "InformationGain", "analytic_gain", "gain_term", "information_gain"]
