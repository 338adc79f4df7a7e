"""Posterior case rates by county, from a release and what is public, and how often they hold the truth.

Cases of a month are Poisson, the people of a county times its rate; rates are Gamma, with a mean and a shape
that are learnt from all counties. The sum of cases is public. Cases are released by wasserstein-exponential
with the l1 loss, in two ways:

    with the sum    all 67 counties, noise that keeps the sum: one law for all tables
    prior           the six smallest counties, no count negative, weighted by last month's cases: the
                    normaliser depends on the table, and is summed for every table that a chain tries

Draws are those of Gibbs sampling [holdfast, inference/posterior/gibbs.py]; its likelihood is the law of the
mechanism. The naive analysis takes released counts for true ones, and negative ones for 0.

*Simulated truth.* The mean, the shape, rates, cases and a release are drawn from the model, so each rate is
known, and an interval of 90 percent must hold it 90 times in 100, whatever epsilon. A sum of no cases at all
is left out, which changes nothing, as the sum is public. *Real truth.* The cases of the month are released
again and again; what is to be held is the share of people that were cases. The model may be wrong of real
counties, and they are not drawn anew, so here 90 percent is a hope.
"""

import tempfile
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from math import sqrt
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import polars as pl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from holdfast import Prepared, SeededEntropy, Spec, prepare
from holdfast.inference.posterior.draws import Draws, diagnostics
from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.infer import naive
from holdfast.inference.posterior.model import CountModel
from holdfast.inference.posterior.model_spec import Believed
from holdfast.inference.posterior.problem import Problem
from holdfast.inference.posterior.table_constraints import TableConstraints
from holdfast.lattice.arrays import IntArray
from studies.outcome import Bar, Number, Outcome, mean
from studies.partially_private.counties import FILE, Counties, invented, read
from studies.partially_private.workers import spread
from studies.picture import BLUE, GREY, ORANGE, panels

__all__ = ["FILE", "invented", "read"]

TITLE = "Posterior case rates of the counties of Pennsylvania, and their coverage"
STAND_IN = "Posterior case rates on a stand-in: invented counties with a tenth of the people"
MONTH = 3
LEVELS = (0.5, 0.9)
LEVEL = LEVELS[-1]
MEAN, SHAPE = Believed(0.001, 2.0), Believed(3.0, 2.0)
"""What is believed of the mean and the shape of the rates before a release."""
SMALLEST = 6
PER = 100_000
WARMUP = 300
FEWEST = 0.02
"""The error of a coverage nearer to 0 or 1 is that of this share."""
SIMULATED_SEEDS = 10_000
"""Seeds below it are those of simulated truths."""
POSTERIOR, NAIVE = "posterior", "naive analysis"
SPEC = """\
[data]
path = "cases.csv"
cells = ["county"]
count = "cases"

[[invariants]]
total = true

[privacy]
epsilon = "{epsilon}"

[mechanism]
name = "wasserstein-exponential"
loss = "l1"
"""
PRIOR = """\
prior = "{file}"

[constraints]
nonnegative = true
"""
Floats = NDArray[np.float64]


class Size(NamedTuple):
    """Simulated truths, releases of the real one, and draws of each posterior."""

    simulated: int
    real: int
    draws: int


QUICK, FULL = Size(5, 4, 300), Size(100, 40, 2_000)


