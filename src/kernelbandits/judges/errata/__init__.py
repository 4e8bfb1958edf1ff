"""The paper's slips, each shown in numbers: what is printed fails, what stands in its place holds (docs/errata.md)."""

from collections.abc import Mapping

from kernelbandits.judges.errata import constants, lemmas, proof, theorem2
from kernelbandits.judges.finding import Judge

ERRATA: Mapping[str, Judge] = {
    "E1": proof.ghost,
    "E2": proof.indicator,
    "E3": proof.leftover,
    "E4": constants.logarithm,
    "E5": constants.mixture,
    "E6": theorem2.lower_bound,
    "E7": lemmas.lost_factor,
    "E8": lemmas.matern,
    "E9": lemmas.same_index,
    "E10": constants.conditional,
}

__all__ = ["ERRATA"]
