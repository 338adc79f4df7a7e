"""Exact lattice draws against the published Markov chain, side by side in one run.

    python benchmarks/lattice.py [--json] [--quick]

For each design: our exact draws a second; the chain's draws a second at the iterations its paper states for
one draw (``ratio_stated``), and its effective draws a second, steps divided by the integrated autocorrelation
time of one cell (``ratio_effective``). Many chains run at once, its fastest way; both are timed by turns.
Then the growth with size, for all laws.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, eye_array, kron

from holdfast.sampling.bounded.truncated import TruncatedLaw
from holdfast.sampling.chains.kernel import LaplaceTarget
from holdfast.sampling.entropy import IntegerLaw, SystemEntropy
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.system.errors import SamplingError

sys.path.insert(0, str(Path(__file__).parents[1]))  # studies/ is not installed
from holdfast.lab.gibbs_metropolis import GibbsMetropolis, lattice_basis

CHAINS = 512
TURNS = 5


def two_way(rows: int, columns: int) -> csr_array:
    by_row = kron(eye_array(rows, dtype=np.int64), np.ones((1, columns), dtype=np.int64))
    by_column = kron(np.ones((1, rows), dtype=np.int64), eye_array(columns, dtype=np.int64)).tocsr()[:-1]
    return csr_array(np.vstack([by_row.toarray(), by_column.toarray()]))


def crossing_14() -> csr_array:
    """Three counts over 14 cells, two cells in each region of their Venn diagram."""
    regions = np.array([[(k >> i) & 1 for k in range(1, 8)] for i in range(3)])
    return csr_array(np.repeat(regions, 2, axis=1))


def hierarchy(groups: int, size: int) -> csr_array:
    return csr_array(kron(eye_array(groups, dtype=np.int64), np.ones((1, size), dtype=np.int64)))


DESIGNS: dict[str, tuple[csr_array, Fraction, Fraction, int]] = {
    # system, epsilon, the chain's jump rate, iterations the paper takes for one draw
    "margins_4x4": (two_way(4, 4), Fraction(1, 4), Fraction(1), 10_000),
    "crossing_14": (crossing_14(), Fraction(1, 4), Fraction(1), 100_000),
    "counties_102": (hierarchy(1, 102), Fraction(192, 1000), Fraction(5, 2), 10_000),
}


def rate(draw: Callable[[int], object], seconds: float) -> float:
    """Return draws a second: warm up, then double the batch until it takes long enough."""
    size = 1
    draw(size)
    while True:
        started = time.perf_counter()
        draw(size)
        took = time.perf_counter() - started
        if took >= seconds:
            return size / took
        size = max(2 * size, int(size * seconds / max(took, 1e-6) / 2))


def autocorrelation_time(series: NDArray[np.float64]) -> float:
    """Return the integrated autocorrelation time of chains (one a column), by Sokal's window."""
    centred = series - series.mean()
    length = series.shape[0]
    spectrum = np.fft.rfft(centred, 2 * length, axis=0)
    correlation = np.fft.irfft(np.abs(spectrum) ** 2, axis=0)[:length].mean(axis=1)
    correlation /= correlation[0]
    total = 1.0
    for lag in range(1, length):
        total += 2 * correlation[lag]
        if lag > 6 * total:
            break
    return float(total)


