"""Work on cells on a Dask cluster: several machines, or processes of this one."""

from __future__ import annotations

import logging
import platform
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from platformdirs import user_cache_path

from kernelbandits import checks
from kernelbandits.experiment.blocks import SeedBlock
from kernelbandits.experiment.cells import Cell, code_fingerprint
from kernelbandits.experiment.engines import load_loops, resolve_engine
from kernelbandits.experiment.workers import (
    Mapper,
    name_lost,
    one_thread,
    process_context,
    start_method,
)
from kernelbandits.formatting import mask_password
from kernelbandits.processes import ignore_interrupts
from kernelbandits.runtime import MOST_WORKERS, require

if TYPE_CHECKING:
    from distributed import Client, Future

LOCAL = "local"
"""In place of an address: a cluster of processes on this machine, for as long as it is used."""
PATIENCE = 10.0
"""Seconds in which a scheduler has to answer."""
WORKER_PATIENCE = 30.0
"""Seconds in which a scheduler has to have a worker."""
LOCAL_CLUSTER: Mapping[str, Any] = {
    # A worker gets no second task while it plays one: if it is killed, the task that killed it is
    # the only one that Dask counts against.
    "distributed.scheduler.worker-saturation": 1.0,
    # How many lost workers a task survives: as with worker processes of our own (MOST_DEATHS).
    "distributed.scheduler.allowed-failures": 3,
}


class SchedulerLost(OSError):
    """The scheduler of a Dask cluster does not answer, or has no workers."""


@contextmanager
def dask_mapper(cluster: str | Client, workers: int = 2) -> Iterator[Mapper]:
    """A `mapper` that spreads blocks of seeds over the workers of a Dask cluster.

    Each machine needs the same version of kernelbandits and of numpy, scipy and numba. The results
    are bit by bit those of one process. A worker that is lost is replaced by another one; what a
    scheduler takes with it when it ends is played again by the next run.

    Parameters
    ----------
    cluster
        The address of a scheduler, "tcp://scheduler:8786" or "tls://scheduler:8786"; a
        `distributed.Client`; or "local" for processes of this machine on the loopback address.
    workers
        How many processes a local cluster has.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> from kernelbandits.experiment import dask_mapper
    >>> with dask_mapper("tcp://scheduler:8786") as mapper:  # doctest: +SKIP
    ...     results = kb.run_experiment("hartmann6", ["simple-ucb", "gp-ts"], mapper=mapper)
    """
    require("distributed", extra="cluster", owner="a Dask cluster")
    with ExitStack() as stack:
        stack.enter_context(quiet_logs())
        client = stack.enter_context(connect(cluster, workers))
        wait_for_worker(client)
        yield ClusterMapper(client)


@contextmanager
def connect(cluster: str | Client, workers: int) -> Iterator[Client]:
    """A client of the cluster; one that was given stays open."""
    import dask
    from distributed import Client, LocalCluster

    if isinstance(cluster, Client):
        yield cluster
        return
    checks.needs(isinstance(cluster, str), "--dask", "an address, or local", cluster)
    if cluster != LOCAL:
        with open_client(cluster) as client:
            yield client
        return
    count = checks.whole("an experiment", "workers", workers)
    checks.needs(count <= MOST_WORKERS, "an experiment", f"workers <= {MOST_WORKERS}", workers)
    with dask.config.set(LOCAL_CLUSTER), warm_starts():
        # The workers leave Ctrl-C to this process, which ends them.
        with one_thread(), ignore_interrupts():
            started = LocalCluster(
                n_workers=count,
                threads_per_worker=1,
                processes=True,
                host="127.0.0.1",
                dashboard_address=None,
                silence_logs=logging.CRITICAL,
            )
        with started, Client(started) as client:
            yield client


@contextmanager
def warm_starts() -> Iterator[None]:
    """Fork the workers of a local cluster from one process that has all imports done.

    Dask would start each of them afresh, and again after a loss: some seconds of imports each time.
    """
    import dask
    from distributed.utils import get_mp_context

    with dask.config.set({"distributed.worker.multiprocessing-method": start_method()}):
        # Dask names what the process is to import the first time it is asked; ours replaces it.
        get_mp_context()
        process_context("distributed.nanny")
        yield


@contextmanager
def open_client(address: str) -> Iterator[Client]:
    """A client of the scheduler at an address."""
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE)
    except ValueError as error:
        raise ValueError(
            f"--dask needs the address of a scheduler, as in tcp://scheduler:8786, or local, got "
            f"{mask_password(address)!r}: {error}"
        ) from None
    except OSError:
        raise SchedulerLost(
            f"no Dask scheduler answers at {address} within {PATIENCE:g} seconds; start one there "
            "with `dask scheduler`, or use --dask local"
        ) from None
    try:
        yield client
    finally:
        client.close(timeout=PATIENCE)


