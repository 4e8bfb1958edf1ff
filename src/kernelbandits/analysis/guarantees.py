"""What the theory guarantees for each policy of an experiment, beside what was played.

For each policy: its proved regret bound and its regret certificate beside its regret, and the
log-determinant of the arms that it played beside an upper bound of it. All numbers are means over
the seeds, whose arms may differ. A bound holds for the arms of its seed, so the mean of the
expected regrets is below the mean of the bounds.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.analysis.certificates import (
    DELTA,
    Certificates,
    certify_runs,
    told_scales,
)
from kernelbandits.catalogue import UserPolicy
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import Arms
from kernelbandits.experiment import Cell, CellResult, Results
from kernelbandits.experiment.curves import log_spaced_rounds
from kernelbandits.experiment.premises import (
    check_horizon_and_kernel,
    check_noise,
    check_norm,
    check_rule,
    group_by_kernel,
)
from kernelbandits.exploration import Exploration, Law, Step
from kernelbandits.formatting import format_rounded, group_thousands
from kernelbandits.kernels import Kernel, as_kernel
from kernelbandits.policies import AMMUCB, IGPUCB, OFUL, Policy, WhitehouseUCB
from kernelbandits.policies.doubling import DOUBLING
from kernelbandits.policies.martingale_mixtures import ResidualBall
from kernelbandits.problems import Instance, LowerBound
from kernelbandits.runtime import one_blas_thread
from kernelbandits.streams import Streams
from kernelbandits.theory import (
    GAINS,
    Constants,
    InformationGain,
    LawMoments,
    PlayedBound,
    growth,
    information_gain,
    largest_useful_noise,
    regret_bound,
    ucb_bound,
)
from kernelbandits.theory.caps import is_orthonormal
from kernelbandits.widths import Width

if TYPE_CHECKING:
    import pandas as pd

HORIZONS, ROUNDS = 7, 40
"""At how many horizons the bound is computed, and at how many rounds the log-determinant."""
ALIKE = 1.01
"""Ridges within this factor share a gamma."""
BANDED = (IGPUCB, WhitehouseUCB, AMMUCB, OFUL, ResidualBall)
"""Rules with w = 1 whose band holds in all rounds at once with probability 1 - delta.

The band needs a reward of norm <= D and R-sub-Gaussian noise.
"""
FAILED_PREMISES = "its premises fail"
NONE_COMPUTED = "none is computed for it"
FARTHEST, FEW = 12, 300
"""Decades of T in which a useful bound is searched, and the largest number of arms for that."""


Gains = Sequence[InformationGain]
"""gamma at each horizon."""
Ceiling = Callable[[Arms, float], Gains]
"""(arms, ridge) -> gamma at each horizon"""


@dataclass(frozen=True)
class ProvedBounds:
    """Bounds of the regret at each horizon."""

    bound: Array
    """The least that is proved at the policy's own delta; it may exceed 2 D T."""
    trivial: Array
    """2 D T"""
    printed: Array | None
    """As the paper prints it, whose proof has a gap; for the Generic-GP family only."""
    likely: Array
    """Bounds of the regret of each seed, (seeds, horizons); not of its expectation."""
    failure: float
    """The probability with which a likely bound may fail."""
    needed: str = ""
    """If the last bound is vacuous: the R/D or the T that would change it, on the first arms."""

    @property
    def value(self) -> Array:
        """min(bound, 2 D T)"""
        return np.minimum(self.bound, self.trivial)

    @property
    def share(self) -> float:
        """The last bound by the last 2 D T: from 1 on it is vacuous."""
        return float(self.bound[-1] / self.trivial[-1])


