"""`Auto` on very large pools: its posterior is that of a working set of the arms."""

from __future__ import annotations

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.calibration.fitter import Fitter, ridge_of
from kernelbandits.checks import DataNotice
from kernelbandits.policies import working_set
from kernelbandits.policies.learner import Learner
from kernelbandits.policies.working_set import PoolFit, PoolKnowledge, choose_working_set
from kernelbandits.posterior import RowPosterior

N, SIZE = 300, 60
RARE = kb.calibration.Refits(growth=2.0, first=1)
"""Fits at 1, 2, 4, 8 and 16 rewards."""


@pytest.fixture
def small_sets(monkeypatch):
    """Pools of more than 100 arms have a working set of 60."""
    set_limits(monkeypatch, pool=100, size=SIZE)


def set_limits(monkeypatch, pool, size):
    monkeypatch.setattr(working_set, "LARGEST_POOL", pool)
    monkeypatch.setattr(working_set, "LARGEST_SET", size)
    monkeypatch.setattr(working_set, "SAMPLE", 2 * size)


def make_pool(n=N, d=2):
    return np.random.default_rng(3).random((n, d))


def value_of(x):
    return float(np.sin(5 * x[0]) + x[1])


def play(auto, rounds):
    choices = []
    for _ in range(rounds):
        choices.append(auto.ask())
        auto.tell(choices[-1], value_of(choices[-1].x))
    return choices


def arms_outside(auto):
    return np.setdiff1d(np.arange(len(auto.domain)), auto.working_set.numbers)


def full_mixture(auto):
    """The mixture over all arms of the pool, by its definition."""
    fitter, fit = auto.learner.fitter, auto.learner.fit
    ridges = [ridge_of(scales) for scales in fit.members]
    mixture = RowPosterior(fitter.stack_of(fit), auto.domain, ridges)
    counts, sums = np.zeros((2, len(auto.domain)))
    played = auto.domain.index.find(auto.rewards.points)
    counts[played], sums[played] = auto.rewards.counts, auto.rewards.sums_in(auto.units)
    mixture.learn(counts, sums)
    return mixture


def test_a_pool_up_to_the_limit_has_no_working_set(small_sets):
    auto = kb.Auto(make_pool(100), seed=1)
    choice = play(auto, 4)[-1]
    assert auto.working_set is None
    assert "working_set" not in choice.note
    assert kb.Auto(make_pool(101), seed=1).working_set is not None


@pytest.mark.thorough
@pytest.mark.parametrize("goal", ["find", "earn"])
def test_a_set_of_all_arms_chooses_as_the_whole_pool(monkeypatch, goal):
    whole = play(kb.Auto(make_pool(), goal=goal, seed=4), 9)
    set_limits(monkeypatch, pool=100, size=N)
    auto = kb.Auto(make_pool(), goal=goal, seed=4)
    chosen = play(auto, 9)
    assert [one.arm for one in chosen] == [one.arm for one in whole]
    assert [one.note for one in chosen] == [one.note | {"working_set": N} for one in whole]
    assert all((one.x == auto.domain.points[one.arm]).all() for one in chosen)


def test_the_posterior_of_the_set_is_that_of_the_whole_pool_at_its_arms(small_sets):
    auto = kb.Auto(make_pool(), goal="find", seed=2, refits=RARE)
    play(auto, 8)
    auto.tell(auto.choice(int(arms_outside(auto)[5])), 0.3)
    exact, numbers = full_mixture(auto), auto.working_set.numbers
    np.testing.assert_allclose(auto.posterior.mean, exact.mean[numbers], atol=1e-9)
    np.testing.assert_allclose(auto.posterior.sd, exact.sd[numbers], atol=1e-7)
    mean, sd = auto.estimates()
    np.testing.assert_allclose(mean, auto.units.original(exact.mean), atol=1e-9)
    np.testing.assert_allclose(sd, auto.units.original_sd(exact.mean, exact.sd), atol=1e-7)


