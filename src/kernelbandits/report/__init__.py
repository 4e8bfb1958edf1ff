"""Results into figures, tables, judged claims and one page to send."""

from kernelbandits.experiment.summary import summary
from kernelbandits.report.documents import write_reproduction, write_run
from kernelbandits.report.reproduction import Reproduction, plan, reproduce

__all__ = ["Reproduction", "plan", "reproduce", "summary", "write_reproduction", "write_run"]
