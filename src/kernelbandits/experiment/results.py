"""What an experiment found, as curves, a table, a DataFrame, LaTeX and figures."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from kernelbandits import checks
from kernelbandits.canvas import FORMATS, save
from kernelbandits.checks import Array, Indices
from kernelbandits.experiment.cells import Cell, CellResult
from kernelbandits.experiment.curves import KINDS, Bounds, regret_figure
from kernelbandits.experiment.layout import FigureShape
from kernelbandits.experiment.significance import find_worse
from kernelbandits.experiment.summary import estimate_regret, summary
from kernelbandits.experiment.sweep_figure import sweep_figure
from kernelbandits.formatting import column_decimals, format_bounds, format_fixed
from kernelbandits.problems import Problem

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

DAGGER = r"$^{\dagger}$"
UNTESTED = "% no marks: a paired t test needs at least two seeds"
MARKED = r"% $^{\dagger}$ worse than the least mean: paired t tests, Holm at 5 % over the table"
LATEX_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{letter: rf"\{letter}" for letter in "&%$#_{}"},
}


@dataclass(frozen=True)
class Results:
    """The curves of every policy on every problem, for every seed.

    `results[problem, policy]` has the arrays `regret`, `simple` and `arms` of one policy on one
    problem: a row for each seed, a column for each round.

    >>> import kernelbandits as kb
    >>> results = kb.run_experiment(
    ...     "branin", ["simple-ucb", "random"], horizon=20, seeds=3, noise_scale=0.01, norm_bound=30
    ... )
    >>> results["branin", "Simple-UCB"].regret.shape
    (3, 20)
    >>> results.to_dataframe(every=10)["round"].unique().tolist()
    [10, 20]
    """

    cells: tuple[Cell, ...]
    found: Mapping[str, CellResult]
    """The result of each cell, by the key of the cell."""

    def __repr__(self) -> str:
        sizes = f"{len(self.problems)} problems x {len(self.labels)} policies"
        return f"Results({sizes}: {', '.join(self.labels)})"

    def __getitem__(self, name: tuple[str, str]) -> CellResult:
        for cell in self.cells:
            if cell.name == name:
                return self.found[cell.key]
        raise KeyError(f"results need one of {[cell.name for cell in self.cells]}, got {name}")

    @property
    def problems(self) -> tuple[Problem, ...]:
        return tuple({cell.problem.name: cell.problem for cell in self.cells}.values())

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the policies, in the order in which they were given."""
        return tuple({cell.contender.label: None for cell in self.cells})

    def summary(self) -> pd.DataFrame:
        """Return a row for each problem and policy: mean, 95 % interval, quantiles, time per round.

        Intervals of regret are t intervals over the seeds, cut at zero.
        """
        return summary(self)

    def to_dataframe(self, every: int = 1) -> pd.DataFrame:
        """Return all rounds as a tidy table: a row for each problem, policy, seed and round.

        The columns are problem, policy, seed, round (from 1), arm, regret (cumulative, up to and
        with this round) and simple_regret.

        Parameters
        ----------
        every
            Keep the rounds every, 2 every, 3 every, ... and the last one.
        """
        import pandas as pd

        checks.whole("to_dataframe", "every", every)
        frames = [
            rounds_frame(cell, cell.seeds, self.found[cell.key], every) for cell in self.cells
        ]
        return pd.concat(frames, ignore_index=True)

    def to_latex(
        self, kind: str = "regret", policies: Sequence[str] | None = None, marks: bool = False
    ) -> str:
        r"""Return a LaTeX table of the final regret: policies by problems, mean [95 % interval].

        The least mean of each problem is set in bold. Beside the simple regret stands the share of
        seeds that end above 0, such as (8/20). The table needs `\usepackage{booktabs}`.

        Parameters
        ----------
        kind
            "regret" for cumulative regret, "simple" for simple regret after the last round.
        policies
            The policies to show, by their labels. Default: all.
        marks
            Mark the policies with a dagger that are worse than the least mean of their problem by a
            paired t test, at 5 % for the whole table (Holm). The last line says so in a comment.
        """
        checks.one_of("to_latex", "kind", kind, KINDS)
        labels = self.chosen_labels("to_latex", policies)
        endings = {
            problem.name: {
                label: getattr(self[problem.name, label], kind)[:, -1] for label in labels
            }
            for problem in self.problems
        }
        worse = find_worse(endings) if marks else set()
        columns = [
            latex_column(mine, {label for where, label in worse if where == problem}, kind)
            for problem, mine in endings.items()
        ]
        titles = " & ".join(["", *(escape_latex(problem.title) for problem in self.problems)])
        body = [
            " & ".join([escape_latex(label), *(column[label] for column in columns)])
            for label in labels
        ]
        lines = [
            rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
            r"\toprule",
            rf"{titles} \\",
            r"\midrule",
            *(rf"{line} \\" for line in body),
            r"\bottomrule",
            r"\end{tabular}",
            *([MARKED if len(self.cells[0].seeds) > 1 else UNTESTED] if marks else []),
        ]
        return "\n".join(lines) + "\n"

    def plot(
        self,
        path: Path | str | None = None,
        *,
        kind: str = "regret",
        over: str | None = None,
        size: tuple[float, float] | None = None,
        rows: int | None = None,
        columns: int | None = None,
        legend: str = "auto",
        policies: Sequence[str] | None = None,
        bounds: Bounds | None = None,
    ) -> Figure:
        """Draw the regret curves, a panel for each problem; return the matplotlib Figure.

        Needs matplotlib, which `pip install ".[experiments]"` installs.

        Parameters
        ----------
        path
            A file that ends in .pdf, .png or .svg; without one none is written.
        kind
            "regret": means of the cumulative regret with 95 % intervals. "simple": means of the
            simple regret with 95 % intervals on logarithmic axes, and how many seeds end above 0.
        over
            A setting that was swept: the final regret is drawn over its values, in place of the
            curves over the rounds.
        size
            Width and height in inches, e.g. (6.3, 4) for a page of a paper. Default: 4.2 x 3.3
            inches for each panel, or higher for more than ten policies.
        rows, columns
            How many panels stand below and beside each other; one of them is enough.
        legend
            "above", "below" or "right" of all panels, or "none". "auto": in a free place of the
            grid if there is one, else above.
        policies
            The policies to draw, by their labels. Default: all.
        bounds
            What `kernelbandits.analysis.guarantees(results)` returned: proved regret bounds are
            drawn too, dashed, on logarithmic axes.

        Examples
        --------
        >>> import kernelbandits as kb
        >>> results = kb.run_experiment("branin", ["simple-ucb", "random"], horizon=20, seeds=2)
        >>> figure = results.plot(size=(3.5, 3), legend="below")
        >>> [axis.get_title() for axis in figure.axes]
        ['Branin (d = 2)']
        """
        target = None if path is None else Path(path)
        if target is not None:
            needed = f"a file that ends in {', '.join(f'.{name}' for name in FORMATS)}"
            checks.needs(suffix_of(target) in FORMATS, "plot", needed, str(path))
        labels = self.chosen_labels("plot", policies)
        shape = FigureShape(size, rows, columns, legend)
        if over is None:
            drawn = regret_figure(self, labels, kind, shape=shape, bounds=bounds)
        else:
            checks.needs(bounds is None, "plot", "bounds or a sweep, not both", over)
            drawn = sweep_figure(self, labels, over, kind, shape)
        with drawn as figure:
            if target is not None:
                save(figure, target, (suffix_of(target),))
            return figure

    def chosen_labels(self, owner: str, policies: Sequence[str] | None) -> tuple[str, ...]:
        """Return the labels given, each of a policy that has played; all labels by default."""
        labels = self.labels if policies is None else tuple(policies)
        for label in labels:
            checks.one_of(owner, "policies", label, self.labels)
        checks.needs(len(labels) > 0, owner, "at least one policy", policies)
        return labels


