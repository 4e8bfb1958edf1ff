"""The paper's claims, tested by paired differences over seeds: holds, fails, or not resolved.

The claims on regret are one family of hypotheses, those on computing time another
(`REGRET_FAMILY`, `TIME_FAMILY`). Holm's procedure at 5 % gives each comparison of a family its
level, and its interval is the paired t interval at that level. A claim holds if all its comparisons
hold, and it fails if one of them fails; if the sentence says "often", more than half count.

The families are values, fixed before anything is played. A comparison that could not be tested
still counts in the correction, so that nothing is easier to show where less was tested, and it
never supports a claim. The functions and Perovskite are stepped through apart (`check_family`), so
that a verdict on the functions is the same with and without the Perovskite file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.special import stdtrit

from kernelbandits.checks import Array
from kernelbandits.experiment import paper
from kernelbandits.experiment.paper import PaperRun
from kernelbandits.experiment.paper_settings import PaperReading, PaperSetting
from kernelbandits.experiment.significance import holm_levels, t_p_value

SIMILAR_SHARE = 0.1
"""Similar: within this share of Simple-UCB's mean regret."""
SAVING = 0.1
"""Computing time within this share is the same computing time."""

HOLDS, FAILS, OPEN, UNTESTED = "holds", "fails", "not resolved", "not tested"


@dataclass(frozen=True)
class PolicyComparison:
    """Two policies on one problem, and what is claimed of the difference first - second.

    For the kind "half" it is the difference first - second / 2.
    """

    problem: str
    first: str
    second: str
    kind: str
    """"lower", "half" or "similar" (regret), "faster" or "as fast" (logarithm of the time)"""


@dataclass(frozen=True)
class PaperClaim:
    key: str
    sentence: str
    """The paper's statement."""
    criterion: str
    """What it means in numbers."""
    comparisons: tuple[PolicyComparison, ...]
    often: bool = False
    """Whether the paper says "often": more than half of the comparisons have to hold, not all."""


@dataclass(frozen=True)
class ClaimFamily:
    """Claims of one kind: the chance of any false verdict among all their comparisons is 5 %.

    A family is fixed beforehand. What was played, and what was not, changes nothing in it.
    """

    claims: tuple[PaperClaim, ...]

    @property
    def comparisons(self) -> tuple[PolicyComparison, ...]:
        """The distinct comparisons of all claims."""
        return tuple({c: None for claim in self.claims for c in claim.comparisons})

    @property
    def parts(self) -> tuple[tuple[PolicyComparison, ...], ...]:
        """The comparisons on the functions, and those on Perovskite, whose file may be missing."""
        functions = tuple(c for c in self.comparisons if c.problem != paper.PEROVSKITE)
        return functions, tuple(c for c in self.comparisons if c.problem == paper.PEROVSKITE)


@dataclass(frozen=True)
class Difference:
    """A comparison with its mean difference and interval, and the differences that confirm it."""

    comparison: PolicyComparison
    mean: float
    low: float
    high: float
    wanted: tuple[float, float]
    verdict: str


@dataclass(frozen=True)
class Verdict:
    """A claim with its comparisons that were tested.

    `check_paper` returns one for each claim.

    >>> import numpy as np
    >>> from kernelbandits.analysis.claims import check_regrets
    >>> regrets = np.linspace(9, 11, 25)
    >>> endings = {("hartmann6", policy): regrets for policy in ("Simple-UCB", "GP-TS")}
    >>> endings["hartmann6", "Simple-Gaussian"] = np.linspace(5, 6, 25)
    >>> gaussian = check_regrets(endings)[3]
    >>> gaussian.claim.sentence
    'Simple-Gaussian outperforms GP-TS.'
    >>> gaussian.on("hartmann6"), gaussian.on("ackley4"), gaussian.verdict
    ('holds', 'not tested', 'not resolved')
    """

    claim: PaperClaim
    """What the paper says, and what it means in numbers."""
    differences: tuple[Difference, ...]
    """The comparisons that could be tested, each with its verdict."""

    @property
    def verdict(self) -> str:
        """The verdict on the whole claim."""
        return self._verdict_of(self.claim.comparisons)

    @property
    def problems(self) -> tuple[str, ...]:
        """The problems of which the claim speaks, tested or not."""
        return tuple({c.problem: None for c in self.claim.comparisons})

    def on(self, problem: str) -> str:
        """Return the verdict on one problem."""
        return self._verdict_of([c for c in self.claim.comparisons if c.problem == problem])

    def _verdict_of(self, comparisons: Sequence[PolicyComparison]) -> str:
        tested = {d.comparison: d.verdict for d in self.differences}
        return combine_verdicts([tested.get(c, UNTESTED) for c in comparisons], self.claim.often)


