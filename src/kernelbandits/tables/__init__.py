"""Tables: CSV files, DataFrames and arrays as columns with roles; results files; export."""

from kernelbandits.tables.csv_files import read_csv
from kernelbandits.tables.results import Result, read_results
from kernelbandits.tables.table import Column, Table

__all__ = [
    "Column",
    "Result",
    "Table",
    "read_csv",
    "read_results",
]
