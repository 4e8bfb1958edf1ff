"""Plant faults in a copy of the package, one at a time, and say which of them the tests find.

    .venv/bin/python .ci/plant_faults.py
    .venv/bin/python .ci/plant_faults.py --tests OTHER/CHECKOUT --only kernel

Each fault changes one place of src/kernelbandits and names the tests that should fail. The tests
of another checkout can be judged too: whoever drops or merges cases runs both, and both must find
every fault.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
CONTRACTS = "contracts/test_"


@dataclass(frozen=True)
class Fault:
    """One change of the source, and the tests of its module and of its family."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


def fault(name: str, file: str, old: str, new: str, *tests: str) -> Fault:
    return Fault(name, file, old, new, tests)


BAD_INPUT = CONTRACTS + "bad_input.py"
POLICIES = CONTRACTS + "policies.py"
KERNELS = CONTRACTS + "kernels.py"
LAWS = (CONTRACTS + "laws.py", "exploration")
PROBLEMS = (CONTRACTS + "problems.py", "problems")
STORAGES = (CONTRACTS + "storages.py", "storage/test_storage.py")

CHECKS = (
    fault(
        "check: noise scale and norm bound may be negative",
        "checks.py",
        "needs(is_number(value) and value >= 0, owner",
        "needs(is_number(value), owner",
        BAD_INPUT,
    ),
    fault(
        "check: a ridge of zero passes",
        "checks.py",
        "needs(is_number(value) and value > 0, owner",
        "needs(is_number(value) and value >= 0, owner",
        BAD_INPUT,
    ),
    fault(
        "check: a confidence of one passes",
        "checks.py",
        "is_number(value) and 0 < value < 1",
        "is_number(value) and 0 < value <= 1",
        BAD_INPUT,
    ),
    fault(
        "check: a truth value is a whole number",
        "checks.py",
        "isinstance(value, Integral) and not isinstance(value, (bool, np.bool_))",
        "isinstance(value, Integral)",
        BAD_INPUT,
    ),
    fault(
        "check: a word that is no rule for ties passes",
        "policies/base.py",
        'self.ties = checks.one_of(name, "ties", ties, TIES)',
        "self.ties = ties",
        BAD_INPUT,
    ),
    fault(
        "check: the horizon of one policy is not checked",
        "policies/lin_rel.py",
        'rounds = checks.whole("SupLinRel", "horizon", horizon)',
        "rounds = int(horizon)",
        BAD_INPUT,
    ),
    fault(
        "check: another argument is named",
        "policies/improvement.py",
        'checks.nonnegative("ProbabilityOfImprovement", "margin", margin)',
        'checks.nonnegative("ProbabilityOfImprovement", "value", margin)',
        BAD_INPUT,
        "policies/test_one_ask.py",
    ),
    fault(
        "check: a chance of one law is not checked",
        "exploration/schedules.py",
        'checks.chance("Decay", "floor", self.floor)',
        "pass",
        BAD_INPUT,
    ),
    fault(
        "check: a power of one policy is not checked",
        "policies/epsilon_greedy.py",
        'checks.nonnegative("KernelEpsilonGreedy", "power", power)',
        "power",
        BAD_INPUT,
        "policies/test_rivals.py",
    ),
    fault(
        "check: not a number passes as a point",
        "checks.py",
        "bad = np.argwhere(~np.isfinite(array))",
        "bad = np.argwhere(np.isinf(array))",
        BAD_INPUT,
    ),
    fault(
        "check: a batch of one policy is not checked",
        "policies/batched.py",
        'checks.whole("GPBUCB", "batch", batch)',
        "batch",
        BAD_INPUT,
    ),
    fault(
        "check: an infinite reward passes",
        "checks.py",
        "if not -LARGEST_REWARD <= value <= LARGEST_REWARD:",
        "if not abs(value) >= 0:",
        POLICIES,
    ),
)
"""Faults in the checks of arguments."""

