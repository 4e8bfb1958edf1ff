"""The finished cells as results/leaderboard.md and leaderboard.svg."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks import tables
from benchmarks.leaderboard import figure
from benchmarks.leaderboard.play import (
    CATALOGUE,
    DEFAULTS,
    HORIZONS,
    LIMIT,
    MEMORY_ROUNDS,
    SEEDS,
)
from benchmarks.leaderboard.problems import GROUPS, NOISE_SCALE, PROBLEMS
from benchmarks.leaderboard.rows import OVER, BoardRow, latest, read
from benchmarks.leaderboard.scores import (
    Board,
    Standing,
    longest_complete,
    make_boards,
    title_of,
)
from kernelbandits.analysis.certificates import DELTA

PLACE = tables.RESULTS
NOT_YET = "not run yet"
FIGURE = "leaderboard.svg"
ABOUT = f"""\
Regret is what a policy lost: the sum of max f - f(x_t) over T rounds. Certified regret is what its
rewards prove that it lost at most, for R-sub-Gaussian noise and a norm of at most D, with probability
{1 - DELTA:g} in all rounds at once ([the certificate](../../docs/theory/bands.md#a-regret-certificate-what-the-rounds-so-far-have-lost-at-most)). It needs no theorem about
the policy. So every policy has one, and all are computed alike: with the kernel, R and D that the
policies are told, and the same ridge. A policy with little regret need not prove much of it.

Each cell is one policy on one problem, seeds {", ".join(map(str, SEEDS))}. All policies of a seed meet the same
function, arms and noise. R = {NOISE_SCALE:g}, D = 1 unless stated below, and both are true. Policies are built as
`kb.run_experiment` builds them, with the other settings of the catalogue; those that take a horizon are
told T. {{defaults}}
`auto` and others that are told nothing, or less, play as they are. Rules for other
worlds (drift, heavy tails, delays, linear rewards) are out of their world on most problems, and rules
with a guarantee pay for it.

- **share**: divided by what uniform random play loses on average on that problem, T times the mean gap;
  then the mean over problems. The standard error is over the seeds. A certified share above 1 proves less
  than what is expected of random play.
- **rank**: 1 + the number of policies with less on that problem; the mean over problems.
- **growth**: the slope of ln regret against ln t between T/10 and T, ln(R(T) / R(T/10)) / ln 10, with the
  means over seeds; then the mean over problems. It is 1 if the regret grows linearly, 0.5 as sqrt(t), 0 if
  it has stopped.
- **ms a round**: processor time of `ask` and `tell` in Python, the mean over all rounds and seeds; the
  median over problems. The compiled loops of experiments are faster and play the same arms. Measured on
  {{processors}}.
- **MB**: the peak of `tracemalloc` (Python objects and numpy arrays) in a run of its own of the first
  seed, from the constructor to round {MEMORY_ROUNDS}; the greatest over problems.

A cell whose `ask` and `tell` take more than {LIMIT / 60:g} CPU minutes for all seeds, or whose first rounds promise
it, is not run; neither is one that the policy refuses. [The reasons](#cells-that-were-not-run) are below."""
ADD = """\
## Add a policy

    python -m benchmarks leaderboard --policy mymodule:MyPolicy

`MyPolicy` is a class derived from `kb.Policy`, or a factory (domain, kernel, **settings) -> policy
([a policy of your own](../../docs/algorithms/own_policy.md)). It is told those of
`noise_scale`, `norm_bound` and `horizon` that its signature names. Only its cells are played; it then has a row
in every table and a point in the figure. A policy of the catalogue with other settings is added in the
same way: `--policy simple-bernoulli:p=0.25`. A finished cell is a line of `leaderboard.jsonl`, known by
problem, policy, horizon, seeds and version (the revision of a policy of the catalogue, a hash of the
file of your own), and is not played again unless the line is removed. `--problems`, `--horizons`, `--workers` and `--minutes` choose what is
played; `--minutes 0` writes this page from the rows."""


def write(path: Path) -> None:
    """Write the page and the figure of a file of rows."""
    rows = latest(read(path))
    boards = make_boards(rows)
    PLACE.mkdir(exist_ok=True)
    print(figure.write(longest_complete(boards), PLACE / FIGURE))
    text = document(rows, boards)
    (PLACE / "leaderboard.md").write_text(text)
    print(text.partition("\n## Problems")[0])


def document(rows: Sequence[BoardRow], boards: Sequence[Board]) -> str:
    """Return the page."""
    given = " ".join(f"`{name}` is played as `{text}`." for name, text in DEFAULTS.items())
    processors = ", ".join(sorted({row.processor for row in rows})) or "no processor yet"
    about = ABOUT.format(defaults=given, processors=processors)
    parts = ["# Leaderboard: regret and certified regret", about]
    drawn = longest_complete(boards)
    if drawn:
        parts += [f"![Regret against certified regret]({FIGURE})", describe_figure(drawn)]
    ordered = sorted(boards, key=lambda board: (-len(board.problems), -board.horizon))
    parts += [section for board in ordered for section in summarise(board)]
    parts += [ADD, "## Problems", list_problems()]
    parts += [section for board in ordered for section in show_groups(board)]
    parts += ["## Cells that were not run", list_missing(rows, boards)]
    return "\n\n".join(parts) + "\n"


def describe_figure(board: Board) -> str:
    """Say what the figure shows."""
    left_out = len(board.policies) - len(board.complete)
    others = f" {left_out} policies have not played all problems and are left out." * (left_out > 0)
    return (
        f"One point for each policy, T = {board.horizon}, both axes logarithmic: further left is less "
        f"regret, further down is more of it proved. A point below the line would be a certificate that failed.{others}"
    )


def summarise(board: Board) -> Iterator[str]:
    """Yield the standings of a horizon."""
    yield f"## T = {board.horizon}"
    if not board.complete:
        yield "No problem has been played by all policies yet."
        return
    problems = len(board.problems)
    yield (
        f"{problems} of {len(PROBLEMS)} problems have been played by all policies. "
        f"{name_best(board)}"
    )
    head = (
        *("place", "policy", "problems", "regret, share", "certified, share", "rank of regret"),
        *("rank of certified", "growth", "ms a round", "MB"),
    )
    lines = [
        standing_cells(place, one, problems) for place, one in enumerate(board.standings, start=1)
    ]
    yield as_markdown(head, lines)


def name_best(board: Board) -> str:
    """Say which policies lose least and which prove least."""
    least = board.complete[0]
    surest = min(board.complete, key=lambda one: one.certified)
    if least is surest:
        return f"Least regret and least certified regret: {describe_standing(least)}."
    return (
        f"Least regret: {describe_standing(least)}. "
        f"Least certified regret: {describe_standing(surest)}."
    )


def describe_standing(one: Standing) -> str:
    return f"{one.title} (regret {one.regret:.3f}, certified {one.certified:.3f})"


def standing_cells(place: int, one: Standing, problems: int) -> tuple[str, ...]:
    complete = one.problems == problems
    return (
        *(str(place) if complete else "-", one.title, f"{one.problems} of {problems}"),
        *(f"{one.regret:.3f} ± {one.error:.3f}", f"{one.certified:.3f}"),
        *(f"{one.regret_rank:.1f}", f"{one.certified_rank:.1f}"),
        "-" if one.exponent is None else f"{one.exponent:.2f}",
        *(f"{one.milliseconds:.3g}", f"{one.megabytes:.2g}"),
    )


def list_problems() -> str:
    head = ("problem", "group", "what", "kernel")
    lines = [(name, one.group, one.about, str(one.kernel)) for name, one in PROBLEMS.items()]
    return as_markdown(head, lines)


def show_groups(board: Board) -> Iterator[str]:
    """Yield a table for each group of problems: regret and certified regret with their ranks."""
    yield f"## Each problem, T = {board.horizon}"
    yield (
        "Mean regret ± its standard error, and mean certified regret, of the seeds; in brackets the "
        f"ranks. {describe_exceeded(board)}"
    )
    for group in GROUPS:
        names = [
            name for name, one in PROBLEMS.items() if one.group == group and board.played(name)
        ]
        if names:
            yield f"### {group.capitalize()}, T = {board.horizon}"
            yield group_table(board, names)


def describe_exceeded(board: Board) -> str:
    """Say how often a certificate failed."""
    played = [row for row in board.rows if row.is_played]
    failed = sum(row.exceeded for row in played)
    runs = sum(len(row.seeds) for row in played)
    return f"The regret exceeds its certificate in {failed} of {runs} runs."


def group_table(board: Board, names: Sequence[str]) -> str:
    ranks = {
        name: (
            board.ranks(name, lambda row: row.mean_regret),
            board.ranks(name, lambda row: row.mean_certified),
        )
        for name in names
    }
    order = [one.policy for one in board.standings]
    order += [name for name in board.policies if name not in order]
    lines = []
    for policy in order:
        line = [board.policies[policy]]
        for name in names:
            row = board.cells.get((name, policy))
            if row is None or not row.is_played:
                line += [NOT_YET if row is None else short_reason(row), ""]
            else:
                regret, certified = (of[policy] for of in ranks[name])
                line += [
                    f"{row.mean_regret:.1f} ± {row.regret_error:.1f} ({regret})",
                    f"{row.mean_certified:.1f} ({certified})",
                ]
        lines.append(tuple(line))
    head = ("policy", *(text for name in names for text in (f"{name}: regret", "certified")))
    return as_markdown(head, lines)


def short_reason(row: BoardRow) -> str:
    return f"over {LIMIT / 60:g} CPU minutes" if row.status == OVER else "refused"


def list_missing(rows: Sequence[BoardRow], boards: Sequence[Board]) -> str:
    """Say which cells are not played, and why; those that nobody tried yet are counted."""
    lines = [
        (
            title_of(row.policy),
            row.problem,
            str(row.horizon),
            short_reason(row),
            row.reason.replace("|", r"\|"),
        )
        for row in sorted(rows, key=lambda row: (row.horizon, row.policy))
        if not row.is_played
    ]
    parts = [as_markdown(("policy", "problem", "T", "status", "reason"), lines)] if lines else []
    parts += [text for horizon in HORIZONS if (text := count_untried(horizon, boards))]
    return "\n\n".join(parts) if parts else "All cells of the catalogue were played."


def count_untried(horizon: int, boards: Sequence[Board]) -> str:
    """Count the cells of the catalogue of a horizon that were not run yet."""
    cells = next((board.cells for board in boards if board.horizon == horizon), {})
    missing = [(p, policy) for p in PROBLEMS for policy in CATALOGUE if (p, policy) not in cells]
    if not missing:
        return ""
    names = ", ".join(dict.fromkeys(problem for problem, _ in missing))
    total = len(PROBLEMS) * len(CATALOGUE)
    return f"T = {horizon}: {len(missing)} of {total} cells {NOT_YET}, on {names}."


def as_markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    every = [head, ["---"] * len(head), *lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in every)