@dataclass(frozen=True)
class Guarantee:
    """One policy on one problem; a bound only where one is proved.

    `guarantees` returns them.

    >>> import kernelbandits as kb
    >>> from kernelbandits.analysis import guarantees
    >>> settings = {"engine": "numpy", "noise_scale": 0.01, "norm_bound": 1.0}
    >>> results = kb.run_experiment("branin", ["igp-ucb"], horizon=20, seeds=2, **settings)
    >>> (igp_ucb,) = guarantees(results)["branin"]
    >>> igp_ucb.horizons, igp_ucb.delta
    (array([ 1,  2,  3,  4,  7, 12, 20]), 0.1)
    >>> igp_ucb.answer(premises_fail=False)
    'no: vacuous, above 2DT; no R is small enough, T = 100 would do'
    """

    policy: str
    """Its label in the experiment."""
    rounds: Indices
    """Some rounds t, at about equal ratios."""
    regret: Array
    """At these rounds."""
    log_det: Array
    """L_t = log det(I + K / ridge) of the arms played in rounds 1..t, K by the kernel compared."""
    horizons: Indices
    """Some horizons T, at about equal ratios."""
    gain: Array
    """An upper bound of gamma at these horizons."""
    ridge: float
    """That of the policy; 0 if it has none, or one that changes."""
    proved: ProvedBounds | str
    """The bounds at these horizons, or why there are none."""
    delta: float | None = None
    """The probability with which the policy's band may fail, if it has such a number."""
    least: float | None = None
    """The least expected regret of the Generic-GP family, known on the problem `LowerBound`."""
    certificates: Certificates | str = "it was not asked for"
    """What the rewards of each seed prove of its regret at these horizons, or why nothing."""

    @property
    def certificate(self) -> Array | None:
        """The mean certificate at each horizon."""
        found = self.certificates
        return None if isinstance(found, str) else np.asarray(found.values.mean(0))

    @property
    def certified(self) -> tuple[Array, float] | None:
        """The least bound of the regret that is proved for each seed, and its probability.

        It is the certificate, or the bound for all functions where that is less. Both hold at once
        with probability 1 - delta - delta', so the probabilities of failure are added. Neither
        exceeds 2 D T.
        """
        found = self.certificates
        if isinstance(found, str):
            return None
        if isinstance(self.proved, str):
            return np.asarray(found.values.mean(0)), 1 - found.delta
        least = np.minimum(found.values, self.proved.likely).mean(0)
        return np.asarray(least), 1 - found.delta - self.proved.failure

    def answer(self, premises_fail: bool) -> str:
        """Tell whether the bound is informative: "yes", or why not."""
        if isinstance(self.proved, str):
            return f"no bound: {self.proved}"
        if self.proved.share >= 1:
            return "; ".join(filter(None, ("no: vacuous, above 2DT", self.proved.needed)))
        return f"no: {FAILED_PREMISES}" if premises_fail else "yes"


def guarantees(results: Results) -> dict[str, list[Guarantee]]:
    """Return problem -> the guarantees of its policies.

    Policies that learn without a ridge, or with a ridge that changes, have a certificate and no
    log-determinant.

    >>> import kernelbandits as kb
    >>> from kernelbandits.analysis import guarantees
    >>> policies = ["simple-ucb", "random"]
    >>> results = kb.run_experiment("branin", policies, horizon=10, seeds=2, engine="numpy")
    >>> [(one.policy, isinstance(one.proved, str)) for one in guarantees(results)["branin"]]
    [('Simple-UCB', False), ('Uniform random', True)]
    """
    with one_blas_thread, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {problem.name: on_problem(results, problem.name) for problem in results.problems}


def on_problem(results: Results, problem: str) -> list[Guarantee]:
    mine = [cell for cell in results.cells if cell.problem.name == problem]
    first = mine[0]
    instances = [first.problem.instance(Streams(seed)) for seed in first.seeds]
    played = [(cell, results.found[cell.key]) for cell in mine]
    horizons = log_spaced_rounds(first.horizon, HORIZONS)
    ridges = [ridge_of(result) for _, result in played]
    ceilings = {
        cell.contender.label: ceiling
        for cells in group_by_kernel(results, problem)
        for ceiling in [ceiling_of(cells[0].kernel, horizons, [ridge for ridge in ridges if ridge])]
        for cell in cells
    }
    scales = told_scales(results, problem)
    found = []
    for cell, result in played:
        told = scales[cell.contender.label]
        certificates = certify_runs(cell, result, instances, horizons, told)
        ceiling = ceilings[cell.contender.label]
        found.append(guarantee(cell, result, instances, ceiling, certificates, horizons))
    return found


