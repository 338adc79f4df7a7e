"""The certificate as a page that a citizen can read: one HTML file that fetches nothing.

The words stand in the template, the pictures' geometry in `pictures`; here the content is put in order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cache
from math import ceil, exp, log, prod
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from holdfast.certificate.head import GuaranteeSection, ProvedSection, TargetSection
from holdfast.certificate.making import DISTRIBUTION
from holdfast.certificate.metadata import embedded
from holdfast.certificate.model import Certificate, JoinedSection
from holdfast.certificate.parts import (
    ExpectedErrorSection,
    ProcessedPart,
    RecordsPart,
    SizedBiasSection,
    TablePart,
)
from holdfast.certificate.pictures import Bar, bars, noise_picture, within
from holdfast.certificate.references import cited, in_words
from holdfast.certificate.templates import BLOCKS, Templates
from holdfast.certificate.verdict import LEVELS
from holdfast.certificate.warnings import chance
from holdfast.data.sections import ConstraintsSection, InvariantSection
from holdfast.mechanisms.catalogue import named
from holdfast.privacy.claims import Claim
from holdfast.privacy.guarantee import probability, times
from holdfast.system.text import counted, rational, visible

MOST_BARS = 30
"""Of invariants with more values, all but the first FEW are folded away."""
FEW = 8
MOST_FOLDED = 2000
"""Values of a section that are folded away, so that a page stays a page: certificate.json has them all."""
MOST_WORD = 20
"""Letters of a word that may be broken, as a phone is hardly wider."""
MOST_ITEMS = 60
"""Longer lists are cut, with the number that is left out: certificate.json has them all."""
MOST_LETTERS = 160
MOST_EXPONENT = 27
"""Beyond it, exp(epsilon) is told by its power of ten."""
MOST_SIZES = 10
"""Sizes of strata that a page lists, the largest first."""
METHOD_WORDS = {
    "nonnegative-l2": "The nearest table without negative counts in the l2 norm, to six decimal places",
    "nonnegative-weighted": (
        "The nearest table without negative counts in the norm of the noise, which the queries of the release"
        " weigh, to six decimal places"
    ),
    "integers-l1": "The nearest table of whole, not negative counts in the l1 norm",
    "rounded-l2": (
        "The nearest table without negative counts in the l2 norm, then the nearest whole numbers in l1"
    ),
}
STAND_INS = {
    "fitted": (
        "Fitted to the invariants",
        "a public table fitted to the invariants; the confidential table was not used",
    ),
    "nearest": (
        "Near the release",
        "the whole table nearest to the release; the confidential table was not used",
    ),
}
UNMEASURED = {
    "not asked": "it was not asked for",
    "not soon enough": "the noise cannot be simulated from public values soon enough",
}
STANDARDS = {
    "pure": "pure differential privacy",
    "approximate": "approximate differential privacy",
    "zcdp": "zero-concentrated differential privacy (zCDP)",
    "gaussian": "Gaussian differential privacy",
}


@dataclass(frozen=True)
class BarRow:
    """A value with its name and its bar."""

    label: str
    value: float
    bar: Bar


@dataclass(frozen=True)
class KeptTable:
    """One table of exact values, or of lower bounds; some are ``folded``, and ``more`` are left out."""

    title: str
    heading: str
    rows: list[BarRow]
    folded: Sequence[tuple[str, int]]
    more: int


def render(certificate: Certificate, *, parquet: bool | None = None) -> str:
    """Return the page of a certificate, beside tables in CSV or Parquet: as its files are, if it has such."""
    if parquet is None:
        named = (
            part for part in certificate.parts if not isinstance(part, RecordsPart)
        )  # those are as they came
        stems = {part.outputs[0] for part in named} | {"table"}
        parquet = any(f"{stem}.parquet" in certificate.files for stem in stems)
    part = certificate.parts[0]
    if certificate.joined is not None:
        return _page("several", certificate, **_several(certificate, certificate.joined, parquet=parquet))
    match part:
        case RecordsPart():
            return _page("records", certificate, **_records(certificate, part, parquet=parquet))
        case ProcessedPart():
            return _page("processed", certificate, **_processed(part))
        case TablePart():
            return _page("one", certificate, body=_body(certificate, 2, "", "this release", parquet=parquet))


def _page(template: str, certificate: Certificate, **values: Any) -> str:
    return environment().get_template(f"{template}.html.j2").render({**_head(certificate), **values})


def _body(certificate: Certificate, h: int, mark: str, subject: str, *, parquet: bool) -> Markup:
    """Return all that is said of one table, under headings from a level on."""
    values = {**_head(certificate), **_table_of(certificate, parquet=parquet)}
    text = environment().get_template("table.html.j2").render(values, h=h, mark=mark, subject=subject)
    return Markup(text)  # noqa: S704 - rendered with everything escaped


def _head(certificate: Certificate) -> dict[str, Any]:
    """Return what every page says of the whole of a release."""
    guarantee, target = certificate.guarantee, certificate.target
    evidence = (*guarantee.evidence, *(certificate.secrets.evidence if certificate.secrets else ()))
    epsilon, exception = _epsilon(guarantee)
    return {
        **{name: getattr(certificate, name) for name in Certificate.model_fields},
        "embedded": Markup(embedded(certificate)),  # noqa: S704 - escaped there
        "title": "Certificate of release",
        "distribution": DISTRIBUTION,
        "created_at": datetime.fromisoformat(certificate.created),
        "whom": guarantee.unit.value.whom,
        "semi": guarantee.unit.adjacency == "semi",
        "standard": STANDARDS.get(guarantee.standard, guarantee.standard),
        "strength": strength_of(guarantee.intensity),
        "asked": strength_of(target.intensity),
        "times": _times(epsilon),
        "sure": _sure(epsilon),
        "exception": exception,
        "works": cited([item.reference for item in evidence if isinstance(item, ProvedSection)]),
        "LEVELS": LEVELS,
        "MOST_ITEMS": MOST_ITEMS,
    }


def _table_of(certificate: Certificate, *, parquet: bool) -> dict[str, Any]:
    """Return what is said of one table, or of a statistic or an estimate of one."""
    part, guarantee = certificate.table, certificate.guarantee
    kind, first = named(part.mechanism.name), part.outputs[0]
    attributes, inequalities = part.table.cells.attributes, part.constraints.inequalities
    real = kind.published()[0] in ("statistic", "estimate")
    return {
        **{name: getattr(part, name) for name in TablePart.model_fields},
        "numbers": sum(len(item.values) for item in part.invariants),
        "kept": _kept(part.invariants),
        "kept_names": [
            f"{_short(item.name)} ({counted(len(item.values), 'number')})" for item in part.invariants
        ],
        "bounds": _bounds(part.constraints),
        "goals": part.accuracy or (),
        "floors": sum(len(item.labels) for item in inequalities),
        "uppers": any(item.at_most is not None for item in inequalities),
        "statistic": kind.published()[0] == "statistic",
        "estimate": kind.published()[0] == "estimate",
        "output": f"{first}.{'parquet' if parquet and not real else 'csv'}",
        "noise_page": kind.page,
        "unit_of_loss": "rho" if guarantee.standard == "zcdp" else "epsilon",
        "strata": prod(len(attribute.levels) for attribute in attributes[:-2]),
        "parameters": part.mechanism.parameters(rational),
        "compared": _compared(certificate.target, guarantee),
        "protects": certificate.verdict.protects,
        "error": _error(part.expected_error),
    }


def _several(certificate: Certificate, joined: JoinedSection, *, parquet: bool) -> dict[str, Any]:
    """Return what is said of several tables, with a chapter for each: the body of the page that it has alone.

    What readers are told of the publication is the same of all, and stands once, on top.
    """
    chapters = []
    for place, part in enumerate(certificate.parts, start=1):
        alone = certificate.alone(part.name).model_copy(update={"publication": None})
        chapters.append((part, _body(alone, 3, f"table-{place}-", "this table", parquet=parquet)))
    tables = [certificate.alone(part.name).table for part in certificate.parts]
    return {
        "chapters": chapters,
        "numbers": sum(len(item.values) for one in tables for item in one.invariants),
        "agree": [item for item in joined.shared if len(item.exact) > 1],
        "differ": [item for item in joined.shared if item.noisy],
        "files": [f"{one.name}.{'parquet' if parquet else 'csv'}" for one in tables],
    }


def _records(certificate: Certificate, part: RecordsPart, *, parquet: bool) -> dict[str, Any]:
    """Return what is said of a file of records."""
    guarantee = certificate.guarantee
    details: Any = part.details  # those of the mechanism whose page this is
    epsilon = guarantee.intensity["epsilon"]
    endings = {"microdata": part.records.kind, "table": "parquet" if parquet else "csv"}
    if part.records.persons is not None:
        endings["persons"] = part.records.persons.kind
    sizes = sorted(details.strata.sizes, key=lambda one: -one.size) if details is not None else []
    return {
        **{name: getattr(part, name) for name in RecordsPart.model_fields},
        "files": [f"{output}.{endings[output]}" for output in part.outputs],
        "largest": sizes[:MOST_SIZES],
        "more": max(0, len(sizes) - MOST_SIZES),
        "numbers": sum(len(item.values) for item in part.invariants),
        "times": times(epsilon),
        "closest": times(2 * epsilon / guarantee.unit.records_per_unit),
    }


def _processed(part: ProcessedPart) -> dict[str, Any]:
    """Return what is said of a processed table."""
    return {
        "title": "Certificate of a processed table",
        "part": part,
        "method": METHOD_WORDS.get(part.method, part.method),
        "reason": UNMEASURED.get(part.bias.reason or "", ""),
        "simulated": [
            (
                *STAND_INS[one.stand_in],
                one.draws,
                [
                    (_size(row), row, bar)
                    for row, bar in zip(one.classes, bars([row.bias for row in one.classes]), strict=True)
                ],
            )
            for one in part.bias.simulated
        ],
    }


def _size(row: SizedBiasSection) -> str:
    if row.most is None:
        return f"{row.least:,} or more"
    return f"{row.least:,}" if row.least == row.most else f"{row.least:,} to {row.most:,}"


def _epsilon(guarantee: GuaranteeSection) -> tuple[Fraction, str]:
    """Return an epsilon that tells the strength, and the probability beside which it holds, in words."""
    intensity, at = guarantee.intensity, guarantee.epsilon_at
    if at is not None:
        return Fraction(at.epsilon), f"{float(at.delta):g}"
    return intensity["epsilon"], probability(intensity["delta"]) if "delta" in intensity else ""


def strength_of(parameters: Mapping[str, Fraction]) -> str:
    """Return the parameters of an intensity in words."""
    return ", ".join(f"{name} {rational(value)}" for name, value in parameters.items()) or "not stated"


@cache
def environment() -> Environment:
    """Return what templates are rendered with."""
    found = Environment(
        loader=PackageLoader("holdfast", "certificate"),
        bytecode_cache=Templates(),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        **BLOCKS,
    )
    found.filters |= {
        "amount": counted,
        "cite": in_words,
        "long": _long,
        "chance": lambda bounds: chance(bounds.low, bounds.high),
        "names": _names,
        "number": _number,
        "percent": _percent,
        "rational": rational,
        "short": _short,
        "signed": _signed,
        "strength": strength_of,
        "two_places": lambda value: f"{value:+.2f}".replace("-", "\u2212"),
        "what": lambda shared, whom: " by ".join(shared.attributes) or f"the number of {whom.counted}",
        "sum_records": lambda sizes: sum(one.size * one.strata for one in sizes),
    }
    return found


def _visible(value: object) -> object:
    """Return plain text as what can be seen of it; markup has been through here in its parts."""
    words = value.words if isinstance(value, Claim) else value
    return visible(words) if type(words) is str else words


def _kept(invariants: Sequence[InvariantSection]) -> list[KeptTable]:
    """Return a table for each invariant, those with a single value together in the first."""
    single = [item for item in invariants if len(item.values) == 1]
    others = [item for item in invariants if len(item.values) != 1]
    tables: list[KeptTable] = []
    for item in others:
        room = MOST_FOLDED - sum(len(table.folded) for table in tables)
        tables.append(_table(item.name, *_labels(item), item.values, most=MOST_BARS, room=room))
    if single:
        labels = [_single_label(item) for item in single]
        title = labels[0] if len(single) == 1 else "Single numbers"
        values = [item.values[0] for item in single]
        tables.insert(0, _table(title, "What is counted", labels, values, most=MOST_ITEMS))
    return tables


def _bounds(constraints: ConstraintsSection) -> KeptTable | None:
    """Return the bounds of a release, one for each inequality; upper ones say so in their label."""
    rows = [("every count", 0)] if constraints.nonnegative else []
    for item in constraints.inequalities:
        for words, bound in item.bounds.items():
            name = "" if item.name in item.labels or len(item.labels) > 1 else f"{item.name}: "
            upper = ", at most" if words == "at most" else ""
            rows += [(f"{name}{label}{upper}", bound) for label in item.labels]
    if not rows:
        return None
    labels, least = zip(*rows, strict=True)
    return _table("", "What is counted", labels, least, most=MOST_ITEMS)


def _table(
    title: str,
    heading: str,
    labels: Sequence[str],
    values: Sequence[int],
    *,
    most: int,
    room: int = MOST_FOLDED,
) -> KeptTable:
    """Return a table of at most so many values, or of a few and as many folded ones as there is room for."""
    shown = len(values) if len(values) <= most else FEW
    rows = [
        BarRow(label, value, bar)
        for label, value, bar in zip(labels[:shown], values[:shown], bars(values[:shown]), strict=True)
    ]
    end = min(len(values), shown + room)
    folded = tuple(zip(labels[shown:end], values[shown:end], strict=True))
    return KeptTable(title, heading, rows, folded, len(values) - end)


def _labels(item: InvariantSection) -> tuple[str, Sequence[str]]:
    """Return the heading of an invariant's labels, and the labels without what the heading says."""
    if len(item.attributes) == 1:
        (attribute,) = item.attributes
        heading = "Group" if item.name == attribute else attribute
        return heading, [label.removeprefix(f"{attribute} = ") for label in item.labels]
    return "What is counted", item.labels


