"""What a table is made from: a file, a DataFrame, an array or a list of mappings."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.outputs import has_mark
from kernelbandits.tables.cells import check_storable, plain, text_of
from kernelbandits.tables.csv_files import read_csv
from kernelbandits.tables.encodings import check_file
from kernelbandits.tables.headers import check_distinct, move_units_to_headers
from kernelbandits.tables.parquet_files import read_parquet
from kernelbandits.tables.table import MOST_ROWS, Origin, Table, make_table, origin, refuse_problems
from kernelbandits.tables.workbook_parts import is_workbook
from kernelbandits.tables.workbooks import read_workbook

if TYPE_CHECKING:
    import pandas as pd

ARRAY = "the array"
CELLS = "a CSV file or a workbook"
ARCHIVE, PARQUET, NUMPY = b"PK\x03\x04", b"PAR1", b"\x93NUMPY"
"""How files begin that are no text."""
LONGEST_HEADER = 10_000
"""Bytes that numpy itself takes of the header of a file that nobody vouches for."""


def read_table(
    source: Any,
    worksheet: str | None = None,
    preferred: Sequence[str] = (),
    names: Sequence[str] | None = None,
    header_row: int | None = None,
    cells: Mapping[str, str] | None = None,
    checked: bool = True,
) -> Table | None:
    """Read a file or a DataFrame as a table (`table`); return None for what is neither.

    Parameters
    ----------
    source
        A CSV file, a workbook, a Parquet file or a numpy file, known by its content and not by its
        name; or a DataFrame.
    worksheet, preferred
        Which sheet of a workbook is read (`read_workbook`).
    names
        What the columns of a numpy file without names are called.
    header_row, cells
        Of a CSV file or a workbook: the row with the names of the columns, if it is known, and
        what to read in place of some cells, by their names such as B7.
    checked
        Whether cells that cannot be used, whatever their column is for, are refused here. Else the
        caller refuses those in the columns that it uses (`Origin.problems`).
    """
    if isinstance(source, (str, PathLike)):
        return read_file(source, worksheet, preferred, names, header_row, cells, checked)
    kind = type(source).__name__
    checks.needs(worksheet is None, "worksheet", "a workbook", kind)
    checks.needs(header_row is None, "header_row", CELLS, kind)
    checks.needs(not cells, "cells", CELLS, kind)
    return move_units_to_headers(frame_table(source)) if is_frame(source) else None


def read_file(
    path: str | PathLike[str],
    worksheet: str | None = None,
    preferred: Sequence[str] = (),
    names: Sequence[str] | None = None,
    header_row: int | None = None,
    cells: Mapping[str, str] | None = None,
    checked: bool = True,
) -> Table:
    """Read a file as a table (`read_table`); its content tells what kind of file it is."""
    start, file = read_start(path), Path(path).name
    if start.startswith(ARCHIVE) and is_workbook(Path(path)):
        found = read_workbook(path, worksheet, preferred, header_row, cells)
        refuse_problems(origin(found).problems if checked else ())
        return move_units_to_headers(found)
    checks.needs(worksheet is None or not start, "worksheet", "a workbook (.xlsx)", file)
    if start.startswith((NUMPY, PARQUET)):
        checks.needs(header_row is None, "header_row", CELLS, file)
        checks.needs(not cells, "cells", CELLS, file)
    if start.startswith(NUMPY):
        return numpy_table(path, names)
    if start.startswith(PARQUET):
        return move_units_to_headers(frame_table(read_parquet(path), file, from_file=True))
    found = read_csv(path, header_row, cells)
    refuse_problems(origin(found).problems if checked else ())
    return move_units_to_headers(found)


def read_start(path: str | PathLike[str]) -> bytes:
    """Return the first bytes of a file; b"" of a study or no file, which the reader refuses."""
    if has_mark(Path(path)):
        return b""
    try:
        with Path(path).open("rb") as file:
            return file.read(8)
    except (OSError, ValueError):
        return b""


def numpy_table(path: str | PathLike[str], names: Sequence[str] | None) -> Table:
    """Read an array saved by `numpy.save`: (n, d) numbers, or records with named columns.

    Arrays of Python objects are not read, because reading them runs code of the file.
    """
    place = check_file(path)
    file = place.name
    try:
        check_header(place)
        # The columns are copied from the disk one by one: the file is never in memory as a whole.
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    # A damaged header fails in many ways, and one that claims too large an array as a MemoryError.
    except Exception as error:
        objects = "Python objects" in str(error) or "allow_pickle" in str(error)
        got = "Python objects, which are not read from files" if objects else "one that is damaged"
        raise ValueError(f"{file} needs to be an array of numbers, got {got}") from None
    if array.dtype.names is None:
        return array_table(array, names, file)
    import pandas as pd

    flat = array.ndim == 1 and all(array.dtype[name].shape == () for name in array.dtype.names)
    checks.needs(flat, file, "one value in each column of its records", array.dtype)
    return frame_table(pd.DataFrame(array), file, from_file=True)


def check_header(path: Path) -> None:
    """Refuse a header that is longer than numpy reads, before numpy reads it."""
    with path.open("rb") as file:
        start = file.read(12)
    size = int.from_bytes(start[8:12] if start[6] > 1 else start[8:10], "little")
    checks.needs(size <= LONGEST_HEADER, path.name, f"a header of {LONGEST_HEADER} bytes", size)


def is_frame(source: Any) -> bool:
    """Tell whether this is a DataFrame, without importing pandas for the question."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(source, pandas.DataFrame)


