"""Functions drawn from a posterior at some points, with numbers that are always the same."""

from __future__ import annotations

from typing import Any

import numpy as np

from kernelbandits.checks import Array
from kernelbandits.posterior.sufficient import lower_root
from kernelbandits.streams import Streams

DRAWS = 2000
"""How many functions are drawn; a probability near 1/2 then has a standard error of 0.011."""
STREAMS = Streams(0)


def draw_from_posterior(posterior: Any, points: Array, streams: int = 0) -> Array:
    """Return f at some points, in the units of the posterior, as an (about DRAWS, n) array.

    Of a mixture the same number is drawn from each member. A normal law with the mean and the
    covariance of the mixture would be different: its members agree about some points and disagree
    about others, and one of them may have a tail that the average does not show. Members have
    streams of their own from `streams` on: functions of another posterior take others.
    """
    means, covariances = posterior.members_at(points)[0], posterior.member_covariances(points)
    number = -(-DRAWS // len(means))
    pairs = zip(means, covariances, strict=True)
    return np.vstack(
        [draw_functions(*pair, number, place) for place, pair in enumerate(pairs, streams)]
    )


def draw_functions(mean: Array, covariance: Array, number: int = DRAWS, stream: int = 0) -> Array:
    """Return f ~ N(mean, covariance) as a (number, n) array.

    Those of a row do not depend on the rows after it. Another stream gives other numbers.
    """
    n = len(mean)
    # Rounding may make the covariance slightly indefinite; a small diagonal makes it definite.
    jitter = 1e-10 * max(float(covariance.diagonal().max()), 1e-300)
    root = lower_root(covariance + np.eye(n) * jitter, least=0.0)
    normals = STREAMS.generator(0, 0, stream).standard_normal((n, number))
    draws: Array = mean + (root @ normals).T
    return draws
