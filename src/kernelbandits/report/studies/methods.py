"""A paragraph for the methods section of a paper, and what to cite."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kernelbandits.experiment.summary import installed_version
from kernelbandits.formatting import format_count, format_number, format_share
from kernelbandits.study.words import describe_point

if TYPE_CHECKING:
    from kernelbandits.storage import Event
    from kernelbandits.study import Status, Study

PAPER = "Hu, He, Sutherland. Efficient kernelized bandit algorithms via exploration distributions."
HAND = "by hand"
FITTED = (
    "averaged over several sets of hyperparameters fitted to the results by marginal likelihood"
)
RULES = {
    "design": "belonged to an initial design",
    "drawn": "were drawn at random from those without a result, as one in five is",
    "alone": "were measured again because they led all others by a single result",
    "draw_chance": "were drawn with a probability in proportion to the 20th power of their "
    f"expected improvement at the time, {FITTED}",
    "draw_chance for its cost": "were drawn with a probability in proportion to the 20th power "
    f"of their expected improvement for their cost at the time, {FITTED}",
    "improvement": f"had the largest expected improvement at the time, {FITTED}",
    "improvement for its cost": "had the largest expected improvement for their cost at the time, "
    f"{FITTED}",
    "gain": "came from the online knowledge gradient, which maximises the estimate plus what a "
    "result is expected to add to the best estimate in the remaining rounds",
    "policy": "came from the policy {policies}",
    HAND: "came from choices by hand",
}
"""How a measurement was chosen -> what a paper says of it."""
MEASURED = ("told", "failed")


def describe_methods(study: Study, status: Status) -> str:
    """Say how the candidates were chosen and what was found, as a paper would.

    Examples
    --------
    >>> import tempfile
    >>> import kernelbandits as kb
    >>> study = kb.Study.create(tempfile.mkdtemp() + "/films.db", [[0.0], [1.0]], target="yield")
    >>> describe_methods(study, study.status()).split(" by ")[0]
    'Experiments to maximize yield were selected'
    """
    version = installed_version("kernelbandits")
    listed = " and ".join(f"{one.name} ({one.sentence})" for one in study.targets)
    combined = f"the desirability of {listed}" if study.combined else status.target
    chosen = count_choices(study)
    if set(chosen) == {HAND}:
        done = "were chosen by hand, and their results were described by a Gaussian process model"
    elif status.goal is None:
        done = f"were selected by the policy {' and '.join(policies_of(study))}"
    else:
        done = "were selected by Bayesian optimisation with a Gaussian process model"
    sentences = [
        f"Experiments to {status.direction} {combined} {done} (kernelbandits {version})",
        study.candidates.introduce_in_methods(),
        *([describe_counts(status)] if chosen else []),
        *([describe_choices(study, chosen)] if set(chosen) - {HAND} else []),
        describe_settings(study, status),
    ]
    best = status.best
    if best is not None and not best.early:
        label = "".join(f"{name} {text}, " for name, text in best.label.items())
        sentences.append(
            f"The recommended candidate ({label}{describe_point(best.x)}) has an estimated "
            f"{status.target} of {format_number(best.mean)} (95 % interval "
            f"{format_number(best.low)} to {format_number(best.high)}) and was the best one "
            f"with probability {format_share(best.probability)} under the model"
        )
    return ". ".join(sentences) + "."


def count_choices(study: Study) -> Counter[str]:
    """Count the measurements by how they were chosen, as it was noted when they were."""
    trials = study.to_dataframe()
    asked = {event.trial: event for event in study.history() if event.kind == "asked"}
    measured = trials["trial"][trials["state"].isin(MEASURED)]
    only_auto = policies_of(study) == ["auto"]
    return Counter(how_chosen(asked.get(number), only_auto) for number in measured)


def policies_of(study: Study) -> list[str]:
    """Return the policies that the study had, one after the other."""
    bodies = [event.body for event in study.history() if event.kind in ("created", "settings")]
    return list(dict.fromkeys(body["settings"]["policy"] for body in bodies if "settings" in body))


def how_chosen(asked: Event | None, only_auto: bool) -> str:
    """Return the key in `RULES` of a measurement, from the note of its ask."""
    if asked is None:
        return HAND
    note = asked.body.get("note", {})
    if note.get("first"):
        return "design"
    # Other policies write the same words into their notes and mean rules of their own by them.
    rules = ("drawn", "alone", "draw_chance", "improvement", "gain") if only_auto else ()
    rule = next((rule for rule in rules if rule in note), "policy")
    priced = "cost" in note and f"{rule} for its cost" in RULES
    return f"{rule} for its cost" if priced else rule


def describe_choices(study: Study, chosen: Counter[str]) -> str:
    """Say how many measurements were chosen in which way."""
    parts = [f"{chosen[rule]} {words}" for rule, words in RULES.items() if chosen[rule]]
    return f"Of them, {'; '.join(parts)}".format(policies=" or ".join(policies_of(study)))


def describe_settings(study: Study, status: Status) -> str:
    goal = "" if status.goal is None else f", goal {status.goal}"
    noise = "" if status.noise is None else f", noise of sd {format_number(status.noise)}"
    policy, seed = study.settings["policy"], study.settings["seed"]
    return f"The settings at the end were policy {policy}{goal}{noise}, seed {seed}"


def describe_counts(status: Status) -> str:
    done = format_count(status.told + status.failed, "measurement")
    failed = f", of which {status.failed} failed" if status.failed else ""
    measured = format_count(status.measured, "different candidate")
    verb = "was" if status.told + status.failed == 1 else "were"
    more = status.told - status.measured
    again = f"; {more} repeated a candidate that had a result" if more else ""
    return f"{done} {verb} made{failed}, with results of {measured}{again}"


def citations() -> list[str]:
    """Return what to cite: this program, and the paper whose algorithms it implements."""
    version = installed_version("kernelbandits")
    return [f"The kernelbandits developers. kernelbandits, version {version}.", PAPER]