def test_a_set_has_what_was_tried_the_neighbours_of_the_best_and_promising_arms(small_sets):
    pool = kb.Arms(make_pool())
    centre = pool.points[17]
    promise = -np.abs(pool.points - 0.9).sum(1)
    fit = PoolFit(
        best=centre[None],
        lengthscales=np.array([0.1, 1.0]),
        promise=lambda rows: -np.abs(rows - 0.9).sum(1),
    )
    known = PoolKnowledge(tried=[17, 250], events=1, fit=fit)
    numbers = choose_working_set(pool, 0, known).numbers
    near = np.argsort((((pool.points - centre) / [0.1, 1.0]) ** 2).sum(1))
    assert {17, 250} <= set(numbers)
    assert len(numbers) == SIZE
    assert set(near[:4]) <= set(numbers)
    # The twelve best of a random sample of 120 are better than the median of the pool.
    assert (promise[numbers] > np.median(promise)).sum() >= 12
    other = choose_working_set(pool, 0, known._replace(events=2)).numbers
    assert set(other) != set(numbers)
    assert (choose_working_set(pool, 0, known).numbers == numbers).all()


@pytest.mark.thorough
def test_the_set_depends_on_the_seed_and_the_rewards_alone(small_sets):
    first, second = (kb.Auto(make_pool(), goal="find", seed=6) for _ in range(2))
    play(first, 7)
    second.tell_all([(second.choice(one.place), one.value) for one in first.learner.results])
    assert (first.working_set.numbers == second.working_set.numbers).all()
    assert first.ask() == second.ask()
    assert kb.Auto.from_dict(first.to_dict()).ask() == first.ask()
    other = kb.Auto(make_pool(), goal="find", seed=7)
    assert (other.working_set.numbers != kb.Auto(make_pool(), seed=6).working_set.numbers).any()


@pytest.mark.thorough
def test_arms_told_and_failed_outside_the_set_are_learnt_in_any_grouping(small_sets):
    start = kb.Auto(make_pool(), goal="find", seed=6, refits=RARE)
    play(start, 8)
    inside = [
        arm for arm in start.working_set.numbers if not start.rewards.count_at(make_pool()[arm])
    ]
    far = arms_outside(start)
    pairs = [(far[3], 0.2), (far[4], None), (inside[0], 0.4), (far[9], 0.7), (inside[5], 0.1)]
    for given in (pairs[:1], pairs[:2], pairs[:3], pairs, [*pairs[:1], pairs[2]]):
        one, many = (kb.Auto.from_dict(start.to_dict()) for _ in range(2))
        for arm, reward in given:
            choice = one.choice(int(arm))
            one.fail(choice) if reward is None else one.tell(choice, reward)
        many.tell_all([(many.choice(int(arm)), reward) for arm, reward in given])
        assert (one.working_set.numbers == many.working_set.numbers).all()
        assert (one.posterior.means == many.posterior.means).all()
        assert (one.posterior.variances == many.posterior.variances).all()
        assert all(one.working_set.positions([int(arm)])[0] >= 0 for arm, _ in given)


def test_pending_arms_outside_the_set_lower_the_variances(small_sets):
    auto = kb.Auto(make_pool(), goal="find", seed=2, refits=RARE)
    play(auto, 8)
    before, outside = auto.working_set, [int(arm) for arm in arms_outside(auto)[[2, 30]]]
    pending = [auto.choice(arm) for arm in outside]
    choice = auto.ask(pending=pending)
    assert auto.ask(pending=pending) == choice
    assert auto.working_set is before
    extended = auto.restrict_to(pending=outside)
    positions = extended.working_set.positions(outside).tolist()
    imagined = extended.posterior.with_pending(positions)
    exact = full_mixture(auto).with_pending(outside)
    numbers = extended.working_set.numbers
    np.testing.assert_allclose(imagined.sd, exact.sd[numbers], atol=1e-7)
    assert len(extended.working_set) == len(before) + 2
    assert choice.note["pending"] == 2
    assert len({one.arm for one in auto.batch(3, pending=pending)}) == 3


