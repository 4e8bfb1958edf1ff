"""Tables: CSV files, DataFrames and arrays as columns with roles; results files; export."""

from kernelbandits.tables.csv_files import read_csv
from kernelbandits.tables.results import Result, read_results

__all__ = [
    "Result",
    "read_csv",
    "read_results",
]
