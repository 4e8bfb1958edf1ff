"""What every policy is: a domain, a posterior, a pure `ask`, and `tell` and `fail`, which learn."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic

import numpy as np

from kernelbandits import checks
from kernelbandits.calibration.standard import Standard
from kernelbandits.checks import Array, TheoryWarning
from kernelbandits.domains import TIES, Arms, Contextual, as_arms
from kernelbandits.domains.bfgs import STEPS
from kernelbandits.kernels import KernelStack, as_trusted
from kernelbandits.policies.about import About
from kernelbandits.policies.acquisition import (
    Acquisition,
    ArmScores,
    Searchable,
    SummedSurface,
    Surface,
    posterior_mean,
)
from kernelbandits.policies.choice import AnyPoint, Choice
from kernelbandits.policies.fits import Fits
from kernelbandits.policies.observations import Hyperparameters, Observations
from kernelbandits.policies.place import (
    MIDDLE,
    ArmList,
    Location,
    Place,
    encode_choice,
    pick_point,
    place_of,
    plays_anywhere,
    refuse_context,
)
from kernelbandits.policies.round import (
    AskOptions,
    PendingCache,
    PendingView,
    Round,
    ask_copy,
    check_costs,
    check_pending,
    view_pending,
)
from kernelbandits.posterior import (
    Posterior,
    RowPosterior,
    posterior_on,
)
from kernelbandits.runtime import single_threaded
from kernelbandits.streams import as_randomness
from kernelbandits.theory.gains import Term, gain_name, gain_term

LEAST_RIDGE = 1e-8
"""The ridge for rewards without noise: a ridge of zero would make the kernel matrix singular as
soon as a point is played twice."""
SEARCH = "by search; the theory takes it for exact, as it is on a finite cover"
PLAIN_UNITS = Standard()
"""Of a posterior in the units of the rewards."""
FINITE_GAINS = ("greedy", "analytic")
"""Information gains that are computed on a finite set."""
SHORTEST_BLOCK = 1000
"""After so many rewards a study builds the posterior again from counts and sums, or later if many
arms were played: it then takes no longer than the updates before it."""
INCUMBENTS = 500
"""A search on a box starts from at most this many of the points played."""

Form = Callable[[Any, Arms, float], Posterior]
"""(kernel, arms, ridge) -> the posterior a policy learns with."""


IF_ZERO = {
    "noise_scale": "noise_scale R = 0 says that rewards have no noise, and its width allows none",
    "norm_bound": "norm_bound D = 0 says that f is 0 everywhere; its width allows for noise alone",
}
"""What a bound of 0 means to a rule that relies on it."""


class Policy(Generic[AnyPoint]):
    """A rule that chooses what to play next. `ask` is pure; only `tell` and `fail` change anything.

    A policy of your own is a subclass with one method: the first of the first three that fits. Its
    author may override

    - `acquisition(now)`, which returns a score of posterior mean and sd, for instance
      `UpperConfidence(weight, width)`. The rule then plays on arms, boxes, contexts, with pending
      choices, restricted arms and costs.
    - `score_arms(t)`, which returns one score for each arm, for rules on finitely many arms.
    - `choose(now)`, which returns the `Choice` itself, for rules of any other form.
    - `_learn(place, reward, note)` if a reward changes more than the posterior, and `_settle()` for
      what only the next `ask` needs.
    - the class attributes below, which say what the rule can do.

    Its caller uses

    - `ask`, `batch` and `choice` for choices, and `tell`, `tell_all`, `fail` for their results,
    - `recommend`, `recommend_choice`, `estimates`, `covariance` and `index` for answers,
    - `observations`, `hyperparameters`, `noise_posterior`, `answer_model`, `units` for the model,
    - `turn`, `n_rewards`, `failed`, `fits`, `settings`, `domain` and `posterior` for its state.

    These settings mean the same for all policies that take them.

    Parameters
    ----------
    domain
        What may be played: `kb.Arms`, an (n, d) array, a `kb.Box`, ... A rule for arms plays a box
        on a finite cover of it.
    kernel
        How alike rewards are, for instance `kb.RBF(0.2)`.
    noise_scale
        R: the noise of a reward is R-sub-Gaussian, for instance Gaussian with standard deviation R.
    norm_bound
        D: a bound on the norm of f in the space of the kernel.
    horizon
        T, how many rounds will be played.
    delta
        The probability with which the confidence bounds of the rule may fail.
    ridge
        lambda, which is added to the diagonal of the kernel matrix: a larger one trusts each reward
        less.
    ties
        Which of several best arms is played: one at "random", or the "lowest" number.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> from kernelbandits.policies import Policy, UpperConfidence
    >>> class TwoSigma(Policy):
    ...     '''Play the greatest mean + 2 sd.'''
    ...     plays_boxes = restricts_arms = imagines_pending = weighs_costs = True
    ...
    ...     def __init__(self, domain, kernel, *, ridge=0.01, ties="random"):
    ...         super().__init__(domain, kernel, ridge=ridge, ties=ties)
    ...
    ...     def acquisition(self, now):
    ...         return UpperConfidence(weight=1.0, width=2.0)
    >>> policy = TwoSigma(kb.Arms([[0.0], [0.5], [1.0]]), kb.RBF(0.3), ties="lowest")
    >>> choice = policy.ask(1, kb.Streams(0))
    >>> policy.tell(choice, 0.7)
    >>> choice.arm, policy.recommend()
    (0, 0)
    """

    about: ClassVar[About | None] = None
    """What the catalogue says of the policy; None for a policy that is not in it."""
    revision: ClassVar[int] = 1
    """Raised when the rule would choose differently from the same data.

    Every ask of a study records it.
    """
    takes_kernel: ClassVar[bool] = True
    """Whether the constructor takes a kernel after the domain; False for a policy that fits one."""
    plays_boxes: ClassVar[bool] = False
    """Whether it plays anywhere in a box; other rules play on a finite cover of the box."""
    restricts_arms: ClassVar[bool] = False
    """Whether it can choose among some of the arms; for other rules `ask` tries copies."""
    imagines_pending: ClassVar[bool] = False
    """Whether it takes pending choices into account by itself; for other rules `ask` tells the
    estimates of the pending choices to a copy."""
    weighs_costs: ClassVar[bool] = False
    """Whether it takes what arms cost."""
    learns_failures: ClassVar[bool] = False
    """Whether `fail` changes what is chosen next; other rules only count failures."""
    learns_errors: ClassVar[bool] = False
    """Whether it weighs rewards by their standard errors (`kb.calibration.Measurement`)."""
    learns_limits: ClassVar[bool] = False
    """Whether it learns that a reward is beyond a limit (`kb.Censored`)."""
    fits: Fits | None = None
    """The fits of kernel and noise to the rewards; None for a policy that fits none."""
    initial_size: int = 0
    """How many choices its initial design has."""
    success: Any = None
    """The model of where measurements succeed (`Auto.success`); None where none has failed."""
    working_set: Any = None
    """The arms of a very large pool among which the next choices are made; None for all."""
    predictions: tuple[Any, ...] = ()
    """What earlier studies predict of rows, for a policy that learns from them (`Auto`)."""
    outcomes: tuple[Any, ...] = ()
    """Outcomes beside the reward that must lie within limits (`Auto.limited_by`)."""
    objectives: tuple[Any, ...] = ()
    """The policies of other objectives, with which the front is looked for (`Auto.trading_off`)."""
    reference: tuple[float, ...] | None = None
    """A reward of each objective that is worth nothing; None for the worst measured."""
    compiled_loop: ClassVar[str | None] = None
    """The compiled loop that plays whole runs of it, "index" or "samples", or None.

    The loop knows nothing of methods. So a class, a mixin or an instance that replaces a method of
    the class that declares the loop is played round by round in Python (`valid_loop`), unless
    it declares its loop again.
    """
    search_effort: float = 1.0
    """A factor on the numbers of candidates and starts of a search on a box."""
    is_generic: ClassVar[bool] = False
    """Whether it is Algorithm 1 of the paper with some law, so that its theorem applies."""

    domain: Any
    """Arms; for a rule that plays boxes also a Box, a MixedBox or a Contextual."""
    posterior: Any
    """What the rewards say of f."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        own = vars(cls).keys()
        # Overrides that nothing would call are refused: the parent would be played in their name.
        if "index" in own and not own & {"acquisition", "score_arms", "choose", "ask"}:
            raise TypeError(
                f"{cls.__name__} overrides index, which only reports scores; "
                "override acquisition(now) or choose(now) to change what is played"
            )
        scored = cls.acquisition is Policy.acquisition or own & {"acquisition", "choose", "ask"}
        if "score_arms" in own and not scored:
            raise TypeError(
                f"{cls.__name__} overrides score_arms(t), but its parent plays acquisition(now); "
                "override acquisition(now) to change what is played"
            )

    def __init__(
        self,
        domain: Any,
        kernel: Any,
        *,
        ridge: float,
        ties: str = "random",
        horizon: int | None = None,
        form: Form | None = posterior_on,
    ) -> None:
        """Begin with the prior; without a `form`, the policy finds its posterior by itself."""
        name = type(self).__name__
        anywhere = plays_anywhere(name, domain, self.plays_boxes)
        self.domain = domain if anywhere else as_arms(domain)
        self.finite = isinstance(self.domain, Arms)
        self.ties = checks.one_of(name, "ties", ties, TIES)
        self.horizon = None if horizon is None else checks.whole(name, "horizon", horizon)
        if form is not None:
            self.posterior = form(kernel, self.domain, ridge)
        self._failed: list[Any] = []
        self.settings: dict[str, Any] = {
            "ridge": ridge if form is None else self.posterior.ridge,
            "ties": ties,
            "horizon": horizon,
        }
        if not self.finite:
            self.settings |= {"domain": repr(self.domain), "argmax": SEARCH}
        elif self.domain.origin:
            self.settings["cover"] = self.domain.origin
        self._all_arms = ArmList(self.domain.points, None) if self.finite else None
        self._warned: set[str] = set()
        self._pending = PendingCache()
        self._block_end = SHORTEST_BLOCK
        """After how many rewards the next block of `tell_in_blocks` is complete."""

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.domain!r}, {self.posterior.events} rewards)"

    # ------------------------------------------------------------------ asking

    def ask(
        self,
        t: int,
        rng: Any,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
        costs: Any = None,
    ) -> Choice[AnyPoint]:
        """Return the choice of round t. Asking changes nothing: ask twice and get the same.

        The steps of one ask: `AskOptions` collects the arguments, `_round` turns them into a
        `Round` (all that the rule sees), and `choose` picks the maximiser of the round's
        acquisition. Rules that cannot take pending choices or a restriction to some arms by
        themselves are asked through a copy (`ask_copy`).

        Parameters
        ----------
        t
            The round, counted from 1.
        rng
            A `kb.Streams`, whose numbers belong to the round, or a numpy Generator.
        pending
            Choices whose rewards are still to come. Rules with an index lower the uncertainty there
            and keep the estimate (GP-BUCB, Desautels et al. 2014); a width that claims a guarantee
            is multiplied by exp(I), I the information of the pending points, so that it holds as
            before. Any other rule is asked as a copy that was told its own estimates.
        context
            What is given in the round, on a `kb.Contextual` domain.
        arms
            On a finite domain the numbers of the arms that may be played in this round; on a mixed
            box a part of it (`kb.domains.Part(box, {"heat": 40})`); on a contextual domain without
            arms of its own, the points that may be. Where a confidence band holds on all arms at
            once and the rule plays its upper end, its regret bound holds against the best allowed
            arm of each round. Nothing is claimed of other rules here.
        costs
            One cost > 0 for each arm: what an arm may gain over the highest estimate is divided by
            its cost (`per_cost`; no guarantee). Rules without an index refuse costs.
        """
        self._check_round(t)
        randomness = as_randomness(rng)
        nothing_pending = type(pending) is tuple and not pending
        if self._all_arms is not None and nothing_pending and context is arms is costs is None:
            # Most rounds give nothing beside the round: all arms may be played, whose list is
            # built once, and there is nothing to check.
            now = Round(t, randomness, self.ties, self.posterior, self._all_arms)
        else:
            options = AskOptions(pending, context, arms, costs)
            if options.needs_copy(self):
                return ask_copy(self, t, randomness, options)
            now = self._round(t, randomness, options)
        choice = self.choose(now)
        if not isinstance(choice, Choice):
            needed = "a kb.Choice from choose(now) (self.choice(arm) makes one)"
            checks.needs(False, type(self).__name__, needed, choice)
        return choice

    def batch(
        self,
        n: int,
        t: int,
        rng: Any,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
        costs: Any = None,
    ) -> tuple[Choice[AnyPoint], ...]:
        """Return the choices of rounds t, ..., t + n - 1, each with those before it pending.

        All have the same context, arms and costs. A batch may contain an arm more than once: under
        noise a repeat is a measurement like any other.
        """
        self._check_round(t)
        size = checks.whole("batch", "n", n)
        chosen = [*check_pending(pending)]
        for number in range(size):
            chosen.append(
                self.ask(t + number, rng, pending=chosen, context=context, arms=arms, costs=costs)
            )
        return tuple(chosen[-size:])

    def choose(self, now: Round) -> Choice[AnyPoint]:
        """Play the maximiser of the round's acquisition; a rule of another form overrides this."""
        acquisition = self.acquisition(now)
        if not isinstance(acquisition, Acquisition):
            hint = "kb.policies.UpperConfidence(weight, width) (scores of arms: score_arms(t))"
            needed = f"an acquisition from acquisition(now), such as {hint}"
            checks.needs(False, type(self).__name__, needed, acquisition)
        if not self.finite:
            return self._best_point(now, acquisition)
        # Pending rewards are imagined at their own means, which leaves every mean as it is.
        mean, means, sd = self.posterior.mean, self.posterior.means, now.sd
        scores = acquisition.score(means, sd[None] if len(means) == 1 else now.sds)
        arm = now.best_arm(scores, mean, now.draw_tie(), acquisition.worth)
        note = acquisition.note(scores.item(arm), mean.item(arm), self.units)
        return self._choice_of_arm(arm, sd, now, note)

    def _choice_of_arm(
        self, arm: int, sd: Array, now: Round, note: dict[str, float]
    ) -> Choice[AnyPoint]:
        """Return the choice of an arm, with the estimate there in its note."""
        return Choice(
            self.domain.points[arm], arm, {**note, **self._note_arm(arm, sd), **now.note(arm)}
        )

    def acquisition(self, now: Round) -> Acquisition:
        """Return the score that the round maximises, by default of each arm by `score_arms`."""
        scores = np.asarray(self.score_arms(now.t), dtype=np.float64)
        if scores.shape != self.posterior.mean.shape:
            needed = f"one score for each of {len(self.domain)} arms from score_arms(t)"
            checks.needs(False, type(self).__name__, needed, f"shape {scores.shape}")
        return ArmScores(scores)

    def score_arms(self, t: int) -> Array:
        """Return a score for each arm in round t, minus infinity for one that may not be played."""
        needed = "a method acquisition(now), score_arms(t) or choose(now)"
        raise NotImplementedError(f"{type(self).__name__} needs {needed}")

    def index(self, t: int) -> Array:
        """Return what round t maximises over the arms, for a rule that scores each of them."""
        self._check_round(t)
        if type(self).score_arms is Policy.score_arms:
            raise NotImplementedError(f"{type(self).__name__} has no index: it does not score arms")
        return self.score_arms(t)

    def _note_arm(self, arm: int, sd: Array) -> dict[str, float]:
        """Return the estimate of the arm chosen and its uncertainty, for the note."""
        return self.note_estimate(self.posterior.mean.item(arm), sd.item(arm))

    def note_estimate(self, mean: float, sd: float) -> dict[str, float]:
        """Return an estimate of the posterior for a note, in the units of the rewards."""
        return {"mean": mean, "sd": sd}

    def _round(self, t: int, randomness: Any, options: AskOptions) -> Round:
        """Return all that the rule sees in this ask."""
        pending, context, arms, costs = options
        view = None
        # An empty list needs no view; anything that is no list goes to the check, which refuses it.
        if pending or not isinstance(pending, (tuple, list)):
            view = self._view_pending(check_pending(pending))
        place = place_of(self.domain, context, arms)
        if costs is not None:
            costs = check_costs(self, costs)
        return Round(t, randomness, self.ties, self.posterior, place, view, costs)

    def _view_pending(self, pending: Sequence[Choice]) -> PendingView:
        """Return what is known with the pending rewards imagined."""
        places = self._pending.places_of(self, pending)
        return view_pending(self.posterior, places, inflate=True, cache=self._pending)

    def _best_point(self, now: Round, acquisition: Acquisition) -> Choice[AnyPoint]:
        """Return the maximiser of the acquisition where there is no fixed list of arms.

        That is on a box, or beside a context.
        """
        tie = now.draw_tie()
        surface = self._surface(acquisition, now)
        steps = self._search_steps(acquisition)
        location = self._search(surface, now.place, self.ties, tie, steps)
        mean = float(now.posterior.at(location.row[None])[0][0])
        note = acquisition.note(location.search.pop("index"), mean, self.units)
        return self._choice_at(location, now, note)

    def _search_steps(self, acquisition: Acquisition) -> int:
        """Return the most steps of an ascent in the search for its greatest score."""
        return acquisition.search_steps

    def _surface(self, acquisition: Acquisition, now: Round) -> Surface | SummedSurface:
        """Return the acquisition as it is maximised where the round is played.

        On a list of arms it is exact, so that equal arms have equal scores.
        """
        return Surface(now.posterior, acquisition, exact=isinstance(now.place, ArmList))

    def _choice_at(
        self, location: Location, now: Round, note: Mapping[str, float]
    ) -> Choice[AnyPoint]:
        """Return the choice of a location, with the estimate there in its note."""
        estimate = self._note_location(location, now)
        whole_note = {**note, **now.note(location.arm), **estimate, **location.search}
        return Choice(location.x, location.arm, whole_note, now.place.context)

    def _list_compared(self, place: Place) -> Place:
        """Return where a choice is compared: everywhere, unless a policy looks at less."""
        return place

    def _note_location(self, location: Location, now: Round) -> dict[str, float]:
        """Return the estimate at a location and its uncertainty, for the note."""
        if self.finite:
            return self._note_arm(int(location.arm or 0), now.sd)
        mean, sd = now.posterior.at(location.row[None])
        return self.note_estimate(float(mean[0]), float(sd[0]))

    @single_threaded
    def _search(
        self, surface: Searchable, place: Place, ties: str, u: float, steps: int = STEPS
    ) -> Location:
        """Return the maximiser.

        A search starts from the points played too, the best estimates first.
        """
        scale = self.posterior.kernel.lengthscales(self.domain.dimension)
        played = self._played_points(place)
        return place.best(surface, ties, u, played, scale, self.search_effort, steps)

    def _played_points(self, place: Place) -> Array:
        """Return the points played, put in the context of the round, best estimates first."""
        here: Array = self.posterior.points.copy()
        if place.context is not None:
            here[:, here.shape[1] - len(place.context) :] = place.context
            mean = posterior_mean(self.posterior).values(here)
        else:
            mean = self.posterior.played_means.mean(0)
        return here[np.argsort(-mean, kind="stable")][:INCUMBENTS]

    # ------------------------------------------------------------------ learning

    def tell(self, choice: Choice, reward: float) -> None:
        """Learn the reward of a choice; a refused one changes nothing."""
        place = self._check_choice("tell", choice)
        self._learn(place, checks.reward(reward), choice.note)
        self._settle()

    def tell_all(self, pairs: Sequence[tuple[Choice, float | None]]) -> None:
        """Learn many rewards: the state is that of telling them one by one, bit by bit.

        A reward of None stands for a failure (`fail`). A pair that `tell` would refuse is refused
        in its place, in the same words; those before it are learnt.
        """
        try:
            for choice, reward in check_pairs(pairs):
                if reward is None:
                    self.fail(choice)
                    continue
                place = self._check_choice("tell", choice)
                self._learn(place, checks.reward(reward), choice.note)
        finally:
            self._settle()

    def tell_in_blocks(self, pairs: Sequence[tuple[Choice, float | None]]) -> None:
        """Learn many rewards as a study does: those of complete blocks from their counts and sums.

        A block has 1000 rewards, or twice as many as distinct arms were played before it. When it
        is complete, the posterior is built again from counts and sums. So the state depends on the
        rewards alone, to the last bit, and not on how many of them came at once; and of 10^5
        rewards all up to the end of the last block are only counted. The estimates are those of
        `tell_all` up to rounding. A rule that learns more than its posterior does, or that has a
        posterior of another form, is told as by `tell_all`.
        """
        counted = 0
        ends_here = self.n_rewards < self._block_end <= self.n_rewards + len(pairs)
        if ends_here and self._learns_blocks:
            counted = self._learn_blocks(pairs)
        self.tell_all(pairs[counted:])

    @property
    def _learns_blocks(self) -> bool:
        """Whether the counts and sums of the arms say all that the policy has learnt."""
        return self.posterior.rebuilds and type(self)._learn is Policy._learn

    @single_threaded
    def _learn_blocks(self, pairs: Sequence[tuple[Choice, float | None]]) -> int:
        """Learn the rewards up to the end of the last block; return how many pairs these are.

        A pair that is no reward, or is refused, ends the count: `tell_all` treats it in its place.
        """
        tally, complete, counted = copy.deepcopy(self.posterior.tally), None, 0
        end = self._block_end
        for number, pair in enumerate(pairs, start=1):
            try:
                ((choice, reward),) = check_pairs([pair])
                tally.add(self._check_choice("tell", choice), checks.reward(reward))
            except ValueError:
                break
            if tally.events == end:
                complete, counted = copy.deepcopy(tally), number
                end += max(SHORTEST_BLOCK, 2 * len(tally.played_arms))
        if complete is not None:
            self.posterior.rebuild(complete)
            self._block_end = end
        return counted

    def fail(self, choice: Choice) -> None:
        """Count a choice that gave no reward; the estimates do not change."""
        self._failed.append(self._check_choice("fail", choice))

    def _learn(self, place: Any, reward: float, note: Mapping[str, float]) -> None:
        """Learn a checked reward; `place` is the number of an arm, or the row of a point."""
        self.posterior.update(place, reward)

    def _settle(self) -> None:
        """Compute what only the next `ask` needs.

        It is called once after `tell`, and once after all rewards of `tell_all`.
        """

    def _check_choice(self, owner: str, choice: Choice) -> Any:
        """Return where the reward of a choice belongs, if it is one with a note."""
        needed = "a kb.Choice (policy.choice(arm) makes one)"
        checks.needs(isinstance(choice, Choice), owner, needed, choice)
        if type(choice.note) is not dict:
            named = isinstance(choice.note, Mapping)
            checks.needs(named, owner, "a note of names and numbers", choice.note)
        return self._place_of(choice)

    def _place_of(self, choice: Choice) -> Any:
        """Return where the reward belongs: an arm's number, or the row of a point."""
        if self.finite:
            return self._arm_of(choice)
        return encode_choice(self.domain, choice.x, choice.context)

    def _arm_of(self, choice: Choice) -> int:
        if type(choice.arm) is int and 0 <= choice.arm < len(self.domain):
            return choice.arm
        if choice.arm is not None:
            return int(self.choice(choice.arm).arm or 0)
        point = checks.points("tell", [choice.x])[0]
        known = len(point) == self.domain.dimension
        checks.needs(known, "tell", "a choice among the arms", choice.x)
        matches = (self.domain.points == point).all(1).nonzero()[0]
        checks.needs(len(matches) > 0, "tell", "a choice among the arms", choice.x)
        return int(matches[0])

    # ------------------------------------------------------------------ answers

    def choice(self, arm: Any, *, context: Any = None) -> Choice[AnyPoint]:
        """Return the choice of an arm nobody asked for, by its number, or of a point x of a box."""
        if isinstance(self.domain, Contextual):
            given = self.domain.check_context(context)
            return Choice(*pick_point(self.domain.domain, arm), {}, given)
        refuse_context("choice", self.domain, context)
        return Choice(*pick_point(self.domain, arm))

    def recommend(self, *, context: Any = None, arms: Any = None) -> Any:
        """Return the arm with the highest estimate, the lowest on ties, or the point of a box.

        This is the answer if the game ended now. On a finite domain `arms` are the numbers of the
        arms to choose among.
        """
        place = place_of(self.domain, context, arms)
        if self.finite and isinstance(place, ArmList):
            return place.greatest(self.posterior.mean)
        location = self._search(self._expected_reward(), place, "lowest", MIDDLE)
        return location.x if location.arm is None else location.arm

    def _expected_reward(self) -> Searchable:
        """Return what a recommended point of a box maximises: the estimate."""
        return posterior_mean(self.posterior)

    def recommend_choice(self, *, context: Any = None, arms: Any = None) -> Choice[AnyPoint]:
        """Return what `recommend` recommends as a choice; its note has the estimate there.

        The estimate ("mean" and "sd") is in the units of the rewards.
        """
        best = self.recommend(context=context, arms=arms)
        chosen = best if self.finite or arms is None else arms[best]
        choice = self.choice(chosen, context=context)
        place = self._place_of(choice)
        row = self.domain.points[place] if self.finite else place
        mean, sd = self.posterior.at(row[None])
        return replace(choice, note=self.note_estimate(float(mean[0]), float(sd[0])))

    def estimates(self) -> tuple[Array, Array]:
        """Return the posterior mean and sd of every arm, in the units of the rewards."""
        hint = "arms (elsewhere policy.posterior.at(rows) gives mean and sd)"
        checks.needs(self.finite, "estimates", hint, self.domain)
        mean, sd = self.posterior.mean, self.posterior.sd
        return self.units.original(mean), self.units.original_sd(mean, sd)

    def covariance(self, arms: Any) -> Array:
        """Return the posterior covariance of f at some arms, in squared units of the rewards.

        The correlations are those of the rewards, the standard deviations those of `estimates`,
        which a rule may widen, for a drift.
        """
        covariance: Array = self.posterior.covariance(self.domain.points[arms])
        # 1e-300 keeps the quotient finite where the variance is zero.
        ratio = self.estimates()[1][arms] / np.sqrt(np.maximum(covariance.diagonal(), 1e-300))
        return covariance * np.outer(ratio, ratio)

    def noise_posterior(self) -> Any:
        """Return the posterior of the rewards at ridge R^2, with R the noise scale of the policy.

        A rule may choose by another ridge than the variance of the noise. A rule that forgets,
        weighs or truncates rewards, or that has no R, gives the posterior that it chooses by.
        """
        ridge = self._noise_ridge()
        if ridge is None:
            return self.posterior
        kernels = list(self.posterior.kernels)
        posterior = RowPosterior(kernels, self.domain, [ridge] * len(kernels))
        if self.posterior.events:
            posterior.learn(self.posterior.counts, self.posterior.tally.sums)
        return posterior

    def _noise_ridge(self) -> float | None:
        """Return R^2; None for a rule without R, and for one that does not learn all rewards."""
        noise: Any = self.settings.get("noise_scale")
        exact = self.posterior.is_plain and self.posterior.complete
        return max(float(noise) ** 2, LEAST_RIDGE) if exact and checks.is_number(noise) else None

    def answer_model(self) -> tuple[Any, Standard]:
        """Return the posterior that answers questions such as "which is best?", and its units.

        It is `noise_posterior`, unless a policy knows its noise so badly that answers need more
        care than choices (`Auto`).
        """
        return self.noise_posterior(), self.units

    def observations(self) -> Observations | None:
        """Return the rewards by distinct point, which the model of the policy rests on.

        None before the first reward, and for a rule that forgets, weighs, truncates or refits its
        rewards: it has no model of all of them.
        """
        posterior = self.posterior
        if not posterior.rests_on_totals or not posterior.complete or not posterior.events:
            return None
        return Observations.of(posterior, self.units)

    def hyperparameters(self) -> Hyperparameters:
        """Return kernel, ridge and lengthscales of the model: those of `noise_posterior`."""
        kernels, ridge = self.posterior.kernels, self._noise_ridge()
        lengths = [kernel.lengthscales(self.posterior.points.shape[1]) for kernel in kernels]
        return Hyperparameters(
            stack=KernelStack(list(kernels)),
            ridges=(self.posterior.ridge if ridge is None else ridge,) * len(kernels),
            lengthscales=None if any(one is None for one in lengths) else np.array(lengths),
        )

    @property
    def units(self) -> Standard:
        """From the units of the rewards to those of the posterior; the same, unless it scales."""
        return PLAIN_UNITS

    @property
    def n_rewards(self) -> int:
        """How many rewards the policy has learnt."""
        return int(self.posterior.events)

    @property
    def failed(self) -> list[Any]:
        """The places of choices that gave no reward: numbers of arms, or rows of points."""
        return self._failed

    @property
    def turn(self) -> int:
        """The next round: 1 + the rewards + the failures so far."""
        return 1 + self.n_rewards + len(self.failed)

    # ------------------------------------------------------------------ what loops and studies ask

    def restrict_to(self, arms: Any = None, pending: Sequence[int] = ()) -> Policy:
        """Return the policy that chooses among these arms while others are pending: itself."""
        return self

    def select_feasible(self, places: Any) -> Any:
        """Return those of some places where all outcomes meet their limits: all, without limits."""
        return places

    def feasibility(self, choice: Choice) -> float:
        """Return the probability that a choice meets the limits of all outcomes: 1 without any."""
        return 1.0

    @property
    def played_log_det(self) -> float:
        """log det(I + K / ridge) of all that was played: twice the realised information gain."""
        return float(self.posterior.log_det)

    # ------------------------------------------------------------------ what subclasses share

    def _fresh_posterior(self, points: Array | None = None) -> Posterior:
        """Return a posterior of the same kernel and ridge without data, on all arms or points."""
        where = self.domain if points is None else points
        return posterior_on(as_trusted(self.posterior.kernel), where, self.posterior.ridge)

    def _warn_once(self, text: str, subject: str | None = None) -> None:
        """Warn once of a subject: the text itself, unless the text changes from round to round."""
        if (subject or text) not in self._warned:
            self._warned.add(subject or text)
            warnings.warn(f"{type(self).__name__}: {text}", TheoryWarning, stacklevel=4)

    def _check_round(self, t: int) -> None:
        if type(t) is not int or t < 1:
            checks.needs(checks.is_whole(t) and t >= 1, "ask", "a round t >= 1", t)
        if self.horizon is not None and t > self.horizon:
            horizon = f"asked beyond its horizon {self.horizon}"
            self._warn_once(f"{horizon}; it goes on, its guarantee does not")

    def _check_bounds(self, noise_scale: float, norm_bound: float, delta: float) -> float:
        """Check and record R, D and delta of R-sub-Gaussian noise, |f| <= D; returns delta."""
        self._check_theory(noise_scale, norm_bound)
        self.settings |= {"noise_scale": noise_scale, "norm_bound": norm_bound, "delta": delta}
        return checks.inside(type(self).__name__, "delta", delta)

    def _check_theory(self, noise_scale: float, norm_bound: float) -> None:
        """Check R, D >= 0 and k(x, x) <= 1; without them the policy runs, its guarantee fails."""
        name = type(self).__name__
        for label, value in (("noise_scale", noise_scale), ("norm_bound", norm_bound)):
            if checks.scale(name, label, value) == 0:
                self._warn_once(IF_ZERO[label])
        self._check_kernel()

    def _check_kernel(self) -> None:
        largest = float(self._prior_variances().max())
        # A normalised kernel may exceed 1 by rounding.
        if largest > 1 + 1e-9:
            hint = "scale the kernel or wrap it in kb.kernels.Normalised"
            self._warn_once(f"its guarantee needs k(x, x) <= 1, got {largest:g}; {hint}")

    def _prior_variances(self) -> Array:
        """Return k(x, x) of all arms.

        On a box they are those of its cover, beside a context those of what is known before it.
        """
        cover = getattr(self.domain, "cover", None)
        prior: Array = (
            self.posterior.kernel.diagonal(cover().points) if cover else self.posterior.prior
        )
        return prior

    def _gain(self, gain: Any) -> tuple[Term, str]:
        """Return the information gain and its name.

        Kinds that are computed on a finite set take the cover of a box, and say so.
        """
        name = gain_name(gain)
        kernel, ridge = self.posterior.kernel, self.posterior.ridge
        if self.finite or gain not in FINITE_GAINS:
            return gain_term(gain, kernel, self.domain, ridge), name
        known = not isinstance(self.domain, Contextual)
        needed = 'gain "realised" or a function of t beside a context'
        checks.needs(known, type(self).__name__, needed, gain)
        cover = self.domain.cover()
        return gain_term(gain, kernel, cover, ridge), f"{name} on {cover.origin}"

    def _noise_scale(self) -> float:
        """Return R in the units of the posterior, as the policy was given it; else sqrt(ridge)."""
        given: Any = self.settings.get("noise_scale")
        return float(given) if checks.is_number(given) else math.sqrt(self.posterior.ridge)


