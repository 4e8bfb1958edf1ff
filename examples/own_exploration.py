"""Exploration laws of your own: from scipy.stats, by the round, or by what the posterior knows."""

from scipy import stats

import kernelbandits as kb


def explore_less_and_less(t: int) -> kb.Bernoulli:
    """Explore in round t with probability t^(-1/2), and at least in every twentieth round."""
    return kb.Bernoulli(max(0.05, t**-0.5))


def explore_while_uncertain(t: int, posterior: kb.posterior.ArmPosterior) -> kb.Bernoulli:
    """Explore often while some arm is still uncertain."""
    return kb.Bernoulli(0.5 if posterior.sd.max() > 0.5 else 0.1)


laws = {
    "exponential": stats.expon(),
    "less and less": explore_less_and_less,
    "while uncertain": explore_while_uncertain,
    "certainty": kb.Certainty(0.5, 0.05),
}
contenders = [
    kb.Contender(name, "generic-gp", {"exploration": law, "noise_scale": 0.1, "norm_bound": 1.0})
    for name, law in laws.items()
]
results = kb.run_experiment("hartmann6", contenders, kernel=kb.RBF(0.3), horizon=200, seeds=5)
columns = ["policy", "regret_mean", "regret_low", "regret_high"]
print(results.summary()[columns].round(1).to_string(index=False))

# A regret bound needs C1 = P(w >= 1) > 0 in every round, and grows with C2 + C3.
for p in (0.5, 0.05):
    found = kb.theory.constants(kb.Bernoulli(p), 200)
    print(f"Bernoulli({p}): C1 = {found.c1:g}, C2 + C3 = {found.c2 + found.c3:.3g}")
