"""Calibration: lengthscales, signal and noise estimated from rewards, and the R and D of a fit.

The scales maximise the marginal likelihood of the standardised rewards times a prior (`calibrate`).
`Calibration` is the result, `Refits` says when to fit again.
"""

from kernelbandits.calibration.calibration import Calibration
from kernelbandits.calibration.fit import calibrate, calibrate_members
from kernelbandits.calibration.prior import Prior
from kernelbandits.calibration.refits import Refits
from kernelbandits.calibration.rewards import Measurement, Rewards
from kernelbandits.calibration.standard import Standard

__all__ = [
    "Calibration",
    "Measurement",
    "Prior",
    "Refits",
    "Rewards",
    "Standard",
    "calibrate",
    "calibrate_members",
]
