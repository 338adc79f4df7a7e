"""What everybody should be told of a release, and the word that one without protection takes."""

from collections.abc import Iterator
from fractions import Fraction

from holdfast.certificate.head import VerdictSection
from holdfast.certificate.model import Certificate
from holdfast.certificate.parts import TablePart
from holdfast.certificate.verdict import told_apart
from holdfast.certificate.warnings import WEAK, percent, warnings_of
from holdfast.data.levels import formulas
from holdfast.system.errors import GuaranteeError
from holdfast.system.ways import option, setting


def release_warnings(certificate: Certificate) -> tuple[str, ...]:
    """Return what is to be told of a release: how little it protects, and which of its names would run."""
    return (*warnings_of(certificate.to_dict()), *_formulas(certificate))


def planned_warnings(verdict: VerdictSection) -> tuple[str, ...]:
    """Return what is to be told of a release before it is made, from its verdict."""
    said = tuple(one.words for one in verdict.warnings)
    if verdict.level != "none":
        return said
    return (*said, f"Such a release is refused unless {option('accept_no_protection', True)} is given.")


def require_protection(certificate: Certificate, *, accepted: bool) -> None:
    """Raise GuaranteeError where the guarantee is none to speak of and nobody accepted that in so many words.

    It follows from public values alone, and is asked before anything is charged or drawn.
    """
    if accepted or certificate.verdict.level != "none":
        return
    raise _unprotected()


def require_hope(loss: Fraction | None, *, accepted: bool) -> None:
    """Raise GuaranteeError where a file of records will lose so much for each record that little is left.

    It is the verdict of what any file loses at least, and is asked before one is read.
    """
    if accepted or loss is None or told_apart(loss) <= WEAK:
        return
    raise _unprotected()


def _unprotected() -> GuaranteeError:
    return GuaranteeError(
        "the guarantee is no protection to speak of, as a guess from even odds may be right with a"
        f" probability of more than {percent(WEAK)}: ask for a stronger one in {setting('privacy')}, or"
        f" release it all the same with {option('accept_no_protection', True)}."
    )


def _formulas(certificate: Certificate) -> Iterator[str]:
    """Yield, for each table in CSV, which of its names a spreadsheet would run, and what can be done."""
    if certificate.quoted_formulas:
        return
    for part in certificate.parts:
        file = f"{part.outputs[0]}.csv"
        if not isinstance(part, TablePart) or file not in certificate.files:
            continue
        attributes = part.table.cells.attributes
        levels = (level for attribute in attributes for level in attribute.levels)
        found = formulas((*(attribute.name for attribute in attributes), part.table.count, *levels))
        if found:
            more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
            yield (
                f"a spreadsheet would run the name {found[0]!r}{more} in {file} as a formula: read the file"
                f" as text, and give {option('quote_formulas', True)} with a release for spreadsheets."
            )