class World(NamedTuple):
    """Some counties: their people and cases, last month's cases if they make a prior, and epsilon."""

    title: str
    names: tuple[str, ...]
    people: IntArray
    cases: IntArray
    past: IntArray | None
    epsilon: Fraction
    lengthier: int = 1
    """How many times as many draws its posterior takes."""

    @property
    def model(self) -> CountModel:
        """Poisson cases, with one rate a county."""
        each = np.arange(self.people.size)
        return CountModel.rates(
            each, self.people.astype(np.float64), np.zeros_like(each), mean=MEAN, shape=SHAPE
        )

    def prepared(self, cases: IntArray) -> Prepared:
        """Return the release of some cases, calibrated by the library."""
        told = SPEC.format(epsilon=self.epsilon)
        frame = pl.DataFrame({"county": self.names, "cases": cases})
        if self.past is None:
            return prepare(Spec.model_validate(tomllib.loads(told)), data=frame)
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "past.csv"
            frame.with_columns(cases=pl.Series(self.past)).write_csv(file)
            told += PRIOR.format(file=file.as_posix())
            return prepare(Spec.model_validate(tomllib.loads(told)), data=frame)

    def problem(self, ready: Prepared, release: IntArray) -> Problem:
        """Return the posterior of what was released."""
        universe = ready.public.universe
        constraints = TableConstraints.of(universe.matrix, universe.values)
        return Problem(self.model, constraints, ready.mechanism.likelihood(release), release)


def worlds(counties: Counties) -> tuple[World, ...]:
    """Return all counties with their sum alone, and the smallest ones with a prior."""
    few = np.sort(counties.by_size[:SMALLEST])
    cases = counties.cases[MONTH]
    whole = World("67 counties, with the sum", counties.names, counties.people, cases, None, Fraction(1))
    names, past = tuple(counties.names[place] for place in few), counties.past(MONTH)[few]
    small = World(
        f"{SMALLEST} smallest counties, prior", names, counties.people[few], cases[few], past, Fraction(1)
    )
    return (
        whole._replace(epsilon=Fraction(1, 100), lengthier=2),
        whole,
        small._replace(epsilon=Fraction(1, 10)),
        small,
    )


class Inferred(NamedTuple):
    """Draws of the posterior, and those of the naive analysis."""

    posterior: Draws
    naive: Draws

    @classmethod
    def of(cls, world: World, ready: Prepared, seed: int, draws: int) -> "Inferred":
        """Draw a release, and infer from it."""
        release = ready.sample(SeededEntropy(seed), 1)[0]
        problem = world.problem(ready, release)
        drawn = gibbs(problem, draws=draws * world.lengthier, warmup=WARMUP, chains=2, seed=seed)
        if not problem.constraints.hold(drawn.tables.reshape(-1, release.size)).all():
            raise AssertionError("a drawn table contradicts what is public")
        return cls(drawn, naive(world.model, release, draws=draws, seed=seed))


def interval(draws: NDArray[Any], level: float) -> tuple[Floats, Floats]:
    """Return the interval with equal tails of each number, along the last axis."""
    flat = draws.reshape(-1, draws.shape[-1])
    tails = ((1 - level) / 2, (1 + level) / 2)
    low, high = np.quantile(flat, tails, axis=0, method="weibull")
    return low, high


def held(draws: NDArray[Any], truth: Floats, level: float) -> float:
    """Return the share of numbers whose interval holds the truth."""
    low, high = interval(draws, level)
    return float(((low <= truth) & (truth <= high)).mean())


def lengths(draws: NDArray[Any], level: float) -> float:
    """Return the mean length of intervals."""
    low, high = interval(draws, level)
    return float((high - low).mean())


class Told(NamedTuple):
    """Numbers of one release by name, and the fewest effective draws of a rate."""

    numbers: dict[str, float]
    effective: float


def simulated(world: World, draws: int, seed: int) -> Told | None:
    """Draw a truth and a release from the model, and tell which rates are held; None without any case."""
    generator = np.random.default_rng(seed)
    shape, middle = np.exp(world.model.draw_numbers(generator, 1)[0, 0])
    rates = generator.gamma(shape, middle / shape, world.people.size)
    cases = generator.poisson(rates * world.people)
    if not cases.sum():
        return None
    found = Inferred.of(world, world.prepared(cases), seed, draws)
    numbers = {
        f"{what}, coverage at {level:g} of simulated rates": held(drawn.parameters, rates, level)
        for what, drawn in ((POSTERIOR, found.posterior), (NAIVE, found.naive))
        for level in LEVELS
    }
    return Told(numbers, float(diagnostics(np.log(found.posterior.parameters)).ess_bulk.min()))