Endings = Mapping[tuple[str, str], Array]
"""(problem, policy) -> final regret on each seed"""
Samples = Callable[[PolicyComparison], tuple[Array, Array, float] | None]
"""The paired samples of a comparison and Simple-UCB's mean; None where they are missing."""


def compare(
    problems: Iterable[str], firsts: Sequence[str], seconds: Sequence[str], kind: str
) -> tuple[PolicyComparison, ...]:
    """Return the comparisons of each first with each second policy on each problem."""
    return tuple(
        PolicyComparison(problem, first, second, kind)
        for problem in problems
        for first in firsts
        for second in seconds
    )


def lower_regret(
    problems: Iterable[str], firsts: Sequence[str], seconds: Sequence[str]
) -> tuple[PolicyComparison, ...]:
    return compare(problems, firsts, seconds, "lower")


BERNOULLI = "Simple-Bernoulli"
OTHERS = tuple(label for label in paper.COMPARED if label != BERNOULLI)
RANDOMISED = ("Simple-Gaussian", BERNOULLI, "Simple-Categorical")

REGRET_FAMILY = ClaimFamily(
    (
        PaperClaim(
            "best",
            "On synthetic data Simple-Bernoulli achieves the best empirical performance.",
            "lower regret than each of the other five, on each of the four functions",
            lower_regret(paper.SYNTHETIC, [BERNOULLI], OTHERS),
        ),
        PaperClaim(
            "efficient-regret",
            "On synthetic data Simple-Bernoulli is extremely efficient (in regret).",
            "at most half the regret of IGP-UCB and of GP-TS, on each of the four functions (the "
            "paper gives no number: half is chosen here)",
            compare(paper.SYNTHETIC, [BERNOULLI], paper.RIVALS, "half"),
        ),
        PaperClaim(
            "reducing",
            "This is because it enables reducing the exploration level as information is gathered.",
            "lower regret than Ber(1/2) in all rounds, and than Ber(3/8) in all rounds, which "
            "explores equally often in total",
            lower_regret(paper.SYNTHETIC, [BERNOULLI], paper.CONTROLS),
        ),
        PaperClaim(
            "gaussian",
            "Simple-Gaussian outperforms GP-TS.",
            "lower regret on each of the four functions",
            lower_regret(paper.SYNTHETIC, ["Simple-Gaussian"], ["GP-TS"]),
        ),
        PaperClaim(
            "categorical",
            "Simple-Categorical outperforms both IGP-UCB and Simple-UCB.",
            "lower regret than both on each of the four functions",
            lower_regret(paper.SYNTHETIC, ["Simple-Categorical"], ["IGP-UCB", "Simple-UCB"]),
        ),
        PaperClaim(
            "similar",
            "On Perovskite Simple-Gaussian, Simple-Bernoulli and Simple-Categorical perform "
            "similarly.",
            "every paired interval lies within 10 % of Simple-UCB's mean regret",
            tuple(
                PolicyComparison(paper.PEROVSKITE, first, second, "similar")
                for first, second in combinations(RANDOMISED, 2)
            ),
        ),
        PaperClaim(
            "perovskite",
            "On Perovskite these three outperform IGP-UCB, Simple-UCB and GP-TS.",
            "each of the three has lower regret than each of the others",
            lower_regret([paper.PEROVSKITE], RANDOMISED, ["IGP-UCB", "Simple-UCB", "GP-TS"]),
        ),
        PaperClaim(
            "elimination",
            "SupKernelUCB, REDS and BPE often have poor empirical performance.",
            "higher regret than the paper's four algorithms, in more than half of all comparisons "
            "of one of the three with one of the four on one of the five problems, each of the "
            "three with its own ridge (R², and 1 for SupKernelUCB)",
            lower_regret((*paper.SYNTHETIC, paper.PEROVSKITE), paper.FAMILY, paper.ELIMINATION),
            often=True,
        ),
    )
)
"""The sentences on regret."""

