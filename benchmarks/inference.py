"""Effective posterior draws a second: Gibbs sampling here, the paper's rejection sampler, and NumPyro.

    python benchmarks/inference.py [--json] [--quick]

Counts of counties are Poisson with Gamma rates, released with discrete Laplace noise. All samplers draw from
the same posterior, and by turns. An effective draw is one by the smallest bulk effective sample size over
all rates and numbers of the prior; rejection draws are independent. No warm-up and no compilation is timed.

    counties_6    six small counties and their total: tables come from the prior given the total, and are
                  accepted with U <= q(y - x) / q(0)  [partially-private-data, Algorithm 1]
    counties_67   67 counties and their total, mean and shape of the rates unknown. Rejection accepts nothing
                  there: three over the time that it had bounds its rate at the level of 95 %.

NumPyro (extra `bench`) has the same model in plain words: rates are parameters, counts are summed out.
Without an invariant that is a sum over each county's counts. With the total it is the coefficient of a
product of 67 series, by a Fourier transform. ``ratio_ppl`` is the smaller ratio of the two. With rates
integrated out by hand as well NumPyro was five times slower: digamma functions of all counts at every step.
"""

import argparse
import json
import time
from fractions import Fraction
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from holdfast.inference.posterior.draws import Draws, diagnostics
from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.model import CountModel
from holdfast.inference.posterior.model_spec import Believed
from holdfast.inference.posterior.problem import ParameterLabels, Problem
from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.inference.posterior.whole_tables import tables_of_prior
from holdfast.mechanisms.likelihood import AddedNoise
from holdfast.sampling.entropy import SeededEntropy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw

KAPPA = Fraction(1, 4)
MEAN, SHAPE = Believed(0.004, 3.0), Believed(2.0, 3.0)
NOBODY = ParameterLabels((), ())
TURNS = 3


def problem(counties: int, *, small: bool, known: bool, total: bool) -> Problem:
    """Counties like those of Pennsylvania: populations spread over a factor of ten to either side."""
    generator = np.random.default_rng(67)
    population = np.exp(generator.normal(8.0 if small else 10.7, 1.1, counties))
    counts = generator.poisson(generator.gamma(2.0, 0.002, counties) * population)
    rows = np.ones((1 if total else 0, counties), dtype=np.int64)
    law = LatticeLaplaceLaw(csr_array(rows), KAPPA, "l1")
    released = counts + law.sample(SeededEntropy(1), 1)[0]
    mean, shape = (Believed(0.004), Believed(2.0)) if known else (MEAN, SHAPE)
    model = CountModel.rates(
        np.arange(counties), population, np.zeros(counties, dtype=np.int64), mean=mean, shape=shape
    )
    constraints = TableConstraints.of(csr_array(rows), rows @ released)
    return Problem(
        model, constraints, AddedNoise(law, released, np.arange(counties)), released, NOBODY, NOBODY, NOBODY
    )


def effective(values: np.ndarray[Any, Any]) -> float:
    """The smallest bulk effective sample size, over numbers along the last axis."""
    return float(diagnostics(values).ess_bulk.min())


def of_draws(drawn: Draws) -> float:
    numbers = drawn.numbers.reshape(*drawn.numbers.shape[:2], -1)
    moving = numbers[..., np.ptp(numbers, axis=(0, 1)) > 0]
    return effective(np.concatenate([np.log(drawn.parameters), moving], axis=2))


def ours(of: Problem, draws: int) -> tuple[float, float, Draws]:
    """Effective draws a second, draws a second: two runs, so that only sweeps after the warm-up count."""
    gibbs(of, draws=40, seed=0)
    started = time.perf_counter()
    gibbs(of, draws=40, warmup=500, seed=1)
    middle = time.perf_counter()
    drawn = gibbs(of, draws=draws, warmup=500, seed=1)
    took = (time.perf_counter() - middle) - (middle - started)
    return of_draws(drawn) / took, draws / took, drawn


def paper(of: Problem, seconds: float) -> tuple[float, float, int]:
    """Accepted draws a second of Algorithm 1, the acceptance, and the number of accepted ones."""
    generator = np.random.default_rng(3)
    accepted, tried, started = 0, 0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        tables, _ = tables_of_prior(of, generator, 1 << 14)
        weights = of.likelihood.log_prob(tables)  # type: ignore[union-attr]
        accepted += int((-generator.standard_exponential(len(tables)) <= weights).sum())
        tried += 1 << 14
    took = time.perf_counter() - started
    return max(accepted, 0 if accepted else 3) / took, accepted / tried, accepted