def ridge_of(result: CellResult) -> float:
    """Return the ridge with which a policy learns; 0 if it has none, or one that changes."""
    ridge: Any = result.settings.get("ridge")
    return float(ridge) if checks.is_number(ridge) else 0.0


def delta_of(result: CellResult) -> float | None:
    delta: Any = result.settings.get("delta")
    return float(delta) if checks.is_number(delta) else None


def ceiling_of(kernel: Any, horizons: Indices, ridges: Sequence[float]) -> Ceiling:
    """Return a function with gamma at the horizons, computed once for each arms and ridge.

    A ridge slightly above another uses gamma of the other one. gamma falls as the ridge grows, so
    this still is an upper bound.
    """

    @cache
    def certified_gains(points: bytes, columns: int, ridge: float) -> Gains:
        return growth(kernel, np.frombuffer(points).reshape(-1, columns), horizons.tolist(), ridge)

    def ceiling(arms: Arms, ridge: float) -> Gains:
        least = min(other for other in ridges if ridge / ALIKE <= other <= ridge)
        return [
            replace(gain, ridge=ridge)
            for gain in certified_gains(arms.points.tobytes(), arms.dimension, least)
        ]

    return ceiling


def guarantee(
    cell: Cell,
    result: CellResult,
    instances: Sequence[Instance],
    ceiling: Ceiling,
    certificates: Certificates | str,
    horizons: Indices,
) -> Guarantee:
    rounds, ridge = log_spaced_rounds(cell.horizon, ROUNDS), ridge_of(result)
    if not ridge or not instances[0].finite:
        return Guarantee(
            cell.contender.label,
            rounds,
            result.regret.mean(0)[rounds - 1],
            np.full(len(rounds), np.nan),
            horizons,
            np.full(len(horizons), np.nan),
            ridge,
            NONE_COMPUTED,
            delta_of(result),
            certificates=certificates,
        )
    gains = [ceiling(instance.domain, ridge) for instance in instances]
    played = zip(instances, result.arms, strict=True)
    return Guarantee(
        cell.contender.label,
        rounds,
        result.regret.mean(0)[rounds - 1],
        np.mean(
            [log_dets(cell.kernel, one.domain, arms, rounds, ridge) for one, arms in played], axis=0
        ),
        horizons,
        np.mean([[gain.upper for gain in row] for row in gains], axis=0),
        ridge,
        proved_bounds(cell, instances, gains),
        delta_of(result),
        least_regret(cell, result, instances[0]),
        certificates,
    )


def least_regret(cell: Cell, result: CellResult, instance: Instance) -> float | None:
    """Return the lower bound of the paper's Theorem 2 where its premises hold, else none."""
    problem = cell.problem
    if not isinstance(problem, LowerBound) or any(check_horizon_and_kernel(cell, problem)):
        return None
    if cell.contender.is_own:
        return None
    rule: Any = cell.contender.build(instance, cell.kernel)
    if not rule.is_generic or any(check_rule(problem, dict(result.settings))):
        return None
    return problem.regret_bound(rule.exploration)


def log_dets(kernel: Any, domain: Arms, arms: Any, rounds: Iterable[int], ridge: float) -> Array:
    """Return L_t after each of the rounds.

    L_t = log det(I + N^1/2 K N^1/2 / ridge)

    K is the kernel matrix of the distinct arms played in rounds 1..t, N their counts.
    """
    distinct, order = np.unique(np.asarray(arms), return_inverse=True)
    matrix = as_kernel(kernel)(domain.points[distinct], domain.points[distinct])
    return np.array(
        [log_det(matrix, np.bincount(order[:t], minlength=len(distinct)), ridge) for t in rounds]
    )


def log_det(matrix: Array, counts: Indices, ridge: float) -> float:
    played = counts > 0
    root = np.sqrt(counts[played])
    scaled = root[:, None] * matrix[np.ix_(played, played)] * root / ridge
    return float(np.linalg.slogdet(np.eye(len(root)) + scaled)[1])


