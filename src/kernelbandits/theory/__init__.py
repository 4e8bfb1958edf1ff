"""What can be proved: the information gain of a kernel on its arms."""

from kernelbandits.theory.information_gain import GAINS, GreedyGain, analytic_gain, gain_term

__all__ = ["GAINS", "GreedyGain", "analytic_gain", "gain_term"]
