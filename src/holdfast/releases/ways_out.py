"""What to take in place of noise that cannot be drawn, with its errors at the same guarantee, best first."""

from dataclasses import dataclass, replace
from decimal import ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from typing import Any

from holdfast.mechanisms.catalogue import NAMED, AnyMechanism, answer, target_of
from holdfast.mechanisms.drawing import DifferencesError, WithinBoundsError
from holdfast.mechanisms.errors.counts import Counts, usual
from holdfast.mechanisms.errors.simulated import count_errors
from holdfast.privacy.guarantee import Target
from holdfast.privacy.intensity import Approximate, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.roots import floor_root
from holdfast.public import Public
from holdfast.sampling.lattice.gaussian import NarrowNoiseError
from holdfast.sampling.lattice.laplace import CrossingsError
from holdfast.spec.model import Spec
from holdfast.system.errors import GuaranteeError, HoldfastError, SamplingError
from holdfast.system.text import plain_number, rational
from holdfast.system.ways import assigned, command, setting
from holdfast.universe.bounds import decomposable_bound

INSTEAD: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lattice-laplace", {}),
    ("anchored-laplace", {}),
    ("lattice-laplace", {"norm": "l2"}),
)
"""Pure noise that is drawn where other noise is not, l1 noise where it can be."""
MOST_PATTERNS = 100
"""Kinds of cells of which programs for the sensitivity are soon solved, where no formula tells it."""
MARGINS = 2
"""Margins that are told beside the cells."""


@dataclass(frozen=True)
class WayOut:
    """A mechanism with the mean error of a cell and of margins that it moves."""

    words: str
    cell: float
    margins: tuple[tuple[Counts, float], ...]

    @property
    def told(self) -> str:
        """What to set, and what that costs."""
        more = "".join(f", {counts.words} by {plain_number(size)}" for counts, size in self.margins)
        return f"{self.words} (a cell is off by {plain_number(self.cell)} on average{more})"


def answered(spec: Spec, public: Public) -> AnyMechanism:
    """Calibrate the mechanism of a spec; where it cannot be drawn, errors say what each way out costs."""
    try:
        return answer(spec, public)
    except NarrowNoiseError as error:
        target = target_of(spec.privacy)
        pure = _implies(target.intensity)
        ways = ways_out(public, replace(target, intensity=pure))
        if pure is None or not ways:
            raise
        told = ", or ".join(way.told for way in ways)
        raise NarrowNoiseError(
            str(error).partition(", as the noise")[0],
            error.factor,
            f"or set {assigned('standard', 'pure')} with epsilon {rational(pure.epsilon)} in"
            f" {setting('privacy')}, which implies the target, and in {setting('mechanism')} {told}, or keep"
            " fewer margins or coarser attributes",
        ) from None
    except (SamplingError, GuaranteeError) as error:
        way = _told(error, spec, public)
        if way is None:
            raise
        kind = SamplingError if isinstance(error, SamplingError) else GuaranteeError
        raise kind(f"{str(error).partition(':')[0]}: {way}.") from None


def _told(error: HoldfastError, spec: Spec, public: Public) -> str | None:
    """Return what to do in place of what was refused, with its price; None where nothing else is known."""
    if isinstance(error, WithinBoundsError):
        ways = ways_out(replace(public, nonnegative=False, inequalities=()), target_of(spec.privacy))
        bounds = [setting("constraints", "nonnegative")] * public.nonnegative
        bounds += [setting("constraints.inequalities")] * bool(public.inequalities)
        before = f"leave out {' and '.join(bounds)}, set in {setting('mechanism')} "
        after = f", and hand its release to {command('postprocess')}, or {error.otherwise}"
    elif isinstance(error, DifferencesError) and _soon_priced(public):
        ways = ways_out(public, target_of(spec.privacy))
        before, after = f"in {setting('mechanism')} set ", ", or use coarser attributes"
    elif isinstance(error, CrossingsError):
        ways = ways_out(public, target_of(spec.privacy))
        before = f"in {setting('mechanism')} set "
        after = ", or keep fewer margins or coarser attributes"
    else:
        return None
    return f"{before}{', or '.join(way.told for way in ways)}{after}" if ways else None


def _soon_priced(public: Public) -> bool:
    """Whether the sensitivity that other noise needs is found without a long search over patterns."""
    universe = public.universe
    return decomposable_bound(universe.cliques) is not None or universe.patterns.count <= MOST_PATTERNS


def _implies(intensity: Intensity | None) -> Pure | None:
    """Return a pure epsilon that implies a target, the largest of four digits [bun2016, Proposition 1.4]."""
    match intensity:
        case ZeroConcentrated(rho):
            root = float(floor_root(2 * rho))
            return Pure(Fraction(Context(prec=4, rounding=ROUND_FLOOR).create_decimal(Decimal(root))))
        case Approximate(epsilon, _):
            return Pure(epsilon)
    return None


def ways_out(public: Public, target: Target) -> list[WayOut]:
    """Return what could be drawn for a target, the least error of a cell first."""
    if target.intensity is None:
        return []
    found = []
    for name, options in INSTEAD:
        kind = NAMED[name]
        try:
            mechanism = kind.answer(public, target, kind.Options(name=name, **options))
            asked = list(usual(public))
            errors = count_errors(mechanism, public, asked, hint=True)
        except HoldfastError:
            continue
        if errors is not None:
            pairs = zip(asked[:-1], errors[:-1], strict=True)
            margins = tuple((counts, each.mean_absolute) for counts, each in pairs if not each.is_exact)
            said = " and ".join(assigned(key, value) for key, value in {"name": name, **options}.items())
            found.append(WayOut(said, errors[-1].mean_absolute, margins[:MARGINS]))
    return sorted(found, key=lambda way: way.cell)
