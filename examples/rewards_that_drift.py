"""Rewards that drift: policies that forget old rewards, beside GP-UCB, which never forgets.

The kernel has the scale of the rewards. Their standard deviation over the arms is about 0.25, so
k(x, x) = 0.06.
"""

import kernelbandits as kb
from kernelbandits.problems import Drifting, Markov

problem = Drifting(kb.problem("branin", candidates=30), Markov(rate=0.02))
policies = [
    "gp-ucb:beta_scale=0.2",
    "tv-gp-ucb:rate=0.02,schedule=practical",
    "r-gp-ucb:rate=0.02,schedule=practical",
    "wgp-ucb:forgetting=0.98,ridge=0.01",
    "random",
]
results = kb.run_experiment(
    problem, policies, kernel=0.06 * kb.RBF(0.2), horizon=300, seeds=5, noise_scale=0.1
)
columns = ["policy", "regret_mean", "regret_low", "regret_high"]
table = results.summary()[columns].sort_values("regret_mean")
print(table.round(1).to_string(index=False))
