"""Tables: CSV files, DataFrames and arrays as columns with roles; results files; export."""

from kernelbandits.tables.candidates import Candidates, read_candidates, stored_candidates
from kernelbandits.tables.csv_files import read_csv
from kernelbandits.tables.results import Result, read_results

__all__ = [
    "Candidates",
    "Result",
    "read_candidates",
    "read_csv",
    "read_results",
    "stored_candidates",
]
