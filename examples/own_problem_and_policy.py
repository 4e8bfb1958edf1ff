"""A problem from a Python function and a policy of your own, beside those of the catalogue."""

import kernelbandits as kb


def coating_quality(x):
    """Quality of a coating by temperature in C and time in minutes; more is better."""
    temperature, minutes = x
    return 1 - ((temperature - 140) / 60) ** 2 - ((minutes - 25) / 20) ** 2


class SometimesUCB(kb.Policy):
    """Play the largest mean + 2 sd with probability epsilon, else the highest estimate."""

    plays_boxes = restricts_arms = imagines_pending = weighs_costs = True

    def __init__(self, domain, kernel, *, epsilon=0.25, ridge=0.01):
        super().__init__(domain, kernel, ridge=ridge, ties="random")
        self.epsilon = epsilon

    def acquisition(self, now):
        """Return the score that is maximised in this round: mean + weight * width * sd."""
        explores = now.draw_weight() < self.epsilon
        return kb.policies.UpperConfidence(weight=1.0 if explores else 0.0, width=2.0)


problem = kb.problem(
    coating_quality,
    kb.Box(lower=(80, 5), upper=(200, 60)),
    candidates=40,
    noise="gaussian:0.05",
)
policies = [
    SometimesUCB,
    kb.Contender("often UCB", SometimesUCB, {"epsilon": 0.75}),
    "simple-ucb",
    "expected-improvement",
    "random",
]
results = kb.run_experiment(
    problem, policies, horizon=100, seeds=5, noise_scale=0.05, norm_bound=2.0
)
table = results.summary()[["policy", "regret_mean", "simple_regret_mean"]]
print(table.round(3).to_string(index=False))

# The same class plays anywhere in a box, here with one choice whose result is still to come.
on_box = SometimesUCB(kb.Box(lower=(0, 0), upper=(1, 1)), kb.RBF(0.3))
first = on_box.ask(1, kb.Streams(0))
second = on_box.ask(2, kb.Streams(0), pending=[first])
print("first", first.x.round(2), "second", second.x.round(2))