def frame_table(
    frame: pd.DataFrame, source: str = "the DataFrame", from_file: bool = False
) -> Table:
    """Return any DataFrame as a table.

    Missing values are blank cells; a named index is a column of labels.
    """
    checks.needs(len(frame) <= MOST_ROWS, source, f"at most {MOST_ROWS} rows", len(frame))
    names = [label(name) for name in frame.columns]
    check_distinct(source, names)
    labels = index_labels(frame, names)
    columns = {name: frame_cells(name, values) for name, values in labels.items()}
    columns |= {name: frame_cells(name, frame.iloc[:, i]) for i, name in enumerate(names)}
    about = Origin(source, unit="row", labels=tuple(labels), from_file=from_file)
    return make_table(columns, range(len(frame)), about)


def index_labels(frame: pd.DataFrame, names: Sequence[str]) -> dict[str, Any]:
    """Return the named levels of an index; an index 0, 1, 2, ... only numbers the rows."""
    if frame.index.nlevels == 1 and list(frame.index) == list(range(len(frame))):
        return {}
    levels = {label(name): i for i, name in enumerate(frame.index.names) if name is not None}
    return {
        name: frame.index.get_level_values(i).to_series()
        for name, i in levels.items()
        if name not in names
    }


def frame_cells(name: str, values: Any) -> list[str] | Array:
    """Return the cells of a column of a DataFrame: floats as they are, anything else as text."""
    dtype = values.dtype
    if isinstance(dtype, np.dtype) and dtype.kind == "f":
        return np.array(values, dtype=np.float64)
    if isinstance(dtype, np.dtype) and dtype.kind in "iu":
        return list(map(str, values.tolist()))
    if dtype.name == "category":
        # Each category is made text once, however many cells have it.
        levels = [read_cell(f"column {name!r}", level) for level in values.cat.categories]
        texts = (*levels, "")
        return [texts[code] for code in values.cat.codes.tolist()]
    missing = values.isna().to_numpy()
    return [
        "" if absent else read_cell(f"row {row}, column {name!r}", value)
        for row, (value, absent) in enumerate(zip(values, missing, strict=True))
    ]


def read_cell(place: str, value: Any) -> str:
    """Return a cell of a DataFrame as text; an error says at which place it is none."""
    try:
        return text_of(value)
    except ValueError as error:
        raise ValueError(f"{error} in {place}") from None


def array_table(values: Any, names: Sequence[str] | None, source: str = ARRAY) -> Table:
    """Return an (n, d) array as a table, with columns x1 ... xd unless they are named."""
    checks.needs(
        not hasattr(values, "columns"),
        "candidates",
        "a pandas DataFrame (to_pandas())",
        type(values).__name__,
    )
    owner = "candidates" if source == ARRAY else source
    array = checks.points(owner, values)
    checks.needs(len(array) <= MOST_ROWS, source, f"at most {MOST_ROWS} rows", len(array))
    given = (
        [f"x{i + 1}" for i in range(array.shape[1])]
        if names is None
        else [label(name) for name in names]
    )
    checks.needs(len(given) == array.shape[1], owner, f"{array.shape[1]} names of columns", given)
    check_distinct(owner, given)
    about = Origin(source, unit="row", from_file=source != ARRAY)
    return make_table(dict(zip(given, array.T, strict=True)), range(len(array)), about)


def mapping_table(items: Iterable[Mapping[str, Any]]) -> Table:
    """Return a table with one row for each mapping; what a mapping does not have is blank."""
    rows = list(items) if isinstance(items, Iterable) else [items]
    checks.needs(
        all(isinstance(row, Mapping) for row in rows), "results", "a list of mappings", items
    )
    names = {name: label(name) for row in rows for name in row}
    check_distinct("results", list(names.values()))
    columns = {
        text: [read_cell(f"item {i}, column {text!r}", row.get(name)) for i, row in enumerate(rows)]
        for name, text in names.items()
    }
    return make_table(columns, range(len(rows)), Origin("results", unit="item"))


def label(name: Any) -> str:
    return check_storable(plain(str(name)))
