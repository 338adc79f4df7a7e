"""The summary of a release, from its certificate alone: nothing else may show."""

from collections.abc import Iterator

from rich.console import Console, Group
from rich.table import Table

from holdfast.certificate.model import Certificate, ErrorSection, VerdictSection
from holdfast.certificate.several.model import TablesCertificate
from holdfast.certificate.verdict import LEVELS
from holdfast.joint.shared import apart, what_of
from holdfast.mechanisms.catalogue import NAMED
from holdfast.spec.whom import Whom
from holdfast.words import counted, rational

MOST_ROWS = 8
NOT_SIMULATED = {
    True: "not simulated: one draw takes too long to repeat",
    False: "not simulated: it depends on the confidential table",
}
DIVIDED = {"equal": "in equal parts", "weights": "by weights", "least-error": "for the least error"}
STATISTIC = "not simulated: the law of the noise is public"


def print_any_summary(certificate: Certificate | TablesCertificate, console: Console) -> None:
    """Print the summary of one table, or of several."""
    if isinstance(certificate, TablesCertificate):
        print_tables_summary(certificate, console)
    else:
        print_summary(certificate, console)


def print_tables_summary(certificate: TablesCertificate, console: Console) -> None:
    """Say of each table what is said of one, and then what holds of all together."""
    for chapter in certificate.tables:
        console.print(f"{chapter.name}:", style="bold", soft_wrap=True)
        print_summary(chapter.certificate.model_copy(update={"caveats": ()}), console)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold", no_wrap=True)
    grid.add_column()
    whom = _whom(certificate)
    shares = zip(certificate.budget.shares, certificate.tables, strict=True)
    parts = [f"{share.table}: {_numbers_of(one.certificate)}" for share, one in shares]
    agree = [
        f"{what_of(item, whom.counted)}: in {', '.join(item.exact)}"
        for item in certificate.shared
        if len(item.exact) > 1
    ]
    for title, lines in (
        ("Together", [_strength(certificate)]),
        ("What that means", _meaning(certificate)),
        ("Budget", [DIVIDED[certificate.budget.division], *parts[:MOST_ROWS]]),
        ("Agree exactly", agree[:MOST_ROWS]),
    ):
        if lines:
            grid.add_row(title, Group(*lines))
    console.print(grid)
    notes = [sentence for item in certificate.shared if (sentence := apart(item, whom.counted))]
    for note in (*notes[:MOST_ROWS], *certificate.caveats):
        console.print(f"Note: {note}", style=None if certificate.randomness.secure else "bold red")


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
        ("In secrets", [] if certificate.secrets is None else [certificate.secrets.statement]),
        ("What that means", _meaning(certificate)),
        ("Expected error", _errors(certificate)),
        ("Drawn", _drawn(certificate)),
    ):
        if lines:
            grid.add_row(title, Group(*lines))
    console.print(grid)
    if names := ", ".join(certificate.table.inferred):
        console.print(
            f"Advice: declare the levels of {names} in [data.levels], to leave the data out of them."
        )
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
    lines += [
        f"{item.name}: {words} {bound:,}"
        for item in constraints.inequalities
        for words, bound in item.bounds.items()
    ]
    more = [f"and {len(lines) - MOST_ROWS} more"] if len(lines) > MOST_ROWS else []
    return lines[:MOST_ROWS] + more


def _protected(certificate: Certificate) -> list[str]:
    universe = certificate.universe
    open_in = counted(universe.dimension, "dimension")
    cells = counted(universe.cells, "cell")
    lines = [f"{cells}; the invariants leave {open_in} open" if certificate.invariants else cells]
    if (a := universe.semi_adjacency) is not None:
        bound = "" if a.exact else "at most "
        whom = _whom(certificate)
        one = whom.one if whom.records == 1 else whom.record
        must = whom.amount(a.worst_case)
        lines.append(f"any one {one}: to take another value, {bound}{must} must change")
        if whom.records > 1:
            apart = whom.amount(certificate.guarantee.unit.distance)
            lines.append(f"any one {whom.one}, with at most {whom.amount(whom.records)}: {apart}")
    return lines


def _numbers_of(certificate: Certificate) -> str:
    return ", ".join(f"{name} {rational(value)}" for name, value in certificate.guarantee.intensity.items())


def _strength(certificate: Certificate | TablesCertificate) -> str:
    guarantee = certificate.guarantee
    whom = _whom(certificate)
    step = whom.record if whom.records == 1 else whom.amount(whom.records)
    per = "" if guarantee.unit.adjacency == "semi" else f" per {step} of distance"
    strength = ", ".join(f"{name} {rational(value)}" for name, value in guarantee.intensity.items())
    at = guarantee.epsilon_at
    also = "" if at is None else f" (epsilon {at.epsilon:.4g} at delta {at.delta})"
    return f"{strength}{per}, {guarantee.standard}{also}. {guarantee.statement}"


def _whom(certificate: Certificate | TablesCertificate) -> Whom:
    unit = certificate.guarantee.unit
    return Whom(unit.name, unit.records_per_unit)


def _meaning(certificate: Certificate | TablesCertificate) -> list[str]:
    return [meaning(certificate.verdict)]


def meaning(verdict: VerdictSection) -> str:
    """Return what a guarantee means, with the word for it."""
    word, _, _ = LEVELS[verdict.level].partition(":")
    return f"{word}. {verdict.meaning}"


def _errors(certificate: Certificate) -> list[str]:
    expected = certificate.expected_error
    if certificate.topdown is not None:
        return ["on invented counts of the same form, cells of the lowest level:", *_biases(certificate)]
    if expected is None:
        record = certificate.mechanism
        told = NAMED[record.name].output == "table" or not record.additive
        return [NOT_SIMULATED[record.additive] if told else STATISTIC]
    lines = [f"per cell: {_plus_minus(expected.cell)}"]
    for row in expected.margins[:MOST_ROWS]:
        name = " x ".join(row.attributes) or "total"
        lines.append(f"per {name}: {'0, kept exactly' if row.exact else _plus_minus(row)}")
    return lines


def _biases(certificate: Certificate) -> Iterator[str]:
    """Yield how far estimated counts are off by their size."""
    for row in () if certificate.topdown is None else certificate.topdown.bias:
        if row.count == "cell":
            end = " or more" if row.high is None else f" to {row.high:,}" if row.high > row.low else ""
            yield f"{row.low:,}{end}: {row.mean_absolute_error:.2f}, with a bias of {row.mean_error:+.2f}"


def _plus_minus(row: ErrorSection) -> str:
    return f"{row.mean_absolute_error:.2f} on average"


def _drawn(certificate: Certificate) -> list[str]:
    mechanism = certificate.mechanism
    law = [f"{name.replace('_', ' ')} {value}" for name, value in mechanism.parameters(rational).items()]
    return [", ".join([mechanism.name, *law]), *mechanism.sampling]


def _numbers(count: int) -> str:
    return counted(count, "number")
