"""How fast and how well noise is drawn, from the operating system's generator.

python benchmarks/noise.py                 vectors of noise beside OpenDP's, same scales, same run
python benchmarks/noise.py --json          the same for machines: laplace.ratio and gaussian.ratio
python benchmarks/noise.py --check 1e8     chi-square tests of that many draws of each primitive
"""

import argparse
import json
import sys
from collections.abc import Callable
from fractions import Fraction
from importlib.metadata import version
from math import ceil
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from holdfast.sampling.entropy import Entropy, SystemEntropy
from holdfast.sampling.numbers.exponential import DoubleGeometric
from holdfast.sampling.numbers.gaussian import DiscreteGaussian, draw_near
from holdfast.sampling.numbers.inversion import Inversion, LogConcave

SCALES = (4, 1000)
REPEATS = 3
CHUNK = 1 << 22
LEAST_EXPECTED = 25
Results = dict[str, dict[str, Any]]
Numbers = NDArray[np.int64]
Masses = NDArray[np.float64]
Draw = Callable[[int], Numbers]


class Law(Protocol):
    def sample(self, entropy: Entropy, size: int) -> Numbers: ...


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=float, default=4e6, help="draws a vector, ours (default 4e6)")
    parser.add_argument("--opendp-size", type=float, default=1e5, help="draws a vector, OpenDP (default 1e5)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--check", type=float, default=0, metavar="N", help="test N draws of each primitive")
    options = parser.parse_args()
    if options.check:
        show = (lambda _: None) if options.json else (lambda line: print(line, flush=True))
        results = check(int(options.check), show)
        if options.json:
            print(json.dumps(results, indent=2))
        return 0
    try:
        results = compare(int(options.size), int(options.opendp_size))
    except ModuleNotFoundError:
        print("OpenDP is not installed: pip install opendp.", file=sys.stderr)
        return 2
    print(json.dumps(results, indent=2) if options.json else _table(results))
    return 0


def compare(size: int, their_size: int) -> Results:
    """Time vectors of both libraries in turn; a law's ratio is the smallest over its scales."""
    entropy = SystemEntropy()
    results: Results = {}
    makers: dict[str, tuple[Callable[[int], Law], Callable[[int], Draw]]] = {
        "laplace": (lambda scale: DoubleGeometric(Fraction(1, scale)), opendp_laplace),
        "gaussian": (lambda scale: DiscreteGaussian(Fraction(scale**2)), opendp_gaussian),
    }
    for name, (make, make_theirs) in makers.items():
        rows = []
        for scale in SCALES:
            draw, their_draw = _drawing(make(scale), entropy), make_theirs(scale)
            best = their_best = 0.0
            for _ in range(REPEATS):
                best = max(best, _rate(draw, size))
                their_best = max(their_best, _rate(their_draw, their_size))
            row = {"scale": scale, "size": size, "rate": best, "opendp_size": their_size}
            rows.append({**row, "opendp_rate": their_best, "ratio": best / their_best})
        results[name] = {"ratio": min(row["ratio"] for row in rows), "scales": rows}
    return {**results, "opendp": {"version": version("opendp")}}


def _rate(draw: Draw, size: int) -> float:
    begin = perf_counter()
    draw(size)
    return size / (perf_counter() - begin)


def opendp_laplace(scale: int) -> Draw:
    import opendp.prelude as dp  # noqa: PLC0415

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    measurement = dp.m.make_laplace(*space, scale=float(scale))
    return lambda size: np.asarray(measurement([0] * size))


def opendp_gaussian(scale: int) -> Draw:
    import opendp.prelude as dp  # noqa: PLC0415

    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l2_distance(T=float)
    measurement = dp.m.make_gaussian(*space, scale=float(scale))
    return lambda size: np.asarray(measurement([0] * size))


def _table(results: Results) -> str:
    lines = [f"{'law':10}{'scale':>8}{'ours/s':>14}{'OpenDP/s':>12}{'ratio':>8}"]
    for name in ("laplace", "gaussian"):
        lines += [
            f"{name:10}{r['scale']:>8}{r['rate']:>14,.0f}{r['opendp_rate']:>12,.0f}{r['ratio']:>8.0f}"
            for r in results[name]["scales"]
        ]
    return "\n".join([*lines, f"OpenDP {results['opendp']['version']}, best of {REPEATS}, system entropy"])


