"""The summary of a release, from its certificate alone: nothing else may show."""

from collections.abc import Mapping, Sequence

from rich.console import Console, Group

from holdfast.certificate.head import GuaranteeSection, VerdictSection
from holdfast.certificate.model import Certificate, JoinedSection
from holdfast.certificate.parts import ErrorSection, ProcessedPart, RecordsPart, TablePart
from holdfast.certificate.verdict import LEVELS
from holdfast.cli.console import titled
from holdfast.mechanisms.catalogue import NAMED
from holdfast.releases.shared import apart, what_of
from holdfast.spec.privacy import ProtectedUnit
from holdfast.system.text import counted, rational

MOST_ROWS = 8
NOT_SIMULATED = {
    True: "not simulated: one draw takes too long to repeat",
    False: "not simulated: it depends on the confidential table",
}
DIVIDED = {"equal": "in equal parts", "weights": "by weights", "least-error": "for the least error"}
STATISTIC = "not simulated: the law of the noise is public"


def print_summary(certificate: Certificate, console: Console) -> None:
    """Say what was kept exactly, what is protected, how strongly, and how large the noise is.

    Of several tables that is said of each, and then what holds of all together.
    """
    joined = certificate.joined
    if joined is None:
        _print(_rows(certificate), console)
        notes = [one.words for one in certificate.caveats]
    else:
        for part in certificate.parts:
            console.print(f"{part.name}:", style="bold", soft_wrap=True)
            _print(_rows(certificate.alone(part.name)), console)
        _print(_together(certificate, joined), console)
        counted_ones = _protected_unit(certificate).counted
        apart_ones = [sentence for item in joined.shared if (sentence := apart(item, counted_ones))]
        notes = [*apart_ones[:MOST_ROWS], *(one.words for one in certificate.caveats)]
    for part in certificate.parts:
        inferred = part.table.inferred if isinstance(part, TablePart) else ()
        if inferred:
            console.print(
                f"Advice: declare the levels of {', '.join(inferred)} in [data.levels], to leave the data out"
                " of them."
            )
    for note in notes:
        console.print(f"Note: {note}", style=None if certificate.randomness.secure else "bold red")


def _print(rows: Mapping[str, Sequence[str]], console: Console) -> None:
    console.print(titled((title, Group(*lines)) for title, lines in rows.items() if lines))


def _rows(certificate: Certificate) -> dict[str, list[str]]:
    """Return the rows of one part, with those of its mechanism."""
    part = certificate.parts[0]
    if isinstance(part, ProcessedPart):
        return {"Processed": [part.method], "How strongly": [_strength(certificate)]}
    own = {} if part.details is None else part.details.rows(part.mechanism, _protected_unit(certificate))
    strongly = {
        "How strongly": [_strength(certificate)],
        "In secrets": [] if certificate.secrets is None else [certificate.secrets.statement],
        "What that means": [meaning(certificate.verdict)],
    }
    if isinstance(part, RecordsPart):
        return {"Swapped": [], "Kept by the swap": [], "Kept as asked": _kept(part), **strongly, **own}
    return {
        "Kept exactly": _kept(part) or ["nothing: the spec names no invariants"],
        "Kept within": _bounds(part),
        "Accuracy asked": [goal.words for goal in part.accuracy or ()],
        "Protected": _protected(certificate, part),
        **strongly,
        "Expected error": _errors(part),
        **own,
        "Drawn": _drawn(part),
    }


def _together(certificate: Certificate, joined: JoinedSection) -> dict[str, list[str]]:
    """Return the rows of all tables together."""
    counted_ones = _protected_unit(certificate).counted
    if joined.budget is None:
        return _by_unit(certificate, joined)
    shares = zip(joined.budget.shares, certificate.parts, strict=True)
    parts = [
        f"{share.table}: {_numbers_of(certificate.alone(part.name).guarantee)}" for share, part in shares
    ]
    agree = [
        f"{what_of(item, counted_ones)}: in {', '.join(item.exact)}"
        for item in joined.shared
        if len(item.exact) > 1
    ]
    return {
        "Together": [_strength(certificate)],
        "What that means": [meaning(certificate.verdict)],
        "Budget": [DIVIDED[joined.budget.division], *parts[:MOST_ROWS]],
        "Agree exactly": agree[:MOST_ROWS],
    }


