"""The live figures of a table: what its invariants leave, move and reveal, by functions of the commands.

They are worked out of the kept universe, which is made once for a set of invariants. How many numbers are
left open is there at once; the distance of one person's change, and what the invariants reveal, may take
integer programs: they come when they are found.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import isfinite

import numpy as np

from holdfast.audit.guarantees import EpsilonReading, GuaranteeReport, guarantee
from holdfast.audit.universes import people_of
from holdfast.lattice.arrays import IntArray
from holdfast.mechanisms.catalogue import target_of
from holdfast.privacy.guarantee import times
from holdfast.privacy.premises import Premises
from holdfast.public import Public
from holdfast.releases.joint import JointPremises
from holdfast.spec.model import Spec
from holdfast.spec.privacy import Privacy, ProtectedUnit
from holdfast.spec.tables import TablesSpec
from holdfast.studio.desk import Desk
from holdfast.studio.searches import Tell, elsewhere
from holdfast.system.errors import HoldfastError
from holdfast.system.text import plain_number, rational
from holdfast.universe.exchanges import seen
from holdfast.universe.exposure import Exposure, exposure
from holdfast.universe.labelled import Labelled
from holdfast.universe.semi_adjacency import known_bound
from holdfast.universe.universe import Universe

DELTA = Fraction(1, 10**10)
"""The delta at which other standards are read as an epsilon, where the spec has none."""
FREE, NEARLY, EXPOSED, NEVER = 0, 1, 2, 3
"""How a cell is painted: it can be anything, one of two counts, one count alone; it cannot occur."""
SMALL = 300
"""Cells of tables that are searched where the page is made; others are searched in processes of their own."""
WAIT = 0.03
"""Seconds until a page is shown without what it still looks for."""


@dataclass(frozen=True)
class Figures:
    """What the invariants of a table leave to protect."""

    cells: int
    invariants: int
    dimension: int
    apart: int | None
    """How many records one person's change takes; None while that is looked for."""
    exact: bool
    whom: ProtectedUnit
    searching: bool = False
    """Whether less than ``apart``, which is enough, is still looked for."""

    @property
    def nothing_left(self) -> bool:
        """Whether one table alone is possible."""
        return self.dimension == 0 or self.apart == 0


def figures(desk: Desk, spec: Spec, wait: float = WAIT) -> Figures:
    """Return the figures of a spec, without the distance where it is still looked for."""
    key, public = desk.public_key(spec), desk.public(spec)
    premises = desk.kept(("premises", key), lambda: public.premises("semi"))
    at_most = ("people at most", key)

    def looked_for() -> Labelled:
        if premises.universe.cells <= SMALL:
            return people_of(premises)
        return elsewhere(_people, premises, told=lambda bound: desk.note(at_most, bound))

    people = desk.soon(("people", key), looked_for, _patience(public, wait))
    found = desk.known(at_most) if people is None else people.worst_case
    apart = None if found is None else found * premises.whom.records
    here, exact = premises.universe, people is not None and people.exact
    searching = people is None and found is not None
    return Figures(here.cells, here.rank, here.dimension, apart, exact, premises.whom, searching)


def _people(premises: Premises, tell: Tell) -> Labelled:
    """Return how far apart files of people are, and tell first what a theorem says of it."""
    bound = None if premises.whom.presence else known_bound(premises.universe)
    if bound is not None:
        tell(bound)
    return people_of(premises)


@dataclass(frozen=True)
class Revealed:
    """How each cell of a table is painted, impossible ones among them."""

    paint: IntArray
    low: IntArray
    high: IntArray
    exact: bool

    @property
    def exposed(self) -> int:
        """How many cells have one possible count."""
        return int((self.paint == EXPOSED).sum())

    @property
    def nearly(self) -> int:
        """How many have two."""
        return int((self.paint == NEARLY).sum())


def revealed(desk: Desk, spec: Spec, wait: float = WAIT) -> Revealed | None:
    """Return what the invariants reveal; None where it is still looked for."""
    key = ("revealed", desk.public_key(spec))

    def looked_for() -> Revealed:
        public = desk.public(spec)
        if public.universe.cells <= SMALL:
            return _painted(public, exposure(public.universe))
        counts, codes = desk.reading(spec).table.counts, [public.schema.codes(n) for n in public.schema.names]
        cells = public.possible
        known = np.asarray(counts[cells]), np.array([each[cells] for each in codes])
        return _painted(public, elsewhere(_exposed, public.universe, *known))

    return desk.soon(key, looked_for, _patience(desk.public(spec), wait))


def _patience(public: Public, wait: float) -> float:
    """Return how long a page waits: what another process looks for is not there in a moment."""
    return wait if public.universe.cells <= SMALL or wait > WAIT else 0.0


