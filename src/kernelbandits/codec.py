"""Values as JSON: the one place where values are turned into what JSON has, and back.

A `Codec` writes values exactly, for studies, files and fingerprints, and reads again only types
that it lists: a stored text names a type of a table, never something to import. `to_json` writes
answers for people and scripts, where types are left out and a number that JSON lacks is null.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from functools import cache, cached_property
from types import ModuleType
from typing import Any, NoReturn

import numpy as np

TYPE = "type"
"""The key under which a value names its type."""

Plain = Any
"""What JSON has: dicts with names, lists, text, finite numbers, true, false and null."""


def to_plain(
    value: Any, infinite: Callable[[float], Plain], other: Callable[[Any], Plain]
) -> Plain:
    """Return a value made of what JSON has, to any depth.

    Parameters
    ----------
    value
        What is to be written. Tuples and ranges become lists, numbers of numpy those of Python.
    infinite
        Writes a number that JSON lacks: inf, -inf or nan.
    other
        Writes everything else, such as dataclasses, arrays and functions.
    """
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else infinite(float(value))
    if value is None or isinstance(value, (str, int)):
        return value
    if isinstance(value, Mapping) and is_plain_mapping(value):
        return {name: to_plain(item, infinite, other) for name, item in value.items()}
    if isinstance(value, (list, tuple, range)):
        return [to_plain(item, infinite, other) for item in value]
    if isinstance(value, np.generic):
        return to_plain(value.item(), infinite, other)
    return other(value)


def is_plain_mapping(value: Mapping[Any, Any]) -> bool:
    """Tell whether a mapping can be an object of JSON that is not taken for a value with a type."""
    return TYPE not in value and all(isinstance(name, str) for name in value)


# ---------------------------------------------------------------------- exact values


@dataclass(frozen=True)
class Form:
    """How values of one type are written: as parts by name, from which the value is made again."""

    name: str
    """The name of the type in the text."""
    made: type
    """Values of exactly this type; one that a user derived from it is another type."""
    write: Callable[[Any], Mapping[str, Any] | None]
    """Returns the parts of a value; None if they would not say all of this one."""
    read: Callable[..., Any]
    """Makes a value of its parts, given by name."""

    @classmethod
    def of(cls, made: type) -> Form:
        """Return the form of a frozen value: the name of its class and the arguments that make it.

        An argument is found under its own name in the value.
        """
        return cls(
            made.__name__,
            made,
            lambda value: {name: getattr(value, name) for name in list_arguments(made)},
            made,
        )


@cache
def list_arguments(made: type) -> tuple[str, ...]:
    return tuple(inspect.signature(made).parameters)


def write_array(array: Any) -> dict[str, Any]:
    return {"dtype": array.dtype.str, "shape": array.shape, "values": array.ravel().tolist()}


def read_array(dtype: str, shape: tuple[int, ...], values: tuple[Any, ...]) -> Any:
    if np.dtype(dtype).kind not in "biuf":
        raise ValueError(f"an array needs numbers, got the type {dtype!r}")
    return np.array(values, dtype).reshape(shape)


ARRAY = Form("array", np.ndarray, write_array, read_array)
MAPPING = Form(
    "mapping",
    dict,
    lambda value: {"items": list(value.items())},
    lambda items: dict(items),  # The lambdas fix the name of the part.
)
FLOAT = Form("float", float, lambda value: {"text": repr(value)}, lambda text: float(text))
BUILT_IN = (ARRAY, MAPPING, FLOAT)
"""Arrays of numbers, mappings that JSON would confuse with a value, and inf, -inf and nan."""


def refuse(value: Any) -> NoReturn:
    """Refuse a value that could not be read again."""
    raise ValueError(
        "a stored value needs numbers, text, arrays, or values of kernelbandits such as "
        f"kb.RBF(0.2), got {value!r}"
    )


@dataclass(frozen=True)
class Codec:
    """Writes values exactly, {"type": "RBF", "lengthscale": 0.2}, and reads them again.

    Every number that is read is the number that was written. Lists are read as tuples, because
    values are frozen.

    Examples
    --------
    >>> from kernelbandits import RBF
    >>> codec = Codec.of(RBF)
    >>> codec.encode({"kernel": RBF(0.2), "bound": float("inf")})
    {'kernel': {'type': 'RBF', 'lengthscale': 0.2}, 'bound': {'type': 'float', 'text': 'inf'}}
    >>> codec.decode(codec.encode((RBF(0.2), 1)))
    (RBF(lengthscale=0.2), 1)
    >>> codec.decode({"type": "os.system"})
    Traceback (most recent call last):
    ...
    ValueError: a stored value needs a type among array, mapping, float, RBF, got 'os.system'
    """

    forms: tuple[Form, ...]
    """A later form of the same type or of the same name takes the place of an earlier one."""
    other: Callable[[Any], Plain] = refuse
    """Writes, or refuses, a value whose type has no form."""

    @classmethod
    def of(cls, *types: type | Form) -> Codec:
        """Return the codec of some frozen dataclasses, and of types with a form of their own."""
        return cls((*BUILT_IN, *as_forms(types)))

    def with_types(self, *types: type | Form) -> Codec:
        """Return a codec that has these types too."""
        return replace(self, forms=(*self.forms, *as_forms(types)))

    @cached_property
    def by_type(self) -> dict[type, Form]:
        return {form.made: form for form in self.forms}

    @cached_property
    def by_name(self) -> dict[str, Form]:
        return {form.name: form for form in self.forms}

    def encode(self, value: Any) -> Plain:
        """Return a value as JSON has it; one that has no form is refused."""
        return to_plain(value, self._write, self._write)

    def encode_settings(self, owner: str, settings: Mapping[str, Any]) -> dict[str, Plain]:
        """Return settings by name; one that cannot be stored is named in the error."""
        written = {}
        for name, value in settings.items():
            try:
                written[name] = self.encode(value)
            except ValueError:
                needed = f"{name} of numbers, text, or values such as kb.RBF(0.2)"
                raise ValueError(
                    f"{owner} needs {needed}, which can be stored, got {value!r}"
                ) from None
        return written

    def _write(self, value: Any) -> Plain:
        form = MAPPING if isinstance(value, Mapping) else self.by_type.get(type(value))
        parts = None if form is None else form.write(value)
        if form is None or parts is None:
            return self.other(value)
        return {TYPE: form.name} | {name: self.encode(part) for name, part in parts.items()}

    def decode(self, plain: Plain) -> Any:
        """Return the value that `encode` has written.

        Raises
        ------
        ValueError
            If a type is unknown, or its parts make no value of this type.
        """
        if isinstance(plain, list):
            return tuple(self.decode(item) for item in plain)
        if not isinstance(plain, Mapping):
            return plain
        parts = {str(name): self.decode(item) for name, item in plain.items() if name != TYPE}
        if TYPE not in plain:
            return parts
        name = plain[TYPE]
        form = self.by_name.get(name) if isinstance(name, str) else None
        if form is None:
            known = ", ".join(self.by_name)
            raise ValueError(f"a stored value needs a type among {known}, got {name!r}")
        try:
            return form.read(**parts)
        except TypeError as error:
            raise ValueError(f"a stored {name} needs the parts of one, got {error}") from None


def list_values(module: ModuleType) -> list[type]:
    """Return the frozen dataclasses that a package names."""
    return [one for one in vars(module).values() if isinstance(one, type) and is_dataclass(one)]


def as_forms(types: Iterable[type | Form]) -> tuple[Form, ...]:
    return tuple(one if isinstance(one, Form) else Form.of(one) for one in types)


# ---------------------------------------------------------------------- texts


def write_array_or_number(value: Any) -> Any:
    """Return a number or an array of numpy as a number or a list of Python."""
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(type(value).__name__)


COMPACT = json.JSONEncoder(allow_nan=False, separators=(",", ":"), default=write_array_or_number)
"""Made once: `json.dumps` would make one for every event of a study."""


def write_compact(plain: Plain) -> str:
    """Return plain values as a text without blanks; numbers are those that are read again.

    >>> write_compact({"values": np.array([0.1, 2.0])})
    '{"values":[0.1,2.0]}'
    """
    return COMPACT.encode(plain)


def write_equal(value: Any) -> str:
    """Return a text that is the same for equal values, for a digest of what a user gives.

    1 and 1.0 are the same, the order of names and of the items of a set does not matter, and an
    array is the list of its values. What JSON lacks is written as Python shows it.

    >>> write_equal({"rows": {2, 1}, "by": None}) == write_equal({"by": None, "rows": [1.0, 2.0]})
    True
    """
    plain = to_plain(value, repr, write_given)
    return json.dumps(json.loads(write_compact(plain), parse_int=float), sort_keys=True)


def write_given(value: Any) -> Plain:
    if isinstance(value, Mapping):
        # It has a key "type", or keys that are no text.
        pairs = [[str(name), to_plain(item, repr, write_given)] for name, item in value.items()]
        return sorted(pairs, key=write_compact)
    if isinstance(value, (set, frozenset)):
        return sorted((to_plain(item, repr, write_given) for item in value), key=write_compact)
    if isinstance(value, np.ndarray) or hasattr(value, "tolist"):
        return to_plain(value.tolist(), repr, write_given)
    if isinstance(value, Iterable):
        return [to_plain(item, repr, write_given) for item in value]
    return repr(value)


def to_json(value: Any, *, ascii_only: bool = False) -> str:
    """Return a value as an indented JSON document; numbers that JSON lacks (nan, inf) become null.

    Dataclasses become objects by their fields, numpy numbers and arrays become plain ones.

    >>> print(to_json({"regret": float("inf"), "seeds": (0, 1)}))
    {
      "regret": null,
      "seeds": [
        0,
        1
      ]
    }
    """
    return json.dumps(to_json_value(value), indent=2, allow_nan=False, ensure_ascii=ascii_only)


def to_json_value(value: Any) -> Plain:
    """Return the value that `to_json` writes, made of what JSON has."""
    return to_plain(value, lambda number: None, write_answer)


def write_answer(value: Any) -> Plain:
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: to_json_value(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): to_json_value(item) for name, item in value.items()}
    return to_json_value(value.tolist()) if isinstance(value, np.ndarray) else value
