"""The fits of a policy to its rewards, as a study asks for them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from kernelbandits.calibration.fitter import Fit

if TYPE_CHECKING:
    from kernelbandits.policies.learner import Learner


class Fits:
    """The fits of a policy to its rewards: when they are due, which were made, what the last says.

    >>> import kernelbandits as kb
    >>> auto = kb.Auto(kb.Arms([[0.0], [0.5], [1.0]]))
    >>> for arm in (0, 1, 2):
    ...     auto.tell(auto.choice(arm), 0.5 * arm)
    >>> auto.fits.next_due, sorted(auto.fits.made), auto.fits.noise_contradicted
    (4, [1, 2, 3], False)
    """

    def __init__(self, learner: Learner) -> None:
        self._learner = learner

    @property
    def next_due(self) -> float:
        """After how many rewards the scales are fitted again."""
        return self._learner.refits.next_after(self._learner.rewards.events)

    def last_due(self, after: int, events: int) -> int:
        """Return the last number of rewards above `after`, up to `events`, at which a fit is due.

        0 if there is none.
        """
        return self._learner.last_fit(after, events)

    @property
    def made(self) -> Mapping[int, Fit]:
        """The fits that were made here, by their numbers of rewards."""
        return self._learner.made_fits

    def adopt(self, stored: Mapping[int, Mapping[str, Any]]) -> None:
        """Take fits that were made before, by their numbers of rewards, in place of new ones.

        They come as they are stored (`policies.stored`), and are read when they are due.
        """
        self._learner.known_fits |= stored

    @property
    def noise_contradicted(self) -> bool:
        """Whether the rewards contradict the noise that was given."""
        return self._learner.fit.noise_contradicted

    @property
    def nugget_scale(self) -> float:
        """By how much single points deviate from their neighbours, in the units of the rewards."""
        members = self._learner.fit.members
        scales = [one.standard.original_sd(0.0, math.sqrt(one.nugget_variance)) for one in members]
        return float(np.median(scales))

    def nugget_evidence(self) -> float:
        """Return how much the nugget adds to the log evidence; 0 without rewards.

        It is ln p(rewards | the fit) - ln p(rewards | the fit without its nugget).

        The fit has a nugget whether or not points deviate singly, because its prior has one. This
        says whether the rewards ask for it.
        """
        observations, last = self._learner.observations(), self._learner.fit
        if observations is None:
            return 0.0
        fit, sides = last.calibration, np.array(last.sides)
        with_it, without = (
            observations.log_evidence(scales.whole_kernel(sides), scales.ridge)
            for scales in (fit, replace(fit, nugget_variance=0.0))
        )
        return with_it - without
