"""Exploration laws: the distribution of the weight w_t in index = mean + w_t * width_t * sd.

A law turns one uniform number into one weight, `law.draw(u)`, and knows its optimism
C1 = P(w >= 1). The `exploration` argument of a policy is a law, a schedule t -> law, or a schedule
(t, posterior) -> law or (t, posterior, width) -> law.

>>> from kernelbandits import Bernoulli, Decay, PointMass
>>> Bernoulli(0.25).draw(0.8), Bernoulli(0.25).optimism
(1.0, 0.25)
>>> Decay(first=1.0, power=0.5, floor=0.05)(100)
Bernoulli(p=0.1)
"""

from kernelbandits.exploration.adaptive import AdaptiveBernoulli, InformationDirected
from kernelbandits.exploration.frozen import Frozen, as_law
from kernelbandits.exploration.laws import (
    Bernoulli,
    Categorical,
    Discrete,
    Gaussian,
    Law,
    PointMass,
)
from kernelbandits.exploration.mixture import Mixture
from kernelbandits.exploration.randomised_ucb import DiscretisedGaussian, RootExponential
from kernelbandits.exploration.schedules import (
    Certainty,
    Decay,
    Exploration,
    Step,
    chance_range,
)

__all__ = [
    "AdaptiveBernoulli",
    "Bernoulli",
    "Categorical",
    "Certainty",
    "Decay",
    "Discrete",
    "DiscretisedGaussian",
    "Exploration",
    "Frozen",
    "Gaussian",
    "InformationDirected",
    "Law",
    "Mixture",
    "PointMass",
    "RootExponential",
    "Step",
    "as_law",
    "chance_range",
]