def of_real(world: World, draws: int, seed: int) -> Told:
    """Release the real cases, and tell whose share is held, how long intervals are, and errors."""
    truth = world.cases / world.people
    found = Inferred.of(world, world.prepared(world.cases), SIMULATED_SEEDS + seed, draws)
    share, rates = found.posterior.tables / world.people, found.naive.parameters
    numbers = {
        f"{POSTERIOR}, coverage at {LEVEL:g} of real rates": held(share, truth, LEVEL),
        f"{NAIVE}, coverage at {LEVEL:g} of real rates": held(rates, truth, LEVEL),
        f"{POSTERIOR}, length for {PER:,} people": PER * lengths(share, LEVEL),
        f"{NAIVE}, length for {PER:,} people": PER * lengths(rates, LEVEL),
    }
    for what, drawn in ((POSTERIOR, share), (NAIVE, rates)):
        off = np.abs(drawn.mean(axis=(0, 1)) - truth)
        numbers[f"{what}, |error| for {PER:,} people"] = PER * float(off.mean())
    return Told(numbers, float(diagnostics(np.log(found.posterior.parameters)).ess_bulk.min()))


class Task(NamedTuple):
    """A release to infer from: the number of its world, whether its cases are real, and a seed."""

    world: int
    real: bool
    seed: int


def _run(every: Sequence[World], draws: int, task: Task) -> Told | None:
    world = every[task.world]
    return of_real(world, draws, task.seed) if task.real else simulated(world, draws, task.seed)


def collected(some: Sequence[Told], counties: int) -> dict[str, Number]:
    """Return means over releases; the posterior must hold simulated rates as often as its level says.

    The error of a coverage is that over releases, and no less than if all intervals were independent: few
    releases may be alike by chance.
    """
    truth = {f"{POSTERIOR}, coverage at {level:g} of simulated rates": level for level in LEVELS}
    found = {}
    for what in some[0].numbers:
        number = mean(np.array([each.numbers[what] for each in some]), truth.get(what))
        if "coverage" in what:
            share = min(max(number.value, FEWEST), 1 - FEWEST) if number.truth is None else number.truth
            alone = sqrt(share * (1 - share) / (counties * len(some)))
            number = replace(number, error=max(number.error, alone))
        found[what] = number
    return found


def study(source: Counties, size: Size, bar: Bar[Any], *, name: str = "rates") -> Outcome:
    """Infer rates, and count how often their intervals hold the truth."""
    numbers: dict[str, Number] = {}
    runs = f"{size.simulated} simulated truths, {size.real} releases of the real one"
    lines = [f"{source.title}, {source.months[MONTH]}: {runs}, {size.draws:,} draws or more of each."]
    found: dict[str, dict[str, Number]] = {}
    every = worlds(source)
    tasks = [Task(number, False, seed) for number in range(len(every)) for seed in range(size.simulated)]
    tasks += [Task(number, True, seed) for number in range(len(every)) for seed in range(size.real)]
    heard = list(zip(tasks, spread(partial(_run, every, size.draws), tasks, bar, "posteriors"), strict=True))
    for number, world in enumerate(every):
        title = f"{world.title}, epsilon {float(world.epsilon):g}"
        drawn, real = (
            [each for task, each in heard if each is not None and task[:2] == (number, kind)]
            for kind in (False, True)
        )
        found[title] = told = collected(drawn, world.people.size) | collected(real, world.people.size)
        effective = np.median([each.effective for each in (*drawn, *real)])
        lines.append(f"  {title}: {effective:.0f} effective draws of the worst rate, median over releases")
        lines += [f"    {what:<54}{each.value:>10.3f} ({each.error:.3f})" for what, each in told.items()]
        numbers |= {f"{title}: {what}": each for what, each in told.items()}
    pictures = {name: _picture(source, size), f"{name}_coverage": _coverage(source.title, found)}
    return Outcome(numbers, tuple(lines), pictures)


