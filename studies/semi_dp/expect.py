"""Make `expected.json`: what the numbers should be, worked out in other ways than the study draws them.

    python -m studies.semi_dp.expect

* Gaussian noise on s dimensions: sigma times the mean of a chi law.
* l2 noise: the radius has a gamma law. For l1 and linf, with Q = ||v||_2^2,

      E Q^(1/2) = (4 pi)^(-1/2)  integral over t > 0 of (1 - E exp(-t Q)) t^(-3/2),

  and E exp(-t Q) is a power of a one-dimensional transform.
* K-norm noise is R V with R ~ Gamma(s + 1, epsilon) and V uniform in K [semi-dp, Algorithm 3]: V is drawn
  from a triangulation of K. The study solves linear programs instead.
* Powers: SciPy's noncentral hypergeometric law, and Tulap noise summed from its definition.
* Integer noise on 2 x 2 tables is j (1, -1, -1, 1): a sum over j. K-norm noise on 3 x 3 tables at
  epsilon = 1 is a sum over all tables with entries up to 25, their norms from the facets of K.
* Other integer noise and the plug-in test: a long run of the same sampler from another seed, with its
  standard error. This finds changes, not what was wrong from the beginning.
"""

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from math import exp, inf, pi, sqrt
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.spatial import ConvexHull
from scipy.special import erf, erfcx
from scipy.stats import chi, hypergeom, nchypergeom_fisher

from holdfast.data.two_by_two import Margins
from holdfast.lab.norm_balls import BallNorm
from holdfast.mechanisms.k_norm import KNorm
from holdfast.mechanisms.lattice_gaussian import LatticeGaussian
from holdfast.privacy.intensity import Pure
from holdfast.privacy.premises import Premises
from holdfast.sampling.entropy import SeededEntropy
from holdfast.universe.hull.moves import HullMoves, basic_moves, sensitivity_moves
from studies.semi_dp import figure_2, figure_3, numbers, power
from studies.semi_dp.designs import both_margins, generator, model_table

Floats = NDArray[np.float64]
ONE_RECORD: dict[BallNorm, float] = {"l1": 2.0, "l2": sqrt(2.0), "linf": 1.0}
SEED = 20_240_229
"""Not a seed of the study."""
Moments = tuple[float, float, float]
"""A value, the standard deviation of one draw, and the standard error of the value."""
Entry = tuple[str, str, str, Moments]


def gaussian(sigma: float, dimension: int) -> Moments:
    """Return the mean and deviation of ||N(0, sigma^2 P)||_2."""
    return sigma * float(chi.mean(dimension)), sigma * float(chi.std(dimension)), 0.0


def ball(norm: BallNorm, cells: int, scale: float) -> Moments:
    """Return the mean and deviation of ||v||_2 for a density proportional to exp(-||v|| / scale)."""
    if norm == "l1":  # Q is a sum of squares of standard Laplace variables, with mean 2
        mean = _root_mean(lambda t: sqrt(pi / t) / 2 * float(erfcx(1 / (2 * sqrt(t)))), cells)
        square = 2.0 * cells
    elif norm == "l2":
        mean, square = float(cells), cells * (cells + 1.0)
    else:  # a radius of law Gamma(d + 1) times a uniform point of the cube
        inside = _root_mean(lambda t: sqrt(pi / t) / 2 * float(erf(sqrt(t))), cells)
        mean, square = (cells + 1) * inside, (cells + 1) * (cells + 2) * cells / 3
    return scale * mean, scale * sqrt(square - mean**2), 0.0


def _root_mean(transform: Callable[[float], float], cells: int) -> float:
    """Return E Q^(1/2) from the transform of one cell; t = u^2 takes the singularity away."""

    def integrand(u: float) -> float:
        return 2 * (1 - transform(u * u) ** cells) / (u * u)

    return (quad(integrand, 1e-7, 1, limit=400)[0] + quad(integrand, 1, inf, limit=400)[0]) / sqrt(4 * pi)


def k_norm(moves: HullMoves, epsilon: Fraction, size: int = 4_000_000) -> Moments:
    """Return the mean and deviation of ||R V||_2, with V drawn from a triangulation of K."""
    span, _ = np.linalg.qr(moves.basis.T.astype(np.float64))
    points = moves.vectors.toarray() @ span
    dimension = span.shape[1]
    source = generator(SEED, "hull", moves.adjacency, moves.cells)
    if dimension == 1:
        inside, error = float(np.abs(points).max()) / 2, 0.0
        square = 4 * inside**2 / 3
    else:
        both = np.vstack([points, -points])
        simplices = both[ConvexHull(both).simplices]  # with the origin, a triangulation
        volumes = np.abs(np.linalg.det(simplices))
        chosen = source.choice(len(volumes), size, p=volumes / volumes.sum())
        weights = source.dirichlet(np.ones(dimension + 1), size)[:, 1:]
        lengths = np.linalg.norm((weights[:, :, None] * simplices[chosen]).sum(axis=1), axis=1)
        inside, square = float(lengths.mean()), float((lengths**2).mean())
        error = float(lengths.std()) / sqrt(size)
    mean = (dimension + 1) * inside
    deviation = sqrt((dimension + 1) * (dimension + 2) * square - mean**2)
    return mean / float(epsilon), deviation / float(epsilon), (dimension + 1) * error / float(epsilon)


