"""The certificate as a page that a citizen can read: one HTML file that fetches nothing.

The words stand in the template, the pictures' geometry in `pictures`; here the content is put in order.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from functools import cache
from math import ceil, exp, log, prod, sqrt
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from holdfast.certificate.model import (
    BiasSection,
    Certificate,
    ConstraintsSection,
    ExpectedErrorSection,
    GuaranteeSection,
    InequalitySection,
    InvariantSection,
    ProvedSection,
    TargetSection,
)
from holdfast.certificate.pictures import Bar, bars, noise_picture, within
from holdfast.certificate.references import cited, in_words
from holdfast.certificate.verdict import LEVELS, chance
from holdfast.mechanisms.catalogue import NAMED
from holdfast.mechanisms.topdown.mechanism import TopDownRecord
from holdfast.privacy.guarantee import probability, times
from holdfast.spec.whom import Whom
from holdfast.visible import visible
from holdfast.words import rational

_STYLE = re.compile(r"<style>.*?</style>", re.S)
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
STANDARDS = {
    "pure": "pure differential privacy",
    "approximate": "approximate differential privacy",
    "zcdp": "zero-concentrated differential privacy (zCDP)",
    "gaussian": "Gaussian differential privacy",
}


@dataclass(frozen=True)
class Row:
    """A value with its name and its bar."""

    label: str
    value: float
    bar: Bar


@dataclass(frozen=True)
class Kept:
    """One table of exact values, or of lower bounds; some are ``folded``, and ``more`` are left out."""

    title: str
    heading: str
    rows: list[Row]
    folded: Sequence[tuple[str, int]]
    more: int


def render(
    certificate: Certificate,
    *,
    parquet: bool = False,
    name: str | None = None,
) -> str:
    """Return the page of a certificate, beside a table in CSV or Parquet; its file may have another name."""
    kind = NAMED[certificate.mechanism.name]
    output = kind.estimated[0] if kind.estimated else kind.output
    guarantee, target = certificate.guarantee, certificate.target
    evidence = (*guarantee.evidence, *(certificate.secrets.evidence if certificate.secrets else ()))
    references = [item.reference for item in evidence if isinstance(item, ProvedSection)]
    epsilon, exception = _epsilon(guarantee)
    attributes = certificate.table.cells.attributes
    unit = guarantee.unit
    whom = Whom(unit.name, unit.records_per_unit)
    compared = _verdict(target, guarantee)
    template = environment().get_template("page.html.j2")
    return template.render(
        {name: getattr(certificate, name) for name in Certificate.model_fields},
        created_at=datetime.fromisoformat(certificate.created),
        numbers=sum(len(item.values) for item in certificate.invariants),
        kept=_kept(certificate.invariants),
        kept_names=[
            f"{_short(item.name)} ({_amount(len(item.values), 'number')})" for item in certificate.invariants
        ],
        bounds=_bounds(certificate.constraints),
        floors=sum(len(item.labels) for item in certificate.constraints.inequalities),
        uppers=any(item.at_most is not None for item in certificate.constraints.inequalities),
        statistic=output == "statistic",
        estimate=output == "estimate",
        output=f"{name or output}.{'parquet' if parquet and output == 'table' else 'csv'}",
        levels=_levels(certificate),
        unit_of_loss="rho" if guarantee.standard == "zcdp" else "epsilon",
        biases=_biases(certificate),
        strata=prod(len(attribute.levels) for attribute in attributes[:-2]),
        parameters=certificate.mechanism.parameters(rational),
        semi=guarantee.unit.adjacency == "semi",
        standard=STANDARDS.get(guarantee.standard, guarantee.standard),
        strength=strength_of(guarantee.intensity),
        asked=strength_of(target.intensity),
        exception=exception,
        times=_times(epsilon),
        sure=_sure(epsilon),
        compared=compared,
        verdict=certificate.verdict,
        format=certificate.format,
        whom=whom,
        works=cited(references),
        protects=certificate.verdict.protects,
        LEVELS=LEVELS,
        error=_error(certificate.expected_error),
        MOST_ITEMS=MOST_ITEMS,
    )


@dataclass(frozen=True)
class Level:
    """A level of a geography: its nodes, its share of the budget, and what was measured of it."""

    name: str
    nodes: int
    share: Fraction
    measured: str


def _levels(certificate: Certificate) -> list[Level]:
    """Return the levels of a top-down release, root first; none for other releases."""
    record = certificate.mechanism
    if not isinstance(record, TopDownRecord):
        return []
    found = []
    for each in record.allocation:
        here = [one for one in record.measurements if one.level == each.level]
        told = [
            f"{' by '.join(one.query) or 'total'} (standard deviation {sqrt(one.variance):.3g})"
            for one in here
        ]
        nodes = here[0].nodes if here else _nodes(certificate, each.level)
        found.append(Level(each.level, nodes, each.share, ", ".join(told) or "nothing: invariants fix it"))
    return found


def _nodes(certificate: Certificate, level: str) -> int:
    known = {one.name: len(one.levels) for one in certificate.table.cells.attributes}
    return known.get(level, 1)


def _biases(certificate: Certificate) -> list[tuple[str, list[BiasSection]]]:
    """Return the errors on a stand-in, of cells and of totals."""
    said = certificate.topdown
    if said is None:
        return []
    kinds = (("Cells", "cell"), ("Totals", "total"))
    listed = [(title, [one for one in said.bias if one.count == kind]) for title, kind in kinds]
    return [(title, rows) for title, rows in listed if rows]


def _epsilon(guarantee: GuaranteeSection) -> tuple[Fraction, str]:
    """Return an epsilon that tells the strength, and the probability beside which it holds, in words."""
    intensity, at = guarantee.intensity, guarantee.epsilon_at
    if at is not None:
        return Fraction(at.epsilon), f"{float(at.delta):g}"
    return intensity["epsilon"], probability(intensity["delta"]) if "delta" in intensity else ""


def times_as_likely(guarantee: GuaranteeSection) -> tuple[str, str]:
    """Return how many times as likely something can be, and the probability beside which that holds."""
    epsilon, exception = _epsilon(guarantee)
    return _times(epsilon), exception


def strength_of(parameters: Mapping[str, Fraction]) -> str:
    """Return the parameters of an intensity in words."""
    return ", ".join(f"{name} {rational(value)}" for name, value in parameters.items()) or "not stated"


@cache
def environment() -> Environment:
    """Return what templates are rendered with."""
    found = Environment(
        loader=PackageLoader("holdfast", "certificate"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_visible,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {
        "amount": _amount,
        "cite": in_words,
        "long": _long,
        "chance": chance,
        "names": _names,
        "number": _number,
        "percent": _percent,
        "rational": rational,
        "short": _short,
        "signed": _signed,
        "sum_records": lambda sizes: sum(one.size * one.strata for one in sizes),
    }
    return found


def style_of() -> Markup:
    """Return the style that all pages share."""
    source = (Path(__file__).parent / "page.html.j2").read_text(encoding="utf-8")
    found = _STYLE.search(source)
    return Markup(found[0] if found else "")  # noqa: S704 - of our own making


def _visible(value: object) -> object:
    """Return plain text as what can be seen of it; markup has been through here in its parts."""
    return visible(value) if type(value) is str else value


def _kept(invariants: Sequence[InvariantSection]) -> list[Kept]:
    """Return a table for each invariant, those with a single value together in the first."""
    single = [item for item in invariants if len(item.values) == 1]
    others = [item for item in invariants if len(item.values) != 1]
    tables: list[Kept] = []
    for item in others:
        room = MOST_FOLDED - sum(len(table.folded) for table in tables)
        tables.append(_table(item.name, *_labels(item), item.values, most=MOST_BARS, room=room))
    if single:
        labels = [_single_label(item) for item in single]
        title = labels[0] if len(single) == 1 else "Single numbers"
        values = [item.values[0] for item in single]
        tables.insert(0, _table(title, "What is counted", labels, values, most=MOST_ITEMS))
    return tables


def _bounds(constraints: ConstraintsSection) -> Kept | None:
    """Return the bounds of a release, one for each inequality; upper ones say so in their label."""
    rows = [("every count", 0)] if constraints.nonnegative else []
    for item in constraints.inequalities:
        for words, bound in item.bounds.items():
            upper = ", at most" if words == "at most" else ""
            rows += [(f"{_bound_label(item, label)}{upper}", bound) for label in item.labels]
    if not rows:
        return None
    labels, least = zip(*rows, strict=True)
    return _table("", "What is counted", labels, least, most=MOST_ITEMS)


def _bound_label(item: InequalitySection, label: str) -> str:
    return label if item.name == label or len(item.labels) > 1 else f"{item.name}: {label}"


def _table(
    title: str,
    heading: str,
    labels: Sequence[str],
    values: Sequence[int],
    *,
    most: int,
    room: int = MOST_FOLDED,
) -> Kept:
    """Return a table of at most so many values, or of a few and as many folded ones as there is room for."""
    shown = len(values) if len(values) <= most else FEW
    rows = [
        Row(label, value, bar)
        for label, value, bar in zip(labels[:shown], values[:shown], bars(values[:shown]), strict=True)
    ]
    end = min(len(values), shown + room)
    folded = tuple(zip(labels[shown:end], values[shown:end], strict=True))
    return Kept(title, heading, rows, folded, len(values) - end)


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
        "method": expected.method,
        "mean": expected.cell.mean_absolute_error,
        "rows": list(zip(rows, bars([row.mean_absolute_error for row in rows]), strict=True)),
        "more": 1 + len(expected.margins) - len(rows),
        "picture": noise_picture(first, shares, unit),
        "unmoved": shares[-first] if unit == 1 and -len(shares) < first <= 0 else 0.0,
        "half": within(first, shares, 0.5) * unit + unit // 2,
        "most": within(first, shares, 0.9) * unit + unit // 2,
    }


def _verdict(target: TargetSection, guarantee: GuaranteeSection) -> str:
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


def _amount(count: int, noun: str) -> str:
    """Return a count with its noun: "1 cell", "16 cells"."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


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
