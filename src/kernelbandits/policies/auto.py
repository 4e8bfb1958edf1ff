"""Auto: a policy that fits kernel, noise and units to the rewards as they come."""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from kernelbandits import checks, widths
from kernelbandits.calibration import (
    Calibration,
    EarlierResults,
    Prior,
    Refits,
    Rewards,
    Standard,
)
from kernelbandits.calibration.completion import DerivedColumn
from kernelbandits.calibration.earlier import complete_rows
from kernelbandits.calibration.fitter import Fit, Fitter, ridge_of
from kernelbandits.calibration.rewards import Measurement
from kernelbandits.calibration.sides import check_coordinates
from kernelbandits.censored import Censored
from kernelbandits.checks import Array, DataNotice, Indices
from kernelbandits.domains import (
    Arms,
    Box,
    Contextual,
    MixedBox,
    Part,
    as_domain,
)
from kernelbandits.domains.box import as_row
from kernelbandits.exploration import Exploration, PointMass
from kernelbandits.kernels import Matern
from kernelbandits.policies import front
from kernelbandits.policies.about import CALIBRATED, About
from kernelbandits.policies.acquisition import (
    LAST,
    NO_CHANCE,
    Acquisition,
    ArmScores,
    Feasibility,
    LogExpectedImprovement,
    Lookahead,
    SummedSurface,
    Surface,
    WeighedSurface,
    row_keys,
    weigh_scores,
)
from kernelbandits.policies.arm_scores import (
    NOISELESS,
    score_improvement,
    score_lookahead,
)
from kernelbandits.policies.base import INCUMBENTS, Policy, check_pairs
from kernelbandits.policies.choice import Choice, Playable, Point
from kernelbandits.policies.fits import Fits
from kernelbandits.policies.front import MOST_OBJECTIVES, Front
from kernelbandits.policies.index import IndexPolicy
from kernelbandits.policies.initial_design import (
    OPENINGS,
    design_location,
    draw_locations,
    promising_location,
)
from kernelbandits.policies.learner import Learner, Observation
from kernelbandits.policies.lone_results import (
    is_contradicted,
    results_at,
    stands_alone,
)
from kernelbandits.policies.observations import Hyperparameters, Observations
from kernelbandits.policies.outcomes import (
    LIKELY,
    LimitedOutcome,
    find_feasible,
    log_feasibility,
)
from kernelbandits.policies.place import (
    ArmList,
    Location,
    Place,
    Region,
    arm_numbers,
    list_arms,
    place_of,
)
from kernelbandits.policies.round import (
    PendingCache,
    PendingView,
    Round,
    check_pending,
    view_pending,
)
from kernelbandits.policies.stored import CODEC
from kernelbandits.policies.success import SuccessModel
from kernelbandits.policies.working_set import WorkingSet, is_large, predict_in_blocks
from kernelbandits.runtime import OneThread, by_one_thread, single_threaded
from kernelbandits.streams import Streams
from kernelbandits.widths import Width

WIDTHS = ("practical", "theory")
GOALS = ("find", "earn")
FIRST = 3
"""How many choices the initial design has; on a box find takes two more than there are columns."""
MEMBERS = 8
"""How many plausible scales are averaged over on arms, ..."""
BOX_MEMBERS = 4
"""... and on a box, where every one of them is evaluated again at each step of a search."""
BOX_EFFORT = 0.375
"""The effort of a search on a box: the mixture is smoother than a single index with a large width,
and more starts did not find better maxima (docs/decisions/0012)."""
PRACTICAL = widths.polynomial_decay(3.0, 1 / 3)
"""The width 3 t^-1/3 of `width="practical"` (docs/decisions/0012)."""
LEAST_TOTAL = 40
"""With the goal earn and no `rounds`, at least so many rounds are expected in all."""
MANY_LEFT, FEW_LEFT = 300, 10
"""With the goal earn and `rounds`, what a reward teaches counts for all of the rounds that are left
where they are at least or at most so many, and between them for fewer (docs/decisions/0033)."""
GROWTH = 1.2
"""The ratio of the numbers of rewards at two successive fits, ..."""
MANY, GROWTH_OF_MANY = 10, 1.03
"""... and with the goal find on a box of at least MANY columns. So many lengthscales are learnt for
longer: fits so close together lowered the regret after 60 results by a fifth
(docs/decisions/0031)."""
NOISY = 1e-3
"""On a box, from this noise variance on, in squared spreads of the rewards, the noise counts as
real: a function without noise has less of it once some rewards are known."""
POWER = 20.0
"""An arm is drawn with a probability in proportion to this power of what it is expected to add. One
that adds a tenth less than the best is drawn an eighth as often as that one."""
LISTED = 2000
"""The points of a space with no more than this many are listed and drawn like arms."""
STEPS_AMONG_FAILURES = 15
"""The most steps of an ascent on a box where measurements fail. More took half of the time again,
and found nothing better."""
IGNORED = 0.2
"""On a box under noise, the share of choices that ignore the model (`Auto._ignores_model`)."""
CONFIRMED = 2
"""A place that stands alone is measured again until it has more results than this. One that is not
known to be feasible by then is left for others, while none is."""
NEAR = 0.05
"""In lengthscales: a point of a box that is nearer than this to one played is replaced by it."""


class FittedRule(NamedTuple):
    """What `Auto` plays by and states, under a fit and so many failures."""

    fit: Fit
    failures: int
    width: Width
    settings: dict[str, Any]


