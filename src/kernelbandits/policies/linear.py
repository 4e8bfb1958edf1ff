"""Linear bandits: f(x) = x . theta, learnt in d x d form."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from kernelbandits import checks, widths
from kernelbandits.checks import Array
from kernelbandits.domains import argmax
from kernelbandits.exploration import PointMass
from kernelbandits.policies.about import LINEAR, About
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.round import Round
from kernelbandits.posterior import LinearPosterior
from kernelbandits.widths import Width


class LinearRule(Policy[Array]):
    """A policy that takes rewards as linear in x, whatever kernel it is given, and says so."""

    posterior: LinearPosterior

    def __init__(
        self, domain: Any, kernel: Any, *, ridge: float, ties: str, horizon: int | None = None
    ) -> None:
        super().__init__(
            domain, kernel, ridge=ridge, ties=ties, horizon=horizon, form=LinearPosterior
        )
        self.settings |= {"kernel": repr(self.posterior.kernel)}
        if kernel != self.posterior.kernel:
            self._warn_once("takes rewards as linear in x; the kernel is not used")

    def _check_kernel(self) -> None:
        largest = float(self.posterior.prior.max())
        if largest > 1 + 1e-9:
            self._warn_once(f"its guarantee needs |x|^2 <= 1, got {largest:g}; scale the points")


class OFUL(LinearRule, IndexPolicy):
    """Play the arm with the greatest x . theta over the confidence ellipsoid of theta.

    index_t(x) = x . thetahat + (R sqrt(2 ln(1/delta) + L) + sqrt(ridge) S) |x|_{Vbar^-1},

    L = ln(det Vbar / det(ridge I)). Since |x|_{Vbar^-1} = sd / sqrt(ridge), it is the rule of
    `WhitehouseUCB` on the linear kernel.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    norm_bound
        S: a bound on |theta|.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> policy = kb.policies.OFUL(arms, kb.Linear(), noise_scale=0.1, norm_bound=1.0)
    >>> policy.tell(policy.choice(0), 0.5)
    >>> policy.index(2, weight=0.0).round(2)
    array([0.25, 0.  , 0.15])
    >>> policy.index(2).round(2)
    array([1.12, 1.23, 1.26])
    """

    about = About(
        name="oful",
        title="OFUL",
        family=LINEAR,
        paper="Abbasi-Yadkori, Pal & Szepesvari, Improved algorithms for linear stochastic bandits,"
        " 2011",
        guarantee="regret O~(d sqrt(T)) with probability 1 - delta, for f = x . theta, "
        "|theta| <= norm_bound",
        ours="the maximum over the ellipsoid in closed form, arms only; the kernel is not used: x "
        ". z whatever is given",
    )

    plays_boxes = False

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        delta: float = 0.1,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        self._set_self_normalised(noise_scale, norm_bound, delta, PointMass(1.0))


class RarelySwitchingOFUL(LinearRule):
    """Play as OFUL, but change the arm only after enough new information.

    The index is computed again in the first round with det Vbar_t > (1 + C) det Vbar_tau, that is
    L > L_tau + ln(1 + C), with tau the round of the last change. In between the same arm is played.
    After t rewards the index has changed at most L / ln(1 + C) times.

    Parameters
    ----------
    noise_scale, norm_bound
        R and S, as for `OFUL`.
    switch
        C > 0; a larger one changes the arm less often.
    domain, kernel, delta, ridge, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> settings = {"noise_scale": 0.1, "norm_bound": 1.0, "switch": 3.0}
    >>> policy = kb.policies.RarelySwitchingOFUL(arms, kb.Linear(), **settings)
    >>> played = []
    >>> for t in range(1, 15):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     played.append(choice.arm)
    ...     policy.tell(choice, reward=choice.x[1])
    >>> played
    [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    about = About(
        name="rarely-switching-oful",
        title="Rarely switching OFUL",
        family=LINEAR,
        paper="Abbasi-Yadkori, Pal & Szepesvari, Improved algorithms for linear stochastic bandits,"
        " 2011",
        guarantee="OFUL's regret times sqrt(1 + C), with at most d log(1 + T / (ridge d)) / "
        "log(1 + C) switches for |x| <= 1",
        ours="C = 1 by default; a tie is settled alike until the next switch; the kernel is not "
        "used: x . z whatever is given",
    )

    width: Width
    held: Array
    """The index of round tau."""
    tau: int
    """The round of the last switch; its uniform settles a tie until the next."""

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        norm_bound: float,
        delta: float = 0.1,
        switch: float = 1.0,
        ridge: float = 1.0,
        ties: str = "random",
    ) -> None:
        super().__init__(domain, kernel, ridge=ridge, ties=ties)
        chance = self._check_bounds(noise_scale, norm_bound, delta)
        self.growth = math.log1p(checks.positive(type(self).__name__, "switch", switch))
        self.width = widths.self_normalised(noise_scale, norm_bound, ridge, chance)
        self.settings |= {"width": self.width.rule, "switch": switch, "gain": "realised"}
        self.settings |= {"exploration": "held between switches"}
        self._switch()

    def score_arms(self, t: int) -> Array:
        """Return mean + width sd as they were in round tau."""
        return self.held

    def choose(self, now: Round) -> Choice:
        # A tie is settled by the round of the last switch, so that the same arm is played until
        # the next one.
        arm = argmax(self.held, self.ties, now.randomness.uniform("tie", self.tau))
        note = {"index": float(self.held[arm]), "tau": float(self.tau)}
        return self._choice_of_arm(arm, now.sd, now, note)

    def _learn(self, arm: int, reward: float, note: Mapping[str, float]) -> None:
        super()._learn(arm, reward, note)
        if self.posterior.log_det > self.log_det + self.growth:
            self._switch()

    def _switch(self) -> None:
        self.tau = self.posterior.events + 1
        self.log_det = self.posterior.log_det
        self.held = self.posterior.mean + self.width(self.tau, self.log_det) * self.posterior.sd
        # `index` returns this array itself, which a caller must not change.
        self.held.flags.writeable = False