FORMULAS = (
    fault(
        "kernel: RBF without the half",
        "kernels/stationary.py",
        "        return np.exp(-0.5 * squares)\n",
        "        return np.exp(-squares)\n",
        KERNELS,
        "kernels",
    ),
    fault(
        "kernel: a slope of the wrong power",
        "kernels/stationary.py",
        "** -(self.alpha + 1)",
        "** -self.alpha",
        KERNELS,
    ),
    fault(
        "kernel: lengthscales are multiplied",
        "kernels/stationary.py",
        "return lengths / factor",
        "return lengths * factor",
        KERNELS,
    ),
    fault(
        "kernel: a bound on its changes that does not hold",
        "kernels/linear.py",
        "return CellChange(width, 0.0)",
        "return CellChange(width / 2, 0.0)",
        KERNELS,
        "kernels",
    ),
    fault(
        "law: optimism without the atom at one",
        "exploration/laws.py",
        "return self._total(lambda value: value >= 1)",
        "return self._total(lambda value: value > 1)",
        *LAWS,
    ),
    fault(
        "law: a mean without absolute values",
        "exploration/laws.py",
        "abs(value) * p for value, p in zip(self.support",
        "value * p for value, p in zip(self.support",
        *LAWS,
    ),
    fault(
        "law: draws from the wrong side of a border",
        "exploration/laws.py",
        'np.searchsorted(shares[:-1] / shares[-1], u, side="right")',
        'np.searchsorted(shares[:-1] / shares[-1], 1 - u, side="right")',
        *LAWS,
    ),
    fault(
        "law: exploration falls below its floor",
        "exploration/schedules.py",
        "Bernoulli(max(self.floor, self.first *",
        "Bernoulli(min(self.floor, self.first *",
        *LAWS,
    ),
    fault(
        "width: the confidence term is halved",
        "widths.py",
        "terms = (norm_bound, 2 * share * math.log(1 / delta), share)",
        "terms = (norm_bound, share * math.log(1 / delta), share)",
        "test_widths.py",
        "policies/test_golden.py",
    ),
    fault(
        "width: the gain of the round after",
        "widths.py",
        "fixed, share = gain(t - 1)\n        square = 9",
        "fixed, share = gain(t)\n        square = 9",
        "test_widths.py",
        "policies/test_heavy_tails.py",
    ),
    fault(
        "streams: purposes share their numbers",
        "streams.py",
        "self.generator(column_of(purpose), block).random(BLOCK)",
        "self.generator(0, block).random(BLOCK)",
        "test_streams.py",
    ),
    fault(
        "streams: rounds of a block are off by one",
        "streams.py",
        "[first - begin * BLOCK : horizon + 1 - begin * BLOCK]",
        "[first - begin * BLOCK + 1 : horizon + 2 - begin * BLOCK]",
        "test_streams.py",
    ),
    fault(
        "ties: the last of tied arms is never played",
        "domains/ties.py",
        "best[int(u * len(best))]",
        "best[int(u * (len(best) - 1))]",
        POLICIES,
        "domains",
    ),
    fault(
        "posterior: a variance that falls too fast",
        "posterior/rows.py",
        "a=-1.0 / evidence",
        "a=-1.01 / evidence",
        "posterior/test_rows.py",
        "posterior/test_imagined.py",
    ),
    fault(
        "posterior: the determinant misses a member",
        "posterior/rows.py",
        "return float(self.log_dets.mean())",
        "return float(self.log_dets[0])",
        "posterior/test_members.py",
    ),
    fault(
        "posterior: the last column is kept for another arm",
        "posterior/rows.py",
        "if self._last is not None and self._last[0] == arm:",
        "if self._last is not None:",
        "posterior/test_rows.py",
    ),
    fault(
        "policy: a random arm too often",
        "policies/epsilon_greedy.py",
        "if now.draw_weight() >= self.chance(now.t):",
        "if now.draw_weight() >= 2 * self.chance(now.t):",
        "policies/test_rivals.py",
        "policies/test_golden.py",
    ),
    fault(
        "policy: improvement over the prior, not over the best",
        "policies/improvement.py",
        "return LogExpectedImprovement(best_estimates(self.posterior))",
        "return LogExpectedImprovement(0 * best_estimates(self.posterior))",
        "policies/test_one_ask.py",
        "policies/test_golden.py",
    ),
    fault(
        "sobol: points at the corners of their cells",
        "domains/sobol.py",
        ".T + 0.5) / 2**power",
        ".T) / 2**power",
        "domains",
    ),
    fault(
        "gain: no half in the analytic gain",
        "theory/gains.py",
        "return d / 2 * np.log1p",
        "return d * np.log1p",
        "theory/test_information.py",
    ),
    fault(
        "gain: the realised gain is all of the determinant",
        "theory/gains.py",
        "return lambda t: (0.0, 0.5)",
        "return lambda t: (0.0, 1.0)",
        "test_widths.py",
        "policies/test_golden.py",
    ),
)
"""Faults in formulas."""

