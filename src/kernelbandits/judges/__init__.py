"""The theory checked by simulation, against formulas that share nothing with the engine."""

from kernelbandits.judges.finding import FAILS, HOLDS, Effort, Finding, Judge, verdict

__all__ = ["FAILS", "HOLDS", "Effort", "Finding", "Judge", "verdict"]
