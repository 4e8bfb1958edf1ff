"""Tune a recipe of numbers, whole numbers and kinds: some trials fail, and nothing is known of the scales."""

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


def crystals(x: dict) -> float:
    """Grams of a batch, measured with an error of a gram."""
    if x["heat"] > 85:
        raise RuntimeError("boiled over")
    return strength[x["acid"]] - (x["heat"] - 60) ** 2 / 40 - (x["stirs"] - 5) ** 2 + rng.normal()


outcome = kb.optimize(crystals, recipe, rounds=40, seed=1)
print(outcome)
print(
    f"truly {strength[outcome.x['acid']] - (outcome.x['heat'] - 60) ** 2 / 40 - (outcome.x['stirs'] - 5) ** 2:.1f} g"
)
print(outcome.policy.settings["calibration"])

more = kb.optimize(
    crystals, recipe, rounds=6, batch=3, policy=outcome.policy
)  # goes on, three beakers at a time
print(f"after {more.policy.turn - 1} rounds: {more}")