def _exposed(universe: Universe, counts: IntArray, codes: IntArray) -> Exposure:
    """Return what is revealed: counts that lie far apart are found near the table, the others by programs."""
    return exposure(universe, seen(universe, counts, codes))


def _painted(public: Public, found: Exposure) -> Revealed:
    paint = np.full(public.schema.size, NEVER, dtype=np.int64)
    width = found.width
    paint[public.possible] = np.select([width == 0, width == 1], [EXPOSED, NEARLY], FREE)
    low, high = (np.zeros(public.schema.size, dtype=np.int64) for _ in range(2))
    low[public.possible], high[public.possible] = found.low, found.high
    return Revealed(paint, low, high, bool((found.exact | (width > 1)).all()))


@dataclass(frozen=True)
class Promise:
    """A guarantee as it would be advertised, for one record, and as it holds for one person's change."""

    report: GuaranteeReport
    semi: bool

    @property
    def advertised(self) -> Mapping[str, str]:
        """What would be said of noise for one record."""
        return _told(self.report.advertised)

    @property
    def effective(self) -> Mapping[str, str]:
        """What that is worth under the invariants."""
        return _told(self.report.effective)


def promise(spec: Spec, found: Figures) -> Promise | str:
    """Return what the target of a spec becomes under its invariants, or why nothing can be said."""
    if found.nothing_left:
        return "The exact numbers leave one possible table: nothing is left to protect."
    return _promise(spec.privacy, None if found.searching else found.apart, open_budget=bool(spec.accuracy))


def _promise(privacy: Privacy, apart: int | None, *, open_budget: bool) -> Promise | str:
    if apart is None:
        return "What the guarantee becomes is told once it is known how much one change moves."
    try:
        intensity = target_of(privacy).intensity
        if intensity is None:
            what = "what the tables are to tell, under Accuracy" if open_budget else "the noise that it names"
            return f"The budget of this spec follows from {what}."
        return Promise(guarantee(intensity, apart, privacy.delta or DELTA), privacy.adjacency == "semi")
    except HoldfastError as error:
        return str(error)


@dataclass(frozen=True)
class JointFigures:
    """What the exact numbers of several tables of one file come to: none of it is of one table alone."""

    apart: int | None
    """How many records one person's change takes across them; None while that is looked for."""
    whom: ProtectedUnit
    promise: Promise | str


def together(desk: Desk, whole: TablesSpec) -> JointFigures:
    """Return what one change moves across tables of one file, and what their one guarantee becomes."""
    key = tuple(desk.public_key(one) for one in whole.specs)
    publics = {name: desk.public(one) for name, one in zip(whole.names, whole.specs, strict=True)}
    joint = desk.kept(("joint", key), lambda: JointPremises(publics, "semi", None))
    whom = joint.whom
    try:
        found = desk.soon(("joint people", key), lambda: joint.semi_adjacency.worst_case, WAIT)
    except HoldfastError as error:
        return JointFigures(0, whom, str(error))
    if found == 0:
        return JointFigures(0, whom, "The exact numbers of all tables leave nothing to protect.")
    apart = None if found is None else found * whom.records
    return JointFigures(apart, whom, _promise(whole.privacy, apart, open_budget=whole.by_accuracy))


def _told(reading: EpsilonReading) -> Mapping[str, str]:
    """Return the parameters of a reading, and what its epsilon means."""
    numbers = {name: rational(value) for name, value in reading.intensity.parameters().items()}
    epsilon = reading.epsilon_tight if reading.epsilon_tight is not None else reading.epsilon
    meaning = ""
    if epsilon is not None and isfinite(epsilon):
        factor = times(Fraction(epsilon).limit_denominator(10**6)) if epsilon < 25 else "10 billion and more"
        at = f", but for a probability of {float(reading.delta):g}" if reading.delta is not None else ""
        near = "" if "epsilon" in numbers else f"epsilon {plain_number(epsilon)}: "
        meaning = f"{near}what is seen is at most {factor} times likelier with one value than another{at}"
    return {"numbers": ", ".join(f"{name} {value}" for name, value in numbers.items()), "meaning": meaning}


def share_painted(public: Public, found: Revealed, names: tuple[str, ...]) -> IntArray:
    """Return, for each entry of a margin, the strongest paint of its cells: what cannot occur is least."""
    grid = public.schema.grid.over(names)
    order = np.where(found.paint == NEVER, -1, found.paint)
    worst = np.full(grid.size, -1, dtype=np.int64)
    np.maximum.at(worst, public.schema.grid.rows(grid), order)
    return np.where(worst < 0, NEVER, worst)
