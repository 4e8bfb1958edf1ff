"""A policy whose process is killed, as by a system that is short of memory."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import kernelbandits as kb


class Deadly(kb.SimpleUCB):
    """Simple-UCB; the first `deaths` processes that have played `fatal` rounds of it are killed."""

    def __init__(self, domain, kernel, *, folder, deaths, fatal=3, noise_scale=1.0, norm_bound=1.0):
        super().__init__(domain, kernel, noise_scale=noise_scale, norm_bound=norm_bound)
        self.folder, self.deaths, self.fatal = Path(folder), deaths, fatal

    def ask(self, t, rng=None, **options):
        if t == self.fatal and any(map(self.mark, range(self.deaths))):
            os.kill(os.getpid(), signal.SIGKILL)
        return super().ask(t, rng, **options)

    def mark(self, death: int) -> bool:
        """Whether this is the death of that number, which happens once."""
        try:
            (self.folder / f"death-{death}").touch(exist_ok=False)
        except FileExistsError:
            return False
        return True
