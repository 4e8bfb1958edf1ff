"""The theory checked by simulation, against formulas that share nothing with the engine.

`hear(["engine", "potential"])` gives findings: statement, predicted, observed, verdict. `JUDGES` are all by name.
"""

from kernelbandits.judges.court import JUDGES, hear
from kernelbandits.judges.finding import FAILS, HOLDS, Effort, Finding, Judge, verdict

__all__ = ["FAILS", "HOLDS", "JUDGES", "Effort", "Finding", "Judge", "hear", "verdict"]