class LinTS(LinearRule):
    """Draw the parameter theta from its posterior, and play the arm with the greatest x . theta.

    theta ~ N(thetahat, v_t^2 B^-1), B = I + sum x x'.

    Parameters
    ----------
    noise_scale
        R: the noise is R-sub-Gaussian.
    schedule
        "anytime": v_t = R sqrt(9 d ln(t / delta)). "icml": v = R sqrt((24 / eps) d ln(1 / delta)),
        eps = 1 / ln T.
    horizon
        T, how many rounds will be played; the schedule "icml" needs it.
    domain, kernel, delta, ties
        As for `Policy`.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> arms = kb.Arms([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> policy = kb.policies.LinTS(arms, kb.Linear(), noise_scale=0.1)
    >>> note = policy.ask(1, kb.Streams(0)).note
    >>> sorted(note), round(note["width"], 3)
    (['mean', 'sample', 'sd', 'width'], 0.644)
    """

    about = About(
        name="lin-ts",
        title="LinTS",
        family=LINEAR,
        paper="Agrawal & Goyal, Thompson sampling for contextual bandits with linear payoffs, 2013",
        guarantee="regret O~(d^(3/2) sqrt(T)) with probability 1 - delta, for f = x . theta, "
        "|x|, |theta| <= 1 (anytime); d^2 (icml)",
        ours="schedule anytime is the scale of the paper's later version, icml that of the first, "
        "eps = 1/ln T; the kernel is not used: x . z whatever is given",
    )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        noise_scale: float,
        delta: float = 0.1,
        schedule: str = "anytime",
        horizon: int | None = None,
        ties: str = "random",
    ) -> None:
        checks.one_of("LinTS", "schedule", schedule, WIDTHS)
        super().__init__(domain, kernel, ridge=1.0, ties=ties, horizon=horizon)
        long = schedule != "icml" or (self.horizon or 0) >= 3
        checks.needs(long, "LinTS", "a horizon >= 3 for the icml schedule", horizon)
        self._check_theory(noise_scale, 1.0)
        self.noise_scale, self.delta = float(noise_scale), checks.inside("LinTS", "delta", delta)
        self.schedule = schedule
        self.settings |= {
            "width": WIDTHS[schedule],
            "noise_scale": noise_scale,
            "delta": delta,
            "schedule": schedule,
        }
        self.settings |= {"exploration": "a posterior draw of the parameter", "gain": "none"}

    def width_at(self, t: int) -> float:
        """Return v_t."""
        d = self.domain.dimension
        if self.schedule == "icml":
            return self.noise_scale * math.sqrt(
                24 * math.log(self.horizon or 0) * d * math.log(1 / self.delta)
            )
        return self.noise_scale * math.sqrt(9 * d * math.log(t / self.delta))

    def parameter(self, t: int, z: Array) -> Array:
        """Return the draw thetahat + v_t S z, S S' = B^-1, from d standard normals."""
        return self.posterior.theta + self.width_at(t) * (self.posterior.root @ z)

    def sample(self, t: int, z: Array) -> Array:
        """Return x . theta of the draw, over all arms."""
        points: Array = self.domain.points
        return self.posterior.mean + points @ (self.width_at(t) * (self.posterior.root @ z))

    def choose(self, now: Round) -> Choice:
        tie, normals = now.draw_tie(), now.draw_normals(self.domain.dimension)
        sample = self.sample(now.t, normals)
        arm = now.best_arm(sample, self.posterior.mean, tie)
        note = {"sample": float(sample[arm]), "width": self.width_at(now.t)}
        return self._choice_of_arm(arm, now.sd, now, note)


WIDTHS = {"anytime": "R sqrt(9 d ln(t/delta))", "icml": "R sqrt(24 ln(T) d ln(1/delta))"}
"""Schedules of LinTS -> the scale of its draw."""
