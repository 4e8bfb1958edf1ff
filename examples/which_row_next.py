"""A table of candidates, measurements that come when they come, and an answer to "why this row?"."""

import numpy as np

import kernelbandits as kb

rng = np.random.default_rng(3)
table = np.column_stack(
    [rng.uniform(100, 400, 80), rng.uniform(0.01, 0.2, 80), rng.uniform(1, 9, 80)]
)
yields = 70 - ((table[:, 0] - 250) / 60) ** 2 - ((table[:, 1] - 0.08) / 0.04) ** 2

policy = kb.Auto(kb.Arms(table), seed=2)
for row in (3, 30, 55):  # what was measured before anybody asked
    policy.tell(policy.choice(row), yields[row] + 0.3 * rng.normal())

for _ in range(10):
    today = policy.batch(3)  # three a day
    for choice in rng.permutation(np.array(today, dtype=object)):  # results come in any order
        if rng.random() < 0.1:
            policy.fail(choice)  # a broken vial is no observation
        else:
            policy.tell(choice, yields[choice.arm] + 0.3 * rng.normal())

print("next:", policy.explain(policy.ask()))
best = policy.recommended()
print("best:", policy.explain(best))
print(f"row {best.arm} truly yields {yields[best.arm]:.2f}; the best row {yields.max():.2f}")
print(policy.calibration.sentence(), policy.settings["claim"])
