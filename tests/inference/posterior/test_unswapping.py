"""Permutations of a swap have their enumerated posterior, and every state is a swap of the released file."""

from fractions import Fraction
from itertools import permutations
from math import exp, lgamma, log

import numpy as np
import pytest
from tests.inference.posterior.small import NOBODY, proportions, rates

from holdfast.inference.posterior.gibbs import gibbs
from holdfast.inference.posterior.model import CountModel
from holdfast.inference.posterior.swapped import SwappedProblem
from holdfast.inference.posterior.unswapping import Unswapping, log_derangements
from holdfast.mechanisms.swapping.bounds import derangement_count
from holdfast.testing.goodness import LEVEL, Point, p_value

STARTS = np.array([0, 5, 8])
HELD = np.array([0, 0, 1, 1, 0, 0, 1, 1])
SWAPPED = np.array([0, 1, 0, 1, 1, 1, 0, 0])
MODELS = {"proportions": proportions([0] * 4, [8]), "rates": rates(4), "shared rates": rates(4, [0, 0, 1, 1])}


def made(model: CountModel, rate: Fraction) -> SwappedProblem:
    mover = Unswapping(model, STARTS, 2 * HELD, SWAPPED, np.arange(4), rate)
    released = np.bincount(2 * HELD + SWAPPED, minlength=4)
    return SwappedProblem(model, mover, released, NOBODY, NOBODY, NOBODY, "", "", seeded=True)


def enumerated(model: CountModel, rate: Fraction) -> dict[Point, float]:
    """Sum over all permutations of both strata."""
    odds, (shape, slope) = float(rate / (1 - rate)), model.terms(model.medians())
    law: dict[Point, float] = {}
    for first in permutations(range(5)):
        for second in permutations(range(5, 8)):
            takes = np.array(first + second)
            weight = 0.0
            for begin, end in ((0, 5), (5, 8)):
                k = int((takes[begin:end] != np.arange(begin, end)).sum())
                weight += k * log(odds) - log(derangement_count(k)) if k != 1 else -np.inf
            table = np.bincount(2 * HELD + SWAPPED[takes], minlength=4)
            sums = model.sums(table)
            weight += float(table @ model.level)
            weight += sum(lgamma(a + x) - x * s for a, x, s in zip(shape, sums, slope, strict=True))
            point = tuple(table.tolist())
            law[point] = law.get(point, 0.0) + exp(weight)
    whole = sum(law.values())
    return {point: weight / whole for point, weight in law.items()}


@pytest.mark.parametrize("rate", [Fraction(1, 5), Fraction(7, 10)])
@pytest.mark.parametrize("name", MODELS)
def test_permutations_have_the_enumerated_posterior(name: str, rate: Fraction) -> None:
    of = made(MODELS[name], rate)
    drawn = gibbs(of, draws=4000, thin=40, warmup=20, seed=1).tables.reshape(4000, -1)
    assert p_value(drawn, enumerated(MODELS[name], rate)) > LEVEL
    assert p_value(drawn, enumerated(MODELS[name], rate / 3)) < LEVEL / 1000


def test_every_state_is_a_swap_of_the_released_file() -> None:
    generator = np.random.default_rng(1)
    sizes = np.array([1, 2, 3, 40, 90])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    held, swapped = generator.integers(0, 3, sizes.sum()), generator.integers(0, 4, sizes.sum())
    mover = Unswapping(rates(12), starts, 4 * held, swapped, np.arange(12), Fraction(2, 5))
    table = mover.start(mover.draw(generator))
    for _ in range(30):
        mover.sweep(table, mover.model.medians(), 1, generator)
        stratum = np.repeat(np.arange(sizes.size), sizes)
        assert (stratum[table.takes] == stratum).all()
        assert sorted(table.takes.tolist()) == list(range(int(sizes.sum())))
        assert (table.gives[table.takes] == np.arange(table.takes.size)).all()
        moves = table.takes != np.arange(table.takes.size)
        assert (np.bincount(stratum, weights=moves) == table.moved).all()
        for at, begin in enumerate(starts[:-1]):
            inside = table.order[begin : begin + sizes[at]]
            assert moves[inside[: table.moved[at]]].all()
            assert not moves[inside[table.moved[at] :]].any()
            assert (table.place[inside] == begin + np.arange(sizes[at])).all()
        again = np.bincount(4 * held + swapped[table.takes], minlength=12)
        assert (table.counts == again).all()
        assert (table.sums == again).all()
        # both joint counts that a swap keeps, with exact equality
        assert (again.reshape(3, 4).sum(axis=1) == np.bincount(held, minlength=3)).all()
        assert (again.reshape(3, 4).sum(axis=0) == np.bincount(swapped, minlength=4)).all()


def test_without_a_model_permutations_have_the_law_of_the_swap() -> None:
    """Where held values do not differ the table says nothing, so the share that moves is that of the swap."""
    size, rate = 60, Fraction(1, 4)
    mover = Unswapping(
        proportions([0] * 2, [size]),
        np.array([0, size]),
        np.zeros(size, dtype=np.int64),
        np.arange(size) % 2,
        np.arange(2),
        rate,
    )
    generator = np.random.default_rng(2)
    table = mover.start(mover.draw(generator))
    moved = []
    for _ in range(3000):
        mover.sweep(table, mover.model.medians(), 4, generator)
        moved.append(int(table.moved[0]))
    # selected with probability 1/4 each, unless one alone is
    chances = np.array([float(rate) ** k * (1 - float(rate)) ** (size - k) for k in range(size + 1)])
    counts = np.array([lgamma(size + 1) - lgamma(k + 1) - lgamma(size - k + 1) for k in range(size + 1)])
    law = chances * np.exp(counts)
    law[1] = 0
    law /= law.sum()
    shares = {(k,): float(share) for k, share in enumerate(law)}
    assert p_value(np.array(moved)[::5, None], shares) > LEVEL


def test_derangements_are_counted() -> None:
    for k in (0, 2, 3, 20, 99):
        assert log_derangements(k) == pytest.approx(log(derangement_count(k)), rel=1e-12)
    assert log_derangements(101) == pytest.approx(log(derangement_count(101)), rel=1e-14)
    assert log_derangements(1) == float("inf")
