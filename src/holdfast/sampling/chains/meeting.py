"""Meeting times of chains coupled with a lag.

[biswas2019, Algorithm 1]: let one chain make L steps alone, then couple it with a second one, started
independently. The meeting time is tau = min{t > L : X_t = Y_(t-L)}.
"""

from dataclasses import dataclass

import numpy as np

from holdfast.errors import SamplingError
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.kernel import Kernel, coupled_step, run
from holdfast.sampling.entropy import Entropy

UNMET = -1


@dataclass(frozen=True, eq=False)
class MeetingTimes:
    """Independent meeting times, UNMET where two chains were still apart after ``max_iterations``.

    Where the target depends on data, so do they: fix the length of a run by a public stand-in.
    """

    lag: int
    times: IntArray
    max_iterations: int

    @property
    def runs(self) -> int:
        """How many pairs of chains were run."""
        return int(self.times.size)

    @property
    def unmet(self) -> int:
        """How many pairs did not meet."""
        return int((self.times == UNMET).sum())

    def require_all(self) -> None:
        """Raise SamplingError unless every pair has met."""
        if self.unmet:
            raise SamplingError(
                f"{self.unmet} of {self.runs} pairs of chains did not meet in {self.max_iterations}"
                " iterations: allow more iterations."
            )


def meeting_times(
    kernel: Kernel, *, lag: int, runs: int, max_iterations: int, entropy: Entropy
) -> MeetingTimes:
    """Run pairs of chains from the kernel's own start until they meet, at most ``max_iterations`` steps."""
    if lag < 1 or runs < 1 or max_iterations <= lag:
        raise ValueError("a lag and a number of runs are at least 1, and more steps than the lag are needed")
    lead, follow = kernel.start(runs, entropy), kernel.start(runs, entropy)
    lead = run(kernel, lead, lag, entropy)
    times = np.full(runs, UNMET, dtype=np.int64)
    apart = np.arange(runs)
    for t in range(lag + 1, max_iterations + 1):
        lead, follow = coupled_step(kernel, lead, follow, entropy)
        met = (lead.points == follow.points).all(axis=1)
        if met.any():
            times[apart[met]] = t
            apart, lead, follow = apart[~met], lead.rows(~met), follow.rows(~met)
            if not apart.size:
                break
    return MeetingTimes(lag, times, max_iterations)
