"""Tables whose margins are kept and asked for, by their sizes alone, and noise with weights for them."""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, vstack

from holdfast.lattice.forms import Form
from holdfast.lattice.margins import LevelledAxis, MarginStrategy, Reading
from holdfast.lattice.rows import independent_rows
from holdfast.mechanisms.weights.spaces import Spaces
from holdfast.sampling.lattice.gaussian import LatticeGaussianLaw

Floats = NDArray[np.float64]
RHO = Fraction(1, 50)
WORKLOADS: dict[str, tuple[tuple[int, ...], list[Reading], int]] = {
    "6 x 5": ((6, 5), [], 2),
    "12 x 2 x 5, first kept": ((12, 2, 5), [(1, 0, 0)], 2),
    "5 x 4 x 3": ((5, 4, 3), [], 3),
    "4 x 2 x 3 x 2, two margins kept": ((4, 2, 3, 2), [(1, 1, 0, 0), (0, 0, 1, 0)], 2),
    "3 x 2 x 2 x 2 x 3": ((3, 2, 2, 2, 3), [], 3),
}
"""Sizes, margins that are kept, and the number of attributes up to which margins are asked for."""


def spaces_of(shape: Sequence[int], kept: Sequence[Reading]) -> Spaces:
    axes = tuple(axis for axis in (LevelledAxis.of(size, ()) for size in shape) if axis is not None)
    return Spaces.of(MarginStrategy(axes, tuple(kept), ()))


def asked_of(spaces: Spaces, most: int) -> list[Reading]:
    every = (each for each in spaces.margins.readings() if sum(each) <= most)
    return [each for each in every if not spaces.margins.is_kept(each)]


def form_of(spaces: Spaces, weights: Floats) -> Form:
    rational = (Fraction(f"{each:.10g}") for each in weights.tolist())
    strengths = spaces.strengths(dict(zip(spaces.readings, rational, strict=True)))
    margins = MarginStrategy(spaces.margins.axes, spaces.margins.kept, strengths)
    parts = [(each, c) for each, c in strengths if not margins.is_kept(each)]
    return Form(tuple((margins.rows(each), c) for each, c in parts), margins)


def law_of(form: Form | None, spaces: Spaces, sigma_squared: Fraction) -> LatticeGaussianLaw:
    cells = int(np.prod(spaces.margins.shape))
    nothing = csr_array((0, cells), dtype=np.int64)
    rows = csr_array(vstack([nothing, *map(spaces.margins.rows, spaces.margins.kept)], format="csr"))
    return LatticeGaussianLaw(csr_array(rows[independent_rows(rows)]), sigma_squared, form=form)
