"""Laws of the weight w_t, the paper's exploration distributions, and schedules of laws.

One uniform becomes one weight, `law.draw(u)`; a law knows its optimism C1 = P(w >= 1), atoms included.
An exploration argument is a law, a schedule t -> law, or a schedule (t, posterior) -> law.
"""

from kernelbandits.exploration.composed import Frozen, Mixture, as_law
from kernelbandits.exploration.laws import (
    Bernoulli,
    Categorical,
    Discrete,
    Gaussian,
    Law,
    PointMass,
)
from kernelbandits.exploration.relatives import DiscretisedGaussian, RootExponential
from kernelbandits.exploration.schedules import Certainty, Decay, Exploration, Step

__all__ = [
    "Bernoulli",
    "Categorical",
    "Certainty",
    "Decay",
    "Discrete",
    "DiscretisedGaussian",
    "Exploration",
    "Frozen",
    "Gaussian",
    "Law",
    "Mixture",
    "PointMass",
    "RootExponential",
    "Step",
    "as_law",
]
