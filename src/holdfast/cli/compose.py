"""`holdfast audit compose`."""

import json

import typer
from rich.table import Table

from holdfast.cli.guarantee import number
from holdfast.cli.terminal import terminal
from holdfast.errors import SpecError
from holdfast.privacy.composition import both_orders
from holdfast.privacy.intensity import GaussianDP, Intensity, Pure, ZeroConcentrated
from holdfast.privacy.tradeoff import Tradeoff


def run(
    epsilon: list[str], rho: list[str], mu: list[str], semi_adjacency: int, delta: str, *, as_json: bool
) -> None:
    """Print what several releases cost together under invariants, in both orders of the analysis."""
    releases: list[Intensity] = [
        *(Pure(number("--epsilon", text)) for text in epsilon),
        *(ZeroConcentrated(number("--rho", text)) for text in rho),
        *(GaussianDP(number("--mu", text)) for text in mu),
    ]
    if not releases:
        raise SpecError("no release is given: name each by --epsilon, --rho or --mu.")
    at = float(number("--delta", delta))
    if at >= 1:
        raise SpecError(f"--delta is {delta}: give a small probability, such as 1e-10.")
    orders = both_orders(releases, semi_adjacency)
    semi_first, composition_first = orders.epsilons(at)
    saved = composition_first - semi_first
    report = {
        "releases": len(releases),
        "semi_adjacency": semi_adjacency,
        "delta": at,
        "semi_first": {"epsilon": semi_first, "certainty": _certainty(orders.semi_first)},
        "composition_first": {
            "epsilon": composition_first,
            "certainty": _certainty(orders.composition_first),
        },
        "used": min(semi_first, composition_first),
        "difference": saved,
    }
    if as_json:
        typer.echo(json.dumps(report, indent=2))
        return
    table = Table()
    for column in ("order", f"epsilon at delta = {at:g}"):
        table.add_column(column, justify="left" if column == "order" else "right")
    table.add_row("semi-DP first", f"{semi_first:.6g}")
    table.add_row("composition first", f"{composition_first:.6g}")
    console = terminal()
    console.print(table)
    console.print(
        f"Both hold, so epsilon is at most {report['used']:.6g}."
        + (
            f" Weakening each release to {semi_adjacency} records before composing saves {saved:.3g}."
            if saved > 1e-6
            else ""
        )
    )


def _certainty(f: Tradeoff) -> str:
    """Return the side of the truth of an epsilon read from f: a lower bound on f gives an upper one."""
    return {"lower": "upper", "upper": "lower", "exact": "exact"}[f.certainty]
