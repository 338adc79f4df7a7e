"""Audits: what guarantees are worth beside exact numbers: of the 2020 census, of any, and of swap rates."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from holdfast.audit.census import DELTA, CensusReport, census_2020
from holdfast.audit.census_systems import NOTES, SOURCES, numbers_of
from holdfast.audit.guarantees import EpsilonReading, guarantee
from holdfast.audit.swap_rates import SwapReading, swapping
from holdfast.audit.universes import people_of
from holdfast.certificate.pictures import bars
from holdfast.mechanisms.swapping.bounds import epsilon
from holdfast.privacy.intensity import Approximate, GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.spec.model import Spec
from holdfast.spec.values import parse_rational
from holdfast.studio import elsewhere
from holdfast.studio.curves import swap_plot
from holdfast.studio.elsewhere import Code
from holdfast.studio.pages import Scene, View, Visit, action, page
from holdfast.studio.views import cell_keys, published
from holdfast.system.errors import HoldfastError, SpecError
from holdfast.system.text import rational

MEASURES = {"epsilon": "epsilon", "rho": "rho (zCDP)", "mu": "mu (Gaussian DP)"}
BOUNDS = {
    "epsilon": "the classic formula",
    "epsilon_tight": "the best known of rho",
    "epsilon_gaussian": "that of normal noise",
}
APART = (1, 2, 3, 4, 6, 8, 12)
"""Records that one change may take, of which it is told what is left."""
RATES = tuple(Fraction(k, 100) for k in (1, 2, 3, 5, 8, *range(10, 91, 5), 92, 95, 97, 98, 99))
"""Swap rates that the slider has."""
NATION = 264_331
"""The largest stratum of the example in the slides [swapping-slides]."""


def _number(visit: Visit, name: str, words: str, otherwise: str) -> Fraction:
    """Return a positive number of the form."""
    try:
        value = parse_rational(visit.one(name, otherwise).strip())
    except ValueError:
        raise SpecError(f"{words} is no number: write one such as 1/2 or 0.25.") from None
    if value <= 0:
        raise SpecError(f"{words} is not above 0: give a positive number.")
    return value


def _delta(visit: Visit) -> Fraction:
    delta = _number(visit, "delta", "delta", "1e-10")
    if delta >= 1:
        raise SpecError("delta is no small probability: give one such as 1e-10.")
    return delta


# the 2020 census


def census(visit: Visit) -> Scene:
    """Return every product of 2020 at every level of invariants, with epsilon at a delta."""
    delta, bound = _delta(visit), visit.one("bound")
    bound = bound if bound in BOUNDS else "epsilon"
    report: CensusReport = visit.desk.kept(("census", delta), lambda: census_2020(delta))
    told = [(line, line.effective.to_dict()) for line in report.lines]
    rows = [
        {
            "line": line,
            "new": place == 0 or report.lines[place - 1].product != line.product,
            "rho": rational(Fraction(str(values["rho"]))),
            "epsilons": [values[name] for name in BOUNDS],
            "bar": bar,
        }
        for place, ((line, values), bar) in enumerate(
            zip(told, bars([values[bound] for _, values in told]), strict=True)
        )
    ]
    ways = elsewhere.audit(
        ["census-2020"], "census_2020", *([] if delta == DELTA else [Code(f'Fraction("{delta}")')])
    )
    shown = {
        "rows": rows,
        "totals": report.totals,
        "systems": report.systems,
        "notes": NOTES,
        "sources": SOURCES,
        "numbers_of": numbers_of,
        "delta": visit.one("delta", "1e-10"),
        "bound": bound,
    }
    return _scene("census", "The census is read at another delta.", **shown, bounds=BOUNDS, ways=ways)


# any guarantee


def any_guarantee(visit: Visit) -> Scene:
    """Return what an advertised guarantee is worth where one person's change takes several records."""
    desk, measure = visit.desk, visit.one("measure", "epsilon")
    measure = measure if measure in MEASURES else "epsilon"
    text, at = visit.one("value", "1"), visit.one("delta", "1e-10")
    spec = desk.asked.spec
    table = isinstance(spec, Spec) and not spec.of_records
    values: dict[str, Any] = {"measures": MEASURES, "measure": measure, "value": text, "delta": at}
    values |= {
        "apart": visit.one("apart", "2"),
        "has_spec": table,
        "spec_name": desk.spec_name,
        "trouble": "",
    }
    delta = _delta(visit)
    intensity = _intensity(measure, _number(visit, "value", measure, "1"))
    if table and isinstance(spec, Spec) and visit.one("of") == "spec":
        apart = people_of(desk.public(spec).premises("semi")).worst_case
        values |= {"apart": str(apart), "of_spec": True}
    else:
        given = visit.one("apart", "2").strip()
        if not (given.isascii() and given.isdecimal() and 0 < int(given) < 10**9):
            raise SpecError("the records that one change takes are a whole number, such as 2.")
        apart, values["of_spec"] = int(given), False
    rows: list[tuple[int, bool, float | None, str]] = []
    for one in sorted({*APART, apart}):
        try:
            found = guarantee(intensity, one, delta)
        except HoldfastError:
            rows.append((one, one == apart, None, "no guarantee is left"))
            continue
        rows.append((one, one == apart, _epsilon(found.effective), _parameters(found.effective)))
    sizes = [0.0 if size is None else size for _, _, size, _ in rows]
    values["rows"] = [(*row, bar) for row, bar in zip(rows, bars(sizes), strict=True)]
    values["report"] = own = guarantee(intensity, apart, delta)
    values["advertised"], values["effective"] = _numbers(own.advertised), _numbers(own.effective)
    words = [
        "guarantee",
        f"--{measure}",
        text.strip(),
        *([] if measure == "epsilon" else ["--delta", at.strip()]),
    ]
    python = f"{type(intensity).__name__}(Fraction({text.strip()!r}))"
    more = [] if measure == "epsilon" else [Code(f"Fraction({at.strip()!r})")]
    values["ways"] = elsewhere.audit(
        [*words, "--semi-adjacency", str(apart)], "guarantee", Code(python), apart, *more
    )
    return _scene("guarantee", f"One change takes {apart} records.", **values)


