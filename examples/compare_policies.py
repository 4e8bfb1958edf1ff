"""Rivals under one posterior, one noise and one statement of the information gain, with a figure to send."""

import tempfile
from pathlib import Path

import kernelbandits as kb
from kernelbandits.problems import RKHSFunction, UniformNoise
from kernelbandits.report import write_run

kernel = kb.Matern(0.3, nu=2.5)
problem = RKHSFunction(kernel, dimension=2, candidates=80, norm_bound=2.0, noise=UniformNoise(0.2))
policies = [
    "simple-ucb",
    "simple-bernoulli:p=0.5",
    "simple-gaussian",
    "igp-ucb",
    "gp-ts",
    "whitehouse-ucb",
    "random",
]
results = kb.run_experiment(
    problem,
    policies,
    kernel=kernel,
    horizon=300,
    seeds=8,
    noise_scale=0.2,
    norm_bound=2.0,
    gain="realised",
)
folder = Path(tempfile.mkdtemp())
table = write_run(results, folder, title="A function of norm 2 in a Matern space")
print(
    table[["policy", "regret_mean", "regret_low", "regret_high", "gain"]]
    .round(2)
    .to_string(index=False)
)
print("report.html written:", (folder / "report.html").exists())