TIME_FAMILY = ClaimFamily(
    (
        PaperClaim(
            "efficient-time",
            "Simple-Bernoulli is extremely efficient (in computing time).",
            "a round takes no more time than a round of any of the other five, within 10 %",
            compare([paper.TIMED], [BERNOULLI], OTHERS, "as fast"),
        ),
        PaperClaim(
            "no-balls",
            "Simple-UCB is more computationally efficient than GP-UCB (Whitehouse et al.) and "
            "IGP-UCB, as it does not need to construct the confidence balls.",
            "a round takes at least 10 % less time (the index of all three has a closed form, and "
            "none of them constructs a ball)",
            compare([paper.TIMED], ["Simple-UCB"], ["GP-UCB (Whitehouse)", "IGP-UCB"], "faster"),
        ),
        PaperClaim(
            "one-normal",
            "Simple-Gaussian explores by a one-dimensional Gaussian, rather than sampling a "
            "multi-dimensional one.",
            "a round takes at least 10 % less time than a round of GP-TS",
            compare([paper.TIMED], ["Simple-Gaussian"], ["GP-TS"], "faster"),
        ),
    )
)
"""The sentences on computing time, measured on one problem, the policies in turns."""


def wanted_values(kind: str, reference: float) -> tuple[float, float]:
    """Return where the difference must lie for the comparison to hold."""
    margin = SIMILAR_SHARE * reference
    return {
        "lower": (-math.inf, 0.0),
        "half": (-math.inf, 0.0),
        "similar": (-margin, margin),
        "faster": (-math.inf, math.log(1 - SAVING)),
        "as fast": (-math.inf, math.log(1 + SAVING)),
    }[kind]


@dataclass(frozen=True)
class Paired:
    """n paired differences, by their mean and its standard error."""

    comparison: PolicyComparison
    mean: float
    error: float
    n: int
    wanted: tuple[float, float]

    def p_value(self) -> float:
        """Return the two-sided p value, against the nearest bound of the wanted values."""
        gap = min(abs(self.mean - bound) for bound in self.wanted if math.isfinite(bound))
        return t_p_value(gap, self.error, self.n)

    def difference(self, level: float) -> Difference:
        half = self.error * float(stdtrit(self.n - 1, 1 - level / 2)) if self.n > 1 else math.inf
        low, high = self.mean - half, self.mean + half
        return Difference(
            self.comparison, self.mean, low, high, self.wanted, verdict_of(low, high, self.wanted)
        )


def verdict_of(low: float, high: float, wanted: tuple[float, float]) -> str:
    """Return "holds" with the whole interval inside the wanted values, "fails" with all outside."""
    least, most = wanted
    if least < low and high < most:
        return HOLDS
    return FAILS if high <= least or low >= most else OPEN


def pair_samples(comparison: PolicyComparison, samples: tuple[Array, Array, float]) -> Paired:
    first, second, reference = samples
    gaps = first - second / 2 if comparison.kind == "half" else first - second
    error = float(gaps.std(ddof=1) / math.sqrt(len(gaps))) if len(gaps) > 1 else math.inf
    return Paired(
        comparison, float(gaps.mean()), error, len(gaps), wanted_values(comparison.kind, reference)
    )


def check_paper(run: PaperRun) -> tuple[Verdict, ...]:
    """Test the paper's claims on regret and computing time under its preset.

    `run` is what `experiment.paper.run_paper` returns.

    >>> from kernelbandits.analysis import check_paper
    >>> from kernelbandits.experiment.paper import plan_paper, run_paper
    >>> plan = plan_paper(horizon=2, seeds=2, with_map=False, engine="numpy")
    >>> verdicts = check_paper(run_paper(plan))
    >>> [verdict.claim.key for verdict in verdicts[:3]]
    ['best', 'efficient-regret', 'reducing']
    """
    endings = {cell.name: run.results.found[cell.key].regret[:, -1] for cell in run.plan.cells}
    return check_regrets(endings) + check_family(TIME_FAMILY, time_samples(run.times))


