"""A warning of names in a released table that a spreadsheet would run."""

from holdfast.certificate.model import Certificate
from holdfast.cli.terminal import warn
from holdfast.data.formulas import formulas


def warn_of_formulas(certificate: Certificate) -> None:
    """Say which names of a table would run, and what can be done."""
    if "table.csv" not in certificate.files or certificate.quoted_formulas:
        return
    table = certificate.table
    levels = (level for attribute in table.cells.attributes for level in attribute.levels)
    found = formulas((*(attribute.name for attribute in table.cells.attributes), table.count, *levels))
    if found:
        more = f" and {len(found) - 1:,} more" if len(found) > 1 else ""
        warn(
            f"a spreadsheet would run the name {found[0]!r}{more} in table.csv as a formula: read the file as"
            " text, and give --quote-formulas with a release that is for spreadsheets."
        )
