"""One ask: its options, and the `Round` that a rule sees.

`Policy.ask` collects its arguments in `AskOptions` and builds the `Round`: the number of the round,
its randomness, the arms or points that may be played, the pending choices and the costs. Rules that
cannot take pending choices or restricted arms by themselves are asked by `ask_copy`.
"""

from __future__ import annotations

import copy
import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from kernelbandits import checks
from kernelbandits.checks import Array, Indices
from kernelbandits.domains import argmax
from kernelbandits.policies.acquisition import per_cost
from kernelbandits.policies.choice import Choice
from kernelbandits.policies.place import ArmList, Place, arm_numbers
from kernelbandits.streams import Randomness

if TYPE_CHECKING:
    from kernelbandits.policies.base import Policy

MOST_INFORMATION = 700
"""The width is multiplied by exp(information), and exp(710) overflows."""
TRIES = 50
"""How often a rule that cannot restrict itself to some arms is asked for another arm."""


BLOCK = 16
"""Up to this many pending places are imagined in one step."""

Worth = Callable[[Array, Array, Array], Array]
"""(scores, means, costs) -> what the arms are worth for their costs."""


class AskOptions(NamedTuple):
    """What `ask` was given beside the round and its randomness."""

    pending: Sequence[Choice]
    context: Any
    arms: Any
    costs: Any

    def needs_copy(self, policy: Policy) -> bool:
        """Tell whether the policy cannot take the pending choices or the restriction by itself."""
        if self.arms is not None and not policy.restricts_arms:
            return True
        return not policy.imagines_pending and bool(check_pending(self.pending))


class PendingView(NamedTuple):
    """What is known while the rewards of some choices are pending."""

    posterior: Any
    """The same estimate, with the variances as if the pending rewards were there."""
    inflation: float
    """exp(I), I the information of the pending points given the rest: sd <= exp(I) (sd here)."""
    note: dict[str, float]
    places: list[Any]
    """The arms or rows of the pending choices."""


class Round:
    """All that a rule sees in one ask.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> class Watched(kb.policies.Greedy):
    ...     def acquisition(self, now):
    ...         print(now.t, now.sd.round(2), now.pending_places)
    ...         return super().acquisition(now)
    >>> policy = Watched(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.2), ridge=0.01)
    >>> first = policy.ask(1, kb.Streams(0))
    1 [1. 1. 1.] []
    >>> second = policy.ask(2, kb.Streams(0), pending=[policy.choice(1)])
    2 [1.  0.1 1. ] [1]
    """

    __slots__ = ("costs", "place", "posterior", "randomness", "t", "ties", "view")

    def __init__(
        self,
        t: int,
        randomness: Randomness,
        ties: str,
        posterior: Any,
        place: Place,
        view: PendingView | None = None,
        costs: Array | None = None,
    ) -> None:
        self.t = t
        self.randomness = randomness
        self.ties = ties
        self.posterior = posterior if view is None else view.posterior
        """The posterior, with the pending rewards imagined."""
        self.place = place
        """Where may be played: a list of arms, or a region."""
        self.view = view
        """What is known with the pending rewards imagined; None where none is pending."""
        self.costs = costs
        """What each arm of the domain costs, where that counts."""

    @property
    def sd(self) -> Array:
        """The sd of every arm, with the pending rewards imagined."""
        sd: Array = self.posterior.sd
        return sd

    @property
    def sds(self) -> Array:
        """(M, n): the sd of every arm under each member, with the pending rewards imagined."""
        sds: Array = np.sqrt(np.maximum(self.posterior.variances, 0.0))
        return sds

    @property
    def inflation(self) -> float:
        """By which a width with a guarantee is multiplied while rewards are pending."""
        return 1.0 if self.view is None else self.view.inflation

    @property
    def pending_places(self) -> list[Any]:
        """The arms or rows of the pending choices."""
        return [] if self.view is None else self.view.places

    def draw_weight(self) -> float:
        """Return the uniform number from which the weight of the round is drawn."""
        return self.randomness.uniform("weight", self.t)

    def draw_tie(self) -> float:
        """Return the uniform number that settles a tie of the round."""
        return self.randomness.uniform("tie", self.t)

    def draw_normals(self, n: int) -> Array:
        """Return the standard normal numbers of the round."""
        return self.randomness.normal("sample", self.t, n)

    def best_arm(self, scores: Array, mean: Array, tie: float, worth: Worth = per_cost) -> int:
        """Return the allowed arm with the greatest score, or with the greatest gain for its cost.

        `worth` says what a score is worth for a cost.
        """
        numbers = self.place.numbers if isinstance(self.place, ArmList) else None
        if numbers is None and self.costs is None:
            return argmax(scores, self.ties, tie)
        allowed = np.arange(len(scores)) if numbers is None else numbers
        values = scores[allowed]
        if self.costs is not None:
            values = worth(values, mean[allowed], self.costs[allowed])
        return int(allowed[argmax(values, self.ties, tie)])

    def note(self, arm: int | None) -> dict[str, float]:
        """Return what the note of a choice says of costs and of pending rewards."""
        if self.view is None and self.costs is None:
            return {}
        cost = {} if self.costs is None or arm is None else {"cost": float(self.costs[arm])}
        return cost if self.view is None else cost | self.view.note


