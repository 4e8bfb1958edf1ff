"""Play until the loss of what is recommended is proved to be small, and stop.

The band holds in all rounds at once, so one may look at it after every reward and stop when it says enough.
"""

import kernelbandits as kb
from kernelbandits.problems import GaussianNoise, RKHSFunction

known = {"noise_scale": 0.1, "norm_bound": 1.0}
problem = RKHSFunction(kb.Matern(0.2), 1, candidates=40, norm_bound=1.0, noise=GaussianNoise(0.1))
streams = kb.Streams(seed=3)
instance = problem.instance(streams)
policy = kb.policies.AMMUCB(instance.domain, kb.Matern(0.2), ridge=0.05, delta=0.05, **known)

for t, choice, _ in kb.experiment.rounds(policy, instance, horizon=500, streams=streams):
    band = kb.theory.confidence_band(policy.posterior, delta=0.05, **known)
    if t in (1, 10, 30) or band.may_stop(0.1):
        print(f"round {t}, arm {choice.arm}: {band.sentence()}")
    if band.may_stop(0.1):
        break

loss = instance.values.max() - instance.values[band.recommended_arm]
print(
    f"stopped after {t} rounds ({band.method}); arm {band.recommended_arm} loses {loss:.3f} in truth"
)
print(
    f"the best arm is {instance.values.argmax()}; f was inside its band: {band.covers(instance.values)}"
)