def ppl(of: Problem, draws: int) -> dict[str, Any]:
    """Effective draws a second of NumPyro's NUTS on the same posterior."""
    import jax  # noqa: PLC0415
    import jax.numpy as jnp  # noqa: PLC0415
    import numpyro  # noqa: PLC0415
    import numpyro.distributions as dist  # noqa: PLC0415
    from numpyro.infer import MCMC, NUTS, init_to_value  # noqa: PLC0415

    jax.config.update("jax_enable_x64", True)
    numpyro.set_host_device_count(2)
    total = of.constraints.matrix.shape[0] > 0
    exposure, released = jnp.exp(jnp.array(of.model.level)), jnp.array(of.released)
    window = int(np.ceil(40 / float(KAPPA)))
    noise = jnp.arange(-window, window + 1)
    counts = released[:, None] - noise  # x = y - z
    points = 1 << 11  # forty deviations of a sum of 67 noises

    def model() -> None:
        believed = of.model.believed
        mean = numpyro.sample(
            "mean", dist.LogNormal(np.log(believed["mean"].median), np.log(believed["mean"].factor))
        )
        shape = numpyro.sample(
            "shape", dist.LogNormal(np.log(believed["shape"].median), np.log(believed["shape"].factor))
        )
        with numpyro.plate("counties", exposure.size):
            rate = numpyro.sample("rate", dist.Gamma(shape, shape / mean))
        expected = (rate * exposure)[:, None]
        logs = counts * jnp.log(expected) - expected - jax.scipy.special.gammaln(jnp.maximum(counts, 0) + 1.0)
        logs = jnp.where(counts >= 0, logs - float(KAPPA) * jnp.abs(noise), -jnp.inf)
        if not total:
            numpyro.factor("release", jax.scipy.special.logsumexp(logs, axis=1).sum())
            return
        top = logs.max(axis=1)
        series = jnp.fft.rfft(jnp.exp(logs - top[:, None]), n=points, axis=1)
        turn = jnp.exp(2j * jnp.pi * jnp.arange(series.shape[1]) * window / points)
        whole = jnp.prod(series * turn, axis=0).real
        sides = jnp.where((jnp.arange(whole.size) % (points // 2)) == 0, 1.0, 2.0)
        numpyro.factor("release", jnp.log(jnp.maximum((whole * sides).sum() / points, 1e-300)) + top.sum())

    start = init_to_value(values={"rate": jnp.maximum(released, 1) / exposure})
    sampler = MCMC(
        NUTS(model, init_strategy=start),
        num_warmup=500,
        num_samples=draws // 2,
        num_chains=2,
        progress_bar=False,
    )
    sampler.warmup(jax.random.PRNGKey(0))
    sampler.run(jax.random.PRNGKey(1))  # compiles the sampling, too
    started = time.perf_counter()
    sampler.run(jax.random.PRNGKey(2))
    found = sampler.get_samples(group_by_chain=True)
    rates = np.asarray(found["rate"])
    took = time.perf_counter() - started
    others = np.stack([np.asarray(found[name]) for name in ("mean", "shape")], axis=2)
    values = np.log(np.concatenate([rates, others], axis=2))
    return {
        "effective_per_second": effective(values) / took,
        "seconds": took,
        "mean": rates.mean(axis=(0, 1)),
    }


def compare(*, quick: bool) -> dict[str, Any]:
    """Run all, by turns, and take medians."""
    draws, seconds = (4_000, 3.0) if quick else (40_000, 20.0)
    report: dict[str, Any] = {}
    for name, of in (
        ("counties_6", problem(6, small=True, known=True, total=True)),
        ("counties_67", problem(67, small=False, known=False, total=True)),
    ):
        turns = [(ours(of, draws)[:2], paper(of, seconds / TURNS)) for _ in range(TURNS)]
        speed, plain = (float(np.median([own[at] for own, _ in turns])) for at in (0, 1))
        accepted = sum(theirs[2] for _, theirs in turns)
        rejecting = max(accepted, 0 if accepted else 3) / seconds
        report[name] = {
            "effective_per_second": speed,
            "draws_per_second": plain,
            "rejection_per_second": rejecting,
            "rejection_accepted": accepted,
            "ratio_rejection": speed / rejecting,
        }
    report["ratio_rejection"] = report["counties_6"]["ratio_rejection"]
    report |= _against_ppl(draws)
    started = time.perf_counter()
    gibbs(problem(67, small=False, known=False, total=True), draws=100_000, seed=5)
    report["seconds_for_100000_draws"] = time.perf_counter() - started
    return report


def _against_ppl(draws: int) -> dict[str, Any]:
    try:
        import numpyro  # noqa: F401, PLC0415
    except ImportError:
        return {"ppl": "NumPyro is not installed: pip install numpyro", "ratio_ppl": None}
    found = {}
    for name, total in (("free", False), ("total", True)):
        of = problem(67, small=False, known=False, total=total)
        theirs = ppl(of, 1_000 if total or draws < 10_000 else 4_000)
        speed, _, drawn = ours(of, draws)
        apart = np.abs(drawn.parameters.mean(axis=(0, 1)) / theirs["mean"] - 1).max()
        found[name] = {
            "effective_per_second": speed,
            "numpyro_per_second": theirs["effective_per_second"],
            "largest_difference_of_means": float(apart),
            "ratio": speed / theirs["effective_per_second"],
        }
    return {"ppl": found, "ratio_ppl": min(one["ratio"] for one in found.values())}


def main() -> None:
    as_written = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=as_written)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--quick", action="store_true", help="shorter runs, rougher figures")
    options = parser.parse_args()
    report = compare(quick=options.quick)
    if options.json:
        print(json.dumps(report, indent=2))
        return
    for name in ("counties_6", "counties_67"):
        row = report[name]
        print(
            f"{name:<12}{row['effective_per_second']:>12,.0f} effective/s"
            f"{row['rejection_per_second']:>12,.3f} by rejection{row['ratio_rejection']:>14,.0f} times"
        )
    print(f"against NumPyro: {report['ppl'] if report['ratio_ppl'] is None else report['ratio_ppl']}")
    print(f"100,000 draws of 67 rates: {report['seconds_for_100000_draws']:.1f} s")


if __name__ == "__main__":
    main()