def suffix_of(path: Path) -> str:
    """Return the ending of a file's name, without the dot."""
    return path.suffix.removeprefix(".")


def rounds_frame(
    cell: Cell, seeds: Sequence[int], result: CellResult, every: int = 1
) -> pd.DataFrame:
    """Return the rounds of some seeds of a cell as a tidy table."""
    import pandas as pd

    kept = kept_rounds(cell.horizon, every)
    return pd.DataFrame(
        {
            "problem": cell.problem.name,
            "policy": cell.contender.label,
            "seed": np.repeat(seeds, len(kept)),
            "round": np.tile(kept + 1, len(seeds)),
            "arm": result.arms[:, kept].ravel(),
            "regret": result.regret[:, kept].ravel(),
            "simple_regret": result.simple[:, kept].ravel(),
        }
    )


def kept_rounds(horizon: int, every: int) -> Indices:
    """Return the rounds every, 2 every, ... and the last one, counted from 0."""
    return np.union1d(np.arange(every - 1, horizon, every), [horizon - 1])


def latex_column(endings: Mapping[str, Array], worse: Collection[str], kind: str) -> dict[str, str]:
    """Return label -> mean [low, high] on one problem, the least mean in bold."""
    estimates = {label: estimate_regret(values) for label, values in endings.items()}
    means = [found.value for found in estimates.values()]
    decimals = column_decimals(means)
    cells = {}
    for label, found in estimates.items():
        mean = format_fixed(found.value, decimals)
        shown = rf"\textbf{{{mean}}}" if found.value == min(means) else mean
        mark = DAGGER if label in worse else ""
        bounds = format_bounds(found.low, found.high, decimals).replace("–", "--")
        cells[label] = f"{shown}{mark} {bounds}"
        if kind == "simple":
            cells[label] += f" ({np.count_nonzero(endings[label] > 0)}/{len(endings[label])})"
    return cells


def escape_latex(text: str) -> str:
    return re.sub(r"[\\~^&%$#_{}]", lambda found: LATEX_SPECIAL[found[0]], text)
