"""The running process: BLAS threads, garbage collector, memory, optional packages, late imports."""

from __future__ import annotations

import errno
import gc
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import cache, cached_property, wraps
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock, RLock, get_ident
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
S = TypeVar("S", bound="UsedByOne")

MOST_WORKERS = 1024
"""More processes than any machine has cores for; a larger number is a slip of the finger."""

WINDOWS_DESCRIPTORS = 512
NO_DESCRIPTOR = (errno.EMFILE, errno.ENFILE)
"""Numbers of the errors of a process, or a system, that has as many files open as it may."""

ThreadCounts = list[tuple[Any, int]]
"""BLAS libraries, each with a number of threads."""


class ProcessSetting(Generic[T]):
    """Change a setting of the whole process for as long as any block uses it.

    The first block that enters applies the change and the last one that leaves restores what was
    there before. Blocks may be nested, and blocks of several Python threads may overlap. A forked
    process has only the thread that forked, and no block of the others.

    Parameters
    ----------
    change
        Changes the setting and returns what is needed to restore it.
    restore
        Receives what `change` returned.
    """

    _before: T

    def __init__(self, change: Callable[[], T], restore: Callable[[T], None]) -> None:
        self._change, self._restore = change, restore
        self._lock = Lock()
        self._users: list[int] = []
        """The thread of each block."""
        if hasattr(os, "register_at_fork"):
            # Held meanwhile, so that no other thread is just entering or leaving a block.
            os.register_at_fork(
                before=self._lock.acquire,
                after_in_parent=self._lock.release,
                after_in_child=self._forget_other_threads,
            )

    def __enter__(self) -> None:
        with self._lock:
            if not self._users:
                self._before = self._change()
            self._users.append(get_ident())

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users.remove(get_ident())
            if not self._users:
                self._restore(self._before)

    def _forget_other_threads(self) -> None:
        """Forget other threads' blocks in a forked process, where nobody is left to end them."""
        was_changed = bool(self._users)
        self._users = [user for user in self._users if user == get_ident()]
        if was_changed and not self._users:
            self._restore(self._before)
        self._lock.release()


def renew_property_locks() -> None:
    """Give the cached properties of the package new locks, in a forked process.

    Up to Python 3.11 such a property is computed under a lock. If another thread held it when the
    process was forked, nobody is left to release it, and whoever reads the property waits for ever.
    """
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] != __package__ or module is None:
            continue
        classes = [value for value in vars(module).values() if isinstance(value, type)]
        for member in (member for one in classes for member in vars(one).values()):
            if isinstance(member, cached_property) and hasattr(member, "lock"):
                member.lock = RLock()


if hasattr(os, "register_at_fork") and sys.version_info < (3, 12):
    os.register_at_fork(after_in_child=renew_property_locks)


def blas_libraries() -> list[Any]:
    """Return the BLAS libraries that are loaded: that of numpy, and that of scipy once it is."""
    return find_blas_libraries("scipy.linalg._fblas" in sys.modules)


@cache
def find_blas_libraries(with_scipy: bool) -> list[Any]:
    """Look through all loaded libraries, which takes milliseconds; again when scipy has come."""
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController().lib_controllers
    return [library for library in libraries if library.user_api == "blas"]


def limit_threads() -> ThreadCounts:
    """Give every BLAS library one thread; return those that had more, with their number."""
    counts = [(library, library.get_num_threads() or 1) for library in blas_libraries()]
    limited = [(library, count) for library, count in counts if count > 1]
    set_threads([(library, 1) for library, _ in limited])
    return limited


def set_threads(counts: ThreadCounts) -> None:
    """Give each BLAS library its number of threads."""
    for library, count in counts:
        # threadpoolctl lets only the Python thread that set a limit change it again. Here the
        # last user restores the number, and that may be another thread, so the owner is cleared.
        clear_owner = getattr(library, "clear_controlling_thread", None)
        if clear_owner:
            clear_owner(force=True)
        library.set_num_threads(count)
        if clear_owner:
            clear_owner(force=True)


one_blas_thread = ProcessSetting(limit_threads, set_threads)


