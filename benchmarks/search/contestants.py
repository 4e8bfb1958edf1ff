"""Who plays in `python -m benchmarks search`, on what, and how each package is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.opponents import OURS, Contestant
from benchmarks.search.tasks import Task

RANDOM = "random"
LOGEI = "botorch-logei"
LOGNEI = "botorch-lognei"
LOGNEI_ONCE = "botorch-lognei-once"
GPSAMPLER = "optuna-gp"
ANY, EXACT, NOISY = "any noise", "without noise", "with noise"
BOTORCH = (
    "SingleTaskGP with its default priors and Standardize, fitted every round; "
    "5 random places first"
)


@dataclass(frozen=True)
class SearchContestant(Contestant):
    """A contestant, and the tasks for which it is meant."""

    adapters: ClassVar[str] = "benchmarks.search.opponents"
    on_boxes: bool = True
    under: str = ANY
    """At which noise its documentation would have it used."""
    in_batches: bool = False
    """Whether it plays when several measurements are asked for at once."""

    def takes(self, task: Task) -> bool:
        place = self.on_arms if task.is_table else self.on_boxes
        noise = self.under in (ANY, NOISY if task.noise > 0 else EXACT)
        return place and noise and (task.batch == 1 or self.in_batches)


CONTESTANTS: Mapping[str, SearchContestant] = {
    contestant.name: contestant
    for contestant in (
        SearchContestant(
            OURS,
            "kernelbandits",
            "kernelbandits",
            "ours",
            {},
            'kb.Auto(domain, goal="find"), nothing else given',
            in_batches=True,
        ),
        SearchContestant(
            RANDOM,
            "random",
            "numpy",
            "uniform",
            {},
            "rows without replacement, or even draws from the box; names the best result",
            in_batches=True,
        ),
        SearchContestant(
            LOGEI,
            "BoTorch LogEI",
            "botorch",
            "bo_torch",
            {},
            f"{BOTORCH}; LogExpectedImprovement (in batches qLogExpectedImprovement with pending "
            "places) over unmeasured rows, improving on the best result without noise and on the "
            "best posterior mean at a measured row with noise; on boxes optimize_acqf with 10 "
            "restarts and 256 raw samples",
            in_batches=True,
        ),
        SearchContestant(
            LOGNEI,
            "BoTorch LogNEI",
            "botorch",
            "bo_torch",
            {"noisy": True, "repeats": True},
            f"{BOTORCH}; qLogNoisyExpectedImprovement over all rows, measured ones included",
            under=NOISY,
            in_batches=True,
        ),
        SearchContestant(
            LOGNEI_ONCE,
            "BoTorch LogNEI, no repeats",
            "botorch",
            "bo_torch",
            {"noisy": True},
            f"{BOTORCH}; qLogNoisyExpectedImprovement over unmeasured rows",
            on_boxes=False,
            under=NOISY,
            in_batches=True,
        ),
        SearchContestant(
            "baybe",
            "BayBE",
            "baybe",
            "bay_be",
            {},
            "a Campaign over the rows of the table with its default recommender; columns as they "
            "are, tables only",
            on_boxes=False,
        ),
        SearchContestant(
            "sklearn-ei",
            "scikit-learn GPR + EI",
            "scikit-learn",
            "scikit_learn",
            {},
            "constant x Matern 5/2 + white noise, normalize_y, 2 restarts, fitted every round; "
            "expected improvement over unmeasured rows; 5 random rows first; tables only",
            on_boxes=False,
        ),
        SearchContestant(
            GPSAMPLER,
            "Optuna GPSampler",
            "optuna",
            "optuna_samplers",
            {"sampler": "GPSampler"},
            "its defaults; it cannot be restricted to the rows of a table, so boxes only",
            on_arms=False,
            needs=("torch",),
        ),
        SearchContestant(
            "optuna-tpe",
            "Optuna TPESampler",
            "optuna",
            "optuna_samplers",
            {"sampler": "TPESampler"},
            "its defaults; it cannot be restricted to the rows of a table, so boxes only",
            on_arms=False,
        ),
    )
}
LOGEI_FORMS = (LOGEI, LOGNEI, LOGNEI_ONCE)
"""The forms of LogEI that the default is compared with."""
