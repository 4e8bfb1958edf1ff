"""A mapper that spreads the work of an experiment over a Dask cluster."""

from __future__ import annotations

import logging
import platform
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

from kernelbandits import checks
from kernelbandits.experiment.blocks import SeedBlock
from kernelbandits.experiment.cells import Cell, code_fingerprint
from kernelbandits.experiment.workers import Numbered, SpreadMapper
from kernelbandits.formatting import mask_password
from kernelbandits.processes import Death, Mapper, check_workers, ignore_interrupts
from kernelbandits.runtime import require

if TYPE_CHECKING:
    from distributed import Client, Future

LOCAL = "local"
"""In place of an address: a cluster of processes on this machine, for as long as it is used."""
PATIENCE = 10.0
"""Seconds in which a scheduler has to answer."""
WORKER_PATIENCE = 30.0
"""Seconds in which a scheduler has to have a worker."""


class SchedulerLost(OSError):
    """The scheduler of a Dask cluster does not answer, or has no workers."""


@contextmanager
def dask_mapper(cluster: str | Client, workers: int = 2) -> Iterator[Mapper]:
    """Yield a mapper that spreads blocks of seeds over the workers of a Dask cluster.

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
    with quiet_logs(), connect(cluster, workers) as client:
        try:
            client.wait_for_workers(1, timeout=WORKER_PATIENCE)
        except TimeoutError:
            # Without workers the tasks would wait for ever.
            raise SchedulerLost(
                f"the Dask scheduler at {client.scheduler.address} has no workers; start some with "
                f"`dask worker {client.scheduler.address} --nthreads 1`"
            ) from None
        # Dask itself lets other workers begin a lost task again.
        yield SpreadMapper(partial(run_tasks, client))


@contextmanager
def connect(cluster: str | Client, workers: int) -> Iterator[Client]:
    """Yield a client of the cluster; one that was given stays open."""
    from distributed import Client

    if isinstance(cluster, Client):
        yield cluster
        return
    checks.needs(isinstance(cluster, str), "--dask", "an address, or local", cluster)
    if cluster == LOCAL:
        with start_cluster(workers) as started, Client(started) as client:
            yield client
        return
    try:
        client = Client(cluster, timeout=PATIENCE)
    except ValueError as error:
        raise ValueError(
            f"--dask needs the address of a scheduler, as in tcp://scheduler:8786, or local, got "
            f"{mask_password(cluster)!r}: {error}"
        ) from None
    except OSError:
        raise SchedulerLost(
            f"no Dask scheduler answers at {cluster} within {PATIENCE:g} seconds; start one there "
            "with `dask scheduler`, or use --dask local"
        ) from None
    try:
        yield client
    finally:
        client.close(timeout=PATIENCE)


def start_cluster(workers: int) -> Any:
    """Start a cluster of processes on this machine."""
    import dask
    from distributed import LocalCluster

    count = check_workers("an experiment", workers)
    # A worker gets no second task while it plays one: if it is killed, the task that killed it is
    # the only one that Dask counts against. And it leaves Ctrl-C to this process, which ends it.
    alone = {"distributed.scheduler.worker-saturation": 1.0}
    with dask.config.set(alone), ignore_interrupts():
        return LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address=None,
            silence_logs=logging.CRITICAL,
        )


def run_tasks(client: Client, work: Callable[[Any], Any], items: Sequence[Any]) -> Numbered:
    """Begin a task for each item, and return their numbers with their results, or with a `Death`.

    A cell is a task of its own, on which its blocks depend: so a large table is sent to a worker
    once, and again if that worker is lost.
    """
    cells: dict[str, Future] = {}
    for item in items:
        if isinstance(item, SeedBlock) and item.cell.key not in cells:
            with warnings.catch_warnings():
                # Dask advises other ways for large values; this one survives lost workers.
                warnings.filterwarnings("ignore", message="Sending large graph")
                cells[item.cell.key] = client.submit(return_cell, item.cell, pure=False)
    shared, own = [], []
    for item in items:
        block = isinstance(item, SeedBlock)
        shared.append(cells[item.cell.key] if block else None)
        own.append((item.start, item.stop) if block else item)
    task = partial(work_alike, work, code_fingerprint())
    # Names of its own for every task: Dask would remember those of the arguments with the error
    # that they ended with.
    return take_results(client.map(task, shared, own, pure=False))


def take_results(futures: Sequence[Future]) -> Numbered:
    """Yield the numbers of tasks with their results when these are there."""
    from distributed import KilledWorker, as_completed
    from distributed.comm import CommClosedError

    numbers = {future: number for number, future in enumerate(futures)}
    for future in as_completed(futures, raise_errors=False):
        try:
            result = future.result()
        except KilledWorker:
            result = Death()
        except (CancelledError, CommClosedError):
            raise SchedulerLost(
                "the Dask scheduler has gone away; what had finished is kept, and the same command "
                "plays the rest when there is a scheduler again"
            ) from None
        # The worker need not keep what is here.
        future.release()
        yield numbers[future], result


def return_cell(cell: Cell) -> Cell:
    """Return the cell: as the result of a task, it is sent to the workers that need it."""
    return cell


def work_alike(work: Callable[[Any], Any], code: str, cell: Cell | None, own: Any) -> Any:
    """Work on a block of a cell, or on an item, if the source of the package is the same here."""
    if code_fingerprint() != code:
        raise ValueError(
            f"every machine of a cluster needs the same version of kernelbandits, got another one "
            f"on {platform.node()}"
        )
    # Loads the compiled loops before the first cell.
    from kernelbandits.experiment import preload  # noqa: F401

    return work(own if cell is None else SeedBlock(cell, *own))


@contextmanager
def quiet_logs() -> Iterator[None]:
    """Keep Dask from printing every lost connection: what matters is raised as an error."""
    import distributed  # noqa: F401  (it sets the levels of its loggers on import)

    names = ("distributed", "distributed.client", "distributed.gc")
    loggers = [logging.getLogger(name) for name in names]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)