def check(size: int, show: Callable[[str], None]) -> Results:
    """Test each primitive against its enumerated law: p-values, to be read together."""
    entropy = SystemEntropy()
    cases: dict[str, tuple[Draw, int, Masses]] = {}
    for scale in SCALES:
        z = np.arange(-60 * scale, 60 * scale + 1)
        noise = DoubleGeometric(Fraction(1, scale))
        cases[f"laplace {scale}"] = (_drawing(noise, entropy), z[0], _normalised(-np.abs(z) / scale))
    k = np.arange(60 * 3000)
    cases["geometric 3000"] = (
        _one_sided(DoubleGeometric(Fraction(1, 3000)), entropy),
        0,
        _normalised(-k / 3000),
    )
    for sigma, third in ((4, 0), (1000, 0), (4, 1), (3000, 1)):
        z = np.arange(-12 * sigma, 12 * sigma + 1)
        exact = _drawing(DiscreteGaussian(Fraction(sigma**2)), entropy)
        mass = _normalised(-((z - third / 3) ** 2) / (2 * sigma**2))
        name = f"gaussian {sigma} at {Fraction(third, 3)}"
        cases[name] = (_near(sigma, 0, entropy) if third else exact), z[0], mass
    z = np.arange(-48, 49)
    cases["gaussian 4, centres moved"] = _near(4, 7, entropy), z[0], _normalised(-((z - 1 / 3) ** 2) / 32)
    law = LogConcave.by_ratio(23, lambda k: ((300 - k) * (77 - k), (k + 1) * (624 + k)))
    drawn = Inversion(law.cdf, around=23)
    mass = stats.hypergeom(1000, 300, 77).pmf(np.arange(78))
    cases["hypergeometric 1000, 300, 77"] = (_drawing(drawn, entropy), 0, mass)
    show(f"{'primitive':32}{'draws':>12}{'classes':>9}{'p':>10}")
    results: Results = {}
    for name, case in cases.items():
        r = results[name] = _chi_square(*case, size)
        show(f"{name:32}{r['draws']:>12,}{r['classes']:>9,}{r['p']:>10.4f}")
    return results


def _drawing(law: Law, entropy: Entropy) -> Draw:
    return lambda size: law.sample(entropy, size)


def _one_sided(law: Law, entropy: Entropy) -> Draw:
    """Fold double geometric noise: z, or -1 - z below zero, is geometric."""

    def draw(size: int) -> Numbers:
        z = law.sample(entropy, size)
        return np.where(z < 0, -1 - z, z)

    return draw


def _near(width: int, apart: int, entropy: Entropy) -> Draw:
    """Draw near 1/3, or near centres that are ``apart``, and move what is drawn to 1/3."""

    def draw(size: int) -> Numbers:
        moved = apart * np.arange(size)
        return draw_near(moved + 1 / 3, np.full(size, float(width)), entropy) - moved

    return draw


def _normalised(log_weight: Masses) -> Masses:
    weight = np.exp(log_weight - log_weight.max())
    mass: Masses = weight / weight.sum()
    return mass


def _chi_square(draw: Draw, first: int, mass: Masses, size: int) -> dict[str, float]:
    """Compare counts with the law; neighbours are pooled until enough draws are expected."""
    counts = np.zeros(mass.size + 1)
    for i in range(ceil(size / CHUNK)):
        places = draw(min(CHUNK, size - i * CHUNK)) - first
        places[(places < 0) | (places >= mass.size)] = mass.size
        counts += np.bincount(places, minlength=mass.size + 1)
    # A class ends where the expected draws since the last end suffice; what lies outside joins the last.
    reached = np.floor(np.cumsum(mass) * size / LEAST_EXPECTED)
    starts = np.append(0, np.flatnonzero(np.diff(reached) > 0) + 1)
    starts = starts[:-1] if mass[starts[-1] :].sum() * size < LEAST_EXPECTED / 2 else starts
    expected, observed = np.add.reduceat(mass, starts) * size, np.add.reduceat(counts[:-1], starts)
    observed[-1] += counts[-1]
    test = stats.chisquare(observed, expected * (size / expected.sum()))
    return {"p": float(test.pvalue), "draws": size, "classes": int(starts.size)}


if __name__ == "__main__":
    sys.exit(main())
