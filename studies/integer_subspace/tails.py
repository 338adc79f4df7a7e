"""[integer-subspace-dp, Theorems 12 and 15, Lemma 11]: the printed bounds beside exact tails.

With m = d - k dimensions, V the volume of the unit ball and det that of the lattice, the paper has

    #{z : ||z|| <= r} <= 2 V r^m / sqrt(det)                          Lemma 11, r large enough
    P(||z|| >= t) <= K t^m exp(-epsilon t),  K = 4 2^m V / sqrt(det)    Theorem 12, l2 Laplace, t large enough
    P(||z|| >= t) <= K t^m exp(-t^2 / (2 sigma^2))                     Theorem 15, Gaussian, t large enough.

Tails are exact here, counted by `holdfast.lab`. The bounds leave out the normaliser, the sum of all weights,
which is at least 1 and here very large; divided by it they still hold, from a larger t on.
"""

from math import lgamma, log, log10, pi
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from holdfast.lab import ShellLattice, Tail, divided_holds_from, holds_from, largest_share, tails_of
from studies.integer_subspace.designs import (
    CHILDREN_L2,
    CROSSING_FRAME,
    CROSSING_L2,
    MARGINS_FRAME,
    QUARTER,
)
from studies.outcome import Bar, Number, Outcome
from studies.picture import BLUE, GREY, ORANGE, RED, panels

TITLE = "Theorems 12 and 15: tail bounds beside exact tails"
EPSILON = float(QUARTER)
VARIANCE = 2 / EPSILON**2
"""Of one continuous Laplace variable: Definition 13 leaves a constant of sigma open."""
SHARES = (1e-3, 1e-6)
LATTICES = {"4 x 4 margins": (CHILDREN_L2, MARGINS_FRAME), "14 cells": (CROSSING_L2, CROSSING_FRAME)}


class Size(NamedTuple):
    """The largest ||z||^2 that is counted."""

    most: int


QUICK, FULL = Size(30_000), Size(60_000)


def study(size: Size, bar: Bar[str]) -> Outcome:
    """Compare bounds and tails on both lattices."""
    numbers: dict[str, Number] = {}
    lines, found = [], []
    for name in bar(list(LATTICES), "counting shells"):
        design, frame = LATTICES[name]
        lattice = ShellLattice.of(design.kernel("reduced").basis, frame, size.most)
        numbers[f"{name}: sqrt(det)"] = Number(lattice.volume)
        numbers[f"{name}: points of the shortest norm"] = Number(float(lattice.points[1]))
        numbers[f"{name}: Lemma 11 holds from r"] = Number(holds_from(lattice))
        for tail in tails_of(lattice, EPSILON, VARIANCE):
            numbers |= _numbers(name, tail)
            lines.append(_line(name, tail))
            found.append((name, tail))
    for m in (23, 24, 25, 62, 63):
        numbers[f"log10 of 2^m V at m = {m}"] = Number((m / 2 * log(4 * pi) - lgamma(m / 2 + 1)) / log(10))
    lines.append(
        "2^m V, which the paper says tends to 0 and can be left out, grows until m = 24"
        f" ({10 ** numbers['log10 of 2^m V at m = 24'].value:,.0f}) and is below 1 from m = 63 on."
    )
    return Outcome(numbers, tuple(lines), {"tails": _picture(found)})


def _numbers(name: str, tail: Tail) -> dict[str, Number]:
    at = f"{name}, {tail.theorem}"
    found = {
        f"{at}: log10 K": Number(tail.log_constant / log(10)),
        f"{at}: log10 of the normaliser": Number(log10(tail.law.normaliser)),
        f"{at}: largest exact tail over its bound": Number(largest_share(tail)),
        f"{at}: over the normaliser it holds from": Number(divided_holds_from(tail)),
    }
    for share in SHARES:
        norm = tail.law.norm_with_tail(share)
        bound = float(tail.log_bound(np.array(norm)) / log(10))
        found[f"{at}: least norm with a tail of {share:g}"] = Number(norm)
        found[f"{at}: where the bound comes to {share:g}"] = Number(tail.reaches(share))
        found[f"{at}: log10 of the bound at that norm, {share:g}"] = Number(bound)
    return found


def _line(name: str, tail: Tail) -> str:
    norm, reach = tail.law.norm_with_tail(SHARES[0]), tail.reaches(SHARES[0])
    return (
        f"{tail.theorem}, {name}: a tail of {SHARES[0]:g} begins at {norm:.1f}; the bound says"
        f" 10^{float(tail.log_bound(np.array(norm))) / log(10):.1f} there and comes to {SHARES[0]:g} at"
        f" {reach:.0f}. It leaves out a normaliser of {tail.law.normaliser:.1e}."
    )


def _picture(found: list[tuple[str, Tail]]) -> Figure:
    figure, axes = panels(2, 2, (11, 7), sharey=True)
    for ax, (name, tail) in zip(axes, found, strict=True):
        _panel(ax, tail)
        ax.set_title(f"{name}: {tail.theorem}, {'l2 Laplace' if tail.theorem.endswith('12') else 'Gaussian'}")
    for ax in axes[::2]:
        ax.set_ylabel("P(norm >= t)")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, fontsize=9, loc="outside upper center", ncols=3)
    return figure


def _panel(ax: Axes, tail: Tail) -> None:
    norms, exact = tail.norms, tail.log_tails / log(10)
    shown = exact > -12
    ax.step(norms[shown], exact[shown], where="pre", color=BLUE, label="exact", linewidth=1.6)
    grid = np.linspace(float(norms[0]), tail.reaches(1e-12), 400)
    bound = tail.log_bound(grid) / log(10)
    ax.plot(grid, bound, color=ORANGE, label="as printed")
    ax.plot(
        grid,
        bound - log10(tail.law.normaliser),
        "--",
        color=ORANGE,
        label="the same over the normaliser",
        linewidth=1,
    )
    ax.axhline(0, color=GREY, linewidth=0.8)
    ax.axvline(tail.reaches(1), color=RED, linewidth=0.8, linestyle=":")
    ax.set_ylim(-12, 18)
    ax.set_yticks(range(-12, 17, 4), [f"$10^{{{k}}}$" for k in range(-12, 17, 4)])
    ax.set_xlabel("t")
    ax.grid(alpha=0.3)
