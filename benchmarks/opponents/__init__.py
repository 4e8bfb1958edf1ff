"""Who plays in `python -m benchmarks regret`.

One small adapter a package, each used as its documentation has it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar, Protocol

import kernelbandits as kb
from benchmarks.pools import PoolInstance

OURS = "auto"


class Opponent(Protocol):
    def ask(self, t: int) -> Any:
        """The move of round t."""
        ...

    def tell(self, move: Any, reward: float) -> None: ...

    def recommend(self) -> Any:
        """The move it would name as the best."""
        ...


@dataclass(frozen=True)
class Contestant:
    """A name in the table, the package it needs, and how that is used."""

    name: str
    title: str
    package: str
    adapter: str
    """The module of `adapters` whose `make(instance, **settings)` gives an Opponent."""
    settings: Mapping[str, Any]
    used: str
    """What it does, in a sentence for the table."""
    on_arms: bool = True
    needs: tuple[str, ...] = ()
    """Other packages without which it does not play."""
    adapters: ClassVar[str] = __name__

    @property
    def version(self) -> str | None:
        """That of the package; None where it is missing."""
        return installed_version(self.package)

    @property
    def missing(self) -> str | None:
        """Why it cannot play here."""
        if self.name == OURS and not hasattr(kb, "Auto"):
            return "this kernelbandits has no Auto"
        absent = [
            package for package in (self.package, *self.needs) if installed_version(package) is None
        ]
        return f"{absent[0]} is not installed" if absent else None

    def plays(self, pool_is_finite: bool) -> bool:
        return self.on_arms or not pool_is_finite

    def opponent(self, instance: PoolInstance) -> Any:
        return import_module(f"{self.adapters}.{self.adapter}").make(instance, **self.settings)


def installed_version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def version_of(contestant: Contestant, label: str | None = None) -> str:
    """That of the package; ours is told by the content of its source unless a label is given."""
    if contestant.name == OURS:
        return label or f"{kb.__version__}+{source_hash()}"
    return str(contestant.version)


def source_hash() -> str:
    """Eight digits for the content of every module."""
    folder = Path(kb.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        digest.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return digest.hexdigest()[:8]


CONTESTANTS: Mapping[str, Contestant] = {
    contestant.name: contestant
    for contestant in (
        Contestant(
            OURS,
            "kb.Auto",
            "kernelbandits",
            "default",
            {},
            'kb.Auto(domain, goal="earn"), nothing else given',
        ),
        Contestant(
            "random",
            "uniform random",
            "numpy",
            "uniform",
            {},
            "even draws; names the best mean it saw",
        ),
        Contestant(
            "sklearn-ucb",
            "scikit-learn GPR + UCB(2)",
            "scikit-learn",
            "scikit_learn",
            {},
            "constant x Matern 5/2 + white noise, normalize_y, 2 restarts, "
            "fitted every round; mean + 2 sd of f; "
            "5 random points first; on boxes 2000 random candidates and L-BFGS-B from the best 3",
        ),
        Contestant(
            "bayes-opt",
            "bayesian-optimization",
            "bayesian-optimization",
            "bayesian_optimization",
            {},
            "its default UCB(2.576), 5 random points first, "
            "white noise added to its Matern 5/2 kernel (it helps), "
            "repeats allowed; on pools its model and acquisition over all candidates",
        ),
        Contestant(
            "skopt",
            "scikit-optimize",
            "scikit-optimize",
            "scikit_optimize",
            {},
            "Optimizer with its defaults (GP, gp_hedge, 10 random points first); "
            "on pools the candidates are what it samples from, and repeats are allowed",
        ),
        Contestant(
            "optuna-gp",
            "Optuna GPSampler",
            "optuna",
            "optuna_samplers",
            {"sampler": "GPSampler"},
            "its defaults (log expected improvement, 10 random points first); boxes only",
            on_arms=False,
            needs=("torch",),
        ),
        Contestant(
            "optuna-tpe",
            "Optuna TPESampler",
            "optuna",
            "optuna_samplers",
            {"sampler": "TPESampler"},
            "its defaults (10 random points first); boxes only",
            on_arms=False,
        ),
        Contestant(
            "botorch-ucb",
            "BoTorch UCB(4)",
            "botorch",
            "bo_torch",
            {"acquisition": "UpperConfidenceBound"},
            "SingleTaskGP with its priors and Standardize, fitted every round; "
            "UpperConfidenceBound(beta=4); "
            "5 random points first; on boxes optimize_acqf with 10 restarts and 256 raw samples",
        ),
        Contestant(
            "botorch-logei",
            "BoTorch LogEI",
            "botorch",
            "bo_torch",
            {"acquisition": "LogExpectedImprovement"},
            "the same with LogExpectedImprovement over the best posterior mean at a point played",
        ),
    )
}
