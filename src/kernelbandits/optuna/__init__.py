"""Samplers for Optuna studies: `kernelbandits` chooses, Optuna runs and stores the trials.

>>> import optuna
>>> from kernelbandits.optuna import KernelBanditSampler
>>> optuna.logging.set_verbosity(optuna.logging.WARNING)
>>> study = optuna.create_study(sampler=KernelBanditSampler(seed=1))
>>> study.optimize(lambda trial: (trial.suggest_float("x", -5, 5) - 2) ** 2, n_trials=15)
>>> abs(study.best_params["x"] - 2) < 0.3
True

`pip install ".[optuna]"` brings Optuna (4.8 or newer).
"""

from kernelbandits import runtime

runtime.require("optuna", extra="optuna", owner="kernelbandits.optuna")

from kernelbandits.optuna.pool_sampler import PoolSampler  # noqa: E402
from kernelbandits.optuna.sampler import KernelBanditSampler  # noqa: E402

__all__ = ["KernelBanditSampler", "PoolSampler"]
