"""Results into figures, tables, judged claims and one page to send."""

from kernelbandits.report.documents import write_reproduction, write_run
from kernelbandits.report.reproduction import Reproduction, plan, reproduce
from kernelbandits.report.summary import summary

__all__ = ["Reproduction", "plan", "reproduce", "summary", "write_reproduction", "write_run"]
