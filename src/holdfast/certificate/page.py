"""The certificate as a page that a citizen can read: one HTML file that fetches nothing.

The words stand in the template, the pictures' geometry in `pictures`; here the content is put in order.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from math import ceil, exp, log
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from holdfast.certificate.pictures import Bar, bars, noise_picture, within

MOST_BARS = 30
"""Invariants with more values show the first FEW of them only."""
FEW = 8
PARAMETERS = ("epsilon", "delta", "rho", "mu")
MOST_ITEMS = 60
"""Longer lists are cut, with the number that is left out: certificate.json has them all."""
MOST_LETTERS = 160
MOST_EXPONENT = 27
"""Beyond it, exp(epsilon) is told by its power of ten."""


@dataclass(frozen=True)
class Row:
    """A value with its name and its bar."""

    label: str
    value: float
    bar: Bar


@dataclass(frozen=True)
class Kept:
    """One table of exact values; ``more`` values of it are left out."""

    title: str
    heading: str
    rows: list[Row]
    more: int


def render(content: Mapping[str, Any]) -> str:
    """Return the page of a certificate."""
    invariants, target = content["invariants"], content["target"]
    guarantee, adjacency = content["guarantee"], content["universe"]["semi_adjacency"]
    epsilon, exception = _epsilon(guarantee)
    semi = guarantee["unit"]["adjacency"] == "semi"
    template = _environment().get_template("page.html.j2")
    return template.render(
        content,
        created_at=datetime.fromisoformat(content["created"]),
        numbers=sum(len(item["values"]) for item in invariants),
        kept=_kept(invariants),
        kept_names=[
            f"{_short(item['name'])} ({_amount(len(item['values']), 'number')})" for item in invariants
        ],
        semi=semi,
        strength=_strength(guarantee["intensity"]),
        asked=_strength({name: target[name] for name in PARAMETERS if target.get(name) is not None}),
        exception=exception,
        times=_times(epsilon),
        times_person=_times(epsilon if semi else epsilon * adjacency["worst_case"]),
        sure=_sure(epsilon),
        verdict=_verdict(target, guarantee),
        error=_error(content["expected_error"]),
        MOST_ITEMS=MOST_ITEMS,
    )


def _epsilon(guarantee: Mapping[str, Any]) -> tuple[Fraction, str]:
    """Return an epsilon that tells the strength, and the probability beside which it holds, in words."""
    intensity, at = guarantee["intensity"], guarantee.get("epsilon_at")
    if at is not None:
        return Fraction(at["epsilon"]), f"{float(at['delta']):g}"
    return Fraction(
        intensity["epsilon"]
    ), f"{float(Fraction(intensity['delta'])):.3g}" if "delta" in intensity else ""


def _strength(parameters: Mapping[str, str]) -> str:
    """Return the parameters of an intensity in words."""
    return ", ".join(f"{name} {_rational(value)}" for name, value in parameters.items()) or "not stated"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("holdfast", "certificate"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "amount": _amount,
        "names": _names,
        "number": _number,
        "percent": _percent,
        "rational": _rational,
        "short": _short,
        "signed": _signed,
    }
    return environment


def _kept(invariants: Sequence[Mapping[str, Any]]) -> list[Kept]:
    """Return a table for each invariant, those with a single value together in the first."""
    single = [item for item in invariants if len(item["values"]) == 1]
    others = [item for item in invariants if len(item["values"]) != 1]
    tables = [_table(item["name"], *_labels(item), item["values"], most=MOST_BARS) for item in others]
    if single:
        labels = [_single_label(item) for item in single]
        title = labels[0] if len(single) == 1 else "Single numbers"
        values = [item["values"][0] for item in single]
        tables.insert(0, _table(title, "What is counted", labels, values, most=MOST_ITEMS))
    return tables


def _table(title: str, heading: str, labels: Sequence[str], values: Sequence[int], *, most: int) -> Kept:
    shown = len(values) if len(values) <= most else FEW
    rows = [
        Row(label, value, bar)
        for label, value, bar in zip(labels[:shown], values[:shown], bars(values[:shown]), strict=True)
    ]
    return Kept(title, heading, rows, len(values) - shown)


def _labels(item: Mapping[str, Any]) -> tuple[str, Sequence[str]]:
    """Return the heading of an invariant's labels, and the labels without what the heading says."""
    attributes, labels = item["attributes"], item["labels"]
    if len(attributes) == 1:
        heading = "Group" if item["name"] == attributes[0] else attributes[0]
        return heading, [label.removeprefix(f"{attributes[0]} = ") for label in labels]
    return "What is counted", labels


def _single_label(item: Mapping[str, Any]) -> str:
    name, label = item["name"], item["labels"][0]
    return str(name) if name == label else f"{name}: {label}"


def _error(expected: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the expected errors with a bar each, and the picture and quantiles of the noise."""
    if expected is None:
        return None
    rows = [expected["cell"], *expected["margins"]][:MOST_ITEMS]
    noise = expected["noise"]
    first, unit, shares = noise["first"], noise["width"], noise["shares"]
    return {
        "method": expected["method"],
        "mean": expected["cell"]["mean_absolute_error"],
        "rows": list(zip(rows, bars([row["mean_absolute_error"] for row in rows]), strict=True)),
        "more": 1 + len(expected["margins"]) - len(rows),
        "picture": noise_picture(first, shares, unit),
        "unmoved": shares[-first] if unit == 1 and -len(shares) < first <= 0 else 0.0,
        "half": within(first, shares, 0.5) * unit + unit // 2,
        "most": within(first, shares, 0.9) * unit + unit // 2,
    }


def _verdict(target: Mapping[str, Any], guarantee: Mapping[str, Any]) -> str:
    """Return in words how the guarantee compares with what was asked for."""
    asked = {name: Fraction(target[name]) for name in PARAMETERS if target.get(name) is not None}
    given = {name: Fraction(value) for name, value in guarantee["intensity"].items()}
    if not asked:
        return "No epsilon was asked for: the strength follows from the noise that was chosen."
    if target["adjacency"] != guarantee["unit"]["adjacency"]:
        return "The two are of different kinds and cannot be compared."
    if set(asked) != set(given):
        return "The guarantee is of another kind than what was asked for, and implies it."
    if any(given[name] > asked[name] for name in asked):
        return "The guarantee is weaker than what was asked for."
    return f"The guarantee is {'exactly' if given == asked else 'at least as strong as'} what was asked for."


def _times(epsilon: Fraction) -> str:
    """Return exp(epsilon) to three digits, as the guarantee's statement does."""
    if epsilon > MOST_EXPONENT:
        return f"10 to the power of {ceil(epsilon / Fraction(log(10)))}"
    return f"{float(f'{exp(epsilon):.3g}'):,.12g}"


def _sure(epsilon: Fraction) -> str:
    """Return how sure one can become of one of two tables that seemed equally likely."""
    percent = 100 / (1 + exp(-min(float(epsilon), 700.0)))
    return f"about {percent:.0f}\u00a0%" if percent < 99 else "more than 99\u00a0%"


def _rational(text: str) -> str:
    """Return a rational as it is if it is short, otherwise as a decimal."""
    value = Fraction(text)
    return str(value) if value.denominator <= 1000 else f"about {float(value):.4g}"


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


def _short(text: str) -> str:
    """Return a long text without its middle: levels often differ at the end."""
    return text if len(text) <= MOST_LETTERS else f"{text[:110]}\u2026{text[-40:]}"
