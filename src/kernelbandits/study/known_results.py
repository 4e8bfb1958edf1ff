"""Results that are known before a run in memory, read as a study reads them."""

from __future__ import annotations

import warnings
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import DataNotice
from kernelbandits.domains import Contextual
from kernelbandits.policies import Choice, Policy
from kernelbandits.study.optimization import listed_points
from kernelbandits.study.places import read_place
from kernelbandits.tables.results import list_pairs, read_results


def read_known(
    policy: Policy, domain: Any, results: Any, target: str
) -> list[tuple[Choice, float | None]]:
    """Return the choices of a policy that known results belong to, each with its value.

    None stands for a failure. `domain` is that of the policy, or a DataFrame of its arms.
    """
    needed = "a domain without contexts for results"
    checks.needs(not isinstance(domain, Contextual), "optimize", needed, domain)
    with warnings.catch_warnings():
        # What a table is taken for was said when the policy was made.
        warnings.simplefilter("ignore", DataNotice)
        place = read_place(listed_points(domain), [target], {})
    found: list[tuple[Choice, float | None]] = []
    for one in read_results(list_pairs(results, place, target), place, [target]):
        assert one.row is not None
        if policy.finite:
            choice = policy.choice(one.row)
        else:
            choice = Choice(policy.domain.decode(place.points[one.row]))
        found.append((choice, None if one.failed else one.values[target]))
    return found