def test_an_ask_for_few_arms_has_a_working_set_of_them(small_sets):
    auto = kb.Auto(make_pool(), goal="find", seed=2)
    play(auto, 6)
    for allowed in (arms_outside(auto)[:1], arms_outside(auto)[:7], arms_outside(auto)):
        choice = auto.ask(arms=allowed)
        assert choice.arm in allowed
        assert auto.ask(arms=allowed) == choice
        assert auto.recommend(arms=allowed) in allowed
        assert "working set" in kb.insight.explain(auto, choice, arms=allowed).sentence()
    most = np.delete(np.arange(N), auto.recommend())
    assert auto.ask(arms=most).arm in most


def test_costs_are_those_of_the_arms_in_the_pool(small_sets):
    costs = np.linspace(1, 3, N)
    auto = kb.Auto(make_pool(), goal="find", seed=2)
    assert auto.ask(costs=costs).note["cost"] <= np.median(costs) + 0.5
    play(auto, 5)
    choice = auto.ask(costs=costs)
    assert choice.note["cost"] == costs[choice.arm]


def test_of_equal_arms_one_that_is_allowed_is_chosen(small_sets):
    points = np.repeat(make_pool(150), 2, axis=0)
    with pytest.warns(DataNotice):
        auto = kb.Auto(points, goal="find", seed=2)
    play(auto, 5)
    assert len(set(auto.domain.index.first[auto.working_set.numbers])) == len(auto.working_set)
    copies = np.arange(1, N, 2)
    few = copies[~np.isin(copies - 1, auto.working_set.numbers)][:9]
    assert auto.ask(arms=few).arm in few
    assert auto.ask(arms=copies).arm in copies
    measured = auto.learner.results[0].place | 1
    assert auto.recommend(arms=np.array([measured])) == measured


def test_an_interrupted_fit_leaves_the_set_as_it_was(small_sets, monkeypatch):
    auto = kb.Auto(make_pool(), goal="find", seed=6, refits=RARE)
    play(auto, 6)
    twin, outside = kb.Auto.from_dict(auto.to_dict()), arms_outside(auto)[:2].tolist()

    def interrupt(*_):
        raise KeyboardInterrupt

    # The second of the two rewards calls for a fit.
    pairs = [(auto.choice(arm), 0.5) for arm in outside]
    with monkeypatch.context() as patch:
        patch.setattr(Fitter, "fit", interrupt)
        with pytest.raises(KeyboardInterrupt):
            auto.tell_all(pairs)
        assert auto.ask() == twin.ask()
        assert not auto.working_set.grown
        auto.tell(*pairs[0])
        with pytest.raises(KeyboardInterrupt):
            auto.tell(*pairs[1])
    twin.tell(*pairs[0])
    assert (auto.working_set.numbers == twin.working_set.numbers).all()
    assert auto.ask().arm == twin.ask().arm


def test_results_with_standard_errors_are_learnt_on_a_working_set(small_sets):
    auto = kb.Auto(make_pool(), goal="find", seed=2)
    for _ in range(6):
        choice = auto.ask()
        auto.tell(choice, kb.calibration.Measurement(value_of(choice.x), 0.1))
    assert auto.ask().note["working_set"] == len(auto.working_set) >= SIZE
    assert auto.recommend() in [result.place for result in auto.learner.results]


@pytest.fixture
def study(small_sets, tmp_path):
    study = kb.Study.create(tmp_path / "large.db", make_pool(), target="yield", seed=5)
    yield study
    study.close()


