"""What can be proved: constants of an exploration law, information gain, regret bounds, bands.

The modules are imported when one of their names is first used, so that a policy that needs one
formula of the theory does not wait for all of it.

>>> import kernelbandits as kb
>>> kb.theory.constants(kb.Bernoulli(0.5), horizon=1000).c1
0.5
>>> gain = kb.theory.information_gain(kb.RBF(0.2), kb.Arms([[0.0], [1.0]]), horizon=100)
>>> bound = kb.theory.regret_bound(kb.Bernoulli(0.5), 100, gain, noise_scale=0.01, norm_bound=1.0)
>>> round(bound.value), bound.trivial
(106, 200.0)
"""

from typing import TYPE_CHECKING, Any

from kernelbandits import runtime

if TYPE_CHECKING:
    from kernelbandits.theory.as_played import PlayedBound, effective_level
    from kernelbandits.theory.bands import Band, confidence_band
    from kernelbandits.theory.bounds import (
        RegretBound,
        first_useful,
        largest_useful_noise,
        regret_bound,
    )
    from kernelbandits.theory.designer import DesignedLaw, bound_factor, design
    from kernelbandits.theory.gains import GAINS, GreedyGain, analytic_gain, gain_term
    from kernelbandits.theory.gaps import GapBound
    from kernelbandits.theory.high_probability import HighProbabilityBound
    from kernelbandits.theory.information import InformationGain, growth, information_gain
    from kernelbandits.theory.law_constants import Constants, constants
    from kernelbandits.theory.law_moments import LawMoments
    from kernelbandits.theory.noise_free import NoiseFreeBound, noise_free_bound
    from kernelbandits.theory.paper_theorems import Theorem, linear_gain, theorems
    from kernelbandits.theory.rates import gain_exponent, rate_text
    from kernelbandits.theory.sublinearity import Sublinear, sublinear
    from kernelbandits.theory.ucb_bounds import UCBBound, ucb_bound

HOMES = {
    "as_played": ("PlayedBound", "effective_level"),
    "bands": ("Band", "confidence_band"),
    "bounds": ("RegretBound", "first_useful", "largest_useful_noise", "regret_bound"),
    "designer": ("DesignedLaw", "bound_factor", "design"),
    "gains": ("GAINS", "GreedyGain", "analytic_gain", "gain_term"),
    "gaps": ("GapBound",),
    "high_probability": ("HighProbabilityBound",),
    "information": ("InformationGain", "growth", "information_gain"),
    "law_constants": ("Constants", "constants"),
    "law_moments": ("LawMoments",),
    "noise_free": ("NoiseFreeBound", "noise_free_bound"),
    "paper_theorems": ("Theorem", "linear_gain", "theorems"),
    "rates": ("gain_exponent", "rate_text"),
    "sublinearity": ("Sublinear", "sublinear"),
    "ucb_bounds": ("UCBBound", "ucb_bound"),
}
"""Modules, and the names that this package takes from each."""

__all__ = [
    "GAINS",
    "Band",
    "Constants",
    "DesignedLaw",
    "GapBound",
    "GreedyGain",
    "HighProbabilityBound",
    "InformationGain",
    "LawMoments",
    "NoiseFreeBound",
    "PlayedBound",
    "RegretBound",
    "Sublinear",
    "Theorem",
    "UCBBound",
    "analytic_gain",
    "bound_factor",
    "confidence_band",
    "constants",
    "design",
    "effective_level",
    "first_useful",
    "gain_exponent",
    "gain_term",
    "growth",
    "information_gain",
    "largest_useful_noise",
    "linear_gain",
    "noise_free_bound",
    "rate_text",
    "regret_bound",
    "sublinear",
    "theorems",
    "ucb_bound",
]

# Hidden from mypy, which would accept any name of a module that has a __getattr__.
if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        return runtime.load_name(__name__, name, HOMES)

    def __dir__() -> list[str]:
        return sorted(__all__)
