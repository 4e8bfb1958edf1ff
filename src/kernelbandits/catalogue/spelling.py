"""Values as a command line spells them: rbf:0.2, matern:0.3,nu=1.5, bernoulli:0.5, simple-bernoulli:p=0.25."""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

from kernelbandits import checks
from kernelbandits.catalogue.lookup import looked_up
from kernelbandits.catalogue.policies import policy_entry
from kernelbandits.catalogue.problems import problem
from kernelbandits.catalogue.values import KERNELS, LAWS, MOTIONS, NOISES
from kernelbandits.exploration import Law
from kernelbandits.kernels import Kernel
from kernelbandits.problems import Motion, Noise, Problem


def spelled_kernel(text: str) -> Kernel:
    """A sum of products, each factor name:arguments or a number: 0.5*rbf:0.2+0.5*linear."""
    terms: list[Kernel] = [product(term) for term in re.split(r"(?<![0-9][eE])[+]", text)]
    checks.needs(
        all(isinstance(term, Kernel) for term in terms),
        "a sum of kernels",
        "a kernel in every term",
        text,
    )
    return reduce(operator.add, terms)


def product(text: str) -> Any:
    factors = [factor.strip() for factor in text.split("*")]
    parts = [
        float(factor) if is_numeral(factor) else call("kernel", factor, KERNELS)
        for factor in factors
    ]
    return reduce(operator.mul, sorted(parts, key=lambda part: isinstance(part, float)))


def spelled_law(text: str) -> Law:
    return call("exploration law", text, LAWS)  # type: ignore[no-any-return]


def spelled_noise(text: str) -> Noise:
    return call("noise", text, NOISES)  # type: ignore[no-any-return]


def spelled_problem(text: str, **settings: Any) -> Problem:
    """A problem by its name and settings; one in motion hands those shared by all to the problem that it moves."""
    name, given = split(text)
    shared, own = (
        {key: value for key, value in settings.items() if value is not None},
        keywords(given),
    )
    if "problem" in own:
        return problem(name, **own | {"problem": spelled_problem(own["problem"], **shared)})
    return problem(name, **(shared | own))


def spelled_motion(text: str) -> Motion:
    return call("motion", text, MOTIONS)  # type: ignore[no-any-return]


def spelled_policy(text: str) -> tuple[str, dict[str, Any]]:
    """Name and settings: simple-bernoulli:p=0.25, or generic-gp:exploration=gaussian(0.5,1)."""
    name, given = split(text)
    policy_entry(name)
    return name, keywords(given)


def call(kind: str, text: str, table: Mapping[str, Callable[..., Any]]) -> Any:
    name, given = split(text)
    constructor = looked_up(kind, name, table)
    positional = [value(item) for item in given if "=" not in item]
    try:
        inspect.signature(constructor).bind(*positional, **keywords(given, strict=False))
    except TypeError:
        wanted = ", ".join(inspect.signature(constructor).parameters) or "no arguments"
        raise ValueError(f"{name} needs {wanted}, got {text!r}") from None
    return constructor(*positional, **keywords(given, strict=False))


def keywords(items: list[str], strict: bool = True) -> dict[str, Any]:
    if strict and any("=" not in item for item in items):
        raise ValueError(f"settings need the form name=value, got {','.join(items)!r}")
    pairs = [item.split("=", 1) for item in items if "=" in item]
    named = {key.strip().replace("-", "_"): text for key, text in pairs}
    return {key: TEXTS.get(key, value)(text) for key, text in named.items()}


def plain_text(text: str) -> str:
    return text.strip().strip('"')


TEXTS: Mapping[str, Callable[[str], Any]] = {
    "path": plain_text,
    "target": plain_text,
    "problem": plain_text,
    "motion": spelled_motion,
    "columns": lambda text: tuple(plain_text(name) for name in outer(text, "/")),
}
"""Settings that are text whatever they look like."""


def split(text: str) -> tuple[str, list[str]]:
    """name:a,b or name(a,b) -> (name, [a, b]); commas inside brackets belong to the inner value."""
    cut = min((at for at in (text.find(":"), text.find("(")) if at >= 0), default=len(text))
    inner = text[cut + 1 :]
    if text[cut : cut + 1] == "(":
        inner = inner.rstrip().removesuffix(")")
    return text[:cut].strip(), outer(inner, ",")


def outer(text: str, separator: str) -> list[str]:
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


def value(text: str) -> Any:
    """A number, a law or kernel with brackets, a/b/c as a tuple of them, true or false, or the text itself."""
    text = text.strip()
    if text.startswith('"'):
        return text.strip('"')
    parts = outer(text, "/")
    if len(parts) > 1 and all(is_numeral(part) or is_law(part) for part in parts):
        return tuple(value(part) for part in parts)
    if is_numeral(text):
        return int(text) if text.lstrip("+-").isdigit() else float(text)
    if is_law(text):
        return spelled_law(text)
    if text.partition("(")[0] in KERNELS and "(" in text:
        return spelled_kernel(text)
    if text in ("true", "false"):
        return text == "true"
    return text


def is_law(text: str) -> bool:
    return text.partition("(")[0] in LAWS


def is_numeral(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return (
        text.isascii()
        and "_" not in text
        and text.strip().lower() not in ("nan", "inf", "-inf", "infinity")
    )
