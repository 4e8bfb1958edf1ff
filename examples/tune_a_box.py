"""Tune a recipe of real numbers, whole numbers and categories; some of the trials fail."""

import numpy as np

import kernelbandits as kb

recipe = kb.MixedBox(
    {
        "heat": kb.Real(20, 90),
        "stirs": kb.Integer(1, 8),
        "acid": kb.Category(("citric", "acetic", "malic")),
    }
)
rng = np.random.default_rng(0)
strength = {"citric": 40.0, "acetic": 55.0, "malic": 45.0}


def true_yield(x: dict) -> float:
    """Grams of crystals that a recipe gives on average."""
    return strength[x["acid"]] - (x["heat"] - 60) ** 2 / 40 - (x["stirs"] - 5) ** 2


def measure_crystals(x: dict) -> float:
    """Grams of crystals, measured with an error of one gram."""
    if x["heat"] > 85:
        raise RuntimeError("boiled over")
    return true_yield(x) + rng.normal()


# A recipe that boils over is a failed measurement; any other exception would end the run.
outcome = kb.optimize(measure_crystals, recipe, rounds=40, seed=1, catch=RuntimeError)
print(outcome)
print(f"true yield of this recipe: {true_yield(outcome.x):.1f} g, of the best: 55.0 g")
print(outcome.policy.settings["calibration"])

# Continue with the same policy, three beakers at a time.
more = kb.optimize(
    measure_crystals, recipe, rounds=6, batch=3, policy=outcome.policy, catch=RuntimeError
)
print(f"after {len(outcome.trials) + len(more.trials)} trials: {more}")
