"""Who plays in `python -m benchmarks search`, on what, and how each package is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.opponents import OURS, Contestant
from benchmarks.search.tasks import Task

RANDOM = "random"
LOGEI = "botorch-logei"
LOGEI_1 = "botorch-logei-1"
LOGNEI = "botorch-lognei"
LOGNEI_1 = "botorch-lognei-1"
LOGNEI_ONCE = "botorch-lognei-once"
TWIN_1, TWIN_5 = "twin-1", "twin-5"
GPSAMPLER = "optuna-gp"
ANY, EXACT, NOISY = "any noise", "without noise", "with noise"
BOTORCH = "SingleTaskGP with its default priors and Standardize, fitted every round"
INCUMBENT = (
    "improving on the best result without noise and on the best posterior mean at a measured row "
    "with noise"
)
AVOIDED = (
    "BoTorch keeps no record of what was measured; optimize_acqf_discrete leaves out measured rows "
    "where they are given as X_avoid, as is done here"
)
REPEATED = (
    "qLogNoisyExpectedImprovement over all rows, measured ones included, as in "
    "optimize_acqf_discrete without X_avoid, its default"
)
TWIN = (
    "the model, the fit and LogExpectedImprovement of BoTorch 0.18.1 in numpy and scipy, over "
    f"unmeasured rows, {INCUMBENT}; tables only"
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
            f"{BOTORCH}; 5 random places first; LogExpectedImprovement (in batches "
            f"qLogExpectedImprovement with pending places) over unmeasured rows, {INCUMBENT}; "
            f"{AVOIDED}; on boxes optimize_acqf with 10 restarts and 256 raw samples",
            in_batches=True,
        ),
        SearchContestant(
            LOGEI_1,
            "BoTorch LogEI from 1 row",
            "botorch",
            "bo_torch",
            {"first": 1},
            "the same on tables from 1 random row, one measurement after the other",
            on_boxes=False,
        ),
        SearchContestant(
            TWIN_5,
            "LogEI twin from 5 rows",
            "scipy",
            "twin",
            {"first": 5},
            f"{TWIN}; 5 random rows first",
            on_boxes=False,
        ),
        SearchContestant(
            TWIN_1,
            "LogEI twin from 1 row",
            "scipy",
            "twin",
            {"first": 1},
            f"{TWIN}; 1 random row first",
            on_boxes=False,
        ),
        SearchContestant(
            LOGNEI,
            "BoTorch LogNEI",
            "botorch",
            "bo_torch",
            {"noisy": True, "repeats": True},
            f"{BOTORCH}; 5 random places first; {REPEATED}",
            under=NOISY,
            in_batches=True,
        ),
        SearchContestant(
            LOGNEI_1,
            "BoTorch LogNEI from 1 row",
            "botorch",
            "bo_torch",
            {"noisy": True, "repeats": True, "first": 1},
            "the same on tables from 1 random row, one measurement after the other",
            on_boxes=False,
            under=NOISY,
        ),
        SearchContestant(
            LOGNEI_ONCE,
            "BoTorch LogNEI, no repeats",
            "botorch",
            "bo_torch",
            {"noisy": True},
            f"{BOTORCH}; 5 random rows first; qLogNoisyExpectedImprovement over unmeasured rows",
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
            "a Campaign over the rows of the table with its default recommender, which begins with "
            "1 random row; by default a discrete campaign recommends no row twice "
            "(allow_recommending_already_recommended); columns as they are, tables only",
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
LOGEI_FORMS = (LOGEI, LOGEI_1, TWIN_5, TWIN_1, LOGNEI, LOGNEI_1, LOGNEI_ONCE)
"""The forms of LogEI that the default is compared with."""
