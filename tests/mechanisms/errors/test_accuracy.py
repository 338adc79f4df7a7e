from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from holdfast.data.grid import Nesting
from holdfast.data.runs import Runs
from holdfast.data.schema import Attributes, Schema
from holdfast.mechanisms.errors import accuracy as module
from holdfast.mechanisms.errors.accuracy import MOST_DRAWS, accuracy, margins, repeats
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
from holdfast.testing.goodness import two_way
from holdfast.universe.universe import Universe

SCHEMA = Schema(Attributes.of({"r": ("a", "b"), "c": ("x", "y")}))


def test_kept_margins_have_no_error_and_others_have_theirs() -> None:
    rows = csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]))
    noise = LatticeLaplaceLaw(rows, Fraction(1), "l1")
    result = accuracy(noise, SCHEMA, Universe.of(rows, np.array([5, 5])))
    assert result is not None
    assert result.margins["r",].exact
    assert result.margins[()].exact
    assert not result.margins["c",].exact
    # One row: z = (k, -k) with P(k) prop. to exp(-2|k|), so E|k| = 2a/(1 - a^2), a = exp(-2).
    a = np.exp(-2)
    truth = 2 * a / (1 - a * a)
    assert abs(result.cell.value - truth) < 4.5 * result.cell.standard_error
    assert abs(result.shares.sum() - 1) < 1e-12
    assert result.shares[-result.first] == max(result.shares)


def test_draws_are_as_many_as_time_allows_and_few_for_large_tables() -> None:
    assert repeats(16, MOST_DRAWS) == MOST_DRAWS
    assert repeats(1e5, MOST_DRAWS) == 40
    assert repeats(1e6, MOST_DRAWS) == 10
    assert repeats(1e7, MOST_DRAWS) == 5
    assert repeats(2e7, MOST_DRAWS) is None


def test_a_draw_that_takes_too_long_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = csr_array(two_way(2, 2))
    noise = LatticeLaplaceLaw(rows, Fraction(1), "l1")
    monkeypatch.setattr(LatticeLaplaceLaw, "work", 2e7)
    assert accuracy(noise, SCHEMA, Universe.of(rows, np.array([5, 5, 5]))) is None


def test_batches_tell_the_same_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand draws at a time, no more: the sizes are those of the law all the same."""
    rows = csr_array(np.array([[1, 1, 0, 0], [0, 0, 1, 1]]))
    noise, universe = LatticeLaplaceLaw(rows, Fraction(1), "l1"), Universe.of(rows, np.array([5, 5]))
    once = accuracy(noise, SCHEMA, universe)
    monkeypatch.setattr(module, "BATCH", 2 * 4 * 500)
    assert [len(sample) for sample in module.batches(noise, 4, 1200)] == [1000, 200]
    parts = accuracy(noise, SCHEMA, universe)
    assert once is not None
    assert parts is not None
    assert parts.draws == once.draws
    assert parts.margins["r",].exact
    for one, other in ((once.cell, parts.cell), (once.margins["c",], parts.margins["c",])):
        apart = np.hypot(one.standard_error, other.standard_error)
        assert 0 < abs(one.value - other.value) < 4.5 * apart
        assert one.standard_error == pytest.approx(other.standard_error, rel=0.2)


@pytest.mark.parametrize("impossible", [frozenset[int](), frozenset({0, 7, 11})])
@pytest.mark.parametrize("whole", [True, False])
def test_errors_of_margins_over_a_geography_are_those_of_their_rows(
    impossible: frozenset[int], whole: bool
) -> None:
    """Leaves in tracts in counties, between two other attributes: sums axis by axis, as by a matrix."""
    attributes = {"sex": "fm", "county": "xy", "tract": "abc", "leaf": "12345", "age": "uvw"}
    nestings = (Nesting("tract", "county", (1, 0, 1)), Nesting("leaf", "tract", (2, 0, 0, 1, 2)))
    levels = {name: tuple(each) for name, each in attributes.items()}
    schema = Schema(Attributes.of(levels), Runs.of(impossible), nestings)
    cells = 2 * 5 * 3 - len(impossible)
    universe = Universe.of(csr_array(np.ones((1, cells), dtype=np.int64)), np.array([50]))
    draws = np.random.default_rng(1).normal(0, 3, (4, cells))
    draws = np.rint(draws).astype(np.int64) if whole else draws
    found = margins(schema, universe)
    assert {"county", "sex x tract", "leaf x age"} <= {margin.name for margin in found}
    for margin in found:
        assert margin.rows.shape == (schema.grid.over(margin.attributes).size, cells)
        slow = np.abs(margin.rows @ draws.T).mean(axis=0)
        assert np.allclose(margin.errors(draws), slow, rtol=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_which_margins_the_invariants_determine(seed: int) -> None:
    """By patterns of cells, as by the rows of the whole matrix."""
    generator = np.random.default_rng(seed)
    nestings = (Nesting("leaf", "county", (0, 0, 1)),)
    levels = {"county": ("x", "y"), "leaf": ("1", "2", "3"), "sex": ("f", "m")}
    schema = Schema(Attributes.of(levels), Runs.of({2} if seed % 3 == 0 else ()), nestings)
    cells = int(schema.possible.sum())
    of = margins(schema, Universe.of(csr_array(np.ones((1, cells), dtype=np.int64)), np.array([9])))
    chosen = [of[i].rows.toarray() for i in generator.choice(len(of), 2, replace=False)]
    extra = generator.integers(0, 2, (1, cells))
    matrix = np.concatenate([*chosen, extra])
    universe = Universe.of(csr_array(matrix), matrix @ np.ones(cells, dtype=np.int64))
    for margin in margins(schema, universe):
        both = np.concatenate([matrix, margin.rows.toarray()])
        assert margin.determined == (np.linalg.matrix_rank(both) == np.linalg.matrix_rank(matrix))
