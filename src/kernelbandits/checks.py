"""Checks of arguments. An error says what is needed and what was given.

Every check takes the owner, the class or function that the user called, and returns the value as
Python's own type:

>>> positive("RBF", "lengthscale", 2)
2.0
>>> positive("RBF", "lengthscale", -1)
Traceback (most recent call last):
...
ValueError: RBF needs lengthscale > 0, got -1
"""

from __future__ import annotations

import math
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from numbers import Complex, Integral, Real
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Value = TypeVar("Value")
Indices = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]
"""Arms in the record of a run; 32 bits are enough and halve the files."""

LEAST_CHANCE = 1e-300
"""The inverse of a smaller probability overflows."""
LARGEST_WHOLE = 10**100
"""A larger whole number is certainly a mistake, and too long to print in a message."""
Direction = Literal["maximize", "maximise", "max", "minimize", "minimise", "min"]
DIRECTIONS = {
    "maximize": "maximize",
    "maximise": "maximize",
    "max": "maximize",
    "minimize": "minimize",
    "minimise": "minimize",
    "min": "minimize",
}
"""How a direction may be written -> how it is stored."""
LONGEST_NAME = 200
"""The most characters in the name of a column, a variable, a target or a worker."""
LARGEST_REWARD = 1e150
"""The square of a larger reward overflows."""
LARGEST_COORDINATE = 1e6
"""Points with a larger coordinate are certainly not scaled to the unit cube."""


class TheoryWarning(UserWarning):
    """The policy runs, but the paper's guarantee does not hold for it.

    >>> import warnings
    >>> import kernelbandits as kb
    >>> arms, settings = kb.Arms([[0.0], [1.0]]), {"noise_scale": 0.1, "norm_bound": 1.0}
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     policy = kb.SimpleBernoulli(arms, kb.RBF(0.2), p=0.0, **settings)
    >>> [warning.category.__name__ for warning in given]
    ['TheoryWarning']
    """


class NumericsWarning(UserWarning):
    """A number is less certain than usual, or was repaired.

    A script that shall stop at the first one turns it into an error.

    >>> import warnings
    >>> import kernelbandits as kb
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", kb.NumericsWarning)
    ...     warnings.warn("posterior repaired", kb.NumericsWarning)
    Traceback (most recent call last):
        ...
    kernelbandits.checks.NumericsWarning: posterior repaired
    """


class DataNotice(UserWarning):
    """The data were accepted, and something about them is worth knowing.

    >>> import warnings
    >>> import kernelbandits as kb
    >>> with warnings.catch_warnings(record=True) as given:
    ...     warnings.simplefilter("always")
    ...     arms = kb.domains.as_arms(kb.Box((0.0,), (1.0,)))
    >>> given[0].category.__name__, len(arms)
    ('DataNotice', 500)
    """


class NoNumber(TypeError, ValueError):
    """A result is of a type that is no number."""


class StudyConflict(Exception):
    """The request is well formed but conflicts with what the study holds; nothing changed.

    >>> import pandas as pd
    >>> import kernelbandits as kb
    >>> films = pd.DataFrame({"heat": [20, 50, 90]})
    >>> study = kb.Study.create("films.db", films, target="yield", noise=0.1)
    >>> (suggestion,) = study.ask()
    >>> told = study.tell(suggestion.trial, 0.7)
    >>> try:
    ...     study.tell(suggestion.trial, 0.8)
    ... except kb.StudyConflict as conflict:
    ...     print(type(conflict).__name__)
    AlreadyTold
    """


class StorageError(OSError):
    """The storage cannot do this now.

    Its subclasses say why: `StorageBusy`, `StorageFull`, `StorageReadOnly`, `NoStudy`, `Damaged`,
    `OtherVersion`.

    >>> import kernelbandits as kb
    >>> try:
    ...     kb.Study.open("none.db")
    ... except kb.storage.StorageError as error:
    ...     print(type(error).__name__)
    NoStudy
    """


class StorageFull(StorageError):
    """No space is left. What was acknowledged is safe; with new space the study works again.

    >>> from kernelbandits.storage import StorageError, StorageFull
    >>> issubclass(StorageFull, StorageError)
    True
    """


class StorageReadOnly(StorageError):
    """The study can be read but not written.

    >>> from kernelbandits.storage import Draft, Log, StorageReadOnly
    >>> Log.create("looked-at.db", Draft(kind="created"), {"heat": [20.0, 90.0]}).close()
    >>> with Log.open("looked-at.db", writable=False) as log:
    ...     try:
    ...         next(log.turns())
    ...     except StorageReadOnly as error:
    ...         print("opened for reading only" in str(error))
    True
    """


def needs(condition: bool, owner: str, needed: str, got: object) -> None:
    """Raise "owner needs ..., got ..." unless the condition holds."""
    if not condition:
        raise ValueError(f"{owner} needs {needed}, got {quote_given(got)}")