def _by_unit(certificate: Certificate, joined: JoinedSection) -> dict[str, list[str]]:
    """Return the rows of tables of several files: what each unit loses, and what is known across tables."""
    units = [
        f"one {one.unit}:"
        f" {', '.join(f'{name} {rational(value)}' for name, value in one.intensity.items())}, by"
        f" {' and '.join(one.tables)}"
        for one in joined.units or ()
    ]
    across = [f"{each.name}, at every {each.level}" for each in joined.across or ()]
    more = [f"and {len(across) - MOST_ROWS} more"] if len(across) > MOST_ROWS else []
    return {
        "Each unit apart": units,
        "Whichever it is": [_strength(certificate)],
        "What that means": [meaning(certificate.verdict)],
        "Kept across": [*across[:MOST_ROWS], *more],
    }


def _kept(part: TablePart | RecordsPart) -> list[str]:
    lines = [f"{item.name}: {_numbers(len(item.values))}" for item in part.invariants]
    more = len(lines) - MOST_ROWS
    return lines[:MOST_ROWS] + ([f"and {more} more"] if more > 0 else [])


def _bounds(part: TablePart) -> list[str]:
    constraints = part.constraints
    lines = ["no count below 0"] if constraints.nonnegative else []
    lines += [
        f"{item.name}: {words} {bound:,}"
        for item in constraints.inequalities
        for words, bound in item.bounds.items()
    ]
    more = [f"and {len(lines) - MOST_ROWS} more"] if len(lines) > MOST_ROWS else []
    return lines[:MOST_ROWS] + more


def _protected(certificate: Certificate, part: TablePart) -> list[str]:
    universe = part.universe
    open_in = counted(universe.dimension, "dimension")
    cells = counted(universe.cells, "cell")
    lines = [f"{cells}; the invariants leave {open_in} open" if part.invariants else cells]
    if (a := universe.semi_adjacency) is not None:
        bound = "" if a.exact else "at most "
        whom = _protected_unit(certificate)
        one = whom.one if whom.records == 1 else whom.record
        must = whom.amount(a.worst_case)
        what = f"to take another value, {bound}{must} must change"
        if whom.presence:
            what = f"to be there or not, {bound}{must} must be added or removed"
        lines.append(f"any one {one}: {what}")
        if whom.records > 1:
            apart = whom.apart(certificate.guarantee.unit.distance)
            lines.append(f"any one {whom.one}, with at most {whom.amount(whom.records)}: {apart}")
    return lines


def _numbers_of(guarantee: GuaranteeSection) -> str:
    return ", ".join(f"{name} {rational(value)}" for name, value in guarantee.intensity.items())


def _strength(certificate: Certificate) -> str:
    guarantee = certificate.guarantee
    whom = _protected_unit(certificate)
    step = whom.record if whom.records == 1 else whom.amount(whom.records)
    per = "" if guarantee.unit.adjacency == "semi" else f" per {step} of distance"
    strength = _numbers_of(guarantee)
    at, tight = guarantee.epsilon_at, guarantee.tight
    told = [] if at is None else [f"epsilon {at.epsilon:.4g} at delta {at.delta}"]
    if tight is not None:
        told.append(f"mu {'' if tight.exact else 'at most '}{float(tight.mu):.4g}")
    also = f" ({', '.join(told)})" if told else ""
    return f"{strength}{per}, {guarantee.standard}{also}. {guarantee.statement}"


def _protected_unit(certificate: Certificate) -> ProtectedUnit:
    return certificate.guarantee.unit.value.whom


def meaning(verdict: VerdictSection) -> str:
    """Return what a guarantee means, with the word for it."""
    word, _, _ = LEVELS[verdict.level].partition(":")
    return f"{word}. {verdict.meaning}"


def _errors(part: TablePart) -> list[str]:
    expected, record = part.expected_error, part.mechanism
    if expected is None:
        told = NAMED[record.name].output == "table" or not record.additive
        return [NOT_SIMULATED[record.additive] if told else STATISTIC]
    lines = [f"per cell: {_plus_minus(expected.cell)}"]
    for row in expected.margins[:MOST_ROWS]:
        name = " x ".join(row.attributes) or "total"
        lines.append(f"per {name}: {'0, kept exactly' if row.exact else _plus_minus(row)}")
    return lines


def _plus_minus(row: ErrorSection) -> str:
    return f"{row.mean_absolute_error:.2f} on average"


def _drawn(part: TablePart) -> list[str]:
    mechanism = part.mechanism
    law = [f"{name.replace('_', ' ')} {value}" for name, value in mechanism.parameters(rational).items()]
    return [", ".join([mechanism.name, *law]), *(one.words for one in mechanism.sampling)]


def _numbers(count: int) -> str:
    return counted(count, "number")
