"""Statistics of runs: the paper's claims, the ranking of policies, and what the theory guarantees.

Everything here takes the results of an experiment and returns values; `report` draws them.
"""

from kernelbandits.analysis.claims import Verdict, check_paper, check_readings, check_settings
from kernelbandits.analysis.guarantees import Guarantee, guarantees
from kernelbandits.analysis.ranking import Ranking, ranking_of
from kernelbandits.analysis.readings import ReadingSummary, summarise_readings

__all__ = [
    "Guarantee",
    "Ranking",
    "ReadingSummary",
    "Verdict",
    "check_paper",
    "check_readings",
    "check_settings",
    "guarantees",
    "ranking_of",
    "summarise_readings",
]
