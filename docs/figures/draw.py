"""Draws the figures of docs/theory and of the first page: `python docs/figures/draw.py [FOLDER]`, by default beside this file."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np

import kernelbandits as kb
from kernelbandits import theory
from kernelbandits.canvas import PALETTE, Margins, draw_panels
from kernelbandits.experiment import Contender, play, run_experiment
from kernelbandits.problems import GaussianNoise
from kernelbandits.report.figures.theory import BOUNDS

LAWS: Mapping[str, Callable[[int], Any]] = {
    "1 (UCB)": lambda horizon: kb.PointMass(1.0),
    "Ber(1/2)": lambda horizon: kb.Bernoulli(0.5),
    "Ber(1/2), then Ber(1/4)": lambda horizon: kb.Step(
        kb.Bernoulli(0.5), kb.Bernoulli(0.25), horizon // 2
    ),
    "uniform on 1/4, ..., 1": lambda horizon: kb.Categorical((0.25,) * 4),
    "1 or N(0, 1), evenly": lambda horizon: kb.Mixture(
        (0.5, 0.5), (kb.PointMass(1.0), kb.Gaussian(0, 1))
    ),
    "N(0, 1)": lambda horizon: kb.Gaussian(0, 1),
}
KERNELS: Mapping[str, Any] = {
    "Matérn 3/2": kb.Matern(0.2, 1.5),
    "Matérn 5/2": kb.Matern(0.2, 2.5),
    "RBF": kb.RBF(0.2),
    "linear": kb.Linear(),
}
INTERVAL = kb.Box((0.0,), (1.0,))
TOLD: Mapping[str, float] = {"noise_scale": 1.0, "norm_bound": 1.0}


def colours(names: Any) -> Iterator[tuple[Any, str]]:
    return zip(names, PALETTE, strict=False)


@contextmanager
def panels(folder: Path, name: str, columns: int, height: float = 3.6) -> Iterator[Any]:
    """Panels side by side, written as SVG with its letters as shapes, for a page may lack the font."""
    margins = Margins(left=0.7, below=0.55, above=0.4)
    with draw_panels(1, columns, (4.5 * columns, height), margins) as (figure, grid):
        mpl.rcParams["svg.fonttype"] = "path"
        yield list(grid.flat)
        figure.savefig(folder / f"{name}.svg", metadata={"Date": None, "Creator": None})
        if "--png" in sys.argv:
            figure.savefig(folder / f"{name}.png", dpi=140)


def dress(axis: Any, title: str, x: str, scale: str = "log", legend: str | None = "best") -> None:
    axis.set_title(title, fontsize=11)
    axis.set_xlabel(x)
    axis.set_xscale(scale)
    if legend:
        axis.legend(fontsize=8.5, frameon=False, loc=legend)


def horizons(last: float = 1e6, count: int = 19) -> list[int]:
    return np.unique(np.geomspace(1, last, count).round().astype(int)).tolist()


def draw_first(folder: Path) -> None:
    """Draw the picture of the first page: what nine noisy results say, and what is measured next."""
    x = np.linspace(0, 1, 201)
    truth = np.exp(-(((x - 0.72) / 0.13) ** 2)) + 0.55 * np.exp(-(((x - 0.2) / 0.1) ** 2))
    auto, noise = kb.Auto(kb.Arms(x[:, None]), seed=8), np.random.default_rng(2)
    rewards = []
    for _ in range(9):
        choice = auto.ask()
        rewards.append((choice.x[0], truth[choice.arm] + 0.06 * noise.standard_normal()))
        auto.tell(choice, rewards[-1][1])
    mean, sd = auto.estimates()
    following = auto.ask().x[0]
    with panels(folder, "first", 1, 3.0) as (axis,):
        blue = PALETTE[0]
        axis.fill_between(x, mean - 1.96 * sd, mean + 1.96 * sd, color=blue, alpha=0.18, lw=0)
        axis.plot(x, mean, color=blue, lw=2, label="estimate, with 95 % intervals")
        axis.plot(x, truth, color="0.35", lw=1.2, ls=(0, (4, 3)), label="truth, which nobody sees")
        axis.plot(*zip(*rewards, strict=True), "o", color="0.2", ms=5, label="results so far")
        axis.axvline(following, color=PALETTE[1], lw=1.5, label="measured next")
        axis.set_ylabel("result")
        axis.set_ylim(-0.7, 1.9)
        dress(axis, "", "setting", "linear", "upper left")


def draw_constants(folder: Path) -> None:
    with panels(folder, "constants", 2, 4.0) as (left, right):
        rounds = horizons()
        for (label, law), colour in colours(LAWS.items()):
            found = [theory.constants(law(horizon), horizon) for horizon in rounds]
            left.plot(rounds, [c.c2 for c in found], color=colour, lw=1.6, label=label)
            right.plot(rounds, [c.c3 for c in found], color=colour, lw=1.6, label=label)
            right.plot(rounds, [c.c3_tight for c in found], color=colour, lw=1.2, ls=(0, (4, 3)))
        left.set_ylim(0, None)
        right.set_yscale("symlog", linthresh=1)
        right.set_yticks([0, 1, 2, 5, 10, 20, 40], ["0", "1", "2", "5", "10", "20", "40"])
        right.set_ylim(-0.05, 60)
        dress(left, "C2 = E max |w|", "horizon T", legend="upper left")
        dress(right, "C3 (solid), C3′ (dashed); colours as at left", "horizon T", legend=None)


def draw_growth(folder: Path) -> None:
    with panels(folder, "growth", 2) as (left, right):
        rounds = horizons(1e6, 13)
        for (label, kernel), colour in colours(KERNELS.items()):
            gains = theory.growth(kernel, INTERVAL, rounds)
            lower, upper = np.array([(gain.lower, gain.upper) for gain in gains]).T
            left.fill_between(rounds, lower, upper, color=colour, alpha=0.3, lw=0)
            left.plot(rounds, upper, color=colour, lw=1.6, label=label)
            right.plot(rounds, 100 * (upper / lower - 1), color=colour, lw=1.6, marker=".", ms=5)
        left.set_yscale("log")
        right.set_ylim(0, None)
        dress(left, "γ on the unit interval", "horizon T")
        dress(right, "upper above lower bound, %", "horizon T", legend=None)


def draw_bounds(folder: Path) -> None:
    with panels(folder, "bounds", 2, 4.0) as (left, right):
        rounds = horizons(1e9, 19)[2:]
        gains = theory.growth(kb.RBF(0.2), INTERVAL, rounds)
        for (label, law), colour in colours(LAWS.items()):
            found = [
                theory.regret_bound(law(gain.horizon), gain.horizon, gain, **TOLD) for gain in gains
            ]
            right.plot(
                rounds, [b.tight / b.trivial for b in found], color=colour, lw=1.6, label=label
            )
            if label == "Ber(1/2)":
                for name, look in BOUNDS.items():
                    values = [getattr(bound, name) / bound.trivial for bound in found]
                    left.plot(rounds, values, label=found[0].labels[name], **look)
        for axis in (left, right):
            axis.set_yscale("log")
            axis.set_ylim(*axis.get_ylim())
            axis.axhspan(1, axis.get_ylim()[1], color="#EEEEEE", zorder=0)
            axis.text(
                0.97,
                0.93,
                "vacuous",
                color="#555555",
                fontsize=9,
                ha="right",
                transform=axis.transAxes,
            )
            axis.axhline(1, color="#222222", lw=1.0, ls=(0, (1, 2)))
        dress(left, "bounds of Ber(1/2), as shares of 2DT", "horizon T", legend="lower left")
        dress(right, "the tightened bound of each law", "horizon T", legend="lower left")


def draw_band(folder: Path) -> None:
    """On one axis of arms: what is known after few and after many rounds of Simple-UCB."""
    kernel, told = kb.RBF(0.15), {"noise_scale": 0.1, "norm_bound": 2.0}
    noise = GaussianNoise(0.1)
    world = kb.problem(
        "rkhs", kernel=kernel, dimension=1, candidates=80, norm_bound=2.0, noise=noise
    )
    streams = kb.Streams(3)
    instance = world.instance(streams)
    order = instance.domain.points[:, 0].argsort()
    with panels(folder, "band", 2) as axes:
        for axis, rounds in zip(axes, (10, 200), strict=True):
            policy = kb.SimpleUCB(instance.domain, kernel, delta=0.1, **told)
            play(policy, instance, rounds, streams, "numpy")
            draw_bands(axis, instance, policy.posterior, told, order)
            dress(axis, f"after {rounds} rounds", "arm x", "linear", legend=None)
            axis.set_ylabel("f")
        axes[0].legend(fontsize=8.5, frameon=False, loc="upper left", ncols=3)


def draw_bands(
    axis: Any, instance: Any, posterior: Any, told: Mapping[str, float], order: Any
) -> None:
    x = instance.domain.points[order, 0]
    for method, label, shade in (("whitehouse", "Whitehouse", 0.18), ("cmm", "CMM", 0.4)):
        band = theory.confidence_band(posterior, **told, delta=0.1, method=method)
        axis.fill_between(
            x,
            band.lower[order],
            band.upper[order],
            color=PALETTE[0],
            alpha=shade,
            lw=0,
            label=label,
        )
    axis.plot(x, instance.values[order], color="#222222", lw=1.6, label="f")
    played = posterior.support
    axis.plot(
        instance.domain.points[played, 0],
        instance.values[played],
        "o",
        color=PALETTE[1],
        ms=4,
        label="played",
    )
    best = instance.domain.points[band.candidates, 0]
    axis.plot(best, np.full(len(best), -2.25), "|", color=PALETTE[2], ms=9, label="may be the best")
    axis.set_ylim(-2.5, 2.5)


def draw_potential(folder: Path) -> None:
    with panels(folder, "potential", 1) as (axis,):
        ratios = np.geomspace(0.01, 100, 200)
        axis.plot(
            ratios, ratios / np.log1p(ratios), color=PALETTE[0], lw=1.8, label="M / ln(1 + M)"
        )
        axis.axhline(
            2,
            color=PALETTE[1],
            lw=1.4,
            ls=(0, (4, 3)),
            label="the factor 2: too small for M > 2.5128",
        )
        axis.plot([1], [1 / np.log(2)], "o", color=PALETTE[0], ms=5)
        axis.annotate(
            "1/ln 2 at M = 1",
            (1, 1 / np.log(2)),
            (0.02, 1.4),
            fontsize=9,
            arrowprops={"arrowstyle": "-"},
        )
        axis.axvspan(2.5128, 100, color="#EEEEEE", zorder=0)
        axis.set_yscale("log")
        axis.set_yticks([1, 2, 5, 10, 20], ["1", "2", "5", "10", "20"])
        axis.minorticks_off()
        dress(axis, "factor of the elliptical potential", "M = sup k / ridge", legend="upper left")


def draw_lower_bound(folder: Path) -> None:
    with panels(folder, "lower-bound", 1, 4.0) as (axis,):
        rounds = [200, 500, 1000, 2000, 5000, 10_000, 20_000]
        laws = {label: LAWS[label] for label in ("1 (UCB)", "Ber(1/2)", "N(0, 1)")}
        for width, ((label, law), colour) in zip(
            (4.0, 1.6, 1.6), colours(laws.items()), strict=True
        ):
            regrets = [lower_bound_regret(law(horizon), horizon) for horizon in rounds]
            worlds = [kb.problem("lower-bound", d=3, horizon=horizon) for horizon in rounds]
            axis.plot(rounds, regrets, color=colour, lw=width, marker="o", ms=4, label=label)
            least = [world.regret_bound(law(world.horizon)) for world in worlds]
            axis.plot(rounds, least, color=colour, lw=1.2, ls=(0, (4, 3)))
        axis.set_yscale("log")
        axis.set_ylabel("regret at T")
        dress(
            axis,
            "d = 3, R = D = 1; dashed: lower bounds",
            "horizon T, one instance for each",
            legend="upper left",
        )


def lower_bound_regret(law: Any, horizon: int, seeds: int = 10) -> float:
    contender = Contender("law", "generic-gp", {"exploration": law})
    world = kb.problem("lower-bound", d=3, horizon=horizon)
    results = run_experiment(world, contender, kernel=kb.Linear(), horizon=horizon, seeds=seeds)
    return float(results[world.name, "law"].regret[:, -1].mean())


FIGURES = (
    draw_first,
    draw_constants,
    draw_growth,
    draw_bounds,
    draw_lower_bound,
    draw_band,
    draw_potential,
)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for draw in FIGURES:
            draw(folder)


if __name__ == "__main__":
    given = [argument for argument in sys.argv[1:] if argument != "--png"]
    main(Path(given[0]) if given else Path(__file__).parent)
