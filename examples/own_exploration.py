"""Laws of your own: a scipy.stats law, a schedule of the round, and one that looks at the posterior."""

from scipy import stats

import kernelbandits as kb
from kernelbandits.experiment import Contender

told = {"noise_scale": 0.1, "norm_bound": 1.0}


def fading(t: int) -> kb.Bernoulli:
    return kb.Bernoulli(max(0.05, t**-0.5))


def curious(t: int, posterior: kb.posterior.ArmPosterior) -> kb.Bernoulli:
    return kb.Bernoulli(0.5 if posterior.sd.max() > 0.5 else 0.1)


laws = {
    "exponential": stats.expon(),
    "fading": fading,
    "curious": curious,
    "certainty": kb.Certainty(0.5, 0.05),
}
for name, law in laws.items():
    shown = (
        f"P(w >= 1) = {kb.exploration.Frozen(law).optimism:.3f}"
        if hasattr(law, "cdf")
        else "a schedule"
    )
    print(f"{name}: {shown}")

contenders = [
    Contender(name, "generic-gp", told | {"exploration": law}) for name, law in laws.items()
]
results = kb.run_experiment("hartmann6", contenders, kernel=kb.RBF(0.3), horizon=200, seeds=5)
print(
    results.summary()[["policy", "regret_mean", "regret_low", "regret_high"]]
    .round(1)
    .to_string(index=False)
)
