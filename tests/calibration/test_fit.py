"""What a fit of scales is computed from."""

from __future__ import annotations

import numpy as np

from kernelbandits.calibration.fit import principal_axes


def test_the_axes_of_a_curvature_are_alike_however_it_was_rounded():
    """Equal curvatures, as of parameters that no reward tells of, have any axes; signs are free."""
    rng = np.random.default_rng(0)
    turn = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    for curvature in (np.eye(5), (turn * [1.0, 1.0, 1.0, 4.0, 9.0]) @ turn.T):
        values, axes = principal_axes(curvature)
        np.testing.assert_allclose((axes * values) @ axes.T, curvature, atol=1e-5)
        for _ in range(20):
            rounding = 1e-12 * rng.normal(size=(5, 5))
            again = principal_axes(curvature + rounding + rounding.T)[1]
            np.testing.assert_allclose(again, axes, atol=1e-4)
