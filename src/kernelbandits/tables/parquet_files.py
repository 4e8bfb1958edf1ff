"""Parquet files as tables, and tables as Parquet files."""

from __future__ import annotations

from io import BytesIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from kernelbandits import checks
from kernelbandits.outputs import replace_file
from kernelbandits.runtime import require
from kernelbandits.tables.cells import text_of
from kernelbandits.tables.csv_files import MOST_CELLS, MOST_COLUMNS
from kernelbandits.tables.encodings import MOST_BYTES, read_content
from kernelbandits.tables.export import is_missing
from kernelbandits.tables.table import MOST_ROWS

if TYPE_CHECKING:
    import pandas as pd
    from pyarrow import ChunkedArray, Field
    from pyarrow.parquet import ParquetFile

LARGEST_RATIO, SMALL = 100, 2**26
"""How many times its size a file may unpack to, if that is more than SMALL bytes."""


def read_parquet(path: str | PathLike[str]) -> pd.DataFrame:
    """Return the file as a DataFrame, with the index that pandas stored in it."""
    file = Path(path).name
    require("pyarrow", extra="parquet", owner=file)
    import pyarrow as pa
    import pyarrow.parquet as pq

    raw = read_content(path)
    try:
        found = pq.ParquetFile(BytesIO(raw))
        check_size(file, found, len(raw))
        names = [field.name for field in found.schema_arrow if holds_text(file, field)]
        # A text that is repeated a million times stays one text in memory.
        table = pq.ParquetFile(BytesIO(raw), read_dictionary=names).read()
        texts = sum(count_letters(table.column(name)) for name in names)
        check_unpacked(file, 8 * table.num_rows * table.num_columns + texts, len(raw))
        frame: pd.DataFrame = table.to_pandas(integer_object_nulls=True)
        return frame
    except (pa.ArrowException, OSError) as error:
        said = str(error).splitlines()[0]
        raise ValueError(
            f"{file} needs to be a Parquet file that can be read, got one that is damaged ({said})"
        ) from None


def holds_text(file: str, field: Field) -> bool:
    """Tell whether a column holds text; refuse one of lists, records or bytes before it is read."""
    from pyarrow import types

    kind = getattr(field.type, "storage_type", field.type)
    kind = kind.value_type if types.is_dictionary(kind) else kind
    if types.is_nested(kind) or "binary" in str(kind):
        raise ValueError(f"{file} needs numbers or text in column {field.name!r}, got {field.type}")
    return "string" in str(kind)


def count_letters(column: ChunkedArray) -> int:
    """Count the bytes of the texts of a column; each text counts wherever it stands."""
    from pyarrow import compute

    total = 0
    for chunk in column.chunks:
        lengths = compute.take(compute.binary_length(chunk.dictionary), chunk.indices)
        total += compute.sum(lengths).as_py() or 0
    return total


def check_size(file: str, parquet: ParquetFile, packed: int) -> None:
    """Refuse a file that is small on the disk and would fill the memory."""
    about = parquet.metadata
    rows, columns = about.num_rows, about.num_columns
    checks.needs(rows <= MOST_ROWS, file, f"at most {MOST_ROWS} rows", rows)
    checks.needs(columns <= MOST_COLUMNS, file, f"at most {MOST_COLUMNS} columns", columns)
    checks.needs(rows * columns <= MOST_CELLS, file, f"at most {MOST_CELLS} cells", rows * columns)
    size = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    # A page is held twice while it is unpacked.
    check_unpacked(file, max(2 * size, 8 * rows * columns), packed)


def check_unpacked(file: str, size: int, packed: int) -> None:
    most = min(MOST_BYTES, max(SMALL, LARGEST_RATIO * packed))
    if size > most:
        raise ValueError(
            f"{file} needs to unpack to at most {most} bytes, as a file of {packed} bytes may, got "
            f"{size}; save it as CSV"
        )


def write_parquet(path: str | Path, frame: pd.DataFrame, force: bool = False) -> None:
    """Write a DataFrame, completely or not at all; the types of its columns are kept.

    An existing file is only replaced with `force`, and a study never.
    """
    content = BytesIO()
    objects = {name: frame[name] for name in frame.columns if frame[name].dtype == object}
    # A column of a Parquet file has one type: values of several types are written as text.
    texts = {
        name: values.map(text_of, na_action="ignore")
        for name, values in objects.items()
        if len({type(value) for value in values if not is_missing(value)}) > 1
    }
    frame.assign(**texts).to_parquet(content, engine="pyarrow", index=False)
    replace_file(path, content.getvalue(), force=force)
