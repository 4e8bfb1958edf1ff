"""A table, results that arrive in any order, failed measurements, and no scales to be given."""

import numpy as np

import kernelbandits as kb

rng = np.random.default_rng(3)
table = np.column_stack(
    [rng.uniform(100, 400, 80), rng.uniform(0.01, 0.2, 80), rng.uniform(1, 9, 80)]
)
yields = 70 - ((table[:, 0] - 250) / 60) ** 2 - ((table[:, 1] - 0.08) / 0.04) ** 2


def measure_yield(row: int) -> float:
    """The yield of a row, with an error of 0.3."""
    return yields[row] + 0.3 * rng.normal()


policy = kb.Auto(kb.Arms(table), seed=2)
earlier = [3, 30, 55]  # rows that were measured before the policy was used
policy.tell_all([(policy.choice(row), measure_yield(row)) for row in earlier])

for _ in range(10):
    batch = policy.batch(3)  # three rows a day
    for number in rng.permutation(3):  # the results come in any order
        choice = batch[number]
        if rng.random() < 0.1:
            policy.fail(choice)  # a broken vial: no observation
        else:
            policy.tell(choice, measure_yield(choice.arm))

print("next:", kb.insight.explain(policy, policy.ask()))
best = policy.recommend()
print("recommended:", kb.insight.explain(policy, policy.choice(best)))
print(f"the true yield of row {best}: {yields[best]:.2f}; of the best row: {yields.max():.2f}")
print(policy.settings["calibration"])