class Auto(IndexPolicy[Point]):
    """A policy that fits all scales to the rewards: nothing has to be given.

    There are two goals. To *find* the best answer when the budget ends, it draws an arm (or a point
    of a space with at most 2000 points) with a probability in proportion to the 20th power of what
    it is expected to add to the best estimate. On a box it plays what is expected to add most, and
    if there is noise, in one round of five a point at random, in case the model misleads. A place
    that leads all others by a single reward is played again first. To *earn* a large total while
    measuring, it plays the greatest mean + horizon * gain: the estimate, and what one reward is
    expected to teach for the rounds to come (`acquisition.Lookahead`). With a `width` or an
    `exploration` law, and where costs differ, it plays the paper's index, mean + w_t width_t sd.
    The first choices are an initial design, with the goal find three arms at random. Then
    lengthscales, signal and noise of a kernel are fitted to the rewards: eight plausible sets of
    them, over which the posterior is averaged. They are fitted again at geometrically spaced
    numbers of rewards, by `tell` only (`learner`). Notes are in the units of the rewards. Of more
    than 100 000 arms it looks at a working set of 20 000, which is chosen again at each fit
    (`working_set`).

    Parameters
    ----------
    domain
        A `kb.Box`, a `kb.MixedBox`, `kb.Arms` or an (n, d) array of candidates, or a
        `kb.Contextual`. A list of pairs [(low, high), ...] is a box, a dictionary a mixed box.
        Candidates without coordinates are `kb.Arms.from_gram(matrix)`: then the kernel is the one
        given, and only its variance, the nugget, the noise and the mean are fitted.
    goal
        "find", the best answer in the end, or "earn", a small regret while measuring, as in the
        paper. Without a goal it is "find", as in studies and `kb.optimize`, unless a `width` or an
        `exploration` law is given, which only "earn" has. Nothing is claimed of the regret of
        "find".
    noise
        The standard deviation of one reward, in the units of the rewards, if it is known; 0 is
        allowed. Rewards that contradict it overrule it (`fits.noise_contradicted`).
    rounds
        How many rewards there will be, if that is known. With the goal "find" no choice is left to
        chance in the last tenth of them. With the goal "earn" what a reward teaches counts for the
        rounds that are left (of 100 for a third of them), and so less is explored towards the end.
        Without it, and once more rounds were played than it says, as many rounds are expected as
        were played, at least 40 in all. An experiment tells its policies the horizon.
    width
        For the goal "earn": play the index mean + w_t width_t sd with this width. "practical":
        3 t^-1/3, chosen by benchmark; nothing is claimed of it, nor of a number, which multiplies
        the sd in every round, nor of your own `Width`.
        "theory": D + (R / sqrt(ridge)) sqrt(2 ln(1/delta) + L), Whitehouse's, at the ridge that is
        the fitted noise variance; R and D are `safety` times the fitted ones, and the most probable
        scales alone are used. That f lies within the width in all rounds with probability 1 - delta
        would hold had kernel, centre, R and D been fixed beforehand, with |f| <= D and
        R-sub-Gaussian noise. They are not: they are fitted to the same rewards.
    exploration
        For the goal "earn": play the index with weights w_t of this law, or of a schedule of laws.
        Without a width the practical one is taken.
    members
        How many plausible sets of scales are averaged over; 1 for the most probable one alone.
    transform
        Whether skewed rewards are transformed by a power where that makes the model more probable
        (`kb.calibration.Standard`). By default they are, except with a `width` or an `exploration`
        law. Estimates stay in the units of the rewards; their intervals are then wider on one side.
    first
        How many choices the initial design has.
    opening
        Where the initial design begins: "random", anywhere, or in the "middle".
    seed
        Of the randomness that is used when `ask` is not given any.
    delta, safety
        Of the width "theory", see there.
    prior, shared, nu
        What is assumed of the scales, as for `kb.calibration.calibrate`.
    refits
        After how many rewards the scales are fitted again (`kb.calibration.Refits`).
    ties
        As for `Policy`.
    earlier
        Results of earlier studies (`kb.calibration.EarlierResults`). What they predict at a point
        is one more column of the model, whose lengthscale is fitted to the rewards: an earlier
        study that tells nothing hardly counts. The initial design then takes three points that they
        predict to be good.

    Examples
    --------
    >>> import kernelbandits as kb
    >>> auto = kb.Auto(kb.Box((0.0,), (1.0,)), goal="find", seed=1)
    >>> for _ in range(12):
    ...     choice = auto.ask()
    ...     auto.tell(choice, -((choice.x[0] - 0.3) ** 2))
    >>> bool(abs(auto.recommend()[0] - 0.3) < 0.05)
    True
    """

    about = About(
        name="auto",
        title="Auto",
        family=CALIBRATED,
        paper="this package; the goal find plays expected improvement, averaged over fits, the "
        "goal earn the online knowledge gradient of Ryzhov, Powell and Frazier (2012), and with a "
        "width or an exploration law Generic-GP's rule with fitted scales",
        guarantee="none, except with width theory: what Whitehouse et al. prove, had kernel, "
        "centre, R and D been fixed beforehand",
        ours="everything: the model and its prior, the widths, the initial design",
        by_name_only=("delta",),
    )
    revision = 1
    takes_kernel = False
    learns_failures = True
    learns_errors = True
    learns_limits = True

    def __init__(
        self,
        domain: Playable[Point],
        *,
        goal: str | None = None,
        noise: float | None = None,
        rounds: int | None = None,
        exploration: Any = None,
        width: str | float | Width | None = None,
        delta: float = 0.1,
        prior: Prior | None = None,
        members: int | None = None,
        transform: bool | None = None,
        shared: bool = False,
        nu: float = 2.5,
        refits: Refits | None = None,
        first: int | None = None,
        opening: str = "random",
        safety: float = 2.0,
        seed: int = 0,
        ties: str = "random",
        earlier: Sequence[EarlierResults] = (),
    ) -> None:
        self.arguments = {
            "goal": goal,
            "noise": noise,
            "rounds": rounds,
            "exploration": exploration,
            "width": width,
            "delta": delta,
            "prior": prior,
            "members": members,
            "transform": transform,
            "shared": shared,
            "nu": nu,
            "refits": refits,
            "first": first,
            "opening": opening,
            "safety": safety,
            "seed": seed,
            "ties": ties,
            "earlier": earlier or None,
        }
        """The settings as they were given, by which `to_dict` describes the policy."""
        domain = as_domain("Auto", domain)
        if goal is None:
            goal = "find" if width is None and exploration is None else "earn"
        self.goal = checks.one_of("Auto", "goal", goal, GOALS)
        self.noise = None if noise is None else checks.nonnegative("Auto", "noise", noise)
        self.rounds = None if rounds is None else checks.whole("Auto", "rounds", rounds)
        for name, given in (("width", width), ("exploration", exploration)):
            belongs = self.goal == "earn" or given is None
            checks.needs(belongs, "Auto", f'no {name} with the goal "find"', given)
        self.looks_ahead = self.goal == "earn" and width is None and exploration is None
        """Whether the rule is mean + horizon * gain, and not an index with a width."""
        self.mode = check_width("practical" if width is None else width)
        coordinates = not (self.mode == "theory" and isinstance(domain, Arms) and domain.features)
        needed = 'arms with coordinates for width="theory"'
        checks.needs(coordinates, "Auto", needed, "arms known by their similarity")
        prior = default_prior(self.mode, nu, domain) if prior is None else prior
        checks.needs(isinstance(prior, Prior), "Auto", "a kb.calibration.Prior", prior)
        self.opening = checks.one_of("Auto", "opening", opening, OPENINGS)
        self.safety = checks.positive("Auto", "safety", safety)
        self.delta = checks.inside("Auto", "delta", delta)
        self.streams = Streams(seed)
        super().__init__(domain, Matern(1.0, 2.5), ridge=1.0, ties=ties, form=None)
        fitter = Fitter(
            self.domain,
            prior=prior,
            shared=shared,
            nu=nu,
            members=check_members(members, self.mode, self.finite),
            mean_known=self.mode == "theory",
            noise=self.noise,
            transform=check_transform(
                transform, self.goal == "find" or self.looks_ahead, self.mode
            ),
            completion=complete_rows(
                check_earlier(earlier, self.domain, self.mode), self.domain, nu
            ),
        )
        if refits is None:
            many = self.goal == "find" and not self.finite and len(fitter.blocks) >= MANY
            refits = Refits(growth=GROWTH_OF_MANY if many else GROWTH, first=1)
        checks.needs(isinstance(refits, Refits), "Auto", "a kb.calibration.Refits", refits)
        self.learner = Learner(fitter, refits, self.streams.seed)
        self._users = OneThread()
        if self.working_set is not None:
            self._all_arms = None
        self._scored: tuple[Any, tuple[Any, ...], ArmScores] | None = None
        """A posterior with pending rewards imagined, the numbers of rewards, and the scores."""
        self._restricted: tuple[Any, Auto[Point]] | None = None
        """The policy on the working set of the last ask that had one of its own (`restrict_to`)."""
        self.first = self._initial_size() if first is None else checks.whole("Auto", "first", first)
        if not self.finite and (self.goal == "find" or self.looks_ahead):
            self.search_effort = BOX_EFFORT
        self.exploration = Exploration.of(PointMass(1.0) if exploration is None else exploration)
        if self.exploration.arguments == 0:
            self._check_optimism(self.exploration.source)
        self._rule: FittedRule | None = None
        """What followed from the fit when it was last asked for."""

    def limited_by(self, *outcomes: LimitedOutcome) -> Auto[Point]:
        """Return this policy, with the same results, as it plays while outcomes have limits.

        It looks for the best place where all of them are met: what a place is expected to add to
        the best estimate counts times the probability that it is feasible, by the policies that
        learn the outcomes. The best estimate is that of the places that were measured and meet all
        limits with probability 0.9. While there is none, it looks for a feasible place first. What
        it recommends is the best of these places, or the one that is most probably feasible
        (`feasibility` states the probability). A result that is told to either policy is known to
        both.

        Examples
        --------
        >>> import kernelbandits as kb
        >>> box = kb.Box((0.0,), (1.0,))
        >>> gain, haze = kb.Auto(box, seed=1), kb.Auto(box)
        >>> policy = gain.limited_by(kb.policies.LimitedOutcome(haze, high=0.25))
        >>> for _ in range(12):
        ...     choice = policy.ask()
        ...     policy.tell(choice, choice.x[0])
        ...     haze.tell(choice, choice.x[0] ** 2)
        >>> bool(0.45 < policy.recommend()[0] <= 0.5)
        True
        """
        owner = "limited_by"
        checks.needs(bool(outcomes), owner, "at least one kb.policies.LimitedOutcome", outcomes)
        for outcome in outcomes:
            given = isinstance(outcome, LimitedOutcome) and isinstance(outcome.policy, Auto)
            checks.needs(given, owner, "kb.policies.LimitedOutcome of a kb.Auto each", outcome)
        self._check_beside(owner, [outcome.policy for outcome in outcomes])
        policy = copy.copy(self)
        policy.outcomes, policy._scored, policy._pending = outcomes, None, PendingCache()
        return policy

    def trading_off(
        self, *objectives: Auto[Point], reference: Sequence[float] | None = None
    ) -> Auto[Point]:
        """Return this policy, with the same results, as it plays for the front of objectives.

        The front is the set of places that no other place beats in all objectives. It looks for the
        place whose rewards are expected to raise the hypervolume of the front most, by this policy
        and those that learn the other objectives. Rewards are maximised: of an objective that is to
        be small, tell the negative value. `front` returns the answer. `limited_by` may follow: then
        only places count that meet the limits. A result that is told to any of the policies is
        known to all.

        Parameters
        ----------
        objectives
            One to three other `kb.Auto` on the same domain, each of which is told the rewards of
            its objective for every choice.
        reference
            A reward of each objective, this policy's first, that is worth nothing: only places
            count that are better in all objectives. Without it that is the worst reward measured,
            and the ends of the front are looked for as well as its middle.

        Examples
        --------
        >>> import kernelbandits as kb
        >>> box = kb.Box((0.0,), (1.0,))
        >>> gain, cost = kb.Auto(box, seed=1), kb.Auto(box)
        >>> policy = gain.trading_off(cost)
        >>> for _ in range(12):
        ...     choice = policy.ask()
        ...     gain.tell(choice, -((choice.x[0] - 0.2) ** 2))
        ...     cost.tell(choice, -((choice.x[0] - 0.6) ** 2))
        >>> front = policy.front()
        >>> all(0.19 < choice.x[0] < 0.61 for choice in front.choices), front.means.shape[1]
        (True, 2)
        """
        owner = "trading_off"
        most = MOST_OBJECTIVES - 1
        checks.needs(
            1 <= len(objectives) <= most, owner, f"1 to {most} other kb.Auto", len(objectives)
        )
        for other in objectives:
            checks.needs(isinstance(other, Auto), owner, "a kb.Auto for each objective", other)
        different = len({id(one.learner) for one in (self, *objectives)}) == len(objectives) + 1
        checks.needs(different, owner, "another policy for each objective", "one of them twice")
        self._check_beside(owner, objectives)
        policy = copy.copy(self)
        policy.objectives, policy._scored, policy._pending = objectives, None, PendingCache()
        if reference is not None:
            values = tuple(checks.reward(value) for value in reference)
            needed = f"a reference of {len(objectives) + 1} rewards"
            checks.needs(len(values) == len(objectives) + 1, owner, needed, reference)
            policy.reference = values
        return policy

    def _check_beside(self, owner: str, others: Sequence[Policy[Any]]) -> None:
        """Check that other policies have learnt what can be searched together with the rewards."""
        checks.needs(self.goal == "find", owner, 'the goal "find"', self.goal)
        beside = isinstance(self.domain, Contextual)
        checks.needs(not beside, owner, "a domain without contexts", self.domain)
        for other in others:
            there = other.domain
            same = there is self.domain or type(there) is type(self.domain)
            if same and isinstance(there, Arms):
                same = np.array_equal(there.points, self.domain.points)
            elif same:
                same = there == self.domain
            checks.needs(same, owner, f"outcomes on {self.domain}", there)
            whole = self.working_set is None and other.working_set is None
            checks.needs(whole, owner, "no more than 100 000 arms", there)

    def _initial_size(self) -> int:
        """Return how many choices the initial design has.

        On a box the best answer may be far from the first good one, and a larger design misses it
        less often.
        """
        if self.goal == "find" and not self.finite and self.learner.fitter.completion is None:
            return len(self.learner.fitter.blocks) + 2
        return FIRST

    # ------------------------------------------------------------------ asking

    @by_one_thread
    def ask(
        self,
        t: int | None = None,
        rng: Any = None,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
        costs: Any = None,
    ) -> Choice[Point]:
        """Return the choice of round t; without t that of the next round.

        Without `rng` the randomness is that of the policy's seed. With `costs` the initial design
        takes only arms that cost no more than the median of those allowed. All else is as for every
        policy (`Policy.ask`).
        """
        turn = self._next_round(pending) if t is None else t
        randomness = self.streams if rng is None else rng
        policy = self
        if self.working_set is not None:
            waiting = [self._place_of(choice) for choice in check_pending(pending)]
            policy = self.restrict_to(arms, waiting)
        return IndexPolicy.ask(
            policy, turn, randomness, pending=pending, context=context, arms=arms, costs=costs
        )

    @by_one_thread
    def batch(
        self,
        n: int,
        t: int | None = None,
        rng: Any = None,
        *,
        pending: Sequence[Choice] = (),
        context: Any = None,
        arms: Any = None,
        costs: Any = None,
    ) -> tuple[Choice[Point], ...]:
        """Return the choices of rounds t, ..., t + n - 1; without t those of the next n rounds."""
        turn = self._next_round(pending) if t is None else t
        randomness = self.streams if rng is None else rng
        return super().batch(
            n, turn, randomness, pending=pending, context=context, arms=arms, costs=costs
        )

    def _next_round(self, pending: Sequence[Choice]) -> int:
        return self.turn + len(check_pending(pending))

    def _round(self, t: int, randomness: Any, options: Any) -> Round:
        now = super()._round(t, randomness, options)
        if not self.finite:
            part = isinstance(options.arms, Part)
            check_coordinates(now.place.context, None if part else options.arms)
        if self.working_set is None:
            return now
        place = self._list_compared(now.place)
        costs = None if now.costs is None else now.costs[self.working_set.numbers]
        return Round(t, randomness, self.ties, self.posterior, place, now.view, costs)

    def _list_compared(self, place: Place) -> Place:
        """Return those of the arms in a place that are in the working set, by their positions."""
        chosen = self.working_set
        if chosen is None or not isinstance(place, ArmList):
            return place
        if place.numbers is None:
            return ArmList(chosen.arms.points, None)
        return list_arms(chosen.arms, chosen.allowed_positions(place.numbers))

    @single_threaded
    def restrict_to(self, arms: Any = None, pending: Sequence[int] = ()) -> Auto[Point]:
        """Return this policy, or a copy with a working set for these arms and these pending.

        A copy is needed where arms are pending that are not in the working set, and where few of
        the arms allowed are. It is kept until anything changes; nothing may be told to it.
        """
        if self.working_set is None:
            return self
        allowed = None if arms is None else arm_numbers(arms, len(self.domain))
        chosen = self.learner.find_working_set(pending, allowed)
        if chosen is self.working_set:
            return self
        key = self.rewards.events, len(self.failed), chosen.numbers.tobytes()
        known = self._restricted
        if known is None or known[0][0] is not self.calibration or known[0][1:] != key:
            other = copy.copy(self)
            other._pending = PendingCache()
            other.learner = self.learner.on_working_set(chosen)
            self._restricted = known = (self.calibration, *key), other
        return known[1]

    def choose(self, now: Round) -> Choice[Point]:
        """Return a choice of the initial design, or the maximiser of the index."""
        choice = self._choose_place(now)
        if self.outcomes:
            choice = replace(choice, note={**choice.note, "feasible": self.feasibility(choice)})
        if self.failed:
            choice = self._note_success(choice, now)
        if self.working_set is None:
            return choice
        assert choice.arm is not None
        # Until here arms were numbered by their positions in the working set.
        arm = int(self.working_set.numbers[choice.arm])
        note = {**choice.note, "working_set": float(len(self.working_set))}
        return replace(choice, x=self.domain.points[arm], arm=arm, note=note)

    def _note_success(self, choice: Choice[Point], now: Round) -> Choice[Point]:
        """Return a choice whose note says how probably it succeeds, and what it adds then."""
        success = self._success()
        place: Any = choice.arm if self.finite else self._place_of(choice)
        note = {"success": float(success.chances(np.array([place]))[0])}
        if self.goal == "earn" and "first" not in choice.note:
            plain = self._plain_acquisition(now)
            if self.finite:
                score = plain.score(self.posterior.means, now.sds)[place]
                mean = self.posterior.mean[place]
            else:
                score = Surface(now.posterior, plain).values(place[None])[0]
                mean = now.posterior.at(place[None])[0][0]
            note |= plain.note(float(score), float(mean), self.units)
        return replace(choice, note={**choice.note, **note})

    def _success(self) -> SuccessModel:
        """Return the model of success; there must be a failure."""
        success = self.learner.success
        assert success is not None
        return success

    def _choose_place(self, now: Round) -> Choice[Point]:
        known = self.rewards.events + len(now.pending_places)
        unknown = not all(one.n_rewards for one in self._policies_beside())
        if not self.rewards.events or known < self.first or unknown:
            return self._choose_initial(now)
        location = self._find_lone_place(now)
        if location is not None:
            return self._choose_location(location, now, {"alone": 1.0})
        if self.goal == "find" and now.place.context is None and not self._is_ending(now):
            if self.finite:
                return self._draw_arm(now)
            if is_listed(now.place):
                return self._draw_point(now)
            location = self._draw_untried(now.place, now) if self._ignores_model(now) else None
            if location is not None:
                return self._choose_location(location, now, {"drawn": IGNORED})
        choice = super().choose(now)
        # Without noise one reward is enough, and a point that was played has nothing to add.
        noisy = self.calibration.noise_variance > NOISELESS
        if self.goal == "earn" and noisy and isinstance(now.place, Region) and now.view is None:
            return self._repeat_nearby(choice, now)
        return choice

    def _policies_beside(self) -> list[Policy[Any]]:
        """Return the policies of other objectives and of limited outcomes."""
        return [*self.objectives, *(outcome.policy for outcome in self.outcomes)]

    def acquisition(self, now: Round) -> Acquisition:  # type: ignore[override]
        """Return what is maximised: improvement, mean + horizon gain, or mean + w_t width_t sd.

        Where costs differ, the goal earn plays the index: an arm far cheaper than the best is worth
        playing while it may be as good, which the width says and the gain of one reward does not.
        With the goal earn a failure counts as the least mean reward; with the goal find it adds
        nothing.
        """
        plain = self._plain_acquisition(now)
        if self.goal == "find" or not self.finite or not self.failed:
            return plain
        means, sds = self.posterior.means, now.sds
        logs = self._log_success(np.arange(means.shape[1]))
        return ArmScores(weigh_scores(plain.score(means, sds), logs, self._least_reward()), plain)

    def _least_reward(self) -> float:
        """Return the least mean reward of a point, in the units of the posterior."""
        return float((self.rewards.sums_in(self.units) / self.rewards.counts).min())

    def _log_success(self, places: Any) -> Array:
        """Return the logarithms of the probabilities of success at places; 0 if nothing failed."""
        success = self.learner.success
        return np.zeros(len(places)) if success is None else success.log_chances(places)

    def _log_worth(self, places: Any) -> Array:
        """Return what success at places counts for in a search (`SuccessModel.worth`)."""
        success = self.learner.success
        return np.zeros(len(places)) if success is None else success.score(success.worth, places)

    def _hopeless_arms(self) -> Indices:
        """Return the first arms at points that have failed and probably will again.

        They come after arms where a measurement is known to tell nothing.
        """
        success = self.learner.success
        if success is None:
            return np.empty(0, dtype=np.int64)
        arms = self.learner.arms.index.find(success.failed_points)
        unlikely = success.log_chances(arms) < math.log(success.worth.least)
        return np.asarray(arms[unlikely], dtype=np.intp)

    def _plain_acquisition(self, now: Round) -> Acquisition:
        """Return what is maximised where no measurement fails."""
        priced = now.costs is not None and np.ptp(now.costs) > 0
        if self.goal == "earn" and (priced or not self.looks_ahead):
            return super().acquisition(now)
        if self.finite:
            return self._score_lookahead(now) if self.looks_ahead else self._score_improvement(now)
        if self.objectives:
            return front.improve_front(self, now)
        if self.outcomes:
            return self._limited_improvement(now)
        best = self._best_estimates(now.place.context)
        if now.pending_places:
            # A pending reward counts as its own estimate, so that a batch spreads.
            best = np.maximum(best, self.posterior.members_at(now.pending_places)[0].max(1))
        if self.looks_ahead:
            horizon = self._horizon(now.t)
            return Lookahead(best, self.learner.noises, horizon, self._highest_estimate())
        return LogExpectedImprovement(
            best,
            from_best=self._improves_on_difference(now),
            highest=self._highest_estimate(),
        )

    def _limited_improvement(self, now: Round) -> Acquisition:
        """Return the improvement over the best feasible point of a box, or none.

        A pending reward counts as its own estimate, and so does a pending outcome.
        """
        logs = log_feasibility(self.outcomes, now.posterior.points, now.pending_places)
        feasible = find_feasible(logs)
        if not len(feasible):
            return Feasibility()
        means = now.posterior.played_means[:, feasible]
        return LogExpectedImprovement(
            means.max(1),
            from_best=self._improves_on_difference(now),
            among=feasible,
            highest=float(means.mean(0).max()),
        )

    def _surface(self, acquisition: Acquisition, now: Round) -> Any:
        """Return the acquisition, with the probabilities of success and of limited outcomes."""
        surface: Any = super()._surface(acquisition, now)
        if self.goal == "earn":
            return self._weigh_surface(surface)
        if isinstance(acquisition, front.FrontImprovement):
            surface = front.FrontSurface(front.view_posteriors(self, now), acquisition)
        chances: list[Surface | SummedSurface] = []
        if self.failed:
            chances.append(self._success().worth_surface(isinstance(now.place, ArmList)))
        chances += [outcome.surface(now.pending_places) for outcome in self.outcomes]
        return SummedSurface([surface, *chances]) if chances else surface

    def _search_steps(self, acquisition: Acquisition) -> int:
        """Return fewer steps where measurements fail: the worth of trying is steep at a border."""
        steps = super()._search_steps(acquisition)
        return min(steps, STEPS_AMONG_FAILURES) if self.failed else steps

    def _weigh_surface(self, surface: Any) -> Any:
        """Return what is expected of a score where a failure counts as the least mean reward."""
        if not self.failed or not self.rewards.events:
            return surface
        chance = self._success().surface(exact=surface.exact)
        return WeighedSurface(surface, chance, self._least_reward())

    def _expected_reward(self) -> Any:
        """Return the estimate; where measurements fail, a failure counts as the least reward."""
        return self._weigh_surface(super()._expected_reward())

    def _played_points(self, place: Place) -> Array:
        """Return the points played, the front or the best of those that are feasible first."""
        if self.objectives and self.rewards.events:
            return front.sort_points(self)[:INCUMBENTS]
        if not self.outcomes or not self.rewards.events:
            return super()._played_points(place)
        points = self.posterior.points
        likely = log_feasibility(self.outcomes, points) >= math.log(LIKELY)
        order = np.lexsort((-self.posterior.played_means.mean(0), ~likely))
        return np.asarray(points[order][:INCUMBENTS])

    def _draw_arm(self, now: Round) -> Choice[Point]:
        """Draw an arm, with a probability in proportion to the 20th power of what it adds.

        A model can predict most rewards well and still look in the wrong place: rows about 0.7 on
        which it agrees with itself, and a few about 1 elsewhere. Its own evidence does not show
        that. Drawn so, arms that are expected to add about the same all have their turn, as from a
        hat where the model tells nothing apart. Where one is expected to add noticeably more than
        all others, it is chosen nearly always (docs/decisions/0029).
        """
        acquisition, mean = self._score_improvement(now), self.posterior.mean
        numbers = now.place.numbers if isinstance(now.place, ArmList) else None
        allowed = np.arange(len(mean)) if numbers is None else numbers
        worth = acquisition.scores[allowed]
        if now.costs is not None:
            worth = acquisition.worth(worth, mean[allowed], now.costs[allowed])
        position, chance = draw_by_worth(worth, now.draw_weight())
        arm = int(allowed[position])
        note = acquisition.note(acquisition.scores.item(arm), mean.item(arm), self.units)
        return self._choice_of_arm(arm, now.sd, now, {**note, "draw_chance": chance})

    def _draw_point(self, now: Round) -> Choice[Point]:
        """Draw a point of a space that can be listed, by the same rule as an arm."""
        place: Any = now.place
        rows = place.complete(place.box.all_rows())
        tried = np.array([*self.rewards.points, *now.pending_places])
        allowed, seen = set(row_keys(rows)), dict(zip(row_keys(tried), tried, strict=True))
        # What was measured outside the part of the space that is allowed counts for the best.
        every = np.array([*rows, *(row for key, row in seen.items() if key not in allowed)])
        keys = row_keys(every)
        known = np.flatnonzero([key in seen for key in keys])
        means, sds = now.posterior.members_at(every)
        logs = log_feasibility(self.outcomes, every, now.pending_places)
        feasible = known[find_feasible(logs[known])]
        acquisition: Acquisition
        if self.objectives and len(feasible):
            scores, acquisition = front.score_rows(self, now, every, known, feasible)
            settled: set[bytes] = set()
        else:
            scores = self._score_feasible(means, sds**2, known, feasible)
            settled = {*row_keys(self.rewards.points[self._settled_best()])}
            if not len(feasible):
                counts = map(self.rewards.count_in, range(len(self.rewards)))
                often = np.flatnonzero([count > CONFIRMED for count in counts])
                settled |= {*row_keys(self.rewards.points[often])}
            acquisition = self._improvement_among(means, feasible)
        scores = scores + logs + self._log_worth(every)
        scores[[key in settled for key in keys]] = NO_CHANCE
        position, chance = draw_by_worth(scores[: len(rows)], now.draw_weight())
        note = acquisition.note(scores.item(position), means[:, position].mean(), self.units)
        location = place.location(rows[position][place.columns])
        return self._choice_at(location, now, {**note, "draw_chance": chance})

    def _settled_best(self) -> Indices:
        """Return the positions of the points where another reward is expected to be the same.

        They have the greatest reward, and it came again (`NoiseEvidence.settled_best`). A noise
        that was given is there, whatever the rewards say.
        """
        if self.noise is not None and self.noise > 0:
            return np.empty(0, dtype=np.int64)
        return np.flatnonzero(self.learner.noise_evidence().settled_best)

    def _ignores_model(self, now: Round) -> bool:
        """Tell whether this round takes a point of a box at random, in case the model misleads.

        Without noise the model leads to the optimum by ever smaller steps, and random points are no
        hedge worth their price (docs/decisions/0029).
        """
        noisy = self.calibration.noise_variance > NOISY
        return noisy and now.randomness.uniform("weight", now.t) < IGNORED

    def _find_lone_place(self, now: Round) -> Location | None:
        """Return the place of the best estimate if it leads by a single result (`stands_alone`).

        It is measured again before anything else: its result may be false, and then it misleads the
        search and the answer. Where results are known to repeat exactly, that would tell nothing,
        and neither on a box whose rewards show no noise.
        """
        if self.goal != "find" or self.noise == 0 or now.place.context is not None:
            return None
        if self.objectives:
            return None
        unseen = not self.finite and self.calibration.noise_variance <= NOISY
        if self.noise is None and unseen:
            return None
        slots = np.arange(len(self.rewards))
        if self.outcomes:
            places = self.learner.first_arms() if self.finite else self.rewards.points
            slots = find_feasible(log_feasibility(self.outcomes, places))
            if not len(slots):
                return None
        slot = int(slots[self._estimate_measured()[slots].argmax()])
        if self.rewards.count_in(slot) > CONFIRMED or not stands_alone(
            *results_at(self.rewards, slot)
        ):
            return None
        if self.learner.noise_evidence().repeats_are_equal:
            return None
        return self._locate_again(self.rewards.points[slot], now)

    def _estimate_measured(self) -> Array:
        """Return the estimate at each point with rewards, in the order of their first one."""
        if self.finite:
            return np.asarray(self.posterior.mean[self.learner.first_arms()])
        return np.asarray(self.posterior.at(self.rewards.points)[0])

    def _locate_again(self, point: Array, now: Round) -> Location | None:
        """Return the place of a point that was played; None if it is pending or not allowed."""
        place = now.place
        if isinstance(place, ArmList):
            arm = int(self.learner.arms.index.find(point[None])[0])
            allowed = np.arange(len(place.rows)) if place.numbers is None else place.numbers
            if arm in now.pending_places or arm not in allowed:
                return None
            return list_arms(self.learner.arms, np.array([arm])).location(0)
        location = place.location(point[place.columns])
        if any((location.row == row).all() for row in now.pending_places):
            return None
        return location if (location.row == point).all() else None

    def _draw_untried(self, place: Place, now: Round) -> Location | None:
        """Draw a location that was not tried; None if those drawn were all tried."""
        tried = {*row_keys(self._tried_points(now))}
        offers = draw_locations(place, now.t, now.randomness)
        fresh = (one for one in offers if row_keys(one.row[None])[0] not in tried)
        return next(fresh, None)

    def _improves_on_difference(self, now: Round) -> bool:
        """Tell whether improvement on a box is that of the estimate over the one at the best point.

        The expected improvement of f at the best point over its own estimate is 0.4 sd, and that of
        its neighbours is about the same. Under noise a search then measured one place again and
        again, 46 times of 60 on one function. A reward there moves both estimates, and what it
        changes in their difference is 0 at the point and small around it. It is needed as well
        where rewards repeat: a corner that gives the same greatest reward may be a limit of
        detection, and lowers no noise (`NoiseEvidence`). Without noise a point is not measured
        twice anyway, except in a space whose points cannot come closer to the best one. In a
        context the best point is none that was played.
        """
        if now.place.context is not None:
            return False
        if isinstance(self.domain, MixedBox) and math.isfinite(self.domain.count):
            return True
        noisy = self.calibration.noise_variance > NOISY
        return noisy or bool(self.learner.noise_evidence().equal_points.any())

    def _highest_estimate(self) -> float:
        """Return the highest estimate at a place with rewards, in the units of the posterior."""
        if self.finite:
            return float(self.posterior.mean[self.learner.measured_arms()].max())
        return float(self.posterior.played_means.mean(0).max())

    def _best_estimates(self, context: Array | None) -> Array:
        """Return the best estimate of the points played by each member, (M,).

        In another context the same points may be far better or worse, and cannot be chosen now: it
        is that in the context of the round.
        """
        if context is None:
            return np.asarray(self.posterior.best_estimates())
        rows = self.rewards.points.copy()
        rows[:, rows.shape[1] - len(context) :] = context
        return np.asarray(self.posterior.members_at(rows)[0].max(1))

    def _score_improvement(self, now: Round) -> ArmScores:
        """Return ln of the expected improvement that measuring an arm brings, over all members.

        The scores are kept: an ask that differs from the last one in its allowed arms only has the
        same.
        """
        told = (one.n_rewards for one in self._policies_beside())
        turn = now.t if self.objectives else 0
        key = len(self.learner.results), self.posterior.events, now.posterior.events, turn, *told
        known = self._scored
        if known is None or known[0] is not now.posterior or known[1] != key:
            means, seen = self.posterior.means, self._arms_seen(now)
            arms = np.arange(means.shape[1])
            logs = log_feasibility(self.outcomes, arms, now.pending_places)
            feasible = seen[find_feasible(logs[seen])]
            acquisition: Acquisition
            settled = np.empty(0, dtype=np.intp)
            if self.objectives and len(feasible):
                scores, acquisition = front.score_arms(self, now, seen, feasible)
            else:
                scores = self._score_feasible(means, now.posterior.variances, seen, feasible)
                settled = self.learner.first_arms()[self._settled_best()]
                if not len(feasible):
                    often = np.flatnonzero(self.learner.arm_counts() > CONFIRMED)
                    settled = np.union1d(settled, often)
                acquisition = self._improvement_among(means, feasible)
            scores = scores + logs + self._log_worth(arms)
            first = self.learner.arms.index.first
            scores[np.isin(first, self._hopeless_arms())] = LAST
            scores[np.isin(first, settled)] = NO_CHANCE
            known = self._scored = now.posterior, key, ArmScores(scores, acquisition)
        return known[2]

    def _score_feasible(
        self, means: Array, variances: Array, seen: Indices, feasible: Indices
    ) -> Array:
        """Return ln of the improvement over what is feasible; 0 where nothing is known to be."""
        if not len(feasible):
            return np.zeros(means.shape[1])
        return score_improvement(means, variances, self.learner.noises, seen, feasible)

    def _improvement_among(self, means: Array, feasible: Indices) -> Acquisition:
        """Return the acquisition whose scores are noted: improvement, or feasibility alone."""
        if not len(feasible):
            return Feasibility()
        highest = means[:, feasible].mean(0).max() if self.outcomes else self._highest_estimate()
        return LogExpectedImprovement(means[:, feasible].max(1), highest=float(highest))

    def _score_lookahead(self, now: Round) -> ArmScores:
        """Return mean + horizon * gain of each arm, averaged over the members (`Lookahead`)."""
        noises, horizon = self.learner.noises, self._horizon(now.t)
        means, variances = self.posterior.means, now.posterior.variances
        scores = score_lookahead(means, variances, noises, self._arms_seen(now), horizon)
        best = self.posterior.best_estimates()
        return ArmScores(scores, Lookahead(best, noises, horizon, self._highest_estimate()))

    def _arms_seen(self, now: Round) -> Indices:
        """Return the arms that were measured or are pending.

        The posterior has learnt a reward of each: that of a pending arm is its estimate.
        """
        return np.union1d(self.learner.measured_arms(), now.pending_places).astype(np.intp)

    def _horizon(self, t: int) -> float:
        """Return for how many rounds it counts what the reward of round t teaches.

        Of many rounds that are left these are all, of 100 a third. The gain takes one reward for
        the last one, though later ones teach much of the same: in a short game so long a look ahead
        costs more than it finds, in a long one it finds arms that are missed else. Where nobody
        knows how many rounds there are, it is as many as were played; so too after the last of
        `rounds`, which were fewer than there are. A fixed number would stop exploring for good: an
        arm that is worth looking at for the next 1000 rounds may not be worth it for the next 10,
        and the regret would grow linearly. It was raced against other horizons and exploration laws
        (docs/decisions/0033).
        """
        if self.rounds is not None and t <= self.rounds:
            left = self.rounds - t
            return float(min(left, max(FEW_LEFT, left * left // MANY_LEFT)))
        return float(max(LEAST_TOTAL - t, t))

    def _is_ending(self, now: Round) -> bool:
        """Tell whether this is one of the last tenth of the rounds; after them nobody knows."""
        return self.rounds is not None and 0 <= self.rounds - now.t < max(1, self.rounds // 10)

    def _repeat_nearby(self, choice: Choice, now: Round) -> Choice[Point]:
        """Return the choice, or the point played that is almost the same."""
        # Two rewards at one point show the noise. Two rewards at points very close to each other do
        # not: their difference may be noise or a short lengthscale.
        played, here = self._played_points(now.place), self._place_of(choice)
        squares = (
            ((played - here) / self.learner.fitter.own_lengthscales(self.learner.fit)) ** 2
        ).sum(1)
        nearest = int(squares.argmin())
        if not 0 < squares[nearest] < NEAR**2:
            return choice
        region: Any = now.place
        row = played[nearest, region.columns]
        if region.part is not None and (region.complete(row[None]) != played[nearest]).any():
            return choice  # That point is not in the part of the domain that is played.
        location, acquisition = region.location(row), self.acquisition(now)
        score = float(Surface(now.posterior, acquisition).values(location.row[None])[0])
        mean = float(now.posterior.at(location.row[None])[0][0])
        note = {**choice.note, **acquisition.note(score, mean, self.units), "repeats": 1.0}
        return self._choice_at(location, now, note)

    def _choose_initial(self, now: Round) -> Choice[Point]:
        """Return a choice of the initial design; where costs count, one that costs little.

        With the goal find, arms come from a hat. Arms far from each other lie at the edge of the
        table, and where the edge is poor they find less than a hat does (docs/decisions/0029).
        """
        place = now.place if now.costs is None else self._cheap_arms(now.place, now.costs)
        promising = self._locate_promising(place, now)
        if promising is not None:
            return self._choose_location(promising, now, {"first": 1.0, "earlier": 1.0})
        hat = self.goal == "find" and self.finite and self.opening == "random"
        location = self._draw_untried(place, now) if hat and now.place.context is None else None
        if location is None:
            tried, sides = self._tried_points(now), self._own_sides(place)
            location = design_location(place, tried, sides, now.t, now.randomness, self.opening)
        return self._choose_location(location, now, {"first": 1.0})

    def _locate_promising(self, place: Place, now: Round) -> Location | None:
        """Return a location that an earlier study predicts to be good; each has its turn.

        None where there is no such study, where it predicts the same everywhere, and where as many
        measurements as the initial design has have failed: what it calls good may never succeed.
        """
        if not self.predictions or len(self.failed) >= self.first:
            return None
        tried = self._tried_points(now)
        prediction = self.predictions[len(tried) % len(self.predictions)]
        if prediction.is_flat:
            return None
        u = now.randomness.uniform("tie", now.t)
        return promising_location(place, prediction, tried, self._own_sides(place), self.ties, u)

    def _choose_location(
        self, location: Location, now: Round, reason: dict[str, float]
    ) -> Choice[Point]:
        """Return the choice of a location that no score has chosen, and the reason in its note."""
        note = {**self._note_location(location, now), **reason, **now.note(location.arm)}
        return Choice(location.x, location.arm, note, now.place.context)

    def _cheap_arms(self, place: Place, costs: Array) -> Place:
        """Return the allowed arms that cost no more than their median."""
        numbers = place.numbers if isinstance(place, ArmList) else None
        allowed = np.arange(len(costs)) if numbers is None else numbers
        cheap = costs[allowed] <= np.median(costs[allowed])
        return list_arms(self.learner.arms, allowed[cheap])

    def _tried_points(self, now: Round) -> Array:
        """Return the points with rewards, those that failed and those pending."""
        failed, pending = self.failed, now.pending_places
        if self.finite:
            failed = [self.domain.points[arm] for arm in failed]
            pending = [self.learner.arms.points[arm] for arm in pending]
        return np.array([*self.rewards.points, *failed, *pending])

    def _own_sides(self, place: Place) -> Array:
        """Return the sides of what is chosen, without those of the context."""
        context = 0 if place.context is None else len(place.context)
        sides = self.learner.fitter.sides(self.rewards)
        return sides[: self.domain.dimension - context]

    def _view_pending(self, pending: Sequence[Choice]) -> PendingView:
        """Return what is known with the pending rewards imagined.

        A practical width claims nothing that pending rewards could break: it is not inflated.
        """
        places, inflate = self._pending.places_of(self, pending), self.mode == "theory"
        if self.working_set is not None:
            places = self.working_set.positions(places).tolist()
        return view_pending(self.posterior, places, inflate=inflate, cache=self._pending)

    # ------------------------------------------------------------------ learning

    @by_one_thread
    def tell(self, choice: Choice, reward: float) -> None:
        """Learn the reward of a choice; a refused one changes nothing."""
        self.learner.learn([self._check_result("tell", choice, checks.reward(reward))])

    @by_one_thread
    @single_threaded
    def tell_all(self, pairs: Sequence[tuple[Choice, float | None]]) -> None:
        """Learn many rewards: the state is that of telling them one by one, bit by bit.

        A reward of None stands for a failure (`fail`). A pair that `tell` would refuse is refused
        in its place, in the same words; those before it are learnt.
        """
        checked: list[Observation] = []
        try:
            for choice, reward in check_pairs(pairs):
                owner, given = ("fail", None) if reward is None else ("tell", reward)
                place = self._check_choice(owner, choice)
                checked.append(
                    Observation.of(place, None if given is None else checks.reward(given))
                )
        finally:
            self.learner.learn(checked)

    def tell_in_blocks(self, pairs: Sequence[tuple[Choice, float | None]]) -> None:
        """Learn many rewards, as `tell_all`: its checkpoints are blocks already."""
        self.tell_all(pairs)

    @by_one_thread
    def fail(self, choice: Choice) -> None:
        """Record that the choice gave no reward. It says nothing of the reward, and changes no fit.

        It says where measurements succeed: from results and failures the policy learns the
        probability of success (`success_chance`), by which it multiplies what a measurement adds.
        Failures that hang on nothing are bad luck: then the probability is the same everywhere, and
        the choices are as if nothing had failed.
        """
        self.learner.learn([self._check_result("fail", choice, None)])

    def _check_result(self, owner: str, choice: Choice, reward: float | None) -> Observation:
        return Observation.of(self._check_choice(owner, choice), reward)

    # ------------------------------------------------------------------ what follows from the fit

    @property
    def width(self) -> Width:  # type: ignore[override]
        """The width of the index under the last fit."""
        return self._fitted_rule().width

    @property
    def settings(self) -> dict[str, Any]:
        """What is played, as it was given and as it follows from the last fit."""
        # Its parents state settings before there is a learner.
        return self._fitted_rule().settings if hasattr(self, "learner") else self._stated

    @settings.setter
    def settings(self, stated: dict[str, Any]) -> None:
        self._stated = stated

    def _fitted_rule(self) -> FittedRule:
        """Return what follows from the last fit, and from the number of failures."""
        fit, failures, rule = self.learner.fit, len(self.failed), self._rule
        if rule is None or rule.fit is not fit or rule.failures != failures:
            width, claim = self._fit_width()
            settings = self._stated | {"goal": self.goal, **claim}
            settings |= {
                "width": width.rule,
                "exploration": self._describe_exploration(),
                "gain": "none",
                "ridge": ridge_of(fit.members[0]),
                "calibration": self.calibration.sentence(),
            }
            rule = self._rule = FittedRule(fit, failures, width, settings)
        return rule

    def _describe_exploration(self) -> str:
        if self.goal == "find":
            return "expected improvement, averaged over fits"
        if self.looks_ahead:
            return "online knowledge gradient, averaged over fits"
        return repr(self.exploration.source)

    def _fit_width(self) -> tuple[Width, dict[str, Any]]:
        """Return the width that belongs to the fit, and what is claimed of it."""
        if isinstance(self.mode, Width):
            reason = "the confidence width was chosen by benchmark"
            if self.goal == "find":
                reason = "the goal is the best answer in the end, not a small regret on the way"
            elif self.looks_ahead:
                reason = "the rule looks ahead by fitted scales, without a confidence width"
            return self.mode, {"claim": f"none: {reason}"}
        bound = self.learner.norm_bound(self.safety)
        noise = self.safety * self.calibration.noise_scale
        constants = f"R = {noise:.3g} (units of the rewards) and D = {bound:.3g} (signal sd)"
        failed = f" and {len(self.failed)} choices not failed" if self.failed else ""
        radius = self.safety * self.calibration.signal_noise_scale
        width = widths.self_normalised(radius, bound, self.calibration.signal_ridge, self.delta)
        return width, {
            "claim": "conditional: it would hold had kernel, centre, "
            f"{constants} been fixed beforehand{failed}",
            "norm_bound": bound,
            "noise_scale": noise,
            "delta": self.delta,
            "safety": self.safety,
        }

    # ------------------------------------------------------------------ the policy as data

    @by_one_thread
    def to_dict(self) -> dict[str, Any]:
        """Return the policy as plain values for JSON; `Auto.from_dict` gives it back.

        It contains the domain, the settings, and all rewards and failures in order. The policy that
        is read back asks exactly what this one would ask. A width or a schedule of your own that is
        a function cannot be written.

        >>> import json
        >>> import kernelbandits as kb
        >>> auto = kb.Auto({"rate": kb.Real(1e-5, 0.1, log=True)}, goal="find", seed=1)
        >>> for reward in (0.3, 0.7, 0.5):
        ...     auto.tell(auto.ask(), reward)
        >>> again = kb.Auto.from_dict(json.loads(json.dumps(auto.to_dict())))
        >>> again.ask() == auto.ask()
        True
        """
        beside = self._policies_beside()
        needed = "a policy without limited outcomes or other objectives (each is written by itself)"
        checks.needs(not beside, "Auto.to_dict", needed, beside)
        given = {name: value for name, value in self.arguments.items() if value is not None}
        return {
            "policy": "auto",
            "revision": self.revision,
            "domain": CODEC.encode(self.domain),
            "settings": CODEC.encode_settings("Auto.to_dict", given),
            "events": [
                [
                    result.place if self.finite else result.place.tolist(),
                    result.value,
                    *(one for one in (result.sem, result.side) if one is not None),
                ]
                for result in self.learner.results
            ],
        }

    @classmethod
    def from_dict(cls, described: Any) -> Auto[Point]:
        """Return the policy that `to_dict` has described."""
        parts = ("policy", "revision", "domain", "settings", "events")
        given = isinstance(described, Mapping) and set(described) == set(parts)
        checks.needs(given, "Auto.from_dict", f"a mapping with {parts}", described)
        known = described["policy"] == "auto" and isinstance(described["settings"], Mapping)
        checks.needs(known, "Auto.from_dict", "the settings of auto", described["policy"])
        domain, settings = CODEC.decode(described["domain"]), CODEC.decode(described["settings"])
        try:
            policy = cls(domain, **settings)
        except TypeError as error:
            raise ValueError(f"Auto.from_dict needs the settings of auto, got {error}") from None
        if described["revision"] != cls.revision:
            text = (
                f"Auto: revision {cls.revision} reads what revision {described['revision']!r} has "
                "written, and may choose differently"
            )
            warnings.warn(text, DataNotice, stacklevel=2)
        policy._learn_events(described["events"])
        return policy

    @single_threaded
    def _learn_events(self, events: Any) -> None:
        """Learn the rewards and failures that `to_dict` has written."""
        results: list[Observation] = []
        checks.needs(isinstance(events, list), "Auto.from_dict", "a list of events", events)
        for event in events:
            paired = isinstance(event, (list, tuple)) and len(event) in (2, 3)
            checks.needs(paired, "Auto.from_dict", "events [place, reward] or with a sem", event)
            place, reward, *error = event
            if error and reward is not None:
                limited = isinstance(error[0], str)
                reward = (Censored if limited else Measurement)(reward, error[0])
            if self.finite:
                place = int(self.choice(place).arm or 0)
            else:
                place = check_coordinates(as_row("Auto.from_dict", place, self.domain.dimension))
            results.append(Observation.of(place, None if reward is None else checks.reward(reward)))
        self.learner.learn(results)

    # ------------------------------------------------------------------ answers

    @property
    def posterior(self) -> Any:
        """The posterior of all rewards under the last fit, in standardised units."""
        return self.learner.posterior

    @property
    def failed(self) -> list[Any]:
        """The places of choices that gave no reward."""
        return self.learner.failed

    @property
    def calibration(self) -> Calibration:
        """The last fit: lengthscales, signal, noise, and the units of the posterior."""
        return self.learner.fit.calibration

    @property
    def working_set(self) -> WorkingSet | None:
        """The arms of a very large pool among which the next choices are made; None for all.

        >>> import kernelbandits as kb
        >>> kb.Auto(kb.Arms([[0.0], [0.5], [1.0]])).working_set is None
        True
        """
        return self.learner.working_set

    @property
    def rewards(self) -> Rewards:
        """All rewards so far, by distinct point, in their own units."""
        return self.learner.rewards

    @property
    def predictions(self) -> tuple[DerivedColumn, ...]:  # type: ignore[override]
        """What each earlier study predicts of rows; it is one more column of the model."""
        completion = self.learner.fitter.completion
        return () if completion is None else completion.predictions

    @property
    def n_rewards(self) -> int:
        return self.rewards.events

    @property
    def fits(self) -> Fits:  # type: ignore[override]
        return Fits(self.learner)

    @property
    def initial_size(self) -> int:  # type: ignore[override]
        return self.first

    @property
    def units(self) -> Standard:
        """From the rewards' own units to those of the posterior."""
        return self.learner.units

    def noise_posterior(self) -> Any:
        """Return the posterior at the fitted noise."""
        return self.learner.posterior

    def answer_model(self) -> tuple[Any, Standard]:
        """Return the posterior of the answers.

        A result that stands out may be luck, or a good place.
        """
        return self.learner.answer_model()

    def observations(self) -> Observations | None:
        """Return the rewards by distinct point; no failure counts as one. None before any."""
        return self.learner.observations()

    def hyperparameters(self) -> Hyperparameters:
        """Return kernels, ridges and lengthscales of the last fit."""
        return self.learner.hyperparameters()

    @by_one_thread
    def recommend(self, *, context: Any = None, arms: Any = None) -> Any:
        """Return the arm with rewards that has the highest estimate, or the best point of a box.

        An arm that was never played is not recommended, however promising it looks: nobody has seen
        it work. Before the first reward, and where no arm allowed has one, all arms count. A search
        for a front has no single answer: see `front`.
        """
        needed = "a policy of one objective (front() returns the places of several)"
        checks.needs(not self.objectives, "recommend", needed, f"{len(self.objectives) + 1}")
        if not self.finite and self.outcomes and self.rewards.events:
            points = self.select_feasible(self.rewards.points)
            return self.domain.decode(points[self.posterior.at(points)[0].argmax()])
        if not self.finite:
            return super().recommend(context=context, arms=arms)
        if self.working_set is not None:
            policy = self.restrict_to(arms)
            if policy is not self:
                return policy.recommend(context=context, arms=arms)
        place: Any = self._list_compared(place_of(self.domain, context, arms))
        mean = self.posterior.mean
        allowed = np.arange(len(mean)) if place.numbers is None else place.numbers
        measured = allowed[self.learner.arm_counts()[allowed] > 0]
        if len(measured):
            best = self._greatest_measured(self.select_feasible(measured))
        else:
            best = place.greatest(mean)
        return best if self.working_set is None else int(self.working_set.numbers[best])

    @by_one_thread
    def front(self) -> Front:
        """Return the measured places that no other one beats in the estimates of all objectives.

        Where outcomes have limits, only places that meet them count (`select_feasible`).

        Examples
        --------
        >>> import kernelbandits as kb
        >>> arms = kb.Arms([[0.0], [0.5], [1.0]])
        >>> gain, cost = kb.Auto(arms, noise=0), kb.Auto(arms, noise=0)
        >>> for arm, (reward, price) in enumerate([(1.0, 5.0), (4.0, 6.0), (3.0, 8.0)]):
        ...     gain.tell(gain.choice(arm), reward)
        ...     cost.tell(cost.choice(arm), -price)
        >>> [choice.arm for choice in gain.trading_off(cost).front().choices]
        [1, 0]
        """
        needed = "a policy with other objectives (Auto.trading_off)"
        checks.needs(bool(self.objectives), "front", needed, "one objective")
        return front.find_best_front(self)

    def select_feasible(self, places: Any) -> Any:
        """Return those of some places that are feasible, or the one that is so most probably.

        Without limited outcomes these are all.
        """
        if not self.outcomes:
            return places
        logs = log_feasibility(self.outcomes, places)
        feasible = find_feasible(logs)
        return places[feasible if len(feasible) else [int(logs.argmax())]]

    def feasibility(self, choice: Choice) -> float:
        """Return the probability that a choice meets the limits of all outcomes.

        It is 1 where none has limits.

        >>> import kernelbandits as kb
        >>> auto = kb.Auto(kb.Arms([[0.0], [1.0]]))
        >>> auto.feasibility(auto.choice(0))
        1.0
        """
        place = self._place_of(choice)
        places = np.array([place])
        return float(np.exp(log_feasibility(self.outcomes, places)[0]))

    @property
    def success(self) -> SuccessModel | None:
        """The model of where measurements succeed; None where none has failed."""
        return self.learner.success

    def success_chance(self, choice: Choice) -> float:
        """Return the probability that a measurement of a choice succeeds, and does not fail.

        It is learnt from results and failures, and is 1 where nothing has failed.

        Parameters
        ----------
        choice
            A choice, such as one that `ask` or `policy.choice(arm)` has returned.

        Examples
        --------
        >>> import kernelbandits as kb
        >>> auto = kb.Auto(kb.Box((0.0,), (1.0,)))
        >>> for x in (0.1, 0.3, 0.5):
        ...     auto.tell(auto.choice([x]), x)
        >>> auto.success_chance(auto.choice([0.9]))
        1.0
        >>> for x in (0.7, 0.8, 1.0):
        ...     auto.fail(auto.choice([x]))
        >>> auto.success_chance(auto.choice([0.2])) > 0.8 > 0.3 > auto.success_chance(
        ...     auto.choice([0.9])
        ... )
        True
        """
        policy, place = self, self._place_of(choice)
        if self.working_set is not None and self.failed:
            policy = self.restrict_to(pending=[place])
            assert policy.working_set is not None
            place = int(policy.working_set.positions([place])[0])
        return float(np.exp(policy._log_success(np.array([place]))[0]))

    def _greatest_measured(self, arms: Indices) -> int:
        """Return the measured arm of the greatest estimate that its own results do not contradict.

        If they contradict all, it is the one of the greatest estimate.
        """
        ranked = arms[np.argsort(-self.posterior.mean[arms], kind="stable")]
        slots = {int(arm): slot for slot, arm in enumerate(self.learner.first_arms())}
        # An arm without another result cannot be contradicted, and nearly all have one.
        sound = (
            arm for arm in ranked if not is_contradicted(*results_at(self.rewards, slots[int(arm)]))
        )
        return int(next(sound, ranked[0]))

    @by_one_thread
    def estimates(self) -> tuple[Array, Array]:
        """Return the posterior mean and sd of every arm, in the units of the rewards.

        On a pool with a working set they are computed now, from the kernels of every arm with every
        distinct arm measured: on a million arms that takes a while.
        """
        if self.working_set is None:
            return super().estimates()
        mean, sd = predict_in_blocks(self.posterior, self.domain.points)
        return self.units.original(mean), self.units.original_sd(mean, sd)

    def covariance(self, arms: Any) -> Array:
        """Return the posterior covariance of f at some arms, in squared units of the rewards."""
        if self.working_set is None:
            return super().covariance(arms)
        points = self.domain.points[arms]
        covariance, (mean, sd) = self.posterior.covariance(points), self.posterior.at(points)
        # 1e-300 keeps the quotient finite where the sd is zero.
        ratio = self.units.original_sd(mean, sd) / np.maximum(sd, 1e-300)
        return np.asarray(covariance * np.outer(ratio, ratio))

    def index(self, t: int, weight: float = 1.0, points: Any = None) -> Array:
        """Return mean + weight * width_t * sd, in the units of the rewards.

        It is what a round maximises where a `width` or an `exploration` law was given. Other rules
        maximise their `acquisition`; this index then has the practical width.
        """
        if self.working_set is not None and points is None:
            points = self.domain.points
        return np.asarray(self.units.original(super().index(t, weight, points)))

    def _place_of(self, choice: Choice) -> Any:
        """Return an arm's number, whose point is that of the choice, or the row of a point."""
        place = super()._place_of(choice)
        if not self.finite:
            return check_coordinates(place)
        known = choice.x is None or choice.arm is None
        if not known and not equal_points(choice.x, self.domain.points[place]):
            needed = f"the point of arm {choice.arm} with its number"
            checks.needs(False, "tell", needed, choice.x)
        return place

    def note_estimate(self, mean: float, sd: float) -> dict[str, float]:
        """Return an estimate for a note in the units of the rewards, and the fitted noise."""
        return {
            "mean": float(self.units.original(mean)),
            "sd": float(self.units.original_sd(mean, sd)),
            "noise_scale": self.calibration.noise_scale,
        }

    def _noise_scale(self) -> float:
        """Return R as fitted, in the units of the posterior."""
        return math.sqrt(self.calibration.noise_variance)


def is_listed(place: Place) -> bool:
    """Tell whether a place is a space with so few points that each can be scored."""
    if not isinstance(place, Region) or not isinstance(place.box, MixedBox):
        return False
    return place.box.count <= LISTED


def draw_by_worth(worth: Array, u: float) -> tuple[int, float]:
    """Draw a position by a uniform number, each with a probability in proportion to exp(20 worth).

    Returned are the position and its probability. The worth is a logarithm.

    >>> import numpy as np
    >>> position, chance = draw_by_worth(np.log([0.9, 1.0]), 0.5)
    >>> position, round(chance, 3)
    (1, 0.892)
    """
    chances = np.exp(POWER * (worth - worth.max()))
    chances /= chances.sum()
    # Rounding may leave the sum of all chances a little below 1.
    position = min(int(np.searchsorted(chances.cumsum(), u, side="right")), len(worth) - 1)
    return position, chances.item(position)


def check_width(width: Any) -> Width | str:
    """Return the width as a `Width`, or "theory" for the one that follows the fitted R and D."""
    if isinstance(width, Width):
        return width
    if checks.is_number(width):
        return widths.constant(checks.nonnegative("Auto", "width", width))
    named = checks.one_of("Auto", "width", width, WIDTHS)
    return PRACTICAL if named == "practical" else "theory"


def default_prior(mode: Width | str, nu: float, domain: Any) -> Prior:
    """Return the prior of the scales where none is given.

    A width with a theory has one smooth kernel and no nugget. The additive part is made of Matern
    kernels. On a box there is none, since a search would take several times as long, and the noise
    may be smaller: a computed function has none.
    """
    if mode == "theory":
        return Prior(additive=None, nugget=None)
    if isinstance(domain, (Box, MixedBox, Contextual)):
        return Prior(additive=None, nugget=None, noise=-6.0, noise_sd=2.0)
    return Prior(additive=None) if nu == math.inf else Prior()


def check_earlier(earlier: Any, domain: Any, mode: Width | str) -> tuple[EarlierResults, ...]:
    """Return results of earlier studies, if the domain has their coordinates."""
    needed = "a sequence of kb.calibration.EarlierResults as earlier"
    checks.needs(isinstance(earlier, Sequence), "Auto", needed, earlier)
    for one in earlier:
        checks.needs(isinstance(one, EarlierResults), "Auto", needed, one)
        plain = isinstance(domain, (Box, MixedBox, Arms)) and not getattr(domain, "features", False)
        checks.needs(plain, "Auto", "a table or a space without contexts for earlier", domain)
        small = not (isinstance(domain, Arms) and is_large(domain))
        checks.needs(small, "Auto", "no more than 100 000 arms for earlier", domain)
        checks.needs(mode != "theory", "Auto", 'no earlier with width="theory"', mode)
        given, size = one.points.shape[1], domain.dimension
        checks.needs(given == size, "Auto", f"earlier points of {size} coordinates", given)
    return tuple(earlier)


def check_members(members: Any, mode: Width | str, finite: bool) -> int:
    """Return how many plausible scales are averaged over; a width with a theory has one kernel."""
    if members is None:
        usual = MEMBERS if finite else BOX_MEMBERS
        return 1 if mode == "theory" else usual
    number = checks.whole("Auto", "members", members)
    single = number == 1 or mode != "theory"
    checks.needs(single, "Auto", 'members=1 with width="theory"', members)
    return number


def check_transform(transform: Any, usual: bool, mode: Width | str) -> bool:
    """Tell whether skewed rewards are transformed; a width with a theory is one of the rewards."""
    if transform is None:
        return usual
    checks.needs(isinstance(transform, bool), "Auto", "transform True or False", transform)
    linear = not transform or mode != "theory"
    checks.needs(linear, "Auto", 'no transform with width="theory"', transform)
    return bool(transform)


def equal_points(x: Any, point: Array) -> bool:
    """Tell whether all numbers are equal; the same bytes are."""
    same_form = type(x) is np.ndarray and x.dtype == point.dtype and x.shape == point.shape
    if same_form and x.tobytes() == point.tobytes():
        return True
    return np.array_equal(x, point)
