"""Read values from text: rbf:0.2, matern:0.3,nu=1.5, bernoulli:0.5, simple-bernoulli:p=0.25.

The command line takes values in this form, and so do `kb.policy`, `kb.problem`, `kb.run_experiment`
and `kb.Study`. A value is a name, a colon and arguments between commas; inside another value its
arguments stand in brackets, as in step:bernoulli(0.5),bernoulli(0.25),500. Several values of one
argument are separated by slashes.
"""

from __future__ import annotations

import inspect
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from itertools import accumulate
from typing import Any

from kernelbandits import checks
from kernelbandits.catalogue.lookup import check_setting, find_entry, parameters_of
from kernelbandits.catalogue.values import KERNELS, LAWS, MOTIONS, NOISES
from kernelbandits.exploration import Law
from kernelbandits.kernels import Kernel
from kernelbandits.problems import Motion, Noise
from kernelbandits.tables.cells import parse_number

MOST_PARTS = 100
"""How many terms and factors a kernel may have, and how deep brackets may be nested.

Sums and products contain each other, a level for each part, and Python follows about a thousand
levels.
"""
LAW_SETTINGS = ("exploration", "law")
"""Settings of policies that are exploration laws."""


def read_kernel(text: str) -> Kernel:
    """Read a kernel: a sum of products, each factor name:arguments or a number.

    Examples
    --------
    >>> from kernelbandits.catalogue import read_kernel
    >>> read_kernel("matern:0.3,nu=1.5")
    Matern(lengthscale=0.3, nu=1.5)
    """
    check_size("kernel", "terms and factors", 1 + text.count("+") + text.count("*"), text)
    terms: list[Kernel] = [read_product(term) for term in re.split(r"(?<![0-9][eE])[+]", text)]
    checks.needs(
        not any(isinstance(term, float) for term in terms),
        "a sum of kernels",
        "a kernel in every term",
        text,
    )
    return reduce(operator.add, terms)


def check_size(kind: str, needed: str, size: int, text: str) -> None:
    """Refuse a text whose value would be nested too deeply to be evaluated."""
    if size > MOST_PARTS:
        raise ValueError(
            f"{kind}: the text needs at most {MOST_PARTS} {needed}, got {size} in {text[:40]}..."
        )


def read_product(text: str) -> Any:
    factors = [factor.strip() for factor in text.split("*")]
    parts = [
        float(factor) if is_numeral(factor) else build_value("kernel", factor, KERNELS)
        for factor in factors
    ]
    return reduce(operator.mul, sorted(parts, key=lambda part: isinstance(part, float)))


def read_law(text: str) -> Law:
    """Read an exploration law or a schedule of laws: gaussian:0,1 or decay:first=0.9,floor=0.1.

    >>> from kernelbandits.catalogue import read_law
    >>> read_law("gaussian:0,1")
    Gaussian(mean=0, scale=1)
    >>> [read_law("decay:first=0.9,floor=0.1")(t).p for t in (1, 10**6)]
    [0.9, 0.1]
    """
    return build_value("exploration law", text, LAWS)  # type: ignore[no-any-return]


def read_noise(text: str) -> Noise:
    """Read the law of the reward noise: gaussian:0.01 or student:0.05,3.

    >>> from kernelbandits.catalogue import read_noise
    >>> read_noise("student:0.05,3")
    StudentNoise(scale=0.05, df=3)
    """
    return build_value("noise", text, NOISES)  # type: ignore[no-any-return]


def read_motion(text: str) -> Motion:
    """Read how a problem changes with time: markov:0.01, turning:1000 or jumps:100.

    >>> from kernelbandits.catalogue import read_motion
    >>> read_motion("jumps:100").period, read_motion("markov:0.01").rate
    (100, 0.01)
    """
    return build_value("motion", text, MOTIONS)  # type: ignore[no-any-return]


def kernel_of(kernel: Any) -> Any:
    """Read a kernel that is given as text; anything else is returned unchanged.

    >>> import kernelbandits as kb
    >>> kb.catalogue.kernel_of("matern:0.3")
    Matern(lengthscale=0.3, nu=2.5)
    >>> kb.catalogue.kernel_of(kb.RBF(0.2))
    RBF(lengthscale=0.2)
    """
    return read_kernel(kernel) if isinstance(kernel, str) else kernel