def single_threaded(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function so that BLAS uses one thread while it runs.

    On matrices of a few hundred rows the threads of BLAS spend ten times longer waiting for each
    other than they save. Parallel work is done by processes instead.
    """

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> T:
        with one_blas_thread:
            return function(*args, **kwargs)

    return call


class OneThread:
    """Admits one thread at a time, as often as it likes, and refuses the others.

    A copy, also one that was pickled, admits threads of its own.
    """

    def __init__(self) -> None:
        self._lock = RLock()

    def __reduce__(self) -> tuple[Any, ...]:
        return OneThread, ()

    def enter(self, owner: str) -> None:
        """Come in; an error if another thread is inside."""
        if not self._lock.acquire(blocking=False):
            raise RuntimeError(
                f"{owner} needs a policy that no other thread uses meanwhile, got one that another "
                "thread is asking or telling. Nothing has changed. Put a lock around ask and tell, "
                "or let each thread open the same kb.Study"
            )

    def leave(self) -> None:
        self._lock.release()


class UsedByOne(Protocol):
    """What `by_one_thread` needs of an object."""

    _users: OneThread


def by_one_thread(
    method: Callable[Concatenate[S, P], T],
) -> Callable[Concatenate[S, P], T]:
    """Decorate a method so that a thread that calls it while another is inside gets an error."""
    name = method.__qualname__

    @wraps(method)
    def call(self: S, /, *args: P.args, **kwargs: P.kwargs) -> T:
        self._users.enter(name)
        try:
            return method(self, *args, **kwargs)
        finally:
            self._users.leave()

    return call


def pause_gc() -> bool:
    """Switch the cyclic garbage collector off; return whether it was on."""
    was_enabled = gc.isenabled()
    gc.disable()
    return was_enabled


def resume_gc(was_enabled: bool) -> None:
    """Switch the cyclic garbage collector on again if it was on."""
    if was_enabled:
        gc.enable()


gc_paused = ProcessSetting(pause_gc, resume_gc)
"""`with gc_paused:` while a hundred thousand small objects are made that contain no cycles.

The collector would search them again and again; without it such a block takes a quarter less time.
"""


def available_memory() -> int | None:
    """Return how many bytes this process can get without swapping; None where that is unknown.

    It is what Linux calls MemAvailable, or what a container leaves if that is less.
    """
    limits = []
    with suppress(OSError, ValueError, StopIteration):
        lines = Path("/proc/meminfo").read_text().splitlines()
        line = next(line for line in lines if line.startswith("MemAvailable:"))
        limits.append(1024 * int(line.split()[1]))
    with suppress(OSError, ValueError):
        group = Path("/sys/fs/cgroup")
        most = int((group / "memory.max").read_text())
        limits.append(most - int((group / "memory.current").read_text()))
    return max(0, min(limits)) if limits else None


def require_memory(owner: str, needed: float, advice: str) -> None:
    """Raise an error if work that needs so many bytes cannot get them, before it begins.

    >>> require_memory("a run", 1e3, "fewer rounds need less")
    >>> require_memory("a run", 1e18, "fewer rounds need less")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    ValueError: a run needs 1e+09 GB of memory, got ... GB that are free; fewer rounds need less
    """
    free = available_memory()
    if free is not None and needed > free:
        raise ValueError(
            f"{owner} needs {needed / 1e9:.3g} GB of memory, got {free / 1e9:.3g} GB that are "
            f"free; {advice}"
        )


def descriptor_limit() -> int:
    """Return how many files and connections this process may have open."""
    try:
        import resource
    except ImportError:
        return WINDOWS_DESCRIPTORS
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return sys.maxsize if limit == resource.RLIM_INFINITY else limit


def has_free_descriptor() -> bool:
    """Tell whether this process can open a further file now."""
    try:
        os.close(os.open(os.devnull, os.O_RDONLY))
    except OSError as error:
        return error.errno not in NO_DESCRIPTOR
    return True


def is_installed(package: str) -> bool:
    """Tell whether the package can be imported, without importing it."""
    return find_spec(package) is not None


def install_command(extra: str) -> str:
    """Say how an extra is installed: kernelbandits is on no index, so from its sources.

    >>> install_command("lab")
    'pip install ".[lab]" in a checkout of kernelbandits'
    """
    return f'pip install ".[{extra}]" in a checkout of kernelbandits'


class MissingPackage(ImportError, ValueError):
    """An optional package is not installed, or too old; the message names the extra for it."""


SAFE = {"pyarrow": "14.0.1"}
"""The oldest version of a package that runs no code which a file contains (CVE-2023-47248)."""


def require(package: str, *, extra: str, owner: str) -> None:
    """Raise an error that names the extra to install if an optional package is missing or unsafe.

    Parameters
    ----------
    package
        Name under which the package is imported.
    extra
        The extra of kernelbandits that brings it, such as "experiments" or "excel".
    owner
        What needs the package, as the message should call it.

    Examples
    --------
    >>> require("numpy", extra="postgres", owner="a plot")
    >>> require("nosuch", extra="postgres", owner="a plot")
    Traceback (most recent call last):
    ...
    kernelbandits.runtime.MissingPackage: a plot needs nosuch, which is not installed: pip install \
".[postgres]" in a checkout of kernelbandits
    """
    if not is_installed(package):
        raise MissingPackage(
            f"{owner} needs {package}, which is not installed: {install_command(extra)}"
        )
    if package in SAFE:
        from importlib.metadata import version

        found = version(package)
        if [*map(int, re.findall(r"\d+", found)[:3])] < [*map(int, SAFE[package].split("."))]:
            raise MissingPackage(
                f"{owner} needs {package} {SAFE[package]} or newer, got {found}, which may run "
                f"code that a file contains: {install_command(extra)}"
            )


def load_name(package: str, name: str, homes: Mapping[str, Sequence[str]]) -> Any:
    """Return a name of a package whose modules are imported when one of their names is first used.

    A package calls this from its module-level `__getattr__`. The value is kept in the package, so
    every name is looked up once.

    Parameters
    ----------
    package
        Full name of the package.
    name
        The name that was asked for.
    homes
        Modules of the package, each with the names that the package takes from it.
    """
    for home, names in homes.items():
        if name in names:
            value = getattr(import_module(f"{package}.{home}"), name)
            setattr(sys.modules[package], name, value)
            return value
    # A module of the package itself: `kb.kernels` works without `import kernelbandits.kernels`.
    if not name.startswith("_") and find_spec(f"{package}.{name}"):
        return import_module(f"{package}.{name}")
    raise AttributeError(f"{package} has no {name!r}", name=name)