LONGEST_QUOTE = 200
"""The most characters of what was given that an error quotes."""


def unchecked(made: type[Value], parts: Mapping[str, Any]) -> Value:
    """Return a frozen value of parts that were checked already: its own checks do not run.

    Parts that are left out have their defaults.
    """
    value = object.__new__(made)
    vars(value).update(parts)
    return value


def quote_given(got: object) -> str:
    """Return what was given as an error quotes it: its beginning, if it is long.

    >>> quote_given("a"), len(quote_given("a" * 24_000)) < 250
    ("'a'", True)
    """
    return cut_quote(repr(got))


def cut_quote(text: str) -> str:
    """Return a text of at most `LONGEST_QUOTE` characters, and how many there were."""
    if len(text) <= LONGEST_QUOTE:
        return text
    return f"{text[:LONGEST_QUOTE]}... ({len(text)} characters)"


def short_name(owner: str, name: str) -> None:
    """Refuse a name that no table, figure or message could show."""
    needs(len(name) <= LONGEST_NAME, owner, f"a name of at most {LONGEST_NAME} characters", name)


def is_number(value: Any) -> bool:
    """Tell whether a value is a finite real number; truth values and text are not."""
    # Most values that are checked are plain floats.
    if type(value) is float:
        return math.isfinite(value)
    truth = isinstance(value, (bool, np.bool_))
    return isinstance(value, Real) and not truth and math.isfinite(as_float(value))


