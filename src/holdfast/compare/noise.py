"""Seeded noise of a mechanism, simulated from what is public."""

from collections.abc import Iterator

from holdfast.errors import SamplingError
from holdfast.estimation.stand_in import public_tables
from holdfast.mechanisms.accuracy import batches, repeats
from holdfast.mechanisms.catalogue import AnyMechanism
from holdfast.mechanisms.mechanism import Draws
from holdfast.public import Public

WORK = 1.5e7
"""Integers that may be proposed for all draws of one mechanism: a few seconds."""
BOUNDED = 100
"""Integers that a draw within bounds takes for each cell, roughly; it depends on the table."""


def simulated(mechanism: AnyMechanism, public: Public, draws: int, seed: int) -> Iterator[Draws]:
    """Yield batches of noise, one draw a row, fewer draws where each takes long."""
    cells = public.universe.cells
    work = BOUNDED * cells if mechanism.noise is None else mechanism.noise.work
    possible = repeats(work, draws, WORK)
    if possible is None:
        raise SamplingError(
            f"a draw takes about {work:,.0f} random numbers, too many to repeat: compare it on a smaller"
            " table."
        )
    if mechanism.noise is not None:
        yield from batches(mechanism.noise, cells, possible, seed)
        return
    stand_in = public_tables(public.universe)[0]
    for drawn in batches(mechanism.law(stand_in), cells, possible, seed):
        yield drawn - stand_in
