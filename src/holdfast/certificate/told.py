"""What everybody should be told of a release, and the word that one without protection takes."""

from collections.abc import Iterator

from holdfast.certificate.model import Certificate, VerdictSection
from holdfast.certificate.read import AnyCertificate
from holdfast.certificate.records.model import RecordsCertificate
from holdfast.certificate.several.quick import warnings_of_all
from holdfast.certificate.verdict import WEAK, percent
from holdfast.data.formulas import formulas
from holdfast.errors import GuaranteeError

NEEDED = "Such a release is refused unless --accept-no-protection is given."


def told(certificate: AnyCertificate) -> tuple[str, ...]:
    """Return what is to be told of a release: how little it protects, and which of its names would run."""
    return (*warnings_of_all(certificate.to_dict()), *_formulas(certificate))


def foretold(verdict: VerdictSection) -> tuple[str, ...]:
    """Return what is to be told of a release before it is made, from its verdict."""
    return (*verdict.warnings, *((NEEDED,) if verdict.level == "none" else ()))


def require_protection(certificate: AnyCertificate, *, accepted: bool) -> None:
    """Raise GuaranteeError where the guarantee is none to speak of and nobody accepted that in so many words.

    It follows from public values alone, and is asked before anything is charged or drawn.
    """
    verdict = certificate.verdict
    if accepted or verdict.level != "none":
        return
    raise GuaranteeError(
        "the guarantee is no protection to speak of, as a guess from even odds may be right with a"
        f" probability of more than {percent(WEAK)}: ask for a stronger one in [privacy], or release it all"
        " the same with --accept-no-protection (in Python accept_no_protection=True)."
    )


def _formulas(certificate: AnyCertificate) -> Iterator[str]:
    """Yield, for each table in CSV, which of its names a spreadsheet would run, and what can be done."""
    if isinstance(certificate, RecordsCertificate) or certificate.quoted_formulas:
        return
    if isinstance(certificate, Certificate):
        tables = {"table.csv": certificate}
    else:
        tables = {f"{one.name}.csv": one.certificate for one in certificate.tables}
    for file, one in tables.items():
        if file not in certificate.files:
            continue
        attributes = one.table.cells.attributes
        levels = (level for attribute in attributes for level in attribute.levels)
        found = formulas((*(attribute.name for attribute in attributes), one.table.count, *levels))
        if found:
            more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
            yield (
                f"a spreadsheet would run the name {found[0]!r}{more} in {file} as a formula: read the file"
                " as text, and give --quote-formulas with a release that is for spreadsheets."
            )
