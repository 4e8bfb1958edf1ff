"""What is known of a policy: its name, its paper, what is proved of it and what is ours."""

from __future__ import annotations

from dataclasses import dataclass

from kernelbandits import checks

EXPLORATION = "exploration distributions (the paper)"
RANDOMISED = "close relatives"
CONFIDENCE = "upper confidence and posterior sampling"
TIGHTER = "tighter confidence sets"
ELIMINATION = "elimination and precision levels"
PARTITIONS = "partitions"
RANDOM_QUERIES = "random exploration"
CHANGING = "rewards that change"
HEAVY_TAILS = "heavy tails"
LINEAR = "linear bandits"
INDEPENDENT = "independent arms"
IMPROVEMENT = "improvement over the best so far"
CALIBRATED = "scales fitted to the rewards"
MISSPECIFIED = "wrong kernels and lengthscales"
LARGE = "batches and large problems"
BASELINES = "baselines"

FAMILIES = (
    EXPLORATION,
    RANDOMISED,
    CONFIDENCE,
    TIGHTER,
    ELIMINATION,
    PARTITIONS,
    RANDOM_QUERIES,
    CHANGING,
    HEAVY_TAILS,
    LINEAR,
    INDEPENDENT,
    IMPROVEMENT,
    CALIBRATED,
    MISSPECIFIED,
    LARGE,
    BASELINES,
)
"""Titles of the families, in the order in which they are listed."""


@dataclass(frozen=True)
class About:
    """What `kernelbandits list` and the documentation say of a policy.

    It stands in the class itself, as the attribute `about`.
    """

    name: str
    """How the policy is called on a command line, in a study and by `kb.policy`: "simple-ucb"."""
    title: str
    """How the policy is called in figures and tables: "Simple-UCB"."""
    family: str
    """One of `FAMILIES`."""
    paper: str
    guarantee: str
    """What is proved, and for which rewards; "none" where nothing is."""
    ours: str
    """Which constants or options are not those of the paper."""
    by_name_only: tuple[str, ...] = ()
    """Settings that the policy takes only when they are given to it by name.

    An experiment gives settings such as `delta` to all its policies. The paper's rules keep their
    own delta of 1/2 unless they are given another one by name.
    """

    def __post_init__(self) -> None:
        checks.one_of("About", "family", self.family, FAMILIES)
