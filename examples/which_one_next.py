"""A table of candidates, a noisy measurement, and a policy with a regret bound: which one next?"""

import numpy as np

import kernelbandits as kb

rng = np.random.default_rng(0)
films = rng.dirichlet((1, 1, 1), size=60)
stability = 1 - 4 * (films[:, 0] - 0.2) ** 2 - 3 * (films[:, 1] - 0.6) ** 2


def measure_film(film: int) -> float:
    """The stability of a film, with an error of 0.05."""
    return stability[film] + 0.05 * rng.normal()


policy = kb.SimpleBernoulli(kb.Arms(films), kb.RBF(0.3), p=0.5, noise_scale=0.05, norm_bound=2.0)
streams = kb.Streams(seed=1)
for t in range(1, 41):
    choice = policy.ask(t, streams)
    policy.tell(choice, measure_film(choice.arm))

note = ", ".join(f"{name} {value:.3f}" for name, value in choice.note.items())
print(f"last suggestion: film {choice.arm} ({note})")
best = policy.recommend()
estimate = policy.posterior.mean[best]
print(f"recommended: film {best} {films[best].round(2)}, estimate {estimate:.3f}")
print(f"its true stability: {stability[best]:.3f}; the best film: {stability.max():.3f}")
