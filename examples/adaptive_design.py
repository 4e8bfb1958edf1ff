"""Why a better confidence band alone does not prove the rule as it is played.

The paper plays at delta = 1/2 in all rounds. If the noise is much larger than the function, its
width is hardly more than the radius R sqrt(2 ln 2 + L) of the noise. A level of about 1/t in round
t would be enough for the proof. But a design that looks at the noise breaks that radius in round t
with a probability that falls only like 1/ln t: the design of Lai and Wei (1982), on which least
squares does not even converge. Arms are points (1, z) of the plane, and the next z is the mean of
those before plus half of the mean noise.
"""

import math

from kernelbandits.verification.consequences import count_adaptive_failures

ROUNDS, RUNS = (100, 1000, 10_000), 10_000


def show_failures(rounds: tuple[int, ...] = ROUNDS, runs: int = RUNS, seed: int = 0) -> None:
    failed = count_adaptive_failures(rounds, runs, seed)
    print("round    P(the radius fails)    times ln t    1/t")
    for t, count in zip(rounds, failed, strict=True):
        share = count / runs
        error = math.sqrt(share * (1 - share) / runs)
        print(f"{t:6d}    {share:.4f} +- {error:.4f}      {share * math.log(t):.3f}     {1 / t:g}")


if __name__ == "__main__":
    show_failures()