def on_a_line(weight: Callable[[Floats], Floats]) -> Moments:
    """Return the mean and deviation of ||j (1, -1, -1, 1)||_2 = 2 |j| for j with given weights."""
    j = np.arange(-2000.0, 2001)
    return _summed(2 * np.abs(j), weight(j))


def on_three_by_three(moves: HullMoves, reach: int = 25) -> Moments:
    """Return the same for K-norm noise at epsilon = 1, summed over the upper left corners of the tables.

    ||z||_K is the largest y z over the facets y z <= 1, and no less than any |entry|.
    """
    corners = moves.vectors.toarray()[:, [0, 1, 3, 4]]
    facets = np.unique(np.round(_facets(np.vstack([corners, -corners])), 9), axis=0)
    entries = np.arange(-reach, reach + 1.0)
    grid = np.stack(np.meshgrid(entries, entries, entries, indexing="ij"), axis=-1).reshape(-1, 3)
    costs, weights = [], []
    for first in entries:
        corner = np.column_stack([np.full(len(grid), first), grid])
        a, b, c, d = corner.T
        rest = np.column_stack([a + b, c + d, a + c, b + d, a + b + c + d])
        costs.append(np.sqrt((corner**2).sum(axis=1) + (rest**2).sum(axis=1)))
        weights.append(np.exp(-(corner @ facets.T).max(axis=1)))
    return _summed(np.concatenate(costs), np.concatenate(weights))


def _facets(points: NDArray[Any]) -> Floats:
    """Return the y of the facets y z <= 1 of a hull around 0."""
    equations = ConvexHull(points).equations
    return np.asarray(equations[:, :-1] / -equations[:, -1:])


def _summed(costs: Floats, weights: Floats) -> Moments:
    shares = weights / weights.sum()
    mean = float(shares @ costs)
    return mean, sqrt(float(shares @ costs**2) - mean**2), 0.0


def long_run(values: Floats) -> Moments:
    """Return what a long run measured."""
    return float(values.mean()), float(values.std()), float(values.std()) / sqrt(values.size)


def tulap_power(margins: Margins, epsilon: float, odds: float) -> float:
    """Return the power of the test that rejects for large x_11 + N, from SciPy and the law of N."""
    n, row, column = sum(margins.rows), margins.rows[0], margins.columns[0]
    values = np.arange(margins.lowest, margins.highest + 1.0)
    whole = np.arange(-int(40 / epsilon), int(40 / epsilon) + 1)
    laplace = (1 - exp(-epsilon)) / (1 + exp(-epsilon)) * np.exp(-epsilon * np.abs(whole))

    def above(u: float, odds: float) -> float:
        noise = np.clip(values[:, None] + whole - u + 0.5, 0, 1) @ laplace  # P(K + V >= u - h)
        return float(nchypergeom_fisher.pmf(values, n, row, column, odds) @ noise)

    critical = brentq(lambda u: above(u, 1.0) - power.LEVEL, -n - 60 / epsilon, n + 60 / epsilon, xtol=1e-13)
    return above(float(critical), odds)


def fisher_power(margins: Margins, odds: float) -> tuple[float, float]:
    """Return the powers of Fisher's test and of the randomised one, by SciPy."""
    n, row, column = sum(margins.rows), margins.rows[0], margins.columns[0]
    first = next(h for h in range(n) if hypergeom.sf(h - 1, n, row, column) <= power.LEVEL)
    share = (power.LEVEL - hypergeom.sf(first - 1, n, row, column)) / hypergeom.pmf(first - 1, n, row, column)
    beyond = float(nchypergeom_fisher.sf(first - 1, n, row, column, odds))
    return beyond, beyond + float(share * nchypergeom_fisher.pmf(first - 1, n, row, column, odds))


