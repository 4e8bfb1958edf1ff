"""A problem from a Python function and a policy of your own, beside those of the catalogue."""

import kernelbandits as kb


def coating_quality(x):
    """Quality of a coating by temperature in C and time in minutes: a number, to be maximised."""
    temperature, minutes = x
    return 1 - ((temperature - 140) / 60) ** 2 - ((minutes - 25) / 20) ** 2


class EpsilonGreedy(kb.Policy):
    """Play a random arm with chance epsilon, else the arm with the highest estimate."""

    def __init__(self, domain, kernel, *, epsilon=0.1, ridge=0.01):
        super().__init__(domain, kernel, ridge=ridge, ties="random")
        self.epsilon = epsilon

    def ask(self, t, rng):
        if rng.uniform("weight", t) < self.epsilon:
            return self.choice(int(rng.uniform("sample", t) * len(self.domain)))
        return self.choice(int(self.posterior.mean.argmax()))


problem = kb.problem(
    coating_quality,
    kb.Box(lower=(80, 5), upper=(200, 60)),
    candidates=40,
    noise="gaussian:0.05",
)
policies = [
    EpsilonGreedy,
    kb.Contender("often random", EpsilonGreedy, {"epsilon": 0.5}),
    "simple-ucb",
    "random",
]
results = kb.run_experiment(
    problem, policies, horizon=100, seeds=5, noise_scale=0.05, norm_bound=2.0
)
table = results.summary()[["policy", "regret_mean", "simple_regret_mean"]]
print(table.round(3).to_string(index=False))
