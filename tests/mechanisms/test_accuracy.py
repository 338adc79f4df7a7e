from fractions import Fraction

import numpy as np
from scipy.sparse import csr_array
from tests.goodness import two_way

from holdfast.data.attributes import Attributes
from holdfast.data.schema import Schema
from holdfast.mechanisms import accuracy as module
from holdfast.mechanisms.accuracy import accuracy
from holdfast.sampling.lattice.laplace import LatticeLaplaceLaw
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


def test_a_draw_that_takes_too_long_is_not_repeated(monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr(module, "WORK", 1)
    rows = csr_array(two_way(2, 2))
    noise = LatticeLaplaceLaw(rows, Fraction(1), "l1")
    assert accuracy(noise, SCHEMA, Universe.of(rows, np.array([5, 5, 5]))) is None
