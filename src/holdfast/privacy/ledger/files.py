"""Which charges are of one file of records.

A charge names its file by a fingerprint of the whole content. Charges before version 2 named their table
instead; a later charge of that same table says so with the same fingerprint under ``table``. So a file can
have several names, and charges that share one, or are joined by others that do, are of one file.
"""

from collections.abc import Sequence

from holdfast.privacy.ledger.entry import Charge

VERSION = 2
"""The version of a charge's detail; charges without one are of version 1."""


def files(charges: Sequence[Charge]) -> list[list[int]]:
    """Return the places of the charges of each file, files and places in the order of the charges."""
    tables = {charge.dataset for charge in charges if "version" not in charge.detail}
    found: list[tuple[set[str], list[int]]] = []
    for place, charge in enumerate(charges):
        # two files can hold the same table by chance, so it is looked for among old charges only
        names = {charge.dataset} | (tables & {str(charge.detail.get("table"))})
        joined = [file for file in found if file[0] & names]
        found = [file for file in found if not file[0] & names]
        places = sorted([place, *(each for file in joined for each in file[1])])
        found.append((names.union(*(file[0] for file in joined)), places))
    return sorted(places for _, places in found)
