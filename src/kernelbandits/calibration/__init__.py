"""Lengthscales, signal and noise from rewards by maximum a posteriori marginal likelihood; R and D read off the fit."""

from kernelbandits.calibration.calibration import Calibration
from kernelbandits.calibration.fit import calibrate
from kernelbandits.calibration.prior import Prior
from kernelbandits.calibration.refits import Refits
from kernelbandits.calibration.rewards import Rewards
from kernelbandits.calibration.standard import Standard

__all__ = ["Calibration", "Prior", "Refits", "Rewards", "Standard", "calibrate"]