def test_a_study_of_a_large_table_is_replayed_exactly(study, tmp_path):
    """With pending, late, failed and forbidden rows, many of them outside the set of the time."""
    points, waiting = make_pool(), []
    for number in range(6):
        now, later = study.ask(2)
        waiting.append(later)
        study.tell(now.trial, value_of(points[now.row]))
        if number == 2:
            study.tell(waiting.pop(0).trial, failed=True)
        if number == 3:
            study.forbid([row for row in range(N) if row % 8])
        if number == 4:
            late = waiting.pop(0)
            study.tell(late.trial, value_of(points[late.row]))
    assert all(study.replay(trial).same for trial in range(1, 13))
    told = study.explain(12)
    assert told.row % 8 == 0
    assert np.isfinite(told.mean)
    assert "working set" in told.sentence
    again = kb.Study.open(tmp_path / "large.db")
    assert again.best() == study.best()
    again.close()


def test_doctor_does_not_compute_the_estimates_of_all_rows(study, monkeypatch):
    points = make_pool()
    for _ in range(6):
        (one,) = study.ask()
        study.tell(one.trial, value_of(points[one.row]))
    study.ask()

    def refuse(self):
        raise AssertionError("estimates of all rows")

    monkeypatch.setattr(kb.Auto, "estimates", refuse)
    assert all(finding.ok for finding in study.doctor())
    study._session.driver.policy.posterior.means[0, 3] += 1e-9
    study._session.driver.policy.posterior._moments = None
    assert not all(finding.ok for finding in study.doctor())


@pytest.mark.thorough
def test_a_study_says_that_it_compares_a_working_set(small_sets, tmp_path, monkeypatch):
    set_limits(monkeypatch, pool=250, size=250)
    points = make_pool()
    study = kb.Study.create(tmp_path / "large.db", points, target="yield", seed=5)
    for _ in range(6):
        (one,) = study.ask()
        study.tell(one.trial, value_of(points[one.row]))
    (one,) = study.ask()
    assert "among a working set of 250 rows, chosen again at each fit." in one.why
    assert study.best().comparison == " (of the 200 most promising in a working set of 250 rows)"
    found = study.estimates()
    policy = study._session.driver.policy
    model, units = policy.answer_model()
    mean, _ = model.at(policy.domain.points)
    np.testing.assert_allclose(
        found["mean"], study._session.state.scale.outward(units.original(mean)), atol=1e-9
    )
    study.close()


def test_results_outside_the_set_build_the_posterior_once(small_sets, monkeypatch):
    start = kb.Auto(make_pool(), goal="find", seed=6, refits=RARE)
    play(start, 9)
    far, again = arms_outside(start), start.learner.results[2].place
    pairs = [(far[3], 0.2), (far[3], 0.21), (again, 0.4), (far[8], None), (far[9], 0.7)]
    one, many = (kb.Auto.from_dict(start.to_dict()) for _ in range(2))
    for arm, reward in pairs:
        choice = one.choice(int(arm))
        one.fail(choice) if reward is None else one.tell(choice, reward)
    built, build = [], Learner._build
    monkeypatch.setattr(Learner, "_build", lambda *given: (built.append(1), build(*given))[1])
    many.tell_all([(many.choice(int(arm)), reward) for arm, reward in pairs])
    assert many.posterior is many.posterior
    assert len(built) == 1
    assert (one.working_set.numbers == many.working_set.numbers).all()
    assert (one.posterior.means == many.posterior.means).all()
    assert (one.posterior.variances == many.posterior.variances).all()


def test_a_set_is_smaller_when_many_arms_were_measured():
    sizes = [working_set.set_size(measured) for measured in (0, 30, 60, 150, 1000, 8000)]
    assert sizes == [20_000, 20_000, 10_000, 4_000, 4_000, 16_000]


def test_the_centres_of_a_set_are_not_neighbours_of_each_other():
    rows = np.array([[0.5, 0.5], [0.51, 0.5], [0.5, 0.52], [0.9, 0.5], [0.91, 0.5], [0.1, 0.1]])
    centres = working_set.choose_centres(rows, np.array([0.2, 0.2]))
    assert centres.tolist() == [[0.5, 0.5], [0.9, 0.5], [0.1, 0.1]]


