"""Calibration: lengthscales, signal and noise estimated from rewards, and the R and D of a fit.

The scales maximise the marginal likelihood of the standardised rewards times a prior (`calibrate`).
`Calibration` is the result, `Refits` says when to fit again.

>>> import numpy as np
>>> from kernelbandits.calibration import calibrate
>>> x = np.linspace(0, 1, 12)[:, None]
>>> y = 50 + 10 * np.sin(6 * x[:, 0])
>>> fit = calibrate(x, np.ones(12), y, y**2)
>>> fit.ok, len(fit.lengthscales), fit.noise_scale < 1
(True, 1, True)
"""

from kernelbandits.calibration.calibration import Calibration
from kernelbandits.calibration.earlier import EarlierResults
from kernelbandits.calibration.fit import calibrate, calibrate_members
from kernelbandits.calibration.prior import Prior
from kernelbandits.calibration.refits import Refits
from kernelbandits.calibration.rewards import Measurement, Rewards
from kernelbandits.calibration.standard import Standard

__all__ = [
    "Calibration",
    "EarlierResults",
    "Measurement",
    "Prior",
    "Refits",
    "Rewards",
    "Standard",
    "calibrate",
    "calibrate_members",
]
