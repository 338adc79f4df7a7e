"""`holdfast test odds-ratio`."""

import json
from collections.abc import Mapping, Sequence
from math import inf
from typing import Any

import typer
from rich.table import Table

from holdfast.audit.guarantee import intensity_of
from holdfast.certificate.record import guarantee_content
from holdfast.cli.guarantee import number
from holdfast.cli.terminal import terminal
from holdfast.errors import DataError, SpecError
from holdfast.inference.count_test import require_question
from holdfast.inference.odds_ratio import OddsRatioTest, odds_ratio_test
from holdfast.inference.two_by_two import TwoByTwo
from holdfast.privacy.intensity import Intensity
from holdfast.sampling.entropy import SeededEntropy


def run(
    counts: Sequence[str],
    budget: Mapping[str, str | None],
    *,
    alternative: str,
    null: str,
    level: str,
    seed: int | None,
    as_json: bool,
) -> None:
    """Test the odds ratio of a table of four counts, and print what follows from the release."""
    table = TwoByTwo.of([_count(name, text) for name, text in zip(TwoByTwo._fields, counts, strict=True)])
    odds, size = _float("--null", null), _float("--level", level)
    test = odds_ratio_test(
        table,
        _intensity(budget),
        alternative=require_question(alternative, odds, size),
        null=odds,
        level=size,
        entropy=None if seed is None else SeededEntropy(seed),
    )
    if as_json:
        typer.echo(json.dumps(_report(test), indent=2))
        return
    console = terminal()
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    (margins,) = test.margins
    for title, line in (
        ("Kept exactly", f"row totals {_pair(margins.rows)}; column totals {_pair(margins.columns)}"),
        ("Question", f"is the odds ratio {_question(test)}?"),
        ("Statistic", f"{test.statistic:.9g}, the first count with noise"),
        ("p-value", f"{test.p_value:.4g}: {_decision(test)} at level {test.level:g}"),
        ("Odds ratio", f"{test.estimate:.4g}; {1 - test.level:.0%} interval {_interval(test)}"),
        ("How strongly", test.guarantee.statement),
    ):
        grid.add_row(title, line)
    console.print(grid)
    if not test.secure:
        console.print(
            "Note: The noise was drawn from a seeded generator. Whoever knows the seed can take it off again:"
            " it protects nobody and is for tests and studies only.",
            style="bold red",
        )


def _count(name: str, text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise DataError(f"{name} is {text!r}: a count is a whole number from 0 to below 2^30.") from None


def _float(option: str, text: str) -> float:
    try:
        return float(number(option, text))
    except OverflowError:
        raise SpecError(f"{option} is {text}, which is too large: give a number such as 1.") from None


def _intensity(budget: Mapping[str, str | None]) -> Intensity:
    given = {name: None if text is None else number(f"--{name}", text) for name, text in budget.items()}
    delta = given["delta"]
    if delta is not None and (given["epsilon"] is None or delta >= 1):
        raise SpecError("--delta goes with --epsilon, and is a small probability, such as 1e-10.")
    intensity, _ = intensity_of(**given)
    return intensity


def _report(test: OddsRatioTest) -> dict[str, Any]:
    (margins,) = test.margins
    return {
        "p_value": test.p_value,
        "statistic": test.statistic,
        "alternative": test.alternative,
        "null": test.null,
        "level": test.level,
        "decision": _decision(test),
        "odds_ratio": _finite(test.estimate),
        "confidence_interval": [_finite(end) for end in test.confidence],
        "margins": {"rows": list(margins.rows), "columns": list(margins.columns)},
        "guarantee": guarantee_content(test.guarantee),
        "secure": test.secure,
    }


def _finite(value: float) -> float | None:
    """Return a number, or null for an infinite one, which JSON lacks."""
    return None if value == inf else value


def _decision(test: OddsRatioTest) -> str:
    return "reject" if test.rejected else "do not reject"


def _question(test: OddsRatioTest) -> str:
    words = {"greater": "greater than", "less": "less than", "two-sided": "different from"}
    return f"{words[test.alternative]} {test.null:g}"


def _interval(test: OddsRatioTest) -> str:
    return f"{test.confidence.lower:.4g} to {test.confidence.upper:.4g}"


def _pair(totals: tuple[int, int]) -> str:
    return f"{totals[0]} and {totals[1]}"
