"""The summary of a swapped release, from its certificate alone."""

from rich.console import Console, Group
from rich.table import Table

from holdfast.certificate.records.model import RecordsCertificate
from holdfast.cli.summary import meaning
from holdfast.spec.whom import Whom
from holdfast.words import counted

MOST_ROWS = 8


def print_records_summary(certificate: RecordsCertificate, console: Console) -> None:
    """Say what moved within what, what is kept, how strongly that protects, and whom it does not."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for title, lines in (
        ("Swapped", _swapped(certificate)),
        ("Kept by the swap", [item.name for item in certificate.induced]),
        ("Kept as asked", _asked(certificate)),
        ("How strongly", _strength(certificate)),
        ("What that means", [meaning(certificate.verdict)]),
        ("Left as they are", _left(certificate)),
    ):
        if lines:
            grid.add_row(title, Group(*lines))
    console.print(grid)
    for caveat in certificate.caveats:
        console.print(f"Note: {caveat}", style=None if certificate.randomness.secure else "bold red")


def _swapped(certificate: RecordsCertificate) -> list[str]:
    mechanism, strata, rates = certificate.mechanism, certificate.strata, certificate.swapping.rates
    key = " and ".join(mechanism.stratify) or "the whole file"
    chosen = "lower" if abs(mechanism.rate - rates[0]) <= abs(mechanism.rate - rates[1]) else "upper"
    both = f"{float(rates[0]):.6g} and {float(rates[1]):.9g}"
    return [
        f"{' and '.join(mechanism.swap)} within {key}, at a rate of {float(mechanism.rate):.6g}",
        f"{counted(strata.strata, 'stratum', 'strata')}, the largest of {strata.largest:,}",
        f"the same epsilon has the rates {both}; this is the {chosen}"
        if certificate.swapping.two_rates
        else f"no rate in reach loses as much as was asked for: {float(mechanism.rate):.6g} is the least",
    ]


def _asked(certificate: RecordsCertificate) -> list[str]:
    lines = [f"{item.name}: {counted(len(item.values), 'number')}" for item in certificate.invariants]
    more = len(lines) - MOST_ROWS
    return lines[:MOST_ROWS] + ([f"and {more} more"] if more > 0 else [])


def _strength(certificate: RecordsCertificate) -> list[str]:
    found, guarantee = certificate.swapping, certificate.guarantee
    slides = certificate.mechanism.bound == "slides"
    least = found.smallest_epsilon if slides else found.smallest_epsilon_tight
    bounds = f"epsilon {found.epsilon:.6g} by the slides, {found.epsilon_tight:.6g} tight"
    return [
        guarantee.statement,
        f"{bounds}; no rate gives less than {least:.6g} with such strata",
    ]


def _left(certificate: RecordsCertificate) -> list[str]:
    unit, strata = certificate.guarantee.unit, certificate.strata
    whom = Whom(unit.name, unit.records_per_unit)
    return [
        f"{counted(strata.singletons, whom.record, whom.counted)} alone in a stratum",
        f"{counted(strata.alike, whom.record, whom.counted)} in strata where nothing can change",
    ]
