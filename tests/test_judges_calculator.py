"""The judge of the calculator: silent about the sound one, and able to object."""

from __future__ import annotations

import dataclasses

import pytest

from kernelbandits.judges import Effort, calculator
from kernelbandits.judges.calculator import calculator as judge


@pytest.mark.parametrize("seed", range(5))
def test_all_is_right_on_the_sound_calculator(seed):
    findings = list(judge(Effort(seed)))
    assert len(findings) == 7
    assert all(found.right for found in findings)


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.2, 2.0])
def test_a_gain_that_is_off_is_seen(monkeypatch, factor):
    sound = calculator.information_gain

    def broken(*given):
        gain = sound(*given)
        return dataclasses.replace(gain, lower=factor * gain.lower, upper=factor * gain.upper)

    monkeypatch.setattr(calculator, "information_gain", broken)
    wrong = [found.statement for found in judge(Effort()) if not found.right]
    assert len(wrong) == 2


@pytest.mark.parametrize("name", ["printed", "repaired", "tight", "trivial"])
def test_a_bound_that_is_off_is_seen(monkeypatch, name):
    sound = calculator.regret_bound

    def broken(*given, **settings):
        bound = sound(*given, **settings)
        return dataclasses.replace(bound, **{name: 1.001 * getattr(bound, name)})

    monkeypatch.setattr(calculator, "regret_bound", broken)
    (wrong,) = [found for found in judge(Effort()) if not found.right]
    assert f"`{name}`" in wrong.statement


def test_a_constant_that_is_off_is_seen(monkeypatch):
    sound = calculator.constants
    monkeypatch.setattr(
        calculator, "constants", lambda *given: dataclasses.replace(sound(*given), c3=12.0)
    )
    assert [found.right for found in judge(Effort())].count(False) == 1
