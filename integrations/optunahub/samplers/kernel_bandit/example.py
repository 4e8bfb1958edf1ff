"""A conditional space with the sampler of kernelbandits, and a pool of nodes of a graph."""

from __future__ import annotations

import numpy as np
import optuna
import optunahub

module = optunahub.load_module(package="samplers/kernel_bandit")


def loss(trial: optuna.Trial) -> float:
    rate = trial.suggest_float("rate", 1e-5, 1.0, log=True)
    kind = trial.suggest_categorical("kind", ["plain", "deep"])
    layers = trial.suggest_int("layers", 1, 8) if kind == "deep" else 1
    return abs(np.log(rate / 0.01)) + abs(layers - 3)


if __name__ == "__main__":
    study = optuna.create_study(sampler=module.KernelBanditSampler(seed=1))
    study.optimize(loss, n_trials=30)
    print(study.best_params)

    ring = np.roll(np.eye(50), 1, axis=0) + np.roll(np.eye(50), -1, axis=0)
    sampler = module.PoolSampler(graph=ring, seed=1)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.optimize(lambda trial: -abs(sampler.suggest(trial) - 20), n_trials=20)
    print(study.best_params)