def as_float(value: Any) -> float:
    """Return the nearest float; a whole number that is too large becomes infinite."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def to_number(value: Any) -> float | None:
    """Return a single number of any type as a float; None if the value is no single number.

    Scalars and arrays of one element (numpy, torch, JAX, pandas), decimal numbers, fractions and
    truth values are numbers. Text, complex numbers, lists and longer arrays are none.

    >>> to_number(np.array([0.5])), to_number(np.True_), to_number("0.5"), to_number([0.5])
    (0.5, 1.0, None, None)
    """
    if isinstance(value, np.timedelta64):
        # A type of whole numbers to numpy; but the number depends on the unit, so it is no result.
        return None
    if isinstance(value, Real):
        return as_float(value)
    try:
        plain = value.item() if callable(getattr(value, "item", None)) else value
        if np.ma.is_masked(value):
            # `item` gives the number under the mask, which is no result.
            return math.nan
        single = hasattr(plain, "__float__") and (
            isinstance(plain, Real) or not isinstance(plain, Complex)
        )
        return as_float(plain) if single else None
    except (TypeError, ValueError, RuntimeError):
        # numpy and torch raise different errors for an array of several elements.
        return None


def describe_value(value: Any) -> str:
    """Return a value and its type, briefly, for a message.

    >>> describe_value("0.5"), describe_value(None)
    ("'0.5' (str)", 'None (NoneType)')
    """
    return f"{' '.join(reprlib.repr(value).split())} ({type(value).__name__})"


def is_whole(value: Any) -> bool:
    """Tell whether a value is a whole number of an integer type; truth values are not."""
    return isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))


def number(owner: str, name: str, value: Any) -> float:
    """Check for a finite number."""
    needs(is_number(value), owner, f"a finite number {name}", value)
    return float(value)


def positive(owner: str, name: str, value: Any) -> float:
    """Check for a number > 0."""
    needs(is_number(value) and value > 0, owner, f"{name} > 0", value)
    return float(value)


def nonnegative(owner: str, name: str, value: Any) -> float:
    """Check for a number >= 0."""
    needs(is_number(value) and value >= 0, owner, f"{name} >= 0", value)
    return float(value)


def scale(owner: str, name: str, value: Any) -> float:
    """Check for a number >= 0 whose square does not overflow."""
    needs(
        nonnegative(owner, name, value) <= LARGEST_REWARD,
        owner,
        f"{name} <= {LARGEST_REWARD:g}",
        value,
    )
    return float(value)


def inside(owner: str, name: str, value: Any) -> float:
    """Check for a probability strictly between 0 and 1 whose inverse does not overflow."""
    needs(is_number(value) and 0 < value < 1, owner, f"{name} in (0, 1)", value)
    needs(value >= LEAST_CHANCE, owner, f"{name} >= {LEAST_CHANCE:g}", value)
    return float(value)


def chance(owner: str, name: str, value: Any) -> float:
    """Check for a probability in [0, 1]."""
    needs(is_number(value) and 0 <= value <= 1, owner, f"a probability {name} in [0, 1]", value)
    return float(value)


def whole(owner: str, name: str, value: Any, least: int = 1) -> int:
    """Check for a whole number >= least."""
    needs(is_whole(value) and value >= least, owner, f"a whole number {name} >= {least}", value)
    needs(
        value <= LARGEST_WHOLE,
        owner,
        f"{name} <= 1e100",
        f"a number of {int(value).bit_length()} bits",
    )
    return int(value)


def one_of(owner: str, name: str, value: str, options: Iterable[str]) -> str:
    """Check for one of several words."""
    known = tuple(options)
    needs(value in known, owner, f"{name} in {known}", value)
    return value


def direction(owner: str, text: Any) -> str:
    """Check for a direction, however it is written: max, maximise, min, minimise.

    >>> direction("optimize", "min")
    'minimize'
    """
    known = isinstance(text, str) and text.strip().lower() in DIRECTIONS
    needs(known, owner, "direction maximize or minimize", text)
    return DIRECTIONS[text.strip().lower()]


def lengthscales(owner: str, value: Any, name: str = "lengthscale") -> float | tuple[float, ...]:
    """Check for one positive length, or one for each dimension."""
    if (
        isinstance(value, (Sequence, np.ndarray))
        and not isinstance(value, str)
        and np.ndim(value) == 1
    ):
        needs(len(value) > 0, owner, f"at least one {name}", value)
        return tuple(positive(owner, f"{name}[{i}]", item) for i, item in enumerate(value))
    return positive(owner, name, value)


def weights(owner: str, values: Iterable[Any]) -> tuple[float, ...]:
    """Check for probabilities that sum to 1; a sum within 1e-9 of 1 is renormalised."""
    needs(
        isinstance(values, Iterable) and not isinstance(values, str),
        owner,
        "a sequence of weights",
        values,
    )
    items = tuple(values)
    needs(len(items) > 0, owner, "at least one weight", items)
    for item in items:
        chance(owner, "in every weight", item)
    total = math.fsum(items)
    needs(abs(total - 1) <= 1e-9, owner, "weights that sum to 1", total)
    return tuple(float(item) / total for item in items)


def points(owner: str, values: Any) -> Array:
    """Check for an (n, d) array of finite numbers with n, d >= 1, and return a copy."""
    try:
        given = np.asarray(values)
        if given.dtype.kind in "UScmM" or np.ma.is_masked(values):
            raise TypeError
        array = np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        got = describe_bad_points(values)
        raise ValueError(f"{owner} needs an (n, d) array of numbers, got {got}") from None
    if array.ndim == 1 and array.size:
        raise ValueError(
            f"{owner} needs an (n, d) array, got shape {array.shape}; "
            "pass points[:, None] for one column"
        )
    needs(
        array.ndim == 2 and array.size > 0,
        owner,
        "an (n, d) array with n >= 1 and d >= 1",
        array.shape,
    )
    bad = np.argwhere(~np.isfinite(array))
    if len(bad):
        row, column = bad[0]
        raise ValueError(
            f"{owner} needs finite points, got {array[row, column]} in row {row}, column {column}"
        )
    return array


def describe_bad_points(values: Any) -> str:
    """Say why points are no array of numbers: name the first row at fault, if any is."""
    if isinstance(values, np.ndarray) and not np.ma.is_masked(values):
        kinds = {"U": "text", "S": "bytes", "M": "dates"}
        return kinds.get(values.dtype.kind, str(values.dtype))
    if isinstance(values, (list, tuple)):
        for number, row in enumerate(values):
            if not isinstance(row, (list, tuple)):
                continue
            if isinstance(values[0], (list, tuple)) and len(row) != len(values[0]):
                return f"a row 0 of {len(values[0])} and a row {number} of {len(row)}"
            for column, cell in enumerate(row):
                if not isinstance(cell, Real):
                    return f"{cell!r} in row {number}, column {column}"
    return type(values).__name__


def reward(value: Any) -> float:
    """Check for a reward that a posterior can learn from: finite and at most 1e150 in size."""
    # Called at every `tell`: a plain float, the usual case, skips the slower checks of its type.
    if type(value) is not float:
        # A truth value is what a program tells by mistake; one that an objective of `optimize`
        # returns was made a number there.
        number = None if isinstance(value, (bool, np.bool_)) else to_number(value)
        if number is None:
            raise NoNumber(f"tell needs a number as reward, got {describe_value(value)}")
        # A reward with a standard error, or of which a limit is known, is a float that says more.
        says_more = hasattr(value, "sem") or hasattr(value, "side")
        value = value if isinstance(value, float) and says_more else number
    if not -LARGEST_REWARD <= value <= LARGEST_REWARD:
        hint = (
            "a measurement that failed has none (failed=True in a study, fail(choice) with kb.Auto)"
        )
        raise ValueError(
            f"tell needs a finite reward of size at most {LARGEST_REWARD:g}, got {value}; {hint}"
        )
    return value  # type: ignore[no-any-return]