class PendingCache:
    """The posterior with the pending places of the last ask imagined.

    The next ask of a batch has the same places and one more. To add one place takes one update; to
    imagine all of them again for every ask would make a batch of n asks cost n times as much.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self._choices: list[Choice] = []
        self._places: list[Any] = []
        self._posterior: Any = None
        self._events = -1
        self._imagined: Any = None
        self._block: tuple[list[Any], Any, int, Any] | None = None
        """Few places, a posterior and its number of rewards, and that posterior with the places
        imagined."""

    def __deepcopy__(self, memo: Any) -> PendingCache:
        return PendingCache()

    def places_of(self, policy: Policy, pending: Sequence[Choice]) -> list[Any]:
        """Return the places of pending choices; those of the last ask are known."""
        known = len(self._choices)
        same = known <= len(pending) and all(map(operator.is_, self._choices, pending))
        if not same:
            self.clear()
        fresh = pending[len(self._choices) :]
        if fresh:
            self._places = self._places + [policy._place_of(choice) for choice in fresh]
            self._choices = list(pending)
        return self._places

    def imagine(self, posterior: Any, places: list[Any]) -> Any:
        """Return the posterior with the variances as if these places had been played.

        Up to `BLOCK` places are added in one step. Others follow one by one, so the result is the
        same whether the places came in one ask or in several.
        """
        if len(places) <= BLOCK:
            return self._imagine_block(posterior, places)
        known = self._imagined
        seen = 0 if known is None else known[1]
        same = self._posterior is posterior and self._events == posterior.events
        if known is None or not same or seen > len(places) or known[2] != places[:seen]:
            known = (posterior.with_pending(places[:BLOCK]), BLOCK, places[:BLOCK])
            seen = BLOCK
        imagined = known[0]
        for place in places[seen:]:
            imagined.add_pending([place])
        self._posterior, self._events = posterior, posterior.events
        self._imagined = (imagined, len(places), list(places))
        return imagined

    def _imagine_block(self, posterior: Any, places: list[Any]) -> Any:
        """Return the same in one step; for a repeated ask, the posterior that was made for it."""
        known, events = self._block, posterior.events
        if (
            known is None
            or known[0] is not places
            or known[1] is not posterior
            or known[2] != events
        ):
            known = self._block = places, posterior, events, posterior.with_pending(places)
        return known[3]


def view_pending(
    posterior: Any, places: list[Any], *, inflate: bool, cache: PendingCache | None = None
) -> PendingView:
    """Imagine the rewards of some places: each is told its own mean.

    With `inflate` the view has the factor exp(I) by which a confidence width must grow to hold.
    """
    imagined = (cache or PendingCache()).imagine(posterior, places)
    note = {"pending": float(len(places))}
    if not inflate:
        return PendingView(imagined, 1.0, note, places)
    information = (imagined.log_det - posterior.log_det) / 2
    bound = f"pending points of information at most {MOST_INFORMATION}"
    checks.needs(information <= MOST_INFORMATION, "ask", bound, information)
    inflation = math.exp(information)
    return PendingView(imagined, inflation, note | {"inflation": inflation}, places)


def ask_copy(policy: Policy, t: int, randomness: Randomness, options: AskOptions) -> Choice:
    """Ask a rule that cannot take pending choices or restricted arms by itself.

    A copy of the policy is told its own estimate in place of each pending reward. While it wants
    an arm that is not allowed, it is told its estimate of that arm too and asked again. If it wants
    no allowed arm after 50 tries, the allowed arm with the greatest mean + sd is played.
    """
    twin = copy.deepcopy(policy)
    for choice in check_pending(options.pending):
        tell_estimate(twin, choice)
    rest = options._replace(pending=())
    if options.arms is None or policy.restricts_arms:
        return twin.ask(t, randomness, context=rest.context, arms=rest.arms, costs=rest.costs)
    if options.costs is not None:
        check_costs(policy, options.costs)
    allowed = arm_numbers(options.arms, len(policy.domain))
    for _ in range(TRIES):
        choice = twin.ask(t, randomness, context=rest.context)
        if choice.arm in allowed:
            return choice
        tell_estimate(twin, choice)
    return play_most_promising(policy, allowed)


def tell_estimate(policy: Policy, choice: Choice) -> None:
    """Tell a policy its own estimate of a choice."""
    policy.tell(choice, float(policy.posterior.mean[policy._check_choice("ask", choice)]))


def play_most_promising(policy: Policy, allowed: Indices) -> Choice:
    """Play the arm of the greatest mean + sd among those allowed."""
    mean, sd = policy.estimates()
    arm = int(allowed[(mean + sd)[allowed].argmax()])
    note = {"mean": float(mean[arm]), "sd": float(sd[arm]), "instead": 1.0}
    return Choice(policy.domain.points[arm], arm, note)


def check_pending(pending: Any) -> Sequence[Choice]:
    """Check that these are a list or tuple of choices, and return them."""
    if type(pending) is tuple and not pending:
        return ()
    listed = isinstance(pending, (list, tuple))
    # Of many choices the set of their types is found fastest.
    given = listed and all(issubclass(kind, Choice) for kind in set(map(type, pending)))
    checks.needs(given, "ask", "a list of the choices pending", pending)
    choices: Sequence[Choice] = pending
    return choices


def check_costs(policy: Policy, costs: Any) -> Array:
    """Return one positive finite cost for each arm of a policy that weighs costs."""
    taken = policy.weighs_costs and policy.finite
    refused = f"no costs for {type(policy).__name__} on {policy.domain}"
    checks.needs(taken, "ask", refused, costs)
    n = len(policy.domain)
    try:
        given = np.asarray(costs)
    except ValueError:
        given = np.empty(0)
    flat = given.shape == (n,) and given.dtype.kind in "fiu"
    checks.needs(flat, "ask", f"one cost for each of {n} arms, all numbers", costs)
    bad = given[~((given > 0) & np.isfinite(given))]
    checks.needs(not len(bad), "ask", "costs > 0, all finite", next(iter(bad.tolist()), None))
    return given.astype(np.float64)
