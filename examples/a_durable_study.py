"""A table of films and a noisy measurement: days apart, several workers, a slip of the hand, and nothing lost."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import kernelbandits as kb

rng = np.random.default_rng(4)
shares = [(a / 8, b / 8, (8 - a - b) / 8) for a in range(9) for b in range(9 - a)]
films = pd.DataFrame(shares, columns=["Cs", "FA", "MA"])
stability = 1 - 2 * (films.Cs - 0.3) ** 2 - (films.FA - 0.5) ** 2


def measured(row: int) -> float:
    return round(stability[row] + 0.03 * rng.normal(), 3)


place = (
    Path(tempfile.mkdtemp()) / "films.db"
)  # or postgresql://host/db?study=films, when many machines share it
with kb.Study.create(place, films, target="stability", seed=1) as study:
    for one in study.ask(4):  # four films for today, all different
        study.tell(one.trial, measured(one.row))
    study.tell(row=0, value=measured(0))  # measured though nobody asked

with kb.Study.open(
    place
) as study:  # the next day, in another process: the same study, to the last digit
    for _ in range(15):
        [one] = study.ask(worker="glovebox 2")
        study.tell(one.trial, measured(one.row))
    [one] = study.ask()
    study.tell(one.trial, 90.1)  # meant 0.901
    study.correct(one.trial, 0.901, reason="decimal point")
    print("why:", study.explain(one.trial).sentence)
    status = study.status()
    best = status.best
    interval = f"{best.mean:.3f} ({best.low:.3f} to {best.high:.3f})"
    print(f"likely best: row {best.row}, {interval}, with chance {best.probability:.2f}")
    print("truly:", round(stability[best.row], 3), "of at most", round(stability.max(), 3))
    print("stop?", status.stop.sentence)
    print(
        study.to_dataframe()
        .tail(3)[["trial", "row", "Cs", "FA", "MA", "state", "value"]]
        .to_string(index=False)
    )
