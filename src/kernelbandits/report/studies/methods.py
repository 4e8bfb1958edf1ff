"""A paragraph for the methods section of a paper, and what to cite."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelbandits.experiment.summary import installed_version
from kernelbandits.formatting import format_count, format_number, format_share
from kernelbandits.study.targets import Target
from kernelbandits.study.values import describe_candidate

if TYPE_CHECKING:
    from kernelbandits.study import Status, Study

PAPER = "Hu, He, Sutherland. Efficient kernelized bandit algorithms via exploration distributions."
RULES = {
    "find": (
        "Each candidate was the one with the largest expected improvement, averaged over several "
        "sets of hyperparameters fitted to the results by marginal likelihood"
    ),
    "earn": (
        "Each candidate was chosen by the online knowledge gradient: the estimate plus what its "
        "result was expected to add to the best estimate in the remaining rounds"
    ),
}


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
    targets = [Target(**body) for body in study.settings.get("targets") or ()]
    listed = " and ".join(f"{one.name} ({one.sentence})" for one in targets)
    combined = f"the desirability of {listed}" if targets else status.target
    sentences = [
        f"Experiments to {status.direction} {combined} were selected by Bayesian optimisation with "
        f"a Gaussian process model (kernelbandits {version})",
        describe_place(status),
        describe_rule(study, status),
        describe_counts(status),
    ]
    best = status.best
    if best is not None and not best.early:
        label = "".join(f"{name} {text}, " for name, text in best.label.items())
        sentences.append(
            f"The recommended candidate ({label}{describe_candidate(best.x)}) has an estimated "
            f"{status.target} of {format_number(best.mean)} (95 % interval "
            f"{format_number(best.low)} to {format_number(best.high)}) and was the best one "
            f"with probability {format_share(best.probability)} under the model"
        )
    return ". ".join(sentences) + "."


def describe_place(status: Status) -> str:
    if status.space is not None:
        return f"The search space was {status.scales}"
    return f"The candidates were {status.extent} of a given table; {status.scales}"


def describe_rule(study: Study, status: Status) -> str:
    if status.goal is None:
        return f"The policy was {status.policy}"
    noise = "" if status.noise is None else f", at a noise of sd {format_number(status.noise)}"
    seed = study.settings["seed"]
    return f"{RULES[status.goal]}{noise} (policy auto, goal {status.goal}, seed {seed})"


def describe_counts(status: Status) -> str:
    done = format_count(status.told, "measurement")
    failed = f"; {format_count(status.failed, 'further measurement')} failed"
    measured = format_count(status.measured, "different candidate")
    verb = "was" if status.told == 1 else "were"
    return f"{done} of {measured} {verb} made{failed if status.failed else ''}"


def citations() -> list[str]:
    """What to cite: this program, and the paper whose algorithms it implements."""
    version = installed_version("kernelbandits")
    return [f"The kernelbandits developers. kernelbandits, version {version}.", PAPER]
