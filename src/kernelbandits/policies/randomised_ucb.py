"""Close relatives of Generic-GP: one random weight in each round, from a law of their own."""

from __future__ import annotations

import math
from typing import Any

from kernelbandits import checks
from kernelbandits.exploration import DiscretisedGaussian, Gaussian, RootExponential
from kernelbandits.policies.about import RANDOMISED, About
from kernelbandits.policies.choice import Playable, Point
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.widths import Width


class RandUCB(IndexPolicy[Point]):
    """Play mean + w_t width sd with a weight w_t from a discretised half of a Gaussian law.

    width = D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L). One weight serves all arms (the paper's
    coupled rule).

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    points
        How many values the weight can take, equally spaced in [0, upper].
    scale
        The standard deviation of the Gaussian law.
    upper
        The greatest weight.
    top
        The probability of the greatest weight.
    domain, kernel, ridge, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = kb.policies.RandUCB(arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0, points=5)
    >>> law = policy.exploration.source
    >>> law.support, [round(chance, 4) for chance in law.chances]
    ((0.0, 0.25, 0.5, 0.75, 1.0), [0.8805, 0.1192, 0.0003, 0.0, 0.0])
    """

    about = About(
        name="rand-ucb",
        title="RandUCB",
        family=RANDOMISED,
        paper="Vaswani, Mehrabian, Durand & Kveton, Old dog learns new tricks: randomized UCB for "
        "bandit problems, 2020",
        guarantee="regret O~(d sqrt(T)) for linear rewards; for a kernel that of Generic-GP, whose "
        "constants grow like 1 / top",
        ours="the kernel form, with Whitehouse's width; 20 points and scale 1/8 are the authors' "
        "code's, whose top is 9e-8",
    )

    is_generic = True

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        points: int = 20,
        scale: float = 1 / 8,
        upper: float = 1.0,
        top: float = 1e-7,
        ridge: float = 1.0,
        delta: float = 0.1,
        ties: str = "random",
    ) -> None:
        law = DiscretisedGaussian(points, scale, upper, top)
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, law)


class IRGPUCB(IndexPolicy):
    """Play mean + sqrt(zeta_t) sd with a random zeta_t in each round.

    zeta_t = 2 ln(|X| / 2) + an exponential number of mean 2, on |X| arms; the first part is zero
    for one arm. The ridge is R^2, with R (`noise_scale`) the standard deviation of the noise.

    Parameters
    ----------
    domain, kernel, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> policy = kb.policies.IRGPUCB(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.3), noise_scale=0.1)
    >>> notes = [policy.ask(t, kb.Streams(0)).note for t in range(1, 5)]
    >>> [round(note["weight"] ** 2, 2) for note in notes]
    [3.13, 0.84, 2.59, 9.88]
    """

    about = About(
        name="irgp-ucb",
        title="IRGP-UCB",
        family=RANDOMISED,
        paper="Takeno, Inatsu & Karasuyama, Randomized Gaussian process upper confidence bound with"
        " tighter Bayesian regret bounds, 2023",
        guarantee="expected regret O(sqrt(T gamma_T ln|X|)) for f ~ GP(0, k) and Gaussian noise of "
        "variance R^2",
        ours="shift zero where 2 ln(|X|/2) is negative (one arm)",
    )

    plays_boxes = False

    def __init__(
        self, domain: Any, kernel: Any, *, noise_scale: float, ties: str = "random"
    ) -> None:
        checks.positive("IRGPUCB", "noise_scale", noise_scale)
        ridge = checks.scale("IRGPUCB", "noise_scale", noise_scale) ** 2
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._check_kernel()
        law = RootExponential(shift=max(0.0, 2 * math.log(len(self.domain) / 2)), mean=2.0)
        self._set_rule(
            Width("1", lambda t: (1.0, 0.0, 0.0)), law, noise_scale=noise_scale, gain="none"
        )


class FeaturePerturbation(IndexPolicy[Point]):
    """Play the best arm after random noise was added to the features of every arm.

    With one standard normal vector z in each round and theta the estimate, the paper plays the
    greatest x'theta for the features

    x + c_t (|x| in the norm of the inverse Gram matrix) / |theta| z.

    Only the part of z along theta counts, and that is a standard normal number. So the rule is
    mean + w width sd with w ~ N(0, 1), which needs no features and is played with any kernel:

    width = D + (R / sqrt(ridge)) sqrt(2 ln(4 T / delta) + L).

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    horizon
        T, how many rounds will be played.
    domain, kernel, ridge, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "horizon": 30}
    >>> policy = kb.policies.FeaturePerturbation(arms, kb.RBF(0.3), **settings)
    >>> policy.width_at(1) > kb.SimpleGaussian(
    ...     arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0
    ... ).width_at(1)
    True
    """

    about = About(
        name="feature-perturbation",
        title="Feature perturbation",
        family=RANDOMISED,
        paper="Yi & Oh, Exploration via feature perturbation in contextual bandits, 2025",
        guarantee="regret O~(d sqrt(T)) for generalised linear rewards (paper); for a kernel that "
        "of Generic-GP with w ~ N(0, 1)",
        ours="squared loss with a kernel; ridge 1; the self-normalised width at delta / (4 T), the "
        "paper's share of delta; w ~ N(0, 1) before the first reward too, where theta is zero",
    )

    is_generic = True

    def __init__(
        self,
        domain: Playable[Point],
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        horizon: int,
        ridge: float = 1.0,
        delta: float = 0.1,
        ties: str = "random",
    ) -> None:
        rounds = checks.whole("FeaturePerturbation", "horizon", horizon)
        super().__init__(domain, kernel, ridge=ridge, ties=ties, horizon=horizon)
        chance = checks.inside("FeaturePerturbation", "delta", delta) / (4 * rounds)
        self._set_self_normalised(noise_scale, norm_bound, chance, Gaussian(0.0, 1.0))