def check_settings(run: PaperRun) -> dict[PaperSetting, tuple[Verdict, ...]]:
    """Test the claims on regret under every setting of the sensitivity map.

    Of the run only the sensitivity map counts, the final regrets by problem and policy.

    >>> import numpy as np
    >>> from kernelbandits.analysis import check_settings
    >>> from kernelbandits.experiment.paper import MapEntry, PaperRun
    >>> from kernelbandits.experiment.paper_settings import PaperSetting
    >>> endings = {("ackley4", name): np.arange(5.0) for name in ("Simple-UCB", "Simple-Gaussian")}
    >>> entry = MapEntry(PaperSetting(noise_scale=0.1), endings, used={})
    >>> run = PaperRun(None, None, times={}, norms={}, ratios={}, map=(entry,), readings={})
    >>> [(setting.noise_scale, len(verdicts)) for setting, verdicts in check_settings(run).items()]
    [(0.1, 8)]
    """
    return {entry.setting: check_regrets(entry.endings) for entry in run.map}


def check_readings(run: PaperRun) -> dict[PaperReading, tuple[Verdict, ...]]:
    """Test the claims on regret under every reading, each reading by itself.

    Of the run only the readings count, the final regrets by problem and policy.

    >>> import numpy as np
    >>> from kernelbandits.analysis import check_readings
    >>> from kernelbandits.experiment.paper import PaperRun
    >>> from kernelbandits.experiment.paper_settings import PRESET_READING
    >>> endings = {("ackley4", name): np.arange(5.0) for name in ("Simple-UCB", "Simple-Gaussian")}
    >>> readings = {PRESET_READING: endings}
    >>> run = PaperRun(None, None, times={}, norms={}, ratios={}, map=(), readings=readings)
    >>> verdicts = check_readings(run)[PRESET_READING]
    >>> verdicts[0].verdict
    'not tested'
    """
    return {reading: check_regrets(endings) for reading, endings in run.readings.items()}


def check_regrets(endings: Endings) -> tuple[Verdict, ...]:
    """Test the claims on regret, from the final regrets by problem and policy."""
    return check_family(REGRET_FAMILY, regret_samples(endings))


def check_family(family: ClaimFamily, samples: Samples) -> tuple[Verdict, ...]:
    """Test the claims of a family by Holm's procedure, the functions and Perovskite apart.

    Both parts are tested at the size of the whole family. If a false verdict is given at all, then
    the first true hypothesis of a part is rejected, at a level of at most 5 % / (number of true
    hypotheses of the family): the chance of any false verdict stays at 5 %.
    """
    size = len(family.comparisons)
    found: dict[PolicyComparison, Difference] = {}
    for part in family.parts:
        pairs = {c: samples(c) for c in part}
        tests = {c: pair_samples(c, data) for c, data in pairs.items() if data is not None}
        levels = holm_levels([test.p_value() for test in tests.values()], size=size)
        for (c, test), level in zip(tests.items(), levels, strict=True):
            found[c] = test.difference(level)
    return tuple(
        Verdict(claim, tuple(found[c] for c in claim.comparisons if c in found))
        for claim in family.claims
    )


def combine_verdicts(verdicts: Sequence[str], often: bool = False) -> str:
    """Return the verdict on a claim from those on its comparisons.

    All have to hold, or more than half where the paper says "often". One that was not tested is no
    support and no objection.
    """
    if all(verdict == UNTESTED for verdict in verdicts):
        return UNTESTED
    needed = len(verdicts) // 2 + 1 if often else len(verdicts)
    if verdicts.count(HOLDS) >= needed:
        return HOLDS
    return FAILS if len(verdicts) - verdicts.count(FAILS) < needed else OPEN


def regret_samples(endings: Endings) -> Samples:
    """Return final regrets by (problem, policy), paired by seed."""

    def samples(c: PolicyComparison) -> tuple[Array, Array, float] | None:
        names = (c.problem, c.first), (c.problem, c.second), (c.problem, "Simple-UCB")
        if any(name not in endings for name in names):
            return None
        return endings[names[0]], endings[names[1]], float(endings[names[2]].mean())

    return samples


def time_samples(times: Mapping[str, Array]) -> Samples:
    """Return logarithms of the times by policy, paired by seed."""
    return lambda c: (np.log(times[c.first]), np.log(times[c.second]), 0.0)
