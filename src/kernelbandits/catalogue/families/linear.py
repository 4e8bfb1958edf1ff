"""Linear bandits: rewards linear in x, whatever the kernel."""

from __future__ import annotations

from kernelbandits import policies as rules
from kernelbandits.catalogue.entry import PolicyEntry

ABBASI = "Abbasi-Yadkori, Pal & Szepesvari, Improved algorithms for linear stochastic bandits, 2011"
AGRAWAL = "Agrawal & Goyal, Thompson sampling for contextual bandits with linear payoffs, 2013"
UNUSED = "the kernel is not used: x . z whatever is given"

ENTRIES = (
    PolicyEntry(
        "oful",
        "OFUL",
        rules.OFUL,
        ABBASI,
        "regret O~(d sqrt(T)) with chance 1 - delta, for f = x . theta, |theta| <= norm_bound",
        f"the maximum over the ellipsoid in closed form, arms only; {UNUSED}",
    ),
    PolicyEntry(
        "rarely-switching-oful",
        "Rarely switching OFUL",
        rules.RarelySwitchingOFUL,
        ABBASI,
        "OFUL's regret times sqrt(1 + C), with at most d log(1 + T / (ridge d)) / log(1 + C) switches for |x| <= 1",
        f"C = 1 by default; a tie is settled alike until the next switch; {UNUSED}",
    ),
    PolicyEntry(
        "lin-ts",
        "LinTS",
        rules.LinTS,
        AGRAWAL,
        "regret O~(d^(3/2) sqrt(T)) with chance 1 - delta, for f = x . theta, |x|, |theta| <= 1 (anytime); d^2 (icml)",
        f"schedule anytime is the scale of the paper's later version, icml that of the first, eps = 1/ln T; {UNUSED}",
    ),
)