BEHAVIOUR = (
    fault(
        "problem: values in the opposite direction",
        "problems/base.py",
        "return self.optimum - self.values",
        "return self.values - self.optimum",
        *PROBLEMS,
    ),
    fault(
        "problem: instances of all seeds are the same",
        "problems/base.py",
        'return streams.generator(COLUMN["problem"], PROBLEM_BLOCK)',
        'return Streams(0).generator(COLUMN["problem"], PROBLEM_BLOCK)',
        *PROBLEMS,
    ),
    fault(
        "problem: noise of the wrong scale",
        "problems/base.py",
        "share * self.noise.draw(u)",
        "2 * share * self.noise.draw(u)",
        *PROBLEMS,
    ),
    fault(
        "problem: the last replicate is never drawn",
        "problems/base.py",
        "int(u * len(self.replicates[arm]))",
        "int(u * (len(self.replicates[arm]) - 1))",
        *PROBLEMS,
    ),
    fault(
        "storage: a check of the event alone, not of the chain",
        "storage/event.py",
        "row[9] != check or not is_intact(row)",
        "not is_intact(row)",
        "storage/test_storage_damage.py",
    ),
    fault(
        "storage: a changed event passes",
        "storage/event.py",
        "return add_check(tuple(row[:-1])) == row",
        "return bool(row)",
        *STORAGES,
        "storage/test_storage_damage.py",
    ),
    fault(
        "storage: the value is not under the checksum",
        "storage/event.py",
        "blake2b(ascii(values).encode()",
        "blake2b(ascii(values[:4]).encode()",
        *STORAGES,
        "storage/test_storage_damage.py",
    ),
    fault(
        "storage: a reader may write",
        "storage/log.py",
        "if self.database.reads_only:",
        "if False:",
        *STORAGES,
    ),
    fault(
        "tables: three powers of ten that rounding makes fewer",
        "tables/scaling.py",
        "- math.log10(values.min()) + ROUNDING",
        "- math.log10(values.min())",
        "tables/test_log_columns.py",
    ),
    fault(
        "tables: logarithms of columns of any span",
        "tables/scaling.py",
        "ADVISED, DECIDED = 2.0, 3.0",
        "ADVISED, DECIDED = 2.0, 1.0",
        "tables/test_log_columns.py",
    ),
    fault(
        "tables: infinite numbers are read from cells",
        "tables/cells.py",
        "return np.where(np.isfinite(values), values, np.nan)",
        "return values",
        "study/test_candidates.py",
        "tables/test_hostile_tables.py",
    ),
    fault(
        "tables: a decimal comma is read as a point",
        "tables/cells.py",
        'if decimal == ",":\n        cell = cell.translate({ord(","): ".", ord("."): ","})',
        'if decimal == ",":\n        cell = cell.replace(",", ".")',
        "tables",
    ),
    fault(
        "study: stops at a lower probability",
        "study/stopping.py",
        "ENOUGH = 0.95",
        "ENOUGH = 0.5",
        "study/test_answers.py",
        "study/test_study_goals.py",
        "study/test_study.py",
    ),
    fault(
        "study: a batch that shares a column may have other values",
        "study/batches.py",
        "fits &= cells_of(table, name, rows) == value",
        "fits |= cells_of(table, name, rows) == value",
        "study/test_batches.py",
    ),
    fault(
        "experiment: standard deviations of the population",
        "experiment/summary.py",
        "samples.std(0, ddof=1)",
        "samples.std(0)",
        "experiment/test_experiment_results.py",
        "experiment/test_experiment.py",
        "analysis",
    ),
    fault(
        "experiment: a regret below zero is reported",
        "experiment/summary.py",
        "max(low, 0.0)",
        "low",
        "experiment/test_experiment_results.py",
        "experiment/test_experiment.py",
        "analysis",
    ),
    fault(
        "ranking: equal policies have different ranks",
        "analysis/ranking.py",
        "ROUNDING = 1e-9",
        "ROUNDING = 1e-18",
        "analysis",
    ),
)
"""Faults in what is stored, read, decided and reported."""

FAULTS = (*CHECKS, *FORMULAS, *BEHAVIOUR)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tests", type=Path, default=ROOT, help="the checkout whose tests run")
    parser.add_argument("--only", default="", help="faults whose name contains this")
    options = parser.parse_args()
    chosen = [one for one in FAULTS if options.only in one.name]
    missed = [one.name for one in chosen if not find_fault(one, options.tests.resolve())]
    print(f"{len(chosen) - len(missed)} of {len(chosen)} faults found")
    sys.exit(bool(missed))


def find_fault(planted: Fault, checkout: Path) -> bool:
    """Plant a fault in a copy, run its tests, and print which test failed first."""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as name:
        copy = Path(name, "src")
        shutil.copytree(ROOT / "src", copy)
        file = copy / "kernelbandits" / planted.file
        source = file.read_text()
        if planted.old not in source:
            sys.exit(f"{planted.name}: {planted.file} needs {planted.old!r}, got no such text")
        file.write_text(source.replace(planted.old, planted.new, 1))
        failed = first_failure(planted, checkout, copy)
    print(
        f"{failed or 'NOT FOUND':70.70} {planted.name} ({time.monotonic() - began:.0f} s)",
        flush=True,
    )
    return bool(failed)


def first_failure(planted: Fault, checkout: Path, source: Path) -> str:
    """Return the first test of a checkout that fails with this source; "" if none does."""
    tests = [path for path in planted.tests if (checkout / "tests" / path).exists()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *(f"tests/{path}" for path in tests)],
        cwd=checkout,
        env=os.environ | {"PYTHONPATH": str(source), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
    )
    if done.returncode not in (0, 1):
        sys.exit(f"{planted.name}: the tests need to run, got\n{done.stdout}{done.stderr}")
    lines = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return lines[0].split(" - ")[0].rpartition("::")[2] if lines else ""


if __name__ == "__main__":
    main()
