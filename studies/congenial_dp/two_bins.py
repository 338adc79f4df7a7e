"""[congenial-dp, Table 2]: two bins with a fixed total, by formula and by simulation.

M(x) = (s1 + u1, s2 + u2) with independent u from Lap(2 / epsilon); the total n = s1 + s2 is kept by

* conditioning on u1 + u2 = 0: m1 = s1 + u, u from Lap(1 / epsilon)      [congenial-dp, Equation 4.6]
* the L2 projection: m1 = s1 + (u1 - u2) / 2
* an L1 projection: m1 = s1 + b u1 - (1 - b) u2, any b in [0, 1].

**The misprint.** Table 2 prints the expectation of the L2 projection as (s, s) with s = (s1 + s2) / 2, and
Example 4.1 its value as (x + u, x - u), x the mean. The nearest point of {a1 + a2 = n} to (m1, m2) moves both
by the same amount, (n - m1 - m2) / 2 = -(u1 + u2) / 2. So m1 = s1 + (u1 - u2) / 2, which is unbiased; its
variance 4 / epsilon^2 is as printed [theory, 5].

The simulation draws u from Laplace laws and projects. Conditioning is simulated by the package: noise on a
fine grid, given that it sums to zero.
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.sparse import csr_array

from holdfast.mechanisms.truncation.congeniality import congeniality
from holdfast.privacy.guarantee import Scope
from holdfast.privacy.premises import Premises
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.universe.universe import Universe
from studies.outcome import Bar, Number, Outcome, mean, variance
from studies.picture import BLUE, GREEN, GREY, ORANGE, RED, panels

TITLE = "Table 2: two bins with a fixed total"
EPSILON = Fraction(1)
BINS = (70, 30)
STEPS = 100
"""Steps of the grid in one unit of a count."""
BETAS = (Fraction(1, 2), Fraction(3, 4), Fraction(1))
TOTAL = csr_array(np.ones((1, 2), dtype=np.int64))

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Releases by each method, ten times as many as this."""

    draws: int


QUICK, FULL = Size(20_000), Size(200_000)


def project_l2(noisy: Floats, total: float) -> Floats:
    """Return the nearest points with a given total: every bin moves by the same amount."""
    return np.asarray(noisy + ((total - noisy.sum(axis=1)) / noisy.shape[1])[:, None])


def project_l1(noisy: Floats, total: float, beta: float) -> Floats:
    """Return one of the nearest points in L1: the first bin takes 1 - beta of what is missing."""
    missing = total - noisy.sum(axis=1)
    return np.asarray(noisy + np.column_stack([(1 - beta) * missing, beta * missing]))


def conditioned(size: int, entropy: SeededEntropy) -> Floats:
    """Draw Lap(2 / epsilon) noise given that its sum is zero, on the grid.

    The base law weighs grid noise z by exp(-epsilon |z| / 2) a bin, in counts.
    """
    return LatticeLaplaceLaw(TOTAL, EPSILON / (2 * STEPS), "l1").sample(entropy, size) / STEPS


def releases(size: int, seeded: np.random.Generator, entropy: SeededEntropy) -> dict[str, Floats]:
    """Return m1 and m2 of many releases by each method."""
    noisy = np.array(BINS) + seeded.laplace(scale=2 / float(EPSILON), size=(size, 2))
    total = float(sum(BINS))
    return {
        "conditioned": np.array(BINS) + conditioned(size, entropy),
        "L2": project_l2(noisy, total),
        **{f"L1, beta {b}": project_l1(noisy, total, float(b)) for b in BETAS},
    }


def variance_formula(method: str) -> float:
    """Return Var(m1): 2, 4 or 8 (b^2 + (1 - b)^2), over epsilon^2."""
    unit = 1 / float(EPSILON) ** 2
    if not method.startswith("L1"):
        return (2 if method == "conditioned" else 4) * unit
    beta = Fraction(method.rsplit(maxsplit=1)[-1])
    return float(8 * (beta**2 + (1 - beta) ** 2)) * unit


