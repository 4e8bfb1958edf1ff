"""The errors of the paper, each shown in numbers; docs/errata.md explains them.

What is printed fails, and what this package uses in its place holds.
"""

from collections.abc import Mapping

from kernelbandits.verification.errata import constants, lemmas, proof, theorem2
from kernelbandits.verification.statements import Topic

ERRATA: Mapping[str, Topic] = {
    "E1": proof.check_ghost_sample,
    "E2": proof.check_lost_indicator,
    "E3": proof.check_leftover_term,
    "E4": constants.check_order_of_c3,
    "E5": constants.check_mixture_theorem,
    "E6": theorem2.check_lower_bound_proof,
    "E7": lemmas.check_lost_factor,
    "E8": lemmas.check_matern_and_definitions,
    "E9": lemmas.check_same_index,
    "E10": constants.check_conditional_optimism,
    "E12": lemmas.check_dropped_logarithm,
}

__all__ = ["ERRATA"]
