"""Rules that need a horizon, played without one: the doubling trick."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from kernelbandits import checks
from kernelbandits.checks import Array
from kernelbandits.policies.base import Policy
from kernelbandits.policies.choice import Choice
from kernelbandits.posterior import posterior_on
from kernelbandits.streams import ShiftedRounds, as_randomness

DOUBLING = "doubling"
"""The horizon of a policy that is to be played by `Doubling`."""
ABILITIES = (
    "plays_boxes",
    "restricts_arms",
    "imagines_pending",
    "weighs_costs",
    "learns_failures",
    "revision",
)
"""What it takes over from its rule."""


class Doubling(Policy):
    """Play a rule that needs a horizon in epochs of 32, 64, 128, ... rounds.

    Every epoch has a new policy whose horizon is the length of the epoch, and which knows only the
    rewards of the epoch. A delta is divided: epoch j has 6 delta / (pi j)^2. If the regret of the
    rule over T rounds is at most C(delta) T^a with probability 1 - delta, for some 0 < a < 1, then
    that of the epochs is at most 2^a / (2^a - 1) C(delta_j) (T + 32)^a for all T at once, with j
    the number of the last epoch.

    `kb.policy(name, ..., horizon="doubling")`, experiments and studies build it. The recommendation
    uses the rewards of all epochs.

    Parameters
    ----------
    rule
        A class of policies that takes a horizon.
    first
        The length of the first epoch.
    settings
        Those of the rule.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> from kernelbandits.policies.doubling import Doubling
    >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
    >>> policy = Doubling(kb.IGPUCB, arms, kb.RBF(0.3), noise_scale=0.1, norm_bound=1.0)
    >>> for t in range(1, 41):
    ...     choice = policy.ask(t, kb.Streams(0))
    ...     policy.tell(choice, reward=float(choice.x[0]))
    >>> policy.recommend(), policy.epoch, policy.inner.horizon
    (2, 2, 64)
    """

    inner: Policy
    """The policy of the present epoch."""

    def __init__(
        self,
        rule: Callable[..., Policy],
        domain: Any,
        kernel: Any = None,
        *,
        first: int = 32,
        horizon: str = DOUBLING,
        **settings: Any,
    ) -> None:
        checks.one_of("Doubling", "horizon", horizon, (DOUBLING,))
        parameters = inspect.signature(rule).parameters
        name = getattr(rule, "__name__", str(rule))
        checks.needs("horizon" in parameters, "Doubling", "a rule that takes a horizon", name)
        self.first = checks.whole("Doubling", "first", first)
        self._rule, self._given = rule, dict(settings)
        self._places = (domain,) if kernel is None else (domain, kernel)
        known = parameters.get("delta")
        self._delta: Any = None if known is None else settings.get("delta", known.default)
        self.epoch, self.start = 1, 0
        self.inner = self._make_policy(1)
        self._take_abilities()
        posterior = self.inner.posterior
        ridge = posterior.ridge
        super().__init__(
            self.inner.domain,
            posterior.kernel,
            ridge=ridge,
            ties=self.inner.ties,
            form=posterior_on,
        )
        self.settings = self.inner.settings | {"horizon": DOUBLING, "first": first}
        if self._delta is not None:
            self.settings["delta"] = self._delta

    def __repr__(self) -> str:
        return f"Doubling({type(self.inner).__name__}, {self.domain!r}, {self.n_rewards} rewards)"

    def _take_abilities(self) -> None:
        """Take over what its rule can do."""
        for name in ABILITIES:
            setattr(self, name, getattr(self.inner, name))

    def _make_policy(self, epoch: int) -> Policy:
        """Return the policy of an epoch, which knows its length and its share of delta."""
        given = self._given | {"horizon": self.length(epoch)}
        if checks.is_number(self._delta):
            given["delta"] = 6 * float(self._delta) / (math.pi * epoch) ** 2
        return self._rule(*self._places, **given)

    def length(self, epoch: int) -> int:
        """Return the number of rounds of an epoch."""
        return self.first << (epoch - 1)

    def ask(
        self,
        t: int,
        rng: Any,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
        costs: Any = None,
    ) -> Choice:
        """Return the choice of round t, by the policy of the present epoch."""
        self._check_round(t)
        shifted = ShiftedRounds(as_randomness(rng), self.start)
        own: Any = {"pending": pending, "context": context, "arms": arms, "costs": costs}
        return self.inner.ask(self._own_round(t), shifted, **own)

    def index(self, t: int, *options: Any) -> Array:
        """Return what the policy of the present epoch maximises in round t."""
        self._check_round(t)
        return self.inner.index(self._own_round(t), *options)

    def _own_round(self, t: int) -> int:
        """Return round t as the present epoch counts it."""
        return max(1, t - self.start)

    def fail(self, choice: Choice) -> None:
        """Record that the choice gave no reward."""
        following = self._following_policy()
        self.inner.fail(choice)
        super().fail(choice)
        self._go_on(following)

    def _learn(self, place: Any, reward: float, note: Mapping[str, float]) -> None:
        following = self._following_policy()
        self.inner._learn(place, reward, note)
        self.inner._settle()
        super()._learn(place, reward, note)
        self._go_on(following)

    def _following_policy(self) -> Policy | None:
        """Return the policy of the next epoch, if the next result ends this one.

        It is made before anything is learnt, so that one that cannot be made changes nothing.
        """
        ends = self.turn - self.start >= self.length(self.epoch)
        return self._make_policy(self.epoch + 1) if ends else None

    def _go_on(self, following: Policy | None) -> None:
        if following is not None:
            self.epoch, self.start, self.inner = self.epoch + 1, self.turn - 1, following
