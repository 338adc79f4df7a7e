"""The mechanisms that are compared: calibrated to the target of a spec, their noise simulated and measured.

Noise is drawn from a seed and from what is public; where its law depends on the table, a public one stands
in. For a draw z over d cells there are ||z||_1, ||z||_2, the largest |z_i|, the mean |z_i|, and the mean
absolute error of each margin. All are expectations but L2, the root of the expected ||z||_2^2. Draws come in
batches, and of each draw its sizes are kept alone.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan, sqrt
from typing import Any

import numpy as np

from holdfast.comparison.terms import terms_for
from holdfast.estimation.l2 import public_tables
from holdfast.mechanisms.catalogue import AnyMechanism, of_tables, require_neighbours
from holdfast.mechanisms.errors.accuracy import FEWEST_DRAWS, Margin, Size, batches, repeats
from holdfast.mechanisms.errors.counts import Counts
from holdfast.mechanisms.errors.simulated import count_errors
from holdfast.mechanisms.mechanism import DrawArray
from holdfast.mechanisms.weights.queries import QueryOptions
from holdfast.privacy.guarantee import Target
from holdfast.public import Public
from holdfast.spec.mechanism import MechanismOptions
from holdfast.system.errors import GuaranteeError, SamplingError, SpecError
from holdfast.system.text import closest
from holdfast.system.ways import option, setting

CONTENDERS = {
    mechanism.name: mechanism
    for mechanism in of_tables()
    if "table" in (mechanism.output, *mechanism.estimated)
}
"""Those that release tables, in the order in which equals are preferred."""


def usual(own: str, *, geography: bool = False) -> tuple[str, ...]:
    """Return those that are compared without being asked for, and the one that a spec names.

    What estimates a table from measurements of a geography is among them where there is one.
    """
    return tuple(
        name
        for name, kind in CONTENDERS.items()
        if name == own or (kind.contends and (geography or not kind.estimated))
    )


def otherwise(
    name: str, own: MechanismOptions, public: Public, *, drawn: bool, shaped: bool
) -> Iterator[tuple[str, MechanismOptions]]:
    """Yield other options of a mechanism to try, each with what to write for it.

    They are what is drawn where the usual one is not, and weights that are best for what is told of all.
    """
    kind = CONTENDERS[name]
    told = ", ".join(f'{key} = "{value}"' for key, value in kind.drawable.items())
    if not drawn and kind.drawable:
        yield told, kind.Options(name=name, **kind.drawable)
    if shaped and issubclass(kind.Options, QueryOptions):
        words, wishes = _shape(public)
        options = kind.Options(name=name, **kind.drawable, optimise_for=wishes)
        if options != own:
            yield ", ".join(filter(None, (told, f"optimise_for = {words}"))), options


def _shape(public: Public) -> tuple[str, Any]:
    """Return the wish for all margins up to two, and for cells, where these are none of them."""
    found: list[str] = []
    for axis in public.schema.grid.axes:
        finest = max(axis.names, key=lambda name: len(public.schema.attribute(name).levels))
        alone = len(public.schema.attribute(finest).levels) == axis.size
        found += [finest] if alone else axis.names
    if len(found) <= MARGINS:
        return '"all margins up to two"', "all margins up to two"
    names = ", ".join(f'"{name}"' for name in found)
    words = f"[{{ up_to = {MARGINS} }}, {{ marginal = [{names}] }}]"
    return words, [{"up_to": MARGINS}, {"marginal": found}]


MARGINS = 2
"""Attributes of the margins that are told."""


@dataclass(frozen=True, eq=False)
class Contender:
    """A calibrated mechanism.

    ``converted`` says how the target was turned into its standard, None where it has the target's own.
    """

    mechanism: AnyMechanism
    converted: str | None = None

    def meets(self, target: Target) -> bool:
        """Whether what is proved of it implies the target; not where no theorem says so."""
        try:
            return self.mechanism.guarantee.meets(target)
        except GuaranteeError:
            return False


def require_known(names: Sequence[str], draws: int, known: Collection[str]) -> None:
    """Raise SpecError where what is to be compared is not known, or is too little."""
    if not names:
        raise SpecError(f"{option('mechanisms')} names none: name one or more.")
    for name in names:
        if name not in known:
            raise SpecError(
                f"{option('mechanisms')} names {name!r}, which is not known: {closest(name, known)}"
            )
    repeated = [name for name in names if names.count(name) > 1]
    if repeated:
        raise SpecError(f"{option('mechanisms')} names {repeated[0]!r} twice: keep one.")
    if draws < FEWEST_DRAWS:
        raise SpecError(f"{option('draws')} is {draws}: ask for {FEWEST_DRAWS} or more.")


def contend(name: str, own: MechanismOptions, public: Public, target: Target) -> Contender:
    """Calibrate a mechanism to a target; ``own`` are the options of the spec, for the one that it names."""
    kind = CONTENDERS[name]
    if target.intensity is None:
        raise SpecError(f"a comparison needs a target: give one in {setting('privacy')}.")
    require_neighbours(kind, public.whom.neighbours)
    if kind.most_dimensions is not None and public.universe.dimension > kind.most_dimensions:
        raise GuaranteeError(
            f"the differences of tables are too many to list in {public.universe.dimension:,} dimensions:"
            f" {kind.most_dimensions} are the most."
        )
    bounded = public.nonnegative or bool(public.inequalities)
    options = own if isinstance(own, kind.Options) and own.name == name else kind.Options(name=name)
    terms = terms_for(kind.standards_with(options), target.intensity, bounded=bounded)
    return Contender(
        kind.answer(public, replace(target, intensity=terms.intensity), options), terms.converted
    )


WORK = 1.5e7
"""Integers that may be proposed for all draws of one mechanism: a few seconds."""
BOUNDED = 100
"""Integers that a draw within bounds takes for each cell, roughly; it depends on the table."""


def simulated(mechanism: AnyMechanism, public: Public, draws: int, seed: int) -> Iterator[DrawArray]:
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


@dataclass(frozen=True)
class Deviation:
    """The sizes of the noise of one mechanism."""

    draws: int
    l1: Size
    l2: Size
    largest: Size
    cell: Size
    margins: Mapping[str, Size]


def deviation(batches: Iterable[DrawArray], of: Sequence[Margin], *, keeps_invariants: bool) -> Deviation:
    """Return the sizes of simulated noise, one draw a row of each batch."""
    parts = [_sizes(draws, of) for draws in batches]
    l1, squares, largest, cell, *errors = (np.concatenate(part) for part in zip(*parts, strict=True))
    mean = Size.mean(squares)
    root = float(np.sqrt(mean.value))
    return Deviation(
        draws=l1.size,
        l1=Size.mean(l1),
        l2=Size(root, mean.standard_error / (2 * root) if root else 0.0),  # the delta method
        largest=Size.mean(largest),
        cell=Size.mean(cell),
        margins={
            margin.name: margin.size(each, kept=keeps_invariants)
            for margin, each in zip(of, errors, strict=True)
        },
    )


def estimated(mechanism: AnyMechanism, public: Public, of: Sequence[Margin]) -> Deviation:
    """Return the sizes of the errors of best linear estimates, from the design: nothing is drawn."""
    asked = [*(Counts(margin.attributes) for margin in of), Counts(public.schema.names)]
    found = count_errors(mechanism, public, asked)
    if found is None or any(each.unknown for each in found):
        raise GuaranteeError("how far its estimates are off is not told here.")
    *margins, cell = found
    number = public.universe.cells
    return Deviation(
        draws=0,
        l1=Size(number * cell.mean_absolute, 0.0),
        l2=Size(sqrt(number) * cell.deviation, 0.0),
        largest=Size(nan, 0.0),
        cell=Size(cell.mean_absolute, 0.0),
        margins={
            margin.name: Size(each.mean_absolute, 0.0, exact=each.is_exact)
            for margin, each in zip(of, margins, strict=True)
        },
    )


def _sizes(draws: DrawArray, of: Sequence[Margin]) -> tuple[DrawArray, ...]:
    """Return l1, the square of l2, the largest, the mean and each margin's error, one for each draw."""
    sizes = np.abs(draws)
    squares = np.einsum("ij,ij->i", draws, draws, dtype=np.float64)
    each = (sizes.sum(axis=1), squares, sizes.max(axis=1, initial=0), sizes.mean(axis=1))
    return (*each, *(margin.errors(draws) for margin in of))
