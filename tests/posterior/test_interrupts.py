"""An update that is interrupted leaves the posterior as it was before the reward."""

from typing import Any

import numpy as np
import pytest

import kernelbandits as kb
from kernelbandits.posterior import ArmPosterior, LinearPosterior, RowPosterior
from kernelbandits.posterior import base as base_module
from kernelbandits.posterior import rows as rows_module
from kernelbandits.posterior.drifting import DriftingPosterior
from kernelbandits.posterior.sufficient import Tally

POINTS = np.random.default_rng(1).random((12, 2))
FORMS: dict[str, Any] = {
    "arms": lambda: ArmPosterior(kb.RBF(0.3), POINTS, 0.1),
    "rows": lambda: RowPosterior(kb.RBF(0.3), POINTS, 0.1),
    "members": lambda: RowPosterior([kb.RBF(0.3), kb.RBF(0.8)], POINTS, [0.1, 0.2]),
    "linear": lambda: LinearPosterior(kb.Linear(), POINTS, 0.1),
    "drifting": lambda: DriftingPosterior(kb.RBF(0.3), POINTS, 0.1, 0.05),
}


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
