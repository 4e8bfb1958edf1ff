"""Tables: CSV files, DataFrames and arrays as candidates with roles, results files, export."""

from kernelbandits.tables.candidates import Candidates, read_candidates, stored_candidates
from kernelbandits.tables.results import Result, read_results

__all__ = ["Candidates", "Result", "read_candidates", "read_results", "stored_candidates"]