def valid_loop(rule: type[Policy], own_attributes: Iterable[str] = ()) -> str | None:
    """Return the compiled loop of a class of policies, if it plays what `ask` and `tell` would.

    A class, a mixin or an instance (by its own attributes) that replaces a method of the class
    which declares the loop is not played by it.
    """
    declares: Any = next(cls for cls in rule.__mro__ if "compiled_loop" in vars(cls))
    later = rule.__mro__[: rule.__mro__.index(declares)]
    replaced = {name for cls in later for name in vars(cls)} | set(own_attributes)
    for name in replaced - {"__init__", "__doc__"}:
        inherited = getattr(declares, name, None)
        method = callable(inherited) and not isinstance(inherited, type)
        if method or isinstance(inherited, property):
            return None
    loop: str | None = declares.compiled_loop
    return loop


def check_pairs(pairs: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the pairs one by one, each checked in its turn."""
    listed = isinstance(pairs, Sequence)
    checks.needs(listed, "tell_all", "a list of pairs (choice, reward)", pairs)
    for pair in pairs:
        paired = isinstance(pair, tuple) and len(pair) == 2
        checks.needs(paired, "tell_all", "pairs (choice, reward)", pair)
        yield pair


def noise_ridge(owner: str, noise_scale: float, ridge: float | None = None) -> float:
    """Return the ridge given, or R^2, the variance of the noise, and no less than 1e-8."""
    if ridge is not None:
        return ridge
    return max(checks.scale(owner, "noise_scale", noise_scale) ** 2, LEAST_RIDGE)