class Chains:
    """The published chain, many at once: its fastest way."""

    def __init__(self, system: csr_array, epsilon: Fraction, jump: Fraction, steps: int) -> None:
        target = LaplaceTarget(epsilon, np.zeros(system.shape[1], dtype=np.int64), "l1")
        self._kernel = GibbsMetropolis(lattice_basis(system.toarray()), target, jump, "joint")
        self._entropy = SystemEntropy()
        self._state = self._kernel.start(CHAINS, self._entropy)
        self.run(steps // 4)

    def run(self, steps: int) -> tuple[float, NDArray[np.float64]]:
        """Return steps a second, over all chains, and the path of one cell in each."""
        trace = np.empty((steps, CHAINS))
        started = time.perf_counter()
        for i in range(steps):
            self._state, _info = self._kernel.step(self._state, self._entropy)
            trace[i] = self._state.points[:, 0]
        return steps * CHAINS / (time.perf_counter() - started), trace


def compare(seconds: float, steps: int) -> dict[str, Any]:
    """Time both by turns, and take the medians: a busy moment then troubles neither."""
    report: dict[str, Any] = {}
    for name, (system, epsilon, jump, iterations) in DESIGNS.items():
        law = LatticeLaplaceLaw(system, epsilon, "l1")
        chains = Chains(system, epsilon, jump, steps)
        exacts, speeds, traces = [], [], []
        for _ in range(TURNS):
            exacts.append(rate(lambda n, law=law: law.sample(SystemEntropy(), n), seconds / TURNS))  # type: ignore[misc]
            speed, trace = chains.run(steps // TURNS)
            speeds.append(speed)
            traces.append(trace)
        exact, stepped = float(np.median(exacts)), float(np.median(speeds))
        time_constant = autocorrelation_time(np.concatenate(traces))
        report[name] = {
            "exact_per_second": exact,
            "chain_steps_per_second": stepped,
            "stated_iterations": iterations,
            "autocorrelation_time": time_constant,
            "ratio_stated": exact / (stepped / iterations),
            "ratio_effective": exact / (stepped / time_constant),
        }
    return report


def truncated_2x23() -> TruncatedLaw:
    """Sex by 23 ages with three totals, and no count below zero: the table of [congenial-dp, Table 1]."""
    women, adults = np.repeat([1, 0], 23), np.tile(np.arange(23) >= 4, 2)
    system = np.stack([np.ones(46), women, adults]).astype(np.int64)
    counts = np.full(46, 5, dtype=np.int64)
    return TruncatedLaw(csr_array(system), low=-counts, epsilon=Fraction(6, 10))


def laws() -> Iterator[tuple[str, Callable[[], IntegerLaw]]]:
    quarter = Fraction(1, 4)
    sizes = [(f"{n} x {n}", two_way(n, n)) for n in (2, 3, 4, 5, 6, 8, 10, 12, 14)]
    sizes += [(f"{r} x {c}", two_way(r, c)) for r, c in ((2, 23), (3, 20), (3, 50), (5, 20))]
    totals = ((1, 102), (1, 1000), (50, 20), (1000, 100), (3000, 333))
    sizes += [(f"{g:,} totals of {n:,}", hierarchy(g, n)) for g, n in totals]
    for name, system in sizes:
        yield f"l1, {name}", partial(LatticeLaplaceLaw, system, quarter, "l1")
    for n in (4, 10, 20):
        yield f"l2, {n} x {n}", partial(LatticeLaplaceLaw, two_way(n, n), quarter, "l2")
    for n in (4, 10, 20, 30):
        yield f"Gaussian 9, {n} x {n}", partial(LatticeGaussianLaw, two_way(n, n), Fraction(9))
    yield "Gaussian 9, 3,000 totals of 333", partial(LatticeGaussianLaw, hierarchy(3000, 333), Fraction(9))
    yield "l1 0.6, 2 x 23 kept at 0 or more", truncated_2x23


def growth(seconds: float) -> list[dict[str, Any]]:
    rows = []
    for name, make in laws():
        started = time.perf_counter()
        try:
            law = make()
            law.sample(SystemEntropy(), 1)
        except SamplingError:
            continue
        first = time.perf_counter() - started
        exact = rate(lambda n, law=law: law.sample(SystemEntropy(), n), seconds)  # type: ignore[misc]
        rows.append({"design": name, "first_draw_seconds": first, "draws_per_second": exact})
    return rows


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="shorter runs, rougher figures")
    options = parser.parse_args()
    seconds, steps = (0.3, 1500) if options.quick else (2.0, 6000)
    report = {**compare(seconds, steps), "growth": growth(seconds)}
    if options.json:
        print(json.dumps(report, indent=2))
        return
    print(f"{'design':<14}{'exact/s':>12}{'chain/s':>12}{'IACT':>8}{'x stated':>12}{'x effective':>13}")
    for name in DESIGNS:
        row = report[name]
        stated = row["chain_steps_per_second"] / row["stated_iterations"]
        print(
            f"{name:<14}{row['exact_per_second']:>12,.0f}{stated:>12,.1f}{row['autocorrelation_time']:>8.0f}"
            f"{row['ratio_stated']:>12,.0f}{row['ratio_effective']:>13,.1f}"
        )
    print(f"\n{'growth, rate 1/4':<34}{'first draw, s':>14}{'draws/s':>14}")
    for row in report["growth"]:
        print(f"{row['design']:<34}{row['first_draw_seconds']:>14.2f}{row['draws_per_second']:>14,.1f}")


if __name__ == "__main__":
    main()
