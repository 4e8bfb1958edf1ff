"""An update that is interrupted leaves the posterior as it was before the reward."""

from typing import Any

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.posterior import ArmPosterior, LinearPosterior, PointPosterior, RowPosterior
from kernelbandits.posterior import base as base_module
from kernelbandits.posterior import rows as rows_module
from kernelbandits.posterior import sketched as sketched_module
from kernelbandits.posterior.cholesky import GrowingFactor
from kernelbandits.posterior.drifting import DriftingPosterior
from kernelbandits.posterior.points import PointMember
from kernelbandits.posterior.sketched import SketchedPosterior
from kernelbandits.posterior.sufficient import Tally

POINTS = np.random.default_rng(1).random((12, 2))
FORMS: dict[str, Any] = {
    "arms": lambda: ArmPosterior(kb.RBF(0.3), POINTS, 0.1),
    "rows": lambda: RowPosterior(kb.RBF(0.3), POINTS, 0.1),
    "members": lambda: RowPosterior([kb.RBF(0.3), kb.RBF(0.8)], POINTS, [0.1, 0.2]),
    "linear": lambda: LinearPosterior(kb.Linear(), POINTS, 0.1),
    "drifting": lambda: DriftingPosterior(kb.RBF(0.3), POINTS, 0.1, 0.05),
    "sketched": lambda: SketchedPosterior(kb.RBF(0.3), POINTS, 0.1, growth=100.0),
    "sketched anew": lambda: SketchedPosterior(kb.RBF(0.3), POINTS, 0.1),
}
BOX = kb.Box((0.0, 0.0), (1.0, 1.0))
STEPS: dict[str, tuple[Any, str]] = {
    "tally": (Tally, "add"),
    "new slot": (Tally, "grow"),
    "new row": (GrowingFactor, "append"),
    "new point of one member": (PointMember, "append_point"),
    "old row": (GrowingFactor, "lower_diagonal"),
    "old point of one member": (PointMember, "repeat_point"),
}
"""What an update at a point calls, in turn."""


def interrupt_after(function: Any) -> Any:
    """The function, whose first call is followed by an interrupt."""
    calls = []

    def interrupted(*given: Any, **named: Any) -> Any:
        calls.append(function(*given, **named))
        if len(calls) == 1:
            raise KeyboardInterrupt
        return calls[-1]

    return interrupted


def state_of(posterior: Any) -> list[Any]:
    state = [posterior.mean, posterior.variance, posterior.log_det, posterior.tally.sums]
    return [np.array(part, copy=True) for part in state]


@pytest.mark.parametrize("name", FORMS)
@pytest.mark.parametrize("rewards", [0, 7])
@pytest.mark.parametrize("where", ["tally", "mean"])
def test_an_interrupted_reward_is_not_learnt_and_can_be_told_again(
    name: str, rewards: int, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    posterior, twin = FORMS[name](), FORMS[name]()
    for number in range(rewards):
        posterior.update(number % 5, float(number))
        twin.update(number % 5, float(number))
    before = state_of(posterior)
    with monkeypatch.context() as patch:
        if where == "tally":
            patch.setattr(Tally, "add", interrupt_after(Tally.add))
        for module in (base_module, rows_module):
            patch.setattr(module, "daxpy", interrupt_after(module.daxpy))
        for step in ("_condition", "_fit"):
            patch.setattr(
                SketchedPosterior, step, interrupt_after(getattr(SketchedPosterior, step))
            )
        patch.setattr(sketched_module, "dger", interrupt_after(sketched_module.dger))
        with pytest.raises(KeyboardInterrupt):
            posterior.update(2, 3.0)
    assert posterior.events == rewards
    for part, earlier in zip(state_of(posterior), before, strict=True):
        np.testing.assert_allclose(part, earlier, rtol=1e-9, atol=1e-11)
    posterior.update(2, 3.0)
    twin.update(2, 3.0)
    for part, other in zip(state_of(posterior), state_of(twin), strict=True):
        np.testing.assert_allclose(part, other, rtol=1e-9, atol=1e-11)
    assert not posterior.audit()


def state_at_points(posterior: PointPosterior) -> list[Any]:
    counts, sums = posterior.member_totals()
    state = [*posterior.members_at(POINTS), posterior.log_det, posterior.points, counts, sums]
    roots = [member.inverse_factor.lower for member in posterior.members]
    return [np.array(part, copy=True) for part in [*state, posterior.played_means, *roots]]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize(("rewards", "weighted"), [(0, False), (7, False), (7, True)])
@pytest.mark.parametrize("members", [1, 2])
def test_an_interrupted_reward_at_a_point_is_not_learnt_and_can_be_told_again(
    step: str, rewards: int, weighted: bool, members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not rewards and step.startswith("old"):
        rewards = 1
    kernels, ridges = [kb.RBF(0.3), kb.RBF(0.8)][:members], [0.1, 0.2][:members]
    posterior, twin = (PointPosterior(kernels, BOX, ridges) for _ in range(2))
    for one in (posterior, twin):
        if weighted:
            one.learn(POINTS[:2], [0.5, 2.0], [1.0, -1.0], events=3)
        for number in range(rewards):
            one.update(POINTS[number % 5], float(number))
    events = posterior.events
    before = state_at_points(posterior) if events else []
    where = POINTS[0] if step.startswith("old") else POINTS[8]
    owner, name = STEPS[step]
    with monkeypatch.context() as patch:
        patch.setattr(owner, name, interrupt_after(getattr(owner, name)))
        with pytest.raises(KeyboardInterrupt):
            posterior.update(where, 3.0)
    assert posterior.events == events
    assert len(posterior.points) == len(posterior.counts) == len(twin.points)
    if events:
        compare(state_at_points(posterior), before)
    else:
        assert posterior.log_det == 0.0
    for one in (posterior, twin):
        one.update(where, 3.0)
        one.update(POINTS[9], 1.0)
        one.update(where, 2.0)
    compare(state_at_points(posterior), state_at_points(twin))
    assert not posterior.audit()


def compare(state: list[Any], other: list[Any]) -> None:
    for part, one in zip(state, other, strict=True):
        np.testing.assert_allclose(part, one, rtol=1e-9, atol=1e-11)


def test_a_kernel_that_fails_leaves_a_posterior_at_points_as_it_was() -> None:
    works = [True]

    def kernel(x: Any, z: Any) -> Any:
        if not works[0]:
            raise RuntimeError("no licence")
        return np.exp(-np.square(x[:, None] - z).sum(2))

    posterior = PointPosterior(kernel, BOX, 0.1)
    posterior.update(POINTS[0], 1.0)
    before = state_at_points(posterior)
    works[0] = False
    with pytest.raises(RuntimeError, match="no licence"):
        posterior.update(POINTS[1], 1.0)
    works[0] = True
    for part, earlier in zip(state_at_points(posterior), before, strict=True):
        np.testing.assert_array_equal(part, earlier)
