"""Contexts: the best setting depends on something that is given in each round, not chosen.

The second part has arms that differ from round to round.
"""

import numpy as np

import kernelbandits as kb

rng = np.random.default_rng(1)

# The context is the temperature outside; the setting is how far a valve is open, in percent.
policy = kb.Auto(kb.Contextual(kb.Box((0.0,), (50.0,)), size=1))
for _ in range(60):
    outside = rng.uniform(-10, 30)
    choice = policy.ask(context=[outside])
    valve = choice.x[0]
    policy.tell(choice, 20 - abs(valve - (40 - outside)) + rng.normal())

for outside in (-5.0, 10.0, 25.0):
    valve = policy.recommend(context=[outside])[0]
    print(f"at {outside:5.1f} degrees: valve at {valve:4.1f} (the best is {40 - outside:.1f})")

# Eight offers a day, described by two numbers; the next day there are other offers.
offers = kb.Auto(kb.Contextual(2, size=0))
for _ in range(30):
    today = rng.random((8, 2))
    choice = offers.ask(arms=today)
    offers.tell(choice, 3 * choice.x[0] - 2 * choice.x[1] ** 2 + 0.1 * rng.normal())
tomorrow = np.array([[0.2, 0.9], [0.9, 0.2], [0.5, 0.5]])
print("tomorrow:", kb.insight.explain(offers, offers.ask(arms=tomorrow), arms=tomorrow))
