"""Policies of other packages, to be compared with those of the catalogue.

>>> import kernelbandits as kb
>>> from kernelbandits.experiment import rivals
>>> entrants = [rivals.ScikitLearnGP, "simple-ucb"]
>>> results = kb.run_experiment("branin", entrants, horizon=8, seeds=2, noise_scale=0.01)
>>> results.labels
('scikit-learn GP', 'Simple-UCB')

`pip install ".[sklearn]"` brings scikit-learn.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import ndtr

from kernelbandits import checks, runtime

runtime.require("sklearn", extra="sklearn", owner="kernelbandits.experiment.rivals")

from sklearn.exceptions import ConvergenceWarning  # noqa: E402
from sklearn.gaussian_process import GaussianProcessRegressor  # noqa: E402
from sklearn.gaussian_process.kernels import ConstantKernel, WhiteKernel  # noqa: E402
from sklearn.gaussian_process.kernels import Matern as SklearnMatern  # noqa: E402

from kernelbandits.checks import Array  # noqa: E402
from kernelbandits.domains import Arms  # noqa: E402
from kernelbandits.kernels import Matern  # noqa: E402
from kernelbandits.policies import Choice, Policy  # noqa: E402
from kernelbandits.policies.round import Round  # noqa: E402

__all__ = ["FittedProcess", "ScikitLearnGP", "expected_improvement"]

RESTARTS = 2
"""How often the search for the hyperparameters begins again."""
RULES = ("improvement", "ucb")


class FittedProcess:
    """A Gaussian process of scikit-learn: constant x Matern 5/2 + white noise, centred and scaled.

    >>> import numpy as np
    >>> process = FittedProcess(seed=0)
    >>> process.fit(np.array([[0.0], [0.5], [1.0]]), [0.0, 1.0, 0.0])
    >>> bool(process.index(np.array([[0.5]]), 0.0)[0] > 0.4)
    True
    """

    def __init__(self, seed: int) -> None:
        kernel = ConstantKernel() * SklearnMatern(nu=2.5) + WhiteKernel()
        self.model = GaussianProcessRegressor(
            kernel, normalize_y=True, n_restarts_optimizer=RESTARTS, random_state=seed
        )
        self.rewards: Array = np.empty(0)

    def fit(self, rows: Array, rewards: Sequence[float]) -> None:
        """Fit the hyperparameters to all rewards."""
        self.rewards = np.asarray(rewards, dtype=np.float64)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.model.fit(rows, self.rewards)

    def index(self, rows: Array, width: float) -> Array:
        """Return mean + width sd of f: the white noise is taken out of what `predict` calls std."""
        mean, sd = self.model.predict(rows, return_std=True)
        noise = self.model.kernel_.k2.noise_level * np.var(self.rewards)
        index: Array = mean + width * np.sqrt(np.maximum(sd**2 - noise, 0.0))
        return index


class ScikitLearnGP(Policy[Array]):
    """Fit a Gaussian process of scikit-learn in every round, and play its best arm.

    The first choices are random arms. After them it plays the greatest expected improvement on the
    best posterior mean at an arm played, or the greatest mean + 2 sd. It recommends the greatest
    posterior mean. It plays arms; on a box those of a cover.

    Parameters
    ----------
    domain
        What may be played: `kb.Arms`, an (n, d) array, or a box, of which it plays a cover.
    rule
        "improvement" or "ucb".
    first
        How many random choices come first.
    seed
        Of the restarts of the fits.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = ScikitLearnGP(kb.Arms([[0.0], [0.5], [1.0]]), first=2)
    >>> for t in range(1, 7):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, float(choice.x[0]))
    >>> policy.recommend()
    2
    """

    takes_kernel = False
    title = "scikit-learn GP"
    paper = "scikit-learn's GaussianProcessRegressor, constant x Matern 5/2 + white noise"
    guarantee = "none"
    ours = "the loop around it: random first choices, and the rule"

    def __init__(
        self, domain: Any, *, rule: str = "improvement", first: int = 5, seed: int = 0
    ) -> None:
        # The posterior of the base class only counts what was played.
        super().__init__(domain, Matern(1.0, 2.5), ridge=1.0)
        self.rule = checks.one_of("ScikitLearnGP", "rule", rule, RULES)
        self.first = checks.whole("ScikitLearnGP", "first", first)
        self.seed = checks.whole("ScikitLearnGP", "seed", seed, 0)
        self.settings = {"rule": rule, "first": first, "seed": seed}
        self._arms: list[int] = []
        self._rewards: list[float] = []
        self._fitted: FittedProcess | None = None

    def ask(
        self,
        t: int,
        rng: Any,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
        costs: Any = None,
    ) -> Choice[Array]:
        plain = not pending and arms is None and costs is None
        needed = "no pending choices, restricted arms or costs"
        checks.needs(plain, "ScikitLearnGP", needed, {"pending": len(pending), "arms": arms})
        return super().ask(t, rng, context=context)

    def choose(self, now: Round) -> Choice[Array]:
        if len(self._rewards) < self.first:
            return self.choice(int(now.draw_tie() * len(self.domain)))
        mean, sd = self.estimates()
        best = float(mean[self._arms].max())
        improves = self.rule == "improvement"
        scores = expected_improvement(mean, sd, best) if improves else mean + 2 * sd
        return self.choice(int(scores.argmax()))

    def estimates(self) -> tuple[Array, Array]:
        """Return mean and sd of f at every arm; before the first reward zeros and ones."""
        count = len(self.domain)
        if not self._rewards:
            return np.zeros(count), np.ones(count)
        process = self._process()
        mean = process.index(self.domain.points, 0.0)
        return mean, process.index(self.domain.points, 1.0) - mean

    def recommend(self, *, context: Any = None, arms: Any = None) -> int:
        """Return the arm with the greatest posterior mean."""
        return int(self.estimates()[0].argmax())

    @property
    def played_log_det(self) -> float:
        """Not a number: the kernel changes with every fit."""
        return math.nan

    def _learn(self, place: Any, reward: float, note: Any) -> None:
        super()._learn(place, reward, note)
        self._arms.append(place)
        self._rewards.append(reward)
        self._fitted = None

    def _process(self) -> FittedProcess:
        """Return the fit to all rewards so far, made when it is first needed."""
        if self._fitted is None:
            assert isinstance(self.domain, Arms)
            fitted = FittedProcess(self.seed)
            fitted.fit(self.domain.points[self._arms], self._rewards)
            self._fitted = fitted
        return self._fitted


def expected_improvement(mean: Array, sd: Array, best: float) -> Array:
    """Return E max(f - best, 0) of f ~ N(mean, sd^2).

    >>> import numpy as np
    >>> expected_improvement(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 0.0).round(3)
    array([0.399, 1.   ])
    """
    sd = np.maximum(sd, 1e-12)
    gain = (mean - best) / sd
    density = np.exp(-(gain**2) / 2) / math.sqrt(2 * math.pi)
    value: Array = sd * (gain * ndtr(gain) + density)
    return value