def proved_bounds(
    cell: Cell, instances: Sequence[Instance], gains: Sequence[Gains]
) -> ProvedBounds | str:
    """Return what is proved, or say why nothing is."""
    if instances[0].outside_theory:
        return instances[0].outside_theory
    entry = cell.contender.entry
    if isinstance(entry, UserPolicy) or not (
        entry.constructor.is_generic or issubclass(entry.constructor, BANDED)
    ):
        return NONE_COMPUTED
    if cell.contender.settings.get("horizon") == DOUBLING:
        return "none is computed for restarts"
    try:
        rules = [cell.contender.build(instance, cell.kernel) for instance in instances]
        check_kernel(rules[0], as_kernel(cell.kernel))
        laws = moments_of(rules[0], gains[0])
        found = [list(bounds(rule, row, laws)) for rule, row in zip(rules, gains, strict=True)]
    except ValueError as error:
        return str(error)
    bound, trivial, printed, _ = np.mean(found, axis=0).T
    failure = DELTA if laws else rules[0].settings["delta"]
    likely = np.array(found)[:, :, 3]
    proved = ProvedBounds(bound, trivial, printed if laws else None, likely, float(failure))
    if proved.share < 1:
        return proved
    return replace(proved, needed=describe_need(cell, instances[0], rules[0], gains[0], laws))


@dataclass(frozen=True)
class TriedBound:
    """Whether the bound of a rule is vacuous for another R or T."""

    vacuous: bool


def describe_need(
    cell: Cell, instance: Instance, rule: Any, gains: Gains, laws: Sequence[LawMoments]
) -> str:
    """Say which R/D would make the last bound informative at this T, or else which T would."""

    def bound_at(noise_scale: float) -> TriedBound:
        changed = {name: rule.settings[name] for name in ("ridge",) if takes(cell, name)}
        told = {**cell.contender.settings, **changed, "noise_scale": noise_scale}
        other = replace(cell.contender, settings=told).build(instance, cell.kernel)
        return try_bound(other, gains[-1], laws[-1:])

    try:
        least = largest_useful_noise(bound_at, rule.settings["noise_scale"])
    except ValueError:
        # A rule may refuse R = 0.
        return ""
    if least:
        return f"{describe_ratio(least, rule.settings['norm_bound'])} would do"
    return f"no R is small enough{describe_needed_rounds(rule, gains[-1])}"


def describe_ratio(noise_scale: float, norm_bound: float) -> str:
    return f"R/D ≤ {format_rounded(noise_scale / norm_bound, 3, ROUND_FLOOR)}"


def takes(cell: Cell, setting: str) -> bool:
    return setting in cell.contender.entry.parameters


def try_bound(rule: Any, gain: InformationGain, laws: Sequence[LawMoments]) -> TriedBound:
    proved, trivial, *_ = next(bounds(rule, [gain], laws))
    return TriedBound(proved >= trivial)


def describe_needed_rounds(rule: Any, last: InformationGain) -> str:
    """Name the first power of ten beyond T at which the bound is informative, where it is cheap."""
    single = not rule.is_generic or isinstance(Exploration.of(rule.exploration).source, (Law, Step))
    if not single or len(rule.domain) > FEW:
        return ", more rounds are needed"
    later = [10**k for k in range(1, FARTHEST + 1) if 10**k > last.horizon]
    for gain in growth(rule.posterior.kernel, rule.domain, later, last.ridge):
        if not try_bound(rule, gain, moments_of(rule, [gain])).vacuous:
            return f", T = {group_thousands(str(gain.horizon))} would do"
    return f", and no power of ten up to 10^{FARTHEST} for T"


def check_kernel(rule: Policy, kernel: Kernel) -> None:
    """Check that a rule learns with the compared kernel, whose gamma it is; OFUL may not."""
    compared = rule.posterior.kernel == kernel
    checks.needs(compared, "the bound of a linear rule", "the linear kernel", kernel)


def moments_of(rule: Any, gains: Gains) -> list[LawMoments]:
    """Return constants and moments of the law at each horizon; none for a rule without a law."""
    if not rule.is_generic:
        return []
    return [LawMoments.of(rule.exploration, gain.horizon) for gain in gains]