def test_neighbours_are_found_among_large_coordinates(small_sets):
    points = 1e9 + make_pool()
    pool = kb.Arms(points)
    near = working_set.nearest_arms(pool, np.arange(N), points[[17, 40]], np.array([0.1, 1.0]))
    exact = (((points - points[40]) / [0.1, 1.0]) ** 2).sum(1)
    assert near[1, :9].tolist() == np.argsort(exact)[:9].tolist()


@pytest.fixture
def built(monkeypatch):
    """The numbers of rewards from which posteriors of working sets were built."""
    numbers = []
    build = Learner._build

    def count(self, checkpoint):
        numbers.append(checkpoint.events)
        return build(self, checkpoint)

    monkeypatch.setattr(Learner, "_build", count)
    return numbers


def test_results_told_at_once_and_pending_outside_the_set_build_one_posterior(small_sets, built):
    start = kb.Auto(make_pool(), goal="find", seed=6, refits=RARE)
    play(start, 8)
    fresh, outside = arms_outside(start)[:3].tolist(), arms_outside(start)[40]
    auto = kb.Auto(make_pool(), goal="find", seed=6, refits=RARE)
    built.clear()
    told = [(result.place, result.value) for result in start.learner.results]
    pairs = [*told, *((arm, 0.3) for arm in fresh)]
    auto.tell_all([(auto.choice(arm), reward) for arm, reward in pairs])
    assert built == []
    auto.ask(pending=[auto.choice(int(outside))])
    assert built == [11]


def test_the_posterior_does_not_depend_on_when_it_is_read(small_sets):
    """Rewards of arms in the set update it, whether or not anybody has read it before."""
    read, unread = (kb.Auto(make_pool(), goal="find", seed=6, refits=RARE) for _ in range(2))
    twin = kb.Auto(make_pool(), goal="find", seed=6, refits=RARE)
    history = [(one.arm, value_of(one.x)) for one in play(twin, 8)]
    placed = [int(arm) for arm in twin.working_set.numbers if arm not in dict(history)]
    history += [(placed[0], 0.4), (placed[3], None), (placed[5], 0.5)]
    for arm, reward in history:
        for auto in (read, unread):
            choice = auto.choice(arm)
            auto.fail(choice) if reward is None else auto.tell(choice, reward)
        assert read.posterior.events >= 1
    assert not read.working_set.grown
    assert read.posterior.events == len(history) - 1
    assert (read.success.left_out == unread.success.left_out).all()
    assert (read.posterior.means == unread.posterior.means).all()
    assert (read.posterior.variances == unread.posterior.variances).all()
    assert read.ask() == unread.ask()


def test_a_failure_outside_the_set_leaves_an_open_study_with_answers(small_sets, tmp_path):
    """It makes the set larger, and the model that questions are answered from with it."""
    where = tmp_path / "large.db"
    pool = make_pool()
    with kb.Study.create(where, pool, target="yield", seed=5) as study:
        for row in range(12):
            study.tell(row=row, value=value_of(pool[row]))
        study.best()
        known = {*study._session.updated_driver().policy.working_set.numbers.tolist()}
        study.tell(row=next(row for row in range(N) if row not in known), failed=True)
        with kb.Study.open(where) as again:
            assert study.best() == again.best()
            assert study.estimates().equals(again.estimates())


def test_an_opened_study_builds_one_posterior_for_a_choice_and_its_reason(
    small_sets, built, tmp_path
):
    """Rows that are pending outside the set are part of the set of both."""
    where, pool = tmp_path / "large.db", make_pool()
    with kb.Study.create(where, pool, target="yield", seed=5) as study:
        first = study.ask(12)
        for row in range(24):
            if row not in [one.row for one in first]:
                study.tell(row=row, value=value_of(pool[row]))
        study.ask()
    with kb.Study.open(where) as again:
        chosen = again._session.updated_driver().policy.working_set
        assert (chosen.positions([one.row for one in first]) < 0).any()
    with kb.Study.open(where) as again:
        built.clear()
        (choice,) = again.ask()
        assert len(built) == 1
        assert "working set" in choice.why
        assert again.replay(choice.trial).same