def _intensity(measure: str, value: Fraction) -> Intensity:
    match measure:
        case "rho":
            return ZeroConcentrated(value)
        case "mu":
            return GaussianDP(value)
    return Pure(value)


def _epsilon(reading: EpsilonReading) -> float:
    """Return the least epsilon that is known of a reading."""
    return float(reading.epsilon_tight if reading.epsilon_tight is not None else reading.epsilon or 0.0)


def _parameters(reading: EpsilonReading) -> str:
    numbers = reading.intensity.parameters().items()
    if isinstance(reading.intensity, Approximate):
        return ", ".join(f"{name} {float(value):.4g}" for name, value in numbers)
    return ", ".join(f"{name} {rational(value)}" for name, value in numbers)


def _numbers(reading: EpsilonReading) -> Mapping[str, float]:
    """Return the numbers of a reading by words."""
    found = {name: value for name, value in reading.to_dict().items() if not isinstance(value, str)}
    return {name.replace("_", ", "): value for name, value in found.items()}


# swapping


def swaps(visit: Visit) -> Scene:
    """Return what swap rates lose in strata of a size, and which rates lose no more than a target."""
    given = visit.one("size", str(NATION)).strip().replace(",", "")
    if not (given.isascii() and given.isdecimal() and 2 <= int(given) < 10**12):
        raise SpecError("the size of the largest stratum is a whole number of records from 2, such as 1000.")
    size = int(given)
    rate = _number(visit, "rate", "the swap rate", "1/20")
    if rate >= 1:
        raise SpecError("the swap rate is no share below 1: give one such as 1/20.")
    target = _number(visit, "target", "the target", "10") if visit.one("target").strip() else None
    report = swapping(size, rate, target)
    assert report.given is not None  # noqa: S101 - a rate was given
    plot = swap_plot(size, max(report.given.epsilon, target or Fraction(0)))
    rates = sorted({*RATES, rate})
    stops = [SwapReading(one, epsilon(size, one, "slides"), epsilon(size, one, "tight")) for one in rates]
    values = {
        "report": report,
        "size": size,
        "rate": visit.one("rate", "1/20"),
        "target": visit.one("target"),
        "plot": plot,
        "own": rates.index(rate),
        "stops": [(str(one.rate), one, plot.at(one.rate or Fraction(0), one.epsilon)) for one in stops],
        "aim": None if target is None else plot.at(Fraction(0), target),
    }
    words = ["swapping", "--stratum-size", str(size), "--rate", str(rate)]
    words += [] if target is None else ["--epsilon", str(target)]
    named: dict[str, object] = {"rate": Code(f'Fraction("{rate}")')}
    named |= {} if target is None else {"target": Code(f'Fraction("{target}")')}
    values["ways"] = elsewhere.audit(words, "swapping", size, **named)
    return _scene("swapping", "The curves are those of this stratum.", **values)


def _scene(name: str, heard: str, **values: Any) -> Scene:
    return Scene(f"audits_{name}.html.j2", {"tab": name, **values}, heard, here="/audits")


VIEW = View(
    "audits",
    "Audits",
    (
        page("/audits", census),
        action("/audits/census", census),
        page("/audits/guarantee", any_guarantee),
        action("/audits/guarantee", any_guarantee),
        page("/audits/swapping", swaps),
        action("/audits/swapping", swaps),
        *published.ROUTES,
        *cell_keys.ROUTES,
    ),
    spec=False,
)