def settings_of(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Read the exploration laws among the settings of a policy that are given as text.

    >>> from kernelbandits.catalogue import settings_of
    >>> settings_of({"exploration": "bernoulli:0.5", "noise_scale": 0.1})
    {'exploration': Bernoulli(p=0.5), 'noise_scale': 0.1}
    """
    return {
        name: read_law(value) if name in LAW_SETTINGS and isinstance(value, str) else value
        for name, value in settings.items()
    }


def build_value(kind: str, text: str, table: Mapping[str, Callable[..., Any]]) -> Any:
    """Build the value that a table holds under the name, with the arguments of the text."""
    check_size(kind, "brackets in each other", bracket_depth(text), text)
    name, given = split(text)
    constructor = find_entry(kind, name, table)
    positional = [read_value(item) for item in given if "=" not in item]
    named = keywords([item for item in given if "=" in item], readers={})
    for setting in named:
        check_setting(name, setting, parameters_of(constructor))
    try:
        inspect.signature(constructor).bind(*positional, **named)
    except TypeError:
        wanted = ", ".join(parameters_of(constructor)) or "no arguments"
        raise ValueError(f"{name} needs {wanted}, got {text!r}") from None
    return constructor(*positional, **named)


def keywords(
    items: list[str], readers: Mapping[str, Callable[[str], Any]] | None = None
) -> dict[str, Any]:
    """Read settings of the form name=value; a hyphen in a name is an underscore.

    Settings that are among `readers` are read by their own rule: those of problems and policies by
    default (`TEXTS`).
    """
    own = TEXTS if readers is None else readers
    if any("=" not in item for item in items):
        raise ValueError(f"settings need the form name=value, got {','.join(items)!r}")
    named = {}
    for item in items:
        key, _, text = item.partition("=")
        setting = key.strip().replace("-", "_")
        if setting in named:
            raise ValueError(f"settings need each name once, got {setting} twice")
        named[setting] = own.get(setting, read_value)(text)
    return named


def read_sweep(texts: Iterable[str]) -> dict[str, list[Any]]:
    """Read settings with several values each, such as lengthscale=0.05,0.1,0.2.

    Examples
    --------
    >>> from kernelbandits.catalogue import read_sweep
    >>> read_sweep(["lengthscale=0.05,0.1", "kernel=rbf(0.2),matern(0.3)"])["kernel"]
    [RBF(lengthscale=0.2), Matern(lengthscale=0.3, nu=2.5)]
    """
    given = list(texts)
    names = [text.partition("=")[0].strip().replace("-", "_") for text in given]
    return keywords(given, readers=dict.fromkeys(names, read_values))


def read_values(text: str) -> list[Any]:
    """Read values between commas."""
    return [read_value(item) for item in split_outside_brackets(text, ",")]


def strip_quotes(text: str) -> str:
    return text.strip().strip('"')


TEXTS: Mapping[str, Callable[[str], Any]] = {
    "path": strip_quotes,
    "target": strip_quotes,
    "name": strip_quotes,
    "title": strip_quotes,
    "problem": strip_quotes,
    "motion": read_motion,
    "noise": read_noise,
    "columns": lambda text: tuple(strip_quotes(name) for name in split_outside_brackets(text, "/")),
}
"""Settings of problems and policies that are read by their own rule: most are text."""


def split(text: str) -> tuple[str, list[str]]:
    """Split name:a,b or name(a,b) into (name, [a, b]); brackets keep the commas of inner values."""
    cut = min((at for at in (text.find(":"), text.find("(")) if at >= 0), default=len(text))
    inner = text[cut + 1 :]
    if text[cut : cut + 1] == "(":
        inner = inner.rstrip().removesuffix(")")
    return text[:cut].strip(), split_outside_brackets(inner, ",")


def split_outside_brackets(text: str, separator: str) -> list[str]:
    """Split at the separators that stand outside all brackets and quotation marks."""
    items, depth, quoted = [""], 0, False
    for character in text:
        quoted ^= character == '"'
        depth += (character == "(") - (character == ")")
        if character == separator and depth == 0 and not quoted:
            items.append("")
        else:
            items[-1] += character
    return [item.strip() for item in items if item.strip()]


def bracket_depth(text: str) -> int:
    """Count how many brackets are open at once, at most."""
    changes = ((mark == "(") - (mark == ")") for mark in text)
    return max(accumulate(changes), default=0)


def read_value(text: str) -> Any:
    """Read a number, a law or kernel with brackets, several values a/b/c, true, false, or text."""
    text = text.strip()
    if text.startswith('"'):
        return text.strip('"')
    parts = split_outside_brackets(text, "/")
    if len(parts) > 1 and all(is_numeral(part) or is_law(part) for part in parts):
        return tuple(read_value(part) for part in parts)
    if is_numeral(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    if is_law(text):
        return read_law(text)
    if text.partition("(")[0] in KERNELS and "(" in text:
        return read_kernel(text)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    return text


def is_law(text: str) -> bool:
    return text.partition("(")[0] in LAWS


def is_numeral(text: str) -> bool:
    """Tell whether the text is a finite number in ASCII digits."""
    return not math.isnan(parse_number(text.strip()))