def wait_for_worker(client: Client) -> None:
    """Refuse a scheduler that has no workers: its tasks would wait for ever."""
    try:
        client.wait_for_workers(1, timeout=WORKER_PATIENCE)
    except TimeoutError:
        raise SchedulerLost(
            f"the Dask scheduler at {client.scheduler.address} has no workers; start some with "
            f"`dask worker {client.scheduler.address} --nthreads 1`"
        ) from None


class ClusterMapper:
    """A mapper whose items are tasks of a Dask cluster, each known by what decides its result."""

    def __init__(self, client: Client) -> None:
        self.client = client

    def __call__(self, work: Callable[[Any], Any], items: Sequence[Any]) -> Iterator[Any]:
        """The results in the order of the items."""
        found = {id(item): result for item, result in self.as_completed(work, items)}
        return (found[id(item)] for item in items)

    def as_completed(
        self, work: Callable[[Any], Any], items: Sequence[Any]
    ) -> Iterator[tuple[Any, Any]]:
        """Yield (item, result) when each is ready; items whose workers are always lost come last.

        They are then named in a `WorkersLost` error.
        """
        from distributed import KilledWorker, as_completed

        futures = dict(zip(self.submit(work, items), items, strict=True))
        lost: list[Any] = []
        try:
            for future in as_completed(list(futures), raise_errors=False):
                item = futures[future]
                try:
                    result = self.take_result(future)
                except KilledWorker:
                    lost.append(item)
                    continue
                # The worker need not keep what is here.
                future.release()
                yield item, result
        finally:
            self.forget(list(futures))
        if lost:
            raise name_lost(lost, len(items))

    def submit(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Future]:
        """A task for each item; a cell is a task of its own, which its blocks depend on.

        So a large table is sent to a worker once, and again if that worker is lost.
        """
        code, name = code_fingerprint(), describe_work(work)
        cells: dict[str, Future] = {}
        futures = []
        for item in items:
            if isinstance(item, SeedBlock):
                key = item.cell.key
                if key not in cells:
                    with warnings.catch_warnings():
                        # Dask advises other ways for large values; this one survives lost workers.
                        warnings.filterwarnings("ignore", message="Sending large graph")
                        cells[key] = self.client.submit(return_cell, item.cell, key=f"cell-{key}")
                place = (item.start, item.stop)
                task = partial(work_on_block, work, code)
                futures.append(
                    self.client.submit(task, cells[key], *place, key=f"{name}-{item.key}")
                )
            else:
                futures.append(self.client.submit(partial(work_alike, work, code), item))
        return futures

    def forget(self, futures: Sequence[Future]) -> None:
        """Let the scheduler forget tasks, so that the same ones can be played again."""
        for future in futures:
            future.release()
        if self.client.status == "running":
            # A key that is asked for again before its release was sent would still be known, with
            # the error it ended with.
            self.client.sync(wait_a_turn)

    def take_result(self, future: Future) -> Any:
        """The result of a finished task; an error if the scheduler has gone."""
        from distributed.comm import CommClosedError

        try:
            return future.result()
        except (CancelledError, CommClosedError):
            raise SchedulerLost(
                "the Dask scheduler has gone away; what had finished is kept, and the same command "
                "plays the rest when there is a scheduler again"
            ) from None


async def wait_a_turn() -> None:
    """Come back after what the client had to do before."""


def describe_work(work: Callable[[Any], Any]) -> str:
    """The name of a function, and its first arguments if it is partial."""
    if isinstance(work, partial):
        return "-".join([work.func.__name__, *map(str, work.args)])
    return work.__name__


def return_cell(cell: Cell) -> Cell:
    return cell


def work_on_block(work: Callable[[Any], Any], code: str, cell: Cell, start: int, stop: int) -> Any:
    """What a worker does with a block."""
    return work_alike(work, code, SeedBlock(cell, start, stop))


def work_alike(work: Callable[[Any], Any], code: str, item: Any) -> Any:
    """Work on an item, if the source of the package is the same here and where it was sent."""
    if code_fingerprint() != code:
        raise ValueError(
            f"every machine of a cluster needs the same version of kernelbandits, got another one "
            f"on {platform.node()}"
        )
    warm_up()
    return work(item)


@cache
def warm_up() -> None:
    """Load the compiled loops; of all processes of a machine the first one compiles them.

    The others wait for it and load what it has written to the cache of numba.
    """
    if resolve_engine("auto") != "numba":
        return
    with lock_machine(user_cache_path("kernelbandits")):
        load_loops()


@contextmanager
def lock_machine(folder: Path) -> Iterator[None]:
    """Let one process of this machine at a time in; a process that is killed leaves no lock."""
    import fcntl

    folder.mkdir(parents=True, exist_ok=True)
    # Home folders are often shared by all machines of a cluster.
    with (folder / f"compile-{platform.node()}.lock").open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep Dask from printing every lost connection: what matters is raised as an error."""
    import distributed  # noqa: F401  (its loggers are made on import)

    loggers = [
        logging.getLogger(name)
        for name in logging.root.manager.loggerDict
        if name.split(".")[0] == "distributed"
    ]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
