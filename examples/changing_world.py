"""A world that drifts: rules that forget against one that trusts every reward for ever.

The kernel has the scale of the rewards: their standard deviation over the arms is about 0.25, so k(x, x) = 0.06.
"""

import kernelbandits as kb
from kernelbandits.problems import Drifting, Markov

problem = Drifting(kb.problem("branin", candidates=30), Markov(rate=0.02))
results = kb.run_experiment(
    problem,
    [
        "gp-ucb:beta_scale=0.2",
        "tv-gp-ucb:rate=0.02,schedule=practical",
        "r-gp-ucb:rate=0.02,schedule=practical",
        "wgp-ucb:forgetting=0.98,ridge=0.01",
        "random",
    ],
    kernel=0.06 * kb.RBF(0.2),
    horizon=400,
    seeds=8,
    noise_scale=0.1,
)
table = results.summary()
print(
    table[["policy", "regret_mean", "regret_low", "regret_high"]]
    .sort_values("regret_mean")
    .to_string(index=False)
)
