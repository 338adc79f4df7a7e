"""The post-processing steps by name. Each turns released counts into a conforming table."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from holdfast.estimation.conforming import Conforming
from holdfast.estimation.integers import integers_l1
from holdfast.estimation.l2 import PLACES, FixedPoint, nonnegative_l2, real_l2
from holdfast.lattice.arrays import FloatArray, IntArray
from holdfast.lattice.forms import Form
from holdfast.system.errors import SpecError
from holdfast.system.text import closest
from holdfast.system.ways import option


@dataclass(frozen=True)
class Method:
    """A step and what it does, in words; ``measure`` gives its numbers as floats, for averages.

    One that is ``weighted`` is for the noise of a release: in the norm of its quadratic form, or in l2 where
    all cells have noise alike.
    """

    name: str
    words: str
    run: Callable[[IntArray, Conforming], FixedPoint]
    measure: Callable[[IntArray, Conforming], FloatArray | IntArray]
    weighted: bool = False

    def for_noise(self, form: Form | None) -> "Method":
        """Return the step for a release whose noise has a form."""
        if not self.weighted:
            return self
        return replace(self, run=partial(nonnegative_l2, form=form), measure=partial(real_l2, form=form))


def _rounded_l2(counts: IntArray, conforming: Conforming) -> IntArray:
    """As in [congenial-dp, Section 4]: least squares first, then whole numbers near it."""
    return integers_l1(np.round(real_l2(counts, conforming), PLACES), conforming)


METHODS: Mapping[str, Method] = {
    method.name: method
    for method in (
        Method(
            "nonnegative-l2",
            "the nearest table without negative counts in the l2 norm, to six decimal places",
            nonnegative_l2,
            real_l2,
        ),
        Method(
            "nonnegative-weighted",
            "the nearest table without negative counts in the norm of the noise, which the queries of the"
            " release weigh, to six decimal places",
            nonnegative_l2,
            real_l2,
            weighted=True,
        ),
        Method(
            "integers-l1",
            "the nearest table of whole, not negative counts in the l1 norm",
            lambda counts, conforming: FixedPoint(integers_l1(counts, conforming)),
            integers_l1,
        ),
        Method(
            "rounded-l2",
            "the nearest table without negative counts in the l2 norm, then the nearest whole numbers in l1",
            lambda counts, conforming: FixedPoint(_rounded_l2(counts, conforming)),
            _rounded_l2,
        ),
    )
}


def method_of(name: str) -> Method:
    """Return the method of a name."""
    if name not in METHODS:
        raise SpecError(
            f"{option('method')} is {name!r}, which is not known: {closest(name, tuple(METHODS))}"
        )
    return METHODS[name]
