"""A study written to a file: its trials as CSV or Parquet, or all of it as a workbook."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelbandits.checks import needs
from kernelbandits.outputs import check_output
from kernelbandits.runtime import require
from kernelbandits.study.dataframes import with_labels
from kernelbandits.tables.export import write_csv
from kernelbandits.tables.parquet_files import write_parquet
from kernelbandits.tables.results import SHEETS
from kernelbandits.tables.workbooks import Sheet, write_workbook

if TYPE_CHECKING:
    import pandas as pd

    from kernelbandits.study.study import Study

CSV, WORKBOOK, PARQUET = "CSV", "workbook", "Parquet"
FORMATS = {"": CSV, ".csv": CSV, ".txt": CSV, ".xlsx": WORKBOOK, ".parquet": PARQUET}
"""The end of the name of a file -> what is written."""
NO_SIMILARITY = "known by their similarity, which is not in this workbook; `study backup` copies it"
PACKAGES = {WORKBOOK: ("openpyxl", "excel"), PARQUET: ("pyarrow", "parquet")}
"""Format -> the package that writes it, and the extra that installs the package."""


def check_export(path: str | Path, force: bool) -> str:
    """Check that a file can be written, and return the format that its name asks for."""
    check_output("an export", path, force)
    suffix = Path(path).suffix.lower()
    needed = "a name that ends in .csv, .xlsx or .parquet"
    needs(suffix in FORMATS, "an export", needed, str(path))
    form = FORMATS[suffix]
    if form in PACKAGES:
        package, extra = PACKAGES[form]
        require(package, extra=extra, owner=f"an export to {Path(path).name}")
    return form


def export_study(study: Study, path: str | Path, force: bool) -> None:
    """Write the trials of a study; to a workbook also its candidates and their estimates."""
    form = check_export(path, force)
    trials = study.to_dataframe()
    if form == CSV:
        write_csv(path, list(trials.columns), trials.itertuples(index=False), force=force)
    elif form == PARQUET:
        write_parquet(path, trials, force=force)
    else:
        write_workbook(path, list_sheets(study, trials), force=force)


def list_sheets(study: Study, trials: pd.DataFrame) -> list[Sheet]:
    """List the sheets of a workbook: trials, candidates or space, estimates, and what they are."""
    place, estimates = study.candidates, study.estimates()
    wanted = {f"target {one.name}": one.sentence for one in study.targets}
    about = {
        "target": study.target,
        "direction": study.direction,
        **(wanted if study.shows_targets else {}),
        "trials": len(trials),
        "times": "UTC",
        "interval (low, high)": "95 % interval of the estimate, not of a new measurement",
        "caution": estimates.attrs["caution"],
    }
    if place.by_similarity:
        about["candidates"] = NO_SIMILARITY
    return [
        frame_sheet(SHEETS[0], trials),
        *(Sheet(*described) for described in place.sheets()),
        frame_sheet("estimates", with_labels(estimates, place)),
        Sheet("about", ["what", "value"], [*about.items()]),
    ]


def frame_sheet(name: str, frame: pd.DataFrame) -> Sheet:
    return Sheet(name, list(frame.columns), [*frame.itertuples(index=False, name=None)])
