"""Statistics of runs: the paper's claims, the ranking of policies, and what the theory guarantees.

Everything here takes the results of an experiment and returns values; `report` draws them.
"""

from kernelbandits.analysis.claims import Verdict, check_paper, check_settings
from kernelbandits.analysis.guarantees import Guarantee, guarantees
from kernelbandits.analysis.ranking import Ranking, ranking_of

__all__ = [
    "Guarantee",
    "Ranking",
    "Verdict",
    "check_paper",
    "check_settings",
    "guarantees",
    "ranking_of",
]
