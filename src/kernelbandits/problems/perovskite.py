"""Stability of lead-iodide perovskite films by composition (Sun et al., Matter 4, 2021): 94 arms.

The file is not part of the package. It is found by name or downloaded, and its checksum is checked.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import platformdirs

from kernelbandits.problems.noise import Noise
from kernelbandits.problems.tables import TableProblem, read_table
from kernelbandits.runtime import install_command, is_installed

VARIABLE = "KERNELBANDITS_DATA"
FILE_NAMES = ("perovskite.csv", "Perovskite_dataset.csv")
COMMIT = "b653ddabe53f6c95c3fb9eb71f1dbf714f82b47d"
REPOSITORY = "https://raw.githubusercontent.com/PV-Lab/Benchmarking"
URL = f"{REPOSITORY}/{COMMIT}/datasets/Perovskite_dataset.csv"
SHA256 = "9e9c5c2c698902ae17ba5e8f037c7f10d5889c02a419fe3897e4724f805263b9"
PATIENCE = 5
"""Seconds to wait for the origin to answer."""


class DataUnavailable(FileNotFoundError):
    """The data are neither on this machine nor to be had from their origin.

    >>> from kernelbandits.problems import DataUnavailable
    >>> issubclass(DataUnavailable, FileNotFoundError)
    True
    """


def perovskite(
    noise: Noise | None = None, repeats: str = "average", scale: bool = True
) -> TableProblem:
    """Return the problem f(x) = minus the instability index at the composition x = (Cs, FA, MA).

    Rewards are scaled to [0, 1]; with `scale=False` they have the units of the data. `noise` and
    `repeats` are those of `read_table`.

    >>> import kernelbandits as kb
    >>> problem = kb.problems.perovskite(repeats="replicates")  # doctest: +SKIP
    >>> len(problem.table.domain), problem.columns  # doctest: +SKIP
    (94, ('CsPbI', 'FAPbI', 'MAPbI'))
    """
    return read_table(
        perovskite_file(),
        columns=("CsPbI", "FAPbI", "MAPbI"),
        target="Instability index",
        direction="minimize",
        repeats=repeats,
        scale=scale,
        # The paper plays on the fractions of Cs, FA and MA as they are.
        unit_columns=False,
        noise=noise,
        name="perovskite",
        title="Perovskite (d = 3)",
    )


def perovskite_file() -> Path:
    """Return the path of the data: in the folder KERNELBANDITS_DATA, or in the cache.

    If neither has it, it is downloaded to the cache.

    >>> from kernelbandits.problems import perovskite_file
    >>> perovskite_file().name  # doctest: +SKIP
    'perovskite.csv'
    """
    for path in possible_files():
        if path.is_file() and (path.parent != cache_folder() or checksum(path) == SHA256):
            return verify_checksum(path)
    return verify_checksum(download_file(cache_folder()))


def possible_files() -> Iterator[Path]:
    folder = os.environ.get(VARIABLE)
    if folder:
        yield from (Path(folder) / name for name in FILE_NAMES)
    yield cache_folder() / FILE_NAMES[0]


def cache_folder() -> Path:
    return platformdirs.user_cache_path("kernelbandits")


def verify_checksum(path: Path) -> Path:
    if checksum(path) != SHA256:
        raise DataUnavailable(f"{path} needs the sha256 {SHA256}, got {checksum(path)}")
    return path


def checksum(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def where_to_put_it() -> str:
    """Say where to put the file, and where it was looked for in vain."""
    folder = os.environ.get(VARIABLE)
    vain = f" ({folder} holds none)" if folder else ""
    return f"set {VARIABLE} to the folder that holds {FILE_NAMES[0]}{vain}"


def download_file(folder: Path) -> Path:
    if not is_installed("pooch"):
        advice = f"{install_command('experiments')}, or {where_to_put_it()}"
        raise DataUnavailable(f"the perovskite data need pooch to be downloaded: {advice}")
    import pooch

    pooch.get_logger().setLevel("ERROR")
    patient = pooch.HTTPDownloader(progressbar=False, timeout=PATIENCE)
    try:
        return Path(
            pooch.retrieve(URL, f"sha256:{SHA256}", FILE_NAMES[0], folder, downloader=patient)
        )
    except (OSError, ValueError) as error:
        raise DataUnavailable(
            f"the perovskite data need {URL}, got {type(error).__name__}; {where_to_put_it()}"
        ) from error
