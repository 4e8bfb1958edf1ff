"""A study in the lab: a table of films, measurements on several days, a typing error, no loss."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import kernelbandits as kb

rng = np.random.default_rng(4)
shares = [(a / 8, b / 8, (8 - a - b) / 8) for a in range(9) for b in range(9 - a)]
films = pd.DataFrame(shares, columns=["Cs", "FA", "MA"])
stability = 1 - 2 * (films.Cs - 0.3) ** 2 - (films.FA - 0.5) ** 2


def measure_film(row: int) -> float:
    """Stand for the instrument: the stability of a film, with an error of 0.03."""
    return round(stability[row] + 0.03 * rng.normal(), 3)


# Several machines share a study in PostgreSQL: "postgresql://host/db?study=films".
place = Path(tempfile.mkdtemp()) / "films.db"
with kb.Study.create(place, films, target="stability", seed=1) as study:
    for suggestion in study.ask(4):  # four films for today, all different
        study.tell(suggestion.trial, measure_film(suggestion.row))
    study.tell(row=0, value=measure_film(0))  # a film that nobody asked for

# The next day, in another process: the study continues as if it had never been closed.
with kb.Study.open(place) as study:
    for _ in range(15):
        [suggestion] = study.ask(worker="glovebox 2")
        study.tell(suggestion.trial, measure_film(suggestion.row))
    [suggestion] = study.ask()
    study.tell(suggestion.trial, 90.1)  # a typing error
    study.correct(suggestion.trial, 0.901, reason="decimal point")
    print("why:", study.explain(suggestion.trial).sentence)

    status = study.status()
    best = status.best
    interval = f"{best.mean:.3f} (95 % interval {best.low:.3f} to {best.high:.3f})"
    print(f"likely best: row {best.row}, {interval}, with probability {best.probability:.2f}")
    print(f"its true stability: {stability[best.row]:.3f}; the best film: {stability.max():.3f}")
    print("stop?", status.stop.sentence)

    columns = ["trial", "row", "Cs", "FA", "MA", "state", "value"]
    print(study.to_dataframe().tail(3)[columns].to_string(index=False))