def _single_label(item: InvariantSection) -> str:
    label = item.labels[0]
    return item.name if item.name == label else f"{item.name}: {label}"


def _error(expected: ExpectedErrorSection | None) -> dict[str, Any] | None:
    """Return the expected errors with a bar each, and the picture and quantiles of the noise."""
    if expected is None:
        return None
    rows = [expected.cell, *expected.margins][:MOST_ITEMS]
    first, unit, shares = expected.noise.first, expected.noise.width, expected.noise.shares
    return {
        "draws": expected.draws,
        "mean": expected.cell.mean_absolute_error,
        "rows": list(zip(rows, bars([row.mean_absolute_error for row in rows]), strict=True)),
        "more": 1 + len(expected.margins) - len(rows),
        "picture": noise_picture(first, shares, unit),
        "unmoved": shares[-first] if unit == 1 and -len(shares) < first <= 0 else 0.0,
        "half": within(first, shares, 0.5) * unit + unit // 2,
        "most": within(first, shares, 0.9) * unit + unit // 2,
    }


def _compared(target: TargetSection, guarantee: GuaranteeSection) -> str:
    """Return in words how the guarantee compares with what was asked for."""
    asked, given = target.intensity, guarantee.intensity
    if not asked:
        return "No epsilon was asked for: the strength follows from the noise that was chosen."
    if target.adjacency != guarantee.unit.adjacency:
        return "The two are of different kinds and cannot be compared."
    if set(asked) != set(given):
        return "The guarantee is of another kind than what was asked for, and implies it."
    if any(given[name] > asked[name] for name in asked):
        return "The guarantee is weaker than what was asked for."
    return f"The guarantee is {'exactly' if given == asked else 'at least as strong as'} what was asked for."


