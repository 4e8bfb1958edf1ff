"""A paragraph for the methods section of a paper, and what to cite."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from kernelbandits.experiment.summary import installed_version
from kernelbandits.formatting import format_count, format_number, format_share
from kernelbandits.study.targets import describe_limits
from kernelbandits.study.words import describe_point

if TYPE_CHECKING:
    from kernelbandits.storage import Event
    from kernelbandits.study import Status, Study

PAPER = "Hu, He, Sutherland. Efficient kernelized bandit algorithms via exploration distributions."
HAND, DESIGN = "by hand", "design"
POLICY = "policy "
"""Begins the key of choices of a policy other than auto, and ends in its name."""
FITTED = (
    "averaged over several sets of hyperparameters fitted to the results by marginal likelihood"
)
RULES = {
    DESIGN: "belonged to an initial design",
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
    >>> describe_methods(study, study.status()).split(" (")[0]
    'Experiments to maximize yield are planned; nothing has been measured yet'
    """
    version = installed_version("kernelbandits")
    directed = [one for one in study.targets if not one.is_limit]
    listed = " and ".join(f"{one.name} ({one.sentence})" for one in directed)
    combined = f"the desirability of {listed}" if study.combined else status.target
    limits = describe_limits(study.targets)
    combined += f" with {limits}" if limits else ""
    chosen = count_choices(study)
    sentences = [
        f"Experiments to {status.direction} {combined} {describe_selection(chosen)} "
        f"(kernelbandits {version})",
        study.candidates.introduce_in_methods(),
        *describe_changes(study, status),
        *([describe_counts(status)] if chosen else []),
        *([describe_choices(chosen)] if set(chosen) - {HAND} else []),
        *([describe_settings(study, status)] if set(chosen) - {HAND} else []),
    ]
    best = status.best
    if best is not None and not best.early:
        label = "".join(f"{name} {text}, " for name, text in best.label.items())
        sentences.append(
            f"The recommended candidate ({label}{describe_point(best.x)}) has an estimated "
            f"{status.target} of {format_number(best.mean)} (95 % interval "
            f"{format_number(best.low)} to {format_number(best.high)}) and was the best one "
            f"with probability {format_share(best.probability)} under the model"
            + (f"; it {best.limits_sentence}" if best.is_feasible and best.limits else "")
        )
    return ". ".join(sentences) + "."


def describe_selection(chosen: Counter[str]) -> str:
    """Say by what the measurements were selected; only what has chosen one is named."""
    if not chosen:
        return "are planned; nothing has been measured yet"
    policies = [rule for rule in chosen if rule.startswith(POLICY)]
    by_model = set(chosen) - {HAND, DESIGN, *policies}
    methods = ["Bayesian optimisation with a Gaussian process model"] if by_model else []
    methods += [f"the {one}" for one in policies]
    if methods:
        return f"were selected {'in part ' if chosen[HAND] else ''}by {' and '.join(methods)}"
    where = {HAND: "by hand", DESIGN: "from an initial design"}
    ways = " and ".join(words for rule, words in where.items() if chosen[rule])
    return f"were chosen {ways}, and their results were described by a Gaussian process model"


def count_choices(study: Study) -> Counter[str]:
    """Count the measurements by how they were chosen, as it was noted when they were."""
    trials = study.to_dataframe()
    measured = {*trials["trial"][trials["state"].isin(MEASURED)].tolist()}
    policy, ways = "", dict[int, str]()
    for event in standing_events(study):
        if event.kind in ("created", "settings") and "settings" in event.body:
            policy = event.body["settings"]["policy"]
        elif event.kind == "asked" and event.trial is not None:
            ways[event.trial] = how_chosen(event, policy)
    return Counter(ways.get(number, HAND) for number in sorted(measured))


def standing_events(study: Study) -> list[Event]:
    """Return the events of a study without those that were undone."""
    events = study.history()
    undone = {event.body["of"] for event in events if event.kind == "undone"}
    return [event for event in events if event.seq not in undone]


def how_chosen(asked: Event, policy: str) -> str:
    """Return how a measurement was chosen: a key in `RULES`, or the policy of that time."""
    note = asked.body.get("note", {})
    if note.get("first"):
        return DESIGN
    # Other policies write the same words into their notes and mean rules of their own by them.
    rules = ("drawn", "alone", "draw_chance", "improvement", "gain") if policy == "auto" else ()
    rule = next((rule for rule in rules if rule in note), f"{POLICY}{policy}")
    priced = "cost" in note and f"{rule} for its cost" in RULES
    return f"{rule} for its cost" if priced else rule


def describe_choices(chosen: Counter[str]) -> str:
    """Say how many measurements were chosen in which way."""
    named = {rule: f"came from the {rule}" for rule in chosen if rule.startswith(POLICY)}
    known = {**RULES, **named}
    parts = [f"{chosen[rule]} {words}" for rule, words in known.items() if chosen[rule]]
    return f"Of them, {'; '.join(parts)}"


def describe_changes(study: Study, status: Status) -> list[str]:
    """Say how many rows were added to the table, and how many may not be measured."""
    added = [event for event in standing_events(study) if event.kind == "added"]
    rows = sum(len(next(iter(event.body["columns"].values()))) for event in added)
    found = [f"{rows} of the rows {'was' if rows == 1 else 'were'} added during the study"]
    found = found if rows else []
    forbidden = (status.rows or 0) - (status.allowed or 0)
    if forbidden:
        verb = "was" if forbidden == 1 else "were"
        found.append(f"{format_count(forbidden, 'row')} {verb} not allowed at the end")
    return ["; ".join(found)] if found else []


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