def charged(steps: int) -> Fraction:
    """Return gamma for noise of epsilon / 2 a bin that is charged epsilon for each of so many steps.

    The paper counts two steps between tables with the same total and finds -1/2
    [congenial-dp, Section 5.1]. It is one record that is replaced: charged for that one, gamma is 0.
    """
    universe = Universe.of(TOTAL, np.array([sum(BINS)]))
    on = Premises.of(universe, Scope.of(universe, invariants=("total",), constraints=()), "unit")
    return congeniality(on, EPSILON / 2, nonnegative=False).charged(EPSILON, steps)


def study(size: Size, bar: Bar[int]) -> Outcome:
    """Simulate both moments of every method."""
    seeded, entropy = np.random.default_rng(5), SeededEntropy(5)
    batches = [releases(size.draws, seeded, entropy) for _ in bar(range(10), "releases")]
    drawn = {method: np.concatenate([batch[method] for batch in batches]) for method in batches[0]}
    numbers = {
        "gamma charged for two steps": Number(float(charged(2)), truth=-0.5),
        "gamma charged for one record": Number(float(charged(1)), truth=0),
    }
    for method, points in drawn.items():
        numbers[f"E m1, {method}"] = mean(points[:, 0], BINS[0])
        numbers[f"E m2, {method}"] = mean(points[:, 1], BINS[1])
        numbers[f"Var m1, {method}"] = variance(points[:, 0], variance_formula(method))
    middle = sum(BINS) / 2
    l2 = numbers["E m1, L2"]
    lines = [
        f"{method:>16}: E m1 = {numbers[f'E m1, {method}'].value:.3f}, Var m1 ="
        f" {numbers[f'Var m1, {method}'].value:.3f} (formula {variance_formula(method):g})"
        for method in drawn
    ]
    lines.append(
        f"The paper prints E m1 = {middle:g} for the L2 projection, {abs(l2.value - middle) / l2.error:,.0f}"
        f" standard errors from the simulation; {BINS[0]} is right: both bins move by the same amount."
    )
    return Outcome(numbers, tuple(lines), {"table_2": _picture(drawn, numbers)})


def _picture(drawn: dict[str, Floats], numbers: dict[str, Number]) -> Figure:
    figure, axes = panels(1, 2, (11, 4), width_ratios=(1.6, 1))
    colours = dict(zip(drawn, (ORANGE, BLUE, "none", GREEN, GREY), strict=True))
    edges = np.linspace(BINS[0] - 24, BINS[0] + 14, 153)
    for method, points in drawn.items():
        if method == f"L1, beta {BETAS[0]}":  # the same as the L2 projection
            continue
        label = "L2, and L1 with beta 1/2" if method == "L2" else method
        share, _ = np.histogram(points[:, 0], edges)
        density = share / points.shape[0] / (edges[1] - edges[0])
        axes[0].stairs(density, edges, color=colours[method], label=label, linewidth=1.4)
    axes[0].axvline(BINS[0], color="black", linewidth=1)
    axes[0].text(BINS[0] + 0.4, 0.47, "E m1, all methods", fontsize=9)
    axes[0].axvline(sum(BINS) / 2, color=RED, linewidth=1, linestyle="--")
    axes[0].text(sum(BINS) / 2 + 0.4, 0.47, "E m1 as printed for L2", color=RED, fontsize=9)
    axes[0].set_ylim(0, 0.52)
    axes[0].set_xlabel("m1")
    axes[0].set_title(f"released first bin; confidential {BINS[0]} of {sum(BINS)}")
    axes[0].legend(loc="center right", fontsize=9)
    _variances(axes[1], numbers, list(drawn))
    return figure


def _variances(ax: Axes, numbers: dict[str, Number], methods: list[str]) -> None:
    places = np.arange(len(methods))[::-1]
    ax.barh(places, [variance_formula(m) for m in methods], color=GREY, alpha=0.35, label="formula")
    simulated = [numbers[f"Var m1, {m}"] for m in methods]
    ax.errorbar(
        [n.value for n in simulated],
        places,
        xerr=[4 * n.error for n in simulated],
        fmt="o",
        markersize=4,
        capsize=3,
        color=BLUE,
        label="simulated, 4 standard errors",
    )
    ax.set_yticks(places, methods)
    ax.set_title(f"Var m1, epsilon = {EPSILON}")
    ax.legend(fontsize=9, loc="upper right")