def bounds(
    rule: Policy, gains: Gains, laws: Sequence[LawMoments]
) -> Iterator[tuple[float, float, float, float]]:
    """Yield for each horizon the least bound proved at the policy's delta, 2 D T, the printed.

    The fourth is a bound of the regret itself. For a law it may fail with probability `DELTA`, for
    a rule with a band with the policy's delta, as the band may.
    """
    told = {name: rule.settings[name] for name in ("norm_bound", "ridge", "delta")}
    told["largest"] = float(rule.posterior.prior.max())
    if rule.is_generic:
        told["noise_scale"] = rule.settings["noise_scale"]
        told["smallest"] = float(rule.posterior.prior.min())
        form = played_form(rule)
        for law, gain in zip(laws, gains, strict=True):
            found = regret_bound(law.constants, gain.horizon, gain, **told)
            played = regret_bound(law, gain.horizon, gain, form=form, **told)
            proved = min(found.tight, found.repaired, played.as_played, played.mean_square)
            both = told | {"delta": DELTA, "played_delta": told["delta"]}
            likely = regret_bound(law, gain.horizon, gain, form="high_probability", **both)
            yield proved, found.trivial, found.printed, likely.value
        return
    width = valid_width(rule)
    for gain in gains:
        ucb = ucb_bound(greatest_width(width, gain), gain.horizon, gain, **told)
        in_band = ucb.regret - ucb.delta * ucb.trivial
        yield ucb.regret, ucb.trivial, np.nan, min(ucb.trivial, in_band)


def played_form(rule: Any) -> Literal["as_played", "orthonormal"]:
    """Return the form of the bound as played: orthonormal arms have a smaller one."""
    apart = is_orthonormal(as_kernel(rule.posterior.kernel), rule.domain)
    return "orthonormal" if apart else "as_played"


def valid_width(rule: Any) -> Width:
    """Return the width of a band that holds in all rounds at once.

    The band of AMM contains those of CMM and DMM.
    """
    gain = rule.settings.get("gain")
    checks.needs(gain in GAINS, "a regret bound", f"a gain in {GAINS}", gain)
    if isinstance(rule, ResidualBall):
        return widths.mixture(rule.noise_scale, rule.norm_bound, rule.posterior.ridge, rule.delta)
    return rule.width  # type: ignore[no-any-return]


def greatest_width(width: Width, gain: InformationGain) -> float:
    """Return the greatest width over the rounds, at L = 2 gamma.

    max_t a_t + sqrt(b_t + c_t L)
    """
    a, b, c = width.table(gain.horizon).T
    return float((a + np.sqrt(b + c * 2 * gain.upper)).max())


def failing_premises(results: Results, problem: str) -> dict[str, list[str]]:
    """Return policy -> why no bound of it applies: the R or D given to it is not true here.

    For a policy that is not told them, those of its certificate count.
    """
    mine = [cell for cell in results.cells if cell.problem.name == problem]
    scales = told_scales(results, problem)
    true_scale = mine[0].problem.noise.sub_gaussian
    # One function for each kernel, since the norm takes long and depends on nothing else.
    norm_sentences = {
        cell.contender.label: check
        for cells in group_by_kernel(results, problem)
        for check in [cache(partial(list_norm_sentences, cells[0]))]
        for cell in cells
    }
    found = {}
    for cell in mine:
        given = results.found[cell.key].settings
        stated = given.get("noise_scale"), given.get("norm_bound")
        scale, bound = scales[cell.contender.label] or stated
        noise = [] if scale is None else check_noise(problem, true_scale, scale, 0.0)
        norm = [] if bound is None else norm_sentences[cell.contender.label](bound)
        found[cell.contender.label] = [*noise, *norm]
    return found


def list_norm_sentences(cell: Cell, bound: float) -> list[str]:
    return list(check_norm(cell, bound))


