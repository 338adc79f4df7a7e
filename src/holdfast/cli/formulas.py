"""A warning of names in a released table that a spreadsheet would run."""

from holdfast.certificate.model import Certificate
from holdfast.certificate.several.model import TablesCertificate
from holdfast.cli.terminal import warn
from holdfast.data.formulas import formulas


def warn_of_formulas(certificate: Certificate | TablesCertificate) -> None:
    """Say which names of a table, or of several, would run, and what can be done."""
    if certificate.quoted_formulas:
        return
    if isinstance(certificate, Certificate):
        tables = {"table.csv": certificate}
    else:
        tables = {f"{one.name}.csv": one.certificate for one in certificate.tables}
    for file, table in tables.items():
        if file in certificate.files:
            _warn(file, table)


def _warn(file: str, certificate: Certificate) -> None:
    table = certificate.table
    levels = (level for attribute in table.cells.attributes for level in attribute.levels)
    found = formulas((*(attribute.name for attribute in table.cells.attributes), table.count, *levels))
    if found:
        more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
        warn(
            f"a spreadsheet would run the name {found[0]!r}{more} in {file} as a formula: read the file as"
            " text, and give --quote-formulas with a release that is for spreadsheets."
        )
