"""The search for cyclic garbage rests while much is read, and goes on as it was."""

from __future__ import annotations

import gc

import pytest

from kernelbandits.garbage import Pause


@pytest.mark.parametrize("wanted", [True, False])
def test_a_pause_ends_with_the_last_who_is_inside(wanted):
    before, pause = gc.isenabled(), Pause()
    try:
        (gc.enable if wanted else gc.disable)()
        with pause:
            with pytest.raises(ZeroDivisionError), pause:
                assert 1 // 0
            assert not gc.isenabled()
        assert gc.isenabled() == wanted
    finally:
        (gc.enable if before else gc.disable)()
