"""Compare policies on one problem: a table, a LaTeX table, a figure and a report."""

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
    "igp-ucb",
    "gp-ts",
    "whitehouse-ucb",
    "expected-improvement",
    "random",
]
results = kb.run_experiment(
    problem, policies, kernel=kernel, horizon=200, seeds=5, noise_scale=0.2, norm_bound=2.0
)

columns = ["policy", "regret_mean", "regret_low", "regret_high", "simple_regret_mean"]
print(results.summary()[columns].round(2).to_string(index=False))
print(results.to_latex())

folder = Path(tempfile.mkdtemp())
results.plot(folder / "simple-regret.pdf", size=(6.3, 3.0), kind="simple")
write_run(results, folder, title="A function of norm 2 in a Matern space")
print("report.html written:", (folder / "report.html").exists())
