"""What rewards say of their noise: the greatest reward that came again."""

from __future__ import annotations

import numpy as np
import pytest

from kernelbandits.calibration import Rewards
from kernelbandits.calibration.noise import NoiseEvidence


def evidence(rewards):
    """Of rewards (point, value) on a line."""
    known = Rewards()
    for point, value in rewards:
        known.add(np.array([float(point)]), value)
    return NoiseEvidence(known)


@pytest.mark.parametrize(
    ("rewards", "settled"),
    [
        ([(0, 1.0), (1, 1.0), (2, 0.5)], [True, True, False]),
        ([(0, 1.0), (1, 0.9), (2, 0.5)], [False, False, False]),
        ([(0, 1.0), (0, 1.0), (2, 0.5)], [True, False]),
        ([(0, 1.0), (1, 1.0), (2, 0.5), (2, 0.5)], [True, True, False]),
        ([(0, 1.0), (1, 1.0), (2, 0.5), (2, 0.6)], [False, False, False]),
        ([(0, 0.1), (1, 0.1), (0, 0.1), (1, 0.1)], [True, True]),
    ],
)
def test_the_greatest_reward_is_settled_once_it_came_again_and_no_repeat_differs(rewards, settled):
    np.testing.assert_array_equal(evidence(rewards).settled_best, settled)