def _picture(source: Counties, size: Size) -> Figure:
    """Draw the intervals of one release of all counties, for two epsilons."""
    ways = [world for world in worlds(source) if world.past is None]
    figure, axes = panels(len(ways), 1, (14, 4.6 * len(ways)), sharex=True)
    order = source.by_size
    for ax, world in zip(axes, ways, strict=True):
        found = Inferred.of(world, world.prepared(world.cases), 1, size.draws)
        _bars(ax, found.posterior.parameters, order, BLUE, f"posterior, {LEVEL:.0%} intervals", -0.17)
        _bars(ax, found.naive.parameters, order, ORANGE, "naive analysis", 0.17)
        truth = PER * world.cases[order] / source.people[order]
        ax.plot(range(order.size), truth, "_", color="black", markersize=8, label="cases that were counted")
        ax.set_yscale("symlog", linthresh=10)
        ax.set_ylim(0, 40_000)
        ax.set_yticks([0, 5, 10, 100, 1_000, 10_000], ["0", "5", "10", "100", "1,000", "10,000"])
        ax.set_ylabel(f"cases for {PER:,} people")
        ax.set_title(
            f"{source.title}, {source.months[MONTH]}: one release with the sum of cases, epsilon"
            f" {float(world.epsilon):g}"
        )
        ax.grid(axis="y", alpha=0.3)
    axes[0].legend(fontsize=9, loc="upper right", ncols=3)
    axes[-1].set_xticks(range(order.size), [source.names[place] for place in order], rotation=90, fontsize=7)
    axes[-1].set_xlim(-1, order.size)
    axes[-1].set_xlabel("counties, from the least to the most populous")
    return figure


def _bars(ax: Axes, draws: NDArray[Any], order: IntArray, colour: str, label: str, shift: float) -> None:
    low, high = (PER * end[order] for end in interval(draws, LEVEL))
    middle = PER * np.median(draws.reshape(-1, draws.shape[-1]), axis=0)[order]
    at = np.arange(order.size) + shift
    ax.vlines(at, low, high, color=colour, linewidth=2.2, alpha=0.75, label=label)
    ax.plot(at, middle, "o", color=colour, markersize=2.5)


def _coverage(title: str, found: dict[str, dict[str, Number]]) -> Figure:
    """Draw coverage at the level, with two standard errors."""
    figure, axes = panels(1, 2, (13, 3.6), sharex=True, sharey=True)
    for ax, kind in zip(axes, ("simulated", "real"), strict=True):
        for number, told in enumerate(found.values()):
            for what, colour, shift in ((POSTERIOR, BLUE, 0.12), (NAIVE, ORANGE, -0.12)):
                each = told[f"{what}, coverage at {LEVEL:g} of {kind} rates"]
                ax.errorbar(
                    each.value,
                    -number + shift,
                    xerr=2 * each.error,
                    fmt="o",
                    color=colour,
                    capsize=3,
                    label=what if number == 0 else None,
                )
                ax.text(each.value, -number + shift + 0.08, f"{each.value:.3f}", ha="center", fontsize=8)
        ax.axvline(LEVEL, color=GREY, linewidth=0.8)
        ax.set_yticks(range(0, -len(found), -1), list(found))
        ax.set_xlim(0, 1.02)
        ax.set_xlabel(f"share of {LEVEL:.0%} intervals that hold it (bars: 2 standard errors)")
        ax.set_title(
            f"{title}: {'rates drawn from the model' if kind == 'simulated' else 'cases as counted'}"
        )
        ax.grid(axis="x", alpha=0.3)
    axes[0].legend(fontsize=9, loc="lower left")
    return figure
