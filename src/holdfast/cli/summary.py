"""The summary of a release, from its certificate alone: nothing else may show."""

from rich.console import Console, Group
from rich.table import Table

from holdfast.certificate.model import Certificate, ErrorSection
from holdfast.mechanisms.catalogue import NAMED

MOST_ROWS = 8
NOT_SIMULATED = {
    True: "not simulated: one draw takes too long to repeat",
    False: "not simulated: it depends on the confidential table",
}
STATISTIC = "not simulated: the law of the noise is public"


def print_summary(certificate: Certificate, console: Console) -> None:
    """Say what was kept exactly, what is protected, how strongly, and how large the noise is."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    for title, lines in (
        ("Kept exactly", _kept(certificate)),
        ("Kept within", _bounds(certificate)),
        ("Protected", _protected(certificate)),
        ("How strongly", [_strength(certificate)]),
        ("Expected error", _errors(certificate)),
        ("Drawn", _drawn(certificate)),
    ):
        if lines:
            grid.add_row(title, Group(*lines))
    console.print(grid)
    for caveat in certificate.caveats:
        console.print(f"Note: {caveat}", style=None if certificate.randomness.secure else "bold red")


def _kept(certificate: Certificate) -> list[str]:
    blocks = certificate.invariants
    if not blocks:
        return ["nothing: the spec names no invariants"]
    lines = [f"{block.name}: {_numbers(len(block.values))}" for block in blocks[:MOST_ROWS]]
    return lines + ([f"and {len(blocks) - MOST_ROWS} more"] if len(blocks) > MOST_ROWS else [])


def _bounds(certificate: Certificate) -> list[str]:
    constraints = certificate.constraints
    lines = ["no count below 0"] if constraints.nonnegative else []
    lines += [f"{item.name}: at least {item.at_least:,}" for item in constraints.inequalities]
    more = [f"and {len(lines) - MOST_ROWS} more"] if len(lines) > MOST_ROWS else []
    return lines[:MOST_ROWS] + more


def _protected(certificate: Certificate) -> list[str]:
    universe = certificate.universe
    open_in = "1 dimension" if universe.dimension == 1 else f"{universe.dimension:,} dimensions"
    lines = [f"{universe.cells:,} cells; the invariants leave {open_in} open"]
    if (a := universe.semi_adjacency) is not None:
        bound = "" if a.exact else "at most "
        lines.append(f"any one person: to take another value, {bound}{a.worst_case} records must change")
    return lines


def _strength(certificate: Certificate) -> str:
    guarantee = certificate.guarantee
    per = "" if guarantee.unit.adjacency == "semi" else " per record of distance"
    strength = ", ".join(f"{name} {value}" for name, value in guarantee.intensity.items())
    at = guarantee.epsilon_at
    also = "" if at is None else f" (epsilon {at.epsilon:.4g} at delta {at.delta})"
    return f"{strength}{per}, {guarantee.standard}{also}. {guarantee.statement}"


def _errors(certificate: Certificate) -> list[str]:
    expected = certificate.expected_error
    if expected is None:
        table = NAMED[certificate.mechanism.name].output == "table"
        return [NOT_SIMULATED[certificate.mechanism.additive] if table else STATISTIC]
    lines = [f"per cell: {_plus_minus(expected.cell)}"]
    for row in expected.margins[:MOST_ROWS]:
        name = " x ".join(row.attributes) or "total"
        lines.append(f"per {name}: {'0, kept exactly' if row.exact else _plus_minus(row)}")
    return lines


def _plus_minus(row: ErrorSection) -> str:
    return f"{row.mean_absolute_error:.2f} on average"


def _drawn(certificate: Certificate) -> list[str]:
    mechanism = certificate.mechanism
    law = [f"{name.replace('_', ' ')} {value}" for name, value in mechanism.parameters().items()]
    return [", ".join([mechanism.name, *law]), *mechanism.sampling]


def _numbers(count: int) -> str:
    return "1 number" if count == 1 else f"{count:,} numbers"
