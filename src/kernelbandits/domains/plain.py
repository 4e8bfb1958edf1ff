"""Domains as plain values for JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kernelbandits import checks
from kernelbandits.domains.arms import Arms
from kernelbandits.domains.box import Box
from kernelbandits.domains.contextual import Contextual
from kernelbandits.domains.mixed import MixedBox


def domain_to_dict(domain: Any) -> dict[str, Any]:
    """Return a domain as plain values; `domain_from_dict` gives an equal one back.

    >>> domain_to_dict(Box((0.0,), (1.0,)))
    {'box': {'lower': [0.0], 'upper': [1.0]}}
    """
    if isinstance(domain, Box):
        return {"box": {"lower": list(domain.lower), "upper": list(domain.upper)}}
    if isinstance(domain, MixedBox):
        return {"space": domain.to_dict()}
    if isinstance(domain, Contextual):
        inner = domain.domain
        described = inner if checks.is_whole(inner) else domain_to_dict(inner)
        return {"contextual": {"domain": described, "size": domain.size}}
    checks.needs(isinstance(domain, Arms), "domain_to_dict", "a domain", domain)
    arms = {
        "points": domain.points.tolist(),
        "origin": domain.origin,
        "blocks": [list(block) for block in domain.blocks],
        "values": list(domain.values),
    }
    if domain.features:
        arms["features"] = True
    if domain.sides:
        arms["sides"] = list(domain.sides)
    return {"arms": arms}


def domain_from_dict(described: Any) -> Any:
    """Return the domain that `domain_to_dict` has described."""
    kinds = ("box", "space", "contextual", "arms")
    single = isinstance(described, Mapping) and len(described) == 1 and set(described) <= set(kinds)
    checks.needs(single, "domain_from_dict", f"a mapping with one of {kinds}", described)
    ((kind, parts),) = described.items()
    checks.needs(isinstance(parts, Mapping), "domain_from_dict", f"a mapping of the {kind}", parts)
    if kind == "space":
        return MixedBox.from_dict(parts)
    if kind == "contextual":
        given = set(parts) == {"domain", "size"}
        checks.needs(given, "domain_from_dict", "a domain and a size", parts)
        inner = parts["domain"]
        chosen = domain_from_dict(inner) if isinstance(inner, Mapping) else inner
        return Contextual(chosen, parts["size"])
    made = Box if kind == "box" else Arms
    try:
        return made(**{str(name): value for name, value in parts.items()})
    except TypeError as error:
        raise ValueError(f"domain_from_dict needs the parts of a {kind}, got {error}") from None
