"""Play until the recommended arm is proved to be good enough, then stop.

The confidence band holds in all rounds at once, so one may look at it after every reward and stop
as soon as it allows it.
"""

import kernelbandits as kb
from kernelbandits.problems import GaussianNoise, RKHSFunction

TOLERANCE = 0.1

known = {"noise_scale": 0.1, "norm_bound": 1.0}
problem = RKHSFunction(kb.Matern(0.2), 1, candidates=40, norm_bound=1.0, noise=GaussianNoise(0.1))
streams = kb.Streams(seed=3)
instance = problem.instance(streams)
policy = kb.policies.AMMUCB(instance.domain, kb.Matern(0.2), ridge=0.05, delta=0.05, **known)

for t, choice, _ in kb.experiment.rounds(policy, instance, horizon=500, streams=streams):
    band = kb.theory.confidence_band(policy.posterior, delta=0.05, **known)
    if t in (1, 10, 30) or band.may_stop(TOLERANCE):
        print(f"round {t}, arm {choice.arm}: {band.sentence()}")
    if band.may_stop(TOLERANCE):
        break

print(f"stopped after {t} rounds")
print(f"the true function was inside the band: {band.covers(instance.values)}")
