"""Exploration laws: the distribution of the weight w_t in index = mean + w_t * width_t * sd.

A law turns one uniform number into one weight, `law.draw(u)`, and knows its optimism
C1 = P(w >= 1). The `exploration` argument of a policy is a law, a schedule t -> law, or a schedule
(t, posterior) -> law or (t, posterior, width) -> law.

A law or a schedule is one file and one line in the list below; the catalogue and the tests find it
there. `Law` says what a law of your own needs.

>>> from kernelbandits import Bernoulli, Decay, PointMass
>>> Bernoulli(0.25).draw(0.8), Bernoulli(0.25).optimism
(1.0, 0.25)
>>> Decay(first=1.0, power=0.5, floor=0.05)(100)
Bernoulli(p=0.1)
"""

from kernelbandits.exploration.adaptive import AdaptiveBernoulli as AdaptiveBernoulli
from kernelbandits.exploration.adaptive import InformationDirected as InformationDirected
from kernelbandits.exploration.frozen import Frozen as Frozen
from kernelbandits.exploration.frozen import as_law as as_law
from kernelbandits.exploration.laws import Bernoulli as Bernoulli
from kernelbandits.exploration.laws import Categorical as Categorical
from kernelbandits.exploration.laws import Discrete as Discrete
from kernelbandits.exploration.laws import Gaussian as Gaussian
from kernelbandits.exploration.laws import Law as Law
from kernelbandits.exploration.laws import PointMass as PointMass
from kernelbandits.exploration.mixture import Mixture as Mixture
from kernelbandits.exploration.randomised_ucb import DiscretisedGaussian as DiscretisedGaussian
from kernelbandits.exploration.randomised_ucb import RootExponential as RootExponential
from kernelbandits.exploration.schedules import Certainty as Certainty
from kernelbandits.exploration.schedules import Decay as Decay
from kernelbandits.exploration.schedules import Exploration as Exploration
from kernelbandits.exploration.schedules import Step as Step
from kernelbandits.exploration.schedules import chance_range as chance_range