def _figure_2(draws: int = 100_000) -> Iterator[Entry]:
    for k in figure_2.SIZES:
        correct = 2.0 if k == 2 else sqrt(6)
        setting, open_dimension = f"k = {k}", (k - 1) ** 2
        for series, sigma, dimension in (
            ("naive", 3 * sqrt(2), k * k),
            ("naive, projected", 3 * sqrt(2), open_dimension),
            ("semi, as printed", 2.0, open_dimension),
            ("semi, correct", correct, open_dimension),
        ):
            yield figure_2.PART, series, setting, gaussian(sigma, dimension)
        yield figure_2.PART, "semi, as printed: true mu for 3 records", setting, (correct / 2, 0.0, 0.0)
        if k == 2:  # ||z||^2 = 4 j^2 and sigma^2 = 4
            yield figure_2.PART, "semi, integers", setting, on_a_line(lambda j: np.exp(-(j**2) / 2))
            continue
        exact = LatticeGaussian(both_margins(model_table("I", k, SEED)), Fraction(round(correct**2)))
        costs = np.linalg.norm(exact.noise.sample(SeededEntropy(SEED + k), draws), axis=1)
        yield figure_2.PART, "semi, integers", setting, long_run(costs)


def _figure_3(draws: int = 20_000) -> Iterator[Entry]:
    for k in figure_3.SIZES:
        premises = both_margins(model_table("I", k, SEED))
        yield (
            figure_3.PART,
            "K-norm, as printed: true loss / epsilon",
            f"k = {k}",
            (1.0 if k == 2 else 2.0, 0.0, 0.0),
        )
        for epsilon in figure_3.EPSILONS:
            setting = figure_3.setting(k, epsilon)
            for norm, sensitivity in ONE_RECORD.items():
                yield (
                    figure_3.PART,
                    f"naive {norm}",
                    setting,
                    ball(norm, k * k, 3 * sensitivity / float(epsilon)),
                )
            yield figure_3.PART, "K-norm, as printed", setting, k_norm(basic_moves(k, k), epsilon)
            everything = sensitivity_moves(premises.universe, 3)
            yield figure_3.PART, "K-norm, correct", setting, k_norm(everything, epsilon)
            yield (
                figure_3.PART,
                "K-norm, integers",
                setting,
                _integers(k, epsilon, everything, premises, draws),
            )


def _integers(k: int, epsilon: Fraction, moves: HullMoves, premises: Premises, draws: int) -> Moments:
    if k == 2:
        return on_a_line(lambda j: np.exp(-float(epsilon) * np.abs(j)))
    if epsilon == 1:
        return on_three_by_three(moves)
    noise = KNorm.calibrate(premises, intensity=Pure(epsilon)).noise
    return long_run(np.linalg.norm(noise.sample(SeededEntropy(SEED + epsilon.denominator), draws), axis=1))


def _power(draws: int = 100_000) -> Iterator[Entry]:
    for records in power.DESIGNS:
        margins = power.design(records)
        for epsilon in figure_3.EPSILONS:
            for odds in power.CHECKED:
                setting = power.setting(records, epsilon, odds)
                plain, randomised = fisher_power(margins, odds)
                semi = tulap_power(margins, float(epsilon), odds)
                naive = tulap_power(margins, float(epsilon) / 3, odds)
                for series, value in (
                    ("Fisher", plain),
                    ("Fisher, randomised", randomised),
                    ("semi-private", semi),
                    ("naive private", naive),
                ):
                    yield power.PART, series, setting, (value, 0.0, 0.0)
                yield power.PART, "semi-private, simulated", setting, (semi, sqrt(semi * (1 - semi)), 0.0)
                rejected = dict(power.simulated(margins, epsilon, odds, SEED, draws))["plug-in"]
                yield power.PART, "plug-in", setting, long_run(rejected.astype(np.float64))


def _on_one_line(entry: re.Match[str]) -> str:
    return "{" + " ".join(entry[1].split()) + "}"


def main() -> None:
    """Write `expected.json`."""
    tree: dict[str, dict[str, dict[str, dict[str, float]]]] = defaultdict(lambda: defaultdict(dict))
    for part in (_figure_2, _figure_3, _power):
        for name, series, setting, (value, sd, error) in part():
            tree[name][series][setting] = {
                "value": round(value, 10),
                "sd": round(sd, 6),
                "error": float(f"{error:.3g}"),
            }
    tolerance = {
        "number": f"{numbers.NUMBER:g} standard errors, root of (sd^2 / draws + error^2)",
        "series": f"{numbers.SERIES:g}, of the sum of standardised errors over the root of their number",
        "computed": f"{numbers.COMPUTED:g}, for numbers without draws",
    }
    text = json.dumps({"tolerance": tolerance, "expected": tree}, indent=1)
    numbers.EXPECTED.write_text(re.sub(r"\{\s+(\"value.*?)\s+\}", _on_one_line, text, flags=re.DOTALL) + "\n")
    print(f"{numbers.EXPECTED}: written")


if __name__ == "__main__":
    main()
