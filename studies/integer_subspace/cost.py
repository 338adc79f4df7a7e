"""The published chain and exact draws side by side: acceptance, steps for an independent draw, and speed.

Chains start from exact draws, so they have converged, and acceptance and autocorrelation need no burn-in.
Many chains run at once, their fastest way. What an independent draw costs the chain is told in two ways: as
many steps as the paper takes, and as many as the integrated autocorrelation time (of the norm or of the last
cell, whichever is longer), without any allowance for how far the chain is from its law. An exact draw has the
law itself. The last cell is one that a jump of its own moves; those that are solved for move more often.
"""

import time
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from holdfast.lab.autocorrelation import autocorrelation_time
from holdfast.lab.gibbs_metropolis import Basis, Scan
from holdfast.lattice.arrays import IntArray
from holdfast.sampling.chains.kernel import located
from holdfast.sampling.entropy import SeededEntropy
from studies.integer_subspace.designs import DESIGNS, Design
from studies.outcome import Bar, Number, Outcome, mean
from studies.picture import BLUE, GREEN, GREY, ORANGE, panels

TITLE = "Chain and exact draws side by side"
GROUPS = 10
"""Chains are split into so many groups, for the error of an autocorrelation time."""
TIMES = 10
"""A run is long enough for an autocorrelation time when it has so many of them."""
VARIANTS: tuple[tuple[Basis, Scan], ...] = (("smith", "joint"), ("reduced", "joint"), ("smith", "sweep"))

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Chains, steps of each, and seconds for timing exact draws."""

    chains: int
    steps: int
    variant_steps: int
    seconds: float


QUICK, FULL = Size(100, 200, 50, 0.05), Size(100, 30_000, 1_000, 2.0)


class Run(NamedTuple):
    """Converged chains: accepted shares of each, the norms and the last cell (steps x chains), and speed."""

    acceptance: Floats
    norms: Floats
    cell: Floats
    steps_a_second: float


def study(size: Size, bar: Bar[Design]) -> Outcome:
    """Run each chain from exact draws, and time both."""
    numbers: dict[str, Number] = {}
    speeds: dict[str, float] = {}
    lines = []
    for k, design in enumerate(bar(DESIGNS, "designs")):
        exact = design.law.sample(SeededEntropy(20 + k), size.chains)
        run = converged(design, exact, size.steps, 30 + k)
        numbers[f"{design.name}: acceptance"] = mean(run.acceptance)
        for basis, scan in VARIANTS[1:]:
            other = converged(design, exact, size.variant_steps, 40 + k, basis, scan)
            numbers[f"{design.name}: acceptance, {basis} basis, {scan}"] = mean(other.acceptance)
        for what, series in (("the last cell", run.cell), ("the norm", run.norms)):
            found = _time(series)
            if size.steps >= TIMES * found.value:
                numbers[f"{design.name}: autocorrelation time of {what}"] = found
        speeds |= _speeds(design, run, size)
        lines.append(_line(design, numbers, speeds))
    return Outcome(numbers, tuple(lines), {"cost": _picture(speeds)}, speeds)


def converged(
    design: Design, exact: IntArray, steps: int, seed: int, basis: Basis = "smith", scan: Scan = "joint"
) -> Run:
    """Run chains from exact draws."""
    kernel, entropy = design.kernel(basis, scan), SeededEntropy(seed)
    state = located(kernel.target, exact)
    accepted = np.zeros(exact.shape[0])
    norms, cell = (np.empty((steps, exact.shape[0])) for _ in "ab")
    started = time.perf_counter()
    for step in range(steps):
        state, info = kernel.step(state, entropy)
        accepted += info.accepted / info.updates
        norms[step], cell[step] = state.statistic, state.points[:, -1]
    took = time.perf_counter() - started
    sizes = norms if design.norm == "l1" else np.sqrt(norms)
    return Run(accepted / steps, sizes, cell, steps * exact.shape[0] / took)


def _time(series: Floats) -> Number:
    """Return the autocorrelation time, with its error between groups of chains."""
    centre = float(series.mean())
    return mean(np.array([autocorrelation_time(group, centre) for group in np.split(series, GROUPS, axis=1)]))


def _speeds(design: Design, run: Run, size: Size) -> dict[str, float]:
    draws, took = 100, 0.0
    law, entropy = design.law, SeededEntropy(1)
    law.sample(entropy, 1)
    while took < size.seconds:
        draws *= 2
        started = time.perf_counter()
        law.sample(entropy, draws)
        took = time.perf_counter() - started
    slowest = max(_time(run.norms).value, _time(run.cell).value)
    found = {
        f"{design.name}: exact draws a second": draws / took,
        f"{design.name}: chain steps a second": run.steps_a_second,
        f"{design.name}: acceptance of the exact sampler": min(block.acceptance for block in law.plan.blocks),
        f"{design.name}: chain, draws a second by autocorrelation": run.steps_a_second / slowest,
    }
    if design.stated is not None:
        found[f"{design.name}: chain, draws a second as stated"] = run.steps_a_second / design.stated
    return found


def _line(design: Design, numbers: dict[str, Number], speeds: dict[str, float]) -> str:
    exact = speeds[f"{design.name}: exact draws a second"]
    effective = speeds[f"{design.name}: chain, draws a second by autocorrelation"]
    stated = speeds.get(f"{design.name}: chain, draws a second as stated")
    known = f", {exact / stated:,.0f} times the chain's at {design.stated:,} steps" if stated else ""
    return (
        f"{design.name}: the chain accepts {numbers[f'{design.name}: acceptance'].value:.1%}; exact draws"
        f" come at {exact:,.0f} a second{known}, {exact / effective:,.1f} times its by autocorrelation."
    )


def _picture(speeds: dict[str, float]) -> Figure:
    figure, (ax,) = panels(1, 1, (9, 4.4))
    ways = {
        "exact draws": ("exact draws a second", GREEN),
        "chain, one draw an autocorrelation time": ("chain, draws a second by autocorrelation", BLUE),
        "chain, one draw the paper's steps": ("chain, draws a second as stated", ORANGE),
    }
    height = 0.26
    for row, (label, (key, colour)) in enumerate(ways.items()):
        found = [speeds.get(f"{design.name}: {key}", 0.0) for design in DESIGNS]
        places = np.arange(len(DESIGNS)) + (row - 1) * height
        ax.barh(places, found, height=0.9 * height, color=colour, label=label)
        for place, value in zip(places, found, strict=True):
            text = f" {value:,.0f}" if value >= 10 else f" {value:.1g}" if value else " not stated"
            ax.text(max(value, 0.1), place, text, va="center", fontsize=8, color=colour if value else GREY)
    ax.set_xscale("log")
    ax.set_xlim(0.1, 1e6)
    ax.set_yticks(range(len(DESIGNS)), [design.name for design in DESIGNS])
    ax.invert_yaxis()
    ax.set_xlabel("draws a second, one process")
    figure.legend(fontsize=9, loc="outside upper center", ncols=3)
    return figure
