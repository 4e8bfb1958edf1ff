"""The best setting depends on the weather: given in every round, not chosen. And offers that differ each day."""

import numpy as np

import kernelbandits as kb

rng = np.random.default_rng(1)
policy = kb.Auto(kb.Contextual(kb.Box((0.0,), (50.0,)), size=1))
for _ in range(60):
    outside = rng.uniform(-10, 30)
    choice = policy.ask(context=[outside])
    valve = choice.x[0]
    policy.tell(choice, 20 - abs(valve - (40 - outside)) + rng.normal())

for outside in (-5.0, 10.0, 25.0):
    best = policy.recommended(context=[outside])
    print(
        f"at {outside:5.1f} degrees open the valve by {best.x[0]:4.1f} (the truth is {40 - outside:.1f})"
    )

offers = kb.Auto(kb.Contextual(2, size=0))
for _ in range(30):
    today = rng.random((8, 2))  # eight offers, gone tomorrow
    choice = offers.ask(arms=today)
    offers.tell(choice, 3 * choice.x[0] - 2 * choice.x[1] ** 2 + 0.1 * rng.normal())
tomorrow = np.array([[0.2, 0.9], [0.9, 0.2], [0.5, 0.5]])
print("tomorrow:", offers.explain(offers.ask(arms=tomorrow), arms=tomorrow))
