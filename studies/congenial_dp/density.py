"""[congenial-dp, Equations A.1 and A.2]: the law of b u1 + (1 - b) u2, u from Lap(2 / epsilon).

For b other than 1/2, with Lap(s) the Laplace density of scale s,

    p = b^2 / (2 b - 1) Lap(2 b / epsilon) - (1 - b)^2 / (2 b - 1) Lap(2 (1 - b) / epsilon),

and p(u) = epsilon / 4 (1 + epsilon |u|) exp(-epsilon |u|) for b = 1/2. It loses epsilon / (2 max(b, 1 - b))
for one record, a limit that log p(u) - log p(u + 1) approaches for large u [congenial-dp, Appendix A].
"""

from fractions import Fraction
from typing import NamedTuple

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from holdfast.privacy.posterior import posterior_bounds
from studies.outcome import Bar, Number, Outcome, variance
from studies.picture import BLUE, GREEN, GREY, ORANGE, VIOLET, panels

TITLE = "Equation A.1: the law of a convex combination of Laplace noise"
EPSILON = 1.0
BETAS = (Fraction(1, 2), Fraction(3, 5), Fraction(3, 4), Fraction(9, 10), Fraction(1))
FAR = 1e6
"""Where the loss is read off; for b = 1/2 it is short of its limit by about 1 / FAR there."""

Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Draws for each b."""

    draws: int


QUICK, FULL = Size(200_000), Size(5_000_000)


def log_density(u: Floats, beta: float) -> Floats:
    """Return log p(u), without cancelling or underflow far out."""
    size, large = np.abs(u), max(beta, 1 - beta)
    if large == 0.5:
        return np.asarray(np.log(EPSILON / 4) + np.log1p(EPSILON * size) - EPSILON * size)
    lead = np.log(EPSILON / (4 * (2 * large - 1))) - EPSILON * size / (2 * large)
    if large == 1:
        return np.asarray(lead)
    gap = EPSILON * (2 * large - 1) / (2 * large * (1 - large))  # between the two rates
    return np.asarray(lead + np.log(large - (1 - large) * np.exp(-gap * size)))


def cdf(u: Floats, beta: float) -> Floats:
    """Return the distribution function, by integrating p from u outwards."""
    size, large = np.abs(u), max(beta, 1 - beta)
    if large == 0.5:
        tail = (2 + EPSILON * size) * np.exp(-EPSILON * size) / 4
    else:
        small = 1 - large
        tail = large**2 * np.exp(-EPSILON * size / (2 * large))
        if small > 0:
            tail -= small**2 * np.exp(-EPSILON * size / (2 * small))
        tail /= 2 * (2 * large - 1)
    return np.where(u < 0, tail, 1 - tail)


def furthest(sample: Floats, beta: float) -> float:
    """Return the Kolmogorov distance of a sample from the law."""
    at, count = cdf(np.sort(sample), beta), sample.size
    ranks = np.arange(count + 1) / count
    return float(max((ranks[1:] - at).max(), (at - ranks[:-1]).max()))


def study(size: Size, bar: Bar[Fraction]) -> Outcome:
    """Compare simulated combinations with the formula, and read off what they lose."""
    seeded = np.random.default_rng(6)
    u = seeded.laplace(scale=2 / EPSILON, size=(2, size.draws))
    numbers: dict[str, Number] = {}
    lines: list[str] = []
    shares: dict[Fraction, Floats] = {}
    edges = np.linspace(-16, 16, 65)
    grid = np.linspace(-60, 60, 1_200_001)
    for exact in bar(BETAS, "combinations"):
        beta = float(exact)
        drawn = beta * u[0] + (1 - beta) * u[1]
        # sqrt(n) times the distance has the standard deviation 0.26 around 0.87
        distance = furthest(drawn, beta)
        numbers[f"Kolmogorov distance, beta {exact}"] = Number(distance, 0.5 / size.draws**0.5, truth=0)
        mass = float(np.trapezoid(np.exp(log_density(grid, beta)), grid))
        numbers[f"integral, beta {exact}"] = Number(mass, 1e-8, truth=1)
        numbers[f"variance, beta {exact}"] = variance(drawn, 8 * (beta**2 + (1 - beta) ** 2) / EPSILON**2)
        ends = log_density(np.array([FAR, FAR + 1]), beta)
        loss, limit = float(ends[0] - ends[1]), EPSILON / (2 * max(beta, 1 - beta))
        numbers[f"loss of one record, beta {exact}"] = Number(loss, 1 / FAR, truth=limit)
        lines.append(
            f"beta {exact!s:>4}: Kolmogorov distance {distance:.5f}"
            f" of {size.draws:,} draws, variance {numbers[f'variance, beta {exact}'].value:.3f}, loss"
            f" {loss:.4f}: a guess of 1/2 becomes at most {float(posterior_bounds(0.5, loss).high):.3f}."
        )
        shares[exact] = np.histogram(drawn, edges)[0] / size.draws / (edges[1] - edges[0])
    return Outcome(numbers, tuple(lines), {"density_a1": _picture(shares, edges)})


def _picture(shares: dict[Fraction, Floats], edges: Floats) -> Figure:
    figure, axes = panels(1, 2, (11, 4))
    fine, middles = np.linspace(-16, 16, 801), (edges[1:] + edges[:-1]) / 2
    near = np.linspace(0, 20, 401)
    for (exact, share), colour in zip(shares.items(), (BLUE, GREEN, ORANGE, VIOLET, GREY), strict=True):
        beta = float(exact)
        axes[0].plot(
            fine, np.exp(log_density(fine, beta)), color=colour, linewidth=1.5, label=f"beta {exact}"
        )
        seen = share > 0
        axes[0].plot(middles[seen], share[seen], ".", color=colour, markersize=3.5)
        loss = log_density(near, beta) - log_density(near + 1, beta)
        axes[1].plot(near, loss, color=colour, linewidth=1.5)
        axes[1].axhline(EPSILON / (2 * beta), color=colour, linewidth=0.8, linestyle=":")
    axes[0].set_title("density A.1 (lines) and simulation (dots)")
    axes[0].set_xlabel("beta u1 + (1 - beta) u2")
    axes[0].set_yscale("log")
    axes[0].set_ylim(1e-4, 0.5)
    axes[0].legend(fontsize=9, loc="lower center")
    axes[1].set_title("log p(u) - log p(u + 1), and its limit (dotted)")
    axes[1].set_xlabel("u")
    axes[1].set_ylim(0, 1.05)
    return figure