def guarantee_frame(
    found: Mapping[str, Sequence[Guarantee]], failing: Mapping[str, Mapping[str, Sequence[str]]]
) -> pd.DataFrame:
    """Return theory.csv: a row for each problem and policy; empty where nothing is proved."""
    import pandas as pd

    return pd.DataFrame(
        guarantee_row(problem, row, failing[problem][row.policy])
        for problem, rows in found.items()
        for row in rows
    )


def guarantee_row(problem: str, row: Guarantee, failing: Sequence[str]) -> dict[str, Any]:
    answer = row.answer(bool(failing))
    why = "" if answer == "yes" else answer.removeprefix("no: ")
    curves = {name: getattr(row.proved, name, None) for name in ("bound", "trivial", "printed")}
    return {
        "problem": problem,
        "policy": row.policy,
        "delta": row.delta,
        "regret": float(row.regret[-1]),
        "lower_bound": row.least,
        **{name: None if curve is None else float(curve[-1]) for name, curve in curves.items()},
        **certificate_values(row, failing),
        "information_gain_realised": float(row.log_det[-1]) / 2,
        "information_gain_upper": float(row.gain[-1]),
        "says_something": not why,
        "why_not": "; ".join([why, *failing]) if why == FAILED_PREMISES else why,
    }


def certificate_values(row: Guarantee, failing: Sequence[str]) -> dict[str, Any]:
    """Return what the rewards prove at the end of the run, and of how many seeds it is false."""
    certified, found = row.certified, row.certificates
    if certified is None or isinstance(found, str):
        names = ("certificate", "certified", "certified_probability", "certificates_exceeded")
        return {**dict.fromkeys(names), "why_not_certified": found}
    least, probability = certified
    return {
        "certificate": float(found.values[:, -1].mean()),
        "certified": float(least[-1]),
        "certified_probability": probability,
        "certificates_exceeded": found.exceeded,
        "why_not_certified": "; ".join(failing),
    }


@dataclass(frozen=True)
class LawBounds:
    """The constants of one exploration law, and its bounds as multiples of 2 D T."""

    policy: str
    constants: Constants
    multiples: tuple[tuple[float, float, str], ...]
    """(as printed, as proved for the rule as played, what R/D is needed) on each problem"""


def law_bounds(results: Results, labels: Iterable[str]) -> list[LawBounds]:
    """Return Theorem 1 for policies of the Generic-GP family, on the arms of the first seed."""
    with one_blas_thread, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [
            bounds_of_law([cell for cell in results.cells if cell.contender.label == label])
            for label in labels
        ]


def bounds_of_law(cells: Sequence[Cell]) -> LawBounds:
    rules: list[Any] = [
        cell.contender.build(cell.problem.instance(Streams(cell.seeds[0])), cell.kernel)
        for cell in cells
    ]
    law = LawMoments.of(rules[0].exploration, cells[0].horizon)
    multiples = tuple(law_multiples(rule, law, cells[0].horizon) for rule in rules)
    return LawBounds(cells[0].contender.label, law.constants, multiples)


def law_multiples(rule: Any, law: LawMoments, horizon: int) -> tuple[float, float, str]:
    """Return two bounds in multiples of 2 D T, as printed and as played at the rule's delta.

    The text says which R/D makes the second one informative, where it is vacuous.
    """
    gain = information_gain(rule.posterior.kernel, rule.domain, horizon, rule.posterior.ridge)
    names = ("noise_scale", "norm_bound", "ridge", "delta")
    told = {name: rule.settings[name] for name in names}
    prior, form = rule.posterior.prior, played_form(rule)
    told["largest"] = float(prior.max())

    def bound_at(noise_scale: float) -> PlayedBound:
        changed = told | {"noise_scale": noise_scale, "smallest": float(prior.min())}
        return regret_bound(law, horizon, gain, form=form, **changed)

    printed = regret_bound(law.constants, horizon, gain, **told).printed
    played = bound_at(told["noise_scale"])
    needed = ""
    if played.vacuous:
        least = largest_useful_noise(bound_at, told["noise_scale"])
        needed = describe_ratio(least, told["norm_bound"]) if least else "more rounds"
    proved = min(played.as_played, played.mean_square) / played.trivial
    return printed / played.trivial, proved, needed