def _times(epsilon: Fraction) -> str:
    """Return exp(epsilon) rounded up, as the guarantee's statement does."""
    if epsilon > MOST_EXPONENT:
        return f"10 to the power of {ceil(epsilon / Fraction(log(10)))}"
    return times(epsilon)


def _sure(epsilon: Fraction) -> str:
    """Return how sure one can become of one of two tables that seemed equally likely, rounded up."""
    percent = ceil(1000 / (1 + exp(-min(float(epsilon), 700.0)))) / 10
    return f"at most {percent:g}\u00a0% sure" if percent < 100 else "almost certain"


def _number(value: float) -> str:
    """Return whole numbers as they are, others to three digits; with a true minus sign."""
    if isinstance(value, int):
        text = f"{value:,}"
    else:
        text = f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return text.replace("-", "\u2212")


def _signed(value: float) -> str:
    return f"+{_number(round(value))}" if value > 0 else _number(round(value))


def _percent(share: float) -> str:
    return f"{100 * share:.2g}\u00a0%" if 100 * share < 99.5 else f"{100 * share:.0f}\u00a0%"


def _names(names: Sequence[str], most: int = 12) -> str:
    """Return a list in words, cut where it is long."""
    shown = [_short(name) for name in names[:most]]
    if len(names) > most:
        shown.append(f"{len(names) - most:,} more")
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def _long(text: str) -> bool:
    """Whether a text has a word that may have to be broken."""
    return any(len(word) > MOST_WORD for word in text.split())


def _short(text: str) -> str:
    """Return a long text without its middle: levels often differ at the end."""
    return text if len(text) <= MOST_LETTERS else f"{text[:110]}\u2026{text[-40:]}"
