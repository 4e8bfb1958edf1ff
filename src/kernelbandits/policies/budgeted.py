"""BKB: upper confidence bounds in the span of a few arms, for large problems."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from kernelbandits.exploration import PointMass
from kernelbandits.policies.about import LARGE, About
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.posterior import SketchedPosterior
from kernelbandits.widths import EqualTerms, Width


class BKB(IndexPolicy):
    """Play the highest upper confidence bound of an approximate posterior.

    The posterior lies in the span of a dictionary of the arms played, which is drawn again and
    again by posterior variance (`kb.posterior.SketchedPosterior`). With e the `residual`, what the
    span leaves out,

    width = D (1 + sqrt(e / ridge)) + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L + e / ridge).

    The band mean -+ width sd holds with probability 1 - delta for every dictionary; a good
    dictionary makes it narrow. With all arms played in it, e = 0 and the rule is `WhitehouseUCB`.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    budget
        An arm is in the dictionary with probability min(1, budget count sd^2 / ridge). A larger
        budget gives a larger dictionary.
    growth
        1 draws a dictionary in every round. A larger number waits until
        1 + sum sd^2 / ridge since the last time exceeds it, which is much faster for many arms:
        try 30 for ten thousand.
    seed
        From which the dictionaries are drawn.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import numpy as np
    >>> import kernelbandits as kb
    >>> arms = kb.Arms(np.linspace(0, 1, 200)[:, None])
    >>> policy = kb.policies.BKB(arms, kb.RBF(0.2), noise_scale=0.1, norm_bound=1.0, ridge=0.1)
    >>> for t in range(1, 61):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(1 - abs(choice.x[0] - 0.7)))
    >>> bool(abs(arms.points[policy.recommend()][0] - 0.7) < 0.1)
    True
    """

    about = About(
        name="bkb",
        title="BKB",
        family=LARGE,
        paper="Calandriello, Carratino, Lazaric, Valko & Rosasco, Gaussian process optimization "
        "with adaptive sketching: scalable and no regret, 2019",
        guarantee="f lies in the band in all rounds with probability 1 - delta, whatever the "
        "dictionary; regret O~(gamma_T sqrt(T)) where the dictionary is accurate (paper)",
        ours="the width, which needs no accuracy of the dictionary (the paper's assumes one that a "
        "large budget provides); budget 10; the probability min(1, budget count sd^2 / ridge) "
        "of an arm; the rule `growth` is that of BBKB (2020)",
    )

    plays_boxes = False
    posterior: SketchedPosterior

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        budget: float = 10.0,
        growth: float = 1.0,
        seed: int = 0,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        form: Any = partial(SketchedPosterior, budget=budget, growth=growth, seed=seed)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, form=form)
        self.delta = self._check_bounds(noise_scale, norm_bound, delta)
        self.noise_scale, self.norm_bound = float(noise_scale), float(norm_bound)
        rule = "D (1 + sqrt(e/ridge)) + (R/sqrt(ridge)) sqrt(2 ln(1/delta) + L + e/ridge)"
        share = self.noise_scale**2 / self.posterior.ridge
        terms = (self.norm_bound, 2 * share * math.log(1 / self.delta), share)
        sketch = {"budget": budget, "growth": growth, "seed": seed}
        self._set_rule(Width(rule, EqualTerms(terms)), PointMass(1.0), gain="realised", **sketch)

    def width_at(self, t: int) -> float:
        """Return the width with e, what the dictionary leaves out of the rewards so far."""
        left_out = self.posterior.residual / self.posterior.ridge
        bias = self.norm_bound * math.sqrt(left_out)
        return bias + self.width(t, self.posterior.log_det + left_out)
