"""`holdfast test odds-ratio`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated

import typer
from typer import BadParameter

from holdfast.cli.arguments import (
    ChargedLedger,
    Json,
    NoProtection,
    Quiet,
    ReleaseSeed,
    intensity_of,
    optional,
    positive_float,
    whole,
)
from holdfast.cli.console import titled
from holdfast.cli.release import print_charge
from holdfast.cli.terminal import print_json, terminal, warn_each
from holdfast.data.two_by_two import TwoByTwo
from holdfast.inference.count_test import require_question
from holdfast.inference.odds_ratio import OddsRatioTest, odds_ratio
from holdfast.ledger.account import Ledger
from holdfast.sampling.entropy import SeededEntropy
from holdfast.spec.privacy import Privacy
from holdfast.spec.values import short
from holdfast.system.errors import DataError, SpecError

COUNT = whole(-(2**63), 2**63 - 1)  # the table has closer bounds


def command(
    x11: Annotated[str, typer.Argument(metavar="X11", help="The counts of the table, row by row.")],
    x12: Annotated[str, typer.Argument(metavar="X12")],
    x21: Annotated[str, typer.Argument(metavar="X21")],
    x22: Annotated[str, typer.Argument(metavar="X22")],
    epsilon: Annotated[str | None, typer.Option(metavar="NUMBER", help="The budget, pure.")] = None,
    delta: Annotated[str | None, typer.Option(metavar="NUMBER", help="With --epsilon: its delta.")] = None,
    mu: Annotated[str | None, typer.Option(metavar="NUMBER", help="The budget, Gaussian DP.")] = None,
    rho: Annotated[str | None, typer.Option(metavar="NUMBER", help="The budget, zCDP.")] = None,
    alternative: Annotated[
        str, typer.Option(metavar="NAME", help="Is the odds ratio greater, less, or either (two-sided)?")
    ] = "greater",
    null: Annotated[str, typer.Option(metavar="NUMBER", help="The odds ratio to test.")] = "1",
    level: Annotated[str, typer.Option(metavar="NUMBER", help="The level of the test.")] = "0.05",
    seed: ReleaseSeed = None,
    ledger: ChargedLedger = None,
    out: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Write the statistic and its certificate here.")
    ] = None,
    accept_no_protection: NoProtection = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Test the odds ratio of a table of four counts, and print what follows from the release."""
    odds, size = positive_float("--null", null), positive_float("--level", level)
    account = None if ledger is None else Ledger.open(ledger)
    report = odds_ratio(
        [_count(name, text) for name, text in zip(TwoByTwo._fields, (x11, x12, x21, x22), strict=True)],
        _privacy({"epsilon": epsilon, "delta": delta, "mu": mu, "rho": rho}),
        alternative=require_question(alternative, odds, size),
        null=odds,
        level=size,
        entropy=None if seed is None else SeededEntropy(seed),
        ledger=account,
        out=out,
        accept_no_protection=accept_no_protection,
    )
    warn_each(report.warnings)
    if as_json:
        print_json(report)
        return
    test = report.test
    console = terminal()
    (margins,), (low, high) = test.margins, test.confidence
    lines = (
        ("Kept exactly", f"row totals {_pair(margins.rows)}; column totals {_pair(margins.columns)}"),
        ("Question", f"is the odds ratio {_question(test)}?"),
        ("Statistic", f"{test.statistic:.9g}, the first count with noise"),
        ("p-value", f"{test.p_value:.4g}: {report.decision} at level {test.level:g}"),
        ("Odds ratio", f"{test.estimate:.4g}; {1 - test.level:.0%} interval {low:.4g} to {high:.4g}"),
        ("How strongly", test.guarantee.statement),
    )
    console.print(titled(lines))
    if account is not None and report.release.row is not None:
        row = report.release.row
        print_charge(account, row, account.budget - row.total)
    if out is not None:
        for path in sorted(out.iterdir()):
            console.print(f"Wrote {path}", soft_wrap=True)


def _count(name: str, text: str) -> int:
    try:
        return COUNT(text)
    except BadParameter:
        raise DataError(
            f"{name} is {short(text)!r}: a count is a whole number from 0 to below 2^30."
        ) from None


def _privacy(budget: Mapping[str, str | None]) -> Privacy:
    given = {name: optional(f"--{name}", text) for name, text in budget.items()}
    delta = given["delta"]
    if delta is not None and (given["epsilon"] is None or delta >= 1):
        raise SpecError("--delta goes with --epsilon, and is a small probability, such as 1e-10.")
    intensity, _ = intensity_of(**given)
    return Privacy(standard=intensity.standard, **intensity.parameters())


def _question(test: OddsRatioTest) -> str:
    words = {"greater": "greater than", "less": "less than", "two-sided": "different from"}
    return f"{words[test.alternative]} {test.null:g}"


def _pair(totals: tuple[int, int]) -> str:
    return f"{totals[0]} and {totals[1]}"
